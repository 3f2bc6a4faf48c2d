"""Kernels that classify the turns at an intersection.

The rules are those of OSRM's guidance, found in its documentation and its answers on small maps: a continuation is
obvious if it is far straighter, or far more important, than its rivals; two streets that both lead nearly straight on
are a fork; what leaves a motorway is an exit.
"""

from __future__ import annotations

from typing import Any

from vkssp.guidance.kernels.net import (
    BEARING,
    CARRIED,
    CIRCULAR,
    CONTINUE,
    END_OF_ROAD,
    ENTER,
    EXIT,
    FLAGS,
    FOLLOW,
    FORK,
    FUZZY,
    GROUP,
    HEAD,
    LEFT,
    LENGTH,
    LINK,
    MERGE,
    MINOR,
    MODE,
    MOTORWAY,
    NAME,
    NARROW,
    NEW_NAME,
    NO_DEVIATION,
    NO_TURN,
    NOTIFICATION,
    OFF_RAMP,
    ON_RAMP,
    OPEN,
    PARTNER,
    PASS,
    RANK,
    REF,
    RIGHT,
    ROUND,
    SHARP_LEFT,
    SHARP_RIGHT,
    SLIGHT_LEFT,
    SLIGHT_RIGHT,
    SLIPROAD,
    STAY,
    STRAIGHT,
    SUPPRESSED,
    TAIL,
    TURN,
    UTURN,
    chain_end,
    chain_length,
    deviation,
    look,
    modifier_of,
    renamed,
)
from vkssp.jit import jit, jit_part

#: A street is obvious beside others if its deviation from straight on is this many times less.
_DISTINCT = 2.0
#: Degrees by which a rival of what leads straight on differs from it at least.
_STRAIGHT_RIVAL = 15.0
#: A street is far more important if its rank is this many times less.
_PRIORITY = 1.75
#: Degrees from straight on within which streets fork.
_FORK = 39.9
#: Degrees between streets on one line.
_EQUAL = 1e-3
#: Metres of a street between the carriageways of another one, and degrees by which turns onto it may differ from 90.
_INTERNAL_M, _INTERNAL_TURN = 32.0, 50.0
#: Metres of a street that is short.
_SHORT_M = 30.0
#: Metres of a street onto which a turn is straight on, if it is obvious and does not differ much from that.
_LONG_M = 60.0
#: Degrees between a street and a slip road beside it.
_SLIP_ANGLE = 95.0


@jit_part
def is_motorway(net: Any, side: Any) -> Any:
    """Return whether a side is a motorway or a trunk road, and no slip road."""
    return (net.side[side, FLAGS] & (MOTORWAY | LINK)) == MOTORWAY


@jit_part
def is_ramp(net: Any, side: Any) -> Any:
    """Return whether a side is a slip road of a motorway or trunk road."""
    return (net.side[side, FLAGS] & (MOTORWAY | LINK)) == MOTORWAY | LINK


@jit_part
def is_ring(net: Any, side: Any) -> Any:
    """Return whether a side is part of a roundabout."""
    return (net.side[side, FLAGS] & (ROUND | CIRCULAR)) != 0


@jit_part
def same_class(net: Any, one: Any, two: Any) -> Any:
    """Return whether two sides are equally important."""
    bits = MOTORWAY | LINK | MINOR
    return net.side[one, RANK] == net.side[two, RANK] and (net.side[one, FLAGS] & bits) == (net.side[two, FLAGS] & bits)


@jit_part
def outranks(net: Any, came: Any, one: Any, two: Any) -> Any:
    """Return whether the importance of a street makes it obvious beside another one."""
    if _PRIORITY * net.side[one, RANK] < net.side[two, RANK] and same_class(net, came, one):
        return True
    return (net.side[two, FLAGS] & MINOR) != 0 and ((net.side[one, FLAGS] | net.side[came, FLAGS]) & MINOR) == 0


@jit_part
def from_straight(view: Any, k: Any) -> Any:
    """Return by how many degrees a road differs from straight on."""
    return deviation(view.angle[k], 180.0)


@jit_part
def basic_kind(net: Any, view: Any, came: Any, k: Any) -> Any:
    """Return the kind of a turn that is not obvious."""
    side = view.side[k]
    leaves_motorway = is_motorway(net, came) and (net.side[side, FLAGS] & LINK) != 0
    if (is_ramp(net, side) and not is_ramp(net, came)) or leaves_motorway:
        return ON_RAMP
    if net.side[came, NAME] != 0 and net.side[side, NAME] != 0 and not view.renamed[k]:
        return CONTINUE
    return TURN


