"""Shortest-path trees beside brute force, routes and scipy, from all algorithms, devices and ways to make rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from tests.conftest import EXAMPLES, shared_data
from tests.support.graphs import EVERYWHERE, grid, heap_dijkstra, make_solver, random_graphs, slow_by_design
from vkssp import (
    UNREACHABLE,
    Device,
    DistanceOverflowError,
    Graph,
    MemoryShortageError,
    NoRouteError,
    QueryError,
    Solver,
    SolverPool,
    Trees,
    prepare,
    read_graph,
)
from vkssp.gpu.instance import list_devices

NONE = UNREACHABLE
BITS_64 = [name for name in EVERYWHERE if name.partition("@")[0] in ("near_far", "dijkstra")]


def check_tree(graph: Graph, tree: Trees, distance: np.ndarray, roots: list[int]) -> None:
    """Check that predecessors lead from each node that is reached to a root, over arcs that sum up to its distance."""
    unreachable = np.iinfo(tree.distance.dtype).max
    expected = np.where(distance == UNREACHABLE, np.uint64(unreachable), distance.astype(np.uint64))
    assert np.array_equal(tree.distance, expected)
    entered = tree.arc != NONE
    assert not entered[roots].any()
    reached = tree.distance != unreachable
    assert np.array_equal(np.flatnonzero(reached & ~entered), np.unique(roots))
    arcs, before = tree.arc[entered], tree.predecessor[entered]
    assert np.array_equal(graph.head[arcs], np.flatnonzero(entered))
    assert np.array_equal(graph.tail[arcs], before) and (tree.predecessor[~entered] == NONE).all()
    through = tree.distance[before].astype(np.uint64) + graph.weight[arcs]
    assert np.array_equal(through, tree.distance[entered].astype(np.uint64))
    # No circles: after as many steps as there are nodes, doubled each time, every walk is at a root.
    at = np.where(entered, tree.predecessor, np.arange(graph.num_nodes))
    for _ in range(graph.num_nodes.bit_length()):
        at = at[at]
    assert np.isin(at[reached], roots).all()


def row_of(trees: Trees, graph: Graph, row: int) -> Trees:
    assert trees.predecessor.shape == trees.arc.shape == trees.distance.shape
    one = Trees(trees.distance[row], trees.arc[row], graph)
    assert np.array_equal(one.predecessor, trees.predecessor[row])
    return one


def walked(tree: Trees, source: int, target: int) -> list[int]:
    """Return the arcs from the source to a node."""
    arcs, at = [], target
    while at != source:
        arcs.append(int(tree.arc[at]))
        at = int(tree.predecessor[at])
    return arcs[::-1]


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=EXAMPLES)
def test_trees_of_random_graphs_have_the_paths_of_routes(graph: Graph, data: st.DataObject) -> None:
    sources = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=4))
    limit = data.draw(st.integers(0, 100))
    solvers = [Solver(graph, "dijkstra", "cpu"), Solver(prepare(graph), "phast", "cpu")]
    for solver in solvers:
        with solver:
            trees, near, one = solver.trees(sources), solver.trees(sources, limit=limit), solver.trees(sources[0])
            assert np.array_equal(one.arc, trees.arc[0])
            for row, source in enumerate(sources):
                distance = heap_dijkstra(graph, source)
                tree = row_of(trees, graph, row)
                check_tree(graph, tree, distance, [source])
                limited = np.where(distance > limit, UNREACHABLE, distance)
                check_tree(graph, row_of(near, graph, row), limited, [source])
                for target in range(graph.num_nodes):
                    try:
                        route = solver.path(source, target)
                    except NoRouteError:
                        assert tree.arc[target] == NONE
                        continue
                    assert route.arcs.tolist() == walked(tree, source, target)


def with_all(seed: int) -> Graph:
    """A directed graph with loops, parallel arcs, cycles of weight zero, ties, a hub and unreachable parts."""
    rng = np.random.default_rng(seed)
    count = 140
    tail, head = rng.integers(0, count, (2, 420))
    hub = np.arange(1, 110)
    ends = np.concatenate([tail, hub, np.zeros_like(hub)]), np.concatenate([head, np.zeros_like(hub), hub])
    return Graph.from_edges(*ends, rng.integers(0 if seed else 1, 5, len(ends[0])), num_nodes=count + 20)


GRAPHS = [with_all(0), with_all(1), grid(12, low=1, high=4, seed=5)]


@cache
def expected_trees(number: int) -> Trees:
    """Return the trees of all nodes of one of `GRAPHS`."""
    with Solver(GRAPHS[number], "dijkstra", "cpu") as solver:
        return solver.trees(range(GRAPHS[number].num_nodes))


@pytest.mark.parametrize("algorithm", EVERYWHERE)
@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_all_algorithms_find_the_same_trees(algorithm: str, number: int, device: Device) -> None:
    graph, expected = GRAPHS[number], expected_trees(number)
    sources = [5] if slow_by_design(algorithm) else [5, 0, graph.num_nodes - 1]
    with make_solver(graph, algorithm, device) as solver:
        found = solver.trees(sources)
        assert np.array_equal(found.distance, expected.distance[sources])
        assert np.array_equal(found.arc, expected.arc[sources])
        one = solver.trees(5)
        assert np.array_equal(one.arc, expected.arc[5]) and one.arc.shape == (graph.num_nodes,)
        near = solver.trees([5], limit=4)
        is_near = expected.distance[5] <= 4
        assert np.array_equal(near.arc[0], np.where(is_near, expected.arc[5], NONE))
    check_tree(graph, one, heap_dijkstra(graph, 5), [5])


@pytest.mark.parametrize("algorithm", BITS_64)
def test_distances_of_64_bits(algorithm: str, device: Device) -> None:
    if "@" not in algorithm and not {"int64", "int64_atomics"} <= device.info.features:
        pytest.skip("the device has no such distances")
    graph = Graph.from_csr(GRAPHS[1].first_out, GRAPHS[1].head, GRAPHS[1].weight * np.uint32(2**30 - 1))
    with make_solver(graph, algorithm, device, distance_bits=64) as solver:
        found = solver.trees([5, 7])
    assert found.distance.dtype == np.uint64
    assert int(found.distance[0][found.arc[0] != NONE].max()) > 2**32
    assert np.array_equal(found.arc, expected_trees(1).arc[[5, 7]])
    check_tree(graph, row_of(found, graph, 0), heap_dijkstra(graph, 5), [5])


@pytest.fixture(scope="module")
def ways(device: Device) -> Iterator[dict[str, list[Any]]]:
    """Solvers that make rows in all ways, for each of `GRAPHS`."""
    made = []
    for graph in GRAPHS:
        prepared = prepare(graph)
        made.append(
            [
                Solver(graph),
                Solver(prepared),
                Solver(prepared, "phast", device),
                Solver(graph, "block_resident", device, reduction="full"),
                Solver(graph, "near_far", device, reduction="full"),
                Solver(graph, "block_resident", device, order="landmarks"),
                SolverPool(prepared, devices=[device, "cpu"]),
            ]
        )
    yield dict(enumerate(made))  # type: ignore[misc]
    for solvers in made:
        for solver in solvers:
            solver.close()


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_all_ways_to_make_rows_find_the_same_trees(number: int, ways: dict[int, list[Any]]) -> None:
    graph, expected = GRAPHS[number], expected_trees(number)
    for solver in ways[number]:
        found = solver.trees(range(0, graph.num_nodes, 4))
        assert np.array_equal(found.distance, expected.distance[::4]) and np.array_equal(found.arc, expected.arc[::4])
        blocks = list(solver.trees(np.arange(50, 7, -2), chunked=True))
        assert np.array_equal(np.concatenate([block.arc for block in blocks]), expected.arc[50:7:-2])
        assert np.array_equal(solver.trees(9).predecessor, expected.predecessor[9])
        assert np.array_equal(
            solver.trees([9], limit=3).arc[0], np.where(expected.distance[9] <= 3, expected.arc[9], NONE)
        )


@pytest.mark.parametrize("number", range(len(GRAPHS)))
def test_seeds(number: int, ways: dict[int, list[Any]]) -> None:
    graph = GRAPHS[number]
    rng = np.random.default_rng(1)
    seeds = [(int(node), int(rng.integers(0, 4))) for node in rng.integers(0, graph.num_nodes, 100)]
    # An additional node with an arc to each seed.
    nodes, offsets = (np.array(each) for each in zip(*seeds, strict=True))
    more = Graph.from_edges(
        np.concatenate([graph.tail, np.full(len(seeds), graph.num_nodes)]),
        np.concatenate([graph.head, nodes]),
        np.concatenate([graph.weight, offsets]),
    )
    distance = heap_dijkstra(more, graph.num_nodes)[:-1]
    first = ways[number][0].trees(seeds)
    roots = [node for node, offset in seeds if distance[node] == offset and first.arc[node] == NONE]
    check_tree(graph, first, distance, sorted(set(roots)))
    if number != 1:  # no cycles of weight zero, on which only the first of several seeds is a root
        assert set(roots) == {node for node, offset in seeds if distance[node] == offset}
    for solver in ways[number][1:]:
        found = solver.trees(seeds)
        assert np.array_equal(found.arc, first.arc) and np.array_equal(found.distance, first.distance)


def test_weights_that_change(device: Device) -> None:
    graph = GRAPHS[2]
    rng = np.random.default_rng(3)
    for name, where in (("near_far", device), ("block_resident", device), ("dijkstra", "cpu"), ("phast", "cpu")):
        with Solver(prepare(graph) if name == "phast" else graph, name, where) as solver:
            for some in (None, np.array([3, 500, 77])):
                solver.trees([0, 1])
                weight = rng.integers(1, 4, graph.num_arcs if some is None else len(some))
                solver.set_weights(weight, some)
                with Solver(solver.graph, "dijkstra", "cpu") as other:
                    assert np.array_equal(solver.trees([0, 1]).arc, other.trees([0, 1]).arc)
                    assert np.array_equal(solver.trees(0).arc, other.trees(0).arc)


def test_nodes_with_very_many_arcs(device: Device) -> None:
    # More arcs than a loop of some software devices has rounds; the arc that fits is the last.
    count = 70_000
    tail = np.concatenate([np.full(count, 0), [0, 2]])
    graph = Graph.from_edges(tail, np.concatenate([np.full(count, 1), [2, 1]]), np.append(np.full(count, 9), [3, 4]))
    for name, where in (("near_far", device), ("dijkstra", "cpu")):
        with Solver(graph, name, where) as solver:
            tree = solver.trees(0)
            assert tree.distance.tolist() == [0, 7, 3]
            assert tree.arc.tolist() == [NONE, graph.num_arcs - 1, count]


def test_a_road_network_beside_scipy() -> None:
    graph = read_graph(shared_data("dimacs9/USA-road-d.NY.gr.gz"))
    matrix = sparse.csr_array(
        (graph.weight.astype(np.float64), graph.head, graph.first_out), shape=(graph.num_nodes,) * 2
    )
    with Solver(graph) as solver:
        found = solver.trees([0, 200_000])
    expected = csgraph.dijkstra(matrix, indices=[0, 200_000])
    for row, source in enumerate((0, 200_000)):
        check_tree(graph, row_of(found, graph, row), expected[row].astype(np.uint64), [source])


def test_all_devices() -> None:
    for info in list_devices():
        with Solver(GRAPHS[1], "near_far", info.index) as solver:
            assert np.array_equal(solver.trees([5, 6]).arc, expected_trees(1).arc[[5, 6]])


def test_bad_input_and_empty_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    with Solver(GRAPHS[2], "dijkstra", "cpu") as solver:
        for given_, text in (
            ({"sources": 144}, "144"),
            ({"sources": [0, -1]}, "sources"),
            ({"sources": []}, "no sources"),
            ({"sources": [0], "limit": -1}, "limit"),
            ({"sources": 0, "limit": "x"}, "limit"),
            ({"sources": 0, "chunked": True}, "many sources"),
            ({"sources": [0], "chunked": 3}, "chunked"),
            ({"sources": [(0, 1, 2)]}, "source"),
        ):
            with pytest.raises(QueryError, match=text):
                solver.trees(**given_)
        monkeypatch.setattr("vkssp.memory.free_bytes", lambda: 1000)
        with pytest.raises(MemoryShortageError, match="chunked=True"):
            solver.trees(np.zeros(1_000_000, int))
    lone = Graph.from_edges([], [], [], num_nodes=2)
    with Solver(lone, "dijkstra", "cpu") as solver:
        assert solver.trees([1]).arc.tolist() == [[NONE, NONE]]
        assert repr(solver.trees(1)) == "Trees(distance=uint32[2], arc=uint32[2])"
    far = Graph.from_edges([0, 1], [1, 2], [2**32 - 2, 5])
    for many in (0, [0, 1]):
        with Solver(far, "dijkstra", "cpu") as solver:
            with pytest.raises(DistanceOverflowError):
                solver.trees(many)
            assert solver.trees(many, limit=7).arc.reshape(-1, 3)[0].tolist() == [NONE] * 3


def test_real_weights_and_names() -> None:
    graph = Graph.from_edges(["a", "b", "a"], ["b", "c", "c"], [0.5, 0.25, 1.5])
    with Solver(graph, "dijkstra", "cpu") as solver:
        tree = solver.trees("a")
        assert tree.distance.tolist() == [0, 0.5, 0.75] and tree.predecessor.tolist() == [NONE, 0, 1]
        assert solver.trees(["c", "a"], limit=0.6).distance.tolist() == [[np.inf, np.inf, 0], [0, 0.5, np.inf]]
        assert solver.trees([("b", 1.5), ("a", 0.25)]).distance.tolist() == [0.25, 0.75, 1.0]
    # A distance that does not fit in units in which each weight does.
    far = Graph.from_edges([0, 1, 2], [1, 2, 0], [3e9, 3e9, 3e9], scale=1.0)
    with Solver(far, "dijkstra", "cpu", distance_bits=32) as solver:
        assert solver.trees([0, 1]).distance.tolist() == [[0, 3e9, 6e9], [6e9, 0, 3e9]]
        assert solver.trees(0).distance.tolist() == [0, 3e9, 6e9]
        assert next(solver.trees([2], chunked=True)).arc.tolist() == [[2, 0, NONE]]
