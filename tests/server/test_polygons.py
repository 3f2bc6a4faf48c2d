"""Polygons as answers have them, against the reader of JSON."""

from __future__ import annotations

import json

import numpy as np
import orjson
import shapely

from vkssp.server.answers.polygons import polygons


def test_polygons_have_the_shortest_numbers_of_six_decimals() -> None:
    rng = np.random.default_rng(3)
    # Thousandths of degrees around 0, where numbers have exponents, and degrees everywhere.
    scale = rng.choice([1e-5, 1e-3, 1.0, 180.0], (400, 2))
    some = np.round(rng.uniform(-1.0, 1.0, (400, 2)) * scale, 6)
    some[:4] = [[-180.0, 90.0], [0.0, -0.0], [1e-6, -1.1e-5], [9.9e-5, 1e-4]]
    shell, hole, other = some[:300], some[300:360], some[360:]
    area = shapely.MultiPolygon([shapely.Polygon(shell, [hole]), shapely.Polygon(other)])
    for one in (area, shapely.MultiPolygon([shapely.Polygon(shell)]), shapely.MultiPolygon([])):
        text = orjson.dumps(polygons(one))
        expected = one.geoms[0] if len(one.geoms) == 1 else one
        assert json.loads(text) == json.loads(json.dumps(shapely.geometry.mapping(expected)))
        assert len(text) <= len(shapely.to_geojson(expected))