@jit_part
def set_turn(net: Any, view: Any, came: Any, k: Any) -> None:
    """Make a road a turn by its angle, if it may be entered."""
    if view.entry[k]:
        view.kind[k] = basic_kind(net, view, came, k)
        view.modifier[k] = modifier_of(view.angle[k])


@jit_part
def set_kind(view: Any, k: Any, kind: Any, modifier: Any) -> None:
    """Set the manoeuvre of a road, if it may be entered."""
    if view.entry[k]:
        view.kind[k] = kind
        view.modifier[k] = modifier


@jit_part
def is_through_street(net: Any, view: Any, count: Any, k: Any) -> Any:
    """Return whether a road continues, with its name, on the other side of the intersection."""
    side = view.side[k]
    if net.side[side, NAME] == 0:
        return False
    for other in range(1, count):
        if other == k:
            continue
        if (
            deviation(view.angle[other], view.angle[k]) > 180.0 - FUZZY
            and net.side[view.side[other], NAME] == net.side[side, NAME]
            and same_class(net, view.side[other], side)
        ):
            return True
    return False


@jit_part
def set_obvious(net: Any, view: Any, count: Any, came: Any, k: Any, through: Any) -> None:
    """Set the manoeuvre of the road that is the obvious continuation."""
    if not view.entry[k]:
        return
    side, angle = view.side[k], view.angle[k]
    kind = basic_kind(net, view, came, k)
    modifier = modifier_of(angle)
    other_mode = net.side[came, MODE] != net.side[side, MODE]
    if kind == TURN:
        if view.renamed[k]:
            if through:
                if is_motorway(net, side):
                    kind = MERGE
                    modifier = SLIGHT_RIGHT if angle > 180.0 else SLIGHT_LEFT
                elif is_ramp(net, came) and is_ramp(net, side):
                    kind = NOTIFICATION if other_mode else SUPPRESSED
                elif deviation(angle, 180.0) < (NARROW if net.metric[side, LENGTH] > _LONG_M else FUZZY):
                    modifier = STRAIGHT
            elif other_mode:
                kind = NOTIFICATION
            else:
                kind = NEW_NAME
        elif other_mode:
            kind = NOTIFICATION
        else:
            kind = SUPPRESSED if count > 2 else NO_TURN
    elif kind == CONTINUE:
        kind = NOTIFICATION if other_mode else SUPPRESSED if count > 2 else NO_TURN
        if not other_mode and view.renamed[k]:
            kind = NEW_NAME
    view.kind[k] = kind
    view.modifier[k] = modifier


@jit_part
def gives_way(net: Any, view: Any, came: Any, best: Any, rival: Any) -> Any:
    """Return whether a road is so unimportant beside another one that it is no alternative to it."""
    one, two = view.side[best], view.side[rival]
    off = from_straight(view, best)
    if (net.side[two, FLAGS] & MINOR) != 0 and ((net.side[one, FLAGS] | net.side[came, FLAGS]) & MINOR) == 0:
        return True
    named = net.side[came, NAME] != 0 and net.side[came, NAME] == net.side[one, NAME]
    if (off < GROUP - 0.5 or (named and net.side[two, NAME] != net.side[one, NAME])) and outranks(net, came, one, two):
        return True
    links = (net.side[one, FLAGS] | net.side[came, FLAGS]) & LINK
    if links == 0 and (net.side[two, FLAGS] & LINK) != 0:
        return off < GROUP - 0.5 or (
            from_straight(view, rival) > _STRAIGHT_RIVAL and (not is_ramp(net, two) or is_motorway(net, came))
        )
    return False


@jit_part
def is_far_straighter(net: Any, view: Any, came: Any, best: Any, rival: Any) -> Any:
    """Return whether a road is so much straighter than another one that it is obvious beside it."""
    off, other = from_straight(view, best), from_straight(view, rival)
    one, two = view.side[best], view.side[rival]
    named = net.side[came, NAME] != 0 and net.side[came, NAME] == net.side[one, NAME]
    ratio = _DISTINCT
    if not view.entry[rival] and (
        off < NARROW - 0.1 or (named and net.side[two, NAME] == net.side[came, NAME] and other < GROUP)
    ):
        return True
    if named and same_class(net, came, one) and not same_class(net, one, two):
        if off > GROUP - 0.5:
            return False
        ratio = _DISTINCT * 0.7
    elif off < NO_DEVIATION and other < _STRAIGHT_RIVAL:
        return False
    return other > ratio * max(off, 0.5) + 0.1


