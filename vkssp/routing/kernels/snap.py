"""Kernels that find the pieces of streets near places, and the points on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import METRES_PER_DEGREE, POLAR_LATITUDE
from vkssp.jit import jit
from vkssp.routing.kernels.vectors import boxes_within, lowest_bit
from vkssp.routing.street_tree import FAN

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# Streets of these latitudes may be near a place beyond `POLAR_LATITUDE`, or less by the metres that are near.
_CAP = POLAR_LATITUDE - 1.0
# Boxes and pieces are left out if they are farther than the nearest piece by more than errors of rounding.
_SLACK = 1.0 + 1e-9
# A point on a street within this many metres of the street's end is taken to be at the end: on the junction, free to
# take any of its streets. OpenStreetMap's coordinates are a centimetre apart.
_END_M = 0.1
_LEAST_M = 1e-6
# Degrees of longitude that a metre takes at most, where `POLAR_LATITUDE` is not passed, and some more.
_MOST_ASIDE = 1.001 / (METRES_PER_DEGREE * math.cos(math.radians(POLAR_LATITUDE)))


@jit
def plane_at(lat: float, lon: float, place_lat: float, place_lon: float, width: float) -> tuple[float, float]:
    """Return a point on the plane at a place, metres to the north and to the east; see `vkssp.graph.geo.plane_at`.

    `width` is the cosine of the place's latitude.
    """
    if abs(place_lat) <= POLAR_LATITUDE:
        return (lat - place_lat) * METRES_PER_DEGREE, (lon - place_lon) * METRES_PER_DEGREE * width
    pole = 1.0 if place_lat > 0.0 else -1.0
    away, place_away = (90.0 - pole * lat) * METRES_PER_DEGREE, (90.0 - pole * place_lat) * METRES_PER_DEGREE
    angle, place_angle = math.radians(lon), math.radians(place_lon)
    cos, sin = math.cos(place_angle), math.sin(place_angle)
    x, y = away * math.cos(angle) - place_away * cos, away * math.sin(angle) - place_away * sin
    return -pole * (x * cos + y * sin) + 0.0, y * cos - x * sin


@jit
def find_pieces(
    lat: float,
    lon: float,
    limit: float,
    boxes: Any,
    runs: Any,
    levels: Ints,
    points: Floats,
    allowed: Any,
    waiting: Ints,
    found: Floats,
) -> int:
    """Find the pieces of streets within some metres of a place, and return their number.

    `boxes`, `runs` and `levels` are a `StreetTree`, `allowed` says which streets may be found, and `waiting` has room
    for a number for each level. A row of `found` is the distance, the street, the piece and the part of the piece
    before its nearest point. If `found` has one row, it is the nearest piece, of several the first one of the first
    street. Otherwise it has all pieces, in any order; if they are more than rows, the rest is only counted.
    """
    width = math.cos(math.radians(lat))
    polar, northern = abs(lat) > POLAR_LATITUDE, lat > 0.0
    single, count = len(found) == 1, 0
    bound = limit * _SLACK
    up_bound = bound / METRES_PER_DEGREE
    aside_bound = up_bound / width
    beyond_limit = (bound + _LEAST_M) * (bound + _LEAST_M)
    top = len(levels) - 2
    level: Any = np.int64(top)
    group: Any = np.int64(0)
    # A bit for each box of the group of a level that is still to be looked at; and, for each level, whether the bound
    # has become less since these were found.
    is_new = True
    outdated = np.int64(0)
    while level <= top:
        bits: Any = np.int64(0xFF if is_new else waiting[level])
        if bits != 0 and (is_new or (outdated >> level) & 1 != 0):
            at = levels[level] + group
            if polar:
                # Streets of all longitudes may be near, since they may lead over the pole.
                cap = _CAP - bound / METRES_PER_DEGREE
                for i in range(FAN):
                    is_far = boxes[at, 2, i] < cap if northern else boxes[at, 0, i] > -cap
                    if is_far:
                        bits &= ~(np.int64(1) << i)
            else:
                # The square around the circle, since that takes less time to find out.
                bits &= np.int64(boxes_within(boxes, at, lat, lon, up_bound, aside_bound))
            outdated &= ~(np.int64(1) << level)
        is_new = False
        if bits == 0:
            level += 1
            group //= FAN
            continue
        waiting[level] = bits & (bits - 1)
        run = group * FAN + lowest_bit(np.uint64(bits))
        if level > 0:
            level -= 1
            group = run
            is_new = True
            continue
        if not allowed[runs[run, 2]]:
            continue
        begin, end = np.int64(runs[run, 0]), np.int64(runs[run, 1])
        line, start = np.int64(runs[run, 2]), np.int64(runs[run, 3])
        up1 = aside1 = 0.0
        for i in range(begin, end + 1):
            up0, aside0 = up1, aside1
            up1, aside1 = plane_at(points[i, 0], points[i, 1], lat, lon, width)
            if i == begin:
                continue
            up, aside = up1 - up0, aside1 - aside0
            along, squared = -(up0 * up + aside0 * aside), up * up + aside * aside
            if squared > 0.0:
                along /= squared
            if along < 0.0:
                along = 0.0
            elif along > 1.0:
                along = 1.0
            up, aside = up0 + along * up, aside0 + along * aside
            if up * up + aside * aside > beyond_limit:
                continue
            # Whole micrometres, so that rounding does not decide between pieces that are equally near.
            metres = math.floor(math.hypot(up, aside) / _LEAST_M + 0.5) * _LEAST_M
            if metres > limit:
                continue
            at, piece = count, i - 1 - start
            if single:
                at = 0
                bound = (metres + _LEAST_M) * _SLACK
                if (
                    metres == limit
                    and count > 0
                    and not (line < found[0, 1] or (line == found[0, 1] and piece < found[0, 2]))
                ):
                    continue
                limit = metres
                outdated = (np.int64(2) << top) - 1
                up_bound = bound / METRES_PER_DEGREE
                aside_bound = up_bound / width
                beyond_limit = bound * bound
            count += 1
            if at < len(found):
                found[at, 0] = metres
                found[at, 1] = line
                found[at, 2] = piece
                found[at, 3] = along
    return count


@jit
def put_piece(lat: float, lon: float, line: int, piece: int, first: Any, points: Floats, row: Floats) -> None:
    """Write a row, as `find_pieces` does, for one piece of a street."""
    width, at = math.cos(math.radians(lat)), np.int64(first[line]) + piece
    turn = 360.0 * round((points[at, 1] - lon) / 360.0) if abs(lat) <= POLAR_LATITUDE else 0.0
    up0, aside0 = plane_at(points[at, 0], points[at, 1], lat, lon + turn, width)
    up1, aside1 = plane_at(points[at + 1, 0], points[at + 1, 1], lat, lon + turn, width)
    up, aside = up1 - up0, aside1 - aside0
    along, squared = 0.0, up * up + aside * aside
    if squared > 0.0:
        along = min(1.0, max(0.0, -(up0 * up + aside0 * aside) / squared))
    row[0], row[1] = math.hypot(up0 + along * up, aside0 + along * aside), line
    row[2], row[3] = piece, along


@jit
def find_directions(
    rows: Floats,
    points: Floats,
    first: Any,
    ways: Any,
    left_hand: Any,
    lat: float,
    lon: float,
    bearing: float,
    around: float,
    approach: int,
    directions: Any,
) -> None:
    """Find the directions of travel that conditions of a place allow on each piece of a street of `find_pieces`.

    They are the sum of 1 for forward along the street and 2 for backward, and the street has those in `ways`. A
    direction is allowed if it is within `around` degrees of `bearing`, unless that is negative. On two-way streets, if
    `approach` is 1, the place has to be on the side on which traffic drives, on the left where `left_hand` says so; if
    it is 2, on the other side.
    """
    for row in range(len(rows)):
        line = np.int64(rows[row, 1])
        at = np.int64(first[line]) + np.int64(rows[row, 2])
        width = math.cos(math.radians(points[at, 0]))
        up, aside = plane_at(points[at + 1, 0], points[at + 1, 1], points[at, 0], points[at, 1], width)
        found = np.int64(ways[line])
        if approach > 0 and found == 3:
            turn = 360.0 * round((points[at, 1] - lon) / 360.0)
            to_up, to_aside = plane_at(lat, lon + turn, points[at, 0], points[at, 1], width)
            on_right = up * to_aside - aside * to_up >= 0.0
            found = np.int64(1 if (on_right != left_hand[line]) == (approach == 1) else 2)
        if bearing >= 0.0:
            own = float(round(math.degrees(math.atan2(aside, up))))
            for direction in range(1, 3):
                away = abs(own + 180.0 * (direction - 1) - bearing) % 360.0
                if min(away, 360.0 - away) > around:
                    found &= ~direction
        directions[row] = found


@jit
def put_snaps(rows: Floats, points: Floats, first: Any, passed: Floats, snaps: Floats) -> None:
    """Write a row for the point of each row that `find_pieces` found, unless its distance is infinite.

    It has the part of the street before the point, the piece, and the point's latitude and longitude, the latter as if
    the piece were straight in degrees. `first` and `passed` are the street's first points and the metres up to points.
    """
    for row in range(len(rows)):
        if rows[row, 0] == math.inf:
            continue
        line, along = np.int64(rows[row, 1]), rows[row, 3]
        begin, end, here = np.int64(first[line]), np.int64(first[line + 1]) - 1, np.int64(rows[row, 2])
        at = begin + here
        lat = points[at, 0] + along * (points[at + 1, 0] - points[at, 0])
        lon = points[at, 1] + along * (points[at + 1, 1] - points[at, 1])
        metres, whole, fraction = passed[at] + along * (passed[at + 1] - passed[at]), passed[end], 0.0
        if whole > 0.0:
            fraction = metres / whole
        if fraction > 1.0:
            fraction = 1.0
        if metres < _END_M:
            fraction, here = 0.0, np.int64(0)
            lat, lon = points[begin, 0], points[begin, 1]
        elif whole - metres < _END_M:
            fraction, here = 1.0, end - begin - 1
            lat, lon = points[end, 0], points[end, 1]
        if abs(lon) > 180.0:
            lon = (lon + 180.0) % 360.0 - 180.0
        snaps[row, 0] = fraction
        snaps[row, 1] = here
        snaps[row, 2] = lat
        snaps[row, 3] = lon


@jit
def find_nearest(
    places: Floats,
    limit: float,
    first_radius: float,
    boxes: Any,
    runs: Any,
    levels: Ints,
    points: Floats,
    allowed: Any,
    first: Any,
    passed: Floats,
    waiting: Ints,
    room: Floats,
    found: Floats,
    snaps: Floats,
) -> None:
    """Find the nearest piece of a street for each place; its distance is infinite if none is within `limit` metres.

    A row of `found` is as in `find_pieces`, for which `room` has one and `waiting` is, and a row of `snaps` as in
    `put_snaps`. The search begins within `first_radius`, and reaches four times as far each time.
    """
    root = levels[len(levels) - 2]
    west, east = boxes[root, 1, 0], boxes[root, 3, 0]
    for row in range(len(places)):
        lat, radius = places[row, 0], first_radius
        found[row, 0] = math.inf
        while found[row, 0] == math.inf:
            if radius > limit:
                radius = limit
            # Streets at the 180th meridian may have longitudes on either side; near a pole all are found at once.
            for turn in range(1 if abs(lat) > POLAR_LATITUDE else 3):
                lon = places[row, 1] + 360.0 * (turn if turn < 2 else -1)
                if turn > 0 and (west - lon > radius * _MOST_ASIDE or lon - east > radius * _MOST_ASIDE):
                    continue
                count = find_pieces(lat, lon, radius, boxes, runs, levels, points, allowed, waiting, room)
                if count > 0 and room[0, 0] < found[row, 0]:
                    for column in range(4):
                        found[row, column] = room[0, column]
            if radius == limit:
                break
            radius *= 4.0
    put_snaps(found, points, first, passed, snaps)


@jit
def find_trip_ends(
    places: Floats,
    limit: float,
    first_radius: float,
    boxes: Any,
    runs: Any,
    levels: Ints,
    points: Floats,
    allowed: Any,
    first: Any,
    passed: Floats,
    one_sided: Any,
    both_ways: Any,
    both_ways_limit: float,
    waiting: Ints,
    room: Floats,
    found: Floats,
    snaps: Floats,
    begin: int,
    lines: Ints,
    columns: Floats,
) -> None:
    """Do what `find_nearest` does, but take streets of `both_ways` in place of those of `one_sided`, and write columns.

    The former are looked for within `both_ways_limit` metres, unless that is negative, for which `room` has three rows;
    a point that is the same stays on the street that was found first. `lines` receives the streets and the pieces,
    `columns` the parts of the streets before the points, the points and the parts of the pieces before them. If a place
    has no point, the street is -1.
    """
    nearest = room[:1]
    find_nearest(
        places, limit, first_radius, boxes, runs, levels, points, allowed, first, passed, waiting, nearest, found, snaps
    )
    for row in range(len(places)):
        at = begin + row
        if found[row, 0] == math.inf:
            lines[0, at], lines[1, at] = -1, 0
            columns[0, at], columns[1, at], columns[2, at], columns[3, at] = 0.5, 0.5, 0.5, 0.0
            continue
        if both_ways_limit >= 0.0 and one_sided[np.int64(found[row, 1])]:
            other, point = room[1:2], room[2:3]
            place, radius = places[row : row + 1], both_ways_limit
            find_nearest(
                place,
                radius,
                first_radius,
                boxes,
                runs,
                levels,
                points,
                both_ways,
                first,
                passed,
                waiting,
                nearest,
                other,
                point,
            )
            if other[0, 0] != math.inf and (point[0, 2] != snaps[row, 2] or point[0, 3] != snaps[row, 3]):
                for column in range(4):
                    found[row, column], snaps[row, column] = other[0, column], point[0, column]
        line, fraction = np.int64(found[row, 1]), snaps[row, 0]
        lines[0, at], lines[1, at] = line, np.int64(snaps[row, 1])
        columns[0, at], columns[1, at], columns[2, at] = fraction, snaps[row, 2], snaps[row, 3]
        columns[3, at] = found[row, 3] if fraction > 0.0 and fraction < 1.0 else fraction
