"""Guidance data of the tags of a way: importance, lanes, and what signs say.

Keys and their use follow OSRM's profiles (https://github.com/Project-OSRM/osrm-backend, profiles/lib).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.osm.gathering import gathered

Tags = Mapping[str, str]

#: Ranks of roads by the value of ``highway``, the most important first.
_RANKS = {
    "motorway": 0,
    "motorway_link": 1,
    "trunk": 2,
    "trunk_link": 3,
    "primary": 4,
    "primary_link": 5,
    "secondary": 6,
    "secondary_link": 7,
    "tertiary": 8,
    "tertiary_link": 9,
    "residential": 10,
    "living_street": 11,
    "service": 12,
    "unclassified": 15,
    "track": 16,
    "path": 16,
    "footway": 18,
    "pedestrian": 18,
    "steps": 18,
}
_OTHER_RANK = 31
_MOTORWAYS = frozenset({"motorway", "motorway_link", "trunk", "trunk_link"})
#: Roads for all traffic; others are less important than these, whatever their names.
_ROADS = frozenset({*list(_RANKS)[:10], "unclassified", "residential", "living_street"})
#: Bits of `Guide.road_class` above the rank, of which the last is for roundabouts at which ordinary rules hold.
MOTORWAY, MINOR, CIRCULAR = 32, 64, 128
#: Lanes that other traffic does not use, by keys of their numbers.
_RESERVED_LANES = ("lanes:psv", "lanes:taxi", "lanes:share_taxi", "lanes:minibus", "lanes:bus")
_DIRECTIONS = ("forward", "backward")
_PER_DIRECTION = ("turn:lanes", "vehicle:lanes", "destination", "destination:ref", "destination:street")

#: Keys of tags that matter for instructions.
GUIDE_KEYS = frozenset(
    {
        *("highway", "junction", "junction:ref", "name:pronunciation", "lanes"),
        *("is_sidepath", "is_sidepath:of:name", "street:name", "footway", "cycleway"),
        *(
            f"{key}{suffix}"
            for key in (*_PER_DIRECTION, *_RESERVED_LANES, "lanes")
            for suffix in ("", ":forward", ":backward")
        ),
    }
)


class Guide(NamedTuple):
    """What the tags of a way tell for instructions.

    Attributes
    ----------
    road_class : int
        Rank of the way, 0 the most important, to 31, plus `MOTORWAY` for motorways, trunk roads and their slip roads,
        `MINOR` for ways that are not for all traffic, `CIRCULAR` for ``junction=circular``.
    num_lanes : int
        Number of lanes of both directions, 0 if unknown.
    pronunciation : str
        How the name is spoken.
    exits : str
        Numbers of the exit that the way is, separated by semicolons.
    destinations, lanes : tuple of str
        Places that signs name, and the directions of lanes as in the tag ``turn:lanes``, along the way and against it.
    beside : str
        Name of the road that the way, a sidewalk or a cycleway, runs beside.
    """

    road_class: int = _OTHER_RANK | MINOR
    num_lanes: int = 0
    pronunciation: str = ""
    exits: str = ""
    destinations: tuple[str, str] = ("", "")
    lanes: tuple[str, str] = ("", "")
    beside: str = ""


def guide_of(tags: Tags, open_directions: tuple[bool, bool]) -> Guide:
    """Return what the tags of a way tell for instructions.

    Parameters
    ----------
    tags : mapping of str to str
        The way's tags.
    open_directions : tuple of (bool, bool)
        Whether the vehicle may go along the way and against it.
    """
    highway = tags.get("highway", "")
    road_class = _RANKS.get(highway, _OTHER_RANK)
    road_class |= MOTORWAY * (highway in _MOTORWAYS) | MINOR * (highway not in _ROADS)
    road_class |= CIRCULAR * (tags.get("junction") == "circular")
    return Guide(
        road_class=road_class,
        num_lanes=min(_num_lanes(tags), 255),
        pronunciation=tags.get("name:pronunciation", ""),
        exits=_listed(tags.get("junction:ref", ""), ";", "; "),
        destinations=_destinations(tags, open_directions),
        lanes=_lanes(tags, open_directions),
        beside=_road_beside(tags),
    )


def _road_beside(tags: Tags) -> str:
    name = tags.get("is_sidepath:of:name") or tags.get("street:name", "")
    marked = tags.get("footway") == "sidewalk" or tags.get("cycleway") == "sidepath" or tags.get("is_sidepath") == "yes"
    return name if marked and tags.get("highway") in ("footway", "cycleway", "path") else ""


def _num_lanes(tags: Tags) -> int:
    if "lanes" in tags:
        return _count(tags["lanes"])
    return sum(_count(tags.get(f"lanes:{direction}", "")) for direction in _DIRECTIONS)


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


def _listed(text: str, separator: str, joined: str) -> str:
    return joined.join(part for part in (part.strip() for part in text.split(separator)) if part)


def _directed(tags: Tags, key: str, open_directions: tuple[bool, bool]) -> tuple[str, str]:
    """Return a tag along the way and against it; a tag for both directions means the open one."""
    both = tags.get(key, "")
    forward, backward = (tags.get(f"{key}:{direction}", "") for direction in _DIRECTIONS)
    return (
        forward or (both if open_directions[0] or not open_directions[1] else ""),
        backward or (both if open_directions[1] or not open_directions[0] else ""),
    )


def _destinations(tags: Tags, open_directions: tuple[bool, bool]) -> tuple[str, str]:
    """Return what signs say, of one-way streets only, whose signs mean one direction."""
    found = ["", ""]
    if open_directions[0] != open_directions[1]:
        at = 0 if open_directions[0] else 1
        ref, places, street = (
            tags.get(f"{key}:{_DIRECTIONS[at]}") or tags.get(key, "")
            for key in ("destination:ref", "destination", "destination:street")
        )
        text = f"{_refs(ref)}: {_refs(places)}" if ref and places else _refs(ref or places or street)
        found[at] = _listed(text, ",", ", ")
    return found[0], found[1]


def _refs(text: str) -> str:
    return _listed(text, ";", ", ")


def _lanes(tags: Tags, open_directions: tuple[bool, bool]) -> tuple[str, str]:
    turns = _directed(tags, "turn:lanes", open_directions)
    if not any(turns):
        return turns
    vehicles = _directed(tags, "vehicle:lanes", open_directions)
    reserved = [_directed(tags, key, open_directions) for key in _RESERVED_LANES]
    counts = [next((_count(pair[at]) for pair in reserved if pair[at]), 0) for at in (0, 1)]
    forward = _open_lanes(turns[0], vehicles[0], counts[1], counts[0])
    return forward, _open_lanes(turns[1], vehicles[1], counts[0], counts[1])


def _open_lanes(turns: str, vehicles: str, left: int, right: int) -> str:
    """Return the directions of lanes without those that the vehicle may not use.

    `left` and `right` are the numbers of lanes at the sides that are reserved; these have no direction.
    """
    lanes = turns.split("|")
    if vehicles:
        allowed = vehicles.split("|")
        if len(allowed) != len(lanes):
            return turns
        return "|".join(lane for lane, access in zip(lanes, allowed, strict=True) if access != "no")
    if left + right >= len(lanes):
        return turns
    inner = lanes[left : len(lanes) - right]
    return turns if any(lanes[:left]) or any(lanes[len(lanes) - right :]) else "|".join(inner)


def guide_arrays(
    guides: Sequence[Guide],
    which: npt.NDArray[Any],
    direction: npt.NDArray[np.int64],
    name: npt.NDArray[np.uint32],
    names: tuple[str, ...],
) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]:
    """Return arrays of `vkssp.graph.streets.Streets` about guidance, and the names with those that they need.

    Parameters
    ----------
    guides : sequence of Guide
        What the tags of ways tell.
    which, direction : numpy.ndarray
        Index into `guides` of each arc, and whether it runs along its way (0) or against it (1).
    name : numpy.ndarray
        Index into `names` of each arc's own name, 0 if it has none.
    names : tuple of str
        Texts of streets.
    """
    number = {name: at for at, name in enumerate(names)}

    def numbered(texts: Sequence[Sequence[str]]) -> npt.NDArray[np.uint32]:
        found = [[number.setdefault(text, len(number)) for text in pair] for pair in texts]
        return np.array(found, np.uint32).reshape(len(guides), -1)

    lanes = numbered([guide.lanes for guide in guides])
    destinations = numbered([guide.destinations for guide in guides])
    spoken = numbered([(guide.pronunciation, guide.exits) for guide in guides])
    beside = numbered([(guide.beside,) for guide in guides])
    of_direction = 2 * which + direction
    sides = lanes.reshape(-1), destinations.reshape(-1)
    found = gathered(
        (beside[:, 0], which),
        (np.array([guide.road_class for guide in guides], np.uint8), which),
        (np.array([guide.num_lanes for guide in guides], np.uint8), which),
        (spoken[:, 0], which),
        (spoken[:, 1], which),
        *((texts, of_direction) for texts in sides),
    )
    kinds = ("name", "road_class", "num_lanes", "pronunciation", "exits", "lanes", "destinations")
    arrays = dict(zip(kinds, found, strict=True))
    np.copyto(arrays["name"], name, where=name != 0)
    return arrays, tuple(number)
