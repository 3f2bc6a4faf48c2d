"""Other weights for a solver that is there: whatever follows from weights must follow."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import EVERYWHERE, check_counters, check_path, grid, heap_dijkstra, make_solver, random_graphs
from vkssp import UNREACHABLE, DeviceError, DistanceOverflowError, Graph, GraphError, QueryError, Solver, read_graph
from vkssp.engine import reweigh
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.solver import shared_graph as shared

algorithms = pytest.mark.parametrize("algorithm", EVERYWHERE)
LARGEST = 2**32 - 2


def check(solver: Solver, weight: np.ndarray, source: int) -> None:
    """Check distances and a path by a search of a graph that was made of the weights, by the textbook."""
    old = solver.graph
    assert np.array_equal(old.weight, weight)
    fresh = Graph.from_csr(old.first_out, old.head, weight)
    expected = heap_dijkstra(fresh, source)
    # A distance of 2**32 - 1 does not fit, either, and looks like none.
    is_reached = heap_dijkstra(Graph.from_csr(old.first_out, old.head, np.zeros(len(weight), np.uint32)), source) == 0
    if (expected[is_reached] > LARGEST).any():
        with pytest.raises(DistanceOverflowError):
            solver.distances(source)
        return
    assert np.array_equal(solver.distances(source), expected)
    reached = np.flatnonzero(expected != UNREACHABLE)
    target = int(reached[-1])
    check_path(fresh, solver.path(source, target), source, target, int(expected[target]))


def changes(rng: np.random.Generator, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return other weights and the arcs that are to have them, None for all."""
    kind = rng.integers(0, 7)
    if kind == 0:
        return rng.integers(0, 100, len(weight)), None
    arcs = rng.choice(len(weight), rng.integers(0, len(weight) + 1), replace=False)
    if kind == 1:  # zeros appear, in cycles too
        return np.zeros(len(arcs), np.int64), arcs
    if kind == 2:  # and vanish
        return rng.integers(1, 5, len(arcs)), arcs
    if kind == 3:  # some as large as may be
        return np.where(rng.random(len(arcs)) < 0.1, LARGEST, weight[arcs]), arcs
    if kind == 4:  # all a thousand times as heavy
        return np.minimum(weight.astype(np.int64) * 1000, LARGEST), None
    return np.where(weight[arcs] > 1, rng.integers(0, 1 + weight[arcs].astype(np.int64)), weight[arcs]), arcs


def change_and_check(solver: Solver, rng: np.random.Generator, times: int) -> None:
    weight = solver.graph.weight.copy()
    for _ in range(times):
        values, arcs = changes(rng, weight)
        solver.set_weights(values, arcs)
        weight[slice(None) if arcs is None else arcs] = values
        for source in rng.integers(0, solver.graph.num_nodes, 2).tolist():
            check(solver, weight, source)


