"""Metres along shortest paths from one search: summed up over the tree that its distances make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.geo import haversine
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.routing.ends import End
from vkssp.rows import rows_of

Floats = npt.NDArray[np.float64]


def arc_lengths(graph: Graph) -> Floats:
    """Return the length of each arc in metres, shape (num_arcs,); along straight lines where there are no streets.

    Raises
    ------
    QueryError
        If the graph has no coordinates.
    """
    if graph.streets is not None:
        return graph.streets.length.astype(np.float64)
    if graph.lat is None or graph.lon is None:
        raise QueryError("the graph has no coordinates, so there are no metres in it; leave the metric distance out")
    tail, head = graph.tail, graph.head
    metres: Floats = haversine(graph.lat[tail], graph.lon[tail], graph.lat[head], graph.lon[head])
    return metres


class Lengths:
    """Sums up the lengths of arcs along shortest paths.

    Where several paths are shortest it takes one of them, which need not be the one that a route goes along.

    Parameters
    ----------
    graph : Graph
        The graph, with the weights that it is searched with.
    """

    def __init__(self, graph: Graph) -> None:
        metres = arc_lengths(graph)
        _, by_head = rows_of(graph.head, graph.num_nodes)
        by_head = by_head[graph.tail[by_head] != graph.head[by_head]]
        self._tail, self._head = graph.tail[by_head], graph.head[by_head]
        self._weight, self._metres = graph.weight[by_head], metres[by_head]
        self._of_arc = metres

    def of(self, arc: int, part: float) -> float:
        """Return the metres of a part of an arc; none where there is no arc."""
        return part * float(self._of_arc[arc]) if arc >= 0 else 0.0

    def along(self, distances: Uint32s, starts: Sequence[End]) -> Floats:
        """Return the metres of a shortest path to each node; those of nodes that are not reached mean nothing.

        Each node but the first of a path has an arc into it along which its distance was found. The sums over the tree
        of these arcs are made by pointer jumping (J. C. Wyllie, 1979): in each step the way that a node knows becomes
        twice as long.

        Parameters
        ----------
        distances : numpy.ndarray
            Distance of each node, shape (num_nodes,), uint32.
        starts : sequence of End
            What they are distances from.

        Returns
        -------
        numpy.ndarray
            Shape (num_nodes,), float64.

        Raises
        ------
        QueryError
            If arcs of weight zero on a cycle leave open how long a path is.
        """
        here = distances[self._head]
        # Where the tail is farther the difference wraps round.
        before = distances[self._tail]
        tight = np.flatnonzero((here - before == self._weight) & (before <= here) & (here != UNREACHABLE))[::-1]
        parent = np.arange(len(distances), dtype=np.int64)
        metres = np.zeros(len(distances))
        parent[self._head[tight]] = self._tail[tight]  # of several, the last one written: the first
        metres[self._head[tight]] = self._metres[tight]
        first = np.zeros(len(distances))
        for start in sorted(starts, key=lambda start: -start.weight):
            if int(distances[start.node]) == start.weight:
                parent[start.node], metres[start.node] = start.node, 0.0
                first[start.node] = self.of(start.arc, 1.0 - start.at)
        for _ in range(len(distances).bit_length() + 1):
            farther = parent[parent]
            if np.array_equal(farther, parent):
                total: Floats = metres + first[parent]
                return total
            metres += metres[parent]
            parent = farther
        raise QueryError("arcs of weight zero make a cycle, so that metres along paths are not known; ask for none")
