"""Bundles of subtrees of the elimination tree, each of which a workgroup sweeps in shared memory.

A node's arcs come from its ancestors. So if the nodes of some whole subtrees fit into the shared memory of a workgroup,
it can sweep all their levels without waiting for others: few of their arcs come from above, where the sweep has been
before. Once the subtrees that fit are taken away from the bottom of the tree, those of the rest form bundles in turn.
On road networks three or four tiers of bundles hold all nodes, where the tree has some twenty levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vkssp.graph import Uint32s
from vkssp.graph.csr import within
from vkssp.graph.hierarchy import Hierarchy, Indices

# Most tiers; the nodes that would need more of them are swept level by level.
_MOST_TIERS = 6


@dataclass(frozen=True, eq=False)
class Bundles:
    """Order of the nodes of a hierarchy by bundles, from the top.

    Attributes
    ----------
    rank : numpy.ndarray
        The rank of the node at each place of the order, shape (num_nodes,), uint32.
    place : numpy.ndarray
        The place of each rank, shape (num_nodes,), uint32.
    rest : list of int
        Bounds of the places of those nodes of each level at the top that no bundle sweeps; empty if there are none.
    tiers : list of (int, int)
        Bounds in `bundles` of those that do not wait for each other, from the top. Those of the nodes of `rest` come
        first, and have no steps.
    bundles : numpy.ndarray
        Of each bundle its first place and the end of its places, its first step and the end of its steps, shape
        (num_bundles, 4), uint32. Places are sorted by bundle.
    steps : numpy.ndarray
        The steps of bundles, which wait for each other: the level of their nodes, and the end of their places,
        shape (num_steps, 2), uint32.
    num_inner : int
        Number of places before those of the last tier.
    """

    rank: Uint32s
    place: Uint32s
    rest: list[int]
    tiers: list[tuple[int, int]]
    bundles: Uint32s
    steps: Uint32s
    num_inner: int


def bundles_of(hierarchy: Hierarchy, most_nodes: int) -> Bundles:
    """Return bundles of at most so many nodes each."""
    size, levels = hierarchy.size, list(pairwise(hierarchy.first_of_level.tolist()))
    parent = np.where(hierarchy.parent < 0, -1, hierarchy.supernode[hierarchy.parent].astype(np.int64))
    level = np.repeat(np.arange(len(levels)), [end - begin for begin, end in levels])
    preorder, left = _preorder(parent, levels), np.arange(len(size))
    tier, bundle, numbers = np.full(len(size), -1, np.int64), np.zeros(len(size), np.int64), [0]
    while len(left) and len(numbers) <= _MOST_TIERS:
        below = np.zeros(len(size), np.int64)
        below[left] = size[left]
        of_level = np.split(left, np.searchsorted(left, [end for _, end in levels[:-1]]))
        for some in reversed(of_level[1:]):
            below += np.bincount(parent[some], below[some], len(size)).astype(np.int64)
        fits = np.zeros(len(size), np.bool_)
        fits[left] = below[left] <= most_nodes
        root = np.full(len(size), -1, np.int64)
        for some in of_level:
            own = some[fits[some]]
            above = parent[own]
            root[own] = np.where((above >= 0) & fits[above], root[above], own)
        taken = left[fits[left]]
        if not len(taken):
            break
        roots = np.flatnonzero(root == np.arange(len(size)))
        roots = roots[np.argsort(preorder[roots])]
        number = np.zeros(len(size), np.int64)
        number[roots] = _filled(below[roots], most_nodes)
        tier[taken], bundle[taken] = len(numbers) - 1, number[root[taken]]
        numbers.append(int(number[roots[-1]]) + 1)
        left = left[~fits[left]]
    return _ordered(hierarchy, tier, bundle, level, numbers[1:], most_nodes)


def _preorder(parent: Indices, levels: list[tuple[int, int]]) -> Indices:
    """Return the place of each supernode in an order where each subtree lies behind its root."""
    below, found = np.ones(len(parent), np.int64), np.zeros(len(parent), np.int64)
    for begin, end in reversed(levels[1:]):
        below += np.bincount(parent[begin:end], below[begin:end], len(parent)).astype(np.int64)
    for begin, end in levels:
        some = begin + np.argsort(parent[begin:end], kind="stable")
        before = np.cumsum(below[some]) - below[some]
        above = parent[some]
        first = np.maximum.accumulate(np.where(np.diff(above, prepend=-2) != 0, np.arange(len(some)), 0))
        found[some] = before if begin == 0 else found[above] + 1 + before - before[first]
    return found


def _filled(sizes: Indices, most: int) -> Indices:
    """Return the bundle of each of some subtrees: each bundle takes the next ones as long as they fit."""
    total = np.append(0, np.cumsum(sizes))
    bounds, first = [0], 0
    while first < len(sizes):
        first = int(np.searchsorted(total, total[first] + most, "right")) - 1
        bounds.append(first)
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def _ordered(
    hierarchy: Hierarchy, tier: Indices, bundle: Indices, level: Indices, numbers: list[int], most_nodes: int
) -> Bundles:
    """Return the order, given the tier from the bottom of each supernode, or -1, and its number there."""
    before, num_tiers = np.cumsum([0, *reversed(numbers)]), len(numbers)
    # From the top, with a bundle of its own for what is in none.
    number = np.where(tier < 0, 0, 1 + bundle + before[np.maximum(0, num_tiers - 1 - tier)])
    order = np.lexsort((level, number))
    size = hierarchy.size[order]
    rank = (np.repeat(hierarchy.first_node[order].astype(np.int64), size) + within(size)).astype(np.uint32)
    place = np.empty_like(rank)
    place[rank] = np.arange(len(rank), dtype=np.uint32)
    # A step ends wherever the bundle or the level changes.
    key = number[order] * len(hierarchy.first_of_level) + level[order]
    ends = np.flatnonzero(np.diff(key, append=-1))
    end_of_step, of_step = np.cumsum(size)[ends], order[ends]
    is_rest = number[of_step] == 0
    rest = [0, *end_of_step[is_rest].tolist()] if is_rest.any() else []
    end_of_step, of_step = end_of_step[~is_rest], of_step[~is_rest]
    steps = np.stack([level[of_step], end_of_step], 1).astype(np.uint32)
    first_step = np.searchsorted(number[of_step], np.arange(1, int(before[-1]) + 2))
    begin = rest[-1] if rest else 0
    bounds = np.append(begin, end_of_step)[first_step]
    bundles = np.stack([bounds[:-1], bounds[1:], first_step[:-1], first_step[1:]], 1)
    num_inner = int(bundles[before[-2], 0]) if numbers else len(rank)
    tiers = list(pairwise(before.tolist()))
    if rest:  # bundles without steps
        first = np.arange(0, begin, most_nodes)
        ends = np.minimum(first + most_nodes, begin)
        bundles = np.concatenate([np.stack([first, ends, 0 * first, 0 * first], 1), bundles])
        tiers = [(0, len(first)), *((len(first) + low, len(first) + high) for low, high in tiers)]
    return Bundles(rank, place, rest, tiers, bundles.astype(np.uint32), steps, num_inner)


def words_of_bundles(bundles: Bundles, first_arc: Indices) -> Uint32s:
    """Return bundles and their steps as words, see shaders/include/bundles.glsl.

    Parameters
    ----------
    bundles : Bundles
        The bundles.
    first_arc : numpy.ndarray
        The first arc of each place, and the number of all arcs, shape (num_nodes + 1,), int64.
    """
    own = np.column_stack([bundles.bundles, first_arc[bundles.bundles[:, 0]]]).astype(np.uint32).reshape(-1)
    ends = first_arc[bundles.steps[:, 1]].astype(np.uint32)
    return np.concatenate([np.array([1 + len(own)], np.uint32), own, ends])
