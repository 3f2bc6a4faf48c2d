"""The script that times single calls and large results of one graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.scripts import load_script, run_script
from vkssp import Solver

for module in ("numba", "pymetis"):
    pytest.importorskip(module)

FEW = ["--device", "0", "--calls", "3", "--trees", "9", "--table", "7", "5", "--pairs", "9", "--square", "5"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the script as a module that copies few bytes."""
    script = load_script("time_calls")
    monkeypatch.setattr(script, "COPIED", 5 << 20)
    return script


@pytest.mark.usefixtures("may_use_vulkan")
def test_calls_are_timed(
    tmp_path: Path, small: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calls.json"
    monkeypatch.setattr(sys, "argv", ["time_calls", "road:9", *FEW, "--json", str(file)])
    assert small.main() == 0  # type: ignore[attr-defined]
    rows, told = json.loads(file.read_text())["rows"], capsys.readouterr().out
    assert all(0 < row["call_ms"][1] <= row["call_ms"][0] <= row["call_ms"][2] for row in rows)
    assert {"a tree", "a pair", "an empty submission", "a table of 7 by 5"} <= {row["name"] for row in rows}
    assert all(row["name"] in told for row in rows)
    submissions = {row["name"]: row["submissions"] for row in rows if "parts_ms" in row}
    assert submissions["a tree"] == submissions["a pair"] == submissions["a path"] == 1
    parts = {row["name"]: row["parts_ms"] for row in rows if "parts_ms" in row}
    assert all(0 <= part < 1000 for of_call in parts.values() for part in of_call) and parts["a pair"][1] > 0


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
