"""Rows of distances from many groups of seeds, made by many searches at once, in a graph that may be reduced."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from vkssp.errors import DeviceError
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.solvers.block_resident import default_bucket
from vkssp.solvers.graph import DeviceGraph
from vkssp.solvers.groups import Groups
from vkssp.solvers.many import CutShortError, Finished, ManySearches
from vkssp.solvers.reduced import ReducedGraph

#: Searches at once at most, on a GPU and on a software device, which gains little, and those who wait want to see
#: progress; the part of a device's free memory that they take at most; and rows on the device for each of them.
MOST_SEARCHES, MOST_ON_CPU, MOST_MEMORY, ROWS_EACH = 1024, 8, 0.5, 2
#: How many times narrower buckets are than those of one search, which would have nothing to do in narrow ones.
NARROWER = 6
#: How many times the usual number of workgroups a device may be given, see `CutShortError`.
_MOST_GROUPS = 512


def most_searches(graph: DeviceGraph, rows: int, wanted: int, block: int | None) -> int:
    """Return how many searches there are at once, where so many rows of so many nodes are wanted; none may fit."""
    device, num_nodes = graph.device, max(1, graph.num_nodes)
    num_blocks = -(-num_nodes // (block or 512))
    each = 8 * num_nodes + 24 * num_blocks + ROWS_EACH * 4 * wanted + 2048
    return min(
        rows,
        int(MOST_MEMORY * device.free_bytes() - 20 * wanted) // each,
        device.limits.buffer // max(4 * num_nodes, 16 * num_blocks, 4 * wanted, 1024),
        2**32 // num_nodes,
        MOST_ON_CPU if device.info.kind == "cpu" else MOST_SEARCHES,
    )


class Batch(Resource):
    """Rows of distances from many groups of seeds to some nodes.

    Parameters
    ----------
    graph : DeviceGraph
        The graph, on its device.
    nodes : numpy.ndarray
        The nodes whose distances are wanted, shape (k,), uint32.
    searches : int
        How many searches there are at once, see `most_searches`.
    limit : int
        Distances beyond it count as unreachable.
    is_whole : bool
        Whether the nodes are all that there are.
    parameters : mapping of str to int or None
        Those of block_resident.

    Attributes
    ----------
    many : ManySearches or None
        The searches, once there are some.
    """

    def __init__(
        self,
        graph: DeviceGraph,
        nodes: Uint32s,
        searches: int,
        limit: int,
        is_whole: bool,
        parameters: dict[str, int | None],
    ) -> None:
        super().__init__(graph)
        self.many: ManySearches | None = None
        self._graph, self._limit, self._is_whole, self._parameters = graph, limit, is_whole, parameters
        self._searches, self._more_groups, self._node = searches, 1, None
        self._ring = min(ROWS_EACH * searches, max(searches, graph.device.limits.buffer // (4 * len(nodes))))
        self._wanted = np.full((len(nodes), 5), UNREACHABLE, np.uint32)
        self._wanted[:, 0] = nodes
        searched = graph
        if isinstance(graph, ReducedGraph):
            searched, self._node = graph.core, graph.with_components()[1]
            is_removed = graph.reduction.component[nodes] != UNREACHABLE
            self._wanted[is_removed, 1:] = graph.reduction.records[nodes[is_removed]]
            self._wanted[:, 0] = self._node[nodes]
        # What lies around a core is no measure for its buckets.
        self._delta = parameters["delta"] or max(1, default_bucket(searched.prepared) // NARROWER)

    def rows(self, groups: Groups) -> Generator[Finished, None, None]:
        """Make rows of distances, see `ManySearches.rows`.

        Where a row's overflow is set, one search at a time has to find out whether it matters.
        """
        node, saturated = self._node, isinstance(self._graph, ReducedGraph) and self._graph.reduction.saturated
        if node is not None:
            groups = groups.moved(node)
        taken = 0
        while taken < len(groups):
            try:
                for finished in self._current().rows(groups.since(taken)):
                    finished.overflow[:] |= saturated
                    yield finished
                    taken += len(finished.overflow)
            except CutShortError:
                if self._parameters["workgroups"] or self._more_groups > _MOST_GROUPS:
                    raise DeviceError(
                        f"{self._graph.device.info.name} ends the long loops of block_resident before their time; set "
                        "more workgroups, or choose another device, or an algorithm on the CPU, such as dijkstra"
                    ) from None
                self._more_groups *= 8
                self._current().close()

    def _current(self) -> ManySearches:
        if self.many is None or not self.many.is_current:
            graph = self._graph
            self.many = ManySearches(
                graph.with_components()[0] if isinstance(graph, ReducedGraph) else graph,
                self._wanted,
                self._searches,
                self._ring,
                self._limit,
                self._is_whole,
                self._delta,
                self._parameters,
                self._more_groups,
            )
        return self.many

    def _release(self) -> None:
        if self.many is not None:
            self.many.close()
