"""What every algorithm takes and tells: parameters, counters, traces, timings, and when a search ends."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import (
    EVERYWHERE,
    ON_CPU,
    ON_DEVICE,
    check_counters,
    class_of,
    grid,
    heap_dijkstra,
    make_solver,
    placed,
    random_graphs,
)
from tests.support.paths import ROOT
from vkssp import UNREACHABLE, DeviceError, Graph, QueryError, Solver, VksspError
from vkssp.algorithm import COUNTING, CPU, TOTALS, VULKAN
from vkssp.algorithms import choice
from vkssp.algorithms.near_far import NearFar
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.cpu.device import CpuDevice
from vkssp.engine import device_algorithm as device_module
from vkssp.gpu.device import Device

algorithms = pytest.mark.parametrize("algorithm", EVERYWHERE)
on_device = pytest.mark.parametrize("algorithm", ON_DEVICE)
PARAMETERS = [
    pytest.param(name, parameter, id=f"{name}-{parameter.name}")
    for name in EVERYWHERE
    for parameter in class_of(name).PARAMETERS
]
#: Algorithms that settle a node once, by looking along its outgoing arcs.
SETTLES = ["dijkstra", "dijkstra_scan", "crauser", "crauser@cpu", "martin", "martin@cpu"]
TINY = Graph.from_edges([0], [1], [1])


def counted(solver: Solver, source: int = 0) -> dict[str, int]:
    """Search from a node to all, and return what was counted."""
    solver.distances(source)
    assert solver.last is not None
    return solver.last.counters


def test_there_are_algorithms_for_both() -> None:
    assert len(ON_DEVICE) >= 12 and len(ON_CPU) >= 7
    for name in EVERYWHERE:
        kind = class_of(name)
        assert kind.NAME == name.partition("@")[0] and kind.RUNS_ON == (CPU if name in ON_CPU else VULKAN)
        description = kind.DESCRIPTION
        assert all((description.idea, description.source, description.complexity, description.use))
        names = [parameter.name for parameter in kind.PARAMETERS]
        assert len(set(names)) == len(names)


def test_an_unknown_name_lists_the_algorithms(device: Device) -> None:
    with pytest.raises(QueryError) as error:
        Solver(TINY, "magic", device)
    assert str(error.value).startswith("algorithm is 'magic'; choose one of")
    assert set(ALGORITHMS) <= set(re.findall(r"\w+", str(error.value)))


@pytest.mark.parametrize("algorithm", [name for name in ON_CPU if "@" not in name])
def test_algorithms_that_run_on_the_cpu_only(device: Device, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKSSP_DEVICE", "llvm")
    for selected in (device, 0, "llvm"):
        with pytest.raises(QueryError, match=f"{algorithm} runs on the CPU; leave device out"):
            Solver(TINY, algorithm, selected)
    with CpuDevice() as cpu:
        for on in (None, "cpu", "CPU", cpu):
            with Solver(TINY, algorithm, on) as solver:
                assert solver.distances(0).tolist() == [0, 1]
                assert isinstance(solver.device, CpuDevice) and (on is not cpu or solver.device is cpu)
        assert not cpu.closed, "a device that the caller opened stays open"


@pytest.mark.parametrize("algorithm", [name for name in ON_DEVICE if f"{name}@cpu" not in ON_CPU])
def test_algorithms_that_run_on_vulkan_devices_only(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(QueryError, match=f"^{algorithm} runs on Vulkan devices only; choose a Vulkan device"):
        Solver(TINY, algorithm, "cpu")
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    with pytest.raises(QueryError, match=f"^{algorithm} runs on Vulkan devices only; unset VKSSP_DEVICE"):
        Solver(TINY, algorithm)


def test_the_place_of_an_algorithm_that_runs_in_two(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for algorithm, in_hardware in (("crauser", Device), ("dijkstra", CpuDevice), ("auto", Device), ("phast", Device)):
        for hardware, by_default in (((device.info,), in_hardware), ((), CpuDevice)):
            monkeypatch.setattr(choice, "hardware_devices", lambda found=hardware: found)
            for variable, on, place in (
                ("", None, by_default),
                (device.info.name, None, in_hardware),
                ("cpu", None, CpuDevice),
                ("", "cpu", CpuDevice),
            ):
                monkeypatch.setenv("VKSSP_DEVICE", variable)
                with Solver(TINY, algorithm, on) as solver:
                    assert isinstance(solver.device, place) and solver.distances(0).tolist() == [0, 1]
                    with solver.clone() as clone:
                        assert clone.device is solver.device and clone.algorithm == solver.algorithm
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    with Solver(TINY, "crauser", device) as solver:
        assert solver.device is device
    with Solver(TINY) as solver:
        assert solver.algorithm == "dijkstra"


def test_former_names_are_aliases_with_a_warning(device: Device) -> None:
    former = {f"{name.partition('@')[0]}_cpu": name for name in ON_CPU if "@" in name and name != "phast@cpu"}
    assert len(former) == 5
    for old, new in (*former.items(), ("dijkstra_gpu", "dijkstra_scan"), ("delta_step_cpu", "delta_step_buckets")):
        name = new.partition("@")[0]
        with pytest.warns(DeprecationWarning, match=f"'{old}' is called '{name}'") as caught:
            solver = Solver(TINY, old, device if old == "dijkstra_gpu" else None)
        with solver:
            assert caught[0].filename == __file__
            assert solver.algorithm == name and solver.device.info.kind == "cpu"
            assert isinstance(solver.device, CpuDevice) == (new in ON_CPU)


def test_a_former_name_on_the_cpu_takes_no_vulkan_device(device: Device) -> None:
    with pytest.warns(DeprecationWarning), pytest.raises(QueryError, match="crauser_cpu runs on the CPU; leave device"):
        Solver(TINY, "crauser_cpu", device)


def test_a_cpu_that_has_been_closed(device: Device) -> None:
    cpu = CpuDevice()
    solver = Solver(TINY, "dijkstra", cpu)
    cpu.close()
    with pytest.raises(DeviceError, match="has been closed; open another"):
        Solver(TINY, "dijkstra", cpu)
    with pytest.raises(VksspError, match="has been closed"):
        solver.distances(0)


def test_shader_device_file_cpu_twin_and_test_share_a_stem() -> None:
    """An algorithm's module gives its shaders, its twin on the CPU and its test their names."""
    shaders = {path.stem for folder in ("algorithms", "cch") for path in (ROOT / "shaders" / folder).glob("*.comp")}
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("[ac][lp]*/test_*.py")}
    registered = set()
    for name, classes in ALGORITHMS.items():
        modules = {place: kind.__module__.split(".") for place, kind in classes.items()}
        assert {place: folder for place, (_, folder, _) in modules.items()}.items() <= {
            VULKAN: "algorithms",
            CPU: "cpu",
        }.items()
        (stem,) = {stem for _, _, stem in modules.values()}
        registered.add(stem)
        siblings = [
            other for other, kinds in ALGORITHMS.items() if next(iter(kinds.values())).__module__.endswith(stem)
        ]
        assert name == stem or len(siblings) > 1, "a module is called as its algorithm, or has a family"
        assert any(stem == test or stem.startswith(f"{test}_") for test in tests), stem
        if VULKAN in classes:
            assert any(shader == stem or shader.startswith(f"{stem}_") for shader in shaders), stem
        if CPU in classes:
            assert (ROOT / "vkssp" / "cpu" / "kernels" / f"{stem}.py").is_file()
    others = {"__init__", "registry", "choice"}
    assert {path.stem for path in (ROOT / "vkssp" / "algorithms").glob("*.py")} - others <= registered


