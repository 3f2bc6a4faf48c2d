"""Compiled part of `vkssp.server.polyline`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vkssp.jit import jit

#: Microdegrees of a degree.
MICRODEGREES = 1e6


@jit
def _rounded(value: float) -> float:
    """Return the nearest whole number, of two the one away from zero."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


@jit
def encode(points: Any, scale: float, first: int, more: int, bits: int, letters: Any) -> int:
    """Write an encoded polyline into `letters`; return how many there are.

    `scale` is the number of units of a degree, `first` the first printable letter, `more` the bit of a group of `bits`
    that others follow.
    """
    size = 0
    lat: Any = 0
    lon: Any = 0
    for row in range(len(points)):
        for column in range(2):
            # OSRM keeps whole microdegrees; rounding these again may differ from rounding once.
            whole = np.int64(_rounded(_rounded(points[row, column] * MICRODEGREES) * (scale / MICRODEGREES)))
            step = whole - (lon if column else lat)
            if column:
                lon = whole
            else:
                lat = whole
            rest = ~(step << 1) if step < 0 else step << 1
            while rest >= more:
                letters[size] = (rest & (more - 1) | more) + first
                size += 1
                rest >>= bits
            letters[size] = rest + first
            size += 1
    return size
