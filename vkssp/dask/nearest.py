"""Nearest sources, and nearest opportunities, that tasks of dask find: one search finds those of all nodes."""

from __future__ import annotations

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
from vkssp.dask.question import Facts, Opened, Question, facts_by_row, num_origins, solver_of
from vkssp.graph import Graph
from vkssp.graph.metric import unit_of
from vkssp.routing.opportunities import NearestSearch
from vkssp.routing.router import Router
from vkssp.solver.nearest import NearestSources
from vkssp.solver.table_file import Block


@dataclass(frozen=True, eq=False)
class NearestQuestion(Question):
    """Nearest of some sources to every node; see `vkssp.Solver.nearest`.

    Attributes
    ----------
    sources, offsets, limit, number, reverse
        Its arguments.
    """

    sources: Any
    offsets: Any = None
    limit: float | None = None
    number: int | None = None
    reverse: bool = False

    def prepare(self, opened: Opened) -> NearestSources:
        """Return the result, which one search finds."""
        given = self.sources, self.offsets, self.limit
        return solver_of(opened).nearest(*given, count=self.number, reverse=self.reverse)

    def facts(self, opened: Opened, prepared: NearestSources) -> Facts:
        """Return shape and types of the result."""
        return facts_by_row(self, opened, prepared, len(prepared.distance))

    def block(self, opened: Opened, prepared: NearestSources, first: int, end: int) -> Block:
        """Return the sources nearest to some nodes."""
        return {"distance": prepared.distance[first:end], "source": prepared.source[first:end]}


@dataclass(frozen=True, eq=False)
class NearestOpportunitiesQuestion(Question):
    """Opportunities that are nearest to places, or to all nodes; see `vkssp.Router.nearest_opportunities`.

    Attributes
    ----------
    origins, opportunities, number, limit, reverse
        Its arguments.
    """

    origins: Any
    opportunities: Any
    number: int = 1
    limit: float | None = None
    reverse: bool = False

    def prepare(self, opened: Opened) -> NearestSearch:
        """Return the opportunities that are nearest to each node."""
        router = opened.solver
        assert isinstance(router, Router)
        index = router.index
        asked = self.opportunities, self.number, self.limit, self.reverse
        return NearestSearch(index, unit_of(index.graph, router.metric), *asked)

    def facts(self, opened: Opened, prepared: NearestSearch) -> Facts:
        """Return shape and types of the result."""
        return facts_by_row(self, opened, prepared, num_origins(opened, self.origins))

    def block(self, opened: Opened, prepared: NearestSearch, first: int, end: int) -> Block:
        """Return the opportunities nearest to some origins."""
        is_nodes = self.origins is None
        found = prepared.of_nodes(np.arange(first, end)) if is_nodes else prepared.of(self.origins[first:end], first)
        return {"opportunity": found.opportunity, found.column: found.values}


def nearest(
    graph: Graph | str | Path,
    sources: Any,
    offsets: npt.ArrayLike | None = None,
    limit: float | None = None,
    *,
    count: int | None = None,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> dict[str, Any]:
    """Return the nearest of some sources to every node, or several of them, as lazy arrays, in blocks of nodes.

    Needs the extra ``dask``. One search finds all of them; each worker that makes blocks makes it once.

    Parameters
    ----------
    graph, cluster, algorithm, **parameters
        See `table`.
    sources, offsets, limit, count, reverse
        See `vkssp.Solver.nearest`.
    rows : int, optional
        Nodes of a block.

    Returns
    -------
    dict of str to dask.array.Array
        ``distance`` and ``source`` of `vkssp.NearestSources`, as `vkssp.Solver.nearest` returns them.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes, means = plain_nodes(sources, "sources"), means_of(algorithm, parameters, is_router=False)
    given = None if offsets is None else np.asarray(offsets)
    question = NearestQuestion(source_of(graph), means, nodes, given, limit, count, flag(reverse, "reverse"))
    return arrays(question, *divided(question, cluster, rows))


def nearest_opportunities(
    graph: Graph | str | Path,
    origins: Any,
    opportunities: Any,
    count: int = 1,
    *,
    limit: float | None = None,
    reverse: bool = False,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> dict[str, Any]:
    """Return the opportunities that are nearest to each of some places as lazy arrays, in blocks of origins.

    Needs the extra ``dask``. One search from all opportunities finds those of all nodes; each worker makes it once.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    origins, opportunities, count, limit, reverse
        See `vkssp.Router.nearest_opportunities`; origins are places, or None for all nodes.

    Returns
    -------
    dict of str to dask.array.Array
        ``opportunity``, and one of ``duration_s``, ``distance_m`` and ``weight``, as
        `vkssp.Router.nearest_opportunities` returns them, shape (origins, count).

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    begin, end = trips_between(origins, opportunities)
    means = means_of(algorithm, parameters, is_router=True)
    question = NearestOpportunitiesQuestion(source_of(graph), means, begin, end, count, limit, flag(reverse, "reverse"))
    return arrays(question, *divided(question, cluster, rows))
