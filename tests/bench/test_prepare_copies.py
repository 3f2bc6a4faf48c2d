"""The script that prepares copies of a road network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

from tests.support.scripts import run_script
from vkssp import Graph


def square(side: int) -> Graph:
    """Return a square of streets, a thousandth of a degree long, each of which weighs 7."""
    node = np.arange(side * side).reshape(side, side)
    tail = np.concatenate([node[:, :-1].reshape(-1), node[:-1].reshape(-1)])
    head = np.concatenate([node[:, 1:].reshape(-1), node[1:].reshape(-1)])
    lat, lon = np.divmod(np.arange(side * side), side)
    return Graph.from_edges(tail, head, np.full(len(tail), 7), undirected=True, lat=1e-3 * lat, lon=1e-3 * lon)


def test_copies_are_joined_and_prepared(tmp_path: Path) -> None:
    for name in ("numba", "pymetis"):
        pytest.importorskip(name)
    side, columns, rows, join = 9, 3, 2, 3
    graph = square(side)
    graph.save(tmp_path / "one.graph")
    outputs = ("--output", tmp_path / "all.graph", "--json", tmp_path / "r.json")
    done = run_script("prepare_copies", tmp_path / "one.graph", "--copies", columns, rows, "--join", join, *outputs)
    assert done.returncode == 0, done.stderr
    found, result = Graph.load(tmp_path / "all.graph"), json.loads((tmp_path / "r.json").read_text())
    copies, borders = columns * rows, (columns - 1) * rows + columns * (rows - 1)
    assert (found.num_nodes, found.num_arcs) == (copies * side**2, copies * graph.num_arcs + 2 * borders * join)
    assert found.hierarchy is not None and found.hierarchy.num_arcs == result["hierarchy"]["arcs"]
    assert csgraph.connected_components(found.to_scipy())[0] == 1
    # No copy lies on another, and roads between them are straight ones along the lattice, of the others' speed.
    assert found.lat is not None and found.lon is not None
    assert len(np.unique(np.stack([found.lat, found.lon]), axis=1).T) == found.num_nodes
    tail, head = found.tail.astype(np.int64), found.head.astype(np.int64)
    between = tail // side**2 != head // side**2
    moved = np.stack([np.abs(values[tail] - values[head])[between] for values in (found.lat, found.lon)])
    gap = 0.01 * (side - 1) * 1e-3
    np.testing.assert_allclose(np.sort(moved, axis=0), np.tile([[0], [gap]], moved.shape[1]), atol=1e-9)
    np.testing.assert_array_equal(found.weight[between], max(1, round(7 * gap / 1e-3)))
    assert [row["stage"] for row in result["stages"]][:2] == ["reading", "laying copies"]
    assert all(row["peak_bytes"] > 0 for row in result["stages"]) and "GB by then" in done.stdout


def test_what_cannot_be_laid_out_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    square(3).save(tmp_path / "one.graph")
    for path, copies, why in (
        ("road:8", (2, 2), "give a graph that has some"),
        (tmp_path / "one.graph", (1, 50_000), "degrees north; lay fewer copies there"),
        (tmp_path / "one.graph", (0, 1), "--copies takes 1 or more"),
    ):
        done = run_script("prepare_copies", path, "--copies", *copies, "--output", tmp_path / "all.graph")
        assert done.returncode == 2 and why in done.stderr and len(done.stderr.splitlines()) <= 2, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["one.graph"]
    graph, before = tmp_path / "one.graph", (tmp_path / "one.graph").read_bytes()
    for outputs in (("--output", graph), ("--json", graph), ("--output", tmp_path / "a", "--json", tmp_path / "a")):
        done = run_script("prepare_copies", graph, "--copies", 1, 1, *outputs)
        assert done.returncode == 2 and "is needed for something else" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["one.graph"] and graph.read_bytes() == before
