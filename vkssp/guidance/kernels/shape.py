"""Kernels of the shape of streets: which pieces are one street, and the bearings at which streets leave places."""

from __future__ import annotations

import math
from typing import Any

from vkssp.guidance.kernels.net import (
    BEARING,
    CIRCULAR,
    CLASSES,
    DESTINATIONS,
    EXITS,
    FLAGS,
    FOLLOW,
    HEAD,
    LENGTH,
    LINK,
    MODE,
    MOST_ROADS,
    NAME,
    NUM_LANES,
    OPEN,
    PARTNER,
    RANK,
    REF,
    ROUND,
    SPOKEN,
    TAIL,
    allowed,
    chain_length,
    deviation,
)
from vkssp.jit import jit, jit_part

#: Degrees between carriageways of a street where they begin, metres along them, and between them there, without lanes.
CARRIAGEWAYS, PARALLEL_M, APART_M = 60.0, 50.0, 14.0
#: Metres along them that there have to be, and half the metres of the width of a lane.
LEAST_M, HALF_LANE_M = 3.5, 1.625
#: Degrees and metres up to which streets pass an island on both sides.
ISLAND, ISLAND_M = 95.0, 60.0
#: Degrees between the ends of a street that passes a place.
THROUGH = 160.0
#: Metres of a piece that has the direction of the street that it becomes, and degrees between it and what leads to it.
PIECE_M, ALONG = 30.0, 135.0
_METRES_PER_DEGREE = 111_195.08


@jit_part
def same_street(net: Any, one: Any, two: Any) -> Any:
    """Return whether nothing that matters changes from one side to another."""
    return (
        net.side[one, NAME] == net.side[two, NAME]
        and net.side[one, REF] == net.side[two, REF]
        and net.side[one, SPOKEN] == net.side[two, SPOKEN]
        and net.side[one, EXITS] == net.side[two, EXITS]
        and net.side[one, RANK] == net.side[two, RANK]
        and net.side[one, FLAGS] == net.side[two, FLAGS]
        and net.side[one, MODE] == net.side[two, MODE]
        and net.side[one, CLASSES] == net.side[two, CLASSES]
        and net.side[one, DESTINATIONS] == net.side[two, DESTINATIONS]
    )


@jit
def join_sides(net: Any) -> None:
    """Find the places at which a street only continues."""
    for place in range(len(net.place_first) - 1):
        begin = net.place_first[place]
        if net.place_first[place + 1] - begin != 2:
            continue
        one, two = net.place_sides[begin], net.place_sides[begin + 1]
        if one >> 1 == two >> 1:
            continue
        if not (same_street(net, one ^ 1, two) and same_street(net, two ^ 1, one)):
            continue
        open_there, open_back = (net.side[two, FLAGS] & OPEN) != 0, (net.side[one, FLAGS] & OPEN) != 0
        if open_there and not allowed(net, one ^ 1, two):
            continue
        if open_back and not allowed(net, two ^ 1, one):
            continue
        net.side[one ^ 1, FOLLOW] = two
        net.side[two ^ 1, FOLLOW] = one


@jit_part
def metres_between(lat: Any, lon: Any, to_lat: Any, to_lon: Any) -> Any:
    """Return the metres between two points that are near each other."""
    east = (to_lon - lon + 540.0) % 360.0 - 180.0
    return _METRES_PER_DEGREE * math.hypot(to_lat - lat, east * math.cos(math.radians(lat)))


@jit_part
def point_at(net: Any, side: Any, metres: Any) -> Any:
    """Return latitude and longitude of the point some metres along a street, or of its end, and the metres there."""
    lat, lon, passed = 0.0, 0.0, 0.0
    first = True
    for _ in range(MOST_ROADS):
        line = side >> 1
        begin, end = net.line_first[line], net.line_first[line + 1]
        for k in range(end - begin):
            at = end - 1 - k if side & 1 else begin + k
            y, x = net.points[at, 0], net.points[at, 1]
            if first:
                lat, lon = y, x
                first = False
                continue
            if x - lon > 180.0:
                x -= 360.0
            elif lon - x > 180.0:
                x += 360.0
            step = _METRES_PER_DEGREE * math.hypot(y - lat, (x - lon) * math.cos(math.radians(lat)))
            if passed + step >= metres:
                part = (metres - passed) / step if step > 0.0 else 0.0
                return lat + part * (y - lat), lon + part * (x - lon), metres
            passed += step
            lat, lon = y, x
        if net.side[side, FOLLOW] < 0:
            break
        side = net.side[side, FOLLOW]
    return lat, lon, passed


