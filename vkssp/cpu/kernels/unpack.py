"""Kernels that unpack the shortest path of a pair from a customized hierarchy.

A path goes up to its highest node and then down. The upward part consists of arcs of the hierarchy, each to the next
node that is higher than all before, and the downward part likewise. A path over lower nodes, for which an arc stands,
leads over the highest of these: the arc is the sum of two others, with which it forms a triangle. So each path belongs
to one sequence of arcs and to one way to split each of them (J. Dibbelt, B. Strasser, D. Wagner, Customizable
contraction hierarchies, 2014, section 4.4). How an arc is split is looked for once and then known.

Where a second sum is equal, more than one path may be shortest, and which one all walkers choose is not seen here: the
path is given up. Nodes are ranks, smaller ones higher, and no cycle has weight zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vkssp.cpu.kernels.below import BEGIN, BEYOND, GROUP, Below
from vkssp.cpu.kernels.phast import ANCESTOR, ARC, NODE, PARENT, Labels, Tree, climb, walk
from vkssp.cpu.kernels.types import Flag, Index, Int64s, Uint8s, Uint32s
from vkssp.cpu.kernels.vectors import fetch, greater
from vkssp.jit import inlined, jit

UNREACHABLE = np.uint32(2**32 - 1)
NOTHING = np.uint32(0)
# How an arc is split, in the two lowest bits of an entry of `Splits.of`. GIVEN is an arc of the graph, whose place is
# above bit 4. SPLIT are two arcs of the hierarchy, the second one above bit 4 and the first one above that; or in their
# place those of the graph that they are known to be, marked by bits 2 and 3, which saves a look at their entries.
UNKNOWN, TIED, GIVEN, SPLIT = range(4)
SECOND, FIRST = 4, 8
BITS, LOW = 30, 4
MASK = (1 << BITS) - 1


class Splits(NamedTuple):
    """How the arcs of a hierarchy are split, as far as it is known, and what is needed to find it out.

    `of` has an entry for each arc up, in the first row, and down.
    """

    of: Int64s
    below: Below


class Room(NamedTuple):
    """Buffers: the numbers, from 1, of the ranks on a path; its ranks and arcs; those above a supernode; a stack.

    `chain` has a row for a rank: itself, and the arc to the rank before. `above` has a row for each of them that is
    among the ancestors of a supernode: its place there, and its number. A row of `stack` is an arc, doubled, plus one
    if it leads down; its lower and its upper rank if they are known, else the lower is -1; and the arc, likewise
    doubled, that it is the first half of, -1 for none. It may also be the place of an arc of the graph, less than zero
    as -1 - place.
    """

    number: Uint8s
    chain: Int64s
    above: Int64s
    stack: Int64s


@jit
def extend(
    tree: Tree,
    weights: Uint32s,
    own: Labels,
    other: Labels,
    met: np.uint32,
    total: np.uint64,
    rank: np.uint64,
    is_target: Flag,
    room: Room,
    length: Any,
) -> Any:
    """Extend a path downward from its highest node to an end; return its number of ranks, negative if it is not unique.

    `own` are the labels of the search from this end, and `other` those from the other one, whose number is `met`. From
    the target, the highest node is looked for as well.
    """
    depth, group = 0, np.int64(tree.supernode[rank])
    while group >= 0:
        own.stack[depth] = group
        depth += 1
        group = tree.groups[group, PARENT]
    chain, above = room.chain, room.above
    while depth > 0:
        depth -= 1
        group = np.int64(own.stack[depth])
        begin, end, count = tree.groups[group, ANCESTOR], tree.groups[group + 1, ANCESTOR], 0
        for entry in range(begin, end):
            if room.number[tree.ancestor[entry]] != 0:
                above[count, 0], above[count, 1] = entry - begin, room.number[tree.ancestor[entry]]
                count += 1
        is_met, row, places = is_target and other.marks[group, 0] == met, tree.groups[group, ARC], end - begin
        for node in range(tree.groups[group, NODE], tree.groups[group + 1, NODE]):
            distance, known, arc = np.uint64(own.dist[node]), np.int64(room.number[node]), np.int64(-1)
            if known == 0:
                for at in range(count):
                    upper = above[at, 1] - 1
                    if distance + np.uint64(weights[row + above[at, 0]]) == np.uint64(own.dist[chain[upper, 0]]):
                        if arc >= 0 or upper != length - 1:
                            return -length
                        arc = row + above[at, 0]
                is_highest = is_met and distance + np.uint64(other.dist[node]) == total
                if ((is_highest or arc >= 0) and length == len(chain)) or (is_highest and length > 0):
                    return -length
                if is_highest or arc >= 0:
                    chain[length, 0], chain[length, 1] = node, arc
                    length += 1
                    room.number[node] = known = np.int64(length)
            if known != 0:
                above[count, 0], above[count, 1] = places, known
                count += 1
            row += places
            places += 1
    return length


@inlined
def place_in(ancestor: Uint32s, begin: Index, end: Index, rank: Index) -> Any:
    """Return the index of the first ancestor, from `begin` on, that is not smaller than a rank."""
    low, high = np.int64(begin), np.int64(end)
    while low < high:
        middle = (low + high) >> 1
        if ancestor[middle] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def split_of(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    splits: Splits,
    first_in: Uint32s,
    arcs_in: Uint32s,
    arc: Index,
    is_down: Index,
    low: Index,
    high: Index,
) -> tuple[Any, Any]:
    """Return how an arc between two ranks is split, as an entry of `Splits.of`, and the rank between them, or -1."""
    tail, head, weight = (high, low, np.uint64(down[arc])) if is_down else (low, high, np.uint64(up[arc]))
    found: Any = np.int64(UNKNOWN)
    between: Any = np.int64(-1)
    for place in range(first_in[head], first_in[head + 1]):
        if np.int64(arcs_in[place, 0]) == tail and np.uint64(arcs_in[place, 1]) == weight:
            found = np.int64(place) << LOW | GIVEN
            break
    group = np.int64(tree.supernode[low])
    below = splits.below
    at, last = below.first[low], below.first[low + 1]
    inside = low - tree.groups[group, NODE]
    begin, end = tree.groups[group, ANCESTOR], tree.groups[group + 1, ANCESTOR]
    to_low = end - begin + inside
    to_high = arc - (tree.groups[group, ARC] + inside * (end - begin) + (inside * (inside - 1) >> 1))
    inside += 1
    while True:  # first the nodes below in the same supernode, then those of supernodes below
        size = tree.groups[group + 1, NODE] - tree.groups[group, NODE]
        while inside < size:
            row = tree.groups[group, ARC] + inside * (end - begin) + (inside * (inside - 1) >> 1)
            leaves, enters = (to_high, to_low) if is_down else (to_low, to_high)
            if np.uint64(down[row + leaves]) + np.uint64(up[row + enters]) == weight:
                if found != UNKNOWN:
                    return TIED, -1
                found = ((row + leaves) << BITS | row + enters) << LOW | SPLIT
                between = tree.groups[group, NODE] + inside
            inside += 1
        is_above = False
        while at < last and not is_above:
            number, to_low = below.number[at], np.int64(below.place[at])
            begin = np.int64(below.preorder[number, BEGIN])
            to_high = place_in(tree.ancestor, begin, to_low, high)
            is_above = np.int64(tree.ancestor[to_high]) == high
            at += 1
            while not is_above and at < last and below.number[at] < below.preorder[number, BEYOND]:
                at += 1
        if not is_above:
            return found, between
        group = np.int64(below.preorder[number, GROUP])
        begin, end = tree.groups[group, ANCESTOR], tree.groups[group + 1, ANCESTOR]
        to_low, to_high, inside = to_low - begin, to_high - begin, np.int64(0)


@jit
def unpack(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    labels: Labels,
    mark: np.uint32,
    back: Labels,
    back_mark: np.uint32,
    splits: Splits,
    room: Room,
    first_in: Uint32s,
    arcs_in: Uint32s,
    seeds: Uint32s,
    node: np.uint64,
    distance: np.uint32,
    path: Uint32s,
) -> tuple[int, int]:
    """Do what `vkssp.cpu.kernels.phast.walk` does from a target; return the seed, or -1 if given up, and the length.

    `labels` are those of the last search, and `back` gets those of a search from the target.
    """
    chain, stack, total, length, size = room.chain, room.stack, np.uint64(distance), 0, np.int64(0)
    # Flags that are no literals, for which functions would be compiled once more.
    is_target: Any = size > 0
    climb(tree, down, back, back_mark, node, NOTHING, NOTHING, is_target)
    for is_down in range(1, -1, -1):  # from the highest node to the target, and then from a seed to the highest node
        is_target = is_down > 0
        if is_target:
            size = extend(tree, down, back, labels, mark, total, node, is_target, room, size)
        else:
            room.number[chain[0, 0]] = size = np.int64(1)
            for number in range(len(seeds)):
                if size > 0:
                    rank = np.uint64(seeds[number, 0])
                    size = extend(tree, up, labels, back, back_mark, total, rank, is_target, room, size)
        top = size - 1
        for number in range(greater(size, -size)):
            room.number[chain[number, 0]] = 0
        for number in range(top):  # the arc nearest to the target is the last one on the stack
            lower = number + 1 if is_down else top - number
            stack[number, 0], stack[number, 3] = chain[lower, 1] << 1 | is_down, -1
            stack[number, 1], stack[number, 2] = chain[lower, 0], chain[lower - 1, 0]
            fetch(splits.of, is_down * splits.of.shape[1] + chain[lower, 1])
        while top > 0:
            top -= 1
            item, low, high, whole = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            place = -1 - item
            if item >= 0:
                arc, leads_down = item >> 1, item & 1
                split, between = splits.of[leads_down, arc], np.int64(-1)
                if split == UNKNOWN and low >= 0:
                    split, between = split_of(tree, up, down, splits, first_in, arcs_in, arc, leads_down, low, high)
                    splits.of[leads_down, arc] = split
                if split & 3 == SPLIT and top + 2 <= len(stack):
                    # The first half leads down to the rank between, the second one up from it.
                    first, second = split >> LOW + BITS & MASK, split >> LOW & MASK
                    stack[top, 0] = -1 - first if split & FIRST else first << 1 | 1
                    stack[top + 1, 0] = -1 - second if split & SECOND else second << 1
                    stack[top, 1] = stack[top + 1, 1] = between
                    stack[top, 2], stack[top + 1, 2] = (high, low) if leads_down else (low, high)
                    stack[top, 3], stack[top + 1, 3] = item << 1 | 1, item << 1
                    fetch(splits.of, splits.of.shape[1] + first)
                    top += 2
                    continue
                if split & 3 == GIVEN:
                    place = split >> LOW
                    if whole >= 0:
                        at = LOW + BITS * (whole & 1)
                        other = splits.of[whole >> 1 & 1, whole >> 2] & ~(np.int64(MASK) << at)
                        splits.of[whole >> 1 & 1, whole >> 2] = other | place << at | SECOND << (whole & 1)
            if place < 0 or length == len(path):
                return -1, 0  # the other half of an arc that was given up here before may be unknown, but not this one
            path[length] = place
            fetch(arcs_in, 2 * place)
            length += 1
        if size <= 0:
            return -1, 0
    for end in range(length + 1):
        for number in range(len(seeds)):
            if np.uint64(seeds[number, 0]) == node and seeds[number, 1] == distance:
                return number, end
        if end < length:
            node, distance = np.uint64(arcs_in[path[end], 0]), np.uint32(distance - arcs_in[path[end], 1])
    return -1, 0


class Paths(NamedTuple):
    """Paths of many searches: weight, seed and target, the largest distance, the end of the arcs of each; their arcs.

    Seeds and targets are indices among those of all searches, -1 without a path, and -2 where distances contradict each
    other.
    """

    weight: Uint32s
    seed: Int64s
    target: Int64s
    most: Uint32s
    end: Int64s
    arcs: Int64s


@jit
def find_paths(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    labels: Labels,
    mark: np.uint32,
    back: Labels,
    back_mark: np.uint32,
    splits: Splits,
    room: Room,
    no_ranks: Uint32s,
    first_in: Uint32s,
    arcs_in: Uint32s,
    arc_in: Int64s,
    first_seed: Int64s,
    seeds: Uint32s,
    first_target: Int64s,
    targets: Uint32s,
    path: Uint32s,
    found: Paths,
) -> int:
    """Find the paths of searches, and return how many: fewer than all if there is no room for more arcs.

    Seeds and targets are rows of ranks and offsets. Searches have consecutive numbers from `mark` and `back_mark` on.
    """
    length, number = np.int64(0), 0
    # A flag that is no literal, for which functions would be compiled once more.
    is_target: Any = length > 0
    while number < len(found.weight):
        mark, back_mark = np.uint32(mark + 1), np.uint32(back_mark + 1)
        own = seeds[first_seed[number] : first_seed[number + 1]]
        most, weight, target, seed = NOTHING, UNREACHABLE, np.int64(-1), np.int64(-1)
        for i in range(len(own)):
            most = climb(tree, up, labels, mark, np.uint64(own[i, 0]), own[i, 1], most, is_target)[1]
        for i in range(first_target[number], first_target[number + 1]):
            rank, offset = np.uint64(targets[i, 0]), targets[i, 1]
            distance, most = climb(tree, down, labels, mark, rank, offset, most, not is_target)
            if distance < weight:
                weight, target = distance, np.int64(i)
        if target >= 0:
            node, rest = np.uint64(targets[target, 0]), np.uint32(weight - targets[target, 1])
            own_seed, count = unpack(
                tree, up, down, labels, mark, back, back_mark, splits, room, first_in, arcs_in, own, node, rest, path
            )
            if own_seed < 0:
                own_seed, count = walk(tree, down, labels, mark, no_ranks, first_in, arcs_in, own, node, rest, path)
            if length + count > len(found.arcs):
                return number
            for i in range(count):
                found.arcs[length] = arc_in[path[count - 1 - i]]
                length += 1
            seed = first_seed[number] + own_seed if own_seed >= 0 else np.int64(-2)
        found.weight[number], found.seed[number], found.target[number] = weight, seed, target
        found.most[number], found.end[number] = most, length
        number += 1
    return number
