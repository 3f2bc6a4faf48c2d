"""The script that measures many searches at once."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "batch_throughput.py"


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


def test_wrong_distances_are_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    spec = importlib.util.spec_from_file_location("batch_throughput", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script.Measured, "_check", wrong(script.Measured._check))
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
