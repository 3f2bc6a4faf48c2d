"""The part of a search that stays among removed nodes: from seeds there to the core nodes around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.reduction import Reduction
from vkssp.solvers.base import Terminal
from vkssp.solvers.prepare import PreparedGraph

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Inside:
    """What paths reach that leave the seeds' components at their very end at most.

    Attributes
    ----------
    nodes, distances : numpy.ndarray
        Removed nodes, rising within each component, and their distances, shape (k,), uint32.
    exits : dict of int to int
        Distances of core nodes, by their ids in the core; those that are seeds themselves are among them.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    """

    nodes: Uint32s
    distances: Uint32s
    exits: dict[int, int]
    overflow: bool

    def distance(self, node: int) -> int:
        """Return the distance of a node, UNREACHABLE where it is not among those that were reached."""
        here = np.flatnonzero(self.nodes == node)
        return int(self.distances[here[0]]) if len(here) else UNREACHABLE


class Surroundings:
    """The arcs of removed nodes, component by component, as scipy's search wants them.

    Parameters
    ----------
    reduction : Reduction
        Of the graph.
    prepared : PreparedGraph
        The graph.
    """

    def __init__(self, reduction: Reduction, prepared: PreparedGraph) -> None:
        self.reduction = reduction
        members, first_member = reduction.members.astype(np.int64), reduction.first_member.astype(np.int64)
        first = prepared.first_out[members].astype(np.int64)
        degree = prepared.first_out[members + 1].astype(np.int64) - first
        rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)])
        arcs = prepared.arcs[np.repeat(first - rows[:-1], degree) + np.arange(rows[-1])]
        heads = arcs[:, 0].astype(np.int64)
        component = np.repeat(np.arange(len(first_member) - 1), np.diff(first_member))
        of_arc = np.repeat(component, degree)
        # Core nodes around a component come after those in it, and have no arcs.
        outside = reduction.component[heads] == UNREACHABLE
        around, number = np.unique(of_arc[outside] * prepared.num_nodes + heads[outside], return_inverse=True)
        self._first_exit = np.searchsorted(around // max(1, prepared.num_nodes), np.arange(len(first_member)))
        self._exit = reduction.records[around % max(1, prepared.num_nodes), 0]
        self._place = np.zeros(prepared.num_nodes, np.int32)
        self._place[members] = np.arange(len(members)) - first_member[component]
        head = self._place[heads]
        sizes = np.diff(first_member)
        head[outside] = number - self._first_exit[of_arc[outside]] + sizes[of_arc[outside]]
        self._head, self._weight, self._rows = head, arcs[:, 1].astype(np.float64), rows.astype(np.int64)

    def search(self, seeds: Sequence[Terminal]) -> Inside:
        """Search from the seeds without leaving a core node.

        Parameters
        ----------
        seeds : sequence of (int, int)
            Nodes, each with the weight between it and the place that is meant.
        """
        reduction = self.reduction
        exits: dict[int, int] = {}
        parts: dict[int, list[Terminal]] = {}
        nodes, distances, overflow = [np.empty(0, np.uint32)], [np.empty(0, np.int64)], False
        for node, offset in seeds:
            part = int(reduction.component[node])
            if part != UNREACHABLE:
                parts.setdefault(part, []).append((node, offset))
                continue
            core = int(reduction.records[node, 0])
            exits[core] = min(offset, exits.get(core, UNREACHABLE))
        for part, some in parts.items():
            found = self._search(part, some)
            nodes.append(found[0])
            distances.append(found[1])
            for core, distance in zip(found[2], found[3], strict=True):
                if distance < UNREACHABLE:
                    exits[core] = min(distance, exits.get(core, UNREACHABLE))
                else:
                    overflow = True
        near, far = np.concatenate(nodes), np.concatenate(distances)
        if len(far) and int(far.max()) >= UNREACHABLE:
            fits = far < UNREACHABLE
            near, far, overflow = near[fits], far[fits], True
        return Inside(near, far.astype(np.uint32), exits, overflow)

    def _search(self, part: int, seeds: Sequence[Terminal]) -> tuple[Uint32s, Int64s, list[int], list[int]]:
        """Search from seeds in one component.

        Returns
        -------
        nodes : numpy.ndarray
            Removed nodes that are reached, uint32.
        distances : numpy.ndarray
            Their distances, int64.
        exits, exit_distances : list of int
            Core nodes around them that are reached, by their ids in the core, and their distances.
        """
        from scipy import sparse
        from scipy.sparse import csgraph

        reduction = self.reduction
        begin, end = reduction.first_member[part : part + 2].tolist()
        first_exit, last_exit = self._first_exit[part : part + 2].tolist()
        size, count = end - begin, end - begin + last_exit - first_exit
        first, last = int(self._rows[begin]), int(self._rows[end])
        # One node more, with an arc to every seed.
        rows = np.full(count + 2, last - first, np.int32)
        rows[:size] = self._rows[begin:end] - first
        rows[-1] += len(seeds)
        head = np.concatenate([self._head[first:last], self._place[[node for node, _ in seeds]]])
        weight = np.concatenate([self._weight[first:last], [offset for _, offset in seeds]])
        matrix: Any = sparse.csr_array((weight, head, rows), shape=(count + 1, count + 1))
        # Exact, as sums of whole numbers up to 2**53 are in this type.
        distance = csgraph.dijkstra(matrix, indices=count)
        inside, outside = distance[:size], distance[size:count]
        reached = np.flatnonzero(np.isfinite(inside))
        left = np.flatnonzero(np.isfinite(outside))
        return (
            reduction.members[begin + reached],
            inside[reached].astype(np.int64),
            self._exit[first_exit + left].tolist(),
            outside[left].astype(np.int64).tolist(),
        )
