"""Layout of labels: for each node of a hierarchy a row of the distances to all of its ancestors.

The ancestors of a node lie on the path from the root of the elimination tree down to it, and a row has their distances
in this order, the node itself last. Two nodes share a part of their paths, from the root on, so that their distance is
the least sum over as many first entries of two rows (I. Abraham, D. Delling, A. Goldberg, R. Werneck, A hub-based
labeling algorithm for shortest paths in road networks, 2011). How many nodes they share is a minimum over a range of
supernodes in the order of a depth-first search, as for lowest common ancestors (M. A. Bender and M. Farach-Colton, The
LCA problem revisited, 2000).
"""

from __future__ import annotations

import weakref
from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy, Indices
from vkssp.locks import ReentrantLock

#: Words of a unit; rows begin at multiples of it, and the rest of the last one is unreachable.
UNIT = 8
#: Bits of the number of entries in the second word of a row's record; the number of its part lies above them.
COUNT_BITS = 16
#: Default largest part of the free memory that labels take.
MOST_MEMORY = 0.25
#: Fewest pairs of a call that labels answer.
MANY_PAIRS = 1 << 10


class Wanted:
    """Number of pairs asked for with the same weights, which tells when labels pay.

    They are made once that has taken as long without them as making them takes, about.

    Parameters
    ----------
    num_nodes : int
        Number of nodes of the graph.
    first, more : float
        Pairs for each node after which they are made for the first time, with their layout, and for other weights.
    """

    def __init__(self, num_nodes: int, first: float, more: float) -> None:
        self._first, self._more = first * num_nodes, more * num_nodes
        self._version, self._pairs = -1, 0

    def pays(self, version: int, pairs: int, *, are_allocated: bool) -> bool:
        """Count pairs with a version of weights, and return whether labels pay now."""
        if version != self._version:
            self._version, self._pairs = version, 0
        self._pairs += pairs
        return self._pairs >= (self._more if are_allocated else self._first)


