"""Compiled kernels that eliminate nodes of a graph one by one, in ranges of ids that threads share.

Each node has places for a few neighbours: its degree, their ids, and the weights of the arcs there and back, of which
UNREACHABLE stands for none. A node with more neighbours is a hub. It has no places; its neighbours know the arcs
between them, and are never eliminated. The places of an eliminated node keep what they were when it was eliminated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit, jit_part

_Uint8s = npt.NDArray[np.uint8]
_Uint32s = npt.NDArray[Any]  # kernels assign int64 values, which numba narrows
_Int32s = npt.NDArray[Any]
_Int64s = npt.NDArray[np.int64]
_Index = Any  # an int64 or an integer of the interpreter

_FAR = 2**32 - 1
#: States of a node: it remains and may be eliminated in this round, or not in this round; it is a hub; eliminated.
FREE, HELD, HUB, GONE = 0, 1, 2, 3


@jit_part
def _put(
    degree: _Int32s,
    near: _Int32s,
    there: _Uint32s,
    back: _Uint32s,
    node: _Index,
    other: _Index,
    out: _Index,
    in_: _Index,
) -> bool:
    """Lower the weights of the arcs between a node and another one; return False if there is no place for them."""
    count = degree[node]
    for k in range(count):
        if near[node, k] == other:
            there[node, k] = min(np.int64(there[node, k]), out)
            back[node, k] = min(np.int64(back[node, k]), in_)
            return True
    if count == near.shape[1]:
        return False
    near[node, count], there[node, count], back[node, count] = other, out, in_
    degree[node] = count + 1
    return True


@jit
def place_arcs(
    first_out: _Uint32s, arcs: _Uint32s, state: _Uint8s, degree: _Int32s, near: _Int32s, there: _Uint32s, back: _Uint32s
) -> None:
    """Put all arcs but loops into the places of their ends, and mark nodes with too many neighbours as hubs."""
    for tail in range(len(first_out) - 1):
        for arc in range(first_out[tail], first_out[tail + 1]):
            head, weight = np.int64(arcs[arc, 0]), np.int64(arcs[arc, 1])
            if head == tail or weight == _FAR:
                continue
            if state[tail] != HUB and not _put(degree, near, there, back, tail, head, weight, _FAR):
                state[tail], degree[tail] = HUB, 0
            if state[head] != HUB and not _put(degree, near, there, back, head, tail, _FAR, weight):
                state[head], degree[head] = HUB, 0


@jit_part
def _through(first: _Index, second: _Index) -> _Index:
    """Return a sum of weights; one that does not fit is at least UNREACHABLE."""
    return _FAR if first == _FAR or second == _FAR else first + second


@jit_part
def _has_witness(
    degree: _Int32s,
    near: _Int32s,
    there: _Uint32s,
    low: _Index,
    high: _Index,
    tail: _Index,
    head: _Index,
    avoided: _Index,
    most: _Index,
) -> bool:
    """Return whether a path of one or two arcs that avoids a node, and stays in a range, is no heavier than `most`."""
    for k in range(degree[tail]):
        middle, first = np.int64(near[tail, k]), np.int64(there[tail, k])
        if middle == avoided or first > most:
            continue
        if middle == head:
            return True
        if middle < low or middle >= high:
            continue
        for j in range(degree[middle]):
            if near[middle, j] == head and first + np.int64(there[middle, j]) <= most:
                return True
    return False


@jit_part
def _fits(state: _Uint8s, degree: _Int32s, near: _Int32s, low: _Index, high: _Index, node: _Index) -> bool:
    """Return whether the neighbours of a node are in a range, and have places for the arcs that replace it."""
    for k in range(degree[node]):
        other = near[node, k]
        if other < low or other >= high:
            return False
        # The node leaves its place after the others have come.
        if state[other] == HUB or degree[other] + degree[node] - 1 > near.shape[1]:
            return False
    return True


@jit_part
def _replace(
    degree: _Int32s, near: _Int32s, there: _Uint32s, back: _Uint32s, low: _Index, high: _Index, node: _Index
) -> bool:
    """Put arcs between the neighbours of a node in its place; return whether a weight did not fit."""
    count, over = degree[node], False
    for k in range(count):
        one = np.int64(near[node, k])
        for j in range(k):
            other = np.int64(near[node, j])
            out = _through(np.int64(back[node, k]), np.int64(there[node, j]))
            in_ = _through(np.int64(back[node, j]), np.int64(there[node, k]))
            if out >= _FAR or _has_witness(degree, near, there, low, high, one, other, node, out):
                over |= out > _FAR or (out == _FAR and back[node, k] != _FAR and there[node, j] != _FAR)
                out = _FAR
            if in_ >= _FAR or _has_witness(degree, near, there, low, high, other, one, node, in_):
                over |= in_ > _FAR or (in_ == _FAR and back[node, j] != _FAR and there[node, k] != _FAR)
                in_ = _FAR
            if out != _FAR or in_ != _FAR:
                _put(degree, near, there, back, one, other, out, in_)
                _put(degree, near, there, back, other, one, in_, out)
    for k in range(count):
        other = near[node, k]
        last = degree[other] - 1
        for j in range(last):
            if near[other, j] == node:
                near[other, j], there[other, j], back[other, j] = (
                    near[other, last],
                    there[other, last],
                    back[other, last],
                )
                break
        degree[other] = last
    return over


@jit
def eliminate_round(
    left: _Int32s,
    state: _Uint8s,
    degree: _Int32s,
    near: _Int32s,
    there: _Uint32s,
    back: _Uint32s,
    low: _Index,
    high: _Index,
    most_degree: _Index,
) -> bool:
    """Eliminate nodes that are no neighbours of each other, those with the fewest neighbours first.

    Only nodes of a range are read and written: a node with a neighbour outside of it remains.

    Parameters
    ----------
    left : numpy.ndarray
        The remaining nodes of the range, rising, int32.
    low, high : int
        First node of the range, and its end.
    most_degree : int
        Most neighbours of a node that is eliminated.

    Returns
    -------
    bool
        Whether the weight of an arc did not fit into 32 bits, so that the arc was left out.
    """
    over = False
    for i in range(len(left)):
        if state[left[i]] == HELD:
            state[left[i]] = FREE
    for wanted in range(1, most_degree + 1):
        for i in range(len(left)):
            node = left[i]
            if state[node] != FREE or degree[node] != wanted or not _fits(state, degree, near, low, high, node):
                continue
            over |= _replace(degree, near, there, back, low, high, node)
            state[node] = GONE
            for k in range(wanted):
                state[near[node, k]] = HELD
    return over


@jit
def write_arcs_of_hubs(
    node: _Int32s, state: _Uint8s, degree: _Int32s, near: _Int32s, back: _Uint32s, tails: _Int32s, arcs: _Uint32s
) -> int:
    """Write the arcs from hubs to some other nodes, which know them, and return their number."""
    at = 0
    for i in range(len(node)):
        for k in range(degree[node[i]]):
            if state[near[node[i], k]] == HUB and back[node[i], k] != _FAR:
                tails[at], arcs[at, 0], arcs[at, 1] = near[node[i], k], node[i], back[node[i], k]
                at += 1
    return at


@jit
def write_arcs(node: _Int32s, degree: _Int32s, near: _Int32s, weight: _Uint32s, first: _Int64s, arcs: _Uint32s) -> None:
    """Write the arcs of some nodes in one direction, given their weights, and where those of each node begin."""
    at = np.int64(0)
    for i in range(len(node)):
        first[i] = at
        for k in range(degree[node[i]]):
            if weight[node[i], k] != _FAR:
                arcs[at, 0], arcs[at, 1] = near[node[i], k], weight[node[i], k]
                at += 1
    first[len(node)] = at
