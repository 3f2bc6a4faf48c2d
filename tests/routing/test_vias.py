"""Routes over via points: the best of all that pass them without turning round, against a search that tries all."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.lawful import Town, violations
from tests.support.osm_maps import ANDORRA, ROAD, read_plain
from tests.support.streetmaps import UNIT, street_map
from tests.support.towns import CORNERS as GRID
from tests.support.towns import read_town, towns
from tests.support.turn_maps import CROSS, ROADS, imported, middle, restriction, steps_of, ways_taken
from vkssp import Graph, NoRouteError, QueryError, Route, Router, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.geo import haversine
from vkssp.routing.legs import find_leg_paths


def turns_round(graph: Graph, route: Route) -> bool:
    """Return whether a route comes to a via point in one direction of a street and leaves it in the other."""
    streets = graph.streets
    assert streets is not None
    ends = [(int(a.arcs[-1]), int(b.arcs[0])) for a, b in pairwise(route.legs) if len(a.arcs) and len(b.arcs)]
    return any(
        streets.polyline[a] == streets.polyline[b] and streets.backward[a] != streets.backward[b] for a, b in ends
    )


def check_legs(graph: Graph, route: Route) -> None:
    """Check that legs join, that their figures sum to the route's, and that they are as long as they are drawn."""
    assert route.points is not None and route.distance_m is not None and graph.streets is not None
    for before, after in pairwise(route.legs):
        assert before.points[-1].tolist() == after.points[0].tolist() and before.destination == after.origin
    assert route.vias == tuple(leg.destination for leg in route.legs[:-1])
    assert route.weight == sum(leg.weight for leg in route.legs)
    assert route.distance_m == pytest.approx(sum(leg.distance_m for leg in route.legs))
    metres = haversine(*route.points[:-1].T, *route.points[1:].T).sum()
    assert route.distance_m == pytest.approx(metres, rel=1e-3, abs=0.5)
    assert route.sum(graph.streets.length) == pytest.approx(route.distance_m)


@given(towns(), st.sampled_from(["restrictions", "costs"]), st.booleans(), st.data())
@settings(max_examples=EXAMPLES)
def test_routes_over_via_points_are_the_best_lawful_ones(
    tmp_path: Path, town: Town, turns: str, simplify: bool, data: st.DataObject
) -> None:
    graph, _ = imported(tmp_path, town.nodes, town.ways, town.relations, turns=turns, simplify=simplify)
    unit = graph.streets.seconds_per_weight  # type: ignore[union-attr]
    pieces = [(key, i) for key, refs in town.refs.items() for i in range(len(refs) - 1)]
    with Router(graph, "dijkstra") as router:
        for _ in range(3):
            places = st.sampled_from([*pieces, *(node for node in town.junctions if town.out[node])])
            start, goal = data.draw(places), data.draw(places)
            via = data.draw(st.lists(places, min_size=1, max_size=2))
            stops = [start, *via, goal]
            if any(a == b for a, b in pairwise(stops)):
                continue
            wanted = town.best(start, goal, via=via, costs=turns == "costs", all_nodes=not simplify)
            first, *between, last = (
                town.nodes[stop][:2] if isinstance(stop, int) else middle(town, stop) for stop in stops
            )
            snaps = [router.index.nearest(*place) for place in (first, *between, last)]
            leg_paths = find_leg_paths(router.solver, router.index, snaps, straight=True)  # type: ignore[arg-type]
            if wanted is None:
                continue
            assert not isinstance(leg_paths, int)
            assert sum(path.weight for path in leg_paths) * unit == pytest.approx(wanted, abs=1.5 if simplify else 0.03)
            route = router.route(first, last, via=between)
            check_legs(graph, route)
            # At a junction one may turn where the graph lets one.
            assert any(isinstance(stop, int) for stop in via) or not turns_round(graph, route)
            assert violations(town, steps_of(town, graph, route)) == []


@pytest.mark.parametrize("simplify", [False, True])
def test_who_begins_before_a_via_point_may_not_turn_as_others_have_to(tmp_path: Path, simplify: bool) -> None:
    """Those who come by ways 6, 4 and 9 have to turn round at node 1; those who begin on 9 go on along 7."""
    ends = [(21, 22), (10, 20), (11, 21), (11, 12), (0, 10), (2, 12), (0, 1), (12, 22), (1, 11)]
    ways = [(key, list(refs), {**ROAD, "access": "destination"}) for key, refs in enumerate(ends, 1)]
    town = Town(GRID, ways, [restriction("no_left_turn", 6, [4, 9], 7)])
    graph, _ = imported(tmp_path, town.nodes, town.ways, town.relations, turns="costs", simplify=simplify)
    unit = graph.streets.seconds_per_weight  # type: ignore[union-attr]
    goal, via = (1, 0), town.nodes[1][:2]
    with Router(graph, "dijkstra") as router:
        for way, taken in ((9, [9, 7, 5, 2, 5, 7, 9, 3, 1]), (6, [6, 4, 9, 3, 1])):
            route = router.route(middle(town, (way, 0)), middle(town, goal), via=[via])
            wanted = town.best((way, 0), goal, via=[1], costs=True, all_nodes=not simplify)
            assert route.weight * unit == pytest.approx(wanted, abs=1.5 if simplify else 0.03)
            assert ways_taken(graph, route) == taken
            check_legs(graph, route)


