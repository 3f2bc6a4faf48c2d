"""Answers of the service ``nearest``."""

from __future__ import annotations

from typing import Any

from vkssp.server.answers.places import places
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.requests import NearestRequest


def nearest(dataset: Dataset, request: NearestRequest) -> dict[str, Any]:
    """Return the nearest points on streets: a list of them, or one for each coordinate if there are several."""
    found = [
        [waypoint(place, request) for place in dataset.router.nearest(coordinate, request.number)]
        for coordinate in places(request)
    ]
    if request.skip_waypoints:
        return {}
    return {"waypoints": found[0] if len(found) == 1 else found}
