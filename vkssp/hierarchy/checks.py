"""Checks that a hierarchy is one, and that of a graph, so that no search goes astray in a damaged or another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from vkssp.checks import shown
from vkssp.errors import GraphError
from vkssp.graph import Graph
from vkssp.hierarchy.build import RELAX

if TYPE_CHECKING:
    from vkssp.hierarchy import Hierarchy, Indices

#: Arcs of a hierarchy are numbered in 32 bits, with one left over for a sign.
MOST_ARCS = 2**31 - 1
#: With more arcs for each node than this, a search over the hierarchy is no faster than one without. Road networks have
#: 2 to 6 of them, and 3 to 25 in the order that is made at once; graphs without small separators have thousands.
MOST_ARCS_A_NODE = 100
#: As many arcs as this are no burden whatever the number of nodes: 64 MiB in either direction.
FEW_ARCS = 2**24
#: Nodes on a way from the top, the distances of which a search keeps in fast memory. Road networks of a million nodes
#: have some hundreds of them.
MOST_HEIGHT = 8192

# So many arcs are looked for at once that what this takes stays in cache.
_AT_ONCE = 2**15


def check(hierarchy: Hierarchy, graph: Graph | None) -> None:
    """Raise `GraphError` unless this is a hierarchy, and that of a graph, if one is given; see `Hierarchy.check`."""
    _check_arrays(hierarchy)
    if graph is not None and hierarchy.num_nodes != graph.num_nodes:
        _refuse(f"is for {hierarchy.num_nodes:,} nodes and the graph has {graph.num_nodes:,}")
    _check_nodes(hierarchy)
    _check_ancestors(hierarchy)
    _check_levels(hierarchy)
    # Arrays of few entries can stand for many arcs, each of which takes memory in a search.
    most = min(MOST_ARCS, max(FEW_ARCS, MOST_ARCS_A_NODE * hierarchy.num_nodes) + RELAX * hierarchy.num_nodes)
    if hierarchy.num_arcs > most:
        _refuse(f"has {hierarchy.num_arcs:,} arcs, more than {most:,}")
    if hierarchy.tree_height > MOST_HEIGHT:
        _refuse(f"has ways of {hierarchy.tree_height:,} nodes, more than {MOST_HEIGHT:,}")
    _check_closure(hierarchy)
    if graph is not None:
        _check_graph(hierarchy, graph)


def _refuse(what: str) -> NoReturn:
    raise GraphError(f"the hierarchy {what}; make it with vkssp.prepare")


def _check_arrays(hierarchy: Hierarchy) -> None:
    """Check types, shapes and offsets."""
    for name in hierarchy.ARRAYS:
        array: Any = getattr(hierarchy, name)
        if not isinstance(array, np.ndarray) or array.dtype != np.uint32 or array.ndim != 1:
            what = f"shape {array.shape} and dtype {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
            _refuse(f"has for {name} {what}, not one-dimensional uint32s")
    if len(hierarchy.first_node) != len(hierarchy.first_ancestor):
        _refuse("has not as many offsets of nodes as of ancestors")
    _check_offsets(hierarchy, "first_node", hierarchy.num_nodes, 1)
    _check_offsets(hierarchy, "first_ancestor", len(hierarchy.ancestor), 0)
    _check_offsets(hierarchy, "first_of_level", hierarchy.num_supernodes, 1)
    if hierarchy.num_levels > MOST_HEIGHT:
        _refuse(f"has {hierarchy.num_levels:,} levels, more than {MOST_HEIGHT:,}")


def _check_offsets(hierarchy: Hierarchy, name: str, end: int, least: int) -> None:
    """Check that offsets go from 0 to the end, and that what lies between two of them has some length at least."""
    offsets = getattr(hierarchy, name).astype(np.int64)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
        _refuse(f"has a {name} that does not go from 0 to {end:,}")
    short = np.flatnonzero(offsets[1:] - offsets[:-1] < least)
    if len(short):
        at = int(short[0])
        _refuse(f"has a {name} that goes from {offsets[at]} to {offsets[at + 1]} at {at + 1:,}")


def _check_nodes(hierarchy: Hierarchy) -> None:
    """Check that each node has one position."""
    node, n = hierarchy.node, hierarchy.num_nodes
    if n and int(node.max()) >= n:
        _refuse(f"has a node {int(node.max())}, and ids go from 0 to {n - 1:,}")
    has_place = np.zeros(n, np.bool_)
    has_place[node] = True
    if not has_place.all():
        _refuse(f"has no position for node {int(np.argmin(has_place)):,}")


def _check_ancestors(hierarchy: Hierarchy) -> None:
    """Check that ancestors lie above their supernodes, and ascend."""
    ancestor, group = hierarchy.ancestor, _group_of_ancestors(hierarchy)
    wrong = np.flatnonzero(ancestor >= hierarchy.first_node[group])
    if len(wrong):
        at = int(wrong[0])
        _refuse(f"has an ancestor at {ancestor[at]} of supernode {group[at]:,}, which does not lie above it")
    wrong = np.flatnonzero((ancestor[1:] <= ancestor[:-1]) & (group[1:] == group[:-1]))
    if len(wrong):
        _refuse(f"has ancestors of supernode {group[wrong[0]]:,} that do not ascend")


def _group_of_ancestors(hierarchy: Hierarchy) -> Indices:
    return np.repeat(np.arange(hierarchy.num_supernodes), hierarchy.num_ancestors)


def _check_levels(hierarchy: Hierarchy) -> None:
    """Check that what has no ancestors, and nothing else, is in the first level, and all others are below parents."""
    first = hierarchy.first_of_level.astype(np.int64)
    level = np.repeat(np.arange(hierarchy.num_levels), first[1:] - first[:-1])
    has_one = hierarchy.parent >= 0
    wrong = np.flatnonzero((level > 0) != has_one)
    if len(wrong):
        at = int(wrong[0])
        _refuse(f"has supernode {at:,} with {hierarchy.num_ancestors[at]:,} ancestors in level {level[at]}")
    above = hierarchy.supernode[hierarchy.parent[has_one]]
    wrong = np.flatnonzero(level[above] >= level[has_one])
    if len(wrong):
        at = int(np.flatnonzero(has_one)[wrong[0]])
        _refuse(f"has supernode {at:,} not in a later level than its nearest ancestor")


def _check_closure(hierarchy: Hierarchy) -> None:
    """Check that any two ancestors of a supernode are joined.

    Those in the supernode of the nearest one, its parent, are joined to each other and all ancestors of it, among
    which all others have to be. That these are joined follows from the same for the parent.
    """
    group = _group_of_ancestors(hierarchy)
    parent = hierarchy.supernode[hierarchy.parent[group]].astype(np.int64)
    beyond = hierarchy.ancestor < hierarchy.first_node[parent]
    parent, position = parent[beyond], hierarchy.ancestor[beyond].astype(np.int64)
    missing = np.flatnonzero(hierarchy.ancestors_at(parent, position) < 0)
    if len(missing):
        at = int(missing[0])
        lower = group[np.flatnonzero(beyond)[at]]
        _refuse(
            f"has an ancestor at {position[at]:,} of supernode {lower:,} that is none of its parent's, {parent[at]:,}"
        )


def _check_graph(hierarchy: Hierarchy, graph: Graph) -> None:
    """Check that all arcs of a graph are there."""
    position = hierarchy.position.astype(np.int64)
    tail = np.repeat(position, np.diff(graph.first_out))
    for start in range(0, graph.num_arcs, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        head = position[graph.head[part]]
        missing = np.flatnonzero((hierarchy.arcs_of(tail[part], head) < 0) & (tail[part] != head))
        if len(missing):
            at = start + int(missing[0])
            ends = f"{hierarchy.node[tail[at]]:,} and {graph.head[at]:,}"
            _refuse(f"is of another graph: it does not join nodes {ends}, which arc {at:,} does")
