"""Kernels of the arcs and the points along a leg."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@jit
def measure(
    arcs: Ints,
    parts: Floats,
    lengths: Any,
    weight: Any,
    turn: Any,
    begun: bool,
    polyline_of: Any,
    first: Ints,
    metres: Floats,
    weights: Ints,
) -> int:
    """Write the metres and the weight of the part of each arc, and return the number of points of the whole arcs.

    `turn` has the weight of the turn into each arc, or is empty. If `begun`, the path begins on the first arc, whose
    turn does not count.
    """
    count = 0
    for i in range(len(arcs)):
        arc = arcs[i]
        metres[i] = parts[i] * np.float64(lengths[arc])
        before = np.int64(turn[arc]) if len(turn) else 0
        # Rounded as in `vkssp.routing.phantoms.part_weight`.
        weights[i] = np.int64(np.rint(parts[i] * np.float64(np.int64(weight[arc]) - before)))
        if i > 0 or not begun:
            weights[i] += before
        line = polyline_of[arc]
        count += first[line + 1] - first[line]
    return count


@jit
def put_points(
    arcs: Ints,
    skip: int,
    drop: int,
    first: Ints,
    points: Floats,
    polyline_of: Any,
    backward: Any,
    out: Floats,
    begin: Ints,
) -> int:
    """Write the points along arcs after the first row of `out`, and return the number of rows; successive rows differ.

    The first `skip` points of the first arc and the last `drop` points of the last arc are left out. `begin` receives
    the row at which each arc begins.
    """
    count = 1
    for i in range(len(arcs)):
        line = polyline_of[arcs[i]]
        at, step = first[line], 1
        low, high = 0, first[line + 1] - first[line]
        if backward[arcs[i]]:
            at, step = first[line + 1] - 1, -1
        begin[i] = -1
        if i == 0 and skip > 0:
            begin[i] = 0
            low = skip
        if i == len(arcs) - 1:
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
