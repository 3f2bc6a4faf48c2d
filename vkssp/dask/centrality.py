"""Centrality that tasks of dask compute: measures of nodes by distances, straightness, and estimates by a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag
from vkssp.dask.asking import divided, means_of, plain_nodes
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import arrays, asked, delayed, tree_sum
from vkssp.dask.question import VALUE, Facts, Opened, Question, facts_by_row, solver_of, sources_of
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.graph import Graph
from vkssp.prepared.terminals import named
from vkssp.solver.centrality import Centrality, SampledCentrality, estimated, sums_of_sample
from vkssp.solver.sampling import drawn
from vkssp.solver.table_file import Block
from vkssp.solver.tables import require_32_bits

#: Measures of a node that `vkssp.Solver.centrality` finds.
MEASURES = ("reached", "total", "eccentricity", "farthest", "closeness", "harmonic")


@dataclass(frozen=True, eq=False)
class CentralityQuestion(Question):
    """Measures of nodes; see `vkssp.Solver.centrality`.

    Attributes
    ----------
    sources, limit
        Its arguments.
    """

    sources: Any = None
    limit: float | None = None

    def prepare(self, opened: Opened) -> Any:
        """Return the sources."""
        return sources_of(opened, self.sources)

    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return the types of the measures."""
        return facts_by_row(self, opened, prepared, len(prepared))

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the measures of some nodes."""
        found = solver_of(opened).centrality(prepared[first:end], limit=self.limit)
        return {name: getattr(found, name) for name in MEASURES}


@dataclass(frozen=True, eq=False)
class StraightnessQuestion(CentralityQuestion):
    """Straightness of the paths from nodes; see `vkssp.Solver.straightness`."""

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the straightness of some nodes."""
        return {VALUE: solver_of(opened).straightness(prepared[first:end], limit=self.limit)}


@dataclass(frozen=True, eq=False)
class SampleQuestion(Question):
    """Sums over a sample for each node, by which centrality is estimated; see `vkssp.Solver.centrality`.

    Attributes
    ----------
    sample, seed, limit
        Its arguments.
    """

    sample: int
    seed: int = 0
    limit: float | None = None

    def prepare(self, opened: Opened) -> Any:
        """Return the nodes of the sample."""
        require_32_bits(solver_of(opened), "centrality")
        return drawn(np.arange(opened.solver.graph.num_nodes, dtype=np.uint32), self.sample, self.seed)

    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return the number of nodes of the sample."""
        dtypes = {VALUE: np.dtype(np.int64)}
        return Facts((len(prepared),), dtypes, opened.solver.graph.scale, self.means.distance_type.bits)

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the sums over some nodes of the sample."""
        return {VALUE: sums_of_sample(solver_of(opened), prepared[first:end], len(prepared), self.limit)}


def make_sample(question: SampleQuestion, first: int, end: int) -> Any:
    """Return the sums over some nodes of a sample; a task of a worker."""
    return SOLVERS.block(question, first, end)[VALUE]


def added_samples(parts: Sequence[Any]) -> Any:
    """Return the sum of the sums over parts of a sample; a task of a worker."""
    return sum(parts[1:], start=parts[0])


def estimate(question: SampleQuestion, sums: Any) -> SampledCentrality:
    """Return the centrality that the sums over a sample estimate; a task of a worker."""

    def made(opened: Opened) -> SampledCentrality:
        return estimated(opened.solver.graph, question.prepare(opened), sums)

    return SOLVERS.work(question, made)


def centrality(
    graph: Graph | str | Path,
    sources: Any = None,
    *,
    limit: float | None = None,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> dict[str, Any]:
    """Return measures of nodes as lazy arrays, which share their searches.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources, limit, reverse
        See `vkssp.Solver.centrality`; by default all nodes.

    Returns
    -------
    dict of str to dask.array.Array
        ``reached``, ``total``, ``eccentricity``, ``farthest``, ``closeness`` and ``harmonic`` of `vkssp.Centrality`,
        shape (s,).

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes = plain_nodes(sources, "sources", optional=True)
    means = means_of(algorithm, parameters, is_router=False, is_backward=flag(reverse, "reverse"))
    question = CentralityQuestion(source_of(graph), means, nodes, limit)
    return arrays(question, *divided(question, cluster, rows))


def centrality_of(graph: Graph, measures: dict[str, Any]) -> Centrality:
    """Return the centrality of all nodes of a graph, given its computed measures; see `centrality`."""
    reached, total, eccentricity, farthest, _, harmonic = (measures[name] for name in MEASURES)
    sources = named(graph, np.arange(graph.num_nodes, dtype=np.uint32))
    return Centrality(sources, reached, total, eccentricity, farthest, graph.num_nodes, harmonic)


def sampled_centrality(
    graph: Graph | str | Path,
    sample: int,
    *,
    limit: float | None = None,
    reverse: bool = False,
    seed: int = 0,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the centrality of all nodes, estimated by their distances to a sample, as one lazy value.

    Needs the extra ``dask``. Tasks add up the sums of blocks of the sample as a tree.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sample, limit, reverse, seed
        See `vkssp.Solver.centrality`.

    Returns
    -------
    dask.delayed.Delayed
        A `vkssp.SampledCentrality`, as `vkssp.Solver.centrality` returns it.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    # Distances to nodes of the sample are searched from them, backward.
    means = means_of(algorithm, parameters, is_router=False, is_backward=not flag(reverse, "reverse"))
    question = SampleQuestion(source_of(graph), means, sample, seed, limit)
    sums = tree_sum(question, divided(question, cluster, rows)[1], make_sample, added_samples)
    return delayed(estimate)(asked(question), sums)


def straightness(
    graph: Graph | str | Path,
    sources: Any = None,
    *,
    limit: float | None = None,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return how straight the shortest paths from nodes are as a lazy array, in blocks of nodes.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources, limit, reverse
        See `vkssp.Solver.straightness`; by default all nodes.

    Returns
    -------
    dask.array.Array
        What `vkssp.Solver.straightness` returns, bit for bit.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes = plain_nodes(sources, "sources", optional=True)
    means = means_of(algorithm, parameters, is_router=False, is_backward=flag(reverse, "reverse"))
    question = StraightnessQuestion(source_of(graph), means, nodes, limit)
    return arrays(question, *divided(question, cluster, rows))[VALUE]
