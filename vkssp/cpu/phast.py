"""PHAST on the CPU: upward searches and sweeps over a hierarchy, for graphs that are searched often.

An upward search goes from the source to its ancestors, and a sweep from the root of the elimination tree down to all
nodes (D. Delling, A. Goldberg, A. Nowatzyk, R. Werneck, PHAST: Hardware-accelerated shortest path trees, 2011). The
distance of a single target needs only its ancestors, and so do the nodes beside a path, whose distances are computed
while it is walked back (lazy RPHAST: B. Strasser, T. Zeitz, A fast and tight heuristic for A* in road networks, 2021).
The distance of a pair is where the upward searches from both ends meet.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import CPU, LABEL_MIB, ROW, TOTALS, Description, Outcome, Parameter, Terminal, timed
from vkssp.cores import num_cores, run_all
from vkssp.cpu.customized import PADDING, CustomizedHierarchy, Layout, customized_of
from vkssp.cpu.device import SPARE, CpuGraph, array_bytes, read_only
from vkssp.cpu.labels import labels_of
from vkssp.cpu.path import CONTRADICTION, path_of
from vkssp.cpu.search import CpuReader
from vkssp.cpu.voronoi import CpuVoronoi
from vkssp.errors import VksspError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.jit import kernels
from vkssp.prepared.found_paths import FoundPaths
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups
from vkssp.references import DELLING, DIBBELT
from vkssp.resource import Resource
from vkssp.route import made

# Fewest pairs, and paths, that are worth a thread, and tasks of each core, so that all end at about the same time.
_FEW_PAIRS, _FEW_SEARCHES, _TASKS_A_CORE = 64, 16, 4
_LAST_MARK = 2**32 - 1
# Most ranks on either side of a path, and arcs that wait to be split, with which it is unpacked.
_CHAIN, _STACK = 255, 1 << 12
_NO_RANKS = np.empty(0, np.uint32)  # of nodes that are ranks
#: Room for the arcs of each of many paths at first.
ARCS_A_PATH = 512
# Limit of searches without one: nodes that are not reached are beyond it.
_NO_LIMIT = np.uint32(UNREACHABLE - 1)
#: Paths that a walker walks before it unpacks the others, since the code for that takes a second to compile.
FEW_PATHS = 64


def ranks_of(renumbered: RenumberedGraph) -> Uint32s:
    """Return the rank of each node in the hierarchy; empty if nodes are ranks.

    The nodes on a cycle of weight zero are a single node of the renumbered graph. It has the rank of one of them.
    """
    if not renumbered.contracted:
        return np.empty(0, np.uint32)
    assert renumbered.hierarchy is not None
    rank: Uint32s = np.empty(renumbered.num_nodes, np.uint32)
    rank[renumbered.node] = renumbered.hierarchy.rank
    return rank


class NumberedLabels:
    """Labels of searches, and the number of the last search in them; see `vkssp.cpu.kernels.phast.Labels`.

    Attributes
    ----------
    labels : Labels
        The labels.
    mark : numpy.uint32
        Number of the last search.
    pair, found : numpy.ndarray
        Room for the ends of a pair, with their offsets, 0, and for its distance.
    """

    def __init__(self, layout: Layout) -> None:
        self.labels = kernels("vkssp.cpu.kernels.phast").Labels(
            np.empty(layout.num_nodes, np.uint32),
            np.zeros((layout.num_supernodes, 2), np.uint32),
            np.empty(2 * (layout.longest + 2 * PADDING), np.uint32),
            np.empty(layout.num_levels, np.int32),
        )
        self.mark = np.uint32(0)
        self.pair, self.found = np.zeros((2, 2), np.uint32), np.empty(1, np.uint32)

    def begin(self, searches: int = 1) -> np.uint32:
        """Reserve numbers for some searches, and return the number before the first."""
        if int(self.mark) + searches > _LAST_MARK:
            self.labels.marks[:] = 0
            self.mark = np.uint32(0)
        before, self.mark = self.mark, np.uint32(int(self.mark) + searches)
        return before


class SpareLabels:
    """Labels of searches on a graph that nothing uses, which a graph that differs in weights takes over.

    A search in them reads memory that the process has. In new ones it waits for each page that it touches.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout, self._spare = layout, list[NumberedLabels]()

    @property
    def nbytes(self) -> int:
        """Bytes of the labels."""
        return sum(array_bytes(tuple(one.labels)) for one in tuple(self._spare))

    def take(self) -> NumberedLabels:
        """Return labels that no other thread uses; the caller gives them back."""
        try:
            return self._spare.pop()
        except IndexError:
            return NumberedLabels(self._layout)

    def give(self, numbered: NumberedLabels) -> None:
        """Take labels back."""
        self._spare.append(numbered)


