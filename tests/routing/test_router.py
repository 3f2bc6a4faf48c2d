from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely

from tests.support.graphs import grid, scipy_dijkstra
from tests.support.osm_maps import ROAD, snappable, write_osm
from tests.support.streetmaps import UNIT, street_map
from vkssp import UNREACHABLE, Graph, NoRouteError, QueryError, Route, Router, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.geo import haversine
from vkssp.routing.lines import Snap
from vkssp.routing.places import candidates
from vkssp.routing.snap import MAX_SNAP_M, StreetIndex


@pytest.fixture(scope="module")
def andorra(andorra_path: Path) -> Graph:
    return read_graph(andorra_path, turns="none")


def at(y: float, x: float) -> tuple[float, float]:
    return y * UNIT, x * UNIT


def check_shape(route: Route, graph: Graph) -> None:
    """Check that a route's points begin and end where it was snapped, hang together, and are as long as it says."""
    assert route.points is not None and route.origin is not None and route.destination is not None
    points = route.points
    assert np.allclose(points[0], (route.origin.snapped_lat, route.origin.snapped_lon), atol=1e-9)
    assert np.allclose(points[-1], (route.destination.snapped_lat, route.destination.snapped_lon), atol=1e-9)
    metres = float(haversine(*points[:-1].T, *points[1:].T).sum())
    assert route.distance_m == pytest.approx(metres, rel=1e-3, abs=0.5)
    for here, following in zip(route.arcs[:-1], route.arcs[1:], strict=True):
        assert graph.head[here] == graph.tail[following]


def test_a_route_between_the_middles_of_two_streets(device: Device) -> None:
    graph = street_map([(0, 0), (0, 10), (10, 10)], [(0, 1, 100), (1, 2, 200)])
    with Router(graph, device=device) as router:
        route = router.route(at(0.5, 2), at(5, 10.5))
    check_shape(route, graph)
    assert route.weight == 80 + 100
    assert route.duration_s == pytest.approx(18)
    assert route.nodes.tolist() == [1]
    assert route.origin is not None and route.destination is not None
    assert (route.origin.name, route.destination.name) == ("Street 0", "Street 1")
    assert route.origin.snapped_m == pytest.approx(0.5 * 111.2, rel=1e-2)
    assert np.allclose(route.points, [at(0, 2), at(0, 10), at(5, 10)], atol=1e-9)


def test_a_route_along_one_street_in_both_directions(device: Device) -> None:
    bend = [(0.0, 5.0), (5.0, 5.0)]
    graph = street_map([(0, 0), (5, 10)], [(0, 1, 150, bend)])
    with Router(graph, device=device) as router:
        there = router.route(at(0, 1), at(5, 9))
        back = router.route(at(5, 9), at(0, 1))
        nowhere = router.route(at(0, 2), at(0, 2))
    for route in (there, back, nowhere):
        check_shape(route, graph)
    assert there.points is not None and back.points is not None
    assert np.allclose(there.points, back.points[::-1])
    assert there.weight == back.weight == 130
    assert len(there.points) == 4 and len(there.nodes) == 0
    assert nowhere.weight == 0 and nowhere.distance_m == 0


def test_against_a_oneway_street_the_route_goes_round(device: Device) -> None:
    graph = street_map(
        [(0, 0), (0, 10), (10, 10), (10, 0)], [(0, 1, 100), (1, 2, 100), (2, 3, 100), (3, 0, 100)], oneways=(0,)
    )
    with Router(graph, device=device) as router:
        along, against = router.route(at(0, 2), at(0, 8)), router.route(at(0, 8), at(0, 2))
    check_shape(along, graph)
    check_shape(against, graph)
    assert along.weight == 60
    assert against.weight == 20 + 300 + 20


def test_the_way_round_is_taken_where_it_is_shorter_than_along_the_street(device: Device) -> None:
    detour = [(50.0, 0.0), (50.0, 10.0)]
    graph = street_map([(0, 0), (0, 10)], [(0, 1, 1100, detour), (0, 1, 100)])
    with Router(graph, device=device) as router:
        route = router.route(at(10, 0), at(10, 10))
    check_shape(route, graph)
    assert route.weight == pytest.approx(100 + 100 + 100, abs=1)


