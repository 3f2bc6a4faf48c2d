"""Batch of sweeps over a hierarchy: rows of distances from many sources at once, to all nodes or to some.

Distances lie in tiles: those of a node for some searches are side by side, so that the arcs of the node are read once
for all of these searches. If few nodes are wanted, only these and their ancestors are swept (RPHAST: D. Delling, A.
Goldberg, R. Werneck, Faster batched shortest paths in road networks, 2011). The rows of some searches are downloaded
while the device sweeps for the next ones.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, FinishedRows
from vkssp.algorithms.phast import ENTRY_WORDS, hierarchy_of, ranks_of
from vkssp.batch.aggregation import Aggregation, aggregation_needs, words_of
from vkssp.batch.batch_sums import BatchSums, Sums
from vkssp.batch.device_rows import DeviceRows
from vkssp.batch.needs import MOST_BYTES, Needs, searches_in
from vkssp.batch.node_sums import NodeSumsBatch, sum_needs
from vkssp.batch.row_writer import RECORD_BYTES, SEARCHES_CONSTANT, RowWriter, WrittenRows, are_all, has_room, leaves_of
from vkssp.batch.sweeps import Sweeps, sweep_needs
from vkssp.batch.tree_loads import TreeLoads, can_load, load_needs, most_searches
from vkssp.cch.customized import STATUS_WORDS, check_loops
from vkssp.cch.path_entries import PathEntries
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.double_buffering import double_buffered
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import ranges
from vkssp.graph.hierarchy import Hierarchy
from vkssp.prepared.aggregates import Aggregates, ArcLoads, NodeSums, Straightness
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Searches of a tile, for few and for many at once.
TILE, LARGE_TILE = 32, 128
#: Largest number of storage buffers of a kernel.
BINDINGS = 10
#: Largest part of a device's free memory that a batch takes.
MOST_MEMORY = 0.5
# All nodes are swept if the wanted nodes and their ancestors are more than this part of them.
_MOST_PART = 0.7
_SEED_WORDS = 4
# Smallest number of searches of a tile: those of one invocation.
_LEAST_TILE = 4


def needed_ranks(hierarchy: Hierarchy, wanted: Uint32s) -> Uint32s:
    """Return the ranks of the nodes that a sweep to some nodes needs: theirs and their ancestors', ascending."""
    is_needed = np.zeros(hierarchy.num_nodes, np.bool_)
    is_needed[wanted] = True
    first_node, first = hierarchy.first_node.astype(np.int64), hierarchy.first_ancestor.astype(np.int64)
    for level in range(hierarchy.num_levels - 1, 0, -1):
        begin, end = int(hierarchy.first_of_level[level]), int(hierarchy.first_of_level[level + 1])
        low = int(first_node[begin])
        here = np.logical_or.reduceat(is_needed[low : int(first_node[end])], first_node[begin:end] - low)
        groups = begin + np.flatnonzero(here)
        count = hierarchy.num_ancestors[groups]
        is_needed[hierarchy.ancestor[ranges(first[groups], count)]] = True
    return np.flatnonzero(is_needed).astype(np.uint32)


def tile_of(searches: int) -> int:
    """Return the number of searches of a tile, given the number of searches at once; few need small tiles only."""
    if searches >= LARGE_TILE:
        return LARGE_TILE
    return min(TILE, max(_LEAST_TILE, 1 << max(0, searches - 1).bit_length()))


def made_by_sweeps(graph: DeviceGraph, aggregates: Aggregates | None) -> Aggregates | None:
    """Return the aggregates if a batch makes them on the device, or None if it makes rows."""
    if aggregates is None or isinstance(aggregates[0], Straightness):
        return None
    if not isinstance(aggregates[0], ArcLoads | NodeSums):
        return aggregates
    if hierarchy_of(graph).saturated:  # each row is made again, but what is summed up with others cannot be left out
        return None
    can = isinstance(aggregates[0], NodeSums) or (aggregates[0].watch is None and can_load(graph))
    return aggregates if can else None


