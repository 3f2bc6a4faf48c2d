"""Arrays that nothing can write to, so that they are shared instead of copied."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


def own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Mark an array that was made here, and those that it is a view of, as one that needs no copy."""
    part: Any = array
    while isinstance(part, np.ndarray):
        part.flags.writeable = False
        part = part.base
    return array


def fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array that does not change any more: the array itself if nothing can write to it, or else a copy."""
    if array.flags.c_contiguous and _is_fixed(array):
        return array
    return own(array.copy())


def _is_fixed(array: npt.NDArray[Any]) -> bool:
    """Return whether nothing can write to an array: not through it, nor through what it is a view of."""
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
