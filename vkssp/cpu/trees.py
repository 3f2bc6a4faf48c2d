"""Loads of the arcs of shortest-path trees, computed by the CPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cpu.cores import num_cores, run_all
from vkssp.cpu.device import all_read_only, read_only
from vkssp.graph import Uint32s
from vkssp.graph.csr import rows_of
from vkssp.jit import kernels
from vkssp.prepared.aggregates import MISSED, ArcLoads
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Demand, Groups

Int64s = npt.NDArray[np.int64]


def wanted_of(groups: Groups, number: Uint32s | None) -> Any:
    """Return the demand of groups as kernels take it; `number` has the number of each of the caller's nodes."""
    wanted, demand = kernels("vkssp.cpu.kernels.trees").Wanted, groups.demand
    if demand is None:
        return wanted(*all_read_only(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int64)))
    begin, end = int(demand.first[0]), int(demand.first[-1])
    node = demand.node[begin:end]
    node = node if number is None else number[node]
    return wanted(*all_read_only(demand.first - begin, node, demand.amount[begin:end]))


def nothing_inside() -> Any:
    """Return what kernels take if no node stands for a cycle."""
    ends = all_read_only(*(np.empty(0, np.uint32) for _ in range(4)))
    return kernels("vkssp.cpu.kernels.trees").Inside(*ends, np.empty((0, 3), np.int64), np.zeros(1, np.int64))


def _of_all_nodes(groups: Groups, num_nodes: int) -> Demand:
    """Return a demand of one unit at all of the caller's nodes, except the sources."""
    rows = len(groups)
    sources = groups.given[groups.first[:-1]]
    nodes = np.tile(np.arange(num_nodes, dtype=np.uint32), (rows, 1))
    node = nodes[nodes != sources[:, None]]
    return Demand(np.arange(rows + 1) * (num_nodes - 1), node, np.ones(len(node), np.int64))


class Trees:
    """Maker of the loads of rows of distances.

    Where the graph has a numbering of its own for searches, trees are in the caller's, in which neighbours have close
    ids; but not if nodes stand for cycles of weight zero.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    """

    def __init__(self, renumbered: RenumberedGraph) -> None:
        graph, self._renumbered = renumbered.graph, renumbered
        self._module = kernels("vkssp.cpu.kernels.trees")
        self._number: Uint32s | None = renumbered.node if renumbered.contracted else None
        self._old: Uint32s | None = None
        if renumbered.contracted or renumbered.is_identity:
            first, arcs, self.arc = renumbered.reverse()
        else:
            first, by_head = rows_of(graph.head, graph.num_nodes)
            arcs, self.arc = np.stack([graph.tail[by_head], graph.weight[by_head]], axis=1).astype(np.uint32), by_head
            self._old = np.empty(graph.num_nodes, np.uint32)
            self._old[renumbered.node] = np.arange(graph.num_nodes, dtype=np.uint32)
        self._num_nodes, self._num_arcs = renumbered.num_nodes, graph.num_arcs
        self._incoming = self._module.Incoming(read_only(first), read_only(arcs))
        self._all = read_only(np.arange(self._num_nodes, dtype=np.uint32))
        self._spare: list[Int64s] = []

    def loads(
        self, aggregate: ArcLoads, groups: Groups, distances: Uint32s, overflow: npt.NDArray[np.bool_]
    ) -> tuple[Int64s, Int64s]:
        """Return the loads of rows.

        Parameters
        ----------
        aggregate : ArcLoads
            What is asked for.
        groups : Groups
            The groups of seeds, by the graph's numbering for searches, one for each row.
        distances : numpy.ndarray
            Distances of the caller's nodes, shape (rows, num_nodes), uint32.
        overflow : numpy.ndarray
            Rows that are left out, shape (rows,), bool.

        Returns
        -------
        rows : numpy.ndarray
            See `ArcLoads`, shape (rows, 2), int64.
        loads : numpy.ndarray
            Loads of the caller's arcs, all rows together, shape (num_arcs,), int64.
        """
        try:
            state = self._spare.pop()
        except IndexError:
            state = np.empty((self._num_nodes, 2), np.int64)
        begin, end = int(groups.first[0]), int(groups.first[-1])
        node, is_uniform, inside = groups.node[begin:end], groups.demand is None, nothing_inside()
        if self._number is not None:
            moved = np.empty((len(distances), self._num_nodes), np.uint32)
            moved[:, self._number] = distances
            distances = moved
            if groups.demand is None:
                groups = groups.wanting(_of_all_nodes(groups, len(self._number)))
            inside = self._inside(groups)
        elif self._old is not None:
            node = self._old[node]
        load, out = np.zeros(len(self.arc), np.int64), np.zeros((len(distances), aggregate.width), np.int64)
        self._module.load_rows(
            *(self._incoming, read_only(distances), self._all, read_only(overflow.view(np.uint8))),
            *(np.uint64(aggregate.limit), *all_read_only(groups.first - begin, node, groups.offset[begin:end])),
            *(wanted_of(groups, self._number), inside, state, load, out),
        )
        self._spare.append(state)
        if is_uniform:
            out[:, MISSED] = 0
        loads = self.of_arcs(load)
        self._add_inside(inside, loads)
        return out, loads

    def _inside(self, groups: Groups) -> Any:
        graph, demand = self._renumbered.graph, groups.demand
        assert demand is not None
        begin, end = int(demand.first[0]), int(demand.first[-1])
        ends = graph.tail[self.arc], graph.head[self.arc], groups.given[groups.first[:-1]], demand.node[begin:end]
        room = np.empty((len(groups) * self._num_nodes + end - begin, 3), np.int64)
        return self._module.Inside(*all_read_only(*ends), room, np.zeros(1, np.int64))

    def _add_inside(self, inside: Any, loads: Int64s) -> None:
        """Add what goes on inside of nodes of the graph that stand for cycles."""
        found = inside.found[: int(inside.number[0])]
        pairs, which = np.unique(found[:, :2], axis=0, return_inverse=True)
        amounts = np.zeros(len(pairs), np.int64)
        np.add.at(amounts, which.reshape(-1), found[:, 2])
        for (start, end), amount in zip(pairs.tolist(), amounts.tolist(), strict=True):
            loads[self._renumbered.path_inside(start, end)] += amount

    def of_arcs(self, load: Int64s) -> Int64s:
        """Return loads by the caller's arcs, given those by place."""
        found = np.zeros(self._num_arcs, np.int64)
        found[self.arc] = load
        return found

    def loads_by_all(self, aggregate: ArcLoads, groups: Groups, distances: Uint32s) -> tuple[Int64s, Int64s]:
        """Do what `loads` does for all rows, on all cores."""
        step = max(1, -(-len(distances) // num_cores()))

        def part(first: int) -> tuple[Int64s, Int64s]:
            end = min(first + step, len(distances))
            rows = distances[first:end]
            return self.loads(aggregate, groups.between(first, end), rows, np.zeros(len(rows), np.bool_))

        found = run_all([partial(part, first) for first in range(0, len(distances), step)])
        return np.concatenate([rows for rows, _ in found]), sum((loads for _, loads in found), np.zeros(1, np.int64))
