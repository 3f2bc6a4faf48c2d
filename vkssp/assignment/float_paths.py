"""Loads of arcs along paths that are shortest at costs of 64 bits, for costs that 32 bits do not tell apart.

The searches are scipy's. They take many times longer than those of integers, and are used where one pair of zones, or
an overloaded arc, costs so much more than an average trip that the other arcs would have weights of few units.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from vkssp.assignment.delays import Floats
from vkssp.graph import Graph
from vkssp.prepared.aggregates import Int64s
from vkssp.prepared.seed_groups import Groups

# Entries of the tables of distances and predecessors of several origins.
_AT_ONCE = 1 << 22
_NONE = -9999  # scipy's mark of a node without a predecessor


def float_loads(graph: Graph, cost: Floats, groups: Groups) -> tuple[Int64s, Int64s, float]:
    """Return the loads of arcs, the demand of each group that finds no path, and the largest cost of a trip.

    Parameters
    ----------
    graph : Graph
        The graph of paths.
    cost : numpy.ndarray
        Cost of each arc, from 0 on, shape (num_arcs,), float64.
    groups : Groups
        A node for each group, with its demand.
    """
    n, demand = graph.num_nodes, groups.demand
    assert demand is not None
    # Of parallel arcs the cheapest, and of equal ones the first.
    pair = graph.tail.astype(np.int64) * n + graph.head
    order = np.lexsort((cost, pair))
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = pair[order[1:]] != pair[order[:-1]]
    arcs = order[is_first]
    pairs = pair[arcs]
    matrix = sparse.csr_array((cost[arcs], (graph.tail[arcs], graph.head[arcs])), shape=(n, n))
    loads, missed, most = np.zeros(graph.num_arcs, np.int64), np.zeros(len(groups), np.int64), 0.0
    step = max(1, _AT_ONCE // max(1, n))
    for begin in range(0, len(groups), step):
        sources = groups.sources[begin : begin + step].astype(np.int64)
        rows = len(sources)
        distance, before = csgraph.dijkstra(matrix, indices=sources, return_predecessors=True)
        bounds = demand.first[begin : begin + rows + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        row = np.repeat(np.arange(rows), np.diff(bounds))
        node, amount = demand.node[entries].astype(np.int64), demand.amount[entries]
        is_lost = ~np.isfinite(distance[row, node])
        np.add.at(missed, begin + row[is_lost], amount[is_lost])
        most = max(most, float(distance[row, node][~is_lost & (amount > 0)].max(initial=0.0)))
        through = np.zeros((rows, n), np.int64)
        np.add.at(through, (row[~is_lost], node[~is_lost]), amount[~is_lost])
        for here, at, previous in _upward(before):
            passed = through[here, at]
            np.add.at(through, (here, previous), passed)
            np.add.at(loads, arcs[np.searchsorted(pairs, previous * n + at)], passed)
    return loads, missed, most


def _upward(before: npt.NDArray[np.int32]) -> list[tuple[Int64s, Int64s, Int64s]]:
    """Return the rows, nodes and predecessors of trees, level by level, the deepest level first."""
    depth = np.where(before == _NONE, 0, -1)
    levels, (row, node) = [], np.nonzero(depth < 0)
    level = 0
    while len(row):
        level += 1
        previous = before[row, node].astype(np.int64)
        is_next = depth[row, previous] == level - 1
        depth[row[is_next], node[is_next]] = level
        levels.append((row[is_next], node[is_next], previous[is_next]))
        row, node = row[~is_next], node[~is_next]
    return levels[::-1]
