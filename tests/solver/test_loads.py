"""Betweenness and flows beside sums over the paths of all pairs, and beside networkx where paths are unique."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.support.graphs import grid, random_graphs
from vkssp import (
    UNREACHABLE,
    Device,
    DistanceOverflowError,
    Graph,
    NoRouteError,
    QueryError,
    Solver,
    SolverPool,
    prepare,
)


def loads_of(solver: Solver, demand: np.ndarray, limit: int = UNREACHABLE - 1) -> tuple[np.ndarray, np.ndarray, int]:
    """Return loads of arcs, what goes through nodes, and what is not served, path by path."""
    graph = solver.graph
    arcs, nodes, missed = np.zeros(graph.num_arcs, np.int64), np.zeros(graph.num_nodes, np.int64), 0
    for source, target in np.argwhere(demand):
        amount = int(demand[source, target])
        try:
            route = solver.path(int(source), int(target))
        except NoRouteError:
            missed += amount
            continue
        if route.weight > limit:
            missed += amount
            continue
        np.add.at(arcs, route.arcs, amount)
        np.add.at(nodes, route.nodes[1:-1], amount)
    return arcs, nodes, missed


def all_pairs(num_nodes: int) -> np.ndarray:
    return 1 - np.eye(num_nodes, dtype=np.int64)


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=60)
def test_random_graphs(graph: Graph, data: st.DataObject) -> None:
    size = graph.num_nodes
    limit = data.draw(st.integers(0, 100))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    demand = rng.integers(0, 3, (size, size))
    with Solver(graph, "dijkstra", "cpu") as solver, Solver(prepare(graph), "phast", "cpu") as prepared:
        for most in (None, limit):
            arcs, nodes, _ = loads_of(solver, all_pairs(size), UNREACHABLE - 1 if most is None else most)
            for each in (solver, prepared):
                found = each.betweenness(limit=most)
                assert np.array_equal(found.arcs, arcs)
                assert np.array_equal(found.nodes, nodes)
        arcs, _, missed = loads_of(solver, demand)
        for each in (solver, prepared):
            load = each.flows(range(size), range(size), demand)
            assert np.array_equal(load.arcs, arcs)
            assert load.unreached == missed


GRAPH = grid(12, low=1, high=4, seed=5)  # with many ties
DEMAND = np.random.default_rng(4).integers(0, 1000, (GRAPH.num_nodes, GRAPH.num_nodes))


@pytest.fixture(scope="module")
def sources_of_rows(device: Device) -> Iterator[list[tuple[str, Any]]]:
    """Solvers that make rows in all ways."""
    prepared = prepare(GRAPH)
    solvers = [
        Solver(GRAPH, "dijkstra", "cpu"),
        Solver(prepared, "phast", "cpu"),
        Solver(GRAPH, "bellman_ford", "cpu"),
        Solver(prepared, "phast", device),
        Solver(GRAPH, "block_resident", device),
        Solver(GRAPH, "near_far", device, reduction="full"),
        SolverPool(prepared, devices=[device, "cpu"]),
    ]
    yield [(f"{solver.algorithm} on {solver.device.info.name}", solver) for solver in solvers]
    for solver in solvers:
        solver.close()


def test_all_ways_give_the_same_loads(sources_of_rows: list[tuple[str, Any]]) -> None:
    size = GRAPH.num_nodes
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        whole, near, demanded = (
            loads_of(solver, *given) for given in ((all_pairs(size),), (all_pairs(size), 9), (DEMAND,))
        )
    some = [3, 100, 3, 7]
    parts = np.random.default_rng(5).random((4, size))
    first: list[np.ndarray] = []
    for name, each in sources_of_rows:
        found = each.betweenness()
        assert np.array_equal(found.arcs, whole[0]) and np.array_equal(found.nodes, whole[1]), name
        assert found.num_pairs == size * (size - 1), name
        found = each.betweenness(limit=9)
        assert np.array_equal(found.arcs, near[0]) and np.array_equal(found.nodes, near[1]), name
        assert np.array_equal(each.flows(range(size), range(size), DEMAND).arcs, demanded[0]), name
        assert np.array_equal(each.flows(range(size), range(size), sparse.csr_matrix(DEMAND)).arcs, demanded[0]), name
        row, column = np.nonzero(DEMAND)
        assert np.array_equal(each.flows(row, column, DEMAND[row, column]).arcs, demanded[0]), name
        load = each.flows(some, range(size), parts)
        assert load.arcs.dtype == np.float64, name
        first = first or [load.arcs]
        assert np.array_equal(load.arcs, first[0]), name
        whole_parts = np.rint(np.ldexp(parts, 40)).astype(np.int64)
        assert np.allclose(load.arcs, np.ldexp(each.flows(some, range(size), whole_parts).arcs, -40), rtol=1e-9), name


def test_betweenness_is_that_of_brandes_where_paths_are_unique() -> None:
    rng = np.random.default_rng(7)
    drawn = networkx.gnm_random_graph(60, 240, seed=3, directed=True)
    for edge in drawn.edges.values():
        edge["weight"] = int(rng.integers(1, 2**24))
    tail, head = np.array(drawn.edges).T
    graph = Graph.from_edges(tail, head, [drawn.edges[edge]["weight"] for edge in drawn.edges], num_nodes=60)
    nodes = networkx.betweenness_centrality(drawn, weight="weight", normalized=False)
    arcs = networkx.edge_betweenness_centrality(drawn, weight="weight", normalized=False)
    with Solver(graph, "dijkstra", "cpu") as solver:
        found = solver.betweenness()
    assert found.nodes.tolist() == pytest.approx([nodes[node] for node in range(60)])
    assert dict(zip(zip(graph.tail.tolist(), graph.head.tolist(), strict=True), found.arcs, strict=True)) == arcs


def test_sums_beyond_32_bits(device: Device) -> None:
    far = Graph.from_edges([0, 1, 2], [1, 2, 3], [2**31, 2**31 - 2, 2])
    for place in ("cpu", device):
        for name in ("dijkstra" if place == "cpu" else "bellman_ford", "phast"):
            with Solver(far, name, place) as solver:
                with pytest.raises(DistanceOverflowError):
                    solver.betweenness()
                assert solver.betweenness([0, 2], limit=2**32 - 3).arcs.tolist() == [1, 0, 1]
                assert solver.flows([1], [3], [[7]]).arcs.tolist() == [0, 7, 7]


def test_what_cannot_be_demanded_is_told() -> None:
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        for demand, text in (
            ([[1.0, -1.0]], "negative"),
            ([[1.0, np.inf]], "not finite"),
            ([[2**61, 2**61]], "sum"),
            ([[1, 2, 3]], r"shape \(1, 3\); give .* \(1, 2\)"),
            (sparse.coo_matrix((2, 2)), r"shape \(2, 2\)"),
            ([["a", "b"]], "demand"),
            ([[1j, 1]], "dtype"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.flows([0], [1, 2], demand)
        with pytest.raises(QueryError, match="sources"):
            solver.flows([-1], [1], [[1]])
        with pytest.raises(QueryError, match="targets"):
            solver.flows([0], [GRAPH.num_nodes], [[1]])
        assert solver.flows([5], [5], [[3]]).arcs.sum() == 0
    with Solver(Graph.from_edges([], [], [], num_nodes=0), "dijkstra", "cpu") as empty:
        assert empty.betweenness().num_pairs == 0
    parts = Graph.from_edges([0, 2], [1, 3], [1, 1])
    with Solver(parts, "dijkstra", "cpu") as solver:
        assert solver.flows([0, 0], [1, 3], [1.5, 2.25]).unreached == 2.25


def test_batches_whose_loads_are_read_together(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    monkeypatch.setattr("vkssp.batch.batch_sums.BATCHES_OF_SUMS", 2)
    monkeypatch.setattr("vkssp.batch.sweep_batch.MOST_ON_CPU", 16)
    large = DEMAND * 2**30  # what goes through a node has two words
    with Solver(prepare(GRAPH), "phast", device) as solver, Solver(GRAPH, "dijkstra", "cpu") as reference:
        nodes = range(GRAPH.num_nodes)
        for count in (144, 33, 16, 3):
            found, expected = (each.betweenness(nodes[:count], limit=11) for each in (solver, reference))
            assert np.array_equal(found.arcs, expected.arcs) and np.array_equal(found.nodes, expected.nodes)
            assert found.num_pairs == expected.num_pairs
            for demand in (DEMAND, large):
                here, there = (each.flows(nodes[:count], nodes, demand[:count]) for each in (solver, reference))
                assert np.array_equal(here.arcs, there.arcs)


def test_a_sample_of_sources_tells_about_all() -> None:
    with Solver(GRAPH, "dijkstra", "cpu") as solver:
        whole, part = solver.betweenness(), solver.betweenness(sample=100, seed=3)
        assert (whole.scale, whole.error()) == (1.0, 0.0)
        assert part.num_sources == 100 and part.num_pairs == 100 * (GRAPH.num_nodes - 1)
        assert np.array_equal(part.arcs, solver.betweenness(sample=100, seed=3).arcs)
        assert not np.array_equal(part.arcs, solver.betweenness(sample=100, seed=4).arcs)
        wrong = np.abs(part.arcs * part.scale - whole.arcs).max()
        assert 0 < wrong < part.error() < part.error(0.99)
        assert np.corrcoef(part.arcs, whole.arcs)[0, 1] > 0.95
        for given, text in (
            ({"sample": 0}, "sample"),
            ({"sample": 145}, "144"),
            ({"sources": [1], "sample": 1}, "one of"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.betweenness(**given)
        with pytest.raises(QueryError, match="confidence"):
            whole.error(1.0)
