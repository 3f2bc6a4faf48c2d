"""Tables in files, written row by row as they are made, and the files that say between what."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from vkssp.csv_file import csv_lines
from vkssp.errors import FormatError, QueryError
from vkssp.routing.geojson import read_json
from vkssp.routing.places import LatLon
from vkssp.routing.table import DTYPES, Block, Table
from vkssp.storage import ZARR, ZARR_MARKS, atomic_folder, atomic_write

if TYPE_CHECKING:
    from _csv import Reader

#: Endings of files that tables can be written to.
ENDINGS = (".npy", ".zarr", ".csv", ".parquet")
#: Bytes of a chunk of rows in a .zarr folder.
_CHUNK_BYTES = 16 << 20
#: Columns of a table in a file.
COLUMNS = {"duration": "duration_s", "distance": "distance_m", "weight": "weight"}


@dataclass(frozen=True, eq=False)
class Ends:
    """Sources or targets of a table, as a file has them.

    Attributes
    ----------
    places : list of (float, float) or None
        Latitude and longitude in degrees; None where the file has nodes.
    nodes : numpy.ndarray or None
        Node ids, int64; None where the file has places.
    ids : list of int or list of str
        What they are called; their numbers from 0 where the file has no names for places, the nodes' ids for nodes.
    """

    places: list[LatLon] | None
    nodes: npt.NDArray[np.int64] | None
    ids: list[int] | list[str]


def read_ends(path: str | Path) -> Ends:
    """Read places or nodes from a file.

    Parameters
    ----------
    path : str or Path
        Comma-separated values with a line that names the columns ``lat`` and ``lon`` in degrees, or ``node``, and
        perhaps ``id``; or just an integer in each line, a node. GeoJSON (.json, .geojson) of points, with their ``id``
        or a property of that name. A NumPy array (.npy) of integers, which are nodes, or of shape (k, 2), of latitudes
        and longitudes.

    Raises
    ------
    FormatError
        If it is missing, or nothing of the kind, or there is nothing in it.
    """
    readers = {".npy": _from_npy, ".json": _from_geojson, ".geojson": _from_geojson}
    try:
        ends = readers.get(Path(path).suffix.lower(), _from_csv)(path)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except OverflowError as error:
        raise FormatError(f"{path} holds no places or nodes that can be read ({error})") from None
    if not ends.ids:
        raise FormatError(f"{path} has no places or nodes in it; give at least one")
    return ends


def _from_npy(path: str | Path) -> Ends:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{path} is no NumPy array ({error})") from None
    if isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu":
        nodes = array.astype(np.int64)
        return Ends(None, nodes, nodes.tolist())
    if isinstance(array, np.ndarray) and array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iuf":
        return Ends([(float(lat), float(lon)) for lat, lon in array.tolist()], None, list(range(len(array))))
    raise FormatError(f"{path} holds neither integers, for nodes, nor two columns of latitude and longitude")


def _from_geojson(path: str | Path) -> Ends:
    content = read_json(path)
    features = content.get("features", [content]) if isinstance(content, dict) else None
    places, ids = [], []
    for number, feature in enumerate(features if isinstance(features, list) else [None]):
        try:
            geometry = feature.get("geometry", feature)
            if geometry["type"] != "Point":
                raise ValueError
            lon, lat = map(float, geometry["coordinates"][:2])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FormatError(f"{path}: feature {number} is no GeoJSON point; give points, lon,lat each") from None
        places.append((lat, lon))
        name = feature.get("id", (feature.get("properties") or {}).get("id"))
        ids.append(number if name is None else name)
    return Ends(places, None, _named(ids))


def _from_csv(path: str | Path) -> Ends:
    with csv_lines(path) as lines:
        return _from_lines(path, lines)


def _from_lines(path: str | Path, lines: Reader) -> Ends:
    first = [word.strip() for word in next(lines, [])]
    header = [word.lower() for word in first]
    if len(first) == 1 and first[0].lstrip("+-").isdigit():
        columns, rows = ["node"], [(1, first)]
    else:
        columns = ["node"] if "node" in header else ["lat", "lon"]
        if not set(columns) <= set(header):
            raise FormatError(f"{path} has no columns lat,lon or node in its first line; name them")
        rows = []
    rows += [(lines.line_num, line) for line in lines if line]
    at = [header.index(name) for name in columns] if not rows or rows[0][1] is not first else [0]
    read: type[int] | type[float] = int if columns == ["node"] else float
    values = []
    for number, line in rows:
        try:
            values.append([read(line[place]) for place in at])
            if not all(map(math.isfinite, values[-1])):
                raise ValueError
        except (ValueError, IndexError):
            what = "a node id" if read is int else "a latitude and a longitude"
            raise FormatError(f"{path}, line {number}: {','.join(line)[:60]!r} has not {what}") from None
    ids = None
    if "id" in header:
        ids = _named([line[header.index("id")] if len(line) > header.index("id") else "" for _, line in rows])
    if read is int:
        nodes = np.array([value[0] for value in values], np.int64)
        return Ends(None, nodes, ids or nodes.tolist())
    places = [(float(lat), float(lon)) for lat, lon in values]
    return Ends(places, None, ids or list(range(len(places))))


def _named(ids: Sequence[Any]) -> list[int] | list[str]:
    """Return names as numbers where all of them are, else as texts."""
    if all(isinstance(name, int) and not isinstance(name, bool) and abs(name) < 2**63 for name in ids):
        return list(ids)
    return [str(name) for name in ids]


def check_ending(path: str | Path) -> None:
    """Raise an error unless a table can be written to a file of this name.

    Raises
    ------
    FormatError
        If its ending says no format that is known.
    QueryError
        If a library that writes the format is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ENDINGS:
        raise FormatError(f"cannot write a table to {path}: its name must end in one of {', '.join(ENDINGS)}")
    if suffix == ".parquet":
        _pyarrow()
    if suffix == ZARR:
        _import_zarr()


