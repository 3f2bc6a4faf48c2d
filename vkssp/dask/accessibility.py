"""Accessibility that tasks of dask compute: sums over opportunities, or nodes, within reach of places or nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag
from vkssp.dask.asking import divided, means_of, plain_nodes, trips_between
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import arrays
from vkssp.dask.question import VALUE, Facts, Opened, Question, facts_by_row, num_origins, solver_of, sources_of
from vkssp.graph import Graph
from vkssp.graph.metric import unit_of
from vkssp.routing.opportunities import OpportunitySums
from vkssp.routing.router import Router
from vkssp.solver.decay import Decay
from vkssp.solver.table_file import Block


@dataclass(frozen=True, eq=False)
class AccessibilityQuestion(Question):
    """Sums over opportunities within reach of places, or of all nodes; see `vkssp.Router.accessibility`.

    Attributes
    ----------
    origins, opportunities, weights, limits, decays, reverse
        Its arguments.
    """

    origins: Any
    opportunities: Any
    weights: Any = None
    limits: Any = None
    decays: Decay | Sequence[Decay] | None = None
    reverse: bool = False

    def prepare(self, opened: Opened) -> OpportunitySums:
        """Return the opportunities on streets, and a solver of the graph with them."""
        router = opened.solver
        assert isinstance(router, Router)
        index = router.index
        asked = self.opportunities, self.weights, self.limits, self.decays, self.reverse
        return OpportunitySums(router.solver, index, unit_of(index.graph, router.metric), *asked)

    def facts(self, opened: Opened, prepared: OpportunitySums) -> Facts:
        """Return shape and type of the sums."""
        return facts_by_row(self, opened, prepared, num_origins(opened, self.origins))

    def block(self, opened: Opened, prepared: OpportunitySums, first: int, end: int) -> Block:
        """Return the sums of some origins."""
        if self.origins is None:
            return {VALUE: prepared.of_nodes(np.arange(first, end))}
        return {VALUE: prepared.of(self.origins[first:end], first)}


@dataclass(frozen=True, eq=False)
class NodeAccessibilityQuestion(Question):
    """Sums over nodes within reach of nodes; see `vkssp.Solver.accessibility`.

    Attributes
    ----------
    values, limits, decays, sources
        Its arguments.
    """

    values: Any
    limits: Any = None
    decays: Decay | Sequence[Decay] | None = None
    sources: Any = None

    def prepare(self, opened: Opened) -> Any:
        """Return the sources."""
        return sources_of(opened, self.sources)

    def facts(self, opened: Opened, prepared: Any) -> Facts:
        """Return shape and type of the sums."""
        return facts_by_row(self, opened, prepared, len(prepared))

    def block(self, opened: Opened, prepared: Any, first: int, end: int) -> Block:
        """Return the sums of some nodes."""
        given = {"decays": self.decays, "sources": prepared[first:end]}
        return {VALUE: solver_of(opened).accessibility(self.values, self.limits, **given)}


def accessibility(
    graph: Graph | str | Path,
    origins: Any,
    opportunities: Any,
    weights: npt.ArrayLike | None = None,
    *,
    limits: float | Sequence[float] | None = None,
    decays: Decay | Sequence[Decay] | None = None,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return how much can be reached from places as a lazy array, in blocks of origins.

    Needs the extra ``dask``. Each worker snaps the opportunities once.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    origins, opportunities, weights, limits, decays, reverse
        See `vkssp.Router.accessibility`; origins are places, or None for all nodes.

    Returns
    -------
    dask.array.Array
        What `vkssp.Router.accessibility` returns, bit for bit.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    begin, end = trips_between(origins, opportunities)
    question = AccessibilityQuestion(
        source_of(graph),
        means_of(algorithm, parameters, is_router=True),
        begin,
        end,
        None if weights is None else np.asarray(weights),
        limits,
        decays,
        flag(reverse, "reverse"),
    )
    return arrays(question, *divided(question, cluster, rows))[VALUE]


def node_accessibility(
    graph: Graph | str | Path,
    values: npt.ArrayLike,
    limits: npt.ArrayLike | None = None,
    *,
    decays: Decay | Sequence[Decay] | None = None,
    sources: Any = None,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the sums of values that can be reached from nodes as a lazy array, in blocks of nodes.

    Needs the extra ``dask``.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    values, limits, decays, sources, reverse
        See `vkssp.Solver.accessibility`; by default all nodes are sources.

    Returns
    -------
    dask.array.Array
        What `vkssp.Solver.accessibility` returns, bit for bit.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes, within = (
        plain_nodes(sources, "sources", optional=True),
        limits.tolist() if isinstance(limits, np.ndarray) else limits,
    )
    means = means_of(algorithm, parameters, is_router=False, is_backward=flag(reverse, "reverse"))
    question = NodeAccessibilityQuestion(source_of(graph), means, np.asarray(values), within, decays, nodes)
    return arrays(question, *divided(question, cluster, rows))[VALUE]
