"""Simplification of lines for overviews: only what can be seen on a map that shows the whole line."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from vkssp.graph.mercator import northing
from vkssp.jit import kernels

#: Pixels of a tile; tiles of the map's width and height; the largest zoom; the detail that is kept, in pixels.
_TILE, _WIDTH, _HEIGHT, _LAST_ZOOM, _DETAIL = 256, 8, 5, 18, 5
#: Whole units in which lines are simplified, of degrees, and latitude at which the map of Mercator ends.
_MICRO, _MOST_LAT = 1e6, 85.051129


def simplified(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the points of a line without those that a map of the whole line would not show.

    The map is in the projection of Mercator, 8 tiles wide and 5 tiles high, at the largest zoom that has room for the
    line; a detail is left out if it is smaller than 5 pixels, as in OSRM's overviews.

    Parameters
    ----------
    points : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2).
    """
    if len(points) < 3:
        return points
    north = np.degrees(northing(points[:, 0].clip(-_MOST_LAT, _MOST_LAT)))
    y, x = (np.rint(_MICRO * degrees).astype(np.int64) for degrees in (north, points[:, 1]))
    around = 360.0 * _MICRO
    width, height = max(1, int(np.ptp(x))), max(1, int(np.ptp(y)))
    zoom = min(_LAST_ZOOM, math.floor(math.log2(min(_WIDTH * around / width, _HEIGHT * around / height))))
    threshold = int(_DETAIL * around / _TILE / 2.0**zoom)
    kept = np.zeros(len(points), np.bool_)
    kernels("vkssp.server.kernels.simplify").simplify(x, y, threshold, kept, np.empty(2 * len(points) + 2, np.int64))
    return points[kept]
