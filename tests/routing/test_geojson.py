"""Routes as GeoJSON: order of axes, degenerate lines, figures that JSON cannot hold."""

import json
from typing import Any

import numpy as np
import pytest

from vkssp.errors import FormatError, QueryError
from vkssp.route import Place, Route
from vkssp.routing.geojson import route_geojson, route_json, write_geojson


def a_route(line: Any, **changes: Any) -> Route:
    ends = [Place(50.0, -8.5, 50.001, -8.5, 111.2, "Gare \ud800 ß"), Place(50.2, -8.1, 50.2, -8.1, 0.0)]
    values = {
        "points": np.asarray(line, np.float64),
        "arcs": np.arange(3),
        "nodes": np.arange(4, dtype=np.uint32),
        "weight": 1200,
        "distance_m": np.float64(1234.5),
        "duration_s": 120.0,
        "origin": ends[0],
        "destination": ends[1],
        "device": "llvmpipe",
        "algorithm": "delta_step",
        "query_ms": np.float32(0.5),
    }
    return Route(**{**values, **changes})


LINE = [[50.001, -8.5], [50.1234567890, -8.3], [50.2, -8.1]]


def test_features() -> None:
    collection = route_geojson(a_route(LINE))
    assert collection["type"] == "FeatureCollection"
    line, start, end = collection["features"]
    assert all(feature["type"] == "Feature" for feature in collection["features"])
    assert line["geometry"] == {"type": "LineString", "coordinates": [[-8.5, 50.001], [-8.3, 50.1234568], [-8.1, 50.2]]}
    assert line["properties"] == {
        "distance_m": 1234.5,
        "duration_s": 120.0,
        "device": "llvmpipe",
        "algorithm": "delta_step",
        "query_ms": 0.5,
    }
    assert start["geometry"] == {"type": "Point", "coordinates": [-8.5, 50.0]}
    assert start["properties"] == {
        "role": "from",
        "name": "Gare \ud800 ß",
        "snapped": [-8.5, 50.001],
        "snapped_m": 111.2,
    }
    assert end["geometry"]["coordinates"] == [-8.1, 50.2]
    assert end["properties"]["role"] == "to"


def test_bbox_holds_the_places_too() -> None:
    # The place asked for lies south of the road that it was snapped to.
    assert route_geojson(a_route(LINE))["bbox"] == [-8.5, 50.0, -8.1, 50.2]


@pytest.mark.parametrize(("east", "west"), [(179.9, -179.7), (180.0, -179.9), (179.9, -180.0)])
def test_lines_are_cut_at_the_180th_meridian(east: float, west: float) -> None:
    ends = {"origin": Place(1.0, east, 1.0, east, 0.0), "destination": Place(5.0, west, 5.0, west, 0.0)}
    for way in (1, -1):
        collection = route_geojson(a_route([[1.0, east], [5.0, west]][::way], **ends))
        assert collection["bbox"] == [east, 1.0, west, 5.0]
        geometry = collection["features"][0]["geometry"]
        assert geometry["type"] == "MultiLineString"
        before, after = geometry["coordinates"]
        share = (180.0 - east) / (360.0 + west - east)
        crossing = pytest.approx(1.0 + 4.0 * share)
        assert before[-1] == [180.0 * way, crossing] and after[0] == [-180.0 * way, crossing]
        assert [before[0], after[-1]] == [[east, 1.0], [west, 5.0]][::way]


@pytest.mark.parametrize("points", [[[50.1, -8.2]], [[50.1, -8.2], [50.1, -8.2]]])
def test_a_route_without_length_is_still_a_line(points: list[list[float]]) -> None:
    line = route_geojson(a_route(points, distance_m=0.0))["features"][0]
    assert line["geometry"]["coordinates"] == [[-8.2, 50.1], [-8.2, 50.1]]


@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros(2), np.zeros((2, 3)), [[np.nan, 0.0]]])
def test_points_that_are_none(points: Any) -> None:
    with pytest.raises(QueryError, match=r"route\.points"):
        route_geojson(a_route(points))


def test_a_route_without_coordinates() -> None:
    with pytest.raises(QueryError, match="coordinates"):
        route_geojson(a_route(LINE, points=None))


def test_a_route_between_nodes_has_its_own_ends() -> None:
    _, start, end = route_geojson(a_route(LINE, origin=None, destination=None))["features"]
    assert start["geometry"]["coordinates"] == start["properties"]["snapped"] == [-8.5, 50.001]
    assert end["geometry"]["coordinates"] == [-8.1, 50.2]
    assert end["properties"]["snapped_m"] == 0.0


def test_figures_that_json_does_not_know() -> None:
    properties = route_geojson(a_route(LINE, duration_s=None, query_ms=np.nan))["features"][0]["properties"]
    assert properties["duration_s"] is None
    assert properties["query_ms"] is None


def test_the_equator_has_no_sign() -> None:
    line = route_geojson(a_route([[-0.0, -1e-9], [1.0, 1.0]]))["features"][0]
    assert str(line["geometry"]["coordinates"][0]) == "[0.0, 0.0]"


def test_written_and_read(tmp_path: Any) -> None:
    path = tmp_path / "route.geojson"
    write_geojson(path, a_route(LINE))
    assert json.loads(path.read_text("utf-8")) == route_geojson(a_route(LINE))
    assert [p.name for p in tmp_path.iterdir()] == ["route.geojson"]


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6, 1e-8])
def test_the_text_has_the_same_numbers(scale: float) -> None:
    rng = np.random.default_rng(3)
    special = [[-0.0, -1e-9], [90.0, 0.0], [-90.0, 10.0], [9.99999996, 99.99999996], [0.1, -0.5], [1e-7, -1e-7]]
    points = np.concatenate([special, scale * rng.uniform((-90, -60), (90, 60), (500, 2)).round(4)])
    for line in (points, points[:1], points[[0, 0]], points * (1.0, 3.0), np.array([[0.0, 1e3], [1.0, 1e3]])):
        route = a_route(line)
        assert str(json.loads(route_json(route))) == str(json.loads(json.dumps(route_geojson(route))))


def test_a_folder_that_is_not_there(tmp_path: Any) -> None:
    with pytest.raises(FormatError, match="cannot write"):
        write_geojson(tmp_path / "missing" / "route.geojson", a_route(LINE))
