"""Crauser's and Martin's algorithms on the CPU: sequential versions of three steps that GPUs run in parallel.

Both are Dijkstra's algorithm with several nodes settled at a time. Martin's algorithm settles all nodes at the least
distance. Crauser's algorithm settles all nodes up to a threshold: the least sum of an unsettled node's distance and its
lightest arc, below which no distance can change any more. This threshold is the only optimisation; it needs the
lightest arc of each node, which is found before the first search. Every step visits all nodes, as in the papers.

A. Crauser, K. Mehlhorn, U. Meyer, P. Sanders, "A parallelization of Dijkstra's shortest path algorithm", MFCS 1998.
P. J. Martin, R. Torres, A. Gavilanes, "CUDA solutions for the SSSP problem", ICCS 2009. H. Ortega-Arranz, Y. Torres,
A. Gonzalez-Escribano, D. R. Llanos, "Comprehensive evaluation of a new GPU-based approach to the shortest path
problem", International Journal of Parallel Programming 43, 2015.

The counter of nodes that worked counts the nodes of the frontiers; for predecessors, the unsettled nodes with an arc
from the frontier. The counter of relaxed arcs counts the arcs out of frontiers; for predecessors, those of them that
lead to unsettled nodes.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter
from vkssp.cpu.device import CpuGraph
from vkssp.cpu.search import CpuSearch, Work
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.references import CRAUSER_AS_EVALUATED, MARTIN_AS_EVALUATED

_CRAUSER_IDEA = (
    "Settles all nodes up to a threshold at once, the least sum of an unsettled node's distance and its lightest arc; "
)
_MARTIN_IDEA = "Settles all nodes at once that are as near as the nearest one left; "
_PUSH = "they relax their arcs."
_PULL = "nodes that are not settled look for them at the other end of their incoming arcs."


class _Steps(CpuSearch):
    """Base class of the searches with thresholds; an iteration has three steps: minimum, update, relax.

    Parameters
    ----------
    graph : CpuGraph
        The graph.
    counting : int
        Index into `vkssp.algorithm.COUNTING`.
    """

    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()
    #: Whether unsettled nodes relax their incoming arcs.
    _PREDECESSORS: ClassVar[bool]
    #: Whether the lightest arcs raise the threshold.
    _LIGHTEST_ARCS: ClassVar[bool]

    def __init__(self, graph: CpuGraph, *, counting: int = 0) -> None:
        super().__init__(graph, counting)
        self._kernels = kernels("vkssp.cpu.kernels.threshold")
        n = graph.num_nodes
        self._first, self._arcs = graph.first_out, graph.arcs
        if self._PREDECESSORS:
            self._first, self._arcs, _ = graph.incoming()
        self._omega: Uint32s = np.empty(n if self._LIGHTEST_ARCS else 0, np.uint32)
        self._kernels.lightest_arcs(graph.first_out, graph.arcs, self._omega)
        self._unsettled, self._frontier = np.empty((2, n), np.uint8)

    def _run(self, seeds: Uint32s, targets: Uint32s) -> Work:
        return Work(
            *self._kernels.search(
                self._first,
                self._arcs,
                self._PREDECESSORS,
                self._omega,
                self._graph.lightest,
                self.distances,
                self._unsettled,
                self._frontier,
                seeds,
                targets,
                self._rows,
            )
        )


class CrauserCpu(_Steps):
    """Crauser's algorithm with successors: the frontier relaxes its arcs; see `_Steps`."""

    NAME: ClassVar[str] = "crauser"
    DESCRIPTION: ClassVar[Description] = Description(
        idea=_CRAUSER_IDEA + _PUSH,
        source=CRAUSER_AS_EVALUATED,
        complexity="O(n) work for each iteration and O(m) in all; O(sqrt n) iterations on random graphs, more on roads",
        use="Baseline for Crauser's algorithm on a GPU.",
        ends_early=True,
    )
    _PREDECESSORS = False
    _LIGHTEST_ARCS = True


class CrauserPredecessorsCpu(_Steps):
    """Crauser's algorithm with predecessors: unsettled nodes relax arcs from the frontier; see `_Steps`."""

    NAME: ClassVar[str] = "crauser_predecessors"
    DESCRIPTION: ClassVar[Description] = Description(
        idea=_CRAUSER_IDEA + _PULL,
        source=CRAUSER_AS_EVALUATED,
        complexity="O(n + m) work for each iteration; O(sqrt n) iterations on random graphs, more on roads",
        use="Baseline for the same algorithm on a GPU, which needs no atomics.",
        ends_early=True,
    )
    _PREDECESSORS = True
    _LIGHTEST_ARCS = True


class MartinCpu(_Steps):
    """Martin's algorithm with successors: the frontier relaxes its arcs; see `_Steps`."""

    NAME: ClassVar[str] = "martin"
    DESCRIPTION: ClassVar[Description] = Description(
        idea=_MARTIN_IDEA + _PUSH,
        source=MARTIN_AS_EVALUATED,
        complexity="O(n) work for each iteration and O(m) in all; as many iterations as there are different distances",
        use="Baseline for Martin's algorithm on a GPU.",
        ends_early=True,
    )
    _PREDECESSORS = False
    _LIGHTEST_ARCS = False


class MartinPredecessorsCpu(_Steps):
    """Martin's algorithm with predecessors: unsettled nodes relax arcs from the frontier; see `_Steps`."""

    NAME: ClassVar[str] = "martin_predecessors"
    DESCRIPTION: ClassVar[Description] = Description(
        idea=_MARTIN_IDEA + _PULL,
        source=MARTIN_AS_EVALUATED,
        complexity="O(n + m) work for each iteration; as many iterations as there are different distances",
        use="Baseline for the same algorithm on a GPU, which needs no atomics.",
        ends_early=True,
    )
    _PREDECESSORS = True
    _LIGHTEST_ARCS = False
