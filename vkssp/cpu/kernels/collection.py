"""Kernels that add the values of sources to the groups of nodes that are near them, given rows of distances."""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.aggregates import bin_of
from vkssp.cpu.kernels.types import Index, Int64s, Uint32s
from vkssp.cpu.kernels.vectors import lesser
from vkssp.jit import inlined, jit

FARTHEST = np.uint64(2**32 - 2)


@inlined
def distance_of(row: Uint32s, begin: Index, end: Index, columns: Uint32s, offsets: Uint32s) -> np.uint64:
    """Return the least distance of a group's nodes with their offsets, beyond all others if there is none."""
    least = FARTHEST + np.uint64(1)
    for at in range(begin, end):
        least = lesser(least, np.uint64(row[columns[at]]) + np.uint64(offsets[at]))
    return least


@jit
def cumulate(
    rows: Uint32s,
    values: Int64s,
    first: Int64s,
    columns: Uint32s,
    offsets: Uint32s,
    limits: Uint32s,
    begin: Index,
    end: Index,
    out: Int64s,
) -> None:
    """Add the values of each row to the groups from `begin` up to `end`, under the least limit that holds.

    `values` has shape (rows, columns of values), and `out` (groups, limits, columns of values).
    """
    last = np.uint64(limits[len(limits) - 1])
    for number in range(len(rows)):
        row = rows[number]
        for group in range(begin, end):
            distance = distance_of(row, first[group], first[group + 1], columns, offsets)
            if distance <= last:
                k = 0
                while distance > np.uint64(limits[k]):
                    k += 1
                for column in range(values.shape[1]):
                    out[group, k, column] += values[number, column]


@jit
def decay(
    rows: Uint32s,
    values: Int64s,
    first: Int64s,
    columns: Uint32s,
    offsets: Uint32s,
    weights: Uint32s,
    limit: np.uint64,
    begin: Index,
    end: Index,
    out: Int64s,
) -> None:
    """Add the values of each row, times the weights of distances, to the groups from `begin` up to `end`.

    `out` has shape (groups, columns of values).
    """
    for number in range(len(rows)):
        row = rows[number]
        for group in range(begin, end):
            distance = distance_of(row, first[group], first[group + 1], columns, offsets)
            if distance <= limit:
                factor = np.int64(weights[bin_of(np.uint32(distance))])
                for column in range(values.shape[1]):
                    out[group, column] += values[number, column] * factor
