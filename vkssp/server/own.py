"""Parsing of requests to the services that OSRM does not have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from vkssp.choices import DEFAULT_WIDTH_M
from vkssp.server.answers.isochrone import IsochroneRequest
from vkssp.server.errors import RequestError

#: Parameters of a request for isochrones in a URL.
_PARAMETERS = ("contours_minutes", "width", "reverse")


def parsed_isochrone(place: str, parameters: Mapping[str, str]) -> IsochroneRequest:
    """Return the request of a URL: ``/isochrone/v1/PROFILE/LON,LAT?contours_minutes=5,10``.

    Raises
    ------
    RequestError
        If it is malformed.
    """
    unknown = sorted(set(parameters) - set(_PARAMETERS))
    if unknown:
        raise RequestError("InvalidQuery", f"There is no parameter {unknown[0]}; there are {', '.join(_PARAMETERS)}.")
    lon, lat = _numbers(place, "the place", 2)
    reverse = parameters.get("reverse", "false")
    if reverse not in ("true", "false"):
        raise RequestError("InvalidQuery", "reverse is neither true nor false.")
    return IsochroneRequest(
        ((lat, lon),),
        _numbers(parameters.get("contours_minutes", ""), "contours_minutes"),
        _numbers(parameters.get("width", str(DEFAULT_WIDTH_M)), "width", 1)[0],
        reverse == "true",
    )


def _numbers(text: str, name: str, count: int | None = None) -> tuple[float, ...]:
    try:
        numbers = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        numbers = (math.nan,)
    if not all(map(math.isfinite, numbers)) or (count is not None and len(numbers) != count):
        expected = "numbers, separated by commas" if count is None else f"{count} of them"
        raise RequestError("InvalidQuery", f"{name} has no numbers that can be read; give {expected}.")
    return numbers


def parsed_valhalla(body: object) -> tuple[str, IsochroneRequest]:
    """Return the profile and the request of a body as Valhalla's ``/isochrone`` takes it.

    Raises
    ------
    RequestError
        If it is no such body, or asks for distances.
    """
    given = body if isinstance(body, dict) else {}
    try:
        places = tuple((float(one["lat"]), float(one["lon"])) for one in given["locations"])
        minutes = tuple(float(one["time"]) for one in given["contours"])
        profile, reverse = str(given.get("costing", "")), given.get("reverse", False)
    except (KeyError, TypeError, ValueError):
        told = 'give {"locations": [{"lat": LAT, "lon": LON}], "costing": PROFILE, "contours": [{"time": MINUTES}]}'
        raise RequestError("InvalidQuery", f"The body is no request for isochrones; {told}") from None
    if not isinstance(reverse, bool):
        raise RequestError("InvalidQuery", "reverse must be a boolean")
    if not all(map(math.isfinite, (*minutes, *(number for place in places for number in place)))):
        raise RequestError("InvalidQuery", "The body has numbers that are not finite.")
    return profile, IsochroneRequest(places, minutes, reverse=reverse)


def parsed_speeds(body: object) -> tuple[str, dict[int, float]]:
    """Return the profile, and km/h by OSM ways, of ``{"profile": NAME, "speeds": {WAY: KMH}}``.

    Raises
    ------
    RequestError
        If it is no such body.
    """
    given: dict[str, Any] = body if isinstance(body, dict) else {}
    try:
        speeds = {int(way): float(speed) for way, speed in given["speeds"].items()}
        return str(given.get("profile", "")), speeds
    except (KeyError, TypeError, ValueError, AttributeError):
        told = 'The body has no speeds; give {"profile": NAME, "speeds": {"WAY": KMH}}'
        raise RequestError("InvalidQuery", told) from None
