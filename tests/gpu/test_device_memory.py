"""What searches need on a device is known, and refused if it is too much, before any of it is taken."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import ON_DEVICE, make_solver
from tests.support.memory_needs import record_needs
from vkssp import DeviceError, Graph, Solver
from vkssp.generate import rmat, road_grid
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device

GRAPHS = {"road": road_grid(300), "rmat": rmat(13)}
# A hierarchy of the second one would have a thousand arcs for each node.
SUITED = [(algorithm, name) for algorithm in ON_DEVICE for name in GRAPHS if algorithm != "phast" or name != "rmat"]
# Beside arrays of the graph's size: states, terminals, rings.
_SMALL = 300_000


@pytest.mark.parametrize(("algorithm", "name"), SUITED)
def test_needs_are_what_is_taken(device: Device, monkeypatch: pytest.MonkeyPatch, algorithm: str, name: str) -> None:
    needs = record_needs(monkeypatch)
    with make_solver(GRAPHS[name], algorithm, device) as solver:
        taken = solver.memory_bytes
        assert len(needs) == 1 and 0 <= taken - needs[0] < _SMALL
        # Another search on the same graph has the graph's arrays.
        with solver.clone():
            assert 0 <= solver.memory_bytes - taken - needs[1] < _SMALL
        if algorithm in ("near_far", "block_resident"):
            before = solver.memory_bytes
            solver.warm_up()
            assert solver.memory_bytes - before == pytest.approx(needs[2], abs=_SMALL)


def test_needs_of_blocks_whose_records_hold_few_arcs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Because weights are too heavy for them, or nodes have more arcs."""
    needs = record_needs(monkeypatch)
    road = GRAPHS["road"]
    tail = np.repeat(np.arange(20_000), 9)
    many = Graph.from_edges(tail, (tail + np.arange(len(tail)) % 9) % 20_000, np.full(len(tail), 7))
    for graph in (road.with_weights(road.weight + 2**24), many):
        needs.clear()
        with Solver(graph, "block_resident", device, reduction="none") as solver:
            assert 0 <= solver.memory_bytes - needs[0] < _SMALL < 12 * graph.num_arcs / 3


def test_needs_of_reduced_graphs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = record_needs(monkeypatch)
    graph = road_grid(100, shape_nodes=8)
    with Solver(graph, "block_resident", device, reduction="full") as solver:
        of_graph, of_search, of_core = needs
        assert 20 * graph.num_nodes < of_graph < 25 * graph.num_nodes  # that of the search is told of with it
        assert 0 <= solver.memory_bytes - of_graph - of_core < _SMALL and of_search == 4 * graph.num_nodes


@pytest.mark.parametrize(
    ("graph", "algorithm", "reduction", "at_most"),
    [
        ("road", "auto", "none", 1.2),
        ("road", "near_far", "none", 2.0),
        ("rmat", "auto", "none", 1.6),
        ("rmat", "near_far", "none", 1.2),
    ],
)
def test_a_search_takes_at_most_twice_what_its_graph_does(
    device: Device, graph: str, algorithm: str, reduction: str, at_most: float
) -> None:
    """A graph takes 4 bytes for each node and 8 for each arc."""
    whole = GRAPHS[graph]
    with Solver(whole, algorithm, device, reduction=reduction) as solver:
        own = 4 * whole.num_nodes + 8 * whole.num_arcs
        assert solver.memory_bytes - _SMALL <= at_most * own
        solver.warm_up()
        assert solver.memory_bytes - _SMALL <= 3.25 * own, "with the graph once more, by heads, and the walk"


@pytest.mark.parametrize(("algorithm", "graph"), [*(("auto", name) for name in GRAPHS), *SUITED])
def test_too_much_is_refused_before_any_is_taken(
    device: Device, monkeypatch: pytest.MonkeyPatch, algorithm: str, graph: str
) -> None:
    made: list[str] = []
    make = Buffer.__init__

    def watched(self: Buffer, *args: Any, **options: Any) -> None:
        made.append(options.get("name", ""))
        make(self, *args, **options)

    monkeypatch.setattr(Buffer, "__init__", watched)
    monkeypatch.setattr(Device, "available", lambda device, kind: 100_000)
    owned = set(device.owned)
    with pytest.raises(
        DeviceError, match=r"needs 0\.\d+ GiB and .* has 0\.00 available; close other programs"
    ) as error:
        Solver(GRAPHS[graph], algorithm, device)
    assert not made and set(device.owned) == owned
    assert algorithm == "auto" or re.match(algorithm, str(error.value))


def test_a_bound_that_is_found_at_once_refuses_nothing(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is more than there is, the exact number counts."""
    needs = record_needs(monkeypatch)
    algorithms = ("block_resident", "bellman_ford_edge")
    for algorithm in algorithms:
        make_solver(GRAPHS["road"], algorithm, device).close()
    exact = list(needs)
    for algorithm, need in zip(algorithms, exact, strict=True):
        needs.clear()
        monkeypatch.setattr(Device, "free_bytes", lambda device, need=need: int(1.2 * need))
        make_solver(GRAPHS["road"], algorithm, device).close()
        assert needs == [need], "the bound is more than that"
    monkeypatch.undo()
    monkeypatch.setattr(Device, "free_bytes", lambda device: exact[0] + 1)
    with make_solver(GRAPHS["road"], "block_resident", device) as solver:
        assert len(solver.distances(0)) == GRAPHS["road"].num_nodes


def test_an_empty_graph_needs_nothing(device: Device) -> None:
    for algorithm in ON_DEVICE:
        make_solver(Graph.from_edges([], [], [], num_nodes=1), algorithm, device).close()
