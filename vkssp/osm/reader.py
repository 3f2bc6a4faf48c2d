"""Reader of an extract: ways that a vehicle may use, their nodes, barriers and turn restrictions, in one pass.

pyosmium decodes the file and filters it by key in C++. Python sees only objects with a tag that matters.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import FormatError
from vkssp.graph.streets import LAST_LAT, LAST_LON
from vkssp.osm.extract import BrokenTags, Extract
from vkssp.osm.nodes import node_attributes
from vkssp.osm.profile import Profile
from vkssp.osm.report import ImportReport
from vkssp.osm.restrictions import conditional_keys, restriction_keys
from vkssp.osm.turn_tags import RawTurns, TurnCollector
from vkssp.osm.ways import Tags, way_attributes
from vkssp.terminal import progress_bar

#: The coordinate that pyosmium gives a node that the file does not hold.
_UNKNOWN = 2**31 - 1

_NOT_UTF8 = "text that is not UTF-8"

#: Size in bytes from which a file's progress bar is shown from the start.
_LARGE = 1 << 20

#: Arrays of `RawRoads` with an entry per way.
_PER_WAY = ("way", "speed", "restricted", "duration", "carried", "snappable", "name", "ref", "roundabout", "link")


@dataclass(frozen=True, eq=False)
class RawRoads:
    """Ways that a vehicle may use, as in the file.

    Attributes
    ----------
    node : numpy.ndarray
        OSM ids of the ways' nodes, one way after the other, shape (num_references,), int64.
    lat, lon : numpy.ndarray
        Coordinates of these nodes in 1e-7 degrees, shape (num_references,), int32.
    known : numpy.ndarray
        Whether the file holds each of these nodes, at valid coordinates, shape (num_references,), bool.
    first : numpy.ndarray
        Offset of each way's first node, shape (num_ways + 1,), int64.
    way : numpy.ndarray
        OSM ids of the ways, shape (num_ways,), int64.
    speed : numpy.ndarray
        Speed in km/h along each way and against it, 0 where not allowed, shape (num_ways, 2), float64.
    restricted : numpy.ndarray
        Whether each direction serves only the ends of a trip, shape (num_ways, 2), bool.
    duration : numpy.ndarray
        Seconds that each way takes from end to end, NaN if only its speed is known, shape (num_ways,), float64.
    carried : numpy.ndarray
        Whether each way carries the vehicle, as ferries do, shape (num_ways,), bool.
    snappable : numpy.ndarray
        Whether a trip may begin and end on each way, shape (num_ways,), bool.
    name : numpy.ndarray
        Index into `names` of each way, shape (num_ways,), uint32.
    names : tuple of str
        Names and numbers of streets; entry 0 is the empty string.
    ref : numpy.ndarray
        Index into `names` of each way's number, shape (num_ways,), uint32.
    roundabout, link : numpy.ndarray
        Whether each way is part of a roundabout, and whether it is a slip road, shape (num_ways,) each, bool.
    blocked : numpy.ndarray
        OSM ids of the nodes that cannot be passed, shape (num_blocked,), int64.
    slow : numpy.ndarray
        OSM ids of the nodes that take time to pass, shape (num_slow,), int64.
    slow_seconds : numpy.ndarray
        Seconds that each node of `slow` takes, shape (num_slow,), float64.
    turns : RawTurns or None
        What the file says about turns; None if turns were not requested.
    """

    node: npt.NDArray[np.int64]
    lat: npt.NDArray[np.int32]
    lon: npt.NDArray[np.int32]
    known: npt.NDArray[np.bool_]
    first: npt.NDArray[np.int64]
    way: npt.NDArray[np.int64]
    speed: npt.NDArray[np.float64]
    restricted: npt.NDArray[np.bool_]
    duration: npt.NDArray[np.float64]
    carried: npt.NDArray[np.bool_]
    snappable: npt.NDArray[np.bool_]
    name: npt.NDArray[np.uint32]
    names: tuple[str, ...]
    ref: npt.NDArray[np.uint32]
    roundabout: npt.NDArray[np.bool_]
    link: npt.NDArray[np.bool_]
    blocked: npt.NDArray[np.int64]
    slow: npt.NDArray[np.int64]
    slow_seconds: npt.NDArray[np.float64]
    turns: RawTurns | None = None

    def of_ways(self, kept: npt.NDArray[np.bool_]) -> RawRoads:
        """Return the roads with only the ways to keep."""
        size = np.diff(self.first)
        of_kept = np.repeat(kept, size)
        values = {name: getattr(self, name)[of_kept] for name in ("node", "lat", "lon", "known")}
        values |= {name: getattr(self, name)[kept] for name in _PER_WAY}
        return replace(self, **values, first=np.concatenate([[0], np.cumsum(size[kept])]))


def _last_of_each(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each id whether it is the last of its equals."""
    order = np.argsort(ids, kind="stable")
    last = np.ones(len(ids), np.bool_)
    last[order[:-1][ids[order[1:]] == ids[order[:-1]]]] = False
    return last


