"""Distances on the Earth's surface."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: The Earth's mean radius in metres (IUGG).
EARTH_RADIUS = 6371008.8
METRES_PER_DEGREE = float(np.pi / 180 * EARTH_RADIUS)


def haversine(lat0: npt.ArrayLike, lon0: npt.ArrayLike, lat1: npt.ArrayLike, lon1: npt.ArrayLike) -> Any:
    """Return great-circle distances in metres between points given in degrees; the arguments broadcast."""
    phi0, phi1 = np.radians(lat0), np.radians(lat1)
    half = np.sin((phi1 - phi0) / 2) ** 2
    half = half + np.cos(phi0) * np.cos(phi1) * np.sin(np.radians(np.subtract(lon1, lon0)) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
