"""Bellman-Ford with a thread per node (Y. Song, X. Du, "Warp-Centric CUDA Programming for SSSP Algorithms", 2021).

Every reached node relaxes all of its arcs in every iteration, until an iteration changes nothing. A search for a target
cannot end early: before the last iteration a shorter path to the target can still be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, DeviceAlgorithm, Step, state_dtype
from vkssp.references import BELLMAN_FORD, SONG_DU


class BellmanFord(DeviceAlgorithm):
    """Bellman-Ford search on a device, with a thread per node; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "bellman_ford"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="every node relaxes its arcs in every iteration until nothing changes; a thread per node",
        source=f"{BELLMAN_FORD}; {SONG_DU}",
        complexity="m relaxations in each of as many iterations as the shortest paths have arcs at most",
        use="as a baseline; graphs whose paths have few arcs and whose nodes have similar degrees",
        ends_early=False,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (WORKGROUP_SIZE, WORKGROUPS)
    BINDINGS: ClassVar[int] = 6
    STATE: ClassVar[np.dtype[Any]] = state_dtype((), "modified")

    def _steps(self) -> Sequence[Step]:
        size, graph = self._size(), self._graph
        kernel = self._kernel(
            "bellman_ford", *(self.terminals, self.distances, graph.first_out, graph.arcs), workgroup_size=size
        )
        return [Step(kernel, self._groups(self._num_nodes, size), (self._num_nodes,))]
