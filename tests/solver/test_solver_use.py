"""Solvers in use: seeds and targets, arrays and blocks, repeated and shared use, refused arguments, former names."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow
import pytest

import vkssp
from tests.support.graphs import EVERYWHERE, check_counters, grid, heap_dijkstra, make_solver, scipy_dijkstra
from vkssp import (
    UNREACHABLE,
    DeviceError,
    DistanceOverflowError,
    Graph,
    MemoryShortageError,
    NoRouteError,
    QueryError,
    Solver,
    SolverPool,
    memory,
)
from vkssp.algorithms.near_far import NearFar
from vkssp.engine import loop
from vkssp.engine.loop import Loop
from vkssp.gpu import buffer, kernel, recording
from vkssp.gpu.device import Device
from vkssp.solver import row_maker

algorithms = pytest.mark.parametrize("algorithm", EVERYWHERE)


@algorithms
def test_a_distance_that_does_not_fit_is_an_error(device: Device, algorithm: str) -> None:
    largest = 2**32 - 2
    for weights in ([largest, 1], [largest, largest], [2**31, 2**31]):
        with make_solver(Graph.from_edges([0, 1], [1, 2], weights), algorithm, device) as solver:
            with pytest.raises(DistanceOverflowError, match="divide the weights"):
                solver.distances(0)
            for query in (solver.distance, solver.path):
                with pytest.raises(DistanceOverflowError, match="divide the weights"):
                    query(0, 2)
            assert solver.distance(0, 1) == weights[0]
            assert solver.distances(1).tolist() == [UNREACHABLE, 0, weights[1]]


@algorithms
def test_seeds_and_targets_with_offsets(device: Device, algorithm: str) -> None:
    graph = grid(30, seed=4)
    rng = np.random.default_rng(2)
    with make_solver(graph, algorithm, device) as solver:
        for _ in range(4):
            seeds = [(int(n), int(w)) for n, w in zip(rng.integers(0, 900, 3), rng.integers(0, 500, 3), strict=True)]
            targets = [(int(n), int(w)) for n, w in zip(rng.integers(0, 900, 4), rng.integers(0, 500, 4), strict=True)]
            ways = {
                (i, j): offset + int(heap_dijkstra(graph, seed)[target]) + more
                for i, (seed, offset) in enumerate(seeds)
                for j, (target, more) in enumerate(targets)
            }
            found = solver.search_path(seeds, targets)
            assert found is not None
            weight, i, j, arcs = found
            assert weight == min(ways.values()) == ways[i, j]
            assert seeds[i][1] + int(graph.weight[arcs].sum()) + targets[j][1] == weight


@algorithms
def test_as_many_seeds_and_targets_as_there_may_be(device: Device, algorithm: str) -> None:
    graph = grid(16, seed=5)
    nodes, offsets = np.random.default_rng(7).integers(0, 256, (2, 2, 64)).tolist()
    seeds, targets = (list(zip(*pair, strict=True)) for pair in zip(nodes, offsets, strict=True))
    whole = np.min([heap_dijkstra(graph, node) + np.uint64(offset) for node, offset in seeds], axis=0)
    with make_solver(graph, algorithm, device) as solver:
        solver.search(seeds)
        assert np.array_equal(solver.session.algorithm().read()[solver.session.renumbered.node], whole)
        way = solver.search_path(seeds, targets)
        assert way is not None and way[0] == min(int(whole[node]) + offset for node, offset in targets)


@algorithms
def test_all_nodes_nearer_than_the_best_target_have_their_distances(device: Device, algorithm: str) -> None:
    graph = grid(25, seed=6, low=5)
    whole = heap_dijkstra(graph, 312)
    with make_solver(graph, algorithm, device, delta=50) as solver:
        for targets in ([(0, 0)], [(310, 7), (400, 0)], [(312, 40)], [(312, 0)], [(624, 10**6), (300, 10**6)]):
            best = solver.search([(312, 0)], targets).best
            assert best == min(int(whole[node]) + offset for node, offset in targets)
            found = solver.session.algorithm().read()[solver.session.renumbered.node]
            assert (found >= whole).all()
            assert np.array_equal(found[whole < best], whole[whole < best])


@algorithms
def test_many_queries_give_the_same_as_the_first(
    device: Device, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = grid(20, seed=9)
    # How long a search takes depends on the machine's load, and its number of iterations on how threads take turns.
    # Neither may decide what is made: all searches after the first few are predicted here, and all by one length.
    monkeypatch.setattr(loop, "ROUNDED_TO", loop.SIZES[-1])
    monkeypatch.setattr(loop, "MOST_PREDICTED_MS", np.inf)
    monkeypatch.setattr(loop, "MOST_SPREAD", np.inf)
    with make_solver(graph, algorithm, device) as solver:
        # So often that the searches predict how long the next ones take.
        expected = {source: solver.distances(source) for source in [*range(0, 400, 90)] * 3}
        solver.path(0, 399)

        def refuse(*arguments: object) -> None:
            raise AssertionError(f"a query makes something: {arguments}")

        for module in (buffer, kernel, recording):
            monkeypatch.setattr(module, "create", refuse)
        for source, distances in expected.items():
            assert solver.distance(source, 399) == distances[399]
            assert solver.path(source, 399).weight == distances[399]
            assert np.array_equal(solver.distances(source), distances)


@algorithms
def test_clones_work_at_the_same_time(device: Device, algorithm: str) -> None:
    graph = grid(20, seed=10)
    expected = {source: scipy_dijkstra(graph, source) for source in range(5)}
    wrong: list[int] = []

    def work(solver: Solver) -> None:
        with solver:
            for source in list(expected) * 2:
                if not np.array_equal(solver.distances(source), expected[source]):
                    wrong.append(source)

    with make_solver(graph, algorithm, device) as solver:
        threads = [threading.Thread(target=work, args=(solver.clone(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert np.array_equal(solver.distances(0), expected[0]), "the original outlives its clones"


def test_one_solver_may_be_shared_by_threads(device: Device) -> None:
    graph = grid(40, seed=11)
    expected = [scipy_dijkstra(graph, source) for source in range(4)]
    results: dict[int, np.ndarray] = {}
    with Solver(graph, device=device) as solver:

        def work(source: int) -> None:
            results[source] = solver.distances(source)

        threads = [threading.Thread(target=work, args=(source,)) for source in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(np.array_equal(results[source], expected[source]) for source in range(4))


def test_clones_outlive_the_solver_that_opened_the_device() -> None:
    solver = Solver(grid(5))
    clone = solver.clone()
    solver.close()
    assert clone.distance(0, 24) == heap_dijkstra(grid(5), 0)[24]
    clone.close()
    assert clone.device.closed


NEAR_FAR = {"algorithm": "near_far"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"algorithm": "magic"}, "algorithm is 'magic'; choose one of auto, near_far"),
        ({**NEAR_FAR, "delta": 0}, "delta is 0; near_far takes 1 to 4294967294"),
        ({**NEAR_FAR, "delta": 2.5}, "delta is 2.5; near_far takes an integer"),
        ({**NEAR_FAR, "delta": "many"}, "delta is 'many'; near_far takes an integer"),
        ({**NEAR_FAR, "delta": float("nan")}, "delta is nan"),
        ({"algorithm": "delta_step", "light_heavy": 2}, "light_heavy is 2"),
        ({**NEAR_FAR, "gamma": 2}, "near_far has no parameter 'gamma'; it takes delta"),
        ({"order": "z"}, "the graph has no coordinates"),
        ({"order": "random"}, "order is 'random'; choose one of auto, natural, z, landmarks, hierarchy$"),
    ],
)
def test_wrong_parameters(device: Device, arguments: dict[str, object], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        Solver(Graph.from_edges([0], [1], [1]), device=device, **arguments)  # type: ignore[arg-type]


def test_wrong_nodes(device: Device) -> None:
    with Solver(Graph.from_edges([0], [1], [1]), device=device) as solver:
        for node, words in (
            (2, "source is 2; node ids of this graph go from 0 to 1"),
            (-1, "source is -1"),
            (0.5, "0.5"),
        ):
            with pytest.raises(QueryError, match=words):
                solver.distances(node)  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="target is 7"):
            solver.path(0, 7)
        solver.close()
        with pytest.raises(QueryError, match="has been closed"):
            solver.distances(0)


@pytest.mark.parametrize(
    ("seeds", "targets", "words"),
    [
        ([], [(0, 0)], "there are 0 places named source; give 1 to 64"),
        ([(0, 0)] * 65, [(0, 0)], "there are 65 places named source"),
        ([(0, 0)], [(0, 0)] * 65, "there are 65 places named target"),
        ([(0, 0)], [], "there is no target"),
        ([(0, -1)], [(0, 0)], "the weight to a source is -1"),
        ([(0, 0)], [(0, 2**32 - 1)], "the weight to a target is 4294967295"),
        ([(9, 0)], [(0, 0)], "source is 9"),
        ([(0, 1.5)], [(0, 0)], "the weight to a source is 1.5"),
        ([0], [(0, 0)], "a source is 0; give a node id and a weight"),
        ([(0, 0)], [(0, 0, 0)], r"a target is \(0, 0, 0\); give a node id and a weight"),
    ],
)
def test_wrong_terminals(
    device: Device, seeds: list[tuple[int, int]], targets: list[tuple[int, int]], words: str
) -> None:
    with Solver(Graph.from_edges([0], [1], [1]), device=device) as solver, pytest.raises(QueryError, match=words):
        solver.search_path(seeds, targets)


@algorithms
def test_seeds_far_apart_and_seeds_named_twice(device: Device, algorithm: str) -> None:
    """Three parts without a way between them, ids and offsets far apart, offsets beyond the distances inside."""
    parts, length, linked = 3, 8192, 20  # so far apart that no tile of ids has two parts
    tail = np.concatenate([np.arange(part * length, part * length + linked - 1) for part in range(parts)])
    graph = Graph.from_edges(tail, tail + 1, np.ones(len(tail), int), num_nodes=parts * length)
    seeds = [(2 * length, 10**9), (0, 5), (length, 10**6), (0, 77), (length, 3 * 10**6)]
    with make_solver(graph, algorithm, device, delta=100) as solver:
        solver.search(seeds)
        found = solver.session.algorithm().read()[solver.session.renumbered.node]
        expected = np.full(graph.num_nodes, UNREACHABLE)
        for part, offset in enumerate((5, 10**6, 10**9)):
            expected[part * length : part * length + linked] = offset + np.arange(linked)
        assert np.array_equal(found, expected)
        for seed, start in ((1, 0), (2, length), (0, 2 * length)):
            way = solver.search_path(seeds, [(start + 7, 0)])
            assert way is not None and way[:2] == (seeds[seed][1] + 7, seed) and len(way[3]) == 7


@algorithms
def test_a_seed_on_the_way_with_a_larger_offset_is_passed(device: Device, algorithm: str) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 1, 1])
    with make_solver(graph, algorithm, device) as solver:
        way = solver.search_path([(2, 50), (0, 0)], [(3, 0)])
        assert way is not None and way[:3] == (3, 1, 0) and way[3].tolist() == [0, 1, 2]


@algorithms
def test_what_does_not_fit_matters_only_on_the_way_to_the_target(device: Device, algorithm: str) -> None:
    largest = 2**32 - 2
    with make_solver(Graph.from_edges([0, 1], [1, 2], [largest, 5], num_nodes=4), algorithm, device) as solver:
        assert solver.distance(0, 3) == UNREACHABLE
        with pytest.raises(NoRouteError):
            solver.path(0, 3)
        with pytest.raises(DistanceOverflowError):
            solver.path(0, 2)
    with make_solver(Graph.from_edges([0], [1], [10]), algorithm, device) as solver:
        for seeds, targets in (([(0, 0)], [(1, largest)]), ([(0, 10)], [(0, largest)]), ([(0, largest)], [(1, 0)])):
            with pytest.raises(DistanceOverflowError):
                solver.search_path(seeds, targets)
        assert solver.search_path([(1, 0)], [(0, largest)]) is None


def test_light_and_heavy_arcs_are_relaxed_apart(device: Device) -> None:
    """The heavy arcs of a bucket come after its light ones: a sweep more for each bucket, and the same distances."""
    graph = Graph.from_edges([0, 1, 0, 1, 2], [1, 2, 3, 4, 5], [1, 1, 30, 30, 30])
    counters = {}
    for light_heavy in (0, 1):
        with Solver(graph, "delta_step", device, delta=10, light_heavy=light_heavy) as solver:
            assert solver.distances(0).tolist() == [0, 1, 2, 30, 31, 32]
            assert solver.last is not None
            counters[light_heavy] = solver.last.counters
    assert counters[0]["buckets"] == counters[1]["buckets"] == 2
    assert counters[1]["iterations"] == counters[0]["iterations"] + 2


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the runs of loops."""
    runs: list[int] = []
    original = Loop.run
    monkeypatch.setattr(Loop, "run", lambda self, *args, **given: runs.append(1) or original(self, *args, **given))
    return runs


