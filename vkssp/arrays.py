"""Arrays: read-only, of objects, in huge pages, and distinct values; short texts of objects that hold arrays."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

# Bytes of a huge page, and of the smallest array that gets some.
_PAGE, _LEAST = 1 << 21, 1 << 19
# Most items of a list that a short text tells.
_MOST_TOLD = 3


def own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make a new array, and the arrays that it is a view of, read-only, so that it needs no copy; return it."""
    part: Any = array
    while isinstance(part, np.ndarray):
        part.flags.writeable = False
        part = part.base
    return array


def fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array that cannot change: the array itself if nothing can write to it, otherwise a copy."""
    if array.flags.c_contiguous and is_fixed(array):
        return array
    return own(array.copy())


def is_fixed(array: npt.NDArray[Any]) -> bool:
    """Return whether nothing can write to an array, neither through it nor through the objects that it is a view of."""
    part: Any = array
    while isinstance(part, np.ndarray | memoryview):
        if isinstance(part, memoryview):
            part = part.obj
        elif part.flags.writeable:
            return False
        elif part.flags.owndata:
            return True
        else:
            part = part.base
    if isinstance(part, mmap.mmap):
        return memoryview(part).readonly
    return isinstance(part, bytes)


def objects(items: Sequence[Any]) -> npt.NDArray[Any]:
    """Return items as a one-dimensional array of objects; NumPy would make columns of tuples and shapes."""
    found = np.empty(len(items), object)
    found[:] = items
    return found


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct ones of whole numbers, sorted; `numpy.unique` takes longer for millions of them."""
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def in_huge_pages(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of a large array in huge pages, if the system has them, or else the array itself.

    Kernels that read at random places then look up fewer pages. NumPy asks for huge pages, too, but only for arrays of
    4 MiB or more, and in vain for memory that the process has used before.
    """
    if array.nbytes < _LEAST or not hasattr(mmap, "MADV_HUGEPAGE"):
        return array
    try:
        memory = mmap.mmap(-1, array.nbytes + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (OSError, ValueError):  # a kernel without them, or little memory
        return array
    words = np.frombuffer(memory, np.uint8)
    begin = -words.ctypes.data % _PAGE
    copy = words[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def brief(result: Any) -> str:
    """Return a dataclass as one line, with the type and the shape of each array in place of its numbers.

    To be the ``__repr__`` of a class: ``Turns(before=int64[5], after=int64[5], load=float64[5])``. What is None by
    default, and is None, is left out.
    """
    shown = [one for one in fields(result) if one.repr and one.name[0] != "_"]
    values = {one.name: getattr(result, one.name) for one in shown}
    told = (
        f"{one.name}={_brief(values[one.name])}"
        for one in shown
        if one.default is not None or values[one.name] is not None
    )
    return f"{type(result).__name__}({', '.join(told)})"


def _brief(value: Any) -> str:
    if hasattr(value, "dtype") and getattr(value, "shape", None):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_brief(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"<{len(value)} items>" if len(value) > _MOST_TOLD else f"[{', '.join(map(_brief, value))}]"
    return repr(value)
