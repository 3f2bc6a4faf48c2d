"""Streams that are kept in temporary files, since most formats need files that can be read again."""

from __future__ import annotations

import bz2
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from vkssp.errors import FormatError, GraphError, MemoryShortageError, QueryError
from vkssp.signals import undoing

# First bytes of files, and the endings of the names that readers expect of them.
_BEGINNINGS = (
    (b"\x93NUMPY", ".npy"),
    (b"PAR1", ".parquet"),
    (b"SQLite format 3\0", ".gpkg"),
    (b"fgb\x03", ".fgb"),
    (b"{", ".geojson"),
)
# The first XML element after comments, and the endings of the names that readers expect of the file.
_COMMENT, _ELEMENT, _XML = re.compile(rb"<!--.*?-->", re.DOTALL), re.compile(rb"<([A-Za-z_]\w*)"), (b"kml", b"gpx")
# A zip file is a saved graph if its first part is an array, whose name begins at byte 30; else it is a Shapefile.
_ZIP, _SAVED = b"PK\x03\x04", re.compile(rb".{30}\w+\.npy", re.DOTALL)
# Compressions with the endings of compressed files.
_COMPRESSIONS = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"))
# A block of a .osm.pbf file begins with four bytes of its header's length, and the header with the block's type.
_PBF = re.compile(rb"\0\0\0.\n\tOSMHeader", re.DOTALL)
# Bytes that are read to tell the kind of a stream.
_PEEKED = 1 << 16


@contextmanager
def kept_stream(stream: IO[bytes]) -> Iterator[Path]:
    """Keep the content of a stream in a temporary file during the block, and yield the path of the file.

    Errors of the block call the file "standard input". Its ending follows from the first bytes.

    Raises
    ------
    FormatError
        If the stream cannot be read, or there is no room for its content.
    QueryError
        If the stream is not of bytes.
    """
    folder = tempfile.mkdtemp(prefix="vkssp-")
    name = "standard input"
    with undoing(lambda: shutil.rmtree(folder, ignore_errors=True)):
        try:
            start = stream.read(_PEEKED)
            if isinstance(start, bytes):
                path = Path(folder, name + _ending_of(start))
                with open(path, "xb") as file:
                    file.write(start)
                    shutil.copyfileobj(stream, file, _PEEKED)
        except (OSError, ValueError) as error:  # the latter of a closed stream
            reason = getattr(error, "strerror", None) or error
            raise FormatError(f"cannot keep {name} in {folder}: {reason}; give a file") from error
        if not isinstance(start, bytes):
            raise QueryError(f"a stream holds {type(start).__name__}; give one of bytes, such as sys.stdin.buffer")
        try:
            yield path
        except (FormatError, GraphError, MemoryShortageError, QueryError) as error:
            message = str(error).replace(str(path), name)
            if message == str(error):
                raise
            raise type(error)(message) from error


def _ending_of(start: bytes) -> str:
    """Return the ending of the name of a file that begins with some bytes; empty if readers need none."""
    for magic, ending in _COMPRESSIONS:
        if start.startswith(magic):
            with suppress(OSError, zlib.error, EOFError, ValueError):
                unpack: Any = bz2.BZ2Decompressor() if ending == ".bz2" else zlib.decompressobj(31)
                inner = _ending_of(unpack.decompress(start)[:_PEEKED])
                return inner + ending if inner == ".osm" else ""
            return ""
    plain = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if plain.startswith((b"<?xml", b"<osm", b"<kml", b"<gpx")):
        first = _ELEMENT.search(_COMMENT.sub(b"", plain))
        return f".{first[1].decode()}" if first is not None and first[1] in _XML else ".osm"
    if plain.startswith(_ZIP):
        return ".graph" if _SAVED.match(plain) else ".shp.zip"
    return ".osm.pbf" if _PBF.match(start) else next((end for magic, end in _BEGINNINGS if plain.startswith(magic)), "")
