"""Kernels that find the distances between many nodes where the upward searches from them meet.

The ancestors of a node lie on the path from the root of the elimination tree down to it. Paths to two nodes are the
same up to some supernode and then share none, so that the least sum of distances over the nodes of the part that is the
same is the distance of a pair. These sums are of consecutive words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vkssp.cpu.kernels.phast import EIGHT, NODE, ONE, PARENT, UNREACHABLE, Labels, Tree, climb
from vkssp.cpu.kernels.types import Int32s, Int64s, Uint32s
from vkssp.cpu.kernels.vectors import fill_8, least_sum
from vkssp.jit import jit

SEVEN = np.uint64(7)


class RootPaths(NamedTuple):
    """Paths from the root down to some nodes, each with a row in two arrays, and distances of the nodes on them.

    A row of `groups` has the supernodes of a path by their levels, and a negative number after the last. A row of
    `dist` has the distances of their nodes: those of a supernode begin at a multiple of eight, and unreachable ones
    follow them up to the next. `shared` is where the part ends that a path shares with an earlier one of its group.
    """

    groups: Int32s
    dist: Uint32s
    shared: Int64s


@jit
def climb_all(
    tree: Tree,
    weights: Uint32s,
    level: Uint32s,
    stop: Int64s,
    labels: Labels,
    mark: np.uint32,
    first: Int64s,
    ranks: Uint32s,
    offsets: Uint32s,
    end: np.int32,
    paths: RootPaths,
    most: Uint32s,
) -> None:
    """Search upward from groups of seeds, and write the paths to all seeds; a group's paths have the same distances.

    `stop` has the end of each supernode in a row of distances. `mark` is the number before those of the searches, `end`
    ends a path, and `most` gets the largest finite distance of each group.
    """
    for number in range(len(first) - 1):
        mark = np.uint32(mark + 1)
        most[number] = 0
        for seed in range(first[number], first[number + 1]):
            rank = np.uint64(ranks[seed])
            most[number] = climb(tree, weights, labels, mark, rank, offsets[seed], most[number], False)[1]
        for seed in range(first[number], first[number + 1]):
            group, begin = np.int64(tree.supernode[ranks[seed]]), np.uint64(seed) * np.uint64(paths.dist.shape[1])
            paths.groups[seed, level[group] + 1], paths.shared[seed] = end, 0
            while group >= 0:
                if labels.marks[group, 1] == mark and paths.shared[seed] == 0:
                    paths.shared[seed] = stop[group]
                labels.marks[group, 1] = mark
                paths.groups[seed, level[group]] = group
                node, behind = np.uint64(tree.groups[group, NODE]), np.uint64(tree.groups[group + 1, NODE])
                fill_8(paths.dist, begin + np.uint64(stop[group]) - EIGHT, UNREACHABLE)
                at = np.uint64(stop[group]) - ((behind - node + SEVEN) & ~SEVEN)
                while node < behind:
                    paths.dist[seed, at] = labels.dist[node]
                    at += ONE
                    node += ONE
                group = tree.groups[group, PARENT]


@jit
def meet(stop: Int64s, seeds: RootPaths, row: Int64s, columns: RootPaths, limit: np.uint32, found: Uint32s) -> None:
    """Compute the distances from groups of seeds to nodes; `row` is the group of each seed, in rising order.

    Of the seeds of a group, the first whose path leads farthest along that to a node tells the distance.
    """
    length = np.uint64(columns.dist.shape[1])
    for column in range(len(columns.groups)):
        for seed in range(len(row)):
            depth, count = 0, np.int64(0)
            while seeds.groups[seed, depth] == columns.groups[column, depth]:
                count = stop[seeds.groups[seed, depth]]
                depth += 1
            if seed == 0 or row[seed] != row[seed - 1] or count > seeds.shared[seed]:
                here, there = np.uint64(seed) * length, np.uint64(column) * length
                distance = least_sum(seeds.dist, here, columns.dist, there, np.uint64(count))
                found[row[seed], column] = distance if distance <= limit else UNREACHABLE
