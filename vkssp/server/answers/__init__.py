"""Answers of the services, one module each: JSON values made of public objects of routing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkssp.errors import NoRouteError, NoStreetError, QueryError
from vkssp.server.answers.accessibility import accessibility
from vkssp.server.answers.isochrone import isochrone
from vkssp.server.answers.match import match
from vkssp.server.answers.nearest import nearest
from vkssp.server.answers.opportunities import opportunities
from vkssp.server.answers.places import no_segment, places
from vkssp.server.answers.route import route
from vkssp.server.answers.table import table
from vkssp.server.answers.trip import trip
from vkssp.server.dataset import Dataset
from vkssp.server.errors import RequestError
from vkssp.server.requests import OwnRequest, Request, TileRequest

_ANSWERS: dict[str, Callable[[Dataset, Any], dict[str, Any]]] = {
    "route": route,
    "nearest": nearest,
    "table": table,
    "match": match,
    "trip": trip,
    "isochrone": isochrone,
    "accessibility": accessibility,
    "opportunities": opportunities,
}


def answer(dataset: Dataset, request: Request | TileRequest | OwnRequest) -> dict[str, Any]:
    """Return the answer to a request.

    Raises
    ------
    RequestError
        If it cannot be answered.
    """
    make = _ANSWERS.get(request.SERVICE)
    if make is None:
        raise RequestError("NotImplemented", "This request is not supported")
    try:
        made = make(dataset, request)
    except NoRouteError as error:
        raise RequestError("NoRoute", "Impossible route between points") from error
    except NoStreetError as error:
        if not isinstance(request, Request):
            raise RequestError("NoSegment", str(error)) from error
        raise no_segment(dataset.router, places(request), error) from error
    except QueryError as error:
        raise RequestError("NoSegment", str(error)) from error
    if "type" in made:  # GeoJSON has no members of ours
        return made
    version = {"data_version": dataset.data_version} if dataset.data_version else {}
    return {"code": "Ok", **version, **made}
