"""Areas to avoid, from GeoJSON: checked polygons, longitude and latitude in degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.checks import items_of, number_of, path_of, shown
from vkssp.errors import FormatError, QueryError
from vkssp.features.endings import ending_of
from vkssp.features.geojson import read_json
from vkssp.features.geoparquet import read_geoparquet
from vkssp.features.ogr_reader import READ_ENDINGS, read_ogr
from vkssp.features.shapes import in_degrees

#: Forms in which areas may be given: a file, a GeoJSON object, or an object with ``__geo_interface__``, such as a
#: shapely geometry or a GeoDataFrame.
Areas = Any

# Half of the width of the strips along lines, in degrees: half a metre or less.
_HALF_STRIP = 4.5e-6
_RING = "rings are lists of 4 positions or more of which the last is the first"


def read_areas(areas: Areas) -> Any:
    """Return the union of areas.

    Parameters
    ----------
    areas : str, Path, mapping or geometry
        A file: GeoJSON, GeoParquet (.parquet), GeoPackage (.gpkg), FlatGeobuf (.fgb), Shapefile (.shp, .shp.zip) or
        KML (.kml); a GeoJSON object: a Polygon, a MultiPolygon, or a Feature or a collection of them; or an object
        with ``__geo_interface__``, such as a shapely geometry or a GeoDataFrame. Coordinates of another system than
        degrees are converted, if a file or a GeoDataFrame names it.

    Returns
    -------
    shapely.Polygon or shapely.MultiPolygon
        The union of all areas.

    Raises
    ------
    FormatError
        If the file cannot be read, or is no JSON.
    QueryError
        If there is no area, or an area is not valid; the message says which, and why; or if a library that reads the
        format is not installed.
    """
    import shapely

    name = "avoid"
    if isinstance(areas, str | Path):
        path = path_of(areas, "avoid")
        name, areas = str(path), _read(path)
    areas = _of_frame(areas, name)
    areas = getattr(areas, "__geo_interface__", areas)
    polygons = [_polygon(rings, where) for rings, where in _parts(areas, name, "Polygon")]
    if not polygons:
        raise QueryError(f"{name} holds no area; give a Polygon or MultiPolygon")
    return shapely.union_all(polygons)


def read_lines(lines: Areas) -> Any:
    """Return strips of a metre along lines that no route crosses, as areas.

    Parameters
    ----------
    lines : mapping or geometry
        A GeoJSON object: a LineString, a MultiLineString, or a Feature or a collection of them; or an object with
        ``__geo_interface__``, such as a shapely geometry or a GeoDataFrame.

    Returns
    -------
    shapely.Polygon or shapely.MultiPolygon
        The union of the strips.

    Raises
    ------
    QueryError
        If there is no line, or a line is not valid.
    """
    import shapely

    lines = _of_frame(lines, "lines")
    lines = getattr(lines, "__geo_interface__", lines)
    parts = [_line(points, where) for points, where in _parts(lines, "lines", "LineString")]
    if not parts:
        raise QueryError("lines holds no line; give a LineString or MultiLineString")
    return shapely.union_all(shapely.buffer(parts, _HALF_STRIP, quad_segs=2))


def _line(points: Any, where: str) -> Any:
    import shapely

    if not isinstance(points, list | tuple) or len(points) < 2:
        raise QueryError(f"{where} is no line; lines are lists of 2 positions or more")
    return shapely.LineString([_position(position, f"{where}[{at}]") for at, position in enumerate(points)])


def _of_frame(shapes: Any, name: str) -> Any:
    """Return the shapes of a GeoDataFrame as a GeoJSON object, anything else as it is."""
    if not (hasattr(shapes, "geometry") and hasattr(shapes, "crs")):
        return shapes
    return _collection(in_degrees(np.array(list(shapes.geometry), object), shapes.crs, name))


def _read(path: Path) -> Any:
    """Return the areas of a file as a GeoJSON object."""
    if ending_of(path) == ".parquet":
        shapes = read_geoparquet(path, (), ())[1]
        if shapes is None:
            raise FormatError(f"{path} has no geometry; give GeoParquet, such as geopandas writes it")
        return _collection(shapes)
    if ending_of(path) in READ_ENDINGS:
        return _collection(read_ogr(path, (), (), ("Polygon", "MultiPolygon"))[1])
    return read_json(path)


def _collection(shapes: Any) -> dict[str, Any]:
    """Return shapes as a GeoJSON object; None and empty ones are no areas."""
    import shapely

    parts = [shapely.geometry.mapping(shape) for shape in shapes.tolist() if shape is not None and not shape.is_empty]
    return {"type": "GeometryCollection", "geometries": parts}


def _parts(item: Any, where: str, wanted: str) -> Iterator[tuple[Any, str]]:
    """Yield the coordinates of each shape of a wanted type in a GeoJSON object, and their path in it for errors."""
    kind = item.get("type") if isinstance(item, Mapping) else None
    kind = kind if isinstance(kind, str) else None
    many = f"Multi{wanted}"
    parts = {"FeatureCollection": "features", "GeometryCollection": "geometries", many: "coordinates"}
    if kind in parts:
        members = item.get(parts[kind])
        if not isinstance(members, list | tuple):
            raise QueryError(f"{where} is a {kind} without a list of {parts[kind]}")
        for at, member in enumerate(members):
            inside = f"{where}.{parts[kind]}[{at}]"
            if kind == many:
                yield member, inside
            else:
                yield from _parts(member, inside, wanted)
    elif kind == "Feature":
        yield from _parts(item.get("geometry"), f"{where}.geometry", wanted)
    elif kind == wanted:
        yield item.get("coordinates"), f"{where}.coordinates"
    else:
        what = "no GeoJSON object" if kind is None else f"a {kind:.40}"
        raise QueryError(f"{where} is {what}; give a {wanted} or {many}, or features or a collection of them")


def _polygon(rings: Any, where: str) -> Any:
    """Return the polygon of some rings: the first is its outer ring, the others are holes."""
    import shapely

    if not isinstance(rings, list | tuple) or not rings:
        raise QueryError(f"{where} has no rings; {_RING}")
    outer, *holes = (_ring(ring, f"{where}[{at}]") for at, ring in enumerate(rings))
    polygon = shapely.Polygon(outer, holes)
    if not shapely.is_valid(polygon):
        reason = shapely.is_valid_reason(polygon)
        raise QueryError(f"{where} is no valid polygon ({reason}); its rings must not cross themselves or each other")
    return polygon


def _ring(ring: Any, where: str) -> list[tuple[float, float]]:
    if not isinstance(ring, list | tuple) or len(ring) < 4:
        raise QueryError(f"{where} is no ring; {_RING}")
    points = [_position(position, f"{where}[{at}]") for at, position in enumerate(ring)]
    if points[0] != points[-1]:
        raise QueryError(f"{where} is not closed: it begins at {points[0]} and ends at {points[-1]}; {_RING}")
    return points


def _position(position: Any, where: str) -> tuple[float, float]:
    lon, lat = (number_of(degrees) for degrees in (*(items_of(position) or ()), None, None)[:2])
    if lon is None or lat is None:
        raise QueryError(f"{where} is {shown(position)}; give a position, [longitude, latitude]")
    if not (math.isfinite(lon) and math.isfinite(lat) and abs(lon) <= 180 and abs(lat) <= 90):
        hint = "; GeoJSON has the longitude first" if abs(lon) <= 90 and abs(lat) <= 180 else ""
        raise QueryError(f"{where} is {lon}, {lat}, which is no longitude and latitude in degrees{hint}")
    return lon, lat
