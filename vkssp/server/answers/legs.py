"""Routes, legs and steps as OSRM's answers have them."""

from __future__ import annotations

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


def route_answer(dataset: Dataset, graph: Graph, route: Route, request: Shown) -> dict[str, Any]:
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
    """
    if request.steps:
        dataset.need("ROUTE_STEPS")
    if request.steps or request.overview != "false" or request.annotations:
        dataset.need("ROUTE_GEOMETRY")
    legs = [leg_answer(graph, leg, request) for leg in route.legs]
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
    rounded = np.round(points[:, ::-1], 6)
    if len(rounded) == 1:
        rounded = np.repeat(rounded, 2, axis=0)
    return {"type": "LineString", "coordinates": rounded}


def summary(graph: Graph, leg: Leg) -> str:
    """Return the names of the two streets that a leg follows for the longest time, in the order of travel."""
    streets = graph.streets
    if streets is None:
        return ""
    name = streets.name[leg.arcs]
    if streets.ref is not None:
        unnamed = name == 0
        name = np.where(unnamed, streets.ref[leg.arcs], name)
    found, first, which = np.unique(name, return_index=True, return_inverse=True)
    time = np.bincount(which, graph.weight[leg.arcs] * leg.parts, len(found))
    time[found == 0] = -1.0  # streets without name and number
    longest = np.lexsort((first, -time))[:2]
    longest = longest[time[longest] >= 0]
    return ", ".join(streets.names[found[one]] for one in longest[np.argsort(first[longest])].tolist())


def leg_answer(graph: Graph, leg: Leg, request: Shown) -> dict[str, Any]:
    """Return a leg."""
    seconds = leg.weight if leg.duration_s is None else leg.duration_s
    made: dict[str, Any] = {
        "steps": [step_answer(step, leg, request) for step in leg.steps],
        "summary": summary(graph, leg) if request.steps else "",
        "duration": tenth(seconds),
        "weight": tenth(seconds),
        "distance": tenth(leg.distance_m),
    }
    if request.overview == "by_legs":
        made["geometry"] = geometry(leg.points, request.geometries)
    if request.annotations:
        made["annotation"] = annotation(graph, leg, request.annotations)
    return made


def step_answer(step: Step, leg: Leg, request: Shown) -> dict[str, Any]:
    """Return a step."""
    maneuver: dict[str, Any] = {"type": step.type, "location": location(step.lat, step.lon)}
    if step.modifier:
        maneuver["modifier"] = step.modifier
    if step.exit is not None:
        maneuver["exit"] = step.exit
    points = leg.points[step.first : step.last + 1]
    made: dict[str, Any] = {
        "maneuver": {"bearing_before": 0, "bearing_after": 0, **maneuver},
        "name": step.name,
        "mode": "driving",
        "driving_side": "right",
        "duration": tenth(step.duration_s or 0.0),
        "weight": tenth(step.duration_s or 0.0),
        "distance": tenth(step.distance_m),
        "geometry": geometry(np.repeat(points, 2 if len(points) == 1 else 1, axis=0), request.geometries),
        "intersections": [{"location": location(step.lat, step.lon), "bearings": [], "entry": []}],
    }
    if step.ref:
        made["ref"] = step.ref
    return made
