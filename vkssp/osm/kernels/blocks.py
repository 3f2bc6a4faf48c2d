"""Kernels that read blobs of .osm.pbf files (https://wiki.openstreetmap.org/wiki/PBF_Format).

They understand what nearly all files hold. A kernel returns `DAMAGED` if a blob is damaged, or holds something else,
and `FULL` if there are more different words than there is room for.

A call reads several blobs one after the other, so that threads seldom need the interpreter's lock. The strings of a
block that matter beyond the block are words: texts with a number of their own, the same in all blobs of the call, with
a zero after each. Tags are pairs of words. The uses of a string say which tags to keep: see `KEPT` and the other bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.jit import inlined, jit, jit_part
from vkssp.osm.kernels.inflate import ROOM, inflate

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: What kernels return instead of 0.
DAMAGED, FULL = -1, -2
#: Uses of a string: as the key of tags to keep; as a key that makes an object wanted; as the key of names, and of
#: numbers, of streets. The fifth bit marks empty strings. The last ones are for the key of places, and of inhabitants.
KEPT, WANTED, NAME, REF, EMPTY, PLACE, POPULATION = 1, 2, 4, 8, 16, 32, 64
#: Columns of what is known about a string: its uses; the rules of shapes that it is a key of, or a value; its kind: for
#: nodes, one more than that of a place that it is the value of, or 0; for relations, see `vkssp.osm.kernels.relations`.
USES, AS_KEY, AS_VALUE, KIND = range(4)
#: Numbers of a place: latitude, longitude, kind, and its name and population as words, or -1.
PLACE_COLUMNS = 5
#: Bits of a pair for the word of its value.
VALUE_BITS = 32
#: Numbers of the room for `inflate`.
INFLATE_ROOM = ROOM
#: Bytes of the largest block.
MOST_BYTES = 1 << 25
#: Kinds of groups: nodes together, ways, relations.
DENSE, WAYS, RELATIONS = 2, 3, 4
#: What `state` holds: numbers of objects, of shapes or places, and of words; ids of the first and last object.
SIZE, SHAPES, NUM_WORDS, FIRST_ID, LAST_ID = range(5)
NUM_STATE = 5

_PRIME = np.uint64(1099511628211)
_OFFSET = np.uint64(14695981039346656037)


@jit_part
def number_at(data: Bytes, at: Any, end: Any) -> Any:
    """Return the number at a position and the position after it, which is -1 if the number does not end."""
    value, shift, after = np.uint64(0), np.uint64(0), np.int64(-1)
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= np.uint64(byte & 127) << shift
        shift += np.uint64(7)
        if byte < 128:
            after = at
            break
    return np.int64(value), after


@inlined
def unfolded(value: Any) -> Any:
    """Return the signed number that a number stands for."""
    return np.int64((np.uint64(value) >> np.uint64(1)) ^ -(np.uint64(value) & np.uint64(1)))


@jit_part
def field_at(data: Bytes, at: Any, end: Any) -> Any:
    """Return the tag of a field, its number, or where its bytes begin and end; and where the next one begins, or -1."""
    tag, at = number_at(data, at, end)
    if at < 0:
        return tag, at, at, at
    value, at = number_at(data, at, end)
    if at < 0 or tag & 7 == 0:
        return tag, value, value, at
    if tag & 7 != 2 or value < 0 or value > end - at:
        return tag, value, value, np.int64(-1)
    return tag, at, at + value, at + value


@jit
def find_sizes(data: Bytes, contents: Ints, size: Ints) -> int:
    """Find how many bytes each blob holds when unpacked; `contents` has begin and end of each blob's content."""
    for blob in range(len(size)):
        at, end = contents[2 * blob], contents[2 * blob + 1]
        size[blob] = -1
        while at < end:
            tag, begin, close, at = field_at(data, at, end)
            if at < 0:
                return DAMAGED
            if tag == 16:
                size[blob] = begin
            elif tag == 10:
                size[blob] = close - begin
        if size[blob] < 0 or size[blob] > MOST_BYTES:
            return DAMAGED
    return 0


