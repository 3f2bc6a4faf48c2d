"""Kernel that gives each node the label of its nearest seed; it finds the same as shaders/engine/voronoi_hook.comp."""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.entries import extended, unreachable
from vkssp.cpu.kernels.types import Distances, Uint32s
from vkssp.jit import jit

#: Label of nodes without a label.
NO_LABEL = np.uint64(2**32 - 1)
ONE = np.uint64(1)


@jit
def find(first_out: Uint32s, arcs: Uint32s, dist: Distances, seeds: Distances, label: Uint32s, stack: Uint32s) -> None:
    """Label the nodes on shortest paths from each seed, the least label first; a labelled node keeps its label.

    Seeds are (node, offset, label), sorted by label.
    """
    label[:] = NO_LABEL
    for i in range(len(seeds)):
        node, own = np.uint64(seeds[i, 0]), seeds[i, 2]
        if label[node] != NO_LABEL or dist[node] != seeds[i, 1]:
            continue
        label[node] = own
        stack[0], height = node, 1
        while height:
            height -= 1
            node = np.uint64(stack[height])
            distance = np.uint64(dist[node])
            arc, end = np.uint64(first_out[node]), np.uint64(first_out[node + ONE])
            while arc < end:
                head = np.uint64(arcs[arc, 0])
                through = extended(dist, distance, np.uint64(arcs[arc, 1]))
                # A sum that does not fit is no distance, even if it equals the distance of unreachable nodes.
                if label[head] == NO_LABEL and through < unreachable(dist) and np.uint64(dist[head]) == through:
                    label[head] = own
                    stack[height] = head
                    height += 1
                arc += ONE
