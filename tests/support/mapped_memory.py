"""Stand-in for CUDA: memory that a software device has exported, mapped into the memory of this process."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device_array import DLPACK_CPU


class MappedMemory:
    """Memory that `Mapping` has mapped; frees itself as `vkssp.gpu.cuda.CudaMemory` does."""

    def __init__(self, owner: Mapping, whole: mmap.mmap, begin: int, nbytes: int) -> None:
        self._owner, self._whole, self.nbytes = owner, whole, nbytes
        self.pointer = ctypes.addressof(ctypes.c_char.from_buffer(whole, begin))
        self.dlpack = (DLPACK_CPU, 0)
        owner.in_use += 1

    def read(self, into: npt.NDArray[Any]) -> None:
        """Copy the first bytes to an array."""
        ctypes.memmove(into.ctypes.data, self.pointer, into.nbytes)

    def settle(self) -> None:
        """Count the waits for work that was begun with the memory."""
        self._owner.waits += 1

    def __del__(self) -> None:
        self._owner.in_use -= 1


class Mapping:
    """Importer that maps what software devices export: a file, with Mesa's a header that tells where bytes begin.

    Attributes
    ----------
    in_use : int
        Number of memories that have not been freed.
    waits : int
        Number of waits for work that was begun with some memory.
    """

    def __init__(self) -> None:
        self.in_use = self.waits = 0

    def take(self, buffer: Buffer) -> MappedMemory:
        """Return the memory of an exported buffer."""
        descriptor = buffer.descriptor()
        try:
            size = os.fstat(descriptor).st_size
            whole = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        has_header = size >= buffer.allocated_bytes + mmap.PAGESIZE
        begin = int(np.frombuffer(whole, np.uint64, 2)[1]) if has_header else 0
        return MappedMemory(self, whole, begin, buffer.nbytes)
