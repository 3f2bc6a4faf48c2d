"""Order in which a batch sweeps nodes: by levels at the top of the hierarchy, by small subtrees below.

The arcs to the nodes of a small subtree come mostly from each other and from the same ancestors. So an invocation that
sweeps a whole subtree, node by node, finds most of the distances in the caches, and waits for no other invocation.
Small subtrees at the bottom of a hierarchy are many, and take one dispatch in place of several. Once they are taken
away, those at the bottom of the rest follow in the same way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy, Indices


class SweepOrder(NamedTuple):
    """Order of the nodes that are swept.

    Attributes
    ----------
    rank : numpy.ndarray
        Rank of each node, shape (nodes,), uint32.
    levels : list of (int, int)
        Bounds in `rank` of the nodes of each level that are in no subtree, without those of levels that have none.
    tiers : list of (int, int)
        Bounds in `first` of subtrees that do not wait for each other, from the top.
    first : numpy.ndarray
        The first node of each subtree, and the number of nodes, shape (subtrees + 1,), uint32.
    """

    rank: Uint32s
    levels: list[tuple[int, int]]
    tiers: list[tuple[int, int]]
    first: Uint32s


def sweep_order(hierarchy: Hierarchy, swept: Uint32s, most: int, tiers: int) -> SweepOrder:
    """Return the order of some nodes with subtrees of at most so many of them, in a number of tiers.

    The nodes are given by their ranks, ascending, and all of their ancestors must be among them.
    """
    group = hierarchy.supernode[swept]
    bounds = hierarchy.first_of_level.astype(np.int64)
    parent = hierarchy.supernode[hierarchy.parent].astype(np.int64)  # any for those of the first level, which have none
    left = np.bincount(group, minlength=hierarchy.num_supernodes)
    subtree = np.full(hierarchy.num_supernodes, -1)  # the number of its root, and those of upper tiers come first
    for tier in reversed(range(tiers)):
        root = _roots(parent, bounds, left, most)
        taken = (root >= 0) & (left > 0)
        subtree[taken] = tier * hierarchy.num_supernodes + root[taken]
        left[taken] = 0
    of_node = subtree[group]
    order = np.argsort(of_node, kind="stable")
    of_node, rank = of_node[order], swept[order]
    first = int(np.searchsorted(of_node, 0)) + np.flatnonzero(np.diff(of_node[of_node >= 0], prepend=-1))
    of_level = np.searchsorted(rank[: len(rank) - (of_node >= 0).sum()], hierarchy.first_node[bounds])
    of_tier = np.searchsorted(of_node[first], hierarchy.num_supernodes * np.arange(tiers + 1))
    levels, spans = ([(a, b) for a, b in pairwise(each.tolist()) if a < b] for each in (of_level, of_tier))
    return SweepOrder(rank, levels, spans, np.append(first, len(rank)).astype(np.uint32))


def _roots(parent: Indices, bounds: Indices, left: Indices, most: int) -> Indices:
    """Return the root of the largest subtree of at most so many nodes that has each supernode, or -1 if none has it.

    Only so many nodes of each supernode count as are left.
    """
    levels = list(pairwise(bounds.tolist()))
    below = left.copy()
    for (high, low), (begin, end) in reversed(list(pairwise(levels))):
        below[high:low] += np.bincount(parent[begin:end] - high, below[begin:end], low - high).astype(np.int64)
    root = np.where(below <= most, np.arange(len(left)), -1)
    for begin, end in levels[1:]:
        above = root[parent[begin:end]]
        root[begin:end] = np.where(above >= 0, above, root[begin:end])
    return root
