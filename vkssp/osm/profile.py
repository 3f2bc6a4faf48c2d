"""Profiles: what a kind of vehicle may use and how fast, as data.

`CAR` follows the car profile of OSRM, which is what most people compare with, and departs from it where that is
plainly wrong on the ground or cannot be said with one travel time.

- A service road that slows (``service=parking_aisle`` and the like) counts in the travel time; OSRM counts it only
  in the weight that it compares routes by. OSRM's other preferences that are no time (narrow roads, side roads) are
  left out.
- Ways made for walking or cycling are opened by a tag for motor vehicles, but not by ``access`` alone:
  ``highway=footway`` with ``access=permissive`` says that anyone may walk there.
- A one-way ferry is one, and a trip may start on a private drive.
- An access value that is not understood is as good as none; OSRM lets it open a way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vkssp.errors import QueryError


@dataclass(frozen=True, eq=False)
class Profile:
    """What one kind of vehicle may use, and at which speeds; all speeds in km/h.

    Attributes
    ----------
    name : str
        What `profile=` arguments call it.
    vehicle : str
        What messages call it.
    speeds : mapping of str to float
        Speed on each value of ``highway`` that is open unless a tag closes it. Only these can be open to the
        ends of a trip alone.
    default_speed : float
        Speed on other values of ``highway`` where an access tag opens them.
    opened_by_access : frozenset of str
        Of those, the values that the last of `access_keys` is enough to open.
    route_speeds, bridge_speeds : mapping of str to float
        Speed on values of ``route`` and ``bridge`` that carry the vehicle, or make it wait; there
        ``duration`` counts.
    access_keys : tuple of str
        Access tags, the most particular first.
    access_open, access_restricted, access_blocked : frozenset of str
        What their values mean; restricted ways serve only the ends of a trip.
    oneway_keys : tuple of str
        One-way tags, the most particular first.
    oneway_highways, oneway_junctions : frozenset of str
        Values of ``highway`` and ``junction`` that are one-way unless a tag denies it.
    avoided_highways, forbidden_services, harmless_construction : frozenset of str
        Values of ``highway`` and ``service`` that nobody drives on, and of ``construction`` that do not
        matter.
    maxspeed_keys : tuple of str
        Speed limit tags, the most particular first.
    maxspeed_place_keys : tuple of str
        Tags that may tell where a limit comes from, as in ``DE:urban``; they count where none is tagged.
    limit_factor : float
        What share of a speed limit is reached.
    caps : mapping of str to (mapping of str to float)
        By tag and value the highest speed that a way's state allows; 0 closes it.
    service_factors : mapping of str to float
        What values of ``service`` multiply the speed on ``highway=service`` by.
    size_keys : tuple of (tuple of str, float)
        Tags that limit a vehicle's height, width and length, and this vehicle's, in metres.
    weight_keys : tuple of str
        Tags that limit its weight.
    weight : float
        Its weight in kilograms.
    height : float
        Its height in metres, for bars across the road.
    barriers_open : frozenset of str
        Values of ``barrier`` on nodes that let it pass.
    barrier_seconds : mapping of str to float
        Values of ``barrier`` that let it pass after so many seconds.
    """

    name: str
    vehicle: str
    speeds: Mapping[str, float]
    default_speed: float
    opened_by_access: frozenset[str]
    route_speeds: Mapping[str, float]
    bridge_speeds: Mapping[str, float]
    access_keys: tuple[str, ...]
    access_open: frozenset[str]
    access_restricted: frozenset[str]
    access_blocked: frozenset[str]
    oneway_keys: tuple[str, ...]
    oneway_highways: frozenset[str]
    oneway_junctions: frozenset[str]
    avoided_highways: frozenset[str]
    forbidden_services: frozenset[str]
    harmless_construction: frozenset[str]
    maxspeed_keys: tuple[str, ...]
    maxspeed_place_keys: tuple[str, ...]
    limit_factor: float
    caps: Mapping[str, Mapping[str, float]]
    service_factors: Mapping[str, float]
    size_keys: tuple[tuple[tuple[str, ...], float], ...]
    weight_keys: tuple[str, ...]
    weight: float
    height: float
    barriers_open: frozenset[str]
    barrier_seconds: Mapping[str, float]


def _at(speed: float, *values: str) -> dict[str, float]:
    return dict.fromkeys(values, speed)


CAR = Profile(
    name="car",
    vehicle="a car",
    speeds={
        "motorway": 90,
        "motorway_link": 45,
        "trunk": 85,
        "trunk_link": 40,
        "primary": 65,
        "primary_link": 30,
        "secondary": 55,
        "secondary_link": 25,
        "tertiary": 40,
        "tertiary_link": 20,
        "unclassified": 25,
        "residential": 25,
        "living_street": 10,
        "service": 15,
        "winter_road": 20,
        "ice_road": 15,
    },
    default_speed=10,
    opened_by_access=frozenset({"track", "road"}),
    route_speeds={"ferry": 5, "shuttle_train": 10},
    bridge_speeds={"movable": 5},
    access_keys=("motorcar", "motor_vehicle", "vehicle", "access"),
    access_open=frozenset(
        {
            "yes",
            "permissive",
            "designated",
            "public",
            "motorcar",
            "motor_vehicle",
            "vehicle",
            "hov",
            "discouraged",
        }
    ),
    access_restricted=frozenset({"private", "delivery", "destination", "customers", "permit", "residents"}),
    access_blocked=frozenset(
        {"no", "agricultural", "forestry", "emergency", "emergency_vehicle", "psv", "bus", "minibus", "taxi"}
        | {"share_taxi", "foot", "military", "official", "restricted"}
    ),
    oneway_keys=("oneway:motorcar", "oneway:motor_vehicle", "oneway:vehicle", "oneway"),
    oneway_highways=frozenset({"motorway"}),
    oneway_junctions=frozenset({"roundabout", "circular"}),
    avoided_highways=frozenset({"steps", "construction", "proposed"}),
    forbidden_services=frozenset({"emergency_access"}),
    harmless_construction=frozenset({"no", "widening", "minor"}),
    maxspeed_keys=("maxspeed:advisory", "maxspeed"),
    maxspeed_place_keys=("source:maxspeed", "maxspeed:type"),
    limit_factor=0.8,
    caps={
        "surface": {
            **_at(80, "cement", "compacted", "fine_gravel"),
            **_at(60, "paving_stones", "metal", "bricks"),
            **_at(
                40,
                "grass",
                "wood",
                "sett",
                "grass_paver",
                "gravel",
                "unpaved",
                "ground",
                "dirt",
                "pebblestone",
            ),
            **_at(40, "tartan"),
            **_at(30, "cobblestone", "clay", "snow"),
            **_at(20, "earth", "stone", "rocky", "sand", "ice"),
            **_at(15, "laterite"),
            **_at(10, "mud"),
        },
        "tracktype": {"grade1": 60, "grade2": 40, "grade3": 30, "grade4": 25, "grade5": 20},
        "smoothness": {
            "intermediate": 80,
            "bad": 40,
            "very_bad": 20,
            "horrible": 10,
            "very_horrible": 5,
            "impassable": 0,
        },
    },
    service_factors=_at(0.5, "alley", "parking", "parking_aisle", "driveway", "drive-through", "drive-thru"),
    size_keys=(
        (("maxheight:physical", "maxheight"), 2.0),
        (("maxwidth:physical", "maxwidth", "width", "est_width"), 1.9),
        (("maxlength",), 4.8),
    ),
    weight_keys=("maxweight",),
    weight=2000,
    height=2.0,
    barriers_open=frozenset(
        {
            "no",
            "entrance",
            "cattle_grid",
            "toll_booth",
            "border_control",
            "sally_port",
            "height_restrictor",
            "arch",
        }
    ),
    barrier_seconds={"gate": 60, "lift_gate": 60},
)

#: The profiles that exist, by name.
PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (CAR,)}


def profile_named(name: str) -> Profile:
    """Return the profile of that name.

    Raises
    ------
    QueryError
        If there is none; the message names those that exist.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise QueryError(f"profile {name!r} is unknown; choose one of: {', '.join(PROFILES)}") from None
