"""Customizable contraction hierarchies as data: the result of preprocessing, which does not depend on weights.

Nodes are eliminated one after the other, in the order of a nested dissection. Each elimination joins the neighbours
that are left. The result is a chordal graph that contains the graph's own arcs (J. Dibbelt, B. Strasser, D. Wagner,
Customizable contraction hierarchies, 2014). Nodes whose ancestors are the same but for each other form one supernode,
as in the factorization of sparse matrices. A supernode is a clique with one list of ancestors, to which all of its
nodes are joined.

Ranks count from the top: the node that is eliminated last has rank 0. The parent of a node is the lowest of its
ancestors; parents form the elimination tree. The level of a supernode is the number of supernodes above it on the path
to the root of this tree. A sweep works on all nodes of a level at once, as soon as all levels before it are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief, fixed
from vkssp.checks import shown
from vkssp.errors import GraphError
from vkssp.graph.bulk import in_pieces
from vkssp.graph.csr import Uint32s

if TYPE_CHECKING:
    from vkssp.graph.graph import Graph

Indices = npt.NDArray[np.int64]

#: Number of arcs that the list of a supernode may add to the own arcs of a node. On road networks a value of 2 removes
#: at least a quarter of the levels and about half of the supernodes, for 10 to 45% more arcs. Larger values remove few
#: more levels.
RELAX = 2
#: Largest number of arcs: they are numbered in 32 bits, one of which is left for a sign.
MOST_ARCS = 2**31 - 1
#: Largest number of arcs per node; with more, a search over the hierarchy is no faster than a search without it. Road
#: networks have 2 to 6, and 3 to 25 in the order that is made at once. Graphs without small separators have thousands.
MOST_ARCS_A_NODE = 100
#: Number of arcs that is acceptable for any number of nodes: 64 MiB in each direction.
FEW_ARCS = 2**24
#: Largest height of the elimination tree, in nodes; a search keeps the distances of all nodes on a path to the root. In
#: road networks of a million nodes the height is some hundreds.
MOST_HEIGHT = 8192

# Nodes whose ancestors are looked at to tell the work of an upward search.
_SAMPLE = 64
# Rounds of binary searches, enough for most lists of ancestors, before those that are done are left out.
_ROUNDS = 3


def _lengths(first: Uint32s) -> Indices:
    offsets = first.astype(np.int64)
    return offsets[1:] - offsets[:-1]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Elimination order of a graph and the resulting chordal arcs; independent of weights.

    Make a hierarchy with `vkssp.prepare`. Supernodes are sorted by level, and the nodes of a supernode have consecutive
    ranks. The ancestors of a node are those of its supernode, followed by the nodes of the supernode that have smaller
    ranks; their ranks ascend.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node of each rank, shape (num_nodes,), uint32.
    first_node : numpy.ndarray
        Rank of the first node of each supernode, shape (num_supernodes + 1,), uint32.
    first_ancestor : numpy.ndarray
        Offset of each supernode's first entry in `ancestor`, shape (num_supernodes + 1,), uint32.
    ancestor : numpy.ndarray
        Ranks of the ancestors of each supernode, ascending, shape (num_ancestors,), uint32.
    first_of_level : numpy.ndarray
        The first supernode of each level, shape (num_levels + 1,), uint32. Supernodes of level 0 have no ancestors.
    """

    __repr__ = brief

    node: Uint32s
    first_node: Uint32s
    first_ancestor: Uint32s
    ancestor: Uint32s
    first_of_level: Uint32s

    #: Names of the arrays.
    ARRAYS: ClassVar[tuple[str, ...]] = ("node", "first_node", "first_ancestor", "ancestor", "first_of_level")

    def __post_init__(self) -> None:
        """Protect the arrays from changes."""
        for name in self.ARRAYS:
            array: Any = getattr(self, name)
            if isinstance(array, np.ndarray):
                object.__setattr__(self, name, fixed(array))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy, which repeats all checks but those against a graph."""
        return _remade, (type(self), *(getattr(self, name) for name in self.ARRAYS))

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node)

    @property
    def num_supernodes(self) -> int:
        """Number of supernodes."""
        return len(self.first_node) - 1

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return len(self.first_of_level) - 1

    @cached_property
    def rank(self) -> Uint32s:
        """Rank of each of the graph's nodes, shape (num_nodes,), uint32."""
        rank = np.empty(self.num_nodes, np.uint32)
        rank[self.node] = np.arange(self.num_nodes, dtype=np.uint32)
        return rank

    @cached_property
    def size(self) -> Indices:
        """Number of nodes of each supernode, shape (num_supernodes,), int64."""
        return _lengths(self.first_node)

    @cached_property
    def num_ancestors(self) -> Indices:
        """Number of ancestors in the list of each supernode, shape (num_supernodes,), int64."""
        return _lengths(self.first_ancestor)

    @cached_property
    def first_arc(self) -> Indices:
        """Offset of each supernode's first arc, shape (num_supernodes + 1,), int64.

        Each node has one arc for each of its ancestors. The arcs are sorted by node, then by ancestor.
        """
        arcs = self.size * self.num_ancestors + self.size * (self.size - 1) // 2
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(arcs)])

    @property
    def num_arcs(self) -> int:
        """Number of arcs; each of them stands for both directions."""
        return int(self.first_arc[-1])

    @cached_property
    def supernode(self) -> Uint32s:
        """The supernode of each rank, shape (num_nodes,), uint32."""
        return np.repeat(np.arange(self.num_supernodes, dtype=np.uint32), self.size)

    @cached_property
    def parent(self) -> Indices:
        """Rank of each supernode's lowest ancestor, or -1 if it has none, shape (num_supernodes,), int64."""
        has_one = self.num_ancestors > 0
        found = np.full(self.num_supernodes, -1, np.int64)
        found[has_one] = self.ancestor[self.first_ancestor[1:][has_one].astype(np.int64) - 1]
        return found

    @cached_property
    def depth(self) -> Uint32s:
        """Number of nodes above each node on the path to the root, by rank, shape (num_nodes,), uint32."""
        has_parent = self.parent >= 0
        group = self.supernode[self.parent]
        place = (self.parent - self.first_node[group]).astype(np.uint32)
        # Of the first node of each supernode, level by level; those of the others follow.
        top = np.zeros(self.num_supernodes, np.uint32)
        for first, end in pairwise(self.first_of_level.tolist()):
            part = slice(first, end)
            top[part] = np.where(has_parent[part], top[group[part]] + place[part] + np.uint32(1), 0)
        # Differences that are negative and sums that are too large, in 32 bits, make up for each other.
        return np.repeat(top - self.first_node[:-1], self.size) + np.arange(self.num_nodes, dtype=np.uint32)

    @cached_property
    def tree_height(self) -> int:
        """Height of the elimination tree: number of nodes on the longest path to the root."""
        return int(self.depth.max()) + 1 if self.num_nodes else 0

    @cached_property
    def nodes_upward(self) -> Indices:
        """Number of nodes in all supernodes on the path from each to the root, shape (num_supernodes,), int64."""
        found = self.size.copy()
        for first, end in pairwise(self.first_of_level[1:].tolist()):
            found[first:end] += found[self.supernode[self.parent[first:end]]]
        return found

    @cached_property
    def upward_work(self) -> float:
        """Mean number of arcs that an upward search visits, by a sample of nodes."""
        if not self.num_nodes:
            return 0.0
        sample = np.random.default_rng(0).integers(0, self.num_nodes, _SAMPLE)
        rank, arcs = sample.astype(np.int64), 0.0
        while len(rank):
            group = self.supernode[rank].astype(np.int64)
            inside = rank - self.first_node[group].astype(np.int64) + 1
            arcs += float((inside * self.num_ancestors[group] + inside * (inside - 1) // 2).sum())
            above = self.parent[group]
            rank = above[above >= 0]
        return arcs / _SAMPLE

    @cached_property
    def height(self) -> Uint32s:
        """Number of nodes below each node on the longest path down, by rank, shape (num_nodes,), uint32."""
        height = np.zeros(self.num_nodes, np.int64)
        last = self.first_node[1:].astype(np.int64) - 1
        for number in range(self.num_levels - 1, -1, -1):
            first, end = int(self.first_of_level[number]), int(self.first_of_level[number + 1])
            # Within a supernode each node lies above the next one, so the height of a node counts for the nodes above.
            for back in range(int(self.size[first:end].max(initial=1)) - 1):
                has_more = self.size[first:end] > back + 1
                low = last[first:end][has_more] - back
                np.maximum.at(height, low - 1, height[low] + 1)
            parent = self.parent[first:end]
            top = self.first_node[first:end].astype(np.int64)
            np.maximum.at(height, parent[parent >= 0], height[top[parent >= 0]] + 1)
        return height.astype(np.uint32)

    def arcs_of(self, tail: npt.NDArray[Any], head: npt.NDArray[Any]) -> Indices:
        """Return the arc that joins each pair of ranks, or -1 if no arc does, shape (k,), int64."""
        found = np.empty(len(tail), np.int64)

        def find(part: slice) -> None:
            low, high = np.maximum(tail[part], head[part]), np.minimum(tail[part], head[part])
            group = self.supernode[low]
            first, count = self.first_node[group].astype(np.int64), self.num_ancestors[group]
            inside = low - first
            row = self.first_arc[group] + inside * count + inside * (inside - 1) // 2
            column = count + high - first
            outside = np.flatnonzero(high < first)
            column[outside] = _places(self, group[outside], high[outside])
            found[part] = np.where((column >= 0) & (low != high), row + column, -1)

        in_pieces(len(tail), find)
        return found

    def are_joined(self, tail: npt.NDArray[Any], head: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return whether an arc joins each pair of different ranks, shape (k,), bool; true for equal ones."""
        low, high = np.maximum(tail, head), np.minimum(tail, head)
        group = self.supernode[low]
        found: npt.NDArray[np.bool_] = high >= self.first_node[group]
        outside = np.flatnonzero(~found)
        found[outside] = _places(self, group[outside], high[outside]) >= 0
        return found

    def check(self, graph: Graph) -> None:
        """Raise `GraphError` unless this is a valid hierarchy of a graph; the message says what is wrong.

        Any two neighbours that are left when a node is eliminated must be joined, and so must the ends of each arc of
        the graph. Weights do not matter.
        """
        if not hasattr(graph, "first_out") or not hasattr(graph, "head"):
            raise GraphError(f"graph is {shown(graph)}; give a Graph")
        _check(self, graph)


def _places(hierarchy: Hierarchy, group: npt.NDArray[Any], rank: npt.NDArray[Any]) -> Indices:
    """Return the index of each rank in the ancestors of a supernode, or -1 if absent, shape (k,), int64."""
    first = hierarchy.first_ancestor[group]
    left = hierarchy.first_ancestor[1:][group] - first
    found = np.full(len(group), -1, np.int64)
    # Binary searches in all lists at once: the last entry that is not above the wanted rank is one of the `left` ones
    # from `low` on. Most lists are short, so that few searches are left after some rounds.
    at = np.flatnonzero(left)
    low, left, wanted = first[at], left[at], rank[at]
    while len(at):
        for _ in range(_ROUNDS):
            half = left >> np.uint32(1)
            low = np.where((half > 0) & (hierarchy.ancestor[low + half] <= wanted), low + half, low)
            left -= half
        is_done = left == 1
        is_there = is_done & (hierarchy.ancestor[low] == wanted)
        found[at[is_there]] = low[is_there] - first[at[is_there]]
        goes_on = ~is_done
        at, low, left, wanted = at[goes_on], low[goes_on], left[goes_on], wanted[goes_on]
    return found


def _remade(kind: type[Hierarchy], *arrays: Uint32s) -> Hierarchy:
    """Return a hierarchy made of the arrays of a copied or pickled hierarchy."""
    hierarchy = kind(*arrays)
    _check(hierarchy, None)
    return hierarchy


def _check(hierarchy: Hierarchy, graph: Graph | None) -> None:
    """Raise `GraphError` unless this is a valid hierarchy, of the graph if given; see `Hierarchy.check`."""
    _check_arrays(hierarchy)
    if graph is not None and hierarchy.num_nodes != graph.num_nodes:
        _refuse(f"is for {hierarchy.num_nodes:,} nodes and the graph has {graph.num_nodes:,}")
    _check_nodes(hierarchy)
    _check_ancestors(hierarchy)
    _check_levels(hierarchy)
    # Short arrays can stand for many arcs, and each arc takes memory in a search.
    most = min(MOST_ARCS, max(FEW_ARCS, MOST_ARCS_A_NODE * hierarchy.num_nodes) + RELAX * hierarchy.num_nodes)
    if hierarchy.num_arcs > most:
        _refuse(f"has {hierarchy.num_arcs:,} arcs, more than {most:,}")
    if hierarchy.tree_height > MOST_HEIGHT:
        _refuse(f"has paths of {hierarchy.tree_height:,} nodes to the root, more than {MOST_HEIGHT:,}")
    _check_closure(hierarchy)
    if graph is not None:
        _check_graph(hierarchy, graph)


def _refuse(what: str) -> NoReturn:
    raise GraphError(f"the hierarchy {what}; make it with vkssp.prepare")


def _check_arrays(hierarchy: Hierarchy) -> None:
    """Check types, shapes and offsets."""
    for name in hierarchy.ARRAYS:
        array: Any = getattr(hierarchy, name)
        if not isinstance(array, np.ndarray) or array.dtype != np.uint32 or array.ndim != 1:
            what = f"shape {array.shape} and dtype {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
            _refuse(f"has for {name} {what}, not one-dimensional uint32s")
    if len(hierarchy.first_node) != len(hierarchy.first_ancestor):
        _refuse("has not as many offsets of nodes as of ancestors")
    _check_offsets(hierarchy, "first_node", hierarchy.num_nodes, 1)
    _check_offsets(hierarchy, "first_ancestor", len(hierarchy.ancestor), 0)
    _check_offsets(hierarchy, "first_of_level", hierarchy.num_supernodes, 1)
    if hierarchy.num_levels > MOST_HEIGHT:
        _refuse(f"has {hierarchy.num_levels:,} levels, more than {MOST_HEIGHT:,}")


def _check_offsets(hierarchy: Hierarchy, name: str, end: int, least: int) -> None:
    """Check that offsets go from 0 to `end`, and that consecutive offsets differ by at least `least`."""
    offsets = getattr(hierarchy, name).astype(np.int64)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
        _refuse(f"has a {name} that does not go from 0 to {end:,}")
    short = np.flatnonzero(offsets[1:] - offsets[:-1] < least)
    if len(short):
        at = int(short[0])
        _refuse(f"has a {name} that goes from {offsets[at]} to {offsets[at + 1]} at {at + 1:,}")


def _check_nodes(hierarchy: Hierarchy) -> None:
    """Check that each node has one rank."""
    node, n = hierarchy.node, hierarchy.num_nodes
    if n and int(node.max()) >= n:
        _refuse(f"has a node {int(node.max())}, and ids go from 0 to {n - 1:,}")
    has_rank = np.zeros(n, np.bool_)
    has_rank[node] = True
    if not has_rank.all():
        _refuse(f"has no rank for node {int(np.argmin(has_rank)):,}")


def _check_ancestors(hierarchy: Hierarchy) -> None:
    """Check that ancestors lie above their supernodes, and that their ranks ascend."""
    above, ascending = _Least(), _Least()

    def look(part: slice) -> None:
        ancestor, group = _ancestors_of(hierarchy, part)
        at = int(hierarchy.first_ancestor[part.start])
        above.add(at, ancestor >= hierarchy.first_node[group])
        ascending.add(at, (ancestor[1:] <= ancestor[:-1]) & (group[1:] == group[:-1]))

    in_pieces(hierarchy.num_supernodes, look)
    if (place := above.found) is not None:
        group = _group_at(hierarchy, place)
        _refuse(f"has an ancestor at {hierarchy.ancestor[place]} of supernode {group:,}, which does not lie above it")
    if (place := ascending.found) is not None:
        _refuse(f"has ancestors of supernode {_group_at(hierarchy, place):,} that do not ascend")


class _Least:
    """The least place at which an array is wrong, pieces of which threads look at."""

    def __init__(self) -> None:
        self._places: list[int] = []

    def add(self, begin: int, is_wrong: npt.NDArray[np.bool_]) -> None:
        """Add the piece from a place on."""
        if is_wrong.any():
            self._places.append(begin + int(np.argmax(is_wrong)))

    @property
    def found(self) -> int | None:
        """The place, None if there is none."""
        return min(self._places, default=None)


def _ancestors_of(hierarchy: Hierarchy, part: slice) -> tuple[Uint32s, Uint32s]:
    """Return the ancestors of consecutive supernodes, and for each of them its supernode."""
    first, end = hierarchy.first_ancestor[part.start], hierarchy.first_ancestor[part.stop]
    groups = np.arange(part.start, part.stop, dtype=np.uint32)
    return hierarchy.ancestor[first:end], np.repeat(groups, hierarchy.num_ancestors[part])


def _group_at(hierarchy: Hierarchy, place: int) -> int:
    """Return the supernode whose ancestors include the one at a place."""
    return int(np.searchsorted(hierarchy.first_ancestor, place, "right")) - 1


def _check_levels(hierarchy: Hierarchy) -> None:
    """Check that only supernodes without ancestors have level 0, and that others have a later level than parents."""
    first = hierarchy.first_of_level.astype(np.int64)
    level = np.repeat(np.arange(hierarchy.num_levels), first[1:] - first[:-1])
    has_one = hierarchy.parent >= 0
    wrong = np.flatnonzero((level > 0) != has_one)
    if len(wrong):
        at = int(wrong[0])
        _refuse(f"has supernode {at:,} with {hierarchy.num_ancestors[at]:,} ancestors in level {level[at]}")
    above = hierarchy.supernode[hierarchy.parent[has_one]]
    wrong = np.flatnonzero(level[above] >= level[has_one])
    if len(wrong):
        at = int(np.flatnonzero(has_one)[wrong[0]])
        _refuse(f"has supernode {at:,} not in a later level than its lowest ancestor")


def _check_closure(hierarchy: Hierarchy) -> None:
    """Check that any two ancestors of a supernode are joined.

    The parent supernode is the supernode of the lowest ancestor. Ancestors in the parent supernode are joined to each
    other and to all ancestors of the parent supernode. So it is enough to check that all other ancestors are ancestors
    of the parent supernode. That these are joined to each other follows from the check of the parent supernode.
    """
    missing, supernode, parents = _Least(), hierarchy.supernode, hierarchy.parent

    def look(part: slice) -> None:
        ancestor, group = _ancestors_of(hierarchy, part)
        parent = supernode[parents[group]]
        beyond = np.flatnonzero(ancestor < hierarchy.first_node[parent])
        absent = beyond[_places(hierarchy, parent[beyond], ancestor[beyond]) < 0]
        if len(absent):
            missing.add(int(hierarchy.first_ancestor[part.start]) + int(absent[0]), np.ones(1, np.bool_))

    in_pieces(hierarchy.num_supernodes, look)
    if (place := missing.found) is not None:
        lower = _group_at(hierarchy, place)
        parent = hierarchy.supernode[hierarchy.parent[lower]]
        _refuse(
            f"has an ancestor at {hierarchy.ancestor[place]:,} of supernode {lower:,} that is none of its parent's, "
            f"{parent}"
        )


def _check_graph(hierarchy: Hierarchy, graph: Graph) -> None:
    """Check that the hierarchy joins the ends of all arcs of a graph."""
    rank, missing = hierarchy.rank, _Least()

    def look(part: slice) -> None:
        bounds = graph.first_out[part.start : part.stop + 1]
        tail = np.repeat(rank[part], bounds[1:] - bounds[:-1])
        missing.add(int(bounds[0]), ~hierarchy.are_joined(tail, rank[graph.head[bounds[0] : bounds[-1]]]))

    in_pieces(graph.num_nodes, look)
    if (at := missing.found) is not None:
        tail = int(np.searchsorted(graph.first_out, at, "right")) - 1
        ends = f"{tail:,} and {graph.head[at]:,}"
        _refuse(f"is of another graph: it does not join nodes {ends}, which arc {at:,} does")
