"""Compiled kernels that remove nodes with one or two neighbours from a graph until none is left.

A node with one neighbour is a dead end; a node between two others is replaced by an edge between these. Each row has
the neighbours of a node. An item of a row is the neighbour, the weight of the arc to it, and the index of the item of
the same edge in the row of the neighbour, so that an edge is changed at both ends in constant time.

An edge that replaces a node may be parallel to another one. Then the lighter weights stay, but a search of the row of a
hub after each change would take quadratic time. So a row of k neighbours is only looked through after k - 2 changes:
each of them takes one neighbour at most, and with more than two left there is nothing to do. The time is linear.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part

_Uint32s = npt.NDArray[Any]  # kernels assign int64 values, which numba narrows
_Int64s = npt.NDArray[np.int64]
_Rows = npt.NDArray[Any]  # uint32, or int64 if there are too many items
_Index = Any  # an int64 or an integer of the interpreter

# UNREACHABLE: no path; in place of the component, a node that remains.
_FAR = 2**32 - 1
# More than each sum: no path.
_NEVER = 2**62
# In place of the neighbour: the item has been deleted.
_DELETED = 2**32 - 1
# In place of the number of changes until a row is looked through: the node waits to be removed, or has been.
_WAITS = 2**32 - 1


@jit
def place_arcs(
    first_out: _Uint32s, arcs: _Uint32s, first: _Int64s, size: _Uint32s, rows: _Rows, place: _Uint32s
) -> None:
    """Write the rows: each neighbour once, with the weights of the lightest arcs.

    Parameters
    ----------
    first_out, arcs : numpy.ndarray
        The graph.
    first : numpy.ndarray
        Where the row of each node begins, shape (num_nodes + 1,), int64.
    size : numpy.ndarray
        Number of items of each row, zero at first, shape (num_nodes,), uint32.
    rows : numpy.ndarray
        Output: the items, shape (first[-1], 3).
    place : numpy.ndarray
        Memory for the index of each node in the row that is looked at, shape (num_nodes,), uint32, any values.
    """
    for tail in range(len(size)):
        begin = first[tail]
        for k in range(np.int64(size[tail])):  # from nodes before
            place[rows[begin + k, 0]] = k
        for arc in range(first_out[tail], first_out[tail + 1]):
            head, weight = np.int64(arcs[arc, 0]), np.int64(arcs[arc, 1])
            if head == tail:
                continue
            here = begin + np.int64(place[head])
            if place[head] < size[tail] and rows[here, 0] == head:
                rows[here, 1] = min(np.int64(rows[here, 1]), weight)
                continue
            here, there = begin + np.int64(size[tail]), first[head] + np.int64(size[head])
            place[head] = size[tail]
            rows[here, 0], rows[here, 1], rows[here, 2] = head, weight, there
            rows[there, 0], rows[there, 1], rows[there, 2] = tail, _FAR, here
            size[tail] += 1
            size[head] += 1


@jit_part
def _merge(first: _Int64s, size: _Uint32s, rows: _Rows, place: _Uint32s, node: _Index) -> None:
    """Merge parallel edges of a node, and close gaps in its row."""
    begin, count = first[node], np.int64(0)
    for at in range(begin, begin + np.int64(size[node])):
        other = np.int64(rows[at, 0])
        if other == _DELETED:
            continue
        same, there = begin + np.int64(place[other]), np.int64(rows[at, 2])
        if place[other] < count and rows[same, 0] == other:
            back = np.int64(rows[same, 2])
            rows[same, 1] = min(rows[same, 1], rows[at, 1])
            rows[back, 1] = min(rows[back, 1], rows[there, 1])
            rows[there, 0] = _DELETED
            continue
        place[other] = count
        if at != begin + count:
            rows[begin + count, 0], rows[begin + count, 1], rows[begin + count, 2] = other, rows[at, 1], there
            rows[there, 2] = begin + count
        count += 1
    size[node] = count


@jit_part
def _count_change(
    first: _Int64s, size: _Uint32s, rows: _Rows, place: _Uint32s, changes: _Uint32s, node: _Index
) -> bool:
    """Count a change of a row, and merge the row once only two neighbours may be left; return whether the node goes."""
    if changes[node] == _WAITS:
        return False
    if changes[node] > 1:
        changes[node] -= 1
        return False
    _merge(first, size, rows, place, node)
    changes[node] = _WAITS if size[node] <= 2 else size[node] - 2
    return bool(size[node] <= 2)


@jit
def remove_nodes(
    first: _Int64s,
    size: _Uint32s,
    rows: _Rows,
    place: _Uint32s,
    changes: _Uint32s,
    order: _Uint32s,
    records: _Uint32s,
    component: _Uint32s,
) -> tuple[int, int, bool]:
    """Remove nodes until each of those that remain has no neighbour or at least three.

    Parameters
    ----------
    first, size, rows, place : numpy.ndarray
        See `place_arcs`.
    changes : numpy.ndarray
        Memory, shape (num_nodes,), uint32.
    order : numpy.ndarray
        Output: the nodes that were looked at, in this order, shape (num_nodes,), uint32. Some of them remain.
    records : numpy.ndarray
        Output: for each removed node its neighbours and the weights of the arcs from there, as in `Reduction.records`
        but by nodes of the graph; shape (num_nodes, 4), uint32.
    component : numpy.ndarray
        UNREACHABLE for each node; other values for removed nodes afterwards, shape (num_nodes,), uint32.

    Returns
    -------
    tuple
        Number of nodes in `order`, number of items of rows of nodes that remain, and whether some sum did not fit into
        32 bits; it counts as UNREACHABLE.
    """
    at, found, over = 0, 0, False
    for start in range(len(size)):
        changes[start] = size[start] - 2 if size[start] > 2 else _WAITS
        if size[start] <= 2:
            order[found] = start
            found += 1
    while at < found:
        node = np.int64(order[at])
        at += 1
        _merge(first, size, rows, place, node)
        if size[node] == 0:
            continue
        component[node] = node
        one, two = first[node], first[node] + np.int64(size[node]) - 1
        left, right = np.int64(rows[one, 0]), np.int64(rows[two, 0])
        at_left, at_right = np.int64(rows[one, 2]), np.int64(rows[two, 2])
        from_left, from_right = np.int64(rows[at_left, 1]), np.int64(rows[at_right, 1])
        records[node, 0], records[node, 1] = left, from_left
        records[node, 2], records[node, 3] = right, from_right if one != two else _FAR
        if one == two:
            rows[at_left, 0] = _DELETED
        else:
            to_left, to_right = np.int64(rows[one, 1]), np.int64(rows[two, 1])
            for here, end, there, into, out in (
                (at_left, right, at_right, from_left, to_right),
                (at_right, left, at_left, from_right, to_left),
            ):
                if into != _FAR and out != _FAR and into + out >= _FAR:
                    over = True
                rows[here, 0], rows[here, 1], rows[here, 2] = end, min(into + out, _FAR), there
            if _count_change(first, size, rows, place, changes, right):
                order[found] = right
                found += 1
        if _count_change(first, size, rows, place, changes, left):
            order[found] = left
            found += 1
    num_items: _Index = 0
    for left_over in range(len(size)):
        if component[left_over] == _FAR:
            _merge(first, size, rows, place, left_over)
            num_items += np.int64(size[left_over])
    return found, num_items, over


@jit
def complete_records(order: _Uint32s, records: _Uint32s, component: _Uint32s, number: _Uint32s) -> tuple[int, bool]:
    """Replace nodes in records by core nodes, and number the core nodes and the components, both in the order of nodes.

    This goes from the last removed node, whose neighbours are core nodes, back to the first. When a node is removed,
    its two neighbours are, or become, neighbours of each other. The records of two neighbours name at most two core
    nodes together, and so does then the record of a node between them. A neighbour that is removed later is in the same
    component.

    Parameters
    ----------
    order : numpy.ndarray
        The nodes in the order of their removal, and some that remain, uint32.
    records, component : numpy.ndarray
        What `remove_nodes` writes; afterwards those of a `Reduction`.
    number : numpy.ndarray
        Memory, shape (num_nodes,), uint32.

    Returns
    -------
    tuple
        Number of components, and whether some weight of a record does not fit into 32 bits.
    """
    num_core, num_components, over = 0, 0, False
    for left_over in range(len(component)):
        number[left_over] = _FAR
        if component[left_over] == _FAR:
            records[left_over, 0], records[left_over, 1] = num_core, 0
            records[left_over, 2], records[left_over, 3] = num_core, _FAR
            num_core += 1
    for i in range(len(order) - 1, -1, -1):
        node = np.int64(order[i])
        if component[node] == _FAR:
            continue
        left, right = np.int64(records[node, 0]), np.int64(records[node, 2])
        if component[left] != _FAR:
            component[node] = component[left]
        elif component[right] != _FAR:
            component[node] = component[right]
        low = min(min(records[left, 0], records[left, 2]), min(records[right, 0], records[right, 2]))
        high = max(max(records[left, 0], records[left, 2]), max(records[right, 0], records[right, 2]))
        from_low: _Index = _NEVER
        from_high: _Index = _NEVER
        for end, weight in ((left, np.int64(records[node, 1])), (right, np.int64(records[node, 3]))):
            for column in (0, 2):
                if weight == _FAR or records[end, column + 1] == _FAR:
                    continue
                through = weight + np.int64(records[end, column + 1])
                if records[end, column] == low:
                    from_low = min(from_low, through)
                else:
                    from_high = min(from_high, through)
        # A sum that does not fit beside one that does is that of a detour.
        if _FAR <= from_low < _NEVER or _FAR <= from_high < _NEVER:
            over = True
        records[node, 0], records[node, 1] = low, min(from_low, _FAR)
        records[node, 2], records[node, 3] = high, min(from_high, _FAR)
    for member in range(len(component)):
        if component[member] != _FAR:
            anchor = component[member]
            if number[anchor] == _FAR:
                number[anchor] = num_components
                num_components += 1
            component[member] = number[anchor]
    return num_components, over


@jit
def write_core(
    first: _Int64s,
    size: _Uint32s,
    rows: _Rows,
    records: _Uint32s,
    component: _Uint32s,
    first_out: _Uint32s,
    head: _Uint32s,
    weight: _Uint32s,
) -> int:
    """Write the arcs between the nodes that remain, and return their number."""
    count, row = 0, 0
    for node in range(len(component)):
        if component[node] != _FAR:
            continue
        for at in range(first[node], first[node] + np.int64(size[node])):
            if rows[at, 1] != _FAR:
                head[count], weight[count] = records[rows[at, 0], 0], rows[at, 1]
                count += 1
        row += 1
        first_out[row] = count
    return count
