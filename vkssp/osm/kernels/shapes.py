"""Kernels of the shapes of a basemap: what lies inside of rings, and the simplification of lines."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkssp.graph.streets import LAST_LAT, LAST_LON
from vkssp.jit import jit

Ints = npt.NDArray[Any]
Floats = npt.NDArray[Any]


@jit
def copy_rows(low: int, high: int, begin: Ints, first: Ints, points: Ints, out: Ints) -> None:
    """Copy the points of some lines, which begin at given places, to where each line's first point belongs."""
    for line in range(low, high):
        at = begin[line]
        for to in range(first[line], first[line + 1]):
            out[to, 0], out[to, 1] = points[at, 0], points[at, 1]
            at += 1


@jit
def copy_pieces(
    low: int, high: int, begin: Ints, backward: Any, first: Ints, lat: Ints, lon: Ints, out: Ints, outside: Ints
) -> None:
    """Copy the points of some pieces of lines, of which some run backward from where they begin.

    `outside` receives for each piece how many of its points are beyond the bounds of coordinates: unknown.
    """
    for piece in range(low, high):
        at, count = begin[piece], 0
        step = -1 if backward[piece] else 1
        for to in range(first[piece], first[piece + 1]):
            y, x = lat[at], lon[at]
            out[to, 0], out[to, 1] = y, x
            count += y < -LAST_LAT or y > LAST_LAT or x < -LAST_LON or x > LAST_LON
            at += step
        outside[piece] = count


@jit
def areas(low: int, high: int, first: Ints, points: Ints, area: Floats) -> None:
    """Compute what lies inside of each shape from one up to another, in square units of the points.

    It is negative if a ring runs clockwise, seen with the second coordinate to the right.
    """
    for shape in range(low, high):
        begin = first[shape]
        y0, x0 = points[begin, 0], points[begin, 1]
        twice = 0.0
        y, x = 0.0, 0.0
        for at in range(begin + 1, first[shape + 1]):
            # From the first point, since products of small numbers are exact.
            next_y, next_x = float(points[at, 0] - y0), float(points[at, 1] - x0)
            twice += x * next_y - next_x * y
            y, x = next_y, next_x
        area[shape] = twice / 2


@jit
def simplify(
    low: int, high: int, first: Ints, points: Ints, scale: Floats, tolerance: float, stack: Ints, kept: Any, size: Ints
) -> None:
    """Mark the points of some lines that Douglas and Peucker (1973) keep, and count them.

    Parameters
    ----------
    low, high : int
        The first line, and the one after the last.
    first, points : numpy.ndarray
        Offset of each line's first point, and the points, shape (num_points, 2), signed.
    scale : numpy.ndarray
        Metres of a unit of each coordinate, for each line, shape (num_lines, 2).
    tolerance : float
        Metres that points may move.
    stack : numpy.ndarray
        Room for two numbers per point of the longest line.
    kept : numpy.ndarray
        Receives whether each point is kept, shape (num_points,), bool.
    size : numpy.ndarray
        Receives how many points each line keeps.
    """
    for line in range(low, high):
        begin, end = first[line], first[line + 1] - 1
        for at in range(begin, end + 1):
            kept[at] = False
        kept[begin] = True
        kept[end] = True
        count = 1 if end == begin else 2
        scale_y, scale_x = scale[line, 0], scale[line, 1]
        stack[0], stack[1] = begin, end
        height = 2
        while height > 0:
            height -= 2
            start, stop = stack[height], stack[height + 1]
            y0, x0 = points[start, 0], points[start, 1]
            along_y, along_x = (points[stop, 0] - y0) * scale_y, (points[stop, 1] - x0) * scale_x
            length2 = along_y * along_y + along_x * along_x
            most, farthest = tolerance * tolerance, -1
            for at in range(start + 1, stop):
                y, x = (points[at, 0] - y0) * scale_y, (points[at, 1] - x0) * scale_x
                inner = y * along_y + x * along_x
                if inner <= 0.0 or length2 == 0.0:
                    away = y * y + x * x
                elif inner >= length2:
                    away = (y - along_y) * (y - along_y) + (x - along_x) * (x - along_x)
                else:
                    across = y * along_x - x * along_y
                    away = across * across / length2
                if away > most:
                    most, farthest = away, at
            if farthest >= 0:
                kept[farthest] = True
                count += 1
                stack[height], stack[height + 1] = start, farthest
                stack[height + 2], stack[height + 3] = farthest, stop
                height += 4
        size[line] = count
