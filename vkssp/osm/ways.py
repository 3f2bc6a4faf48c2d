"""Interpretation of the tags of a way: directions in which a vehicle may use it, speeds, and parts of a trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from vkssp.graph.streets import MODES
from vkssp.osm.profile import ANY_CLASS, AccessRules, ByTag, Factors, Profile, Values
from vkssp.osm.values import parse_duration, parse_length, parse_speed, parse_weight

Tags = Mapping[str, str]

_CYCLEWAYS = ("cycleway", "cycleway:both", "cycleway:left", "cycleway:right")
_DIRECTIONS = ("forward", "backward")
_YES = frozenset({"yes", "true", "1"})
_REVERSED = frozenset({"-1", "reverse"})
_BOTH_WAYS = frozenset({"no", "false", "0"})
# Traffic alternates: both directions are open, unless the kind of way makes it one-way.
_ALTERNATING = "alternating"
# Escalators: "yes" says that the escalator moves, but not in which direction.
_CONVEYORS = frozenset({"steps", "footway"})
_CONVEYING = {"forward": "yes", "backward": "-1", "yes": "no", "reversible": "no"}

#: Tags that limit the size of vehicles.
_SIZE_KEYS = {
    "height": ("maxheight:physical", "maxheight"),
    "width": ("maxwidth:physical", "maxwidth", "width", "est_width"),
    "length": ("maxlength",),
    "weight": ("maxweight",),
}


@dataclass(frozen=True)
class WayAttributes:
    """Meaning of the tags of a way.

    Attributes
    ----------
    forward, backward : float
        Speed in km/h along the way and against it; 0 if the direction is not allowed.
    restricted_forward, restricted_backward : bool
        Whether the direction serves only the ends of a trip.
    duration : float or None
        Seconds that the way takes from end to end, if a tag gives them.
    modes : tuple of str
        Mode of travel along the way and against it, one of `MODES`.
    classes : tuple of int
        Classes along the way and against it, as bit masks in the order of the profile's.
    factor : tuple of float
        Factor of the speed for weights, along the way and against it.
    left_hand : bool
        Whether traffic keeps left.
    carried : bool
        Whether the vehicle is carried, by a ferry or a train.
    snappable : bool
        Whether a trip may begin and end on the way.
    skipped : str
        Reason why the vehicle cannot use the way, empty if it can.
    nonsense : tuple of str
        Keys of tags whose values were not understood. These tags count as absent; for access tags,
        `AccessRules.others` decides.
    """

    forward: float = 0.0
    backward: float = 0.0
    restricted_forward: bool = False
    restricted_backward: bool = False
    duration: float | None = None
    modes: tuple[str, str] = (MODES[0], MODES[0])
    classes: tuple[int, int] = (0, 0)
    factor: tuple[float, float] = (1.0, 1.0)
    left_hand: bool = False
    carried: bool = False
    snappable: bool = True
    skipped: str = ""
    nonsense: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """Meaning of the access tags of a way or node.

    Attributes
    ----------
    kind : str
        "open", "restricted", "blocked", or "neutral" if the profile gives the value none of these meanings.
    key : str
        Key of the tag that decides.
    values : frozenset of str
        Values of this tag.
    """

    kind: str
    key: str
    values: frozenset[str]


def way_attributes(tags: Tags, profile: Profile) -> WayAttributes:
    """Return what the tags of a way mean to a vehicle.

    Parameters
    ----------
    tags : mapping of str to str
        The way's tags.
    profile : Profile
        The vehicle.
    """
    carried, mode = profile.route_speeds.get(tags.get("route", "")), "ferry"
    if carried is None:
        carried, mode = _train_speed(tags, profile), "train"
    listed = _speed_by_tag(tags, profile.speeds)
    if (
        not tags.get("highway")
        and not tags.get("route")
        and carried is None
        and listed is None
        and not (profile.train_speeds and "railway" in tags)
        and _walked_speed(tags, profile) is None
    ):
        return WayAttributes(skipped="no road")
    reason = _closed(tags, profile)
    if reason:
        return WayAttributes(skipped=reason)
    nonsense: list[str] = []
    # The speed of a movable bridge does not apply to a way without a speed, such as a footway.
    bridge = profile.bridge_speeds.get(tags.get("bridge", "")) if listed is not None else None
    base = carried or bridge or listed
    allowed, factor = _directions(tags, profile, nonsense), _factor(tags, profile)
    lanes = _cycleways(tags, profile, allowed)
    if any(lanes):
        base_of = [profile.cycleways.speed if lane else base for lane in lanes]
        allowed = allowed[0] or lanes[0], allowed[1] or lanes[1]
    else:
        base_of = [base, base]
    if carried is not None:
        modes = [mode, mode]
    else:
        timed = profile.timed_mode if parse_duration(tags.get("duration", "")) is not None else None
        modes = [timed or _mode_by_tag(tags, by_tag, profile.mode) for by_tag in (profile.modes, profile.modes_back)]
        for i, factors in enumerate((profile.forward_factors, profile.backward_factors)):
            speed_here = base_of[i]
            base_of[i] = None if speed_here is None else speed_here * _product(tags, factors)
    speeds, restricted, snappable = [0.0, 0.0], [False, False], False
    closed = []
    for i, direction in enumerate(_DIRECTIONS):
        if not allowed[i] and profile.pushing is None:
            continue
        access = find_access(tags, profile.access.keys, profile.access, direction, nonsense)
        if access is not None and listed is None and access.values & profile.access.restricted_opens:
            access = replace(access, kind="open")
        if profile.separate and _is_separate(tags, profile, access):
            closed.append("another way beside")
            continue
        listed_here = base_of[i] if lanes[i] else listed
        speed = _permitted_speed(tags, base_of[i], listed_here, access, profile) if allowed[i] else 0.0
        pushed = speed == 0
        if pushed:
            speed, access = _pushed_speed(tags, profile, direction, access, listed, nonsense)
        if speed == 0:
            closed.append("no road" if base is None else "no access")
            continue
        if _too_big(tags, profile, direction, nonsense):
            closed.append("too small")
            continue
        if pushed:
            modes[i] = "pushing bike"
        else:
            limit, directed = _speed_limit(tags, profile, direction, nonsense)
            if limit:
                lowers = profile.limits.only_lower and not (directed and profile.limits.directed_replace)
                limit *= profile.limits.share
                speed = min(speed, limit) if lowers else limit
            if carried is None:
                speed = min(speed, profile.highest_speed)
        for key, caps in profile.caps.items():
            speed = min(speed, caps.get(tags.get(key, ""), speed))
        if speed == 0:
            closed.append("impassable")
        speeds[i] = speed * factor
        snappable |= speed > 0 and not _prevents_snapping(tags, access, profile.access)
        restricted[i] = (access is not None and access.kind == "restricted") or (
            profile.access.carpool_roads_restricted and _for_carpools(tags, direction)
        )
    duration = None
    waits = carried is not None or profile.timed_mode is not None or tags.get("bridge", "") in profile.bridge_speeds
    if waits and "duration" in tags:
        duration = parse_duration(tags["duration"])
        if duration is None:
            nonsense.append("duration")
    skipped = "" if any(speeds) else closed[0]
    return WayAttributes(
        forward=speeds[0],
        backward=speeds[1],
        restricted_forward=restricted[0],
        restricted_backward=restricted[1],
        duration=duration,
        modes=(modes[0], modes[1]),
        classes=_classes(tags, profile, restricted),
        factor=_weight_factors(tags, profile, speeds, lanes),
        left_hand=_keeps_left(tags, profile),
        carried=carried is not None,
        snappable=snappable,
        skipped=skipped,
        nonsense=tuple(dict.fromkeys(nonsense)),
    )


def way_keys(profile: Profile) -> frozenset[str]:
    """Return the keys of all tags of ways that have a meaning to a vehicle."""
    access, limits, pushing = profile.access, profile.limits, profile.pushing
    plain = {
        *("highway", "route", "area", "proposed", "construction", "railway", "impassable", "status", "bridge"),
        *("junction", "hov", "duration"),
        *(
            *profile.open_areas.tags,
            *profile.speeds,
            *profile.closed,
            *profile.separate,
            *profile.caps,
            *profile.factors,
        ),
        *(*profile.modes, *profile.modes_back, *profile.forward_factors, *profile.backward_factors),
        *("driving_side", *(_CYCLEWAYS if profile.cycleways.speed else ())),
        *(("width",) if profile.weight.widths else ()),
        *(key for rules in profile.classes.values() for key in rules),
        *(key for rules in _factor_tables(profile) for key in rules),
        *(*profile.oneway.keys, *profile.oneway.contraflow, *(pushing.speeds if pushing else ())),
    }
    sizes = (key for name, keys in _SIZE_KEYS.items() if getattr(profile.size, name) for key in keys)
    walking = pushing.keys if pushing else ()
    in_classes = {key for rules in profile.classes.values() for key in rules}
    directed = {*in_classes, *access.keys, *walking, *limits.keys, *limits.place_keys, *sizes, "hov:lanes"}
    if "conveying" in profile.oneway.keys:
        plain.add("oneway")
    return frozenset(plain | directed | {f"{key}:{way}" for key in directed for way in _DIRECTIONS})


def _factor_tables(profile: Profile) -> tuple[Factors, ...]:
    rules = profile.weight
    return rules.factors, rules.two_way, rules.one_way, rules.forward, rules.backward


def find_access(
    tags: Tags, keys: tuple[str, ...], rules: AccessRules, direction: str, nonsense: list[str]
) -> Access | None:
    """Return the meaning of the first access tag that decides, or None if no tag decides.

    A tag decides if its value is in one of the lists, or `AccessRules.others` is not "absent".

    Parameters
    ----------
    tags : mapping of str to str
        Tags of a way or node.
    keys : tuple of str
        Keys of the access tags, the most specific first.
    rules : AccessRules
        Meaning of the values.
    direction : str
        "forward" or "backward"; tags of this direction take precedence over tags for both. Empty for nodes.
    nonsense : list of str
        Receives the keys of tags that are not understood.
    """
    for key in keys:
        for tag in (f"{key}:{direction}", key) if direction else (key,):
            value = tags.get(tag)
            if value is None:
                continue
            values = frozenset(part.strip().lower() for part in value.split(";"))
            if values & rules.open:
                return Access("open", key, values)
            if values & rules.restricted:
                return Access("restricted", key, values)
            if values & rules.blocked:
                return Access("blocked", key, values)
            nonsense.append(tag)
            if rules.others != "absent" and any(values):
                return Access(rules.others, key, values)
    return None


def _speed_by_tag(tags: Tags, speeds: ByTag) -> float | None:
    """Return the speed of the first tag with a speed, None if there is none."""
    for key, by_value in speeds.items():
        value = tags.get(key)
        speed = None if value is None else by_value.get(value, by_value.get(ANY_CLASS))
        if speed is not None:
            return speed
    return None


def _prevents_snapping(tags: Tags, access: Access | None, rules: AccessRules) -> bool:
    """Return whether the profile lets no trip begin or end on a way, because of the access tag that opens the way."""
    prevented = rules.snap_prevention.get(tags.get("highway", ""))
    if access is None or prevented is None:
        return False
    # Of several values, the most permissive ones count. A value that is in no list does not prevent snapping.
    opening = access.values & (rules.open if access.kind == "open" else rules.restricted)
    return bool(opening) and opening <= prevented


def _walked_speed(tags: Tags, profile: Profile) -> float | None:
    return _speed_by_tag(tags, profile.pushing.speeds) if profile.pushing else None


def _has_any(tags: Tags, values: Values) -> bool:
    for key, wanted in values.items():  # a third faster than any(), and it runs for every way
        if tags.get(key) in wanted:
            return True
    return False


def _closed(tags: Tags, profile: Profile) -> str:
    """Return why a way is closed whatever its access tags say; empty if it is not."""
    highway = tags.get("highway", "")
    if tags.get("area") == "yes" and _has_any(tags, profile.open_areas.tags):
        return "open area"  # its ways are those across it
    if tags.get("area") == "yes" and not profile.areas:
        return "area"
    # On an existing road, the tag says what the road may become.
    if highway == "proposed" or ("proposed" in tags and not highway):
        return "proposed"
    construction = tags.get("construction", "no")
    if "construction" in (highway, tags.get("railway")) or construction not in profile.harmless_construction:
        return "construction"
    if highway in profile.closed.get("highway", ()):
        return "no road"
    if next((tags[key] for key in profile.oneway.keys if key in tags and key != "conveying"), "") == "reversible":
        return "reversible"
    if tags.get("impassable") == "yes" or tags.get("status") == "impassable":
        return "impassable"
    return "no access" if _has_any(tags, profile.closed) else ""


def _is_separate(tags: Tags, profile: Profile, access: Access | None) -> bool:
    """Return whether the vehicle has to take another way that is mapped beside this one."""
    first = profile.access.keys[0]
    meant = access is not None and access.key == first and access.kind in ("open", "restricted")
    meant = meant or tags.get(first) == "destination"
    return not meant and _has_any(tags, profile.separate)


def _permitted_speed(
    tags: Tags, base: float | None, listed: float | None, access: Access | None, profile: Profile
) -> float:
    """Return the speed on a way before limits and caps, 0 if the way may not be used."""
    if access is not None and access.kind == "blocked":
        return 0.0
    if access is not None and access.kind == "restricted" and listed is None:
        return 0.0
    if base is not None:
        return base
    return profile.default_speed if _opens(tags, access, profile.access.keys, profile) else 0.0


def _opens(tags: Tags, access: Access | None, keys: tuple[str, ...], profile: Profile) -> bool:
    """Return whether an access tag opens a way without a speed."""
    if access is None or access.kind != "open":
        return False
    enough_for = profile.access.enough_for
    return access.key != keys[-1] or ANY_CLASS in enough_for or tags.get("highway") in enough_for


def _pushed_speed(
    tags: Tags, profile: Profile, direction: str, riding: Access | None, listed: float | None, nonsense: list[str]
) -> tuple[float, Access | None]:
    """Return the speed of pushing along a way, 0 if not allowed, and the access tag for walking."""
    rules = profile.pushing
    carries = tags.get("route", "") in profile.route_speeds
    if rules is None or carries or (riding is not None and riding.values & rules.never):
        return 0.0, None
    walking = find_access(tags, rules.keys, profile.access, direction, nonsense)
    if walking is not None and walking.kind == "blocked":
        return 0.0, None
    speed = _walked_speed(tags, profile)
    if speed is not None:
        return speed, walking
    asked = riding is not None and bool(riding.values & rules.asked)
    if not asked and listed is None and not _opens(tags, walking, rules.keys, profile):
        return 0.0, None
    # Nobody walks on the carriageway against the traffic of a roundabout or a motorway.
    if direction == "backward" and _is_implied_oneway(tags, profile):
        return 0.0, None
    return rules.speed, walking


def _train_speed(tags: Tags, profile: Profile) -> float | None:
    """Return the speed of a train that takes the traveller along, None if there is none."""
    speed = profile.train_speeds.get(tags.get("railway", ""))
    if speed is None:
        return None
    access = find_access(tags, profile.access.keys, profile.access, "", [])
    return speed if access is not None and access.kind == "open" else None


def _cycleways(tags: Tags, profile: Profile, allowed: tuple[bool, bool]) -> tuple[bool, bool]:
    """Return whether there is a lane or track for cyclists along a way, and whether there is one against it."""
    rules = profile.cycleways
    if not rules.speed or not any(key in tags for key in _CYCLEWAYS):
        return False, False
    both = tags.get("cycleway", tags.get("cycleway:both", ""))
    left, right = tags.get("cycleway:left", ""), tags.get("cycleway:right", "")
    if all(allowed) and not _is_implied_oneway(tags, profile):
        along, back = both in rules.along, both in rules.along
        along |= right in rules.along or left in rules.opposite
        return along, back or left in rules.along or right in rules.opposite
    if not rules.opposite.isdisjoint((both, left, right)):
        return True, True
    goes_back = not allowed[0]
    has_one = not rules.along.isdisjoint((both, left, right))
    return has_one and not goes_back, has_one and goes_back


def _classes(tags: Tags, profile: Profile, restricted: Sequence[bool]) -> tuple[int, int]:
    """Return the classes along a way and against it, as bit masks."""
    found = [0, 0]
    for bit, (name, rules) in enumerate(profile.classes.items()):
        for i, direction in enumerate(_DIRECTIONS):
            found[i] |= (_is_one_of(tags, rules, direction) or (name == "restricted" and restricted[i])) << bit
    return found[0], found[1]


def _is_one_of(tags: Tags, rules: Values, direction: str) -> bool:
    """Return whether a tag of one direction has one of the values of a class."""
    for key, values in rules.items():
        value = tags.get(f"{key}:{direction}", tags.get(key))
        if value and (value in values or (ANY_CLASS in values and value != "no")):
            return True
    return False


def _weight_factors(
    tags: Tags, profile: Profile, speeds: Sequence[float], lanes: tuple[bool, bool]
) -> tuple[float, float]:
    """Return the factors of the speed for weights, along a way and against it."""
    rules = profile.weight
    if rules.name in ("duration", "distance"):
        return 1.0, 1.0
    is_two_way = all(speeds)
    least = _least(tags, rules.factors, 1.0)
    least = _least(tags, rules.two_way if is_two_way else rules.one_way, least)
    width = parse_length(tags["width"]) if is_two_way and rules.widths and "width" in tags else None
    if width is not None:
        least = min(least, next((f for bound, f in rules.widths.items() if width < (parse_length(bound) or 0.0)), 1.0))
    found = [_least(tags, rules.forward, least), _least(tags, rules.backward, least)]
    highway = tags.get("highway", "")
    unsafe = rules.unsafe.get(highway, 1.0)
    if not is_two_way:
        unsafe = rules.unsafe_one_way.get(highway, unsafe)
    for i in (0, 1):
        if not lanes[i]:
            found[i] = min(found[i], unsafe)
    return found[0], found[1]


def _least(tags: Tags, factors: Factors, least: float) -> float:
    """Return the least of a factor and those that the tags of a way give."""
    for key, by_value in factors.items():
        least = min(least, by_value.get(tags.get(key, ""), 1.0))
    return least


def _keeps_left(tags: Tags, profile: Profile) -> bool:
    side = tags.get("driving_side", "")
    return side == "left" if side in ("left", "right") else profile.left_hand


def _is_implied_oneway(tags: Tags, profile: Profile) -> bool:
    rules = profile.oneway
    return tags.get("highway") in rules.highways or tags.get("junction", "") in rules.junctions


def _directions(tags: Tags, profile: Profile, nonsense: list[str]) -> tuple[bool, bool]:
    """Return whether the vehicle may go along a way, and whether it may go against it."""
    rules = profile.oneway
    found, by = (True, not _is_implied_oneway(tags, profile)), ""
    for key in rules.keys:
        value = tags.get(key, "").strip().lower()
        if key == "conveying":
            # Stairs and walkways move; where both directions are said to be open, they are.
            if tags.get("highway") not in _CONVEYORS or tags.get("oneway", "") in (*_BOTH_WAYS, _ALTERNATING):
                continue
            value = _CONVEYING.get(value, value)
        if value in _YES:
            found, by = (True, False), key
        elif value in _REVERSED:
            found, by = (False, True), key
        elif value in _BOTH_WAYS:
            found, by = (True, True), key
        if by:
            break
        if value and value != _ALTERNATING:
            nonsense.append(key)
    # A contraflow lane opens the street, but not a direction that a tag for this very vehicle closes.
    if rules.contraflow and (not by or by == rules.keys[-1]) and _has_any(tags, rules.contraflow):
        return True, True
    return found


def _factor(tags: Tags, profile: Profile) -> float:
    """Return the factor by which the speed on a way is multiplied."""
    factor = 1.0
    for key, factors in profile.factors.items():
        # Many village streets are also tagged as driveways; these are not slow.
        if key != "service" or tags.get("highway") == "service":
            factor *= factors.get(tags.get(key, ""), 1.0)
    return factor


def _mode_by_tag(tags: Tags, modes: Mapping[str, Mapping[str, str]], other: str) -> str:
    """Return the mode of the first tag with a mode, `other` if there is none."""
    return next((by_value[tags[key]] for key, by_value in modes.items() if tags.get(key) in by_value), other)


def _product(tags: Tags, factors: Factors) -> float:
    return prod(by_value.get(tags.get(key, ""), 1.0) for key, by_value in factors.items())


def _speed_limit(tags: Tags, profile: Profile, direction: str, nonsense: list[str]) -> tuple[float, bool]:
    """Return the speed limit of one direction in km/h, 0 if none is known, and whether it is for this one only."""
    for key in profile.limits.keys:
        for tag in (f"{key}:{direction}", key):
            if tag not in tags:
                continue
            limit = parse_speed(tags[tag])
            if limit is not None:
                return limit, tag != key
            nonsense.append(tag)
    for key in profile.limits.place_keys:
        for tag in (f"{key}:{direction}", key):
            place = tags.get(tag, "")
            # Most of these values are "sign" or name a survey: valid values, but not limits.
            limit = parse_speed(place) if ":" in place else None
            if limit is not None:
                return limit, tag != key
    return 0.0, False


def _too_big(tags: Tags, profile: Profile, direction: str, nonsense: list[str]) -> bool:
    """Return whether the vehicle is too high, wide, long or heavy for one direction of a way."""
    for name, keys in _SIZE_KEYS.items():
        size = getattr(profile.size, name)
        if not size:
            continue
        for tag in (directed for key in keys for directed in (f"{key}:{direction}", key)):
            if tag not in tags:
                continue
            limit = parse_weight(tags[tag]) if name == "weight" else parse_length(tags[tag])
            if limit is None:
                nonsense.append(tag)
                continue
            if limit < size:
                return True
            break
    return False


def _for_carpools(tags: Tags, direction: str) -> bool:
    """Return whether all lanes of one direction are reserved for carpools."""
    lanes = tags.get(f"hov:lanes:{direction}", tags.get("hov:lanes", ""))
    return tags.get("hov") == "designated" or (lanes != "" and set(lanes.split("|")) == {"designated"})
