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

from vkssp.jit import inlined, jit

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
_BY_ANGLE, _BY_SIDE = -1, -2
#: Bits of the flags of an arc.
ROUND, LINK, CARRIED, EMPTY = 1, 2, 4, 8
STRAIGHT, SLIGHT, SHARP, BACK = 20.0, 40.0, 120.0, 170.0
# A street with the same name continues the street before it, up to this angle.
_BEND = 60.0
# Slip roads shorter than this, in metres, are part of the turn that they serve.
_SHORT_LINK_M = 120.0
# Streets whose directions differ by less than this lie on one line where they begin: neither leaves on a side of the
# other.
_EQUAL = 1e-4


@inlined
def angle_between(arrives: Any, leaves: Any) -> Any:
    """Return the angle from one direction to another, from -180 to 180 degrees; a remainder takes far longer."""
    angle = leaves - arrives + 180.0
    if angle < 0.0:
        angle += 360.0
    elif angle >= 360.0:
        angle -= 360.0
    return angle - 180.0


@jit
def find_manoeuvres(
    arcs: Ints,
    metres: Floats,
    real: Ints,
    found: Ints,
    side: Any,
    name: Any,
    ref: Any,
    flags: Any,
    first: Any,
    last: Any,
    away: Any,
    back_away: Any,
) -> int:
    """Find the manoeuvres along the arcs of a leg, the departure first, and return their number.

    `real` has room for the arcs with a length. A row of `found`, all zeros at first, is the index of the arc with which
    a step begins, its type and modifier, the arc that it leads onto, and the exit of a roundabout, 0 if none. The other
    arrays are the columns of `vkssp.routing.step_tables.StepTables`.

    Conditions on values that are known are joined by bits, which takes less time to compile than a branch for each.
    """
    size = 0
    for i in range(len(arcs)):
        # The links that stand for the time at gates have no length and no direction.
        if not flags[arcs[i]] & EMPTY:
            real[size] = i
            size += 1
    if size == 0:
        return 0
    before = arcs[real[0]]
    told_name, told_ref = name[before], ref[before]
    found[0, 3] = before
    count = at = 1
    while at < size:
        before, street = arcs[real[at - 1]], arcs[real[at]]
        was = flags[before]
        # A roundabout is one manoeuvre with the street after it, and so is a short slip road.
        through = flags[street] & ~was & (ROUND | LINK)
        is_round = through & ROUND != 0
        if is_round:
            through = ROUND
        end, length = at, 0.0
        while end < size and flags[arcs[real[end]]] & through:
            length += metres[real[end]]
            end += 1
        if not is_round and (end == size or flags[arcs[real[end]]] & (ROUND | CARRIED) or length > _SHORT_LINK_M):
            end = at
        target = arcs[real[end if end < size else at]]
        now, is_single = flags[target], end == at
        here, there = side[before], side[target]
        old_name, old_ref = name[before], ref[before]
        new_name, new_ref = name[target], ref[target]
        same = (new_name != 0) & (new_name == old_name) | (new_ref != 0) & (new_ref == old_ref)
        arrives = np.float64(back_away[before]) + 180.0
        angle = angle_between(arrives, away[target])
        turned = abs(angle)
        # The least and the greatest angle of the other streets, of those that are narrow, and how far the straightest
        # rival is from straight on.
        low = narrow_low = rival_apart = 360.0
        high = narrow_high = -360.0
        exits = 0
        for k in range(at, end if is_round else at + 1):
            back, entry = side[arcs[real[k - 1]]] ^ 1, side[arcs[real[k]]]
            begun = arcs[real[k]]
            is_exit = False
            for arc in range(first[begun], last[begun]):
                leaving, kinds = side[arc], flags[arc]
                if (leaving == back) | (leaving == entry) | (kinds & EMPTY != 0):
                    continue
                is_exit |= kinds & ROUND == 0
                other = angle_between(arrives, away[arc])
                apart = abs(other)
                if other < low:
                    low = other
                if other > high:
                    high = other
                if (apart < SLIGHT) & (other < narrow_low):
                    narrow_low = other
                if (apart < SLIGHT) & (other > narrow_high):
                    narrow_high = other
                rival = kinds & ~now & LINK == 0
                if same:
                    rival = (old_name != 0) & (name[arc] == old_name) | (old_ref != 0) & (ref[arc] == old_ref)
                if rival & (apart < rival_apart):
                    rival_apart = apart
            exits += is_exit & (k > at)
        others, clear = low < 360.0, (rival_apart >= 2.0 * turned) & (rival_apart >= turned + STRAIGHT)
        kind, modifier = (_CONTINUE if same else _TURN), _BY_ANGLE
        if is_round:
            kind = _ROUNDABOUT
            exits += 1
            if end == size:
                modifier = exits = 0
        elif is_single & ((was ^ now) & CARRIED != 0):
            kind, modifier = (_BOARD if now & CARRIED else _DISEMBARK), 0
        elif is_single & (was & ROUND != 0):
            kind = 0 if now & ROUND else _EXIT
        elif is_single & (was & ~now & LINK != 0) & (turned < _BEND) & (not others):
            kind = _MERGE
        elif is_single & (now & ~was & LINK != 0) & others:
            kind, modifier, narrow_low, narrow_high = _RAMP, _BY_SIDE, low, high
        elif here == there ^ 1:
            modifier = _UTURN
        elif (turned < (_BEND if same else SLIGHT)) & clear | is_single & (not others):
            told = (new_name != 0) & (new_name == told_name) | (new_ref != 0) & (new_ref == told_ref)
            kind = 0 if told | (new_name + new_ref == 0) else _NEW_NAME
        elif (turned < SLIGHT) & (narrow_low < 360.0):
            kind, modifier = _FORK, _BY_SIDE
        if modifier == _BY_SIDE:
            modifier = _AHEAD
            if angle > narrow_high + _EQUAL:
                modifier = _SLIGHT_RIGHT
            elif angle < narrow_low - _EQUAL:
                modifier = _SLIGHT_LEFT
        if modifier == _BY_ANGLE:
            modifier = _SLIGHT_RIGHT if turned <= SLIGHT else _SHARP_RIGHT if turned >= SHARP else _RIGHT
            if angle <= 0.0:
                modifier += _SLIGHT_LEFT - _SLIGHT_RIGHT
            if turned <= STRAIGHT:
                modifier = _AHEAD
            elif turned >= BACK:
                modifier = _UTURN
        if kind > 0:
            found[count, 0] = real[at]
            found[count, 1] = kind
            found[count, 2] = modifier
            found[count, 3] = target
            found[count, 4] = exits
            count += 1
            told_name, told_ref = new_name, new_ref
        elif name[street] + ref[street] != 0:
            told_name, told_ref = name[street], ref[street]
        at = end + 1
    return count
