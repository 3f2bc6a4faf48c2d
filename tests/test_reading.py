"""One function, and one argument on the command line, for whatever holds or describes a graph."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import graph_files as formats
from tests.support.graphs import grid
from tests.support.streetmaps import street_map
from vkssp import FormatError, Graph, QueryError, generate, read_graph
from vkssp.cli import main
from vkssp.formats import FORMATS

ARCS = [(0, 1, 5), (1, 2, 6), (2, 3, 7), (3, 0, 8)]


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(folder / name)


def test_saved_graphs_by_any_name(tmp_path: Path) -> None:
    graph = grid(5)
    graph.save(tmp_path / "saved")
    for name in ("g.graph", "g.mtx", "g.txt", "g"):
        shutil.copy(tmp_path / "saved", tmp_path / name)
        assert np.array_equal(read_graph(tmp_path / name).weight, graph.weight)
        assert np.array_equal(read_graph(str(tmp_path / name), weights="random:1-3").weight, graph.weight)


def test_expressions() -> None:
    assert np.array_equal(read_graph("gnm:50,200,seed=3").head, generate.from_expression("gnm:50,200,seed=3").head)
    with pytest.raises(QueryError, match="rmat has no argument 'x'"):
        read_graph("rmat:5,x=1")


def test_a_file_that_is_named_like_an_expression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "rmat:5", formats.dimacs(4, ARCS))
    assert read_graph("rmat:5").num_nodes == 32
    assert read_graph(Path("rmat:5")).num_nodes == read_graph("./rmat:5").num_nodes == 4


def test_options_are_handed_on(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 2\n2 3\n")
    assert read_graph(path).weight.tolist() == [1, 1]
    assert read_graph(path, weights="random:8-8", directed=False).weight.tolist() == [8] * 4
    assert read_graph(path, format="edge_list").num_nodes == 3
    with pytest.warns(DeprecationWarning, match="the format 'snap' is called 'edge_list' now"):
        assert read_graph(path, format="snap").num_nodes == 3
    weighted = written(tmp_path, "b.txt", "1 2 0.5\n")
    assert read_graph(weighted, scale=10).weight.tolist() == [5]
    road = written(tmp_path, "a.gr", formats.dimacs(4, ARCS))
    places = written(tmp_path, "a.co", "p aux sp co 4\n" + "".join(f"v {i} {i} {i}\n" for i in range(1, 5)))
    assert read_graph(road).lat is not None and read_graph(road, coordinates=False).lat is None
    assert read_graph(road, coordinates=places).lat is not None


def test_an_extract_by_name_may_be_another_format(tmp_path: Path, andorra_path: Path) -> None:
    path = written(tmp_path, "a.osm", formats.dimacs(4, ARCS))
    assert read_graph(path, format="dimacs").num_nodes == 4
    with pytest.raises(FormatError, match="is no OpenStreetMap extract"):
        read_graph(path)
    assert read_graph(andorra_path).streets is not None


@pytest.mark.parametrize("content", [b"PK\3\4", b"PK\3\4" + bytes(100)])
def test_damaged_saved_graphs(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "g").write_bytes(content)
    with pytest.raises(FormatError, match="is not a saved graph"):
        read_graph(tmp_path / "g")


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="none does not exist; check the path"):
        read_graph(tmp_path / "none")
    with pytest.raises(FormatError, match="is a folder"):
        read_graph(tmp_path)


def test_info_of_an_expression(capsys: pytest.CaptureFixture[str]) -> None:
    assert as_json(capsys, "info", "rmat:8")["nodes"] == 256
    assert main(["info", "rmat:8,y=2"]) == 2
    assert "rmat has no argument 'y'" in capsys.readouterr().err


TEXTS = {
    "a.gr.gz": ("dimacs", formats.dimacs(4, ARCS), 4),
    "b.gr": ("pace", formats.pace(4, ARCS), 8),
    "c.mtx": ("matrixmarket", formats.matrix_market(4, ARCS), 4),
    "d.graph.gz": ("metis", formats.metis(4, ARCS), 8),
    "e.txt": ("edge_list", formats.edge_list(ARCS), 4),
    "f.csv.gz": ("csv", formats.csv_table(ARCS), 4),
}


@pytest.mark.parametrize("name", TEXTS)
def test_info_and_import_of_all_formats(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    format, text, arcs = TEXTS[name]
    path, saved = written(tmp_path, name, text), str(tmp_path / "saved")
    direct = as_json(capsys, "info", path)
    assert (direct["nodes"], direct["arcs"]) == (4, arcs)
    assert as_json(capsys, "import", path, saved, "--format", format) == {"nodes": 4, "arcs": arcs, "output": saved}
    assert as_json(capsys, "info", saved) == direct
    assert main(["import", path, saved]) == 0
    assert f"4 nodes, {arcs} arcs\nwrote {saved}\n" == capsys.readouterr().out


def test_all_formats_are_tried_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert {format for format, _, _ in TEXTS.values()} == set(FORMATS)
    with pytest.raises(SystemExit):
        main(["info", "--help-all"])
    text = " ".join(capsys.readouterr().out.split())
    assert all(format in text for format in FORMATS)


def test_import_of_a_saved_graph_is_a_copy(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graph = street_map([(0, 0), (0, 9), (9, 9)], [(0, 1, 50), (1, 2, 50)])
    graph.save(tmp_path / "g")
    size = {"nodes": 3, "arcs": 4, "output": str(tmp_path / "copy.graph")}
    assert as_json(capsys, "import", str(tmp_path / "g"), size["output"]) == size
    assert (tmp_path / "copy.graph").read_bytes() == (tmp_path / "g").read_bytes()


def test_import_follows_the_format_that_is_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, "a.osm", formats.dimacs(4, ARCS))
    assert as_json(capsys, "import", path, str(tmp_path / "g"), "--format", "dimacs")["nodes"] == 4


def test_import_of_an_expression(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    as_json(capsys, "import", "road:9", str(tmp_path / "g"))
    assert Graph.load(tmp_path / "g").num_nodes == read_graph("road:9").num_nodes


def test_options_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", formats.edge_list(ARCS))
    assert as_json(capsys, "info", path, "--weights", "random:7-7")["weight"]["mean"] == 7
    assert as_json(capsys, "info", path, "--undirected")["arcs"] == 8
    road = written(tmp_path, "a.gr", formats.dimacs(4, ARCS))
    assert as_json(capsys, "info", road, "--scale", "10")["weight"]["largest"] == 80
    places = written(tmp_path, "places", "p aux sp co 4\n" + "".join(f"v {i} {i}000000 0\n" for i in range(1, 5)))
    bounds = as_json(capsys, "info", road, "--coordinates", places)["bounds"]
    assert bounds == {"south": 0, "west": 1, "north": 0, "east": 4}
    undirected = written(tmp_path, "c.txt", "# Undirected\n1 2\n")
    assert as_json(capsys, "info", undirected)["arcs"] == 2
    assert as_json(capsys, "info", undirected, "--directed")["arcs"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.txt", "--weights", "heavy"], "weights is 'heavy'; give 'unit' or 'random:LOW-HIGH,seed=S'"),
        (["a.txt", "--format", "xls"], "format is 'xls'; give one of dimacs"),
        (["a.txt", "--format", "dimacs"], "a.txt, line 1: is '# Directed graph' where 'p sp NODES ARCS' is due"),
        (["a.txt", "--scale", "0"], "scale is 0.0; give a number above 0"),
        (["a.txt", "--coordinates", "a.txt"], "coordinates are for nodes 1 to n, which a.txt does not number so"),
        (["good.gr", "--coordinates", "none"], "none does not exist"),
        (["bad.gr"], "bad.gr, line 2: node 9 is out of range"),
    ],
)
def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "a.txt", formats.edge_list(ARCS))
    written(tmp_path, "good.gr", formats.dimacs(4, ARCS))
    written(tmp_path, "bad.gr", "p sp 3 1\na 9 1 1\n")
    assert main(["info", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1 and captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["saved.graph", "--profile", "bike"],
            "profile is for OpenStreetMap extracts, and saved.graph is a saved graph",
        ),
        (["saved.graph", "--turns", "none"], "turns is for OpenStreetMap extracts, and saved.graph is a saved graph"),
        (["saved.graph", "--scale", "3"], "scale is for files of graph collections, and saved.graph is a saved graph"),
        (["map.osm", "--coordinates", "a.co"], "coordinates is for files of graph collections, and map.osm is an Open"),
        (
            ["a.txt", "--profile", "car"],
            "profile is for OpenStreetMap extracts, and a.txt is read as a file of a graph",
        ),
        (["road:4", "--directed"], "directed is for files of graph collections, and road:4 is a graph to generate"),
    ],
)
@pytest.mark.parametrize("command", ["info", "import"])
def test_options_that_would_change_nothing_are_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "a.txt", formats.edge_list(ARCS))
    (tmp_path / "map.osm").write_text("<osm version='0.6'></osm>")
    Graph.from_edges([0], [1], [2]).save("saved.graph")
    graph, *options = arguments
    assert main([command, graph, *["out.graph"] * (command == "import"), *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert not Path("out.graph").exists()


@pytest.mark.parametrize("name", ["a.osm.pbf", "a.graph", "a.gr"])
def test_addresses_must_be_downloaded_first(name: str) -> None:
    with pytest.raises(FormatError, match=f"^https:/+example.org/{name} does not exist; download it first"):
        read_graph(f"https://example.org/{name}")
