"""Kernels that find many values among sorted ones."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from vkssp.jit import jit

Ints = npt.NDArray[Any]


@jit
def find_starts(ordered: Ints, shift: int, starts: Ints) -> None:
    """Find where each group of sorted values begins: values have the group `(value - ordered[0]) >> shift`.

    `starts` has two entries more than the last group.
    """
    group = 0
    for i in range(len(ordered)):
        while group <= (ordered[i] - ordered[0]) >> shift:
            starts[group] = i
            group += 1
    while group < len(starts):
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
        low, high = starts[group], starts[group + 1] - 1
        while low < high:
            middle = (low + high) >> 1
            if ordered[middle] < value:
                low = middle + 1
            else:
                high = middle
        place[i] = low
        y[i] = lat[low]
        x[i] = lon[low]
