"""Loads of arcs that tasks of dask compute, and add up as a tree: betweenness, and flows of a demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import array_of, flag, is_many, listed
from vkssp.dask.asking import divided, means_of, plain_nodes
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import delayed, tree_sum
from vkssp.dask.question import Facts, Opened, Question, solver_of, sources_of
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.prepared.terminals import named
from vkssp.solver.demand import check_amounts, in_fixed_point
from vkssp.solver.loads import Betweenness, Flows, Turns, sum_of_flows
from vkssp.solver.sampling import drawn
from vkssp.solver.table_file import Block


@dataclass(frozen=True, eq=False)
class BetweennessQuestion(Question):
    """Numbers of shortest paths over arcs and through nodes; see `vkssp.Solver.betweenness`.

    Attributes
    ----------
    sources, limit, sample, seed
        Its arguments.
    """

    sources: Any = None
    limit: float | None = None
    sample: int | None = None
    seed: int = 0

    def prepare(self, opened: Opened) -> Any:
        """Return the sources."""
        if self.sample is None:
            return sources_of(opened, self.sources)
        graph = opened.solver.graph
        return named(graph, drawn(np.arange(graph.num_nodes, dtype=np.uint32), self.sample, self.seed))

    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return the number of sources."""
        dtypes = {name: np.dtype(np.int64) for name in ("arcs", "nodes", "num_pairs")}
        return Facts((len(prepared),), dtypes, opened.solver.graph.scale, self.means.distance_type.bits)

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the sums of the paths from some sources."""
        found = solver_of(opened).betweenness(prepared[first:end], limit=self.limit)
        return {"arcs": found.arcs, "nodes": found.nodes, "num_pairs": np.array(found.num_pairs, np.int64)}


@dataclass(frozen=True, eq=False)
class FlowsQuestion(Question):
    """Loads of arcs by a demand of whole numbers; see `vkssp.Solver.flows`.

    Attributes
    ----------
    sources, targets, demand, select, turns
        Its arguments: rows of the demand are of sources, or all three are of pairs.
    """

    sources: Any
    targets: Any
    demand: Any
    select: Any = None
    turns: bool = False

    def prepare(self, opened: Opened) -> None:
        """Check the shape of the demand."""
        count, shape = len(self.sources), self.demand.shape
        if shape not in ((count, len(self.targets)), (count,)) or (len(shape) == 1 and count != len(self.targets)):
            whole = count, len(self.targets)
            raise QueryError(f"demand has shape {shape}; give an array of shape {whole}, or one number for each pair")

    def facts(self, opened: Opened, prepared: None) -> Facts:
        """Return the number of rows of the demand."""
        dtypes = {name: np.dtype(np.int64) for name in ("arcs", "unreached")}
        return Facts((len(self.sources),), dtypes, opened.solver.graph.scale, self.means.distance_type.bits)

    def block(self, opened: Opened, prepared: None, first: int, end: int) -> Block:
        """Return the loads by the demand from some sources."""
        targets = self.targets[first:end] if len(self.demand.shape) == 1 else self.targets
        asked = {"select": self.select, "turns": self.turns}
        found = solver_of(opened).flows(self.sources[first:end], targets, self.demand[first:end], **asked)
        block: Block = {"arcs": found.arcs, "unreached": np.array(found.unreached, np.int64)}
        if found.selected is not None:
            block["selected"] = found.selected
        if found.turns is not None:
            block |= {"before": found.turns.before, "after": found.turns.after, "load": found.turns.load}
        return block


def make_betweenness(question: BetweennessQuestion, first: int, end: int) -> Betweenness:
    """Return the betweenness of some sources; a task of a worker."""
    block = SOLVERS.block(question, first, end)
    return Betweenness(block["arcs"], block["nodes"], int(block["num_pairs"]), end - first)


def added(parts: Sequence[Betweenness]) -> Betweenness:
    """Return the sum of the betweenness of several sets of sources; a task of a worker."""
    arcs, nodes = np.zeros_like(parts[0].arcs), np.zeros_like(parts[0].nodes)
    for part in parts:
        arcs += part.arcs
        nodes += part.nodes
    return Betweenness(arcs, nodes, sum(part.num_pairs for part in parts), sum(part.num_sources for part in parts))


def make_flows(question: FlowsQuestion, first: int, end: int) -> Flows:
    """Return the loads by the demand from some sources; a task of a worker."""
    block = SOLVERS.block(question, first, end)
    turns = Turns(block["before"], block["after"], block["load"]) if question.turns else None
    return Flows(block["arcs"], int(block["unreached"]), selected=block.get("selected"), turns=turns)


def added_flows(parts: Sequence[Flows]) -> Flows:
    """Return the sum of several loads; a task of a worker."""
    return reduce(sum_of_flows, parts)


def in_units(flows: Flows, exponent: int) -> Flows:
    """Return loads by a demand of real numbers, given those by its multiples of 2**-exponent; a task of a worker."""

    def real(loads: Any) -> Any:
        return np.ldexp(np.asarray(loads, np.float64), -exponent)

    turns = None if flows.turns is None else replace(flows.turns, load=real(flows.turns.load))
    selected = None if flows.selected is None else real(flows.selected)
    return Flows(real(flows.arcs), float(real(flows.unreached)), selected=selected, turns=turns)


def betweenness(
    graph: Graph | str | Path,
    sources: Any = None,
    *,
    limit: float | None = None,
    sample: int | None = None,
    seed: int = 0,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return on how many shortest paths each arc and each node lies, as one lazy value.

    Needs the extra ``dask``. Tasks add up the sums of blocks of sources as a tree, so that no worker needs memory for
    many of them.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources, limit, sample, seed
        See `vkssp.Solver.betweenness`; by default all nodes.

    Returns
    -------
    dask.delayed.Delayed
        A `vkssp.Betweenness`, as `vkssp.Solver.betweenness` returns it.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes = plain_nodes(sources, "sources", optional=True)
    if nodes is not None and sample is not None:
        raise QueryError("both sources and sample are given; give one of them")
    means = means_of(algorithm, parameters, is_router=False)
    question = BetweennessQuestion(source_of(graph), means, nodes, limit, sample, seed)
    return tree_sum(question, divided(question, cluster, rows)[1], make_betweenness, added)


def flows(
    graph: Graph | str | Path,
    sources: Any,
    targets: Any,
    demand: Any,
    *,
    select: Sequence[int | Sequence[int]] | None = None,
    turns: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the loads of all arcs if a demand takes its shortest paths, as one lazy value.

    Needs the extra ``dask``. Tasks add up the loads by blocks of sources as a tree: loads of whole numbers, or of
    multiples of 2**-60 of the sum of the demand, so that the sums do not depend on the blocks.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources, targets, demand, select, turns
        See `vkssp.Solver.flows`; the demand is an array or a sparse matrix.

    Returns
    -------
    dask.delayed.Delayed
        `vkssp.Flows` without values of pairs, as `vkssp.Solver.flows_of` returns them.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    begin, end, given = plain_nodes(sources, "sources"), plain_nodes(targets, "targets"), _amounts(demand)
    if given.ndim == 1 and isinstance(begin, np.ndarray) and isinstance(end, np.ndarray) and len(begin) == len(end):
        if len(given) == len(begin):  # pairs of one source together, which take one search
            order = np.argsort(begin, kind="stable")
            begin, end, given = begin[order], end[order], given[order]
    is_real, exponent = given.dtype.kind == "f", 0
    if is_real and hasattr(given, "tocsr"):
        amounts, exponent = in_fixed_point(given.data)
        given = type(given)((amounts, given.indices, given.indptr), shape=given.shape)
    elif is_real:
        given, exponent = in_fixed_point(given)
    means = means_of(algorithm, parameters, is_router=False)
    asked_for = None
    if select is not None:
        what = "arcs, or lists of arcs"
        asked_for = [list(one) if is_many(one) else one for one in listed(select, "select", what)]
    question = FlowsQuestion(source_of(graph), means, begin, end, given, asked_for, flag(turns, "turns"))
    loads = tree_sum(question, divided(question, cluster, rows)[1], make_flows, added_flows)
    return delayed(in_units)(loads, exponent) if is_real else loads


def _amounts(demand: Any) -> Any:
    """Return a checked demand, int64 or float64: an array, or a sparse matrix by rows without duplicates."""
    if not hasattr(demand, "tocsr"):
        given = array_of(demand, "demand", "numbers, one for each pair", QueryError)
        check_amounts(given)
        return given.astype(np.float64 if given.dtype.kind == "f" else np.int64)
    matrix = demand.tocoo(copy=False)
    check_amounts(np.asarray(matrix.data))
    wide = matrix.data.astype(np.float64 if matrix.data.dtype.kind == "f" else np.int64)
    rows = type(matrix)((wide, (matrix.row, matrix.col)), shape=matrix.shape).tocsr()
    rows.sum_duplicates()
    return rows
