"""Profiles: what a kind of traveller may use and how fast, as data.

The data is in TOML files, those of `PROFILES` in the folder ``profiles`` beside this module; docs/profiles.md says
how to write one. They follow the profiles of OSRM, which are what most people compare with, and each says where it
departs from them. The classes here are their tables, and defaults are what holds where a file says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from vkssp.checks import path_of, shown
from vkssp.errors import QueryError
from vkssp.osm.profile_file import Range, SourceFile, read_table

#: What a graph may know of turns.
TURNS = ("none", "restrictions", "costs")
#: What an access value that is in no list of a profile may mean.
OTHERS = ("absent", "neutral", "open")
#: Stands for every class of ways in `AccessRules.enough_for`.
ANY_CLASS = "*"

# Positive numbers below these bounds make travel times that 32 bits do not hold.
Speed = Annotated[float, Range(0.1, 300)]  # km/h
Cap = Annotated[float, Range(0.1, 300, zero=True)]
Factor = Annotated[float, Range(0.01, 2)]
Seconds = Annotated[float, Range(0, 86400)]
Bias = Annotated[float, Range(0.1, 10)]
Metres = Annotated[float, Range(0, 100)]
Kilograms = Annotated[float, Range(0, 1_000_000)]
ByTag = Mapping[str, Mapping[str, Speed]]
Values = Mapping[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class AccessRules:
    """What access tags mean.

    Attributes
    ----------
    keys : tuple of str
        Access tags, the most particular first.
    open, restricted, blocked : frozenset of str
        What their values mean; restricted ways serve only the ends of a trip.
    others : str
        What all other values mean, one of `OTHERS`: "absent" as if the tag were absent, so that the next key decides;
        "neutral" that no other key decides, and that the way is neither closed nor opened; "open" as those of `open`.
    restricted_opens : frozenset of str
        Values of `restricted` that open a way without a speed, and do not restrict it. All others close it.
    enough_for : frozenset of str
        Values of ``highway`` without a speed that the last of `keys` is enough to open; others take one before it.
        `ANY_CLASS` stands for all.
    carpool_roads_restricted : bool
        Whether roads for cars with several people in them serve only the ends of a trip.
    snap_prevention : mapping of str to frozenset of str
        By value of ``highway`` the access values of ways that no place is snapped to: trips begin and end elsewhere.
    """

    keys: tuple[str, ...]
    open: frozenset[str]
    restricted: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    others: str = "absent"
    restricted_opens: frozenset[str] = frozenset()
    enough_for: frozenset[str] = frozenset()
    carpool_roads_restricted: bool = False
    snap_prevention: Values = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class OnewayRules:
    """In which directions ways may be used.

    Attributes
    ----------
    keys : tuple of str
        One-way tags, the most particular first.
    highways, junctions : frozenset of str
        Values of ``highway`` and ``junction`` that are one-way unless a tag denies it.
    contraflow : mapping of str to frozenset of str
        By tag the values that open a one-way street against its direction, if the last of `keys` or nothing
        tagged makes it one.
    """

    keys: tuple[str, ...] = ()
    highways: frozenset[str] = frozenset()
    junctions: frozenset[str] = frozenset()
    contraflow: Values = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LimitRules:
    """What speed limits do.

    Attributes
    ----------
    keys : tuple of str
        Speed limit tags, the most particular first.
    place_keys : tuple of str
        Tags that may tell where a limit comes from, as in ``DE:urban``; they count where none is tagged.
    share : float
        What share of a limit is reached.
    only_lower : bool
        Whether a limit lowers the speed of a way's class, but never raises it.
    """

    keys: tuple[str, ...] = ()
    place_keys: tuple[str, ...] = ()
    share: Factor = 1.0
    only_lower: bool = False


@dataclass(frozen=True, eq=False)
class PushingRules:
    """Where one gets off and pushes, as cyclists do: where riding is not allowed, but walking is.

    Attributes
    ----------
    speed : float
        Speed in km/h where `speeds` has none: on ways with a speed for riding, and where an access tag opens a way.
    keys : tuple of str
        Access tags of people on foot, the most particular first; their values mean what `AccessRules` says.
    asked : frozenset of str
        Values of the rider's access tags that tell to push.
    never : frozenset of str
        Values that forbid pushing, too.
    speeds : mapping of str to (mapping of str to float)
        By tag and value the speed on ways for walking, in either direction.
    """

    speed: Speed
    keys: tuple[str, ...]
    asked: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    speeds: ByTag = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Size:
    """How big the vehicle is; 0 fits through and onto everything.

    Attributes
    ----------
    height, width, length : float
        In metres.
    weight : float
        In kilograms.
    """

    height: Metres = 0.0
    width: Metres = 0.0
    length: Metres = 0.0
    weight: Kilograms = 0.0


@dataclass(frozen=True, eq=False)
class BarrierRules:
    """What ``barrier`` on a node does where no access tag decides.

    Attributes
    ----------
    open : frozenset of str or None
        Values that let pass; all others block.
    blocked : frozenset of str or None
        Values that block; all others let pass. A profile has one of the two.
    seconds : mapping of str to float
        Values that let pass after so many seconds.
    """

    open: frozenset[str] | None = None
    blocked: frozenset[str] | None = None
    seconds: Mapping[str, Seconds] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TurnRules:
    """Which turn restrictions count, and what turns cost.

    Attributes
    ----------
    default : str
        What an import heeds that does not say: one of `TURNS`.
    vehicles : tuple of str
        Names that the traveller has in restrictions (``restriction:motorcar``, ``except=motorcar``), the most
        particular first.
    for_all : bool
        Whether restrictions that name no vehicle count.
    penalty : float
        Seconds of the sharpest turn at a junction of more than two roads; the angle tells how much of it others take.
    squared : bool
        Whether `penalty` is that of a right angle instead, and others go by the square of the angle.
    bias : float
        Above 1 right turns cost less than left ones, below 1 more.
    oncoming : float
        Seconds that the sharpest turn across oncoming traffic takes besides.
    u_turn : float
        Seconds that turning round takes besides.
    seconds : mapping of str to float
        Seconds by the value of ``highway`` on nodes: traffic signals, stop signs.
    """

    default: str = "none"
    vehicles: tuple[str, ...] = ()
    for_all: bool = True
    penalty: Seconds = 0.0
    squared: bool = False
    bias: Bias = 1.0
    oncoming: Seconds = 0.0
    u_turn: Seconds = 0.0
    seconds: Mapping[str, Seconds] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Profile:
    """What one kind of traveller may use, and at which speeds; all speeds in km/h.

    Attributes
    ----------
    name : str
        The name of its file, less the ending.
    vehicle : str
        What messages call it.
    speeds : mapping of str to (mapping of str to float)
        By tag and value the speed on ways that are open unless a tag closes them. Only these can be open to the ends
        of a trip alone.
    default_speed : float
        Speed on other ways where an access tag opens them.
    access : AccessRules
        What access tags mean.
    highest_speed : float
        Nothing is faster, unless it carries the vehicle.
    areas : bool
        Whether one may go round the edge of an area.
    route_speeds, bridge_speeds : mapping of str to float
        Speed on values of ``route`` and ``bridge`` that carry the vehicle, or make it wait; there
        ``duration`` counts.
    harmless_construction : frozenset of str
        Values of ``construction`` that do not close a way.
    closed : mapping of str to frozenset of str
        By tag the values that close a way, whatever else it says.
    separate : mapping of str to frozenset of str
        By tag the values that tell that another way beside this one is meant; they close it unless the first of the
        access keys opens it.
    oneway, limits, size, barriers
        See there.
    pushing : PushingRules or None
        Where one gets off and pushes, if at all.
    caps : mapping of str to (mapping of str to float)
        By tag and value the highest speed that a way's state allows; 0 closes it.
    factors : mapping of str to (mapping of str to float)
        By tag and value what the speed is multiplied by. Values of ``service`` count on ``highway=service`` only.
    turns : TurnRules
        What holds where an import asks for turns.
    """

    name: str
    vehicle: str
    speeds: ByTag
    default_speed: Speed
    access: AccessRules
    highest_speed: Speed = 300.0
    areas: bool = False
    route_speeds: Mapping[str, Speed] = field(default_factory=dict)
    bridge_speeds: Mapping[str, Speed] = field(default_factory=dict)
    harmless_construction: frozenset[str] = frozenset({"no"})
    closed: Values = field(default_factory=dict)
    separate: Values = field(default_factory=dict)
    oneway: OnewayRules = field(default_factory=OnewayRules)
    limits: LimitRules = field(default_factory=LimitRules)
    pushing: PushingRules | None = None
    size: Size = field(default_factory=Size)
    caps: Mapping[str, Mapping[str, Cap]] = field(default_factory=dict)
    factors: Mapping[str, Mapping[str, Factor]] = field(default_factory=dict)
    barriers: BarrierRules = field(default_factory=lambda: BarrierRules(blocked=frozenset()))
    turns: TurnRules = field(default_factory=TurnRules)


def read_profile(path: str | Path) -> Profile:
    """Read a profile.

    Parameters
    ----------
    path : str or Path
        A TOML file; docs/profiles.md has the format.

    Raises
    ------
    QueryError
        If it is missing, not TOML, or not a profile; the message names the line and the key.
    """
    source = SourceFile(Path(path))
    profile = read_table(Profile, source.parse(), source, name=Path(path).stem)
    _check(profile, source)
    return profile


def _check(profile: Profile, source: SourceFile) -> None:
    """Raise a `QueryError` if parts of a profile contradict each other, or cannot have any effect."""
    if not any(profile.speeds.values()):
        raise source.error(("speeds",), "is empty; give at least one class of ways, as in [speeds.highway]")
    access, pushing, barriers = profile.access, profile.pushing, profile.barriers
    for name, keys in (("access", access.keys), ("pushing", pushing.keys if pushing else None)):
        if keys == ():
            raise source.error((name, "keys"), 'is empty; give at least one tag, such as "access"')
    meanings = {"open": access.open, "restricted": access.restricted, "blocked": access.blocked}
    seen: dict[str, str] = {}
    for name, values in meanings.items():
        for value in sorted(values):
            if value != value.strip().lower():
                raise source.error(("access", name), f"holds {value!r}; write it in lower case, without blanks")
            if value in seen:
                raise source.error(("access", name), f"holds {value!r}, as access.{seen[value]} does; leave one out")
            seen[value] = name
    if access.others not in OTHERS:
        raise source.error(("access", "others"), f"is {access.others!r}; give one of {', '.join(OTHERS)}")
    for value in sorted(access.restricted_opens - access.restricted):
        raise source.error(
            ("access", "restricted_opens"), f"holds {value!r}, which access.restricted lacks; add it there"
        )
    for highway, values in access.snap_prevention.items():
        for value in sorted(values - access.open - access.restricted):
            raise source.error(
                ("access", "snap_prevention", highway),
                f"holds {value!r}, which neither access.open nor access.restricted has; add it there or leave it out",
            )
    if pushing:
        for name, values in (("asked", pushing.asked), ("never", pushing.never)):
            for value in sorted(values - access.blocked):
                raise source.error(("pushing", name), f"holds {value!r}, which access.blocked lacks; add it there")
        for value in sorted(pushing.asked & pushing.never):
            raise source.error(("pushing", "never"), f"holds {value!r}, as pushing.asked does; leave one out")
    if (barriers.open is None) == (barriers.blocked is None):
        raise source.error(("barriers",), "needs one of open, what alone lets pass, and blocked, what alone does not")
    if profile.turns.default not in TURNS:
        raise source.error(("turns", "default"), f"is {profile.turns.default!r}; give one of {', '.join(TURNS)}")
    for value in sorted(barriers.seconds):
        if value in (barriers.open or barriers.blocked or ()):
            raise source.error(("barriers", "seconds", value), "is in the list of barriers, too; leave one out")


#: Where the profiles that come along are, to copy them from.
FOLDER = Path(__file__).with_name("profiles")

#: The profiles that come along, by name.
PROFILES: Mapping[str, Profile] = {name: read_profile(FOLDER / f"{name}.toml") for name in ("car", "bike", "foot")}

CAR, BIKE, FOOT = PROFILES["car"], PROFILES["bike"], PROFILES["foot"]


def profile_named(name: str | Path) -> Profile:
    """Return the profile of that name, or the one in that file.

    Parameters
    ----------
    name : str or Path
        One of `PROFILES`, or the path of a file, which must end in ``.toml``.

    Raises
    ------
    QueryError
        If there is none, or the file is not right.
    """
    if isinstance(name, str) and name in PROFILES:
        return PROFILES[name]
    path = str(path_of(name, "profile"))
    if path.lower().endswith(".toml"):
        return read_profile(name)
    raise QueryError(
        f"profile {shown(path)} is unknown; choose one of: {', '.join(PROFILES)}, or give the path of a .toml file"
    )
