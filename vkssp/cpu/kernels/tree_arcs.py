"""Kernels that find the arcs of shortest-path trees; shaders/engine/tree_arcs.comp finds the same as `enter`."""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.entries import extended, unreachable
from vkssp.cpu.kernels.types import Distances, Int64s, Uint32s
from vkssp.jit import jit

NO_ARC = np.uint32(2**32 - 1)
ONE = np.uint64(1)


@jit
def enter(
    first: Uint32s, arcs: Uint32s, ids: Uint32s, dist: Distances, begin: np.uint64, end: np.uint64, into: Uint32s
) -> None:
    """Write the least id of the arcs that fit the distance of each node from `begin` to `end`, or `NO_ARC`."""
    node = begin
    while node < end:
        distance, found = np.uint64(dist[node]), NO_ARC
        place, last = np.uint64(first[node]), np.uint64(first[node + ONE])
        if distance == unreachable(dist):
            place = last
        while place < last:
            tail = np.uint64(arcs[place, 0])
            # Loops are left out: a loop of weight zero fits the distance but leads nowhere.
            if tail != node and extended(dist, np.uint64(dist[tail]), np.uint64(arcs[place, 1])) == distance:
                found, place = ids[place], last
            place += ONE
        into[node] = found
        node += ONE


@jit
def enter_cycles(
    members: Int64s,
    group: Uint32s,
    head: Uint32s,
    inward: Int64s,
    outward: Int64s,
    roots: Int64s,
    entry: Uint32s,
    dist: Distances,
    into: Uint32s,
) -> None:
    """Make one tree of the arcs into the nodes of groups on cycles of weight zero, which may have an arc each.

    A path enters a group by the arc with the least id, goes towards the group's root, and leaves for its node, if that
    is another, by the tree away from the root; see `vkssp.prepared.zero_cycles.ZeroTrees.arcs`, which makes `outward`
    (arcs towards the root) and `inward` (arcs away from it).

    `members` has the nodes of all groups, and `roots` at most one node of each group, from which its paths begin.
    `entry` has room for an arc of each group.
    """
    for i in range(len(members)):
        entry[group[members[i]]] = NO_ARC
    for i in range(len(members)):
        node = members[i]
        if into[node] < entry[group[node]]:
            entry[group[node]] = into[node]
    for i in range(len(roots)):
        entry[group[roots[i]]] = NO_ARC
    for i in range(len(members)):
        node = members[i]
        is_reached = np.uint64(dist[node]) != unreachable(dist)
        into[node] = inward[node] if is_reached and inward[node] >= 0 else np.int64(NO_ARC)
    for i in range(len(members) + len(roots)):
        at = members[i] if i < len(members) else roots[i - len(members)]
        arc = entry[group[at]]
        if i < len(members) and (arc == NO_ARC or np.int64(head[arc]) != at):
            continue
        into[at] = arc
        while outward[at] >= 0:
            arc_out = outward[at]
            at = np.int64(head[arc_out])
            into[at] = arc_out
