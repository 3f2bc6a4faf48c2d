"""Tables: what they hold is what routes say, for nodes and for places within streets."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES, shared_data
from tests.support.graphs import EVERYWHERE, grid, make_solver, random_graphs, scipy_dijkstra
from tests.support.table_places import places_of
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, NoRouteError, QueryError, Router, Solver, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.metric import arc_lengths
from vkssp.solver import row_maker
from vkssp.solver.phantom_node import PhantomNodes
from vkssp.solver.table_maker import Goals, Maker, nodes_for, table_of_nodes


@pytest.mark.parametrize("algorithm", EVERYWHERE)
@settings(max_examples=max(2, EXAMPLES // 20))
@given(graph=random_graphs(max_nodes=30), seed=st.integers(0, 2**32 - 1))
def test_rows_are_distances(device: Device, algorithm: str, graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sources, targets = (rng.integers(0, graph.num_nodes, rng.integers(1, 8)) for _ in range(2))
    expected = np.stack([scipy_dijkstra(graph, int(source))[targets] for source in sources])
    with make_solver(graph, algorithm, device) as solver:
        assert np.array_equal(solver.table(sources, targets), expected)
        square = solver.table(sources)
        assert np.array_equal(square[:, 0], [scipy_dijkstra(graph, int(s))[sources[0]] for s in sources])


@settings(max_examples=EXAMPLES // 4)
@given(graph=random_graphs(max_nodes=30), seed=st.integers(0, 2**32 - 1))
def test_rows_of_a_reduced_graph_in_small_blocks(
    device: Device, monkeypatch: pytest.MonkeyPatch, graph: Graph, seed: int
) -> None:
    monkeypatch.setattr(row_maker, "MOST_ROWS", 2)
    sources = np.random.default_rng(seed).integers(0, graph.num_nodes, 5)
    with Solver(graph, "near_far", device, reduction="full") as solver:
        blocks = list(solver.table(sources, np.arange(graph.num_nodes), chunked=True))
    assert [len(block) for block in blocks] == [2, 2, 1]
    assert np.array_equal(np.concatenate(blocks), [scipy_dijkstra(graph, int(source)) for source in sources])


def test_what_is_no_table(device: Device) -> None:
    graph = grid(4)
    with Solver(graph, "near_far", device) as solver:
        for sources, targets, message in (
            ([], [1], "no sources; give at least one"),
            ([1], [], "no targets; give at least one"),
            ([16], [1], r"sources\[0\] is 16; node ids of this graph go from 0 to 15"),
            ([1], [0, -1], r"targets\[1\] is -1"),
            ([0.5], [1], r"sources\[0\] is 0.5"),
            ([[1]], [1], "2 dimensions"),
        ):
            with pytest.raises(QueryError, match=message):
                solver.table(sources, targets, chunked=True)
            with pytest.raises(QueryError, match=message):
                table_of_nodes(solver, sources, targets)
        for metrics, message in (
            (["duration"], "are no durations"),
            ([], "give some of"),
            (["weight", "weight"], "each once"),
            ("time", "give some of"),
            (["time"], "give some of"),
        ):
            with pytest.raises(QueryError, match=message):
                table_of_nodes(solver, [0], [1], metrics)
        rows = solver.table([0, 1], chunked=True)
    with pytest.raises(QueryError, match="closed"):
        next(rows)
    with Solver(Graph.from_edges([0], [1], [1]), "near_far", device) as solver:
        with pytest.raises(QueryError, match="no coordinates"):
            table_of_nodes(solver, [0], [1], ["distance"])


def test_targets_that_nothing_leads_to(device: Device) -> None:
    graph = grid(3)
    with Solver(graph, "near_far", device) as solver:
        maker = Maker(solver, ("distance", "weight"))
        nowhere, node_0 = PhantomNodes.at_nodes(np.zeros(0, np.uint32)), PhantomNodes.at_nodes(np.zeros(1, np.uint32))
        goals = Goals(graph, replace(nowhere, first=np.zeros(3, np.int64)), maker.figures)
        starts = replace(node_0, first=np.array([0, 1, 1]))
        (found,) = maker.found(starts, nodes_for(graph, [goals]), 8)
        block = maker.block(*goals.best(found))
    assert np.array_equal(block["weight"], np.full((2, 2), UNREACHABLE)) and np.isnan(block["distance"]).all()


def test_weights_that_change_end_a_table(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_maker, "MOST_ROWS", 1)
    graph = grid(4)
    with Solver(graph, "near_far", device) as solver:
        rows = solver.table([0, 1], chunked=True)
        next(rows)
        solver.set_weights(graph.weight)
        with pytest.raises(QueryError, match="weights changed while a table was made"):
            next(rows)


def test_only_targets_may_overflow(device: Device) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [2**32 - 2, 5])
    with Solver(graph, "near_far", device) as solver:
        assert next(solver.table([0, 2], [1], chunked=True)).tolist() == [[2**32 - 2], [UNREACHABLE]]
        with pytest.raises(DistanceOverflowError):
            next(solver.table([0], [2], chunked=True))


def test_tables_beside_other_queries(device: Device) -> None:
    graph = grid(20, seed=3)
    expected = [scipy_dijkstra(graph, node) for node in range(12)]
    with Solver(graph, "near_far", device) as solver:
        found: list[np.ndarray] = []
        other = threading.Thread(target=lambda: found.extend(solver.table(range(12), range(400), chunked=True)))
        other.start()
        for node in range(12):
            assert np.array_equal(solver.distances(node), expected[node])
        other.join()
    assert np.array_equal(np.concatenate(found), expected)


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
@pytest.mark.parametrize("name", ["monaco-osrm", "andorra"])
def test_pairs_are_routes(device: Device, andorra_path: Path, name: str, turns: str) -> None:
    path = andorra_path if name == "andorra" else shared_data(f"osm/{name}.osm.pbf")
    graph = read_graph(path, turns=turns)
    unit = graph.streets.seconds_per_weight  # type: ignore[union-attr]
    with Router(graph, "dijkstra") as router:
        sources, targets = places_of(graph, 10, 1), places_of(graph, 8, 2)
        targets += sources[:3]
        table = router.table(sources, targets, ["duration", "distance", "weight"])
        found = table.read()
        assert table.shape == (len(sources), len(targets))
        for i, origin in enumerate(sources):
            for j, destination in enumerate(targets):
                try:
                    route = router.route(origin, destination)
                except NoRouteError:
                    assert found["weight"][i, j] == UNREACHABLE
                    assert np.isnan(found["duration"][i, j]) and np.isnan(found["distance"][i, j])
                    continue
                assert found["weight"][i, j] == route.weight
                assert found["duration"][i, j] == np.float32(route.weight * unit)
        assert (found["weight"] != UNREACHABLE).any()
        assert np.array_equal(np.isnan(found["distance"]), np.isnan(found["duration"]))
        square = router.table(sources[:5]).read()["duration"]
        assert np.array_equal(square.diagonal(), np.zeros(5))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("small", [None, 50])
def test_some_rows_are_those_of_the_whole_table(andorra_path: Path, small: int | None, reverse: bool) -> None:
    graph = read_graph(andorra_path, turns="costs")
    with Router(graph, device="cpu", small_component_size=small) as router:
        places = places_of(graph, 12, 5)
        table = router.table(places, places[:7], ["duration", "distance"], reverse=reverse)
        nodes = table_of_nodes(router.solver, range(0, 900, 50), range(0, 600, 70), ["weight", "distance"])
        real = Solver(Graph.from_edges([0, 1, 2], [1, 2, 0], [0.5, 0.25, 4.0]), device="cpu")
        for one in (table, nodes, table_of_nodes(real, [2, 0, 1])):
            whole, count = one.read(), one.shape[0]
            for first, end in ((0, 1), (1, count), (2, count - 1)):
                for name in one.metrics:
                    part = one.part(first, end).read()[name]
                    assert np.array_equal(part, whole[name][first:end], equal_nan=part.dtype.kind == "f")
            assert one.part(1, count).part(1, 2).shape == (1, one.shape[1]) and not list(one.part(count, count))
            with pytest.raises(QueryError, match=f"end is {count + 1}; give a row from 1 to {count}"):
                one.part(1, count + 1)
        real.close()


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_metres_are_those_of_routes(device: Device, andorra_path: Path, turns: str) -> None:
    graph = read_graph(andorra_path, turns=turns)
    # With weights so few, many ways tie; some weigh nothing.
    graph = graph.with_weights(graph.weight // 100 if turns == "none" else graph.weight)
    places = places_of(graph, 9, 4)
    with Router(graph, "dijkstra") as router:
        found = router.table(places, metrics=["distance"]).read()["distance"]
        for i, origin in enumerate(places):
            for j, destination in enumerate(places):
                try:
                    expected = router.route(origin, destination).distance_m
                except NoRouteError:
                    expected = np.nan
                assert found[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-3, nan_ok=True)


@settings(max_examples=EXAMPLES // 2)
@given(graph=random_graphs(max_nodes=12))
def test_metres_between_nodes_are_those_of_the_route_also_where_ways_tie(device: Device, graph: Graph) -> None:
    assume(graph.lat is not None)
    length, nodes = arc_lengths(graph), range(graph.num_nodes)
    for algorithm in ("dijkstra", "near_far"):
        with make_solver(graph, algorithm, device) as solver:
            found = table_of_nodes(solver, nodes, metrics=["distance"]).read()["distance"]
            for source in nodes:
                for target in nodes:
                    try:
                        expected = length[solver.path(source, target).arcs].sum()
                    except NoRouteError:
                        expected = np.nan
                    assert found[source, target] == pytest.approx(expected, rel=1e-6, abs=1e-3, nan_ok=True)


def test_metres_where_a_cycle_weighs_nothing(device: Device) -> None:
    lat, lon = [0, 0, 0, 1], [0, 1, 2, 2]
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 1, 3], [4, 0, 0, 2], lat=lat, lon=lon)
    with Solver(graph, "near_far", device) as solver:
        assert table_of_nodes(solver, [0], [3]).read()["weight"].tolist() == [[6]]
        metres = table_of_nodes(solver, [0], [3], metrics=["distance"]).read()["distance"]
        assert metres[0, 0] == pytest.approx(arc_lengths(graph)[[0, 1, 3]].sum())


def test_places_that_are_nowhere_are_named(device: Device, andorra_path: Path) -> None:
    with Router(read_graph(andorra_path, turns="none"), "dijkstra") as router:
        place = (42.5075, 1.5218)
        for sources, targets, message in (
            ([place, (1.5218, 42.5075)], [place], "source 1 is .* swapped"),
            ([place], [place, place, (50.0, 8.0)], "target 2 is .* not on this map"),
            ([place, (1.0, 2.0, 3.0)], [place], "source 1 is .*; give a pair"),
            ([], [place], "no sources"),
            ([place], [], "no targets"),
            (5, [place], "sources is 5; give a list"),
        ):
            with pytest.raises(QueryError, match=message):
                router.table(sources, targets)  # type: ignore[arg-type]
