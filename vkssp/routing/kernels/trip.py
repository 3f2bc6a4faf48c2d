"""Kernels of round trips: the best order of a few places, and a good order of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Longest part of a tour that is moved elsewhere.
_MOVED = 3
# What is gained by less than this part is an error of rounding.
_GAIN = 1e-12


@jit
def best_tour(cost: Floats, rest: Any, tour: Ints) -> None:
    """Write the shortest tour from the first place through all others and back, by dynamic programming.

    `cost` has the cost of each leg, shape (n, n). `rest` has room for the cost of the rest of the tour, shape (2**(n -
    1), n). Of several shortest tours the last in lexicographic order is taken, as in OSRM.
    """
    others = len(cost) - 1
    whole = (1 << others) - 1
    # A set has the places, but for the first, that the tour has visited.
    for visited in range(whole, -1, -1):
        for here in range(len(cost)):
            least = np.inf
            if visited == whole:
                least = cost[here, 0]
            for there in range(others):
                if not visited >> there & 1:
                    least = min(least, cost[here, there + 1] + rest[visited | 1 << there, there + 1])
            rest[visited, here] = least
    here, visited, tour[0] = 0, 0, 0
    for at in range(1, len(cost)):
        for there in range(others - 1, -1, -1):
            if visited >> there & 1:
                continue
            if cost[here, there + 1] + rest[visited | 1 << there, there + 1] <= rest[visited, here] * (1.0 + _GAIN):
                visited |= 1 << there
                here = there + 1
                break
        tour[at] = here


@jit
def insert_farthest(cost: Floats, first: int, near: Floats, tour: Ints) -> None:
    """Write a tour by farthest insertion: again and again the place farthest from the tour, where it costs least.

    It begins with a given place and the one farthest from that.
    `near` has room for the distance of each place from the tour, shape (n,).
    """
    count, second, most = len(cost), 0, -1.0
    for other in range(count):
        if other != first and cost[first, other] + cost[other, first] > most:
            second, most = other, cost[first, other] + cost[other, first]
    tour[0], tour[1] = first, second
    for a in range(count):
        near[a] = min(min(cost[first, a], cost[a, first]), min(cost[second, a], cost[a, second]))
    near[first] = near[second] = -1.0
    for size in range(2, count):
        new = np.argmax(near)
        near[new] = -1.0
        best, least = 0, np.inf
        for at in range(size):
            before, after = tour[at], tour[(at + 1) % size]
            more = cost[before, new] + cost[new, after] - cost[before, after]
            if more < least:
                best, least = at, more
        for at in range(size, best + 1, -1):
            tour[at] = tour[at - 1]
        tour[best + 1] = new
        for a in range(count):
            if near[a] >= 0.0:
                near[a] = min(near[a], min(cost[new, a], cost[a, new]))


@jit
def improve(cost: Floats, tour: Ints, other: Ints, passes: int) -> int:
    """Improve a tour by moving parts of it, either way round, until none gains; return the number of moves.

    `other` has room for a tour. `passes` is the largest number of times that all parts are tried.
    """
    count, moves = len(tour), 0
    for _ in range(passes):
        before = moves
        for begin in range(count):
            for size in range(1, min(_MOVED, count - 2) + 1):
                # The part is put at the end of the other array, after the rest of the tour.
                for at in range(count):
                    other[at] = tour[(begin + size + at) % count]
                rest = count - size
                first, last = other[rest], other[count - 1]
                forth = back = 0.0
                for at in range(rest, count - 1):
                    forth += cost[other[at], other[at + 1]]
                    back += cost[other[at + 1], other[at]]
                whole = cost[other[rest - 1], first] + forth + cost[last, other[0]]
                closed = cost[other[rest - 1], other[0]]
                best, where, turned = whole * (1.0 - _GAIN), -1, False
                for at in range(rest):
                    a, b = other[at], other[at + 1] if at + 1 < rest else other[0]
                    saved = cost[a, b] - closed
                    straight = cost[a, first] + forth + cost[last, b] - saved
                    if straight < best:
                        best, where, turned = straight, at, False
                    reverse = cost[a, last] + back + cost[first, b] - saved
                    if reverse < best:
                        best, where, turned = reverse, at, True
                if where < 0:
                    continue
                moves += 1
                for at in range(where + 1):
                    tour[at] = other[at]
                for at in range(size):
                    tour[where + 1 + at] = other[count - 1 - at] if turned else other[rest + at]
                for at in range(where + 1, rest):
                    tour[size + at] = other[at]
        if moves == before:
            break
    return moves
