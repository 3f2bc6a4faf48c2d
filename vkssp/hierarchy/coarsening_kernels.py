"""Kernels that make a graph coarser, and its partition better; see `vkssp.hierarchy.coarsening`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.jit import jit_allocating

Int32s = npt.NDArray[Any]  # the kernels assign int64 values, which numba narrows
# Neighbours of a node that are sorted one by one.
_FEW = 16


@jit_allocating
def count_inside(low: int, high: int, first: Int32s, near: Int32s) -> int:
    """Return how many neighbours of some nodes, which follow each other, are among these nodes."""
    found = 0
    for edge in range(first[low], first[high]):
        found += low <= near[edge] < high
    return found


@jit_allocating
def match_nodes(
    low: int, high: int, first: Int32s, near: Int32s, edge_weight: Int32s, node_weight: Int32s, mate: Int32s
) -> int:
    """Match nodes from one up to another in pairs along heavy edges, of equal ones those to light nodes.

    `mate` receives the other node of each pair, or the node itself if it is left alone. Returns the number of pairs and
    of nodes left alone.
    """
    mate[low:high] = -1
    made = 0
    for node in range(low, high):
        if mate[node] >= 0:
            continue
        best = -1
        for edge in range(first[node], first[node + 1]):
            other = near[edge]
            if other < low or other >= high or other == node or mate[other] >= 0:
                continue
            if (
                best < 0
                or edge_weight[edge] > edge_weight[best]
                or (edge_weight[edge] == edge_weight[best] and node_weight[other] < node_weight[near[best]])
            ):
                best = edge
        other = node if best < 0 else near[best]
        mate[node] = other
        mate[other] = node
        made += 1
    return made


@jit_allocating
def count_pairs(low: int, high: int, mate: Int32s) -> int:
    """Return of how many pairs, and nodes left alone, the first node is among some nodes."""
    found = 0
    for node in range(low, high):
        found += mate[node] >= node
    return found


@jit_allocating
def number_pairs(low: int, high: int, mate: Int32s, number: int, coarse: Int32s) -> None:
    """Write a number for both nodes of each pair whose first node is among some nodes."""
    for node in range(low, high):
        if mate[node] >= node:
            coarse[node] = number
            coarse[mate[node]] = number
            number += 1


@jit_allocating
def merge_rows(
    low: int,
    high: int,
    first: Int32s,
    near: Int32s,
    edge_weight: Int32s,
    node_weight: Int32s,
    mate: Int32s,
    coarse: Int32s,
    most: int,
    count: Int32s,
    weight: Int32s,
    coarse_near: Int32s,
    coarse_weight: Int32s,
) -> int:
    """Write the neighbours of the pairs whose first node is among some nodes, and return how many there are.

    Parameters
    ----------
    first, near, edge_weight, node_weight : numpy.ndarray
        The finer graph.
    mate, coarse : numpy.ndarray
        Other node, and number, of each node's pair.
    most : int
        Number of neighbours for which there is room.
    count, weight : numpy.ndarray
        Receive the number of neighbours, and the weight, of each pair, by its number.
    coarse_near, coarse_weight : numpy.ndarray
        Receive the neighbours, ascending for each pair, and the weights of the edges to them.
    """
    # A neighbour in the upper half of a word, so that words are in the order of neighbours.
    found, size = np.empty(most, np.int64), 0
    for node in range(low, high):
        other = mate[node]
        if other < node:
            continue
        number, here = coarse[node], 0
        for half in range(1 if other == node else 2):
            end = node if half == 0 else other
            for edge in range(first[end], first[end + 1]):
                to = coarse[near[edge]]
                if to != number:
                    found[here] = np.int64(to) << 32 | np.int64(edge_weight[edge])
                    here += 1
        if here > _FEW:
            found[:here].sort()
        else:
            for i in range(1, here):
                word, at = found[i], i
                while at > 0 and found[at - 1] > word:
                    found[at] = found[at - 1]
                    at -= 1
                found[at] = word
        begin = size
        for i in range(here):
            to, by = found[i] >> 32, found[i] & 0xFFFFFFFF
            if size > begin and coarse_near[size - 1] == to:
                coarse_weight[size - 1] += by
            else:
                coarse_near[size] = to
                coarse_weight[size] = by
                size += 1
        count[number] = size - begin
        weight[number] = node_weight[node] + (0 if other == node else node_weight[other])
    return size


@jit_allocating
def cut_weight(low: int, high: int, first: Int32s, near: Int32s, edge_weight: Int32s, part: Int32s) -> int:
    """Return the weight of the edges from some nodes, which follow each other, to other parts."""
    found = 0
    for node in range(low, high):
        for edge in range(first[node], first[node + 1]):
            if part[near[edge]] != part[node]:
                found += edge_weight[edge]
    return found


@jit_allocating
def find_border(low: int, high: int, first: Int32s, near: Int32s, part: Int32s, on_border: Any) -> None:
    """Mark the nodes, from one up to another, that have neighbours in other parts."""
    for node in range(low, high):
        on_border[node] = False
        for edge in range(first[node], first[node + 1]):
            if part[near[edge]] != part[node]:
                on_border[node] = True
                break


@jit_allocating
def move_nodes(
    first: Int32s,
    near: Int32s,
    edge_weight: Int32s,
    node_weight: Int32s,
    part: Int32s,
    weight: Int32s,
    most: int,
    passes: int,
    is_listed: Any,
    listed: Int32s,
    size: int,
) -> None:
    """Move nodes to parts to which they have heavier edges, or as heavy ones if that part is lighter.

    Parameters
    ----------
    first, near, edge_weight, node_weight : numpy.ndarray
        The graph.
    part, weight, most : numpy.ndarray, numpy.ndarray, int
        Part of each node, and weight of each part; no part becomes heavier than `most`.
    passes : int
        How often all nodes are looked at that may move.
    is_listed, listed, size : numpy.ndarray, numpy.ndarray, int
        Whether each node is on a border, the nodes that are, with room for all nodes, and how many they are.
    """
    to, met = np.zeros(len(weight), np.int64), np.empty(len(weight), np.int64)
    for _ in range(passes):
        has_moved, end = False, size
        for i in range(end):
            node = listed[i]
            own, num_met = part[node], 0
            for edge in range(first[node], first[node + 1]):
                there = part[near[edge]]
                if to[there] == 0:
                    met[num_met] = there
                    num_met += 1
                to[there] += edge_weight[edge]
            best, heaviest, lightest = own, to[own], weight[own] - node_weight[node]
            for j in range(num_met):
                there = met[j]
                is_better = to[there] > heaviest or (to[there] == heaviest and weight[there] < lightest)
                if there != own and is_better and weight[there] + node_weight[node] <= most:
                    best, heaviest, lightest = there, to[there], weight[there]
            for j in range(num_met):
                to[met[j]] = 0
            if best != own:
                part[node] = best
                weight[own] -= node_weight[node]
                weight[best] += node_weight[node]
                has_moved = True
        if not has_moved:
            return
        for i in range(end):
            node = listed[i]
            for edge in range(first[node], first[node + 1]):
                other = near[edge]
                if not is_listed[other] and part[other] != part[node]:
                    is_listed[other] = True
                    listed[size] = other
                    size += 1
