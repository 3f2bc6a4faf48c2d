from __future__ import annotations

import csv
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from vkssp import UNREACHABLE, Graph, QueryError
from vkssp.bench import Experiment, Run, load_result, measure
from vkssp.bench.elimination import triangles
from vkssp.bench.peers import PEERS, Peer, Scipy, lightest_arcs, peer_names, places
from vkssp.bench.result import COLUMNS, graph_lines
from vkssp.cli import main
from vkssp.generate import road_grid, uniform_random
from vkssp.gpu.device import Device

QUICK: dict[str, Any] = {"sources": 2, "warm_up_s": 0.0, "repetitions": 2}
RUNS = [Run("crauser@cpu")]
NAMES = ["scipy", "networkit", "rustworkx", "igraph", "routingkit-cch"]
LIMIT_S = 10.0


@pytest.fixture(params=NAMES)
def kind(request: pytest.FixtureRequest) -> type[Peer]:
    found = PEERS[request.param]
    pytest.importorskip(found.MODULE)
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("peers") / "grid.graph"
    grid(12, seed=3).save(path)
    return str(path)


def _make(kind: type[Peer], graph: Graph, limit_s: float = LIMIT_S) -> Peer:
    return kind(kind.load(), graph, limit_s)


def _agrees(kind: type[Peer], graph: Graph, sources: list[int]) -> None:
    peer = _make(kind, graph)
    for source in sources:
        found = peer.distances(source)
        assert found.dtype == np.uint32 and np.array_equal(found, heap_dijkstra(graph, source)), source


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("largest", [1, 100, 2**24])
def test_random_graphs_with_loops_parallel_arcs_zeros_and_unreachable_nodes(
    kind: type[Peer], seed: int, largest: int
) -> None:
    rng = np.random.default_rng(seed)
    nodes, arcs = int(rng.integers(2, 60)), int(rng.integers(1, 200))
    tail, head = rng.integers(0, nodes, (2, arcs))
    graph = Graph.from_edges(tail, head, rng.integers(0, largest + 1, arcs), num_nodes=nodes, undirected=seed % 2 == 0)
    _agrees(kind, graph, rng.integers(0, nodes, 5).tolist())


@pytest.mark.parametrize(
    ("tail", "head", "weight", "nodes"),
    [
        ([], [], [], 1),
        ([0, 0], [0, 0], [0, 7], 1),
        ([], [], [], 3),
        ([0, 0, 0], [1, 1, 1], [9, 4, 6], 2),
        ([0, 1, 0, 2], [1, 2, 2, 3], [0, 0, 1, 0], 5),
        ([0, 0, 1, 1], [0, 1, 1, 0], [3, 2, 0, 0], 2),
        ([3, 2, 1], [2, 1, 0], [1, 2, 3], 4),
    ],
    ids=["one node", "loops only", "no arcs", "parallel", "zeros", "loops", "backwards"],
)
def test_small_graphs(kind: type[Peer], tail: list[int], head: list[int], weight: list[int], nodes: int) -> None:
    _agrees(kind, Graph.from_edges(tail, head, weight, num_nodes=nodes), list(range(nodes)))


def test_streets(kind: type[Peer]) -> None:
    _agrees(kind, road_grid(20, seed=2), [0, 7, 399])
    _agrees(kind, grid(20, seed=2), [0, 7, 399])


def test_large_distances(kind: type[Peer]) -> None:
    half = (kind.LARGEST - 1) // 2
    _agrees(kind, Graph.from_edges([0, 1], [1, 2], [half, kind.LARGEST - half]), [0, 1, 2])
    # An arc that is too heavy to be held does no harm where a lighter way is there.
    heavy = Graph.from_edges([0, 0, 1], [1, 2, 2], [5, 2**32 - 2, 6])
    _agrees(kind, heavy, [0, 1, 2])


def test_distances_that_a_library_cannot_hold_are_an_error(tmp_path: Path, device: Device) -> None:
    pytest.importorskip("routingkit_cch")
    Graph.from_edges([0, 1], [1, 2], [2**31, 5], undirected=True).save(tmp_path / "far")
    _, cch, scipy = _rows(str(tmp_path / "far"), device, ("routingkit-cch", "scipy"))
    assert cch["error"] == "the largest distance is 2147483653, and it holds 2147483646 at most"
    assert not cch["device_ms"] and scipy["error"] is None


