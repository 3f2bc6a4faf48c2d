"""Kernel of the points along a leg."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@jit
def put_points(along: Any, skip: int, drop: int, points: Floats, out: Floats, begin: Ints) -> np.uint64:
    """Write the points along arcs after the first row of `out`, and return the number of rows; successive rows differ.

    A row of `along` has the first and the last of the points of an arc, all of which lie between them in `points`. The
    first `skip` points of the first arc and the last `drop` points of the last arc are left out. `begin` receives the
    row at which each arc begins.
    """
    count, lat, lon = np.uint64(1), out[0, 0], out[0, 1]
    for i in range(len(along)):
        at, end = np.int64(along[i, 0]), np.int64(along[i, 1])
        step = 1 if at < end else -1
        end += step
        begin[i] = -1
        if i == 0 and skip > 0:
            begin[i] = 0
            at += step * skip
        if i == len(along) - 1:
            end -= step * drop
        while (end - at) * step > 0:
            lat_here, lon_here = points[np.uint64(at), 0], points[np.uint64(at), 1]
            if abs(lon_here) > 180.0:
                lon_here = (lon_here + 180.0) % 360.0 - 180.0
            if lat_here != lat or lon_here != lon:
                lat, lon = lat_here, lon_here
                out[count, 0] = lat
                out[count, 1] = lon
                count += np.uint64(1)
            if begin[i] < 0:
                begin[i] = count - np.uint64(1)
            at += step
    return count
