"""Bellman-Ford: which nodes and edges an iteration looks at."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.graphs import check_counters, grid, make_solver
from vkssp import Graph, Solver
from vkssp.gpu.device import Device


def counted(solver: Solver, source: int = 0) -> dict[str, int]:
    """Search from a node to all, and return what was counted."""
    solver.distances(source)
    assert solver.last is not None
    return solver.last.counters


@pytest.mark.parametrize("algorithm", ["bellman_ford", "bellman_ford_subgroup"])
def test_bellman_ford_on_a_path_against_its_ids(device: Device, algorithm: str) -> None:
    """One workgroup of one invocation, which meets the nodes in descending order of distance: an arc each iteration."""
    n = 40
    graph = Graph.from_edges(np.arange(n - 1, 0, -1), np.arange(n - 2, -1, -1), np.ones(n - 1, int))
    options = {"workgroup_size": 1, "workgroups": 1, "lanes": 1, "chunk": 1}
    with make_solver(graph, algorithm, device, counters="trace", **options) as solver:
        counters = counted(solver, n - 1)
        rows = check_counters(solver)
    # The last iteration finds nothing to improve.
    assert counters["iterations"] == n and counters["visited"] == n * n and counters["improved"] == n - 1
    assert rows["improved"].tolist() == [1] * (n - 1) + [0]
    assert rows["worked"].tolist() == [*range(1, n), n]
    assert rows["relaxed"].tolist() == [*range(1, n), n - 1]
    assert (rows["first_node"] == 0).all() and (rows["last_node"] == n - 1).all()


def test_bellman_ford_by_edges_looks_at_every_edge_in_every_iteration(device: Device) -> None:
    graph = grid(9)
    with Solver(graph, "bellman_ford_edge", device, counters="trace") as solver:
        counters = counted(solver)
        rows = check_counters(solver)
    assert (rows["visited"] == graph.num_arcs // 2).all()
    assert rows[-1]["improved"] == 0 and (rows["improved"][:-1] > 0).all()
    assert rows[-1]["relaxed"] == graph.num_arcs and counters["iterations"] == len(rows)
