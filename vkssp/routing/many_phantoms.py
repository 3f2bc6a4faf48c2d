"""Phantom nodes of many points at once, as arrays: the same as `vkssp.routing.phantoms` finds for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS
from vkssp.graph.csr import bounds_of, ranges, within
from vkssp.routing.lines import Snap
from vkssp.routing.part_weights import Points, entered_weights, part_weights
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.same_street import SameStreet
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps
from vkssp.solver.phantom_node import PhantomNode, PhantomNodes

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_Columns = Sequence[npt.NDArray[Any]]


class Direct(NamedTuple):
    """Paths from points to others that pass no node, in the order of the points.

    `start` and `goal` are the numbers of the points, `weight` is the weight of each path, `arc` its arc, -1 for none,
    `part` the part of the arc that it takes, and `metres` the metres that it takes off the streets.
    """

    start: Indices
    goal: Indices
    weight: Indices
    arc: Indices
    part: Floats
    metres: Floats


class _Points:
    """Points as arrays; those at junctions, if the graph knows of turns, and those on streets. None is no point."""

    def __init__(self, index: StreetIndex, snaps: Sequence[Snap | None]) -> None:
        self._index = index
        points = Snaps.of(snaps)
        self.on = Points.of(points)
        self.polyline, self._fraction = points.polyline, points.fraction
        at_junction = (self._fraction == 0.0) | (self._fraction == 1.0)
        if not index.knows_turns:
            at_junction[:] = False
        self.at_junctions = np.flatnonzero(at_junction)
        self._on_streets = np.flatnonzero(~at_junction & (self.polyline >= 0))

    def before(self, points: Indices, arcs: Indices) -> Floats:
        """Return the part of each arc before a point on its street."""
        fraction = self._fraction[points]
        return np.where(self._index.backward[arcs], 1.0 - fraction, fraction)

    def street_arcs(self) -> tuple[Indices, Indices, Floats]:
        """Return the arcs of the points on streets: the point, the arc, and the part before the point."""
        first, arcs = self._index.arcs_by_polyline
        lines = self.polyline[self._on_streets]
        count = first[lines + 1] - first[lines]
        point, arc = np.repeat(self._on_streets, count), arcs[ranges(first[lines], count)]
        return point, arc, self.before(point, arc)

    @property
    def end_nodes(self) -> npt.NDArray[np.uint32]:
        """A node of the junction of each point at one."""
        points = self.at_junctions
        is_last = (self._fraction[points] == 1.0).astype(np.int64)
        found: npt.NDArray[np.uint32] = self._index.nodes_at_ends[self.polyline[points], is_last]
        return found

    @property
    def junctions(self) -> Indices:
        """The junction of each point at one."""
        assert self._index.junctions is not None
        return self._index.junctions.place[self.end_nodes]

    def nodes(self) -> tuple[Indices, Indices]:
        """Return the nodes of the points at junctions: the point, and the node."""
        if not len(self.at_junctions):
            return self.at_junctions, self.at_junctions
        assert self._index.junctions is not None
        _, order, first = self._index.junctions
        places = self.junctions
        count = first[places + 1] - first[places]
        return np.repeat(self.at_junctions, count), order[ranges(first[places], count)]

    def first_arcs(self) -> tuple[Indices, Indices, Floats]:
        """Return the arcs on which trips from the points may begin, as `street_arcs` does."""
        (point, node), first_out = self.nodes(), self._index.graph.first_out
        first, end = (first_out[at].astype(np.int64) for at in (node, node + 1))
        out = np.repeat(point, end - first), ranges(first, end - first), np.zeros(int((end - first).sum()))
        point, arc, at = (np.concatenate(pair) for pair in zip(self.street_arcs(), out, strict=True))
        return point, arc, at


def _is_special(index: StreetIndex, snaps: Sequence[Snap | None]) -> bool:
    """Return whether points have arcs, or are inside areas, which only the functions for one point consider."""
    points = Snaps.of(snaps)
    return index.avoided is not None or bool((points.has_arcs | points.is_inside).any())


def many_starts(index: StreetIndex, snaps: Sequence[Snap | None]) -> PhantomNodes:
    """Return the phantom nodes that `find_starts` finds for each point, the best at each node; none for None."""
    points, apart = _apart(index, snaps, find_starts)
    point, arc, at = points.first_arcs()
    here = np.flatnonzero(at == 0.0) if not index.knows_turns else np.zeros(0, np.int64)
    weight = part_weights(index.graph, arc, 1.0 - at, start=points.on.take(point, at > 0.0))
    ends = point, index.graph.head[arc], weight, arc, at, np.zeros(len(arc))
    return _best(index, len(snaps), ends, apart, (point[here], index.graph.tail[arc[here]]))


def many_goals(index: StreetIndex, snaps: Sequence[Snap | None]) -> PhantomNodes:
    """Return the phantom nodes that `find_goals` finds for each point, the best at each node; none for None."""
    points, apart = _apart(index, snaps, find_goals)
    point, arc, at = points.street_arcs()
    weight = entered_weights(index.graph, arc, at, points.on.take(point))
    ends = point, index.graph.tail[arc], weight, arc, at, np.zeros(len(arc))
    if index.knows_turns:
        return _best(index, len(snaps), ends, apart, points.nodes())
    here = np.flatnonzero(at == 1.0)
    return _best(index, len(snaps), ends, apart, (point[here], index.graph.head[arc[here]]))


def _apart(
    index: StreetIndex, snaps: Sequence[Snap | None], find: Callable[[StreetIndex, Snap], list[PhantomNode]]
) -> tuple[_Points, _Columns]:
    """Return the points without those that only `find` considers, and the phantom nodes that it finds for these.

    These are points with arcs, those inside areas, and those at junctions where trips do not begin on all streets.
    """
    snaps = Snaps.of(snaps)
    points = _Points(index, snaps)
    is_apart = snaps.has_arcs | snaps.is_inside
    if index.avoided is not None:
        is_apart[:] = True
    elif len(points.at_junctions):
        is_apart[points.at_junctions] |= index.beside_unusable[points.end_nodes]
    given = ((row, snaps[row]) for row in np.flatnonzero(is_apart).tolist())
    rows = [(row, one) for row, snap in given if snap is not None for one in find(index, snap)]
    columns = _columns([(row, one.node, one.weight, one.arc, one.at, one.metres) for row, one in rows])
    if is_apart.any():
        points = _Points(index, snaps.without(is_apart))
    return points, columns


def _columns(rows: list[tuple[int, int, int, int, float, float]]) -> _Columns:
    *integers, at, metres = zip(*rows, strict=True) if rows else [()] * 6
    floats = (np.array(column, np.float64) for column in (at, metres))
    return [*(np.array(column, np.int64) for column in integers), *floats]


def _best(
    index: StreetIndex, count: int, ends: _Columns, apart: _Columns, nodes: tuple[Indices, npt.NDArray[Any]]
) -> PhantomNodes:
    """Return the best phantom node of each point at each node, in the order of `find_starts` and `find_goals`.

    `ends` are the points and the attributes of their phantom nodes, `apart` are those of other points, and `nodes` are
    points and the nodes that they are at.
    """
    nothing = np.zeros(len(nodes[0]), np.int64)
    at_nodes = *nodes, nothing, nothing - 1, nothing, nothing
    columns = [np.concatenate(some) for some in zip(ends, apart, at_nodes, strict=True)]
    point, node, weight, arc, at, metres = columns
    order = np.lexsort((weight, node, point))
    is_best = np.ones(len(order), np.bool_)
    is_best[1:] = (point[order][1:] != point[order][:-1]) | (node[order][1:] != node[order][:-1])
    best = order[is_best]
    if index.knows_turns and len(best):  # the nearest first, of equally near ones the one whose node is found first
        found = np.minimum.reduceat(order, np.flatnonzero(is_best))
        best = best[np.lexsort((found, weight[best], point[best]))]
        best = best[within(np.bincount(point[best])) < MAX_TERMINALS]
    else:
        best = best[np.lexsort((best, point[best]))]
    first = bounds_of(np.bincount(point[best], minlength=count))
    return PhantomNodes(
        first, node[best].astype(np.uint32), weight[best].astype(np.uint32), arc[best], at[best], metres[best]
    )


def many_direct(index: StreetIndex, starts: Sequence[Snap | None], goals: Sequence[Snap | None]) -> Direct:
    """Return the best path from each point to each other that passes no node, as `find_direct` finds it, if any."""
    if _is_special(index, starts) or _is_special(index, goals):
        same_street = SameStreet(index, goals)
        ways = ((row, way) for row, snap in enumerate(starts) if snap for way in same_street.ways_from(snap))
        rows = [(row, goal, weight, a.arc, b.at - a.at, a.metres + b.metres) for row, (goal, weight, a, b) in ways]
        return Direct(*_columns(rows))
    here, there = _Points(index, starts), _Points(index, goals)
    start, arc, begin = here.first_arcs()
    lines = index.polyline_of[arc]
    on_own_street = lines == here.polyline[start]
    begin[on_own_street] = here.before(start[on_own_street], arc[on_own_street])
    row, goal = _equal(lines.astype(np.int64), there.polyline)
    start, arc = start[row], arc[row]
    part = there.before(goal, arc) - begin[row]
    leads = np.flatnonzero(part >= 0.0)
    start, goal, arc, part = start[leads], goal[leads], arc[leads], part[leads]
    weight = part_weights(index.graph, arc, part, here.on.take(start), there.on.take(goal))
    columns: _Columns = start, goal, weight, arc, part, np.zeros(len(arc))
    if len(here.at_junctions) and len(there.at_junctions):
        row, column = _equal(here.junctions, there.junctions)
        nothing = np.zeros(len(row), np.int64)
        same = here.at_junctions[row], there.at_junctions[column], nothing, nothing - 1, nothing, nothing
        columns = [np.concatenate(pair) for pair in zip(same, columns, strict=True)]
    order = np.lexsort((columns[2], columns[1], columns[0]))
    start, goal = columns[0][order], columns[1][order]
    is_best = np.ones(len(order), np.bool_)
    is_best[1:] = (start[1:] != start[:-1]) | (goal[1:] != goal[:-1])
    return Direct(*(column[order[is_best]] for column in columns))


def _equal(ones: Indices, others: Indices) -> tuple[Indices, Indices]:
    """Return the pairs of places in two arrays that have the same number."""
    order = np.argsort(others, kind="stable")
    low, high = (np.searchsorted(others[order], ones, side) for side in ("left", "right"))
    return np.repeat(np.arange(len(ones)), high - low), order[ranges(low, high - low)]
