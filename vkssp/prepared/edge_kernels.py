"""Compiled kernels that make the list of edges of a large undirected graph.

An item is a node, in the upper half of 64 bits, and a weight. Items of a node are sorted as numbers then.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

_Uint32s = npt.NDArray[np.uint32]
_Uint64s = npt.NDArray[np.uint64]
_Int64s = npt.NDArray[np.int64]


@jit
def count_to_higher(first_out: _Uint32s, arcs: _Uint32s, low: int, high: int, count: _Int64s) -> None:
    """Write the number of arcs to nodes with higher ids for each node of a range."""
    for tail in range(low, high):
        found = 0
        for arc in range(first_out[tail], first_out[tail + 1]):
            if arcs[arc, 0] > tail:
                found += 1
        count[tail] = found


@jit
def count_from_higher(first_out: _Uint32s, arcs: _Uint32s, low: int, high: int, count: _Int64s) -> None:
    """Add to the count of each node of a range the arcs from nodes with higher ids."""
    for tail in range(low + 1, len(first_out) - 1):
        for arc in range(first_out[tail], first_out[tail + 1]):
            head = arcs[arc, 0]
            if low <= head < high and head < tail:
                count[head] += 1


@jit
def place_to_higher(first_out: _Uint32s, arcs: _Uint32s, low: int, high: int, free: _Int64s, items: _Uint64s) -> None:
    """Write head and weight of each arc to a node with a higher id, for the nodes of a range."""
    for tail in range(low, high):
        place = free[tail]
        for arc in range(first_out[tail], first_out[tail + 1]):
            if arcs[arc, 0] > tail:
                items[place] = np.uint64(arcs[arc, 0]) << np.uint64(32) | np.uint64(arcs[arc, 1])
                place += 1


@jit
def place_from_higher(first_out: _Uint32s, arcs: _Uint32s, low: int, high: int, free: _Int64s, items: _Uint64s) -> None:
    """Write tail and weight of each arc from a node with a higher id to the next free place of its head."""
    for tail in range(low + 1, len(first_out) - 1):
        for arc in range(first_out[tail], first_out[tail + 1]):
            head = arcs[arc, 0]
            if low <= head < high and head < tail:
                items[free[head]] = np.uint64(tail) << np.uint64(32) | np.uint64(arcs[arc, 1])
                free[head] += 1


@jit
def count_segments(items: _Uint64s, begin: int, end: int, segment: int, count: _Int64s) -> None:
    """Add to the count of each segment of nodes the items whose nodes are in it."""
    for i in range(begin, end):
        count[np.int64(items[i] >> np.uint64(32)) // segment] += 1


@jit
def place_edges(
    first: _Int64s,
    items: _Uint64s,
    low: int,
    high: int,
    segment: int,
    free: _Int64s,
    start: _Uint32s,
    end: _Uint32s,
    weight: _Uint32s,
) -> None:
    """Write the edges of the nodes of a range to the next free places of the segments of their ends."""
    for node in range(low, high):
        for i in range(first[node], first[node + 1]):
            other = np.int64(items[i] >> np.uint64(32))
            place = free[other // segment]
            free[other // segment] = place + 1
            start[place], end[place] = node, other
            weight[place] = items[i] & np.uint64(0xFFFFFFFF)
