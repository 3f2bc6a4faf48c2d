"""Geometry of a leg, arc by arc: the part of each arc that is travelled, its weight and its points."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.jit import kernels
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.part_weights import entered_weight, part_weight, turn_weights
from vkssp.routing.snap import StreetIndex

Floats = npt.NDArray[np.float64]


class LegGeometry:
    """Arcs of a leg in order. Arrays have one entry for each arc unless said otherwise.

    Parameters
    ----------
    index : StreetIndex
        The streets in which the path was found.
    graph : Graph, optional
        The same graph with the weights as given, in case the search minimized other weights; None if the weights are
        not wanted.
    leg_path : LegPath
        The path.
    start, end : Snap
        The two points that it joins.

    Attributes
    ----------
    arcs : numpy.ndarray
        Ids of the arcs, int64.
    parts : numpy.ndarray
        Part of each arc that is travelled, by length, float64.
    metres : numpy.ndarray
        Metres travelled on each arc, float64.
    weights : numpy.ndarray
        Weight of each arc's part, with the turn into the arc, in weights of the graph as it was given, int64; empty if
        they are not wanted.
    weighed : numpy.ndarray
        The same in the weights that the search minimized, if the graph knows its durations beside its weights; equal to
        `weights` otherwise.
    turns, turns_weighed : numpy.ndarray
        The shares of the turns in `weights` and `weighed`, int64; empty if weights are not wanted.
    nodes : numpy.ndarray
        The nodes passed, any number of them, uint32.
    across : numpy.ndarray or None
        Latitude and longitude of the points of a leg that stays inside an open area, shape (p, 2); None for others.
    outside_m, outside_s : tuple of (float, float)
        Metres and seconds through open areas before the first arc, and after the last one.
    """

    def __init__(self, index: StreetIndex, graph: Graph | None, leg_path: LegPath, start: Snap, end: Snap) -> None:
        first, inner, last = leg_path.first, leg_path.inner, leg_path.last
        begun, ended = first.arc >= 0, last.arc >= 0 and not leg_path.direct
        count = begun + len(inner) + ended
        self.arcs, self.parts = np.empty(count, np.int64), np.empty(count)
        self.parts.fill(1.0)
        self.arcs[begun : count - ended] = inner
        if begun:
            self.arcs[0], self.parts[0] = first.arc, (last.at if leg_path.direct else 1.0) - first.at
        if ended:
            self.arcs[-1], self.parts[-1] = last.arc, last.at
        along = index.along[self.arcs]
        # Parts off the streets, through open areas: points, metres and seconds.
        self.across = None
        if leg_path.direct and not begun and start.inside is not None and end.inside is not None:
            self.across, *_ = index.open_areas.path(start, end)
        self.outside_m = first.metres, last.metres
        self.outside_s = first.seconds, last.seconds
        has_nodes = not (leg_path.direct and begun)
        self.nodes = np.empty(has_nodes + len(inner), np.uint32)
        if has_nodes:
            self.nodes[0], self.nodes[1:] = first.node, along[begun : count - ended, 2]
        lengths = index.lengths[self.arcs] if index.graph.streets is None else along[:, 3].view(np.float32)
        self.metres: Floats = self.parts * lengths.astype(np.float64, copy=False)
        streets = index.graph.streets
        # An arc that is travelled whole is not cut: on a loop, the snapped point may be at either end.
        self._cut = begun and first.at > 0.0, last.arc >= 0 and last.at < 1.0
        cuts = start if self._cut[0] else None, end if self._cut[1] else None
        self._is_rounded = streets is not None and streets.piece_weight is not None
        if self._is_rounded:
            for place in {0, count - 1} if count else ():
                ends = cuts[0] if place == 0 else None, cuts[1] if place == count - 1 else None
                if ends != (None, None):  # points are rounded, and so are not where shares of lengths end
                    self.metres[place] = index.metres_along(int(self.arcs[place]), *ends)
        self.weights = np.zeros(0, np.int64) if graph is None else _weights(graph, self.arcs, self.parts, begun, cuts)
        apart = graph is not None and graph is not index.graph and streets is not None and streets.seconds is not None
        self.weighed = _weights(index.graph, self.arcs, self.parts, begun, cuts) if apart else self.weights
        self.turns = np.zeros(0, np.int64) if graph is None else turn_weights(graph, self.arcs)
        self.turns_weighed = turn_weights(index.graph, self.arcs) if apart else self.turns
        self._start, self._end, self._along, self._all_points = start, end, along, index.points
        self._lines, self._arcs_of_lines = index.polylines, index.arcs_by_polyline

    @property
    def headings(self) -> tuple[float | None, float | None]:
        """Directions of the pieces on which the leg begins and ends, in degrees clockwise from north.

        None if nothing of them is travelled, or if points are not rounded, so that those of the leg tell the direction.
        """
        if not self._is_rounded or not len(self.arcs) or self.across is not None:
            return None, None
        return self._heading(0, self._start if self._cut[0] else None), self._heading(
            -1, self._end if self._cut[1] else None
        )

    def _heading(self, row: int, snap: Snap | None) -> float | None:
        arc = self.arcs[row]
        line, backward = int(self._lines.polyline_of[arc]), bool(self._lines.backward[arc])
        first, last = int(self._lines.first[line]), int(self._lines.first[line + 1]) - 1
        piece = first if (row == 0) != backward else last - 1
        if snap is not None:
            begins = row == 0
            if self.parts[row] == 0.0 or snap.share == float(begins != backward):
                return None
            piece = first + snap.segment
        return self._bearing(piece, backward)

    def _bearing(self, piece: int, backward: bool) -> float:
        ends = self._all_points[piece : piece + 2][:: -1 if backward else 1]
        return float(kernels("vkssp.guidance.kernels.shape").bearing_between(*ends.ravel().tolist()))

    @property
    def arc_at_end(self) -> int:
        """An arc along the street at the end of the leg."""
        first, arcs = self._arcs_of_lines
        return self._end.arcs[0] if self._end.arcs else int(arcs[first[self._end.polyline]])

    @property
    def heading(self) -> float:
        """The direction of this arc at the end of the leg, in degrees clockwise from north."""
        end, lines, arc = self._end, self._lines, self.arc_at_end
        line = int(lines.polyline_of[arc])
        piece = int(lines.first[line])
        if line == end.polyline:
            piece += end.segment
        elif self._all_points[piece].tolist() != [end.lat, end.lon]:  # another street that ends at the same junction
            piece = int(lines.first[line + 1]) - 2
        return self._bearing(piece, bool(lines.backward[arc]))

    @cached_property
    def shape(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Points, and the index of the point at which each arc begins and of the last arc's end.

        Latitude and longitude in degrees, shape (p, 2), of which successive ones differ, and shape (len(arcs) + 1,),
        int64.
        """
        if self.across is not None:
            return self.across, np.zeros(1, np.int64)
        start, end, along = self._start, self._end, self._along
        begin, last = along[:, 0].astype(np.int64), along[:, 1].astype(np.int64)
        counts = np.abs(last - begin)
        skip = drop = 0
        if self._cut[0]:
            skip = int(counts[0]) - start.segment if begin[0] > last[0] else start.segment + 1
        if self._cut[1]:
            drop = end.segment + 1 if begin[-1] > last[-1] else int(counts[-1]) - end.segment
        points, first = np.empty((2 + int(counts.sum()) + len(along), 2)), np.empty(len(along) + 1, np.int64)
        points[0] = start.lat, start.lon
        put_points = kernels("vkssp.routing.kernels.leg").put_points
        size = put_points(along, skip, drop, self._all_points, points, first)
        points[size] = end.lat, end.lon
        size += points[size].tolist() != points[size - 1].tolist()
        first[-1] = size - 1
        return points[:size], first  # what is left over is too little for a copy


def _weights(
    graph: Graph, arcs: npt.NDArray[np.int64], parts: Floats, begun: bool, cuts: tuple[Snap | None, Snap | None]
) -> npt.NDArray[np.int64]:
    """Return the weights of parts of arcs. If `begun`, the path begins on the first arc, whose turn does not count.

    `cuts` are the points at which the first arc begins and the last one ends, None at their ends.
    """
    weights: npt.NDArray[np.int64] = graph.weight[arcs].astype(np.int64)
    for place in {0, len(arcs) - 1} if len(arcs) else ():  # the others are travelled whole
        arc, part = int(arcs[place]), float(parts[place])
        start, end = cuts[0] if place == 0 else None, cuts[1] if place == len(arcs) - 1 else None
        is_begun = begun and place == 0
        weights[place] = (
            part_weight(graph, arc, part, start, end) if is_begun else entered_weight(graph, arc, part, end)
        )
    return weights
