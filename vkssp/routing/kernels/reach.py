"""Kernels of the parts of streets that lie within limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit_allocating

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# The distance of a node to which no path leads.
_UNREACHABLE = 2**32 - 1


@jit_allocating
def reached(
    first_out: Any,
    head: Any,
    distances: Any,
    weight: Any,
    turn: Any,
    carried: Any,
    backward: Any,
    polyline_of: Any,
    num_polylines: int,
    opened: Floats,
    limits: Ints,
    reverse: bool,
) -> tuple[Ints, Floats, Floats]:
    """Return the polylines that are reached, and the parts of each that are covered from its start and from its end.

    See `street_reach.approach`. Turns, ferries and the parts before areas to avoid are empty if there are none. The
    parts have a column for each limit; limits ascend.
    """
    levels = len(limits)
    highest, count = limits[levels - 1], 0
    place = np.zeros(num_polylines, np.int32)  # 0 if a polyline is not reached yet, and otherwise its place and 1
    lines = np.empty(num_polylines, np.int64)
    rise, fall = np.empty((num_polylines, levels)), np.empty((num_polylines, levels))
    for node in range(len(first_out) - 1):
        distance = np.int64(distances[node])
        if not reverse and (distance == _UNREACHABLE or distance > highest):
            continue
        for arc in range(np.int64(first_out[node]), np.int64(first_out[node + 1])):
            if reverse:
                distance = np.int64(distances[head[arc]])
                if distance == _UNREACHABLE or distance > highest:
                    continue
            if len(carried) > 0 and carried[arc]:
                continue
            turned = np.int64(turn[arc]) if len(turn) > 0 else 0
            along = np.int64(weight[arc]) - turned
            before = distance + (0 if reverse else turned)
            if before > highest:
                continue
            line, is_fall = polyline_of[arc], backward[arc] != reverse
            if place[line] == 0:
                lines[count] = line
                rise[count] = 0.0
                fall[count] = 0.0
                count += 1
                place[line] = count
            at = place[line] - 1
            for level in range(levels - 1, -1, -1):
                left = limits[level] - before
                if left < 0 or distance > limits[level]:  # turns may take less than no time
                    break
                part = 1.0 if left >= along else left / along
                if len(opened) > 0:
                    part = min(part, opened[arc])
                if is_fall:
                    fall[at, level] = max(fall[at, level], part)
                else:
                    rise[at, level] = max(rise[at, level], part)
    return lines[:count], rise[:count], fall[:count]


@jit_allocating
def spans_of(
    reached: Ints,
    rise: Floats,
    fall: Floats,
    is_apart: Any,
    apart: Ints,
    apart_low: Floats,
    apart_high: Floats,
    first_apart: Ints,
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return the polyline, the level, and the bounds of the parts of polylines that are covered, by levels.

    A polyline that is covered as a whole on one level has no parts on those above it. The last array has the part of
    each polyline that is covered on each level, shape (levels, num_polylines).

    Parameters
    ----------
    reached, rise, fall
        As `reached` returns them.
    is_apart : numpy.ndarray
        Whether the parts of a polyline are given, shape (num_polylines,), bool.
    apart, apart_low, apart_high, first_apart
        These parts: polylines and bounds, those of a level from its offset in `first_apart` on.
    """
    levels = len(first_apart) - 1
    most = len(apart) + 2 * levels * len(reached)
    lines, level_of, low, high = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most), np.empty(most)
    covered, count = np.zeros((levels, len(is_apart))), 0
    for level in range(levels):
        begin, end = first_apart[level], first_apart[level + 1]
        for n in range(begin, end):
            if level == 0 or covered[level - 1, apart[n]] < 1.0:
                lines[count], level_of[count] = apart[n], level
                low[count], high[count] = apart_low[n], apart_high[n]
                count += 1
            covered[level, apart[n]] += apart_high[n] - apart_low[n]
        for n in range(begin, end):
            covered[level, apart[n]] = min(covered[level, apart[n]], 1.0)
        for at in range(len(reached)):
            line, up, down = reached[at], rise[at, level], fall[at, level]
            if is_apart[line] or (up == 0.0 and down == 0.0):
                continue
            if up + down >= 1.0:
                up, down = 1.0, 0.0
            is_new = level == 0 or covered[level - 1, line] < 1.0
            if is_new and up > 0.0:
                lines[count], level_of[count], low[count], high[count] = line, level, 0.0, up
                count += 1
            if is_new and down > 0.0:
                lines[count], level_of[count], low[count], high[count] = line, level, 1.0 - down, 1.0
                count += 1
            covered[level, line] = min(up + (1.0 - (1.0 - down)), 1.0)
    return lines[:count], level_of[:count], low[:count], high[:count], covered