def shorten(monkeypatch: pytest.MonkeyPatch, places: int, most: int | None = None) -> None:
    """Give near_far queues that are too short, and perhaps too little memory for longer ones."""
    monkeypatch.setattr(NearFar, "first_capacity", places)
    if most is not None:
        monkeypatch.setattr(NearFar, "most_entries", most)


# All leaves are near at once, or all far.
@pytest.mark.parametrize(("queue", "delta"), [("near queue", 2**30), ("far pile", 1)])
def test_a_search_whose_queue_is_too_short_is_repeated_with_a_longer_one(
    device: Device, monkeypatch: pytest.MonkeyPatch, repeats: list[int], queue: str, delta: int
) -> None:
    shorten(monkeypatch, 64)
    leaves = np.arange(1, 2001)
    graph = Graph.from_edges(np.zeros(2000, int), leaves, leaves + 5, undirected=True)
    expected = heap_dijkstra(graph, 0)
    with Solver(graph, "near_far", device, delta=delta, counters="trace", workgroup_size=8) as solver:
        search = solver.session.algorithm()
        assert isinstance(search, NearFar)
        assert np.array_equal(solver.distances(0), expected)
        check_counters(solver)
        assert len(repeats) > 1 and search.capacity[queue] > 64
        assert solver.last is not None and "queue_overflow" not in solver.last.counters
        capacity = dict(search.capacity)
        repeats.clear()
        assert np.array_equal(solver.distances(0), expected)
        assert solver.path(0, 77).weight == expected[77]
        assert len(repeats) == 2 and search.capacity == capacity, "later searches need no repetition"


