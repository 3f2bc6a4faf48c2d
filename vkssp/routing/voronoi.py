"""Voronoi diagram of a street network: the place that serves each part of each street.

A point on a street is reached from either end of the street, at a weight that grows with the distance from that end, or
from a place on the street itself. The path of least weight counts. If the paths come from two places, the street is
divided at the point that both reach at the same weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE
from vkssp.graph.geo import between, haversine
from vkssp.routing.snap import StreetIndex
from vkssp.routing.street_reach import NEVER, Begun, approach, open_parts
from vkssp.solver.nearest import NearestSources

# Parts of a street that are narrower are errors of rounding.
_NARROW = 1e-9
Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]


class StreetCells(NamedTuple):
    """Parts of streets with the places that serve them; no parts overlap.

    `low` and `high` are the bounds of each part as parts of its polyline, `source` is the place that serves it, and
    `weight` is the weight of the path from the place to the nearest point of the part.
    """

    polyline: npt.NDArray[Any]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    source: npt.NDArray[Any]
    weight: npt.NDArray[Any]


class Approach(NamedTuple):
    """Path along a part of a polyline: the weights up to the part's two bounds, and the place where the path begins."""

    low: float
    high: float
    at_low: float
    at_high: float
    source: int

    def at(self, x: float) -> float:
        """Return the weight up to a point of the part."""
        share = (x - self.low) / (self.high - self.low)
        return self.at_low + share * (self.at_high - self.at_low)

    def within(self, most: float) -> Approach | None:
        """Return the section that is no farther than a weight, None if it has no length."""
        if max(self.at_low, self.at_high) <= most:
            return self
        if min(self.at_low, self.at_high) > most:
            return None
        x = self.low + (self.high - self.low) * (most - self.at_low) / (self.at_high - self.at_low)
        part = self._replace(high=x, at_high=most) if self.at_low <= most else self._replace(low=x, at_low=most)
        return part if part.low < part.high else None


#: A part of a polyline, from `low` to `high`, and the path along it.
_Part = tuple[float, float, Approach]