def _import_zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise QueryError(
            "Zarr arrays need zarr, which is not installed; pip install 'vkssp[table]', or write .npy or .csv"
        ) from error
    return zarr


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise QueryError(
            "Parquet files need pyarrow, which is not installed; pip install 'vkssp[table]', or write .npy or .csv"
        ) from error
    return pyarrow


def write_table(
    path: str | Path,
    table: Table,
    sources: Sequence[int] | Sequence[str] | None = None,
    targets: Sequence[int] | Sequence[str] | None = None,
    *,
    progress: bool = False,
) -> int:
    """Write a table to a file, row by row, so that it need not fit into memory.

    The file appears only when it is complete.

    Parameters
    ----------
    path : str or Path
        A name that ends in .npy: an array of shape (sources, targets), of the metric's type, or where there are
        several of a structured type with a field for each. In .zarr: a folder with an array of that shape for each
        metric, in chunks of rows, beside arrays ``source`` and ``target`` of what they are called. In .csv or
        .parquet: a line for each source and target, with columns ``source``, ``target``, ``duration_s``,
        ``distance_m`` and ``weight``, as far as asked for; empty, or null, where no way leads. Parquet has a row group
        for each block of rows.
    table : Table
        The table.
    sources, targets : sequence of int or str, optional
        What they are called; their numbers by default. NumPy arrays know no names.
    progress : bool
        Whether to show a progress bar on stderr once it takes over a second.

    Returns
    -------
    int
        Number of pairs that a way leads between.

    Raises
    ------
    FormatError
        If the file cannot be written, or its ending is not known.
    QueryError, DistanceOverflowError
        What the making of the table raises.
    """
    check_ending(path)
    rows, columns = (
        range(count) if ids is None else ids for count, ids in zip(table.shape, (sources, targets), strict=True)
    )
    if (len(rows), len(columns)) != table.shape:
        raise QueryError(f"the table has shape {table.shape}, and there are names for {len(rows)}, {len(columns)}")
    writers: dict[str, Any] = {".npy": _npy, ZARR: _zarr, ".csv": _csv, ".parquet": _parquet}
    suffix, reached = Path(path).suffix.lower(), 0
    place: Any = atomic_folder(path, ZARR_MARKS) if suffix == ZARR else atomic_write(path)
    with (
        place as opened,
        writers[suffix](opened, table, rows, columns) as write,
        tqdm(total=len(rows), unit=" rows", delay=1.0, disable=not progress, leave=False) as bar,
    ):
        for block in table:
            count = len(next(iter(block.values())))
            write(block)
            name = table.metrics[0]
            reached += count * len(columns) - int(np.count_nonzero(_missing(name, block[name])))
            bar.update(count)
    return reached


