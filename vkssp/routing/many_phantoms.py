"""Phantom nodes of many points at once, as arrays: the same as `vkssp.routing.phantoms` finds for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph.csr import bounds_of, ranges
from vkssp.jit import kernels
from vkssp.routing.lines import Snap
from vkssp.routing.part_weights import Points, part_weights
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.same_street import SameStreet
from vkssp.routing.snap import StreetIndex
from vkssp.routing.snaps import Snaps
from vkssp.solver.phantom_node import PhantomNode, PhantomNodes

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_Columns = Sequence[npt.NDArray[Any]]
#: Phantom nodes that there is room for at first, for each point and beside these.
ROOM_EACH, ROOM = 8, 64
# What the kernel gets of a graph without it, of the same types.
_NO_WEIGHTS, _NO_NODES = own(np.zeros(0, np.uint32)), own(np.zeros(0, np.bool_))
_NO_PIECES = own(np.zeros((0, 2), np.int64)), own(np.zeros((0, 2), np.uint32)), _NO_NODES
_NO_ENDS, _NO_JUNCTIONS = np.zeros((0, 2), np.uint32), (np.zeros(0, np.int64),) * 3


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
        """Return all arcs of the points on streets: the point, the arc, and the part before the point."""
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
        """Return the arcs on which trips from the points may begin, in the form of `street_arcs`."""
        (point, node), first_out = self.nodes(), self._index.graph.first_out
        first, end = (first_out[at].astype(np.int64) for at in (node, node + 1))
        out = np.repeat(point, end - first), ranges(first, end - first), np.zeros(int((end - first).sum()))
        point, arc, at = (np.concatenate(pair) for pair in zip(self.street_arcs(), out, strict=True))
        if not self._index.later_arcs:
            return point, arc, at
        begins = self._index.begin_nodes[self._index.graph.head[arc]]
        return point[begins], arc[begins], at[begins]


def _is_special(index: StreetIndex, snaps: Sequence[Snap | None]) -> bool:
    """Return whether points have arcs, or are inside areas, which only the functions for one point consider."""
    points = Snaps.of(snaps)
    return index.avoided is not None or bool((points.has_arcs | points.is_inside).any())


def many_starts(index: StreetIndex, snaps: Sequence[Snap | None]) -> PhantomNodes:
    """Return the phantom nodes that `find_starts` finds for each point, the best at each node; none for None."""
    return _phantoms(index, Snaps.of(snaps), find_starts, are_goals=False)


def many_goals(index: StreetIndex, snaps: Sequence[Snap | None]) -> PhantomNodes:
    """Return the phantom nodes that `find_goals` finds for each point, the best at each node; none for None."""
    return _phantoms(index, Snaps.of(snaps), find_goals, are_goals=True)


def ends_and_places(index: StreetIndex) -> tuple[npt.NDArray[np.uint32], Indices, Indices, Indices]:
    """Return the nodes at the ends of streets, and the `Junctions`, as kernels take them; empty without turns."""
    if not index.knows_turns or index.junctions is None:
        return _NO_ENDS, *_NO_JUNCTIONS
    return index.nodes_at_ends, *index.junctions


def _phantoms(
    index: StreetIndex, snaps: Snaps, find: Callable[[StreetIndex, Snap], list[PhantomNode]], *, are_goals: bool
) -> PhantomNodes:
    """Return the best phantom node of each point at each node, those of some points as `find` finds them.

    These are points with arcs, those inside areas, and those at junctions where trips do not begin on all streets.
    """
    graph, streets = index.graph, index.graph.streets
    is_apart = snaps.has_arcs | snaps.is_inside
    if index.avoided is not None:
        is_apart[:] = True
    turn, bonus, passed, pieces, from_end = (_NO_WEIGHTS, _NO_WEIGHTS, *_NO_PIECES)
    if streets is not None:
        turn = _NO_WEIGHTS if streets.turn is None else streets.turn
        bonus = _NO_WEIGHTS if streets.turn_bonus is None else streets.turn_bonus
        if streets.passed_weight is not None and streets.piece_weight is not None:
            passed, pieces, from_end = streets.passed_weight, streets.piece_weight, streets.counted_from_end
    of_nodes = *ends_and_places(index), *[_NO_NODES] * 2
    if index.knows_turns:
        begins = index.begin_nodes if index.later_arcs else _NO_NODES
        of_nodes = *ends_and_places(index), index.beside_unusable, begins
    given = (
        *(are_goals, snaps.polyline, snaps.fraction, snaps.segment, snaps.share, is_apart, *index.arcs_by_polyline),
        *(index.along, graph.tail, graph.first_out, *of_nodes, graph.weight, turn, bonus, passed, pieces, from_end),
    )
    first, room, total = np.empty(len(snaps) + 1, np.int64), ROOM_EACH * len(snaps) + ROOM, -1
    while total < 0:
        numbers, parts = np.empty((room, 3), np.int64), np.empty(room)
        total = kernels("vkssp.routing.kernels.phantoms").find_phantoms(*given, first, numbers, parts)
        room *= 2
    node, weight, arc = numbers[:total].T
    found = PhantomNodes(
        first, node.astype(np.uint32), weight.astype(np.uint32), arc.copy(), parts[:total], np.zeros(total)
    )
    rows = np.flatnonzero(is_apart).tolist()
    return _with_others(found, {row: find(index, snap) for row in rows if (snap := snaps[row]) is not None})


def _with_others(found: PhantomNodes, others: dict[int, list[PhantomNode]]) -> PhantomNodes:
    """Return phantom nodes with the best ones at each node of some points that have none."""
    rows = list[tuple[int, int, int, int, float, float]]()
    for point, ends in others.items():
        best = dict[int, PhantomNode]()
        for end in sorted(ends, key=lambda end: end.weight):
            best.setdefault(end.node, end)
        rows += [(point, end.node, end.weight, end.arc, end.at, end.metres) for end in ends if best[end.node] is end]
    if not rows:
        return found
    columns: _Columns = found.owner, found.node, found.weight, found.arc, found.at, np.zeros(len(found.at))
    owner, *rest = [np.concatenate(pair) for pair in zip(columns, _columns(rows), strict=True)]
    order = np.argsort(owner, kind="stable")
    node, weight, arc, at, metres = (column[order] for column in rest)
    first = bounds_of(np.bincount(owner, minlength=len(found)))
    return PhantomNodes(first, node.astype(np.uint32), weight.astype(np.uint32), arc, at, metres)


def _columns(rows: list[tuple[int, int, int, int, float, float]]) -> _Columns:
    *integers, at, metres = zip(*rows, strict=True) if rows else [()] * 6
    floats = (np.array(column, np.float64) for column in (at, metres))
    return [*(np.array(column, np.int64) for column in integers), *floats]


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