@jit_part
def find_obvious(net: Any, view: Any, other: Any, count: Any, came: Any) -> Any:
    """Return the index of the obvious continuation, 0 if there is none; `other` is room for another view."""
    if count == 1:
        return 0
    if count == 2:
        return 1
    best = same = 0
    for k in range(1, count):
        if not view.entry[k]:
            continue
        side = view.side[k]
        off = from_straight(view, k)
        if net.side[came, NAME] != 0 and net.side[side, NAME] == net.side[came, NAME]:
            chosen = view.side[same]
            take = same == 0 or (
                net.side[chosen, RANK] != net.side[came, RANK] and net.side[side, RANK] == net.side[came, RANK]
            )
            worse = same != 0 and net.side[side, RANK] > net.side[chosen, RANK] == net.side[came, RANK]
            if take or (not worse and off < from_straight(view, same)):
                same = k
        if best == 0 or gives_way(net, view, came, k, best):
            best = k
        elif off < from_straight(view, best) and not gives_way(net, view, came, best, k):
            best = k
    if best == 0:
        return 0
    if same != 0 and is_obvious(net, view, count, came, same):
        return 0 if hides_turn(net, view, other, came, same) else same
    blocks = same != 0 and (count == 3 or from_straight(view, same) < GROUP)
    if best == same or (blocks and net.side[view.side[best], RANK] >= net.side[view.side[same], RANK]):
        return 0
    if net.side[came, NAME] == 0 and net.side[came, REF] == 0 and net.side[view.side[best], NAME] != 0:
        # A street without a name goes on without one, unless it turns back.
        for k in range(1, count):
            side = view.side[k]
            unnamed = view.entry[k] and net.side[side, NAME] == 0 and from_straight(view, k) < 90.0
            if unnamed and not gives_way(net, view, came, best, k):
                return 0
    return best if is_obvious(net, view, count, came, best) else 0


@jit_part
def is_obvious(net: Any, view: Any, count: Any, came: Any, best: Any) -> Any:
    """Return whether a road is obvious beside all others."""
    for k in range(1, count):
        if k == best or gives_way(net, view, came, best, k):
            continue
        one, two = view.side[best], view.side[k]
        named = net.side[came, NAME] != 0 and net.side[came, NAME] == net.side[one, NAME]
        if count > 3 and named and same_class(net, came, one) and net.side[one, RANK] < net.side[two, RANK]:
            if from_straight(view, k) > from_straight(view, best) - 0.1 and from_straight(view, best) < NARROW:
                continue
        if (view.entry[k] and gives_way(net, view, came, k, best)) or not is_far_straighter(net, view, came, best, k):
            return False
    return True


@jit_part
def hides_turn(net: Any, view: Any, other: Any, came: Any, best: Any) -> Any:
    """Return whether a short piece before the intersection hides that a street turns there.

    Between the carriageways of another street, a turn is not as obvious as it looks.
    """
    if net.metric[came, LENGTH] >= _SHORT_M or net.side[came, TAIL] < 0:
        return False
    size = look(net, other, came ^ 1)
    for k in range(size):
        side = other.side[k]
        if (
            deviation(other.angle[k], 180.0) > GROUP
            and deviation(other.angle[k], view.angle[best]) < FUZZY
            and (net.side[side, FLAGS] & OPEN) != 0
            and net.side[side, NAME] == net.side[view.side[best], NAME]
        ):
            return True
    return False


