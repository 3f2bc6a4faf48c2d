"""Kernel of the points along a leg."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@jit
def put_points(
    arcs: Ints, ends: Floats, first: Ints, points: Floats, polyline_of: Any, backward: Any, out: Floats, begin: Ints
) -> int:
    """Write the points from one place along arcs to another, and return their number; successive points differ.

    A row of `ends` is the latitude and longitude of a place, and the piece of the first or of the last arc's polyline
    that the place lies on, -1 if the arc is travelled from or to its end. `begin` receives the index of the point at
    which each arc begins, and of the last point.
    """
    count = 0
    for i in range(-1, len(arcs) + 1):
        end = 0 if i < 0 else 1
        start: Any = 0
        low: Any = 0
        high: Any = 1
        step = 0
        is_place = i < 0 or i == len(arcs)
        if not is_place:
            line = np.int64(polyline_of[arcs[i]])
            start, step, high = first[line], 1, first[line + 1] - first[line]
            last = high - 2
            if backward[arcs[i]]:
                start, step = first[line + 1] - 1, -1
            if i == 0 and ends[0, 2] >= 0.0:
                piece = np.int64(ends[0, 2])
                low = (last - piece if step < 0 else piece) + 1
                begin[0] = 0
            if i == len(arcs) - 1 and ends[1, 2] >= 0.0:
                piece = np.int64(ends[1, 2])
                high = (last - piece if step < 0 else piece) + 1
        for k in range(low, high):
            at = start + step * k
            lat = ends[end, 0] if is_place else points[at, 0]
            lon = ends[end, 1] if is_place else points[at, 1]
            if abs(lon) > 180.0:
                lon = (lon + 180.0) % 360.0 - 180.0
            if count == 0 or lat != out[count - 1, 0] or lon != out[count - 1, 1]:
                out[count, 0] = lat
                out[count, 1] = lon
                count += 1
            if k == 0 and i >= 0:
                begin[i] = count - 1
    return count
