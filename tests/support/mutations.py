"""Damage to files, drawn from a seed: to their bytes, to what they hold when unpacked, and to what they claim."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Mutation = Callable[[random.Random, bytes], bytes]

#: Numbers that readers may stumble over.
_NUMBERS = (
    *(b"0 1 -1 -0 00 +7 0.5 -5 1e3 1e308 1e999 nan inf 0x10 1_0 2147483647 2147483648 4294967294 4294967295").split(),
    *(b"4294967296 9007199254740993 9223372036854775807 9223372036854775808 1152921504606846976").split(),
    *(b"-9223372036854775808 99999999999999999999999999 91 181 -181 214.7483647 900000000 abc").split(),
    b"",
    "\u0663".encode(),
)
#: The same as bytes in the files of computers.
_WORDS = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\xff" * 8,
    b"\0" * 8,
    b"\xff" * 9 + b"\x01",
    b"\x80" * 12,
)


def bytes_damaged(rng: random.Random, data: bytes) -> bytes:
    """Flip bits, cut off the end, or take out, double, overwrite or insert a piece."""
    kind = rng.choice(
        ("flip", "flip", "flip", "flips", "truncate", "remove", "double", "zero", "word", "insert", "swap")
    )
    if not data:
        return rng.randbytes(rng.randint(1, 50))
    at = rng.randrange(len(data))
    size = min(len(data) - at, 1 << rng.randrange(14))
    piece = data[at : at + size]
    if kind == "truncate":
        return data[:at]
    if kind in ("flip", "flips"):
        flipped = bytearray(data)
        for _ in range(1 if kind == "flip" else rng.randint(2, 50)):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if kind == "word":
        word = rng.choice(_WORDS)
        return data[:at] + word + data[at + len(word) :]
    if kind == "swap":
        other = rng.randrange(len(data))
        return data[:at] + data[other : other + size] + data[at + size :]
    new = {"remove": b"", "double": piece * 2, "zero": bytes(size), "insert": rng.randbytes(rng.randint(1, 20)) + piece}
    return data[:at] + new[kind] + data[at + size :]


def text_damaged(rng: random.Random, data: bytes) -> bytes:
    """Replace a number by one that readers may stumble over, or move, double or take out a line; or damage bytes."""
    kind = rng.choice(("number", "number", "number", "numbers", "remove", "double", "move", "bytes"))
    if kind == "bytes" or not data:
        return bytes_damaged(rng, data)
    if kind in ("number", "numbers"):
        for _ in range(1 if kind == "number" else rng.randint(2, 9)):
            # The first lines hold sizes, which matter more than others.
            start = rng.randrange(min(len(data), 200 if rng.random() < 0.3 else len(data)))
            found = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?").search(data, start)
            if found:
                data = data[: found.start()] + rng.choice(_NUMBERS) + data[found.end() :]
        return data
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    line = lines.pop(at)
    if kind == "double":
        lines[at:at] = [line, line]
    elif kind == "move":
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def unpacked_damaged(rng: random.Random, data: bytes) -> bytes:
    """Damage what a compressed file holds."""
    for magic, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if data.startswith(magic):
            options = {"compresslevel": 1} if module is not lzma else {"preset": 0}
            return module.compress(text_damaged(rng, module.decompress(data)), **options)  # type: ignore[operator]
    return text_damaged(rng, data)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def fields_of(message: bytes) -> list[tuple[int, int | bytes]]:
    """Return the fields of a message of protocol buffers that has whole numbers and bytes only."""
    found: list[tuple[int, int | bytes]] = []
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        value = number()
        if tag & 7:
            found.append((tag >> 3, message[at : at + value]))
            at += value
        else:
            found.append((tag >> 3, value))
    return found


def message_of(fields: list[tuple[int, int | bytes]]) -> bytes:
    return b"".join(
        varint(key << 3) + varint(value)
        if isinstance(value, int)
        else varint(key << 3 | 2) + varint(len(value)) + value
        for key, value in fields
    )


def blobs_of(data: bytes) -> list[tuple[bytes, bytes]]:
    """Return the type and the unpacked content of the blobs of a .osm.pbf file."""
    found, at = [], 0
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        header = dict(fields_of(data[at + 4 : at + 4 + size]))
        at += 4 + size
        body = dict(fields_of(data[at : at + header[3]]))  # type: ignore[operator]
        at += header[3]  # type: ignore[operator]
        found.append((header[1], zlib.decompress(body[3]) if 3 in body else body[1]))  # type: ignore[arg-type]
    return found  # type: ignore[return-value]


def packed_blob(
    kind: bytes, content: bytes, claim: int | None = None, size: int | None = None, *, compress: bool = True
) -> bytes:
    """Return a blob as the file has it; it may claim other sizes than its own."""
    raw_size = len(content) if claim is None else claim
    body = message_of([(2, raw_size), (3, zlib.compress(content, 1))] if compress else [(1, content)])
    header = message_of([(1, kind), (3, len(body) if size is None else size)])
    return struct.pack(">I", len(header)) + header + body


def blobs_damaged(rng: random.Random, data: bytes) -> bytes:
    """Damage what a blob of a .osm.pbf file holds, its sizes, or the sequence of blobs."""
    blobs = blobs_of(data)
    at = rng.randrange(len(blobs)) if rng.random() < 0.9 else 0
    kind, content = blobs[at]
    packed = [b"" if i == at else packed_blob(*blob) for i, blob in enumerate(blobs)]
    choice = rng.choice(("content",) * 12 + ("claim", "size", "kind", "sequence"))
    claims = (0, 1, len(content) - 1, len(content) + 1, 2**25, 2**31 - 1, 2**32, 2**60, -1)
    if choice == "claim":
        packed[at] = packed_blob(kind, content, claim=rng.choice(claims))
    elif choice == "size":
        packed[at] = packed_blob(kind, content, size=rng.choice(claims))
    elif choice == "kind":
        packed[at] = packed_blob(rng.choice((b"OSMHeader", b"OSMData", b"Else", b"")), content)
    elif choice == "sequence":
        packed[at] = packed_blob(kind, content)
        rng.shuffle(packed)
        packed = packed[: rng.randint(1, len(packed))]
    else:
        packed[at] = packed_blob(kind, bytes_damaged(rng, content))
    return b"".join(packed)


def _members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive_of(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, value in members.items():
            archive.writestr(zipfile.ZipInfo(member), value)  # of a fixed date
    return packed.getvalue()


def values_damaged(rng: random.Random, data: bytes) -> bytes:
    """Replace values in one to three arrays of a saved graph, or in its header, by such of the same type."""
    members = _members_of(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(sorted(members))
        if name == "header.npy" or rng.random() < 0.05:
            members["header.npy"] = _header_damaged(rng, members["header.npy"])
            continue
        array = np.load(io.BytesIO(members[name]))
        flat = array.reshape(-1)
        if len(flat) == 0:
            continue
        at = rng.randrange(len(flat))
        some = slice(at, at + rng.choice((1, 1, 1, 2, 7, len(flat))))
        kind = rng.choice(("value", "value", "value", "all", "shuffled", "sorted", "shifted", "other"))
        if kind == "shuffled":
            flat[:] = np.random.default_rng(rng.getrandbits(32)).permutation(flat)
        elif kind == "sorted":
            flat.sort()
        elif kind == "shifted":
            flat[:] = np.roll(flat, rng.randint(1, 9))
        elif kind == "other":
            flat[some] = flat[rng.randrange(len(flat))]
        else:
            flat[slice(None) if kind == "all" else some] = _value(rng, array)
        packed = io.BytesIO()
        np.save(packed, array)
        members[name] = packed.getvalue()
    return _archive_of(members)


def _value(rng: random.Random, array: npt.NDArray[Any]) -> Any:
    """Return a value of an array's type that a reader may stumble over."""
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    if array.dtype.kind == "f":
        return rng.choice((0.0, -0.0, -1.0, 1e-320, 90.0, -180.0, 180.0, 181.0, 1e30, np.nan, np.inf, -np.inf))
    limits = np.iinfo(array.dtype)
    size = len(array)
    values = (0, 1, 2, size - 2, size - 1, size, size + 1, 2**16, 2**24, 2**29, 2**31 - 1, 2**31, 2**32 - 2)
    wanted = rng.choice((*values, limits.max, limits.max - 1, limits.min, limits.min + 1, -1))
    return min(max(wanted, limits.min), limits.max)


