"""Import of an extract: read the ways, cut them at junctions, compute the weights, number the nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from time import perf_counter

import numpy as np

from vkssp.checks import choice, flag, path_of
from vkssp.errors import FormatError, GraphError
from vkssp.graph import Graph
from vkssp.log import logger
from vkssp.memory import require
from vkssp.osm.assembly import assemble
from vkssp.osm.clock import clock_of
from vkssp.osm.profile import TURNS, Profile, profile_named
from vkssp.osm.reader import read_roads
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads
from vkssp.osm.segments import Floats, Segments, cut_ways, steps_between

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
    progress, simplify = flag(progress, "progress"), flag(simplify, "simplify")
    turns = vehicle.turns.default if turns is None else choice(turns, "turns", TURNS)
    clock = clock_of(at, time_zone)
    report = ImportReport(source=str(path), profile=str(profile), turns=turns)
    started = perf_counter()
    roads = read_roads(path, vehicle, report, progress=progress, turns=turns)
    if clock is not None:
        roads = roads.at_time(clock)
    read = perf_counter()
    if len(roads.way) == 0:
        raise _no_road(path, vehicle)
    require(_REFERENCE_BYTES * len(roads.node), f"{path}: streets with {len(roads.node)} points")
    segments = cut_ways(roads, report, simplify=simplify, ellipsoid=vehicle.ellipsoid)
    if len(segments.way) == 0:
        raise _no_road(path, vehicle)
    roads = roads.without_nodes()
    if not vehicle.named:
        roads = replace(roads, name=np.zeros_like(roads.name), ref=np.zeros_like(roads.ref))
    cut = perf_counter()
    unit = SECONDS_PER_WEIGHT if simplify else SECONDS_PER_WEIGHT_OF_PIECES
    try:
        if vehicle.fixed.way_seconds:
            roads = replace(roads, duration=np.full(len(roads.way), vehicle.fixed.way_seconds))
        seconds = travel_seconds(roads, segments)
        if vehicle.round_pieces:
            seconds = rounded_by_piece(seconds, segments, SECONDS_PER_WEIGHT, ellipsoid=vehicle.ellipsoid)
        rules, fixed = vehicle.weight, vehicle.fixed
        is_duration = rules.name == "duration" and rules.precision == 1.0 and not fixed.weighs
        weights = None if is_duration else travel_weights(roads, segments, seconds, vehicle)
        if fixed.piece_seconds:
            seconds = _by_piece(seconds, segments, fixed.piece_seconds)
        if vehicle.round_pieces:
            seconds, weights = _without_doubles(segments, seconds, weights)
        graph = assemble(
            roads, segments, seconds, vehicle, report, order=order, seconds_per_weight=unit, weights=weights
        )
    except GraphError as error:  # such as a street with a travel time beyond the largest weight
        raise FormatError(f"{path} holds streets that no graph can hold: {error}") from error
    done = perf_counter()
    report.seconds = done - started
    report.stages = {"read": read - started, "cut": cut - read, "assemble": done - cut}
    _log.debug("imported %s: %.2f s to read, %.2f to cut, %.2f to assemble", path, *report.stages.values())
    return graph, report


def read_extract(
    path: str | Path,
    *,
    profile: str | Path = "car",
    progress: bool = False,
    turns: str | None = None,
    at: datetime | float | None = None,
    time_zone: str | Path | None = None,
) -> Graph:
    """Make a graph from an OpenStreetMap extract, as `import_extract` does, without the report."""
    return import_extract(path, profile=profile, progress=progress, turns=turns, at=at, time_zone=time_zone)[0]


def _no_road(path: str | Path, profile: Profile) -> FormatError:
    return FormatError(f"no road in {path} that {profile.vehicle} may use; take an extract that holds streets")


def travel_seconds(roads: RawRoads, segments: Segments) -> Floats:
    """Return the travel time of each segment in seconds, along its way and against it; infinity if not allowed.

    If a tag gives the duration of a whole way, it is divided among the way's segments by their lengths.

    Returns
    -------
    numpy.ndarray
        Shape (num_segments, 2), float64.
    """
    way, length = segments.way, segments.length
    speed = roads.speed[way]
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = length[:, None] * 3.6 / speed
    whole = roads.duration[way] * _share_of_way(roads, segments)
    seconds = np.where(np.isnan(whole)[:, None], seconds, whole[:, None]) + segments.wait[:, None]
    return np.where(speed > 0, seconds, np.inf)


def _share_of_way(roads: RawRoads, segments: Segments) -> Floats:
    """Return the share of each segment in the length of its way, shape (num_segments,)."""
    way, length = segments.way, segments.length
    way_length = np.bincount(way, weights=length, minlength=len(roads.way))[way]
    return np.divide(length, way_length, out=np.zeros(len(length)), where=way_length > 0)


def _by_piece(values: Floats, segments: Segments, amount: float) -> Floats:
    """Return an amount for each piece between two nodes of OpenStreetMap, where values of segments are finite."""
    pieces = np.diff(segments.polyline_first.astype(np.int64)) - 1
    fixed = np.where(segments.length > 0, amount * pieces, 0.0) + segments.wait
    return np.where(np.isfinite(values), fixed[:, None], np.inf)


def _without_doubles(segments: Segments, seconds: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Close all but the lightest of several ways between two successive nodes, as OSRM does; of equals the first."""
    lone = np.flatnonzero((np.diff(segments.polyline_first.astype(np.int64)) == 2) & (segments.length > 0))
    tail, head = segments.tail[lone], segments.head[lone]
    seconds = seconds.copy()
    for along in (True, False):  # in the direction from the smaller node to the larger, and back
        side = ((tail > head) == along).astype(np.int64)
        amount = (seconds if weights is None else weights)[lone, side]
        order = np.lexsort((amount, np.maximum(tail, head), np.minimum(tail, head)))
        ends = np.column_stack([np.minimum(tail, head), np.maximum(tail, head)])[order]
        again = np.flatnonzero((np.diff(ends, axis=0) == 0).all(axis=1)) + 1
        seconds[lone[order[again]], side[order[again]]] = np.inf
    return seconds, None if weights is None else np.where(np.isfinite(seconds), weights, np.inf)


