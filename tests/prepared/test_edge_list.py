"""The edges of bellman_ford_edge, against a slow pairing of opposite arcs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, random_graphs, scipy_dijkstra
from vkssp import DeviceError, Graph, Solver
from vkssp.generate import rmat
from vkssp.gpu.device import Device
from vkssp.prepared import edge_list
from vkssp.prepared.edge_list import Edges, edges_of
from vkssp.prepared.renumbered import RenumberedGraph

Arcs = Counter[tuple[int, int, int]]


def arcs_of(renumbered: RenumberedGraph) -> Arcs:
    tail = np.repeat(np.arange(renumbered.num_nodes), np.diff(renumbered.first_out.astype(np.int64)))
    arcs = zip(tail.tolist(), *renumbered.arcs.T.tolist(), strict=True)
    return Counter(arc for arc in arcs if arc[0] != arc[1])


def paired(arcs: Arcs) -> tuple[Arcs, Arcs]:
    """Return undirected edges by their lower node, and arcs without a partner, one arc after the other."""
    both: Arcs = Counter()
    left = Counter(arcs)
    for tail, head, weight in arcs:
        if tail < head:
            count = min(arcs[tail, head, weight], arcs[head, tail, weight])
            both[tail, head, weight] = count
            left[tail, head, weight] -= count
            left[head, tail, weight] -= count
    return +both, +left


def rows(edges: Edges, first: int, last: int) -> list[tuple[int, int, int]]:
    return list(zip(*(part[first:last].tolist() for part in (edges.start, edges.end, edges.weight)), strict=True))


def check(graph: Graph, segment: int) -> Edges:
    renumbered = RenumberedGraph(graph, "natural")
    edges = edges_of(renumbered, segment)
    assert edges.start.dtype == edges.end.dtype == edges.weight.dtype == np.uint32
    both, alone = paired(arcs_of(renumbered))
    parts = rows(edges, 0, edges.num_undirected), rows(edges, edges.num_undirected, len(edges.start))
    assert Counter(parts[0]) == both and Counter(parts[1]) == alone
    for part in parts:
        if segment:
            keys = [(end // segment, start // segment) for start, end, _ in part]
        else:
            keys = [(start, end) for start, end, _ in part]
        assert keys == sorted(keys)
    return edges


segments = st.sampled_from([0, 1, 2, 7, 50, 2**31])


@given(graph=random_graphs(), segment=segments)
def test_random_graphs(graph: Graph, segment: int) -> None:
    check(graph, segment)


@given(data=st.data(), segment=segments)
def test_few_nodes_and_weights_so_that_arcs_pair_by_chance(data: st.DataObject, segment: int) -> None:
    num_nodes = data.draw(st.integers(1, 4))
    node, weight = st.integers(0, num_nodes - 1), st.sampled_from([1, 2, 2**32 - 2])
    arcs = np.array(data.draw(st.lists(st.tuples(node, node, weight), max_size=40)), np.int64).reshape(-1, 3)
    check(Graph.from_edges(*arcs.T, num_nodes=num_nodes), segment)


def test_an_undirected_graph_has_each_edge_once() -> None:
    graph = grid(12)
    edges = check(graph, 0)
    assert edges.num_undirected == len(edges.start) == graph.num_arcs // 2
    assert (edges.start < edges.end).all()


def test_a_directed_graph_keeps_its_arcs() -> None:
    edges = check(Graph.from_edges([0, 2, 2], [1, 1, 0], [5, 6, 7]), 0)
    assert edges.num_undirected == 0
    assert rows(edges, 0, 3) == [(0, 1, 5), (2, 0, 7), (2, 1, 6)]


def test_of_equal_parallel_arcs_as_many_are_paired_as_there_are_both_ways() -> None:
    edges = check(Graph.from_edges([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 1], [4, 4, 9, 4, 8, 1]), 0)
    assert rows(edges, 0, 1) == [(0, 1, 4)] and edges.num_undirected == 1
    assert rows(edges, 1, 9) == [(0, 1, 4), (0, 1, 9), (1, 0, 8)]


def test_rows_that_do_not_fit_into_64_bits_are_sorted_all_the_same() -> None:
    """A path with weights of 32 bits over ids of 17: too long for one number."""
    nodes = np.arange(70_000)
    weight = np.random.default_rng(3).integers(2**31, 2**32 - 1, len(nodes) - 1)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], weight, undirected=True)
    edges = edges_of(RenumberedGraph(graph), 1000)
    assert edges.num_undirected == len(edges.start) == len(weight)
    # In a path the segments of starts and ends rise with the ids, but within a segment ends come from the one before.
    order = np.argsort(edges.start, kind="stable")
    assert np.array_equal(edges.start[order], nodes[:-1]) and np.array_equal(edges.weight[order], weight)
    keys = (edges.end // 1000).astype(np.int64) * 1000 + edges.start // 1000
    assert (np.diff(keys) >= 0).all()


@pytest.mark.parametrize("segment", [0, 1, 100, 4096])
def test_all_cores_make_the_same_list_of_many_edges(segment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    two_way = rmat(9, 20)
    one_way = two_way.with_weights(np.arange(two_way.num_arcs))  # as many arcs each way, but of other weights
    for graph in (two_way, grid(30), one_way, rmat(8, undirected=False)):
        expected = check(graph, segment)
        with monkeypatch.context() as patch:
            patch.setattr(edge_list, "MANY", 1)
            found = check(graph, segment)
        assert found.num_undirected == expected.num_undirected
        for name in ("start", "end", "weight"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_edges_fit_where_arcs_do_not(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(40, seed=6)
    monkeypatch.setattr(device, "limits", replace(device.limits, storage_range=8 * graph.num_arcs - 4))
    without = device.info.features - {"buffer_addresses"}
    monkeypatch.setattr(device, "info", replace(device.info, features=without))
    with pytest.raises(DeviceError, match=r"\d+ bytes are needed for the arcs, .* binds \d+ at most"):
        Solver(graph, "bellman_ford", device)
    with Solver(graph, "bellman_ford_edge", device) as solver:
        assert np.array_equal(solver.distances(11), scipy_dijkstra(graph, 11))
