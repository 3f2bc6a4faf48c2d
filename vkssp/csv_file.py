"""Reader and writer of files of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from vkssp.checks import path_of
from vkssp.errors import FormatError

if TYPE_CHECKING:
    from _csv import Writer


class CsvLines:
    """Iterator over the records of a stream of comma-separated values, as lists of texts.

    Attributes
    ----------
    line_num : int
        Line on which the last record begins, from 1; 0 before the first. A record has several lines if a text in quotes
        has line ends.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._reader, self.line_num = csv.reader(stream), 0

    def __iter__(self) -> Iterator[list[str]]:
        """Return itself."""
        return self

    def __next__(self) -> list[str]:
        """Return the next record."""
        self.line_num = self._reader.line_num + 1
        return next(self._reader)


@contextmanager
def csv_lines(path: str | Path) -> Iterator[CsvLines]:
    """Open a file and yield its lines; a byte order mark at its start is skipped.

    Raises
    ------
    FormatError
        If the file cannot be read, is not UTF-8 or is not separated by commas; also while lines are read.
    """
    path = path_of(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            yield CsvLines(stream)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; check the path") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path} is no text of comma-separated values ({error}); save it as CSV in UTF-8") from None


class _Lines:
    """Stream of which each line ends in a line feed only, for a writer that ends lines by two characters."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        """Write a line."""
        return self._stream.write(line[:-2] + "\n")


def csv_writer(stream: IO[str]) -> Writer:
    """Return a writer of lines that end in a line feed, to a stream that does not translate line ends.

    Python's writer quotes the characters of its line ends only; a reader would take others for line ends, too.
    """
    return csv.writer(_Lines(stream), lineterminator="\r\n")


def no_columns(path: str | Path, wanted: str, first: list[str]) -> FormatError:
    """Return the error for a file whose first line, given as a list of texts, does not name the wanted columns."""
    others = [name for name, sign in (("semicolons", ";"), ("tabs", "\t")) if sign in "".join(first)]
    cure = (
        f"the line is separated by {others[0]}; use commas" if others else f"it has {','.join(first)[:200] or 'none'}"
    )
    return FormatError(f"{path} has no columns {wanted} in its first line; {cure}")
