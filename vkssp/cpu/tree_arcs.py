"""Arcs of shortest-path trees, found by the CPU from rows of distances.

The arc into a node is the one with the least id, by the caller's numbers, of the arcs that fit the distances of both
ends: the end of the path that all walkers find. So trees depend neither on the device nor on the algorithm. Arcs of
weight zero lead in no circles, since those inside of cycles of weight zero are left out; the nodes of such a cycle are
entered as `vkssp.prepared.zero_cycles` says.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.cpu.device import all_read_only, read_only
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.distance_type import Distances, unreachable_in
from vkssp.jit import kernels
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.tree_arcs import arcs_by_head

# Least number of nodes that a thread takes.
_LEAST_NODES = 1 << 12


class CpuTreeArcs:
    """Finder of the arcs of the trees of rows of distances.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    """

    def __init__(self, renumbered: RenumberedGraph) -> None:
        self._renumbered = renumbered

    @cached_property
    def _arcs(self) -> list[npt.NDArray[Any]]:
        return all_read_only(*arcs_by_head(self._renumbered))

    @cached_property
    def _cycles(self) -> list[npt.NDArray[Any]]:
        """Nodes on cycles of weight zero, and what `enter_cycles` takes besides."""
        graph, group = self._renumbered.graph, self._renumbered.node
        members = np.flatnonzero(np.bincount(group, minlength=self._renumbered.num_nodes)[group] > 1)
        return all_read_only(members, group, graph.head, *self._renumbered.zero_trees.arcs())

    def find(self, distances: Distances) -> Uint32s:
        """Return the arcs that `finish` takes, found on all cores.

        Parameters
        ----------
        distances : numpy.ndarray
            Rows of distances of the caller's nodes, shape (rows, num_nodes), uint32 or uint64.

        Returns
        -------
        numpy.ndarray
            Shape (rows, num_nodes), uint32.
        """
        rows, num_nodes = distances.shape
        enter, found = kernels("vkssp.cpu.kernels.tree_arcs").enter, np.empty((rows, num_nodes), np.uint32)
        step = max(_LEAST_NODES, -(-num_nodes * rows // num_cores()))
        tasks = [
            partial(enter, *self._arcs, read_only(distances[row]), np.uint64(begin), np.uint64(end), found[row])
            for row in range(rows)
            for begin in range(0, num_nodes, step)
            for end in (min(begin + step, num_nodes),)
        ]
        run_all(tasks)
        return found

    def finish(self, distances: Distances, groups: Groups, arcs: Uint32s) -> None:
        """Make trees of the arcs into the nodes of rows: cut off their roots, and enter cycles of weight zero once.

        Parameters
        ----------
        distances : numpy.ndarray
            Rows of distances, shape (rows, num_nodes).
        groups : Groups
            Their seeds, a group for each row.
        arcs : numpy.ndarray
            For each node the arc with the least id that fits its distance, 2**32 - 1 if there is none; arcs inside of
            cycles of weight zero and loops are left out. Shape (rows, num_nodes), uint32; changed in place.
        """
        arcs[distances == unreachable_in(distances)] = UNREACHABLE
        node = self._renumbered.node
        entry = np.empty(self._renumbered.num_nodes if self._renumbered.contracted else 0, np.uint32)
        for row, (found, into) in enumerate(zip(distances, arcs, strict=True)):
            here = slice(int(groups.first[row]), int(groups.first[row + 1]))
            seeds = groups.given[here]
            roots = seeds[found[seeds] == groups.offset[here]].astype(np.int64)
            if self._renumbered.contracted:
                # Of several seeds on a cycle of weight zero, paths begin at the first, as routes do.
                roots = roots[np.sort(np.unique(node[roots], return_index=True)[1])]
            into[roots] = UNREACHABLE
            if self._renumbered.contracted:
                members, *rest = self._cycles
                enter_cycles = kernels("vkssp.cpu.kernels.tree_arcs").enter_cycles
                enter_cycles(members, *rest, read_only(roots), entry, read_only(found), into)
