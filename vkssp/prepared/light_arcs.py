"""Arcs into each node, light ones first, for searches that pull; those of an undirected graph leave the node, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.graph import Uint32s
from vkssp.graph.csr import ranges, sorted_rows, tails_of
from vkssp.graph.many_arcs import MANY, has_opposite_arcs, incoming_arcs, light_first
from vkssp.prepared.edge_list import sort_columns
from vkssp.prepared.renumbered import RenumberedGraph


class LightArcs(NamedTuple):
    """Rows of arcs that leave nodes and of arcs that enter them; both are the same arrays in an undirected graph.

    Attributes
    ----------
    first_out, first_in : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Head and weight of each arc that leaves a node, shape (num_arcs, 2), uint32.
    arcs_in : numpy.ndarray
        Tail and weight of each arc that enters a node, by weight, shape (num_arcs, 2), uint32.
    """

    first_out: Uint32s
    arcs: Uint32s
    first_in: Uint32s
    arcs_in: Uint32s

    @property
    def is_undirected(self) -> bool:
        """Whether the arcs that enter a node are those that leave it."""
        return self.arcs_in is self.arcs


def light_arcs(renumbered: RenumberedGraph) -> LightArcs:
    """Return the arcs that leave and that enter each node of a graph."""

    def make() -> LightArcs:
        first_out, arcs = renumbered.first_out, renumbered.arcs
        if _is_undirected(first_out, arcs):
            arcs = renumbered.arcs_light_first()
            return LightArcs(first_out, arcs, first_out, arcs)
        if len(arcs) < MANY:
            first_in, arcs_in, _ = renumbered.reverse()
            return LightArcs(first_out, arcs, first_in, sorted_rows(first_in, arcs_in))
        first_in, arcs_in, _ = incoming_arcs(first_out, arcs, with_ids=False)
        return LightArcs(first_out, arcs, first_in, light_first(first_in, arcs_in, in_place=True))

    found: LightArcs = renumbered.derived("light arcs", make)
    return found


def _is_undirected(first_out: Uint32s, arcs: Uint32s) -> bool:
    """Return whether each arc of a graph has an opposite one of its weight; of few arcs without compiled code."""
    if len(arcs) >= MANY:
        return has_opposite_arcs(first_out, arcs)
    tail, (head, weight) = tails_of(first_out), arcs.T
    return all(map(np.array_equal, sort_columns(tail, head, weight), sort_columns(head, tail, weight)))


def later_pieces(first: Uint32s, size: int) -> Uint32s:
    """Return pieces of the rows of nodes with more than `size` arcs, without the first piece of each row.

    Returns
    -------
    numpy.ndarray
        Node and first arc of each piece, which ends after `size` arcs or with the row; shape (pieces, 2), uint32.
    """
    node = np.flatnonzero(first[1:] - first[:-1] > size)
    begin, end = (first[node + i].astype(np.int64) for i in range(2))
    count = (end - begin - 1) // size
    number = 1 + ranges(np.zeros_like(count), count)
    return np.stack([np.repeat(node, count), np.repeat(begin, count) + size * number], axis=1).astype(np.uint32)