def sweeps_at_once(graph: DeviceGraph, rows: int, wanted: int, aggregates: Aggregates | None = None) -> int:
    """Return the largest number of searches at once; less than 2 if rows must be computed one after the other."""
    device, hierarchy = graph.device, graph.renumbered.hierarchy
    if hierarchy is None or BINDINGS > device.limits.storage_buffers:
        return 0
    made = made_by_sweeps(graph, aggregates)
    if made is not None and isinstance(made[0], ArcLoads):
        rows = min(rows, most_searches(made[0]))
    needs = _needs_of(graph, hierarchy, wanted, made)
    fitting = searches_in(device, MOST_MEMORY * device.free_bytes(), needs, _row_bytes(wanted, made))
    most = min(rows, fitting, device.tuned["sweeps.searches"])
    if most > TILE:
        # Whole tiles, because memory is allocated by tiles.
        whole = LARGE_TILE if most >= LARGE_TILE else TILE
        return most // whole * whole
    while most > 1 and tile_of(most) > fitting:
        most = tile_of(most) // 2 if tile_of(most) > _LEAST_TILE else 0
    return most


def _needs_of(graph: DeviceGraph, hierarchy: Hierarchy, wanted: int, made: Aggregates | None) -> list[Needs]:
    """Return the sizes of the buffers of a batch of rows of so many nodes, or of aggregates of rows."""
    device, num_nodes, row_bytes = graph.device, hierarchy.num_nodes, _row_bytes(wanted, made)
    # The upward labels of the largest number of seeds: distances, and the supernode of each level.
    distances, labels = 4 * MAX_TERMINALS * nodes_each(hierarchy), 12 * MAX_TERMINALS * hierarchy.num_levels
    seeds = 4 * _SEED_WORDS * (MAX_TERMINALS + 1)
    parts = [Needs((4 * num_nodes, row_bytes, row_bytes, seeds, seeds, distances, labels)), sweep_needs(num_nodes)]
    if made is None:
        return [*parts, Needs(others=(RECORD_BYTES * wanted if has_room(device, wanted) else 0,))]
    if isinstance(made[0], ArcLoads):
        return [*parts, load_needs(graph, made[0])]
    if isinstance(made[0], NodeSums):
        return [*parts, sum_needs(num_nodes)]
    return [*parts, aggregation_needs(device, made, num_nodes)]


def _row_bytes(wanted: int, made: Aggregates | None) -> int:
    """Return the bytes of a row of so many nodes, or of the aggregates of a row."""
    return 4 * wanted if made is None else max(8, 8 * sum(map(words_of, made)))


def nodes_each(hierarchy: Hierarchy) -> int:
    """Return the largest number of distances that an upward search leaves."""
    return int(hierarchy.nodes_upward.max(initial=1))


