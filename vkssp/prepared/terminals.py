"""Checks of the caller's seeds and targets, and their conversion to renumbered ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import MAX_TERMINALS, Terminal
from vkssp.checks import ids_among, index_of, listed, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Graph, Uint32s, checked_graph
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.prepared.renumbered import RenumberedGraph


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


def nodes_of(graph: Graph, nodes: npt.ArrayLike, name: str) -> Uint32s:
    """Return checked nodes of a graph as an array, shape (k,), uint32; `name` is their name in error messages.

    Raises
    ------
    QueryError
        If there are no nodes, or a node is not in the graph.
    """
    found = ids_among(nodes, name, "node", graph.num_nodes, QueryError)
    if len(found) == 0:
        raise QueryError(f"there are no {name}; give at least one")
    return found


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
    return ids_among(nodes, "nodes", "node", checked_graph(graph, QueryError).num_nodes, QueryError), most


def checked_limit(limit: int | None, distance_type: DistanceType = BITS_32) -> int:
    """Return the distance beyond which nodes count as unreachable; that of unreachable nodes if there is no limit.

    Raises
    ------
    QueryError
        If the limit is no distance.
    """
    if limit is None:
        return distance_type.unreachable
    most = distance_type.unreachable - 1
    return whole_number(limit, "limit", 0, most, f"give a weight, 0 to {most}, or leave it out")


def _no_node(node: Any, name: str, num_nodes: int) -> QueryError:
    if index_of(node) is None:
        return QueryError(f"{name} is {shown(node)}; give a node id, an integer")
    there = f"; node ids of this graph go from 0 to {num_nodes - 1}" if num_nodes else ", but this graph has no nodes"
    return QueryError(f"{name} is {shown(node)}{there}")
