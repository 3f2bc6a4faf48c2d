"""Reader of sorted .osm.pbf files on all cores, by compiled code.

The blobs of a file are independent. In a sorted file, those with nodes come first, then those with ways, and then those
with relations. Relations are read first, then ways, and then nodes, of which only the coordinates of those in ways are
kept. Threads unpack and decode blobs (`vkssp.osm.kernels.blocks`), and what they find is joined in the order of the
file, so that the result is the same on any number of cores, and the same as that of `vkssp.osm.reader`.

Nearly all extracts are sorted and hold nothing unusual. All others, and all damaged ones, are left to pyosmium, which
reads everything, and names the damage.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct
from vkssp.cores import beside, num_cores, run_ahead, run_all
from vkssp.graph.bulk import joined
from vkssp.jit import kernels
from vkssp.memory import free_addresses, give_back, require
from vkssp.osm.extract import UNKNOWN, has_several_versions
from vkssp.osm.guide import Guide
from vkssp.osm.meanings import Combination, Meanings, WantedKeys, WayMeaning
from vkssp.osm.pbf import MOST_BLOB, Blob, UnusualError, fields, find_blobs
from vkssp.osm.profile import Profile
from vkssp.osm.raw_basemap import AREAS, KIND_OF_PLACE, RULES, RawBasemap, RawPlace, ShapeRelations, raw_place
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads, flag_columns
from vkssp.osm.room import Room
from vkssp.osm.turn_tags import Obstacle, TurnCollector
from vkssp.terminal import progress_bar

Ints = npt.NDArray[np.int64]

_FEATURES = {b"OsmSchema-V0.6", b"DenseNodes"}
#: Bytes of packed blobs that a thread reads at once; more of large files, whose parts have more words in common.
BYTES_AT_ONCE = 1 << 19
_MOST_BYTES_AT_ONCE, _BATCHES = 3 << 19, 1 << 9
# Different words for which there is room at first.
_MOST_WORDS = 1 << 12
# Bytes of a way and of a tag, at least.
_WAY_BYTES, _TAG_BYTES = 4, 2
# Points whose places a thread looks up at once.
_POINTS_AT_ONCE = 1 << 18
_NOTHING = np.zeros(0, np.int64)
# Bytes of memory for each reference of a way to a node.
_REFERENCE_BYTES = 44
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


class _Blocks:
    """Blocks of blobs that follow each other in a file.

    Attributes
    ----------
    arrays : vkssp.osm.kernels.blocks.Blocks
        The blocks as kernels take them.
    kinds : tuple of int
        Kinds of the first and the last group, 0 if there is none.
    most, total : int
        Bytes of the largest block, and of all.
    """

    def __init__(self, source: Path, blobs: list[Blob], room: Room) -> None:
        start, compiled = blobs[0].start, _kernels()
        data = room.array("packed", blobs[-1].end - start, np.uint8)
        with source.open("rb") as stream:
            stream.seek(start)
            if stream.readinto(data.data) != len(data):  # the file became shorter
                raise UnusualError("truncated")
        contents = np.array([bound - start for blob in blobs for bound in (blob.content, blob.end)], np.int64)
        sizes, tables, kinds = (np.zeros(size, np.int64) for size in (len(blobs), 2 * len(blobs), 2))
        _check(compiled.find_sizes(data, contents, sizes))
        self.most, self.total = int(sizes.max()), int(sizes.sum())
        first = np.concatenate([[0], np.cumsum(sizes)])
        blocks, of_inflate = (
            room.array("blocks", self.total, np.uint8),
            room.array("inflate", compiled.INFLATE_ROOM, np.int32),
        )
        _check(compiled.unpack_blobs(data, contents, blocks, first, of_inflate, tables, kinds))
        self.arrays, self.kinds = compiled.Blocks(blocks, first, tables), (int(kinds[0]), int(kinds[1]))


class _Words:
    """Texts with numbers, as kernels know them, and what is known about each."""

    def __init__(self, known: Mapping[str, Sequence[int]]) -> None:
        texts = [text.encode() for text in known]
        text = np.frombuffer(b"".join(one + b"\0" for one in texts), np.uint8)
        first = np.cumsum([0, *(len(one) + 1 for one in texts)], dtype=np.int64)
        slots = np.full(2 << (2 * len(texts)).bit_length(), -1, np.int32)
        _kernels().place_words(text, first, slots)
        about = np.array(list(known.values()), np.uint8).reshape(-1, 4)
        self.arrays = _kernels().Known(text, first, slots, about)


class _Found(NamedTuple):
    """What a kernel has found: its state, and the words."""

    state: list[int]
    words: list[str]


def _strings(blocks: _Blocks, room: Room) -> Any:
    """Return room for the strings of a block, as kernels take it."""
    most = blocks.most // _TAG_BYTES + 1
    place, about = room.array("strings", 3 * most), room.array("about", 4 * most, np.uint8)
    return _kernels().Strings(place.reshape(-1, 3), about.reshape(-1, 4))


def _read_by(kernel: Callable[..., int], blocks: _Blocks, known: _Words, room: Room, *others: Any) -> _Found:
    """Read blocks by a kernel, whose last arguments are others."""
    most_words, strings = _MOST_WORDS, _strings(blocks, room)
    while True:
        text = room.array("text", min(blocks.total, most_words << 6) + 1, np.uint8)
        first, slots = room.array("words", most_words + 1), room.array("slots", 2 * most_words, np.int32)
        slots.fill(-1)
        words, state = _kernels().Words(text, first, slots), np.zeros(_kernels().NUM_STATE, np.int64)
        result = kernel(blocks.arrays, known.arrays, strings, words, *others, state)
        if result != _kernels().FULL:
            break
        most_words *= 8
    _check(result)
    counts = state.tolist()
    num_words = counts[_kernels().NUM_WORDS]
    return _Found(counts, text[: first[num_words]].tobytes().decode().split("\0")[:num_words])


def _kernels(name: str = "blocks") -> Any:
    return kernels(f"vkssp.osm.kernels.{name}")


def _check(result: int) -> None:
    if result < 0:
        raise UnusualError("unusual or damaged objects")


class _Shapes(NamedTuple):
    """Ways of the basemap: their ids and the rules that they meet by turns, numbers of nodes, and ids of nodes."""

    way: Ints
    size: Ints
    node: Ints


class _Ways(NamedTuple):
    """Ways of some blobs: those that are wanted, and those of them that are used.

    Attributes
    ----------
    ends : tuple of int
        Ids of the first and the last way, and kinds of the first and the last group; 0 if there is none.
    read, meaning : numpy.ndarray
        Ids of the wanted ways, and numbers of what their tags mean.
    size, node : numpy.ndarray
        Numbers of nodes of the used ways, and the ids of these nodes.
    names : list of str
        Names and numbers of the used ways.
    name : numpy.ndarray
        Indices into `names` of each used way's name and number, by turns.
    shapes : _Shapes
        Ways of the basemap.
    needed : numpy.ndarray
        Ids of all these nodes, sorted.
    """

    ends: tuple[int, int, int, int]
    read: Ints
    meaning: npt.NDArray[np.int32]
    size: Ints
    node: Ints
    names: list[str]
    name: Ints
    shapes: _Shapes
    needed: Ints


class _Relations(NamedTuple):
    """Relations of some blobs.

    Attributes
    ----------
    areas : ShapeRelations
        Areas of the basemap.
    words : list of str
        Texts.
    pair_first, pair : numpy.ndarray
        The tags of each relation that may tell something about turns, as numbers of two words.
    member_first, member : numpy.ndarray
        Its members: number of the role, kind, and id.
    """

    areas: ShapeRelations
    words: list[str]
    pair_first: Ints
    pair: Ints
    member_first: Ints
    member: Ints


class _Nodes(NamedTuple):
    """Nodes of some blobs that the vehicle cannot pass, or that take time, and places; the rest is as in `_Ways`."""

    ends: tuple[int, int, int, int]
    blocked: list[int]
    slow: list[tuple[int, float]]
    obstacles: list[tuple[int, Obstacle]]
    nonsense: Counter[str]
    places: list[RawPlace]


_Read = TypeVar("_Read")
_Objects = TypeVar("_Objects", _Ways, _Nodes)


class _MeaningTable:
    """Meanings of the wanted ways of a file.

    Several threads may ask for numbers; which number a meaning has is arbitrary, and it may have two.
    """

    def __init__(self, meanings: Meanings) -> None:
        self._of = meanings
        self._numbers: dict[Combination, int] = {}
        self._next = count()
        self._meanings: dict[int, WayMeaning] = {}

    def number(self, combination: Combination) -> int:
        """Return a number for the meaning of a way's tags."""
        found = self._numbers.get(combination)
        if found is None:
            meaning, found = self._of.way(combination), next(self._next)
            self._meanings[found] = meaning
            self._numbers[combination] = found
        return found

    def is_used(self, number: int) -> bool:
        """Return whether the vehicle can use ways of a meaning."""
        return not self._meanings[number].skipped

    def columns(
        self, which: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.bool_], dict[str, npt.NDArray[Any]], tuple[Guide, ...], Counter[str], Counter[str]]:
        """Return which ways are used, arrays of `RawRoads` of those, what they tell, and counts of what is not used.

        The ways are given by the numbers of their meanings, in the order of the file. The counts are of tags that were
        not understood, by key, and of ways that are not used, by reason.
        """
        nonsense, skipped = Counter[str](), Counter[str]()
        meanings = [self._meanings[number] for number in range(len(self._meanings))]
        every, first, times = np.unique(which, return_index=True, return_counts=True)
        in_order = np.argsort(first)
        guides: dict[Guide, int] = {}
        guide = np.zeros(len(meanings), np.int64)
        for at, number in zip(every[in_order].tolist(), times[in_order].tolist(), strict=True):
            meaning = meanings[at]
            for key in meaning.nonsense:
                nonsense[key] += number
            if meaning.skipped:
                skipped[meaning.skipped] += number
            else:
                guide[at] = guides.setdefault(meaning.guide, len(guides))
        used = np.array([not meaning.skipped for meaning in meanings], np.bool_)[which]
        of_used = which[used]

        def column(values: list[Any], dtype: type, *shape: int) -> npt.NDArray[Any]:
            found: npt.NDArray[Any] = np.array(values, dtype).reshape(-1, *shape)[of_used]
            return found

        columns = {
            "speed": column([meaning.speed for meaning in meanings], np.float64, 2),
            "factor": column([meaning.factor for meaning in meanings], np.float64, 2),
            "travel": column([meaning.travel for meaning in meanings], np.int64, 5),
            "duration": column([meaning.duration for meaning in meanings], np.float64),
            **flag_columns(column([meaning.flags for meaning in meanings], np.bool_, 6)),
            "guide": guide[of_used],
        }
        return used, columns, tuple(guides), nonsense, skipped


