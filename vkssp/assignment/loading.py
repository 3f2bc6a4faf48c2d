"""All-or-nothing loading: the flow on each arc if a user class takes its shortest paths at given costs."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from vkssp.algorithm import AUTO, CPU, VULKAN
from vkssp.algorithms.choice import place_of
from vkssp.algorithms.phast import Phast
from vkssp.assignment.delays import Floats, dot
from vkssp.assignment.demand import CheckedClass
from vkssp.assignment.float_paths import float_loads
from vkssp.assignment.network import TrafficNetwork
from vkssp.errors import DistanceOverflowError, GraphError, QueryError
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE, Graph
from vkssp.hierarchy.prepare import prepare
from vkssp.prepared.aggregates import MISSED, ArcLoads, Int64s
from vkssp.prepared.seed_groups import Demand, Groups
from vkssp.resource import Resource
from vkssp.solver.demand import entries_of
from vkssp.solver.loads import arc_loads
from vkssp.solver.pool import SolverPool, solver_on
from vkssp.solver.solver import Solver

# Distances are integers of 32 bits: a cost that is this many times that of an average trip still fits.
_MARGIN = 64.0
# Part of the wanted gap by which rounding may change the cost of a trip, and gap that costs of 32 bits tell from none.
_SHARE, _LEAST_GAP = 0.25, 4e-7
#: Arcs of more weight get this one: sums of a path's weight and an arc's stay within 32 bits.
MOST_WEIGHT = 1 << 30
# Loads after which the time of the last ones tells.
_WARM = 2
#: Seconds of loads on the CPU with which a GPU may pay, although opening it takes as long as dozens of such loads.
WORTH_S = 0.01


class Loading(Resource):
    """All-or-nothing loading of one user class.

    Parameters
    ----------
    network : TrafficNetwork
        The network.
    user : CheckedClass
        The user class.
    algorithm : str
        See `vkssp.Solver`.
    device : Device, CpuDevice, int, str, list or None
        See `vkssp.Solver`; several devices make a `vkssp.SolverPool`.
    gap : float
        The relative gap that is wanted. If costs rounded to 32 bits would not do for it, paths are those of
        `vkssp.assignment.float_paths`.
    """

    def __init__(self, network: TrafficNetwork, user: CheckedClass, algorithm: str, device: Any, gap: float) -> None:
        super().__init__()
        self._search, self._network = network.search_graph(user.open_arcs), network
        #: The user class.
        self.user = user
        graph, search = self._search.graph, self._search
        entries = entries_of(user.demand, search.origins, search.destinations, graph.num_nodes, whole=False)
        fixed, self._exponent = entries.fixed()
        totals = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(fixed)])[entries.first])
        #: All demand, in vehicles.
        self.total = float(np.ldexp(float(totals.sum()), -self._exponent))
        count, is_used = np.diff(entries.first), totals > 0
        among = np.repeat(is_used, count)
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum(count[is_used])])
        demand = Demand(first, entries.nodes[among], fixed[among])
        most = int(totals.max(initial=0)), int(count[is_used].max(initial=0))
        self._aggregate = ArcLoads(UNREACHABLE - 1, False, *most)
        self._groups = Groups.of_nodes(entries.sources[is_used]).wanting(demand)
        self._graph = with_hierarchy(graph, algorithm)
        self._tolerance = _SHARE * max(gap, _LEAST_GAP)
        # Loads of the last time, and the cost of the dearest trip if 32 bits were too few then.
        self._last: Floats | None = None
        self._dearest = 0.0
        # If the caller leaves the place open, the CPU begins, and a GPU is tried if that takes long.
        is_open = algorithm == AUTO and device is None and not Device.selected()
        self._may_try = is_open and place_of(AUTO, None) == VULKAN
        self._solver = solver_on(self._graph, algorithm, CPU if self._may_try else device)
        self._rival: Solver | SolverPool | None = None
        self._rival_s, self._loads = 0.0, 0

    @property
    def device(self) -> str:
        """Name of the device that answered last."""
        return self._solver.answered_by[0].info.name

    def flows(self, cost: Floats) -> Floats:
        """Return the flow of the class on each arc of the network, in vehicles, at given costs, shape (num_arcs,).

        Costs are rounded to a 2**-26th part of an average trip, about, or not at all.

        Raises
        ------
        QueryError
            If there is no path for a part of the demand.
        """
        flow = np.zeros(self._network.num_arcs)
        if not self.total:
            return flow
        mine = cost[self._search.arcs]
        began = time.perf_counter()
        found = self._rounded(mine)
        if found is None:
            sums, missed, self._dearest = float_loads(self._search.graph, mine, self._groups)
        else:
            (sums, missed), self._dearest = found, 0.0
        if missed.any():
            raise self._no_path(int(np.argmax(missed > 0)))
        self._last = self._in_vehicles(sums)
        flow[self._search.arcs] = self._last
        if self._may_try and found is not None:
            self._choose(time.perf_counter() - began)
        return flow

    def _in_vehicles(self, sums: Int64s) -> Floats:
        found: Floats = np.ldexp(sums.astype(np.float64), -self._exponent)
        return found

    def _is_coarse(self, reach: float, flow: Floats, cost: Floats) -> bool:
        """Return whether costs are rounded too coarsely if the cost `reach` shall fit, given the flow on paths."""
        mean, arcs = dot(flow, cost) / self.total, float(flow.sum()) / self.total
        # The errors of a path's arcs differ in sign.
        return mean > 0 and math.sqrt(arcs) * reach / UNREACHABLE > self._tolerance * mean

    def _rounded(self, cost: Floats) -> tuple[Int64s, Int64s] | None:
        """Return the loads of arcs at costs that are rounded, and the demand of each group that finds no path.

        None if 32 bits are too few both for the dearest trip and to tell trips apart.
        """
        last = self._last
        if last is not None and self._is_coarse(self._dearest, last, cost):
            return None
        trip = float(cost.max(initial=0.0)) if last is None else dot(last, cost) / self.total
        reach, too_short = _MARGIN * trip or 1.0, 0.0
        while True:
            scaled = np.rint(cost * (UNREACHABLE / reach))
            self._solver.set_weights(np.clip(scaled, 1, MOST_WEIGHT).astype(np.uint32))
            try:
                rows, sums = arc_loads(self._solver, self._groups, self._aggregate)
                # A path without arcs that were made lighter is a shortest one.
                fits = not sums[scaled > MOST_WEIGHT].any()
            except DistanceOverflowError:
                fits = False
            if not fits:
                too_short, reach = reach, 4 * reach
                if last is not None and self._is_coarse(reach, last, cost):
                    return None
                continue
            last = self._in_vehicles(sums)
            if rows[:, MISSED].any() or not self._is_coarse(reach, last, cost):
                return sums, rows[:, MISSED]
            # Trips cost less than it seemed.
            reach = _MARGIN * dot(last, cost) / self.total
            if reach <= too_short:
                return None

    def _choose(self, spent: float) -> None:
        """Choose the place of the next loads, given the seconds of these."""
        self._loads += 1
        if self._loads < _WARM:  # the first loads compile kernels and make buffers
            return
        rival, self._loads = self._rival, 0
        if rival is None:
            self._may_try = spent >= WORTH_S
            if self._may_try:
                self._rival, self._rival_s, self._solver = self._solver, spent, solver_on(self._graph, AUTO, None)
            return
        self._may_try, self._rival = False, None
        slower = rival
        if self._rival_s < spent:
            self._solver, slower = rival, self._solver
        slower.close()

    def _no_path(self, row: int) -> QueryError:
        demand, search, names = self._groups.demand, self._search, self._network.zone_names
        assert demand is not None
        origin = int(np.flatnonzero(search.origins == self._groups.node[row])[0])
        distance = self._solver.distances(int(search.origins[origin]))
        here = slice(int(demand.first[row]), int(demand.first[row + 1]))
        missed = (distance[demand.node[here]] == UNREACHABLE) & (demand.amount[here] > 0)
        end = int(np.flatnonzero(search.destinations == demand.node[here][int(np.argmax(missed))])[0])
        return QueryError(
            f"no path leads from zone {names[origin]} to zone {names[end]}, between which the user class "
            f"{self.user.name!r} has a demand; open arcs for it, or leave the demand out"
        )

    def _release(self) -> None:
        for solver in (self._solver, self._rival):
            if solver is not None:
                solver.close()


def with_hierarchy(graph: Graph, algorithm: str) -> Graph:
    """Return a graph with a hierarchy, or as it is, if the algorithm needs none and there is none that is of use.

    Hierarchies pay even for graphs of some dozens of nodes: a sweep over them serves several zones at once.
    """
    if algorithm not in (AUTO, Phast.NAME):
        return graph
    try:
        return prepare(graph)
    except (GraphError, QueryError):
        if algorithm == Phast.NAME:
            raise
        return graph
