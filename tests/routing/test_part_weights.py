"""Weights of parts of streets in whole units of pieces between OSM nodes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import write_osm
from vkssp import Router, read_graph
from vkssp.graph import Graph
from vkssp.server.answers.annotations import annotation

#: Nodes 100 m apart on the equator's first parallel, as OSRM's own tests have them, and one that is nearer.
LON = (1.0, 1.0008984512067, 1.0017969024135, 1.0026953536202, 1.0035938048270)
PROFILE = """
extends = "car"
round_pieces = true
ellipsoid = true
[speeds.highway]
primary = 36
service = 24
"""


def street(tmp_path: Path, *, oneway: str = "no", turns: str = "none") -> Graph:
    """Return one street of four pieces, each of which takes 10 s, and streets that cross it at its ends."""
    nodes = {number + 1: (1.0, lon) for number, lon in enumerate(LON)} | {6: (1.01, LON[0]), 7: (1.01, LON[4])}
    ways = [(1, [1, 2, 3, 4, 5], {"highway": "primary", "oneway": oneway})]
    ways += [(2, [6, 1], {"highway": "primary"}), (3, [7, 5], {"highway": "primary"})]
    (tmp_path / "p.toml").write_text(PROFILE)
    return read_graph(write_osm(tmp_path / "m.osm", nodes, ways), profile=tmp_path / "p.toml", turns=turns)


# What OSRM answers, in tenths of a second: units are cut off west of a place, in both directions.
@pytest.mark.parametrize(
    ("start", "end", "tenths"),
    [
        (1.003144, 1.0, 349),
        (1.0, 1.003144, 349),
        (1.003144, 1.003594, 51),
        (1.003594, 1.003144, 51),
        (1.003499, 1.0, 389),
        (1.000225, 1.0, 25),
        (1.000225, 1.000899, 75),
        (1.000224, 1.000899, 76),
    ],
)
@pytest.mark.parametrize("turns", ["none", "costs"])
def test_units_are_cut_off_on_one_side(tmp_path: Path, turns: str, start: float, end: float, tenths: int) -> None:
    graph = street(tmp_path, turns=turns)
    assert graph.streets is not None and graph.streets.points[1].tolist() == [10_000_000, 10_008_980]
    with Router(graph, device="cpu") as router:
        route = router.route((1.0, start), (1.0, end))
        table = router.table([(1.0, start)], [(1.0, end)]).read()["duration"]
    assert round(10 * (route.duration_s or 0.0)) == tenths
    assert table[0, 0] == pytest.approx(tenths / 10)


@pytest.mark.parametrize("turns", ["none", "costs"])
@pytest.mark.parametrize("oneway", ["no", "yes", "-1"])
def test_parts_add_up(tmp_path: Path, oneway: str, turns: str) -> None:
    graph = street(tmp_path, oneway=oneway, turns=turns)
    rng = np.random.default_rng(5)
    lon = np.sort(np.concatenate([[LON[0], LON[4]], rng.uniform(LON[0], LON[4], 12).round(6)]))
    places = [(1.0, float(one)) for one in (lon[::-1] if oneway == "-1" else lon)]
    with Router(graph, device="cpu") as router:
        routes = [router.route(*pair) for pair in pairwise(places)]
        table = router.table(places, places, ["duration", "distance"]).read()
        assert sum(route.weight for route in routes) == router.route(places[0], places[-1]).weight == 400
        for at, route in enumerate(routes):
            assert table["duration"][at, at + 1] == pytest.approx(route.duration_s)
            leg = route.legs[0]
            found = annotation(graph, leg, ("duration", "weight", "distance", "nodes"))
            assert sum(found["duration"]) == pytest.approx(leg.duration_s)
            assert found["weight"].tolist() == found["duration"].tolist()
            assert sum(found["distance"]) == pytest.approx(leg.distance_m, abs=1e-6)
            assert len(found["nodes"]) == len(found["duration"]) + 1


def test_other_weights_are_shared_by_length(tmp_path: Path) -> None:
    graph = street(tmp_path)
    with Router(graph, device="cpu") as router:
        router.set_weights(graph.weight * np.uint32(3))
        assert router.route((1.0, 1.003499), (1.0, 1.0)).weight == pytest.approx(1200 * 0.97361, abs=1)


def test_durations_of_ways_are_shared_evenly(tmp_path: Path) -> None:
    nodes = {1: (1.0, 1.0), 2: (1.0, 1.001), 3: (1.0, 1.003), 4: (1.0, 1.01), 5: (1.0, 0.99), 6: (1.0, 1.02)}
    ferry = {"route": "ferry", "duration": "00:10"}
    ways = [(1, [5, 1], {"highway": "primary"}), (2, [1, 2, 3, 4], ferry), (3, [4, 6], {"highway": "primary"})]
    (tmp_path / "p.toml").write_text(PROFILE)
    graph = read_graph(write_osm(tmp_path / "m.osm", nodes, ways), profile=tmp_path / "p.toml", turns="none")
    streets = graph.streets
    assert streets is not None and streets.piece_weight is not None
    arc = int(np.flatnonzero((streets.way == 2) & ~streets.backward)[0])
    first = int(streets.polyline_first[streets.polyline[arc]])
    assert streets.piece_weight[first : first + 4].tolist() == [[2000, 2000]] * 3 + [[0, 0]]
    assert graph.weight[arc] == 6000


@pytest.mark.parametrize("turns", ["none", "costs"])
@pytest.mark.parametrize("reverse", [False, True])
def test_tables_have_the_durations_of_routes_if_weights_are_none(tmp_path: Path, turns: str, reverse: bool) -> None:
    nodes = {1: (1.0, 1.0), 2: (1.0, 1.003), 3: (0.997, 1.003), 4: (0.997, 1.0)}
    ways = [(way, [way, way % 4 + 1], {"highway": "primary", "oneway": "yes"}) for way in nodes]
    fixed = "[fixed]\npiece_weight = 777\npiece_seconds = 3\n[weight]\nname = 'count'\n"
    (tmp_path / "p.toml").write_text(PROFILE + fixed)
    graph = read_graph(write_osm(tmp_path / "m.osm", nodes, ways), profile=tmp_path / "p.toml", turns=turns)
    places = [(1.0, 1.00101), (1.0, 1.00199), (0.99899, 1.003), (0.99801, 1.0), (0.997, 1.003)]
    with Router(graph, device="cpu") as router:
        table = router.table(places, places, ["duration"], reverse=reverse).read()["duration"]
        for row, start in enumerate(places):
            for column, end in enumerate(places):
                found = table[column, row] if reverse else table[row, column]
                assert round(10 * found) == round(10 * (router.route(start, end).duration_s or 0.0))


def test_parts_that_weigh_nothing_take_no_time(tmp_path: Path) -> None:
    """Two places on a street, 0.6 s apart, in the same unit of weight."""
    fixed = "[fixed]\npiece_weight = 1\npiece_seconds = 60\n[weight]\nname = 'count'\n"
    (tmp_path / "p.toml").write_text(PROFILE + fixed)
    nodes, ways = {1: (1.0, 1.0), 2: (1.0, 1.001)}, [(1, [1, 2], {"highway": "primary"})]
    graph = read_graph(write_osm(tmp_path / "m.osm", nodes, ways), profile=tmp_path / "p.toml", turns="costs")
    places = [(1.0, 1.00045), (1.0, 1.00046)]
    with Router(graph, device="cpu") as router:
        route = router.route(*places)
        assert route.weight == 0 and route.duration_s == 0.0
        assert router.table(*([place] for place in places), ["duration"]).read()["duration"][0, 0] == 0.0
