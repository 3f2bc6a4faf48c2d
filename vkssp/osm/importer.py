"""Import of an extract: read the ways, cut them at junctions, compute the weights, number the nodes."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import numpy as np

from vkssp.checks import choice, flag, path_of
from vkssp.errors import FormatError, GraphError
from vkssp.graph import Graph
from vkssp.log import logger
from vkssp.memory import require
from vkssp.osm.assembly import assemble
from vkssp.osm.profile import TURNS, Profile, profile_named
from vkssp.osm.reader import read_roads
from vkssp.osm.report import ImportReport
from vkssp.osm.roads import RawRoads
from vkssp.osm.segments import Floats, Segments, cut_ways

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
    report = ImportReport(source=str(path), profile=str(profile), turns=turns)
    started = perf_counter()
    roads = read_roads(path, vehicle, report, progress=progress, turns=turns)
    read = perf_counter()
    if len(roads.way) == 0:
        raise _no_road(path, vehicle)
    require(_REFERENCE_BYTES * len(roads.node), f"{path}: streets with {len(roads.node)} points")
    segments = cut_ways(roads, report, simplify=simplify)
    if len(segments.way) == 0:
        raise _no_road(path, vehicle)
    roads = roads.without_nodes()
    cut = perf_counter()
    unit = SECONDS_PER_WEIGHT if simplify else SECONDS_PER_WEIGHT_OF_PIECES
    try:
        seconds = travel_seconds(roads, segments)
        graph = assemble(roads, segments, seconds, vehicle, report, order=order, seconds_per_weight=unit)
    except GraphError as error:  # such as a street with a travel time beyond the largest weight
        raise FormatError(f"{path} holds streets that no graph can hold: {error}") from error
    done = perf_counter()
    report.seconds = done - started
    report.stages = {"read": read - started, "cut": cut - read, "assemble": done - cut}
    _log.debug("imported %s: %.2f s to read, %.2f to cut, %.2f to assemble", path, *report.stages.values())
    return graph, report


def read_extract(
    path: str | Path, *, profile: str | Path = "car", progress: bool = False, turns: str | None = None
) -> Graph:
    """Make a graph from an OpenStreetMap extract, as `import_extract` does, without the report."""
    return import_extract(path, profile=profile, progress=progress, turns=turns)[0]


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
        way_length = np.bincount(way, weights=length, minlength=len(roads.way))
        share = np.where(way_length[way] > 0, length / way_length[way], 0.0)
    whole = roads.duration[way] * share
    seconds = np.where(np.isnan(whole)[:, None], seconds, whole[:, None]) + segments.wait[:, None]
    return np.where(speed > 0, seconds, np.inf)