@pytest.mark.parametrize("coordinates", [True, False])
def test_graphs_whose_order_would_make_too_many_triangles_are_refused(coordinates: bool) -> None:
    kind = PEERS["routingkit-cch"]
    pytest.importorskip(kind.MODULE)
    graph = uniform_random(3000, 20)
    if coordinates:  # they say nothing of what is near what
        lat, lon = np.random.default_rng(1).random((2, graph.num_nodes))
        graph = Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=lat, lon=lon)
    with pytest.raises(QueryError, match=r"customization would take more than the limit of 0\.5 s.* 1\.0e\+08 triang"):
        _make(kind, graph, 0.5)


def test_graphs_whose_order_would_take_too_long_are_refused() -> None:
    kind = PEERS["routingkit-cch"]
    pytest.importorskip(kind.MODULE)
    with pytest.raises(QueryError, match=r"its order would take 0\.\d+ s or so, and the limit is 0\.1 s"):
        _make(kind, road_grid(80), 0.1)


def test_triangles_are_those_of_an_elimination() -> None:
    rng = np.random.default_rng(5)
    for nodes, arcs in ((2, 1), (12, 20), (30, 60), (40, 300)):
        tail, head = rng.integers(0, nodes, (2, arcs))
        graph = Graph.from_edges(tail, head, np.ones(arcs), num_nodes=nodes)
        order = rng.permutation(nodes)
        near: list[set[int]] = [set() for _ in range(nodes)]
        for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
            near[u].add(v)
            near[v].add(u)
        left, expected = set(range(nodes)), 0
        for node in order.tolist():
            left.remove(node)
            after = near[node] & left
            expected += len(after) * (len(after) - 1) // 2
            for other in after:
                near[other] |= after - {other}
        assert triangles(graph, order, 10**9) == expected
        if expected > 10:
            assert triangles(graph, order, 10) > 10


def test_places_are_those_that_say_what_is_near() -> None:
    street = grid(40)
    found = places(street)
    assert found is not None and street.lat is not None and np.array_equal(found[0], street.lat)
    assert places(uniform_random(500, 4)) is None
    by_id = places(road_grid(64, keep=1.0))
    assert by_id is not None
    lat, lon = (np.rint(1e4 * at).astype(int) for at in by_id)
    assert sorted(zip(lat, lon, strict=True)) == [(x, y) for x in range(64) for y in range(64)]
    tail, head = road_grid(64, keep=1.0).tail, road_grid(64, keep=1.0).head
    assert (np.abs(lat[tail] - lat[head]) + np.abs(lon[tail] - lon[head]) == 1).all()


