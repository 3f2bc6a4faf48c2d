"""Compiled kernels that sort billions of arcs: by an end, or by weight within rows.

Arcs are sorted by an end in two steps. First they go to buckets of consecutive nodes: each thread places a slice of
them behind those of the slices before it. Then each bucket, whose nodes' counters fit into the cache, is sorted by one
thread. So each arc is read and written twice, whatever the number of threads, and arcs of a node keep their sequence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import inlined, jit, jit_part

# Items of a row that insertion sorts faster than digits.
_FEW = 48
# Bits of a digit of long rows, and of those with fewer than so many items.
_BITS, _SHORT_BITS, _SHORT = 11, 8, 4096

_Uint32s = npt.NDArray[np.uint32]
_Uint64s = npt.NDArray[np.uint64]
_Int64s = npt.NDArray[np.int64]


@jit
def count_ends(ends: _Uint32s, count: _Uint32s) -> None:
    """Add to the count of each node how often it is an end."""
    for end in ends:
        count[end] += np.uint32(1)


@jit
def count_buckets(ends: _Uint32s, shift: int, count: _Int64s) -> None:
    """Add to the count of each bucket of ``2**shift`` nodes how many ends are in it."""
    for end in ends:
        count[end >> np.uint32(shift)] += 1


@jit
def to_buckets(
    end: _Uint32s,
    other: _Uint32s,
    weight: _Uint32s,
    shift: int,
    first_bucket: int,
    end_bucket: int,
    free: _Int64s,
    items: _Uint32s,
) -> None:
    """Write the end that arcs are sorted by, the other end and the weight of each to the next place of its bucket.

    Arcs of other than some buckets are left out.
    """
    for arc in range(len(end)):
        bucket = end[arc] >> np.uint32(shift)
        if bucket < first_bucket or bucket >= end_bucket:
            continue
        place = free[bucket]
        free[bucket] = place + 1
        items[place, 0], items[place, 1], items[place, 2] = end[arc], other[arc], weight[arc]


@jit
def rows_to_buckets(
    first_out: _Uint32s,
    arcs: _Uint32s,
    first_arc: int,
    end_arc: int,
    shift: int,
    first_bucket: int,
    end_bucket: int,
    free: _Int64s,
    items: _Uint32s,
) -> None:
    """Do what `to_buckets` does for some arcs in rows, by head; ``items`` with a fourth column take the ids, too."""
    # The row of the first arc: the last one that begins at it or before it.
    low: Any = np.int64(0)
    high: Any = np.int64(len(first_out) - 1)
    while high - low > 1:
        middle = (low + high) >> 1
        if first_out[middle] <= first_arc:
            low = middle
        else:
            high = middle
    tail, with_ids = low, items.shape[1] > 3
    for arc in range(first_arc, end_arc):
        while first_out[tail + 1] <= arc:
            tail += 1
        head = arcs[arc, 0]
        bucket = head >> np.uint32(shift)
        if bucket < first_bucket or bucket >= end_bucket:
            continue
        place = free[bucket]
        free[bucket] = place + 1
        items[place, 0], items[place, 1], items[place, 2] = head, tail, arcs[arc, 1]
        if with_ids:
            items[place, 3] = arc


@jit_part
def _offsets(items: _Uint32s, begin: int, low: int, high: int, first: _Int64s) -> None:
    """Write the offset of the first item of each node of a bucket, from its items and the offset of the first."""
    for node in range(low, high):
        first[node] = 0
    for i in range(len(items)):
        first[items[i, 0]] += 1
    place = begin
    for node in range(low, high):
        count = first[node]
        first[node] = place
        place += count


@jit_part
def _back(low: int, high: int, begin: int, first: _Int64s) -> None:
    """Set offsets back to the first items, after each item has moved its node's offset by one."""
    for node in range(high - 1, low, -1):
        first[node] = first[node - 1]
    if low < high:
        first[low] = begin


