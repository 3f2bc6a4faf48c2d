"""GeoParquet files (version 1.1): tables with a column of geometry, longitude and latitude on WGS 84."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrow_file import check_columns, pyarrow_for
from vkssp.checks import shown
from vkssp.errors import FormatError
from vkssp.features.columns import BYTES_OF_A_BYTE, Columns, plain, text_of
from vkssp.features.shapes import GEOMETRY, Shapes, in_degrees
from vkssp.files import atomic_write
from vkssp.memory import require

#: What needs pyarrow, and what else can be written.
NEEDS = ("GeoParquet files need", "write .csv or .geojson")


def read_geoparquet(
    path: Path, columns: Sequence[str], optional: Sequence[str]
) -> tuple[dict[str, list[Any]], npt.NDArray[Any] | None]:
    """Read columns of a GeoParquet file and its geometry, or of a Parquet file with coordinates.

    Parameters
    ----------
    path : Path
        The file.
    columns, optional : sequence of str
        Columns that it must have, and columns that are read if it has them.

    Returns
    -------
    table : dict of str to list
        The columns; also ``lat`` and ``lon`` if there is no geometry.
    shapes : numpy.ndarray or None
        The geometry as shapely objects; None without GeoParquet's metadata.

    Raises
    ------
    FormatError
        If the file cannot be read, has no such column, or has coordinates of a system that is not known.
    QueryError
        If pyarrow is not installed, or pyproj and the coordinates are of another system than degrees.
    MemoryShortageError
        If the table does not fit into memory.
    """
    import shapely

    pyarrow = pyarrow_for("Parquet files of places need", "give .csv or .geojson")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            size = sum(file.metadata.row_group(at).total_byte_size for at in range(file.num_row_groups))
            require(BYTES_OF_A_BYTE * size, f"{path}: places in a file of {size / 2**30:.1f} GiB")
            names, about = file.schema_arrow.names, (file.schema_arrow.metadata or {}).get(b"geo")
            geometry, system = (None, None) if about is None else _column(path, about, names)
            wanted = [*columns, *([geometry] if geometry else ["lat", "lon"])]
            check_columns(path, wanted, names)
            wanted += [name for name in optional if name in names]
            table = file.read(columns=list(dict.fromkeys(wanted)))
        read: dict[str, list[Any]] = {name: table.column(name).to_pylist() for name in table.column_names}
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        raise FormatError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    if geometry is None:
        return read, None
    try:
        shapes = shapely.from_wkb(np.array(read[geometry], object))
    except (shapely.errors.GEOSException, TypeError) as error:
        raise FormatError(f"{path} has geometry that is no WKB ({error}); write it again") from None
    return read, in_degrees(shapes, system, str(path))


def _column(path: Path, about: bytes, names: Sequence[str]) -> tuple[str, Any]:
    """Return the name of the column with geometry and its coordinate system, given the metadata."""
    try:
        told = json.loads(about)
        name = told["primary_column"]
        column = told["columns"][name]
        encoding, system = column["encoding"], column.get("crs", {"id": {"authority": "OGC", "code": "CRS84"}})
        if not isinstance(name, str) or name not in names:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FormatError(f"{path} has no valid metadata of GeoParquet; write it again, such as by geopandas") from None
    if encoding != "WKB":
        raise FormatError(f"{path} has geometry encoded as {shown(encoding)}; write it as WKB")
    return name, system


def arrow_table(columns: Columns, shapes: Shapes | None) -> Any:
    """Return columns, null where there is no value, and shapes as WKB, as a pyarrow Table.

    Raises
    ------
    QueryError
        If pyarrow is not installed.
    """
    import shapely

    pyarrow = pyarrow_for("Arrow tables need")
    fields, arrays = [], []
    for name, column in columns.items():
        read = plain(column).cleaned()
        values = column if read.kind != "text" and column.dtype.kind != "O" else read.values
        arrays.append(pyarrow.array(values, pyarrow.string() if read.kind == "text" else None, mask=read.missing))
        fields.append(pyarrow.field(text_of(name), arrays[-1].type))
    if shapes is not None:
        arrays.append(pyarrow.array(shapely.to_wkb(shapes), pyarrow.binary()))
        # https://geoarrow.org/extension-types.html
        system = json.dumps({"crs": "OGC:CRS84", "crs_type": "authority_code"})
        about = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": system}
        fields.append(pyarrow.field(GEOMETRY, pyarrow.binary(), metadata=about))
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields))


def write_geoparquet(
    path: str | Path, blocks: Iterable[tuple[Columns, Shapes | None]], kinds: Sequence[str] | None = None
) -> None:
    """Write columns, null where there is no value, and shapes, if there are any.

    Parameters
    ----------
    path : str or Path
        The file, which appears only when it is complete.
    blocks : iterable of (mapping of str to numpy.ndarray, numpy.ndarray or None)
        Columns and shapes, at least one block; the columns of all blocks have the same types. Each block is written
        before the next one is made.
    kinds : sequence of str, optional
        Types of the shapes of all blocks, such as "LineString"; by default those of the only block.

    Raises
    ------
    QueryError
        If pyarrow is not installed.
    FormatError
        If the file cannot be written.
    """
    pyarrow, writer = pyarrow_for(*NEEDS), None
    with atomic_write(path) as stream:
        try:
            for columns, shapes in blocks:
                table = arrow_table(columns, shapes)
                if writer is None:
                    schema = _schema(pyarrow, table, shapes, kinds)
                    writer = pyarrow.parquet.ParquetWriter(stream, schema)
                writer.write_table(table.cast(schema))
        finally:
            if writer is not None:
                writer.close()


def _schema(pyarrow: Any, table: Any, shapes: Shapes | None, kinds: Sequence[str] | None) -> Any:
    """Return the schema of a file of such tables."""
    if shapes is None:
        return table.schema
    if kinds is None:
        kinds = sorted({shape.geom_type for shape in shapes.tolist() if shape is not None})
    # Without a coordinate system, longitude and latitude on WGS 84 are meant.
    told: dict[str, Any] = {"version": "1.1.0", "primary_column": GEOMETRY}
    told |= {"columns": {GEOMETRY: {"encoding": "WKB", "geometry_types": list(kinds)}}}
    return pyarrow.schema([field.remove_metadata() for field in table.schema], {"geo": json.dumps(told)})
