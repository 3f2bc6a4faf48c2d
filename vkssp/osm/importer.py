"""Import of an extract: read the ways, cut them at junctions, compute the weights, number the nodes."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from vkssp.arrays import own
from vkssp.checks import choice, flag, path_of
from vkssp.errors import FormatError, GraphError, QueryError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.graph.csr import rows_of
from vkssp.graph.order import z_order
from vkssp.graph.streets import COORDINATE_SCALE, Streets
from vkssp.log import logger
from vkssp.memory import require
from vkssp.osm.layers import split_layers, with_enclaves
from vkssp.osm.profile import TURNS, Profile, profile_named
from vkssp.osm.reader import RawRoads, read_roads
from vkssp.osm.report import ImportReport
from vkssp.osm.segments import Floats, Segments, cut_ways
from vkssp.osm.turns import Arcs, with_turns

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
    cut = perf_counter()
    unit = SECONDS_PER_WEIGHT if simplify else SECONDS_PER_WEIGHT_OF_PIECES
    try:
        graph = _assemble(roads, segments, vehicle, report, order, unit)
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


def _assemble(
    roads: RawRoads, segments: Segments, profile: Profile, report: ImportReport, order: str, seconds_per_weight: float
) -> Graph:
    seconds = travel_seconds(roads, segments)
    forward, backward = (np.flatnonzero(np.isfinite(seconds[:, i])) for i in (0, 1))
    segment = np.concatenate([forward, backward])
    direction = np.repeat([0, 1], [len(forward), len(backward)])
    arc_tail = np.concatenate([segments.tail[forward], segments.head[backward]])
    arc_head = np.concatenate([segments.head[forward], segments.tail[backward]])
    restricted = roads.restricted[segments.way[segment], direction]
    restricted = with_enclaves(arc_tail, arc_head, restricted, len(segments.lat))
    report.restricted = len(np.unique(segment[restricted]))
    layered = split_layers(arc_tail, arc_head, restricted, len(segments.lat))
    tail, head, node, arc = layered.tail, layered.head, layered.node, layered.arc
    junction = turn = memory = layer = None
    if roads.turns is not None:
        turning = with_turns(roads, segments, Arcs(segment, direction, arc_tail, arc_head), layered, profile, report)
        tail, head, node, arc = turning.tail, turning.head, turning.node, turning.arc
        junction, memory, layer = node.astype(np.uint32), turning.memory.astype(np.uint32), turning.layer
        if turning.seconds is not None:
            turn = np.rint(turning.seconds / seconds_per_weight).astype(np.uint32)
    segment, direction = segment[arc], direction[arc]
    weight = np.maximum(np.rint(seconds[segment, direction] / seconds_per_weight), 1.0)
    if turn is not None:
        weight += turn
    way = segments.way[segment]
    if weight.max(initial=0.0) >= UNREACHABLE:
        at = int(weight.argmax())
        raise QueryError(
            f"way {roads.way[way[at]]} takes longer than 32 bits hold at {roads.speed[way[at], direction[at]]:g} km/h; "
            f"give {profile.vehicle} higher speeds or factors, or simplify streets"
        )
    arrays = {
        "length": segments.length[segment].astype(np.float32),
        "way": roads.way[way],
        "carried": roads.carried[way],
        "name": roads.name[way],
        "polyline": segment.astype(np.uint32),
        "backward": direction.astype(np.bool_),
        "polyline_first": segments.polyline_first,
        "points": segments.points,
        "junction": junction,
        "turn": turn,
        "memory": memory,
        "layer": layer,
        "ref": roads.ref[way],
        "roundabout": roads.roundabout[way],
        "link": roads.link[way],
        "node": segments.node[node],
        "point_node": segments.point_node,
        "snappable": None if roads.snappable.all() else roads.snappable[way],
    }
    kept: dict[str, Any] = {name: None if array is None else own(array) for name, array in arrays.items()}
    streets = Streets(**kept, names=roads.names, seconds_per_weight=seconds_per_weight)
    first_out, by_tail = rows_of(tail.astype(np.uint32), len(node))
    graph = Graph.from_csr(
        own(first_out),
        head[by_tail],
        weight[by_tail],
        lat=own(segments.lat[node] * COORDINATE_SCALE),
        lon=own(segments.lon[node] * COORDINATE_SCALE),
        streets=streets.take(by_tail),
        scale=None,  # whole numbers in floats
    )
    if order == "z":
        assert graph.lat is not None and graph.lon is not None
        graph, _ = graph.renumbered(z_order(graph.lat, graph.lon))

    report.nodes, report.arcs = graph.num_nodes, graph.num_arcs
    report.polylines, report.points = len(segments.way), len(segments.points)
    report.kilometres = float(segments.length.sum()) / 1000
    report.unsnapped = int((~roads.snappable[segments.way]).sum())
    return graph
