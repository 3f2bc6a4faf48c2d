"""Count of the triangles of a contraction order: the work of a customizable contraction hierarchy.

The hierarchy contracts one node after another. The remaining neighbours of a contracted node become neighbours of each
other, and every customization visits each triangle that appears. On streets with a good order there are about as many
triangles as arcs. On graphs without small separators their number is the cube of a part of the nodes, whatever the
order. Counting takes a small part of the time of visiting: the elimination tree gives the remaining neighbours of each
node without making the new arcs.

J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM Journal on Matrix Analysis 11, 1990.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.csr import rows_of
from vkssp.jit import jit_allocating


def triangles(graph: Graph, order: npt.ArrayLike, most: int) -> int:
    """Return the number of triangles that a contraction of all nodes in an order makes, or a number above `most`.

    Parameters
    ----------
    graph : Graph
        The graph; its arcs count in both directions.
    order : array_like
        Node ids, the first to be contracted first.
    most : int
        Number of triangles beyond which counting stops.
    """
    nodes = np.asarray(order, np.int64)
    rank = np.empty(graph.num_nodes, np.uint32)
    rank[nodes] = np.arange(graph.num_nodes, dtype=np.uint32)
    tail, head = rank[graph.tail], rank[graph.head]
    first, by_later = rows_of(np.maximum(tail, head), graph.num_nodes)
    return int(_count(first.astype(np.int64), np.minimum(tail, head)[by_later].astype(np.int64), most))


@jit_allocating
def _count(first: Any, earlier: Any, most: int) -> int:
    """Count triangles; `first` has the offset of each node's arcs to `earlier` nodes, all by rank."""
    num_nodes = len(first) - 1
    parent, mark, later = np.full(num_nodes, -1), np.full(num_nodes, -1), np.zeros(num_nodes, np.int64)
    found = 0
    for node in range(num_nodes):
        mark[node] = node
        for arc in range(first[node], first[node + 1]):
            below = earlier[arc]
            # All ancestors of a neighbour that are contracted before this node become its neighbours.
            while mark[below] != node:
                mark[below] = node
                found += later[below]
                later[below] += 1
                if parent[below] < 0:
                    parent[below] = node
                below = parent[below]
        if found > most:
            return found
    return found
