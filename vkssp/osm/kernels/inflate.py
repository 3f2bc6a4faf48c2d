"""Kernel that unpacks zlib streams, by RFC 1950 and RFC 1951.

The module zlib of Python does the same, but a thread holds the interpreter's lock before and after each call. With many
threads and small blobs they wait for the lock most of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit_part

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]

# Bits of codes that a table decodes at once, of literals and lengths, and of distances; longer codes are rare.
_FAST, _FAST_FAR = 11, 9
_MOST_BITS = 15
# Bits of a match after the code of its length.
_MOST_OF_MATCH = 5 + _MOST_BITS + 13
# Where the parts of the room for tables begin: the two tables of short codes; numbers of codes of each length; symbols
# sorted by code; lengths of codes.
_FAR = 1 << _FAST
_COUNTS = _FAR + (1 << _FAST_FAR)
_FAR_COUNTS = _COUNTS + _MOST_BITS + 1
_SYMBOLS = _FAR_COUNTS + _MOST_BITS + 1
_FAR_SYMBOLS = _SYMBOLS + 288
_LENGTHS = _FAR_SYMBOLS + 32
_OFFSETS = _LENGTHS + 320
#: Numbers of the room that `inflate` needs for its tables.
ROOM = _OFFSETS + _MOST_BITS + 1

_BASE = np.array(
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258]
)
_EXTRA = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0])
_FAR_EXTRA = np.array([0, 0, *(bits for bits in range(14) for _ in (0, 1))])
_FAR_BASE = np.concatenate([[1], 1 + np.cumsum(1 << _FAR_EXTRA)[:-1]])
_ORDER = np.array([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15])

# Bytes of which `_checksum` adds up so many at once that no sum overflows.
_SUMMED = 4096
_MODULUS = 65521


@jit_part
def _make_code(room: Ints, first: Any, size: Any, fast: Any, bits: Any, counts: Any, symbols: Any) -> Any:
    """Make the tables of the code whose lengths begin at a place of the room; return whether there is such a code."""
    for length in range(_MOST_BITS + 1):
        room[counts + length] = 0
    for symbol in range(size):
        room[counts + room[first + symbol]] += 1
    room[counts] = 0
    left, used, offset = 1, 0, 0
    for length in range(1, _MOST_BITS + 1):
        room[_OFFSETS + length] = offset
        offset += room[counts + length]
        used += room[counts + length]
        left = 2 * left - room[counts + length]
        if left < 0:
            return False
    # Only a code of at most one symbol may leave some sequences of bits without meaning.
    if left > 0 and used > 1:
        return False
    for symbol in range(size):
        length = room[first + symbol]
        if length > 0:
            room[symbols + room[_OFFSETS + length]] = symbol
            room[_OFFSETS + length] += 1
    for at in range(fast, fast + (1 << bits)):
        room[at] = 0
    code, index = 0, 0
    for length in range(1, bits + 1):
        for _ in range(room[counts + length]):
            # Codes begin with their highest bit, numbers with their lowest.
            backward = 0
            for bit in range(length):
                backward |= (code >> bit & 1) << (length - 1 - bit)
            entry = room[symbols + index] << 4 | length
            for at in range(fast + backward, fast + (1 << bits), 1 << length):
                room[at] = entry
            code += 1
            index += 1
        code <<= 1
    return True


@jit_part
def _long_code(room: Ints, bits: Any, counts: Any, symbols: Any) -> Any:
    """Return the symbol with which bits begin, and the length of its code, which is 0 if there is none."""
    code: Any = np.int64(0)
    symbol = found = first = index = code
    for length in range(1, _MOST_BITS + 1):
        code |= np.int64(bits >> np.uint64(length - 1) & np.uint64(1))
        count = room[counts + length]
        if code - first < count:
            symbol, found = np.int64(room[symbols + index + code - first]), length
            break
        index += count
        first = (first + count) << 1
        code <<= 1
    return symbol, found


@jit_part
def _filled(data: Bytes, at: Any, stop: Any, bits: Any, held: Any) -> Any:
    """Return at least 56 bits, how many they are, and where the next ones are; zeros follow the end of the data."""
    if at + 8 <= stop:
        low = np.uint64(data[at]) | np.uint64(data[at + 1]) << np.uint64(8) | np.uint64(data[at + 2]) << np.uint64(16)
        low |= np.uint64(data[at + 3]) << np.uint64(24) | np.uint64(data[at + 4]) << np.uint64(32)
        low |= np.uint64(data[at + 5]) << np.uint64(40) | np.uint64(data[at + 6]) << np.uint64(48)
        low |= np.uint64(data[at + 7]) << np.uint64(56)
        bits |= low << np.uint64(held)
        at += (63 - held) >> 3
        held |= 56
    else:
        while held <= 56:
            if at < stop:
                bits |= np.uint64(data[at]) << np.uint64(held)
            at += 1
            held += 8
    return bits, held, at


@jit_part
def _read_lengths(data: Bytes, at: Any, stop: Any, bits: Any, held: Any, room: Ints) -> Any:
    """Read the lengths of the codes of a block; return the state of reading, and how many there are, or -1."""
    bits, held, at = _filled(data, at, stop, bits, held)
    size = np.int64(bits & np.uint64(31)) + 257
    far = np.int64(bits >> np.uint64(5) & np.uint64(31)) + 1
    order = np.int64(bits >> np.uint64(10) & np.uint64(15)) + 4
    bits >>= np.uint64(14)
    held -= 14
    if size > 286 or far > 30:
        return bits, held, at, np.int64(-1), far
    for i in range(19):
        room[_LENGTHS + _ORDER[i]] = 0
    for i in range(order):
        if held < 3:
            bits, held, at = _filled(data, at, stop, bits, held)
        room[_LENGTHS + _ORDER[i]] = np.int64(bits & np.uint64(7))
        bits >>= np.uint64(3)
        held -= 3
    if not _make_code(room, _LENGTHS, 19, 0, 7, _COUNTS, _SYMBOLS):
        return bits, held, at, np.int64(-1), far
    count: Any = np.int64(0)
    last = count
    while count < size + far:
        bits, held, at = _filled(data, at, stop, bits, held)
        entry = np.int64(room[np.int64(bits & np.uint64(127))])
        length = entry & 15
        if length == 0:
            return bits, held, at, np.int64(-1), far
        bits >>= np.uint64(length)
        held -= length
        symbol = entry >> 4
        times: Any = np.int64(1)
        if symbol < 16:
            last = symbol
        elif symbol == 16:
            if count == 0:
                return bits, held, at, np.int64(-1), far
            times = 3 + np.int64(bits & np.uint64(3))
            bits >>= np.uint64(2)
            held -= 2
        else:
            last = 0
            more, least = (3, 3) if symbol == 17 else (7, 11)
            times = least + np.int64(bits & np.uint64((1 << more) - 1))
            bits >>= np.uint64(more)
            held -= more
        if count + times > size + far:
            return bits, held, at, np.int64(-1), far
        for _ in range(times):
            room[_LENGTHS + count] = last
            count += 1
    return bits, held, at, size, far


@jit_part
def _checksum(out: Bytes, size: Any) -> Any:
    """Return the checksum by Adler of some bytes."""
    low, high = np.int64(1), np.int64(0)
    for first in range(0, size, _SUMMED):
        count = min(_SUMMED, size - first)
        total, weighted = np.int64(0), np.int64(0)
        for i in range(count):
            value = np.int64(out[first + i])
            total += value
            weighted += (count - i) * value
        high = (high + count * low + weighted) % _MODULUS
        low = (low + total) % _MODULUS
    return high << 16 | low


@jit_part
def inflate(data: Bytes, at: Any, end: Any, out: Bytes, size: Any, room: Ints) -> Any:
    """Unpack a stream, which has to end at `end` and to hold `size` bytes; return 0, or -1 if it is damaged."""
    if end - at < 6 or size < 0 or size > len(out):
        return -1
    method, flags = np.int64(data[at]), np.int64(data[at + 1])
    if method & 15 != 8 or method >> 4 > 7 or (method << 8 | flags) % 31 != 0 or flags & 32 != 0:
        return -1
    at += 2
    stop = end - 4
    bits: Any = np.uint64(0)
    held = written = np.int64(0)
    mask, far_mask = np.uint64((1 << _FAST) - 1), np.uint64((1 << _FAST_FAR) - 1)
    is_last = False
    while not is_last:
        bits, held, at = _filled(data, at, stop, bits, held)
        is_last = (bits & np.uint64(1)) != 0
        kind = np.int64(bits >> np.uint64(1) & np.uint64(3))
        bits >>= np.uint64(3)
        held -= 3
        if kind == 0:
            at -= held >> 3
            if at > stop - 4:
                return -1
            count = np.int64(data[at]) | np.int64(data[at + 1]) << 8
            if count != (np.int64(data[at + 2]) | np.int64(data[at + 3]) << 8) ^ 65535:
                return -1
            at += 4
            if count > stop - at or count > size - written:
                return -1
            for i in range(count):
                out[written + i] = data[at + i]
            at += count
            written += count
            bits, held = np.uint64(0), np.int64(0)
            continue
        if kind == 1:
            for i in range(288):
                room[_LENGTHS + i] = 8 if i < 144 or i >= 280 else 9 if i < 256 else 7
            for i in range(288, 320):
                room[_LENGTHS + i] = 5
            literals, far = np.int64(288), np.int64(32)
        elif kind == 2:
            bits, held, at, literals, far = _read_lengths(data, at, stop, bits, held, room)
            if literals < 0 or room[_LENGTHS + 256] == 0:
                return -1
        else:
            return -1
        if not _make_code(room, _LENGTHS, literals, 0, _FAST, _COUNTS, _SYMBOLS) or not _make_code(
            room, _LENGTHS + literals, far, _FAR, _FAST_FAR, _FAR_COUNTS, _FAR_SYMBOLS
        ):
            return -1
        while True:
            if held < _MOST_BITS:
                bits, held, at = _filled(data, at, stop, bits, held)
            entry = np.int64(room[np.int64(bits & mask)])
            symbol, length = entry >> 4, entry & 15
            if length == 0:
                symbol, length = _long_code(room, bits, _COUNTS, _SYMBOLS)
                if length == 0:
                    return -1
            bits >>= np.uint64(length)
            held -= length
            if symbol < 256:
                if written >= size:
                    return -1
                out[written] = symbol
                written += 1
                continue
            if symbol == 256:
                break
            if symbol > 285:
                return -1
            if held < _MOST_OF_MATCH:
                bits, held, at = _filled(data, at, stop, bits, held)
            extra = _EXTRA[symbol - 257]
            count = _BASE[symbol - 257] + np.int64(bits & ((np.uint64(1) << np.uint64(extra)) - np.uint64(1)))
            bits >>= np.uint64(extra)
            held -= extra
            entry = np.int64(room[_FAR + np.int64(bits & far_mask)])
            symbol, length = entry >> 4, entry & 15
            if length == 0:
                symbol, length = _long_code(room, bits, _FAR_COUNTS, _FAR_SYMBOLS)
                if length == 0:
                    return -1
            if symbol > 29:
                return -1
            bits >>= np.uint64(length)
            extra = _FAR_EXTRA[symbol]
            back = _FAR_BASE[symbol] + np.int64(bits & ((np.uint64(1) << np.uint64(extra)) - np.uint64(1)))
            bits >>= np.uint64(extra)
            held -= length + extra
            if back > written or count > size - written:
                return -1
            for i in range(written, written + count):
                out[i] = out[i - back]
            written += count
    if written != size or at - (held >> 3) != stop:
        return -1
    stored = np.int64(data[stop]) << 24 | np.int64(data[stop + 1]) << 16
    stored |= np.int64(data[stop + 2]) << 8 | np.int64(data[stop + 3])
    return 0 if stored == _checksum(out, size) else -1
