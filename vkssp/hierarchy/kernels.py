"""What eliminating nodes one after the other joins, without joining it: the tree, the counts, and supernodes.

Nodes are named by their ranks: 0 is eliminated first. A node's parent in the elimination tree is the first of the
neighbours that are left when it is eliminated; all of these are above it in the tree, and all but the parent are left
when the parent is. The kernels after `place_in_postorder` want ranks that are in postorder: those of a node's
descendants come right before its own. Such ranks make the same arcs (J. W. H. Liu, 1990).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Int32s = npt.NDArray[Any]  # what is written are int64s, which numba narrows


@jit
def elimination_tree(first: Int32s, lower: Int32s, parent: Int32s) -> None:
    """Write the parent of each node, -1 for nodes without a parent.

    The edges to lower neighbours of node ``v`` are ``first[v]`` to ``first[v + 1] - 1``. This is Liu's algorithm with
    path compression ("A compact row storage scheme for Cholesky factors using elimination trees", 1986).
    """
    parent[:] = -1
    shortcut = parent.copy()
    for node in range(len(parent)):
        for edge in range(first[node], first[node + 1]):
            below = lower[edge]
            while below != -1 and below < node:
                above = shortcut[below]
                shortcut[below] = node
                if above == -1:
                    parent[below] = node
                below = above


@jit
def subtree_sizes(parent: Int32s, size: Int32s) -> None:
    """Write the number of nodes in the subtree of each node, itself included; parents have higher ranks."""
    size[:] = 1
    for node in range(len(parent)):
        if parent[node] >= 0:
            size[parent[node]] += size[node]


@jit
def place_in_postorder(parent: Int32s, size: Int32s, place: Int32s) -> None:
    """Write the rank of each node in a postorder of the tree; siblings keep their sequence."""
    free = np.empty_like(place)  # the highest rank that is not yet taken below a node
    root_free = len(parent) - 1
    for node in range(len(parent) - 1, -1, -1):
        above = parent[node]
        at = root_free if above < 0 else free[above]
        if above < 0:
            root_free -= size[node]
        else:
            free[above] -= size[node]
        place[node] = at
        free[node] = at - 1


@jit
def column_counts(first: Int32s, upper: Int32s, parent: Int32s, size: Int32s, count: Int32s) -> None:
    """Write the number of neighbours that are left when each node is eliminated.

    The edges to upper neighbours of node ``v`` are ``first[v]`` to ``first[v + 1] - 1``; ranks are in postorder. The
    algorithm is that of J. R. Gilbert, E. G. Ng and B. W. Peyton ("An efficient algorithm to compute row and column
    counts for sparse Cholesky factorization", 1994): nodes that lose node ``u`` are a subtree below it, whose leaves
    are found by the edges of ``u``; what two leaves share begins at their least common ancestor.
    """
    n = len(parent)
    most_first, last_leaf = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    joined = np.arange(n).astype(np.int32)
    for node in range(n):
        count[node] = 1 if size[node] == 1 else 0
    for node in range(n):
        above = parent[node]
        if above >= 0:
            count[above] -= 1
        first_descendant = node - size[node] + 1
        for edge in range(first[node], first[node + 1]):
            up = upper[edge]
            if first_descendant <= most_first[up]:
                continue
            most_first[up] = first_descendant
            before = last_leaf[up]
            last_leaf[up] = node
            count[node] += 1
            if before >= 0:
                common = before
                while common != joined[common]:
                    common = joined[common]
                while before != common:
                    following = joined[before]
                    joined[before] = common
                    before = following
                count[common] -= 1
        if above >= 0:
            joined[node] = above
    for node in range(n):
        if parent[node] >= 0:
            count[parent[node]] += count[node]
        count[node] -= 1


@jit
def tree_heights(parent: Int32s, height: Int32s) -> int:
    """Write the number of nodes below each node on its longest path down; return the nodes on the longest path."""
    height[:] = 0
    highest = 0
    for node in range(len(parent)):
        highest = max(highest, height[node] + 1)
        if parent[node] >= 0:
            height[parent[node]] = max(height[parent[node]], height[node] + 1)
    return highest


@jit
def make_supernodes(
    parent: Int32s,
    count: Int32s,
    height: Int32s,
    relax: int,
    group: Int32s,
    inside: Int32s,
    below: Int32s,
    top: Int32s,
    level: Int32s,
) -> int:
    """Cut the tree into paths down, each a supernode, and return the number of supernodes.

    A node's child joins its supernode where the list that it then has is longer than its own by at most `relax`: of
    several the one with the greatest height, of these the lowest. Supernodes are counted from the top.

    For each node `group` is its supernode, `inside` its place in that from the top, and `below` the next node, or -1;
    for each supernode `top` is its first node and `level` how many supernodes lie above it.
    """
    n = len(parent)
    first_child, next_child = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for node in range(n - 1, -1, -1):
        if parent[node] >= 0:
            next_child[node] = first_child[parent[node]]
            first_child[parent[node]] = node
    group[:] = -1
    below[:] = -1
    made = 0
    for start in range(n - 1, -1, -1):
        if group[start] >= 0:
            continue
        top[made] = start
        level[made] = 0 if parent[start] < 0 else level[group[parent[start]]] + 1
        node, length, place = start, count[start], 0
        while True:
            group[node] = made
            inside[node] = place
            length += 1
            place += 1
            best, child = -1, first_child[node]
            while child >= 0:
                if length - count[child] <= relax and (best < 0 or height[child] > height[best]):
                    best = child
                child = next_child[child]
            if best < 0:
                break
            below[node] = best
            node = best
        made += 1
    return made


@jit
def list_ancestors(
    first: Int32s,
    upper: Int32s,
    parent: Int32s,
    group: Int32s,
    below: Int32s,
    top: Int32s,
    position: Int32s,
    begin: Int32s,
    ancestor: Int32s,
) -> None:
    """Write the positions of each supernode's ancestors, ascending, from ``begin[supernode]`` on.

    They are the neighbours of its nodes above it and the ancestors of the supernodes below it that are above it, too.
    All of these are on one way up, on which higher nodes have lower positions.
    """
    num_groups = len(top)
    mark = np.full(len(parent), -1, np.int32)
    first_child, next_child = np.full(num_groups, -1, np.int32), np.full(num_groups, -1, np.int32)
    length = np.zeros(num_groups, np.int32)
    for number in range(num_groups - 1, -1, -1):
        start = begin[number]
        at = start
        highest = position[top[number]]
        node = top[number]
        while node >= 0:
            for edge in range(first[node], first[node + 1]):
                up = position[upper[edge]]
                if up < highest and mark[up] != number:
                    mark[up] = number
                    ancestor[at] = up
                    at += 1
            node = below[node]
        child = first_child[number]
        while child >= 0:
            for entry in range(begin[child], begin[child] + length[child]):
                up = ancestor[entry]
                if up >= highest:
                    break
                if mark[up] != number:
                    mark[up] = number
                    ancestor[at] = up
                    at += 1
            child = next_child[child]
        ancestor[start:at].sort()
        length[number] = at - start
        above = parent[top[number]]
        if above >= 0:
            next_child[number] = first_child[group[above]]
            first_child[group[above]] = number


@jit
def label_of(seen: int, twice: int) -> int:
    """Return the lowest label that a node may have, given those that it sees below it, and those seen in two ways."""
    label = 0
    while twice >> label:
        label += 1
    while seen >> label & 1:
        label += 1
    return label


@jit
def label_trees(
    first: Int32s,
    neighbour: Int32s,
    label: Int32s,
    sequence: Int32s,
    low: Int32s,
    high: Int32s,
) -> tuple[int, int]:
    """Label the nodes of trees that hang on the others, or link two of them, and write the edges between the others.

    Between two nodes of a tree that have the same label there is one with a higher one, so that they may be eliminated
    by their labels, and no way up passes more nodes than there are labels: the fewest possible. A node needs to know
    only of the labels that are seen from it, over no higher ones (A. A. Schaffer, "Optimal node ranking of trees in
    linear time", 1989).

    Nodes that get none, the core, have the label -1: those that are on cycles and have three neighbours or more there,
    and one node of each cycle by itself. A chain between two of them is an edge there, which may come twice.

    Parameters
    ----------
    first, neighbour : numpy.ndarray
        The neighbours of each node, both ways.
    label : numpy.ndarray
        The label of each node, shape (num_nodes,), is written.
    sequence : numpy.ndarray
        Nodes with labels are written, those farther out before those that they hang on; shape (num_nodes,).
    low, high : numpy.ndarray
        The edges of the core are written, shape (num_edges,).

    Returns
    -------
    tuple
        Number of nodes with labels, and of edges.
    """
    n = len(label)
    label[:] = -1
    degree = np.empty(n, np.int32)
    seen, twice = np.zeros(n, np.int64), np.zeros(n, np.int64)
    # Dead ends: a node is next as soon as one neighbour is left, which it hangs on.
    is_dead_end = np.zeros(n, np.bool_)
    labelled = 0
    for node in range(n):
        degree[node] = first[node + 1] - first[node]
        if degree[node] <= 1:
            sequence[labelled] = node
            labelled += 1
    at = 0
    while at < labelled:
        node = sequence[at]
        at += 1
        is_dead_end[node] = True
        label[node] = label_of(seen[node], twice[node])
        visible = (seen[node] >> label[node] | 1) << label[node]
        for edge in range(first[node], first[node + 1]):
            other = neighbour[edge]
            if not is_dead_end[other]:
                twice[other] |= seen[other] & visible
                seen[other] |= visible
                degree[other] -= 1
                if degree[other] == 1:
                    sequence[labelled] = other
                    labelled += 1
    # Chains, from all nodes of the core; and then from one of each cycle that has none.
    made = 0
    for is_cycle in (False, True):
        for start in range(n):
            if is_dead_end[start] or (label[start] >= 0 or degree[start] != 2 if is_cycle else degree[start] == 2):
                continue
            degree[start] = max(degree[start], 3)
            for edge in range(first[start], first[start + 1]):
                before, node, visible = start, neighbour[edge], 0
                if is_dead_end[node]:
                    continue
                while degree[node] == 2:
                    if label[node] < 0:
                        twice[node] |= seen[node] & visible
                        seen[node] |= visible
                        label[node] = label_of(seen[node], twice[node])
                        visible = (seen[node] >> label[node] | 1) << label[node]
                        sequence[labelled] = node
                        labelled += 1
                    for beyond in range(first[node], first[node + 1]):
                        other = neighbour[beyond]
                        if other != before and not is_dead_end[other]:
                            break
                    before, node = node, other
                if start < node:
                    low[made] = start
                    high[made] = node
                    made += 1
    return labelled, made
