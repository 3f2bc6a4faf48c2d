"""Construction of graphs with hundreds of millions of arcs, by counting sorts that need little extra memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.csr import Uint32s, transposed
from vkssp.graph.graph import Graph
from vkssp.graph.many_arcs import MANY, rows_of_edges

#: Least number of arcs that are sorted at a time; the resulting rows do not depend on it.
BLOCK = 1 << 22


def graph_of(first_out: npt.NDArray[Any], head: Uint32s, weight: Uint32s) -> Graph:
    """Return a graph that takes over arrays made for it, without a copy."""
    return Graph.from_csr(own(first_out.astype(np.uint32, copy=False)), own(head), own(weight))


def graph_from_arcs(num_nodes: int, tail: Uint32s, head: Uint32s, weight: Uint32s, *, both_ways: bool) -> Graph:
    """Return the graph of a long list of edges; the arcs of a node keep their sequence.

    `Graph.from_edges` gives the same rows, but takes 8 bytes per arc for each of several temporary arrays. Here only
    the edges (12 bytes each) and the graph (8 bytes per arc) grow with the number of arcs. With `both_ways` each edge,
    also a loop, becomes an arc in both directions. In each row the arcs from head to tail come last.
    """
    directions = ((tail, head), (head, tail)) if both_ways else ((tail, head),)
    if len(tail) * len(directions) >= MANY:
        return graph_of(*rows_of_edges(directions, weight, num_nodes))
    block = max(BLOCK, num_nodes)  # each block also costs time and memory in proportion to the nodes
    degree = np.zeros(num_nodes, np.int64)
    for tails, _ in directions:
        for begin in range(0, len(tails), block):
            degree += np.bincount(tails[begin : begin + block], minlength=num_nodes)
    first_out = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(degree, out=first_out[1:])
    num_arcs = int(first_out[-1])
    sorted_head, sorted_weight = np.empty(num_arcs, np.uint32), np.empty(num_arcs, np.uint32)
    free = first_out[:-1].copy()  # position of the next arc of each node
    for tails, heads in directions:
        for begin in range(0, len(tails), block):
            part = slice(begin, begin + block)
            size = len(tails[part])
            rows = transposed(np.arange(size + 1, dtype=np.int32), tails[part].view(np.int32), weight[part], num_nodes)
            place = np.arange(size, dtype=np.int64)
            place += np.repeat(free - rows.indptr[:-1], np.diff(rows.indptr))
            sorted_head[place] = heads[part][rows.indices]
            sorted_weight[place] = rows.data
            free += np.diff(rows.indptr)
    return graph_of(first_out, sorted_head, sorted_weight)
