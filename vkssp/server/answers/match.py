"""Answers of the service ``match``."""

from __future__ import annotations

import math
from typing import Any

from vkssp.errors import NoRouteError, QueryError
from vkssp.routing.matching import RADIUS_M, REACH, Tracepoint
from vkssp.routing.router import Router
from vkssp.routing.stops import Stop
from vkssp.server.answers.legs import route_answer
from vkssp.server.answers.numbers import digits
from vkssp.server.answers.places import router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.requests import MatchRequest, in_order

#: Bounds of the radius of a point of a trace.
_LEAST_M, _MOST_M = 1e-3, 1000.0


def match(dataset: Dataset, request: MatchRequest) -> dict[str, Any]:
    """Return the routes along which a trace leads, and where they pass its points."""
    router = router_of(dataset, request)
    radiuses = None if request.radiuses is None else [_radius(radius) for radius in request.radiuses]
    with router.solver.holding():
        graph = router.graph
        try:
            found = router.match(
                request.coordinates,  # OSRM heeds neither hints, approaches nor snapping here
                request.timestamps,
                radiuses,
                gaps=request.gaps,
                tidy=request.tidy,
                bearings=request.bearings,
                waypoints=in_order(request.waypoints),
                steps=request.steps,
            )
        except NoRouteError as error:
            if not any(_has_street(router, request, radiuses, at) for at in range(len(request.coordinates))):
                raise RequestError("NoSegment", "Could not find a matching segment for any coordinate.") from error
            raise RequestError("NoMatch", "Could not match the trace.") from error
    answer: dict[str, Any] = {
        "matchings": [
            {**route_answer(dataset, graph, router.metric, route, request), "confidence": digits(confidence)}
            for route, confidence in zip(found.routes, found.confidence, strict=True)
        ]
    }
    if not request.skip_waypoints:
        answer["tracepoints"] = [None if one is None else _tracepoint(one, request) for one in found.tracepoints]
    return answer


def _radius(radius: float | None) -> float | None:
    """Return a radius within the bounds of those of a trace, None for the default, also where it is unlimited."""
    if radius is None or not 0 <= radius < math.inf:
        return None
    return min(max(radius, _LEAST_M), _MOST_M)


def _has_street(router: Router, request: MatchRequest, radiuses: list[float | None] | None, at: int) -> bool:
    """Return whether there is a street on which the vehicle may have been at a coordinate."""
    radius = (None if radiuses is None else radiuses[at]) or RADIUS_M
    bearing = None if request.bearings is None else request.bearings[at]
    try:
        router.nearest(Stop(*request.coordinates[at], bearing, REACH * radius), snapping="any")
    except QueryError:
        return False
    return True


def _tracepoint(one: Tracepoint, request: MatchRequest) -> dict[str, Any]:
    return {
        **waypoint(one, request),
        "matchings_index": one.matching,
        "waypoint_index": one.waypoint,
        "alternatives_count": one.alternatives,
    }