def test_of_parallel_arcs_the_lightest_is_left() -> None:
    graph = Graph.from_edges([1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [3, 9, 4, 0, 1])
    assert [array.tolist() for array in lightest_arcs(graph)] == [[0, 0, 1], [0, 1, 0], [1, 4, 0]]
    assert [len(array) for array in lightest_arcs(Graph.from_edges([], [], [], num_nodes=2))] == [0, 0, 0]


def _rows(graph: str, device: Device, peers: tuple[str, ...], **changes: Any) -> list[dict[str, Any]]:
    experiment = Experiment([graph], RUNS, peers, **{**QUICK, **changes})
    rows: list[dict[str, Any]] = measure(experiment, device)["graphs"][0]["runs"]
    return rows


def test_rows_are_like_those_of_algorithms(kind: type[Peer], path: str, device: Device) -> None:
    ours, row = _rows(path, device, (kind.NAME,))
    assert set(row) == set(ours) and (ours["runs_on"], row["runs_on"]) == ("cpu", "peer")
    assert (row["algorithm"], row["parameters"], row["version"]) == (kind.NAME, {}, kind.version())
    assert row["error"] is None and row["verified"] and row["sources"] == ours["sources"] and row["setup_ms"] > 0
    assert np.shape(row["device_ms"]) == (2, 2) and row["device_ms"] == row["call_ms"] and np.min(row["call_ms"]) > 0


def test_slow_peers_are_not_repeated(path: str, device: Device) -> None:
    (_, row) = _rows(path, device, ("scipy",), limit_s=0.0)
    assert np.shape(row["device_ms"]) == np.shape(row["call_ms"]) == (1, 1)


def test_wrong_distances_and_failures_are_errors(path: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Scipy):
        def array(self, found: Any) -> Any:
            return super().array(found) + np.uint32(1)

    class Failing(Scipy):
        def search(self, source: int) -> Any:
            raise ValueError("no luck")

    monkeypatch.setitem(PEERS, "networkit", Wrong)
    monkeypatch.setitem(PEERS, "igraph", Failing)
    _, wrong, failing, sound = _rows(path, device, ("networkit", "igraph", "scipy"))
    assert "wrong distances from node" in wrong["error"] and wrong["device_ms"] == []
    assert failing["error"] == "ValueError: no luck"
    assert sound["error"] is None


def test_missing_peers_are_said_to_be_missing(
    path: str, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NAMES[1:]:
        monkeypatch.setitem(sys.modules, PEERS[name].MODULE, None)
    assert main(["bench", path, "--algorithms", "crauser@cpu", "--peers", "all", "--sources", "1", "--limit", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in NAMES[1:]:
        assert f"{name}: not installed (pip install 'vkssp[bench]')" in lines
    assert any(line.startswith(f"scipy {Scipy.version()} ") for line in lines)


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("no module pandas", name="pandas"), ImportError("libgomp.so: cannot open")]
)
def test_peers_that_lack_something_are_said_to(monkeypatch: pytest.MonkeyPatch, error: ImportError) -> None:
    def broken(name: str) -> Any:
        raise error

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(QueryError, match=re.escape(f"cannot be imported ({error})")):
        PEERS["networkit"].load()


def test_a_version_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scipy, "NAME", "no-such-distribution")
    assert Scipy.version() == "unknown"


def test_names() -> None:
    assert list(PEERS) == NAMES and list(peer_names("all")) == NAMES and peer_names("") == ()
    assert peer_names("igraph, scipy,igraph") == ("igraph", "scipy")
    with pytest.raises(QueryError, match=r"peer is 'networkx'; choose some of scipy, networkit, .*, or all"):
        Experiment(["road:8"], RUNS, peers=("networkx",))


def test_the_command(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--json", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv")]
    query = ["bench", path, "--algorithms", "crauser@cpu", "--peers", "scipy", *files]
    assert main([*query, "--sources", "2", "--repetitions", "1", "--limit", "0"]) == 0
    text = capsys.readouterr().out
    assert "other libraries: milliseconds of the call" in text and f"\nscipy {Scipy.version()} " in text
    result = load_result(tmp_path / "r.json")
    assert [run["algorithm"] for run in result["graphs"][0]["runs"]] == ["crauser@cpu", "scipy"]
    with (tmp_path / "r.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS
    assert [(row["runs_on"], row["version"]) for row in rows][-1] == ("peer", Scipy.version())
    assert main(["bench", "--compare", str(tmp_path / "r.json"), str(tmp_path / "r.json")]) == 0
    assert "scipy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["road:8", "--peers", "boost"], "peer is 'boost'; choose some of scipy, networkit, rustworkx, igraph,"),
        (["--compare", "x.json", "--peers", "all"], "--compare only reads results"),
        (["--peers", "all"], "there is no graph"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["bench", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_earlier_results_are_still_tables() -> None:
    run: dict[str, Any] = {"algorithm": "a", "parameters": {}, "error": None, "counters": {}}
    run |= {"device_ms": [[1.0]], "call_ms": [[2.0]]}
    graph = {"graph": "g", "nodes": 1, "arcs": 1, "sources": [0], "dijkstra_ms": [1.0], "runs": [run]}
    assert graph_lines(graph)[-1].split()[0] == "a"


def test_no_peer_is_imported_before_it_is_measured() -> None:
    modules = [PEERS[name].MODULE for name in NAMES[1:]]
    program = f"import sys, vkssp, vkssp.bench.command; assert not set({modules}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_nothing_is_reached() -> None:
    found = Scipy(Scipy.load(), Graph.from_edges([], [], [], num_nodes=2), LIMIT_S).distances(1)
    assert found.tolist() == [UNREACHABLE, 0]
