"""Rows of distances to few nodes of a hierarchy, by labels of the nodes of the table alone.

Labels of the columns are made once, and kept while targets and weights stay the same; those of the rows are made some
at a time. Each distance is the least sum of two labels over the ancestors that both nodes share. A sweep for each row
would pass over all nodes above the columns, which are most nodes of a large graph even if there are few columns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, FinishedRows
from vkssp.algorithms.phast import hierarchy_of, ranks_of
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.query_labels import Placed, QueryPlaces, QueryRows, may_overflow, most_rows, stride_of
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.double_buffering import double_buffered
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.hierarchy.preorder import preorder_of
from vkssp.memory import SMALL
from vkssp.prepared.aggregates import Aggregates
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Largest part of the nodes that columns may be. With more, a sweep has less to do for each of them.
MOST_PART = 1 / 4
#: Largest number of rows of a submission, and of bytes of its distances.
MOST_SEARCHES, MOST_BYTES = 1 << 12, 64 << 20
# Largest part of the free memory that labels of columns take, and those of rows.
_MOST_MEMORY = 1 / 16
# Specialization constant of the shader: a quarter of the side of a tile.
_QUADS_CONSTANT = 1
# Storage buffers of the kernel, depths of labels in shared memory, and least room for rows.
_BINDINGS, _DEPTHS, _LEAST_ROOM = 5, 16, 256


def _quads_on(customized: CustomizedHierarchy) -> int:
    """Return a quarter of the side of a tile, a power of two; 0 if the limits of the device allow none."""
    limits, quads = customized.device.limits, customized.device.tuned["label_table.quads"]
    while quads and (quads * quads > limits.workgroup_size or _shared_bytes(quads) > limits.shared_memory):
        quads //= 2
    return quads


def _shared_bytes(quads: int) -> int:
    return 2 * 16 * _DEPTHS * (quads + 1) + 4


def label_rows_at_once(graph: DeviceGraph, rows: int, wanted: int) -> int:
    """Return how many rows to so many nodes are made at once by labels; less than 2 if they should be made otherwise.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    rows, wanted : int
        Numbers of rows and of columns of the table.
    """
    if graph.renumbered.hierarchy is None or not 0 < wanted <= MOST_PART * graph.renumbered.graph.num_nodes:
        return 0
    customized, limits = hierarchy_of(graph), graph.device.limits
    quads, budget = _quads_on(customized), SMALL
    if 4 * stride_of(customized.hierarchy) * max(wanted, min(rows, MOST_SEARCHES)) > SMALL:
        # The question for free memory takes longer than a small table.
        budget = int(_MOST_MEMORY * graph.device.free_bytes())
    most = most_rows(customized, budget)
    if not quads or wanted > min(most, 4 * quads * limits.workgroups) or most < MAX_TERMINALS:
        return 0
    return min(rows, MOST_SEARCHES, most, min(MOST_BYTES, limits.buffer) // (4 * wanted))


class _Block(NamedTuple):
    """Rows of a submission: their number, the seeds' rows of labels, and the slot that has them."""

    size: int
    rows: Placed
    slot: _Slot


class _Slot(Resource):
    """Buffers of a submission, and its recording."""

    def __init__(
        self,
        kernel: Kernel,
        customized: CustomizedHierarchy,
        columns: QueryRows,
        room: int,
        found_bytes: int,
        owner: Resource,
    ) -> None:
        super().__init__(owner)
        device = customized.device
        try:
            self.rows = QueryRows(customized, room, self, is_forward=True)
            self.places = QueryPlaces(customized, room + columns.room, self)
            self.found = Buffer(device, found_bytes, name="the finished rows", owner=self, shared=True)
            self.timestamps = Timestamps(device, 2, owner=self)
            places = self.places.records, self.places.shared_nodes
            self.bound = kernel.on(*places, self.rows.labels, columns.labels, self.found, owner=self)
            # Younger than the buffers and the bindings, so that it is closed, and waited for, before them.
            self.recording = Recording(device, owner=self)
        except BaseException:
            self.close()
            raise


