"""Profiles as data: what a kind of traveller may use and how fast.

Profiles are TOML files. The files of `PROFILES` are in the folder ``profiles`` beside this module; docs/profiles.md
describes the format. They follow the profiles of OSRM, with which most people compare, and each file says where it
departs from them. The classes here are the tables of the files; a field's default holds if a file has no such key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from vkssp.checks import path_of, shown
from vkssp.errors import QueryError
from vkssp.graph.streets import MODES
from vkssp.osm.profile_file import Range, SourceFile, read_table
from vkssp.osm.values import parse_length

#: Folder of the built-in profiles, and their names.
FOLDER, BUILT_IN = Path(__file__).with_name("profiles"), ("car", "bike", "foot")
#: What a graph may hold about turns.
TURNS = ("none", "restrictions", "costs")
#: Meanings that a profile can give to access values that are in none of its lists.
OTHERS = ("absent", "neutral", "open")
#: Most classes of ways.
MOST_CLASSES = 32
#: Stands for every class of ways in `AccessRules.enough_for`.
ANY_CLASS = "*"

# Positive numbers below the lower bounds would give travel times that do not fit into 32 bits.
Speed = Annotated[float, Range(0.1, 300)]  # km/h
Cap = Annotated[float, Range(0.1, 300, zero=True)]
Factor = Annotated[float, Range(0.01, 2)]
Seconds = Annotated[float, Range(0, 86400)]
Bias = Annotated[float, Range(0.1, 10)]
Metres = Annotated[float, Range(0, 100)]
Kilograms = Annotated[float, Range(0, 1_000_000)]
ByTag = Mapping[str, Mapping[str, Speed]]
Values = Mapping[str, frozenset[str]]
Factors = Mapping[str, Mapping[str, Factor]]


@dataclass(frozen=True, eq=False)
class AccessRules:
    """Meaning of access tags.

    Attributes
    ----------
    keys : tuple of str
        Keys of access tags, the most specific first.
    open, restricted, blocked : frozenset of str
        Values of access tags, by meaning; restricted ways serve only the ends of a trip.
    others : str
        The meaning of all other values, one of `OTHERS`: "absent" ignores the tag, so that the next key decides;
        "neutral" neither closes nor opens the way, and no other key decides; "open" is the meaning of `open`.
    restricted_opens : frozenset of str
        Values of `restricted` that open a way without a speed and do not restrict it. All other values of `restricted`
        close such a way.
    enough_for : frozenset of str
        Values of ``highway`` without a speed that the last of `keys` suffices to open; ways of other values are opened
        only by an earlier key. `ANY_CLASS` stands for all values.
    carpool_roads_restricted : bool
        Whether roads reserved for carpools serve only the ends of a trip.
    snap_prevention : mapping of str to frozenset of str
        By value of ``highway``, the access values of ways to which no place is snapped: trips begin and end elsewhere.
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
    """Rules for the directions in which ways may be used.

    Attributes
    ----------
    keys : tuple of str
        Keys of one-way tags, the most specific first.
    highways, junctions : frozenset of str
        Values of ``highway`` and ``junction`` that make a way one-way unless a tag says otherwise.
    contraflow : mapping of str to frozenset of str
        By key, the values that open a one-way street against its direction, if only the last of `keys`, or no tag of
        `keys` at all, makes the street one-way.
    """

    keys: tuple[str, ...] = ()
    highways: frozenset[str] = frozenset()
    junctions: frozenset[str] = frozenset()
    contraflow: Values = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LimitRules:
    """Effect of speed limits.

    Attributes
    ----------
    keys : tuple of str
        Keys of speed limit tags, the most specific first.
    place_keys : tuple of str
        Keys of tags that may name the source of a limit, as in ``DE:urban``. They count if no limit is tagged.
    share : float
        Fraction of a limit that the traveller reaches.
    only_lower : bool
        Whether a limit can only lower the speed of a way's class. Otherwise the limit replaces this speed.
    directed_replace : bool
        Whether limits for one direction replace the speed even if `only_lower`.
    """

    keys: tuple[str, ...] = ()
    place_keys: tuple[str, ...] = ()
    share: Factor = 1.0
    only_lower: bool = False
    directed_replace: bool = False


