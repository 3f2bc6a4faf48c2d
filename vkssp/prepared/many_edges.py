"""List of the edges of an undirected graph with hundreds of millions of arcs, made by all cores."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cores import num_cores, run_all, run_parts
from vkssp.graph import Uint32s
from vkssp.graph.bulk import in_pieces
from vkssp.graph.many_arcs import MANY, ranges_of, sort_items
from vkssp.jit import kernels
from vkssp.prepared.renumbered import RenumberedGraph

# Ranges of nodes for each core where each is counted apart.
_RANGES_EACH = 2
# Binary logarithm of the number of ranges of ids whose arcs are counted, and arcs that are worth another core.
_RANGE_BITS, _LEAST_COUNTED = 11, 1 << 20

_Items = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]


def looks_two_way(renumbered: RenumberedGraph) -> bool:
    """Return whether as many arcs enter each range of ids as leave it, as in every undirected graph."""
    first, heads, num_nodes = renumbered.first_out, renumbered.arcs[:, 0], renumbered.num_nodes
    shift = max(0, (max(1, num_nodes) - 1).bit_length() - _RANGE_BITS)

    def entering(begin: int, end: int) -> npt.NDArray[np.int64]:
        if len(heads) < MANY:  # without compiled code
            return np.bincount(heads[begin:end] >> np.uint32(shift), minlength=1 << _RANGE_BITS)
        counts = np.zeros(1 << _RANGE_BITS, np.int64)
        kernels("vkssp.graph.arc_kernels").count_buckets(heads[begin:end], shift, counts)
        return counts

    bounds = np.minimum(np.arange((1 << _RANGE_BITS) + 1, dtype=np.int64) << shift, num_nodes)
    leaving = np.diff(first[bounds].astype(np.int64))
    return np.array_equal(leaving, np.sum(run_parts(entering, len(heads), _LEAST_COUNTED), axis=0))


def undirected_edges(renumbered: RenumberedGraph, segment: int) -> tuple[Uint32s, Uint32s, Uint32s] | None:
    """Return start, end and weight of each edge if each arc has an opposite one of its weight, else None.

    The result is that of `edge_list.edges_of`: edges are sorted by start, end and weight, and then by the segments of
    their ends.
    """
    items = _opposite(renumbered)
    return None if items is None else _by_segment(items, segment or renumbered.num_nodes)


def _opposite(renumbered: RenumberedGraph) -> _Items | None:
    """Return offsets and items of the arcs to higher nodes if each arc has an opposite one of its weight, else None."""
    if not looks_two_way(renumbered):
        return None
    items = _higher(renumbered, outgoing=True)
    return items if _are_equal(items, _higher(renumbered, outgoing=False)) else None


def _higher(renumbered: RenumberedGraph, *, outgoing: bool) -> _Items:
    """Return offsets and sorted items of the arcs between each node and those with higher ids, in one direction."""
    of_edges = kernels("vkssp.prepared.edge_kernels")
    rows, num_nodes, cores = (renumbered.first_out, renumbered.arcs), renumbered.num_nodes, num_cores()
    first = np.zeros(num_nodes + 1, np.int64)
    count, place = (
        (of_edges.count_to_higher, of_edges.place_to_higher)
        if outgoing
        else (of_edges.count_from_higher, of_edges.place_from_higher)
    )
    # What leaves a node lies in its row. Of what enters nodes of a range, each core looks at all arcs.
    bounds = ranges_of(rows[0], cores)
    run_all([partial(count, *rows, low, high, first[1:]) for low, high in bounds])
    np.cumsum(first, out=first)
    items, free = np.empty(int(first[-1]), np.uint64), first[:-1].copy()
    bounds = ranges_of(rows[0] if outgoing else first, cores)
    run_all([partial(place, *rows, low, high, free, items) for low, high in bounds])
    sort_items(first, items)
    return first, items


def _are_equal(one: _Items, other: _Items) -> bool:
    same = [all(len(a) == len(b) for a, b in zip(one, other, strict=True))]

    def compare(part: slice, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> None:
        if same[0] and not np.array_equal(a[part], b[part]):
            same[0] = False

    for a, b in zip(one, other, strict=True):
        in_pieces(len(a) if same[0] else 0, partial(compare, a=a, b=b))
    return same[0]


def _by_segment(items: _Items, segment: int) -> tuple[Uint32s, Uint32s, Uint32s]:
    """Return the edges of sorted items, sorted by the segments of their ends; those of a segment keep their order."""
    of_edges = kernels("vkssp.prepared.edge_kernels")
    first, numbers = items
    num_segments = (len(first) - 2) // segment + 1
    # Few, if segments are so small that counts would take more memory than edges.
    bounds = ranges_of(first, max(1, min(_RANGES_EACH * num_cores(), len(numbers) // num_segments)))
    counts = np.zeros((len(bounds) + 1, num_segments), np.int64)
    run_all(
        [
            partial(of_edges.count_segments, numbers, int(first[low]), int(first[high]), segment, counts[number + 1])
            for number, (low, high) in enumerate(bounds)
        ]
    )
    total = counts.sum(axis=0)
    free = np.cumsum(counts, axis=0) + (np.cumsum(total) - total)  # of each range, after those before it
    start, end, weight = (np.empty(len(numbers), np.uint32) for _ in range(3))
    run_all(
        [
            partial(of_edges.place_edges, first, numbers, low, high, segment, free[number], start, end, weight)
            for number, (low, high) in enumerate(bounds)
        ]
    )
    return start, end, weight