@jit_part
def find_fork(net: Any, view: Any, count: Any, came: Any) -> Any:
    """Return the indices of the rightmost and the leftmost of roads that fork, (0, 0) if none do."""
    closest = 0
    for k in range(1, count):
        if view.entry[k] and (closest == 0 or from_straight(view, k) < from_straight(view, closest)):
            closest = k
    if closest == 0 or from_straight(view, closest) > _FORK:
        return 0, 0
    right = left = closest
    while right > 1 and from_straight(view, right - 1) <= _FORK:
        right -= 1
    while left + 1 < count and from_straight(view, left + 1) <= _FORK:
        left += 1
    if left == right or left - right > 2:
        return 0, 0
    if right > 1 and view.angle[right] - view.angle[right - 1] < GROUP:
        return 0, 0
    if left + 1 < count and view.angle[left + 1] - view.angle[left] < GROUP:
        return 0, 0
    for k in range(right, left + 1):
        if not view.entry[k]:
            return 0, 0
        side = view.side[k]
        if (net.side[side, FLAGS] & LINK) != (net.side[view.side[right], FLAGS] & LINK):
            return 0, 0
        if net.side[side, MODE] != net.side[came, MODE]:
            return 0, 0
        for rival in range(right, left + 1):
            if rival != k and gives_way(net, view, came, k, rival):
                return 0, 0
    if left - right == 1:
        off_right, off_left = from_straight(view, right), from_straight(view, left)
        if min(off_right, off_left) < NO_DEVIATION:
            straight = view.side[right] if off_right < off_left else view.side[left]
            continues = net.side[came, NAME] != 0 and net.side[straight, NAME] == net.side[came, NAME]
            if continues or max(off_right, off_left) > FUZZY:
                return 0, 0
    return right, left


@jit_part
def set_fork(net: Any, view: Any, count: Any, came: Any, right: Any, left: Any) -> None:
    """Set the manoeuvres of roads that fork."""
    if left - right == 2:
        set_kind(view, right, FORK, SLIGHT_RIGHT)
        set_kind(view, right + 1, FORK, STRAIGHT)
        set_kind(view, left, FORK, SLIGHT_LEFT)
        return
    off_right, off_left = from_straight(view, right), from_straight(view, left)
    minor_right = (net.side[view.side[right], FLAGS] & MINOR) != 0
    minor_left = (net.side[view.side[left], FLAGS] & MINOR) != 0
    if off_left < NO_DEVIATION and off_right > FUZZY and minor_right and not minor_left:
        set_obvious(net, view, count, came, left, False)
        set_kind(view, right, basic_kind(net, view, came, right), SLIGHT_RIGHT)
        return
    if off_right < NO_DEVIATION and off_left > FUZZY and minor_left and not minor_right:
        set_obvious(net, view, count, came, right, False)
        set_kind(view, left, basic_kind(net, view, came, left), SLIGHT_LEFT)
        return
    # Streets that leave on one line are on neither side of each other.
    apart = view.angle[left] - view.angle[right] > _EQUAL
    set_kind(view, right, FORK, SLIGHT_RIGHT if apart else STRAIGHT)
    set_kind(view, left, FORK, SLIGHT_LEFT if apart else STRAIGHT)


@jit_part
def is_end_of_road(view: Any) -> Any:
    """Return whether a street ends at one that crosses it."""
    right, left = view.angle[1], view.angle[2]
    return deviation(right, 90.0) < NARROW and deviation(left, 270.0) < NARROW and deviation(right, left) > 2.0 * NARROW


@jit_part
def spread(view: Any, begin: Any, end: Any, is_left: Any, beside_straight: Any) -> None:
    """Give up to three turns to one side different modifiers.

    The roads from `begin` to `end` are those to the right of what leads on, or to the left; `beside_straight` says
    whether that leads straight on.
    """
    first = second = third = number = 0
    for at in range(begin, end):
        k = at if not is_left else begin + end - 1 - at
        if view.entry[k]:
            number += 1
            if number == 1:
                first = k
            elif number == 2:
                second = k
            elif number == 3:
                third = k
    sharp, plain, slight = (SHARP_LEFT, LEFT, SLIGHT_LEFT) if is_left else (SHARP_RIGHT, RIGHT, SLIGHT_RIGHT)
    if number == 0 or number > 3:
        return
    last = first if number == 1 else second if number == 2 else third
    if view.modifier[last] == STRAIGHT and beside_straight:
        view.modifier[last] = slight
    if number == 1:
        return
    if number == 3:
        if view.modifier[first] == sharp and view.modifier[second] == plain and view.modifier[third] == plain:
            view.modifier[third] = slight
        elif view.modifier[first] == sharp and view.modifier[second] == sharp and view.modifier[third] == slight:
            view.modifier[second] = plain
        return
    # `first` is the sharper one.
    if view.modifier[first] != view.modifier[second]:
        return
    if view.modifier[first] == sharp:
        view.modifier[second] = plain
        return
    square = 270.0 if is_left else 90.0
    inner, outer = deviation(view.angle[second], square), deviation(view.angle[first], square)
    if view.modifier[first] == slight:
        view.modifier[first] = plain
    elif view.modifier[first] == plain:
        tilted = 275.0 if is_left else 85.0
        if inner < NO_DEVIATION:
            view.modifier[first] = sharp
        elif outer < NO_DEVIATION or (deviation(view.angle[second], tilted) >= deviation(view.angle[first], tilted)):
            view.modifier[second] = slight
        else:
            view.modifier[first] = sharp


