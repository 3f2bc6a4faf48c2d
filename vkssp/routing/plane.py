"""Streets on a plane: on that of Mercator or, near a pole, on the plane that touches the Earth there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.geo import POLAR_LATITUDE, polar_plane, wrapped
from vkssp.graph.mercator import mercator
from vkssp.jit import kernels

if TYPE_CHECKING:
    from vkssp.routing.lines import StreetLines
    from vkssp.routing.street_reach import Spans

# Lines that extend beyond this latitude, away from the pole, cannot be shown on the plane of the pole.
_TOO_FAR = 45.0


class StreetPlane:
    """Polylines of streets on a plane, which depend on no weights.

    Attributes
    ----------
    length : numpy.ndarray
        Length of each polyline in metres, shape (num_polylines,), float64.
    poles : tuple of int
        The planes that polylines are on: 0 that of `mercator`, 1 and -1 that of the north and of the south pole.
    """

    def __init__(self, lines: StreetLines) -> None:
        self._first, self._passed = lines.first, lines.passed_metres
        self.length = own(self._passed[lines.first[1:] - 1])
        count = np.diff(lines.first)
        line = np.repeat(np.arange(lines.num_polylines), count)
        lat, lon = lines.points.T
        # All lines are moved to one side of the Earth, so that streets on both sides of the 180th meridian meet.
        begin = lon[lines.first[:-1]]
        east, north = np.cos(np.radians(begin)).sum(), np.sin(np.radians(begin)).sum()
        lon = lon + (wrapped(begin, math.degrees(math.atan2(north, east))) - begin)[line]
        low, high = (ends.reduceat(lat, lines.first[:-1]) for ends in (np.minimum, np.maximum))
        is_north = (high > POLAR_LATITUDE) & (low > _TOO_FAR)
        is_south = (low < -POLAR_LATITUDE) & (high < -_TOO_FAR)
        self._pole = is_north.astype(np.int64) - is_south
        self.poles: tuple[int, ...] = tuple(sorted({0, *np.unique(self._pole).tolist()}, key=abs))
        flat = mercator(np.stack([lon, lat.clip(-89.9, 89.9)], axis=1))
        near = np.flatnonzero(self._pole[line])
        flat[near] = polar_plane(lines.points[near], self._pole[line[near]])
        self._points: npt.NDArray[np.float64] = own(flat)

    def pieces(self, spans: Spans, pole: int, tolerance_m: float) -> npt.NDArray[np.float64]:
        """Return the pieces of parts of polylines on one of the planes, simplified, as `bands` takes them."""
        line, level, low, high = spans
        if len(self.poles) > 1:
            chosen = self._pole[line] == pole
            line, level, low, high = line[chosen], level[chosen], low[chosen], high[chosen]
        elif pole:
            return np.zeros((0, 5))
        cut = kernels("vkssp.routing.kernels.bands").cut_spans
        parts = (line, level, low, high, self._first, self._points, self._passed)
        how = (tolerance_m, pole == 0)
        found = np.empty((cut(*parts, *how, np.empty((0, 5))), 5))
        return found[: cut(*parts, *how, found)]
