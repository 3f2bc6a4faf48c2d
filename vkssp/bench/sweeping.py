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
from vkssp.batch.sweep_batch import tile_of
from vkssp.bench.contraction import Contraction
from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.resource import Resource

#: Labels of nodes with consecutive ranks: the first rank, and the distances, int64, `NONE` or more if unreached.
Span = tuple[int, Indices]
NONE = 1 << 40


class UpwardSearches(Protocol):
    """Function that runs upward searches from nodes of a graph."""

    def __call__(self, sources: npt.ArrayLike) -> list[list[Span]]:
        """Return the upward labels of each source, as spans that do not overlap."""


@dataclass(frozen=True, eq=False)
class SweepHierarchy:
    """Hierarchy in the form for sweeps; ranks count from the top, level by level.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node of each rank, shape (num_nodes,), uint32.
    bounds : numpy.ndarray
        The first rank of each level, shape (num_levels + 1,), int64.
    rows, arcs : numpy.ndarray
        For each rank the index of the first downward arc to it, and the number of these arcs, shape (num_nodes, 2),
        uint32. For each downward arc the rank of its tail, and its weight, shape (k, 2), uint32.
    length : numpy.ndarray
        Upper bound of the number of downward arcs to each rank, which decides the number of its invocations, shape
        (num_nodes,), int64.
    upward_labels : callable
        Function that runs upward searches.
    """

    node: Uint32s
    bounds: Indices
    rows: Uint32s
    arcs: Uint32s
    length: Indices
    upward_labels: UpwardSearches

    @property
    def num_arcs(self) -> int:
        """Number of downward arcs."""
        return int(self.rows[:, 1].sum(dtype=np.int64))

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return len(self.bounds) - 1

    @classmethod
    def of_contraction(cls, made: Contraction) -> SweepHierarchy:
        """Return the sweep form of a contraction hierarchy."""

        def upward_labels(sources: npt.ArrayLike) -> list[list[Span]]:
            return [
                [(at, distance[k : k + 1]) for k, at in enumerate(rank.tolist())]
                for rank, distance in made.upward_labels(sources)
            ]

        length = made.rows[:, 1].astype(np.int64)
        return cls(made.node, made.bounds, made.rows, made.arcs, length, upward_labels)

    @classmethod
    def of_customized(cls, customized: CustomizedHierarchy) -> SweepHierarchy:
        """Return the sweep form of a hierarchy that was customized on a device."""
        hierarchy, (rows, arcs) = customized.hierarchy, customized.downward_arcs()
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

        def upward_labels(sources: npt.ArrayLike) -> list[list[Span]]:
            ranks = hierarchy.rank[np.asarray(sources)].tolist()
            return [_upward_search(hierarchy, of_supernode, rank) for rank in ranks]

        return cls(hierarchy.node, bounds, rows, arcs, length, upward_labels)

    def bytes_moved(self, searches: int) -> int:
        """Return the least number of bytes that a sweep reads and writes, for the searches of a tile or for one search.

        It reads rows and arcs once. For each search, it reads a distance per arc and writes a distance per node; a
        single search also reads a distance per node.
        """
        n, arcs = len(self.node), self.num_arcs
        return 8 * (n + arcs) + 4 * searches * (n + arcs) + (4 * n if searches == 1 else 0)


def _upward_search(
    hierarchy: Hierarchy, of_supernode: Callable[[int], tuple[Indices, Indices]], rank: int
) -> list[Span]:
    """Run the upward search from a rank; return the labels of all nodes of the supernodes on its path to the root.

    The labels are those that the shader phast_upward finds.

    For a supernode, `of_supernode` returns the weights from its nodes to each other and to its ancestors.
    """
    group, known, spans = int(hierarchy.supernode[rank]), np.full(rank + 1, NONE, np.int64), []
    known[rank] = 0
    while True:
        first, end = hierarchy.first_node[group : group + 2].tolist()
        inside, up = of_supernode(group)
        dist = np.full(end - first, NONE, np.int64)
        # In the seed's own supernode, the distances of later ranks are not known yet.
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


