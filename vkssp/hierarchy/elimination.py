"""Elimination tree and numbers of arcs of an elimination, computed without making the arcs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkssp.graph import Uint32s
from vkssp.hierarchy.edges import Edges, Indices, Int32s
from vkssp.jit import kernels


@dataclass(frozen=True, eq=False)
class Elimination:
    """Elimination of the nodes of a graph, in an equivalent order: a postorder of the elimination tree.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node of each rank, shape (num_nodes,), uint32; rank 0 is eliminated first.
    first, upper : numpy.ndarray
        The graph's edges by rank: offset of each node's first edge, shape (num_nodes + 1,), int64, and upper node of
        each edge, shape (num_edges,), int32.
    parent : numpy.ndarray
        The lowest neighbour that is left when a node is eliminated, -1 if there is none, shape (num_nodes,), int32.
    count : numpy.ndarray
        Number of neighbours that are left when a node is eliminated, shape (num_nodes,), int32.
    height : numpy.ndarray
        Number of nodes below each node on the longest path down, shape (num_nodes,), int32.
    tree_height : int
        Number of nodes on the longest path to the root of the elimination tree.
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
        """Number of arcs after the elimination; both directions count as one."""
        return int(self.count.sum(dtype=np.int64))


def eliminate(edges: Edges, node: Uint32s) -> Elimination:
    """Return the elimination of the nodes in some order.

    Time and memory are nearly linear in the number of nodes and edges, however many arcs the elimination adds.

    Parameters
    ----------
    edges : Edges
        Edges of the graph.
    node : numpy.ndarray
        Nodes in the order of elimination, shape (num_nodes,), uint32.
    """
    kernel = kernels("vkssp.hierarchy.kernels")
    n = edges.num_nodes
    parent, size, place = (np.empty(n, np.int32) for _ in range(3))
    rank = np.empty(n, np.uint32)
    rank[node] = np.arange(n, dtype=np.uint32)
    kernel.elimination_tree(*edges.renamed(rank).downward(), parent)
    kernel.subtree_sizes(parent, size)
    kernel.place_in_postorder(parent, size, place)
    # From here on, nodes are named by their ranks in postorder.
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
