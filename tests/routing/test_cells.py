"""Squares and hexagons over the streets of a map."""

from __future__ import annotations

import math
from pathlib import Path

import h3
import numpy as np
import pytest
import shapely

from tests.support.streetmaps import UNIT, street_map
from vkssp import Graph, QueryError, Router, read_graph
from vkssp.graph.geo import haversine


@pytest.fixture(scope="module")
def router(andorra_path: Path) -> Router:
    return Router(read_graph(andorra_path), device="cpu")


def test_squares(router: Router) -> None:
    cells = router.grid(500)
    assert len(cells) == len(cells.ids) == len(cells.places) == len(set(cells.ids)) > 100
    lat, lon = np.array(cells.places).T
    assert shapely.covers(cells.shapes, shapely.points(lon, lat)).all()
    west, south, east, north = shapely.bounds(cells.shapes).T
    middle = (south + north) / 2
    assert np.allclose(haversine(middle, west, middle, east), 500, rtol=1e-3)
    assert np.allclose(haversine(south, west, north, west), 500, rtol=1e-3)
    # Each street is covered, and no square is empty.
    index = router.index
    points = index.points_along(20.0)
    tree = shapely.STRtree(cells.shapes)
    inside, which = tree.query(shapely.points(*points.T[::-1]), predicate="intersects")
    # A corner that a street cuts off may have no point.
    assert len(np.unique(inside)) > 0.99 * len(points) and len(np.unique(which)) == len(cells)
    distance = haversine(lat, lon, middle, (west + east) / 2)
    for cell in range(0, len(cells), 50):
        own = points[inside[which == cell]]
        assert distance[cell] <= haversine(*own.T, middle[cell], (west + east)[cell] / 2).min() + 125


def test_hexagons(router: Router) -> None:
    cells = router.hexagons(8)
    assert [h3.latlng_to_cell(lat, lon, 8) for lat, lon in cells.places] == cells.ids == sorted(set(cells.ids))
    for cell, shape in zip(cells.ids[:20], cells.shapes, strict=False):
        assert shape.equals(shapely.Polygon([(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]))
    found = router.accessibility(cells.places, cells.places, limits=[60, 600])
    assert found.shape == (len(cells), 2) and (found[:, 0] >= 1).all() and found.max() <= len(cells)


def test_across_the_180th_meridian() -> None:
    graph = Graph.from_edges(
        [0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 5, 5], lat=[-17.0, -17.0, -17.0], lon=[179.99, -179.995, -179.98]
    )
    with Router(graph, device="cpu") as router:
        for cells in (router.grid(1000), router.hexagons(7)):
            assert len(cells) >= 2
            for (lat, lon), shape in zip(cells.places, cells.shapes, strict=True):
                assert abs(lon) <= 180
                west, _, east, _ = shape.bounds
                assert east - west < 0.1
                middle = (west + east) / 2
                assert shape.buffer(1e-9).covers(shapely.Point(middle + math.remainder(lon - middle, 360.0), lat))


def test_areas_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = street_map([(0, 0), (0, 10), (0, 30)], [(0, 1, 1000), (1, 2, 2000)])
    whole = Router(graph, device="cpu").grid(200)
    area = shapely.box(15 * UNIT, -UNIT, 40 * UNIT, UNIT)
    with Router(graph, device="cpu", avoid=area) as router:
        cells = router.grid(200)
        assert 0 < len(cells) < len(whole) and set(cells.ids) < set(whole.ids)
        assert all(lon < 15 * UNIT for _, lon in cells.places)
        for metres in (0, 9.9, "100", math.nan, 1e6):
            with pytest.raises(QueryError, match="metres is"):
                router.grid(metres)  # type: ignore[arg-type]
        for resolution in (-1, 16, 7.5, "8"):
            with pytest.raises(QueryError, match="resolution"):
                router.hexagons(resolution)  # type: ignore[arg-type]
        monkeypatch.setitem(__import__("sys").modules, "h3.api.basic_int", None)
        with pytest.raises(QueryError, match=r"pip install 'vkssp\[hexagons\]'"):
            router.hexagons(8)
