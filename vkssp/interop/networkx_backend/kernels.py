"""Kernels that turn distances into what NetworkX returns: its order of nodes, its predecessors, its sums of floats.

Distances and weights are both int64, or both float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Ids = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

#: States of a node: not relaxed yet, relaxed, and waiting to be relaxed again.
RELAXED, WAITING = 1, 2


@jit
def settle(first_out: Any, head: Any, weight: Any, order: Ids, none: Any, dist: Any, state: Marks, queue: Ids) -> None:
    """Correct distances until no arc improves one: the least sums of weights, added from the source on.

    Nodes are relaxed in an order near to that of their distances, so that few have to be relaxed again. Sums of floats
    that are rounded in the order of the path are still monotone, so that the least ones do not depend on the order of
    the search.

    Parameters
    ----------
    first_out, head, weight : numpy.ndarray
        Rows of arcs.
    order : numpy.ndarray
        Nodes that are reached, in ascending order of near distances.
    none : int or float
        The largest number of the type, which stands for no distance.
    dist : numpy.ndarray
        0 at the sources, and otherwise `none`, shape (num_nodes,).
    state : numpy.ndarray
        Zeros, shape (num_nodes,).
    queue : numpy.ndarray
        Room for the nodes that wait, shape (num_nodes,).
    """
    first, waiting, size = 0, 0, len(queue)
    turn = 0
    while turn < len(order) or waiting:
        if turn < len(order):
            tail = order[turn]
            turn += 1
        else:
            tail = queue[first]
            first = first + 1 if first + 1 < size else 0
            waiting -= 1
        state[tail] = RELAXED
        if dist[tail] == none:
            continue
        for arc in range(first_out[tail], first_out[tail + 1]):
            to = head[arc]
            there = dist[tail] + weight[arc]
            if there < dist[to]:
                dist[to] = there
                if state[to] == RELAXED:
                    state[to] = WAITING
                    at = first + waiting
                    queue[at if at < size else at - size] = to
                    waiting += 1


@jit
def replay(
    first_out: Any,
    head: Any,
    weight: Any,
    dist: Any,
    group: Ids,
    first: Ids,
    last: Ids,
    after: Ids,
    pred: Ids,
    out: Ids,
) -> int:
    """Find the order in which NetworkX's search settles nodes, and the predecessor that it keeps of each.

    Its heap orders nodes by distance and then by the time of their last improvement, which the first settled
    predecessor on a shortest path makes. So each distance has a list, to which nodes are appended at that time.

    Parameters
    ----------
    first_out, head, weight : numpy.ndarray
        Rows of arcs.
    dist : numpy.ndarray
        Distances, shape (num_nodes,).
    group : numpy.ndarray
        Rank of each node's distance among the different ones, or -1 for nodes that do not count, shape (num_nodes,).
    first, last : numpy.ndarray
        First and last node of the list of each distance, -1 for none, shape (number of distances,); the first list
        holds the sources.
    after : numpy.ndarray
        Node after each one in its list, -1 for none, shape (num_nodes,).
    pred : numpy.ndarray
        Predecessor of each node; before, -1 for nodes that are in no list, and -2 for the sources.
    out : numpy.ndarray
        Nodes in the order in which they are settled.

    Returns
    -------
    int
        Number of nodes that were settled.
    """
    count = 0
    for place in range(len(first)):
        tail = first[place]
        while tail >= 0:
            out[count] = tail
            count += 1
            for arc in range(first_out[tail], first_out[tail + 1]):
                to = head[arc]
                if pred[to] == -1 and group[to] >= 0 and dist[tail] + weight[arc] == dist[to]:
                    pred[to] = tail
                    there = group[to]
                    if first[there] < 0:
                        first[there] = to
                    else:
                        after[last[there]] = to
                    last[there] = to
            tail = after[tail]
    return count


@jit
def add_betweenness(
    first_out: Any,
    head: Any,
    weight: Any,
    in_first: Any,
    tail: Any,
    in_weight: Any,
    edge: Ids,
    dist: Any,
    reached: Any,
    settled: Ids,
    has_ends: bool,
    paths: Floats,
    share: Floats,
    by_node: Floats,
    by_edge: Floats,
) -> None:
    """Add the shares of all shortest paths from one source on nodes and edges (U. Brandes, 2001).

    Additions are in the order of NetworkX's, so that sums are rounded as there.

    Parameters
    ----------
    first_out, head, weight : numpy.ndarray
        Rows of arcs by tail.
    in_first, tail, in_weight : numpy.ndarray
        The same by head.
    edge : numpy.ndarray
        Edge of each arc by head; empty if edges do not count.
    dist : numpy.ndarray
        Distances from the source, shape (num_nodes,).
    reached : numpy.ndarray
        Whether nodes are reached, shape (num_nodes,).
    settled : numpy.ndarray
        Nodes in the order of their distances, the source first.
    has_ends : bool
        Whether paths count at their ends, too.
    paths, share : numpy.ndarray
        Room for numbers by node, shape (num_nodes,).
    by_node, by_edge : numpy.ndarray
        The sums.
    """
    source = settled[0]
    for node in settled:
        paths[node] = 0.0
        share[node] = 0.0
    paths[source] = 1.0
    for node in settled:
        for arc in range(first_out[node], first_out[node + 1]):
            to = head[arc]
            if reached[to] and dist[node] + weight[arc] == dist[to]:
                paths[to] += paths[node]
    if has_ends:
        by_node[source] += len(settled) - 1
    for place in range(len(settled) - 1, -1, -1):
        node = settled[place]
        each = (1.0 + share[node]) / paths[node]
        for arc in range(in_first[node], in_first[node + 1]):
            before = tail[arc]
            if reached[before] and dist[before] + in_weight[arc] == dist[node]:
                part = paths[before] * each
                share[before] += part
                if len(edge):
                    by_edge[edge[arc]] += part
        if node != source:
            by_node[node] += share[node] + (1.0 if has_ends else 0.0)
