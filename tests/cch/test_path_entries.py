"""Paths to the root that are too long for shared memory, whose lowest nodes are kept in the device's memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.cch.test_split_hierarchies import check_questions
from tests.cch.test_unpack import same_paths
from tests.conftest import open_device
from tests.support.graphs import grid, heap_dijkstra
from vkssp import Graph, Solver, prepare
from vkssp.cch import path_entries
from vkssp.cch.path_entries import PathEntries
from vkssp.gpu.device import Device
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.graph.hierarchy import Hierarchy


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep few entries in shared memory, and let few workgroups take turns."""
    whole = PathEntries.__init__

    def make(self: PathEntries, device: Device, hierarchy: Hierarchy, words: int, fixed_bytes: int = 0) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device, "limits", replace(device.limits, shared_memory=fixed_bytes + 4 * words * 5))
            whole(self, device, hierarchy, words, fixed_bytes)
        assert self.constants[path_entries.HEIGHT_CONSTANT] > 5

    monkeypatch.setattr(PathEntries, "__init__", make)
    monkeypatch.setattr(path_entries, "MOST_BYTES", 1 << 13)


def test_all_questions(device: Device, short: None) -> None:
    graph = prepare(grid(61, low=0))
    with Solver(graph, "phast", device) as solver:
        check_questions(solver)
        solver.set_weights(graph.weight[::-1].copy())
        check_questions(solver)


def test_paths_are_those_of_other_algorithms(device: Device, short: None) -> None:
    rng = np.random.default_rng(2)
    same_paths(prepare(grid(12, low=1, high=4)), device, rng)
    # A supernode of more nodes than there are entries in shared memory.
    low, high = np.triu_indices(40, 1)
    same_paths(prepare(Graph.from_edges(low, high, 1 + low % 3, undirected=True)), device, rng)


def test_a_device_with_little_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = np.triu_indices(300, 1)
    graph = prepare(Graph.from_edges(low, high, low + high, undirected=True))
    exact = heap_dijkstra(graph, 3)
    monkeypatch.setenv(MASK_VARIABLE, "shared_memory=4300")
    with open_device() as opened, Solver(graph, device=opened) as solver:
        assert solver.algorithm == "phast" and 16 * graph.num_nodes > opened.limits.shared_memory
        assert np.array_equal(solver.distances(3), exact)
        assert [solver.distance(3, target) for target in (0, 30, 299)] == exact[[0, 30, 299]].tolist()
        assert solver.path(3, 299).weight == exact[299]
