"""Partial customization on the CPU, beside a customization of all arcs, and the searches after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, heap_dijkstra, random_graphs
from vkssp import UNREACHABLE, Graph, Solver, prepare
from vkssp.cpu import customized
from vkssp.cpu.customized import CustomizedHierarchy, Layout
from vkssp.cpu.kernels.recustomize import MOST_BITS


def same(one: CustomizedHierarchy, other: CustomizedHierarchy) -> bool:
    """Return whether the weights of all arcs are the same."""
    count = one.layout.num_arcs
    sides = (one.up, other.up), (one.down, other.down)
    return all(np.array_equal(values[:count], others[:count]) for values, others in sides)


@pytest.fixture
def partial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Customize partly, however much hangs on the arcs that change."""
    monkeypatch.setattr(customized, "FEW_STEPS", 2**40)


def check_changes(graph: Graph, rng: np.random.Generator, values: list[int], rounds: int, most: int) -> None:
    """Change some weights again and again, and compare with a customization of all arcs."""
    assert graph.hierarchy is not None
    layout = Layout(graph.hierarchy)
    made = CustomizedHierarchy(layout, graph)
    for _ in range(rounds):
        arcs = rng.integers(0, graph.num_arcs, rng.integers(1, most + 1))  # perhaps one of them twice
        weight = graph.weight.copy()
        weight[arcs] = rng.choice(values, len(arcs))
        graph = graph.with_weights(weight)
        before, made = made, made.changed(graph, arcs)
        assert before.is_over and not made.is_over
        whole = CustomizedHierarchy(layout, graph)
        assert same(made, whole)
        assert made.heaviest >= whole.heaviest and made.saturated == whole.saturated


@given(random_graphs(max_nodes=40), st.integers(0, 2**32 - 1))
@settings(max_examples=EXAMPLES, deadline=None)
@pytest.mark.usefixtures("partial")
def test_weights_are_those_of_a_whole_customization(graph: Graph, seed: int) -> None:
    if graph.num_arcs:
        values = [0, 1, 2, 3, 1000, 2**31, UNREACHABLE - 1]
        check_changes(prepare(graph), np.random.default_rng(seed), values, 5, 6)


