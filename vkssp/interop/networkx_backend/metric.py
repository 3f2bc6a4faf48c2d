"""Metric: the weights of a converted graph, its solver, and the searches of the backend.

Distances are those of NetworkX, bit for bit: integers of any size that fit into 63 bits, and floats that are added from
the source on. The solver finds them exactly if they are integers of 32 bits. Otherwise it finds near distances, in a
unit of its own, and `kernels.settle` corrects them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import networkx as nx
import numpy as np
import numpy.typing as npt

from vkssp.algorithm import AUTO, CPU
from vkssp.algorithms.choice import place_of
from vkssp.arrays import own
from vkssp.errors import DistanceOverflowError, GraphError, NoRouteError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.jit import kernels
from vkssp.solver.solver import Solver

_KERNELS = "vkssp.interop.networkx_backend.kernels"
# Distances of a block of rows, and rows of a block.
_MOST_DISTANCES, _MOST_ROWS = 1 << 23, 256
# Lists of distances for each node, in place of sorting.
_LISTS = 4
# By which floats may differ from the exact sums that a solver has, in parts.
_ROUNDING = 1e-9
# Distances add up in int64.
_MOST_TOTAL = 2.0**62

Answer = TypeVar("Answer")
Values = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]


class Tree(NamedTuple):
    """Shortest paths from sources, as NetworkX's search by Dijkstra's algorithm finds them.

    Attributes
    ----------
    settled : numpy.ndarray
        Nodes in the order in which they are settled, the sources first, int64.
    num_sources : int
        Number of sources.
    dist : numpy.ndarray
        Distances, shape (num_nodes,), int64 or float64; they count at the settled nodes.
    pred : numpy.ndarray
        Predecessor of each node, shape (num_nodes,), int64; negative for sources.
    """

    settled: Ids
    num_sources: int
    dist: Values
    pred: Ids

    def lengths(self) -> list[Any]:
        """Return the distances of the settled nodes, in their order."""
        found: list[Any] = self.dist[self.settled].tolist()
        found[: self.num_sources] = [0] * self.num_sources  # an integer, also among floats
        return found

    def path(self, target: int) -> list[int]:
        """Return the nodes of the path to a node."""
        found = [target]
        while (before := int(self.pred[found[-1]])) >= 0:
            found.append(before)
        found.reverse()
        return found


class Sums(NamedTuple):
    """Sums of the distances from some nodes, an entry for each of them.

    Attributes
    ----------
    reached : list of int
        Number of nodes that are reached, the node itself included.
    total : list of int or float
        Sum of the distances to them.
    eccentricity : list of int or float
        Largest of these distances.
    """

    reached: list[int]
    total: list[Any]
    eccentricity: list[Any]


class Metric:
    """Weights of a converted graph, with the solver that searches by them.

    Parameters
    ----------
    first_out, head : numpy.ndarray
        Rows of arcs, uint32, without parallel arcs.
    values : numpy.ndarray
        Weights of the arcs, int64 or float64, finite and not negative.

    Raises
    ------
    GraphError
        If distances may be too large for int64 or float64.
    """

    def __init__(self, first_out: Uint32s, head: Uint32s, values: Values) -> None:
        self.first_out, self.head, self.values = first_out, head, values
        self._solver: tuple[Any, Solver] | None = None
        largest, num_nodes = float(values.max(initial=0)), len(first_out) - 1
        self._is_exact = values.dtype == np.int64 and largest < UNREACHABLE
        if values.dtype == np.int64 and largest * num_nodes >= _MOST_TOTAL:
            raise GraphError("weights add up to more than 62 bits; divide them by a common factor")
        weight = values.astype(np.uint32) if self._is_exact else values.astype(np.float64)
        self._graph = Graph.from_csr(first_out, head, own(weight))

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.first_out) - 1

    @property
    def none(self) -> Any:
        """Distance of nodes that are not reached."""
        return math.inf if self.values.dtype == np.float64 else np.iinfo(np.int64).max

    @property
    def solver(self) -> Solver:
        """Solver on the device that the configuration of NetworkX names; it goes when the metric goes."""
        device = nx.config.backends.vkssp.device
        if self._solver is None or self._solver[0] != device:
            # The search itself is a small part of a query; on the CPU a better order takes longer than it saves.
            order = "natural" if place_of(AUTO, device) == CPU else "auto"
            self._solver = device, Solver(self._graph, device=device, order=order)
        return self._solver[1]

    def ask(self, question: Callable[[Solver], Answer]) -> Answer:
        """Ask the solver; where a distance does not fit into 32 bits, ask again on a graph of real weights."""
        try:
            return question(self.solver)
        except DistanceOverflowError:
            if not self._is_exact:
                raise
        self._is_exact, self._solver = False, None
        self._graph = self._graph.with_weights(self.values.astype(np.float64))
        return question(self.solver)

    def distances(self, sources: Sequence[int], cutoff: float | None = None) -> Values:
        """Return distances from the nearest of some nodes; see `rows`."""
        return self._corrected(self._search([(source, 0) for source in sources], cutoff), sources)

    def rows(self, sources: Sequence[int], cutoff: float | None = None) -> Iterator[Values]:
        """Yield the distances from each of some nodes, int64 or float64, `none` for nodes that are not reached.

        Distances beyond a cutoff may be missing.
        """
        step = max(1, min(_MOST_ROWS, _MOST_DISTANCES // max(1, self.num_nodes)))
        for begin in range(0, len(sources), step):
            block = sources[begin : begin + step]
            for source, row in zip(block, self._search(np.array(block), cutoff), strict=True):
                yield self._corrected(row, [source])

    def _search(self, sources: Any, cutoff: float | None) -> Values:
        return self.ask(lambda solver: np.asarray(solver.distances(sources, limit=self._limit(cutoff))))

    def _limit(self, cutoff: float | None) -> float | None:
        """Return the distance up to which a search has to go."""
        if cutoff is None or not 0 <= cutoff < UNREACHABLE - 1:
            return None
        if self._is_exact:
            return math.floor(cutoff)
        return None if self.solver.graph.weight_error else cutoff * (1 + _ROUNDING)

    def _corrected(self, found: Values, sources: Sequence[int]) -> Values:
        """Return the distances of a search as the sums of weights that they are."""
        if found.dtype == np.uint32:
            return np.where(found == UNREACHABLE, self.none, found.astype(np.int64))
        reached = np.flatnonzero(np.isfinite(found))
        order = reached[np.argsort(found[reached], kind="stable")]
        dist = np.full(self.num_nodes, self.none, self.values.dtype)
        dist[list(sources)] = 0
        state, queue = np.zeros(self.num_nodes, np.uint8), np.empty(self.num_nodes, np.int64)
        kernels(_KERNELS).settle(self.first_out, self.head, self.values, order, self.none, dist, state, queue)
        return dist

    def tree(self, sources: Sequence[int], cutoff: float | None = None) -> Tree:
        """Return the shortest paths from the nearest of some nodes, all different, within a cutoff."""
        return self._tree(self.distances(sources, cutoff), sources, cutoff)

    def trees(self, sources: Sequence[int], cutoff: float | None = None) -> Iterator[Tree]:
        """Yield the shortest paths from each of some nodes within a cutoff."""
        for source, row in zip(sources, self.rows(sources, cutoff), strict=True):
            yield self._tree(row, [source], cutoff)

    def _tree(self, dist: Values, sources: Sequence[int], cutoff: float | None) -> Tree:
        """Return a tree of shortest paths for distances, in NetworkX's order."""
        counts = dist < self.none
        if cutoff is not None:
            counts &= ~(dist > cutoff)  # NaN is no cutoff
            counts[list(sources)] = True
        nodes = np.flatnonzero(counts)
        values = dist[nodes]
        group = np.full(self.num_nodes, -1, np.int64)
        if dist.dtype == np.int64 and int(values.max()) <= _LISTS * self.num_nodes:
            group[nodes] = values
            num_groups = int(values.max()) + 1
        else:
            different, rank = np.unique(values, return_inverse=True)
            group[nodes] = rank
            num_groups = len(different)
        first, last = np.full(num_groups, -1, np.int64), np.full(num_groups, -1, np.int64)
        after, pred = np.full(self.num_nodes, -1, np.int64), np.full(self.num_nodes, -1, np.int64)
        settled, starts = np.empty(len(nodes), np.int64), np.array(sources, np.int64)
        first[0], last[0] = starts[0], starts[-1]
        after[starts[:-1]] = starts[1:]
        pred[starts] = -2
        rows = self.first_out, self.head, self.values
        count = kernels(_KERNELS).replay(*rows, dist, group, first, last, after, pred, settled)
        return Tree(settled[:count], len(sources), dist, pred)

    def predecessors(self, tree: Tree) -> Iterator[list[int]]:
        """Yield all predecessors on shortest paths of each settled node, in the order in which they are settled."""
        rank = np.full(self.num_nodes, -1, np.int64)
        rank[tree.settled] = np.arange(len(tree.settled))
        tail = self.tail
        both = np.flatnonzero((rank[tail] >= 0) & (rank[self.head] >= 0))
        tight = both[tree.dist[tail[both]] + self.values[both] == tree.dist[self.head[both]]]
        tails, heads = rank[tail[tight]], rank[self.head[tight]]
        order = np.lexsort((tails, heads))
        found = tree.settled[tails[order]].tolist()
        ends = np.searchsorted(heads[order], np.arange(len(tree.settled) + 1)).tolist()
        for begin, end in pairwise(ends):
            yield found[begin:end]

    @cached_property
    def tail(self) -> Uint32s:
        """Tail of each arc, shape (num_arcs,), uint32."""
        return self._graph.tail

    def path(self, source: int, target: int) -> tuple[Any, list[int]] | None:
        """Return the length of a shortest path from one node to another and its nodes, or None if there is none."""
        if self._is_exact or not self.solver.graph.weight_error:
            try:
                route = self.ask(lambda solver: solver.path(source, target))
            except NoRouteError:
                return None
            if self._is_exact or not self.solver.graph.weight_error:  # still, if a distance did not fit
                length: Any = 0
                for value in self.values[route.arcs].tolist():
                    length += value
                return length, route.nodes.tolist()
        tree = self.tree([source])
        dist = tree.dist[target].item()
        return None if dist == self.none else (dist, tree.path(target))

    def sums(self, sources: Sequence[int]) -> Sums:
        """Return sums of the distances from some nodes; those of integers of 32 bits are made on the device."""
        if self._is_exact and sources:
            found = self.ask(lambda solver: solver.centrality(np.array(sources)))
            if found.total.dtype == np.int64:
                return Sums(found.reached.tolist(), found.total.tolist(), found.eccentricity.tolist())
        sums = Sums([], [], [])
        for row in self.rows(sources):
            reached = row[row < self.none]
            sums.reached.append(len(reached))
            sums.total.append(math.fsum(reached) if row.dtype == np.float64 else sum(reached.tolist()))
            sums.eccentricity.append(reached.max().item())
        return sums
