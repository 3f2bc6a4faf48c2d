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


@jit
def put_all_points(
    first: Ints, along: Any, cut: Ints, ends: Floats, points: Floats, out: Floats, begin: Ints, counts: Ints
) -> int:
    """Write the points of legs, one after the other, with the points at their ends; return the number of rows.

    `first` has the first of each leg's arcs in `along`, whose rows are those of `put_points`. A row of `cut` has the
    points that are left out at the beginning and at the end of a leg, and a row of `ends` the points there. `counts`
    receives the number of rows of each leg, and `begin` is room for a number for each arc.
    """
    total = np.int64(0)
    for leg in range(len(counts)):
        out[total, 0], out[total, 1] = ends[leg, 0], ends[leg, 1]
        arcs, own = along[first[leg] : first[leg + 1]], out[total:]
        size = np.int64(put_points(arcs, cut[leg, 0], cut[leg, 1], points, own, begin[first[leg] : first[leg + 1]]))
        lat, lon = ends[leg, 2], ends[leg, 3]
        if own[size - 1, 0] != lat or own[size - 1, 1] != lon:
            own[size, 0], own[size, 1] = lat, lon
            size += 1
        counts[leg] = size
        total += size
    return int(total)
