"""Reader of sorted .osm.pbf files on all cores, by compiled code.

The blobs of a file are independent. In a sorted file, those with nodes come first, then those with ways, and then those
with relations. Ways are read first; of the nodes, only the coordinates of those in ways are kept. Threads unpack and
decode blobs (`vkssp.osm.kernels.blocks`), and what they find is joined in the order of the file, so that the result is
the same on any number of cores, and the same as that of `vkssp.osm.reader`.

Nearly all extracts are sorted and hold nothing unusual. All others, and all damaged ones, are left to pyosmium, which
reads everything, and names the damage.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct
from vkssp.cores import num_cores, run_ahead, run_all
from vkssp.jit import kernels
from vkssp.memory import free_addresses, give_back, require
from vkssp.osm.extract import UNKNOWN, members_of, relations_of, relations_tagged, tags_of
from vkssp.osm.guide import Guide
from vkssp.osm.meanings import Combination, Meanings, WantedKeys
from vkssp.osm.pbf import MOST_BLOB, Blob, UnusualError, fields, find_blobs
from vkssp.osm.profile import Profile
from vkssp.osm.raw_basemap import (
    KIND_OF_PLACE,
    RULES,
    RawBasemap,
    RawPlace,
    ShapeRelation,
    member_ways,
    raw_place,
    shape_relation,
)
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads, flag_columns
from vkssp.osm.turn_tags import Obstacle, TurnCollector
from vkssp.terminal import progress_bar

Ints = npt.NDArray[np.int64]

_FEATURES = {b"OsmSchema-V0.6", b"DenseNodes"}
# Fields of a group: nodes one by one, nodes together, ways, relations, changes.
_DENSE, _WAYS, _RELATIONS = 2, 3, 4
# Fields of a block with the only values that are usual: the unit of coordinates, that of times, offsets of coordinates.
_USUAL = {17: 100, 18: None, 19: 0, 20: 0}
# Fields of nodes.
_ID, _INFO, _LAT, _LON, _TAGS = 1, 5, 8, 9, 10
_COLUMNS = {_ID, _LAT, _LON, _TAGS}
# Fields of the data about nodes, of which the last names users; the next one would say whether nodes are deleted.
_ABOUT = {1, 2, 3, 4, 5}
_USERS = 5
_NOTHING = np.zeros(0, np.int64)
# Bytes of memory for each reference of a way to a node.
_REFERENCE_BYTES = 40
# Bytes of address space, if it is limited, with which threads have enough.
_ADDRESSES = 4 << 30


def read_sorted(
    source: Path,
    profile: Profile,
    report: ImportReport,
    keys: WantedKeys,
    turns: TurnCollector | None,
    *,
    title: str,
    progress: bool,
    basemap: bool = False,
) -> tuple[RawRoads, RawBasemap | None] | None:
    """Read the ways that a vehicle may use, and what maps show beside them.

    Parameters
    ----------
    source : Path
        A .osm.pbf file.
    profile : Profile
        The vehicle.
    report : ImportReport
        Receives the counts.
    keys : WantedKeys
        Keys of the objects that matter.
    turns : TurnCollector or None
        Receives the data about turns; None if turns are not requested.
    title : str
        Text before the progress bar.
    progress : bool
        Whether to show a progress bar on stderr.
    basemap : bool
        Whether to read coast, water and places, too.

    Returns
    -------
    (RawRoads, RawBasemap or None) or None
        None if the file is not sorted, holds something unusual, or is damaged. Then `report` is unchanged, and what
        `turns` holds is of no use.

    Raises
    ------
    MemoryShortageError
        If the file is too large for this machine.
    """
    left = free_addresses()
    if left is not None and left < _ADDRESSES:
        return None
    try:
        header, *blobs = _usual_blobs(source)
        total = sum(blob.end - blob.start for blob in blobs)
        with progress_bar(None, title, shown=progress, total=total, unit="B", unit_scale=True, delay=0.0) as bar:
            found = _Reading(source, profile, keys, turns, basemap).read(header, blobs, report, bar.update)
    except (UnusualError, UnicodeDecodeError, struct.error, zlib.error):
        return None
    give_back()
    return found


def _usual_blobs(source: Path) -> list[Blob]:
    """Return the blobs of a file, of which the first is its header, and has nothing unusual."""
    blobs = list(find_blobs(source))
    if not blobs or blobs[-1].end != source.stat().st_size:
        raise UnusualError("truncated")
    if [blob.kind == b"OSMHeader" for blob in blobs] != [True] + [False] * (len(blobs) - 1):
        raise UnusualError("no header, or several")
    header = _unpacked(source, blobs[0])
    for field, begin, end in fields(header):
        if (field == 4 and header[begin:end] not in _FEATURES) or (
            field == 5 and header[begin:end] == b"LocationsOnWays"
        ):
            raise UnusualError("unusual features")
    if any(blob.kind != b"OSMData" for blob in blobs[1:]):
        raise UnusualError("unusual blobs")
    return blobs


def _unpacked(source: Path, blob: Blob) -> bytes:
    """Return what a blob holds."""
    with source.open("rb") as stream:
        stream.seek(blob.content)
        packed = stream.read(blob.end - blob.content)
    found = {field: (begin, end) for field, begin, end in fields(packed)}
    if set(found) == {1}:
        begin, end = found[1]
        block = packed[begin:end]
        size = end - begin
    elif set(found) == {2, 3}:
        size, (begin, end) = found[2][0], found[3]
        if size > MOST_BLOB or end > len(packed):
            raise UnusualError("unusual sizes")
        unpacker = zlib.decompressobj()
        block = unpacker.decompress(memoryview(packed)[begin:end], size + 1)
        if not unpacker.eof or unpacker.unused_data:
            raise UnusualError("unusual sizes")
    else:
        raise UnusualError("unusual compression")
    if len(block) != size:
        raise UnusualError("unusual sizes")
    return block


class _Dense(NamedTuple):
    """Columns of nodes, still encoded."""

    key: npt.NDArray[np.uint8]
    lat: npt.NDArray[np.uint8]
    lon: npt.NDArray[np.uint8]
    tags: npt.NDArray[np.uint8]


class _Block:
    """Block of objects: its bytes, its groups, each with its kind, begin and end, and its strings."""

    def __init__(self, source: Path, blob: Blob) -> None:
        self.data = _unpacked(source, blob)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self.data, np.uint8)
        self.groups: list[tuple[int, int, int]] = []
        tables = []
        for field, begin, end in fields(self.data):
            if field == 2:
                kind = self._kind(begin, end) if end <= len(self.data) else 0
                if kind not in (_DENSE, _WAYS, _RELATIONS):
                    raise UnusualError("unusual groups")
                self.groups.append((kind, begin, end))
            elif field == 1 and end <= len(self.data):
                tables.append(self.bytes[begin:end])
            elif _USUAL.get(field, -1) not in (begin, None):
                raise UnusualError("unusual coordinates, or unknown fields")
        if len(tables) != 1:
            raise UnusualError("no table of strings, or several")
        text, count = np.empty(len(tables[0]) + 1, np.uint8), np.zeros(1, np.int64)
        size = _kernels().join_strings(tables[0], text, count)
        self._text, self.num_strings = text[: max(size - 1, 0)].tobytes(), int(count[0])
        # A zero within a string splits it.
        if size < 0 or self._text.count(b"\0") != max(self.num_strings - 1, 0):
            raise UnusualError("damaged strings")
        kinds = [kind for kind, _, _ in self.groups]
        if kinds != sorted(kinds):
            raise UnusualError("unsorted")

    @property
    def kinds(self) -> set[int]:
        """Kinds of the groups."""
        return {kind for kind, _, _ in self.groups}

    def _kind(self, at: int, end: int) -> int:
        """Return the kind of a group, 0 if it has relations and something else."""
        kind = next(fields(self.data, at, end), (0,))[0]
        if kind == _RELATIONS:
            usual = all(field == kind and begin < close for field, begin, close in fields(self.data, at, end))
            return kind if usual else 0
        return kind

    def dense(self, at: int, end: int) -> _Dense:
        """Return the columns of a group of nodes."""
        (_, begin, stop), *others = fields(self.data, at, end)
        if others or stop > end:
            raise UnusualError("unusual groups")
        parts = self._columns(begin, stop)
        about = self._columns(*parts.pop(_INFO, (stop, stop)))
        if not (parts.keys() <= _COLUMNS and about.keys() <= _ABOUT):
            raise UnusualError("unusual nodes")
        key, lat, lon, tags = (self.bytes[slice(*parts.get(field, (0, 0)))] for field in (_ID, _LAT, _LON, _TAGS))
        for part in about.values():
            if _count(self.bytes[slice(*part)]) != _count(key):
                raise UnusualError("unusual data about nodes")
        users = self.bytes[slice(*about.get(_USERS, (0, 0)))]
        if not _kernels().are_below(users, self.num_strings):
            raise UnusualError("unknown users")
        return _Dense(key, lat, lon, tags)

    def _columns(self, at: int, end: int) -> dict[int, tuple[int, int]]:
        """Return where each field of a message begins and ends."""
        found = list(fields(self.data, at, end))
        if len({field for field, _, _ in found}) < len(found) or any(close > end for _, _, close in found):
            raise UnusualError("unusual columns")
        return {field: (begin, close) for field, begin, close in found}

    def strings(self) -> list[str]:
        """Return the strings; all of them are UTF-8."""
        return self._text.decode().split("\0")[: self.num_strings]


def _count(numbers: npt.NDArray[np.uint8]) -> int:
    """Return how many encoded numbers there are."""
    return int(np.count_nonzero(numbers < 128))


def _kernels() -> Any:
    return kernels("vkssp.osm.kernels.blocks")


class _Shapes(NamedTuple):
    """Ways of the basemap: their ids and the rules that they meet by turns, numbers of nodes, and ids of nodes."""

    way: Ints
    size: Ints
    node: Ints


_NO_SHAPES = _Shapes(_NOTHING, _NOTHING, _NOTHING)


class _Ways(NamedTuple):
    """Ways of a block: those that are wanted, and those of them that are used.

    Attributes
    ----------
    kinds : set of int
        Kinds of the block's groups.
    first, last : int
        Ids of the first and the last way of the block.
    read, used : numpy.ndarray
        Ids of the wanted ways, and whether each is used.
    speed, factor, travel, duration, flags, size : numpy.ndarray
        What is known of the used ways, and their numbers of nodes.
    node : numpy.ndarray
        Ids of the nodes of the used ways.
    names : list of str
        Names and numbers of the used ways.
    name : numpy.ndarray
        Indices into `names` of each used way's name and number, by turns.
    guides : list of Guide
        What the tags of the used ways tell for instructions.
    guide : numpy.ndarray
        Index into `guides` of each used way.
    nonsense, skipped : Counter
        Numbers of tags that were not understood, and of ways that are not used.
    shapes : _Shapes
        Ways of the basemap.
    """

    kinds: set[int]
    first: int
    last: int
    read: Ints
    used: npt.NDArray[np.bool_]
    speed: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64]
    travel: Ints
    duration: npt.NDArray[np.float64]
    flags: npt.NDArray[np.bool_]
    size: Ints
    node: Ints
    names: list[str]
    name: Ints
    guides: list[Guide]
    guide: Ints
    nonsense: Counter[str]
    skipped: Counter[str]
    shapes: _Shapes


class _Nodes(NamedTuple):
    """Nodes of a block that the vehicle cannot pass, or that take time, and places; the rest is as in `_Ways`."""

    kinds: set[int]
    first: int
    last: int
    blocked: list[int]
    slow: list[tuple[int, float]]
    obstacles: list[tuple[int, Obstacle]]
    nonsense: Counter[str]
    places: list[RawPlace]


_Objects = TypeVar("_Objects", _Ways, _Nodes)


class _Reading:
    """A file that is being read."""

    def __init__(
        self, source: Path, profile: Profile, keys: WantedKeys, turns: TurnCollector | None, basemap: bool
    ) -> None:
        self._source, self._relation_keys, self._turns = source, keys.relation, turns
        self._meanings = meanings = Meanings(profile, turns)
        self._kernels = compiled = _kernels()
        self._way_use = _uses(compiled, meanings.way_keys, keys.way)
        for key, use in (("name", compiled.NAME), ("ref", compiled.REF), ("", compiled.EMPTY)):
            self._way_use[key] = self._way_use.get(key, 0) | use
        self._node_use = _uses(compiled, meanings.node_keys, keys.node)
        self._basemap, self._members = basemap, _NOTHING
        self._as_key: dict[str, int] = {}
        self._as_value: dict[str, int] = {}
        if basemap:
            for at, (key, value, _) in enumerate(RULES):
                self._as_key[key] = self._as_key.get(key, 0) | 1 << at
                self._as_value[value] = self._as_value.get(value, 0) | 1 << at
            for key, use in (("name", compiled.NAME), ("place", compiled.PLACE), ("population", compiled.POPULATION)):
                self._node_use[key] = self._node_use.get(key, 0) | use

    def read(
        self, header: Blob, blobs: list[Blob], report: ImportReport, advance: Callable[[int], object]
    ) -> tuple[RawRoads, RawBasemap | None]:
        """Read all blobs; call a function with the number of bytes that have been read since its last call."""
        first = self._first_with(_WAYS, blobs)
        areas: list[ShapeRelation] = []
        if self._basemap:
            areas = self._read_areas([header, *blobs[self._first_with(_RELATIONS, blobs) :]])
            self._members = member_ways(areas)
        ways: list[_Ways] = []
        nodes: list[Ints] = []
        shapes: list[_Shapes] = []
        name: list[npt.NDArray[np.uint32]] = []
        names: dict[str, int] = {"": 0}
        guide: list[Ints] = []
        guides: dict[Guide, int] = {}
        relations = [header]
        for blob, found in self._in_order(self._each(blobs[first:], self._read_ways)):
            if _RELATIONS in found.kinds:
                relations.append(blob)
            numbers = [names.setdefault(text, len(names)) for text in found.names]
            name.append(np.array(numbers, np.uint32)[found.name])
            known = [guides.setdefault(one, len(guides)) for one in found.guides]
            guide.append(np.array(known, np.int64)[found.guide])
            nodes.append(found.node)
            shapes.append(found.shapes)
            ways.append(
                found._replace(names=[], name=_NOTHING, node=_NOTHING, guides=[], guide=_NOTHING, shapes=_NO_SHAPES)
            )
            advance(blob.end - blob.start)

        node, corner = _joined(nodes, np.int64), _joined([one.node for one in shapes], np.int64)
        nodes.clear()
        count = len(node) + len(corner)
        require(_REFERENCE_BYTES * count, f"{self._source}: streets and shapes with {count} points")
        needed = distinct(np.concatenate([node, corner]))
        lat, lon = (np.full(len(needed), UNKNOWN, np.int32) for _ in range(2))
        blocked: list[int] = []
        slow: list[tuple[int, float]] = []
        places: list[RawPlace] = []
        nonsense, skipped = Counter[str](), Counter[str]()
        # The first blob with ways may begin with nodes.
        shared = blobs[first : first + 1]
        reading = self._each(blobs[:first] + shared, partial(self._read_nodes, needed, lat, lon))
        for blob, met in self._in_order(reading):
            if met.kinds - {_DENSE} and blob not in shared:
                raise UnusualError("unsorted")
            blocked += met.blocked
            slow += met.slow
            places += met.places
            nonsense.update(met.nonsense)
            if self._turns is not None:
                for key, obstacle in met.obstacles:
                    self._turns.add_obstacle(key, obstacle)
            if blob not in shared:
                advance(blob.end - blob.start)
        for found in ways:
            nonsense.update(found.nonsense)
            skipped.update(found.skipped)
        self._read_relations(relations, nonsense)

        read = _joined([found.read for found in ways], np.int64)
        used = _joined([found.used for found in ways], np.bool_)
        report.ways_read = len(read)
        report.nonsense = dict(nonsense.most_common())
        report.ways_skipped = dict(skipped.most_common())
        basemap = None
        if self._basemap:
            of_shapes = _joined([one.way for one in shapes], np.int64).reshape(-1, 2)
            at = _places(needed, corner)
            basemap = RawBasemap(
                way=of_shapes[:, 0],
                rules=of_shapes[:, 1],
                first=np.concatenate([[0], np.cumsum(_joined([one.size for one in shapes], np.int64))]),
                node=corner,
                lat=lat[at],
                lon=lon[at],
                relations=tuple(areas),
                places=tuple(places),
            )
        place = _places(needed, node)
        lat, lon = lat[place], lon[place]
        report.missing_nodes = len(np.unique(node[lat == UNKNOWN]))
        numbered = _joined(name, np.uint32).reshape(-1, 2)
        roads = RawRoads(
            node=node,
            lat=lat,
            lon=lon,
            known=lat != UNKNOWN,
            place=place,
            first=np.concatenate([[0], np.cumsum(_joined([found.size for found in ways], np.int64))]),
            way=read[used],
            speed=_joined([found.speed for found in ways], np.float64).reshape(-1, 2),
            factor=_joined([found.factor for found in ways], np.float64).reshape(-1, 2),
            travel=_joined([found.travel for found in ways], np.int64).reshape(-1, 5),
            class_names=self._meanings.class_names,
            duration=_joined([found.duration for found in ways], np.float64),
            name=numbered[:, 0],
            names=tuple(names),
            ref=numbered[:, 1],
            blocked=np.array(blocked, np.int64),
            slow=np.array([key for key, _ in slow], np.int64),
            slow_seconds=np.array([seconds for _, seconds in slow], np.float64),
            turns=None if self._turns is None else self._turns.finish(read[~used]),
            guide=_joined(guide, np.int64),
            guides=tuple(guides),
            **flag_columns(_joined([found.flags for found in ways], np.bool_).reshape(-1, 6)),
        )
        return roads, basemap

    @staticmethod
    def _in_order(reading: Iterable[tuple[Blob, _Objects]]) -> Iterator[tuple[Blob, _Objects]]:
        """Yield what is read; raise `UnusualError` unless kinds and ids ascend from blob to blob."""
        kind, last = _DENSE, 0
        for blob, found in reading:
            if min(found.kinds, default=kind) < kind or 0 < found.first <= last:
                raise UnusualError("unsorted")
            kind, last = max(found.kinds, default=kind), max(last, found.last)
            yield blob, found

    def _first_with(self, kind: int, blobs: list[Blob]) -> int:
        """Return the index of the first blob with objects of a kind or a later one, if the file is sorted."""
        low, high = 0, len(blobs)
        while low < high:
            middle = (low + high) // 2
            if max(_Block(self._source, blobs[middle]).kinds, default=_DENSE) >= kind:
                high = middle
            else:
                low = middle + 1
        return low

    @staticmethod
    def _each(blobs: list[Blob], read: Callable[[Blob], _Objects]) -> Iterator[tuple[Blob, _Objects]]:
        """Yield each blob and what is read of it, in order, while threads read the next ones."""
        return zip(blobs, run_ahead((partial(read, blob) for blob in blobs), 2 * num_cores()), strict=True)

    def _read_ways(self, blob: Blob) -> _Ways:
        block = _Block(self._source, blob)
        room = sum(end - begin for kind, begin, end in block.groups if kind == _WAYS)
        # The string after the last stands for a name that a way does not have.
        strings = [*block.strings(), ""] if room else [""]
        use = np.array([self._way_use.get(text, 0) for text in strings], np.uint8)
        most = room // 2 + 1  # ways, and tags
        way, names, pairs, refs = (np.empty(size, np.int64) for size in (most, 2 * most, most, room))
        pair_first, ref_first = (np.zeros(most + 1, np.int64) for _ in range(2))
        shape, shape_first, shape_refs = (np.empty(size, np.int64) for size in (2 * most, most + 1, room))
        shape_first[0] = 0
        rules = [np.array([one.get(text, 0) for text in strings], np.uint8) for one in (self._as_key, self._as_value)]
        state = np.zeros(4, np.int64)
        for kind, begin, end in block.groups:
            if kind == _WAYS:
                arrays = (way, names, pair_first, pairs, ref_first, refs)
                of_shapes = (*rules, self._members, shape, shape_first, shape_refs)
                _check(self._kernels.find_ways(block.bytes, begin, end, use, *arrays, *of_shapes, state))
        size, last, first, num_shapes = state.tolist()

        number, combinations = self._alike(pair_first[: size + 1], pairs, strings)
        meanings = [self._meanings.way(combination) for combination in combinations]
        nonsense, skipped = Counter[str](), Counter[str]()
        for meaning, count in zip(meanings, np.bincount(number).tolist(), strict=True):
            for key in meaning.nonsense:
                nonsense[key] += count
            if meaning.skipped:
                skipped[meaning.skipped] += count
        used = np.array([not meaning.skipped for meaning in meanings], np.bool_)[number]
        of_used = number[used]
        num_refs = np.diff(ref_first[: size + 1])
        named = names[: 2 * size].reshape(-1, 2)[used]
        # Motorways and many country roads have a number and no name.
        unnamed = (use[named[:, 0]] & self._kernels.EMPTY) > 0
        named[unnamed, 0] = named[unnamed, 1]
        name = named.reshape(-1)
        found = np.empty(min(len(name), len(strings)), np.int64)
        num_names = self._kernels.number_in_order(name, np.full(len(strings), -1, np.int64), found)
        return _Ways(
            kinds=block.kinds,
            first=first,
            last=last,
            read=way[:size].copy(),
            used=used,
            speed=np.array([meaning.speed for meaning in meanings], np.float64).reshape(-1, 2)[of_used],
            factor=np.array([meaning.factor for meaning in meanings], np.float64).reshape(-1, 2)[of_used],
            travel=np.array([meaning.travel for meaning in meanings], np.int64).reshape(-1, 5)[of_used],
            duration=np.array([meaning.duration for meaning in meanings], np.float64)[of_used],
            flags=np.array([meaning.flags for meaning in meanings], np.bool_).reshape(-1, 6)[of_used],
            size=num_refs[used],
            node=refs[: ref_first[size]][np.repeat(used, num_refs)],
            names=[strings[i] for i in found[:num_names].tolist()],
            name=name,
            guides=[meaning.guide for meaning in meanings],
            guide=of_used,
            nonsense=nonsense,
            skipped=skipped,
            shapes=_Shapes(
                way=shape[: 2 * num_shapes].copy(),
                size=np.diff(shape_first[: num_shapes + 1]),
                node=shape_refs[: shape_first[num_shapes]].copy(),
            ),
        )

    def _read_nodes(self, needed: Ints, lat: npt.NDArray[np.int32], lon: npt.NDArray[np.int32], blob: Blob) -> _Nodes:
        block = _Block(self._source, blob)
        parts = [block.dense(begin, end) for kind, begin, end in block.groups if kind == _DENSE]
        strings = block.strings()
        use = np.array([self._node_use.get(text, 0) for text in strings], np.uint8)
        most = sum(len(part.key) for part in parts)
        node, pair_first = np.empty(most, np.int64), np.zeros(most + 1, np.int64)
        pairs = np.empty(sum(len(part.tags) for part in parts) // 2 + 1, np.int64)
        as_place = np.array([KIND_OF_PLACE.get(text, -1) + 1 for text in strings], np.uint8)
        places = np.empty(self._kernels.PLACE_COLUMNS * most, np.int64)
        state = np.zeros(4, np.int64)
        for part in parts:
            found = (node, pair_first, pairs, as_place, places, state)
            _check(self._kernels.find_nodes(*part, use, needed, lat, lon, *found))
        size, last, first, num_places = state.tolist()
        columns = self._kernels.PLACE_COLUMNS
        named = places[: columns * num_places].reshape(num_places, columns).tolist()

        number, combinations = self._alike(pair_first[: size + 1], pairs, strings)
        meanings = [self._meanings.node(combination) for combination in combinations]
        nonsense = Counter[str]()
        for meaning, count in zip(meanings, np.bincount(number).tolist(), strict=True):
            for key in meaning.nonsense:
                nonsense[key] += count
        matters = np.array([m.blocked or m.seconds > 0 or m.obstacle is not None for m in meanings], np.bool_)
        at = np.flatnonzero(matters[number])
        met = [(key, meanings[i]) for key, i in zip(node[at].tolist(), number[at].tolist(), strict=True)]
        return _Nodes(
            kinds=block.kinds,
            first=first,
            last=last,
            blocked=[key for key, meaning in met if meaning.blocked],
            slow=[(key, meaning.seconds) for key, meaning in met if not meaning.blocked and meaning.seconds],
            obstacles=[(key, meaning.obstacle) for key, meaning in met if meaning.obstacle is not None],
            nonsense=nonsense,
            places=[
                raw_place(y, x, kind, strings[name], "" if people < 0 else strings[people])
                for y, x, kind, name, people in named
            ],
        )

    def _alike(self, first: Ints, pairs: Ints, strings: list[str]) -> tuple[Ints, list[Combination]]:
        """Return the number of each object's combination of tags, and all combinations."""
        size = len(first) - 1
        number, example = np.empty(size, np.int64), np.empty(size, np.int64)
        table = np.full(1 << (2 * size).bit_length(), -1, np.int64)
        count = self._kernels.number_alike(first, pairs, table, number, example)
        bits = self._kernels.VALUE_BITS
        combinations = []
        for i in example[:count].tolist():
            tags = pairs[first[i] : first[i + 1]].tolist()
            combinations.append(tuple(strings[at] for tag in tags for at in (tag >> bits, tag & (1 << bits) - 1)))
        return number, combinations

    def _read_relations(self, blobs: list[Blob], nonsense: Counter[str]) -> None:
        """Read the turn restrictions of blobs, the first of which is the file's header."""
        parts = self._bytes_of(blobs if self._turns is not None else blobs[:1])
        try:
            for item in relations_of(parts, self._relation_keys):
                assert self._turns is not None
                members = members_of(item, nonsense)
                self._turns.add_relation(tags_of(item, nonsense), members)
        except RuntimeError as error:
            raise UnusualError("unusual relations") from error

    def _read_areas(self, blobs: list[Blob]) -> list[ShapeRelation]:
        """Read the areas of blobs, the first of which is the file's header."""
        try:
            found = [shape_relation(item) for item in relations_tagged(self._bytes_of(blobs), [r[:2] for r in RULES])]
        except RuntimeError as error:
            raise UnusualError("unusual relations") from error
        return [one for one in found if one is not None]

    def _bytes_of(self, blobs: list[Blob]) -> bytes:
        parts = []
        with self._source.open("rb") as stream:
            for blob in blobs:
                stream.seek(blob.start)
                parts.append(stream.read(blob.end - blob.start))
        return b"".join(parts)


def _uses(compiled: Any, kept: frozenset[str], wanted: tuple[str, ...]) -> dict[str, int]:
    """Return the use of each key; see `vkssp.osm.kernels.blocks`."""
    return {key: (key in kept) * compiled.KEPT | (key in wanted) * compiled.WANTED for key in kept.union(wanted)}


def _check(result: int) -> None:
    if result < 0:
        raise UnusualError("unusual or damaged objects")


def _joined(arrays: list[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _places(ordered: Ints, values: Ints) -> npt.NDArray[Any]:
    """Return the index of each value among distinct ones."""
    parts = np.array_split(values, max(1, min(4 * num_cores(), len(values) >> 16)))
    dtype = np.int32 if len(ordered) < 2**31 else np.int64

    def find(part: Ints) -> npt.NDArray[Any]:
        return np.searchsorted(ordered, part).astype(dtype)

    return _joined(run_all([partial(find, part) for part in parts]), dtype)
