"""Undirected edges of a graph, for elimination; no weights, no loops, no parallel edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph, Uint32s
from vkssp.graph.bulk import in_pieces
from vkssp.jit import kernels

Int32s = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between different nodes, each edge once.

    Attributes
    ----------
    num_nodes : int
        Number of nodes.
    low, high : numpy.ndarray
        Lower and higher node of each edge, shape (num_edges,), uint32.
    """

    num_nodes: int
    low: Uint32s
    high: Uint32s

    @classmethod
    def of(cls, graph: Graph) -> Edges:
        """Return the edges of a graph."""
        # Do not use `graph.tail`: the graph would keep that array in memory.
        tail = np.repeat(np.arange(graph.num_nodes, dtype=np.uint32), np.diff(graph.first_out))
        return cls.between(graph.num_nodes, tail, graph.head)

    @classmethod
    def between(cls, num_nodes: int, one: Uint32s, other: Uint32s) -> Edges:
        """Return the edges between pairs of nodes, which may contain loops and parallel edges; sorted by both nodes."""
        first, near = _rows(np.minimum(one, other), np.maximum(one, other), num_nodes)
        low = np.empty(len(near), np.uint32)
        count = kernels("vkssp.hierarchy.kernels").distinct_edges(first, near, low)
        return cls(num_nodes, low[:count].copy(), near[:count].astype(np.uint32))

    def renamed(self, rank: Uint32s) -> Edges:
        """Return the edges with each node replaced by its rank."""
        low, high = np.empty_like(self.low), np.empty_like(self.high)

        def rename(part: slice) -> None:
            one, other = rank[self.low[part]], rank[self.high[part]]
            np.minimum(one, other, out=low[part])
            np.maximum(one, other, out=high[part])

        in_pieces(len(low), rename)
        return Edges(self.num_nodes, low, high)

    def upward(self) -> tuple[Indices, Int32s]:
        """Return the higher neighbours of each node: offsets, and nodes."""
        return _rows(self.low, self.high, self.num_nodes)

    def downward(self) -> tuple[Indices, Int32s]:
        """Return the lower neighbours of each node: offsets, and nodes."""
        return _rows(self.high, self.low, self.num_nodes)

    def both_ways(self) -> tuple[Indices, Int32s]:
        """Return all neighbours of each node: offsets, and nodes."""
        ends = np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low])
        return _rows(*ends, self.num_nodes)


def _rows(node: Uint32s, neighbour: Uint32s, num_nodes: int) -> tuple[Indices, Int32s]:
    """Return the neighbours of each node, in their sequence: offsets, and nodes."""
    first, near = np.zeros(num_nodes + 1, np.int64), np.empty(len(node), np.int32)
    kernels("vkssp.hierarchy.kernels").sort_by_node(node, neighbour, first, near)
    return first, near
