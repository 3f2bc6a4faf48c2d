from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, heap_dijkstra, random_graphs, scipy_dijkstra
from vkssp import Graph
from vkssp.cpu.bidirectional import BidirectionalDijkstra
from vkssp.cpu.device import CpuGraph
from vkssp.prepared.renumbered import RenumberedGraph


@given(graph=random_graphs(), data=st.data())
def test_distances_on_random_graphs(graph: Graph, data: st.DataObject) -> None:
    renumbered = RenumberedGraph(graph)
    with CpuGraph(renumbered) as host, BidirectionalDijkstra(host) as search:
        for _ in range(4):
            source, target = (data.draw(st.integers(0, graph.num_nodes - 1)) for _ in range(2))
            expected = heap_dijkstra(graph, source)[target]
            assert search.distance(int(renumbered.node[source]), int(renumbered.node[target])) == expected


def test_it_settles_fewer_nodes_than_one_search_would() -> None:
    graph = grid(60, seed=3, low=50)
    renumbered = RenumberedGraph(graph)
    middle = 30 * 60 + 30
    expected = scipy_dijkstra(graph, middle)
    settled = nearer = 0
    with CpuGraph(renumbered) as host, BidirectionalDijkstra(host) as search:
        for target in np.random.default_rng(1).integers(0, 3600, 20).tolist():
            assert search.distance(int(renumbered.node[middle]), int(renumbered.node[target])) == expected[target]
            settled += search.settled
            nearer += int((expected < expected[target]).sum())
    assert 0 < settled < 0.8 * nearer


def test_what_does_not_fit_is_unreachable() -> None:
    largest = 2**32 - 2
    renumbered = RenumberedGraph(Graph.from_edges([0, 1, 2], [1, 2, 3], [largest, 1, largest]))
    with CpuGraph(renumbered) as host, BidirectionalDijkstra(host) as search:
        assert search.distance(0, 1) == largest
        assert search.distance(0, 2) == search.distance(0, 3) == search.distance(3, 0) == 2**32 - 1
        assert search.distance(2, 2) == 0
