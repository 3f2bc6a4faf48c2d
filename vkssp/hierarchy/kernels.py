"""Kernels of preprocessing: elimination tree, numbers of arcs, supernodes and their ancestors, without the arcs.

Nodes are named by their ranks: rank 0 is eliminated first. The parent of a node in the elimination tree is the lowest
of the neighbours that are left when the node is eliminated. All of these neighbours are above the node in the tree, and
all but the parent are neighbours of the parent when it is eliminated. The kernels after `place_in_postorder` need ranks
in postorder, in which the ranks of a node's descendants come right before its own. Such ranks give the same arcs
(J. W. H. Liu, 1990).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit_allocating

Int32s = npt.NDArray[Any]  # the kernels assign int64 values, which numba narrows
# Neighbours of a node that are sorted one by one.
_FEW = 16


@jit_allocating
def sort_by_node(node: Int32s, neighbour: Int32s, first: Int32s, near: Int32s) -> None:
    """Write the neighbours of each node, in their sequence, and the offset of each node's first, by a counting sort.

    `first` has an entry more than there are nodes, and is zero before.
    """
    for edge in range(len(node)):
        first[node[edge] + 1] += 1
    for at in range(1, len(first)):
        first[at] += first[at - 1]
    for edge in range(len(node)):
        at = node[edge]
        near[first[at]] = neighbour[edge]
        first[at] += 1
    # Each offset is that of the next node now.
    for at in range(len(first) - 1, 0, -1):
        first[at] = first[at - 1]
    first[0] = 0


@jit_allocating
def distinct_edges(first: Int32s, near: Int32s, low: Int32s) -> int:
    """Leave in `near` the different neighbours of each node, ascending, without itself, one node after the other.

    Returns
    -------
    int
        Their number; `low` gets the node of each.
    """
    made = 0
    for node in range(len(first) - 1):
        begin, end = first[node], first[node + 1]
        if end - begin > _FEW:
            near[begin:end].sort()
        else:  # by insertion, which takes less time than the call
            for edge in range(begin + 1, end):
                other, at = near[edge], edge
                while at > begin and near[at - 1] > other:
                    near[at] = near[at - 1]
                    at -= 1
                near[at] = other
        before = node
        for edge in range(begin, end):
            other = near[edge]
            if other != before:
                near[made] = other
                low[made] = node
                made += 1
            before = other
    return made


@jit_allocating
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


@jit_allocating
def subtree_sizes(parent: Int32s, size: Int32s) -> None:
    """Write the number of nodes in the subtree of each node, the node included; parents must have higher ranks."""
    size[:] = 1
    for node in range(len(parent)):
        if parent[node] >= 0:
            size[parent[node]] += size[node]


@jit_allocating
def place_in_postorder(parent: Int32s, size: Int32s, place: Int32s) -> None:
    """Write the rank of each node in a postorder of the tree; siblings keep their order."""
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


@jit_allocating
def column_counts(first: Int32s, upper: Int32s, parent: Int32s, size: Int32s, count: Int32s) -> None:
    """Write the number of neighbours that are left when each node is eliminated.

    The edges to upper neighbours of node ``v`` are ``first[v]`` to ``first[v + 1] - 1``; ranks are in postorder. The
    algorithm is that of J. R. Gilbert, E. G. Ng and B. W. Peyton ("An efficient algorithm to compute row and column
    counts for sparse Cholesky factorization", 1994): the nodes that have a node ``u`` as a neighbour when they are
    eliminated form a subtree below ``u``. The edges of ``u`` give its leaves, and the paths from two leaves meet at
    their lowest common ancestor.
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


@jit_allocating
def tree_heights(parent: Int32s, height: Int32s) -> int:
    """Write the number of nodes below each node on its longest path down; return the number on the longest path."""
    height[:] = 0
    highest = 0
    for node in range(len(parent)):
        highest = max(highest, height[node] + 1)
        if parent[node] >= 0:
            height[parent[node]] = max(height[parent[node]], height[node] + 1)
    return highest


@jit_allocating
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
    """Split the tree into paths down, each a supernode, and return the number of supernodes.

    A child joins the supernode of its parent if the child's list of arcs grows by at most `relax`. Of several such
    children, the child with the greatest height joins; of equal heights, the child with the lowest rank. Supernodes are
    numbered from the top.

    The kernel writes for each node its supernode (`group`), its place in the supernode from the top (`inside`), and the
    next node of the supernode or -1 (`below`), and for each supernode its first node (`top`) and the number of
    supernodes above it (`level`).
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


@jit_allocating
def link(
    parent: Int32s,
    hierarchy_rank: Int32s,
    group: Int32s,
    top: Int32s,
    depth: Int32s,
    first_child: Int32s,
    next_child: Int32s,
) -> None:
    """Write the number of nodes above each node of the tree, by hierarchy rank, and lists of each supernode's children.

    A list begins with `first_child`, goes on with the `next_child` of each child, and ends with -1.
    """
    for node in range(len(parent) - 1, -1, -1):
        above = parent[node]
        depth[hierarchy_rank[node]] = 0 if above < 0 else depth[hierarchy_rank[above]] + 1
    first_child[:] = -1
    for number in range(len(top) - 1, -1, -1):
        above = parent[top[number]]
        if above >= 0:
            next_child[number] = first_child[group[above]]
            first_child[group[above]] = number


@jit_allocating
def list_ancestors(
    first: Int32s,
    upper: Int32s,
    below: Int32s,
    top: Int32s,
    first_child: Int32s,
    next_child: Int32s,
    hierarchy_rank: Int32s,
    depth: Int32s,
    most: int,
    begin: Int32s,
    end: Int32s,
    ancestor: Int32s,
    numbers: Int32s,
) -> None:
    """Write the hierarchy ranks of the ancestors of some supernodes, ascending, each from `begin` to `end`.

    These ancestors are the neighbours of its nodes above it, and the ancestors of its child supernodes that are above
    it. All are on the same path to the root, on which higher nodes have lower ranks in the hierarchy, and no two have
    the same `depth`, which is below `most`. The lists of the children must be there.
    """
    mark = np.full(most, -1, np.int32)
    for number in numbers:
        at = begin[number]
        highest = hierarchy_rank[top[number]]
        node = top[number]
        while node >= 0:
            for edge in range(first[node], first[node + 1]):
                up = hierarchy_rank[upper[edge]]
                if up < highest and mark[depth[up]] != number:
                    mark[depth[up]] = number
                    ancestor[at] = up
                    at += 1
            node = below[node]
        child = first_child[number]
        while child >= 0:
            for entry in range(begin[child], end[child]):
                up = ancestor[entry]
                if up >= highest:
                    break
                if mark[depth[up]] != number:
                    mark[depth[up]] = number
                    ancestor[at] = up
                    at += 1
            child = next_child[child]
        ancestor[begin[number] : at].sort()


@jit_allocating
def label_of(seen: int, twice: int) -> int:
    """Return the lowest label that a node may have, given the labels that it sees, and those that it sees twice."""
    label = 0
    while twice >> label:
        label += 1
    while seen >> label & 1:
        label += 1
    return label


@jit_allocating
def label_trees(
    first: Int32s, neighbour: Int32s, label: Int32s, sequence: Int32s, low: Int32s, high: Int32s
) -> tuple[int, int]:
    """Label the nodes of trees that are attached to one core node or link two, and write the edges of the core.

    Between two nodes of a tree with the same label there is a node with a higher label. So the nodes can be eliminated
    in the order of their labels, and no path to the root has more nodes of the tree than there are labels, which is the
    smallest possible number. A node sees the labels below it that no higher label hides, and its own label depends only
    on these (A. A. Schaffer, "Optimal node ranking of trees in linear time", 1989).

    The core has the label -1. It consists of the nodes with at least three neighbours outside of dead ends, and one
    node of each cycle without such nodes. A chain between two core nodes is an edge of the core; such edges may be
    parallel.

    Parameters
    ----------
    first, neighbour : numpy.ndarray
        Neighbours of each node, in both directions.
    label : numpy.ndarray
        Output: label of each node, shape (num_nodes,).
    sequence : numpy.ndarray
        Output: nodes with labels, outer nodes before the nodes that they are attached to; shape (num_nodes,).
    low, high : numpy.ndarray
        Output: edges of the core, shape (num_edges,).

    Returns
    -------
    tuple
        Number of nodes with labels, and of edges.
    """
    n = len(label)
    label[:] = -1
    degree = np.empty(n, np.int32)
    seen, twice = np.zeros(n, np.int64), np.zeros(n, np.int64)
    # Dead ends: a node follows as soon as only one neighbour is left, to which it is attached.
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
    # Chains: first from all nodes of the core, then from one node of each cycle without such nodes.
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


@jit_allocating
def part_rows(
    nodes: Int32s,
    first: Int32s,
    neighbour: Int32s,
    part: Int32s,
    place: Int32s,
    number: int,
    offsets: Int32s,
    near: Int32s,
) -> int:
    """Write the neighbours of some nodes that are in the same part, by their places; return how many there are."""
    size = 0
    for at in range(len(nodes)):
        offsets[at] = size
        for edge in range(first[nodes[at]], first[nodes[at] + 1]):
            other = neighbour[edge]
            if part[other] == number:
                near[size] = place[other]
                size += 1
    offsets[len(nodes)] = size
    return size
