"""Strict reader of data classes from TOML files; its errors name the line and the key.

Field names are the keys, annotations give the types of the values, and fields with a default may be left out. No key is
ignored: an unknown key is an error, because a misspelt speed would otherwise have no effect and no message.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import tomllib
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from vkssp.errors import QueryError

T = TypeVar("T")
KeyPath = tuple[str, ...]

_BARE = r"[A-Za-z0-9_-]+"
_KEY = rf"(?:{_BARE}|\"[^\"]*\"|'[^']*')"
_DOTTED = rf"({_KEY}(?:\s*\.\s*{_KEY})*)"
_HEADER = re.compile(rf"\s*\[\s*{_DOTTED}\s*\]")
_ASSIGNMENT = re.compile(rf"\s*{_DOTTED}\s*=")
_WHERE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)", re.DOTALL)


class Range(NamedTuple):
    """Range of the numbers that a key accepts, as an annotation: ``Annotated[float, Range(0, 300)]``.

    Attributes
    ----------
    low, high : float
        Smallest and largest number.
    zero : bool
        Whether 0 is accepted, too.
    """

    low: float
    high: float
    zero: bool = False

    def holds(self, number: float) -> bool:
        """Return whether a number is in the range; NaN and infinity are not."""
        return self.low <= number <= self.high or (self.zero and number == 0)

    def __str__(self) -> str:
        """Return the range in words, for errors."""
        return f"{'0, or ' if self.zero else ''}a number from {self.low:g} to {self.high:g}"


class SourceFile:
    """Text of a profile file, which errors need to name a line.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    path : Path
        The file.

    Raises
    ------
    QueryError
        If the file is missing, cannot be read, or is not UTF-8.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise QueryError(f"profile {path} does not exist; check the path") from None
        except (OSError, ValueError) as error:  # ValueError: a null character in the path
            reason = getattr(error, "strerror", None) or error
            raise QueryError(f"cannot read profile {path}: {reason}") from error
        try:
            # Some editors begin a file with a byte order mark, which TOML does not allow.
            self._text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise QueryError(f"profile {path}, line {line}: this is not UTF-8; save it as UTF-8") from None

    def parse(self) -> dict[str, Any]:
        """Parse the file.

        Raises
        ------
        QueryError
            If the file is not TOML.
        """
        try:
            return tomllib.loads(self._text)
        except (ValueError, RecursionError) as error:
            where = _WHERE.fullmatch(str(error))
            reason, line = (where[1], int(where[2])) if where else (str(error), self._text.count("\n") + 1)
            raise self._error(line, f"this is not TOML: {reason[:1].lower()}{reason[1:]}") from None

    def error(self, path: KeyPath, problem: str) -> QueryError:
        """Return the error for a key; `problem` continues the message after the key's name."""
        name = ".".join(part if re.fullmatch(_BARE, part) else f'"{part}"' for part in path)
        return self._error(self.line_of(path), f"{name} {problem}")

    def _error(self, line: int | None, message: str) -> QueryError:
        where = f", line {line}" if line else ""
        return QueryError(f"profile {self.path}{where}: {message}")

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of the innermost table around it that is found; None if there is none.

        The parser keeps no line numbers, so this method searches the text for lines that begin with a header or an
        assignment. Lines of arrays and comments match neither.
        """
        table: KeyPath = ()
        found: dict[KeyPath, int] = {}
        for number, line in enumerate(self._text.split("\n"), 1):
            header, assignment = _HEADER.match(line), _ASSIGNMENT.match(line)
            if header:
                key = table = _parts(header[1])
            elif assignment:
                key = table + _parts(assignment[1])
            else:
                continue
            for size in range(1, len(key) + 1):  # [a.b] makes the table a, too
                found.setdefault(key[:size], number)
        return next((found[path[:size]] for size in range(len(path), 0, -1) if path[:size] in found), None)


def _parts(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, dotted))


def read_table(kind: type[T], values: Mapping[str, Any], source: SourceFile, path: KeyPath = (), **given: Any) -> T:
    """Make a data class from a table.

    Parameters
    ----------
    kind : type
        The data class. Its annotations may be str, bool, ``Annotated[float, Range(...)]``, tuples and frozensets of
        str, mappings from str to any of these, other data classes, and any of these or None.
    values : mapping of str to object
        The table.
    source : SourceFile
        The file that holds the table.
    path : tuple of str
        The table's name in the file.
    **given : object
        Fields that are not in the table.

    Raises
    ------
    QueryError
        If a key is unknown or missing, or its value is invalid.
    """
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.name not in given}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(fields)}"
            raise source.error((*path, key), f"is no key that {'.'.join(path) or 'a profile'} has; {hint}")
    for key, field in fields.items():
        if key in values:
            given[key] = _value(hints[key], values[key], source, (*path, key))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise source.error((*path, key), "is missing; every profile needs it")
    return kind(**given)


def _value(kind: Any, value: Any, source: SourceFile, path: KeyPath) -> Any:
    """Convert a value to the type of the annotation."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _value(inside[0], value, source, path)
    if hasattr(kind, "__metadata__"):
        return _number(kind.__metadata__[0], value, source, path)
    if kind is bool:
        if isinstance(value, bool):
            return value
        raise source.error(path, f"is {_shown(value)}; give true or false")
    if kind is str:
        if isinstance(value, str) and value.strip():
            return value
        raise source.error(path, f"is {_shown(value)}; give a text in quotes")
    if origin in (tuple, frozenset):
        return origin(_words(value, source, path))
    if not isinstance(value, dict):
        raise source.error(path, f"is {_shown(value)}; it has to be a table")
    if origin is Mapping:
        return {key: _value(inside[1], item, source, (*path, key)) for key, item in value.items()}
    return read_table(kind, value, source, path)


def _number(range_: Range, value: Any, source: SourceFile, path: KeyPath) -> float:
    # In Python, bool is a subclass of int.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and range_.holds(value):
        return float(value)
    raise source.error(path, f"is {_shown(value)}; give {range_}")


def _words(value: Any, source: SourceFile, path: KeyPath) -> list[str]:
    if not isinstance(value, list):
        raise source.error(path, f'is {_shown(value)}; give a list of texts, as in ["yes", "no"]')
    for word in value:
        if not isinstance(word, str) or not word.strip():
            raise source.error(path, f"holds {_shown(word)}; give texts in quotes")
    twice = next((word for word in value if value.count(word) > 1), None)
    if twice is not None:
        raise source.error(path, f"holds {_shown(twice)} twice; leave one out")
    return value


def _shown(value: Any) -> str:
    """Return a value as written in the file, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return "a table"
    text = repr(value) if isinstance(value, (str, int, float, list)) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
