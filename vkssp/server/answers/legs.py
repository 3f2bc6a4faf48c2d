"""Routes, legs and steps as OSRM's answers have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.metric import duration
from vkssp.route import Leg, Route, Step
from vkssp.server.answers.annotations import annotation, cut_pieces
from vkssp.server.answers.intersections import IntersectionsJson
from vkssp.server.answers.numbers import location, of_unit, tenth
from vkssp.server.dataset import Dataset
from vkssp.server.polyline import encoded
from vkssp.server.requests import Shown
from vkssp.server.simplification import simplified


def route_answer(dataset: Dataset, graph: Graph, metric: str, route: Route, request: Shown) -> dict[str, Any]:
    """Return a route.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    graph : Graph
        Its graph, with the weights that the route was found with.
    metric : str
        The metric that the route minimizes, "distance" or that of the graph, "duration"; see `Router.metric`.
    route : Route
        The route.
    request : Shown
        How it is shown.
    """
    if request.steps:
        dataset.need("ROUTE_STEPS")
    if request.steps or request.overview != "false" or request.annotations:
        dataset.need("ROUTE_GEOMETRY")
    by_distance = metric == "distance"
    legs = [_leg_answer(graph, by_distance, leg, request) for leg in route.legs]
    made: dict[str, Any] = {
        "legs": legs,
        "weight_name": metric if by_distance else _weight_name(graph),
        "distance": tenth(route.distance_m or 0.0),
        "duration": tenth(sum(leg["duration"] for leg in legs)),
        "weight": of_unit(sum(leg["weight"] for leg in legs), None if by_distance else graph.scale),
    }
    if request.overview in ("simplified", "full") and route.points is not None:
        points = whole_line(graph, route) if request.overview == "full" else simplified(route.points)
        made["geometry"] = geometry(points, request.geometries)
    return made


def whole_line(graph: Graph, route: Route) -> npt.NDArray[np.float64]:
    """Return the points of a route with those that OSRM's answers repeat, so that there is one more than pieces.

    These are points at which legs turn into another street, at which a leg begins although its first piece ends there,
    and at which one ends although its last piece begins there.
    """
    streets, legs = graph.streets, route.legs
    if streets is None:
        return np.asarray(route.points)
    cuts = [cut_pieces(streets, leg) for leg in legs]
    begun = [begin is not None and begin[1] == 1.0 for begin, _ in cuts]
    ended = [end is not None and end[1] == 0.0 for _, end in cuts]
    joined = [legs[0].points[:1]] * begun[0]
    for number, leg in enumerate(legs):
        repeats = 0
        if number:
            ends = legs[number - 1].arcs[-1:], leg.arcs[:1]
            turns = len(ends[0]) and len(ends[1]) and streets.polyline[ends[0][0]] != streets.polyline[ends[1][0]]
            repeats = max(bool(turns), ended[number - 1] + begun[number])
        joined += [leg.points[:1]] * repeats + [leg.points[min(number, 1) :]]
    return np.concatenate(joined + [legs[-1].points[-1:]] * ended[-1])


def _weight_name(graph: Graph) -> str:
    name = "" if graph.streets is None else graph.streets.weight_name
    return name or ("weight" if duration(graph, 1) is None else "duration")


def geometry(points: npt.NDArray[np.float64], form: str) -> str | dict[str, Any]:
    """Return a line: latitude and longitude in degrees, shape (k, 2), as a polyline or as GeoJSON."""
    if form != "geojson":
        return encoded(points, 6 if form == "polyline6" else 5)
    rounded = np.ascontiguousarray(np.round(points[:, ::-1], 6))
    if len(rounded) == 1:
        rounded = np.repeat(rounded, 2, axis=0)
    return {"type": "LineString", "coordinates": rounded}


def _summary(graph: Graph, leg: Leg) -> str:
    """Return the names of the two streets that a leg follows for the longest time, in the order of travel."""
    streets = graph.streets
    if streets is None:
        return ""
    arcs, parts = leg.arcs, leg.parts
    name = streets.name[arcs]
    if streets.ref is not None:
        name = np.where(name == 0, streets.ref[arcs], name)
    found, first, which = np.unique(name, return_index=True, return_inverse=True)
    time = np.bincount(which, graph.weight[arcs] * parts, len(found))
    time[found == 0] = -1.0  # streets without name and number
    longest = np.lexsort((first, -time))[:2]
    longest = longest[time[longest] >= 0]
    return ", ".join(streets.names[found[one]] for one in longest[np.argsort(first[longest])].tolist())


def _leg_answer(graph: Graph, by_distance: bool, leg: Leg, request: Shown) -> dict[str, Any]:
    """Return a leg, whose weights are metres if it minimizes these."""
    weight = tenth(leg.distance_m) if by_distance else of_unit(_weight(graph, leg), graph.scale)
    intersections = IntersectionsJson()
    made: dict[str, Any] = {
        "steps": [_step_answer(graph, by_distance, step, leg, request, intersections) for step in leg.steps],
        "summary": _summary(graph, leg) if request.steps else "",
        "duration": tenth(0.0 if by_distance and leg.duration_s is None else _seconds(leg)),
        "weight": weight,
        "distance": tenth(leg.distance_m),
    }
    if request.overview == "by_legs":
        made["geometry"] = geometry(leg.points, request.geometries)
    if request.annotations:
        made["annotation"] = annotation(graph, leg, request.annotations)
        if by_distance and "weight" in made["annotation"]:
            made["annotation"]["weight"] = annotation(graph, leg, ("distance",))["distance"]
    return made


def _seconds(leg: Leg) -> float:
    return float(leg.weight) if leg.duration_s is None else leg.duration_s


def _weight(graph: Graph, leg: Leg) -> float:
    """Return the weight of a leg in OSRM's unit, a second if weights are durations."""
    return _seconds(leg) if graph.scale is None else float(leg.weight)


def _step_answer(
    graph: Graph, by_distance: bool, step: Step, leg: Leg, request: Shown, intersections: IntersectionsJson
) -> dict[str, Any]:
    """Return a step."""
    maneuver: dict[str, Any] = {
        "type": step.type,
        "location": location(step.lat, step.lon),
        "bearing_before": step.bearing_before,
        "bearing_after": step.bearing_after,
    }
    if step.modifier:
        maneuver["modifier"] = step.modifier
    if step.exit is not None:
        maneuver["exit"] = step.exit
    points = leg.points[step.first : step.last + 1]
    seconds, metres = step.duration_s or 0.0, tenth(step.distance_m)
    weight = of_unit(seconds if graph.scale is None else step.weight * graph.scale, graph.scale)
    made: dict[str, Any] = {
        "maneuver": maneuver,
        "name": step.name,
        "mode": step.mode,
        "driving_side": step.driving_side,
        "duration": tenth(seconds),
        "weight": metres if by_distance else weight,
        "distance": metres,
        "geometry": geometry(np.repeat(points, 2 if len(points) == 1 else 1, axis=0), request.geometries),
        "intersections": intersections.of(step.intersections),
    }
    known = {name: getattr(step, name) for name in ("ref", "pronunciation", "destinations", "exits", "rotary_name")}
    return made | {name: text for name, text in known.items() if text}
