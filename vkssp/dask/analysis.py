"""Accessibility, centrality and betweenness that tasks of dask compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag
from vkssp.dask.asking import are_places, divided, means_of, plain
from vkssp.dask.blocks import Blocks
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import arrays, asked
from vkssp.dask.question import VALUE, Question
from vkssp.dask.sum_questions import (
    AccessibilityQuestion,
    BetweennessQuestion,
    CentralityQuestion,
    FlowsQuestion,
    NearestQuestion,
    added,
    added_flows,
    make_betweenness,
    make_flows,
)
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.graph import Graph
from vkssp.solver.decay import Decay

# Sums that a task adds up to one.
_BRANCHES = 8


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

    Needs the extra ``dask``. Each block takes the opportunities to the streets anew, so that blocks are larger than
    those of tables.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    origins, opportunities, weights, limits, decays, reverse
        See `vkssp.Router.accessibility`; origins are places.

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
    begin, end = _places(origins, opportunities)
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
        ``reached``, ``total``, ``eccentricity``, ``closeness`` and ``harmonic`` of `vkssp.Centrality`, shape (s,).

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid.
    FormatError
        If `graph` is no file of a saved graph.
    """
    nodes = plain(sources, "sources")
    means = means_of(algorithm, parameters, is_router=False)
    question = CentralityQuestion(source_of(graph), means, nodes, limit, flag(reverse, "reverse"))
    return arrays(question, *divided(question, cluster, rows))


def betweenness(
    graph: Graph | str | Path,
    sources: Any = None,
    *,
    limit: float | None = None,
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
    sources, limit
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
    nodes = plain(sources, "sources")
    question = BetweennessQuestion(source_of(graph), means_of(algorithm, parameters, is_router=False), nodes, limit)
    return _sum(question, divided(question, cluster, rows)[1], make_betweenness, added)


def flows(
    graph: Graph | str | Path,
    sources: Any,
    targets: Any,
    demand: Any,
    *,
    rows: int | None = None,
    cluster: Any = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **parameters: Any,
) -> Any:
    """Return the loads of all arcs if a demand of whole numbers takes its shortest paths, as one lazy value.

    Needs the extra ``dask``. Tasks add up the loads by blocks of sources as a tree.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    sources, targets, demand
        See `vkssp.Solver.flows`; the demand is an array or a sparse matrix of integers.

    Returns
    -------
    dask.delayed.Delayed
        `vkssp.Flows` with loads and the demand that no path serves, as `vkssp.Solver.flows` returns them.

    Raises
    ------
    QueryError
        If dask is not installed, or an argument is invalid: sums of demands that are not whole would depend on how
        sources are divided into blocks.
    FormatError
        If `graph` is no file of a saved graph.
    """
    begin, end = plain(sources, "sources"), plain(targets, "targets")
    given = demand.tocsr() if hasattr(demand, "tocsr") else np.asarray(demand)
    if given.dtype.kind not in "iu":
        raise QueryError(f"demand has dtype {given.dtype}; give whole numbers, such as of thousandths of trips")
    if given.ndim == 1 and isinstance(begin, np.ndarray) and isinstance(end, np.ndarray) and len(begin) == len(end):
        if len(given) == len(begin):  # pairs of one source together, which take one search
            order = np.argsort(begin, kind="stable")
            begin, end, given = begin[order], end[order], given[order]
    question = FlowsQuestion(source_of(graph), means_of(algorithm, parameters, is_router=False), begin, end, given)
    return _sum(question, divided(question, cluster, rows)[1], make_flows, added_flows)


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

    Needs the extra ``dask``. Each block takes one search from all opportunities, so that blocks are large.

    Parameters
    ----------
    graph, rows, cluster, algorithm, **parameters
        See `table`.
    origins, opportunities, count, limit, reverse
        See `vkssp.Router.nearest_opportunities`; origins are places.

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
    begin, end = _places(origins, opportunities)
    means = means_of(algorithm, parameters, is_router=True)
    question = NearestQuestion(source_of(graph), means, begin, end, count, limit, flag(reverse, "reverse"))
    return arrays(question, *divided(question, cluster, rows))


def _places(origins: Any, opportunities: Any) -> tuple[Any, Any]:
    """Return origins and opportunities in a form that can be sent, or raise `QueryError` if they are no places."""
    begin, end = plain(origins, "origins"), plain(opportunities, "opportunities")
    if not are_places(begin) or not are_places(end):
        raise QueryError("origins and opportunities are places; give pairs of latitude and longitude")
    return begin, end


def _sum(question: Question, blocks: Blocks, make: Callable[..., Any], add: Callable[..., Any]) -> Any:
    """Return the lazy sum of what tasks make of blocks."""
    delayed = optional("dask.delayed", "lazy sums need", "dask").delayed
    node, made, summed = asked(question), delayed(make, pure=False), delayed(add, pure=False)
    parts = [made(node, first, end) for first, end in blocks.ranges()]
    while len(parts) > 1:
        parts = [summed(parts[at : at + _BRANCHES]) for at in range(0, len(parts), _BRANCHES)]
    return parts[0]
