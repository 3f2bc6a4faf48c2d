"""Map matching: the route that a vehicle most probably took, given inaccurate positions along it.

A hidden Markov model (Newson and Krumm 2009). The states of a position are the streets near it, each in the directions
that it is open in. The distance between the position and the street has a normal distribution, and the difference
between the length of the route from one position to the next and the straight line an exponential one. The Viterbi
algorithm finds the most probable sequence of states; one call of compiled code makes all its searches, which end at the
states of the next position.

Source: P. Newson, J. Krumm, Hidden Markov map matching through noise and sparseness, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.checks import choice, number_of, real_numbers, shown
from vkssp.errors import NoRouteError, QueryError
from vkssp.features.columns import column_of
from vkssp.features.drawing import drawing
from vkssp.features.features import Features
from vkssp.features.files import SHAPE_ENDINGS, check_ending, write_layers
from vkssp.features.quantities import format_distance
from vkssp.features.shaped import Shaped
from vkssp.features.shapes import dots, lines
from vkssp.graph.csr import bounds_of, ranges
from vkssp.graph.geo import haversine, metres_between
from vkssp.graph.hilbert import hilbert_index
from vkssp.graph.mercator import mercator
from vkssp.jit import kernels
from vkssp.route import Leg, Place, Route, made
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.part_weights import Points, entered_weights, part_weight, part_weights
from vkssp.routing.places import listed_places, place_of
from vkssp.routing.route_assembly import end_to_end, joined, leg_of
from vkssp.routing.snap import StreetIndex
from vkssp.routing.stops import SNAPPINGS, CheckedStop
from vkssp.solver.phantom_node import PhantomNode

if TYPE_CHECKING:
    from vkssp.features.places import PlacesLike
    from vkssp.graph import Graph
    from vkssp.solver.pool import SolverPool
    from vkssp.solver.solver import Solver

#: Standard deviation of positions in metres, and how many of them a street may be away.
RADIUS_M, REACH = 5.0, 3.0
# Mean difference between route and straight line, and what turning round at a position costs, in metres.
_BETA_M, _TURN_M = 10.0, 50.0
# By how many standard deviations a vehicle that stands still may seem to go back.
_BACK = 1.5
# At a junction the end of a street is a little more probable than the beginning of the next one, but for the first
# position it is the other way round: so routes neither begin nor end with a turn.
_NOT_THERE = 1e-6
# Greatest detour in metres if times are not known.
_DETOUR_M = 2000.0
# A gap is longer than this many median steps, or leaves out more than this many positions.
_GAP = 10
# Positions closer than this to the one before, in metres or seconds, are left out by `tidy`.
_TIDY_M, _TIDY_S = 15.0, 5.0
_MOST_STREETS = 64
# The corner of the map that OSRM counts from, in millionths of a degree.
_CORNER = np.array([180e6, 90e6])
_NO_ARCS = np.zeros(0, np.int64)
_LAYERS = ("routes", "tracepoints")


@dataclass(frozen=True)
class Tracepoint(Place):
    """Position of a trace, and the point on a street where the vehicle was.

    Attributes
    ----------
    lat, lon, snapped_lat, snapped_lon, snapped_m, name
        As in `Place`.
    matching : int
        Number of the route that passes the point, in `Matching.routes`.
    waypoint : int or None
        Number of the point among those that the legs of this route join; None if a leg only passes it.
    alternatives : int
        Number of other streets or directions on which the vehicle may have been, as far as the trace tells.
    """

    matching: int = 0
    waypoint: int | None = None
    alternatives: int = 0

    @property
    def properties(self) -> dict[str, Any]:
        """Properties of the place, and the numbers."""
        numbers = {"matching": self.matching, "waypoint": self.waypoint, "alternatives": self.alternatives}
        return super().properties | numbers


@dataclass(frozen=True, eq=False)
class Matching(Shaped):
    """Routes along which a trace leads.

    Attributes
    ----------
    routes : tuple of Route
        The routes, one for each part of the trace, each with a leg from each of its positions to the next.
    confidence : tuple of float
        How certain each route is, from 0 to 1: the geometric mean, over its positions, of the probability that the most
        probable sequence of streets is the true one.
    tracepoints : tuple of Tracepoint or None
        For each position where the vehicle was; None for a position that no route passes.
    """

    routes: tuple[Route, ...]
    confidence: tuple[float, ...]
    tracepoints: tuple[Tracepoint | None, ...]

    def __repr__(self) -> str:
        """Return the numbers of positions and routes, and their length, in one line."""
        matched = sum(one is not None for one in self.tracepoints)
        metres = sum(route.distance_m or 0.0 for route in self.routes)
        told = f"{matched} of {len(self.tracepoints)} positions, {len(self.routes)} routes, {format_distance(metres)}"
        return f"Matching({told})"

    def _repr_html_(self) -> str | None:
        """Return a drawing for notebooks."""
        return drawing([self.features(), self.features("tracepoints")], repr(self))

    @property
    def geometry(self) -> Any:
        """The lines of all routes, as a shapely MultiLineString."""
        import shapely

        parts = [part for route in self.routes for part in shapely.get_parts(route.geometry)]
        return shapely.MultiLineString(parts)

    @property
    def properties(self) -> dict[str, Any]:
        """The number of positions that routes pass, metres of all routes, and their confidence."""
        return {
            "matched": sum(one is not None for one in self.tracepoints),
            "distance_m": sum(route.distance_m or 0.0 for route in self.routes),
            "confidence": list(self.confidence),
        }

    def features(self, part: str = "routes") -> Features:
        """Return the routes or the positions as features.

        Parameters
        ----------
        part : str
            ``"routes"``: a line for each route, with ``matching`` (its number), ``confidence`` and the figures of the
            route; ``"tracepoints"``: a point on a street for each position that a route passes, with ``position`` (its
            number in the trace) and the attributes of `Tracepoint`.

        Raises
        ------
        QueryError
            If there is no such part.
        """
        if choice(part, "part", _LAYERS) == "routes":
            each = zip(self.routes, self.confidence, strict=True)
            rows = [{"matching": at, "confidence": sure, **one.properties} for at, (one, sure) in enumerate(each)]
            shapes = lines([np.asarray(route.points) for route in self.routes])
        else:
            found = [(at, one) for at, one in enumerate(self.tracepoints) if one is not None]
            rows = [{"position": at, **one.properties} for at, one in found]
            shapes = dots(*np.array([(one.snapped_lat, one.snapped_lon) for _, one in found]).T)
        return Features({name: column_of([row[name] for row in rows]) for name in rows[0]}, shapes, part)

    def to_geodataframe(self, part: str = "routes") -> Any:
        """Return routes or positions as a geopandas GeoDataFrame in EPSG:4326; see `features`.

        Raises
        ------
        QueryError
            As `features`, or if geopandas is not installed (``pip install 'vkssp[pandas]'``).
        """
        return self.features(part).to_geodataframe()

    def write(self, path: str | Path) -> None:
        """Write the matching to a file, which appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            The file. Its ending says what is written: .gpkg (GeoPackage), .kml or .gpx with routes and positions;
            .geojson, .json, .fgb (FlatGeobuf), .parquet (GeoParquet), .shp or .shp.zip (Shapefile) with the routes.

        Raises
        ------
        FormatError
            If the file cannot be written, or its ending is not known.
        QueryError
            If a library that writes the format is not installed.
        """
        check_matching_ending(path)
        write_layers(path, [self.features(part) for part in _LAYERS])


def check_matching_ending(path: str | Path) -> str:
    """Return the ending of a file's name if a matching can be written to it; see `Matching.write`."""
    return check_ending(path, SHAPE_ENDINGS, "a matching")


