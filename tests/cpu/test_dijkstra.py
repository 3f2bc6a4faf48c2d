"""Dijkstra's algorithm on the CPU: the order in which it settles nodes, and when it ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, heap_dijkstra, random_graphs
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.dijkstra import Dijkstra, settle_order
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.prepared.renumbered import RenumberedGraph


@pytest.fixture(scope="module")
def large() -> RenumberedGraph:
    return RenumberedGraph(grid(300, seed=3))


def test_dijkstra_settles_only_nodes_that_are_nearer_than_the_target(large: RenumberedGraph) -> None:
    with CpuGraph(large) as host:
        search = Dijkstra(host)
        search.search([(0, 0)])
        far = search.read()
        outcome = search.search([(0, 0)], [(777, 0)])
        assert (far < far[777]).sum() <= outcome.counters["iterations"] <= (far <= far[777]).sum()
        assert search.search([(0, 0)], [(0, 0)]).counters["iterations"] == 0
        search.search([(0, 0)], [(777, 0)])
        search.search([(0, 10**6)])
        assert np.array_equal(search.read(), far + 10**6), "nothing of the last search, all nearer, is left in the heap"


@given(graph=random_graphs(), source=st.integers(0, 10**6))
def test_settle_order(graph: Graph, source: int) -> None:
    source %= graph.num_nodes
    order, far = settle_order(graph, source), heap_dijkstra(graph, source)
    assert order.dtype == np.uint32 and order[0] == source
    assert sorted(order.tolist()) == np.flatnonzero(far != UNREACHABLE).tolist()
    assert (np.diff(far[order].astype(np.int64)) >= 0).all()


def test_settle_order_of_what_is_no_node() -> None:
    graph = Graph.from_edges([0], [1], [1])
    for source, words in ((2, "source is 2"), (-1, "source is -1"), ("a", "give a node id")):
        with pytest.raises(QueryError, match=words):
            settle_order(graph, source)  # type: ignore[arg-type]
