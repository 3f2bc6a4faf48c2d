"""Kernels that read blobs of .osm.pbf files (https://wiki.openstreetmap.org/wiki/PBF_Format).

They understand what nearly all files hold. A kernel returns `DAMAGED` if a blob is damaged, or holds something else,
and `FULL` if there are more different words than there is room for.

A call reads several blobs one after the other, so that threads seldom need the interpreter's lock. The strings of a
block that matter beyond the block are words: texts with a number of their own, the same in all blobs of the call, with
a zero after each. Tags are pairs of words. The uses of a string say which tags to keep: see `KEPT` and the other bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import inlined, jit, jit_part
from vkssp.osm.kernels.inflate import ROOM, inflate
from vkssp.osm.kernels.places import first_from

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: What kernels return instead of 0.
DAMAGED, FULL = -1, -2
#: Uses of a string: as the key of tags to keep; as a key that makes an object wanted; as the key of names, and of
#: numbers, of streets. The fifth bit marks empty strings. The last ones are for the key of places, and of inhabitants.
KEPT, WANTED, NAME, REF, EMPTY, PLACE, POPULATION = 1, 2, 4, 8, 16, 32, 64
#: Columns of what is known about a string: its uses; the rules of shapes that it is a key of, or a value; one more than
#: the kind of place that it is the value of, or 0.
USES, AS_KEY, AS_VALUE, AS_PLACE = range(4)
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

_LATITUDE, _LONGITUDE = 900000000, 1800000000
_PRIME = np.uint64(1099511628211)
_OFFSET = np.uint64(14695981039346656037)


@jit_part
def _number(data: Bytes, at: Any, end: Any) -> Any:
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
def _unfolded(value: Any) -> Any:
    """Return the signed number that a number stands for."""
    return np.int64((np.uint64(value) >> np.uint64(1)) ^ -(np.uint64(value) & np.uint64(1)))


@jit_part
def _field(data: Bytes, at: Any, end: Any) -> Any:
    """Return the tag of a field, its number, or where its bytes begin and end; and where the next one begins, or -1."""
    tag, at = _number(data, at, end)
    if at < 0:
        return tag, at, at, at
    value, at = _number(data, at, end)
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
            tag, begin, close, at = _field(data, at, end)
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
        tag, begin, close, at = _field(data, at, end)
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
        tag, begin, end, at = _field(block, at, size)
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
                    field, first, last, part = _field(block, part, end)
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


@jit_part
def _find_word(data: Bytes, begin: Any, end: Any, text: Bytes, first: Ints, slots: Any) -> Any:
    """Return the word that equals some bytes, or -1, and its slot, or that in which it would be."""
    mask = np.uint64(len(slots) - 1)
    slot = _hashed(data, begin, end) & mask
    while True:
        word = np.int64(slots[slot])
        if word < 0:
            return np.int64(-1), np.int64(slot)
        other = first[word]
        if first[word + 1] - other - 1 == end - begin:
            same = np.int64(0)
            while same < end - begin and text[other + same] == data[begin + same]:
                same += 1
            if same == end - begin:
                return word, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@jit_part
def _word_of(block: Bytes, string: Any, strings: Ints, text: Bytes, first: Ints, slots: Any, state: Ints) -> Any:
    """Return the word of a string of a block, which becomes one if it is none yet, or `FULL`."""
    if strings[string, 2] >= 0:
        return strings[string, 2]
    begin, end = strings[string, 0], strings[string, 1]
    word, slot = _find_word(block, begin, end, text, first, slots)
    if word < 0:
        word = state[NUM_WORDS]
        at = first[word]
        if 2 * (word + 1) > len(slots) or end - begin >= len(text) - at:
            return FULL
        for i in range(end - begin):
            text[at + i] = block[begin + i]
        text[at + end - begin] = 0
        first[word + 1] = at + end - begin + 1
        slots[slot] = word
        state[NUM_WORDS] = word + 1
    strings[string, 2] = word
    return word


@jit_part
def _read_table(
    block: Bytes,
    at: Any,
    end: Any,
    known_text: Bytes,
    known_first: Ints,
    known_slots: Any,
    known: Bytes,
    strings: Ints,
    about: Bytes,
) -> Any:
    """Find the strings of a block and what is known about them; return how many there are, or -1."""
    count = np.int64(0)
    while at < end:
        if block[at] != 10:
            return DAMAGED
        length, at = _number(block, at + 1, end)
        if at < 0 or length < 0 or length > end - at or not _is_text(block, at, at + length):
            return DAMAGED
        strings[count, 0], strings[count, 1], strings[count, 2] = at, at + length, -1
        word, _ = _find_word(block, at, at + length, known_text, known_first, known_slots)
        for column in range(4):
            about[count, column] = known[word, column] if word >= 0 else 0
        count += 1
        at += length
    return count


@jit_part
def _find_ways(
    block: Bytes,
    at: Any,
    end: Any,
    num_strings: Any,
    strings: Ints,
    about: Bytes,
    text: Bytes,
    first: Ints,
    slots: Any,
    way: Ints,
    names: Ints,
    pair_first: Ints,
    pairs: Ints,
    ref_first: Ints,
    refs: Ints,
    members: Ints,
    shape: Ints,
    shape_first: Ints,
    shape_refs: Ints,
    state: Ints,
) -> Any:
    """Decode the ways of a group; see `read_ways`."""
    size, last, num_shapes = state[SIZE], state[LAST_ID], state[SHAPES]
    num_pairs, num_refs = pair_first[size], ref_first[size]
    num_shape_refs = shape_first[num_shapes]
    member = np.int64(-1)
    while at < end:
        if block[at] != 26:  # field 3, a message
            return DAMAGED
        length, at = _number(block, at + 1, end)
        if at < 0 or length < 0 or length > end - at:
            return DAMAGED
        stop = at + length
        key = np.int64(0)
        keys: Any = np.int64(0)
        keys_end = values = values_end = nodes = nodes_end = keys
        while at < stop:
            tag = block[at]
            number, at = _number(block, at + 1, stop)
            if at < 0:
                return DAMAGED
            if tag == 8:
                key = number
                continue
            if number < 0 or number > stop - at:
                return DAMAGED
            if tag == 18 and keys == 0:
                keys, keys_end = at, at + number
            elif tag == 26 and values == 0:
                values, values_end = at, at + number
            elif tag == 66 and nodes == 0:
                nodes, nodes_end = at, at + number
            elif tag == 34:
                info, info_end = at, at + number
                while info < info_end:
                    # Numbers of fields 1 to 5, the last of which is the user's name; 6 would say whether it is deleted.
                    field = block[info]
                    value, info = _number(block, info + 1, info_end)
                    if field & 7 != 0 or field < 8 or field > 40 or (field == 40 and not 0 <= value < num_strings):
                        return DAMAGED
                    if info < 0:
                        return DAMAGED
            else:
                return DAMAGED
            at += number
        if key <= last:
            return DAMAGED
        if last == 0:
            state[FIRST_ID] = key
        last = key
        uses, rules = 0, 0
        name: Any = np.int64(-1)
        ref = name
        next_key, next_value = keys, values
        while next_key < keys_end:
            k, next_key = _number(block, next_key, keys_end)
            v, next_value = _number(block, next_value, values_end)
            if next_key < 0 or next_value < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return DAMAGED
            uses |= about[k, USES]
            rules |= about[k, AS_KEY] & about[v, AS_VALUE]
        if next_value != values_end:
            return DAMAGED
        if member < 0:
            member = first_from(members, 0, len(members), key)
        while member < len(members) and members[member] < key:
            member += 1
        is_wanted = (uses & WANTED) != 0
        is_shape = rules != 0 or (member < len(members) and members[member] == key)
        if not is_wanted and not is_shape:
            continue
        while is_wanted and keys < keys_end:
            k, keys = _number(block, keys, keys_end)
            v, values = _number(block, values, values_end)
            use = about[k, USES]
            if use & (KEPT | NAME | REF) == 0:
                continue
            value = _word_of(block, v, strings, text, first, slots, state)
            if value < 0:
                return FULL
            if use & KEPT:
                word = _word_of(block, k, strings, text, first, slots, state)
                if word < 0:
                    return FULL
                pairs[num_pairs] = word << VALUE_BITS | value
                num_pairs += 1
            if use & NAME:
                name = -1 if about[v, USES] & EMPTY else value
            if use & REF:
                ref = -1 if about[v, USES] & EMPTY else value
        node = np.int64(0)
        while nodes < nodes_end:
            step, nodes = _number(block, nodes, nodes_end)
            if nodes < 0:
                return DAMAGED
            node += _unfolded(step)
            if node <= 0:
                return DAMAGED
            if is_wanted:
                refs[num_refs] = node
                num_refs += 1
            if is_shape:
                shape_refs[num_shape_refs] = node
                num_shape_refs += 1
        if is_shape:
            shape[2 * num_shapes], shape[2 * num_shapes + 1] = key, rules
            num_shapes += 1
            shape_first[num_shapes] = num_shape_refs
        if not is_wanted:
            continue
        # Motorways and many country roads have a number and no name.
        way[size], names[2 * size], names[2 * size + 1] = key, name if name >= 0 else ref, ref
        size += 1
        pair_first[size], ref_first[size] = num_pairs, num_refs
    state[SIZE], state[LAST_ID], state[SHAPES] = size, last, num_shapes
    return 0


@jit
def read_ways(
    blocks: Bytes,
    block_first: Ints,
    tables: Ints,
    known_text: Bytes,
    known_first: Ints,
    known_slots: Any,
    known: Bytes,
    strings: Ints,
    about: Bytes,
    text: Bytes,
    first: Ints,
    slots: Any,
    way: Ints,
    names: Ints,
    pair_first: Ints,
    pairs: Ints,
    ref_first: Ints,
    refs: Ints,
    members: Ints,
    shape: Ints,
    shape_first: Ints,
    shape_refs: Ints,
    has_relations: Any,
    state: Ints,
) -> int:
    """Read the ways of some blobs that have a wanted tag, and those that are shapes of the basemap.

    Parameters
    ----------
    blocks, block_first, tables : numpy.ndarray
        What `unpack_blobs` found.
    strings, about : numpy.ndarray
        Room for begin, end and word of each string of a block, and for what is known about it.
    known_text, known_first, known_slots, known : numpy.ndarray
        Strings that are known, as words, and what is known about each, shape (num_known, 4): see `USES` and so on.
    text, first, slots : numpy.ndarray
        Words: their bytes, the offset of each, and a table as of `place_words`, empty at first.
    way, names : numpy.ndarray
        Receive the id of each way, and its name and its number as words, or -1; a number is a name, too.
    pair_first, pairs : numpy.ndarray
        Receive the tags of each way that are kept.
    ref_first, refs : numpy.ndarray
        Receive the nodes of each way.
    members : numpy.ndarray
        Ids of ways that are parts of shapes, sorted.
    shape, shape_first, shape_refs : numpy.ndarray
        Receive the id and the rules of each way that is a shape, or a part of one, and its nodes. The rules are the
        bits of `AS_KEY` for the key of a tag that are those of `AS_VALUE` for its value.
    has_relations : numpy.ndarray
        Receives whether each blob has relations.
    state : numpy.ndarray
        Counts; see `SIZE` and so on. All are 0 at first.

    Returns
    -------
    int
        0, `DAMAGED` or `FULL`. Ids are above 0 and ascend, and so do kinds of groups.
    """
    pair_first[0] = ref_first[0] = shape_first[0] = first[0] = 0
    for blob in range(len(has_relations)):
        block = blocks[block_first[blob] : block_first[blob + 1]]
        size, at, end = np.int64(len(block)), tables[2 * blob], tables[2 * blob + 1]
        num_strings = _read_table(block, at, end, known_text, known_first, known_slots, known, strings, about)
        if num_strings < 0:
            return DAMAGED
        has_relations[blob] = False
        at = np.int64(0)
        while at < size:
            tag, begin, end, at = _field(block, at, size)
            if tag != 18:
                continue
            kind = block[begin] >> 3
            has_relations[blob] |= kind == RELATIONS
            if kind != WAYS:
                continue
            found = _find_ways(
                block,
                begin,
                end,
                num_strings,
                strings,
                about,
                text,
                first,
                slots,
                way,
                names,
                pair_first,
                pairs,
                ref_first,
                refs,
                members,
                shape,
                shape_first,
                shape_refs,
                state,
            )
            if found != 0:
                return int(found)
    return 0


@jit_part
def _columns(block: Bytes, at: Any, end: Any, most: Any, columns: Ints) -> Any:
    """Find where each field of a message begins and ends; return whether there are only bytes, each field once."""
    for field in range(most + 1):
        columns[2 * field] = columns[2 * field + 1] = 0
    while at < end:
        tag, begin, close, at = _field(block, at, end)
        field = tag >> 3
        if at < 0 or tag & 7 != 2 or field > most or columns[2 * field + 1] > 0:
            return False
        columns[2 * field], columns[2 * field + 1] = begin, close
    return True


@jit_part
def _count(block: Bytes, at: Any, end: Any) -> Any:
    """Return how many encoded numbers there are."""
    found = np.int64(0)
    for i in range(at, end):
        found += block[i] < 128
    return found


@jit_part
def _are_below(block: Bytes, at: Any, end: Any, limit: Any) -> Any:
    """Return whether all numbers are from 0 to below a limit, given the step to each from the one before."""
    value = np.int64(0)
    while at < end:
        step, at = _number(block, at, end)
        value += _unfolded(step)
        if at < 0 or value < 0 or value >= limit:
            return False
    return True


# Fields of nodes: ids, data about them, latitudes, longitudes and tags; of data about nodes, the fields 1 to 5, of
# which the last names users. The next one would say whether nodes are deleted.
_ID, _INFO, _LAT, _LON, _TAGS, _USERS = 1, 5, 8, 9, 10, 5
NUM_COLUMNS = 2 * (_TAGS + 1)


@jit_part
def _find_nodes(
    block: Bytes,
    at: Any,
    end: Any,
    num_strings: Any,
    columns: Ints,
    strings: Ints,
    about: Bytes,
    text: Bytes,
    first: Ints,
    slots: Any,
    needed: Ints,
    lat: Any,
    lon: Any,
    node: Ints,
    pair_first: Ints,
    pairs: Ints,
    places: Ints,
    state: Ints,
) -> Any:
    """Decode the nodes of a group; see `read_nodes`."""
    tag, begin, close, at = _field(block, at, end)
    if at != end or tag != 18 or not _columns(block, begin, close, _TAGS, columns):
        return DAMAGED
    for field in range(_TAGS + 1):
        if columns[2 * field + 1] > 0 and field not in (_ID, _INFO, _LAT, _LON, _TAGS):
            return DAMAGED
    info, info_end = columns[2 * _INFO], columns[2 * _INFO + 1]
    at, at_end = columns[2 * _ID], columns[2 * _ID + 1]
    at_lat, lat_end = columns[2 * _LAT], columns[2 * _LAT + 1]
    at_lon, lon_end = columns[2 * _LON], columns[2 * _LON + 1]
    at_tag, tag_end = columns[2 * _TAGS], columns[2 * _TAGS + 1]
    if not _columns(block, info, info_end, _USERS, columns) or columns[1] > 0:
        return DAMAGED
    count = _count(block, at, at_end)
    for field in range(1, _USERS + 1):
        begin, close = columns[2 * field], columns[2 * field + 1]
        if close > 0 and _count(block, begin, close) != count:
            return DAMAGED
    if not _are_below(block, columns[2 * _USERS], columns[2 * _USERS + 1], num_strings):
        return DAMAGED

    size, last, num_places = state[SIZE], state[LAST_ID], state[SHAPES]
    num_pairs = pair_first[size]
    has_tags = at_tag < tag_end
    key = y = x = np.int64(0)
    place = np.int64(-1)
    while at < at_end:
        step, at = _number(block, at, at_end)
        step_y, at_lat = _number(block, at_lat, lat_end)
        step_x, at_lon = _number(block, at_lon, lon_end)
        if at < 0 or at_lat < 0 or at_lon < 0:
            return DAMAGED
        key += _unfolded(step)
        y += _unfolded(step_y)
        x += _unfolded(step_x)
        if key <= last:
            return DAMAGED
        if last == 0:
            state[FIRST_ID] = key
        last = key
        if place < 0:
            place = first_from(needed, 0, len(needed), key)
        while place < len(needed) and needed[place] < key:
            place += 1
        if place < len(needed) and needed[place] == key:
            if y < -_LATITUDE or y > _LATITUDE or x < -_LONGITUDE or x > _LONGITUDE:
                return DAMAGED
            lat[place], lon[place] = y, x
        if not has_tags:
            continue
        uses, kind = 0, 0
        name: Any = np.int64(-1)
        population = name
        begin = at_tag
        while True:
            k, at_tag = _number(block, at_tag, tag_end)
            if at_tag < 0:
                return DAMAGED
            if k == 0:
                break
            v, at_tag = _number(block, at_tag, tag_end)
            if at_tag < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return DAMAGED
            use = about[k, USES]
            uses |= use
            if use & PLACE:
                kind = about[v, AS_PLACE]
            if use & NAME:
                name = -1 if about[v, USES] & EMPTY else v
            if use & POPULATION:
                population = v
        if kind > 0 and name >= 0:
            if y < -_LATITUDE or y > _LATITUDE or x < -_LONGITUDE or x > _LONGITUDE:
                return DAMAGED
            name = _word_of(block, name, strings, text, first, slots, state)
            if population >= 0:
                population = _word_of(block, population, strings, text, first, slots, state)
            if name < 0 or population == FULL:
                return FULL
            at_place = PLACE_COLUMNS * num_places
            places[at_place], places[at_place + 1], places[at_place + 2] = y, x, kind - 1
            places[at_place + 3], places[at_place + 4] = name, population
            num_places += 1
        if uses & WANTED == 0:
            continue
        while True:
            k, begin = _number(block, begin, tag_end)
            if k == 0:
                break
            v, begin = _number(block, begin, tag_end)
            if about[k, USES] & KEPT:
                word = _word_of(block, k, strings, text, first, slots, state)
                value = _word_of(block, v, strings, text, first, slots, state)
                if word < 0 or value < 0:
                    return FULL
                pairs[num_pairs] = word << VALUE_BITS | value
                num_pairs += 1
        node[size] = key
        size += 1
        pair_first[size] = num_pairs
    if at_lat != lat_end or at_lon != lon_end or at_tag != tag_end:
        return DAMAGED
    state[SIZE], state[LAST_ID], state[SHAPES] = size, last, num_places
    return 0


@jit
def read_nodes(
    blocks: Bytes,
    block_first: Ints,
    tables: Ints,
    known_text: Bytes,
    known_first: Ints,
    known_slots: Any,
    known: Bytes,
    strings: Ints,
    about: Bytes,
    text: Bytes,
    first: Ints,
    slots: Any,
    needed: Ints,
    lat: Any,
    lon: Any,
    node: Ints,
    pair_first: Ints,
    pairs: Ints,
    places: Ints,
    columns: Ints,
    state: Ints,
) -> int:
    """Find coordinates of the nodes of some blobs that are needed, nodes with a wanted tag, and places with names.

    Parameters
    ----------
    needed : numpy.ndarray
        Ids of nodes, sorted.
    lat, lon : numpy.ndarray
        Receive the coordinates of these nodes, which are in the bounds of latitudes and longitudes.
    node, pair_first, pairs : numpy.ndarray
        Receive the ids of nodes with a wanted tag, and their tags that are kept.
    places : numpy.ndarray
        Receives `PLACE_COLUMNS` of each place.
    columns : numpy.ndarray
        Room for `NUM_COLUMNS` numbers.

    Others are as for `read_ways`, and so is what is returned.
    """
    pair_first[0] = first[0] = 0
    for blob in range(len(block_first) - 1):
        block = blocks[block_first[blob] : block_first[blob + 1]]
        size, at, end = np.int64(len(block)), tables[2 * blob], tables[2 * blob + 1]
        num_strings = _read_table(block, at, end, known_text, known_first, known_slots, known, strings, about)
        if num_strings < 0:
            return DAMAGED
        at = np.int64(0)
        while at < size:
            tag, begin, end, at = _field(block, at, size)
            if tag != 18 or block[begin] >> 3 != DENSE:
                continue
            found = _find_nodes(
                block,
                begin,
                end,
                num_strings,
                columns,
                strings,
                about,
                text,
                first,
                slots,
                needed,
                lat,
                lon,
                node,
                pair_first,
                pairs,
                places,
                state,
            )
            if found != 0:
                return int(found)
    return 0


@jit
def number_alike(first: Ints, pairs: Ints, table: Ints, number: Ints, example: Ints) -> int:
    """Give objects with the same pairs the same number, in the order of the first of each; return how many.

    `table` has a power of two of entries, all -1, more than there are objects. `example` receives the first object of
    each number.
    """
    mask, count = np.uint64(len(table) - 1), 0
    for i in range(len(first) - 1):
        begin, length = first[i], first[i + 1] - first[i]
        mixed = np.uint64(14695981039346656037)  # FNV-1a of words
        for j in range(begin, begin + length):
            mixed = (mixed ^ np.uint64(pairs[j])) * np.uint64(1099511628211)
            mixed ^= mixed >> np.uint64(29)
        slot = mixed & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = count
                example[count] = i
                number[i] = count
                count += 1
                break
            other = first[example[found]]
            if first[example[found] + 1] - other == length:
                same = 0
                while same < length and pairs[other + same] == pairs[begin + same]:
                    same += 1
                if same == length:
                    number[i] = found
                    break
            slot = (slot + np.uint64(1)) & mask
    return count


@jit
def number_in_order(values: Ints, place: Ints, found: Ints) -> int:
    """Replace values by numbers in the order of their first occurrence; return how many; `place` is -1 at first."""
    count = 0
    for i in range(len(values)):
        value = values[i]
        if place[value] < 0:
            place[value] = count
            found[count] = value
            count += 1
        values[i] = place[value]
    return count