@pytest.mark.parametrize(("queue", "delta"), [("near queue", 2**30), ("far pile", 1)])
def test_a_queue_that_cannot_grow_is_an_error(
    device: Device, monkeypatch: pytest.MonkeyPatch, queue: str, delta: int
) -> None:
    shorten(monkeypatch, 64, 128)
    leaves = np.arange(1, 2001)
    graph = Graph.from_edges(np.zeros(2000, int), leaves, leaves + 5)
    with Solver(graph, "near_far", device, delta=delta, workgroup_size=8) as solver:
        with pytest.raises(DeviceError, match=f"the {queue} of near_far has more entries than the 128 .* delta_step"):
            solver.distances(0)
        assert solver.distances(1).tolist() == [UNREACHABLE, 0, *[UNREACHABLE] * 1999], "it works on"


def test_distances_from_seeds(device: Device) -> None:
    graph = grid(12, seed=3)
    seeds = [(0, 50), (143, 0), (70, 7)]
    alone = np.array([heap_dijkstra(graph, node) + np.uint64(offset) for node, offset in seeds])
    for options in ({}, {"algorithm": "near_far"}, {"algorithm": "block_resident", "reduction": "full"}):
        with Solver(graph, device=device, **options) as solver:  # type: ignore[arg-type]
            assert np.array_equal(solver.distances(seeds), alone.min(axis=0))
            assert np.array_equal(solver.distances(np.array(seeds)), alone.min(axis=0))
            with pytest.raises(QueryError, match="there are no sources"):
                solver.distances([])
            with pytest.raises(QueryError, match=r"a source is .*; give a node id and a weight"):
                solver.distances(np.ones((2, 3), int))
            with pytest.raises(QueryError, match="the weight to a source is -1"):
                solver.distances([(0, -1)])


