"""Coast, water, ice and places of an extract as in the file, and the tags that mean them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph.basemap import ICE, PLACES, RIVER, WATER
from vkssp.osm.extract import members_of, tags_of

Ints = npt.NDArray[np.int64]

#: Kind of the pieces of coasts, which become sea and land.
COAST = RIVER + 1
#: Tags of ways and relations, and the kind of shape that they mean. The rules of an object are a mask of 8 bits.
RULES = (
    ("natural", "coastline", COAST),
    ("natural", "water", WATER),
    ("waterway", "riverbank", WATER),
    ("waterway", "dock", WATER),
    ("landuse", "reservoir", WATER),
    ("natural", "glacier", ICE),
    ("waterway", "river", RIVER),
)
_MOST_PEOPLE = 2**32 - 1


def rules_of(kind: int) -> int:
    """Return the mask of the rules that mean a kind of shape."""
    return sum(1 << at for at, rule in enumerate(RULES) if rule[2] == kind)


class ShapeRelation(NamedTuple):
    """Area of several ways: its rules as a mask, and for each of its ways whether it bounds an island, and its id."""

    rules: int
    ways: tuple[tuple[bool, int], ...]


class RawPlace(NamedTuple):
    """Place with a name: coordinates in 1e-7 degrees, index into `PLACES`, number of inhabitants or 0, and name."""

    lat: int
    lon: int
    kind: int
    population: int
    name: str


@dataclass(frozen=True, eq=False)
class RawBasemap:
    """Shapes and places of a file.

    Attributes
    ----------
    way : numpy.ndarray
        OSM ids of the ways that are shapes or parts of them, shape (num_ways,), int64.
    rules : numpy.ndarray
        Rules that the tags of each way meet, as a mask, shape (num_ways,), int64.
    first : numpy.ndarray
        Offset of each way's first node, shape (num_ways + 1,), int64.
    node : numpy.ndarray
        OSM ids of the ways' nodes, shape (num_references,), int64.
    lat, lon : numpy.ndarray
        Coordinates of these nodes in 1e-7 degrees, shape (num_references,), int32; beyond the Earth if unknown.
    relations : tuple of ShapeRelation
        Areas of several ways.
    places : tuple of RawPlace
        Places with names.
    """

    way: Ints
    rules: Ints
    first: Ints
    node: Ints
    lat: npt.NDArray[np.int32]
    lon: npt.NDArray[np.int32]
    relations: tuple[ShapeRelation, ...]
    places: tuple[RawPlace, ...]


def mask_of(tags: Any) -> int:
    """Return the rules that tags meet, as a mask."""
    return sum(1 << at for at, (key, value, _) in enumerate(RULES) if tags.get(key) == value)


def shape_relation(item: Any) -> ShapeRelation | None:
    """Return a relation of pyosmium as an area, if it is one."""
    unread = Counter[str]()
    tags = tags_of(item, unread)
    rules = mask_of(tags) & ~rules_of(COAST) & ~rules_of(RIVER)
    if not rules or tags.get("type") != "multipolygon":
        return None
    ways = tuple((role == "inner", ref) for role, kind, ref in members_of(item, unread) if kind == "w")
    return ShapeRelation(rules, ways)


def member_ways(relations: Iterable[ShapeRelation]) -> Ints:
    """Return the ids of the ways of areas, sorted."""
    return np.unique(np.array([way for one in relations for _, way in one.ways], np.int64))


def raw_place(lat: int, lon: int, kind: int, name: str, population: str) -> RawPlace:
    """Return a place; a number of inhabitants that is not understood is 0."""
    digits = population.replace(" ", "").replace(",", "").replace("'", "")
    people = int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 11 else 0
    return RawPlace(lat, lon, kind, min(people, _MOST_PEOPLE), name)


#: Kind of a place by the value of its tag.
KIND_OF_PLACE = {value: kind for kind, value in enumerate(PLACES)}
