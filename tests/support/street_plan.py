"""A plan of a few streets, and boxes on it."""

from __future__ import annotations

from typing import Any

import shapely

from tests.support.streetmaps import UNIT


def box(south: float, west: float, north: float, east: float) -> Any:
    return shapely.box(west * UNIT, south * UNIT, east * UNIT, north * UNIT)


def at(y: float, x: float) -> tuple[float, float]:
    return y * UNIT, x * UNIT


#: One long street, and a way round its middle.
LONG: Any = [(0, 0), (0, 100), (0, -10), (0, 110), (20, 50)]


STREETS: Any = [(0, 1, 1000), (2, 0, 100), (1, 3, 100), (0, 4, 900), (4, 1, 900)]
