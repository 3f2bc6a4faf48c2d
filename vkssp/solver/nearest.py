"""The nearest of many sources to every node, from one search, with which one it is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import Labels
from vkssp.checks import whole_numbers
from vkssp.errors import DistanceOverflowError, QueryError
from vkssp.graph import UNREACHABLE, Uint32s
from vkssp.prepared.terminals import checked_limit, least_of_each, nodes_of
from vkssp.solver.row_maker import OVERFLOW
from vkssp.solver.session import Session


@dataclass(frozen=True, eq=False)
class NearestSources:
    """How far every node is from the nearest of some sources, and from which.

    The nodes of one source are its cell in the network's Voronoi diagram: those that it serves best.

    Attributes
    ----------
    distance : numpy.ndarray
        From the nearest source, its offset counted; 2**32 - 1 where no path leads, or none within the limit; shape
        (num_nodes,), uint32.
    source : numpy.ndarray
        Which one that is, by its place in the list of sources, the first of those that are equally near; 2**32 - 1
        where the distance is; shape (num_nodes,), uint32.
    """

    distance: Uint32s
    source: Uint32s


class Nearest(Session):
    """A session that is asked for the nearest of many sources; see `vkssp.solver.solver.Solver`."""

    def nearest_sources(
        self, sources: npt.ArrayLike, offsets: npt.ArrayLike | None = None, limit: int | None = None
    ) -> NearestSources:
        """Return the distance from the nearest of some sources to every node, and which one it is.

        All from one search, however many sources there are. scipy has this as ``dijkstra(min_only=True)``, networkx as
        ``voronoi_cells``; where several sources are equally near it is always the first of them here, with every
        algorithm and on every device.

        Parameters
        ----------
        sources : array_like
            Node ids, shape (k,); one may be named twice.
        offsets : array_like, optional
            What it takes to get from the place that is meant to each source, whole numbers from 0 to 2**32 - 2, shape
            (k,); they count. By default nothing.
        limit : int, optional
            Nodes that are farther away count as unreachable.

        Returns
        -------
        NearestSources
            Distances, and the places of sources in the list.

        Raises
        ------
        QueryError
            If there is no such node, no source, not an offset for each, or an offset or the limit is out of range.
        DistanceOverflowError
            If a shortest distance does not fit into 32 bits, and there is no limit.
        DeviceError
            If the device has too little memory for the labels, 16 bytes a node, or for the graph's arcs beside what the
            algorithm has of them.

        Examples
        --------
        >>> from vkssp import Graph, Solver
        >>> graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 1], undirected=True)
        >>> with Solver(graph) as solver:
        ...     found = solver.nearest_sources([4, 0])
        >>> found.distance.tolist(), found.source.tolist()
        ([0, 1, 2, 1, 0], [1, 1, 0, 0, 0])
        """
        most = checked_limit(limit)
        with self.holding():
            prepared = self._prepared
            nodes = prepared.node[nodes_of(prepared.graph, sources, "sources")]
            weights = _offsets(offsets, len(nodes))
            best = least_of_each(nodes, weights)
            seeds = np.stack([nodes, weights, np.arange(len(nodes), dtype=np.uint32)], axis=1)[best]
            # Before the search, so that nobody waits for one in vain where memory is short.
            cells = self._cells_for(len(seeds))
            outcome = self._run(seeds[:, :2].tolist(), [])
            began = time.perf_counter()
            distance = self._algorithm().read()
            self._download_s = time.perf_counter() - began
            if limit is None and outcome.overflow and prepared.beyond(distance).any():
                raise DistanceOverflowError(OVERFLOW)
            try:
                source = cells.find(seeds)
            except BaseException:
                self._discard()
                raise
        if limit is not None:
            beyond = distance > most
            distance[beyond] = source[beyond] = UNREACHABLE
        if not prepared.is_identity:
            distance, source = distance[prepared.node], source[prepared.node]
        return NearestSources(distance, source)

    def _cells_for(self, num_seeds: int) -> Labels:
        """Return what finds labels by the distances of the algorithm; made when there is none, or none large enough."""
        work = self._work()
        if work.labels is not None and work.labels.most_seeds < num_seeds:
            work.labels.close()
        if work.labels is None or work.labels.closed:
            work.labels = work.algorithm.cells(1 << (num_seeds - 1).bit_length())
        return work.labels


def _offsets(offsets: npt.ArrayLike | None, count: int) -> Uint32s:
    if offsets is None:
        return np.zeros(count, np.uint32)
    weights = whole_numbers(offsets, "offsets", "weights", UNREACHABLE - 1, QueryError)
    if len(weights) != count:
        raise QueryError(f"there are {len(weights)} offsets for {count} sources; give one for each")
    return weights