@jit
def bearing_between(lat: Any, lon: Any, to_lat: Any, to_lon: Any) -> Any:
    """Return the bearing from a point to another in degrees, from 0 to 360."""
    east = to_lon - lon
    if east > 180.0:
        east -= 360.0
    elif east < -180.0:
        east += 360.0
    found = math.degrees(math.atan2(east * math.cos(math.radians(lat)), to_lat - lat))
    return found + 360.0 if found < 0.0 else found


@jit_part
def only_end(net: Any, side: Any) -> Any:
    """Return the last side of a street up to a place with a choice, and the metres to it."""
    total = 0.0
    for _ in range(MOST_ROADS):
        total += net.metric[side, LENGTH]
        place = net.side[side, HEAD]
        begin = net.place_first[place]
        if net.place_first[place + 1] - begin != 2:
            break
        one, two = net.place_sides[begin], net.place_sides[begin + 1]
        if one == side ^ 1:
            side = two
        else:
            side = one
    return side, total


@jit_part
def is_island(net: Any, place: Any, one: Any, two: Any) -> Any:
    """Return whether two streets that leave a place meet again soon, and go on together with the same name."""
    first, metres = only_end(net, one)
    second, others = only_end(net, two)
    meet = net.side[first, HEAD]
    if meet != net.side[second, HEAD] or meet == place or max(metres, others) > ISLAND_M:
        return False
    for at in range(net.place_first[meet], net.place_first[meet + 1]):
        side = net.place_sides[at]
        if side != first ^ 1 and side != second ^ 1 and net.side[side, NAME] == net.side[one, NAME]:
            return True
    return False


@jit_part
def is_loop(net: Any, one: Any, two: Any) -> Any:
    """Return whether a street leaves a place by one side and comes straight back by another one."""
    side = one
    for _ in range(MOST_ROADS):
        if side == two ^ 1:
            return True
        place, best, best_off = net.side[side, HEAD], -1, ALONG
        for at in range(net.place_first[place], net.place_first[place + 1]):
            other = net.place_sides[at]
            if (net.side[other, FLAGS] & OPEN) == 0 or net.side[other, NAME] != net.side[one, NAME]:
                continue
            off = 180.0 - deviation(net.metric[side ^ 1, BEARING], net.metric[other, BEARING])
            if off < best_off:
                best, best_off = other, off
        if best < 0:
            return False
        side = best
    return False


@jit_part
def is_branch(net: Any, side: Any) -> Any:
    """Return whether a street ends at a one-way street of its own name that passes there."""
    last = side
    for _ in range(MOST_ROADS):
        if net.side[last, FOLLOW] < 0:
            break
        last = net.side[last, FOLLOW]
    place = net.side[last, HEAD]
    for first in range(net.place_first[place], net.place_first[place + 1]):
        into = net.place_sides[first]
        if into == last ^ 1 or (net.side[into, FLAGS] & OPEN) != 0 or net.side[into, NAME] != net.side[side, NAME]:
            continue
        for second in range(net.place_first[place], net.place_first[place + 1]):
            out = net.place_sides[second]
            if out == last ^ 1 or (net.side[out ^ 1, FLAGS] & OPEN) != 0 or net.side[out, NAME] != net.side[side, NAME]:
                continue
            if deviation(net.metric[into, BEARING], net.metric[out, BEARING]) >= THROUGH:
                return True
    return False


