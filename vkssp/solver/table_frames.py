"""Tables as DataFrames of pandas, Datasets of xarray, and Arrow record batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vkssp.arrow_file import pyarrow_for
from vkssp.extras import optional
from vkssp.memory import require
from vkssp.solver.table_file import COLUMNS, Block, arrow_rows, is_missing, names_of

if TYPE_CHECKING:
    from vkssp.solver.table import Table

Ids = Sequence[int] | Sequence[str] | None
_ORIGIN, _DESTINATION = "origin", "destination"
_UNITS = {"duration": "s", "distance": "m", "weight": "1"}
# Bytes of a pair: two names, and a value of each metric with its mask.
_PAIR_BYTES, _VALUE_BYTES = 16, 9


def dataframe(table: Table, sources: Ids, targets: Ids, wide: bool) -> Any:
    """Return a table as a pandas DataFrame; see `Table.to_dataframe`."""
    pandas = optional("pandas", "DataFrames need", "pandas")
    names = names_of(table, sources, targets)
    _require(table, "a DataFrame", _PAIR_BYTES + _VALUE_BYTES * len(table.metrics))
    (rows, columns), values = map(np.asarray, names), table.read()
    index, heads = (
        pandas.Index(ids, name=f"{end}_id") for ids, end in zip((rows, columns), ends_of(table), strict=True)
    )
    if wide:
        frames = {
            COLUMNS[name]: pandas.DataFrame(array, index, heads)
            .astype(f"UInt{8 * array.itemsize}" if array.dtype.kind == "u" else array.dtype)
            .mask(is_missing(array))
            for name, array in values.items()
        }
        if len(frames) > 1:
            return pandas.concat(frames, axis=1, names=["metric", heads.name])
        return next(iter(frames.values()))
    return long_frame(values, rows, columns, (index.name, heads.name))


def long_frame(values: Block, rows: Any, columns: Any, names: tuple[str, str]) -> Any:
    """Return arrays of a table as a pandas DataFrame with a row for each pair.

    Parameters
    ----------
    values : dict of str to numpy.ndarray
        Array of each metric, shape (k, t).
    rows, columns : array_like
        What sources and targets are called, shape (k,) and (t,).
    names : tuple of (str, str)
        Names of the columns of these.
    """
    pandas = optional("pandas", "DataFrames need", "pandas")
    told = {names[0]: np.repeat(np.asarray(rows), len(columns)), names[1]: np.tile(np.asarray(columns), len(rows))}
    for name, array in values.items():
        flat = array.reshape(-1)
        if flat.dtype.kind == "u":
            told[COLUMNS[name]] = pandas.arrays.IntegerArray(flat, is_missing(flat))
        else:
            told[COLUMNS[name]] = np.where(is_missing(flat), flat.dtype.type(np.nan), flat)
    return pandas.DataFrame(told)


def dataset(table: Table, sources: Ids, targets: Ids) -> Any:
    """Return a table as an xarray Dataset; see `Table.to_xarray`."""
    names_of(table, sources, targets)
    _require(table, "a Dataset", sum(dtype.itemsize for dtype in table.dtypes.values()))
    return dataset_of(table, table.read(), sources, targets)


def dataset_of(table: Table, values: Mapping[str, Any], sources: Ids, targets: Ids) -> Any:
    """Return arrays of the metrics of a table, of any library that xarray knows, as an xarray Dataset."""
    xarray = optional("xarray", "Datasets need", "pandas")
    names = names_of(table, sources, targets)
    coordinates: dict[str, Any] = {}
    for dimension, ids, places in zip(ends_of(table), names, (table.sources, table.targets), strict=True):
        coordinates[dimension] = np.asarray(ids)
        if places is not None:
            for column, axis, unit in (("lat", 0, "degrees_north"), ("lon", 1, "degrees_east")):
                coordinates[f"{dimension}_{column}"] = dimension, places[:, axis], {"units": unit}
    arrays = {
        COLUMNS[name]: (ends_of(table), array, {"long_name": name, "units": _UNITS[name]})
        for name, array in values.items()
    }
    return xarray.Dataset(arrays, coordinates)


def ends_of(table: Table) -> tuple[str, str]:
    """Return what the rows and the columns of a table are."""
    return (_DESTINATION, _ORIGIN) if table.reverse else (_ORIGIN, _DESTINATION)


def _require(table: Table, what: str, pair_bytes: int) -> None:
    rows, columns = table.shape
    cure = "iterate over the table, or write it to a file"
    require(rows * columns * pair_bytes, f"{what} of {rows:,} by {columns:,} pairs", cure)


def reader(table: Table, sources: Ids, targets: Ids) -> Any:
    """Return a table as a pyarrow RecordBatchReader; see `Table.to_arrow`."""
    pyarrow = pyarrow_for("Arrow tables need")
    names = names_of(table, sources, targets)
    row, column = ends_of(table)
    schema, batch = arrow_rows(table, *names, (f"{row}_id", f"{column}_id"))
    return pyarrow.RecordBatchReader.from_batches(schema, (batch(block) for block in table))
