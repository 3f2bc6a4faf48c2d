"""Construction of a hierarchy from an elimination: supernodes, their ancestors, and levels."""

from __future__ import annotations

from functools import partial

import numpy as np

from vkssp.arrays import own
from vkssp.cores import run_all
from vkssp.graph.csr import rows_of
from vkssp.graph.hierarchy import RELAX, Hierarchy, Indices
from vkssp.hierarchy.edges import Int32s
from vkssp.hierarchy.elimination import Elimination
from vkssp.jit import kernels

#: Tasks for all cores, and fewest nodes of a subtree that is worth one.
_TASKS, FEWEST_NODES = 64, 1 << 13


def build(elimination: Elimination) -> Hierarchy:
    """Return the hierarchy of an elimination.

    Supernodes are paths down the elimination tree (fundamental supernodes: J. W. H. Liu, E. G. Ng, B. W. Peyton, "On
    finding supernodes for sparse matrix computations", 1993), relaxed by `RELAX` (C. Ashcraft and R. Grimes, "The
    influence of relaxed supernode partitions on the multifrontal method", 1989). Only supernodes get lists of
    ancestors, which are made from the lists of the child supernodes; their lengths are known in advance.
    """
    kernel = kernels("vkssp.hierarchy.kernels")
    n, parent = len(elimination.node), elimination.parent
    group, inside, below, top, level = (np.empty(n, np.int32) for _ in range(5))
    made = int(
        kernel.make_supernodes(parent, elimination.count, elimination.height, RELAX, group, inside, below, top, level)
    )
    top, level = top[:made], level[:made]
    num_levels = int(level.max(initial=-1)) + 1
    first_of_level, by_level = rows_of(level.astype(np.uint32), num_levels)
    number = np.empty(made, np.int64)
    number[by_level] = np.arange(made)
    first_node = _offsets(np.bincount(group, minlength=made)[by_level])
    first_ancestor = _offsets(elimination.count[top[by_level]])
    hierarchy_rank = (first_node[number[group]] + inside).astype(np.int32)
    ancestor = np.empty(int(first_ancestor[-1]), np.int32)
    depth, first_child, next_child = (np.empty(size, np.int32) for size in (n, made, made))
    kernel.link(parent, hierarchy_rank, group, top, depth, first_child, next_child)
    edges = elimination.first, elimination.upper, below, top, first_child, next_child, hierarchy_rank, depth
    bounds = elimination.tree_height, first_ancestor[number], first_ancestor[number + 1], ancestor
    *apart, rest = (partial(kernel.list_ancestors, *edges, *bounds, some) for some in _subtrees(parent, top))
    run_all(apart)
    rest()
    node = np.empty(n, np.uint32)
    node[hierarchy_rank] = elimination.node
    arrays = node, first_node, first_ancestor, ancestor, first_of_level
    return Hierarchy(*(own(np.ascontiguousarray(array, np.uint32)) for array in arrays))


def _subtrees(parent: Int32s, top: Int32s) -> list[Int32s]:
    """Return the supernodes of subtrees that are independent of each other, and last the supernodes above all of them.

    Children come before their parents in each array.
    """
    size = np.empty(len(parent), np.int32)
    kernels("vkssp.hierarchy.kernels").subtree_sizes(parent, size)
    most = max(FEWEST_NODES, len(parent) // _TASKS)
    is_low, above = size[top] <= most, parent[top]
    is_root = is_low & ((above < 0) | (size[above] > most))
    low, root = np.flatnonzero(is_low).astype(np.int32), np.flatnonzero(is_root[is_low])
    # Numbers of supernodes ascend from the root of a subtree on, and no other subtree is between them.
    after = np.searchsorted(root, np.arange(1, _TASKS) * (len(low) / _TASKS))
    cuts = np.unique(root[after[after < len(root)]])
    parts = [part[::-1] for part in np.split(low, cuts)]
    return [*parts, np.flatnonzero(~is_low)[::-1].astype(np.int32)]


def _offsets(count: Int32s | Indices) -> Indices:
    """Return the offsets of lists of given lengths, and the end of the last list."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(count, dtype=np.int64)])
