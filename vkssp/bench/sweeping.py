"""Timing of sweeps over any hierarchy by the kernels of `phast`; upward searches run on the host and are not timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.phast import IS_PART_CONSTANT, SEARCHES_CONSTANT, levels_of
from vkssp.batch.sweeps import tile_of
from vkssp.bench.contraction import Contraction
from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.resource import Resource

#: Part of an upward search: first of consecutive positions, and their distances, int64, `NONE` or more if unreached.
Span = tuple[int, Indices]
NONE = 1 << 40


class WaysUp(Protocol):
    """Function that runs upward searches from nodes of a graph."""

    def __call__(self, sources: npt.ArrayLike) -> list[list[Span]]:
        """Return the spans of the upward search from each source; the spans of a search must not overlap."""


@dataclass(frozen=True, eq=False)
class Swept:
    """Hierarchy in the form for sweeps; positions are numbered from the top, level by level.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node at each position, shape (num_nodes,), uint32.
    bounds : numpy.ndarray
        The first position of each level, shape (num_levels + 1,), int64.
    rows, arcs : numpy.ndarray
        For each position the index of the first arc down to it, and the number of these arcs, shape (num_nodes, 2),
        uint32. For each arc down the position of its tail, and its weight, shape (k, 2), uint32.
    length : numpy.ndarray
        Upper bound of the number of arcs down to each position, which decides the number of its invocations, shape
        (num_nodes,), int64.
    ways_up : callable
        Function that runs upward searches.
    """

    node: Uint32s
    bounds: Indices
    rows: Uint32s
    arcs: Uint32s
    length: Indices
    ways_up: WaysUp

    @property
    def num_arcs(self) -> int:
        """Number of arcs down."""
        return int(self.rows[:, 1].sum(dtype=np.int64))

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return len(self.bounds) - 1

    @classmethod
    def of_contraction(cls, made: Contraction) -> Swept:
        """Return the sweep form of a contraction hierarchy."""

        def ways_up(sources: npt.ArrayLike) -> list[list[Span]]:
            return [
                [(at, distance[k : k + 1]) for k, at in enumerate(position.tolist())]
                for position, distance in made.ways_up(sources)
            ]

        length = made.rows[:, 1].astype(np.int64)
        return cls(made.node, made.bounds, made.rows, made.arcs, length, ways_up)

    @classmethod
    def of_customized(cls, customized: CustomizedHierarchy) -> Swept:
        """Return the sweep form of a hierarchy that was customized on a device."""
        hierarchy, (rows, arcs) = customized.hierarchy, customized.down()
        weights = customized.weights.read(np.uint32, 2 * hierarchy.num_arcs).reshape(-1, 2)
        bounds = hierarchy.first_node[hierarchy.first_of_level].astype(np.int64)
        length = np.repeat(hierarchy.num_ancestors, hierarchy.size)

        @cache
        def of_supernode(group: int) -> tuple[Indices, Indices]:
            # Cached, because all upward searches share the supernodes at the top, which are the largest.
            inside = np.arange(*hierarchy.first_node[group : group + 2].tolist())
            ancestors = hierarchy.ancestor[slice(*hierarchy.first_ancestor[group : group + 2].tolist())]
            up = _weights(hierarchy, weights, inside, ancestors.astype(np.int64))
            return _weights(hierarchy, weights, inside, inside), up

        def ways_up(sources: npt.ArrayLike) -> list[list[Span]]:
            positions = hierarchy.position[np.asarray(sources)].tolist()
            return [_way_up(hierarchy, of_supernode, position) for position in positions]

        return cls(hierarchy.node, bounds, rows, arcs, length, ways_up)

    def bytes_moved(self, searches: int) -> int:
        """Return the least number of bytes that a sweep reads and writes, for the searches of a tile or for one search.

        It reads rows and arcs once. For each search, it reads a distance per arc and writes a distance per node; a
        single search also reads a distance per node.
        """
        n, arcs = len(self.node), self.num_arcs
        return 8 * (n + arcs) + 4 * searches * (n + arcs) + (4 * n if searches == 1 else 0)


def _way_up(hierarchy: Hierarchy, of_supernode: Callable[[int], tuple[Indices, Indices]], position: int) -> list[Span]:
    """Run the upward search from a position; return all nodes of the supernodes on it, as `phast_climb` finds them.

    For a supernode, `of_supernode` returns the weights from its nodes to each other and to its ancestors.
    """
    group, known, spans = int(hierarchy.supernode[position]), np.full(position + 1, NONE, np.int64), []
    known[position] = 0
    while True:
        first, end = hierarchy.first_node[group : group + 2].tolist()
        inside, up = of_supernode(group)
        dist = np.full(end - first, NONE, np.int64)
        # In the seed's own supernode, the distances of later positions are not known yet.
        dist[: len(known[first:end])] = known[first:end]
        # One arc from each node to each other node is enough, because the customization is perfect.
        dist = np.minimum(dist, (dist[:, None] + inside).min(axis=0))
        spans.append((first, dist))
        begin, last = hierarchy.first_ancestor[group : group + 2].tolist()
        if begin == last:
            return spans
        ancestors = hierarchy.ancestor[begin:last]
        known[ancestors] = np.minimum(known[ancestors], (dist[:, None] + up).min(axis=0))
        group = int(hierarchy.supernode[hierarchy.parent[group]])


def _weights(hierarchy: Hierarchy, weights: Uint32s, tails: Indices, heads: Indices) -> Indices:
    """Return the weights of the arcs from all tails to all heads, `NONE` if there is no arc, shape (tails, heads)."""
    tail, head = (values.reshape(-1) for values in np.meshgrid(tails, heads, indexing="ij"))
    arc = hierarchy.arcs_of(tail, head)
    weight = np.full(len(arc), NONE, np.int64)
    is_there = arc >= 0
    weight[is_there] = weights[arc[is_there], (tail < head)[is_there].astype(np.int64)]
    weight[weight == UNREACHABLE] = NONE
    return weight.reshape(len(tails), len(heads))


class Sweeper(Resource):
    """Hierarchy on a device, with timed sweeps over it.

    Parameters
    ----------
    device : Device
        The device.
    swept : Swept
        The hierarchy.
    warm_up_s : float
        Seconds of sweeps before the timed repetitions; none on a software device.

    Raises
    ------
    DeviceError
        If the device's limits or its memory do not allow it.
    """

    def __init__(self, device: Device, swept: Swept, warm_up_s: float = 0.0) -> None:
        super().__init__(device)
        self.device, self.swept, self._warm_up_s = device, swept, warm_up_s
        try:
            self._rows, self._arcs = self._upload("rows", swept.rows), self._upload("arcs", swept.arcs)
            self._timestamps = Timestamps(device, 2, owner=self)
        except BaseException:
            self.close()
            raise

    def _buffer(self, name: str, nbytes: int, owner: Resource | None = None) -> Buffer:
        return Buffer(self.device, nbytes, name=name, owner=owner or self)

    def _upload(self, name: str, values: npt.NDArray[Any], owner: Resource | None = None) -> Buffer:
        buffer = self._buffer(name, values.nbytes, owner)
        if values.nbytes:
            buffer.write(values)
        return buffer

    def _times(self, recording: Recording, repetitions: int) -> list[float]:
        found = []
        # GPUs lower their clocks when idle, and take a while to raise them again.
        began = time.perf_counter()
        while self.device.info.kind != "cpu" and time.perf_counter() - began < self._warm_up_s:
            recording.submit()
            recording.wait()
        for _ in range(repetitions):
            recording.submit()
            recording.wait()
            begin, end = self._timestamps.read_all(0, 2)
            found.append(end - begin)
        return found

    def one(self, way: Sequence[Span], repetitions: int) -> tuple[list[float], Uint32s]:
        """Sweep for one search; return the milliseconds on the device, and the distance of each node."""
        device, swept = self.device, self.swept
        size = min(64 if device.info.kind == "cpu" else 128, device.limits.workgroup_size)
        begins = np.full(len(swept.node), UNREACHABLE, np.uint32)
        for first, distances in way:
            begins[first : first + len(distances)] = _held(distances)
        with Resource(self) as owner:
            begin, dist = (
                self._upload("first distances", begins, owner),
                self._buffer("distances", begins.nbytes, owner),
            )
            status = self._buffer("status", 4 * STATUS_WORDS, owner)
            counts = self._buffer("counts", 16 * (swept.num_levels + 1), owner)
            kernel = Kernel(
                device,
                "phast_sweep",
                bindings=5,
                push_constants=4,
                workgroup_size=size,
                shared_bytes=4 * size,
                owner=owner,
            ).on(self._rows, self._arcs, dist, status, counts)
            recording = Recording(device, owner=owner)
            with recording.record():
                recording.barrier("all", "all")
                recording.copy(begin, dist, begins.nbytes)
                recording.fill(status, 0)
                recording.barrier("transfer", "compute")
                recording.timestamp(self._timestamps, 0)
                recording.bind(kernel)
                for level, (low, high, lanes) in enumerate(levels_of(swept.bounds, swept.length, device, size), 1):
                    recording.push(kernel, level, low, high, lanes)
                    recording.dispatch(min(-(-(high - low) * lanes // size), device.limits.workgroups))
                    recording.barrier()
                recording.timestamp(self._timestamps, 1)
                recording.barrier("all", "all")
            times = self._times(recording, repetitions)
            found = np.empty(len(begins), np.uint32)
            found[swept.node] = dist.read(np.uint32, len(begins))
        return times, found

    def many(self, ways: Sequence[Sequence[Span]], repetitions: int, *, seeded: bool = True) -> ManySwept:
        """Sweep for many searches at once; the caller must close the returned `ManySwept`."""
        made = ManySwept(self, ways, seeded)
        try:
            made.milliseconds = self._times(made.recording, repetitions)
        except BaseException:
            made.close()
            raise
        return made


def _held(distances: Indices) -> Uint32s:
    return np.where(distances < UNREACHABLE, distances, UNREACHABLE).astype(np.uint32)


class ManySwept(Resource):
    """Sweep for many searches at once.

    The kernel looks up the distances of upward searches by level. Each level has as many places per search as the
    search with the most spans in it needs: one if levels consist of supernodes, and up to dozens at the top of a
    contraction hierarchy.

    Attributes
    ----------
    milliseconds : list of float
        Times on the device.
    places : int
        Number of places per search, over all levels.
    tile, num_tiles : int
        Number of searches of a tile, and number of tiles.
    """

    def __init__(self, sweeper: Sweeper, ways: Sequence[Sequence[Span]], seeded: bool) -> None:
        super().__init__(sweeper)
        self._sweeper, self.milliseconds = sweeper, list[float]()
        self.tile = tile_of(len(ways))
        self.num_tiles = -(-len(ways) // self.tile)
        try:
            self._make(ways, seeded)
        except BaseException:
            self.close()
            raise

    def _make(self, ways: Sequence[Sequence[Span]], seeded: bool) -> None:
        device, swept, tile = self._sweeper.device, self._sweeper.swept, self.tile
        num_rows, searches = len(swept.node), tile * self.num_tiles
        seeds_each, first_place, ways_up, reached = self._ways(ways if seeded else [], searches)
        self.places = int(seeds_each.sum())
        size = 1 << min(256, device.limits.workgroup_size).bit_length() - 1
        self._tiles = self._sweeper._buffer("the distances", 4 * searches * num_rows, self)
        overflow = self._sweeper._buffer("whether sums did not fit", 4 * searches, self)
        unused = [self._sweeper._buffer("nothing", 4, self) for _ in range(2)]
        uploaded = [self._sweeper._upload("the ways up", values, self) for values in (ways_up, reached)]
        kernel = Kernel(
            device,
            "phast_sweep_many",
            bindings=8,
            push_constants=7,
            workgroup_size=size,
            constants={SEARCHES_CONSTANT: tile, IS_PART_CONSTANT: 0},
            owner=self,
        ).on(self._sweeper._rows, self._sweeper._arcs, self._tiles, overflow, *unused, *uploaded)
        self.recording = Recording(device, owner=self)
        with self.recording.record() as recording:
            recording.barrier("all", "all")
            recording.fill(overflow, 0)
            recording.barrier("transfer", "compute")
            recording.timestamp(self._sweeper._timestamps, 0)
            recording.bind(kernel)
            for level, (begin, end) in enumerate(pairwise(swept.bounds.tolist())):
                each = int(seeds_each[level])
                at = int(first_place[level]) // max(1, each)
                recording.push(kernel, at, begin, end, num_rows, self.num_tiles, searches, each)
                parts = -(-(end - begin) * tile // 4 // size) * self.num_tiles
                recording.dispatch(min(parts, device.limits.workgroups))
                recording.barrier()
            recording.timestamp(self._sweeper._timestamps, 1)
            recording.barrier("all", "all")

    def _ways(self, ways: Sequence[Sequence[Span]], searches: int) -> tuple[Indices, Indices, Uint32s, Uint32s]:
        """Return the places of each level, their first place, the spans and the distances.

        The shader shaders/include/ways_up.glsl reads the spans and the distances.
        """
        bounds = self._sweeper.swept.bounds
        num_levels = len(bounds) - 1
        level = [np.searchsorted(bounds, [first for first, _ in way], "right") - 1 for way in ways]
        seeds_each = np.zeros(num_levels, np.int64)
        for of_way in level:
            seeds_each = np.maximum(seeds_each, np.bincount(of_way, minlength=num_levels))
        first_place, free = np.zeros(num_levels, np.int64), 0
        for number, each in enumerate(seeds_each.tolist()):
            # A multiple of the level's places, because the shader multiplies by them.
            first_place[number] = -(-free // max(1, each)) * max(1, each)
            free = int(first_place[number]) + each
        found = np.zeros((max(1, free), searches // 4, 3, 4), np.uint32)
        reached: list[Uint32s] = []
        count = 0
        for search, (way, of_way) in enumerate(zip(ways, level, strict=True)):
            taken = first_place.copy()
            for (first, distances), at in zip(way, of_way.tolist(), strict=True):
                found[taken[at], search // 4, :, search % 4] = first, len(distances), count
                taken[at] += 1
                reached.append(_held(distances))
                count += len(distances)
        return seeds_each, first_place, found, np.concatenate(reached) if reached else np.zeros(1, np.uint32)

    def distances(self, tile: int) -> Uint32s:
        """Return the distances of a tile by search and node, shape (searches of a tile, num_nodes), uint32."""
        node = self._sweeper.swept.node
        words = self.tile * len(node)
        found = np.empty((self.tile, len(node)), np.uint32)
        found[:, node] = self._tiles.read(np.uint32, words, 4 * words * tile).reshape(len(node), self.tile).T
        return found
