"""Kernel of the streets at the intersections along a leg, in the order of their bearings."""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.guidance.kernels.net import BEARING
from vkssp.jit import jit, jit_part


@jit_part
def rounded_to(bearing: Any, step: Any) -> Any:
    """Return a bearing as the nearest multiple of a step, from 0 to less than 360."""
    return np.int64(np.rint(bearing / step)) * step % 360


@jit
def find_crossings(
    net: Any,
    sides: Any,
    rows: Any,
    roads: Any,
    entries: Any,
    step: Any,
    order: Any,
    points: Any,
    first: Any,
    bearings: Any,
    entry: Any,
    ways: Any,
) -> None:
    """Write the streets at each intersection; see `vkssp.guidance.leg_steps.LegCrossings`.

    `rows`, `roads` and `entries` are those of `find_turns` for the sides of a path. Bearings are rounded to multiples
    of `step`; `order` has room for the roads of an intersection.
    """
    size = 0
    for row in range(len(rows)):
        begin, count = rows[row, 3], rows[row, 4]
        came, goes = sides[rows[row, 0]] ^ 1, sides[rows[row, 0] + 1]
        for k in range(count):
            bearing, j = net.metric[roads[begin + k, 0], BEARING], k
            rounded = rounded_to(bearing, step)
            while j > 0:
                other = net.metric[roads[order[j - 1], 0], BEARING]
                other_rounded = rounded_to(other, step)
                if other_rounded < rounded or (other_rounded == rounded and other <= bearing):
                    break
                order[j] = order[j - 1]
                j -= 1
            order[j] = begin + k
        first[row] = size
        ways[row, 0] = ways[row, 1] = -1
        taken: Any = -1
        for k in range(count):
            side = roads[order[k], 0]
            bearings[size] = rounded_to(net.metric[side, BEARING], step)
            entry[size] = entries[order[k]]
            size += 1
            if side == came and ways[row, 0] < 0:
                ways[row, 0] = k
            if side == goes and ways[row, 1] < 0:
                ways[row, 1] = k
            if order[k] == begin + rows[row, 5]:
                taken = k
        if ways[row, 1] < 0:
            # At a place where carriageways are one street, the leg may leave by the side of another one.
            ways[row, 1] = taken
        road = roads[begin, 0]
        end = net.line_first[(road >> 1) + 1] - 1 if road & 1 else net.line_first[road >> 1]
        points[row, 0] = net.points[end, 0]
        points[row, 1] = net.points[end, 1]
    first[len(rows)] = size
