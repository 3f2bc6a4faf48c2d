"""Map matching: against all sequences of streets on small maps, and the routes that traces were made from."""

from __future__ import annotations

import math
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.osm_maps import ANDORRA
from tests.support.streetmaps import UNIT, street_map
from vkssp import Graph, Matching, NoRouteError, QueryError, Route, Router, Stop, read_graph
from vkssp.graph.geo import haversine, metres_between

CORNERS = [(y, x) for y in range(3) for x in range(3)]
EDGES = [(a, b) for a in range(9) for b in range(9) if b in (a + 1, a + 3) and (b % 3 or b == a + 3)]
RADIUS, BETA, TURN = 25.0, 10.0, 50.0


def log_probability(crow: float, metres: float, away: float) -> float:
    return -0.5 * (away / RADIUS) ** 2 - math.log(RADIUS) - abs(metres - crow) / BETA


def states_near(graph: Graph, place: tuple[float, float]) -> list[tuple[int, float, float]]:
    """Return the arcs within three radiuses of a place, each with the part before the nearest point, and its metres."""
    assert graph.lat is not None and graph.lon is not None
    found = []
    for arc in range(graph.num_arcs):
        a, b = (np.array([graph.lat[end], graph.lon[end]]) for end in (graph.tail[arc], graph.head[arc]))
        part = float(np.clip(np.dot(np.array(place) - a, b - a) / np.dot(b - a, b - a), 0.0, 1.0))
        away = metres_between(*place, *(a + part * (b - a)).tolist())
        if away <= 3.0 * RADIUS:
            found.append((arc, part, away))
    return found


