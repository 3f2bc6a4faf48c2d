"""Compiled kernels of contraction hierarchies for one metric.

R. Geisberger, P. Sanders, D. Schultes, D. Delling, "Contraction hierarchies: faster and simpler hierarchical routing in
road networks", WEA 2008.

Each remaining node has a list of its neighbours, with the arcs from it, to it, or both, in a pool that all lists share.
When a node is contracted, it is removed from the lists of its neighbours. Its own list stays and holds its arcs in the
hierarchy. A new arc joins two of its neighbours if no other path that is as short was found (a witness). Witness
searches end after some nodes; a missed witness costs arcs, but never makes distances wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.jit import jit

Ints = Any  # arrays of 64-bit integers

#: Words of a list entry: the neighbour, the weights of the arcs to it and from it, and the arcs that each stands for.
NODE, OUT, IN, OUT_HOPS, IN_HOPS, WORDS = 0, 1, 2, 3, 4, 5
#: Weight of a missing arc; larger than any sum.
NONE = 1 << 40
#: Largest length of a witness, so that keys fit.
LARGEST = (1 << 32) - 1
_SHIFT = 31  # position of the distance in a heap key; the node is in the bits below
_MASK = (1 << _SHIFT) - 1


@jit
def push(heap: Ints, size: int, key: int) -> int:
    """Put a key into a binary heap; return the heap's new size."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key
    return size + 1


@jit
def remove_least(heap: Ints, size: int) -> int:
    """Remove the least key, which is the first, from a binary heap; return the heap's new size."""
    size -= 1
    key, at = heap[size], 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return size


@jit
def search(
    pool: Ints, first: Ints, length: Ints, source: int, without: int, bound: int, most: int, dist: Ints, work: Ints
) -> int:
    """Search from a node on paths that avoid the node `without`, and write the lengths of the paths found to `dist`.

    Returns the number of nodes reached, which are the first ones in ``work[0]``; ``work[1]`` is a heap. The search ends
    beyond the distance `bound`, or after settling `most` nodes.
    """
    heap, touched, room = work[1], work[0], work.shape[1]
    dist[source] = 0
    touched[0], reached, settled = source, 1, 0
    size = push(heap, 0, source)
    while size > 0 and settled < most:
        key = heap[0]
        size = remove_least(heap, size)
        node, at = key & _MASK, key >> _SHIFT
        if at > dist[node]:
            continue
        if at > bound:
            break
        settled += 1
        for entry in range(first[node], first[node] + length[node]):
            head, through = pool[entry, NODE], at + pool[entry, OUT]
            if head == without or through > bound or through >= dist[head] or size == room or reached == room:
                continue
            if dist[head] == NONE:
                touched[reached] = head
                reached += 1
            dist[head] = through
            size = push(heap, size, through << _SHIFT | head)
    return reached


