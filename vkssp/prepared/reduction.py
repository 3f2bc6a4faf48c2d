"""Exact reduction of a graph to its core: dead ends are peeled, and chains become single arcs.

Most nodes of a street map have two neighbours at most, and a search goes through them one by one. The reduction removes
dead ends and chains beforehand, so that a search only goes through the core. Each removed node has a record of its
distances from the one or two core nodes around it. The distances of all removed nodes follow at once from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import distinct, own
from vkssp.choices import REDUCTIONS as REDUCTIONS
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import bounds_of, ranges, rows_of
from vkssp.jit import kernels
from vkssp.prepared.renumbered import RenumberedGraph

#: Minimum number of nodes of a graph for a reduction to pay.
LEAST_NODES = 10_000
#: Maximum fraction of nodes in the core for a reduction to pay, number of nodes up to which a graph is small, and
#: maximum fraction for small graphs. A small graph leaves most of a GPU idle, so the number of iterations determines
#: the time, and a core of half the nodes needs a third fewer iterations (NY, 54% left: 1.7 ms to 1.1 on an H200). A
#: larger graph gains nothing from such a core (a grid of 16.8 million nodes, 47% left: 10 ms to 16).
MOST_LEFT, SMALL, MOST_LEFT_OF_SMALL = 1 / 3, 1 << 19, 0.6
#: Maximum number of nodes of a component of removed nodes for a reduction to pay, since the CPU searches components.
LARGEST_COMPONENT = 1 << 16
# Draws of nodes for the estimate of a reduction; the standard deviation of the estimate is about half a percent of all
# nodes.
_SAMPLE = 1 << 14
# Most arcs in one direction of a node whose neighbours are counted. Nodes with more would need so many leaves to be
# removed that each of their arcs counts as a neighbour.
_FEW_ARCS = 8
#: Most items of rows whose indices fit into 32 bits.
MOST_ITEMS = 2**32


@dataclass(frozen=True, eq=False)
class Reduction:
    """Core of a graph, and the records that give distances of all nodes from distances of core nodes.

    Attributes
    ----------
    core : Graph
        The core; its nodes have the same order as in the graph.
    records : numpy.ndarray
        For each node two core nodes and the weights of the paths from them to the node: (first, from_first, second,
        from_second), shape (num_nodes, 4), uint32. The distance of a removed node from outside of its component is the
        minimum over both core nodes of the core node's distance plus the weight. A weight is UNREACHABLE if there is no
        path from the core node, or its weight does not fit. The record of a core node names the node itself with weight
        0.
    component : numpy.ndarray
        Index of each removed node's component (a set of removed nodes connected by arcs between them); UNREACHABLE for
        core nodes; shape (num_nodes,), uint32.
    first_member : numpy.ndarray
        Offset of each component's first node in `members`, shape (num_components + 1,), uint32.
    members : numpy.ndarray
        Removed nodes by component, rising in each component, uint32.
    saturated : bool
        Whether some sum of weights does not fit into 32 bits. It may be that of a detour, such as the long way round a
        ring.
    """

    core: Graph
    records: npt.NDArray[np.uint32]
    component: Uint32s
    first_member: Uint32s
    members: Uint32s
    saturated: bool

    @property
    def largest_component(self) -> int:
        """Number of nodes of the largest component of removed nodes."""
        return int(np.diff(self.first_member).max(initial=0))

    @property
    def pays(self) -> bool:
        """Whether searches get faster: the core has few enough nodes, and no component is too large."""
        few_left = self.core.num_nodes <= most_left(len(self.component))
        return few_left and self.largest_component <= LARGEST_COMPONENT


def most_left(num_nodes: int) -> float:
    """Return the maximum number of nodes of the core for a reduction to pay."""
    return num_nodes * (MOST_LEFT_OF_SMALL if num_nodes <= SMALL else MOST_LEFT)


def may_pay(renumbered: RenumberedGraph) -> bool:
    """Return whether a reduction may pay, by a quick estimate that saves the reduction of dense graphs.

    At first, only nodes with one or two neighbours can be removed. Other nodes must first lose all but two neighbours
    in dead ends, each of which has a leaf of its own. The estimate, from a sample of nodes, ignores nodes that can be
    removed because two parallel chains become one.
    """
    num_nodes, first_out, heads = renumbered.num_nodes, renumbered.first_out, renumbered.arcs[:, 0]
    if num_nodes < LEAST_NODES:
        return False
    sample = distinct(np.random.default_rng(0).integers(num_nodes, size=_SAMPLE))
    first, degree = first_out[sample], first_out[sample + 1] - first_out[sample]
    most = np.maximum(degree, renumbered.num_arcs_in[sample])  # arcs in one direction
    has_few = most <= _FEW_ARCS
    nodes, is_looked_at = sample[has_few], np.zeros(num_nodes, np.bool_)
    is_looked_at[nodes] = True
    arcs_out, arcs_in = ranges(first[has_few], degree[has_few]), np.flatnonzero(is_looked_at[heads])
    node = np.concatenate([np.repeat(nodes, degree[has_few]), heads[arcs_in]])
    other = np.concatenate([heads[arcs_out], np.searchsorted(first_out, arcs_in, "right") - 1])
    pairs = distinct((np.searchsorted(nodes, node) * num_nodes + other)[node != other])
    count = np.bincount(pairs // num_nodes)
    leaves, too_many = np.count_nonzero(count == 1), np.sort(np.concatenate([count, most[~has_few]])) - 2
    freed = np.count_nonzero(np.cumsum(too_many[too_many > 0]) <= leaves)
    removable = leaves + np.count_nonzero(count == 2) + freed
    return bool(num_nodes * (1 - removable / len(sample)) <= most_left(num_nodes))


def reduction_for(renumbered: RenumberedGraph, wanted: str) -> Reduction | None:
    """Return the reduction of a graph, or None if it is not wanted.

    `wanted` is one of `REDUCTIONS`; ``"auto"`` returns None if a reduction does not pay.
    """
    if wanted == "none" or (wanted == "auto" and not may_pay(renumbered)):
        return None
    reduction: Reduction = renumbered.derived("reduction", lambda: reduce_graph(renumbered))
    return reduction if wanted == "full" or reduction.pays else None


def reduce_graph(renumbered: RenumberedGraph) -> Reduction:
    """Remove dead ends and chains from a graph without loss of exactness.

    Directions, one-way arcs, parallel arcs and loops are respected: two nodes are neighbours if an arc joins them in
    either direction, and the arc that replaces a chain exists in a direction if all arcs of the chain do.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph, which has no cycles of weight zero.
    """
    compiled, num_nodes, graph = _compiled(), renumbered.num_nodes, (renumbered.first_out, renumbered.arcs)
    first = bounds_of(np.diff(renumbered.first_out) + renumbered.num_arcs_in)
    # 32 bits take half the memory if they suffice: memory traffic determines the time on large graphs.
    rows = np.empty((int(first[-1]), 3), np.uint32 if first[-1] <= MOST_ITEMS else np.int64)
    size, (place, changes, order) = np.zeros(num_nodes, np.uint32), np.empty((3, num_nodes), np.uint32)
    compiled.place_arcs(*graph, first, size, rows, place)
    records, component = np.empty((num_nodes, 4), np.uint32), np.full(num_nodes, UNREACHABLE, np.uint32)
    found, num_items, is_over = compiled.remove_nodes(first, size, rows, place, changes, order, records, component)
    num_components, is_record_over = compiled.complete_records(order[:found], records, component, place)
    removed = np.flatnonzero(component != UNREACHABLE).astype(np.uint32)
    first_out, (head, weight) = np.zeros(num_nodes - len(removed) + 1, np.uint32), np.empty((2, num_items), np.uint32)
    num_arcs = compiled.write_core(first, size, rows, records, component, first_out, head, weight)
    core = Graph(own(first_out), own(head[:num_arcs].copy()), own(weight[:num_arcs].copy()))
    del rows  # the largest array
    first_member, by_component = rows_of(component[removed], num_components)
    return Reduction(core, records, component, first_member, removed[by_component], is_over or is_record_over)


def with_components(renumbered: RenumberedGraph, reduction: Reduction) -> tuple[Graph, Uint32s]:
    """Return the core together with the components, with arcs from components to the core but not back.

    A search in this graph from a removed node also finds the distances in its component. The distances of all other
    removed nodes follow from those of the core by the records.

    Parameters
    ----------
    renumbered : RenumberedGraph
        The graph.
    reduction : Reduction
        Reduction of the graph.

    Returns
    -------
    graph : Graph
        The nodes of the core, followed by `reduction.members`.
    node : numpy.ndarray
        Node of the returned graph for each node of `renumbered`, shape (num_nodes,), uint32.
    """
    core, members = reduction.core, reduction.members.astype(np.int64)
    node = reduction.records[:, 0].copy()
    node[members] = core.num_nodes + np.arange(len(members), dtype=np.uint32)
    first = renumbered.first_out[members].astype(np.int64)
    degree = renumbered.first_out[members + 1].astype(np.int64) - first
    end = np.cumsum(degree)
    arcs = renumbered.arcs[np.repeat(first - (end - degree), degree) + np.arange(end[-1] if len(end) else 0)]
    first_out = np.concatenate([core.first_out, (core.num_arcs + end).astype(np.uint32)])
    head, weight = np.concatenate([core.head, node[arcs[:, 0]]]), np.concatenate([core.weight, arcs[:, 1]])
    return Graph(own(first_out), own(head), own(weight)), node


def _compiled() -> Any:
    return kernels("vkssp.prepared.contraction_kernels")
