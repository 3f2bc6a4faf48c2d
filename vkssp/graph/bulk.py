"""Large arrays of whole numbers, copied and checked by all cores, in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct, own
from vkssp.cores import num_cores, run_all

if TYPE_CHECKING:
    from vkssp.graph.csr import Uint32s

#: Numbers of a piece, and fewest numbers that are worth more than one thread.
PIECE, MANY = 1 << 17, 1 << 20
# Numbers of a piece that is read once: threads wait for each other between pieces.
_READ_ONCE = 1 << 20
# Largest share of numbers that are few, and number of those that are looked at first.
_FEW, _SAMPLE = 2.0**-5, 1 << 12


def in_pieces(count: int, act: Callable[[slice], None], piece: int = PIECE) -> None:
    """Call a function for the pieces of an array of so many numbers, on all cores if it is large."""
    cores = num_cores() if count >= MANY else 1
    share = -(-count // (cores * PIECE)) * PIECE

    def work(begin: int) -> None:
        end = min(begin + share, count)
        for first in range(begin, end, piece):
            act(slice(first, min(first + piece, end)))

    run_all([partial(work, begin) for begin in range(0, count, max(1, share))])


def copy_to(target: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
    """Copy an array into another one of its length."""

    def copy(part: slice) -> None:
        np.copyto(target[part], values[part], casting="unsafe")

    in_pieces(len(values), copy)


def copied(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of an array, which may be written to."""
    copy = np.empty_like(values)
    copy_to(copy, values)
    return copy


def least_of(values: npt.NDArray[Any], otherwise: int) -> int:
    """Return the least of some numbers, or another number if there are none."""
    found = [otherwise]
    in_pieces(len(values), lambda part: found.append(int(values[part].min())), _READ_ONCE)
    return min(found)


def greatest_of(values: npt.NDArray[Any], otherwise: int) -> int:
    """Return the greatest of some numbers, or another number if there are none."""
    found = [otherwise]
    in_pieces(len(values), lambda part: found.append(int(values[part].max())), _READ_ONCE)
    return max(found)


def sum_of(values: npt.NDArray[Any]) -> int:
    """Return the sum of some whole numbers."""
    found: list[int] = []
    in_pieces(len(values), lambda part: found.append(int(values[part].sum(dtype=np.uint64))), _READ_ONCE)
    return sum(found)


def few_differences(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[np.int64] | None:
    """Return the places at which two arrays of one length differ, int64, or None if they are not few."""
    step = max(1, len(one) // _SAMPLE)
    if np.count_nonzero(one[::step] != other[::step]) > _SAMPLE * _FEW:
        return None
    found: list[npt.NDArray[np.int64]] = []
    in_pieces(len(one), lambda part: found.append(part.start + np.flatnonzero(one[part] != other[part])))
    places = np.concatenate([np.empty(0, np.int64), *found])
    return np.sort(places) if len(places) <= _FEW * len(one) else None


def checked_uint32(values: npt.NDArray[Any], most: int) -> Uint32s | None:
    """Return integers as a new array of uint32, which nothing can write to, or None if one is negative or too large.

    Each piece is looked at and copied in the same pass.
    """
    copy, is_right = np.empty(len(values), np.uint32), [True]

    def check(part: slice) -> None:
        piece = values[part]
        if int(piece.max()) > most or int(piece.min()) < 0:
            is_right[0] = False
        np.copyto(copy[part], piece, casting="unsafe")

    in_pieces(len(values), check)
    return own(copy) if is_right[0] else None


def joined(arrays: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the concatenation of arrays, which all cores copy; without arrays an empty one of a type."""
    if not arrays:
        return np.zeros(0, dtype)
    first = [0, *np.cumsum([len(one) for one in arrays]).tolist()]
    found = np.empty(first[-1], arrays[0].dtype)
    # Parts of about the same size.
    last = np.searchsorted(first[1:], np.arange(PIECE, len(found), PIECE))
    bounds = distinct(np.concatenate([[0], last, [len(arrays)]])).tolist()
    run_all(
        [
            partial(np.concatenate, arrays[low:high], out=found[first[low] : first[high]])
            for low, high in pairwise(bounds)
        ]
    )
    return found
