"""Routes, isochrones, service areas, cells and nearest points as files and features, read by other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import geopandas
import numpy as np
import pandas
import pyogrio
import pytest
import shapely

from tests.support.osm_maps import ROAD, write_osm
from tests.support.paths import DATA
from vkssp import Features, FormatError, NearestOpportunities, QueryError, Router, Solver, read_graph
from vkssp.cli import main
from vkssp.routing.isochrone import isochrone_geojson, write_isochrones, write_isochrones_of_each
from vkssp.routing.nearest_file import write_nearest

A, B, C = (42.5078, 1.5211), (42.5425, 1.7337), (42.5676, 1.5976)
TABLES = (".gpkg", ".fgb", ".shp", ".shp.zip", ".parquet")


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with Router(read_graph(DATA / "andorra.osm.pbf"), device="cpu") as opened:
        yield opened


@pytest.fixture(scope="module")
def fiji(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    """A street over the 180th meridian."""
    nodes = {1: (-17.0, 179.98), 2: (-17.0, -179.98), 3: (-17.0, -179.96)}
    streets = [(1, [1, 2], {**ROAD, "name": "Dateline"}), (2, [2, 3], ROAD)]
    path = write_osm(tmp_path_factory.mktemp("fiji") / "fiji.osm", nodes, streets)
    with Router(read_graph(path), device="cpu") as opened:
        yield opened


def read_file(path: Path, layer: str | None = None) -> Any:
    if path.suffix == ".parquet":
        return geopandas.read_parquet(path)
    return geopandas.read_file(path, layer=layer if path.suffix in (".gpkg", ".kml") else None)


def is_along(line: Any, points: Any) -> bool:
    return bool(shapely.equals_exact(line, shapely.LineString(np.asarray(points)[:, ::-1]), 1e-7))


def test_a_route_in_all_formats(router: Router, tmp_path: Path) -> None:
    route = router.route(A, B, via=[C], steps=True)
    for ending in TABLES:
        route.write(tmp_path / f"r{ending}")
        frame = read_file(tmp_path / f"r{ending}", "legs").sort_values("leg", ignore_index=True)
        assert all(is_along(line, leg.points) for line, leg in zip(frame.geometry, route.legs, strict=True))
        assert frame["distance_m"].tolist() == pytest.approx([leg.distance_m for leg in route.legs])
        assert frame["duration_s"].tolist() == pytest.approx([leg.duration_s for leg in route.legs])
        assert frame["from_name"].iloc[0] == route.legs[0].origin.name != ""
    route.write(tmp_path / "r.kml")
    for name in ("r.gpkg", "r.kml"):
        assert pyogrio.list_layers(tmp_path / name)[:, 0].tolist() == ["legs", "places", "steps"]
    steps = geopandas.read_file(tmp_path / "r.gpkg", layer="steps")
    assert steps["instruction"].tolist() == [step.instruction for step in route.steps]
    assert [line.geom_type for line in steps.geometry][-1] == "Point" and steps["leg"].tolist()[-1] == 2
    places = geopandas.read_file(tmp_path / "r.gpkg", layer="places")
    assert places["role"].tolist() == ["from", "via", "to"]
    assert [(point.y, point.x) for point in places.geometry] == [A, C, B]
    route.write(tmp_path / "r.geojson")
    assert json.loads((tmp_path / "r.geojson").read_text())["features"][0]["properties"]["algorithm"]
    route.write(tmp_path / "r.gpx")
    tag = "{http://www.topografix.com/GPX/1/1}"
    root = ElementTree.parse(tmp_path / "r.gpx").getroot()
    assert [one.tag[len(tag) :] for one in root] == ["wpt", "wpt", "wpt", "rte", "trk"]
    track = [(float(p.get("lat", "")), float(p.get("lon", ""))) for p in root.iter(f"{tag}trkpt")]
    assert np.array(track) == pytest.approx(route.points, abs=1e-7)
    assert [one.text for one in root.iterfind(f"{tag}rte/{tag}rtept/{tag}name")] == [
        step.instruction for step in route.steps
    ]


def test_a_route_as_features(router: Router) -> None:
    route = router.route(A, B, via=[C], steps=True)
    line = shapely.geometry.shape(route)
    assert route.points is not None and is_along(line, route.points) and line.equals(route.geometry)
    frame = geopandas.GeoDataFrame.from_features([route, *route.legs])
    assert frame["weight"].tolist() == [route.weight, *(leg.weight for leg in route.legs)]
    assert frame.geometry.iloc[2].equals(route.legs[1].geometry)
    steps = geopandas.GeoDataFrame.from_features(route.steps)
    where = [(step.lat, step.lon) for step in route.steps]
    assert np.allclose([(point.y, point.x) for point in steps.geometry], where, rtol=0, atol=1e-7)
    assert route.origin is not None
    point = shapely.geometry.shape(route.origin)
    assert (point.y, point.x) == pytest.approx((route.origin.snapped_lat, route.origin.snapped_lon), abs=1e-7)
    assert route.origin.properties["asked_lat"] == A[0]
    legs = route.to_geodataframe()
    assert legs.crs == "EPSG:4326" and list(legs["leg"]) == [1, 2]
    assert len(route.to_geodataframe("steps")) == len(route.steps) and len(route.to_geodataframe("places")) == 3
    with pytest.raises(QueryError, match="part is 'all'; choose one of legs, steps, places"):
        route.features("all")
    assert len(router.route(A, B).features("steps")) == 0


def test_a_route_between_nodes(router: Router, tmp_path: Path) -> None:
    graph = router.graph
    with Solver(graph, device="cpu") as solver:
        route = solver.path(0, 50)
    for ending in (".gpkg", ".gpx", ".shp"):
        route.write(tmp_path / f"r{ending}")
    frame = geopandas.read_file(tmp_path / "r.gpkg", layer="legs")
    assert (
        len(frame) == 1 and is_along(frame.geometry.iloc[0], route.points) and frame["weight"].iloc[0] == route.weight
    )
    with Solver(type(graph).from_edges([0], [1], [1]), device="cpu") as solver:
        bare = solver.path(0, 1)
    for use in (lambda: bare.geometry, bare.to_geodataframe, lambda: bare.write(tmp_path / "x.gpkg")):
        with pytest.raises(QueryError, match="route has no points, as its graph has no coordinates"):
            use()
    assert not (tmp_path / "x.gpkg").exists()


def test_the_180th_meridian(fiji: Router, tmp_path: Path) -> None:
    route = fiji.route((-17.0, 179.995), (-17.0, -179.97), steps=True)
    geometry = route.__geo_interface__["geometry"]
    assert geometry["type"] == "MultiLineString" and geometry["coordinates"][0][-1] == (180.0, -17.0)
    for ending in (*TABLES, ".kml", ".gpx", ".geojson"):
        route.write(tmp_path / f"r{ending}")
    areas = fiji.service_areas([(-17.0, 179.985)])
    areas.write(tmp_path / "s.gpkg")
    cells = fiji.grid(1000)
    cells.write(tmp_path / "c.gpkg", {"n": np.arange(len(cells))})
    (isochrone,) = fiji.isochrones((-17.0, 179.995), [300])
    write_isochrones(tmp_path / "i.gpkg", [isochrone])
    for name, layer in (("r", "legs"), ("r", "steps"), ("s", "streets"), ("c", "cells"), ("i", "isochrones")):
        frame = geopandas.read_file(tmp_path / f"{name}.gpkg", layer=layer)
        parts = shapely.get_parts(frame.geometry.to_numpy())
        west, _, east, _ = shapely.bounds(parts).T
        # No part goes round the Earth, and some shape has parts on both sides.
        assert (east - west < 1).all() and west.min() == -180 and east.max() == 180, name
        assert shapely.is_valid(parts[shapely.get_type_id(parts) == 3]).all()
    rings = [ring for shape in cells.features().shapes for ring in shapely.get_parts(shape)]
    assert all(ring.exterior.is_ccw for ring in rings)
    with open(tmp_path / "r.gpx", encoding="utf-8") as stream:
        assert stream.read().count("<trkseg>") == 2


@pytest.mark.parametrize("ending", [*TABLES, ".kml", ".geojson"])
def test_isochrones(router: Router, tmp_path: Path, ending: str) -> None:
    found = router.isochrones(A, [300, 600])
    write_isochrones(tmp_path / f"i{ending}", found)
    frame = read_file(tmp_path / f"i{ending}").sort_values("seconds", ignore_index=True)
    assert frame["seconds"].tolist() == [300, 600] and frame["label"].tolist() == ["5 min", "10 min"]
    for area, one in zip(frame.geometry, found, strict=True):
        assert area.symmetric_difference(one.area).area < 1e-6 * one.area.area
    write_isochrones_of_each(tmp_path / f"e{ending}", iter([found, found[:1]]), ["Ä", "b"])
    assert read_file(tmp_path / f"e{ending}")["place"].tolist() == ["Ä", "Ä", "b"] or ending == ".fgb"


def test_isochrones_as_features(router: Router, tmp_path: Path) -> None:
    found = router.isochrones(A, [300, 600])
    assert shapely.geometry.shape(found[0]).equals(found[0].area)
    frame = geopandas.GeoDataFrame.from_features(found)
    assert frame["road_m"].tolist() == [round(one.road_m, 1) for one in found]
    assert Features.of(found).to_geodataframe().geometry.equals(frame.geometry)
    told = isochrone_geojson(found)["features"]
    assert [one["properties"] for one in told] == [one.properties for one in found[::-1]]
    assert found[1].to_geodataframe().geometry[0].equals(found[1].area)
    found[1].write(tmp_path / "i.gpkg")
    assert geopandas.read_file(tmp_path / "i.gpkg")["label"].tolist() == ["10 min"]


def untouched() -> Iterator[Any]:
    raise AssertionError("the isochrones were asked for")
    yield


@pytest.mark.parametrize("name", ["i.gpx", "i.csv", "i", "i.svg"])
def test_isochrones_are_refused_before_they_are_made(tmp_path: Path, name: str) -> None:
    endings = r"must end in one of \.geojson, \.json, \.gpkg, \.fgb, \.shp, \.shp\.zip, \.parquet, \.kml$"
    with pytest.raises(FormatError, match=endings):
        write_isochrones(tmp_path / name, [])
    with pytest.raises(FormatError, match=endings):
        write_isochrones_of_each(tmp_path / name, untouched(), [])
    with pytest.raises(FormatError, match="the name of the file for isochrones is empty"):
        write_isochrones_of_each("", untouched(), [])


def test_isochrones_that_fail_leave_nothing(router: Router, tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield router.isochrones(A, [300])
        raise KeyboardInterrupt

    for ending in (*TABLES, ".kml", ".geojson"):
        with pytest.raises(KeyboardInterrupt):
            write_isochrones_of_each(tmp_path / f"i{ending}", broken(), ["a", "b"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [*TABLES, ".kml"])
def test_service_areas(router: Router, tmp_path: Path, ending: str) -> None:
    found = router.service_areas([A, B], 900)
    found.write(tmp_path / f"s{ending}", ["süd", "n"])
    streets = read_file(tmp_path / f"s{ending}", "streets")
    told = [one for one in found.geojson(["süd", "n"])["features"] if "duration_s" in one["properties"]]
    assert len(streets) == len(told) and set(streets["source"]) == {"süd", "n"}
    assert sorted(streets["duration_s"]) == pytest.approx(
        sorted(one["properties"]["duration_s"] for one in told), rel=1e-6
    )
    frame = found.to_geodataframe(ids=["süd", "n"])
    lengths = [shapely.geometry.shape(one["geometry"]).length for one in told]
    assert shapely.length(frame.geometry.to_numpy()) == pytest.approx(lengths, abs=1e-9)
    assert found.to_geodataframe("sources")["source"].tolist() == [0, 1]
    if ending == ".gpkg":
        assert geopandas.read_file(tmp_path / "s.gpkg", layer="sources")["source"].tolist() == ["süd", "n"]
    assert len(geopandas.GeoDataFrame.from_features(found)) == len(told) + 2


def test_accessibility_of_cells(router: Router, tmp_path: Path) -> None:
    cells = router.grid(2000)
    jobs = router.accessibility(cells, [A, B, C], [40, 4, 300], limits=[300, 900])
    columns = {"jobs_300": jobs[:, 0], "jobs_900": jobs[:, 1]}
    frame = cells.to_geodataframe(columns)
    assert frame["id"].tolist() == cells.ids and np.array_equal(frame["jobs_900"], jobs[:, 1])
    for ending in (*TABLES, ".csv"):
        cells.write(tmp_path / f"c{ending}", columns)
    assert np.array_equal(np.sort(read_file(tmp_path / "c.fgb")["jobs_300"]), np.sort(jobs[:, 0]))
    table = pandas.read_csv(tmp_path / "c.csv")
    assert list(table) == ["id", "lat", "lon", *columns]
    assert shapely.geometry.shape(cells.__geo_interface__["features"][0]).equals(cells.features().shapes[0])
    with pytest.raises(FormatError, match=r"must end in one of"):
        cells.write(tmp_path / "c.gpx")


def test_nearest_opportunities(router: Router) -> None:
    found = router.nearest_opportunities([A, B], [A, B, C], 5)
    frame = found.to_dataframe(["a", "b"], ["x", "y", "z"])
    assert list(frame) == ["origin_id", "rank", "opportunity_id", "duration_s"]
    assert frame["origin_id"].tolist() == ["a"] * 3 + ["b"] * 3 and frame["rank"].tolist() == [1, 2, 3] * 2
    assert frame["opportunity_id"].tolist()[0] == "x" and frame["duration_s"].iloc[0] == 0
    assert found.to_dataframe()["opportunity_id"].tolist() == found.opportunity[:, :3].reshape(-1).tolist()
    with Router(router.graph, device="cpu", metric="distance") as short:
        assert "distance_m" in short.nearest_opportunities([A], [B]).to_dataframe()
    for given, message in (({"origins": ["a"]}, "origins has 1 names, and 2"), ({"opportunities": [1]}, "and 3 are")):
        with pytest.raises(QueryError, match=message):
            found.to_dataframe(**given)
    nothing = NearestOpportunities(np.full((2, 1), 2**32 - 1, np.uint32), np.full((2, 1), np.nan, np.float32))
    assert len(nothing.to_dataframe()) == 0


@pytest.mark.parametrize("ending", [*TABLES, ".kml", ".gpx", ".csv", ".geojson"])
def test_nearest_points(router: Router, tmp_path: Path, ending: str) -> None:
    found = router.nearest(A, 3)
    write_nearest(tmp_path / f"n{ending}", found)
    if ending == ".csv":
        table = pandas.read_csv(tmp_path / "n.csv")
        assert list(table) == ["name", "lat", "lon", "snapped_m", "asked_lat", "asked_lon"]
        assert table["lat"].to_numpy() == pytest.approx([place.snapped_lat for place in found], abs=1e-7)
    elif ending == ".gpx":
        frame = geopandas.read_file(tmp_path / "n.gpx", layer="waypoints")
        assert frame["name"].fillna("").tolist() == [place.name for place in found]
    else:
        frame = read_file(tmp_path / f"n{ending}").sort_values("snapped_m")
        assert np.allclose(
            [(p.y, p.x) for p in frame.geometry], [(p.snapped_lat, p.snapped_lon) for p in found], atol=1e-7
        )
    for wrong in ([5], "ab", 7):
        with pytest.raises(QueryError):
            write_nearest(tmp_path / f"n{ending}", wrong)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def saved(router: Router, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("graph") / "andorra.graph"
    router.graph.save(path)
    return str(path)


def asked(*arguments: object) -> int:
    return main([*map(str, arguments), "--device", "cpu"] if arguments[0] != "nearest" else list(map(str, arguments)))


def test_the_commands(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, there = "{},{}".format(*A), "{},{}".format(*B)
    stops = tmp_path / "stops.gpkg"
    Features.of_places([A, C], {"jobs": np.array([3, 4])}, ["south", "north"]).write(stops)
    runs: list[tuple[str, list[object]]] = [
        ("r.gpx", ["route", saved, "--from", home, "--to", there, "--steps"]),
        ("r.gpkg", ["route", saved, "--from", home, "--to", there]),
        ("i.kml", ["isochrone", saved, "--from", home, "--minutes", "5"]),
        ("e.fgb", ["isochrone", saved, "--places", stops, "--minutes", "5"]),
        ("n.shp", ["nearest", saved, "--at", home]),
        ("s.gpkg", ["service-areas", saved, "--sources", stops]),
        ("a.gpkg", ["accessibility", saved, stops, "--columns", "jobs", "--limits", "300", "--grid", "2000"]),
        ("b.gpx", ["accessibility", saved, stops, "--limits", "300", "--nearest", "1", "--origins", stops]),
        ("c.shp.zip", ["centrality", saved, "--sample", "5"]),
        ("t.csv", ["table", saved, "--sources", stops]),
    ]
    for name, command in runs:
        assert asked(*command, "--output", tmp_path / name) == 0, capsys.readouterr().err
    assert set(geopandas.read_file(tmp_path / "s.gpkg", layer="streets")["source"]) == {"south", "north"}
    assert set(geopandas.read_file(tmp_path / "e.fgb")["place"]) == {"south", "north"}
    assert geopandas.read_file(tmp_path / "b.gpx", layer="waypoints")["name"].tolist() == ["south", "north"]
    assert "jobs_300s" in geopandas.read_file(tmp_path / "a.gpkg") and "closeness" in geopandas.read_file(
        tmp_path / "c.shp.zip"
    )
    area = tmp_path / "works.gpkg"
    works = shapely.box(1.530, 42.508, 1.540, 42.510)
    Features({"a": [1]}, [works]).write(area)
    again = tmp_path / "avoiding.gpkg"
    assert asked("route", saved, "--from", home, "--to", there, "--avoid", area, "--output", again) == 0
    before, after = (geopandas.read_file(tmp_path / name, layer="legs").geometry.iloc[0] for name in ("r.gpkg", again))
    assert before.intersects(works) and not after.intersects(works)
    for command, wrong in (
        (["route", saved, "--from", home, "--to", there], "x.svg"),
        (["accessibility", saved, stops, "--limits", "300", "--grid", "2000"], "x.gpx"),
        (["service-areas", saved, "--sources", stops], "x.gpx"),
        (["isochrone", saved, "--from", home, "--minutes", "5"], "x.gpx"),
        (["centrality", saved], "x.xlsx"),
    ):
        capsys.readouterr()
        assert asked(*command, "--output", tmp_path / wrong) == 2
        told = capsys.readouterr().err
        assert f"{wrong}: its name must end in one of " in told and told.count("\n") == 1
        assert not (tmp_path / wrong).exists()
