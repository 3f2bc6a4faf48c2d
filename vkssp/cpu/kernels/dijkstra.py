"""Kernels of Dijkstra's algorithm with an implicit 4-ary heap in which keys decrease in place.

Distances have 32 or 64 bits; a kernel is compiled for each, and `vkssp.cpu.kernels.entries` tells what differs. After
the last entry the heap holds `EMPTY`, which is greater than any entry. So the least of four children is found without a
check of their number.

The code that improves a node is repeated: a separate function made searches a quarter slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.cpu.kernels.entries import (
    clear,
    distance_of,
    entry_of,
    extended,
    load,
    node_of,
    precedes,
    store,
    unreachable,
)
from vkssp.cpu.kernels.types import Distances, Flag, Heap, Index, Int64s, Rows, Totals, Uint8s, Uint32s
from vkssp.jit import jit

#: Number of reached nodes if they are not known.
UNKNOWN = np.uint64(2**32 - 1)
EMPTY = np.uint64(2**64 - 1)
ZERO, ONE, TWO, THREE, FOUR = (np.uint64(value) for value in (0, 1, 2, 3, 4))
# Mask of the low bits of a node that choose its bit in the word of targets.
SIXTY_THREE = np.uint64(63)


@jit
def rise(heap: Heap, place: Uint32s, at: np.uint64, entry: Any) -> None:
    """Put an entry into the heap, at the free place `at` or above."""
    while at > ZERO:
        parent = (at - ONE) >> TWO
        above = load(heap, parent)
        if not precedes(entry, above):
            break
        store(heap, at, above)
        place[node_of(above)] = at
        at = parent
    store(heap, at, entry)
    place[node_of(entry)] = at


@jit
def remove_least(heap: Heap, place: Uint32s, size: np.uint64) -> None:
    """Remove the root of a heap, which then has `size` entries."""
    entry = load(heap, size)
    clear(heap, size)
    if size == ZERO:
        return
    at, child = ZERO, ONE
    while child < size:
        left = child + np.uint64(precedes(load(heap, child + ONE), load(heap, child)))
        right = child + TWO + np.uint64(precedes(load(heap, child + THREE), load(heap, child + TWO)))
        least = right if precedes(load(heap, right), load(heap, left)) else left
        below = load(heap, least)
        if not precedes(below, entry):
            break
        store(heap, at, below)
        place[node_of(below)] = at
        at = least
        child = FOUR * at + ONE
    store(heap, at, entry)
    place[node_of(entry)] = at


@jit
def reset(dist: Distances, heap: Heap, reached: Uint32s, num_reached: Uint32s) -> None:
    """Reset the distances of the last search, and the heap if that search was interrupted."""
    if num_reached[0] < len(dist):
        for i in range(num_reached[0]):
            dist[reached[i]] = unreachable(dist)
    else:
        dist[:] = unreachable(dist)
        heap[:] = EMPTY
    num_reached[0] = UNKNOWN


@jit
def search(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Distances,
    place: Uint32s,
    heap: Heap,
    seeds: Distances,
    targets: Distances,
    zeros: Flag,
    limit: np.uint64,
    settled: Index,
    most: Index,
    pauses: Flag,
    order: Uint32s,
    rows: Rows,
    reached: Uint32s,
    num_reached: Uint32s,
) -> Totals:
    """Settle nodes until the heap is empty, the best target is known, or all nodes within a limit are settled.

    The search gives up when it has settled `most` nodes. If it `pauses` there, the next call may go on with it, given
    the number of nodes that it has `settled`; 0 begins a search. `place` has the place of each node in the heap.
    `zeros` says whether there are arcs of weight zero; without such arcs, all nodes at the least distance in the heap
    have their final distance already. The kernel writes the settled nodes to `order`, unless it is empty. `reached`
    and the first number of `num_reached` are the nodes with a distance after the last search, so that a short search
    does not reset all nodes; if the number is at least that of all nodes, these are unknown. The other two are this
    number and the size of the heap in a pause.
    """
    far = unreachable(dist)
    marks, best = ZERO, far
    for i in range(len(targets)):
        marks |= ONE << (np.uint64(targets[i, 0]) & SIXTY_THREE)
    if settled == 0:
        reset(dist, heap, reached, num_reached)
        size = count = ZERO
        for i in range(len(seeds)):
            node, distance = np.uint64(seeds[i, 0]), np.uint64(seeds[i, 1])
            before = np.uint64(dist[node])
            if distance < before:
                at = np.uint64(place[node])
                if before == far:
                    at = size
                    size += ONE
                    reached[count] = node
                    count += ONE
                dist[node] = distance
                rise(heap, place, at, entry_of(heap, distance, node))
    else:
        count, size = np.uint64(num_reached[1]), np.uint64(num_reached[2])
        for i in range(len(targets)):
            node = np.uint64(targets[i, 0])
            distance, at = np.uint64(dist[node]), np.uint64(place[node])
            if distance != far and (at >= size or node_of(load(heap, at)) != node):
                best = min(best, extended(dist, distance, np.uint64(targets[i, 1])))
    beyond = np.uint64(zeros)
    improved = 0
    relaxed = ZERO
    overflow = False
    while size > ZERO:
        root = load(heap, ZERO)
        node, distance = node_of(root), distance_of(root)
        # Loaded before the work on the heap, which hides part of the memory latency.
        arc, end = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
        if marks >> (node & SIXTY_THREE) & ONE:
            for i in range(len(targets)):
                if np.uint64(targets[i, 0]) == node:
                    best = min(best, extended(dist, distance, np.uint64(targets[i, 1])))
        if distance >= extended(dist, best, beyond) or distance > limit or settled >= most:
            break
        size -= ONE
        remove_least(heap, place, size)
        if settled < len(order):
            order[settled] = node
        degree, improved_before = end - arc, improved
        while arc < end:
            head, through = np.uint64(arcs[arc, 0]), extended(dist, distance, np.uint64(arcs[arc, 1]))
            arc += ONE
            before = np.uint64(dist[head])
            if through < before:
                dist[head] = through
                improved += 1
                at = np.uint64(place[head])
                if before == far:
                    at = size
                    size += ONE
                    reached[count] = head
                    count += ONE
                rise(heap, place, at, entry_of(heap, through, head))
            elif through >= far:
                overflow = True
        if settled < len(rows):
            row = rows[settled]
            row.iteration, row.phase = settled, 0
            row.low, row.high = distance, distance + ONE
            row.first_node = row.last_node = node
            row.visited = row.worked = 1
            row.relaxed, row.improved = degree, improved - improved_before
        settled += 1
        relaxed += degree
    if pauses and settled >= most:
        num_reached[1], num_reached[2] = count, size
    else:
        heap[:size] = EMPTY
        num_reached[0] = count
    return settled, settled, settled, relaxed, improved, overflow


@jit
def advance_side(
    first: Uint32s,
    arcs: Uint32s,
    dist: Distances,
    other: Distances,
    place: Uint32s,
    heap: Heap,
    reached: Uint32s,
    size: np.uint64,
    count: np.uint64,
    best: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Settle the nearest node of one side; return numbers of heap entries and reached nodes, and the best length."""
    far = unreachable(dist)
    root = load(heap, ZERO)
    node, distance = node_of(root), distance_of(root)
    size -= ONE
    remove_least(heap, place, size)
    arc, end = np.uint64(first[node]), np.uint64(first[node + ONE])
    while arc < end:
        head, through = np.uint64(arcs[arc, 0]), extended(dist, distance, np.uint64(arcs[arc, 1]))
        arc += ONE
        before = np.uint64(dist[head])
        if through < before:
            dist[head] = through
            at = np.uint64(place[head])
            if before == far:
                at = size
                size += ONE
                reached[count] = head
                count += ONE
            rise(heap, place, at, entry_of(heap, through, head))
            if np.uint64(other[head]) != far:
                best = min(best, extended(dist, through, np.uint64(other[head])))
    return size, count, best


