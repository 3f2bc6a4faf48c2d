"""Routers made from another one, with areas or another metric, against routers that were made so from the beginning."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.routing.test_excluding import NODES, WAYS, with_classes
from tests.support.osm_maps import write_osm
from vkssp import NoRouteError, QueryError, Router, prepare, read_graph
from vkssp.graph import Graph

PLACES = np.random.default_rng(5).uniform(0, 0.004, (12, 2)).tolist()


def square(lat: float, lon: float, half: float = 0.0004) -> dict[str, Any]:
    ring = [[lon + half * x, lat + half * y] for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
    return {"type": "Polygon", "coordinates": [ring]}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path = write_osm(tmp_path_factory.mktemp("derived") / "all.osm", NODES, WAYS)
    return with_classes(read_graph(path, turns="costs"))


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "prepared"])
def graph(request: pytest.FixtureRequest, plain: Graph) -> Graph:
    return prepare(plain) if request.param else plain


def assert_same(found: Router, expected: Router) -> None:
    for origin, destination in zip(PLACES[:6], PLACES[6:], strict=True):
        try:
            route = expected.route(origin, destination)
        except (NoRouteError, QueryError) as error:
            with pytest.raises(type(error)):
                found.route(origin, destination)
            continue
        same = found.route(origin, destination)
        assert (same.weight, same.duration_s) == (route.weight, pytest.approx(route.duration_s))
        assert same.distance_m == pytest.approx(route.distance_m)
    places = [PLACES[0], PLACES[6]]
    for one, other in zip(
        *(router.table(places, metrics="weight").read()["weight"] for router in (found, expected)), strict=True
    ):
        assert one.tolist() == other.tolist()
    assert found.isochrones(places[0], 60.0)[0].road_m == expected.isochrones(places[0], 60.0)[0].road_m


def test_areas_are_avoided_as_by_a_router_of_its_own(graph: Graph) -> None:
    near, far = square(0.0025, 0.0015), square(0.001, 0.003)
    both = {"type": "MultiPolygon", "coordinates": [near["coordinates"], far["coordinates"]]}
    with Router(graph, device="cpu") as router, Router(graph, device="cpu", avoid=both) as expected:
        found = router.avoiding(both)
        assert found.avoiding(near).graph is graph and router.avoiding(dict(both)) is found
        assert_same(found, expected)
        assert_same(router.avoiding(near).avoiding(far), expected)
        assert_same(router.excluding("toll").avoiding(both), expected.excluding("toll"))
        assert_same(router.avoiding(both).excluding("tunnel").excluding("toll"), expected.excluding(["tunnel", "toll"]))
        twice = graph.weight * np.uint32(2)
        router.set_weights(twice)
        expected.set_weights(twice)
        assert_same(router.excluding("toll").avoiding(both), expected.excluding("toll"))
    assert found.closed


def test_no_route_crosses_a_line(plain: Graph) -> None:
    line = {"type": "LineString", "coordinates": [[-0.001, 0.0015], [0.0025, 0.0015]]}
    with Router(plain, device="cpu") as router:
        found = router.avoiding(lines=line)
        ends = (0.0, 0.0), (0.004, 0.0)
        crossing = found.route(*ends).geometry
        assert found.route(*ends).distance_m > router.route(*ends).distance_m + 600
        assert not crossing.intersects(shapely.LineString(line["coordinates"]))
        both = router.avoiding(square(0.0015, 0.003), lines=line)
        assert both.route(*ends).distance_m > found.route(*ends).distance_m + 200
        for wrong, words in (
            ({"type": "Polygon"}, "lines is a Polygon; give a LineString"),
            ({"type": "LineString", "coordinates": [[0, 0]]}, "is no line"),
            ({"type": "MultiLineString", "coordinates": []}, "no line"),
            ("/etc/passwd", "no GeoJSON object"),
        ):
            with pytest.raises(QueryError, match=words):
                router.avoiding(lines=wrong)
        with pytest.raises(QueryError, match="nothing to avoid"):
            router.avoiding()


def test_other_metrics_are_minimized_as_by_a_router_of_its_own(graph: Graph) -> None:
    with Router(graph, device="cpu") as router, Router(graph, device="cpu", metric="distance") as expected:
        assert router.minimizing("duration") is router and router.minimizing("weight") is router
        found = router.minimizing("distance")
        assert found.metric == "distance" and router.minimizing("distance") is found
        assert_same(found, expected)
        assert_same(found.avoiding(square(0.001, 0.001)), expected.avoiding(square(0.001, 0.001)))
        assert_same(found.minimizing("duration"), router)
        router.set_weights(graph.weight * np.uint32(3))
        expected.set_weights(graph.weight * np.uint32(3))
        assert_same(router.minimizing("distance"), expected)
        with pytest.raises(QueryError, match="metric is 'time'"):
            router.minimizing("time")


def test_durations_of_a_graph_with_other_weights(tmp_path: Path) -> None:
    profile = tmp_path / "short.toml"
    profile.write_text('extends = "car"\n[weight]\nname = "distance"\n')
    path = write_osm(tmp_path / "all.osm", NODES, WAYS)
    with Router(read_graph(path, profile=profile, turns="costs"), device="cpu") as router:
        with Router(read_graph(path, turns="costs"), device="cpu") as timed:
            found = router.minimizing("duration")
            assert router.minimizing("weight") is router and found is not router
            ends = PLACES[0], PLACES[6]
            assert found.route(*ends).duration_s == pytest.approx(timed.route(*ends).duration_s, abs=1.0)


def test_few_routers_are_kept(plain: Graph) -> None:
    with Router(plain, device="cpu") as router:
        first = router.avoiding(square(0.001, 0.001))
        for number in range(1, 9):
            router.avoiding(square(0.001, 0.001 + 1e-5 * number))
        assert router.avoiding(square(0.001, 0.001)) is not first
        with pytest.raises(QueryError, match="touch every street"):
            router.avoiding(square(0.0, 0.0, 1.0))


def test_the_memory_of_routers_that_are_dropped_is_free_at_once(plain: Graph) -> None:
    with Router(plain, device="cpu") as router:
        gc.collect()
        gc.disable()  # it would free cycles, too, but only some time later
        try:
            solver = weakref.ref(router.avoiding(square(0.001, 0.001)).solver)
            for number in range(1, 9):
                router.avoiding(square(0.001, 0.001 + 1e-5 * number))
            assert solver() is None
        finally:
            gc.enable()
