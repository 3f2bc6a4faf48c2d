"""Voronoi cells of a network on the CPU, with the same labels as `vkssp.engine.voronoi`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.cpu.device import CpuGraph, array_bytes, read_only
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.resource import Resource


class Searched(Protocol):
    """Attribute of a search that the finder needs."""

    @property
    def distances(self) -> npt.NDArray[Any]:
        """Distances of the last search."""


class CpuVoronoi(Resource):
    """Finder of the labels of all nodes, given the distances of an algorithm's last search.

    Parameters
    ----------
    graph : CpuGraph
        Graph of the search.
    search : Searched
        Algorithm that has found the distances.
    most_seeds : int
        Maximum number of seeds of a search.
    owner : Resource
        Resource that closes the finder.
    """

    def __init__(self, graph: CpuGraph, search: Searched, most_seeds: int, owner: Resource) -> None:
        super().__init__(owner)
        self.most_seeds = most_seeds
        self._graph, self._search, self._kernels = graph, search, kernels("vkssp.cpu.kernels.voronoi")
        # Large enough, since each node is pushed once.
        self._stack: Uint32s = np.empty(graph.num_nodes, np.uint32)

    def _own_bytes(self) -> int:
        return array_bytes(self)

    def find(self, seeds: npt.NDArray[Any]) -> Uint32s:
        """Return the label of each node; see `vkssp.engine.voronoi.DeviceVoronoi.find`."""
        labels: Uint32s = np.empty(self._graph.num_nodes, np.uint32)
        rising = read_only(seeds[np.argsort(seeds[:, 2], kind="stable")])
        graph, distances = self._graph, read_only(self._search.distances)
        self._kernels.find(graph.first_out, graph.arcs, distances, rising, labels, self._stack)
        return labels