@dataclass(frozen=True, eq=False)
class PushingRules:
    """Rules for getting off and pushing, as cyclists do: if riding is not allowed, but walking is.

    Attributes
    ----------
    speed : float
        Speed in km/h if `speeds` has none: on ways with a speed for riding, and on ways that an access tag opens.
    keys : tuple of str
        Keys of access tags for people on foot, the most specific first. `AccessRules` gives the meaning of their
        values.
    asked : frozenset of str
        Values of the rider's access tags that ask to push.
    never : frozenset of str
        Values of the rider's access tags that forbid pushing as well.
    speeds : mapping of str to (mapping of str to float)
        By key and value, the speed on ways for walking, in either direction.
    """

    speed: Speed
    keys: tuple[str, ...]
    asked: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    speeds: ByTag = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CyclewayRules:
    """Lanes and tracks for cyclists beside a road, by the tags ``cycleway``, ``cycleway:left`` and ``cycleway:right``.

    Attributes
    ----------
    along : frozenset of str
        Values for what leads in the direction of the traffic on its side.
    opposite : frozenset of str
        Values for what leads against it.
    speed : float
        Speed in km/h in the directions in which there is one; such a direction is open even if the road is one-way.
    """

    along: frozenset[str] = frozenset()
    opposite: frozenset[str] = frozenset()
    speed: Cap = 0.0


@dataclass(frozen=True, eq=False)
class WeightRules:
    """Weights, which routes minimize.

    Attributes
    ----------
    name : str
        ``"duration"``; ``"distance"`` for metres, in which turns weigh nothing; or any other name for durations at a
        speed that factors change, such as ``"routability"``. Factors change no durations.
    precision : float
        Number of decimals of weights. With the name "duration", weights are kept apart from durations unless it is 1.
    factors : mapping of str to (mapping of str to float)
        By key and value, a factor of the speed. Of all factors that apply to a direction, the smallest counts.
    two_way, one_way : mapping of str to (mapping of str to float)
        Factors on ways that are open in both directions, and in one direction.
    forward, backward : mapping of str to (mapping of str to float)
        Factors in one direction.
    widths : mapping of str to float
        Factors on ways that are open in both directions and narrower than so many metres; the first counts that
        applies.
    unsafe, unsafe_one_way : mapping of str to float
        Factors by the value of ``highway`` in directions without a lane or track for cyclists (`CyclewayRules`);
        `unsafe_one_way` on ways that are open in one direction comes first.
    turns_count : bool
        Whether turns weigh as much as they take seconds.
    dismount : float
        Weight of a turn from a way that is ridden to another one.
    """

    name: str = "duration"
    precision: Annotated[float, Range(0, 5)] = 1.0
    factors: Factors = field(default_factory=dict)
    two_way: Factors = field(default_factory=dict)
    one_way: Factors = field(default_factory=dict)
    forward: Factors = field(default_factory=dict)
    backward: Factors = field(default_factory=dict)
    widths: Mapping[str, Factor] = field(default_factory=dict)
    unsafe: Mapping[str, Factor] = field(default_factory=dict)
    unsafe_one_way: Mapping[str, Factor] = field(default_factory=dict)
    turns_count: bool = True
    dismount: Seconds = 0.0


@dataclass(frozen=True, eq=False)
class FixedRules:
    """Amounts that depend on no tag, for experiments; 0 leaves what tags say.

    Attributes
    ----------
    way_seconds, way_weight : float
        Seconds and weight of each way from end to end, which its pieces share by their lengths.
    piece_seconds, piece_weight : float
        Seconds and weight between two successive nodes of OpenStreetMap, whatever lies between them.
    rate, rate_back : float
        Metres for one unit of weight along ways, and against them.
    """

    way_seconds: Seconds = 0.0
    way_weight: Seconds = 0.0
    piece_seconds: Seconds = 0.0
    piece_weight: Seconds = 0.0
    rate: Metres = 0.0
    rate_back: Metres = 0.0

    @property
    def weighs(self) -> bool:
        """Whether weights are other than durations."""
        return any((self.way_weight, self.piece_weight, self.rate, self.rate_back))


