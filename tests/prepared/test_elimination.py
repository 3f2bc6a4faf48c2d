"""Elimination of nodes: the distances of all nodes by way of the core, against a heap, without any device."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, heap_dijkstra, random_graphs
from tests.support.sparse_graphs import sparse_graphs
from vkssp import UNREACHABLE, Graph
from vkssp.generate import road_grid
from vkssp.prepared import elimination
from vkssp.prepared.block_order import LEAST_BLOCK, block_order
from vkssp.prepared.elimination import PLACES, Elimination, bytes_of, eliminate
from vkssp.prepared.reduction_seeds import UpwardSearch
from vkssp.prepared.renumbered import RenumberedGraph


def distances(done: Elimination, source: int) -> tuple[list[int], bool]:
    """Return the distances of all nodes, UNREACHABLE where they do not fit, and whether some sum may not have."""
    upward = UpwardSearch(done).search({source: 0})
    core, place = done.core, done.place
    distance = np.full(len(place), UNREACHABLE, np.uint64)
    over = upward.overflow or done.saturated
    for node, offset in upward.cores.tolist():
        found = heap_dijkstra(core, node) + np.uint64(offset)
        distance[: core.num_nodes] = np.minimum(distance[: core.num_nodes], found.astype(np.uint64))
    distance[upward.above[:, 0]] = upward.above[:, 1]
    for level in done.levels:
        here = slice(level.first, level.first + level.size)
        arcs = done.arcs_in[level.first_arc : level.first_arc + level.size * level.width]
        through = (distance[arcs[:, 0]] + arcs[:, 1]).reshape(level.width, level.size)
        distance[here] = np.minimum(distance[here], through.min(axis=0, initial=UNREACHABLE))
    return np.minimum(distance[place], UNREACHABLE).tolist(), over


def check(graph: Graph, sources: Iterable[int]) -> Elimination:
    """Check that all distances from some nodes are right, or that the caller learns that some may not be."""
    places = None if graph.lat is None or graph.lon is None else (graph.lat, graph.lon)
    done = eliminate(graph, places)
    assert sorted(done.place.tolist()) == list(range(graph.num_nodes))
    for level in done.levels:
        arcs = done.arcs_in[level.first_arc : level.first_arc + level.size * level.width]
        there = arcs[arcs[:, 1] != UNREACHABLE]
        assert level.size > 0 and (there[:, 0] < level.first).all()
    for source in sources:
        found, over = distances(done, source)
        exact = heap_dijkstra(graph, source)
        assert over or found == np.minimum(exact, UNREACHABLE).tolist()
    return done


@given(graph=st.one_of(sparse_graphs(), random_graphs()), data=st.data())
def test_distances_of_all_nodes(graph: Graph, data: st.DataObject) -> None:
    renumbered = RenumberedGraph(graph, "natural")  # without cycles of weight zero
    first_out, arcs = renumbered.first_out, renumbered.arcs
    whole = Graph(first_out, arcs[:, 0].copy(), arcs[:, 1].copy())
    check(whole, {data.draw(st.integers(0, whole.num_nodes - 1)) for _ in range(3)})


@pytest.mark.parametrize("graph", [grid(30), road_grid(24)], ids=["grid", "road"])
def test_most_nodes_of_a_network_go(graph: Graph) -> None:
    done = check(graph, range(0, graph.num_nodes, 97))
    assert done.core.num_nodes < graph.num_nodes / 2


def test_a_node_with_more_neighbours_than_it_has_places_for_stays() -> None:
    count = PLACES + 5
    hubs = [(hub, 2 + node, 3 * node + hub) for node in range(count) for hub in range(2)]
    others = [(2 + node, 3 + node, 7) for node in range(count - 1)] + [(0, 1, 50)]
    graph = Graph.from_edges(*zip(*hubs, *others, strict=True), undirected=True)
    done = check(graph, range(graph.num_nodes))
    assert done.core.num_nodes == graph.num_nodes and done.core.num_arcs == graph.num_arcs


def test_a_path_through_an_eliminated_node_that_does_not_fit_is_told_of() -> None:
    most = 2**32 - 2
    graph = Graph.from_edges([0, 1, 0, 3], [1, 2, 3, 2], [most, most, 1, 1], undirected=True)
    assert eliminate(graph).saturated
    assert not eliminate(grid(9)).saturated


def test_one_node_of_a_component_stays() -> None:
    tail = np.arange(63)
    graph = Graph.from_edges(tail, (tail + 1) // 2 - 1 + (tail == 0), np.full(63, 5), undirected=True, num_nodes=65)
    done = check(graph, [0, 31, 62, 63, 64])
    assert 1 <= done.core.num_nodes < 20


@pytest.mark.parametrize("count", [1, LEAST_BLOCK, 4 * LEAST_BLOCK - 1, 3000])
def test_blocks_are_compact_parts_of_the_map(count: int) -> None:
    rng = np.random.default_rng(count)
    lat, lon = 50 + rng.random(count), 7 + 2 * rng.random(count)
    order = block_order(lat, lon)
    assert sorted(order.tolist()) == list(range(count))
    for block in (LEAST_BLOCK, 4 * LEAST_BLOCK):
        for first in range(0, count - block + 1, block):
            nodes = order[first : first + block]
            share = np.ptp(lat[nodes]) * np.ptp(lon[nodes]) / 2  # of the area of the map
            assert share <= 1.5 * block / count


@pytest.mark.parametrize(("degree", "both_ways"), [(2, True), (8, False), (8, True), (20, False), (40, True)])
def test_the_memory_that_it_takes(degree: int, both_ways: bool) -> None:
    """Of a graph without hubs whose nodes are eliminated, of one that keeps them, and of one with many hubs."""
    rng, num_nodes = np.random.default_rng(degree), 20_000
    tail = np.repeat(np.arange(num_nodes), degree // 2)
    head = np.clip(tail + rng.integers(-20, 21, len(tail)), 0, num_nodes - 1)
    graph = Graph.from_edges(tail, head, rng.integers(1, 99, len(tail)), undirected=both_ways)
    eliminate(graph)  # compiles
    tracemalloc.start()
    try:
        eliminate(graph)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 * bytes_of(graph) < peak < 1.02 * bytes_of(graph)


def test_nothing_is_eliminated_without_close_ids_or_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = road_grid(32)
    enough = 10 * bytes_of(graph) // 7 + 1
    for free, eliminates in ((enough - 2, False), (enough, True), (None, True)):
        monkeypatch.setattr(elimination, "free_bytes", lambda free=free: free)
        found = check(graph, [0, 500]).core
        assert found.num_nodes < graph.num_nodes / 2 if eliminates else found is graph
    number = np.random.default_rng(1).permutation(graph.num_nodes)
    shuffled = Graph.from_edges(number[graph.tail], number[graph.head], graph.weight)
    monkeypatch.setattr(elimination, "RANGE", 256)
    assert check(graph, [0, 500]).core.num_nodes < graph.num_nodes / 2  # by several ranges
    assert check(shuffled, [0, 500]).core is shuffled
