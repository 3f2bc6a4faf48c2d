"""Other weights for a solver that is there: whatever follows from weights must follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.graphs import check_path, heap_dijkstra, make_solver, random_graphs
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, Solver
from vkssp.gpu.device import Device
from vkssp.solvers import ALGORITHMS

algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)
LARGEST = 2**32 - 2


def check(solver: Solver, weight: np.ndarray, source: int) -> None:
    """Check distances and a path by a search of a graph that was made of the weights, by the textbook."""
    old = solver.graph
    assert np.array_equal(old.weight, weight)
    fresh = Graph.from_csr(old.first_out, old.head, weight)
    expected = heap_dijkstra(fresh, source)
    if (expected[expected != UNREACHABLE] > LARGEST).any():
        with pytest.raises(DistanceOverflowError):
            solver.distances(source)
        return
    assert np.array_equal(solver.distances(source), expected)
    reached = np.flatnonzero(expected != UNREACHABLE)
    target = int(reached[-1])
    check_path(fresh, solver.route(source, target), source, target, int(expected[target]))


def changes(rng: np.random.Generator, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return other weights and the arcs that are to have them, None for all."""
    kind = rng.integers(0, 7)
    if kind == 0:
        return rng.integers(0, 100, len(weight)), None
    arcs = rng.choice(len(weight), rng.integers(0, len(weight) + 1), replace=False)
    if kind == 1:  # zeros appear, in cycles too
        return np.zeros(len(arcs), np.int64), arcs
    if kind == 2:  # and vanish
        return rng.integers(1, 5, len(arcs)), arcs
    if kind == 3:  # some as large as may be
        return np.where(rng.random(len(arcs)) < 0.1, LARGEST, weight[arcs]), arcs
    if kind == 4:  # all a thousand times as heavy
        return np.minimum(weight.astype(np.int64) * 1000, LARGEST), None
    return np.where(weight[arcs] > 1, rng.integers(0, 1 + weight[arcs].astype(np.int64)), weight[arcs]), arcs


def change_and_check(solver: Solver, rng: np.random.Generator, times: int) -> None:
    weight = solver.graph.weight.copy()
    for _ in range(times):
        values, arcs = changes(rng, weight)
        solver.set_weights(values, arcs)
        weight[slice(None) if arcs is None else arcs] = values
        for source in rng.integers(0, solver.graph.num_nodes, 2).tolist():
            check(solver, weight, source)


@algorithms
@settings(max_examples=max(2, EXAMPLES // 15))
@given(graph=random_graphs(max_nodes=25), seed=st.integers(0, 2**32 - 1))
def test_distances_follow_any_sequence_of_changes(device: Device, algorithm: str, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.choice(["natural", "landmarks", "auto"])
    with make_solver(graph, algorithm, device, order=order) as solver:
        change_and_check(solver, rng, 3)


@settings(max_examples=max(2, EXAMPLES // 6))
@given(graph=random_graphs(max_nodes=25), seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("algorithm", ["near_far", "bellman_ford_edge"])
def test_a_reduced_graph_is_reduced_anew(device: Device, algorithm: str, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = "auto" if graph.lat is None else rng.choice(["natural", "z"])
    with Solver(graph, algorithm, device, order=order, reduction="full") as solver:
        change_and_check(solver, rng, 3)
