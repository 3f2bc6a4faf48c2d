"""The scripts that measure cost over size, and draw it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import DATA
from tests.support.paths import ROOT
from tests.support.scripts import run_script
from vkssp import read_graph


def test_a_network_is_made_measured_and_drawn(tmp_path: Path) -> None:
    for name in ("numba", "pymetis", "osmium"):
        pytest.importorskip(name)
    tile, folder, records = tmp_path / "tile.graph", tmp_path / "folder", tmp_path / "all.jsonl"
    read_graph(DATA / "andorra.osm.pbf", turns="costs").save(tile)
    arguments = (tile, "--nodes", "1.2e4", "--folder", folder, "--device", "cpu", "--json", records)
    first = run_script("measure_scale", *arguments, "--until", "build")
    assert first.returncode == 0 and "laying out copies" in first.stderr and not records.exists(), first.stderr
    done = run_script("measure_scale", *arguments)
    assert done.returncode == 0 and "laying out" not in done.stderr, done.stderr  # it goes on after what was done
    (record,) = map(json.loads, records.read_text().splitlines())
    stages = record["stages"]
    assert record["nodes"] > 9000 and record["hierarchy"]["arcs"] > record["nodes"] and record["turns"]
    assert {"laying out copies", "preparing: elimination", "loading", "reference", "cpu: a tree"} <= stages.keys()
    assert all(row["seconds"] >= 0 and row["peak_bytes"] for row in stages.values())
    assert [path.name for path in folder.iterdir()] == ["record-12000.json"]  # no graph is left
    other = run_script("measure_scale", *arguments, "--seed", 7)
    assert other.returncode == 2 and "give another --folder" in other.stderr

    pytest.importorskip("matplotlib")
    names = ("networks", "preparing", "device", "cpu", "stages", "needs", "limits")
    page = tmp_path / "page.md"
    page.write_text("# Title\n" + "".join(f"\n<!-- {name} -->\nold\n<!-- end -->\n" for name in names))
    drawn = run_script("draw_scale", records, "--page", page, "--figure", tmp_path / "scale.png")
    assert drawn.returncode == 0 and (tmp_path / "scale.png").stat().st_size > 10_000, drawn.stderr
    text = page.read_text()
    assert "old" not in text and text.count("<!-- end -->") == len(names) and "| prepare, s |" in text
    page.write_text("# Title\n")
    assert "has no lines '<!-- networks -->'" in run_script("draw_scale", records, "--page", page).stderr


def test_needs_of_larger_networks_follow_power_laws() -> None:
    script: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "draw_scale.py"))
    records = [
        {
            "nodes": nodes,
            "arcs": 2 * nodes,
            "hierarchy": {"arcs": 7 * nodes, "height": 3 * nodes ** (1 / 3)},
            "stages": {},
            "settings": {"tiles": ["one", "two"]},
            "cells": [2, 1],
            "device": {"name": "some"},
            "host": {"cores": 16},
        }
        for nodes in (10**5, 10**6, 10**7, 10**8)
    ]
    records[0]["hierarchy"]["arcs"] = 1  # too small to count
    arcs, height = (script["law_of"](records, name) for name in ("million arcs of the hierarchy", "height"))
    np.testing.assert_allclose((arcs.at(3e8), arcs.exponent), (2100, 1))
    np.testing.assert_allclose((height.at(1e9), height.exponent), (3000, 1 / 3))
    assert script["law_of"](records, "load, s") is None
    for record in records:
        record["file_bytes"] = 1e9 + record["nodes"]
    assert script["law_of"](records, "file, GB").at(2e8) == pytest.approx(2.2)
    (limit, nodes), *_ = [line.strip("| ").split(" | ") for line in script["limits"](records)[2:]]
    assert limit.startswith("numbers of arcs of the hierarchy") and float(nodes) == pytest.approx(307)