class Trace(NamedTuple):
    """Positions of a trace, checked.

    `places` are latitude and longitude in degrees, shape (k, 2); `seconds` is None if times are not known; `radius` is
    the standard deviation of each position in metres; `bearing` has a direction and what it may differ by, in degrees,
    NaN where any will do, shape (k, 2). `kept` are the numbers of the positions that are used, `legs` the numbers of
    those that the legs join. `stops` are the positions with conditions, None for the others. `any_street` says whether
    streets count on which no trip begins.
    """

    places: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64] | None
    radius: npt.NDArray[np.float64]
    bearing: npt.NDArray[np.float64]
    kept: npt.NDArray[np.int64]
    legs: npt.NDArray[np.int64] | None
    stops: Sequence[CheckedStop | None]
    any_street: bool


def checked_trace(
    index: StreetIndex,
    trace: PlacesLike,
    timestamps: npt.ArrayLike | None,
    radiuses: float | Sequence[float | None] | None,
    bearings: Sequence[tuple[float, float] | None] | None,
    waypoints: Sequence[int] | None,
    tidy: bool,
    snapping: str,
) -> Trace:
    """Return the positions of a trace, or raise `QueryError`; see `vkssp.Router.match`."""
    listed = listed_places(index, trace, "trace", "positions of the trace")
    any_street = choice(snapping, "snapping", SNAPPINGS) == "any"
    stops = [one if isinstance(one, CheckedStop) else None for one in listed]
    places = np.array(listed, np.float64)
    count = len(places)
    if count < 2:
        raise QueryError("trace has 1 position; give two or more")
    seconds = None if timestamps is None else real_numbers(timestamps, "timestamps", error=QueryError)
    if seconds is not None:
        if len(seconds) != count or not np.isfinite(seconds).all() or (np.diff(seconds) < 0).any():
            raise QueryError(
                f"timestamps is {shown(timestamps)}; give finite seconds that do not decrease, one for each of the "
                f"{count:,} positions"
            )
        seconds = seconds.astype(np.float64)
    radius = _numbers(radiuses, count)
    bearing = np.full((count, 2), np.nan)
    if bearings is not None:
        given = list(bearings)
        if len(given) != count:
            raise QueryError(f"bearings has {len(given):,} items; give one for each of the {count:,} positions")
        for row, one in enumerate(given):
            if one is not None:
                pair = tuple(map(number_of, one)) if isinstance(one, list | tuple) and len(one) == 2 else (None, None)
                if pair[0] is None or pair[1] is None or not 0 <= pair[1] <= 180 or not math.isfinite(pair[0]):
                    raise QueryError(f"bearings[{row}] is {shown(one)}; give degrees and a range of 0 to 180, or None")
                bearing[row] = pair
    legs = None
    if waypoints is not None:
        legs = real_numbers(waypoints, "waypoints", error=QueryError).astype(np.int64)
        if len(legs) < 2 or legs[0] != 0 or legs[-1] != count - 1 or (np.diff(legs) <= 0).any():
            raise QueryError(
                f"waypoints is {shown(waypoints)}; give numbers of positions in ascending order, the first of them 0 "
                f"and the last {count - 1}"
            )
    kept = np.arange(count)
    if tidy:
        kept = _tidied(places, seconds, {0, count - 1} if legs is None else set(legs.tolist()))
    return Trace(places, seconds, radius, bearing, kept, legs, stops, any_street)


