"""Compiled unpacking of zlib streams, against the module zlib of Python."""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest

from vkssp.jit import jit
from vkssp.osm.kernels.inflate import ROOM, inflate


@jit
def unpack(data: Any, end: int, out: Any, size: int, room: Any) -> Any:
    return inflate(data, 0, end, out, size, room)


def unpacked(stream: bytes, size: int) -> bytes | None:
    """Return what a stream holds, or None if it is damaged or does not hold so many bytes."""
    out, room = np.zeros(size + 8, np.uint8), np.empty(ROOM, np.int32)
    result = unpack(np.frombuffer(stream, np.uint8), len(stream), out, size, room)
    assert not out[size:].any()
    return out[:size].tobytes() if result == 0 else None


def expected(stream: bytes, size: int) -> bytes | None:
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(stream)
    except zlib.error:
        return None
    return found if unpacker.eof and not unpacker.unused_data and len(found) == size else None


def stream_of(rng: random.Random, content: bytes) -> bytes:
    """Return content as a stream of several blocks of any kinds."""
    strategy = rng.choice([zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED])
    packer = zlib.compressobj(rng.randrange(10), zlib.DEFLATED, 15, rng.randrange(1, 10), strategy)
    middle = rng.randrange(len(content) + 1)
    start = packer.compress(content[:middle]) + packer.flush(rng.choice([zlib.Z_SYNC_FLUSH, zlib.Z_BLOCK]))
    return start + packer.compress(content[middle:]) + packer.flush()


def contents(rng: random.Random) -> bytes:
    size = rng.choice([0, 1, 2, 300, 5000, 70000])
    kinds = [
        rng.randbytes(size),
        bytes(rng.choices(b"abcd", k=size)),
        (rng.randbytes(rng.randint(1, 40)) * (size + 1))[:size],
        bytes(min(255, int(rng.expovariate(0.05))) for _ in range(size)),
    ]
    return rng.choice(kinds)


@pytest.mark.parametrize("seed", range(100))
def test_streams_whole_damaged_and_cut(seed: int) -> None:
    rng = random.Random(seed)
    content = contents(rng)
    stream, size = stream_of(rng, content), len(content)
    assert unpacked(stream, size) == content
    assert unpacked(stream, size + 1) is None and (size == 0 or unpacked(stream, size - 1) is None)
    for _ in range(10):
        damaged = bytearray(stream)
        damaged[rng.randrange(len(stream))] ^= 1 << rng.randrange(8)
        assert unpacked(bytes(damaged), size) == expected(bytes(damaged), size)
        cut = stream[: rng.randrange(len(stream))]
        assert unpacked(cut, size) is None
    assert unpacked(stream + b"\0", size) is None


def test_codes_that_are_none() -> None:
    """Codes of which some sequences of bits have no meaning, or two, and distances beyond the beginning."""
    rng = random.Random(1)
    for _ in range(3000):
        body = bytes([4 | rng.randrange(2)]) + rng.randbytes(60)
        stream = b"\x78\x9c" + body + zlib.adler32(b"").to_bytes(4, "big")
        assert unpacked(stream, 0) == expected(stream, 0)
