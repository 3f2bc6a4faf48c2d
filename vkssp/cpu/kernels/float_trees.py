"""Kernels that make the distances of shortest-path trees exact for weights of float64, which searches round.

A sum of floats never falls if one of them grows. So the least of the sums of all paths, each added up from its source
on, is what Dijkstra's algorithm finds in float64. Here it is found from a tree that is the shortest for rounded
weights: its sums are those of paths, and arcs that make them less are followed until there are none (R. Bellman, On a
routing problem, 1958).
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Float64s, Int32s, Int64s, Uint8s, Uint32s
from vkssp.jit import jit

NO_ARC = np.uint32(2**32 - 1)
#: What scipy writes where there is no predecessor.
NO_NODE = np.int32(-9999)


@jit
def refine(
    first_out: Uint32s,
    head: Uint32s,
    tail: Uint32s,
    weight: Float64s,
    arcs: Uint32s,
    roots: Int64s,
    limit: float,
    waiting: Int32s,
    is_waiting: Uint8s,
    dist: Float64s,
    before: Int32s,
) -> None:
    """Write the distance of each node, infinite beyond `limit`, and the node before it.

    `arcs` has the arc into each node of a tree, `roots` the sources. `waiting` and `is_waiting` are room for the nodes.
    """
    num_nodes = len(dist)
    for node in range(num_nodes):
        is_waiting[node] = 0
        # Negative as long as the sum is not known.
        dist[node] = np.inf if arcs[node] == NO_ARC else -1.0
        before[node] = NO_NODE if arcs[node] == NO_ARC else np.int32(tail[arcs[node]])
    for i in range(len(roots)):
        dist[roots[i]], before[roots[i]] = 0.0, NO_NODE
    for node in range(num_nodes):
        at, depth = np.int64(node), 0
        while dist[at] < 0.0:
            waiting[depth] = at
            depth += 1
            at = np.int64(before[at])
        while depth > 0:
            depth -= 1
            at = np.int64(waiting[depth])
            dist[at] = dist[before[at]] + weight[arcs[at]]
    node, begin, count = 0, 0, 0
    while node < num_nodes or count > 0:
        # First all nodes, then those whose distance has fallen since.
        if node < num_nodes:
            at = np.int64(node)
            node += 1
        else:
            at = np.int64(waiting[begin])
            begin = begin + 1 if begin + 1 < num_nodes else 0
            count -= 1
            is_waiting[at] = 0
        if dist[at] == np.inf:
            continue
        for arc in range(first_out[at], first_out[at + 1]):
            to, through = np.int64(head[arc]), dist[at] + weight[arc]
            if through < dist[to] and through <= limit:
                dist[to], before[to] = through, at
                if not is_waiting[to] and to < node:
                    end = begin + count
                    waiting[end if end < num_nodes else end - num_nodes] = to
                    is_waiting[to] = 1
                    count += 1
    for node in range(num_nodes):
        if dist[node] > limit:
            dist[node], before[node] = np.inf, NO_NODE


@jit
def prefer_near(first_out: Uint32s, head: Uint32s, weight: Float64s, dist: Float64s, before: Int32s) -> None:
    """Make the nearest of the nodes that may be before a node its predecessor, as Dijkstra's algorithm does.

    It remains if none is nearer, so that arcs of weight zero make no circles.
    """
    for node in range(len(dist)):
        if dist[node] == np.inf:
            continue
        for arc in range(first_out[node], first_out[node + 1]):
            to = np.int64(head[arc])
            is_nearer = before[to] != NO_NODE and dist[node] < dist[before[to]]
            if is_nearer and dist[node] + weight[arc] == dist[to]:
                before[to] = node


@jit
def find_roots(dist: Float64s, before: Int32s, waiting: Int32s, root: Int32s) -> None:
    """Write the root of the tree of each node, `NO_NODE` for unreached ones; `waiting` is room for the nodes."""
    for node in range(len(dist)):
        is_root = before[node] == NO_NODE
        root[node] = node if is_root and dist[node] < np.inf else NO_NODE
    for node in range(len(dist)):
        at, count = np.int64(node), np.int64(0)
        while root[at] == NO_NODE and before[at] != NO_NODE:
            waiting[count] = at
            count += 1
            at = np.int64(before[at])
        for i in range(count):
            root[waiting[i]] = root[at]
