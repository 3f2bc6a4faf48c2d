"""Kernels of the directions in which streets leave intersections.

The first metres of a street often only lead from the middle of a wide street to its edge, or round a corner. The
direction that a traveller perceives is that of a line through what follows, if there is one.
"""

from __future__ import annotations

import math
from typing import Any

from vkssp.guidance.kernels.net import (
    BEARING,
    CIRCULAR,
    FLAGS,
    FOLLOW,
    FUZZY,
    HEAD,
    MINOR,
    MOTORWAY,
    NARROW,
    NUM_LANES,
    ROUND,
    START,
    TAIL,
    chain_end,
    chain_length,
    deviation,
)
from vkssp.jit import jit, jit_part

METRES_PER_DEGREE = 111_195.08
#: Metres of the width of a lane, and number of lanes where it is not known, on motorways twice as many.
LANE_M, USUAL_LANES = 3.25, 2
#: Metres along a street that are looked at: beyond the lanes that are crossed, at most, and to skip inaccuracies.
LOOK_M, FAR_M, SKIPPED_M = 10.0, 40.0, 2.0
#: Metres beyond the lanes that there have to be for a direction of their own.
LEAST_M = 8.0
#: Points of a street that are looked at.
MOST_POINTS = 128
#: Columns of the room for points: metres to the east and to the north of the first one, and along the street.
_EAST, _NORTH, _ALONG = 0, 1, 2


@jit_part
def gather(net: Any, side: Any, far: Any, room: Any) -> Any:
    """Fill `room` with the points of a street up to some metres, and return their number."""
    count = 0
    lat = lon = scale = 0.0
    for _ in range(MOST_POINTS):
        line = side >> 1
        begin, end = net.line_first[line], net.line_first[line + 1]
        for k in range(end - begin):
            at = end - 1 - k if side & 1 else begin + k
            if count == 0:
                lat, lon = net.points[at, 0], net.points[at, 1]
                scale = math.cos(math.radians(lat))
                room[0, _EAST] = room[0, _NORTH] = room[0, _ALONG] = 0.0
                count = 1
                continue
            east = (net.points[at, 1] - lon + 540.0) % 360.0 - 180.0
            x, y = METRES_PER_DEGREE * scale * east, METRES_PER_DEGREE * (net.points[at, 0] - lat)
            last = count - 1
            step = math.hypot(x - room[last, _EAST], y - room[last, _NORTH])
            if step < 1e-3:
                continue
            part = min(1.0, (far - room[last, _ALONG]) / step)
            room[count, _EAST] = room[last, _EAST] + part * (x - room[last, _EAST])
            room[count, _NORTH] = room[last, _NORTH] + part * (y - room[last, _NORTH])
            room[count, _ALONG] = room[last, _ALONG] + part * step
            count += 1
            if part < 1.0 or count == MOST_POINTS:
                return count
        if net.side[side, FOLLOW] < 0:
            break
        side = net.side[side, FOLLOW]
    return count


@jit_part
def bearing_to(east: Any, north: Any) -> Any:
    """Return the bearing of a vector in degrees, from 0 to 360."""
    found = math.degrees(math.atan2(east, north))
    return found + 360.0 if found < 0.0 else found


@jit_part
def point_on(room: Any, count: Any, metres: Any) -> Any:
    """Return the point some metres along gathered points, or the last one."""
    k = 1
    while k < count - 1 and room[k, _ALONG] < metres:
        k += 1
    step = room[k, _ALONG] - room[k - 1, _ALONG]
    part = min(1.0, (metres - room[k - 1, _ALONG]) / step)
    return (
        room[k - 1, _EAST] + part * (room[k, _EAST] - room[k - 1, _EAST]),
        room[k - 1, _NORTH] + part * (room[k, _NORTH] - room[k - 1, _NORTH]),
    )


@jit_part
def most_off(room: Any, begin: Any, end: Any, x: Any, y: Any, to_x: Any, to_y: Any) -> Any:
    """Return the largest distance of gathered points from a line between two points."""
    most = 0.0
    size = (to_x - x) ** 2 + (to_y - y) ** 2
    for k in range(begin, end):
        east, north = room[k, _EAST] - x, room[k, _NORTH] - y
        part = (east * (to_x - x) + north * (to_y - y)) / size if size > 0.0 else 0.0
        part = max(0.0, min(1.0, part))
        most = max(most, math.hypot(east - part * (to_x - x), north - part * (to_y - y)))
    return most


