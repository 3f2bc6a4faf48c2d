from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid, scipy_dijkstra
from vkssp import FormatError, Graph, QueryError, Solver
from vkssp.algorithms import near_far
from vkssp.bench import Experiment, Run, load_result, measure, measuring, save_csv, save_result
from vkssp.bench.cached_graph import prepared_graph
from vkssp.bench.experiment import DEFAULT_RUNS, SUITE
from vkssp.bench.measuring import digest
from vkssp.bench.result import COLUMNS, about, compare_lines, graph_lines, number, table
from vkssp.cli import main
from vkssp.generate import is_expression
from vkssp.gpu.device import Device

QUICK: dict[str, Any] = {"sources": 3, "warm_up_s": 0.0, "repetitions": 2}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bench") / "grid.graph"
    grid(15, seed=2).save(path)
    return str(path)


@pytest.fixture(scope="module")
def result(path: str, device: Device) -> dict[str, Any]:
    runs = [Run("near_far"), Run("bellman_ford_subgroup", {"lanes": 4}), Run("crauser@cpu")]
    return measure(Experiment([path], runs, **QUICK), device)


def test_a_result_says_what_was_measured_where_and_on_what(result: dict[str, Any], device: Device, path: str) -> None:
    assert result["device"]["name"] == device.info.name and result["device"]["driver"] == device.info.driver
    assert result["tuned"] == {} and "tuned" not in about(result)
    assert result["host"]["cores"] >= 1 and result["vkssp"] and len(result["created"]) == 25
    (graph,) = result["graphs"]
    assert (graph["graph"], graph["nodes"], graph["arcs"]) == (path, 225, 840)
    assert graph["sha256"] == digest(grid(15, seed=2)) != digest(grid(15, seed=3))
    assert len(graph["sources"]) == len(set(graph["sources"])) == len(graph["dijkstra_ms"]) == 3
    assert [(run["algorithm"], run["parameters"]) for run in graph["runs"]] == [
        ("near_far", {}),
        ("bellman_ford_subgroup", {"lanes": 4}),
        ("crauser@cpu", {}),
    ]
    for run in graph["runs"]:
        assert run["sources"] == graph["sources"] and run["verified"] and run["error"] is None
        assert np.shape(run["device_ms"]) == np.shape(run["call_ms"]) == (3, 2)
        assert (np.array(run["call_ms"]) >= np.array(run["device_ms"])).all() and np.min(run["call_ms"]) > 0
        assert run["counters"]["worked"] >= 225 and run["counters"]["iterations"] > 0


def test_real_weights_are_measured_as_whole_ones(tmp_path: Path, device: Device) -> None:
    whole = grid(9, seed=4)
    path = tmp_path / "real.graph"
    weights = whole.weight / 10
    weights[0] = 0.1
    tail = [f"n{node}" for node in whole.tail.tolist()]
    Graph.from_edges(tail, [f"n{node}" for node in whole.head.tolist()], weights).save(path)
    (found,) = measure(Experiment([str(path)], [Run("near_far")], peers=["scipy"], **QUICK), device)["graphs"]
    assert [run["error"] for run in found["runs"]] == [None, None] and all(run["verified"] for run in found["runs"])
    graph, _ = prepared_graph(str(path), str(tmp_path), {})
    assert graph.scale is None and graph.names is None
    assert np.array_equal(prepared_graph(str(path), str(tmp_path), {})[0].weight, graph.weight)


def test_the_same_seed_gives_the_same_sources(path: str, device: Device, result: dict[str, Any]) -> None:
    def sources(seed: int) -> list[int]:
        once = Experiment([path], [Run("bellman_ford")], seed=seed, **QUICK)
        found: list[int] = measure(once, device)["graphs"][0]["sources"]
        return found

    assert sources(1) == result["graphs"][0]["sources"] != sources(2)


