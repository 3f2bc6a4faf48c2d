"""Prepares a graph once for searches with any weights."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from vkssp.checks import flag
from vkssp.errors import GraphError
from vkssp.graph import Graph, checked_graph
from vkssp.graph.hierarchy import FEW_ARCS, MOST_ARCS, MOST_ARCS_A_NODE, MOST_HEIGHT
from vkssp.hierarchy.core import Core
from vkssp.hierarchy.edges import Edges
from vkssp.hierarchy.elimination import eliminate
from vkssp.hierarchy.extra import require_library
from vkssp.hierarchy.order import dissected, halving, places
from vkssp.hierarchy.supernodes import build
from vkssp.terminal import progress_bar

#: Stages of preparing.
NUM_STAGES = 6


def prepare(graph: Graph, *, progress: bool = False) -> Graph:
    """Return a graph with its hierarchy, which does not depend on weights.

    Takes 2 to 30 microseconds a node of a road network on one core, less where more nodes are dead ends or on chains.

    Parameters
    ----------
    graph : Graph
        The graph. Where it has no coordinates, hops from landmarks stand for them, and the hierarchy is a bit larger.
    progress : bool
        Whether to show a progress bar on the terminal.

    Returns
    -------
    Graph
        The same graph, with `Graph.hierarchy`.

    Raises
    ------
    GraphError
        If it is no graph; or if the hierarchy would have too many arcs, as it does where no few nodes part a graph in
        halves, or ways in it would be too long. This is known before memory is taken for it.
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
    """Prepare a graph, one stage after the other; yield what each of the `NUM_STAGES` does before it begins.

    Returns and raises what `prepare` does.
    """
    require_library()
    enough = max(FEW_ARCS, MOST_ARCS_A_NODE * graph.num_nodes)
    yield "edges and places"
    edges, at = Edges.of(graph), places(graph)
    # The good order takes many minutes where a graph has no small separators; another one tells these before.
    yield "elimination by halving, to try it"
    _check_arcs(graph, eliminate(edges, halving(edges, at)).num_arcs, enough, "about ")
    yield "core"
    core = Core.of(edges)
    yield "order of the core, by inertial flow"
    node = dissected(core, at)
    del core, at
    yield "elimination"
    elimination = eliminate(edges, node)
    _check_arcs(graph, elimination.num_arcs, min(enough, MOST_ARCS))
    if elimination.tree_height > MOST_HEIGHT:
        raise GraphError(
            f"ways in the hierarchy of this graph would have {elimination.tree_height:,} nodes, and "
            f"{MOST_HEIGHT:,} can be searched; {_CURE}"
        )
    yield "supernodes, levels and lists"
    hierarchy = build(elimination)
    _check_arcs(graph, hierarchy.num_arcs, MOST_ARCS)  # of supernodes some more
    return replace(graph, hierarchy=hierarchy)


_CURE = "search it without preparing it, such as by block_resident or near_far"


def _check_arcs(graph: Graph, arcs: int, most: int, about: str = "") -> None:
    """Raise `GraphError` if a hierarchy would have more arcs than are of use, or can be numbered."""
    if arcs > most:
        a_node = f"{arcs / max(1, graph.num_nodes):,.0f} for each of the {graph.num_nodes:,} nodes"
        raise GraphError(
            f"the hierarchy of this graph would have {about}{arcs:,} arcs, {a_node}, too many to be of use; {_CURE}"
        )