@jit_part
def spread_around(view: Any, right: Any, left: Any, count: Any) -> None:
    """Give the turns to the right of some road, and those to the left of another one, different modifiers."""
    straight = right > left or view.modifier[right] == STRAIGHT or view.modifier[left] == STRAIGHT
    spread(view, 1, right, False, straight)
    spread(view, left + 1, count, True, straight)


@jit_part
def handle_streets(net: Any, view: Any, count: Any, came: Any, obvious: Any) -> None:
    """Classify the turns at an intersection of ordinary streets, given the obvious continuation."""
    for k in range(count):
        set_turn(net, view, came, k)
    if view.entry[0]:
        view.modifier[0] = UTURN
    if count == 1:
        return
    if count == 2:
        set_obvious(net, view, count, came, 1, is_through_street(net, view, count, 1))
        return
    right, left = find_fork(net, view, count, came)
    if obvious == 0 and left > right:
        set_fork(net, view, count, came, right, left)
        spread_around(view, right, left, count)
        return
    if count == 3 and obvious == 0 and is_end_of_road(view):
        for k, modifier in ((1, RIGHT), (2, LEFT)):
            kind = basic_kind(net, view, came, k)
            set_kind(view, k, kind if kind == ON_RAMP else END_OF_ROAD, modifier)
        return
    if obvious != 0:
        set_obvious(net, view, count, came, obvious, is_through_street(net, view, count, obvious))
        spread_around(view, obvious, obvious, count)
        return
    closest = 1
    for k in range(1, count):
        if from_straight(view, k) < from_straight(view, closest):
            closest = k
    if count == 3:
        return
    if from_straight(view, closest) <= 20.0:
        spread_around(view, closest, closest, count)
    else:
        middle = 1
        while middle < count and view.angle[middle] < 180.0:
            middle += 1
        spread_around(view, middle, middle - 1, count)


@jit_part
def is_motorway_junction(net: Any, view: Any, count: Any) -> Any:
    """Return whether only motorways and their slip roads meet, and a motorway leads on."""
    leads_on = False
    for k in range(count):
        side = view.side[k]
        if view.entry[k] and from_straight(view, k) > GROUP - 0.1:
            return False
        if is_motorway(net, side):
            leads_on |= view.entry[k]
        elif not is_ramp(net, side):
            return False
    return leads_on


@jit_part
def handle_motorway(net: Any, view: Any, count: Any, came: Any, found: Any) -> Any:
    """Classify the turns at an intersection of motorways and their slip roads; return whether it is such."""
    motorways = ramps = 0
    for k in range(count):
        if view.entry[k]:
            motorways += is_motorway(net, view.side[k])
            ramps += is_ramp(net, view.side[k])
    if is_motorway(net, came):
        # What continues: the same street, or the straightest motorway.
        onward, off = 0, 400.0
        for k in range(1, count):
            side = view.side[k]
            if view.entry[k] and is_motorway(net, side):
                here = from_straight(view, k)
                if net.side[side, NAME] != net.side[came, NAME] or net.side[side, REF] != net.side[came, REF]:
                    here += 180.0
                if here < off:
                    onward, off = k, here
        obvious = onward
        if motorways > 1:
            obvious = found if ramps > 0 else 0
            if ramps > 0 and off < NO_DEVIATION:
                obvious = onward
        if obvious != 0:
            onward = obvious
            for k in range(1, count):
                if k == onward:
                    set_obvious(net, view, count, came, k, is_through_street(net, view, count, k))
                elif k < onward:
                    kind = OFF_RAMP if is_ramp(net, view.side[k]) else TURN
                    set_kind(view, k, kind, RIGHT if view.angle[k] < 145.0 else SLIGHT_RIGHT)
                else:
                    kind = OFF_RAMP if is_ramp(net, view.side[k]) else TURN
                    set_kind(view, k, kind, LEFT if view.angle[k] > 215.0 else SLIGHT_LEFT)
            return True
        fork_open(net, view, count, came, motorways + ramps)
        return True
    if motorways + ramps == 1:
        if count == 2:
            set_obvious(net, view, count, came, 1, is_through_street(net, view, count, 1))
            return True
        if count == 3:
            target = 1 if view.entry[1] else 2
            passing = 3 - target
            merges = is_motorway(net, view.side[target]) and is_motorway(net, view.side[passing])
            if merges and net.side[view.side[target], NAME] == net.side[view.side[passing], NAME]:
                set_kind(view, target, MERGE, SLIGHT_LEFT if target == 1 else SLIGHT_RIGHT)
            else:
                set_obvious(net, view, count, came, target, is_through_street(net, view, count, target))
            return True
    if count == 3 and motorways + ramps == 2:
        if is_ramp(net, view.side[1]) == is_ramp(net, view.side[2]):
            set_fork(net, view, count, came, 1, 2)
        else:
            target = 1 if is_motorway(net, view.side[1]) else 2
            set_obvious(net, view, count, came, target, is_through_street(net, view, count, target))
            ramp = 3 - target
            set_kind(view, ramp, OFF_RAMP, SLIGHT_RIGHT if ramp == 1 else SLIGHT_LEFT)
        return True
    if count == 4:
        passed = False
        for k in range(1, count):
            side = view.side[k]
            if is_motorway(net, side):
                if view.entry[k]:
                    set_kind(view, k, MERGE, SLIGHT_RIGHT if passed else SLIGHT_LEFT)
                else:
                    passed = True
            else:
                modifier = modifier_of(view.angle[k])
                modifier = SLIGHT_RIGHT if modifier == RIGHT else SLIGHT_LEFT if modifier == LEFT else modifier
                set_kind(view, k, OFF_RAMP, modifier)
        return True
    return False