@pytest.mark.usefixtures("partial")
@pytest.mark.parametrize("cores", [1, 3])
def test_weights_of_a_grid(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(customized, "FEW_ARCS", 0)
    monkeypatch.setattr(customized, "ARCS_A_CORE", 1)
    monkeypatch.setattr(customized, "num_cores", lambda: cores)
    check_changes(prepare(grid(40, seed=5)), np.random.default_rng(5), [0, 1, 5, 9, 100, 10_000], 20, 30)


@pytest.mark.usefixtures("partial")
def test_more_ancestors_than_a_word_has_bits() -> None:
    rng = np.random.default_rng(8)
    graph = prepare(Graph.from_edges(*rng.integers(0, 90, (2, 2000)), rng.integers(0, 100, 2000), num_nodes=90))
    assert graph.hierarchy is not None and Layout(graph.hierarchy).longest > MOST_BITS
    check_changes(graph, rng, [0, 1, 9, 100], 8, 9)


def test_much_work_is_left_to_a_whole_customization(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(20, seed=2))
    assert graph.hierarchy is not None
    layout = Layout(graph.hierarchy)
    first = CustomizedHierarchy(layout, graph)
    doubled, every = graph.with_weights(2 * graph.weight), np.arange(graph.num_arcs)
    for each in (1, 2**30):  # it is given up on the way, and not begun
        monkeypatch.setattr(customized, "FEW_STEPS", graph.num_arcs)
        monkeypatch.setattr(customized, "STEPS_EACH", each)
        second = first.changed(doubled, every)
        assert first.is_over and same(second, CustomizedHierarchy(layout, doubled))
        first = CustomizedHierarchy(layout, graph)


def test_threads_share_the_lists_of_what_lies_below(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(20, seed=2))
    assert graph.hierarchy is not None
    layout = Layout(graph.hierarchy)
    made = CustomizedHierarchy(layout, graph)

    def run_all(tasks: Sequence[Callable[[], object]]) -> list[object]:
        assert "below" in vars(layout)  # otherwise each thread makes its own
        return [task() for task in tasks]

    monkeypatch.setattr(customized, "run_all", run_all)
    heavier = graph.weight.copy()
    heavier[:3] += 1
    changed = graph.with_weights(heavier)
    assert same(made.changed(changed, np.arange(3)), CustomizedHierarchy(layout, changed))


@pytest.mark.usefixtures("partial")
def test_answers_after_changes() -> None:
    graph = prepare(grid(16, seed=7))
    rng = np.random.default_rng(7)
    with Solver(graph, "phast", "cpu") as solver, Solver(graph, "dijkstra", "cpu") as other:
        for _ in range(6):
            arcs = rng.choice(graph.num_arcs, 5, replace=False)
            weights = rng.integers(0, 40, 5)
            for one in (solver, other):
                one.set_weights(weights, arcs)
            exact = heap_dijkstra(solver.graph, 17)
            assert np.array_equal(solver.distances(17), exact)
            assert solver.distance(17, 200) == solver.pairs([17], [200])[0] == exact[200]
            for target in (3, 130, 255):
                assert np.array_equal(solver.path(17, target).arcs, other.path(17, target).arcs)
        # A path of many walked ones is unpacked from the arcs of the hierarchy, whose splits depend on weights.
        for _ in range(80):
            solver.path(17, 255)
        solver.set_weights([1] * 20, arcs[:1].repeat(20))
        other.set_weights([1], arcs[:1])
        for _ in range(80):
            found = solver.path(17, 255)
        assert np.array_equal(found.arcs, other.path(17, 255).arcs)


@pytest.mark.usefixtures("partial")
def test_pairs_of_other_threads_never_mix_weights() -> None:
    graph = prepare(grid(40, seed=1))
    arcs = np.arange(0, graph.num_arcs, 7)
    heavy = 3 * graph.weight[arcs]
    valid = {int(heap_dijkstra(graph, 0)[1599])}
    weight = graph.weight.copy()
    weight[arcs] = heavy
    valid.add(int(heap_dijkstra(graph.with_weights(weight), 0)[1599]))
    found, is_done = set(), threading.Event()
    with Solver(graph, "phast", "cpu") as solver, solver.clone() as clone:

        def ask() -> None:
            while not is_done.is_set():
                found.add(clone.distance(0, 1599))

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            for number in range(60):
                solver.set_weights(graph.weight[arcs] if number % 2 else heavy, arcs)
        finally:
            is_done.set()
            thread.join()
    assert found <= valid


def test_a_change_that_fails_leaves_the_weights_before(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(12, seed=3))
    with Solver(graph, "phast", "cpu") as solver:
        before = solver.distances(5)
        whole = Layout.recustomize

        def fail(layout: Layout, *args: object) -> None:
            whole(layout, *args)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        monkeypatch.setattr(Layout, "recustomize", fail)
        with pytest.raises(KeyboardInterrupt):
            solver.set_weights([1000, 1000], [0, 1])
        assert np.array_equal(solver.distances(5), before) and solver.distance(5, 77) == before[77]


def test_searches_keep_their_memory_over_changes() -> None:
    graph = prepare(grid(12, seed=3))
    with Solver(graph, "phast", "cpu") as solver:
        solver.distance(0, 143)
        labels = solver.session.algorithm().numbered  # type: ignore[union-attr]
        for weight in (1, 99):
            solver.set_weights([weight], [0])
            assert np.array_equal(solver.distances(0), heap_dijkstra(solver.graph, 0))
            assert solver.session.algorithm().numbered is labels  # type: ignore[union-attr]
