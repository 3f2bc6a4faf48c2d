"""Partition of a graph by way of coarser ones, most of the work on all cores.

A multilevel partition makes the graph coarser step by step, divides what is left, and moves nodes between parts on the
way back (G. Karypis and V. Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", 1998).
METIS does all of that on one core, and takes longest for the finest graphs. Here pairs of nodes along heavy edges
become single nodes a few times before METIS divides the graph. Nodes are matched within ranges of ids, one range
independent of the others, as neighbours have close ids in most road networks; if they have not, the range is the whole
graph. Ranges do not depend on the number of cores, so that the partition does not, either.

METIS makes several partitions of the coarsest graph, each in little time. The one with the least weight of edges
between parts is taken, since a single partition is bad at times.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import NamedTuple

import numpy as np

from vkssp.cores import run_ahead, run_all
from vkssp.graph.bulk import in_pieces, joined
from vkssp.hierarchy.edges import Indices, Int32s
from vkssp.jit import kernels

#: Times that the graph becomes coarser, and nodes with which it is coarse enough: METIS divides them in half a second.
#: After more steps, separators have more nodes.
STEPS, COARSE_ENOUGH = 3, 300_000
#: Nodes of a range.
NODES_A_RANGE = 1 << 17
# Least share of neighbours in the same range, and largest share of nodes that are left in a coarser graph.
_INSIDE, _LEFT = 0.75, 0.9
# Share by which a part may be heavier than others, as in METIS, and how often nodes are moved in each graph.
_IMBALANCE, _PASSES = 0.03, 10
_KERNELS = "vkssp.hierarchy.coarsening_kernels"
# Shares of the work that are done with the coarsest graph, and with its parts.
_COARSENED, _DIVIDED = 0.4, 0.8


class WeightedGraph(NamedTuple):
    """Undirected graph with weights.

    Attributes
    ----------
    first, near : numpy.ndarray
        Offset of each node's neighbours, shape (num_nodes + 1,), int64, and the neighbours, int32.
    edge_weight, node_weight : numpy.ndarray
        Weight of the edge to each neighbour, and of each node: edges and nodes of the finest graph, int32.
    """

    first: Indices
    near: Int32s
    edge_weight: Int32s
    node_weight: Int32s

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_weight)


def partition(
    first: Indices, near: Int32s, count: int, divide: Callable[[WeightedGraph, int], Int32s], at_once: int
) -> Generator[float, None, Int32s]:
    """Return the part of each node of a graph, shape (num_nodes,), int32; yield about which share of the work is done.

    Parameters
    ----------
    first, near : numpy.ndarray
        Offset of each node's neighbours, shape (num_nodes + 1,), and the neighbours.
    count : int
        Number of parts.
    divide : callable
        Returns the parts of the nodes of a coarser graph, which depend on the number of the try.
    at_once : int
        Calls of `divide` that may run at once.
    """
    graphs = [WeightedGraph(first, near, np.ones(len(near), np.int32), np.ones(len(first) - 1, np.int32))]
    above: list[Int32s] = []
    while len(above) < STEPS and graphs[-1].num_nodes > COARSE_ENOUGH:
        found = _coarser(graphs[-1])
        if found is None:
            break
        graphs.append(found[0])
        above.append(found[1])
        yield _COARSENED * (1.0 - graphs[-1].num_nodes / graphs[0].num_nodes)
    # All tries together take less time than a single one with the finest graph.
    tries = [partial(divide, graphs[-1], number) for number in range(max(1, 1 << len(above) >> 1))]
    parts = list[Int32s]()
    for found_part in run_ahead(tries, at_once):
        parts.append(found_part)
        yield _COARSENED + (_DIVIDED - _COARSENED) * len(parts) / len(tries)
    part = min(parts, key=partial(_cut, graphs.pop()))
    while above:
        part = _projected(part, above.pop())
        yield _DIVIDED + (1.0 - _DIVIDED) * graphs[-1].num_nodes / (2 * graphs[0].num_nodes)
        _refine(graphs.pop(), part, count)
    return part


def _cut(graph: WeightedGraph, part: Int32s) -> int:
    """Return the weight of the edges between parts, twice."""
    compiled = kernels(_KERNELS)
    arrays = graph.first, graph.near, graph.edge_weight, part
    return sum(run_all([partial(compiled.cut_weight, *some, *arrays) for some in _ranges(graph.num_nodes)]))


def _coarser(graph: WeightedGraph) -> tuple[WeightedGraph, Int32s] | None:
    """Return a coarser graph, and its node for each node; None if that would have nearly as many nodes."""
    compiled, num_nodes = kernels(_KERNELS), graph.num_nodes
    ranges = _ranges(num_nodes)
    inside = sum(run_all([partial(compiled.count_inside, *some, graph.first, graph.near) for some in ranges]))
    mate = np.empty(num_nodes, np.int32)
    matched = ranges if inside >= _INSIDE * len(graph.near) else [(0, num_nodes)]
    if sum(run_all([partial(compiled.match_nodes, *some, *graph, mate) for some in matched])) > _LEFT * num_nodes:
        return None
    size = run_all([partial(compiled.count_pairs, *some, mate) for some in ranges])
    begin, coarse = np.concatenate([[0], np.cumsum(size)]).tolist(), np.empty(num_nodes, np.int32)
    run_all([partial(compiled.number_pairs, *some, mate, begin[at], coarse) for at, some in enumerate(ranges)])
    count, weight = np.empty(begin[-1], np.int64), np.empty(begin[-1], np.int32)

    def merge(low: int, high: int) -> tuple[Int32s, Int32s]:
        # A mate may be in another range, with neighbours of its own.
        first = mate[low:high] >= np.arange(low, high)
        mates = mate[low:high][first]
        most = int(graph.first[high] - graph.first[low] + (graph.first[mates + 1] - graph.first[mates]).sum())
        near, weights = np.empty(most, np.int32), np.empty(most, np.int32)
        found = compiled.merge_rows(low, high, *graph, mate, coarse, most, count, weight, near, weights)
        return near[:found].copy(), weights[:found].copy()

    near, weights = (
        joined(arrays, np.int32) for arrays in zip(*run_all([partial(merge, *s) for s in ranges]), strict=True)
    )
    first = np.zeros(len(count) + 1, np.int64)
    np.cumsum(count, out=first[1:])
    return WeightedGraph(first, near, weights, weight), coarse


def _ranges(num_nodes: int) -> list[tuple[int, int]]:
    """Return ranges of nodes, the same on any number of cores."""
    return [(low, min(num_nodes, low + NODES_A_RANGE)) for low in range(0, num_nodes, NODES_A_RANGE)]


def _projected(part: Int32s, coarse: Int32s) -> Int32s:
    """Return the part of each node of a finer graph."""
    found = np.empty(len(coarse), np.int32)

    def project(some: slice) -> None:
        np.take(part, coarse[some], out=found[some], mode="clip")

    in_pieces(len(coarse), project)
    return found


def _refine(graph: WeightedGraph, part: Int32s, count: int) -> None:
    """Move nodes of a graph between its parts, so that fewer edges are between parts."""
    compiled, ranges = kernels(_KERNELS), _ranges(graph.num_nodes)
    on_border = np.empty(graph.num_nodes, np.bool_)
    run_all([partial(compiled.find_border, *some, graph.first, graph.near, part, on_border) for some in ranges])

    def weigh(low: int, high: int) -> Indices:
        # As sums of floating-point numbers, which are exact below 2^53.
        return np.bincount(part[low:high], graph.node_weight[low:high], count).astype(np.int64)

    weight = np.sum(run_all([partial(weigh, *some) for some in ranges]), axis=0)
    border = np.flatnonzero(on_border)
    listed = np.empty(graph.num_nodes, np.int32)
    listed[: len(border)] = border
    most = int((1.0 + _IMBALANCE) * weight.sum() / count)
    compiled.move_nodes(*graph, part, weight, most, _PASSES, on_border, listed, len(border))
