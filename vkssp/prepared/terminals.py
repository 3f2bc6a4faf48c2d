"""Checks of the caller's seeds and targets, and their conversion to renumbered ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, Terminal
from vkssp.checks import ids_among, index_of, is_many, listed, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Graph, Uint32s, checked_graph
from vkssp.graph.bulk import checked_uint32, greatest_of
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.prepared.renumbered import RenumberedGraph

# Fewest ids that all cores look at.
_MANY = 1 << 20


def terminals(
    renumbered: RenumberedGraph,
    places: Sequence[Terminal],
    name: str,
    most: int | None = MAX_TERMINALS,
    distance_type: DistanceType = BITS_32,
) -> list[Terminal]:
    """Return seeds or targets by the ids of the renumbered graph.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    places : sequence of (int, int)
        Nodes by the caller's ids, each with an offset.
    name : str
        ``"source"`` for seeds, of which there must be at least one, or ``"target"``.
    most : int, optional
        Maximum number of places; None for any number.
    distance_type : DistanceType
        Type of the distances, which bounds offsets.

    Raises
    ------
    QueryError
        If a node does not exist, an offset is out of range, or there are too many places or no source.
    """
    places = pairs_of(places, name)
    if (most is not None and len(places) > most) or (name == "source" and len(places) == 0):
        wanted = "at least 1" if most is None else f"1 to {most}"
        raise QueryError(f"there are {len(places)} places named {name}; give {wanted}")
    result, num_nodes, unreachable = [], renumbered.graph.num_nodes, distance_type.unreachable
    for place in places:
        index: int | None
        weight: int | None
        if type(place) is tuple and len(place) == 2 and type(place[0]) is type(place[1]) is int:
            node, offset = index, weight = place
        else:
            try:
                node, offset = None if isinstance(place, set | frozenset) else place  # a set has no order
            except (TypeError, ValueError):
                raise QueryError(f"a {name} is {shown(place)}; give a node id and a weight") from None
            weight, index = index_of(offset), index_of(node)
        if weight is None or not 0 <= weight < unreachable:
            raise QueryError(f"the weight to a {name} is {shown(offset)}; give 0 to {unreachable - 1}")
        if index is None or not 0 <= index < num_nodes:
            raise _no_node(node, name, num_nodes)
        result.append((int(renumbered.node[index]), weight))
    return result


def ends_of(
    renumbered: RenumberedGraph,
    seeds: Sequence[Terminal],
    targets: Sequence[Terminal],
    distance_type: DistanceType = BITS_32,
) -> tuple[list[Terminal], list[Terminal]]:
    """Return checked seeds and targets by the ids of the renumbered graph; see `terminals`."""
    # A search without targets may have any number of seeds.
    ends = terminals(renumbered, targets, "target", distance_type=distance_type)
    return terminals(renumbered, seeds, "source", MAX_TERMINALS if ends else None, distance_type), ends


def terminal(renumbered: RenumberedGraph, node: Any, name: str) -> Terminal:
    """Return a node by its id in the renumbered graph, as a seed or target; raise `QueryError` if it does not exist."""
    index, num_nodes = index_of(node), renumbered.graph.num_nodes
    if index is None or not 0 <= index < num_nodes:
        raise _no_node(node, name, num_nodes)
    return int(renumbered.node[index]), 0


def pairs_of(places: Sequence[Terminal], name: str) -> list[Terminal]:
    """Return seeds (`name` is ``"source"``) or targets as a list; raise `QueryError` if they are no sequence."""
    return listed(places, "seeds" if name == "source" else "targets", "pairs of a node id and a weight")


def least_of_each(nodes: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the index of the least offset of each distinct node, in rising order of nodes; the first of equal ones."""
    order = np.lexsort((offsets, nodes))
    first = np.ones(len(order), np.bool_)
    first[1:] = np.diff(nodes[order].astype(np.int64)) > 0
    return order[first]


def is_name(graph: Graph, node: Any) -> bool:
    """Return whether an argument is the name of a node, such as a tuple, of a graph whose nodes have names."""
    return graph.name_index is not None and graph.name_index.find(node) is not None


