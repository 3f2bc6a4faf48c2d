"""A graph as a list of edges: undirected ones once, arcs without a way back after them, sorted for locality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkssp.graph import Uint32s, tails_of
from vkssp.solvers.prepare import PreparedGraph


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
        leaves them sorted by start.
    """
    tail, (head, weight) = tails_of(prepared.first_out), prepared.arcs.T
    upward, downward = np.flatnonzero(tail < head), np.flatnonzero(tail > head)
    # In the same order a graph that is undirected as a whole has the same edges twice.
    upward = upward[np.lexsort((weight[upward], head[upward], tail[upward]))]
    downward = downward[np.lexsort((weight[downward], tail[downward], head[downward]))]
    ahead = np.stack([tail[upward], head[upward], weight[upward]])
    back = np.stack([head[downward], tail[downward], weight[downward]])
    if np.array_equal(ahead, back):
        both, alone = ahead, ahead[:, :0]
    else:
        paired = _paired(ahead, back)
        both = ahead[:, paired[0]]
        alone = np.concatenate([ahead[:, ~paired[0]], back[[1, 0, 2]][:, ~paired[1]]], axis=1)
        alone = alone[:, np.lexsort((alone[1], alone[0]))]
    if segment:
        both, alone = (part[:, np.lexsort((part[0] // segment, part[1] // segment))] for part in (both, alone))
    start, end, weights = np.concatenate([both, alone], axis=1)
    return Edges(start, end, weights, both.shape[1])


def _paired(ahead: Uint32s, back: Uint32s) -> tuple[np.ndarray, np.ndarray]:
    """Return which columns of two sorted lists have a partner in the other; of equal ones as many as both have."""
    together = np.concatenate([ahead, back], axis=1)
    is_back = np.arange(together.shape[1]) >= ahead.shape[1]
    # Stable, so that among equal columns those of `ahead` come first.
    order = np.lexsort((is_back, together[2], together[1], together[0]))
    columns, side = together[:, order], is_back[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    group = np.cumsum(new) - 1
    count = np.stack([np.bincount(group[side == which], minlength=group[-1] + 1) for which in (False, True)])
    first = np.flatnonzero(new)
    rank = np.arange(len(order)) - first[group] - np.where(side, count[0][group], 0)
    paired = np.empty(len(order), np.bool_)
    paired[order] = rank < count.min(axis=0)[group]
    return paired[: ahead.shape[1]], paired[ahead.shape[1] :]
