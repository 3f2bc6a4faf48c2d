"""Bands around lines, against shapely's distances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import shapely

from tests.support.street_grid import street_grid
from vkssp import Graph, QueryError
from vkssp.graph.geo import METRES_PER_DEGREE
from vkssp.graph.mercator import from_mercator, mercator
from vkssp.jit import kernels
from vkssp.routing.bands import LINE_TOLERANCE, RING_TOLERANCE, bands
from vkssp.routing.isochrone import isochrones
from vkssp.routing.snap import StreetIndex


def inside(points: np.ndarray, first: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Return which places are inside an odd number of rings."""
    found = np.zeros(len(x), np.bool_)
    for a, b in itertools.pairwise(first):
        found ^= shapely.contains_xy(shapely.Polygon(points[a:b]), x, y)
    return found


@pytest.mark.parametrize("width", [3.0, 40.0, 700.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_band_holds_what_is_near_the_lines(width: float, seed: int) -> None:
    """Long, short and empty pieces that cross each other, in two levels."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(0, 3000, (40, 2))
    end = start + rng.normal(0, [[10], [300], [1500], [0]] * 10, (40, 2))
    pieces = np.column_stack([start, end, np.repeat([0.0, 1.0], 20)])
    x, y = rng.uniform(-800, 3800, (2, 4000))
    lines = shapely.linestrings(pieces[:, :4].reshape(-1, 2, 2))
    inner, outer = bands(pieces, 2, width, False)
    for rings, count in ((inner, 20), (outer, 40)):
        metres = shapely.distance(lines[:count, None], shapely.points(x, y)).min(axis=0)
        # In the corners between two lines the band is cut short by a part of a cell.
        sure = np.abs(metres - width) > width / 12
        assert np.array_equal(inside(*rings, x, y)[sure], metres[sure] < width)
        away = shapely.distance(lines[:count, None], shapely.points(rings[0])).min(axis=0)
        assert np.quantile(np.abs(away - width), 0.9) < width / 60 and np.abs(away - width).max() < width / 6


def test_bands_on_the_plane_of_mercator_are_as_wide_everywhere() -> None:
    for lat in (-75.0, 0.0, 51.0, 84.9):
        half = 0.02 / np.cos(np.radians(lat))
        ends = mercator(np.array([[10.0 - half, lat], [10.0 + half, lat]])).reshape(1, 4)
        ((points, first),) = bands(np.column_stack([ends, [0.0]]), 1, 100.0, True)
        lon, north = from_mercator(points).T
        assert len(first) == 2
        assert (north - lat).max() * METRES_PER_DEGREE == pytest.approx(100.0, abs=0.5)
        assert (lat - north).max() * METRES_PER_DEGREE == pytest.approx(100.0, abs=0.5)
        reach = (lon.max() - 10.0 - half) * METRES_PER_DEGREE * np.cos(np.radians(lat))
        assert reach == pytest.approx(100.0, abs=1.5)


def test_winding_streets_are_followed_within_the_tolerance() -> None:
    """A spiral of thousands of short pieces, most of which are left out."""
    turn = np.linspace(0, 6 * np.pi, 4000)
    lat, lon = 0.01 * turn / 20 * np.stack([np.sin(turn), np.cos(turn)])
    count = len(turn)
    graph = Graph.from_edges(np.arange(count - 1), np.arange(1, count), np.ones(count - 1), lat=lat, lon=lon)
    (found,) = isochrones(StreetIndex(graph), np.arange(count, dtype=np.uint32), [], [count], width_m=30)
    exact = shapely.LineString(np.column_stack([lon, lat])).buffer(30 / METRES_PER_DEGREE, quad_segs=32)
    slack = 30 / METRES_PER_DEGREE * (LINE_TOLERANCE + RING_TOLERANCE + 1 / 60)
    assert exact.buffer(slack).contains(found.area) and found.area.contains(exact.buffer(-slack))


def test_streets_that_are_too_long_for_the_width_are_refused() -> None:
    lat, lon = np.tile([-70.0, 70.0], 200), np.linspace(-170.0, 170.0, 400)
    graph = Graph.from_edges(np.arange(399), np.arange(1, 400), np.ones(399), lat=lat, lon=lon)
    with pytest.raises(QueryError, match="too long for an area that extends 1 m to either side"):
        isochrones(StreetIndex(graph), np.arange(400, dtype=np.uint32), [], [400], width_m=1)


def test_a_network_is_drawn_the_same_at_once_and_by_steps() -> None:
    graph = street_grid(9)
    index, distances = StreetIndex(graph), np.arange(81, dtype=np.uint32) * 100
    together = isochrones(index, distances, [], [500, 1700, 9000])
    for one in together:
        (alone,) = isochrones(index, distances, [], [int(one.limit)])
        assert one.road_m == alone.road_m
        assert one.area.symmetric_difference(alone.area).area < 1e-6 * alone.area.area


def test_rings_are_simplified_as_by_shapely_and_small_holes_are_left_out() -> None:
    rng = np.random.default_rng(4)
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    rings = [
        np.stack([turn * np.cos(angle), np.sin(angle)], axis=1) * size + rng.normal(0, 0.02 * size, (200, 2))
        for size, turn in ((100.0, 1), (60.0, -1), (5.0, -1), (1.0, 1))
    ]
    first = np.arange(5) * 200
    points, begin, size = kernels("vkssp.routing.kernels.rings").simplified(
        np.concatenate(rings), first, np.ones(4), 2.0, -1000.0
    )
    expected = [shapely.simplify(shapely.LineString([*ring, ring[0]]), 2.0, preserve_topology=False) for ring in rings]
    assert len(size) == 2 and size[0] > 0.0 > size[1]
    for at, one in enumerate(expected[:2]):
        assert np.array_equal(points[begin[at] : begin[at + 1]], shapely.get_coordinates(one))
        assert abs(size[at]) == pytest.approx(shapely.Polygon(one).area)
