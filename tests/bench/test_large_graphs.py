"""The script that searches large graphs, with small ones on a device whose limits are masked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.scripts import run_script
from vkssp.gpu.mask import MASK_VARIABLE


def test_large_graphs_are_searched_in_parts_and_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "large.json"
    graphs = [
        "--scales",
        "10",
        "11",
        "--degree",
        "32",
        "--sources",
        "1",
        "--warm-up",
        "0",
        "--routes",
        "--output",
        output,
    ]
    monkeypatch.setenv(MASK_VARIABLE, "storage_range=65536")
    done = run_script("measure_large_graphs", *graphs, "--algorithms", "auto", "near_far")
    assert done.returncode == 0, done.stderr
    assert "a binding spans 65536 bytes" in done.stdout and done.stdout.endswith("all distances are proved\n")
    result = json.loads(output.read_text())
    assert result["device"]["driver"] and result["commit"] is not None
    found = result["graphs"]
    assert [graph["arcs"] for graph in found] == [2**15, 2**16]
    assert [[run["algorithm"] for run in graph["runs"]] for graph in found] == [["push_pull", "near_far"]] * 2
