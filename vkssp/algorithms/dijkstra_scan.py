"""Dijkstra's algorithm on the device (Y. Song, X. Du, "Warp-Centric CUDA Programming for SSSP Algorithms", 2021).

In each iteration, all invocations look for the nearest unsettled node, which is then settled and its arcs relaxed in
parallel. So each reached node takes an iteration that visits every node. The algorithm is slow by design: a baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, DeviceAlgorithm, Step, state_dtype
from vkssp.gpu.recording import Recording
from vkssp.references import DIJKSTRA, SONG_DU


class DijkstraScan(DeviceAlgorithm):
    """Dijkstra search on a device by scans of all nodes; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "dijkstra_scan"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="settles the nearest unsettled node, found by a reduction over all, and relaxes its arcs in parallel",
        source=f"{DIJKSTRA}; {SONG_DU}",
        complexity="n iterations, each looks at n nodes: O(n^2 + m)",
        use="as a baseline; small dense graphs",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (WORKGROUP_SIZE, WORKGROUPS)
    SWEEPS: ClassVar[float] = 0
    OWN_BYTES: ClassVar[float] = 0.125
    BINDINGS: ClassVar[int] = 8
    STATE: ClassVar[np.dtype[Any]] = state_dtype((), "nearest")

    def _steps(self) -> Sequence[Step]:
        size, graph = self._size(), self._graph
        groups = self._groups(self._num_nodes, 4 * size, default=256)
        self._settled = self._buffer("the settled nodes", 4 * -(-self._num_nodes // 32))
        candidates = self._buffer("the candidates", 8 * groups)
        kernel = self._kernel(
            "dijkstra_scan",
            *(self.terminals, self.distances, graph.first_out, graph.arcs, self._settled, candidates),
            workgroup_size=size,
        )
        return [Step(kernel, groups, (self._num_nodes,))]

    def _begin(self, recording: Recording, num_seeds: int) -> None:
        recording.fill(self._settled, 0)
