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
from vkssp.routing.kernels.vectors import lower_by_piece, lowest_bit, within_8

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Cells of a block along each side. A block has a row and a column of nodes more, which it shares with its neighbours.
BLOCK = 32
# Points of a line that a straight piece may leave out, so that looking at them again and again takes little time.
_MOST_LEFT_OUT = 16
# Elements of a row of a block's field: its nodes, and room for vectors that reach past them.
_ROW = 40
_FEW, _ALL = np.uint64(1), np.uint64(2**BLOCK - 1)
# Edges of a cell at which the piece of a ring begins and ends, by the sum of the nodes that are inside: south-west 1,
# south-east 2, north-east 4, north-west 8. Edges: 0 south, 1 east, 2 north, 3 west. If only opposite nodes are inside,
# there are two pieces.
_START = np.array([0, 0, 1, 1, 2, 0, 2, 2, 3, 0, 0, 1, 3, 0, 3, 0])
_END = np.array([0, 3, 0, 3, 1, 0, 0, 3, 2, 2, 0, 2, 1, 1, 0, 0])
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
    level: Ints,
    low: Floats,
    high: Floats,
    first: Ints,
    points: Floats,
    passed: Floats,
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
            out[count, 4] = level[i]
            count += 1
            if done:
                break
            x, y = next_x, next_y
    return count


@jit_allocating
def extent(pieces: Floats) -> tuple[Floats, Floats, float]:
    """Return the least and the greatest coordinates of pieces, and at least the length of all along both axes."""
    low, high, length = pieces[0, :2].copy(), pieces[0, :2].copy(), 0.0
    for i in range(len(pieces)):
        for axis in range(2):
            begin, end = pieces[i, axis], pieces[i, axis + 2]
            low[axis], high[axis] = min(low[axis], begin, end), max(high[axis], begin, end)
            length += abs(end - begin)
    return low, high, length


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


@jit_allocating
def _longer(array: Any, size: int) -> Any:
    """Return a copy of an array with room for more rows."""
    found = np.empty((size, *array.shape[1:]), array.dtype)
    found[: len(array)] = array
    return found


@jit_allocating
def find_blocks(
    pieces: Floats, west: float, south: float, cell: float, reach: float, columns: int, rows: int, most: int
) -> tuple[Ints, Ints, Ints]:
    """Return the blocks that pieces come near to, in order, and the pieces near each: `members` from `first` on.

    Blocks are numbered row by row, from the south-west corner; `reach` is in units of the plane, as `cell` is. Pieces
    of a block keep their order. If blocks and pieces make more than `most` pairs, no blocks are returned.
    """
    side, count = BLOCK * cell, 0
    pairs = np.empty((2 * len(pieces) + 64, 3), np.int64)
    of_row, of_column = np.zeros(rows + 1, np.int64), np.zeros(columns + 1, np.int64)
    for i in range(len(pieces)):
        x0, y0, x1, y1 = pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3]
        lowest = math.floor((min(y0, y1) - reach - south) / side)
        highest = math.floor((max(y0, y1) + reach - south) / side)
        for row in range(lowest, highest + 1):
            low = south + row * side
            left, right = _strip(x0, y0, x1, y1, reach, low, low + side)
            begin, end = math.floor((left - west) / side), math.floor((right - west) / side) + 1
            if count + max(0, end - begin) > most:
                return np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64)
            if count + end - begin > len(pairs):
                pairs = _longer(pairs, 2 * len(pairs) + end - begin)
            for column in range(begin, end):
                pairs[count, 0], pairs[count, 1], pairs[count, 2] = row, column, i
                of_row[row + 1] += 1
                of_column[column + 1] += 1
                count += 1
    # By columns, and then by rows, which keeps the order within a row.
    by_column, by_row = np.empty(count, np.int64), np.empty(count, np.int64)
    for column in range(columns):
        of_column[column + 1] += of_column[column]
    for row in range(rows):
        of_row[row + 1] += of_row[row]
    for pair in range(count):
        by_column[of_column[pairs[pair, 1]]] = pair
        of_column[pairs[pair, 1]] += 1
    for at in range(count):
        pair = by_column[at]
        by_row[of_row[pairs[pair, 0]]] = pair
        of_row[pairs[pair, 0]] += 1
    blocks, first, members = np.empty(count, np.int64), np.empty(count + 1, np.int64), np.empty(count, np.int64)
    number = 0
    for at in range(count):
        row, column, piece = pairs[by_row[at]]
        block = row * columns + column
        if number == 0 or blocks[number - 1] != block:
            blocks[number], first[number] = block, at
            number += 1
        members[at] = piece
    first[number] = count
    return blocks[:number], first[: number + 1], members


