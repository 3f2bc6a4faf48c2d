"""Kernels that find many values among sorted ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import inlined, jit

Ints = npt.NDArray[Any]


@inlined
def first_from(ordered: Ints, begin: Any, end: Any, key: Any) -> Any:
    """Return the index of the first number that is not below a key, in a part of an array that is sorted."""
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) >> 1
        if ordered[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def find_starts(ordered: Ints, begin: int, end: int, shift: int, starts: Ints) -> None:
    """Find where each group of sorted values begins: values have the group `(value - ordered[0]) >> shift`.

    A call finds the groups that begin in a part of the values. `starts` has two entries more than the last group.
    """
    group = 0 if begin == 0 else ((ordered[begin - 1] - ordered[0]) >> shift) + 1
    for i in range(begin, end):
        while group <= (ordered[i] - ordered[0]) >> shift:
            starts[group] = i
            group += 1
    while end == len(ordered) and group < len(starts):
        starts[group] = len(ordered)
        group += 1


@jit
def find_places(
    values: Ints, ordered: Ints, shift: int, starts: Ints, lat: Ints, lon: Ints, place: Ints, y: Ints, x: Ints
) -> None:
    """Find the index of each value among distinct ones, and what two arrays hold there; all values are among them."""
    for i in range(len(values)):
        value = values[i]
        group = (value - ordered[0]) >> shift
        at = first_from(ordered, starts[group], starts[group + 1] - 1, value)
        place[i] = at
        y[i] = lat[at]
        x[i] = lon[at]
