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
_BY_ANGLE, _BY_SIDE = -1, -2
#: Bits of the flags of an arc.
ROUND, LINK, CARRIED, EMPTY = 1, 2, 4, 8
# Columns of the table of arcs.
_SIDE, _NAME, _REF, _FLAGS = range(4)

STRAIGHT, SLIGHT, SHARP, BACK = 20.0, 40.0, 120.0, 170.0
# A street with the same name continues the street before it, up to this angle.
_BEND = 60.0
# Slip roads shorter than this, in metres, are part of the turn that they serve.
_SHORT_LINK_M = 120.0
# Streets whose directions differ by less than this lie on one line where they begin: neither leaves on a side of the
# other.
_EQUAL = 1e-4


@jit
def find_manoeuvres(
    arcs: Ints,
    nodes: Any,
    ahead: int,
    metres: Floats,
    real: Ints,
    found: Ints,
    first_out: Any,
    table: Any,
    away: Floats,
) -> int:
    """Find the manoeuvres along the arcs of a leg, the departure first, and return their number.

    `nodes` are the tails of the arcs after the first `ahead` ones. `real` has room for the arcs with a length. A row of
    `found`, all zeros at first, is the index of the arc with which a step begins, its type and modifier, the arc that
    it leads onto, and the exit of a roundabout, 0 if none. The other arrays are
    `vkssp.routing.step_tables.StepArrays`.
    """
    size = 0
    for i in range(len(arcs)):
        # The links that stand for the time at gates have no length and no direction.
        if not table[arcs[i], _FLAGS] & EMPTY:
            real[size] = i
            size += 1
    if size == 0:
        return 0
    before = arcs[real[0]]
    told_name, told_ref = table[before, _NAME], table[before, _REF]
    found[0, 3] = before
    count = at = 1
    while at < size:
        before, street = arcs[real[at - 1]], arcs[real[at]]
        was = table[before, _FLAGS]
        # A roundabout is one manoeuvre with the street after it, and so is a short slip road.
        through = table[street, _FLAGS] & ~was & (ROUND | LINK)
        is_round = through & ROUND != 0
        if is_round:
            through = ROUND
        end, length = at, 0.0
        while end < size and table[arcs[real[end]], _FLAGS] & through:
            length += metres[real[end]]
            end += 1
        if not is_round and (
            end == size or table[arcs[real[end]], _FLAGS] & (ROUND | CARRIED) or length > _SHORT_LINK_M
        ):
            end = at
        target = arcs[real[end if end < size else at]]
        now, is_single = table[target, _FLAGS], end == at
        here, there = table[before, _SIDE], table[target, _SIDE]
        old_name, old_ref = table[before, _NAME], table[before, _REF]
        new_name, new_ref = table[target, _NAME], table[target, _REF]
        same = (new_name != 0 and new_name == old_name) or (new_ref != 0 and new_ref == old_ref)
        arrives = away[here ^ 1] + 180.0
        angle = (away[there] - arrives + 180.0) % 360.0 - 180.0
        turned = abs(angle)
        # The least and the greatest angle of the other streets, of those that are narrow, and how far the straightest
        # rival is from straight on.
        low = narrow_low = rival_apart = 360.0
        high = narrow_high = -360.0
        exits = 0
        for k in range(at, end if is_round else at + 1):
            back, entry = table[arcs[real[k - 1]], _SIDE] ^ 1, table[arcs[real[k]], _SIDE]
            node = nodes[real[k] - ahead]
            is_exit = False
            for arc in range(first_out[node], first_out[node + 1]):
                leaving, kinds = table[arc, _SIDE], table[arc, _FLAGS]
                if leaving == back or leaving == entry or kinds & EMPTY:
                    continue
                is_exit = is_exit or not kinds & ROUND
                other = (away[leaving] - arrives + 180.0) % 360.0 - 180.0
                apart = abs(other)
                if other < low:
                    low = other
                if other > high:
                    high = other
                if apart < SLIGHT and other < narrow_low:
                    narrow_low = other
                if apart < SLIGHT and other > narrow_high:
                    narrow_high = other
                rival = not kinds & ~now & LINK
                if same:
                    rival = (old_name != 0 and table[arc, _NAME] == old_name) or (
                        old_ref != 0 and table[arc, _REF] == old_ref
                    )
                if rival and apart < rival_apart:
                    rival_apart = apart
            if is_exit and k > at:
                exits += 1
        others, clear = low < 360.0, rival_apart >= 2.0 * turned and rival_apart >= turned + STRAIGHT
        kind, modifier = (_CONTINUE if same else _TURN), _BY_ANGLE
        if is_round:
            kind = _ROUNDABOUT
            exits += 1
            if end == size:
                modifier = exits = 0
        elif is_single and (was ^ now) & CARRIED:
            kind, modifier = (_BOARD if now & CARRIED else _DISEMBARK), 0
        elif is_single and was & ROUND:
            kind = 0 if now & ROUND else _EXIT
        elif is_single and was & ~now & LINK and turned < _BEND and not others:
            kind = _MERGE
        elif is_single and now & ~was & LINK and others:
            kind, modifier, narrow_low, narrow_high = _RAMP, _BY_SIDE, low, high
        elif here == there ^ 1:
            modifier = _UTURN
        elif (turned < (_BEND if same else SLIGHT) and clear) or (is_single and not others):
            told = (new_name != 0 and new_name == told_name) or (new_ref != 0 and new_ref == told_ref)
            kind = 0 if told or new_name + new_ref == 0 else _NEW_NAME
        elif turned < SLIGHT and narrow_low < 360.0:
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
        elif table[street, _NAME] + table[street, _REF] != 0:
            told_name, told_ref = table[street, _NAME], table[street, _REF]
        at = end + 1
    return count
