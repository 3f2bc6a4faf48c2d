"""Files of values of features without their shapes: CSV and NumPy arrays."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from vkssp.csv_file import csv_writer
from vkssp.features.columns import Columns, plain
from vkssp.files import atomic_write


def write_csv(path: str | Path, blocks: Iterable[Columns]) -> None:
    """Write blocks of the same columns as comma-separated values, with a first line of their names.

    Cells without a value are empty.
    """
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, "utf-8", newline="")
        lines = csv_writer(text)
        try:
            for number, columns in enumerate(blocks):
                if number == 0:
                    lines.writerow(columns)
                told = [plain(column).cleaned().told() for column in columns.values()]
                lines.writerows(zip(*([("" if one is None else one) for one in some] for some in told), strict=True))
            text.flush()
        finally:
            text.detach()


def write_npy(path: str | Path, columns: Columns) -> None:
    """Write columns as a NumPy array of a structured type; NaN, an empty text or -1 where there is no value."""
    read = {name: plain(column) for name, column in columns.items()}
    # Ids are of one kind, also in a column without any.
    are_texts = any(one.kind == "text" for one in read.values())
    packed = {}
    for name, one in read.items():
        is_empty = columns[name].dtype.kind == "O" and one.missing is not None and bool(one.missing.all())
        if one.kind == "text" or (is_empty and are_texts):
            packed[name] = np.array(["" if value is None else value for value in one.told()], np.str_)
        elif is_empty:
            packed[name] = np.full(len(one.values), -1)
        elif one.missing is not None and one.kind != "float":
            packed[name] = np.where(one.missing, -1, one.values.astype(np.int64))
        else:
            packed[name] = one.values if columns[name].dtype.kind == "O" else columns[name]
    count = len(next(iter(packed.values()), ()))
    table = np.empty(count, [(name, values.dtype) for name, values in packed.items()])
    for name, values in packed.items():
        table[name] = values
    with atomic_write(path) as stream:
        np.save(stream, table, allow_pickle=False)
