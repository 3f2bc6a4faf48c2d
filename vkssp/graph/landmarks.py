"""A numbering that keeps neighbours together where nobody knows where the nodes are: hops from landmarks for places.

Hop distances, whatever directions and weights arcs have, from nodes at the rim of a graph tell where on it a node is
(A. V. Goldberg and C. Harrelson, "Computing the shortest path: A* search meets graph theory", SODA 2005, use distances
from landmarks in that way). Two landmarks far apart make an axis: the difference of the distances from both grows along
it. Two axes make a map, which is cut in halves, quarters and so on (J. L. Bentley, "Multidimensional binary search
trees used for associative searching", CACM 1975) down to blocks of consecutive ids. Unlike cells of the Z-order curve
(Morton 1966), these have as many nodes as the blocks of a solver, wherever nodes are dense or sparse.
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

#: Consecutive ids that a good numbering keeps arcs within, those of a block of `block_resident`: pieces of the map are
#: multiples of it. Within it they are halved until they are as large as a subgroup.
BLOCK = 1024
_PIECE = 32
# scipy's graph routines take indices of 32 bits.
_MOST_ENTRIES = 2**31 - 1
# With fewer nodes a search is short whatever their numbers; with more arcs for each, a graph is no road network; and
# where all is near, no block is far from any other.
_LEAST_NODES, _MOST_DEGREE, _LEAST_HOPS = 20_000, 6, 64
# Square blocks of a grid lose 1 / 32 of its arcs; there is little to gain for an order that is nearly as good.
_GOOD_SHARE = 0.04
# How much of the arcs that leave blocks a new numbering may leave, to be worth that results are put in order again.
_WORTH = 0.8


class _Hops:
    """Breadth-first searches over the arcs in both directions, in all components at once.

    Attributes
    ----------
    count : int
        Number of components.
    component : numpy.ndarray
        Component of each node, shape (num_nodes,), int32; they are counted in the order of their first nodes.
    """

    def __init__(self, first_out: npt.NDArray[np.uint32], head: npt.NDArray[np.uint32]) -> None:
        from scipy import sparse
        from scipy.sparse import csgraph

        n = len(first_out) - 1
        if 2 * len(head) + n > _MOST_ENTRIES:
            raise GraphError(f"{n} nodes and {len(head)} arcs are too many for the order 'landmarks'; use 'natural'")
        arcs = (np.ones(len(head), np.bool_), head.astype(np.int32), first_out.astype(np.int32))
        there = sparse.csr_array(arcs, shape=(n, n))
        both = there + there.T.tocsr()
        self._indptr, self._indices = both.indptr, both.indices
        # Nobody looks at these weights, but scipy would convert any of another type for each search.
        self._weights = np.ones(len(self._indices) + n)
        count, component = csgraph.connected_components(self._rows(self._indices, self._indptr), directed=False)
        self.count, self.component = int(count), component.astype(np.int32)

    def _rows(self, indices: npt.NDArray[Any], indptr: npt.NDArray[Any]) -> Any:
        from scipy import sparse

        size = len(indptr) - 1
        return sparse.csr_array((self._weights[: len(indices)], indices, indptr), shape=(size, size))

    def first(self, nodes: Nodes) -> Nodes:
        """Return the first of some nodes in each component; every one has to have some."""
        result = np.empty(self.count, np.int64)
        # Where an index comes again, what is written last stays.
        result[self.component[nodes[::-1]]] = nodes[::-1]
        return result

    def top(self, score: Int32s) -> Nodes:
        """Return the node of the highest score in each component, shape (count,); the first of equal ones."""
        highest = np.full(self.count, np.iinfo(np.int32).min, np.int32)
        np.maximum.at(highest, self.component, score)
        return self.first(np.flatnonzero(score == highest[self.component]))

    def depth(self, roots: Nodes) -> Int32s:
        """Return how many hops each node is from the root of its component, shape (num_nodes,)."""
        from scipy.sparse import csgraph

        # From one more node, linked to all roots.
        n = len(self._indptr) - 1
        indices = np.concatenate([self._indices, roots.astype(np.int32)])
        rows = self._rows(indices, np.append(self._indptr, np.int32(len(indices))))
        order, before = csgraph.breadth_first_order(rows, n, return_predecessors=True)
        place = np.empty(n + 1, np.int32)
        place[order] = np.arange(n + 1, dtype=np.int32)
        # Nodes found from one level are the next. At each place, where nodes found from there or later begin:
        found = np.bincount(place[before[order[1:]]], minlength=n + 1)
        # A view of plain numbers, for there may be as many levels as nodes.
        next_begin: memoryview = np.concatenate([[1], 1 + np.cumsum(found)]).data
        begins, at = np.zeros(n + 1, np.int32), 1
        while at <= n:
            begins[at] = 1
            at = next_begin[at]
        depth = np.empty(n + 1, np.int32)
        depth[order] = np.cumsum(begins, dtype=np.int32) - 1
        return depth[:n]


def landmark_order(first_out: npt.NDArray[np.uint32], head: npt.NDArray[np.uint32]) -> Order:
    """Return a numbering of nodes by blocks of a map, made of hops from landmarks, that are cut in halves.

    Takes five breadth-first searches and some counting sorts: about a second for a million nodes on a core, and up
    to a minute for 17 millions that are numbered at random.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Node that each arc leads to, shape (num_arcs,), uint32.

    Returns
    -------
    Order
        Each component, of arcs in whatever direction, has consecutive ids.

    Raises
    ------
    GraphError
        If the arrays are no rows of a graph, or it has more nodes and arcs than indices of 32 bits can number.

    Notes
    -----
    Of each component the first axis goes from the node that is farthest from its first one to the farthest from that;
    the second begins far from both ends of the first and goes to what is far from there and midway between them. Nodes
    at one place of the map, such as those of a branch that leads away from all landmarks, are in the order of their
    distances from these, and at equal ones in that of their ids.
    """
    first_out, head = checked_rows(first_out, head)
    if len(first_out) == 1:
        return Order.from_nodes(np.zeros(0, np.uint32))
    hops = _Hops(first_out, head)
    return _order(hops, _first_depth(hops))


def road_order(graph: Graph) -> Order | None:
    """Return the landmark order of what looks like a road network, if it is better than the graph's own numbering.

    A road network here is a graph of 20 000 nodes or more, with six arcs each at most on average, in which some node is
    64 hops or more from the first one of its component. Own numbers that are good already are not compared with
    anything, so that graphs which do not need an order hardly take longer.

    Returns
    -------
    Order or None
        None where the graph's own numbering should stay.
    """
    n, m = graph.num_nodes, graph.num_arcs
    if n < _LEAST_NODES or m > _MOST_DEGREE * n or 2 * m + n > _MOST_ENTRIES:
        return None
    own = leaving_share(graph.first_out, graph.head)
    if own <= _GOOD_SHARE:
        return None
    hops = _Hops(graph.first_out, graph.head)
    depth = _first_depth(hops)
    if int(depth.max()) < _LEAST_HOPS:
        return None
    order = _order(hops, depth)
    return order if leaving_share(graph.first_out, graph.head, order) < _WORTH * own else None


def leaving_share(first_out: Uint32s, head: Uint32s, order: Order | None = None, block: int = BLOCK) -> float:
    """Return the part of all arcs that leave their block of consecutive ids; 0 where there are no arcs.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Head of each arc, shape (num_arcs,), uint32.
    order : Order, optional
        The numbering; by default the graph's own.
    block : int
        Ids of a block.
    """
    if len(head) == 0:
        return 0.0
    ids = np.arange(len(first_out) - 1, dtype=np.uint32) if order is None else order.rank
    of_node = ids // np.uint32(block)
    # Not by way of a graph's tails, which it would keep from then on.
    return float(np.mean(np.repeat(of_node, np.diff(first_out)) != of_node[head]))


def _first_depth(hops: _Hops) -> Int32s:
    return hops.depth(hops.first(np.arange(len(hops.component))))


def landmark_places(first_out: Uint32s, head: Uint32s) -> tuple[Int32s, Int32s]:
    """Return a map made of hops from landmarks, on which nodes that are near each other have close places.

    Parameters
    ----------
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Node that each arc leads to, shape (num_arcs,), uint32.

    Returns
    -------
    x, y : numpy.ndarray
        The number of each node along either axis of `landmark_order`, shape (num_nodes,) each, int32; those of each
        component are consecutive. Numbers tell more than hops do, of which many nodes have the same.

    Raises
    ------
    GraphError
        If the arrays are no rows of a graph, or it has more nodes and arcs than indices of 32 bits can number.
    """
    first_out, head = checked_rows(first_out, head)
    if len(first_out) == 1:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    hops = _Hops(first_out, head)
    places = []
    for along in _axes(hops, _first_depth(hops)):
        place = np.empty(len(along), np.int32)
        place[along] = np.arange(len(along), dtype=np.int32)
        places.append(place)
    return places[0], places[1]


def _order(hops: _Hops, first_depth: Int32s) -> Order:
    """Return the numbering, given the hops from the first node of each component."""
    return Order.from_nodes(_cut(*_axes(hops, first_depth)))


def _axes(hops: _Hops, first_depth: Int32s) -> tuple[Int32s, Int32s]:
    """Return the nodes sorted along either axis, given the hops from the first node of each component."""
    start = hops.top(first_depth)
    from_start = hops.depth(start)
    from_end = hops.depth(hops.top(from_start))
    x = from_start - from_end
    across = hops.depth(hops.top(np.minimum(from_start, from_end)))
    # Balance counts half: where it counts more, the two ends of an axis get close to each other on narrow graphs.
    across_end = hops.depth(hops.top(2 * across - np.abs(x)))
    y = across - across_end
    # With the component first, cuts go between components where they can: none is in two places of the numbering.
    by_x = _sorted_by(hops.component, x, from_start.astype(np.int64) + from_end)
    by_y = _sorted_by(hops.component, y, across.astype(np.int64) + across_end)
    return by_x, by_y


def _sorted_by(*keys: npt.NDArray[Any]) -> Int32s:
    """Return the nodes sorted by the first key, where that is equal by the next, and at last by their ids."""
    order = np.arange(len(keys[0]))
    for key in reversed(keys):  # stable sorts, by counting
        value = (key.astype(np.int64) - int(key.min())).astype(np.uint32)
        order = order[rows_of(value[order], int(value.max()) + 1)[1]]
    return order.astype(np.int32)


def _cut(by_x: Int32s, by_y: Int32s) -> Int32s:
    """Return the nodes piece by piece of the map, each cut into two of half the nodes, across either axis in turns.

    Parameters
    ----------
    by_x, by_y : numpy.ndarray
        The nodes sorted along either axis, shape (num_nodes,), int32. In every round each piece has its nodes at the
        same places of both, sorted, so that a cut is in the middle of these, and only the other sequence is dealt out.
    """
    sizes, unit = np.array([len(by_x)]), BLOCK
    is_second = np.empty(len(by_x), np.bool_)
    while unit >= _PIECE:
        if sizes.max() <= unit:
            unit //= 2
            continue
        # Cuts are at multiples of a block's nodes, or a block would have nodes of two pieces.
        half = np.minimum(-(-sizes // (2 * unit)) * unit, sizes)
        halves = np.stack([half, sizes - half], axis=1).ravel()
        to_second = np.repeat(np.arange(len(halves)) % 2 == 1, halves)
        is_second[by_x] = to_second
        dealt, moves = np.empty_like(by_y), is_second[by_y]
        dealt[to_second], dealt[~to_second] = by_y[moves], by_y[~moves]
        by_x, by_y = dealt, by_x  # the other axis is next
        sizes = halves[halves > 0]
    return by_x
