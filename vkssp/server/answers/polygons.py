"""Polygons of GeoJSON as answers have them, written by compiled code: an area has thousands of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import shapely

from vkssp.jit import kernels


def polygons(area: Any) -> orjson.Fragment:
    """Return the geometry of a shapely.MultiPolygon in degrees with six decimals, a Polygon if it has only one."""
    if area.is_empty:
        return orjson.Fragment(b'{"type":"MultiPolygon","coordinates":[]}')
    _, points, (first, first_ring, _) = shapely.to_ragged_array([area])
    module = kernels("vkssp.server.kernels.polygons")
    most = module.MOST * len(points) + module.MOST_OF_RING * (len(first) + len(first_ring))
    letters = np.empty(most, np.uint8)
    text = letters[: module.put_polygons(points, first, first_ring, letters)].tobytes()
    one = len(first_ring) == 2
    form = b'{"type":"Polygon","coordinates":%b}' if one else b'{"type":"MultiPolygon","coordinates":[%b]}'
    return orjson.Fragment(form % text)
