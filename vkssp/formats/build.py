"""Construction of a graph from the edges of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vkssp.errors import QueryError
from vkssp.formats.columns import Rule
from vkssp.formats.stream import Lines
from vkssp.graph import Floats, Graph, Uint32s
from vkssp.graph.csr import MOST_ARCS
from vkssp.graph.large import graph_from_arcs
from vkssp.memory import require


@dataclass(frozen=True)
class Options:
    """Options for what a file leaves open.

    Attributes
    ----------
    weights : Rule
        Rule for the weights if the file has none.
    scale : float or None
        Factor by which the file's weights are multiplied before they are rounded.
    directed : bool or None
        Whether a line is an arc in one direction; None if the format or the file decides.
    coordinates : bool
        Whether to look for coordinates beside the graph.
    edge_columns : sequence of str or int, optional
        Columns of a table with tails, heads and perhaps weights, by names or by numbers from 0.
    """

    weights: Rule
    scale: float | None = None
    directed: bool | None = None
    coordinates: bool = True
    edge_columns: Sequence[str | int] | None = None


@dataclass(frozen=True)
class GraphFile:
    """Graph read from a file, with its format and node ids.

    Attributes
    ----------
    graph : Graph
        The graph.
    format : str
        Name of the file's format, one of `FORMATS`.
    node_ids : numpy.ndarray or None
        Id of each node in the file, in ascending order; None if the ids in the file are 1 to n.
    """

    graph: Graph
    format: str
    node_ids: np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None = None


#: Bytes of memory per node and per arc while a graph is made; arcs are also held in the sequence of the file.
_NODE_BYTES, _EDGE_BYTES = 48, 16

#: Latitudes and longitudes, or None for both.
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
    """Return the graph of a file's edges; the arcs of a node keep their sequence.

    If `weight` is None, the rule of the options draws the weights. An undirected edge becomes two arcs of the same
    weight, one in each direction; a loop becomes one arc.
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
    """Return a graph with the coordinates, or the graph itself if there are none."""
    lat, lon = coordinates
    if lat is None:
        return graph
    return Graph.from_csr(graph.first_out, graph.head, graph.weight, lat=lat, lon=lon)


def check_sizes(lines: Lines, number: int, nodes: int, edges: int, *, undirected: bool) -> None:
    """Refuse numbers of nodes and edges that no graph can hold or that need too much memory.

    Raises
    ------
    FormatError
        If no graph can hold so many edges.
    MemoryShortageError
        If there is not enough memory.
    """
    most = MOST_ARCS // (1 + undirected)
    if edges > most:
        raise lines.error(f"{edges} edges are more than the {most} that a graph holds", number)
    size = _NODE_BYTES * nodes + _EDGE_BYTES * edges * (1 + undirected)
    require(size, f"{lines.name}, line {number}: a graph of {nodes} nodes and {edges} edges")


def refuse_directed(options: Options, kind: str) -> None:
    """Raise a `QueryError` if an undirected format is to be read as directed."""
    if options.directed:
        raise QueryError(f"a {kind} is undirected; do not ask for a directed one")
