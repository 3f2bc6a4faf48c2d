"""Searches on reduced graphs: what a solver answers is the same as without a reduction, errors included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES, open_device
from tests.support.failures import fail_each_call
from tests.support.graphs import ON_DEVICE, check_counters, check_path, grid, heap_dijkstra, scipy_dijkstra
from tests.support.sparse_graphs import path_graph, sparse_graphs
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, NoRouteError, QueryError, Router, Solver, read_graph
from vkssp.algorithm import MAX_TERMINALS
from vkssp.algorithms.near_far import NearFar
from vkssp.engine import device_algorithm, device_graph
from vkssp.engine.reduced import ReducedSearch
from vkssp.generate import road_grid
from vkssp.gpu.device import Device
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.solver import shared_graph

ALGORITHMS = ["near_far", "delta_step", "bellman_ford_edge"]
Terminals = list[tuple[int, int]]


def answer(ask: Callable[..., Any], *arguments: Any) -> Any:
    """Return an answer, or the kind of error in its place."""
    try:
        return ask(*arguments)
    except (DistanceOverflowError, NoRouteError) as error:
        return type(error)


def same(first: Any, second: Any) -> bool:
    return np.array_equal(first, second) if isinstance(first, np.ndarray) else bool(first == second)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=max(5, EXAMPLES // 2))
@given(graph=sparse_graphs(), data=st.data())
def test_all_answers_are_those_without_a_reduction(
    device: Device, algorithm: str, graph: Graph, data: st.DataObject
) -> None:
    nodes = st.integers(0, graph.num_nodes - 1)
    with (
        Solver(graph, device=device, reduction="none") as whole,
        Solver(graph, algorithm, device, reduction="full") as reduced,
    ):
        assert whole.core_nodes is None
        assert reduced.core_nodes is not None and 0 < reduced.core_nodes <= graph.num_nodes
        for source in {data.draw(nodes), data.draw(nodes)}:
            expected, found = answer(whole.distances, source), answer(reduced.distances, source)
            assert same(expected, found)
            exact = heap_dijkstra(graph, source)
            for target in {data.draw(nodes), data.draw(nodes), data.draw(nodes)}:
                one, other = (answer(solver.distance, source, target) for solver in (whole, reduced))
                assert one == other
                if int(exact[target]) < UNREACHABLE:
                    assert other == exact[target]
                    route = reduced.path(source, target)
                    check_path(graph, route, source, target, int(exact[target]))
                    if graph.weight.all():
                        assert route.arcs.tolist() == whole.path(source, target).arcs.tolist()
                else:
                    assert answer(reduced.path, source, target) == answer(whole.path, source, target)


@settings(max_examples=max(5, EXAMPLES // 2))
@given(graph=sparse_graphs(), data=st.data())
def test_many_seeds_and_targets_with_weights(device: Device, graph: Graph, data: st.DataObject) -> None:
    weights = st.one_of(st.integers(0, 20), st.sampled_from([2**31, 2**32 - 2]))
    places = st.lists(st.tuples(st.integers(0, graph.num_nodes - 1), weights), min_size=1, max_size=8)
    with (
        Solver(graph, device=device, reduction="none") as whole,
        Solver(graph, device=device, reduction="full") as reduced,
    ):
        for _ in range(3):
            seeds, targets = data.draw(places), data.draw(places)
            expected, found = (answer(solver.search_path, seeds, targets) for solver in (whole, reduced))
            if not isinstance(expected, tuple):
                assert found == expected
                continue
            weight, seed, target, arcs = found
            assert weight == expected[0]
            total = seeds[seed][1] + int(graph.weight[arcs].sum(dtype=np.uint64)) + targets[target][1]
            assert total == weight
            nodes = [seeds[seed][0], *graph.head[arcs].tolist()]
            assert nodes[-1] == targets[target][0] and graph.tail[arcs].tolist() == nodes[:-1]


@pytest.mark.parametrize("algorithm", [name for name in ON_DEVICE if name != "phast"])  # which has no use for one
def test_every_algorithm_searches_the_core(device: Device, algorithm: str) -> None:
    graph = road_grid(6, shape_nodes=2)
    with Solver(graph, algorithm, device, reduction="full") as solver:
        assert solver.core_nodes is not None and solver.core_nodes < graph.num_nodes / 3
        for source in range(0, graph.num_nodes, 17):
            assert solver.distances(source).tolist() == scipy_dijkstra(graph, source).tolist()


def test_a_street_map_from_every_kind_of_node(device: Device, andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    with Solver(graph, device=device, reduction="full") as solver:
        for source in range(0, graph.num_nodes, 131):
            exact = scipy_dijkstra(graph, source)
            assert solver.distances(source).tolist() == exact.tolist()
            for target in range(source % 59, graph.num_nodes, 311):
                assert solver.distance(source, target) == exact[target]
                if exact[target] < UNREACHABLE:
                    check_path(graph, solver.path(source, target), source, target, int(exact[target]))


def test_a_router_finds_the_same_routes(device: Device, andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    rng = np.random.default_rng(3)
    places = [(graph.lat[node], graph.lon[node]) for node in rng.integers(0, graph.num_nodes, 20)]  # type: ignore[index]
    with (
        Router(graph, device=device, reduction="none") as whole,
        Router(graph, device=device, reduction="full") as reduced,
    ):
        for origin, destination in zip(places[::2], places[1::2], strict=True):
            one, other = (answer(router.route, origin, destination) for router in (whole, reduced))
            if isinstance(one, type):
                assert one == other
            else:
                assert other.weight == one.weight and np.array_equal(other.points, one.points)


def test_more_core_nodes_than_a_search_takes_end_no_search_early(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_algorithm, "MOST_TERMINALS", 150)
    graph = road_grid(64, shape_nodes=3)
    asked: list[tuple[int, int]] = []
    search = NearFar.search

    def watched(self: NearFar, seeds: Sequence[Any], targets: Sequence[Any] = ()) -> Any:
        asked.append((len(seeds), len(targets)))
        return search(self, seeds, targets)

    rng = np.random.default_rng(5)
    with (
        Solver(graph, "near_far", device, reduction="none") as whole,
        Solver(graph, "near_far", device, reduction="full") as reduced,
    ):
        inner = np.flatnonzero(reduced.session.shared.graph.reduction.component != UNREACHABLE)  # type: ignore[union-attr]

        def draw(count: int) -> Terminals:
            nodes, weights = rng.choice(inner, count, replace=False), rng.integers(0, 2000, count)
            return list(zip(nodes.tolist(), weights.tolist(), strict=True))

        for count in (1, 8, MAX_TERMINALS):
            seeds, targets = draw(count), draw(count)
            expected = whole.search_path(seeds, targets)
            with monkeypatch.context() as patch:
                patch.setattr(NearFar, "search", watched)
                found = reduced.search_path(seeds, targets)
            assert expected is not None and found is not None and found[0] == expected[0]
            ends = asked[-1]
            assert 0 < ends[0] and (ends[1] == 0) == (count == MAX_TERMINALS)


def test_distances_that_do_not_fit_raise_the_same_error(device: Device) -> None:
    most = 2**32 - 2
    streets = [(0, 2, 1), (0, 3, 1), (1, 2, 1), (1, 3, 1), (2, 3, 1), (0, 4, most), (4, 1, most), (1, 5, 7)]
    graph = Graph.from_edges(*zip(*streets, strict=True), undirected=True)
    with Solver(graph, device=device, reduction="full") as solver:
        assert solver.core_nodes == 1
        # All nodes are nearer than what does not fit, though the chain over node 4 is not.
        assert solver.distances(0).tolist() == heap_dijkstra(graph, 0).tolist()
        assert solver.distance(0, 4) == most
        for source in (2, 4, 5):
            with pytest.raises(DistanceOverflowError):
                solver.distances(source)
        with pytest.raises(DistanceOverflowError):
            solver.distance(5, 4)
        with pytest.raises(DistanceOverflowError):
            solver.path(2, 4)
        assert solver.distance(5, 2) == 8
        with pytest.raises(DistanceOverflowError):
            solver.search_path([(0, 1)], [(4, 0)])


def test_only_one_sum_does_not_fit(device: Device) -> None:
    most = 2**32 - 2
    # Four in a clique; from 5 over 4 one gets to 0, but not back; 6 hangs off 0, and 7 off 3, the farthest from 0.
    arcs = [(u, v, 3) for u in range(3) for v in range(3) if u != v] + [(0, 3, most - 1), (3, 1, 1), (3, 2, 0)]
    arcs += [(5, 4, 3), (4, 0, 3), (0, 6, 3), (3, 7, 3)]
    graph = Graph.from_edges(*zip(*arcs, strict=True))
    for reduction in ("none", "full"):
        with Solver(graph, device=device, reduction=reduction) as solver:
            assert solver.core_nodes == (1 if reduction == "full" else None)
            cases = [
                ((5, most), (4, 0)),  # inside a component
                ((0, 0), (7, 0)),
            ]
            for seed, target in cases:
                with pytest.raises(DistanceOverflowError):
                    solver.search_path([seed], [target])
            assert solver.search_path([(6, 0)], [(0, most)]) is None
            with pytest.raises(DistanceOverflowError):
                solver.distances(0)  # node 7


@pytest.mark.parametrize(("seed", "target"), [(5, 4), (0, 6)])
def test_only_the_sum_at_a_target_does_not_fit(device: Device, seed: int, target: int) -> None:
    most = 2**32 - 2
    arcs = [(u, v) for u in range(4) for v in range(4) if u != v] + [(5, 4), (4, 0), (0, 6)]
    graph = Graph.from_edges(*zip(*arcs, strict=True), [3] * len(arcs))
    with Solver(graph, device=device, reduction="full") as solver:
        assert solver.core_nodes == 1
        with pytest.raises(DistanceOverflowError):
            solver.search_path([(seed, 0)], [(target, most)])
        found = solver.search_path([(seed, 0)], [(target, most - 3)])
        assert found is not None and found[0] == most
        assert solver.search_path([(target, 0)], [(5, most)]) is None


def test_a_way_that_does_not_fit_inside_a_component(device: Device) -> None:
    most = 2**32 - 2
    arcs = [(u, v, 3) for u in range(4) for v in range(4) if u != v] + [(0, 4, 3), (5, 4, most), (6, 5, most)]
    graph = Graph.from_edges(*zip(*arcs, strict=True))
    with Solver(graph, device=device, reduction="full") as solver:
        assert solver.distances(5).tolist() == [UNREACHABLE] * 4 + [most, 0, UNREACHABLE]
        assert solver.distance(6, 5) == most
        with pytest.raises(DistanceOverflowError):
            solver.distances(6)


def test_a_seed_that_nothing_leads_away_from(device: Device) -> None:
    # 4 has arcs to it alone; from 5 one gets to 4, and nowhere else.
    arcs = [(u, v) for u in range(4) for v in range(4) if u != v] + [(0, 4), (5, 4)]
    graph = Graph.from_edges(*zip(*arcs, strict=True), [3] * len(arcs))
    for counters in ("iterations", "trace"):
        with Solver(graph, device=device, reduction="full", counters=counters) as solver:
            assert solver.core_nodes == 1
            assert solver.distances(1).tolist() == [3, 0, 3, 3, 6, UNREACHABLE]
            assert solver.distances(4).tolist() == [UNREACHABLE] * 4 + [0, UNREACHABLE]
            assert solver.last is not None and solver.last.counters["iterations"] == 0
            if counters == "trace":
                assert len(check_counters(solver)) == 0
            assert solver.distances(5).tolist() == [UNREACHABLE] * 4 + [3, 0]
            assert solver.distance(5, 4) == 3 and solver.distance(4, 5) == UNREACHABLE
            assert solver.path(5, 4).weight == 3
            assert solver.distances(1).tolist() == [3, 0, 3, 3, 6, UNREACHABLE]


@pytest.mark.parametrize("count", [3000, 20_000])
def test_large_components_on_a_device(device: Device, count: int) -> None:
    graph = path_graph(count, undirected=True)
    with Solver(graph, device=device, reduction="full") as solver:
        assert solver.core_nodes == 1
        for source in (0, count // 2, count - 2):
            assert solver.distances(source).tolist() == np.abs(np.arange(count) - source).tolist()
        assert solver.distance(1, count - 1) == count - 2
        check_path(graph, solver.path(5, count - 5), 5, count - 5, count - 10)


def test_iterations_are_counted_and_traced(device: Device) -> None:
    graph = road_grid(12, shape_nodes=2)
    with Solver(graph, device=device, reduction="full", counters="trace") as solver:
        solver.distances(0)
        assert solver.last is not None and solver.last.device_ms >= 0
        assert len(check_counters(solver)) > 0


def test_clones_share_core_and_records(device: Device) -> None:
    graph = road_grid(16, shape_nodes=2)
    before = device.memory_bytes
    with Solver(graph, device=device, reduction="full") as solver:
        alone = solver.memory_bytes
        with solver.clone() as clone:
            assert clone.core_nodes == solver.core_nodes
            assert clone.memory_bytes < 2 * alone
            assert np.array_equal(clone.distances(7), solver.distances(7))
            assert clone.distance(7, 3) == solver.distance(3, 7)
        assert solver.memory_bytes == alone
        assert solver.distances(8).tolist() == scipy_dijkstra(graph, 8).tolist()
    assert device.memory_bytes == before, "something was not given back"


def test_the_whole_graph_is_uploaded_for_routes_only(device: Device) -> None:
    graph = road_grid(64, shape_nodes=6)
    with (
        Solver(graph, "near_far", device, reduction="none") as whole,
        Solver(graph, "near_far", device, reduction="full") as reduced,
    ):
        whole.distances(0)
        reduced.distances(0)
        assert reduced.memory_bytes < 0.8 * whole.memory_bytes
        without = reduced.memory_bytes
        reduced.warm_up()
        assert reduced.memory_bytes >= without + 8 * graph.num_arcs


def test_a_failed_search_leaves_a_solver_that_works(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = road_grid(8, shape_nodes=2)

    def fail(self: ReducedSearch, *_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with Solver(graph, device=device, reduction="full") as solver:
        expected = solver.distances(1)
        with monkeypatch.context() as patch:
            patch.setattr(ReducedSearch, "begin", fail)
            patch.setattr(ReducedSearch, "begins_like", lambda _: "in another way")
            with pytest.raises(KeyboardInterrupt):
                solver.distances([(2, 0), (60, 9), (90, 4)])
        assert solver.last is None
        assert np.array_equal(solver.distances(1), expected)


def test_what_fails_in_the_making_gives_everything_back(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = road_grid(8, shape_nodes=2)
    Solver(graph, "near_far", device, reduction="full").close()
    before = device.memory_bytes

    for where in (ReducedSearch, NearFar):
        make: Any = where.__init__

        def fail(self: Any, *arguments: Any, make: Any = make, **options: Any) -> None:
            make(self, *arguments, **options)
            raise QueryError("no")

        with monkeypatch.context() as patch:
            patch.setattr(where, "__init__", fail)
            with pytest.raises(QueryError, match="no"):
                Solver(graph, "near_far", device, reduction="full")
        assert device.memory_bytes == before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_whatever_fails_on_the_way_nothing_is_left_behind(
    device: Device, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    """Each call to the driver fails once, while work may be under way that uses what is given back."""
    graph = road_grid(4, shape_nodes=2)

    def ask() -> int:
        with Solver(graph, algorithm, device, reduction="full") as solver:
            return solver.path(0, graph.num_nodes - 1).weight

    expected = ask()

    def check() -> None:
        assert ask() == expected

    assert fail_each_call(device, monkeypatch, check) > 80


def test_auto_reduces_where_it_pays(device: Device) -> None:
    large = road_grid(64, shape_nodes=3)
    for graph, pays in ((large, True), (grid(110), False), (road_grid(32, shape_nodes=3), False)):
        with Solver(graph, device=device, reduction="auto") as solver:
            assert (solver.core_nodes is not None) == pays
            assert solver.distances(1).tolist() == scipy_dijkstra(graph, 1).tolist()
    with Solver(grid(20), device=device, reduction="full") as solver:
        assert solver.core_nodes is not None and solver.core_nodes < 400 / 2
    renumbered = RenumberedGraph(large, keep=True)
    with (
        Solver(renumbered, device=device, reduction="auto") as one,
        Solver(renumbered, device=device, reduction="none") as other,
    ):
        assert one.core_nodes is not None and other.core_nodes is None
        assert np.array_equal(one.distances(5), other.distances(5))
    for counters, reduced in (("totals", True), ("trace", False)):
        with Solver(renumbered, device=device, reduction="auto", counters=counters) as solver:
            assert (solver.core_nodes is not None) == reduced


def test_what_reductions_there_are(device: Device) -> None:
    for wrong in ("some", "", 1):
        with pytest.raises(QueryError, match=r"reduction is .*; choose one of auto, none, full"):
            Solver(grid(3), device=device, reduction=wrong)  # type: ignore[arg-type]
    for name in ("dijkstra", "delta_step_buckets"):
        with pytest.raises(QueryError, match=r"reduction is 'full'.*CPU"):
            Solver(grid(3), name, reduction="full")
        with pytest.raises(QueryError, match="choose one of"):
            Solver(grid(3), name, reduction="some")
        with Solver(road_grid(8, shape_nodes=3), name, reduction="auto") as solver:
            assert solver.core_nodes is None


def test_graphs_of_no_nodes_and_of_one(device: Device) -> None:
    with Solver(Graph.from_edges([], [], [], num_nodes=0), device=device, reduction="full") as solver:
        assert solver.core_nodes == 0
        with pytest.raises(QueryError):
            solver.distances(0)
    with Solver(Graph.from_edges([], [], [], num_nodes=1), device=device, reduction="full") as solver:
        assert solver.distances(0).tolist() == [0]


@pytest.mark.parametrize(("limit", "eliminates"), [(100_000, False), (200_000, True)])
def test_small_devices(monkeypatch: pytest.MonkeyPatch, limit: int, eliminates: bool) -> None:
    graph = grid(64)
    monkeypatch.setenv(MASK_VARIABLE, f"storage_range={limit} workgroup_size=64 shared_memory=16384")
    with open_device() as small, Solver(graph, "block_resident", small, reduction="full") as solver:
        assert solver.core_nodes is not None and (solver.core_nodes < graph.num_nodes / 3) == eliminates
        for source in (0, 2000):
            assert solver.distances(source).tolist() == scipy_dijkstra(graph, source).tolist()
        assert solver.distance(5, 3999) == scipy_dijkstra(graph, 5)[3999]


def test_nothing_is_eliminated_once_weights_change(device: Device) -> None:
    """Unless the caller asks for it."""
    graph = road_grid(64, shape_nodes=3)
    for reduction in ("auto", "full"):
        with Solver(graph, device=device, reduction=reduction) as solver:
            before = solver.core_nodes
            assert before is not None and before < graph.num_nodes / 3
            for factor in (2, 3):
                solver.set_weights(graph.weight * factor)
                assert np.array_equal(solver.distances(7), scipy_dijkstra(solver.graph, 7))
                after = solver.core_nodes
                assert after is not None and (after == before) == (reduction == "full")


def test_pieces_of_hubs_do_not_share_places_with_eliminated_nodes(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_graph, "PIECE", 64)
    num, random = 300, np.random.default_rng(1)  # spokes around a hub, joined by a ring that is eliminated
    spoke, one, other = 1 + np.arange(num), 1 + num + np.arange(num), 1 + 2 * num + np.arange(num)
    pairs = [(0 * spoke, spoke), (spoke, one), (one, other), (other, np.roll(spoke, -1)), (one, np.roll(one, -1))]
    pairs.append((other, np.roll(other, -2)))
    tail, head = (np.concatenate(side) for side in zip(*pairs, strict=True))
    weight = random.integers(1, 50, len(tail)) + 500 * (tail == 0)
    graph = Graph.from_edges(tail, head, weight, undirected=True)
    with Solver(graph, "near_far", device, reduction="full") as solver:
        for source in (0, 1, 2, num + 7, 2 * num + 7):
            assert np.array_equal(solver.distances(source), heap_dijkstra(graph, source))


def test_large_cores_have_buckets_of_the_whole_graph(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = road_grid(128)
    expected = scipy_dijkstra(graph, 8000)
    # Workgroups, the caller's parameters, whether there are several buckets.
    for workgroups, chosen, several in ((64, {}, False), (2, {}, True), (2, {"delta": 2**30}, False)):
        monkeypatch.setitem(device.tuned, "block_resident.workgroups", workgroups)
        monkeypatch.setitem(device.tuned, "block_resident.workgroup_size", 64)
        monkeypatch.setitem(device.tuned, "block_resident.delta_per_mean", 40)
        with Solver(graph, "block_resident", device, reduction="full", **chosen) as solver:
            assert solver.core_nodes is not None and 512 < solver.core_nodes < graph.num_nodes / 8
            assert (solver.search([(8000, 0)]).counters["buckets"] > 1) == several
            assert np.array_equal(solver.distances(8000), expected)


@pytest.mark.parametrize("chosen", [{"workgroup_size": 1}, {"workgroup_size": 8}, {"block": 16}, {"rounds": 1}])
def test_large_cores_are_searched_with_any_parameters(
    device: Device, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, int]
) -> None:
    monkeypatch.setitem(device.tuned, "block_resident.workgroups", 1)
    graph = road_grid(128)
    with Solver(graph, "block_resident", device, reduction="full", **chosen) as solver:
        assert solver.core_nodes is not None and solver.core_nodes > 512
        assert np.array_equal(solver.distances(8000), scipy_dijkstra(graph, 8000))


def test_large_cores_are_searched_by_small_workgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MASK_VARIABLE, "workgroup_size=8")
    graph = road_grid(128)
    with open_device() as device:
        monkeypatch.setitem(device.tuned, "block_resident.workgroups", 1)
        with Solver(graph, "block_resident", device, reduction="full") as solver:
            assert np.array_equal(solver.distances(8000), scipy_dijkstra(graph, 8000))


def test_large_graphs_are_eliminated_from_on_request(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = road_grid(64, shape_nodes=3)
    monkeypatch.setattr(shared_graph, "MOST_NODES", 100)
    with Solver(graph, device=device) as usual, Solver(graph, device=device, reduction="full") as full:
        assert usual.core_nodes is not None and full.core_nodes is not None
        assert full.core_nodes < usual.core_nodes / 4
        assert np.array_equal(usual.distances(5), full.distances(5))
