"""Files of service areas: streets for a map, or a line for each node."""

from __future__ import annotations

import colorsys
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import named, path_of, shown
from vkssp.csv_file import csv_writer
from vkssp.errors import FormatError, QueryError
from vkssp.features.endings import ending_of
from vkssp.features.features import Features
from vkssp.features.files import AREA_ENDINGS, GEOJSON_ENDINGS, check_ending, write_layers
from vkssp.features.geojson import line_of, write_features
from vkssp.features.shapes import dots, lines, positions
from vkssp.files import atomic_write
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.route_file import place_properties, point
from vkssp.routing.voronoi import part_of_line
from vkssp.solver.table_file import COLUMNS

if TYPE_CHECKING:
    from vkssp.routing.service_areas import ServiceAreas

#: Endings of files of nodes.
NODE_ENDINGS = (".npy", ".csv")
Ids = Sequence[int] | Sequence[str]
# Successive hues differ by this part of the circle (the golden ratio), which keeps any number of hues well apart.
_GOLDEN = 0.618034


def check_areas_ending(path: str | Path, *, streets: bool = True) -> str:
    """Return the ending of a file's name if it is one for service areas, with streets or of nodes alone.

    Raises
    ------
    FormatError
        If it is not.
    QueryError
        If a library that writes the format is not installed.
    """
    ending = ending_of(path_of(path))
    if not streets and ending in AREA_ENDINGS:
        raise FormatError(f"cannot write {path}: sources that are nodes have no streets; give places, or write .csv")
    return check_ending(path, (*NODE_ENDINGS, *(AREA_ENDINGS if streets else ())), "service areas")


def write_service_areas(path: str | Path, areas: ServiceAreas, ids: Ids | None = None) -> None:
    """Write service areas to a file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file. Its ending says what is written.
        .geojson or .json: the parts of streets as lines, with ``source``, with ``duration_s``, ``distance_m`` or
        ``weight`` (of the path from the source to the nearest point of the line), and with ``stroke``, the colour of
        the source; and the sources as points, with ``role`` "source".
        .gpkg (GeoPackage) or .kml: the same in the layers ``streets`` and ``sources``.
        .fgb (FlatGeobuf), .shp or .shp.zip (Shapefile) or .parquet (GeoParquet): the streets.
        .csv: a line for each node, with ``node``, ``lat``, ``lon``, ``source`` and one of ``duration_s``,
        ``distance_m`` and ``weight``; the last two are empty if no path leads to the node.
        .npy: ``source`` and one of the same three by node, in an array of a structured type. ``source`` is the number
        of the source from 0, 2**32 - 1 if no path leads to the node.
    areas : ServiceAreas
        The service areas.
    ids : sequence of int or str, optional
        Names of the sources; their numbers by default. NumPy arrays do not hold names.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError
        If `areas` are no service areas, if there are not as many names as sources, or if a library that writes the
        format is not installed.
    """
    ending = check_areas_ending(path)
    if not hasattr(areas, "nodes"):
        raise QueryError(f"areas is {shown(areas)}; give ServiceAreas, such as Router.service_areas returns")
    if ending in GEOJSON_ENDINGS:
        write_features(path, features(areas, ids))
    elif ending in NODE_ENDINGS:
        names = _names(ids, len(areas.places))
        write_nodes(path, areas.graph, areas.source, {COLUMNS[areas.unit.name]: areas.values}, names)
    else:
        write_layers(path, [street_features(areas, ids), source_features(areas, ids)])


def write_nodes(path: str | Path, graph: Graph, source: Uint32s, column: dict[str, npt.NDArray[Any]], ids: Ids) -> None:
    """Write the nearest source of each node to a .csv or .npy file; see `write_service_areas`.

    Parameters
    ----------
    path : str or Path
        The file.
    graph : Graph
        The graph.
    source : numpy.ndarray
        Number of the nearest source of each node, 2**32 - 1 if there is none, shape (num_nodes,), uint32.
    column : dict of str to numpy.ndarray
        Distance of each node from its source, shape (num_nodes,), by the name of its column.
    ids : sequence of int or str
        Names of the sources.
    """
    ((name, values),) = column.items()
    with atomic_write(path) as stream:
        if Path(path).suffix.lower() == ".npy":
            packed: Any = np.empty(len(values), [("source", np.uint32), (name, values.dtype)])
            packed["source"], packed[name] = source, values
            np.save(stream, packed, allow_pickle=False)
        else:
            _write_csv(stream, graph, source, name, values, ids)