@jit_part
def fitted(room: Any, count: Any, skipped: Any) -> Any:
    """Return the ends of the line that fits gathered points best, without the first metres.

    Points at each metre are fitted, so that long pieces count more.
    """
    number = sum_x = sum_y = xx = yy = xy = 0.0
    low_x = low_y = 1e9
    high_x = high_y = -1e9
    metres, end = skipped, room[count - 1, _ALONG]
    while True:
        x, y = point_on(room, count, metres)
        number += 1.0
        sum_x += x
        sum_y += y
        xx += x * x
        yy += y * y
        xy += x * y
        low_x, high_x, low_y, high_y = min(low_x, x), max(high_x, x), min(low_y, y), max(high_y, y)
        metres += 1.0
        if metres > end:
            break
    mean_x, mean_y = sum_x / number, sum_y / number
    over_x, over_y, both = xx - sum_x * mean_x, yy - sum_y * mean_y, xy - sum_x * mean_y
    if high_y - low_y > 2.0 * (high_x - low_x):
        east, north = both / over_y if over_y > 0.0 else 0.0, 1.0
    else:
        east, north = 1.0, both / over_x if over_x > 0.0 else 0.0
    size = east * east + north * north
    x, y = point_on(room, count, skipped)
    here = ((x - mean_x) * east + (y - mean_y) * north) / size
    x, y = room[count - 1, _EAST], room[count - 1, _NORTH]
    there = ((x - mean_x) * east + (y - mean_y) * north) / size
    return mean_x + here * east, mean_y + here * north, mean_x + there * east, mean_y + there * north


@jit_part
def bearing_along(x: Any, y: Any, to_x: Any, to_y: Any) -> Any:
    """Return the bearing of a line, or of its end if it is short."""
    if math.hypot(to_x - x, to_y - y) < SKIPPED_M:
        return bearing_to(to_x, to_y)
    return bearing_to(to_x - x, to_y - y)


@jit_part
def is_curve(room: Any, count: Any, width: Any, total: Any) -> Any:
    """Return whether gathered points are a curve to one side, given half the width of the street and its metres."""
    last = count - 1
    if count < 3 or total <= 2.0 * width:
        return False
    end_x, end_y = room[last, _EAST], room[last, _NORTH]
    first = bearing_to(room[1, _EAST], room[1, _NORTH])
    final = bearing_to(end_x - room[last - 1, _EAST], end_y - room[last - 1, _NORTH])
    if deviation(first, final) <= NARROW / 2.0:
        return False
    # All points are on one side of the chord, first farther and farther from it and then nearer and nearer.
    side = room[1, _EAST] * end_y - room[1, _NORTH] * end_x
    best, best_off, before, falls = 1, 0.0, 0.0, False
    for k in range(1, last):
        if (room[k, _EAST] * end_y - room[k, _NORTH] * end_x > 0.0) != (side > 0.0):
            return False
        off = most_off(room, k, k + 1, 0.0, 0.0, end_x, end_y)
        if off < before:
            falls = True
        elif falls and off > before:
            return False
        if off > best_off:
            best, best_off = k, off
        before = off
    slight = best_off < max(0.3 * width, 0.5 * LANE_M)
    if (room[best, _ALONG] <= 0.35 * total or slight) and total > LOOK_M:
        return False
    # No part of it is straight for long.
    straight = max(0.0, room[1, _ALONG] - width)
    was = 0.0
    for k in range(1, last):
        here = bearing_to(room[k, _EAST] - room[k - 1, _EAST], room[k, _NORTH] - room[k - 1, _NORTH])
        there = bearing_to(room[k + 1, _EAST] - room[k, _EAST], room[k + 1, _NORTH] - room[k, _NORTH])
        bend = (there - here + 540.0) % 360.0 - 180.0
        if abs(was) > FUZZY and abs(bend) > FUZZY and (was > 0.0) != (bend > 0.0):
            return False
        step = room[k + 1, _ALONG] - room[k, _ALONG]
        straight = straight + step if abs(bend) < 5.0 else step
        if straight > 0.3 * total and k + 1 < last:
            return False
        was = bend
    return True


