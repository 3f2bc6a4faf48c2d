"""Reader of the objects of an OpenStreetMap extract; the file name gives the format, failures are `FormatError`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import osmium
from osmium.osm import NODE, RELATION, WAY

from vkssp.checks import no_file
from vkssp.errors import FormatError
from vkssp.memory import require, require_addresses
from vkssp.osm.pbf import has_zeros
from vkssp.osm.position import ReadPosition
from vkssp.osm.ways import Tags
from vkssp.terminal import progress_bar

#: File name endings, with pyosmium's names of the formats.
_FORMATS = {
    ".pbf": "pbf",
    ".osm": "osm",
    ".osm.xml": "osm",
    ".osm.gz": "osm.gz",
    ".osm.xml.gz": "osm.gz",
    ".osm.bz2": "osm.bz2",
    ".osm.xml.bz2": "osm.bz2",
}

#: Endings of files of histories and of changes, which are recognized and refused.
_SEVERAL_VERSIONS = (".osh", ".osc")

#: Lower bound of the memory for the locations of all nodes (16 bytes each), as a multiple of a .osm.pbf file's size.
_INDEX_SHARE = 2.0

#: Address space in bytes that pyosmium takes for its buffers, and per core. With less, pyosmium ends the process.
_READER_ADDRESSES, _THREAD_ADDRESSES = 64 << 20, 10 << 20

#: The coordinate that pyosmium gives a node that the file does not hold.
UNKNOWN = 2**31 - 1

#: Size in bytes from which a file's progress bar is shown from the start, and objects between its steps.
_LARGE, _OBJECTS_AT_ONCE = 1 << 20, 1 << 6

_NOT_UTF8 = "text that is not UTF-8"

#: A way after two nodes in the wrong order. Nodes with negative ids are not stored.
_UNSORTED = b'<osm version="0.6"><node id="-2"/><node id="-1"/><way id="1"/></osm>'


def is_extract(path: str | Path) -> bool:
    """Return whether a file is named like an OpenStreetMap extract, such as ``iceland.osm.pbf``."""
    return _format_of(path) is not None or _has_several_versions(path)


def _format_of(path: str | Path) -> str | None:
    name = Path(path).name.lower()
    return next((kind for ending, kind in _FORMATS.items() if name.endswith(ending)), None)


def _has_several_versions(path: str | Path) -> bool:
    """Return whether a file is named like a history or a file of changes, such as ``iceland.osh.pbf``."""
    name = Path(path).name.lower().removesuffix(".xml").removesuffix(".pbf")
    return name.removesuffix(".gz").removesuffix(".bz2").endswith(_SEVERAL_VERSIONS)


class Extract:
    """Iterable of the ways, nodes and relations of a file with certain tags, in file order; it can be used once.

    Parameters
    ----------
    source : Path
        The file.
    way_keys, node_keys : tuple of str
        Keys of the tags that matter. Ways and nodes with none of these tags are left out by C++ code, at no cost.
    relation_keys : tuple of str
        The same for relations. Without keys, relations are not read.
    progress : bool
        Whether to show a progress bar on stderr while the file is read: at once if it is large, else after a second.

    Attributes
    ----------
    is_pbf : bool
        Whether the file is named like a .osm.pbf file.

    Raises
    ------
    FormatError
        If the file is missing or not named like an extract; while iterating, if the file is not an extract, is
        truncated or damaged, or holds several versions of its objects.
    MemoryShortageError
        If the file is too large for this machine.
    """

    def __init__(
        self,
        source: Path,
        way_keys: tuple[str, ...],
        node_keys: tuple[str, ...],
        relation_keys: tuple[str, ...] = (),
        *,
        progress: bool = False,
    ) -> None:
        kind = _format_of(source)
        if _has_several_versions(source):
            raise _several_versions(source)
        if kind is None:
            endings = ", ".join(_FORMATS)
            raise FormatError(f"{source} is not named like an OpenStreetMap extract, which end in {endings}")
        if not source.exists():
            raise no_file(source)
        if not source.is_file():
            raise FormatError(f"{source} is not a file; give the path of an extract")
        self._source, self._kind, self.is_pbf, self._progress = source, kind, kind == "pbf", progress
        require_addresses(_READER_ADDRESSES + (os.cpu_count() or 1) * _THREAD_ADDRESSES, f"reading {source}")
        if self.is_pbf:
            size = source.stat().st_size
            require(_INDEX_SHARE * size, f"{source}: an extract of {size / 2**30:.1f} GiB")
        kinds = NODE | WAY | RELATION if relation_keys else NODE | WAY
        self._processor = osmium.FileProcessor(osmium.io.File(str(source), kind), kinds).with_locations()
        for entity, keys in ((WAY, way_keys), (NODE, node_keys), (RELATION, relation_keys)):
            if not keys:
                continue
            wanted = osmium.filter.KeyFilter(*keys)
            wanted.enable_for(entity)
            self._processor.with_filter(wanted)

    def __iter__(self) -> Iterator[Any]:
        """Yield pyosmium's objects; each is valid until the next one is yielded."""
        # The try blocks hold only calls of pyosmium, so that an error in this code is not reported as a bad file.
        try:
            history = self._processor.header.has_multiple_object_versions
            objects = iter(self._processor)
        except (RuntimeError, OSError, UnicodeDecodeError) as error:  # the last for a name in the header
            raise self._unreadable(error) from error
        if history:
            raise _several_versions(self._source)
        if self.is_pbf and has_zeros(self._source):
            raise self._unreadable(ValueError("a zero within a text"))
        yield from self._readable(objects)

    def tagged(self, tags: Iterable[tuple[str, str]]) -> Iterator[Any]:
        """Yield the objects with any of some tags, by reading the file again."""
        yield from self._again(NODE | WAY | RELATION, osmium.filter.TagFilter(*tags))

    def ways(self, ids: list[int]) -> Iterator[Any]:
        """Yield the ways with some ids, by reading the file again."""
        yield from self._again(WAY, osmium.filter.IdFilter(ids))

    def _again(self, kinds: Any, wanted: Any) -> Iterator[Any]:
        try:
            file = osmium.io.File(str(self._source), self._kind)
            objects = iter(osmium.FileProcessor(file, kinds).with_filter(wanted))
        except (RuntimeError, OSError) as error:
            raise self._unreadable(error) from error
        yield from self._readable(objects)

    def _readable(self, objects: Iterator[Any]) -> Iterator[Any]:
        """Yield objects that are still to be read from the file."""
        if not self._progress:
            yield from self._checked(objects)
            return
        position, told = ReadPosition(self._source), 0
        # No Python code runs while pyosmium looks for the next object that matters, so the bar cannot be drawn then.
        delay = 0.0 if position.size >= _LARGE else 1.0
        title, settings = f"Reading {self._source.name}", {"unit": "B", "unit_scale": True, "delay": delay}
        with progress_bar(None, title, shown=True, total=position.size, **settings) as bar:
            for number, item in enumerate(self._checked(objects)):
                if number % _OBJECTS_AT_ONCE == 0:
                    told, before = position.bytes_read(), told
                    bar.update(told - before)
                yield item
            bar.update(position.size - told)

    def _checked(self, objects: Iterator[Any]) -> Iterator[Any]:
        while True:
            try:
                item = next(objects)
            except StopIteration:
                return
            # Invalid values in XML, such as lat="abc", raise one of the last two.
            except (RuntimeError, OSError, ValueError, osmium.InvalidLocationError) as error:
                raise self._unreadable(error) from error
            if not getattr(item, "deleted", False):
                yield item

    def locations(self, nodes: Iterable[int]) -> Iterator[Any | None]:
        """Yield the location of each node, or None if the part of the file read so far does not hold the node."""
        storage = self._processor.node_location_storage
        assert storage is not None
        # The storage finds nodes by bisection, but sorts them only when it handles a way, so that nodes after the
        # last way are not sorted yet. The unsorted nodes and the way of _UNSORTED make it sort.
        with osmium.io.Reader(osmium.io.FileBuffer(_UNSORTED, "osm")) as reader:
            osmium.apply(reader, osmium.NodeLocationsForWays(storage))
        for node in nodes:
            try:
                yield storage.get(node)
            except KeyError:
                yield None

    def _unreadable(self, error: Exception) -> FormatError:
        reason = " ".join(str(error).split())
        if "blobs not supported" in reason:
            return FormatError(
                f"{self._source} is compressed in a way that cannot be read here ({reason}); write it anew by "
                "'osmium cat -f pbf,pbf_compression=zlib'"
            )
        return FormatError(f"{self._source} is no OpenStreetMap extract, or a truncated one ({reason}); get it again")


