"""Kernels of customization: the weights of a hierarchy's arcs, computed supernode by supernode.

This is a multifrontal elimination (J. W. H. Liu, The multifrontal method for sparse matrix solution: theory and
practice, 1992) with minimum in place of addition, and addition in place of multiplication. The front of a supernode is
a square: its ancestors, by ascending rank, and then its own nodes. The entry in row y and column x < y is the arc
between these two. The rows of the supernode's own nodes are its arcs of the hierarchy. What paths over these nodes
contribute to the arcs between its ancestors goes into the front of its parent. Rows are padded to multiples of eight
entries, and entries with x >= y have no meaning, so that vectors may reach beyond the end of a row.

In postorder only the fronts of one path to the root are in use, so that one for each level is enough.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.types import Int32s, Int64s, Uint32s
from vkssp.cpu.kernels.vectors import fill_8, greater, improve_8, lesser, lower
from vkssp.jit import jit

UNREACHABLE = np.uint32(2**32 - 1)
ZERO, ONE, SEVEN, EIGHT = (np.uint64(value) for value in (0, 1, 7, 8))


@jit
def place_ancestors(
    first_node: Uint32s, first_ancestor: Uint32s, ancestor: Uint32s, parent: Int32s, place: Uint32s
) -> None:
    """Write the place of each ancestor of a supernode in the front of the supernode's parent."""
    for group in range(len(parent)):
        above = parent[group]
        if above < 0:
            continue
        at, low = np.int64(first_ancestor[above]), np.int64(first_node[above])
        first, end = at, np.int64(first_ancestor[above + 1])
        for entry in range(first_ancestor[group], first_ancestor[group + 1]):
            rank = np.int64(ancestor[entry])
            if rank >= low:
                place[entry] = end - first + rank - low
            else:
                while ancestor[at] != rank:
                    at += 1
                place[entry] = at - first


@jit
def place_arcs(
    first_out: Uint32s,
    head: Uint32s,
    rank: Uint32s,
    supernode: Uint32s,
    first_node: Uint32s,
    first_ancestor: Uint32s,
    ancestor: Uint32s,
    group_of: Int32s,
    place: Int64s,
    first: Int64s,
    given: Int64s,
    given_place: Int64s,
) -> None:
    """Sort the arcs of a graph by supernodes, with their places in the fronts of these.

    A place is doubled, plus one if the arc leads down. `first` has the first entry of each supernode in `given` and
    `given_place`, and is longer by two than the number of supernodes; it is zero at first. There are no entries for
    loops. `group_of` and `place` are room for the supernode and the place of each arc.
    """
    arc = np.int64(0)
    for node in range(len(first_out) - 1):
        tail = np.int64(rank[node])
        while arc < first_out[node + 1]:
            other = np.int64(rank[head[arc]])
            low, high = greater(tail, other), lesser(tail, other)
            group_of[arc] = -1
            if low != high:
                group = np.int64(supernode[low])
                bottom, begin = np.int64(first_node[group]), np.int64(first_ancestor[group])
                end = np.int64(first_ancestor[group + 1])
                count = end - begin
                column = count + high - bottom
                if high < bottom:
                    column = begin
                    while column < end:
                        middle = (column + end) >> 1
                        if ancestor[middle] < high:
                            column = middle + 1
                        else:
                            end = middle
                    column -= begin
                stride = (count + np.int64(first_node[group + 1]) - bottom + 7) & ~7
                place[arc] = 2 * ((count + low - bottom) * stride + column) + (tail < other)
                group_of[arc] = group
                first[group + 2] += 1
            arc += 1
    for at in range(2, len(first)):
        first[at] += first[at - 1]
    for number in range(len(group_of)):
        if group_of[number] >= 0:
            following = group_of[number] + 1
            at = first[following]
            given[at], given_place[at] = number, place[number]
            first[following] += 1


