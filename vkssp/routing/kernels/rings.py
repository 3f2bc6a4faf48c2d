"""Kernel of rings: simplified, measured, and without those that are too small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_allocating

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Fewest points of a ring, of which the last one is the first again.
_LEAST = 4


@jit
def _farthest(x: Floats, y: Floats, begin: int, end: int) -> Any:
    """Return the point between two others that is farthest from the straight line between these, and its distance."""
    ax, ay, bx, by = x[begin], y[begin], x[end], y[end]
    dx, dy = bx - ax, by - ay
    squared = dx * dx + dy * dy
    length = math.sqrt(squared)
    found, most = begin, -1.0
    for k in range(begin + 1, end):
        px, py = x[k] - ax, y[k] - ay
        along = px * dx + py * dy
        if along <= 0.0 or squared == 0.0:
            distance = math.sqrt(px * px + py * py)
        elif along >= squared:
            px, py = x[k] - bx, y[k] - by
            distance = math.sqrt(px * px + py * py)
        else:
            distance = abs((px * dy - py * dx) / squared) * length
        if distance > most:
            found, most = k, distance
    return found, most


@jit_allocating
def simplified(
    points: Floats, first: Ints, square: Floats, tolerance: float, hole: float
) -> tuple[Floats, Ints, Floats]:
    """Return rings without the points that a simpler ring passes within a tolerance, and without small holes.

    The ends of a ring, which are the same point, remain (D. Douglas, T. Peucker, Algorithms for the reduction of the
    number of points required to represent a digitized line or its caricature, 1973).

    Parameters
    ----------
    points, first
        Points of the rings, shape (k, 2), from the offset of each ring's first one on.
    square : numpy.ndarray
        Square metres of a unit of area at each ring.
    tolerance : float
        Distance in units of the plane.
    hole : float
        Square metres of the smallest hole, a ring that is clockwise.

    Returns
    -------
    points, first
        The rings that remain; the last point of each is the first again.
    size : numpy.ndarray
        Square metres of each ring, less than 0 for holes.
    """
    count, longest = len(first) - 1, 0
    for ring in range(count):
        longest = max(longest, first[ring + 1] - first[ring])
    x, y = np.empty(longest + 1), np.empty(longest + 1)
    is_kept, stack = np.empty(longest + 1, np.bool_), np.empty(longest + 1, np.int64)
    found, found_first, size = np.empty((len(points) + count, 2)), np.zeros(count + 1, np.int64), np.empty(count)
    placed, number = 0, 0
    for ring in range(count):
        begin, last = first[ring], first[ring + 1] - first[ring]
        for k in range(last):
            x[k], y[k] = points[begin + k, 0], points[begin + k, 1]
            is_kept[k] = False
        x[last], y[last], is_kept[0], is_kept[last] = x[0], y[0], True, True
        # The stack has the ends of sections that follow the one from `low` to `high`.
        low, high, waiting = 0, last, 0
        while True:
            middle, most = _farthest(x, y, low, high)
            if most > tolerance:
                is_kept[middle] = True
                stack[waiting] = high
                waiting += 1
                high = middle
                continue
            if waiting == 0:
                break
            waiting -= 1
            low, high = high, stack[waiting]
        kept, doubled = 0, 0.0
        before_x, before_y = x[0], y[0]
        for k in range(last + 1):
            if is_kept[k]:
                found[placed + kept, 0], found[placed + kept, 1] = x[k], y[k]
                kept += 1
                doubled += before_x * y[k] - x[k] * before_y
                before_x, before_y = x[k], y[k]
        size[number] = doubled / 2 * square[ring]
        if kept >= _LEAST and (size[number] > 0.0 or size[number] <= hole):
            placed += kept
            number += 1
            found_first[number] = placed
    return found[:placed], found_first[: number + 1], size[:number]
