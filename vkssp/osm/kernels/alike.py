"""Kernels that give equal things the same number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Ints = npt.NDArray[np.int64]


@jit
def number_alike(first: Ints, pairs: Ints, table: Ints, number: Ints, example: Ints) -> int:
    """Give objects with the same pairs the same number, in the order of the first of each; return how many.

    `table` has a power of two of entries, all -1, more than there are objects. `example` receives the first object of
    each number.
    """
    mask, count = np.uint64(len(table) - 1), 0
    for i in range(len(first) - 1):
        begin, length = first[i], first[i + 1] - first[i]
        mixed = np.uint64(14695981039346656037)  # FNV-1a of words
        for j in range(begin, begin + length):
            mixed = (mixed ^ np.uint64(pairs[j])) * np.uint64(1099511628211)
            mixed ^= mixed >> np.uint64(29)
        slot = mixed & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = count
                example[count] = i
                number[i] = count
                count += 1
                break
            other = first[example[found]]
            if first[example[found] + 1] - other == length:
                same = 0
                while same < length and pairs[other + same] == pairs[begin + same]:
                    same += 1
                if same == length:
                    number[i] = found
                    break
            slot = (slot + np.uint64(1)) & mask
    return count


@jit
def number_in_order(values: Ints, place: Ints, found: Ints) -> int:
    """Replace values by numbers in the order of their first occurrence; return how many; `place` is -1 at first."""
    count = 0
    for i in range(len(values)):
        value = values[i]
        if place[value] < 0:
            place[value] = count
            found[count] = value
            count += 1
        values[i] = place[value]
    return count
