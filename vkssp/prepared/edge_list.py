"""List of the edges of a graph, sorted for locality: undirected edges first, then arcs without an opposite arc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s
from vkssp.graph.csr import tails_of
from vkssp.graph.many_arcs import MANY
from vkssp.prepared.many_edges import undirected_edges
from vkssp.prepared.renumbered import RenumberedGraph

Columns = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True)
class Edges:
    """Start, end and weight of each edge.

    Attributes
    ----------
    start, end, weight : numpy.ndarray
        Shape (num_edges,), uint32.
    num_undirected : int
        Number of undirected edges, which come first.
    """

    start: Uint32s
    end: Uint32s
    weight: Uint32s
    num_undirected: int


def edges_of(renumbered: RenumberedGraph, segment: int) -> Edges:
    """Return the edges of a graph without loops; two opposite arcs of equal weight become one undirected edge.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    segment : int
        Number of nodes of a segment. Edges are sorted by the segment of their end, and then by the segment of their
        start; if `segment` is 0, they are sorted by start and end. The start of an undirected edge is its lower node.
    """
    if renumbered.num_arcs >= MANY and (found := undirected_edges(renumbered, segment)) is not None:
        return Edges(*found, len(found[0]))
    tail, (head, weight) = tails_of(renumbered.first_out), renumbered.arcs.T
    upward, downward = tail < head, tail > head
    ahead = sort_columns(tail[upward], head[upward], weight[upward])
    back = sort_columns(head[downward], tail[downward], weight[downward])
    if len(ahead[0]) == len(back[0]) and all(map(np.array_equal, ahead, back)):
        both, alone = ahead, (ahead[0][:0], ahead[1][:0], ahead[2][:0])
    else:
        both, alone = _paired(ahead, back)
    if segment:
        both, alone = _by_segment(both, segment), _by_segment(alone, segment)
    start, end, weights = (np.concatenate(pair) for pair in zip(both, alone, strict=True))
    return Edges(start, end, weights, len(both[0]))


def _paired(ahead: Columns, back: Columns) -> tuple[Columns, Columns]:
    """Return the edges that are in both of two sorted lists, and the other arcs, those of `back` with ends swapped."""
    is_back = np.repeat([False, True], [len(ahead[0]), len(back[0])])
    low, high, weight, is_back = sort_columns(*map(np.concatenate, zip(ahead, back, strict=True)), is_back)
    # Of equal edges, those of `ahead` come first; the smaller of the numbers in `ahead` and `back` is that of pairs.
    new = np.ones(len(low), np.bool_)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1]) | (weight[1:] != weight[:-1])
    first = np.flatnonzero(new)
    size = np.diff(first, append=len(low))
    num_ahead = size - np.add.reduceat(is_back.astype(np.int64), first)
    pairs = np.repeat(np.minimum(num_ahead, size - num_ahead), size)
    rank = np.arange(len(low)) - np.repeat(first, size)
    rank_back = rank - np.repeat(num_ahead, size)
    both = ~is_back & (rank < pairs)
    alone = ~both & ~(is_back & (rank_back < pairs))
    start, end = np.where(is_back, high, low)[alone], np.where(is_back, low, high)[alone]
    return (low[both], high[both], weight[both]), sort_columns(start, end, weight[alone])


def _by_segment(edges: Columns, segment: int) -> Columns:
    start, end, weight = edges
    order = sort_columns(end // segment, start // segment, np.arange(len(start)))[2]
    return start[order], end[order], weight[order]


def sort_columns(*columns: npt.NDArray[Any]) -> Any:
    """Return columns of numbers with their rows sorted by the first column, then the second and so on.

    If a row fits into 64 bits, rows are sorted as single numbers, which takes a tenth of the time.
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
