"""Isochrones: what lies within them, and what does not."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import shapely

from tests.support.graphs import heap_dijkstra, polar_grid, polar_lines, polar_place
from tests.support.street_grid import STEP, street_grid
from tests.support.turn_maps import CROSS, ROADS, imported
from vkssp import UNREACHABLE, Graph, QueryError, Router, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.geo import METRES_PER_DEGREE
from vkssp.routing.isochrone import DEFAULT_WIDTH_M, WIDTHS_M, isochrone_geojson, isochrones, write_isochrones
from vkssp.routing.phantoms import find_starts
from vkssp.routing.snap import StreetIndex
from vkssp.routing.street_reach import Begun


def at(lat: float, lon: float) -> shapely.Point:
    return shapely.Point(lon * STEP, lat * STEP)


def test_streets_are_reached_as_far_as_the_limit_goes() -> None:
    graph = street_grid(5)
    (found,) = isochrones(StreetIndex(graph), heap_dijkstra(graph, 12), [], [1500])
    area = found.area
    assert area.is_valid and found.limit == 1500 and found.seconds is None
    # From the middle: whole streets to the next junctions, and half of those behind them.
    for lat, lon in ((2, 2), (2, 3), (2, 3.45), (3, 2.45), (0.55, 2), (2.45, 3)):
        assert area.contains(at(lat, lon)), (lat, lon)
    for lat, lon in ((2, 3.55), (3.55, 2), (2.5, 2.5), (3, 3), (0, 0), (2.55, 3)):
        assert not area.contains(at(lat, lon)), (lat, lon)
    # Each direction counts for itself, as the graph does not know which arcs make one street.
    assert found.road_m == pytest.approx((4 + 4 * 0.5 + 12 * 0.5) * STEP * METRES_PER_DEGREE, rel=1e-6)


def test_one_way_streets_are_not_reached_against_their_direction() -> None:
    graph = street_grid(3, one_way=True)
    (found,) = isochrones(StreetIndex(graph), heap_dijkstra(graph, 4), [], [10**6])
    assert found.area.contains(at(2, 1)) and found.area.contains(at(1.5, 2)) and found.area.contains(at(2, 2))
    assert (
        not found.area.contains(at(1, 0.5)) and not found.area.contains(at(0, 1)) and not found.area.contains(at(0, 0))
    )


def test_the_way_begins_within_a_street() -> None:
    """A place a quarter along a street: 300 to its start, 900 to its end."""
    graph = Graph.from_edges([0, 1], [1, 0], [1200, 1200], lat=[0, 0], lon=[0, STEP])
    index, nowhere = StreetIndex(graph), np.full(2, UNREACHABLE, np.uint32)
    polyline = int(index.polyline_of[0])
    forward, back = Begun(polyline, 0.25, 1.0, True, 900), Begun(polyline, 0.0, 0.25, False, 300)
    for limit, low, high in ((90, 0.175, 0.325), (600, 0.0, 0.75), (900, 0.0, 1.0)):
        (found,) = isochrones(index, nowhere, [forward, back], [limit], width_m=5)
        west, _, east, _ = np.array(found.area.bounds) / STEP
        assert west == pytest.approx(low, abs=0.006) and east == pytest.approx(high, abs=0.006)
        assert found.road_m == pytest.approx((high - low) * STEP * METRES_PER_DEGREE, rel=1e-6)


def test_contours_lie_within_one_another_and_the_width_is_minded() -> None:
    graph = street_grid(9)
    index, distances = StreetIndex(graph), heap_dijkstra(graph, 40)
    found = isochrones(index, distances, [], [500, 1700, 2000, 9000])
    for inner, outer in pairwise(found):
        assert outer.area.buffer(1e-6).contains(inner.area) and outer.area.area > inner.area.area
        assert outer.road_m > inner.road_m
    (narrow,), (wide,) = (isochrones(index, distances, [], [1700], width_m=width) for width in (10, 100))
    assert narrow.area.contains(at(4, 5 + 0.69)) and not narrow.area.contains(at(4 + 50 / 1113, 4.5))
    assert wide.area.contains(at(4 + 50 / 1113, 4.5)) and not wide.area.contains(at(4 + 120 / 1113, 4.5))


def test_alone_the_blocks_between_streets_are_holes_unless_they_are_small() -> None:
    graph = street_grid(3)
    index, distances = StreetIndex(graph), heap_dijkstra(graph, 4)
    (fine,) = isochrones(index, distances, [], [10**5], width_m=20)
    assert len(fine.area.geoms) == 1 and len(fine.area.geoms[0].interiors) == 4
    (coarse,) = isochrones(index, distances, [], [10**5], width_m=200)
    assert not coarse.area.geoms[0].interiors


def test_areas_are_cut_at_the_180th_meridian() -> None:
    """A street of two arcs, the first of which crosses it."""
    for turn in (1, -1):
        lon = [turn * 179.999, turn * -179.998, turn * -179.997]
        graph = Graph.from_edges([0, 1], [1, 2], [9, 9], lat=[0.0, 0.0, 0.0], lon=lon)
        index = StreetIndex(graph)
        (found,) = isochrones(index, np.array([0, 9, 18], np.uint32), [], [18])
        written = shapely.from_geojson(json.dumps(isochrone_geojson([found])["features"][0]["geometry"]))
        west, _, east, _ = written.bounds
        assert (west, east) == (-180.0, 180.0) and shapely.is_valid(written)
        widths = sorted(part.bounds[2] - part.bounds[0] for part in written.geoms)
        cap = DEFAULT_WIDTH_M / METRES_PER_DEGREE
        assert widths == pytest.approx([0.001 + cap, 0.003 + cap], abs=1e-5)
        assert all(part.exterior.is_ccw for part in written.geoms)


@pytest.mark.parametrize("pole", [1, -1])
@pytest.mark.parametrize("middle", [(0.0, 0.0), (300.0, 450.0), (-4000.0, 10.0)])
def test_by_a_pole_they_are_as_wide_as_elsewhere(pole: int, middle: tuple[float, float]) -> None:
    graph = polar_grid(4, 1000.0, pole, *middle)
    lines, distances = polar_lines(graph, pole), heap_dijkstra(graph, 5)
    for found in isochrones(StreetIndex(graph), distances, [], [500, 10**6]):
        west, south, east, north = found.area.bounds
        assert found.area.is_valid and -180 <= west < east <= 180 and -90 <= south < north <= 90
        assert isochrone_geojson([found])["features"][0]["geometry"]["type"] == "MultiPolygon"
        reached = np.repeat(distances, np.diff(graph.first_out)) < found.limit
        whole = shapely.line_interpolate_point(lines[reached], min(1000.0, float(found.limit)))
        begin = shapely.get_point(lines[reached], 0)
        roads = shapely.union_all(
            shapely.linestrings(np.stack([shapely.get_coordinates([a, b]) for a, b in zip(begin, whole, strict=True)]))
        )
        x, y = np.random.default_rng(1).uniform(-1800, 1800, (2, 3000)) + np.reshape(middle, (2, 1))
        lat, lon = polar_place(x, y, pole)
        metres = shapely.distance(roads, shapely.points(x, y))
        sure = np.abs(metres - DEFAULT_WIDTH_M) > 8
        assert np.array_equal(shapely.intersects_xy(found.area, lon, lat)[sure], metres[sure] < DEFAULT_WIDTH_M)
    assert found.road_m == pytest.approx(48 * 1000.0, rel=1e-5)


def test_at_a_pole_all_longitudes_are_one_place() -> None:
    with Router(polar_grid(3, 200.0, 1), "dijkstra") as router:
        areas = [router.isochrones((90.0, lon), [1500])[0].area for lon in (-180.0, 0.0, 77.0)]
    assert areas[0].equals(areas[1]) and areas[0].equals(areas[2])
    assert areas[0].bounds[::2] == (-180, 180) and areas[0].bounds[3] == 90
    assert shapely.intersects_xy(areas[0], [-170, -45, 0, 10, 135], [90, 90, 90, 89.999, 90]).all()


def test_a_block_across_the_180th_meridian_is_one_and_all_areas_are_within_it() -> None:
    """Streets on both sides, and over it; the block in their middle is small, and filled."""
    plain = street_grid(4)
    assert plain.lat is not None and plain.lon is not None
    areas = []
    for lon in (0.0, 180.0):
        where = (plain.lon / 10 + lon - 0.0015 + 180) % 360 - 180
        graph = Graph.from_csr(plain.first_out, plain.head, plain.weight, lat=plain.lat / 10, lon=where)
        (found,) = isochrones(StreetIndex(graph), heap_dijkstra(graph, 5), [], [10**6])
        areas.append(found.area)
    here, there = areas
    assert len(there.geoms) == 2 and there.bounds[::2] == (-180, 180) and not any(p.interiors for p in there.geoms)
    assert there.area == pytest.approx(here.area, rel=1e-4)


def test_narrow_bands_are_valid_polygons(andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    distances = heap_dijkstra(graph, int(np.argmin(np.hypot(graph.lat - 42.5073, graph.lon - 1.5342))))  # type: ignore[operator]
    for width in WIDTHS_M[0], 2, 5:
        (found,) = isochrones(StreetIndex(graph), distances, [], [3000], width_m=width)
        assert shapely.is_valid(found.area) and len(found.area.geoms)
        for polygon in found.area.geoms:
            assert polygon.exterior.is_ccw and not any(hole.is_ccw for hole in polygon.interiors)


def test_on_a_real_map_it_holds_what_is_reached_and_nothing_far_from_it(andorra_path: Path) -> None:
    graph = read_graph(andorra_path)
    index = StreetIndex(graph)
    source = int(np.argmin(np.hypot(graph.lat - 42.5073, graph.lon - 1.5342)))  # type: ignore[operator]
    distances = heap_dijkstra(graph, source)
    limits = [int(seconds / graph.streets.seconds_per_weight) for seconds in (120, 480)]  # type: ignore[union-attr]
    for found in isochrones(index, distances, [], limits):
        assert found.area.is_valid
        nodes = shapely.points(graph.lon, graph.lat)
        tails = np.repeat(np.arange(graph.num_nodes), np.diff(graph.first_out))
        # A node is on land where some street that is no ferry begins there.
        inside = np.flatnonzero((distances <= found.limit) & np.isin(np.arange(graph.num_nodes), tails))
        assert len(inside) > 50 and shapely.contains(found.area, nodes[inside]).all()
        beyond = distances > found.limit + 60 / graph.streets.seconds_per_weight  # type: ignore[union-attr]
        assert shapely.contains(found.area, nodes[beyond]).mean() < 0.1


def test_geojson_has_the_largest_first_and_turns_as_it_should(tmp_path: Path) -> None:
    graph = street_grid(5)
    found = isochrones(StreetIndex(graph), heap_dijkstra(graph, 12), [], [500, 1500])
    write_isochrones(tmp_path / "i.geojson", found)
    written = json.loads((tmp_path / "i.geojson").read_text())
    assert written == isochrone_geojson(found)
    assert [feature["properties"]["limit"] for feature in written["features"]] == [1500, 500]
    for feature in written["features"]:
        assert feature["geometry"]["type"] == "MultiPolygon"
        for outer, *holes in feature["geometry"]["coordinates"]:
            assert shapely.is_ccw(shapely.LinearRing(outer))
            assert not any(shapely.is_ccw(shapely.LinearRing(hole)) for hole in holes)


def test_where_nothing_is_reached_the_area_is_empty() -> None:
    graph = street_grid(2)
    (found,) = isochrones(StreetIndex(graph), np.full(4, UNREACHABLE, np.uint32), [], [100])
    assert found.area.is_empty and found.area.geom_type == "MultiPolygon" and found.road_m == 0


def test_turns_take_their_time_before_a_street_is_travelled(tmp_path: Path) -> None:
    """From the middle of the western street, 16 s from the junction, on for 26 s: 10 s less what the turn takes."""
    graph, _ = imported(tmp_path, CROSS, ROADS, turns="costs")
    with Router(graph, "dijkstra") as router:
        start = router.index.nearest(0.0, -0.001)
        assert start is not None
        distances = router.solver.distances([(end.node, end.weight) for end in find_starts(router.index, start)])
        (found,) = isochrones(router.index, distances, [], [260])
    assert found.road_m == pytest.approx((3 * 10 - 7.3 - 2.1) * 25 / 3.6, abs=2)


def test_a_router_begins_within_a_street(tmp_path: Path, device: Device) -> None:
    """In the middle of the western street, 16 s from the junction and as far from its end."""
    graph, _ = imported(tmp_path, CROSS, ROADS, turns="none")
    metres = 25 / 3.6
    with Router(graph, device=device) as router:
        far, near = router.isochrones((0.0, -0.001), [22, 5], width_m=5)[::-1]
    assert (near.seconds, far.seconds) == (5, 22)
    assert near.road_m == pytest.approx(2 * 5 * metres, abs=1)
    west, _, east, _ = np.array(near.area.bounds) * METRES_PER_DEGREE
    middle = -0.001 * METRES_PER_DEGREE
    assert [west, east] == pytest.approx([middle - 5 * metres - 5, middle + 5 * metres + 5], abs=1)
    # The whole street, and 6 s of each of the other three.
    assert far.road_m == pytest.approx((2 * 16 + 3 * 6) * metres, abs=2)


def test_limits_and_widths_that_mean_nothing(device: Device) -> None:
    with Router(street_grid(3), device=device) as router:
        for limits in ([], [0], [-5], [float("nan")], [float("inf")], [2**32], ["x"], None):
            with pytest.raises(QueryError, match=r"limits is .*; give seconds or weights, more than 0"):
                router.isochrones((STEP, STEP), limits)  # type: ignore[arg-type]
        for width in (float("nan"), -1, 0.1, 1e7, "wide", None):
            with pytest.raises(QueryError, match=r"width is .*; give metres, from 1 to 10,000"):
                router.isochrones((STEP, STEP), [5], width)  # type: ignore[arg-type]
        with pytest.raises(QueryError, match="not on this map"):
            router.isochrones((50, 50), [5])
