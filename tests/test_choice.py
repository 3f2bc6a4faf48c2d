"""The algorithm that is chosen by the graph."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import heap_dijkstra
from vkssp import ALGORITHMS, Graph, QueryError, Solver
from vkssp.generate import barabasi_albert, rmat, road_grid, uniform_random
from vkssp.gpu.device import Device
from vkssp.solvers.choice import AUTO, choose
from vkssp.solvers.prepare import PreparedGraph


def shuffled(graph: Graph) -> Graph:
    """Return a graph whose ids tell nothing."""
    node = np.random.default_rng(5).permutation(graph.num_nodes)
    tail = np.repeat(np.arange(graph.num_nodes), np.diff(graph.first_out))
    return Graph.from_edges(node[tail], node[graph.head], graph.weight, num_nodes=graph.num_nodes)


@pytest.mark.parametrize(
    ("graph", "algorithm"),
    [
        (road_grid(128), "block_resident"),
        (shuffled(road_grid(160)), "block_resident"),  # for an order was found for it
        (uniform_random(20_000, 3, seed=1), "near_far"),  # sparse, and no numbering makes it local
        (rmat(13), "bellman_ford_edge"),
        (barabasi_albert(5000, 12), "near_far"),
        (uniform_random(500, 100), "near_far"),
        (Graph.from_edges([], [], [], num_nodes=3), "block_resident"),
        (Graph.from_edges([], [], [], num_nodes=0), "block_resident"),
    ],
)
def test_the_algorithm_follows_from_the_graph(graph: Graph, algorithm: str) -> None:
    assert choose(PreparedGraph(graph)) == algorithm


def test_a_solver_chooses_and_says_what(device: Device) -> None:
    for graph, algorithm in ((road_grid(32), "block_resident"), (rmat(10), "bellman_ford_edge")):
        source = int(np.argmax(np.diff(graph.first_out)))
        expected = heap_dijkstra(graph, source)
        with Solver(graph, device=device) as solver, solver.clone() as clone:
            assert solver.algorithm == clone.algorithm == algorithm in ALGORITHMS
            assert np.array_equal(solver.distances(source), expected)
            assert np.array_equal(clone.distances(source), expected)


def test_only_the_choice_reduces_without_being_asked(device: Device) -> None:
    graph = road_grid(48, shape_nodes=8)  # most nodes give streets their shape
    with Solver(graph, device=device) as chosen, Solver(graph, "block_resident", device) as named:
        assert chosen.core_nodes is not None and chosen.core_nodes < graph.num_nodes / 3
        assert named.core_nodes is None
        assert np.array_equal(chosen.distances(7), named.distances(7))
    with Solver(graph, device=device, counters="trace") as traced:
        assert traced.core_nodes is None


def test_auto_takes_no_parameters(device: Device) -> None:
    with pytest.raises(QueryError, match=r"delta may be a parameter .* name one, such as near_far"):
        Solver(road_grid(8), AUTO, device, delta=3)
