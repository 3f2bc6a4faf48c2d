"""Kernels of the three steps of Ortega-Arranz et al.: minimum, update, relax.

Every step visits all nodes, one after another; a GPU has one thread for each node. `minimum` finds the threshold,
`update` settles the unsettled nodes up to the threshold, which become the frontier, and `relax` improves distances from
the frontier, along the arcs of frontier nodes (successors) or the arcs into unsettled nodes (predecessors).
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Flag, Rows, Totals, Uint8s, Uint32s
from vkssp.jit import jit

UNREACHABLE = np.uint64(2**32 - 1)
ZERO, ONE = np.uint64(0), np.uint64(1)


@jit
def lightest_arcs(first_out: Uint32s, arcs: Uint32s, omega: Uint32s) -> None:
    """Write the weight of each node's lightest arc to `omega`; 2**32 - 1 if the node has no arcs."""
    for node in range(np.uint64(len(omega))):
        least = UNREACHABLE
        for arc in range(np.uint64(first_out[node]), np.uint64(first_out[node + ONE])):
            least = min(least, np.uint64(arcs[arc, 1]))
        omega[node] = least


@jit
def minimum(unsettled: Uint8s, dist: Uint32s, omega: Uint32s) -> tuple[np.uint64, np.uint64]:
    """Return the least distance of an unsettled node, and the least sum of such a distance and the lightest arc.

    If `omega` is empty, both results are the least distance. Neither exceeds 2**32 - 1.
    """
    nearest = threshold = UNREACHABLE
    # The loops have no branch, so that the compiler can vectorize them.
    if len(omega) == 0:
        for node in range(np.uint64(len(dist))):
            distance = np.uint64(dist[node])
            nearest = min(nearest, distance if unsettled[node] else UNREACHABLE)
        return nearest, nearest
    for node in range(np.uint64(len(dist))):
        distance = np.uint64(dist[node])
        through = distance + np.uint64(omega[node])
        nearest = min(nearest, distance if unsettled[node] else UNREACHABLE)
        threshold = min(threshold, through if unsettled[node] else UNREACHABLE)
    return nearest, threshold


@jit
def update(unsettled: Uint8s, frontier: Uint8s, dist: Uint32s, threshold: np.uint64) -> None:
    """Settle the unsettled nodes up to the threshold, which become the next frontier."""
    reached = min(threshold, UNREACHABLE - ONE)
    for node in range(np.uint64(len(dist))):
        settles = unsettled[node] & np.uint8(np.uint64(dist[node]) <= reached)
        frontier[node] = settles
        unsettled[node] ^= settles


@jit
def relax_successors(
    first_out: Uint32s, arcs: Uint32s, unsettled: Uint8s, frontier: Uint8s, dist: Uint32s
) -> tuple[int, np.uint64, int, bool]:
    """Relax the arcs of the frontier; return numbers of nodes, arcs and improvements, and whether a sum overflows."""
    worked = improved = 0
    relaxed = ZERO
    overflow = False
    for node in range(np.uint64(len(dist))):
        if not frontier[node]:
            continue
        distance = np.uint64(dist[node])
        arc, end = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
        worked += 1
        relaxed += end - arc
        while arc < end:
            head, through = np.uint64(arcs[arc, 0]), distance + np.uint64(arcs[arc, 1])
            arc += ONE
            if unsettled[head]:
                if through < np.uint64(dist[head]):
                    dist[head] = through
                    improved += 1
                elif through >= UNREACHABLE:
                    overflow = True
    return worked, relaxed, improved, overflow


@jit
def relax_predecessors(
    first_in: Uint32s, arcs_in: Uint32s, unsettled: Uint8s, frontier: Uint8s, dist: Uint32s
) -> tuple[int, np.uint64, int, bool]:
    """Relax the arcs from the frontier into unsettled nodes; return the same as `relax_successors`."""
    worked = improved = 0
    relaxed = ZERO
    overflow = False
    for node in range(np.uint64(len(dist))):
        if not unsettled[node]:
            continue
        distance = np.uint64(dist[node])
        arc, end = np.uint64(first_in[node]), np.uint64(first_in[node + ONE])
        has_frontier = False
        while arc < end:
            tail, weight = np.uint64(arcs_in[arc, 0]), np.uint64(arcs_in[arc, 1])
            arc += ONE
            if frontier[tail]:
                through = np.uint64(dist[tail]) + weight
                has_frontier = True
                relaxed += ONE
                if through < distance:
                    distance = through
                    improved += 1
                elif through >= UNREACHABLE:
                    overflow = True
        worked += has_frontier
        dist[node] = distance
    return worked, relaxed, improved, overflow


@jit
def search(
    first: Uint32s,
    arcs: Uint32s,
    predecessors: Flag,
    omega: Uint32s,
    lightest: int,
    dist: Uint32s,
    unsettled: Uint8s,
    frontier: Uint8s,
    seeds: Uint32s,
    targets: Uint32s,
    rows: Rows,
) -> Totals:
    """Repeat the steps until all reached nodes are settled or the best target is known.

    If `predecessors` is set, `first` and `arcs` are the arcs by head. With an empty `omega`, an iteration settles only
    the nearest nodes. `lightest` is the weight of the graph's lightest arc.
    """
    dist[:] = UNREACHABLE
    unsettled[:] = 1
    for i in range(len(seeds)):
        node = np.uint64(seeds[i, 0])
        dist[node] = min(np.uint64(dist[node]), np.uint64(seeds[i, 1]))
    rounds = visited = worked = improved = 0
    relaxed = ZERO
    overflow = False
    while True:
        nearest, threshold = minimum(unsettled, dist, omega)
        if nearest == UNREACHABLE:
            break
        best = UNREACHABLE
        for i in range(len(targets)):
            best = min(best, np.uint64(dist[targets[i, 0]]) + np.uint64(targets[i, 1]))
        # No distance that will still improve will be less than this.
        final = threshold if len(omega) else min(nearest + np.uint64(lightest), UNREACHABLE)
        if best < final:
            break
        update(unsettled, frontier, dist, threshold)
        if predecessors:
            work = relax_predecessors(first, arcs, unsettled, frontier, dist)
        else:
            work = relax_successors(first, arcs, unsettled, frontier, dist)
        if rounds < len(rows):
            row = rows[rounds]
            row.iteration, row.phase = rounds, 0
            row.low, row.high = nearest, min(threshold + ONE, UNREACHABLE)
            row.first_node, row.last_node = 0, len(dist) - 1
            row.visited = len(dist)
            row.worked, row.relaxed, row.improved = work[0], work[1], work[2]
        rounds += 1
        visited += len(dist)
        worked += work[0]
        relaxed += work[1]
        improved += work[2]
        overflow |= work[3]
    return rounds, visited, worked, relaxed, improved, overflow
