"""Sums over the rows of a batch that stay on the device for several batches: base of loads of arcs and sums by node."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import FinishedRows
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Bindings
from vkssp.gpu.recording import Recording
from vkssp.prepared.aggregates import Int64s
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Batches whose sums are read together.
BATCHES_OF_SUMS = 16


class Sums(NamedTuple):
    """Sums over some batches: the buffer that they are in, and whether a batch is the first of them."""

    parity: int
    is_first: bool


class BatchSums(Resource):
    """Kernels and buffers that add to sums what the searches of a batch contribute; a subclass has the kernels.

    Parameters
    ----------
    device : Device
        The device.
    count : int
        Number of sums of 64 bits.
    owner : Resource
        Closes this object.
    """

    #: Number of 64-bit words of what each search has of its own.
    WIDTH: ClassVar[int] = 0

    def __init__(self, device: Device, count: int, owner: Resource) -> None:
        super().__init__(owner)
        self.device, self._sum_bytes = device, 8 * count
        self._size = 1 << min(256, device.limits.workgroup_size).bit_length() - 1
        self._sums = [self._buffer("the sums", self._sum_bytes, shared=True) for _ in range(2)]
        self._download = Download(device, self._sum_bytes, self)

    def _buffer(self, name: str, nbytes: int, shared: bool = False) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self, shared=shared)

    def put(self, groups: Groups, parity: int) -> None:
        """Write what the device needs of some groups of seeds."""

    def record(self, recording: Recording, parity: int, sums: Sums, num_tiles: int, searches: int) -> None:
        """Record what some tiles add to sums, with the buffer of results of a parity."""
        if sums.is_first:
            recording.fill(self._sums[sums.parity], 0)
            recording.barrier("all", "compute")
        self._record(recording, parity, sums.parity, num_tiles, searches)

    def _record(self, recording: Recording, parity: int, sums: int, num_tiles: int, searches: int) -> None:
        raise NotImplementedError

    def _run(self, recording: Recording, bound: Bindings, invocations: int, *pushed: int) -> None:
        recording.bind(bound)
        recording.push(bound, *pushed)
        recording.dispatch_for(bound, invocations)
        recording.barrier()

    def decode(self, words: npt.NDArray[np.uint8]) -> Int64s:
        """Return what searches have of their own, from their words."""
        return words.view(np.int64).reshape(-1, self.WIDTH)

    def sums_of(self, number: int) -> Sums:
        """Return the sums to which a batch of the given number adds."""
        return Sums(number // BATCHES_OF_SUMS % 2, number % BATCHES_OF_SUMS == 0)

    def summed(self, batches: Iterator[FinishedRows], count: int) -> Generator[FinishedRows, None, None]:
        """Yield the rows of some batches together, with their sums; `count` is the number of all batches."""
        held: list[tuple[npt.NDArray[np.bool_], Int64s]] = []
        for number, one in enumerate(batches):
            own = one.read() if self.WIDTH else np.zeros((len(one.overflow), 0), np.int64)
            held.append((one.overflow, own))
            if number % BATCHES_OF_SUMS == BATCHES_OF_SUMS - 1 or number == count - 1:
                overflow, rows = (np.concatenate(parts) for parts in zip(*held, strict=True))
                held = []
                found = np.zeros(0, np.int64)
                if self._sum_bytes:
                    parity = self.sums_of(number).parity
                    found = self._download.read(self._sums[parity], [(0, self._sum_bytes)]).view(np.int64)
                yield FinishedRows(overflow, partial(np.copy, rows), self._sorted(found))

    def _sorted(self, found: Int64s) -> Int64s:
        """Return the sums by the caller's ids."""
        raise NotImplementedError
