"""Geometry of the legs of many pairs, in arrays; the same as `vkssp.routing.leg_geometry` makes for one."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph import Graph
from vkssp.jit import kernels
from vkssp.routing.arc_points import AT_ONCE
from vkssp.routing.pair_paths import NO_PATH, PairPaths
from vkssp.routing.part_weights import Points, entered_weights, part_weights
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# What the kernel gets where lengths are with the points of arcs.
_NO_LENGTHS = own(np.zeros(0))


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
    """

    def __init__(self, index: StreetIndex, graph: Graph, paths: PairPaths, starts: Snaps, goals: Snaps) -> None:
        self._index, self._graph, self._paths, self._starts, self._goals = index, graph, paths, starts, goals
        self._has_leg = paths.weight != NO_PATH
        if paths.by_number:
            self._has_leg[list(paths.by_number)] = False
        count, most = len(starts), len(paths.arcs) + 2 * len(starts)
        self.first: Indices = np.empty(count + 1, np.int64)
        arcs, self._sums, self._cut = np.empty(most, np.int64), np.empty(count), np.empty((count, 2), np.bool_)
        lengths = _NO_LENGTHS if index.graph.streets is not None else index.lengths
        self._num_pieces = kernels("vkssp.routing.kernels.leg").put_legs(
            *(paths.first, paths.arcs, paths.arc, paths.at, paths.is_direct, index.along, index.along.view(np.float32)),
            *(lengths, self.first, arcs, np.empty(most), self._cut, self._sums, np.empty((64, 3))),
        )
        self.arcs = arcs[: int(self.first[-1])]

    @cached_property
    def parts(self) -> Floats:
        """Part of each arc that is travelled, by length, float64."""
        paths, found = self._paths, np.ones(len(self.arcs))
        begun, ended = paths.arc[:, 0] >= 0, (paths.arc[:, 1] >= 0) & ~paths.is_direct
        until = np.where(paths.is_direct, paths.at[:, 1], 1.0)
        found[self.first[:-1][begun]] = (until - paths.at[:, 0])[begun]
        found[self.first[1:][ended] - 1] = paths.at[ended, 1]
        return found

    def metres(self) -> Floats:
        """Return the length of each leg in metres, NaN without a path, float64."""
        index, streets, found = self._index, self._index.graph.streets, self._sums.copy()
        if streets is not None and streets.piece_weight is not None:
            metres, first = self.parts * index.lengths[self.arcs].astype(np.float64, copy=False), self.first
            # Points are rounded, and so are not where shares of lengths end.
            for number in np.flatnonzero(self._cut.any(axis=1)).tolist():
                begin, end = int(first[number]), int(first[number + 1])
                for place in {begin, end - 1} if begin < end else ():
                    ends = (
                        self._starts.at(number) if place == begin and self._cut[number, 0] else None,
                        self._goals.at(number) if place == end - 1 and self._cut[number, 1] else None,
                    )
                    if ends != (None, None):
                        metres[place] = index.metres_along(int(self.arcs[place]), *ends)
                found[number] = np.add.reduce(metres[begin:end])
        found[~self._has_leg] = np.nan
        return found

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
        cut, begun = self._cut[legs], self._paths.arc[legs, 0] >= 0
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
        legs, starts, goals = np.flatnonzero(self._has_leg), self._starts, self._goals
        bounds, out = (
            np.empty(len(starts) + 1, np.int64),
            np.empty((2 * len(legs) + self._num_pieces + len(self.arcs) + AT_ONCE, 2)),
        )
        ends = np.array([starts.lat, starts.lon, goals.lat, goals.lon])
        room = np.empty((len(self.arcs), 2), np.uint32), np.empty(len(self.arcs), np.int64)
        total = kernels("vkssp.routing.kernels.leg").put_all_points(
            *(legs, self.first, self.arcs, self._index.along, self._cut, starts.segment, goals.segment, ends),
            *(self._index.points, *self._index.arc_points.arrays, out, *room, bounds),
        )
        return out[:total], bounds
