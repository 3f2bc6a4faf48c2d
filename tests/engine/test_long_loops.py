"""Devices that end long loops before their time: llvmpipe does so after 65 535 rounds, and says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import DATA
from tests.support.graphs import ON_DEVICE, class_of, grid, scipy_dijkstra
from vkssp import DeviceError, Graph, Solver, generate, read_graph
from vkssp.engine.device_algorithm import DeviceAlgorithm
from vkssp.engine.loop import Loop
from vkssp.gpu.device import Device

# Without those that have no loop over iterations.
LOOPING = [name for name in ON_DEVICE if issubclass(class_of(name), DeviceAlgorithm)]
# Those that go over all nodes for each different distance or each node take too long on graphs of this size.
QUICK = [name for name in LOOPING if name != "dijkstra_scan" and not name.startswith("martin")]


def cut_short(monkeypatch: pytest.MonkeyPatch, count: int) -> list[int]:
    """Have the next loops say that they were cut short; return how many were left to do so before each loop."""
    run, left = Loop.run, []

    def cutting(self: Loop, *arguments: Any, **settings: Any) -> Any:
        left.append(max(0, count - len(left)))
        state, *rest = run(self, *arguments, **settings)
        state = state.copy()
        state["cut_short"] = left[-1] > 0
        return state, *rest

    monkeypatch.setattr(Loop, "run", cutting)
    return left


@pytest.mark.parametrize("algorithm", QUICK)
def test_a_node_of_300_000_arcs(device: Device, algorithm: str) -> None:
    leaves = np.arange(1, 300_001)
    weight = np.random.default_rng(1).integers(1, 1000, len(leaves))
    with Solver(Graph.from_edges(np.zeros(len(leaves), int), leaves, weight), algorithm, device) as solver:
        try:
            found = solver.distances(0)
        except DeviceError as error:
            assert device.info.kind == "cpu" and "choose another device or an algorithm that runs on the CPU" in str(
                error
            )
        else:
            assert np.array_equal(found, np.concatenate([[0], weight]))


@pytest.mark.parametrize("algorithm", QUICK)
def test_a_graph_of_half_a_million_arcs(device: Device, algorithm: str) -> None:
    graph = generate.rmat(15, 16)
    expected = scipy_dijkstra(graph, 0)
    with Solver(graph, algorithm, device) as solver:
        assert np.array_equal(solver.distances(0), expected)
        assert np.array_equal(solver.distances(0), expected), "also with more workgroups from the beginning"


@pytest.mark.parametrize("algorithm", LOOPING)
def test_a_search_that_was_cut_short_is_repeated_with_more_workgroups(
    device: Device, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a device would do it: the first two searches say that a loop was ended."""
    graph = grid(36, seed=5)
    source = graph.num_nodes - 1  # in another block where blocks become larger
    expected = scipy_dijkstra(graph, source)
    with Solver(graph, algorithm, device, counters="trace") as solver:
        search = solver.session.algorithm()
        assert isinstance(search, DeviceAlgorithm)
        cut = cut_short(monkeypatch, 2)
        assert np.array_equal(solver.distances(source), expected)
        assert cut == [2, 1, 0] and search.more_groups == 64
        assert solver.last is not None and len(solver.trace()) == solver.last.counters["iterations"]
        assert np.array_equal(solver.distances(source), expected)
        route = solver.path(source, 143)
        assert route.weight == expected[143]
        assert search.more_groups == 64 and len(cut) == 5, "later searches need no repetition"


def test_workgroups_that_were_asked_for_are_kept(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with Solver(grid(5), "bellman_ford", device, workgroups=2) as solver:
        cut = cut_short(monkeypatch, 1)
        with pytest.raises(DeviceError, match="set more workgroups, or choose another device"):
            solver.distance(0, 24)
        assert cut == [1]
        assert solver.distance(0, 24) == scipy_dijkstra(grid(5), 0)[24]


def test_default_routes_on_a_real_graph_need_no_repetition(device: Device) -> None:
    with Solver(read_graph(DATA / "andorra.osm.pbf"), device=device) as solver:
        solver.distances(3)
        search = solver.session.algorithm()
        assert isinstance(search, DeviceAlgorithm) and search.more_groups == 1