def _numbers(radiuses: float | Sequence[float | None] | None, count: int) -> npt.NDArray[np.float64]:
    """Return the radius of each position."""
    one = number_of(radiuses)
    given = [one] * count if radiuses is None or one is not None else list(radiuses)  # type: ignore[arg-type]
    if len(given) != count:
        raise QueryError(f"radiuses has {len(given):,} items; give one for each of the {count:,} positions")
    found = [RADIUS_M if radius is None else number_of(radius) for radius in given]
    for row, radius in enumerate(found):
        if radius is None or not 0 < radius <= 1000:
            raise QueryError(f"radiuses[{row}] is {shown(given[row])}; give metres, above 0 and up to 1000")
    return np.array(found, np.float64)


def _tidied(
    places: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64] | None, needed: set[int]
) -> npt.NDArray[np.int64]:
    """Return the numbers of the positions that are far enough, along the trace, from the one before that is kept."""
    metres = haversine(*places[:-1].T, *places[1:].T).tolist()
    passed = [math.inf] * len(metres) if seconds is None else np.diff(seconds).tolist()
    kept, far, long = [0], 0.0, 0.0
    for at in range(1, len(places)):
        far, long = far + metres[at - 1], long + passed[at - 1]
        if (far >= _TIDY_M and long >= _TIDY_S) or at in needed or at == len(places) - 1:
            kept.append(at)
            far = long = 0.0
    return np.array(kept, np.int64)


class _States(NamedTuple):
    """States of some points on streets, by point and direction, with the nodes that paths from and to them pass.

    `point` is the point of each state and `backward` its direction. Of `seeds` and `goals`, which are `Ends` of
    kernels, `seed_arc` and `goal_arc` are the arcs, and `seed_at` and `goal_at` the parts of them before the point.
    """

    point: npt.NDArray[np.int64]
    backward: npt.NDArray[np.bool_]
    arc: npt.NDArray[np.int64]
    at: npt.NDArray[np.float64]
    first: npt.NDArray[np.int64]
    seeds: Any
    goals: Any


