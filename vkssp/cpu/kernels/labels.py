"""Kernels of labels: they make the rows of all nodes, and find the distances of pairs by them.

See `vkssp.hierarchy.labels` for rows and records. Units of rows are vectors of eight.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.kernels.phast import ANCESTOR, ARC, EIGHT, NODE, ONE, UNREACHABLE, ZERO, Tree
from vkssp.cpu.kernels.types import Int32s, Int64s, Uint32s
from vkssp.cpu.kernels.vectors import fetch, fill_8, improve_8, least_sum, lesser, raise_8
from vkssp.jit import inlined, jit

COUNT = np.uint64(2**16 - 1)
# Entries of a line of the processor's cache, and lines of a row that are fetched before they are read: the processor
# guesses the next ones.
LINE, FEW_LINES = np.uint64(16), np.uint64(4)


@jit
def make(
    tree: Tree, weights: Uint32s, first: Int64s, count: Int64s, order: Int32s, labels: Uint32s, most: Uint32s
) -> None:
    """Make the rows of supernodes, parents first.

    `weights` are those of the arcs up or down. `first` has the first word of the row of each rank, and the end of the
    last one; `count` has the number of entries. The largest finite distances go into eight elements of `most`.
    """
    for number in range(len(order)):
        group = order[number]
        node, end = np.uint64(tree.groups[group, NODE]), np.uint64(tree.groups[group + 1, NODE])
        entry, behind = np.uint64(tree.groups[group, ANCESTOR]), np.uint64(tree.groups[group + 1, ANCESTOR])
        begin, arc = node, np.uint64(tree.groups[group, ARC])
        while node < end:
            row, stop = np.uint64(first[node]), np.uint64(first[node + ONE])
            at = row
            while at < stop:
                fill_8(labels, at, UNREACHABLE)
                at += EIGHT
            above, inside = entry, begin
            while above < behind or inside < node:
                if above < behind:
                    upper = np.uint64(tree.ancestor[above])
                    above += ONE
                else:
                    upper = inside
                    inside += ONE
                weight = weights[arc]
                arc += ONE
                if weight != UNREACHABLE:
                    at, there, last = row, np.uint64(first[upper]), np.uint64(first[upper + ONE])
                    while there < last:
                        improve_8(labels, at, labels, there, weight)
                        at += EIGHT
                        there += EIGHT
            labels[row + np.uint64(count[node]) - ONE] = 0
            at = row
            while at < stop:
                raise_8(most, ZERO, labels, at)
                at += EIGHT
            node += ONE


@inlined
def fetch_row(labels: Uint32s, at: np.uint64, count: np.uint64) -> None:
    """Have the processor fetch the begin of a row."""
    lines = ZERO
    while lines < FEW_LINES and lines * LINE < count:
        fetch(labels, np.int64(at + lines * LINE))
        lines += ONE


@jit
def find(
    records: Uint32s,
    shared: Uint32s,
    upward: Uint32s,
    downward: Uint32s,
    sources: Uint32s,
    targets: Uint32s,
    room: Int64s,
    found: Uint32s,
) -> None:
    """Find the distances of pairs of nodes, as many at once as `room` has rows of three.

    Each step of some pairs only asks for the memory that the next step reads.
    """
    begin, end, some = ZERO, np.uint64(len(sources)), np.uint64(len(room))
    while begin < end:
        number = ZERO
        while number < some and begin + number < end:
            fetch(records, np.int64(sources[begin + number]) << 2)
            fetch(records, np.int64(targets[begin + number]) << 2)
            number += ONE
        number = ZERO
        while number < some and begin + number < end:
            source, target = np.uint64(sources[begin + number]), np.uint64(targets[begin + number])
            one, other = np.int64(records[source, 2]), np.int64(records[target, 2])
            before, last = lesser(one, other), one + other - lesser(one, other)
            length, row = last - before, np.int64(0)
            while length >> (row + 1) > 0:
                row += 1
            room[number, 0], room[number, 1], room[number, 2] = before, last, row
            if before < last:
                fetch(shared, row * shared.shape[1] + before + 1)
                fetch(shared, row * shared.shape[1] + last + 1 - (np.int64(1) << row))
            number += ONE
        number = ZERO
        while number < some and begin + number < end:
            source, target = np.uint64(sources[begin + number]), np.uint64(targets[begin + number])
            before, last, row = room[number, 0], room[number, 1], room[number, 2]
            count = lesser(np.uint64(records[source, 1]) & COUNT, np.uint64(records[target, 1]) & COUNT)
            if before < last:
                count = lesser(count, np.uint64(shared[row, before + 1]))
                count = lesser(count, np.uint64(shared[row, last + 1 - (np.int64(1) << row)]))
            here, there = np.uint64(records[source, 0]) * EIGHT, np.uint64(records[target, 0]) * EIGHT
            room[number, 0], room[number, 1], room[number, 2] = here, there, count
            fetch_row(upward, here, count)
            fetch_row(downward, there, count)
            number += ONE
        number = ZERO
        while number < some and begin + number < end:
            here, there = np.uint64(room[number, 0]), np.uint64(room[number, 1])
            count = np.uint64(room[number, 2])
            whole = count & ~np.uint64(7)
            best = np.uint64(least_sum(upward, here, downward, there, whole))
            while whole < count:
                best = lesser(best, np.uint64(upward[here + whole]) + np.uint64(downward[there + whole]))
                whole += ONE
            found[begin + number] = best
            number += ONE
        begin += some
