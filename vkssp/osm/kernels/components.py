"""Kernels that find connected parts of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part

Ints = npt.NDArray[Any]


@jit_part
def _root(above: Ints, node: Any) -> Any:
    """Return the root above a node, and shorten the way to it."""
    while above[node] != node:
        above[node] = above[above[node]]
        node = np.int64(above[node])
    return node


@jit
def find_weak(tail: Ints, head: Ints, arcs: Ints, part: Ints) -> None:
    """Find the parts that some arcs connect in any direction; `part` receives the least node of each node's part."""
    for node in range(len(part)):
        part[node] = node
    for i in range(len(arcs)):
        a, b = _root(part, np.int64(tail[arcs[i]])), _root(part, np.int64(head[arcs[i]]))
        if a < b:
            part[b] = a
        else:
            part[a] = b
    for node in range(len(part)):
        part[node] = part[part[node]]  # no node lies below a larger one


@jit
def find_strong(
    first_out: Ints, head: Ints, part: Ints, order: Ints, low: Ints, place: Ints, stack: Ints, path: Ints
) -> int:
    """Find the parts in which arcs lead from every node to every other one, by Tarjan (1972); return how many.

    Parameters
    ----------
    first_out, head : numpy.ndarray
        Offset of each node's arcs, and heads of the arcs.
    part, order : numpy.ndarray
        Receive the number of each node's part, and the order of visits; all -1 at first.
    low, place, stack, path : numpy.ndarray
        Room for a number of each node.
    """
    count = visited = height = np.int64(0)
    for start in range(len(part)):
        if order[start] >= 0:
            continue
        node, depth = np.int64(start), np.int64(0)
        while True:
            if order[node] < 0:
                order[node] = low[node] = visited
                visited += 1
                place[node] = first_out[node]
                stack[height], path[depth] = node, node
                height += 1
                depth += 1
            if place[node] < first_out[node + 1]:
                other = np.int64(head[place[node]])
                place[node] += 1
                if order[other] < 0:
                    node = other
                elif part[other] < 0 and order[other] < low[node]:
                    low[node] = order[other]
                continue
            if low[node] == order[node]:
                while part[node] < 0:
                    height -= 1
                    part[stack[height]] = count
                count += 1
            depth -= 1
            if depth == 0:
                break
            above = np.int64(path[depth - 1])
            if low[node] < low[above]:
                low[above] = low[node]
            node = above
    return int(count)


@jit
def find_cores(part: Ints, piece: Ints, size: Ints, core: Ints) -> None:
    """Find the largest piece of each part, of equal ones that of the last node; `core` is -1 at first."""
    for node in range(len(part)):
        here = part[node]
        if core[here] < 0 or size[piece[node]] >= size[core[here]]:
            core[here] = piece[node]
