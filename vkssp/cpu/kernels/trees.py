"""Kernels of shortest-path trees: the arc into each node, and the loads of demand on its way from the source.

The arc into a node is the first tight one among its arcs by head, as on the paths of all walkers. A tree needs no
order of its nodes: a node hands what goes through it over to the node before it once all nodes after it have done so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.cpu.kernels.dijkstra import settle
from vkssp.cpu.kernels.types import Flag, Float64s, Index, Int64s, Uint8s, Uint32s, Uint64s
from vkssp.jit import jit

UNREACHABLE = np.uint64(2**32 - 1)
# The second word of a node's state: above `SHIFT` bits the place of the arc into it, plus one, or 0, and below them the
# number of nodes after it that have not handed over, plus one if it is done itself.
SHIFT = 31
WAITING = (1 << SHIFT) - 1
#: Columns of the results of a tree: what goes out from the source, and the demand of nodes that are not reached.
SENT, MISSED = range(2)


class Incoming(NamedTuple):
    """Arcs by head; see `vkssp.prepared.renumbered.RenumberedGraph.reverse`."""

    first: Uint32s
    arcs: Uint32s


class Wanted(NamedTuple):
    """Demand at nodes, row by row: those of a row are between two entries of `first`.

    If `first` is empty, the demand is one unit at each node that is reached, except the source.
    """

    first: Int64s
    node: Uint32s
    amount: Int64s


class Cycles(NamedTuple):
    """Groups of nodes on cycles of weight zero, and two trees inside of each; see `vkssp.prepared.zero_cycles`.

    `group` has the group of each node, `into` and `out` the places of the arcs into it and out of it, or -1, and
    `after` the node to which the latter leads. All are empty if there are no such cycles.
    """

    group: Uint32s
    into: Int64s
    out: Int64s
    after: Int64s


class Watched(NamedTuple):
    """What is looked at along paths.

    `values` has values for each arc by head, `marks` for each of them the sets it belongs to, as bits, and `turns` the
    number of the first turn into it, which is one from the first arc into its tail; `turns` is empty if turns are not
    wanted. `sums` and `met` have an entry for each entry of the demand, from `first` on: the sum of each value along
    its path, and the sets of which the path has an arc.
    """

    values: Float64s
    marks: Uint64s
    turns: Int64s
    first: Index
    sums: Float64s
    met: Uint64s


class Walked(NamedTuple):
    """Room for walks over a tree.

    `entered` has the place of the arc into each group of nodes, `order` the nodes, leaves first, and the others have of
    each node the sums, the sets, and a part of the demand.
    """

    entered: Int64s
    order: Uint32s
    sums: Float64s
    met: Uint64s
    part: Int64s


@jit
def grow(
    incoming: Incoming,
    dist: Uint32s,
    reached: Uint32s,
    count: Index,
    limit: np.uint64,
    seeds: Uint32s,
    offsets: Uint32s,
    begin: Index,
    end: Index,
    state: Int64s,
) -> None:
    """Put the arc into each node, and the number of nodes after it, into its state."""
    for i in range(count):
        state[reached[i], 0] = state[reached[i], 1] = 0
    for i in range(count):
        node = reached[i]
        distance = np.uint64(dist[node])
        if distance > limit or distance == UNREACHABLE:
            continue
        is_root = False
        for seed in range(begin, end):
            is_root |= seeds[seed] == node and np.uint64(offsets[seed]) == distance
        if is_root:
            continue
        for place in range(incoming.first[node], incoming.first[node + 1]):
            tail = incoming.arcs[place, 0]
            if tail != node and np.uint64(dist[tail]) + np.uint64(incoming.arcs[place, 1]) == distance:
                state[node, 1] += np.int64(place + 1) << SHIFT
                state[tail, 1] += 1
                break


@jit
def grow_over_cycles(
    incoming: Incoming,
    arc: Int64s,
    cycles: Cycles,
    dist: Uint32s,
    limit: np.uint64,
    source: Index,
    entered: Int64s,
    state: Int64s,
) -> None:
    """Do what `grow` does for all nodes of a graph with cycles of weight zero, and one source.

    A path enters a group of nodes by the first tight arc into any of them, goes towards the group's root, and leaves
    for its node, if that is another, by the tree away from the root. `entered` has an entry for each group.
    """
    for node in range(len(dist)):
        entered[cycles.group[node]] = -1
        state[node, 0] = state[node, 1] = 0
    for node in range(len(dist)):
        group, distance = cycles.group[node], np.uint64(dist[node])
        if distance > limit or distance == UNREACHABLE:
            continue
        for place in range(incoming.first[node], incoming.first[node + 1]):
            tail = incoming.arcs[place, 0]
            is_tight = np.uint64(dist[tail]) + np.uint64(incoming.arcs[place, 1]) == distance
            if is_tight and cycles.group[tail] != group:
                if entered[group] < 0 or arc[place] < arc[entered[group]]:
                    entered[group] = place
                break
        if cycles.into[node] >= 0:
            state[node, 1] = (cycles.into[node] + 1) << SHIFT
    entered[cycles.group[source]] = -1
    for node in range(len(dist)):
        first = entered[cycles.group[node]]
        is_entry = incoming.first[node] <= first < incoming.first[node + 1]
        if is_entry or node == source:
            at = np.int64(node)
            state[at, 1] = (first + 1) << SHIFT if is_entry else 0
            while cycles.out[at] >= 0:
                place, at = cycles.out[at], cycles.after[at]
                state[at, 1] = (place + 1) << SHIFT
    for node in range(len(dist)):
        place = (state[node, 1] >> SHIFT) - 1
        if place >= 0:
            state[incoming.arcs[place, 0], 1] += 1


@jit
def push(
    incoming: Incoming,
    dist: Uint32s,
    reached: Uint32s,
    count: Index,
    limit: np.uint64,
    seeds: Uint32s,
    offsets: Uint32s,
    begin: Index,
    end: Index,
    wanted: Wanted,
    row: Index,
    state: Int64s,
    load: Int64s,
    out: Int64s,
    order: Uint32s,
) -> Index:
    """Add the loads of a tree that has been grown to `load`, which has an entry for each arc by head.

    `order`, if it is not empty, gets the nodes of the tree, each before the node from which the tree enters it; return
    their number.
    """
    sent = missed = number = np.int64(0)
    is_uniform, is_ordered = len(wanted.first) == 0, len(order) > 0
    if not is_uniform:
        for at in range(wanted.first[row], wanted.first[row + 1]):
            node, amount = wanted.node[at], wanted.amount[at]
            if np.uint64(dist[node]) <= limit and np.uint64(dist[node]) != UNREACHABLE:
                state[node, 0] += amount
            else:
                missed += amount
    for i in range(count):
        node = reached[i]
        distance = np.uint64(dist[node])
        if distance > limit or distance == UNREACHABLE:
            continue
        while state[node, 1] & WAITING == 0:
            if is_ordered:
                order[number] = node
                number += 1
            place = (state[node, 1] >> SHIFT) - 1
            state[node, 1] += 1
            if place < 0:
                break
            state[node, 0] += is_uniform
            load[place] += state[node, 0]
            before = incoming.arcs[place, 0]
            state[before, 0] += state[node, 0]
            state[before, 1] -= 1
            node = before
    for seed in range(begin, end):
        node = seeds[seed]
        # Of several seeds at a node only one is its distance, which counts once.
        if dist[node] == offsets[seed] and state[node, 1] >= 0:
            sent += state[node, 0]
            state[node, 1] = -1
    out[row, SENT], out[row, MISSED] = sent, missed
    return number


@jit
def watch(
    incoming: Incoming,
    watched: Watched,
    wanted: Wanted,
    row: Index,
    state: Int64s,
    count: Index,
    walked: Walked,
    chosen: Int64s,
    turned: Int64s,
) -> None:
    """Look at the paths of a tree whose loads have been pushed.

    `chosen` gets the loads of the demand whose paths have an arc of each set, shape (sets, arcs by head), and `turned`
    those of turns. Demand of nodes that are not reached is left alone.
    """
    num_values, has_marks = watched.values.shape[1], len(watched.marks) > 0
    for i in range(count - 1, -1, -1):
        node = walked.order[i]
        place = (state[node, 1] >> SHIFT) - 1
        walked.met[node] = 0
        for value in range(num_values):
            walked.sums[node, value] = 0.0
        if place < 0:
            continue
        before = incoming.arcs[place, 0]
        for value in range(num_values):
            walked.sums[node, value] = walked.sums[before, value] + watched.values[place, value]
        if has_marks:
            walked.met[node] = walked.met[before] | watched.marks[place]
        place_before = (state[before, 1] >> SHIFT) - 1
        if len(watched.turns) and place_before >= 0:
            turned[watched.turns[place] + place_before - incoming.first[before]] += state[node, 0]
    for at in range(wanted.first[row], wanted.first[row + 1]):
        node = wanted.node[at]
        if state[node, 1] != 0:
            for value in range(num_values):
                watched.sums[watched.first + at, value] = walked.sums[node, value]
            watched.met[watched.first + at] = walked.met[node]
    for one in range(len(chosen)):
        bit = np.uint64(1) << np.uint64(one)
        for i in range(count):
            walked.part[walked.order[i]] = 0
        for at in range(wanted.first[row], wanted.first[row + 1]):
            node = wanted.node[at]
            if state[node, 1] != 0 and walked.met[node] & bit:
                walked.part[node] += wanted.amount[at]
        for i in range(count):
            node = walked.order[i]
            place = (state[node, 1] >> SHIFT) - 1
            if place >= 0:
                chosen[one, place] += walked.part[node]
                walked.part[incoming.arcs[place, 0]] += walked.part[node]


@jit
def load_rows(
    incoming: Incoming,
    arc: Int64s,
    cycles: Cycles,
    rows: Uint32s,
    all_nodes: Uint32s,
    overflow: Uint8s,
    limit: np.uint64,
    first: Int64s,
    seeds: Uint32s,
    offsets: Uint32s,
    wanted: Wanted,
    watched: Watched,
    walked: Walked,
    state: Int64s,
    load: Int64s,
    out: Int64s,
    chosen: Int64s,
    turned: Int64s,
) -> None:
    """Add the loads of the trees of rows of distances, but for those with overflow, and what is watched.

    `arc` has the id of each arc by head.
    """
    for row in range(len(rows)):
        if overflow[row]:
            continue
        begin, end = first[row], first[row + 1]
        # fmt: off
        if len(cycles.group):
            grow_over_cycles(incoming, arc, cycles, rows[row], limit, np.int64(seeds[begin]), walked.entered, state)
        else:
            grow(incoming, rows[row], all_nodes, len(all_nodes), limit, seeds, offsets, begin, end, state)
        count = push(
            incoming, rows[row], all_nodes, len(all_nodes), limit,
            seeds, offsets, begin, end, wanted, row, state, load, out, walked.order,
        )
        if len(walked.order):
            watch(incoming, watched, wanted, row, state, count, walked, chosen, turned)
        # fmt: on


@jit
def search_loads(
    first_out: Uint32s,
    arcs: Uint32s,
    dist: Uint32s,
    place: Uint32s,
    heap: Uint64s,
    reached: Uint32s,
    num_reached: Uint32s,
    first: Int64s,
    seeds: Uint32s,
    offsets: Uint32s,
    is_wanted: Uint8s,
    num_wanted: Index,
    limit: np.uint64,
    is_limited: Flag,
    incoming: Incoming,
    wanted: Wanted,
    state: Int64s,
    load: Int64s,
    overflow: Uint8s,
    out: Int64s,
) -> None:
    """Add the loads of the trees of searches to `load`, but for those with overflow if there is no limit."""
    for row in range(len(out)):
        begin, end = first[row], first[row + 1]
        # fmt: off
        overflow[row] = settle(
            first_out, arcs, dist, place, heap, reached, num_reached,
            begin, end, seeds, offsets, is_wanted, num_wanted, limit,
        )
        if is_limited or not overflow[row]:
            count = np.int64(num_reached[0])
            grow(incoming, dist, reached, count, limit, seeds, offsets, begin, end, state)
            push(
                incoming, dist, reached, count, limit,
                seeds, offsets, begin, end, wanted, row, state, load, out, reached[:0],
            )
        # fmt: on
