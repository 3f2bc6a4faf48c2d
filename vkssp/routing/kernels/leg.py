"""Kernels of the arcs of legs, their lengths and the points along them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part
from vkssp.routing.kernels.vectors import copy_8

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@jit
def put_points(along: Any, skip: Any, drop: Any, points: Floats, out: Floats, begin: Ints) -> np.uint64:
    """Write the points along arcs after the first row of `out`, and return the number of rows; successive rows differ.

    A row of `along` has the first and the last of the points of an arc, all of which lie between them in `points`. The
    first `skip` points of the first arc and the last `drop` points of the last arc are left out. `begin` receives the
    row at which each arc begins.
    """
    count, lat, lon = np.uint64(1), out[0, 0], out[0, 1]
    for i in range(len(along)):
        at, end = np.int64(along[i, 0]), np.int64(along[i, 1])
        step = 1 if at < end else -1
        begin[i] = -1
        if i == 0 and skip > 0:
            begin[i] = 0
            at += step * skip
        number = (end - at) * step + 1
        if i == len(along) - 1:
            number -= drop
        if number > 0 and begin[i] < 0:
            lon_here = points[np.uint64(at), 1]
            if abs(lon_here) > 180.0:
                lon_here = (lon_here + 180.0) % 360.0 - 180.0
            is_same = points[np.uint64(at), 0] == lat and lon_here == lon
            begin[i] = count - np.uint64(1) if is_same else count
            if is_same:
                at += step
                number -= 1
        for _ in range(number):
            lat_here, lon_here = points[np.uint64(at), 0], points[np.uint64(at), 1]
            at += step
            if abs(lon_here) > 180.0:
                lon_here = (lon_here + 180.0) % 360.0 - 180.0
            if lat_here == lat and lon_here == lon:
                continue
            lat, lon = lat_here, lon_here
            out[count, 0] = lat
            out[count, 1] = lon
            count += np.uint64(1)
    return count


@jit
def put_arc_points(
    first: Any,
    points: Floats,
    along: Any,
    first_out: Any,
    head: Any,
    place: Ints,
    end_of: Ints,
    more: int,
    spans: Any,
    directed: Floats,
) -> bool:
    """Write the points of all streets in both directions, and the span of each arc in them, see `ArcPoints.arrays`.

    `directed` has room for `more` rows after each direction. `place` is room for a number for each point, and `end_of`,
    which has -1 for each node, for one of its points. Return False if arcs that follow each other do not meet.
    """
    count = np.int64(0)
    for line in range(len(first) - 1):
        for i in range(first[line], first[line + 1]):
            lat, lon = points[i, 0], points[i, 1]
            if abs(lon) > 180.0:
                lon = (lon + 180.0) % 360.0 - 180.0
            if i == first[line] or lat != directed[count - 1, 0] or lon != directed[count - 1, 1]:
                directed[count, 0], directed[count, 1] = lat, lon
                count += 1
            place[i] = count - 1
    back = count + more
    for i in range(count):
        directed[back + i, 0], directed[back + i, 1] = directed[count - 1 - i, 0], directed[count - 1 - i, 1]
    for arc in range(len(along)):
        one, other = place[along[arc, 0]], place[along[arc, 1]]
        spans[arc, 0] = one + 1 if along[arc, 0] < along[arc, 1] else back + count - one
        spans[arc, 1] = abs(other - one)
        node = head[arc]
        if end_of[node] < 0:
            end_of[node] = other
        elif directed[end_of[node], 0] != directed[other, 0] or directed[end_of[node], 1] != directed[other, 1]:
            return False
    for node in range(len(first_out) - 1):
        for arc in range(first_out[node], first_out[node + 1]):
            one = place[along[arc, 0]]
            end = end_of[node] if end_of[node] >= 0 else one
            if directed[end, 0] != directed[one, 0] or directed[end, 1] != directed[one, 1]:
                return False
    return True


@jit_part
def put_whole_arcs(arcs: Ints, spans: Any, directed: Floats, rows: Any, count: Any, out: Floats) -> Any:
    """Write the points of arcs after the first `count` rows of `out`, and return the number of rows then.

    The first arc begins at the last of those rows. `spans` and `directed` are those of `ArcPoints.arrays`. Four points
    are copied at once, so that the processor has hardly any branch to predict.
    """
    for i in range(len(arcs)):  # from all over memory, by reads that do not wait for each other
        rows[i, 0], rows[i, 1] = spans[arcs[i], 0], spans[arcs[i], 1]
    for i in range(len(arcs)):
        at, number = np.int64(rows[i, 0]), np.int64(rows[i, 1])
        copy_8(directed, 2 * at, out, 2 * count)
        for more in range(4, number, 4):
            copy_8(directed, 2 * (at + more), out, 2 * (count + more))
        count += number
    return count


@jit
def put_all_points(
    legs: Ints,
    first: Ints,
    arcs: Ints,
    along: Any,
    is_cut: Bools,
    first_segments: Ints,
    last_segments: Ints,
    ends: Floats,
    points: Floats,
    spans: Any,
    directed: Floats,
    out: Floats,
    rows: Any,
    begin: Ints,
    bounds: Ints,
) -> int:
    """Write the points of legs, one after the other, with the points at their ends; return the number of rows.

    `legs` are the numbers of those that have points. `first` has the offset of each leg's first arc in `arcs`, and
    `along` is that of the index, `spans` and `directed` those of `ArcPoints.arrays`. Each leg says whether it begins,
    and ends, on an arc, on which piece of the street these points lie, and has them as a column of `ends`. `bounds`
    receives the first row of each leg. `out` has room for four rows more than there may be; `rows` and `begin` are room
    for the arcs of a leg.
    """
    total, before = np.int64(0), 0
    for row in range(len(legs)):
        leg = legs[row]
        for between in range(before, leg + 1):
            bounds[between] = total
        before = leg + 1
        out[total, 0], out[total, 1] = ends[0, leg], ends[1, leg]
        low, high = first[leg], first[leg + 1]
        skip = drop = np.int64(0)
        size = high - low
        is_long = len(spans) > 0 and size > 2  # all arcs but the first and the last one are travelled whole
        last = np.int64(1) if is_long else size - 1
        for i in range(last + 1):  # from all over memory, by reads that do not wait for each other
            arc = arcs[high - 1 if i == last else low + i]
            rows[i, 0], rows[i, 1] = along[arc, 0], along[arc, 1]
        if is_cut[leg, 0]:
            one, other = np.int64(rows[0, 0]), np.int64(rows[0, 1])
            skip = first_segments[leg] + 1 if one < other else one - other - first_segments[leg]
        if is_cut[leg, 1]:
            one, other = np.int64(rows[last, 0]), np.int64(rows[last, 1])
            drop = other - one - last_segments[leg] if one < other else last_segments[leg] + 1
        own = out[total:]
        if is_long:
            size = np.int64(put_points(rows[:1], skip, np.int64(0), points, own, begin))
            size = put_whole_arcs(arcs[low + 1 : high - 1], spans, directed, rows[2:], size, own)
            rest = own[size - 1 :]
            size += np.int64(put_points(rows[1:2], np.int64(0), drop, points, rest, begin)) - 1
        else:
            size = np.int64(put_points(rows[:size], skip, drop, points, own, begin))
        lat, lon = ends[2, leg], ends[3, leg]
        if own[size - 1, 0] != lat or own[size - 1, 1] != lon:
            own[size, 0], own[size, 1] = lat, lon
            size += 1
        total += size
    for between in range(before, len(bounds)):
        bounds[between] = total
    return int(total)


@jit_part
def sum_of(values: Floats, begin: Any, end: Any, stack: Floats) -> float:
    """Return the sum of some values, added up in the order in which numpy does it, for the same last bits.

    `stack` is room for 64 rows of three numbers.
    """
    depth = 0
    while True:
        # Halves, the first of whole blocks of 8, until there are 128 values or fewer.
        while end - begin > 128:
            half = (end - begin) // 2
            half -= half % 8
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = begin + half, end, 0.0
            depth += 1
            end = begin + half
        if end - begin < 8:
            found = 0.0
            for i in range(begin, end):
                found += values[i]
        else:
            a, b, c, d = values[begin], values[begin + 1], values[begin + 2], values[begin + 3]
            e, f, g, h = values[begin + 4], values[begin + 5], values[begin + 6], values[begin + 7]
            i = begin + 8
            while i + 8 <= end:
                a, b, c, d = a + values[i], b + values[i + 1], c + values[i + 2], d + values[i + 3]
                e, f, g, h = e + values[i + 4], f + values[i + 5], g + values[i + 6], h + values[i + 7]
                i += 8
            found = ((a + b) + (c + d)) + ((e + f) + (g + h))
            while i < end:
                found += values[i]
                i += 1
        # The first half of the last one, whose second half is still to be added, or a second half.
        while depth > 0 and stack[depth - 1, 0] < 0.0:
            depth -= 1
            found = stack[depth, 2] + found
        if depth == 0:
            return found
        begin, end = np.int64(stack[depth - 1, 0]), np.int64(stack[depth - 1, 1])
        stack[depth - 1, 0], stack[depth - 1, 2] = -1.0, found


@jit
def put_legs(
    path_first: Ints,
    path_arcs: Ints,
    ends: Ints,
    at: Floats,
    is_direct: Bools,
    along: Any,
    metres_of: Any,
    other_metres: Any,
    first: Ints,
    arcs: Ints,
    room: Floats,
    is_cut: Bools,
    sums: Floats,
    stack: Floats,
) -> int:
    """Write the arcs of legs, one leg after the other, and return the number of points between their first and last.

    `path_first` and `path_arcs` are the arcs between the phantom nodes of each leg, `ends` the arcs of these, -1 for
    none, and `at` the parts of them before the points. `along` is that of the index; `metres_of` are the same bits,
    whose last column is the length of an arc, unless `other_metres` has one for each arc. `first` receives the offset
    of each leg's first arc, `sums` the length of each leg, and `is_cut` whether it begins, and ends, on an arc. `room`
    has room for a number for each arc of a leg.
    """
    total, pieces = np.int64(0), np.int64(0)
    for leg in range(len(sums)):
        first[leg] = total
        one, other, direct = ends[leg, 0], ends[leg, 1], is_direct[leg]
        is_begun, is_ended = one >= 0, other >= 0 and not direct
        if is_begun:
            arcs[total] = one
            total += 1
        for i in range(path_first[leg], path_first[leg + 1]):
            arcs[total] = path_arcs[i]
            total += 1
        if is_ended:
            arcs[total] = other
            total += 1
        begin, count = first[leg], total - first[leg]
        for i in range(count):
            arc = arcs[begin + i]
            pieces += abs(np.int64(along[arc, 0]) - np.int64(along[arc, 1]))
            room[i] = np.float64(metres_of[arc, 3]) if len(other_metres) == 0 else np.float64(other_metres[arc])
        if is_begun:
            room[0] *= (at[leg, 1] if direct else 1.0) - at[leg, 0]
        if is_ended:
            room[count - 1] *= at[leg, 1]
        sums[leg] = sum_of(room, np.int64(0), count, stack)
        # A leg that is travelled whole is not cut: on a loop, the snapped point may be at either end.
        is_cut[leg, 0] = one >= 0 and at[leg, 0] > 0.0
        is_cut[leg, 1] = other >= 0 and at[leg, 1] < 1.0
    first[len(sums)] = total
    return int(pieces)
