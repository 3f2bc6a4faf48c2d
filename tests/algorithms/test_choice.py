"""The algorithm that is chosen by the graph."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.support.graphs import heap_dijkstra
from vkssp import ALGORITHMS, DeviceError, Graph, QueryError, Solver
from vkssp.algorithms.choice import AUTO, choose
from vkssp.generate import barabasi_albert, rmat, road_grid, uniform_random
from vkssp.gpu.device import Device
from vkssp.prepared.renumbered import RenumberedGraph


def shuffled(graph: Graph) -> Graph:
    """Return a graph whose ids tell nothing."""
    node = np.random.default_rng(5).permutation(graph.num_nodes)
    tail = np.repeat(np.arange(graph.num_nodes), np.diff(graph.first_out))
    return Graph.from_edges(node[tail], node[graph.head], graph.weight, num_nodes=graph.num_nodes)


@pytest.mark.parametrize(
    ("graph", "algorithm"),
    [
        (road_grid(128), "block_resident"),
        (shuffled(road_grid(160)), "block_resident"),  # for an order was found for it
        (uniform_random(20_000, 3, seed=1), "near_far"),  # sparse, and no numbering makes it local
        (rmat(13), "push_pull"),
        (barabasi_albert(5000, 12), "near_far"),
        (uniform_random(500, 100), "near_far"),
        (Graph.from_edges([], [], [], num_nodes=3), "block_resident"),
        (Graph.from_edges([], [], [], num_nodes=0), "block_resident"),
    ],
)
def test_the_algorithm_follows_from_the_graph(graph: Graph, algorithm: str) -> None:
    assert choose(RenumberedGraph(graph), 2**32) == algorithm


def test_arcs_by_head_that_do_not_fit_into_memory() -> None:
    renumbered = RenumberedGraph(rmat(10, 20, undirected=False))
    nodes, arcs = 13 * renumbered.num_nodes, renumbered.num_arcs
    assert choose(renumbered, 2**32, free_bytes=16 * arcs + nodes) == "push_pull"
    assert choose(renumbered, 2**32, free_bytes=16 * arcs + nodes - 1) == "bellman_ford_edge"
    assert choose(renumbered, 2**32, free_bytes=12 * arcs + nodes - 1) == "near_far"
    assert choose(RenumberedGraph(rmat(10, 20)), 2**32, free_bytes=0) == "push_pull", (
        "an undirected graph needs no more"
    )


def test_arcs_that_fit_into_no_buffer(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in several buffers where kernels have addresses of buffers, and are swept as edges elsewhere."""
    for graph in (rmat(10, 20), rmat(10, 20, undirected=False)):
        renumbered, enough = RenumberedGraph(graph), 8 * graph.num_arcs
        assert choose(renumbered, enough) == "push_pull" and choose(renumbered, enough - 1) == "bellman_ford_edge"
        # Directed ones would need arcs by head, too.
        is_two_way = np.array_equal(np.bincount(graph.head, minlength=1024), np.diff(graph.first_out))
        expected = "push_pull" if is_two_way else "near_far"
        assert choose(renumbered, enough - 1, splits=True) == expected
    limits = dataclasses.replace(device.limits, storage_range=8 * graph.num_arcs - 1)
    monkeypatch.setattr(device, "limits", limits)
    features = device.info.features
    for algorithm, offered in (("near_far", features), ("bellman_ford_edge", features - {"buffer_addresses"})):
        monkeypatch.setattr(device, "info", dataclasses.replace(device.info, features=offered))
        with Solver(graph, device=device) as solver:
            assert solver.algorithm == algorithm
            assert np.array_equal(solver.distances(5), heap_dijkstra(graph, 5))


def test_blocks_that_fit_into_no_buffer_are_left_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What block_resident makes of arcs takes more than they do, where nodes have few of them or these are heavy."""
    nodes = np.arange(3000)
    river = Graph.from_edges(nodes[1:], nodes[:-1], np.ones(len(nodes) - 1))
    road = road_grid(64)
    heavy = road.with_weights(road.weight + 2**24)
    for graph, enough in ((river, 16 * river.num_nodes), (heavy, 12 * heavy.num_arcs), (road, 8 * road.num_arcs)):
        assert choose(RenumberedGraph(graph), enough) == "block_resident"
        Solver(graph, device=device).close()
        expected = "block_resident" if graph is road else "near_far"
        less = enough if graph is road else enough - 1
        with monkeypatch.context() as patch:
            patch.setattr(device, "limits", dataclasses.replace(device.limits, storage_range=less))
            with Solver(graph, device=device, reduction="none") as solver:
                assert solver.algorithm == expected
                assert np.array_equal(solver.distances(2999), heap_dijkstra(graph, 2999))


def test_a_reduction_that_does_not_fit_is_left_out(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = road_grid(64, shape_nodes=3)
    Solver(graph, device=device).close()
    monkeypatch.setattr(device, "limits", dataclasses.replace(device.limits, storage_range=16 * graph.num_nodes - 1))
    with Solver(graph, device=device) as solver:
        assert solver.core_nodes is None and np.array_equal(solver.distances(5), heap_dijkstra(graph, 5))
    with pytest.raises(DeviceError, match="bytes are needed for the records of removed nodes"):
        Solver(graph, device=device, reduction="full")


def test_a_solver_chooses_and_says_what(device: Device) -> None:
    for graph, algorithm in ((road_grid(32), "block_resident"), (rmat(10), "push_pull")):
        source = int(np.argmax(np.diff(graph.first_out)))
        expected = heap_dijkstra(graph, source)
        with Solver(graph, device=device) as solver, solver.clone() as clone:
            assert solver.algorithm == clone.algorithm == algorithm in ALGORITHMS
            assert np.array_equal(solver.distances(source), expected)
            assert np.array_equal(clone.distances(source), expected)


def test_only_the_choice_reduces_without_being_asked(device: Device) -> None:
    graph = road_grid(48, shape_nodes=8)  # most nodes give streets their shape
    with Solver(graph, device=device) as chosen, Solver(graph, "block_resident", device) as named:
        assert chosen.core_nodes is not None and chosen.core_nodes < graph.num_nodes / 3
        assert named.core_nodes is None
        assert np.array_equal(chosen.distances(7), named.distances(7))
    with Solver(graph, device=device, counters="trace") as traced:
        assert traced.core_nodes is None


def test_auto_takes_no_parameters(device: Device) -> None:
    with pytest.raises(QueryError, match=r"delta may be a parameter .* name one, such as near_far"):
        Solver(road_grid(8), AUTO, device, delta=3)


def test_counters_have_the_same_names_from_everywhere(device: Device) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 1, 1], num_nodes=4)
    for algorithm in ("block_resident", "near_far"):
        with Solver(graph, algorithm, device, reduction="full", counters="totals") as solver:
            names = []
            for source in (0, 1, 3):
                solver.distances(source)
                assert solver.last is not None
                names.append(set(solver.last.counters))
            assert names[0] == names[1] == names[2] >= {"iterations", "buckets", "relaxed"}
