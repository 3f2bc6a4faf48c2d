"""What has to be looked at in a .osm.pbf file before libosmium reads it: zeros within strings.

libosmium ends strings with zeros and goes from tag to tag by them. Where one holds a zero, it walks on beyond the last
tag, and into memory that is not its own. No tag can hold one, so a file with such a string is a damaged one, though its
checksums may be right: whoever wrote it made the damage.

A file is a sequence of blobs, most of them compressed by zlib; each has a table of its strings, which nearly always
comes first, so that little has to be unpacked (https://wiki.openstreetmap.org/wiki/PBF_Format).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

#: Bytes that are unpacked to see how long a table is; most are shorter.
_BEGINNING = 1 << 13
#: Largest header of a blob, and the largest blob.
_MOST_HEADER, _MOST_BLOB = 1 << 16, 1 << 25


def has_zeros(path: Path) -> bool:
    """Return whether a string in a .osm.pbf file holds a zero; what is damaged otherwise is not looked at."""
    try:
        return any(_holds_zero(table) for blob in _blobs(path) for table in _string_tables(blob))
    except (ValueError, struct.error, zlib.error):  # libosmium has better words for these
        return False


def _blobs(path: Path) -> Iterator[bytes]:
    """Yield the blobs that hold objects."""
    with path.open("rb") as stream:
        while size := stream.read(4):
            header_size = struct.unpack(">I", size)[0]
            if header_size > _MOST_HEADER:
                return
            header = stream.read(header_size)
            kind, blob_size = b"", 0
            for field, begin, end in _fields(header):
                if field == 1:
                    kind = header[begin:end]
                elif field == 3:
                    blob_size = begin
            if blob_size > _MOST_BLOB:
                return
            blob = stream.read(blob_size)
            if kind == b"OSMData":
                yield blob


def _string_tables(blob: bytes) -> Iterator[bytes]:
    """Yield the tables of strings of a blob; there should be one."""
    for field, begin, end in _fields(blob):
        if field == 1:
            block = blob[begin:end]
        elif field == 3:
            block = _unpacked(blob[begin:end])
        else:
            continue
        yield from (block[a:b] for name, a, b in _fields(block) if name == 1)


def _unpacked(data: bytes) -> bytes:
    """Return the beginning of a block up to the end of its table of strings, or all of it if that is not there."""
    packed = zlib.decompressobj()
    block = packed.decompress(data, _BEGINNING)
    field, _, end = next(_fields(block), (0, 0, 0))
    if field != 1 or end > _MOST_BLOB:
        end = _MOST_BLOB
    return block[:end] if end <= len(block) else block + packed.decompress(packed.unconsumed_tail, end - len(block))


def _holds_zero(table: bytes) -> bool:
    # A string of no length has a zero for that, so that most tables have one.
    return 0 in table and any(0 in table[begin:end] for _, begin, end in _fields(table))


def _fields(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each field of a message, and where its bytes begin and end, or its value twice.

    Raises
    ------
    ValueError
        If it is damaged.
    """
    at, size = 0, len(message)

    def number(at: int) -> tuple[int, int]:
        value = shift = 0
        while at < size and shift < 64:
            byte = message[at]
            value |= (byte & 127) << shift
            at += 1
            if byte < 128:
                return value, at
            shift += 7
        raise ValueError("damaged")

    while at < size:
        tag, at = number(at)
        kind = tag & 7
        if kind in (1, 5):  # of fixed size
            at += 8 if kind == 1 else 4
            yield tag >> 3, 0, 0
            continue
        value, at = number(at)
        if kind == 2:
            yield tag >> 3, at, at + value
            at += value
        else:
            yield tag >> 3, value, value
