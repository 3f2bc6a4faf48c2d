"""Centrality of nodes by their distances to all others, or to those within a radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import brief
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.memory import require
from vkssp.prepared.aggregates import FARTHEST, FARTHEST_NODE, REACHED, RECIPROCALS, TOTAL, Int64s, NodeSums, Totals
from vkssp.prepared.seed_groups import Groups
from vkssp.prepared.terminals import named, nodes_of
from vkssp.solver.accessibility import aggregated_rows, blocks_of_sums
from vkssp.solver.sampling import drawn, probability
from vkssp.solver.tables import RowSource

Floats = npt.NDArray[np.float64]


class Extent(NamedTuple):
    """Distance from a node to the node that is farthest from it.

    Attributes
    ----------
    distance : int or float
        The distance, a float if the weights of the graph are real numbers.
    source, target : int or name
        Both nodes. If distances to nodes count, not those from them, the path leads from the target to the source.
    """

    distance: float
    source: Any
    target: Any


@dataclass(frozen=True, eq=False)
class Centrality:
    """Centrality of some nodes. All arrays have shape (s,), an entry for each node.

    Attributes
    ----------
    sources : numpy.ndarray
        The nodes, uint32, or their names.
    reached : numpy.ndarray
        Number of nodes that are reached, the node itself included, int64.
    total : numpy.ndarray
        Sum of the distances to them (farness), int64, or float64 if the weights of the graph are real numbers.
    eccentricity : numpy.ndarray
        Largest of these distances, uint32, or float64.
    farthest : numpy.ndarray
        Node at that distance, the first one by position, uint32, or its name.
    num_nodes : int
        Number of nodes of the graph.
    """

    __repr__ = brief

    sources: npt.NDArray[Any]
    reached: Int64s
    total: npt.NDArray[Any]
    eccentricity: npt.NDArray[Any]
    farthest: npt.NDArray[Any]
    num_nodes: int
    _reciprocals: Floats

    @property
    def closeness(self) -> Floats:
        """Reciprocal of the mean distance to the nodes reached, times their share of all nodes, float64.

        The factor lets graphs that are not connected be compared (S. Wasserman, K. Faust, Social network analysis,
        1994). Closeness is 0 for a node that reaches no other. Within a radius the share is that of the nodes within
        it, so that closeness depends on the size of the graph; ``(reached - 1) / total`` does not.
        """
        return _closeness(self.reached, self.total, self.num_nodes)

    @property
    def harmonic(self) -> Floats:
        """Sum of the reciprocals of the distances to the other nodes, float64; nodes at distance 0 do not count.

        The sum is one of integers, the same on all devices. Each reciprocal is right to a part of 2**-29, and rounded
        down to a multiple of 2**-61 times the number of nodes: of 1,000,000 nodes, one at distance 2**20 to a part of
        2**-21.
        """
        return self._reciprocals

    @property
    def diameter(self) -> Extent:
        """Largest distance between nodes that a path joins, with the pair that shows it; exact if all nodes are here.

        Raises
        ------
        QueryError
            If there are no nodes.
        """
        return self._extent(np.argmax(self.eccentricity) if len(self.sources) else None)

    @property
    def radius(self) -> Extent:
        """Least eccentricity, with a center and the node that is farthest from it; exact if all nodes are here.

        In a graph that is not connected, only nodes that reach as many others as any node count.

        Raises
        ------
        QueryError
            If there are no nodes.
        """
        if not len(self.sources):
            return self._extent(None)
        far = np.where(self.reached == self.reached.max(), self.eccentricity.astype(np.float64), np.inf)
        return self._extent(far.argmin())

    def _extent(self, place: np.intp | None) -> Extent:
        if place is None:
            raise QueryError("a graph without nodes has no extent; make one with nodes")
        chosen = slice(place, place + 1)
        return Extent(*(values[chosen].tolist()[0] for values in (self.eccentricity, self.sources, self.farthest)))


@dataclass(frozen=True, eq=False)
class SampledCentrality:
    """Centrality of all nodes, estimated from their distances to a sample. All arrays have shape (num_nodes,), float64.

    The method is that of D. Eppstein and J. Wang (Fast approximation of centrality, 2004).

    Attributes
    ----------
    sample : numpy.ndarray
        The nodes of the sample, all different, shape (k,), uint32, or their names.
    reached : numpy.ndarray
        Number of nodes that are reached, the node itself included.
    total : numpy.ndarray
        Sum of the distances to them.
    harmonic : numpy.ndarray
        Sum of the reciprocals of the distances to the other nodes.
    """

    __repr__ = brief

    sample: npt.NDArray[Any]
    reached: Floats
    total: Floats
    harmonic: Floats

    @property
    def closeness(self) -> Floats:
        """Closeness, as of `Centrality`."""
        return _closeness(self.reached, self.total, len(self.reached))

    def error(self, confidence: float = 0.95) -> float:
        """Return by which share the estimates are wrong at most, for all nodes at once, with a probability.

        That of `reached` is a share of the number of nodes, that of `total` of this number times the largest distance
        that counts, and that of `harmonic` of this number over the least distance above 0 (W. Hoeffding, Probability
        inequalities for sums of bounded random variables, 1963). Most errors are much smaller.

        Parameters
        ----------
        confidence : float
            The probability, between 0 and 1.
        """
        share, drawn = probability(confidence), len(self.sample) - 1  # a node of the sample is none of its own
        if drawn + 1 == len(self.reached):
            return 0.0
        return math.sqrt(math.log(6 * len(self.reached) / (1 - share)) / (2 * drawn)) if drawn > 0 else math.inf


def _closeness(reached: npt.NDArray[Any], total: npt.NDArray[Any], num_nodes: int) -> Floats:
    others: Floats = np.asarray(reached - 1, np.float64)
    whole = np.asarray(total, np.float64) * float(max(1, num_nodes - 1))
    return np.divide(others * others, whole, out=np.zeros(len(others)), where=whole > 0)


def centrality(source: RowSource, sources: npt.ArrayLike | None, limit: float | None) -> Centrality:
    """Return the centrality of nodes; see `vkssp.Solver.centrality`."""
    graph = source.graph
    most, units = graph.units.limit(limit), graph.units
    nodes = np.arange(graph.num_nodes, dtype=np.uint32) if sources is None else nodes_of(graph, sources, "sources")
    require(96 * len(nodes), f"the centrality of {len(nodes):,} nodes", "ask for fewer")
    bits = 62 - max(1, graph.num_nodes).bit_length()
    aggregate = Totals(bits, min(most, UNREACHABLE - 1))
    found = aggregated_rows(source, Groups.of_nodes(nodes), (aggregate,), most).T
    return Centrality(
        sources=named(graph, nodes),
        reached=found[REACHED],
        total=units.sums(found[TOTAL]),
        eccentricity=units.values(found[FARTHEST].astype(np.uint32)),
        farthest=named(graph, found[FARTHEST_NODE].astype(np.uint32)),
        num_nodes=graph.num_nodes,
        _reciprocals=np.ldexp(found[RECIPROCALS].astype(np.float64), -bits) / (graph.scale or 1.0),
    )


def sampled_centrality(source: RowSource, sample: int, seed: int, limit: float | None) -> SampledCentrality:
    """Return the centrality of all nodes by distances from a sample; see `vkssp.Solver.centrality`."""
    graph = source.graph
    nodes = drawn(np.arange(graph.num_nodes, dtype=np.uint32), sample, seed)
    return estimated(graph, nodes, sums_of_sample(source, nodes, sample, limit))


def sums_of_sample(source: RowSource, nodes: Uint32s, sample: int, limit: float | None) -> Int64s:
    """Return what `NodeSums` adds up over searches from nodes of a sample of that size, shape (3, num_nodes), int64."""
    graph = source.graph
    most, count = graph.units.limit(limit), graph.num_nodes
    require(64 * count, f"the centrality of {count:,} nodes", "use a machine with more memory")
    aggregate = NodeSums(_sample_bits(sample), min(most, UNREACHABLE - 1))
    sums = np.zeros((aggregate.NUM_SUMS, count), np.int64)
    for block in blocks_of_sums(source, Groups.of_nodes(nodes), (aggregate,), most):
        if block.sums is not None:
            sums += block.sums
    return sums


def _sample_bits(sample: int) -> int:
    return 62 - max(1, sample).bit_length()


def estimated(graph: Graph, nodes: Uint32s, sums: Int64s) -> SampledCentrality:
    """Return the estimates of the centrality of all nodes by the sums of `sums_of_sample` over a whole sample."""
    count = graph.num_nodes
    # Each node of the sample is at distance 0 from itself, and its sample is that of the other nodes.
    is_drawn = np.zeros(count, np.bool_)
    is_drawn[nodes] = True
    reached, total, reciprocals = sums.astype(np.float64)
    scale = np.divide(count - 1, len(nodes) - is_drawn, out=np.zeros(count), where=len(nodes) > is_drawn)
    return SampledCentrality(
        sample=named(graph, nodes),
        reached=1 + scale * (reached - is_drawn),
        total=graph.units.sums(scale * total),
        harmonic=scale * np.ldexp(reciprocals, -_sample_bits(len(nodes))) / (graph.scale or 1.0),
    )
