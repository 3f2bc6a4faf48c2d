"""Numbers as OSRM prints them."""

from __future__ import annotations

import math


def tenth(value: float) -> float:
    """Return seconds, metres or a weight, rounded to one decimal place."""
    return math.floor(10.0 * value + 0.5) / 10.0


def of_unit(value: float, unit: float | None) -> float:
    """Return a weight, rounded to a unit such as 0.001; a tenth if there is none."""
    parts = round(1.0 / unit) if unit is not None and 0 < unit < 1 else 10 if unit is None else 1
    return math.floor(parts * value + 0.5) / parts


def digits(value: float) -> float:
    """Return a number with ten digits."""
    return float(f"{value:.10g}")


def location(lat: float, lon: float) -> tuple[float, float]:
    """Return longitude and latitude, in whole microdegrees."""
    return round(lon, 6), round(lat, 6)