def test_loops_and_parallel_streets(device: Device) -> None:
    ring = [(0.0, 10.0), (10.0, 10.0), (10.0, 0.0)]
    graph = street_map([(0, 0), (0, -10)], [(0, 0, 400, ring), (0, 1, 100), (0, 1, 90, [(-5.0, -5.0)])])
    with Router(graph, device=device) as router:
        route = router.route(at(10, 5), at(0, -10))
        assert route.weight == pytest.approx(150 + 90, abs=1)
        check_shape(route, graph)
        assert router.route(at(0, 5), at(0, -10)).weight == pytest.approx(50 + 90, abs=1)
        inside = router.route(at(0, 9), at(9, 0))
        assert inside.weight == pytest.approx(90 + 90, abs=1), "through the ring's node, not three quarters round"
        check_shape(inside, graph)


def island_map(size: int, oneway: tuple[int, int] | None = None) -> Graph:
    """A large grid, and a line of `size` nodes north of it; -1 in a one-way street is a node south of the grid."""
    side = 40
    nodes = [(float(y), float(x)) for y in range(side) for x in range(side)]
    streets = [(y * side + x, y * side + x + 1, 10) for y in range(side) for x in range(side - 1)]
    streets += [(y * side + x, (y + 1) * side + x, 10) for y in range(side - 1) for x in range(side)]
    first = len(nodes)
    nodes += [(45.0, 0.05 * i) for i in range(size)]
    streets += [(first + i, first + i + 1, 1) for i in range(size - 1)]
    if oneway is None:
        return street_map(nodes, streets)  # type: ignore[arg-type]
    nodes.append((-10.0, 0.0))
    tail, head = (node % len(nodes) for node in oneway)
    return street_map(nodes, [*streets, (tail, head, 100)], oneways=(len(streets),))  # type: ignore[arg-type]


def test_an_island_of_a_few_nodes_is_passed_over(device: Device) -> None:
    graph = island_map(5)
    with Router(graph, device=device) as router:
        route = router.route(at(45, 0.1), at(0, 0))
        assert route.origin is not None and route.origin.snapped_lat == pytest.approx(39 * UNIT)
        assert route.weight == pytest.approx(390, abs=2)
        within = router.route(at(45, 0), at(45, 0.15))
        assert within.weight == 3, "but a route on the island stays there"


@pytest.mark.parametrize("leads_off", [False, True])
def test_an_island_is_passed_over_and_a_street_that_leads_nowhere_too(device: Device, leads_off: bool) -> None:
    """From an island to a one-way street out of nowhere, and from one that leads off the map to the island."""
    graph = island_map(5, (0, -1) if leads_off else (-1, 0))
    ends = at(45, 0.1), at(-9, 0)
    with Router(graph, device=device) as router:
        route = router.route(*(ends[::-1] if leads_off else ends))
    assert route.weight == pytest.approx(390, abs=2)


def test_a_real_island_has_no_route_to_the_mainland(device: Device) -> None:
    with (
        Router(island_map(1100), device=device) as router,
        pytest.raises(NoRouteError, match=r"from 0.04500,0.00010 to 0.00000,0.00000; the two may lie on separate"),
    ):
        router.route(at(45, 0.1), at(0, 0))


def test_a_street_that_cannot_be_left_is_passed_over_at_the_start(device: Device) -> None:
    nodes = [(0, 0), (0, 10), (0, 20), (5, 20)]
    graph = street_map(nodes, [(0, 1, 100), (1, 2, 100), (2, 3, 50)], oneways=(2,))  # type: ignore[arg-type]
    with Router(graph, device=device) as router:
        out = router.route(at(4, 20), at(0, 0))
        assert out.origin is not None and out.origin.snapped_lat == pytest.approx(0)
        into = router.route(at(0, 0), at(4, 20))
        assert into.destination is not None and into.destination.snapped_lat == pytest.approx(4 * UNIT)
        assert into.weight == 200 + 40


def test_a_graph_without_streets(device: Device) -> None:
    graph = grid(20, low=7, high=7)
    with Router(graph, device=device) as router:
        route = router.route(at(0, 0.5), at(10, 10.25))
    check_shape(route, graph)
    assert route.duration_s is None
    assert route.weight in range(7 * 20 - 2, 7 * 20 + 3)


