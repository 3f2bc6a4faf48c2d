"""Places inside open areas, such as squares: the corners that they see, and paths that stay inside.

A place inside is joined in straight lines to the corners of the area that it sees, and from there to the ways across
and out of it; see `vkssp.osm.open_areas`. A path between two places in one area is the shortest one inside.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import ground_metres
from vkssp.graph.metric import METRES_PER_WEIGHT
from vkssp.graph.open_areas import OpenArea, unpacked
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.graph.visibility import Visibility
from vkssp.routing.lines import Door, Inside, Snap, StreetLines

Floats = npt.NDArray[np.float64]


class OpenAreas:
    """Open areas of a graph, none of whose parts depends on weights.

    Parameters
    ----------
    lines : StreetLines
        The streets of the graph.
    """

    def __init__(self, lines: StreetLines) -> None:
        streets = lines.graph.streets
        packed = None if streets is None else streets.open_areas
        self._areas: tuple[OpenArea, ...] = () if packed is None else unpacked(packed)
        self._streets, self._first_out = streets, lines.graph.first_out
        self._polylines, self._on_ellipsoid = lines.polylines, lines.measure is ground_metres
        self._corners: dict[int, tuple[npt.NDArray[np.int64], list[Snap]]] = {}
        self._shapes: dict[int, Visibility] = {}

    def __len__(self) -> int:
        """Return the number of areas."""
        return len(self._areas)

    @cached_property
    def _bounds(self) -> npt.NDArray[np.int64]:
        """Least latitude and longitude of each area, and the greatest ones, in 1e-7 degrees, shape (num_areas, 4)."""
        outer = [np.array(area.rings[0].points, np.int64) for area in self._areas]
        return np.array([[*ring.min(axis=0), *ring.max(axis=0)] for ring in outer], np.int64).reshape(-1, 4)

    def _shape(self, number: int) -> Visibility:
        if number not in self._shapes:
            rings = [np.array(ring.points) for ring in self._areas[number].rings]
            self._shapes[number] = Visibility(rings, ellipsoid=self._on_ellipsoid)
        return self._shapes[number]

    def _corners_of(self, number: int) -> tuple[npt.NDArray[np.int64], list[Snap]]:
        """Return the points of an area that lead on: at reflex corners, and where streets lead in; and their snaps."""
        if number not in self._corners:
            area, shape, streets = self._areas[number], self._shape(number), self._streets
            assert streets is not None
            ids = np.array([node for ring in area.rings for node in ring.nodes], np.int64)
            nodes, which = streets.nodes_of(ids)
            snaps: dict[int, Snap] = {}
            entries = set()
            for node, corner in zip(nodes.tolist(), which.tolist(), strict=True):
                for arc in range(int(self._first_out[node]), int(self._first_out[node + 1])):
                    leads_in = int(streets.way[arc]) != area.way
                    if corner not in snaps or (leads_in and corner not in entries):
                        snaps[corner] = self._at_tail(arc)
                    if leads_in:
                        entries.add(corner)
            kept = sorted(corner for corner in snaps if corner in entries or shape.is_reflex[corner])
            self._corners[number] = np.array(kept, np.int64), [snaps[corner] for corner in kept]
        return self._corners[number]

    def _at_tail(self, arc: int) -> Snap:
        lines, polyline = self._polylines, int(self._polylines.polyline_of[arc])
        points, at_end = lines.points[lines.first[polyline] : lines.first[polyline + 1]], bool(lines.backward[arc])
        lat, lon = points[-1 if at_end else 0].tolist()
        return Snap(polyline, float(at_end), len(points) - 2 if at_end else 0, lat, lon, 0.0, share=float(at_end))

    def snap(self, lat: float, lon: float) -> Snap | None:
        """Return a place inside an area with the corners that it sees; None if it is in no area."""
        place = np.array([lat, lon]) / COORDINATE_SCALE
        bounds = self._bounds
        for number in np.flatnonzero(((bounds[:, :2] < place) & (place < bounds[:, 2:])).all(axis=1)).tolist():
            shape = self._shape(number)
            if not shape.covers(*place.tolist()):
                continue
            corners, snaps = self._corners_of(number)
            seen = shape.seen_from(place, corners)
            if len(seen) == 0:
                continue
            metres = shape.metres(place, shape.points[seen]).tolist()
            seconds_per_metre = 3600.0 / self._areas[number].speed
            doors = [
                Door(snaps[at], length, length * seconds_per_metre)
                for at, length in zip(np.searchsorted(corners, seen).tolist(), metres, strict=True)
            ]
            doors.sort(key=lambda door: door.metres)
            nearest = doors[0].snap
            return nearest._replace(lat=lat, lon=lon, metres=0.0, inside=Inside(number, tuple(doors)))
        return None

    def path(self, start: Snap, end: Snap) -> tuple[Floats, float, float]:
        """Return the shortest path between two places in the same area: its points in degrees, metres and seconds."""
        assert start.inside is not None
        number, shape = start.inside.area, self._shape(start.inside.area)
        ends = np.array([[start.lat, start.lon], [end.lat, end.lon]])
        points = shape.shortest(*(ends / COORDINATE_SCALE))
        metres = float(shape.metres(points[:-1], points[1:]).sum())
        degrees = points * COORDINATE_SCALE
        degrees[0], degrees[-1] = ends
        return degrees, metres, metres * 3600.0 / self._areas[number].speed


def weight_inside(seconds_per_weight: float, metres: float, seconds: float) -> int:
    """Return the weight of a path inside an area; without seconds per weight, weights are metres."""
    return round(seconds / seconds_per_weight if seconds_per_weight > 0 else metres / METRES_PER_WEIGHT)
