"""Import of an extract: read the ways, cut them at junctions, compute the weights, number the nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import choice, flag, path_of
from vkssp.cores import beside
from vkssp.errors import FormatError, GraphError
from vkssp.graph import Graph
from vkssp.graph.open_areas import OpenArea, Ring
from vkssp.log import logger
from vkssp.memory import require
from vkssp.osm.assembly import assemble
from vkssp.osm.basemap import Shapes, basemap_of, shapes_of
from vkssp.osm.clock import clock_of
from vkssp.osm.open_areas import read_open_areas, with_open_areas
from vkssp.osm.pieces import Pieces, equal_pieces, shared_pieces, sums_of
from vkssp.osm.profile import TURNS, Profile, profile_named
from vkssp.osm.raw_basemap import RawPlace
from vkssp.osm.reader import read_roads
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads
from vkssp.osm.segments import Floats, Indices, Segments, cut_ways

#: Seconds per unit of weight; the second value holds if streets are cut into pieces of a few metres.
SECONDS_PER_WEIGHT, SECONDS_PER_WEIGHT_OF_PIECES = 0.1, 0.001

#: Bytes of memory per reference of a way to a node while ways are cut.
_REFERENCE_BYTES = 120
_log = logger(__name__)


def import_extract(
    path: str | Path,
    *,
    profile: str | Path = "car",
    progress: bool = False,
    order: str = "z",
    simplify: bool = True,
    turns: str | None = None,
    at: datetime | float | None = None,
    time_zone: str | Path | None = None,
    basemap: bool = True,
) -> tuple[Graph, ImportReport]:
    """Make a graph from an OpenStreetMap extract.

    Nodes are junctions and ends of streets. Weights are travel times in tenths of a second, at least 1. Without
    simplification, all nodes of OpenStreetMap are nodes of the graph, and weights are milliseconds. The graph holds
    several copies of streets that serve only the ends of a trip (see `vkssp.osm.layers`), and of junctions at which
    turns matter (see `vkssp.osm.turns`).

    Parameters
    ----------
    path : str or Path
        The extract: .osm.pbf, .osm, .osm.gz or .osm.bz2.
    profile : str or Path
        The vehicle: ``car``, ``bike``, ``foot``, or the path of a profile file (see docs/profiles.md).
    progress : bool
        Whether to show a progress bar on stderr: at once if the file is large, else after a second.
    order : str
        Numbering of the nodes: ``"z"`` along the Z-order curve, ``"natural"`` as in OpenStreetMap, mostly by the time
        at which the nodes were first drawn.
    simplify : bool
        Whether to leave out nodes that only give a street its shape; the polyline of the street keeps them.
    turns : str, optional
        What the graph holds about turns: ``"none"``, ``"restrictions"``, or ``"costs"``: restrictions and the time
        that turns, signals and signs take. The default is the profile's: costs for ``car``, none for ``bike`` and
        ``foot``.
    at : datetime, int or float, optional
        The moment for which restrictions at certain times count, such as those on weekdays from 7 to 9; without it,
        none of them counts. A datetime without a time zone is a local time everywhere, a number the seconds since 1970
        in UTC.
    time_zone : str or Path, optional
        Name of a time zone, such as ``Europe/Berlin``, or a GeoJSON file of regions with such names in the property
        ``TZID``, if `at` is a moment of all the world.
    basemap : bool
        Whether the graph also holds coast, water and names of places, which maps show beside the streets; see
        `vkssp.graph.basemap.Basemap`.

    Returns
    -------
    graph : Graph
        The streets, with coordinates and `Streets`.
    report : ImportReport
        Counts of what was found, used and left out.

    Raises
    ------
    FormatError
        If the file is missing, is not an extract, is truncated or damaged, or holds no street that the vehicle may use.
    MemoryShortageError
        If there is not enough memory.
    QueryError
        If the profile, the order or the value of `turns` is unknown, or the profile's file is invalid.
    """
    path_of(path)
    vehicle = profile_named(profile)
    choice(order, "order", ("natural", "z"))
    progress, simplify, basemap = flag(progress, "progress"), flag(simplify, "simplify"), flag(basemap, "basemap")
    turns = vehicle.turns.default if turns is None else choice(turns, "turns", TURNS)
    clock = clock_of(at, time_zone)
    report = ImportReport(source=str(path), profile=str(profile), turns=turns)
    started = perf_counter()
    roads, raw = read_roads(path, vehicle, report, progress=progress, turns=turns, basemap=basemap)
    if clock is not None:
        roads = roads.at_time(clock)
    of_file = len(roads.way)
    roads, areas = with_open_areas(roads, read_open_areas(path, vehicle, report), vehicle, report)
    if vehicle.round_pieces:
        roads = replace(roads, lat=_millionths(roads.lat), lon=_millionths(roads.lon))
        areas = tuple(area._replace(rings=tuple(map(_rounded, area.rings))) for area in areas)
    report.end_stage("open areas and rounding")
    drawn: AbstractContextManager[Callable[[], Shapes] | None] = nullcontext()
    places: tuple[RawPlace, ...] = ()
    if raw is not None:
        drawn, places = beside(partial(shapes_of, raw)), raw.places
    del raw  # which takes much memory
    with drawn as shapes:
        graph = _make_graph(path, roads, areas, vehicle, report, order=order, simplify=simplify)
        report.ways_used -= len(roads.way) - of_file
        report.open_areas = len(areas)
        if shapes is not None and graph.streets is not None:
            found = basemap_of(shapes(), places, graph.streets.points)
            graph = replace(graph, streets=replace(graph.streets, basemap=found))
    report.end_stage("basemap")
    report.seconds = perf_counter() - started
    stages = "; ".join(f"{name} {seconds:.2f} s" for name, seconds in report.stages.items())
    _log.debug("imported %s: %s", path, stages)
    return graph, report


def _make_graph(
    path: str | Path,
    roads: RawRoads,
    areas: tuple[OpenArea, ...],
    vehicle: Profile,
    report: ImportReport,
    *,
    order: str,
    simplify: bool,
) -> Graph:
    """Return the graph of the roads of a file."""
    if len(roads.way) == 0:
        raise _no_road(path, vehicle)
    require(_REFERENCE_BYTES * len(roads.node), f"{path}: streets with {len(roads.node)} points")
    segments = cut_ways(roads, report, simplify=simplify, ellipsoid=vehicle.ellipsoid)
    if len(segments.way) == 0:
        raise _no_road(path, vehicle)
    roads = roads.without_nodes()
    if not vehicle.named:
        roads = replace(roads, name=np.zeros_like(roads.name), ref=np.zeros_like(roads.ref))
    report.end_stage("cutting")
    unit = SECONDS_PER_WEIGHT if simplify else SECONDS_PER_WEIGHT_OF_PIECES
    try:
        if vehicle.fixed.way_seconds:
            roads = replace(roads, duration=np.full(len(roads.way), vehicle.fixed.way_seconds))
        exact = seconds = travel_seconds(roads, segments, evenly=vehicle.round_pieces)
        pieces = None
        if vehicle.round_pieces:
            pieces = shared_pieces(
                exact, segments, _is_timed(roads, segments), SECONDS_PER_WEIGHT, ellipsoid=vehicle.ellipsoid
            )
            seconds = sums_of(pieces, seconds, segments, SECONDS_PER_WEIGHT)
        rules, fixed = vehicle.weight, vehicle.fixed
        is_duration = rules.name == "duration" and rules.precision == 1.0 and not fixed.weighs
        weights = weight_pieces = None
        if not is_duration:
            weights, weight_pieces = travel_weights(roads, segments, exact, vehicle)
        if fixed.piece_seconds:
            pieces = equal_pieces(seconds, segments, round(fixed.piece_seconds / SECONDS_PER_WEIGHT))
            seconds = sums_of(pieces, seconds, segments, SECONDS_PER_WEIGHT)
        further = {}
        if vehicle.round_pieces:
            seconds, weights = _without_doubles(segments, seconds, weights, _name_ranks(roads)[segments.way])
            further["piece_weight"] = pieces if is_duration else weight_pieces
            if pieces is not None and not is_duration:
                further["piece_seconds"] = own((pieces * SECONDS_PER_WEIGHT).astype(np.float32))
        report.end_stage("travel times")
        return assemble(
            *(roads, segments, seconds, vehicle, report),
            order=order,
            seconds_per_weight=unit,
            weights=weights,
            further=further,
            areas=areas,
        )
    except GraphError as error:  # such as a street with a travel time beyond the largest weight
        raise FormatError(f"{path} holds streets that no graph can hold: {error}") from error


def read_extract(
    path: str | Path,
    *,
    profile: str | Path = "car",
    progress: bool = False,
    turns: str | None = None,
    at: datetime | float | None = None,
    time_zone: str | Path | None = None,
    basemap: bool = True,
) -> Graph:
    """Make a graph from an OpenStreetMap extract, as `import_extract` does, without the report."""
    return import_extract(
        path, profile=profile, progress=progress, turns=turns, at=at, time_zone=time_zone, basemap=basemap
    )[0]


def _millionths(degrees: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return coordinates in 1e-7 degrees, rounded to millionths of a degree by way of degrees, as OSRM does.

    Halves are rounded away from zero, if they still are halves as floating-point numbers.
    """
    millionths = degrees / 1e7 * 1e6
    found: npt.NDArray[np.float64] = np.copysign(np.floor(np.abs(millionths) + 0.5), millionths)
    return (10 * found).astype(np.int32)


