"""Reader of coast, water, ice and places by pyosmium, for files that `vkssp.osm.sorted_reader` does not read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from vkssp.graph.basemap import PLACES
from vkssp.osm.extract import UNKNOWN, Extract, tags_of
from vkssp.osm.raw_basemap import (
    KIND_OF_PLACE,
    RULES,
    RawBasemap,
    RawPlace,
    ShapeRelations,
    mask_of,
    raw_place,
    shape_relation,
)


def read_basemap(extract: Extract) -> RawBasemap:
    """Read what maps show beside the streets, after the extract has been read once.

    Raises
    ------
    FormatError
        If the file is damaged.
    """
    unread = Counter[str]()
    ways: dict[int, tuple[int, list[int]]] = {}
    found_areas: list[ShapeRelations] = []
    places: list[RawPlace] = []
    for item in extract.tagged([*(rule[:2] for rule in RULES), *(("place", kind) for kind in PLACES)]):
        if item.is_way():
            ways[item.id] = (mask_of(tags_of(item, unread)), [node.ref for node in item.nodes])
        elif item.is_relation():
            found_areas.append(shape_relation(item))
        else:
            places += _place_of(item, unread)
    areas = ShapeRelations.joined(found_areas)
    members = [way for way in np.unique(areas.way).tolist() if way not in ways]
    if members:
        for item in extract.ways(members):
            ways[item.id] = (0, [node.ref for node in item.nodes])
    shapes = sorted((way, rules, nodes) for way, (rules, nodes) in ways.items() if rules or nodes)
    node = np.array([ref for _, _, nodes in shapes for ref in nodes], np.int64)
    needed, at = np.unique(node, return_inverse=True)
    found = [(UNKNOWN, UNKNOWN) if one is None else (one.y, one.x) for one in extract.locations(needed.tolist())]
    lat, lon = np.ascontiguousarray(np.array(found, np.int32).reshape(-1, 2)[at].T)
    return RawBasemap(
        way=np.array([way for way, _, _ in shapes], np.int64),
        rules=np.array([rules for _, rules, _ in shapes], np.int64),
        first=np.concatenate([[0], np.cumsum([len(nodes) for _, _, nodes in shapes], dtype=np.int64)]),
        node=node,
        lat=lat,
        lon=lon,
        relations=areas,
        places=tuple(places),
    )


def _place_of(item: Any, unread: Counter[str]) -> list[RawPlace]:
    """Return a node as a place, or nothing if it has no name or is nowhere."""
    tags, location = tags_of(item, unread), item.location
    kind = KIND_OF_PLACE.get(tags.get("place", ""))
    if kind is None or not tags.get("name") or not location.valid():
        return []
    return [raw_place(location.y, location.x, kind, tags["name"], tags.get("population", ""))]
