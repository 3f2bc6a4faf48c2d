"""Sorts of hundreds of millions of arcs by all cores, which take little memory beside their results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.graph.bulk import in_pieces
from vkssp.graph.csr import Uint32s
from vkssp.jit import kernels

#: Least number of arcs that are worth compiled code on all cores; fewer are sorted before it has been loaded.
MANY = 1 << 24
# Ranges of rows for each core, as some take longer than others.
_RANGES_EACH = 8
# Binary logarithm of the most buckets that arcs are sorted into first, so that the places where each goes on are in the
# cache, and of the fewest nodes of a bucket.
_BUCKET_BITS, _LEAST_BITS = 11, 8
#: Arcs that are in buckets at a time, as these take 12 or 16 bytes for each; for more, all arcs are read several times.
MOST_ITEMS = 1 << 29

#: Values of a digit, for `arc_kernels.sort_rows`.
VALUES = 1 << 11
# Bits that items are sorted by: all, or those of a weight in the upper half.
_ALL, _WEIGHT = np.uint64(2**64 - 1), np.uint64(2**64 - 2**32)

_Int64s = npt.NDArray[np.int64]


def _kernels() -> Any:
    return kernels("vkssp.graph.arc_kernels")


def ranges_of(first_out: npt.NDArray[Any], count: int) -> list[tuple[int, int]]:
    """Return ranges of rows that have about the same number of items."""
    wanted = np.linspace(0, int(first_out[-1]), count + 1)[1:-1]
    inner = np.searchsorted(first_out, wanted).tolist()
    bounds = [0, *inner, len(first_out) - 1]
    return [(low, high) for low, high in pairwise(bounds) if low < high]


def _over(bounds: Sequence[tuple[int, int]], act: Callable[[int, int], None]) -> None:
    run_all([partial(act, *bound) for bound in bounds])


def _slices(count: int) -> list[tuple[int, int]]:
    """Return slices of as many items each, one for each core."""
    size = -(-count // num_cores()) or 1
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def offsets_of(ends: Sequence[Uint32s], num_nodes: int) -> _Int64s:
    """Return the offset of each node's first arc, given some arrays of an end of each arc, shape (num_nodes + 1,)."""
    first, count_ends = np.zeros(num_nodes + 1, np.int64), _kernels().count_ends

    def count(part: Uint32s) -> Uint32s:
        counts = np.zeros(num_nodes, np.uint32)
        count_ends(part, counts)
        return counts

    # Counts of one array at once: those of each slice take memory in proportion to the nodes.
    for of_arcs in ends:
        found = run_all([partial(count, of_arcs[low:high]) for low, high in _slices(len(of_arcs))])

        def add(part: slice, found: list[Uint32s] = found) -> None:
            for counts in found:
                first[1:][part] += counts[part]

        in_pieces(num_nodes, add)
    return np.cumsum(first, out=first)


def _rounds(total: _Int64s) -> list[tuple[int, int]]:
    """Return ranges of buckets that have at most `MOST_ITEMS` items together, or are single ones."""
    end, bounds = np.cumsum(total), [0]
    while bounds[-1] < len(total):
        before = int(end[bounds[-1] - 1]) if bounds[-1] else 0
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(end, before + MOST_ITEMS, "right"))))
    return list(pairwise(bounds))


