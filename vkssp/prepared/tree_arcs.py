"""Arcs by head in the caller's numbering, among which those of shortest-path trees are found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.graph import Uint32s
from vkssp.graph.csr import ranges, rows_of
from vkssp.prepared.renumbered import RenumberedGraph


class ArcsByHead(NamedTuple):
    """Arcs sorted by head, then by id, without those inside of cycles of weight zero, all by the caller's ids.

    Attributes
    ----------
    first : numpy.ndarray
        Offset of each node's first incoming arc, shape (num_nodes + 1,), uint32.
    arcs : numpy.ndarray
        Tail and weight of each arc, shape (k, 2), uint32.
    ids : numpy.ndarray
        Id of each arc, shape (k,), uint32.
    """

    first: Uint32s
    arcs: Uint32s
    ids: Uint32s


def arcs_by_head(renumbered: RenumberedGraph) -> ArcsByHead:
    """Return the arcs of a graph by head."""
    graph = renumbered.graph
    if renumbered.is_identity:
        first, arcs, ids = renumbered.reverse()
        return ArcsByHead(first, arcs, ids.astype(np.uint32))
    kept = np.sort(renumbered.arc) if renumbered.contracted else np.arange(graph.num_arcs)
    first, by_head = rows_of(graph.head[kept], graph.num_nodes)
    ids = kept[by_head]
    return ArcsByHead(first, np.stack([graph.tail[ids], graph.weight[ids]], axis=1), ids.astype(np.uint32))


def pieces_of(first: Uint32s, size: int) -> Uint32s:
    """Return pieces of at most `size` arcs into one node, given the offset of each node's first incoming arc.

    Returns
    -------
    numpy.ndarray
        Node and first arc of each piece, which ends at the first arc of the next one; the last one only ends the one
        before it. Shape (pieces + 1, 2), uint32.
    """
    begin = first.astype(np.int64)
    count = -(-np.diff(begin) // size)
    node = np.repeat(np.arange(len(count)), count)
    place = begin[node] + size * ranges(np.zeros_like(count), count)
    pieces: npt.NDArray[Any] = np.empty((len(node) + 1, 2), np.uint32)
    pieces[:-1, 0], pieces[:-1, 1] = node, place
    pieces[-1] = len(count), begin[-1]
    return pieces
