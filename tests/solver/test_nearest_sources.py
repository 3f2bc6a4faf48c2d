"""The nearest of several sources to each node, and which one it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.failures import fail_each_call
from tests.support.graphs import ON_CPU, ON_DEVICE, grid, make_solver, random_graphs, scipy_dijkstra
from tests.support.resources import own_recordings
from vkssp import (
    UNREACHABLE,
    DeviceError,
    DistanceOverflowError,
    Graph,
    MemoryShortageError,
    NearestSources,
    QueryError,
    Solver,
    SolverPool,
)
from vkssp.engine.device_graph import PIECE
from vkssp.generate import road_grid
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording
from vkssp.solver.session import Session

FAR = np.uint64(2**63)


def by_hand(graph: Graph, sources: Sequence[int], offsets: Sequence[int] | None = None) -> NearestSources:
    """Search from each source alone, and take the first of the least sums."""
    found = np.stack([scipy_dijkstra(graph, source) for source in sources])
    added = np.zeros(len(sources), np.uint64) if offsets is None else np.array(offsets, np.uint64)
    sums = np.where(found == UNREACHABLE, FAR, found + added[:, None])
    distance = sums.min(axis=0)
    return NearestSources(distance, np.where(distance == FAR, UNREACHABLE, sums.argmin(axis=0)))


def check(found: NearestSources, expected: NearestSources, limit: int | None = None) -> None:
    assert found.distance.dtype == found.source.dtype == np.uint32
    reached = expected.distance <= (UNREACHABLE - 1 if limit is None else limit)
    assert np.array_equal(found.distance, np.where(reached, expected.distance, UNREACHABLE))
    assert np.array_equal(found.source, np.where(reached, expected.source, UNREACHABLE))


def patchwork() -> Graph:
    """A two-way part with many ties, zeros among its weights, one-way tails to it and from it, and lonely nodes."""
    part = grid(11, low=0, high=2)
    count, rng = part.num_nodes, np.random.default_rng(2)
    chain = np.arange(count, count + 20)
    tail = np.concatenate([part.tail, chain[:-1], [chain[-1]], rng.integers(0, count, 5)])
    head = np.concatenate([part.head, chain[1:], [7], np.arange(5) + count + 20])
    weight = np.concatenate([part.weight, rng.integers(0, 3, 20), rng.integers(0, 3, 5)])
    return Graph.from_edges(tail, head, weight, num_nodes=count + 30)


@pytest.mark.parametrize("algorithm", [*ON_DEVICE, *ON_CPU])
def test_every_algorithm_gives_the_same(device: Device, algorithm: str) -> None:
    graph, rng = patchwork(), np.random.default_rng(5)
    sources, offsets = rng.integers(0, graph.num_nodes, 400), rng.integers(0, 5, 400)
    with make_solver(graph, algorithm, device) as solver:
        # Few; more than a search for targets may have; again with less room, and then with too little.
        for count in (3, 140, 90, 400, 1):
            expected = by_hand(graph, sources[:count], offsets[:count])
            check(solver.nearest(sources[:count], offsets[:count]), expected)
        few = by_hand(graph, sources[:5])
        check(solver.nearest(sources[:5].tolist()), few)
        check(solver.nearest(sources[:5], limit=4), few, 4)
        # A search with a few seeds, or for a target, is none the worse for it.
        assert np.array_equal(solver.distances(3), scipy_dijkstra(graph, 3))
        assert solver.path(0, 5).weight == scipy_dijkstra(graph, 0)[5]
        seeds = list(zip(sources.tolist(), offsets.tolist(), strict=True))
        assert np.array_equal(solver.distances(seeds), by_hand(graph, sources, offsets).distance)


@settings(max_examples=max(5, EXAMPLES // 2))
@given(graph=random_graphs(), data=st.data())
def test_generated_graphs(device: Device, graph: Graph, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    nodes = st.lists(st.integers(0, graph.num_nodes - 1), min_size=count, max_size=count)
    weights = st.one_of(st.integers(0, 20), st.sampled_from([2**31, 2**32 - 2]))
    sources, offsets = data.draw(nodes), data.draw(st.lists(weights, min_size=count, max_size=count))
    limit = data.draw(st.one_of(st.none(), st.integers(0, 50), st.just(2**32 - 2)))
    expected = by_hand(graph, sources, offsets)
    fits = not ((expected.distance >= UNREACHABLE) & (expected.distance < FAR)).any()
    for algorithm, reduction in (("auto", "none"), ("near_far", "full"), ("delta_step", "none"), ("dijkstra", "none")):
        with Solver(graph, algorithm, None if algorithm == "dijkstra" else device, reduction=reduction) as solver:
            if fits or limit is not None:
                check(solver.nearest(sources, offsets, limit), expected, limit)
            else:
                with pytest.raises(DistanceOverflowError):
                    solver.nearest(sources, offsets)


def test_reduced_graphs(device: Device) -> None:
    """With sources in many of the removed parts, so that what they reach there goes to the device by itself."""
    graph, rng = road_grid(24, shape_nodes=5), np.random.default_rng(0)
    with Solver(graph, "near_far", device, reduction="full") as solver:
        assert solver.core_nodes is not None and solver.core_nodes < graph.num_nodes / 3
        for count in (2, 70, 700):
            sources, offsets = rng.integers(0, graph.num_nodes, count), rng.integers(0, 300, count)
            check(solver.nearest(sources, offsets), by_hand(graph, sources, offsets))
        # Two shapes of one street, far from any junction; and every node of all.
        check(solver.nearest([graph.num_nodes - 1, graph.num_nodes - 2]), by_hand(graph, [-1, -2]))
        every = solver.nearest(np.arange(graph.num_nodes))
        assert not every.distance.any() and np.array_equal(every.source, np.arange(graph.num_nodes))


def test_labels_cross_where_many_are_equally_near(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halfway between two corners of a grid of equal weights all nodes of a square have ways from both."""
    side = 30
    graph = grid(side, low=3, high=3)
    submitted: list[Recording] = []
    rounds: list[int] = []
    original = Recording.submit

    def submit(self: Recording, *others: Any) -> None:
        submitted.append(self)
        original(self, *others)

    for corners in ([side - 1, side * (side - 1)], [side * (side - 1), side - 1]):
        expected = by_hand(graph, corners)
        with Solver(graph, "near_far", device, reduction="none") as solver:
            solver.nearest(corners)  # so that all is there
            solver.search([(corners[0], 0), (corners[1], 0)])
            with monkeypatch.context() as patch:
                patch.setattr(Recording, "submit", submit)
                submitted.clear()
                check(solver.nearest(corners), expected)
            first, again = own_recordings(solver.session.work().voronoi)
            assert submitted.count(first) == 1
            # Labels are handed down at once, but have to cross from one tree to the next.
            rounds.append(submitted.count(again))
        assert np.count_nonzero(expected.source == 0) > np.count_nonzero(expected.source == 1)
    assert 0 < max(rounds) < 2 * side


