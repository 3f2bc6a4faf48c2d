"""Many pairs by labels of their nodes alone, on a device, beside Dijkstra's algorithm."""

from __future__ import annotations

from collections.abc import Iterator
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
from vkssp.cch import query_labels, query_pairs
from vkssp.cch.pairs import Pairs
from vkssp.gpu.device import Device
from vkssp.hierarchy.preorder import preorder_of

#: Number of pairs of each search of pairs.
searched: list[int] = []


@pytest.fixture(scope="module", autouse=True)
def always(device: Device) -> Iterator[None]:
    """Let labels answer any number of pairs, and count searches of pairs."""
    search = Pairs.find

    def counted(self: Pairs, pairs: np.ndarray, kept: int = 0) -> Any:
        searched.append(len(pairs))
        return search(self, pairs, kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(device.tuned, "query_pairs.fewest_pairs", 0)
        patch.setattr(Pairs, "find", counted)
        yield


def check_all(solver: Solver) -> None:
    """Compare the distances of all pairs of nodes."""
    graph = solver.graph
    order = np.random.default_rng(0).permutation(graph.num_nodes**2)
    sources, targets = (nodes.reshape(-1)[order] for nodes in np.indices((graph.num_nodes, graph.num_nodes)))
    exact = np.concatenate([heap_dijkstra(graph, source) for source in range(graph.num_nodes)])[order]
    searched.clear()
    assert np.array_equal(solver.pairs(sources, targets), exact)
    assert not searched


def of_searches(graph: Graph, device: Device) -> Solver:
    """Return a solver that has no labels of all nodes."""
    return Solver(graph, "phast", device, label_mib=0)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    graph=random_graphs(max_nodes=40),
    seed=st.integers(0, 2**32 - 1),
    most=st.sampled_from([5, 64, 10**4]),
    room=st.sampled_from([8, 9, 512]),
)
def test_random_graphs_with_weights_that_change(device: Device, graph: Graph, seed: int, most: int, room: int) -> None:
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_pairs, "MOST_PAIRS", most)
        patch.setattr(query_labels, "ROOM", room)
        with of_searches(prepare(graph), device) as solver:
            check_all(solver)
            if not graph.num_arcs:
                return
            changed = np.unique(rng.integers(0, graph.num_arcs, 1 + graph.num_arcs // 3))
            solver.set_weights(rng.integers(0, 9, len(changed)) ** rng.integers(0, 4), changed)
            check_all(solver)


def forest() -> Graph:
    """Return several components, two of which are single nodes."""
    parts = [grid(5), grid(3), star(4)]
    first = np.cumsum([0, *(part.num_nodes for part in parts)])
    arcs = [(part.tail + begin, part.head + begin, part.weight) for part, begin in zip(parts, first, strict=False)]
    return prepare(Graph.from_edges(*map(np.concatenate, zip(*arcs, strict=True)), num_nodes=int(first[-1]) + 2))


@pytest.mark.parametrize("graph", [path(90), star(70), clique(60), prepare(grid(9)), forest()], ids=str)
@pytest.mark.parametrize("tile", [(8, 64), (32, 64), (4, 7)])
def test_deep_and_wide_trees(
    device: Device, graph: Graph, tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip(("rows", "size"), tile, strict=True):
        monkeypatch.setitem(device.tuned, f"query_labels.few_{name}", value)
    monkeypatch.setattr(query_labels, "ROOM", 40)  # fewer than the quadruples of a large supernode
    with of_searches(graph, device) as solver:
        check_all(solver)


def test_streets_with_turn_costs(device: Device) -> None:
    graph, rng = prepare(read_graph(DATA / "andorra.osm.pbf")), np.random.default_rng(4)
    sources = np.repeat(rng.integers(0, graph.num_nodes, 6), 450)
    targets = rng.integers(0, graph.num_nodes, len(sources))
    mixed = rng.permutation(len(sources))
    with of_searches(graph, device) as solver:
        found = solver.pairs(sources[mixed], targets[mixed])
        for source in np.unique(sources):
            of = sources[mixed] == source
            assert np.array_equal(found[of], scipy_dijkstra(graph, int(source))[targets[mixed][of]])
        for count in (30, 1999):
            assert np.array_equal(solver.pairs(sources[mixed][:count], targets[mixed][:count]), found[:count])


def test_distances_that_may_not_fit_are_searched(device: Device) -> None:
    far = 2**31 - 9
    graph = prepare(Graph.from_edges([0, 1, 1, 2, 3], [1, 0, 2, 3, 3], [far, 7, far, 6, 1]))
    with of_searches(graph, device) as solver:
        searched.clear()
        assert solver.pairs([0, 1, 2, 0], [2, 0, 3, 1]).tolist() == [2 * far, 7, 6, far]
        assert not searched  # what is found fits
        assert solver.pairs([0, 1, 3], [2, 0, 0]).tolist() == [2 * far, 7, UNREACHABLE]
        assert searched == [1]
        solver.set_weights([UNREACHABLE - 2], [3])
        with pytest.raises(DistanceOverflowError):
            solver.pairs([0, 0], [1, 3])
        assert solver.pairs([0, 2], [1, 3]).tolist() == [far, UNREACHABLE - 2]


@pytest.mark.parametrize("part", range(3))
def test_sums_that_overflow_anywhere_are_noticed(device: Device, part: int) -> None:
    """A long path overflows on the way up, on the way down, or where the two meet."""
    graph = path(30)
    weight = np.ones(graph.num_arcs, np.int64)
    heavy = {0: (2, 3), 1: (25, 26), 2: (2, 26)}[part]
    for node in heavy:
        weight[(np.minimum(graph.tail, graph.head) == node)] = 2**31
    graph = replace(graph, weight=weight.astype(np.uint32))
    with of_searches(graph, device) as solver:
        for pair in ((0, 29), (29, 0)):
            with pytest.raises(DistanceOverflowError):
                solver.pairs([5, pair[0]], [6, pair[1]])
        assert solver.pairs([5, 6], [6, 5]).tolist() == [1, 1]


def test_labels_in_buffers_of_few_bytes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "limits", replace(device.limits, storage_range=1 << 16))
    with of_searches(star(40), device) as solver:
        check_all(solver)


def test_limits_that_do_not_allow_labels(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, limits = prepare(grid(20)), device.limits
    exact = scipy_dijkstra(graph, 3)[[4, 399]]
    with of_searches(graph, device) as solver:
        solver.distance(0, 1)
        for few, is_searched in (
            (replace(limits, storage_buffers=19), True),
            (replace(limits, workgroup_size=128), False),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(device, "limits", few)
                searched.clear()
                assert np.array_equal(solver.pairs([3, 3], [4, 399]), exact)
                assert bool(searched) == is_searched


def test_preorder_of_a_tree(device: Device) -> None:
    for graph in (prepare(grid(9)), forest(), path(20)):
        hierarchy = graph.hierarchy
        assert hierarchy is not None
        place = preorder_of(hierarchy).astype(np.int64)
        parent = np.arange(-1, hierarchy.num_nodes - 1)
        parent[hierarchy.first_node[:-1]] = hierarchy.parent
        size = np.ones(hierarchy.num_nodes, np.int64)
        for rank in range(hierarchy.num_nodes - 1, -1, -1):
            if parent[rank] >= 0:
                size[parent[rank]] += size[rank]
                assert place[parent[rank]] < place[rank]
        assert np.array_equal(np.sort(place), np.arange(hierarchy.num_nodes))
        below = parent >= 0
        assert (place[below] + size[below] <= place[parent[below]] + size[parent[below]]).all()


def test_a_driver_that_fails_leaves_nothing(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(4))
    exact = heap_dijkstra(graph, 3)

    def run() -> None:
        with of_searches(graph, device) as solver:
            for _ in range(2):
                assert np.array_equal(solver.pairs(np.full(16, 3), range(16)), exact)

    run()  # makes what all solvers on the device share
    assert fail_each_call(device, monkeypatch, run, compiles=False) > 100
