"""How much work a contraction order makes: what customizable contraction hierarchies would have to go through.

They contract nodes one after another; the neighbours of a contracted node that are left become neighbours of each
other, and every triangle that appears is looked at for each new set of weights. On streets and with a good order the
triangles are about as many as the arcs; on graphs without small separators they are the cube of a part of the nodes,
whatever the order. Counting them takes a small part of the time of going through them, since the neighbours left of
each node are known from the tree of first neighbours left, without making the new arcs.

J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM Journal on Matrix Analysis 11, 1990.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.csr import rows_of
from vkssp.jit import jit


def triangles(graph: Graph, order: npt.ArrayLike, most: int) -> int:
    """Return how many triangles a contraction of all nodes in some order makes, or a number above `most`.

    Parameters
    ----------
    graph : Graph
        The graph; its arcs count in both directions.
    order : array_like
        Node ids, the first to be contracted first.
    most : int
        Where to stop counting.
    """
    nodes = np.asarray(order, np.int64)
    rank = np.empty(graph.num_nodes, np.uint32)
    rank[nodes] = np.arange(graph.num_nodes, dtype=np.uint32)
    tail, head = rank[graph.tail], rank[graph.head]
    first, by_later = rows_of(np.maximum(tail, head), graph.num_nodes)
    return int(_count(first.astype(np.int64), np.minimum(tail, head)[by_later].astype(np.int64), most))


@jit
def _count(first: Any, earlier: Any, most: int) -> int:
    """Count triangles; the arcs to earlier nodes of each node are at `first`, both by rank."""
    num_nodes = len(first) - 1
    parent, mark, later = np.full(num_nodes, -1), np.full(num_nodes, -1), np.zeros(num_nodes, np.int64)
    found = 0
    for node in range(num_nodes):
        mark[node] = node
        for arc in range(first[node], first[node + 1]):
            below = earlier[arc]
            # All on the way up from a neighbour that are contracted before this node become its neighbours.
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
