"""Answers of the service ``match``."""

from __future__ import annotations

import math
from typing import Any

from vkssp.errors import NoRouteError
from vkssp.routing.matching import Tracepoint
from vkssp.server.answers.legs import route_answer
from vkssp.server.answers.numbers import digits
from vkssp.server.answers.places import router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.requests import MatchRequest


def match(dataset: Dataset, request: MatchRequest) -> dict[str, Any]:
    """Return the routes along which a trace leads, and where they pass its points."""
    router = router_of(dataset, request)
    radiuses = None if request.radiuses is None else [_finite(radius) for radius in request.radiuses]
    with router.solver.holding():
        graph = router.graph
        try:
            found = router.match(
                request.coordinates,  # OSRM heeds neither hints nor approaches here
                request.timestamps,
                radiuses,
                gaps=request.gaps,
                tidy=request.tidy,
                bearings=request.bearings,
                waypoints=request.waypoints,
                steps=request.steps,
                snapping=request.snapping,
            )
        except NoRouteError as error:
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


def _finite(radius: float | None) -> float | None:
    """Return a radius that may be unlimited: a trace needs one, so that none is as good as that."""
    return None if radius is None or not math.isfinite(radius) else radius


def _tracepoint(one: Tracepoint, request: MatchRequest) -> dict[str, Any]:
    return {
        **waypoint(one, request),
        "matchings_index": one.matching,
        "waypoint_index": one.waypoint,
        "alternatives_count": one.alternatives,
    }
