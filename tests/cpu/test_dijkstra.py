"""Dijkstra's algorithm on the CPU: the order in which it settles nodes, and when it ends."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import ANY

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.graphs import grid, heap_dijkstra, random_graphs
from vkssp.cpu import dijkstra
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.dijkstra import Dijkstra, GivenUpError, settle_order
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


@given(
    graph=random_graphs(),
    ends=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 9)), min_size=2, max_size=5),
    first=st.integers(1, 12),
    more=st.integers(0, 20),
)
def test_a_search_goes_on_after_a_question_or_gives_up(
    graph: Graph, ends: list[tuple[int, int]], first: int, more: int
) -> None:
    renumbered = RenumberedGraph(graph)
    assume(renumbered.num_nodes)
    seed, *targets = [(node % renumbered.num_nodes, offset) for node, offset in ends]
    with CpuGraph(renumbered) as host, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dijkstra, "FIRST_NODES", first)
        search, plain = Dijkstra(host, counting=1), Dijkstra(host, counting=1)
        wanted = plain.search([seed], targets)
        asked = []

        def patience() -> int:
            asked.append(search)
            return 2**40

        found = search.search([seed], targets, UNREACHABLE, patience)
        assert (found.best, found.overflow, found.counters) == (wanted.best, wanted.overflow, wanted.counters)
        assert np.array_equal(search.read(), plain.read())
        settled = wanted.counters["iterations"]
        assert len(asked) == (settled >= first)
        most = max(first, more)
        if settled < min(first, most):
            assert search.search([seed], targets, UNREACHABLE, lambda: more) == replace(wanted, device_ms=ANY)
        elif settled >= most:
            with pytest.raises(GivenUpError):
                search.search([seed], targets, UNREACHABLE, lambda: more)
        again = search.search([seed], [])
        assert again.counters == plain.search([seed], []).counters
        assert np.array_equal(search.read(), plain.read()), "nothing of the search that gave up is left"


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
