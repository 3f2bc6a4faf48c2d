"""Reach along streets: the parts of streets that trips from a place reach, or from which trips to a place come.

Trips from a place reach a street at its ends, and go along it as far as a limit allows. Trips to a place leave a street
at its ends: the part before an end counts, as far back as the limit allows. So a one-way street is covered from the end
at which it begins in the first case, and from the end at which it leads out in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.jit import kernels
from vkssp.routing.lines import Bools, Snap
from vkssp.routing.part_weights import part_weight
from vkssp.routing.phantoms import first_arcs, passed_arcs, position
from vkssp.routing.snap import StreetIndex

#: Weight that stands for no path; greater than any other weight.
NEVER = 1 << 62
Floats = npt.NDArray[np.float64]


class Begun(NamedTuple):
    """Part of a street beside a place on it: trips from the place begin there, or trips to the place end there.

    `low` and `high` are its bounds as parts of the polyline, `rises` says whether the place is at the lower bound, and
    `weight` is the weight of the whole part.
    """

    polyline: int
    low: float
    high: float
    rises: bool
    weight: int


def begun_streets(index: StreetIndex, snap: Snap, *, reverse: bool = False) -> list[Begun]:
    """Return the parts of streets on which paths from a point begin or, if `reverse`, paths to it end.

    A part extends to the first area to avoid.
    """
    begun = set()
    for arc, at in _last_arcs(index, snap) if reverse else first_arcs(index, snap):
        part = at if reverse else 1.0 - at
        # The whole arc if the point is a junction, at which the polyline need not be that of the point.
        start, end = (None, snap if at < 1.0 else None) if reverse else (snap if at > 0.0 else None, None)
        if not index.is_open(arc, start, end):
            assert index.avoided is not None
            excluded = index.avoided.is_excluded(int(index.polyline_of[arc]))
            part *= 0.0 if excluded else index.avoided.free_part(index.piece(arc, start, end)[:: -1 if reverse else 1])
        low, high = (at - part, at) if reverse else (at, at + part)
        is_backward = bool(index.backward[arc])
        span = (1.0 - high, 1.0 - low) if is_backward else (low, high)
        weight = part_weight(index.graph, arc, part)
        begun.add(Begun(int(index.polyline_of[arc]), *span, is_backward == reverse, weight))
    return sorted(begun)


def _last_arcs(index: StreetIndex, snap: Snap) -> list[tuple[int, float]]:
    """Return the arcs along which a trip may end at a point, each with the part of the arc before the point."""
    if snap.arcs is not None:
        return passed_arcs(index, snap)
    if index.knows_turns and snap.is_end:
        return []  # the nodes of the junction are reached themselves
    return [(arc, position(index, arc, snap)) for arc in index.arcs(snap.polyline).tolist()]


class Approach(NamedTuple):
    """Ends of arcs from which their streets are covered, shape (num_arcs,) each.

    Attributes
    ----------
    node : numpy.ndarray
        The tail of each arc or, for trips to a place, its head, uint32.
    weight : numpy.ndarray
        Weight of the path between the place and the arc, with the turn into it, which covers no length, int64. `NEVER`
        if there is no path, and for ferries, since a trip neither begins nor ends in the middle of the sea.
    along : numpy.ndarray
        Weight of travelling the whole arc, without the turn into it but less what this takes off, uint32.
    falls : numpy.ndarray
        Whether the arc is covered from the end of its polyline, bool.
    """

    node: Uint32s
    weight: npt.NDArray[np.int64]
    along: Uint32s
    falls: Bools


def approach(index: StreetIndex, distances: Uint32s, *, reverse: bool = False) -> Approach:
    """Return the ends of arcs from which their streets are covered.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    distances : numpy.ndarray
        Distance of each node from a place or, if `reverse`, to it; UNREACHABLE if there is no path, shape (num_nodes,),
        uint32.
    reverse : bool
        Whether trips to the place count, not those from it.
    """
    graph = index.graph
    node = graph.head if reverse else graph.tail
    weight = distances[node].astype(np.int64)
    weight[weight == UNREACHABLE] = NEVER
    if reverse and index.later_arcs:
        weight[~index.begin_nodes[node]] = NEVER
    falls = ~index.backward if reverse else index.backward
    if graph.streets is None:
        return Approach(node, weight, graph.weight, falls)
    along = graph.streets.without_turns(graph.weight)
    if not reverse and graph.streets.turn is not None:  # a trip that begins on an arc does not turn into it
        weight += graph.streets.turn
        if graph.streets.turn_bonus is not None:  # what turns take off the arc is shared by length
            along = graph.weight - graph.streets.turn
    weight[graph.streets.carried] = NEVER
    return Approach(node, weight, along, falls)


def open_parts(index: StreetIndex, *, reverse: bool = False) -> Floats:
    """Return the part of each arc before the first area to avoid or, in reverse, after the last, shape (num_arcs,)."""
    assert index.avoided is not None
    part = np.ones(index.graph.num_arcs)
    touched = np.flatnonzero(index.avoided.touched[index.polyline_of])
    # Several arcs may run along a street in the same direction.
    sides = index.polyline_of[touched].astype(np.int64) * 2 + index.backward[touched]
    _, one, which = np.unique(sides, return_index=True, return_inverse=True)
    turn = -1 if reverse else 1
    free = [
        0.0
        if index.avoided.is_excluded(int(index.polyline_of[arc]))
        else index.avoided.free_part(index.piece(arc)[::turn])
        for arc in touched[one].tolist()
    ]
    part[touched] = np.array(free, np.float64)[which]
    return part


class Spans(NamedTuple):
    """Parts of polylines, from `low` to `high`, by ascending levels; those of a level do not overlap."""

    polyline: npt.NDArray[np.int64]
    level: npt.NDArray[np.int64]
    low: Floats
    high: Floats


def reached_spans(
    index: StreetIndex, distances: Uint32s, begun: Sequence[Begun], limits: Sequence[int], *, reverse: bool = False
) -> tuple[Spans, list[float]]:
    """Return the parts of streets that lie within limits, and the metres of road within each limit.

    The levels of the parts are the numbers of the limits. What is reached within one limit is also reached within those
    above, so streets that are reached as a whole have no parts on higher levels.

    Parameters
    ----------
    index, distances, reverse
        As for `approach`.
    begun : sequence of Begun
        Parts of streets beside the place.
    limits : sequence of int
        The largest weights of a path, in ascending order.
    """
    reached, rise, fall = _reached(index, distances, limits, reverse)
    on = sorted({one.polyline for one in begun})
    is_apart = np.zeros(index.num_polylines, np.bool_)
    is_apart[on] = True
    shares = np.zeros((2, len(on), len(limits)))
    for number, polyline in enumerate(on):
        for at in np.flatnonzero(reached == polyline).tolist():
            shares[:, number] = rise[at], fall[at]
    apart, first = list[tuple[int, float, float]](), [0]
    for level, limit in enumerate(limits):
        for polyline, (up, down) in zip(on, shares[:, :, level].T.tolist(), strict=True):
            pieces = [(0.0, up), (1.0 - down, 1.0)]
            for one in begun:
                if one.polyline == polyline:
                    part = (one.high - one.low) * min(1.0, limit / one.weight if one.weight else 1.0)
                    pieces.append((one.low, one.low + part) if one.rises else (one.high - part, one.high))
            apart += [(polyline, low, high) for low, high in _merged(pieces)]
        first.append(len(apart))
    lines = np.array([line for line, _, _ in apart], np.int64)
    low, high = np.array([bounds for _, *bounds in apart], np.float64).reshape(-1, 2).T.copy()
    bounds = low, high, np.array(first)
    *found, covered = kernels("vkssp.routing.kernels.reach").spans_of(reached, rise, fall, is_apart, lines, *bounds)
    covered *= index.plane.length
    return Spans(*found), covered.sum(axis=1).tolist()


def _merged(pieces: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the union of some intervals as intervals that do not touch."""
    merged: list[tuple[float, float]] = []
    for low, high in sorted(pieces):
        if high <= low:
            continue
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _reached(
    index: StreetIndex, distances: Uint32s, limits: Sequence[int], reverse: bool
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Return the polylines that are reached, and the parts of each that are covered from its start and from its end.

    The parts have a column for each limit.
    """
    graph = index.graph
    streets, none = graph.streets, np.zeros(0, np.bool_)
    if reverse and index.later_arcs:  # trips to the place begin on the streets
        distances = np.where(index.begin_nodes, distances, np.uint32(UNREACHABLE))
    turn = None if streets is None else streets.turn_weight
    found: tuple[npt.NDArray[np.int64], Floats, Floats] = kernels("vkssp.routing.kernels.reach").reached(
        *(graph.first_out, graph.head, distances, graph.weight, np.zeros(0, np.uint32) if turn is None else turn),
        *(none if streets is None else streets.carried, index.backward, index.polyline_of, index.num_polylines),
        np.zeros(0) if index.avoided is None else open_parts(index, reverse=reverse),
        np.array([min(limit, NEVER) for limit in limits]),
        reverse,
    )
    return found
