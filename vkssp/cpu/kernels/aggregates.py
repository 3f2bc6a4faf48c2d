"""Kernels of sums over rows of distances.

The nodes are taken in blocks, of which all rows are read before the next: the values of a block stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.cpu.kernels.types import Index, Int64s, Uint32s
from vkssp.jit import inlined, jit

UNREACHABLE = np.uint32(2**32 - 1)
BLOCK = 1024
WORD, LOW, HALF = np.uint64(32), np.uint64(2**32 - 1), np.uint64(2**31)


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


@inlined
def reciprocal(distance: np.uint64, bits: Index) -> np.uint64:
    """Return the reciprocal of a distance above 0, below 2**32, as a multiple of 2**-`bits`, off by 2**-29 of itself.

    A division of 16 bits is improved by a step of Newton's method, in integers, so that all devices agree.
    """
    zeros = 0
    while distance << np.uint64(zeros) < HALF:
        zeros += 1
    scaled = distance << np.uint64(zeros)
    first = (LOW // (scaled >> np.uint64(16))) << np.uint64(15)
    found = ((first * ((HALF + HALF - (first * scaled >> WORD)) & LOW)) >> np.uint64(31)) & LOW
    shift = 63 - zeros - bits
    return found >> np.uint64(shift) if shift >= 0 else found << np.uint64(-shift)


@jit
def total(distances: Uint32s, limit: np.uint32, bits: Index, out: Int64s) -> None:
    """Write what `vkssp.prepared.aggregates.Totals` has to `out`, shape (rows, 5)."""
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
                    reciprocals += np.int64(reciprocal(np.uint64(distance), bits))
        out[row, 0], out[row, 1], out[row, 2], out[row, 3], out[row, 4] = reached, whole, farthest, where, reciprocals