def test_many_rows_are_an_array_or_blocks_of_one(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = grid(9, seed=3)
    whole = np.stack([heap_dijkstra(graph, node) for node in range(81)])
    with Solver(graph, "near_far", device) as solver:
        for rows_at_once in (1, 4, 100):
            monkeypatch.setattr(row_maker, "MOST_ROWS", rows_at_once)
            for asked, expected in (
                (lambda **options: solver.distances(range(9), **options), whole[:9]),
                (lambda **options: solver.table(range(9), [3, 1, 3], **options), whole[:9][:, [3, 1, 3]]),
            ):
                found, blocks = asked(), list(asked(chunked=True))
                assert found.shape == expected.shape and found.dtype == np.uint32 and np.array_equal(found, expected)
                assert np.array_equal(np.concatenate(blocks), expected) and len(blocks) >= 9 / rows_at_once
        for one in (3, [(3, 0)]):
            with pytest.raises(QueryError, match="chunked is for many sources"):
                solver.distances(one, chunked=True)  # type: ignore[call-overload]
        monkeypatch.setattr(memory, "free_bytes", lambda: 4 * 81 * 10**4)
        searched = solver.last
        for ask in (lambda: solver.distances([0] * 10**6), lambda: solver.table([0] * 10**6, range(81))):
            with pytest.raises(MemoryShortageError, match=r"^an array of 1,000,000 by 81 distances: .* chunked=True"):
                ask()
        assert solver.last is searched, "nothing was searched"
        assert next(solver.distances([0] * 10**6, chunked=True)).shape[1] == 81


def test_paths_between_seeds_and_targets(device: Device) -> None:
    graph = Graph.from_edges([0, 1, 2, 4], [1, 2, 3, 3], [5, 5, 5, 2], num_nodes=6)
    with Solver(graph, "near_far", device) as solver, SolverPool(graph, "near_far", device) as pool:
        for one in (solver, pool):
            found = one.path([(0, 0), (1, 3), (5, 0)], [(3, 4), (2, 9)])
            assert (found.nodes.tolist(), found.arcs.tolist(), found.weight) == ([1, 2, 3], [1, 2], 17)
            assert one.path(0, [(1, 0)]).nodes.tolist() == [0, 1]
            for ends, words in (((5, 0), "from node 5 to node 0"), (([(5, 0), (3, 1)], 0), "from any seed to node 0")):
                with pytest.raises(NoRouteError, match=f"no path leads {words}"):
                    one.path(*ends)  # type: ignore[arg-type]


def test_former_names_of_methods_give_a_warning(device: Device) -> None:
    graph = grid(5)
    with Solver(graph, "near_far", device) as solver, SolverPool(graph, "near_far", device) as pool:
        for one in (solver, pool):
            for former, name, arguments in (
                ("distances_from", "distances", ([(3, 1)],)),
                ("distances_between", "pairs", ([1, 2], [2, 1])),
                ("nearest_sources", "nearest", ([1, 2],)),
                ("route", "path", (3, 9)),
                ("prepare_routes", "warm_up", ()),
            ):
                kind = type(one).__name__
                with pytest.warns(
                    DeprecationWarning, match=rf"^{kind}\.{former} is called {kind}\.{name} now"
                ) as caught:
                    found = getattr(one, former)(*arguments)
                assert caught[0].filename == __file__
                assert type(found) is type(getattr(one, name)(*arguments))
            with pytest.warns(DeprecationWarning):
                assert np.array_equal(one.distances_from(seeds=[(3, 1)], limit=2), one.distances([(3, 1)], limit=2))
    assert Solver.route.__doc__ == "Former name of `path`." and Solver.route.__qualname__ == "Solver.route"
    with pytest.warns(DeprecationWarning, match=r"^vkssp\.Assignment is called vkssp\.ServiceAreas now"):
        assert vkssp.Assignment is vkssp.ServiceAreas  # type: ignore[attr-defined]


def test_nodes_in_other_containers(device: Device) -> None:
    class Node:
        def __init__(self, number: int) -> None:
            self.number = number

        def __index__(self) -> int:
            return self.number

    graph, nodes = grid(5), [Node(3), Node(1)]
    with Solver(graph, "near_far", device) as solver:
        expected = solver.distances([3, 1])
        for given in (nodes, iter(nodes), pyarrow.array([3, 1]), np.array([3.0, 1.0])):
            assert np.array_equal(solver.distances(given), expected)
        assert np.array_equal(solver.table(nodes, nodes), expected[:, [3, 1]])
        for ask in (lambda: solver.path([{0, 1}], 2), lambda: solver.distances([(0, 1), {2, 3}])):
            with pytest.raises(QueryError, match=r"a source is {.*}; give a node id and a weight"):
                ask()
