"""Isochrones: areas that can be reached from a place, or from which it can be reached, along the roads.

The distances of all nodes say how far each street can be travelled from either of its ends. These parts of streets,
widened to a band, form the polygons. So a polygon contains only what lies along a road that is reached.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Terminal
from vkssp.checks import instance, is_many, listed, named, number_of, shown
from vkssp.choices import DEFAULT_WIDTH_M as DEFAULT_WIDTH_M
from vkssp.errors import QueryError
from vkssp.features.columns import column_of
from vkssp.features.drawing import drawing
from vkssp.features.features import Features
from vkssp.features.files import AREA_ENDINGS, GEOJSON_ENDINGS, check_ending, write_layers
from vkssp.features.geojson import write_collection, write_features
from vkssp.features.quantities import format_distance, format_duration
from vkssp.features.shaped import Shaped
from vkssp.features.shapes import cut_area
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.geo import METRES_PER_DEGREE, from_polar_plane, part_before_nearest, wrapped
from vkssp.graph.mercator import from_mercator
from vkssp.graph.metric import duration, unit_of
from vkssp.jit import kernels
from vkssp.route import Place
from vkssp.routing.bands import LINE_TOLERANCE, RING_TOLERANCE, bands
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.places import LatLon, checked_place, ending_points, place_of, starting_points
from vkssp.routing.plane import StreetPlane
from vkssp.routing.snap import StreetIndex
from vkssp.routing.street_reach import Begun, Spans, begun_streets, reached_spans
from vkssp.solver.tables import RowSource, rows

if TYPE_CHECKING:
    from pathlib import Path

#: The least and the greatest width: areas have a precision of a tenth of a metre, and are computed on a plane.
WIDTHS_M = (1.0, 10_000.0)
# Size in squared widths below which holes are filled, such as the inside of a block of houses.
_HOLE = 100.0
_DECIMALS = 6  # of degrees, a tenth of a metre
# Sectors around a pole. An area there is converted to degrees sector by sector: within a sector longitudes do not jump.
_SECTORS = 8


@dataclass(frozen=True, eq=False)
class Isochrone(Shaped):
    """Area that can be reached from a place within a limit, or from which the place can be reached.

    Attributes
    ----------
    limit : int or float
        The largest weight of a path, a float if the weights of the graph are real numbers.
    seconds : float or None
        The limit in seconds; None if weights are no durations.
    metres : float or None
        The limit in metres; None if weights are no distances.
    origin : Place or None
        The place where the paths begin or, if `reverse`, end, if it was given by coordinates.
    area : shapely.MultiPolygon
        The area along the roads that are reached, longitude and latitude in degrees; empty if no road is reached. It is
        cut at the 180th meridian, as RFC 7946 requires (section 3.1.9). If it contains a pole, it extends to the
        latitude of 90 degrees.
    road_m : float
        Metres of road that are reached. A street counts once for both directions. If the graph has no streets, each arc
        counts as a street.
    reverse : bool
        Whether it is the area from which the place can be reached.
    """

    limit: float
    seconds: float | None
    area: Any
    road_m: float
    metres: float | None = None
    origin: Place | None = None
    reverse: bool = False

    def __repr__(self) -> str:
        """Return the limit and the length of roads in one line."""
        return f"Isochrone({self.label}, {format_distance(self.road_m)} of road{', reverse' * self.reverse})"

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks; None if no road is reached, for the short text."""
        origin = [] if self.origin is None else [Features.of(self.origin)]
        return None if self.area.is_empty else drawing([Features.of(self), *origin], repr(self))

    @property
    def label(self) -> str:
        """The limit as a text for people, such as "15 min" or "2.0 km"."""
        if self.seconds is not None:
            return format_duration(self.seconds)
        return f"{self.limit:,}" if self.metres is None else format_distance(self.metres)

    @property
    def geometry(self) -> Any:
        """The area; see `area`."""
        return self.area

    @property
    def properties(self) -> dict[str, Any]:
        """The label, the limit in all units, the metres of road, and ``reverse`` if that is so."""
        direction = {"reverse": True} if self.reverse else {}
        return {"label": self.label, **self.figures, "road_m": round(self.road_m, 1), **direction}

    def to_geodataframe(self) -> Any:
        """Return the area as a geopandas GeoDataFrame of one row; `Features.of` takes several isochrones.

        Raises
        ------
        QueryError
            If geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        return Features.of(self, "isochrones").to_geodataframe()

    def write(self, path: str | Path) -> None:
        """Write the area to a file, which appears only when it is complete; see `write_isochrones`.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known.
        QueryError
            If a library that writes the format is not installed.
        """
        write_isochrones(path, [self])

    @property
    def figures(self) -> dict[str, float | None]:
        """The limit in all units, and the metres of road; ``metres`` is left out if it is not known."""
        metres = {} if self.metres is None else {"metres": self.metres}
        return {"limit": self.limit, "seconds": self.seconds, **metres, "road_m": self.road_m}


def isochrones_around(
    solver: RowSource,
    index: StreetIndex,
    metric: str,
    origins: Sequence[LatLon],
    names: Sequence[str],
    limits: float | Sequence[float],
    width_m: float,
    reverse: bool = False,
) -> Iterator[list[Isochrone]]:
    """Return the isochrones around each of some places; see `vkssp.Router.isochrones`.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched` or, if `reverse`, in that graph with every arc reversed.
    index : StreetIndex
        The streets.
    metric : str
        The metric that paths minimize; see `vkssp.Router`.
    origins : sequence of (float, float)
        Latitude and longitude of the places in degrees.
    names : sequence of str
        Names of the places in errors.
    limits : float or sequence of float
        Limits in seconds, metres or weights.
    width_m : float
        Metres to either side of a road.
    reverse : bool
        Whether trips to the places count, not those from them.
    """
    places = [checked_place(index, origin, name) for origin, name in zip(origins, names, strict=True)]
    unit = unit_of(index.graph, metric)
    one = number_of(limits)
    given: Any = limits if one is None else [one]
    weights = unit.limits(given)
    metres = unit.per_weight if metric == "distance" else None
    # Limits may be larger than any distance in units of real weights.
    numbers = [] if unit.units.scale is None else sorted({float(limit) for limit in given})
    told = [(one / unit.per_distance, one if unit.name == "duration" else None) for one in numbers]
    width = number_of(width_m)
    if width is None or not WIDTHS_M[0] <= width <= WIDTHS_M[1]:
        raise QueryError(f"width is {shown(width_m)}; give metres, from {WIDTHS_M[0]:,.0f} to {WIDTHS_M[1]:,.0f}")
    points, find = (ending_points, find_goals) if reverse else (starting_points, find_starts)
    searched = solver.graph
    snaps = points(index, places, names)
    seeds = [[(end.node, end.weight) for end in find(index, snap)] for snap in snaps]

    def make() -> Iterator[list[Isochrone]]:
        rows = _distances(solver, searched, seeds, unit.search_limit(weights[-1]))
        for place, snap, distances in zip(places, snaps, rows, strict=True):
            begun = begun_streets(index, snap, reverse=reverse)
            found = isochrones(index, distances, begun, weights, width, reverse=reverse)
            if told:
                found = [replace(one, limit=limit, seconds=s) for one, (limit, s) in zip(found, told, strict=True)]
            yield [_around(one, index, place, snap, metres) for one in found]

    return make()


def _distances(solver: RowSource, graph: Graph, seeds: Sequence[Sequence[Terminal]], limit: int) -> Iterator[Uint32s]:
    """Yield the distances of all nodes from each of some groups of seeds."""
    num_nodes = graph.num_nodes
    if len(seeds) > 1:
        for block in rows(solver, graph, seeds, np.arange(num_nodes, dtype=np.uint32), limit=limit):
            yield from block
        return
    # There are no seeds if areas to avoid shut the place in.
    (group,) = seeds
    most = None if limit == UNREACHABLE else limit
    yield solver.from_seeds(group, most) if group else np.full(num_nodes, UNREACHABLE, np.uint32)


def _around(one: Isochrone, index: StreetIndex, origin: LatLon, start: Snap, metres: float | None) -> Isochrone:
    return replace(one, origin=place_of(index, origin, start), metres=one.limit * metres if metres else None)


def isochrones(
    index: StreetIndex,
    distances: Uint32s,
    begun: Sequence[Begun],
    limits: Sequence[int],
    width_m: float = DEFAULT_WIDTH_M,
    *,
    reverse: bool = False,
) -> list[Isochrone]:
    """Compute isochrones from the distances of all nodes.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    distances : numpy.ndarray
        Distance of each node, UNREACHABLE if there is no path, shape (num_nodes,), uint32.
    begun : sequence of Begun
        Streets on which the paths begin or, if `reverse`, end.
    limits : sequence of int
        Weights, in ascending order.
    width_m : float
        Metres to either side of a road that are covered.
    reverse : bool
        Whether the distances are those to the place, not those from it.
    """
    spans, metres = reached_spans(index, distances, begun, limits, reverse=reverse)
    areas = _Areas(index.plane, width_m).around(spans, len(limits))
    return [
        Isochrone(int(limit), duration(index.graph, limit), area, road_m, reverse=reverse)
        for limit, area, road_m in zip(limits, areas, metres, strict=True)
    ]


class _Areas:
    """Areas along roads, in degrees, made of the rings of bands.

    Parameters
    ----------
    plane : StreetPlane
        The streets on a plane.
    width_m : float
        Metres to either side of a road.
    """

    def __init__(self, plane: StreetPlane, width_m: float) -> None:
        self._plane, self._width = plane, width_m

    def around(self, spans: Spans, levels: int) -> list[Any]:
        """Return the area of each level; each is around the lines of its level and of those before."""
        import shapely

        tolerance = LINE_TOLERANCE * self._width
        found: list[list[Any]] = [[] for _ in range(levels)]
        is_rounded = [len(self._plane.poles) == 1] * levels
        for pole in self._plane.poles:
            pieces = self._plane.pieces(spans, pole, tolerance)
            rings = bands(pieces, levels, self._width, pole == 0)
            for level, (parts, (points, first)) in enumerate(zip(found, rings, strict=True)):
                if pole:
                    for polygon in self._polygons(points, first, 1.0):
                        parts += _unrolled(polygon, pole, self._width)
                else:
                    metres = METRES_PER_DEGREE * np.cos(np.radians(from_mercator(points[first[:-1]])[:, 1]))
                    area = shapely.MultiPolygon(self._polygons(points, first, metres * 180.0 / math.pi, True))
                    if _leaves(area):
                        area, is_rounded[level] = cut_area(area), False
                    parts.append(area)
        return [
            parts[0]
            if done and shapely.is_valid(parts[0])
            else _rounded(parts[0] if len(parts) == 1 else _joined(parts))
            for parts, done in zip(found, is_rounded, strict=True)
        ]

    def _polygons(
        self, points: npt.NDArray[np.float64], first: npt.NDArray[np.int64], metres: Any, to_degrees: bool = False
    ) -> list[Any]:
        """Return polygons of rings, without small holes, given the metres for a unit of the plane at each ring.

        Polygons in degrees are rounded, and their outer rings are counterclockwise.
        """
        import shapely

        if len(first) == 1:
            return []
        tolerance = RING_TOLERANCE * self._width / float(np.max(metres))
        square = np.broadcast_to(np.square(metres), len(first) - 1)
        points, first, size = kernels("vkssp.routing.kernels.rings").simplified(
            points, first, np.ascontiguousarray(square), tolerance, -_HOLE * self._width**2
        )
        if to_degrees:
            points = from_mercator(points)
        points = np.round(points, _DECIMALS if to_degrees else 3)
        shapes = shapely.linearrings(points, indices=np.repeat(np.arange(len(size)), np.diff(first)))
        is_shell = size > 0.0
        shells, holes = shapes[is_shell], shapes[~is_shell]
        polygons = shapely.polygons(shells)
        if len(holes):
            # Each hole belongs to the smallest shell around it.
            tree = shapely.STRtree(polygons)
            which, shell = tree.query(shapely.get_point(holes, 0), predicate="within")
            order = np.lexsort((size[is_shell][shell], which))
            which, shell = which[order], shell[order]
            one = np.flatnonzero(np.diff(which, prepend=-1))
            of_shell: dict[int, list[Any]] = {}
            for hole, owner in zip(which[one].tolist(), shell[one].tolist(), strict=True):
                of_shell.setdefault(owner, []).append(holes[hole])
            for owner, some in of_shell.items():
                polygons[owner] = shapely.polygons(shells[owner], holes=some)
        return list(polygons)


def _leaves(area: Any) -> bool:
    """Return whether an area in degrees extends beyond the 180th meridian."""
    west, _, east, _ = area.bounds
    return bool(west < -180.0 or east > 180.0)


def _joined(parts: Sequence[Any]) -> Any:
    import shapely

    return shapely.union_all(shapely.set_precision(list(parts), 10.0**-_DECIMALS))


def _unrolled(area: Any, pole: int, width_m: float) -> list[Any]:
    """Return an area on the plane of a pole as polygons in degrees, one or several for each sector that it lies in.

    In degrees the pole is a line. The tip of a sector becomes the part of this line between the sector's sides.
    """
    import shapely

    radius = 2.0 * max(map(abs, area.bounds))
    half = 180.0 / _SECTORS
    found = []
    for middle in np.arange(-180.0 + half, 180.0, 2 * half).tolist():
        sides = np.radians([middle - half, middle + half])
        sector = shapely.Polygon([(0.0, 0.0), *(radius * np.stack([np.cos(sides), np.sin(sides)], axis=1))])
        for part in shapely.get_parts(shapely.intersection(area, sector)):
            if part.geom_type == "Polygon":
                rings = [
                    _unrolled_ring(ring.coords, pole, middle, width_m) for ring in (part.exterior, *part.interiors)
                ]
                # If two edges almost touch, the conversion may bend one over the other.
                found.append(shapely.make_valid(shapely.Polygon(rings[0], rings[1:])))
    return found


def _unrolled_ring(coordinates: Any, pole: int, middle: float, width_m: float) -> npt.NDArray[np.float64]:
    """Return a ring on the plane of a pole, within a sector, as longitudes and latitudes."""
    ring = np.array(coordinates)[:, :2]
    while True:
        # Straight lines on the plane are curves in degrees, the more so the nearer they pass by the pole.
        start, step = ring[:-1], np.diff(ring, axis=0)
        nearest = np.hypot(*(start + part_before_nearest(start, step)[:, None] * step).T)
        long = np.flatnonzero((step**2).sum(axis=1) > width_m * np.maximum(width_m, nearest))
        if not len(long):
            break
        ring = np.insert(ring, long + 1, start[long] + step[long] / 2, axis=0)
    degrees = from_polar_plane(ring[:-1], pole)
    lon, lat = wrapped(degrees[:, 1], middle), degrees[:, 0]
    at_pole = np.abs(lat) > 90.0 - 1e-9
    before, after = np.roll(lon, 1), np.roll(lon, -1)
    places = np.repeat(np.arange(len(lon)), 1 + at_pole)
    lon = np.repeat(np.where(at_pole, before, lon), 1 + at_pole)
    second = np.flatnonzero(np.diff(places) == 0) + 1
    lon[second] = after[places[second]]
    return np.stack([lon, lat[places]], axis=1)


def _rounded(area: Any) -> Any:
    """Return an area in degrees with rounded coordinates and counterclockwise outer rings."""
    import shapely
    from shapely.geometry.polygon import orient

    if not shapely.is_valid(area):
        # In narrow bands, plain rounding of points may make rings cross themselves.
        area = shapely.set_precision(shapely.make_valid(area), 10.0**-_DECIMALS)
    # Shapely 2.0 cannot orient an empty polygon.
    full = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon" and not part.is_empty]
    result = shapely.MultiPolygon([orient(part) for part in full])
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
        If `found` is no sequence of isochrones.
    """
    return {"type": "FeatureCollection", "features": _features(found)}


def _features(found: Sequence[Isochrone], **more: Any) -> list[dict[str, Any]]:
    import shapely

    return [
        {
            "type": "Feature",
            "properties": {**more, **one.properties},
            "geometry": json.loads(shapely.to_geojson(one.area)),
        }
        for one in _largest_first(found)
    ]


def _largest_first(found: object) -> list[Isochrone]:
    return sorted(checked_isochrones(found), key=lambda one: -one.limit)


def checked_isochrones(found: object) -> list[Isochrone]:
    """Return an argument as a list of isochrones, or raise `QueryError` if it is none."""
    cure = "isochrones that Router.isochrones returns"
    return [instance(one, Isochrone, "an isochrone", f"give {cure}") for one in listed(found, "found", cure)]


def check_isochrones_ending(path: str | Path) -> str:
    """Return the ending of a file's name if isochrones can be written to it; see `write_isochrones`.

    Raises
    ------
    FormatError
        If the ending is not known, or means a format without areas, such as GPX.
    QueryError
        If a library that writes the format is not installed.
    """
    return check_ending(path, AREA_ENDINGS, "isochrones")


def write_isochrones(path: str | Path, found: Sequence[Isochrone]) -> None:
    """Write isochrones to a file, the largest first, so that none hides another.

    Parameters
    ----------
    path : str or pathlib.Path
        The file, which appears only when it is complete. Its ending says what is written: .geojson or .json; .gpkg
        (GeoPackage), .fgb (FlatGeobuf), .shp or .shp.zip (Shapefile), .parquet (GeoParquet) or .kml.
    found : sequence of Isochrone
        The isochrones.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError
        If `found` is no sequence of isochrones, or a library that writes the format is not installed.
    """
    if check_isochrones_ending(path) in GEOJSON_ENDINGS:
        write_collection(path, isochrone_geojson(found))
    else:
        write_layers(path, [Features.of(_largest_first(found), "isochrones")])


def write_isochrones_of_each(
    path: str | Path, found: Iterable[Sequence[Isochrone]], names: Sequence[int] | Sequence[str]
) -> None:
    """Write the isochrones of many places to a file, one place after the other.

    Parameters
    ----------
    path : str or pathlib.Path
        The file; see `write_isochrones`. GeoJSON is written while the isochrones are made.
    found : iterable of sequence of Isochrone
        The isochrones of each place.
    names : sequence of int or str
        Names of the places, the property or column ``place`` of their features.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError
        If `found` holds no isochrones of places, if there are not as many names as places, or if a library that writes
        the format is not installed.
    """
    called = named(names, "names")
    if isinstance(found, str | bytes | Mapping) or not (isinstance(found, Iterator) or is_many(found)):
        raise QueryError(f"found is {shown(found)}; give the isochrones of each place")

    def each() -> Iterator[tuple[int | str, Sequence[Isochrone]]]:
        number = 0
        for of_place in found:
            if number < len(called):
                yield called[number], of_place
            number += 1
        if number != len(called):
            raise QueryError(f"there are {len(called)} names for {number} places; give one for each")

    if check_isochrones_ending(path) in GEOJSON_ENDINGS:
        write_features(path, (one for name, some in each() for one in _features(some, place=name)))
        return
    places, areas = list[int | str](), list[Isochrone]()
    for name, some in each():
        areas += _largest_first(some)
        places += [name] * (len(areas) - len(places))
    columns = {"place": column_of(places), **Features.of(areas).columns}
    write_layers(path, [Features(columns, [one.area for one in areas], "isochrones")])
