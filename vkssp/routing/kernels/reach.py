"""Kernels of the parts of streets that lie within limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_allocating

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# The distance of a node to which no path leads.
_UNREACHABLE = 2**32 - 1


@jit
def put_reached(
    nodes: Any,
    distances: Any,
    weight: Any,
    turn: Any,
    carried: Any,
    backward: Any,
    polyline_of: Any,
    opened: Floats,
    limits: Ints,
    reverse: bool,
    rise: Floats,
    fall: Floats,
) -> None:
    """Raise the parts of polylines that are covered from their start and from their end; see `street_reach.approach`.

    `nodes` are the tails of arcs or, if `reverse`, their heads. Turns, ferries and the parts before areas to avoid are
    empty if there are none. `rise` and `fall` have a row for each limit; limits ascend.
    """
    highest = limits[len(limits) - 1]
    for arc in range(len(nodes)):
        distance = distances[nodes[arc]]
        if distance == _UNREACHABLE or np.int64(distance) > highest or (len(carried) > 0 and carried[arc]):
            continue
        turned = np.int64(turn[arc]) if len(turn) > 0 else 0
        along = np.int64(weight[arc]) - turned
        line, is_fall = polyline_of[arc], backward[arc] != reverse
        for level in range(len(limits) - 1, -1, -1):
            left = limits[level] - np.int64(distance) - (0 if reverse else turned)
            if left < 0 or np.int64(distance) > limits[level]:  # turns may take less than no time
                break
            part = 1.0 if left >= along else left / along
            if len(opened) > 0:
                part = min(part, opened[arc])
            if is_fall:
                fall[level, line] = max(fall[level, line], part)
            else:
                rise[level, line] = max(rise[level, line], part)


@jit_allocating
def spans_of(
    rise: Floats,
    fall: Floats,
    is_apart: Any,
    apart: Ints,
    apart_low: Floats,
    apart_high: Floats,
    first_apart: Ints,
    length: Floats,
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return the polyline, the level, and the bounds of the parts of polylines that are covered, by levels.

    A polyline that is covered as a whole on one level has no parts on those above it. The last array has the metres of
    each polyline that are covered on each level.

    Parameters
    ----------
    rise, fall : numpy.ndarray
        Parts that are covered from the start and from the end, shape (levels, num_polylines), float64.
    is_apart : numpy.ndarray
        Whether the parts of a polyline are given, shape (num_polylines,), bool.
    apart, apart_low, apart_high, first_apart
        These parts: polylines and bounds, those of a level from its offset in `first_apart` on.
    length : numpy.ndarray
        Metres of each polyline.
    """
    levels, num_lines = rise.shape
    most = len(apart)
    for level in range(levels):
        for line in range(num_lines):
            most += (rise[level, line] > 0.0) + (fall[level, line] > 0.0)
    lines, level_of, low, high = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most), np.empty(most)
    covered, metres, count = np.zeros(num_lines), np.zeros((levels, num_lines)), 0
    for level in range(levels):
        begin, end = first_apart[level], first_apart[level + 1]
        for n in range(begin, end):
            if covered[apart[n]] < 1.0:
                lines[count], level_of[count] = apart[n], level
                low[count], high[count] = apart_low[n], apart_high[n]
                count += 1
        for n in range(begin, end):
            covered[apart[n]] = 0.0
        for n in range(begin, end):
            covered[apart[n]] += apart_high[n] - apart_low[n]
        for line in range(num_lines):
            up, down = rise[level, line], fall[level, line]
            if not is_apart[line]:
                if up == 0.0 and down == 0.0:
                    continue
                if up + down >= 1.0:
                    up, down = 1.0, 0.0
                is_new = covered[line] < 1.0
                if is_new and up > 0.0:
                    lines[count], level_of[count], low[count], high[count] = line, level, 0.0, up
                    count += 1
                if is_new and down > 0.0:
                    lines[count], level_of[count], low[count], high[count] = line, level, 1.0 - down, 1.0
                    count += 1
                covered[line] = up + (1.0 - (1.0 - down))
            metres[level, line] = min(covered[line], 1.0) * length[line]
    return lines[:count], level_of[:count], low[:count], high[:count], metres