@jit_part
def fork_open(net: Any, view: Any, count: Any, came: Any, number: Any) -> None:
    """Make the roads that may be entered a fork, if they are two or three."""
    right, left = 0, 0
    for k in range(1, count):
        if view.entry[k]:
            if right == 0:
                right = k
            left = k
    if number == 2 and left > right:
        set_kind(view, right, FORK, SLIGHT_RIGHT)
        set_kind(view, left, FORK, SLIGHT_LEFT)
    elif number == 3:
        for k in range(right, left + 1):
            set_kind(view, k, FORK, SLIGHT_RIGHT if k == right else SLIGHT_LEFT if k == left else STRAIGHT)
    else:
        for k in range(1, count):
            set_turn(net, view, came, k)


@jit_part
def handle_ring(net: Any, view: Any, count: Any, came: Any) -> None:
    """Classify the turns into, in and out of a roundabout, given those of streets that lead to it."""
    inside = is_ring(net, came)
    for k in range(count):
        on_ring = is_ring(net, view.side[k])
        if inside:
            kind = STAY if on_ring else EXIT
        else:
            # A street may lead through a roundabout, or along it.
            if not on_ring and (view.kind[k] == SUPPRESSED or view.kind[k] == NEW_NAME):
                continue
            kind = ENTER if on_ring else PASS
        set_kind(view, k, kind, modifier_of(view.angle[k]))
    if view.entry[0] and not inside:
        view.kind[0] = TURN
        view.modifier[0] = UTURN


@jit_part
def meets_ring(net: Any, view: Any, count: Any, came: Any) -> Any:
    """Return whether a roundabout is at the intersection, and can be entered or is travelled."""
    if is_ring(net, came):
        return True
    for k in range(1, count):
        if view.entry[k] and is_ring(net, view.side[k]):
            return True
    return False


@jit_part
def slip_metres(rank: Any) -> Any:
    """Return the metres that a slip road of a street may be long to be a part of a turn."""
    if rank <= 1:
        return 250.0
    if rank <= 5:
        return 200.0
    if rank <= 7:
        return 150.0
    return 125.0 if rank <= 9 else 100.0


