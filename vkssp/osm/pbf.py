"""Framing of .osm.pbf files, and a check for zero bytes within their strings, before libosmium reads them.

A file is a sequence of blobs, most of them compressed by zlib. Each blob has a string table, which nearly always comes
first, so that only little has to be unpacked for the check (https://wiki.openstreetmap.org/wiki/PBF_Format).

libosmium ends strings with a zero byte and uses it to find the next tag. If a string contains a zero byte, libosmium
reads past the last tag into memory that does not belong to it. A tag cannot contain a zero byte, so a file with such a
string is damaged, even if its checksums are right: the program that wrote the file made the damage.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Bytes that are unpacked first, to read the length of a table. Most tables are shorter than this.
_BEGINNING = 1 << 13
_MOST_HEADER = 1 << 16  # bytes of the header of a blob
#: Bytes of the largest blob, packed or not.
MOST_BLOB = 1 << 25


class UnusualError(ValueError):
    """A file is damaged, or holds what nearly no file holds."""


class Blob(NamedTuple):
    """Blob of a file: its type, where its header and its content begin, and where it ends."""

    kind: bytes
    start: int
    content: int
    end: int


def has_zeros(path: Path) -> bool:
    """Return whether a string in a .osm.pbf file holds a zero byte; False if the file is damaged in other ways."""
    try:
        return any(_holds_zero(table) for blob in _contents(path) for table in _string_tables(blob))
    except (ValueError, struct.error, zlib.error):  # libosmium reports these errors better
        return False


def find_blobs(path: Path) -> Iterator[Blob]:
    """Yield the blobs of a file up to the first with impossible sizes; the last one may go beyond the end."""
    with path.open("rb") as stream:
        start = 0
        while size := stream.read(4):
            header_size = struct.unpack(">I", size)[0]
            if header_size > _MOST_HEADER:
                return
            header = stream.read(header_size)
            kind, blob_size = b"", 0
            for field, begin, end in fields(header):
                if field == 1:
                    kind = header[begin:end]
                elif field == 3:
                    blob_size = begin
            if blob_size > MOST_BLOB:
                return
            content = start + 4 + header_size
            yield Blob(kind, start, content, content + blob_size)
            start = stream.seek(content + blob_size)


def _contents(path: Path) -> Iterator[bytes]:
    """Yield the content of the blobs that hold objects."""
    with path.open("rb") as stream:
        for blob in find_blobs(path):
            if blob.kind == b"OSMData":
                stream.seek(blob.content)
                yield stream.read(blob.end - blob.content)


def _string_tables(blob: bytes) -> Iterator[bytes]:
    """Yield the string tables of a blob; there should be one."""
    for field, begin, end in fields(blob):
        if field == 1:
            block = blob[begin:end]
        elif field == 3:
            block = _unpacked(blob[begin:end])
        else:
            continue
        yield from (block[a:b] for name, a, b in fields(block) if name == 1)


def _unpacked(data: bytes) -> bytes:
    """Return a block up to the end of its string table, or the whole block if it does not begin with the table."""
    packed = zlib.decompressobj()
    block = packed.decompress(data, _BEGINNING)
    field, _, end = next(fields(block), (0, 0, 0))
    if field != 1 or end > MOST_BLOB:
        end = MOST_BLOB
    return block[:end] if end <= len(block) else block + packed.decompress(packed.unconsumed_tail, end - len(block))


def _holds_zero(table: bytes) -> bool:
    # The length byte of an empty string is zero, so most tables contain a zero.
    return 0 in table and any(0 in table[begin:end] for _, begin, end in fields(table))


def fields(message: bytes, at: int = 0, size: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield for each field of a message its number and the begin and end of its bytes, or its number and value twice.

    Parameters
    ----------
    message : bytes
        The message, or bytes that hold it.
    at : int
        Where the message begins.
    size : int, optional
        Where the message ends; by default, where the bytes end. Only the field that is yielded last may go beyond.

    Raises
    ------
    UnusualError
        If the message is damaged.
    """
    size = len(message) if size is None else size

    def number(at: int) -> tuple[int, int]:
        value = shift = 0
        while at < size and shift < 64:
            byte = message[at]
            value |= (byte & 127) << shift
            at += 1
            if byte < 128:
                return value, at
            shift += 7
        raise UnusualError("a number does not end")

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