def _header_damaged(rng: random.Random, content: bytes) -> bytes:
    """Replace what a saved graph's header says."""
    header = json.loads(bytes(np.load(io.BytesIO(content))))
    header[rng.choice(("seconds_per_weight", "seconds_per_weight", *header))] = rng.choice(
        (0, 1, -1, 1e-320, 1e-12, 1e12, 1e308, 10**400, float("nan"), float("inf"), None, "0.1", [], {}, True, "x" * 99)
    )
    packed = io.BytesIO()
    np.save(packed, np.frombuffer(json.dumps(header).encode(), np.uint8))
    return packed.getvalue()


def archive_damaged(rng: random.Random, data: bytes) -> bytes:
    """Damage an array of a saved graph or what it says of its size, and give it the right checksum again."""
    members = _members_of(data)
    name = rng.choice(sorted(members))
    content = members[name]
    choice = rng.choice(("content", "content", "shape", "type", "missing", "header"))
    # The array's own header is a line of text, of a size that stands before it.
    begin = 10 + struct.unpack("<H", content[8:10])[0]
    if choice == "content":
        members[name] = content[:begin] + bytes_damaged(rng, content[begin:])
    elif choice == "header":
        members[name] = bytes_damaged(rng, content[:begin]) + content[begin:]
    elif choice == "missing":
        del members[name]
    else:
        old, new = (
            (rb"\((\d+),", rng.choice((b"(", *(b"(%d," % size for size in (0, 1, 2**31, 2**32, 2**48, 2**60, 2**63)))))
            if choice == "shape"
            else (
                rb"'descr': '[^']*'",
                b"'descr': '%s'" % rng.choice((b"|O", b"<f8", b"<i8", b">u4", b"|S8", b"<f2", b"|b1")),
            )
        )
        text = re.sub(old, new, content[10:begin].rstrip())
        text += b" " * (begin - 11 - len(text)) + b"\n"
        members[name] = content[:8] + struct.pack("<H", len(text)) + text + content[begin:]
    return _archive_of(members)


def mutations_for(name: str) -> dict[str, Mutation]:
    """Return the kinds of damage that make sense for a file, by their names."""
    if name.endswith(".pbf"):
        return {"bytes": bytes_damaged, "blobs": blobs_damaged}
    if name.endswith(".graph"):
        return {"bytes": bytes_damaged, "archive": archive_damaged, "values": values_damaged}
    if name.endswith((".gz", ".bz2", ".xz")):
        return {"bytes": bytes_damaged, "unpacked": unpacked_damaged}
    return {"bytes": bytes_damaged, "text": text_damaged}
