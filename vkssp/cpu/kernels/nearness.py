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