@jit_part
def leads_around(net: Any, other: Any, came: Any, main: Any, slip: Any) -> Any:
    """Return whether a slip road beside a street leads to a street that crosses it at the next intersection."""
    last, end = chain_end(net, main), chain_end(net, slip)
    if net.side[last, HEAD] == net.side[end, HEAD]:
        return False
    # What the slip road leads to, by the same mode of travel.
    target = net.side[end, HEAD]
    leads_on = False
    for at in range(net.place_first[target], net.place_first[target + 1]):
        side = net.place_sides[at]
        if is_ring(net, side):
            return False
        leads_on |= (net.side[side, FLAGS] & OPEN) != 0 and net.side[side, MODE] == net.side[came, MODE]
    if not leads_on:
        return False
    for at in range(net.place_first[target], net.place_first[target + 1]):
        side = net.place_sides[at]
        named = net.side[slip, NAME] != 0 and net.side[slip, NAME] != net.side[came, NAME]
        if named and side != end ^ 1 and net.side[side, NAME] == net.side[slip, NAME]:
            return False  # it goes on beyond
    count = look(net, other, last)
    if count < 3:
        return False
    for k in range(1, count):
        cross = other.side[k]
        onward = chain_end(net, cross)
        if net.side[cross, MODE] != net.side[came, MODE]:
            continue
        if net.side[onward, HEAD] == target and from_straight(other, k) > NARROW:
            return True
    if net.side[slip, NAME] != 0 and (net.side[slip, FLAGS] & LINK) == 0:
        return False
    # A street of the same name, of which there may be a piece between.
    for at in range(net.place_first[target], net.place_first[target + 1]):
        side = net.place_sides[at]
        if side == end ^ 1 or net.side[side, NAME] == 0 or net.side[side, NAME] == net.side[came, NAME]:
            continue
        if (net.side[side, FLAGS] & OPEN) == 0:
            continue
        for k in range(1, count):
            crosses = from_straight(other, k) > NARROW and net.side[other.side[k], NAME] == net.side[side, NAME]
            if crosses and other.side[k] != side ^ 1:
                return True
    return False


@jit_part
def find_slip_roads(net: Any, view: Any, other: Any, count: Any, came: Any) -> None:
    """Mark slip roads that are a part of the turn at the next intersection."""
    if count < 3:
        return
    main = 0
    for k in range(1, count):
        if not view.entry[k] or (net.side[view.side[k], FLAGS] & LINK) > (net.side[came, FLAGS] & LINK):
            continue
        if main == 0 or from_straight(view, k) < from_straight(view, main):
            main = k
    if main == 0 or from_straight(view, main) > NARROW:
        return
    street = view.side[main]
    length = chain_length(net, street)
    for k in range(1, count):
        slip = view.side[k]
        if k == main or not view.entry[k] or deviation(view.angle[k], view.angle[main]) > _SLIP_ANGLE:
            continue
        if (net.side[slip ^ 1, FLAGS] & OPEN) != 0 or net.side[slip, MODE] != net.side[came, MODE]:
            continue
        same = net.side[slip, NAME] != 0 and net.side[slip, NAME] == net.side[street, NAME] == net.side[came, NAME]
        divides = same and same_class(net, slip, street)
        if divides and length > _SHORT_M:
            continue
        most = slip_metres(net.side[slip, RANK])
        if length > most or chain_length(net, slip) > 1.4 * most:
            continue
        if leads_around(net, other, came, street, slip):
            view.kind[k] = SLIPROAD
            if divides and view.kind[main] == FORK:
                set_turn(net, view, came, main)
            elif view.kind[main] == FORK or view.kind[main] == TURN or view.kind[main] == CONTINUE:
                set_obvious(net, view, count, came, main, False)


@jit_part
def classify(net: Any, view: Any, other: Any, came: Any) -> Any:
    """Classify the turns at the head of a side, and return the number of its roads."""
    count = look(net, view, came)
    for k in range(count):
        view.renamed[k] = renamed(net, came, view.side[k])
    # Functions are called once, as the compiler puts them in wherever they are called.
    obvious = find_obvious(net, view, other, count, came)
    at_ring = meets_ring(net, view, count, came)
    if at_ring:
        done = is_ring(net, came)
    else:
        on_motorway = is_motorway_junction(net, view, count) and (net.side[came, FLAGS] & MOTORWAY) != 0
        done = on_motorway and handle_motorway(net, view, count, came, obvious)
    if not done:
        handle_streets(net, view, count, came, obvious)
    if at_ring:
        handle_ring(net, view, count, came)
        return count
    find_slip_roads(net, view, other, count, came)
    if (net.side[came, FLAGS] & CARRIED) != 0:
        # Where only ferries meet, nobody turns on board.
        same = 0
        while same < count and net.side[view.side[same], MODE] == net.side[came, MODE]:
            same += 1
        if same == count:
            for k in range(1, count):
                if view.entry[k]:
                    view.kind[k] = SUPPRESSED
    if is_motorway(net, came):
        for k in range(count):
            if view.kind[k] == ON_RAMP:
                view.kind[k] = OFF_RAMP
    return count


