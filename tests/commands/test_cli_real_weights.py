"""Commands on saved graphs of real weights and of nodes with names."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkssp import Graph
from vkssp.cli import main


@pytest.fixture
def saved(tmp_path: Path) -> str:
    graph = Graph.from_edges(["a", "b", "a", "7"], ["b", "c", "c", "a"], [12.5, 0.25, 20.0, 1.0])
    graph.save(tmp_path / "g.graph")
    return str(tmp_path / "g.graph")


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    result = json.loads(output(capsys, *arguments, "--json"))
    assert isinstance(result, dict)
    return result


def rows(path: Path) -> list[list[str]]:
    with path.open() as stream:
        return list(csv.reader(stream))


def test_info_tells_units_and_names(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "info", saved)
    assert "weights 0.25 to 20, 8.4375 on average" in text
    assert "weights are multiples of 0.01, exact" in text and "nodes have names, such as 'a'" in text
    told = as_json(capsys, "info", saved)
    assert (told["scale"], told["weight_error"], told["names"]) == (0.01, 0.0, True)
    assert told["weight"] == {"least": 0.25, "mean": 8.4375, "largest": 20.0}
    weights = np.random.default_rng(0).random(99)
    Graph.from_edges(np.arange(99), np.arange(1, 100), weights).save(tmp_path / "r.graph")
    assert "for each arc" in output(capsys, "info", str(tmp_path / "r.graph"))
    assert as_json(capsys, "info", "road:4")["scale"] is None


def test_distances_from_a_name(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.npy"
    told = as_json(capsys, "distances", saved, "--source", "a", "--output", str(path), "--device", "cpu")
    assert (told["source"], told["reached"], told["largest"], told["scale"]) == ("a", 3, 12.75, 0.01)
    assert np.load(path).tolist() == [0.0, 12.5, 12.75, np.inf]
    text = output(capsys, "distances", saved, "--source", "7", "--device", "cpu")  # a text that looks like a number
    assert "4 of 4 nodes reached from 7, the farthest at 13.75" in text and "unit      0.01, exact" in text


def test_distances_from_a_large_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Graph.from_edges([4_000_000_000, 5], [5, 6], [1, 2]).save(tmp_path / "g.graph")
    told = as_json(capsys, "distances", str(tmp_path / "g.graph"), "--source", "4000000000", "--device", "cpu")
    assert (told["source"], told["largest"], told["scale"]) == (4_000_000_000, 3, None)


def test_distances_that_do_not_fit_tell_the_unit_that_was_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = Graph.from_edges(np.arange(99), np.arange(1, 100), np.full(99, 0.7), scale=2e-9)
    graph.save(tmp_path / "g.graph")
    told = as_json(capsys, "distances", str(tmp_path / "g.graph"), "--source", "0", "--device", "cpu")
    assert told["largest"] == pytest.approx(69.3) and told["scale"] == 2.0**4 * 2e-9


def test_a_table_between_names(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, path = tmp_path / "s.csv", tmp_path / "t.csv"
    sources.write_text("node\na\n7\n")
    arguments = ["table", saved, "--sources", str(sources), "--output", str(path), "--device", "cpu"]
    assert as_json(capsys, *arguments, "--targets", "all", "--limit", "12.6")["reached"] == 4
    wanted = [("a", "a", "0.0"), ("a", "b", "12.5"), ("a", "c", ""), ("a", "7", "")]
    wanted += [("7", "a", "1.0"), ("7", "b", ""), ("7", "c", ""), ("7", "7", "0.0")]
    assert rows(path) == [["source", "target", "weight"], *map(list, wanted)]
    sources.write_text("node\n7\n")  # an integer in the file, and a text in the graph
    output(capsys, *arguments)
    assert rows(path)[1:] == [["7", "7", "0.0"]]
    areas = tmp_path / "areas.csv"
    output(capsys, "service-areas", saved, "--sources", str(sources), "--limit", "13.5", "--output", str(areas))
    assert rows(areas)[1:] == [["a", "7", "1.0"], ["b", "7", "13.5"], ["c", "", ""], ["7", "7", "0.0"]]


def test_centrality_is_in_the_callers_units(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.csv"
    measures = "eccentricity,closeness,harmonic"
    text = output(capsys, "centrality", saved, "--measures", measures, "--output", str(path))
    assert "diameter  13.8 from node 7 to c" in text
    output(capsys, "centrality", saved, "--measures", measures, "--limit", "12.5", "--output", str(path))
    table = rows(path)
    assert [row[0] for row in table] == ["node", "a", "b", "c", "7"]
    assert [float(row[1]) for row in table[1:]] == [12.5, 0.25, 0.0, 1.0]
    assert float(table[1][2]) == pytest.approx(1 / 12.5 / 3) and float(table[2][3]) == pytest.approx(4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["distances", "GRAPH", "--source", "q"], "--source is 'q', and no node has this name"),
        (["distances", "road:8", "--source", "q"], "--source is 'q'; give the id of a node, an integer"),
        (["distances", "road:8", "--source", "64"], "source is 64; node ids of this graph go from 0 to 63"),
        (["table", "road:8", "--sources", "SOURCES", "--output", "t.csv"], "s.csv, line 2: 'q' has not a node id"),
        (["table", "GRAPH", "--sources", "SOURCES", "--output", "t.csv"], "sources[0] is 'q', and no node has this"),
        (["table", "GRAPH", "--sources", "SOURCES", "--output", "t.csv", "--limit", "nan"], "limit is nan"),
    ],
)
def test_what_names_no_node_is_told(
    arguments: list[str], words: str, saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.csv").write_text("node\nq\n")
    if "nan" in arguments:
        (tmp_path / "s.csv").write_text("node\na\n")
    given = {"GRAPH": saved, "SOURCES": str(tmp_path / "s.csv"), "t.csv": str(tmp_path / "t.csv")}
    assert main([*(given.get(one, one) for one in arguments), "--device", "cpu"]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "t.csv").exists()


def test_new_weights_of_a_file_may_be_real(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traffic = tmp_path / "w.csv"
    traffic.write_text("arc,weight\n0,1.125\n")
    told = as_json(capsys, "distances", saved, "--source", "a", "--traffic", str(traffic), "--device", "cpu")
    assert told["largest"] == 1.375
    assert main(["distances", "road:4", "--source", "0", "--traffic", str(traffic), "--device", "cpu"]) == 2
    assert "'0,1.125' is not an arc and a whole weight" in capsys.readouterr().err
