"""Answers of the service ``nearest``."""

from __future__ import annotations

from typing import Any

from vkssp.errors import NoStreetError
from vkssp.route import Place
from vkssp.server.answers.places import places, router_of
from vkssp.server.answers.waypoints import waypoint
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.requests import NearestRequest


def nearest(dataset: Dataset, request: NearestRequest) -> dict[str, Any]:
    """Return the nearest points on streets: a list of them, or one for each coordinate if there are several.

    Of several coordinates, those that have no street have null.
    """
    router, found = router_of(dataset, request), list[list[dict[str, Any]] | None]()
    for stop in places(request):
        try:
            near = router.nearest(stop, request.number, snapping=request.snapping)
            found.append([_nearest(place, request) for place in near])
        except NoStreetError as error:
            if len(request.coordinates) == 1:
                told = "Could not find a matching segment for coordinate"
                raise RequestError("NoSegment", told) from error
            found.append(None)
    if request.skip_waypoints:
        return {}
    return {"waypoints": found[0] if len(found) == 1 else found}


def _nearest(place: Place, request: NearestRequest) -> dict[str, Any]:
    return {**waypoint(place, request), "nodes": place.nodes or (0, 0)}
