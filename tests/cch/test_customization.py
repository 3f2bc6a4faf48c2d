"""Customization on a device: weights of arcs beside distances by a heap, however its work is divided."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from tests.support.hierarchies import lists
from vkssp import UNREACHABLE, Graph, Solver, prepare
from vkssp.algorithms.phast import hierarchy_of
from vkssp.cch import fronts, topology
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.device import Device


def check_weights(solver: Solver) -> None:
    """Compare the weights of all arcs of a hierarchy with distances between their ends."""
    on_device, graph = solver.session.shared.graph, solver.graph
    assert isinstance(on_device, DeviceGraph) and graph.hierarchy is not None
    node = graph.hierarchy.node
    distances = np.stack([heap_dijkstra(graph, int(rank)) for rank in range(graph.num_nodes)])[np.ix_(node, node)]
    ends = [(low, high) for low, above in enumerate(lists(graph.hierarchy)) for high in above]
    low, high = np.array(ends).T
    found = hierarchy_of(on_device).weights.read().reshape(-1, 2)[: len(ends)]
    assert np.array_equal(found, np.stack([distances[low, high], distances[high, low]], axis=1))


def dense(rng: np.random.Generator) -> Graph:
    """Return a graph whose hierarchy has large supernodes, some arcs one way, and parts that are not joined."""
    tail, head = rng.integers(0, 40, (2, 240))
    rest = 40 + rng.integers(0, 40, (2, 50))
    ends = np.concatenate([np.stack([tail, head]), rest], axis=1)
    return Graph.from_edges(*ends, rng.integers(0, 100, ends.shape[1]), num_nodes=80)


@pytest.mark.parametrize(("nodes", "words"), [(32, fronts.MOST_WORDS), (4, fronts.MOST_WORDS), (32, 80), (1, 80)])
@pytest.mark.parametrize("rounds", [fronts.MOST_ROUNDS, 300])
def test_weights_are_distances(
    device: Device, monkeypatch: pytest.MonkeyPatch, nodes: int, words: int, rounds: int
) -> None:
    monkeypatch.setattr(topology, "MOST_ROUNDS", rounds)
    # Supernodes are divided into pieces of few nodes, and few columns are in shared memory at a time.
    monkeypatch.setattr(fronts, "MOST_NODES", nodes)
    monkeypatch.setattr(fronts, "MOST_WORDS", words)
    monkeypatch.setattr(topology, "SOFTWARE_SPLITS", nodes // 2 or 1)
    # Several workgroups share the pairs of ancestors of a supernode.
    monkeypatch.setattr(fronts, "SOFTWARE_SHARES", 3 if nodes == 32 else 1)
    # As where a step has many parts.
    monkeypatch.setattr(topology, "MOST_NARROW", 0 if nodes == 4 or rounds == 300 else 150)
    rng = np.random.default_rng(rounds)
    for graph in (prepare(grid(9, seed=1)), prepare(dense(rng))):
        with Solver(graph, "phast", device) as solver:
            check_weights(solver)
            solver.set_weights(rng.integers(0, 50, graph.num_arcs))
            check_weights(solver)
            solver.set_weights([UNREACHABLE - 1, 3], [0, 5])
            check_weights(solver)
