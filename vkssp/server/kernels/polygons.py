"""Compiled part of `vkssp.server.answers.polygons`: polygons as JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vkssp.jit import jit, jit_part

#: Bytes of a position, and of a ring or polygon without those inside, at the most.
MOST, MOST_OF_RING = 26, 3
_MICRO = 1e6
_ZERO, _MINUS, _POINT, _COMMA, _E, _OPEN, _CLOSE = 48, 45, 46, 44, 101, 91, 93
_TEN, _HUNDRED, _MILLION = (np.uint32(value) for value in (10, 100, 1_000_000))


@jit_part
def _put_degrees(degrees: float, letters: Any, size: int) -> int:
    """Write degrees with six decimals, without zeros at the end; return the size after them."""
    if math.copysign(1.0, degrees) < 0.0:
        letters[size] = _MINUS
        size += 1
    value = np.uint32(math.floor(abs(degrees) * _MICRO + 0.5))
    if 0 < value < _HUNDRED:  # numbers below 0.0001 have an exponent
        high, low = value // _TEN, value % _TEN
        letters[size] = _ZERO + (high if high > 0 else low)
        size += 1
        if high > 0 and low > 0:
            letters[size], letters[size + 1] = _POINT, _ZERO + low
            size += 2
        letters[size], letters[size + 1], letters[size + 2] = _E, _MINUS, _ZERO
        letters[size + 3] = _ZERO + (5 if high > 0 else 6)
        return size + 4
    whole, rest = value // _MILLION, value % _MILLION
    if whole >= _HUNDRED:
        letters[size] = _ZERO + whole // _HUNDRED
        size += 1
    if whole >= _TEN:
        letters[size] = _ZERO + whole // _TEN % _TEN
        size += 1
    letters[size], letters[size + 1] = _ZERO + whole % _TEN, _POINT
    size += 2
    for at in range(5, -1, -1):
        letters[size + at] = _ZERO + rest % _TEN
        rest //= _TEN
    end = size + 5
    while end > size and letters[end] == _ZERO:
        end -= 1
    return end + 1


@jit
def put_polygons(points: Any, first: Any, first_ring: Any, letters: Any) -> int:
    """Write polygons as arrays of JSON, with a comma between them; return the number of bytes.

    `points` have the longitude first, with six decimals, and less than 1000 degrees; `first` has the offset of the
    first point of each ring, `first_ring` that of the first ring of each polygon.
    """
    size = 0
    for polygon in range(len(first_ring) - 1):
        if polygon > 0:
            letters[size] = _COMMA
            size += 1
        letters[size] = _OPEN
        size += 1
        for ring in range(first_ring[polygon], first_ring[polygon + 1]):
            if ring > first_ring[polygon]:
                letters[size] = _COMMA
                size += 1
            letters[size] = _OPEN
            size += 1
            for at in range(first[ring], first[ring + 1]):
                if at > first[ring]:
                    letters[size] = _COMMA
                    size += 1
                letters[size] = _OPEN
                size = _put_degrees(points[at, 0], letters, size + 1)
                letters[size] = _COMMA
                size = _put_degrees(points[at, 1], letters, size + 1)
                letters[size] = _CLOSE
                size += 1
            letters[size] = _CLOSE
            size += 1
        letters[size] = _CLOSE
        size += 1
    return size
