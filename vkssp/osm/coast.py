"""Sea beside coasts that end, as in extracts of a part of a coast."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: How many times the size of the map the sea goes on beyond it, and the bounds of latitude and longitude.
_BEYOND, _LAST = 8.0, np.array([85.05, 180.0])
#: Share of the map's sides from which on the sea goes on beyond them.
_OPEN = 0.15


def sea_beside(coasts: Sequence[Floats], south_west: Floats, north_east: Floats) -> list[Floats]:
    """Return rings around the sea beside coasts that have ends; land lies to the left of a coast.

    The map is the largest rectangle around the streets, up to three times as wide and high, in which no coast ends.
    From where a coast leaves it, it is continued straight away from the middle of the map, unless only a small part of
    the map's sides lies in the sea, as at the mouth of a bay. Coasts beside the rectangle of the streets do not count.

    Parameters
    ----------
    coasts : sequence of numpy.ndarray
        Latitudes and longitudes in degrees of each coast, shape (k, 2).
    south_west, north_east : numpy.ndarray
        Latitude and longitude in degrees of the corners of the rectangle around the streets, shape (2,) each.
    """
    import shapely

    lines = [shapely.LineString(coast[:, ::-1]) for coast in coasts]
    is_near = shapely.intersects(lines, shapely.box(*south_west[::-1], *north_east[::-1]))
    lines, coasts = (list(compress(items, is_near)) for items in (lines, coasts))
    if not lines or not (south_west < north_east).all():
        return []
    low, high = _map_between(coasts, south_west, north_east)
    inside = shapely.get_parts(shapely.clip_by_rect(shapely.multilinestrings(lines), *low[::-1], *high[::-1]))
    inside = inside[(shapely.get_type_id(inside) == 1) & ~shapely.is_empty(inside)]
    if len(inside) == 0:
        return []
    far = _BEYOND * (high - low)
    outer = np.maximum(low - far, -_LAST), np.minimum(high + far, _LAST)
    pieces = [_continued(shapely.get_coordinates(one)[:, ::-1], (low + high) / 2, outer) for one in inside]
    frame = shapely.box(*outer[0][::-1], *outer[1][::-1]).exterior
    noded = shapely.union_all([frame, *(shapely.LineString(piece[:, ::-1]) for piece in pieces)])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(noded)))
    sea = faces[_are_sea(faces, pieces)]
    map_area = shapely.box(*low[::-1], *high[::-1])
    along = shapely.length(shapely.intersection(sea, map_area.exterior))
    is_open = along > _OPEN * map_area.length
    seas = [*sea[is_open], *shapely.get_parts(shapely.intersection(sea[~is_open], map_area))]
    return [shapely.get_coordinates(face.exterior)[:, ::-1] for face in seas if face.geom_type == "Polygon"]


def _map_between(coasts: Sequence[Floats], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the largest rectangle around one in which no coast ends, unless it ends in that."""
    points = np.concatenate(coasts)
    ends = np.array([point for coast in coasts for point in (coast[0], coast[-1])])
    least = np.maximum(np.minimum(points.min(axis=0), low), low - (high - low))
    most = np.minimum(np.maximum(points.max(axis=0), high), high + (high - low))
    # How far each end lies beyond the south, west, north and east of the inner rectangle, in its widths.
    size = np.tile(np.maximum(high - low, 1e-9), 2)
    over = np.concatenate([low - ends, ends - high], axis=1) / size
    side = over.argmax(axis=1)
    for which, (end, by) in enumerate(zip(side.tolist(), over.max(axis=1).tolist(), strict=True)):
        if by <= 0:
            continue
        axis = end % 2
        if end < 2:
            least[axis] = max(least[axis], ends[which, axis])
        else:
            most[axis] = min(most[axis], ends[which, axis])
    return least, most


def _continued(line: Floats, centre: Floats, outer: tuple[Floats, Floats]) -> Floats:
    """Return a line with both ends continued, straight away from a place, to the sides of a rectangle around it."""
    added = []
    for end in (line[0], line[-1]):
        step = end - centre
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(step == 0, np.inf, (np.where(step > 0, outer[1], outer[0]) - centre) / step)
        side = int(reach.argmin())
        beyond = centre + step * reach[side]
        # Exactly on the side, whatever rounding says.
        beyond[side] = (outer[1] if step[side] > 0 else outer[0])[side]
        added.append(beyond)
    return np.concatenate([added[:1], line, added[1:]])


def _are_sea(faces: Any, coasts: Sequence[Floats]) -> npt.NDArray[np.bool_]:
    """Return which faces lie to the right of more of their coasts than to the left."""
    import shapely

    steps = {}
    for coast in coasts:
        points = [*map(tuple, coast.tolist())]
        steps.update(dict.fromkeys(pairwise(points)))
    found = np.zeros(len(faces), np.bool_)
    for number, face in enumerate(faces):
        # An exterior runs counter-clockwise and has the face on its left.
        points = [*map(tuple, shapely.get_coordinates(shapely.orient_polygons(face).exterior)[:, ::-1].tolist())]
        sea = land = 0.0
        for start, end in pairwise(points):
            length = abs(start[0] - end[0]) + abs(start[1] - end[1])
            land += length if (start, end) in steps else 0.0
            sea += length if (end, start) in steps else 0.0
        found[number] = sea > land
    return found
