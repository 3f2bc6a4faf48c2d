"""Answers of the service ``route``."""

from __future__ import annotations

from typing import Any

from vkssp.route import Route
from vkssp.server.answers.legs import route_answer
from vkssp.server.answers.places import places
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.requests import RouteRequest


def route(dataset: Dataset, request: RouteRequest) -> dict[str, Any]:
    """Return routes, the best one first, and their waypoints."""
    router, (origin, *vias, destination) = dataset.router, places(request)
    with router.solver.holding():  # so that the route has the weights of one moment
        graph = router.graph
        found: Route = router.route(
            origin, destination, via=vias, steps=request.steps, continue_straight=request.continue_straight
        )
    answer: dict[str, Any] = {"routes": [route_answer(dataset, graph, found, request, request.waypoints)]}
    if not request.skip_waypoints:
        answer["waypoints"] = [waypoint(place, request) for place in found.places]
    return answer
