#!/usr/bin/env python3
"""Large extracts made of small ones, to measure how imports grow: copies side by side round the Earth, with new ids.

Nodes come before ways and these before relations, each by ascending ids, as in the extracts of whole countries. Copies
are not joined to each other; all sources of a round move by the same distance. Blobs of .osm.pbf files are copied with
other ids and longitudes, by compiled code on all cores: some 2 million objects a second on each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import osmium
from tqdm import tqdm

from vkssp.bench.evaluation import exit_code
from vkssp.cores import num_cores, run_ahead
from vkssp.errors import FormatError
from vkssp.files import check_writable
from vkssp.jit import jit, jit_part
from vkssp.osm.pbf import Blob, fields, find_blobs
from vkssp.signals import undoing

Bytes = npt.NDArray[np.uint8]
#: Fields of a group: single nodes, nodes together, ways, and relations.
NODE, DENSE, WAYS, RELATIONS = 1, 2, 3, 4
#: For each of these, the field of the objects with the list of ids of nodes or members.
IDS = (0, 0, 1, 8, 9)
#: Units of coordinates in the circle.
CIRCLE = 3_600_000_000
#: Bytes for which there is room beside a block, since its numbers may become longer; and in each object.
_ROOM, _ROOM_OF_OBJECT = 1 << 10, 32
#: What is known about a block: bits of its kinds, numbers of its nodes, its largest id, its longitudes.
KINDS, NODES, LARGEST, WEST, EAST = range(5)


@jit_part
def get(data: Bytes, at: Any) -> Any:
    """Return the number at a position, and the position after it."""
    value, shift = np.uint64(0), np.uint64(0)
    while True:
        byte = data[at]
        at += 1
        value |= np.uint64(byte & 127) << shift
        shift += np.uint64(7)
        if byte < 128:
            return np.int64(value), at


@jit_part
def put(out: Bytes, at: Any, number: Any) -> Any:
    """Write a number, and return the position after it."""
    value = np.uint64(number)
    while value > np.uint64(127):
        out[at] = np.uint8(value & np.uint64(127)) | np.uint8(128)
        value >>= np.uint64(7)
        at += 1
    out[at] = value
    return at + 1


@jit_part
def copy(data: Bytes, begin: Any, end: Any, out: Bytes, at: Any) -> Any:
    """Copy bytes, and return the position after them."""
    for source in range(begin, end):
        out[at] = data[source]
        at += 1
    return at


@jit_part
def field_end(data: Bytes, at: Any, tag: Any) -> Any:
    """Return where the bytes of a field begin and end, of which the tag has been read."""
    kind = tag & 7
    if kind == 2:
        size, at = get(data, at)
        return at, at + size
    if kind == 0:
        _, end = get(data, at)
        return at, end
    return at, at + (8 if kind == 1 else 4)


@jit_part
def put_message(out: Bytes, start: Any, begin: Any, end: Any) -> Any:
    """Write at a position the size of a message and the message, which begins later; return the position after it."""
    return copy(out, begin, end, out, put(out, start, end - begin))


@jit_part
def shift_list(data: Bytes, begin: Any, end: Any, by: Any, out: Bytes, at: Any) -> Any:
    """Write a list of differences of numbers, all of which grow; return the position after it."""
    body = at + 10
    if begin == end:
        return put_message(out, at, body, body)
    folded, rest = get(data, begin)
    first = by + ((folded >> 1) ^ -(folded & 1))
    return put_message(out, at, body, copy(data, rest, end, out, put(out, body, (first << 1) ^ (first >> 63))))


@jit_part
def shift_object(data: Bytes, begin: Any, end: Any, kind: Any, by: Any, east: Any, out: Bytes, at: Any) -> Any:
    """Write nodes, a way or a relation with other ids and longitudes, and return the position after it."""
    body = at + 10
    to = body
    while begin < end:
        tag, after = get(data, begin)
        low, high = field_end(data, after, tag)
        field = tag >> 3
        to = put(out, to, tag)
        if field == IDS[kind]:
            to = shift_list(data, low, high, by, out, to)
        elif field == 9 and kind == DENSE:
            to = shift_list(data, low, high, east, out, to)
        elif field == 1:
            number, _ = get(data, low)
            to = put(out, to, number + by)
        else:
            to = copy(data, after, high, out, to)
        begin = high
    return put_message(out, at, body, to)


@jit
def shift_block(block: Bytes, kind: int, by: int, east: int, out: Bytes) -> int:
    """Write the objects of a kind with other ids and longitudes; return the size, 0 if there are no such objects."""
    at, to, any_of_kind = 0, 0, False
    while at < len(block):
        tag, after = get(block, at)
        low, high = field_end(block, after, tag)
        if tag >> 3 != 2:
            to = copy(block, at, high, out, to)
        else:
            body = to + 11
            end = body
            while low < high:
                inner, after = get(block, low)
                begin, low = field_end(block, after, inner)
                if inner >> 3 == kind:
                    end = shift_object(block, begin, low, kind, by, east, out, put(out, end, inner))
            if end > body:
                any_of_kind = True
                to = put_message(out, put(out, to, tag), body, end)
        at = high
    return to if any_of_kind else 0


@jit
def measure_block(block: Bytes, found: npt.NDArray[np.int64]) -> None:
    """Find out what is in a block."""
    at = 0
    while at < len(block):
        tag, after = get(block, at)
        low, high = field_end(block, after, tag)
        while tag >> 3 == 2 and low < high:
            inner, after = get(block, low)
            kind = inner >> 3
            begin, low = field_end(block, after, inner)
            found[KINDS] |= 1 << kind
            while begin < low:
                tag_of_object, after = get(block, begin)
                first, begin = field_end(block, after, tag_of_object)
                field, value = tag_of_object >> 3, 0
                if field == 1 and kind != DENSE:
                    found[LARGEST] = max(found[LARGEST], get(block, first)[0])
                while kind == DENSE and (field == 1 or field == 9) and first < begin:
                    folded, first = get(block, first)
                    value += (folded >> 1) ^ -(folded & 1)
                    if field == 1:
                        found[NODES] += 1
                        found[LARGEST] = max(found[LARGEST], value)
                    else:
                        found[WEST], found[EAST] = min(found[WEST], value), max(found[EAST], value)
        at = high


class Source(NamedTuple):
    """An extract: its file, what is known about all of it, its blobs, and the bits of the kinds of each."""

    path: Path
    about: list[int]
    blobs: list[Blob]
    kinds: list[int]


def unpacked(path: Path, blob: Blob) -> Bytes:
    """Return what a blob holds."""
    with path.open("rb") as stream:
        stream.seek(blob.content)
        packed = stream.read(blob.end - blob.content)
    found = {field: packed[begin:end] for field, begin, end in fields(packed)}
    return np.frombuffer(found[1] if 1 in found else zlib.decompress(found[3]), np.uint8)


def blob_of(kind: bytes, block: bytes) -> bytes:
    """Return a blob, with the size and the header before it."""
    packed = zlib.compress(block)
    blob = b"\x10" + number_of(len(block)) + b"\x1a" + number_of(len(packed)) + packed
    header = b"\x0a" + number_of(len(kind)) + kind + b"\x18" + number_of(len(blob))
    return struct.pack(">I", len(header)) + header + blob


def number_of(value: int) -> bytes:
    """Return a number as the format writes it."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def about(path: Path, blob: Blob) -> list[int]:
    """Return what is known about a blob."""
    found = np.array([0, 0, 0, CIRCLE, -CIRCLE], np.int64)
    block = unpacked(path, blob)
    for field, value, _ in fields(block.tobytes()):
        if field in (17, 19, 20) and value != (100 if field == 17 else 0):
            raise FormatError(f"{path} has unusual units of coordinates; write it anew by a program such as osmium")
    measure_block(block, found)
    if found[KINDS] & 1 << NODE:
        raise FormatError(f"{path} has nodes that are not dense; write it anew by a program such as osmium")
    return [int(value) for value in found]


