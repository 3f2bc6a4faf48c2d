"""Kernels of partial customization: the weights of a hierarchy's arcs after few weights of the graph have changed.

Each arc whose weight may differ waits in a heap, lower nodes first, so that all arcs below it are known when it is
taken. If its weight has changed, the arcs between its upper end and the other ancestors of its lower end may change,
too: those that a path over the lower end made as light as they are, or makes lighter now (J. Dibbelt, B. Strasser, D.
Wagner, Customizable contraction hierarchies, 2014, section 7.6). Only an arc that has lost such a path needs a look at
all triangles below it. Ranks count from the top, and arcs are sorted by the rank of their lower ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vkssp.cpu.kernels.phast import ANCESTOR, ARC, NODE, PARENT, Tree
from vkssp.cpu.kernels.types import Flag, Index, Int32s, Int64s, Uint32s, Uint64s
from vkssp.cpu.kernels.unpack import place_in
from vkssp.cpu.kernels.vectors import greater, lesser
from vkssp.jit import inlined, jit, jit_allocating

UNREACHABLE = np.uint64(2**32 - 1)
# An entry of the heap: twice an arc, plus one if it leads down, and in the lower 32 bits the weight of a path in its
# place now, or UNREACHABLE. If that is more than the arc weighed, a path of its weight may be lost.
KEY = np.uint64(32)
ONE = np.uint64(1)


class Below(NamedTuple):
    """Supernodes that have each rank among their ancestors: the first of each rank, and all of them.

    For each of them `arc` has the arc from its first node to the rank, or -1 less it if it has more nodes, and
    `highest` its first ancestor.
    """

    first: Int64s
    group: Int32s
    arc: Int32s
    highest: Int32s


@jit
def list_below(tree: Tree, first: Int64s, group: Int32s, arc: Int32s, highest: Int32s) -> None:
    """Write the arrays of `Below`, with ascending supernodes; `first` is longer by one entry, and zero at first."""
    for entry in range(len(tree.ancestor)):
        first[tree.ancestor[entry] + 2] += 1
    for rank in range(2, len(first)):
        first[rank] += first[rank - 1]
    for lower in range(len(tree.groups) - 1):
        begin, is_lone = tree.groups[lower, ANCESTOR], tree.groups[lower + 1, NODE] - tree.groups[lower, NODE] == 1
        for entry in range(begin, tree.groups[lower + 1, ANCESTOR]):
            following = tree.ancestor[entry] + 1
            at, found = first[following], tree.groups[lower, ARC] + entry - begin
            group[at], arc[at], highest[at] = lower, found if is_lone else -1 - found, tree.ancestor[begin]
            first[following] += 1


@inlined
def row_of(tree: Tree, group: Index, inside: Index) -> Any:
    """Return the first arc of the node at a place in a supernode."""
    count = tree.groups[group + 1, ANCESTOR] - tree.groups[group, ANCESTOR]
    return tree.groups[group, ARC] + inside * count + (inside * (inside - 1) >> 1)


@inlined
def column_in(ancestor: Uint32s, begin: Index, end: Index, rank: Index) -> Any:
    """Return the place of a rank among ancestors, or -1."""
    found = place_in(ancestor, begin, end, rank)
    return found - begin if found < end and np.int64(ancestor[found]) == rank else np.int64(-1)


@inlined
def given_weight(first_out: Uint32s, head: Uint32s, weights: Uint32s, tail: Index, to: Index) -> Any:
    """Return the weight of the lightest arc of the graph between two of its nodes."""
    least: Any = UNREACHABLE
    for arc in range(np.int64(first_out[tail]), np.int64(first_out[np.int64(tail) + 1])):
        if head[arc] == to:
            least = lesser(least, np.uint64(weights[arc]))
    return least


@jit
def least_below(
    tree: Tree,
    below: Below,
    enters: Uint32s,
    leaves: Uint32s,
    low: Index,
    column: Index,
    high: Index,
    least: Any,
    enough: Any,
) -> tuple[Any, Any]:
    """Return the lesser of `least` and the lightest path over a node below both ends of an arc, and the work done.

    Parameters
    ----------
    enters, leaves
        Weights of arcs between the lower node and the lower end, and between it and the upper end, in the direction
        of the path.
    low, column, high
        Lower end, the place of the upper end among its ancestors, and the upper end.
    enough
        A bound of the result; the search ends when it is reached.
    """
    group = np.int64(tree.supernode[low])
    begin, end = tree.groups[group, ANCESTOR], tree.groups[group + 1, ANCESTOR]
    inside = low - tree.groups[group, NODE]
    to_low, size = end - begin + inside, tree.groups[group + 1, NODE] - tree.groups[group, NODE]
    for other in range(inside + 1, size):
        row = row_of(tree, group, other)
        least = lesser(least, np.uint64(enters[row + to_low]) + np.uint64(leaves[row + column]))
    work = size - inside
    first, last = below.first[low], below.first[low + 1]
    # The shorter list of the two; those below the upper end need not lie below the lower one.
    first_high, last_high = below.first[high], below.first[high + 1]
    by_high = last_high - first_high < last - first
    if by_high:
        first, last = first_high, last_high
    known, searched, wanted = (leaves, enters, low) if by_high else (enters, leaves, high)
    work += last - first
    for at in range(first, last):
        if not by_high and np.int64(below.highest[at]) > high:
            continue
        arc = np.int64(below.arc[at])
        if arc >= 0 and np.uint64(known[arc]) >= least:
            continue
        lower_group = np.int64(below.group[at])
        if by_high and lower_group <= group:
            continue
        size = tree.groups[lower_group + 1, NODE] - tree.groups[lower_group, NODE]
        place = (-1 - arc if arc < 0 else arc) - tree.groups[lower_group, ARC]
        other_place: Any = np.int64(-2)
        for other in range(size):
            row = row_of(tree, lower_group, other)
            half = np.uint64(known[row + place])
            if half < least:
                if other_place == -2:
                    begin, end = tree.groups[lower_group, ANCESTOR], tree.groups[lower_group + 1, ANCESTOR]
                    other_place = column_in(tree.ancestor, begin, end, wanted)
                    work += 4
                if other_place < 0:
                    break
                least = lesser(least, half + np.uint64(searched[row + other_place]))
        if least <= enough:
            break
    return least, work


@inlined
def push(heap: Uint64s, length: Any, key: Any, value: Any) -> Any:
    """Add an entry to a heap with the greatest one first, which has room for it; return the new length."""
    entry = np.uint64(key) << KEY | np.uint64(value)
    at = np.int64(length)
    while at > 0 and heap[(at - 1) >> 1] < entry:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = entry
    return length + 1


@jit
def pop(heap: Uint64s, length: Any) -> None:
    """Remove the first entry of a heap."""
    last, end, at, down = heap[length - 1], np.int64(length) - 1, np.int64(0), np.int64(1)
    while down < end:
        if down + 1 < end and heap[down] < heap[down + 1]:
            down += 1
        if heap[down] <= last:
            break
        heap[at] = heap[down]
        at, down = down, 2 * down + 1
    heap[at] = last


@inlined
def look(heap: Uint64s, length: Any, values: Uint32s, at: Any, leads_down: Any, old: Any, new: Any) -> Any:
    """Note that a path of the weight of an arc weighs more now, or one less than the arc; return the heap's length."""
    weight = np.uint64(values[at])
    if new < weight:
        return push(heap, length, 2 * at + np.int64(leads_down), new)
    if old == weight and new != old and old != UNREACHABLE:
        return push(heap, length, 2 * at + np.int64(leads_down), lesser(new, UNREACHABLE))
    return length


