"""Part of a search inside components of removed nodes: from seeds to the core nodes around the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import ranges
from vkssp.prepared.reduction import Reduction
from vkssp.prepared.renumbered import RenumberedGraph

Int64s = npt.NDArray[np.int64]

#: Most nodes of a component that is searched without scipy, whose calls take longer than the search in most components.
MOST_SMALL = 48


@dataclass(frozen=True, eq=False)
class Inside:
    """Distances by paths inside the components of the seeds; a path may end at a core node around its component.

    Attributes
    ----------
    nodes, distances : numpy.ndarray
        Removed nodes, rising within each component, and their distances, shape (k,), uint32.
    exits : dict of int to int
        Distances of core nodes, by their ids in the core; core nodes that are seeds are included.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    """

    nodes: Uint32s
    distances: Uint32s
    exits: dict[int, int]
    overflow: bool

    def distance(self, node: int) -> int:
        """Return the distance of a removed node, UNREACHABLE if it was not reached."""
        here = np.flatnonzero(self.nodes == node)
        return int(self.distances[here[0]]) if len(here) else UNREACHABLE


class Surroundings:
    """Arcs of removed nodes, component by component, in the form that scipy's search needs.

    Parameters
    ----------
    reduction : Reduction
        Reduction of the graph.
    renumbered : RenumberedGraph
        The graph.
    """

    def __init__(self, reduction: Reduction, renumbered: RenumberedGraph) -> None:
        self.reduction = reduction
        members, first_member = reduction.members.astype(np.int64), reduction.first_member.astype(np.int64)
        first = renumbered.first_out[members].astype(np.int64)
        degree = renumbered.first_out[members + 1].astype(np.int64) - first
        rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
        arcs = renumbered.arcs[ranges(first, degree)]
        heads = arcs[:, 0].astype(np.int64)
        component = np.repeat(np.arange(len(first_member) - 1), np.diff(first_member))
        of_arc = np.repeat(component, degree)
        # Core nodes around a component come after its own nodes, and have no arcs.
        outside = reduction.component[heads] == UNREACHABLE
        around, number = np.unique(of_arc[outside] * renumbered.num_nodes + heads[outside], return_inverse=True)
        self._first_exit = np.searchsorted(around // max(1, renumbered.num_nodes), np.arange(len(first_member)))
        self._exit = reduction.records[around % max(1, renumbered.num_nodes), 0]
        self._place = np.zeros(renumbered.num_nodes, np.int32)
        self._place[members] = np.arange(len(members)) - first_member[component]
        head = self._place[heads]
        sizes = np.diff(first_member)
        head[outside] = number - self._first_exit[of_arc[outside]] + sizes[of_arc[outside]]
        self._head, self._weight, self._rows = head, arcs[:, 1].astype(np.float64), rows.astype(np.int64)

    def search(self, seeds: Sequence[Terminal]) -> Inside:
        """Search from seeds inside their components, without relaxing arcs of core nodes.

        Parameters
        ----------
        seeds : sequence of (int, int)
            Nodes with their offsets.
        """
        reduction = self.reduction
        nodes, offsets = np.array(seeds, np.int64).reshape(-1, 2).T
        part = reduction.component[nodes]
        removed = part != UNREACHABLE
        exits: dict[int, int] = {}
        cores = reduction.records[nodes[~removed], 0]
        _put_least(exits, cores, offsets[~removed])
        if not removed.any():
            return Inside(np.empty(0, np.uint32), np.empty(0, np.uint32), exits, False)
        of_part = part[removed]
        is_small = int(reduction.first_member[of_part[0] + 1] - reduction.first_member[of_part[0]]) <= MOST_SMALL
        search = self._search_small if is_small and (of_part == of_part[0]).all() else self._search
        near, far, left, distances = search(nodes[removed], offsets[removed], of_part)
        fits, leaves = far < UNREACHABLE, distances < UNREACHABLE
        _put_least(exits, left[leaves], distances[leaves])
        # A path from another component may reach the same core node with a sum that fits.
        overflow = not (fits.all() and exits.keys() >= set(left[~leaves].tolist()))
        return Inside(near[fits], far[fits].astype(np.uint32), exits, overflow)

    def _search(self, nodes: Int64s, offsets: Int64s, part: Uint32s) -> tuple[Uint32s, Int64s, Uint32s, Int64s]:
        """Search from removed nodes, each in its component.

        Returns
        -------
        nodes : numpy.ndarray
            Removed nodes that are reached, uint32.
        distances : numpy.ndarray
            Their distances, int64.
        exits, exit_distances : numpy.ndarray
            Core nodes that are reached, by their ids in the core, uint32, and their distances, int64. A core node
            occurs once for each component that it is reached from.
        """
        from scipy import sparse
        from scipy.sparse import csgraph

        reduction = self.reduction
        parts, of_seed = np.unique(part, return_inverse=True)
        begin = reduction.first_member[parts].astype(np.int64)
        size = reduction.first_member[parts + 1] - begin
        first_exit = self._first_exit[parts]
        around = self._first_exit[parts + 1] - first_exit
        each = size + around
        # First index of each component; the core nodes around a component come after its own nodes.
        base = np.cumsum(each) - each
        members, exits = ranges(begin, size), ranges(first_exit, around)
        inside, outside = ranges(base, size), ranges(base + size, around)
        first_arc = self._rows[begin]
        num_arcs = self._rows[begin + size] - first_arc
        arcs = ranges(first_arc, num_arcs)
        # An additional node with an arc to every seed.
        hub = int(each.sum())
        degree = np.zeros(hub + 1, np.int64)
        degree[inside], degree[hub] = self._rows[members + 1] - self._rows[members], len(nodes)
        rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)]).astype(np.int32)
        heads = [self._head[arcs] + np.repeat(base, num_arcs), self._place[nodes] + base[of_seed]]
        weight = np.concatenate([self._weight[arcs], offsets])
        matrix: Any = sparse.csr_array((weight, np.concatenate(heads).astype(np.int32), rows), shape=(hub + 1, hub + 1))
        # Exact: float64 represents whole numbers up to 2**53.
        distance = csgraph.dijkstra(matrix, indices=hub)
        reached, left = np.isfinite(distance[inside]), np.isfinite(distance[outside])
        return (
            reduction.members[members[reached]],
            distance[inside[reached]].astype(np.int64),
            self._exit[exits[left]],
            distance[outside[left]].astype(np.int64),
        )

    def _search_small(self, nodes: Int64s, offsets: Int64s, part: Uint32s) -> tuple[Uint32s, Int64s, Uint32s, Int64s]:
        """Do what `_search` does for removed nodes of a single component, by Dijkstra's algorithm in lists."""
        members = self.reduction.first_member
        begin, end = int(members[part[0]]), int(members[part[0] + 1])
        first_exit = int(self._first_exit[part[0]])
        rows = self._rows[begin : end + 1].tolist()
        first = rows[0]
        head, weight = (values[first : rows[-1]].tolist() for values in (self._head, self._weight))
        size, settled = end - begin, {}
        heap = list(zip(offsets.tolist(), self._place[nodes].tolist(), strict=True))
        heapify(heap)
        while heap:
            distance, node = heappop(heap)
            if node in settled:
                continue
            settled[node] = int(distance)
            if node < size:
                for arc in range(rows[node] - first, rows[node + 1] - first):
                    if head[arc] not in settled:
                        heappush(heap, (distance + weight[arc], head[arc]))
        inside = np.array(sorted(node for node in settled if node < size), np.int64)
        outside = np.array(sorted(node for node in settled if node >= size), np.int64)
        return (
            self.reduction.members[begin + inside],
            np.array([settled[node] for node in inside.tolist()], np.int64),
            self._exit[first_exit + outside - size],
            np.array([settled[node] for node in outside.tolist()], np.int64),
        )


def _put_least(least: dict[int, int], keys: Uint32s, values: Int64s) -> None:
    """Put values into a dictionary, the least for each key."""
    for key, value in zip(keys.tolist(), values.tolist(), strict=True):
        least[key] = min(value, least.get(key, UNREACHABLE))