@pytest.mark.parametrize("turns", ["restrictions", "costs"])
def test_routes_over_via_points_of_a_real_map_are_lawful(turns: str) -> None:
    town, graph = read_town(ANDORRA), read_graph(ANDORRA, turns=turns)
    assert graph.lat is not None and graph.lon is not None
    random, found = np.random.default_rng(5), 0
    with Router(graph, "dijkstra") as router:
        for nodes in random.integers(0, graph.num_nodes, (15, 4)).tolist():
            first, *via, last = ((float(graph.lat[node]) + 1e-4, float(graph.lon[node])) for node in nodes)
            try:
                route = router.route(first, last, via=via)
                alone = [router.route(*pair) for pair in pairwise([first, *via, last])]
            except NoRouteError:
                continue
            check_legs(graph, route)
            for leg, other in zip(route.legs, alone, strict=True):
                # As long as a route of its own, or longer, for it minds the direction.
                same = (leg.origin, leg.destination) == (other.origin, other.destination)
                assert leg.weight >= other.weight or not same
            if not turns_round(graph, route):
                assert violations(town, steps_of(town, graph, route)) == []
                found += 1
    assert found > 5


BLOCK = [(0, 0), (0, 10), (10, 10), (10, 0)]


def at(y: float, x: float) -> tuple[float, float]:
    return y * UNIT, x * UNIT


#: A block of streets round which the way is long, for nobody turns round at its corners.
CORNERS = {1: (0.0, 0.0), 2: (0.0, 0.002), 3: (0.002, 0.002), 4: (0.002, 0.0)}
STREETS = [(10 * a + b, [a, b], ROAD) for a, b in ((1, 2), (2, 3), (3, 4), (4, 1))]


@pytest.mark.parametrize(
    ("straight", "streets"), [(True, [41, 12, 12, 23, 34, 41]), (None, None), (False, [41, 12, 12, 41])]
)
def test_nobody_turns_round_at_a_via_point_unless_he_may(
    tmp_path: Path, device: Device, straight: bool | None, streets: list[int] | None
) -> None:
    """From the street in the west over the middle of that in the south and back: round the block, or not."""
    graph, _ = imported(tmp_path, CORNERS, STREETS, turns="costs")
    place = (0.001, 0.0)
    with Router(graph, device=device) as router:
        route = router.route(place, place, via=[(0.0, 0.001)], continue_straight=straight)
    check_legs(graph, route)
    assert turns_round(graph, route) == (straight is False)
    assert graph.streets is not None
    # Both ways round the block are as long.
    assert sorted(graph.streets.way[route.arcs].tolist()) == sorted(streets or [41, 12, 12, 23, 34, 41])


def test_without_turns_one_may_turn_round_anyway(device: Device) -> None:
    graph = street_map(BLOCK, [(0, 1, 100), (1, 2, 100), (2, 3, 200), (3, 0, 100)])
    place, via = at(5, 0), [at(0, 5)]
    with Router(graph, device=device) as router:
        assert router.route(place, place, via=via).weight == 200
        assert router.route(place, place, via=via, continue_straight=True).weight == 300, "at the next junction"


def test_the_direction_at_a_via_point_is_chosen_by_what_follows(tmp_path: Path, device: Device) -> None:
    """From the north-west corner the south is nearer by the west, but who goes on to the north-east comes by the east.

    By itself the first leg would pass the point eastward; then one has to go on to the east, as is right here, or
    westward, where the goal is in the west: both are tried.
    """
    graph, _ = imported(tmp_path, CORNERS, STREETS, turns="costs")
    assert graph.streets is not None
    with Router(graph, device=device) as router:
        alone = router.route((0.0015, 0.0), (0.0, 0.0015))
        east = router.route((0.0015, 0.0), (0.0015, 0.002), via=[(0.0, 0.0015)])
        west = router.route((0.0015, 0.0), (0.0005, 0.0), via=[(0.0, 0.0015)])
    ways = [graph.streets.way[route.arcs].tolist() for route in (alone, east, west)]
    assert ways == [[41, 12], [41, 12, 12, 23], [41, 34, 23, 12, 12, 41]]


