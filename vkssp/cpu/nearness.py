"""Prediction of the size of searches by the places of nodes: their number around the source, as far as the target."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.cpu.device import read_only
from vkssp.graph import Graph
from vkssp.jit import kernels

# Fewest and most cells in a row of the map, and nodes of a cell if they were spread evenly; in towns there are more.
_FEWEST, _MOST, _NODES = 16, 2048, 0.5
# Factor by which the number of nodes that are far may change until near places are found again.
_MARGIN = 1.2


class Nearness:
    """Map with the number of nodes in each cell, which tells how many are around a place.

    On road networks it tells how many nodes Dijkstra's algorithm settles, half of the time within a factor of 1.4.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates.
    """

    def __init__(self, graph: Graph) -> None:
        assert graph.lat is not None and graph.lon is not None
        cells = int(min(max(np.sqrt(graph.num_nodes / _NODES), _FEWEST), _MOST))
        at = np.zeros((graph.num_nodes, 2), np.float64)
        if graph.num_nodes:
            at[:, 0] = graph.lon * np.cos(np.radians(graph.lat.mean()))
            at[:, 1] = graph.lat
            at -= at.min(axis=0)
            at *= cells / max(float(at.max()), 1e-9)
        column, row = np.minimum(at.astype(np.int64), cells - 1).T
        cell = row * cells + column
        counts = np.zeros((cells + 1, cells + 1), np.int32)
        counts[1:, 1:] = np.bincount(cell, minlength=cells * cells).reshape(cells, cells)
        self._cell, self._sums = cell.astype(np.int32), read_only(counts.cumsum(0).cumsum(1).astype(np.int32))
        # The place of each node and the square of a distance up to which others are near, together in a line of a
        # cache; the fourth column has no meaning. The squares depend on the number of nodes for which they were found.
        self._nodes = np.zeros((graph.num_nodes, 4), np.float32)
        self._nodes[:, :2] = at
        self._flat = memoryview(self._nodes.reshape(-1).data)
        self._fewest, self._many = 0.0, 0.0
        self._kernels = kernels("vkssp.cpu.kernels.nearness")

    def predict(self, source: Any, target: Any, far: float) -> float:
        """Return about how many nodes a search from one node to another will settle.

        If they are no nodes, or certainly less than `far`, 0 is returned, which takes less time.
        """
        if not self._fewest <= far < self._many:
            self._find_squares(far)
        try:
            flat, here, there = self._flat, 4 * source, 4 * target
            x, y = flat[here] - flat[there], flat[here + 1] - flat[there + 1]
            if x * x + y * y <= flat[here + 2]:
                return 0.0
            ends = operator.index(source), operator.index(target)
        except (TypeError, IndexError):
            return 0.0
        found: float = self._kernels.count_around(self._nodes, self._sums, *ends) if min(ends) >= 0 else 0.0
        return found

    def _find_squares(self, far: float) -> None:
        """Find the distances up to which a node is certainly near, for a number of nodes that is about `far`."""
        cells = len(self._sums) - 1
        squares: npt.NDArray[np.float32] = np.zeros((cells, cells), np.float32)
        self._kernels.near_squares(self._sums, far / _MARGIN, squares)
        self._nodes[:, 2] = squares.reshape(-1)[self._cell]
        self._fewest, self._many = far / _MARGIN, far * _MARGIN
