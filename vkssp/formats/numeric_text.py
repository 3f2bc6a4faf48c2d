"""Reader of tables of numbers in text: a fast path for blocks of lines, and a slow path that finds invalid lines.

numpy's `fromstring` converts text to some 25 million numbers a second, in C. But it ignores the ends of lines, and it
does not know the comments of a file. So the reader counts the words of each block and compares their positions with the
ends of the lines. If a block does not fit, the reader removes its comments. If the block still does not fit, the reader
checks it line by line.

`scipy.io.mmread` is even faster for Matrix Market files, but accepts ``1 2 3.5`` as ``1 2 3`` for integers, and ignores
surplus numbers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.errors import FormatError
from vkssp.memory import require

Array = npt.NDArray[Any]

_WHOLE = re.compile(rb"[+-]?[0-9]+")


class Column(Protocol):
    """Meaning of the numbers of a column."""

    @property
    def real(self) -> bool:
        """Whether the text of a number may be a fraction."""

    def convert(self, values: Array) -> Array:
        """Return the converted numbers; raise a `ValueError` that names an invalid number."""


class Blocks(Protocol):
    """Text in blocks of whole lines, such as `Lines`."""

    name: str

    @property
    def line(self) -> int:
        """Number of the first line that has not been taken."""

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Take all remaining lines; yield blocks of whole lines, each after the number of its first line."""

    def error(self, reason: str, line: int | None = None) -> FormatError:
        """Return the error for the text, or for a line of it."""


@dataclass(frozen=True)
class Layout:
    """Layout of the lines of a table.

    Attributes
    ----------
    usage : str
        Pattern of a line, for messages.
    columns : sequence of Column
        Meanings of the numbers in a line.
    comment : bytes
        Characters with which comments begin.
    letter : bytes
        Letter with which each line of the table begins, if any.
    count : int or None
        Number of lines, if known.
    said : str
        Place in the file that gives the number of lines, for messages.
    """

    usage: str
    columns: Sequence[Column]
    comment: bytes
    letter: bytes = b""
    count: int | None = None
    said: str = ""

    def significant(self, text: bytes) -> bool:
        """Return whether a line is part of the table."""
        stripped = text.strip()
        return bool(stripped) and stripped[0] not in self.comment


def words_and_ends(text: bytes) -> tuple[Array, Array]:
    """Return the positions at which the words of a text begin and at which its lines end."""
    characters = np.frombuffer(text, np.uint8)
    blank = characters <= 32
    begins = np.empty(len(blank), np.bool_)
    begins[:1] = ~blank[:1]
    np.greater(blank[:-1], blank[1:], out=begins[1:])
    return np.flatnonzero(begins), np.flatnonzero(characters == 10)