@algorithms
@settings(max_examples=max(2, EXAMPLES // 15))
@given(graph=random_graphs(max_nodes=25), seed=st.integers(0, 2**32 - 1))
def test_distances_follow_any_sequence_of_changes(device: Device, algorithm: str, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.choice(["natural", "landmarks", "auto"])
    with make_solver(graph, algorithm, device, order=order) as solver:
        change_and_check(solver, rng, 3)


@settings(max_examples=max(2, EXAMPLES // 15))
@given(graph=random_graphs(max_nodes=25), seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("algorithm", ["near_far", "bellman_ford_edge"])
def test_a_reduced_graph_is_reduced_anew(device: Device, algorithm: str, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = "auto" if graph.lat is None else rng.choice(["natural", "z"])
    with Solver(graph, algorithm, device, order=order, reduction="full") as solver:
        change_and_check(solver, rng, 3)


def test_what_is_planned_follows_weights_that_rise(device: Device) -> None:
    """A bound on sums that is too low would let them wrap round; each solver has its own."""
    graph = grid(30, seed=1, low=50, high=100)
    with Solver(graph, "block_resident", device) as solver:
        solver.distances(0)
        weight = graph.weight // 2
        solver.set_weights(weight)
        with solver.clone() as clone:  # planned with what is light now
            for factor in (1, 30_000_000, 1, 80_000_000):
                heavy = np.minimum(weight.astype(np.int64) * factor, LARGEST)
                solver.set_weights(heavy)
                for each in (clone, solver):
                    check(each, heavy, 0)


def test_only_what_changed_is_written(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(40, seed=2, low=10)
    with Solver(graph, "near_far", device) as solver:
        check(solver, graph.weight, 3)
        on_device, search, uploaded = solver.session.shared.graph, solver.session.algorithm(), []
        monkeypatch.setattr(Buffer, "write", count_bytes(uploaded))
        arcs = np.arange(0, graph.num_arcs, 50)
        weight = graph.weight.copy()
        weight[arcs] -= 1
        solver.set_weights(weight[arcs], arcs)
        assert sum(uploaded) == 2 * 8 * len(arcs), "the arcs by tail, and by head, which the route needs"
        check(solver, weight, 3)
        assert solver.session.shared.graph is on_device and solver.session.algorithm() is search
        uploaded.clear()
        solver.set_weights(graph.weight)  # of which few differ
        assert sum(uploaded) == 2 * 8 * len(arcs)
        uploaded.clear()
        solver.set_weights(graph.weight - 1)
        assert sum(uploaded) == 2 * 4 * graph.num_arcs
        check(solver, graph.weight - 1, 3)
        assert solver.session.shared.graph is on_device and solver.session.algorithm() is search


@settings(max_examples=max(3, EXAMPLES // 10))
@given(graph=random_graphs(max_nodes=60), seed=st.integers(0, 2**32 - 1))
def test_arcs_in_blocks_are_written_where_they_are(device: Device, graph: Graph, seed: int) -> None:
    """As long as they are light enough for the record that they are in."""
    rng = np.random.default_rng(seed)
    light = graph.with_weights(1 + graph.weight % 1000)
    with Solver(light, "block_resident", device, block=1024, reduction="none", order="natural") as solver:
        weight = light.weight.copy()
        solver.distances(0)
        there = solver.session.shared.graph
        for few in (True, False, True):
            arcs = np.flatnonzero(rng.random(len(weight)) < 0.3) if few else None
            values = rng.integers(1, 2000, len(weight) if arcs is None else len(arcs)).astype(np.uint32)
            solver.set_weights(values, arcs)
            weight[slice(None) if arcs is None else arcs] = values
            check(solver, weight, int(rng.integers(graph.num_nodes)))
            assert solver.session.shared.graph is there
        kept = np.flatnonzero(graph.tail != graph.head)[:1]
        solver.set_weights(np.full(len(kept), 2**22, np.uint32), kept)
        weight[kept] = 2**22
        check(solver, weight, 0)
        assert (solver.session.shared.graph is there) == (len(kept) == 0)


def count_bytes(uploaded: list[int]) -> Any:
    write = Buffer.write

    def counting(self: Buffer, values: np.ndarray, offset: int = 0) -> None:
        uploaded.append(values.nbytes)
        write(self, values, offset)

    return counting


def test_many_weights_at_a_time(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reweigh, "MOST_AT_ONCE", 100)
    rng = np.random.default_rng(4)
    graph = grid(20, seed=2)
    with Solver(graph, "bellman_ford", device) as solver:
        for _ in range(3):
            weight = rng.integers(50, 60, graph.num_arcs)
            solver.set_weights(weight)
            check(solver, weight, 7)
            arcs = rng.choice(graph.num_arcs, 450, replace=False)
            weight[arcs] = rng.integers(50, 60, 450)
            solver.set_weights(weight[arcs], arcs)
            check(solver, weight, 7)


def test_nodes_that_are_cut_into_pieces(device: Device) -> None:
    leaves = np.arange(1, 9001)
    star = Graph.from_edges(np.zeros(9000, int), leaves, np.full(9000, 7), undirected=True)
    with Solver(star, "near_far", device) as solver:
        solver.distances(0)
        weight = star.weight.copy()
        weight[[4, 4500, 8999]] = 1, 2, 3
        solver.set_weights([1, 2, 3], [4, 4500, 8999])
        assert np.array_equal(solver.distances(0), heap_dijkstra(star.with_weights(weight), 0))


@pytest.mark.parametrize("reduction", ["none", "full"])
def test_all_clones_have_the_new_weights(device: Device, reduction: str) -> None:
    graph = grid(25, seed=6)
    renumbered = RenumberedGraph(graph, keep=True)
    with (
        Solver(renumbered, "near_far", device, reduction=reduction) as solver,
        Solver(renumbered, "near_far", device, reduction=reduction) as other,
        solver.clone() as clone,
    ):
        for each in (clone, solver, other):
            check(each, graph.weight, 2)
        weight = graph.weight[::-1].copy()
        clone.set_weights(weight)
        for each in (solver, clone):
            check(each, weight, 2)
        check(other, graph.weight, 2)  # which shares no more than what it was prepared from
        assert np.array_equal(renumbered.graph.weight, graph.weight)


def test_weights_change_between_the_searches_of_other_threads(device: Device) -> None:
    graph = grid(15, seed=6)
    heavier = graph.weight * np.uint32(3)
    light, heavy = (heap_dijkstra(g, 0) for g in (graph, graph.with_weights(heavier)))
    with Solver(graph, "near_far", device) as solver, solver.clone() as clone:
        found: list[np.ndarray] = []
        threads = [
            threading.Thread(target=lambda s=each: found.extend(s.distances(0) for _ in range(8)))  # type: ignore[misc]
            for each in (solver, clone)
        ]
        for thread in threads:
            thread.start()
        for weight in (heavier, graph.weight) * 5:
            solver.set_weights(weight)
        for thread in threads:
            thread.join()
        assert all(np.array_equal(one, light) or np.array_equal(one, heavy) for one in found)
        check(clone, graph.weight, 0)


def test_a_thread_may_use_several_clones_while_another_waits(device: Device) -> None:
    graph = grid(5)
    with Solver(graph, "near_far", device) as solver, solver.clone() as clone:
        with solver.holding():
            changing = threading.Thread(target=lambda: clone.set_weights(graph.weight + np.uint32(1)), daemon=True)
            changing.start()
            while not solver.session.weights.lock.has_writers:
                changing.join(0.01)
            with solver.clone() as third:
                for each in (third, clone):
                    check(each, graph.weight, 0)
        changing.join(60)
        assert not changing.is_alive()
        check(solver, graph.weight + np.uint32(1), 0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, DeviceError])
def test_what_fails_half_way_leaves_the_old_weights(
    device: Device, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    graph = grid(20, seed=6)
    with Solver(graph, "near_far", device) as solver:
        check(solver, graph.weight, 2)
        put, calls = reweigh.Reweigher.put, []

        def failing(self: reweigh.Reweigher, *arguments: Any) -> None:
            put(self, *arguments)  # the first of two arrays is written
            calls.append(arguments)
            raise error("enough")

        monkeypatch.setattr(reweigh.Reweigher, "put", failing)
        with pytest.raises(error):
            solver.set_weights(graph.weight + np.uint32(1))
        assert len(calls) == 1
        monkeypatch.setattr(reweigh.Reweigher, "put", put)
        check(solver, graph.weight, 2)
        solver.set_weights(graph.weight + np.uint32(1))
        check(solver, graph.weight + np.uint32(1), 2)


def test_a_graph_that_cannot_be_made_leaves_the_old_weights(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(20, seed=6)
    with Solver(graph, "near_far", device, reduction="full") as solver:
        check(solver, graph.weight, 2)
        with monkeypatch.context() as patch:
            patch.setattr(shared, "ReducedGraph", None)
            with pytest.raises(TypeError):
                solver.set_weights(graph.weight + np.uint32(1))
        check(solver, graph.weight, 2)


@pytest.mark.parametrize("algorithm", ["near_far", "dijkstra"])
def test_what_is_no_weight_is_an_error_and_changes_nothing(device: Device, algorithm: str) -> None:
    graph = grid(4)
    count = graph.num_arcs
    with make_solver(graph, algorithm, device) as solver:
        for weights, arcs, error, message in (
            (graph.weight[1:], None, GraphError, f"{count - 1} entries and the graph {count} arcs"),
            ([1.5] * count, None, GraphError, "weights.0. is 1.5"),
            ([-1], [0], GraphError, "must not be negative"),
            ([2**32 - 1], [0], GraphError, "the largest of weights that can be held is 4294967294"),
            ([1], [count], GraphError, f"arcs.0. is {count}; arc ids of this graph go from 0 to {count - 1}"),
            ([1], [-1], GraphError, "arc ids must not be negative"),
            ([1], [0.5], GraphError, "arcs.0. is 0.5"),
            ([1], np.ones(count, bool), GraphError, "np.flatnonzero"),
            ([1, 2], [0], GraphError, "give one weight per arc"),
            ([1, 2], [5, 5], QueryError, "arc 5 is to weigh 1 and 2"),
            ("heavy", None, GraphError, "give a list or an array of weights"),
        ):
            with pytest.raises(error, match=message):
                solver.set_weights(weights, arcs)  # type: ignore[arg-type]
        solver.set_weights([], [])
        solver.set_weights([graph.weight[5]] * 2, [5, 5])
        check(solver, graph.weight, 0)
        with solver.clone() as clone, solver.holding(), pytest.raises(QueryError, match="change them after it"):
            clone.set_weights(graph.weight)
    with pytest.raises(QueryError, match="closed"):
        solver.set_weights(graph.weight)


def test_a_trace_is_that_of_a_search_with_the_weights_that_there_are(device: Device) -> None:
    graph = grid(6)
    with Solver(graph, "crauser", device, counters="trace") as solver:
        solver.distances(0)
        solver.set_weights(graph.weight + np.uint32(1))
        with pytest.raises(QueryError, match="ask for distances first"):
            solver.trace()
        solver.distances(0)
        check_counters(solver)


def test_a_graph_with_other_weights(andorra_path: Path) -> None:
    graph = grid(5)
    tail = graph.tail
    weight = graph.weight + np.uint32(1)
    other = graph.with_weights(weight)
    weight[0] = 0
    assert other.weight[0] == graph.weight[0] + 1 and not other.weight.flags.writeable
    assert other.head is graph.head and other.first_out is graph.first_out and other.tail is tail
    map_ = read_graph(andorra_path, turns="costs")
    assert map_.streets is not None and map_.streets.turn is not None
    at = int(np.argmax(map_.streets.turn))
    weight = map_.weight.copy()
    weight[at] = map_.streets.turn[at] - 1
    with pytest.raises(GraphError, match=f"weight.{at}. is .* less than .*, the weight of the turn"):
        map_.with_weights(weight)
