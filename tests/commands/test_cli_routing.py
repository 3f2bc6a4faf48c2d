"""The command line of routes over via points, around areas, by distance, with steps; maps and files of isochrones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from vkssp import Graph
from vkssp.cli import main
from vkssp.graph.metric import METRICS
from vkssp.osm import read_extract

FROM, VIA, TO = "42.5075,1.5218", "42.5300,1.6000", "42.5430,1.7340"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, andorra_path: Path) -> str:
    path = tmp_path_factory.mktemp("cli") / "andorra.graph"
    read_extract(andorra_path).save(path)
    return str(path)


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_route_with_everything(capsys: pytest.CaptureFixture[str], graph: str, tmp_path: Path) -> None:
    area = shapely.box(1.56, 42.50, 1.57, 42.52)
    (tmp_path / "area.geojson").write_text(shapely.to_geojson(area))
    files = ["--output", str(tmp_path / "r.geojson"), "--map", str(tmp_path / "r.html")]
    query = [
        "route",
        graph,
        "--from",
        FROM,
        "--via",
        VIA,
        "--to",
        TO,
        "--avoid",
        str(tmp_path / "area.geojson"),
        "--steps",
    ]
    result = as_json(capsys, *query, *files)
    assert [place["lat"] for place in result["via"]] == [42.53] and len(result["legs"]) == 2
    assert sum(leg["distance_m"] for leg in result["legs"]) == pytest.approx(result["distance_m"])
    assert sum(step["distance_m"] for step in result["steps"]) == pytest.approx(result["distance_m"])
    assert {step["leg"] for step in result["steps"]} == {1, 2}
    written = json.loads((tmp_path / "r.geojson").read_text())["features"]
    assert not shapely.intersects(shapely.LineString(written[0]["geometry"]["coordinates"]), area)
    page = (tmp_path / "r.html").read_text()
    assert all(step["instruction"] in page for step in result["steps"] if "'" not in step["instruction"])
    assert main(query) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["from", "via", "to", "distance", "duration"]
    assert " + " in lines[3] and any("Arrive at via point 1" in line for line in lines)


def test_the_shortest_route_is_not_the_fastest(capsys: pytest.CaptureFixture[str], graph: str) -> None:
    query = ["route", graph, "--from", FROM, "--to", TO]
    fast, short = as_json(capsys, *query), as_json(capsys, *query, "--metric", "distance")
    assert short["distance_m"] < fast["distance_m"] and short["duration_s"] > fast["duration_s"]
    assert "via" not in fast and "legs" not in fast and "steps" not in fast


def test_turning_round_at_a_via_point(capsys: pytest.CaptureFixture[str], graph: str) -> None:
    query = ["route", graph, "--from", FROM, "--via", VIA, "--to", FROM]
    free = as_json(capsys, *query, "--no-continue-straight")
    assert free["duration_s"] <= as_json(capsys, *query)["duration_s"]
    assert as_json(capsys, *query) | {"query_ms": 0} == as_json(capsys, *query, "--continue-straight") | {"query_ms": 0}


def test_isochrones_in_metres_on_a_map(capsys: pytest.CaptureFixture[str], graph: str, tmp_path: Path) -> None:
    files = ["--output", str(tmp_path / "i.geojson"), "--map", str(tmp_path / "i.html")]
    query = ["isochrone", graph, "--from", FROM, "--metres", "500,1500", *files]
    result = as_json(capsys, *query)
    assert [one["metres"] for one in result["isochrones"]] == [500, 1500] and result["map"] == files[3]
    written = json.loads((tmp_path / "i.geojson").read_text())
    assert [feature["properties"]["metres"] for feature in written["features"]] == [1500, 500]
    assert "1.5 km" in (tmp_path / "i.html").read_text()
    assert main(query) == 0
    assert "500 m" in (text := capsys.readouterr().out) and f"wrote     {files[3]}" in text


def test_the_streets_near_a_place_as_geojson(capsys: pytest.CaptureFixture[str], graph: str, tmp_path: Path) -> None:
    output = str(tmp_path / "n.geojson")
    result = as_json(capsys, "nearest", graph, "--at", FROM, "--number", "3", "--output", output)
    features = json.loads(Path(output).read_text())["features"]
    assert result["output"] == output and len(features) == len(result["places"]) == 3
    for feature, place in zip(features, result["places"], strict=True):
        assert feature["geometry"]["coordinates"] == pytest.approx(
            [place["snapped_lon"], place["snapped_lat"]], abs=1e-7
        )
        assert feature["properties"] == {
            "name": place["name"],
            "snapped_m": pytest.approx(place["snapped_m"]),
            "asked": [1.5218, 42.5075],
        }


def test_tables_around_areas_with_traffic_and_by_distance(
    capsys: pytest.CaptureFixture[str], graph: str, tmp_path: Path
) -> None:
    places, area, traffic, output = (str(tmp_path / name) for name in ("p.csv", "a.geojson", "t.csv", "o.npy"))
    Path(places).write_text(f"lat,lon\n{FROM}\n{TO}\n")
    Path(area).write_text(shapely.to_geojson(shapely.box(1.56, 42.50, 1.57, 42.52)))
    known = Graph.load(graph)
    assert known.streets is not None
    ways = np.unique(known.streets.way)
    Path(traffic).write_text("way,speed_kmh\n" + "".join(f"{way},{5 + way % 60}\n" for way in ways))
    options = ["--traffic", traffic, "--avoid", area]
    query = ["table", graph, "--sources", places, "--metrics", "duration,distance,weight", "--output", output]
    for metric in METRICS:
        result = as_json(capsys, *query, *options, "--metric", metric)
        route = as_json(capsys, "route", graph, "--from", FROM, "--to", TO, *options, "--metric", metric)
        row = np.load(output)[0, 1]
        assert result["metrics"] == ["duration", "distance", "weight"] and row["weight"] == route["weight"]
        assert row["duration_s"] == pytest.approx(route["duration_s"], rel=1e-6)
        assert row["distance_m"] == pytest.approx(route["distance_m"], rel=1e-3)
        plain = as_json(capsys, "route", graph, "--from", FROM, "--to", TO, "--metric", metric)
        assert plain["duration_s"] < route["duration_s"]
    reached = [
        as_json(capsys, "isochrone", graph, "--from", FROM, "--minutes", "20", *given)["isochrones"][0]["road_m"]
        for given in (options, options[:2], [])
    ]
    assert reached[0] < reached[1] < reached[2]
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("5\n900\n")
    for wrong, message in (
        (["--sources", str(nodes)], "--avoid and --metric are for tables between places"),
        (["--output", traffic], "it is .*t.csv, which is needed"),
    ):
        assert main([*query, *options, *wrong]) == 2
        assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("command", ["route", "isochrone", "nearest"])
def test_outputs_are_none_of_the_inputs(
    capsys: pytest.CaptureFixture[str], graph: str, tmp_path: Path, command: str
) -> None:
    area, traffic, other = (str(tmp_path / name) for name in ("a.geojson", "t.csv", "r.html"))
    for path in (area, traffic):
        Path(path).write_text("")
    base = {
        "route": ["--from", FROM, "--to", TO],
        "isochrone": ["--from", FROM, "--minutes", "5"],
        "nearest": ["--at", FROM],
    }[command]
    cases = [["--output", graph]]
    if command != "nearest":
        base += ["--avoid", area, "--traffic", traffic]
        cases += [[option, path] for option in ("--output", "--map") for path in (area, traffic, graph)]
        cases.append(["--output", other, "--map", other])
    for case in cases:
        assert main([command, graph, *base, *case]) == 2
        assert f"cannot write {case[1]}: it is " in capsys.readouterr().err
    assert not Path(other).exists()