def _several_versions(source: Path) -> FormatError:
    return FormatError(
        f"{source} holds the history of a map, or changes to one; cut one moment out of a history with "
        "'osmium time-filter', and apply changes to a map with 'osmium apply-changes'"
    )


def has_several_versions(header: bytes) -> bool:
    """Return whether a file holds several versions of its objects, by the first blob of a .osm.pbf file.

    Raises
    ------
    RuntimeError
        If the blob is damaged.
    """
    processor = osmium.FileProcessor(osmium.io.FileBuffer(header, "pbf"), RELATION)
    return bool(processor.header.has_multiple_object_versions)


def tags_of(item: Any, nonsense: Counter[str]) -> Tags:
    """Return the tags of an object; if some are not UTF-8, count that."""
    try:
        return dict(item.tags)
    except UnicodeDecodeError:
        nonsense[_NOT_UTF8] += 1
        return BrokenTags(item)


def members_of(item: Any, nonsense: Counter[str]) -> list[tuple[str, str, int]]:
    """Return role, type and id of the members of a relation; none if a role is not UTF-8, and count that."""
    try:
        return [(member.role, member.type, member.ref) for member in item.members]
    except UnicodeDecodeError:  # the relation counts as broken
        nonsense[_NOT_UTF8] += 1
        return []


class BrokenTags(Mapping[str, str]):
    """Tags of an object, some of which are not UTF-8; invalid bytes are replaced by U+FFFD.

    pyosmium cannot iterate past a broken tag, but finds every tag by its key.
    """

    def __init__(self, item: Any) -> None:
        self._tags = item.tags

    def __getitem__(self, key: str) -> str:
        """Return the value of a tag."""
        try:
            return str(self._tags[key])
        except UnicodeDecodeError as error:
            return error.object.decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        """Yield the keys before the first broken tag."""
        try:
            for tag in self._tags:
                yield tag.k
        except UnicodeDecodeError:
            return

    def __len__(self) -> int:
        """Return the number of tags, including broken ones."""
        return len(self._tags)
