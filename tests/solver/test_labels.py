"""Many pairs by labels, on a device and on the CPU, beside Dijkstra's algorithm."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import DATA, EXAMPLES
from tests.support.failures import fail_each_call
from tests.support.graphs import grid, heap_dijkstra, random_graphs, scipy_dijkstra
from tests.support.prepared_graphs import clique, path, star
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, Solver, prepare, read_graph
from vkssp.cch import label_pairs
from vkssp.cch import labels as device_labels
from vkssp.cch.pairs import Pairs
from vkssp.cpu import labels as cpu_labels
from vkssp.cpu.device import CpuDevice
from vkssp.cpu.phast import PhastCpu
from vkssp.gpu.device import Device
from vkssp.hierarchy.labels import LabelLayout, label_layout_of
from vkssp.solver import session

PLACES = ("device", "cpu")
_ends_of_parts = LabelLayout.ends_of_parts
#: Number of pairs of each search of pairs.
searched: list[int] = []


@pytest.fixture(scope="module", autouse=True)
def always() -> Iterator[None]:
    """Let labels answer any number of pairs, in small pieces, and count searches of pairs."""
    searches = {Pairs: Pairs.find, PhastCpu: PhastCpu.between}

    def counted(kind: Any) -> Callable[..., Any]:
        return lambda *arguments: searched.append(len(arguments[1])) or searches[kind](*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "MANY_PAIRS", 0)
        for module in (device_labels, cpu_labels):
            patch.setattr(module, "PAIRS_A_NODE", (0.0, 0.0))
        patch.setattr(label_pairs, "PIECE", 100)
        patch.setattr(label_pairs, "LEAST_PIECE", 40)
        patch.setattr(cpu_labels, "FEWEST_PAIRS", 100)
        patch.setattr(Pairs, "find", counted(Pairs))
        patch.setattr(PhastCpu, "between", counted(PhastCpu))
        yield


def place(name: str, device: Device) -> Device | str:
    return device if name == "device" else name


def check_all(solver: Solver) -> None:
    """Compare the distances of all pairs of nodes."""
    graph = solver.graph
    sources, targets = (nodes.reshape(-1) for nodes in np.indices((graph.num_nodes, graph.num_nodes)))
    exact = np.concatenate([heap_dijkstra(graph, source) for source in range(graph.num_nodes)])
    searched.clear()
    assert np.array_equal(solver.pairs(sources, targets), exact)
    assert not searched


@pytest.mark.parametrize("where", PLACES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(graph=random_graphs(max_nodes=40), seed=st.integers(0, 2**32 - 1), parts=st.integers(1, 8))
def test_random_graphs_with_weights_that_change(
    device: Device, where: str, graph: Graph, seed: int, parts: int
) -> None:
    rng = np.random.default_rng(seed)

    def in_parts(layout: LabelLayout, most: int) -> list[int]:
        return _ends_of_parts(layout, max(-(-layout.units // parts) + 5, 5))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LabelLayout, "ends_of_parts", in_parts)
        with Solver(prepare(graph), "phast", place(where, device)) as solver:
            check_all(solver)
            if not graph.num_arcs:
                return
            changed = np.unique(rng.integers(0, graph.num_arcs, 1 + graph.num_arcs // 3))
            solver.set_weights(rng.integers(0, 9, len(changed)) ** rng.integers(0, 4), changed)
            check_all(solver)
            solver.set_weights(np.full(graph.num_arcs, seed % 3))  # all equal: perhaps those of both directions
            check_all(solver)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("graph", [path(150), star(70), clique(40), prepare(grid(9))], ids=str)
def test_deep_and_wide_trees(device: Device, where: str, graph: Graph) -> None:
    with Solver(graph, "phast", place(where, device)) as solver:
        check_all(solver)


@pytest.mark.parametrize("where", PLACES)
def test_streets_with_turn_costs_and_several_submissions(
    device: Device, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, rng = prepare(read_graph(DATA / "andorra.osm.pbf")), np.random.default_rng(4)
    sources = np.repeat(rng.integers(0, graph.num_nodes, 6), 450)
    targets = rng.integers(0, graph.num_nodes, len(sources))
    mixed = rng.permutation(len(sources))
    with Solver(graph, "phast", place(where, device)) as solver:
        found = solver.pairs(sources[mixed], targets[mixed])
        for source in np.unique(sources):
            of = sources[mixed] == source
            assert np.array_equal(found[of], scipy_dijkstra(graph, int(source))[targets[mixed][of]])
        monkeypatch.setattr(label_pairs, "PIECE", 1000)
        monkeypatch.setattr(cpu_labels, "FEWEST_PAIRS", 1000)
        for count in (2700, 30, 1999):
            assert np.array_equal(solver.pairs(sources[mixed][:count], targets[mixed][:count]), found[:count])


@pytest.mark.parametrize("where", PLACES)
def test_distances_that_may_not_fit_are_searched(device: Device, where: str) -> None:
    far = 2**31 - 9
    graph = prepare(Graph.from_edges([0, 1, 1, 2, 3], [1, 0, 2, 3, 3], [far, 7, far, 6, 1]))
    with Solver(graph, "phast", place(where, device)) as solver:
        searched.clear()
        assert solver.pairs([0, 1, 2, 3], [2, 0, 3, 0]).tolist() == [2 * far, 7, 6, UNREACHABLE]
        assert searched
        with pytest.raises(DistanceOverflowError):
            solver.set_weights([UNREACHABLE - 2], [3])
            solver.pairs([0, 0], [1, 3])
        solver.set_weights([5, 6, 7], [0, 2, 3])
        check_all(solver)


@pytest.mark.parametrize("where", PLACES)
def test_memory_is_bounded(device: Device, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(40))
    for budget, share, are_used in ((0, 1.0, False), (None, 0.0, False), (1, 0.0, True), (None, 0.25, True)):
        for module in (device_labels, cpu_labels):
            monkeypatch.setattr(module, "MOST_MEMORY", share)
        with Solver(graph, "phast", place(where, device), label_mib=budget) as solver:
            assert solver.distance(5, 1000) == scipy_dijkstra(graph, 5)[1000]  # makes what searches of pairs need
            searched.clear()
            before = solver.memory_bytes
            assert solver.pairs([5, 7, 9], [1000, 0, 3])[0] == scipy_dijkstra(graph, 5)[1000]
            assert (not searched) == are_used and (solver.memory_bytes - before > 1 << 17) == are_used


def test_rows_beyond_numbers_of_32_bits_are_no_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CpuDevice, "free_bytes", lambda _: 2**60)
    graph = prepare(grid(9))
    with Solver(graph, "phast", "cpu", label_mib=1 << 24) as solver:
        monkeypatch.setattr(label_layout_of(solver.session.renumbered.hierarchy), "units", 2**32)
        searched.clear()
        assert solver.pairs([3, 4], [70, 3]).tolist() == [heap_dijkstra(graph, 3)[70], heap_dijkstra(graph, 4)[3]]
        assert searched


@pytest.mark.parametrize("where", PLACES)
def test_labels_are_made_when_they_pay(device: Device, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (device_labels, cpu_labels):
        monkeypatch.setattr(module, "PAIRS_A_NODE", (2.0, 1.0))
    graph = prepare(grid(5))
    with Solver(graph, "phast", place(where, device)) as solver:

        def asks(count: int) -> bool:
            """Return whether pairs are searched."""
            searched.clear()
            found = solver.pairs(np.zeros(count, int), np.arange(count) % 25)
            assert np.array_equal(found, heap_dijkstra(solver.graph, 0)[np.arange(count) % 25])
            return bool(searched)

        assert [asks(count) for count in (30, 19, 1, 1)] == [True, True, False, False]
        for factor in (2, 3):
            solver.set_weights(graph.weight * np.uint32(factor))
            assert [asks(count) for count in (24, 1, 2)] == [True, False, False]


@pytest.mark.parametrize("where", PLACES)
def test_threads_and_clones_share_labels(device: Device, where: str) -> None:
    graph, wrong = prepare(grid(15)), []
    nodes = np.random.default_rng(0).integers(0, graph.num_nodes, (2, 950))
    exact = np.stack([heap_dijkstra(graph, node) for node in range(graph.num_nodes)])[nodes[0], nodes[1]]

    def ask(solver: Solver) -> None:
        for _ in range(3):
            factor = solver.graph.weight[0] // graph.weight[0]
            if not np.array_equal(solver.pairs(*nodes), factor * exact):
                wrong.append(solver)

    with Solver(graph, "phast", place(where, device)) as solver, solver.clone() as clone:
        for factor in (1, 4):
            solver.set_weights(graph.weight * np.uint32(factor))
            threads = [threading.Thread(target=ask, args=(one,)) for one in (solver, clone, clone)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert not wrong


def test_a_device_without_room_searches(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, limits = prepare(grid(40)), device.limits
    exact = scipy_dijkstra(graph, 3)[[4, 1599]]
    failures = (
        replace(limits, storage_buffers=21),
        replace(limits, storage_range=device_labels.bytes_of(LabelLayout(graph.hierarchy), is_symmetric=True) // 9),  # type: ignore[arg-type]
    )
    for few in failures:
        with Solver(graph, "phast", device) as solver, monkeypatch.context() as patch:
            solver.distance(0, 1)
            patch.setattr(device, "limits", few)
            searched.clear()
            assert np.array_equal(solver.pairs([3, 3], [4, 1599]), exact)
            assert searched


def test_a_driver_that_fails_leaves_nothing(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(4))
    exact = heap_dijkstra(graph, 3)

    def run() -> None:
        with Solver(graph, "phast", device) as solver:
            for _ in range(2):
                assert np.array_equal(solver.pairs(np.full(16, 3), range(16)), exact)

    run()  # makes what all solvers on the device share
    assert fail_each_call(device, monkeypatch, run, compiles=False) > 100
