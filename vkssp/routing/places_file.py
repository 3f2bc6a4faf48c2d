"""Files of places or nodes, such as the sources or targets of a table, and of areas, with values of each."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import is_storable, path_of, shown
from vkssp.csv_file import CsvLines, csv_lines, no_columns
from vkssp.errors import FormatError
from vkssp.features.columns import BYTES_OF_A_BYTE
from vkssp.features.endings import ending_of
from vkssp.features.geojson import degrees_of, read_json
from vkssp.features.geoparquet import read_geoparquet
from vkssp.features.ogr_reader import READ_ENDINGS, read_ogr
from vkssp.features.shapes import in_degrees
from vkssp.memory import require
from vkssp.npy_file import read_npy
from vkssp.routing.file_lines import FileLines
from vkssp.routing.places import LatLon

if TYPE_CHECKING:
    from vkssp.graph import Graph


# Types of shapes of places; layers of several points may hold one each.
_POINTS, _AREAS = ("Point", "MultiPoint"), ("Point", "MultiPoint", "Polygon", "MultiPolygon")
# Endings of files that are neither text nor one of the formats below.
_OTHER_FORMATS = (".gdb", ".xlsx", ".xls", ".ods", ".zip", ".gz", ".feather")
# Coordinate systems of GeoJSON, as older files name them.
_SYSTEMS = ("CRS84", ":4326")


@dataclass(frozen=True, eq=False)
class Ends:
    """Sources or targets of a table, as read from a file.

    Attributes
    ----------
    places : list of (float, float) or None
        Latitude and longitude in degrees; None if the file has nodes.
    nodes : numpy.ndarray or None
        Node ids, int64, or object if some of them are texts; None if the file has places.
    ids : list of int or list of str
        Names from the file. If it has none: numbers from 0 for places, node ids for nodes.
    lines : FileLines
        Where the file has each of them.
    columns : dict of str to numpy.ndarray
        The columns that were asked for, shape (k,) each, int64 or float64.
    shapes : numpy.ndarray or None
        Areas as shapely geometries, shape (k,), if the file has areas only; `places` has a point in each.
    error : FormatError or None
        What is wrong if nodes are integers.
    """

    places: list[LatLon] | None
    nodes: npt.NDArray[Any] | None
    ids: list[int] | list[str]
    lines: FileLines
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    shapes: npt.NDArray[Any] | None = None
    error: FormatError | None = None

    def nodes_of(self, graph: Graph) -> npt.NDArray[Any]:
        """Return the nodes as a graph calls them: by position, or by names, integers or texts.

        Raises
        ------
        FormatError
            If the file has places, or a text for a node of a graph whose nodes have positions only.
        """
        if self.nodes is None:
            raise FormatError("the file has places; give nodes")
        if self.error is not None and graph.name_index is None:
            raise self.error
        index = graph.name_index
        if index is None or self.nodes.dtype != np.int64 or index.find(self.nodes[0]) is not None:
            return self.nodes
        return np.array(list(map(str, self.nodes.tolist())), object)


def read_ends(path: str | Path, columns: Sequence[str] = (), *, areas: bool = False) -> Ends:
    """Read places or nodes from a file.

    Parameters
    ----------
    path : str or Path
        GeoJSON of points (.json, .geojson), with an ``id`` or a property of that name; GeoParquet (.parquet) of points,
        or Parquet with columns ``lat`` and ``lon``, and optionally ``id``; a GeoPackage (.gpkg), FlatGeobuf (.fgb),
        or Shapefile (.shp, .shp.zip) with one layer of points, and optionally a column ``id``; a KML file (.kml) of
        points or a GPX file (.gpx) of waypoints, whose names are their ids; a NumPy array (.npy) of integers, which
        are nodes, or of shape (k, 2), with latitudes and longitudes; any other ending: comma-separated values with a
        first line that names the columns ``lat`` and ``lon`` in degrees, or ``node``, and optionally ``id``, or with
        one integer in each line, a node. Coordinates of another system than degrees are converted by pyproj.
    columns : sequence of str
        Columns or properties with numbers that are read, too.
    areas : bool
        Whether files of shapes may have polygons, each of which stands for a point in it. Beside points they are points
        only.

    Raises
    ------
    FormatError
        If the file cannot be read, has another format, holds no places or nodes, or has no such column.
    QueryError
        If a library that reads the format is not installed.
    """
    path = path_of(path)
    try:
        suffix = ending_of(path)
        if suffix in _OTHER_FORMATS:
            raise FormatError(f"{path} is in a format that is not read; save it as .gpkg, .geojson, .parquet or .csv")
        if suffix == ".npy":
            if columns:
                raise FormatError(f"{path} has no column {columns[0]!r}; give CSV, GeoJSON or Parquet")
            ends = _from_npy(path)
        elif suffix == ".parquet":
            ends = _from_table(path, *read_geoparquet(path, columns, ("id",)), columns, areas)
        elif suffix in READ_ENDINGS:
            ids, kinds = ("name",) if suffix in (".gpx", ".kml") else ("id",), _AREAS if areas else _POINTS
            ends = _from_table(path, *read_ogr(path, columns, ids, kinds), columns, areas)
        else:
            ends = _from_geojson(path, columns, areas) if suffix in (".json", ".geojson") else _from_csv(path, columns)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except OverflowError as error:
        raise FormatError(f"{path} holds no places or nodes that can be read ({error})") from None
    if not ends.ids:
        raise FormatError(f"{path} has no places or nodes in it; give at least one")
    return ends


def _from_npy(path: Path) -> Ends:
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        require(BYTES_OF_A_BYTE * size, f"{path}: places or nodes in an array of {size / 2**30:.1f} GiB")
        try:
            array = read_npy(stream, size)
        except ValueError as error:
            raise FormatError(f"{path} is no NumPy array of places or nodes: it {error}") from None
    lines = FileLines(path, "entry", range(array.size))
    if array.ndim == 1 and array.dtype.kind in "iu":
        if int(array.max(initial=0)) >= 2**63:
            raise FormatError(f"{path}: entry {int(np.argmax(array))} is {array.max()}, no node id; correct it")
        nodes = array.astype(np.int64)
        return Ends(None, nodes, nodes.tolist(), lines)
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iuf":
        return Ends([(float(lat), float(lon)) for lat, lon in array.tolist()], None, list(range(len(array))), lines)
    raise FormatError(f"{path} holds neither integers, for nodes, nor two columns of latitude and longitude")


def _from_geojson(path: Path, columns: Sequence[str], areas: bool) -> Ends:
    import shapely

    content = read_json(path)
    features = content.get("features", [content]) if isinstance(content, dict) else None
    places, ids, shapes, rows, known = [], [], list[Any](), list[list[Any]](), set[str]()
    for number, feature in enumerate(features if isinstance(features, list) else [None]):
        try:
            geometry = feature.get("geometry", feature)
            if areas and geometry["type"] in ("Polygon", "MultiPolygon"):
                shapes.append(_area(geometry))
                places.append(_point_in(shapes[-1]))
            elif geometry["type"] == "Point":
                places.append(degrees_of(geometry["coordinates"]))
            else:
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            what = "point or polygon; give them with" if areas else "point; give points,"
            raise FormatError(f"{path}: feature {number} is no GeoJSON {what} lon,lat each") from None
        properties = feature.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        name = feature.get("id", properties.get("id"))
        if isinstance(name, str) and not is_storable(name):
            raise FormatError(
                f"{path}: feature {number} has the id {shown(name)}, with half of a character; correct it"
            )
        ids.append(number if name is None else name)
        rows.append([properties.get(column) for column in columns])
        known |= properties.keys()
    for column in columns:
        if column not in known and ids:
            raise FormatError(f"{path} has no property {column!r}; it has {', '.join(sorted(known)) or 'none'}")
    values = {
        column: _numbers(path, [(f"feature {number}", row[at]) for number, row in enumerate(rows)], column)
        for at, column in enumerate(columns)
    }
    if (system := _system(content)) is not None:
        points = in_degrees(shapely.points([(lon, lat) for lat, lon in places]), system, str(path))
        places = [(float(point.y), float(point.x)) for point in points]
        shapes = in_degrees(np.array(shapes, object), system, str(path)).tolist()
    lines = FileLines(path, "feature", range(len(ids)))
    return Ends(places, None, _named(ids), lines, values, _all_areas(shapes, len(ids)))


def _system(content: Any) -> str | None:
    """Return the coordinate system that a GeoJSON object names, None for longitude and latitude on WGS 84."""
    system = content.get("crs") if isinstance(content, dict) else None
    properties = system.get("properties") if isinstance(system, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    return name if isinstance(name, str) and not name.endswith(_SYSTEMS) else None


def _area(geometry: Any) -> Any:
    """Return a polygon or several, or raise `ValueError`."""
    import shapely

    try:
        shape = shapely.from_geojson(json.dumps(geometry))
    except (shapely.errors.GEOSException, RecursionError) as error:
        raise ValueError from error
    if shape.is_empty or not np.isfinite(shapely.get_coordinates(shape)).all():
        raise ValueError
    return shape


def _point_in(shape: Any) -> LatLon:
    point = shape.point_on_surface()
    return float(point.y), float(point.x)


def _all_areas(shapes: Sequence[Any], count: int) -> npt.NDArray[Any] | None:
    """Return areas as an array, None if there are none, or fewer than places."""
    if len(shapes) < max(1, count):
        return None
    found = np.empty(count, object)
    found[:] = shapes
    return found


def _numbers(path: str | Path, given: Sequence[tuple[str, Any]], column: str) -> npt.NDArray[Any]:
    """Return a column of numbers, int64 or float64, given with the name of each row."""
    found: list[float] = []
    for row, value in given:
        try:
            if isinstance(value, bool) or value is None:
                raise ValueError
            number = int(value) if str(value).lstrip("+-").isdecimal() and len(str(value)) < 19 else float(value)
            if not math.isfinite(number):
                raise ValueError
        except (ValueError, TypeError, OverflowError):
            raise FormatError(f"{path}, {row}: {column} is {shown(value)}; give a number, such as 0") from None
        found.append(number)
    kind = np.int64 if all(isinstance(number, int) for number in found) else np.float64
    return np.array(found, kind)


def _from_csv(path: Path, columns: Sequence[str]) -> Ends:
    with csv_lines(path) as lines:
        return _from_lines(path, lines, columns)


def _from_lines(path: Path, lines: CsvLines, wanted: Sequence[str]) -> Ends:
    first = [word.strip() for word in next(lines, [])]
    header = [word.lower() for word in first]
    if len(first) == 1 and first[0].lstrip("+-").isdigit():
        columns, rows = ["node"], [(1, first)]
    else:
        columns = ["node"] if "node" in header else ["lat", "lon"]
        if not set(columns) <= set(header):
            raise no_columns(path, "lat,lon or node", first)
        rows = []
    rows += [(lines.line_num, line) for line in lines if line]
    at = [header.index(name) for name in columns] if not rows or rows[0][1] is not first else [0]
    for name in wanted:
        if name not in first:
            raise no_columns(path, name, first)
    read: type[int] | type[float] = int if columns == ["node"] else float
    values: list[list[Any]] = []
    wrong: FormatError | None = None
    for number, line in rows:
        try:
            values.append([read(line[place]) for place in at])
            if not all(map(math.isfinite, values[-1])):
                raise ValueError
        except (ValueError, IndexError):
            what = "a node id" if read is int else "a latitude and a longitude"
            error = FormatError(f"{path}, line {number}: {','.join(line)[:60]!r} has not {what}")
            text = line[at[0]].strip() if len(line) > at[0] else ""
            if read is float or not text:
                raise error from None
            values.append([text])
            wrong = wrong or error
    ids = None
    if "id" in header:
        ids = _named([line[header.index("id")] if len(line) > header.index("id") else "" for _, line in rows])
    columns_of = {name: _of_lines(path, rows, first.index(name), name) for name in wanted}
    where = FileLines(path, "line", [number for number, _ in rows])
    if read is int:
        nodes = [value[0] for value in values]
        if wrong is None:
            return Ends(None, np.array(nodes, np.int64), ids or nodes, where, columns_of)
        names = list(map(str, nodes))
        return Ends(None, np.array(names, object), ids or names, where, columns_of, error=wrong)
    places = [(float(lat), float(lon)) for lat, lon in values]
    return Ends(places, None, ids or list(range(len(places))), where, columns_of)


def _of_lines(path: str | Path, rows: Sequence[tuple[int, list[str]]], at: int, name: str) -> npt.NDArray[Any]:
    """Return the numbers of a column of lines."""
    return _numbers(
        path, [(f"line {number}", line[at].strip() if len(line) > at else None) for number, line in rows], name
    )


def _from_table(
    path: Path, table: dict[str, list[Any]], found: npt.NDArray[Any] | None, columns: Sequence[str], areas: bool
) -> Ends:
    """Return places of a table with shapes, or with coordinates."""
    import shapely

    def numbers(name: str) -> npt.NDArray[Any]:
        return _numbers(path, [(f"row {row}", one) for row, one in enumerate(table[name])], name)

    shapes: list[Any] = []
    if found is None:
        places = [(float(lat), float(lon)) for lat, lon in zip(numbers("lat"), numbers("lon"), strict=True)]
    else:
        places = []
        for row, shape in enumerate(found.tolist()):
            kind = None if shape is None or shape.is_empty else shape.geom_type
            if areas and kind in ("Polygon", "MultiPolygon"):
                shapes.append(shape)
                places.append(_point_in(shape))
            elif kind in _POINTS and len(points := shapely.get_coordinates(shape)) == 1 and np.isfinite(points).all():
                places.append((float(points[0, 1]), float(points[0, 0])))
            else:
                what = "point or polygon" if areas else "point"
                raise FormatError(f"{path}, row {row} has no {what}, but {kind or 'nothing'}; leave it out")
    names = table.get("id", table.get("name"))
    ids = _named([row if name is None else name for row, name in enumerate(names or [None] * len(places))])
    lines = FileLines(path, "row", range(len(ids)))
    return Ends(places, None, ids, lines, {name: numbers(name) for name in columns}, _all_areas(shapes, len(ids)))


def _named(ids: Sequence[Any]) -> list[int] | list[str]:
    """Return names as integers if all of them are integers of 64 bits, else as texts."""
    if all(isinstance(name, int) and not isinstance(name, bool) and abs(name) < 2**63 for name in ids):
        return list(ids)
    return [str(name) for name in ids]
