from __future__ import annotations

import csv
import importlib.util
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from tests.support.scripts import Done, load_script, run_script
from vkssp import FormatError, Graph, QueryError, VksspError
from vkssp.bench import load_result, rank
from vkssp.bench.experiment import Run
from vkssp.bench.peers import RoutingkitCch, RoutingkitCchPairs
from vkssp.bench.rank import (
    CCH,
    FORMAT,
    Queries,
    check_methods,
    crossover,
    draw_queries,
    load_ranks,
    measure_ranks,
    medians,
)
from vkssp.bench.result import save_result
from vkssp.cpu.bidirectional import BidirectionalDijkstra
from vkssp.gpu.device import Device

MISSING = f"{CCH}: not installed (pip install 'vkssp[bench]')"


@pytest.fixture(scope="module")
def graph() -> Graph:
    return grid(20, seed=6)


@pytest.fixture(scope="module")
def queries(graph: Graph) -> Queries:
    return draw_queries(graph, 3, seed=2)


def test_targets_are_the_nodes_of_their_rank(graph: Graph, queries: Queries) -> None:
    assert queries.rank.tolist() == 3 * [1, 2, 3, 4, 5, 6, 7, 8] and len(set(queries.source.tolist())) == 3
    for power, source, target, distance in zip(
        queries.rank, queries.source, queries.target, queries.distance, strict=True
    ):
        distances = heap_dijkstra(graph, int(source))
        assert distances[target] == distance
        # As many nodes as the rank says are not farther, and no more are nearer.
        assert (distances < distance).sum() < 2**power <= (distances <= distance).sum()


def test_the_same_seed_gives_the_same_queries(graph: Graph, queries: Queries) -> None:
    again, other = draw_queries(graph, 3, seed=2), draw_queries(graph, 3, seed=3)
    assert np.array_equal(again.source, queries.source) and np.array_equal(again.target, queries.target)
    assert not np.array_equal(other.source, queries.source)