@pytest.mark.parametrize(
    ("origin", "destination", "words"),
    [
        ((1.53, 42.51), (42.5, 1.5), "from is 1.53000,42.51000, which is not on this map; latitude and longitude are"),
        ((42.5, 1.5), (48.1, 11.5), "to is 48.10000,11.50000, which is not on this map; it reaches from LAT,LON 42.4"),
        ((float("nan"), 1.5), (42.5, 1.5), "give LAT,LON in degrees"),
        ((42.5, 1.5), (95.0, 1.5), "to is 95.00000,1.50000; give LAT,LON in degrees"),
        ((42.5, 1.5), (42.5, 1e9), "give LAT,LON in degrees"),
    ],
)
def test_places_off_the_map(
    device: Device, andorra: Graph, origin: tuple[float, float], destination: tuple[float, float], words: str
) -> None:
    with Router(andorra, device=device) as router, pytest.raises(QueryError, match=words):
        router.route(origin, destination)


def test_graphs_that_have_no_map(device: Device) -> None:
    with pytest.raises(QueryError, match="no coordinates"):
        Router(Graph.from_edges([0], [1], [1]), device=device)
    with pytest.raises(QueryError, match="no arcs"):
        Router(Graph.from_edges([], [], [], lat=[1.0], lon=[1.0]), device=device)


def test_snapping_finds_the_nearest_point(andorra: Graph) -> None:
    """Against shapely's own distances, on a plane at each place."""
    index = StreetIndex(andorra)
    rng, usable = np.random.default_rng(12), snappable(andorra)
    polyline = np.repeat(np.arange(index.num_polylines), np.diff(index.first))
    for _ in range(150):
        lat, lon = rng.uniform(index.south, index.north), rng.uniform(index.west, index.east)
        snap = index.nearest(lat, lon)
        plane = (index.points - (lat, lon)) * 111_195.08 * (1.0, np.cos(np.radians(lat)))
        lines = shapely.linestrings(plane, indices=polyline)
        metres = np.full(index.num_polylines, np.inf)
        metres[usable] = shapely.distance(lines[usable], shapely.Point(0, 0))
        assert snap is not None and metres.min() < MAX_SNAP_M
        assert snap.metres == pytest.approx(metres.min(), rel=1e-3, abs=0.01)
        assert metres[snap.polyline] == pytest.approx(metres.min(), abs=0.01)
        nearest = shapely.line_locate_point(lines[snap.polyline], shapely.Point(0, 0), normalized=True)
        assert snap.fraction == pytest.approx(nearest, abs=1e-3)


def best_weight(index: StreetIndex, start: Snap, end: Snap) -> float:
    """Return the best weight between two snapped points by trying all pairs of arcs, in fractions that do not round."""
    graph, best = index.graph, float("inf")

    def along(arc: int, snap: Snap) -> float:
        return 1 - snap.fraction if index.backward[arc] else snap.fraction

    for first in index.arcs(start.polyline).tolist():
        distances = scipy_dijkstra(graph, int(graph.head[first]))
        for last in index.arcs(end.polyline).tolist():
            between = int(distances[graph.tail[last]])
            here, there = along(first, start), along(last, end)
            if between != UNREACHABLE:
                best = min(best, (1 - here) * graph.weight[first] + between + there * graph.weight[last])
            if first == last and here <= there:
                best = min(best, (there - here) * graph.weight[first])
    return best


def test_routes_in_andorra_are_the_shortest(device: Device, andorra: Graph) -> None:
    rng = np.random.default_rng(13)
    with Router(andorra, device=device) as router:
        index = router.index
        for _ in range(40):
            places = [(rng.uniform(42.45, 42.62), rng.uniform(1.44, 1.7)) for _ in range(2)]
            route = router.route(*places)  # type: ignore[arg-type]
            check_shape(route, andorra)
            start, end = next(candidates(index, places, ["from", "to"]))  # type: ignore[arg-type]
            assert route.weight == pytest.approx(best_weight(index, start, end), abs=2)
            assert route.duration_s == pytest.approx(route.weight / 10)


def test_from_a_junction_every_street_may_be_taken(device: Device) -> None:
    """The street found first at (0, 10) is a one-way that leads away; standing on the junction one need not take it."""
    nodes = [(0, 10), (0, 20), (10, 10), (0, 0)]
    graph = street_map(nodes, [(0, 1, 50), (0, 2, 60), (3, 0, 70)], oneways=(0, 2))  # type: ignore[arg-type]
    with Router(graph, device=device) as router:
        there = router.route(at(0, 10), at(10, 10))
        back = router.route(at(10, 10), at(0, 10))
        nowhere = router.route(at(0, 10), at(0, 10))
    for route in (there, back, nowhere):
        check_shape(route, graph)
    assert there.weight == back.weight == 60 and there.nodes.tolist()[0] == 0
    assert nowhere.weight == 0


