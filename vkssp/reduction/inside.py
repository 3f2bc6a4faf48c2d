"""The part of a search that stays among removed nodes: from seeds there to the core nodes around them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.reduction import Reduction
from vkssp.solvers.base import Terminal
from vkssp.solvers.prepare import PreparedGraph

Int64s = npt.NDArray[np.int64]
# Components of more nodes than this are left to scipy, whose search is compiled but has to be given its own arrays.
_FEW = 100


@dataclass(frozen=True, eq=False)
class Inside:
    """What paths reach that leave the seeds' components at their very end at most.

    Attributes
    ----------
    nodes, distances : numpy.ndarray
        Removed nodes, rising, and their distances, shape (k,), uint32.
    exits : dict of int to int
        Distances of core nodes, by their ids in the core; those that are seeds themselves are among them.
    overflow : bool
        Whether some sum did not fit into 32 bits.
    """

    nodes: Uint32s
    distances: Uint32s
    exits: dict[int, int]
    overflow: bool

    def distance(self, node: int) -> int:
        """Return the distance of a node, UNREACHABLE where it is not among those that were reached."""
        place = int(np.searchsorted(self.nodes, node))
        here = place < len(self.nodes) and int(self.nodes[place]) == node
        return int(self.distances[place]) if here else UNREACHABLE


def search_inside(reduction: Reduction, prepared: PreparedGraph, seeds: Sequence[Terminal]) -> Inside:
    """Search from the seeds without leaving a core node.

    Parameters
    ----------
    reduction : Reduction
        Of the graph.
    prepared : PreparedGraph
        The graph.
    seeds : sequence of (int, int)
        Nodes, each with the weight between it and the place that is meant.
    """
    component = reduction.component
    inner = [(node, offset) for node, offset in seeds if component[node] != UNREACHABLE]
    parts = sorted({int(component[node]) for node, _ in inner})
    size = sum(int(reduction.first_member[part + 1]) - int(reduction.first_member[part]) for part in parts)
    if size > _FEW:
        nodes, distances = _by_scipy(reduction, prepared, inner, parts)
    else:
        nodes, distances = _by_heap(component, prepared, inner)
    fits = distances < UNREACHABLE
    overflow = not bool(fits.all())
    nodes, distances = nodes[fits], distances[fits]
    outside = component[nodes] == UNREACHABLE
    exits: dict[int, int] = {}
    leaving = zip(nodes[outside].tolist(), distances[outside].tolist(), strict=True)
    for node, distance in (*leaving, *((node, offset) for node, offset in seeds if component[node] == UNREACHABLE)):
        core = int(reduction.records[node, 0])
        exits[core] = min(distance, exits.get(core, UNREACHABLE))
    near, far = nodes[~outside].astype(np.uint32), distances[~outside].astype(np.uint32)
    return Inside(near, far, exits, overflow)


def _by_heap(component: Uint32s, prepared: PreparedGraph, seeds: Iterable[Terminal]) -> tuple[Int64s, Int64s]:
    """Return the nodes that are reached, rising, and their distances."""
    first_out, arcs = prepared.first_out, prepared.arcs
    heap = sorted((offset, node) for node, offset in seeds)
    distance: dict[int, int] = {}
    while heap:
        near, node = heapq.heappop(heap)
        if node in distance:
            continue
        distance[node] = near
        if component[node] == UNREACHABLE:
            continue
        for head, weight in arcs[first_out[node] : first_out[node + 1]].tolist():
            if head not in distance:
                heapq.heappush(heap, (near + weight, head))
    nodes = sorted(distance)
    return np.array(nodes, np.int64), np.array([distance[node] for node in nodes], np.int64)


def _by_scipy(
    reduction: Reduction, prepared: PreparedGraph, seeds: Sequence[Terminal], parts: Sequence[int]
) -> tuple[Int64s, Int64s]:
    """Return the same for components that together are large; removed nodes and core nodes rise by themselves."""
    from scipy import sparse
    from scipy.sparse import csgraph

    spans = [reduction.members[slice(*reduction.first_member[part : part + 2])] for part in parts]
    nodes = np.sort(np.concatenate(spans)).astype(np.int64)
    first, end = prepared.first_out[nodes].astype(np.int64), prepared.first_out[nodes + 1].astype(np.int64)
    degree = end - first
    arcs = prepared.arcs[np.repeat(first - np.cumsum(degree) + degree, degree) + np.arange(int(degree.sum()))]
    # Core nodes come after those inside and have no arcs; last, one node with an arc to every seed.
    beyond = np.flatnonzero(reduction.component[arcs[:, 0]] == UNREACHABLE)
    outside = np.unique(arcs[beyond, 0]).astype(np.int64)
    known = np.concatenate([nodes, outside])
    place = np.concatenate([np.searchsorted(nodes, arcs[:, 0]), np.searchsorted(nodes, [node for node, _ in seeds])])
    place[beyond] = len(nodes) + np.searchsorted(outside, arcs[beyond, 0])
    weight = np.concatenate([arcs[:, 1], [offset for _, offset in seeds]]).astype(np.float64)
    ends = np.concatenate([np.cumsum(degree), np.full(len(outside), len(arcs)), [len(place)]])
    rows: Int64s = np.concatenate([[0], ends])
    matrix = sparse.csr_array((weight, place, rows), shape=(len(known) + 1,) * 2)
    # Exact, as sums of whole numbers up to 2**53 are in this type.
    distance = csgraph.dijkstra(matrix, indices=len(known))[:-1]
    reached = np.isfinite(distance)
    return known[reached], distance[reached].astype(np.int64)
