"""Compressed sparse rows: types and checks of their arrays, counting sorts, and positions in lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import whole_numbers
from vkssp.errors import GraphError
from vkssp.graph.bulk import greatest_of

#: The distance of a node that no path reaches; every real distance and weight is smaller.
UNREACHABLE = 2**32 - 1

#: Most arcs of a graph: offsets of arcs have 32 bits.
MOST_ARCS = 2**32 - 1

Uint32s = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float64]


def require_few_arcs(values: Any, name: str, directions: int = 1) -> None:
    """Raise `GraphError` if an array with an item for each arc, or for each edge in some directions, is too long.

    Called first, so that no memory is taken for what cannot be a graph.
    """
    shape = (len(values),) if isinstance(values, list | tuple) else getattr(values, "shape", ())
    count = shape[0] if isinstance(shape, tuple) and len(shape) == 1 and isinstance(shape[0], int) else 0
    if count * directions > MOST_ARCS:
        both = ", each an arc in both directions" if directions > 1 else ""
        raise GraphError(
            f"{name} has {count} entries{both}; a graph holds at most {MOST_ARCS} arcs, so leave out arcs that no "
            "shortest path takes, such as all but the lightest of parallel ones"
        )


def checked_rows(first_out: npt.ArrayLike, head: npt.ArrayLike) -> tuple[Uint32s, Uint32s]:
    """Return the offsets of the nodes' arcs and the heads of the arcs as uint32s; raise `GraphError` if invalid."""
    require_few_arcs(head, "head")
    first = whole_numbers(first_out, "first_out", "offsets", UNREACHABLE)
    if len(first) == 0:
        raise GraphError("first_out is empty; a graph without nodes has first_out [0]")
    heads = whole_numbers(head, "head", "node ids", UNREACHABLE)
    num_nodes = len(first) - 1
    if num_nodes >= UNREACHABLE:
        raise GraphError("a graph holds fewer than 2**32 - 1 nodes")
    if first[0] != 0:
        raise GraphError(f"first_out[0] is {first[0]}; it must be 0")
    falls = np.flatnonzero(first[1:] < first[:-1])
    if falls.size:
        at = int(falls[0])
        raise GraphError(f"first_out falls from {first[at]} to {first[at + 1]} at {at + 1}; it must never fall")
    if int(first[-1]) != len(heads):
        raise GraphError(f"first_out ends at {first[-1]} but there are {len(heads)} arcs; they must be equal")
    if greatest_of(heads, -1) >= num_nodes:
        at = int(np.argmax(heads))
        raise GraphError(f"head[{at}] is {heads[at]}; node ids go from 0 to {num_nodes - 1}")
    return first, heads


def rows_of(tail: npt.NDArray[np.uint32], num_nodes: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the row offsets of arcs with the given tails, and the stable order that sorts them by tail.

    A stable order keeps the arcs of a node, parallel arcs included, in the given sequence.
    """
    count = len(tail)
    if count == 0:
        return np.zeros(num_nodes + 1, np.uint32), np.empty(0, np.int64)
    index = np.int32 if max(count, num_nodes) < 2**31 else np.int64
    rows = transposed(np.arange(count + 1, dtype=index), tail.astype(index), np.ones(count, np.bool_), num_nodes)
    return rows.indptr.astype(np.uint32), rows.indices.astype(np.int64)


def permuted_rows(
    first_out: npt.NDArray[np.uint32], rank: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the offsets of rows in another order, and the arcs in that order; the arcs of a row keep their sequence.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each row's first arc, shape (num_rows + 1,), uint32.
    rank : numpy.ndarray
        Position of each row in the other order, shape (num_rows,), uint32: each position once.
    """
    row = np.empty(len(rank), np.uint32)
    row[rank] = np.arange(len(rank), dtype=np.uint32)
    first = first_out[row]
    count = first_out[1:][row] - first
    offsets = np.zeros(len(first_out), np.uint32)
    np.cumsum(count, out=offsets[1:])
    return offsets, ranges(first, count)


def transposed(offsets: npt.NDArray[Any], row: npt.NDArray[Any], value: npt.NDArray[Any], num_rows: int) -> Any:
    """Return a scipy array in compressed sparse rows, made of entries that are sorted by column.

    Parameters
    ----------
    offsets : numpy.ndarray
        Offset of each column's first entry, shape (number of columns + 1,), a signed type.
    row : numpy.ndarray
        Row of each entry, of the same type.
    value : numpy.ndarray
        Value of each entry.
    num_rows : int
        Number of rows.
    """
    from scipy import sparse

    # scipy converts columns to rows by a counting sort in C. The sort is stable and ten times as fast as a comparison
    # sort. Unlike the conversion from coordinates to rows, it does not add up entries with the same row and column.
    return sparse.csc_array((value, row, offsets), shape=(num_rows, len(offsets) - 1)).tocsr()


def sorted_rows(first_out: npt.NDArray[np.uint32], arcs: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return head and weight of each arc; the arcs of each row are sorted by weight.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each row's first arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Head and weight of each arc, shape (num_arcs, 2), uint32.
    """
    from scipy import sparse

    # scipy sorts the entries of a row by column, in C. Here the weights serve as columns.
    largest = int(arcs[:, 1].max(initial=0))
    index = np.int32 if max(largest, len(arcs)) < 2**31 - 1 else np.int64
    parts = arcs[:, 0].copy(), arcs[:, 1].astype(index), first_out.astype(index)
    rows = sparse.csr_array(parts, shape=(len(first_out) - 1, largest + 1))
    rows.sort_indices()
    return np.stack([rows.data, rows.indices.astype(np.uint32)], axis=1)


def places_of(arc: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    """Return the position in a list of each id from 0 to `count` - 1, or -1 for an id not in the list, int64."""
    place = np.full(count, -1, np.int64)
    place[arc] = np.arange(len(arc))
    return place


def places_in_rows(
    first: npt.NDArray[Any], items: npt.NDArray[np.integer[Any]], rows: npt.NDArray[Any], wanted: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the position of each wanted item in its row, all of whose items ascend, shape (k,), int64.

    Parameters
    ----------
    first : numpy.ndarray
        Offset of each row's first item, shape (rows + 1,).
    items : numpy.ndarray
        The items of all rows.
    rows, wanted : numpy.ndarray
        Rows, and an item in each of them, shape (k,).
    """
    low: npt.NDArray[np.int64] = first[rows].astype(np.int64)
    high = first[rows + np.uint32(1)].astype(np.int64)
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        goes_on = items.take(middle, mode="clip") < wanted
        low, high = np.where(goes_on & (low < high), middle + 1, low), np.where(goes_on, high, middle)
    return low


def within(count: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the position of each item in its group, for consecutive groups of `count` items, int64."""
    counts: npt.NDArray[np.int64] = count.astype(np.int64)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return np.arange(len(first), dtype=np.int64) - first


def ranges(first: npt.NDArray[Any], count: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the concatenated whole numbers of some ranges, int64; each has `count` numbers from `first` on."""
    counts: npt.NDArray[np.int64] = count.astype(np.int64)
    before = np.cumsum(counts)
    before -= counts
    found: npt.NDArray[np.int64] = np.repeat(first.astype(np.int64) - before, counts)
    found += np.arange(len(found))
    return found


def bounds_of(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each of k groups that follow each other begins, and where the last ends, shape (k + 1,), int64."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def tails_of(first_out: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the tail of each arc of the given rows, shape (num_arcs,), uint32."""
    degree = first_out[1:] - first_out[:-1]
    return np.repeat(np.arange(len(degree), dtype=np.uint32), degree)