@jit
def shortcuts(
    pool: Ints, first: Ints, length: Ints, node: int, most: int, dist: Ints, work: Ints, made: Ints, prunes: bool
) -> tuple[int, int]:
    """Write the arcs between neighbours that the contraction of a node makes.

    Each row of `made` holds the places of both neighbours in the node's list, the weight, and the number of arcs of the
    graph that the new arc stands for. If `prunes`, the node's own arcs are removed if a path over another neighbour is
    as short. Such arcs make no new arcs in any case.

    Returns
    -------
    int, int
        Number of new arcs, and number of arcs of the graph that they stand for.
    """
    degree, begin = length[node], first[node]
    between = np.full((degree, degree), NONE, np.int64)
    heaviest = 0
    for j in range(degree):
        if pool[begin + j, OUT] < NONE:
            heaviest = max(heaviest, pool[begin + j, OUT])
    for i in range(degree):
        into = pool[begin + i, IN]
        if into == NONE:
            continue
        bound = min(into + heaviest, LARGEST)
        reached = search(pool, first, length, pool[begin + i, NODE], node, bound, most, dist, work)
        for j in range(degree):
            between[i, j] = dist[pool[begin + j, NODE]]
        for k in range(reached):
            dist[work[0, k]] = NONE
    out, into_all = np.empty(degree, np.int64), np.empty(degree, np.int64)
    for i in range(degree):
        out[i], into_all[i] = pool[begin + i, OUT], pool[begin + i, IN]
        for k in range(degree):
            # The other arc must be lighter, so that no two arcs remove each other.
            if pool[begin + k, IN] < pool[begin + i, IN] and between[i, k] + pool[begin + k, IN] <= pool[begin + i, IN]:
                into_all[i] = NONE
            over = pool[begin + k, OUT] + between[k, i]
            if pool[begin + k, OUT] < pool[begin + i, OUT] and over <= pool[begin + i, OUT]:
                out[i] = NONE
    count, hops = 0, 0
    for i in range(degree):
        for j in range(degree):
            weight = into_all[i] + out[j]
            if i == j or weight >= NONE or between[i, j] <= weight:
                continue
            if count < len(made):
                made[count, 0], made[count, 1], made[count, 2] = i, j, weight
                made[count, 3] = pool[begin + i, IN_HOPS] + pool[begin + j, OUT_HOPS]
            hops += pool[begin + i, IN_HOPS] + pool[begin + j, OUT_HOPS]
            count += 1
    if prunes:
        for i in range(degree):
            pool[begin + i, OUT], pool[begin + i, IN] = out[i], into_all[i]
    return count, hops


@jit
def put(pool: Ints, first: Ints, length: Ints, capacity: Ints, free: int, node: int, entry: Ints) -> int:
    """Add a neighbour to a list, or update it with lighter arcs; return the first free place of the pool."""
    begin = first[node]
    for at in range(begin, begin + length[node]):
        if pool[at, NODE] == entry[NODE]:
            if entry[OUT] < pool[at, OUT]:
                pool[at, OUT], pool[at, OUT_HOPS] = entry[OUT], entry[OUT_HOPS]
            if entry[IN] < pool[at, IN]:
                pool[at, IN], pool[at, IN_HOPS] = entry[IN], entry[IN_HOPS]
            return free
    if length[node] == capacity[node]:
        capacity[node] = 2 * capacity[node] + 4
        pool[free : free + length[node]] = pool[begin : begin + length[node]]
        first[node] = free
        free += capacity[node]
    pool[first[node] + length[node]] = entry
    length[node] += 1
    return free


@jit
def forget(pool: Ints, first: Ints, length: Ints, node: int, neighbour: int) -> None:
    """Remove a neighbour from a list."""
    last = first[node] + length[node] - 1
    for at in range(first[node], last + 1):
        if pool[at, NODE] == neighbour:
            pool[at] = pool[last]
            length[node] -= 1
            return


@jit
def importance(
    pool: Ints, first: Ints, length: Ints, node: int, level: int, most: int, dist: Ints, work: Ints, made: Ints
) -> int:
    """Return the importance of a node, from its level and the ratios of new to removed arcs; the least goes first."""
    arcs, hops = 1, 1
    for at in range(first[node], first[node] + length[node]):
        if pool[at, OUT] < NONE:
            arcs, hops = arcs + 1, hops + pool[at, OUT_HOPS]
        if pool[at, IN] < NONE:
            arcs, hops = arcs + 1, hops + pool[at, IN_HOPS]
    new_arcs, new_hops = shortcuts(pool, first, length, node, most, dist, work, made, False)
    return 1000 * level + 1000 * new_arcs // arcs + 1000 * new_hops // hops