class SweepBatch(Resource):
    """Maker of rows of distances from groups of seeds to some nodes, by sweeps over a hierarchy.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device, renumbered in the order of its hierarchy.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        Number of searches at once, see `sweeps_at_once`.
    limit : int
        Distances beyond it count as unreachable.
    aggregates : tuple of Aggregate, optional
        What is made of the distances of all nodes, in place of rows.

    Attributes
    ----------
    device_ms : float
        Time on the device since the last call of `rows`.
    counters : dict of str to int
        ``iterations``, the number of dispatches of sweeps since then.
    num_rows : int
        Number of rows of a tile, one for each node that is swept, and for each leaf that is computed with the rows of
        distances.
    aggregates : tuple of Aggregate or None
        What is made in place of rows.
    """

    def __init__(
        self, graph: DeviceGraph, nodes: Uint32s, searches: int, limit: int, aggregates: Aggregates | None = None
    ) -> None:
        super().__init__(graph)
        self._graph, self.device, self._limit, self._nodes = graph, graph.device, limit, nodes
        self.aggregates = aggregates
        self._aggregation: Aggregation | None = None
        self._sums: BatchSums | None = None
        self.searches, self._num_wanted = searches, len(nodes)
        self.device_ms, self.counters = 0.0, {"iterations": 0}
        try:
            self._make(nodes)
        except BaseException:
            self.close()
            raise

    def _make(self, nodes: Uint32s) -> None:
        device, customized = self.device, hierarchy_of(self._graph)
        self._customized, hierarchy = customized, customized.hierarchy
        self._rank = ranks_of(self._graph.renumbered)
        wanted = nodes if self._rank is None else self._rank[nodes]
        needed = needed_ranks(hierarchy, wanted)
        is_part = self.aggregates is None and len(needed) <= _MOST_PART * hierarchy.num_nodes
        if not is_part:
            needed = np.arange(hierarchy.num_nodes, dtype=np.uint32)
        self.num_rows = len(needed)
        row_of = None
        if is_part:
            row_of = np.full(hierarchy.num_nodes, UNREACHABLE, np.uint32)
            row_of[needed] = np.arange(len(needed), dtype=np.uint32)
        leaves, swept = None, needed
        makes_rows = self.aggregates is None and not is_part
        leaves_wait = makes_rows and device.tuned["sweeps.leaves"] and has_room(device, len(wanted))
        if leaves_wait and are_all(wanted, hierarchy.num_nodes):
            leaves = leaves_of(hierarchy)
            swept = np.flatnonzero(~leaves).astype(np.uint32)
        self._flat = 1 << min(device.tuned["sweeps.workgroup_size"], device.limits.workgroup_size).bit_length() - 1
        # The invocations for a node, of four searches each, are in one workgroup.
        self._tile = tile = min(tile_of(self.searches), 4 * self._flat)
        self._num_tiles = -(-self.searches // tile)
        self._tiles = self._buffer("the distances", 4 * tile * self._num_tiles * len(needed))
        self._status = self._buffer("the status", 4 * STATUS_WORDS)
        self._overflow = self._buffer("whether sums did not fit", 4 * tile * self._num_tiles)
        # For each seed the distances of all nodes in the supernodes on its path to the root.
        self._nodes_each = nodes_each(hierarchy)
        self._seeds_each = 0
        self._label_parts: list[Resource] = []
        self._row_bytes = _row_bytes(self._num_wanted, self.aggregates)
        self._writers: list[Recording] = []
        self._written: tuple[Buffer, WrittenRows] | None = None
        self._rows_written: list[WrittenRows] = []
        self._recordings: dict[tuple[int, int, Sums | None, bool], Recording] = {}
        self._finished, self._seeds, self._mapped = list[Buffer](), [], []
        for _ in range(2):
            seeds = 4 * _SEED_WORDS * (MAX_TERMINALS * self.searches + 1)
            self._seeds.append(Buffer(device, seeds, mapped=True, name="the seeds", owner=self))
            words = STATUS_WORDS + tile * self._num_tiles
            self._mapped.append(Buffer(device, 4 * words, mapped=True, name="the mapped status", owner=self))
        self._most_rows = max(1, min(self.searches, MOST_BYTES // max(1, self._row_bytes)))
        self._timestamps = Timestamps(device, 4, owner=self)
        entries = PathEntries(device, hierarchy, ENTRY_WORDS)
        self._most_upward = entries.most_groups(device.limits.workgroups)
        self._lowest = entries.buffer(self._most_upward, self)
        size = min(device.tuned["sweeps.upward_size"], device.limits.workgroup_size)
        shader, constants = customized.shader("phast_upward_many")
        self._upward = Kernel(
            device,
            shader,
            bindings=BINDINGS,
            push_constants=3,
            workgroup_size=size,
            constants={**constants, **entries.constants, SEARCHES_CONSTANT: tile},
            shared_bytes=entries.shared_bytes,
            owner=self,
        )
        self._sweeps = Sweeps(
            customized,
            *(self._tiles, self._overflow, self._status, swept, row_of),
            num_rows=self.num_rows,
            tile=tile,
            num_tiles=self._num_tiles,
            size=self._flat,
            owner=self,
        )
        if self.aggregates is not None:
            self._make_finished()
            self._make_aggregation(wanted.astype(np.int64))
            return
        self._writer = RowWriter(
            customized,
            *(self._tiles, self._overflow, wanted if row_of is None else row_of[wanted], leaves),
            num_rows=self.num_rows,
            tile=tile,
            limit=self._limit,
            size=self._flat,
            owner=self,
        )

    def _make_finished(self) -> None:
        """Make the buffers of what comes to the host; rows that stay on the device need none."""
        self.growths += 1
        nbytes, name = self._row_bytes * self.searches, "the finished rows"
        finished = [Buffer(self.device, nbytes, name=name, owner=self, shared=True) for _ in range(2)]
        # Younger than the buffers, so that its copies are closed, and waited for, before them.
        self._download = Download(self.device, self._row_bytes * self._most_rows, self)
        self._finished = finished

    def _make_aggregation(self, rows: npt.NDArray[np.int64]) -> None:
        assert self.aggregates is not None
        device, first, is_limited = self.device, self.aggregates[0], self._limit != UNREACHABLE
        tile, num_tiles = self._tile, self._num_tiles
        if isinstance(first, ArcLoads):
            parts = self._tiles, self._overflow, is_limited, self.num_rows, tile, num_tiles, self.searches
            self._sums = TreeLoads(self._graph, first, *parts, self._seeds, self._finished, self)
        elif isinstance(first, NodeSums):
            given = device, first, self._tiles, self._overflow
            self._sums = NodeSumsBatch(*given, rows, is_limited, self.num_rows, tile, self)
        else:
            sizes = self.num_rows, tile, num_tiles
            self._aggregation = Aggregation(device, self.aggregates, self._tiles, rows, *sizes, self._finished, self)

    def has_room_for_rows(self) -> bool:
        """Return whether rows can come to the host: by buffers that there are, or that there is memory for."""
        nbytes = 2 * self._row_bytes * self.searches
        return bool(self._finished) or nbytes <= MOST_MEMORY * self.device.free_bytes()

    def make_labels(self, seeds_each: int) -> None:
        """Make the buffers of upward labels for a number of seeds of each search; close those made before."""
        for part in reversed([*self._label_parts, *self._recordings.values()]):
            part.close()
        self.growths += 1
        self._label_parts, self._recordings, self._seeds_each = [], {}, seeds_each
        customized, searches = self._customized, self._tile * self._num_tiles
        num_levels = customized.hierarchy.num_levels
        self._labels = self._buffer("the upward labels", 12 * num_levels * seeds_each * searches)
        distances = self._buffer("the distances of labels", 4 * self._nodes_each * seeds_each * searches)
        self._upwards = [
            self._upward.on(
                *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
                *(customized.ancestor_depth, seeds, self._labels, distances, self._overflow, self._lowest),
            )
            for seeds in self._seeds
        ]
        self._bound = self._sweeps.on(self._labels, distances)
        self._label_distances, self._written, self._rows_written = distances, None, []
        self._label_parts = [self._labels, distances, *self._upwards, *self._bound]

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)

    def _recording(self, parity: int, num_searches: int, sums: Sums | None, makes_rows: bool) -> Recording:
        """Return a command buffer that sweeps for at least `num_searches` searches; recorded once."""
        num_tiles = -(-num_searches // self._tile)
        # All tiles, or half of them, a quarter, ..., so that few command buffers are recorded.
        at_most = self._num_tiles
        while at_most > 1 and -(-at_most // 2) >= num_tiles:
            at_most = -(-at_most // 2)
        key = (parity, at_most, sums, makes_rows)
        if key not in self._recordings:
            self._recordings[key] = self._record(*key)
        return self._recordings[key]

    def _record(self, parity: int, num_tiles: int, sums: Sums | None, makes_rows: bool) -> Recording:
        searches = min(self.searches, self._tile * num_tiles)
        recording = Recording(self.device, owner=self)
        with recording.record():
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 2 * parity)
            recording.fill(self._labels, 0)
            recording.fill(self._status, 0)
            recording.fill(self._overflow, 0)
            recording.barrier("transfer", "compute")
            upward, all_searches = self._upwards[parity], self._tile * self._num_tiles
            recording.bind(upward)
            recording.push(upward, all_searches, self._seeds_each, self._nodes_each)
            recording.dispatch(min(searches * self._seeds_each, self._most_upward))
            # Beside the upward searches, which mostly wait.
            self._sweeps.record_packing(recording)
            if self.aggregates is None:
                self._writer.record_column_arcs(recording)
            recording.barrier()
            self._sweeps.record(recording, self._bound, num_tiles, all_searches, self._seeds_each)
            if self._sums is not None and sums is not None:
                self._sums.record(recording, parity, sums, num_tiles, searches)
            elif self._aggregation is not None:
                self._aggregation.record(recording, parity, num_tiles, searches)
            elif makes_rows:
                self._rows_written[parity].record(recording, searches, 0)
            recording.timestamp(self._timestamps, 2 * parity + 1)
            recording.barrier("all", "all")
            mapped = self._mapped[parity]
            recording.copy(self._status, mapped, 4 * STATUS_WORDS)
            recording.copy(self._overflow, mapped, self._overflow.nbytes, 0, 4 * STATUS_WORDS)
            recording.barrier("all", "all")
        return recording

    def suits(self, nodes: Uint32s, searches: int, limit: int, aggregates: Aggregates | None = None) -> bool:
        """Return whether this makes rows of the given nodes, so many at once, up to a limit, or aggregates of rows."""
        is_same = (
            aggregates == self.aggregates
            and limit == self._limit
            and searches <= self.searches
            and (nodes is self._nodes or np.array_equal(nodes, self._nodes))
        )
        return is_same and not self.closed

    def rows(self, groups: Groups, into: DeviceRows | None = None) -> Generator[FinishedRows, None, None]:
        """Compute rows of distances, in order.

        Parameters
        ----------
        groups : Groups
            The seeds of each row.
        into : DeviceRows, optional
            Where kernels write the rows; these have no columns then, and lie nowhere else.

        If the overflow of a row is set, only a separate search tells whether it matters.

        Raises
        ------
        DeviceError
            If the device is lost, does not answer, or ends long loops early.
        """
        with closing(self._rows(groups, into)) as made:
            yield from made if self._sums is None else self._sums.summed(made, -(-len(groups) // self.searches))

    def _rows(self, groups: Groups, into: DeviceRows | None) -> Generator[FinishedRows, None, None]:
        self.device_ms, self.counters = 0.0, {"iterations": 0}
        seeds_each = int(np.diff(groups.first).max(initial=1))
        if seeds_each > self._seeds_each:
            self.make_labels(1 << (seeds_each - 1).bit_length())
        if into is None and self.aggregates is None:
            self._bind_finished()

        def submitted() -> Iterator[tuple[Recording, tuple[int, int]]]:
            for number, first in enumerate(range(0, len(groups), self.searches)):
                count = min(self.searches, len(groups) - first)
                sums = None if self._sums is None else self._sums.sums_of(number)
                recording = self._recording(number % 2, count, sums, into is None)
                some = groups.between(first, first + count)
                self._put(some, self._seeds[number % 2])
                if self._sums is not None:
                    self._sums.put(some, number % 2)
                if into is None or bound is None:
                    recording.submit()
                else:
                    sweeps, recording = recording, self._writers[number % 2]
                    self._record_writing(recording, bound, number % 2, count, into)
                    recording.submit(sweeps)
                yield recording, (number % 2, count)

        bound = None if into is None else self._bound_to(into.buffer)
        with closing(double_buffered(submitted())) as executed:
            for parity, count in executed:
                yield from self._hand_over(parity, count, into is not None)

    def _record_writing(
        self, recording: Recording, bound: WrittenRows, parity: int, count: int, into: DeviceRows
    ) -> None:
        """Record the commands that write the next rows, unless they are recorded already."""
        key = bound.serial, self._seeds_each, into.next_row, count, into.ends_after(count)
        if recording.key == key:
            into.note_written(count)
            return
        with recording.record(key):
            bound.record(recording, count, into.next_row)
            into.record_written(recording, count)
            recording.timestamp(self._timestamps, 2 * parity + 1)
            recording.barrier("all", "all")
            # Sums of leaves are made only here, after those of all other nodes have been copied.
            recording.copy(self._overflow, self._mapped[parity], self._overflow.nbytes, 0, 4 * STATUS_WORDS)
            recording.barrier("all", "all")

    def _bound_to(self, rows: Buffer) -> WrittenRows:
        """Return the kernels that write rows, bound to a buffer; make what they need on first use."""
        while len(self._writers) < 2:
            self._writers.append(Recording(self.device, owner=self))
        if self._written is None or self._written[0] is not rows:
            if self._written is not None:
                self._written[1].close()
            self._written = rows, self._writing_to(rows)
            self._label_parts.append(self._written[1])
        return self._written[1]

    def _bind_finished(self) -> None:
        """Bind the kernels that write rows to the buffers of those that come to the host, unless they are bound."""
        if not self._finished:
            self._make_finished()
        if not self._rows_written:
            self._rows_written = [self._writing_to(finished) for finished in self._finished]
            self._label_parts += self._rows_written

    def _writing_to(self, rows: Buffer) -> WrittenRows:
        searches = self._tile * self._num_tiles
        return self._writer.on(rows, self._labels, self._label_distances, self._seeds_each, searches)

    def _put(self, groups: Groups, seeds: Buffer) -> None:
        """Write the seeds of some groups into a buffer that the device reads."""
        first, end = int(groups.first[0]), int(groups.first[-1])
        words = seeds.view().reshape(-1, _SEED_WORDS)
        node = groups.node[first:end]
        words[0, 0] = end - first
        words[1 : end - first + 1, 0] = node if self._rank is None else self._rank[node]
        words[1 : end - first + 1, 1] = groups.offset[first:end]
        count = np.diff(groups.first)
        words[1 : end - first + 1, 2] = np.repeat(np.arange(len(groups)), count)
        words[1 : end - first + 1, 3] = np.arange(first, end) - np.repeat(groups.first[:-1], count)

    def _hand_over(self, parity: int, count: int, is_written: bool) -> Generator[FinishedRows, None, None]:
        status = self._mapped[parity].view()
        check_loops(self.device, status[0])
        self.device_ms += self._timestamps.between(2 * parity)
        self.counters["iterations"] += self._sweeps.num_dispatches
        is_over: npt.NDArray[np.bool_] = status[STATUS_WORDS : STATUS_WORDS + count] != 0
        is_over = is_over | bool(status[1]) | self._customized.saturated
        if is_written:
            yield FinishedRows(is_over, lambda: np.zeros((count, 0), np.uint32))
            return
        row_bytes, aggregation = self._row_bytes, self._sums or self._aggregation
        for first in range(0, count, self._most_rows):
            size = min(self._most_rows, count - first)

            where = self._finished[parity], [(row_bytes * first, row_bytes * (first + size))]
            if aggregation is not None:
                yield FinishedRows(is_over[first : first + size], partial(self._decoded, aggregation, *where))
                continue
            read = partial(self._download.read_rows, *where, (size, self._num_wanted))
            place = self._finished[parity], [(first, first + size)]
            yield FinishedRows(is_over[first : first + size], read, place=place, read_into=read)

    def _decoded(
        self, aggregation: BatchSums | Aggregation, source: Buffer, spans: Sequence[tuple[int, int]]
    ) -> npt.NDArray[Any]:
        return aggregation.decode(self._download.read(source, spans))
