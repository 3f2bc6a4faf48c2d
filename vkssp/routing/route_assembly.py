"""Assembly of routes from the paths between their places."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.metric import duration
from vkssp.prepared.terminals import named
from vkssp.route import Leg, Route
from vkssp.routing.leg_geometry import LegGeometry
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.places import LatLon, place_of
from vkssp.routing.snap import StreetIndex
from vkssp.routing.steps import steps_of
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver


def leg_of(
    index: StreetIndex,
    graph: Graph,
    begin: tuple[LatLon, Snap],
    end: tuple[LatLon, Snap],
    leg_path: LegPath,
    step_context: tuple[int, bool] | None,
) -> Leg:
    """Return the leg along a path between two places, each given with the point that it was snapped to.

    `step_context` is the number of the leg and whether it is the last one; None if the leg gets no steps.
    """
    geometry = LegGeometry(index, graph, leg_path, begin[1], end[1])
    destination = place_of(index, *end)
    # Neither function keeps the index, which has weights.
    steps = (
        tuple
        if step_context is None
        else partial(steps_of, index.step_tables, geometry, destination, duration(graph, 1), *step_context)
    )
    return Leg.deferring(
        {"points": lambda: geometry.points, "steps": steps},
        nodes=named(index.graph, geometry.nodes),
        arcs=geometry.arcs,
        parts=geometry.parts,
        weight=index.graph.units.value(leg_path.weight),
        distance_m=float(geometry.metres.sum()),
        duration_s=duration(graph, int(geometry.weights.sum())),
        origin=place_of(index, *begin),
        destination=destination,
    )


def _points(legs: Sequence[Leg]) -> npt.NDArray[np.float64]:
    return _concatenated([legs[0].points, *(leg.points[1:] for leg in legs[1:])])


def _concatenated(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays as one; a single array need not be copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def joined(legs: Sequence[Leg], solver: Solver | SolverPool, began: float) -> Route:
    """Return the route that consists of some legs; `began` is the `time.perf_counter` at the start of the query."""
    device, algorithm = solver.answered_by
    durations = [leg.duration_s for leg in legs if leg.duration_s is not None]
    return Route.deferring(
        {"points": partial(_points, legs)},
        nodes=_concatenated([leg.nodes for leg in legs]),
        arcs=_concatenated([leg.arcs for leg in legs]),
        weight=sum(leg.weight for leg in legs),
        distance_m=sum(leg.distance_m for leg in legs),
        duration_s=sum(durations) if len(durations) == len(legs) else None,
        origin=legs[0].origin,
        destination=legs[-1].destination,
        device=device.info.name,
        algorithm=algorithm,
        query_ms=1e3 * (time.perf_counter() - began),
        parts=_concatenated([leg.parts for leg in legs]),
        legs=tuple(legs),
    )
