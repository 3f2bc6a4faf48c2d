"""Division of large supernodes into pieces, as customization on a device takes them.

A supernode is a clique with one list of ancestors. So are its first nodes, and so are the following ones, whose
ancestors are those of the supernode and the nodes before them. Arcs are numbered alike in both views. With pieces that
fit into shared memory, customization needs no other memory from node to node, and what a piece contributes to the arcs
above it is the work of many workgroups (the blocks of a right-looking elimination, as in J. J. Dongarra, I. S. Duff,
D. C. Sorensen and H. A. van der Vorst, Numerical linear algebra for high-performance computers, 1998).

Pieces of a supernode depend on each other, so that levels have steps: the first one is of supernodes that are not
divided and of first pieces, the next one of second pieces, and so on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.graph.csr import within
from vkssp.graph.hierarchy import Hierarchy, Indices


class Pieces(NamedTuple):
    """Parts of a hierarchy that customization takes one by one: supernodes, and pieces of large ones.

    Attributes
    ----------
    supernode : numpy.ndarray
        The supernode of each piece, int64; pieces of one follow each other.
    place : numpy.ndarray
        Place of the first node of each piece in its supernode, int64.
    part : numpy.ndarray
        Number of each part: that of a supernode which is not divided, or the number of supernodes and that of a piece.
    size, num_ancestors, step : numpy.ndarray
        Of each part the number of nodes, that of ancestors, and the step, int64.
    first_step : numpy.ndarray
        The first step of each level, shape (num_levels + 1,), int64.
    """

    supernode: Indices
    place: Indices
    part: Indices
    size: Indices
    num_ancestors: Indices
    step: Indices
    first_step: Indices

    @property
    def num_steps(self) -> int:
        """Number of steps."""
        return int(self.first_step[-1])


def most_pieces(hierarchy: Hierarchy, most: int) -> tuple[int, int]:
    """Return the number of pieces of supernodes with more nodes than `most`, and an upper bound of their ancestors."""
    size = hierarchy.size
    large = np.flatnonzero(size > most)
    count = -(-size[large] // most)
    return int(count.sum()), int((count * (size[large] + hierarchy.num_ancestors[large])).sum())


def pieces_of(hierarchy: Hierarchy, most: int) -> Pieces:
    """Divide the supernodes of a hierarchy that have more nodes than `most` into pieces of about the same size."""
    size, num_ancestors, num_levels = hierarchy.size, hierarchy.num_ancestors, hierarchy.num_levels
    bounds: Indices = hierarchy.first_of_level.astype(np.int64)
    level = np.repeat(np.arange(num_levels), np.diff(bounds))
    count = -(-size // most)
    most_pieces = np.zeros(num_levels, np.int64)
    np.maximum.at(most_pieces, level, count)
    first_step = np.concatenate([[0], np.cumsum(most_pieces)])
    whole, divided = np.flatnonzero(count == 1), np.flatnonzero(count > 1)
    supernode, number = np.repeat(divided, count[divided]), within(count[divided])
    place, end = (size[supernode] * at // count[supernode] for at in (number, number + 1))
    return Pieces(
        supernode,
        place,
        np.concatenate([whole, len(size) + np.arange(len(supernode))]),
        np.concatenate([size[whole], end - place]),
        np.concatenate([num_ancestors[whole], num_ancestors[supernode] + place]),
        np.concatenate([first_step[level[whole]], first_step[level[supernode]] + number]),
        first_step,
    )
