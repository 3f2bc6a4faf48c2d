"""The script that measures imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.osm.test_osm_import import LINE, ROAD, write_osm
from tests.support.paths import ROOT


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_imports_are_measured_and_compared(tmp_path: Path) -> None:
    extract, result = write_osm(tmp_path / "map.osm", LINE, [(1, [1, 2], ROAD)]), tmp_path / "result.json"
    command = [sys.executable, str(ROOT / "scripts" / "measure_import.py"), str(extract), "--turns", "none"]
    command += ["--cores", "1", "--folder", str(tmp_path), "--json", str(result), "--stages"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "graphs are the same on any number of cores" in done.stdout
    (row,) = json.loads(result.read_text())["rows"]
    assert row["stages"].keys() == {"start and end", *row["processor"]} and "reading" in done.stdout
    assert row["cores"] == 1 and row["nodes"] == 2 and row["arcs"] == 2
    assert 0 < row["user_s"] and 0 < row["peak_bytes"] and 0 <= row["alone_s"] <= row["seconds"]
    assert {*tmp_path.iterdir()} == {extract, result}, "nothing else stays"
