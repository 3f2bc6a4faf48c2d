"""Phantom nodes of many points at once, as arrays: the same as `vkssp.routing.phantoms` finds for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS
from vkssp.graph import Uint32s
from vkssp.graph.csr import ranges
from vkssp.routing.lines import Bools, Snap
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.same_street import SameStreet
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode, PhantomNodes

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Direct(NamedTuple):
    """Paths from points to others that pass no node, in the order of the points.

    `start` and `goal` are the numbers of the points, `weight` is the weight of each path, `arc` its arc, -1 for none,
    and `part` the part of the arc that it takes.
    """

    start: Indices
    goal: Indices
    weight: Indices
    arc: Indices
    part: Floats


class _Points:
    """Points as arrays, and which of them are on a street, so that only its arcs matter; polyline -1 is for none."""

    def __init__(self, index: StreetIndex, snaps: Sequence[Snap | None]) -> None:
        self.polyline = np.array([-1 if snap is None else snap.polyline for snap in snaps], np.int64)
        self.fraction = np.array([-1.0 if snap is None else snap.fraction for snap in snaps])
        first, _ = index.arcs_by_polyline
        self.is_simple: Bools = (self.polyline >= 0) & (index.avoided is None)
        self.is_simple &= first[self.polyline + 1] - first[self.polyline] <= MAX_TERMINALS
        if index.knows_turns:
            self.is_simple &= (self.fraction != 0.0) & (self.fraction != 1.0)

    def arcs(self, index: StreetIndex, points: Indices) -> tuple[Indices, Indices]:
        """Return the arcs of the streets of some points: the place of the point among them, and the arc."""
        first, arcs = index.arcs_by_polyline
        lines = self.polyline[points]
        count = first[lines + 1] - first[lines]
        return np.repeat(np.arange(len(points)), count), arcs[ranges(first[lines], count)]

    def before(self, index: StreetIndex, points: Indices, arcs: Indices) -> Floats:
        """Return the parts of arcs before points on them."""
        return np.where(index.backward[arcs], 1.0 - self.fraction[points], self.fraction[points])


def _part(index: StreetIndex, arc: Indices, part: Floats) -> Indices:
    """Return the weights of parts of arcs, without the turns into them."""
    own = index.graph.weight[arc].astype(np.int64) - _turn(index, arc)
    return np.rint(part * own).astype(np.int64)


def _turn(index: StreetIndex, arc: Indices) -> Indices:
    streets = index.graph.streets
    return (
        np.zeros(len(arc), np.int64) if streets is None or streets.turn is None else streets.turn[arc].astype(np.int64)
    )


def many_starts(index: StreetIndex, snaps: Sequence[Snap | None]) -> PhantomNodes:
    """Return the phantom nodes that `find_starts` finds for each point, the best at each node; none for None."""
    graph = index.graph
    return _many(index, snaps, graph.head, graph.tail, lambda arc, at: _part(index, arc, 1.0 - at), 0.0, find_starts)


def many_goals(index: StreetIndex, snaps: Sequence[Snap | None]) -> PhantomNodes:
    """Return the phantom nodes that `find_goals` finds for each point, the best at each node; none for None."""
    graph = index.graph

    def weight(arc: Indices, at: Floats) -> Indices:
        return _turn(index, arc) + _part(index, arc, at)

    return _many(index, snaps, graph.tail, graph.head, weight, 1.0, find_goals)


def _many(
    index: StreetIndex,
    snaps: Sequence[Snap | None],
    near: Uint32s,
    far: Uint32s,
    weight_of: Callable[[Indices, Floats], Indices],
    end: float,
    find: Callable[[StreetIndex, Snap], list[PhantomNode]],
) -> PhantomNodes:
    """Return the phantom nodes of simple points, and those of the others as `find` returns them.

    A point on an arc is connected with the node of the arc in `near`, and at the part `end` of the arc it is the node
    in `far`, where that counts.
    """
    points = _Points(index, snaps)
    simple = np.flatnonzero(points.is_simple)
    row, arc = points.arcs(index, simple)
    point = simple[row]
    at = points.before(index, point, arc)
    columns: list[npt.NDArray[Any]] = [point, near[arc].astype(np.int64), weight_of(arc, at), arc, at]
    if not index.knows_turns:
        is_node = np.flatnonzero(at == end)
        nothing = np.zeros(len(is_node), np.int64)
        nodes = point[is_node], far[arc[is_node]].astype(np.int64), nothing, nothing - 1, nothing.astype(np.float64)
        columns = [np.concatenate(pair) for pair in zip(columns, nodes, strict=True)]
    others = np.flatnonzero(~points.is_simple).tolist()
    found = [(row, *one) for row in others if (snap := snaps[row]) is not None for one in find(index, snap)]
    if found:
        more = (np.array(column) for column in zip(*found, strict=True))
        columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
    point, node, weight, arc, at = columns
    order = np.lexsort((weight, node, point))
    is_least = np.ones(len(order), np.bool_)
    is_least[1:] = (np.diff(point[order]) != 0) | (np.diff(node[order]) != 0)
    best = order[is_least]
    if index.knows_turns:  # the nearest first, and of equally near ones the one that is found first
        first = np.minimum.reduceat(order, np.flatnonzero(is_least)) if len(order) else order
        best = best[np.lexsort((first, weight[best], point[best]))]
    else:
        best = best[np.lexsort((best, point[best]))]
    count = np.cumsum(np.bincount(point[best], minlength=len(snaps)))
    first = np.concatenate([np.zeros(1, np.int64), count])
    return PhantomNodes(first, node[best].astype(np.uint32), weight[best].astype(np.uint32), arc[best], at[best])


def many_direct(index: StreetIndex, starts: Sequence[Snap | None], goals: Sequence[Snap | None]) -> Direct:
    """Return the best path from each point to each other that passes no node, as `find_direct` finds it, if any."""
    here, there = _Points(index, starts), _Points(index, goals)
    # Pairs of points on the same street, and the arcs of it that lead from one to the other.
    order = np.argsort(there.polyline, kind="stable")
    simple = np.flatnonzero(here.is_simple)
    low, high = (np.searchsorted(there.polyline[order], here.polyline[simple], side) for side in ("left", "right"))
    start, goal = np.repeat(simple, high - low), order[ranges(low, high - low)]
    row, arc = here.arcs(index, start)
    start, goal = start[row], goal[row]
    begin, end = here.before(index, start, arc), there.before(index, goal, arc)
    leads = np.flatnonzero(begin <= end)
    arc, part = arc[leads], (end - begin)[leads]
    columns: list[npt.NDArray[Any]] = [start[leads], goal[leads], _part(index, arc, part), arc, part]
    if not here.is_simple.all():
        same_street = SameStreet(index, goals)
        others = [
            (row, number, weight, first.arc, last.at - first.at)
            for row in np.flatnonzero(~here.is_simple).tolist()
            if (snap := starts[row]) is not None
            for number, weight, first, last in same_street.ways_from(snap)
        ]
        if others:
            more = (np.array(column) for column in zip(*others, strict=True))
            columns = [np.concatenate(pair) for pair in zip(columns, more, strict=True)]
    order = np.lexsort(columns[2::-1])
    start, goal = columns[0][order], columns[1][order]
    is_least = np.ones(len(order), np.bool_)
    is_least[1:] = (np.diff(start) != 0) | (np.diff(goal) != 0)
    return Direct(*(column[order[is_least]] for column in columns))
