"""Kernels that sort by whole numbers from 0 on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Ints = npt.NDArray[Any]


@jit
def sort_rows(row: Ints, first: Ints, order: Ints) -> None:
    """Find the stable order of items by their rows, and the offset of each row; all offsets are 0 at first."""
    for i in range(len(row)):
        first[row[i] + 1] += 1
    for at in range(1, len(first)):
        first[at] += first[at - 1]
    for i in range(len(row)):
        order[first[row[i]]] = i
        first[row[i]] += 1
    for at in range(len(first) - 1, 0, -1):
        first[at] = first[at - 1]
    first[0] = np.int64(0)