@jit_part
def is_one_way(net: Any, side: Any) -> Any:
    """Return whether a street is open in the direction of a side only."""
    return (net.side[side, FLAGS] & OPEN) != 0 and (net.side[side ^ 1, FLAGS] & OPEN) == 0


@jit_part
def leaves_left(net: Any, side: Any) -> Any:
    """Return whether a one-way street that passes the start of a side has it to its left.

    The street leads on, more or less straight, as a one-way street.
    """
    place = net.side[side, TAIL]
    for first in range(net.place_first[place], net.place_first[place + 1]):
        back = net.place_sides[first]
        if back == side or not is_one_way(net, back ^ 1):
            continue
        # Angles are seen from the one-way street.
        angle = (net.metric[back, BEARING] - net.metric[side, BEARING] + 360.0) % 360.0
        if deviation(angle, 270.0) > _INTERNAL_TURN:
            continue
        for second in range(net.place_first[place], net.place_first[place + 1]):
            on = net.place_sides[second]
            onward = (net.metric[back, BEARING] - net.metric[on, BEARING] + 360.0) % 360.0
            if on != side and is_one_way(net, on) and deviation(onward, 180.0) <= _INTERNAL_TURN:
                return True
    return False


@jit_part
def enters_left(net: Any, side: Any) -> Any:
    """Return whether one turns left from the end of a side into a one-way street that comes from the right."""
    place = net.side[side, HEAD]
    for first in range(net.place_first[place], net.place_first[place + 1]):
        out = net.place_sides[first]
        if out == side ^ 1 or not is_one_way(net, out):
            continue
        angle = (net.metric[side ^ 1, BEARING] - net.metric[out, BEARING] + 360.0) % 360.0
        if deviation(angle, 270.0) > _INTERNAL_TURN:
            continue
        for second in range(net.place_first[place], net.place_first[place + 1]):
            back = net.place_sides[second]
            onward = (net.metric[back, BEARING] - net.metric[out, BEARING] + 360.0) % 360.0
            if back != side ^ 1 and is_one_way(net, back ^ 1) and deviation(onward, 180.0) <= _INTERNAL_TURN:
                return True
    return False


@jit_part
def is_internal(net: Any, side: Any) -> Any:
    """Return whether a short piece of a street joins the carriageways of a street that it crosses.

    A one-way street passes its start, and another one, in the opposite direction, its end.
    """
    if net.metric[side, LENGTH] > _INTERNAL_M or is_ring(net, side) or net.side[side, FOLLOW] >= 0:
        return False
    return leaves_left(net, side) and enters_left(net, side)


@jit
def find_turns(net: Any, view: Any, other: Any, sides: Any, found: Any, roads: Any, entries: Any) -> Any:
    """Find the intersections along the sides of a path, and return their number; -1 if there is too little room.

    A row of `found` has the index of the side that arrives at the intersection, the kind and the modifier of the turn,
    the first of the roads there and their number, the road that is taken, and whether it only joins carriageways. A row
    of `roads` has a side, and the kind and modifier of the turn onto it, in the order of angles; `entries` says whether
    it may be entered.
    """
    size = filled = 0
    for i in range(len(sides) - 1):
        came, goes = sides[i], sides[i + 1]
        if net.side[came, FOLLOW] == goes or (came == goes and net.side[came, HEAD] != net.side[came, TAIL]):
            continue
        count = classify(net, view, other, came)
        taken = -1
        for k in range(count):
            if view.side[k] == goes or (taken < 0 and net.side[goes, PARTNER] == view.side[k]):
                taken = k
        if taken < 0:
            continue
        if size == len(found) or filled + count > len(roads):
            return -1
        place = net.side[came, HEAD]
        if count == 2 and net.place_first[place + 1] - net.place_first[place] > 2 and view.kind[taken] == NO_TURN:
            continue  # a street that only begins to have two carriageways
        if not view.entry[taken]:
            view.entry[taken] = True
            set_turn(net, view, came, taken)
        found[size, 0] = i
        found[size, 1] = view.kind[taken]
        found[size, 2] = view.modifier[taken]
        found[size, 3] = filled
        found[size, 4] = count
        found[size, 5] = taken
        found[size, 6] = is_internal(net, goes)
        for k in range(count):
            roads[filled, 0] = view.side[k]
            roads[filled, 1] = view.kind[k]
            roads[filled, 2] = view.modifier[k]
            entries[filled] = view.entry[k]
            filled += 1
        size += 1
    return size
