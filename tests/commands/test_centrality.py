"""The command for centrality, and files of values of nodes."""

from __future__ import annotations

import csv
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from tests.support.graphs import grid
from vkssp import Features, FormatError, Graph, QueryError, Solver, prepare
from vkssp.cli import main

GRAPH = grid(9, seed=2)


def asked(path: Path, *options: str) -> list[str]:
    return ["centrality", str(path), *options, "--device", "cpu"]


def test_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, output = tmp_path / "a.graph", tmp_path / "c.npy"
    prepare(GRAPH).save(saved)
    everything = "betweenness,closeness,harmonic,eccentricity,straightness"
    assert main(asked(saved, "--measures", everything, "--limit", "150", "--output", str(output), "--json")) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["measures"] == everything.split(",") and result["nodes"] == GRAPH.num_nodes
    table = np.load(output)
    assert table.dtype.names == ("node", *everything.split(","))
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        central = solver.centrality(limit=150)
        for name in ("closeness", "harmonic", "eccentricity"):
            assert np.array_equal(table[name], getattr(central, name)), name
        assert np.array_equal(table["straightness"], solver.straightness(limit=150))
        assert np.array_equal(table["betweenness"], solver.betweenness(limit=150).nodes)
        whole = solver.centrality()
        sample = solver.centrality(sample=20, seed=3)
        between = solver.betweenness(sample=20, seed=3)
    options = ["--measures", "closeness,betweenness", "--sample", "20", "--seed", "3"]
    assert main(asked(saved, *options, "--output", str(output))) == 0
    told = capsys.readouterr().out
    assert f"closeness, betweenness of {GRAPH.num_nodes} nodes" in told and "wrote" in told
    table = np.load(output)
    drawn = tmp_path / "c.html"
    assert main(asked(saved, "--measures", "closeness,betweenness", "--map", str(drawn))) == 0
    assert "Closeness, betweenness" in drawn.read_text()
    assert f"diameter  {whole.diameter.distance:,.1f} from node {whole.diameter.source} to" in capsys.readouterr().out
    assert main(asked(saved, "--measures", "reached,farness", "--output", str(tmp_path / "r.npy"), "--json")) == 0
    told, counts = json.loads(capsys.readouterr().out), np.load(tmp_path / "r.npy")
    assert told["radius"] == dict(zip(("value", "from", "to"), whole.radius, strict=True))
    assert np.array_equal(counts["reached"], whole.reached) and np.array_equal(counts["farness"], whole.total)
    assert main(asked(saved)) == 2 and "give --output or --map" in capsys.readouterr().err
    assert np.array_equal(table["closeness"], sample.closeness)
    assert np.array_equal(table["betweenness"], between.nodes * between.scale)


