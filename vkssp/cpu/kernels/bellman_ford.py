"""Kernel of the Bellman-Ford algorithm: sweeps over all nodes, which relax all arcs, until a sweep improves nothing.

Distances are improved in place, so that a sweep carries them along every path with rising ids.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Rows, Totals, Uint32s
from vkssp.jit import jit

UNREACHABLE = np.uint64(2**32 - 1)
ZERO, ONE = np.uint64(0), np.uint64(1)


@jit
def search(first_out: Uint32s, arcs: Uint32s, dist: Uint32s, seeds: Uint32s, rows: Rows) -> Totals:
    """Relax all arcs until no distance changes."""
    dist[:] = UNREACHABLE
    for i in range(len(seeds)):
        seed = np.uint64(seeds[i, 0])
        dist[seed] = min(np.uint64(dist[seed]), np.uint64(seeds[i, 1]))
    num_nodes = np.uint64(len(dist))
    sweeps = visited = worked = improved = 0
    relaxed = ZERO
    overflow, changed = False, True
    while changed:
        worked_before, relaxed_before, improved_before = worked, relaxed, improved
        for node in range(num_nodes):
            distance = np.uint64(dist[node])
            if distance == UNREACHABLE:
                continue
            arc, end = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
            worked += 1
            relaxed += end - arc
            while arc < end:
                head, through = np.uint64(arcs[arc, 0]), distance + np.uint64(arcs[arc, 1])
                arc += ONE
                if through < np.uint64(dist[head]):
                    dist[head] = through
                    improved += 1
                elif through >= UNREACHABLE:
                    overflow = True
        changed = improved > improved_before
        if sweeps < len(rows):
            row = rows[sweeps]
            row.iteration, row.phase = sweeps, 0
            row.low, row.high = 0, UNREACHABLE
            row.first_node, row.last_node = 0, num_nodes - ONE
            row.visited, row.worked = num_nodes, worked - worked_before
            row.relaxed, row.improved = relaxed - relaxed_before, improved - improved_before
        sweeps += 1
        visited += len(dist)
    return sweeps, visited, worked, relaxed, improved, overflow
