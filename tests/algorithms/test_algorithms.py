"""What every algorithm takes and tells: parameters, counters, traces, timings, and when a search ends."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import ON_DEVICE, ON_HOST, check_counters, grid, heap_dijkstra, make_solver, random_graphs
from vkssp import UNREACHABLE, DeviceError, Graph, QueryError, Solver
from vkssp.algorithm import COUNTING, TOTALS
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.engine import device_algorithm as device_module
from vkssp.gpu.device import Device

algorithms = pytest.mark.parametrize("algorithm", ALGORITHMS)
on_device = pytest.mark.parametrize("algorithm", ON_DEVICE)
on_host = pytest.mark.parametrize("algorithm", ON_HOST)
PARAMETERS = [
    pytest.param(name, parameter, id=f"{name}-{parameter.name}")
    for name, kind in ALGORITHMS.items()
    for parameter in kind.PARAMETERS
]
CRAUSER = ["crauser", "crauser_predecessors", "crauser_cpu", "crauser_predecessors_cpu"]
MARTIN = ["martin", "martin_predecessors", "martin_cpu", "martin_predecessors_cpu"]
#: Algorithms that settle a node once, by looking along its outgoing arcs.
SETTLES = ["dijkstra", "dijkstra_gpu", "crauser", "crauser_cpu", "martin", "martin_cpu"]
TINY = Graph.from_edges([0], [1], [1])


def counted(solver: Solver, source: int = 0) -> dict[str, int]:
    """Search from a node to all, and return what was counted."""
    solver.distances(source)
    assert solver.last is not None
    return solver.last.counters


def test_there_are_algorithms_for_both() -> None:
    assert len(ON_DEVICE) >= 12 and len(ON_HOST) >= 7
    for name, kind in ALGORITHMS.items():
        assert kind.NAME == name
        description = kind.DESCRIPTION
        assert all((description.idea, description.source, description.complexity, description.use))
        names = [parameter.name for parameter in kind.PARAMETERS]
        assert len(set(names)) == len(names)


def test_an_unknown_name_lists_the_algorithms(device: Device) -> None:
    with pytest.raises(QueryError) as error:
        Solver(TINY, "magic", device)
    assert str(error.value).startswith("algorithm is 'magic'; choose one of")
    assert set(ALGORITHMS) <= set(re.findall(r"\w+", str(error.value)))


@on_host
def test_algorithms_on_the_cpu_take_no_device(device: Device, algorithm: str) -> None:
    for selected in (device, 0, "llvm"):
        with pytest.raises(QueryError, match=f"{algorithm} runs on the CPU; leave device out"):
            Solver(TINY, algorithm, selected)
    with Solver(TINY, algorithm) as solver:
        assert solver.distances(0).tolist() == [0, 1]
        assert solver.device.info.kind == "cpu"


# Parameters


@pytest.mark.parametrize(("algorithm", "parameter"), PARAMETERS)
def test_values_out_of_range_are_refused(device: Device, algorithm: str, parameter: Any) -> None:
    name, low, high = parameter.name, parameter.low, parameter.high
    for value in (low - 1, high + 1):
        with pytest.raises(QueryError, match=rf"^{name} is {value}; {algorithm} takes {low} to {high}$"):
            make_solver(TINY, algorithm, device, **{name: value})
    for value in (1.5, "many", [1]):
        with pytest.raises(QueryError, match=rf"^{name} is .*; {algorithm} takes an integer$"):
            make_solver(TINY, algorithm, device, **{name: value})  # type: ignore[arg-type]
    if parameter.power_of_two:
        with pytest.raises(QueryError, match=rf"^{name} is 3; {algorithm} takes a power of two$"):
            make_solver(TINY, algorithm, device, **{name: 3})


@algorithms
def test_unknown_parameters_are_refused_with_those_that_there_are(device: Device, algorithm: str) -> None:
    names = ", ".join(parameter.name for parameter in ALGORITHMS[algorithm].PARAMETERS) or "none"
    with pytest.raises(QueryError, match=f"^{algorithm} has no parameter 'gamma'; it takes {names}$"):
        Solver(TINY, algorithm, device if algorithm in ON_DEVICE else None, gamma=1)


@pytest.mark.parametrize("algorithm", ["bellman_ford_subgroup", "delta_step_subgroup"])
def test_lanes_divide_the_workgroup(device: Device, algorithm: str) -> None:
    for size, lanes in ((8, 16), (12, 8), (33, 2)):
        with pytest.raises(QueryError, match=f"lanes is {lanes}; .* a power of two that divides {size}"):
            Solver(TINY, algorithm, device, workgroup_size=size, lanes=lanes)
    graph = grid(9)
    for size in (1, 3, 12, 33):
        with Solver(graph, algorithm, device, workgroup_size=size, chunk=3) as solver:
            assert np.array_equal(solver.distances(4), heap_dijkstra(graph, 4))


@on_device
def test_workgroups_larger_than_the_device_has_are_refused(
    device: Device, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_solver(TINY, algorithm, device).close()  # makes what the device keeps
    monkeypatch.setattr(device, "limits", replace(device.limits, workgroup_size=64))
    owned = set(device._owned)
    with pytest.raises(DeviceError, match=r"needs 65 invocations in a workgroup, .* has 64; choose fewer"):
        make_solver(TINY, algorithm, device, workgroup_size=65)
    assert set(device._owned) == owned
    with make_solver(TINY, algorithm, device) as solver:
        assert solver.distances(0).tolist() == [0, 1]


@pytest.mark.parametrize("algorithm", ["bellman_ford_subgroup", "delta_step_subgroup"])
def test_chunks_that_do_not_fit_into_shared_memory_are_refused(device: Device, algorithm: str) -> None:
    Solver(TINY, algorithm, device).close()  # what the device keeps for all is there from then on
    owned = set(device._owned)
    with pytest.raises(DeviceError, match=r"bytes of shared memory, .* has \d+; choose smaller"):
        Solver(TINY, algorithm, device, lanes=1, chunk=4096)
    assert set(device._owned) == owned


@on_device
def test_the_smallest_and_the_largest_workgroups(device: Device, algorithm: str) -> None:
    """The largest is what the device has, or what an algorithm's shared memory allows."""
    graph = grid(12, seed=3)
    expected = heap_dijkstra(graph, 5)
    with make_solver(graph, algorithm, device, workgroup_size=1, rounds=2) as solver:
        assert np.array_equal(solver.distances(5), expected)
    size = min(1024, device.limits.workgroup_size)
    while True:
        try:
            solver = make_solver(graph, algorithm, device, workgroup_size=size, rounds=2, chunk=1)
            break
        except DeviceError as error:
            assert "bytes of shared memory" in str(error)
            size //= 2
    with solver:
        assert size >= min(128, device.limits.workgroup_size)
        assert np.array_equal(solver.distances(5), expected)