@pytest.mark.parametrize("algorithm", ["near_far", "block_resident"])
def test_nodes_with_thousands_of_arcs_and_with_none(device: Device, algorithm: str) -> None:
    """A hub that is cut into pieces, with nodes without arcs before and after it."""
    leaves = 2 * PIECE + 17
    tail = np.concatenate([np.full(leaves, 500), [700]])
    head = np.concatenate([1000 + np.arange(leaves), [500]])
    graph = Graph.from_edges(tail, head, np.arange(leaves + 1) % 3, num_nodes=leaves + 2000)
    sources, offsets = [1003, 700, 500, 40], [1, 0, 1, 0]
    with make_solver(graph, algorithm, device) as solver:
        check(solver.nearest(sources, offsets), by_hand(graph, sources, offsets))


def test_long_ways(device: Device) -> None:
    count = 5000
    graph = Graph.from_edges(np.arange(count - 1), np.arange(1, count), np.ones(count - 1, int), undirected=True)
    sources = [0, 4000, 4000, 1000]
    with Solver(graph, "near_far", device, order="natural", reduction="none") as solver:
        check(solver.nearest(sources), by_hand(graph, sources))


def test_weights_that_change(device: Device) -> None:
    graph, sources = grid(9), [5, 40, 77]
    with Solver(graph, "near_far", device, reduction="none") as solver, solver.clone() as other:
        before = by_hand(graph, sources)
        check(solver.nearest(sources), before)
        heavier = graph.weight[::-1] // 2  # zeros among them
        solver.set_weights(heavier)
        after = by_hand(graph.with_weights(heavier), sources)
        assert not np.array_equal(before.source, after.source)
        for one in (solver, other):
            check(one.nearest(sources), after)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "there are no sources; give at least one"),
        (([9],), r"sources\[0\] is 9; node ids of this graph go from 0 to 8"),
        (([0, -1],), r"sources\[1\] is -1; node ids must not be negative"),
        (([0, 1], [1]), "there are 1 offsets for 2 sources; give one for each"),
        (([0, 1], [1, -2]), r"offsets\[1\] is -2; weights must not be negative"),
        (([0], [2**32 - 1]), r"offsets\[0\] is 4294967295; the largest of weights that can be held is 4294967294"),
        (([0], None, -1), "limit is -1; give a weight"),
        (([0], None, 2**32 - 1), "limit is 4294967295; give a weight"),
        (([0], None, 0.5), "limit is 0.5; give a weight"),
    ],
)
def test_bad_questions(device: Device, arguments: tuple[Any, ...], message: str) -> None:
    with Solver(grid(3), device=device) as solver, pytest.raises(QueryError, match=message):
        solver.nearest(*arguments)