@jit_part
def perceived_bearing(net: Any, side: Any, room: Any) -> Any:
    """Return the bearing at which a side leaves its tail."""
    count = gather(net, side, FAR_M, room)
    if count < 2:
        return 0.0
    place, flags = net.side[side, TAIL], net.side[side, FLAGS]
    last = count - 1
    end_x, end_y = room[last, _EAST], room[last, _NORTH]
    if count == 2:
        return bearing_to(end_x, end_y)
    if (flags & (ROUND | CIRCULAR)) != 0 or (place >= 0 and net.side[chain_end(net, side), HEAD] == place):
        x, y = point_on(room, count, SKIPPED_M)
        return bearing_to(x, y)
    if (flags & MINOR) != 0:
        x, y = point_on(room, count, LOOK_M)
        return bearing_to(x, y)
    lanes = 0
    if place >= 0:
        for at in range(net.place_first[place], net.place_first[place + 1]):
            lanes = max(lanes, net.side[net.place_sides[at], NUM_LANES])
    if lanes == 0:
        lanes = USUAL_LANES * (1 + ((flags & MOTORWAY) != 0))
    width = 0.5 * LANE_M * lanes
    if room[1, _ALONG] > width + LOOK_M:
        return bearing_to(room[1, _EAST], room[1, _NORTH])
    total = room[last, _ALONG]
    straight = 1
    while straight < last:
        k = straight + 1
        if most_off(room, 1, k, 0.0, 0.0, room[k, _EAST], room[k, _NORTH]) >= 0.25 * LANE_M:
            break
        straight = k
    if room[straight, _ALONG] >= width + LOOK_M:
        x, y = point_on(room, count, SKIPPED_M)
        return bearing_to(x, y)
    x, y, to_x, to_y = fitted(room, count, 0.0)
    if most_off(room, 0, count, x, y, to_x, to_y) < 0.35 * LANE_M:
        return bearing_along(x, y, to_x, to_y)
    beyond_x, beyond_y = room[straight, _EAST], room[straight, _NORTH]
    if (
        straight < last
        and abs(room[straight, _ALONG] - width) < 0.5 * LANE_M
        and total >= 0.8 * FAR_M
        and most_off(room, straight, count, beyond_x, beyond_y, end_x, end_y) < 0.5 * LANE_M
    ):
        return bearing_along(beyond_x, beyond_y, end_x, end_y)
    if is_curve(room, count, width, max(total, chain_length(net, side))):
        return bearing_to(end_x, end_y)
    skipped = 0.8 * 2.0 * width
    if total >= skipped + LEAST_M:
        x, y, to_x, to_y = fitted(room, count, skipped)
        begin = 1
        while room[begin, _ALONG] < skipped:
            begin += 1
        room[begin - 1, _EAST], room[begin - 1, _NORTH] = point_on(room, count, skipped)
        if most_off(room, begin - 1, count, x, y, to_x, to_y) < 0.5 * LANE_M:
            return bearing_along(x, y, to_x, to_y)
    x, y = point_on(room, count, LOOK_M)
    return bearing_to(x, y)


@jit
def find_bearings(net: Any, room: Any) -> None:
    """Find the bearing at which each side leaves its tail, and that of its first piece."""
    for side in range(len(net.metric)):
        net.metric[side, BEARING] = perceived_bearing(net, side, room)
        net.metric[side, START] = bearing_to(room[1, _EAST], room[1, _NORTH])
    # The order of streets is that in which they begin, also where they cross afterwards.
    for place in range(len(net.place_first) - 1):
        for first in range(net.place_first[place], net.place_first[place + 1]):
            one = net.place_sides[first]
            for second in range(net.place_first[place], first):
                two = net.place_sides[second]
                began = (net.metric[one, START] - net.metric[two, START] + 540.0) % 360.0 - 180.0
                seen = (net.metric[one, BEARING] - net.metric[two, BEARING] + 540.0) % 360.0 - 180.0
                if abs(began) < 90.0 and abs(seen) < 90.0 and began * seen < 0.0:
                    turned = net.metric[one, BEARING]
                    net.metric[one, BEARING] = net.metric[two, BEARING]
                    net.metric[two, BEARING] = turned