def test_extents_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one_way = Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 3], [1, 10, 100, 1000], num_nodes=4)
    saved, output = tmp_path / "a.graph", str(tmp_path / "c.csv")
    one_way.save(saved)
    with Solver(one_way, "dijkstra", "cpu") as solver:
        for more in ([], ["--reverse"]):
            assert main(asked(saved, *more, "--measures", "eccentricity", "--output", output, "--json")) == 0
            result = json.loads(capsys.readouterr().out)
            for name in ("diameter", "radius"):
                told = result[name]
                assert solver.distance(told["from"], told["to"]) == told["value"]
                expected = getattr(solver.centrality(reverse=bool(more)), name)
                assert told["value"] == expected.distance
                assert {told["from"], told["to"]} == {expected.source, expected.target}
        assert main(asked(saved, "--measures", "eccentricity", "--output", output)) == 0
        assert "diameter  1,110.0 from node 1 to 3" in capsys.readouterr().out
    GRAPH.save(saved)
    sampled = ["--measures", "closeness,betweenness", "--output", output, "--sample"]
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        expected = solver.centrality(sample=9).error(), solver.betweenness(sample=9).error()
    assert main(asked(saved, *sampled, "9", "--json")) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["error"], result["betweenness_error"]) == expected and "diameter" not in result
    assert main(asked(saved, *sampled, "1", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["error"] is None
    assert main(asked(saved, *sampled, "9")) == 0
    assert "error     of betweenness" in capsys.readouterr().out


def test_metres(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, output = tmp_path / "a.graph", tmp_path / "c.csv"
    prepare(GRAPH).save(saved)
    measures = ["--measures", "eccentricity,straightness", "--metric", "distance", "--limit", "300"]
    assert main(asked(saved, *measures, "--output", str(output))) == 0, capsys.readouterr().err
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert list(rows[0]) == ["node", "lat", "lon", "eccentricity", "straightness"] and len(rows) == GRAPH.num_nodes
    # Streets of the grid are straight and 111 metres long, so that two of them reach far, and corners shorten the way.
    middle = rows[40]
    assert float(middle["eccentricity"]) == pytest.approx(222.4, abs=0.3)
    assert float(middle["straightness"]) == pytest.approx((4 + 4 + 4 / np.sqrt(2)) / 12, abs=0.01)
    assert main(asked(saved, "--minutes", "5", "--output", str(output))) == 2
    assert "--minutes is for durations" in capsys.readouterr().err
    assert float(middle["lat"]) == pytest.approx(0.004) and float(middle["lon"]) == pytest.approx(0.004)


def test_values_in_all_formats(tmp_path: Path) -> None:
    nodes = np.array([7, 3], np.uint32)
    columns: dict[str, Any] = {"a": np.array([241.2, np.nan], np.float32), "b": np.array([2**40, 3])}
    for ending in (".csv", ".npy", ".parquet", ".geojson"):
        Features.of_nodes(GRAPH, columns, nodes).write(tmp_path / f"v{ending}")
    assert (tmp_path / "v.csv").read_text().splitlines()[1:] == ["7,0.0,0.007,241.2,1099511627776", "3,0.0,0.003,,3"]
    assert np.load(tmp_path / "v.npy")["b"].tolist() == [2**40, 3]
    table = pyarrow.parquet.read_table(tmp_path / "v.parquet")
    assert table.column("a").to_pylist() == [float(np.float32(241.2)), None] and table.column("node").to_pylist() == [
        7,
        3,
    ]
    assert struct.unpack("<BIdd", table.column("geometry").to_pylist()[0]) == (1, 1, 0.007, 0.0)
    about = json.loads(table.schema.metadata[b"geo"])
    assert about["primary_column"] == "geometry" and about["columns"]["geometry"]["encoding"] == "WKB"
    collection = json.loads((tmp_path / "v.geojson").read_text())
    assert [one["properties"] for one in collection["features"]] == [
        {"node": 7, "a": 241.2, "b": 2**40},
        {"node": 3, "a": None, "b": 3},
    ]
    assert collection["features"][1]["geometry"] == {"type": "Point", "coordinates": [0.003, 0.0]}
    plain = Graph.from_edges([0], [1], [1])
    Features.of_nodes(plain, {"a": np.array([1])}, [1]).write(tmp_path / "p.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "p.parquet").column_names == ["node", "a"]
    with pytest.raises(FormatError, match="no coordinates"):
        Features.of_nodes(plain, columns, [1, 0]).write(tmp_path / "p.geojson")
    with pytest.raises(FormatError, match="must end in"):
        Features.of_nodes(GRAPH, columns, nodes).write(tmp_path / "p.txt")
    with pytest.raises(QueryError, match=r"columns\['a'\] has 1 values for 2 rows"):
        Features.of_nodes(GRAPH, {"a": np.array([1])}, nodes)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--measures", "degree"], "'degree' is not one of closeness, harmonic, eccentricity, reached, farness"),
        (["--measures", "eccentricity", "--sample", "5"], "does not estimate eccentricity"),
        (["--measures", "betweenness", "--reverse"], "no difference to betweenness"),
        (["--limit", "0"], "limit"),
        (["--sample", "1000"], "sample"),
    ],
)
def test_what_does_not_suit(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], text: str) -> None:
    saved = tmp_path / "a.graph"
    GRAPH.save(saved)
    arguments = asked(saved, *options, "--output", str(tmp_path / "c.csv"))
    try:
        code = main(arguments)
    except SystemExit as error:
        code = int(str(error.code))
    assert code == 2 and text in capsys.readouterr().err
    assert not (tmp_path / "c.csv").exists()
