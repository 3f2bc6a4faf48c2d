"""Areas to avoid: what GeoJSON is taken, that nothing enters an area, and that the way around it is the best one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from tests.support.graphs import scipy_dijkstra
from tests.support.osm_maps import ANDORRA, read_plain
from tests.support.street_plan import LONG, STREETS, at, box
from tests.support.streetmaps import street_map
from tests.support.turn_maps import CROSS, ROADS, imported
from vkssp import UNREACHABLE, FormatError, Graph, NoRouteError, QueryError, Router, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.geo import METRES_PER_DEGREE
from vkssp.routing.areas import read_areas
from vkssp.routing.snap import StreetIndex

SQUARE = [[1.0, 2.0], [3.0, 2.0], [3.0, 4.0], [1.0, 4.0], [1.0, 2.0]]
HOLE = [[1.5, 2.5], [2.0, 2.5], [2.0, 3.0], [1.5, 2.5]]


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def feature(geometry: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": {}, "geometry": geometry}


def test_polygons_in_all_shapes_that_geojson_has(tmp_path: Path) -> None:
    whole, holed = shapely.Polygon(SQUARE), shapely.Polygon(SQUARE, [HOLE])
    far = shapely.box(10, 10, 11, 11)
    many = json.loads(shapely.to_geojson(shapely.MultiPolygon([holed, far])))
    collection = {"type": "FeatureCollection", "features": [feature(polygon(SQUARE)), feature(many)]}
    high = [[*position, 100.0] for position in SQUARE]
    for given, wanted in (
        (polygon(SQUARE), whole),
        (polygon(high), whole),
        (polygon(SQUARE, HOLE), holed),
        (many, holed | far),
        (feature(polygon(SQUARE, HOLE)), holed),
        (collection, whole | far),
        ({"type": "GeometryCollection", "geometries": [polygon(SQUARE), many]}, whole | far),
        (holed, holed),
    ):
        assert read_areas(given).equals(wanted)
    (tmp_path / "a.geojson").write_text(json.dumps(collection))
    assert read_areas(tmp_path / "a.geojson").equals(whole | far)
    assert read_areas(str(tmp_path / "a.geojson")).equals(whole | far)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "Point", "coordinates": [1, 2]}, "avoid is a Point; give a Polygon or MultiPolygon"),
        (feature({"type": "LineString"}), r"avoid\.geometry is a LineString; give"),
        (feature(None), r"avoid\.geometry is no GeoJSON object; give"),
        ([], "avoid is no GeoJSON object; give"),
        ({"type": "FeatureCollection"}, "FeatureCollection without a list of features"),
        ({"type": "FeatureCollection", "features": []}, "avoid holds no area"),
        ({"type": "MultiPolygon", "coordinates": []}, "avoid holds no area"),
        (polygon(), r"avoid\.coordinates has no rings"),
        (polygon(SQUARE[:3]), r"coordinates\[0\] is no ring; rings are lists of 4 positions or more"),
        (polygon(SQUARE[:-1]), r"\[0\] is not closed: it begins at \(1.0, 2.0\) and ends at \(1.0, 4.0\)"),
        (polygon([[1, 2], [3, 4], ["x", 2], [1, 2]]), r"\[0\]\[2\] is \['x', 2\]; give a position"),
        (polygon([[1, 2], [3, 4], 5, [1, 2]]), r"\[0\]\[2\] is 5; give a position"),
        (polygon([[1, 2], [3, 4], [1], [1, 2]]), r"\[0\]\[2\] is \[1\]; give a position"),
        (polygon([[1, 2], [3, 4], [5, 170], [1, 2]]), r"5.0, 170.0, which is no .*; GeoJSON has the longitude first"),
        (polygon([[1, 2], [3, 4], [500, 170], [1, 2]]), r"500.0, 170.0, which is no longitude and latitude[^;]*$"),
        (polygon([[1, 2], [3, 4], [float("nan"), 1], [1, 2]]), "no longitude and latitude"),
        (polygon([[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]), "is no valid polygon .Self-intersection"),
    ],
)
def test_areas_that_are_none(given: Any, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        read_areas(given)


def test_files_that_hold_no_areas(tmp_path: Path) -> None:
    (tmp_path / "broken.geojson").write_text('{"type": "Polygon", ')
    for name, words in (
        ("none.geojson", "does not exist; check the path"),
        ("broken.geojson", "is no GeoJSON file"),
        (".", "cannot read"),
    ):
        with pytest.raises(FormatError, match=words):
            read_areas(tmp_path / name)


def test_a_street_that_an_area_touches_serves_who_begins_or_ends_on_it(device: Device) -> None:
    graph = street_map(LONG, STREETS)
    with Router(graph, device=device, avoid=box(-1, 40, 1, 60)) as router:
        assert router.route(at(0, 20), at(0, -5)).weight == 200 + 50
        assert router.route(at(0, -5), at(0, 20)).weight == 200 + 50
        assert router.route(at(0, 10), at(0, 30)).weight == 200, "on the same side"
        round_it = router.route(at(0, 20), at(0, 80))
        assert round_it.weight == 200 + 1800 + 200
        through = router.route(at(0, -5), at(0, 105), via=[at(0, 20)])
        assert through.weight == 50 + 200 + 200 + 1800 + 50, "in and out again"
        # Arcs are those of the graph as it was given.
        assert graph.streets is not None and round_it.distance_m is not None
        assert round_it.sum(graph.streets.length) == pytest.approx(round_it.distance_m)
        assert router.graph is graph
    with Router(graph, device=device) as router:
        assert router.route(at(0, 20), at(0, 80)).weight == 600


def test_places_in_areas_and_beside_them(device: Device) -> None:
    graph = street_map(LONG, STREETS)
    with Router(graph, device=device, avoid=box(-1, 40, 1, 60)) as router:
        for query in (lambda: router.route(at(0.5, 50), at(0, 0)), lambda: router.isochrones(at(0.5, 50), [100])):
            with pytest.raises(QueryError, match=r"from is 0.00050,0.05000, which lies in an area to avoid"):
                query()
        with pytest.raises(QueryError, match=r"via point 1 is .* which lies in an area"):
            router.route(at(0, 0), at(0, 10), via=[at(0, 40)])
        # The nearest point of a street lies in the area; the next street is taken.
        beside = router.route(at(0, 0), at(2, 50))
        assert beside.destination is not None and beside.destination.name in ("Street 3", "Street 4")


def test_where_areas_leave_no_way(device: Device) -> None:
    graph = street_map(LONG, STREETS)
    with (
        Router(graph, device=device, avoid=box(-30, 40, 30, 60)) as router,
        pytest.raises(NoRouteError, match="or an area to avoid lies between"),
    ):
        router.route(at(0, 0), at(0, 100))
    with pytest.raises(QueryError, match="areas to avoid touch every street of the map"):
        Router(graph, device=device, avoid=box(-90, -90, 90, 200))
    with pytest.raises(QueryError, match="only with latitude and longitude swapped"):
        Router(graph, device=device, avoid=shapely.box(-0.001, 0.04, 0.001, 0.06))
    with pytest.raises(QueryError, match="avoid is a Point"):
        Router(graph, device=device, avoid=shapely.Point(1, 2))
    with Router(graph, device=device, avoid=shapely.box(50, 50, 51, 51)) as router:
        assert router.route(at(0, 20), at(0, 80)).weight == 600, "an area elsewhere changes nothing"


def best_around(router: Router, area: Any, start: Any, end: Any) -> float:
    """Return the best weight between two snapped points by trying all pairs of arcs that no area touches."""
    index, graph = router.index, router.graph
    lines = [shapely.LineString(index.polyline_points(line)[:, ::-1]) for line in range(index.num_polylines)]
    shut = shapely.intersects(lines, area)[index.polyline_of]

    def part(arc: int, low: float, high: float) -> bool:
        """Return whether no area touches a part of an arc."""
        if not shut[arc]:
            return True
        line = lines[index.polyline_of[arc]]
        if index.backward[arc]:
            line = shapely.reverse(line)
        shares = np.linspace(low, high, 2000)
        return not shapely.intersects(shapely.line_interpolate_point(line, shares, normalized=True), area).any()

    def along(arc: int, snap: Any) -> float:
        return 1 - snap.fraction if index.backward[arc] else float(snap.fraction)

    kept = np.flatnonzero(~shut)
    open_graph = Graph.from_edges(graph.tail[kept], graph.head[kept], graph.weight[kept], num_nodes=graph.num_nodes)
    best = float("inf")
    for first in index.arcs(start.polyline).tolist():
        here = along(first, start)
        if not part(first, here, 1.0):
            continue
        distances = scipy_dijkstra(open_graph, int(graph.head[first]))
        for last in index.arcs(end.polyline).tolist():
            there = along(last, end)
            between = int(distances[graph.tail[last]])
            if between != UNREACHABLE and part(last, 0.0, there):
                best = min(best, (1 - here) * graph.weight[first] + between + there * graph.weight[last])
            if first == last and here <= there and part(first, here, there):
                best = min(best, (there - here) * graph.weight[first])
    return best


def test_routes_around_areas_in_andorra_are_the_best(device: Device) -> None:
    graph = read_plain(ANDORRA)
    random, around = np.random.default_rng(21), 0
    with Router(graph, "dijkstra") as free:
        for _ in range(14):
            ends = [(random.uniform(42.45, 42.62), random.uniform(1.44, 1.7)) for _ in range(2)]
            route = free.route(*ends)  # type: ignore[arg-type]
            assert route.points is not None
            lat, lon = route.points[random.integers(len(route.points))].tolist()
            area = shapely.Point(lon, lat).buffer(0.004)
            with Router(graph, "dijkstra", avoid=area) as router:
                try:
                    found = router.route(*ends)  # type: ignore[arg-type]
                except (NoRouteError, QueryError):
                    continue
                assert found.points is not None
                assert not shapely.intersects(area, shapely.LineString(found.points[:, ::-1]))
                start, end = (
                    router.index.nearest(place.snapped_lat, place.snapped_lon)
                    for place in (found.origin, found.destination)
                    if place is not None
                )
                assert found.weight == pytest.approx(best_around(router, area, start, end), abs=2)
                around += found.weight > route.weight
    assert around > 2


@pytest.mark.parametrize("turns", ["restrictions", "costs"])
def test_areas_and_turns(tmp_path: Path, device: Device, turns: str) -> None:
    graph, _ = imported(tmp_path, CROSS, ROADS, turns=turns)
    area = shapely.box(0.0012, -0.0001, 0.0014, 0.0001)  # on the eastern street
    with Router(graph, device=device, avoid=area) as router:
        assert router.route((0.0, -0.001), (0.0, 0.001)).distance_m == pytest.approx(
            0.002 * METRES_PER_DEGREE, rel=1e-3
        )
        assert router.route((0.0, 0.001), (0.001, 0.0)).weight > 0
        with pytest.raises(NoRouteError):
            router.route((0.0, 0.0018), (0.0, -0.001))


def test_isochrones_keep_out_of_areas(tmp_path: Path, device: Device) -> None:
    """Roads are reached up to the area, from a place on a street, at a junction, and from elsewhere."""
    area = shapely.box(0.0010, -0.0005, 0.0014, 0.0005)
    metres = 0.001 * METRES_PER_DEGREE
    for turns in ("none", "restrictions", "costs"):
        graph, _ = imported(tmp_path, CROSS, ROADS, turns=turns)
        with Router(graph, device=device, avoid=area) as router:
            # West, north and south all of 2 units, east only one.
            for place in ((0.0, -0.001), (0.0, 0.0), (0.0, 0.0005)):
                (found,) = router.isochrones(place, [3600], width_m=5)
                assert found.road_m == pytest.approx(7 * metres, rel=1e-3), (turns, place)
                assert not found.area.buffer(-6 / METRES_PER_DEGREE).intersects(area)
            # Behind the area there is only the rest of the street.
            (behind,) = router.isochrones((0.0, 0.0018), [3600], width_m=5)
            assert behind.road_m == pytest.approx(0.6 * metres, rel=1e-3)
            (near,) = router.isochrones((0.0, 0.0005), [0.25 * metres * 3.6 / 25], width_m=5)
            assert near.road_m == pytest.approx(0.5 * metres, rel=0.05)  # the limit is rounded up


def test_isochrones_in_metres(device: Device) -> None:
    graph = read_graph(ANDORRA)
    with Router(graph, device=device, metric="distance") as router:
        near, far = router.isochrones((42.5073, 1.5342), [1000, 300.04])
        assert (near.metres, far.metres) == (pytest.approx(300.1), 1000.0) and near.seconds is None
        assert 300 < near.road_m < far.road_m
        assert near.origin is not None and near.origin.lat == 42.5073
        with pytest.raises(QueryError, match="give metres, more than 0"):
            router.isochrones((42.5073, 1.5342), [0])


def test_an_area_whose_border_leads_through_the_beginning_of_a_street() -> None:
    """Only by rounding the border of the first area, which leads through the point at 0.002, is beside it."""
    graph = street_map([(0, 2), (0, 0), (0, -2)], [(0, 1, 100), (1, 2, 100)])
    for corner, expected in ((0.0018, 0.0), (0.0008, 0.5)):
        ring = [[corner, -0.0008], [corner + 0.001, -0.0008], [corner, 0.0002], [corner, -0.0008]]
        avoided = StreetIndex(graph, read_areas(polygon(ring))).avoided
        assert avoided is not None
        assert avoided.free_part(np.array([[0.0, 0.002], [0.0, 0.0]])) == pytest.approx(expected, abs=1e-9)
