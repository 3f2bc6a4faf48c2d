"""PHAST: upward searches and sweeps over a hierarchy, for graphs that are searched often.

An upward search goes from the source to its ancestors, the few hundred nodes on the path to the root of the elimination
tree. Then a sweep goes down, level by level; each node relaxes its arcs from ancestors (D. Delling, A. Goldberg, A.
Nowatzyk, R. Werneck, PHAST: Hardware-accelerated shortest path trees, 2011). Levels are those of supernodes, half as
many as those of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import (
    LABEL_MIB,
    MAX_TERMINALS,
    ROW,
    TOTALS,
    VULKAN,
    Description,
    Outcome,
    Parameter,
    Terminal,
    timed,
)
from vkssp.cch import query_pairs
from vkssp.cch.bundled import MOST_NODES_CONSTANT, BundledArcs
from vkssp.cch.customized import STATUS_WORDS, CustomizedHierarchy, bytes_of, check_loops, unfit
from vkssp.cch.label_pairs import LabelPairs
from vkssp.cch.labels import Labels
from vkssp.cch.pairs import KEPT, Pairs
from vkssp.cch.path_batch import PathBatch, can_batch
from vkssp.cch.path_entries import PathEntries
from vkssp.cch.query_pairs import QueryPairs, room_of
from vkssp.cch.top import TOP_CONSTANT, climb_kernel, record_climb, top_bytes
from vkssp.cch.unpack import Unpacker, can_unpack, longest_path
from vkssp.engine.device_algorithm import WORKGROUP_SIZE
from vkssp.engine.device_graph import DeviceGraph
from vkssp.engine.gather import Gather
from vkssp.engine.path import PathWalker
from vkssp.engine.voronoi import DeviceVoronoi
from vkssp.errors import DeviceError, MemoryShortageError
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import read_values
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.references import DELLING, DIBBELT
from vkssp.resource import Resource

# Specialization constant of the shaders.
_SWEEP_COUNTING_CONSTANT = 4
#: Words of a node on a path to the root that an upward search keeps.
ENTRY_WORDS = 2
# Words of a seed, and of the header before the first; largest number of workgroups that search upward at once.
_SEED_WORDS, _MOST_UPWARD = 4, 1024
# Constant of phast_bundles.comp: arcs in shared memory; bytes of one, and of the distance of a node.
_KEPT_ARCS_CONSTANT, _ARC_BYTES, _DISTANCE_BYTES = 4, 8, 4


def hierarchy_of(graph: DeviceGraph) -> CustomizedHierarchy:
    """Return the hierarchy of a graph on its device, customized for its weights; made on the first call."""
    made: CustomizedHierarchy = graph.shared("hierarchy", lambda: _make_hierarchy(graph))
    return made


def _make_hierarchy(graph: DeviceGraph) -> CustomizedHierarchy:
    renumbered = graph.renumbered
    assert renumbered.hierarchy is not None
    return CustomizedHierarchy(graph.device, renumbered.hierarchy, renumbered.graph, graph.arrays)


def labels_of(graph: DeviceGraph) -> Labels:
    """Return the labels of the hierarchy of a graph on its device, which are made when they are asked for."""
    made: Labels = graph.shared("labels", lambda: Labels(hierarchy_of(graph), graph.arrays))
    return made


def ranks_of(renumbered: RenumberedGraph) -> Uint32s | None:
    """Return the rank of each node in the hierarchy, or None if the nodes are ranks.

    The nodes on a cycle of weight zero are a single node of the renumbered graph. It has the rank of one of them.
    """
    if not renumbered.contracted:
        return None
    assert renumbered.hierarchy is not None
    rank = np.empty(renumbered.num_nodes, np.uint32)
    rank[renumbered.node] = renumbered.hierarchy.rank
    return rank


def levels_of(
    bounds: npt.NDArray[np.int64], length: npt.NDArray[np.int64], device: Device, size: int
) -> list[tuple[int, int, int]]:
    """Return for each level but the first the range of its ranks, and the number of invocations per node.

    Parameters
    ----------
    bounds : numpy.ndarray
        The first rank of each level, shape (num_levels + 1,), int64.
    length : numpy.ndarray
        Upper bound of the number of arcs to each rank, shape (num_nodes,), int64.
    device : Device
        The device that sweeps.
    size : int
        Invocations of a workgroup.
    """
    levels, most = [], min(device.tuned["phast.lanes"], size)
    invocations = device.tuned["phast.level_invocations"]
    for begin, end in zip(bounds[1:-1].tolist(), bounds[2:].tolist(), strict=True):
        wanted = min(float(length[begin:end].mean()), invocations / (end - begin), most)
        levels.append((begin, end, 1 << max(1, int(wanted)).bit_length() - 1))
    return levels


class Phast(Resource):
    """Upward searches and sweeps over the hierarchy of a graph, one search at a time; see `Algorithm`.

    Attributes
    ----------
    label_pairs : LabelPairs or None
        Finder of many pairs by labels of all nodes; made when they pay.
    query_pairs : QueryPairs or None
        Finder of many pairs by labels of their nodes; made when it is needed.
    """

    NAME: ClassVar[str] = "phast"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="a hierarchy, prepared once: an upward search to all ancestors, then a sweep down, level by level",
        source=f"{DELLING}; {DIBBELT}",
        complexity="a dispatch for each of some twenty levels; one look at each arc of the hierarchy",
        use="road networks that are asked often: vkssp prepare; weights may change",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (WORKGROUP_SIZE, LABEL_MIB)
    RUNS_ON: ClassVar[str] = VULKAN

    def __init__(self, graph: DeviceGraph, *, counting: int = 0, **parameters: int | None) -> None:
        super().__init__(graph)
        self._graph, self._counting, self._device = graph, counting, graph.device
        size, label_mib = parameters["workgroup_size"], parameters.get("label_mib")
        self._label_budget = None if label_mib is None else label_mib << 20
        self._size = size or min(self._device.tuned["phast.workgroup_size"], self._device.limits.workgroup_size)
        try:
            renumbered = graph.renumbered
            assert renumbered.hierarchy is not None
            self._num_ranks = renumbered.hierarchy.num_nodes
            if reason := unfit(self._device, renumbered.hierarchy, renumbered.graph):
                raise DeviceError(reason)
            needed = graph.missing("hierarchy", bytes_of(self._device, renumbered.hierarchy, renumbered.graph))
            needed += 4 * self._num_ranks + (8 * renumbered.num_nodes if renumbered.contracted else 0)
            self._device.require(needed, f"{self.NAME} on this graph")
            self._hierarchy = hierarchy_of(graph)
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        device, customized, renumbered = self._device, self._hierarchy, self._graph.renumbered
        hierarchy = customized.hierarchy
        self._dist = Buffer(device, 4 * self._num_ranks, name="the distances", owner=self)
        self.distances = self._dist
        self._rank = ranks_of(renumbered)
        if self._rank is not None:
            self.distances = Buffer(device, 4 * renumbered.num_nodes, name="the distances of groups", owner=self)
            ranks = Buffer(device, self._rank.nbytes, name="the ranks of groups", owner=self)
            ranks.write(self._rank)
            gather = Kernel(device, "gather", bindings=3, push_constants=3, workgroup_size=self._size, owner=self)
            self._gather = gather.on(self._dist, ranks, self.distances)
        self.terminals = Buffer(device, 16 * MAX_TERMINALS, mapped=True, name="the terminals", owner=self)
        self._status = Buffer(device, 4 * STATUS_WORDS, name="the status", owner=self)
        self.mapped = Buffer(device, 4 * STATUS_WORDS, mapped=True, name="the mapped status", owner=self)
        self._counts = Buffer(device, 16 * (hierarchy.num_levels + 1), name="the counts", owner=self)
        self._timestamps = Timestamps(device, 2, owner=self)
        entries = PathEntries(device, hierarchy, ENTRY_WORDS)
        self._most_upward = entries.most_groups(min(_MOST_UPWARD, device.limits.workgroups))
        self._lowest = entries.buffer(self._most_upward, self)
        counting = {_SWEEP_COUNTING_CONSTANT: int(self._counting > 0)}
        shader, constants = customized.shader("phast_upward")
        self._upward = Kernel(
            device,
            shader,
            bindings=10,
            workgroup_size=self._size,
            constants={**constants, **entries.constants, TOP_CONSTANT: len(customized.top.nodes), **counting},
            shared_bytes=entries.shared_bytes,
            owner=self,
        )
        self._top_distances = Buffer(device, top_bytes(customized.top, 1), name="the distances at the top", owner=self)
        climb = climb_kernel(customized, self._size, self, of_tree=True, counting=self._counting > 0)
        self._climb = climb.on(
            *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
            *(customized.top_nodes, customized.top_ancestors, self._dist, self._counts, self._top_distances),
        )
        shader, constants = customized.shader("phast_sweep")
        sweep = Kernel(
            device,
            shader,
            bindings=5,
            push_constants=4,
            workgroup_size=self._size,
            constants={**constants, **counting},
            shared_bytes=4 * self._size,
            owner=self,
        )
        self._sweep = sweep.on(customized.arc_ranges, customized.arcs, self._dist, self._status, self._counts)
        self._bundled: BundledArcs | None = None
        self._trees_before_bundles = device.tuned["bundles.trees"]
        self._room = 0
        self._loads: list[Resource] = []
        self._seeds_of_last: list[Terminal] = []
        self._is_swept = False
        self._pairs: Pairs | None = None
        self.label_pairs: LabelPairs | None = None
        self.query_pairs: QueryPairs | None = None
        self._path_batch: PathBatch | None = None
        # The distance of the last search, if it was one of pairs, and whether unpacking of its path has begun.
        self._last_pairs: tuple[int, bool] | None = None
        self._make_room(MAX_TERMINALS)

    def _begin_bundles(self) -> None:
        """Sweep bundles from now on, if they suit the device and the hierarchy."""
        bundled = self._hierarchy.bundled()
        if bundled is None:
            return
        parts = Resource(self)
        try:
            tiers = self._tiers_of(bundled, parts)
        except (DeviceError, MemoryShortageError):
            parts.close()
            return  # sweeps by levels need no more memory
        self._tiers, self._bundled = tiers, bundled
        self._make_room(self._room)

    def _tiers_of(self, bundled: BundledArcs, owner: Resource) -> Bindings:
        """Return the kernel that sweeps the bundles of one tier."""
        device, kept = self._device, self._device.tuned["bundles.kept_arcs"]
        shader, constants = self._hierarchy.shader("phast_bundles")
        nodes = _DISTANCE_BYTES * bundled.most_nodes
        kept = min(kept, (device.limits.shared_memory - nodes) // _ARC_BYTES)
        kernel = Kernel(
            device,
            shader,
            bindings=7,
            push_constants=3,
            workgroup_size=min(device.tuned["bundles.size"], device.limits.workgroup_size),
            constants={**constants, MOST_NODES_CONSTANT: bundled.most_nodes, _KEPT_ARCS_CONSTANT: kept},
            shared_bytes=nodes + _ARC_BYTES * kept,
            owner=owner,
        )
        inner = Buffer(device, 4 * bundled.bundles.num_inner, name="the distances of inner tiers", owner=owner)
        parts = bundled.arcs, bundled.tails, self._dist, inner, self._status, bundled.plan, bundled.rank_of
        return kernel.on(*parts)

    def _make_room(self, count: int) -> None:
        """Make the buffer of a number of seeds, and record a search from them; close those made before."""
        for part in reversed(self._loads):
            part.close()
        self._loads, device, customized = [], self._device, self._hierarchy
        self._room = 1 << (count - 1).bit_length()
        self._seeds = Buffer(device, 4 * _SEED_WORDS * (self._room + 1), mapped=True, name="the seeds", owner=self)
        self._loads.append(self._seeds)
        upward = self._upward.on(
            *(customized.supernodes, customized.supernode_of, self._status, customized.weights),
            *(customized.ancestor_depth, self._dist, self._seeds, self._counts, self._top_distances),
            self._lowest,
        )
        self._loads.append(upward)
        self._recording = Recording(device, owner=self)
        self._loads.append(self._recording)
        with self._recording.record() as recording:
            recording.barrier("all", "all")
            recording.timestamp(self._timestamps, 0)
            recording.fill(self._dist, UNREACHABLE)
            recording.fill(self._top_distances, UNREACHABLE)
            recording.fill(self._status, 0)
            if self._counting:
                recording.fill(self._counts, 0)
            recording.barrier("transfer", "compute")
            recording.bind(upward)
            recording.dispatch(min(self._room, self._most_upward))
            recording.barrier()
            record_climb(recording, self._climb, customized.top, 1)
            levels = self._levels()
            if self._bundled is not None:
                levels = levels[: max(0, len(self._bundled.bundles.rest) - 2)]
            recording.bind(self._sweep)
            for level, (begin, end, lanes) in enumerate(levels, 1):
                recording.push(self._sweep, level, begin, end, lanes)
                recording.dispatch_for(self._sweep, (end - begin) * lanes)
                recording.barrier()
            if self._bundled is not None:
                self._record_tiers(self._bundled.bundles.tiers)
            if self._rank is not None:
                recording.bind(self._gather)
                recording.push(self._gather, len(self._rank), UNREACHABLE, 0)  # without a limit
                recording.dispatch_for(self._gather, len(self._rank))
            recording.timestamp(self._timestamps, 1)
            recording.barrier("all", "all")
            recording.copy(self._status, self.mapped, 4 * STATUS_WORDS)
            recording.barrier("transfer", "all")

    def _record_tiers(self, tiers: list[tuple[int, int]]) -> None:
        """Record the sweep of all bundles."""
        self._recording.bind(self._tiers)
        for begin, end in tiers:
            self._recording.push(self._tiers, begin, end, int((begin, end) != tiers[-1]))
            self._recording.dispatch(min(end - begin, self._device.limits.workgroups))
            self._recording.barrier()

    def _levels(self) -> list[tuple[int, int, int]]:
        """Return for each level but the first the range of its ranks, and the number of invocations per node."""
        hierarchy = self._hierarchy.hierarchy
        bounds = hierarchy.first_node[hierarchy.first_of_level].astype(np.int64)
        length = np.repeat(hierarchy.num_ancestors, hierarchy.size)
        return levels_of(bounds, length, self._device, self._size)

    def search(
        self,
        seeds: Sequence[Terminal],
        targets: Sequence[Terminal] = (),
        limit: int | None = None,
        unpacker: Unpacker | None = None,
        reader: Gather | None = None,
    ) -> Outcome:
        """Find distances; see `Algorithm`. With targets, the sweep waits until the caller reads other distances.

        In the same submission an unpacker begins to unpack the path to the best target, and a reader gathers distances,
        if there are no targets.
        """
        if len(seeds) + len(targets) <= 2 * MAX_TERMINALS:  # no path is walked back for more terminals
            words = [word for terminal in (*seeds, *targets) for word in terminal]
            self.terminals.words[0 : len(words)] = words
        self._seeds_of_last, self._is_swept, self._last_pairs = list(seeds), False, None
        if not targets:
            return self._run(reader)
        ranked = self._ranked(targets)
        pairs = [(*seed, *target) for seed in self._ranked(seeds) for target in ranked]
        finder = self._of_pairs()
        if len(pairs) <= min(KEPT, finder.most_kept):
            follow = None
            if unpacker is not None:
                follow = partial(unpacker.follow_single_search, len(seeds), len(targets), self._longest_path)
            lengths, has_overflow, milliseconds = finder.search(pairs, follow)
            best = min(lengths)
            self._last_pairs = best, unpacker is not None
        else:
            found, overflow, milliseconds = finder.find(np.array(pairs, np.uint32))
            best, has_overflow = int(found.min()), bool(overflow.any())
        counters = {"iterations": 1}
        if self._counting:
            # Counters describe a sweep, so make one.
            swept = self._run()
            counters, milliseconds = swept.counters, milliseconds + swept.device_ms
        return Outcome(best, has_overflow or self._hierarchy.saturated, milliseconds, counters)

    @property
    def _longest_path(self) -> int:
        """Largest weight of a path that is unpacked sooner than walked along the distances of a sweep."""
        renumbered = self._graph.renumbered
        return longest_path(self._device, renumbered.num_nodes, renumbered.spread.mean)

    def between(self, sources: Uint32s, targets: Uint32s) -> tuple[Uint32s, npt.NDArray[np.bool_]]:
        """Return the distances of pairs, and whether each may be unreachable only by overflow, shape (k,)."""
        if self._rank is not None:
            sources, targets = self._rank[sources], self._rank[targets]
        self._last_pairs = None
        is_many = query_pairs.pays(self._device, self._hierarchy.hierarchy, len(sources))
        finder = self._of_many_pairs() if is_many else None
        if finder is None:
            return self._searched(sources, targets)
        found, overflow = finder.find(sources, targets)
        suspects = np.flatnonzero(overflow)
        if len(suspects):  # searches tell more exactly which sums do not fit
            found[suspects], overflow[suspects] = self._searched(sources[suspects], targets[suspects])
        return found, overflow | self._hierarchy.saturated

    def _searched(self, sources: Uint32s, targets: Uint32s) -> tuple[Uint32s, npt.NDArray[np.bool_]]:
        """Return what `between` does, of ranks, with two searches for each pair."""
        pairs = np.zeros((len(sources), 4), np.uint32)
        pairs[:, 0], pairs[:, 2] = sources, targets
        found, overflow, _ = self._of_pairs().find(pairs)
        return found, overflow | self._hierarchy.saturated

    def by_labels(self, sources: Uint32s, targets: Uint32s) -> Uint32s | None:
        """Return the distances of many pairs by labels, or None if these do not pay or suit the weights and the memory.

        Parameters
        ----------
        sources, targets : numpy.ndarray
            Nodes, by the caller's ids, shape (k,) each, uint32.
        """
        if self._label_budget == 0:
            return None
        labels = labels_of(self._graph)
        rows = labels.ready(self._label_budget) if labels.pay(len(sources)) else None
        if rows is None:
            return None
        if self.label_pairs is None or self.label_pairs.rows is not rows:
            if self.label_pairs is not None:
                self.label_pairs.close()
            self.label_pairs = LabelPairs(rows, self._hierarchy.hierarchy.num_supernodes, self)
        return self.label_pairs.find(sources, targets)

    def path_batch(self) -> PathBatch | None:
        """Return a finder of the paths of many searches, made on the first call; None if paths cannot be unpacked."""
        if self._path_batch is None or self._path_batch.closed:
            if not can_batch(self._graph, self._hierarchy):
                return None
            self._path_batch = PathBatch(self._graph, self._hierarchy, self)
        return self._path_batch

    def _of_many_pairs(self) -> QueryPairs | None:
        """Return the finder of many pairs by labels of their nodes; None if the device's limits do not allow it."""
        if self.query_pairs is None or self.query_pairs.closed:
            if not (most := room_of(self._hierarchy)):
                return None
            self.query_pairs = QueryPairs(self._hierarchy, most, self)
        return self.query_pairs

    def _of_pairs(self) -> Pairs:
        if self._pairs is None:
            self._pairs = Pairs(self._device, self._hierarchy, self)
        return self._pairs

    def _ranked(self, terminals: Sequence[Terminal]) -> Sequence[Terminal]:
        """Return terminals with the ranks of their nodes."""
        rank = self._rank
        return terminals if rank is None else [(int(rank[node]), offset) for node, offset in terminals]

    def _run(self, reader: Gather | None = None) -> Outcome:
        """Sweep from the seeds of the last search; a reader then gathers distances."""
        seeds = self._seeds_of_last
        if self._trees_before_bundles >= 0:
            self._trees_before_bundles -= 1
            if self._trees_before_bundles < 0 and not self._counting:  # counters tell the work of levels
                self._begin_bundles()
        if self._bundled is not None:
            self._bundled.update()
        if len(seeds) > self._room:
            self._make_room(len(seeds))
        seed_words = [word for seed in self._ranked(seeds) for word in (*seed, 0, 0)]
        self._seeds.words[0] = len(seeds)
        self._seeds.words[_SEED_WORDS : _SEED_WORDS + len(seed_words)] = seed_words
        if reader is None:
            self._recording.submit()
        else:
            reader.recorded().submit(self._recording)
        self._recording.wait()  # also for what follows
        cut_short, overflow = self.mapped.words
        check_loops(self._device, cut_short)
        self._is_swept = True
        counters = {"iterations": self._hierarchy.hierarchy.num_levels}
        if self._counting:
            sums = self._counted().sum(axis=0, dtype=np.int64)
            counters.update(zip(TOTALS, sums.tolist(), strict=True))
        milliseconds = self._timestamps.between()
        return Outcome(UNREACHABLE, bool(overflow) or self._hierarchy.saturated, milliseconds, counters)

    def _counted(self) -> npt.NDArray[np.uint32]:
        """Return the work of the last sweep by levels, upward searches first, shape (levels, 4), uint32."""
        return self._counts.read().reshape(-1, 4)[: self._hierarchy.hierarchy.num_levels]

    def _sweep_once(self) -> None:
        """Sweep now if the last search only found distances of targets."""
        if not self._is_swept and self._seeds_of_last:
            self._run()

    @property
    def is_current(self) -> bool:
        """Whether the algorithm is still usable after weights have changed; see `Algorithm`."""
        return not self.closed

    def read(self) -> Uint32s:
        """Return the distances of the last search; see `Algorithm`."""
        self._sweep_once()
        return read_values(self.distances, np.uint32, self._graph.num_nodes)

    def trace(self) -> npt.NDArray[Any]:
        """Return the levels of the last search as iterations, upward searches first; see `Algorithm`."""
        self._sweep_once()
        hierarchy, counted = self._hierarchy.hierarchy, self._counted()
        bounds = hierarchy.first_node[hierarchy.first_of_level]
        rows = np.zeros(len(counted), ROW)
        rows["iteration"], rows["high"] = np.arange(len(rows)), UNREACHABLE
        rows["first_node"], rows["last_node"] = bounds[:-1], bounds[1:] - 1
        for number, name in enumerate(TOTALS):
            rows[name] = counted[:, number]
        return timed(rows, np.nan)

    def walker(self) -> PhastWalker:
        """Return a finder of paths; see `Algorithm`."""
        return PhastWalker(self)

    def voronoi(self, most_seeds: int) -> DeviceVoronoi:
        """Return a finder of nearest seeds; see `Algorithm`."""
        return DeviceVoronoi(self._graph, self.distances, most_seeds, self)

    def reader(self, nodes: Uint32s) -> Gather:
        """Return a reader of the distances of some nodes; see `Algorithm`."""
        return Gather(self._device, self.distances, nodes, self)


