"""The script that times the nearest of some sources."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.scripts import load_script, run_script
from vkssp import Solver

pytest.importorskip("numba")

FEW = ["--calls", "2", "--warm-up", "0", "--sources", "1", "9"]


@pytest.mark.usefixtures("may_use_vulkan")
def test_nearest_sources_are_timed(tmp_path: Path) -> None:
    file = tmp_path / "nearest.json"
    done = run_script("time_nearest", "road:12", *FEW, "--device", "0", "--json", file)
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text())["rows"]
    assert [row["sources"] for row in rows] == [1, 9] and "block_resident" in done.stdout
    times = [row[name] for row in rows for name in row if name != "sources"]
    assert len(times) >= 8 and all(0 < low <= middle <= high for middle, low, high in times)


def test_a_wrong_source_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    script, find = load_script("time_nearest"), Solver.distances
    monkeypatch.setattr(Solver, "distances", lambda self, nodes: find(self, nodes) + np.uint32(1))
    monkeypatch.setattr(sys, "argv", ["time_nearest", "road:9", *FEW, "--device", "cpu"])
    with pytest.raises(SystemExit, match="wrong distances"):
        script.main()


def test_wrong_arguments() -> None:
    refused = run_script("time_nearest", "road:4", "--sources", "0")
    assert refused.returncode == 2 and "--sources" in refused.stderr
