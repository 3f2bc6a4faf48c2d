"""Kernels of alternative routes: plateaus of two shortest-path trees, and the paths over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit

Ints = npt.NDArray[np.int64]
#: Arc of a node that has none in a tree.
NONE = np.int64(2**32 - 1)
# Distances of nodes that are not reached.
_FAR = np.int64(2**32 - 1)


@jit
def find_plateaus(
    tail: Any, head: Any, forward: Any, into: Any, backward: Any, out: Any, limit: int, found: Ints
) -> int:
    """Find the plateaus of two trees, paths that are part of both, perhaps of a single node, and return their number.

    `forward` and `into` are the distances of nodes from the start and the arcs into them in its tree; `backward` and
    `out` those to the goal and the arcs out of them. Only plateaus count over which a path from start to goal weighs
    at most `limit`. A row of `found` is the first node, the last node, the weight of the plateau and of the path.
    """
    count = 0
    for start in range(len(forward)):
        before, after = np.int64(forward[start]), np.int64(backward[start])
        if before == _FAR or after == _FAR or before + after > limit:
            continue
        arc = np.int64(into[start])
        if arc != NONE and np.int64(out[tail[arc]]) == arc:
            continue
        node: Any = start
        while True:
            arc = np.int64(out[node])
            if arc == NONE or np.int64(into[head[arc]]) != arc:
                break
            node = np.int64(head[arc])
        if count < len(found):
            found[count, 0], found[count, 1] = start, node
            found[count, 2], found[count, 3] = np.int64(forward[node]) - before, before + after
        count += 1
    return count


@jit
def put_shared(
    before: Any, weight: Any, distance: Any, arcs: Any, taken: Any, ends: Any, stack: Ints, shared: Ints
) -> None:
    """Write, for the path of a tree to each node, the weight of what it shares with other paths.

    `before` is the end of each arc nearer to the root, `arcs` are the arcs of the tree. `taken` are the arcs of the
    other paths, and `ends` their nodes at the root, up to which they share the way to the tree's roots. `stack` has
    room for a path; `shared` is -1 at first.
    """
    for start in range(len(distance)):
        if np.int64(distance[start]) == _FAR:
            continue
        size, node = 0, np.int64(start)
        while shared[node] < 0 and np.int64(arcs[node]) != NONE:
            stack[size] = node
            size += 1
            node = np.int64(before[arcs[node]])
        if shared[node] < 0:
            shared[node] = 0
            for path in range(len(ends)):
                if ends[path] == node:
                    shared[node] = np.int64(distance[node])
        total = shared[node]
        for at in range(size - 1, -1, -1):
            node = stack[at]
            if taken[arcs[node]]:
                total += np.int64(weight[arcs[node]])
            shared[node] = total


@jit
def put_path(tail: Any, head: Any, into: Any, out: Any, start: int, arcs: Ints) -> int:
    """Write the arcs of the path over a node, and return their number; if there is no room, they are only counted."""
    before, node = 0, np.int64(start)
    while np.int64(into[node]) != NONE:
        node = np.int64(tail[into[node]])
        before += 1
    count, node = before, np.int64(start)
    while np.int64(out[node]) != NONE:
        if count < len(arcs):
            arcs[count] = np.int64(out[node])
        node = np.int64(head[out[node]])
        count += 1
    if count <= len(arcs):
        node = np.int64(start)
        for at in range(before - 1, -1, -1):
            arcs[at] = np.int64(into[node])
            node = np.int64(tail[into[node]])
    return count