def test_nobody_boards_a_ferry_at_sea(device: Device) -> None:
    nodes = [(0, 0), (0, 10), (30, 10), (30, 20)]
    graph = street_map(nodes, [(0, 1, 100), (1, 2, 900), (2, 3, 100)], ferries=(1,))  # type: ignore[arg-type]
    with Router(graph, device=device) as router:
        route = router.route(at(20, 10.5), at(0, 5))
    check_shape(route, graph)
    assert route.origin is not None and route.origin.name == "Street 2"
    assert route.weight == 5 + 900 + 50


@pytest.mark.parametrize("points", [2, 9, 40])
def test_the_end_of_a_long_oneway_is_its_junction(device: Device, points: int) -> None:
    """However many pieces a street has, its end is its end: no detour round the block."""
    rng = np.random.default_rng(points)
    between = [
        (float(y), float(x)) for y, x in zip(rng.uniform(-1, 1, points), np.linspace(0.3, 9.7, points), strict=True)
    ]
    nodes = [(0.0, 0.0), (0.0, 10.0), (0.0, 20.0), (-30.0, 10.0)]
    streets = [(0, 1, 100, between), (1, 2, 100), (1, 3, 400), (3, 0, 400)]
    graph = street_map(nodes, streets, oneways=(0,))  # type: ignore[arg-type]
    with Router(graph, device=device) as router:
        for place in (at(0, 10), at(0.0001, 10), (0.0, 0.0100000004)):
            assert router.route(at(0, 15), place).weight == 50
            assert router.route(place, at(0, 15)).weight == 50


def test_fractions_run_from_zero_to_one_and_ends_are_exact(andorra: Graph) -> None:
    index = StreetIndex(andorra)
    for polyline in snappable(andorra)[::7]:
        points = index.polyline_points(polyline)
        for point, fraction in ((points[0], 0.0), (points[-1], 1.0)):
            snap = index.nearest(*point.tolist())
            assert snap is not None and (snap.lat, snap.lon) == tuple(point)
            assert snap.fraction in (0.0, 1.0)
            if snap.polyline == polyline and not np.array_equal(points[0], points[-1]):
                assert snap.fraction == fraction


def test_only_who_goes_through_a_gate_waits(device: Device, tmp_path: Path) -> None:
    gate = {"barrier": "gate"}
    nodes = {1: (42.5, 1.5), 2: (42.5, 1.51, gate), 3: (42.5, 1.52)}
    path = write_osm(tmp_path / "gate.osm", nodes, [(1, [1, 2, 3], {"highway": "tertiary"})])
    with Router(read_graph(path), device=device) as router:
        before = router.route((42.5, 1.501), (42.5, 1.509))
        through = router.route((42.5, 1.509), (42.5, 1.511))
    assert before.distance_m is not None and before.duration_s == pytest.approx(before.distance_m * 3.6 / 40, abs=0.2)
    assert through.distance_m is not None
    assert through.duration_s == pytest.approx(60 + through.distance_m * 3.6 / 40, abs=0.2)
    check_shape(through, router.graph)


def test_a_street_across_the_180th_meridian(device: Device, tmp_path: Path) -> None:
    nodes = {1: (-17.0, 179.98), 2: (-17.0, -179.98), 3: (-17.0, -179.96)}
    path = write_osm(tmp_path / "fiji.osm", nodes, [(1, [1, 2], ROAD), (2, [2, 3], ROAD)])
    with Router(read_graph(path), device=device) as router:
        route = router.route((-17.0, 179.995), (-17.0, -179.97))
        assert route.distance_m == pytest.approx(float(haversine(-17, 179.995, -17, 180.03)), rel=1e-3)
        assert route.origin is not None and route.origin.snapped_m < 1
        assert route.origin.snapped_lon == pytest.approx(179.995)
        east = router.route((-17.0, -179.985), (-17.0, 179.985))
        assert east.origin is not None and east.origin.snapped_lon == pytest.approx(-179.985)
        assert east.distance_m == pytest.approx(float(haversine(-17, 180.015, -17, 179.985)), rel=1e-3)
        with pytest.raises(QueryError, match="over 20 km from any road of this map"):
            router.route((-17.0, 0.0), (-17.0, 179.99))
