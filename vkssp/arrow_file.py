"""Tables in Parquet and CSV files, read by pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vkssp.checks import path_of, shown
from vkssp.csv_file import csv_lines
from vkssp.errors import FormatError
from vkssp.extras import optional


def pyarrow_for(what: str, instead: str = "") -> Any:
    """Return pyarrow.

    Raises
    ------
    QueryError
        If it is not installed: `what` needs it, and `instead` says what else can be done.
    """
    pyarrow = optional("pyarrow", what, "table", instead)
    for module in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet"):
        optional(module, what, "table", instead)
    return pyarrow


def batches(path: str | Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield some columns of a Parquet or CSV file as tables of about so many rows.

    Columns of a CSV file are integers or, where some of them in a table are none, floating-point numbers or texts.

    Raises
    ------
    QueryError
        If pyarrow is not installed.
    FormatError
        If the file cannot be read, or has no such column.
    """
    path = path_of(path)
    pyarrow = pyarrow_for("Parquet and CSV files of a demand need")
    if path.suffix.lower() not in (".parquet", ".csv"):
        raise FormatError(f"{path} must end in .parquet or .csv")
    try:
        if path.suffix.lower() == ".parquet":
            with pyarrow.parquet.ParquetFile(path) as file:
                check_columns(path, columns, file.schema_arrow.names)
                for batch in file.iter_batches(rows, columns=list(dict.fromkeys(columns))):
                    yield pyarrow.Table.from_batches([batch])
            return
        with csv_lines(path) as lines:
            check_columns(path, columns, next(lines, []))
        # All as texts: the library would take the types from the first rows, and refuse what comes later.
        wanted = list(dict.fromkeys(columns))
        types = dict.fromkeys(wanted, pyarrow.string())
        read = pyarrow.csv.ConvertOptions(include_columns=wanted, column_types=types, strings_can_be_null=True)
        with pyarrow.csv.open_csv(path, convert_options=read) as reader:
            waiting: list[Any] = []
            for batch in reader:
                waiting.append(batch)
                if sum(map(len, waiting)) >= rows:
                    yield _with_numbers(pyarrow, pyarrow.Table.from_batches(waiting))
                    waiting = []
            if waiting:
                yield _with_numbers(pyarrow, pyarrow.Table.from_batches(waiting))
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        raise FormatError(f"cannot read {path}: {str(error).splitlines()[0]}") from error


def _with_numbers(pyarrow: Any, table: Any) -> Any:
    """Return a table of texts with numbers in the columns that have only these."""
    for at, name in enumerate(table.column_names):
        texts = pyarrow.compute.utf8_trim_whitespace(table.column(at))
        for kind in (pyarrow.int64(), pyarrow.float64()):
            try:
                numbers = texts.cast(kind)
            except pyarrow.ArrowInvalid:
                continue
            table = table.set_column(at, name, numbers)
            break
    return table


def check_columns(path: Path, columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise `FormatError` unless a file whose columns have the given names has each of some columns once."""
    for name in columns:
        if name not in names:
            raise FormatError(f"{path} has no column {name!r}, only {shown(list(names))}; name its columns")
        if list(names).count(name) > 1:
            raise FormatError(f"{path} has several columns {name!r}; give each a name of its own")
