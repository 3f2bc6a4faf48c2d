"""Routes and places as GeoJSON (RFC 7946)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import instance, listed, path_of
from vkssp.errors import FormatError, QueryError
from vkssp.files import atomic_write, check_ending
from vkssp.jit import kernels
from vkssp.route import Place, Route, Step

if TYPE_CHECKING:
    from pathlib import Path

#: 1e-7 degrees is a centimetre, the resolution of OpenStreetMap.
_DECIMALS = 7
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def _position(lat: float, lon: float) -> list[float]:
    # Adding zero turns -0.0 into 0.0.
    return [round(float(lon), _DECIMALS) + 0.0, round(float(lat), _DECIMALS) + 0.0]


def _number(value: float | None) -> float | None:
    """Return a value as a float that JSON can hold; None for NaN and infinity, which JSON does not have."""
    return None if value is None or not math.isfinite(value) else float(value)


def read_json(path: str | Path) -> Any:
    """Return the content of a GeoJSON file, which may be any JSON value.

    Raises
    ------
    FormatError
        If the file cannot be read, or is no JSON.
    """
    path = path_of(path)
    try:
        with open(path, "rb") as stream:
            return json.load(stream)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{path} is no GeoJSON file ({error}); give a FeatureCollection, a Feature or a geometry"
        ) from error


def points_of(route: Route) -> npt.NDArray[np.float64]:
    """Return the points of a route that can be drawn, shape (k, 2), latitude and longitude in degrees.

    Raises
    ------
    QueryError
        If the route has no points, or one that is not finite.
    """
    instance(route, Route, "route", "give a Route that a Router or Solver returns")
    if route.points is None:
        raise QueryError("route has no points, as its graph has no coordinates; give the graph lat and lon")
    points = np.asarray(route.points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0 or not np.isfinite(points).all():
        raise QueryError(f"route.points has shape {points.shape}; give one finite (lat, lon) or more")
    return points


def places_of(route: Route) -> list[Place]:
    """Return the places that a route joins, with via points; for a route between nodes its first and last point."""
    points = points_of(route)
    first, last = (Place(lat, lon, lat, lon, 0.0) for lat, lon in points[[0, -1]].tolist())
    return [route.origin or first, *route.vias, route.destination or last]


def point_of(place: Place, role: str) -> dict[str, Any]:
    """Return a place as a feature."""
    return {"type": "Feature", "properties": _place_properties(place, role), "geometry": _point(place)}


def _place_properties(place: Place, role: str) -> dict[str, Any]:
    snapped = _position(place.snapped_lat, place.snapped_lon)
    return {"role": role, "name": place.name, "snapped": snapped, "snapped_m": _number(place.snapped_m)}


def _point(place: Place | Step) -> dict[str, Any]:
    return {"type": "Point", "coordinates": _position(place.lat, place.lon)}


def line_of(points: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return a line as a geometry, cut at the 180th meridian, as RFC 7946 requires (section 3.1.9)."""
    if len(points) > 1 and not (np.abs(np.diff(points[:, 1])) > 180.0).any():
        return {"type": "LineString", "coordinates": (points[:, ::-1].round(_DECIMALS) + 0.0).tolist()}
    line: list[list[float]] = []
    lines = [line]
    for lat, lon in points.tolist():
        if line and abs(lon - line[-1][0]) > 180.0:
            before, east = line[-1], math.copysign(180.0, line[-1][0])
            far = lon + 2.0 * east - before[0]
            share = (east - before[0]) / far if far else 0.0
            crossing = before[1] + share * (lat - before[1])
            line.append(_position(crossing, east))
            line = [_position(crossing, -east)]
            lines.append(line)
        line.append(_position(lat, lon))
    if len(lines) > 1:
        return {"type": "MultiLineString", "coordinates": lines}
    # GeoJSON requires two positions for a line, so a line of one point gets that point twice.
    return {"type": "LineString", "coordinates": line * 2 if len(line) == 1 else line}


def _bbox(points: npt.NDArray[np.float64], places: Sequence[Place]) -> list[float]:
    """Return west, south, east and north; west is greater than east if the route crosses the 180th meridian."""
    first, *vias, last = ((place.lat, place.lon) for place in places)
    way = np.concatenate([[first], points, [last]])
    lat, lon = np.concatenate([way, vias] if vias else [way]).T
    west, east = lon.min(), lon.max()
    if (np.abs(np.diff(way[:, 1])) > 180.0).any():
        west, east = lon[lon >= 0].min(), lon[lon < 0].max()
    return [*_position(lat.min(), west), *_position(lat.max(), east)]


def _features(route: Route) -> Iterator[tuple[dict[str, Any], npt.NDArray[np.float64] | Place | Step]]:
    """Yield the properties of the features of a route, each with its line or its point."""
    places = places_of(route)
    legs = [{"distance_m": _number(leg.distance_m), "duration_s": _number(leg.duration_s)} for leg in route.legs]
    properties = {
        "distance_m": _number(route.distance_m),
        "duration_s": _number(route.duration_s),
        "device": route.device,
        "algorithm": route.algorithm,
        "query_ms": _number(route.query_ms),
    }
    yield properties | ({"legs": legs} if len(legs) > 1 else {}), points_of(route)
    for place, role in zip(places, ["from", *("via" for _ in places[2:]), "to"], strict=True):
        yield _place_properties(place, role), place
    for number, leg in enumerate(route.legs, 1):
        for step in leg.steps:
            told = {key: value for key, value in vars(step).items() if key not in ("lat", "lon", "first", "last")}
            line = leg.points[step.first : step.last + 1]
            yield {"role": "step", "leg": number, **told}, step if step.type == "arrive" else line


