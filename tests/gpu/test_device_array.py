"""Arrays that other libraries read in place: capsules, lifetimes, copies, and memory that a device has exported."""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.mapped_memory import Mapping
from vkssp import DeviceArray, DeviceError, QueryError
from vkssp.gpu import cuda
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.exporting import shared_blocks
from vkssp.gpu.mask import MASK_VARIABLE

VALUES = np.arange(12_000, dtype=np.uint32).reshape(3, 4000) * 7 + 3


class OnCuda:
    """Memory that seems to be on CUDA's device 3; its address is the host's."""

    def __init__(self, values: np.ndarray) -> None:
        self._values, self.pointer, self.nbytes, self.dlpack = values, values.ctypes.data, values.nbytes, (2, 3)

    def read(self, into: np.ndarray) -> None:
        """Copy the values to an array."""
        into[...] = self._values


@pytest.fixture
def exporting() -> Iterator[Device]:
    """Open a device of its own that can export memory."""
    with open_device() as device:
        if "memory_export" not in device.info.features:
            pytest.skip("the device cannot export memory")
        yield device


@pytest.mark.usefixtures("may_use_vulkan")
def test_exported_memory_outlives_its_buffer_and_device(exporting: Device) -> None:
    mapping = Mapping()
    with Buffer(exporting, VALUES.nbytes, exported=True) as buffer:
        buffer.write(VALUES)
        array = DeviceArray.over(mapping.take(buffer), VALUES.shape, np.uint32)
    exporting.close()
    assert np.array_equal(np.from_dlpack(array), VALUES) and np.array_equal(array.numpy(), VALUES)
    assert (array.shape, array.ndim, array.size, array.nbytes, len(array)) == ((3, 4000), 2, 12_000, 48_000, 3)
    assert mapping.in_use == 1
    del array
    assert mapping.in_use == 0


@pytest.mark.parametrize("order", ["array first", "consumers first", "in a thread"])
@pytest.mark.usefixtures("may_use_vulkan")
def test_memory_ends_with_its_last_user(exporting: Device, order: str) -> None:
    mapping = Mapping()
    with Buffer(exporting, VALUES.nbytes, exported=True) as buffer:
        buffer.write(VALUES)
        array = DeviceArray.over(mapping.take(buffer), VALUES.shape, np.uint32)
    users = [np.from_dlpack(array), np.from_dlpack(array)[1:]]
    del buffer
    array.__dlpack__()  # a capsule that nothing takes
    users[0][1, 0] = 5
    assert users[1][0, 0] == 5  # the same memory
    if order == "array first":
        array.close()
        with pytest.raises(QueryError, match="closed"):
            array.__dlpack__()
        with pytest.raises(QueryError, match="closed"):
            array.numpy()
        del array
        users.pop(0)
        assert mapping.in_use == 1 and users[0][0, 0] == 5
        users.clear()
    elif order == "consumers first":
        users.clear()
        assert mapping.in_use == 1 and array.numpy()[1, 0] == 5
        del array
    else:
        del array
        thread = threading.Thread(target=users.clear)
        thread.start()
        thread.join()
    gc.collect()
    assert mapping.in_use == 0


def test_capsules_tell_the_device() -> None:
    array = DeviceArray.over(OnCuda(VALUES), VALUES.shape, np.uint32)
    assert array.__dlpack_device__() == (2, 3) and array.device == "cuda:3"
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = array.__dlpack__(stream=1)
    plain = ctypes.c_int64 * 3
    data, device, kind = plain.from_address(get(capsule, b"dltensor"))
    assert (data, device & 0xFFFFFFFF, device >> 32, kind & 0xFFFFFFFF) == (VALUES.ctypes.data, 2, 3, 2)
    assert kind >> 32 == 1 | 32 << 8 | 1 << 16  # kDLUInt of 32 bits, one lane
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        capsule = array.__dlpack__(max_version=(1, 0), stream=-1)
        version, _, _, flags, data, device = (ctypes.c_int64 * 6).from_address(get(capsule, b"dltensor_versioned"))
        assert (version & 0xFFFFFFFF, flags, data, device) == (1, 0, VALUES.ctypes.data, 2 | 3 << 32)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(array)  # NumPy sees that the memory is not the host's
    del capsule
    interface = array.__cuda_array_interface__
    assert (interface["data"], interface["typestr"]) == ((VALUES.ctypes.data, False), "<u4")
    assert (interface["shape"], interface["strides"], interface["version"]) == (VALUES.shape, None, 3)
    array.close()  # whoever has the description holds the array
    assert sys.getrefcount(array) and array.closed


