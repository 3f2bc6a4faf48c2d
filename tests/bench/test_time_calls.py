"""The script that times single calls and large results of one graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.scripts import load_script, run_script
from vkssp import Graph, Solver

for module in ("numba", "pymetis"):
    pytest.importorskip(module)

FEW = [
    "--device",
    "0",
    "--calls",
    "3",
    "--trees",
    "9",
    "--table",
    "7",
    "5",
    "--pairs",
    "9",
    "--square",
    "5",
    "--warm-up",
    "0",
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the script as a module that copies few bytes, and has few dispatches."""
    script = load_script("time_calls")
    monkeypatch.setattr(script, "DISPATCHES", 20)
    monkeypatch.setattr(script, "COPIED", 5 << 20)
    return script


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize("has_bundles", [False, True])
def test_calls_are_timed(
    tmp_path: Path,
    has_bundles: bool,
    small: object,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "calls.json"
    monkeypatch.setattr(small, "may_bundle", lambda *_: has_bundles)
    monkeypatch.setattr(sys, "argv", ["time_calls", "road:9", *FEW, "--json", str(file)])
    assert small.main() == 0  # type: ignore[attr-defined]
    rows, told = json.loads(file.read_text())["rows"], capsys.readouterr().out
    times = [row["call_ms"] for row in rows if "call_ms" in row]
    assert all(0 < low <= middle <= high for middle, low, high in times)
    kinds = ("by levels", "by bundles") if has_bundles else ("by levels",)
    assert has_bundles == any("by bundles" in row["name"] for row in rows)
    names = {f"a tree {kind}, {where}" for kind in kinds for where in ("searched", "to the host")}
    names |= {"a pair", "an empty submission", "a table of 7 by 5", "9 trees, left on the device"}
    assert names <= {row["name"] for row in rows}
    assert all(row["name"] in told for row in rows)
    kernels = {row["name"]: row["stages_ms"] for row in rows if "stages_ms" in row}
    assert {"phast_upward", "phast_sweep"} <= kernels["a tree by levels, searched"].keys()
    assert {"phast_upward_many", "phast_sweep_many", "phast_leaf_rows"} <= kernels["9 trees, left on the device"].keys()
    assert all(milliseconds > 0 for of in kernels.values() for milliseconds in of.values())
    submissions = {row["name"]: row["submissions"] for row in rows if "parts_ms" in row}
    assert submissions["a tree by levels, searched"] == submissions["a pair"] == 1
    assert submissions["a path, the only shortest one"] == 1
    parts = {row["name"]: row["parts_ms"] for row in rows if "parts_ms" in row}
    spreads = [spread for of_call in parts.values() for spread in of_call.values()]
    assert all(0 <= low <= middle <= high for middle, low, high in spreads)
    assert parts["a pair"].keys() == set(small.PARTS) and parts["a pair"]["driver and device"][0] > 0  # type: ignore[attr-defined]


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_wrong_distance_ends_the_script(small: object, monkeypatch: pytest.MonkeyPatch) -> None:
    find = Solver.table
    monkeypatch.setattr(Solver, "table", lambda self, *nodes: find(self, *nodes) + np.uint32(1))
    monkeypatch.setattr(sys, "argv", ["time_calls", "road:9", *FEW])
    with pytest.raises(SystemExit, match="wrong row of a table"):
        small.main()  # type: ignore[attr-defined]


def test_wrong_arguments() -> None:
    refused = run_script("time_calls", "road:4", "--trees", "0")
    assert refused.returncode == 2 and "--trees" in refused.stderr


def test_pairs_with_ties_are_told_from_those_without(small: object) -> None:
    # A square with a tail: two shortest paths lead to the corner opposite of 0 and to what hangs on it.
    # Another arc from 0 to 1, just as light, makes no other path.
    ends = ([0, 0, 1, 2, 3, 4, 0], [1, 2, 3, 3, 4, 0, 1])
    graph = Graph.from_edges(*ends, [1, 2, 2, 1, 5, 9, 1], num_nodes=5)
    with Solver(graph, "dijkstra", "cpu") as reference:
        unique, tied = small.pairs_by_ties(graph, reference, 1)  # type: ignore[attr-defined]
    several = {(0, 3), (0, 4), (4, 3)}
    assert {(one, other) for one, other, _ in tied} == several
    assert not several & {(one, other) for one, other, _ in unique} and (0, 1, 1) in unique and (4, 2, 11) in unique
