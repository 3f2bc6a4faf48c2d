"""Node numbering without coordinates: hop distances from landmarks serve as places, and neighbours get close ids.

Hop distances from nodes at the rim of a graph tell the place of a node (A. V. Goldberg and C. Harrelson, "Computing the
shortest path: A* search meets graph theory", SODA 2005, use distances from landmarks in that way). They ignore the
directions and weights of arcs. Two landmarks far apart make an axis: the difference of the distances from both grows
along it. Two axes make a map. The map is cut into halves, quarters and so on (J. L. Bentley, "Multidimensional binary
search trees used for associative searching", CACM 1975), down to blocks of consecutive ids. These blocks have as many
nodes as the blocks of a solver, in dense and in sparse regions, unlike cells of the Z-order curve (Morton 1966).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import GraphError
from vkssp.graph.csr import Uint32s, checked_rows, rows_of
from vkssp.graph.graph import Graph
from vkssp.graph.order import Order

Int32s = npt.NDArray[np.int32]
Nodes = npt.NDArray[np.int64]

#: Number of consecutive ids in a block of `block_resident`. A good numbering keeps arcs within blocks, so pieces of the
#: map have multiples of this number of nodes. Within a block, pieces are halved down to the size of a subgroup.
BLOCK = 1024
_PIECE = 32
#: Most nodes and arcs, each arc twice; scipy's graph routines take 32-bit indices.
MOST_ENTRIES = 2**31 - 1
# With fewer nodes a search is short under any numbering. With a higher average degree a graph is not a road network.
# With fewer hops no block is far from any other.
_LEAST_NODES, _MOST_DEGREE, _LEAST_HOPS = 20_000, 6, 64
# In a grid with square blocks 1 / 32 of the arcs leave their block. An order nearly as good leaves little to gain.
_GOOD_SHARE = 0.04
# A new numbering must bring the share of arcs that leave their block below this multiple of the old share. Otherwise it
# is not worth the reordering of results.
_WORTH = 0.8


class Hops:
    """Breadth-first searches over the arcs in both directions, in all components at once.

    Attributes
    ----------
    count : int
        Number of components.
    component : numpy.ndarray
        Component of each node, shape (num_nodes,), int32. Components are numbered in the order of their first nodes.
    """

    def __init__(self, first_out: npt.NDArray[np.uint32], head: npt.NDArray[np.uint32]) -> None:
        from scipy import sparse
        from scipy.sparse import csgraph

        n = len(first_out) - 1
        if 2 * len(head) + n > MOST_ENTRIES:
            raise GraphError(f"{n} nodes and {len(head)} arcs are too many for the order 'landmarks'; use 'natural'")
        arcs = (np.ones(len(head), np.bool_), head.astype(np.int32), first_out.astype(np.int32))
        there = sparse.csr_array(arcs, shape=(n, n))
        both = there + there.T.tocsr()
        self._indptr, self._indices = both.indptr, both.indices
        # The searches ignore these weights, but scipy would convert weights of another type in each search.
        self._weights = np.ones(len(self._indices) + n)
        count, component = csgraph.connected_components(self._rows(self._indices, self._indptr), directed=False)
        self.count, self.component = int(count), component.astype(np.int32)

    def _rows(self, indices: npt.NDArray[Any], indptr: npt.NDArray[Any]) -> Any:
        from scipy import sparse

        size = len(indptr) - 1
        return sparse.csr_array((self._weights[: len(indices)], indices, indptr), shape=(size, size))

    def first(self, nodes: Nodes) -> Nodes:
        """Return the first of the given nodes in each component; each component must have at least one."""
        result = np.empty(self.count, np.int64)
        # For a repeated index the last write stays.
        result[self.component[nodes[::-1]]] = nodes[::-1]
        return result

    def top(self, score: Int32s) -> Nodes:
        """Return the node with the highest score in each component, shape (count,); ties go to the first node."""
        highest = np.full(self.count, np.iinfo(np.int32).min, np.int32)
        np.maximum.at(highest, self.component, score)
        return self.first(np.flatnonzero(score == highest[self.component]))

    def depth(self, roots: Nodes) -> Int32s:
        """Return the number of hops from the root of its component to each node, shape (num_nodes,)."""
        from scipy.sparse import csgraph

        # The search begins at an additional node that is linked to all roots.
        n = len(self._indptr) - 1
        indices = np.concatenate([self._indices, roots.astype(np.int32)])
        rows = self._rows(indices, np.append(self._indptr, np.int32(len(indices))))
        order, before = csgraph.breadth_first_order(rows, n, return_predecessors=True)
        place = np.empty(n + 1, np.int32)
        place[order] = np.arange(n + 1, dtype=np.int32)
        # The nodes found from one level are the next level. For each place in the search order, `next_begin` has the
        # place at which the nodes found from there or later begin.
        found = np.bincount(place[before[order[1:]]], minlength=n + 1)
        # A view of plain Python numbers is faster to index; there may be as many levels as nodes.
        next_begin: memoryview = np.concatenate([[1], 1 + np.cumsum(found)]).data
        begins, at = np.zeros(n + 1, np.int32), 1
        while at <= n:
            begins[at] = 1
            at = next_begin[at]
        depth = np.empty(n + 1, np.int32)
        depth[order] = np.cumsum(begins, dtype=np.int32) - 1
        return depth[:n]


def landmark_order(first_out: npt.NDArray[np.uint32], head: npt.NDArray[np.uint32]) -> Order:
    """Return a numbering of nodes by blocks of a map that is made of hops from landmarks and cut into halves.

    This takes five breadth-first searches and some counting sorts: about a second for a million nodes on one core, and
    up to a minute for 17 million nodes in random order.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Node that each arc leads to, shape (num_arcs,), uint32.

    Returns
    -------
    Order
        The numbering. Each weakly connected component has consecutive ids.

    Raises
    ------
    GraphError
        If the arrays are not the rows of a graph, or if the graph has too many nodes and arcs for 32-bit indices.

    Notes
    -----
    In each component the first axis goes from the node farthest from the component's first node to the node farthest
    from there. The second axis begins at a node far from both ends of the first axis. It ends at a node that is far
    from its beginning and midway between the ends of the first axis. Nodes at the same place of the map, such as the
    nodes of a branch that leads away from all landmarks, are sorted by their distances from the landmarks, then by id.
    """
    first_out, head = checked_rows(first_out, head)
    if len(first_out) == 1:
        return Order.from_nodes(np.zeros(0, np.uint32))
    hops = Hops(first_out, head)
    return _order(hops, _first_depth(hops))


def road_order(graph: Graph) -> Order | None:
    """Return the landmark order of a road network if it is better than the graph's own numbering.

    A graph counts as a road network if it has at least 20,000 nodes, at most six arcs per node on average, and a node
    at least 64 hops from the first node of its component. If the graph's own numbering is good already, no landmark
    order is computed, so graphs that need no order take little extra time.

    Returns
    -------
    Order or None
        The landmark order; None if the graph's own numbering should stay.
    """
    n, m = graph.num_nodes, graph.num_arcs
    if n < _LEAST_NODES or m > _MOST_DEGREE * n or 2 * m + n > MOST_ENTRIES:
        return None
    own = leaving_share(graph.first_out, graph.head)
    if own <= _GOOD_SHARE:
        return None
    hops = Hops(graph.first_out, graph.head)
    depth = _first_depth(hops)
    if int(depth.max()) < _LEAST_HOPS:
        return None
    order = _order(hops, depth)
    return order if leaving_share(graph.first_out, graph.head, order) < _WORTH * own else None


def leaving_share(first_out: Uint32s, head: Uint32s, order: Order | None = None, block: int = BLOCK) -> float:
    """Return the share of arcs that leave their block of consecutive ids; 0 if there are no arcs.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Head of each arc, shape (num_arcs,), uint32.
    order : Order, optional
        The numbering; by default the graph's own.
    block : int
        Number of ids in a block.
    """
    if len(head) == 0:
        return 0.0
    ids = np.arange(len(first_out) - 1, dtype=np.uint32) if order is None else order.rank
    of_node = ids // np.uint32(block)
    # Not computed from `Graph.tail`, which the graph would keep in memory.
    return float(np.mean(np.repeat(of_node, np.diff(first_out)) != of_node[head]))


def _first_depth(hops: Hops) -> Int32s:
    return hops.depth(hops.first(np.arange(len(hops.component))))


def _order(hops: Hops, first_depth: Int32s) -> Order:
    """Return the numbering, given the hops from the first node of each component."""
    return Order.from_nodes(_cut(*_axes(hops, first_depth)))


def _axes(hops: Hops, first_depth: Int32s) -> tuple[Int32s, Int32s]:
    """Return the nodes sorted along either axis, given the hops from the first node of each component."""
    start = hops.top(first_depth)
    from_start = hops.depth(start)
    from_end = hops.depth(hops.top(from_start))
    x = from_start - from_end
    across = hops.depth(hops.top(np.minimum(from_start, from_end)))
    # Balance counts half: with a larger weight the two ends of an axis get close to each other on narrow graphs.
    across_end = hops.depth(hops.top(2 * across - np.abs(x)))
    y = across - across_end
    # The component is the first key, so each component has consecutive ids and cuts go between components if they can.
    by_x = _sorted_by(hops.component, x, from_start.astype(np.int64) + from_end)
    by_y = _sorted_by(hops.component, y, across.astype(np.int64) + across_end)
    return by_x, by_y


def _sorted_by(*keys: npt.NDArray[Any]) -> Int32s:
    """Return the nodes sorted by the first key, ties by the next key, and at last by id."""
    order = np.arange(len(keys[0]))
    for key in reversed(keys):  # stable sorts, by counting
        value = (key.astype(np.int64) - int(key.min())).astype(np.uint32)
        order = order[rows_of(value[order], int(value.max()) + 1)[1]]
    return order.astype(np.int32)


def _cut(by_x: Int32s, by_y: Int32s) -> Int32s:
    """Return the nodes piece by piece of the map; pieces are halved, across the two axes in turn.

    Parameters
    ----------
    by_x, by_y : numpy.ndarray
        The nodes sorted along either axis, shape (num_nodes,), int32. In every round each piece occupies the same range
        of both sequences, sorted along the axis of each. A cut is in the middle of this range, so only the other
        sequence has to be partitioned.
    """
    sizes, unit = np.array([len(by_x)]), BLOCK
    is_second = np.empty(len(by_x), np.bool_)
    while unit >= _PIECE:
        if sizes.max() <= unit:
            unit //= 2
            continue
        # Cuts are at multiples of the block size; otherwise a block would have nodes of two pieces.
        half = np.minimum(-(-sizes // (2 * unit)) * unit, sizes)
        halves = np.stack([half, sizes - half], axis=1).ravel()
        to_second = np.repeat(np.arange(len(halves)) % 2 == 1, halves)
        is_second[by_x] = to_second
        dealt, moves = np.empty_like(by_y), is_second[by_y]
        dealt[to_second], dealt[~to_second] = by_y[moves], by_y[~moves]
        by_x, by_y = dealt, by_x  # the other axis is next
        sizes = halves[halves > 0]
    return by_x
