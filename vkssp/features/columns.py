"""Columns of values of features, as files and tables take them: numbers, texts or truth values, some missing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import objects
from vkssp.checks import dtype_of, is_many, is_missing, shown, unmasked
from vkssp.errors import QueryError

Columns = Mapping[str, npt.NDArray[Any]]
#: Bytes of Python objects for each byte of a file that holds shapes and columns of them, or an array: 250 bytes for a
#: place of 16 bytes, 50 for a node of 4.
BYTES_OF_A_BYTE = 16
# Halves of characters are no text, and in many formats a zero ends one.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_INT64 = 2**63


class Plain(NamedTuple):
    """Values of one kind, and which of them are missing.

    Attributes
    ----------
    values : numpy.ndarray
        bool, int64, float32, float64 or str objects, shape (k,). A missing float is NaN, a missing text None, another
        missing value any.
    missing : numpy.ndarray or None
        Whether each value is missing, shape (k,), bool; None if no value is.
    """

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None

    @property
    def kind(self) -> str:
        """Kind of the values: "bool", "int", "float" or "text"."""
        return {"b": "bool", "i": "int", "f": "float"}.get(self.values.dtype.kind, "text")

    def cleaned(self) -> Plain:
        """Return the values with texts that UTF-8 can hold; see `text_of`."""
        if self.kind != "text":
            return self
        texts = [None if value is None else text_of(value) for value in self.values.tolist()]
        return Plain(objects(texts), self.missing)

    def told(self) -> list[Any]:
        """Return the values as Python's objects, None where there is none."""
        # Further digits of a number of single precision are noise.
        is_single = self.values.dtype == np.float32
        told: list[Any] = (self.values.astype(str).astype(np.float64) if is_single else self.values).tolist()
        if self.missing is None:
            return told
        return [None if is_none else value for value, is_none in zip(told, self.missing.tolist(), strict=True)]


def text_of(value: object) -> str:
    """Return the text of a value as UTF-8 can hold it, without zeros."""
    return _NO_TEXT.sub("\ufffd", str(value))


def column_of(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return values of Python's as a column: numbers as such, None and NaN for none, other objects as texts."""
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if kinds <= {int, float} and (float in kinds or not known):
        return np.array([np.nan if value is None else float(value) for value in values], np.float64)
    is_whole = kinds == {bool} or (kinds == {int} and all(-_INT64 <= value < _INT64 for value in known))
    if is_whole and len(known) == len(values):
        return np.array(values, np.bool_ if kinds == {bool} else np.int64)
    return objects(values if is_whole else [None if value is None else _text(value) for value in values])


def _text(value: object) -> str:
    return json.dumps(value, default=str) if isinstance(value, list | tuple | dict) else str(value)


def checked_columns(columns: Any, count: int, name: str = "columns") -> dict[str, npt.NDArray[Any]]:
    """Return columns of `count` values each, by their names, or raise `QueryError`."""
    if not isinstance(columns, Mapping):
        raise QueryError(f"{name} is {shown(columns)}; give a dict of names and values")
    found: dict[str, npt.NDArray[Any]] = {}
    for key, values in columns.items():
        if not isinstance(key, str) or not key:
            raise QueryError(f"{name} has a column {shown(key)}; give each a name, a text")
        if not (is_many(values) or hasattr(values, "__array__")):
            raise QueryError(f"{name}[{key!r}] is {shown(values)}; give a value for each feature")
        if isinstance(values, list | tuple):
            column = column_of(values)
        else:
            # Types of other libraries, such as pandas' Int64, would become floats where a value is missing.
            is_foreign = not isinstance(getattr(values, "dtype", np.dtype(float)), np.dtype)
            column = np.asarray(unmasked(values, f"{name}[{key!r}]", QueryError), object if is_foreign else None)
        if column.ndim != 1 or column.dtype.kind not in "biufUO":
            what = f"shape {column.shape} and dtype {dtype_of(column)}"
            raise QueryError(f"{name}[{key!r}] has {what}; give numbers or texts, one for each feature")
        if len(column) != count:
            raise QueryError(f"{name}[{key!r}] has {len(column)} values for {count} rows; give one for each")
        found[key] = column
    return found


def plain(column: npt.NDArray[Any]) -> Plain:
    """Return a column as values of one kind."""
    if column.dtype.kind == "O":
        told = [value.item() if isinstance(value, np.generic) else value for value in column]
        told = [None if is_missing(value) else value for value in told]
        again = column_of(told)
        if again.dtype.kind != "O":
            return plain(again)
        missing = np.array([value is None for value in told], np.bool_)
        known = [value for value in again.tolist() if value is not None]
        if known and not isinstance(known[0], str):
            kind = np.bool_ if isinstance(known[0], bool) else np.int64
            return Plain(np.array([0 if value is None else value for value in again.tolist()], kind), missing)
        return Plain(again, missing if missing.any() else None)
    if column.dtype.kind == "U":
        return Plain(column.astype(object), None)
    if column.dtype.kind == "f":
        values = column if column.dtype in (np.float32, np.float64) else column.astype(np.float64)
        missing = np.isnan(values)
        return Plain(values, missing if missing.any() else None)
    if column.dtype == np.uint64 and column.max(initial=0) >= _INT64:
        return Plain(column.astype(np.float64), None)
    return Plain(column if column.dtype == np.bool_ else column.astype(np.int64), None)
