"""GeoParquet files (version 1.1): tables with a column of geometry, longitude and latitude on WGS 84."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrow_file import check_columns, pyarrow_for
from vkssp.checks import shown
from vkssp.errors import FormatError
from vkssp.memory import require

#: Name of the column with geometry in files that are written.
GEOMETRY = "geometry"
# What a file without a coordinate system means, and another name of it.
_SYSTEMS = (("OGC", "CRS84"), ("EPSG", "4326"))


def read_geoparquet(
    path: Path, columns: Sequence[str], optional: Sequence[str], factor: int
) -> tuple[dict[str, list[Any]], npt.NDArray[Any] | None]:
    """Read columns of a GeoParquet file and its geometry, or of a Parquet file with coordinates.

    Parameters
    ----------
    path : Path
        The file.
    columns, optional : sequence of str
        Columns that it must have, and columns that are read if it has them.
    factor : int
        Bytes that the caller needs for each byte of the file.

    Returns
    -------
    table : dict of str to list
        The columns; also ``lat`` and ``lon`` if there is no geometry.
    shapes : numpy.ndarray or None
        The geometry as shapely objects; None without GeoParquet's metadata.

    Raises
    ------
    FormatError
        If the file cannot be read, has no such column, or has coordinates of another system.
    QueryError
        If pyarrow is not installed.
    MemoryShortageError
        If the table does not fit into memory.
    """
    import shapely

    pyarrow = pyarrow_for("Parquet files of places need", "give .csv or .geojson")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            size = sum(file.metadata.row_group(at).total_byte_size for at in range(file.num_row_groups))
            require(factor * size, f"{path}: places in a file of {size / 2**30:.1f} GiB")
            names, about = file.schema_arrow.names, (file.schema_arrow.metadata or {}).get(b"geo")
            geometry = None if about is None else _column(path, about, names)
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
        return read, shapely.from_wkb(np.array(read[geometry], object))
    except (shapely.errors.GEOSException, TypeError) as error:
        raise FormatError(f"{path} has geometry that is no WKB ({error}); write it again") from None


def _column(path: Path, about: bytes, names: Sequence[str]) -> str:
    """Return the name of the column with geometry, given the metadata."""
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
    known = system.get("id") if isinstance(system, dict) else None
    sign = (str(known.get("authority")), str(known.get("code"))) if isinstance(known, dict) else None
    if system is not None and sign not in _SYSTEMS:
        title = system.get("name") if isinstance(system, dict) else system
        raise FormatError(
            f"{path} has coordinates in {shown(title)}; give longitude and latitude, such as by geopandas' to_crs(4326)"
        )
    return name


def write_geoparquet(
    stream: IO[bytes], columns: Mapping[str, npt.NDArray[Any]], shapes: npt.NDArray[Any] | None
) -> None:
    """Write columns, NaN and None as null, and shapely objects, if there are any, as geometry.

    Raises
    ------
    QueryError
        If pyarrow is not installed.
    """
    import shapely

    pyarrow = pyarrow_for("GeoParquet files need", "write .csv or .geojson")
    table = pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()})
    if shapes is not None:
        table = table.append_column(GEOMETRY, pyarrow.array(shapely.to_wkb(shapes), pyarrow.binary()))
        # Without a coordinate system, longitude and latitude on WGS 84 are meant.
        about = {"encoding": "WKB", "geometry_types": sorted({shape.geom_type for shape in shapes.tolist()})}
        told = {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: about}}
        table = table.replace_schema_metadata({"geo": json.dumps(told)})
    pyarrow.parquet.write_table(table, stream)
