"""Tables in Parquet and CSV files, read by pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vkssp.checks import path_of, shown
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
    for module in ("pyarrow.csv", "pyarrow.parquet"):
        optional(module, what, "table", instead)
    return pyarrow


def batches(path: str | Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
    """Yield some columns of a Parquet or CSV file as tables of about so many rows.

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
        with pyarrow.csv.open_csv(path) as reader:
            check_columns(path, columns, reader.schema.names)
            waiting: list[Any] = []
            for batch in reader:
                waiting.append(batch.select(list(dict.fromkeys(columns))))
                if sum(map(len, waiting)) >= rows:
                    yield pyarrow.Table.from_batches(waiting)
                    waiting = []
            if waiting:
                yield pyarrow.Table.from_batches(waiting)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        raise FormatError(f"cannot read {path}: {str(error).splitlines()[0]}") from error


def check_columns(path: Path, columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise `FormatError` unless a file whose columns have the given names has each of some columns once."""
    for name in columns:
        if name not in names:
            raise FormatError(f"{path} has no column {name!r}, only {shown(list(names))}; name its columns")
        if list(names).count(name) > 1:
            raise FormatError(f"{path} has several columns {name!r}; give each a name of its own")
