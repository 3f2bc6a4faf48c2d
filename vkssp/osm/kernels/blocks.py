"""Kernels that decode blocks of .osm.pbf files (https://wiki.openstreetmap.org/wiki/PBF_Format).

They understand what nearly all files hold. A kernel returns -1 if a block is damaged, or holds something else.

Tags are pairs of indices into the block's table of strings. An array with the use of each string as a key says which
tags to keep: see `KEPT` and the other bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import inlined, jit

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: Uses of a string: as the key of tags to keep; as a key that makes an object wanted; as the key of names, and of
#: numbers, of streets. The fifth bit marks empty strings. The last ones are for the key of places, and of inhabitants.
KEPT, WANTED, NAME, REF, EMPTY, PLACE, POPULATION = 1, 2, 4, 8, 16, 32, 64
#: Numbers of a place: latitude, longitude, kind, and the indices of its name and population, or -1.
PLACE_COLUMNS = 5
#: Bits of a pair for the index of its value.
VALUE_BITS = 32


@inlined
def _number(data: Any, at: Any, end: Any) -> Any:
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


@inlined
def _first_from(ordered: Any, key: Any) -> Any:
    """Return the index of the first sorted number that is not below a key."""
    low, high = np.int64(0), np.int64(len(ordered))
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def join_strings(table: Bytes, text: Bytes, count: Ints) -> int:
    """Copy the strings of a table to a text, a zero after each; return the size of the text, and count the strings."""
    at, size = 0, 0
    while at < len(table):
        if table[at] != 10:
            return -1
        length, at = _number(table, at + 1, len(table))
        if at < 0 or length < 0 or length > len(table) - at:
            return -1
        for i in range(length):
            text[size + i] = table[at + i]
        at += length
        size += length
        text[size] = 0
        size += 1
        count[0] += 1
    return size


@jit
def find_ways(
    block: Bytes,
    at: int,
    end: int,
    use: Bytes,
    way: Ints,
    names: Ints,
    pair_first: Ints,
    pairs: Ints,
    ref_first: Ints,
    refs: Ints,
    as_key: Bytes,
    as_value: Bytes,
    members: Ints,
    shape: Ints,
    shape_first: Ints,
    shape_refs: Ints,
    state: Ints,
) -> int:
    """Decode the ways of a group that have a wanted tag, and those that are shapes of the basemap; return 0, or -1.

    `state` holds the number of ways found, the ids of the last and the first way of the block, and the number of
    shapes. Ids are above 0 and ascend. `names` receives the indices of each way's name and number, or that of the
    string after the last. A way is a shape if a bit of `as_key` for the key of a tag is one of `as_value` for its
    value, or if it is among `members`, which are sorted; `shape` receives its id and these bits.
    """
    num_strings = len(use) - 1
    size, last, num_shapes = state[0], state[1], state[3]
    num_pairs, num_refs = pair_first[size], ref_first[size]
    num_shape_refs = shape_first[num_shapes]
    member = np.int64(-1)
    while at < end:
        if block[at] != 26:  # field 3, a message
            return -1
        length, at = _number(block, at + 1, end)
        if at < 0 or length < 0 or length > end - at:
            return -1
        stop = at + length
        key = np.int64(0)
        keys: Any = np.int64(0)
        keys_end = values = values_end = nodes = nodes_end = keys
        while at < stop:
            tag = block[at]
            number, at = _number(block, at + 1, stop)
            if at < 0:
                return -1
            if tag == 8:
                key = number
                continue
            if number < 0 or number > stop - at:
                return -1
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
                        return -1
                    if info < 0:
                        return -1
            else:
                return -1
            at += number
        if key <= last:
            return -1
        if last == 0:
            state[2] = key
        last = key
        uses, rules, name, ref = 0, 0, num_strings, num_strings
        while keys < keys_end:
            k, keys = _number(block, keys, keys_end)
            v, values = _number(block, values, values_end)
            if keys < 0 or values < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return -1
            uses |= use[k]
            rules |= as_key[k] & as_value[v]
            if use[k] & KEPT:
                pairs[num_pairs] = k << VALUE_BITS | v
                num_pairs += 1
            if use[k] & NAME:
                name = v
            if use[k] & REF:
                ref = v
        if values != values_end:
            return -1
        if member < 0:
            member = _first_from(members, key)
        while member < len(members) and members[member] < key:
            member += 1
        is_wanted = (uses & WANTED) != 0
        is_shape = rules != 0 or (member < len(members) and members[member] == key)
        if not is_wanted:
            num_pairs = pair_first[size]
            if not is_shape:
                continue
        node = np.int64(0)
        while nodes < nodes_end:
            step, nodes = _number(block, nodes, nodes_end)
            if nodes < 0:
                return -1
            node += _unfolded(step)
            if node <= 0:
                return -1
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
        way[size], names[2 * size], names[2 * size + 1] = key, name, ref
        size += 1
        pair_first[size], ref_first[size] = num_pairs, num_refs
    state[0], state[1], state[3] = size, last, num_shapes
    return 0


@jit
def are_below(steps: Bytes, limit: int) -> bool:
    """Return whether all numbers are from 0 to below a limit, given the step to each from the one before."""
    at, value = np.int64(0), np.int64(0)
    while at < len(steps):
        step, at = _number(steps, at, len(steps))
        value += _unfolded(step)
        if at < 0 or value < 0 or value >= limit:
            return False
    return True


@jit
def find_nodes(
    keys: Bytes,
    lats: Bytes,
    lons: Bytes,
    tags: Bytes,
    use: Bytes,
    needed: Ints,
    lat: Any,
    lon: Any,
    node: Ints,
    pair_first: Ints,
    pairs: Ints,
    as_place: Bytes,
    places: Ints,
    state: Ints,
) -> int:
    """Find coordinates of the nodes in `needed`, which is sorted, and nodes with a wanted tag; return 0, or -1.

    `state` is as for `find_ways`, and holds the number of places instead of shapes. The coordinates of needed nodes
    and of places are in the bounds of latitudes and longitudes. `as_place` has one more than the kind of place that
    each string stands for, or 0, and `places` receives `PLACE_COLUMNS` of each place.
    """
    num_strings = len(use)
    size, last, num_places = state[0], state[1], state[3]
    num_pairs = pair_first[size]
    at = at_lat = at_lon = at_tag = np.int64(0)
    key = y = x = np.int64(0)
    place = np.int64(-1)
    while at < len(keys):
        step, at = _number(keys, at, len(keys))
        step_y, at_lat = _number(lats, at_lat, len(lats))
        step_x, at_lon = _number(lons, at_lon, len(lons))
        if at < 0 or at_lat < 0 or at_lon < 0:
            return -1
        key += _unfolded(step)
        y += _unfolded(step_y)
        x += _unfolded(step_x)
        if key <= last:
            return -1
        if last == 0:
            state[2] = key
        last = key
        if place < 0:
            place = _first_from(needed, key)
        while place < len(needed) and needed[place] < key:
            place += 1
        if place < len(needed) and needed[place] == key:
            if y < -900000000 or y > 900000000 or x < -1800000000 or x > 1800000000:
                return -1
            lat[place], lon[place] = y, x
        if len(tags) == 0:
            continue
        uses, kind = 0, 0
        name, population = np.int64(-1), np.int64(-1)
        while True:
            k, at_tag = _number(tags, at_tag, len(tags))
            if at_tag < 0:
                return -1
            if k == 0:
                break
            v, at_tag = _number(tags, at_tag, len(tags))
            if at_tag < 0 or k < 0 or k >= num_strings or v < 0 or v >= num_strings:
                return -1
            uses |= use[k]
            if use[k] & KEPT:
                pairs[num_pairs] = k << VALUE_BITS | v
                num_pairs += 1
            if use[k] & PLACE:
                kind = as_place[v]
            if use[k] & NAME:
                name = v
            if use[k] & POPULATION:
                population = v
        if kind > 0 and name >= 0:
            if y < -900000000 or y > 900000000 or x < -1800000000 or x > 1800000000:
                return -1
            at_place = PLACE_COLUMNS * num_places
            places[at_place], places[at_place + 1], places[at_place + 2] = y, x, kind - 1
            places[at_place + 3], places[at_place + 4] = name, population
            num_places += 1
        if uses & WANTED:
            node[size] = key
            size += 1
            pair_first[size] = num_pairs
        else:
            num_pairs = pair_first[size]
    if at_lat != len(lats) or at_lon != len(lons) or at_tag != len(tags):
        return -1
    state[0], state[1], state[3] = size, last, num_places
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