@jit
def _near(
    field: Any, across: Floats, piece: Floats, x: float, y: float, cell: float, scale: Floats, most: float
) -> Any:
    """Lower the distances of a block's nodes, the first of which is at (x, y), to those from a piece.

    `scale` has the metres for a unit of the plane in each row of nodes, `across` the x of each column. Return the first
    and the last row that the piece comes near to.
    """
    x0, y0, x1, y1 = piece[0], piece[1], piece[2], piece[3]
    dx, dy = x1 - x0, y1 - y0
    squared = dx * dx + dy * dy
    inverse = 1.0 / squared if squared > 0.0 else 0.0
    reach = most / min(scale[0], scale[BLOCK])
    west, east = min(x0, x1) - reach, max(x0, x1) + reach
    # What the piece covers of a row, as `_strip` finds it, in columns of the block. A node beside it that is looked at
    # as well is not near: it keeps its distance, which is the greatest.
    steep = abs(dy) > 1e-9 * (abs(dx) + reach)
    slope = dx / dy if steep else 0.0
    half = reach * math.sqrt(1.0 + slope * slope)
    per_cell = 1.0 / cell
    west, east = max(0.0, (west - x) * per_cell), min(np.float64(BLOCK), (east - x) * per_cell)
    first = max(0, math.ceil((min(y0, y1) - reach - y) / cell))
    last = min(BLOCK, math.floor((max(y0, y1) + reach - y) / cell))
    left, right = west, east
    middle, around = (x0 - x + (y + first * cell - y0) * slope) * per_cell, half * per_cell
    for j in range(first, last + 1):
        if steep:
            left, right = max(west, middle - around), min(east, middle + around)
            middle += slope
        if right < left:
            continue
        height, at, square = y + j * cell - y0, j * _ROW, scale[j] * scale[j]
        for i in range(np.int64(left), np.int64(right) + 1, 4):
            lower_by_piece(field, at + i, across, i, x0, height, dx, dy, inverse, square)
    return first, last


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
) -> tuple[Floats, Ints, Ints]:
    """Return the rings around the bands of all levels.

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
    points : numpy.ndarray
        Points of the rings, shape (k, 2), float64. The band is on the left.
    first : numpy.ndarray
        Offset of each ring's first point, and the end.
    first_ring : numpy.ndarray
        Offset of the first ring of each level, and the end.
    """
    side = BLOCK + 1
    field, across, scale = np.empty(side * _ROW), np.empty(_ROW), np.ones(side)
    inside = np.zeros(side, np.uint64)  # a bit for each node of a row
    # Pieces of rings: the beginning, the level, the next one, which is first the edge where they end.
    points, level_of, after = np.empty((4096, 2)), np.empty(4096, np.int64), np.empty(4096, np.int64)
    begun = np.zeros(2 * side * side, np.int64)  # by the edges of the block
    # Beginnings, and ends, at the edges between blocks: key of the edge and the level, and the piece.
    loose, num_loose = np.empty((2, 1024, 2), np.int64), np.zeros(2, np.int64)
    count, square = 0, width * width
    scaled, least = -1, 1.0  # row of blocks whose scale is known, and the greatest
    num_x = columns * BLOCK + 1
    for b in range(len(blocks)):
        row, column = blocks[b] // columns, blocks[b] % columns
        x, y = west + column * BLOCK * cell, south + row * BLOCK * cell
        if mercator and row != scaled:
            # On Mercator's plane a metre is longer by the inverse cosine of the latitude.
            scaled = row
            for j in range(side):
                scale[j] = EARTH_RADIUS / math.cosh(y + j * cell)
            least = scale.max()
        for i in range(_ROW):
            across[i] = x + i * cell
        most = width + 1.1 * cell * least
        field[:] = most * most
        inside[:] = 0
        k = first[b]
        for level in range(levels):
            lowest, highest = side, -1
            while k < first[b + 1] and pieces[members[k], 4] <= level:
                low, high = _near(field, across, pieces[members[k]], x, y, cell, scale, most)
                lowest, highest = min(lowest, low), max(highest, high)
                k += 1
            if k == first[b]:
                continue  # no piece of this level or of one before
            for j in range(lowest, highest + 1):
                at = j * _ROW
                bits = np.uint64(field[at + BLOCK] <= square) << np.uint64(BLOCK)
                for i in range(0, BLOCK, 8):
                    bits |= within_8(field, at + i, square) << np.uint64(i)
                inside[j] = bits
            if count + 2 * BLOCK * BLOCK > len(points):
                size = 2 * len(points) + 2 * BLOCK * BLOCK
                points, level_of, after = _longer(points, size), _longer(level_of, size), _longer(after, size)
            if max(num_loose[0], num_loose[1]) + 4 * BLOCK > loose.shape[1]:
                more = np.empty((2, 2 * loose.shape[1] + 4 * BLOCK, 2), np.int64)
                more[:, : loose.shape[1]] = loose
                loose = more
            begin = count
            for j in range(BLOCK):
                lower, upper = inside[j], inside[j + 1]
                lower_east, upper_east = lower >> _FEW, upper >> _FEW
                some = lower | upper | lower_east | upper_east
                cells = some & ~(lower & upper & lower_east & upper_east) & _ALL
                while cells != 0:
                    i = lowest_bit(cells)
                    cells &= cells - _FEW
                    bit = np.uint64(i)
                    case = np.int64(
                        (lower >> bit & _FEW)
                        + (lower_east >> bit & _FEW) * np.uint64(2)
                        + (upper_east >> bit & _FEW) * np.uint64(4)
                        + (upper >> bit & _FEW) * np.uint64(8)
                    )
                    edge, end, number = _START[case], _END[case], 1
                    at, node = j * _ROW + i, 2 * (j * side + i)
                    joined = False
                    if case in (5, 10):
                        number = 2
                        v0, v1 = math.sqrt(field[at]) - width, math.sqrt(field[at + 1]) - width
                        v2, v3 = math.sqrt(field[at + _ROW + 1]) - width, math.sqrt(field[at + _ROW]) - width
                        joined = v0 + v1 + v2 + v3 <= 0.0
                    for n in range(number):
                        if number == 2 and case == 5:
                            edge = 2 * n
                            end = edge + 1 if joined else 3 - edge
                        elif number == 2:
                            edge = 2 * n + 1
                            end = (edge + 1) % 4 if joined else edge - 1
                        # From the western or southern node of the edge to the other one.
                        low = at + (1 if edge == 1 else _ROW if edge == 2 else 0)
                        u = math.sqrt(field[low]) - width
                        v = math.sqrt(field[low + (_ROW if edge % 2 else 1)]) - width
                        t = min(1.0 - _LEAST, max(_LEAST, u / (u - v)))
                        gx, gy = np.float64(column * BLOCK + i), np.float64(row * BLOCK + j)
                        if edge % 2:
                            gx, gy = gx + (edge == 1), gy + t
                        else:
                            gx, gy = gx + t, gy + (edge == 2)
                        points[count, 0], points[count, 1] = west + gx * cell, south + gy * cell
                        level_of[count] = level
                        for is_end in range(2):
                            one = end if is_end else edge
                            place = node + (1 if one == 3 else 3 if one == 1 else 2 * side if one == 2 else 0)
                            if is_end:
                                after[count] = place
                            else:
                                begun[place] = count
                            if (
                                (one == 0 and j == 0)
                                or (one == 2 and j == BLOCK - 1)
                                or (one == 3 and i == 0)
                                or (one == 1 and i == BLOCK - 1)
                            ):
                                of_grid = (row * BLOCK + j + (one == 2)) * num_x + column * BLOCK + i + (one == 1)
                                free = num_loose[is_end]
                                loose[is_end, free, 0] = (2 * of_grid + one % 2) * levels + level
                                loose[is_end, free, 1] = count
                                num_loose[is_end] = free + 1
                                if is_end:
                                    after[count] = -1
                        count += 1
            for n in range(begin, count):
                if after[n] >= 0:
                    after[n] = begun[after[n]]
    _tie(loose, num_loose, after)
    return _rings(points[:count], level_of, after, levels)


