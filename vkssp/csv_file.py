"""Reader of files of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vkssp.checks import path_of
from vkssp.errors import FormatError

if TYPE_CHECKING:
    from _csv import Reader


@contextmanager
def csv_lines(path: str | Path) -> Iterator[Reader]:
    """Open a file and yield a reader of its lines as lists of texts; a byte order mark at its start is skipped.

    Raises
    ------
    FormatError
        If the file cannot be read, is not UTF-8 or is not separated by commas; also while lines are read.
    """
    path = path_of(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            yield csv.reader(stream)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path} is no text of comma-separated values ({error}); save it as CSV in UTF-8") from None


def no_columns(path: str | Path, wanted: str, first: list[str]) -> FormatError:
    """Return the error for a file whose first line, given as a list of texts, does not name the wanted columns."""
    others = [name for name, sign in (("semicolons", ";"), ("tabs", "\t")) if sign in "".join(first)]
    cure = (
        f"the line is separated by {others[0]}; use commas" if others else f"it has {','.join(first)[:200] or 'none'}"
    )
    return FormatError(f"{path} has no columns {wanted} in its first line; {cure}")