def _in_buckets(
    num_nodes: int, parts: Sequence[Any], count: Callable[..., None], place: Callable[..., None], columns: int
) -> Generator[list[tuple[Uint32s, int, int, int]], None, None]:
    """Yield the arcs in buckets of nodes, some buckets at a time, whose items are valid until the next ones are made.

    Parameters
    ----------
    num_nodes : int
        Number of nodes.
    parts : sequence
        Slices of the arcs, in order.
    count : callable
        Function of a slice, the binary logarithm of a bucket's nodes, and an array of int64 that it adds counts to.
    place : callable
        Function of a slice, that number, the first of some buckets and their end, the free places of all buckets, and
        the items of those buckets, which it writes.
    columns : int
        Numbers of an item.

    Yields
    ------
    list of tuple
        For each bucket its items, the arcs in the buckets before it, its first node and the end of its nodes; large
        buckets first, so that the last ones, which some cores wait for, are small.
    """
    shift = max(_LEAST_BITS, (max(1, num_nodes) - 1).bit_length() - _BUCKET_BITS)
    counts = np.zeros((len(parts) + 1, -(-num_nodes // (1 << shift))), np.int64)
    run_all([partial(count, part, shift, counts[number + 1]) for number, part in enumerate(parts)])
    total = counts.sum(axis=0)
    first = np.cumsum(total) - total
    free = np.cumsum(counts, axis=0) + first  # of each slice, after those before it
    rounds = _rounds(total)
    most = max((int(total[low:high].sum()) for low, high in rounds), default=0)
    items = np.empty((most, columns), np.uint32)
    for low, high in rounds:
        places = free - first[low]
        run_all([partial(place, part, shift, low, high, places[number], items) for number, part in enumerate(parts)])
        yield [
            (
                items[first[bucket] - first[low] :][: total[bucket]],
                int(first[bucket]),
                bucket << shift,
                min((bucket + 1) << shift, num_nodes),
            )
            for bucket in sorted(range(low, high), key=lambda bucket: -int(total[bucket]))
        ]


def rows_of_edges(
    directions: Sequence[tuple[Uint32s, Uint32s]], weight: Uint32s, num_nodes: int
) -> tuple[_Int64s, Uint32s, Uint32s]:
    """Return offsets, heads and weights of arcs in rows; arcs of a node keep their sequence.

    Parameters
    ----------
    directions : sequence of (numpy.ndarray, numpy.ndarray)
        Tails and heads of arcs, one direction after the other, shape (num_edges,) each.
    weight : numpy.ndarray
        Weight of each edge.
    num_nodes : int
        Number of nodes.
    """
    of_arcs = _kernels()
    parts = [
        (tail[low:high], head[low:high], weight[low:high])
        for tail, head in directions
        for low, high in _slices(len(tail))
    ]

    def count(part: Any, shift: int, counts: _Int64s) -> None:
        of_arcs.count_buckets(part[0], shift, counts)

    def to_buckets(part: Any, *rest: Any) -> None:
        of_arcs.to_buckets(*part, *rest)

    first = np.zeros(num_nodes + 1, np.int64)
    first[-1] = sum(len(tail) for tail, _ in directions)
    heads, weights = (np.empty(int(first[-1]), np.uint32) for _ in range(2))
    for buckets in _in_buckets(num_nodes, parts, count, to_buckets, 3):
        run_all([partial(of_arcs.place_arcs, *bucket, first, heads, weights) for bucket in buckets])
    return first, heads, weights


def incoming_arcs(first_out: Uint32s, arcs: Uint32s, *, with_ids: bool = True) -> tuple[Uint32s, Uint32s, _Int64s]:
    """Return offsets, tails and weights, and ids of the arcs sorted by head, then by id; see `RenumberedGraph`.

    Without ids, which take memory, their array is empty.
    """
    of_arcs, num_nodes = _kernels(), len(first_out) - 1

    def count(part: tuple[int, int], shift: int, counts: _Int64s) -> None:
        of_arcs.count_buckets(arcs[part[0] : part[1], 0], shift, counts)

    def to_buckets(part: tuple[int, int], *rest: Any) -> None:
        of_arcs.rows_to_buckets(first_out, arcs, *part, *rest)

    first = np.zeros(num_nodes + 1, np.int64)
    first[-1] = len(arcs)
    arcs_in, arc_in = np.empty_like(arcs), np.empty(len(arcs) if with_ids else 0, np.int64)
    for buckets in _in_buckets(num_nodes, _slices(len(arcs)), count, to_buckets, 4 if with_ids else 3):
        run_all([partial(of_arcs.place_incoming, *bucket, first, arcs_in, arc_in) for bucket in buckets])
    return first.astype(np.uint32), arcs_in, arc_in


def _sort(
    first: npt.NDArray[Any], source: npt.NDArray[np.uint64], items: npt.NDArray[np.uint64], mask: np.uint64
) -> None:
    """Write the items of each row, sorted by the bits of a mask, given the offset of each row's first item."""
    sort_rows = _kernels().sort_rows

    def sort(low: int, high: int) -> None:
        longest = int((first[low + 1 : high + 1] - first[low:high]).max(initial=0))
        room = np.empty(longest, np.uint64), np.empty(VALUES, np.int64)
        sort_rows(first, source, items, low, high, mask, *room)

    _over(ranges_of(first, _RANGES_EACH * num_cores()), sort)


def sort_items(first: npt.NDArray[Any], items: npt.NDArray[np.uint64]) -> None:
    """Sort the items of each row in place, given the offset of each row's first item."""
    _sort(first, items, items, _ALL)


def light_first(first_out: Uint32s, arcs: Uint32s, *, in_place: bool = False) -> Uint32s:
    """Return head and weight of each arc, the arcs of each row sorted by weight.

    Those of one weight keep their sequence. With `in_place` the array may be changed.
    """
    is_big = sys.byteorder == "big"  # the weights are to be the upper halves of numbers of 64 bits
    source = arcs[:, ::-1].copy() if is_big else arcs
    made = source if in_place or is_big else np.empty_like(arcs)
    _sort(first_out, source.view(np.uint64).reshape(-1), made.view(np.uint64).reshape(-1), _WEIGHT)
    return made[:, ::-1].copy() if is_big else made


def has_opposite_arcs(first_out: Uint32s, arcs: Uint32s) -> bool:
    """Return whether each arc has an opposite one of its weight, parallel arcs as often.

    Sums of hashes of all arcs, and of all opposite ones, are compared. Hashes have a random key of 128 bits, so that
    other graphs are taken for such with a probability of about 2**-64, whatever they are; of 2**(k - 64), if all arcs
    without opposite ones are 2**k parallel ones of one weight.
    """
    keys, difference = np.frombuffer(os.urandom(16), np.uint64), _kernels().difference_of_opposites
    found: list[int] = []

    def look(low: int, high: int) -> None:
        found.append(int(difference(first_out, arcs, low, high, keys)))

    _over(ranges_of(first_out, _RANGES_EACH * num_cores()), look)
    return sum(found) % 2**64 == 0