@given(
    st.lists(st.tuples(st.sampled_from(EDGES), st.integers(50, 200), st.booleans()), min_size=4, max_size=10,
             unique_by=lambda edge: edge[0]),
    st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2)), min_size=2, max_size=3),
)  # fmt: skip
@settings(max_examples=EXAMPLES)
def test_no_sequence_of_streets_is_more_probable(
    edges: list[tuple[tuple[int, int], int, bool]], trace: list[tuple[float, float]]
) -> None:
    oneways = tuple(at for at, (_, _, oneway) in enumerate(edges) if oneway)
    graph = street_map(CORNERS, [(*ends, weight) for ends, weight, _ in edges], oneways)
    places = [(y * UNIT, x * UNIT) for y, x in trace]
    streets: Any = graph.streets
    with Router(graph, "dijkstra", "cpu") as router:
        try:
            matching = router.match(places, radiuses=RADIUS)
        except NoRouteError:
            matching = None
        except QueryError:  # a street may be farther than a kilometre
            return
    states = [states_near(graph, place) for place in places]
    plain = nx.DiGraph()
    for arc, (tail, head) in enumerate(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)):
        plain.add_edge(tail, head, weight=int(graph.weight[arc]), metres=float(streets.length[arc]))
    paths = dict(nx.all_pairs_dijkstra_path(plain))
    reverse = {
        (int(a), int(b)): arc for arc, (a, b) in enumerate(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    }

    def metres_of(start: tuple[int, float, float], goal: tuple[int, float, float]) -> float | None:
        if (
            start[0] == goal[0]
            and goal[1] * streets.length[goal[0]] >= start[1] * streets.length[start[0]] - 1.5 * RADIUS
        ):
            return float((goal[1] - start[1]) * streets.length[goal[0]])
        a, b = int(graph.head[start[0]]), int(graph.tail[goal[0]])
        if b not in paths.get(a, {}):
            return None
        between = sum(plain.edges[pair]["metres"] for pair in pairwise(paths[a][b]))
        return float((1 - start[1]) * streets.length[start[0]] + between + goal[1] * streets.length[goal[0]])

    best = -math.inf
    for sequence in product(*states):
        score = -0.5 * (sequence[0][2] / RADIUS) ** 2 - math.log(RADIUS)
        for at, (start, goal) in enumerate(pairwise(sequence)):
            crow = metres_between(*places[at], *places[at + 1])
            back = reverse.get((int(graph.head[start[0]]), int(graph.tail[start[0]])))
            ways = [(start, 0.0)] + ([((back, 1 - start[1], start[2]), TURN / BETA)] if back is not None else [])
            options = [
                log_probability(crow, metres, goal[2]) - cost
                for way, cost in ways
                if (metres := metres_of(way, goal)) is not None and abs(metres - crow) < 2000
            ]
            score += max(options, default=-math.inf)
        best = max(best, score)
    if matching is None or len(matching.routes[0].legs) < len(places) - 1:
        assert best == -math.inf
        return
    assert 0.0 < matching.confidence[0] <= 1.0
    if any(leg.distance_m == 0.0 for leg in matching.routes[0].legs):
        return  # a vehicle that stands still stays where it was, so that the next leg is not as long as the model's
    assert score_of(graph, matching, places) == pytest.approx(
        best, abs=0.05
    )  # points within 0.1 m of a junction are on it


def score_of(graph: Graph, matching: Matching, places: list[tuple[float, float]]) -> float:
    """Return the logarithm of the probability of a matching, by its legs."""
    (route,) = matching.routes
    streets: Any = graph.streets

    def away(place: tuple[float, float], arc: int) -> float:
        # Not the distance of the matched point: that of a vehicle that stands still stays where it was.
        return next(metres for state, _, metres in states_near(graph, place) if state == arc)

    score = -0.5 * (away(places[0], int(route.arcs[0])) / RADIUS) ** 2 - math.log(RADIUS)
    before = None
    for at, leg in enumerate(route.legs):
        crow = metres_between(*places[at], *places[at + 1])
        score += log_probability(crow, leg.distance_m, away(places[at + 1], int(leg.arcs[-1])))
        here = [(int(streets.polyline[arc]), bool(streets.backward[arc])) for arc in leg.arcs[[0, -1]]]
        if before is not None and before != here[0]:
            assert before[0] == here[0][0]
            score -= TURN / BETA
        before = here[1]
    return score


def along(route: Route, spacing: float, noise: float, seed: int) -> list[tuple[float, float]]:
    """Return positions along a route, with noise in metres."""
    points = route.points
    assert points is not None
    passed = np.concatenate([[0.0], np.cumsum(haversine(*points[:-1].T, *points[1:].T))])
    at = np.arange(0.0, passed[-1], spacing)
    places = np.stack([np.interp(at, passed, degrees) for degrees in points.T], axis=1)
    wide = np.array([1.0, np.cos(np.radians(places[0, 0]))])
    places += np.random.default_rng(seed).normal(0, noise, places.shape) / 111_195 / wide
    return [(lat, lon) for lat, lon in places.tolist()]


@pytest.fixture(scope="module")
def router() -> Any:
    with Router(read_graph(ANDORRA), device="cpu") as made:
        yield made


@pytest.mark.parametrize(("spacing", "noise", "radius"), [(40.0, 4.0, 5.0), (300.0, 8.0, 10.0)])
def test_the_route_of_a_trace_is_found(router: Router, spacing: float, noise: float, radius: float) -> None:
    route = router.route((42.5078, 1.5211), (42.5425, 1.7337))
    trace = along(route, spacing, noise, 5)
    matching = router.match(trace, 5.0 * np.arange(len(trace)), radius, max_speed_kmh=300.0, steps=True)
    found = [arc for one in matching.routes for arc in one.arcs.tolist()]
    metres = router.graph.streets.length  # type: ignore[union-attr]
    true, got = set(route.arcs[1:-1].tolist()), set(found)
    assert metres[sorted(true & got)].sum() > 0.97 * metres[sorted(true)].sum()
    assert sum(len(one.legs) for one in matching.routes) == sum(p is not None for p in matching.tracepoints) - len(
        matching.routes
    )
    for one in matching.routes:
        for before, after in pairwise(one.legs):
            assert before.points[-1].tolist() == after.points[0].tolist()
            assert before.destination.snapped_lat == after.origin.snapped_lat
        assert one.weight == sum(leg.weight for leg in one.legs)
        assert one.points is not None
        drawn = haversine(*one.points[:-1].T, *one.points[1:].T).sum()
        assert one.distance_m == pytest.approx(drawn, rel=1e-3, abs=0.5)
        assert one.steps[0].type == "depart" and one.steps[-1].type == "arrive"


def test_waypoints_join_legs_into_the_same_route(router: Router) -> None:
    route = router.route((42.5078, 1.5211), (42.5361, 1.5828))
    trace = along(route, 50.0, 2.0, 1)
    whole, joined = router.match(trace), router.match(trace, waypoints=[0, 20, len(trace) - 1], steps=True)
    assert [one.waypoint for one in joined.tracepoints if one and one.waypoint is not None] == [0, 1, 2]
    a, b = whole.routes[0], joined.routes[0]
    assert len(b.legs) == 2 and b.points is not None and a.points is not None
    assert b.weight == a.weight and b.distance_m == pytest.approx(a.distance_m)
    assert [step.type for step in b.steps].count("depart") == 2
    line = {tuple(point) for point in b.points.tolist()}
    assert line <= {tuple(point) for point in a.points.tolist()}


#: A street of 2 km, with a detour between its last two quarters, and a parallel one-way street.
STREETS = [(0, 1, 1000), (2, 3, 1000), (1, 2, 1000, [(4, 10), (4, 11)]), (4, 5, 2000)]
NODES = [(0, 0), (0, 10), (0, 11), (0, 20), (30, 0), (30, 20)]


@pytest.fixture(scope="module")
def streets() -> Any:
    with Router(street_map(NODES, STREETS, oneways=(3,)), "dijkstra", "cpu") as made:
        yield made


def at(*metres: float, north: float = 0.0) -> list[tuple[float, float]]:
    return [(north / 111_195, east / 111_195) for east in metres]


def parts(matching: Matching) -> list[int | None]:
    return [None if one is None else one.matching for one in matching.tracepoints]


def test_gaps_split_a_trace_unless_they_are_ignored(streets: Router) -> None:
    trace, times = at(100, 110, 120, 130), [0, 1, 62, 63]
    assert parts(streets.match(trace, times)) == [0, 0, 1, 1]
    assert parts(streets.match(trace, times, gaps="ignore")) == [0, 0, 0, 0]


def test_detours_that_take_too_fast_a_vehicle_are_left_out_or_split(streets: Router) -> None:
    """What OSRM answers for the same trace, with a detour of 900 m between the third position and the fourth."""
    trace = at(910, 1010, 1060, 1260, 1360, 1460)
    assert parts(streets.match(trace)) == [0] * 6
    slow = streets.match(trace, [0, 10, 20, 30, 40, 50], max_speed_kmh=30)
    assert parts(slow) == [0, 0, 0, 1, 1, 1]
    assert parts(streets.match(trace, [0, 10, 20, 130, 140, 150], max_speed_kmh=30, gaps="ignore")) == [0] * 6


def test_positions_far_from_streets_belong_to_no_route(streets: Router) -> None:
    """The position before is left out, too, since the route may have left it for the one that is not matched."""
    trace = [*at(100, 200), *at(300, north=80), *at(600, 700)]
    assert parts(streets.match(trace)) == [0, None, None, 0, 0]
    assert parts(streets.match(trace, radiuses=[5, 5, 40, 5, None])) == [0] * 5
    with pytest.raises(NoRouteError, match="larger radiuses"):
        streets.match(at(100, 200, north=80))
    with pytest.raises(NoRouteError, match="leave waypoints out"):
        streets.match(trace, waypoints=[0, 2, 4])


def test_a_vehicle_may_turn_round_or_stand_still(streets: Router) -> None:
    turning = streets.match(at(100, 200, 300, 200, 100))
    assert turning.routes[0].distance_m == pytest.approx(400, abs=1)
    north = 30 * 111.195
    still = streets.match(at(100, 200, 195, 203, 300, north=north))
    assert parts(still) == [0] * 5 and still.routes[0].distance_m == pytest.approx(200, abs=1)
    assert [leg.distance_m for leg in still.routes[0].legs][1] == 0.0


def test_bearings_choose_the_direction(streets: Router) -> None:
    assert parts(streets.match(at(100, 200), bearings=[(90, 20), None])) == [0, 0]
    with pytest.raises(NoRouteError):
        streets.match(at(100, 200), bearings=[(0, 20), (0, 20)])
    with pytest.raises(NoRouteError):
        streets.match(at(100, 200, north=30 * 111.195), bearings=[(270, 20), (270, 20)])


def test_tidy_leaves_out_positions_that_are_close_together(streets: Router) -> None:
    """Thresholds of OSRM, along the trace: 15 m and 5 s; the last position stays."""
    assert parts(streets.match(at(100, 110, 120, 130), tidy=True)) == [0, None, 0, 0]
    assert parts(streets.match(at(100, 150, 200, 250), [0, 1, 2, 3], tidy=True)) == [0, None, None, 0]
    assert parts(streets.match(at(100, 150, 200, 250), [0, 5, 10, 15], tidy=True)) == [0, 0, 0, 0]


def test_a_trace_along_a_single_street_is_certain(streets: Router) -> None:
    """Both directions of its first and of its last position count once, though a route may begin and end in either."""
    assert streets.match(at(0, 15, 30, 45)).confidence[0] > 0.95
    # Midway between two streets, it is one of them as probably as the other: the mean of two positions is the root.
    parallel = street_map([(0, 0), (0, 10), (0.4, 0), (0.4, 10)], [(0, 1, 100), (2, 3, 100)], oneways=(0, 1))
    with Router(parallel, "dijkstra", "cpu") as router:
        between = router.match(at(100, 200, north=0.2 * 111.195), radiuses=20)
    assert between.confidence[0] == pytest.approx(math.sqrt(0.5), abs=0.01)


def test_wrong_arguments_are_refused(streets: Router) -> None:
    trace = at(100, 200, 300)
    for wrong, message in [
        ({"timestamps": [0, 2, 1]}, "timestamps is"),
        ({"timestamps": [0, 2]}, "timestamps is"),
        ({"radiuses": [5, 5]}, "radiuses has 2 items"),
        ({"radiuses": -1}, r"radiuses\[0\] is -1"),
        ({"gaps": "join"}, "gaps is 'join'"),
        ({"waypoints": [1, 2]}, "waypoints is"),
        ({"bearings": [(0, 1)]}, "bearings has 1 items"),
        ({"bearings": [(0, 181), None, None]}, r"bearings\[0\] is"),
        ({"max_speed_kmh": 0}, "max_speed_kmh is 0"),
    ]:
        with pytest.raises(QueryError, match=message):
            streets.match(trace, **wrong)
    with pytest.raises(QueryError, match="two or more"):
        streets.match(trace[:1])


def test_no_route_enters_an_area_to_avoid() -> None:
    area = {
        "type": "Polygon",
        "coordinates": [[[x * UNIT, y * UNIT] for x, y in ((4, -1), (5, -1), (5, 1), (4, 1), (4, -1))]],
    }
    graph = street_map([(0, 0), (0, 3), (0, 7), (0, 10), (3, 3), (3, 7)],
                       [(0, 1, 300), (1, 2, 400), (2, 3, 300), (1, 4, 300), (4, 5, 400), (5, 2, 300)])  # fmt: skip
    with Router(graph, "dijkstra", "cpu", avoid=area) as made:
        route = made.match(at(200, 900)).routes[0]
    streets: Any = graph.streets
    assert set(streets.polyline[route.arcs]) == {0, 2, 3, 4, 5}


def test_a_matching_is_written(streets: Router, tmp_path: Path) -> None:
    matching = streets.match(at(100, 200, 300))
    matching.write(tmp_path / "m.gpkg")
    frame = matching.to_geodataframe("tracepoints")
    assert list(frame["position"]) == [0, 1, 2] and list(frame["matching"]) == [0, 0, 0]
    assert matching.properties["matched"] == 3 and matching.geometry.length == pytest.approx(200 / 111_195, rel=1e-3)
    assert repr(matching) == "Matching(3 of 3 positions, 1 routes, 200 m)"


def test_conditions_of_positions_hold_for_all_streets_of_the_trace() -> None:
    """Two streets side by side, 11 m apart; the trace follows the lower one, between the two."""
    graph = street_map([(0, 0), (0, 4), (0.1, 0), (0.1, 4)], [(0, 1, 100), (2, 3, 100), (0, 2, 10), (1, 3, 10)])
    places = [(0.04 * UNIT, x * UNIT) for x in (1.0, 2.0, 3.0)]
    with Router(graph, device="cpu") as router:
        plain = router.match(places, radiuses=10)
        assert {one.name for one in plain.tracepoints if one} == {"Street 0"}
        assert all(one.alternatives for one in plain.tracepoints if one)
        hints = [router.nearest(place, 2)[1].hint for place in places]
        hinted = router.match([Stop(*place, hint=hint) for place, hint in zip(places, hints, strict=True)], radiuses=10)
        assert {one.name for one in hinted.tracepoints if one} == {"Street 1"}
        heading = router.match([Stop(*place, bearing=(90, 20)) for place in places], radiuses=10)
        assert sum(one.alternatives for one in heading.tracepoints if one) < sum(
            one.alternatives for one in plain.tracepoints if one
        )
        # Traffic keeps right: who comes from the west has the positions, north of the street, on the left, and can only
        # have gone round by the other street.
        curbs = [Stop(*place, approach="curb", radius_m=6) for place in places]
        (round_it,), (back,) = (router.match(trace, radiuses=10).routes for trace in (curbs, curbs[::-1]))
        assert back.distance_m == pytest.approx(222.4, abs=0.2) and round_it.distance_m > 1000


def test_traces_and_trips_over_streets_on_which_no_trip_begins() -> None:
    graph = street_map([(0, 0), (0, 4), (0, 8)], [(0, 1, 100), (1, 2, 100)], ferries=(1,))
    places = [(0.0, x * UNIT) for x in (5.0, 6.0, 7.0)]
    with Router(graph, device="cpu") as router:
        with pytest.raises(NoRouteError):
            router.match(places, snapping="default")
        assert router.match(places).routes[0].distance_m == pytest.approx(222.4, abs=0.2)
        # From the street onto the ferry, also with conditions.
        across = [Stop(0.0, x * UNIT, bearing=(90, 20)) for x in (2.0, 3.0, 5.0, 6.0)]
        assert router.match(across).properties["matched"] == 4
        assert router.trip(places, snapping="any").route.distance_m == pytest.approx(444.8, abs=0.3)
        (route,) = router.alternatives(places[0], places[2], snapping="any")
        assert route.distance_m == pytest.approx(222.4, abs=0.2)