def test_where_no_way_goes_on_one_turns_round_after_all(tmp_path: Path, device: Device) -> None:
    """Behind the via point there is only a one-way street off the map, and one may not turn round before it."""
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.002), 3: (0.0, 0.004)}
    ways = [(1, [1, 2], ROAD), (2, [2, 3], {**ROAD, "oneway": "yes"})]
    graph, _ = imported(tmp_path, nodes, ways, [restriction("no_u_turn", 1, 2, 1)], turns="costs")
    with Router(graph, device=device) as router:
        route = router.route((0.0, 0.0005), (0.0, 0.0004), via=[(0.0, 0.0015)])
        free = router.route((0.0, 0.0005), (0.0, 0.0004), via=[(0.0, 0.0015)], continue_straight=False)
    check_legs(graph, route)
    assert turns_round(graph, route) and route.weight == free.weight


def test_a_via_point_on_a_junction_and_several_on_one_street(tmp_path: Path, device: Device) -> None:
    graph, _ = imported(tmp_path, CROSS, ROADS, turns="costs")
    with Router(graph, device=device) as router:
        plain = router.route((0.0, -0.001), (0.0, 0.001))
        through = router.route((0.0, -0.001), (0.0, 0.001), via=[(0.0, 0.0)])
        many = router.route((0.0, -0.001), (0.0, 0.001), via=[(0.0, -0.0008), (0.0, -0.0005), (0.0, 0.0003)])
        nowhere = router.route((0.0, 0.001), (0.0, 0.001), via=[(0.0, 0.001)])
    assert plain.weight == through.weight and abs(many.weight - plain.weight) <= 2
    assert len(through.legs) == 2 and len(many.legs) == 4 and nowhere.weight == 0
    for route in (plain, through, many, nowhere):
        check_legs(graph, route)


def test_a_via_point_is_snapped_to_a_street_that_is_reached_and_left(device: Device) -> None:
    """At (20, 5) a one-way street leads off the map: the next street is taken instead."""
    nodes = [*BLOCK, (30, 10)]
    graph = street_map(nodes, [(0, 1, 100), (1, 2, 100), (2, 3, 100), (3, 0, 100), (2, 4, 90)], oneways=(4,))  # type: ignore[arg-type]
    with Router(graph, device=device) as router:
        route = router.route(at(0, 1), at(0, 9), via=[at(14, 10.5)])
        assert route.vias[0].snapped_lat == pytest.approx(10 * UNIT)
        with pytest.raises(QueryError, match=r"via point 2 is 5.00000,5.00000, which is not on this map"):
            router.route(at(0, 1), at(0, 9), via=[at(0, 2), (5.0, 5.0)])
        with pytest.raises(QueryError, match="via is 5; give a list of pairs"):
            router.route(at(0, 1), at(0, 9), via=5)  # type: ignore[arg-type]


def test_figures_are_summed_over_the_parts_that_are_travelled(device: Device) -> None:
    graph = street_map([(0, 0), (0, 10), (10, 10)], [(0, 1, 100), (1, 2, 200)])
    with Router(graph, device=device) as router:
        route = router.route(at(0, 2), at(5, 10), via=[at(0, 6)])
        assert route.sum(np.ones(graph.num_arcs)) == pytest.approx(0.8 + 0.5)
        assert route.sum(graph.weight) == pytest.approx(route.weight) and route.weight == 180
        whole = router.solver.path(0, 2)
        assert whole.sum([7] * graph.num_arcs) == 14
        for values in ([1.0], [[1.0]], "x", ["a"], None):
            with pytest.raises(QueryError, match=r"values .*give"):
                route.sum(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
def test_the_shortest_route_is_shortest_and_says_how_long_it_takes(tmp_path: Path, turns: str) -> None:
    graph = read_graph(ANDORRA, turns=turns)
    assert graph.lat is not None and graph.lon is not None
    random, shorter = np.random.default_rng(8), 0
    with Router(graph, "dijkstra") as fast, Router(graph, "dijkstra", metric="distance") as short:
        for nodes in random.integers(0, graph.num_nodes, (12, 2)).tolist():
            ends = [(float(graph.lat[node]) + 1e-4, float(graph.lon[node])) for node in nodes]
            try:
                quick, near = fast.route(*ends), short.route(*ends)  # type: ignore[arg-type]
            except NoRouteError:
                continue
            assert near.distance_m is not None and quick.distance_m is not None and near.duration_s is not None
            check_legs(graph, near)
            # Lengths of arcs are rounded to decimetres.
            assert near.weight == pytest.approx(10 * near.distance_m, abs=len(near.arcs))
            assert near.distance_m <= quick.distance_m + 0.1 * len(quick.arcs)
            assert quick.duration_s is not None and quick.duration_s <= near.duration_s + 0.2
            if turns != "costs":  # of the turn into the first arc nothing counts
                assert near.duration_s == pytest.approx(near.sum(graph.weight) / 10, abs=0.2)
            shorter += near.distance_m < quick.distance_m - 1
    assert shorter


def test_a_metric_that_is_none(device: Device) -> None:
    with pytest.raises(QueryError, match="metric is 'beauty'; choose one of duration, distance"):
        Router(read_plain(ANDORRA), device=device, metric="beauty")