def read_roads(
    path: str | Path, profile: Profile, report: ImportReport, *, progress: bool = False, turns: str = "none"
) -> RawRoads:
    """Read the ways that a vehicle may use.

    Parameters
    ----------
    path : str or Path
        The extract: .osm.pbf, .osm, .osm.gz or .osm.bz2.
    profile : Profile
        The vehicle.
    report : ImportReport
        Receives the counts.
    progress : bool
        Whether to show a progress bar on stderr: at once if the file is large, else after a second.
    turns : str
        What to read about turns: ``"none"``, ``"restrictions"`` or ``"costs"``.

    Raises
    ------
    FormatError
        If the file is missing, is not an extract, is truncated or damaged, or holds several versions of its objects.
    MemoryShortageError
        If the file is too large for this machine.
    """
    source = Path(path)
    pushing = profile.pushing
    way_keys = {"highway", "route", *profile.speeds, *(pushing.speeds if pushing else ())}
    collector = None if turns == "none" else TurnCollector(profile.turns, turns == "costs")
    keys = (*node_keys(profile), *(("highway",) if turns == "costs" else ()))
    rules = profile.turns
    relation_keys = () if collector is None else (*restriction_keys(rules), *conditional_keys(rules))
    extract = Extract(source, tuple(sorted(way_keys)), keys, relation_keys)
    roads = _Collector(profile, report, collector)
    title = f"Reading {source.name}"
    # No Python code runs while pyosmium looks for the next object that matters, so the bar cannot be drawn then.
    delay = 0.0 if source.stat().st_size >= _LARGE else 1.0
    with progress_bar(extract, title, shown=progress, unit=" objects", unit_scale=True, delay=delay) as bar:
        for item in bar:
            if item.is_way():
                roads.add_way(item)
            elif item.is_node():
                roads.add_node(item)
            else:
                roads.add_relation(item)
    return roads.finish(source, extract)


def node_keys(profile: Profile) -> tuple[str, ...]:
    """Return the keys of the node tags that decide whether the vehicle can pass."""
    return ("barrier", *profile.access.keys)


