"""Preprocessing of a graph: its hierarchy, computed once for searches with any weights."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from vkssp.checks import flag
from vkssp.graph import Graph, checked_graph
from vkssp.hierarchy.core import Core
from vkssp.hierarchy.dissection import dissect
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.limits import check_elimination, check_numbers, check_useful
from vkssp.hierarchy.metis import require_metis
from vkssp.hierarchy.supernodes import build
from vkssp.log import logger
from vkssp.terminal import progress_bar

_log = logger(__name__)
# Shares of the time at which stages begin.
_CORE, _ORDER, _ELIMINATION, _SUPERNODES = 0.05, 0.1, 0.8, 0.9


def prepare(graph: Graph, *, progress: bool = False) -> Graph:
    """Return a graph with its hierarchy, which does not depend on weights.

    This takes 1 to 6 microseconds per node of a road network on one core, less if more nodes are dead ends or on
    chains, and a part of that on many cores. The hierarchy is the same on any number of cores.

    Parameters
    ----------
    graph : Graph
        The graph; coordinates are not needed.
    progress : bool
        Whether to show a progress bar on the terminal.

    Returns
    -------
    Graph
        The same graph, with `Graph.hierarchy`.

    Raises
    ------
    GraphError
        If `graph` is not a graph, if the hierarchy would have too many arcs, as in graphs without small separators, or
        if its paths would be too long. The error is raised before the hierarchy is allocated.
    QueryError
        If pymetis is not installed.
    MemoryShortageError
        If there is too little memory.
    """
    run, progress = stages(checked_graph(graph)), flag(progress, "progress")
    with progress_bar(title="preparing", shown=progress, total=100, unit="%", delay=0.0) as bar:
        last = ""
        while True:
            try:
                stage, share = next(run)
                if stage != last:
                    _log.debug("preparing: %s", stage)
                    last = stage
                bar.update(int(100 * share) - bar.n)
            except StopIteration as done:
                prepared: Graph = done.value
                return prepared


def stages(graph: Graph) -> Generator[tuple[str, float], None, Graph]:
    """Prepare a graph; yield from time to time the name of the stage that begins, and about the share that is done.

    Return values and errors are those of `prepare`.
    """
    require_metis()
    yield "edges", 0.0
    edges = Edges.of(graph)
    check_useful(graph, len(edges.low))
    yield "core", _CORE
    core = Core.of(edges)
    stage, ordering = "order of the core", dissect(core.edges, lambda arcs: check_useful(graph, arcs, "about "))
    yield stage, _ORDER
    while True:
        try:
            done = next(ordering)
        except StopIteration as ordered:
            node = np.concatenate([core.outside, core.node[ordered.value]])
            break
        yield stage, _ORDER + (_ELIMINATION - _ORDER) * done
    del core, ordering
    yield "elimination", _ELIMINATION
    elimination = eliminate(edges, node)
    check_elimination(graph, elimination)
    yield "supernodes, levels and lists", _SUPERNODES
    hierarchy = build(elimination)
    check_numbers(graph, hierarchy.num_arcs)  # supernodes add some arcs
    return replace(graph, hierarchy=hierarchy)
