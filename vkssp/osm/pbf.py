"""Check of .osm.pbf files for zero bytes within strings, before libosmium reads them.

libosmium ends strings with a zero byte and uses it to find the next tag. If a string contains a zero byte, libosmium
reads past the last tag into memory that does not belong to it. A tag cannot contain a zero byte, so a file with such a
string is damaged, even if its checksums are right: the program that wrote the file made the damage.

A file is a sequence of blobs, most of them compressed by zlib. Each blob has a string table, which nearly always comes
first, so that only little has to be unpacked (https://wiki.openstreetmap.org/wiki/PBF_Format).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

#: Bytes that are unpacked first, to read the length of a table. Most tables are shorter than this.
_BEGINNING = 1 << 13
#: Largest header of a blob, and largest blob, in bytes.
_MOST_HEADER, _MOST_BLOB = 1 << 16, 1 << 25


def has_zeros(path: Path) -> bool:
    """Return whether a string in a .osm.pbf file holds a zero byte; False if the file is damaged in other ways."""
    try:
        return any(_holds_zero(table) for blob in _blobs(path) for table in _string_tables(blob))
    except (ValueError, struct.error, zlib.error):  # libosmium reports these errors better
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
    """Yield the string tables of a blob; there should be one."""
    for field, begin, end in _fields(blob):
        if field == 1:
            block = blob[begin:end]
        elif field == 3:
            block = _unpacked(blob[begin:end])
        else:
            continue
        yield from (block[a:b] for name, a, b in _fields(block) if name == 1)


def _unpacked(data: bytes) -> bytes:
    """Return a block up to the end of its string table, or the whole block if it does not begin with the table."""
    packed = zlib.decompressobj()
    block = packed.decompress(data, _BEGINNING)
    field, _, end = next(_fields(block), (0, 0, 0))
    if field != 1 or end > _MOST_BLOB:
        end = _MOST_BLOB
    return block[:end] if end <= len(block) else block + packed.decompress(packed.unconsumed_tail, end - len(block))


def _holds_zero(table: bytes) -> bool:
    # The length byte of an empty string is zero, so most tables contain a zero.
    return 0 in table and any(0 in table[begin:end] for _, begin, end in _fields(table))


def _fields(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield for each field of a message its number and the begin and end of its bytes, or its number and value twice.

    Raises
    ------
    ValueError
        If the message is damaged.
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
