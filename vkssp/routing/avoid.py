"""Streets without some areas or classes: which are closed, which parts of these still open, and the graph of the rest.

A street that an area touches is not used from end to end. A trip that begins or ends on it may still use the part on
its side of the area, for example if a road of ten kilometres is closed in its middle.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.geo import haversine

if TYPE_CHECKING:
    from vkssp.routing.lines import StreetLines


class Avoided:
    """Streets of an index without some areas.

    Parameters
    ----------
    lines : StreetLines
        The streets.
    areas : shapely.Polygon or shapely.MultiPolygon
        The areas, longitude and latitude in degrees; see `vkssp.routing.areas.read_areas`.
    before : Avoided, optional
        What is avoided beside the areas.

    Attributes
    ----------
    touched : numpy.ndarray
        Whether an area touches each polyline, or it is excluded, shape (num_polylines,), bool.
    excluded : numpy.ndarray or None
        Whether each polyline is closed from end to end, shape (num_polylines,), bool; None if none is.
    has_areas : bool
        Whether there are areas, not only excluded polylines.
    graph : Graph
        The graph without the arcs along touched polylines.
    arc_ids : numpy.ndarray
        For each arc of `graph` its id in the whole graph, int64.

    Raises
    ------
    QueryError
        If the areas are on the map only with latitude and longitude swapped, or if they touch every street.
    """

    excluded: npt.NDArray[np.bool_] | None = None
    has_areas = True

    def __init__(self, lines: StreetLines, areas: Any, before: Avoided | None = None) -> None:
        import shapely

        turns = (0.0, 360.0, -360.0)  # longitudes of lines across the 180th meridian continue beyond it
        area = shapely.union_all([_moved(areas, turn) for turn in turns])
        shapely.prepare(area)
        extent = shapely.box(lines.west, lines.south, lines.east, lines.north)
        swapped = shapely.transform(areas, lambda points: points[:, ::-1])
        if not shapely.intersects(area, extent) and shapely.intersects(swapped, extent):
            raise QueryError(
                "the areas to avoid are on this map only with latitude and longitude swapped; GeoJSON has the "
                "longitude first"
            )
        self._area, self.touched = area, _touched(lines, area)
        if before is not None:
            self.excluded, self.touched = before.excluded, self.touched | before.touched
            self._area = shapely.union(area, before._area)
            shapely.prepare(self._area)
        self._close(lines, "the areas to avoid touch every street of the map; give smaller ones")

    def _close(self, lines: StreetLines, nothing_left: str) -> None:
        """Make the graph without the arcs along touched polylines."""
        closed = self.touched[lines.polyline_of]
        if closed.all():
            raise QueryError(nothing_left)
        graph, self.arc_ids = _without(lines.graph, closed)
        # A hierarchy needs no arc: those that are missing are infinite.
        self.graph = replace(graph, hierarchy=lines.graph.hierarchy)

    @classmethod
    def excluding(cls, lines: StreetLines, excluded: npt.NDArray[np.bool_], before: Avoided | None) -> Avoided:
        """Return streets of which some polylines are closed, and what areas closed `before`."""
        import shapely

        avoided = cls.__new__(cls) if before is None else copy.copy(before)
        if before is None:
            avoided._area, avoided.has_areas = shapely.MultiPolygon(), False
        known = None if before is None else before.excluded
        avoided.excluded = excluded if known is None else known | excluded
        avoided.touched = excluded if before is None else before.touched | excluded
        avoided._close(lines, "these classes have every street of the map; exclude fewer")
        return avoided

    def on(self, lines: StreetLines) -> Avoided:
        """Return the same streets of another graph, whose weights have another meaning."""
        avoided = copy.copy(self)
        avoided._close(lines, "the areas to avoid touch every street of the map; give smaller ones")
        return avoided

    def is_excluded(self, polyline: int) -> bool:
        """Return whether a polyline is closed from end to end."""
        return self.excluded is not None and bool(self.excluded[polyline])

    def with_weights(self, graph: Graph) -> Avoided:
        """Return the same streets with the weights of another whole graph."""
        avoided = copy.copy(self)
        avoided.graph = self.graph.reweighted(graph.scaled.take(self.arc_ids))
        return avoided

    def searched_ids(self, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the ids in `graph` of arcs of the whole graph, without closed arcs, int64."""
        at = np.searchsorted(self.arc_ids, arcs)
        is_open = self.arc_ids[np.minimum(at, len(self.arc_ids) - 1)] == arcs
        found: npt.NDArray[np.int64] = at[is_open]
        return found

    def covers(self, lat: npt.ArrayLike, lon: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return whether places, in degrees, lie in an area or on its border."""
        import shapely

        found: npt.NDArray[np.bool_] = shapely.intersects_xy(self._area, lon, lat)
        return found

    def touches(self, points: npt.NDArray[np.float64]) -> bool:
        """Return whether an area touches the line through some points, latitude and longitude, shape (k, 2)."""
        import shapely

        return bool(shapely.intersects(self._area, _line(points)))

    def free_part(self, points: npt.NDArray[np.float64]) -> float:
        """Return the part of a line, by length, before the first point where an area touches it."""
        import shapely

        if shapely.intersects(self._area, shapely.Point(points[0, ::-1])):
            return 0.0
        line = _line(points)
        met = shapely.get_coordinates(shapely.intersection(line, self._area))
        if not len(met):
            return 1.0
        # Where the area begins is a corner of what both share; corners are not exactly on the line.
        far = float(shapely.line_locate_point(line, shapely.points(met)).min())
        passed = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        end = shapely.get_coordinates(shapely.line_interpolate_point(line, far))[:, ::-1]
        free, whole = _metres(np.concatenate([points[passed < far], end])), _metres(points)
        return min(1.0, free / whole) if whole > 0 else 1.0


def _touched(lines: StreetLines, area: Any) -> npt.NDArray[np.bool_]:
    """Return the mask of the polylines that an area touches."""
    import shapely

    parts = shapely.get_parts(area)
    parts = parts[shapely.intersects(parts, shapely.box(lines.west, lines.south, lines.east, lines.north))]
    south_west, north_east = lines.corners
    near = np.zeros(lines.num_polylines, np.bool_)
    for west, south, east, north in shapely.bounds(parts).tolist():
        is_apart = (south_west[:, 0] > north) | (south_west[:, 1] > east)
        near |= ~(is_apart | (north_east[:, 0] < south) | (north_east[:, 1] < west))
    found = np.flatnonzero(near)
    points = [lines.polyline_points(line)[:, ::-1] for line in found.tolist()]
    which = np.repeat(np.arange(len(found)), [len(one) for one in points])
    polylines = shapely.linestrings(np.concatenate([np.zeros((0, 2)), *points]), indices=which)
    near[found] = shapely.intersects(area, polylines)
    return near


def _moved(area: Any, degrees: float) -> Any:
    import shapely

    return shapely.transform(area, lambda points: points + np.array([degrees, 0.0]))


def _line(points: npt.NDArray[np.float64]) -> Any:
    import shapely

    return shapely.LineString(points[:, ::-1]) if len(points) > 1 else shapely.Point(points[0, ::-1])


def _metres(points: npt.NDArray[np.float64]) -> float:
    return float(haversine(*points[:-1].T, *points[1:].T).sum())


def _without(graph: Graph, closed: npt.NDArray[np.bool_]) -> tuple[Graph, npt.NDArray[np.int64]]:
    """Return a graph with the same nodes and without the closed arcs, and the old id of each remaining arc."""
    kept = np.flatnonzero(~closed)
    found = Graph.from_csr(
        own(np.searchsorted(kept, graph.first_out).astype(np.uint32)),
        own(graph.head[kept]),
        own(graph.weight[kept]),
        lat=graph.lat,
        lon=graph.lon,
        streets=None if graph.streets is None else graph.streets.take(kept),
    )
    return replace(found.in_units_of(graph), names=graph.names), kept
