"""Preprocessing of a graph: its hierarchy, computed once for searches with any weights."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from vkssp.checks import flag
from vkssp.graph import Graph, checked_graph
from vkssp.hierarchy.core import Core
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.extra import require_library
from vkssp.hierarchy.limits import check_elimination, check_numbers, check_useful
from vkssp.hierarchy.order import dissected, halving, places
from vkssp.hierarchy.supernodes import build
from vkssp.terminal import progress_bar

#: Number of stages.
NUM_STAGES = 6


def prepare(graph: Graph, *, progress: bool = False) -> Graph:
    """Return a graph with its hierarchy, which does not depend on weights.

    This takes 2 to 30 microseconds per node of a road network on one core, less if more nodes are dead ends or on
    chains.

    Parameters
    ----------
    graph : Graph
        The graph. Without coordinates, hops from landmarks replace them, and the hierarchy is slightly larger.
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
        If numba or routingkit-cch is not installed.
    """
    run, progress = stages(checked_graph(graph)), flag(progress, "progress")
    with progress_bar(title="preparing", shown=progress, total=NUM_STAGES, unit=" stages", delay=0.0) as bar:
        next(run)
        while True:
            try:
                next(run)
            except StopIteration as done:
                bar.update()
                prepared: Graph = done.value
                return prepared
            bar.update()


def stages(graph: Graph) -> Generator[str, None, Graph]:
    """Prepare a graph in `NUM_STAGES` stages; yield the name of each stage before it begins.

    Return values and errors are those of `prepare`.
    """
    require_library()
    yield "edges and places"
    edges, at = Edges.of(graph), places(graph)
    # The good order takes many minutes for graphs without small separators; a fast order detects them before.
    yield "elimination by halving, to try it"
    check_useful(graph, eliminate(edges, halving(edges, at)).num_arcs, "about ")
    yield "core"
    core = Core.of(edges)
    yield "order of the core, by inertial flow"
    node = dissected(core, at)
    del core, at
    yield "elimination"
    elimination = eliminate(edges, node)
    check_elimination(graph, elimination)
    yield "supernodes, levels and lists"
    hierarchy = build(elimination)
    check_numbers(graph, hierarchy.num_arcs)  # supernodes add some arcs
    return replace(graph, hierarchy=hierarchy)
