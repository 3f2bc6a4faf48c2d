from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.graphs import grid, heap_dijkstra
from vkssp import FormatError, Graph, QueryError, VksspError
from vkssp.bench.rank import Queries, crossover, draw_queries, measure_ranks, medians
from vkssp.cpu import BidirectionalDijkstra
from vkssp.gpu.device import Device

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "dijkstra_rank.py"


@pytest.fixture(scope="module")
def graph() -> Graph:
    return grid(20, seed=6)


@pytest.fixture(scope="module")
def queries(graph: Graph) -> Queries:
    return draw_queries(graph, 3, seed=2)


def test_targets_are_the_nodes_of_their_rank(graph: Graph, queries: Queries) -> None:
    assert queries.rank.tolist() == 3 * [1, 2, 3, 4, 5, 6, 7, 8] and len(set(queries.source.tolist())) == 3
    for rank, source, target, distance in zip(
        queries.rank, queries.source, queries.target, queries.distance, strict=True
    ):
        distances = heap_dijkstra(graph, int(source))
        assert distances[target] == distance
        # As many nodes as the rank says are not farther, and no more are nearer.
        assert (distances < distance).sum() < 2**rank <= (distances <= distance).sum()


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
    for rows in ("1,2", "1,2,x,4", "1,400,2,3", "1,-1,2,3"):
        path.write_text(f"{head}\n{rows}\n")
        with pytest.raises(FormatError, match="does not hold rank, source, target, distance of nodes"):
            Queries.load(path, graph)
    path.write_text("")
    with pytest.raises(FormatError, match="no queries for this graph"):
        Queries.load(path, graph)


def test_graphs_without_far_nodes_are_refused() -> None:
    with pytest.raises(QueryError, match="hardly any node reaches a tenth"):
        draw_queries(Graph.from_edges([], [], [], num_nodes=50), 1)


def test_methods_are_timed_and_verified(
    graph: Graph, queries: Queries, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = ["near_far", "delta_step,delta=50", "dijkstra", "bidirectional"]
    times = dict(measure_ranks(graph, queries, methods, device, warm_up_s=0))
    assert list(times) == methods
    for milliseconds in times.values():
        assert milliseconds.shape == (24,) and (milliseconds > 0).all()
        assert list(medians(queries, milliseconds)) == [1, 2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(QueryError, match="algorithm is 'magic'"):
        list(measure_ranks(graph, queries, ["dijkstra", "magic"], device))
    monkeypatch.setattr(BidirectionalDijkstra, "distance", lambda *arguments: 1)
    with pytest.raises(VksspError, match="bidirectional finds 1 from node"):
        list(measure_ranks(graph, queries, ["bidirectional"], device, warm_up_s=0))


def test_the_crossover_is_where_a_method_stays_faster(queries: Queries) -> None:
    reference = np.full(len(queries.rank), 5.0)
    assert crossover(queries, np.where(queries.rank < 4, 9.0, 1.0), reference) == 4
    assert crossover(queries, np.where(queries.rank == 5, 9.0, 1.0), reference) == 6
    assert crossover(queries, np.where(queries.rank == 8, 9.0, 1.0), reference) is None
    assert crossover(queries, np.full(len(queries.rank), 1.0), reference) == 1


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def test_the_script(graph: Graph, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    graph.save(tmp_path / "g")
    files = {name: str(tmp_path / name) for name in ("q.csv", "t.csv", "f.png")}
    outputs = ["--save-queries", files["q.csv"], "--csv", files["t.csv"], "--figure", files["f.png"]]
    done = run(str(tmp_path / "g"), "--methods", "dijkstra,bidirectional", "--run", "near_far,rounds=4", *outputs)
    assert done.returncode == 0, done.stderr
    assert "all verified" in done.stdout and "near_far,rounds=4" in done.stdout
    assert "at the largest rank than dijkstra" in done.stdout or "from rank 2^" in done.stdout
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    header, *rows = (tmp_path / "t.csv").read_text().splitlines()
    assert next(csv.reader([header]))[3:] == ["dijkstra", "bidirectional", "near_far,rounds=4"]
    assert len(rows) == 800 and all(len(row.split(",")) == 6 for row in rows)
    again = run(str(tmp_path / "g"), "--methods", "dijkstra", "--queries", files["q.csv"])
    assert again.returncode == 0 and "800 queries" in again.stdout
    wrong = run(str(tmp_path / "g"), "--methods", "magic")
    assert wrong.returncode == 2 and "algorithm is 'magic'" in wrong.stderr and wrong.stderr.count("\n") == 1