def node_of(graph: Graph, node: Any, name: str) -> int:
    """Return the position of a node that a caller names; `name` is what error messages call it.

    Raises
    ------
    QueryError
        If there is no such node.
    """
    index = graph.name_index
    at = index_of(node) if index is None else index.find(node)
    if at is None and index is not None:
        raise index.unknown(name, node)
    if at is None or not 0 <= at < graph.num_nodes:
        raise _no_node(node, name, graph.num_nodes)
    return at


def ends_by_position(graph: Graph, end: Any, name: str, distance_type: DistanceType = BITS_32) -> list[Terminal]:
    """Return seeds or targets that a caller gives as a node, or as pairs of a node and an offset in its own units.

    Raises
    ------
    QueryError
        If a node does not exist, or an offset is no weight.
    DistanceOverflowError
        If an offset does not fit into the bits of distances.
    """
    if is_name(graph, end) or not is_many(end):
        return [(node_of(graph, end, name), 0)]
    pairs = pairs_of(end, name)
    if graph.name_index is None and graph.scale is None:
        return pairs  # they are checked before the search
    nodes, offsets = [], []
    for pair in pairs:
        try:
            node, offset = None if isinstance(pair, set | frozenset) else pair
        except (TypeError, ValueError):
            raise QueryError(f"a {name} is {shown(pair)}; give a node and a weight") from None
        nodes.append(node_of(graph, node, f"a {name}"))
        offsets.append(offset)
    weights = graph.units.typed(distance_type).offsets(offsets, f"the weights to each {name}")
    return list(zip(nodes, weights.tolist(), strict=True))


def nodes_of(graph: Graph, nodes: npt.ArrayLike, name: str) -> Uint32s:
    """Return checked nodes of a graph, by position, as an array, shape (k,), uint32; error messages call them `name`.

    Raises
    ------
    QueryError
        If there are no nodes, or a node is not in the graph.
    """
    index = graph.name_index
    if index is None and (at_once := _checked_at_once(nodes, graph.num_nodes)) is not None:
        return at_once
    if index is None:
        found = ids_among(nodes, name, "node", graph.num_nodes, QueryError)
    else:
        found = index.find_all(nodes, name)
    if len(found) == 0:
        raise QueryError(f"there are no {name}; give at least one")
    return found


def _checked_at_once(nodes: npt.ArrayLike, count: int) -> Uint32s | None:
    """Return many ids that are all right, looked at by all cores; None if they are few, or something is wrong."""
    if type(nodes) is not np.ndarray or nodes.ndim != 1 or nodes.dtype.kind not in "iu" or len(nodes) < _MANY:
        return None
    if nodes.dtype == np.uint32 and nodes.flags.c_contiguous and nodes.dtype.isnative:
        return nodes if greatest_of(nodes, 0) < count else None
    return checked_uint32(nodes, count - 1)


def checked_columns(
    graph: Graph, nodes: npt.ArrayLike, limit: int | None, distance_type: DistanceType = BITS_32
) -> tuple[Uint32s, int]:
    """Return the checked nodes of the columns of a table, perhaps none, and the checked limit of distances.

    Without a limit it is the distance of unreachable nodes, which may also be given.

    Raises
    ------
    QueryError
        If `graph` is no graph, a node is not in it, or the limit is no distance.
    """
    unreachable = distance_type.unreachable
    most = unreachable if limit is None else whole_number(limit, "limit", 0, unreachable)
    if isinstance(graph, Graph) and isinstance(nodes, np.ndarray) and nodes.shape == (graph.num_nodes,):
        if nodes is graph.positions:  # need not be looked at
            return graph.positions, most
    return ids_among(nodes, "nodes", "node", checked_graph(graph, QueryError).num_nodes, QueryError), most


def named(graph: Graph, nodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the names of nodes that are given by position, or the positions if nodes have no names."""
    return nodes if graph.names is None else graph.names[nodes]


def _no_node(node: Any, name: str, num_nodes: int) -> QueryError:
    if index_of(node) is None:
        return QueryError(f"{name} is {shown(node)}; give a node id, an integer")
    there = f"; node ids of this graph go from 0 to {num_nodes - 1}" if num_nodes else ", but this graph has no nodes"
    return QueryError(f"{name} is {shown(node)}{there}")
