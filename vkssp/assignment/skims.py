"""Skims: costs between all zones at an equilibrium, and sums of other values along the same paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import AUTO
from vkssp.assignment.delays import Floats
from vkssp.assignment.demand import CheckedClass
from vkssp.assignment.equilibrium import Equilibrium
from vkssp.assignment.loading import MOST_WEIGHT, with_hierarchy
from vkssp.assignment.network import SearchGraph
from vkssp.checks import choice, instance, values_of_arcs
from vkssp.errors import DistanceOverflowError
from vkssp.graph import UNREACHABLE
from vkssp.solver.pool import SolverPool, solver_on
from vkssp.solver.solver import Solver

# Cost that 32 bits hold, as a multiple of the cost of the dearest trip. With less than the least one, arcs of cheapest
# paths might weigh more than `MOST_WEIGHT`; with more than the most one, costs would be rounded too coarsely.
_LEAST_REACH, _MOST_REACH = 4.0, 16.0


def skims(
    found: Equilibrium,
    values: Mapping[str, npt.ArrayLike] | None = None,
    *,
    user: str | None = None,
    algorithm: str = AUTO,
    device: Any = None,
) -> dict[str, Floats]:
    """Return the costs of the cheapest paths between all zones at an equilibrium, and what adds up along these paths.

    Parameters
    ----------
    found : Equilibrium
        The equilibrium.
    values : mapping of str to array_like, optional
        Further values of arcs by name, such as `TrafficNetwork.length`, shape (num_arcs,) each.
    user : str, optional
        Name of the user class whose fixed costs and open arcs count; by default the first one.
    algorithm, device : optional
        See `vkssp.Solver`.

    Returns
    -------
    dict of str to numpy.ndarray
        ``"cost"``, ``"time"`` and the given names: from each zone to each zone, shape (num_zones, num_zones), float64;
        NaN where no path leads, 0 within a zone. Paths are found at costs that are rounded to a part of 2**-28 of the
        dearest trip, about; the sums are those of the exact numbers.

    Raises
    ------
    QueryError
        If an argument is invalid.

    Examples
    --------
    >>> from vkssp.assignment import BPR, TrafficNetwork, equilibrium, skims
    >>> network = TrafficNetwork(2, [0, 0], [1, 1], BPR([10.0, 15.0], [100, 200]), zones=[0, 1], length=[8, 9])
    >>> found = equilibrium(network, [[0, 100], [0, 0]])
    >>> skims(found, {"km": network.length})["km"].tolist()
    [[0.0, 8.0], [nan, 0.0]]
    """
    network = instance(found, Equilibrium, "found", "give what vkssp.assignment.equilibrium returns").network
    one = _class_of(found, user)
    sums = {"cost": found.time + one.fixed, "time": found.time}
    sums |= values_of_arcs({} if values is None else values, "values", network.num_arcs)
    search = network.search_graph(one.open_arcs)
    with solver_on(with_hierarchy(search.graph, algorithm), algorithm, device) as solver:
        tables = _along_paths(solver, search, {name: numbers[search.arcs] for name, numbers in sums.items()})
    for table in tables.values():
        np.fill_diagonal(table, 0.0)
    return tables


def _class_of(found: Equilibrium, user: str | None) -> CheckedClass:
    classes = {one.name: one for one in found.classes}
    return next(iter(classes.values())) if user is None else classes[choice(user, "user", classes)]


def _along_paths(solver: Solver | SolverPool, search: SearchGraph, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the sums of values along the cheapest paths between all zones."""
    cost, each = values["cost"], np.ones((len(search.origins), len(search.destinations)), np.int64)
    reach, has_grown = _LEAST_REACH * float(cost.sum()) or 1.0, False
    while True:
        weights = np.clip(np.rint(cost * (UNREACHABLE / reach)), 1, MOST_WEIGHT)
        solver.set_weights(weights.astype(np.uint32))
        try:
            sums: dict[str, Floats] = solver.flows(search.origins, search.destinations, each, skims=values).skims
        except DistanceOverflowError:  # of a node that is no zone
            reach, has_grown = 2 * reach, True
            continue
        # No trip is dearer: the sums are those of paths, cheapest ones or not.
        far = float(np.nanmax(sums["cost"], initial=0.0))
        if has_grown or reach <= _MOST_REACH * far or not far:
            return sums
        reach = 1.25 * _LEAST_REACH * far