def _states(index: StreetIndex, snaps: Sequence[Snap]) -> _States:
    """Return the states of points on streets.

    Paths go on from all arcs of a direction, also from those on which no trip begins: a vehicle may have travelled
    anything before the trace, and what it did is told by the positions.
    """
    first, arcs = index.arcs_by_polyline
    polyline = np.array([snap.polyline for snap in snaps], np.int64)
    fraction = np.array([snap.fraction for snap in snaps])
    count = first[polyline + 1] - first[polyline]
    point, arc = np.repeat(np.arange(len(snaps)), count), arcs[ranges(first[polyline], count)]
    backward = index.backward[arc]
    order = np.lexsort((backward, point))
    point, arc, backward = point[order], arc[order], backward[order]
    at = np.where(backward, 1.0 - fraction[point], fraction[point])
    is_first = np.ones(len(arc), np.bool_)
    is_first[1:] = (point[1:] != point[:-1]) | (backward[1:] != backward[:-1])
    begin = np.append(np.flatnonzero(is_first), len(arc))
    graph = index.graph
    metres = index.lengths[arc].astype(np.float64)
    ends = kernels("vkssp.routing.kernels.matching").Ends
    here = Points.of(snaps).take(point)
    seeds = ends(begin, graph.head[arc], part_weights(graph, arc, 1.0 - at, start=here), (1.0 - at) * metres)
    goals = ends(begin, graph.tail[arc], entered_weights(graph, arc, at, here), at * metres)
    where = begin[:-1]
    return _States(point[where], backward[where], arc, at, begin, seeds, goals)


def _fits(index: StreetIndex, snaps: Sequence[Snap], states: _States, bearing: Any) -> npt.NDArray[np.bool_]:
    """Return whether the direction of each state fits the bearing and the conditions of its point."""
    piece = index.first[[snap.polyline for snap in snaps]] + np.array([snap.segment for snap in snaps], np.int64)
    (lat0, lon0), (lat1, lon1) = np.radians(index.points[piece]).T, np.radians(index.points[piece + 1]).T
    east = np.sin(lon1 - lon0) * np.cos(lat1)
    north = np.cos(lat0) * np.sin(lat1) - np.sin(lat0) * np.cos(lat1) * np.cos(lon1 - lon0)
    heading = np.degrees(np.arctan2(east, north))[states.point] + 180.0 * states.backward
    wanted, most = bearing[states.point].T
    difference = np.abs((heading - wanted + 180.0) % 360.0 - 180.0)
    fits: npt.NDArray[np.bool_] = np.isnan(wanted) | (difference <= most)
    for at, point in enumerate(states.point.tolist()):
        allowed = snaps[point].arcs
        if allowed is not None and int(states.arc[states.first[at]]) not in allowed:
            fits[at] = False
    return fits


def _network(index: StreetIndex) -> Any:
    graph = index.searched
    metres = index.lengths if index.avoided is None else index.lengths[index.avoided.arc_ids]
    made = kernels("vkssp.routing.kernels.matching").Network
    return made(graph.first_out, graph.tail, graph.head, graph.weight, metres)


def _work(nodes: int) -> Any:
    """Return arrays for searches; the system gives memory only to those parts that a search visits."""
    key, metres, arc = np.empty(nodes, np.int64), np.empty(nodes), np.empty(nodes, np.int64)
    seen, goal = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    heap, place = np.empty(nodes, np.uint32), np.empty(nodes, np.uint32)
    return kernels("vkssp.routing.kernels.matching").Work(key, metres, arc, seen, goal, heap, place)


class _Visit(NamedTuple):
    """Position of a route: its number in the trace, its point, and the direction of arrival and of departure."""

    number: int
    snap: Snap
    arriving: bool
    leaving: bool
    others: int