# Parameters


@pytest.mark.parametrize(("algorithm", "parameter"), PARAMETERS)
def test_values_out_of_range_are_refused(device: Device, algorithm: str, parameter: Any) -> None:
    name, low, high = parameter.name, parameter.low, parameter.high
    known, _ = placed(algorithm, device)
    for value in (low - 1, high + 1):
        with pytest.raises(QueryError, match=rf"^{name} is {value}; {known} takes {low} to {high}$"):
            make_solver(TINY, algorithm, device, **{name: value})
    for value in (1.5, "many", [1]):
        with pytest.raises(QueryError, match=rf"^{name} is .*; {known} takes an integer$"):
            make_solver(TINY, algorithm, device, **{name: value})  # type: ignore[arg-type]
    if parameter.power_of_two:
        with pytest.raises(QueryError, match=rf"^{name} is 3; {known} takes a power of two$"):
            make_solver(TINY, algorithm, device, **{name: 3})


@algorithms
def test_unknown_parameters_are_refused_with_those_that_there_are(device: Device, algorithm: str) -> None:
    names = ", ".join(parameter.name for parameter in class_of(algorithm).PARAMETERS) or "none"
    name, on = placed(algorithm, device)
    with pytest.raises(QueryError, match=f"^{name} has no parameter 'gamma'; it takes {names}$"):
        Solver(TINY, name, on, gamma=1)


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
    owned = set(device.owned)
    with pytest.raises(DeviceError, match=r"needs 128 invocations in a workgroup, .* has 64; choose fewer"):
        make_solver(TINY, algorithm, device, workgroup_size=128)
    assert set(device.owned) == owned
    with make_solver(TINY, algorithm, device) as solver:
        assert solver.distances(0).tolist() == [0, 1]


