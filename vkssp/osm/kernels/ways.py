"""Kernel that reads ways; see `vkssp.osm.kernels.blocks`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part
from vkssp.osm.kernels.blocks import (
    AS_KEY,
    AS_VALUE,
    DAMAGED,
    EMPTY,
    FIRST_ID,
    FULL,
    KEPT,
    LAST_ID,
    NAME,
    REF,
    SHAPES,
    SIZE,
    USES,
    VALUE_BITS,
    WANTED,
    WAYS,
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
from vkssp.osm.kernels.places import first_from

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class WayLists(NamedTuple):
    """Wanted ways.

    Attributes
    ----------
    way, name : numpy.ndarray
        Id of each way, and its name and its number as words, or -1, by turns; a number is a name, too.
    pair_first, pair : numpy.ndarray
        The tags of each way that are kept.
    ref_first, ref : numpy.ndarray
        The nodes of each way.
    """

    way: Ints
    name: Ints
    pair_first: Ints
    pair: Ints
    ref_first: Ints
    ref: Ints


class ShapeLists(NamedTuple):
    """Ways that are shapes of the basemap, or parts of them.

    Attributes
    ----------
    member : numpy.ndarray
        Ids of ways that are parts of shapes, sorted.
    way : numpy.ndarray
        Id and rules of each way, by turns. The rules are the bits of `AS_KEY` for the key of a tag that are those of
        `AS_VALUE` for its value.
    first, ref : numpy.ndarray
        The nodes of each way.
    """

    member: Ints
    way: Ints
    first: Ints
    ref: Ints


@jit_part
def _find_ways(
    block: Bytes,
    at: Any,
    end: Any,
    num_strings: Any,
    strings: Strings,
    words: Words,
    ways: WayLists,
    shapes: ShapeLists,
    state: Ints,
) -> Any:
    """Decode the ways of a group; see `read_ways`."""
    size, last, num_shapes = state[SIZE], state[LAST_ID], state[SHAPES]
    num_pairs, num_refs, num_shape_refs = ways.pair_first[size], ways.ref_first[size], shapes.first[num_shapes]
    about, members, member = strings.about, shapes.member, np.int64(-1)
    while at < end:
        if block[at] != 26:  # field 3, a message
            return DAMAGED
        length, at = number_at(block, at + 1, end)
        if at < 0 or length < 0 or length > end - at:
            return DAMAGED
        stop = at + length
        key = np.int64(0)
        keys: Any = np.int64(0)
        keys_end = values = values_end = nodes = nodes_end = keys
        while at < stop:
            tag = block[at]
            number, at = number_at(block, at + 1, stop)
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
                if not is_usual(block, at, at + number, num_strings):
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
            k, next_key = number_at(block, next_key, keys_end)
            v, next_value = number_at(block, next_value, values_end)
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
            k, keys = number_at(block, keys, keys_end)
            v, values = number_at(block, values, values_end)
            use = about[k, USES]
            if use & (KEPT | NAME | REF) == 0:
                continue
            value = word_of(block, v, strings, words, state)
            if value < 0:
                return FULL
            if use & KEPT:
                word = word_of(block, k, strings, words, state)
                if word < 0:
                    return FULL
                ways.pair[num_pairs] = word << VALUE_BITS | value
                num_pairs += 1
            if use & NAME:
                name = -1 if about[v, USES] & EMPTY else value
            if use & REF:
                ref = -1 if about[v, USES] & EMPTY else value
        node = np.int64(0)
        while nodes < nodes_end:
            step, nodes = number_at(block, nodes, nodes_end)
            if nodes < 0:
                return DAMAGED
            node += unfolded(step)
            if node <= 0:
                return DAMAGED
            if is_wanted:
                ways.ref[num_refs] = node
                num_refs += 1
            if is_shape:
                shapes.ref[num_shape_refs] = node
                num_shape_refs += 1
        if is_shape:
            shapes.way[2 * num_shapes], shapes.way[2 * num_shapes + 1] = key, rules
            num_shapes += 1
            shapes.first[num_shapes] = num_shape_refs
        if not is_wanted:
            continue
        # Motorways and many country roads have a number and no name.
        ways.way[size], ways.name[2 * size], ways.name[2 * size + 1] = key, name if name >= 0 else ref, ref
        size += 1
        ways.pair_first[size], ways.ref_first[size] = num_pairs, num_refs
    state[SIZE], state[LAST_ID], state[SHAPES] = size, last, num_shapes
    return 0


@jit
def read_ways(
    blocks: Blocks, known: Known, strings: Strings, words: Words, ways: WayLists, shapes: ShapeLists, state: Ints
) -> int:
    """Read the ways of some blobs that have a wanted tag, and those that are shapes of the basemap.

    Parameters
    ----------
    blocks, known, strings, words : NamedTuple
        The blocks, the strings that are known, room for the strings of a block, and room for words.
    ways, shapes : WayLists, ShapeLists
        Receive the ways.
    state : numpy.ndarray
        Counts; see `SIZE` and so on. All are 0 at first.

    Returns
    -------
    int
        0, `DAMAGED` or `FULL`. Ids are above 0 and ascend, and so do kinds of groups.
    """
    ways.pair_first[0] = ways.ref_first[0] = shapes.first[0] = words.first[0] = 0
    for number in range(len(blocks.first) - 1):
        num_strings = read_table(blocks, number, known, strings)
        if num_strings < 0:
            return DAMAGED
        block = block_of(blocks, number)
        begin, end, at = next_group(block, np.int64(0), WAYS)
        while at >= 0:
            found = _find_ways(block, begin, end, num_strings, strings, words, ways, shapes, state)
            if found != 0:
                return int(found)
            begin, end, at = next_group(block, at, WAYS)
    return 0