def read(path: Path) -> Source:
    """Find out what is in a file."""
    blobs = [blob for blob in find_blobs(path) if blob.kind == b"OSMData"]
    every = np.array(list(run_ahead((partial(about, path, blob) for blob in blobs), 2 * num_cores())), np.int64)
    if not every[:, NODES].any():
        raise FormatError(f"{path} has no nodes; give another extract")
    west, east = every[:, WEST].min(), every[:, EAST].max()
    total = [0, every[:, NODES].sum(), every[:, LARGEST].max(), west, east]
    return Source(path, [int(value) for value in total], blobs, every[:, KINDS].tolist())


def as_pbf(path: Path, folder: Path) -> Path:
    """Return the path of an extract as a .osm.pbf file, which is written into a folder if it is no such file."""
    if path.name.endswith(".pbf"):
        return path
    target = folder / f"{os.urandom(6).hex()}.osm.pbf"
    with osmium.SimpleWriter(str(target)) as writer:
        for item in osmium.FileProcessor(str(path)):
            writer.add(item)
    return target


def copied(source: Source, blob: Blob, kind: int, by: int, east: int) -> bytes:
    """Return a blob with the objects of a kind of another blob."""
    block = unpacked(source.path, blob)
    objects = len(block) // 4 + 1 if kind != DENSE else 1
    out = np.empty(len(block) + _ROOM + _ROOM_OF_OBJECT * objects, np.uint8)
    return blob_of(b"OSMData", out[: shift_block(block, kind, by, east, out)].tobytes())


