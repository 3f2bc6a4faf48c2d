"""Sweeps for many sources at once over a hierarchy: rows of distances to all nodes, or to some.

Distances lie in tiles, those of a node side by side for some searches, so that the arcs of a node are read once for all
of them. Where few nodes are wanted only they and their ancestors are swept (RPHAST: D. Delling, A. Goldberg, R.
Werneck, Faster batched shortest paths in road networks, 2011). While a batch is swept the rows of the one before leave
the device.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS
from vkssp.algorithms.phast import HEIGHT_CONSTANT, IS_PART_CONSTANT, SEARCHES_CONSTANT, hierarchy_of, positions_of
from vkssp.batch.block_resident_batch import Finished
from vkssp.cch.customized import STATUS_WORDS, check_loops, height_of
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.download import Download
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import ranges
from vkssp.graph.hierarchy import Hierarchy
from vkssp.prepared.seed_groups import Groups
from vkssp.resource import Resource

#: Searches of a tile, of a few and of many at once, and searches at once at most, on a GPU and on a software device.
TILE, LARGE_TILE, MOST_SEARCHES, MOST_ON_CPU = 32, 128, 1024, 32
#: Storage buffers of a kernel at most.
BINDINGS = 9
#: The part of a device's free memory that is taken at most.
MOST_MEMORY = 0.5
# Where more nodes than this part of them are wanted, or above one that is, all are swept.
_MOST_PART = 0.7
# The side of the squares that phast_rows.comp turns round, and bytes of rows that are handed over at a time.
_SIDE, _MOST_BYTES = 32, 64 << 20
_SEED_WORDS = 4
# Searches of a tile at least: an invocation looks at so many.
_LEAST_TILE = 4


def needed_positions(hierarchy: Hierarchy, wanted: Uint32s) -> Uint32s:
    """Return the positions of some nodes and of all that a sweep to them needs, ascending."""
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
    """Return how many searches a tile has where there are so many at once: no more than few need."""
    if searches >= LARGE_TILE:
        return LARGE_TILE
    return min(TILE, max(_LEAST_TILE, 1 << max(0, searches - 1).bit_length()))


def sweeps_at_once(graph: DeviceGraph, rows: int, wanted: int) -> int:
    """Return how many searches there are at once at most; where not even two are, one after the other needs less."""
    device, renumbered = graph.device, graph.renumbered
    num_nodes, hierarchy = max(1, renumbered.graph.num_nodes), renumbered.hierarchy
    if hierarchy is None or BINDINGS > device.limits.storage_buffers:
        return 0
    # What searches up leave, of as many seeds as there may be.
    reached, ways = 4 * MAX_TERMINALS * nodes_each(hierarchy), 12 * MAX_TERMINALS * hierarchy.num_levels
    seeds = 4 * _SEED_WORDS * MAX_TERMINALS
    each = 4 * num_nodes + 8 * max(1, wanted) + 2 * seeds + reached + ways
    largest = max(4 * num_nodes, 4 * max(1, wanted), seeds + 4 * _SEED_WORDS, reached, ways)
    fitting = min(int(MOST_MEMORY * device.free_bytes()) // each, device.limits.buffer // largest)
    most = min(rows, fitting, MOST_ON_CPU if device.info.kind == "cpu" else MOST_SEARCHES)
    if most > TILE:
        # Whole tiles: memory is taken for these.
        whole = LARGE_TILE if most >= LARGE_TILE else TILE
        return most // whole * whole
    while most > 1 and tile_of(most) > fitting:
        most = tile_of(most) // 2 if tile_of(most) > _LEAST_TILE else 0
    return most


def nodes_each(hierarchy: Hierarchy) -> int:
    """Return how many distances a search up leaves at most."""
    return int(hierarchy.nodes_on_way.max(initial=1))


class Sweeps(Resource):
    """Rows of distances from many groups of seeds to some nodes, by sweeps over a hierarchy.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device, prepared in the order of its hierarchy.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        How many searches there are at once, see `sweeps_at_once`.
    limit : int
        Distances beyond it count as unreachable.

    Attributes
    ----------
    device_ms : float
        Time on the device since the last call of `rows`.
    counters : dict of str to int
        ``iterations``, the dispatches of sweeps since then.
    num_swept : int
        Nodes that are swept.
    """

    def __init__(self, graph: DeviceGraph, nodes: Uint32s, searches: int, limit: int) -> None:
        super().__init__(graph)
        self._graph, self.device, self._limit, self._nodes = graph, graph.device, limit, nodes
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
        self._position = positions_of(self._graph.renumbered)
        wanted = nodes if self._position is None else self._position[nodes]
        needed = needed_positions(hierarchy, wanted)
        is_part = len(needed) <= _MOST_PART * hierarchy.num_nodes
        if not is_part:
            needed = np.arange(hierarchy.num_nodes, dtype=np.uint32)
        self.num_swept = len(needed)
        row_of = np.full(hierarchy.num_nodes if is_part else 1, UNREACHABLE, np.uint32)
        if is_part:
            row_of[needed] = np.arange(len(needed), dtype=np.uint32)
        bounds = hierarchy.first_node[hierarchy.first_of_level]
        self._bounds = np.searchsorted(needed, bounds).tolist()
        self._tile = tile = tile_of(self.searches)
        self._num_tiles = -(-self.searches // tile)
        self._tiles = self._buffer("the distances", 4 * tile * self._num_tiles * len(needed))
        self._status = self._buffer("the status", 4 * STATUS_WORDS)
        self._overflow = self._buffer("whether sums did not fit", 4 * tile * self._num_tiles)
        # For each seed the distances of all nodes in the supernodes on its way up.
        self._nodes_each = nodes_each(hierarchy)
        self._seeds_each = 0
        self._ways: list[Resource] = []
        rows_of = self._upload("the rows of positions", row_of)
        positions = self._upload("the positions of rows", needed if is_part else needed[:1])
        wants = self._upload("what is wanted", row_of[wanted] if is_part else wanted)
        row_bytes = 4 * self._num_wanted
        self._finished, self._seeds, self._mapped = [], [], []
        for _ in range(2):
            name = "the finished rows"
            self._finished.append(Buffer(device, row_bytes * self.searches, name=name, owner=self, shared=True))
            seeds = 4 * _SEED_WORDS * (MAX_TERMINALS * self.searches + 1)
            self._seeds.append(Buffer(device, seeds, mapped=True, name="the seeds", owner=self))
            words = STATUS_WORDS + tile * self._num_tiles
            self._mapped.append(Buffer(device, 4 * words, mapped=True, name="the mapped status", owner=self))
        self._most_rows = max(1, min(self.searches, _MOST_BYTES // max(1, row_bytes)))
        self._download = Download(device, row_bytes * self._most_rows, self)
        self._timestamps = Timestamps(device, 4, owner=self)
        constants = {SEARCHES_CONSTANT: tile, IS_PART_CONSTANT: int(is_part)}
        height = height_of(hierarchy)
        size = min(128, device.limits.workgroup_size)
        self._climb = Kernel(
            device,
            "phast_climb_many",
            bindings=BINDINGS,
            push_constants=3,
            workgroup_size=size,
            constants={HEIGHT_CONSTANT: height, SEARCHES_CONSTANT: tile},
            shared_bytes=8 * height,
            owner=self,
        )
        self._flat = 1 << min(256, device.limits.workgroup_size).bit_length() - 1
        self._sweep = Kernel(
            device,
            "phast_sweep_many",
            bindings=8,
            push_constants=7,
            workgroup_size=self._flat,
            constants=constants,
            owner=self,
        )
        self._swept = (customized.rows, customized.arcs, self._tiles, self._overflow, rows_of, positions)
        turn = Kernel(
            device,
            "phast_rows",
            bindings=3,
            push_constants=4,
            workgroup_size=self._flat,
            constants={SEARCHES_CONSTANT: tile},
            shared_bytes=4 * _SIDE * (_SIDE + 1),
            owner=self,
        )
        self._turns = [turn.on(self._tiles, wants, finished) for finished in self._finished]
        self._recordings: dict[tuple[int, int], Recording] = {}

    def _make_ways(self, seeds_each: int) -> None:
        """Make room for what so many seeds of a search leave to the sweep; what there was before is closed."""
        for part in reversed([*self._ways, *self._recordings.values()]):
            part.close()
        self._ways, self._recordings, self._seeds_each = [], {}, seeds_each
        customized, searches = self._customized, self._tile * self._num_tiles
        num_levels = customized.hierarchy.num_levels
        self._ways_up = self._buffer("the ways up", 12 * num_levels * seeds_each * searches)
        reached = self._buffer("the distances on the ways up", 4 * self._nodes_each * seeds_each * searches)
        self._climbs = [
            self._climb.on(
                *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
                *(customized.ancestor_depth, seeds, self._ways_up, reached, self._overflow),
            )
            for seeds in self._seeds
        ]
        self._bound = self._sweep.on(*self._swept, self._ways_up, reached)
        self._ways = [self._ways_up, reached, *self._climbs, self._bound]

    def _buffer(self, name: str, nbytes: int) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=self)

    def _upload(self, name: str, values: Uint32s) -> Buffer:
        buffer = self._buffer(name, values.nbytes)
        if values.nbytes:
            buffer.write(values)
        return buffer

    def _recording(self, parity: int, num_searches: int) -> Recording:
        """Return what sweeps for so many searches, or some more, recorded once."""
        num_tiles = -(-num_searches // self._tile)
        # As many tiles as there are, or half, a quarter, ..., so that few recordings are made.
        at_most = self._num_tiles
        while at_most > 1 and -(-at_most // 2) >= num_tiles:
            at_most = -(-at_most // 2)
        key = (parity, at_most)
        if key not in self._recordings:
            self._recordings[key] = self._record(parity, at_most)
        return self._recordings[key]

    def _record(self, parity: int, num_tiles: int) -> Recording:
        device, num_rows, limits = self.device, self.num_swept, self.device.limits
        searches = min(self.searches, self._tile * num_tiles)
        recording = Recording(device, owner=self)
        with recording.record():
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 2 * parity)
            recording.fill(self._ways_up, 0)
            recording.fill(self._status, 0)
            recording.fill(self._overflow, 0)
            recording.barrier("transfer", "compute")
            climb, all_searches = self._climbs[parity], self._tile * self._num_tiles
            recording.bind(climb)
            recording.push(climb, all_searches, self._seeds_each, self._nodes_each)
            recording.dispatch(min(searches * self._seeds_each, limits.workgroups))
            recording.barrier()
            recording.bind(self._bound)
            for level, (begin, end) in enumerate(pairwise(self._bounds)):
                if begin < end:
                    counts = (num_rows, num_tiles, all_searches, self._seeds_each)
                    recording.push(self._bound, level, begin, end, *counts)
                    parts = -(-(end - begin) * self._tile // 4 // self._flat) * num_tiles
                    recording.dispatch(min(parts, limits.workgroups))
                    recording.barrier()
            turn = self._turns[parity]
            recording.bind(turn)
            recording.push(turn, num_rows, self._num_wanted, searches, self._limit)
            squares = -(-self._num_wanted // _SIDE) * -(-searches // _SIDE)
            recording.dispatch(min(max(1, squares), limits.workgroups))
            recording.timestamp(self._timestamps, 2 * parity + 1)
            recording.barrier("all", "all")
            mapped = self._mapped[parity]
            recording.copy(self._status, mapped, 4 * STATUS_WORDS)
            recording.copy(self._overflow, mapped, self._overflow.nbytes, 0, 4 * STATUS_WORDS)
            recording.barrier("all", "all")
        return recording

    @property
    def held_bytes(self) -> int:
        """Bytes that are held for this."""
        return self.memory_bytes

    def suits(self, nodes: Uint32s, searches: int, limit: int) -> bool:
        """Return whether this makes rows of some nodes, so many at once, up to some distance."""
        is_same = limit == self._limit and searches <= self.searches and np.array_equal(nodes, self._nodes)
        return is_same and not self.closed

    def rows(self, groups: Groups) -> Generator[Finished, None, None]:
        """Make rows of distances, in order.

        Where a row's overflow is set, one search at a time has to find out whether it matters.

        Raises
        ------
        DeviceError
            If the device is lost, does not answer, or cannot go through loops as long as these.
        """
        self.device_ms, self.counters = 0.0, {"iterations": 0}
        seeds_each = int(np.diff(groups.first).max(initial=1))
        if seeds_each > self._seeds_each:
            self._make_ways(1 << (seeds_each - 1).bit_length())
        running: list[tuple[Recording, int, int]] = []
        try:
            for number, first in enumerate(range(0, len(groups), self.searches)):
                count = min(self.searches, len(groups) - first)
                recording = self._recording(number % 2, count)
                self._put(groups.between(first, first + count), self._seeds[number % 2])
                recording.submit()
                running.append((recording, number % 2, count))
                if len(running) == 2:
                    yield from self._hand_over(*running.pop(0))
            while running:
                yield from self._hand_over(*running.pop(0))
        finally:
            for recording, _, _ in running:
                recording.wait()

    def _put(self, groups: Groups, seeds: Buffer) -> None:
        """Write the seeds of a batch where the device finds them."""
        first, end = int(groups.first[0]), int(groups.first[-1])
        words = seeds.view().reshape(-1, _SEED_WORDS)
        node = groups.node[first:end]
        words[0, 0] = end - first
        words[1 : end - first + 1, 0] = node if self._position is None else self._position[node]
        words[1 : end - first + 1, 1] = groups.offset[first:end]
        count = np.diff(groups.first)
        words[1 : end - first + 1, 2] = np.repeat(np.arange(len(groups)), count)
        words[1 : end - first + 1, 3] = np.arange(first, end) - np.repeat(groups.first[:-1], count)

    def _hand_over(self, recording: Recording, parity: int, count: int) -> Generator[Finished, None, None]:
        recording.wait()
        status = self._mapped[parity].view()
        check_loops(self.device, status[0])
        begin, end = self._timestamps.read_all(2 * parity, 2)
        self.device_ms += end - begin
        self.counters["iterations"] += sum(begin < end for begin, end in pairwise(self._bounds))
        is_over: npt.NDArray[np.bool_] = status[STATUS_WORDS : STATUS_WORDS + count] != 0
        is_over = is_over | bool(status[1]) | self._customized.saturated
        row_bytes = 4 * self._num_wanted
        for first in range(0, count, self._most_rows):
            size = min(self._most_rows, count - first)

            def read(first: int = first, size: int = size) -> Uint32s:
                span = (row_bytes * first, row_bytes * (first + size))
                found = self._download.read(self._finished[parity], [span])
                return found.view(np.uint32).reshape(size, self._num_wanted)

            yield Finished(is_over[first : first + size], read)
