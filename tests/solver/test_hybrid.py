"""Solvers on a device with the CPU beside it: the same answers from either place, and the place that is expected."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.graphs import grid
from vkssp import DistanceOverflowError, Graph, NoRouteError, Solver
from vkssp.algorithms import choice
from vkssp.cpu.dijkstra import Dijkstra
from vkssp.errors import DeviceError
from vkssp.files import cache_folder
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE
from vkssp.hierarchy.prepare import prepare
from vkssp.solver.cost_measurement import measured_costs
from vkssp.solver.costs import HierarchyCosts, Line, SearchCosts, keep_costs, known_costs, table_work, upward_work

FREE, DEAR = Line(0.0, 0.0), Line(1e6, 1.0)


def searches(cpu: Line, device: Line, node_us: float = 1e-9) -> SearchCosts:
    return SearchCosts(cpu, device, node_us)


def queries(cpu: Line, device: Line, customize_us: float = 0.0) -> HierarchyCosts:
    return HierarchyCosts(*[cpu, device] * 4, cpu.each_us, device.each_us, customize_us)


@pytest.fixture
def machine(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[SearchCosts | HierarchyCosts], None]:
    """Let the device count as hardware, and return a function that sets the costs."""
    monkeypatch.setattr(choice, "hardware_devices", lambda: (device.info,))
    monkeypatch.delenv("VKSSP_DEVICE", raising=False)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    return lambda costs: keep_costs(device.info, costs)


def random_graph(seed: int, num_nodes: int = 60) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(*rng.integers(0, num_nodes, (2, 150)), rng.integers(0, 9, 150), num_nodes=num_nodes)


@pytest.mark.parametrize("faster", ["cpu", "device", "both"])
@pytest.mark.parametrize("is_prepared", [False, True])
def test_answers_are_the_same_from_both_places(
    machine: Callable[[Any], None], device: Device, is_prepared: bool, faster: str
) -> None:
    lines = (DEAR, FREE) if faster == "device" else (FREE, DEAR)
    machine(queries(*lines) if is_prepared else searches(*lines, node_us=1e9 if faster == "both" else 1e-9))
    expected = device.info.name if faster == "device" and is_prepared else None
    for seed in range(3):
        graph = random_graph(seed) if seed < 2 else grid(7)
        with Solver(graph, "dijkstra") as reference, Solver(prepare(graph) if is_prepared else graph) as solver:
            whole, half = reference.distances(3), int(np.median(reference.distances(3)))
            assert (solver.distances(3) == whole).all()
            assert solver.answered_by[0] == (device.info.name if faster == "device" else reference.device.info.name)
            assert (solver.distances(3, limit=half) == reference.distances(3, limit=half)).all()
            assert (solver.distances([(3, 5), (7, 0)]) == reference.distances([(3, 5), (7, 0)])).all()
            assert (solver.table([1, 2, 3]) == reference.table([1, 2, 3])).all()
            assert (solver.pairs([1, 2, 3], [9, 9, 8]) == reference.pairs([1, 2, 3], [9, 9, 8])).all()
            for one, other in zip((f := solver.nearest([5, 6], limit=half)).__dict__.items(), ()):
                assert one == other, f
            for target in range(0, graph.num_nodes, 7):
                assert solver.distance(3, target) == whole[target]
                if expected is not None:
                    assert solver.answered_by[0] == expected
                if whole[target] == UNREACHABLE:
                    with pytest.raises(NoRouteError):
                        solver.path(3, target)
                    continue
                found, wanted = solver.path(3, target), reference.path(3, target)
                assert (found.arcs == wanted.arcs).all() and found.weight == wanted.weight == whole[target]
                assert (found.device, found.algorithm) == solver.answered_by
