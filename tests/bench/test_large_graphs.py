"""The script that searches large graphs, with small ones on a device whose limits are masked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT
from vkssp.gpu.mask import MASK_VARIABLE


def test_large_graphs_are_searched_in_parts_and_proved(tmp_path: Path) -> None:
    output = tmp_path / "large.json"
    script = str(ROOT / "scripts" / "measure_large_graphs.py")
    graphs = ["--scales", "10", "11", "--degree", "32", "--sources", "1", "--routes", "--output", str(output)]
    command = [sys.executable, script, *graphs, "--algorithms", "auto", "near_far"]
    environment = {**os.environ, MASK_VARIABLE: "storage_range=65536"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "a binding spans 65536 bytes" in done.stdout and done.stdout.endswith("all distances are proved\n")
    found = json.loads(output.read_text())["graphs"]
    assert [graph["arcs"] for graph in found] == [2**15, 2**16]
    assert [[run["algorithm"] for run in graph["runs"]] for graph in found] == [["bellman_ford_edge", "near_far"]] * 2
