"""Routes of many pairs of places, which are searched together, and made when they are asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from vkssp.arrays import objects
from vkssp.checks import named
from vkssp.errors import QueryError
from vkssp.features.drawing import drawing
from vkssp.features.features import Features
from vkssp.features.shapes import lines_through
from vkssp.graph import UNREACHABLE, Graph
from vkssp.graph.csr import bounds_of
from vkssp.route import Route
from vkssp.routing.legs import LegPath, find_many_leg_paths
from vkssp.routing.lines import Snap
from vkssp.routing.pair_geometry import PairGeometry
from vkssp.routing.pair_paths import NO_PATH, PairPaths, find_pair_paths
from vkssp.routing.places import LatLon, ViaPoints, candidates, candidates_after, street_name
from vkssp.routing.route_assembly import legs_of, route_of
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver

Floats = npt.NDArray[np.float64]
#: Via points of some routes by their numbers, each with the point that it is snapped to.
Ends = dict[int, list[tuple[LatLon, Snap]]]


class Routes(Sequence["Route | None"]):
    """Routes of pairs of places; see `Router.routes`.

    It is a sequence of routes, None for a pair that no route joins. A route is made when it is asked for, and is then
    the same as `Router.route` returns, with the weights of the query; arrays of all routes take far less time.

    Attributes
    ----------
    query_ms : float
        Milliseconds from the query to the result, snapping and paths included; a route has its share of it.

    Examples
    --------
    >>> from vkssp import Router, read_graph
    >>> capital, encamp, pas = (42.5075, 1.5218), (42.5361, 1.5828), (42.5430, 1.7340)
    >>> with Router(read_graph("andorra.osm.pbf")) as router:
    ...     routes = router.routes([capital, capital, encamp], [encamp, pas, pas])
    >>> [round(metres / 1000) for metres in routes.distance_m]
    [7, 33, 27]
    """

    def __init__(
        self,
        solver: Solver | SolverPool,
        index: StreetIndex,
        graph: Graph,
        places: tuple[Sequence[LatLon], Sequence[LatLon]],
        snaps: tuple[Snaps, Snaps],
        paths: PairPaths,
        vias: Ends,
        steps: bool,
        began: float,
    ) -> None:
        self._index, self._graph, self._places, self._snaps, self._paths = index, graph, places, snaps, paths
        self._vias, self._has_steps = vias, steps
        device, algorithm = solver.answered_by
        self._answered_by = device.info.name, algorithm
        self._made: dict[int, Route] = {}
        self.query_ms = 1e3 * (time.perf_counter() - began)

    def __repr__(self) -> str:
        """Return the number of pairs, and how many have a route."""
        return f"Routes({len(self):,} pairs, {int(self.has_route.sum()):,} with a route)"

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks."""
        return drawing([self.features()], repr(self))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.has_route)

    @overload
    def __getitem__(self, number: int) -> Route | None: ...
    @overload
    def __getitem__(self, number: slice) -> list[Route | None]: ...
    def __getitem__(self, number: int | slice) -> Route | list[Route | None] | None:
        """Return the route of a pair, None if no route joins it; or those of some pairs."""
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        number = range(len(self))[number]
        if number not in self._made and self.has_route[number]:
            self._made[number] = self._make(number)
        return self._made.get(number)

    def _make(self, number: int) -> Route:
        begin, end = (
            (places[number], snaps.at(number)) for places, snaps in zip(self._places, self._snaps, strict=True)
        )
        ends = [begin, *self._vias.get(number, ()), end]
        paths = self._paths.leg_paths(number)
        legs = legs_of(self._index, self._graph, ends, paths, range(len(ends)), self._has_steps)
        return route_of(legs, *self._answered_by, self.query_ms / len(self))

    @cached_property
    def has_route(self) -> npt.NDArray[np.bool_]:
        """Whether a route joins each pair, shape (pairs,), bool."""
        found: npt.NDArray[np.bool_] = self._paths.weight != NO_PATH
        return found

    @cached_property
    def weight(self) -> npt.NDArray[Any]:
        """Weight of each route in the unit that was minimized, as `Route.weight`, shape (pairs,).

        uint32, `UNREACHABLE` for a pair that no route joins; int64 if a sum of legs between via points is larger; or
        float64, infinite for such a pair, if weights are real numbers.
        """
        units = self._index.graph.units
        whole = np.where(self.has_route, self._paths.weight, UNREACHABLE)
        if units.scale is None:
            return whole if whole.max(initial=0) > UNREACHABLE else whole.astype(np.uint32)
        found: npt.NDArray[Any] = units.sums(whole)
        found[~self.has_route] = np.inf
        return found

    @cached_property
    def distance_m(self) -> Floats:
        """Length of each route in metres, NaN for a pair that no route joins, shape (pairs,), float64."""
        found = self._geometry.metres()
        for number, route in self._apart.items():
            found[number] = route.distance_m
        return found

    @cached_property
    def duration_s(self) -> Floats | None:
        """Duration of each route in seconds, NaN for a pair that no route joins; None if weights are no durations."""
        found = self._geometry.seconds()
        if found is not None:
            for number, route in self._apart.items():
                found[number] = route.duration_s
        return found

    @cached_property
    def _apart(self) -> dict[int, Route]:
        """Routes that the arrays of geometry lack."""
        return {number: self[number] for number in self._paths.by_number}  # type: ignore[misc]

    @cached_property
    def _geometry(self) -> PairGeometry:
        return PairGeometry(self._index, self._graph, self._paths, *self._snaps)

    @cached_property
    def arcs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """The arcs of all routes, route by route, as `Route.arcs`.

        Ids of the arcs, int64; the offset of each route's first arc, shape (pairs + 1,), int64; and the part of each
        arc that is travelled, float64.
        """
        geometry = self._geometry
        arcs, first = _replaced(geometry.arcs, geometry.first, {at: one.arcs for at, one in self._apart.items()})
        parts, _ = _replaced(geometry.parts, geometry.first, {at: one.parts for at, one in self._apart.items()})
        return arcs, first, parts

    @cached_property
    def points(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """The points along all routes, route by route, as `Route.points`, and the offset of each route's first point.

        Latitude and longitude in degrees, shape (p, 2), and shape (pairs + 1,), int64.
        """
        return _replaced(*self._geometry.points(), {at: one.points for at, one in self._apart.items()})

    def features(self, ids: Sequence[int] | Sequence[str] | None = None) -> Features:
        """Return the routes as lines, in the order of the pairs; a pair that no route joins has no shape.

        Parameters
        ----------
        ids : sequence of int or str, optional
            Names of the pairs for the column ``id``; by default their numbers from 0 on.

        Returns
        -------
        Features
            With ``id``, ``distance_m``, ``duration_s``, ``weight``, ``from_name`` and ``to_name`` (streets). It is
            written to files, and becomes a GeoDataFrame or a table of Arrow, by its methods.

        Raises
        ------
        QueryError
            If there are not as many names as pairs.
        """
        known = np.arange(len(self)) if ids is None else np.array(named(ids, "ids"))
        if len(known) != len(self):
            raise QueryError(f"there are {len(known)} ids for {len(self)} pairs; give one for each")
        has_route = self.has_route
        unknown = np.full(len(self), np.nan)
        columns: dict[str, Any] = {"id": known, "distance_m": self.distance_m}
        columns["duration_s"] = unknown if self.duration_s is None else self.duration_s
        columns["weight"] = np.where(has_route, self.weight, np.nan)
        columns["from_name"], columns["to_name"] = self._street_names
        points, first = self.points
        counts = np.diff(first)
        # A line of one point gets that point twice.
        rows = np.repeat(np.arange(len(points)), 1 + np.repeat(counts == 1, counts))
        shapes = np.full(len(self), None, object)
        shapes[has_route] = lines_through(points[rows], np.maximum(counts, 2)[has_route])
        return Features(columns, shapes, "routes")

    @cached_property
    def _street_names(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Names of the streets at the origins, and at the destinations."""
        begin, end = (
            objects([street_name(self._index, snaps.at(row)) for row in range(len(snaps))]) for snaps in self._snaps
        )
        return begin, end

    def to_geodataframe(self) -> Any:
        """Return the routes as a geopandas GeoDataFrame in EPSG:4326; see `features`.

        Raises
        ------
        QueryError
            If geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        return self.features().to_geodataframe()

    def write(self, path: str | Path, ids: Sequence[int] | Sequence[str] | None = None) -> None:
        """Write the routes as lines to a file, which appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            The file: .geojson, .gpkg, .fgb, .parquet, .shp, .shp.zip, .kml or .gpx; see `Features.write`.
        ids : sequence of int or str, optional
            Names of the pairs; see `features`.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known.
        QueryError
            If there are not as many names as pairs, or a library that writes the format is not installed.
        """
        self.features(ids).write(path)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The routes as a GeoJSON FeatureCollection (RFC 7946), longitude first."""
        return self.features().__geo_interface__

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a stream of Arrow's C interface, by which polars, pyarrow, geopandas, duckdb and others take them."""
        return self.features().__arrow_c_stream__(requested_schema)

    def __getstate__(self) -> dict[str, Any]:
        """Return the routes and arrays, all made, so that copies and pickles do not need what makes them."""
        names = ("query_ms", "has_route", "weight", "distance_m", "duration_s", "arcs", "points", "_street_names")
        _ = list(self)
        return {name: getattr(self, name) for name in (*names, "_made")}


def _replaced(
    values: npt.NDArray[Any], first: npt.NDArray[np.int64], others: dict[int, Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return arrays one after the other, and their offsets, with others for some of them."""
    if not others:
        return values, first
    each = np.split(values, first[1:-1])
    for number, other in others.items():
        each[number] = other
    return np.concatenate(each), bounds_of([len(one) for one in each])


def find_pairs(
    solver: Solver | SolverPool,
    index: StreetIndex,
    places: tuple[Sequence[LatLon], Sequence[LatLon]],
    nearest: tuple[Snaps, Snaps],
    vias: dict[int, ViaPoints],
    straight: bool,
    first: int,
) -> tuple[PairPaths, tuple[Snaps, Snaps], Ends, dict[int, int]]:
    """Return the best path of each pair of places, the points between which it leads, and those of via points.

    Also return which leg has no path, the first one counted as 0, of pairs with via points whose legs were searched.

    The points that the places may be snapped to are tried in rounds, in each of which all pairs that have no path yet
    are searched together.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`, and keeps its weights until this returns.
    index : StreetIndex
        The streets.
    places : tuple of (sequence, sequence)
        Checked origins and destinations.
    nearest : tuple of (Snaps, Snaps)
        The points that these are snapped to first; those of other paths take their places.
    vias : dict of int to ViaPoints
        Checked via points of those pairs that have any.
    straight : bool
        Whether routes go on in the direction of their arrival at via points.
    first : int
        What errors call the first pair.
    """
    count = len(nearest[0])
    part = index.parts[0]
    is_first = part[nearest[0].polyline] == part[nearest[1].polyline]
    if index.small_components is not None:
        is_first[:] = True
    snaps = nearest
    tried, has_via = dict[int, Iterator[list[Snap]]](), np.zeros(count, np.bool_)
    if vias:
        has_via[list(vias)] = True
    is_searched = is_first & ~has_via
    if is_searched.all():
        paths = find_pair_paths(solver, index, *snaps)
    else:
        paths, rows = PairPaths.none_of(count), np.flatnonzero(is_searched)
        if len(rows):
            paths = paths.merged(rows, find_pair_paths(solver, index, *(of.take(rows) for of in snaps)))
    while True:
        waiting, begin, end = list[int](), list[Snap](), list[Snap]()
        is_missing = (paths.weight == NO_PATH) & ~has_via
        if not is_missing.any():
            break
        for row in np.flatnonzero(is_missing).tolist():
            if row not in tried:
                pair = [of[row] for of in places]
                tried[row] = candidates_after(index, pair, [of.at(row) for of in snaps])
                if is_first[row]:
                    next(tried[row])
            found = next(tried[row], None)
            if found is not None:
                waiting.append(row)
                begin.append(found[0])
                end.append(found[1])
        if not waiting:
            break
        paths = paths.merged(np.array(waiting), find_pair_paths(solver, index, Snaps.of(begin), Snaps.of(end)))
        for row, *found in zip(waiting, begin, end, strict=True):
            if paths.weight[row] != NO_PATH:
                for of, snap in zip(snaps, found, strict=True):
                    of.put(row, snap)
    ends: Ends = {}
    with_vias = {
        row: candidates(index, [places[0][row], *some, places[1][row]], some.names(first + row))
        for row, some in vias.items()
    }
    found_legs, failed = _with_vias(solver, index, with_vias, straight)
    for row, (points, leg_paths) in found_legs.items():
        paths.put(row, leg_paths)
        start, *between, goal = points
        snaps[0].put(row, start)
        snaps[1].put(row, goal)
        ends[row] = list(zip(vias[row], between, strict=True))
    return paths, snaps, ends, failed


def _with_vias(
    solver: Solver | SolverPool, index: StreetIndex, tried: dict[int, Iterator[list[Snap]]], straight: bool
) -> tuple[dict[int, tuple[list[Snap], list[LegPath]]], dict[int, int]]:
    """Return the points of routes with via points, by their numbers, and the paths of their legs, if there are any.

    The points to try are given for each route. Also return of the others that were searched the leg that has no path.
    """
    result: dict[int, tuple[list[Snap], list[LegPath]]] = {}
    failed: dict[int, int] = {}
    while tried:
        asked = {row: snaps for row, each in tried.items() if (snaps := next(each, None)) is not None}
        paths = find_many_leg_paths(solver, index, list(asked.values()), straight)
        for (row, snaps), one in zip(asked.items(), paths, strict=True):
            if isinstance(one, int):
                failed[row] = one
            else:
                result[row] = snaps, one
        tried = {row: tried[row] for row in asked if row not in result}
    return result, failed
