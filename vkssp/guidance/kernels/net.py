"""The street network as compiled functions see it: sides of streets, places where they meet, and texts.

A side is a direction of a polyline: twice its index, plus one against it. `side ^ 1` is the other direction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vkssp.jit import jit, jit_part

#: Bits of the flags of a side: part of a roundabout, a slip road, carried by a ferry or train, a motorway or trunk road
#: or a slip road of one, not for all traffic, a roundabout with ordinary rules, open in this direction.
ROUND, LINK, CARRIED, MOTORWAY, MINOR, CIRCULAR, OPEN = (1 << bit for bit in range(7))
#: Kinds of manoeuvres at one intersection.
(
    NO_TURN, SUPPRESSED, TURN, CONTINUE, NEW_NAME, MERGE, ON_RAMP, OFF_RAMP, FORK, END_OF_ROAD, NOTIFICATION, SLIPROAD,
    ENTER, EXIT, STAY, PASS, USE_LANE,
) = range(17)  # fmt: skip
#: Modifiers, clockwise from a U-turn on the right to sharp left.
UTURN, SHARP_RIGHT, RIGHT, SLIGHT_RIGHT, STRAIGHT, SLIGHT_LEFT, LEFT, SHARP_LEFT = range(8)
#: Angles in degrees: straight is 180, right is less.
NARROW, GROUP, FUZZY, NO_DEVIATION = 40.0, 60.0, 25.0, 3.0
#: Degrees within which angles are the same, as coordinates are rounded.
_TIE = 0.05
#: Room for the roads of an intersection.
MOST_ROADS = 64


#: Columns of `Net.side`: the place at each end, -1 if none; the side that continues it at a place that is no
#: intersection, -1 if it ends at one; indices of texts, 0 for none; rank, flags, mode of travel, number of lanes;
#: the first of its nodes in `Net.heads`; the other carriageway of the street that it leaves with, -1 if none; and the
#: bits of its classes.
(
    TAIL, HEAD, FOLLOW, NAME, REF, SPOKEN, EXITS, LANES, DESTINATIONS, RANK, FLAGS, MODE, NUM_LANES, HEADS_FIRST,
    PARTNER, CLASSES,
) = range(16)  # fmt: skip
#: Columns of `Net.metric`: bearing in degrees at which a side leaves its tail, its metres, and the bearing of its first
#: piece.
BEARING, LENGTH, START = range(3)
#: Columns of `Net.arcs`: head of an arc, and its side, -1 for the links of gates.
HEAD_NODE, SIDE = 0, 1


class Net(NamedTuple):
    """Arrays of a street network.

    Attributes
    ----------
    side, metric
        What is known of each side, whole numbers and others. `side` has one row more than there are sides.
    first_out, arcs
        The graph: its rows, and what is known of each arc.
    heads
        Nodes of the graph to which each side leads, in rows.
    place_first, place_sides
        Sides that leave each place, in rows.
    line_first, points
        Geometry of the polylines, in degrees.
    text_first, text
        Bytes of the texts, in rows.
    knows_turns
        Whether the graph knows the costs of turns, so that it allows a U-turn only where there is nothing else.
    """

    side: Any
    metric: Any
    first_out: Any
    arcs: Any
    heads: Any
    place_first: Any
    place_sides: Any
    line_first: Any
    points: Any
    text_first: Any
    text: Any
    knows_turns: Any


class View(NamedTuple):
    """Roads at an intersection in the order of their angles, as someone sees it who arrives by one of them.

    Attributes
    ----------
    side, angle, bearing
        Side that leaves on each road, its angle and its bearing; the first road is the one behind.
    entry
        Whether the turn onto each road is allowed.
    kind, modifier
        Manoeuvre of the turn.
    renamed
        Whether the turn changes the name of the street.
    """

    side: Any
    angle: Any
    bearing: Any
    entry: Any
    kind: Any
    modifier: Any
    renamed: Any


@jit_part
def deviation(first: Any, second: Any) -> Any:
    """Return the absolute difference of two angles, at most 180 degrees."""
    apart = abs(first - second)
    return 360.0 - apart if apart > 180.0 else apart


@jit
def modifier_of(angle: Any) -> Any:
    """Return the modifier of a turn by its angle."""
    if angle <= 0.0 or angle >= 360.0:
        return UTURN
    off = angle - 180.0
    right = off < 0.0
    off = abs(off)
    if off < 20.0 - _TIE:
        return STRAIGHT
    if off < 40.0 - _TIE:
        return SLIGHT_RIGHT if right else SLIGHT_LEFT
    if off <= 120.0 + _TIE:
        return RIGHT if right else LEFT
    return SHARP_RIGHT if right else SHARP_LEFT


@jit_part
def leads_to(net: Any, node: Any, side: Any) -> Any:
    """Return whether an arc on a side leaves a node, perhaps after links of gates."""
    for arc in range(net.first_out[node], net.first_out[node + 1]):
        if net.arcs[arc, SIDE] == side:
            return True
    for arc in range(net.first_out[node], net.first_out[node + 1]):
        if net.arcs[arc, SIDE] < 0:
            middle = net.arcs[arc, HEAD_NODE]
            for link in range(net.first_out[middle], net.first_out[middle + 1]):
                if net.arcs[link, SIDE] == side:
                    return True
                if net.arcs[link, SIDE] < 0:
                    beyond = net.arcs[link, HEAD_NODE]
                    for last in range(net.first_out[beyond], net.first_out[beyond + 1]):
                        if net.arcs[last, SIDE] == side:
                            return True
    return False


@jit_part
def allowed(net: Any, came: Any, side: Any) -> Any:
    """Return whether the turn from one side to another, at the place between them, is allowed."""
    for at in range(net.side[came, HEADS_FIRST], net.side[came + 1, HEADS_FIRST]):
        if leads_to(net, net.heads[at], side):
            return True
    return net.side[came, HEADS_FIRST] == net.side[came + 1, HEADS_FIRST] and (net.side[side, FLAGS] & OPEN) != 0


@jit_part
def look(net: Any, view: Any, came: Any) -> Any:
    """Fill a view of the intersection at the head of a side, and return the number of its roads."""
    place, back = net.side[came, HEAD], came ^ 1
    base = net.metric[back, BEARING]
    count = 0
    some_open = False
    for at in range(net.place_first[place], net.place_first[place + 1]):
        side = net.place_sides[at]
        if count == MOST_ROADS:
            break
        partner = net.side[side, PARTNER]
        # Of two carriageways, the one that can be entered stands for both, or the one that the traveller comes from.
        if partner >= 0 and side != back and (partner == back or (net.side[side, FLAGS] & OPEN) == 0):
            continue
        angle = base - net.metric[side, BEARING]
        if angle < 0.0:
            angle += 360.0
        if side == back:
            angle = -1.0  # the first in the order
        k = count
        while k > 0 and view.angle[k - 1] > angle:
            view.side[k] = view.side[k - 1]
            view.angle[k] = view.angle[k - 1]
            view.bearing[k] = view.bearing[k - 1]
            view.entry[k] = view.entry[k - 1]
            k -= 1
        entry = (net.side[side, FLAGS] & OPEN) != 0 and allowed(net, came, side)
        if side == back and partner >= 0 and (net.side[partner, FLAGS] & OPEN) != 0:
            entry |= allowed(net, came, partner)
        if side != back:
            some_open |= entry
        view.side[k] = side
        view.angle[k] = angle
        view.bearing[k] = net.metric[side, BEARING]
        view.entry[k] = entry
        count += 1
    if count > 0 and view.side[0] == back:
        view.angle[0] = 0.0
        if not net.knows_turns:
            view.entry[0] &= not some_open
    for k in range(count):
        view.kind[k] = NO_TURN
        view.modifier[k] = modifier_of(view.angle[k])
    return count


@jit_part
def chain_end(net: Any, side: Any) -> Any:
    """Return the last side before the next intersection along a street."""
    for _ in range(10000):
        if net.side[side, FOLLOW] < 0 or net.side[side, FOLLOW] == side:
            break
        side = net.side[side, FOLLOW]
    return side


@jit_part
def chain_length(net: Any, side: Any) -> Any:
    """Return the metres to the next intersection along a street."""
    total = np_float(net.metric[side, LENGTH])
    for _ in range(10000):
        if net.side[side, FOLLOW] < 0:
            break
        side = net.side[side, FOLLOW]
        total += net.metric[side, LENGTH]
    return total


@jit_part
def np_float(value: Any) -> Any:
    """Return a number as a float64."""
    return value * 1.0


@jit_part
def text_length(net: Any, text: Any) -> Any:
    """Return the number of bytes of a text."""
    return net.text_first[text + 1] - net.text_first[text]


@jit_part
def holds(net: Any, whole: Any, part: Any) -> Any:
    """Return whether a text holds another one."""
    begin, size = net.text_first[whole], text_length(net, whole)
    other, count = net.text_first[part], text_length(net, part)
    for shift in range(size - count + 1):
        k = 0
        while k < count and net.text[begin + shift + k] == net.text[other + k]:
            k += 1
        if k == count:
            return True
    return False


@jit_part
def is_compass_word(net: Any, begin: Any, end: Any) -> Any:
    """Return whether bytes of a text, without spaces around them, name a point of the compass, or are none.

    Capital and small letters are alike, and beginnings that such words do not share count: "Nor" of North and South.
    """
    while begin < end and net.text[begin] == 32:
        begin += 1
    while end > begin and net.text[end - 1] == 32:
        end -= 1
    size = end - begin
    if size == 0:
        return True
    first, last = net.text[begin] & 223, net.text[end - 1] & 223  # as capitals
    if size == 1:
        return first == 78 or first == 69 or first == 83 or first == 87  # N E S W
    if size == 2:
        north_south = first == 78 or first == 83
        of_west_east = (first == 87 and last == 69) or (first == 69 and last == 65)  # We, Ea
        return (north_south and (last == 69 or last == 87)) or of_west_east
    if size == 3:
        return (first == 78 or first == 83) and net.text[begin + 1] & 223 == 79 and (last == 82 or last == 85)
    if size == 4:
        if net.text[begin + 2] & 223 != 83 or last != 84:
            return False
        return (first == 87 and net.text[begin + 1] & 223 == 69) or (first == 69 and net.text[begin + 1] & 223 == 65)
    if size == 5:
        ends = net.text[begin + 3] & 223 == 84 and last == 72 and net.text[begin + 1] & 223 == 79
        return ends and (
            (first == 78 and net.text[begin + 2] & 223 == 82) or (first == 83 and net.text[begin + 2] & 223 == 85)
        )
    return False


@jit_part
def differ_by_compass(net: Any, one: Any, two: Any) -> Any:
    """Return whether two names differ only by a point of the compass before or after them."""
    if one == 0 or two == 0:
        return False
    a, b = net.text_first[one], net.text_first[two]
    end_a, end_b = net.text_first[one + 1], net.text_first[two + 1]
    shorter = min(end_a - a, end_b - b)
    same = 0
    while same < shorter and net.text[a + same] == net.text[b + same]:
        same += 1
    if same > 0 and is_compass_word(net, a + same, end_a) and is_compass_word(net, b + same, end_b):
        return True
    same = 0
    while same < shorter and net.text[end_a - 1 - same] == net.text[end_b - 1 - same]:
        same += 1
    return same > 0 and is_compass_word(net, a, end_a - same) and is_compass_word(net, b, end_b - same)


@jit_part
def renamed(net: Any, one: Any, two: Any) -> Any:
    """Return whether the change from one side to another changes the name of the street, so that one says it."""
    old, new, old_ref, new_ref = net.side[one, NAME], net.side[two, NAME], net.side[one, REF], net.side[two, REF]
    spoken = net.side[one, SPOKEN] != net.side[two, SPOKEN]
    begins_exit = net.side[one, EXITS] == 0 and net.side[two, EXITS] != 0
    if spoken or begins_exit:
        return True
    if old == new and old_ref == new_ref:
        return False
    if old == 0 and old_ref != 0 and old_ref == new_ref:
        return False
    compass = old != new and differ_by_compass(net, old, new)
    same_name = old == new or (old != 0 and new == 0) or compass
    no_refs = old_ref == 0 and new_ref == 0
    similar = old_ref == new_ref or old_ref == 0 or new_ref == 0
    if not similar:
        similar = holds(net, old_ref, new_ref) or holds(net, new_ref, old_ref)
    ref_ends = old_ref != 0 and new_ref == 0
    no_names = old == 0 and new == 0
    unchanged = (no_names and no_refs) or (same_name and (similar or no_refs or ref_ends)) or compass
    swapped = (old == 0 and old_ref != 0 and new != 0 and new_ref == 0) or (
        old != 0 and old_ref == 0 and new == 0 and new_ref != 0
    )
    numbered = no_names and old_ref == 0 and new_ref != 0
    return not unchanged or swapped or numbered or (no_names and not similar)