@jit
def meet(
    first_out: Uint32s,
    arcs: Uint32s,
    first_in: Uint32s,
    arcs_in: Uint32s,
    dist: Distances,
    place: Uint32s,
    heap: Heap,
    reached: Uint32s,
    num_reached: Uint32s,
    source: int,
    target: int,
) -> tuple[np.uint64, int]:
    """Search from both ends until no shorter path can exist; return the distance and the number of settled nodes.

    All buffers are pairs, for the search from the source and the search from the target. The search with fewer nodes in
    its heap continues: if one end is in a town, the search from the other end covers the country first.
    """
    for side in range(2):
        reset(dist[side], heap[side], reached[side], num_reached[side])
        end = np.uint64(source) if side == 0 else np.uint64(target)
        dist[side][end] = 0
        reached[side][0] = end
        rise(heap[side], place[side], ZERO, end)
    # Views of the two halves are made here, since in the loop they would cost more than a node.
    dist_out, place_out, heap_out, reached_out = dist[0], place[0], heap[0], reached[0]
    dist_in, place_in, heap_in, reached_in = dist[1], place[1], heap[1], reached[1]
    size, other_size = ONE, ONE
    count, other_count = ONE, ONE
    far = unreachable(dist_out)
    best = ZERO if source == target else far
    settled = 0
    while size > ZERO and other_size > ZERO:
        if extended(dist_out, distance_of(load(heap_out, ZERO)), distance_of(load(heap_in, ZERO))) >= best:
            break
        settled += 1
        if size <= other_size:
            size, count, best = advance_side(
                first_out, arcs, dist_out, dist_in, place_out, heap_out, reached_out, size, count, best
            )
        else:
            other_size, other_count, best = advance_side(
                first_in, arcs_in, dist_in, dist_out, place_in, heap_in, reached_in, other_size, other_count, best
            )
    heap_out[:size] = EMPTY
    heap_in[:other_size] = EMPTY
    num_reached[0][0] = count
    num_reached[1][0] = other_count
    return min(best, far), settled


