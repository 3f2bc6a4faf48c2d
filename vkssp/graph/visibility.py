"""Visibility graph of a polygon with holes: which points see each other, and shortest paths inside.

A shortest path inside a polygon turns only at *reflex* corners, those at which the inside takes more than half a turn:
corners of obstacles, and of the boundary where it juts in (de Berg et al., Computational Geometry, chapter 15).
Coordinates are whole numbers, so that tests of visibility are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import ground_metres, haversine
from vkssp.graph.streets import COORDINATE_SCALE

Points = npt.NDArray[np.int64]
Pairs = npt.NDArray[np.int64]


class Visibility:
    """Polygon whose points are latitude and longitude in 1e-7 degrees.

    Parameters
    ----------
    rings : sequence of numpy.ndarray
        The ring around the polygon, then those around holes, without repetition of the first point, shape (k, 2) each.
    ellipsoid : bool
        Whether lengths are those on the ellipsoid WGS84; otherwise they are great-circle distances on a sphere.

    Attributes
    ----------
    points : numpy.ndarray
        The points of all rings, shape (num_points, 2), int64.
    before, after : numpy.ndarray
        Index of the point before and after each point on its ring, shape (num_points,), int64.
    """

    def __init__(self, rings: Sequence[npt.NDArray[Any]], *, ellipsoid: bool = False) -> None:
        whole = [np.asarray(ring, np.int64) for ring in rings]
        self._rings, self._measure = whole, ground_metres if ellipsoid else haversine
        self.points: Points = np.concatenate(whole)
        size = np.array([len(ring) for ring in whole], np.int64)
        first = np.repeat(np.cumsum(size) - size, size)
        place, count = np.arange(len(self.points)) - first, np.repeat(size, size)
        self.after, self.before = first + (place + 1) % count, first + (place - 1) % count

    @cached_property
    def polygon(self) -> Any:
        """The polygon in shapely, x to the east; it may be invalid."""
        import shapely

        outer, *inner = [ring[:, ::-1] for ring in self._rings]
        polygon = shapely.Polygon(outer, inner)
        shapely.prepare(polygon)
        return polygon

    @property
    def is_valid(self) -> bool:
        """Whether no rings cross each other or themselves."""
        return bool(self.polygon.is_valid)

    @cached_property
    def is_reflex(self) -> npt.NDArray[np.bool_]:
        """Whether the inside takes more than half a turn at each point."""
        found = np.zeros(len(self.points), np.bool_)
        low = 0
        for number, ring in enumerate(self._rings):
            here = slice(low, low + len(ring))
            low += len(ring)
            turn = _turn(self.points[self.before[here]], ring, self.points[self.after[here]])
            around = np.sign(_area(ring))
            # Along a counterclockwise ring, the polygon lies to the left; a hole lies there instead.
            found[here] = turn * around < 0 if number == 0 else turn * around > 0
        return found

    def covers(self, lat: float, lon: float) -> bool:
        """Return whether a point, in 1e-7 degrees, is inside or on a ring."""
        import shapely

        return bool(shapely.covers(self.polygon, shapely.Point(lon, lat)))

    def metres(self, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the distances between points in 1e-7 degrees."""
        here, there = np.asarray(one) * COORDINATE_SCALE, np.asarray(other) * COORDINATE_SCALE
        found: npt.NDArray[np.float64] = self._measure(here[..., 0], here[..., 1], there[..., 0], there[..., 1])
        return found

    def _seen(self, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        import shapely

        lines = shapely.linestrings(np.stack([one[:, ::-1], other[:, ::-1]], axis=1).astype(np.float64))
        found: npt.NDArray[np.bool_] = shapely.covers(self.polygon, lines)
        return found

    def seen_from(self, place: npt.NDArray[Any], among: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return which of some points of the rings a place sees that is inside."""
        there = self.points[among]
        return among[self._seen(np.broadcast_to(np.asarray(place), there.shape), there)]

    def sight_lines(self, among: npt.NDArray[np.int64]) -> Pairs:
        """Return the pairs of some points of the rings, ascending, that see each other, shape (p, 2), int64."""
        one, other = (among[part] for part in np.triu_indices(len(among), 1))
        beside = (self.after[one] == other) | (self.before[one] == other)
        seen = beside.copy()
        seen[~beside] = self._seen(self.points[one[~beside]], self.points[other[~beside]])
        return np.column_stack([one[seen], other[seen]])

    def sides(self) -> Pairs:
        """Return the pairs of successive points of the rings."""
        return np.column_stack([np.arange(len(self.points)), self.after])

    @cached_property
    def _corners(self) -> tuple[npt.NDArray[np.int64], Any]:
        """The reflex corners, and the lengths of the lines between those that see each other, as a sparse matrix."""
        from scipy import sparse

        corners = np.flatnonzero(self.is_reflex)
        pairs = self.sight_lines(corners)
        rows, columns = (np.searchsorted(corners, pairs[:, side]) for side in (0, 1))
        lengths = self.metres(self.points[pairs[:, 0]], self.points[pairs[:, 1]])
        return corners, sparse.coo_array((lengths, (rows, columns)), shape=(len(corners), len(corners)))

    def shortest(self, start: npt.NDArray[Any], end: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the points, in 1e-7 degrees, of the shortest path between two places that are inside."""
        from scipy import sparse
        from scipy.sparse import csgraph

        ends = np.array([start, end], np.float64)
        if self._seen(ends[:1], ends[1:])[0]:
            return ends
        corners, lines = self._corners
        count = len(corners)
        rows, columns, lengths = [lines.row], [lines.col], [lines.data]
        for number, place in enumerate(ends):
            seen = self.seen_from(place, corners)
            rows.append(np.full(len(seen), count + number))
            columns.append(np.searchsorted(corners, seen))
            lengths.append(self.metres(place, self.points[seen]))
        graph = sparse.coo_array(
            (np.concatenate(lengths), (np.concatenate(rows), np.concatenate(columns))), shape=(count + 2, count + 2)
        )
        _, parent = csgraph.dijkstra(graph.tocsr(), directed=False, indices=count, return_predecessors=True)
        passed, at = [ends[1]], int(parent[count + 1])
        while 0 <= at < count:
            passed.append(self.points[corners[at]].astype(np.float64))
            at = int(parent[at])
        return np.array([*passed, ends[0]])[::-1]


def _turn(one: Points, two: Points, three: Points) -> npt.NDArray[np.int64]:
    """Return the sign of the turn at the second of three points, positive to the left as seen from above."""
    step, further = two - one, three - two
    found: npt.NDArray[np.int64] = np.sign(step[..., 1] * further[..., 0] - step[..., 0] * further[..., 1])
    return found


def _area(ring: Points) -> int:
    """Return twice the area of a ring, positive if it runs counterclockwise."""
    north, east = (ring - ring[0]).T
    return int(np.sum(east * np.roll(north, -1) - np.roll(east, -1) * north))
