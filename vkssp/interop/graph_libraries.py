"""Graphs of igraph and networkit."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np

from vkssp.checks import shown
from vkssp.errors import GraphError
from vkssp.graph import Graph


def from_igraph(graph: Any, weight: str | None = "weight", *, scale: float | Literal["auto"] | None = "auto") -> Graph:
    """Make a graph of one of igraph.

    Parameters
    ----------
    graph : igraph.Graph
        The graph, directed or not; nodes keep their positions, and have names if its vertices have the attribute
        ``name``, all different. Arcs are sorted by tail, which edges of igraph need not be.
    weight : str or None
        Attribute of edges; None gives all edges weight 1.
    scale : float, "auto" or None
        Unit for real weights; see `Graph.from_csr`.

    Raises
    ------
    GraphError
        If it is no graph of igraph, or an edge has no valid weight.
    """
    if not callable(getattr(graph, "get_edgelist", None)) or not hasattr(graph, "vs"):
        raise GraphError(f"graph is {shown(graph)}; give a graph of igraph")
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    if weight is not None and weight not in graph.es.attributes():
        have = shown(graph.es.attributes())
        raise GraphError(f"weight is {shown(weight)}, and edges have {have}; give one of these, or None for weight 1")
    weights = np.ones(len(ends), np.int64) if weight is None else graph.es[weight]
    names: Any = list(graph.vs["name"]) if "name" in graph.vs.attributes() else False
    if names and all(isinstance(name, Hashable) for name in names) and len(set(names)) < len(names):
        names = False
    options: dict[str, Any] = {"num_nodes": graph.vcount(), "undirected": not graph.is_directed()}
    return Graph.from_edges(ends[:, 0], ends[:, 1], weights, names=names, scale=scale, **options)


def from_networkit(graph: Any, *, scale: float | Literal["auto"] | None = "auto") -> Graph:
    """Make a graph of one of networkit; all of its edges have weight 1 if it is not weighted.

    Parameters
    ----------
    graph : networkit.Graph
        The graph, directed or not; nodes keep their ids.
    scale : float, "auto" or None
        Unit for real weights; see `Graph.from_csr`.

    Raises
    ------
    GraphError
        If it is no graph of networkit, or an edge has a weight that no graph takes.
    """
    if not callable(getattr(graph, "iterEdgesWeights", None)):
        raise GraphError(f"graph is {shown(graph)}; give a graph of networkit")
    fields = [("tail", np.int64), ("head", np.int64), ("weight", np.float64)]
    edges = np.fromiter(graph.iterEdgesWeights(), fields, graph.numberOfEdges())
    weights = edges["weight"] if graph.isWeighted() else np.ones(len(edges), np.int64)
    options: dict[str, Any] = {"num_nodes": graph.upperNodeIdBound(), "undirected": not graph.isDirected()}
    return Graph.from_edges(edges["tail"], edges["head"], weights, names=False, scale=scale, **options)
