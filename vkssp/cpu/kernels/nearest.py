"""Kernels that find several nearest sources of every node.

Each node has a list of labels, a distance and a source each, sorted by distance and then by source, with each source
once. The heap has each node once, by the least distance of a label that has not been passed on. So nodes are settled as
in Dijkstra's algorithm, up to `k` times each. Of equal distances the lesser source counts. An arc of weight zero may
bring such a label late; it displaces others then, and what these have passed on is displaced in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.cpu.kernels.dijkstra import ONE, ZERO, remove_least, rise
from vkssp.cpu.kernels.entries import distance_of, entry_of, load, node_of, precedes
from vkssp.cpu.kernels.types import Flag, Index, Uint8s, Uint32s, Uint64s
from vkssp.jit import inlined, jit

UNREACHABLE = np.uint64(2**32 - 1)


class Lists(NamedTuple):
    """Labels of nodes: distances and sources, shape (num_nodes, k), 2**32 - 1 without a label; whether passed on."""

    distance: Uint32s
    source: Uint32s
    is_passed: Uint8s


@inlined
def enter(lists: Lists, node: np.uint64, distance: np.uint64, source: np.uint32) -> bool:
    """Put a label into a node's list, unless the list has as good ones; return whether it did."""
    k = lists.distance.shape[1]
    last = k - 1
    if np.uint64(lists.distance[node, last]) < distance or (
        np.uint64(lists.distance[node, last]) == distance and lists.source[node, last] <= source
    ):
        return False
    for at in range(k):
        if lists.source[node, at] == source:
            if np.uint64(lists.distance[node, at]) <= distance:
                return False
            last = at
            break
    # The last label, or the source's farther one, gives way.
    while last > 0 and (
        np.uint64(lists.distance[node, last - 1]) > distance
        or (np.uint64(lists.distance[node, last - 1]) == distance and lists.source[node, last - 1] > source)
    ):
        lists.distance[node, last] = lists.distance[node, last - 1]
        lists.source[node, last] = lists.source[node, last - 1]
        lists.is_passed[node, last] = lists.is_passed[node, last - 1]
        last -= 1
    lists.distance[node, last], lists.source[node, last], lists.is_passed[node, last] = distance, source, 0
    return True


@inlined
def place_node(heap: Uint64s, place: Uint32s, size: np.uint64, node: np.uint64, distance: np.uint64) -> np.uint64:
    """Put a node into the heap, or raise it if its distance there is greater; return the new size."""
    at = np.uint64(place[node])
    entry = entry_of(heap, distance, node)
    if at == UNREACHABLE:
        rise(heap, place, size, entry)
        return size + ONE
    if precedes(entry, load(heap, at)):
        rise(heap, place, at, entry)
    return size


@jit
def find(
    first_out: Uint32s,
    head: Uint32s,
    weight: Uint32s,
    seeds: Uint32s,
    limit: np.uint64,
    lists: Lists,
    place: Uint32s,
    heap: Uint64s,
) -> bool:
    """Fill the lists of all nodes with their nearest sources within a limit.

    Seeds are (node, offset, source). `place` and `heap` have no entries at the beginning. Return whether a sum did not
    fit into 32 bits.
    """
    size, is_beyond = ZERO, False
    for i in range(len(seeds)):
        node, distance = np.uint64(seeds[i, 0]), np.uint64(seeds[i, 1])
        if distance <= limit and enter(lists, node, distance, seeds[i, 2]):
            size = place_node(heap, place, size, node, distance)
    k = lists.distance.shape[1]
    while size > ZERO:
        node, distance = node_of(load(heap, ZERO)), distance_of(load(heap, ZERO))
        size -= ONE
        remove_least(heap, place, size)
        place[node] = UNREACHABLE
        for at in range(k):
            own = np.uint64(lists.distance[node, at])
            if own > distance:
                break
            if lists.is_passed[node, at]:
                continue
            lists.is_passed[node, at] = 1
            source = lists.source[node, at]
            for arc in range(first_out[node], first_out[node + ONE]):
                to, through = np.uint64(head[arc]), own + np.uint64(weight[arc])
                if through >= UNREACHABLE:
                    is_beyond = True
                elif through <= limit and to != node and enter(lists, to, through, source):
                    size = place_node(heap, place, size, to, through)
        for at in range(k):
            if not lists.is_passed[node, at]:
                if lists.source[node, at] != UNREACHABLE:
                    size = place_node(heap, place, size, node, np.uint64(lists.distance[node, at]))
                break
    return is_beyond


@jit
def lacks(first_out: Uint32s, head: Uint32s, lists: Lists) -> Flag:
    """Return whether a list has room for a source of a node from which an arc leads there."""
    k = lists.distance.shape[1]
    for node in range(len(first_out) - 1):
        for arc in range(first_out[node], first_out[node + 1]):
            to: Index = head[arc]
            if lists.source[to, k - 1] != UNREACHABLE:
                continue
            for at in range(k):
                source, is_there = lists.source[node, at], False
                if source == UNREACHABLE:
                    break
                for other in range(k):
                    if lists.source[to, other] == source:
                        is_there = True
                if not is_there:
                    return True
    return False
