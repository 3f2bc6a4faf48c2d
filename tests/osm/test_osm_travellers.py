"""What the tags of ways and nodes mean to cyclists and to people on foot, and what maps become to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.osm_maps import (
    LINE,
    ROAD,
    STEP,
    arcs,
    graph_of,
    import_plain,
    read_plain,
    streets_of,
    tags,
    trip,
    write_osm,
)
from vkssp.errors import FormatError
from vkssp.osm.nodes import node_attributes
from vkssp.osm.profile import BIKE, FOLDER, FOOT, PROFILES, read_profile
from vkssp.osm.ways import way_attributes


def step(speed: float, steps: int = 1) -> int:
    """Return the weight of steps of the line at a speed in km/h."""
    return round(steps * STEP * 3.6 / speed * 10)


@pytest.mark.parametrize(
    ("text", "forward", "backward"),
    [
        ("highway=residential", 15, 15),
        ("highway=cycleway", 15, 15),
        ("highway=track", 12, 12),
        ("highway=path", 13, 13),
        ("highway=service service=driveway", 15, 15),
        ("highway=footway bicycle=yes", 15, 15),
        ("highway=trunk bicycle=designated", 15, 15),
        ("highway=road access=yes", 15, 15),
        # The ground, speed limits, and no more than 21.
        ("highway=residential surface=cobblestone", 7, 7),
        ("highway=track surface=gravel", 6, 6),
        ("highway=cycleway surface=compacted", 10, 10),
        ("highway=path surface=sand", 3, 3),
        ("highway=path surface=asphalt", 13, 13),
        ("highway=residential maxspeed=10", 10, 10),
        ("highway=residential maxspeed=100", 15, 15),
        ("highway=residential maxspeed:backward=6mph", 15, 6 * 1.609),
        ("highway=residential maxspeed=30 maxspeed:bicycle=5", 5, 5),
        # One-way streets: ridden along, pushed against.
        ("highway=residential oneway=yes", 15, 4),
        ("highway=residential oneway=-1", 4, 15),
        ("highway=residential oneway=yes oneway:bicycle=no", 15, 15),
        ("highway=residential oneway:bicycle=yes", 15, 4),
        ("highway=residential oneway=yes foot=no", 15, 0),
        ("highway=residential oneway=yes foot:backward=no", 15, 0),
        ("highway=residential oneway=yes surface=mud", 3, 3),
        ("highway=residential junction=roundabout", 15, 0),
        ("highway=residential junction=roundabout oneway=yes", 15, 0),
        ("highway=footway bicycle=yes junction=roundabout", 15, 4),
        # Contraflow.
        ("highway=residential oneway=yes cycleway=opposite", 15, 15),
        ("highway=residential oneway=yes cycleway=opposite_lane", 15, 15),
        ("highway=residential oneway=-1 cycleway=opposite_track", 15, 15),
        ("highway=residential oneway=yes cycleway:left=opposite_lane", 15, 15),
        ("highway=residential oneway=yes cycleway:both=opposite", 15, 15),
        ("highway=residential oneway=yes cycleway:left=lane cycleway:left:oneway=-1", 15, 15),
        ("highway=residential oneway=yes cycleway:right=track cycleway:right:oneway=no", 15, 15),
        ("highway=residential oneway=yes cycleway:both=lane cycleway:both:oneway=no", 15, 15),
        ("highway=residential oneway=yes cycleway=lane", 15, 4),
        ("highway=residential oneway=yes cycleway:right:oneway=yes", 15, 4),
        ("highway=residential junction=roundabout cycleway=opposite", 15, 15),
        ("highway=residential oneway:bicycle=yes cycleway=opposite", 15, 4),
        # Pushing: where one walks, where one is told to, and where riding is forbidden but walking is not.
        ("highway=footway", 4, 4),
        ("highway=pedestrian", 4, 4),
        ("highway=pedestrian area=yes", 4, 4),
        ("highway=steps", 2, 2),
        ("highway=steps bicycle=yes", 2, 2),
        ("highway=steps bicycle=dismount", 2, 2),
        ("highway=footway surface=sand", 3, 3),
        ("man_made=pier", 4, 4),
        ("railway=platform", 4, 4),
        ("public_transport=platform", 4, 4),
        ("highway=residential bicycle=dismount", 4, 4),
        ("highway=bridleway bicycle=dismount", 4, 4),
        ("highway=bridleway foot=yes", 4, 4),
        ("highway=footway bicycle=no", 4, 4),
        ("highway=residential bicycle=no", 4, 4),
        ("highway=residential vehicle=no", 4, 4),
        ("highway=track vehicle=agricultural;forestry", 4, 4),
        ("highway=residential access=no foot=yes", 4, 4),
        ("highway=residential bicycle:backward=no", 15, 4),
        ("highway=footway oneway=yes", 4, 4),
        # Access: the most particular tag wins.
        ("highway=primary access=no bicycle=yes", 15, 15),
        ("highway=primary vehicle=no bicycle=designated", 15, 15),
        ("highway=residential motor_vehicle=no", 15, 15),
        ("highway=residential hov=designated", 15, 15),
        ("highway=residential access=destination", 15, 15),
        ("highway=residential bicycle=optional_sidepath", 15, 15),
        # Another way beside this one.
        ("highway=primary cycleway=separate bicycle=yes", 15, 15),
        ("highway=primary cycleway:right=separate", 15, 15),
        # Ferries and bridges.
        ("route=ferry", 5, 5),
        ("route=ferry oneway=yes", 5, 0),
        ("highway=residential bridge=movable", 5, 5),
        ("highway=footway bridge=movable", 4, 4),
    ],
)
def test_cycling(text: str, forward: float, backward: float) -> None:
    attributes = way_attributes(tags(text), BIKE)
    assert attributes.skipped == "" and attributes.nonsense == ()
    assert (attributes.forward, attributes.backward) == pytest.approx((forward, backward))
    assert not attributes.restricted_forward and not attributes.restricted_backward


@pytest.mark.parametrize(
    ("text", "forward", "backward"),
    [
        ("highway=residential", 5, 5),
        ("highway=footway", 5, 5),
        ("highway=steps", 5, 5),
        ("highway=path", 5, 5),
        ("highway=pedestrian area=yes", 5, 5),
        ("railway=platform", 5, 5),
        ("public_transport=platform area=yes", 5, 5),
        ("man_made=pier", 5, 5),
        ("highway=cycleway foot=yes", 5, 5),
        ("highway=cycleway access=yes", 5, 5),
        ("highway=trunk foot=yes", 5, 5),
        ("highway=residential maxspeed=3", 5, 5),
        # The ground.
        ("highway=path surface=gravel", 3.75, 3.75),
        ("highway=path surface=fine_gravel", 3.75, 3.75),
        ("highway=path surface=mud", 2.5, 2.5),
        ("highway=path surface=sand", 2.5, 2.5),
        ("highway=path surface=asphalt", 5, 5),
        # Only one-way tags for walkers count, and escalators.
        ("highway=residential oneway=yes", 5, 5),
        ("highway=residential oneway=reversible", 5, 5),
        ("highway=residential junction=roundabout", 5, 5),
        ("highway=footway oneway:foot=yes", 5, 0),
        ("highway=footway oneway:foot=-1", 0, 5),
        ("highway=steps conveying=forward", 5, 0),
        ("highway=steps conveying=backward", 0, 5),
        ("highway=steps conveying=reversible", 5, 5),
        ("highway=steps conveying=yes oneway:foot=yes", 5, 0),
        ("highway=steps conveying=backward oneway=no", 5, 5),
        ("highway=footway conveying=forward", 5, 0),
        ("highway=path conveying=forward", 5, 5),
        # Access.
        ("highway=residential access=no foot=yes", 5, 5),
        ("highway=residential vehicle=no bicycle=no", 5, 5),
        ("highway=residential access=destination", 5, 5),
        ("highway=residential foot:backward=no", 5, 0),
        # Another way beside this one.
        ("highway=residential sidewalk=separate foot=yes", 5, 5),
        ("highway=residential sidewalk:both=separate foot=permissive", 5, 5),
        ("highway=residential sidewalk=both", 5, 5),
        ("highway=residential cycleway=separate", 5, 5),
        ("route=ferry", 5, 5),
    ],
)
def test_walking(text: str, forward: float, backward: float) -> None:
    attributes = way_attributes(tags(text), FOOT)
    assert attributes.skipped == "" and attributes.nonsense == ()
    assert (attributes.forward, attributes.backward) == (forward, backward)
    assert not attributes.restricted_forward and not attributes.restricted_backward


@pytest.mark.parametrize(
    ("profile", "text", "reason"),
    [
        *((name, f"highway={kind}", "no road") for name in ("bike", "foot") for kind in ("motorway", "motorway_link")),
        *((name, f"highway={kind}", "no road") for name in ("bike", "foot") for kind in ("trunk", "trunk_link")),
        *((name, "highway=trunk access=yes", "no road") for name in ("bike", "foot")),
        *((name, "highway=primary motorroad=yes foot=yes bicycle=yes", "no access") for name in ("bike", "foot")),
        *((name, "highway=primary access=no", "no access") for name in ("bike", "foot")),
        *((name, "highway=construction", "construction") for name in ("bike", "foot")),
        *((name, "railway=rail", "no road") for name in ("bike", "foot", "car")),
        *((name, "building=yes amenity=cafe", "no road") for name in ("bike", "foot", "car")),
        ("car", "railway=platform", "no road"),
        ("bike", "highway=bridleway", "no road"),
        ("bike", "highway=bridleway access=yes", "no road"),
        ("bike", "highway=footway foot=no", "no road"),
        ("bike", "highway=footway access=no", "no road"),
        ("bike", "highway=primary bicycle=use_sidepath", "no access"),
        ("bike", "highway=primary bicycle=use_sidepath foot=yes", "no access"),
        ("bike", "highway=primary bicycle=no foot=no", "no access"),
        ("bike", "highway=primary cycleway=separate", "another way beside"),
        ("bike", "highway=primary cycleway:both=separate foot=yes", "another way beside"),
        ("bike", "highway=primary cycleway=separate bicycle=no", "another way beside"),
        ("bike", "route=ferry bicycle=no foot=yes", "no access"),
        ("bike", "route=ferry access=private", "no access"),
        ("foot", "highway=cycleway", "no road"),
        ("foot", "highway=primary foot=no", "no access"),
        ("foot", "highway=primary foot=use_sidepath", "no access"),
        ("foot", "highway=primary sidewalk=separate", "another way beside"),
        ("foot", "highway=primary sidewalk:left=separate access=yes", "another way beside"),
        ("foot", "highway=primary sidewalk:both=separate", "another way beside"),
        ("foot", "route=ferry foot=no", "no access"),
    ],
)
def test_closed_ways(profile: str, text: str, reason: str) -> None:
    attributes = way_attributes(tags(text), PROFILES[profile])
    assert attributes.skipped == reason
    assert attributes.forward == attributes.backward == 0


@pytest.mark.parametrize(
    ("text", "bike", "foot"),
    [
        # Values in no list: walkers pass, bicycles go by the kind of way; keys after them do not count.
        ("highway=residential bicycle=maybe foot=maybe access=no", 15, 5),
        ("highway=cycleway foot=maybe", 15, 5),
        ("highway=motorway foot=maybe bicycle=maybe", 0, 5),
        ("highway=footway bicycle=maybe", 4, 5),
        ("highway=primary sidewalk=separate foot=maybe", 15, 5),
        ("highway=primary cycleway=separate bicycle=maybe", 0, 5),
        ("highway=raceway access=yes", 0, 5),
        ("highway=motorway access=yes", 0, 0),
        ("route=hiking foot=yes", 4, 5),
    ],
)
def test_values_that_are_not_understood_and_ways_of_other_classes(text: str, bike: float, foot: float) -> None:
    for profile, speed in ((BIKE, bike), (FOOT, foot)):
        assert way_attributes(tags(text), profile).forward == speed


@pytest.mark.parametrize("value", ["private", "delivery", "customers", "permit", "residents"])
@pytest.mark.parametrize(("profile", "speed"), [("bike", 15), ("foot", 5)])
def test_private_ways_serve_the_ends_of_a_trip(profile: str, speed: float, value: str) -> None:
    attributes = way_attributes({"highway": "service", "access": value}, PROFILES[profile])
    assert attributes.forward == attributes.backward == speed
    assert attributes.restricted_forward and attributes.restricted_backward


def test_one_pushes_on_a_private_footway_to_where_one_goes() -> None:
    attributes = way_attributes(tags("highway=footway access=private"), BIKE)
    assert (attributes.forward, attributes.restricted_forward) == (4, True)
    # Riding is for residents, walking for everybody: whoever may ride does, at the ends of a trip.
    attributes = way_attributes(tags("highway=residential bicycle=private foot=yes oneway=yes"), BIKE)
    assert (attributes.forward, attributes.restricted_forward) == (15, True)
    assert (attributes.backward, attributes.restricted_backward) == (4, False)
    attributes = way_attributes(tags("highway=footway bicycle=private foot=yes"), BIKE)
    assert (attributes.forward, attributes.restricted_forward) == (4, False)


@pytest.mark.parametrize(
    ("text", "bike", "foot"),
    [
        ("barrier=bollard", False, False),
        ("barrier=cycle_barrier", False, False),
        ("barrier=gate", False, False),
        ("barrier=block", False, False),
        ("barrier=stile", True, False),
        ("barrier=turnstile", True, False),
        ("barrier=anything", True, False),
        ("barrier=yes", True, True),
        ("barrier=wall", True, True),
        ("barrier=fence", True, True),
        ("barrier=fence sensory=audible", False, False),
        ("barrier=wall foot=yes", True, False),
        ("barrier=wall bicycle=yes", False, True),
        ("barrier=gate access=no", True, True),
        ("barrier=gate access=private", False, False),
        ("barrier=gate foot=no", False, True),
        ("barrier=gate motor_vehicle=no", False, False),
        ("barrier=wall access=maybe", False, False),
        # Who may not ride through gets off.
        ("barrier=bollard bicycle=dismount", False, False),
        ("barrier=bollard bicycle=no", False, False),
        ("barrier=stile bicycle=no", True, False),
        ("barrier=gate bicycle=no foot=no", True, True),
        ("barrier=gate access=no foot=yes", False, False),
        ("barrier=gate bicycle=use_sidepath foot=yes", True, False),
        ("highway=crossing bicycle=no", False, False),
    ],
)
def test_barriers(text: str, bike: bool, foot: bool) -> None:
    for profile, blocked in ((BIKE, bike), (FOOT, foot)):
        attributes = node_attributes(tags(text), profile)
        assert (attributes.blocked, attributes.seconds) == (blocked, 0)


def test_pushing_against_a_oneway_street_or_riding_round(tmp_path: Path) -> None:
    # From 3 to 1 against the one-way street, or some 2.2 times as far round by 8: cars have no choice.
    nodes = {**LINE, 8: (0.002, 0.002)}
    ways = [(1, [1, 2, 3], {**ROAD, "oneway": "yes"}), (2, [1, 8, 3], ROAD)]
    source = write_osm(tmp_path / "map.osm", nodes, ways)
    bike, foot = (read_plain(source, profile=name) for name in ("bike", "foot"))
    round_by_8 = 2 * 5**0.5
    assert trip(bike, LINE[1], LINE[3]) == step(15, 2)
    assert trip(bike, LINE[3], LINE[1]) == pytest.approx(round_by_8 * step(15), abs=3)
    assert trip(bike, LINE[3], LINE[1]) < step(4, 2)
    assert trip(foot, LINE[3], LINE[1]) == trip(foot, LINE[1], LINE[3]) == step(5, 2)
    car = read_plain(source)
    assert trip(car, LINE[3], LINE[1]) == pytest.approx(round_by_8 * step(25), abs=3)
    # Without the way round one pushes.
    alone = graph_of(tmp_path, nodes, ways[:1], "bike")
    assert arcs(alone) == [(LINE[1], LINE[3], step(15, 2)), (LINE[3], LINE[1], step(4, 2))]
    lane = [(1, [1, 2, 3], {**ROAD, "oneway": "yes", "cycleway:left": "lane", "cycleway:left:oneway": "-1"})]
    assert trip(graph_of(tmp_path, nodes, lane, "bike"), LINE[3], LINE[1]) == step(15, 2)


def test_steps_and_footways_join_streets(tmp_path: Path) -> None:
    ways = [
        (1, [1, 2], ROAD),
        (2, [2, 3], {"highway": "steps"}),
        (3, [3, 4], {"highway": "footway"}),
        (4, [4, 5], {"highway": "motorway"}),
    ]
    source = write_osm(tmp_path / "map.osm", LINE, ways)
    for profile, weight in (("bike", step(15) + step(2) + step(4)), ("foot", 3 * step(5))):
        graph, report = import_plain(source, profile=profile)
        assert trip(graph, LINE[1], LINE[4]) == trip(graph, LINE[4], LINE[1]) == weight
        assert report.ways_skipped == {"no road": 1} and report.ways_used == 3
    with pytest.raises(FormatError, match="that a person on foot may use"):
        graph_of(tmp_path, LINE, ways[3:], "foot")


def test_platforms_and_piers_are_read_though_no_highways(tmp_path: Path) -> None:
    ways = [
        (1, [1, 2], ROAD),
        (2, [2, 3], {"railway": "platform"}),
        (3, [3, 4], {"public_transport": "platform"}),
        (4, [4, 5], {"man_made": "pier"}),
    ]
    source = write_osm(tmp_path / "map.osm", LINE, ways)
    assert trip(read_plain(source, profile="foot"), LINE[1], LINE[5]) == 4 * step(5)
    assert trip(read_plain(source, profile="bike"), LINE[1], LINE[5]) == step(15) + 3 * step(4)
    _, report = import_plain(source)
    assert (report.ways_read, report.arcs) == (1, 2)


def test_round_a_square(tmp_path: Path) -> None:
    nodes = {1: (0.0, 0.0), 2: (0.0, 0.001), 3: (0.001, 0.001), 4: (0.001, 0.0), 5: (0.0, -0.001), 6: (0.001, 0.002)}
    square = (1, [1, 2, 3, 4, 1], {"highway": "pedestrian", "area": "yes"})
    graph = graph_of(tmp_path, nodes, [square, (2, [5, 1], ROAD), (3, [3, 6], ROAD)], "foot")
    assert trip(graph, nodes[5], nodes[6]) == trip(graph, nodes[6], nodes[5]) == pytest.approx(4 * step(5), abs=2)


def test_private_ways_are_no_way_through(tmp_path: Path) -> None:
    nodes = {**LINE, 8: (0.01, 0.002)}
    ways = [(1, [1, 2, 3], {"highway": "footway", "access": "private"}), (2, [1, 8, 3], ROAD), (3, [3, 4], ROAD)]
    for profile, speed in (("foot", 5), ("bike", 4)):
        graph = graph_of(
            tmp_path, nodes, [*ways, (4, [5, 4], ROAD), (5, [1, 6], ROAD), (6, [2, 7], ways[0][2])], profile
        )
        assert trip(graph, LINE[7], LINE[3]) == pytest.approx(step(speed, 6), abs=1)  # out of it
        through = trip(graph, LINE[6], LINE[5])
        assert through is not None and through > 20 * step(15)  # not through, but round by 8
    public = {"highway": "footway", "access": "permissive"}
    graph = graph_of(tmp_path, nodes, [(1, [1, 2, 3], public), *ways[1:]], "foot")
    assert trip(graph, LINE[1], LINE[3]) == step(5, 2)


def test_barriers_on_a_map(tmp_path: Path) -> None:
    for barrier, car, bike, foot in (
        ("bollard", False, True, True),
        ("stile", False, False, True),
        ("cattle_grid", True, True, True),
        ("wall", False, False, False),
    ):
        source = write_osm(tmp_path / "map.osm", {**LINE, 2: (*LINE[2], {"barrier": barrier})}, [(1, [1, 2, 3], ROAD)])
        for profile, passes in (("car", car), ("bike", bike), ("foot", foot)):
            through = trip(read_plain(source, profile=profile), LINE[1], LINE[3])
            assert (through is not None) == passes, (barrier, profile)


def test_a_node_without_a_barrier_may_block(tmp_path: Path) -> None:
    for key, bike, foot in (("access", False, False), ("bicycle", True, True), ("foot", True, False)):
        source = write_osm(tmp_path / "map.osm", {**LINE, 2: (*LINE[2], {key: "no"})}, [(1, [1, 2, 3], ROAD)])
        for profile, passes in (("bike", bike), ("foot", foot)):
            assert (trip(read_plain(source, profile=profile), LINE[1], LINE[3]) is not None) == passes


def test_limits_are_for_riding(tmp_path: Path) -> None:
    text = (FOLDER / "bike.toml").read_text(encoding="utf-8")
    old = "only_lower = true", "highest_speed = 21"
    assert all(text.count(part) == 1 for part in old)
    path = tmp_path / "my.toml"
    path.write_text(text.replace(old[0], "share = 0.5").replace(old[1], "highest_speed = 3"), encoding="utf-8")
    profile = read_profile(path)
    for tagged, speed in (("highway=footway maxspeed=50", 4), ("highway=primary maxspeed=4", 2), ("route=ferry", 5)):
        assert way_attributes(tags(tagged), profile).forward == speed
    assert way_attributes(tags("highway=primary maxspeed=50"), profile).forward == 3


def test_ferries_carry_cyclists_and_walkers(tmp_path: Path) -> None:
    ways = [(1, [1, 2, 4], {"route": "ferry", "duration": "00:30"}), (2, [4, 6], {"route": "ferry"})]
    for profile in ("bike", "foot"):
        graph = graph_of(tmp_path, LINE, ways, profile)
        assert trip(graph, LINE[1], LINE[4]) == 18000
        assert trip(graph, LINE[4], LINE[6]) == step(5, 2)
        assert streets_of(graph).carried.all()
    graph = graph_of(tmp_path, LINE, [(1, [1, 2], {"route": "ferry", "foot": "no"})], "bike")
    assert graph.num_arcs == 2


def test_who_may_ride_to_a_place_need_not_take_the_way_beside() -> None:
    found = way_attributes(tags("highway=primary cycleway=separate bicycle=destination"), PROFILES["bike"])
    assert (found.forward, found.backward) == (15, 15)


def test_railways_that_no_train_uses_are_ways_if_a_tag_opens_them(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('extends = "bike"\n[train_speeds]\ntrain = 10\n')
    profile = read_profile(tmp_path / "p.toml")
    assert way_attributes(tags("railway=siding bicycle=yes"), profile).modes == ("cycling", "cycling")
    assert way_attributes(tags("railway=siding"), profile).skipped == "no road"