@jit_part
def _unpack(data: Bytes, at: Any, end: Any, block: Bytes, room: Any) -> Any:
    """Unpack a blob to a block of its size; return 0, or -1."""
    size, packed, packed_end, raw = np.int64(-1), np.int64(-1), np.int64(-1), False
    while at < end:
        tag, begin, close, at = field_at(data, at, end)
        if at < 0 or raw:
            return DAMAGED
        if tag == 10 and size < 0 and packed < 0:
            raw = True
            size = close - begin
            if size != len(block):
                return DAMAGED
            for i in range(size):
                block[i] = data[begin + i]
        elif tag == 16 and size < 0:
            size = begin
        elif tag == 26 and packed < 0:
            packed, packed_end = begin, close
        else:
            return DAMAGED
    if raw:
        return 0
    if size != len(block) or packed < 0:
        return DAMAGED
    return inflate(data, packed, packed_end, block, size, room)


@jit_part
def _find_table(block: Bytes, size: Any, kinds: Ints) -> Any:
    """Return where the table of strings of a block begins and ends, or -1, and check the groups and other fields."""
    at, table, table_end = np.int64(0), np.int64(-1), np.int64(-1)
    while at < size:
        tag, begin, end, at = field_at(block, at, size)
        if at < 0:
            return np.int64(-1), at
        if tag == 10:
            if table >= 0:
                return np.int64(-1), at
            table, table_end = begin, end
        elif tag == 18:
            kind = np.int64(block[begin] >> 3) if begin < end else np.int64(0)
            if kind < DENSE or kind > RELATIONS or kind < kinds[1]:
                return np.int64(-1), at
            kinds[1] = kind
            if kinds[0] == 0:
                kinds[0] = kind
            if kind == RELATIONS:
                part = begin
                while part < end:
                    field, first, last, part = field_at(block, part, end)
                    if part < 0 or field != 34 or first == last:
                        return np.int64(-1), at
        # The unit of coordinates, that of times, and offsets of coordinates.
        elif not (tag == 136 and begin == 100) and tag != 144 and not ((tag == 152 or tag == 160) and begin == 0):
            return np.int64(-1), at
    return table, table_end


@jit
def unpack_blobs(
    data: Bytes, contents: Ints, blocks: Bytes, block_first: Ints, room: Any, tables: Ints, kinds: Ints
) -> int:
    """Unpack blobs, and check their fields.

    Parameters
    ----------
    data, contents : numpy.ndarray
        Bytes with the blobs, and begin and end of each blob's content.
    blocks, block_first : numpy.ndarray
        Receives the blocks, one after the other, and where each of them begins and the last ends.
    room : numpy.ndarray
        Room for `inflate`.
    tables : numpy.ndarray
        Receives where each block's table of strings begins and ends.
    kinds : numpy.ndarray
        Kinds of the first and the last group so far, 0 if there is none; kinds ascend.
    """
    for blob in range(len(block_first) - 1):
        begin, end = block_first[blob], block_first[blob + 1]
        block = blocks[begin:end]
        if _unpack(data, contents[2 * blob], contents[2 * blob + 1], block, room) != 0:
            return DAMAGED
        at, close = _find_table(block, end - begin, kinds)
        if at < 0:
            return DAMAGED
        tables[2 * blob], tables[2 * blob + 1] = at, close
    return 0


@jit_part
def _is_text(data: Bytes, at: Any, end: Any) -> Any:
    """Return whether bytes are UTF-8 without zeros."""
    while at < end:
        byte = np.int64(data[at])
        at += 1
        if byte < 128:
            if byte == 0:
                return False
            continue
        low, high, more = 128, 191, 1
        if byte < 194 or byte > 244:
            return False
        if byte >= 240:
            more = 3
            low = 144 if byte == 240 else 128
            high = 143 if byte == 244 else 191
        elif byte >= 224:
            more = 2
            low = 160 if byte == 224 else 128
            high = 159 if byte == 237 else 191
        if more > end - at:
            return False
        for _ in range(more):
            if data[at] < low or data[at] > high:
                return False
            low, high = 128, 191
            at += 1
    return True


@inlined
def _hashed(data: Any, begin: Any, end: Any) -> Any:
    """Return a hash of some bytes."""
    mixed = _OFFSET
    for at in range(begin, end):
        mixed = (mixed ^ np.uint64(data[at])) * _PRIME
    return mixed ^ mixed >> np.uint64(32)


@jit
def place_words(text: Bytes, first: Ints, slots: Any) -> None:
    """Put different texts into a table with a power of two of slots, all of them -1, more than there are texts."""
    mask = np.uint64(len(slots) - 1)
    for word in range(len(first) - 1):
        slot = _hashed(text, first[word], first[word + 1] - 1) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = word


