"""Kernel of the phantom nodes of many points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS
from vkssp.jit import jit, jit_part

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@jit_part
def weight_before(at: Any, side: int, share: float, from_end: bool, passed: Any, pieces: Any) -> Any:
    """Return the whole units of a street before a point on its piece that begins at `at`; see `part_weights`."""
    own = np.int64(pieces[at, side])
    units = np.int64(math.floor(own * (1.0 - share if from_end else share)))
    return np.int64(passed[at + side, side]) + (units if from_end == (side > 0) else own - units)


@jit_part
def add_phantom(
    node: Any, weight: Any, arc: Any, at: float, begin: Any, end: Any, in_order: bool, numbers: Ints, parts: Floats
) -> Any:
    """Add a phantom node to those of a point, unless a better one is there, and return their end.

    If `in_order`, the better one of two at a node takes the place of the other; otherwise it goes to the end.
    """
    here = begin
    while here < end and numbers[here, 0] != node:
        here += 1
    if here == end:
        end += 1
    elif numbers[here, 1] <= weight:
        return end
    elif not in_order:
        while here < end - 1:
            for column in range(3):
                numbers[here, column] = numbers[here + 1, column]
            parts[here] = parts[here + 1]
            here += 1
    numbers[here, 0], numbers[here, 1], numbers[here, 2], parts[here] = node, weight, arc, at
    return end


@jit
def find_phantoms(
    are_goals: bool,
    polyline: Ints,
    fraction: Floats,
    segment: Ints,
    share: Floats,
    is_apart: Bools,
    first_of_line: Ints,
    arcs_of_line: Ints,
    along: Any,
    tail: Any,
    first_out: Any,
    ends_of_line: Any,
    place: Ints,
    node_at: Ints,
    first_at: Ints,
    beside_unusable: Any,
    begins: Any,
    weight: Any,
    turn: Any,
    bonus: Any,
    passed: Any,
    pieces: Any,
    from_end: Any,
    first: Ints,
    numbers: Ints,
    parts: Floats,
) -> int:
    """Find the phantom nodes of points, and return their number; -1 if there is too little room for them.

    The points are columns of `Snaps`. `along` is that of the index, and `ends_of_line` a node at each end of its
    streets. `place`, `node_at` and `first_at` are its `Junctions`, empty if each node is a place; then a point at the
    end of a street is at no junction. `begins` says which nodes trips may reach first, empty if all. `turn` and
    `bonus` are the weights of turns and what is taken off them, `passed`, `pieces` and `from_end` those of pieces of
    streets, each empty if there are none.

    `first` receives the offset of each point's first phantom node. A row of `numbers` is a node, a weight and an arc,
    and `parts` has the part of the arc before the point. Those with `is_apart` are left out; so are points at junctions
    beside streets on which no trip begins, for which it is set.
    """
    total: Any = np.int64(0)
    knows_turns = len(place) > 0
    for point in range(len(polyline)):
        first[point] = total
        line = polyline[point]
        if line < 0 or is_apart[point]:
            continue
        end: Any = total
        at = fraction[point]
        if knows_turns and (at == 0.0 or at == 1.0):
            begin_node = np.int64(ends_of_line[line, 1 if at == 1.0 else 0])
            if beside_unusable[begin_node]:
                is_apart[point] = True
                continue
            junction = place[begin_node]
            for row in range(first_at[junction], first_at[junction + 1]):
                node = node_at[row]
                if are_goals:
                    if end + 1 > len(parts):
                        return -1
                    end = add_phantom(node, np.int64(0), np.int64(-1), 0.0, total, end, True, numbers, parts)
                    continue
                begin_arc, end_arc = np.int64(first_out[node]), np.int64(first_out[node + 1])
                if end + end_arc - begin_arc > len(parts):
                    return -1
                for arc in range(begin_arc, end_arc):
                    whole = np.int64(weight[arc])
                    if len(turn) > 0:
                        whole -= np.int64(turn[arc])
                    if len(bonus) > 0:
                        whole += np.int64(bonus[arc])
                    head = np.int64(along[arc, 2])
                    if len(begins) > 0 and not begins[head]:
                        continue
                    end = add_phantom(head, whole, arc, 0.0, total, end, True, numbers, parts)
        else:
            begin_row, end_row = first_of_line[line], first_of_line[line + 1]
            if end + 2 * (end_row - begin_row) > len(parts):
                return -1
            for row in range(begin_row, end_row):
                arc = arcs_of_line[row]
                if not are_goals and len(begins) > 0 and not begins[np.int64(along[arc, 2])]:
                    continue
                low, high = np.int64(along[arc, 0]), np.int64(along[arc, 1])
                side = 1 if low > high else 0
                before = 1.0 - at if side > 0 else at
                turned = np.int64(0)
                if len(turn) > 0:
                    turned += np.int64(turn[arc])
                if len(bonus) > 0:
                    turned -= np.int64(bonus[arc])
                whole = np.int64(weight[arc]) - turned
                found: Any = np.int64(round((before if are_goals else 1.0 - before) * whole))
                # Other weights may have been set since.
                if len(passed) > 0 and passed[high, side] == whole:
                    found = whole
                    if are_goals or before > 0.0:
                        piece = (high if side > 0 else low) + segment[point]
                        found = weight_before(piece, side, share[point], from_end[line], passed, pieces)
                        if not are_goals:
                            found = whole - found
                node = np.int64(along[arc, 2])
                if are_goals:
                    node = np.int64(tail[arc])
                    found = max(turned + found, np.int64(0))
                end = add_phantom(node, found, arc, before, total, end, knows_turns, numbers, parts)
            if not knows_turns:
                # A trip that begins or ends at a junction is at its node, whichever street of it was found.
                for row in range(begin_row, end_row):
                    arc = arcs_of_line[row]
                    before = 1.0 - at if along[arc, 0] > along[arc, 1] else at
                    if before == (1.0 if are_goals else 0.0):
                        node = np.int64(along[arc, 2]) if are_goals else np.int64(tail[arc])
                        end = add_phantom(node, np.int64(0), np.int64(-1), 0.0, total, end, False, numbers, parts)
        if knows_turns:
            for last in range(total + 1, end):  # the nearest first, of equally near ones the one that was found first
                node, found, arc, before = numbers[last, 0], numbers[last, 1], numbers[last, 2], parts[last]
                here = last
                while here > total and numbers[here - 1, 1] > found:
                    for column in range(3):
                        numbers[here, column] = numbers[here - 1, column]
                    parts[here] = parts[here - 1]
                    here -= 1
                numbers[here, 0], numbers[here, 1], numbers[here, 2], parts[here] = node, found, arc, before
            end = min(end, total + MAX_TERMINALS)
        total = end
    first[len(polyline)] = total
    return int(total)
