"""Bellman-Ford with a thread per edge ("GPU SSSP Implementation"; the article names no author).

An undirected edge is stored once and relaxed in both directions in one visit. Graphs may also have arcs without a
reverse arc; these are relaxed in one direction. Edges are sorted by segments of the distances' array, so that the
distances in use stay in cache. Distances are read through a read-only view of the buffer that is written. A search for
a target cannot end early, see `bellman_ford`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from vkssp.algorithm import Description, Parameter
from vkssp.algorithms.bellman_ford import BellmanFord
from vkssp.engine.device_algorithm import WORKGROUP_SIZE, WORKGROUPS, Step
from vkssp.prepared.edge_list import Edges, edges_of
from vkssp.references import THREAD_PER_EDGE

_READ_ONLY_CONSTANT = 2
#: Default number of nodes of a segment; see docs/performance-log.md.
DEFAULT_SEGMENT = 1 << 12


class BellmanFordEdge(BellmanFord):
    """Bellman-Ford search on a device, with a thread per edge; see `DeviceAlgorithm`."""

    NAME: ClassVar[str] = "bellman_ford_edge"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="Bellman-Ford with a thread per undirected edge, relaxed both ways, edges sorted into segments",
        source=THREAD_PER_EDGE,
        complexity="as bellman_ford, with half the edges to read where the graph is undirected",
        use="undirected graphs of small diameter and any degrees, such as social networks",
        ends_early=False,
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("segment", 0, 2**31, DEFAULT_SEGMENT, "nodes of a segment that edges are sorted by, 0 for none"),
        Parameter("read_only", 0, 1, 1, "1 to read distances through a read-only view"),
        WORKGROUP_SIZE,
        WORKGROUPS,
    )

    BINDINGS: ClassVar[int] = 8

    def _graph_bytes(self, *, at_most: bool) -> int:
        graph, name = self._graph, f"edges by {self._parameters['segment'] or 0}"
        # Two arcs of an undirected edge become one.
        return graph.missing(name, 12 * (graph.renumbered.num_arcs if at_most else len(self._edges().start)))

    def _edges(self) -> Edges:
        renumbered, segment = self._graph.renumbered, self._parameters["segment"] or 0
        edges: Edges = renumbered.derived(f"edges by {segment}", lambda: edges_of(renumbered, segment))
        return edges

    def _steps(self) -> Sequence[Step]:
        size, graph = self._size(), self._graph

        def make() -> Any:
            edges = self._edges()
            arrays = {f"the edges' {name}": getattr(edges, name) for name in ("start", "end", "weight")}
            return graph.upload_arrays(arrays, arrays.keys()), edges.num_undirected, len(edges.start)

        buffers, num_undirected, num_edges = graph.shared(f"edges by {self._parameters['segment'] or 0}", make)
        kernel = self._kernel(
            "bellman_ford_edge",
            *(self.terminals, self.distances, *buffers, self.distances),
            workgroup_size=size,
            push_constants=2,
            constants={_READ_ONLY_CONSTANT: self._parameters["read_only"] or 0},
        )
        return [Step(kernel, self._groups(num_edges, size), (num_undirected, num_edges))]
