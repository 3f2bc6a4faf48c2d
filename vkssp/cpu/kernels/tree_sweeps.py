"""Kernels of the loads of shortest-path trees whose distances come from sweeps, 16 searches side by side.

The trees and their loads are those of `vkssp.cpu.kernels.trees`. Distances have 16 entries for each rank, one of each
search, so that the arcs into a node are looked at for all searches at once. Flows follow the trees one by one, in the
caller's numbering, in which neighbours are often close.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.cpu.kernels.phast import Labels, Part, Tree, sweep_rows
from vkssp.cpu.kernels.trees import MISSED, SENT, Incoming, Wanted
from vkssp.cpu.kernels.types import Flag, Index, Int64s, Uint8s, Uint32s
from vkssp.cpu.kernels.vectors import fill_8, mark_8
from vkssp.jit import jit

UNREACHABLE = np.uint64(2**32 - 1)
WIDTH, EIGHT = np.uint64(16), np.uint64(8)
ZERO, ONE = np.uint64(0), np.uint64(1)
NOTHING = np.uint32(0)
# What a node waits for once it has handed over, and if it waits for nothing but is marked.
DONE, MARKED = np.uint32(2**32 - 1), np.uint32(1)


class Numbering(NamedTuple):
    """Numbers of nodes and arcs: the rank of each node, and arcs by head in two orders.

    `place` has, for each arc by the rank of its head, its place among the arcs by head; `tail` has the tail of each of
    the latter.
    """

    rank: Uint32s
    place: Uint32s
    tail: Uint32s


@jit
def push_units(
    tail: Uint32s,
    into: Uint32s,
    begin: np.uint64,
    source: np.uint64,
    waiting: Uint32s,
    flow: Int64s,
    load: Int64s,
    out: Int64s,
) -> None:
    """Add the loads of a tree to `load`, which has an entry for each arc by head, for one unit at each of its nodes.

    `into` has, from `begin` on, the place of the arc into each node, plus one; 0 if the tree does not enter it.
    `waiting` and `flow` are 0, before and after.
    """
    num_nodes = len(waiting)
    for at in range(num_nodes):
        place = np.uint64(into[begin + np.uint64(at)])
        if place:
            flow[at] = 1
            waiting[tail[place - ONE]] += np.uint32(1)
    for at in range(num_nodes):
        node = np.uint64(at)
        while waiting[node] == NOTHING:
            place = np.uint64(into[begin + node])
            if place == ZERO:
                break
            waiting[node] = DONE
            load[place - ONE] += flow[node]
            before = np.uint64(tail[place - ONE])
            flow[before] += flow[node]
            waiting[before] -= np.uint32(1)
            node = before
    out[SENT], out[MISSED] = flow[source], 0
    for at in range(num_nodes):
        waiting[at] = flow[at] = 0


@jit
def push_demand(
    tail: Uint32s,
    into: Uint32s,
    begin: np.uint64,
    source: np.uint64,
    wanted: Wanted,
    row: Index,
    waiting: Uint32s,
    flow: Int64s,
    load: Int64s,
    out: Int64s,
) -> None:
    """Add the loads of a demand to `load`; see `push_units`. Only nodes on the paths to the demand are visited.

    Such a node waits for the nodes after it on these paths, and for one more that marks it.
    """
    sent = missed = np.int64(0)
    for entry in range(wanted.first[row], wanted.first[row + 1]):
        node, amount = np.uint64(wanted.node[entry]), wanted.amount[entry]
        place = np.uint64(into[begin + node])
        if place == ZERO:
            if node == source:
                sent += amount
            else:
                missed += amount
        elif amount != 0:
            flow[node] += amount
            is_new = waiting[node] == NOTHING
            if is_new:
                waiting[node] = 1
            while is_new and place != ZERO:
                node = np.uint64(tail[place - ONE])
                is_new = waiting[node] == NOTHING
                waiting[node] += np.uint32(2) if is_new else np.uint32(1)
                place = np.uint64(into[begin + node])
    for entry in range(wanted.first[row], wanted.first[row + 1]):
        node = np.uint64(wanted.node[entry])
        while waiting[node] == MARKED:
            waiting[node] = 0
            place, amount = np.uint64(into[begin + node]), flow[node]
            flow[node] = 0
            if place == ZERO:
                sent += amount
                break
            load[place - ONE] += amount
            node = np.uint64(tail[place - ONE])
            flow[node] += amount
            waiting[node] -= np.uint32(1)
    out[SENT], out[MISSED] = sent, missed


@jit
def sweep_loads(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    part: Part,
    labels: Labels,
    mark: np.uint32,
    first_row: Index,
    first: Int64s,
    ranks: Uint32s,
    offsets: Uint32s,
    sources: Uint32s,
    heaviest: np.uint64,
    is_limited: Flag,
    limit: np.uint32,
    incoming: Incoming,
    numbering: Numbering,
    wanted: Wanted,
    dist: Uint32s,
    begun: Uint32s,
    most: Uint32s,
    nothing: Uint32s,
    into: Uint32s,
    waiting: Uint32s,
    flow: Int64s,
    load: Int64s,
    overflow: Uint8s,
    out: Int64s,
) -> None:
    """Add the loads of the trees of searches to `load`, but for those with overflow if there is no limit.

    The searches begin with number `first_row`; each has a single source, whose node is in `sources`. `part` is the
    whole hierarchy, in which places are ranks, without wanted nodes; `nothing` has no columns.
    """
    num_nodes = len(numbering.rank)
    for begin in range(0, len(out), int(WIDTH)):
        count = len(most) if len(out) - begin > len(most) else len(out) - begin
        bounds = first[first_row + begin : first_row + begin + count + 1]
        # fmt: off
        sweep_rows(
            tree, up, down, part, labels, mark, bounds, ranks, offsets, WIDTH, dist, begun, most,
            np.uint32(UNREACHABLE), nothing[:count],
        )
        # fmt: on
        mark = np.uint32(mark + count)
        for node in range(num_nodes):
            head = np.uint64(node) * WIDTH
            fill_8(into, head, NOTHING)
            fill_8(into, head + EIGHT, NOTHING)
            for arc in range(incoming.first[node], incoming.first[node + 1]):
                tail = np.uint64(incoming.arcs[arc, 0])
                if tail != np.uint64(node):
                    tail, weight = tail * WIDTH, np.uint32(incoming.arcs[arc, 1])
                    value = np.uint32(numbering.place[arc] + 1)
                    mark_8(into, head, dist, head, tail, weight, limit, value)
                    mark_8(into, head + EIGHT, dist, head + EIGHT, tail + EIGHT, weight, limit, value)
        # Distances are needed no more: their room takes the arcs, search by search.
        for node in range(num_nodes):
            there, at = np.uint64(numbering.rank[node]) * WIDTH, np.uint64(node)
            for lane in range(count):
                dist[at] = into[there + np.uint64(lane)]
                at += np.uint64(num_nodes)
        for lane in range(count):
            row = begin + lane
            number = first_row + row
            overflow[row] = np.uint64(most[lane]) + heaviest >= UNREACHABLE
            out[row, SENT] = out[row, MISSED] = 0
            if is_limited or not overflow[row]:
                at, source = np.uint64(lane * num_nodes), np.uint64(sources[first[number]])
                if len(wanted.first) == 0:
                    push_units(numbering.tail, dist, at, source, waiting, flow, load, out[row])
                else:
                    push_demand(numbering.tail, dist, at, source, wanted, number, waiting, flow, load, out[row])