def match_trace(
    solver: Solver | SolverPool,
    index: StreetIndex,
    graph: Graph,
    trace: Trace,
    gaps: str,
    max_speed_kmh: float,
    steps: bool,
    began: float,
) -> Matching:
    """Return the routes of a trace; see `vkssp.Router.match`.

    Raises
    ------
    NoRouteError
        If no part of the trace could be matched, or not all of its waypoints in one part.
    """
    found, confidence = _most_probable(index, trace, gaps, max_speed_kmh)
    if not found:
        raise NoRouteError(
            "no part of the trace leads along streets of this map; give larger radiuses if positions are less accurate"
        )
    if trace.legs is not None:
        visited = {visit.number for visit in found[0]}
        if len(found) > 1 or not visited.issuperset(trace.legs.tolist()):
            raise NoRouteError("the trace does not lead over all waypoints in one part; leave waypoints out")
    where = trace.places.tolist()
    tracepoints: list[Tracepoint | None] = [None] * len(where)
    routes = []
    for number, (visits, pieces) in enumerate(zip(found, _paths(index, found), strict=True)):
        is_end = [trace.legs is None or visit.number in trace.legs for visit in visits]
        waypoints = np.cumsum(is_end) - 1
        for at, visit in enumerate(visits):
            place = place_of(index, (where[visit.number][0], where[visit.number][1]), visit.snap)
            waypoint = int(waypoints[at]) if is_end[at] else None
            tracepoints[visit.number] = made(
                Tracepoint, **vars(place), matching=number, waypoint=waypoint, alternatives=visit.others
            )
        # The number of the leg that each path belongs to.
        leg_number = waypoints[:-1].tolist()
        legs = []
        for leg, members in groupby(range(len(pieces)), key=leg_number.__getitem__):
            numbers = list(members)
            some = [(visits[at], visits[at + 1], pieces[at]) for at in numbers]
            legs.append(_leg(index, graph, where, some, (leg + 1, leg == leg_number[-1]) if steps else None))
        routes.append(joined(legs, solver, began))
    return Matching(tuple(routes), tuple(confidence), tuple(tracepoints))


def _leg(
    index: StreetIndex,
    graph: Graph,
    where: list[list[float]],
    parts: list[tuple[_Visit, _Visit, LegPath]],
    step_context: tuple[int, bool] | None,
) -> Leg:
    """Return the leg along some paths, one after the other."""
    whole = [parts[0]]
    for start, end, path in parts[1:]:
        before = whole[-1]
        if start.arriving == start.leaving:
            whole[-1] = before[0], end, _in_one(index, before[2], path)
        else:
            whole.append((start, end, path))

    def made(start: _Visit, end: _Visit, path: LegPath, context: tuple[int, bool] | None) -> Leg:
        ends = [((where[visit.number][0], where[visit.number][1]), visit.snap) for visit in (start, end)]
        return leg_of(index, graph, ends[0], ends[1], path, context)

    # A leg that turns round within a street has no steps.
    legs = [made(*one, step_context if len(whole) == 1 else None) for one in whole]
    return legs[0] if len(legs) == 1 else end_to_end(legs)


def _in_one(index: StreetIndex, path: LegPath, after: LegPath) -> LegPath:
    """Return two paths as one, where the second goes on along the street on which the first ends."""
    inner = [] if path.direct else [np.array([path.first.arc]), path.inner]
    inner += [np.array([path.last.arc])]
    if not after.direct:
        inner += [after.inner, np.array([after.last.arc])]
    arcs = np.concatenate(inner).astype(np.int64)
    weight = path.weight + after.weight
    first, last = path.first.at, after.last.at
    if len(arcs) == 1:
        arc = int(arcs[0])
        return LegPath(weight, PhantomNode(-1, 0, arc, first), _NO_ARCS, PhantomNode(-1, 0, arc, last), direct=True)
    graph = index.graph
    begin = PhantomNode(int(graph.head[arcs[0]]), 0, int(arcs[0]), first)
    return LegPath(weight, begin, arcs[1:-1], PhantomNode(int(graph.tail[arcs[-1]]), 0, int(arcs[-1]), last))


