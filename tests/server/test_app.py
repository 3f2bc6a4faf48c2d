"""The server: answers of each service on a small map, errors and limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.support.streetmaps import street_map
from vkssp import Router
from vkssp.server.app import application
from vkssp.server.dataset import Dataset
from vkssp.server.limits import Limits


@pytest.fixture(scope="module")
def router() -> Router:
    """A street of two parts, 100 and 200 tenths of a second long, and one that it does not reach."""
    nodes = [(0, 0), (0, 1), (0, 3), (9, 0), (9, 1)]
    graph = street_map(nodes, [(0, 1, 100), (1, 2, 200), (3, 4, 100)])
    assert graph.streets is not None
    streets = replace(graph.streets, point_node=np.array([1000, 1001, 1001, 1002, 1003, 1004]))
    return Router(replace(graph, streets=streets), device="cpu")


@pytest.fixture(scope="module")
def client(router: Router) -> TestClient:
    return TestClient(application({"car": Dataset(router, data_version="of today")}, Limits(body_bytes=1000)))


def test_route(client: TestClient, router: Router) -> None:
    got = client.get("/route/v1/any/0,0;0.003,0?steps=true&overview=full&geometries=geojson")
    assert got.status_code == 200 and got.headers["access-control-allow-origin"] == "*"
    answer = got.json()
    assert answer["code"] == "Ok" and answer["data_version"] == "of today"
    (route,) = answer["routes"]
    (leg,) = route["legs"]
    assert route["duration"] == leg["duration"] == 30.0
    assert route["distance"] == pytest.approx(3 * 111.2, abs=0.5)
    assert route["geometry"] == {"type": "LineString", "coordinates": [[0.0, 0.0], [0.001, 0.0], [0.003, 0.0]]}
    assert [step["maneuver"]["type"] for step in leg["steps"]][::2] == ["depart", "arrive"]
    assert [waypoint["name"] for waypoint in answer["waypoints"]] == ["Street 0", "Street 1"]
    body = {"coordinates": [[0, 0], [0.003, 0]], "steps": True, "overview": "full", "geometries": "geojson"}
    assert client.post("/route/v1/any", json=body).json() == answer


def test_places_that_only_shape_a_route(client: TestClient) -> None:
    url = "/route/v1/car/0,0;0.0005,0;0.003,0?steps=true&annotations=true&geometries=geojson&overview=false"
    separate = client.get(url).json()["routes"][0]["legs"]
    (leg,) = client.get(f"{url}&waypoints=0;2").json()["routes"][0]["legs"]
    assert leg["duration"] == 30.0 == sum(one["duration"] for one in separate)
    assert leg["annotation"]["nodes"] == [1000, 1001, 1002] and leg["annotation"]["duration"] == [10.0, 20.0]
    assert len(client.get(f"{url}&waypoints=0;1;1;2").json()["routes"][0]["legs"]) == 2
    first, *_, last = leg["steps"]
    assert (first["maneuver"]["type"], last["maneuver"]["type"]) == ("depart", "arrive")
    assert first["duration"] == 10.0 and first["geometry"]["coordinates"] == [[0.0, 0.0], [0.001, 0.0]]


def test_nearest(client: TestClient) -> None:
    (one,) = client.get("/nearest/v1/car/0.0005,0.0001").json()["waypoints"]
    assert one["location"] == [0.0005, 0.0] and one["name"] == "Street 0"
    assert one["distance"] == pytest.approx(11.12, abs=0.05)
    answer = client.get("/nearest/v1/car/0.0005,0.0001?number=2&generate_hints=false").json()
    assert [waypoint["name"] for waypoint in answer["waypoints"]] == ["Street 0", "Street 1"]


def test_table(client: TestClient) -> None:
    answer = client.get("/table/v1/car/0,0;0.001,0;0.001,0.009?annotations=duration,distance").json()
    assert answer["durations"] == [[0.0, 10.0, None], [10.0, 0.0, None], [None, None, 0.0]]
    assert answer["distances"][0][1] == pytest.approx(111.2, abs=0.1)
    assert len(answer["sources"]) == len(answer["destinations"]) == 3
    query = "sources=0&destinations=1;2&fallback_speed=10&scale_factor=2&skip_waypoints=true"
    answer = client.get(f"/table/v1/car/0,0;0.001,0;0.001,0.009?{query}").json()
    assert answer["fallback_speed_cells"] == [[0, 1]]
    assert answer["durations"][0] == [20.0, pytest.approx(20.0, abs=0.2)]
    assert "sources" not in answer
    answer = client.get(f"/table/v1/car/0,0;0.001,0?scale_factor={10**308}").json()
    assert answer["durations"] == [[0.0, 214748364.6], [214748364.6, 0.0]]  # and no warning of an overflow


@pytest.mark.parametrize(
    ("url", "status", "code"),
    [
        ("/route/v1/car/0,0;0.001,0.009", 400, "NoRoute"),
        ("/route/v1/car/0,0", 400, "InvalidOptions"),
        ("/nonsense/v1/car/0,0", 400, "InvalidService"),
    ],
)
def test_errors(client: TestClient, url: str, status: int, code: str) -> None:
    got = client.get(url)
    assert (got.status_code, got.json()["code"]) == (status, code)


def test_bodies_that_are_refused(client: TestClient) -> None:
    assert client.post("/route/v1/car", content="{}").json()["code"] == "InvalidContentType"
    assert client.post("/route/v1/car", json={"coordinates": [[0.0, 0.0]] * 500}).status_code == 413
    assert client.post("/trip/v1/car", json={}).json()["code"] == "NotImplemented"
    assert client.put("/route/v1/car").status_code == 405
    assert client.options("/route/v1/car").status_code == 204


def test_a_profile_is_looked_up_if_there_are_several(router: Router) -> None:
    client = TestClient(application({"car": Dataset(router), "bike": Dataset(router, frozenset({"ROUTE_STEPS"}))}))
    assert client.get("/nearest/v1/foot/0,0").json()["message"] == "There is no profile foot; there are bike, car."
    assert client.get("/route/v1/car/0,0;0.001,0?steps=true").status_code == 200
    assert client.get("/route/v1/bike/0,0;0.001,0?steps=true").json()["code"] == "DisabledDataset"


def test_annotations_of_parts_of_streets(client: TestClient) -> None:
    answer = client.get("/route/v1/car/0.0005,0;0.002,0?annotations=true&overview=false").json()
    (leg,) = answer["routes"][0]["legs"]
    assert leg["annotation"]["duration"] == [5.0, 10.0] and leg["duration"] == 15.0
    assert leg["annotation"]["distance"] == pytest.approx([55.6, 111.2], abs=0.1)
    assert leg["annotation"]["speed"] == [11.1, 11.1] and "geometry" not in answer["routes"][0]
    assert leg["annotation"]["nodes"] == [1000, 1001, 1002]
    answer = client.get("/route/v1/car/0.002,0;0.0015,0?annotations=duration&steps=true").json()
    (leg,) = answer["routes"][0]["legs"]
    assert leg["annotation"] == {"duration": [5.0]} and leg["summary"] == "Street 1"


def test_match(client: TestClient) -> None:
    trace = "0.0001,0.00001;0.0005,-0.00001;0.002,0.00001"
    answer = client.get(f"/match/v1/car/{trace}?radiuses=5;5;5&timestamps=0;5;20&overview=full").json()
    (matching,) = answer["matchings"]
    assert matching["duration"] == pytest.approx(19.0, abs=0.1) and matching["confidence"] > 0.9
    assert [point["waypoint_index"] for point in answer["tracepoints"]] == [0, 1, 2]
    assert client.get("/match/v1/car/0,0;0.0,0.009").json()["code"] == "NoMatch"
    none = client.get("/match/v1/car/0.001,0.003;0.002,0.003").json()
    assert none == {"code": "NoSegment", "message": "Could not find a matching segment for any coordinate."}
    assert client.get(f"/match/v1/car/{trace}?radiuses=0;5000;-1").json()["code"] == "Ok"
    legs = client.get(f"/match/v1/car/{trace}?waypoints=2;1;1;0").json()["matchings"][0]["legs"]
    assert len(legs) == 2


def test_trip(client: TestClient) -> None:
    url = "/trip/v1/car/0,0;0.003,0;0.001,0"
    answer = client.get(f"{url}?source=first&destination=any&roundtrip=false").json()
    assert [waypoint["waypoint_index"] for waypoint in answer["waypoints"]] == [0, 2, 1]
    assert [leg["duration"] for leg in answer["trips"][0]["legs"]] == [10.0, 20.0]
    assert len(client.get(url).json()["trips"][0]["legs"]) == 3
    assert client.get(f"{url}?roundtrip=false").json()["code"] == "NotImplemented"
    assert client.get("/trip/v1/car/0,0;0.0,0.009").json()["code"] == "NoTrips"


def test_places_may_be_at_any_distance(router: Router) -> None:
    with Router(router.graph, device="cpu", radius_m=math.inf) as anywhere:
        far = TestClient(application({"car": Dataset(anywhere)}))
        (one,) = far.get("/nearest/v1/car/120,-60").json()["waypoints"]
        assert one["name"] == "Street 1" and one["distance"] > 1e7
        assert far.get("/route/v1/car/-20,0;20,0").json()["routes"][0]["duration"] == 30.0
        assert far.get("/route/v1/car/-20,0;20,0?radiuses=;5000").json()["code"] == "NoSegment"
        assert far.get("/match/v1/car/20,0;20,1").json()["code"] == "NoSegment"


def test_conditions_of_places(client: TestClient) -> None:
    far = client.get("/route/v1/car/0,0;0.001,0.0003?radiuses=;10").json()
    assert (far["code"], far["message"]) == ("NoSegment", "Could not find a matching segment for coordinate 1")
    assert client.get("/route/v1/car/0,0;0.001,0.0003?radiuses=;-1").json()["code"] == "Ok"
    first, last = client.get("/route/v1/car/0,0;0.002,0").json()["waypoints"]
    hints = f"{first['hint']};{last['hint']}"
    again = client.get(f"/route/v1/car/0,0;0.002,0?hints={hints}").json()["waypoints"]
    assert [one["location"] for one in again] == [first["location"], last["location"]]
    assert client.get("/route/v1/car/0,0;0.002,0?exclude=toll").json()["code"] == "InvalidValue"