class PhastWalker(Resource):
    """Finder of paths: unpacks them from the hierarchy, or walks back along the distances of a sweep."""

    def __init__(self, search: Phast) -> None:
        graph = search._graph
        super().__init__(graph)
        self._search = search
        self.unpacker: Unpacker | None = None
        self.walker: PathWalker | None = None
        try:
            if can_unpack(graph, search._hierarchy):
                self.unpacker = Unpacker(graph, search._hierarchy, search._of_pairs(), self)
            else:
                self._along_distances()
        except BaseException:
            self.close()
            raise

    def _along_distances(self) -> PathWalker:
        if self.walker is None:
            search = self._search
            # Owned by this walker, so that it is closed before the distances that it may still be reading.
            self.walker = PathWalker(search._graph, search.distances, search.terminals, owner=self)
        return self.walker

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal], limit: int | None = None) -> Outcome:
        """Search for targets, as `Phast.search` does, and begin to unpack the path to the best of them."""
        return self._search.search(seeds, targets, limit, self.unpacker)

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the path; see `PathWalker.walk`."""
        if (unpacked := self._unpacked(num_seeds, num_targets, self._search._longest_path)) is not None:
            return unpacked
        try:
            walker = self._along_distances()
        except DeviceError:
            # The device may lack memory for both methods.
            if (unpacked := self._unpacked(num_seeds, num_targets, UNREACHABLE - 1)) is None:
                raise
            return unpacked
        self._search._sweep_once()
        return walker.walk(num_seeds, num_targets)

    def _unpacked(
        self, num_seeds: int, num_targets: int, longest: int
    ) -> tuple[int, int, npt.NDArray[np.int64]] | None:
        """Return the path if it can be unpacked and has at most some weight, else None."""
        search, unpacker = self._search, self.unpacker
        if unpacker is None or search._last_pairs is None or search._hierarchy.saturated:
            return None
        best, is_begun = search._last_pairs
        return None if best > longest else unpacker.path(num_seeds, num_targets, longest, is_begun)
