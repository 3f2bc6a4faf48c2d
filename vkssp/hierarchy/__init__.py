"""Hierarchies: a graph prepared once, whatever its weights, so that searches become sweeps over it.

Nodes are eliminated one after the other, by a nested dissection; each elimination joins the neighbours that are left.
What comes of it is a chordal graph above the graph's own (customizable contraction hierarchies: J. Dibbelt,
B. Strasser, D. Wagner, 2014). Nodes whose neighbours above are the same but for each other are one supernode, as in the
factorization of sparse matrices: a clique, and one list of ancestors that all of its nodes are joined to.

Nodes have positions, from the top: what is eliminated last comes first. Levels count supernodes on the way from the
top, so that all nodes of a level can be swept at once, as soon as all levels before it are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph, Uint32s, checked_graph
from vkssp.rows import fixed

Indices = npt.NDArray[np.int64]


def _lengths(first: Uint32s) -> Indices:
    offsets = first.astype(np.int64)
    return offsets[1:] - offsets[:-1]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The order in which nodes are eliminated, and what it joins; it does not depend on weights.

    Make one with `vkssp.prepare`. Supernodes are in the order of their levels, their nodes have consecutive positions.
    A node's list of ancestors is that of its supernode, and then the nodes of the supernode before it; it is ascending.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node at each position, shape (num_nodes,), uint32.
    first_node : numpy.ndarray
        Position of the first node of each supernode, shape (num_supernodes + 1,), uint32.
    first_ancestor : numpy.ndarray
        Where each supernode's ancestors begin, shape (num_supernodes + 1,), uint32.
    ancestor : numpy.ndarray
        Positions of the ancestors of each supernode, ascending, shape (num_ancestors,), uint32.
    first_of_level : numpy.ndarray
        The first supernode of each level, shape (num_levels + 1,), uint32. Supernodes of level 0 have no ancestors.
    """

    node: Uint32s
    first_node: Uint32s
    first_ancestor: Uint32s
    ancestor: Uint32s
    first_of_level: Uint32s

    #: The arrays, by name.
    ARRAYS: ClassVar[tuple[str, ...]] = ("node", "first_node", "first_ancestor", "ancestor", "first_of_level")

    def __post_init__(self) -> None:
        """Keep arrays as they are now."""
        for name in self.ARRAYS:
            array: Any = getattr(self, name)
            if isinstance(array, np.ndarray):
                object.__setattr__(self, name, fixed(array))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: with all checks but those against a graph."""
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
    def position(self) -> Uint32s:
        """Position of each of the graph's nodes, shape (num_nodes,), uint32."""
        place = np.empty(self.num_nodes, np.uint32)
        place[self.node] = np.arange(self.num_nodes, dtype=np.uint32)
        return place

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
        """Where the arcs of each supernode begin, shape (num_supernodes + 1,), int64.

        There is one for each node and each node in its list, in this order.
        """
        arcs = self.size * self.num_ancestors + self.size * (self.size - 1) // 2
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(arcs)])

    @property
    def num_arcs(self) -> int:
        """Number of arcs, each of them both ways."""
        return int(self.first_arc[-1])

    @cached_property
    def supernode(self) -> Uint32s:
        """The supernode of each position, shape (num_nodes,), uint32."""
        return np.repeat(np.arange(self.num_supernodes, dtype=np.uint32), self.size)

    @cached_property
    def parent(self) -> Indices:
        """The position of each supernode's nearest ancestor, -1 where it has none, shape (num_supernodes,), int64."""
        has_one = self.num_ancestors > 0
        found = np.full(self.num_supernodes, -1, np.int64)
        found[has_one] = self.ancestor[self.first_ancestor[1:][has_one].astype(np.int64) - 1]
        return found

    @cached_property
    def depth(self) -> Uint32s:
        """How many nodes lie above each position, on the way to the top, shape (num_nodes,), uint32."""
        depth = np.zeros(self.num_nodes, np.int64)
        inside = np.arange(self.num_nodes) - self.first_node[:-1].astype(np.int64)[self.supernode]
        for first, end in zip(self.first_of_level[:-1].tolist(), self.first_of_level[1:].tolist(), strict=True):
            low, high = int(self.first_node[first]), int(self.first_node[end])
            parent = self.parent[first:end]
            above = np.where(parent >= 0, depth[parent] + 1, 0)
            depth[low:high] = np.repeat(above, self.size[first:end]) + inside[low:high]
        return depth.astype(np.uint32)

    @property
    def tree_height(self) -> int:
        """Number of nodes on the longest way to the top."""
        return int(self.depth.max()) + 1 if self.num_nodes else 0

    @cached_property
    def nodes_on_way(self) -> Indices:
        """Number of nodes of the supernodes on the way from each to the top, shape (num_supernodes,), int64."""
        found = self.size.copy()
        for first, end in pairwise(self.first_of_level[1:].tolist()):
            found[first:end] += found[self.supernode[self.parent[first:end]]]
        return found

    @cached_property
    def height(self) -> Uint32s:
        """How many nodes lie below each position, on the longest way down, shape (num_nodes,), uint32."""
        height = np.zeros(self.num_nodes, np.int64)
        last = self.first_node[1:].astype(np.int64) - 1
        for number in range(self.num_levels - 1, -1, -1):
            first, end = int(self.first_of_level[number]), int(self.first_of_level[number + 1])
            # Within a supernode each node lies above the next one; where there is more below it counts for those above.
            for back in range(int(self.size[first:end].max(initial=1)) - 1):
                has_more = self.size[first:end] > back + 1
                low = last[first:end][has_more] - back
                np.maximum.at(height, low - 1, height[low] + 1)
            parent = self.parent[first:end]
            top = self.first_node[first:end].astype(np.int64)
            np.maximum.at(height, parent[parent >= 0], height[top[parent >= 0]] + 1)
        return height.astype(np.uint32)

    def arcs_of(self, tail: Indices, head: Indices) -> Indices:
        """Return the arc that joins each pair of positions, -1 where none does, shape (k,), int64."""
        low, high = np.maximum(tail, head), np.minimum(tail, head)
        group = self.supernode[low].astype(np.int64)
        first, count = self.first_node[group].astype(np.int64), self.num_ancestors[group]
        row = self.first_arc[group] + (low - first) * count + (low - first) * (low - first - 1) // 2
        is_outside = high < first
        column = count + high - first
        column[is_outside] = self.ancestors_at(group[is_outside], high[is_outside])
        return np.where((column >= 0) & (low != high), row + column, -1)

    def ancestors_at(self, group: Indices, position: Indices) -> Indices:
        """Return where in the lists of some supernodes some positions are, -1 where they are not, shape (k,), int64."""
        first, count = self.first_ancestor[group].astype(np.int64), self.num_ancestors[group]
        low, high = first, first + count
        # All of them are searched at once, by halving the part of each list that is left.
        for _ in range(int(count.max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            # Where nothing is left, the end of a list may be that of all.
            goes_on = (low < high) & (self.ancestor.take(middle, mode="clip") < position)
            low, high = np.where(goes_on, middle + 1, low), np.where(goes_on, high, middle)
        is_there = low < first + count
        is_there[is_there] = self.ancestor[low[is_there]] == position[is_there]
        return np.where(is_there, low - first, -1)

    def check(self, graph: Graph) -> None:
        """Raise `GraphError` unless this is a hierarchy, and that of a graph; the message says what does not hold.

        Any two neighbours that are left when a node is eliminated have to be joined, and the ends of the graph's arcs.
        Weights do not matter.
        """
        from vkssp.hierarchy.checks import check

        check(self, checked_graph(graph))


def _remade(kind: type[Hierarchy], *arrays: Uint32s) -> Hierarchy:
    """Return a hierarchy of the arrays that a copy, or a pickled one, is made of."""
    from vkssp.hierarchy.checks import check

    hierarchy = kind(*arrays)
    check(hierarchy, None)
    return hierarchy
