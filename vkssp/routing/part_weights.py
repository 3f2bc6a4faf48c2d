"""Weights of parts of arcs, whose ends are snapped points.

A part of an arc weighs its share of the arc by length, unless the graph knows the weights of the pieces that the arc
consists of (`Streets.piece_weight`). Then each point has a whole weight before it: that of the pieces up to it, and
that of the part of its own piece, cut to whole units on one side (`Streets.counted_from_end`). A part weighs the
difference of the weights before its two ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.streets import Streets
from vkssp.routing.lines import Snap
from vkssp.routing.snaps import Snaps

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def turn_weight(graph: Graph, arc: int) -> int:
    """Return the weight of the turn into an arc, which may be less than 0."""
    turn = None if graph.streets is None else graph.streets.turn_weight
    return 0 if turn is None else int(turn[arc])


def turn_weights(graph: Graph, arcs: Indices) -> Indices:
    """Return the weights of the turns into arcs, which may be less than 0, int64."""
    turn = None if graph.streets is None else graph.streets.turn_weight
    return np.zeros(len(arcs), np.int64) if turn is None else turn[arcs].astype(np.int64)


def part_weight(graph: Graph, arc: int, part: float, start: Snap | None = None, end: Snap | None = None) -> int:
    """Return the weight of a part of an arc, without the turn into the arc.

    Parameters
    ----------
    graph : Graph
        The graph.
    arc : int
        The arc.
    part : float
        The part by length.
    start, end : Snap, optional
        The points between which the part lies; by default, and if they are on other polylines, the ends of the arc.
    """
    whole, streets = int(graph.weight[arc]) - turn_weight(graph, arc), graph.streets
    passed = None if streets is None else streets.passed_weight
    if streets is None or passed is None:
        return round(part * whole)
    assert streets.piece_weight is not None
    line, side = int(streets.polyline[arc]), int(streets.backward[arc])
    first, last = int(streets.polyline_first[line]), int(streets.polyline_first[line + 1]) - 1
    if int(passed[first if side else last, side]) != whole:  # other weights have been set since
        return round(part * whole)
    weights = [0, whole]
    for which, snap in enumerate((start, end)):
        if snap is not None and snap.polyline == line:
            at = first + snap.segment
            own = int(streets.piece_weight[at, side])
            weights[which] = int(passed[at + side, side]) + units_before(streets, line, side, own, snap.share)
    return weights[1] - weights[0]


def entered_weight(graph: Graph, arc: int, part: float, end: Snap | None = None) -> int:
    """Return the weight of the first part of an arc with the turn into it, 0 if the turn takes more off than it."""
    return max(turn_weight(graph, arc) + part_weight(graph, arc, part, end=end), 0)


def units_before(streets: Streets, line: int, side: int, own: int, share: float) -> int:
    """Return the whole units before a point on a piece, in the direction of travel.

    Parameters
    ----------
    streets : Streets
        The streets.
    line : int
        The polyline.
    side : int
        0 along the polyline, 1 against it.
    own : int
        Units of the piece.
    share : float
        The part of the piece before the point, along the polyline.
    """
    from_end = bool(streets.counted_from_end[line])
    units = math.floor(own * (1.0 - share if from_end else share))
    return units if from_end == bool(side) else own - units


class Points(NamedTuple):
    """Points on polylines as arrays: the polyline, -1 for none, the piece, and the part of it before the point."""

    polyline: Indices
    segment: Indices
    share: Floats

    @classmethod
    def of(cls, snaps: Sequence[Snap | None]) -> Points:
        """Return some points; None is no point."""
        if isinstance(snaps, Snaps):
            return cls(snaps.polyline, snaps.segment, snaps.share)
        return cls(
            np.array([-1 if snap is None else snap.polyline for snap in snaps], np.int64),
            np.array([0 if snap is None else snap.segment for snap in snaps], np.int64),
            np.array([0.0 if snap is None else snap.share for snap in snaps]),
        )

    def take(self, rows: Indices, counts: npt.NDArray[np.bool_] | None = None) -> Points:
        """Return the points at some positions; those that do not count are no points."""
        polyline = self.polyline[rows]
        if counts is not None:
            polyline = np.where(counts, polyline, -1)
        return Points(polyline, self.segment[rows], self.share[rows])


def part_weights(
    graph: Graph, arcs: Indices, parts: Floats, start: Points | None = None, end: Points | None = None
) -> Indices:
    """Return the weights of parts of arcs, one for each arc, as `part_weight` does for one; int64."""
    streets, whole = graph.streets, graph.weight[arcs].astype(np.int64) - turn_weights(graph, arcs)
    found: Indices = np.rint(parts * whole).astype(np.int64)
    passed = None if streets is None else streets.passed_weight
    if streets is None or passed is None or not len(arcs):
        return found
    assert streets.piece_weight is not None
    line, side = streets.polyline[arcs].astype(np.int64), streets.backward[arcs].astype(np.int64)
    first = streets.polyline_first[line].astype(np.int64)
    known = passed[np.where(side, first, streets.polyline_first[line + 1].astype(np.int64) - 1), side] == whole
    weights = [np.zeros(len(arcs), np.int64), whole]
    for which, points in enumerate((start, end)):
        if points is not None:
            here = points.polyline == line
            at = first + np.where(here, points.segment, 0)
            own = streets.piece_weight[at, side].astype(np.int64)
            from_end = streets.counted_from_end[line]
            units = np.floor(own * np.where(from_end, 1.0 - points.share, points.share)).astype(np.int64)
            before = passed[at + side, side] + np.where(from_end == (side > 0), units, own - units)
            weights[which] = np.where(here, before, weights[which])
    return np.where(known, weights[1] - weights[0], found)


def entered_weights(graph: Graph, arcs: Indices, parts: Floats, end: Points | None = None) -> Indices:
    """Return the weights of the first parts of arcs, one for each arc, as `entered_weight` does for one; int64."""
    return np.asarray(np.maximum(turn_weights(graph, arcs) + part_weights(graph, arcs, parts, end=end), 0), np.int64)
