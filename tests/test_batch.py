"""Many searches at once are as good as one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.graphs import grid, random_graphs, scipy_dijkstra
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, Solver
from vkssp.generate import road_grid
from vkssp.gpu.device import Device
from vkssp.solvers import batch as batch_module
from vkssp.solvers.batch import Batch, SearchesAtOnce


def table(solver: Solver, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.concatenate(list(solver.table(sources, targets)))


@settings(max_examples=max(5, EXAMPLES // 3))
@given(graph=random_graphs(), data=st.data())
def test_any_graph(device: Device, graph: Graph, data: st.DataObject) -> None:
    nodes = st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=9)
    sources, targets = (np.array(data.draw(nodes)) for _ in range(2))
    options = {
        "reduction": data.draw(st.sampled_from(["none", "full"])),
        "block": data.draw(st.sampled_from([1, 8, 64])),
        "delta": data.draw(st.sampled_from([None, 1, 40])),
        "workgroups": data.draw(st.sampled_from([1, None])),
    }
    expected = np.stack([scipy_dijkstra(graph, source)[targets] for source in sources.tolist()])
    with pytest.MonkeyPatch.context() as patch, Solver(graph, "block_resident", device, **options) as solver:
        patch.setattr(batch_module, "MOST_ON_CPU", data.draw(st.sampled_from([1, 3, 64])))
        assert np.array_equal(table(solver, sources, targets), expected)


@pytest.mark.parametrize("reduction", ["none", "full"])
def test_a_road_network_with_many_searches(device: Device, monkeypatch: pytest.MonkeyPatch, reduction: str) -> None:
    monkeypatch.setattr(batch_module, "MOST_ON_CPU", 32)
    graph = road_grid(40, shape_nodes=4)
    rng = np.random.default_rng(3)
    sources, targets = rng.integers(0, graph.num_nodes, (2, 50))
    expected = np.stack([scipy_dijkstra(graph, source)[targets] for source in sources.tolist()])
    runs: list[int] = []
    search_all = SearchesAtOnce.search_all
    monkeypatch.setattr(
        SearchesAtOnce, "search_all", lambda self, groups: runs.append(len(groups)) or search_all(self, groups)
    )
    with Solver(graph, "block_resident", device, reduction=reduction) as solver:
        assert np.array_equal(table(solver, sources, targets), expected)
        everything = np.arange(graph.num_nodes)
        assert np.array_equal(table(solver, sources[:3], everything)[:, targets], expected[:3])
    assert runs == [32, 18, 3]


def test_seeds_with_offsets_and_rows_without_any(device: Device) -> None:
    graph = grid(20, seed=5)
    nodes = np.array([7, 0, 399, 7], np.uint32)
    groups = [[(3, 50), (200, 0)], [], [(5, 9)], [(3, 1), (3, 0)]]
    expected = [
        np.min([scipy_dijkstra(graph, node).astype(np.int64)[nodes] + offset for node, offset in seeds], axis=0)
        if seeds
        else np.full(4, UNREACHABLE)
        for seeds in groups
    ]
    for reduction in ("none", "full"):
        with Solver(graph, "block_resident", device, reduction=reduction) as solver:
            found = np.concatenate(list(solver.rows(graph, groups, nodes)))
            assert np.array_equal(found, expected)
            assert not any(isinstance(part, Batch) for part in solver._shared.graph._owned.values())


def test_sums_that_do_not_fit_matter_only_where_they_are_asked_for(device: Device) -> None:
    largest = 2**32 - 2
    graph = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [largest - 5, 3, 9, 1, 1])
    for reduction in ("none", "full"):
        with Solver(graph, "block_resident", device, reduction=reduction) as solver:
            assert table(solver, np.array([0, 1]), np.array([1, 2])).tolist() == [[largest - 5, largest - 2], [0, 3]]
            with pytest.raises(DistanceOverflowError):
                table(solver, np.array([1, 0]), np.array([3]))


@pytest.mark.parametrize("reduction", ["none", "full"])
def test_as_many_at_once_as_memory_allows(device: Device, monkeypatch: pytest.MonkeyPatch, reduction: str) -> None:
    monkeypatch.setattr(batch_module, "MOST_ON_CPU", 1000)
    graph = grid(30, seed=2)
    sources, targets = np.arange(20), np.arange(10)
    expected = np.stack([scipy_dijkstra(graph, source)[targets] for source in sources.tolist()])
    made: list[int] = []
    make = Batch.__init__
    monkeypatch.setattr(Batch, "__init__", lambda self, *args: made.append(args[2]) or make(self, *args))
    with Solver(graph, "block_resident", device, reduction=reduction) as solver:
        assert np.array_equal(table(solver, sources, targets), expected) and made == [20]
        nodes = solver.core_nodes or graph.num_nodes
        each = 8 * nodes + 12 * len(targets) * (2 if reduction == "full" else 1)
        for fitting in (5, 1, 0):
            monkeypatch.setattr(Device, "free_bytes", lambda device, fitting=fitting: 10**9 if fitting > 1 else 10**8)
            monkeypatch.setattr(batch_module, "MOST_MEMORY", (fitting + 0.5) * each / (10**9 if fitting > 1 else 10**8))
            assert np.array_equal(table(solver, sources, targets), expected)
    assert made == [20, 5], "one at a time needs no batch"
