"""Kernels of shortest-path trees: the arc into each node, and the loads of demand on its way from the source.

The arc into a node is the first tight one among its arcs by head, as on the paths of all walkers. A tree needs no
order of its nodes: a node hands what goes through it over to the node before it once all nodes after it have done so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.cpu.kernels.dijkstra import settle
from vkssp.cpu.kernels.types import Flag, Index, Int64s, Uint8s, Uint32s, Uint64s
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


class Inside(NamedTuple):
    """What goes from one of the caller's nodes to another inside of nodes that stand for cycles of weight zero.

    `tail` and `head` have the caller's nodes at the ends of each arc by head, `source` that of each row, and `target`
    that of each entry of the demand. `found` has room for records of two nodes and an amount, and `number` tells how
    many there are. All other arrays are empty if there are no such nodes.
    """

    tail: Uint32s
    head: Uint32s
    source: Uint32s
    target: Uint32s
    found: Int64s
    number: Int64s


@jit
def enter(inside: Inside, row: Index, word: Index, leaves: Index, amount: Index) -> None:
    """Record what enters a node by the arc in its state, or begins there, and goes on from one of its own nodes."""
    place = (np.int64(word) >> SHIFT) - 1
    begins = np.int64(inside.head[place]) if place >= 0 else np.int64(inside.source[row])
    if begins != leaves and amount != 0:
        at = inside.number[0]
        inside.found[at, 0], inside.found[at, 1], inside.found[at, 2] = begins, leaves, amount
        inside.number[0] = at + 1


@jit
def load_tree(
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
    inside: Inside,
    row: Index,
    state: Int64s,
    load: Int64s,
    out: Int64s,
) -> None:
    """Add the loads of one tree to `load`, which has an entry for each arc by head.

    `reached` has `count` nodes, at least all those within the limit, and `state` two words for each node of the graph.
    """
    is_uniform, is_contracted = len(wanted.first) == 0, len(inside.found) > 0
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
        if is_uniform:
            state[node, 0] += 1
        for place in range(incoming.first[node], incoming.first[node + 1]):
            tail = incoming.arcs[place, 0]
            if tail != node and np.uint64(dist[tail]) + np.uint64(incoming.arcs[place, 1]) == distance:
                state[node, 1] += np.int64(place + 1) << SHIFT
                state[tail, 1] += 1
                break
    sent = missed = np.int64(0)
    if not is_uniform:
        for at in range(wanted.first[row], wanted.first[row + 1]):
            node, amount = wanted.node[at], wanted.amount[at]
            if np.uint64(dist[node]) <= limit and np.uint64(dist[node]) != UNREACHABLE:
                state[node, 0] += amount
                if is_contracted:
                    enter(inside, row, state[node, 1], np.int64(inside.target[at]), amount)
            else:
                missed += amount
    for i in range(count):
        node = reached[i]
        distance = np.uint64(dist[node])
        if distance > limit or distance == UNREACHABLE:
            continue
        while state[node, 1] & WAITING == 0:
            place = (state[node, 1] >> SHIFT) - 1
            state[node, 1] += 1
            if place < 0:
                break
            load[place] += state[node, 0]
            before = incoming.arcs[place, 0]
            if is_contracted:
                enter(inside, row, state[before, 1], np.int64(inside.tail[place]), state[node, 0])
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


@jit
def load_rows(
    incoming: Incoming,
    rows: Uint32s,
    all_nodes: Uint32s,
    overflow: Uint8s,
    limit: np.uint64,
    first: Int64s,
    seeds: Uint32s,
    offsets: Uint32s,
    wanted: Wanted,
    inside: Inside,
    state: Int64s,
    load: Int64s,
    out: Int64s,
) -> None:
    """Add the loads of the trees of rows of distances to `load`, but for those with overflow."""
    for row in range(len(rows)):
        if not overflow[row]:
            begin, end = first[row], first[row + 1]
            # fmt: off
            load_tree(
                incoming, rows[row], all_nodes, len(all_nodes), limit,
                seeds, offsets, begin, end, wanted, inside, row, state, load, out,
            )
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
    inside: Inside,
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
            load_tree(
                incoming, dist, reached, np.int64(num_reached[0]), limit,
                seeds, offsets, begin, end, wanted, inside, row, state, load, out,
            )
        # fmt: on
