"""Undirected edges of a graph, for elimination; no weights, no loops, no parallel edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph, Uint32s
from vkssp.graph.csr import rows_of

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
        """Return the edges between pairs of nodes, which may contain loops and parallel edges."""
        key = np.minimum(one, other).astype(np.uint64) << np.uint64(32) | np.maximum(one, other)
        key = key[one != other]
        key.sort()
        is_first = np.ones(len(key), np.bool_)
        np.not_equal(key[1:], key[:-1], out=is_first[1:])
        key = key[is_first]
        return cls(num_nodes, (key >> np.uint64(32)).astype(np.uint32), key.astype(np.uint32))

    def renamed(self, rank: Uint32s) -> Edges:
        """Return the edges with each node replaced by its rank."""
        low, high = rank[self.low], rank[self.high]
        return Edges(self.num_nodes, np.minimum(low, high), np.maximum(low, high))

    def upward(self) -> tuple[Indices, Int32s]:
        """Return the higher neighbours of each node: offsets, and nodes."""
        return self._rows(self.low, self.high)

    def downward(self) -> tuple[Indices, Int32s]:
        """Return the lower neighbours of each node: offsets, and nodes."""
        return self._rows(self.high, self.low)

    def both_ways(self) -> tuple[Indices, Int32s]:
        """Return all neighbours of each node: offsets, and nodes."""
        return self._rows(np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low]))

    def _rows(self, node: Uint32s, neighbour: Uint32s) -> tuple[Indices, Int32s]:
        first, order = rows_of(node, self.num_nodes)
        return first.astype(np.int64), neighbour[order].astype(np.int32)
