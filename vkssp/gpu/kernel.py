"""Kernels: a SPIR-V module with its bindings, push constants and specialization constants, made into a pipeline."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vkssp.errors import DeviceError
from vkssp.gpu import spirv
from vkssp.gpu.ffi import array, call, constant, create, ffi, lib, struct
from vkssp.gpu.resource import Resource
from vkssp.storage import atomic_write

if TYPE_CHECKING:
    from vkssp.gpu.buffer import Buffer
    from vkssp.gpu.device import Device

#: Specialization constant that every shader has: the invocations of a workgroup.
WORKGROUP_SIZE = 0


class Kernel(Resource):
    """A compute pipeline.

    Parameters
    ----------
    device : Device
        Where it runs.
    name : str
        Name of the shader, without its ending.
    bindings : int
        Number of storage buffers that it works on, at bindings 0 and up.
    push_constants : int
        Number of uint32 push constants.
    workgroup_size : int
        Invocations in a workgroup.
    constants : mapping of int to int, optional
        Other specialization constants by id, uint32 each.
    shared_bytes : int
        Shared memory that the shader takes with these constants. Checked here, since a driver may lose the device
        instead of refusing a pipeline that takes too much.
    needs : collection of str
        Features that the shader uses, as `DeviceInfo.features` names them.
    owner : Resource, optional
        What closes it; by default the device.

    Raises
    ------
    DeviceError
        If the device's limits do not allow it, or it lacks a feature.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        *,
        bindings: int,
        push_constants: int = 0,
        workgroup_size: int,
        constants: Mapping[int, int] | None = None,
        shared_bytes: int = 0,
        needs: Collection[str] = (),
        owner: Resource | None = None,
    ) -> None:
        self.device, self.name, self.bindings, self.push_bytes = device, name, bindings, 4 * push_constants
        self.workgroup_size = workgroup_size
        limits = device.limits
        for needed, limit, what, cure in (
            (workgroup_size, limits.workgroup_size, "invocations in a workgroup", "choose fewer"),
            (self.push_bytes, limits.push_constants, "bytes of push constants", "use another device"),
            (
                shared_bytes,
                limits.shared_memory,
                "bytes of shared memory",
                "choose smaller workgroups, blocks or chunks",
            ),
            (bindings, limits.storage_buffers, "storage buffers", "choose another algorithm"),
        ):
            if needed > limit:
                raise DeviceError(f"{name} needs {needed} {what}, {device.info.name} has {limit}; {cure}")
        lacking = sorted(set(needs) - device.info.features)
        if lacking:
            raise DeviceError(f"{name} needs {', '.join(lacking)}, which {device.info.name} lacks; use another device")
        super().__init__(owner or device)
        self._destroy: list[tuple[str, object]] = []
        try:
            self._create({WORKGROUP_SIZE: workgroup_size, **(constants or {})})
        except BaseException:
            self.close()
            raise

    def _create(self, constants: Mapping[int, int]) -> None:
        device = self.device.handle
        code = spirv.load(self.name)
        words = ffi.new("uint32_t[]", len(code) // 4)
        ffi.memmove(words, code, len(code))
        module_info = struct("VkShaderModuleCreateInfo", codeSize=len(code), pCode=words)
        # Both are given back whatever happens, even Ctrl-C as the driver returns from seconds of compiling.
        module, pipeline = ffi.new("VkShaderModule*"), ffi.new("VkPipeline*")
        try:
            call("vkCreateShaderModule", device, module_info, ffi.NULL, module)
            slots = [
                struct(
                    "VkDescriptorSetLayoutBinding",
                    binding=index,
                    descriptorType=constant("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER"),
                    descriptorCount=1,
                    stageFlags=constant("VK_SHADER_STAGE_COMPUTE_BIT"),
                )
                for index in range(self.bindings)
            ]
            set_info = struct(
                "VkDescriptorSetLayoutCreateInfo",
                bindingCount=len(slots),
                pBindings=array("VkDescriptorSetLayoutBinding", slots),
            )
            self.set_layout = create("vkCreateDescriptorSetLayout", "VkDescriptorSetLayout", device, set_info, ffi.NULL)
            self._destroy.append(("vkDestroyDescriptorSetLayout", self.set_layout))
            pushed = struct(
                "VkPushConstantRange", stageFlags=constant("VK_SHADER_STAGE_COMPUTE_BIT"), size=self.push_bytes
            )
            layout_info = struct(
                "VkPipelineLayoutCreateInfo",
                setLayoutCount=1,
                pSetLayouts=array("VkDescriptorSetLayout", [self.set_layout]),
                pushConstantRangeCount=1 if self.push_bytes else 0,
                pPushConstantRanges=pushed,
            )
            self.layout = create("vkCreatePipelineLayout", "VkPipelineLayout", device, layout_info, ffi.NULL)
            self._destroy.append(("vkDestroyPipelineLayout", self.layout))
            try:
                self._compile(module[0], constants, pipeline)
            finally:
                self.pipeline = pipeline[0]
                self._destroy.append(("vkDestroyPipeline", self.pipeline))
        finally:
            lib.vkDestroyShaderModule(device, module[0], ffi.NULL)

    def _compile(self, module: object, constants: Mapping[int, int], pipeline: object) -> None:
        entries = [
            struct("VkSpecializationMapEntry", constantID=identifier, offset=4 * place, size=4)
            for place, identifier in enumerate(constants)
        ]
        data = ffi.new("uint32_t[]", list(constants.values()))
        specialization = struct(
            "VkSpecializationInfo",
            mapEntryCount=len(entries),
            pMapEntries=array("VkSpecializationMapEntry", entries),
            dataSize=4 * len(entries),
            pData=data,
        )
        stage = struct(
            "VkPipelineShaderStageCreateInfo",
            stage=constant("VK_SHADER_STAGE_COMPUTE_BIT"),
            module=module,
            pName=b"main",
            pSpecializationInfo=specialization,
        )
        info = struct("VkComputePipelineCreateInfo", stage=stage, layout=self.layout)
        cache = pipeline_cache(self.device)
        with cache.lock:
            call("vkCreateComputePipelines", self.device.handle, cache.handle, 1, info, ffi.NULL, pipeline)

    def on(self, *buffers: Buffer) -> Bindings:
        """Return the kernel bound to its buffers, in the order of their bindings."""
        return Bindings(self, buffers)

    def _release(self) -> None:
        for function, handle in reversed(self._destroy):
            getattr(lib, function)(self.device.handle, handle, ffi.NULL)


class Bindings(Resource):
    """A kernel together with the buffers that it works on: a descriptor set."""

    def __init__(self, kernel: Kernel, buffers: Sequence[Buffer]) -> None:
        if len(buffers) != kernel.bindings:
            raise ValueError(f"{kernel.name} works on {kernel.bindings} buffers, not {len(buffers)}")
        self.kernel = kernel
        device = kernel.device.handle
        storage = constant("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER")
        size = struct("VkDescriptorPoolSize", type=storage, descriptorCount=max(1, len(buffers)))
        pool_info = struct("VkDescriptorPoolCreateInfo", maxSets=1, poolSizeCount=1, pPoolSizes=size)
        self._pool = create("vkCreateDescriptorPool", "VkDescriptorPool", device, pool_info, ffi.NULL)
        super().__init__(kernel)
        allocate = struct(
            "VkDescriptorSetAllocateInfo",
            descriptorPool=self._pool,
            descriptorSetCount=1,
            pSetLayouts=array("VkDescriptorSetLayout", [kernel.set_layout]),
        )
        self.sets = ffi.new("VkDescriptorSet[1]")
        call("vkAllocateDescriptorSets", device, allocate, self.sets)
        writes = [
            struct(
                "VkWriteDescriptorSet",
                dstSet=self.sets[0],
                dstBinding=index,
                descriptorCount=1,
                descriptorType=storage,
                pBufferInfo=struct("VkDescriptorBufferInfo", buffer=buffer.handle, range=buffer.nbytes),
            )
            for index, buffer in enumerate(buffers)
        ]
        lib.vkUpdateDescriptorSets(device, len(writes), array("VkWriteDescriptorSet", writes), 0, ffi.NULL)

    def _release(self) -> None:
        lib.vkDestroyDescriptorPool(self.kernel.device.handle, self._pool, ffi.NULL)


def _cache_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "vkssp"


class PipelineCache(Resource):
    """The driver's compiled pipelines, kept on disk from run to run, one file per device and driver build."""

    def __init__(self, device: Device) -> None:
        self.device, self.lock = device, threading.Lock()
        self.path: Path | None = None
        with contextlib.suppress(RuntimeError):  # there may be no home folder
            self.path = _cache_folder() / f"pipelines-{device.info.uuid}.bin"
        self._stored = self._load()
        data = ffi.from_buffer(self._stored) if self._stored else ffi.NULL
        info = struct("VkPipelineCacheCreateInfo", initialDataSize=len(self._stored), pInitialData=data)
        self.handle = create("vkCreatePipelineCache", "VkPipelineCache", device.handle, info, ffi.NULL)
        super().__init__(device)

    def _load(self) -> bytes:
        # Drivers need not survive damaged data, so the file carries a digest of its own.
        try:
            content = self.path.read_bytes() if self.path else b""
        except OSError:
            return b""
        digest, data = content[:32], content[32:]
        return data if hashlib.sha256(data).digest() == digest else b""

    def _data(self) -> bytes:
        size = ffi.new("size_t*")
        call("vkGetPipelineCacheData", self.device.handle, self.handle, size, ffi.NULL)
        data = np.empty(size[0], np.uint8)
        call("vkGetPipelineCacheData", self.device.handle, self.handle, size, ffi.from_buffer(data))
        return data[: size[0]].tobytes()

    def _release(self) -> None:
        # A cache that cannot be kept (no home folder, a full disk, a lost device) costs time, not answers.
        with contextlib.suppress(Exception):
            data = self._data()
            if self.path and data != self._stored:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(self.path) as stream:
                    stream.write(hashlib.sha256(data).digest() + data)
        lib.vkDestroyPipelineCache(self.device.handle, self.handle, ffi.NULL)


def pipeline_cache(device: Device) -> PipelineCache:
    """Return the device's pipeline cache, read from disk when first asked for."""
    with device.lock:
        cache = device.caches.get("pipelines")
        if cache is None:
            cache = device.caches["pipelines"] = PipelineCache(device)
    return cache
