"""Compiled kernels of the parts of a search that lie outside of the core: inside components, and up to the core.

Distances that do not fit into 32 bits are UNREACHABLE while a search goes on, and the caller learns of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part

_Uint32s = npt.NDArray[np.uint32]
_Uint64s = npt.NDArray[Any]
_Int32s = npt.NDArray[Any]
_Int64s = npt.NDArray[np.int64]

_FAR = 2**32 - 1
#: Label of a node that was not reached.
NEVER = 2**62
_BITS = np.uint64(31)
_MASK = np.uint64(2**31 - 1)


@jit_part
def _push(heap: _Uint64s, size: int, entry: np.uint64) -> None:
    """Put an entry into a binary heap of `size` entries, whose least one is the first."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry


@jit_part
def _pop(heap: _Uint64s, size: int) -> Any:
    """Remove and return the least entry of a heap, which then has `size` entries."""
    least, entry = heap[0], heap[size]
    at, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = entry
    return least


@jit
def search_components(
    nodes: _Int64s,
    offsets: _Int64s,
    component: _Uint32s,
    first_member: _Uint32s,
    members: _Uint32s,
    rows: _Int64s,
    head: _Int32s,
    weight: _Uint32s,
    place: _Int32s,
    first_exit: _Int64s,
    exit_node: _Uint32s,
    label: _Int64s,
    heap: _Uint64s,
    near: _Uint32s,
    left: _Int64s,
) -> tuple[int, int, bool]:
    """Search from removed nodes, each in its component; those of one component follow each other.

    Parameters
    ----------
    nodes, offsets : numpy.ndarray
        The seeds.
    component, first_member, members : numpy.ndarray
        See `Reduction`.
    rows, head, weight, place, first_exit, exit_node : numpy.ndarray
        See `Surroundings`.
    label, heap : numpy.ndarray
        Memory for the labels of the largest component and its exits, and for its arcs and all seeds.
    near : numpy.ndarray
        Room for pairs of nodes that are reached, rising in each component, and their distances.
    left : numpy.ndarray
        Room for pairs of core nodes that are reached and their distances; a core node occurs once for each component.

    Returns
    -------
    num_near, num_left : int
        Number of pairs.
    fits : bool
        Whether the distances of all removed nodes that are reached fit into 32 bits; others are left out.
    """
    num_near, num_left, i, fits = 0, 0, 0, True
    while i < len(nodes):
        part = np.int64(component[nodes[i]])
        begin, end = np.int64(first_member[part]), np.int64(first_member[part + 1])
        out, size = first_exit[part], end - begin
        around = first_exit[part + 1] - out
        for k in range(size + around):
            label[k] = NEVER
        count = 0
        while i < len(nodes) and component[nodes[i]] == part:
            at, distance = np.int64(place[nodes[i]]), min(offsets[i], _FAR)
            if distance < label[at]:
                label[at] = distance
                _push(heap, count, np.uint64(distance) << _BITS | np.uint64(at))
                count += 1
            i += 1
        while count > 0:
            count -= 1
            entry = _pop(heap, count)
            at, distance = np.int64(entry & _MASK), np.int64(entry >> _BITS)
            if distance > label[at] or at >= size:
                continue
            for arc in range(rows[begin + at], rows[begin + at + 1]):
                to, through = np.int64(head[arc]), distance + np.int64(weight[arc])
                if through > _FAR:
                    through = np.int64(_FAR)
                if through < label[to]:
                    label[to] = through
                    _push(heap, count, np.uint64(through) << _BITS | np.uint64(to))
                    count += 1
        for k in range(size):
            if label[k] == _FAR:
                fits = False
            elif label[k] != NEVER:
                near[num_near, 0], near[num_near, 1] = members[begin + k], label[k]
                num_near += 1
        for k in range(around):
            if label[size + k] != NEVER:
                left[num_left, 0], left[num_left, 1] = exit_node[out + k], label[size + k]
                num_left += 1
    return num_near, num_left, fits


@jit
def search_upward(
    nodes: _Int64s,
    values: _Int64s,
    place: _Uint32s,
    num_core: int,
    first: _Int64s,
    arcs: _Uint32s,
    label: _Int64s,
    heap: _Uint64s,
    above: _Uint32s,
    cores: _Uint32s,
) -> tuple[int, int, bool]:
    """Go from nodes to neighbours that were eliminated later, until the core.

    Parameters
    ----------
    nodes, values : numpy.ndarray
        The nodes before the elimination, and the distances to begin with.
    place : numpy.ndarray
        Place of each node, see `vkssp.prepared.elimination.Elimination`.
    num_core : int
        Number of core nodes.
    first, arcs : numpy.ndarray
        See `vkssp.prepared.elimination.Rows`.
    label : numpy.ndarray
        Memory for the distances by place; `NEVER` before and afterwards, since no interrupt ends a kernel.
    heap : numpy.ndarray
        Room for all eliminated nodes.
    above, cores : numpy.ndarray
        Room for pairs of an eliminated node or a core node that is reached, and its distance.

    Returns
    -------
    num_above, num_cores : int
        Number of these pairs.
    over : bool
        Whether some sum did not fit into 32 bits; it counts as if the arc were not there.
    """
    num_above, num_cores, count, over = 0, 0, 0, False
    for i in range(len(nodes)):
        node = np.int64(place[nodes[i]])
        if values[i] >= _FAR:
            over = True
            continue
        if label[node] == NEVER:
            if node < num_core:
                cores[num_cores, 0] = node
                num_cores += 1
            else:
                _push(heap, count, np.uint64(_FAR - node))  # the highest place first
                count += 1
        label[node] = min(label[node], values[i])
    while count > 0:
        count -= 1
        node = _FAR - np.int64(_pop(heap, count))
        above[num_above, 0], above[num_above, 1] = node, label[node]
        num_above += 1
        for arc in range(first[node - num_core], first[node - num_core + 1]):
            to, through = np.int64(arcs[arc, 0]), label[node] + np.int64(arcs[arc, 1])
            if through >= _FAR:
                over = True
                continue
            if label[to] == NEVER:
                if to < num_core:
                    cores[num_cores, 0] = to
                    num_cores += 1
                else:
                    _push(heap, count, np.uint64(_FAR - to))
                    count += 1
            label[to] = min(label[to], through)
        label[node] = NEVER  # no other eliminated node leads down to it
    for i in range(num_cores):
        cores[i, 1] = label[cores[i, 0]]
        label[cores[i, 0]] = NEVER
    return num_above, num_cores, over