def _rounded(ring: Ring) -> Ring:
    """Return a ring with rounded points, as `_millionths` does."""
    points = _millionths(np.array(ring.points, np.int32)).tolist()
    return ring._replace(points=tuple((lat, lon) for lat, lon in points))


def _no_road(path: str | Path, profile: Profile) -> FormatError:
    return FormatError(f"no road in {path} that {profile.vehicle} may use; take an extract that holds streets")


def travel_seconds(roads: RawRoads, segments: Segments, *, evenly: bool = False) -> Floats:
    """Return the travel time of each segment in seconds, along its way and against it; infinity if not allowed.

    Parameters
    ----------
    roads, segments
        The ways and their pieces.
    evenly : bool
        If a tag gives the duration of a whole way, whether it is divided among the way's pieces between OSM nodes, each
        of which takes as long as the others, as in OSRM; otherwise it is divided by length.

    Returns
    -------
    numpy.ndarray
        Shape (num_segments, 2), float64.
    """
    way, length = segments.way, segments.length
    speed = roads.speed[way]
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = length[:, None] * 3.6 / speed
    whole = roads.duration[way] * _share_of_way(roads, segments, evenly=evenly)
    seconds = np.where(np.isnan(whole)[:, None], seconds, whole[:, None]) + segments.wait[:, None]
    return np.where(speed > 0, seconds, np.inf)