def test_queries_are_saved_and_loaded(graph: Graph, queries: Queries, tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    queries.save(path)
    loaded = Queries.load(path, graph)
    for name in ("rank", "source", "target", "distance"):
        assert np.array_equal(getattr(loaded, name), getattr(queries, name))
    with pytest.raises(FormatError, match="no queries for this graph"):
        Queries.load(path, grid(20, seed=7))
    head = "\n".join(path.read_text().splitlines()[:2])
    for rows in ("", "1,2", "1,2,x,4", "1,400,2,3", "1,-1,2,3", f"1,2,3,{10**30}"):
        path.write_text(f"{head}\n{rows}\n")
        with pytest.raises(FormatError, match="does not hold rank, source, target, distance of nodes"):
            Queries.load(path, graph)
    path.write_text("")
    with pytest.raises(FormatError, match="no queries for this graph"):
        Queries.load(path, graph)
    with pytest.raises(FormatError, match=r"nothing\.csv does not exist"):
        Queries.load(tmp_path / "nothing.csv", graph)
    with pytest.raises(FormatError, match="cannot read queries from"):
        Queries.load(tmp_path, graph)


def test_graphs_without_far_nodes_are_refused() -> None:
    with pytest.raises(QueryError, match="hardly any node reaches a tenth"):
        draw_queries(Graph.from_edges([], [], [], num_nodes=50), 1)
    with pytest.raises(QueryError, match="no node that reaches another"):
        draw_queries(Graph.from_edges([], [], [], num_nodes=1), 1)


def test_senseless_numbers_are_refused(graph: Graph) -> None:
    with pytest.raises(QueryError, match="sources is 0; give 1 or more"):
        draw_queries(graph, 0)
    with pytest.raises(QueryError, match="seed is -1; give 0 or more"):
        draw_queries(graph, 1, -1)


def rows_of(graph: Graph, queries: Queries, methods: list[str], device: Device, **more: float) -> list[dict[str, Any]]:
    return list(measure_ranks(graph, queries, methods, device, warm_up_s=0, **more))


def test_methods_are_timed_and_verified(
    graph: Graph, queries: Queries, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = ["near_far", "delta_step,delta=50", "dijkstra", "bidirectional"]
    rows = rows_of(graph, queries, methods, device)
    assert [row["method"] for row in rows] == methods
    assert [row["runs_on"] for row in rows] == ["vulkan", "vulkan", "cpu", "cpu"]
    for row in rows:
        assert row["verified"] and row["error"] is None and row["setup_ms"] > 0
        assert len(row["query_ms"]) == 24 and min(row["query_ms"]) > 0
        assert list(medians(queries, np.array(row["query_ms"]))) == [1, 2, 3, 4, 5, 6, 7, 8]
    monkeypatch.setattr(BidirectionalDijkstra, "distance", lambda *arguments: 1)
    with pytest.raises(VksspError, match="bidirectional finds 1 from node"):
        rows_of(graph, queries, ["bidirectional"], device)


def test_queries_are_asked_by_rank_and_times_stay_with_them(
    graph: Graph, queries: Queries, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = {(s, t): r for r, s, t in zip(queries.rank, queries.source, queries.target, strict=True)}
    distances = {(s, t): d for s, t, d in zip(queries.source, queries.target, queries.distance, strict=True)}
    clock, asked = [0.0], []

    def ask(source: int, target: int) -> int:
        asked.append(ranks[source, target])
        clock[0] += 1e-3 * asked[-1]
        return int(distances[source, target])

    asked_of = SimpleNamespace(distance=ask)
    monkeypatch.setattr(Run, "solver", lambda *arguments: nullcontext(asked_of))
    monkeypatch.setattr(rank, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    (row,) = measure_ranks(graph, queries, ["dijkstra"], device, warm_up_s=0.015)
    assert asked == [8, 8, 1, *sorted(queries.rank)]
    assert np.allclose(row["query_ms"], queries.rank)


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ([], "give a method at least"),
        (["dijkstra", "magic"], "method is 'magic'; choose some of auto, near_far, .*, bidirectional, routingkit-cch"),
        (["near_far,rounds"], "write NAME,PARAMETER=N"),
        (["bidirectional,delta=4"], "bidirectional has no parameters"),
    ],
)
def test_methods_that_are_not_known(methods: list[str], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        check_methods(methods)


@pytest.mark.parametrize("seed", range(6))
def test_the_hierarchy_finds_distances_of_pairs(seed: int) -> None:
    pytest.importorskip(RoutingkitCch.MODULE)
    rng = np.random.default_rng(seed)
    nodes, arcs = int(rng.integers(2, 40)), int(rng.integers(1, 120))
    tail, head = rng.integers(0, nodes, (2, arcs))
    weight = rng.integers(0, (1, 100, 2**24)[seed % 3] + 1, arcs)
    graph = Graph.from_edges(tail, head, weight, num_nodes=nodes, undirected=seed % 2 == 0)
    pairs = RoutingkitCchPairs(RoutingkitCch.load(), graph, 10.0)
    for source in range(nodes):
        assert [pairs.distance(source, target) for target in range(nodes)] == heap_dijkstra(graph, source).tolist()


def test_the_hierarchy_is_a_method(graph: Graph, queries: Queries, device: Device) -> None:
    pytest.importorskip(RoutingkitCch.MODULE)
    (row,) = rows_of(graph, queries, [CCH], device)
    assert (row["runs_on"], row["version"]) == ("peer", RoutingkitCch.version())
    assert row["verified"] and row["error"] is None and row["setup_ms"] > 0 and len(row["query_ms"]) == 24
    slow, dijkstra = rows_of(graph, queries, [CCH, "dijkstra"], device, limit_s=1e-4)
    assert "its order would take" in slow["error"] and not slow["verified"] and slow["query_ms"] == []
    assert dijkstra["verified"]


def test_distances_that_the_hierarchy_cannot_hold(device: Device) -> None:
    pytest.importorskip(RoutingkitCch.MODULE)
    far = Graph.from_edges([0, 1], [1, 2], [2**31, 5], undirected=True)
    row, dijkstra = rows_of(far, draw_queries(far, 3), [CCH, "dijkstra"], device)
    assert row["error"] == "the largest distance is 2147483648, and it holds 2147483646 at most"
    assert dijkstra["verified"]


def test_without_the_hierarchy_other_methods_go_on(
    graph: Graph, queries: Queries, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, RoutingkitCch.MODULE, None)
    row, dijkstra = rows_of(graph, queries, [CCH, "dijkstra"], device)
    assert f"{CCH}: {row['error']}" == MISSING and row["version"] is None and row["query_ms"] == []
    assert dijkstra["verified"]
    with pytest.raises(QueryError) as caught:
        check_methods([CCH])
    assert str(caught.value) == MISSING


def test_no_method_at_all_is_an_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = draw_queries(Graph.from_edges([0], [1], [1], undirected=True), 1)
    monkeypatch.setattr(Run, "solver", lambda *arguments: (_ for _ in ()).throw(QueryError("too large")))
    with pytest.raises(VksspError, match="no method could be run; near_far: too large; dijkstra: too large"):
        rows_of(grid(2), queries, ["near_far", "dijkstra"], device)


def test_the_crossover_is_where_a_method_stays_faster(queries: Queries) -> None:
    reference = np.full(len(queries.rank), 5.0)
    assert crossover(queries, np.where(queries.rank < 4, 9.0, 1.0), reference) == 4
    assert crossover(queries, np.where(queries.rank == 5, 9.0, 1.0), reference) == 6
    assert crossover(queries, np.where(queries.rank == 8, 9.0, 1.0), reference) is None
    assert crossover(queries, np.full(len(queries.rank), 1.0), reference) == 1


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("dijkstra_rank")


def run(*arguments: str) -> Done:
    return run_script("dijkstra_rank", *arguments)


@pytest.mark.usefixtures("may_use_vulkan")
def test_the_script_with_all_methods(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    graph.save(tmp_path / "g")
    files = {name: str(tmp_path / name) for name in ("q.csv", "t.csv", "r.json", "f.png")}
    outputs = ["--save-queries", files["q.csv"], "--csv", files["t.csv"], "--json", files["r.json"]]
    query = [str(tmp_path / "g"), "--sources", "2", "--seed", "3", "--run", "near_far,rounds=4"]
    done = run(*query, *outputs, "--figure", files["f.png"])
    assert done.returncode == 0, done.stderr
    installed = importlib.util.find_spec(RoutingkitCch.MODULE) is not None
    methods = [
        "near_far",
        "delta_step",
        "dijkstra",
        "bidirectional",
        *([CCH] if installed else []),
        "near_far,rounds=4",
    ]
    assert "16 queries from 2 sources, all verified" in done.stdout
    lines = done.stdout.splitlines()
    assert ["rank", "queries", *methods] in [line.split() for line in lines]
    assert ("below routingkit-cch" in done.stdout) == installed and (MISSING in lines) != installed
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")

    result = load_ranks(files["r.json"])
    assert {"name", "driver", "api_version"} <= set(result["device"]) and "commit" in result and result["seed"] == 3
    assert result["graph"]["sha256"] in (tmp_path / "q.csv").read_text().splitlines()[0]
    rows = [row for row in result["methods"] if not row["error"]]
    assert [row["method"] for row in rows] == methods and all(row["verified"] for row in rows)
    queries = Queries.load(files["q.csv"], graph)
    assert np.array_equal(queries.target, Queries.of(result).target)

    header, *table = csv.reader((tmp_path / "t.csv").read_text().splitlines())
    assert header == ["rank", "source", "target", *methods] and len(table) == 16
    assert [[int(cell) for cell in row[:3]] for row in table] == np.stack(
        [queries.rank, queries.source, queries.target], axis=1
    ).tolist()
    assert np.allclose([float(row[3]) for row in table], rows[0]["query_ms"], rtol=1e-5)
    again = run(str(tmp_path / "g"), "--methods", "dijkstra", "--queries", files["q.csv"])
    assert again.returncode == 0 and "16 queries" in again.stdout

    # The same from the file, without a device.
    redrawn = {name: str(tmp_path / f"again-{name}") for name in files}
    outputs = ["--save-queries", redrawn["q.csv"], "--csv", redrawn["t.csv"], "--figure", redrawn["f.png"]]
    monkeypatch.setenv("VKSSP_DEVICE", "none such")
    again = run("--result", files["r.json"], *outputs)
    assert again.stdout == done.stdout, again.stderr
    for name in ("q.csv", "t.csv"):
        assert Path(redrawn[name]).read_text() == Path(files[name]).read_text()
    assert Path(redrawn["f.png"]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("may_use_vulkan")
def test_the_script_where_little_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (RoutingkitCch.MODULE, "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    query = ["road:16", "--sources", "1", "--methods"]
    done = run(*query, f"{CCH},dijkstra", "--json", str(tmp_path / "r.json"))
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == MISSING, done.stderr
    assert [row["verified"] for row in load_ranks(tmp_path / "r.json")["methods"]] == [False, True]
    done = run(*query, CCH)
    assert done.returncode == 2 and done.stderr.splitlines() == [MISSING] and not done.stdout
    done = run(*query, "dijkstra", "--figure", str(tmp_path / "f.png"))
    assert done.returncode == 2 and "figures need matplotlib" in done.stderr and not done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["g"], "g does not exist"),
        ([], "there is no graph; give a file"),
        (["road:8", "--methods", "magic"], "method is 'magic'"),
        (["road:8", "--methods", ""], "give a method at least"),
        (["road:8", "--sources", "0"], "sources is 0; give 1 or more"),
        (["road:8", "--limit", "nan"], "--limit is nan; give seconds"),
        (["road:8", "--queries", "q.csv"], "q.csv does not exist"),
        (["road:8", "--queries", "q.csv", "--seed", "2"], "leave --sources and --seed out"),
        (["road:8", "--csv", "a.csv", "--save-queries", "a.csv"], "it is a.csv, which is needed for something else"),
        (["road:8", "--json", "/nowhere/r.json"], "/nowhere is no folder"),
        (["--result", "r.json"], "cannot read r.json"),
        (["g", "--result", "r.json", "--sources", "3"], "leave GRAPH, --sources out"),
    ],
)
def test_wrong_arguments(
    script: ModuleType,
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dijkstra_rank.py", *arguments])
    assert script.main() == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.mark.parametrize("name", ["ranks", "ranks.xyz"])
def test_figures_of_no_format_are_refused_at_once(script: ModuleType, name: str) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(QueryError, match=f"--figure is '{name}', which names no format; end it in one of .*png"):
        script.check_figure(name)


def test_results_that_are_none(queries: Queries, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    columns = {name: getattr(queries, name).tolist() for name in rank.COLUMNS}
    sound = {"format": FORMAT, "graph": {"sha256": queries.sha256}, "queries": columns}
    row = {"method": "dijkstra", "error": None, "query_ms": [1.0] * 24}
    save_result(path, {**sound, "methods": [row]})
    assert Queries.of(load_ranks(path)).rank.tolist() == queries.rank.tolist()
    for content, words in (
        ("{", "is no result by Dijkstra rank"),
        ('{"format": 1}', "is no result by Dijkstra rank of this version"),
        (json.dumps({**sound, "methods": 1}), "is damaged"),
        (json.dumps(sound), r"is damaged \(KeyError\('methods'\)\)"),
        (json.dumps({**sound, "methods": []}), "does not have the time of each query"),
        (json.dumps({**sound, "methods": [{**row, "query_ms": [1.0]}]}), "does not have the time of each query"),
    ):
        path.write_text(content)
        with pytest.raises(FormatError, match=words):
            load_ranks(path)
    save_result(path, {**sound, "methods": [row]})
    with pytest.raises(FormatError, match="is no benchmark result of this version"):
        load_result(path)


@pytest.mark.usefixtures("may_use_vulkan")
def test_the_result_is_kept_after_each_method(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(BidirectionalDijkstra, "distance", lambda *arguments: 2**32 - 1)
    path = str(tmp_path / "r.json")
    arguments = ["road:16", "--sources", "1", "--methods", "dijkstra,bidirectional", "--json", path]
    monkeypatch.setattr(sys, "argv", ["dijkstra_rank.py", *arguments])
    assert script.main() == 2 and "bidirectional finds 4294967295" in capsys.readouterr().err
    assert [row["method"] for row in load_ranks(path)["methods"]] == ["dijkstra"]
