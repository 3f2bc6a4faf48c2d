"""Legs of a route: the best paths from each place to the next.

A route passes a via point without turning round there. On a street it goes on in the same direction; at a junction it
obeys the turn restrictions of the graph. OSRM calls this ``continue_straight``. So there may be two or more states in
which a route passes a point (`ViaState`), and the best one depends on the legs that follow. The best sequence is a
shortest path in a small graph of these states, found by dynamic programming: one search for each state at the next
point, from all states at the point before, each with the weight of the path up to it. If no route goes on from a point,
the route turns round there after all, as seldom as possible.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, Terminal
from vkssp.prepared.found_paths import Shortest
from vkssp.prepared.seed_groups import Groups
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import ViaState, find_direct, find_goals, find_starts, find_via_states
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver

_NO_ARCS = np.zeros(0, np.int64)
_Found = TypeVar("_Found")
# Yields the seeds and targets of searches, takes the path of each, and returns what is made of them.
_Searches = Generator[tuple[list[Terminal], list[Terminal]], "Shortest | None", _Found]


class LegPath(NamedTuple):
    """Path between two snapped points: the arcs that they lie on, unless they are at junctions, and those in between.

    A direct path stays on one arc, or at one junction. Any other path goes first to the node of `first`, then along the
    arcs `inner`, then from the node of `last` to the second point.
    """

    weight: int
    first: PhantomNode
    inner: npt.NDArray[np.int64]
    last: PhantomNode
    direct: bool = False


class _Arrival(NamedTuple):
    """Best arrival at a point in one of the states in which a route may pass it.

    `turns` is how often the route turned round at a via point up to here, `weight` the weight of the route up to here,
    `leg_path` the path of the last leg, and `before` the arrival at which this path begins.
    """

    turns: int
    weight: int
    leg_path: LegPath | None = None
    before: _Arrival | None = None


class _Departure(NamedTuple):
    """State in which a route goes on from a point: the state of its arrival, or any state after turning round there."""

    turns: int
    arrival: _Arrival
    via_state: ViaState


def find_leg_paths(
    solver: Solver | SolverPool, index: StreetIndex, snaps: Sequence[Snap], straight: bool
) -> list[LegPath] | int:
    """Return the best paths from each of some points to the next.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`.
    index : StreetIndex
        The streets.
    snaps : sequence of Snap
        The points, two or more.
    straight : bool
        Whether the route goes on in the direction of its arrival at the points in between.

    Returns
    -------
    list of LegPath or int
        One path for each leg, one fewer than points; or the number of the first leg, from 0, that has no path.
    """
    searches = _searches_of_legs(index, snaps, straight)
    found: Shortest | None = None
    while True:
        try:
            ends = searches.send(found)
        except StopIteration as ended:
            made: list[LegPath] | int = ended.value
            return made
        found = solver.search_path(*ends)


def find_many_leg_paths(
    solver: Solver | SolverPool, index: StreetIndex, routes: Sequence[Sequence[Snap]], straight: bool
) -> list[list[LegPath] | int]:
    """Return what `find_leg_paths` does for each of many sequences of points, whose searches are made together."""
    results: list[list[LegPath] | int] = [0] * len(routes)
    waiting = [(row, _searches_of_legs(index, snaps, straight)) for row, snaps in enumerate(routes)]
    answers: list[Shortest | None] = [None] * len(routes)
    while waiting:
        asked = []
        for (row, searches), answer in zip(waiting, answers, strict=True):
            try:
                asked.append((row, searches, searches.send(answer)))
            except StopIteration as ended:
                results[row] = ended.value
        waiting = [(row, searches) for row, searches, _ in asked]
        if asked:
            found = solver.search_paths(*(Groups.of([ends[side] for *_, ends in asked]) for side in (0, 1)))
            answers = [found.path(at) if found.target[at] >= 0 else None for at in range(len(asked))]
    return results


def _searches_of_legs(index: StreetIndex, snaps: Sequence[Snap], straight: bool) -> _Searches[list[LegPath] | int]:
    """Make the searches of `find_leg_paths`, and return its result."""
    departures = [_Departure(0, _Arrival(0, 0), _origin(index, snaps[0]))]
    arrivals: list[_Arrival] = []
    for leg, (here, there) in enumerate(pairwise(snaps)):
        is_last = leg == len(snaps) - 2
        via_states = find_via_states(index, there) if straight and not is_last else [_destination(index, there)]
        reached = []
        for via_state in via_states:
            reached.append(((yield from _arrive(index, here, there, departures, via_state)), via_state))
        departures = [_Departure(a.turns, a, via_state) for a, via_state in reached if a is not None]
        arrivals = [departure.arrival for departure in departures]
        if not arrivals:
            return leg
        if not is_last:
            best = min(arrivals, key=lambda a: (a.turns, a.weight))
            # If the route need not keep its direction, turning round is as good as going on.
            turned = _Departure(best.turns + straight, best, _origin(index, there))
            departures = [*departures, turned] if straight else [turned]
    leg_paths: list[LegPath] = []
    arrival: _Arrival | None = arrivals[0]
    while arrival is not None and arrival.leg_path is not None:
        leg_paths.append(arrival.leg_path)
        arrival = arrival.before
    return leg_paths[::-1]


def merged(index: StreetIndex, leg_paths: Sequence[LegPath]) -> LegPath | None:
    """Return consecutive paths as one path; None if it turns round, or leaves the streets, between two of them."""
    if any(end.metres > 0.0 for path in leg_paths for end in (path.first, path.last)):
        return None
    pieces: list[tuple[int, float, float]] = []
    for path in leg_paths:
        for arc, begin, end in _pieces(path):
            # A graph with turns may have several arcs along a street, by what they remember.
            if pieces and pieces[-1][2] == begin and _is_same_street(index, pieces[-1][0], arc):
                pieces[-1] = pieces[-1][0], pieces[-1][1], end
            elif begin < end or not pieces:
                pieces.append((arc, begin, end))
    first, last = leg_paths[0].first, leg_paths[-1].last
    begun, ended = first.arc >= 0, last.arc >= 0 and pieces[-1][2] == last.at
    ended = ended and _is_same_street(index, pieces[-1][0], last.arc)
    if any(begin > 0.0 for _, begin, _ in pieces[begun:]) or any(
        end < 1.0 for *_, end in pieces[: len(pieces) - ended]
    ):
        return None
    direct = begun and ended and len(pieces) == 1
    if begun and not direct:
        first = PhantomNode(int(index.graph.head[first.arc]), 0, first.arc, first.at)
    if not ended:
        last = PhantomNode(int(index.graph.head[pieces[-1][0]]) if pieces else first.node, 0)
    elif not direct:
        arc = pieces[-1][0]
        last = PhantomNode(int(index.graph.tail[arc]), 0, arc, last.at)
    inner = np.array([arc for arc, *_ in pieces[begun : max(begun, len(pieces) - ended)]], np.int64)
    return LegPath(sum(path.weight for path in leg_paths), first, inner, last, direct)


def _is_same_street(index: StreetIndex, one: int, other: int) -> bool:
    """Return whether two arcs run along the same street in the same direction."""
    line, backward = index.polyline_of, index.backward
    return bool(line[one] == line[other] and backward[one] == backward[other])


def _pieces(path: LegPath) -> list[tuple[int, float, float]]:
    """Return the arcs of a path in order, each with the parts of it at which the path enters and leaves it."""
    first, last = path.first, path.last
    if path.direct:
        return [(first.arc, first.at, last.at)] if first.arc >= 0 else []
    found = [(first.arc, first.at, 1.0)] if first.arc >= 0 else []
    found += [(arc, 0.0, 1.0) for arc in path.inner.tolist()]
    return found + ([(last.arc, 0.0, last.at)] if last.arc >= 0 else [])


def _origin(index: StreetIndex, snap: Snap) -> ViaState:
    return ViaState([], find_starts(index, snap))


def _destination(index: StreetIndex, snap: Snap) -> ViaState:
    return ViaState(find_goals(index, snap), [])


def _arrive(
    index: StreetIndex, here: Snap, there: Snap, departures: Sequence[_Departure], via_state: ViaState
) -> _Searches[_Arrival | None]:
    """Return the best arrival at a point in one of the states to pass it, None if there is none."""
    for turns in sorted({departure.turns for departure in departures}):
        group = [departure for departure in departures if departure.turns == turns]
        found = yield from _best_path(index, here, there, group, via_state)
        if found is not None:
            before, leg_path = found
            return _Arrival(turns, before.weight + leg_path.weight, leg_path, before)
    return None


def _best_path(
    index: StreetIndex, here: Snap, there: Snap, departures: Sequence[_Departure], via_state: ViaState
) -> _Searches[tuple[_Arrival, LegPath] | None]:
    """Return the best path from any of some departures, and the arrival that it continues."""
    least = min([d.arrival.weight for d in departures])  # only the differences of weights have to fit into 32 bits
    seeds: dict[int, tuple[int, _Departure, PhantomNode]] = {}
    direct: tuple[int, _Departure, LegPath] | None = None
    for departure in departures:
        ahead = departure.arrival.weight - least
        for end in departure.via_state.starts:
            if end.node not in seeds or ahead + end.weight < seeds[end.node][0]:
                seeds[end.node] = ahead + end.weight, departure, end
        along = find_direct(index, here, there, departure.via_state, via_state)
        if along is not None and (direct is None or ahead + along[0] < direct[0]):
            weight, first, last = along
            direct = ahead + weight, departure, LegPath(weight, first, _NO_ARCS, last, direct=True)
    starts = sorted(seeds.values(), key=itemgetter(0))[:MAX_TERMINALS]
    found = None
    if starts and via_state.goals:
        goals = [(end.node, end.weight) for end in via_state.goals]
        found = yield [(end.node, weight) for weight, _, end in starts], goals
    if found is not None:
        weight, seed, target, arcs = found
        ahead, departure, first = starts[seed]
        # Of two paths with the same total weight, the one from the arrival with the smaller weight is taken.
        if direct is not None and (direct[0], direct[1].arrival.weight) <= (weight, departure.arrival.weight):
            return direct[1].arrival, direct[2]
        if index.avoided is not None:
            arcs = index.avoided.arc_ids[arcs]
        return departure.arrival, LegPath(weight - ahead + first.weight, first, arcs, via_state.goals[target])
    return None if direct is None else (direct[1].arrival, direct[2])