def _is_timed(roads: RawRoads, segments: Segments) -> npt.NDArray[np.bool_]:
    """Return whether the duration of each segment is that of its way, shape (num_segments,)."""
    found: npt.NDArray[np.bool_] = ~np.isnan(roads.duration[segments.way])
    return found


def _share_of_way(roads: RawRoads, segments: Segments, *, evenly: bool) -> Floats:
    """Return the share of each segment in its way, by the number of pieces or by length, shape (num_segments,)."""
    way, length = segments.way, segments.length
    if evenly:
        length = np.where(length > 0, np.diff(segments.polyline_first.astype(np.float64)) - 1.0, 0.0)
    way_length = np.bincount(way, weights=length, minlength=len(roads.way))[way]
    return np.divide(length, way_length, out=np.zeros(len(length)), where=way_length > 0)


def _name_ranks(roads: RawRoads) -> Indices:
    """Return the rank of each way by its name, in the order of code points, those without a name last."""
    order = sorted(range(len(roads.names)), key=lambda name: (not roads.names[name], roads.names[name]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[roads.name])


def _without_doubles(
    segments: Segments, seconds: Floats, weights: Floats | None, rank: Indices
) -> tuple[Floats, Floats | None]:
    """Close all but the lightest of several ways between two successive nodes, as OSRM does; of equals by rank."""
    lone = np.flatnonzero((np.diff(segments.polyline_first.astype(np.int64)) == 2) & (segments.length > 0))
    tail, head = segments.tail[lone], segments.head[lone]
    seconds = seconds.copy()
    for along in (True, False):  # in the direction from the smaller node to the larger, and back
        side = ((tail > head) == along).astype(np.int64)
        amount = (seconds if weights is None else weights)[lone, side]
        order = np.lexsort((rank[lone], amount, np.maximum(tail, head), np.minimum(tail, head)))
        ends = np.column_stack([np.minimum(tail, head), np.maximum(tail, head)])[order]
        again = np.flatnonzero((np.diff(ends, axis=0) == 0).all(axis=1)) + 1
        seconds[lone[order[again]], side[order[again]]] = np.inf
    return seconds, None if weights is None else np.where(np.isfinite(seconds), weights, np.inf)


def travel_weights(
    roads: RawRoads, segments: Segments, seconds: Floats, profile: Profile
) -> tuple[Floats, Pieces | None]:
    """Return the weight of each segment, along its way and against it, and those of its pieces, if they are whole.

    Weights are metres, or seconds at speeds that factors change, by the name of the profile's weights.

    Parameters
    ----------
    roads, segments
        The ways and their pieces.
    seconds : numpy.ndarray
        Travel times by `travel_seconds`.
    profile : Profile
        The vehicle.

    Returns
    -------
    weights : numpy.ndarray
        Infinity if not allowed, shape (num_segments, 2), float64.
    pieces : numpy.ndarray or None
        As `vkssp.osm.pieces.shared_pieces` returns them.
    """
    if profile.weight.name == "distance":
        found: Floats = np.where(np.isfinite(seconds), segments.length[:, None], np.inf)
    else:
        assert roads.factor is not None
        wait = segments.wait[:, None]
        found = (seconds - wait) / roads.factor[segments.way] + wait
    fixed, is_open, evenly = profile.fixed, np.isfinite(seconds), profile.round_pieces
    if fixed.way_weight:
        found = np.where(is_open, (fixed.way_weight * _share_of_way(roads, segments, evenly=evenly))[:, None], np.inf)
    for side, rate in enumerate((fixed.rate, fixed.rate_back)):
        if rate:
            found[:, side] = np.where(is_open[:, side], segments.length / rate, np.inf)
    unit, pieces = 10.0**-profile.weight.precision, None
    if fixed.piece_weight:
        pieces = equal_pieces(seconds, segments, round(fixed.piece_weight / unit))
    elif profile.round_pieces:
        even = _is_timed(roads, segments)
        if fixed.way_weight or any((fixed.rate, fixed.rate_back)) or profile.weight.name == "distance":
            even = np.full(len(even), bool(fixed.way_weight))
        pieces = shared_pieces(found, segments, even, unit, ellipsoid=profile.ellipsoid)
    return (found, None) if pieces is None else (sums_of(pieces, found, segments, unit), pieces)