def test_wrong_distances_are_an_error_and_no_time(path: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    original = near_far.NearFar.read

    def wrong(self: near_far.NearFar) -> np.ndarray:
        found = original(self)
        found[7] += 1
        return found

    monkeypatch.setattr(near_far.NearFar, "read", wrong)
    broken, sound = measure(Experiment([path], [Run("near_far"), Run("crauser")], **QUICK), device)["graphs"][0]["runs"]
    assert "wrong distances from node" in broken["error"] and broken["device_ms"] == []
    assert sound["error"] is None and len(sound["device_ms"]) == 3
    assert any("near_far: wrong distances" in line for line in graph_lines({**_graph(), "runs": [broken, sound]}))


def _graph() -> dict[str, Any]:
    return {"graph": "g", "sha256": "0", "nodes": 4, "arcs": 3000, "sources": [1], "dijkstra_ms": [30.0], "runs": []}


def test_a_run_that_cannot_be_leaves_the_others_alone(path: str, device: Device) -> None:
    runs = [Run("delta_step_subgroup", {"chunk": 4096, "lanes": 1}), Run("crauser")]
    refused, measured = measure(Experiment([path], runs, **QUICK), device)["graphs"][0]["runs"]
    assert "shared memory" in refused["error"] and measured["error"] is None


def test_a_slow_run_is_not_repeated(path: str, device: Device) -> None:
    slow = Experiment([path], [Run("martin")], **QUICK, limit_s=0.0)
    (run,) = measure(slow, device)["graphs"][0]["runs"]
    assert np.shape(run["device_ms"]) == (1, 1) and "worked" not in run["counters"]


def test_sources_reach_far(tmp_path: Path, device: Device) -> None:
    edges = np.arange(30)
    Graph.from_edges(edges, edges + 1, edges + 1, num_nodes=90, undirected=True).save(tmp_path / "part")
    found = measure(Experiment([str(tmp_path / "part")], [Run("near_far")], **QUICK), device)["graphs"][0]["sources"]
    assert max(found) <= 30
    Graph.from_edges([], [], [], num_nodes=50).save(tmp_path / "dust")
    with pytest.raises(QueryError, match=r"hardly any node of .*dust reaches a tenth"):
        measure(Experiment([str(tmp_path / "dust")], [Run("near_far")], **QUICK), device)


def test_runs_are_read_and_written() -> None:
    for text in ("near_far", "near_far,delta=7", "bellman_ford_edge,segment=0,read_only=1"):
        assert str(Run.parse(text)) == text
    assert str(Run.parse("near_far,reduction=full,delta=3")) == "near_far,delta=3,reduction=full"
    assert Run.parse("delta_step,light-heavy=1") == Run("delta_step", {"light_heavy": 1})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("magic", "algorithm is 'magic'; choose one of"),
        ("near_far,delta", "write NAME,PARAMETER=N, such as"),
        ("near_far,delta=x", "write NAME,PARAMETER=N, such as"),
        ("near_far,gamma=1", "near_far has no parameter 'gamma'"),
        ("near_far,delta=0", "delta is 0; near_far takes 1 to"),
        ("near_far,reduction=half", "reduction is 'half'; choose one of auto, none, full"),
    ],
)
def test_wrong_runs(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        Run.parse(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sources": 0}, "sources is 0; give 1 or more"),
        ({"repetitions": 0}, "repetitions is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"graphs": []}, "give a graph at least"),
        ({"runs": []}, "give an algorithm at least"),
    ],
)
def test_wrong_experiments(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        Experiment(**{"graphs": ["road:8"], "runs": [Run("near_far")], **changes})


def test_the_suite_is_made_of_expressions_and_algorithms_that_exist() -> None:
    assert all(map(is_expression, SUITE.graphs)) and SUITE.runs == DEFAULT_RUNS and len(DEFAULT_RUNS) >= 8


def test_results_are_saved_and_loaded(result: dict[str, Any], tmp_path: Path) -> None:
    save_result(tmp_path / "r.json", result)
    assert load_result(tmp_path / "r.json") == result
    save_csv(tmp_path / "r.csv", result)
    with (tmp_path / "r.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 3 * 3 * 2
    run = result["graphs"][0]["runs"][1]
    mine = [row for row in rows if row["algorithm"] == "bellman_ford_subgroup"]
    assert {row["parameters"] for row in mine} == {"lanes=4"}
    assert [float(row["device_ms"]) for row in mine] == [ms for times in run["device_ms"] for ms in times]


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"format": 0}'])
def test_what_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(FormatError, match=r"r\.json is no benchmark result"):
        load_result(tmp_path / "r.json")


def test_tables() -> None:
    run = {"algorithm": "a", "parameters": {"p": 1}, "error": None, "counters": {"iterations": 1234}}
    graph = {**_graph(), "runs": [{**run, "device_ms": [[1.0, 2.0, 9.0], [4.0]], "call_ms": [[5.0], [7.0]]}]}
    title, header, reference, row = graph_lines(graph)
    assert title == "g: 4 nodes, 3,000 arcs, 1 sources" and header.split()[:2] == ["ms", "quartiles"]
    assert reference.split()[-1] == "30.0" and row.split() == [
        "a,p=1",
        "3.00",
        "2.50..3.50",
        "6.00",
        "1,234",
        "1.00",
        "10.0",
    ]
    assert len({len(line) for line in (header, reference, row)}) == 1
    assert [number(x) for x in (0.12345, 1.2345, 12.345, 1234.5)] == ["0.123", "1.23", "12.3", "1,234"]
    assert table(("x", "y"), [("long", "1")]) == ["x     y", "long  1"]


def test_results_are_compared_where_graph_and_run_are_the_same(result: dict[str, Any]) -> None:
    other = json.loads(json.dumps(result))
    other["device"]["name"] = "Another"
    (graph,) = other["graphs"]
    graph["runs"][0]["device_ms"] = [[2 * ms for ms in times] for times in graph["runs"][0]["device_ms"]]
    graph["runs"][2]["device_ms"] = []
    lines = compare_lines([result, other])
    assert lines[1].startswith("2  Another")
    rows = {line.split()[1]: line.split()[2:] for line in lines[4:]}
    assert rows["near_far"][2] == "0.500" and rows["bellman_ford_subgroup,lanes=4"][2] == "1.00"
    assert "crauser@cpu" not in rows
    graph["graph"] = "elsewhere/of-another-name"
    assert compare_lines([result, other])[4:] == lines[4:], "a graph is known by its digest"
    graph["sha256"] = "another graph of that name"
    assert compare_lines([result, other])[-1] == "these results have no graph and algorithm in common"


def test_a_device_without_a_clock_has_no_speed(result: dict[str, Any]) -> None:
    timeless = json.loads(json.dumps(result))
    for run in timeless["graphs"][0]["runs"]:
        run["device_ms"] = [[0.0, 0.0]] * 3
    row = next(line for line in graph_lines(timeless["graphs"][0]) if line.startswith("near_far"))
    assert row.split()[-2:] == ["-", "-"]
    assert compare_lines([result, timeless])[-1].split()[-2:] == ["0.000", "-"]


@pytest.mark.parametrize("text", ['{"format": 1}', "[]", "x", '{"format": 2, "graphs": []}'])
def test_files_that_are_no_results(tmp_path: Path, text: str) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(FormatError, match=r"f\.json is no benchmark result"):
        load_result(tmp_path / "f.json")


def test_the_command(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv")]
    query = ["bench", path, "--algorithms", "bellman_ford,crauser@cpu", "--run", "near_far,rounds=1", *files]
    assert main([*query, "--sources", "2", "--repetitions", "1", "--seed", "5", "--limit", "0"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("all distances verified", "near_far,rounds=1", "over Dijkstra", "r.csv"))
    result = load_result(tmp_path / "r.json")
    assert result["experiment"]["seed"] == 5 and len(result["graphs"][0]["runs"]) == 3
    assert main(["bench", "--compare", str(tmp_path / "r.json"), str(tmp_path / "r.json")]) == 0
    assert "1 / 2" in capsys.readouterr().out


@pytest.mark.usefixtures("may_use_vulkan")
def test_what_was_measured_before_ctrl_c_is_in_both_files(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: near_far.NearFar, *_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(near_far.NearFar, "search", interrupted)
    files = ["--json", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv")]
    assert main(["bench", path, "--algorithms", "bellman_ford,near_far", "--sources", "1", "--limit", "0", *files]) != 0
    (run,) = load_result(tmp_path / "r.json")["graphs"][0]["runs"]
    assert run["algorithm"] == "bellman_ford" and "bellman_ford" in (tmp_path / "r.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "there is no graph; give one, such as road:1024"),
        (["--suite", "road:8"], "--suite has graphs and algorithms of its own"),
        (["--compare", "x.json", "--suite"], "--compare only reads results"),
        (["road:8", "--algorithms", "magic"], "algorithm is 'magic'"),
        (["road:8", "--sources", "0"], "sources is 0"),
        (["road:8", "--json", "/nowhere/r.json"], "cannot write /nowhere/r.json"),
        (["road:8", "--json", "x", "--csv", "x"], "choose another name"),
        (["--compare", "/nowhere.json", "/nowhere.json"], "cannot read /nowhere.json"),
        (["--compare", "x.json"], "--compare takes two results or more"),
        (["--compare", "x.json", "y.json", "--json", "z.json"], "--compare only reads results"),
        (["road:8", "--limit", "nan"], "limit is nan; give seconds"),
        (["road:8", "--limit", "-1"], "limit is -1.0; give seconds"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_the_commit_is_that_of_a_checkout_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "__file__", str(tmp_path / "a" / "b" / "measuring.py"))
    assert measuring.commit() == ""


def test_measuring_leaves_nothing_behind(path: str, device: Device) -> None:
    before = len(device.owned)
    with Solver(grid(3), "crauser", device) as solver:  # makes what the device keeps
        assert np.array_equal(solver.distances(0), scipy_dijkstra(grid(3), 0))
    before = len(device.owned)
    measure(Experiment([path], [Run("crauser"), Run("near_far")], **QUICK), device)
    assert len(device.owned) == before


def test_benchmarks_on_the_cpu_need_no_vulkan_device(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither with a variable that selects the CPU or nothing, nor with the option."""
    query = ["bench", "road:8", "--algorithms", "martin@cpu", "--sources", "1", "--limit", "0"]
    for variable, options in (("cpu", []), ("garbage", []), ("garbage", ["--device", "cpu"])):
        monkeypatch.setenv("VKSSP_DEVICE", variable)
        monkeypatch.setattr(Device, "__init__", lambda *_: pytest.fail("a Vulkan device is opened"))
        path = tmp_path / "r.json"
        assert main([*query, *options, "--json", str(path)]) == 0
        result = load_result(path)
        (row,) = result["graphs"][0]["runs"]
        assert (row["algorithm"], row["runs_on"], result["device"]["kind"]) == ("martin@cpu", "cpu", "cpu")
        assert "martin@cpu  " in capsys.readouterr().out
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    both = [*query[:3], "martin,near_far", *query[4:], "--json", str(path)]
    assert main(both) == 0
    rows = load_result(path)["graphs"][0]["runs"]
    assert rows[0]["runs_on"] == "cpu" and "near_far runs on Vulkan devices only" in rows[1]["error"]
    assert main([*query[:3], "near_far@cpu", *query[4:]]) == 2
    assert "near_far runs on Vulkan devices only; leave @cpu out" in capsys.readouterr().err
    # Files of earlier versions have other names.
    path.write_text(path.read_text().replace('"martin"', '"martin_cpu"'))
    assert load_result(path)["graphs"][0]["runs"][0]["algorithm"] == "martin@cpu"