def tile(paths: list[Path], target: Path, wanted: int) -> int:
    """Write copies of extracts until there are enough nodes; return the number of nodes."""
    folder = target.with_name(f".{target.name}.{os.urandom(6).hex()}.part")
    with undoing(lambda: shutil.rmtree(folder, ignore_errors=True)):
        folder.mkdir()
        sources = [read(as_pbf(path, folder)) for path in paths]
        nodes = sum(source.about[NODES] for source in sources)
        rounds = max(1, round(wanted / nodes))
        west, east = min(one.about[WEST] for one in sources), max(one.about[EAST] for one in sources)
        # No copy crosses the line where longitudes jump; there may be less than one pitch beyond the last one.
        free = CIRCLE - (east - west)
        copies, by = [], 0
        for turn in range(rounds):
            for source in sources:
                copies.append((source, by, -CIRCLE // 2 - west + free * turn // rounds))
                by += source.about[LARGEST] + 1
        write(copies, folder / target.name)
        os.replace(folder / target.name, target)
        shutil.rmtree(folder)
    return rounds * nodes


def write(copies: list[tuple[Source, int, int]], target: Path) -> None:
    """Write copies of extracts, each with the shift of its ids and its shift east."""

    def tasks() -> Iterator[Callable[[], bytes]]:
        for kind in (DENSE, WAYS, RELATIONS):
            for source, by, east in copies:
                for blob, kinds in zip(source.blobs, source.kinds, strict=True):
                    if kinds & 1 << kind:
                        yield partial(copied, source, blob, kind, by, east)

    features = b"".join(
        bytes([field << 3 | 2]) + number_of(len(text)) + text
        for field, text in ((4, b"OsmSchema-V0.6"), (4, b"DenseNodes"), (5, b"Sort.Type_then_ID"))
    )
    with target.open("wb") as stream:
        stream.write(blob_of(b"OSMHeader", features))
        blobs = run_ahead(tasks(), 2 * num_cores())
        for packed in tqdm(blobs, target.name, total=sum(1 for _ in tasks()), unit=" blobs"):
            stream.write(packed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", metavar="EXTRACT", type=Path, nargs="+", help="extracts to copy in every round")
    parser.add_argument("target", metavar="OUT", type=Path, help="the extract to write, such as big.osm.pbf")
    parser.add_argument("--nodes", metavar="N", type=int, required=True, help="approximate number of nodes")
    args = parser.parse_args()

    def run() -> None:
        check_writable(args.target, *args.sources)
        if not args.target.name.endswith(".osm.pbf"):
            raise FormatError(f"{args.target} is not named like a .osm.pbf file; give a name that ends so")
        print(f"{tile(args.sources, args.target, args.nodes):,} nodes")

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
