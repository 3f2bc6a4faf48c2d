"""Kernels of partial customization: the weights of a hierarchy's arcs after few weights of the graph have changed.

The supernodes of the arcs and those above have their turns, lower ones first, so that all arcs below one are known.
Arcs whose weight may differ wait in a list of their lower end. If a weight has changed, the arcs between the upper end
and the other ancestors of the lower end may change, too: those that a path over the lower end made as light as they
are, or makes lighter now (J. Dibbelt, B. Strasser, D. Wagner, Customizable contraction hierarchies, 2014, section 7.6).
Only an arc that has lost such a path needs a look at all triangles below it. Ranks count from the top, and arcs are
sorted by the rank of their lower ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vkssp.cpu.kernels.below import BEGIN, BEYOND, GROUP, Below
from vkssp.cpu.kernels.phast import ANCESTOR, ARC, NODE, PARENT, Tree
from vkssp.cpu.kernels.types import Flag, Index, Int32s, Int64s, Uint32s, Uint64s
from vkssp.cpu.kernels.unpack import place_in
from vkssp.cpu.kernels.vectors import fetch, greater, lesser, lowest_bit
from vkssp.jit import inlined, jit, jit_allocating

UNREACHABLE = np.uint64(2**32 - 1)
# An entry: twice an arc, plus one if it leads down, and in the lower 32 bits the weight of a path in its place now, or
# UNREACHABLE. If that is more than the arc weighed, a path of its weight may be lost.
KEY = np.uint64(32)
# Supernodes below an arc whose data the processor fetches ahead.
AHEAD = 6
NONE, ONE = np.uint64(0), np.uint64(1)
# Arcs that are looked at together: bits of a word.
MOST_BITS = np.int64(64)


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
def least_inside(
    tree: Tree, enters: Uint32s, leaves: Uint32s, group: Index, inside: Index, column: Index, least: Any
) -> Any:
    """Return the lesser of `least` and the lightest path over a node below the lower end in its supernode.

    The lower end is at the place `inside` there, and the upper end is its ancestor at the place `column`.
    """
    to_low = tree.groups[group + 1, ANCESTOR] - tree.groups[group, ANCESTOR] + inside
    for other in range(inside + 1, tree.groups[group + 1, NODE] - tree.groups[group, NODE]):
        row = row_of(tree, group, other)
        least = lesser(least, np.uint64(enters[row + to_low]) + np.uint64(leaves[row + column]))
    return least


@jit
def least_below(
    tree: Tree, below: Below, enters: Uint32s, leaves: Uint32s, low: Index, high: Index, least: Any, enough: Any
) -> tuple[Any, Any]:
    """Return the lesser of `least` and the lightest path over a supernode below both ends of an arc, and the work done.

    Parameters
    ----------
    enters, leaves
        Weights of arcs between the lower node and the lower end, and between it and the upper end, in the direction
        of the path.
    low, high
        Lower and upper end.
    enough
        A bound of the result; the search ends when it is reached.
    """
    at, last, work = below.first[low], below.first[low + 1], np.int64(0)
    while at < last:
        if at + AHEAD < last:
            fetch(tree.ancestor, np.int64(below.place[at + AHEAD]))
            fetch(below.preorder, 3 * np.int64(below.number[at + AHEAD]))
        number, place = below.number[at], np.int64(below.place[at])
        begin = np.int64(below.preorder[number, BEGIN])
        found = place if np.int64(tree.ancestor[begin]) > high else place_in(tree.ancestor, begin, place, high)
        at, work = at + 1, work + 1
        if np.int64(tree.ancestor[found]) != high:
            beyond = below.preorder[number, BEYOND]
            while at < last and below.number[at] < beyond:
                at += 1
            continue
        lower, before = np.int64(below.preorder[number, GROUP]), place - found
        arc, step = tree.groups[lower, ARC] + place - begin, tree.groups[lower + 1, ANCESTOR] - begin
        for _ in range(tree.groups[lower + 1, NODE] - tree.groups[lower, NODE]):
            least = lesser(least, np.uint64(enters[arc]) + np.uint64(leaves[arc - before]))
            arc += step
            step += 1
        if least <= enough:
            break
    return least, work


@jit
def all_least_below(
    tree: Tree, below: Below, up: Uint32s, down: Uint32s, low: Index, keys: Int64s, highs: Int64s, least: Uint64s
) -> Any:
    """Do what `least_below` does for several arcs with one lower end, in one pass, and return the work done.

    Parameters
    ----------
    up, down
        Weights of the arcs of the hierarchy.
    low
        Lower end.
    keys
        Ascending: twice the place of the upper end among the ancestors of the lower one, plus one for the arc down.
    highs
        The upper end of each.
    least
        By key: replaced by the weight of the lightest path, if that is less.
    """
    at, last, work = below.first[low], below.first[low + 1], np.int64(0)
    while at < last:
        if at + AHEAD < last:
            fetch(tree.ancestor, np.int64(below.place[at + AHEAD]))
            fetch(below.preorder, 3 * np.int64(below.number[at + AHEAD]))
        group, place = below.number[at], np.int64(below.place[at])
        begin, lower = np.int64(below.preorder[group, BEGIN]), np.int64(below.preorder[group, GROUP])
        beyond, top = below.preorder[group, BEYOND], np.int64(tree.ancestor[begin])
        number, entry, is_found = len(keys) - 1, place - 1, False
        at, work = at + 1, work + 1
        while number >= 0 and highs[number] >= top:
            high = highs[number]
            # The first ancestor is not below this one.
            while np.int64(tree.ancestor[entry]) > high:
                entry -= 1
            if np.int64(tree.ancestor[entry]) == high:
                is_found, before, key = True, place - entry, keys[number]
                enters, leaves = (up, down) if key & 1 else (down, up)
                arc, step = tree.groups[lower, ARC] + place - begin, tree.groups[lower + 1, ANCESTOR] - begin
                found = least[key]
                for _ in range(tree.groups[lower + 1, NODE] - tree.groups[lower, NODE]):
                    found = lesser(found, np.uint64(enters[arc]) + np.uint64(leaves[arc - before]))
                    arc += step
                    step += 1
                least[key] = found
            number -= 1
        while not is_found and at < last and below.number[at] < beyond:
            at += 1
    return work


@jit
def entries_of(
    tree: Tree, rank: Uint32s, first_out: Uint32s, head: Uint32s, arcs: Int64s, entries: Uint64s, lows: Int64s
) -> int:
    """Write entries for arcs of the graph, and the lower ends of these; return their number."""
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
        entries[length], lows[length] = np.uint64(key) << KEY | UNREACHABLE, low
        length += 1
    return length


@jit
def changes_among(
    values: Uint32s,
    arcs: Uint64s,
    first: Index,
    last: Index,
    old_ends: Uint64s,
    old_sum: Any,
    new_ends: Uint64s,
    new_sum: Any,
) -> Any:
    """Return which of at most `MOST_BITS` arcs may change, as bits, by instructions for several of them."""
    found: Any = NONE
    for other in range(np.uint64(first), np.uint64(last)):
        weight = np.uint64(values[arcs[other]])
        old, new = old_ends[other] + old_sum, new_ends[other] + new_sum
        may_change = (new < weight) | ((old == weight) & (new != old) & (old != UNREACHABLE))
        found |= np.uint64(may_change) << (other - np.uint64(first))
    return found


@jit
def place_columns(
    tree: Tree, group: Index, listed: Any, above: Int64s, places: Int64s, row: Int64s, level: Int64s, of_level: Int64s
) -> None:
    """Find the arcs between ancestors of a supernode, which belong to the lower one of two.

    Parameters
    ----------
    above
        Place in the list of affected supernodes of the parent of each of them, or -1.
    listed
        The place of the supernode.
    places
        Filled: the ancestors' places in the rows of a supernode above, for each that has one of them, one after the
        other.
    row
        Filled: first arc of each ancestor.
    level
        Filled: where the places in its rows begin in `places`.
    of_level
        Filled: for each ancestor the affected supernode that it belongs to, or -1, and its place there.
    """
    count = tree.groups[group + 1, ANCESTOR] - tree.groups[group, ANCESTOR]
    for column in range(count):
        places[column] = np.int64(tree.place[tree.groups[group, ANCESTOR] + column])
    begin, end, upper = np.int64(0), np.int64(count), np.int64(tree.groups[group, PARENT])
    listed = above[listed]
    while end > 0:
        outside = tree.groups[upper + 1, ANCESTOR] - tree.groups[upper, ANCESTOR]
        last = end
        while end > 0 and places[begin + end - 1] >= outside:
            end -= 1
            inside = places[begin + end] - outside
            row[end], level[end] = row_of(tree, upper, inside), begin
            of_level[2 * end], of_level[2 * end + 1] = listed, inside
        first = tree.groups[upper, ANCESTOR]
        for column in range(end):
            places[begin + last + column] = np.int64(tree.place[first + places[begin + column]])
        begin += last
        upper = tree.groups[upper, PARENT]
        if listed >= 0:
            listed = above[listed]


@inlined
def slot_of(table: Int64s, group: Index) -> Any:
    """Return where a table with free slots, of some power of two, has a supernode, or may have it."""
    mask = len(table) - 1
    slot = (np.int64(group) * 40503 >> 3) & mask
    while table[slot] >= 0 and table[slot] != group:
        slot = (slot + 1) & mask
    return slot


@jit_allocating
def list_affected(tree: Tree, lows: Int64s, part_of: Int32s, is_upper: Flag) -> tuple[Int64s, Int64s]:
    """Return the supernodes of some nodes and all above, lower ones first, and the places of their parents in the list.

    The supernodes are those of a subtree, unless `is_upper`. The place of a parent beyond it, or of none, is -1.
    """
    groups, table, count = np.empty(1024, np.int64), np.full(4096, -1, np.int64), np.int64(0)
    for low in lows:
        group = np.int64(tree.supernode[low])
        while group >= 0 and (is_upper or part_of[group] >= 0):
            slot = slot_of(table, group)
            if table[slot] == group:
                break
            table[slot] = group
            if count == len(groups):
                larger = np.empty(2 * count, np.int64)
                larger[:count] = groups
                groups, table = larger, np.full(8 * count, -1, np.int64)
                for known in range(count):
                    table[slot_of(table, groups[known])] = groups[known]
                table[slot_of(table, group)] = group
            groups[count] = group
            count += 1
            group = tree.groups[group, PARENT]
    groups = np.sort(groups[:count])[::-1].copy()
    place = np.empty(len(table), np.int64)
    for listed in range(count):
        place[slot_of(table, groups[listed])] = listed
    above = np.empty(count, np.int64)
    for listed in range(count):
        parent = tree.groups[groups[listed], PARENT]
        is_listed = parent >= 0 and table[slot_of(table, parent)] == parent
        above[listed] = place[slot_of(table, parent)] if is_listed else -1
    return groups, above


@jit_allocating
def recustomize(
    tree: Tree,
    below: Below,
    node: Uint32s,
    first_out: Uint32s,
    head: Uint32s,
    weights: Uint32s,
    entries: Uint64s,
    lows: Int64s,
    part_of: Int32s,
    is_upper: Flag,
    up: Uint32s,
    down: Uint32s,
    longest: Any,
    most_work: Any,
) -> tuple[Any, Any, Any, Uint64s, Int64s]:
    """Customize the arcs that hang on some others, either in subtrees of the hierarchy or in what is above these.

    Parameters
    ----------
    node
        Node of each rank.
    first_out, head, weights
        The graph with its new weights.
    entries, lows
        Entries for the arcs that may change, and the lower ends of these.
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
        more than `most_work` if the arcs of the hierarchy are left without meaning, and the entries of arcs above,
        with the lower ends of these.
    """
    groups, above = list_affected(tree, lows, part_of, is_upper)
    # The entries of each node, one after the other; those of a supernode's nodes begin at `node_at`.
    node_at = np.empty(len(groups) + 1, np.int64)
    node_at[0] = 0
    for listed in range(len(groups)):
        group = groups[listed]
        node_at[listed + 1] = node_at[listed] + tree.groups[group + 1, NODE] - tree.groups[group, NODE]
    latest = np.full(node_at[len(groups)], -1, np.int64)
    waiting, before_it, num_waiting = np.empty(2048, np.uint64), np.empty(2048, np.int64), np.int64(0)
    beyond, lows_beyond, num_beyond = np.empty(1024, np.uint64), np.empty(1024, np.int64), np.int64(0)
    if len(entries) > len(waiting):
        waiting, before_it = np.empty(2 * len(entries), np.uint64), np.empty(2 * len(entries), np.int64)
    for number in range(len(entries)):
        group = np.int64(tree.supernode[lows[number]])
        first, last = np.int64(0), np.int64(len(groups))  # in descending order
        while first + 1 < last:
            middle = (first + last) >> 1
            if groups[middle] >= group:
                first = middle
            else:
                last = middle
        at = node_at[first] + lows[number] - tree.groups[group, NODE]
        waiting[num_waiting], before_it[num_waiting] = entries[number], latest[at]
        latest[at] = num_waiting
        num_waiting += 1
    work = np.int64(0)
    greatest = lost = np.uint64(0)
    # By column of the row of a node: the weights before and after. Twice, for weights up and down: of the arcs that may
    # change, the least weight of a path, 1, or 2 if a path is lost; these arcs, and those that have changed.
    old_up, old_down = np.empty(longest + 1, np.uint64), np.empty(longest + 1, np.uint64)
    new_up, new_down = np.empty(longest + 1, np.uint64), np.empty(longest + 1, np.uint64)
    lightest, is_lost = np.empty(2 * (longest + 1), np.uint64), np.zeros(2 * (longest + 1), np.uint8)
    touched, changes = np.empty(2 * (longest + 1), np.int64), np.empty(2 * (longest + 1), np.int64)
    # See `place_columns`.
    row_at, level = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    of_level, places = np.empty(2 * (longest + 1), np.int64), np.empty(1024, np.int64)
    arcs, highs = np.empty(longest + 1, np.uint64), np.empty(2 * (longest + 1), np.int64)
    for listed in range(len(groups)):
        group, is_placed = groups[listed], False
        bottom, begin = tree.groups[group, NODE], tree.groups[group, ANCESTOR]
        count, size = tree.groups[group + 1, ANCESTOR] - begin, tree.groups[group + 1, NODE] - bottom
        for inside in range(size - 1, -1, -1):
            entry = latest[node_at[listed] + inside]
            if entry < 0 or work > most_work:
                continue
            low_at, row, columns = bottom + inside, row_of(tree, group, inside), count + inside
            num_touched = np.int64(0)
            while entry >= 0:
                key, value = np.int64(waiting[entry] >> KEY) - 2 * row, waiting[entry] & UNREACHABLE
                old = np.uint64(down[row + (key >> 1)]) if key & 1 else np.uint64(up[row + (key >> 1)])
                if is_lost[key] == 0:
                    touched[num_touched], lightest[key], is_lost[key] = key, UNREACHABLE, 1
                    num_touched += 1
                if value > old or value == UNREACHABLE:
                    is_lost[key] = 2
                lightest[key] = lesser(lightest[key], value)
                entry = before_it[entry]
            for column in range(columns):
                old_up[column], old_down[column] = up[row + column], down[row + column]
            num_lost = np.int64(0)
            for number in range(num_touched):
                key = touched[number]
                column, leads_down, least = key >> 1, key & 1, lightest[key]
                enough = lesser(least, old_down[column] if leads_down else old_up[column])
                if is_lost[key] == 2:
                    high = np.int64(tree.ancestor[begin + column]) if column < count else bottom + column - count
                    tail, to = (high, low_at) if leads_down else (low_at, high)
                    least = lesser(least, given_weight(first_out, head, weights, node[tail], node[to]))
                    enters, leaves = (up, down) if leads_down else (down, up)
                    least = least_inside(tree, enters, leaves, group, inside, column, least)
                    work += size - inside
                    # Only the given arc may be lighter than is known.
                    if least > enough:
                        changes[num_lost] = key
                        num_lost += 1
                else:
                    least = enough
                lightest[key], is_lost[key] = least, 0
            if num_lost > 1:
                changes[:num_lost].sort()
            for number in range(num_lost):
                column = changes[number] >> 1
                highs[number] = tree.ancestor[begin + column] if column < count else bottom + column - count
            if num_lost == 1:
                key = changes[0]
                old = old_down[key >> 1] if key & 1 else old_up[key >> 1]
                enters, leaves = (up, down) if key & 1 else (down, up)
                least, steps = least_below(tree, below, enters, leaves, low_at, highs[0], lightest[key], old)
                lightest[key] = least
                work += steps
            elif num_lost > 1:
                work += all_least_below(tree, below, up, down, low_at, changes[:num_lost], highs[:num_lost], lightest)
            num_changes = np.int64(0)
            for number in range(num_touched):
                key = touched[number]
                column, leads_down, found = key >> 1, key & 1, lightest[key]
                old = old_down[column] if leads_down else old_up[column]
                if found == old:
                    continue
                if old != UNREACHABLE:
                    lost = greater(lost, old)
                if found != UNREACHABLE:
                    greatest = greater(greatest, found)
                if leads_down:
                    down[row + column] = found
                else:
                    up[row + column] = found
                changes[num_changes] = key
                num_changes += 1
            if num_changes == 0:
                continue
            work += columns * (num_changes + 2)
            for column in range(columns):
                new_up[column], new_down[column] = up[row + column], down[row + column]
            if not is_placed:
                is_placed = True
                needed, upper = count, tree.groups[group, PARENT]
                while upper >= 0:
                    needed, upper = needed + count, tree.groups[upper, PARENT]
                if len(places) < needed:
                    places = np.empty(2 * needed, np.int64)
                place_columns(tree, group, listed, above, places, row_at, level, of_level)
                for column in range(count, count + size):
                    # The ancestors' places in the rows of their supernode's nodes are their columns.
                    row_at[column], level[column] = row_of(tree, group, column - count), -1
                    of_level[2 * column], of_level[2 * column + 1] = listed, column - count
            most = num_waiting + columns * num_changes
            if len(waiting) < most:
                larger, larger_before = np.empty(2 * most, np.uint64), np.empty(2 * most, np.int64)
                larger[:num_waiting], larger_before[:num_waiting] = waiting[:num_waiting], before_it[:num_waiting]
                waiting, before_it = larger, larger_before
            most = num_beyond + columns * num_changes
            if len(beyond) < most and not is_upper:
                larger, larger_lows = np.empty(2 * most, np.uint64), np.empty(2 * most, np.int64)
                larger[:num_beyond], larger_lows[:num_beyond] = beyond[:num_beyond], lows_beyond[:num_beyond]
                beyond, lows_beyond = larger, larger_lows
            # Paths over the node that begin or end with the changed arc, to or from another ancestor. The arc between
            # both belongs to the lower one.
            for number in range(num_changes):
                key = changes[number]
                column, is_up = key >> 1, key & 1 == 0
                old_sum, new_sum = (old_up[column], new_up[column]) if is_up else (old_down[column], new_down[column])
                old_ends, new_ends = (old_down, new_down) if is_up else (old_up, new_up)
                first, begins, is_own = row_at[column], level[column], level[column] < 0
                for other in range(column):
                    arcs[other] = first + (other if is_own else places[begins + other])
                for other in range(column + 1, columns):
                    arcs[other] = row_at[other] + (column if level[other] < 0 else places[level[other] + column])
                for side in range(2):  # with higher ancestors, and with lower ones and nodes
                    at, end = (np.int64(0), column) if side == 0 else (column + 1, columns)
                    leads_down = is_up == (side == 0)
                    values = down if leads_down else up
                    while at < end:
                        stop = lesser(at + MOST_BITS, end)
                        bits = changes_among(values, arcs, at, stop, old_ends, old_sum, new_ends, new_sum)
                        while bits != NONE:
                            other = at + lowest_bit(bits)
                            bits &= bits - ONE
                            arc, weight = np.int64(arcs[other]), lesser(new_ends[other] + new_sum, UNREACHABLE)
                            item = np.uint64(2 * arc + np.int64(leads_down)) << KEY | weight
                            lower = greater(column, other)
                            owner = of_level[2 * lower]
                            if owner < 0:
                                beyond[num_beyond], lows_beyond[num_beyond] = item, tree.ancestor[begin + lower]
                                num_beyond += 1
                            else:
                                slot = node_at[owner] + of_level[2 * lower + 1]
                                waiting[num_waiting], before_it[num_waiting] = item, latest[slot]
                                latest[slot] = num_waiting
                                num_waiting += 1
                        at = stop
    return greatest, lost, work, beyond[:num_beyond].copy(), lows_beyond[:num_beyond].copy()
