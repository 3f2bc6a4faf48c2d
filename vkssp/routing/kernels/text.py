"""Kernel of the text of a line in GeoJSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

#: Number of decimals of a coordinate, and the most characters of a position with its brackets and commas.
DECIMALS = 7
WIDTH = 2 * (DECIMALS + 6) + 2
_TEN, _WHOLE, _ZERO = np.uint64(10), np.uint64(10**DECIMALS), np.uint64(ord("0"))
_MINUS, _POINT, _COMMA, _OPEN, _CLOSE = (ord(sign) for sign in "-.,[]")


@jit
def put_positions(points: npt.NDArray[np.float64], text: Any) -> int:
    """Write points as JSON positions, each with a comma after it, and return the number of characters.

    `points` are latitudes and longitudes; positions have the longitude first. If the line crosses the 180th meridian,
    or has coordinates of 1000 degrees and more, the result is 0.
    """
    at = 0
    for i in range(len(points)):
        if i > 0 and abs(points[i, 1] - points[i - 1, 1]) > 180.0:
            return 0
        if abs(points[i, 0]) >= 1000.0 or abs(points[i, 1]) >= 1000.0:
            return 0
        for axis in (1, 0):
            text[at] = _OPEN if axis == 1 else _COMMA
            at += 1
            degrees = points[i, axis] * 10.0**DECIMALS
            rest = np.uint64(np.rint(abs(degrees)))
            if degrees < 0.0 and rest > 0:
                text[at] = _MINUS
                at += 1
            place = _WHOLE
            while place * _TEN <= rest:
                place *= _TEN
            while place >= _WHOLE or rest > 0 or place == _WHOLE // _TEN:
                if place == _WHOLE // _TEN:
                    text[at] = _POINT
                    at += 1
                digit = rest // place
                text[at] = digit + _ZERO
                at += 1
                rest -= digit * place
                place //= _TEN
        text[at] = _CLOSE
        text[at + 1] = _COMMA
        at += 2
    return at
