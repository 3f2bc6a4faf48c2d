"""Distances on the Earth's surface."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: The Earth's mean radius in metres (IUGG).
EARTH_RADIUS = 6371008.8
METRES_PER_DEGREE = float(np.pi / 180 * EARTH_RADIUS)
#: A road leaves a junction in the direction of its point so many metres away; the first ones are often drawn by chance.
_LOOK_AHEAD_M = 10.0


def haversine(lat0: npt.ArrayLike, lon0: npt.ArrayLike, lat1: npt.ArrayLike, lon1: npt.ArrayLike) -> Any:
    """Return great-circle distances in metres between points given in degrees; the arguments broadcast."""
    phi0, phi1 = np.radians(lat0), np.radians(lat1)
    half = np.sin((phi1 - phi0) / 2) ** 2
    half = half + np.cos(phi0) * np.cos(phi1) * np.sin(np.radians(np.subtract(lon1, lon0)) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))


def directions(first: npt.NDArray[Any], points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return in which directions one sees each line from its two ends.

    Parameters
    ----------
    first : numpy.ndarray
        Offset of each line's first point, shape (num_lines + 1,).
    points : numpy.ndarray
        Latitude and longitude of the points in degrees, shape (num_points, 2).

    Returns
    -------
    numpy.ndarray
        Degrees from north, clockwise, from the start and from the end towards the point 10 m away along the line,
        shape (num_lines, 2); 0 for a line without length.
    """
    first = first.astype(np.int64)
    line = np.repeat(np.arange(len(first) - 1), np.diff(first))
    width = np.maximum(np.cos(np.radians(points[first[:-1], 0])), 1e-3)[line]
    east = (points[:, 1] - points[first[:-1], 1][line] + 180.0) % 360.0 - 180.0
    flat = np.stack([east * width, points[:, 0]], axis=1) * METRES_PER_DEGREE
    step = np.hypot(*np.diff(flat, axis=0).T)
    step[first[1:-1] - 1] = 0.0  # from one line to the next
    passed = np.concatenate([[0.0], np.cumsum(step)])
    begin, end = passed[first[:-1]], passed[first[1:] - 1]
    reach = np.minimum(_LOOK_AHEAD_M, end - begin)

    def point_at(where: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        index = np.searchsorted(passed, where, side="right") - 1
        index = np.clip(index, first[:-1], first[1:] - 2)
        part = (where - passed[index]) / np.where(step[index] > 0, step[index], 1.0)
        found: npt.NDArray[np.float64] = flat[index] + np.clip(part, 0.0, 1.0)[:, None] * (
            flat[index + 1] - flat[index]
        )
        return found

    at_start = point_at(begin + reach) - flat[first[:-1]]
    at_end = point_at(end - reach) - flat[first[1:] - 1]
    return np.stack([np.degrees(np.arctan2(d[:, 0], d[:, 1])) for d in (at_start, at_end)], axis=1)
