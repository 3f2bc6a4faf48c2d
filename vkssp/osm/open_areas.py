"""Open areas of an extract, such as squares, and the ways across them.

Closed ways with ``area=yes`` and multipolygons with certain tags are crossed in straight lines. Their ways are the
sides of all rings, and the lines between points that see each other, if paths may turn or end at both: at reflex
corners, and at points where other ways lead in. No other line of the visibility graph is part of a shortest path. An
area with fewer than two ways in gets no ways, since nothing leads across it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import osmium
from osmium.osm import NODE, RELATION, WAY

from vkssp.graph.open_areas import OpenArea, Ring
from vkssp.graph.streets import LAST_LAT, LAST_LON
from vkssp.graph.visibility import Visibility
from vkssp.osm.extract import members_of, tags_of
from vkssp.osm.guide import Guide
from vkssp.osm.meanings import Meanings, WayMeaning
from vkssp.osm.profile import Profile
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads, flag_columns
from vkssp.osm.ways import Tags

#: Points at which paths may turn or end, above which an area has no ways but its sides: there would be too many.
_MOST_TURNS = 400
#: Degrees, in 1e-7, above which a ring is taken to cross the 180th meridian or to be damaged.
_WIDEST = 10_000_000
_OUTER, _INNER = ("outer", ""), "inner"


class RawArea(NamedTuple):
    """Area as in the file: the id of its way, or the negative id of its relation, its tags and its closed rings."""

    way: int
    tags: Tags
    rings: tuple[Ring, ...]


def read_open_areas(path: str | Path, profile: Profile, report: ImportReport) -> list[RawArea]:
    """Read the areas that a traveller crosses; the file is one that `vkssp.osm.reader.read_roads` has read."""
    wanted = profile.open_areas.tags
    if not wanted:
        return []
    nonsense: Counter[str] = Counter()
    single: dict[int, Tags] = {}
    several: list[tuple[int, Tags, tuple[list[int], list[int]]]] = []
    objects: Iterable[Any] = osmium.FileProcessor(str(path), WAY | RELATION).with_filter(
        osmium.filter.KeyFilter(*wanted)
    )
    for item in objects:
        tags = tags_of(item, nonsense)
        if not any(tags.get(key) in values for key, values in wanted.items()):
            continue
        if item.is_way() and tags.get("area") == "yes":
            single[item.id] = tags
        elif item.is_relation() and tags.get("type") == "multipolygon":
            ways = [(role, ref) for role, kind, ref in members_of(item, nonsense) if kind == "w"]
            outer = [ref for role, ref in ways if role in _OUTER]
            several.append((item.id, tags, (outer, [ref for role, ref in ways if role == _INNER])))
    lines = _lines(path, {*single, *(ref for *_, parts in several for part in parts for ref in part)})
    found = []
    for key, tags in single.items():
        rings = _rings([lines[key]]) if key in lines else None
        if rings is not None and len(rings) == 1:
            found.append(RawArea(key, tags, tuple(rings)))
        else:
            _skip(report, "open areas that are not closed")
    for key, tags, parts in several:
        joined = [_rings([lines[ref] for ref in part]) if all(ref in lines for ref in part) else None for part in parts]
        around, obstacles = joined
        if not around or obstacles is None:
            _skip(report, "open areas that are not closed")
            continue
        held = _inside(around, obstacles)
        found += [RawArea(-key, tags, (ring, *held[number])) for number, ring in enumerate(around)]
    return found


def _skip(report: ImportReport, reason: str) -> None:
    report.ways_skipped[reason] = report.ways_skipped.get(reason, 0) + 1


def _lines(path: str | Path, ways: set[int]) -> dict[int, Ring]:
    """Return the points of some ways, as far as the file holds all of them; the last point of a ring is repeated."""
    if not ways:
        return {}
    wanted = osmium.filter.IdFilter(ways)
    wanted.enable_for(WAY)
    found = {}
    objects: Iterable[Any] = osmium.FileProcessor(str(path), NODE | WAY).with_locations().with_filter(wanted)
    for item in objects:
        if not item.is_way():
            continue
        nodes = tuple(reference.ref for reference in item.nodes)
        points = tuple((reference.location.y, reference.location.x) for reference in item.nodes)
        if all(abs(lat) <= LAST_LAT and abs(lon) <= LAST_LON for lat, lon in points):
            found[item.id] = Ring(nodes, points)
    return found


def _rings(lines: Sequence[Ring]) -> list[Ring] | None:
    """Return the rings that lines form, joined at their ends; None if something is left over."""
    ends: dict[int, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        if len(line.nodes) < 2:
            return None
        for node in {line.nodes[0], line.nodes[-1]}:
            ends[node].append(number)
    left, found = set(range(len(lines))), []
    while left:
        number = min(left)
        left.remove(number)
        nodes, points = list(lines[number].nodes), list(lines[number].points)
        while nodes[0] != nodes[-1]:
            following = next((other for other in ends[nodes[-1]] if other in left), None)
            if following is None:
                return None
            left.remove(following)
            line = lines[following]
            step = 1 if line.nodes[0] == nodes[-1] else -1
            nodes += line.nodes[::step][1:]
            points += line.points[::step][1:]
        kept = [at for at in range(len(nodes) - 1) if nodes[at] != nodes[at + 1]]
        lat, lon = zip(*points, strict=True)
        if len(kept) < 3 or max(max(side) - min(side) for side in (lat, lon)) > _WIDEST:
            return None
        found.append(Ring(tuple(nodes[at] for at in kept), tuple(points[at] for at in kept)))
    return found


def _inside(outer: Sequence[Ring], inner: Sequence[Ring]) -> list[list[Ring]]:
    """Return the inner rings that lie in each outer one."""
    import shapely

    around = [shapely.Polygon([point[::-1] for point in ring.points]) for ring in outer]
    held: list[list[Ring]] = [[] for _ in outer]
    for ring in inner:
        hole = shapely.Polygon([point[::-1] for point in ring.points]).representative_point()
        number = next((at for at, polygon in enumerate(around) if polygon.covers(hole)), None)
        if number is not None:
            held[number].append(ring)
    return held


def with_open_areas(
    roads: RawRoads, raw: Sequence[RawArea], profile: Profile, report: ImportReport
) -> tuple[RawRoads, tuple[OpenArea, ...]]:
    """Return the roads with the ways across open areas, and the areas that have such ways.

    Parameters
    ----------
    roads : RawRoads
        The ways of the extract.
    raw : sequence of RawArea
        The areas.
    profile : Profile
        The traveller.
    report : ImportReport
        Receives the counts.
    """
    if not raw:
        return roads, ()
    used = Counter(node for area in raw for node in {node for ring in area.rings for node in ring.nodes})
    shared = {node for node, areas in used.items() if areas > 1}
    known = np.unique(roads.node[roads.known])
    meanings = Meanings(profile, None)
    added = _Added(roads)
    kept = []
    for area in raw:
        tags = {key: value for key, value in area.tags.items() if key not in ("area", "type")}
        meaning = meanings.of_way(tags)
        if meaning.skipped:
            _skip(report, f"open areas: {meaning.skipped}")
            continue
        nodes = np.array([node for ring in area.rings for node in ring.nodes], np.int64)
        is_entry = np.isin(nodes, known) | np.isin(nodes, np.array(sorted(shared), np.int64))
        if len(set(nodes[is_entry].tolist())) < 2:
            _skip(report, "open areas with fewer than two ways in")
            continue
        inside = Visibility([np.array(ring.points) for ring in area.rings], ellipsoid=profile.ellipsoid)
        if not inside.is_valid:
            _skip(report, "open areas whose edge crosses itself")
            continue
        added.add(area.way, tags, meaning, nodes, inside.points, _ways_across(inside, is_entry))
        kept.append(OpenArea(area.way, round(1000 * profile.open_areas.speed), area.rings))
    return added.roads(), tuple(kept)


def _ways_across(inside: Visibility, is_entry: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the ends of the ways of an area as indices of its points, shape (k, 2)."""
    pairs = inside.sides()
    turns = np.flatnonzero(is_entry | inside.is_reflex)
    if len(turns) <= _MOST_TURNS:
        pairs = np.concatenate([pairs, inside.sight_lines(turns)])
    found: npt.NDArray[np.int64] = np.unique(np.sort(pairs, axis=1), axis=0)
    return found


