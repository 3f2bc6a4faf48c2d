"""The script that times routes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.scripts import load_script, run_script
from tests.support.street_grid import street_grid
from vkssp import Router

pytest.importorskip("numba")

FEW = ["--repetitions", "2", "--warm-up", "0", "--device", "cpu"]


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    """Return the file of a small graph with streets."""
    street_grid(5).save(tmp_path / "grid.graph")
    return tmp_path / "grid.graph"


def test_routes_at_once_are_timed_alone_and_in_turn(grid: Path, tmp_path: Path) -> None:
    file = tmp_path / "routes.json"
    done = run_script("time_routes", grid, "--together", "6", *FEW, "--json", file)
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text())
    alone, *others = result["rows"]
    assert alone["name"] == "at once, nothing between" and result["pairs"] == 6
    assert all(0 <= row["call_ms"][1] <= row["call_ms"][0] <= row["call_ms"][2] for row in result["rows"])
    assert {"  search, and unpacking", "one by one, in turn", "at once, in turn"} <= {row["name"] for row in others}
    assert all(row["name"] in done.stdout for row in result["rows"])


def test_a_wrong_route_is_no_result(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, find = load_script("time_routes"), Router.routes
    monkeypatch.setattr(Router, "routes", lambda self, one, other: find(self, one, np.roll(other, 1, axis=0)))
    monkeypatch.setattr(sys, "argv", ["time_routes", str(grid), "--together", "4", *FEW])
    with pytest.raises(SystemExit, match="wrong route of pair"):
        script.main()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (["--repetitions", "0"], "--repetitions"),
        (["--json", "routes.json"], "--together"),
        (["--together", "2", "--json", "nowhere/routes.json"], "cannot write"),
        (["--bounds", "50,50,51,51"], "no node is within"),
    ],
)
def test_wrong_arguments(grid: Path, wrong: list[str], reason: str) -> None:
    refused = run_script("time_routes", grid, *wrong)
    assert refused.returncode == 2 and reason in refused.stderr


def test_a_missing_file_is_named() -> None:
    refused = run_script("time_routes", "nothing.graph")
    assert refused.returncode == 2 and "nothing.graph does not exist" in refused.stderr