class LabelLayout:
    """Places of the rows of labels, and the ancestors that two nodes share.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy.

    Attributes
    ----------
    count : numpy.ndarray
        Number of entries of the row of each rank, shape (num_nodes,), int64.
    units : int
        Number of units of all rows.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        # Not the hierarchy itself, which is the key under which this is kept.
        self._rank, self._supernode, self._num_ancestors = hierarchy.rank, hierarchy.supernode, hierarchy.num_ancestors
        self._size = hierarchy.size
        self.count: Indices = own(hierarchy.depth.astype(np.int64) + 1)
        self._end: Indices = np.cumsum(-(-self.count // UNIT))
        self.units = int(self._end[-1]) if len(self._end) else 0
        self._order, self._shared = _depth_first(hierarchy)

    @property
    def num_supernodes(self) -> int:
        """Number of supernodes."""
        return len(self._order)

    @cached_property
    def work(self) -> int:
        """Number of sums that making the labels of one direction takes."""
        return int((np.repeat(self._num_ancestors, self._size) * self.count).sum())

    def ends_of_parts(self, most: int) -> list[int]:
        """Return the ends of parts of at most `most` units, each of whole rows of consecutive ranks.

        Parameters
        ----------
        most : int
            Largest number of units of a part, not less than those of a row.
        """
        ends: list[int] = []
        end, before = 0, 0
        while end < len(self._end):
            end = int(np.searchsorted(self._end, before + most, "right"))
            before = int(self._end[end - 1])
            ends.append(end)
        return ends

    @cached_property
    def first_word(self) -> Indices:
        """First word of the row of each rank, and the end of the last one, shape (num_nodes + 1,), int64."""
        return own(UNIT * np.concatenate([np.zeros(1, np.int64), self._end]))

    def units_before(self, rank: int) -> int:
        """Return the number of units of the rows of smaller ranks."""
        return int(self._end[rank - 1]) if rank else 0

    def records(self, ends: list[int]) -> Uint32s:
        """Return a record of the row of each node of the graph, shape (num_nodes, 4), uint32.

        It has the first unit in the row's part, the number of its entries with the number of the part above the lower
        16 bits, the place of the supernode in the order of `shared`, and the rank.

        Parameters
        ----------
        ends : list of int
            Ranks at which parts end, see `ends_of_parts`.
        """
        records = np.empty((len(self.count), 4), np.uint32)
        part = np.searchsorted(ends, np.arange(len(self.count)), "right")
        first = np.array([self.units_before(begin) for begin in [0, *ends[:-1]]], np.int64)
        records[:, 0] = self._end - -(-self.count // UNIT) - (first[part] if len(part) else 0)
        records[:, 1] = self.count | part << COUNT_BITS
        records[:, 2] = self._order[self._supernode]
        records[:, 3] = np.arange(len(self.count))
        found: Uint32s = own(records[self._rank])
        return found

    @cached_property
    def shared(self) -> npt.NDArray[np.uint16]:
        """Least numbers of nodes above the first one, of 2**k supernodes in depth-first order from each on, by k.

        Shape (k, num_supernodes). Of two nodes whose supernodes have the places i < j, the shared ancestors are as many
        as the least of these numbers from i + 1 to j, or as either node has itself if they are fewer.
        """
        rows = [self._shared]
        reach = 1
        while 2 * reach < max(2, self.num_supernodes):
            row = rows[-1].copy()
            np.minimum(row[:-reach], rows[-1][reach:], out=row[:-reach])
            rows.append(row)
            reach *= 2
        found: npt.NDArray[np.uint16] = own(np.stack(rows))
        return found


def _depth_first(hierarchy: Hierarchy) -> tuple[Indices, npt.NDArray[np.uint16]]:
    """Return the place of each supernode in the order of a depth-first search, and nodes above the first one by place.

    Supernodes that hang lower on a parent come before those that hang higher: as if the search went down the path of
    the parent's nodes to the last one before it returned.
    """
    num, first_node = hierarchy.num_supernodes, hierarchy.first_node[:-1].astype(np.int64)
    above = hierarchy.depth[first_node].astype(np.int64)
    parent = np.where(hierarchy.parent >= 0, hierarchy.supernode[hierarchy.parent].astype(np.int64), num)
    bounds = hierarchy.first_of_level.astype(np.int64)
    size = np.ones(num + 1, np.int64)
    for begin, end in zip(bounds[-2::-1].tolist(), bounds[:0:-1].tolist(), strict=True):
        np.add.at(size, parent[begin:end], size[begin:end])
    siblings = np.argsort((parent + 1 << COUNT_BITS) - above, kind="stable")
    before = np.cumsum(size[siblings]) - size[siblings]
    of = parent[siblings]
    is_first = np.concatenate([[True], of[1:] != of[:-1]]) if num else np.zeros(0, np.bool_)
    within = np.empty(num, np.int64)
    within[siblings] = before - np.repeat(before[is_first], np.diff(np.append(np.flatnonzero(is_first), num)))
    place = np.full(num + 1, -1, np.int64)  # that above all roots
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        place[begin:end] = place[parent[begin:end]] + 1 + within[begin:end]
    shared = np.empty(num, np.uint16)
    shared[place[:num]] = above
    return own(place[:num]), own(shared)


_layouts: weakref.WeakKeyDictionary[Hierarchy, LabelLayout] = weakref.WeakKeyDictionary()
_making = ReentrantLock()  # which a fork does not inherit


def label_layout_of(hierarchy: Hierarchy) -> LabelLayout:
    """Return the layout of the labels of a hierarchy; it lives as long as the hierarchy."""
    with _making.held():
        if hierarchy not in _layouts:
            _layouts[hierarchy] = LabelLayout(hierarchy)
        return _layouts[hierarchy]
