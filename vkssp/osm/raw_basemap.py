"""Coast, water, ice and places of an extract as in the file, and the tags that mean them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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


#: Rules of areas, which may consist of several ways.
AREAS = rules_of(WATER) | rules_of(ICE)


class ShapeRelations(NamedTuple):
    """Areas of several ways.

    Attributes
    ----------
    rules : numpy.ndarray
        Rules that the tags of each area meet, as a mask, shape (num_areas,), int64, without those of coasts and rivers.
    first : numpy.ndarray
        Offset of each area's first way, shape (num_areas + 1,), int64.
    way, is_inner : numpy.ndarray
        OSM ids of the ways of all areas, and whether each bounds an island.
    """

    rules: Ints
    first: Ints
    way: Ints
    is_inner: npt.NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Sequence[ShapeRelations]) -> ShapeRelations:
        """Return the areas of all parts, in their order."""
        way, is_inner = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        return cls(
            np.concatenate([way, *(part.rules for part in parts)]),
            np.concatenate([[0], np.cumsum(np.concatenate([way, *(np.diff(part.first) for part in parts)]))]),
            np.concatenate([way, *(part.way for part in parts)]),
            np.concatenate([is_inner, *(part.is_inner for part in parts)]),
        )


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
    relations : ShapeRelations
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
    relations: ShapeRelations
    places: tuple[RawPlace, ...]


def mask_of(tags: Any) -> int:
    """Return the rules that tags meet, as a mask."""
    return sum(1 << at for at, (key, value, _) in enumerate(RULES) if tags.get(key) == value)


def shape_relation(item: Any) -> ShapeRelations:
    """Return a relation of pyosmium as an area, if it is one."""
    unread = Counter[str]()
    tags = tags_of(item, unread)
    rules = mask_of(tags) & AREAS
    if not rules or tags.get("type") != "multipolygon":
        return ShapeRelations.joined([])
    ways = [(ref, role == "inner") for role, kind, ref in members_of(item, unread) if kind == "w"]
    way, is_inner = np.array([ref for ref, _ in ways], np.int64), np.array([inner for _, inner in ways], np.bool_)
    return ShapeRelations(np.array([rules]), np.array([0, len(ways)]), way, is_inner)


def raw_place(lat: int, lon: int, kind: int, name: str, population: str) -> RawPlace:
    """Return a place; a number of inhabitants that is not understood is 0."""
    digits = population.replace(" ", "").replace(",", "").replace("'", "")
    people = int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 11 else 0
    return RawPlace(lat, lon, kind, min(people, _MOST_PEOPLE), name)


#: Kind of a place by the value of its tag.
KIND_OF_PLACE = {value: kind for kind, value in enumerate(PLACES)}
