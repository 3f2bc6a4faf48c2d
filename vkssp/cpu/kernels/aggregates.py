"""Kernels of sums over rows of distances.

The nodes are taken in blocks, of which all rows are read before the next, so that the values of a block stay in the
cache. The innermost loops are sums over a block without branches, which LLVM turns into vector operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vkssp.cpu.kernels.types import Float64s, Index, Int64s, Uint8s, Uint32s
from vkssp.cpu.kernels.vectors import greater, lesser
from vkssp.jit import inlined, jit

UNREACHABLE = np.uint32(2**32 - 1)
ZERO, NONE = np.uint32(0), np.int64(0)
BLOCK = 1024
ONE, BIN_BITS = np.uint64(1), np.uint64(19)
NEAR = np.uint64(1 << 20)
WORD, LOW, HALF = np.uint64(32), np.uint64(2**32 - 1), np.uint64(2**31)


@jit
def cumulate(distances: Uint32s, values: Int64s, limits: Uint32s, out: Int64s) -> None:
    """Add the values of the nodes within each limit to `out`, shape (rows, limits * columns), at first 0.

    `values` has shape (columns, nodes).
    """
    columns = len(values)
    for begin in range(0, distances.shape[1], BLOCK):
        size = lesser(np.int64(BLOCK), np.int64(distances.shape[1] - begin))
        for row in range(len(distances)):
            near, least = distances[row, begin : begin + size], UNREACHABLE
            for i in range(size):
                least = lesser(least, near[i])
            for k in range(len(limits)):
                if least <= limits[k]:
                    for column in range(columns):
                        some, limit, found = values[column, begin : begin + size], limits[k], np.int64(0)
                        for i in range(size):
                            found += some[i] if near[i] <= limit else NONE
                        out[row, k * columns + column] += found


@inlined
def bin_of(distance: np.uint32) -> np.uint64:
    """Return the entry of a distance in a table of weights; see `vkssp.prepared.aggregates.DecayedSums`."""
    at, width = np.uint64(distance), np.uint64(0)
    while at >= NEAR:
        at, width = at >> ONE, width + ONE
    return (width << BIN_BITS) + at


@jit
def decay(distances: Uint32s, values: Int64s, weights: Uint32s, limit: np.uint32, factors: Int64s, out: Int64s) -> None:
    """Add the values of nodes, times the weights of their distances, to `out`, shape (rows, columns), at first 0.

    `values` has shape (columns, nodes). `factors` has room for the weights of a block.
    """
    for begin in range(0, distances.shape[1], BLOCK):
        size = lesser(np.int64(BLOCK), np.int64(distances.shape[1] - begin))
        for row in range(len(distances)):
            any_weight = np.int64(0)
            for i in range(size):
                distance = distances[row, begin + i]
                factors[i] = np.int64(weights[bin_of(distance)]) if distance <= limit else NONE
                any_weight |= factors[i]
            if any_weight != 0:
                for column in range(len(values)):
                    some, found = values[column, begin : begin + size], np.int64(0)
                    for i in range(size):
                        found += some[i] * factors[i]
                    out[row, column] += found


@inlined
def reciprocal(distance: np.uint64, bits: Index) -> np.uint64:
    """Return the reciprocal of a distance above 0, below 2**32, as a multiple of 2**-`bits`, off by 2**-29 of itself.

    A division of 16 bits is improved by a step of Newton's method, in integers, so that all devices agree.
    """
    scaled, zeros = distance, 0
    if scaled < np.uint64(1 << 16):
        scaled, zeros = scaled << np.uint64(16), zeros + 16
    if scaled < np.uint64(1 << 24):
        scaled, zeros = scaled << np.uint64(8), zeros + 8
    if scaled < np.uint64(1 << 28):
        scaled, zeros = scaled << np.uint64(4), zeros + 4
    if scaled < np.uint64(1 << 30):
        scaled, zeros = scaled << np.uint64(2), zeros + 2
    if scaled < np.uint64(1 << 31):
        scaled, zeros = scaled << np.uint64(1), zeros + 1
    first = (LOW // (scaled >> np.uint64(16))) << np.uint64(15)
    found = ((first * ((HALF + HALF - (first * scaled >> WORD)) & LOW)) >> np.uint64(31)) & LOW
    shift = 63 - zeros - bits
    return found >> np.uint64(shift) if shift >= 0 else found << np.uint64(-shift)


@jit
def total(distances: Uint32s, limit: np.uint32, bits: Index, out: Int64s) -> None:
    """Write what `vkssp.prepared.aggregates.Totals` has to `out`, shape (rows, 5)."""
    for row in range(len(distances)):
        near = distances[row]
        reached = whole = reciprocals = np.int64(0)
        farthest: Any = ZERO
        for i in range(len(near)):
            counts = near[i] <= limit
            reached += counts
            whole += np.int64(near[i]) if counts else NONE
            farthest = greater(farthest, near[i] if counts else ZERO)
        for i in range(len(near)):
            if near[i] <= limit and near[i] != ZERO:
                reciprocals += np.int64(reciprocal(np.uint64(near[i]), bits))
        where = np.int64(0) if reached > 0 else np.int64(UNREACHABLE)
        while where < len(near) and near[where] != farthest:
            where += 1
        out[row, 0], out[row, 1], out[row, 2], out[row, 3], out[row, 4] = reached, whole, farthest, where, reciprocals


@jit
def cumulate_near(
    first: Int64s, columns: Uint32s, distances: Uint32s, values: Int64s, limits: Uint32s, out: Int64s
) -> None:
    """Do what `cumulate` does, for rows of which only the columns within the last limit are given.

    Those of a row are between two entries of `first`. `values` has shape (nodes, columns).
    """
    num_columns = values.shape[1]
    for row in range(len(out)):
        for i in range(first[row], first[row + 1]):
            k = 0
            while k < len(limits) and distances[i] > limits[k]:
                k += 1
            if k < len(limits):
                for column in range(num_columns):
                    out[row, k * num_columns + column] += values[columns[i], column]
        for at in range(num_columns, len(limits) * num_columns):
            out[row, at] += out[row, at - num_columns]


@jit
def decay_near(
    first: Int64s, columns: Uint32s, distances: Uint32s, values: Int64s, weights: Uint32s, limit: np.uint32, out: Int64s
) -> None:
    """Do what `decay` does, for rows given as for `cumulate_near`."""
    for row in range(len(out)):
        for i in range(first[row], first[row + 1]):
            if distances[i] <= limit:
                factor = np.int64(weights[bin_of(distances[i])])
                for column in range(values.shape[1]):
                    out[row, column] += values[columns[i], column] * factor


@jit
def total_near(first: Int64s, columns: Uint32s, distances: Uint32s, limit: np.uint32, bits: Index, out: Int64s) -> None:
    """Do what `total` does, for rows given as for `cumulate_near`."""
    for row in range(len(out)):
        reached = whole = reciprocals = farthest = np.int64(0)
        where = np.int64(UNREACHABLE)
        for i in range(first[row], first[row + 1]):
            distance, column = np.int64(distances[i]), np.int64(columns[i])
            if distance <= np.int64(limit):
                if distance > farthest or (distance == farthest and column < where):
                    farthest, where = distance, column
                reached += 1
                whole += distance
                if distance != 0:
                    reciprocals += np.int64(reciprocal(np.uint64(distance), bits))
        out[row, 0], out[row, 1], out[row, 2], out[row, 3], out[row, 4] = reached, whole, farthest, where, reciprocals


@inlined
def straight(points: Float64s, source: Index, node: Index, distance: np.uint32, scale: float) -> np.int64:
    """Return the straight distance between two nodes, over another distance, as a multiple of 1 / `scale`."""
    x, y = points[node, 0] - points[source, 0], points[node, 1] - points[source, 1]
    z = points[node, 2] - points[source, 2]
    return np.int64(math.sqrt(x * x + y * y + z * z) / np.float64(distance) * scale)


@jit
def straighten(
    distances: Uint32s, sources: Uint32s, points: Float64s, limit: np.uint32, scale: float, out: Int64s
) -> None:
    """Write what `vkssp.prepared.aggregates.Straightness` has to `out`, shape (rows, 2)."""
    for row in range(len(distances)):
        near, source, counted, whole = distances[row], np.int64(sources[row]), np.int64(0), np.int64(0)
        for node in range(len(near)):
            if ZERO < near[node] <= limit:
                counted += 1
                whole += straight(points, source, node, near[node], scale)
        out[row, 0], out[row, 1] = counted, whole


@jit
def straighten_near(
    first: Int64s,
    columns: Uint32s,
    distances: Uint32s,
    sources: Uint32s,
    points: Float64s,
    limit: np.uint32,
    scale: float,
    out: Int64s,
) -> None:
    """Do what `straighten` does, for rows given as for `cumulate_near`."""
    for row in range(len(out)):
        source, counted, whole = np.int64(sources[row]), np.int64(0), np.int64(0)
        for i in range(first[row], first[row + 1]):
            if ZERO < distances[i] <= limit:
                counted += 1
                whole += straight(points, source, np.int64(columns[i]), distances[i], scale)
        out[row, 0], out[row, 1] = counted, whole


@inlined
def add_to_node(found: Int64s, column: Index, distance: np.uint32, bits: Index) -> None:
    """Add a distance to the sums of a node, shape (3, nodes)."""
    found[0, column] += 1
    found[1, column] += np.int64(distance)
    if distance != ZERO:
        found[2, column] += np.int64(reciprocal(np.uint64(distance), bits))


@jit
def sum_by_node(distances: Uint32s, limit: np.uint32, bits: Index, found: Int64s) -> None:
    """Add to `found` what `vkssp.prepared.aggregates.NodeSums` has of rows."""
    for row in range(len(distances)):
        for column in range(distances.shape[1]):
            if distances[row, column] <= limit:
                add_to_node(found, column, distances[row, column], bits)


@jit
def sum_by_node_near(
    first: Int64s, columns: Uint32s, distances: Uint32s, left_out: Uint8s, limit: np.uint32, bits: Index, found: Int64s
) -> None:
    """Do what `sum_by_node` does, for rows given as for `cumulate_near`, except some that are left out."""
    for row in range(len(left_out)):
        if not left_out[row]:
            for i in range(first[row], first[row + 1]):
                if distances[i] <= limit:
                    add_to_node(found, columns[i], distances[i], bits)
