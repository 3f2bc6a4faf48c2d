"""Limits of a hierarchy: graphs without small separators have none that would be of use."""

from __future__ import annotations

from vkssp.errors import GraphError
from vkssp.graph import Graph
from vkssp.graph.hierarchy import FEW_ARCS, MOST_ARCS, MOST_ARCS_A_NODE, MOST_HEIGHT
from vkssp.hierarchy.elimination import Elimination

_CURE = "search it without preparing it, such as by block_resident or near_far"


def check_useful(graph: Graph, arcs: int, about: str = "") -> None:
    """Raise `GraphError` if a hierarchy would have too many arcs to be useful."""
    _check(graph, arcs, max(FEW_ARCS, MOST_ARCS_A_NODE * graph.num_nodes), about)


def check_numbers(graph: Graph, arcs: int) -> None:
    """Raise `GraphError` if a hierarchy would have too many arcs to be numbered."""
    _check(graph, arcs, MOST_ARCS, "")


def check_elimination(graph: Graph, elimination: Elimination) -> None:
    """Raise `GraphError` if the hierarchy of an elimination would have too many arcs, or too long paths to its root."""
    check_useful(graph, elimination.num_arcs)
    check_numbers(graph, elimination.num_arcs)
    if elimination.tree_height > MOST_HEIGHT:
        raise GraphError(
            f"paths to the root of the elimination tree of this graph would have {elimination.tree_height:,} nodes, "
            f"and {MOST_HEIGHT:,} can be searched; {_CURE}"
        )


def _check(graph: Graph, arcs: int, most: int, about: str) -> None:
    if arcs > most:
        a_node = f"{arcs / max(1, graph.num_nodes):,.0f} for each of the {graph.num_nodes:,} nodes"
        raise GraphError(
            f"the hierarchy of this graph would have {about}{arcs:,} arcs, {a_node}, too many to be of use; {_CURE}"
        )