def _missing(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where no way leads."""
    missing: npt.NDArray[np.bool_] = np.isnan(values) if DTYPES[name].kind == "f" else values == 2**32 - 1
    return missing


@contextmanager
def _npy(stream: IO[bytes], table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    fields = [(COLUMNS[name], DTYPES[name]) for name in table.metrics]
    dtype = np.dtype(fields) if len(fields) > 1 else fields[0][1]
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": table.shape}
    np.lib.format.write_array_header_1_0(stream, header)

    def write(block: Block) -> None:
        if len(fields) == 1:
            stream.write(np.ascontiguousarray(block[table.metrics[0]]).data)
            return
        packed: npt.NDArray[Any] = np.empty(block[table.metrics[0]].shape, dtype)
        for name, values in block.items():
            packed[COLUMNS[name]] = values
        stream.write(packed.tobytes())

    yield write


@contextmanager
def _zarr(folder: Path, table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    group = _import_zarr().open_group(folder, mode="w")
    for name, ids in (("source", rows), ("target", columns)):
        values = np.asarray(ids)
        group.create_array(name, data=values if values.dtype.kind in "iu" else values.astype(np.dtypes.StringDType()))
    each = max(1, min(len(rows), _CHUNK_BYTES // (4 * len(columns))))
    arrays = {
        name: group.create_array(
            COLUMNS[name],
            shape=table.shape,
            chunks=(each, len(columns)),
            dtype=DTYPES[name],
            fill_value=np.nan if DTYPES[name].kind == "f" else 2**32 - 1,
            dimension_names=("source", "target"),
        )
        for name in table.metrics
    }
    # A chunk is compressed whole, so it is written once, when all of its rows are there.
    waiting = {name: np.empty((each, len(columns)), DTYPES[name]) for name in table.metrics}
    at = 0

    def write(block: Block) -> None:
        nonlocal at
        count = len(block[table.metrics[0]])
        first = 0
        while first < count:
            place = at % each
            size = min(each - place, count - first)
            for name, values in block.items():
                waiting[name][place : place + size] = values[first : first + size]
            first, at = first + size, at + size
            if at % each == 0 or at == len(rows):
                begin = at - (at - 1) % each - 1
                for name, array in arrays.items():
                    array[begin:at] = waiting[name][: at - begin]

    yield write


@contextmanager
def _csv(stream: IO[bytes], table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    import io

    text = io.TextIOWrapper(stream, "utf-8", newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["source", "target", *(COLUMNS[name] for name in table.metrics)])
    at = iter(rows)

    def cells(name: str, values: npt.NDArray[Any]) -> list[Any]:
        # Single precision has seven digits; what more a double shows of it is noise.
        plain = values.astype(np.float64).round(3).astype(object) if values.dtype.kind == "f" else values.astype(object)
        plain[_missing(name, values)] = ""
        listed: list[Any] = plain.tolist()
        return listed

    def write(block: Block) -> None:
        for row in range(len(block[table.metrics[0]])):
            source = next(at)
            parts = [cells(name, block[name][row]) for name in table.metrics]
            lines.writerows(zip([source] * len(columns), columns, *parts, strict=True))

    try:
        yield write
        text.flush()
    finally:
        text.detach()


@contextmanager
def _parquet(stream: IO[bytes], table: Table, rows: Sequence[Any], columns: Sequence[Any]) -> Iterator[Any]:
    pyarrow = _pyarrow()
    types = {name: pyarrow.float32() if DTYPES[name].kind == "f" else pyarrow.uint32() for name in table.metrics}
    sources, targets = pyarrow.array(rows), pyarrow.array(columns)
    schema = pyarrow.schema(
        [
            ("source", sources.type),
            ("target", targets.type),
            *((COLUMNS[name], types[name]) for name in table.metrics),
        ]
    )
    at = 0

    def write(block: Block) -> None:
        nonlocal at
        count = len(block[table.metrics[0]])
        arrays = [
            sources.take(pyarrow.array(np.repeat(np.arange(at, at + count), len(columns)))),
            pyarrow.concat_arrays([targets] * count),
            *(
                pyarrow.array(block[name].reshape(-1), types[name], mask=_missing(name, block[name]).reshape(-1))
                for name in table.metrics
            ),
        ]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
        at += count

    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        yield write
