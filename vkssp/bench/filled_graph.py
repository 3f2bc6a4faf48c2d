"""Graphs of scripts that measure, which have nodes."""

from __future__ import annotations

from typing import Any

from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.reading import read_graph


def read_filled_graph(text: str, *, takes_prepared: bool = True, **options: Any) -> Graph:
    """Return a graph that has nodes.

    Parameters
    ----------
    text : str
        A file, or an expression such as ``road:100``.
    takes_prepared : bool
        Whether the graph may have a hierarchy.
    **options
        Options of `vkssp.read_graph`.

    Raises
    ------
    FormatError
        If the file cannot be read.
    QueryError
        If the graph has no nodes, or has a hierarchy and must not have one.
    """
    graph = read_graph(text, **options)
    if graph.num_nodes == 0:
        raise QueryError(f"{text} has no nodes; give another graph")
    if graph.hierarchy is not None and not takes_prepared:
        raise QueryError(f"{text} is prepared; give the graph that it was made of")
    return graph
