"""Loads of the arcs of shortest-path trees, computed by the CPU.

The kernels (`vkssp.cpu.kernels.trees`) number arcs by head: the arcs into node 0, then those into node 1, and so on.
Here these numbers are made, and results are put into the order of the caller's ids.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.cpu.device import all_read_only, read_only
from vkssp.graph import Uint32s
from vkssp.graph.csr import rows_of
from vkssp.jit import kernels
from vkssp.prepared.aggregates import MISSED, ArcLoads
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups

Int64s = npt.NDArray[np.int64]


def wanted_of(groups: Groups, number: Uint32s | None = None) -> Any:
    """Return the demand of groups as kernels take it, with nodes by the caller's ids, or by `number` of these."""
    wanted, demand = kernels("vkssp.cpu.kernels.trees").Wanted, groups.demand
    if demand is None:
        return wanted(*all_read_only(np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int64)))
    begin, end = int(demand.first[0]), int(demand.first[-1])
    node = demand.node[begin:end]
    node = node if number is None else number[node]
    return wanted(*all_read_only(demand.first - begin, node, demand.amount[begin:end]))


class Trees:
    """Maker of the loads of arcs from rows of distances.

    It works in the caller's numbering, in which neighbours are often close.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    """

    def __init__(self, renumbered: RenumberedGraph) -> None:
        graph = renumbered.graph
        self._module = kernels("vkssp.cpu.kernels.trees")
        if renumbered.is_identity and not renumbered.contracted:
            first, arcs, self._arc = renumbered.reverse()
        else:
            first, by_head = rows_of(graph.head, graph.num_nodes)
            arcs, self._arc = np.stack([graph.tail[by_head], graph.weight[by_head]], axis=1).astype(np.uint32), by_head
        self._graph = graph
        self._arc = read_only(self._arc.astype(np.int64))
        self._incoming = self._module.Incoming(read_only(first), read_only(arcs))
        self._cycles = self._cycles_of(renumbered)
        self._all = read_only(np.arange(graph.num_nodes, dtype=np.uint32))
        self._spare: list[Int64s] = []

    def _cycles_of(self, renumbered: RenumberedGraph) -> Any:
        """Return the cycles of weight zero as kernels take them; without such cycles all arrays are empty."""
        if not renumbered.contracted:
            empty = np.empty(0, np.int64)
            return self._module.Cycles(*all_read_only(np.empty(0, np.uint32), empty, empty, empty))
        graph, place = self._graph, np.full(self._graph.num_arcs + 1, -1, np.int64)
        place[self._arc] = np.arange(len(self._arc))
        into, out = renumbered.zero_trees.arcs()  # -1 has the last place, which is -1
        after = np.append(graph.head.astype(np.int64), -1)[out]
        return self._module.Cycles(*all_read_only(renumbered.node, place[into], place[out], after))

    def loads(
        self, aggregate: ArcLoads, groups: Groups, distances: Uint32s, overflow: npt.NDArray[np.bool_]
    ) -> tuple[Int64s, Int64s]:
        """Return the loads of rows.

        Parameters
        ----------
        aggregate : ArcLoads
            What is asked for.
        groups : Groups
            The groups of seeds, one for each row.
        distances : numpy.ndarray
            Distances of the caller's nodes, shape (rows, num_nodes), uint32.
        overflow : numpy.ndarray
            Rows that are left out, shape (rows,), bool.

        Returns
        -------
        rows : numpy.ndarray
            See `ArcLoads`, shape (rows, 2), int64.
        sums : numpy.ndarray
            Loads of the caller's arcs, all rows together, and what else is watched, shape (k,), int64.
        """
        try:
            state = self._spare.pop()
        except IndexError:
            state = np.empty((self._graph.num_nodes, 2), np.int64)
        begin, end = int(groups.first[0]), int(groups.first[-1])
        load, out = np.zeros(len(self._arc), np.int64), np.zeros((len(distances), aggregate.width), np.int64)
        watched, walked, chosen, turned = self._watched(aggregate, groups)
        self._module.load_rows(
            *(self._incoming, self._arc, self._cycles, read_only(distances), self._all),
            *(read_only(overflow.view(np.uint8)), np.uint64(aggregate.limit)),
            *all_read_only(groups.first - begin, groups.given[begin:end], groups.offset[begin:end]),
            *(wanted_of(groups), watched, walked, state, load, out, chosen, turned),
        )
        self._spare.append(state)
        if groups.demand is None:
            out[:, MISSED] = 0
        by_arc = np.empty((1 + len(chosen), len(load)), np.int64)
        by_arc[0, self._arc], by_arc[1:, self._arc] = load, chosen
        return out, np.concatenate([by_arc.reshape(-1), turned])

    def _watched(self, aggregate: ArcLoads, groups: Groups) -> tuple[Any, Any, Int64s, Int64s]:
        """Return what kernels note along paths, room for it, and the loads of sets and of turns that they add to."""
        watch, graph, module = aggregate.watch, self._graph, self._module
        none, entered = np.empty(0, np.int64), np.empty(len(self._cycles.group), np.int64)
        if watch is None or groups.demand is None:
            sums, sets = np.empty((0, 0), np.float64), np.empty(0, np.uint64)
            watched = module.Watched(*all_read_only(sums, sets, none), np.int64(0), sums, sets)
            walked = module.Walked(entered, np.empty(0, np.uint32), sums, sets, none)
            return watched, walked, np.empty((0, graph.num_arcs), np.int64), none
        turns, num_turns = none, 0
        if watch.has_turns:
            count = np.diff(self._incoming.first.astype(np.int64))[graph.tail]
            turns, num_turns = (np.cumsum(count) - count)[self._arc], int(count.sum())
        marks = watch.marks[self._arc] if watch.num_sets else np.empty(0, np.uint64)
        given = all_read_only(watch.values[self._arc], marks, turns)
        watched = module.Watched(*given, np.int64(groups.demand.first[0]), watch.sums, watch.met)
        walked = module.Walked(
            entered,
            np.empty(graph.num_nodes, np.uint32),
            np.empty((graph.num_nodes, watch.values.shape[1])),
            np.empty(graph.num_nodes, np.uint64),
            np.empty(graph.num_nodes if watch.num_sets else 0, np.int64),
        )
        return watched, walked, np.zeros((watch.num_sets, graph.num_arcs), np.int64), np.zeros(num_turns, np.int64)

    def loads_by_all(self, aggregate: ArcLoads, groups: Groups, distances: Uint32s) -> tuple[Int64s, Int64s]:
        """Do what `loads` does for all rows, on all cores."""
        step = max(1, -(-len(distances) // num_cores()))

        def part(first: int) -> tuple[Int64s, Int64s]:
            end = min(first + step, len(distances))
            rows = distances[first:end]
            return self.loads(aggregate, groups.between(first, end), rows, np.zeros(len(rows), np.bool_))

        found = run_all([partial(part, first) for first in range(0, len(distances), step)])
        return np.concatenate([rows for rows, _ in found]), sum((sums for _, sums in found), np.zeros(1, np.int64))