def test_copies_are_made_only_where_they_may_be() -> None:
    array = DeviceArray.over(OnCuda(VALUES), VALUES.shape, np.uint32)
    with pytest.raises(BufferError, match="copy"):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="cuda:3"):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="cuda:3"):
        array.__dlpack__(dl_device=(2, 1))
    with pytest.raises(ValueError, match="copy"):
        np.array(array, copy=False)
    found = np.asarray(array)
    assert np.array_equal(found, VALUES) and not np.may_share_memory(found, VALUES)
    assert np.asarray(array, np.float64).dtype == np.float64
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert np.array_equal(np.from_dlpack(array, device="cpu"), VALUES)

    of_host = DeviceArray(VALUES.copy())
    assert of_host.__dlpack_device__() == (1, 0) and not hasattr(of_host, "__cuda_array_interface__")
    assert np.may_share_memory(np.from_dlpack(of_host), of_host.numpy())
    assert np.may_share_memory(np.asarray(of_host), of_host.numpy())
    assert not np.may_share_memory(np.array(of_host, copy=True), of_host.numpy())
    assert repr(of_host) == "DeviceArray(uint32[3, 4000], 'cpu')"
    for broken in (lambda: copy.copy(of_host), lambda: len(DeviceArray(np.array(3, np.uint32)))):
        with pytest.raises((QueryError, TypeError)):
            broken()


@pytest.mark.usefixtures("may_use_vulkan")
def test_devices_whose_memory_nothing_else_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each error names what is missing, and the cure."""
    monkeypatch.setattr(cuda, "LIBRARY", "libcuda.so.that.is.not.there")
    monkeypatch.setattr(cuda, "devices", {})
    with open_device() as device:
        assert shared_blocks(device) is None or device.info.kind not in ("cpu", "integrated")
        monkeypatch.setattr("vkssp.gpu.exporting.OF_HOST", ())
        with pytest.raises(DeviceError, match=r"memory of the host|libcuda.*cannot be loaded"):
            shared_blocks(device)
    monkeypatch.setenv(MASK_VARIABLE, "-memory_export")
    with open_device() as device, pytest.raises(DeviceError, match=r"VK_KHR_external_memory_fd.*memory of the host"):
        shared_blocks(device)


class Driver:
    """CUDA's driver with devices of given identifiers; a call of a name in `failing` fails."""

    def __init__(self, *uuids: bytes) -> None:
        self.uuids, self.failing, self.calls, self.descriptor = uuids, "", list[str](), -1

    def __getattr__(self, name: str) -> object:
        if name[:2] != "cu":
            raise AttributeError(name)

        def called(*args: Any) -> int:
            return self.answer(name, args)

        return called

    def answer(self, name: str, args: tuple[Any, ...]) -> int:
        """Answer a call as the driver does."""
        self.calls.append(name)
        if name == "cuDeviceGetCount":
            ctypes.cast(args[0], ctypes.POINTER(ctypes.c_int))[0] = len(self.uuids)
        elif name == "cuDeviceGet":
            ctypes.cast(args[0], ctypes.POINTER(ctypes.c_int))[0] = args[1]
        elif name == "cuDeviceGetUuid_v2":
            ctypes.memmove(args[0], self.uuids[args[1].value], 16)
        elif name == "cuGetErrorName":
            ctypes.cast(args[1], ctypes.POINTER(ctypes.c_char_p))[0] = b"CUDA_ERROR_UNKNOWN"
        elif name == "cuImportExternalMemory":
            self.descriptor = ctypes.cast(args[1], ctypes.POINTER(ctypes.c_int))[2]  # after the type, aligned
            assert os.fstat(self.descriptor)
        elif name == "cuExternalMemoryGetMappedBuffer":
            ctypes.cast(args[0], ctypes.POINTER(ctypes.c_uint64))[0] = 4096
        return 999 if name == self.failing else 0


@pytest.mark.parametrize("failing", ["", "cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer"])
@pytest.mark.usefixtures("may_use_vulkan")
def test_memory_goes_to_cuda_and_back(exporting: Device, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """With a driver of CUDA that only notes its calls: contexts are balanced, and nothing is left after errors."""
    driver = Driver(bytes(16), exporting.hardware_uuid)
    monkeypatch.setattr(cuda, "devices", {})
    monkeypatch.setattr("ctypes.CDLL", lambda _: driver)
    with pytest.raises(DeviceError, match="among its 2"):
        cuda.cuda_device(b"1" * 16)
    found = cuda.cuda_device(exporting.hardware_uuid)
    assert found.dlpack == (2, 1) and cuda.cuda_device(exporting.hardware_uuid) is found
    driver.failing = failing
    with Buffer(exporting, 4096, exported=True) as buffer:
        if failing:
            with pytest.raises(DeviceError, match=f"{failing} failed with CUDA_ERROR_UNKNOWN"):
                found.take(buffer)
            if failing == "cuImportExternalMemory":
                with pytest.raises(OSError, match="descriptor"):
                    os.fstat(driver.descriptor)  # it is still this process's, and has been closed
        else:
            array = DeviceArray.over(found.take(buffer), (1024,), np.uint32)
            assert array.__cuda_array_interface__["data"] == (4096, False)
            assert "cuMemFree_v2" not in driver.calls
            del array
            assert driver.calls.count("cuMemFree_v2") == 1
            os.close(driver.descriptor)  # which the real driver would own
    if failing == "cuExternalMemoryGetMappedBuffer":
        os.close(driver.descriptor)
    destroyed = driver.calls.count("cuDestroyExternalMemory")
    assert destroyed == (failing != "cuImportExternalMemory")
    assert driver.calls.count("cuCtxPushCurrent_v2") == driver.calls.count("cuCtxPopCurrent_v2") > 0
