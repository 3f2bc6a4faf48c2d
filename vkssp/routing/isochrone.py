"""Isochrones: what can be reached within some time, as polygons that follow the roads.

From the distances of all nodes follows how far every street can be travelled from either of its ends. These parts of
streets, widened to a band, make the polygons; so nothing is inside but what lies along a road that was reached.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.checks import instance, is_many, listed, named, shown
from vkssp.errors import QueryError
from vkssp.geo import METRES_PER_DEGREE
from vkssp.graph import Uint32s
from vkssp.routing.along import Begun, entered_at, open_parts
from vkssp.routing.geojson import write_collection, write_features
from vkssp.routing.route import Place, duration
from vkssp.routing.snap import StreetIndex
from vkssp.routing.words import format_distance, format_duration

if TYPE_CHECKING:
    from pathlib import Path

#: Metres to either side of a road that an isochrone covers.
DEFAULT_WIDTH_M = 50.0
#: The least and the most: areas are told to a tenth of a metre, and on a plane.
WIDTHS_M = (1.0, 10_000.0)
# Lines are simplified by this part of the width first, round ends get so many corners, and holes of fewer squared
# widths are filled: the inside of a block of houses.
_TOLERANCE, _CORNERS, _HOLE = 0.1, 4, 100.0
_DECIMALS = 6  # of degrees, a tenth of a metre


@dataclass(frozen=True, eq=False)
class Isochrone:
    """What can be reached within a limit.

    Attributes
    ----------
    limit : int
        The largest weight of a way to there.
    seconds : float or None
        The same in seconds; None where weights are no durations.
    metres : float or None
        The same in metres; None where weights are no distances.
    origin : Place or None
        Where the way begins, where that was asked for by coordinates.
    area : shapely.MultiPolygon
        What lies along the roads that are reached, longitude and latitude in degrees; empty polygons where none is.
    road_m : float
        Metres of road that are reached, each street once, whatever its directions; where a graph has no streets each of
        its arcs counts as one.
    """

    limit: int
    seconds: float | None
    area: Any
    road_m: float
    metres: float | None = None
    origin: Place | None = None

    @property
    def label(self) -> str:
        """The limit as people say it."""
        if self.seconds is not None:
            return format_duration(self.seconds)
        return f"{self.limit:,}" if self.metres is None else format_distance(self.metres)

    @property
    def figures(self) -> dict[str, float | None]:
        """The limit in all units, and the metres of road; the one in metres only where it is known."""
        metres = {} if self.metres is None else {"metres": self.metres}
        return {"limit": self.limit, "seconds": self.seconds, **metres, "road_m": self.road_m}


def isochrones(
    index: StreetIndex,
    distances: Uint32s,
    begun: Sequence[Begun],
    limits: Sequence[int],
    width_m: float = DEFAULT_WIDTH_M,
) -> list[Isochrone]:
    """Return isochrones from the distances of all nodes.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    distances : numpy.ndarray
        Distance of each node, UNREACHABLE where no way leads, shape (num_nodes,), uint32.
    begun : sequence of Begun
        Streets on which the way begins.
    limits : sequence of int
        Weights, rising.
    width_m : float
        Metres to either side of a road that are covered.
    """
    import shapely

    middle = math.radians(float(index.points[:, 0].mean()))
    metres = np.array([METRES_PER_DEGREE * math.cos(middle), METRES_PER_DEGREE])
    plane = _Plane(index, index.points[:, ::-1] * metres)
    area, seen = shapely.MultiPolygon(), np.zeros(index.num_polylines, np.bool_)
    result = []
    for limit in limits:
        spans = _spans(index, distances, begun, limit)
        covered = np.bincount(spans.polyline, spans.high - spans.low, index.num_polylines)
        whole = covered >= 1.0
        lines = [plane.whole(np.flatnonzero(whole & ~seen))]
        lines += [plane.part(*span) for span in zip(*spans, strict=True) if not whole[span[0]]]
        # What was reached within a lower limit is reached within this one.
        area = shapely.union_all([area, _band(np.concatenate(lines), width_m)])
        seen = whole
        road_m = float((np.minimum(covered, 1.0) * plane.length).sum())
        result.append(Isochrone(int(limit), duration(index.graph, limit), _degrees(area, metres, width_m), road_m))
    return result


class _Spans(NamedTuple):
    """Parts of polylines, from `low` to `high`, none of which overlap."""

    polyline: npt.NDArray[np.int64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


def _spans(index: StreetIndex, distances: Uint32s, begun: Sequence[Begun], limit: int) -> _Spans:
    """Return the parts of streets that are reached."""
    rise, fall = _reached(index, distances, limit)
    whole = rise + fall >= 1.0
    rise[whole], fall[whole] = 1.0, 0.0
    on = np.unique(np.array([one.polyline for one in begun], np.int64))
    elsewhere = np.ones(index.num_polylines, np.bool_)
    elsewhere[on] = False
    up, down = (np.flatnonzero(elsewhere & (share > 0)) for share in (rise, fall))
    spans = [(up, np.zeros(len(up)), rise[up]), (down, 1.0 - fall[down], np.ones(len(down)))]
    for polyline in on.tolist():
        pieces = [(0.0, float(rise[polyline])), (1.0 - float(fall[polyline]), 1.0)]
        for one in begun:
            if one.polyline == polyline:
                part = (one.high - one.low) * min(1.0, limit / one.weight if one.weight else 1.0)
                pieces.append((one.low, one.low + part) if one.rises else (one.high - part, one.high))
        for low, high in _merged(pieces):
            spans.append((np.array([polyline]), np.array([low]), np.array([high])))
    return _Spans(*(np.concatenate(column) for column in zip(*spans, strict=True)))


def _merged(pieces: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return what some intervals cover, as intervals that do not touch."""
    merged: list[tuple[float, float]] = []
    for low, high in sorted(pieces):
        if high <= low:
            continue
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _reached(index: StreetIndex, distances: Uint32s, limit: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return which part of each polyline is reached from its start, and which from its end."""
    entered, weight = entered_at(index, distances)
    left = limit - entered
    part = np.where(left >= 0, np.minimum(1.0, left / np.maximum(weight, 1)), 0.0)
    part[(left >= 0) & (weight == 0)] = 1.0
    if index.avoided is not None:
        part = np.minimum(part, open_parts(index))
    shares = []
    for backward in (False, True):
        share = np.zeros(index.num_polylines)
        along = index.backward == backward
        np.maximum.at(share, index.polyline_of[along], part[along])
        shares.append(share)
    return shares[0], shares[1]


class _Plane:
    """Polylines in metres.

    Attributes
    ----------
    length : numpy.ndarray
        Of each polyline, in metres, shape (num_polylines,), float64.
    """

    def __init__(self, index: StreetIndex, points: npt.NDArray[np.float64]) -> None:
        self._first, self._points = index.first, points
        self._count = np.diff(index.first)
        step = np.zeros(len(points))
        step[1:] = np.hypot(*np.diff(points, axis=0).T)
        step[index.first[:-1]] = 0.0
        self.length: npt.NDArray[np.float64] = np.add.reduceat(step, index.first[:-1])

    def whole(self, polylines: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return lines along whole polylines."""
        import shapely

        chosen = np.zeros(len(self._count), np.bool_)
        chosen[polylines] = True
        points = self._points[np.repeat(chosen, self._count)]
        lines: npt.NDArray[Any] = shapely.linestrings(
            points, indices=np.repeat(np.arange(len(polylines)), self._count[polylines])
        )
        return lines

    def part(self, polyline: int, low: float, high: float) -> npt.NDArray[Any]:
        """Return a line along a part of a polyline, alone in an array."""
        import shapely

        points = self._points[self._first[polyline] : self._first[polyline + 1]]
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        ends = np.array([low, high]) * along[-1]
        inner = (along > ends[0]) & (along < ends[1])
        cut = np.stack([np.interp(ends, along, points[:, axis]) for axis in (0, 1)], axis=1)
        return np.array([shapely.LineString([cut[0], *points[inner], cut[1]])])


def _band(lines: npt.NDArray[Any], width_m: float) -> Any:
    """Return what lies within a width of some lines."""
    import shapely

    # Each for itself: widening many lines together takes ten times as long as joining what comes out.
    simple = shapely.simplify(lines, _TOLERANCE * width_m)
    return shapely.union_all(shapely.buffer(simple, width_m, quad_segs=_CORNERS))


def _degrees(area: Any, metres: npt.NDArray[np.float64], width_m: float) -> Any:
    """Return an area in degrees, without small holes, its outer rings counterclockwise as GeoJSON wants them."""
    import shapely

    polygons = []
    for polygon in shapely.get_parts(area):
        holes = [ring for ring in polygon.interiors if shapely.area(shapely.Polygon(ring)) >= _HOLE * width_m**2]
        polygons.append(shapely.Polygon(polygon.exterior, holes))
    return _rounded(shapely.transform(shapely.MultiPolygon(polygons), lambda points: points / metres))


def _cut(area: Any) -> Any:
    """Return an area cut at the 180th meridian, where it goes on beyond that, as RFC 7946 wants it (section 3.1.9)."""
    import shapely

    if area.is_empty or (area.bounds[0] >= -180.0 and area.bounds[2] <= 180.0):
        return area
    parts = []
    for turn in (-360.0, 0.0, 360.0):
        inside = shapely.clip_by_rect(area, turn - 180.0, -90.0, turn + 180.0, 90.0)
        parts.append(shapely.transform(inside, lambda points, turn=turn: points - [turn, 0.0]))
    # Streets from either side may overlap there.
    return _rounded(shapely.union_all(parts))


def _rounded(area: Any) -> Any:
    """Return an area in degrees with coordinates as they are written, its outer rings counterclockwise."""
    import shapely
    from shapely.geometry.polygon import orient

    # Points that are just rounded may make rings that cross themselves, where bands are narrow.
    parts = shapely.get_parts(shapely.set_precision(area, 10.0**-_DECIMALS))
    result = shapely.MultiPolygon([orient(part) for part in parts if part.geom_type == "Polygon"])
    return shapely.transform(result, lambda points: np.round(points, _DECIMALS))


def isochrone_geojson(found: Sequence[Isochrone]) -> dict[str, Any]:
    """Return isochrones as a GeoJSON FeatureCollection, the largest first, so that none hides another.

    Parameters
    ----------
    found : sequence of Isochrone
        The isochrones.

    Raises
    ------
    QueryError
        If they are none.
    """
    return {"type": "FeatureCollection", "features": _features(found)}


def _features(found: Sequence[Isochrone], **more: Any) -> list[dict[str, Any]]:
    import shapely

    return [
        {
            "type": "Feature",
            "properties": {**more, **one.figures, "road_m": round(one.road_m, 1)},
            "geometry": json.loads(shapely.to_geojson(_cut(one.area))),
        }
        for one in sorted(checked_isochrones(found), key=lambda one: -one.limit)
    ]


def checked_isochrones(found: object) -> list[Isochrone]:
    """Return an argument that has to be a list of isochrones."""
    cure = "isochrones that Router.isochrones returns"
    return [instance(one, Isochrone, "an isochrone", f"give {cure}") for one in listed(found, "found", cure)]


def write_isochrones(path: str | Path, found: Sequence[Isochrone]) -> None:
    """Write isochrones to a GeoJSON file.

    Parameters
    ----------
    path : str or pathlib.Path
        The file; one that exists is replaced.
    found : sequence of Isochrone
        The isochrones.

    Raises
    ------
    FormatError
        If the file cannot be written.
    QueryError
        If they are none.
    """
    write_collection(path, isochrone_geojson(found))


def write_isochrones_of_each(
    path: str | Path, found: Iterable[Sequence[Isochrone]], names: Sequence[int] | Sequence[str]
) -> None:
    """Write the isochrones of many places to a GeoJSON file, one place after the other.

    Parameters
    ----------
    path : str or pathlib.Path
        The file; it appears only when it is complete.
    found : iterable of sequence of Isochrone
        The isochrones of each place.
    names : sequence of int or str
        What the places are called, the property ``place`` of their features.

    Raises
    ------
    FormatError
        If the file cannot be written.
    QueryError
        If there are no isochrones, or not as many names as places.
    """
    called = named(names, "names")
    if isinstance(found, str | bytes | Mapping) or not (isinstance(found, Iterator) or is_many(found)):
        raise QueryError(f"found is {shown(found)}; give the isochrones of each place")

    def each() -> Iterator[dict[str, Any]]:
        number = 0
        for of_place in found:
            if number < len(called):
                yield from _features(of_place, place=called[number])
            number += 1
        if number != len(called):
            raise QueryError(f"there are {len(called)} names for {number} places; give one for each")

    write_features(path, each())
