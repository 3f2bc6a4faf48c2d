"""Answers of the service ``nearest``."""

from __future__ import annotations

from typing import Any

from vkssp.route import Place
from vkssp.server.answers.places import places, router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.requests import NearestRequest


def nearest(dataset: Dataset, request: NearestRequest) -> dict[str, Any]:
    """Return the nearest points on streets: a list of them, or one for each coordinate if there are several."""
    router = router_of(dataset, request)
    found = [
        [_nearest(place, request) for place in router.nearest(stop, request.number, snapping=request.snapping)]
        for stop in places(request)
    ]
    if request.skip_waypoints:
        return {}
    return {"waypoints": found[0] if len(found) == 1 else found}


def _nearest(place: Place, request: NearestRequest) -> dict[str, Any]:
    return {**waypoint(place, request), "nodes": place.nodes or (0, 0)}
