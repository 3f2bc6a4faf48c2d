"""Kernels of sums over rows of distances.

The nodes are taken in blocks, of which all rows are read before the next: the values of a block stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.cpu.kernels.types import Index, Int64s, Uint32s
from vkssp.jit import jit

UNREACHABLE = np.uint32(2**32 - 1)
BLOCK = 1024


@jit
def cumulate(distances: Uint32s, values: Int64s, limits: Uint32s, out: Int64s) -> None:
    """Add the values of the nodes within each limit to `out`, shape (rows, limits * columns), at first 0."""
    columns, last = values.shape[1], limits[len(limits) - 1]
    for begin in range(0, len(values), BLOCK):
        end = min(begin + BLOCK, len(values))
        for row in range(len(distances)):
            for node in range(begin, end):
                distance = distances[row, node]
                if distance <= last and distance != UNREACHABLE:
                    at = 0
                    while limits[at] < distance:
                        at += 1
                    for column in range(columns):
                        out[row, at * columns + column] += values[node, column]
    for row in range(len(distances)):
        for at in range(columns, out.shape[1]):
            out[row, at] += out[row, at - columns]


@jit
def decay(distances: Uint32s, values: Int64s, weights: Uint32s, shift: Index, limit: np.uint32, out: Int64s) -> None:
    """Add the values of nodes, times the weights of their distances, to `out`, shape (rows, columns), at first 0."""
    for begin in range(0, len(values), BLOCK):
        end = min(begin + BLOCK, len(values))
        for row in range(len(distances)):
            for node in range(begin, end):
                distance = distances[row, node]
                if distance <= limit and distance != UNREACHABLE:
                    weight: Any = np.int64(weights[np.int64(distance) >> shift])
                    for column in range(values.shape[1]):
                        out[row, column] += values[node, column] * weight


@jit
def total(distances: Uint32s, limit: np.uint32, bits: Index, out: Int64s) -> None:
    """Write what `vkssp.prepared.aggregates.Totals` has to `out`, shape (rows, 5)."""
    one = np.int64(1) << bits
    for row in range(len(distances)):
        reached = whole = reciprocals = np.int64(0)
        farthest, where = np.int64(-1), np.int64(-1)
        for node in range(distances.shape[1]):
            if distances[row, node] <= limit and distances[row, node] != UNREACHABLE:
                distance = np.int64(distances[row, node])
                reached += 1
                whole += distance
                if distance > farthest:
                    farthest, where = distance, np.int64(node)
                if distance > 0:
                    reciprocals += one // distance
        out[row, 0], out[row, 1], out[row, 2], out[row, 3], out[row, 4] = reached, whole, farthest, where, reciprocals
