"""What an elimination joins, counted before any of it is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkssp.graph import Uint32s
from vkssp.hierarchy.edges import Edges, Indices, Int32s
from vkssp.hierarchy.extra import kernels


@dataclass(frozen=True, eq=False)
class Elimination:
    """An elimination of nodes in some order, named by their ranks in an order that joins the same.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node of each rank, shape (num_nodes,), uint32; 0 is eliminated first. Ranks are in postorder.
    first, upper : numpy.ndarray
        The graph's edges by rank: where those of each node begin, shape (num_nodes + 1,), int64, and the upper node of
        each, shape (num_edges,), int32.
    parent : numpy.ndarray
        The first neighbour that is left when a node is eliminated, -1 where none is, shape (num_nodes,), int32.
    count : numpy.ndarray
        How many neighbours are left when a node is eliminated, shape (num_nodes,), int32.
    height : numpy.ndarray
        How many nodes lie below each node on the longest way down, shape (num_nodes,), int32.
    tree_height : int
        Number of nodes on the longest way from the top.
    """

    node: Uint32s
    first: Indices
    upper: Int32s
    parent: Int32s
    count: Int32s
    height: Int32s
    tree_height: int

    @property
    def num_arcs(self) -> int:
        """Number of arcs that there are at the end, each of them both ways."""
        return int(self.count.sum(dtype=np.int64))


def eliminate(edges: Edges, node: Uint32s) -> Elimination:
    """Return what eliminating nodes in some order joins.

    Takes time and memory in proportion to nodes and edges, however many arcs there would be.

    Parameters
    ----------
    edges : Edges
        The graph's.
    node : numpy.ndarray
        The nodes in the order in which they are eliminated, shape (num_nodes,), uint32.
    """
    kernel = kernels()
    n = edges.num_nodes
    parent, size, place = (np.empty(n, np.int32) for _ in range(3))
    rank = np.empty(n, np.uint32)
    rank[node] = np.arange(n, dtype=np.uint32)
    kernel.elimination_tree(*edges.renamed(rank).downward(), parent)
    kernel.subtree_sizes(parent, size)
    kernel.place_in_postorder(parent, size, place)
    # From here on by ranks in postorder.
    above = np.where(parent >= 0, place[parent], np.int32(-1))
    parent = np.empty(n, np.int32)
    parent[place] = above
    by_place, place_of = np.empty(n, np.uint32), place[rank].astype(np.uint32)
    by_place[place] = node
    first, upper = edges.renamed(place_of).upward()
    kernel.subtree_sizes(parent, size)
    count, height = np.empty(n, np.int32), np.empty(n, np.int32)
    kernel.column_counts(first, upper, parent, size, count)
    tree_height = int(kernel.tree_heights(parent, height))
    return Elimination(by_place, first, upper, parent, count, height, tree_height)