def test_memory_is_asked_for_before_it_is_taken(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(60)
    needs: list[int] = []
    with Solver(graph, "block_resident", device, reduction="none") as solver:
        before, searches = solver.memory_bytes, []
        with monkeypatch.context() as patch:
            patch.setattr(Device, "free_bytes", lambda device: 10 * graph.num_nodes)
            patch.setattr(Session, "run", lambda *_: searches.append(1))
            with pytest.raises(DeviceError, match=r"finding nearest sources in this graph needs .* GiB"):
                solver.nearest([1])
        assert not searches and solver.memory_bytes == before
        with monkeypatch.context() as patch:
            patch.setattr(Device, "require", lambda device, nbytes, what: needs.append(nbytes))
            check(solver.nearest([1, 8]), by_hand(graph, [1, 8]))
        assert 0 <= solver.memory_bytes - before - needs[0] < 1000
        taken = solver.memory_bytes
        check(solver.nearest([2, 1]), by_hand(graph, [2, 1]))
        assert solver.memory_bytes == taken


def test_a_driver_that_fails_leaves_nothing_behind(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(6)
    sources = [node % 36 for node in range(5, 75, 2)] * 5  # more than there is room for, most of them twice
    expected = by_hand(graph, sources)

    with Solver(graph, "bellman_ford", device) as solver:

        def ask() -> None:
            # As each failure does, this takes the algorithm's buffers with it, so that all of them are made anew.
            solver.session.algorithm().close()
            check(solver.nearest(sources), expected)

        assert fail_each_call(device, monkeypatch, ask) > 50


def several_by_hand(graph: Graph, sources: Sequence[int], offsets: Sequence[int], count: int) -> NearestSources:
    """Sort the sums of searches from each source alone."""
    found = np.stack([scipy_dijkstra(graph, source) for source in sources])
    sums = np.where(found == UNREACHABLE, FAR, found + np.array(offsets, np.uint64)[:, None])
    order = np.argsort(sums, axis=0, kind="stable").T[:, :count]
    distance, source = np.full((2, graph.num_nodes, count), FAR)
    distance[:, : order.shape[1]] = np.take_along_axis(sums.T, order, axis=1)
    source[:, : order.shape[1]] = order
    return NearestSources(distance, np.where(distance < FAR, source, UNREACHABLE))


@settings(max_examples=EXAMPLES)
@given(graph=random_graphs(), data=st.data())
def test_several_nearest_sources_of_generated_graphs(graph: Graph, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, 12))
    sources = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=number, max_size=number))
    weights = st.one_of(st.integers(0, 20), st.sampled_from([2**31, 2**32 - 2]))
    offsets = data.draw(st.lists(weights, min_size=number, max_size=number))
    count, limit = data.draw(st.integers(1, 14)), data.draw(st.one_of(st.none(), st.integers(0, 50)))
    reverse = data.draw(st.booleans())
    expected = several_by_hand(graph.reversed()[0] if reverse else graph, sources, offsets, count)
    fits = not ((expected.distance >= UNREACHABLE) & (expected.distance < FAR)).any()
    with Solver(graph, device="cpu") as solver:
        if not fits and limit is None:
            with pytest.raises(DistanceOverflowError):
                solver.nearest(sources, offsets, count=count, reverse=reverse)
            return
        found = solver.nearest(sources, offsets, limit, count=count, reverse=reverse)
    check(found, expected, limit)


def test_several_nearest_sources_of_a_patchwork() -> None:
    graph, rng = patchwork(), np.random.default_rng(7)
    sources, offsets = rng.integers(0, graph.num_nodes, 90), rng.integers(0, 5, 90)
    with SolverPool(graph, devices="cpu") as pool:
        for count in (1, 4, 89, 100):
            found = pool.nearest(sources, offsets, count=count)
            check(found, several_by_hand(graph, sources.tolist(), offsets.tolist(), count))
        one = pool.nearest(sources, offsets, reverse=True)
        backward = graph.reversed()[0]
        check(one, by_hand(backward, sources.tolist(), offsets.tolist()))
        for wrong in (0, -1, 1.5, "3", 2**40):
            with pytest.raises(QueryError, match="count"):
                pool.nearest(sources, count=wrong)
        with pytest.raises(QueryError, match="no sources"):
            pool.nearest([], count=2)
        with pytest.raises(MemoryShortageError, match=r"nearest of each of .*; ask for fewer"):
            pool.nearest(sources, count=2**31)
