"""A graph as a list of edges: undirected ones once, arcs without a way back after them, sorted for locality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s, tails_of
from vkssp.solvers.prepare import PreparedGraph

Columns = tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True)
class Edges:
    """Start, end and weight of each edge.

    Attributes
    ----------
    start, end, weight : numpy.ndarray
        Shape (num_edges,), uint32.
    num_undirected : int
        How many of them, the first ones, go both ways.
    """

    start: Uint32s
    end: Uint32s
    weight: Uint32s
    num_undirected: int


def edges_of(prepared: PreparedGraph, segment: int) -> Edges:
    """Return the edges of a graph: two opposite arcs of one weight become one edge, loops are left out.

    Parameters
    ----------
    prepared : PreparedGraph
        The graph.
    segment : int
        Edges are sorted by the segment of this many nodes that their end lies in, and then by that of their start; 0
        leaves them sorted by start and end. The start of an undirected edge is its lower node.
    """
    tail, (head, weight) = tails_of(prepared.first_out), prepared.arcs.T
    kept = tail != head
    tail, head, weight = tail[kept], head[kept], weight[kept]
    is_back = tail > head
    low, high, weight, is_back = sort_columns(np.minimum(tail, head), np.maximum(tail, head), weight, is_back)
    # Among the arcs between two nodes with one weight those upward come first, as many of them as there are downward
    # ones have a partner.
    new = np.ones(len(low), np.bool_)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1]) | (weight[1:] != weight[:-1])
    first = np.flatnonzero(new)
    size = np.diff(first, append=len(low))
    upward = size - np.add.reduceat(is_back.astype(np.int64), first) if len(first) else size
    pairs = np.repeat(np.minimum(upward, size - upward), size)
    rank = np.arange(len(low)) - np.repeat(first, size)
    rank_back = rank - np.repeat(upward, size)
    both = (is_back == 0) & (rank < pairs)
    alone = ~both & ~((is_back != 0) & (rank_back < pairs))
    turned = alone & (is_back != 0)
    start, end = np.where(turned, high, low), np.where(turned, low, high)
    parts = []
    for chosen in (both, alone):
        columns: Columns = (start[chosen], end[chosen], weight[chosen])
        if chosen is alone:
            columns = sort_columns(*columns)
        if segment:
            place = np.arange(len(columns[0]))
            order = sort_columns(columns[1] // segment, columns[0] // segment, place)[2]
            columns = tuple(column[order] for column in columns)
        parts.append(columns)
    starts, ends, weights = (np.concatenate(pair).astype(np.uint32) for pair in zip(*parts, strict=True))
    return Edges(starts, ends, weights, len(parts[0][0]))


def sort_columns(*columns: npt.NDArray[Any]) -> Columns:
    """Return columns of numbers with their rows sorted by the first, then the second and so on.

    Where a row fits into 64 bits it is sorted as one number, which takes a tenth of the time.
    """
    if len(columns[0]) == 0:
        return columns
    bits = [int(column.max()).bit_length() for column in columns]
    if sum(bits) > 64:
        order = np.lexsort(columns[::-1])
        return tuple(column[order] for column in columns)
    packed = np.zeros(len(columns[0]), np.uint64)
    for column, width in zip(columns, bits, strict=True):
        packed <<= np.uint64(width)
        packed |= column.astype(np.uint64)
    packed.sort()
    result: list[npt.NDArray[Any]] = []
    for column, width in zip(columns[::-1], bits[::-1], strict=True):
        result.append((packed & np.uint64((1 << width) - 1)).astype(column.dtype))
        packed >>= np.uint64(width)
    return tuple(result[::-1])
