"""Buffers on a device, and transfers between buffers and the host through a mapped staging buffer."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import run_parts
from vkssp.errors import DeviceError
from vkssp.gpu.ffi import SUCCESS, VulkanError, array, call, constant, create, ffi, lib, struct
from vkssp.gpu.instance import EXPORT_USAGE, HOST_ALLOCATION, OPAQUE_FD
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource

if TYPE_CHECKING:
    from vkssp.gpu.device import Device

#: Size of the staging buffer in bytes; larger transfers go through it in pieces.
STAGING_BYTES = 16 << 20
# Bytes that are worth another thread.
_LEAST_COPIED = 1 << 20
# VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT and VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, which the `vulkan` package lacks.
_USAGE_ADDRESS, _ALLOCATE_ADDRESS = 0x20000, 0x2


class Buffer(Resource):
    """Storage buffer, in the device's own memory or in memory that is mapped into the host's address space.

    Parameters
    ----------
    device : Device
        Device that the buffer is on.
    nbytes : int
        Size in bytes, rounded up to whole words. An empty buffer gets one word, since Vulkan has no empty buffers.
    mapped : bool
        Whether the host can access the bytes through `view`.
    name : str
        Name of the content, for error messages.
    owner : Resource, optional
        Resource that closes the buffer; by default the device.
    shared : bool
        Whether recordings that only copy use the buffer, too.
    bound : bool
        Whether kernels bind the buffer; one that commands only copy to and from may be larger.
    addressed : bool
        Whether kernels reach the buffer by its address; see `SplitBuffer`. The device has ``buffer_addresses`` then.
    host : numpy.ndarray, optional
        Memory of the host that the buffer lies in, in place of the device's own, shape (nbytes,), uint8: whole pages,
        which live until the buffer is closed. The device has the feature ``host_memory`` then.
    exported : bool
        Whether other libraries can use the memory, by `descriptor`. The device has the feature ``memory_export`` then.

    Attributes
    ----------
    allocated_bytes : int
        Bytes of the device's own memory that were allocated.
    is_exported : bool
        Whether other libraries can use the memory.
    words : cffi array of uint32_t
        Words of a mapped buffer, for a few numbers, which take less time so than by `view`; not to be used after the
        buffer is closed.

    Raises
    ------
    DeviceError
        If the buffer is larger than the device can bind or has memory for; nothing is allocated then.
    """

    def __init__(
        self,
        device: Device,
        nbytes: int,
        *,
        mapped: bool = False,
        name: str = "buffer",
        owner: Resource | None = None,
        shared: bool = False,
        bound: bool = True,
        addressed: bool = False,
        host: npt.NDArray[np.uint8] | None = None,
        exported: bool = False,
    ) -> None:
        self.device, self.name, self._host, self.is_exported = device, name, host, exported
        self.nbytes = max(4, nbytes + -nbytes % 4)
        limit = device.limits.buffer if bound else device.limits.allocation
        if self.nbytes > limit:
            raise DeviceError(
                f"{self.nbytes} bytes are needed for {name}, and {device.info.name} "
                f"{'binds' if bound else 'allocates'} {limit} at most; use another device or a smaller graph"
            )
        usage = constant("VK_BUFFER_USAGE_TRANSFER_SRC_BIT") | constant("VK_BUFFER_USAGE_TRANSFER_DST_BIT")
        if exported:
            usage = EXPORT_USAGE
        if bound:
            usage |= constant("VK_BUFFER_USAGE_STORAGE_BUFFER_BIT")
        if addressed:
            usage |= _USAGE_ADDRESS
        info = struct("VkBufferCreateInfo", size=self.nbytes, usage=usage)
        queues = {device.family, device.transfer_family}
        families = array("uint32_t", sorted(queues))
        if shared and len(queues) > 1:
            info.sharingMode = constant("VK_SHARING_MODE_CONCURRENT")
            info.queueFamilyIndexCount, info.pQueueFamilyIndices = len(queues), families
        of_host = struct("VkExternalMemoryBufferCreateInfo", handleTypes=HOST_ALLOCATION)
        to_others = struct("VkExternalMemoryBufferCreateInfo", handleTypes=OPAQUE_FD)
        if host is not None:
            info.pNext = of_host
        elif exported:
            info.pNext = to_others
        self.handle = create("vkCreateBuffer", "VkBuffer", device.handle, info, ffi.NULL)
        self._memory = None
        super().__init__(owner or device)
        try:
            if host is None:
                self.allocate(mapped, addressed=addressed)
            else:
                self.take(host)
        except BaseException:
            self.close()
            raise

    def allocate(self, mapped: bool, *, addressed: bool = False) -> None:
        """Allocate the memory, and map it where the host sees it; called once, when the buffer is made."""
        device = self.device
        needs = ffi.new("VkMemoryRequirements*")
        lib.vkGetBufferMemoryRequirements(device.handle, self.handle, needs)
        kind = device.type_for_buffers(needs.memoryTypeBits, mapped=mapped)
        if kind is None:
            raise DeviceError(f"{device.info.name} has no memory that fits {self.name}")
        available = device.available(kind)
        if needs.size > available:
            device.give_back()
            available = device.available(kind)
        if needs.size > available:
            raise DeviceError(
                f"{needs.size} bytes are needed for {self.name}, and {device.info.name} has {available} available; "
                "close other programs, or use another device or a smaller graph"
            )
        # NVIDIA's driver makes and frees memory of one buffer many times faster than memory that may hold several.
        alone = struct("VkMemoryDedicatedAllocateInfo", buffer=self.handle)
        info = struct("VkMemoryAllocateInfo", pNext=alone, allocationSize=needs.size, memoryTypeIndex=kind)
        export = struct("VkExportMemoryAllocateInfo", pNext=alone, handleTypes=OPAQUE_FD)
        of_addresses = struct("VkMemoryAllocateFlagsInfo", pNext=alone, flags=_ALLOCATE_ADDRESS)
        if self.is_exported:
            info.pNext = export
        elif addressed:
            info.pNext = of_addresses
        self.allocated_bytes = int(needs.size)
        self._memory = create("vkAllocateMemory", "VkDeviceMemory", device.handle, info, ffi.NULL)
        call("vkBindBufferMemory", device.handle, self.handle, self._memory, 0)
        if mapped:
            pointer = create("vkMapMemory", "void*", device.handle, self._memory, 0, self.nbytes, 0)
            self._bytes = ffi.buffer(pointer, self.nbytes)
            self.words = ffi.from_buffer("uint32_t[]", self._bytes)

    def take(self, memory: npt.NDArray[np.uint8]) -> None:
        """Let the buffer lie in memory of the host; called once, when the buffer is made."""
        device = self.device
        needs = ffi.new("VkMemoryRequirements*")
        lib.vkGetBufferMemoryRequirements(device.handle, self.handle, needs)
        pointer = ffi.cast("void*", memory.ctypes.data)
        kind = device.memory_type(
            needs.memoryTypeBits & device.types_of_host_memory(pointer),
            constant("VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT") | constant("VK_MEMORY_PROPERTY_HOST_COHERENT_BIT"),
        )
        if kind is None or needs.size > self.nbytes:
            raise DeviceError(f"{device.info.name} cannot import {self.name}")
        host = struct("VkImportMemoryHostPointerInfoEXT", handleType=HOST_ALLOCATION, pHostPointer=pointer)
        info = struct("VkMemoryAllocateInfo", pNext=host, allocationSize=self.nbytes, memoryTypeIndex=kind)
        self._memory = create("vkAllocateMemory", "VkDeviceMemory", device.handle, info, ffi.NULL)
        call("vkBindBufferMemory", device.handle, self.handle, self._memory, 0)

    @property
    def address(self) -> int:
        """Address by which kernels reach an addressed buffer."""
        info = struct("VkBufferDeviceAddressInfo", buffer=self.handle)
        return int(lib.vkGetBufferDeviceAddress(self.device.handle, info))

    def descriptor(self) -> int:
        """Return a new file descriptor of the memory of an exported buffer; what imports the memory owns it.

        What is imported so stays valid after the buffer is closed.
        """
        name = b"vkGetMemoryFdKHR"
        function = lib.vkGetDeviceProcAddr(self.device.handle, name)
        get = ffi.cast("VkResult(*)(VkDevice, const VkMemoryGetFdInfoKHR*, int*)", function)
        info, found = struct("VkMemoryGetFdInfoKHR", memory=self._memory, handleType=OPAQUE_FD), ffi.new("int*")
        code = get(self.device.handle, info, found)
        if code != SUCCESS:
            raise VulkanError(name.decode(), code)
        return int(found[0])

    def view(self, dtype: npt.DTypeLike = np.uint32) -> npt.NDArray[Any]:
        """Return the bytes of a mapped buffer as an array, which must not be used after the buffer is closed."""
        return np.frombuffer(self._bytes, dtype)

    def write(self, values: npt.NDArray[Any], offset: int = 0) -> None:
        """Copy an array to the buffer, from byte `offset` on, and wait until the copy is complete."""
        data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        stage = staging(self.device)
        with stage.lock:
            began = time.perf_counter()
            for start in range(0, len(data), STAGING_BYTES):
                piece = data[start : start + STAGING_BYTES]
                _copy(stage.bytes, piece)
                stage.copy(stage.buffer, self, len(piece), 0, offset + start)
            self.device.upload_s += time.perf_counter() - began

    def read(self, dtype: npt.DTypeLike = np.uint32, count: int = -1, offset: int = 0) -> npt.NDArray[Any]:
        """Return `count` values from byte `offset` on, by default all; wait for the work of the queue first."""
        item = np.dtype(dtype).itemsize
        count = (self.nbytes - offset) // item if count < 0 else count
        data = np.empty(count * item, np.uint8)
        stage = staging(self.device)
        with stage.lock:
            for start in range(0, len(data), STAGING_BYTES):
                size = min(STAGING_BYTES, len(data) - start)
                stage.copy(self, stage.buffer, size, offset + start, 0)
                data[start : start + size] = stage.bytes[:size]
        return data.view(dtype)

    def _own_bytes(self) -> int:
        return self.nbytes if self._host is None else 0

    def _release(self) -> None:
        lib.vkDestroyBuffer(self.device.handle, self.handle, ffi.NULL)
        if self._memory is not None:
            lib.vkFreeMemory(self.device.handle, self._memory, ffi.NULL)  # this also unmaps it


def uploaded(device: Device, name: str, values: npt.NDArray[Any], owner: Resource) -> Buffer:
    """Return a buffer that holds an array.

    Parameters
    ----------
    device : Device
        The device.
    name : str
        What the buffer is, for error messages.
    values : numpy.ndarray
        The array; it may be empty.
    owner : Resource
        Resource that closes the buffer.
    """
    buffer = Buffer(device, values.nbytes, name=name, owner=owner)
    if values.nbytes:
        buffer.write(values)
    return buffer


class Staging(Resource):
    """Mapped buffer that transfers go through, and the recording that copies to and from it."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.device = device
        self.lock = threading.Lock()
        self.buffer = Buffer(device, STAGING_BYTES, mapped=True, name="the staging buffer", owner=self, bound=False)
        self.bytes = self.buffer.view(np.uint8)
        self.recording = Recording(device, owner=self)

    def copy(self, source: Buffer, target: Buffer, nbytes: int, source_offset: int, target_offset: int) -> None:
        """Copy bytes from one buffer to another on the device, and wait until the copy is complete."""
        if self.recording.closed:
            self.recording = Recording(self.device, owner=self)
        recording, key = self.recording, (source.serial, target.serial, nbytes, source_offset, target_offset)
        try:
            if recording.key != key:  # else the answer to the same question is read again
                with recording.record(key):
                    recording.barrier("all", "transfer")
                    recording.copy(source, target, nbytes, source_offset, target_offset)
                    recording.barrier("transfer", "all")
            recording.submit()
            recording.wait()
        except BaseException:
            # An interrupted recording may be half recorded or half submitted, so the next copy makes a new one.
            recording.close()
            raise


def _copy(target: npt.NDArray[np.uint8], values: npt.NDArray[np.uint8]) -> None:
    """Copy bytes to the beginning of an array, on all cores if they are many."""

    def copy(begin: int, end: int) -> None:
        target[begin:end] = values[begin:end]

    run_parts(copy, len(values), _LEAST_COPIED)


def staging(device: Device) -> Staging:
    """Return the staging buffer of a device, which is created on the first call."""
    with device.lock:
        stage = device.caches.get("staging")
    if stage is None:
        made = Staging(device)
        with device.lock:
            stage = device.caches.setdefault("staging", made)
        if stage is not made:
            made.close()
    return stage
