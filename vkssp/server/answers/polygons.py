"""Polygons of GeoJSON as answers have them, written by compiled code: an area has thousands of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import shapely

from vkssp.jit import kernels


def polygons(area: Any) -> orjson.Fragment:
    """Return the geometry of a shapely.MultiPolygon in degrees with six decimals, a Polygon if it has only one."""
    if area.is_empty:
        return orjson.Fragment(b'{"type":"MultiPolygon","coordinates":[]}')
    parts = shapely.get_parts(area)
    points, counts = shapely.get_coordinates(parts), shapely.get_num_coordinates(shapely.get_rings(parts))
    first, first_ring = _offsets(counts), _offsets(1 + shapely.get_num_interior_rings(parts))
    module = kernels("vkssp.server.kernels.polygons")
    most = module.MOST * len(points) + module.MOST_OF_RING * (len(first) + len(first_ring))
    letters = np.empty(most, np.uint8)
    text = letters[: module.put_polygons(points, first, first_ring, letters)].tobytes()
    one = len(first_ring) == 2
    form = b'{"type":"Polygon","coordinates":%b}' if one else b'{"type":"MultiPolygon","coordinates":[%b]}'
    return orjson.Fragment(form % text)


def _offsets(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found
