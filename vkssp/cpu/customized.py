"""Hierarchy on the CPU, customized for the weights of a graph, and the plan of its customization.

The elimination tree is cut into subtrees of similar work, which all cores customize and sweep; what lies above them is
done by one. After a change of few weights, one core customizes the arcs that hang on them, in place.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages
from vkssp.cores import num_cores, run_all
from vkssp.cpu.device import HIERARCHY, CpuGraph, all_read_only, read_only
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.jit import kernels
from vkssp.locks import ReentrantLock

#: Entries behind the end of an array that vectors may read.
PADDING = 8
#: Fewest arcs of a hierarchy that is cut into subtrees.
FEW_ARCS = 1 << 17
# Subtrees have at most and at least these parts of the work of a core; those for few arcs have at most this part.
_SUBTREES_A_CORE, _FEW_OF_THEM, _LARGE_A_CORE = 4, 256, 0.75
#: Steps of a partial customization after which a whole one takes its place: at least so many, which take some
#: milliseconds, or else as many as the hierarchy has arcs for each core. Steps that each changed arc takes at least.
FEW_STEPS, STEPS_EACH = 1 << 19, 512
#: Fewest changed arcs for each core; with fewer, handing over the work takes as long as it.
ARCS_A_CORE = 6
# Weights that are looked at together.
_AT_ONCE = 1 << 20


class GivenArcs(NamedTuple):
    """Arcs of a graph, sorted by the supernodes to which they belong, and their places in the fronts of these.

    `first` has the first entry of each supernode, shape (num_supernodes + 1,).
    """

    first: Indices
    place: Indices
    arc: Indices


class Layout:
    """Hierarchy without weights in the form that kernels take.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy.

    Attributes
    ----------
    tree : Tree
        See `vkssp.cpu.kernels.phast.Tree`.
    first_node, first_ancestor, first_arc, parent : numpy.ndarray
        The columns of `Tree.groups`, as they were given.
    level : numpy.ndarray
        Level of each supernode, uint32.
    first_of_level : numpy.ndarray
        The first supernode of each level, shape (num_levels + 1,), int64.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.first_of_level = hierarchy.first_of_level.astype(np.int64)
        self._length = hierarchy.size + hierarchy.num_ancestors
        self._stride = -(-self._length // PADDING) * PADDING
        self.num_nodes, self.num_arcs = hierarchy.num_nodes, hierarchy.num_arcs
        level = np.repeat(np.arange(hierarchy.num_levels), np.diff(self.first_of_level))
        self.level: Uint32s = read_only(level.astype(np.uint32))
        above = hierarchy.parent
        parent = np.where(above >= 0, hierarchy.supernode[above].astype(np.int32), np.int32(-1))
        place: Uint32s = np.zeros(len(hierarchy.ancestor), np.uint32)
        first_node, first_ancestor, ancestor = hierarchy.first_node, hierarchy.first_ancestor, hierarchy.ancestor
        self._customize = kernels("vkssp.cpu.kernels.customize")
        self._customize.place_ancestors(*all_read_only(first_node, first_ancestor, ancestor, parent), place)
        self.first_node, self.first_ancestor, self.first_arc, self.parent = all_read_only(
            first_node, first_ancestor, hierarchy.first_arc, parent
        )
        groups = np.stack([first_node, first_ancestor, hierarchy.first_arc, np.append(parent, np.int32(-1))], axis=1)
        arrays = [in_huge_pages(array) for array in (groups.astype(np.int64), ancestor, hierarchy.supernode, place)]
        self.tree = kernels("vkssp.cpu.kernels.phast").Tree(*all_read_only(*arrays))
        self._rank, self._node = all_read_only(hierarchy.rank, hierarchy.node)
        self._given: tuple[Any, Any, GivenArcs] | None = None
        self._lock = ReentrantLock()

    @property
    def num_supernodes(self) -> int:
        """Number of supernodes."""
        return len(self.level)

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return len(self.first_of_level) - 1

    @cached_property
    def longest(self) -> int:
        """Length of the longest front."""
        return int(self._length.max(initial=0))

    @cached_property
    def below(self) -> Any:
        """The supernodes that have each rank among their ancestors; see `vkssp.cpu.kernels.below.Below`."""
        module, first = kernels("vkssp.cpu.kernels.below"), np.zeros(self.num_nodes + 2, np.int64)
        order, begin, _ = self._postorder
        groups = order[::-1]
        preorder = np.stack([groups, self.first_ancestor[groups], self.num_supernodes - begin[groups]], axis=1)
        preorder = preorder.astype(np.int32)
        arrays = [np.empty(len(self.tree.ancestor), np.int32) for _ in range(2)]
        module.list_below(self.tree, first, *arrays, preorder)
        return module.Below(*all_read_only(first[:-1], *arrays, preorder))

    @cached_property
    def whole(self) -> tuple[npt.NDArray[Any], ...]:
        """All supernodes as a part, but for the wanted nodes; see `vkssp.cpu.kernels.phast.Part`."""
        groups = np.arange(self.num_supernodes, dtype=np.int32)
        first, base = self.first_ancestor[:-1].astype(np.int64), self.first_node[:-1].astype(np.int64)
        return (*all_read_only(groups, first), self.tree.ancestor, read_only(base))

    @cached_property
    def stops(self) -> Indices:
        """End of each supernode in rows of distances; see `vkssp.cpu.kernels.root_paths.RootPaths`."""
        first_node: Indices = self.first_node.astype(np.int64)
        stops = -(-(first_node[1:] - first_node[:-1]) // PADDING) * PADDING
        for first, end in pairwise(self.first_of_level[1:].tolist()):
            stops[first:end] += stops[self.parent[first:end]]
        return read_only(stops)

    @cached_property
    def front_lengths(self) -> Indices:
        """Number of entries of the largest front of each level, shape (num_levels,), int64."""
        if not self.num_supernodes:
            return np.zeros(0, np.int64)
        return np.maximum.reduceat(self._length * self._stride, self.first_of_level[:-1])

    def front_length(self, group: int) -> int:
        """Return the number of entries of a supernode's front."""
        return int(self._length[group] * self._stride[group])

    @cached_property
    def _postorder(self) -> tuple[npt.NDArray[np.int32], Indices, Indices]:
        """Supernodes in postorder; the place of the first of each subtree, and the number of its supernodes."""
        parent, bounds = self.parent, self.first_of_level
        size = np.ones(self.num_supernodes, np.int64)
        for first, end in zip(bounds[-2:0:-1].tolist(), bounds[:1:-1].tolist(), strict=True):
            np.add.at(size, parent[first:end], size[first:end])
        begin = np.zeros(self.num_supernodes, np.int64)
        for level, (first, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            groups = first + np.argsort(parent[first:end], kind="stable")
            before = np.cumsum(size[groups]) - size[groups]
            if level:
                above = parent[groups]
                is_first = np.concatenate([[True], above[1:] != above[:-1]])
                counts = np.diff(np.append(np.flatnonzero(is_first), len(groups)))
                before += begin[above] - np.repeat(before[is_first], counts)
            begin[groups] = before
        order = np.empty(self.num_supernodes, np.int32)
        order[begin + size - 1] = np.arange(self.num_supernodes)
        return read_only(order), begin, size

    def _roots(self, parts: float) -> list[int]:
        """Return the roots of subtrees with at most a part of the work of a whole customization each, in postorder."""
        order, begin, size = self._postorder
        ends = np.concatenate([[0], np.cumsum((self._length * self._stride)[order])])
        work = ends[begin + size] - ends[begin]
        most, least = ends[-1] / parts, ends[-1] / (_FEW_OF_THEM * num_cores())
        # Subtrees that are small enough while their parents are not; the smallest are not worth a task.
        parent = self.parent
        is_cut = (work <= most) & (work >= least)
        is_cut &= np.where(parent >= 0, work[parent] > most, True)
        roots = np.flatnonzero(is_cut)
        return [int(root) for root in roots[np.argsort(begin[roots])]]

    @cached_property
    def subtrees(self) -> list[int]:
        """Roots of subtrees that cores work on at the same time, in postorder; empty if there is too little work."""
        cores = num_cores()
        return [] if cores == 1 or self.num_arcs < FEW_ARCS else self._roots(_SUBTREES_A_CORE * cores)

    @cached_property
    def postorder_parts(self) -> tuple[npt.NDArray[np.int32], list[npt.NDArray[np.int32]]]:
        """Supernodes above the roots of `subtrees` and these roots, and those of each subtree, all in postorder."""
        order, begin, size = self._postorder
        parts = [order[begin[root] : begin[root] + size[root]] for root in self.subtrees]
        is_upper = np.ones(len(order), np.bool_)
        for root in self.subtrees:
            is_upper[begin[root] : begin[root] + size[root] - 1] = False
        return read_only(order[is_upper]), parts

    @cached_property
    def part_of(self) -> npt.NDArray[np.int32]:
        """Number of the subtree that each supernode belongs to when few arcs have changed; -1 above all of them.

        These subtrees are larger than `subtrees`, so that less is left to one core.
        """
        found, cores = np.full(self.num_supernodes, -1, np.int32), num_cores()
        if cores > 1 and self.num_arcs >= FEW_ARCS:
            order, begin, size = self._postorder
            for number, root in enumerate(self._roots(max(2, _LARGE_A_CORE * cores))):
                found[order[begin[root] : begin[root] + size[root]]] = number
        return read_only(found)

    @cached_property
    def sweep_parts(self) -> tuple[npt.NDArray[np.int32], list[npt.NDArray[np.int32]]]:
        """Supernodes above `subtrees`, and those of each subtree, by level: weights are read in their order."""
        upper, parts = self.postorder_parts
        upper = np.setdiff1d(upper, np.array(self.subtrees, np.int32))
        return read_only(upper.astype(np.int32)), [read_only(np.sort(part)) for part in parts]

    def recustomize(self, graph: Graph, changed: Indices, up: Uint32s, down: Uint32s) -> tuple[int, int] | None:
        """Customize what hangs on changed arcs of a graph, in the arrays of weights.

        Returns
        -------
        tuple of int, optional
            The largest finite weight that is new, and the largest one that was replaced. None if so much hangs on the
            arcs that this was given up; the arrays are useless then.
        """
        module, cores = kernels("vkssp.cpu.kernels.recustomize"), num_cores()
        most_work = max(FEW_STEPS, self.num_arcs // cores)
        if STEPS_EACH * len(changed) > most_work:
            return None
        rank, node, first_out, head, weights, arcs = all_read_only(
            self._rank, self._node, graph.first_out, graph.head, graph.weight, changed
        )
        entries, lows = np.empty(len(changed), np.uint64), np.empty(len(changed), np.int64)
        count = module.entries_of(self.tree, rank, first_out, head, arcs, entries, lows)
        # Before threads ask for them, each of which would make its own.
        below, part_of = self.below, self.part_of
        entries, lows = entries[:count], lows[:count]
        parts = part_of[self.tree.supernode[lows]]
        cores = max(1, min(cores, count // ARCS_A_CORE))
        if cores == 1:
            parts = np.full_like(parts, -1)

        def run(begun: npt.NDArray[np.uint64], ends: Indices, is_upper: bool) -> tuple[Any, ...]:
            given = below, node, first_out, head, weights, begun, ends, part_of, is_upper
            found: tuple[Any, ...] = module.recustomize(self.tree, *given, up, down, self.longest, most_work)
            return found

        # What hangs on the arcs of a subtree, up to its root, is the work of one core.
        shares = _shares(parts, cores)
        chosen = [shares == share for share in np.unique(shares[shares >= 0])]
        found = run_all([partial(run, entries[which], lows[which], False) for which in chosen])
        if max((one[2] for one in found), default=0) <= most_work:
            above = [(entries[parts < 0], lows[parts < 0]), *((one[3], one[4]) for one in found)]
            begun, ends = (np.concatenate(arrays) for arrays in zip(*above, strict=True))
            found.append(run(begun, ends, True))
        greatest, replaced, work = (max(int(one[which]) for one in found) for which in range(3))
        return None if work > most_work else (greatest, replaced)

    def given_arcs(self, graph: Graph) -> GivenArcs:
        """Return the places of a graph's arcs; those of the last graph, and of others with its arcs, are kept."""
        with self._lock.held():
            if self._given is not None and self._given[0] is graph.first_out and self._given[1] is graph.head:
                return self._given[2]
            tree = self.tree
            group, first = np.empty(graph.num_arcs, np.int32), np.zeros(self.num_supernodes + 2, np.int64)
            places, arc, sorted_place = (np.empty(graph.num_arcs, np.int64) for _ in range(3))
            self._customize.place_arcs(
                *all_read_only(graph.first_out, graph.head, self._rank),
                *(tree.supernode, self.first_node, self.first_ancestor, tree.ancestor),
                *(group, places, first, arc, sorted_place),
            )
            made = GivenArcs(*all_read_only(first[:-1], sorted_place, arc))
            self._given = graph.first_out, graph.head, made
            return made


class CustomizedHierarchy:
    """Weights of a hierarchy for a graph.

    Attributes
    ----------
    layout : Layout
        The hierarchy.
    up, down : numpy.ndarray
        Weight of each arc from its lower to its upper node, and back, shape (num_arcs + `PADDING`,), uint32.
    heaviest : int
        Largest finite weight or, after partial customizations, perhaps more, but no more than a sum may be.
    saturated : bool
        Whether a sum of weights may have passed 32 bits.
    is_over : bool
        Whether the arrays were handed over, and have no meaning here any more; see `changed`.
    """

    def __init__(self, layout: Layout, graph: Graph) -> None:
        self.layout = layout
        self.up, self.down = (np.empty(layout.num_arcs + PADDING, np.uint32) for _ in range(2))
        self._given, self._weights = layout.given_arcs(graph), read_only(graph.weight)
        # Fronts of the levels, and then of the roots of subtrees, which wait there for their parents.
        lengths = layout.front_lengths
        self._front_at: Indices = read_only(np.cumsum(lengths) - lengths)
        roots = layout.subtrees
        ends = int(lengths.sum()) + np.cumsum([0, *map(layout.front_length, roots)])
        fronts = _fronts(int(ends[-1]))
        upper, parts = layout.postorder_parts

        def subtree(root: int, at: int, order: npt.NDArray[np.int32]) -> int:
            own, top = _fronts(int(lengths.sum())), int(layout.level[root])
            most = self._run(order, _none_of(order), top, own)
            here, length = int(self._front_at[top]), layout.front_length(root)
            for front, from_front in zip(fronts, own, strict=True):
                front[at : at + length] = from_front[here : here + length]
            return most

        heaviest = run_all(
            [
                lambda root=root, at=at, order=order: subtree(root, at, order)  # type: ignore[misc]
                for root, at, order in zip(roots, ends[:-1].tolist(), parts, strict=True)
            ]
        )
        saved = _none_of(upper)
        saved[np.isin(upper, np.array(roots, np.int32))] = ends[:-1]  # both are in postorder
        self.heaviest = max([*heaviest, self._run(upper, saved, 0, fronts)])
        self._own()
        del self._given, self._weights

    def _own(self) -> None:
        """Finish: show the weights as arrays that nothing but `changed` writes to."""
        self.saturated, self.is_over = 2 * self.heaviest >= UNREACHABLE, False
        self._written = self.up, self.down
        self.up, self.down = read_only(self.up), read_only(self.down)

    def changed(self, graph: Graph, arcs: Indices) -> CustomizedHierarchy:
        """Return the hierarchy customized for a graph that differs in the weights of some arcs.

        It takes over the arrays of this one, unless much hangs on the arcs, so that this one is not to be used
        afterwards. Who reads it without a lock sees by `is_over`, when it has read, whether the weights were mixed.
        """
        layout = self.layout
        if self.is_over:
            return CustomizedHierarchy(layout, graph)
        self.is_over = True
        found = layout.recustomize(graph, arcs, *self._written)
        if found is None:
            return CustomizedHierarchy(layout, graph)
        other = object.__new__(CustomizedHierarchy)
        other.layout, (other.up, other.down) = layout, self._written
        greatest, replaced = found
        other.heaviest = max(greatest, self.heaviest)
        if replaced == self.heaviest > greatest and 2 * self.heaviest >= UNREACHABLE:
            # Other weights need another look at sums only if these may not fit.
            other.heaviest = max(_heaviest(values[: layout.num_arcs]) for values in self._written)
        other._own()
        return other

    @cached_property
    def splits(self) -> npt.NDArray[np.int64]:
        """How each arc is split, as far as paths have needed it; see `vkssp.cpu.kernels.unpack.Splits.of`."""
        return np.zeros((2, self.layout.num_arcs), np.int64)  # pages of arcs that no path needs take no memory

    def may_overflow(self, most: int) -> bool:
        """Return whether a sum may have passed 32 bits in a search with such a largest finite distance."""
        return self.saturated or most + max(self.heaviest, most) >= UNREACHABLE

    def _run(
        self, order: npt.NDArray[np.int32], saved: Indices, top: int, fronts: Sequence[npt.NDArray[np.uint32]]
    ) -> int:
        layout = self.layout
        tree, owner = layout.tree, np.full(layout.num_levels, -1, np.int32)
        return int(
            kernels("vkssp.cpu.kernels.customize").customize(
                *(layout.first_node, layout.first_ancestor, layout.first_arc, layout.parent, layout.level, tree.place),
                *(self._given.first, self._given.place, self._given.arc, self._weights, order, saved, np.uint32(top)),
                *(self._front_at, owner, *fronts, self.up, self.down),
            )
        )


def _fronts(length: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    return np.empty(length + PADDING, np.uint32), np.empty(length + PADDING, np.uint32)


def _shares(parts: npt.NDArray[np.int32], cores: int) -> npt.NDArray[np.int32]:
    """Return the share of each item among those of some cores, by its part, -1 for none; parts are not divided."""
    counts = np.bincount(parts[parts >= 0])
    of_part, loads = np.zeros(len(counts), np.int32), [0] * cores
    for part in np.argsort(-counts, kind="stable").tolist():
        of_part[part] = loads.index(min(loads))
        loads[of_part[part]] += int(counts[part])
    return np.where(parts < 0, np.int32(-1), of_part[parts] if len(of_part) else np.int32(-1))


def _heaviest(values: Uint32s) -> int:
    """Return the largest finite weight."""
    parts = [values[first : first + _AT_ONCE] for first in range(0, len(values), _AT_ONCE)]

    def largest(part: Uint32s) -> int:
        return int(part.max(initial=0, where=part != UNREACHABLE))

    return max(run_all([partial(largest, part) for part in parts]), default=0)


def _none_of(order: npt.NDArray[np.int32]) -> Indices:
    return np.full(len(order), -1, np.int64)


_layouts: weakref.WeakKeyDictionary[Hierarchy, Layout] = weakref.WeakKeyDictionary()
_making = ReentrantLock()  # which a fork does not inherit


def layout_of(hierarchy: Hierarchy) -> Layout:
    """Return the layout of a hierarchy; it lives as long as the hierarchy."""
    with _making.held():
        if hierarchy not in _layouts:
            _layouts[hierarchy] = Layout(hierarchy)
        return _layouts[hierarchy]


def customized_of(graph: CpuGraph) -> CustomizedHierarchy:
    """Return the hierarchy of a graph, customized for its weights; made on the first call."""

    def make() -> CustomizedHierarchy:
        hierarchy = graph.renumbered.hierarchy
        assert hierarchy is not None
        return CustomizedHierarchy(layout_of(hierarchy), graph.renumbered.graph)

    made: CustomizedHierarchy = graph.shared(HIERARCHY, make)
    return made