@jit_part
def same_road(net: Any, one: Any, two: Any) -> Any:
    """Return whether a one-way street that leaves a place and one that arrives there are alike."""
    there, back = net.side[one, FLAGS], net.side[two, FLAGS]
    if (there & OPEN) == 0 or (back & OPEN) != 0 or (net.side[one ^ 1, FLAGS] & OPEN) != 0:
        return False
    if ((there | back) & (ROUND | CIRCULAR | LINK)) != 0 or net.side[one, RANK] != net.side[two, RANK]:
        return False
    if net.side[one, NAME] == 0 or net.side[one, NAME] != net.side[two, NAME] or one >> 1 == two >> 1:
        return False
    return net.side[one, MODE] == net.side[two, MODE]


@jit_part
def are_carriageways(net: Any, one: Any, two: Any) -> Any:
    """Return whether two one-way streets that leave a place are carriageways of one street, the first open."""
    apart = deviation(net.metric[one, BEARING], net.metric[two, BEARING])
    if apart > ISLAND or not same_road(net, one, two):
        return False
    if is_island(net, net.side[one, TAIL], one, two):
        return True
    if apart > CARRIAGEWAYS or is_branch(net, one) or is_branch(net, two):
        return False
    if is_loop(net, one, two):
        return False
    far = min(PARALLEL_M, min(chain_length(net, one), chain_length(net, two)))
    lat, lon, _ = point_at(net, one, far)
    other_lat, other_lon, _ = point_at(net, two, far)
    lanes = net.side[one, NUM_LANES] + net.side[two, NUM_LANES]
    return far > LEAST_M and metres_between(lat, lon, other_lat, other_lon) <= APART_M + HALF_LANE_M * lanes


@jit_part
def turn_piece(net: Any, side: Any, bearing: Any) -> None:
    """Turn the other end of a short piece of a carriageway, too, if that makes the way to it straighter."""
    metres = 0.0
    last = side
    for _ in range(MOST_ROADS):
        metres += net.metric[last, LENGTH]
        if net.side[last, FOLLOW] < 0:
            break
        last = net.side[last, FOLLOW]
    back, place = last ^ 1, net.side[last, HEAD]
    if metres > PIECE_M or net.side[back, PARTNER] >= 0:
        return
    old = net.metric[back, BEARING]
    new = (old + bearing - net.metric[side, BEARING]) % 360.0
    for at in range(net.place_first[place], net.place_first[place + 1]):
        other = net.place_sides[at]
        if other != back:
            ahead = net.metric[other, BEARING]
            if deviation(new, ahead) > max(deviation(old, ahead), ALONG):
                net.metric[back, BEARING] = new
                return


@jit
def join_carriageways(net: Any) -> None:
    """Find the carriageways that leave a place as one street, and give them one bearing."""
    for place in range(len(net.place_first) - 1):
        begin, end = net.place_first[place], net.place_first[place + 1]
        if end - begin < 3:
            continue
        for first in range(begin, end):
            one = net.place_sides[first]
            if (net.side[one, FLAGS] & OPEN) == 0 or net.side[one, PARTNER] >= 0:
                continue
            best = -1
            for second in range(begin, end):
                two = net.place_sides[second]
                if two != one and are_carriageways(net, one, two):
                    best = two if best == -1 else -2
            # Where several streets may be the other carriageway, none is.
            if best >= 0:
                for third in range(begin, end):
                    rival = net.place_sides[third]
                    alike = (
                        rival != one and rival != best and (same_road(net, rival, best) or same_road(net, one, rival))
                    )
                    if alike and deviation(net.metric[rival, BEARING], net.metric[one, BEARING]) < ISLAND:
                        best = -2
                        break
            if best >= 0:
                a, b = net.metric[one, BEARING], net.metric[best, BEARING]
                middle = (a + b) / 2.0 + (180.0 if abs(a - b) > 180.0 else 0.0)
                for side in (one, best):
                    turn_piece(net, side, middle)
                    net.metric[side, BEARING] = middle % 360.0
                net.side[one, PARTNER] = best
                net.side[best, PARTNER] = one
