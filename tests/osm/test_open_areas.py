"""Open areas, such as squares: the ways across them, places inside, and what damaged areas become."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import streets_of, write_osm
from vkssp import Router
from vkssp.errors import GraphError, QueryError
from vkssp.graph import Graph
from vkssp.graph.geo import haversine
from vkssp.graph.open_areas import unpacked
from vkssp.graph.visibility import Visibility
from vkssp.osm import import_extract
from vkssp.osm.profile import read_profile

#: A square of some 200 m with an obstacle in the middle, and a way in at two corners.
NODES = {
    1: (0.0, 0.0),
    2: (0.0, 0.002),
    3: (0.002, 0.002),
    4: (0.002, 0.0),
    5: (0.0005, 0.0005),
    6: (0.0005, 0.0015),
    7: (0.0015, 0.0015),
    8: (0.0015, 0.0005),
    9: (-0.001, 0.0),
    10: (0.003, 0.002),
}
SQUARE = {"highway": "pedestrian", "name": "Plaza"}
IN = [(11, [9, 1], {"highway": "footway", "name": "South"}), (12, [3, 10], {"highway": "footway", "name": "North"})]
EDGE, OBSTACLE = (13, [1, 2, 3, 4, 1]), (14, [5, 6, 7, 8, 5])
#: Two pieces of the edge, one against the direction of the other.
HALVES = [(15, [1, 2, 3], {}), (16, [1, 4, 3], {})]
OUTER = [("outer", "way", 15), ("outer", "way", 16)]


def imported(tmp_path: Path, with_obstacle: bool = True, **options: str) -> Graph:
    profile = tmp_path / "plaza.toml"
    profile.write_text('extends = "foot"\n[open_areas]\ntags.highway = ["pedestrian"]\n', encoding="utf-8")
    if with_obstacle:
        ways = [*IN, *HALVES, (*OBSTACLE, {})]
        relations = [([*OUTER, ("inner", "way", 14)], {"type": "multipolygon", **SQUARE})]
    else:
        ways, relations = [*IN, (*EDGE, {"area": "yes", **SQUARE})], []
    path = write_osm(tmp_path / "plaza.osm", NODES, ways, relations=relations)
    return import_extract(path, profile=profile, **options)[0]


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_square_is_crossed_in_a_straight_line(tmp_path: Path, turns: str) -> None:
    route = Router(imported(tmp_path, False, turns=turns), device="cpu").route(NODES[9], NODES[10], steps=True)
    assert np.allclose(route.points, [NODES[node] for node in (9, 1, 3, 10)])
    assert [step.name for step in route.legs[0].steps] == ["South", "Plaza", "North", "North"]


def test_crossing_goes_round_obstacles(tmp_path: Path) -> None:
    graph = imported(tmp_path)
    route = Router(graph, device="cpu").route(NODES[9], NODES[10])
    passed = [tuple(point) for point in route.points.round(7).tolist()]
    assert passed in ([NODES[node] for node in (9, 1, corner, 3, 10)] for corner in (6, 8))
    (area,) = unpacked(streets_of(graph).open_areas)
    assert area.way == -1
    assert [len(ring.nodes) for ring in area.rings] == [4, 4]


@pytest.mark.parametrize("turns", ["none", "costs"])
def test_places_inside(tmp_path: Path, turns: str) -> None:
    router = Router(imported(tmp_path, turns=turns), device="cpu")
    west, east = (0.001, 0.0002), (0.001, 0.0018)
    # Out of the area: by the corner of the obstacle.
    out = router.route(west, NODES[10], steps=True)
    assert np.allclose(out.points, [west, NODES[8], NODES[3], NODES[10]])
    assert sum(step.distance_m for step in out.legs[0].steps) == pytest.approx(out.distance_m)
    assert router.route(NODES[10], west).distance_m == pytest.approx(out.distance_m)
    # To a corner with a way in, to the middle of that way, and along it.
    straight = float(haversine(*west, *NODES[1]))
    assert router.route(west, NODES[1]).distance_m == pytest.approx(straight)
    half = (-0.0005, 0.0)
    assert router.route(west, half).distance_m == pytest.approx(straight + float(haversine(*NODES[1], *half)), rel=1e-6)
    assert router.route(half, west).distance_m == pytest.approx(straight + float(haversine(*NODES[1], *half)), rel=1e-6)
    # From one side of the obstacle to the other, which is no path of the graph.
    across = router.route(west, east, steps=True)
    assert len(across.points) == 4
    assert across.distance_m == pytest.approx(240.87, abs=0.1)
    assert [step.type for step in across.legs[0].steps] == ["depart", "arrive"]
    assert len(router.route(west, east, via=[NODES[10]]).legs) == 2
    places = [west, east, NODES[10], half]
    table = router.table(places, metrics=("duration", "distance")).read()
    for row, one in enumerate(places):
        for column, other in enumerate(places):
            route = router.route(one, other)
            assert table["distance"][row, column] == pytest.approx(route.distance_m, abs=1e-3)
            assert table["duration"][row, column] == pytest.approx(route.duration_s, abs=0.2)
    trip = router.trip(places)
    assert trip.route.distance_m > across.distance_m


def test_routes_from_inside_pass_via_points_without_turning_round(tmp_path: Path) -> None:
    """On the way in, a dead end, one turns round at its end, if one has to go on."""
    router = Router(imported(tmp_path, turns="costs"), device="cpu")
    ends, via = ((0.001, 0.0002), (0.001, 0.0018)), (-0.0005, 0.0)
    straight, free = (router.route(*ends, via=[via], continue_straight=one) for one in (True, False))
    assert NODES[9] in [tuple(point) for point in straight.points.tolist()]
    assert free.distance_m == pytest.approx(straight.distance_m - 2 * haversine(*NODES[9], *via))


@pytest.mark.parametrize(
    ("ways", "relations"),
    [
        # One way in; an open line; a part of the edge that the file lacks; an edge that crosses itself.
        ([IN[0], (*EDGE, {"area": "yes", **SQUARE})], []),
        ([*IN, (13, [1, 2, 3], {"area": "yes", **SQUARE})], []),
        ([*IN, *HALVES], [([*OUTER, ("outer", "way", 99)], {"type": "multipolygon", **SQUARE})]),
        ([*IN, (13, [1, 3, 2, 4, 1], {"area": "yes", **SQUARE})], []),
    ],
)
def test_areas_that_are_left_out(tmp_path: Path, ways: list, relations: list) -> None:
    profile = tmp_path / "plaza.toml"
    profile.write_text('extends = "foot"\n[open_areas]\ntags.highway = ["pedestrian"]\n', encoding="utf-8")
    path = write_osm(tmp_path / "plaza.osm", NODES, ways, relations=relations)
    graph, report = import_extract(path, profile=profile)
    assert streets_of(graph).open_areas is None
    assert report.open_areas == 0
    assert any(reason.startswith("open area") for reason in report.ways_skipped)


def test_shortest_paths_inside() -> None:
    edge = np.array([(0, 0), (0, 100), (100, 100), (100, 0)]) * 1000
    obstacle = np.array([(30, 30), (70, 30), (70, 70), (30, 70)]) * 1000
    inside = Visibility([edge, obstacle])
    assert inside.is_reflex.tolist() == [False] * 4 + [True] * 4
    there = inside.shortest(np.array([50_000, 10_000]), np.array([50_000, 90_000]))
    assert len(there) == 4
    assert inside.shortest(np.array([50_000, 10_000]), np.array([10_000, 10_000])).tolist() == [
        [50_000, 10_000],
        [10_000, 10_000],
    ]
    # Around a corner that juts in.
    hook = np.array([(0, 0), (0, 100), (100, 100), (100, 90), (10, 90), (10, 0)]) * 1000
    assert Visibility([hook]).shortest(np.array([5_000, 1_000]), np.array([99_000, 95_000])).tolist()[1] == [
        10_000,
        90_000,
    ]


def test_refusals(tmp_path: Path) -> None:
    streets = streets_of(imported(tmp_path))
    for damaged in (streets.open_areas[:-1], np.array([1, 0, 1, 3], np.int64), np.array([1, 5000, 1, 2], np.int64)):
        with pytest.raises(GraphError, match=r"streets\.open_areas is no list of areas"):
            replace(streets, open_areas=damaged).check(len(streets.length))
    text = 'extends = "foot"\n[open_areas]\ntags.highway = ["pedestrian"]\n[weight]\nname = "distance"\n'
    (tmp_path / "weighed.toml").write_text(text, encoding="utf-8")
    with pytest.raises(QueryError, match="open_areas needs weights that are durations"):
        read_profile(tmp_path / "weighed.toml")
