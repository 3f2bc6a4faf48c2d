"""Kernel that reads relations that are areas of several ways; see `vkssp.osm.kernels.blocks`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part
from vkssp.osm.kernels.blocks import (
    AS_KEY,
    AS_VALUE,
    DAMAGED,
    KIND,
    RELATIONS,
    SIZE,
    USES,
    Blocks,
    Known,
    Strings,
    block_of,
    is_usual,
    next_group,
    number_at,
    read_table,
    unfolded,
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: Use of a string as the key of types of relations. What the last column tells of strings here: that it is the type of
#: areas, or the role of ways that bound islands.
TYPE, MULTIPOLYGON, INNER = 1, 1, 2
_WAY = 1


class AreaLists(NamedTuple):
    """Areas: the rules of each, see `ShapeLists`; its ways, and whether each bounds an island."""

    rules: Ints
    first: Ints
    way: Ints
    is_inner: Any


@jit_part
def _find_areas(
    block: Bytes, at: Any, end: Any, num_strings: Any, strings: Strings, areas: AreaLists, state: Ints
) -> Any:
    """Decode the relations of a group; see `read_areas`."""
    about, size = strings.about, state[SIZE]
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
        rules, is_area = 0, False
        while keys < keys_end:
            k, keys = number_at(block, keys, keys_end)
            v, values = number_at(block, values, values_end)
            if keys < 0 or values < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return DAMAGED
            # The last one counts of tags with the same key.
            rules = (rules & ~about[k, AS_KEY]) | (about[k, AS_KEY] & about[v, AS_VALUE])
            if about[k, USES] & TYPE:
                is_area = about[v, KIND] == MULTIPOLYGON
        if values != values_end:
            return DAMAGED
        is_wanted = is_area and rules != 0
        member, count = np.int64(0), areas.first[size]
        while ids < ids_end:
            role, roles = number_at(block, roles, roles_end)
            step, ids = number_at(block, ids, ids_end)
            kind, kinds = number_at(block, kinds, kinds_end)
            if role < 0 or role >= num_strings or roles < 0 or ids < 0 or kinds < 0 or kind < 0 or kind > 2:
                return DAMAGED
            member += unfolded(step)
            if is_wanted and kind == _WAY:
                areas.way[count], areas.is_inner[count] = member, about[role, KIND] == INNER
                count += 1
        if roles != roles_end or kinds != kinds_end:
            return DAMAGED
        if is_wanted:
            areas.rules[size] = rules
            size += 1
            areas.first[size] = count
    state[SIZE] = size
    return 0


@jit
def read_areas(blocks: Blocks, known: Known, strings: Strings, areas: AreaLists, state: Ints) -> int:
    """Read the relations of some blobs that are areas of the basemap.

    Parameters
    ----------
    blocks, known, strings : NamedTuple
        As for `read_ways`.
    areas : AreaLists
        Receives the areas.
    state : numpy.ndarray
        Receives the number of areas in `SIZE`; all is 0 at first.

    Returns
    -------
    int
        0 or `DAMAGED`.
    """
    areas.first[0] = 0
    for number in range(len(blocks.first) - 1):
        num_strings = read_table(blocks, number, known, strings)
        if num_strings < 0:
            return DAMAGED
        block = block_of(blocks, number)
        begin, end, at = next_group(block, np.int64(0), RELATIONS)
        while at >= 0:
            if _find_areas(block, begin, end, num_strings, strings, areas, state) != 0:
                return DAMAGED
            begin, end, at = next_group(block, at, RELATIONS)
    return 0
