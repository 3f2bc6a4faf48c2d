"""Kernels of searches over a customized hierarchy: upward searches, sweeps, pairs, and walks back along a path.

They go from supernode to supernode. The front of a supernode has the distances of its ancestors, by ascending rank, and
then those of its own nodes, so that the arcs of a node belong to consecutive distances. Eight spare entries follow each
front, since vectors of eight may reach past its end, and so they do the weights of arcs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.cpu.kernels.types import Flag, Index, Int32s, Int64s, Uint8s, Uint32s
from vkssp.cpu.kernels.vectors import fill_8, greater, improve_8, least_sum, lesser, lower, raise_8
from vkssp.jit import inlined, jit

UNREACHABLE = np.uint32(2**32 - 1)
NOTHING = np.uint32(0)
ZERO, ONE, EIGHT = (np.uint64(value) for value in (0, 1, 8))
# Columns of `Tree.groups`.
NODE, ANCESTOR, ARC, PARENT = range(4)


class Tree(NamedTuple):
    """Hierarchy without weights; see `vkssp.graph.hierarchy.Hierarchy`.

    A row of `groups` has the first node of a supernode, its first entry in `ancestor`, its first arc, and the supernode
    of its lowest ancestor, or -1; it lies in one line of the processor's cache. The last row has the ends of the lists.
    `place` is the place of each ancestor in the front of the parent.
    """

    groups: Int64s
    ancestor: Uint32s
    supernode: Uint32s
    place: Uint32s


class Labels(NamedTuple):
    """Distances of a search by ranks, and its buffers.

    `marks` has two words for each supernode: the number of the last upward search that reached it, and of the last
    search that computed the distances of its nodes. So a search need not reset any distances. `fronts` are two fronts,
    `stack` has an entry for each level.
    """

    dist: Uint32s
    marks: Uint32s
    fronts: Uint32s
    stack: Int32s


@jit
def climb(
    tree: Tree,
    weights: Uint32s,
    labels: Labels,
    mark: np.uint32,
    rank: np.uint64,
    offset: np.uint32,
    most: np.uint32,
    is_target: Flag,
) -> tuple[np.uint32, np.uint32]:
    """Search upward from a source and improve the distances of its ancestors, or from a target to meet that search.

    `weights` are those of the arcs up or down. Return the distance of the pair, including the target's offset, and the
    largest of `most` and all distances.
    """
    groups, dist, fronts, best = tree.groups, labels.dist, labels.fronts, UNREACHABLE
    group, half = np.int64(tree.supernode[rank]), np.uint64(len(fronts)) >> ONE
    front = below = entry = end = ZERO
    while group >= 0:
        first, stop = np.uint64(groups[group, NODE]), np.uint64(groups[group + 1, NODE])
        begin = groups[group, ANCESTOR]
        own = front + np.uint64(groups[group + 1, ANCESTOR] - begin)
        node, at = own + stop - first, front
        while at < node:
            fill_8(fronts, at, UNREACHABLE)
            at += EIGHT
        if rank < stop:  # it is a node of this supernode, since ranks are smaller in those above
            fronts[own + rank - first] = offset
        while entry < end:
            fronts[front + np.uint64(tree.place[entry])] = fronts[below]
            entry += ONE
            below += ONE
        entry, end, below = np.uint64(begin), np.uint64(begin) + own - front, front
        is_reached = labels.marks[group, 0] == mark
        if not is_target and not is_reached:
            labels.marks[group, 0] = mark
            at = first
            while at < stop:
                dist[at] = UNREACHABLE
                at += ONE
        while node > own:
            node -= ONE
            distance, inside = fronts[node], node - own
            if distance < best:
                most = greater(most, distance)
                if not is_target:
                    lower(dist, first + inside, distance)
                elif is_reached:
                    through = np.uint64(distance) + np.uint64(dist[first + inside])
                    best = np.uint32(lesser(np.uint64(best), through))
                row = np.uint64(groups[group, ARC]) + inside * (own - front) + (inside * (inside - ONE) >> ONE)
                at = front
                while at < node:
                    improve_8(fronts, at, weights, row, distance)
                    at += EIGHT
                    row += EIGHT
        front = half - front
        group = groups[group, PARENT]
    return best, most


@inlined
def descend(tree: Tree, down: Uint32s, labels: Labels, mark: np.uint32, group: Index, limit: np.uint32) -> np.uint32:
    """Compute the distances of a supernode from those of its ancestors, and return the largest finite one.

    If those of all ancestors are beyond the limit, so are its own, which need no computation.
    """
    dist, front = labels.dist, labels.fronts
    node, end = np.uint64(tree.groups[group, NODE]), np.uint64(tree.groups[group + 1, NODE])
    entry = np.uint64(tree.groups[group, ANCESTOR])
    count = np.uint64(tree.groups[group + 1, ANCESTOR]) - entry
    row, at, most, nearest = np.uint64(tree.groups[group, ARC]), ZERO, np.uint32(0), UNREACHABLE
    while at < count:
        above: np.uint32 = dist[tree.ancestor[entry + at]]
        front[at] = above
        nearest = lesser(nearest, above)
        at += ONE
    is_labelled = labels.marks[group, 0] == mark
    if nearest > limit and not is_labelled:
        while node < end:
            dist[node] = UNREACHABLE
            node += ONE
    while node < end and at < count + end - node + EIGHT:
        fill_8(front, at, UNREACHABLE)
        at += EIGHT
    while node < end:
        distance: np.uint32 = least_sum(front, ZERO, down, row, count)
        if is_labelled:
            distance = lesser(distance, dist[node])
        if distance != UNREACHABLE:
            most = greater(most, distance)
        dist[node] = front[count] = distance
        row += count
        count += ONE
        node += ONE
    labels.marks[group, 1] = mark
    return most


@jit
def sweep(tree: Tree, down: Uint32s, labels: Labels, mark: np.uint32, order: Int32s, limit: np.uint32) -> np.uint32:
    """Compute the distances of supernodes up to a limit, parents first, and return the largest finite one."""
    most = np.uint32(0)
    for number in range(len(order)):
        most = greater(most, descend(tree, down, labels, mark, order[number], limit))
    return most


@jit
def walk(
    tree: Tree,
    down: Uint32s,
    labels: Labels,
    mark: np.uint32,
    rank: Uint32s,
    first_in: Uint32s,
    arcs_in: Uint32s,
    seeds: Uint32s,
    node: np.uint64,
    distance: np.uint32,
    path: Uint32s,
) -> tuple[int, int]:
    """Do what `vkssp.cpu.kernels.path.walk` does from a target; return the seed, or -1, and the length.

    The distances of the nodes beside the path, with all above them, are computed on the way, unless they are known.
    `rank` has the rank of each node, or is empty if nodes are ranks.
    """
    length = 0
    while True:
        for number in range(len(seeds)):
            if np.uint64(seeds[number, 0]) == node and seeds[number, 1] == distance:
                return number, length
        arc, end, before = np.uint64(first_in[node]), np.uint64(first_in[node + ONE]), UNREACHABLE
        while arc < end:
            tail = np.uint64(arcs_in[arc, 0])
            if tail != node:
                at = np.uint64(rank[tail]) if len(rank) else tail
                group, height = np.int64(tree.supernode[at]), 0
                while group >= 0 and labels.marks[group, 1] != mark:
                    labels.stack[height] = group
                    height += 1
                    group = tree.groups[group, PARENT]
                while height > 0:
                    height -= 1
                    descend(tree, down, labels, mark, labels.stack[height], UNREACHABLE)
                before = labels.dist[at]
                if np.uint64(before) + np.uint64(arcs_in[arc, 1]) == np.uint64(distance):
                    break
            arc += ONE
        if arc == end or length >= len(path):
            return -1, length
        path[length] = arc
        length += 1
        node, distance = np.uint64(arcs_in[arc, 0]), before


@jit
def search(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    labels: Labels,
    mark: np.uint32,
    ends: Uint32s,
    num_seeds: Index,
    found: Uint32s,
) -> np.uint32:
    """Search upward from seeds, then from targets, and write the distance to each target to `found`.

    `ends` has the ranks and offsets of the seeds and then of the targets. Return the largest distance of either side.
    One call for all takes less time than the search from a few.
    """
    most = np.uint32(0)
    for i in range(len(ends)):
        is_target = i >= num_seeds
        weights = down if is_target else up
        best, most = climb(tree, weights, labels, mark, np.uint64(ends[i, 0]), ends[i, 1], most, is_target)
        if is_target:
            found[i - num_seeds] = best
    return most


@jit
def pairs(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    heaviest: np.uint32,
    labels: Labels,
    mark: np.uint32,
    sources: Uint32s,
    targets: Uint32s,
    found: Uint32s,
    overflow: Uint8s,
) -> None:
    """Compute the distances of pairs of ranks, with consecutive numbers of searches from `mark` on.

    `overflow` tells whether a pair without a path may have one whose weight does not fit into 32 bits.
    """
    highest = NOTHING
    for number in range(len(sources)):
        if number == 0 or sources[number] != sources[number - 1]:
            mark = np.uint32(mark + 1)
            highest = climb(tree, up, labels, mark, np.uint64(sources[number]), NOTHING, NOTHING, False)[1]
        best, most = climb(tree, down, labels, mark, np.uint64(targets[number]), NOTHING, highest, True)
        found[number] = best
        beyond = np.uint64(most) + np.uint64(max(heaviest, most)) >= np.uint64(UNREACHABLE)
        overflow[number] = best == UNREACHABLE and beyond


class Part(NamedTuple):
    """Part of a hierarchy that some nodes need: their supernodes, and those above them.

    `groups` are the supernodes, parents first, and `first_local` has the offset of the ancestors of each in `local`.
    Nodes are numbered by places in the part: `local` has the places of ancestors, `base` that of the first node of each
    supernode of the whole hierarchy, -1 if it is not in the part, and `wanted` those of the wanted nodes.
    """

    groups: Int32s
    first_local: Int64s
    local: Uint32s
    base: Int64s
    wanted: Uint32s


@jit
def sweep_rows(
    tree: Tree,
    up: Uint32s,
    down: Uint32s,
    part: Part,
    labels: Labels,
    mark: np.uint32,
    first: Int64s,
    ranks: Uint32s,
    offsets: Uint32s,
    width: np.uint64,
    dist: Uint32s,
    begun: Uint32s,
    most: Uint32s,
    limit: np.uint32,
    found: Uint32s,
) -> None:
    """Compute the rows of up to `width` groups of seeds, 8 or 16, with consecutive numbers of searches from `mark` on.

    `dist` has `width` distances for each node of the part, one of each search. `begun` has a word for each supernode,
    for the number of the last rows whose searches reached it. `most` gets the largest finite distance of each search.
    """
    last = np.uint32(mark + len(found))
    for lane in range(width):
        most[lane] = 0
    for lane in range(len(found)):
        mark = np.uint32(mark + 1)
        for seed in range(first[lane], first[lane + 1]):
            most[lane] = climb(tree, up, labels, mark, np.uint64(ranks[seed]), offsets[seed], most[lane], False)[1]
        for seed in range(first[lane], first[lane + 1]):
            group = np.int64(tree.supernode[ranks[seed]])
            while group >= 0:
                base = part.base[group]
                if base >= 0:
                    at, node = np.uint64(base) * width, np.uint64(tree.groups[group, NODE])
                    end = np.uint64(tree.groups[group + 1, NODE])
                    if begun[group] != last:
                        begun[group] = last
                        stop = at + (end - node) * width
                        while at < stop:
                            fill_8(dist, at, UNREACHABLE)
                            at += EIGHT
                        at = np.uint64(base) * width
                    while node < end:
                        dist[at + np.uint64(lane)] = labels.dist[node]
                        at += width
                        node += ONE
                group = tree.groups[group, PARENT]
    for number in range(len(part.groups)):
        group = part.groups[number]
        begin = np.uint64(part.base[group]) * width
        entry, row = np.uint64(part.first_local[number]), np.uint64(tree.groups[group, ARC])
        count = np.uint64(tree.groups[group + 1, ANCESTOR] - tree.groups[group, ANCESTOR])
        node = begin
        end = begin + np.uint64(tree.groups[group + 1, NODE] - tree.groups[group, NODE]) * width
        while node < end:
            if begun[group] != last:
                fill_8(dist, node, UNREACHABLE)
                if width > EIGHT:
                    fill_8(dist, node + EIGHT, UNREACHABLE)
            at = ZERO
            while at < count:
                weight, there = down[row + at], np.uint64(part.local[entry + at]) * width
                improve_8(dist, node, dist, there, weight)
                if width > EIGHT:
                    improve_8(dist, node + EIGHT, dist, there + EIGHT, weight)
                at += ONE
            row += count
            there = begin
            while there < node:
                improve_8(dist, node, dist, there, down[row])
                if width > EIGHT:
                    improve_8(dist, node + EIGHT, dist, there + EIGHT, down[row])
                there += width
                row += ONE
            raise_8(most, ZERO, dist, node)
            if width > EIGHT:
                raise_8(most, EIGHT, dist, node + EIGHT)
            node += width
    for column in range(len(part.wanted)):
        at = np.uint64(part.wanted[column]) * width
        for lane in range(len(found)):
            distance = dist[at + np.uint64(lane)]
            found[lane, column] = distance if distance <= limit else UNREACHABLE
