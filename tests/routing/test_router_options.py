"""Routers around areas and by distance: tables agree with routes, and weights that change reach the right arcs."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.support.osm_maps import ANDORRA
from tests.support.street_plan import LONG, STREETS, at, box
from tests.support.streetmaps import UNIT, street_map
from tests.support.table_places import Place, places_of
from vkssp import UNREACHABLE, Graph, GraphError, NoRouteError, QueryError, Router, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.metric import METRICS
from vkssp.graph.traffic import speed_weights
from vkssp.solver.table_file import DTYPES

MIDDLE = box(-1, 40, 1, 60)


def rough(graph: Graph) -> Graph:
    """Return a graph with lengths and weights of which no two ways have the same sum."""
    assert graph.streets is not None
    random, length = np.random.default_rng(5), graph.streets.length
    longer = np.where(length > 0, length + random.uniform(0, 1000, graph.num_arcs), 0).astype(np.float32)
    weight = graph.weight.astype(np.int64) * 1000 + random.integers(0, 1000, graph.num_arcs)
    return replace(graph, streets=replace(graph.streets, length=longer)).with_weights(weight.astype(np.uint32))


def areas_on(graph: Graph, count: int) -> Any:
    """Return circles around some nodes of a graph."""
    assert graph.lat is not None and graph.lon is not None
    nodes = np.random.default_rng(9).integers(0, graph.num_nodes, count)
    return shapely.union_all(shapely.buffer(shapely.points(graph.lon[nodes], graph.lat[nodes]), 0.002))


def outside(router: Router, places: list[Place]) -> list[Place]:
    """Return the places that lie in no area to avoid."""
    avoided = router.index.avoided
    return [place for place in places if avoided is None or not avoided.covers(*place)]


def check_pairs(router: Router, sources: list[Place], targets: list[Place]) -> np.ndarray:
    """Check that a table holds what routes do, and return its weights."""
    found = router.table(sources, targets, list(DTYPES)).read()
    for i, origin in enumerate(sources):
        for j, destination in enumerate(targets):
            try:
                route = router.route(origin, destination)
            except NoRouteError:
                assert found["weight"][i, j] == UNREACHABLE
                assert np.isnan(found["duration"][i, j]) and np.isnan(found["distance"][i, j])
                continue
            assert found["weight"][i, j] == route.weight
            assert found["duration"][i, j] == pytest.approx(route.duration_s, rel=1e-6)
            assert found["distance"][i, j] == pytest.approx(route.distance_m, rel=1e-6, abs=1e-3)
    weight: np.ndarray = found["weight"]
    assert (weight != UNREACHABLE).any()
    return weight


def test_a_router_on_another_device_has_the_same_streets_and_weights_of_its_own(device: Device) -> None:
    graph = street_map(LONG, STREETS)
    with Router(graph, device="cpu", avoid=MIDDLE) as router:
        router.set_weights(2 * graph.weight)
        ends = at(0, 20), at(0, 80)
        with router.on_device(device, "near_far") as other:
            one, two = router.route(*ends), other.route(*ends)
            assert np.array_equal(one.arcs, two.arcs) and one.weight == two.weight and two.device == device.info.name
            assert other.index is router.index
            other.set_weights(graph.weight)
            assert 2 * other.route(*ends).weight == one.weight == router.route(*ends).weight
            assert len(other.isochrones(ends[0], 500)) == 1
        assert router.route(*ends).weight == one.weight


@pytest.mark.parametrize("turns", ["none", "costs"])
@pytest.mark.parametrize("metric", METRICS)
def test_tables_around_areas_and_by_distance_are_routes(device: Device, metric: str, turns: str) -> None:
    graph = rough(read_graph(ANDORRA, turns=turns))
    area = areas_on(graph, 25)
    places = {name: places_of(graph, 8, seed) for name, seed in (("sources", 1), ("targets", 2))}
    with (
        Router(graph, "dijkstra", metric=metric) as free,
        Router(graph, "near_far", device, metric=metric, avoid=area) as router,
    ):
        sources, targets = (outside(router, some) for some in places.values())
        targets += sources[:3]
        assert (check_pairs(router, sources, targets) > check_pairs(free, sources, targets)).any()
        assert router.table(sources).metrics == (metric,)


def test_metres_along_links_without_length(device: Device) -> None:
    """A gate is two arcs between the same nodes that have no length, and make a cycle of weight zero."""
    graph = street_map([(0, 0), (0, 10), (0, 10), (0, 20)], [(0, 1, 100), (1, 2, 50), (2, 3, 100)])
    with Router(graph, device=device, metric="distance") as router:
        found = router.table([at(0, 2)], [at(0, 15)], list(DTYPES)).read()
        route = router.route(at(0, 2), at(0, 15))
    assert found["duration"][0, 0] == pytest.approx(route.duration_s) and route.duration_s == pytest.approx(18.0)
    assert found["distance"][0, 0] == pytest.approx(route.distance_m)


@pytest.mark.parametrize("turns", ["none", "costs"])
@pytest.mark.parametrize("metric", METRICS)
def test_speeds_reach_what_areas_leave(device: Device, metric: str, turns: str) -> None:
    graph = read_graph(ANDORRA, turns=turns)
    assert graph.streets is not None
    area = areas_on(graph, 25)
    ways = np.unique(graph.streets.way)
    speeds = {int(way): 4.0 + way % 70 for way in ways[::2]}
    arcs, weights, expected = speed_weights(graph, speeds)
    whole = graph.weight.copy()
    whole[arcs] = weights
    with Router(graph, "near_far", device, metric=metric, avoid=area) as router:
        places = outside(router, places_of(graph, 8, 3))
        before = router.table(places, metrics=list(DTYPES)).read()
        assert router.set_speeds(speeds) == expected and expected.arcs == len(arcs)
        assert np.array_equal(router.graph.weight, whole)
        with Router(graph.with_weights(whole), "dijkstra", metric=metric, avoid=area) as fresh:
            tables = [one.table(places, metrics=list(DTYPES)).read() for one in (router, fresh)]
            assert all(np.array_equal(*(table[name] for table in tables)) for name in ("weight", "duration"))
            found = 0
            for first, via, last in zip(places, places[1:], places[2:], strict=False):
                try:
                    route, other = (one.route(first, last, via=[via], steps=True) for one in (router, fresh))
                except NoRouteError:
                    continue
                assert route.weight == other.weight and route.duration_s == pytest.approx(other.duration_s)
                steps = [step.duration_s or 0.0 for step in route.steps]
                assert sum(steps) == pytest.approx(route.duration_s)
                if turns == "none":
                    assert 0.1 * route.sum(router.graph.weight) == pytest.approx(route.duration_s, abs=0.3)
                found += 1
            assert found > 2
            reached = [[one.road_m for one in each.isochrones(places[0], [300, 900])] for each in (router, fresh)]
            assert reached[0] == reached[1]
        is_same = np.array_equal(before["weight"], tables[0]["weight"])
        assert is_same == (metric == "distance")
        assert not np.array_equal(before["duration"], tables[0]["duration"])
        router.set_weights(graph.weight)
        assert np.array_equal(router.table(places).read()[metric], before[metric], equal_nan=True)


def test_closed_streets_stay_closed_and_change_for_who_begins_there(device: Device) -> None:
    graph = street_map(LONG, STREETS)
    closed = np.flatnonzero(graph.weight == 1000)
    with Router(graph, "near_far", device, avoid=MIDDLE) as router:
        router.set_weights(np.full(len(closed), 10), closed)
        assert router.route(at(0, 20), at(0, -5)).weight == 2 + 50
        assert router.route(at(0, 20), at(0, 80)).weight == 2 + 1800 + 2
        assert router.table([at(0, 20)], [at(0, 80), at(0, -5)], ["weight"]).read()["weight"].tolist() == [[1804, 52]]
        assert router.set_speeds({100: 36.0, 103: 36.0}).arcs == 4
        route = router.route(at(0, 20), at(0, 80))
        length = router.index.length
        assert route.weight == pytest.approx(0.4 * length(int(closed[0])) + length(int(route.arcs[1])) + 900, abs=3)
        # All at once, and not at all after an error.
        router.set_weights(2 * graph.weight)
        changed = router.graph
        assert router.route(at(0, 20), at(0, -5)).weight == 2 * (200 + 50)
        for weights, arcs, message in (
            ([1], [graph.num_arcs], "go from 0 to"),
            ([1, 2], [0], "one weight per arc"),
            ([1], None, "entries"),
        ):
            with pytest.raises((GraphError, QueryError), match=message):
                router.set_weights(weights, arcs)
        assert router.graph is changed
        # The solver's own arcs are those that are left.
        searched = router.solver.graph
        assert searched.num_arcs == graph.num_arcs - len(closed)
        router.solver.set_weights(searched.weight // 2)
        assert router.route(at(0, 20), at(0, 80)).weight == 400 + 1800 + 400
        assert np.array_equal(router.graph.weight[closed], 2 * graph.weight[closed])
        with router.solver.holding(), pytest.raises(QueryError, match="cannot change inside of"):
            router.set_weights(graph.weight)


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_legs_over_via_points_have_the_weights_that_there_are(device: Device, turns: str) -> None:
    graph = read_graph(ANDORRA, turns=turns)
    slow = graph.with_weights(2 * graph.weight)
    with Router(graph, "near_far", device) as router, Router(slow, "dijkstra") as other:
        places = places_of(graph, 6, 7)
        router.set_weights(slow.weight)
        found = 0
        for first, second, third, last in zip(places, places[1:], places[2:], places[3:], strict=False):
            try:
                routes = [one.route(first, last, via=[second, third], steps=True) for one in (router, other)]
            except NoRouteError:
                continue
            assert routes[0].weight == routes[1].weight == sum(leg.weight for leg in routes[0].legs)
            for before, after in pairwise(routes[0].legs):
                assert before.destination == after.origin
            found += 1
    assert found


def test_queries_have_the_weights_of_one_moment(device: Device) -> None:
    """A route that begins on a closed street and goes on along open ones has all old weights, or all new ones."""
    graph = street_map(LONG, STREETS)
    over, straight = 200 + 50 + 50 + 1800 + 200, 200 + 1800 + 200
    with Router(graph, "near_far", device, avoid=MIDDLE) as router:
        stop = threading.Event()
        failures: list[BaseException] = []

        def change() -> None:
            try:
                while not stop.is_set():
                    for factor in (3, 1):
                        router.set_weights(factor * graph.weight)
            except BaseException as error:
                failures.append(error)

        other = threading.Thread(target=change)
        other.start()
        try:
            seen = {router.route(at(0, 20), at(0, 80), via=[at(0, -5)]).weight for _ in range(40)}
            rows = set()
            for _ in range(40):
                try:
                    rows.add(int(router.table([at(0, 20)], [at(0, 80)], ["weight"]).read()["weight"][0, 0]))
                except QueryError as error:
                    assert "weights changed while a table was made" in str(error)
        finally:
            stop.set()
            other.join()
    assert not failures
    assert seen <= {over, 3 * over} and rows <= {straight, 3 * straight}


def test_times_of_the_shortest_routes_change_alone(device: Device, tmp_path: Path) -> None:
    graph = street_map(LONG, STREETS)
    with Router(graph, device=device, metric="distance") as router:
        before = router.route(at(0, 20), at(0, 80), steps=True)
        router.set_weights(3 * graph.weight)
        after = router.route(at(0, 20), at(0, 80), steps=True)
        assert after.weight == before.weight and after.arcs.tolist() == before.arcs.tolist()
        assert after.duration_s == pytest.approx(3 * (before.duration_s or 0.0)) and before.duration_s == 60.0
        assert after.steps[0].duration_s == pytest.approx(after.duration_s)
        assert router.table([at(0, 20)], [at(0, 80)], ["duration"]).read()["duration"].tolist() == [[180.0]]
        assert np.array_equal(router.graph.weight, 3 * graph.weight)
        with pytest.raises(GraphError, match="one per arc"):
            router.set_weights([1])
    with pytest.raises(QueryError, match="closed"):
        router.set_weights(graph.weight)


def test_a_unit_is_a_tenth_of_a_metre(device: Device) -> None:
    graph = street_map([(0, 0), (0, 10)], [(0, 1, 100)])
    with Router(graph, device=device, metric="distance") as router:
        table = router.table([at(0, 0)], [at(0, 10)], ["weight", "distance"]).read()
    assert table["weight"][0, 0] == round(10 * float(table["distance"][0, 0]))
    assert table["distance"][0, 0] == pytest.approx(10 * UNIT * 111_195, rel=1e-3)
