"""Kernels of the number of nodes around a place."""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Float32s, Index, Int32s
from vkssp.jit import jit


@jit
def count_around(at: Float32s, sums: Int32s, source: Index, target: Index) -> float:
    """Return about how many nodes are at most as far from a node as another one.

    `at` has the places of the nodes in units of the cells of a square map, and `sums` the number of nodes below and to
    the left of each corner of a cell.
    """
    x, y = at[source, 0], at[source, 1]
    radius = np.sqrt((x - at[target, 0]) ** 2 + (y - at[target, 1]) ** 2)
    last = np.float32(len(sums) - 1)
    count = 0.0
    for side in range(4):
        # The corners of a square, whose sums count twice positive and twice negative.
        u = min(max(x + (radius if side & 1 else -radius), np.float32(0.0)), last)
        v = min(max(y + (radius if side & 2 else -radius), np.float32(0.0)), last)
        i, j = min(int(v), len(sums) - 2), min(int(u), len(sums) - 2)
        b, a = v - i, u - j
        here = (1 - b) * ((1 - a) * sums[i, j] + a * sums[i, j + 1])
        here += b * ((1 - a) * sums[i + 1, j] + a * sums[i + 1, j + 1])
        count += here if side in (0, 3) else -here
    return count * np.pi / 4


@jit
def near_squares(sums: Int32s, most: float, squares: Float32s) -> None:
    """Write for each cell the square of a radius within which there are less than `most` nodes around its nodes.

    `squares` has shape (cells, cells). No radius is less than that of the cell to the left by more than a cell, so that
    few are tried.
    """
    cells = len(sums) - 1
    for i in range(cells):
        radius = -1
        for j in range(cells):
            radius = max(radius - 1, -1)
            while radius < cells:
                wider = radius + 1
                low, high = max(i - wider, 0), min(i + wider + 1, cells)
                left, right = max(j - wider, 0), min(j + wider + 1, cells)
                if sums[high, right] - sums[low, right] - sums[high, left] + sums[low, left] >= most:
                    break
                radius = wider
            squares[i, j] = max(radius, 0) ** 2