@jit
def settle(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Distances,
    place: Uint32s,
    heap: Heap,
    reached: Uint32s,
    num_reached: Uint32s,
    begin: Index,
    end: Index,
    nodes: Uint32s,
    offsets: Distances,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
) -> bool:
    """Search from the seeds between two indices until all wanted nodes, or all within a limit, are settled.

    Returns whether a sum did not fit.
    """
    far = unreachable(dist)
    reset(dist, heap, reached, num_reached)
    size = count = ZERO
    for seed in range(begin, end):
        node, distance = np.uint64(nodes[seed]), np.uint64(offsets[seed])
        before = np.uint64(dist[node])
        if distance < before:
            at = np.uint64(place[node])
            if before == far:
                at = size
                size += ONE
                reached[count] = node
                count += ONE
            dist[node] = distance
            rise(heap, place, at, entry_of(heap, distance, node))
    left, is_beyond = num_wanted, False
    while size > ZERO and left > 0:
        root = load(heap, ZERO)
        node, distance = node_of(root), distance_of(root)
        arc, last = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
        if distance > limit:
            break
        left -= np.int64(is_wanted[node])
        size -= ONE
        remove_least(heap, place, size)
        while arc < last:
            head, through = np.uint64(arcs[arc, 0]), extended(dist, distance, np.uint64(arcs[arc, 1]))
            arc += ONE
            before = np.uint64(dist[head])
            if through < before:
                dist[head] = through
                at = np.uint64(place[head])
                if before == far:
                    at = size
                    size += ONE
                    reached[count] = head
                    count += ONE
                rise(heap, place, at, entry_of(heap, through, head))
            elif through >= far:
                is_beyond = True
    heap[:size] = EMPTY
    num_reached[0] = count
    return is_beyond


@jit
def rows(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Distances,
    place: Uint32s,
    heap: Heap,
    reached: Uint32s,
    num_reached: Uint32s,
    first: Int64s,
    nodes: Uint32s,
    offsets: Distances,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
    wanted: Uint32s,
    found: Distances,
    overflow: Uint8s,
) -> None:
    """Write the distances of wanted nodes from each of some groups of seeds; those beyond a limit are unreachable.

    A search ends as soon as all wanted nodes are settled. `overflow` tells whether a sum did not fit.
    """
    for row in range(len(found)):
        begin, end = first[row], first[row + 1]
        # fmt: off
        overflow[row] = settle(
            first_out, arcs, dist, place, heap, reached, num_reached,
            begin, end, nodes, offsets, is_wanted, num_wanted, limit,
        )
        # fmt: on
        for column in range(len(wanted)):
            distance = np.uint64(dist[wanted[column]])
            found[row, column] = distance if distance <= limit else unreachable(dist)


@jit
def near(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Distances,
    place: Uint32s,
    heap: Heap,
    reached: Uint32s,
    num_reached: Uint32s,
    first: Int64s,
    nodes: Uint32s,
    offsets: Distances,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
    column: Uint32s,
    row: Index,
    is_settled: Flag,
    first_near: Int64s,
    columns: Uint32s,
    distances: Distances,
    overflow: Uint8s,
) -> int:
    """Write the wanted nodes within a limit of groups of seeds, and their distances, and return the next group.

    The groups begin with `row`, whose search has been made before if `is_settled`, and end with the first one that
    finds no room in `columns` and `distances`, which have room for those of one group at least. Its search is made.
    `column` has the column of each wanted node, and `first_near` gets the place of each group's first node.
    """
    at, began = 0, row
    while row < len(overflow):
        if not is_settled:
            begin, end = first[row], first[row + 1]
            # fmt: off
            overflow[row] = settle(
                first_out, arcs, dist, place, heap, reached, num_reached,
                begin, end, nodes, offsets, is_wanted, num_wanted, limit,
            )
            # fmt: on
        is_settled = False
        if row > began and at + np.int64(num_reached[0]) > len(columns):
            break
        for i in range(num_reached[0]):
            node = reached[i]
            if is_wanted[node] and np.uint64(dist[node]) <= limit:
                columns[at], distances[at] = column[node], dist[node]
                at += 1
        row += 1
        first_near[row - began] = at
    return int(row)
