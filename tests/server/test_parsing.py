"""Parsing of requests, against the answers of OSRM to the same URLs and bodies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkssp.server.errors import RequestError
from vkssp.server.limits import Limits
from vkssp.server.parsing import parsed_body, parsed_query, parsed_target
from vkssp.server.polyline import decoded, encoded
from vkssp.server.requests import Request, RouteRequest, TileRequest

#: URLs, each with the error that OSRM answers with, or "Ok".
URLS = (Path(__file__).parent / "osrm_urls.tsv").read_text().splitlines()
PAIRS = "7.41337,43.72956;7.41983,43.73115"


def parsed(url: str) -> Request | TileRequest:
    request = parsed_query(parsed_target(url.encode()))
    request.check(Limits())
    return request


@pytest.mark.parametrize("line", URLS, ids=lambda line: line.partition("\t")[0])
def test_urls_are_understood_as_by_osrm(line: str) -> None:
    url, code, message = line.split("\t")
    if code == "Ok":
        parsed(url)
        return
    with pytest.raises(RequestError) as error:
        parsed(url)
    assert error.value.code == code
    # OSRM does not say what is wrong with some options.
    assert not message or error.value.message == message


def test_all_parameters_of_a_route_are_read() -> None:
    text = (
        "bearings=90,20;&radiuses=5.5;unlimited&hints=;&approaches=curb;&exclude=toll,ferry&generate_hints=false"
        "&skip_waypoints=true&snapping=any&steps=true&annotations=nodes,speed&geometries=geojson&overview=full"
        "&alternatives=2&continue_straight=true&waypoints=0;1"
    )
    body = {
        "coordinates": [[7.41337, 43.72956], [7.41983, 43.73115]],
        "bearings": [[90, 20], None],
        "radiuses": [5.5, "unlimited"],
        "hints": [None, None],
        "approaches": ["curb", None],
        "exclude": ["toll", "ferry"],
        "generate_hints": False,
        "skip_waypoints": True,
        "snapping": "any",
        "steps": True,
        "annotations": ["nodes", "speed"],
        "geometries": "geojson",
        "overview": "full",
        "alternatives": 2,
        "continue_straight": True,
        "waypoints": [0, 1],
    }
    request = parsed(f"/route/v1/driving/{PAIRS}.json?{text}")
    assert request == parsed_body("route", body)
    assert isinstance(request, RouteRequest)
    assert request.coordinates == ((43.72956, 7.41337), (43.73115, 7.41983))
    assert request.bearings == [(90, 20), None] and request.radiuses == [5.5, float("inf")]
    assert request.exclude == ("toll", "ferry") and request.annotations == ("nodes", "speed")


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"coordinates": [[1]]}, "InvalidQuery", "each coordinate must be an array of two numbers"),
        ({"coordinates": [[1, 1], [2e5, 1]]}, "InvalidQuery", "coordinate value out of range"),
        ({"coordinates": [[1, 1], [200, 1]]}, "InvalidValue", "Invalid coordinate value."),
        ({"coordinates": "abc"}, "InvalidQuery", "coordinates string must be of the form"),
        ({"steps": "true"}, "InvalidQuery", "steps must be a boolean"),
        ({"overview": "bar"}, "InvalidQuery", "invalid overview value"),
        ({"bearings": [[1, 2], 5]}, "InvalidQuery", "each bearing must be null or an array of two integers"),
        ({"radiuses": [1]}, "InvalidOptions", "Number of elements in radiuses size 1 does not match"),
        ({"waypoints": [0, 1.5]}, "InvalidQuery", "waypoints entries must be non-negative integers"),
        ({"alternatives": 9}, "TooBig", "Requested number of alternatives is higher than current maximum (3)"),
        ({"annotations": "nodes"}, "InvalidQuery", "annotations must be a boolean or an array of strings"),
    ],
)
def test_bodies_are_refused_as_by_osrm(change: dict[str, object], code: str, message: str) -> None:
    with pytest.raises(RequestError) as error:
        parsed_body("route", {"coordinates": [[1, 1], [1, 2]], **change}).check(Limits())
    assert error.value.code == code
    assert error.value.message.startswith(message)


@given(st.text() | st.from_regex(r"/(route|table|match|tile)/v1/car/[-0-9.,;?&=()a-z]*", fullmatch=True))
def test_any_url_is_understood_or_refused(url: str) -> None:
    try:
        parsed(url)
    except RequestError as error:
        assert json.dumps(error.message)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_any_value_in_a_body_is_understood_or_refused(value: object) -> None:
    for name in ("coordinates", "bearings", "radiuses", "waypoints", "annotations", "alternatives", "overview"):
        try:
            parsed_body("route", {"coordinates": [[1, 1], [1, 2]], name: value}).check(Limits())
        except RequestError as error:
            assert error.code


def test_polylines() -> None:
    # The example of https://developers.google.com/maps/documentation/utilities/polylinealgorithm
    points = np.array([[38.5, -120.2], [40.7, -120.95], [43.252, -126.453]])
    assert encoded(points) == "_p~iF~ps|U_ulLnnqC_mqNvxq`@"
    np.testing.assert_allclose(decoded(encoded(points)), points)
    np.testing.assert_allclose(decoded(encoded(points, 6), 6), points)
    assert decoded("____").shape == (0, 2)
