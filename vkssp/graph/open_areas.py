"""Open areas, such as squares, that travellers on foot cross in straight lines, as a flat array of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Farthest coordinates in 1e-7 degrees, and the highest speed in metres per hour.
_LAST_LAT, _LAST_LON, _MOST_SPEED = 900_000_000, 1_800_000_000, 300_000


class Ring(NamedTuple):
    """Closed line around an area, or around an obstacle in it; its first point is not repeated.

    Attributes
    ----------
    nodes : tuple of int
        OSM ids of the points, at least three.
    points : tuple of (int, int)
        Latitude and longitude of the points in 1e-7 degrees.
    """

    nodes: tuple[int, ...]
    points: tuple[tuple[int, int], ...]


class OpenArea(NamedTuple):
    """Area that is crossed in straight lines.

    Attributes
    ----------
    way : int
        OSM id of its way; for a relation the negative of its id.
    speed : int
        Speed on the way from a place inside to a corner, in metres per hour.
    rings : tuple of Ring
        The ring around the area, then those around obstacles.
    """

    way: int
    speed: int
    rings: tuple[Ring, ...]


def packed(areas: tuple[OpenArea, ...]) -> npt.NDArray[np.int64]:
    """Return areas as an array: for each its way, speed, number of rings, and for each ring its size and points."""
    numbers: list[int] = []
    for area in areas:
        numbers += [area.way, area.speed, len(area.rings)]
        for ring in area.rings:
            numbers.append(len(ring.nodes))
            for node, point in zip(ring.nodes, ring.points, strict=True):
                numbers += [node, *point]
    return np.array(numbers, np.int64)


def unpacked(array: npt.NDArray[np.int64]) -> tuple[OpenArea, ...]:
    """Return the areas of an array; see `packed`.

    Raises
    ------
    ValueError
        If the array holds anything else.
    """
    numbers, found, at = array.tolist(), [], 0
    while at + 3 <= len(numbers):
        way, speed, count = numbers[at : at + 3]
        if not 0 < speed <= _MOST_SPEED or count < 1:
            raise ValueError("an area without a speed, or without a ring")
        at, rings = at + 3, []
        for _ in range(count):
            size = numbers[at] if at < len(numbers) else 0
            end = at + 1 + 3 * size
            if size < 3 or end > len(numbers):
                raise ValueError("a ring of fewer than three points")
            nodes, lat, lon = (tuple(numbers[at + 1 + column : end : 3]) for column in range(3))
            if max(map(abs, lat)) > _LAST_LAT or max(map(abs, lon)) > _LAST_LON:
                raise ValueError("a point that is not on the Earth")
            rings.append(Ring(nodes, tuple(zip(lat, lon, strict=True))))
            at = end
        found.append(OpenArea(way, speed, tuple(rings)))
    if at != len(numbers):
        raise ValueError("numbers that are left over")
    return tuple(found)


def is_packed(array: npt.NDArray[np.int64]) -> bool:
    """Return whether an array holds areas as `packed` writes them."""
    try:
        unpacked(array.reshape(-1))
    except ValueError:
        return False
    return array.ndim == 1
