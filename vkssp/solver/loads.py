"""Loads of arcs: betweenness, and flows of a demand, along the shortest paths that the project's walkers find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import array_of, dtype_of
from vkssp.errors import QueryError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.graph.csr import rows_of
from vkssp.memory import require
from vkssp.prepared.aggregates import MISSED, SENT, ArcLoads, Int64s
from vkssp.prepared.seed_groups import Demand, Groups
from vkssp.prepared.terminals import checked_limit, nodes_of
from vkssp.solver.accessibility import blocks_of_sums
from vkssp.solver.sampling import drawn, probability
from vkssp.solver.tables import RowSource

# Bits of the sum of all demand.
_SUM_BITS = 62


@dataclass(frozen=True, eq=False)
class Betweenness:
    """Number of shortest paths over each arc and through each node, one path for each pair of nodes.

    Attributes
    ----------
    arcs : numpy.ndarray
        Number of pairs whose path takes each arc, shape (num_arcs,), int64.
    nodes : numpy.ndarray
        Number of pairs whose path leads through each node and neither begins nor ends there, shape (num_nodes,), int64.
    num_pairs : int
        Number of pairs that a path joins.
    num_sources : int
        Number of nodes at which paths begin.
    """

    arcs: Int64s
    nodes: Int64s
    num_pairs: int
    num_sources: int

    @property
    def scale(self) -> float:
        """Number of all nodes for each source: with a sample of sources, numbers times this estimate those of all."""
        return len(self.nodes) / max(1, self.num_sources)

    def error(self, confidence: float = 0.95) -> float:
        """Return by how much numbers times `scale` are wrong at most, if sources are drawn at random.

        The bound holds for all arcs and nodes at once, with a probability. A source adds at most one to a number for
        each other node (U. Brandes, C. Pich, Centrality estimation in large networks, 2007; W. Hoeffding, Probability
        inequalities for sums of bounded random variables, 1963). Most errors are much smaller.

        Parameters
        ----------
        confidence : float
            The probability, between 0 and 1.

        Returns
        -------
        float
            The bound; 0 if all nodes are sources.
        """
        share, most, count = probability(confidence), len(self.nodes), self.num_sources
        if count == 0 or count == most:
            return 0.0 if count else math.inf
        tries = 2 * (len(self.arcs) + most) / (1 - share)
        return most * (most - 1) * math.sqrt(math.log(tries) / (2 * count))


@dataclass(frozen=True, eq=False)
class Flows:
    """Loads of arcs.

    Attributes
    ----------
    arcs : numpy.ndarray
        Load of each arc, shape (num_arcs,); int64 if the demand is of integers, or else float64.
    unreached : int or float
        Demand between nodes that no path joins.
    """

    arcs: npt.NDArray[Any]
    unreached: Any


def arc_loads(source: RowSource, groups: Groups, aggregate: ArcLoads) -> tuple[Int64s, Int64s]:
    """Return what `ArcLoads` has of each group of seeds, shape (groups, 2), and loads of arcs, shape (num_arcs,)."""
    graph = source.graph
    rows, loads, at = np.zeros((len(groups), aggregate.width), np.int64), np.zeros(graph.num_arcs, np.int64), 0
    for block in blocks_of_sums(source, groups, (aggregate,)):
        rows[at : at + len(block)] = block.distances
        at += len(block)
        if block.sums is not None:
            loads += block.sums
    return rows, loads


def betweenness(
    source: RowSource, sources: npt.ArrayLike | None, limit: int | None, sample: int | None, seed: int
) -> Betweenness:
    """Return the betweenness of arcs and nodes; see `vkssp.Solver.betweenness`."""
    graph, most = source.graph, checked_limit(limit)
    nodes = np.arange(graph.num_nodes, dtype=np.uint32) if sources is None else nodes_of(graph, sources, "sources")
    if sample is not None:
        if sources is not None:
            raise QueryError("both sources and sample are given; give one of them")
        nodes = drawn(nodes, sample, seed)
    nodes = np.sort(nodes)  # trees of near sources, which often have similar ids, are alike
    require(16 * len(nodes), f"the betweenness from {len(nodes):,} nodes", "ask for fewer")
    rows, loads = arc_loads(source, Groups.of_nodes(nodes), ArcLoads(min(most, UNREACHABLE - 1)))
    # What leaves a node either begins there or comes through it.
    through = np.zeros(graph.num_nodes, np.int64)
    np.add.at(through, graph.tail, loads)
    np.subtract.at(through, nodes, rows[:, SENT])
    return Betweenness(loads, through, int(rows[:, SENT].sum()), len(nodes))


def flows(source: RowSource, sources: npt.ArrayLike, targets: npt.ArrayLike, demand: Any) -> Flows:
    """Return the loads of a demand; see `vkssp.Solver.flows`."""
    graph = source.graph
    begin, end = nodes_of(graph, sources, "sources"), nodes_of(graph, targets, "targets")
    origins, first, nodes, amount = _entries(demand, begin, end, graph.num_nodes)
    fixed, exponent = _fixed(amount)
    entries = Demand(first, nodes, fixed)
    sums = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(fixed)])[first])
    most = int(sums.max(initial=0)), int(np.diff(first).max(initial=0))
    rows, loads = arc_loads(source, Groups.of_nodes(origins).wanting(entries), ArcLoads(UNREACHABLE - 1, False, *most))
    missed = int(rows[:, MISSED].sum())
    if amount.dtype.kind != "f":
        return Flows(loads, missed)
    return Flows(np.ldexp(loads.astype(np.float64), -exponent), float(np.ldexp(float(missed), -exponent)))


def _entries(
    demand: Any, sources: Uint32s, targets: Uint32s, num_nodes: int
) -> tuple[Uint32s, Int64s, Uint32s, npt.NDArray[Any]]:
    """Return origins, the first entry of each, and destinations and amounts of entries, int64 or float64."""
    shape = len(sources), len(targets)
    expected = f"give an array or a sparse matrix of shape {shape}, or one number for each pair"
    if hasattr(demand, "tocsr"):
        if demand.shape != shape:
            raise QueryError(f"demand has shape {demand.shape}; {expected}")
        matrix = demand.tocsr()
        amount = _amounts(np.asarray(matrix.data))
        return sources, matrix.indptr.astype(np.int64), targets[matrix.indices], amount
    table = array_of(demand, "demand", "numbers, one for each pair", QueryError)
    if table.ndim == 1 and shape[0] == shape[1] == len(table):
        amount = _amounts(table)
        offsets, order = rows_of(sources, num_nodes)
        origins = np.flatnonzero(np.diff(offsets.astype(np.int64))).astype(np.uint32)
        first = np.append(offsets[origins], len(order)).astype(np.int64)
        return origins, first, targets[order], amount[order]
    if table.shape != shape:
        raise QueryError(f"demand has shape {table.shape}; {expected}")
    amount = _amounts(table.reshape(-1))
    if 2 * np.count_nonzero(amount) >= len(amount):
        return sources, np.arange(shape[0] + 1) * shape[1], np.tile(targets, shape[0]), amount
    row, column = np.nonzero(table)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(row, minlength=shape[0]))])
    return sources, first, targets[column], amount.reshape(shape)[row, column]


def _amounts(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return checked amounts, int64 or float64."""
    if given.dtype.kind not in "biuf":
        raise QueryError(f"demand has dtype {dtype_of(given)}; give numbers")
    # A sum of integers might pass 64 bits.
    total = float(given.sum(dtype=np.float64))
    if not (float(given.min(initial=0)) >= 0 and np.isfinite(total)):
        raise QueryError("demand has numbers that are negative or not finite; give amounts from 0 on")
    if total >= 2.0**_SUM_BITS:
        raise QueryError("demand has a sum beyond 2**62; divide it by a factor")
    return given.astype(np.float64 if given.dtype.kind == "f" else np.int64)


def _fixed(amount: npt.NDArray[Any]) -> tuple[Int64s, int]:
    """Return amounts as multiples of 2**-exponent, int64, and the exponent."""
    if amount.dtype.kind != "f" or bool((amount == np.trunc(amount)).all()):
        return amount.astype(np.int64), 0
    exponent = _SUM_BITS - 1 - int(np.frexp(float(amount.sum()))[1])
    return np.rint(np.ldexp(amount, exponent)).astype(np.int64), exponent
