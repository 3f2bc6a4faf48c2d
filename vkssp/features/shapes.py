"""Shapes of features: shapely geometries in degrees on WGS 84, longitude first, cut at the 180th meridian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import objects
from vkssp.checks import items_of, shown
from vkssp.errors import FormatError, QueryError
from vkssp.extras import optional

#: Decimals of degrees in files and shapes: 1e-7 degrees is a centimetre, the resolution of OpenStreetMap.
DECIMALS = 7
#: Name of the column of shapes in tables.
GEOMETRY = "geometry"
#: Authority and code of longitude and latitude on WGS 84; in files all of these have the longitude first.
DEGREES = (("OGC", "CRS84"), ("EPSG", "4326"))

Floats = npt.NDArray[np.float64]
#: Array of shapely geometries.
Shapes = npt.NDArray[Any]


def positions(points: Floats) -> Floats:
    """Return latitudes and longitudes as rounded longitudes and latitudes, shape (k, 2)."""
    # Adding zero turns -0.0 into 0.0.
    return points[:, ::-1].round(DECIMALS) + 0.0


def jumps(points: Floats) -> bool:
    """Return whether a line of latitudes and longitudes crosses the 180th meridian."""
    return bool((np.abs(np.diff(points[:, 1])) > 180.0).any())


def cut_line(points: Floats) -> list[Floats]:
    """Return the parts of a line that lie on either side of the 180th meridian, as RFC 7946 requires (section 3.1.9).

    Parameters
    ----------
    points : numpy.ndarray
        Latitude and longitude, shape (k, 2); longitudes from -180 to 180 degrees.

    Returns
    -------
    list of numpy.ndarray
        Longitude and latitude of the points of each part, shape (p, 2) each.
    """
    whole = positions(points)
    line: list[Any] = []
    lines = [line]
    for lon, lat in whole.tolist():
        if line and abs(lon - line[-1][0]) > 180.0:
            before, east = line[-1], math.copysign(180.0, line[-1][0])
            far = lon + 2.0 * east - before[0]
            share = (east - before[0]) / far if far else 0.0
            crossing = round(before[1] + share * (lat - before[1]), DECIMALS) + 0.0
            line.append([east, crossing])
            line = [[-east, crossing]]
            lines.append(line)
        line.append([lon, lat])
    return [np.array(one, np.float64) for one in lines]


def line(points: Floats) -> Any:
    """Return a line through latitudes and longitudes; see `lines`."""
    return lines([points])[0]


def lines(pieces: Sequence[Floats]) -> Shapes:
    """Return lines, each through its latitudes and longitudes, shape (k, 2), at least one point.

    A line that crosses the 180th meridian becomes a MultiLineString. A line of one point gets that point twice.
    """
    pieces = [points if len(points) > 1 else np.repeat(points, 2, axis=0) for points in pieces]
    if not pieces:
        return np.zeros(0, object)
    return lines_through(np.concatenate(pieces), np.array([len(points) for points in pieces]))


def lines_through(points: Floats, counts: npt.NDArray[np.int64]) -> Shapes:
    """Return lines through consecutive points, latitudes and longitudes; `counts` are those of each line, 2 or more."""
    import shapely

    which = np.repeat(np.arange(len(counts)), counts)
    found: Shapes = shapely.linestrings(positions(points), indices=which) if len(counts) else np.zeros(0, object)
    crosses = (np.abs(np.diff(points[:, 1])) > 180.0) & (which[1:] == which[:-1])
    first = np.cumsum(counts) - counts
    for at in np.unique(which[1:][crosses]).tolist():
        found[at] = shapely.MultiLineString(cut_line(points[first[at] : first[at] + counts[at]]))
    return found


def dots(lat: npt.NDArray[Any], lon: npt.NDArray[Any]) -> Shapes:
    """Return points at latitudes and longitudes."""
    import shapely

    found: Shapes = shapely.points(positions(np.stack([lat, lon], axis=1).astype(np.float64)))
    return found


def cut_area(area: Any) -> Any:
    """Return an area in degrees, cut at the poles, and at the 180th meridian if it extends beyond it."""
    import shapely

    if area.is_empty or shapely.box(-180.0, -90.0, 180.0, 90.0).covers(shapely.box(*area.bounds)):
        return area
    parts = []
    for turn in (-360.0, 0.0, 360.0):
        inside = shapely.clip_by_rect(area, turn - 180.0, -90.0, turn + 180.0, 90.0)
        parts.append(shapely.transform(inside, lambda points, turn=turn: points - [turn, 0.0]))
    return shapely.union_all(parts)


def cut_areas(areas: Shapes) -> Shapes:
    """Return areas in degrees, rounded, each cut as by `cut_area`, with counterclockwise outer rings."""
    import shapely
    from shapely.geometry.polygon import orient

    cut: Shapes = shapely.transform(areas, lambda points: points.round(DECIMALS) + 0.0)
    west, south, east, north = shapely.bounds(cut).T
    for at in np.flatnonzero((west < -180.0) | (south < -90.0) | (east > 180.0) | (north > 90.0)).tolist():
        parts = shapely.get_parts(cut_area(cut[at]))
        cut[at] = shapely.MultiPolygon([orient(part) for part in parts if part.geom_type == "Polygon"])
    return cut


def in_degrees(shapes: Shapes, system: Any, name: str) -> Shapes:
    """Return shapes in longitude and latitude on WGS 84.

    Parameters
    ----------
    shapes : numpy.ndarray
        The shapes; None is none.
    system : str, dict, pyproj.CRS or None
        Their coordinate system: a name such as "EPSG:32631", WKT, PROJJSON, or an object of pyproj's; None for degrees.
    name : str
        What holds the shapes, for errors.

    Raises
    ------
    FormatError
        If the system is not known, or a shape has no place on WGS 84.
    QueryError
        If the system is another one, and pyproj is not installed.
    """
    import shapely

    if system is None or _sign(system) in DEGREES:
        return shapes
    title = system.get("name") if isinstance(system, dict) else getattr(system, "name", system)
    what = f"{name} has coordinates in {shown(title)}, and converting them needs"
    pyproj = optional("pyproj", what, "maps", "give longitude and latitude")
    try:
        source = pyproj.CRS.from_json_dict(system) if isinstance(system, dict) else pyproj.CRS.from_user_input(system)
        change = pyproj.Transformer.from_crs(source, "OGC:CRS84", always_xy=True)
    except (pyproj.exceptions.ProjError, ValueError, TypeError, KeyError) as error:
        raise FormatError(
            f"{name} has coordinates in {shown(title)}, a system that is not known; give longitude and latitude"
        ) from error

    def changed(points: Floats) -> Floats:
        return np.stack(change.transform(points[:, 0], points[:, 1]), axis=1).astype(np.float64)

    moved: Shapes = shapely.transform(shapes, changed)
    if not np.isfinite(shapely.get_coordinates(moved)).all():
        raise FormatError(f"{name} has shapes that {shown(title)} does not place on the Earth; correct them")
    return moved


def _sign(system: Any) -> tuple[str, str] | None:
    """Return authority and code of a coordinate system, None if it names none."""
    if isinstance(system, str):
        authority, _, code = system.rpartition(":")
        return authority.upper(), code.upper()
    if isinstance(system, dict):
        known = system.get("id")
        return (str(known.get("authority")), str(known.get("code"))) if isinstance(known, dict) else None
    to_authority = getattr(system, "to_authority", None)
    found = to_authority() if callable(to_authority) else None
    return (str(found[0]), str(found[1])) if found else None


def sequence_of(shapes: Any) -> Shapes:
    """Return shapely geometries as an array, or raise `QueryError` if there is something else among them."""
    import shapely

    items = items_of(shapes)
    if items is None:
        raise QueryError(f"shapes is {shown(shapes)}; give a list of shapely geometries")
    found = objects(items)
    wrong = np.flatnonzero(~shapely.is_valid_input(found))
    if len(wrong):
        at = int(wrong[0])
        raise QueryError(f"shapes[{at}] is {shown(items[at])}; give shapely geometries, and None for none")
    return found
