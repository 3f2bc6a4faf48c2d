"""Order in which a batch sweeps nodes: by levels at the top of the hierarchy, by small subtrees below.

The arcs to the nodes of a small subtree come mostly from each other and from the same ancestors. So an invocation that
sweeps a whole subtree, node by node, finds most of the distances in the caches, and waits for no other invocation.
Small subtrees at the bottom of a hierarchy are many, and take one dispatch in place of several.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vkssp.graph import Uint32s
from vkssp.graph.hierarchy import Hierarchy


class SweepOrder(NamedTuple):
    """Order of the nodes that are swept.

    Attributes
    ----------
    rank : numpy.ndarray
        Rank of each node, shape (nodes,), uint32.
    levels : list of (int, int)
        Bounds in `rank` of the nodes of each level that are in no subtree, without those of levels that have none.
    first : numpy.ndarray
        The first node of each subtree, and the number of nodes, shape (subtrees + 1,), uint32.
    """

    rank: Uint32s
    levels: list[tuple[int, int]]
    first: Uint32s


def sweep_order(hierarchy: Hierarchy, swept: Uint32s, most_nodes: int) -> SweepOrder:
    """Order nodes for a sweep, so that each comes after all of its ancestors.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy.
    swept : numpy.ndarray
        Ranks of the nodes to sweep, ascending, uint32, with all of their ancestors.
    most_nodes : int
        Largest number of these nodes in a subtree of the elimination tree that is swept as a whole; 0 for levels only.
    """
    group = hierarchy.supernode[swept]
    bounds = hierarchy.first_of_level.astype(np.int64)
    levels = list(pairwise(bounds.tolist()))
    parent = hierarchy.supernode[hierarchy.parent].astype(np.int64)  # any for those of the first level, which have none
    below = np.bincount(group, minlength=hierarchy.num_supernodes)
    for begin, end in reversed(levels[1:]):  # parents may lie several levels above
        np.add.at(below, parent[begin:end], below[begin:end])
    root = np.where(below <= most_nodes, np.arange(len(below)), -1)  # of the largest subtree, or -1
    for begin, end in levels[1:]:
        above = root[parent[begin:end]]
        root[begin:end] = np.where(above >= 0, above, root[begin:end])
    of_node = root[group]
    order = np.argsort(of_node, kind="stable")
    of_node, rank = of_node[order], swept[order]
    num_top = int(np.searchsorted(of_node, 0))
    of_level = np.searchsorted(rank[:num_top], hierarchy.first_node[bounds]).tolist()
    first = num_top + np.flatnonzero(np.diff(of_node[num_top:], prepend=-1))
    spans = [(begin, end) for begin, end in pairwise(of_level) if begin < end]
    return SweepOrder(rank, spans, np.append(first, len(rank)).astype(np.uint32))
