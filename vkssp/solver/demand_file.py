"""Demand between pairs of nodes in a file, read some pairs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrow_file import batches
from vkssp.checks import listed, whole_number
from vkssp.errors import FormatError, QueryError

#: Sources, targets and demand of some pairs.
Part = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


def read_demand(
    path: str | Path, columns: Sequence[str] = ("source", "target", "demand"), rows: int = 1 << 22
) -> Iterator[Part]:
    """Read a demand from a Parquet or CSV file, some pairs at a time; see `vkssp.Solver.flows_of`.

    Each part takes a tree for each of its sources, so that the file should be sorted by source.

    Parameters
    ----------
    path : str or Path
        Name of the file, ending in .parquet or .csv.
    columns : sequence of str
        Names of its columns of sources and targets, which are integers or, if nodes of the graph are called so, texts,
        and of the demand.
    rows : int
        Number of pairs of a part, about.

    Yields
    ------
    tuple of numpy.ndarray
        Sources, targets and demand of some pairs, shape (k,) each.

    Raises
    ------
    FormatError
        If the file cannot be read, has no such columns, or has values in them that are missing or no numbers.
    QueryError
        If an argument is invalid, or pyarrow is not installed.
    """
    names = listed(columns, "columns", "three names of columns")
    if len(names) != 3 or not all(isinstance(name, str) for name in names):
        raise QueryError("columns must be three names of columns: of sources, of targets and of the demand")
    count = whole_number(rows, "rows", 1, 2**31 - 1, "give a number of pairs from 1 on")
    return _parts(path, names, count)


def _parts(path: str | Path, names: Sequence[str], rows: int) -> Iterator[Part]:
    at = 0
    for table in batches(path, names, rows):
        arrays = []
        for name, kinds in zip(names, ("iu", "iu", "iuf"), strict=True):
            column = table.column(name)
            if column.null_count:
                row = at + int(np.flatnonzero(column.is_null().to_numpy())[0])
                raise FormatError(f"{path} has no value in row {row} of column {name!r}; rows are counted from 0")
            array = column.to_numpy()
            if array.dtype.kind not in kinds and not (kinds == "iu" and array.size and isinstance(array[0], str)):
                what = "node ids, which are integers" if kinds == "iu" else "numbers"
                raise FormatError(f"{path}: column {name!r} is of type {column.type}; it must have {what}")
            arrays.append(array)
        yield arrays[0], arrays[1], arrays[2]
        at += len(table)
