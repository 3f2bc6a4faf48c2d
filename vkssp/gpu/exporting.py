"""Memory for results that stay on a device: other libraries read it in place, and later results use it again.

A new block of a GiB costs more than a thousand sweeps of a city write into it: the driver clears it, and another one
maps it. So the memory of results that have ended serves the next ones, up to a part of the free memory of the device.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.cuda import cuda_device
from vkssp.gpu.instance import MEMORY_EXPORT
from vkssp.gpu.recording import Recording
from vkssp.locks import ReentrantLock

if TYPE_CHECKING:
    from vkssp.gpu.device import Device

#: Kinds of devices that compute in the memory of the host.
OF_HOST = ("cpu", "integrated")
#: Largest part of the free memory of a device that is kept for later results.
KEPT_PART = 1 / 8
# Blocks serve results of at least this part of them, and are whole steps.
_LEAST_PART, _STEP = 0.75, 2 << 20


class ImportedMemory(Protocol):
    """Memory of a device as another interface sees it; freed when nothing refers to it any more."""

    pointer: int

    @property
    def dlpack(self) -> tuple[int, int]:
        """Type and number of the device in DLPack's numbering."""

    def read(self, into: npt.NDArray[Any]) -> None:
        """Copy the first bytes to an array."""

    def settle(self) -> None:
        """Wait until all work of the other interface that was begun before has ended."""


class Importer(Protocol):
    """Interface of another kind to a device."""

    def take(self, buffer: Buffer) -> ImportedMemory:
        """Return the memory of an exported buffer as this interface sees it, also after the buffer is closed."""


class SharedMemory:
    """Memory of one result, for as long as anything refers to this object.

    Attributes
    ----------
    buffer : Buffer
        The memory as Vulkan sees it, at least as large as was asked for.
    pointer : int
        Its address as the other interface sees it.
    """

    def __init__(self, blocks: SharedBlocks, buffer: Buffer, imported: ImportedMemory) -> None:
        self._blocks, self.buffer, self.imported = blocks, buffer, imported
        self.pointer = imported.pointer

    @property
    def dlpack(self) -> tuple[int, int]:
        """Type and number of the device in DLPack's numbering."""
        return self.imported.dlpack

    def read(self, into: npt.NDArray[Any]) -> None:
        """Copy the first bytes to an array."""
        self.imported.read(into)

    def __del__(self) -> None:
        """Give the memory back."""
        self._blocks.take_back(self)


class SharedBlocks:
    """Blocks of memory of a device that results lie in.

    Parameters
    ----------
    device : Device
        The device.
    importer : Importer
        The interface by which other libraries read the memory.
    """

    def __init__(self, device: Device, importer: Importer) -> None:
        self._device, self.importer = device, importer
        self._lock, self._process = ReentrantLock(), os.getpid()
        self._returned: deque[tuple[Buffer, ImportedMemory]] = deque()
        self._free: list[tuple[Buffer, ImportedMemory]] = []  # those that were used last, last
        self._most = 0  # bytes to keep
        self._recordings: deque[Recording] = deque()
        device.givers.append(self.forget)

    def memory(self, nbytes: int, name: str) -> SharedMemory:
        """Return memory for a result, whose values are arbitrary.

        Parameters
        ----------
        nbytes : int
            Number of bytes.
        name : str
            What the result is, for error messages.

        Raises
        ------
        DeviceError
            If the device has not as much memory, or allocates less at once.
        """
        device, size = self._device, nbytes + -nbytes % _STEP
        if size > device.limits.allocation:
            size = nbytes
        with self._lock.held():
            kept = self._collect()
            fitting = [one for one in self._free if _LEAST_PART * one[0].nbytes <= size <= one[0].nbytes]
            found = min(fitting, key=lambda one: one[0].nbytes, default=None)
            if found is not None:
                found[1].settle()  # what was begun with the result before may still read it
                self._free.remove(found)
                return SharedMemory(self, *found)
            self._require(nbytes, name, kept)
            buffer = Buffer(
                device, size, name=name, owner=device.kept, exported=True, bound=size <= device.limits.buffer
            )
            try:
                return SharedMemory(self, buffer, self.importer.take(buffer))
            except BaseException:
                buffer.close()
                raise

    def recording(self) -> Recording:
        """Return a recording for copies to blocks, which `take_back_recording` takes back; making one takes longer."""
        while self._recordings:
            with suppress(IndexError):  # another thread has taken the last one
                found = self._recordings.pop()
                if not found.closed:
                    return found
        return Recording(self._device, self._device.kept)

    def take_back_recording(self, recording: Recording) -> None:
        """Take back a recording; one that may still be executed is closed."""
        if recording.pending or recording.closed:
            recording.close()
        else:
            recording.forget_others()
            self._recordings.append(recording)

    def _require(self, nbytes: int, name: str, kept: int) -> None:
        """Check that there is memory for a new block; give up kept ones for it, and those beyond what may be kept."""
        device, cure = self._device, "ask for fewer rows at a time"
        free = device.free_bytes()
        self._most = int(KEPT_PART * (free + kept))
        if kept > self._most or nbytes > free:
            self.forget()
            free = device.free_bytes()
        for most, has in ((device.limits.allocation, "allocates {} at once"), (free, "has {} available")):
            if nbytes > most:
                told = has.format(f"{most / 2**30:.2f}")
                raise DeviceError(f"{name} takes {nbytes / 2**30:.2f} GiB, and {device.info.name} {told}; {cure}")

    def take_back(self, memory: SharedMemory) -> None:
        """Take back the memory of a result that has ended; called at any moment, perhaps while the lock is held."""
        buffer = memory.buffer
        if os.getpid() != self._process or buffer.closed:
            return
        kept = sum(one[0].nbytes for one in [*self._free, *self._returned])
        if kept + buffer.nbytes <= self._most:
            self._returned.append((buffer, memory.imported))
        else:
            buffer.close()

    def _collect(self) -> int:
        """Take the blocks whose results have ended as free ones, and return the number of bytes of all free blocks."""
        while self._returned:
            self._free.append(self._returned.popleft())
        self._free = [one for one in self._free if not one[0].closed]
        return sum(one[0].nbytes for one in self._free)

    def forget(self) -> None:
        """Free all blocks that no result lies in."""
        with self._lock.held():
            self._collect()
            while self._free:
                self._free.pop()[0].close()


def shared_blocks(device: Device) -> SharedBlocks | None:
    """Return the memory of a device that other libraries read; None if they read that of the host.

    Raises
    ------
    DeviceError
        If the memory is the device's own, and no other library can read it.
    """
    found: SharedBlocks | None = device.caches.get("shared blocks")
    if found is not None or device.info.kind in OF_HOST:
        return found
    cure = "ask for results in memory of the host, by distances, table or pairs, and copy them"
    if "memory_export" not in device.info.features:
        raise DeviceError(
            f"{device.info.name} does not share its memory with other libraries ({MEMORY_EXPORT} is missing); {cure}"
        )
    try:
        importer = cuda_device(device.hardware_uuid)
    except DeviceError as error:
        raise DeviceError(f"only CUDA can read memory of {device.info.name} in place: {error}; or {cure}") from error
    return share_memory(device, importer)


def share_memory(device: Device, importer: Importer) -> SharedBlocks:
    """Let other libraries read results in memory of a device by an interface, if there is none yet."""
    with device.lock:
        found: SharedBlocks | None = device.caches.get("shared blocks")
        if found is None:
            found = device.caches["shared blocks"] = SharedBlocks(device, importer)
    return found
