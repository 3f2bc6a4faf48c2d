"""Weights that are no durations, modes, classes, and profiles that extend others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.osm_maps import LINE, tags, write_osm
from vkssp import Router, read_graph
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.streets import MODES
from vkssp.osm.profile import read_profile
from vkssp.osm.ways import way_attributes

#: Two ways from node 1 to node 4: a lane straight on, and a wide road with a detour.
FORK = {1: (0.0, 0.0), 2: (0.0, 0.01), 3: (0.004, 0.005)}
WAYS = [
    (1, [1, 2], {"highway": "primary", "lanes": "1", "toll": "yes"}),
    (2, [1, 3, 2], {"highway": "primary", "tunnel": "yes", "driving_side": "left"}),
]
ROUTABILITY = 'extends = "car"\n[weight]\nname = "routability"\n[weight.two_way.lanes]\n"1" = 0.5\n'


def imported(tmp_path: Path, profile: str, turns: str = "costs") -> Graph:
    path = tmp_path / "profile.toml"
    path.write_text(profile)
    return read_graph(write_osm(tmp_path / "map.osm", FORK, WAYS), profile=path, turns=turns)


def test_routes_minimize_weights_and_tell_durations(tmp_path: Path) -> None:
    graph = imported(tmp_path, ROUTABILITY)
    streets = graph.streets
    assert streets is not None and streets.seconds is not None
    assert (streets.weight_name, streets.seconds_per_weight, graph.scale) == ("routability", 0.0, 0.1)
    with Router(graph, device="cpu") as router:
        route = router.route((0.0, 0.0), (0.0, 0.01), steps=True)
        table = router.table([(0.0, 0.0)], [(0.0, 0.01)], ["duration", "distance", "weight"]).read()
    assert set(streets.way[route.arcs].tolist()) == {2}
    assert route.distance_m is not None and route.duration_s is not None
    assert route.duration_s == pytest.approx(route.distance_m * 3.6 / 65, abs=0.2)
    assert route.weight == pytest.approx(route.duration_s, abs=0.2)
    assert sum(step.duration_s or 0.0 for step in route.legs[0].steps) == pytest.approx(route.duration_s)
    for name, value in (("duration", route.duration_s), ("distance", route.distance_m), ("weight", route.weight)):
        assert table[name].item() == pytest.approx(value, rel=1e-5), name
    # The lane weighs twice its time.
    lane = streets.way == 1
    real = graph.weight[lane] * 0.1
    assert real == pytest.approx(2 * streets.seconds[lane], abs=0.1)


def test_fastest_and_shortest_routes_take_the_lane(tmp_path: Path) -> None:
    for profile, name in (
        ('extends = "car"\n', "duration"),
        ('extends = "car"\n[weight]\nname = "distance"\n', "distance"),
    ):
        graph = imported(tmp_path, profile)
        assert graph.streets is not None and graph.streets.weight_name == name
        with Router(graph, device="cpu") as router:
            route = router.route((0.0, 0.0), (0.0, 0.01))
        assert set(graph.streets.way[route.arcs].tolist()) == {1}
        assert route.duration_s == pytest.approx((route.distance_m or 0.0) * 3.6 / 65, abs=0.2)
        if name == "distance":
            assert route.weight == pytest.approx(route.distance_m, abs=0.2)


@pytest.mark.parametrize("turns", ["none", "restrictions", "costs"])
def test_modes_classes_and_sides_are_kept(tmp_path: Path, turns: str) -> None:
    graph = imported(tmp_path, ROUTABILITY, turns)
    graph.save(tmp_path / "saved")
    streets = Graph.load(tmp_path / "saved").streets
    assert streets is not None and streets.classes is not None and streets.mode is not None
    assert streets.class_names == ("toll", "motorway", "ferry", "restricted", "tunnel")
    found = {int(way): int(mask) for way, mask in zip(streets.way, streets.classes, strict=True)}
    assert found == {1: 1, 2: 1 << 4}
    assert streets.left_hand is not None and np.array_equal(streets.left_hand, streets.way == 2)
    assert {MODES[mode] for mode in streets.mode} == {"driving"}


@pytest.mark.parametrize(
    ("text", "modes", "factor"),
    [
        ("highway=primary", ("cycling", "cycling"), (0.5, 0.5)),
        ("highway=primary cycleway:right=track", ("cycling", "cycling"), (1.0, 0.5)),
        ("highway=primary oneway=yes", ("cycling", "pushing bike"), (0.5, 0.5)),
        ("highway=primary oneway=yes cycleway:left=opposite", ("cycling", "cycling"), (1.0, 1.0)),
        ("route=ferry", ("ferry", "ferry"), (1.0, 1.0)),
        ("railway=train bicycle=yes", ("train", "train"), (1.0, 1.0)),
        ("highway=footway", ("pushing bike", "pushing bike"), (1.0, 1.0)),
    ],
)
def test_what_ways_are_to_a_cautious_cyclist(
    tmp_path: Path, text: str, modes: tuple[str, str], factor: tuple[float, float]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        'extends = "bike"\nwithout = ["oneway.contraflow"]\n[train_speeds]\ntrain = 40\n'
        '[cycleways]\nalong = ["track"]\nopposite = ["opposite"]\nspeed = 15\n'
        '[weight]\nname = "cyclability"\n[weight.unsafe]\nprimary = 0.5\n'
    )
    found = way_attributes(tags(text), read_profile(path))
    assert (found.modes, found.factor) == (modes, factor)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "lorry"', "does not exist"),
        ('extends = "p.toml"', "cannot extend itself"),
        ('extends = "car"\nwithout = ["caps.sac_scale"]', "which 'car' does not have"),
        ("extends = 3", "is no text"),
        ('without = ["caps"]', "has no effect"),
        ('extends = "car"\nmode = "flying"', "give one of driving"),
        ('extends = "car"\n[weight.widths]\nnarrow = 0.5', "is no width"),
    ],
)
def test_mistakes_in_extensions_are_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(QueryError, match=message):
        read_profile(path)


def test_pieces_between_nodes_are_rounded(tmp_path: Path) -> None:
    nodes = dict(LINE)
    way = (1, sorted(nodes), {"highway": "primary"})
    (tmp_path / "p.toml").write_text('extends = "car"\nround_pieces = true\nellipsoid = true\n')
    graph = read_graph(write_osm(tmp_path / "m.osm", nodes, [way]), profile=tmp_path / "p.toml", turns="none")
    pieces = len(nodes) - 1
    # A thousandth of a degree of the equator, on the ellipsoid.
    metres = 111.31949
    assert graph.streets is not None
    assert graph.streets.length.tolist() == pytest.approx([pieces * metres] * 2, rel=1e-6)
    assert graph.weight.tolist() == [pieces * round(metres * 36 / 65)] * 2


def test_fixed_amounts_depend_on_no_tag_and_steps_weigh_as_routes(tmp_path: Path) -> None:
    fixed = '[fixed]\nway_seconds = 50\npiece_weight = 1.11\n[weight]\nname = "steps"\nprecision = 3\n'
    graph = imported(tmp_path, 'extends = "car"\nnamed = false\n' + fixed, "none")
    streets = graph.streets
    assert streets is not None and streets.seconds is not None
    assert graph.weight[streets.way == 2].tolist() == [2220, 2220]
    assert streets.seconds == pytest.approx(50.0)
    with Router(graph, device="cpu") as router:
        route = router.route((0.0, 0.0), (0.0, 0.01), steps=True)
    assert (route.weight, route.duration_s) == (pytest.approx(1.11), pytest.approx(50.0))
    assert sum(step.weight for step in route.legs[0].steps) == 1110


def test_of_ways_between_the_same_nodes_the_lightest_stays_in_each_direction(tmp_path: Path) -> None:
    ways = [
        (1, [1, 2], {"highway": "primary", "maxspeed:forward": "60", "maxspeed:backward": "30"}),
        (2, [2, 1], {"highway": "primary", "maxspeed:forward": "60", "maxspeed:backward": "30"}),
    ]
    path = tmp_path / "profile.toml"
    path.write_text('extends = "car"\nround_pieces = true\n')
    graph = read_graph(write_osm(tmp_path / "map.osm", FORK, ways), profile=path, turns="none")
    assert graph.streets is not None and sorted(graph.streets.way.tolist()) == [1, 2]
    assert graph.weight[0] == graph.weight[1]
