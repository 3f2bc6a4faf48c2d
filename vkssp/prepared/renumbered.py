"""Renumbered graph for searches: neighbours have close ids, and cycles of weight zero are contracted.

The nodes of a cycle of weight zero have equal distances from everywhere. They become one node, so that a walk back
along distances cannot run in circles, and solvers need no special case. Results are always in the caller's ids.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from vkssp.checks import choice, flag
from vkssp.choices import ORDERS as ORDERS
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph, checked_graph
from vkssp.graph.bulk import copy_to, greatest_of, least_of, sum_of
from vkssp.graph.csr import permuted_rows, places_of, rows_of, sorted_rows, tails_of
from vkssp.graph.distance_type import Distances, unreachable_in
from vkssp.graph.hierarchy import Hierarchy
from vkssp.graph.landmarks import landmark_order, road_order
from vkssp.graph.many_arcs import MANY, incoming_arcs, light_first, offsets_of
from vkssp.graph.order import Order, z_order
from vkssp.locks import ReentrantLock
from vkssp.prepared.blocks import record_for
from vkssp.prepared.zero_cycles import ZeroTrees, zero_cycles

# Changes of weights after which `arcs` is made of all weights when it is asked for, not of the arcs before.
_MOST_CHANGES = 256


class Spread(NamedTuple):
    """Statistics of weights that algorithms plan with.

    Attributes
    ----------
    mean : float
        The mean weight of an arc; 1 if there are no arcs.
    heaviest : int
        The largest weight.
    """

    mean: float
    heaviest: int

    def fits(self, planned: Spread) -> bool:
        """Return whether data planned for other weights is correct for these, and about as fast."""
        return self.heaviest <= planned.heaviest and planned.mean <= 2 * self.mean <= 4 * planned.mean


class RenumberedGraph:
    """Arrays of the renumbered graph that solvers upload, and the mapping to the caller's ids.

    Parameters
    ----------
    graph : Graph
        The caller's graph.
    order : str
        ``"z"`` numbers nodes along the Z-order curve of their coordinates, ``"landmarks"`` by hops from landmarks (see
        `vkssp.landmark_order`), ``"natural"`` keeps the caller's numbering. ``"auto"`` takes ``"z"`` if the graph has
        coordinates. Without coordinates it takes ``"landmarks"`` if the graph looks like a road network and many fewer
        arcs leave blocks of 1024 ids than before, otherwise ``"natural"``. ``"landmarks"`` takes about a second of CPU
        time for a million nodes, even if ``"auto"`` rejects the result. ``"hierarchy"`` numbers nodes by their ranks in
        the graph's hierarchy, which is made if the graph has none; see `vkssp.prepare`.
    keep : bool
        Whether data that algorithms derive from the arrays, such as the arcs by head, is kept for the next solver.

    Attributes
    ----------
    graph : Graph
        The caller's graph.
    order : str
        The argument `order`.
    hierarchy : Hierarchy or None
        The hierarchy, if it gives the order.
    node : numpy.ndarray
        Renumbered id of each of the caller's nodes, shape (graph.num_nodes,), uint32.
    is_identity : bool
        Whether nodes have the caller's ids.
    num_arcs : int
        Number of arcs.
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    """

    def __init__(self, graph: Graph, order: str = "auto", *, keep: bool = False) -> None:
        checked_graph(graph, QueryError)
        choice(order, "order", ORDERS)
        keep = flag(keep, "keep")
        if order == "z" and graph.lat is None:
            raise QueryError("order is 'z' but the graph has no coordinates; give it lat and lon, or use 'landmarks'")
        self.graph, self.order = graph, order
        self._kept: dict[str, Any] | None = {} if keep else None
        self._making = ReentrantLock()  # solvers that begin at once wait for a single computation
        self.hierarchy = _hierarchy(graph) if order == "hierarchy" else None
        if self.hierarchy is not None:
            self._rank: npt.NDArray[np.uint32] | None = self.hierarchy.rank
        else:
            numbering = _numbering(graph, order)
            self._rank = None if numbering is None or numbering.is_identity else numbering.rank
        self._contract()

    def __repr__(self) -> str:
        """Return graph and order in one line."""
        return f"RenumberedGraph({self.graph!r}, {self.order!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the constructor of a copy and its arguments; making the copy takes as long as making the original."""
        return _remade, (self.graph, self.order, self.keeps)

    def _contract(self) -> None:
        """Make the arrays in the numbering, with cycles of weight zero contracted."""
        graph, rank = self.graph, self._rank
        group, between = zero_cycles(graph)
        if group is not None:
            # A contracted cycle takes the place of its first node in the numbering.
            place = np.arange(graph.num_nodes, dtype=np.uint32) if rank is None else rank
            least = np.full(int(group.max()) + 1, graph.num_nodes, np.int64)
            np.minimum.at(least, group, place)
            new_id = np.empty(len(least), np.uint32)
            new_id[np.argsort(least)] = np.arange(len(least), dtype=np.uint32)
            rank = new_id[group]
        self.contracted = group is not None
        self.num_nodes = graph.num_nodes if group is None else int(group.max()) + 1
        self.is_identity = rank is None
        if rank is None:
            self.node = np.arange(graph.num_nodes, dtype=np.uint32)
            self._arc: list[npt.NDArray[np.int64]] = []  # shared like `_places`; made for those who ask
            self.num_arcs = graph.num_arcs
            self.first_out, heads, weights = graph.first_out, graph.head, graph.weight
        else:
            self.node = rank
            if between is None:
                self.first_out, arc = permuted_rows(graph.first_out, rank)
            else:
                kept = np.flatnonzero(between)
                self.first_out, by_tail = rows_of(rank[graph.tail[kept]], self.num_nodes)
                arc = kept[by_tail]
            self._arc, self.num_arcs = [arc], len(arc)
            heads, weights = rank[graph.head[self.arc]], graph.weight[self.arc]
        self.arcs = np.empty((self.num_arcs, 2), np.uint32)
        for column, values in enumerate((heads, weights)):
            copy_to(self.arcs[:, column], values)
        self._places: list[npt.NDArray[np.int64]] = []  # shared by all copies that have the same arcs
        self._arcs_before: tuple[npt.NDArray[np.uint32], list[npt.NDArray[np.int64]] | None] = (self.arcs, [])

    @cached_property
    def arcs(self) -> npt.NDArray[np.uint32]:
        """Head and weight of each arc, shape (num_arcs, 2), uint32; after a change of weights made on first access."""
        with self._making.held():
            if (made := self.__dict__.get("arcs")) is not None:  # by another thread
                return cast(npt.NDArray[np.uint32], made)
            before, changes = self._arcs_before
            weight = self.graph.weight
            if changes is None:
                arcs = np.empty_like(before)
                arcs[:, 0] = before[:, 0]
                arcs[:, 1] = weight if self.is_identity else weight[self.arc]
            else:
                changed = self.kept(np.concatenate([np.empty(0, np.int64), *changes]))
                arcs = before.copy()
                arcs[self.places(changed), 1] = weight[changed]
            self._arcs_before = arcs, []
            return arcs

    @property
    def arc(self) -> npt.NDArray[np.int64]:
        """The caller's id of each arc of the renumbered graph, shape (num_arcs,), int64."""
        if not self._arc:
            with self._making.held():
                if not self._arc:
                    self._arc.append(np.arange(self.num_arcs, dtype=np.int64))
        return self._arc[0]

    @property
    def keeps(self) -> bool:
        """Whether data derived from the arrays is kept."""
        return self._kept is not None

    @cached_property
    def spread(self) -> Spread:
        """Statistics of the weights."""
        weights = self.graph.weight[self.arc] if self.contracted else self.graph.weight
        return Spread(sum_of(weights) / len(weights), greatest_of(weights, 0)) if len(weights) else Spread(1.0, 0)

    @property
    def _place(self) -> npt.NDArray[np.int64]:
        if not self._places:
            self._places.append(places_of(self.arc, self.graph.num_arcs))
        return self._places[0]

    @cached_property
    def _lightest(self) -> int:
        return least_of(self.graph.weight, UNREACHABLE)

    def places(self, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the renumbered ids of the caller's arcs, -1 for arcs in contracted cycles, shape (k,), int64."""
        return arcs if self.is_identity else self._place[arcs]

    def kept(self, arcs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return those of the caller's arcs that are arcs of this graph, not in contracted cycles."""
        return arcs[self.places(arcs) >= 0] if self.contracted else arcs

    def reweighted(self, graph: Graph, changed: npt.NDArray[np.int64] | None = None) -> RenumberedGraph:
        """Return the renumbered graph of the caller's graph with other weights, in the same numbering.

        Parameters
        ----------
        graph : Graph
            The caller's graph with other weights; see `Graph.with_weights`.
        changed : numpy.ndarray, optional
            Ids of the arcs whose weights may differ, shape (k,), int64; by default all.

        Returns
        -------
        RenumberedGraph
            It shares as much data as possible with this one. It shares the array `arc` if and only if nodes and arcs
            are the same.
        """
        other = object.__new__(RenumberedGraph)
        other.__dict__.update(self.__dict__)
        other.graph, other._kept = graph, {} if self.keeps else None
        for name in ("spread", "zero_trees", "_lightest"):
            other.__dict__.pop(name, None)
        if not self._same_cycles(other, changed):
            for name in ("has_arc_in", "num_arcs_in"):
                other.__dict__.pop(name, None)
            other._contract()
            return other
        # Sweeps over a hierarchy need no arcs, so that they are made for those who ask.
        other.__dict__.pop("arcs", None)
        before, changes = self._arcs_before
        other._arcs_before = before, None
        if changed is not None and changes is not None and len(changes) < _MOST_CHANGES:
            if sum(map(len, changes)) + len(changed) <= self.num_arcs:
                other._arcs_before = before, [*changes, changed]
        return other

    def _same_cycles(self, other: RenumberedGraph, changed: npt.NDArray[np.int64] | None) -> bool:
        """Return whether cycles of weight zero are the same in another copy, some of whose weights differ."""
        if changed is None and self._lightest > 0 and other._lightest > 0:
            return True
        graph, which = other.graph, slice(None) if changed is None else changed
        before, after = self.graph.weight[which] == 0, graph.weight[which] == 0
        if np.array_equal(before, after):
            return True
        return not self.contracted and (not (after & ~before).any() or zero_cycles(graph)[0] is None)

    def derived(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of `make`; if derived data is kept, return the earlier result under this name."""
        if self._kept is None:
            return make()
        with self._making.held():
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]

    def reverse(self) -> tuple[Any, Any, npt.NDArray[np.int64]]:
        """Return the arcs sorted by head, then by the caller's arc ids, whatever the numbering of nodes.

        Returns
        -------
        first_in : numpy.ndarray
            Offset of each node's first incoming arc, shape (num_nodes + 1,), uint32.
        arcs_in : numpy.ndarray
            Tail and weight of each arc, shape (num_arcs, 2), uint32.
        arc_in : numpy.ndarray
            The caller's id of each arc, shape (num_arcs,), int64.
        """

        def make() -> Any:
            if self.is_identity and self.num_arcs >= MANY:
                return incoming_arcs(self.first_out, self.arcs)
            tails = tails_of(self.first_out)
            place = self._place if not self.is_identity else np.arange(self.num_arcs)
            by_id = place[place >= 0]
            first_in, by_head = rows_of(self.arcs[by_id, 0], self.num_nodes)
            by_head = by_id[by_head]
            return first_in, np.stack([tails[by_head], self.arcs[by_head, 1]], axis=1), self.arc[by_head]

        first_in, arcs_in, arc_in = self.derived("reverse", make)
        return first_in, arcs_in, arc_in

    def arcs_light_first(self) -> npt.NDArray[np.uint32]:
        """Return head and weight of each arc, sorted by weight for each node; shape (num_arcs, 2), uint32."""
        sort = light_first if self.num_arcs >= MANY else sorted_rows
        arcs: npt.NDArray[np.uint32] = self.derived("light first", lambda: sort(self.first_out, self.arcs))
        return arcs

    @cached_property
    def record(self) -> int:
        """Number of arcs of a record that suits the graph in blocks."""
        return record_for(self.first_out)

    @cached_property
    def has_arc_in(self) -> npt.NDArray[np.bool_]:
        """Whether each node has an incoming arc, shape (num_nodes,)."""
        return self.num_arcs_in > 0

    @cached_property
    def num_arcs_in(self) -> npt.NDArray[np.int64]:
        """Number of arcs into each node, shape (num_nodes,), int64."""
        heads = self.arcs[:, 0]
        if self.num_arcs < MANY:
            return np.bincount(heads, minlength=self.num_nodes).astype(np.int64, copy=False)
        return np.diff(offsets_of([heads], self.num_nodes))  # without a copy of the heads

    def large_nodes(self, limit: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the nodes with more than `limit` arcs, and the number of pieces of `limit` arcs for each."""
        degree = self.first_out[1:] - self.first_out[:-1]
        large = np.flatnonzero(degree > limit)
        return large, -(-degree[large].astype(np.int64) // limit)

    def arcs_to_pieces(self, limit: int) -> npt.NDArray[np.uint32]:
        """Return the arcs that `split_rows` adds, without making the rows."""
        count = int(self.large_nodes(limit)[1].sum())
        return np.stack([self.num_nodes + np.arange(count), np.zeros(count, np.int64)], axis=1).astype(np.uint32)

    def split_rows(self, limit: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Return rows in which large nodes are split, for searches that one large node would delay.

        A node with more than `limit` arcs is split into pieces: additional nodes with at most `limit` of its arcs each.
        The node itself keeps only arcs of weight zero to the pieces. All original arcs keep their places.

        Returns
        -------
        rows : numpy.ndarray
            First arc and end of the arcs of each node, then of each piece, shape (num_nodes + k, 2), uint32.
        arcs : numpy.ndarray
            Head and weight of the arcs to the pieces, to be put after all others, shape (k, 2), uint32.
        """
        first, end = self.first_out[:-1], self.first_out[1:]
        large, count = self.large_nodes(limit)
        offset = np.cumsum(count) - count
        number = np.arange(int(count.sum()))
        piece_first = np.repeat(first[large], count) + limit * (number - np.repeat(offset, count))
        pieces = np.stack([piece_first, np.minimum(piece_first + limit, np.repeat(end[large], count))], axis=1)
        rows = np.concatenate([np.stack([first, end], axis=1), pieces.astype(np.uint32)])
        rows[large] = self.num_arcs + np.stack([offset, offset + count], axis=1)
        return rows, self.arcs_to_pieces(limit)

    def lightest_out(self) -> npt.NDArray[np.uint32]:
        """Return the weight of each node's lightest outgoing arc, 2**32 - 1 if there is none; shape (num_nodes,)."""
        lightest = np.full(self.num_nodes, UNREACHABLE, np.uint32)
        has_arcs = self.first_out[1:] > self.first_out[:-1]
        if has_arcs.any():
            lightest[has_arcs] = np.minimum.reduceat(self.arcs[:, 1], self.first_out[:-1][has_arcs])
        return lightest

    def overflowed(self, found: Distances) -> npt.NDArray[np.bool_]:
        """Return a mask of the nodes that are reached only by paths whose sums do not fit into the bits of distances.

        Parameters
        ----------
        found : numpy.ndarray
            Distances of a search with such sums, shape (num_nodes,), uint32 or uint64.
        """
        from scipy import sparse
        from scipy.sparse import csgraph

        tails, heads, unreachable = tails_of(self.first_out), self.arcs[:, 0], unreachable_in(found)
        first = np.unique(heads[(found[tails] != unreachable) & (found[heads] == unreachable)])
        beyond = np.zeros(len(found), np.bool_)
        if len(first):
            # Search from an additional node with links to all heads of arcs whose sums do not fit.
            n = len(found)
            ends = np.concatenate([tails, np.full(len(first), n)]), np.concatenate([heads, first])
            links = sparse.csr_array((np.ones(len(ends[0]), np.bool_), ends), shape=(n + 1, n + 1))
            beyond[csgraph.breadth_first_order(links, n, return_predecessors=False)[1:]] = True
            beyond &= found == unreachable
        return beyond

    def complete(self, arcs: npt.NDArray[np.int64], source: int, target: int) -> npt.NDArray[np.int64]:
        """Fill the gaps that contracted cycles leave in a path between two of the caller's nodes.

        Parameters
        ----------
        arcs : numpy.ndarray
            The caller's ids of the arcs between groups, in order, shape (k,), int64.
        source, target : int
            The caller's nodes that the path joins.

        Returns
        -------
        numpy.ndarray
            The caller's ids of all arcs of the path, int64.
        """
        if not self.contracted:
            return arcs
        graph, result, at = self.graph, [], source
        for arc in arcs.tolist():
            result += self.zero_trees.walk(at, int(graph.tail[arc]))
            result.append(arc)
            at = int(graph.head[arc])
        result += self.zero_trees.walk(at, target)
        return np.array(result, np.int64)

    @cached_property
    def zero_trees(self) -> ZeroTrees:
        """Paths between the caller's nodes that are one node of this graph, if cycles are contracted."""
        return ZeroTrees(self.graph, self.node)


def _remade(graph: Graph, order: str, keep: bool) -> RenumberedGraph:
    return RenumberedGraph(graph, order, keep=keep)


def _hierarchy(graph: Graph) -> Hierarchy:
    """Return the hierarchy of a graph; make it if the graph has none."""
    if graph.hierarchy is not None:
        return graph.hierarchy
    # Imported only if needed: preprocessing takes long and needs compiled code.
    from vkssp.hierarchy.prepare import prepare

    made = prepare(graph).hierarchy
    assert made is not None
    return made


def _numbering(graph: Graph, order: str) -> Order | None:
    """Return the requested numbering; None for the graph's own."""
    if order == "landmarks":
        return landmark_order(graph.first_out, graph.head)
    if order == "natural":
        return None
    if graph.lat is not None and graph.lon is not None:
        return z_order(graph.lat, graph.lon)
    return road_order(graph)
