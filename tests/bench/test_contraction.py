"""Contraction hierarchies, sweeps over them, and the script that compares them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

pytest.importorskip("numba")

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, heap_dijkstra, random_graphs
from tests.support.paths import ROOT
from vkssp import UNREACHABLE, Graph, GraphError, prepare, read_graph
from vkssp.bench.contraction import Contraction, contraction
from vkssp.bench.sweeping import SweepHierarchy, SweepTimer
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.gpu.device import Device

SCRIPT = ROOT / "scripts" / "compare_contraction.py"


def swept_down(made: Contraction, source: int) -> np.ndarray:
    """Return the distances of nodes by an upward search and a plain loop down."""
    (ranks, distances), *_ = made.upward_labels([source])
    found = dict(zip(ranks.tolist(), distances.tolist(), strict=True))
    for rank, (first, count) in enumerate(made.rows.tolist()):
        for tail, weight in made.arcs[first : first + count].tolist():
            if tail in found:
                found[rank] = min(found.get(rank, UNREACHABLE), found[tail] + weight)
    by_node = np.full(made.num_nodes, UNREACHABLE, np.uint32)
    by_node[made.node[list(found)]] = list(found.values())
    return by_node


@settings(max_examples=EXAMPLES)
@given(graph=random_graphs(max_nodes=60))
def test_distances_over_contraction_hierarchies(graph: Graph) -> None:
    # Searches that end at once find nothing, and make more arcs only.
    for settled in (1, 100):
        try:
            made = contraction(graph, settled=settled, tried=settled)
        except GraphError:  # sums that do not fit
            assert graph.weight.sum(dtype=np.uint64) >= UNREACHABLE
            return
        assert np.array_equal(np.sort(made.node), np.arange(graph.num_nodes))
        level = np.searchsorted(made.bounds, np.arange(graph.num_nodes), "right") - 1
        low = np.repeat(np.arange(graph.num_nodes), made.rows[:, 1])
        assert (level[made.arcs[:, 0]] < level[low]).all()
        for source in range(0, graph.num_nodes, 7):
            assert np.array_equal(swept_down(made, source), heap_dijkstra(graph, source))


def test_few_arcs_are_made_of_streets() -> None:
    graph = read_graph("road:40")
    made = contraction(graph)
    assert len(made.arcs) < graph.num_arcs
    # Without searches for other paths there are those of any metric, and more.
    assert len(made.arcs) < len(contraction(graph, settled=1, tried=1).arcs)


def test_both_hierarchies_are_swept_by_the_same_kernels(device: Device) -> None:
    pytest.importorskip("routingkit_cch")
    graph = prepare(read_graph("road:12"))
    sources = np.arange(0, graph.num_nodes, 4)
    expected = np.stack([heap_dijkstra(graph, int(source)) for source in sources])
    assert graph.hierarchy is not None
    with CustomizedHierarchy(device, graph.hierarchy, graph, device) as customized:
        for swept in (SweepHierarchy.of_contraction(contraction(graph)), SweepHierarchy.of_customized(customized)):
            labels = swept.upward_labels(sources)
            with SweepTimer(device, swept) as timer:
                assert np.array_equal(timer.time_sweep(labels[1], 1)[1], expected[1])
                with timer.time_batch(labels, 2) as batch:
                    found = np.concatenate([batch.distances(tile) for tile in range(batch.num_tiles)])
                    assert np.array_equal(found[: len(sources)], expected)
                    assert len(batch.milliseconds) == 2 and batch.num_tiles == -(-len(sources) // batch.tile)
                with timer.time_batch(labels, 1, seeded=False) as batch:
                    assert (batch.distances(0) == UNREACHABLE).all()


def test_the_script_writes_what_it_prints(tmp_path: Path) -> None:
    pytest.importorskip("routingkit_cch")
    grid(7).save(tmp_path / "g.graph")
    options = ("--at-once", "1", "5", "--warm-up", "0", "--repetitions", "1", "--json", tmp_path / "r.json")
    command = [sys.executable, SCRIPT, tmp_path / "g.graph", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    assert [row["at_once"] for row in result["rows"]] == [1, 1, 5, 5]
    for name, size in result["hierarchies"].items():
        assert name in done.stdout and f"{size['arcs_down']:,}" in done.stdout
    assert result["checked"] == 5 and all(row["bytes"] > 0 for row in result["rows"])
    graph, before = str(tmp_path / "g.graph"), (tmp_path / "g.graph").read_bytes()
    for arguments, why in (
        (("road:8", "--at-once", "0"), "--at-once"),
        (("road:8", "--seed", "-1"), "--seed takes 0 or more"),
        ((graph, "--json", graph), "is needed for something else"),
    ):
        command = [sys.executable, str(SCRIPT), *arguments]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert refused.returncode == 2 and why in refused.stderr and len(refused.stderr.splitlines()) == 1
    assert Path(graph).read_bytes() == before
