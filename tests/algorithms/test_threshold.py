"""Crauser's and Martin's algorithms: the rounds of the textbook."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import check_counters, grid, make_solver, random_graphs
from vkssp import UNREACHABLE, Graph, Solver
from vkssp.gpu.device import Device

CRAUSER = ["crauser", "crauser_predecessors", "crauser@cpu", "crauser_predecessors@cpu"]


MARTIN = ["martin", "martin_predecessors", "martin@cpu", "martin_predecessors@cpu"]


def counted(solver: Solver, source: int = 0) -> dict[str, int]:
    """Search from a node to all, and return what was counted."""
    solver.distances(source)
    assert solver.last is not None
    return solver.last.counters


def thresholds(graph: Graph, source: int) -> list[tuple[int, int, int]]:
    """Return (least distance, threshold, nodes settled) of each round of Crauser's algorithm, node by node."""
    first, head, weight = graph.first_out.tolist(), graph.head.tolist(), graph.weight.tolist()
    lightest = [min(weight[a:b], default=2**64) for a, b in pairwise(first)]
    distance, settled, rounds = {source: 0}, set[int](), []
    while True:
        unsettled = [node for node in distance if node not in settled]
        if not unsettled:
            return rounds
        threshold = min(distance[node] + lightest[node] for node in unsettled)
        frontier = [node for node in unsettled if distance[node] <= threshold]
        rounds.append((min(distance[node] for node in unsettled), threshold, len(frontier)))
        settled.update(frontier)
        for node in frontier:
            for arc in range(first[node], first[node + 1]):
                through = distance[node] + weight[arc]
                if through < distance.get(head[arc], 2**64):
                    distance[head[arc]] = through


@pytest.mark.parametrize("algorithm", CRAUSER)
@settings(max_examples=max(3, EXAMPLES // 6))
@given(graph=random_graphs(zeros=False), source=st.integers(0, 10**6))
def test_crauser_settles_in_the_rounds_of_the_textbook(
    device: Device, algorithm: str, graph: Graph, source: int
) -> None:
    source %= graph.num_nodes
    expected = thresholds(graph, source)
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        counted(solver, source)
        rows = check_counters(solver)
    assert rows["low"].tolist() == [low for low, _, _ in expected]
    assert rows["high"].tolist() == [min(threshold + 1, UNREACHABLE) for _, threshold, _ in expected]
    if "predecessors" not in algorithm:
        assert rows["worked"].tolist() == [count for _, _, count in expected]


@pytest.mark.parametrize("algorithm", MARTIN)
def test_martin_has_a_round_for_each_distance(device: Device, algorithm: str) -> None:
    graph = grid(15, seed=6, high=9)
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        found = solver.distances(3)
        rows = check_counters(solver)
    distance, count = np.unique(found, return_counts=True)
    assert rows["low"].tolist() == distance.tolist() and (rows["high"] == rows["low"] + 1).all()
    if "predecessors" in algorithm:
        forward = found[graph.tail] < found[graph.head]
        assert rows["relaxed"].sum() == forward.sum(), "arcs to nodes that are settled already are left alone"
    else:
        assert rows["worked"].tolist() == count.tolist()
