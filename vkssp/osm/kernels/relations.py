"""Kernel that reads relations: areas of several ways, and those with wanted tags; see `vkssp.osm.kernels.blocks`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part
from vkssp.osm.kernels.blocks import (
    AS_KEY,
    AS_VALUE,
    DAMAGED,
    FULL,
    KIND,
    RELATIONS,
    SHAPES,
    SIZE,
    USES,
    VALUE_BITS,
    WANTED,
    Blocks,
    Known,
    Strings,
    Words,
    block_of,
    is_usual,
    next_group,
    number_at,
    read_table,
    unfolded,
    word_of,
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: Use of a string as the key of types of relations. What the last column tells of strings here: that it is the type of
#: areas, or the role of ways that bound islands.
TYPE, MULTIPOLYGON, INNER = 128, 1, 2
#: Columns of a member: its role as a word, its kind, and its id.
MEMBER_COLUMNS = 3
_WAY = 1


class AreaLists(NamedTuple):
    """Areas: the rules of each, see `ShapeLists`; its ways, and whether each bounds an island."""

    rules: Ints
    first: Ints
    way: Ints
    is_inner: Any


class RelationLists(NamedTuple):
    """Relations with a wanted tag: all tags of each, as pairs of words, and `MEMBER_COLUMNS` of each member."""

    pair_first: Ints
    pair: Ints
    member_first: Ints
    member: Ints


@jit_part
def _find_relations(
    block: Bytes,
    at: Any,
    end: Any,
    num_strings: Any,
    strings: Strings,
    words: Words,
    areas: AreaLists,
    relations: RelationLists,
    state: Ints,
) -> Any:
    """Decode the relations of a group; see `read_relations`."""
    about, size, num_areas = strings.about, state[SIZE], state[SHAPES]
    while at < end:
        if block[at] != 34:  # field 4, a message
            return DAMAGED
        length, at = number_at(block, at + 1, end)
        if at < 0 or length < 0 or length > end - at:
            return DAMAGED
        stop = at + length
        keys: Any = np.int64(0)
        keys_end = values = values_end = roles = roles_end = ids = ids_end = kinds = kinds_end = keys
        while at < stop:
            tag = block[at]
            number, at = number_at(block, at + 1, stop)
            if at < 0:
                return DAMAGED
            if tag == 8:
                continue
            if number < 0 or number > stop - at:
                return DAMAGED
            if tag == 18 and keys == 0:
                keys, keys_end = at, at + number
            elif tag == 26 and values == 0:
                values, values_end = at, at + number
            elif tag == 66 and roles == 0:
                roles, roles_end = at, at + number
            elif tag == 74 and ids == 0:
                ids, ids_end = at, at + number
            elif tag == 82 and kinds == 0:
                kinds, kinds_end = at, at + number
            elif tag != 34 or not is_usual(block, at, at + number, num_strings):
                return DAMAGED
            at += number
        rules, uses, is_area = 0, 0, False
        next_key, next_value = keys, values
        while next_key < keys_end:
            k, next_key = number_at(block, next_key, keys_end)
            v, next_value = number_at(block, next_value, values_end)
            if next_key < 0 or next_value < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return DAMAGED
            # The last one counts of tags with the same key.
            rules = (rules & ~about[k, AS_KEY]) | (about[k, AS_KEY] & about[v, AS_VALUE])
            uses |= about[k, USES]
            if about[k, USES] & TYPE:
                is_area = about[v, KIND] == MULTIPOLYGON
        if next_value != values_end:
            return DAMAGED
        is_wanted = uses & WANTED != 0
        num_pairs, num_members = relations.pair_first[size], relations.member_first[size]
        while is_wanted and keys < keys_end:
            k, keys = number_at(block, keys, keys_end)
            v, values = number_at(block, values, values_end)
            key, value = word_of(block, k, strings, words, state), word_of(block, v, strings, words, state)
            if key < 0 or value < 0:
                return FULL
            relations.pair[num_pairs] = key << VALUE_BITS | value
            num_pairs += 1
        is_area = is_area and rules != 0
        member, count = np.int64(0), areas.first[num_areas]
        while ids < ids_end:
            role, roles = number_at(block, roles, roles_end)
            step, ids = number_at(block, ids, ids_end)
            kind, kinds = number_at(block, kinds, kinds_end)
            if role < 0 or role >= num_strings or roles < 0 or ids < 0 or kinds < 0 or kind < 0 or kind > 2:
                return DAMAGED
            member += unfolded(step)
            if is_wanted:
                word = word_of(block, role, strings, words, state)
                if word < 0:
                    return FULL
                to = MEMBER_COLUMNS * num_members
                relations.member[to], relations.member[to + 1], relations.member[to + 2] = word, kind, member
                num_members += 1
            if is_area and kind == _WAY:
                areas.way[count], areas.is_inner[count] = member, about[role, KIND] == INNER
                count += 1
        if roles != roles_end or kinds != kinds_end:
            return DAMAGED
        if is_area:
            areas.rules[num_areas] = rules
            num_areas += 1
            areas.first[num_areas] = count
        if is_wanted:
            size += 1
            relations.pair_first[size], relations.member_first[size] = num_pairs, num_members
    state[SIZE], state[SHAPES] = size, num_areas
    return 0


@jit
def read_relations(
    blocks: Blocks,
    known: Known,
    strings: Strings,
    words: Words,
    areas: AreaLists,
    relations: RelationLists,
    state: Ints,
) -> int:
    """Read the relations of some blobs that are areas of the basemap, and those that have a wanted tag.

    Parameters
    ----------
    blocks, known, strings, words : NamedTuple
        As for `read_ways`.
    areas, relations : AreaLists, RelationLists
        Receive the relations; some are in both.
    state : numpy.ndarray
        Receives the numbers of relations in `SIZE`, and of areas in `SHAPES`; all is 0 at first.

    Returns
    -------
    int
        0, `DAMAGED` or `FULL`.
    """
    areas.first[0] = relations.pair_first[0] = relations.member_first[0] = words.first[0] = 0
    for number in range(len(blocks.first) - 1):
        num_strings = read_table(blocks, number, known, strings)
        if num_strings < 0:
            return DAMAGED
        block = block_of(blocks, number)
        begin, end, at = next_group(block, np.int64(0), RELATIONS)
        while at >= 0:
            found = _find_relations(block, begin, end, num_strings, strings, words, areas, relations, state)
            if found != 0:
                return int(found)
            begin, end, at = next_group(block, at, RELATIONS)
    return 0
