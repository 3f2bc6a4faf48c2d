"""Files of routes: GeoJSON with line, places and steps, and layers of other formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import shown
from vkssp.errors import QueryError
from vkssp.features.columns import column_of
from vkssp.features.features import Features
from vkssp.features.files import GEOJSON_ENDINGS, SHAPE_ENDINGS, check_ending, write_layers
from vkssp.features.geojson import line_of, number, packed, position, write_collection
from vkssp.features.shapes import dots, line, lines
from vkssp.jit import kernels

if TYPE_CHECKING:
    from vkssp.route import Place, Route, Step

#: Parts of a route that are features.
PARTS = ("legs", "steps", "places")


def check_route_ending(path: str | Path) -> str:
    """Return the ending of a file's name if a route can be written to it; see `Route.write`.

    Raises
    ------
    FormatError
        If the ending is not known.
    QueryError
        If a library that writes the format is not installed.
    """
    return check_ending(path, SHAPE_ENDINGS, "a route")


def points_of(route: Route) -> npt.NDArray[np.float64]:
    """Return the points of a route that can be drawn, shape (k, 2), latitude and longitude in degrees.

    Raises
    ------
    QueryError
        If the route has no points, or one that is not finite.
    """
    if not hasattr(route, "query_ms"):
        raise QueryError(f"route is {shown(route)}; give a Route that a Router or Solver returns")
    if route.points is None:
        raise QueryError("route has no points, as its graph has no coordinates; give the graph lat and lon")
    points = np.asarray(route.points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0 or not np.isfinite(points).all():
        raise QueryError(f"route.points has shape {points.shape}; give one finite (lat, lon) or more")
    return points


def place_properties(place: Place, role: str) -> dict[str, Any]:
    """Return the properties of a place in GeoJSON."""
    snapped = position(place.snapped_lat, place.snapped_lon)
    return {"role": role, "name": place.name, "snapped": snapped, "snapped_m": number(place.snapped_m)}


def point(place: Place | Step) -> dict[str, Any]:
    """Return a place as a point in GeoJSON."""
    return {"type": "Point", "coordinates": position(place.lat, place.lon)}


def roles_of(places: Sequence[Place]) -> list[str]:
    """Return the roles of the places of a route: "from", "via" and "to"."""
    return ["from", *("via" for _ in places[2:]), "to"]


def _bbox(points: npt.NDArray[np.float64], places: Sequence[Place]) -> list[float]:
    """Return west, south, east and north; west is greater than east if the route crosses the 180th meridian."""
    first, *vias, last = ((place.lat, place.lon) for place in places)
    way = np.concatenate([[first], points, [last]])
    lat, lon = np.concatenate([way, vias] if vias else [way]).T
    west, east = lon.min(), lon.max()
    if (np.abs(np.diff(way[:, 1])) > 180.0).any():
        west, east = lon[lon >= 0].min(), lon[lon < 0].max()
    return [*position(lat.min(), west), *position(lat.max(), east)]


def _features(route: Route) -> Iterator[tuple[dict[str, Any], npt.NDArray[np.float64] | Place | Step]]:
    """Yield the properties of the features of a route, each with its line or its point."""
    points = points_of(route)
    legs = [{"distance_m": number(leg.distance_m), "duration_s": number(leg.duration_s)} for leg in route.legs]
    properties = {
        "distance_m": number(route.distance_m),
        "duration_s": number(route.duration_s),
        "device": route.device,
        "algorithm": route.algorithm,
        "query_ms": number(route.query_ms),
    }
    yield properties | ({"legs": legs} if len(legs) > 1 else {}), points
    for place, role in zip(route.places, roles_of(route.places), strict=True):
        yield place_properties(place, role), place
    for at, leg in enumerate(route.legs, 1):
        for step in leg.steps:
            along = leg.points[step.first : step.last + 1]
            yield {"role": "step", "leg": at, **step.properties}, step if step.type == "arrive" else along


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
            "geometry": line_of(at) if isinstance(at, np.ndarray) else point(at),
        }
        for properties, at in _features(route)
    ]
    return {"type": "FeatureCollection", "bbox": _bbox(points_of(route), route.places), "features": features}


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
        % (packed(properties), _line_text(at) if isinstance(at, np.ndarray) else packed(point(at)))
        for properties, at in _features(route)
    ]
    bbox = packed(_bbox(points_of(route), route.places))
    return b'{"type":"FeatureCollection","bbox":%b,"features":[%b]}' % (bbox, b",".join(features))


def _line_text(points: npt.NDArray[np.float64]) -> bytes:
    """Return the text of `line_of`."""
    module = kernels("vkssp.routing.kernels.text")
    text = np.empty(module.WIDTH * len(points), np.uint8)
    count = module.put_positions(points, text) if len(points) > 1 else 0
    if count == 0:
        return packed(line_of(points))
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


def route_features(route: Route, part: str) -> Features:
    """Return legs, steps or places of a route; see `Route.features`."""
    points = points_of(route)
    if part == "legs":
        told = [leg.properties for leg in route.legs] or [route.properties]
        rows = [{"leg": at, **one} for at, one in enumerate(told, 1)]
        shapes = lines([leg.points for leg in route.legs] or [points])
    elif part == "steps":
        pairs = [(at, leg, step) for at, leg in enumerate(route.legs, 1) for step in leg.steps]
        rows = [{"leg": at, **step.properties} for at, _, step in pairs]
        shapes = lines([leg.points[step.first : step.last + 1] for _, leg, step in pairs])
        for row, (_, _, step) in enumerate(pairs):
            if step.type == "arrive":
                shapes[row] = step.geometry
    else:
        places = route.places
        named = [{"role": role, "name": place.name} for place, role in zip(places, roles_of(places), strict=True)]
        snapped = ("snapped_m", "snapped_lat", "snapped_lon")
        rows = [one | {key: getattr(place, key) for key in snapped} for one, place in zip(named, places, strict=True)]
        shapes = dots(*np.array([(place.lat, place.lon) for place in places]).T)
    names = dict.fromkeys(name for row in rows for name in row)
    return Features({name: column_of([row[name] for row in rows]) for name in names}, shapes, part)


def write_route(path: str | Path, route: Route) -> None:
    """Write a route to a file; see `vkssp.Route.write`."""
    ending = check_route_ending(path)
    if ending in GEOJSON_ENDINGS:
        write_geojson(path, route)
        return
    places = route_features(route, "places")
    steps = [route_features(route, "steps")] if any(leg.steps for leg in route.legs) else []
    if ending == ".gpx":
        # A single line, so that devices show a single track.
        told = route.properties
        title = " \u2013 ".join(name for name in (told.pop("from_name"), told.pop("to_name")) if name)
        columns = {key: column_of([value]) for key, value in {"name": title or "route", **told}.items()}
        whole = Features(columns, [line(points_of(route))])
        turns = Features(steps[0].columns, [step.geometry for step in route.steps]) if steps else None
        write_layers(path, [places, whole], turns)
    else:
        write_layers(path, [route_features(route, "legs"), places, *steps])
