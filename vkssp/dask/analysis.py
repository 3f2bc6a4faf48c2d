"""Accessibility, centrality and betweenness that tasks of dask compute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag
from vkssp.dask.asking import are_places, facts_here_or_there, means_of, plain
from vkssp.dask.blocks import blocks_of
from vkssp.dask.graph_source import source_of
from vkssp.dask.lazy import arrays, asked
from vkssp.dask.question import VALUE
from vkssp.dask.sum_questions import (
    AccessibilityQuestion,
    BetweennessQuestion,
    CentralityQuestion,
    added,
    make_betweenness,
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
    begin, end = plain(origins, "origins"), plain(opportunities, "opportunities")
    if not are_places(begin) or not are_places(end):
        raise QueryError("origins and opportunities are places; give pairs of latitude and longitude")
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
    facts = facts_here_or_there(question, cluster)
    return arrays(question, facts, blocks_of(facts, rows))[VALUE]


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
    facts = facts_here_or_there(question, cluster)
    return arrays(question, facts, blocks_of(facts, rows))


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
    delayed = optional("dask.delayed", "lazy sums need", "dask").delayed
    nodes = plain(sources, "sources")
    question = BetweennessQuestion(source_of(graph), means_of(algorithm, parameters, is_router=False), nodes, limit)
    facts = facts_here_or_there(question, cluster)
    node, make, add = asked(question), delayed(make_betweenness, pure=False), delayed(added, pure=False)
    parts = [make(node, first, end) for first, end in blocks_of(facts, rows).ranges()]
    while len(parts) > 1:
        parts = [add(parts[at : at + _BRANCHES]) for at in range(0, len(parts), _BRANCHES)]
    return parts[0]
