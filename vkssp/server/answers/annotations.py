"""Annotations: figures of the pieces of a leg, from each of its OSM nodes to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.geo import haversine
from vkssp.graph.metric import duration
from vkssp.route import Leg

Floats = npt.NDArray[np.float64]
_Pieces = tuple[npt.NDArray[np.int64] | None, Floats, Floats, Floats]


def annotation(graph: Graph, leg: Leg, wanted: Sequence[str]) -> dict[str, Any]:
    """Return annotations of a leg.

    Parameters
    ----------
    graph : Graph
        The graph, with the weights that the leg was found with.
    leg : Leg
        The leg.
    wanted : sequence of str
        "duration", "distance", "weight", "speed", "nodes" or "datasources". Nodes are left out if the graph has no OSM
        ids of points.

    Raises
    ------
    QueryError
        If the graph has no streets.
    """
    streets = graph.streets
    if streets is None:
        raise QueryError("the graph has no streets, so there are no annotations")
    nodes, metres, seconds, weights = _pieces(graph, leg)
    made: dict[str, Any] = {}
    durations = np.floor(10.0 * seconds + 0.5) / 10.0
    if "duration" in wanted:
        made["duration"] = durations
    if "weight" in wanted:
        made["weight"] = np.floor(10.0 * weights + 0.5) / 10.0
    if "distance" in wanted:
        made["distance"] = metres
    if "speed" in wanted:
        speeds = np.divide(metres, durations, out=np.zeros_like(metres), where=durations > 0)
        made["speed"] = np.floor(10.0 * speeds + 0.5) / 10.0
    if "nodes" in wanted and nodes is not None:
        made["nodes"] = nodes
    if "datasources" in wanted:
        made["datasources"] = np.zeros(len(metres), np.int64)
        made["metadata"] = {"datasource_names": ["lua profile"]}
    return made


def _pieces(graph: Graph, leg: Leg) -> _Pieces:
    """Return the OSM nodes that pieces join, one more than pieces, and metres, seconds and weights of the pieces."""
    streets = graph.streets
    assert streets is not None
    arcs = leg.arcs
    if len(arcs) == 0:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0)
    points = streets.points_along(arcs)
    nodes = None if streets.point_node is None else streets.nodes_along(arcs)
    bounds, line = streets.polyline_first.astype(np.int64), streets.polyline[arcs].astype(np.int64)
    counts = bounds[line + 1] - bounds[line] - 1  # pieces of each arc
    arc_of = np.repeat(np.arange(len(arcs)), counts)
    metres = haversine(*points[:-1].T, *points[1:].T)
    whole = np.bincount(arc_of, metres, len(arcs))
    turns = 0 if streets.turn is None else streets.turn[arcs]
    weights = graph.weight[arcs].astype(np.float64) - turns
    weights *= duration(graph, 1) or graph.scale or 1.0
    seconds = weights
    if streets.seconds is not None:
        of_turns = 0.0 if streets.turn_seconds is None else streets.turn_seconds[arcs]
        seconds = streets.seconds[arcs].astype(np.float64) - of_turns
    # The pieces on which the leg begins and ends, and what of them is travelled.
    first = _piece_at(points[: counts[0] + 1], leg.origin.snapped_lat, leg.origin.snapped_lon)
    begin = len(metres) - counts[-1] if len(arcs) > 1 else first
    ending = points[begin:]
    last = begin + _piece_at(ending, leg.destination.snapped_lat, leg.destination.snapped_lon)
    start = leg.origin.snapped_lat, leg.origin.snapped_lon
    end = leg.destination.snapped_lat, leg.destination.snapped_lon
    travelled = metres.copy()
    travelled[first] = _metres(start, end if first == last else points[first + 1])
    travelled[last] = _metres(start if first == last else points[last], end)
    # Of the length of its arc, which may be measured on an ellipsoid.
    share = np.divide(travelled, whole[arc_of], out=np.zeros_like(travelled), where=whole[arc_of] > 0)
    travelled = share * streets.length[arcs].astype(np.float64)[arc_of]
    kept = slice(first, last + 1)
    seconds, weights = ((share * values[arc_of])[kept] for values in (seconds, weights))
    return None if nodes is None else nodes[first : last + 2], travelled[kept], seconds, weights


def _piece_at(points: Floats, lat: float, lon: float) -> int:
    """Return the number of the piece of a line that a point lies on."""
    beside = haversine(points[:, 0], points[:, 1], lat, lon)
    detour = beside[:-1] + beside[1:] - haversine(*points[:-1].T, *points[1:].T)
    return int(np.argmin(detour))


def _metres(start: Any, end: Any) -> float:
    return float(haversine(start[0], start[1], end[0], end[1]))
