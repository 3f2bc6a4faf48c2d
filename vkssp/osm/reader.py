"""Reader of an extract: ways that a vehicle may use, their nodes, barriers and turn restrictions.

pyosmium decodes the file in one pass, and filters it by key in C++. Python sees only objects with a tag that matters.
Large .osm.pbf files are read by `vkssp.osm.sorted_reader`, if they are sorted.
"""

from __future__ import annotations

from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import FormatError
from vkssp.graph.streets import LAST_LAT, LAST_LON
from vkssp.osm.basemap_reader import read_basemap
from vkssp.osm.extract import UNKNOWN, Extract, members_of, tags_of
from vkssp.osm.guide import Guide
from vkssp.osm.meanings import Meanings, wanted_keys
from vkssp.osm.profile import Profile
from vkssp.osm.raw_basemap import RawBasemap
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads, flag_columns
from vkssp.osm.sorted_reader import read_sorted
from vkssp.osm.turn_tags import TurnCollector

#: Size in bytes from which a sorted file is read on all cores. Loading the compiled code takes as long as reading a
#: smaller file.
SMALLEST = 8 << 20


def _last_of_each(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return for each id whether it is the last of its equals."""
    order = np.argsort(ids, kind="stable")
    last = np.ones(len(ids), np.bool_)
    last[order[:-1][ids[order[1:]] == ids[order[:-1]]]] = False
    return last


def read_roads(
    path: str | Path,
    profile: Profile,
    report: ImportReport,
    *,
    progress: bool = False,
    turns: str = "none",
    basemap: bool = False,
) -> tuple[RawRoads, RawBasemap | None]:
    """Read the ways that a vehicle may use, and what maps show beside them.

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
    basemap : bool
        Whether to read coast, water and places, too.

    Raises
    ------
    FormatError
        If the file is missing, is not an extract, is truncated or damaged, or holds several versions of its objects.
    MemoryShortageError
        If the file is too large for this machine.
    """
    source = Path(path)
    collector = None if turns == "none" else TurnCollector(profile.turns, turns == "costs")
    keys = wanted_keys(profile, turns)
    extract = Extract(source, keys.way, keys.node, keys.relation, progress=progress)
    title = f"Reading {source.name}"
    if extract.is_pbf and source.stat().st_size >= SMALLEST:
        found = read_sorted(source, profile, report, keys, collector, title=title, progress=progress, basemap=basemap)
        if found is not None:
            return found
        collector = None if turns == "none" else TurnCollector(profile.turns, turns == "costs")
    roads = _Collector(profile, report, collector)
    for item in extract:
        if item.is_way():
            roads.add_way(item)
        elif item.is_node():
            roads.add_node(item)
        else:
            roads.add_relation(item)
    found_roads = roads.finish(source, extract)
    report.end_stage("reading")
    raw = read_basemap(extract) if basemap else None
    report.end_stage("reading the basemap")
    return found_roads, raw


class _Collector:
    """Collector of ways and nodes in flat arrays: 16 bytes per reference to a node, some 50 per way."""

    def __init__(self, profile: Profile, report: ImportReport, turns: TurnCollector | None) -> None:
        self._report, self._turns = report, turns
        self._meanings = Meanings(profile, turns)
        self._node, self._lat, self._lon = array("q"), array("i"), array("i")
        self._read, self._used = array("q"), array("b")
        self._first, self._name, self._ref = array("q", [0]), array("I"), array("I")
        self._speed, self._factor, self._travel, self._duration = array("d"), array("d"), array("q"), array("d")
        self._flags = array("b")
        self._guide, self._guides = array("q"), dict[Guide, int]()
        self._names: dict[str, int] = {"": 0}
        self._blocked, self._slow, self._slow_seconds = array("q"), array("q"), array("d")
        self._nonsense: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def add_node(self, item: Any) -> None:
        found = self._meanings.of_node(tags_of(item, self._nonsense))
        if self._turns is not None:
            self._turns.add_obstacle(item.id, found.obstacle)
        self._nonsense.update(found.nonsense)
        if found.blocked:
            self._blocked.append(item.id)
        elif found.seconds:
            self._slow.append(item.id)
            self._slow_seconds.append(found.seconds)

    def add_way(self, item: Any) -> None:
        self._report.ways_read += 1
        tags = tags_of(item, self._nonsense)
        found = self._meanings.of_way(tags)
        self._nonsense.update(found.nonsense)
        self._read.append(item.id)
        self._used.append(not found.skipped)
        if found.skipped:
            self._skipped[found.skipped] += 1
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
        self._speed.extend(found.speed)
        self._factor.extend(found.factor)
        self._travel.extend(found.travel)
        self._duration.append(found.duration)
        self._flags.extend(found.flags)
        self._guide.append(self._guides.setdefault(found.guide, len(self._guides)))

    def add_relation(self, item: Any) -> None:
        assert self._turns is not None
        members = members_of(item, self._nonsense)
        self._turns.add_relation(tags_of(item, self._nonsense), members)

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
            factor=np.asarray(self._factor).reshape(-1, 2),
            travel=np.asarray(self._travel).reshape(-1, 5),
            class_names=self._meanings.class_names,
            duration=np.asarray(self._duration),
            name=np.asarray(self._name),
            names=tuple(self._names),
            ref=np.asarray(self._ref),
            blocked=np.asarray(self._blocked),
            slow=np.asarray(self._slow),
            slow_seconds=np.asarray(self._slow_seconds),
            turns=None if self._turns is None else self._turns.finish(read[stays & ~used]),
            guide=np.asarray(self._guide),
            guides=tuple(self._guides),
            **flag_columns(flags),
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
        unknown = np.flatnonzero(lat == UNKNOWN)
        if np.any(node[unknown] < 0):
            raise FormatError(
                f"{source} numbers nodes below zero, as editors do before an upload; run 'osmium renumber' on it first"
            )
        if len(unknown) == 0:
            return
        for at, location in zip(unknown.tolist(), extract.locations(node[unknown].tolist()), strict=True):
            if location is not None:
                lat[at], lon[at] = location.y, location.x
