"""Delta-stepping on the CPU: any bucket width, and what the buckets hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import grid, heap_dijkstra
from vkssp.cpu.delta_step_buckets import DeltaStepBuckets, default_delta
from vkssp.cpu.device import CpuGraph
from vkssp.graph import UNREACHABLE, Graph
from vkssp.prepared.renumbered import RenumberedGraph

LARGEST = UNREACHABLE - 1


@given(delta=st.integers(1, LARGEST), source=st.integers(0, 24), high=st.sampled_from([2, 1000, 10**7, 10**8]))
def test_any_delta(delta: int, source: int, high: int) -> None:
    graph = grid(5, seed=high, low=0, high=high)
    renumbered = RenumberedGraph(graph, "natural")
    with CpuGraph(renumbered) as host:
        search = DeltaStepBuckets(host, delta=delta)
        search.search([(int(renumbered.node[source]), 0)])
        assert np.array_equal(search.read()[renumbered.node], heap_dijkstra(graph, source))


def test_buckets_of_delta_stepping() -> None:
    """Arcs of weight delta are light, and a bucket's heavy arcs are relaxed once for each of its nodes."""
    graph = Graph.from_edges([0, 1, 0, 2, 0], [1, 2, 2, 3, 3], [5, 5, 11, 6, 25])
    with CpuGraph(RenumberedGraph(graph)) as host:
        search = DeltaStepBuckets(host, delta=5, counting=2)
        search.search([(0, 0)])
        rows = search.trace()
        assert rows["phase"].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
        assert rows["low"].tolist() == [0, 0, 5, 5, 10, 10, 15, 15]
        assert rows["relaxed"].tolist() == [1, 2, 1, 0, 0, 1, 0, 0]
        assert rows["improved"].tolist() == [1, 2, 1, 0, 0, 1, 0, 0]
        assert rows["worked"].tolist() == [1] * 8
        # Without heavy arcs there are no phases of them.
        assert DeltaStepBuckets(host, delta=25).search([(0, 0)]).counters["iterations"] == 4
    # Node 1 is taken out of the bucket twice, and relaxes its heavy arc once.
    graph = Graph.from_edges([0, 0, 2, 1], [1, 2, 1, 3], [4, 1, 1, 90])
    with CpuGraph(RenumberedGraph(graph)) as host:
        search = DeltaStepBuckets(host, delta=5, counting=2)
        search.search([(0, 0)])
        rows = search.trace()
        assert rows["worked"][:4].tolist() == [1, 2, 1, 3] and rows["phase"][:4].tolist() == [0, 0, 0, 1]
        assert rows["relaxed"][3] == 1 and rows["improved"][2] == 0
    assert default_delta(np.zeros(0, np.uint32), 5) == 1
    assert default_delta(np.full(4, 10, np.uint32), 2) == 40
    assert default_delta(np.full(1, LARGEST, np.uint32), 2) == LARGEST