class _Added:
    """Ways of two points each, which are added to the ways of an extract."""

    def __init__(self, roads: RawRoads) -> None:
        self._roads = roads
        self._names = dict(zip(roads.names, range(len(roads.names)), strict=True))
        self._guides: dict[Guide, int] = dict(zip(roads.guides, range(len(roads.guides)), strict=True))
        self._nodes: list[npt.NDArray[np.int64]] = []
        self._points: list[npt.NDArray[np.int64]] = []
        self._rows: list[Mapping[str, Any]] = []
        self._counts: list[int] = []

    def add(
        self,
        way: int,
        tags: Tags,
        meaning: WayMeaning,
        nodes: npt.NDArray[np.int64],
        points: npt.NDArray[np.int64],
        pairs: npt.NDArray[np.int64],
    ) -> None:
        """Add the ways between pairs of the points of an area."""
        ref = tags.get("ref", "")
        self._nodes.append(nodes[pairs.ravel()])
        self._points.append(points[pairs.ravel()])
        self._counts.append(len(pairs))
        self._rows.append(
            {
                "way": way,
                "speed": meaning.speed,
                "factor": meaning.factor,
                "travel": meaning.travel,
                "duration": np.nan,
                "name": self._names.setdefault(tags.get("name") or ref, len(self._names)),
                "ref": self._names.setdefault(ref, len(self._names)),
                "flags": meaning.flags,
                "guide": self._guides.setdefault(meaning.guide, len(self._guides)),
            }
        )

    def roads(self) -> RawRoads:
        """Return all ways."""
        roads = self._roads
        if not self._rows:
            return roads
        nodes, points = np.concatenate(self._nodes), np.concatenate(self._points).astype(np.int32)

        def column(name: str) -> npt.NDArray[Any]:
            return np.repeat(np.array([row[name] for row in self._rows]), self._counts, axis=0)

        own: dict[str, npt.NDArray[Any]] = {
            "node": nodes,
            "lat": points[:, 0],
            "lon": points[:, 1],
            "known": np.ones(len(nodes), np.bool_),
            **{name: column(name) for name in ("way", "speed", "duration", "name", "ref")},
            **flag_columns(column("flags").astype(np.bool_)),
        }
        for name in ("factor", "travel", "guide"):
            if getattr(roads, name) is not None:
                own[name] = column(name)
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(roads, name), values.astype(getattr(roads, name).dtype)])
            for name, values in own.items()
        }
        ends = roads.first[-1] + 2 * np.arange(1, len(nodes) // 2 + 1)
        return replace(
            roads,
            **joined,
            first=np.concatenate([roads.first, ends]),
            names=tuple(self._names),
            guides=tuple(self._guides),
            place=None,
        )
