"""Kernel that leaves out points of a line: Douglas and Peucker (1973)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit


@jit
def simplify(
    x: npt.NDArray[np.int64],
    y: npt.NDArray[np.int64],
    threshold: int,
    kept: npt.NDArray[np.bool_],
    stack: npt.NDArray[np.int64],
) -> None:
    """Mark the points that are kept, so that no other is farther than `threshold` from the line between its neighbours.

    `stack` has room for pairs of points, two for each point.
    """
    kept[0] = kept[len(x) - 1] = True
    stack[0], stack[1], size = 0, len(x) - 1, 2
    while size > 0:
        size -= 2
        first, last = stack[size], stack[size + 1]
        to_x, to_y = x[last] - x[first], y[last] - y[first]
        length = float(to_x) * to_x + float(to_y) * to_y
        most, at = float(threshold) * threshold, -1
        for i in range(first + 1, last):
            here_x, here_y = x[i] - x[first], y[i] - y[first]
            part = 0.0
            if length > 0:
                part = min(1.0, max(0.0, (float(here_x) * to_x + float(here_y) * to_y) / length))
            off_x, off_y = here_x - np.rint(part * to_x), here_y - np.rint(part * to_y)
            distance = off_x * off_x + off_y * off_y
            if distance > most:
                most, at = distance, i
        if at >= 0:
            kept[at] = True
            stack[size], stack[size + 1], stack[size + 2], stack[size + 3] = first, at, at, last
            size += 4
