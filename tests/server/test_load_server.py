"""A server under load while speeds change and processes die."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.osm_maps import write_osm
from vkssp import read_graph

SCRIPT = Path(__file__).parents[2] / "scripts/load_server.py"
SIZE = 12


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_answers_have_the_weights_of_one_moment_and_survive_kills(tmp_path: Path) -> None:
    nodes = {SIZE * y + x + 1: (0.002 * y, 0.002 * x) for y in range(SIZE) for x in range(SIZE)}
    ends = [(node, node + d) for node in nodes for d in (1, SIZE) if node + d in nodes and (d != 1 or node % SIZE)]
    ways = [(at, list(both), {"highway": "residential", "name": f"Street {at}"}) for at, both in enumerate(ends, 1)]
    graph = tmp_path / "grid.graph"
    read_graph(write_osm(tmp_path / "grid.osm", nodes, ways), turns="costs").save(graph)
    command = [sys.executable, str(SCRIPT), str(graph), "--minutes", "0.3", "--kill-every", "4"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(number) for name, number in re.findall(r"'([\w, ]+)': (\d+)", done.stdout.splitlines()[-1])}
    assert counts["checked, set known"] > 100 and counts["changes"] > 5 and counts["lost"] <= 8 * 4