def street_cells(
    index: StreetIndex,
    nodes: NearestSources,
    begun: Sequence[tuple[int, Begun]],
    limit: int = UNREACHABLE,
    *,
    reverse: bool = False,
) -> StreetCells:
    """Return the place that serves each part of each street, sorted by polyline and position.

    Parameters
    ----------
    index : StreetIndex
        The streets.
    nodes : NearestSources
        The nearest place of each node.
    begun : sequence of (int, Begun)
        The parts of streets on which the paths from each place begin, with the number of the place.
    limit : int
        Parts that are farther away are left out; UNREACHABLE for no limit.
    reverse : bool
        Whether paths lead to the places, not from them.
    """
    most = NEVER - 1 if limit == UNREACHABLE else limit
    arcs = _entered_arcs(index, nodes, most, reverse)
    alone = _alone(index, arcs, begun)
    is_alone = alone[arcs.side // 2]
    approaches = _approaches(index, arcs.taken(is_alone), begun, reverse)
    rows = [(line, *part) for line, some in approaches.items() for part in earliest(some, most)]
    compared = _ends_compared(index.num_polylines, arcs.taken(~is_alone), most)
    one_by_one = [np.array(column) for column in zip(*rows, strict=True)] if rows else [each[:0] for each in compared]
    joined = StreetCells(*map(np.concatenate, zip(compared, one_by_one, strict=True)))
    order = np.lexsort((joined.low, joined.polyline))
    return StreetCells(*(column[order] for column in joined))


class _Arcs(NamedTuple):
    """Arcs that are reached, sorted by their sides of polylines, the best arc of a side first.

    `side` is twice the polyline, plus one if it is covered from its end. `entered` and `weight` are the weights of the
    results of `approach`, `source` is the place nearest to the arc's tail or, in reverse, its head.
    """

    arc: Int64s
    side: Int64s
    entered: Int64s
    weight: Int64s
    source: Int64s

    def taken(self, which: npt.NDArray[np.bool_]) -> _Arcs:
        """Return the arcs of a mask."""
        return _Arcs(*(column[which] for column in self))

    @property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Mask of the arcs that are the best of their sides."""
        first = np.ones(len(self.side), np.bool_)
        first[1:] = self.side[1:] != self.side[:-1]
        return first


def _entered_arcs(index: StreetIndex, nodes: NearestSources, most: int, reverse: bool) -> _Arcs:
    """Return the arcs that are entered or, in reverse, left within a weight."""
    there = approach(index, nodes.distance, reverse=reverse)
    arcs = np.flatnonzero(there.weight <= most)
    side = 2 * index.polyline_of[arcs].astype(np.int64) + there.falls[arcs]
    source = nodes.source[there.node[arcs]].astype(np.int64)
    found = _Arcs(arcs, side, there.weight[arcs], there.along[arcs].astype(np.int64), source)
    order = np.lexsort((found.source, found.entered, side))
    return _Arcs(*(column[order] for column in found))


def _alone(index: StreetIndex, arcs: _Arcs, begun: Sequence[tuple[int, Begun]]) -> npt.NDArray[np.bool_]:
    """Return a mask of the polylines with more than two paths to compare, or with an area to avoid.

    Each of these is handled alone.
    """
    alone = np.zeros(index.num_polylines, np.bool_)
    alone[np.array([one.polyline for _, one in begun], np.int64)] = True
    if index.avoided is not None:
        alone |= index.avoided.touched
    first = arcs.is_first
    of_first = arcs.weight[first][np.cumsum(first) - 1]
    alone[arcs.side[arcs.weight != of_first] // 2] = True
    return alone


def _approaches(
    index: StreetIndex, arcs: _Arcs, begun: Sequence[tuple[int, Begun]], reverse: bool
) -> dict[int, list[Approach]]:
    """Return the paths along the polylines of some arcs, and of the places."""
    opened = None if index.avoided is None else open_parts(index, reverse=reverse)
    approaches: dict[int, list[Approach]] = defaultdict(list)
    for arc, side, entered, weight, source in zip(*(column.tolist() for column in arcs), strict=True):
        part = 1.0 if opened is None else float(opened[arc])
        till = entered + part * weight
        approach = (
            Approach(1.0 - part, 1.0, till, entered, source) if side % 2 else Approach(0.0, part, entered, till, source)
        )
        approaches[side // 2].append(approach)
    for place, one in begun:
        ends = (0.0, float(one.weight)) if one.rises else (float(one.weight), 0.0)
        approaches[one.polyline].append(Approach(one.low, one.high, *ends, place))
    return approaches


def _ends_compared(count: int, arcs: _Arcs, most: int) -> StreetCells:
    """Return the parts of streets on which only the best paths from the two ends have to be compared."""
    best = arcs.taken(arcs.is_first)
    begins, takes = np.full((count, 2), NEVER, np.int64), np.zeros((count, 2), np.int64)
    of = np.full((count, 2), -1, np.int64)
    for values, known in ((begins, best.entered), (takes, best.weight), (of, best.source)):
        values.reshape(-1)[best.side] = known
    there = begins <= most
    left = np.where(there, most - begins, 0)
    reach = np.where(there & (takes <= left), 1.0, left / np.maximum(takes, 1))
    # Point where the two paths meet. If there is no weight between the ends, the whole street belongs to one of them.
    between = takes.sum(axis=1)
    ahead = (begins[:, 0] < begins[:, 1]) | ((begins[:, 0] == begins[:, 1]) & (of[:, 0] <= of[:, 1]))
    meet = np.where(ahead, 1.0, 0.0)
    both = there.all(axis=1)
    cross = both & (between > 0)
    along = begins[cross, 1] + takes[cross, 1] - begins[cross, 0]
    meet[cross] = np.clip(along / between[cross], 0.0, 1.0)
    up, down = np.minimum(reach[:, 0], meet), np.maximum(1.0 - reach[:, 1], meet)
    whole = both & (of[:, 0] == of[:, 1]) & (up >= down)
    ups, downs = np.flatnonzero(~whole & (up > 0.0)), np.flatnonzero(~whole & (down < 1.0))
    wholes = np.flatnonzero(whole)
    low = [np.zeros(len(wholes) + len(ups)), down[downs]]
    high = [np.ones(len(wholes)), up[ups], np.ones(len(downs))]
    return StreetCells(
        np.concatenate([wholes, ups, downs]),
        np.concatenate(low),
        np.concatenate(high),
        np.concatenate([of[wholes, 0], of[ups, 0], of[downs, 1]]),
        np.concatenate([begins[wholes].min(axis=1), begins[ups, 0], begins[downs, 1]]),
    )


def earliest(approaches: Sequence[Approach], most: int) -> Iterator[tuple[float, float, int, int]]:
    """Yield the parts of a polyline, divided by the path of least weight: low, high, source and weight of each."""
    cut = [approach for each in approaches if each.high > each.low and (approach := each.within(most)) is not None]
    last: tuple[float, float, int, float] | None = None
    for low, high, approach in _lowest(cut):
        if high - low <= _NARROW:
            continue
        nearest = min(approach.at(low), approach.at(high))
        if last is not None and low - last[1] <= _NARROW and last[2] == approach.source:
            last = last[0], high, approach.source, min(last[3], nearest)
            continue
        if last is not None:
            yield *last[:3], round(last[3])
        last = low, high, approach.source, nearest
    if last is not None:
        yield *last[:3], round(last[3])


def _lowest(approaches: Sequence[Approach]) -> list[_Part]:
    """Return the parts along a polyline, in order, each with the path of least weight there."""
    if len(approaches) < 2:
        return [(approach.low, approach.high, approach) for approach in approaches]
    # Divide and conquer keeps the number of parts near the number of paths; paths may cross in many more points.
    half = len(approaches) // 2
    one, other = _lowest(approaches[:half]), _lowest(approaches[half:])
    points = sorted({x for low, high, _ in (*one, *other) for x in (low, high)})
    found: list[_Part] = []
    at, at_other = 0, 0
    for low, high in pairwise(points):
        while at < len(one) and one[at][1] <= low:
            at += 1
        while at_other < len(other) and other[at_other][1] <= low:
            at_other += 1
        there = [part[2] for part in (*one[at : at + 1], *other[at_other : at_other + 1]) if part[0] <= low]
        if not there:
            continue
        cuts = [low, high]
        before, after = (there[0].at(x) - there[-1].at(x) for x in cuts)
        if before * after < 0:
            cuts.insert(1, low + (high - low) * before / (before - after))
        for begin, end in pairwise(cuts):
            middle = (begin + end) / 2
            approach = min(there, key=lambda approach: (approach.at(middle), approach.source, approach))
            if found and found[-1][1] == begin and found[-1][2] is approach:
                begin = found.pop()[0]
            found.append((begin, end, approach))
    return found


def part_of_line(points: Floats, low: float, high: float) -> Floats:
    """Return the section of a line, of points in degrees, between two parts of its length."""
    if low <= 0.0 and high >= 1.0:
        return points
    passed = np.concatenate([[0.0], np.cumsum(haversine(*points[:-1].T, *points[1:].T))])
    ends = np.array([low, high]) * passed[-1]
    inner = (passed > ends[0]) & (passed < ends[1])
    piece = np.clip(np.searchsorted(passed, ends, side="right") - 1, 0, len(points) - 2)
    step = passed[piece + 1] - passed[piece]
    cut = between(points[piece], points[piece + 1], (ends - passed[piece]) / np.where(step > 0, step, 1.0))
    return np.concatenate([cut[:1], points[inner], cut[1:]])