def _most_probable(
    index: StreetIndex, trace: Trace, gaps: str, max_speed_kmh: float
) -> tuple[list[list[_Visit]], list[float]]:
    """Return the positions of each route, and the confidence of each."""
    module = kernels("vkssp.routing.kernels.matching")
    snaps, number = _candidates(index, trace)
    if not snaps:
        return [], []
    states = _states(index, snaps)
    fits = _fits(index, snaps, states, trace.bearing[trace.kept][number])
    position = number[states.point]
    metres = np.array([snap.metres for snap in snaps])[states.point]
    radius = trace.radius[trace.kept]
    emission = -0.5 * (metres / radius[position]) ** 2 - np.log(radius[position])
    polyline = np.array([snap.polyline for snap in snaps], np.int64)[states.point]
    count = len(states.point)
    other = np.full(count, -1)
    pair = np.flatnonzero(states.point[1:] == states.point[:-1])
    other[pair], other[pair + 1] = pair + 1, pair
    part = states.at[states.first[:-1]]
    twin = part == np.where(position == 0, 1.0, 0.0)
    emission[twin] -= _NOT_THERE
    # States that do not fit are left in place, so that the numbers of the others stay, but are impossible.
    emission[~fits] = -np.inf
    other[~fits] = -1
    other[(other >= 0) & ~fits[other]] = -1
    first = np.searchsorted(position, np.arange(len(radius) + 1))
    along = states.at[states.first[:-1]] * index.lengths[states.arc[states.first[:-1]]]
    places = trace.places[trace.kept]
    seconds = np.zeros(len(places)) if trace.seconds is None else trace.seconds[trace.kept]
    gap = math.inf
    if gaps == "split":
        gap = float(_GAP if trace.seconds is None else _GAP * max(1.0, float(np.median(np.diff(seconds)))))
    rules = module.Rules(trace.seconds is not None, max_speed_kmh / 3.6, _DETOUR_M, gap, _BETA_M, _TURN_M)
    found = module.Found(
        *(np.full(count, -np.inf), np.full(count, -np.inf), np.full(count, -1), np.zeros(count, np.bool_)),
        *(
            np.zeros(count, np.bool_),
            np.full(len(places), -1),
            np.full(len(places), -1),
            np.zeros(len(places), np.int64),
        ),
        *(np.zeros(len(places)), np.zeros(len(places), np.int64)),
    )
    parts = module.match(
        _network(index),
        _work(index.graph.num_nodes),
        module.Trace(*(np.ascontiguousarray(places[:, axis]) for axis in (0, 1)), seconds, _BACK * radius),
        module.States(first, 2 * polyline + states.backward, along.astype(np.float64), other, emission, twin),
        *(states.seeds, states.goals, rules, found),
    )
    routes: list[list[_Visit]] = [[] for _ in range(parts)]
    for at in np.flatnonzero(found.part >= 0).tolist():
        state = int(found.state[at])
        visits, snap, backward = routes[found.part[at]], snaps[states.point[state]], bool(states.backward[state])
        if visits:
            before, came = visits[-1], int(found.before[state])
            left = int(other[came]) if found.turned[state] else came
            before = visits[-1] = before._replace(leaving=bool(states.backward[left]))
            back = _BACK * max(radius[at], radius[position[came]])
            behind = snap.fraction > before.snap.fraction if backward else snap.fraction < before.snap.fraction
            same = states.backward[left] == backward and polyline[left] == polyline[state]
            if same and behind and along[state] - along[left] >= -back:
                # A vehicle that stands still may seem to go back.
                lat, lon = places[at].tolist()
                snap = before.snap._replace(metres=metres_between(lat, lon, before.snap.lat, before.snap.lon))
        visits.append(_Visit(int(trace.kept[at]), snap, backward, backward, int(found.others[at])))
    return routes, found.confidence[:parts].tolist()


def _candidates(index: StreetIndex, trace: Trace) -> tuple[list[Snap], npt.NDArray[np.int64]]:
    """Return the points on streets near the positions that are kept, and the position of each, counted from 0."""
    snaps, number = [], []
    for at, ((lat, lon), radius) in enumerate(
        zip(trace.places[trace.kept].tolist(), trace.radius[trace.kept].tolist(), strict=True)
    ):
        stop = trace.stops[trace.kept[at]]
        if stop is None:
            near = index.nearest_streets(lat, lon, _MOST_STREETS, limit=REACH * radius, any_street=trace.any_street)
        else:
            near = _meeting(index, stop, REACH * radius, trace.any_street)
        if index.avoided is not None:
            near = [snap for snap in near if not index.avoided.touched[snap.polyline]]
        snaps += [_on_first_piece(index, snap) for snap in near]
        number += [at] * len(near)
    return snaps, np.array(number, np.int64)


