"""Seeds and targets as callers give them, checked and in the numbering of the device."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import GraphError, QueryError
from vkssp.graph import UNREACHABLE, Graph, Uint32s, whole_numbers
from vkssp.solvers.base import MAX_TERMINALS, Terminal
from vkssp.solvers.prepare import PreparedGraph


def terminals(
    prepared: PreparedGraph, places: Sequence[Terminal], name: str, most: int | None = MAX_TERMINALS
) -> list[Terminal]:
    """Return places by the ids of a prepared graph.

    Parameters
    ----------
    prepared : PreparedGraph
        The graph.
    places : sequence of (int, int)
        Nodes, by the caller's ids, each with a weight.
    name : str
        What they are, ``"source"``, of which there has to be one, or ``"target"``.
    most : int, optional
        How many there may be; None for any number.

    Raises
    ------
    QueryError
        If there is no such node, a weight is out of range, or there are too many places, or no source.
    """
    if (most is not None and len(places) > most) or (name == "source" and len(places) == 0):
        wanted = "at least 1" if most is None else f"1 to {most}"
        raise QueryError(f"there are {len(places)} places named {name}; give {wanted}")
    result = []
    for place in places:
        try:
            node, offset = place
        except (TypeError, ValueError):
            raise QueryError(f"a {name} is {place!r}; give a node id and a weight") from None
        try:
            weight = operator.index(offset)
        except TypeError:
            weight = -1
        if not 0 <= weight < UNREACHABLE:
            raise QueryError(f"the weight to a {name} is {offset}; give 0 to {UNREACHABLE - 1}")
        result.append((_node(prepared, node, name), weight))
    return result


def least_of_each(nodes: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return, for each node that is there, by rising nodes, the index of its least offset, the first of equal ones."""
    order = np.lexsort((offsets, nodes))
    first = np.ones(len(order), np.bool_)
    first[1:] = np.diff(nodes[order].astype(np.int64)) > 0
    return order[first]


def nodes_of(graph: Graph, nodes: npt.ArrayLike, name: str) -> Uint32s:
    """Return many nodes of a graph as an array, shape (k,), uint32; `name` is what they are called.

    Raises
    ------
    QueryError
        If there are none, or one is no node of the graph.
    """
    try:
        found = whole_numbers(nodes, name, "node ids", UNREACHABLE)
    except GraphError as error:
        raise QueryError(str(error)) from None
    if len(found) == 0:
        raise QueryError(f"there are no {name}; give at least one")
    if int(found.max()) >= graph.num_nodes:
        at = int(np.argmax(found))
        if graph.num_nodes == 0:
            raise QueryError(f"{name}[{at}] is {found[at]}, but this graph has no nodes")
        raise QueryError(f"{name}[{at}] is {found[at]}; node ids of this graph go from 0 to {graph.num_nodes - 1}")
    return found


def checked_limit(limit: int | None) -> int:
    """Return the distance beyond which nodes count as unreachable, `UNREACHABLE` for none.

    Raises
    ------
    QueryError
        If it is no distance.
    """
    if limit is None:
        return UNREACHABLE
    try:
        found = operator.index(limit)
    except TypeError:
        found = -1
    if not 0 <= found < UNREACHABLE:
        raise QueryError(f"limit is {limit!r}; give a weight, 0 to {UNREACHABLE - 1}, or leave it out")
    return found


def _node(prepared: PreparedGraph, node: int, name: str) -> int:
    try:
        index = operator.index(node)
    except TypeError:
        raise QueryError(f"{name} is {node!r}; give a node id, an integer") from None
    num_nodes = prepared.graph.num_nodes
    if not 0 <= index < num_nodes:
        if num_nodes == 0:
            raise QueryError(f"{name} is {index}, but this graph has no nodes")
        raise QueryError(f"{name} is {index}; node ids of this graph go from 0 to {num_nodes - 1}")
    return int(prepared.node[index])
