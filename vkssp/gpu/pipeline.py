"""Pipelines: shaders compiled for a device, shared by all equal kernels of the device.

A driver takes longer to compile the shaders of a solver than a search of a small graph takes. Therefore a device keeps
all pipelines that kernels hold, and the most recently used ones that no kernel holds any more.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vkssp.files import atomic_write, cache_folder
from vkssp.gpu import spirv
from vkssp.gpu.ffi import VulkanError, array, call, constant, create, ffi, lib, struct
from vkssp.memory import require_addresses
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.device import Device

#: Maximum number of pipelines that a device keeps although no kernel holds them: constants differ from graph to graph.
MOST_UNUSED = 64
# Address space that a driver may take to compile a kernel; Mesa's driver crashes without it.
_ADDRESSES = 64 << 20
# The Vulkan objects of a pipeline, in the order of their creation.
_MODULE, _SET_LAYOUT, _LAYOUT, _PIPELINE = "ShaderModule", "DescriptorSetLayout", "PipelineLayout", "Pipeline"


class Program(NamedTuple):
    """Shader and parameters that a pipeline is compiled from; equal programs share one pipeline.

    Attributes
    ----------
    name : str
        Name of the shader, without suffix.
    code : bytes
        SPIR-V code of the shader. It is part of the key since a shader may be recompiled while a device is open.
    bindings, push_bytes : int
        Number of storage buffers, and number of bytes of push constants.
    constants : tuple
        Pairs of id and value of the specialization constants, sorted by id.
    """

    name: str
    code: bytes
    bindings: int
    push_bytes: int
    constants: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, device: Device, name: str, bindings: int, push_bytes: int, constants: Mapping[int, int]) -> Program:
        """Return the program of a shader; raise `DeviceError` if the device is closed or the shader does not exist."""
        _ = device.handle
        return cls(name, spirv.load(name), bindings, push_bytes, tuple(sorted(constants.items())))


class Pipeline(Resource):
    """Compute pipeline and its layouts, compiled on the first call of `compile`.

    Attributes
    ----------
    holders : set of int
        Numbers of the kernels that use the pipeline.
    used : int
        Time, on the clock of `Pipelines`, at which a kernel last took or released the pipeline.
    is_made : bool
        Whether the pipeline has been compiled.
    handles : dict of str to pointer
        Vulkan objects of the pipeline by their kinds; NULL for objects that do not exist.
    """

    def __init__(self, owner: Pipelines, program: Program) -> None:
        self.device, self.program = owner.device, program
        self.holders: set[int] = set()
        self.used = 0
        self.is_made = False
        self._lock = threading.Lock()
        # The driver writes the handles here, so that they are destroyed in all cases, even if Ctrl-C arrives when the
        # driver returns after seconds of compilation.
        kinds = (_MODULE, _SET_LAYOUT, _LAYOUT, _PIPELINE)
        self.handles = {kind: ffi.new(f"Vk{kind}*") for kind in kinds}
        super().__init__(owner)

    @property
    def set_layout(self) -> Any:
        """The VkDescriptorSetLayout."""
        return self.handles[_SET_LAYOUT][0]

    @property
    def layout(self) -> Any:
        """The VkPipelineLayout."""
        return self.handles[_LAYOUT][0]

    @property
    def handle(self) -> Any:
        """The VkPipeline."""
        return self.handles[_PIPELINE][0]

    def compile(self) -> None:
        """Compile the pipeline, or wait until another thread has; after an error the next call tries again."""
        with self._lock:
            if self.is_made:
                return
            self._release()
            require_addresses(_ADDRESSES, f"compiling {self.program.name}")
            try:
                self._create()
                self.is_made = True
            finally:
                self._destroy(_MODULE)
                if not self.is_made:
                    self._release()

    def _create(self) -> None:
        program, code = self.program, self.program.code
        words = ffi.new("uint32_t[]", len(code) // 4)
        ffi.memmove(words, code, len(code))
        self._make(_MODULE, "vkCreateShaderModule", codeSize=len(code), pCode=words)
        slots = [
            struct(
                "VkDescriptorSetLayoutBinding",
                binding=index,
                descriptorType=constant("VK_DESCRIPTOR_TYPE_STORAGE_BUFFER"),
                descriptorCount=1,
                stageFlags=constant("VK_SHADER_STAGE_COMPUTE_BIT"),
            )
            for index in range(program.bindings)
        ]
        self._make(
            _SET_LAYOUT,
            "vkCreateDescriptorSetLayout",
            bindingCount=len(slots),
            pBindings=array("VkDescriptorSetLayoutBinding", slots),
        )
        pushed = struct(
            "VkPushConstantRange", stageFlags=constant("VK_SHADER_STAGE_COMPUTE_BIT"), size=program.push_bytes
        )
        self._make(
            _LAYOUT,
            "vkCreatePipelineLayout",
            setLayoutCount=1,
            pSetLayouts=array("VkDescriptorSetLayout", [self.set_layout]),
            pushConstantRangeCount=1 if program.push_bytes else 0,
            pPushConstantRanges=pushed,
        )
        self._compile()

    def _make(self, kind: str, function: str, **values: Any) -> None:
        info, made = struct(f"Vk{kind}CreateInfo", **values), self.handles[kind]
        try:
            call(function, self.device.handle, info, ffi.NULL, made)
        except VulkanError:
            made[0] = ffi.NULL  # a failed call may leave an invalid handle
            raise

    def _compile(self) -> None:
        constants = self.program.constants
        entries = [
            struct("VkSpecializationMapEntry", constantID=identifier, offset=4 * place, size=4)
            for place, (identifier, _) in enumerate(constants)
        ]
        data = ffi.new("uint32_t[]", [value for _, value in constants])
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
            module=self.handles[_MODULE][0],
            pName=b"main",
            pSpecializationInfo=specialization,
        )
        info = struct("VkComputePipelineCreateInfo", stage=stage, layout=self.layout)
        cache = pipeline_cache(self.device)
        with cache.lock:  # if the call fails, Vulkan sets the handle to null
            call(
                "vkCreateComputePipelines", self.device.handle, cache.handle, 1, info, ffi.NULL, self.handles[_PIPELINE]
            )

    def _destroy(self, kind: str) -> None:
        handle = self.handles[kind][0]
        if handle != ffi.NULL:
            self.handles[kind][0] = ffi.NULL  # before the call, so that no object is destroyed twice
            getattr(lib, f"vkDestroy{kind}")(self.device.handle, handle, ffi.NULL)

    def _release(self) -> None:
        for kind in reversed(self.handles):
            self._destroy(kind)


class Pipelines(Resource):
    """Pipelines of a device, one for each program.

    A kernel must not release its pipeline while submitted work uses it.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device.kept)
        self.device = device
        self._lock = threading.Lock()
        self._made_for: dict[Program, Pipeline] = {}
        self._clock = itertools.count(1)

    @property
    def all(self) -> list[Pipeline]:
        """List of the pipelines, the oldest first."""
        return list(self._made_for.values())

    def hold(self, program: Program, holder: int) -> Pipeline:
        """Return the compiled pipeline of a program; the holder must call `let_go` later, even if this call fails."""
        with self._lock:
            pipeline = self._made_for.get(program)
            if pipeline is None or pipeline.closed:
                pipeline = self._made_for[program] = Pipeline(self, program)
            pipeline.holders.add(holder)
            pipeline.used = next(self._clock)
            self._close_unused()
        pipeline.compile()
        return pipeline

    def let_go(self, program: Program, holder: int) -> None:
        """Remove a holder of a program's pipeline; the next call of `hold` closes surplus pipelines.

        This method takes no lock: the finalizer of a kernel calls it during any garbage collection, even inside `hold`.
        """
        pipeline = self._made_for.get(program)
        if pipeline is not None and holder in pipeline.holders:
            pipeline.used = next(self._clock)
            pipeline.holders.discard(holder)

    def _close_unused(self) -> None:
        """Close all but the last `MOST_UNUSED` pipelines without holders; those that failed to compile go first."""
        unused = [pipeline for pipeline in self.all if not pipeline.holders]
        unused.sort(key=lambda pipeline: (pipeline.is_made, pipeline.used))
        for pipeline in unused[: max(0, len(unused) - MOST_UNUSED)]:
            pipeline.close()
            del self._made_for[pipeline.program]