@jit
def place_arcs(
    items: _Uint32s, begin: int, low: int, high: int, first: _Int64s, others: _Uint32s, weights: _Uint32s
) -> None:
    """Write the offsets of the nodes of a bucket, and the other end and the weight of each of its arcs in rows."""
    _offsets(items, begin, low, high, first)
    for i in range(len(items)):
        node = items[i, 0]
        place = first[node]
        first[node] = place + 1
        others[place], weights[place] = items[i, 1], items[i, 2]
    _back(low, high, begin, first)


@jit
def place_incoming(
    items: _Uint32s, begin: int, low: int, high: int, first: _Int64s, arcs: _Uint32s, ids: _Int64s
) -> None:
    """Do what `place_arcs` does, for ends and weights in one array and, if it is not empty, an array of the ids."""
    _offsets(items, begin, low, high, first)
    with_ids = len(ids) > 0
    for i in range(len(items)):
        node = items[i, 0]
        place = first[node]
        first[node] = place + 1
        arcs[place, 0], arcs[place, 1] = items[i, 1], items[i, 2]
        if with_ids:
            ids[place] = items[i, 3]
    _back(low, high, begin, first)


@jit_part
def _sort_row(items: _Uint64s, begin: int, end: int, mask: np.uint64, other: _Uint64s, counts: _Int64s) -> None:
    """Sort a row in place by some bits: by insertion or by digits, the lowest first; equals keep their sequence."""
    if end - begin < _FEW:
        for i in range(begin + 1, end):
            item, j = items[i], i - 1
            while j >= begin and items[j] & mask > item & mask:
                items[j + 1] = items[j]
                j -= 1
            items[j + 1] = item
        return
    differ = np.uint64(0)
    for i in range(begin + 1, end):
        differ |= items[i] ^ items[begin]
    differ &= mask
    bits = _BITS if end - begin >= _SHORT else _SHORT_BITS
    last = np.uint64((1 << bits) - 1)
    done: Any = np.uint64(0)
    while done < 64 and differ >> done != 0:
        while differ >> done & np.uint64(1) == 0:
            done += np.uint64(1)
        for value in range(1 << bits):
            counts[value] = 0
        for i in range(begin, end):
            counts[items[i] >> done & last] += 1
        place: Any = 0
        for value in range(1 << bits):
            count = counts[value]
            counts[value] = place
            place += count
        for i in range(begin, end):
            digit = items[i] >> done & last
            other[counts[digit]] = items[i]
            counts[digit] += 1
        for i in range(begin, end):
            items[i] = other[i - begin]
        done += np.uint64(bits)


@jit
def sort_rows(
    first: Any,
    source: _Uint64s,
    items: _Uint64s,
    first_row: int,
    end_row: int,
    mask: np.uint64,
    other: _Uint64s,
    counts: _Int64s,
) -> None:
    """Write the items of each row of a range, sorted by the bits of a mask; those with equal bits keep their sequence.

    `items` may be `source`. `other` has room for the longest row of the range, and `counts` for the values of a digit.
    """
    for row in range(first_row, end_row):
        begin: Any = np.int64(first[row])
        end: Any = np.int64(first[row + 1])
        for i in range(begin, end):
            items[i] = source[i]
        _sort_row(items, begin, end, mask, other, counts)


@inlined
def _mixed(word: np.uint64) -> np.uint64:
    """Return a number of which each bit depends on all bits of another one (D. Stafford's thirteenth finalizer)."""
    word = (word ^ word >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ word >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return word ^ word >> np.uint64(31)


@jit
def difference_of_opposites(
    first_out: _Uint32s, arcs: _Uint32s, first_row: int, end_row: int, keys: _Uint64s
) -> np.uint64:
    """Return the sum of hashes of the arcs of a range of rows, less that of the opposite arcs, modulo 2**64."""
    total = np.uint64(0)
    for tail in range(first_row, end_row):
        from_tail = np.uint64(tail) << np.uint64(32)
        for arc in range(first_out[tail], first_out[tail + 1]):
            head, of_weight = np.uint64(arcs[arc, 0]), _mixed(np.uint64(arcs[arc, 1]) ^ keys[0])
            total += _mixed(_mixed((from_tail | head) ^ keys[1]) + of_weight)
            total -= _mixed(_mixed((head << np.uint64(32) | np.uint64(tail)) ^ keys[1]) + of_weight)
    return total
