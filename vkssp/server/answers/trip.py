"""Answers of the service ``trip``."""

from __future__ import annotations

from typing import Any

from vkssp.errors import NoRouteError
from vkssp.server.answers.legs import route_answer
from vkssp.server.answers.places import places, router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.requests import TripRequest


def trip(dataset: Dataset, request: TripRequest) -> dict[str, Any]:
    """Return a short trip through places, and the position of each of them in it."""
    router = router_of(dataset, request)
    if not request.roundtrip and request.source == "any" and request.destination == "any":
        raise RequestError("NotImplemented", "This request is not supported")
    with router.solver.holding():
        graph = router.graph
        try:
            found = router.trip(
                places(request),
                source=request.source,
                destination=request.destination,
                roundtrip=request.roundtrip,
                steps=request.steps,
                snapping=request.snapping,
            )
        except NoRouteError as error:
            raise RequestError("NoTrips", "No trip visiting all destinations possible.") from error
    answer: dict[str, Any] = {"trips": [route_answer(dataset, graph, router.metric, found.route, request)]}
    if not request.skip_waypoints:
        visited = found.route.places
        answer["waypoints"] = [
            {**waypoint(visited[position], request), "trips_index": 0, "waypoint_index": position}
            for position in found.position.tolist()
        ]
    return answer