def numbers(text: bytes, count: int, *, real: bool = False) -> Array:
    """Return the `count` numbers of a text, separated by blanks; raise `ValueError` if there are other words.

    A number that does not fit into 64 bits becomes one that is too large for every column.
    """
    if count == 0:  # numpy reads blanks as a zero
        return np.empty(0, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # older versions of numpy only warn of invalid numbers
        try:
            values = np.fromstring(text, np.float64 if real else np.int64, sep=" ")
        except DeprecationWarning as error:
            raise ValueError(str(error)) from None
    if len(values) != count:
        raise ValueError(f"{count} words are {len(values)} numbers")
    return values


def _columns(text: bytes, layout: Layout) -> list[Array]:
    """Return the columns of a block of table lines only; raise `ValueError` if there are other lines."""
    words, ends = words_and_ends(text)
    width = len(layout.columns) + bool(layout.letter)
    if len(words) != width * len(ends):
        raise ValueError("there are lines with more or fewer words")
    if (words[width - 1 :: width] > ends).any() or (words[width::width] < ends[:-1]).any():
        raise ValueError("there are lines with more, and others with fewer words")
    if layout.letter:
        letters = np.frombuffer(text, np.uint8)[words[::width]]
        if (letters != layout.letter[0]).any() or text.count(layout.letter) != len(letters):
            raise ValueError("there are other letters, or letters elsewhere")
        text = text.replace(layout.letter, b" ")
    count = len(layout.columns) * len(ends)
    try:
        values = numbers(text, count)
    except ValueError:
        _check_reals(text, words, layout)
        values = numbers(text, count, real=True)
    table = values.reshape(-1, len(layout.columns))
    if not len(table):
        return []
    return [column.convert(table[:, i]) for i, column in enumerate(layout.columns)]


def _check_reals(text: bytes, words: Array, layout: Layout) -> None:
    """Raise `ValueError` if a column of whole numbers has characters other than digits and signs."""
    characters = np.frombuffer(text, np.uint8)
    plain = np.isin(characters, np.frombuffer(b"0123456789+-", np.uint8)) | (characters <= 32)
    word = np.searchsorted(words, np.flatnonzero(~plain), "right") - 1
    real = np.array([False] * bool(layout.letter) + [column.real for column in layout.columns])
    if not real[word % len(real)].all():
        raise ValueError("there are words that are no whole numbers")


def without_comments(text: bytes, comment: bytes, *, blank: bool) -> bytes:
    """Return a block of lines without comments and, if `blank`, without blank lines."""
    begin = rb"[ \t\r]*[" + re.escape(comment) + rb"][^\n]*\n"
    return re.sub(rb"(?m)^(?:" + begin + (rb"|[ \t\r\f\v]*\n" if blank else b"") + b")", b"", text)


def read_table(lines: Blocks, layout: Layout) -> list[Array]:
    """Read the rest of a text as a table.

    Returns
    -------
    list of numpy.ndarray
        The columns, converted by their `convert`.

    Raises
    ------
    FormatError
        If a line is invalid, or the number of lines is wrong.
    MemoryShortageError
        If there is not enough memory for all lines.
    """
    parts: list[list[Array]] = [[] for _ in layout.columns]
    have = size = checked = 0
    for number, text in lines.blocks():
        try:
            columns = _columns(text, layout)
        except ValueError:
            try:
                columns = _columns(without_comments(text, layout.comment, blank=True), layout)
            except ValueError as error:
                raise _explained(lines, number, text, layout, str(error)) from None
        if not columns:
            continue
        if layout.count is not None and have + len(columns[0]) > layout.count:
            line = _line_of(number, text, layout, layout.count - have)
            raise lines.error(f"one more than the {layout.count} that {layout.said}; correct that number", line)
        have += len(columns[0])
        for part, column in zip(parts, columns, strict=True):
            part.append(column)
        size += sum(column.nbytes for column in columns)
        if size > 2 * checked:  # a small file may unpack to any size
            require(size, f"{lines.name}: a table of more than {have} lines")
            checked = size
    if layout.count is not None and have < layout.count:
        raise lines.error(
            f"ends after {have} of the {layout.count} lines '{layout.usage}' that {layout.said}; "
            "it may be truncated: get it again, or correct that number",
            lines.line - 1,
        )
    return [joined(part) for part in parts]


def joined(parts: list[Array]) -> Array:
    """Return the blocks of a column as one array, and empty the list."""
    if not parts:
        return np.empty(0, np.uint32)
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _line_of(number: int, text: bytes, layout: Layout, index: int) -> int:
    """Return the line number of a block's table line `index`, counted from 0."""
    for line, content in enumerate(text.split(b"\n"), number):
        if layout.significant(content):
            if index == 0:
                return line
            index -= 1
    return number


def shown(text: bytes) -> str:
    """Return the beginning of a word or line of a file, for a message."""
    readable = text[:40].decode("utf-8", "backslashreplace") + ("..." if len(text) > 40 else "")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in readable)


def whole_number(word: bytes) -> int:
    """Return a word as a whole number, or raise a `ValueError` with the reason."""
    if not _WHOLE.fullmatch(word):
        raise ValueError(f"'{shown(word)}' is not a whole number")
    if len(word) > 25 or not -(2**63) < int(word) < 2**63 - 1:
        raise ValueError(f"{shown(word)} is too large a number")
    return int(word)


def _check(column: Column, word: bytes) -> None:
    """Raise a `ValueError` with the reason if a word is invalid."""
    if column.real and not _WHOLE.fullmatch(word):
        try:
            value: float = float(word.decode("ascii")) if b"_" not in word else float("x")
        except ValueError:
            raise ValueError(f"'{shown(word)}' is not a number") from None
        column.convert(np.array([value]))
    else:
        column.convert(np.array([whole_number(word)]))


def _explained(lines: Blocks, number: int, text: bytes, layout: Layout, reason: str) -> FormatError:
    """Return the error that names the invalid line of a block and the reason."""
    width = len(layout.columns) + bool(layout.letter)
    for line, content in enumerate(text.split(b"\n"), number):
        if not layout.significant(content):
            continue
        words = content.split()
        if layout.letter and words[0] != layout.letter:
            return lines.error(f"begins with '{shown(words[0])}'; the lines here are '{layout.usage}'", line)
        if len(words) != width:
            return lines.error(f"has {len(words)} fields; the lines here are '{layout.usage}'", line)
        try:
            for column, word in zip(layout.columns, words[bool(layout.letter) :], strict=True):
                _check(column, word)
        except ValueError as error:
            return lines.error(str(error), line)
    last = number + text.count(b"\n") - 1
    return lines.error(f"cannot be read in lines {number} to {last} ({reason})")