# Counters and traces


@algorithms
def test_what_is_counted_when(device: Device, algorithm: str) -> None:
    counters = []
    for counting in COUNTING:
        with make_solver(grid(9), algorithm, device, counters=counting) as solver:
            counters.append(counted(solver))
            if counting != "trace":
                with pytest.raises(QueryError, match="keeps no trace; make it with counters='trace'"):
                    solver.trace()
    assert not set(TOTALS) & set(counters[0]) and counters[0]["iterations"] > 0
    assert set(counters[1]) == set(counters[2]) >= {"iterations", *TOTALS}


@algorithms
def test_wrong_counters_and_traces_before_a_search(device: Device, algorithm: str) -> None:
    with pytest.raises(QueryError, match="counters is 'all'; choose one of iterations, totals, trace"):
        make_solver(TINY, algorithm, device, counters="all")
    with (
        make_solver(TINY, algorithm, device, counters="trace") as solver,
        pytest.raises(QueryError, match="no trace before the first search"),
    ):
        solver.trace()


@algorithms
@settings(max_examples=max(3, EXAMPLES // 12))
@given(graph=random_graphs(), source=st.integers(0, 10**6))
def test_traces_fit_the_totals_and_what_was_reached(device: Device, algorithm: str, graph: Graph, source: int) -> None:
    source %= graph.num_nodes
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        for _ in range(2):
            counters = counted(solver, source)
            check_counters(solver)
            prepared = solver.session.renumbered
            tail = np.repeat(np.arange(prepared.num_nodes), np.diff(prepared.first_out.astype(np.int64)))
            reached = solver.session.algorithm().read() != UNREACHABLE
            arcs = int((reached[tail] & (tail != prepared.arcs[:, 0])).sum())
            assert counters["improved"] >= reached.sum() - 1
            if "predecessors" not in algorithm and algorithm != "phast":  # whose arcs are others
                assert counters["relaxed"] >= arcs, "all arcs out of what is reached"
            if algorithm in SETTLES:
                assert counters["worked"] == reached.sum(), "each node is settled once"
                assert counters["relaxed"] == reached[tail].sum()
            if algorithm.startswith("dijkstra"):
                assert counters["iterations"] == reached.sum()


@pytest.mark.parametrize("algorithm", ["bellman_ford", "bellman_ford_subgroup"])
def test_bellman_ford_on_a_path_against_its_ids(device: Device, algorithm: str) -> None:
    """One workgroup of one invocation, which meets the nodes in descending order of distance: an arc each iteration."""
    n = 40
    graph = Graph.from_edges(np.arange(n - 1, 0, -1), np.arange(n - 2, -1, -1), np.ones(n - 1, int))
    options = {"workgroup_size": 1, "workgroups": 1, "lanes": 1, "chunk": 1}
    with make_solver(graph, algorithm, device, counters="trace", **options) as solver:
        counters = counted(solver, n - 1)
        rows = check_counters(solver)
    # The last iteration finds nothing to improve.
    assert counters["iterations"] == n and counters["visited"] == n * n and counters["improved"] == n - 1
    assert rows["improved"].tolist() == [1] * (n - 1) + [0]
    assert rows["worked"].tolist() == [*range(1, n), n]
    assert rows["relaxed"].tolist() == [*range(1, n), n - 1]
    assert (rows["first_node"] == 0).all() and (rows["last_node"] == n - 1).all()


def test_bellman_ford_by_edges_looks_at_every_edge_in_every_iteration(device: Device) -> None:
    graph = grid(9)
    with Solver(graph, "bellman_ford_edge", device, counters="trace") as solver:
        counters = counted(solver)
        rows = check_counters(solver)
    assert (rows["visited"] == graph.num_arcs // 2).all()
    assert rows[-1]["improved"] == 0 and (rows["improved"][:-1] > 0).all()
    assert rows[-1]["relaxed"] == graph.num_arcs and counters["iterations"] == len(rows)


@algorithms
def test_the_trace_of_a_search_that_goes_nowhere(device: Device, algorithm: str) -> None:
    """Neither a node nor an edge that is not there is looked at."""
    with make_solver(Graph.from_edges([], [], [], num_nodes=3), algorithm, device, counters="trace") as solver:
        assert solver.distances(1).tolist() == [UNREACHABLE, 0, UNREACHABLE]
        rows = check_counters(solver)
    assert (rows["last_node"] < 3).all() and not rows["relaxed"].any() and not rows["improved"].any()


@algorithms
def test_a_star_has_counters_that_can_be_told_beforehand(device: Device, algorithm: str) -> None:
    """Ten leaves at distance 7: whatever the order, ten arcs improve something, and none is relaxed to no use."""
    graph = Graph.from_edges([0] * 10, range(1, 11), [7] * 10)
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        counters = counted(solver)
        rows = check_counters(solver)
    assert counters["improved"] == 10
    # What has no room in the record of block_resident, six of ten arcs, it relaxes in both rounds and at the end.
    again = 10 if algorithm.startswith("bellman_ford") else 12 if algorithm == "block_resident" else 0
    assert counters["relaxed"] == 10 + again
    assert rows["high"].max() > 7 and rows["low"].min() == 0


def test_dijkstra_on_the_device_settles_nodes_in_the_order_of_their_distances(device: Device) -> None:
    graph = grid(8, seed=2)
    with Solver(graph, "dijkstra_gpu", device, order="natural", counters="trace") as solver:
        found = solver.distances(9)
        rows = check_counters(solver)
    order = np.lexsort((np.arange(64), found))
    assert rows["first_node"].tolist() == rows["last_node"].tolist() == order.tolist()
    assert rows["low"].tolist() == found[order].tolist()
    assert (rows["worked"] == 1).all() and (rows["visited"] == 64).all()
    assert rows["relaxed"].tolist() == np.diff(graph.first_out.astype(np.int64))[order].tolist()


def thresholds(graph: Graph, source: int) -> list[tuple[int, int, int]]:
    """Return (least distance, threshold, nodes settled) of each round of Crauser's algorithm, node by node."""
    first, head, weight = graph.first_out.tolist(), graph.head.tolist(), graph.weight.tolist()
    lightest = [min(weight[a:b], default=2**64) for a, b in pairwise(first)]
    distance, settled, rounds = {source: 0}, set[int](), []
    while True:
        unsettled = [node for node in distance if node not in settled]
        if not unsettled:
            return rounds
        threshold = min(distance[node] + lightest[node] for node in unsettled)
        frontier = [node for node in unsettled if distance[node] <= threshold]
        rounds.append((min(distance[node] for node in unsettled), threshold, len(frontier)))
        settled.update(frontier)
        for node in frontier:
            for arc in range(first[node], first[node + 1]):
                through = distance[node] + weight[arc]
                if through < distance.get(head[arc], 2**64):
                    distance[head[arc]] = through


@pytest.mark.parametrize("algorithm", CRAUSER)
@settings(max_examples=max(3, EXAMPLES // 6))
@given(graph=random_graphs(zeros=False), source=st.integers(0, 10**6))
def test_crauser_settles_in_the_rounds_of_the_textbook(
    device: Device, algorithm: str, graph: Graph, source: int
) -> None:
    source %= graph.num_nodes
    expected = thresholds(graph, source)
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        counted(solver, source)
        rows = check_counters(solver)
    assert rows["low"].tolist() == [low for low, _, _ in expected]
    assert rows["high"].tolist() == [min(threshold + 1, UNREACHABLE) for _, threshold, _ in expected]
    if "predecessors" not in algorithm:
        assert rows["worked"].tolist() == [count for _, _, count in expected]


@pytest.mark.parametrize("algorithm", MARTIN)
def test_martin_has_a_round_for_each_distance(device: Device, algorithm: str) -> None:
    graph = grid(15, seed=6, high=9)
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        found = solver.distances(3)
        rows = check_counters(solver)
    distance, count = np.unique(found, return_counts=True)
    assert rows["low"].tolist() == distance.tolist() and (rows["high"] == rows["low"] + 1).all()
    if "predecessors" in algorithm:
        forward = found[graph.tail] < found[graph.head]
        assert rows["relaxed"].sum() == forward.sum(), "arcs to nodes that are settled already are left alone"
    else:
        assert rows["worked"].tolist() == count.tolist()


@pytest.mark.parametrize("algorithm", ["dijkstra_gpu", "martin", "dijkstra", "martin_cpu"])
def test_the_trace_of_more_iterations_than_the_ring_has_rows_is_complete(device: Device, algorithm: str) -> None:
    n = 2 * device_module.TRACE_ROWS + 300
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 3))
    with make_solver(graph, algorithm, device, counters="trace") as solver:
        for source in (0, 500, 0):
            counters = counted(solver, source)
            rows = check_counters(solver)
            assert counters["iterations"] == n - source
            assert rows["low"].tolist() == list(range(0, 3 * (n - source), 3))
            assert (rows["worked"] == 1).all()


def test_a_z_ordered_numbering_keeps_the_ranges_of_delta_step_short(device: Device) -> None:
    ordered = grid(60)
    name = np.random.default_rng(1).permutation(ordered.num_nodes)
    lat, lon = np.empty((2, ordered.num_nodes))
    assert ordered.lat is not None and ordered.lon is not None
    lat[name], lon[name] = ordered.lat, ordered.lon
    shuffled = Graph.from_edges(name[ordered.tail], name[ordered.head], ordered.weight, lat=lat, lon=lon)
    mean = {}
    for order in ("z", "natural"):
        with Solver(shuffled, "delta_step", device, order=order, counters="trace", delta=100) as solver:
            counted(solver, int(name[0]))
            rows = check_counters(solver)
        mean[order] = float((rows["last_node"].astype(np.int64) - rows["first_node"] + 1).mean())
    assert mean["z"] < 0.75 * mean["natural"]


@algorithms
def test_timings_have_all_parts(device: Device, algorithm: str) -> None:
    with make_solver(grid(20), algorithm, device) as solver:
        before = solver.timings
        assert before.setup_ms > 0 and before.upload_ms >= 0
        assert before.device_ms is None and before.download_ms is None
        solver.distance(0, 5)
        assert solver.timings.device_ms is not None and solver.timings.download_ms is None
        solver.distances(0)
        after = solver.timings
        assert after.download_ms is not None and after.download_ms > 0
        assert after.device_ms is not None and solver.last is not None and after.device_ms == solver.last.device_ms
        if algorithm in ON_HOST or device.limits.timestamp_period:
            assert after.device_ms > 0
        if algorithm in ON_DEVICE:
            assert after.upload_ms > 0, "the graph was copied to the device"
        with solver.clone() as clone:
            assert clone.timings.device_ms is None and clone.timings.download_ms is None
            assert clone.timings.setup_ms > 0 and clone.timings.setup_ms != after.setup_ms
            clone.distances(0)
            assert clone.timings.download_ms is not None
        assert solver.timings == after


# When a search ends


@algorithms
def test_the_search_ends_early_for_a_near_target(device: Device, algorithm: str) -> None:
    graph = grid(50, low=50)
    kind = ALGORITHMS[algorithm]
    with make_solver(graph, algorithm, device, delta=100, rounds=1) as solver:
        whole = solver.distances(0)
        assert solver.last is not None
        all_iterations = solver.last.counters["iterations"]
        for target in (1, 50, 153):
            assert solver.distance(0, target) == whole[target]
            if kind.DESCRIPTION.ends_early:
                assert solver.last.counters["iterations"] < all_iterations / 4
        assert solver.distance(0, 2499) == whole[2499]


@pytest.mark.parametrize("algorithm", [name for name, kind in ALGORITHMS.items() if not kind.DESCRIPTION.ends_early])
def test_algorithms_that_cannot_end_early_say_so(algorithm: str) -> None:
    kind = ALGORITHMS[algorithm]
    told = f"{sys.modules[kind.__module__].__doc__} {kind.__doc__} {kind.DESCRIPTION.use}"
    assert re.search(r"(cannot|does\s+not)\s+end\s+early", told)
