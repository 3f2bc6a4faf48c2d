"""The script that measures many searches at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import ROOT
from tests.support.scripts import load_script, run_script
from vkssp import Solver, prepare, read_graph
from vkssp.bench.customizing import postorder
from vkssp.bench.writing import write
from vkssp.gpu.device import Device
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate

SCRIPT = ROOT / "scripts" / "batch_throughput.py"

#: They measure algorithms of Vulkan devices.
pytestmark = pytest.mark.usefixtures("may_use_vulkan")


OPTIONS = ("road:20", "--most", "4", "--warm-up", "0")


def test_tables_figure_and_result(tmp_path: Path) -> None:
    for module in ("matplotlib", "numba"):
        pytest.importorskip(module)
    files = ("--json", str(tmp_path / "r.json"), "--figure", str(tmp_path / "r.png"))
    options = ("--reduction", "full", "--table", "5", "--cpu-sources", "4", *files)
    # As a program, for the processes of its pool look for it by name.
    done = subprocess.run([sys.executable, SCRIPT, *OPTIONS, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    shapes = [(row["sources"], row["targets"], row["download"]) for row in result["rows"]]
    assert shapes == [(1, 400, False), (1, 400, True), (4, 400, False), (4, 400, True), (5, 5, True)]
    assert all(row["call_ms"] > 0 and row["counters"]["blocks"] > 0 for row in result["rows"])
    assert result["core_nodes"] < 400 and result["dijkstra_all_cores_ms"] > 0
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert result["device"]["name"] in done.stdout and len(done.stdout.splitlines()) > 8


def test_hierarchies_are_customized_beside_and_tables_written(tmp_path: Path) -> None:
    for module in ("numba", "pymetis", "routingkit_cch"):
        pytest.importorskip(module)
    files = ("--json", str(tmp_path / "r.json"), "--write", str(tmp_path / "t.npy"))
    options = ("--algorithm", "phast", "--table", "30", "9", "--cpu-sources", "0", *files)
    done = run_script("batch_throughput", *OPTIONS, *options)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    assert all(result["hierarchy"][f"cch_{name}_ms"] > 0 for name in ("customize", "some", "few"))
    written = result["written"]
    assert np.load(tmp_path / "t.npy").shape == (30, 30) and written["compared"] >= 8
    assert written["bytes"] == (tmp_path / "t.npy").stat().st_size and written["table_s"] > 0 < written["plain_s"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "t.npy"]
    for line in ("cch_customize_ms: ", "bytes written as a table: ", "bytes written plainly: "):
        assert line in done.stdout
    refused = run_script("batch_throughput", *OPTIONS, "--write", tmp_path / "t.npy")
    assert refused.returncode == 2 and "--write takes" in refused.stderr
    same = ("--json", str(tmp_path / "r.json"), "--figure", str(tmp_path / "r.json"))
    refused = run_script("batch_throughput", *OPTIONS, *same)
    assert refused.returncode == 2 and "is needed for something else" in refused.stderr
    refused = run_script("batch_throughput", *OPTIONS, "--seed", "-1")
    assert refused.returncode == 2 and "--seed 0 or more" in refused.stderr


def test_a_table_in_a_file_is_compared(tmp_path: Path, device: Device) -> None:
    expected = {3: np.arange(400, dtype=np.uint32)}
    with Solver(read_graph("road:20"), "bellman_ford", device) as solver, pytest.raises(SystemExit, match="from 3 in"):
        write(solver, tmp_path / "t.npy", np.array([5, 3]), np.arange(7), expected)


def test_a_postorder_makes_the_same_arcs() -> None:
    for module in ("numba", "pymetis"):
        pytest.importorskip(module)
    graph = prepare(read_graph("road:20"))
    assert graph.hierarchy is not None
    edges, order = Edges.of(graph), postorder(graph.hierarchy)
    assert np.array_equal(np.sort(order), np.arange(graph.num_nodes))
    by_levels = eliminate(edges, np.ascontiguousarray(graph.hierarchy.node[::-1]))
    found = eliminate(edges, order)
    assert (found.num_arcs, found.tree_height) == (by_levels.num_arcs, by_levels.tree_height)
    assert found.num_arcs <= graph.hierarchy.num_arcs


def test_wrong_distances_are_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    script = load_script("batch_throughput")
    monkeypatch.setattr(script.Measured, "check", wrong(script.Measured.check))
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *OPTIONS, "--cpu-sources", "0", "--json", str(tmp_path / "r.json")])
    with pytest.raises(SystemExit, match=r"wrong distances from \d+"):
        script.main()
    assert list(tmp_path.iterdir()) == []


def wrong(check: Callable[..., None]) -> Callable[..., None]:
    """Return a check of rows one of whose distances is another."""

    def of_damaged(self: object, sources: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        rows[0, 7] += 1
        check(self, sources, rows, columns)

    return of_damaged
