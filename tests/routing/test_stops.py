"""Places with conditions: bearings, radiuses, sides of the street, hints, streets that trips may not begin on."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import ROAD, write_osm
from vkssp import NoStreetError, QueryError, Router, Stop, read_graph
from vkssp.graph import Graph

#: Two parallel two-way streets to the east, 44 m apart, joined at their beginnings, and at their ends by a one-way
#: street to the north.
NODES = {1: (0.0, 0.0), 2: (0.0, 0.004), 3: (0.0004, 0.0), 4: (0.0004, 0.004), 5: (0.0002, 0.004)}
WAYS = [(1, [1, 2], ROAD), (2, [3, 4], ROAD), (3, [2, 5, 4], {**ROAD, "oneway": "yes"}), (4, [1, 3], ROAD)]


@pytest.fixture(scope="module", params=["none", "costs"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("stops")
    return read_graph(write_osm(folder / "map.osm", NODES, WAYS), turns=request.param)


@pytest.fixture
def router(graph: Graph) -> Router:
    return Router(graph, "dijkstra", "cpu")


def test_a_bearing_decides_the_direction_of_departure_and_arrival(router: Router) -> None:
    east = Stop(0.0, 0.001, bearing=(90.0, 10.0))
    west = Stop(0.0, 0.001, bearing=(270.0, 10.0))
    target = (0.0, 0.002)
    assert router.route(east, target).distance_m == pytest.approx(111.3, rel=1e-2)
    round_trip = router.route(west, target)
    assert round_trip.distance_m is not None
    assert round_trip.distance_m > 200
    assert router.route((0.0, 0.0005), east).distance_m == pytest.approx(55.6, rel=1e-2)
    table = router.table([east, west], [target], metrics=["distance"]).read()["distance"]
    assert table[:, 0].tolist() == pytest.approx([router.route(east, target).distance_m, round_trip.distance_m])


def test_conditions_hold_for_trips_and_isochrones(router: Router) -> None:
    east, west = (Stop(0.0, 0.001, bearing=(bearing, 10.0)) for bearing in (90.0, 270.0))
    with_east = router.trip([east, (0.0, 0.002)], source="first", destination="last", roundtrip=False)
    with_west = router.trip([west, (0.0, 0.002)], source="first", destination="last", roundtrip=False)
    assert with_east.route.distance_m == pytest.approx(111.3, rel=1e-2)
    assert with_west.route.distance_m is not None
    assert with_west.route.distance_m > 200
    areas = [router.isochrones(place, 8.0)[0].area for place in (east, west)]
    assert areas[0].bounds[2] > areas[1].bounds[2]


def test_a_bearing_passes_over_nearer_streets(router: Router) -> None:
    (found,) = router.nearest(Stop(0.0001, 0.0038, bearing=(0.0, 20.0)))
    assert (found.snapped_lat, found.snapped_lon) == pytest.approx((0.0001, 0.004), abs=1e-7)
    assert found.nodes == (2, 5)
    with pytest.raises(NoStreetError, match="no street within 30 m meets its conditions"):
        router.nearest(Stop(0.0001, 0.0038, bearing=(180.0, 20.0), radius_m=30.0))


def test_at_a_junction_all_streets_that_meet_there_count(router: Router) -> None:
    corner = Stop(-0.0001, 0.0041, bearing=(0.0, 20.0))
    assert router.route(corner, (0.0003, 0.004)).distance_m == pytest.approx(33.4, rel=1e-2)
    back = Stop(-0.0001, 0.0041, bearing=(270.0, 20.0))
    assert router.route(back, (0.0, 0.003)).distance_m == pytest.approx(111.3, rel=1e-2)
    arrival = Stop(-0.0001, 0.0041, bearing=(90.0, 20.0))
    assert router.route((0.0, 0.003), arrival).distance_m == pytest.approx(111.3, rel=1e-2)
    assert router.route((0.0, 0.003), (0.0003, 0.004), via=[arrival]).distance_m == pytest.approx(144.7, rel=1e-2)


def test_the_side_of_the_street_decides_the_direction(router: Router) -> None:
    target = (0.0, 0.002)
    south = Stop(-0.00005, 0.001, approach="curb")
    assert router.route(south, target).distance_m == pytest.approx(111.3, rel=1e-2)
    north = router.route(Stop(0.00005, 0.001, approach="curb"), target).distance_m
    assert north is not None
    assert north > 200
    assert router.route(Stop(0.00005, 0.001, approach="opposite"), target).distance_m == pytest.approx(111.3, rel=1e-2)
    # One-way streets have no side to choose.
    assert router.nearest(Stop(0.0001, 0.0041, approach="curb"))[0].nodes == (2, 5)
    assert router.nearest(Stop(0.0001, 0.0041, approach="opposite"))[0].nodes == (2, 5)


def test_a_hint_stands_for_the_search_and_is_never_trusted(router: Router) -> None:
    (place,) = router.nearest((0.0001, 0.001))
    assert pickle.loads(pickle.dumps(place)).hint == place.hint
    for hint in (place.hint, place.hint[:-4], "x", "", "ä", "A" * len(place.hint)):
        assert router.nearest(Stop(0.0001, 0.001, hint=hint)) == [place]
    (other,) = router.nearest((0.0003, 0.002))
    assert router.nearest(Stop(0.0001, 0.001, hint=other.hint)) == [place]
    route = router.route(Stop(0.0001, 0.001, hint=place.hint), (0.0, 0.003))
    assert route.distance_m == router.route((0.0001, 0.001), (0.0, 0.003)).distance_m


def test_any_street_will_do_if_asked_for(tmp_path: Path) -> None:
    ways = [(1, [1, 2], ROAD), (2, [2, 4], {"route": "ferry"}), (3, [3, 4], ROAD)]
    with Router(read_graph(write_osm(tmp_path / "map.osm", NODES, ways)), "dijkstra", "cpu") as router:
        at_sea = (0.0002, 0.0041)
        assert router.nearest(at_sea)[0].nodes != (2, 4)
        assert router.nearest(at_sea, snapping="any")[0].nodes == (2, 4)
        assert router.route(at_sea, (0.0004, 0.002), snapping="any").distance_m == pytest.approx(244.6, rel=1e-2)


@pytest.mark.parametrize(
    "stop",
    [
        Stop(0.0, 0.001, bearing=(400.0, 10.0)),
        Stop(0.0, 0.001, bearing=(10.0, 181.0)),
        Stop(0.0, 0.001, bearing=90),  # type: ignore[arg-type]
        Stop(0.0, 0.001, radius_m=-1.0),
        Stop(0.0, 0.001, radius_m=math.nan),
        Stop(0.0, 0.001, approach="left"),
        Stop(0.0, 0.001, hint=3),  # type: ignore[arg-type]
    ],
)
def test_wrong_conditions_are_refused(router: Router, stop: Stop) -> None:
    with pytest.raises(QueryError, match=r"(bearing|radius|approach|hint) of from"):
        router.route(stop, (0.0, 0.002))


def test_snapping_agrees_with_all_pieces_compared(router: Router) -> None:
    random = np.random.default_rng(5)
    index = router.index
    pieces = [
        (line, begin, end)
        for line in range(index.num_polylines)
        for begin, end in pairwise(index.polyline_points(line).tolist())
    ]
    ways = {line: set(index.backward[index.arcs(line)].tolist()) for line in range(index.num_polylines)}
    for _ in range(100):
        lat, lon = random.uniform([-0.0001, -0.0001], [0.0005, 0.0041]).tolist()
        bearing, around = float(random.integers(0, 361)), float(random.integers(0, 181))
        radius = float(random.uniform(5, 60))
        best = math.inf
        for line, (lat0, lon0), (lat1, lon1) in pieces:
            up, aside = lat1 - lat0, lon1 - lon0
            part = min(1.0, max(0.0, ((lat - lat0) * up + (lon - lon0) * aside) / (up * up + aside * aside)))
            metres = math.hypot(lat0 + part * up - lat, lon0 + part * aside - lon) * 111_195
            own = round(math.degrees(math.atan2(aside, up)))
            turns = [own + 180 * backward - bearing for backward in ways[line]]
            if any(min(turn % 360, -turn % 360) <= around for turn in turns):
                best = min(best, metres)
        stop = Stop(lat, lon, bearing=(bearing, around), radius_m=radius)
        if best > radius:
            with pytest.raises(NoStreetError):
                router.nearest(stop)
        else:
            assert router.nearest(stop)[0].snapped_m == pytest.approx(best, abs=0.2)


@pytest.mark.parametrize("straight", [True, False])
def test_vias_may_be_passed_within_a_leg(router: Router, straight: bool) -> None:
    vias = [(0.0, 0.002), (0.0, 0.003), (0.0, 0.004), (0.0004, 0.003), (0.0004, 0.002)]
    ends = (0.0, 0.001), (0.0, 0.0015)
    each = router.route(*ends, via=vias, continue_straight=straight, steps=True)
    for waypoints in ([0, 6], [0, 3, 6], [0, 2, 4, 6], [0, 1, 2, 3, 4, 5, 6]):
        route = router.route(*ends, via=vias, continue_straight=straight, steps=True, waypoints=waypoints)
        assert len(route.legs) == len(waypoints) - 1
        assert route.weight == each.weight
        assert route.distance_m == pytest.approx(each.distance_m)
        assert route.points is not None
        assert each.points is not None
        assert {*map(tuple, route.points.tolist())} <= {*map(tuple, each.points.tolist())}
        kinds = [[step.type for step in leg.steps] for leg in route.legs]
        assert all(one[0] == "depart" and one[-1] == "arrive" and "arrive" not in one[1:-1] for one in kinds)
    # Turning round at a via point without a leg's end.
    back = router.route(
        (0.0, 0.001), (0.0, 0.0015), via=[(0.0, 0.003)], continue_straight=False, waypoints=[0, 2], steps=True
    )
    assert back.distance_m == pytest.approx((0.002 + 0.0015) * 111_195, rel=1e-2)
    assert [step.type for step in back.steps] == ["depart", "uturn", "arrive"]
    for wrong in ([0], [1, 6], [0, 3, 2, 6], [0, 7], []):
        with pytest.raises(QueryError, match="waypoints"):
            router.route(*ends, via=vias, waypoints=wrong)
