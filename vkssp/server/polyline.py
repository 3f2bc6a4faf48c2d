"""Encoded polylines: lines as short texts.

The format is that of Google's maps: https://developers.google.com/maps/documentation/utilities/polylinealgorithm.
Differences of rounded coordinates, with the sign in the last bit, are written in groups of 5 bits, the lowest first, as
printable characters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.jit import kernels

#: First printable character of a group; the bit that marks a group that others follow; the bits of a group.
_FIRST, _MORE, _BITS = 63, 32, 5
#: Most groups of one number; the sum of two differences of microdegrees needs no more.
_MOST_GROUPS = 7


def encoded(points: npt.NDArray[np.float64], precision: int = 5) -> str:
    """Return a line as an encoded polyline.

    Parameters
    ----------
    points : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2).
    precision : int
        Decimal places that are kept.
    """
    letters = np.empty(2 * _MOST_GROUPS * len(points), np.uint8)
    encode = kernels("vkssp.server.kernels.polyline").encode
    size = encode(np.ascontiguousarray(points), 10.0**precision, _FIRST, _MORE, _BITS, letters)
    return letters[:size].tobytes().decode("ascii")


def decoded(text: str, precision: int = 5) -> npt.NDArray[np.float64]:
    """Return the points of an encoded polyline: latitude and longitude in degrees, shape (k, 2).

    What follows the last whole point is dropped, as OSRM does it.
    """
    groups = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int64) - _FIRST
    last = np.flatnonzero(groups < _MORE)
    count = len(last) // 2 * 2
    if count == 0:
        return np.zeros((0, 2))
    last = last[:count]
    groups = groups[: last[-1] + 1]
    first = np.concatenate([np.zeros(1, np.int64), last[:-1] + 1])
    place = np.arange(len(groups)) - np.repeat(first, last - first + 1)
    values = np.add.reduceat((groups & (_MORE - 1)) << np.minimum(_BITS * place, 60), first)
    steps = np.where(values & 1, ~(values >> 1), values >> 1).reshape(-1, 2)
    return np.asarray(np.cumsum(steps, axis=0) / 10.0**precision)
