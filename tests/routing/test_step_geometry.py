"""Steps where streets are wide, divided or curved, on small maps drawn in metres."""

from __future__ import annotations

from pathlib import Path

from tests.support.osm_maps import Nodes, Way
from tests.support.turn_maps import imported
from vkssp import Router, Step

_DEGREE_M = 111_195.0


def drawn(**metres: tuple[float, float]) -> Nodes:
    """Return nodes at metres to the east and to the north; the first letter of a name is the number."""
    return {ord(name[0]): (north / _DEGREE_M, east / _DEGREE_M) for name, (east, north) in metres.items()}


def way(number: int, nodes: str, name: str = "", **tags: str) -> Way:
    return number, [ord(node) for node in nodes], {"highway": "primary", **({"name": name} if name else {}), **tags}


def steps(tmp_path: Path, nodes: Nodes, ways: list[Way], ends: str) -> tuple[Step, ...]:
    graph, _ = imported(tmp_path, nodes, ways, turns="costs")
    with Router(graph, "dijkstra") as router:
        return router.route(nodes[ord(ends[0])], nodes[ord(ends[1])], steps=True).steps


def said(found: tuple[Step, ...]) -> list[str]:
    return [f"{step.type} {step.modifier or ''}".strip() for step in found[1:-1]]


def test_a_roundabout_is_not_left_against_its_direction(tmp_path: Path) -> None:
    """Two streets meet the ring at its northern node; the one to the east leads away, the one to the west arrives."""
    nodes = drawn(n=(0, 20), w=(-20, 0), s=(0, -20), e=(20, 0), i=(-40, 120), o=(40, 120), a=(0, -120))
    ring = way(1, "nwsen", junction="roundabout")
    around = [ring, way(2, "in", "In", oneway="yes"), way(3, "no", "Out", oneway="yes"), way(4, "sa", "South")]
    found = steps(tmp_path, nodes, around, "io")
    assert [step.type for step in found[1:-1]] == ["roundabout", "exit roundabout"]
    assert found[1].exit == 2 and found[1].distance_m > 100
    # The other way round the exit follows the entrance, and nobody drives around.
    at_once = [ring, way(2, "on", "In", oneway="yes"), way(3, "ni", "Out", oneway="yes"), way(4, "sa", "South")]
    assert sum(step.distance_m for step in steps(tmp_path, nodes, at_once, "oi")) < 250


def test_a_ramp_beside_a_curve(tmp_path: Path) -> None:
    """A motorway bends to the right some metres after a ramp to the right has left it."""
    nodes = drawn(a=(-10, 0), b=(0, 0), c=(10, 0), d=(20, -10), e=(30, -20), f=(10, -10), g=(20, -20))
    ways = [way(1, "abcde", "Main", highway="motorway"), way(2, "bfg", highway="motorway_link", oneway="yes")]
    assert said(steps(tmp_path, nodes, ways, "ag")) == ["off ramp right"]


def test_streets_that_cross_keep_the_order_in_which_they_begin(tmp_path: Path) -> None:
    nodes = drawn(a=(-100, 0), b=(0, 0), c=(20, -10), d=(5, -20), e=(5, 0.0), f=(40, -20), g=(90, -20))
    ways = [way(1, "ab", "In", oneway="yes"), way(2, "bcd", "One", oneway="yes"), way(3, "befg", "Two", oneway="yes")]
    assert said(steps(tmp_path, nodes, ways, "ad")) == ["fork slight right"]
    assert said(steps(tmp_path, nodes, ways, "ag")) == ["fork slight left"]


def test_an_island_in_a_street_is_no_intersection(tmp_path: Path) -> None:
    nodes = drawn(a=(-100, 0), b=(0, 0), c=(6, -4), d=(12, 0), e=(100, 0), f=(6, 4))
    ways = [way(1, "ab", "Road"), way(2, "de", "Road"), way(3, "bcdfb", "Road", oneway="yes")]
    found = steps(tmp_path, nodes, ways, "ae")
    assert said(found) == []
    assert len(found[0].intersections) == 1


def test_a_road_that_ends_at_a_divided_one(tmp_path: Path) -> None:
    """A turn across the nearer carriageway onto the farther one is one turn, where the road ends."""
    main = {"a": (-100, 20), "b": (0, 20), "c": (100, 20), "d": (-100, 0), "e": (0, 0), "f": (100, 0)}
    nodes = drawn(**main, i=(-50, -50), g=(0, -50), j=(50, -50), h=(0, -150))
    ways = [
        *(way(1, "cba", "Main", oneway="yes"), way(2, "def", "Main", oneway="yes"), way(3, "be", "Main")),
        *(way(4, "egh", "Side"), way(5, "igj", "Maple")),
    ]
    assert said(steps(tmp_path, nodes, ways, "ha")) == ["end of road left"]


def test_an_obvious_turn_onto_a_through_street_is_straight_on(tmp_path: Path) -> None:
    nodes = drawn(a=(-100, 0), b=(0, 0), c=(200, 0), d=(-90, 45))
    assert said(steps(tmp_path, nodes, [way(1, "abc", "Road"), way(2, "db", "Side")], "dc")) == ["turn straight"]


def test_only_where_just_ferries_meet_nothing_is_said_on_board(tmp_path: Path) -> None:
    nodes = drawn(a=(-200, 0), b=(0, 0), c=(0, -200), d=(0, 200), e=(-300, 0), f=(0, -300))
    ferry = {"route": "ferry", "highway": ""}
    sea = [way(1, "ab", "First", **ferry), way(2, "bc", "Second", **ferry)]
    land = [way(3, "ea", "West"), way(4, "cf", "South")]
    quay = steps(tmp_path, nodes, [*sea, *land, way(5, "bd", "North")], "ef")
    assert said(quay) == ["notification straight", "turn right", "notification straight"]
    crossing = steps(tmp_path, nodes, [*sea, *land, way(5, "bd", "Third", **ferry)], "ef")
    assert said(crossing) == ["notification straight", "notification straight"]
