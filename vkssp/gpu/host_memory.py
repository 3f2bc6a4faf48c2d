"""Memory of the host for large results: it is kept for later results, and devices write to it directly from then on.

A new array costs more than the copy of its bytes from the device: the system provides its pages one by one, filled with
zeros. So the memory of an array that is not used any more serves the next one, up to a part of the free memory of the
machine. Devices import it when it serves its second array (VK_EXT_external_memory_host), and copy to it without a
staging buffer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import DeviceError
from vkssp.gpu.buffer import Buffer
from vkssp.locks import ReentrantLock
from vkssp.memory import free_bytes, givers

if TYPE_CHECKING:
    from vkssp.gpu.device import Device
    from vkssp.gpu.recording import Recording

#: Smallest array, in bytes, whose memory is kept; smaller ones come from the allocator's own store.
LEAST_BYTES = 4 << 20
#: Largest part of the free memory of the machine that is kept for later arrays.
KEPT_PART = 1 / 8
# Free bytes that are assumed where the system does not tell.
_UNKNOWN_BYTES = 4 << 30
# Blocks are whole huge pages, and serve arrays of at least this part of them.
_PAGE, _LEAST_PART = 2 << 20, 0.75
#: Most bytes that a device imports in one piece.
IMPORT_BYTES = 1 << 30


class HostBlock:
    """Block of memory, which serves one array at a time.

    Parameters
    ----------
    size : int
        Number of bytes, whole huge pages.

    Attributes
    ----------
    memory : numpy.ndarray
        The bytes, shape (size,), uint8.
    uses : int
        Number of arrays that it has served, the present one included.
    imports : dict of int to list of Buffer
        Buffers over parts of the block, in order, by the serial numbers of their devices; none if the device cannot
        have them.
    """

    def __init__(self, size: int) -> None:
        whole = np.empty(size + _PAGE, np.uint8)
        begin = -whole.ctypes.data % _PAGE
        self.memory = whole[begin : begin + size]
        self.uses = 0
        self.imports: dict[int, list[Buffer]] = {}

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return len(self.memory)

    def buffers(self, device: Device) -> list[Buffer]:
        """Return the buffers of a device over parts of the block, made on the first call; none if it cannot."""
        made = self.imports.get(device.serial)
        if made is None or any(one.closed for one in made):
            made = self.imports[device.serial] = self._imported(device)
        return made

    def _imported(self, device: Device) -> list[Buffer]:
        most = min(IMPORT_BYTES, device.limits.allocation // _PAGE * _PAGE)
        if "host_memory" not in device.info.features or not most:
            return []
        made: list[Buffer] = []
        try:
            for begin in range(0, self.nbytes, most):
                part = self.memory[begin : begin + most]
                made.append(
                    Buffer(
                        device, len(part), name="the results", owner=device.kept, shared=True, bound=False, host=part
                    )
                )
        except DeviceError:  # limits on locked pages, or on mappings of the device
            for one in made:
                one.close()
            return []
        return made

    def forget_devices(self) -> None:
        """Close the buffers of all devices."""
        for buffers in self.imports.values():
            for buffer in buffers:
                buffer.close()
        self.imports = {}


@dataclass(frozen=True)
class Place:
    """Place of an array in buffers over parts of a block, of the same size but for the last one.

    Attributes
    ----------
    buffers : list of Buffer
        The buffers.
    begin : int
        Offset of the array from the start of the first buffer, in bytes.
    """

    buffers: list[Buffer]
    begin: int

    def record_copy(self, recording: Recording, source: Buffer, begin: int, end: int, at: int) -> None:
        """Record a copy of the bytes `begin` to `end` of a buffer to the array, from byte `at` on."""
        size, to = self.buffers[0].nbytes, self.begin + at - begin
        while begin < end:
            part, place = divmod(to + begin, size)
            count = min(end - begin, size - place)
            recording.copy(source, self.buffers[part], count, begin, place)
            begin += count


class _Lease:
    """Use of a block by an array, which ends with the array and all of its views."""

    def __init__(self, block: HostBlock, blocks: HostBlocks) -> None:
        self.block, self._blocks = block, blocks
        self.__array_interface__ = block.memory.__array_interface__

    def __del__(self) -> None:
        self._blocks.take_back(self.block)


class HostBlocks:
    """Blocks of memory that arrays of results lie in, of all devices of the process."""

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._returned: deque[HostBlock] = deque()
        self._free: list[HostBlock] = []  # those that were used last, last
        self._lost: list[npt.NDArray[np.uint8]] = []
        self._most = 0  # bytes to keep

    def array(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return a new array of bytes, whose values are arbitrary, shape (nbytes,), uint8."""
        if nbytes < LEAST_BYTES:
            return np.empty(nbytes, np.uint8)
        size = nbytes + -nbytes % _PAGE
        with self._lock.held():
            kept, free = self._collect(), free_bytes()
            self._most = int(KEPT_PART * ((_UNKNOWN_BYTES if free is None else free) + kept))
            while self._free and kept > self._most:
                kept -= self._free[0].nbytes
                self._free.pop(0).forget_devices()
            fitting = [one for one in self._free if _LEAST_PART * one.nbytes <= size <= one.nbytes]
            block = min(fitting, key=lambda one: one.nbytes, default=None)
            if block is None:
                self.forget(size)
                block = HostBlock(size)
            else:
                self._free.remove(block)
            block.uses += 1
        lease: Any = _Lease(block, self)
        return np.asarray(lease)[:nbytes]

    def take_back(self, block: HostBlock) -> None:
        """Take back a block whose array has ended; called at any moment, perhaps by the thread that holds the lock."""
        kept = sum(one.nbytes for one in [*self._free, *self._returned])
        # What devices have imported is given up by the next call that holds the lock.
        if block.imports or kept + block.nbytes <= self._most:
            self._returned.append(block)

    def _collect(self) -> int:
        """Take the blocks whose arrays have ended as free ones, and return the number of bytes of all free blocks."""
        while self._returned:
            self._free.append(self._returned.popleft())
        return sum(one.nbytes for one in self._free)

    def forget(self, nbytes: int | None = None) -> None:
        """Give up all blocks that no array lies in; with a number of bytes, only if memory is short for so many."""
        with self._lock.held():
            self._collect()
            free = None if nbytes is None else free_bytes()
            if nbytes is None or (free is not None and nbytes > free):
                for block in self._free:
                    block.forget_devices()
                self._free = []

    def place_of(self, array: npt.NDArray[np.uint8], device: Device) -> Place | None:
        """Return where a device can write to an array; None if its memory is new, or the device cannot import it."""
        part: Any = array
        while isinstance(part, np.ndarray):
            part = part.base
        if not isinstance(part, _Lease) or part.block.uses < 2:
            return None
        with self._lock.held():
            buffers = part.block.buffers(device)
        return Place(buffers, array.ctypes.data - part.block.memory.ctypes.data) if buffers else None

    def lose(self, array: npt.NDArray[np.uint8]) -> None:
        """Never use the memory of an array again, since a device that does not answer may still write to it."""
        self._lost.append(array)


#: The blocks of this process.
host_blocks = HostBlocks()
givers.append(host_blocks.forget)
