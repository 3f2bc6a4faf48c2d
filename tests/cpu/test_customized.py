"""Customization on the CPU, beside an elimination arc by arc, and searches in what it makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, heap_dijkstra, random_graphs
from vkssp import UNREACHABLE, Graph, RenumberedGraph, Solver, prepare
from vkssp.cpu import customized, phast
from vkssp.cpu.customized import CustomizedHierarchy, Layout
from vkssp.cpu.device import CpuGraph
from vkssp.graph.hierarchy import Hierarchy


def eliminated(hierarchy: Hierarchy, graph: Graph) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """Return the weights upward and downward of each arc of a hierarchy, (lower, upper), by eliminating each node."""
    up: dict[tuple[int, int], int] = {}
    down: dict[tuple[int, int], int] = {}
    rank = hierarchy.rank.tolist()
    for tail, head, weight in zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True):
        low, high = max(rank[tail], rank[head]), min(rank[tail], rank[head])
        if low != high:
            side = up if rank[tail] == low else down
            side[low, high] = min(side.get((low, high), UNREACHABLE), weight)
    for node in range(hierarchy.num_nodes - 1, -1, -1):
        above = sorted({high for low, high in (*up, *down) if low == node})
        for upper in above:
            for lower in above:
                if upper < lower:
                    there = down.get((node, lower), UNREACHABLE) + up.get((node, upper), UNREACHABLE)
                    back = down.get((node, upper), UNREACHABLE) + up.get((node, lower), UNREACHABLE)
                    up[lower, upper] = min(up.get((lower, upper), UNREACHABLE), there)
                    down[lower, upper] = min(down.get((lower, upper), UNREACHABLE), back)
    return up, down


def weights_of(made: CustomizedHierarchy, hierarchy: Hierarchy) -> tuple[dict[tuple[int, int], int], ...]:
    """Return the finite weights that were made, in the same form."""
    found: tuple[dict[tuple[int, int], int], ...] = ({}, {})
    for group in range(hierarchy.num_supernodes):
        arc, first, end = int(hierarchy.first_arc[group]), *hierarchy.first_node[group : group + 2].tolist()
        outside = hierarchy.ancestor[slice(*hierarchy.first_ancestor[group : group + 2].tolist())].tolist()
        for node in range(first, end):
            for upper in (*outside, *range(first, node)):
                for values, side in zip((made.up, made.down), found, strict=True):
                    if values[arc] != UNREACHABLE:
                        side[node, upper] = int(values[arc])
                arc += 1
    return found


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even small hierarchies into subtrees, for three cores."""
    monkeypatch.setattr(customized, "FEW_ARCS", 0)
    for module in (customized, phast):
        monkeypatch.setattr(module, "num_cores", lambda: 3)


@given(random_graphs(max_nodes=40))
@settings(max_examples=EXAMPLES)
def test_weights_are_those_of_an_elimination(graph: Graph) -> None:
    hierarchy = prepare(graph).hierarchy
    assert hierarchy is not None
    expected = [{arc: w for arc, w in side.items() if w < UNREACHABLE} for side in eliminated(hierarchy, graph)]
    made = CustomizedHierarchy(Layout(hierarchy), graph)
    assert list(weights_of(made, hierarchy)) == expected
    assert made.heaviest == max([0, *expected[0].values(), *expected[1].values()])


def test_subtrees_make_the_same_weights(cut: None) -> None:
    graph = prepare(grid(40, seed=3))
    assert graph.hierarchy is not None
    layout = Layout(graph.hierarchy)
    assert len(layout.subtrees) > 5
    upper, parts = layout.postorder_parts
    assert sorted([*upper.tolist(), *(group for part in parts for group in part[:-1].tolist())]) == [
        *range(layout.num_supernodes)
    ]
    expected = eliminated(graph.hierarchy, graph)
    made = weights_of(CustomizedHierarchy(layout, graph), graph.hierarchy)
    assert made == tuple({arc: w for arc, w in side.items() if w < UNREACHABLE} for side in expected)
    with Solver(graph, "phast", "cpu") as solver:
        for source in (0, 777, 1599):
            assert np.array_equal(solver.distances(source), heap_dijkstra(graph, source))


def test_other_weights_and_other_graphs_share_a_layout() -> None:
    graph = prepare(grid(12))
    assert graph.hierarchy is not None
    layout = customized.layout_of(graph.hierarchy)
    assert customized.layout_of(graph.hierarchy) is layout
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = graph.with_weights(rng.integers(0, 1000, graph.num_arcs))
        assert layout.given_arcs(other) is layout.given_arcs(graph)
        found = weights_of(CustomizedHierarchy(layout, other), graph.hierarchy)
        sides = eliminated(graph.hierarchy, other)
        assert found == tuple({arc: w for arc, w in side.items() if w < UNREACHABLE} for side in sides)


@pytest.mark.parametrize("mark", [2**32 - 3, 2**32 - 2, 2**32 - 1])
def test_numbers_of_searches_begin_anew(mark: int) -> None:
    graph = prepare(grid(8))
    renumbered = RenumberedGraph(graph, "hierarchy")
    with CpuGraph(renumbered) as on_cpu, phast.PhastCpu(on_cpu) as search:
        expected = {node: heap_dijkstra(graph, node) for node in range(64)}
        numbered = phast.NumberedLabels(customized.layout_of(renumbered.hierarchy))
        numbered.mark = np.uint32(mark)
        begun = [int(numbered.begin(2)) for _ in range(3)]
        assert all(0 <= number <= 2**32 - 3 for number in begun)
        # Old numbers in the labels must not be taken for new ones.
        search.search([(int(renumbered.node[3]), 0)])
        assert np.array_equal(search.read()[renumbered.node], expected[3])
        search.numbered.mark = np.uint32(mark)
        for node in range(5):
            search.search([(int(renumbered.node[node]), 0)], [(int(renumbered.node[60]), 0)])
            assert np.array_equal(search.read()[renumbered.node], expected[node])


@given(random_graphs(max_nodes=50), st.integers(0, 2**32 - 1))
@settings(max_examples=EXAMPLES)
def test_pairs_and_paths(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = prepare(graph)
    sources, targets = rng.integers(0, graph.num_nodes, (2, 30))
    with Solver(graph, "phast", "cpu") as solver, Solver(graph, "dijkstra", "cpu") as other:
        expected = np.array([heap_dijkstra(graph, int(s))[t] for s, t in zip(sources, targets, strict=True)])
        assert np.array_equal(solver.pairs(sources, targets), expected)
        for source, target, distance in zip(sources.tolist(), targets.tolist(), expected.tolist(), strict=True):
            assert solver.distance(source, target) == distance
            if distance < UNREACHABLE:
                assert np.array_equal(solver.path(source, target).arcs, other.path(source, target).arcs)


def test_an_interrupt_of_customization_is_what_the_caller_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(4))

    def interrupted(_: CpuGraph) -> CustomizedHierarchy:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(phast, "customized_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Solver(graph, "phast", "cpu")
    with Solver(graph, "phast", "cpu") as solver:
        solver.set_weights(graph.weight + 1)
        with monkeypatch.context() as patch:
            patch.setattr(phast, "customized_of", interrupted)
            with pytest.raises(KeyboardInterrupt):
                solver.distances(0)
        assert np.array_equal(solver.distances(0), heap_dijkstra(solver.graph, 0))
