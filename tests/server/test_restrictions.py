"""Requests that avoid areas or have a metric, and requests for opportunities: answers, limits and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import shapely
from starlette.testclient import TestClient

from tests.support.streetmaps import street_map
from vkssp import Router
from vkssp.server.app import application
from vkssp.server.dataset import Dataset
from vkssp.server.limits import Limits
from vkssp.server.polyline import encoded

#: A square of streets; the way over the north is slow, and a street across it is long and fast.
NODES = [(0, 0), (0, 4), (3, 0), (3, 4)]
STREETS: list[Any] = [(0, 1, 100), (0, 2, 300), (2, 3, 300), (3, 1, 300)]
ENDS = "0,0;0.004,0"
RING = [[0.001, -0.001], [0.002, -0.001], [0.002, 0.001], [0.001, 0.001]]
PAIRS = ",".join(str(number) for position in RING for number in position)
POLYGON = {"type": "Polygon", "coordinates": [[*RING, RING[0]]]}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    router = Router(street_map(NODES, STREETS), device="cpu")
    with TestClient(application({"car": Dataset(router)}, Limits(avoid_areas=2, avoid_points=12))) as client:
        yield client


def test_all_services_avoid_areas(client: TestClient) -> None:
    def seconds(query: str = "") -> float:
        return float(client.get(f"/route/v1/car/{ENDS}{query}").json()["routes"][0]["duration"])

    line = encoded(np.array(RING)[:, ::-1], 6).replace("?", "%3F")
    assert seconds() == 10.0
    assert seconds(f"?avoid={PAIRS}") == seconds(f"?avoid=polyline6({line})&steps=true") == 90.0
    assert client.get(f"/table/v1/car/{ENDS}?avoid={PAIRS}").json()["durations"][0][1] == 90.0
    assert client.get(f"/trip/v1/car/{ENDS}?avoid={PAIRS}").json()["trips"][0]["duration"] == 180.0
    body = {"coordinates": [[0, 0], [0.004, 0]], "avoid": POLYGON}
    assert client.post("/route/v1/car", json=body).json()["routes"][0]["duration"] == 90.0
    assert client.post("/table/v1/car", json=body).json()["durations"][0][1] == 90.0
    assert client.post("/match/v1/car", json=body).json()["matchings"][0]["duration"] == 90.0
    near = client.get(f"/nearest/v1/car/0.0019,0.0001?avoid={PAIRS}").json()
    assert near["code"] == "NoSegment" and "area to avoid" in near["message"]
    for got in (
        client.get(f"/isochrone/v1/car/0.0,0?contours_minutes=0.5&avoid={PAIRS}").json(),
        client.post(
            "/isochrone",
            json={"locations": [{"lat": 0, "lon": 0}], "contours": [{"time": 0.5}], "exclude_polygons": [RING]},
        ).json(),
    ):
        area = shapely.geometry.shape(got["features"][0]["geometry"])
        assert area.contains(shapely.Point(0, 0.002)) and not area.contains(shapely.Point(0.003, 0))


def test_metrics_of_requests(client: TestClient) -> None:
    def route(query: str) -> dict[str, Any]:
        found: dict[str, Any] = client.get(f"/route/v1/car/{ENDS}{query}").json()["routes"][0]
        return found

    slow = "0,0.003;0.004,0"  # by the north 600 and 778 m, by the south 400 and 778 m
    by_time = client.get(f"/table/v1/car/{slow}?annotations=duration,distance&metric=duration").json()
    by_distance = client.get(f"/table/v1/car/{slow}?annotations=duration,distance&metric=distance").json()
    assert by_time["durations"][0][1] == 40.0 and by_distance["distances"][0][1] <= by_time["distances"][0][1]
    found = route("?metric=distance&steps=true&annotations=true")
    assert found["weight_name"] == "distance" and found["weight"] == found["distance"]
    assert found["duration"] == 10.0
    assert found["legs"][0]["steps"][0]["weight"] == found["legs"][0]["steps"][0]["distance"]
    assert found["legs"][0]["annotation"]["weight"] == found["legs"][0]["annotation"]["distance"]
    assert route("?metric=weight") == route("")
    assert client.get(f"/route/v1/car/{ENDS}?metric=time").json()["code"] == "InvalidQuery"
    assert client.get(f"/match/v1/car/{ENDS}?metric=distance").json()["code"] == "InvalidQuery"
    got = client.get("/isochrone/v1/car/0,0?contours_meters=150,300").json()["features"]
    assert [one["properties"]["contour"] for one in got] == [300.0, 150.0]
    assert got[1]["properties"]["road_m"] == pytest.approx(300, abs=2)
    body = {"locations": [{"lat": 0, "lon": 0}], "contours": [{"distance": 0.15}]}
    (same,) = client.post("/isochrone", json=body).json()["features"]
    assert same["properties"] == {**got[1]["properties"], "contour": 0.15}


@pytest.mark.parametrize(
    ("avoid", "code", "words"),
    [
        ("/etc/passwd", "InvalidQuery", "GeoJSON object"),
        ({"type": "Point", "coordinates": [0, 0]}, "InvalidValue", "give a Polygon"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}, "InvalidValue", "no valid"),
        ({"type": "Polygon", "coordinates": [[[-1, -1], [1, -1], [1, 1], [-1, -1]]]}, "InvalidValue", "every street"),
        ({"type": "MultiPolygon", "coordinates": [POLYGON["coordinates"]] * 3}, "TooBig", "areas to avoid 3"),
        ({"type": "Polygon", "coordinates": [[RING[0]] * 13]}, "TooBig", "corners of areas to avoid 13"),
        (json.loads('{"type":"Feature","geometry":' * 20 + "1" + "}" * 20), "InvalidQuery", "too deeply"),
    ],
)
def test_areas_that_are_refused(client: TestClient, avoid: Any, code: str, words: str) -> None:
    body = {"coordinates": [[0, 0], [0.004, 0]], "avoid": avoid}
    got = client.post("/route/v1/car", json=body)
    assert (got.status_code, got.json()["code"]) == (400, code) and words in got.json()["message"]


@pytest.mark.parametrize("avoid", ["", "1,2", "0,0,1,1,2", "0,0,1,1,2,0;", "polyline(", "polyline6(ab)x"])
def test_areas_in_urls_that_are_refused(client: TestClient, avoid: str) -> None:
    assert client.get(f"/route/v1/car/{ENDS}?avoid={avoid}").json()["code"] == "InvalidQuery"


def test_opportunities(client: TestClient) -> None:
    places = {"origins": [[0, 0], [0.004, 0]], "opportunities": [[0.001, 0], [0, 0.003]]}
    got = client.post("/accessibility/v1/car", json={**places, "limits": [5, 60]}).json()
    assert got == {"code": "Ok", "sums": [[1, 2], [0, 2]]}
    body = {**places, "weights": [[2.5, 1], [4, 1]], "decays": [{"function": "linear", "limit": 60}]}
    ((first,), _) = client.post("/accessibility/v1/car", json=body).json()["sums"]
    assert first == pytest.approx([2.5 * (1 - 2.5 / 60) + 4 * 0.5, 1 - 2.5 / 60 + 0.5], rel=1e-6)
    avoiding = client.post("/accessibility/v1/car", json={**places, "limits": [60], "avoid": POLYGON}).json()
    assert avoiding["code"] == "InvalidValue" and "opportunity 0" in avoiding["message"]
    got = client.post("/opportunities/v1/car", json={**places, "number": 2, "limit": 35}).json()
    assert got == {"code": "Ok", "opportunities": [[0, 1], [0]], "durations": [[2.5, 30.0], [7.5]]}
    got = client.post("/opportunities/v1/car", json={**places, "metric": "distance", "reverse": True}).json()
    assert got["opportunities"] == [[0], [0]] and got["distances"][0] == [pytest.approx(111.2, abs=0.2)]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"origins": []}, "InvalidOptions", "no origins"),
        ({"origins": None}, "InvalidQuery", "coordinate"),
        ({"origins": [[200, 0]]}, "InvalidValue", "coordinate"),
        ({"origins": [[0, 0]] * 1001}, "TooBig", "origins 1001"),
        ({"opportunities": [[0, 0]] * 10001}, "TooBig", "opportunities 10001"),
        ({"limits": []}, "InvalidOptions", "neither limits nor decays"),
        ({"limits": [-1]}, "InvalidQuery", "more than 0"),
        ({"limits": [True]}, "InvalidQuery", "more than 0"),
        ({"limits": list(range(1, 20))}, "TooBig", "limits and decays 19"),
        ({"weights": [1, 2]}, "InvalidValue", "weights"),
        ({"weights": ["a"]}, "InvalidValue", "weights"),
        ({"weights": 5}, "InvalidQuery", "weights"),
        ({"weights": [[1] * 11]}, "TooBig", "weights of each opportunity 11"),
        ({"decays": [{"function": "cubic"}]}, "InvalidQuery", "exponential"),
        ({"decays": [{"function": "linear", "scale": 5}]}, "InvalidQuery", "takes limit"),
        ({"decays": [{"function": "linear", "limit": -5}]}, "InvalidValue", "limit"),
        ({"decays": [{"function": "table", "distances": [1], "weights": []}]}, "InvalidValue", "weights"),
        ({"metric": "speed"}, "InvalidQuery", "metric"),
        ({"limit": 5}, "InvalidQuery", "no member limit"),
    ],
)
def test_requests_for_opportunities_that_are_refused(
    client: TestClient, change: dict[str, Any], code: str, words: str
) -> None:
    body = {"origins": [[0, 0]], "opportunities": [[0.001, 0]], "limits": [60], **change}
    got = client.post("/accessibility/v1/car", json=body).json()
    assert got["code"] == code and words in got["message"], got
