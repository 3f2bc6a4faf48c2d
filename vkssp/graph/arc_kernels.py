"""Compiled kernels that sort billions of arcs: by an end, or by weight within rows.

Each call works on a range of nodes or rows, and threads take ranges of their own. A thread that places arcs reads all
of them and writes those of its range, so that threads share nothing that they write, and arcs keep their sequence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

# Items of a part that insertion sorts faster.
_FEW = 24

_Uint32s = npt.NDArray[np.uint32]
_Int64s = npt.NDArray[np.int64]


@jit
def count_ends(ends: _Uint32s, low: int, high: int, count: _Int64s) -> None:
    """Add to the count of each node in a range how often it is an end."""
    for end in ends:
        if low <= end < high:
            count[end] += 1


@jit
def place_arcs(
    tail: _Uint32s,
    head: _Uint32s,
    weight: _Uint32s,
    low: int,
    high: int,
    free: _Int64s,
    heads: _Uint32s,
    weights: _Uint32s,
) -> None:
    """Write head and weight of each arc whose tail is in a range to the next free place of its tail."""
    for arc in range(len(tail)):
        node = tail[arc]
        if low <= node < high:
            place = free[node]
            free[node] = place + 1
            heads[place] = head[arc]
            weights[place] = weight[arc]


@jit
def place_incoming(
    first_out: _Uint32s, arcs: _Uint32s, low: int, high: int, free: _Int64s, arcs_in: _Uint32s, arc_in: _Int64s
) -> None:
    """Write tail, weight and id of each arc whose head is in a range to the next free place of its head."""
    for tail in range(len(first_out) - 1):
        for arc in range(first_out[tail], first_out[tail + 1]):
            head = arcs[arc, 0]
            if low <= head < high:
                place = free[head]
                free[head] = place + 1
                arcs_in[place, 0] = tail
                arcs_in[place, 1] = arcs[arc, 1]
                arc_in[place] = arc


@jit
def sort_rows(first_out: _Uint32s, items: npt.NDArray[np.uint64], first_row: int, end_row: int, stack: _Int64s) -> None:
    """Sort the items of each row of a range in place; `stack` has two entries for each halving of a row.

    This is quicksort with the median of three as the pivot and Hoare's partition, which halves equal items, too.
    """
    for row in range(first_row, end_row):
        low: Any = np.int64(first_out[row])
        high: Any = np.int64(first_out[row + 1]) - 1
        depth = 0
        while True:
            while high - low >= _FEW:
                middle = (low + high) >> 1
                if items[middle] < items[low]:
                    items[middle], items[low] = items[low], items[middle]
                if items[high] < items[low]:
                    items[high], items[low] = items[low], items[high]
                if items[high] < items[middle]:
                    items[high], items[middle] = items[middle], items[high]
                pivot, i, j = items[middle], low, high
                while True:
                    i += 1
                    while items[i] < pivot:
                        i += 1
                    j -= 1
                    while items[j] > pivot:
                        j -= 1
                    if i >= j:
                        break
                    items[i], items[j] = items[j], items[i]
                # The larger part waits, so that the stack has at most as many parts as a length has binary digits.
                if j - low < high - j - 1:
                    stack[depth], stack[depth + 1] = j + 1, high
                    high = j
                else:
                    stack[depth], stack[depth + 1] = low, j
                    low = j + 1
                depth += 2
            for i in range(low + 1, high + 1):
                item, j = items[i], i - 1
                while j >= low and items[j] > item:
                    items[j + 1] = items[j]
                    j -= 1
                items[j + 1] = item
            if depth == 0:
                break
            depth -= 2
            low, high = stack[depth], stack[depth + 1]
