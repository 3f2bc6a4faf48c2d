"""Parsing of URLs and of JSON bodies into requests, without a web framework.

The grammar of URLs is that of OSRM, ``/SERVICE/vVERSION/PROFILE/QUERY``, and so are the errors: they tell the position
up to which a URL was understood.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import numpy as np
import numpy.typing as npt

from vkssp.server.errors import RequestError
from vkssp.server.parameters import NUMBER, Parameter, parameters_of
from vkssp.server.polyline import decoded
from vkssp.server.requests import REQUESTS, Places, Request, TileRequest

#: Services that take a JSON body.
WITH_BODY = ("route", "nearest", "table", "match")
_SERVICES = (*REQUESTS, "tile")
_FORMATS = ("json", "flatbuffers")
_NAME, _VERSION = re.compile(r"[A-Za-z0-9._~:\-]+"), re.compile(r"\d+")
_QUERY = re.compile(r"[A-Za-z0-9._~:\-()\[\]{}|;,=@\\^`&?]+")
_WHOLE = re.compile(f"/({_NAME.pattern})/v({_VERSION.pattern})/({_NAME.pattern})/({_QUERY.pattern})")
_PAIR = f"{NUMBER},{NUMBER}"
_PAIRS, _BEGUN_PAIR = re.compile(f"{_PAIR}(?:;{_PAIR})*"), re.compile(f"{NUMBER}(?:,|(?!,))")
_POLYLINE = re.compile(r"polyline(6?)\(([?-~%]+)\)")
_BEGUN_POLYLINE = re.compile(r"polyline6?\([?-~%]*")
_FORMAT = re.compile(r"\.(json|flatbuffers)")
_TILE = (r"tile\(", r"\d{1,10}", ",", r"\d{1,10}", ",", r"\d{1,10}", r"\)\.mvt")
#: Letters of coordinates that are few.
_FEW_LETTERS = 250
#: Coordinates are whole microdegrees, of 32 bits.
_MICRO, _MOST_MICRO = 1e6, 2.0**31


class Target(NamedTuple):
    """Target of a request: the service, the profile, what follows it, and the position in the URL where that begins."""

    service: str
    profile: str
    query: str
    position: int


def _malformed_url(url: str, at: int) -> RequestError:
    around = url[max(0, at - 3) : at + 3]
    return RequestError("InvalidUrl", f'URL string malformed close to position {at}: "{around}"')


def _malformed_query(at: int) -> RequestError:
    return RequestError("InvalidQuery", f"Query string malformed close to position {at}")


def parsed_target(raw: bytes, *, has_body: bool = False) -> Target:
    """Return the parts of a URL: its path and its query, as they come.

    Parameters
    ----------
    raw : bytes
        The path with what follows it, percent-encoded.
    has_body : bool
        Whether the URL ends after the profile, since the rest of the request is in a body.

    Raises
    ------
    RequestError
        If the URL is malformed, or the service or its version is not known.
    """
    url = (unquote_to_bytes(raw) if b"%" in raw else raw).decode("utf-8", "replace")
    whole = None if has_body else _WHOLE.fullmatch(url)
    if whole is not None:  # all is well formed
        return _target(whole[1], whole[2], whole[3], whole[4], whole.start(4))
    at, parts = 0, []
    for before, pattern in (("/", _NAME), ("/v", _VERSION), ("/", _NAME)):
        for letter in before:
            if url[at : at + 1] != letter:
                raise _malformed_url(url, at)
            at += 1
        match = pattern.match(url, at)
        if match is None:
            raise _malformed_url(url, at)
        parts.append(match[0])
        at = match.end()
    service, version, profile = parts
    query = ""
    if has_body:
        at += url[at : at + 1] == "/"
        if at < len(url):
            raise _malformed_url(url, at)
    else:
        if url[at : at + 1] != "/":
            raise _malformed_url(url, at)
        at += 1
        match = _QUERY.match(url, at)
        end = at if match is None else match.end()
        if end < len(url) or match is None:
            raise _malformed_url(url, end)
        query = match[0]
    return _target(service, version, profile, query, at)


def _target(service: str, version: str, profile: str, query: str, at: int) -> Target:
    if service not in _SERVICES:
        raise RequestError("InvalidService", f"Service {service} not found!")
    if int(version[:9]) != 1:
        raise RequestError("InvalidVersion", f"Service {service} not found!")
    return Target(service, profile, query, at)


@cache
def _parameters(service: str) -> dict[str, Parameter]:
    return parameters_of(service, REQUESTS[service].names())


def parsed_query(target: Target) -> Request | TileRequest:
    """Return the request that a URL has.

    Raises
    ------
    RequestError
        If the query is malformed.
    """
    query, position = target.query, target.position
    if target.service == "tile":
        return _parsed_tile(query, position)
    values: dict[str, Any] = {}
    at = _coordinates(query, position, values)
    match = _FORMAT.match(query, at)
    if match is not None:
        values["format"], at = match[1], match.end()
    known, before = _parameters(target.service), "?"
    while at < len(query):
        if query[at] != before:
            raise _malformed_query(position + at)
        name, equals, _ = query[at + 1 : at + 32].partition("=")
        if not equals or name not in known:
            raise _malformed_query(position + at + (before == "?"))
        at += len(name) + 2
        parameter = known[name]
        match = parameter.pattern.match(query, at)
        if match is None:
            raise _malformed_query(position + at)
        try:
            values[name] = parameter.read(match[0])
        except ValueError:
            raise _malformed_query(position + at) from None
        at, before = match.end(), "&"
        begun = None if parameter.begun is None else parameter.begun.match(query, at)
        if begun is not None:
            raise _malformed_query(position + begun.end())
    request: Request = REQUESTS[target.service](**values)
    return request


def _coordinates(query: str, position: int, values: dict[str, Any]) -> int:
    """Read the coordinates at the beginning of a query; return where they end."""
    if query[:1] == "p":
        match = _POLYLINE.match(query)
        if match is not None:
            values["coordinates"] = _pairs(decoded(match[2], 6 if match[1] else 5))
            return match.end()
        match = _BEGUN_POLYLINE.match(query)
        if match is not None:
            raise _malformed_query(position + match.end())
    match = _PAIRS.match(query)
    end = 0 if match is None else match.end()
    few = None if match is None or len(match[0]) > _FEW_LETTERS else _few_pairs(match[0])
    if few is not None:
        values["coordinates"] = few
    elif match is not None:
        numbers = np.array(match[0].replace(";", ",").split(","), np.float64).reshape(-1, 2)
        wrong = np.abs(numbers * _MICRO) >= _MOST_MICRO
        if wrong.any():
            row = int(np.argmax(wrong.any(axis=1)))
            raise _malformed_query(position + len(";".join(query.split(";", row)[:row])))
        values["coordinates"] = _pairs(numbers[:, ::-1])
    if 0 < end == len(query):
        return end
    begun = _BEGUN_PAIR.match(query, end + (query[end : end + 1] == ";") if end else 0)
    if begun is not None and (end == 0 or query[end] == ";"):
        raise _malformed_query(position + begun.end())
    if end == 0:
        raise _malformed_query(position)
    return end


def _few_pairs(text: str) -> tuple[tuple[float, float], ...] | None:
    """Return what `_pairs` returns for the numbers of a text, None if one is out of bounds.

    It takes less time than arrays if the pairs are few.
    """
    pairs = []
    for pair in text.split(";"):
        lon, _, lat = pair.partition(",")
        x, y = _MICRO * float(lon), _MICRO * float(lat)
        if not -_MOST_MICRO < x < _MOST_MICRO or not -_MOST_MICRO < y < _MOST_MICRO:
            return None
        pairs.append((round(y, 0) / _MICRO, round(x, 0) / _MICRO))
    return tuple(pairs)


def _pairs(points: npt.NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Return points as pairs of latitude and longitude, in whole microdegrees."""
    rounded = np.rint(points * _MICRO) / _MICRO
    return tuple(zip(rounded[:, 0].tolist(), rounded[:, 1].tolist(), strict=True))