def travel_weights(roads: RawRoads, segments: Segments, seconds: Floats, profile: Profile) -> Floats:
    """Return the weight of each segment, along its way and against it; infinity if not allowed.

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
    numpy.ndarray
        Shape (num_segments, 2), float64.
    """
    if profile.weight.name == "distance":
        found: Floats = np.where(np.isfinite(seconds), segments.length[:, None], np.inf)
    else:
        assert roads.factor is not None
        wait = segments.wait[:, None]
        found = (seconds - wait) / roads.factor[segments.way] + wait
    fixed, is_open = profile.fixed, np.isfinite(seconds)
    if fixed.way_weight:
        found = np.where(is_open, (fixed.way_weight * _share_of_way(roads, segments))[:, None], np.inf)
    for side, rate in enumerate((fixed.rate, fixed.rate_back)):
        if rate:
            found[:, side] = np.where(is_open[:, side], segments.length / rate, np.inf)
    if fixed.piece_weight:
        return _by_piece(seconds, segments, fixed.piece_weight)
    if profile.round_pieces:
        found = rounded_by_piece(found, segments, 10.0**-profile.weight.precision, ellipsoid=profile.ellipsoid)
    return found


def rounded_by_piece(values: Floats, segments: Segments, unit: float, *, ellipsoid: bool) -> Floats:
    """Return values of segments, each the sum of its shares between two points, which are whole units, at least one.

    Parameters
    ----------
    values : numpy.ndarray
        Values of each segment along its way and against it, which its points share by length, shape (num_segments, 2).
    segments : Segments
        The segments.
    unit : float
        The unit.
    ellipsoid : bool
        As for `cut_ways`.
    """
    lat, lon = segments.points.T
    first = segments.polyline_first.astype(np.int64)
    steps = steps_between(np.ascontiguousarray(lat), np.ascontiguousarray(lon), ellipsoid=ellipsoid)
    inside = np.ones(len(steps), np.bool_)
    inside[first[1:-1] - 1] = False  # from one segment to the next
    segment = np.repeat(np.arange(len(first) - 1), np.diff(first) - 1)
    share = steps[inside] / np.maximum(segments.length[segment], 1e-9)
    result = np.empty_like(values)
    for side in (0, 1):
        pieces = np.maximum(np.rint(share * (values[:, side] - segments.wait)[segment] / unit), 1.0)
        result[:, side] = np.bincount(segment, weights=pieces, minlength=len(values)) * unit + segments.wait
    # The links of gates have no length.
    return np.where((segments.length[:, None] > 0) & np.isfinite(values), result, values)
