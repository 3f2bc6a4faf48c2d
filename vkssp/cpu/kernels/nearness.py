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

    `squares` has shape (cells, cells). Radii are whole numbers of cells, and none is less than that of the cell to the
    left by more than one, so that few are tried. Among cells with so many nodes that it is 0, nodes count as spread
    evenly in each cell, and half of `most` is allowed, since they are not.
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
            if radius > 0:
                squares[i, j] = radius**2
                continue
            densest = 1
            for row in range(max(i - 1, 0), min(i + 2, cells)):
                for column in range(max(j - 1, 0), min(j + 2, cells)):
                    inside = (
                        sums[row + 1, column + 1] - sums[row, column + 1] - sums[row + 1, column] + sums[row, column]
                    )
                    densest = max(densest, inside)
            squares[i, j] = min(most / (2 * np.pi * densest), 1.0)
