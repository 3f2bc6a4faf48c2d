"""Geometry of the legs of many pairs, in arrays; the same as `vkssp.routing.leg_geometry` makes for one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.csr import bounds_of, ranges
from vkssp.jit import kernels
from vkssp.routing.pair_paths import NO_PATH, PairPaths
from vkssp.routing.part_weights import Points, entered_weights, part_weights
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class PairGeometry:
    """Arcs of the legs of pairs in order, leg by leg.

    Parameters
    ----------
    index : StreetIndex
        The streets in which the paths were found.
    graph : Graph
        The same graph with the weights as given, in case the search minimized other weights.
    paths : PairPaths
        The paths; those of `by_number` are left out.
    starts, goals : Snaps
        The points that they join.

    Attributes
    ----------
    arcs : numpy.ndarray
        Ids of the arcs, int64.
    first : numpy.ndarray
        Offset of each leg's first arc, shape (k + 1,), int64.
    parts : numpy.ndarray
        Part of each arc that is travelled, by length, float64.
    """

    def __init__(self, index: StreetIndex, graph: Graph, paths: PairPaths, starts: Snaps, goals: Snaps) -> None:
        self._index, self._graph, self._paths, self._starts, self._goals = index, graph, paths, starts, goals
        self._has_leg = paths.weight != NO_PATH
        self._has_leg[list(paths.by_number)] = False
        self._is_begun = begun = paths.arc[:, 0] >= 0
        ended = (paths.arc[:, 1] >= 0) & ~paths.is_direct
        inner = np.diff(paths.first)
        counts = begun + inner + ended
        self.first: Indices = bounds_of(counts)
        self.arcs = np.empty(int(self.first[-1]), np.int64)
        self.parts: Floats = np.ones(len(self.arcs))
        self.arcs[ranges(self.first[:-1] + begun, inner)] = paths.arcs
        first, last = self.first[:-1][begun], self.first[1:][ended] - 1
        until = np.where(paths.is_direct, paths.at[:, 1], 1.0)
        self.arcs[first], self.parts[first] = paths.arc[begun, 0], (until - paths.at[:, 0])[begun]
        self.arcs[last], self.parts[last] = paths.arc[ended, 1], paths.at[ended, 1]
        # A leg that is travelled whole is not cut: on a loop, the snapped point may be at either end.
        self._cut = np.stack([begun & (paths.at[:, 0] > 0.0), (paths.arc[:, 1] >= 0) & (paths.at[:, 1] < 1.0)], axis=1)

    def metres(self) -> Floats:
        """Return the length of each leg in metres, NaN without a path, float64."""
        index, streets = self._index, self._index.graph.streets
        metres = self.parts * index.lengths[self.arcs].astype(np.float64, copy=False)
        if streets is not None and streets.piece_weight is not None:
            # Points are rounded, and so are not where shares of lengths end.
            for number in np.flatnonzero(self._cut.any(axis=1)).tolist():
                first, last = int(self.first[number]), int(self.first[number + 1]) - 1
                for place in {first, last} if first <= last else ():
                    ends = (
                        self._starts.at(number) if place == first and self._cut[number, 0] else None,
                        self._goals.at(number) if place == last and self._cut[number, 1] else None,
                    )
                    if ends != (None, None):
                        metres[place] = index.metres_along(int(self.arcs[place]), *ends)
        bounds = self.first.tolist()
        # Not by `reduceat`, whose sums differ from those of a leg in the last bits.
        found = np.array([np.add.reduce(metres[begin:end]) for begin, end in pairwise(bounds)])
        found[~self._has_leg] = np.nan
        return found.astype(np.float64)

    def seconds(self) -> Floats | None:
        """Return the duration of each leg in seconds, NaN without a path, float64; None if weights are no durations."""
        streets, paths = self._graph.streets, self._paths
        if streets is None or not streets.seconds_per_weight > 0:
            return None
        found = paths.weight if self._graph is self._index.graph else self._weights()
        seconds = np.asarray(found * streets.seconds_per_weight, np.float64)
        seconds[~self._has_leg] = np.nan
        return seconds

    def _weights(self) -> Indices:
        """Return the weight of each leg in the weights as given, int64; see `LegGeometry.weights`."""
        graph, counts = self._graph, np.diff(self.first)
        weights = graph.weight[self.arcs].astype(np.int64)
        legs = np.flatnonzero(counts)
        starts, goals = (Points.of(snaps) for snaps in (self._starts, self._goals))
        cut, begun = self._cut[legs], self._is_begun[legs]
        first, last = self.first[:-1][legs], self.first[1:][legs] - 1
        for places, is_first, is_last in ((last, first == last, np.ones_like(begun)), (first, True, first == last)):
            # Where the leg has one arc, both are the same.
            arcs, parts = self.arcs[places], self.parts[places]
            end = goals.take(legs, cut[:, 1] & is_last)
            from_start = part_weights(graph, arcs, parts, starts.take(legs, cut[:, 0]), end)
            weights[places] = np.where(begun & is_first, from_start, entered_weights(graph, arcs, parts, end))
        sums = np.zeros(len(counts), np.int64)
        sums[legs] = np.add.reduceat(weights, first) if len(legs) else 0
        sums[self._paths.is_direct & (self._paths.weight == 0)] = 0  # no whole unit takes no time, as in OSRM
        return sums

    def points(self) -> tuple[Floats, Indices]:
        """Return the points of all legs, and the offset of the first of each.

        Latitude and longitude in degrees, shape (p, 2), of which successive ones of a leg differ, and shape (k + 1,),
        int64. A leg without a path has none.
        """
        along = self._index.along[self.arcs]
        begin, last = along[:, 0].astype(np.int64), along[:, 1].astype(np.int64)
        legs = np.flatnonzero(self._has_leg)
        first = self.first[:-1][legs]
        pieces, cut = np.abs(last - begin), np.zeros((len(legs), 2), np.int64)
        both = self._starts, self._goals
        ends = np.stack([of[legs] for snaps in both for of in (snaps.lat, snaps.lon)], axis=1)
        segments = [snaps.segment[legs] for snaps in both]
        for side, arc in enumerate((first, self.first[1:][legs] - 1)):
            is_cut = self._cut[legs, side]
            at, segment = arc[is_cut], segments[side][is_cut]
            before, after = segment + 1, pieces[at] - segment
            is_backward = begin[at] > last[at]
            cut[is_cut, side] = (
                np.where(is_backward, after, before) if side == 0 else np.where(is_backward, before, after)
            )
        bounds = np.concatenate([first, self.first[-1:]])
        out, room = np.empty((2 * len(legs) + int(pieces.sum()) + len(along), 2)), np.empty(len(along), np.int64)
        counts = np.empty(len(legs), np.int64)
        total = kernels("vkssp.routing.kernels.leg").put_all_points(
            bounds, along, cut, ends, self._index.points, out, room, counts
        )
        every = np.zeros(len(self._starts), np.int64)
        every[legs] = counts
        return out[:total], bounds_of(every)
