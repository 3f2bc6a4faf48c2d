"""Vector tiles, read by another library."""

from __future__ import annotations

from typing import Any

import mapbox_vector_tile
import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.support.streetmaps import UNIT, street_map
from vkssp import Router
from vkssp.server.app import application
from vkssp.server.dataset import Dataset
from vkssp.server.vector_tile import layer

ZOOM = 14


def read(data: bytes) -> dict[str, Any]:
    return dict(mapbox_vector_tile.decode(data, default_options={"y_coord_down": True}))


@pytest.fixture(scope="module")
def router() -> Router:
    """A street east of the origin, one north of its end, and one that leaves the tile."""
    nodes = [(-1, 1), (-1, 3), (-3, 3), (-1, 900)]
    return Router(street_map(nodes, [(0, 1, 100), (1, 2, 100), (1, 3, 50_000)], oneways=(1,)), device="cpu")


@pytest.fixture(scope="module")
def client(router: Router) -> TestClient:
    return TestClient(application({"car": Dataset(router)}))


def test_streets_and_turns(client: TestClient) -> None:
    got = client.get(f"/tile/v1/car/tile({2 ** (ZOOM - 1)},{2 ** (ZOOM - 1)},{ZOOM}).mvt")
    assert got.status_code == 200 and got.headers["content-type"] == "application/x-protobuf"
    layers = read(got.content)
    units = 4096 * 2**ZOOM / 360 * UNIT  # of the map's unit; the equator is at the upper side
    speeds = layers["speeds"]["features"]
    assert {feature["properties"]["name"] for feature in speeds} == {"Street 0", "Street 1", "Street 2"}
    assert len(speeds) == 5  # one street leads one way only
    (there,) = [f for f in speeds if f["properties"]["name"] == "Street 1"]
    expected = [[round(3 * units), round(units)], [round(3 * units), round(3 * units)]]
    assert np.abs(np.array(there["geometry"]["coordinates"]) - expected).max() <= 1
    assert there["properties"]["speed"] == round(2 * 111.195 / 10 * 3.6)
    assert there["properties"]["duration"] == 10.0 and there["properties"]["is_startpoint"] is True
    (cut,) = [f for f in speeds if f["properties"]["name"] == "Street 2" and f["geometry"]["coordinates"][0][0] < 4000]
    assert cut["geometry"]["coordinates"][1][0] == 4096 + 128
    turns = {
        (f["properties"]["bearing_in"], f["properties"]["turn_angle"]): f["properties"]["modifier"]
        for f in layers["turns"]["features"]
    }
    assert turns == {
        (90, 90): "right",
        (90, 0): "straight",
        (270, -90): "left",
        (270, 0): "straight",
        (270, -180): "uturn",
    }


def test_tiles_follow_the_weights() -> None:
    router = Router(street_map([(-1, 1), (-1, 3)], [(0, 1, 100)]), device="cpu")
    client = TestClient(application({"car": Dataset(router)}))
    url = f"/tile/v1/car/tile({2 ** (ZOOM - 1)},{2 ** (ZOOM - 1)},{ZOOM}).mvt"
    first = client.get(url).content
    assert client.get(url).content == first
    router.set_weights([200, 200], [0, 1])
    (before, _), (after, _) = (read(data)["speeds"]["features"] for data in (first, client.get(url).content))
    assert (before["properties"]["duration"], after["properties"]["duration"]) == (10.0, 20.0)


def test_there_is_no_such_tile(client: TestClient) -> None:
    for tile in ("0,0,11", "0,0,20", "4096,0,12"):
        got = client.get(f"/tile/v1/car/tile({tile}).mvt")
        assert got.status_code == 400 and got.json()["code"] == "InvalidOptions"


def test_large_and_negative_numbers() -> None:
    points = np.array([[-128, 4224], [2**30, -(2**30)]])
    ids = np.array([300, 2**40])
    values = {"n": np.array([-5, 2**33]), "text": np.array(["é", ""]), "half": np.array([0.5, -1.5], np.float32)}
    made = read(layer("one", points, ids, values))["one"]["features"]
    assert [feature["id"] for feature in made] == ids.tolist()
    assert [feature["geometry"]["coordinates"] for feature in made] == points.tolist()
    assert [feature["properties"] for feature in made] == [
        {"n": -5, "text": "é", "half": 0.5},
        {"n": 2**33, "text": "", "half": -1.5},
    ]
