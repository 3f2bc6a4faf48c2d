"""Geometry of a leg, arc by arc: the part of each arc that is travelled, its weight and its points."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.jit import kernels
from vkssp.routing.legs import LegPath
from vkssp.routing.lines import Snap
from vkssp.routing.snap import StreetIndex

Floats = npt.NDArray[np.float64]


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
        self.metres: Floats = self.parts * index.lengths[self.arcs].astype(np.float64, copy=False)
        self.weights = _weights(graph, self.arcs, self.parts, first.arc >= 0)
        # An arc that is travelled whole is not cut: on a loop, the snapped point may be at either end.
        self._cut = first.arc >= 0 and first.at > 0.0, last.arc >= 0 and last.at < 1.0
        self._start, self._end, self._polylines = start, end, index.polylines

    @cached_property
    def _shape(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        start, end, arcs = self._start, self._end, self.arcs
        spans = self._polylines.spans[arcs].astype(np.int64)
        counts = np.abs(spans[:, 1] - spans[:, 0]) + 1
        skip = drop = 0
        if self._cut[0]:
            skip = int(counts[0]) - 1 - start.segment if spans[0, 0] > spans[0, 1] else start.segment + 1
        if self._cut[1]:
            drop = end.segment + 1 if spans[-1, 0] > spans[-1, 1] else int(counts[-1]) - 1 - end.segment
        points, begin = np.empty((2 + int(counts.sum()), 2)), np.empty(len(arcs) + 1, np.int64)
        points[0] = start.lat, start.lon
        put_points = kernels("vkssp.routing.kernels.leg").put_points
        size = put_points(spans, skip, drop, self._polylines.points, points, begin)
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


def _weights(graph: Graph, arcs: npt.NDArray[np.int64], parts: Floats, begun: bool) -> npt.NDArray[np.int64]:
    """Return the weights of parts of arcs. If `begun`, the path begins on the first arc, whose turn does not count."""
    weight: npt.NDArray[Any] = graph.weight[arcs].astype(np.int64)
    if graph.streets is None or graph.streets.turn is None:
        whole: npt.NDArray[np.int64] = np.rint(parts * weight).astype(np.int64)
        return whole
    turn = graph.streets.turn[arcs].astype(np.int64)
    travel = np.rint(parts * (weight - turn)).astype(np.int64)  # as in `vkssp.routing.phantoms.part_weight`
    if begun:
        turn[0] = 0
    found: npt.NDArray[np.int64] = travel + turn
    return found