@jit_allocating
def _tie(loose: Ints, num_loose: Ints, after: Ints) -> None:
    """Let the pieces that end between blocks be followed by those that begin there."""
    size = 16
    while size < 2 * num_loose[0]:
        size *= 2
    table, mask = np.full(size, -1, np.int64), size - 1
    for n in range(num_loose[0]):
        slot = (loose[0, n, 0] * 0x9E3779B1 >> 7) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = n
    for n in range(num_loose[1]):
        key = loose[1, n, 0]
        slot = (key * 0x9E3779B1 >> 7) & mask
        while table[slot] >= 0 and loose[0, table[slot], 0] != key:
            slot = (slot + 1) & mask
        if table[slot] >= 0:
            after[loose[1, n, 1]] = loose[0, table[slot], 1]


@jit_allocating
def _rings(points: Floats, level_of: Ints, after: Ints, levels: int) -> tuple[Floats, Ints, Ints]:
    """Return the rings of pieces, each of which `after` says the next one of; see `trace`."""
    count = len(points)
    ordered, first, first_ring = np.empty((count, 2)), np.empty(count + 1, np.int64), np.zeros(levels + 1, np.int64)
    seen = np.zeros(count, np.bool_)
    placed, number = 0, 0
    for level in range(levels):
        for n in range(count):
            if level_of[n] != level or seen[n]:
                continue
            first[number] = placed
            number += 1
            k = n
            while k >= 0 and not seen[k]:
                seen[k] = True
                ordered[placed, 0], ordered[placed, 1] = points[k, 0], points[k, 1]
                placed += 1
                k = after[k]
        first_ring[level + 1] = number
    first[number] = placed
    return ordered, first[: number + 1], first_ring
