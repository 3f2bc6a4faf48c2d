"""The script that times many pairs of a prepared graph."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.scripts import load_script, run_script
from vkssp.cpu.labels import Labels

for module in ("numba", "pymetis"):
    pytest.importorskip(module)

FEW = ["--pairs", "4096", "--most-searched", "9", "--rounds", "2"]


@pytest.mark.parametrize("device", ["0", "cpu"])
@pytest.mark.usefixtures("may_use_vulkan")
def test_pairs_are_timed(tmp_path: Path, device: str) -> None:
    result = tmp_path / "r.json"
    options = ["road:9", "road:7", "--device", device, *FEW, "--lanes", "4", "64", "--json", str(result)]
    done = run_script("time_pairs", *options)
    assert done.returncode == 0, done.stderr
    for graph in json.loads(result.read_text())["graphs"]:
        (row,) = graph["rows"]
        assert row["pairs"] == 4096 and row["labels"]["call"]["median"] > 0 and "searches" not in row
        assert (row["labels"]["device"] is None) == (device == "cpu") and graph["made"]["bytes"] > 0
        assert list(graph["lanes"]) == ([] if device == "cpu" else ["4", "64"]) and graph["graph"] in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pairs", "9"], "--pairs takes 1024 or more"),
        (["--seed", "-1"], "--seed 0 or more"),
        (["--lanes", "6"], "--lanes takes powers of two up to 64"),
    ],
)
def test_wrong_arguments(options: list[str], message: str) -> None:
    refused = run_script("time_pairs", "road:4", *options)
    assert refused.returncode == 2 and message in refused.stderr


def test_a_wrong_distance_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_script("time_pairs")
    find = Labels.find
    monkeypatch.setattr(Labels, "find", lambda self, *nodes: find(self, *nodes) + np.uint32(1))
    monkeypatch.setattr(sys, "argv", ["time_pairs", "road:8", "--device", "cpu", *FEW])
    with pytest.raises(SystemExit, match="wrong pairs"):
        script.main()
