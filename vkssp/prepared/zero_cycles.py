"""Cycles of weight zero: groups of nodes on the same cycle, and paths of weight zero between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.bulk import least_of


def zero_cycles(graph: Graph) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.bool_] | None]:
    """Return each node's group, and a mask of the arcs between groups; None for both if all groups are single nodes."""
    if least_of(graph.weight, 1):
        return None, None
    zero = graph.weight == 0
    tail, head = graph.tail, graph.head
    zero &= tail != head
    if not zero.any():
        return None, None
    from scipy import sparse
    from scipy.sparse import csgraph

    ones = np.ones(int(zero.sum()), np.bool_)
    links = sparse.csr_array((ones, (tail[zero], head[zero])), shape=(graph.num_nodes, graph.num_nodes))
    count, group = csgraph.connected_components(links, directed=True, connection="strong")
    if count == graph.num_nodes:
        return None, None
    group = group.astype(np.int64)
    return group, group[tail] != group[head]


class ZeroTrees:
    """Paths of weight zero inside each group through the group's root: one tree towards it and one away from it."""

    def __init__(self, graph: Graph, group: npt.NDArray[Any]) -> None:
        from scipy import sparse
        from scipy.sparse import csgraph

        self._graph = graph
        n, tail, head = graph.num_nodes, graph.tail, graph.head
        inside = (graph.weight == 0) & (group[tail] == group[head]) & (tail != head)
        _, roots = np.unique(group, return_index=True)
        # An additional node with links to all roots, so that one search takes the place of thousands.
        hub = np.full(len(roots), n)
        ones = np.ones(int(inside.sum()) + len(roots), np.bool_)

        def tree(tails: Any, heads: Any) -> Any:
            ends = (np.concatenate([tails[inside], hub]), np.concatenate([heads[inside], roots]))
            links = sparse.csr_array((ones, ends), shape=(n + 1, n + 1))
            return csgraph.breadth_first_order(links, n, return_predecessors=True)[1]

        self._before = tree(tail, head)  # on the path from the root to a node, the node before it
        self._after = tree(head, tail)  # on the path from a node to the root, the node after it

    def arcs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the arcs of both trees, which are the arcs that `walk` takes.

        Returns
        -------
        into : numpy.ndarray
            Arc that enters each node in the tree away from the root, -1 at roots, shape (num_nodes,), int64.
        out : numpy.ndarray
            Arc that leaves each node in the tree towards the root, -1 at roots, shape (num_nodes,), int64.
        """
        tail, head = self._graph.tail, self._graph.head
        into, out = np.full((2, self._graph.num_nodes), -1, np.int64)
        arcs = np.flatnonzero(self._graph.weight == 0)[::-1]  # reversed: of parallel arcs the first is written last
        away, towards = arcs[self._before[head[arcs]] == tail[arcs]], arcs[self._after[tail[arcs]] == head[arcs]]
        into[head[away]], out[tail[towards]] = away, towards
        return into, out

    def walk(self, start: int, end: int) -> list[int]:
        """Return the arcs of a path of weight zero between two nodes of one group."""
        if start == end:
            return []
        hub = self._graph.num_nodes
        up, down = [start], [end]
        while self._after[up[-1]] != hub:
            up.append(int(self._after[up[-1]]))
        while self._before[down[-1]] != hub:
            down.append(int(self._before[down[-1]]))
        # If both paths meet before the root, the rest of both is a detour.
        place = {node: i for i, node in enumerate(up)}
        meet = next(i for i, node in enumerate(down) if node in place)
        nodes = up[: place[down[meet]] + 1] + down[:meet][::-1]
        return [self._arc(u, v) for u, v in pairwise(nodes)]

    def _arc(self, tail: int, head: int) -> int:
        first, end = int(self._graph.first_out[tail]), int(self._graph.first_out[tail + 1])
        fits = (self._graph.head[first:end] == head) & (self._graph.weight[first:end] == 0)
        return first + int(np.argmax(fits))