class _Collector:
    """Collector of ways and nodes in flat arrays: 16 bytes per reference to a node, some 50 per way."""

    def __init__(self, profile: Profile, report: ImportReport, turns: TurnCollector | None) -> None:
        self._profile, self._report, self._turns = profile, report, turns
        self._passage_keys = frozenset(node_keys(profile))
        self._node, self._lat, self._lon = array("q"), array("i"), array("i")
        self._read, self._used = array("q"), array("b")
        self._first, self._name, self._ref = array("q", [0]), array("I"), array("I")
        self._speed, self._duration = array("d"), array("d")
        self._flags = array("b")
        self._names: dict[str, int] = {"": 0}
        self._blocked, self._slow, self._slow_seconds = array("q"), array("q"), array("d")
        self._nonsense: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def _tags(self, item: Any) -> Tags:
        try:
            return dict(item.tags)
        except UnicodeDecodeError:
            self._nonsense[_NOT_UTF8] += 1
            return BrokenTags(item)

    def add_node(self, item: Any) -> None:
        tags = self._tags(item)
        if self._turns is not None:
            self._turns.add_node(item.id, tags)
            # Most nodes are crossings, which need no more work. The test looks keys up, because broken tags end an
            # iteration.
            if not any(key in tags for key in self._passage_keys):
                return
        attributes = node_attributes(tags, self._profile)
        self._nonsense.update(attributes.nonsense)
        if attributes.blocked:
            self._blocked.append(item.id)
        elif attributes.seconds:
            self._slow.append(item.id)
            self._slow_seconds.append(attributes.seconds)

    def add_way(self, item: Any) -> None:
        self._report.ways_read += 1
        tags = self._tags(item)
        attributes = way_attributes(tags, self._profile)
        self._nonsense.update(attributes.nonsense)
        self._read.append(item.id)
        self._used.append(not attributes.skipped)
        if attributes.skipped:
            self._skipped[attributes.skipped] += 1
            return
        for reference in item.nodes:
            location = reference.location
            self._node.append(reference.ref)
            self._lat.append(location.y)
            self._lon.append(location.x)
        self._first.append(len(self._node))
        # Motorways and many country roads have a number and no name.
        ref = tags.get("ref", "")
        for of_way, name in ((self._name, tags.get("name") or ref), (self._ref, ref)):
            of_way.append(self._names.setdefault(name, len(self._names)))
        self._speed.extend((attributes.forward, attributes.backward))
        self._duration.append(nan if attributes.duration is None else attributes.duration)
        roundabout = tags.get("junction", "") in self._profile.oneway.junctions
        link = tags.get("highway", "").endswith("_link")
        restricted = attributes.restricted_forward, attributes.restricted_backward
        self._flags.extend((*restricted, attributes.carried, attributes.snappable, roundabout, link))

    def add_relation(self, item: Any) -> None:
        assert self._turns is not None
        try:
            members = [(member.role, member.type, member.ref) for member in item.members]
        except UnicodeDecodeError:  # an unreadable role; the relation counts as broken
            self._nonsense[_NOT_UTF8] += 1
            members = []
        self._turns.add_relation(self._tags(item), members)

    def finish(self, source: Path, extract: Extract) -> RawRoads:
        report = self._report
        report.nonsense = dict(self._nonsense.most_common())
        report.ways_skipped = dict(self._skipped.most_common())
        node, lat, lon = np.asarray(self._node), np.asarray(self._lat), np.asarray(self._lon)
        self._look_again(source, extract, node, lat, lon)
        known = (lat >= -LAST_LAT) & (lat <= LAST_LAT) & (lon >= -LAST_LON) & (lon <= LAST_LON)
        report.missing_nodes = len(np.unique(node[~known]))
        read, used = np.asarray(self._read), np.asarray(self._used).view(np.bool_)
        stays = _last_of_each(read)
        flags = np.asarray(self._flags).view(np.bool_).reshape(-1, 6)
        roads = RawRoads(
            node=node,
            lat=lat,
            lon=lon,
            known=known,
            first=np.asarray(self._first),
            way=read[used],
            speed=np.asarray(self._speed).reshape(-1, 2),
            restricted=flags[:, :2],
            duration=np.asarray(self._duration),
            carried=flags[:, 2],
            snappable=flags[:, 3],
            name=np.asarray(self._name),
            names=tuple(self._names),
            ref=np.asarray(self._ref),
            roundabout=flags[:, 4],
            link=flags[:, 5],
            blocked=np.asarray(self._blocked),
            slow=np.asarray(self._slow),
            slow_seconds=np.asarray(self._slow_seconds),
            turns=None if self._turns is None else self._turns.finish(read[stays & ~used]),
        )
        again = int((~stays).sum())
        if not again:
            return roads
        report.ways_skipped["listed again"] = again
        return roads.of_ways(stays[used])

    @staticmethod
    def _look_again(
        source: Path,
        extract: Extract,
        node: npt.NDArray[np.int64],
        lat: npt.NDArray[np.int32],
        lon: npt.NDArray[np.int32],
    ) -> None:
        """Fill in the coordinates of nodes that come after their ways in the file, which is allowed."""
        unknown = np.flatnonzero(lat == _UNKNOWN)
        if np.any(node[unknown] < 0):
            raise FormatError(
                f"{source} numbers nodes below zero, as editors do before an upload; run 'osmium renumber' on it first"
            )
        if len(unknown) == 0:
            return
        for at, location in zip(unknown.tolist(), extract.locations(node[unknown].tolist()), strict=True):
            if location is not None:
                lat[at], lon[at] = location.y, location.x
