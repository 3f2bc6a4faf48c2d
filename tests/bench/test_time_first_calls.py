"""The script that times the first searches of a process, and the clocks beside it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.scripts import load_script, run_script
from vkssp import Solver
from vkssp.bench.gpu_clocks import clocks_of

pytest.importorskip("numba")

FEW = ["--device", "0", "--calls", "4", "--each", "3", "--pause", "0", "--warm-up", "0"]
LINE = "2026/01/02 03:04:05.678, {}, 2619"


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.skipif(os.name != "posix", reason="the program in the test is a shell script")
def test_the_first_calls_are_told_with_clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, file = tmp_path / "nvidia-smi", tmp_path / "calls.json"
    lines = "\n".join(f"echo '{LINE.format(clock)}'" for clock in ("345", "1980"))
    program.write_text(f"#!/bin/sh\n{lines}\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    done = run_script("time_first_calls", "road:16", *FEW, "--json", str(file))
    assert done.returncode == 0, done.stderr
    first, second, *others = json.loads(file.read_text())["rows"]
    assert (first["calls"], second["first"], second["calls"]) == (3, 3, 1) and len(others) == 4
    assert first["made"]["submissions"] >= 3 and first["made"]["recorded"] > 0
    assert all(row["device_ms"][1] <= row["device_ms"][0] <= row["device_ms"][2] for row in (first, second, *others))
    assert first["clocks"] == [[1980], [2619]]  # the last reading before it
    assert "the first of a new solver" in done.stdout and "1980" in done.stdout


def test_lines_without_clocks_are_no_readings() -> None:
    assert clocks_of("no devices were found") is clocks_of(LINE.format("[N/A]")) is None
    reading = clocks_of(LINE.format("345"))
    assert reading is not None and (reading.processors, reading.memory) == (345, 2619) and reading.at % 1 > 0.6


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_wrong_distance_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    script, find = load_script("time_first_calls"), Solver.distances

    def wrong(self: Solver, node: int) -> object:
        return find(self, node) + (self.algorithm != "dijkstra")

    monkeypatch.setattr(Solver, "distances", wrong)
    monkeypatch.setattr(sys, "argv", ["time_first_calls", "road:9", *FEW, "--clocks-ms", "0"])
    with pytest.raises(SystemExit, match="wrong distances"):
        script.main()


def test_wrong_arguments() -> None:
    refused = run_script("time_first_calls", "road:4", "--each", "0")
    assert refused.returncode == 2 and "--each" in refused.stderr
