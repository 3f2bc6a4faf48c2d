"""Services that OSRM does not have: isochrones, speeds, health and figures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import shapely
from starlette.testclient import TestClient

from tests.support.streetmaps import street_map
from vkssp import Router
from vkssp.routing.tiles import Tiles
from vkssp.server.app import application
from vkssp.server.dataset import Dataset
from vkssp.server.limits import Limits

TOKEN = {"Authorization": "Bearer secret"}


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A street of two parts, 100 and 200 tenths of a second long; OSM ways 100 and 101."""
    router = Router(street_map([(0, 0), (0, 1), (0, 3)], [(0, 1, 100), (1, 2, 200)]), device="cpu")
    with TestClient(application({"car": Dataset(router)}, token="secret")) as client:
        yield client


def test_isochrones(client: TestClient) -> None:
    got = client.get("/isochrone/v1/car/0,0?contours_minutes=0.1,0.25&width=20").json()
    large, small = got["features"]
    assert (large["properties"]["contour"], small["properties"]["contour"]) == (0.25, 0.1)
    areas = [shapely.geometry.shape(feature["geometry"]) for feature in (large, small)]
    assert areas[0].contains(shapely.Point(0.0014, 0)) and not areas[0].contains(shapely.Point(0.0019, 0))
    assert areas[1].contains(shapely.Point(0.0005, 0)) and not areas[1].contains(shapely.Point(0.001, 0))
    body = {"locations": [{"lat": 0, "lon": 0}], "costing": "auto", "contours": [{"time": 0.1}, {"time": 0.25}]}
    assert len(client.post("/isochrone", json=body).json()["features"]) == 2
    of_weight = client.get("/isochrone/v1/car/0,0?contours_weights=6&width=20").json()["features"]
    assert [feature["properties"]["contour"] for feature in of_weight] == [6.0]  # weights are seconds


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("0,0", "InvalidOptions"),
        ("0,0?contours_minutes=0", "InvalidOptions"),
        ("0,x?contours_minutes=1", "InvalidQuery"),
        ("0,0?contours_minutes=1&minutes=2", "InvalidQuery"),
        ("0,0?contours_minutes=1000", "TooBig"),
        ("0,0?contours_minutes=1&width=nan", "InvalidQuery"),
    ],
)
def test_isochrones_that_are_refused(client: TestClient, url: str, code: str) -> None:
    got = client.get(f"/isochrone/v1/car/{url}")
    assert (got.status_code, got.json()["code"]) == (400, code)
    assert client.post("/isochrone", json={"locations": 5}).json()["code"] == "InvalidQuery"


def test_speeds_change_where_requests_are_turned_away() -> None:
    """A process that is too busy for requests must not lack speeds that other processes have."""
    router = Router(street_map([(0, 0), (0, 1), (0, 3)], [(0, 1, 100), (1, 2, 200)]), device="cpu")
    served = application({"car": Dataset(router)}, Limits(waiting=-1), threads=1, token="secret")
    with TestClient(served) as client:
        assert client.get("/route/v1/car/0,0;0.001,0").status_code == 503
        got = client.post("/speeds", json={"speeds": {"100": 20.0}}, headers=TOKEN)
        assert (got.status_code, got.json()["code"]) == (200, "Ok")
    assert router.route((0, 0), (0, 0.001)).duration_s > 15.0


def test_speeds_change_answers(client: TestClient) -> None:
    def seconds() -> float:
        return float(client.get("/route/v1/car/0,0;0.001,0").json()["routes"][0]["duration"])

    assert seconds() == 10.0
    body = {"speeds": {"100": 20.0, "7": 50.0}}
    assert client.post("/speeds", json=body).status_code == 401
    assert client.post("/speeds", json=body, headers={"Authorization": "Bearer other"}).status_code == 401
    got = client.post("/speeds", json=body, headers=TOKEN)
    assert got.json() == {"code": "Ok", "arcs": 2, "ways": 2, "unknown": 1}
    assert seconds() == pytest.approx(111.2 / 20 * 3.6, abs=0.1)
    assert client.post("/speeds", json={"speeds": {"100": -1}}, headers=TOKEN).json()["code"] == "InvalidValue"
    assert client.post("/speeds", json={"speeds": [1]}, headers=TOKEN).json()["code"] == "InvalidQuery"


def test_figures_of_the_server(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"} and client.get("/ready").status_code == 200
    client.get("/nearest/v1/car/0,0")
    client.get("/nearest/v1/car/0,0?number=0")
    lines = client.get("/metrics").text.splitlines()
    assert 'vkssp_requests_total{service="nearest",code="Ok"} 1' in lines
    assert 'vkssp_requests_total{service="nearest",code="InvalidOptions"} 1' in lines
    assert 'vkssp_answer_seconds_count{service="nearest"} 2' in lines


def test_raster_tiles_are_allowed_and_credited() -> None:
    router = Router(street_map([(0, 0), (0, 1)], [(0, 1, 100)]), device="cpu")
    tiles = Tiles("https://{s}.tiles.example.org/{z}/{x}/{y}.png", "Maps & <Co>")
    with TestClient(application({"car": Dataset(router)}, tiles=tiles)) as client:
        shown = client.get("/map/config.json").json()["tiles"]
        assert shown == {"url": tiles.url, "attribution": "Maps &amp; &lt;Co&gt;"}
        policy = client.get("/").headers["content-security-policy"]
        assert "img-src 'self' data: https://*.tiles.example.org;" in policy


def test_the_description_names_all_services(client: TestClient) -> None:
    found = client.get("/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    assert {path.split("/")[1] for path in found["paths"]} == {
        "route",
        "nearest",
        "table",
        "match",
        "trip",
        "tile",
        "isochrone",
        "accessibility",
        "opportunities",
        "speeds",
        "map",
        "health",
        "ready",
        "metrics",
        "openapi.json",
    }
    for path in ("/health", "/ready", "/metrics", "/openapi.json"):
        kinds = found["paths"][path]["get"]["responses"]["200"]["content"]
        assert client.get(path).headers["content-type"].partition(";")[0] in kinds
    operation = found["paths"]["/route/v1/{profile}/{coordinates}"]["get"]
    assert {"steps", "annotations", "avoid", "metric"} <= {one["name"] for one in operation["parameters"]}
    body = found["paths"]["/accessibility/v1/{profile}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"origins", "decays", "avoid"} <= set(body["properties"])
