"""Aggregates of the distances of a batch of searches, made on the device from the tiles of distances.

The rows of the tiles are cut into chunks. A first kernel for each aggregate sums up the rows of a chunk, a second one
adds up the chunks. So no atomic operations are needed, and only the sums leave the device.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.batch.needs import Needs
from vkssp.gpu.buffer import Buffer, uploaded
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.prepared.aggregates import (
    FARTHEST,
    FARTHEST_NODE,
    REACHED,
    RECIPROCALS,
    TOTAL,
    Aggregate,
    Aggregates,
    CumulativeSums,
    DecayedSums,
    Int64s,
    Totals,
)
from vkssp.resource import Resource

#: Storage buffers of a kernel.
BINDINGS = 4
_SEARCHES, _LIMITS, _COLUMNS, _IS_NARROW = 2, 3, 4, 5  # specialization constants
# Limits and columns of a pass, whose sums lie in registers; columns if a sum has two words, for each of these limits.
_MOST_LIMITS, _MOST_COLUMNS, _MOST_WIDE = 4, 4, 2
# Words of `Totals` on the device: the largest distance and its node are one.
_TOTAL_WORDS = 4
# Fewest rows of a chunk, and most chunks of all tiles of a batch.
_LEAST_ROWS, _MOST_CHUNKS = 128, 1024
# Where there is more than one chunk: most bytes of their sums, and the largest part of the free memory for these.
_MOST_BYTES, _MOST_MEMORY = 64 << 20, 1 / 16


def words_of(aggregate: Aggregate) -> int:
    """Return the number of 64-bit words of an aggregate of one search on the device."""
    return _TOTAL_WORDS if isinstance(aggregate, Totals) else aggregate.width  # also for those of other classes


def _most_bytes(device: Device) -> int:
    """Return the most bytes of the sums of several chunks."""
    return min(_MOST_BYTES, device.limits.buffer, int(_MOST_MEMORY * device.free_bytes()))


def aggregation_needs(device: Device, aggregates: Aggregates, num_rows: int) -> Needs:
    """Return the sizes of the buffers of `Aggregation`."""
    word_bytes = 8 * sum(map(words_of, aggregates))
    of_chunks = word_bytes * (num_rows // _LEAST_ROWS) * device.tuned["sweeps.searches"]
    others = [min(of_chunks, _most_bytes(device))]
    for one in aggregates:
        if isinstance(one, Totals):
            others.append(8 * num_rows)
        elif isinstance(one, CumulativeSums | DecayedSums):
            of_distances = one.weights if isinstance(one, DecayedSums) else one.limits
            others += 8 * len(one.values) * num_rows, 4 * (1 + len(of_distances))
    return Needs((word_bytes,), tuple(others))  # each search has the sums of one chunk in any case


class Aggregation(Resource):
    """Kernels and buffers that make aggregates of a batch of searches.

    Parameters
    ----------
    device : Device
        The device.
    aggregates : tuple of Aggregate
        What is made.
    tiles : Buffer
        The tiles of distances.
    row_of : numpy.ndarray
        Row in a tile of each node of the graph, int64.
    num_rows, tile, num_tiles : int
        Rows of a tile, its searches, and the number of tiles.
    finished : list of Buffer
        Buffers for the results, used in turn.
    owner : Resource
        Closes this object.

    Attributes
    ----------
    num_words : int
        Number of 64-bit words of a search in a buffer of results.
    """

    def __init__(
        self,
        device: Device,
        aggregates: Aggregates,
        tiles: Buffer,
        row_of: npt.NDArray[np.int64],
        num_rows: int,
        tile: int,
        num_tiles: int,
        finished: list[Buffer],
        owner: Resource,
    ) -> None:
        super().__init__(owner)
        self.device, self._aggregates, self._num_rows = device, aggregates, num_rows
        self._tile = tile
        self.num_words = sum(map(words_of, aggregates))
        chunk_bytes = 8 * self.num_words * tile * num_tiles
        most = min(_MOST_CHUNKS // num_tiles, _most_bytes(device) // max(1, chunk_bytes))
        self.chunks = max(1, min(num_rows // _LEAST_ROWS, most))
        size = 1 << min(256, device.limits.workgroup_size).bit_length() - 1
        self._passes: list[tuple[Bindings, int, tuple[int, ...]]] = []
        partials = self._buffer("the sums of chunks", self.chunks * chunk_bytes)
        is_maximum = np.zeros(self.num_words, np.uint32)
        first = 0
        for one in aggregates:
            if isinstance(one, Totals):
                is_maximum[first + 2] = 1
            for name, constants, arrays, given in self._kernels_of(one, row_of):
                kernel = Kernel(
                    device,
                    name,
                    bindings=2 + len(arrays),
                    push_constants=5 + len(given),
                    workgroup_size=size,
                    constants={_SEARCHES: tile, **constants},
                    shared_bytes=32 * size,
                    owner=self,
                )
                self._passes.append((kernel.on(tiles, partials, *arrays), first, given))
            first += words_of(one)
        add = Kernel(device, "aggregate_add", bindings=3, push_constants=4, workgroup_size=size, owner=self)
        maxima = uploaded(device, "the maxima among words", is_maximum, self)
        self._adds = [add.on(partials, maxima, one) for one in finished]

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)

    def _kernels_of(self, one: Aggregate, row_of: npt.NDArray[np.int64]) -> list[Any]:
        """Return for each pass of an aggregate: kernel, constants, its buffers, and what is pushed for it."""
        if isinstance(one, Totals):
            count = np.bincount(row_of, minlength=self._num_rows)
            least = np.full(self._num_rows, 2**32 - 1, np.uint32)
            np.minimum.at(least, row_of, np.arange(len(row_of), dtype=np.uint32))
            nodes = np.stack([count.astype(np.uint32), least], axis=1)
            return [
                (
                    "aggregate_totals",
                    {},
                    [uploaded(self.device, "the nodes of rows", nodes, self)],
                    (one.limit, one.bits),
                )
            ]
        assert isinstance(one, CumulativeSums | DecayedSums)  # loads of arcs are made of rows
        columns = len(one.values)
        values = np.zeros((self._num_rows, columns), np.int64)
        np.add.at(values, row_of, one.values.T)
        by_row, spans = uploaded(self.device, "the values of rows", values, self), _spans(columns, _MOST_COLUMNS)
        if isinstance(one, DecayedSums):
            words = np.concatenate([np.array([one.limit], np.uint32), one.weights])
            arrays = [by_row, uploaded(self.device, "the weights of distances", words, self)]
            return [("aggregate_decayed", {_COLUMNS: size}, arrays, (at, columns)) for at, size in spans]
        arrays = [by_row, uploaded(self.device, "the limits", one.limits, self)]
        is_narrow = self._is_narrow(values)
        if not is_narrow:
            spans = _spans(columns, _MOST_WIDE)
        return [
            (
                "aggregate_cumulative",
                {_LIMITS: some, _COLUMNS: size, _IS_NARROW: int(is_narrow)},
                arrays,
                (first, at, columns),
            )
            for (first, some), (at, size) in product(_spans(len(one.limits), _MOST_LIMITS), spans)
        ]

    def _is_narrow(self, values: Int64s) -> bool:
        """Return whether the values of rows, and their sums over each chunk, fit into 32 bits without a sign."""
        if not values.size or values.min() < 0:
            return False
        each = -(-self._num_rows // self.chunks)
        return int(np.add.reduceat(values, np.arange(0, self._num_rows, each)).max()) < 2**32

    def record(self, recording: Recording, parity: int, num_tiles: int, searches: int) -> None:
        """Record the aggregates of some tiles, into the buffer of results of a parity."""
        for bound, first, given in self._passes:
            recording.bind(bound)
            recording.push(bound, self._num_rows, num_tiles, self.chunks, self.num_words, first, *given)
            recording.dispatch(min(num_tiles * self.chunks, self.device.limits.workgroups))
        recording.barrier()
        add = self._adds[parity]
        recording.bind(add)
        recording.push(add, self.chunks, self.num_words, searches, num_tiles * self._tile)
        recording.dispatch_for(add, searches * self.num_words)

    def decode(self, words: npt.NDArray[np.uint8]) -> Int64s:
        """Return the aggregates of searches, as `vkssp.cpu.aggregates.aggregated` does, from their words."""
        found, at = words.view(np.int64).reshape(-1, self.num_words), 0
        parts = []
        for one in self._aggregates:
            part = found[:, at : at + words_of(one)]
            at += words_of(one)
            if isinstance(one, Totals):
                key = part[:, 2].view(np.uint64)
                whole = np.empty((len(part), one.width), np.int64)
                whole[:, REACHED], whole[:, TOTAL], whole[:, RECIPROCALS] = part[:, 0], part[:, 1], part[:, 3]
                whole[:, FARTHEST] = (key >> np.uint64(32)).astype(np.int64)
                whole[:, FARTHEST_NODE] = (~key & np.uint64(2**32 - 1)).astype(np.int64)
                part = whole
            parts.append(part)
        return np.concatenate(parts, axis=1)


def _spans(count: int, most: int) -> list[tuple[int, int]]:
    """Return first and size of parts of at most `most`."""
    return [(first, min(most, count - first)) for first in range(0, count, most)]
