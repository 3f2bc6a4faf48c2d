"""Kernels of Dijkstra's algorithm with an implicit 4-ary heap in which keys decrease in place.

An entry is a uint64 with a distance in the upper half and a node in the lower half, so that one comparison orders
entries and the four children of an entry take 32 bytes. After the last entry the heap holds `EMPTY`, which is greater
than any entry. So the least of four children is found without a check of their number.

The code that improves a node is repeated: a separate function made searches a quarter slower.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Flag, Index, Int64s, Rows, Totals, Uint8s, Uint32s, Uint64s
from vkssp.jit import jit

UNREACHABLE = np.uint64(2**32 - 1)
EMPTY = np.uint64(2**64 - 1)
ZERO, ONE, TWO, THREE, FOUR, HALF = (np.uint64(value) for value in (0, 1, 2, 3, 4, 32))
# Mask of the low bits of a node that choose its bit in the word of targets.
SIXTY_THREE = np.uint64(63)


@jit
def rise(heap: Uint64s, place: Uint32s, at: np.uint64, entry: np.uint64) -> None:
    """Put an entry into the heap, at the free place `at` or above."""
    while at > ZERO:
        parent = (at - ONE) >> TWO
        above = heap[parent]
        if above <= entry:
            break
        heap[at] = above
        place[above & UNREACHABLE] = at
        at = parent
    heap[at] = entry
    place[entry & UNREACHABLE] = at


@jit
def remove_least(heap: Uint64s, place: Uint32s, size: np.uint64) -> None:
    """Remove the root of a heap, which then has `size` entries."""
    entry = heap[size]
    heap[size] = EMPTY
    if size == ZERO:
        return
    at, child = ZERO, ONE
    while child < size:
        left = child + np.uint64(heap[child + ONE] < heap[child])
        right = child + TWO + np.uint64(heap[child + THREE] < heap[child + TWO])
        least = right if heap[right] < heap[left] else left
        below = heap[least]
        if below >= entry:
            break
        heap[at] = below
        place[below & UNREACHABLE] = at
        at = least
        child = FOUR * at + ONE
    heap[at] = entry
    place[entry & UNREACHABLE] = at


@jit
def reset(dist: Uint32s, heap: Uint64s, reached: Uint32s, num_reached: Uint32s) -> None:
    """Reset the distances of the last search, and the heap if that search was interrupted."""
    if num_reached[0] < len(dist):
        for i in range(num_reached[0]):
            dist[reached[i]] = UNREACHABLE
    else:
        dist[:] = UNREACHABLE
        heap[:] = EMPTY
    num_reached[0] = UNREACHABLE


@jit
def search(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Uint32s,
    place: Uint32s,
    heap: Uint64s,
    seeds: Uint32s,
    targets: Uint32s,
    zeros: Flag,
    limit: Index,
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
    marks, best = ZERO, UNREACHABLE
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
                if before == UNREACHABLE:
                    at = size
                    size += ONE
                    reached[count] = node
                    count += ONE
                dist[node] = distance
                rise(heap, place, at, (distance << HALF) | node)
    else:
        count, size = np.uint64(num_reached[1]), np.uint64(num_reached[2])
        for i in range(len(targets)):
            node = np.uint64(targets[i, 0])
            distance, at = np.uint64(dist[node]), np.uint64(place[node])
            if distance != UNREACHABLE and (at >= size or heap[at] & UNREACHABLE != node):
                best = min(best, distance + np.uint64(targets[i, 1]))
    beyond, within = np.uint64(zeros), np.uint64(limit)
    improved = 0
    relaxed = ZERO
    overflow = False
    while size > ZERO:
        root = heap[0]
        node, distance = root & UNREACHABLE, root >> HALF
        # Loaded before the work on the heap, which hides part of the memory latency.
        arc, end = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
        if marks >> (node & SIXTY_THREE) & ONE:
            for i in range(len(targets)):
                if np.uint64(targets[i, 0]) == node:
                    best = min(best, distance + np.uint64(targets[i, 1]))
        if distance >= best + beyond or distance > within or settled >= most:
            break
        size -= ONE
        remove_least(heap, place, size)
        if settled < len(order):
            order[settled] = node
        degree, improved_before = end - arc, improved
        while arc < end:
            head, through = np.uint64(arcs[arc, 0]), distance + np.uint64(arcs[arc, 1])
            arc += ONE
            before = np.uint64(dist[head])
            if through < before:
                dist[head] = through
                improved += 1
                at = np.uint64(place[head])
                if before == UNREACHABLE:
                    at = size
                    size += ONE
                    reached[count] = head
                    count += ONE
                rise(heap, place, at, (through << HALF) | head)
            elif through >= UNREACHABLE:
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
    dist: Uint32s,
    other: Uint32s,
    place: Uint32s,
    heap: Uint64s,
    reached: Uint32s,
    size: np.uint64,
    count: np.uint64,
    best: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Settle the nearest node of one side; return numbers of heap entries and reached nodes, and the best length."""
    root = heap[0]
    node, distance = root & UNREACHABLE, root >> HALF
    size -= ONE
    remove_least(heap, place, size)
    arc, end = np.uint64(first[node]), np.uint64(first[node + ONE])
    while arc < end:
        head, through = np.uint64(arcs[arc, 0]), distance + np.uint64(arcs[arc, 1])
        arc += ONE
        before = np.uint64(dist[head])
        if through < before:
            dist[head] = through
            at = np.uint64(place[head])
            if before == UNREACHABLE:
                at = size
                size += ONE
                reached[count] = head
                count += ONE
            rise(heap, place, at, (through << HALF) | head)
            if np.uint64(other[head]) != UNREACHABLE:
                best = min(best, through + np.uint64(other[head]))
    return size, count, best


