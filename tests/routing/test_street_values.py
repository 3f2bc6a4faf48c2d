"""Values of streets: sums over their arcs, in files and on maps."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import shapely

from tests.support.pages import Page, decode
from vkssp import FormatError, Graph, QueryError, Solver, read_graph
from vkssp.cli import main
from vkssp.routing.street_values import write_street_map, write_street_values


def features_of(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_text())["features"]
    return found


def test_streets_have_the_sums_of_their_arcs(andorra_path: Path, tmp_path: Path) -> None:
    """In a graph with turns several arcs run along a street in each direction."""
    graph, random = read_graph(andorra_path), np.random.default_rng(1)
    streets = graph.streets
    assert streets is not None and streets.turns == "costs"
    whole, real = random.integers(0, 2**50, graph.num_arcs), random.random(graph.num_arcs)
    expected, summed = Counter[int](), Counter[int]()
    for line, count, share in zip(streets.polyline.tolist(), whole.tolist(), real.tolist(), strict=True):
        expected[line] += count
        summed[line] += share
    for ending in (".geojson", ".parquet", ".csv", ".npy"):
        write_street_values(tmp_path / f"s{ending}", graph, {"whole": whole, "real": real})
    features = features_of(tmp_path / "s.geojson")
    assert {one["properties"]["street"]: one["properties"]["whole"] for one in features} == expected
    for one in features[::50]:
        told, line = one["properties"], shapely.geometry.shape(one["geometry"])
        arc = int(np.flatnonzero(streets.polyline == told["street"])[0])
        assert told["real"] == pytest.approx(summed[told["street"]], rel=1e-12)
        assert (told["way"], told["name"]) == (streets.way[arc], streets.arc_name(arc))
        assert told["length_m"] == pytest.approx(streets.length[arc], rel=1e-6)
        points = streets.polyline_points(told["street"])
        np.testing.assert_allclose(shapely.get_coordinates(line)[:, ::-1], points, atol=1e-9)
    table = pyarrow.parquet.read_table(tmp_path / "s.parquet")
    assert table.column_names == ["street", "way", "name", "length_m", "whole", "real", "geometry"]
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    for given in (
        table.column("whole").to_pylist(),
        [int(row["whole"]) for row in rows],
        np.load(tmp_path / "s.npy")["whole"],
    ):
        assert list(given) == [expected[one["properties"]["street"]] for one in features]


def test_a_graph_without_streets_has_straight_ones(tmp_path: Path) -> None:
    lon = [179.5, -179.5, -179.0]
    graph = Graph.from_edges([0, 1, 0, 2], [1, 0, 1, 1], [1, 1, 5, 3], lat=[0.0, 2.0, 2.0], lon=lon)
    load = [1, 20, 300, 4000]  # of arcs 0-1, 0-1, 1-0, 2-1 in the graph's order
    write_street_values(tmp_path / "s.json", graph, {"load": load})
    first, second = features_of(tmp_path / "s.json")
    assert [first["properties"], second["properties"]] == [{"street": 0, "load": 321}, {"street": 1, "load": 4000}]
    assert first["geometry"]["type"] == "MultiLineString" and second["geometry"]["type"] == "LineString"
    assert first["geometry"]["coordinates"][0] in ([[179.5, 0.0], [180.0, 1.0]], [[-179.5, 2.0], [-180.0, 1.0]])
    write_street_map(tmp_path / "s.html", graph, {"load": [0, 0, 0, 5]}, title="Loads")
    payload = Page((tmp_path / "s.html").read_text()).payload()
    assert payload["values"]["kind"] == "lines" and decode(payload["values"]["columns"][0]["classes"]).tolist() == [1]
    plain = Graph.from_edges([0], [1], [1])
    write_street_values(tmp_path / "p.csv", plain, {"load": [3.5]})
    assert (tmp_path / "p.csv").read_text() == "street,load\n0,3.5\n"
    with pytest.raises(FormatError, match="no coordinates"):
        write_street_values(tmp_path / "p.geojson", plain, {"load": [3.5]})
    with pytest.raises(QueryError, match="no coordinates and cannot be drawn"):
        write_street_map(tmp_path / "p.html", plain, {"load": [3.5]})
    for values, message in (
        ({}, "values is {}; give a dictionary"),
        ({"load": [1]}, r"values\['load'\] has 1 values; give one for each of 4 arcs"),
        ({"load": [0] * 4}, "all values are 0"),
    ):
        with pytest.raises(QueryError, match=message):
            write_street_map(tmp_path / "q.html", graph, values)


def test_betweenness_of_streets_from_the_command_line(
    andorra_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, output = tmp_path / "a.graph", tmp_path / "b.csv"
    graph = read_graph(andorra_path)
    graph.save(saved)
    given = ["centrality", str(saved), "--streets", "--limit", "60", "--device", "cpu", "--output", str(output)]
    assert main([*given, "--measures", "betweenness", "--map", str(tmp_path / "b.html")]) == 0
    with Solver(graph, device="cpu") as solver:
        found = solver.betweenness(limit=600).arcs
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert sum(int(row["betweenness"]) for row in rows) == found.sum() and len(rows) < graph.num_arcs / 2
    assert "lines" in (tmp_path / "b.html").read_text()
    capsys.readouterr()
    assert main(given) == 2 and "--streets is for betweenness" in capsys.readouterr().err
