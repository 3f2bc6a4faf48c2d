"""The streets near a place, against distances on a plane by shapely."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shapely

from tests.support.graphs import polar_grid, polar_lines, polar_place
from tests.support.osm_maps import import_plain, snappable
from vkssp import Graph, QueryError, Router, Stop, read_graph
from vkssp.errors import NoStreetError
from vkssp.gpu.device import Device
from vkssp.graph.geo import METRES_PER_DEGREE, metres_between
from vkssp.routing.places import nearest_places
from vkssp.routing.snap import MAX_SNAP_M, StreetIndex


def test_the_nearest_streets_are_those_that_shapely_finds(andorra_path: Path) -> None:
    graph, _ = import_plain(andorra_path)
    index, rng = StreetIndex(graph), np.random.default_rng(4)
    assert graph.lat is not None and graph.lon is not None and graph.streets is not None
    scale = METRES_PER_DEGREE * np.array([np.cos(np.radians(42.5)), 1.0])
    usable = snappable(graph)
    lines = np.array([shapely.LineString(graph.streets.polyline_points(p)[:, ::-1] * scale) for p in usable])
    for node in rng.integers(0, graph.num_nodes, 20).tolist():
        lat, lon = graph.lat[node] + rng.normal(0, 2e-3), graph.lon[node] + rng.normal(0, 2e-3)
        metres = np.sort(shapely.distance(lines, shapely.Point(np.array([lon, lat]) * scale)))
        for number in (1, 7):
            found = index.nearest_streets(lat, lon, number)
            assert len({snap.polyline for snap in found}) == len(found) == number
            # Ends are snapped to junctions from a metre off.
            assert [snap.metres for snap in found] == pytest.approx(metres[:number].tolist(), rel=0.01, abs=1.5)


def test_there_may_be_fewer_streets_than_were_asked_for(device: Device) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1, 1], lat=[0, 0, 0], lon=[0, 0.001, 0.002])
    index = StreetIndex(graph)
    found = nearest_places(index, (0.0001, 0.0004), 5)
    assert [round(place.snapped_lon, 6) for place in found] == [0.0004, 0.001]
    with Router(graph, device=device) as router:
        assert router.nearest((0.0001, 0.0004), 5) == found and router.nearest((0.0001, 0.0004)) == found[:1]
    for number in (0, -1, 1.5, None):
        with pytest.raises(QueryError, match=r"number is .*; give how many streets"):
            nearest_places(index, (0, 0), number)  # type: ignore[arg-type]


def test_arcs_both_ways_are_one_street() -> None:
    """Five times the same two nodes, either way, and then another street."""
    graph = Graph.from_edges([0, 1] * 5 + [1], [1, 0] * 5 + [2], [1] * 11, lat=[0, 0, 0], lon=[0, 0.001, 0.002])
    found = nearest_places(StreetIndex(graph), (0.0001, 0.0004), 2)
    assert [round(place.snapped_lon, 6) for place in found] == [0.0004, 0.001]


def test_many_places_at_once_are_found_as_one_by_one(andorra_path: Path) -> None:
    graph = read_graph(andorra_path, turns="none")
    index = StreetIndex(graph)
    rng = np.random.default_rng(3)
    bounds = (index.south - 0.3, index.west - 0.3), (index.north + 0.3, index.east + 0.3)
    places = np.concatenate([rng.uniform(*bounds, (400, 2)), index.points[::97], index.points[:3]])
    for options in ({}, {"leaving": True}, {"reached": True}, {"limit": 50.0}, {"limit": 300.0, "reached": True}):
        found = index.nearest_of_each(places, **options)  # type: ignore[arg-type]
        assert found == [index.nearest(lat, lon, **options) for lat, lon in places.tolist()]  # type: ignore[arg-type]
        assert all(snap.metres <= options.get("limit", MAX_SNAP_M) * 1.01 for snap in found if snap)
        assert None in found, "some are far from any street"
    assert index.nearest_of_each(np.empty((0, 2))) == []


@pytest.mark.parametrize("pole", [1, -1])
def test_by_a_pole_the_nearest_streets_are_those_that_shapely_finds(pole: int) -> None:
    graph = polar_grid(4, 700.0, pole, 500.0, -200.0)
    index, lines = StreetIndex(graph), polar_lines(graph, pole)
    x, y = np.random.default_rng(2).uniform(-2000, 2000, (2, 60))
    x[0] = y[0] = 0.0
    places = np.stack(polar_place(x, y, pole), axis=1)
    places[1] = pole * 90, 123.0
    x[1] = y[1] = 0.0
    for place, snap, at in zip(places.tolist(), index.nearest_of_each(places), zip(x, y, strict=True), strict=True):
        assert snap is not None and snap == index.nearest(*place) and -180 <= snap.lon <= 180
        assert snap.metres == pytest.approx(shapely.distance(lines, shapely.Point(at)).min(), rel=1e-4, abs=0.2)
        (found,) = nearest_places(index, (place[0], place[1]))
        assert found.snapped_m == snap.metres


def test_a_street_over_a_pole() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], [9, 9], lat=[89.99, 89.99], lon=[-30, 150])
    with Router(graph, "dijkstra") as router:
        assert router.nearest((90.0, 12.0))[0].snapped_m == pytest.approx(0, abs=0.01)
        beside = router.nearest((89.999, 60.0))[0]
        assert beside.snapped_lat == pytest.approx(90.0) and beside.snapped_m == pytest.approx(111.2, abs=0.1)
        route = router.route((90.0, 0.0), (89.993, 150.0))
        assert route.distance_m == pytest.approx(0.007 * METRES_PER_DEGREE, rel=1e-3)
    for place, words in (((89.9, 0.0), "not on this map"), ((-90.0, 0.0), "not on this map")):
        with pytest.raises(QueryError, match=words):
            nearest_places(StreetIndex(graph), place)


def test_many_places_where_the_map_begins_again() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1, 1, 1], lat=[0, 0, 0.01], lon=[179.999, -179.999, -179.998])
    index = StreetIndex(graph)
    places = np.random.default_rng(1).uniform((-0.01, 179.99), (0.01, 180), (20, 2))
    places[::2, 1] -= 359.99
    assert index.nearest_of_each(places) == [index.nearest(lat, lon) for lat, lon in places.tolist()]


def test_places_at_any_distance_have_a_nearest_street(andorra_path: Path, device: Device) -> None:
    graph = read_graph(andorra_path, turns="none")
    index = StreetIndex(graph, radius_m=math.inf)
    places = np.concatenate(
        [
            np.random.default_rng(5).uniform((38, -3), (46, 6), (40, 2)),
            [(0, 0), (-90, 7), (90, 0), (89.9, -170), (9, 180)],
        ]
    )
    points = snappable_points(graph)
    for place, snap in zip(places.tolist(), index.nearest_of_each(places), strict=True):
        assert snap is not None
        metres = metres_between(*place, snap.lat, snap.lon)
        # Streets far away are compared on a plane at the place.
        assert metres <= 1.1 * min(metres_between(*place, *point) for point in points)
        found = index.nearest_streets(*place, 3)
        assert len(found) == 3 and found[0].metres == pytest.approx(snap.metres, rel=1e-3)
    with Router(graph, device=device, radius_m=math.inf) as router:
        assert router.nearest((41.0, 3.0))[0].snapped_m > 100_000
        assert router.nearest(Stop(41.0, 3.0, bearing=(90, 20)))[0].snapped_m > 100_000
        with pytest.raises(NoStreetError, match="no street within 1000 m meets"):
            router.nearest(Stop(41.0, 3.0, radius_m=1000.0))
    with pytest.raises(QueryError, match="radius is -1; give metres, 0 or more, or infinity"):
        StreetIndex(graph, radius_m=-1)


def snappable_points(graph: Graph) -> list[list[float]]:
    """Return some points of streets that places may be snapped to."""
    assert graph.streets is not None
    return [graph.streets.polyline_points(line)[0].tolist() for line in snappable(graph)[::20]]
