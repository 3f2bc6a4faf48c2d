"""Bidirectional Dijkstra search: the usual method for paths on a CPU without preprocessing.

One search runs forward from the source, another backward from the target. In each step, the search with fewer nodes in
its queue settles a node. They end when the sum of the least distances in both queues is at least the length of the best
path over a node that both have reached.

I. Pohl, "Bi-directional search", Machine Intelligence 6, 1971; the stopping criterion: A. V. Goldberg, C. Harrelson,
"Computing the shortest path: A* search meets graph theory", SODA 2005.
"""

from __future__ import annotations

import numpy as np

from vkssp.cpu.device import CpuGraph
from vkssp.cpu.dijkstra import empty_heap
from vkssp.jit import kernels
from vkssp.resource import Resource


class BidirectionalDijkstra(Resource):
    """Bidirectional search for the distance between two nodes.

    Parameters
    ----------
    graph : CpuGraph
        The graph.

    Attributes
    ----------
    settled : int
        Number of nodes that the last search settled.
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
        """Return the distance between two nodes of the renumbered graph; 2**32 - 1 if there is no path."""
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
