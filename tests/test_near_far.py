"""Workgroups that leave a subgroup partly empty; near_far with lists of subgroups and of workgroups."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import grid, make_solver, scipy_dijkstra
from vkssp import Graph
from vkssp.generate import rmat, uniform_random
from vkssp.gpu.device import Device
from vkssp.solvers import ALGORITHMS

HUBS = rmat(8, 32, seed=4)
DENSE = uniform_random(200, 60, seed=5)


# Some drivers count only the full ones.
@pytest.mark.parametrize("algorithm", [name for name, kind in ALGORITHMS.items() if kind.RUNS_ON == "device"])
def test_subgroups_that_are_partly_empty(device: Device, algorithm: str) -> None:
    names = [parameter.name for parameter in ALGORITHMS[algorithm].PARAMETERS]
    for size in (9, 13, 20):
        sizes = {name: size for name in names if name.endswith("workgroup_size")}
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
        assert near["relaxed"].sum() == DENSE.num_arcs


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
        assert widths[0] == widest // 64 and (np.diff(widths.astype(np.int64)) >= 0).all() and widths[-1] <= widest
        # What comes after a search for a target is as wide as ever.
        assert np.array_equal(solver.distances(0), expected)
        assert (solver.trace()["high"] - solver.trace()["low"]).min() == widest
