"""Arrays that nothing can write to, which can be shared instead of copied."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


def own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make a new array, and the arrays that it is a view of, read-only, so that it needs no copy; return it."""
    part: Any = array
    while isinstance(part, np.ndarray):
        part.flags.writeable = False
        part = part.base
    return array


def fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array that cannot change: the array itself if nothing can write to it, otherwise a copy."""
    if array.flags.c_contiguous and _is_fixed(array):
        return array
    return own(array.copy())


def _is_fixed(array: npt.NDArray[Any]) -> bool:
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
