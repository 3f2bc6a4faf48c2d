"""Kernels that find the pieces of streets near places, and the points on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import EARTH_RADIUS, METRES_PER_DEGREE, POLAR_LATITUDE
from vkssp.jit import jit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# A point on a street within this many metres of the street's end is taken to be at the end: on the junction, free to
# take any of its streets. OpenStreetMap's coordinates are a centimetre apart.
_END_M = 0.1
# Streets of these latitudes may be near a place beyond `POLAR_LATITUDE`.
_CAP = POLAR_LATITUDE - 1.0
# Boxes and pieces are left out if they are farther than the nearest piece by more than errors of rounding.
_SLACK = 1.0 + 1e-9


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
    lat: float, lon: float, limit: float, boxes: Floats, nodes: Any, points: Floats, allowed: Any, found: Floats
) -> int:
    """Find the pieces of streets within some metres of a place, and return their number.

    `boxes` and `nodes` are a `StreetTree`, `allowed` says which streets may be found. A row of `found` is the distance,
    the street, the piece and the part of the piece before its nearest point. If `found` has one row, it is the nearest
    piece, of several the first one of the first street. Otherwise it has all pieces, in any order; if they are more
    than rows, the rest is only counted.
    """
    width = math.cos(math.radians(lat))
    polar, northern = abs(lat) > POLAR_LATITUDE, lat > 0.0
    single, count = len(found) == 1, 0
    node: Any = 0
    bound = limit * _SLACK
    while node < len(boxes):
        beyond = np.int64(nodes[node, 0])
        if polar:
            # Streets of all longitudes may be near, since they may lead over the pole.
            is_far = boxes[node, 2] < _CAP if northern else boxes[node, 0] > -_CAP
        else:
            up = aside = 0.0
            if lat < boxes[node, 0]:
                up = boxes[node, 0] - lat
            elif lat > boxes[node, 2]:
                up = lat - boxes[node, 2]
            if lon < boxes[node, 1]:
                aside = boxes[node, 1] - lon
            elif lon > boxes[node, 3]:
                aside = lon - boxes[node, 3]
            aside *= width
            is_far = math.sqrt(up * up + aside * aside) * METRES_PER_DEGREE > bound
        line = nodes[node, 3]
        if is_far or (beyond == node + 1 and not allowed[line]):
            node = beyond
            continue
        node += 1
        if beyond > node:
            continue
        begin, end, start = np.int64(nodes[node - 1, 1]), np.int64(nodes[node - 1, 2]), np.int64(nodes[node - 1, 4])
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
            metres = math.hypot(up0 + along * up, aside0 + along * aside)
            if metres > limit:
                continue
            at, piece = count, i - 1 - start
            if single:
                at = 0
                bound = metres * _SLACK
                if (
                    metres == limit
                    and count > 0
                    and not (line < found[0, 1] or (line == found[0, 1] and piece < found[0, 2]))
                ):
                    continue
                limit = metres
            count += 1
            if at < len(found):
                found[at, 0] = metres
                found[at, 1] = line
                found[at, 2] = piece
                found[at, 3] = along
    return count


@jit
def metres_between(lat0: float, lon0: float, lat1: float, lon1: float) -> float:
    """Return the great-circle distance of two points; see `vkssp.graph.geo.haversine`."""
    phi0, phi1 = math.radians(lat0), math.radians(lat1)
    up, aside = math.sin((phi1 - phi0) / 2.0), math.sin(math.radians(lon1 - lon0) / 2.0)
    half = up * up + math.cos(phi0) * math.cos(phi1) * aside * aside
    return 2.0 * EARTH_RADIUS * math.asin(math.sqrt(half if half < 1.0 else 1.0))


@jit
def put_snap(
    lat: float, lon: float, found: Floats, first: Ints, points: Floats, piece_metres: Floats, snaps: Floats, row: int
) -> None:
    """Write a row of `snaps`: the point of a place on the street of that row in `found`; see `find_pieces`.

    A row has the values of `vkssp.routing.lines.Snap`.
    """
    line, at, along = np.int64(found[row, 1]), int(found[row, 2]), found[row, 3]
    begin, end = first[line], first[line + 1] - 1
    here = begin + at
    lat0, lon0, lat1, lon1 = points[here, 0], points[here, 1], points[here + 1, 0], points[here + 1, 1]
    at_lat, at_lon = lat0 + along * (lat1 - lat0), lon0 + along * (lon1 - lon0)
    most = lat0 if abs(lat0) >= abs(lat1) else lat1
    if (abs(most) > POLAR_LATITUDE) & (along > 0.0) & (along < 1.0):
        pole = 1.0 if most > 0.0 else -1.0
        away0, away1 = (90.0 - pole * lat0) * METRES_PER_DEGREE, (90.0 - pole * lat1) * METRES_PER_DEGREE
        x, y = away0 * math.cos(math.radians(lon0)), away0 * math.sin(math.radians(lon0))
        x += along * (away1 * math.cos(math.radians(lon1)) - x)
        y += along * (away1 * math.sin(math.radians(lon1)) - y)
        at_lat, at_lon = pole * (90.0 - math.hypot(x, y) / METRES_PER_DEGREE), math.degrees(math.atan2(y, x))
        at_lon += 360.0 * np.rint((lon0 - at_lon) / 360.0)
    metres = whole = 0.0
    for i in range(begin, end):
        if i == here:
            metres = whole + along * piece_metres[i]
        whole += piece_metres[i]
    fraction = metres / whole if whole > 0.0 else 0.0
    if fraction > 1.0:
        fraction = 1.0
    if metres < _END_M:
        fraction, at, at_lat, at_lon = 0.0, 0, points[begin, 0], points[begin, 1]
    elif whole - metres < _END_M:
        fraction, at, at_lat, at_lon = 1.0, end - begin - 1, points[end, 0], points[end, 1]
    if abs(at_lon) > 180.0:
        at_lon = (at_lon + 180.0) % 360.0 - 180.0
    snaps[row, 0] = line
    snaps[row, 1] = fraction
    snaps[row, 2] = at
    snaps[row, 3] = at_lat
    snaps[row, 4] = at_lon
    snaps[row, 5] = metres_between(lat, lon, at_lat, at_lon)


@jit
def snap_each(
    places: Floats,
    limit: float,
    first_radius: float,
    west: float,
    east: float,
    boxes: Floats,
    nodes: Any,
    allowed: Any,
    first: Ints,
    points: Floats,
    piece_metres: Floats,
    found: Floats,
    spare: Floats,
    snaps: Floats,
) -> None:
    """Write the nearest point on a street for each place, as `put_snap` does; the street is -1 if none is within limit.

    The search begins within `first_radius`, and reaches four times as far each time. `west` and `east` are the bounds
    of the streets. `found` and `spare` are room for a piece and its snap.
    """
    for row in range(len(places)):
        lat, lon = places[row, 0], places[row, 1]
        snaps[row, 0] = -1.0
        radius = first_radius if first_radius < limit else limit
        while True:
            angle, aside = radius / EARTH_RADIUS, 180.0
            if abs(math.radians(lat)) + angle < math.pi / 2.0:  # as `vkssp.graph.geo.longitude_reach`
                aside = math.degrees(math.asin(math.sin(angle) / math.cos(math.radians(lat))))
            for turn in range(3):
                x = lon + (360.0 * turn if turn < 2 else -360.0)
                if abs(lat) > POLAR_LATITUDE:
                    if turn > 0:
                        break
                elif (x < west - aside) | (x > east + aside):
                    continue
                if find_pieces(lat, x, radius, boxes, nodes, points, allowed, found) > 0:
                    put_snap(lat, x, found, first, points, piece_metres, spare, 0)
                    if (snaps[row, 0] < 0.0) | (spare[0, 5] < snaps[row, 5]):
                        for column in range(6):
                            snaps[row, column] = spare[0, column]
            if (snaps[row, 0] >= 0.0) | (radius >= limit):
                break
            radius = 4.0 * radius if 4.0 * radius < limit else limit
