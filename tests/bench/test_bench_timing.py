"""What is timed, in which order, and what solvers of one experiment share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid, scipy_dijkstra
from tests.support.scripts import Done, run_script
from vkssp import Graph, QueryError, Solver
from vkssp.algorithms import bellman_ford_edge
from vkssp.bench import Experiment, Run, measure, timing
from vkssp.bench.evaluation import joined
from vkssp.bench.timing import Times, fill
from vkssp.cli import main
from vkssp.gpu.device import Device
from vkssp.prepared.renumbered import RenumberedGraph


class Recorded:
    """Something to be timed that writes down what it is asked for."""

    def __init__(self, expected: dict[int, np.ndarray], first_ms: float = 0.5, call_ms: float = 1.0) -> None:
        self.expected, self.first_ms, self.call_ms, self.asked = expected, first_ms, call_ms, []
        self.asked: list[tuple[str, int]]

    def distances(self, source: int) -> tuple[np.ndarray, Times]:
        self.asked.append(("verify", source))
        return self.expected[source], Times(self.first_ms, self.call_ms, 10.0 * source)

    def search(self, source: int) -> Times:
        self.asked.append(("time", source))
        return Times(float(len(self.asked)), self.call_ms)


def empty_row() -> dict[str, Any]:
    return {name: [] for name in ("sources", "download_ms", "device_ms", "call_ms")}


def settings(**changes: Any) -> Experiment:
    chosen: dict[str, Any] = {"repetitions": 2, "warm_up_s": 0.0, "limit_s": 60.0, **changes}
    return Experiment(["road:8"], [Run("near_far")], **chosen)


def test_all_distances_are_verified_before_any_search_is_timed() -> None:
    expected = {source: np.array([source], np.uint32) for source in (3, 5)}
    row, timed = empty_row(), Recorded(expected)
    assert not fill(row, timed, expected, settings())
    assert timed.asked == [("verify", 3), ("verify", 5), *[("time", 3)] * 2, *[("time", 5)] * 2]
    assert row["sources"] == [3, 5] and row["device_ms"] == [[3.0, 4.0], [5.0, 6.0]]
    assert row["download_ms"] == [30.0, 50.0]


def test_searches_go_on_untimed_until_the_device_is_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {source: np.array([source], np.uint32) for source in (3, 5)}
    row, timed = empty_row(), Recorded(expected)
    # A clock that goes on by a second with each call.
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: float(len(timed.asked))))
    fill(row, timed, expected, settings(warm_up_s=5.0))
    assert len(timed.asked) == 2 + 6 + 4 and row["device_ms"] == [[9.0, 10.0], [11.0, 12.0]]


def test_what_is_slow_is_timed_while_it_is_verified() -> None:
    expected = {source: np.array([source], np.uint32) for source in (3, 5)}
    row, timed = empty_row(), Recorded(expected, first_ms=20e3)
    assert fill(row, timed, expected, settings())
    assert timed.asked == [("verify", 3), ("verify", 5)] and row["device_ms"] == [[20e3], [20e3]]


def test_a_call_that_waits_for_an_upload_does_not_count_as_slow() -> None:
    expected = {3: np.array([3], np.uint32)}
    row, timed = empty_row(), Recorded(expected, call_ms=20e3)
    assert not fill(row, timed, expected, settings())
    assert row["device_ms"] == [[2.0, 3.0]]


def test_dijkstra_ends_at_the_limit_too(device: Device) -> None:
    (graph,) = measure(settings(sources=8, limit_s=0.0), device)["graphs"]
    assert len(graph["sources"]) == len(graph["dijkstra_ms"]) == 1 == len(graph["runs"][0]["sources"])


def test_some_graphs_have_more_runs_and_results_say_what_memory_is_held(device: Device) -> None:
    more = {"road:8": [Run("crauser@cpu")]}
    experiment = Experiment(["road:8", "road:9"], [Run("crauser")], more=more, sources=1, warm_up_s=0)
    first, second = measure(experiment, device)["graphs"]
    assert [run["algorithm"] for run in first["runs"]] == ["crauser", "crauser@cpu"]
    assert [run["algorithm"] for run in second["runs"]] == ["crauser"]
    arcs_and_distances = 8 * first["arcs"] + 4 * first["nodes"]
    for held in (first["dijkstra_bytes"], *(run["memory_bytes"] for run in first["runs"])):
        assert arcs_and_distances < held < 100 * arcs_and_distances
    assert second["runs"][0]["memory_bytes"] > first["runs"][0]["memory_bytes"]


def test_memory_is_that_of_the_graph_and_all_solvers_over_it(device: Device) -> None:
    graph = grid(20)
    with Solver(graph, "bellman_ford", device) as solver:
        alone = solver.memory_bytes
        with solver.clone() as clone:
            assert alone + 4 * graph.num_nodes <= clone.memory_bytes < 2 * alone
        assert solver.memory_bytes == alone > 8 * graph.num_arcs
    with pytest.raises(QueryError, match="closed"):
        _ = solver.memory_bytes


def test_solvers_over_a_prepared_graph_sort_edges_once(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_by = []
    original = bellman_ford_edge.edges_of

    def counted(renumbered: RenumberedGraph, segment: int) -> Any:
        sorted_by.append(segment)
        return original(renumbered, segment)

    monkeypatch.setattr(bellman_ford_edge, "edges_of", counted)
    graph = grid(12, seed=3)
    for renumbered, times in ((RenumberedGraph(graph, keep=True), 1), (RenumberedGraph(graph), 3)):
        sorted_by.clear()
        for read_only in (0, 1, 1):
            with Solver(renumbered, "bellman_ford_edge", device, segment=64, read_only=read_only) as solver:
                assert solver.graph is graph
                assert np.array_equal(solver.distances(7), scipy_dijkstra(graph, 7))
        assert sorted_by == [64] * times
    with pytest.raises(QueryError, match=r"order is 'z', but the graph was prepared with 'auto'"):
        Solver(RenumberedGraph(graph), "crauser", device, order="z")


def test_parts_of_a_result_are_joined() -> None:
    def part(*graphs: tuple[str, int], commit: str = "a") -> dict[str, Any]:
        found = [{"graph": name, "sha256": name, "runs": [0] * runs} for name, runs in graphs]
        return {"device": {"name": "d"}, "vkssp": "1", "commit": commit, "graphs": found}

    found = joined([part(("rmat:3", 2), ("rmat:4", 1)), part(("rmat:4", 3), ("rmat:5", 1)), part(("rmat:3", 1))])
    assert [(graph["graph"], len(graph["runs"])) for graph in found["graphs"]] == [
        ("rmat:3", 2),
        ("rmat:4", 3),
        ("rmat:5", 1),
    ]
    with pytest.raises(QueryError, match="differ in commit"):
        joined([part(("rmat:3", 1)), part(("rmat:3", 1), commit="b")])


def test_files_are_read_as_the_command_says(tmp_path: Path, device: Device) -> None:
    path = tmp_path / "line.txt"
    path.write_text("0 1\n1 2\n2 3\n")
    command = ["bench", str(path), "--algorithms", "bellman_ford", "--sources", "1", "--json", str(tmp_path / "r.json")]
    assert (
        main([*command, "--limit", "0", "--format", "edge_list", "--undirected", "--weights", "random:5-9,seed=2"]) == 0
    )
    text = (tmp_path / "r.json").read_text()
    assert '"arcs": 6' in text and '"weights": "random:5-9,seed=2"' in text
    again = measure(settings(sources=1), device)
    assert again["experiment"]["reading"] == {}


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "vkssp", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("vkssp ")


def test_graphs_of_an_evaluation_can_be_picked(tmp_path: Path) -> None:
    Graph.from_edges([0, 1, 2], [1, 2, 0], [4, 5, 6], undirected=True).save(tmp_path / "ring.graph")

    def run(name: str, *arguments: str) -> Done:
        return run_script(f"evaluate_{name}", "--output", tmp_path, *arguments)

    small = ("--small", "--sources", "1")
    picked = run("rmat", *small, "--only", "rmat:8", "--only", "rmat:1?")
    assert picked.returncode == 0, picked.stderr
    assert all(scale in picked.stdout for scale in ("2^8", "2^10", "2^11")) and "2^9" not in picked.stdout
    none = run("rmat", *small, "--only", "road:*")
    assert none.returncode == 2 and "--only is like none of the graphs" in none.stderr
    # Graphs of the user's own alone, and a figure all the same.
    own = run("crauser", *small, "--only", "", "--graph", str(tmp_path / "ring.graph"))
    assert own.returncode == 0 and "ring.graph" in own.stdout, own.stderr
    assert (tmp_path / "crauser.png").read_bytes().startswith(b"\x89PNG")
    foreign = run("rmat", "--result", str(tmp_path / "crauser.json"))
    assert foreign.returncode == 2 and "has no run of this experiment" in foreign.stderr


def test_runs_on_reduced_graphs_say_so(device: Device) -> None:
    runs = [Run.parse("near_far"), Run.parse("near_far,reduction=full")]
    (graph,) = measure(Experiment(["road:6,shape_nodes=3"], runs, sources=2, warm_up_s=0), device)["graphs"]
    whole, reduced = graph["runs"]
    assert whole["core_nodes"] is None and whole["parameters"] == {}
    assert 0 < reduced["core_nodes"] < graph["nodes"] / 2 and reduced["parameters"] == {"reduction": "full"}
    assert reduced["error"] is None and len(reduced["device_ms"]) == 2
