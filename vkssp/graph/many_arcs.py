"""Sorts of hundreds of millions of arcs by all cores, which take little memory beside their results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all
from vkssp.graph.bulk import copied
from vkssp.graph.csr import Uint32s
from vkssp.jit import kernels

#: Least number of arcs that are worth compiled code on all cores; fewer are sorted before it has been loaded.
MANY = 1 << 24
# Ranges of rows for each core, as some take longer than others.
_RANGES_EACH = 8

#: Entries of the stack of `arc_kernels.sort_rows`: two for each halving of a row.
STACK = 128

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


def offsets_of(ends: Sequence[Uint32s], num_nodes: int) -> _Int64s:
    """Return the offset of each node's first arc, given some arrays of an end of each arc, shape (num_nodes + 1,)."""
    first, step = np.zeros(num_nodes + 1, np.int64), -(-num_nodes // num_cores())
    count_ends = _kernels().count_ends

    def count(low: int, high: int) -> None:
        for of_arcs in ends:
            count_ends(of_arcs, low, high, first[1:])

    _over([(low, min(low + step, num_nodes)) for low in range(0, num_nodes, max(1, step))], count)
    return np.cumsum(first, out=first)


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
    first = offsets_of([tail for tail, _ in directions], num_nodes)
    heads, weights = (np.empty(int(first[-1]), np.uint32) for _ in range(2))
    free = first[:-1].copy()
    place_arcs = _kernels().place_arcs

    def place(low: int, high: int) -> None:
        for tail, head in directions:
            place_arcs(tail, head, weight, low, high, free, heads, weights)

    _over(ranges_of(first, num_cores()), place)
    return first, heads, weights


def incoming_arcs(first_out: Uint32s, arcs: Uint32s) -> tuple[Uint32s, Uint32s, _Int64s]:
    """Return offsets, tails and weights, and ids of the arcs sorted by head, then by id; see `RenumberedGraph`."""
    first = offsets_of([arcs[:, 0]], len(first_out) - 1)
    arcs_in, arc_in, free = np.empty_like(arcs), np.empty(len(arcs), np.int64), first[:-1].copy()
    place_incoming = _kernels().place_incoming

    def place(low: int, high: int) -> None:
        place_incoming(first_out, arcs, low, high, free, arcs_in, arc_in)

    _over(ranges_of(first, num_cores()), place)
    return first.astype(np.uint32), arcs_in, arc_in


def sort_items(first: npt.NDArray[Any], items: npt.NDArray[np.uint64]) -> None:
    """Sort the items of each row in place, given the offset of each row's first item."""
    sort_rows = _kernels().sort_rows

    def sort(low: int, high: int) -> None:
        sort_rows(first, items, low, high, np.empty(STACK, np.int64))

    _over(ranges_of(first, _RANGES_EACH * num_cores()), sort)


def light_first(first_out: Uint32s, arcs: Uint32s) -> Uint32s:
    """Return head and weight of each arc, the arcs of each row sorted by weight, then by head."""
    made = copied(arcs)
    if sys.byteorder == "big":  # the weights are to be the upper halves of numbers of 64 bits
        made = made[:, ::-1].copy()
    sort_items(first_out, made.view(np.uint64).reshape(-1))
    return made if sys.byteorder == "little" else made[:, ::-1].copy()
