"""Contraction hierarchy of a graph for one metric, and its levels for sweeps, for comparison with other hierarchies.

R. Geisberger, P. Sanders, D. Schultes, D. Delling, "Contraction hierarchies: faster and simpler hierarchical routing in
road networks", WEA 2008; its levels for sweeps: D. Delling, A. Goldberg, A. Nowatzyk, R. Werneck, "PHAST: hardware-
accelerated shortest path trees", 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.bench.peers import lightest_arcs
from vkssp.errors import GraphError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import ranges, rows_of
from vkssp.graph.landmarks import landmark_order
from vkssp.graph.order import z_order
from vkssp.jit import kernels

Indices = npt.NDArray[np.int64]

#: Largest number of nodes that a witness search settles: for a contraction, and for a trial to find the importance.
MOST_SETTLED, MOST_TRIED = 500, 100


@dataclass(frozen=True, eq=False)
class Contraction:
    """Contraction hierarchy; ranks count from the top, level by level.

    Attributes
    ----------
    node : numpy.ndarray
        The graph's node of each rank, shape (num_nodes,), uint32.
    bounds : numpy.ndarray
        The first rank of each level, shape (num_levels + 1,), int64. Downward arcs come from earlier levels.
    rows, arcs : numpy.ndarray
        For each rank the index of the first downward arc to it, and the number of these arcs, shape (num_nodes, 2),
        uint32. For each downward arc the rank of its tail, and its weight, shape (num_arcs, 2), uint32.
    first_up, head_up, weight_up : numpy.ndarray
        Upward arcs by rank of the tail: offsets, shape (num_nodes + 1,), heads and weights, int64.
    contracted_before : numpy.ndarray
        Number of nodes that were contracted before the node of each rank, shape (num_nodes,), int64.
    """

    node: Uint32s
    bounds: Indices
    rows: Uint32s
    arcs: Uint32s
    first_up: Indices
    head_up: Indices
    weight_up: Indices
    contracted_before: Indices

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node)

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return len(self.bounds) - 1

    def upward_labels(self, sources: npt.ArrayLike) -> list[tuple[Indices, Indices]]:
        """Return for each source the ranks that its upward search reaches, and their distances, int64.

        A rank is left out if a downward arc from another reached rank gives it a smaller distance, because no sweep
        needs it (stall on demand).
        """
        kernel, n = kernels("vkssp.bench.contraction_kernels"), self.num_nodes
        rank = np.empty(n, np.int64)
        rank[self.node] = np.arange(n)
        dist, heap, found = np.full(n, kernel.NONE, np.int64), np.empty(n + 1, np.int64), np.empty(n, np.int64)
        labels = []
        for source in rank[np.asarray(sources)].tolist():
            up = self.first_up, self.head_up, self.weight_up, self.contracted_before
            reached = found[: kernel.upward_search(*up, source, dist, heap, found)].copy()
            first, count = self.rows[reached].astype(np.int64).T
            arc = self.arcs[ranges(first, count)].astype(np.int64)
            over = np.full(len(reached), kernel.NONE, np.int64)
            np.minimum.at(over, np.repeat(np.arange(len(reached)), count), dist[arc[:, 0]] + arc[:, 1])
            keeps = dist[reached] <= over
            labels.append((reached[keeps], dist[reached[keeps]]))
            dist[reached] = kernel.NONE
        return labels


def contraction(graph: Graph, *, settled: int = MOST_SETTLED, tried: int = MOST_TRIED) -> Contraction:
    """Return the contraction hierarchy of a graph with its weights.

    Nodes are contracted in the order of their importance: the sum of the level, the ratio of new arcs to removed arcs,
    and the same ratio counted in the arcs of the graph that these arcs stand for. It is computed again for the
    neighbours of each contracted node. Within a level, nodes are ordered by their coordinates along the Z-order curve,
    or by hops from landmarks if there are no coordinates.

    Parameters
    ----------
    graph : Graph
        The graph.
    settled, tried : int
        Largest number of nodes that a witness search settles: for a contraction, and for a trial.

    Raises
    ------
    GraphError
        If the weight of an arc of the hierarchy does not fit into 32 bits.
    QueryError
        If numba is not installed.
    """
    kernel, n = kernels("vkssp.bench.contraction_kernels"), graph.num_nodes
    tail, head, weight = lightest_arcs(graph)
    is_loop = tail == head
    tail, head, weight = (values[~is_loop].astype(np.int64) for values in (tail, head, weight))
    # For each pair of neighbours, the lists of both nodes have an entry with the arcs in both directions.
    key = np.concatenate([tail * n + head, head * n + tail])
    joined, place = np.unique(key, return_inverse=True)
    pool = np.empty((len(joined) + 4 * n + 16, kernel.WORDS), np.int64)
    pool[: len(joined)] = 0
    pool[: len(joined), kernel.NODE] = joined % n
    pool[: len(joined), [kernel.OUT, kernel.IN]] = kernel.NONE
    for which, hops, there in (
        (kernel.OUT, kernel.OUT_HOPS, place[: len(tail)]),
        (kernel.IN, kernel.IN_HOPS, place[len(tail) :]),
    ):
        pool[there, which], pool[there, hops] = weight, 1
    length = np.bincount(joined // n, minlength=n).astype(np.int64)
    first = np.cumsum(length) - length
    order = np.empty(n, np.int64)
    pool = kernel.contract(pool, first, length, length.copy(), len(joined), settled, tried, order)
    level = np.empty(n, np.int64)
    kernel.levels(order, first, length, pool, level)
    if graph.lat is not None and graph.lon is not None:
        numbers = z_order(graph.lat, graph.lon)
    else:
        numbers = landmark_order(graph.first_out, graph.head)
    node = np.lexsort((numbers.rank, level)).astype(np.uint32)
    rank = np.empty(n, np.int64)
    rank[node] = np.arange(n)
    low = np.repeat(np.arange(n), length)
    entries = pool[ranges(first, length)]
    del pool
    above, low = rank[entries[:, kernel.NODE]], rank[low]
    down, up = (entries[:, which] < kernel.NONE for which in (kernel.IN, kernel.OUT))
    if (entries[down, kernel.IN] >= UNREACHABLE).any() or (entries[up, kernel.OUT] >= UNREACHABLE).any():
        raise GraphError("arcs of the contraction hierarchy weigh 2**32 - 1 or more; scale the weights down")
    contracted_before = np.empty(n, np.int64)
    contracted_before[rank[order]] = np.arange(n)
    # The tails of a node's arcs ascend.
    by_ends = np.lexsort((above[down], low[down]))
    arcs = np.stack([above[down], entries[down, kernel.IN]], axis=1)[by_ends].astype(np.uint32)
    count = np.bincount(low[down], minlength=n)
    rows = np.stack([np.cumsum(count) - count, count], axis=1).astype(np.uint32)
    first_up, by_tail = rows_of(low[up].astype(np.uint32), n)
    upward = above[up][by_tail], entries[up, kernel.OUT][by_tail]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(level))])
    return Contraction(node, bounds, rows, arcs, first_up.astype(np.int64), *upward, contracted_before)
