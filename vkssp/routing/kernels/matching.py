"""Kernels of map matching: the most probable streets of a trace, and the paths between its points.

A hidden Markov model (Newson and Krumm 2009): the states of a point of the trace are the directions of the streets near
it. Searches from all states of a point to all states of the next one end as soon as these are reached, or beyond the
length that is still plausible.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import METRES_PER_DEGREE
from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# By which a twin counts less among all paths, so that these do not count twice.
_TWIN = 5.0
# Detours, in metres, that are looked for at first, and states that are left out then, since they are less probable by
# this logarithm.
_FIRST_DETOUR_M, _BEAM = 250.0, 30.0
_SETTLED = np.uint32(2**32 - 1)


class Network(NamedTuple):
    """Graph that is searched: offsets of the arcs of nodes, and tail, head, weight and metres of each arc."""

    first_out: Any
    tail: Any
    head: Any
    weight: Any
    metres: Any


class Ends(NamedTuple):
    """Nodes at which paths from states begin, or at which paths to states end, state by state.

    `first` is the offset of each state's first one; `weight` and `metres` are those between node and state.
    """

    first: Ints
    node: Any
    weight: Ints
    metres: Floats


class States(NamedTuple):
    """States of all points of a trace, point by point.

    `first` is the offset of each point's first state, `line` a number of the street and direction, `at` metres from
    where that begins, `other` the same place in the other direction (-1 if there is none), and `emission` the logarithm
    of the probability that the trace is where it is. A `twin` is the same as another state: the beginning of a street
    where another one ends.
    """

    first: Ints
    line: Ints
    at: Floats
    other: Ints
    emission: Floats
    twin: Any


class Trace(NamedTuple):
    """Points of a trace.

    Latitude and longitude are in degrees, times in seconds, 0 if they are not known; `back` is by how many metres a
    vehicle that stands still may seem to go back.
    """

    lat: Floats
    lon: Floats
    time: Floats
    back: Floats


class Rules(NamedTuple):
    """Limits and costs of transitions.

    `speed` in metres per second bounds detours if times are known, else `detour` does, in metres. A gap longer than
    `gap`, in seconds or else in points, splits the trace. `beta` is the mean detour, and `turn` what turning round at a
    point costs, both in metres.
    """

    timed: bool
    speed: float
    detour: float
    gap: float
    beta: float
    turn: float


class Work(NamedTuple):
    """Arrays that searches use, by node; `seen` and `goal` are zero at first, and hold the number of a search."""

    key: Ints
    metres: Floats
    arc: Any
    seen: Ints
    goal: Ints
    heap: Any
    place: Any


class Found(NamedTuple):
    """What is found.

    By state: the logarithms of the probabilities of the best path, and of all paths, to it; the state before it;
    whether the path turned round there; and whether a path to the last point of its part passes it. By point: the part
    of the trace that it belongs to, -1 for none; its state; and the number of other states that are possible. By part:
    the confidence. `chain` has the points of the current part.
    """

    best: Floats
    total: Floats
    before: Ints
    turned: Any
    live: Any
    part: Ints
    state: Ints
    others: Ints
    confidence: Floats
    chain: Ints


@jit
def _crow_m(lat0: float, lon0: float, lat1: float, lon1: float) -> float:
    """Return the metres between two points on a sphere."""
    up, aside = math.radians(lat1 - lat0) / 2.0, math.radians(lon1 - lon0) / 2.0
    part = math.sin(up) ** 2 + math.cos(math.radians(lat0)) * math.cos(math.radians(lat1)) * math.sin(aside) ** 2
    return math.degrees(2.0 * math.asin(min(1.0, math.sqrt(part)))) * METRES_PER_DEGREE


@jit
def _improve(work: Any, stamp: int, node: Any, key: Any, metres: float, arc: int, size: Any) -> Any:
    """Take a path to a node if it is the best one so far; return the size of the heap."""
    heap, place = work.heap, work.place
    if work.seen[node] != stamp:
        work.seen[node] = stamp
        at = size
        size += 1
    elif place[node] == _SETTLED or work.key[node] <= key:
        return size
    else:
        at = np.int64(place[node])
    work.key[node], work.metres[node], work.arc[node] = key, metres, arc
    while at > 0:
        above = (at - 1) >> 1
        if work.key[heap[above]] <= key:
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = node
    place[node] = at
    return size


@jit
def _remove_least(work: Any, size: int) -> None:
    """Remove the root of a heap, which then has `size` entries."""
    heap, place = work.heap, work.place
    node, at, child = heap[size], 0, 1
    key = work.key[node]
    while child < size:
        if child + 1 < size and work.key[heap[child + 1]] < work.key[heap[child]]:
            child += 1
        if work.key[heap[child]] >= key:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
        child = 2 * at + 1
    if size > 0:
        heap[at] = node
        place[node] = at


@jit
def _search(
    network: Any, work: Any, stamp: int, seeds: Any, state: int, reach: float, wanted: int, goals: Any, goal: int
) -> None:
    """Search from a state until some wanted nodes are settled, not beyond nodes farther than `reach` metres.

    The search also ends when the best path to the state `goal` is known, if that is not negative.
    """
    size, bound = 0, np.int64(2**62)
    for i in range(seeds.first[state], seeds.first[state + 1]):
        size = _improve(work, stamp, np.int64(seeds.node[i]), seeds.weight[i], seeds.metres[i], -1, size)
    while size > 0:
        node = np.int64(work.heap[0])
        if work.key[node] >= bound:
            break
        size -= 1
        _remove_least(work, size)
        work.place[node] = _SETTLED
        if work.goal[node] == stamp:
            wanted -= 1
            if wanted == 0:
                break
            if goal >= 0:
                for i in range(goals.first[goal], goals.first[goal + 1]):
                    if goals.node[i] == node:
                        bound = min(bound, work.key[node] + goals.weight[i])
        key, metres = work.key[node], work.metres[node]
        if metres > reach:
            continue
        for arc in range(np.int64(network.first_out[node]), np.int64(network.first_out[node + 1])):
            there = np.int64(network.head[arc])
            size = _improve(
                work, stamp, there, key + np.int64(network.weight[arc]), metres + network.metres[arc], arc, size
            )


@jit
def _mark(work: Any, stamp: int, goals: Any, begin: int, end: int) -> int:
    """Mark the nodes at which paths to some states end, and return their number."""
    wanted = 0
    for i in range(goals.first[begin], goals.first[end]):
        node = goals.node[i]
        if work.goal[node] != stamp:
            work.goal[node] = stamp
            wanted += 1
    return wanted


@jit
def _best_goal(work: Any, stamp: int, goals: Any, state: int) -> int:
    """Return the node by which the best path that a search has found comes to a state; -1 if it has found none."""
    best, least = -1, np.int64(0)
    for i in range(goals.first[state], goals.first[state + 1]):
        node = goals.node[i]
        if work.seen[node] != stamp:
            continue
        key = work.key[node] + goals.weight[i]
        if best < 0 or key < least:
            best, least = i, key
    return best


@jit
def _transitions(
    network: Any, work: Any, trace: Any, states: Any, seeds: Any, goals: Any, rules: Any, found: Any, before: int,
    here: int, stamp: int,
) -> int:  # fmt: skip
    """Find the best path to each state of a point from those of an earlier one; return the number of searches so far.

    `found.best` is negative infinity where there is none.
    """
    begin, middle = states.first[before], states.first[before + 1]
    first, last = states.first[here], states.first[here + 1]
    for there in range(first, last):
        found.best[there] = found.total[there] = -np.inf
    crow = _crow_m(trace.lat[before], trace.lon[before], trace.lat[here], trace.lon[here])
    slack = rules.detour
    if rules.timed:
        slack = rules.speed * max(1.0, trace.time[here] - trace.time[before])
    back = max(trace.back[before], trace.back[here])
    top = -np.inf
    for state in range(begin, middle):
        top = max(top, found.best[state])
    for wide in range(2):
        reach, bound = crow + min(slack, _FIRST_DETOUR_M), top - _BEAM
        if wide:
            reach, bound = crow + slack, -np.inf
        is_reached = False
        for state in range(begin, middle):
            other = states.other[state]
            score = found.best[state]
            if other >= 0:
                score = max(score, found.best[other] - rules.turn / rules.beta)
            if score == -np.inf or score < bound:
                continue
            stamp += 1
            wanted = _mark(work, stamp, goals, first, last)
            _search(network, work, stamp, seeds, state, reach, wanted, goals, -1)
            for there in range(first, last):
                if states.emission[there] == -np.inf:
                    continue
                ahead = states.at[there] - states.at[state]
                if states.line[there] == states.line[state] and ahead >= -back:
                    metres = ahead
                else:
                    goal = _best_goal(work, stamp, goals, there)
                    if goal < 0:
                        continue
                    metres = work.metres[goals.node[goal]] + goals.metres[goal]
                detour = abs(metres - crow)
                if detour >= slack:
                    continue
                for turned in range(2):
                    source, cost = state, -detour / rules.beta + states.emission[there]
                    if turned:
                        source = other
                        cost -= rules.turn / rules.beta
                    if source < 0 or found.best[source] == -np.inf:
                        continue
                    is_reached = True
                    if found.best[source] + cost > found.best[there]:
                        found.best[there] = found.best[source] + cost
                        found.before[there] = source
                        found.turned[there] = turned
                    more, less = found.total[there], found.total[source] + cost - _TWIN * states.twin[there]
                    if less > more:
                        more, less = less, more
                    found.total[there] = more + math.log1p(math.exp(less - more))
        if is_reached or slack <= _FIRST_DETOUR_M:
            break
    return stamp


@jit
def _finish(states: Any, found: Any, count: int, part: int) -> int:
    """Follow the best path back through the points of a part of a trace; return the number of parts."""
    chain = found.chain
    if count < 2:
        return part
    last = chain[count - 1]
    best = states.first[last]
    more = -np.inf
    for state in range(states.first[last], states.first[last + 1]):
        found.live[state] = found.best[state] > -np.inf
        if found.best[state] > found.best[best]:
            best = state
        more = max(more, found.total[state])
    total = 0.0
    for state in range(states.first[last], states.first[last + 1]):
        total += math.exp(found.total[state] - more)
    found.confidence[part] = min(1.0, math.exp((found.best[best] - more - math.log(total)) / count))
    for at in range(count - 1, -1, -1):
        point = chain[at]
        found.part[point], found.state[point] = part, best
        others = -1
        for state in range(states.first[point], states.first[point + 1]):
            if found.live[state]:
                others += 1
                if at > 0:
                    found.live[found.before[state]] = True
        found.others[point] = others
        best = found.before[best]
    return part + 1


@jit
def match(network: Any, work: Any, trace: Any, states: Any, seeds: Any, goals: Any, rules: Any, found: Any) -> int:
    """Find the most probable state of each point of a trace, in one part or several; return the number of parts.

    If no path leads from the last point on to the next one, both are left out, and further ones, until a path leads
    past them, or none is left: then the trace is split before the first point that could not be reached.
    """
    chain = found.chain
    count = parts = here = stamp = 0
    broken, whole = -1, 0
    while here < len(trace.lat):
        first, last = states.first[here], states.first[here + 1]
        if count == 0 and broken < 0:
            for state in range(first, last):
                found.best[state] = states.emission[state]
                found.total[state] = states.emission[state] - _TWIN * states.twin[state]
                found.before[state] = -1
                if states.emission[state] > -np.inf:
                    chain[0], count = here, 1
            here += 1
            continue
        is_split = count == 0
        if count > 0:
            before = chain[count - 1]
            gap = trace.time[here] - trace.time[before] if rules.timed else float(here - before)
            is_split = gap > rules.gap
        if is_split:
            if broken < 0:
                broken, whole = here, count
            parts = _finish(states, found, whole, parts)
            here, count, broken = broken, 0, -1
            continue
        is_reached = False
        if last > first:
            stamp = _transitions(
                network, work, trace, states, seeds, goals, rules, found, chain[count - 1], here, stamp
            )
            for state in range(first, last):
                is_reached |= found.best[state] > -np.inf
        if is_reached:
            chain[count] = here
            count, broken = count + 1, -1
        else:
            if broken < 0:
                broken, whole = here, count
            count -= 1
        here += 1
        if here == len(trace.lat) and broken >= 0:
            # What is left out may be matched by itself.
            parts = _finish(states, found, whole, parts)
            here, count, broken = broken, 0, -1
    return _finish(states, found, count, parts)


@jit
def find_paths(network: Any, work: Any, seeds: Any, goals: Any, stamp: int, ends: Any, arcs: Any) -> int:
    """Find the best paths from each state to the next of other states, and return the number of their arcs.

    The path from state `i` of `seeds` leads to state `i` of `goals`. A row of `ends` gets the offset of its first arc
    in `arcs`, their number, and the numbers of the seed and of the goal that it joins. If there are more arcs than
    `arcs` has room for, they are only counted.
    """
    total = 0
    for leg in range(len(ends)):
        if goals.first[leg] == goals.first[leg + 1]:
            continue
        stamp += 1
        wanted = _mark(work, stamp, goals, leg, leg + 1)
        _search(network, work, stamp, seeds, leg, np.inf, wanted, goals, leg)
        goal = _best_goal(work, stamp, goals, leg)
        ends[leg, 0], ends[leg, 2], ends[leg, 3] = total, -1, goal
        if goal < 0:
            continue
        node, count = np.int64(goals.node[goal]), 0
        while work.arc[node] >= 0:
            if total + count < len(arcs):
                arcs[total + count] = work.arc[node]
            count += 1
            node = np.int64(network.tail[work.arc[node]])
        ends[leg, 1] = count
        for i in range(seeds.first[leg], seeds.first[leg + 1]):
            if seeds.node[i] == node and (ends[leg, 2] < 0 or seeds.weight[i] < seeds.weight[ends[leg, 2]]):
                ends[leg, 2] = i
        if total + count <= len(arcs):
            for i in range(count // 2):
                a, b = total + i, total + count - 1 - i
                arcs[a], arcs[b] = arcs[b], arcs[a]
        total += count
    return total
