"""What the tags of ways and nodes mean to a car."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.osm_maps import graph_of, streets_of, tags
from vkssp.errors import QueryError
from vkssp.osm.nodes import node_attributes
from vkssp.osm.profile import CAR, PROFILES, profile_named
from vkssp.osm.ways import WayAttributes, way_attributes

MPH = 1.609


def way(text: str) -> WayAttributes:
    return way_attributes(tags(text), CAR)


@pytest.mark.parametrize(
    ("highway", "speed"),
    [
        ("motorway", 90),
        ("motorway_link", 45),
        ("trunk", 85),
        ("trunk_link", 40),
        ("primary", 65),
        ("primary_link", 30),
        ("secondary", 55),
        ("secondary_link", 25),
        ("tertiary", 40),
        ("tertiary_link", 20),
        ("unclassified", 25),
        ("residential", 25),
        ("living_street", 10),
        ("service", 15),
        ("winter_road", 20),
        ("ice_road", 15),
    ],
)
def test_class_speeds(highway: str, speed: float) -> None:
    assert way(f"highway={highway}").forward == speed
    assert way(f"highway={highway}").backward == (0 if highway == "motorway" else speed)


@pytest.mark.parametrize(
    ("text", "forward", "backward"),
    [
        # Limits: four fifths of them replace the speed of the class, upward and downward.
        ("highway=residential maxspeed=50", 40, 40),
        ("highway=primary maxspeed=30", 24, 24),
        ("highway=primary maxspeed=30mph", 24 * MPH, 24 * MPH),
        ("highway=primary maxspeed=50;30", 40, 40),
        ("highway=primary maxspeed=50 maxspeed:forward=100", 80, 40),
        ("highway=primary maxspeed:backward=100", 65, 80),
        ("highway=primary maxspeed=100 maxspeed:advisory=50", 40, 40),
        ("highway=motorway maxspeed=none", 112, 0),
        ("highway=living_street maxspeed=walk", 4, 4),
        ("highway=primary maxspeed=DE:urban", 40, 40),
        ("highway=motorway maxspeed=DE:motorway", 90, 0),
        ("highway=motorway maxspeed=signals", 90, 0),
        ("highway=primary maxspeed=fast", 65, 65),
        ("highway=primary maxspeed:forward=fast maxspeed=50", 40, 40),
        ("highway=primary source:maxspeed=DE:urban", 40, 40),
        ("highway=primary maxspeed=30 source:maxspeed=DE:urban", 24, 24),
        ("highway=primary maxspeed:type=sign source:maxspeed=30", 65, 65),
        ("highway=primary maxspeed:type=IS:rural maxspeed:forward=30", 24, 72),
        # The state of the road caps what class and limit say.
        ("highway=primary surface=asphalt", 65, 65),
        ("highway=primary surface=gravel", 40, 40),
        ("highway=primary surface=gravel maxspeed=90", 40, 40),
        ("highway=residential surface=gravel", 25, 25),
        ("highway=primary surface=mud", 10, 10),
        ("highway=primary tracktype=grade3", 30, 30),
        ("highway=primary smoothness=very_bad", 20, 20),
        ("highway=primary smoothness=bad surface=sand", 20, 20),
        ("highway=primary surface=chocolate", 65, 65),
        # Slow service roads.
        ("highway=service service=parking_aisle", 7.5, 7.5),
        ("highway=service service=driveway maxspeed=20", 8, 8),
        ("highway=service service=alley", 7.5, 7.5),
        ("highway=service service=drive-through", 7.5, 7.5),
        ("highway=service service=slipway", 15, 15),
        ("highway=tertiary service=driveway", 40, 40),
        # One-way streets.
        ("highway=primary oneway=yes", 65, 0),
        ("highway=primary oneway=1", 65, 0),
        ("highway=primary oneway=true", 65, 0),
        ("highway=primary oneway=-1", 0, 65),
        ("highway=primary oneway=no", 65, 65),
        ("highway=primary oneway=sometimes", 65, 65),
        ("highway=primary oneway=alternating", 65, 65),
        ("highway=motorway oneway=alternating", 90, 0),
        ("highway=motorway oneway=no", 90, 90),
        ("highway=motorway oneway=-1", 0, 90),
        ("highway=motorway oneway=sometimes", 90, 0),
        ("highway=motorway_link", 45, 45),
        ("highway=primary junction=roundabout", 65, 0),
        ("highway=primary junction=circular", 65, 0),
        ("highway=primary junction=roundabout oneway=no", 65, 65),
        ("highway=primary junction=jughandle", 65, 65),
        ("highway=primary oneway=yes oneway:motorcar=no", 65, 65),
        ("highway=primary oneway=no oneway:motor_vehicle=-1", 0, 65),
        ("highway=primary oneway:vehicle=yes oneway:motorcar=no", 65, 65),
        ("highway=primary oneway:bicycle=yes", 65, 65),
        ("highway=primary oneway=yes cycleway=opposite foot=yes", 65, 0),
        ("highway=primary sidewalk=separate cycleway=separate motorroad=yes", 65, 65),
        # Access: the most particular tag wins.
        ("highway=primary access=no motorcar=yes", 65, 65),
        ("highway=primary access=no vehicle=no motor_vehicle=yes", 65, 65),
        ("highway=primary vehicle:backward=no", 65, 0),
        ("highway=primary motor_vehicle=no motorcar:forward=yes", 65, 0),
        ("highway=primary access=permissive", 65, 65),
        ("highway=primary bicycle=no foot=no", 65, 65),
        ("highway=primary motorcar=maybe access=yes", 65, 65),
        ("highway=primary motor_vehicle=agricultural;yes", 65, 65),
        # Ways that are no roads until a tag says so.
        ("highway=track motor_vehicle=yes", 10, 10),
        ("highway=track access=yes", 10, 10),
        ("highway=track motorcar=yes maxspeed=50", 40, 40),
        ("highway=road access=permissive", 10, 10),
        ("highway=pedestrian motor_vehicle=yes", 10, 10),
        ("highway=path motorcar=designated", 10, 10),
        # Any value that is in no list opens a way of any class, and keys after it do not count.
        ("highway=track motor_vehicle=seasonal", 10, 10),
        ("highway=track motor_vehicle=seasonal access=no", 10, 10),
        ("highway=residential vehicle=seasonal access=no", 25, 25),
        ("highway=path motor_vehicle:forward=4wd_only", 10, 0),
        ("highway=track access=seasonal tracktype=grade5 maxspeed=60", 20, 20),
        ("highway=track access=unknown", 10, 10),
        ("highway=track motorcar=agricultural;unknown", 10, 10),
        ("highway=footway access=permissive", 10, 10),
        ("highway=raceway access=yes", 10, 10),
        ("route=road motor_vehicle=yes", 10, 10),
        # Ferries, trains, bridges.
        ("route=ferry", 5, 5),
        ("route=ferry oneway=yes", 5, 0),
        ("route=shuttle_train", 10, 10),
        ("highway=primary bridge=movable", 5, 5),
        ("highway=primary bridge=yes", 65, 65),
        # Size.
        ("highway=primary maxheight=2.0", 65, 65),
        ("highway=primary maxheight=default", 65, 65),
        ("highway=primary maxheight=low", 65, 65),
        ("highway=primary maxwidth:backward=1.5", 65, 0),
        ("highway=primary maxweight=3.5", 65, 65),
        # Not there yet, or harmless.
        ("highway=primary construction=minor", 65, 65),
        ("highway=primary construction=no", 65, 65),
        ("highway=primary proposed=motorway", 65, 65),
        ("highway=primary area=no", 65, 65),
        ("highway=primary impassable=no", 65, 65),
    ],
)
def test_speeds(text: str, forward: float, backward: float) -> None:
    attributes = way(text)
    assert attributes.skipped == ""
    assert (attributes.forward, attributes.backward) == pytest.approx((forward, backward))
    assert not attributes.restricted_forward and not attributes.restricted_backward


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("highway=footway", "no road"),
        ("highway=footway bicycle=permissive", "no road"),
        ("highway=track motor_vehicle=agricultural;seasonal", "no road"),
        ("highway=track motor_vehicle=private;seasonal", "no road"),
        ("highway=primary motor_vehicle= access=no", "no access"),
        ("railway=rail motor_vehicle=yes", "no road"),
        ("highway=track", "no road"),
        ("highway=track motor_vehicle=destination", "no road"),
        ("highway=footway bridge=movable", "no road"),
        ("highway=steps motorcar=yes", "no road"),
        ("route=hiking", "no road"),
        ("route=bus", "no road"),
        ("highway=primary area=yes", "area"),
        ("highway=construction", "construction"),
        ("highway=primary construction=motorway", "construction"),
        ("highway=primary railway=construction", "construction"),
        ("highway=proposed", "proposed"),
        ("route=ferry proposed=yes", "proposed"),
        ("highway=primary oneway=reversible", "reversible"),
        ("highway=primary impassable=yes", "impassable"),
        ("highway=primary status=impassable", "impassable"),
        ("highway=primary smoothness=impassable", "impassable"),
        ("highway=primary access=no", "no access"),
        ("highway=primary access=yes motor_vehicle=no", "no access"),
        ("highway=primary access=agricultural", "no access"),
        ("highway=primary motor_vehicle=agricultural;forestry", "no access"),
        ("highway=primary motor_vehicle=forestry", "no access"),
        ("highway=primary access=emergency", "no access"),
        ("highway=primary access=psv", "no access"),
        ("highway=primary access=bus", "no access"),
        ("highway=primary access=military", "no access"),
        ("highway=primary oneway=yes access:forward=no", "no access"),
        ("highway=service service=emergency_access", "no access"),
        ("route=ferry motor_vehicle=no", "no access"),
        ("route=ferry access=private", "no access"),
        ("highway=primary maxheight=1.9", "too small"),
        ("highway=primary maxheight=6'", "too small"),
        ("highway=primary width=1.5", "too small"),
        ("highway=primary maxlength=4", "too small"),
        ("highway=primary maxweight=1.5", "too small"),
    ],
)
def test_skipped(text: str, reason: str) -> None:
    attributes = way(text)
    assert attributes.skipped == reason
    assert attributes.forward == attributes.backward == 0


@pytest.mark.parametrize("value", ["private", "delivery", "destination", "customers", "permit", "residents", "unknown"])
def test_restricted(value: str) -> None:
    attributes = way(f"highway=service access={value}")
    assert attributes.forward == attributes.backward == 15
    assert attributes.restricted_forward and attributes.restricted_backward


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("highway=service", True),
        ("highway=service access=private", False),
        ("highway=service motor_vehicle=private access=yes", False),
        ("highway=service access=private motorcar=yes", True),
        ("highway=service access=customers", True),
        ("highway=service access=private;customers", True),
        ("highway=service access=seasonal", True),
        ("highway=residential access=private", True),
        # One direction is enough.
        ("highway=service motor_vehicle:backward=private", True),
        ("highway=service motor_vehicle:forward=private", True),
        ("highway=service oneway=yes motor_vehicle:forward=private", False),
    ],
)
def test_no_trip_begins_on_private_service_roads(text: str, expected: bool) -> None:
    for vehicle in PROFILES.values():
        attributes = way_attributes(tags(text.replace("motorcar", vehicle.access.keys[0])), vehicle)
        assert attributes.skipped == "" and (vehicle is not CAR or attributes.snappable == expected)
        if "motor_vehicle" not in text:
            assert attributes.snappable == expected


@pytest.mark.parametrize(
    ("text", "forward", "backward"),
    [
        ("highway=residential motor_vehicle:forward=destination", True, False),
        ("highway=residential access=private motorcar=yes", False, False),
        ("highway=residential access=yes motorcar=private", True, True),
        ("highway=residential vehicle=agricultural;destination", True, True),
        ("highway=motorway oneway=no hov=designated", True, True),
        ("highway=motorway oneway=no hov:lanes:forward=designated|designated", True, False),
        ("highway=motorway oneway=no hov:lanes:forward=designated|yes", False, False),
    ],
)
def test_restricted_by_direction(text: str, forward: bool, backward: bool) -> None:
    attributes = way(text)
    assert (attributes.restricted_forward, attributes.restricted_backward) == (forward, backward)
    assert attributes.skipped == ""


def test_duration_counts_where_one_waits() -> None:
    assert way("route=ferry duration=00:20").duration == 1200
    assert way("highway=primary bridge=movable duration=5").duration == 300
    assert way("highway=primary duration=00:20").duration is None
    broken = way("route=ferry duration=soon")
    assert broken.duration is None and broken.nonsense == ("duration",) and broken.forward == 5


def test_nonsense_is_named_once_and_ignored() -> None:
    attributes = way("highway=primary maxspeed=fast oneway=maybe access=perhaps maxheight=low")
    assert set(attributes.nonsense) == {"maxspeed", "oneway", "access", "maxheight"}
    assert len(attributes.nonsense) == 4
    assert attributes.forward == attributes.backward == 65
    assert way("highway=primary maxspeed=50 surface=chocolate").nonsense == ()
    assert way("highway=primary source:maxspeed=https://example.org maxspeed:type=sign").nonsense == ()


@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        ("barrier=bollard", True),
        ("barrier=block", True),
        ("barrier=swing_gate", True),
        ("barrier=cycle_barrier", True),
        ("barrier=chain", True),
        ("barrier=yes", True),
        ("barrier=kerb", True),
        ("barrier=fence", True),
        ("barrier=bollard bollard=rising", False),
        ("barrier=kerb kerb=lowered", False),
        ("barrier=kerb kerb=flush", False),
        ("barrier=kerb kerb=raised", True),
        ("barrier=kerb highway=crossing", False),
        ("barrier=fence sensory=audible", False),
        ("barrier=cattle_grid", False),
        ("barrier=toll_booth", False),
        ("barrier=border_control", False),
        ("barrier=entrance", False),
        ("barrier=sally_port", False),
        ("barrier=no", False),
        ("barrier=gate", False),
        ("barrier=lift_gate", False),
        ("barrier=height_restrictor", False),
        ("barrier=height_restrictor maxheight=1.8", True),
        ("barrier=height_restrictor maxheight=3", False),
        ("barrier=bollard access=yes", False),
        ("barrier=bollard motorcar=yes access=no", False),
        ("barrier=bollard access=maybe", False),
        ("barrier=bollard access=", True),
        ("barrier=bollard bicycle=yes", True),
        ("barrier=gate access=no", True),
        ("barrier=gate access=private", False),
        ("access=no", True),
        ("highway=crossing", False),
    ],
)
def test_barriers(text: str, blocked: bool) -> None:
    assert node_attributes(tags(text), CAR).blocked is blocked


def test_gates_take_time_unless_a_tag_opens_them() -> None:
    assert node_attributes(tags("barrier=gate"), CAR).seconds == 60
    assert node_attributes(tags("barrier=lift_gate"), CAR).seconds == 60
    assert node_attributes(tags("barrier=gate access=yes"), CAR).seconds == 0
    assert node_attributes(tags("barrier=toll_booth"), CAR).seconds == 0
    assert node_attributes(tags("barrier=height_restrictor maxheight=low"), CAR).nonsense == ("maxheight",)


def test_profiles_by_name() -> None:
    assert profile_named("car") is CAR
    assert all(profile.name == name for name, profile in PROFILES.items())
    with pytest.raises(
        QueryError, match="profile 'tank' is unknown; choose one of: car, bike, foot, or give the path of a"
    ):
        profile_named("tank")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("highway=footway footway=sidewalk is_sidepath:of:name=High street:name=Low", "High"),
        ("highway=cycleway cycleway=sidepath foot=yes street:name=Low ref=7", "7"),
        ("highway=path is_sidepath=yes street:name=Low", "Low"),
        ("highway=footway footway=sidewalk name=Own street:name=Low", "Own"),
        ("highway=footway street:name=Low", ""),
        ("highway=residential is_sidepath=yes street:name=Low", ""),
    ],
)
def test_sidewalks_are_named_after_the_road_beside(tmp_path: Path, text: str, expected: str) -> None:
    graph = graph_of(tmp_path, {1: (0.0, 0.0), 2: (0.0, 0.001)}, [(1, [1, 2], tags(text))], "foot")
    streets = streets_of(graph)
    assert {streets.names[name] for name in streets.name} == {expected}