class PhastCpu(Resource):
    """Upward searches and sweeps over the hierarchy of a graph; see `Algorithm`.

    Attributes
    ----------
    numbered : NumberedLabels
        Labels of the last search.
    """

    NAME: ClassVar[str] = "phast"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="Sweeps over a prepared hierarchy: an upward search to all ancestors, then a sweep down, level by level",
        source=f"{DELLING}; {DIBBELT}",
        complexity="one look at each arc of the hierarchy; for a pair, at those above its ends",
        use="road networks that are asked often: vkssp prepare; weights may change",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (LABEL_MIB,)
    RUNS_ON: ClassVar[str] = CPU

    def __init__(self, graph: CpuGraph, *, counting: int = 0, label_mib: int | None = None) -> None:
        self._graph, self._counting = graph, counting
        self._label_budget = None if label_mib is None else label_mib << 20
        self._kernels = kernels("vkssp.cpu.kernels.phast")
        self._customized = customized_of(graph)
        self._layout = self._customized.layout
        self._rank = read_only(ranks_of(graph.renumbered))
        self._spare: SpareLabels = graph.shared(SPARE, partial(SpareLabels, self._layout))
        self.numbered = self._spare.take()
        self._spare_unpackers = list[Unpacker]()
        self._seeds: Sequence[Terminal] = ()
        self._targets: Sequence[Terminal] = ()
        self._found: Sequence[int] = ()
        self._ends: Uint32s = np.empty((0, 2), np.uint32)
        self._most, self._is_swept = 0, False
        self._limit = _NO_LIMIT
        super().__init__(graph)  # last, since to be closed it needs the labels that it gives back

    def _own_bytes(self) -> int:
        return array_bytes(self) + array_bytes(tuple(self.numbered.labels))

    def _release(self) -> None:
        self._spare.give(self.numbered)

    @property
    def is_current(self) -> bool:
        """Whether the algorithm is still usable: new weights need a new graph, which closes it. See `Algorithm`."""
        return not self.closed

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = (), limit: int | None = None) -> Outcome:
        """Find distances; see `Algorithm`. With targets, the sweep waits until the caller reads other distances."""
        began = time.perf_counter()
        self._seeds, self._targets, self._is_swept = seeds, targets, False
        self._limit = _NO_LIMIT if limit is None else min(np.uint32(limit), _NO_LIMIT)
        self.numbered.begin()
        tree, customized, labels, mark = self._layout.tree, self._customized, self.numbered.labels, self.numbered.mark
        ends = self._ends = np.array([*seeds, *targets], np.uint32).reshape(-1, 2)
        if len(self._rank):
            ends = np.stack([self._rank[ends[:, 0]], ends[:, 1]], axis=1)
        found = np.empty(len(targets), np.uint32)
        weights = customized.up, customized.down
        most = self._kernels.search(tree, *weights, labels, mark, ends, len(seeds), found)
        self._found = found.tolist()
        self._most = most
        if not targets or self._counting:
            self._sweep()
        milliseconds = 1e3 * (time.perf_counter() - began)
        counters = {"iterations": self._layout.num_levels if self._is_swept else 1}
        if self._counting:
            rows = self._counted()
            counters |= {name: int(rows[name].sum(dtype=np.int64)) for name in TOTALS}
        best = min(self._found, default=UNREACHABLE)
        overflow = customized.may_overflow(self._most)
        return made(Outcome, best=best, overflow=overflow, device_ms=milliseconds, counters=counters)

    def _sweep(self) -> None:
        """Compute the distances of all nodes from the last upward search, unless they are known."""
        if self._is_swept:
            return
        tree, down, own, kernel = self._layout.tree, self._customized.down, self.numbered, self._kernels.sweep
        upper, parts = self._layout.sweep_parts
        most = kernel(tree, down, own.labels, own.mark, upper, self._limit)

        def sweep_each(orders: Sequence[npt.NDArray[np.int32]]) -> int:
            labels = own.labels._replace(fronts=np.empty_like(own.labels.fronts))
            return max(int(kernel(tree, down, labels, own.mark, order, self._limit)) for order in orders)

        step = max(1, min(num_cores(), len(parts)))
        found = run_all([partial(sweep_each, parts[first::step]) for first in range(min(step, len(parts)))])
        self._most, self._is_swept = max(self._most, int(most), *found), True

    @property
    def distances(self) -> Uint32s:
        """Distances of the last search, by the ids of the renumbered graph."""
        if not len(self._seeds):
            return np.full(self._graph.num_nodes, UNREACHABLE, np.uint32)
        self._sweep()
        distances: Uint32s = self.numbered.labels.dist
        return distances.take(self._rank) if len(self._rank) else distances

    def read(self) -> Uint32s:
        """Return the distances of the last search; see `Algorithm`."""
        found = self.distances
        return found.copy() if found is self.numbered.labels.dist else found

    @property
    def renumbered(self) -> RenumberedGraph:
        """The graph whose distances are found."""
        return self._graph.renumbered

    def pair(self, source: int, target: int) -> tuple[int, bool]:
        """Return the distance of a pair, and whether it may be wrong.

        That is so if it may be unreachable only by overflow, and if weights have been replaced during the search. Any
        number of threads may call this at the same time, also during other searches and changes of weights.
        """
        numbered, customized = self._spare.take(), self._customized
        ends, found = numbered.pair, numbered.found
        ends[0, 0], ends[1, 0] = (self._rank[source], self._rank[target]) if len(self._rank) else (source, target)
        numbered.begin()
        weights = customized.up, customized.down
        most = self._kernels.search(self._layout.tree, *weights, numbered.labels, numbered.mark, ends, 1, found)
        best = int(found[0])
        self._spare.give(numbered)
        return best, customized.is_over or (best == UNREACHABLE and customized.may_overflow(most))

    def between(self, sources: Uint32s, targets: Uint32s) -> tuple[Uint32s, npt.NDArray[np.bool_]]:
        """Return the distances of pairs, and whether each may be unreachable only by overflow, shape (k,)."""
        customized, by_source = self._customized, np.argsort(sources, kind="stable")  # one search for each source
        ends = [self._rank[nodes] if len(self._rank) else nodes for nodes in (sources[by_source], targets[by_source])]
        found, overflow = np.empty(len(by_source), np.uint32), np.empty(len(by_source), np.uint8)

        def find(first: int, end: int) -> None:
            numbered = self._spare.take()
            arrays = (nodes[first:end] for nodes in (*ends, found, overflow))
            weights = customized.up, customized.down, np.uint32(customized.heaviest)
            self._kernels.pairs(self._layout.tree, *weights, numbered.labels, numbered.begin(end - first), *arrays)
            self._spare.give(numbered)

        size = max(_FEW_PAIRS, -(-len(by_source) // (_TASKS_A_CORE * num_cores())))
        run_all([partial(find, *bounds) for bounds in pairwise([*range(0, len(by_source), size), len(by_source)])])
        result, may_overflow = np.empty_like(found), np.empty(len(found), np.bool_)
        result[by_source], may_overflow[by_source] = found, overflow
        return result, may_overflow | (customized.saturated & (result == UNREACHABLE))

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
        if not labels.pay(len(sources)) or not labels.ready(self._label_budget):
            return None
        return labels.find(sources, targets)

    def _counted(self) -> npt.NDArray[Any]:
        """Return the work of upward searches, in the first row, and of the levels of a sweep, of dtype `ROW`."""
        self._sweep()
        layout, tree, dist = self._layout, self._layout.tree, self.numbered.labels.dist
        bounds = layout.first_of_level
        ranks, arcs = layout.first_node[bounds].astype(np.int64), layout.first_arc[bounds]
        rows = np.zeros(layout.num_levels, ROW)
        rows["iteration"], rows["high"] = np.arange(len(rows)), UNREACHABLE
        rows["first_node"], rows["last_node"] = ranks[:-1], ranks[1:] - 1
        rows["visited"], rows["relaxed"] = np.diff(ranks), np.diff(arcs)
        is_seed = np.zeros(layout.num_nodes, np.bool_)
        for node, offset in self._seeds:
            rank = int(self._rank[node]) if len(self._rank) else node
            is_seed[rank] |= dist[rank] == offset
            group = int(tree.supernode[rank])
            nodes = rank - int(layout.first_node[group]) + 1
            while group >= 0:
                outside = int(layout.first_ancestor[group + 1]) - int(layout.first_ancestor[group])
                rows["visited"][0] += nodes
                rows["relaxed"][0] += nodes * outside + nodes * (nodes - 1) // 2
                group = int(layout.parent[group])
                nodes = int(layout.first_node[group + 1]) - int(layout.first_node[group])
        rows["worked"] = rows["visited"]
        if len(rows):
            rows["improved"] = np.add.reduceat((dist != UNREACHABLE) & ~is_seed, ranks[:-1], dtype=np.int64)
        return rows

    def trace(self) -> npt.NDArray[Any]:
        """Return the levels of the last search as iterations, upward searches first; see `Algorithm`."""
        return timed(self._counted(), np.nan)

    def walker(self) -> PhastWalker:
        """Return a finder of paths; see `Algorithm`."""
        return PhastWalker(self, self._graph)

    def paths(self, seeds: Groups, targets: Groups) -> tuple[FoundPaths, npt.NDArray[np.bool_]] | None:
        """Return the paths of many searches by all cores, and whether each may be unreachable only by overflow.

        Parameters
        ----------
        seeds, targets : Groups
            Nodes of the renumbered graph; a search for each group, which has one at least.

        Returns
        -------
        tuple of (FoundPaths, numpy.ndarray) or None
            Shape (k,) each; None if paths cannot be unpacked.

        Raises
        ------
        VksspError
            If the distances contradict each other.
        """
        if not self._can_unpack:
            return None
        ends = [np.stack([some.node, some.offset], axis=1).astype(np.uint32) for some in (seeds, targets)]

        def find(begin: int, end: int) -> tuple[FoundPaths, Uint32s]:
            numbered, unpacker = self._spare.take(), self._taken_unpacker()
            groups = [(some.first[begin : end + 1], rows) for some, rows in zip((seeds, targets), ends, strict=True)]
            found = unpacker.unpack_all(numbered, self._graph.incoming(), groups)
            self._spare.give(numbered)
            self._spare_unpackers.append(unpacker)
            return found

        self._spare_unpackers.append(self._taken_unpacker())  # and so what all of them share, by one thread
        count = len(seeds)
        size = max(_FEW_SEARCHES, -(-count // (_TASKS_A_CORE * num_cores())))
        bounds = pairwise([*range(0, count, size), count])
        found, most = zip(*run_all([partial(find, *some) for some in bounds]), strict=True)
        every, greatest = FoundPaths.joined(found), np.concatenate(most).astype(np.uint64)
        heaviest = np.maximum(greatest, np.uint64(self._customized.heaviest))
        beyond = self._customized.saturated | (greatest + heaviest >= UNREACHABLE)
        return every, beyond & (every.weight == UNREACHABLE)

    def unpacker(self) -> Unpacker | None:
        """Return what unpacks paths; None if nodes of the graph stand for cycles, or the arcs are too many for it."""
        return Unpacker(self._customized) if self._can_unpack else None

    @property
    def _can_unpack(self) -> bool:
        return not len(self._rank) and self._layout.num_arcs < 2**30

    def _taken_unpacker(self) -> Unpacker:
        """Return an unpacker that no other thread uses; the caller appends it to the spare ones."""
        try:
            return self._spare_unpackers.pop()
        except IndexError:
            return Unpacker(self._customized)

    def voronoi(self, most_seeds: int) -> CpuVoronoi:
        """Return a finder of nearest seeds; see `Algorithm`."""
        return CpuVoronoi(self._graph, self, most_seeds, self)

    def reader(self, nodes: Uint32s) -> CpuReader:
        """Return a reader of the distances of some nodes; see `Algorithm`."""
        return CpuReader(self, nodes)

    def walk_back(
        self, incoming: Sequence[Uint32s], seeds: int, targets: int, path: Uint32s, unpacker: Unpacker | None
    ) -> tuple[int, int, int]:
        """Write the path of the last search; see `vkssp.cpu.kernels.path.walk`."""
        best = min(self._found[:targets], default=UNREACHABLE)
        if best == UNREACHABLE:
            return -1, -1, 0
        target = self._found.index(best)
        node, offset = self._targets[target]
        labels, mark = self.numbered.labels, self.numbered.mark
        ends = self._ends[:seeds], np.uint64(node), np.uint32(best - offset)
        seed, length = -1, 0
        if unpacker is not None and not self._is_swept:
            seed, length = unpacker.unpack(labels, mark, *incoming, *ends, path)
        if seed < 0:
            tree, down = self._layout.tree, self._customized.down
            seed, length = self._kernels.walk(tree, down, labels, mark, self._rank, *incoming, *ends, path)
        return seed, target, length


class Unpacker:
    """Unpacks shortest paths from the arcs of a customized hierarchy, where no other paths are as short.

    That takes a third of the time of a walk, which computes distances beside the path.
    """

    def __init__(self, customized: CustomizedHierarchy) -> None:
        module, layout = kernels("vkssp.cpu.kernels.unpack"), customized.layout
        self._module, self._path = module, _NO_RANKS
        self._kernel, self._tree, self._weights = module.unpack, layout.tree, (customized.up, customized.down)
        self._back, self._splits = NumberedLabels(layout), module.Splits(customized.splits, layout.below)
        self._room = module.Room(
            np.zeros(layout.num_nodes, np.uint8),
            *(np.empty(shape, np.int64) for shape in ((_CHAIN, 2), (_CHAIN, 2), (_STACK, 4))),
        )

    def unpack(self, labels: Any, mark: np.uint32, *arrays: Any) -> tuple[int, int]:
        """Write a path; see `vkssp.cpu.kernels.unpack.unpack`."""
        self._back.begin()
        back, room = (self._back.labels, self._back.mark), (self._splits, self._room)
        found: tuple[int, int] = self._kernel(self._tree, *self._weights, labels, mark, *back, *room, *arrays)
        return found

    def unpack_all(
        self, numbered: NumberedLabels, incoming: tuple[Any, Any, Any], groups: Sequence[tuple[Any, Uint32s]]
    ) -> tuple[FoundPaths, Uint32s]:
        """Return the paths of searches, and the largest distance of each.

        Parameters
        ----------
        numbered : NumberedLabels
            Labels that no other thread uses.
        incoming : tuple of numpy.ndarray
            See `CpuGraph.incoming`.
        groups : sequence of (numpy.ndarray, numpy.ndarray)
            The offset of each search's first seed, and the ranks and offsets of seeds; the same of targets.

        Raises
        ------
        VksspError
            If the distances contradict each other.
        """
        count = len(groups[0][0]) - 1
        weight, most = np.empty(count, np.uint32), np.empty(count, np.uint32)
        seed, target, end = (np.empty(count, np.int64) for _ in range(3))
        if not len(self._path):
            self._path = np.empty(len(self._room.number), np.uint32)
        done, arcs, blocks = 0, np.empty(ARCS_A_PATH * count, np.int64), list[npt.NDArray[np.int64]]()
        while done < count:
            found = self._module.Paths(*(one[done:] for one in (weight, seed, target, most, end)), arcs)
            numbers = numbered.begin(count - done), self._back.begin(count - done)
            (first_seed, seeds), (first_target, targets) = groups
            more = self._module.find_paths(
                *(self._tree, *self._weights, numbered.labels, numbers[0], self._back.labels, numbers[1]),
                *(self._splits, self._room, _NO_RANKS, *incoming),
                *(first_seed[done:], seeds, first_target[done:], targets, self._path, found),
            )
            used = int(end[done + more - 1]) if more else 0
            blocks.append(arcs[:used])
            end[done : done + more] += sum(map(len, blocks[:-1]))
            done += more
            if done < count:
                arcs = np.empty(max(2 * len(arcs), len(self._path)), np.int64)
        if (seed == -2).any():
            raise VksspError(CONTRADICTION)
        has_path = target >= 0
        seed[has_path] -= groups[0][0][:-1][has_path]
        target[has_path] -= groups[1][0][:-1][has_path]
        first = np.concatenate([np.zeros(1, np.int64), end])
        return FoundPaths(weight, seed, target, first, np.concatenate(blocks) if blocks else arcs[:0]), most


class PhastWalker(Resource):
    """Finder of paths in the hierarchy; the path is that of all walkers.

    A path is walked back, and the distances beside it are computed on the way. After some paths, all are unpacked from
    the arcs of the hierarchy, unless several may be shortest.
    """

    def __init__(self, search: PhastCpu, graph: CpuGraph) -> None:
        super().__init__(graph)
        self._search, self._walked = search, 0
        self._unpacker: Unpacker | None = None
        first_in, arcs_in, self._arc_in = graph.incoming()
        self._incoming = first_in, arcs_in
        self._path: Uint32s = np.empty(graph.num_nodes, np.uint32)

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the path; see `CpuWalker.walk`."""
        if self._walked == FEW_PATHS:
            self._unpacker = self._search.unpacker()
        self._walked += 1
        found = self._search.walk_back(self._incoming, num_seeds, num_targets, self._path, self._unpacker)
        return path_of(*found, self._arc_in, self._path)
