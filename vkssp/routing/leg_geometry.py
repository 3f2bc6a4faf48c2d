"""Geometry of a leg, arc by arc: the part of each arc that is travelled, its weight and its points."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph import Graph
from vkssp.jit import kernels
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.snap import StreetIndex

Floats = npt.NDArray[np.float64]
_NO_TURNS: npt.NDArray[np.uint32] = own(np.empty(0, np.uint32))


class LegGeometry:
    """Arcs of a leg in order. Arrays have one entry for each arc unless said otherwise.

    Parameters
    ----------
    index : StreetIndex
        The streets in which the path was found.
    graph : Graph
        The same graph with the weights as given, in case the search minimized other weights.
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
        Weight of each arc's part, with the turn into the arc, in weights of the graph as it was given, int64.
    nodes : numpy.ndarray
        The nodes passed, any number of them, uint32.
    ahead : int
        Number of arcs before the first of these nodes, 0 or 1.
    """

    def __init__(self, index: StreetIndex, graph: Graph, leg_path: LegPath, start: Snap, end: Snap) -> None:
        first, last = leg_path.first, leg_path.last
        self.ahead = int(first.arc >= 0)
        if leg_path.direct:
            self.arcs = np.array([first.arc] if first.arc >= 0 else [], np.int64)
            self.parts = np.full(len(self.arcs), last.at - first.at)
            self.nodes = np.array([] if first.arc >= 0 else [first.node], np.uint32)
        else:
            before, after = ([end.arc] if end.arc >= 0 else [] for end in (first, last))
            self.arcs = np.concatenate([np.array(before, np.int64), leg_path.inner, np.array(after, np.int64)])
            self.parts = np.ones(len(self.arcs))
            if before:
                self.parts[0] = 1.0 - first.at
            if after:
                self.parts[-1] = last.at
            self.nodes = np.concatenate([np.array([first.node], np.uint32), index.graph.head[leg_path.inner]])
        self.metres: Floats = np.empty(len(self.arcs))
        self.weights: npt.NDArray[np.int64] = np.empty(len(self.arcs), np.int64)
        streets, polylines = graph.streets, index.polylines
        turn = _NO_TURNS if streets is None or streets.turn is None else streets.turn
        self._size: int = kernels("vkssp.routing.kernels.leg").measure(
            *(self.arcs, self.parts, index.lengths, graph.weight, turn, first.arc >= 0),
            *(polylines.polyline_of, polylines.first, self.metres, self.weights),
        )
        # An arc that is travelled whole is not cut: on a loop, the snapped point may be at either end.
        self._cut = first.arc >= 0 and first.at > 0.0, last.arc >= 0 and last.at < 1.0
        self._start, self._end, self._polylines = start, end, index.polylines

    @cached_property
    def _shape(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        start, end, arcs = self._start, self._end, self.arcs
        first, _, polyline_of, backward = self._polylines
        skip = drop = 0
        if self._cut[0]:
            line = int(polyline_of[arcs[0]])
            skip = int(first[line + 1] - first[line]) - 1 - start.segment if backward[arcs[0]] else start.segment + 1
        if self._cut[1]:
            line = int(polyline_of[arcs[-1]])
            drop = end.segment + 1 if backward[arcs[-1]] else int(first[line + 1] - first[line]) - 1 - end.segment
        points, begin = np.empty((2 + self._size, 2)), np.empty(len(arcs) + 1, np.int64)
        points[0] = start.lat, start.lon
        put_points = kernels("vkssp.routing.kernels.leg").put_points
        size = put_points(arcs, skip, drop, *self._polylines, points, begin)
        points[size] = end.lat, end.lon
        size += bool((points[size] != points[size - 1]).any())
        begin[-1] = size - 1
        return points[:size], begin  # what is left over is too little for a copy

    @property
    def points(self) -> Floats:
        """The points passed, latitude and longitude in degrees, shape (p, 2). Successive points differ."""
        return self._shape[0]

    @property
    def first(self) -> npt.NDArray[np.int64]:
        """Index of the point at which each arc begins, and of the last arc's end, shape (len(arcs) + 1,), int64."""
        return self._shape[1]
