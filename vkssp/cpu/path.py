"""Walker that reads paths off the distances of a search on the CPU."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from vkssp.cpu.device import CpuGraph
from vkssp.errors import VksspError
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.resource import Resource


class Searched(Protocol):
    """What a walker needs to know of a search."""

    distances: Uint32s
    terminals: Uint32s


class CpuWalker(Resource):
    """Reads paths off the distances of an algorithm's last search, the same as the walker on a device does.

    Parameters
    ----------
    graph : CpuGraph
        The graph that the algorithm works on.
    search : Searched
        The algorithm whose distances are walked along.
    """

    def __init__(self, graph: CpuGraph, search: Searched) -> None:
        super().__init__(graph)
        self._search, self._kernels = search, kernels("vkssp.cpu.kernels.path")
        self._first_in, self._arcs_in, self._arc_in = graph.incoming()
        # A shortest path visits no node twice.
        self._path: Uint32s = np.empty(graph.num_nodes, np.uint32)

    def walk(self, num_seeds: int, num_targets: int) -> tuple[int, int, npt.NDArray[np.int64]]:
        """Return the path of the last search that had these numbers of seeds and targets, one of them reached.

        Returns
        -------
        seed, target : int
            Which of the seeds and targets it joins.
        arcs : numpy.ndarray
            The caller's ids of its arcs from seed to target, int64.

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
        if target < 0:
            raise VksspError("no target is reached, so there is no path to walk; look at the outcome's best first")
        if seed < 0:
            raise VksspError("the distances contradict each other; the last search did not end well")
        return seed, target, self._arc_in[self._path[:length][::-1]]
