"""Exact reduction of a graph to its core: dead ends are peeled, and chains become single arcs.

Most nodes of a street map have two neighbours at most, and a search goes through them one by one. The reduction removes
dead ends and chains beforehand, so that a search only goes through the core. Each removed node has a record of its
distances from the one or two core nodes around it. The distances of all removed nodes follow at once from these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.choices import REDUCTIONS as REDUCTIONS
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.csr import rows_of
from vkssp.prepared.contraction import RemainingGraph, Removed
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
# Turns end when a turn removes less than this fraction of the nodes that remain, or after this number of turns. Trees
# are removed completely by then, but a long ladder would lose only one rung in each turn.
_LEAST_GAIN, _MOST_TURNS = 1e-3, 32


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
        Whether some sum of weights does not fit into 32 bits.
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

    At first, only nodes with at most two neighbours can be removed. Other nodes must first lose neighbours in dead
    ends, and there are at most as many of these nodes as leaves. The estimate ignores nodes that can be removed because
    two parallel chains become one.
    """
    degree = np.maximum(np.diff(renumbered.first_out), renumbered.num_arcs_in)
    candidates = np.count_nonzero(degree <= 2) + np.count_nonzero(degree <= 1)
    num_nodes = renumbered.num_nodes
    return num_nodes >= LEAST_NODES and bool(num_nodes - candidates <= most_left(num_nodes))


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
    remaining = RemainingGraph(renumbered.first_out, renumbered.arcs)
    for _ in range(_MOST_TURNS):
        if remaining.shrink() <= _LEAST_GAIN * len(remaining.name):
            break
    records, anchor = _records(remaining, renumbered.num_nodes)
    component, first_member, members = _components(anchor)
    low, high, up, down = remaining.edges
    weight = np.concatenate([up, down])
    there = weight != UNREACHABLE
    tail, head = (np.concatenate(pair)[there].astype(np.uint32) for pair in ((low, high), (high, low)))
    first_out, by_tail = rows_of(tail, len(remaining.name))
    core = Graph(own(first_out), own(head[by_tail]), own(weight[there][by_tail]))
    return Reduction(core, records, component, first_member, members, remaining.saturated)


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


def _records(remaining: RemainingGraph, num_nodes: int) -> tuple[npt.NDArray[np.uint32], Uint32s]:
    """Return the records, and for each removed node an anchor, the same node for the whole component.

    They are computed from the last removed nodes, whose ends are core nodes, back to the first.
    """
    number = np.full(num_nodes, UNREACHABLE, np.uint32)
    number[remaining.name] = np.arange(len(remaining.name), dtype=np.uint32)
    records = np.empty((num_nodes, 4), np.uint32)
    records[:, 0] = records[:, 2] = number
    records[:, 1], records[:, 3] = 0, UNREACHABLE
    anchor = np.full(num_nodes, UNREACHABLE, np.uint32)
    for batch in reversed(remaining.removed):
        records[batch.node] = _composed(remaining, records, batch)
        # Ends that were removed later are in the same component.
        around = np.minimum(anchor[batch.first], anchor[batch.second])
        anchor[batch.node] = np.where(around != UNREACHABLE, around, batch.anchor.astype(np.uint32))
    return records, anchor


def _components(anchor: Uint32s) -> tuple[Uint32s, Uint32s, Uint32s]:
    """Return `component`, `first_member` and `members` of a `Reduction`."""
    num_nodes = len(anchor)
    removed = np.flatnonzero(anchor != UNREACHABLE).astype(np.uint32)
    anchors = removed[anchor[removed] == removed]
    number = np.full(num_nodes + 1, UNREACHABLE, np.uint32)
    number[anchors] = np.arange(len(anchors), dtype=np.uint32)
    component = number[np.minimum(anchor, num_nodes)]
    first_member, by_component = rows_of(component[removed], len(anchors))
    return component, first_member, removed[by_component]


def _composed(remaining: RemainingGraph, records: npt.NDArray[np.uint32], batch: Removed) -> npt.NDArray[np.uint32]:
    """Return the records of some nodes from the records of their ends.

    Nodes that are removed together have at most two remaining neighbours, so the records of both ends name at most two
    core nodes together.
    """
    ends = records[batch.first], records[batch.second]
    cores = np.stack([end[:, column] for end in ends for column in (0, 2)])
    weights = np.stack(
        [
            remaining.add(end[:, column], weight)
            for end, weight in zip(ends, (batch.from_first, batch.from_second), strict=True)
            for column in (1, 3)
        ]
    )
    first, second = cores.min(axis=0), cores.max(axis=0)
    from_first = np.where(cores == first, weights, np.uint32(UNREACHABLE)).min(axis=0)
    from_second = np.where(cores == second, weights, np.uint32(UNREACHABLE)).min(axis=0)
    from_second[first == second] = UNREACHABLE
    return np.stack([first, from_first, second, from_second], axis=1)
