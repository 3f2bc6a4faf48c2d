"""Numbers as OSRM prints them."""

from __future__ import annotations

import math


def tenth(value: float) -> float:
    """Return seconds, metres or a weight, rounded to one decimal place."""
    return math.floor(10.0 * value + 0.5) / 10.0


def digits(value: float) -> float:
    """Return a number with ten digits."""
    return float(f"{value:.10g}")


def location(lat: float, lon: float) -> tuple[float, float]:
    """Return longitude and latitude, in whole microdegrees."""
    return round(lon, 6), round(lat, 6)