@dataclass(frozen=True, eq=False)
class Size:
    """Size of the vehicle; 0 fits through and onto everything.

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
class OpenAreaRules:
    """Areas that are crossed in straight lines, from each way in to each other; see `vkssp.osm.open_areas`.

    Attributes
    ----------
    tags : mapping of str to frozenset of str
        By key, the values of closed ways with ``area=yes`` and of multipolygons that are such areas.
    speed : float
        Speed in km/h from a place inside to a corner of the area.
    """

    tags: Values = field(default_factory=dict)
    speed: Speed = 5.0


@dataclass(frozen=True, eq=False)
class BarrierRules:
    """Effect of ``barrier`` on a node if no access tag decides.

    Attributes
    ----------
    open : frozenset of str or None
        Values of barriers that can be passed; all others block.
    blocked : frozenset of str or None
        Values of barriers that block; all others can be passed. A profile has either `open` or `blocked`.
    seconds : mapping of str to float
        Values of barriers that can be passed, with the seconds that this takes.
    """

    open: frozenset[str] | None = None
    blocked: frozenset[str] | None = None
    seconds: Mapping[str, Seconds] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TurnRules:
    """Turn restrictions that count, and costs of turns.

    Attributes
    ----------
    default : str
        Default of the argument `turns` of an import: one of `TURNS`.
    vehicles : tuple of str
        Names of the traveller in restrictions (``restriction:motorcar``, ``except=motorcar``), the most specific
        first.
    for_all : bool
        Whether restrictions that name no vehicle count.
    penalty : float
        Seconds that the sharpest turn takes at a junction of more than two roads. Other turns take a part of it that
        depends on their angle.
    squared : bool
        Whether `penalty` is the time of a right-angled turn instead, and the time grows with the square of the angle.
    linear : bool
        Whether `penalty` is the time of a right-angled turn instead, and the time grows with the angle.
    everywhere : bool
        Whether turns take time where only two roads meet, too, if they differ in what travellers are told of them.
    bias : float
        Above 1, right turns cost less than left turns; below 1, they cost more.
    oncoming : float
        Additional seconds of the sharpest turn across oncoming traffic.
    u_turn : float
        Additional seconds of a U-turn.
    seconds : mapping of str to float
        Seconds by the value of ``highway`` on nodes: traffic signals, stop signs.
    """

    default: str = "none"
    vehicles: tuple[str, ...] = ()
    for_all: bool = True
    penalty: Seconds = 0.0
    squared: bool = False
    linear: bool = False
    everywhere: bool = False
    bias: Bias = 1.0
    oncoming: Seconds = 0.0
    u_turn: Seconds = 0.0
    seconds: Mapping[str, Seconds] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Profile:
    """Profile of one kind of traveller: what it may use, and at which speeds. All speeds are in km/h.

    Attributes
    ----------
    name : str
        The name of the profile's file, without the ending.
    vehicle : str
        Name of the vehicle in messages.
    speeds : mapping of str to (mapping of str to float)
        By key and value, the speed on ways that are open unless a tag closes them. Only these ways can be open to the
        ends of a trip alone. `ANY_CLASS` stands for all values that are not listed.
    default_speed : float
        Speed on other ways if an access tag opens them.
    access : AccessRules
        Meaning of access tags.
    highest_speed : float
        Upper bound of all speeds, except on ways that carry the vehicle.
    areas : bool
        Whether the vehicle may go round the edge of an area.
    open_areas : OpenAreaRules
        Areas that are crossed in straight lines.
    route_speeds, bridge_speeds : mapping of str to float
        Speed by the values of ``route`` and ``bridge`` that carry the vehicle, or make it wait; on these ways
        ``duration`` counts.
    harmless_construction : frozenset of str
        Values of ``construction`` that do not close a way.
    closed : mapping of str to frozenset of str
        By key, the values that close a way, whatever its other tags say.
    separate : mapping of str to frozenset of str
        By key, the values that refer to another way mapped beside this one. They close the way unless the first of
        the access keys opens it.
    oneway, limits, size, barriers
        See `OnewayRules`, `LimitRules`, `Size` and `BarrierRules`.
    pushing : PushingRules or None
        Rules for getting off and pushing; None if the traveller never pushes.
    caps : mapping of str to (mapping of str to float)
        By key and value, the highest speed that a way's state allows; 0 closes the way.
    factors : mapping of str to (mapping of str to float)
        By key and value, a factor of the speed. Values of ``service`` count on ``highway=service`` only.
    turns : TurnRules
        Rules for imports with turns.
    mode : str
        Mode of travel where the vehicle is neither carried nor pushed: one of `vkssp.graph.streets.MODES`.
    modes, modes_back : mapping of str to (mapping of str to str)
        By key and value, other modes of travel along ways and against them.
    timed_mode : str or None
        Mode on ways with a tag ``duration``, which counts on all ways then; None if it counts only where the
        vehicle is carried or has to wait.
    forward_factors, backward_factors : mapping of str to (mapping of str to float)
        By key and value, a factor of the speed of the way's class along ways, and against them.
    train_speeds : mapping of str to float
        Speed by the values of ``railway`` on which the traveller is taken along by train, if an access tag opens them.
    classes : mapping of str to (mapping of str to frozenset of str)
        Classes of ways, by name: keys and values of which one suffices, `ANY_CLASS` for any value but "no". The class
        "restricted" holds ways that serve only the ends of a trip.
    cycleways : CyclewayRules
        Lanes and tracks for cyclists beside a road.
    weight : WeightRules
        What routes minimize.
    fixed : FixedRules
        Seconds and weights that depend on no tag.
    named : bool
        Whether streets keep their names and numbers.
    ellipsoid : bool
        Whether lengths, and angles of turns, are those on the ellipsoid WGS84; lengths differ by up to 0.5% from those
        on a sphere.
    round_pieces : bool
        Whether the time, and the weight, of a street between two nodes of OpenStreetMap are rounded to units, and
        coordinates to millionths of a degree, as OSRM does; otherwise those of a street between two junctions are.
    left_hand : bool
        Whether traffic keeps left, unless a tag ``driving_side`` says otherwise.
    """

    name: str
    vehicle: str
    speeds: ByTag
    default_speed: Speed
    access: AccessRules
    highest_speed: Speed = 300.0
    areas: bool = False
    open_areas: OpenAreaRules = field(default_factory=OpenAreaRules)
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
    mode: str = MODES[0]
    modes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    modes_back: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    timed_mode: str | None = None
    forward_factors: Factors = field(default_factory=dict)
    backward_factors: Factors = field(default_factory=dict)
    train_speeds: Mapping[str, Speed] = field(default_factory=dict)
    classes: Mapping[str, Values] = field(default_factory=dict)
    cycleways: CyclewayRules = field(default_factory=CyclewayRules)
    weight: WeightRules = field(default_factory=WeightRules)
    fixed: FixedRules = field(default_factory=FixedRules)
    named: bool = True
    ellipsoid: bool = False
    round_pieces: bool = False
    left_hand: bool = False


def read_profile(path: str | Path) -> Profile:
    """Read a profile.

    Parameters
    ----------
    path : str or Path
        A TOML file; docs/profiles.md has the format.

    Raises
    ------
    QueryError
        If the file is missing, not TOML, or not a profile; the message names the line and the key.
    """
    source = SourceFile(Path(path))
    profile = read_table(Profile, _extended(source, ()), source, name=Path(path).stem)
    _check(profile, source)
    return profile


def _extended(source: SourceFile, below: tuple[Path, ...]) -> dict[str, Any]:
    """Return the tables of a file, merged into those of the profile that it extends, if it extends one.

    `below` are the files that extend this one.
    """
    values = source.parse()
    base, without = values.pop("extends", None), values.pop("without", [])
    if base is None:
        if without:
            raise source.error(("without",), "has no effect; name a profile in extends")
        return values
    if not isinstance(base, str):
        raise source.error(("extends",), 'is no text; give the name of a built-in profile, or of a file, as in "car"')
    if not isinstance(without, list) or not all(isinstance(key, str) for key in without):
        raise source.error(("without",), 'is no list of texts; give dotted keys, as in ["caps.surface"]')
    path = FOLDER / f"{base}.toml" if base in BUILT_IN else source.path.parent / base
    if path.resolve() in below:
        raise source.error(("extends",), f"leads back to {path}; a profile cannot extend itself")
    merged = _extended(SourceFile(path), (*below, source.path.resolve()))
    for key in without:
        *tables, last = key.split(".")
        at: Any = merged
        for table in tables:
            at = at.get(table) if isinstance(at, dict) else None
        if not isinstance(at, dict) or last not in at:
            raise source.error(("without",), f"holds {key!r}, which {base!r} does not have; leave it out")
        del at[last]
    return _merged(merged, values)


def _merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables in which keys of `over` replace those of `base`; tables of both are merged, `over` first."""
    both = {
        key: _merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in over.items()
    }
    return both | {key: value for key, value in base.items() if key not in both}


