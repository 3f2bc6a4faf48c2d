"""Partial customization on a device, beside a customization of all arcs, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.cch.test_customization import dense
from tests.support.graphs import grid, heap_dijkstra
from vkssp import UNREACHABLE, DeviceError, Graph, Solver, prepare
from vkssp.algorithms.phast import hierarchy_of
from vkssp.cch import customized, fronts, recustomized, topology
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.recustomized import PartialCustomization
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.device import Device


@pytest.fixture
def partly(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Customize small hierarchies partly, and list whether that was done."""
    done: list[bool] = []
    whole = PartialCustomization.customize

    def customize(self: PartialCustomization, *args: object) -> bool:
        done.append(whole(self, *args))  # type: ignore[arg-type]
        return done[-1]

    monkeypatch.setattr(PartialCustomization, "customize", customize)
    monkeypatch.setattr(recustomized, "FEWEST_ARCS", 0)
    monkeypatch.setattr(recustomized, "MOST_WORK", 1)
    monkeypatch.setattr(recustomized, "SHARE", 1)
    monkeypatch.setattr(recustomized, "SLICE", 2)
    yield done


def on_device(solver: Solver) -> CustomizedHierarchy:
    graph = solver.session.shared.graph
    assert isinstance(graph, DeviceGraph)
    return hierarchy_of(graph)


def state(solver: Solver) -> list[np.ndarray]:
    """Return weights of arcs, ranges of downward arcs, and these arcs."""
    made = on_device(solver)
    assert not made.saturated
    ranges, arcs = made.downward_arcs()
    used = np.concatenate([np.arange(first, first + count) for first, count in ranges.astype(np.int64)])
    return [made.weights.read(np.uint32, 2 * made.hierarchy.num_arcs), ranges, arcs[used]]


def check(solver: Solver, other: Solver) -> None:
    """Compare a hierarchy with one of which all arcs are customized for the same weights."""
    graph = on_device(other)
    graph.customize(solver.graph)
    assert all(np.array_equal(one, whole) for one, whole in zip(state(solver), state(other), strict=True))


def graphs() -> list[Graph]:
    return [prepare(grid(11, seed=4)), prepare(dense(np.random.default_rng(4)))]


@pytest.mark.parametrize(("number", "nodes", "words"), [(0, 32, 4096), (0, 2, 80), (1, 32, 4096), (1, 4, 80)])
def test_results_are_those_of_customizing_everything(
    device: Device, partly: list[bool], monkeypatch: pytest.MonkeyPatch, number: int, nodes: int, words: int
) -> None:
    # Supernodes with more nodes are divided, and few columns are in shared memory at a time.
    monkeypatch.setattr(fronts, "MOST_NODES", nodes)
    monkeypatch.setattr(fronts, "MOST_WORDS", words)
    monkeypatch.setattr(topology, "SOFTWARE_SPLITS", nodes // 2 or 1)
    # Several workgroups share the pairs of ancestors of a supernode.
    monkeypatch.setattr(fronts, "SOFTWARE_SHARES", 3 if nodes == 32 else 1)
    graph, rng = graphs()[number], np.random.default_rng(9)
    assert graph.hierarchy is not None
    rank = np.maximum(graph.hierarchy.rank[graph.tail], graph.hierarchy.rank[graph.head])  # of the lower end
    by_rank = np.argsort(rank)  # from the root on
    with Solver(graph, "phast", device) as solver, Solver(graph, "phast", device) as other:
        solver.set_weights(graph.weight[:1], [0])  # prepares partial customization
        check(solver, other)
        for turn in range(14):
            few, many = rng.integers(1, 9), min(24, graph.hierarchy.num_supernodes - 1)
            arcs = (
                *(rng.choice(graph.num_arcs, few, replace=False), by_rank[:few], by_rank[-few:]),
                rng.choice(graph.num_arcs, many, replace=False),
            )[turn % 4]
            before = solver.graph.weight[arcs].astype(np.int64)
            no_cycle = np.where(graph.tail[arcs] < graph.head[arcs], 0, before)
            weights = (before + 9, before // 2 + 1, no_cycle, 0 * before + 2**30, graph.weight[arcs])[turn % 5]
            # One of them twice.
            solver.set_weights([*weights, weights[0]], [*arcs, arcs[0]])
            check(solver, other)
        assert np.array_equal(solver.distances(5), heap_dijkstra(solver.graph, 5))
        assert solver.path(5, 30).weight == solver.distances(5)[30]
    assert partly == [True] * len(partly) and len(partly) > 10


def test_what_hangs_on_a_change_may_be_too_much(
    device: Device, partly: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graphs()[0]
    monkeypatch.setattr(recustomized, "LEAST_ROOM", 8)
    monkeypatch.setattr(recustomized, "ROOM_SHARE", 0)
    with Solver(graph, "phast", device) as solver, Solver(graph, "phast", device) as other:
        for weight in (3, 70, 1):
            solver.set_weights([weight], [40])
            check(solver, other)
        monkeypatch.setattr(recustomized, "MOST_CHANGED", 0)
        solver.set_weights([5], [41])
        check(solver, other)
    assert partly == [False] * 3


def test_sums_that_do_not_fit_are_customized_as_a_whole(device: Device, partly: list[bool]) -> None:
    graph = graphs()[0]
    with Solver(graph, "phast", device) as solver, Solver(graph, "phast", device) as other:
        solver.set_weights(graph.weight[:1], [0])
        solver.set_weights([UNREACHABLE - 1] * 4, [1, 2, 3, 4])
        assert on_device(solver).saturated
        solver.set_weights(graph.weight[1:5], [1, 2, 3, 4])
        check(solver, other)
    assert partly == [True]


def test_a_device_without_memory_for_it(device: Device, partly: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DeviceError("no memory is left")

    monkeypatch.setattr(customized, "PartialCustomization", fail)
    graph = graphs()[0]
    with Solver(graph, "phast", device) as solver, Solver(graph, "phast", device) as other:
        for weight in (3, 70):
            solver.set_weights([weight], [40])
            check(solver, other)
    assert not partly


def test_real_weights_in_another_unit(device: Device, partly: list[bool]) -> None:
    graph = grid(9, seed=6)
    graph = prepare(graph.with_weights(graph.weight / 7.0))
    with Solver(graph, "phast", device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        for weights in ([1.5, 2.5], [1e6, 1e-3], [0.5, 0.25]):
            for one in (solver, reference):
                one.set_weights(weights, [3, 30])
            assert np.allclose(solver.distances(2), reference.distances(2), rtol=1e-4)


def test_grids_gain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # The largest separators of a grid have most triangles; those of a long strip have few.
    tail = np.arange(5997)
    strip = Graph.from_edges(np.repeat(tail, 2), np.stack([tail + 1, tail + 3], axis=1).ravel(), [1] * 11994)
    for graph, is_saved in ((strip, True), (grid(40), False)):
        hierarchy = prepare(graph).hierarchy
        assert hierarchy is not None
        monkeypatch.setattr(recustomized, "FEWEST_ARCS", 0)
        assert recustomized.saves_work(hierarchy) == is_saved
        monkeypatch.setattr(recustomized, "FEWEST_ARCS", 1 << 22)
        assert not recustomized.saves_work(hierarchy)
