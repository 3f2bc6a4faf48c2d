"""From the edges of a file to a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkssp.errors import QueryError
from vkssp.formats.columns import Rule
from vkssp.formats.stream import Lines
from vkssp.generate.checks import MOST_ARCS
from vkssp.graph import Floats, Graph, Uint32s
from vkssp.graph.large import graph_from_arcs
from vkssp.memory import require


@dataclass(frozen=True)
class Options:
    """How a file is to be read, where it leaves that open.

    Attributes
    ----------
    weights : Rule
        The weights, where the file has none.
    scale : float or None
        What the weights that the file has are multiplied by before they are rounded.
    directed : bool or None
        Whether a line is an arc in one direction; None for what the format or the file says.
    coordinates : bool
        Whether to look for coordinates beside the graph.
    """

    weights: Rule
    scale: float | None = None
    directed: bool | None = None
    coordinates: bool = True


@dataclass(frozen=True)
class GraphFile:
    """What was read from a file.

    Attributes
    ----------
    graph : Graph
        The graph.
    format : str
        Name of the file's format, one of `FORMATS`.
    node_ids : numpy.ndarray or None
        Id that each node has in the file, in ascending order, where the ids there are not simply 1 to n.
    """

    graph: Graph
    format: str
    node_ids: np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None = None


#: Bytes that a node and an arc take while a graph is made; arcs are also held in the sequence of the file.
_NODE_BYTES, _EDGE_BYTES = 48, 16

#: What a reader finds: latitudes and longitudes, or neither.
Coordinates = tuple[Floats | None, Floats | None]


def graph_of_edges(
    num_nodes: int,
    tail: Uint32s,
    head: Uint32s,
    weight: Uint32s | None,
    options: Options,
    *,
    undirected: bool,
    coordinates: Coordinates = (None, None),
) -> Graph:
    """Return the graph of a file's edges; those of a node keep their sequence.

    Without weights they follow the rule. An undirected edge becomes an arc each way, of one weight; a loop stays one.
    """
    if weight is None:
        weight = options.weights.draw(len(tail))
    if undirected:
        both = tail != head
        if not both.all():
            ends = (tail, head), (head, tail), (weight, weight)
            tail, head, weight = (np.concatenate([there, back[both]]) for there, back in ends)
            undirected = False
    graph = graph_from_arcs(num_nodes, tail, head, weight, both_ways=undirected)
    return located(graph, coordinates)


def located(graph: Graph, coordinates: Coordinates) -> Graph:
    """Return a graph with coordinates, if there are any."""
    lat, lon = coordinates
    if lat is None:
        return graph
    return Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=lat, lon=lon)


def check_sizes(lines: Lines, number: int, nodes: int, edges: int, *, undirected: bool) -> None:
    """Refuse a number of edges that no graph can hold, and more of both than there is memory for.

    Raises
    ------
    FormatError
        If no graph holds so many edges.
    MemoryShortageError
        If this machine cannot.
    """
    most = MOST_ARCS // (1 + undirected)
    if edges > most:
        raise lines.error(f"{edges} edges are more than the {most} that a graph holds", number)
    size = _NODE_BYTES * nodes + _EDGE_BYTES * edges * (1 + undirected)
    require(size, f"{lines.name}, line {number}: a graph of {nodes} nodes and {edges} edges")


def refuse_directed(options: Options, kind: str) -> None:
    """Refuse to read as directed what is undirected by its format."""
    if options.directed:
        raise QueryError(f"a {kind} is undirected; do not ask for a directed one")
