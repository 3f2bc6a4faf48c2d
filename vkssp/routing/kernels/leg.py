"""Kernel of the points along a leg."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@jit
def put_points(spans: Ints, skip: int, drop: int, points: Floats, out: Floats, begin: Ints) -> int:
    """Write the points along arcs after the first row of `out`, and return the number of rows; successive rows differ.

    A row of `spans` has the first and the last of the points of an arc, all of which lie between them in `points`. The
    first `skip` points of the first arc and the last `drop` points of the last arc are left out. `begin` receives the
    row at which each arc begins.
    """
    count = 1
    for i in range(len(spans)):
        at, step = spans[i, 0], (1 if spans[i, 0] < spans[i, 1] else -1)
        low, high = 0, abs(spans[i, 1] - at) + 1
        begin[i] = -1
        if i == 0 and skip > 0:
            begin[i] = 0
            low = skip
        if i == len(spans) - 1:
            high -= drop
        for k in range(low, high):
            lat, lon = points[at + step * k, 0], points[at + step * k, 1]
            if abs(lon) > 180.0:
                lon = (lon + 180.0) % 360.0 - 180.0
            if lat != out[count - 1, 0] or lon != out[count - 1, 1]:
                out[count, 0] = lat
                out[count, 1] = lon
                count += 1
            if begin[i] < 0:
                begin[i] = count - 1
    return count
