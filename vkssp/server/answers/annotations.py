"""Annotations: figures of the pieces of a leg, from each of its OSM nodes to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.csr import within
from vkssp.graph.metric import duration
from vkssp.graph.streets import COORDINATE_SCALE, SECONDS_OF_PIECES, Streets
from vkssp.route import Leg
from vkssp.routing.part_weights import units_before
from vkssp.server.answers.numbers import digits

Floats = npt.NDArray[np.float64]
_Pieces = tuple[npt.NDArray[np.int64] | None, Floats, Floats, Floats, npt.NDArray[np.int64]]


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
    nodes, metres, seconds, weights, sources = _pieces(graph, leg)
    made: dict[str, Any] = {}
    durations = np.floor(10.0 * seconds + 0.5) / 10.0
    if "duration" in wanted:
        made["duration"] = durations
    if "weight" in wanted:
        made["weight"] = np.floor(10.0 * weights + 0.5) / 10.0
    if "distance" in wanted:
        made["distance"] = [digits(one) for one in metres.tolist()]
    if "speed" in wanted:
        speeds = np.divide(metres, durations, out=np.zeros_like(metres), where=durations > 0)
        made["speed"] = np.floor(10.0 * speeds + 0.5) / 10.0
    if "nodes" in wanted and nodes is not None:
        made["nodes"] = nodes
    if "datasources" in wanted:
        made["datasources"] = sources
        made["metadata"] = {"datasource_names": ["lua profile", *streets.source_names[1:]]}
    return made


def cut_pieces(streets: Streets, leg: Leg) -> tuple[tuple[int, float] | None, tuple[int, float] | None]:
    """Return the pieces within which a leg begins and ends, and what is before these points in the direction of travel.

    Pieces are counted from the start of the polyline. None if the leg begins, or ends, at the end of its arc.
    """
    found: list[tuple[int, float] | None] = [None, None]
    for row, place in ((0, leg.origin), (-1, leg.destination)) if len(leg.arcs) else ():
        arc, position = leg.arcs[row], place.position
        if position is not None and position[0] == streets.polyline[arc] and leg.parts[row] < 1.0:
            _, piece, share = position
            found[row] = piece, 1.0 - share if streets.backward[arc] else share
    return found[0], found[-1]


def _pieces(graph: Graph, leg: Leg) -> _Pieces:
    """Return the OSM nodes that pieces join, one more, and metres, seconds, weights and sources of the pieces."""
    streets, arcs = graph.streets, leg.arcs
    assert streets is not None
    if len(arcs) == 0:
        nothing = np.zeros(0, np.int64)
        return nothing, np.zeros(0), np.zeros(0), np.zeros(0), nothing
    line, side = streets.polyline[arcs].astype(np.int64), streets.backward[arcs].astype(np.int64)
    low = streets.polyline_first[line].astype(np.int64)
    counts = streets.polyline_first[line + 1] - low - 1  # pieces of each arc
    arc_of = np.repeat(np.arange(len(arcs)), counts)
    # The point with the smaller number of each piece.
    at = (low + np.where(side, counts - 1, 0))[arc_of] + np.where(side, -1, 1)[arc_of] * within(counts)
    begins, ends = at + side[arc_of], at + 1 - side[arc_of]
    measure = streets.measure
    here, there = streets.points[begins] * COORDINATE_SCALE, streets.points[ends] * COORDINATE_SCALE
    metres = measure(*here.T, *there.T)
    whole = np.bincount(arc_of, metres, len(arcs))[arc_of]
    share = np.divide(metres, whole, out=np.zeros_like(metres), where=whole > 0)
    turns = 0 if streets.turn_weight is None else streets.turn_weight[arcs]
    # Units of pieces, or None, those of whole arcs, and the unit.
    amounts: list[tuple[Any, Floats, float]] = [
        (streets.piece_weight, graph.weight[arcs].astype(np.float64) - turns, duration(graph, 1) or graph.scale or 1.0)
    ]
    if streets.seconds is not None:
        of_turns = 0.0 if streets.turn_seconds is None else streets.turn_seconds[arcs]
        in_tenths = None if streets.piece_seconds is None else streets.piece_seconds / SECONDS_OF_PIECES
        amounts.append(
            (in_tenths, (streets.seconds[arcs].astype(np.float64) - of_turns) / SECONDS_OF_PIECES, SECONDS_OF_PIECES)
        )
    # The pieces on which the leg begins and ends, and what of them is before its start, and up to its end.
    first, last, before, up_to = 0, len(at) - 1, 0.0, 1.0
    origin, destination = leg.origin.position, leg.destination.position
    begins_within, ends_within = cut_pieces(streets, leg)
    if begins_within is not None:
        piece, before = begins_within
        first = int(counts[0]) - 1 - piece if side[0] else piece
    if ends_within is not None:
        piece, up_to = ends_within
        last = len(at) - 1 - piece if side[-1] else len(at) - int(counts[-1]) + piece
    values = []
    for pieces, of_arcs, unit in amounts:
        own, fits = share * of_arcs[arc_of], np.zeros(len(arcs), np.bool_)
        if pieces is not None:
            known = np.rint(pieces[at, side[arc_of]].astype(np.float64))
            fits = np.abs(np.bincount(arc_of, known, len(arcs)) - of_arcs) < 0.5
            own = np.where(fits[arc_of], known, own)
        cut = []
        for piece, part, position in ((first, before, origin), (last, up_to, destination)):
            arc = arc_of[piece]
            if position is not None and 0.0 < part < 1.0 and fits[arc]:
                cut.append(units_before(streets, int(line[arc]), int(side[arc]), int(own[piece]), position[2]))
            else:
                cut.append(part * own[piece])
        own[last] = cut[1]
        own[first] -= cut[0]
        values.append(own[first : last + 1] * unit)
    if before > 0.0 or up_to < 1.0:
        start, end = here[first], there[last]
        if before > 0.0:
            start = np.array([leg.origin.snapped_lat, leg.origin.snapped_lon])
        if up_to < 1.0:
            end = np.array([leg.destination.snapped_lat, leg.destination.snapped_lon])
        metres[first] = _metres(measure, start, end if first == last else there[first])
        metres[last] = _metres(measure, start if first == last else here[last], end)
    ids = streets.point_node
    nodes = None if ids is None else np.append(ids[begins[first : last + 1]], ids[ends[last]])
    sources = (
        np.zeros(len(at), np.int64) if streets.source is None else streets.source[at, side[arc_of]].astype(np.int64)
    )
    kept = slice(first, last + 1)
    return nodes, metres[kept], values[-1], values[0], sources[kept]


def _metres(measure: Callable[..., Any], start: Floats, end: Floats) -> float:
    return float(measure(*start[:, None], *end[:, None])[0])
