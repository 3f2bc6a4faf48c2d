"""Walks back along distances: hop by hop and in jumps, of any span, the same routes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, heap_dijkstra, random_graphs
from vkssp import UNREACHABLE, Graph, Solver
from vkssp.engine import path
from vkssp.gpu.device import Device

#: Of pointers and of arcs into a node: hop by hop, and in jumps.
WALKS = [(1, 0), (1, 64), (4, 64), (64, 64)]


@settings(max_examples=max(4, EXAMPLES // 4))
@given(graph=random_graphs(max_nodes=70), seed=st.integers(0, 2**32 - 1))
def test_all_walks_find_the_same_routes(device: Device, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    seeds = [(int(node), int(offset)) for node, offset in rng.integers(0, (graph.num_nodes, 9), (3, 2))]
    targets = [(int(node), int(offset)) for node, offset in rng.integers(0, (graph.num_nodes, 9), (2, 2))]
    with Solver(graph, "dijkstra") as reference:
        expected = reference.search_path(seeds, targets)
    for algorithm in ("near_far", "phast"):
        for span, most in WALKS:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(path, "SOFTWARE_SPAN", span)
                patch.setattr(path, "MOST_ARCS", most)
                with Solver(graph, algorithm, device) as solver:
                    for _ in range(2):
                        found = solver.search_path(seeds, targets)
                        assert (found is None) == (expected is None)
                        if found is not None and expected is not None:
                            assert found[:3] == expected[:3]
                            assert np.array_equal(found[3], expected[3])


@pytest.mark.parametrize("span", [1, 8, 64])
@pytest.mark.parametrize("steps", [1, 3, 8192])
def test_long_walks_go_on_in_the_next_dispatch(
    device: Device, monkeypatch: pytest.MonkeyPatch, span: int, steps: int
) -> None:
    monkeypatch.setattr(path, "SOFTWARE_SPAN", span)
    monkeypatch.setattr(path, "STEPS", steps)
    nodes = np.arange(199)
    graph = Graph.from_edges(nodes, nodes + 1, np.arange(199) % 3)  # some weigh nothing
    with Solver(graph, "near_far", device) as solver:
        for target in (0, 1, span, span + 1, 199):
            assert solver.path(0, target).nodes.tolist() == list(range(target + 1))
    with Solver(grid(14), "near_far", device) as solver:
        exact = heap_dijkstra(grid(14), 3)
        for target in np.flatnonzero(exact != UNREACHABLE)[::29]:
            assert solver.path(3, int(target)).weight == exact[target]
