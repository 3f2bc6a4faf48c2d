"""Checks of arguments; an invalid value raises one short error that names the argument and the cure."""

from __future__ import annotations

import operator
import os
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.errors import FormatError, GraphError, QueryError, VksspError

_Kind = TypeVar("_Kind")
Error = type[VksspError]

# Longer integers are shown by their number of bits, because Python refuses to print very long integers.
_MOST_BITS = 128
# Longer paths are invalid on Linux and macOS.
_MOST_PATH = 4096
# Types that float() accepts although they are not real numbers.
_NO_NUMBERS = (str, bytes, bytearray, bool, np.bool_, np.complexfloating, np.datetime64, np.timedelta64)


class _Short(reprlib.Repr):
    """Representation of values in one short line; objects that are not plain values are shown by their types."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring = 3, 60
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 4

    def repr1(self, x: Any, level: int) -> str:
        """Return the representation of a value."""
        if isinstance(x, np.generic):
            x = x.item()
        kind = type(x)
        if kind in (list, tuple, dict, set, frozenset, str, int):
            return super().repr1(x, level)
        if kind in (bool, float, complex, type(None)):
            return repr(x)
        if kind is bytes:
            return repr(x) if len(x) <= 20 else f"{len(x)} bytes"
        if x is np.ma.masked:
            return "masked"
        if isinstance(x, np.ndarray):
            return f"an array of shape {x.shape} and dtype {dtype_of(x)}"
        package = kind.__module__.partition(".")[0]  # networkx has a Graph, too
        name = kind.__name__ if package in ("builtins", "__main__") else f"{package} {kind.__name__}"
        return f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name[:60]}"

    def repr_int(self, x: int, level: int) -> str:
        """Return the representation of an integer."""
        return repr(x) if x.bit_length() <= _MOST_BITS else f"an integer of {x.bit_length()} bits"


_short = _Short()


def shown(value: object) -> str:
    """Return the text of a value for errors: one line of bounded length."""
    return _short.repr(value)


def dtype_of(array: npt.NDArray[Any]) -> str:
    """Return the name of an array's dtype, of bounded length."""
    name = str(array.dtype)
    return name if len(name) <= 40 else f"{name[:37]}..."


def is_many(value: object) -> bool:
    """Return whether a value is a sequence or an array with at least one dimension, and not a text."""
    if isinstance(value, str | bytes | bytearray):
        return False
    dimensions = getattr(value, "ndim", 0)
    return isinstance(value, Sequence) or (isinstance(dimensions, int) and dimensions > 0)