def _check(profile: Profile, source: SourceFile) -> None:
    """Raise a `QueryError` if parts of a profile contradict each other or can have no effect."""
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
        cure = "give either open, the only passable barriers, or blocked, the only impassable ones"
        raise source.error(("barriers",), f"needs one of two lists; {cure}")
    if profile.turns.default not in TURNS:
        raise source.error(("turns", "default"), f"is {profile.turns.default!r}; give one of {', '.join(TURNS)}")
    modes: dict[tuple[str, ...], str] = {("mode",): profile.mode, ("timed_mode",): profile.timed_mode or MODES[0]}
    for name, by_key in (("modes", profile.modes), ("modes_back", profile.modes_back)):
        modes |= {(name, key, value): mode for key, by_value in by_key.items() for value, mode in by_value.items()}
    for place, mode in modes.items():
        if mode not in MODES:
            raise source.error(place, f"is {mode!r}; give one of {', '.join(MODES)}")
    if len(profile.classes) > MOST_CLASSES:
        raise source.error(("classes",), f"has {len(profile.classes)} classes; give at most {MOST_CLASSES}")
    if profile.open_areas.tags and (profile.weight.name != "duration" or profile.weight.precision != 1):
        raise source.error(("open_areas",), "needs weights that are durations; leave out the table weight")
    for width in profile.weight.widths:
        if parse_length(width) is None:
            raise source.error(("weight", "widths", width), 'is no width; give metres in quotes, such as "5.5"')
    for value in sorted(barriers.seconds):
        if value in (barriers.open or barriers.blocked or ()):
            raise source.error(("barriers", "seconds", value), "is in the list of barriers, too; leave one out")


#: Built-in profiles by name.
PROFILES: Mapping[str, Profile] = {name: read_profile(FOLDER / f"{name}.toml") for name in BUILT_IN}

CAR, BIKE, FOOT = PROFILES["car"], PROFILES["bike"], PROFILES["foot"]


def profile_named(name: str | Path) -> Profile:
    """Return a built-in profile by its name, or read a profile from a file.

    Parameters
    ----------
    name : str or Path
        One of `PROFILES`, or the path of a file, which must end in ``.toml``.

    Raises
    ------
    QueryError
        If there is no such profile, or the file is invalid.
    """
    if isinstance(name, str) and name in PROFILES:
        return PROFILES[name]
    path = str(path_of(name, "profile"))
    if path.lower().endswith(".toml"):
        return read_profile(name)
    raise QueryError(
        f"profile {shown(path)} is unknown; choose one of: {', '.join(PROFILES)}, or give the path of a .toml file"
    )