@jit
def customize(
    first_node: Uint32s,
    first_ancestor: Uint32s,
    first_arc: Int64s,
    parent: Int32s,
    level: Uint32s,
    place: Uint32s,
    given_first: Int64s,
    given_place: Int64s,
    given: Int64s,
    weights: Uint32s,
    order: Int32s,
    saved: Int64s,
    top: np.uint32,
    front_at: Int64s,
    owner: Int32s,
    up_front: Uint32s,
    down_front: Uint32s,
    up: Uint32s,
    down: Uint32s,
) -> np.uint32:
    """Customize the arcs of supernodes, given in postorder, and return the largest finite weight.

    Parameters
    ----------
    given_first, given_place, given
        The arcs of the graph, sorted by supernode, with their places in fronts; see `place_arcs`.
    order, saved
        The supernodes; those whose fronts are done already with the place of that front, others with -1.
    top
        The first level of these supernodes; fronts above it are left to a later call.
    front_at, owner
        The place of the front of each level, and the supernode that it belongs to, -1 at first.
    """
    most = np.uint32(0)
    for number in range(len(order)):
        group = order[number]
        size = np.uint64(first_node[group + 1] - first_node[group])
        entry = np.uint64(first_ancestor[group])
        count = np.uint64(first_ancestor[group + 1]) - entry
        stride = (count + size + SEVEN) & ~SEVEN
        # Fronts from here up to the root, or up to the first that has been begun.
        begun = parent[group] if saved[number] >= 0 else group
        while begun >= 0 and level[begun] >= top and owner[level[begun]] != begun:
            at = np.uint64(front_at[level[begun]])
            end = np.uint64(first_node[begun + 1] - first_node[begun])
            end += np.uint64(first_ancestor[begun + 1] - first_ancestor[begun])
            end = at + end * ((end + SEVEN) & ~SEVEN)
            base = at
            while at < end:
                fill_8(up_front, at, UNREACHABLE)
                fill_8(down_front, at, UNREACHABLE)
                at += EIGHT
            for arc in range(given_first[begun], given_first[begun + 1]):
                at, weight = base + np.uint64(given_place[arc] >> 1), weights[given[arc]]
                if given_place[arc] & 1:
                    lower(down_front, at, weight)
                else:
                    lower(up_front, at, weight)
            owner[level[begun]] = begun
            begun = parent[begun]
        front = np.uint64(saved[number])
        if saved[number] < 0:
            front, node = np.uint64(front_at[level[group]]), count + size
            while node > count:
                node -= ONE
                row, y = front + node * stride, ONE
                while y < node:
                    to, x = front + y * stride, ZERO
                    up_weight, down_weight = up_front[row + y], down_front[row + y]
                    while x < y:
                        improve_8(up_front, to + x, up_front, row + x, down_weight)
                        improve_8(down_front, to + x, down_front, row + x, up_weight)
                        x += EIGHT
                    y += ONE
            to, row = np.uint64(first_arc[group]), front + count * stride
            while node < count + size:
                x = ZERO
                while x < node:
                    up_weight, down_weight = up_front[row + x], down_front[row + x]
                    up[to], down[to] = up_weight, down_weight
                    if up_weight != UNREACHABLE:
                        most = greater(most, up_weight)
                    if down_weight != UNREACHABLE:
                        most = greater(most, down_weight)
                    to += ONE
                    x += ONE
                row += stride
                node += ONE
        above = parent[group]
        if above < 0 or level[above] < top:
            continue
        other = np.uint64(front_at[level[above]])
        step = np.uint64(first_node[above + 1] - first_node[above])
        step = (step + np.uint64(first_ancestor[above + 1] - first_ancestor[above]) + SEVEN) & ~SEVEN
        row, y = front + stride, ONE
        while y < count:
            to, x = other + np.uint64(place[entry + y]) * step, ZERO
            while x < y:
                at = to + np.uint64(place[entry + x])
                lower(up_front, at, up_front[row + x])
                lower(down_front, at, down_front[row + x])
                x += ONE
            row += stride
            y += ONE
    return most
