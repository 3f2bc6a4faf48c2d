"""Bellman-Ford algorithm on the CPU: all nodes relax all arcs, until a sweep changes nothing.

Its only optimisation is that distances are improved in place, so that one sweep can carry a distance along many arcs.

R. Bellman, "On a routing problem", Quarterly of Applied Mathematics 16, 1958. L. R. Ford, "Network flow theory", RAND
P-923, 1956.
"""

from __future__ import annotations

from typing import ClassVar

from vkssp.algorithm import Description, Parameter
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.search import CpuSearch, Work
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.references import BELLMAN_FORD


class BellmanFordCpu(CpuSearch):
    """Bellman-Ford search on the CPU; an iteration is a sweep over all nodes.

    No distance is known to be final before the last sweep, so a search for targets takes as long as one for all nodes.

    Parameters
    ----------
    graph : CpuGraph
        The graph.
    counting : int
        Index into `vkssp.algorithm.COUNTING`.
    """

    NAME: ClassVar[str] = "bellman_ford"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="Every node relaxes all its arcs, in every iteration, until an iteration improves nothing.",
        source=BELLMAN_FORD,
        complexity="O(n m) work at worst; one iteration of O(n + m) for each arc of the longest of the shortest paths, "
        "fewer where ids rise along it",
        use="Baseline for Bellman-Ford on a GPU; it does not end early, even with targets.",
        ends_early=False,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, graph: CpuGraph, *, counting: int = 0) -> None:
        super().__init__(graph, counting)
        self._kernels = kernels("vkssp.cpu.kernels.bellman_ford")

    def _run(self, seeds: Uint32s, targets: Uint32s) -> Work:
        graph = self._graph
        return Work(*self._kernels.search(graph.first_out, graph.arcs, self.distances, seeds, self._rows))
