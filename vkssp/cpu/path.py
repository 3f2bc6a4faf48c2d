"""Walk back along a shortest path by the distances of a search on the CPU."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from vkssp.cpu.device import CpuGraph
from vkssp.errors import VksspError
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.resource import Resource

#: Error of distances that are not those of a search.
CONTRADICTION = "the distances contradict each other; the last search did not end well"


class Searched(Protocol):
    """Attributes of a search that a walker needs."""

    distances: npt.NDArray[Any]
    terminals: npt.NDArray[Any]


class CpuWalker(Resource):
    """Finder of a shortest path from the distances of an algorithm's last search; a device finds the same path.

    Parameters
    ----------
    graph : CpuGraph
        Graph of the search.
    search : Searched
        Algorithm that has found the distances.
    """

    def __init__(self, graph: CpuGraph, search: Searched) -> None:
        super().__init__(graph)
        self._search, self._kernels = search, kernels("vkssp.cpu.kernels.path")
        self._first_in, self._arcs_in, self._arc_in = graph.incoming()
        # Large enough, since a shortest path visits no node twice.
        self._path: Uint32s = np.empty(graph.num_nodes, np.uint32)

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the path to the best target of the last search.

        Parameters
        ----------
        num_seeds, num_targets : int
            Numbers of seeds and targets of the search.

        Returns
        -------
        seed, target : int
            Indices of the seed and the target at the ends of the path.
        arcs : numpy.ndarray
            The caller's ids of the arcs from seed to target, int64.

        Raises
        ------
        VksspError
            If no target is reached, or the distances are not those of a search.
        """
        terminals = self._search.terminals
        seeds, targets = terminals[:num_seeds], terminals[num_seeds : num_seeds + num_targets]
        seed, target, length = self._kernels.walk(
            self._first_in, self._arcs_in, self._search.distances, seeds, targets, self._path
        )
        return path_of(seed, target, length, self._arc_in, self._path)


def path_of(
    seed: int, target: int, length: int, arc_in: npt.NDArray[np.int64], path: Uint32s
) -> tuple[int, int, npt.NDArray[np.int64]]:
    """Return the result of a walk, given the places of its arcs, the last first, and the ids of arcs by place.

    Raises
    ------
    VksspError
        If no target is reached, or the distances are not those of a search.
    """
    if target < 0:
        raise VksspError("no target is reached, so there is no path to walk; look at the outcome's best first")
    if seed < 0:
        raise VksspError(CONTRADICTION)
    return seed, target, arc_in[path[:length][::-1]]