class Blocks(NamedTuple):
    """Blocks as `unpack_blobs` has found them: all bytes, where each begins and the last ends, and their tables."""

    data: Bytes
    first: Ints
    tables: Ints


class Known(NamedTuple):
    """Strings that are known, as words, and what is known about each, shape (num_known, 4): see `USES` and so on."""

    text: Bytes
    first: Ints
    slots: Any
    about: Bytes


class Words(NamedTuple):
    """Words that a kernel finds: their bytes, the offset of each, and a table as of `place_words`, empty at first."""

    text: Bytes
    first: Ints
    slots: Any


class Strings(NamedTuple):
    """Strings of a block: begin, end and word of each, shape (most_strings, 3), and what is known about it."""

    place: Ints
    about: Bytes


@jit_part
def _find_word(data: Bytes, begin: Any, end: Any, words: Any) -> Any:
    """Return the word that equals some bytes, or -1, and its slot, or that in which it would be."""
    mask = np.uint64(len(words.slots) - 1)
    slot = _hashed(data, begin, end) & mask
    while True:
        word = np.int64(words.slots[slot])
        if word < 0:
            return np.int64(-1), np.int64(slot)
        other = words.first[word]
        if words.first[word + 1] - other - 1 == end - begin:
            same = np.int64(0)
            while same < end - begin and words.text[other + same] == data[begin + same]:
                same += 1
            if same == end - begin:
                return word, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@jit_part
def word_of(block: Bytes, string: Any, strings: Strings, words: Words, state: Ints) -> Any:
    """Return the word of a string of a block, which becomes one if it is none yet, or `FULL`."""
    place = strings.place
    if place[string, 2] >= 0:
        return place[string, 2]
    begin, end = place[string, 0], place[string, 1]
    word, slot = _find_word(block, begin, end, words)
    if word < 0:
        word = state[NUM_WORDS]
        at = words.first[word]
        if 2 * (word + 1) > len(words.slots) or end - begin >= len(words.text) - at:
            return FULL
        for i in range(end - begin):
            words.text[at + i] = block[begin + i]
        words.text[at + end - begin] = 0
        words.first[word + 1] = at + end - begin + 1
        words.slots[slot] = word
        state[NUM_WORDS] = word + 1
    place[string, 2] = word
    return word


@inlined
def block_of(blocks: Blocks, number: Any) -> Any:
    """Return a block."""
    return blocks.data[blocks.first[number] : blocks.first[number + 1]]


@jit_part
def read_table(blocks: Blocks, number: Any, known: Known, strings: Strings) -> Any:
    """Find the strings of a block and what is known about them; return how many there are, or -1."""
    block, at, end = block_of(blocks, number), blocks.tables[2 * number], blocks.tables[2 * number + 1]
    count = np.int64(0)
    while at < end:
        if block[at] != 10:
            return np.int64(DAMAGED)
        length, at = number_at(block, at + 1, end)
        if at < 0 or length < 0 or length > end - at or not _is_text(block, at, at + length):
            return np.int64(DAMAGED)
        strings.place[count, 0], strings.place[count, 1], strings.place[count, 2] = at, at + length, -1
        word, _ = _find_word(block, at, at + length, known)
        for column in range(4):
            strings.about[count, column] = known.about[word, column] if word >= 0 else 0
        count += 1
        at += length
    return count


@jit_part
def next_group(block: Bytes, at: Any, kind: Any) -> Any:
    """Return where the next group of a kind begins and ends, and the position after it, which is -1 if there is none.

    The fields of the block have been checked.
    """
    size = np.int64(len(block))
    while at < size:
        tag, begin, end, at = field_at(block, at, size)
        if tag == 18 and begin < end and block[begin] >> 3 == kind:
            return begin, end, at
    return size, size, np.int64(-1)


@jit_part
def is_usual(block: Bytes, at: Any, end: Any, num_strings: Any) -> Any:
    """Return whether the data about a way or a relation are those that nearly all have.

    They are the numbers of fields 1 to 5, the last of which is the user's name; 6 would say whether it is deleted.
    """
    while at < end:
        field = block[at]
        value, at = number_at(block, at + 1, end)
        if at < 0 or field & 7 != 0 or field < 8 or field > 40 or (field == 40 and not 0 <= value < num_strings):
            return False
    return True
