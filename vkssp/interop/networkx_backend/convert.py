"""Conversion of NetworkX graphs: rows of arcs and weights, read from their dictionaries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import number_of, shown
from vkssp.errors import GraphError
from vkssp.graph import Graph, Uint32s
from vkssp.graph.units import MOST_UNITS

# Whole numbers beyond it are not exact as floats.
_MOST_EXACT = 2**53
_values = methodcaller("values")


class Rows(NamedTuple):
    """Neighbours of the nodes of a NetworkX graph, in its order.

    Attributes
    ----------
    nodes : list
        The nodes, by position.
    first_out : numpy.ndarray
        Offset of each node's first arc, shape (num_nodes + 1,), uint32.
    head : numpy.ndarray
        Position of each neighbour, shape (num_arcs,), uint32.
    """

    nodes: list[Any]
    first_out: Uint32s
    head: Uint32s

    def edge(self, arc: int) -> str:
        """Return what errors call an arc."""
        tail = int(np.searchsorted(self.first_out, arc, side="right")) - 1
        return f"the edge from {shown(self.nodes[tail])} to {shown(self.nodes[self.head[arc]])}"


def from_networkx(G: Any, weight: Any = "weight") -> Graph:
    """Make a graph from a NetworkX graph; an undirected edge becomes an arc in both directions.

    Parameters
    ----------
    G : networkx.Graph
        The graph, or a view of one: directed or not, with parallel edges, which are kept, or without. NetworkX is
        in the extra ``networkx``.
    weight : hashable, optional
        Attribute of the edges that is their weight: any numbers from 0 on, 1 where an edge does not have it. If all of
        them are whole numbers of type int, distances are exact integers; see `Graph.from_csr`. By default ``"weight"``;
        None gives each edge the weight 1.

    Returns
    -------
    Graph
        The graph. Its `Graph.names` are the nodes, in the order of `G`; without names if these are 0, 1, 2 and so on.
        The arcs of a node are in the order of `G`, too.

    Raises
    ------
    GraphError
        If `G` is no NetworkX graph, or a weight is no finite number from 0 on; the message names the edge.

    Examples
    --------
    >>> import networkx
    >>> from vkssp import Solver, from_networkx
    >>> roads = networkx.Graph()
    >>> roads.add_weighted_edges_from([("home", "school", 1.5), ("school", "shop", 0.25)])
    >>> with Solver(from_networkx(roads)) as solver:
    ...     solver.distance("home", "shop")
    1.75
    """
    if not all(hasattr(G, name) for name in ("adjacency", "is_multigraph", "is_directed")):
        raise GraphError(f"G is {shown(G)}; give a NetworkX graph")
    if not isinstance(weight, Hashable):
        raise GraphError(f"weight is {shown(weight)}; give the name of an attribute of the edges, or None")
    if callable(weight):
        raise GraphError("weight is a function; give the name of an attribute of the edges, or None")
    rows = rows_of(G)
    data = _edges(G)
    if G.is_multigraph():
        # Each neighbour has a dictionary of parallel edges.
        counts = np.fromiter(map(_size, _edges(G)), np.int64, len(rows.head))
        first = np.concatenate([[0], np.cumsum(counts)])[rows.first_out]
        rows = Rows(rows.nodes, own(first.astype(np.uint32)), own(np.repeat(rows.head, counts)))
        data = chain.from_iterable(map(_values, data))
    values = (
        np.ones(len(rows.head), np.int64)
        if weight is None
        else numbers_of(_attributes(data, weight), rows, any_number=True)
    )
    if values.dtype == np.int64 and len(values) and values.max() > MOST_UNITS:
        at = int(np.argmax(values))
        raise GraphError(f"{rows.edge(at)} has the weight {values[at]}, more than 2**32 - 2; give floats")
    # 1.0 and True are equal to 1, but no positions.
    are_positions = set(map(type, rows.nodes)) <= {int} and rows.nodes == list(range(len(rows.nodes)))
    names = None if are_positions else rows.nodes
    return Graph.from_csr(rows.first_out, rows.head, own(values), names=names)


def rows_of(graph: Any) -> Rows:
    """Return the neighbours of the nodes of a NetworkX graph.

    Raises
    ------
    GraphError
        If there are too many edges.
    """
    adjacency = dict(graph.adjacency())
    nodes, neighbours = list(adjacency), list(adjacency.values())
    index = dict(zip(nodes, range(len(nodes)), strict=True))
    first_out = np.zeros(len(nodes) + 1, np.int64)
    size = (
        len if set(map(type, neighbours)) <= {dict} else _size
    )  # views of parallel edges count hidden neighbours, too
    np.cumsum(np.fromiter(map(size, neighbours), np.int64, len(nodes)), out=first_out[1:])
    if first_out[-1] >= 2**32 - 1:
        raise GraphError(f"the graph has {first_out[-1]:,} arcs; it may have fewer than 2**32 - 1")
    heads = map(index.__getitem__, chain.from_iterable(neighbours))
    head = np.fromiter(heads, np.uint32, int(first_out[-1]))
    return Rows(nodes, own(first_out.astype(np.uint32)), own(head))


def least_weights(graph: Any, weight: Any, rows: Rows) -> npt.NDArray[Any]:
    """Return the weight of each arc of a NetworkX graph, the least one of parallel edges, int64 or float64.

    Raises
    ------
    GraphError
        If a weight is no finite number from 0 on.
    """
    if not graph.is_multigraph():
        return numbers_of(_attributes(_edges(graph), weight), rows)
    try:
        least = [min(_attributes(keyed.values(), weight)) for keyed in _edges(graph)]
    except TypeError as error:
        raise GraphError(f"the weights of parallel edges cannot be compared ({error})") from None
    return numbers_of(least, rows)


def numbers_of(values: list[Any], rows: Rows, *, any_number: bool = False) -> npt.NDArray[Any]:
    """Return weights as int64 if all of them are integers, or else as float64.

    Other numbers, such as decimals and short floats, are valid if `any_number` is true.

    Raises
    ------
    GraphError
        If one is no finite number from 0 on; the message names the edge.
    """
    if len(values) != len(rows.head):
        raise GraphError("the graph has changed while it was read")
    kinds = set(map(type, values))
    whole = {kind for kind in kinds if issubclass(kind, int | np.integer | np.bool_)}
    others = {kind for kind in kinds - whole if not issubclass(kind, float)}
    if others and any_number:
        numbers = [number_of(value) if type(value) in others else value for value in values]
        if None not in numbers:
            return numbers_of(numbers, rows)
    if others:
        at = next(at for at, value in enumerate(values) if type(value) in others)
        cure = "give each edge a weight of type int or float, or leave out the attribute for a weight of 1"
        raise GraphError(f"{rows.edge(at)} has the weight {shown(values[at])}; {cure}")
    try:
        if whole == kinds:
            found: npt.NDArray[Any] = np.array(values, np.int64)
        else:
            if whole and max(value for value in values if type(value) in whole) > _MOST_EXACT:
                raise OverflowError
            found = np.array(values, np.float64)
    except OverflowError:
        raise GraphError("a weight is too large; integers fit into 63 bits, and among floats into 53 bits") from None
    if len(found) and not (found.min() >= 0 and found.max() < np.inf):
        at = int(np.argmax(~((found >= 0) & (found < np.inf))))
        raise GraphError(f"{rows.edge(at)} has the weight {values[at]}; weights are finite and not negative")
    return found


def _size(some: Iterable[Any]) -> int:
    return sum(1 for _ in some)


def _edges(graph: Any) -> Iterator[Any]:
    """Return the dictionaries of the edges of a NetworkX graph, in the order of its rows."""
    return chain.from_iterable(map(_values, map(itemgetter(1), graph.adjacency())))


def _attributes(data: Iterable[Any], weight: Any) -> list[Any]:
    return [edge.get(weight, 1) for edge in data]
