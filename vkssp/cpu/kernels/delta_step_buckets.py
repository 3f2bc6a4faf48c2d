"""Kernels of delta-stepping; buckets are doubly linked lists, so that a node is in at most one.

There are lists for a window of consecutive buckets, and one more list for all nodes beyond the window. When the window
is empty, it moves to the nearest of these nodes, so few lists suffice for any delta.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Flag, Rows, Uint32s
from vkssp.jit import jit

UNREACHABLE = np.uint64(2**32 - 1)
NONE = np.uint64(2**32 - 1)  # no node; before a node: it is in no list
FIRST = np.uint64(2**32 - 2)  # before a node: it is the first of its list
ZERO, ONE = np.uint64(0), np.uint64(1)
LIGHT, HEAVY = 0, 1


@jit
def split(first_out: Uint32s, arcs: Uint32s, delta: np.uint64, parted: Uint32s, first_heavy: Uint32s) -> None:
    """Write to `parted` each node's light arcs (at most delta), then its heavy arcs; write the first heavy arc, too."""
    for node in range(np.uint64(len(first_heavy))):
        begin, end = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
        at = begin
        for heavy in range(2):
            for arc in range(begin, end):
                if (np.uint64(arcs[arc, 1]) > delta) == (heavy == HEAVY):
                    parted[at, 0], parted[at, 1] = arcs[arc, 0], arcs[arc, 1]
                    at += ONE
            if heavy == LIGHT:
                first_heavy[node] = at


@jit
def slot_of(distance: np.uint64, delta: np.uint64, base: np.uint64, beyond: np.uint64) -> np.uint64:
    """Return the list for a distance: the place of its bucket in the window, or `beyond`, the list after the window."""
    return min(distance // delta - base, beyond)


@jit
def link(node: np.uint64, slot: np.uint64, lists: Uint32s, after: Uint32s, before: Uint32s) -> None:
    """Put a node that is in no list into a list."""
    second = np.uint64(lists[slot])
    after[node], before[node] = second, FIRST
    if second != NONE:
        before[second] = node
    lists[slot] = node


@jit
def improve(
    node: np.uint64,
    distance: np.uint64,
    delta: np.uint64,
    base: np.uint64,
    dist: Uint32s,
    lists: Uint32s,
    after: Uint32s,
    before: Uint32s,
) -> None:
    """Lower the distance of a node, and move the node to the list for the new distance."""
    beyond = np.uint64(len(lists) - 1)
    slot = slot_of(distance, delta, base, beyond)
    previous = np.uint64(before[node])
    if previous != NONE:
        old = slot_of(np.uint64(dist[node]), delta, base, beyond)
        if old == slot:
            dist[node] = distance
            return
        following = np.uint64(after[node])
        if previous == FIRST:
            lists[old] = following
        else:
            after[previous] = following
        if following != NONE:
            before[following] = previous
    dist[node] = distance
    link(node, slot, lists, after, before)


@jit
def move_window(delta: np.uint64, dist: Uint32s, lists: Uint32s, after: Uint32s, before: Uint32s) -> np.uint64:
    """Move the window to the nearest node beyond it; return the first bucket of the window."""
    beyond = np.uint64(len(lists) - 1)
    start = np.uint64(lists[beyond])
    node, nearest = start, UNREACHABLE
    while node != NONE:
        nearest = min(nearest, np.uint64(dist[node]))
        node = np.uint64(after[node])
    base = nearest // delta
    lists[beyond] = NONE
    node = start
    while node != NONE:
        following = np.uint64(after[node])
        link(node, slot_of(np.uint64(dist[node]), delta, base, beyond), lists, after, before)
        node = following
    return base


@jit
def search(
    first_out: Uint32s,
    first_heavy: Uint32s,
    arcs: Uint32s,
    delta: np.uint64,
    any_heavy: Flag,
    dist: Uint32s,
    lists: Uint32s,
    after: Uint32s,
    before: Uint32s,
    nodes: Uint32s,
    removed: Uint32s,
    removed_in: Uint32s,
    seeds: Uint32s,
    targets: Uint32s,
    rows: Rows,
) -> tuple[int, int, int, np.uint64, int, bool, int]:
    """Empty bucket after bucket until all are empty or the best target is known.

    The kernel writes to `nodes` the nodes of the bucket that a phase relaxes, to `removed` all nodes that were removed
    from the bucket, and to `removed_in` the number of the bucket that each node was last removed from.
    """
    dist[:] = UNREACHABLE
    before[:] = NONE
    lists[:] = NONE
    removed_in[:] = 0
    base = slot = ZERO
    beyond = np.uint64(len(lists) - 1)
    for i in range(len(seeds)):
        node, distance = np.uint64(seeds[i, 0]), np.uint64(seeds[i, 1])
        if distance < np.uint64(dist[node]):
            improve(node, distance, delta, base, dist, lists, after, before)
    phases = buckets = visited = improved = 0
    relaxed = ZERO
    overflow = False
    while True:
        while slot < beyond and np.uint64(lists[slot]) == NONE:
            slot += ONE
        if slot == beyond:
            if np.uint64(lists[beyond]) == NONE:
                break
            base, slot = move_window(delta, dist, lists, after, before), ZERO
        low = (base + slot) * delta
        high = min(low + delta, UNREACHABLE)
        buckets += 1
        num_removed = 0
        kind = LIGHT
        while True:
            count = 0
            if np.uint64(lists[slot]) != NONE:
                node = np.uint64(lists[slot])
                lists[slot] = NONE
                while node != NONE:
                    nodes[count] = node
                    count += 1
                    before[node] = NONE
                    if any_heavy and removed_in[node] != buckets:
                        removed_in[node] = buckets
                        removed[num_removed] = node
                        num_removed += 1
                    node = np.uint64(after[node])
                working = nodes
            else:  # all distances below the end of the bucket are final
                best = UNREACHABLE
                for i in range(len(targets)):
                    best = min(best, np.uint64(dist[targets[i, 0]]) + np.uint64(targets[i, 1]))
                if best < high:
                    return phases, visited, visited, relaxed, improved, overflow, buckets
                if not any_heavy:
                    break
                kind = HEAVY
                count = num_removed
                working = removed
            relaxed_before, improved_before = relaxed, improved
            least, largest = NONE, ZERO
            for i in range(count):
                node = np.uint64(working[i])
                least, largest = min(least, node), max(largest, node)
                distance = np.uint64(dist[node])
                if kind == LIGHT:
                    arc, end = np.uint64(first_out[node]), np.uint64(first_heavy[node])
                else:
                    arc, end = np.uint64(first_heavy[node]), np.uint64(first_out[node + ONE])
                relaxed += end - arc
                while arc < end:
                    head, through = np.uint64(arcs[arc, 0]), distance + np.uint64(arcs[arc, 1])
                    arc += ONE
                    if through < np.uint64(dist[head]):
                        improve(head, through, delta, base, dist, lists, after, before)
                        improved += 1
                    elif through >= UNREACHABLE:
                        overflow = True
            if phases < len(rows):
                row = rows[phases]
                row.iteration, row.phase = phases, kind
                row.low, row.high = low, high
                row.first_node, row.last_node = least, largest
                row.visited = row.worked = count
                row.relaxed, row.improved = relaxed - relaxed_before, improved - improved_before
            phases += 1
            visited += count
            if kind == HEAVY:
                break
    return phases, visited, visited, relaxed, improved, overflow, buckets