class _Reading:
    """A file that is being read."""

    def __init__(
        self, source: Path, profile: Profile, keys: WantedKeys, turns: TurnCollector | None, basemap: bool
    ) -> None:
        self._source, self._turns = source, turns
        self._meanings = meanings = Meanings(profile, turns)
        self._room, self._bytes_at_once = Room(), BYTES_AT_ONCE
        self._table = _MeaningTable(meanings)
        self._kernels = compiled = _kernels()
        way_use, node_use = _uses(compiled, meanings.way_keys, keys.way), _uses(compiled, meanings.node_keys, keys.node)
        for use in (way_use, node_use):
            use[""] = use.get("", 0) | compiled.EMPTY
        for key, use in (("name", compiled.NAME), ("ref", compiled.REF)):
            way_use[key] = way_use.get(key, 0) | use
        self._basemap, self._members = basemap, _NOTHING
        as_key, as_value = Counter[str](), Counter[str]()
        as_place: dict[str, int] = {}
        if basemap:
            for at, (key, value, _) in enumerate(RULES):
                as_key[key] |= 1 << at
                as_value[value] |= 1 << at
            for key, use in (("name", compiled.NAME), ("place", compiled.PLACE), ("population", compiled.POPULATION)):
                node_use[key] = node_use.get(key, 0) | use
            as_place = {text: kind + 1 for text, kind in KIND_OF_PLACE.items()}
        self._of_relations = _words_of_relations(keys.relation, as_key, as_value)
        of_ways = {**way_use, **as_key, **as_value}
        self._of_ways = _Words({text: (way_use.get(text, 0), as_key[text], as_value[text], 0) for text in of_ways})
        of_nodes = {**node_use, **as_place}
        self._of_nodes = _Words({text: (node_use.get(text, 0), 0, 0, as_place.get(text, 0)) for text in of_nodes})

    def read(
        self, header: Blob, blobs: list[Blob], report: ImportReport, advance: Callable[[int], object]
    ) -> tuple[RawRoads, RawBasemap | None]:
        """Read all blobs; call a function with the number of bytes that have been read since its last call."""
        size = blobs[-1].end if blobs else 0
        self._bytes_at_once = max(BYTES_AT_ONCE, min(_MOST_BYTES_AT_ONCE, size // _BATCHES))
        first = self._first_with(self._kernels.WAYS, blobs)
        self._check_header(header)
        relations: list[_Relations] = []
        if self._basemap or self._turns is not None:
            after = self._first_with(self._kernels.RELATIONS, blobs[first:])
            reading = self._each(self._batches(blobs[first + after :]), self._read_relations)
            relations = [found for _, found in reading]
        areas = ShapeRelations.joined([found.areas for found in relations])
        self._members = distinct(areas.way)
        report.end_stage("reading relations")
        ways: list[_Ways] = []
        name: list[npt.NDArray[np.uint32]] = []
        names: dict[str, int] = {"": 0}
        for batch, found in self._in_order(self._each(self._batches(blobs[first:]), self._read_ways)):
            numbers = [names.setdefault(text, len(names)) for text in found.names]
            name.append(np.array([*numbers, 0], np.uint32)[found.name])
            ways.append(found._replace(names=[], name=_NOTHING))
            advance(batch[-1].end - batch[0].start)

        report.end_stage("reading ways")
        points = sum(len(one.node) + len(one.shapes.node) for one in ways)
        require(_REFERENCE_BYTES * points, f"{self._source}: streets and shapes with {points} points")
        # Memory of threads that becomes free is not used by others unless it is given back.
        needed = _merged([one.needed for one in ways])
        ways = [one._replace(needed=_NOTHING) for one in ways]
        give_back()
        node = joined([one.node for one in ways], np.int64)
        corner = joined([one.shapes.node for one in ways], np.int64)
        ways = [one._replace(node=_NOTHING, shapes=one.shapes._replace(node=_NOTHING)) for one in ways]
        give_back()
        report.end_stage("joining nodes")
        nonsense = Counter[str]()
        which = joined([one.meaning for one in ways], np.int32)
        # None of these tasks needs another's results, and most of the work for two of them is that of one core.
        with (
            beside(partial(self._add_relations, relations)) as add_relations,
            beside(partial(self._table.columns, which)) as columns_of_ways,
        ):
            lat, lon, nodes = self._read_all_nodes(blobs, first, needed, nonsense, advance)
            report.end_stage("reading nodes")
            used, columns, guides, nonsense_of_ways, skipped = columns_of_ways()
            nonsense.update(nonsense_of_ways)
            add_relations()
        report.end_stage("meanings and restrictions")

        read = joined([found.read for found in ways], np.int64)
        report.ways_read = len(read)
        report.nonsense = dict(nonsense.most_common())
        report.ways_skipped = dict(skipped.most_common())
        basemap = None
        look_up = _Places(needed, lat, lon)
        del needed, lat, lon
        if self._basemap:
            of_shapes = joined([one.shapes.way for one in ways], np.int64).reshape(-1, 2)
            y, x = look_up.coordinates(corner)
            basemap = RawBasemap(
                way=of_shapes[:, 0],
                rules=of_shapes[:, 1],
                first=np.concatenate([[0], np.cumsum(joined([one.shapes.size for one in ways], np.int64))]),
                node=corner,
                lat=y,
                lon=x,
                relations=areas,
                places=tuple(nodes.places),
            )
        place, lat, lon = look_up(node)
        del look_up
        report.missing_nodes = len(np.unique(node[lat == UNKNOWN]))
        numbered = joined(name, np.uint32).reshape(-1, 2)
        roads = RawRoads(
            node=node,
            lat=lat,
            lon=lon,
            known=lat != UNKNOWN,
            place=place,
            first=np.concatenate([[0], np.cumsum(joined([found.size for found in ways], np.int64))]),
            way=read[used],
            class_names=self._meanings.class_names,
            name=numbered[:, 0],
            names=tuple(names),
            ref=numbered[:, 1],
            blocked=np.array(nodes.blocked, np.int64),
            slow=np.array([key for key, _ in nodes.slow], np.int64),
            slow_seconds=np.array([seconds for _, seconds in nodes.slow], np.float64),
            turns=None if self._turns is None else self._turns.finish(read[~used]),
            guides=guides,
            **columns,
        )
        report.end_stage("places of nodes")
        return roads, basemap

    def _read_all_nodes(
        self, blobs: list[Blob], first: int, needed: Ints, nonsense: Counter[str], advance: Callable[[int], object]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], _Nodes]:
        """Return the coordinates of the nodes that ways need, and what the others tell.

        Parameters
        ----------
        blobs : list of Blob
            The blobs of the file.
        first : int
            Index of the first blob with ways, which may begin with nodes.
        needed : numpy.ndarray
            Ids of the nodes, sorted.
        nonsense : Counter of str
            Receives the counts of what was not understood.
        advance : callable
            As for `read`.
        """
        lat, lon = (np.full(len(needed), UNKNOWN, np.int32) for _ in range(2))
        every = _Nodes((0, 0, 0, 0), [], [], [], nonsense, [])
        shared = [blobs[first : first + 1]] if first < len(blobs) else []
        reading = self._each(self._batches(blobs[:first]) + shared, partial(self._read_nodes, needed, lat, lon))
        for batch, met in self._in_order(reading):
            if batch not in shared:
                if met.ends[3] not in (0, self._kernels.DENSE):
                    raise UnusualError("unsorted")
                advance(batch[-1].end - batch[0].start)
            every.blocked.extend(met.blocked)
            every.slow.extend(met.slow)
            every.places.extend(met.places)
            nonsense.update(met.nonsense)
            if self._turns is not None:
                for key, obstacle in met.obstacles:
                    self._turns.add_obstacle(key, obstacle)
        return lat, lon, every

    @staticmethod
    def _in_order(reading: Iterable[tuple[list[Blob], _Objects]]) -> Iterator[tuple[list[Blob], _Objects]]:
        """Yield what is read; raise `UnusualError` unless kinds and ids ascend."""
        kind = last = 0
        for batch, found in reading:
            first_id, last_id, first_kind, last_kind = found.ends
            if 0 < first_kind < kind or 0 < first_id <= last:
                raise UnusualError("unsorted")
            kind, last = max(kind, last_kind), max(last, last_id)
            yield batch, found

    def _first_with(self, kind: int, blobs: list[Blob]) -> int:
        """Return the index of the first blob with objects of a kind or a later one, if the file is sorted."""
        low, high = 0, len(blobs)
        while low < high:
            middle = (low + high) // 2
            last = _Blocks(self._source, [blobs[middle]], self._room).kinds[1]
            if last == 0:  # it says nothing about those before it
                raise UnusualError("a block without objects")
            if last >= kind:
                high = middle
            else:
                low = middle + 1
        return low

    def _batches(self, blobs: list[Blob]) -> list[list[Blob]]:
        """Divide blobs into some that follow each other and are read at once."""
        found: list[list[Blob]] = []
        for blob in blobs:
            if found and blob.end - found[-1][0].start <= self._bytes_at_once:
                found[-1].append(blob)
            else:
                found.append([blob])
        return found

    @staticmethod
    def _each(batches: list[list[Blob]], read: Callable[[list[Blob]], _Read]) -> Iterator[tuple[list[Blob], _Read]]:
        """Yield blobs and what is read of them, in order, while threads read the next ones."""
        return zip(batches, run_ahead((partial(read, batch) for batch in batches), 2 * num_cores()), strict=True)

    def _ends(self, blocks: _Blocks, found: _Found) -> tuple[int, int, int, int]:
        return found.state[self._kernels.FIRST_ID], found.state[self._kernels.LAST_ID], *blocks.kinds

    def _read_ways(self, blobs: list[Blob]) -> _Ways:
        blocks, array = _Blocks(self._source, blobs, self._room), self._room.array
        compiled = _kernels("ways")
        most_ways, most_tags = blocks.total // _WAY_BYTES + 1, blocks.total // _TAG_BYTES + 1
        way, names, pairs = array("way", most_ways), array("names", 2 * most_ways), array("pairs", most_tags)
        refs, shape_refs = array("refs", blocks.total), array("shape_refs", blocks.total)
        pair_first, ref_first, shape_first = (
            array(name, most_ways + 1) for name in ("pair_first", "ref_first", "shape_first")
        )
        shape = array("shape", 2 * most_ways)
        of_ways = compiled.WayLists(way, names, pair_first, pairs, ref_first, refs)
        of_shapes = compiled.ShapeLists(self._members, shape, shape_first, shape_refs)
        others = of_ways, of_shapes
        found = _read_by(compiled.read_ways, blocks, self._of_ways, self._room, *others)
        size, num_shapes = found.state[self._kernels.SIZE], found.state[self._kernels.SHAPES]

        number, combinations = self._alike(pair_first[: size + 1], pairs, found.words)
        meanings = list(map(self._table.number, combinations))
        used = np.array(list(map(self._table.is_used, meanings)), np.bool_)[number]
        num_refs = np.diff(ref_first[: size + 1])
        name = names[: 2 * size].reshape(-1, 2)[used].reshape(-1)
        # The last one stands for a name that a way does not have.
        name[name < 0] = len(found.words)
        at = np.empty(min(len(name), len(found.words) + 1), np.int64)
        num_names = _kernels("alike").number_in_order(name, np.full(len(found.words) + 1, -1, np.int64), at)
        texts = [*found.words, ""]
        node = refs[: ref_first[size]][np.repeat(used, num_refs)]
        corner = shape_refs[: shape_first[num_shapes]].copy()
        return _Ways(
            ends=self._ends(blocks, found),
            read=way[:size].copy(),
            meaning=np.array(meanings, np.int32)[number],
            size=num_refs[used],
            node=node,
            names=[texts[i] for i in at[:num_names].tolist()],
            name=name,
            shapes=_Shapes(
                way=shape[: 2 * num_shapes].copy(), size=np.diff(shape_first[: num_shapes + 1]), node=corner
            ),
            needed=distinct(np.concatenate([node, corner])),
        )

    def _read_nodes(
        self, needed: Ints, lat: npt.NDArray[np.int32], lon: npt.NDArray[np.int32], blobs: list[Blob]
    ) -> _Nodes:
        blocks, array = _Blocks(self._source, blobs, self._room), self._room.array
        most = blocks.total // _TAG_BYTES + 1
        node, pair_first, pairs = array("node", most), array("pair_first", most + 1), array("pairs", most)
        places = array("places", self._kernels.PLACE_COLUMNS * most)
        compiled = _kernels("nodes")
        of_nodes = compiled.NodeLists(node, pair_first, pairs, places)
        others = compiled.Needed(needed, lat, lon), of_nodes, np.empty(compiled.NUM_COLUMNS, np.int64)
        found = _read_by(compiled.read_nodes, blocks, self._of_nodes, self._room, *others)
        size, num_places = found.state[self._kernels.SIZE], found.state[self._kernels.SHAPES]
        per_place = self._kernels.PLACE_COLUMNS
        named = places[: per_place * num_places].reshape(num_places, per_place).tolist()

        number, combinations = self._alike(pair_first[: size + 1], pairs, found.words)
        meanings = [self._meanings.node(combination) for combination in combinations]
        nonsense = Counter[str]()
        for meaning, times in zip(meanings, np.bincount(number).tolist(), strict=True):
            for key in meaning.nonsense:
                nonsense[key] += times
        matters = np.array([m.blocked or m.seconds > 0 or m.obstacle is not None for m in meanings], np.bool_)
        at = np.flatnonzero(matters[number])
        met = [(key, meanings[i]) for key, i in zip(node[at].tolist(), number[at].tolist(), strict=True)]
        return _Nodes(
            ends=self._ends(blocks, found),
            blocked=[key for key, meaning in met if meaning.blocked],
            slow=[(key, meaning.seconds) for key, meaning in met if not meaning.blocked and meaning.seconds],
            obstacles=[(key, meaning.obstacle) for key, meaning in met if meaning.obstacle is not None],
            nonsense=nonsense,
            places=[
                raw_place(y, x, kind, found.words[name], "" if people < 0 else found.words[people])
                for y, x, kind, name, people in named
            ],
        )

    def _alike(self, first: Ints, pairs: Ints, words: list[str]) -> tuple[Ints, list[Combination]]:
        """Return the number of each object's combination of tags, and all combinations."""
        size = len(first) - 1
        number, example = np.empty(size, np.int64), self._room.array("example", size)
        table = self._room.array("table", 1 << (2 * size).bit_length())
        table.fill(-1)
        count = _kernels("alike").number_alike(first, pairs, table, number, example)
        bits = self._kernels.VALUE_BITS
        combinations = []
        for i in example[:count].tolist():
            tags = pairs[first[i] : first[i + 1]].tolist()
            combinations.append(tuple(words[at] for tag in tags for at in (tag >> bits, tag & (1 << bits) - 1)))
        return number, combinations

    def _check_header(self, header: Blob) -> None:
        """Raise `UnusualError` if a file holds several versions of its objects."""
        with self._source.open("rb") as stream:
            stream.seek(header.start)
            content = stream.read(header.end - header.start)
        try:
            has_several = has_several_versions(content)
        except RuntimeError as error:
            raise UnusualError("unusual header") from error
        if has_several:
            raise UnusualError("several versions")

    def _read_relations(self, blobs: list[Blob]) -> _Relations:
        blocks, array, compiled = _Blocks(self._source, blobs, self._room), self._room.array, _kernels("relations")
        most = blocks.total // _TAG_BYTES + 1
        rules, area_first, way = (array(name, most + 1) for name in ("rules", "area_first", "area_way"))
        areas = compiled.AreaLists(rules, area_first, way, array("is_inner", most, np.bool_))
        pair_first, pair, member_first = (array(name, most + 1) for name in ("pair_first", "pairs", "member_first"))
        member = array("member", compiled.MEMBER_COLUMNS * most)
        relations = compiled.RelationLists(pair_first, pair, member_first, member)
        others = areas, relations
        found = _read_by(compiled.read_relations, blocks, self._of_relations, self._room, *others)
        size, num_areas = found.state[self._kernels.SIZE], found.state[self._kernels.SHAPES]
        last = int(area_first[num_areas])
        of_areas = rules[:num_areas], area_first[: num_areas + 1], way[:last], areas.is_inner[:last]
        lists = pair_first[: size + 1], pair[: pair_first[size]], member_first[: size + 1]
        members = member[: compiled.MEMBER_COLUMNS * int(member_first[size])].reshape(-1, compiled.MEMBER_COLUMNS)
        return _Relations(
            ShapeRelations(*(values.copy() for values in of_areas)),
            found.words,
            *(values.copy() for values in (*lists, members)),
        )

    def _add_relations(self, relations: list[_Relations]) -> None:
        """Collect the turn restrictions and manoeuvres of relations."""
        if self._turns is None:
            return
        bits = self._kernels.VALUE_BITS
        for found in relations:
            words, pairs, members = found.words, found.pair.tolist(), found.member.tolist()
            bounds = zip(pairwise(found.pair_first.tolist()), pairwise(found.member_first.tolist()), strict=True)
            for (low, high), (begin, end) in bounds:
                tags = {words[pair >> bits]: words[pair & (1 << bits) - 1] for pair in pairs[low:high]}
                of_relation = [(words[role], "nwr"[kind], key) for role, kind, key in members[begin:end]]
                self._turns.add_relation(tags, of_relation)


def _words_of_relations(keys: tuple[str, ...], as_key: Counter[str], as_value: Counter[str]) -> _Words:
    """Return what is known of strings of relations, of which some with some keys are wanted.

    The rules of ways that each string is a key of, or a value, are given.
    """
    compiled = _kernels("relations")
    uses = dict.fromkeys(keys, _kernels().WANTED)
    uses["type"] = uses.get("type", 0) | compiled.TYPE
    kinds = {"multipolygon": compiled.MULTIPOLYGON, "inner": compiled.INNER}
    return _Words(
        {
            text: (uses.get(text, 0), as_key[text] & AREAS, as_value[text] & AREAS, kinds.get(text, 0))
            for text in {**as_key, **as_value, **uses, **kinds}
        }
    )


def _uses(compiled: Any, kept: frozenset[str], wanted: tuple[str, ...]) -> dict[str, int]:
    """Return the use of each key; see `vkssp.osm.kernels.blocks`."""
    return {key: (key in kept) * compiled.KEPT | (key in wanted) * compiled.WANTED for key in kept.union(wanted)}


def _merged(parts: list[Ints]) -> Ints:
    """Return the distinct values of sorted arrays, sorted."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return _NOTHING
    # Ranges of values with about the same number of values in each.
    sample = np.sort(np.concatenate([part[:: max(1, len(part) // 256)] for part in filled]))
    number = max(1, sum(map(len, filled)) // _POINTS_AT_ONCE)
    bounds = distinct(sample[np.arange(1, number) * len(sample) // number])
    cuts = [np.searchsorted(part, bounds) for part in filled]

    def merge(at: int) -> Ints:
        low = [0 if at == 0 else int(cut[at - 1]) for cut in cuts]
        high = [len(part) if at == len(bounds) else int(cut[at]) for part, cut in zip(filled, cuts, strict=True)]
        return distinct(np.concatenate([part[a:b] for part, a, b in zip(filled, low, high, strict=True)]))

    return joined(run_all([partial(merge, at) for at in range(len(bounds) + 1)]), np.int64)


class _Places:
    """Places of ids among distinct, sorted ones, and the coordinates there.

    Parameters
    ----------
    ordered : numpy.ndarray
        The ids.
    lat, lon : numpy.ndarray
        Their coordinates.
    """

    def __init__(self, ordered: Ints, lat: npt.NDArray[np.int32], lon: npt.NDArray[np.int32]) -> None:
        self._ordered, self._lat, self._lon = ordered, lat, lon
        self._kernels = kernels("vkssp.osm.kernels.places")
        span = int(ordered[-1] - ordered[0]) if len(ordered) else 0
        self._shift = max(0, span.bit_length() - (len(ordered) // 2).bit_length())
        self._dtype: type = np.int32 if len(ordered) < 2**31 else np.int64
        self._starts = np.empty((span >> self._shift) + 2, self._dtype)
        parts = [(low, min(len(ordered), low + _POINTS_AT_ONCE)) for low in range(0, len(ordered), _POINTS_AT_ONCE)]
        run_all([partial(self._kernels.find_starts, ordered, *part, self._shift, self._starts) for part in parts])

    def __call__(self, values: Ints) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the index of each of some values, and its coordinates; all values are among the ids."""
        place: npt.NDArray[Any] = np.empty(len(values), self._dtype)
        return place, *self._find(values, lambda some: place[some])

    def coordinates(self, values: Ints) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the coordinates of each of some values."""
        return self._find(values, lambda some: np.empty(some.stop - some.start, self._dtype))

    def _find(
        self, values: Ints, place_of: Callable[[slice], npt.NDArray[Any]]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        y, x = np.empty(len(values), np.int32), np.empty(len(values), np.int32)

        def find(at: int) -> None:
            some = slice(at, min(len(values), at + _POINTS_AT_ONCE))
            arrays = self._ordered, self._shift, self._starts, self._lat, self._lon, place_of(some), y[some], x[some]
            self._kernels.find_places(values[some], *arrays)

        run_all([partial(find, at) for at in range(0, len(values), _POINTS_AT_ONCE)])
        return y, x
