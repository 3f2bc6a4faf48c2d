"""Assembly of routes from the paths between their places."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.metric import duration
from vkssp.prepared.terminals import named
from vkssp.route import Leg, Route, Step, osm_nodes, without_repeats
from vkssp.routing.leg_geometry import LegGeometry
from vkssp.routing.legs import LegPath, merged
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
    is_searched = graph is index.graph
    weights_of = None if is_searched and step_context is None else graph
    geometry = LegGeometry(index, weights_of, leg_path, begin[1], end[1])
    destination = place_of(index, *end)
    # Neither function keeps the index, which has weights.
    steps = (
        tuple
        if step_context is None
        else partial(steps_of, index.step_tables, geometry, destination, duration(graph, 1), *step_context)
    )
    return Leg.deferring(
        {
            "points": lambda: geometry.shape[0],
            "steps": steps,
            "osm_nodes": partial(osm_nodes, index.graph.streets, geometry.nodes),
        },
        nodes=named(index.graph, geometry.nodes),
        arcs=geometry.arcs,
        parts=geometry.parts,
        weight=index.graph.units.value(leg_path.weight),
        distance_m=float(geometry.metres.sum()) + sum(geometry.outside_m),
        duration_s=_duration(graph, leg_path, geometry, is_searched),
        origin=place_of(index, *begin),
        destination=destination,
    )


def legs_of(
    index: StreetIndex,
    graph: Graph,
    ends: Sequence[tuple[LatLon, Snap]],
    leg_paths: Sequence[LegPath],
    ends_of_legs: Sequence[int],
    steps: bool,
) -> list[Leg]:
    """Return the legs of a route.

    Parameters
    ----------
    index, graph
        See `leg_of`.
    ends : sequence of (tuple of (float, float), Snap)
        The places, each with the point that it was snapped to.
    leg_paths : sequence of LegPath
        The paths from each of them to the next.
    ends_of_legs : sequence of int
        Numbers of the places at which legs begin and end.
    steps : bool
        Whether legs get steps.
    """
    legs = []
    for number, (first, last) in enumerate(pairwise(ends_of_legs), 1):
        context = (number, last == len(leg_paths)) if steps else None
        parts = leg_paths[first:last]
        whole = parts[0] if len(parts) == 1 else merged(index, parts)
        if whole is not None:
            legs.append(leg_of(index, graph, ends[first], ends[last], whole, context))
        else:
            pairs = zip(pairwise(ends[first : last + 1]), parts, strict=True)
            legs.append(through([leg_of(index, graph, *pair, part, context) for pair, part in pairs]))
    return legs


def _duration(graph: Graph, leg_path: LegPath, geometry: LegGeometry, is_searched: bool) -> float | None:
    """Return the duration of a leg, whose weight it is if searches minimize the weights of the graph."""
    if is_searched:
        return duration(graph, leg_path.weight)
    # As in OSRM, a part of a street that weighs no whole unit takes no time either.
    weight = 0 if leg_path.direct and leg_path.weight == 0 else int(geometry.weights.sum())
    seconds = duration(graph, weight)
    return None if seconds is None else seconds + sum(geometry.outside_s)


def through(legs: Sequence[Leg]) -> Leg:
    """Return legs, one after the other, as one leg that turns round between them."""

    def steps() -> tuple[Step, ...]:
        found: list[Step] = []
        passed = 0
        for number, leg in enumerate(legs):
            own = leg.steps[: len(leg.steps) - (number < len(legs) - 1)]
            moved = [replace(step, first=step.first + passed, last=step.last + passed) for step in own]
            if number and moved:
                moved[0] = replace(moved[0], type="uturn", modifier="uturn", instruction="Make a U-turn")
            found += moved
            passed += len(leg.points) - 1
        return tuple(found)

    whole = end_to_end(legs)
    known = {key: value for key, value in vars(whole).items() if key not in ("_makers", "steps")}
    return Leg.deferring(
        {"points": lambda: whole.points, "osm_nodes": lambda: whole.osm_nodes, "steps": steps}, **known
    )


def end_to_end(legs: Sequence[Leg]) -> Leg:
    """Return legs, one after the other, as a leg without steps."""
    durations = [leg.duration_s for leg in legs if leg.duration_s is not None]
    return Leg.deferring(
        {
            "points": lambda: np.concatenate([legs[0].points, *(leg.points[1:] for leg in legs[1:])]),
            "osm_nodes": partial(_osm_nodes, legs),
        },
        nodes=np.concatenate([leg.nodes for leg in legs]),
        arcs=np.concatenate([leg.arcs for leg in legs]),
        parts=np.concatenate([leg.parts for leg in legs]),
        weight=sum(leg.weight for leg in legs),
        distance_m=sum(leg.distance_m for leg in legs),
        duration_s=sum(durations) if len(durations) == len(legs) else None,
        origin=legs[0].origin,
        destination=legs[-1].destination,
        steps=(),
    )


def _osm_nodes(legs: Sequence[Leg]) -> npt.NDArray[np.int64] | None:
    ids = [leg.osm_nodes for leg in legs if leg.osm_nodes is not None]
    return without_repeats(np.concatenate(ids)) if len(ids) == len(legs) else None


def joined(legs: Sequence[Leg], solver: Solver | SolverPool, began: float) -> Route:
    """Return the route that consists of some legs; `began` is the `time.perf_counter` at the start of the query."""
    device, algorithm = solver.answered_by
    return route_of(legs, device.info.name, algorithm, 1e3 * (time.perf_counter() - began))


def route_of(legs: Sequence[Leg], device: str, algorithm: str, query_ms: float) -> Route:
    """Return the route of some legs, found by a device and an algorithm in some milliseconds."""
    whole = legs[0] if len(legs) == 1 else end_to_end(legs)
    return Route.deferring(
        {"points": lambda: whole.points, "osm_nodes": lambda: whole.osm_nodes},
        nodes=whole.nodes,
        arcs=whole.arcs,
        weight=whole.weight,
        distance_m=whole.distance_m,
        duration_s=whole.duration_s,
        origin=whole.origin,
        destination=whole.destination,
        device=device,
        algorithm=algorithm,
        query_ms=query_ms,
        parts=whole.parts,
        legs=tuple(legs),
    )
