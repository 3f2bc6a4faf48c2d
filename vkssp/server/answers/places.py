"""Places that requests name, and routers without what requests exclude."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vkssp.errors import NoStreetError, QueryError
from vkssp.routing.router import Router
from vkssp.routing.stops import Stop
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.requests import Measured, Network, OwnRequest, Request


def places(request: Request) -> list[tuple[float, float] | Stop]:
    """Return the places of a request: pairs of latitude and longitude, or stops if they have conditions."""
    count = len(request.coordinates)
    nothing: list[None] = [None] * count
    bearings, radiuses = request.bearings or nothing, request.radiuses or nothing
    hints, approaches = request.hints or nothing, request.approaches or nothing
    found: list[tuple[float, float] | Stop] = []
    for place, bearing, radius, hint, approach in zip(
        request.coordinates, bearings, radiuses, hints, approaches, strict=True
    ):
        if (bearing, radius, hint, approach) == (None,) * 4:
            found.append(place)
        else:
            metres = math.inf if radius is not None and radius < 0 else radius  # OSRM's word for any
            found.append(Stop(*place, bearing, metres, approach or "unrestricted", hint))
    return found


def router_of(dataset: Dataset, request: Network) -> Router:
    """Return the router of a dataset for the metric of a request, without the streets that it leaves out.

    Raises
    ------
    RequestError
        If the graph has no such metric or classes, or if an area is not valid.
    """
    router = dataset.router
    if isinstance(request, Measured | OwnRequest) and request.metric is not None:
        try:
            router = router.minimizing(request.metric)
        except QueryError as error:
            raise RequestError("InvalidValue", str(error)) from error
    if request.exclude:
        try:
            router = router.excluding(request.exclude)
        except QueryError as error:
            raise RequestError("InvalidValue", "Exclude flag combination is not supported.") from error
    if request.avoid is not None:
        areas = request.avoid.read()
        try:
            router = router.avoiding(areas)
        except QueryError as error:
            raise RequestError("InvalidValue", str(error)) from error
    return router


def no_segment(router: Router, stops: Sequence[tuple[float, float] | Stop], error: NoStreetError) -> RequestError:
    """Return the error for the first of some places that has no street near it."""
    for number, stop in enumerate(stops):
        try:
            router.nearest(stop)
        except NoStreetError:
            told = f"Could not find a matching segment for coordinate {number}"
            return RequestError("NoSegment", told)
        except QueryError:
            break
    return RequestError("NoSegment", str(error))