@pytest.mark.parametrize("algorithm", ["bellman_ford_subgroup", "delta_step_subgroup"])
def test_chunks_that_do_not_fit_into_shared_memory_are_refused(device: Device, algorithm: str) -> None:
    Solver(TINY, algorithm, device).close()  # what the device keeps for all is there from then on
    owned = set(device.owned)
    with pytest.raises(DeviceError, match=r"bytes of shared memory, .* has \d+; choose smaller"):
        Solver(TINY, algorithm, device, lanes=1, chunk=4096)
    assert set(device.owned) == owned


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
            search = solver.session.algorithm()
            # Those have other arcs, or leave some out.
            others = "predecessors" in algorithm or algorithm.startswith(("phast", "push_pull"))
            if not others and not (isinstance(search, NearFar) and search.has_many_arcs):
                assert counters["relaxed"] >= arcs, "all arcs out of what is reached"
            if algorithm in SETTLES:
                assert counters["worked"] == reached.sum(), "each node is settled once"
                assert counters["relaxed"] == reached[tail].sum()
            if algorithm.startswith("dijkstra"):
                assert counters["iterations"] == reached.sum()


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


@pytest.mark.parametrize("algorithm", ["dijkstra_scan", "martin", "dijkstra", "martin@cpu"])
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
        if algorithm in ON_CPU or device.limits.timestamp_period:
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
    graph = grid(32, low=50)
    kind = class_of(algorithm)
    with make_solver(graph, algorithm, device, delta=100, rounds=1) as solver:
        whole = solver.distances(0)
        assert solver.last is not None
        all_iterations = solver.last.counters["iterations"]
        for target in (1, 32, 99):
            assert solver.distance(0, target) == whole[target]
            if kind.DESCRIPTION.ends_early:
                assert solver.last.counters["iterations"] < all_iterations / 4
        assert solver.distance(0, 1023) == whole[1023]


@pytest.mark.parametrize("algorithm", [name for name in EVERYWHERE if not class_of(name).DESCRIPTION.ends_early])
def test_algorithms_that_cannot_end_early_say_so(algorithm: str) -> None:
    kind = class_of(algorithm)
    told = f"{sys.modules[kind.__module__].__doc__} {kind.__doc__} {kind.DESCRIPTION.use}"
    assert re.search(r"(cannot|does\s+not)\s+end\s+early", told)
