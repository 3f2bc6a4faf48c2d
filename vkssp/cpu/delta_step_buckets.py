"""Delta-stepping on the CPU: nodes wait in buckets of width delta, and the nodes of a bucket are taken in any order.

Light arcs (weight at most delta) can lead back into the bucket and are relaxed until it stays empty. Heavy arcs cannot,
and are relaxed once for each node that was in the bucket. The only optimisation is that arcs are split into light and
heavy ones before the first search.

U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of Algorithms 49, 2003.

In a trace, phase 0 relaxes light arcs, and phase 1 the heavy arcs of a bucket.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vkssp.algorithm import Description, Parameter
from vkssp.cpu.device import CpuGraph, read_only
from vkssp.cpu.search import CpuSearch, Work
from vkssp.graph import Uint32s
from vkssp.jit import kernels
from vkssp.prepared import bucket_width as delta
from vkssp.references import MEYER_SANDERS

#: Default bucket width times the mean number of arcs of a node, in mean arc weights. On a road grid the value hardly
#: matters: 1 to 16 mean weights are all within a tenth of the best. With 20 arcs for each node, searches with wide
#: buckets relax too many arcs twice.
DELTA_TIMES_DEGREE = 8.0
# Maximum number of buckets with a list of their own; the nodes of all farther buckets share one list.
_MOST_LISTS = 1 << 14


def default_delta(weight: Uint32s, num_nodes: int) -> int:
    """Return a bucket width for a graph's weights and number of nodes."""
    return delta.default_delta(float(weight.mean()), DELTA_TIMES_DEGREE * num_nodes / len(weight)) if len(weight) else 1


class DeltaStepBuckets(CpuSearch):
    """Delta-stepping search on the CPU; an iteration relaxes the light or the heavy arcs of nodes of a bucket.

    Parameters
    ----------
    graph : CpuGraph
        The graph.
    counting : int
        Index into `vkssp.algorithm.COUNTING`.
    delta : int, optional
        Width of a bucket; by default chosen from the weights.
    """

    NAME: ClassVar[str] = "delta_step_buckets"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="Nodes wait in buckets of width delta; the nearest bucket is emptied until it stays empty, by its light "
        "arcs, and then its nodes relax their heavy ones.",
        source=MEYER_SANDERS,
        complexity="O(n + m + L / delta) work for random weights and a delta near the largest weight over the mean "
        "degree; O(L / delta) buckets of some iterations each",
        use="Baseline for delta-stepping on a GPU; often as fast as Dijkstra's algorithm.",
        ends_early=True,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (delta.DELTA,)
    # The nearest node of a phase of light arcs is final, and each bucket with such phases has one phase of heavy arcs.
    _ITERATIONS_PER_NODE: ClassVar[int] = 2

    def __init__(self, graph: CpuGraph, *, counting: int = 0, delta: int | None = None) -> None:
        super().__init__(graph, counting)
        self._kernels = kernels("vkssp.cpu.kernels.delta_step_buckets")
        self.delta = default_delta(graph.arcs[:, 1], graph.num_nodes) if delta is None else delta
        heaviest = int(graph.arcs[:, 1].max()) if len(graph.arcs) else 0
        self._first_heavy, self._arcs = graph.first_out[1:], graph.arcs
        n = graph.num_nodes
        self._any_heavy = heaviest > self.delta
        if self._any_heavy:
            parted, first_heavy = np.empty_like(graph.arcs), np.empty(n, np.uint32)
            self._kernels.split(graph.first_out, graph.arcs, np.uint64(self.delta), parted, first_heavy)
            self._first_heavy, self._arcs = read_only(first_heavy), read_only(parted)
        # An arc leads at most this many buckets ahead; one more list is for the nodes beyond.
        lists = min(heaviest // self.delta + 2, _MOST_LISTS) + 1
        self._lists: Uint32s = np.empty(lists, np.uint32)
        self._after, self._before, self._nodes, self._removed, self._removed_in = np.empty((5, n), np.uint32)

    def _run(self, seeds: Uint32s, targets: Uint32s) -> Work:
        return Work(
            *self._kernels.search(
                self._graph.first_out,
                self._first_heavy,
                self._arcs,
                np.uint64(self.delta),
                self._any_heavy,
                self.distances,
                self._lists,
                self._after,
                self._before,
                self._nodes,
                self._removed,
                self._removed_in,
                seeds,
                targets,
                self._rows,
            )
        )
