"""Kernel that walks back along a shortest path; it gives the same path as shaders/path/path.comp."""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.entries import extended, unreachable
from vkssp.cpu.kernels.types import Distances, Uint32s
from vkssp.jit import jit

ONE = np.uint64(1)


@jit
def walk(
    first_in: Uint32s, arcs_in: Uint32s, dist: Distances, seeds: Distances, targets: Distances, path: Uint32s
) -> tuple[int, int, int]:
    """Write places in `arcs_in` to `path`, the last arc first; return seed and target, or -1, and the length."""
    best, target = unreachable(dist), -1
    for i in range(len(targets)):
        through = extended(dist, np.uint64(dist[targets[i, 0]]), np.uint64(targets[i, 1]))
        if through < best:
            best, target = through, i
    if target < 0:
        return -1, -1, 0
    node, length = np.uint64(targets[target, 0]), 0
    while True:
        distance = np.uint64(dist[node])
        for i in range(len(seeds)):
            if np.uint64(seeds[i, 0]) == node and np.uint64(seeds[i, 1]) == distance:
                return i, target, length
        arc, end = np.uint64(first_in[node]), np.uint64(first_in[node + ONE])
        while arc < end:
            tail = np.uint64(arcs_in[arc, 0])
            # Loops are left out: a loop of weight zero fits the distance but leads nowhere.
            if tail != node and extended(dist, np.uint64(dist[tail]), np.uint64(arcs_in[arc, 1])) == distance:
                break
            arc += ONE
        # If no arc fits, or the walk goes in circles, the distances are not shortest distances.
        if arc == end or length >= len(path):
            return -1, target, length
        path[length] = arc
        length += 1
        node = np.uint64(arcs_in[arc, 0])
