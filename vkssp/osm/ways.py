"""The tags of a way: in which directions a vehicle may use it, how fast, and for which part of a trip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vkssp.osm.profile import Profile
from vkssp.osm.values import parse_duration, parse_length, parse_speed, parse_weight

Tags = Mapping[str, str]

_DIRECTIONS = ("forward", "backward")
_YES = frozenset({"yes", "true", "1"})
_REVERSED = frozenset({"-1", "reverse"})
_BOTH_WAYS = frozenset({"no", "false", "0", "alternating"})


@dataclass(frozen=True)
class WayAttributes:
    """What the tags of a way say.

    Attributes
    ----------
    forward, backward : float
        Speed in km/h along the way and against it; 0 where that is not allowed.
    restricted_forward, restricted_backward : bool
        Whether that direction serves only the ends of a trip.
    duration : float or None
        Seconds that the way takes from end to end, where a tag tells.
    carried : bool
        Whether the vehicle is carried, by a ferry or a train.
    skipped : str
        Why the way is of no use, empty if it is.
    nonsense : tuple of str
        Keys of tags whose values were not understood; they were taken for absent.
    """

    forward: float = 0.0
    backward: float = 0.0
    restricted_forward: bool = False
    restricted_backward: bool = False
    duration: float | None = None
    carried: bool = False
    skipped: str = ""
    nonsense: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """What the access tags of a way or node say.

    Attributes
    ----------
    kind : str
        "open", "restricted" or "blocked".
    key : str
        The tag that says so.
    """

    kind: str
    key: str


def way_attributes(tags: Tags, profile: Profile) -> WayAttributes:
    """Return what the tags of a way mean to a vehicle.

    Parameters
    ----------
    tags : mapping of str to str
        The way's tags.
    profile : Profile
        The vehicle.
    """
    highway = tags.get("highway", "")
    carried = profile.route_speeds.get(tags.get("route", ""))
    if not highway and carried is None:
        return WayAttributes(skipped="no road")
    reason = _closed(tags, profile)
    if reason:
        return WayAttributes(skipped=reason)
    nonsense: list[str] = []
    base = carried or profile.bridge_speeds.get(tags.get("bridge", "")) or profile.speeds.get(highway)
    if base is not None and highway not in profile.speeds and carried is None:
        base = None  # a movable bridge speeds up no footway
    # Many a village street is tagged as a driveway, too; that one is not slow.
    factor = profile.service_factors.get(tags.get("service", ""), 1.0) if highway == "service" else 1.0
    allowed = _directions(tags, profile, nonsense)
    speeds, restricted = [0.0, 0.0], [False, False]
    closed = []
    for i, direction in enumerate(_DIRECTIONS):
        if not allowed[i]:
            continue
        access = find_access(tags, profile, direction, nonsense)
        speed = _permitted_speed(highway, base, access, profile)
        if speed == 0:
            closed.append("no road" if base is None else "no access")
            continue
        if _too_small(tags, profile, direction, nonsense):
            closed.append("too small")
            continue
        limit = _speed_limit(tags, profile, direction, nonsense)
        if limit:
            speed = limit * profile.limit_factor
        for key, caps in profile.caps.items():
            speed = min(speed, caps.get(tags.get(key, ""), speed))
        if speed == 0:
            closed.append("impassable")
        speeds[i] = speed * factor
        restricted[i] = (access is not None and access.kind == "restricted") or _for_carpools(tags, direction)
    duration = None
    waits = carried is not None or tags.get("bridge", "") in profile.bridge_speeds
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
        carried=carried is not None,
        skipped=skipped,
        nonsense=tuple(dict.fromkeys(nonsense)),
    )


def find_access(tags: Tags, profile: Profile, direction: str, nonsense: list[str]) -> Access | None:
    """Return what the first access tag that is understood says, or None if there is none.

    Parameters
    ----------
    tags : mapping of str to str
        Tags of a way or node.
    profile : Profile
        The vehicle.
    direction : str
        "forward" or "backward"; tags of that direction come before those for both. Empty for nodes.
    nonsense : list of str
        Takes the keys of tags that are not understood.
    """
    for key in profile.access_keys:
        for tag in (f"{key}:{direction}", key) if direction else (key,):
            value = tags.get(tag)
            if value is None:
                continue
            values = {part.strip().lower() for part in value.split(";")}
            if values & profile.access_open:
                return Access("open", key)
            if values & profile.access_restricted:
                return Access("restricted", key)
            if values & profile.access_blocked:
                return Access("blocked", key)
            nonsense.append(tag)
    return None


def _closed(tags: Tags, profile: Profile) -> str:
    """Return why nobody drives along a way, whoever may; empty if they do."""
    highway = tags.get("highway", "")
    if tags.get("area") == "yes":
        return "area"
    # On a road that exists, the tag tells what it may become.
    if highway == "proposed" or ("proposed" in tags and not highway):
        return "proposed"
    construction = tags.get("construction", "no")
    if "construction" in (highway, tags.get("railway")) or construction not in profile.harmless_construction:
        return "construction"
    if highway in profile.avoided_highways:
        return "no road"
    if next((tags[key] for key in profile.oneway_keys if key in tags), "") == "reversible":
        return "reversible"
    if tags.get("impassable") == "yes" or tags.get("status") == "impassable":
        return "impassable"
    return "no access" if tags.get("service", "") in profile.forbidden_services else ""


def _permitted_speed(highway: str, base: float | None, access: Access | None, profile: Profile) -> float:
    """Return the speed on a way before limits and caps, 0 where it may not be used."""
    if access is not None and access.kind == "blocked":
        return 0.0
    if access is not None and access.kind == "restricted" and highway not in profile.speeds:
        return 0.0
    if base is not None:
        return base
    if access is None or (access.key == profile.access_keys[-1] and highway not in profile.opened_by_access):
        return 0.0
    return profile.default_speed


def _directions(tags: Tags, profile: Profile, nonsense: list[str]) -> tuple[bool, bool]:
    """Return whether one may go along a way, and against it."""
    for key in profile.oneway_keys:
        value = tags.get(key, "").strip().lower()
        if value in _YES:
            return True, False
        if value in _REVERSED:
            return False, True
        if value in _BOTH_WAYS:
            return True, True
        if value:
            nonsense.append(key)
    implied = tags.get("highway") in profile.oneway_highways or tags.get("junction", "") in profile.oneway_junctions
    return True, not implied


def _speed_limit(tags: Tags, profile: Profile, direction: str, nonsense: list[str]) -> float:
    """Return the speed limit of one direction in km/h, 0 if none is known."""
    for key in profile.maxspeed_keys:
        for tag in (f"{key}:{direction}", key):
            if tag not in tags:
                continue
            limit = parse_speed(tags[tag])
            if limit is not None:
                return limit
            nonsense.append(tag)
    for key in profile.maxspeed_place_keys:
        for tag in (f"{key}:{direction}", key):
            place = tags.get(tag, "")
            # Most of these say "sign" or name a survey, which is no nonsense, and no limit either.
            limit = parse_speed(place) if ":" in place else None
            if limit is not None:
                return limit
    return 0.0


def _too_small(tags: Tags, profile: Profile, direction: str, nonsense: list[str]) -> bool:
    """Return whether the vehicle is too high, wide, long or heavy for one direction of a way."""
    for keys, size in profile.size_keys:
        for tag in (name for key in keys for name in (f"{key}:{direction}", key)):
            if tag not in tags:
                continue
            limit = parse_length(tags[tag])
            if limit is None:
                nonsense.append(tag)
                continue
            if limit < size:
                return True
            break
    for tag in (name for key in profile.weight_keys for name in (f"{key}:{direction}", key)):
        if tag not in tags:
            continue
        limit = parse_weight(tags[tag])
        if limit is None:
            nonsense.append(tag)
            continue
        return limit < profile.weight
    return False


def _for_carpools(tags: Tags, direction: str) -> bool:
    """Return whether all lanes of one direction are for cars with several people in them."""
    lanes = tags.get(f"hov:lanes:{direction}", tags.get("hov:lanes", ""))
    return tags.get("hov") == "designated" or (lanes != "" and set(lanes.split("|")) == {"designated"})
