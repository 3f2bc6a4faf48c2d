"""Kernels of steps: the manoeuvres along a leg.

Angles and names decide where steps are and what they say, after OSRM's guidance
(https://github.com/Project-OSRM/osrm-backend, src/guidance): a turn is straight up to 20 degrees, slight up to 40 and
sharp from 120. The obvious continuation is along the same street, or along a street that is far straighter than all
others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Types of steps and their modifiers; kernels give their indices.
TYPES = (
    "depart", "turn", "continue", "new name", "fork", "ramp", "merge", "roundabout", "exit roundabout", "board",
    "disembark",
)  # fmt: skip
MODIFIERS = (
    "", "straight", "slight right", "right", "sharp right", "uturn", "slight left", "left", "sharp left"
)  # fmt: skip
_TURN, _CONTINUE, _NEW_NAME, _FORK, _RAMP, _MERGE, _ROUNDABOUT, _EXIT, _BOARD, _DISEMBARK = range(1, 11)
_AHEAD, _SLIGHT_RIGHT, _RIGHT, _SHARP_RIGHT, _UTURN, _SLIGHT_LEFT = range(1, 7)
#: Bits of the flags of an arc.
ROUND, LINK, CARRIED = 1, 2, 4

STRAIGHT, SLIGHT, SHARP, BACK = 20.0, 40.0, 120.0, 170.0
# A street with the same name continues the street before it, up to this angle.
_BEND = 60.0
# Slip roads shorter than this, in metres, are part of the turn that they serve.
_SHORT_LINK_M = 120.0


@jit
def modifier_of(angle: float) -> int:
    """Return the modifier of a turn by an angle in degrees, positive to the right."""
    size = abs(angle)
    if size <= STRAIGHT:
        return _AHEAD
    if size >= BACK:
        return _UTURN
    found = _SLIGHT_RIGHT if size <= SLIGHT else _SHARP_RIGHT if size >= SHARP else _RIGHT
    return found if angle > 0.0 else found + _SLIGHT_LEFT - _SLIGHT_RIGHT


@jit
def decide(
    before: Any,
    street: Any,
    entry: Any,
    node: Any,
    current: Any,
    onto: bool,
    first_out: Any,
    lengths: Any,
    polyline_of: Any,
    backward: Any,
    away: Floats,
    name: Any,
    ref: Any,
    flags: Any,
) -> tuple[int, int]:
    """Return type and modifier of the manoeuvre from one arc to another; type 0 if the route is obvious.

    The alternatives are the arcs out of `node`, except `entry` and turning round. `entry` is `street` unless slip roads
    lie between (`onto`). `current` is the arc whose name was told last.
    """
    was, now = flags[before], flags[street]
    if not onto:
        if (was ^ now) & CARRIED:
            return (_BOARD if now & CARRIED else _DISEMBARK), 0
        if was & now & ROUND:
            return 0, 0
    here, there = np.int64(polyline_of[before]), np.int64(polyline_of[street])
    arrives = away[here, 0 if backward[before] else 1] + 180.0
    angle = (away[there, 1 if backward[street] else 0] - arrives + 180.0) % 360.0 - 180.0
    if was & ROUND and not onto:
        return _EXIT, modifier_of(angle)
    same = (name[street] != 0 and name[street] == name[before]) or (ref[street] != 0 and ref[street] == ref[before])
    size = abs(angle)
    # Whether there are others; whether no rival is nearly as straight; whether some are narrow, and on which sides of
    # all others, and of those that are narrow, the street leaves.
    others, clear, narrow = False, True, False
    right = left = narrow_right = narrow_left = True
    for arc in range(first_out[node], first_out[node + 1]):
        line = np.int64(polyline_of[arc])
        if not lengths[arc] > 0.0 or (line == here and backward[arc] != backward[before]):
            continue
        if line == polyline_of[entry] and backward[arc] == backward[entry]:
            continue
        others = True
        other = (away[line, 1 if backward[arc] else 0] - arrives + 180.0) % 360.0 - 180.0
        right, left = right and angle > other, left and angle < other
        if abs(other) < SLIGHT:
            narrow, narrow_right, narrow_left = True, narrow_right and angle > other, narrow_left and angle < other
        if same:
            rival = (name[arc] != 0 and name[arc] == name[before]) or (ref[arc] != 0 and ref[arc] == ref[before])
        else:
            rival = not (flags[arc] & LINK and not now & LINK)
        if rival and abs(other) < max(2.0 * size, size + STRAIGHT):
            clear = False
    uturn = here == there and backward[before] != backward[street]
    if not onto:
        if was & LINK and not now & LINK and size < _BEND and not others:
            return _MERGE, modifier_of(angle)
        if now & LINK and not was & LINK and others:
            return _RAMP, _SLIGHT_RIGHT if right else _SLIGHT_LEFT if left else _AHEAD
    if uturn:
        return (_CONTINUE if same else _TURN), _UTURN
    if (size < (_BEND if same else SLIGHT) and clear) or (not others and not onto):
        told = (name[street] != 0 and name[street] == name[current]) or (
            ref[street] != 0 and ref[street] == ref[current]
        )
        is_named = name[street] != 0 or ref[street] != 0
        return (_NEW_NAME, modifier_of(angle)) if is_named and not told else (0, 0)
    if size < SLIGHT and narrow:
        return _FORK, _SLIGHT_RIGHT if narrow_right else _SLIGHT_LEFT if narrow_left else _AHEAD
    return (_CONTINUE if same else _TURN), modifier_of(angle)


@jit
def find_manoeuvres(
    arcs: Ints,
    nodes: Any,
    ahead: int,
    metres: Floats,
    real: Ints,
    found: Ints,
    first_out: Any,
    lengths: Any,
    polyline_of: Any,
    backward: Any,
    away: Floats,
    name: Any,
    ref: Any,
    flags: Any,
) -> int:
    """Find the manoeuvres along the arcs of a leg, the departure first, and return their number.

    `nodes` are the tails of the arcs after the first `ahead` ones. `real` has room for the arcs with a length. A row of
    `found` is the index of the arc with which a step begins, its type and modifier, the arc that it leads onto, and the
    exit of a roundabout, 0 if none.
    """
    size = 0
    for i in range(len(arcs)):
        # The links that stand for the time at gates have no length and no direction.
        if lengths[arcs[i]] > 0.0:
            real[size] = i
            size += 1
    if size == 0:
        return 0
    current = arcs[real[0]]
    found[0, 0] = found[0, 1] = found[0, 2] = found[0, 4] = 0
    found[0, 3] = current
    count = at = 1
    while at < size:
        before, street = arcs[real[at - 1]], arcs[real[at]]
        onto, exits, end = at, 0, at
        kind = modifier = 0
        if flags[street] & ROUND and not flags[before] & ROUND:
            kind, end, exits = _ROUNDABOUT, at + 1, 1
            while end < size and flags[arcs[real[end]]] & ROUND:
                arc, last = arcs[real[end]], arcs[real[end - 1]]
                node = np.int64(nodes[real[end] - ahead])
                for other in range(first_out[node], first_out[node + 1]):
                    is_back = polyline_of[other] == polyline_of[last] and backward[other] != backward[last]
                    if (
                        lengths[other] > 0.0
                        and not flags[other] & ROUND
                        and not is_back
                        and not (polyline_of[other] == polyline_of[arc] and backward[other] == backward[arc])
                    ):
                        exits += 1
                        break
                end += 1
            if end == size:
                exits = 0
            else:
                onto, leaves = end, arcs[real[end]]
                angle = away[polyline_of[leaves], 1 if backward[leaves] else 0]
                angle -= away[polyline_of[before], 0 if backward[before] else 1] + 180.0
                modifier = modifier_of((angle + 180.0) % 360.0 - 180.0)
        else:
            if flags[street] & LINK and not flags[before] & LINK:
                length = 0.0
                while end < size and flags[arcs[real[end]]] & LINK:
                    length += metres[real[end]]
                    end += 1
                if end == size or flags[arcs[real[end]]] & (ROUND | CARRIED) or length > _SHORT_LINK_M:
                    end = at
            onto = end
            target, node = arcs[real[end]], np.int64(nodes[real[at] - ahead])
            kind, modifier = decide(
                before, target, street, node, current, end > at,
                first_out, lengths, polyline_of, backward, away, name, ref, flags,
            )  # fmt: skip
        if kind > 0:
            current = arcs[real[onto]]
            found[count, 0], found[count, 1], found[count, 2] = real[at], kind, modifier
            found[count, 3], found[count, 4] = current, exits
            count += 1
        elif name[street] != 0 or ref[street] != 0:
            current = street
        at = end + 1
    return count
