"""CUDA's view of memory that a Vulkan device has exported: libraries for CUDA read results where they lie.

Only NVIDIA's driver is needed, libcuda, and no package. A pointer belongs to the primary context of the device, which
torch, cupy, jax and numba share. CUDA C++ Programming Guide, External Resource Interoperability, Vulkan.
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from vkssp.errors import DeviceError

if TYPE_CHECKING:
    from vkssp.gpu.buffer import Buffer

#: Device of CUDA in DLPack's numbering, kDLCUDA.
DLPACK_CUDA = 2
#: Name of CUDA's driver.
LIBRARY = "libcuda.so.1"
_OPAQUE_FD, _DEDICATED = 1, 0x1  # CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, CUDA_EXTERNAL_MEMORY_DEDICATED
_Pointer = ctypes.c_uint64  # CUdeviceptr


class _Handle(ctypes.Union):
    _fields_ = (("fd", ctypes.c_int), ("win32", ctypes.c_void_p * 2), ("nvsci", ctypes.c_void_p))


class _HandleInfo(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle", _Handle),
        ("size", ctypes.c_uint64),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


class _BufferInfo(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC."""

    _fields_ = (
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_uint * 16),
    )


class CudaError(DeviceError):
    """Failure of a call to CUDA's driver; `code` is its CUresult."""

    def __init__(self, function: str, code: int, name: str) -> None:
        self.code = code
        super().__init__(f"{function} failed with {name}")


class CudaDevice:
    """Device as CUDA sees it, with its primary context, which stays as long as the process.

    Parameters
    ----------
    library : ctypes.CDLL
        CUDA's driver.
    ordinal, handle : int
        Number of the device among those that CUDA shows, and its CUdevice.

    Attributes
    ----------
    dlpack : tuple of (int, int)
        The device in DLPack's numbering.
    """

    def __init__(self, library: Any, ordinal: int, handle: int) -> None:
        self._library, self.dlpack = library, (DLPACK_CUDA, ordinal)
        self._context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), handle)

    def take(self, buffer: Buffer) -> CudaMemory:
        """Return the memory of an exported buffer as CUDA sees it; it stays valid if the buffer is closed.

        Raises
        ------
        DeviceError
            If CUDA cannot import it.
        """
        memory, pointer = ctypes.c_void_p(), _Pointer()
        descriptor = buffer.descriptor()
        info = _HandleInfo(type=_OPAQUE_FD, size=buffer.allocated_bytes, flags=_DEDICATED)
        info.handle.fd = descriptor
        with _Current(self):
            try:
                self._call("cuImportExternalMemory", ctypes.byref(memory), ctypes.byref(info))
            except CudaError:
                os.close(descriptor)  # otherwise the driver owns it now
                raise
            part = _BufferInfo(size=buffer.nbytes)
            try:
                self._call("cuExternalMemoryGetMappedBuffer", ctypes.byref(pointer), memory, ctypes.byref(part))
            except CudaError:
                self._call("cuDestroyExternalMemory", memory)
                raise
        return CudaMemory(self, memory, int(pointer.value), buffer.nbytes)

    def settle(self) -> None:
        """Wait until all work of CUDA that was begun on the device has ended."""
        with _Current(self):
            self._call("cuCtxSynchronize")

    def free(self, memory: ctypes.c_void_p, pointer: int) -> None:
        """Give imported memory back, after all work of CUDA that was begun before; called once."""
        with _Current(self):
            with suppress(CudaError):  # of earlier work
                self._call("cuCtxSynchronize")
            self._call("cuMemFree_v2", _Pointer(pointer))
            self._call("cuDestroyExternalMemory", memory)

    def read(self, pointer: int, into: npt.NDArray[Any]) -> None:
        """Copy bytes of the device to an array, after the work of CUDA's default stream."""
        with _Current(self):
            self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(into.ctypes.data), _Pointer(pointer), into.nbytes)

    def push(self) -> None:
        """Make the context the current one of this thread."""
        self._call("cuCtxPushCurrent_v2", self._context)

    def pop(self) -> None:
        """Make the context that was the current one before the current one of this thread again."""
        self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, function: str, *args: Any) -> None:
        call(self._library, function, *args)


class _Current:
    """Context manager with a device's context as the current one."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device

    def __enter__(self) -> None:
        self._device.push()

    def __exit__(self, *_: object) -> None:
        self._device.pop()


class CudaMemory:
    """Memory that CUDA has imported, which is freed when nothing refers to this object any more.

    Attributes
    ----------
    device : CudaDevice
        The device.
    pointer : int
        Address on the device.
    nbytes : int
        Number of bytes.
    """

    def __init__(self, device: CudaDevice, memory: ctypes.c_void_p, pointer: int, nbytes: int) -> None:
        self.device, self.pointer, self.nbytes = device, pointer, nbytes
        self._memory, self._process = memory, os.getpid()

    @property
    def dlpack(self) -> tuple[int, int]:
        """The device in DLPack's numbering."""
        return self.device.dlpack

    def read(self, into: npt.NDArray[Any]) -> None:
        """Copy the first bytes to an array."""
        self.device.read(self.pointer, into)

    def settle(self) -> None:
        """Wait until all work of CUDA that was begun on the device has ended."""
        self.device.settle()

    def __del__(self) -> None:
        """Free the memory, unless the process was forked from the one that imported it."""
        # At the exit of the process the driver may be gone.
        with suppress(Exception):
            if os.getpid() == self._process:
                self.device.free(self._memory, self.pointer)


_lock = threading.Lock()
#: Devices that have been asked for, by their identifiers.
devices: dict[bytes, CudaDevice] = {}


def call(library: Any, function: str, *args: Any) -> None:
    """Call a function of CUDA's driver.

    Raises
    ------
    CudaError
        If it fails.
    """
    code = int(getattr(library, function)(*args))
    if code:
        name = ctypes.c_char_p()
        library.cuGetErrorName(code, ctypes.byref(name))
        raise CudaError(function, code, (name.value or b"CUresult %d" % code).decode())


def cuda_device(uuid: bytes) -> CudaDevice:
    """Return the device of CUDA with an identifier of 16 bytes.

    Raises
    ------
    DeviceError
        If there is no driver of CUDA, or it shows no such device.
    """
    with _lock:
        if uuid not in devices:
            devices[uuid] = _found(uuid)
        return devices[uuid]


def _found(uuid: bytes) -> CudaDevice:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise DeviceError(f"{LIBRARY} cannot be loaded; install NVIDIA's driver [{error}]") from None
    call(library, "cuInit", 0)
    count, handle, found = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(16)
    call(library, "cuDeviceGetCount", ctypes.byref(count))
    # The second version tells parts of a device (MIG) apart.
    get_uuid = "cuDeviceGetUuid_v2" if hasattr(library, "cuDeviceGetUuid_v2") else "cuDeviceGetUuid"
    for ordinal in range(count.value):
        call(library, "cuDeviceGet", ctypes.byref(handle), ordinal)
        call(library, get_uuid, found, handle)
        if found.raw == uuid:
            return CudaDevice(library, ordinal, handle.value)
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    told = "" if hidden is None else f"; CUDA_VISIBLE_DEVICES is {hidden}, and may hide it"
    raise DeviceError(f"CUDA does not show this device among its {count.value}{told}")
