"""Files of values of nodes, places or areas: CSV, NumPy arrays, GeoParquet and GeoJSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrow_file import pyarrow_for
from vkssp.checks import path_of
from vkssp.errors import FormatError, QueryError
from vkssp.files import atomic_write
from vkssp.graph import Graph, Uint32s
from vkssp.graph.names import names_in_file
from vkssp.routing.geojson import write_features
from vkssp.routing.geoparquet import write_geoparquet
from vkssp.routing.places import LatLon

#: Endings of files of values; the last two are for GeoJSON.
ENDINGS = (".csv", ".npy", ".parquet", ".geojson", ".json")
# Digits of coordinates in degrees, a centimetre.
_DIGITS = 7

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Rows:
    """What values belong to.

    Attributes
    ----------
    name : str
        Name of the column of ids: ``"node"`` or ``"id"``.
    ids : numpy.ndarray
        Ids, integers or texts, shape (k,).
    lat, lon : numpy.ndarray or None
        Places in degrees, shape (k,) each; None if the graph has no coordinates.
    shapes : numpy.ndarray or None
        Areas as shapely geometries, shape (k,); None for points.
    """

    name: str
    ids: npt.NDArray[Any]
    lat: npt.NDArray[np.float64] | None
    lon: npt.NDArray[np.float64] | None
    shapes: npt.NDArray[Any] | None = None

    @classmethod
    def of_nodes(cls, graph: Graph, nodes: Uint32s) -> Rows:
        """Return rows for nodes of a graph, given by position, and called by their names if they have any."""
        ids: npt.NDArray[Any] = nodes if graph.names is None else np.array(names_in_file(graph.names[nodes]))
        if graph.lat is None or graph.lon is None:
            return cls("node", ids, None, None)
        return cls("node", ids, graph.lat[nodes], graph.lon[nodes])

    @classmethod
    def of_places(
        cls, ids: Sequence[int] | Sequence[str], places: Sequence[LatLon], shapes: npt.NDArray[Any] | None = None
    ) -> Rows:
        """Return rows for places, or for areas with a place in each."""
        lat, lon = np.array(places, np.float64).reshape(-1, 2).T
        return cls("id", np.array(ids), lat, lon, shapes)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the ids and, if there are coordinates, the places, by name."""
        if self.lat is None or self.lon is None:
            return {self.name: self.ids}
        return {self.name: self.ids, "lat": self.lat.round(_DIGITS), "lon": self.lon.round(_DIGITS)}

    def geometry(self) -> npt.NDArray[Any] | None:
        """Return areas or points as shapely geometries, shape (k,); None without coordinates."""
        import shapely

        if self.lat is None or self.lon is None or self.shapes is not None:
            return self.shapes
        points: npt.NDArray[Any] = shapely.points(self.lon.round(_DIGITS), self.lat.round(_DIGITS))
        return points


def check_values_ending(path: str | Path, graph: Graph | None = None) -> None:
    """Check that values can be written to a file of this name, of a graph with or without coordinates.

    Raises
    ------
    FormatError
        If its ending names no known format, or if it needs coordinates and the graph has none.
    QueryError
        If a library that writes the format is not installed.
    """
    suffix = path_of(path).suffix.lower()
    if suffix not in ENDINGS:
        raise FormatError(f"cannot write values to {path}: its name must end in one of {', '.join(ENDINGS)}")
    if suffix == ".parquet":
        pyarrow_for("GeoParquet files need", "write .csv or .geojson")
    if suffix in ENDINGS[3:] and graph is not None and graph.lat is None:
        raise FormatError(f"cannot write {path}: the graph has no coordinates; write .csv or .npy")


def write_values(path: str | Path, rows: Rows, columns: Columns) -> None:
    """Write values to a file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file. Its ending says what is written: with .csv ``node`` or ``id``, with coordinates ``lat`` and ``lon``,
        and a column for each value, empty if there is none; with .npy ids and values, as an array of a structured type;
        with .parquet the columns of CSV, null where there is no value, and with coordinates ``geometry``, as
        GeoParquet; with .geojson or .json points or areas with the id and the values.
    rows : Rows
        What the values belong to.
    columns : mapping of str to numpy.ndarray
        Values by name, shape (k,) each: numbers, of which NaN is none, or objects, of which None is none.

    Raises
    ------
    FormatError, QueryError
        As `check_values_ending` does, or if the file cannot be written.
    """
    check_values_ending(path)
    suffix = path_of(path).suffix.lower()
    if suffix in ENDINGS[3:] and rows.lat is None:
        raise FormatError(f"cannot write {path}: the graph has no coordinates; write .csv or .npy")
    for name, values in columns.items():
        if len(values) != len(rows.ids):
            raise QueryError(f"columns[{name!r}] has {len(values)} values for {len(rows.ids)} rows; give one for each")
    if suffix in ENDINGS[3:]:
        write_features(path, _features(rows, columns))
        return
    with atomic_write(path) as stream:
        if suffix == ".npy":
            given = {rows.name: rows.ids, **columns}
            # Ids of one kind, also in a column without any.
            objects = [values.tolist() for values in given.values() if values.dtype.kind == "O"]
            are_texts = any(isinstance(value, str) for values in objects for value in values)
            packed = {name: _plain(values, are_texts) for name, values in given.items()}
            table = np.empty(len(rows.ids), [(name, one.dtype) for name, one in packed.items()])
            for name, values in packed.items():
                table[name] = values
            np.save(stream, table, allow_pickle=False)
        elif suffix == ".csv":
            _write_csv(stream, {**rows.columns(), **columns})
        else:
            write_geoparquet(stream, {**rows.columns(), **columns}, rows.geometry())


def _plain(values: npt.NDArray[Any], are_texts: bool) -> npt.NDArray[Any]:
    """Return values without objects: in place of None an empty text, or -1."""
    if values.dtype.kind != "O":
        return values
    told = values.tolist()
    if are_texts:
        return np.array(["" if value is None else value for value in told])
    return np.array([-1 if value is None else value for value in told], np.int64)


def _told(values: npt.NDArray[Any], missing: Any) -> list[Any]:
    """Return values as Python's objects, with something in place of NaN and None."""
    told: list[Any] = values.tolist()
    if values.dtype.kind == "O":
        return [missing if value is None else value for value in told]
    return told if values.dtype.kind != "f" else [missing if value != value else value for value in told]


def _write_csv(stream: IO[bytes], columns: Columns) -> None:
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    try:
        lines.writerows(zip(*(_told(values, "") for values in columns.values()), strict=True))
        text.flush()
    finally:
        text.detach()


def _features(rows: Rows, columns: Columns) -> Iterator[dict[str, Any]]:
    import shapely

    given = {name: _told(values, None) for name, values in columns.items()}
    ids, lat, lon = (values.tolist() for values in rows.columns().values())
    for at, name in enumerate(ids):
        geometry: Any = {"type": "Point", "coordinates": [lon[at], lat[at]]}
        if rows.shapes is not None:
            geometry = shapely.geometry.mapping(rows.shapes[at])
        properties = {rows.name: name, **{column: values[at] for column, values in given.items()}}
        yield {"type": "Feature", "properties": properties, "geometry": geometry}
