"""Kernel that reads nodes; see `vkssp.osm.kernels.blocks`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part
from vkssp.osm.kernels.blocks import (
    DAMAGED,
    DENSE,
    EMPTY,
    FIRST_ID,
    FULL,
    KEPT,
    KIND,
    LAST_ID,
    NAME,
    PLACE,
    PLACE_COLUMNS,
    POPULATION,
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
    field_at,
    next_group,
    number_at,
    read_table,
    unfolded,
    word_of,
)
from vkssp.osm.kernels.places import first_from

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


_LATITUDE, _LONGITUDE = 900000000, 1800000000


class Needed(NamedTuple):
    """Ids of nodes that ways need, sorted, and their coordinates, which are in the bounds of the Earth."""

    node: Ints
    lat: Any
    lon: Any


class NodeLists(NamedTuple):
    """Nodes with a wanted tag, their tags that are kept, and `PLACE_COLUMNS` of each place with a name."""

    node: Ints
    pair_first: Ints
    pair: Ints
    place: Ints


@jit_part
def _columns(block: Bytes, at: Any, end: Any, most: Any, columns: Ints) -> Any:
    """Find where each field of a message begins and ends; return whether there are only bytes, each field once."""
    for field in range(most + 1):
        columns[2 * field] = columns[2 * field + 1] = 0
    while at < end:
        tag, begin, close, at = field_at(block, at, end)
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
        step, at = number_at(block, at, end)
        value += unfolded(step)
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
    strings: Strings,
    words: Words,
    needed: Needed,
    nodes: NodeLists,
    state: Ints,
) -> Any:
    """Decode the nodes of a group; see `read_nodes`."""
    tag, begin, close, at = field_at(block, at, end)
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
    num_pairs, about, ids = nodes.pair_first[size], strings.about, needed.node
    has_tags = at_tag < tag_end
    key = y = x = np.int64(0)
    place = np.int64(-1)
    while at < at_end:
        step, at = number_at(block, at, at_end)
        step_y, at_lat = number_at(block, at_lat, lat_end)
        step_x, at_lon = number_at(block, at_lon, lon_end)
        if at < 0 or at_lat < 0 or at_lon < 0:
            return DAMAGED
        key += unfolded(step)
        y += unfolded(step_y)
        x += unfolded(step_x)
        if key <= last:
            return DAMAGED
        if last == 0:
            state[FIRST_ID] = key
        last = key
        if place < 0:
            place = first_from(ids, 0, len(ids), key)
        while place < len(ids) and ids[place] < key:
            place += 1
        if place < len(ids) and ids[place] == key:
            if y < -_LATITUDE or y > _LATITUDE or x < -_LONGITUDE or x > _LONGITUDE:
                return DAMAGED
            needed.lat[place], needed.lon[place] = y, x
        if not has_tags:
            continue
        uses, kind = 0, 0
        name: Any = np.int64(-1)
        population = name
        begin = at_tag
        while True:
            k, at_tag = number_at(block, at_tag, tag_end)
            if at_tag < 0:
                return DAMAGED
            if k == 0:
                break
            v, at_tag = number_at(block, at_tag, tag_end)
            if at_tag < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return DAMAGED
            use = about[k, USES]
            uses |= use
            if use & PLACE:
                kind = about[v, KIND]
            if use & NAME:
                name = -1 if about[v, USES] & EMPTY else v
            if use & POPULATION:
                population = v
        if kind > 0 and name >= 0:
            if y < -_LATITUDE or y > _LATITUDE or x < -_LONGITUDE or x > _LONGITUDE:
                return DAMAGED
            name = word_of(block, name, strings, words, state)
            if population >= 0:
                population = word_of(block, population, strings, words, state)
            if name < 0 or population == FULL:
                return FULL
            at_place = PLACE_COLUMNS * num_places
            nodes.place[at_place], nodes.place[at_place + 1], nodes.place[at_place + 2] = y, x, kind - 1
            nodes.place[at_place + 3], nodes.place[at_place + 4] = name, population
            num_places += 1
        if uses & WANTED == 0:
            continue
        while True:
            k, begin = number_at(block, begin, tag_end)
            if k == 0:
                break
            v, begin = number_at(block, begin, tag_end)
            if about[k, USES] & KEPT:
                word = word_of(block, k, strings, words, state)
                value = word_of(block, v, strings, words, state)
                if word < 0 or value < 0:
                    return FULL
                nodes.pair[num_pairs] = word << VALUE_BITS | value
                num_pairs += 1
        nodes.node[size] = key
        size += 1
        nodes.pair_first[size] = num_pairs
    if at_lat != lat_end or at_lon != lon_end or at_tag != tag_end:
        return DAMAGED
    state[SIZE], state[LAST_ID], state[SHAPES] = size, last, num_places
    return 0


@jit
def read_nodes(
    blocks: Blocks,
    known: Known,
    strings: Strings,
    words: Words,
    needed: Needed,
    nodes: NodeLists,
    columns: Ints,
    state: Ints,
) -> int:
    """Find coordinates of the nodes of some blobs that are needed, nodes with a wanted tag, and places with names.

    Parameters
    ----------
    needed : Needed
        Receives the coordinates.
    nodes : NodeLists
        Receives the nodes.
    columns : numpy.ndarray
        Room for `NUM_COLUMNS` numbers.

    Others are as for `read_ways`, and so is what is returned.
    """
    nodes.pair_first[0] = words.first[0] = 0
    for number in range(len(blocks.first) - 1):
        num_strings = read_table(blocks, number, known, strings)
        if num_strings < 0:
            return DAMAGED
        block = block_of(blocks, number)
        begin, end, at = next_group(block, np.int64(0), DENSE)
        while at >= 0:
            found = _find_nodes(block, begin, end, num_strings, columns, strings, words, needed, nodes, state)
            if found != 0:
                return int(found)
            begin, end, at = next_group(block, at, DENSE)
    return 0
