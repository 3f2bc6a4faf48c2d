"""Nested dissection of a graph in parts, on all cores.

METIS divides the graph, or a coarser one if it is large (`vkssp.hierarchy.coarsening`), into all parts at once. Part
numbers are those of a recursive bisection. For each bisection, from the whole graph down, the fewest nodes that touch
all edges between both halves are their separator (a minimum vertex cover of a bipartite graph, D. König, 1931). What is
left of each part is ordered by METIS, one part independent of the others. An elimination order has the halves before
their separator. The parts depend on the graph only, so that the order is the same on any number of cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from functools import partial

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from vkssp.cores import num_cores, run_ahead
from vkssp.graph import Uint32s
from vkssp.graph.csr import rows_of
from vkssp.hierarchy.coarsening import WeightedGraph, partition
from vkssp.hierarchy.edges import Edges, Indices, Int32s
from vkssp.hierarchy.metis import MetisProcess
from vkssp.jit import kernels
from vkssp.signals import undoing

#: About as many nodes in a part. Fewer make the order worse, by 1% for each halving; more leave cores without work.
NODES_A_PART = 40_000
# Most parts: METIS takes longer for more.
_MOST_PARTS = 512
# Share of the time that the partition takes.
_PARTITION = 0.2


def dissect(edges: Edges, check: Callable[[int], None]) -> Generator[float, None, Uint32s]:
    """Return the nodes in an elimination order; yield from time to time which share of the work is done.

    Parameters
    ----------
    edges : Edges
        Edges of the graph.
    check : callable
        Is told about how many arcs the separators will have between themselves, before the parts are ordered; raises
        an error if these are too many.

    Returns
    -------
    numpy.ndarray
        Shape (num_nodes,), uint32.

    Raises
    ------
    MemoryShortageError
        If there is too little memory.
    VksspError
        If METIS fails.
    """
    count = num_parts(edges.num_nodes)
    first, neighbour = edges.both_ways()
    processes = [MetisProcess() for _ in range(min(num_cores(), count))]

    def end() -> None:
        for process in processes:
            process.close()

    with undoing(end):
        if count == 1:
            return processes[0].ask(first.astype(np.int32), neighbour).astype(np.uint32)

        idle = list(processes)

        def divide(rows: WeightedGraph, number: int) -> Int32s:
            process = idle.pop()
            try:
                weights = rows.node_weight, rows.edge_weight
                return process.ask(rows.first.astype(np.int32), rows.near, count, weights, number)
            finally:
                idle.append(process)

        part = yield from _scaled(partition(first, neighbour, count, divide, len(processes)))
        yield _PARTITION
        separators = separate(edges, part, count)
        check(sum(len(separator) * (len(separator) - 1) // 2 for separator in separators))
        parts = _Parts(part, count)

        def order(number: int) -> Uint32s:
            rows = parts.rows(number, first, neighbour)
            process = idle.pop()
            try:
                return parts.nodes(number)[process.ask(*rows)]
            finally:
                idle.append(process)

        orders: list[Uint32s] = []
        for found in run_ahead([partial(order, number) for number in range(count)], len(processes)):
            orders.append(found)
            yield _PARTITION + (1.0 - _PARTITION) * len(orders) / count
    return np.concatenate(list(_joined(orders, separators)))


def _scaled(work: Generator[float, None, Int32s]) -> Generator[float, None, Int32s]:
    """Yield the share of the whole that the partition has done so far, and return its result."""
    while True:
        try:
            done = next(work)
        except StopIteration as ended:
            found: Int32s = ended.value
            return found
        yield _PARTITION * done


def num_parts(num_nodes: int) -> int:
    """Return the number of parts for a graph, a power of two."""
    return 1 << min(_MOST_PARTS.bit_length() - 1, max(0, round(math.log2(max(1, num_nodes) / NODES_A_PART))))


def separate(edges: Edges, part: Int32s, count: int) -> list[Uint32s]:
    """Return the separators of all bisections of some parts, and give their nodes the part -1.

    Parameters
    ----------
    edges : Edges
        Edges of the graph.
    part : numpy.ndarray
        Part of each node, shape (num_nodes,); changed by this function.
    count : int
        Number of parts, a power of two.

    Returns
    -------
    list of numpy.ndarray
        The nodes of the separator of each bisection, uint32: entry 1 is that of the whole graph, and the halves of
        entry i are entries 2 i and 2 i + 1. Entry 0 is empty.
    """
    is_cut = part[edges.low] != part[edges.high]
    low, high = edges.low[is_cut], edges.high[is_cut]
    separators = [np.zeros(0, np.uint32)]
    width = count  # number of parts of a bisection
    while width > 1:
        left, right = part[low], part[high]
        # Edges of nodes in separators are no edges any more.
        low, high, left, right = (array[(left >= 0) & (right >= 0)] for array in (low, high, left, right))
        bisection = left // width
        is_across = (bisection == right // width) & (2 * left // width != 2 * right // width)
        here, there = np.where(left > right, (high, low), (low, high))
        for number in range(count // width):
            mine = is_across & (bisection == number)
            separator = cover(here[mine], there[mine])
            part[separator] = -1
            separators.append(separator)
        width //= 2
    return separators


def cover(here: Uint32s, there: Uint32s) -> Uint32s:
    """Return the fewest nodes that touch all edges of a bipartite graph: a minimum vertex cover.

    The number of nodes is that of the edges in a largest matching (D. König, 1931), which tells the nodes, too.

    Parameters
    ----------
    here, there : numpy.ndarray
        Both nodes of each edge; no node is in both arrays.
    """
    (left, row), (right, column) = (np.unique(nodes, return_inverse=True) for nodes in (here, there))
    edges = sparse.csr_array((np.ones(len(row), np.int8), (row, column)), shape=(len(left), len(right)))
    matched = csgraph.maximum_bipartite_matching(edges, perm_type="column")
    # What can be reached from an unmatched node on the left, over any edges to the right and matched ones back.
    back = np.full(len(right), -1, np.int32)
    back[matched[matched >= 0]] = np.flatnonzero(matched >= 0)
    is_left, is_right = np.zeros(len(left), np.bool_), np.zeros(len(right), np.bool_)
    new = np.flatnonzero(matched < 0)
    while len(new):
        is_left[new] = True
        reached = np.unique(edges[new].indices)
        reached = reached[~is_right[reached]]
        is_right[reached] = True
        new = back[reached]  # all are matched, or the matching would not be the largest
        new = new[~is_left[new]]
    return np.concatenate([left[~is_left], right[is_right]])


class _Parts:
    """Nodes of the parts, without those of separators, and their edges."""

    def __init__(self, part: Int32s, count: int) -> None:
        self._part = part
        self._begin, self._node = rows_of((part + 1).astype(np.uint32), count + 1)
        self._place = np.empty(len(part), np.int32)
        self._place[self._node] = np.arange(len(part)) - np.repeat(self._begin[:-1], np.diff(self._begin))

    def nodes(self, number: int) -> Uint32s:
        """Return the nodes of a part."""
        nodes: Uint32s = self._node[self._begin[number + 1] : self._begin[number + 2]].astype(np.uint32)
        return nodes

    def rows(self, number: int, first: Indices, neighbour: Int32s) -> tuple[Int32s, Int32s]:
        """Return offsets and neighbours of the nodes of a part, by their places in it."""
        nodes = self.nodes(number)
        offsets = np.empty(len(nodes) + 1, np.int32)
        near = np.empty(int((first[nodes + 1] - first[nodes]).sum()), np.int32)
        size = kernels("vkssp.hierarchy.kernels").part_rows(
            nodes, first, neighbour, self._part, self._place, number, offsets, near
        )
        return offsets, near[:size]


def _joined(orders: list[Uint32s], separators: list[Uint32s]) -> Generator[Uint32s, None, None]:
    """Yield the nodes of parts and separators, those of a separator after all that it separates."""

    def below(number: int) -> Generator[Uint32s, None, None]:
        if number >= len(separators):
            yield orders[number - len(separators)]
            return
        yield from below(2 * number)
        yield from below(2 * number + 1)
        yield separators[number]

    return below(1)