@jit
def contract(
    pool: Ints, first: Ints, length: Ints, capacity: Ints, free: int, most: int, most_tried: int, order: Ints
) -> Ints:
    """Contract all nodes; write the order, and return the pool with the upward and downward arcs of each node.

    The list of node ``v`` is ``first[v]`` to ``first[v] + length[v] - 1``. Witness searches settle at most `most`
    nodes, or `most_tried` if they only serve to find the importance of a node.
    """
    n = len(first)
    dist, work = np.full(n, NONE, np.int64), np.empty((2, 1 << 16), np.int64)
    made, level, key = np.empty((1 << 12, 4), np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    heap, size = np.empty(4 * n + 16, np.int64), 0
    for node in range(n):
        key[node] = importance(pool, first, length, node, 0, most_tried, dist, work, made)
        size = push(heap, size, key[node] << _SHIFT | node)
    entry, done = np.empty(WORDS, np.int64), 0
    while size > 0:
        least = heap[0]
        size = remove_least(heap, size)
        node = least & _MASK
        if key[node] != least >> _SHIFT:  # an outdated entry: the node was contracted, or has another key
            continue
        count, _ = shortcuts(pool, first, length, node, most, dist, work, made, True)
        if count > len(made):
            # The arcs that the first call removed do not change the new arcs.
            made = np.empty((2 * count, 4), np.int64)
            count, _ = shortcuts(pool, first, length, node, most, dist, work, made, True)
        order[done], key[node] = node, -1
        done += 1
        begin, degree = first[node], length[node]
        needed = 0
        for at in range(begin, begin + degree):
            forget(pool, first, length, pool[at, NODE], node)
            needed += 4 * (length[pool[at, NODE]] + degree) + 8
        if free + needed > len(pool):
            larger = np.empty((2 * (free + needed), WORDS), np.int64)
            larger[:free] = pool[:free]
            pool = larger
        for k in range(count):
            i, j = pool[begin + made[k, 0], NODE], pool[begin + made[k, 1], NODE]
            entry[NODE], entry[OUT], entry[IN], entry[OUT_HOPS], entry[IN_HOPS] = j, made[k, 2], NONE, made[k, 3], 0
            free = put(pool, first, length, capacity, free, i, entry)
            entry[NODE], entry[OUT], entry[IN], entry[OUT_HOPS], entry[IN_HOPS] = i, NONE, made[k, 2], 0, made[k, 3]
            free = put(pool, first, length, capacity, free, j, entry)
        if size + degree > len(heap):
            longer = np.empty(2 * len(heap) + degree, np.int64)
            longer[:size] = heap[:size]
            heap = longer
        for at in range(begin, begin + degree):
            other = pool[at, NODE]
            level[other] = max(level[other], level[node] + 1)
            key[other] = importance(pool, first, length, other, level[other], most_tried, dist, work, made)
            size = push(heap, size, key[other] << _SHIFT | other)
    return pool


@jit
def levels(order: Ints, first: Ints, length: Ints, pool: Ints, level: Ints) -> None:
    """Write for each node the largest number of arcs on a path of downward arcs that ends at the node."""
    for k in range(len(order) - 1, -1, -1):
        node = order[k]
        level[node] = 0
        for at in range(first[node], first[node] + length[node]):
            if pool[at, IN] < NONE:
                level[node] = max(level[node], level[pool[at, NODE]] + 1)


@jit
def upward_search(
    first: Ints, head: Ints, weight: Ints, before: Ints, source: int, dist: Ints, heap: Ints, found: Ints
) -> int:
    """Run the upward search of a node and write distances, all `NONE` before; return the number of nodes in `found`.

    Nodes and sources are ranks. `before` is the number of nodes that were contracted before each. Upward arcs lead to
    nodes that were contracted later. So each node is handled once, after all nodes with arcs to it.
    """
    num_nodes = len(before)
    dist[source], size, count = 0, push(heap, 0, before[source] * num_nodes + source), 0
    while size > 0:
        node = heap[0] % num_nodes
        size = remove_least(heap, size)
        found[count] = node
        count += 1
        for arc in range(first[node], first[node + 1]):
            if dist[head[arc]] == NONE:
                size = push(heap, size, before[head[arc]] * num_nodes + head[arc])
            dist[head[arc]] = min(dist[head[arc]], dist[node] + weight[arc])
    return count