class SweepTimer(Resource):
    """Hierarchy on a device, with timed sweeps over it.

    Parameters
    ----------
    device : Device
        The device.
    hierarchy : SweepHierarchy
        The hierarchy.
    warm_up_s : float
        Seconds of sweeps before the timed repetitions; none on a software device.

    Raises
    ------
    DeviceError
        If the device's limits or its memory do not allow it.
    """

    def __init__(self, device: Device, hierarchy: SweepHierarchy, warm_up_s: float = 0.0) -> None:
        super().__init__(device)
        self.device, self.hierarchy, self._warm_up_s = device, hierarchy, warm_up_s
        try:
            self._rows, self._arcs = self._upload("rows", hierarchy.rows), self._upload("arcs", hierarchy.arcs)
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

    def time_sweep(self, labels: Sequence[Span], repetitions: int) -> tuple[list[float], Uint32s]:
        """Sweep for one search; return the milliseconds on the device, and the distance of each node."""
        device, hierarchy = self.device, self.hierarchy
        size = min(64 if device.info.kind == "cpu" else 128, device.limits.workgroup_size)
        begins = np.full(len(hierarchy.node), UNREACHABLE, np.uint32)
        for first, distances in labels:
            begins[first : first + len(distances)] = _held(distances)
        with Resource(self) as owner:
            begin, dist = (
                self._upload("first distances", begins, owner),
                self._buffer("distances", begins.nbytes, owner),
            )
            status = self._buffer("status", 4 * STATUS_WORDS, owner)
            counts = self._buffer("counts", 16 * (hierarchy.num_levels + 1), owner)
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
                levels = levels_of(hierarchy.bounds, hierarchy.length, device, size)
                for level, (low, high, lanes) in enumerate(levels, 1):
                    recording.push(kernel, level, low, high, lanes)
                    recording.dispatch(min(-(-(high - low) * lanes // size), device.limits.workgroups))
                    recording.barrier()
                recording.timestamp(self._timestamps, 1)
                recording.barrier("all", "all")
            times = self._times(recording, repetitions)
            found = np.empty(len(begins), np.uint32)
            found[hierarchy.node] = dist.read(np.uint32, len(begins))
        return times, found

    def time_batch(self, labels: Sequence[Sequence[Span]], repetitions: int, *, seeded: bool = True) -> TimedBatch:
        """Sweep for many searches at once; the caller must close the returned `TimedBatch`."""
        made = TimedBatch(self, labels, seeded)
        try:
            made.milliseconds = self._times(made.recording, repetitions)
        except BaseException:
            made.close()
            raise
        return made


def _held(distances: Indices) -> Uint32s:
    return np.where(distances < UNREACHABLE, distances, UNREACHABLE).astype(np.uint32)


class TimedBatch(Resource):
    """Sweep for many searches at once, with its times.

    The kernel looks up the upward labels by level. Each level has as many places per search as the search with the most
    spans in it needs: one if levels consist of supernodes, and up to dozens at the top of a contraction hierarchy.

    Attributes
    ----------
    milliseconds : list of float
        Times on the device.
    places : int
        Number of places per search, over all levels.
    tile, num_tiles : int
        Number of searches of a tile, and number of tiles.
    """

    def __init__(self, timer: SweepTimer, labels: Sequence[Sequence[Span]], seeded: bool) -> None:
        super().__init__(timer)
        self._timer, self.milliseconds = timer, list[float]()
        self.tile = tile_of(len(labels))
        self.num_tiles = -(-len(labels) // self.tile)
        try:
            self._make(labels, seeded)
        except BaseException:
            self.close()
            raise

    def _make(self, labels: Sequence[Sequence[Span]], seeded: bool) -> None:
        device, hierarchy, tile = self._timer.device, self._timer.hierarchy, self.tile
        num_rows, searches = len(hierarchy.node), tile * self.num_tiles
        seeds_each, first_place, upward_labels, distances = self._labels(labels if seeded else [], searches)
        self.places = int(seeds_each.sum())
        size = 1 << min(256, device.limits.workgroup_size).bit_length() - 1
        self._tiles = self._timer._buffer("the distances", 4 * searches * num_rows, self)
        overflow = self._timer._buffer("whether sums did not fit", 4 * searches, self)
        unused = [self._timer._buffer("nothing", 4, self) for _ in range(2)]
        uploaded = [self._timer._upload("the upward labels", values, self) for values in (upward_labels, distances)]
        kernel = Kernel(
            device,
            "phast_sweep_many",
            bindings=8,
            push_constants=7,
            workgroup_size=size,
            constants={SEARCHES_CONSTANT: tile, IS_PART_CONSTANT: 0},
            owner=self,
        ).on(self._timer._rows, self._timer._arcs, self._tiles, overflow, *unused, *uploaded)
        self.recording = Recording(device, owner=self)
        with self.recording.record() as recording:
            recording.barrier("all", "all")
            recording.fill(overflow, 0)
            recording.barrier("transfer", "compute")
            recording.timestamp(self._timer._timestamps, 0)
            recording.bind(kernel)
            for level, (begin, end) in enumerate(pairwise(hierarchy.bounds.tolist())):
                each = int(seeds_each[level])
                at = int(first_place[level]) // max(1, each)
                recording.push(kernel, at, begin, end, num_rows, self.num_tiles, searches, each)
                parts = -(-(end - begin) * tile // 4 // size) * self.num_tiles
                recording.dispatch(min(parts, device.limits.workgroups))
                recording.barrier()
            recording.timestamp(self._timer._timestamps, 1)
            recording.barrier("all", "all")

    def _labels(self, labels: Sequence[Sequence[Span]], searches: int) -> tuple[Indices, Indices, Uint32s, Uint32s]:
        """Return the places of each level, their first place, the spans and the distances.

        The shader shaders/include/upward_labels.glsl reads the spans and the distances.
        """
        bounds = self._timer.hierarchy.bounds
        num_levels = len(bounds) - 1
        levels_of_spans = [np.searchsorted(bounds, [first for first, _ in spans], "right") - 1 for spans in labels]
        seeds_each = np.zeros(num_levels, np.int64)
        for levels in levels_of_spans:
            seeds_each = np.maximum(seeds_each, np.bincount(levels, minlength=num_levels))
        first_place, free = np.zeros(num_levels, np.int64), 0
        for number, each in enumerate(seeds_each.tolist()):
            # A multiple of the level's places, because the shader multiplies by them.
            first_place[number] = -(-free // max(1, each)) * max(1, each)
            free = int(first_place[number]) + each
        found = np.zeros((max(1, free), searches // 4, 3, 4), np.uint32)
        reached: list[Uint32s] = []
        count = 0
        for search, (spans, levels) in enumerate(zip(labels, levels_of_spans, strict=True)):
            taken = first_place.copy()
            for (first, distances), at in zip(spans, levels.tolist(), strict=True):
                found[taken[at], search // 4, :, search % 4] = first, len(distances), count
                taken[at] += 1
                reached.append(_held(distances))
                count += len(distances)
        return seeds_each, first_place, found, np.concatenate(reached) if reached else np.zeros(1, np.uint32)

    def distances(self, tile: int) -> Uint32s:
        """Return the distances of a tile by search and node, shape (searches of a tile, num_nodes), uint32."""
        node = self._timer.hierarchy.node
        words = self.tile * len(node)
        found = np.empty((self.tile, len(node)), np.uint32)
        found[:, node] = self._tiles.read(np.uint32, words, 4 * words * tile).reshape(len(node), self.tile).T
        return found