@jit
def meet(
    first_out: Uint32s,
    arcs: Uint32s,
    first_in: Uint32s,
    arcs_in: Uint32s,
    dist: Uint32s,
    place: Uint32s,
    heap: Uint64s,
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
    best = ZERO if source == target else UNREACHABLE
    settled = 0
    while size > ZERO and other_size > ZERO:
        if (heap_out[0] >> HALF) + (heap_in[0] >> HALF) >= best:
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
    return min(best, UNREACHABLE), settled


@jit
def settle(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Uint32s,
    place: Uint32s,
    heap: Uint64s,
    reached: Uint32s,
    num_reached: Uint32s,
    begin: Index,
    end: Index,
    nodes: Uint32s,
    offsets: Uint32s,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
) -> bool:
    """Search from the seeds between two indices until all wanted nodes, or all within a limit, are settled.

    Returns whether a sum did not fit into 32 bits.
    """
    reset(dist, heap, reached, num_reached)
    size = count = ZERO
    for seed in range(begin, end):
        node, distance = np.uint64(nodes[seed]), np.uint64(offsets[seed])
        before = np.uint64(dist[node])
        if distance < before:
            at = np.uint64(place[node])
            if before == UNREACHABLE:
                at = size
                size += ONE
                reached[count] = node
                count += ONE
            dist[node] = distance
            rise(heap, place, at, (distance << HALF) | node)
    left, is_beyond = num_wanted, False
    while size > ZERO and left > 0:
        root = heap[0]
        node, distance = root & UNREACHABLE, root >> HALF
        arc, last = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
        if distance > limit:
            break
        left -= np.int64(is_wanted[node])
        size -= ONE
        remove_least(heap, place, size)
        while arc < last:
            head, through = np.uint64(arcs[arc, 0]), distance + np.uint64(arcs[arc, 1])
            arc += ONE
            before = np.uint64(dist[head])
            if through < before:
                dist[head] = through
                at = np.uint64(place[head])
                if before == UNREACHABLE:
                    at = size
                    size += ONE
                    reached[count] = head
                    count += ONE
                rise(heap, place, at, (through << HALF) | head)
            elif through >= UNREACHABLE:
                is_beyond = True
    heap[:size] = EMPTY
    num_reached[0] = count
    return is_beyond


@jit
def rows(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Uint32s,
    place: Uint32s,
    heap: Uint64s,
    reached: Uint32s,
    num_reached: Uint32s,
    first: Int64s,
    nodes: Uint32s,
    offsets: Uint32s,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
    wanted: Uint32s,
    found: Uint32s,
    overflow: Uint8s,
) -> None:
    """Write the distances of wanted nodes from each of some groups of seeds; those beyond a limit are unreachable.

    A search ends as soon as all wanted nodes are settled. `overflow` tells whether a sum did not fit into 32 bits.
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
            found[row, column] = distance if distance <= limit else UNREACHABLE


@jit
def near(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Uint32s,
    place: Uint32s,
    heap: Uint64s,
    reached: Uint32s,
    num_reached: Uint32s,
    first: Int64s,
    nodes: Uint32s,
    offsets: Uint32s,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
    column: Uint32s,
    row: Index,
    is_settled: Flag,
    first_near: Int64s,
    columns: Uint32s,
    distances: Uint32s,
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
