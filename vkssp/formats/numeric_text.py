"""Tables of numbers in text: a quick way to read blocks of lines, and a slow one that says which line is wrong.

numpy's `fromstring` turns text into numbers at some 25 million a second, in C, but neither cares where lines end nor
how a file's comments begin. So the words of each block are counted and compared with the ends of its lines; what does
not fit has its comments removed; what then does not fit is looked at line by line.

`scipy.io.mmread` is faster still for Matrix Market files, but takes ``1 2 3.5`` for ``1 2 3`` where integers are due,
and passes over surplus numbers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.errors import FormatError
from vkssp.formats.stream import Lines
from vkssp.memory import require

Array = npt.NDArray[Any]

_WHOLE = re.compile(rb"[+-]?[0-9]+")


class Column(Protocol):
    """What the numbers of a column mean."""

    @property
    def real(self) -> bool:
        """Whether there may be fractions, as far as the text goes."""

    def convert(self, values: Array) -> Array:
        """Return the numbers as they are wanted, or raise a `ValueError` that says which of them cannot be."""


@dataclass(frozen=True)
class Layout:
    """How the lines of a table look.

    Attributes
    ----------
    usage : str
        A line, for messages.
    columns : sequence of Column
        What the numbers in a line mean.
    comment : bytes
        Characters with which the lines begin that are no part of the table.
    letter : bytes
        Letter with which each line of the table begins, if any.
    count : int or None
        How many lines there are.
    said : str
        Where the file says how many lines there are.
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
    """Return where the words of a text begin, and where its lines end."""
    characters = np.frombuffer(text, np.uint8)
    blank = characters <= 32
    begins = np.empty(len(blank), np.bool_)
    begins[:1] = ~blank[:1]
    np.greater(blank[:-1], blank[1:], out=begins[1:])
    return np.flatnonzero(begins), np.flatnonzero(characters == 10)


def numbers(text: bytes, count: int, *, real: bool = False) -> Array:
    """Return the numbers that a text consists of, separated by blanks; raise `ValueError` where it does not.

    Those that 64 bits cannot hold become a number that is too large for anything.
    """
    if count == 0:  # numpy finds a zero in blanks
        return np.empty(0, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # older versions of numpy only warn of what is no number
        try:
            values = np.fromstring(text, np.float64 if real else np.int64, sep=" ")
        except DeprecationWarning as error:
            raise ValueError(str(error)) from None
    if len(values) != count:
        raise ValueError(f"{count} words are {len(values)} numbers")
    return values


def _columns(text: bytes, layout: Layout) -> list[Array]:
    """Return the columns of a block that is a table and nothing else, or raise `ValueError`."""
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
    """Raise `ValueError` if there is more than digits and signs in a column of whole numbers."""
    characters = np.frombuffer(text, np.uint8)
    plain = np.isin(characters, np.frombuffer(b"0123456789+-", np.uint8)) | (characters <= 32)
    word = np.searchsorted(words, np.flatnonzero(~plain), "right") - 1
    real = np.array([False] * bool(layout.letter) + [column.real for column in layout.columns])
    if not real[word % len(real)].all():
        raise ValueError("there are words that are no whole numbers")


def without_comments(text: bytes, comment: bytes, *, blank: bool) -> bytes:
    """Return a block of lines without those that are comments, and without blank ones where asked."""
    begin = rb"[ \t\r]*[" + re.escape(comment) + rb"][^\n]*\n"
    return re.sub(rb"(?m)^(?:" + begin + (rb"|[ \t\r\f\v]*\n" if blank else b"") + b")", b"", text)


def read_table(lines: Lines, layout: Layout) -> list[Array]:
    """Read all that is left of a text as a table.

    Returns
    -------
    list of numpy.ndarray
        The columns, as their `convert` makes them.

    Raises
    ------
    FormatError
        If a line is not as it must be, or there are more or fewer than there must be.
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
    return [_joined(part) for part in parts]


def _joined(parts: list[Array]) -> Array:
    """Return the blocks of a column as one, and let go of them."""
    if not parts:
        return np.empty(0, np.uint32)
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _line_of(number: int, text: bytes, layout: Layout, index: int) -> int:
    """Return the number of the line of a block that is its table's line `index`, counted from 0."""
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
    """Return the whole number that a word is, or raise a `ValueError` that says what is wrong with it."""
    if not _WHOLE.fullmatch(word):
        raise ValueError(f"'{shown(word)}' is not a whole number")
    if len(word) > 25 or not -(2**63) < int(word) < 2**63 - 1:
        raise ValueError(f"{shown(word)} is too large a number")
    return int(word)


def _check(column: Column, word: bytes) -> None:
    """Raise a `ValueError` that says what is wrong with a word, if anything is."""
    if column.real and not _WHOLE.fullmatch(word):
        try:
            value: float = float(word.decode("ascii")) if b"_" not in word else float("x")
        except ValueError:
            raise ValueError(f"'{shown(word)}' is not a number") from None
        column.convert(np.array([value]))
    else:
        column.convert(np.array([whole_number(word)]))


def _explained(lines: Lines, number: int, text: bytes, layout: Layout, reason: str) -> FormatError:
    """Return the error that tells which line of a block is wrong, and how."""
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