class LabelTable(Resource):
    """Maker of rows of distances from groups of seeds to some nodes, by labels.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device, renumbered in the order of its hierarchy.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        Number of rows at once, see `label_rows_at_once`.
    limit : int
        Distances beyond it count as unreachable.

    Attributes
    ----------
    device_ms : float
        Time on the device since the last call of `rows`.
    counters : dict of str to int
        ``iterations``, the number of submissions since then.
    """

    def __init__(self, graph: DeviceGraph, nodes: Uint32s, searches: int, limit: int) -> None:
        super().__init__(graph)
        self.device, self._customized = graph.device, hierarchy_of(graph)
        self._key, self._rank = preorder_of(self._customized.hierarchy), ranks_of(graph.renumbered)
        self._searches, self._bytes = searches, 4 * searches * len(nodes)
        self.device_ms, self.counters = 0.0, {"iterations": 0}
        self._slots: list[_Slot] = []
        quads = _quads_on(self._customized)
        self._side = 4 * quads
        try:
            # Older than the recordings, so that it is closed after them.
            self._kernel = Kernel(
                self.device,
                "label_table",
                bindings=_BINDINGS,
                push_constants=5,
                workgroup_size=quads * quads,
                constants={_QUADS_CONSTANT: quads},
                shared_bytes=_shared_bytes(quads),
                owner=self,
            )
            room = max(_LEAST_ROOM, 1 << (len(nodes) - 1).bit_length())
            most = most_rows(self._customized, self.device.limits.buffer)
            self._columns = QueryRows(self._customized, min(most, room), self, is_forward=False)
            self._download = Download(self.device, self._bytes, self)
            self.aim(nodes, limit)
        except BaseException:
            self.close()
            raise

    def fits(self, nodes: Uint32s, searches: int) -> bool:
        """Return whether the buffers suffice for so many rows at once to other nodes."""
        return (
            not self.closed
            and len(nodes) <= self._columns.room
            and searches <= self._searches
            and 4 * searches * len(nodes) <= self._bytes
        )

    def suits(self, nodes: Uint32s, searches: int, limit: int, aggregates: Aggregates | None = None) -> bool:
        """Return whether this makes rows of the given nodes, so many at once, up to a limit."""
        return aggregates is None and self.fits(nodes, searches) and limit == self._limit and self._has(nodes)

    def _has(self, nodes: Uint32s) -> bool:
        return np.array_equal(nodes, self._nodes)

    def aim(self, nodes: Uint32s, limit: int) -> None:
        """Make rows of other nodes up to another limit from now on; see `fits`."""
        self._nodes, self._limit, self._version = nodes, limit, -1
        self._placed = self._sorted(nodes, np.arange(len(nodes), dtype=np.uint32))[0]
        self._columns.put(self._placed.ranks, 0)

    def _sorted(self, nodes: Uint32s, given: Uint32s) -> tuple[Placed, npt.NDArray[np.intp]]:
        """Return rows of labels of some nodes, sorted in preorder, and the order."""
        ranks = nodes if self._rank is None else self._rank[nodes]
        keys = self._key[ranks]
        order = np.argsort(keys)
        return Placed(keys[order], ranks[order], given[order]), order

    def rows(self, groups: Groups) -> Generator[FinishedRows, None, None]:
        """Compute rows of distances, in order.

        If the overflow of a row is set, only a separate search tells whether it matters.

        Raises
        ------
        DeviceError
            If the device is lost, does not answer, or ends long loops early.
        """
        with closing(self._rows(groups)) as made:
            yield from made

    def _rows(self, groups: Groups) -> Generator[FinishedRows, None, None]:
        self.device_ms, self.counters = 0.0, {"iterations": 0}
        bounds = self._bounds(groups)
        seeds = int(np.diff(groups.first[bounds]).max(initial=1))
        if not self._slots or self._slots[0].rows.room < seeds:
            self._make_slots(seeds)

        def submitted() -> Iterator[tuple[Recording, _Block]]:
            for number, (first, end) in enumerate(pairwise(bounds)):
                block = self._submit(groups.between(first, end), self._slots[number % 2])
                yield block.slot.recording, block

        with closing(double_buffered(submitted())) as executed:
            for block in executed:
                yield self._finished(block)

    def _bounds(self, groups: Groups) -> list[int]:
        """Return the first group of each submission, and their number."""
        most = most_rows(self._customized, self.device.limits.buffer)
        most = min(most, max(MAX_TERMINALS, self._searches * MAX_TERMINALS // 4))
        bounds = [0]
        while bounds[-1] < len(groups):
            fitting = int(np.searchsorted(groups.first, groups.first[bounds[-1]] + most, "right")) - 1
            bounds.append(min(len(groups), bounds[-1] + self._searches, max(fitting, bounds[-1] + 1)))
        return bounds

    def _make_slots(self, seeds: int) -> None:
        for slot in self._slots:
            slot.close()
        self._slots = []
        self.growths += 1
        room = min(
            most_rows(self._customized, self.device.limits.buffer), max(_LEAST_ROOM, 1 << (seeds - 1).bit_length())
        )
        for _ in range(2):
            self._slots.append(_Slot(self._kernel, self._customized, self._columns, room, self._bytes, self))

    def _submit(self, groups: Groups, slot: _Slot) -> _Block:
        """Submit the work of some groups."""
        first, count = groups.first - groups.first[0], len(groups)
        each = np.diff(first)
        seeds = slice(int(groups.first[0]), int(groups.first[-1]))
        rows, order = self._sorted(groups.node[seeds], np.repeat(np.arange(count, dtype=np.uint32), each))
        slot.rows.put(rows.ranks, groups.offset[seeds][order].astype(np.uint32, copy=False))
        slot.places.put(rows, self._placed)
        is_single = bool((each == 1).all())
        try:
            with slot.recording.record() as recording:
                self._record(recording, slot, rows, count, is_single)
            slot.recording.submit()
        except BaseException:
            self._version = -1  # the columns may not have been made
            raise
        return _Block(count, rows, slot)

    def _record(self, recording: Recording, slot: _Slot, rows: Placed, count: int, is_single: bool) -> None:
        num_rows, num_columns, version = len(rows.keys), len(self._placed.keys), self._customized.version
        makes_columns = version != self._version
        recording.barrier("all", "all")
        recording.timestamp(slot.timestamps, 0)
        if num_rows:
            slot.rows.record_fill(recording)
        slot.places.record_copy(recording)
        if makes_columns:
            self._columns.record_fill(recording)
        if not is_single:
            recording.fill(slot.found, UNREACHABLE, 4 * count * num_columns)
        recording.barrier("transfer", "compute")
        if num_rows:
            slot.rows.record(recording)
        if makes_columns:
            self._columns.record(recording)
            self._version = version
        slot.places.record(recording)
        recording.barrier()
        if num_rows:
            recording.bind(slot.bound)
            recording.push(slot.bound, num_rows, num_columns, slot.places.row_length, self._limit, is_single)
            recording.dispatch(-(-num_columns // self._side), -(-num_rows // self._side))
        recording.timestamp(slot.timestamps, 1)
        recording.barrier("all", "all")

    def _finished(self, block: _Block) -> FinishedRows:
        """Return the rows of a submission that the device has executed."""
        slot = block.slot
        slot.places.check()
        self.device_ms += slot.timestamps.between()
        self.counters["iterations"] += 1
        shape, may = (block.size, len(self._placed.keys)), self._may_overflow(block)
        read = partial(self._download.read_rows, slot.found, [(0, 4 * shape[0] * shape[1])], shape)
        place = slot.found, [(0, shape[0])]
        if not may.any():
            return FinishedRows(may, read, place=place, read_into=read)
        found = read()
        return FinishedRows(may & (found == UNREACHABLE).any(axis=1), lambda: found, place=place)

    def _may_overflow(self, block: _Block) -> npt.NDArray[np.bool_]:
        """Return for each row whether a sum may have been too large."""
        found = np.full(block.size, self._customized.saturated)
        columns = self._columns.extremes().max(axis=0)
        if len(block.rows.keys) and may_overflow(block.slot.rows.extremes().max(axis=0), columns):
            may = may_overflow(block.slot.rows.extremes_of_rows(), columns)
            found[block.rows.given[may]] = True
        return found
