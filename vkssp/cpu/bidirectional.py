"""Bidirectional Dijkstra: what routes are found with on a CPU without preprocessing.

One search goes from the source, one backwards from the target, the one with fewer nodes in its queue goes on; they end
when the two together are as far as the best way over a node that both have reached.

I. Pohl, "Bi-directional search", Machine Intelligence 6, 1971; the end: A. V. Goldberg, C. Harrelson, "Computing the
shortest path: A* search meets graph theory", SODA 2005.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.device import CpuGraph
from vkssp.cpu.dijkstra import empty_heap
from vkssp.jit import kernels
from vkssp.resource import Resource


class BidirectionalDijkstra(Resource):
    """The buffers of one search at a time.

    Parameters
    ----------
    graph : CpuGraph
        The graph.

    Attributes
    ----------
    settled : int
        Nodes that the last search settled.
    """

    def __init__(self, graph: CpuGraph) -> None:
        self._kernels = kernels("vkssp.cpu.kernels.dijkstra")
        super().__init__(graph)
        self._graph, count = graph, graph.num_nodes
        self._incoming = graph.incoming()[:2]
        self._dist, self._place, self._reached = (np.empty((2, count), np.uint32) for _ in range(3))
        self._num_reached = np.full((2, 1), 2**32 - 1, np.uint32)
        self._heap = np.stack([empty_heap(count)] * 2)
        self.settled = 0

    def distance(self, source: int, target: int) -> int:
        """Return the distance between two of the prepared graph's nodes; 2**32 - 1 where there is no path."""
        best, self.settled = self._kernels.meet(
            self._graph.first_out,
            self._graph.arcs,
            *self._incoming,
            self._dist,
            self._place,
            self._heap,
            self._reached,
            self._num_reached,
            source,
            target,
        )
        return int(best)
