"""Mercator's projection of a sphere, in radii of the Earth, and tiles of maps, which are cut from it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Latitude up to which maps of tiles reach, and a little more.
TILES_LATITUDE = 85.06


def northing(lat: Floats) -> Floats:
    """Return the distances of latitudes in degrees from the equator on the plane."""
    found: Floats = np.log(np.tan(np.pi / 4 + np.radians(lat) / 2))
    return found


def latitude(north: Floats) -> Floats:
    """Return the latitudes in degrees of northings."""
    found: Floats = np.degrees(np.arctan(np.sinh(north)))
    return found


def northing_of(lat: float) -> float:
    """Return the `northing` of one latitude, in a fraction of its time."""
    return math.log(math.tan(math.pi / 4 + math.radians(lat) / 2))


def latitude_of(north: float) -> float:
    """Return the `latitude` of one northing, in a fraction of its time."""
    return math.degrees(2.0 * math.atan(math.exp(north)) - math.pi / 2)


def mercator(points: Floats) -> Floats:
    """Return longitude and latitude in degrees as points on the plane, shape (k, 2)."""
    return np.stack([np.radians(points[:, 0]), northing(points[:, 1])], axis=1)


def from_mercator(flat: Floats) -> Floats:
    """Return longitude and latitude in degrees of points that `mercator` returned."""
    return np.stack([np.degrees(flat[:, 0]), latitude(flat[:, 1])], axis=1)


def in_tile(lat: Floats, lon: Floats, zoom: int, x: int, y: int) -> tuple[Floats, Floats]:
    """Return how far to the east and to the south of a tile's north-western corner places are, in sides of the tile."""
    scale = 2.0**zoom
    south = (1.0 - northing(lat.clip(-TILES_LATITUDE, TILES_LATITUDE)) / np.pi) / 2.0
    return (lon + 180.0) / 360.0 * scale - x, south * scale - y