def _on_first_piece(index: StreetIndex, snap: Snap) -> Snap:
    """Return a point at which two pieces of a street meet as one of the piece that OSRM takes.

    Its pieces are in the order of their middles along Hilbert's curve over whole millionths of a degree, on the map of
    Mercator.
    """
    if snap.share not in (0.0, 1.0) or snap.is_end:
        return snap
    at = int(index.first[snap.polyline]) + snap.segment + int(snap.share)
    lat, lon = (1e6 * index.points[at - 1 : at + 2]).round().T
    middle = mercator(np.stack([lon[:-1] + lon[1:], lat[:-1] + lat[1:]], axis=1) // 2 * 1e-6)
    flat = (1e6 * np.degrees(middle) + _CORNER).astype(np.int64).tolist()
    is_later = hilbert_index(*flat[1]) < hilbert_index(*flat[0])
    return snap._replace(segment=snap.segment + int(snap.share) - 1 + is_later, share=float(not is_later))


def _meeting(index: StreetIndex, place: CheckedStop, limit: float, any_street: bool) -> list[Snap]:
    """Return the points on streets up to a limit that meet the conditions of a position."""
    stop = place.stop
    radius = limit if stop.radius_m is None else min(float(stop.radius_m), limit)
    place = CheckedStop(replace(stop, radius_m=radius), any_street)
    is_known = stop.hint is not None and index.hints.decode(stop.hint, *place) is not None
    return index.nearest_for(place, 1 if is_known else _MOST_STREETS)


def _paths(index: StreetIndex, routes: list[list[_Visit]]) -> list[list[LegPath]]:
    """Return the paths between the positions of each route."""
    module = kernels("vkssp.routing.kernels.matching")
    pairs = [pair for visits in routes for pair in pairwise(visits)]
    begin, end = (_states(index, [pair[which].snap for pair in pairs]) for which in (0, 1))
    is_left = begin.backward == np.array([source.leaving for source, _ in pairs])[begin.point]
    is_entered = end.backward == np.array([target.arriving for _, target in pairs])[end.point]
    here, there = np.flatnonzero(is_left), np.flatnonzero(is_entered)
    direct: dict[int, tuple[int, float, float]] = {}
    for leg, (source, target) in enumerate(pairs):
        arc = int(end.arc[end.first[there[leg]]])
        at = float(begin.at[begin.first[here[leg]]]), float(end.at[end.first[there[leg]]])
        if source.snap.polyline == target.snap.polyline and source.leaving == target.arriving and at[0] <= at[1]:
            direct[leg] = arc, *at
    seeds, seed_rows = _taken(module, begin.seeds, here, range(len(pairs)))
    goals, goal_rows = _taken(module, end.goals, there, [leg for leg in range(len(pairs)) if leg not in direct])
    ends = np.zeros((len(pairs), 4), np.int64)
    arcs, network, work, stamp = np.empty(1024, np.int64), _network(index), _work(index.graph.num_nodes), 0
    while (needed := module.find_paths(network, work, seeds, goals, stamp, ends, arcs)) > len(arcs):
        arcs, stamp = np.empty(needed, np.int64), stamp + len(pairs)
    if index.avoided is not None:
        arcs[:needed] = index.avoided.arc_ids[arcs[:needed]]
    found: list[LegPath] = []
    for leg, (offset, count, seed, goal) in enumerate(ends.tolist()):
        if leg in direct:
            arc, low, high = direct[leg]
            source, target = pairs[leg]
            weight = part_weight(index.graph, arc, high - low, source.snap, target.snap)
            found.append(
                LegPath(weight, PhantomNode(-1, 0, arc, low), _NO_ARCS, PhantomNode(-1, 0, arc, high), direct=True)
            )
            continue
        weights = int(seeds.weight[seed]), int(goals.weight[goal])
        row, column = seed_rows[seed], goal_rows[goal]
        inner = arcs[offset : offset + count].copy()
        first = PhantomNode(int(seeds.node[seed]), weights[0], int(begin.arc[row]), float(begin.at[row]))
        last = PhantomNode(int(goals.node[goal]), weights[1], int(end.arc[column]), float(end.at[column]))
        found.append(LegPath(sum(weights) + int(index.graph.weight[inner].sum(dtype=np.int64)), first, inner, last))
    each = iter(found)
    return [[next(each) for _ in visits[1:]] for visits in routes]


def _taken(
    module: Any, ends: Any, which: npt.NDArray[np.int64], legs: Sequence[int]
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the ends of some states, those of other legs without any, and their rows in the given ends."""
    count = ends.first[which + 1] - ends.first[which]
    wanted = np.zeros(len(which), np.bool_)
    wanted[list(legs)] = True
    count[~wanted] = 0
    rows = ranges(ends.first[which], count)
    first = bounds_of(count)
    return module.Ends(first, ends.node[rows], ends.weight[rows], ends.metres[rows]), rows