def _parsed_tile(query: str, position: int) -> TileRequest:
    at, numbers = 0, []
    for pattern in _TILE:
        match = re.compile(pattern).match(query, at)
        if match is None:
            raise _malformed_query(position + at)
        if pattern == _TILE[1]:
            numbers.append(int(match[0]))
        at = match.end()
    if at < len(query):
        raise _malformed_query(position + at)
    return TileRequest(*numbers)


def parsed_body(service: str, body: object) -> Request:
    """Return the request that a JSON body has.

    Parameters
    ----------
    service : str
        The service.
    body : object
        The JSON value. Members that the service does not know have no effect.

    Raises
    ------
    RequestError
        If the body is no request, or the service takes none.
    """
    if service not in WITH_BODY:
        raise RequestError("NotImplemented", "This service does not support POST requests with a JSON body.")
    if not isinstance(body, dict):
        raise RequestError("InvalidQuery", "request body must be a JSON object")
    if "coordinates" not in body:
        raise RequestError("InvalidQuery", "missing required member: coordinates")
    values: dict[str, Any] = {"coordinates": taken_coordinates(body["coordinates"])}
    if "format" in body:
        if body["format"] not in _FORMATS:
            raise RequestError("InvalidQuery", "invalid format value")
        values["format"] = body["format"]
    values |= {name: known.take(name, body[name]) for name, known in _parameters(service).items() if name in body}
    request: Request = REQUESTS[service](**values)
    return request


def taken_coordinates(given: object) -> Places:
    """Return the coordinates of a JSON body: positions, or a polyline as a text.

    Raises
    ------
    RequestError
        If they are malformed.
    """
    if isinstance(given, str):
        match = _POLYLINE.fullmatch(given)
        if match is None:
            told = "coordinates string must be of the form polyline(...) or polyline6(...)"
            raise RequestError("InvalidQuery", told)
        return _pairs(decoded(match[2], 6 if match[1] else 5))
    pairs = given if isinstance(given, list) else None
    if pairs is None or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise _no_pair()
    numbers = [number for pair in pairs for number in pair]
    if not {type(number) for number in numbers} <= {int, float}:
        raise _no_pair()
    if not all(abs(number) * _MICRO < _MOST_MICRO for number in numbers):
        raise RequestError("InvalidQuery", "coordinate value out of range")
    return _pairs(np.array(numbers, np.float64).reshape(-1, 2)[:, ::-1])


def _no_pair() -> RequestError:
    return RequestError("InvalidQuery", "each coordinate must be an array of two numbers [longitude, latitude]")