def unmasked(values: Any, name: str, error: Error) -> Any:
    """Return an array without its mask, or raise an error if the mask hides an entry."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if np.ma.is_masked(values):
        raise error(f"{name} has masked entries; leave these out, such as by {name}.compressed(), or fill them")
    return np.ma.getdata(values)


def array_of(values: Any, name: str, what: str = "numbers", error: Error = GraphError) -> npt.NDArray[Any]:
    """Return values as an array, or raise an error that says why they are not an array.

    Parameters
    ----------
    values : array_like
        A sequence, an array, or an object with the method `__array__`.
    name : str
        Name of the argument.
    what : str
        What each value is to be.
    error : type
        Type of the error.
    """
    if not (is_many(values) or hasattr(values, "__array__")):
        raise error(f"{name} is {shown(values)}; give a list or an array of {what}")
    values = unmasked(values, name, error)
    try:
        # A range is a sequence of any length, which NumPy would expand.
        if isinstance(values, range) and len(values) > 2**32:
            raise MemoryError
        return np.asarray(values)
    except MemoryError:
        raise error(f"{name} has {len(values):,} entries, which do not fit into memory; give fewer at a time") from None
    except (TypeError, ValueError, OverflowError, RuntimeError, Warning) as trouble:  # rows of unequal length, for one
        reason = " ".join(str(trouble).split())
        raise error(f"{name} is no array of numbers ({reason[:200]}); give a list or an array of {what}") from None


def column_of(values: Any, name: str, what: str, error: Error) -> npt.NDArray[Any]:
    """Return values as a one-dimensional array, or raise an error that says why they are none; see `array_of`."""
    array = array_of(values, name, what, error)
    if array.ndim == 0:
        raise error(f"{name} is {shown(values)}; give a list or an array of {what}")
    if array.ndim != 1:
        raise error(f"{name} has {array.ndim} dimensions; give a one-dimensional array")
    return array


def whole_numbers(
    values: npt.ArrayLike,
    name: str,
    what: str,
    limit: int,
    error: Error = GraphError,
    dtype: npt.DTypeLike = np.uint32,
    cure: str = "",
) -> npt.NDArray[Any]:
    """Return values as one-dimensional uint32s or uint64s, or raise an error that names the first invalid value.

    Parameters
    ----------
    values : array_like
        Whole numbers from 0 to `limit`, of any integer or floating type.
    name : str
        Name of the argument.
    what : str
        What the values are, in the plural.
    limit : int
        Largest valid value.
    error : type
        Type of the error.
    dtype : dtype
        Type of the result, which holds the largest valid value.
    cure : str
        What the error for a value beyond the limit adds.
    """
    array = column_of(values, name, what, error)
    if array.size == 0:
        return np.zeros(0, dtype)
    if array.dtype == np.uint32 == dtype and limit >= 2**32 - 1:
        return array
    if array.dtype.kind == "f" and limit >= 2**63 and not hasattr(values, "dtype"):
        # NumPy makes floats of integers of which only some need 64 bits, and rounds them.
        listed = list(values)  # type: ignore[arg-type]
        if None not in map(index_of, listed):
            array = np.array(listed, object)
    if array.dtype.kind == "b":
        such = f"np.flatnonzero({name})" if what.endswith("ids") else f"np.asarray({name}, np.uint32)"
        raise error(f"{name} holds truth values; give {what}, such as {such}")
    if array.dtype.kind == "O":  # integers of more than 64 bits, or any objects
        numbers = [index_of(value) for value in array.tolist()]
        if None in numbers:
            at = numbers.index(None)
            raise error(f"{name}[{at}] is {shown(array[at])}; give {what}, integers")
        array = np.array(numbers, object)
    elif array.dtype.kind not in "iuf":
        raise error(f"{name} has dtype {dtype_of(array)}; give integers")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)  # half and single precision cannot tell the limit from what is above it
        if not np.isfinite(array).all():
            at = int(np.flatnonzero(~np.isfinite(array))[0])
            raise error(f"{name}[{at}] is {array[at]}; give finite {what}")
        fractional = np.flatnonzero(array != np.trunc(array))
        if fractional.size:
            at = int(fractional[0])
            raise error(f"{name}[{at}] is {array[at]}; scale and round {what} to whole numbers first")
    low, high = array.min(), array.max()
    if low < 0:
        at = int(np.argmin(array))
        raise error(f"{name}[{at}] is {shown(array[at])}; {what} must not be negative")
    if int(high) > limit:  # not as a float, which may be rounded
        at = int(np.argmax(array))
        raise error(f"{name}[{at}] is {shown(array[at])}; the largest of {what} that can be held is {limit}{cure}")
    if array.dtype == np.int32 and dtype == np.uint32:
        return array.view(np.uint32)  # as they are, without a copy
    return array if array.dtype == dtype else own(array.astype(dtype))


def real_numbers(
    values: npt.ArrayLike, name: str, what: str = "numbers", error: Error = GraphError
) -> npt.NDArray[np.float64]:
    """Return values as contiguous one-dimensional float64s, or raise an error that says why they are invalid.

    Texts, truth values and complex numbers are invalid; NaN and infinity are valid.
    """
    array = column_of(values, name, what, error)
    if array.size and array.dtype.kind not in "iuf":
        raise error(f"{name} is no array of {what}, it has dtype {dtype_of(array)}; give numbers")
    return np.ascontiguousarray(array, np.float64)


def values_of_arcs(values: Any, name: str, num_arcs: int) -> dict[str, npt.NDArray[np.float64]]:
    """Return values of arcs by name, shape (num_arcs,) each, or raise `QueryError` that says why they are invalid.

    Parameters
    ----------
    values : mapping of str to array_like
        The values; NaN and infinity are valid.
    name : str
        Name of the argument.
    num_arcs : int
        Number of arcs.
    """
    if not isinstance(values, Mapping):
        raise QueryError(f"{name} is {shown(values)}; give a dictionary of names and values of arcs")
    found = {}
    for key, given in values.items():
        found[key] = real_numbers(given, f"{name}[{key!r}]", "numbers, one for each arc", QueryError)
        if len(found[key]) != num_arcs:
            raise QueryError(f"{name}[{key!r}] has {len(found[key])} values; give one for each of {num_arcs} arcs")
    return found


def ids_among(
    ids: npt.ArrayLike, name: str, what: str, count: int, error: Error = GraphError
) -> npt.NDArray[np.uint32]:
    """Return ids of a graph's nodes or arcs, of which it has `count`, as one-dimensional uint32s.

    Parameters
    ----------
    ids : array_like
        Whole numbers from 0 to `count` - 1.
    name : str
        Name of the argument.
    what : str
        What the ids stand for: ``"node"``, ``"arc"``.
    count : int
        Number of nodes or arcs.
    error : type
        Type of the error for an invalid id.
    """
    found = whole_numbers(ids, name, f"{what} ids", 2**32 - 1, error)
    if len(found) and int(found.max()) >= count:
        at = int(np.argmax(found))
        there = f"{what} ids of this graph go from 0 to {count - 1}" if count else f"this graph has no {what}s"
        raise error(f"{name}[{at}] is {found[at]}; {there}")
    return found


def index_of(value: Any) -> int | None:
    """Return a value as an integer, or None if it is not an integer; truth values are not integers."""
    if type(value) is int:  # fast path: some callers check tens of thousands of values
        return value
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def whole_number(value: Any, name: str, low: int, high: int, cure: str = "", error: Error = QueryError) -> int:
    """Return an argument that must be a whole number from `low` to `high`; `cure` says what to give instead."""
    number = index_of(value)
    if number is None or not low <= number <= high:
        raise error(f"{name} is {shown(value)}; {cure or f'give a whole number from {low} to {high}'}")
    return number


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT, or NA of pandas, which is not comparable."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def number_of(value: Any) -> float | None:
    """Return a value as a float, perhaps NaN or infinite, or None for other values such as texts and truth values."""
    if type(value) is float:
        return value
    if isinstance(value, _NO_NUMBERS) or value is np.ma.masked or is_many(value):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def flag(value: Any, name: str, error: Error = QueryError) -> bool:
    """Return an argument that must be true or false."""
    if value is True or value is False:
        return value
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise error(f"{name} is {shown(value)}; give True or False")


def choice(value: Any, name: str, choices: Collection[str], error: Error = QueryError) -> str:
    """Return an argument that must be one of some words."""
    if isinstance(value, str) and value in choices:
        return value
    raise error(f"{name} is {shown(value)}; choose one of {', '.join(choices)}")


def instance(value: Any, kind: type[_Kind], name: str, cure: str, error: Error = QueryError) -> _Kind:
    """Return an argument that must be of a type; `cure` says how to make such an object."""
    if isinstance(value, kind):
        return value
    raise error(f"{name} is {shown(value)}; {cure}")


def items_of(values: Any) -> list[Any] | None:
    """Return the items of a list, an array, a set or an iterator; None for other values."""
    if type(values) in (list, tuple):
        return list(values)
    if isinstance(values, str | bytes | bytearray | Mapping):
        return None
    try:
        return list(values)
    except TypeError:
        return None


def listed(values: Any, name: str, what: str, error: Error = QueryError) -> list[Any]:
    """Return the items of an argument that must be a list, an array, or an iterator in a definite order."""
    if type(values) in (list, tuple):
        return list(values)
    is_ordered = isinstance(values, Sequence | Iterator | np.ndarray)
    items = items_of(unmasked(values, name, error)) if is_ordered else None
    if items is None:
        raise error(f"{name} is {shown(values)}; give a list of {what}")
    return items


def named(names: Any, name: str, error: Error = QueryError) -> list[int] | list[str]:
    """Return an argument that must be a list or an array of names: all integers, or all texts."""
    # Columns and indices of other libraries are arrays, though no sequences.
    is_foreign = hasattr(names, "__array__") and not isinstance(names, np.ndarray)
    items = np.asarray(names).reshape(-1).tolist() if is_foreign else names
    found = listed(items, name, "names, integers or texts", error)
    if all(isinstance(each, str) for each in found):
        return [str(each) for each in found]
    for at, each in enumerate(found):
        number = index_of(each)
        if number is None or not -(2**63) <= number < 2**63:
            raise error(f"{name}[{at}] is {shown(each)}; give names, all of them integers of 64 bits or all texts")
    return [int(each) for each in found]


def path_of(path: Any, name: str = "path") -> Path:
    """Return an argument that must be the path of a file.

    Raises
    ------
    QueryError
        If the argument is neither a text nor a path, contains a zero character, or is too long. The number of an open
        file is not a path.
    """
    try:
        text = os.fspath(path)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise QueryError(f"{name} is {shown(path)}; give the path of a file, a str or a pathlib.Path")
    if "\0" in text:
        raise QueryError(f"{name} is {shown(text)}; a path holds no zero character")
    if len(text) > _MOST_PATH:
        raise QueryError(
            f"{name} is {shown(text)}, of {len(text)} characters; give the path of a file, which is shorter"
        )
    return Path(text)


def is_storable(text: str) -> bool:
    """Return whether a text can be written to files: whether it has no lone surrogates, such as for odd bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def no_file(path: object) -> FormatError:
    """Return the error for a file that does not exist."""
    is_address = re.match("[a-z]{2,}:/", str(path)) is not None  # a Path has one slash of the two
    cure = "download it first, since only files can be read" if is_address else "check the path"
    return FormatError(f"{path} does not exist; {cure}")
