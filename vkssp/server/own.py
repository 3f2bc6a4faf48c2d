"""Parsing of requests to the services that OSRM does not have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from vkssp.choices import DEFAULT_WIDTH_M
from vkssp.errors import QueryError
from vkssp.server.answers.accessibility import AccessibilityRequest
from vkssp.server.answers.isochrone import IsochroneRequest
from vkssp.server.answers.opportunities import OpportunitiesRequest
from vkssp.server.areas import RequestedAreas, areas_of_geojson, areas_of_rings
from vkssp.server.errors import RequestError
from vkssp.server.parameters import PARAMETERS
from vkssp.server.parsing import taken_coordinates
from vkssp.solver.decay import Decay

#: Contours of isochrones by the metric that they are limits of.
CONTOURS = {"contours_minutes": "duration", "contours_meters": "distance", "contours_weights": "weight"}
#: Further parameters of a request for isochrones in a URL.
ISOCHRONE = (*CONTOURS, "width", "reverse", "exclude", "avoid")
_NETWORK = ("metric", "reverse", "exclude", "avoid")
#: Members of the bodies of requests with origins and opportunities.
ACCESSIBILITY = ("origins", "opportunities", "weights", "limits", "decays", *_NETWORK)
OPPORTUNITIES = ("origins", "opportunities", "number", "limit", *_NETWORK)
#: Decays by name, with the members that each takes and those that it needs.
_DECAYS: dict[str, tuple[Callable[..., Decay], set[str], set[str]]] = {
    "exponential": (Decay.exponential, {"scale", "limit"}, {"scale"}),
    "gaussian": (Decay.gaussian, {"scale", "limit"}, {"scale"}),
    "power": (Decay.power, {"exponent", "least", "limit"}, {"exponent", "least", "limit"}),
    "linear": (Decay.linear, {"limit"}, {"limit"}),
    "table": (Decay.table, {"distances", "weights"}, {"distances", "weights"}),
}


def parsed_isochrone(place: str, parameters: Mapping[str, str]) -> IsochroneRequest:
    """Return the request of a URL: ``/isochrone/v1/PROFILE/LON,LAT?contours_minutes=5,10``.

    Raises
    ------
    RequestError
        If it is malformed.
    """
    _check_names(parameters, ISOCHRONE, "parameter")
    lon, lat = _numbers(place, "the place", 2)
    given = [name for name in CONTOURS if name in parameters]
    if len(given) > 1:
        raise RequestError("InvalidQuery", f"There are {' and '.join(given)}; give one of them.")
    contours = given[0] if given else next(iter(CONTOURS))
    network = {name: _read(name, parameters[name]) for name in ("reverse", "exclude", "avoid") if name in parameters}
    return IsochroneRequest(
        ((lat, lon),),
        _numbers(parameters.get(contours, ""), contours),
        _numbers(parameters.get("width", str(DEFAULT_WIDTH_M)), "width", 1)[0],
        metric=CONTOURS[contours],
        **network,
    )


def _check_names(given: Mapping[str, object], names: tuple[str, ...], kind: str) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise RequestError("InvalidQuery", f"There is no {kind} {unknown[0][:40]}; there are {', '.join(names)}.")


def _read(name: str, text: str) -> Any:
    """Return the value of a parameter in a URL that OSRM's services have as well, or that is a flag."""
    parameter = PARAMETERS["steps" if name == "reverse" else name]
    if parameter.pattern.fullmatch(text) is None:
        raise RequestError("InvalidQuery", f"{name} cannot be read.")
    return parameter.read(text)


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
        If it is no such body.
    """
    given = body if isinstance(body, dict) else {}
    try:
        places = tuple((float(one["lat"]), float(one["lon"])) for one in given["locations"])
        names = {name for one in given["contours"] for name in ("time", "distance") if name in one}
        name = names.pop() if len(names) == 1 else "time"
        contours = tuple(float(one[name]) for one in given["contours"])
        profile, reverse = str(given.get("costing", "")), given.get("reverse", False)
    except (KeyError, TypeError, ValueError):
        told = 'give {"locations": [{"lat": LAT, "lon": LON}], "costing": PROFILE, "contours": [{"time": MINUTES}]}'
        raise RequestError("InvalidQuery", f"The body is no request for isochrones; {told}") from None
    if not isinstance(reverse, bool):
        raise RequestError("InvalidQuery", "reverse must be a boolean")
    if not all(map(math.isfinite, (*contours, *(number for place in places for number in place)))):
        raise RequestError("InvalidQuery", "The body has numbers that are not finite.")
    avoid = _excluded_polygons(given["exclude_polygons"]) if "exclude_polygons" in given else None
    if name == "time":
        return profile, IsochroneRequest(places, contours, reverse=reverse, avoid=avoid)
    metres = tuple(1000.0 * kilometres for kilometres in contours)
    return profile, IsochroneRequest(places, metres, reverse=reverse, metric="distance", unit=1000.0, avoid=avoid)


def _excluded_polygons(value: object) -> RequestedAreas:
    """Return areas as Valhalla takes them: rings of positions, which need not be closed, or GeoJSON."""
    if isinstance(value, list):
        if not all(isinstance(ring, list) for ring in value):
            raise RequestError("InvalidQuery", "exclude_polygons must be an array of rings, or GeoJSON")
        return areas_of_rings(value)
    return areas_of_geojson("exclude_polygons", value)


def parsed_accessibility(body: object) -> AccessibilityRequest:
    """Return the request of a body for sums over opportunities; see `AccessibilityRequest`.

    Raises
    ------
    RequestError
        If it is no such body.
    """
    given = _members(body, ACCESSIBILITY)
    weights = given.get("weights")
    if weights is not None and not isinstance(weights, list):
        raise RequestError("InvalidQuery", "weights must be an array with an entry for each opportunity")
    decays = given.get("decays", [])
    if not isinstance(decays, list):
        raise RequestError("InvalidQuery", "decays must be an array")
    return AccessibilityRequest(
        **_places(given),
        weights=weights,
        limits=_positive("limits", given.get("limits", [])),
        decays=[_decay(one) for one in decays],
        **_network(given),
    )


def parsed_opportunities(body: object) -> OpportunitiesRequest:
    """Return the request of a body for the nearest opportunities; see `OpportunitiesRequest`.

    Raises
    ------
    RequestError
        If it is no such body.
    """
    given = _members(body, OPPORTUNITIES)
    number = PARAMETERS["number"].take("number", given["number"]) if "number" in given else 1
    limit = _positive("limit", [given["limit"]])[0] if given.get("limit") is not None else None
    return OpportunitiesRequest(**_places(given), number=number, limit=limit, **_network(given))


def _members(body: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise RequestError("InvalidQuery", "request body must be a JSON object")
    _check_names(body, names, "member")
    return body


def _places(given: dict[str, Any]) -> dict[str, Any]:
    """Return origins and opportunities."""
    for name in ("origins", "opportunities"):
        if name not in given:
            raise RequestError("InvalidQuery", f"missing required member: {name}")
    return {name: taken_coordinates(given[name]) for name in ("origins", "opportunities")}


def _network(given: dict[str, Any]) -> dict[str, Any]:
    """Return the members that say which streets there are, and what routes on them minimize."""
    taken: dict[str, Any] = {}
    taken |= {
        name: PARAMETERS[name].take(name, given[name]) for name in ("metric", "exclude", "avoid") if name in given
    }
    if "reverse" in given:
        taken["reverse"] = PARAMETERS["steps"].take("reverse", given["reverse"])
    return taken


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _positive(name: str, values: object) -> list[float]:
    if not isinstance(values, list) or not all(_is_number(value) and 0 < value < 2**53 for value in values):
        raise RequestError("InvalidQuery", f"{name} must be numbers, more than 0")
    return list(map(float, values))


def _decay(given: object) -> Decay:
    """Return the decay of a member ``{"function": NAME, ...}``."""
    name = given.get("function") if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(name, str) or name not in _DECAYS:
        raise RequestError("InvalidQuery", f"each decay must have a function: {', '.join(_DECAYS)}")
    make, known, needed = _DECAYS[name]
    arguments: dict[str, Any] = {key: value for key, value in given.items() if key != "function"}
    if not needed <= set(arguments) <= known:
        raise RequestError("InvalidQuery", f"the decay {name} takes {', '.join(sorted(known))}")
    for key, value in arguments.items():
        if not all(map(_is_number, value if name == "table" and isinstance(value, list) else [value])):
            raise RequestError("InvalidQuery", f"{key} of a decay has no numbers")
    try:
        return make(**arguments)
    except (QueryError, OverflowError) as error:
        raise RequestError("InvalidValue", f"The decay {name} cannot be: {error}") from error


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