class PipelineCache(Resource):
    """The driver's cache of compiled pipelines, kept on disk between runs, one file per device and driver build."""

    def __init__(self, device: Device) -> None:
        self.device, self.lock = device, threading.Lock()
        self.path: Path | None = None
        with contextlib.suppress(RuntimeError):  # there may be no home folder
            self.path = cache_folder() / f"pipelines-{device.info.uuid}.bin"
        self.stored = self._load()
        data = ffi.from_buffer(self.stored) if self.stored else ffi.NULL
        info = struct("VkPipelineCacheCreateInfo", initialDataSize=len(self.stored), pInitialData=data)
        self.handle = create("vkCreatePipelineCache", "VkPipelineCache", device.handle, info, ffi.NULL)
        super().__init__(device)

    def _load(self) -> bytes:
        # Drivers may crash on damaged data, so the file begins with a digest of the data.
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
        # A cache that cannot be saved (no home folder, a full disk, a lost device) costs only time.
        with contextlib.suppress(Exception):
            data = self._data()
            if self.path and data != self.stored:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(self.path) as stream:
                    stream.write(hashlib.sha256(data).digest() + data)
        lib.vkDestroyPipelineCache(self.device.handle, self.handle, ffi.NULL)


def pipeline_cache(device: Device) -> PipelineCache:
    """Return the pipeline cache of a device, which is read from disk on the first call."""
    with device.lock:
        cache = device.caches.get("pipelines")
        if cache is None:
            cache = device.caches["pipelines"] = PipelineCache(device)
    return cache