@jit
def entries_of(
    tree: Tree, rank: Uint32s, first_out: Uint32s, head: Uint32s, arcs: Int64s, entries: Uint64s, groups: Int32s
) -> int:
    """Write entries of the heap for arcs of the graph, and the supernodes of their lower ends; return their number."""
    length = 0
    for number in range(len(arcs)):
        arc = arcs[number]
        first, last = np.int64(0), np.int64(len(first_out)) - 1
        while first + 1 < last:
            middle = (first + last) >> 1
            if first_out[middle] <= arc:
                first = middle
            else:
                last = middle
        tail, to = np.int64(rank[first]), np.int64(rank[head[arc]])
        if tail == to:
            continue
        low, high = greater(tail, to), lesser(tail, to)
        group = np.int64(tree.supernode[low])
        bottom, begin, end = tree.groups[group, NODE], tree.groups[group, ANCESTOR], tree.groups[group + 1, ANCESTOR]
        column = column_in(tree.ancestor, begin, end, high) if high < bottom else end - begin + high - bottom
        key = 2 * (row_of(tree, group, low - bottom) + column) + (tail < to)
        entries[length], groups[length] = np.uint64(key) << KEY | UNREACHABLE, group
        length += 1
    return length


@jit_allocating
def recustomize(
    tree: Tree,
    below: Below,
    node: Uint32s,
    first_out: Uint32s,
    head: Uint32s,
    weights: Uint32s,
    entries: Uint64s,
    part_of: Int32s,
    is_upper: Flag,
    up: Uint32s,
    down: Uint32s,
    longest: Any,
    most_work: Any,
) -> tuple[Any, Any, Any, Uint64s]:
    """Customize the arcs that hang on some others, either in subtrees of the hierarchy or in what is above these.

    Parameters
    ----------
    node
        Node of each rank.
    first_out, head, weights
        The graph with its new weights.
    entries
        Entries of the heap for the arcs that may change.
    part_of, is_upper
        Subtree of each supernode, -1 above all of them; and whether arcs there are customized.
    up, down
        Weights of the arcs of the hierarchy, which are replaced.
    longest
        Length of the longest front.
    most_work
        Number of steps after which this is given up.

    Returns
    -------
    tuple
        The largest new weight that is finite, the largest finite one that was replaced, the number of steps, which is
        more than `most_work` if the arcs of the hierarchy are left without meaning, and the entries of arcs above.
    """
    heap = np.empty(max(1024, 2 * len(entries)), np.uint64)
    above, num_above = np.empty(1024, np.uint64), 0
    length, work = np.int64(0), np.int64(0)
    greatest = lost = np.uint64(0)
    for number in range(len(entries)):
        length = push(heap, length, entries[number] >> KEY, entries[number] & UNREACHABLE)
    # By place in the row of a node: the weights before, and the place of each ancestor in the front of a supernode; the
    # places in the row whose weights have changed.
    before_up, before_down = np.empty(longest + 1, np.uint32), np.empty(longest + 1, np.uint32)
    place, low_at = np.empty(longest + 1, np.int64), np.int64(0)
    changes = np.empty(2 * (longest + 1), np.int64)
    while length > 0 and work <= most_work:
        # The node that the arc belongs to, the last one whose row begins at the arc or before.
        arc = np.int64(heap[0] >> (KEY + ONE))
        first, last = np.int64(0), np.int64(len(tree.groups)) - 1
        while first + 1 < last:
            middle = (first + last) >> 1
            if tree.groups[middle, ARC] <= arc:
                first = middle
            else:
                last = middle
        if part_of[first] < 0 and not is_upper:
            if num_above == len(above):
                larger = np.empty(2 * num_above, np.uint64)
                larger[:num_above] = above
                above = larger
            above[num_above] = heap[0]
            num_above += 1
            pop(heap, length)
            length -= 1
            continue
        group, count = first, tree.groups[first + 1, ANCESTOR] - tree.groups[first, ANCESTOR]
        inside, bottom = np.int64(0), tree.groups[group, NODE]
        first, last = np.int64(0), tree.groups[group + 1, NODE] - bottom
        while first + 1 < last:
            middle = (first + last) >> 1
            if row_of(tree, group, middle) <= arc:
                first = middle
            else:
                last = middle
        inside = first
        low_at, row, columns = bottom + inside, row_of(tree, group, inside), count + inside
        begin = tree.groups[group, ANCESTOR]
        for column in range(columns):
            before_up[column], before_down[column] = up[row + column], down[row + column]
        ups, downs = np.int64(0), np.int64(0)
        while length > 0 and np.int64(heap[0] >> (KEY + ONE)) >= row:
            key, least, is_lost = heap[0] >> KEY, UNREACHABLE, False
            leads_down, column = np.int64(key & ONE), np.int64(key >> ONE) - row
            old = np.uint64(before_down[column]) if leads_down else np.uint64(before_up[column])
            while length > 0 and heap[0] >> KEY == key:
                value = heap[0] & UNREACHABLE
                is_lost = is_lost or value > old or value == UNREACHABLE
                least = lesser(least, value)
                pop(heap, length)
                length -= 1
            high = np.int64(tree.ancestor[begin + column]) if column < count else bottom + column - count
            enough = lesser(least, old)
            found = enough
            if is_lost:
                tail, to = (high, low_at) if leads_down else (low_at, high)
                given = given_weight(first_out, head, weights, node[tail], node[to])
                # Only the given arc may be lighter than is known.
                enough, least = lesser(enough, given), lesser(least, given)
                enters, leaves = (up, down) if leads_down else (down, up)
                found, steps = least_below(tree, below, enters, leaves, low_at, column, high, least, enough)
                work += steps
            if found == old:
                continue
            if old != UNREACHABLE:
                lost = greater(lost, old)
            if found != UNREACHABLE:
                greatest = greater(greatest, found)
            if leads_down:
                down[row + column] = found
                downs += 1
                changes[len(changes) - downs] = column
            else:
                up[row + column] = found
                changes[ups] = column
                ups += 1
        if ups + downs == 0:
            continue
        if len(heap) < length + 2 * columns * (ups + downs):
            larger = np.empty(2 * (length + 2 * columns * (ups + downs)), np.uint64)
            larger[:length] = heap[:length]
            heap = larger
        work += columns * (ups + downs + 2)
        for number in range(downs):
            changes[ups + number] = changes[len(changes) - downs + number]
        # Arcs between two ancestors belong to the lower of them. From supernode to supernode, those of its nodes that
        # are ancestors, and all higher ones; `done` of the columns are below.
        for column in range(columns):
            place[column] = column
        upper, end = group, columns
        while upper >= 0 and end > 1:
            outside = tree.groups[upper + 1, ANCESTOR] - tree.groups[upper, ANCESTOR]
            while end > 0 and place[end - 1] >= outside:
                end -= 1
                first = row_of(tree, upper, place[end] - outside)
                # Paths over the node that begin or end with the changed arc.
                for number in range(ups + downs):
                    is_up = number < ups
                    column = changes[number]
                    ins, outs = (before_down, before_up) if is_up else (before_up, before_down)
                    new_ins, new_outs = (down, up) if is_up else (up, down)
                    if column < end:
                        at = first + place[column]
                        old = np.uint64(ins[end]) + np.uint64(outs[column])
                        new = np.uint64(new_ins[row + end]) + np.uint64(new_outs[row + column])
                        length = look(heap, length, up if is_up else down, at, not is_up, old, new)
                    elif column == end:
                        for other in range(end):
                            at = first + place[other]
                            old = np.uint64(ins[other]) + np.uint64(outs[column])
                            new = np.uint64(new_ins[row + other]) + np.uint64(new_outs[row + column])
                            length = look(heap, length, down if is_up else up, at, is_up, old, new)
            entry = tree.groups[upper, ANCESTOR]
            for column in range(end):
                place[column] = np.int64(tree.place[entry + place[column]])
            upper = tree.groups[upper, PARENT]
    return greatest, lost, work, above[:num_above].copy()