def _write_csv(stream: IO[bytes], graph: Graph, source: Uint32s, name: str, values: npt.NDArray[Any], ids: Ids) -> None:
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    lines = csv_writer(text)
    missing = source == UNREACHABLE
    names = np.array([*ids, ""], object)[np.where(missing, len(ids), source)]
    told = _digits(values).astype(object)
    told[missing] = ""
    columns: dict[str, Any] = {"node": range(graph.num_nodes) if graph.names is None else graph.names.tolist()}
    if graph.lat is not None and graph.lon is not None:
        columns |= {"lat": graph.lat.round(7).tolist(), "lon": graph.lon.round(7).tolist()}
    columns |= {"source": names, name: told}
    lines.writerow(columns)
    try:
        lines.writerows(zip(*columns.values(), strict=True))
        text.flush()
    finally:
        text.detach()


def features(areas: ServiceAreas, ids: Ids | None = None) -> Iterator[dict[str, Any]]:
    """Yield the features of service areas: the parts of streets, and the sources; see `write_service_areas`."""
    names, unit = _names(ids, len(areas.places)), areas.unit
    colours = [colour(number) for number in range(len(names))]
    for source, value, line in _lines(areas):
        yield {
            "type": "Feature",
            "properties": {"source": names[source], COLUMNS[unit.name]: value, "stroke": colours[source]},
            "geometry": line_of(line),
        }
    for name, place, its in zip(names, areas.places, colours, strict=True):
        told = {**place_properties(place, "source"), "source": name, "marker-color": its}
        yield {"type": "Feature", "properties": told, "geometry": point(place)}


def street_features(areas: ServiceAreas, ids: Ids | None = None) -> Features:
    """Return the parts of streets with ``source``, the value of the path to them, and ``stroke``, a colour."""
    names, rows = np.array(_names(ids, len(areas.places))), list(_lines(areas))
    sources = np.array([source for source, _, _ in rows], np.int64)
    colours = np.array([colour(number) for number in range(len(names))])
    values = np.array([value for _, value, _ in rows], areas.unit.values(areas.streets.weight[:0]).dtype)
    told = {"source": names[sources], COLUMNS[areas.unit.name]: values, "stroke": colours[sources]}
    return Features(told, lines([line for _, _, line in rows]), "streets")


def source_features(areas: ServiceAreas, ids: Ids | None = None) -> Features:
    """Return the sources as points, with ``source``, the name and the point of the street, and ``stroke``, a colour."""
    names, places = np.array(_names(ids, len(areas.places))), areas.places
    told = {"source": names, "name": np.array([place.name for place in places])}
    told |= {
        key: np.array([getattr(place, key) for place in places]) for key in ("snapped_m", "snapped_lat", "snapped_lon")
    }
    told["stroke"] = np.array([colour(number) for number in range(len(names))])
    return Features(told, dots(*np.array([(place.lat, place.lon) for place in places]).T), "sources")


def _lines(areas: ServiceAreas) -> Iterator[tuple[int, float, npt.NDArray[np.float64]]]:
    """Yield the source of each part of a street, the value of the path to it, and its points."""
    unit, streets = areas.unit, areas.streets
    told = _digits(unit.values(streets.weight))
    rows = (streets.polyline, streets.low, streets.high, streets.source, told)
    for polyline, low, high, source, value in zip(*(column.tolist() for column in rows), strict=True):
        line = _wrapped(part_of_line(areas.polyline(polyline), low, high))
        # Gates without length cannot be seen, nor tiny remainders where two sources' paths meet next to a junction.
        if (positions(line) != positions(line[:1])).any():
            yield source, value, line


def _digits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values as they are written: single precision has seven digits, further digits of a double are noise."""
    return values.astype(np.float64).round(3) if values.dtype == np.float32 else values


def _wrapped(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return points with longitudes from -180 to 180 degrees."""
    if np.abs(points[:, 1]).max() <= 180.0:
        return points
    return np.stack([points[:, 0], (points[:, 1] + 180.0) % 360.0 - 180.0], axis=1)


def colour(number: int) -> str:
    """Return the colour of a source, as ``#rrggbb``."""
    parts = colorsys.hls_to_rgb(number * _GOLDEN % 1.0, 0.42, 0.75)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def _names(ids: Ids | None, count: int) -> Ids:
    names = list(range(count)) if ids is None else named(ids, "ids")
    if len(names) != count:
        raise QueryError(f"there are {len(names)} names for {count} sources; give one for each")
    return names
