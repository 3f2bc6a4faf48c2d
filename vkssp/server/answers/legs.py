"""Routes, legs and steps as OSRM's answers have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.route import Leg, Route, Step
from vkssp.server.answers.annotations import annotation
from vkssp.server.answers.numbers import location, tenth
from vkssp.server.dataset import Dataset
from vkssp.server.polyline import encoded
from vkssp.server.requests import Shown
from vkssp.server.simplification import simplified


def route_answer(
    dataset: Dataset, graph: Graph, route: Route, request: Shown, waypoints: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return a route.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    graph : Graph
        Its graph, with the weights that the route was found with.
    route : Route
        The route.
    request : Shown
        How it is shown.
    waypoints : sequence of int, optional
        Places of the route, from 0, at which legs begin and end; the others only shape it. All by default.
    """
    if request.steps:
        dataset.need("ROUTE_STEPS")
    if request.steps or request.overview != "false" or request.annotations:
        dataset.need("ROUTE_GEOMETRY")
    ends = range(1, len(route.legs) + 1) if waypoints is None else waypoints[1:]
    groups = [route.legs[begin:end] for begin, end in pairwise((0, *ends))]
    legs = [_leg_answer(graph, group, request) for group in groups]
    made: dict[str, Any] = {
        "legs": legs,
        "weight_name": "duration" if route.duration_s is not None else "weight",
        "distance": tenth(route.distance_m or 0.0),
        **_sums(legs),
    }
    if request.overview in ("simplified", "full") and route.points is not None:
        points = route.points if request.overview == "full" else simplified(route.points)
        made["geometry"] = geometry(points, request.geometries)
    return made


def _sums(legs: list[dict[str, Any]]) -> dict[str, float]:
    return {name: tenth(sum(leg[name] for leg in legs)) for name in ("duration", "weight")}


def geometry(points: npt.NDArray[np.float64], form: str) -> str | dict[str, Any]:
    """Return a line: latitude and longitude in degrees, shape (k, 2), as a polyline or as GeoJSON."""
    if form != "geojson":
        return encoded(points, 6 if form == "polyline6" else 5)
    rounded = np.ascontiguousarray(np.round(points[:, ::-1], 6))
    if len(rounded) == 1:
        rounded = np.repeat(rounded, 2, axis=0)
    return {"type": "LineString", "coordinates": rounded}


def _summary(graph: Graph, legs: Sequence[Leg]) -> str:
    """Return the names of the two streets that legs follow for the longest time, in the order of travel."""
    streets = graph.streets
    if streets is None:
        return ""
    arcs, parts = (np.concatenate([getattr(leg, name) for leg in legs]) for name in ("arcs", "parts"))
    name = streets.name[arcs]
    if streets.ref is not None:
        name = np.where(name == 0, streets.ref[arcs], name)
    found, first, which = np.unique(name, return_index=True, return_inverse=True)
    time = np.bincount(which, graph.weight[arcs] * parts, len(found))
    time[found == 0] = -1.0  # streets without name and number
    longest = np.lexsort((first, -time))[:2]
    longest = longest[time[longest] >= 0]
    return ", ".join(streets.names[found[one]] for one in longest[np.argsort(first[longest])].tolist())


def _leg_answer(graph: Graph, legs: Sequence[Leg], request: Shown) -> dict[str, Any]:
    """Return legs, one after the other, as one leg."""
    seconds = sum(leg.weight if leg.duration_s is None else leg.duration_s for leg in legs)
    made: dict[str, Any] = {
        "steps": [_step_answer(part, request) for part in _steps(legs)],
        "summary": _summary(graph, legs) if request.steps else "",
        "duration": tenth(seconds),
        "weight": tenth(seconds),
        "distance": tenth(sum(leg.distance_m for leg in legs)),
    }
    if request.overview == "by_legs":
        points = np.concatenate([legs[0].points, *(leg.points[1:] for leg in legs[1:])])
        made["geometry"] = geometry(points, request.geometries)
    if request.annotations:
        made["annotation"] = annotation(graph, legs, request.annotations)
    return made


@dataclass
class _Part:
    """Step, and the part of a route to the next one."""

    step: Step
    points: npt.NDArray[np.float64]
    metres: float
    seconds: float


def _steps(legs: Sequence[Leg]) -> list[_Part]:
    """Return the steps of legs, without those at the places between them, where the route goes on."""
    parts: list[_Part] = []
    for leg in legs:
        own = [
            _Part(step, leg.points[step.first : step.last + 1], step.distance_m, step.duration_s or 0.0)
            for step in leg.steps
        ]
        if len(parts) > 1 and len(own) > 1:
            parts.pop()  # the arrival
            before, departure = parts[-1], own.pop(0)
            before.points = np.concatenate([before.points, departure.points[1:]])
            before.metres += departure.metres
            before.seconds += departure.seconds
        parts += own
    return parts


def _step_answer(part: _Part, request: Shown) -> dict[str, Any]:
    """Return a step."""
    step = part.step
    maneuver: dict[str, Any] = {"type": step.type, "location": location(step.lat, step.lon)}
    if step.modifier:
        maneuver["modifier"] = step.modifier
    if step.exit is not None:
        maneuver["exit"] = step.exit
    points = part.points
    made: dict[str, Any] = {
        "maneuver": {"bearing_before": 0, "bearing_after": 0, **maneuver},
        "name": step.name,
        "mode": "driving",
        "driving_side": "right",
        "duration": tenth(part.seconds),
        "weight": tenth(part.seconds),
        "distance": tenth(part.metres),
        "geometry": geometry(np.repeat(points, 2 if len(points) == 1 else 1, axis=0), request.geometries),
        "intersections": [{"location": location(step.lat, step.lon), "bearings": [], "entry": []}],
    }
    if step.ref:
        made["ref"] = step.ref
    return made
