"""Pipelines: shaders compiled for a device, which all kernels there share that are made alike.

A driver takes longer to compile the shaders of a solver than small graphs are searched for. So a device keeps what it
has compiled: all that kernels hold, and the last ones that nobody holds any more.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vkssp.files import atomic_write
from vkssp.gpu import spirv
from vkssp.gpu.ffi import VulkanError, array, call, constant, create, ffi, lib, struct
from vkssp.memory import require_addresses
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.device import Device

#: Pipelines that a device keeps at most though nobody holds them; constants differ from graph to graph without end.
MOST_UNUSED = 64
# Address space that a driver may take to compile a kernel; Mesa's crashes without.
_ADDRESSES = 64 << 20
# What a pipeline is made of, in the order in which it is made.
_MODULE, _SET_LAYOUT, _LAYOUT, _PIPELINE = "ShaderModule", "DescriptorSetLayout", "PipelineLayout", "Pipeline"


class Program(NamedTuple):
    """What a pipeline is made for; equal ones are the same.

    Attributes
    ----------
    name : str
        Name of the shader, without its ending.
    code : bytes
        The shader, SPIR-V. It may be compiled anew while a device is open.
    bindings, push_bytes : int
        Number of its storage buffers, and bytes of its push constants.
    constants : tuple
        Its specialization constants and their values, by id.
    """

    name: str
    code: bytes
    bindings: int
    push_bytes: int
    constants: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, device: Device, name: str, bindings: int, push_bytes: int, constants: Mapping[int, int]) -> Program:
        """Return what a shader is to be made into; an error if the device is closed, or there is no such shader."""
        _ = device.handle
        return cls(name, spirv.load(name), bindings, push_bytes, tuple(sorted(constants.items())))


class Pipeline(Resource):
    """A compute pipeline and its layouts, compiled when first asked for.

    Attributes
    ----------
    holders : set of int
        Who uses it.
    used : int
        When it was last taken or let go.
    is_made : bool
        Whether it has been compiled.
    handles : dict of str to pointer
        Its Vulkan objects by their kinds, NULL where there is none.
    """

    def __init__(self, owner: Pipelines, program: Program) -> None:
        self.device, self.program = owner.device, program
        self.holders: set[int] = set()
        self.used = 0
        self.is_made = False
        self._lock = threading.Lock()
        # Where the driver writes them: what is there is given back whatever happens, even after Ctrl-C as it returns
        # from seconds of compiling.
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
        """Compile it, or wait until another thread has; after an error the next one tries again."""
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
            made[0] = ffi.NULL  # a driver that fails may leave anything there
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
        with cache.lock:  # where it fails there is no pipeline, as Vulkan asks
            call(
                "vkCreateComputePipelines",
                self.device.handle,
                cache.handle,
                1,
                info,
                ffi.NULL,
                self.handles[_PIPELINE],
            )

    def _destroy(self, kind: str) -> None:
        handle = self.handles[kind][0]
        if handle != ffi.NULL:
            self.handles[kind][0] = ffi.NULL  # before, so that nothing is destroyed twice
            getattr(lib, f"vkDestroy{kind}")(self.device.handle, handle, ffi.NULL)

    def _release(self) -> None:
        for kind in reversed(self.handles):
            self._destroy(kind)


class Pipelines(Resource):
    """The pipelines of a device, one for each program.

    Whoever lets one go has no work left that uses it.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device.kept)
        self.device = device
        self._lock = threading.Lock()
        self._made_for: dict[Program, Pipeline] = {}
        self._clock = itertools.count(1)

    @property
    def all(self) -> list[Pipeline]:
        """Those that there are, the oldest first."""
        return list(self._made_for.values())

    def hold(self, program: Program, holder: int) -> Pipeline:
        """Return the pipeline of a program, which stays until this holder lets it go, also where this fails."""
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
        """Count one holder less; what is no longer needed goes when the next pipeline is asked for.

        Takes no lock: kernels that were forgotten come here from wherever memory is collected, even out of `hold`.
        """
        pipeline = self._made_for.get(program)
        if pipeline is not None and holder in pipeline.holders:
            pipeline.used = next(self._clock)
            pipeline.holders.discard(holder)

    def _close_unused(self) -> None:
        """Close those that nobody holds, but for the last ones; those that could not be made go first."""
        unused = [pipeline for pipeline in self.all if not pipeline.holders]
        unused.sort(key=lambda pipeline: (pipeline.is_made, pipeline.used))
        for pipeline in unused[: max(0, len(unused) - MOST_UNUSED)]:
            pipeline.close()
            del self._made_for[pipeline.program]


def _cache_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "vkssp"


class PipelineCache(Resource):
    """The driver's compiled pipelines, kept on disk from run to run, one file per device and driver build.

    Attributes
    ----------
    path : pathlib.Path or None
        The file; None where there is no folder for it.
    stored : bytes
        The driver's data from the file, empty where there are none or they are damaged.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.lock = device, threading.Lock()
        self.path: Path | None = None
        with contextlib.suppress(RuntimeError):  # there may be no home folder
            self.path = _cache_folder() / f"pipelines-{device.info.uuid}.bin"
        self.stored = self._load()
        data = ffi.from_buffer(self.stored) if self.stored else ffi.NULL
        info = struct("VkPipelineCacheCreateInfo", initialDataSize=len(self.stored), pInitialData=data)
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
            if self.path and data != self.stored:
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
