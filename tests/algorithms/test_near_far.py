"""Workgroups that leave a subgroup partly empty; near_far with lists of subgroups and of workgroups."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.graphs import ON_DEVICE, class_of, grid, make_solver, scipy_dijkstra
from vkssp import UNREACHABLE, Graph, Solver
from vkssp.generate import rmat, uniform_random
from vkssp.gpu.device import Device

HUBS = rmat(8, 32, seed=4)
DENSE = uniform_random(200, 60, seed=5)


# Some drivers count only the full ones.
@pytest.mark.parametrize("algorithm", ON_DEVICE)
def test_subgroups_that_are_partly_empty(device: Device, algorithm: str) -> None:
    parameters = [each for each in class_of(algorithm).PARAMETERS if each.name.endswith("workgroup_size")]
    for size in (9, 13, 20):
        sizes = {each.name: size for each in parameters if not each.power_of_two}
        with make_solver(DENSE, algorithm, device, **sizes) as solver:
            assert np.array_equal(solver.distances(3), scipy_dijkstra(DENSE, 3))


@pytest.mark.parametrize("rounds", [1, 16])
@pytest.mark.parametrize("workgroup_size", [1, 20, 64])  # 20 leaves a subgroup partly empty where they are of 8
@pytest.mark.parametrize("graph", [HUBS, DENSE], ids=["hubs", "dense"])
def test_lists_that_run_full(device: Device, graph: Graph, workgroup_size: int, rounds: int) -> None:
    expected = scipy_dijkstra(graph, 3)
    for delta in (1, 40, 100_000):
        with make_solver(
            graph, "near_far", device, rounds=rounds, workgroup_size=workgroup_size, workgroups=3, delta=delta
        ) as solver:
            for _ in range(2):
                assert np.array_equal(solver.distances(3), expected)


@pytest.mark.parametrize("workgroups", [1, 7, 64])
def test_counters_do_not_depend_on_how_entries_are_listed(device: Device, workgroups: int) -> None:
    with make_solver(DENSE, "near_far", device, rounds=1, delta=1, workgroups=workgroups, counters="trace") as solver:
        assert np.array_equal(solver.distances(3), scipy_dijkstra(DENSE, 3))
        rows = solver.trace()
        near = rows[rows["phase"] == 0]
        # With buckets of one distance, and no weight of zero, each node is settled as it is taken, and once.
        assert near["worked"].sum() == DENSE.num_nodes
        assert near["relaxed"].sum() == arcs_that_may_improve(DENSE, 3)


def arcs_that_may_improve(graph: Graph, source: int) -> int:
    """Count arcs of nodes, by their distance, that lead to less than the farthest node if all are reached by then."""
    distance = np.full(graph.num_nodes, UNREACHABLE, np.uint32)
    distance[source] = now = count = 0
    bound = UNREACHABLE
    while (distance >= now).any() and (now := int(distance[distance >= now].min())) != UNREACHABLE:
        if now != 0:
            bound = int(distance.max())
        arcs = np.flatnonzero((distance[graph.tail] == now) & (graph.weight + now < bound))
        count += len(arcs)
        np.minimum.at(distance, graph.head[arcs], now + graph.weight[arcs])
        now += 1
    assert np.array_equal(distance, scipy_dijkstra(graph, source))
    return count


@pytest.mark.parametrize("delta", [1, 30, 10**6])
def test_light_arcs_first(device: Device, delta: int) -> None:
    """Where a node is out of reach, or leads nowhere, and where nodes are cut into pieces, or arcs weigh nothing."""
    rng = np.random.default_rng(delta)
    n = 300
    tail, head = rng.integers(0, n, (2, 40 * n))
    weight = rng.choice(np.array([0, 1, 5, 80, 81, 10_000], np.uint32), len(tail))
    hub = np.full(9000, 7), rng.integers(0, n, 9000), rng.integers(0, 3000, 9000)
    for keep in (head >= 0, head != 0, (tail > 2) & (head != 5)):
        parts = [np.concatenate([ends[keep], more]) for ends, more in zip((tail, head, weight), hub, strict=True)]
        graph = Graph.from_edges(*parts, num_nodes=n)
        with make_solver(graph, "near_far", device, delta=delta, counters="totals") as solver:
            for source in (7, 0, 5):
                expected = scipy_dijkstra(graph, source)
                assert np.array_equal(solver.distances(source), expected)
                assert solver.distance(source, 100) == expected[100]
                seeds = [(source, 50), (9, 3), (9, 8)]
                both = np.minimum(expected.astype(np.int64) + 50, scipy_dijkstra(graph, 9).astype(np.int64) + 3)
                assert np.array_equal(solver.distances(seeds), np.minimum(both, UNREACHABLE))


@pytest.mark.parametrize("algorithm", ["near_far", "block_resident"])
def test_searches_for_targets_begin_with_narrow_buckets(device: Device, algorithm: str) -> None:
    graph = grid(60, seed=8)
    expected = scipy_dijkstra(graph, 0)
    widest = int(expected.max())  # one bucket, and a little more, for all distances
    parameters = {"block": 64} if algorithm == "block_resident" else {}
    with make_solver(graph, algorithm, device, delta=widest, counters="trace", **parameters) as solver:
        solver.distances(0)
        assert solver.last is not None
        everything = solver.last.counters["relaxed"]
        assert (solver.trace()["high"] - solver.trace()["low"]).min() == widest
        near = int(np.argsort(expected)[20])
        assert solver.distance(0, near) == expected[near]
        assert solver.last.counters["relaxed"] < everything / 5
        assert solver.trace()["high"].max() < widest
        far = int(expected.argmax())
        assert solver.distance(0, far) == expected[far]
        widths = solver.trace()["high"] - solver.trace()["low"]
        assert (
            widths[0] == widest // (16 if algorithm == "block_resident" else 64)
            and (np.diff(widths.astype(np.int64)) >= 0).all()
            and widths[-1] <= widest
        )
        # What comes after a search for a target is as wide as ever.
        assert np.array_equal(solver.distances(0), expected)
        assert (solver.trace()["high"] - solver.trace()["low"]).min() == widest


@pytest.mark.parametrize("seed", [3, 4])
def test_a_seed_beyond_the_first_bucket_in_a_graph_with_many_arcs(device: Device, seed: int) -> None:
    """It is improved late, although it is farther than all nodes that wait, as no arc leads on from it."""
    rng, count, degree = np.random.default_rng(seed), 149, 9
    tail = np.repeat(np.arange(count), degree)
    head = (tail + rng.integers(-8, 9, len(tail))) % count
    weight = rng.integers(1, 4, len(tail))
    graph = Graph.from_edges([*tail, count // 2], [*head, count], [*weight, 1], num_nodes=count + 1)
    with Solver(graph, "near_far", device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        for offset in range(10, 100, 6):
            seeds = [(0, 0), (count, offset)]
            assert solver.distances(seeds).tolist() == reference.distances(seeds).tolist()
