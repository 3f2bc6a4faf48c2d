"""Legs of a route: the best ways from each place to the next, and where they run.

A traveller passes a via point without turning round there: who comes along a street goes on along it, in the same
direction, and who comes to a junction obeys what the graph knows of turns there; OSRM calls that
``continue_straight``. So there may be two ways and more to pass each point, and which of them are best follows only
from what comes after. That is a shortest path in a small graph of ways to pass, found by dynamic programming: one
search for each of the ways to pass the next point, from all ways to pass the one before, each with what it takes to get
there. Where no way goes on, one turns round after all, as seldom as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS
from vkssp.routing.lines import Snap
from vkssp.routing.phantoms import ViaState, find_direct, find_goals, find_passages, find_starts
from vkssp.routing.snap import StreetIndex
from vkssp.solver.phantom_node import PhantomNode
from vkssp.solver.pool import SolverPool
from vkssp.solver.solver import Solver

_NO_ARCS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Way:
    """The way between two snapped points: the arcs that they lie on, unless at a junction, and those in between.

    A direct way stays on one arc, or at one junction; any other reaches the node of `first` first.
    """

    weight: int
    first: PhantomNode
    inner: npt.NDArray[np.int64]
    last: PhantomNode
    direct: bool = False


@dataclass(frozen=True, eq=False)
class _Arrival:
    """The best way to pass a point in one of the ways to do so.

    `turns` says how often one turned round at a point up to here, and `before` from which arrival the way comes.
    """

    turns: int
    weight: int
    way: Way | None = None
    before: _Arrival | None = None


@dataclass(frozen=True, eq=False)
class _Departure:
    """A way to go on from a point: after an arrival, or after turning round there."""

    turns: int
    arrival: _Arrival
    passage: ViaState


def find_ways(
    solver: Solver | SolverPool, index: StreetIndex, snaps: Sequence[Snap], straight: bool
) -> list[Way] | int:
    """Return the best ways from each of some points to the next.

    Parameters
    ----------
    solver : Solver or SolverPool
        Searches in `StreetIndex.searched`.
    index : StreetIndex
        The streets.
    snaps : sequence of Snap
        The points, two or more.
    straight : bool
        Whether one goes on in the direction that one came in, at the points in between.

    Returns
    -------
    list of Way or int
        One fewer than points; the number of the first leg without any way where there is none.
    """
    departures = [_Departure(0, _Arrival(0, 0), _origin(index, snaps[0]))]
    arrivals: list[_Arrival] = []
    for leg, (here, there) in enumerate(pairwise(snaps)):
        is_last = leg == len(snaps) - 2
        passages = find_passages(index, there) if straight and not is_last else [_destination(index, there)]
        reached = [(_arrive(solver, index, here, there, departures, passage), passage) for passage in passages]
        departures = [_Departure(a.turns, a, passage) for a, passage in reached if a is not None]
        arrivals = [departure.arrival for departure in departures]
        if not arrivals:
            return leg
        if not is_last:
            best = min(arrivals, key=lambda a: (a.turns, a.weight))
            # Without a direction to keep, going on is as good as turning round.
            turned = _Departure(best.turns + straight, best, _origin(index, there))
            departures = [*departures, turned] if straight else [turned]
    ways: list[Way] = []
    arrival: _Arrival | None = arrivals[0]
    while arrival is not None and arrival.way is not None:
        ways.append(arrival.way)
        arrival = arrival.before
    return ways[::-1]


def _origin(index: StreetIndex, snap: Snap) -> ViaState:
    return ViaState([], find_starts(index, snap))


def _destination(index: StreetIndex, snap: Snap) -> ViaState:
    return ViaState(find_goals(index, snap), [])


def _arrive(
    solver: Solver | SolverPool,
    index: StreetIndex,
    here: Snap,
    there: Snap,
    departures: Sequence[_Departure],
    passage: ViaState,
) -> _Arrival | None:
    """Return the best way to come to a point in one of the ways to pass it; None where there is none."""
    for turns, group in groupby(sorted(departures, key=lambda d: d.turns), key=lambda d: d.turns):
        found = _best_way(solver, index, here, there, list(group), passage)
        if found is not None:
            before, way = found
            return _Arrival(turns, before.weight + way.weight, way, before)
    return None


def _best_way(
    solver: Solver | SolverPool,
    index: StreetIndex,
    here: Snap,
    there: Snap,
    departures: Sequence[_Departure],
    passage: ViaState,
) -> tuple[_Arrival, Way] | None:
    """Return the best way from any of some departures, and the arrival that it goes on from."""
    least = min(d.arrival.weight for d in departures)  # only what one takes more than another has to fit into 32 bits
    seeds: dict[int, tuple[int, _Departure, PhantomNode]] = {}
    direct: tuple[int, _Departure, Way] | None = None
    for departure in departures:
        ahead = departure.arrival.weight - least
        for end in departure.passage.starts:
            if end.node not in seeds or ahead + end.weight < seeds[end.node][0]:
                seeds[end.node] = ahead + end.weight, departure, end
        along = find_direct(index, here, there, departure.passage, passage)
        if along is not None and (direct is None or ahead + along[0] < direct[0]):
            weight, first, last = along
            direct = ahead + weight, departure, Way(weight, first, _NO_ARCS, last, direct=True)
    starts = sorted(seeds.values(), key=lambda seed: seed[0])[:MAX_TERMINALS]
    found = None
    if starts and passage.goals:
        goals = [(end.node, end.weight) for end in passage.goals]
        found = solver.search_path([(end.node, weight) for weight, _, end in starts], goals)
    if found is not None:
        weight, seed, target, arcs = found
        ahead, departure, first = starts[seed]
        # Of two ways that take the same, the one that passes the points sooner.
        if direct is not None and (direct[0], direct[1].arrival.weight) <= (weight, departure.arrival.weight):
            return direct[1].arrival, direct[2]
        if index.avoided is not None:
            arcs = index.avoided.arc_ids[arcs]
        return departure.arrival, Way(weight - ahead + first.weight, first, arcs, passage.goals[target])
    return None if direct is None else (direct[1].arrival, direct[2])
