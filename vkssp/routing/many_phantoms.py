"""Phantom nodes of many points at once, as arrays: the same as `vkssp.routing.phantoms` finds for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s
from vkssp.graph.csr import ranges
from vkssp.routing.lines import Bools, Snap
from vkssp.routing.phantoms import find_goals, find_starts
from vkssp.routing.same_street import SameStreet
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Connections:
    """Connections of points to nodes, point by point.

    Attributes
    ----------
    first : numpy.ndarray
        Offset of each point's first connection, shape (points + 1,), int64.
    node, weight : numpy.ndarray
        Node and weight of each connection, uint32.
    """

    first: Indices
    node: Uint32s
    weight: Uint32s

    @property
    def owner(self) -> Indices:
        """The point of each connection."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))


class _Points:
    """Points as arrays, and which of them are on a street, so that only its arcs matter."""

    def __init__(self, index: StreetIndex, snaps: Sequence[Snap]) -> None:
        self.polyline = np.fromiter((snap.polyline for snap in snaps), np.int64, len(snaps))
        self.fraction = np.fromiter((snap.fraction for snap in snaps), np.float64, len(snaps))
        is_end = (self.fraction == 0.0) | (self.fraction == 1.0)
        is_simple = ~is_end if index.knows_turns else np.ones(len(snaps), np.bool_)
        self.is_simple: Bools = is_simple & (index.avoided is None)

    def arcs(self, index: StreetIndex, points: Indices) -> tuple[Indices, Indices, Floats]:
        """Return the arcs of the streets of some points: the point and the arc, and the part of it before the point."""
        first, arcs = index.arcs_by_polyline
        lines = self.polyline[points]
        count = first[lines + 1] - first[lines]
        point, arc = np.repeat(points, count), arcs[ranges(first[lines], count)]
        at = np.where(index.backward[arc], 1.0 - self.fraction[point], self.fraction[point])
        return point, arc, at


def _part(index: StreetIndex, arc: Indices, part: Floats) -> Indices:
    """Return the weights of parts of arcs, without the turns into them."""
    own = index.graph.weight[arc].astype(np.int64) - _turn(index, arc)
    return np.rint(part * own).astype(np.int64)


def _turn(index: StreetIndex, arc: Indices) -> Indices:
    streets = index.graph.streets
    return (
        np.zeros(len(arc), np.int64) if streets is None or streets.turn is None else streets.turn[arc].astype(np.int64)
    )


def many_starts(index: StreetIndex, snaps: Sequence[Snap]) -> Connections:
    """Return the connections that `find_starts` finds for each point."""
    points = _Points(index, snaps)
    point, arc, at = points.arcs(index, np.flatnonzero(points.is_simple))
    node, weight = index.graph.head[arc].astype(np.int64), _part(index, arc, 1.0 - at)
    if not index.knows_turns:
        here = at == 0.0
        point, node = np.concatenate([point, point[here]]), np.concatenate([node, index.graph.tail[arc[here]]])
        weight = np.concatenate([weight, np.zeros(int(here.sum()), np.int64)])
    return _ends(index, snaps, points.is_simple, (point, node, weight), find_starts)


def many_goals(index: StreetIndex, snaps: Sequence[Snap]) -> Connections:
    """Return the connections that `find_goals` finds for each point."""
    points = _Points(index, snaps)
    point, arc, at = points.arcs(index, np.flatnonzero(points.is_simple))
    node, weight = index.graph.tail[arc].astype(np.int64), _turn(index, arc) + _part(index, arc, at)
    if not index.knows_turns:
        here = at == 1.0
        point, node = np.concatenate([point, point[here]]), np.concatenate([node, index.graph.head[arc[here]]])
        weight = np.concatenate([weight, np.zeros(int(here.sum()), np.int64)])
    return _ends(index, snaps, points.is_simple, (point, node, weight), find_goals)


def _ends(
    index: StreetIndex,
    snaps: Sequence[Snap],
    is_simple: Bools,
    found: tuple[Indices, Indices, Indices],
    find: Callable[[StreetIndex, Snap], list[PhantomNode]],
) -> Connections:
    """Return the connections of simple points, and of the others as `find` returns them; for each node the least."""
    others = [
        (row, end.node, end.weight) for row in np.flatnonzero(~is_simple).tolist() for end in find(index, snaps[row])
    ]
    more = np.array(others, np.int64).reshape(-1, 3).T
    point, node, weight = (np.concatenate(pair) for pair in zip(found, more, strict=True))
    order = np.lexsort((weight, node, point))
    point, node, weight = point[order], node[order], weight[order]
    is_least = np.ones(len(point), np.bool_)
    is_least[1:] = (point[1:] != point[:-1]) | (node[1:] != node[:-1])
    count = np.bincount(point[is_least], minlength=len(snaps))
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
    return Connections(first, node[is_least].astype(np.uint32), weight[is_least].astype(np.uint32))


def many_direct(index: StreetIndex, starts: Sequence[Snap], goals: Sequence[Snap]) -> Indices:
    """Return the paths from points to others that pass no node: start, goal and weight of each, shape (k, 3)."""
    here, there = _Points(index, starts), _Points(index, goals)
    # Pairs of points on the same street, and the arcs of it that lead from one to the other.
    order = np.argsort(there.polyline, kind="stable")
    simple = np.flatnonzero(here.is_simple)
    low, high = (np.searchsorted(there.polyline[order], here.polyline[simple], side) for side in ("left", "right"))
    start, goal = np.repeat(simple, high - low), order[ranges(low, high - low)]
    first, arcs = index.arcs_by_polyline
    lines = here.polyline[start]
    count = first[lines + 1] - first[lines]
    start, goal, arc = np.repeat(start, count), np.repeat(goal, count), arcs[ranges(first[lines], count)]
    begin, end = (
        np.where(index.backward[arc], 1.0 - points.fraction[rows], points.fraction[rows])
        for points, rows in ((here, start), (there, goal))
    )
    leads = begin <= end
    found = np.stack([start[leads], goal[leads], _part(index, arc[leads], (end - begin)[leads])], axis=1)
    same_street = None if here.is_simple.all() else SameStreet(index, goals)
    others = [
        (row, number, weight)
        for row in np.flatnonzero(~here.is_simple).tolist()
        for number, weight, *_ in (same_street.ways_from(starts[row]) if same_street is not None else ())
    ]
    found = np.concatenate([found, np.array(others, np.int64).reshape(-1, 3)])
    found = found[np.lexsort(found.T[::-1])]
    is_least = np.ones(len(found), np.bool_)
    is_least[1:] = (found[1:, :2] != found[:-1, :2]).any(axis=1)
    return found[is_least]
