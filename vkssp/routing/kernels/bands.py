"""Kernels of bands around lines: the points within some metres of lines, bounded by rings.

A grid of nodes holds the distance to the nearest line. Where it passes the width of the band, between two neighbouring
nodes, is a point of a ring, by linear interpolation (marching squares: W. Lorensen, H. Cline, Marching cubes, 1987).
The distance to a straight line is linear itself, so that straight sides of a band are exact. Only blocks of the grid
that lines come near to are looked at, one after the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import EARTH_RADIUS
from vkssp.jit import jit, jit_allocating

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Cells of a block along each side. A block has a row and a column of nodes more, which it shares with its neighbours.
BLOCK = 32
# Points of a line that a straight piece may leave out, so that looking at them again and again takes little time.
_MOST_LEFT_OUT = 16
# Points of rings lie at least this part of a cell's side from its nodes, so that they differ from each other.
_LEAST = 1e-3


@jit
def _passes(points: Floats, begin: int, x0: float, y0: float, x1: float, y1: float, end: int, limit: float) -> bool:
    """Return whether a straight line passes the points from `begin` to before `end` within a squared distance."""
    dx, dy = x1 - x0, y1 - y0
    squared = dx * dx + dy * dy
    for k in range(begin, end):
        ax, ay = points[k, 0] - x0, points[k, 1] - y0
        part = min(1.0, max(0.0, (ax * dx + ay * dy) / squared)) if squared > 0.0 else 0.0
        ax -= part * dx
        ay -= part * dy
        if ax * ax + ay * ay > limit:
            return False
    return True


@jit
def cut_spans(
    line: Ints,
    low: Floats,
    high: Floats,
    first: Ints,
    points: Floats,
    passed: Floats,
    level: int,
    tolerance: float,
    mercator: bool,
    out: Floats,
) -> int:
    """Write the pieces of parts of lines, from `low` to `high` of their lengths, and return the number of pieces.

    `points` are on a plane, `passed` is the length of the line up to each point. Points that are within some metres of
    a straight line, the tolerance, are left out. A row of `out` has both ends of a piece and the level; if `out` has no
    rows, only an upper bound of the pieces is returned.
    """
    count, counts_only = 0, len(out) == 0
    for i in range(len(line)):
        begin, end = first[line[i]], first[line[i] + 1] - 1
        if counts_only:
            count += end - begin
            continue
        start, stop = low[i] * passed[end], high[i] * passed[end]
        k = begin
        while k + 1 < end and passed[k + 1] <= start:
            k += 1
        length = passed[k + 1] - passed[k]
        share = min(1.0, max(0.0, (start - passed[k]) / length)) if length > 0.0 else 0.0
        x = points[k, 0] + share * (points[k + 1, 0] - points[k, 0])
        y = points[k, 1] + share * (points[k + 1, 1] - points[k, 1])
        limit = tolerance * math.cosh(y) / EARTH_RADIUS if mercator else tolerance
        limit *= limit
        while True:
            # From (x, y) to the farthest of the next points to which a straight line is good enough.
            anchor, next_x, next_y, done = k + 1, x, y, False
            while True:
                if passed[k + 1] >= stop or k + 1 == end:
                    length = passed[k + 1] - passed[k]
                    share = min(1.0, max(0.0, (stop - passed[k]) / length)) if length > 0.0 else 1.0
                    far_x = points[k, 0] + share * (points[k + 1, 0] - points[k, 0])
                    far_y = points[k, 1] + share * (points[k + 1, 1] - points[k, 1])
                    if _passes(points, anchor, x, y, far_x, far_y, k + 1, limit):
                        next_x, next_y, done = far_x, far_y, True
                    break
                far_x, far_y = points[k + 1, 0], points[k + 1, 1]
                if k + 1 - anchor > _MOST_LEFT_OUT or not _passes(points, anchor, x, y, far_x, far_y, k + 1, limit):
                    break
                next_x, next_y = far_x, far_y
                k += 1
            out[count, 0], out[count, 1], out[count, 2], out[count, 3] = x, y, next_x, next_y
            out[count, 4] = level
            count += 1
            if done:
                break
            x, y = next_x, next_y
    return count


@jit
def _strip(x0: float, y0: float, x1: float, y1: float, reach: float, low: float, high: float) -> Any:
    """Return bounds of x of the points within a reach of a piece whose y lies between two bounds."""
    left, right = min(x0, x1) - reach, max(x0, x1) + reach
    rise = y1 - y0
    if abs(rise) > 1e-9 * (abs(x1 - x0) + reach):
        slope = (x1 - x0) / rise
        half = reach * math.sqrt(1.0 + slope * slope)
        a, b = x0 + (low - y0) * slope, x0 + (high - y0) * slope
        left, right = max(left, min(a, b) - half), min(right, max(a, b) + half)
    return left, right


@jit
def find_blocks(pieces: Floats, west: float, south: float, cell: float, reach: float, columns: int, out: Any) -> int:
    """Write the blocks that pieces come near to, each with the piece, and return how many there are.

    Blocks are numbered row by row, from the south-west corner; `reach` is in units of the plane, as `cell` is. If `out`
    has no rows, the blocks are only counted.
    """
    count, counts_only, side = 0, len(out) == 0, BLOCK * cell
    for i in range(len(pieces)):
        x0, y0, x1, y1 = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
        lowest = math.floor((min(y0, y1) - reach - south) / side)
        highest = math.floor((max(y0, y1) + reach - south) / side)
        for row in range(lowest, highest + 1):
            low = south + row * side
            left, right = _strip(x0, y0, x1, y1, reach, low, low + side)
            for column in range(math.floor((left - west) / side), math.floor((right - west) / side) + 1):
                if not counts_only:
                    out[count, 0], out[count, 1] = row * columns + column, i
                count += 1
    return count


@jit
def _near(field: Any, piece: Floats, x: float, y: float, cell: float, scale: Floats, most: float) -> None:
    """Lower the distances of a block's nodes, the first of which is at (x, y), to those from a piece.

    `scale` has the metres for a unit of the plane in each row of nodes.
    """
    x0, y0, x1, y1 = piece[0], piece[1], piece[2], piece[3]
    dx, dy = x1 - x0, y1 - y0
    squared = dx * dx + dy * dy
    inverse = 1.0 / squared if squared > 0.0 else 0.0
    reach = most / min(scale[0], scale[BLOCK])
    west, east = min(x0, x1) - reach, max(x0, x1) + reach
    # What the piece covers of a row, as `_strip` finds it, without a division for each row.
    steep = abs(dy) > 1e-9 * (abs(dx) + reach)
    slope = dx / dy if steep else 0.0
    half = reach * math.sqrt(1.0 + slope * slope)
    per_cell = 1.0 / cell
    first = max(0, math.ceil((min(y0, y1) - reach - y) / cell))
    last = min(BLOCK, math.floor((max(y0, y1) + reach - y) / cell))
    for j in range(first, last + 1):
        py = y + j * cell
        left, right = west, east
        if steep:
            middle = x0 + (py - y0) * slope
            left, right = max(left, middle - half), min(right, middle + half)
        square = scale[j] * scale[j]
        ay0 = py - y0
        begin, end = np.int64(math.ceil((left - x) * per_cell)), np.int64(math.floor((right - x) * per_cell))
        low, high = np.uint64(max(np.int64(0), begin)), max(np.int64(-1), min(np.int64(BLOCK), end))
        nodes = field[j]
        for i in range(low, np.uint64(high + 1)):
            ax = x + np.float64(np.int32(i)) * cell - x0
            part = (ax * dx + ay0 * dy) * inverse
            part = part if part > 0.0 else 0.0
            part = part if part < 1.0 else 1.0
            ax -= part * dx
            ay = ay0 - part * dy
            distance = (ax * ax + ay * ay) * square
            before = nodes[i]
            nodes[i] = distance if distance < before else before


@jit_allocating
def trace(
    pieces: Floats,
    blocks: Ints,
    first: Ints,
    members: Ints,
    columns: int,
    west: float,
    south: float,
    cell: float,
    width: float,
    mercator: bool,
    levels: int,
) -> tuple[Ints, Floats]:
    """Return the pieces of rings, as keys of the edges of cells at which they begin and end, and the beginning.

    Parameters
    ----------
    pieces : numpy.ndarray
        Both ends and the level of each piece of a line. The band of a level is around the pieces up to this level.
    blocks, first, members
        The blocks; the pieces near each of them, sorted by level: `members` from `first` on.
    columns : int
        Columns of blocks.
    west, south, cell : float
        The first node, and the distance between nodes, in units of the plane.
    width : float
        Metres to either side of the lines.
    mercator : bool
        Whether the plane is that of Mercator's projection in units of the Earth's radius, not in metres.
    levels : int
        Number of levels.

    Returns
    -------
    keys : numpy.ndarray
        Level, key of the edge at the beginning and at the end, shape (k, 3), int64. The band is on the left.
    points : numpy.ndarray
        The beginning of each, shape (k, 2), float64.
    """
    side = BLOCK + 1
    field = np.empty((side, side))
    scale = np.ones(side)
    keys, points = np.empty((4096, 3), np.int64), np.empty((4096, 2))
    count, square = 0, width * width
    num_x = columns * BLOCK + 1
    starts, ends = np.empty(2, np.int64), np.empty(2, np.int64)
    at, place = np.empty((4, 2)), np.empty(4, np.int64)
    for b in range(len(blocks)):
        row, column = blocks[b] // columns, blocks[b] % columns
        x, y = west + column * BLOCK * cell, south + row * BLOCK * cell
        least = 1.0
        for j in range(side):
            # On Mercator's plane a metre is longer by the inverse cosine of the latitude.
            scale[j] = EARTH_RADIUS / math.cosh(y + j * cell) if mercator else 1.0
            least = scale[j] if j == 0 else max(least, scale[j])
        most = width + 1.1 * cell * least
        field[:] = most * most
        k = first[b]
        for level in range(levels):
            fresh = False
            while k < first[b + 1] and pieces[members[k], 4] <= level:
                _near(field, pieces[members[k]], x, y, cell, scale, most)
                fresh = True
                k += 1
            if not fresh and k == first[b]:
                continue  # no piece of this level or of one before
            if count + 2 * BLOCK * BLOCK > len(keys):
                more = np.empty((2 * len(keys) + 2 * BLOCK * BLOCK, 3), np.int64)
                more[:count] = keys[:count]
                keys = more
                longer = np.empty((len(more), 2))
                longer[:count] = points[:count]
                points = longer
            for j in range(BLOCK):
                west_in, north_west_in = field[j, 0] <= square, field[j + 1, 0] <= square
                for i in range(BLOCK):
                    east_in, north_east_in = field[j, i + 1] <= square, field[j + 1, i + 1] <= square
                    case = west_in + 2 * east_in + 4 * north_east_in + 8 * north_west_in
                    west_in, north_west_in = east_in, north_east_in
                    if case == 0 or case == 15:
                        continue
                    v0, v1 = math.sqrt(field[j, i]) - width, math.sqrt(field[j, i + 1]) - width
                    v2, v3 = math.sqrt(field[j + 1, i + 1]) - width, math.sqrt(field[j + 1, i]) - width
                    # Edges: 0 south, 1 east, 2 north, 3 west.
                    number = 1
                    if case == 1:
                        starts[0], ends[0] = 0, 3
                    elif case == 2:
                        starts[0], ends[0] = 1, 0
                    elif case == 3:
                        starts[0], ends[0] = 1, 3
                    elif case == 4:
                        starts[0], ends[0] = 2, 1
                    elif case == 6:
                        starts[0], ends[0] = 2, 0
                    elif case == 7:
                        starts[0], ends[0] = 2, 3
                    elif case == 8:
                        starts[0], ends[0] = 3, 2
                    elif case == 9:
                        starts[0], ends[0] = 0, 2
                    elif case == 11:
                        starts[0], ends[0] = 1, 2
                    elif case == 12:
                        starts[0], ends[0] = 3, 1
                    elif case == 13:
                        starts[0], ends[0] = 0, 1
                    elif case == 14:
                        starts[0], ends[0] = 3, 0
                    else:
                        number = 2
                        joined = v0 + v1 + v2 + v3 <= 0.0
                        if case == 5:
                            starts[0], ends[0] = 0, 1 if joined else 3
                            starts[1], ends[1] = 2, 3 if joined else 1
                        else:
                            starts[0], ends[0] = 1, 2 if joined else 0
                            starts[1], ends[1] = 3, 0 if joined else 2
                    gx, gy = column * BLOCK + i, row * BLOCK + j
                    node = gy * num_x + gx
                    place[0], place[1] = 2 * node, 2 * (node + 1) + 1
                    place[2], place[3] = 2 * (node + num_x), 2 * node + 1
                    for n in range(number):
                        edge = starts[n]
                        if edge == 0:
                            u, v = v0, v1
                        elif edge == 1:
                            u, v = v1, v2
                        elif edge == 2:
                            u, v = v3, v2
                        else:
                            u, v = v0, v3
                        t = min(1.0 - _LEAST, max(_LEAST, u / (u - v)))
                        if edge == 0:
                            at[0, 0], at[0, 1] = gx + t, gy
                        elif edge == 1:
                            at[0, 0], at[0, 1] = gx + 1, gy + t
                        elif edge == 2:
                            at[0, 0], at[0, 1] = gx + t, gy + 1
                        else:
                            at[0, 0], at[0, 1] = gx, gy + t
                        keys[count, 0], keys[count, 1], keys[count, 2] = level, place[edge], place[ends[n]]
                        points[count, 0], points[count, 1] = west + at[0, 0] * cell, south + at[0, 1] * cell
                        count += 1
    return keys[:count], points[:count]


@jit_allocating
def rings_of(keys: Ints) -> tuple[Ints, Ints]:
    """Return the rings that pieces make: the pieces in order, and the offset of each ring's first one.

    `keys` are those of the pieces of one level, as `trace` returns them.
    """
    count = len(keys)
    size = 16
    while size < 2 * count:
        size *= 2
    table = np.full(size, -1, np.int64)
    mask = size - 1
    for i in range(count):
        slot = (keys[i, 1] * 0x9E3779B1 >> 7) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = i
    order, first = np.empty(count, np.int64), np.empty(count // 3 + 2, np.int64)
    seen = np.zeros(count, np.bool_)
    placed, number = 0, 0
    for i in range(count):
        if seen[i]:
            continue
        first[number] = placed
        number += 1
        k = i
        while not seen[k]:
            seen[k] = True
            order[placed] = k
            placed += 1
            key = keys[k, 2]
            slot = (key * 0x9E3779B1 >> 7) & mask
            while keys[table[slot], 1] != key:
                slot = (slot + 1) & mask
            k = table[slot]
    first[number] = placed
    return order, first[: number + 1]
