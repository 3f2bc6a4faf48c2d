"""Steps: what is said where, on small maps, and that steps add up on a real one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.graphs import grid
from tests.support.osm_maps import ANDORRA, Nodes, Relation, Way
from tests.support.turn_maps import CROSS, imported, restriction
from vkssp import Graph, NoRouteError, Router, Step, read_graph
from vkssp.gpu.device import Device
from vkssp.graph.geo import directions, haversine
from vkssp.routing.formatting import instruction, street_label
from vkssp.routing.geojson import route_geojson


def told(
    tmp_path: Path,
    nodes: Nodes,
    ways: list[Way],
    *stops: tuple[float, float],
    turns: str = "costs",
    relations: Sequence[Relation] = (),
) -> list[Step]:
    graph, _ = imported(tmp_path, nodes, ways, relations, turns=turns)
    first, *via, last = stops
    with Router(graph, "dijkstra") as router:
        return list(router.route(first, last, via=via, steps=True).steps)


def road(name: str = "", **tags: str) -> dict[str, str]:
    named = {"name": name} if name else {}
    return {"highway": "primary", **named, **tags}


WEST, NORTH, EAST, SOUTH = (0.0, -0.001), (0.001, 0.0), (0.0, 0.001), (-0.001, 0.0)
FOUR: list[Way] = [
    (1, [1, 0], road("Ash")),
    (2, [0, 2], road("Birch")),
    (3, [0, 3], road("Cedar")),
    (4, [4, 0], road("Dogwood")),
]


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
def test_turns_at_a_crossing(tmp_path: Path, turns: str) -> None:
    wanted = {
        (WEST, NORTH): ["Head east on Ash", "Turn left onto Birch"],
        (WEST, SOUTH): ["Head east on Ash", "Turn right onto Dogwood"],
        (WEST, EAST): ["Head east on Ash", "Continue onto Cedar"],
        (NORTH, SOUTH): ["Head south on Birch", "Continue onto Dogwood"],
        (SOUTH, EAST): ["Head north on Dogwood", "Turn right onto Cedar"],
    }
    for (start, goal), words in wanted.items():
        steps = told(tmp_path, CROSS, FOUR, start, goal, turns=turns)
        assert [step.instruction for step in steps] == [*words, "Arrive at your destination"]
        assert [step.type for step in (steps[0], steps[-1])] == ["depart", "arrive"]
        assert (steps[1].lat, steps[1].lon) == (0.0, 0.0) and steps[1].way in (1, 2, 3, 4)


def test_nothing_is_said_where_the_way_is_plain(tmp_path: Path) -> None:
    one = [(1, [1, 0], road("Main")), (3, [0, 3], road("Main")), *FOUR[1::2]]
    assert [step.type for step in told(tmp_path, CROSS, one, WEST, EAST)] == ["depart", "arrive"]
    # A street that bends where no other meets it, but does change its name.
    bend = [(1, [1, 0], road("Main")), (2, [0, 2], road("Main"))]
    assert [step.type for step in told(tmp_path, CROSS, bend, WEST, NORTH)] == ["depart", "arrive"]
    bend[1] = (2, [0, 2], road("Side"))
    assert [step.type for step in told(tmp_path, CROSS, bend, WEST, NORTH)] == ["depart", "new name", "arrive"]
    # The main road bends at a crossing.
    turned = [(1, [1, 0], road("Main")), (2, [0, 2], road("Main")), *FOUR[2:]]
    assert told(tmp_path, CROSS, turned, WEST, NORTH)[1].instruction == "Turn left to stay on Main"


def test_a_name_and_a_number(tmp_path: Path) -> None:
    ways = [*FOUR[:1], (2, [0, 2], road("North", ref="B 3;B 37")), (3, [0, 3], road(ref="K 7")), FOUR[3]]
    north, east = told(tmp_path, CROSS, ways, WEST, NORTH)[1], told(tmp_path, CROSS, ways, SOUTH, EAST)[1]
    assert (north.name, north.ref, north.instruction) == ("North", "B 3; B 37", "Turn left onto North (B 3/B 37)")
    assert (east.name, east.ref, east.instruction) == ("", "K 7", "Turn right onto K 7")


def circle(count: int) -> tuple[Nodes, list[Way]]:
    """A roundabout driven counterclockwise, with as many roads, the first from the south."""
    nodes: dict[int, tuple[float, float]] = {}
    ways: list[Way] = []
    for k in range(count):
        angle = 2 * math.pi * k / count
        nodes[k] = -0.0002 * math.cos(angle), 0.0002 * math.sin(angle)
        nodes[100 + k] = -0.002 * math.cos(angle), 0.002 * math.sin(angle)
        ways.append((10 + k, [k, 100 + k], road(f"Road {k}")))
    ways.append((1, [*range(count), 0], road(junction="roundabout")))
    return nodes, ways


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
def test_exits_of_a_roundabout_are_counted(tmp_path: Path, turns: str) -> None:
    nodes, ways = circle(5)
    ends = [(0.8 * nodes[100 + k][0], 0.8 * nodes[100 + k][1]) for k in range(5)]
    for k, nth in ((1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th")):
        steps = told(tmp_path, nodes, ways, ends[0], ends[k], turns=turns)
        assert [step.instruction for step in steps[1:-1]] == [
            f"Enter the roundabout and take the {nth} exit onto Road {k}",
            f"Leave the roundabout onto Road {k}",
        ]
        assert (steps[1].type, steps[1].exit) == ("roundabout", k)
        assert steps[2].type == "exit roundabout"
        assert steps[2].distance_m == pytest.approx(haversine(*nodes[k], *ends[k]), rel=1e-3)
    # One that is not left again, and one that the route begins in.
    on_ring = tuple((a + b) / 2 for a, b in zip(nodes[2], nodes[3], strict=True))
    inside = told(tmp_path, nodes, ways, ends[0], on_ring, turns=turns)  # type: ignore[arg-type]
    assert (inside[1].instruction, inside[1].exit) == ("Enter the roundabout", None)
    outward = told(tmp_path, nodes, ways, on_ring, ends[4], turns=turns)  # type: ignore[arg-type]
    assert [step.instruction for step in outward[1:-1]] == ["Leave the roundabout onto Road 4"]


def test_ramps_merges_and_forks(tmp_path: Path) -> None:
    """A motorway to the east, a slip road off it and onto another one."""
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.0, 0.02), 4: (-0.004, 0.02), 5: (-0.004, 0.03), 6: (-0.004, 0.01)}
    motorway = {"highway": "motorway", "oneway": "yes"}
    ways: list[Way] = [
        (1, [1, 2], {**motorway, "ref": "A 1"}),
        (2, [2, 3], {**motorway, "ref": "A 1"}),
        (3, [2, 4], {"highway": "motorway_link", "oneway": "yes"}),
        (4, [6, 4], {**motorway, "ref": "A 2"}),
        (5, [4, 5], {**motorway, "ref": "A 2"}),
    ]
    off = told(tmp_path, nodes, ways, (0.0, 0.001), (-0.004, 0.029))
    assert [step.instruction for step in off] == [
        "Head east on A 1", "Take the exit on the right", "Merge onto A 2", "Arrive at your destination"
    ]  # fmt: skip
    assert [step.type for step in told(tmp_path, nodes, ways, (0.0, 0.001), (0.0, 0.019))] == ["depart", "arrive"]
    # Without being slip roads the two would be a fork.
    nodes[3] = (0.002, 0.02)
    ways = [(1, [1, 2], road("Way")), (2, [2, 3], road("Left")), (3, [2, 4], road("Right"))]
    assert told(tmp_path, nodes, ways, (0.0, 0.001), (0.002, 0.02))[1].instruction == "Keep left onto Left"
    assert told(tmp_path, nodes, ways, (0.0, 0.001), (-0.004, 0.02))[1].instruction == "Keep right onto Right"


def test_streets_that_begin_on_one_line_are_on_no_side_of_each_other(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.001, 0.0), 3: (0.002, 0.0002), 4: (0.003, 0.0004), 5: (0.003, -0.001)}
    nodes[6] = nodes[3]
    ways = [(1, [1, 2], road("Way")), (2, [2, 3, 4], road("Near")), (3, [2, 6, 5], road("Far"))]
    for stop, name in ((nodes[4], "Near"), (nodes[5], "Far")):
        steps = told(tmp_path, nodes, ways, (0.0002, 0.0), stop)
        assert steps[1].instruction == f"Keep straight on onto {name}"


def test_names_may_be_in_the_list_twice(tmp_path: Path) -> None:
    graph, _ = imported(tmp_path, CROSS, [(1, [1, 0], road("Main")), (3, [0, 3], road("Main")), *FOUR[1::2]])
    assert graph.streets is not None
    streets, at = graph.streets, graph.streets.names.index("Main")
    other = np.where((streets.way == 3) & (streets.name == at), len(streets.names), streets.name).astype(np.uint32)
    twice = replace(graph, streets=replace(streets, names=(*streets.names, "Main"), name=other))
    for named in (graph, twice):
        with Router(named, "dijkstra") as router:
            assert [step.type for step in router.route(WEST, EAST, steps=True).steps] == ["depart", "arrive"]


def test_classes_are_told_where_they_change(tmp_path: Path) -> None:
    one = [(1, [1, 0], road("Main")), (3, [0, 3], road("Main"))]
    graph, _ = imported(tmp_path, CROSS, one, turns="costs")
    assert graph.streets is not None
    in_tunnel = (graph.streets.way == 3).astype(np.uint32)
    graph = replace(graph, streets=replace(graph.streets, classes=in_tunnel, class_names=("tunnel",)))
    with Router(graph, "dijkstra") as router:
        steps = router.route(WEST, EAST, steps=True).steps
    assert [step.type for step in steps] == ["depart", "arrive"]
    assert [one.classes for one in steps[0].intersections] == [(), ("tunnel",)]


def test_a_short_slip_road_is_part_of_its_turn(tmp_path: Path) -> None:
    nodes = {**CROSS, 10: (0.0, -0.0004), 11: (-0.0004, 0.0)}
    link = {"highway": "primary_link", "oneway": "yes"}
    ways: list[Way] = [(1, [1, 10, 0], road("West")), (4, [4, 11, 0], road("South")), *FOUR[1:3], (5, [10, 11], link)]
    only = [restriction("no_right_turn", 1, 0, 4)]
    steps = told(tmp_path, nodes, ways, (0.0, -0.0015), (-0.0015, 0.0), relations=only)
    assert [step.instruction for step in steps[1:-1]] == ["Turn right onto South"]
    assert (steps[1].lat, steps[1].lon, steps[1].way) == (0.0, pytest.approx(-0.0004), 4)


@pytest.mark.parametrize(
    ("metres", "words"),
    [(25, ["Turn right onto Far"]), (42, ["Turn right onto Far"]), (48, ["Turn right onto Near", "Continue onto Far"])],
)
def test_a_name_that_changes_near_a_turn(tmp_path: Path, metres: int, words: list[str]) -> None:
    nodes = {**CROSS, 4: (-0.003, 0.0), 10: (-metres / 111_195.0, 0.0)}
    ways: list[Way] = [(1, [1, 0, 3], road("Cross")), (2, [0, 10], road("Near")), (3, [10, 4], road("Far"))]
    there = told(tmp_path, nodes, ways, WEST, (-0.003, 0.0))
    assert [step.instruction for step in there[1:-1]] == words
    back = told(tmp_path, nodes, ways, (-0.003, 0.0), WEST)
    # On the way back the turn is told where it is, not where the name changes before it.
    assert [(step.lat, step.name) for step in back[1:-1]] == [(0.0, "Cross")]


def test_of_two_new_names_close_together_the_second_is_told(tmp_path: Path) -> None:
    nodes = {1: (0.0, -0.003), 2: (0.0, 0.0), 3: (40 / 111_195.0, 0.0), 4: (0.004, 0.0)}
    ways: list[Way] = [(1, [1, 2], road("West")), (2, [2, 3], road("Bend")), (3, [3, 4], road("North"))]
    (step,) = told(tmp_path, nodes, ways, (0.0, -0.002), nodes[4])[1:-1]
    assert (step.type, step.modifier, step.name, step.lat) == ("new name", "left", "North", 0.0)


def test_u_turns_ferries_and_via_points(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.002), 3: (0.0, 0.02), 4: (0.0, 0.03)}
    ways: list[Way] = [
        (1, [1, 2], road("Quay")),
        (2, [2, 3], {"route": "ferry", "name": "Ferry"}),
        (3, [3, 4], road("Beach")),
    ]
    across = told(tmp_path, nodes, ways, (0.0, 0.001), (0.0, 0.029))
    assert [step.instruction for step in across[1:3]] == ["Board Ferry", "Disembark and continue on Beach"]
    # Passing the via point eastward, one turns at the end of the street.
    over = told(tmp_path, nodes, ways[2:], (0.0, 0.022), (0.0001, 0.025), (-0.0001, 0.021))
    assert [step.instruction for step in over] == [
        "Head east on Beach",
        "Arrive at via point 1, on the left",
        "Head east on Beach",
        "Make a U-turn to stay on Beach",
        "Arrive at your destination, on the left",
    ]


def test_nothing_to_do(tmp_path: Path) -> None:
    steps = told(tmp_path, CROSS, FOUR, (0.0, 0.0), (0.0, 0.0))
    assert [(step.type, step.distance_m) for step in steps] == [("depart", 0.0), ("arrive", 0.0)]
    assert [len(step.intersections) for step in steps] == [1, 1]
    assert steps[0].bearing_after == steps[1].bearing_before
    graph, _ = imported(tmp_path, CROSS, FOUR)
    with Router(graph, "dijkstra") as router:
        assert router.route(WEST, EAST).steps == ()


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_steps_of_a_real_map_add_up(turns: str, device: Device) -> None:
    graph, random = read_graph(ANDORRA, turns=turns), np.random.default_rng(9)
    assert graph.lat is not None and graph.lon is not None
    kinds = set()
    with Router(graph, "dijkstra") as router:
        for nodes in random.integers(0, graph.num_nodes, (20, 3)).tolist():
            first, via, last = ((float(graph.lat[node]) + 2e-4, float(graph.lon[node])) for node in nodes)
            try:
                route = router.route(first, last, via=[via], steps=True)
            except NoRouteError:
                continue
            for leg in route.legs:
                assert sum(step.distance_m for step in leg.steps) == pytest.approx(leg.distance_m)
                assert sum(step.duration_s or 0.0 for step in leg.steps) == pytest.approx(leg.duration_s)
                assert [step.first for step in leg.steps[1:]] == [step.last for step in leg.steps[:-1]]
                assert leg.steps[0].first == 0 and leg.steps[-1].last == len(leg.points) - 1
                for step in leg.steps:
                    points = leg.points[step.first : step.last + 1]
                    assert points[0].tolist() == [step.lat, step.lon]
                    metres = haversine(*points[:-1].T, *points[1:].T).sum()
                    assert step.distance_m == pytest.approx(metres, rel=1e-3, abs=0.5)
            kinds |= {step.type for step in route.steps}
            features = route_geojson(route)["features"]
            lines = [f for f in features if f["properties"].get("role") == "step"]
            assert [f["properties"]["instruction"] for f in lines] == [step.instruction for step in route.steps]
            assert [f["properties"]["role"] for f in features[1:4]] == ["from", "via", "to"]
            assert len(features[0]["properties"]["legs"]) == 2 and json.dumps(features, allow_nan=False)
    assert kinds >= {"depart", "turn", "new name", "roundabout", "arrive"}


def test_graphs_without_streets_and_such_that_know_less(tmp_path: Path, device: Device) -> None:
    with Router(grid(10, low=7, high=7), device=device) as router:
        steps = router.route((0.0, 0.0), (0.003, 0.002), steps=True).steps
    assert steps[0].type == "depart" and steps[-1].type == "arrive" and {step.way for step in steps} == {None}
    nodes, ways = circle(3)
    graph, _ = imported(tmp_path, nodes, ways, turns="costs")
    assert graph.streets is not None
    less = replace(graph.streets, memory=None, layer=None, ref=None, roundabout=None, link=None)
    old = Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=graph.lat, lon=graph.lon, streets=less)
    places = [(0.8 * nodes[100 + k][0], 0.8 * nodes[100 + k][1]) for k in range(3)]
    with Router(old, device=device) as before, Router(graph, device=device) as now:
        routes = [router.route(places[0], places[2], via=places[1:2], steps=True) for router in (before, now)]
    assert routes[0].weight == routes[1].weight
    assert "roundabout" not in {step.type for step in routes[0].steps}
    assert "roundabout" in {step.type for step in routes[1].steps}


def test_directions_are_those_of_the_point_ten_metres_away() -> None:
    degrees = 10 / 111_195.0
    line = np.array([[0.0, 0.0], [0.0, degrees], [5 * degrees, degrees], [5 * degrees, 1.5 * degrees]])
    still = np.array([[1.0, 1.0], [1.0, 1.0]])
    found = directions(np.array([0, 4, 6]), np.concatenate([line, still]))
    assert found[0] == pytest.approx([90.0, math.degrees(math.atan2(-0.5, -0.5))], abs=0.1) and (found[1] == 0).all()


def test_directions_on_the_ellipsoid() -> None:
    """Half of the angle of 126.86114 degrees that OSRM 26.10 tells of a turn at the first point."""
    line = np.array([[1.0, 1.001797], [0.996383, 1.0]])
    away = directions(np.array([0, 2]), line, ellipsoid=True)[0, 0] % 180.0
    assert 180.0 - 2.0 * away == pytest.approx(126.86114, abs=1e-4)


def test_directions_by_a_pole_are_seen_from_each_end() -> None:
    """Over the pole along the meridian of Greenwich; east, then straight on; a line that stays where it is."""
    over = np.array([[89.999, 0.0], [89.9995, 180.0]])
    east = np.array([[89.9999, 30.0], [89.9999, 31.0]])
    found = directions(np.array([0, 2, 4, 6]), np.concatenate([over, east, east[[0, 0]]]))
    assert np.cos(np.radians(found[0])) == pytest.approx([1, 1]), "to the pole from both ends"
    assert found[1] == pytest.approx([89.5, -89.5], abs=0.01) and found[2].tolist() == [0, 0]
    south = directions(np.array([0, 2]), over * [-1, 1])
    assert np.cos(np.radians(south[0])) == pytest.approx([-1, -1])


def test_words() -> None:
    assert instruction("turn", "sharp left", "X") == "Turn sharply left onto X"
    assert instruction("turn", "slight right", "") == "Turn slightly right"
    assert instruction("fork", "straight", "") == "Keep straight on"
    assert instruction("roundabout", "right", "", 11) == "Enter the roundabout and take the 11th exit"
    assert instruction("roundabout", "right", "", 22) == "Enter the roundabout and take the 22nd exit"
    assert street_label("A", "A") == "A" and street_label("", "E 1;E 2") == "E 1/E 2" and street_label("Z", "") == "Z"
