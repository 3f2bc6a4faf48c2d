"""Answers of the service ``route``."""

from __future__ import annotations

from typing import Any

from vkssp.server.answers.legs import route_answer
from vkssp.server.answers.places import places, router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.requests import RouteRequest, in_order


def route(dataset: Dataset, request: RouteRequest) -> dict[str, Any]:
    """Return routes, the best one first, and their waypoints."""
    router, stops, legs = router_of(dataset, request), places(request), in_order(request.waypoints)
    origin, *vias, destination = stops
    with router.solver.holding():  # so that all routes have the weights of one moment
        graph = router.graph
        if request.alternatives > 0 and not vias:
            found = router.alternatives(
                origin, destination, request.alternatives, steps=request.steps, snapping=request.snapping
            )
        else:
            found = [
                router.route(
                    origin,
                    destination,
                    via=vias,
                    steps=request.steps,
                    continue_straight=request.continue_straight,
                    waypoints=legs,
                    snapping=request.snapping,
                )
            ]
    answer: dict[str, Any] = {"routes": [route_answer(dataset, graph, router.metric, one, request) for one in found]}
    if not request.skip_waypoints:
        ends = dict(zip(legs or range(len(stops)), found[0].places, strict=True))
        if len(ends) < len(stops):  # places that only shape the route are waypoints of the answer, too
            ends = dict(enumerate(router.nearest_of_each(stops, snapping=request.snapping, together=True))) | ends
        met = [ends[number] for number in range(len(stops))]
        answer["waypoints"] = [waypoint(place, request) for place in met]
    return answer