def route_geojson(route: Route) -> dict[str, Any]:
    """Return a route as a GeoJSON FeatureCollection.

    Parameters
    ----------
    route : Route
        The route. Its points are latitude and longitude; GeoJSON has longitude first.

    Returns
    -------
    dict
        First the line, with ``distance_m``, ``duration_s``, ``device``, ``algorithm`` and ``query_ms``; if there are
        via points, also a list ``legs`` with ``distance_m`` and ``duration_s`` of each leg. Then the given places, with
        ``role`` ("from", "via" or "to"), ``name``, ``snapped`` (the position on the street to which the place was
        snapped) and ``snapped_m`` (its distance from the place in metres). Last the steps, if the route has them, with
        ``role`` "step", ``leg`` (the number of the leg from 1) and the attributes of `Step`: lines, and a point at the
        end of each leg. Positions are longitude and latitude in degrees with seven decimals. Lines that cross the 180th
        meridian are cut there. ``bbox`` is west, south, east, north. A figure that is not known is None.

    Raises
    ------
    QueryError
        If the route has no points, or one that is not finite.
    """
    features = [
        {
            "type": "Feature",
            "properties": properties,
            "geometry": line_of(at) if isinstance(at, np.ndarray) else _point(at),
        }
        for properties, at in _features(route)
    ]
    return {"type": "FeatureCollection", "bbox": _bbox(points_of(route), places_of(route)), "features": features}


def route_json(route: Route) -> bytes:
    """Return what `route_geojson` returns as a text, in a fraction of the time that ``json.dumps`` takes for it.

    The first call on a machine compiles a kernel.

    Raises
    ------
    QueryError
        If the route has no points, or one that is not finite.
    """
    features = [
        b'{"type":"Feature","properties":%b,"geometry":%b}'
        % (_packed(properties), _line_text(at) if isinstance(at, np.ndarray) else _packed(_point(at)))
        for properties, at in _features(route)
    ]
    bbox = _packed(_bbox(points_of(route), places_of(route)))
    return b'{"type":"FeatureCollection","bbox":%b,"features":[%b]}' % (bbox, b",".join(features))


def _line_text(points: npt.NDArray[np.float64]) -> bytes:
    """Return the text of `line_of`."""
    module = kernels("vkssp.routing.kernels.text")
    text = np.empty(module.WIDTH * len(points), np.uint8)
    count = module.put_positions(points, text) if len(points) > 1 else 0
    if count == 0:
        return _packed(line_of(points))
    return b'{"type":"LineString","coordinates":[%b]}' % text[: count - 1].tobytes()


def write_geojson(path: str | Path, route: Route) -> None:
    """Write a route to a GeoJSON file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .geojson or .json.
    route : Route
        The route; see `route_geojson` for the content of the file.

    Raises
    ------
    QueryError
        If the route has no points, or one that is not finite.
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    write_collection(path, route_geojson(route))


def places_geojson(places: Sequence[Place]) -> dict[str, Any]:
    """Return the points on streets that `Router.nearest` finds as a GeoJSON FeatureCollection.

    Parameters
    ----------
    places : sequence of Place
        The points.

    Returns
    -------
    dict
        A point on a street for each place, with `name` (the name of the street), `asked` (the position of the given
        place) and `snapped_m` (the distance between the two in metres).
    """
    features = [
        {
            "type": "Feature",
            "properties": {
                "name": place.name,
                "snapped_m": _number(place.snapped_m),
                "asked": _position(place.lat, place.lon),
            },
            "geometry": {"type": "Point", "coordinates": _position(place.snapped_lat, place.snapped_lon)},
        }
        for place in map(_place, listed(places, "places", "places that Router.nearest returns"))
    ]
    return {"type": "FeatureCollection", "features": features}


def _place(place: object) -> Place:
    return instance(place, Place, "a place", "give places that Router.nearest returns")


def write_collection(path: str | Path, collection: dict[str, Any]) -> None:
    """Write a GeoJSON object to a file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .geojson or .json.
    collection : dict
        The object.

    Raises
    ------
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "GeoJSON")
    with atomic_write(path) as stream:
        stream.write(_packed(collection) + b"\n")


def write_features(path: str | Path, features: Iterable[dict[str, Any]]) -> None:
    """Write features to a file, one after the other, so that they need not be in memory together.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .geojson or .json; it appears only when it is complete.
    features : iterable of dict
        The features.

    Raises
    ------
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "GeoJSON")
    with atomic_write(path) as stream:
        stream.write(b'{"type":"FeatureCollection","features":[')
        for number, feature in enumerate(features):
            stream.write(b",\n" if number else b"\n")
            stream.write(_packed(feature))
        stream.write(b"\n]}\n")


def _packed(value: Any) -> bytes:
    # ASCII only: names may hold bytes that are no UTF-8, and \u escapes carry them through any reader.
    return _ENCODER.encode(value).encode("ascii")
