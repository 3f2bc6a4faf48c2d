"""Files of values of nodes: CSV, NumPy arrays, GeoParquet and GeoJSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrow_file import pyarrow_for
from vkssp.checks import path_of
from vkssp.errors import FormatError, QueryError
from vkssp.files import atomic_write
from vkssp.graph import Graph, Uint32s
from vkssp.routing.geojson import write_features

#: Endings of files of values; the last two are for GeoJSON.
ENDINGS = (".csv", ".npy", ".parquet", ".geojson", ".json")
# Digits of coordinates in degrees, a centimetre.
_DIGITS = 7
# Well-known binary of a point: little-endian, type 1, longitude, latitude.
_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("lon", "<f8"), ("lat", "<f8")])

Columns = Mapping[str, npt.NDArray[Any]]


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


def write_values(path: str | Path, graph: Graph, nodes: Uint32s, columns: Columns) -> None:
    """Write values of nodes to a file, which appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        The file. Its ending says what is written: with .csv ``node``, with coordinates ``lat`` and ``lon``, and a
        column for each value, empty if there is none (NaN); with .npy ``node`` and the values, as an array of a
        structured type; with .parquet the columns of CSV, null where there is no value, and with coordinates
        ``geometry``, as GeoParquet; with .geojson or .json points with ``node`` and the values.
    graph : Graph
        The graph.
    nodes : numpy.ndarray
        Nodes, shape (k,), uint32.
    columns : mapping of str to numpy.ndarray
        Values of the nodes by name, shape (k,) each.

    Raises
    ------
    FormatError, QueryError
        As `check_values_ending` does, or if the file cannot be written.
    """
    check_values_ending(path, graph)
    for name, values in columns.items():
        if len(values) != len(nodes):
            raise QueryError(f"columns[{name!r}] has {len(values)} values for {len(nodes)} nodes; give one for each")
    suffix = path_of(path).suffix.lower()
    if suffix in ENDINGS[3:]:
        write_features(path, _features(graph, nodes, columns))
        return
    with atomic_write(path) as stream:
        if suffix == ".npy":
            packed = np.empty(len(nodes), [("node", np.uint32), *((name, one.dtype) for name, one in columns.items())])
            packed["node"] = nodes
            for name, values in columns.items():
                packed[name] = values
            np.save(stream, packed, allow_pickle=False)
        elif suffix == ".csv":
            _write_csv(stream, _places(graph, nodes) | dict(columns))
        else:
            _write_parquet(stream, _places(graph, nodes) | dict(columns))


def _places(graph: Graph, nodes: Uint32s) -> dict[str, npt.NDArray[Any]]:
    """Return the ids and, if there are coordinates, the places of nodes, by name."""
    if graph.lat is None or graph.lon is None:
        return {"node": nodes}
    return {"node": nodes, "lat": graph.lat[nodes].round(_DIGITS), "lon": graph.lon[nodes].round(_DIGITS)}


def _told(values: npt.NDArray[Any], missing: Any) -> list[Any]:
    """Return values as Python's numbers, with something in place of NaN."""
    told: list[Any] = values.tolist()
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


def _write_parquet(stream: IO[bytes], columns: Columns) -> None:
    pyarrow = pyarrow_for("GeoParquet files need", "write .csv or .geojson")
    arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()}
    table = pyarrow.table(arrays)
    if "lat" in columns:
        points = np.zeros(len(columns["lat"]), _POINT)
        points["order"], points["type"], points["lon"], points["lat"] = 1, 1, columns["lon"], columns["lat"]
        whole = points.tobytes()
        size = _POINT.itemsize
        geometry = [whole[at : at + size] for at in range(0, len(whole), size)]
        table = table.append_column("geometry", pyarrow.array(geometry, pyarrow.binary()))
        # Without a name of a coordinate system, longitude and latitude on WGS 84 are meant.
        about = {"encoding": "WKB", "geometry_types": ["Point"]}
        told = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}
        table = table.replace_schema_metadata({"geo": json.dumps(told)})
    pyarrow.parquet.write_table(table, stream)


def _features(graph: Graph, nodes: Uint32s, columns: Columns) -> Iterator[dict[str, Any]]:
    places = _places(graph, nodes)
    rows = zip(*(_told(values, None) for values in columns.values()), strict=True)
    for node, lat, lon, row in zip(*(values.tolist() for values in places.values()), rows, strict=True):
        yield {
            "type": "Feature",
            "properties": {"node": node, **dict(zip(columns, row, strict=True))},
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
        }
