"""The proof of distances by the conditions of optimality, beside searches and wrong distances."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.graphs import grid, heap_dijkstra
from vkssp import UNREACHABLE, Graph
from vkssp.bench.optimality import why_not_shortest
from vkssp.generate import rmat


@pytest.mark.parametrize(
    "graph", [rmat(9, 12), grid(20), Graph.from_edges([1, 2], [2, 3], [2**32 - 2, 5], num_nodes=5)]
)
def test_right_distances_pass_and_wrong_ones_do_not(graph: Graph) -> None:
    source = 1
    distance = np.minimum(heap_dijkstra(graph, source), UNREACHABLE).astype(np.uint32)
    assert why_not_shortest(graph, source, distance) == ""

    def why_with(node: int, value: int) -> str:
        wrong = distance.copy()
        wrong[node] = value
        return why_not_shortest(graph, source, wrong)

    less = "arcs lead to nodes with less than the distances there"
    for node in np.flatnonzero((distance != UNREACHABLE) & (distance != 0))[:9].tolist():
        assert less in why_with(node, UNREACHABLE)
        # Distances that are too small make others too large, or nothing leads to them.
        why = why_with(node, int(distance[node]) - 1)
        assert less in why or why == "no arc leads to 1 nodes with exactly their distances"
    assert why_with(source, 1) == "the source has distance 1"
    for node in np.flatnonzero(distance == UNREACHABLE)[:1].tolist():
        assert why_with(node, UNREACHABLE - 1) != ""
