"""Dijkstra's algorithm with a heap: the reference that all other algorithms are compared with.

Its only optimisation is the heap: four children for each entry instead of two halve its height, and keys decrease in
place, so that the heap never holds a node twice. Compared with a heap that keeps outdated entries, this was as fast on
road grids and a quarter faster on random graphs with 20 arcs for each node.

E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959. The heap: D. B.
Johnson, "Priority queues with update and finding minimum spanning trees", Information Processing Letters 4, 1975.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import ROW, Description, Outcome, Parameter, Terminal
from vkssp.checks import whole_number
from vkssp.cpu.device import CpuGraph, read_only
from vkssp.cpu.search import CpuSearch, Work
from vkssp.graph import UNREACHABLE, Graph, Uint32s
from vkssp.graph.distance_type import BITS_32, DISTANCE_TYPES, DistanceType
from vkssp.jit import kernels
from vkssp.references import DIJKSTRA, JOHNSON

_EMPTY_ENTRY = 2**64 - 1
#: Number of nodes at which no search gives up.
ALL_NODES = 2**62
#: Number of nodes that a search settles before it asks whether it should go on.
FIRST_NODES = 1024


class GivenUpError(Exception):
    """A search has settled as many nodes as it was allowed to."""


class Dijkstra(CpuSearch):
    """Dijkstra search on the CPU; an iteration settles a node.

    Parameters
    ----------
    graph : CpuGraph
        The graph.
    counting : int
        Index into `vkssp.algorithm.COUNTING`.
    distance_type : DistanceType
        Type of the distances.
    """

    NAME: ClassVar[str] = "dijkstra"
    DESCRIPTION: ClassVar[Description] = Description(
        idea="Settles one node after another, always the nearest that is left, which a 4-ary heap finds.",
        source=f"{DIJKSTRA}; {JOHNSON}",
        complexity="O((n + m) log n) work, n iterations",
        use="On the CPU: for short routes, for graphs too small for a GPU, and as the reference for all others.",
        ends_early=True,
        distance_bits=tuple(DISTANCE_TYPES),
    )
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, graph: CpuGraph, *, counting: int = 0, distance_type: DistanceType = BITS_32) -> None:
        super().__init__(graph, counting, distance_type)
        self._kernels = kernels("vkssp.cpu.kernels.dijkstra")
        self._place: Uint32s = np.empty(graph.num_nodes, np.uint32)
        self._heap = empty_heap(graph.num_nodes, distance_type)
        self._order: Uint32s = np.empty(0, np.uint32)
        self._reached: Uint32s = np.empty(graph.num_nodes, np.uint32)
        self._num_reached: Uint32s = np.array([2**32 - 1, 0, 0], np.uint32)
        self._patience: Callable[[], int] | None = None

    def search(
        self,
        seeds: Sequence[Terminal],
        targets: Sequence[Terminal] = (),
        limit: int | None = None,
        patience: Callable[[], int] | None = None,
    ) -> Outcome:
        """Find distances; see `Algorithm`.

        A search with a `patience` asks it, after `FIRST_NODES`, for the number of nodes at which it gives up.

        Raises
        ------
        GivenUpError
            If the search has given up; the next one may begin.
        """
        self._patience = patience
        return super().search(seeds, targets, limit)

    def _run(self, seeds: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Work:
        if self._patience is None:
            return Work(*self._settle(seeds, targets, 0, ALL_NODES, False))
        settled, visited, worked, relaxed, improved, overflow = self._settle(seeds, targets, 0, FIRST_NODES, True)
        if settled >= FIRST_NODES:
            # Also to give up at once: the call empties the heap.
            most = max(FIRST_NODES, self._patience())
            more = self._settle(seeds, targets, FIRST_NODES, most, False)
            settled, visited, worked = more[:3]
            relaxed, improved, overflow = relaxed + more[3], improved + more[4], overflow or more[5]
            if settled >= most:
                raise GivenUpError
        return Work(settled, visited, worked, relaxed, improved, overflow)

    def _settle(self, seeds: npt.NDArray[Any], targets: npt.NDArray[Any], settled: int, most: int, pauses: bool) -> Any:
        return self._kernels.search(
            self._graph.first_out,
            self._graph.arcs,
            self.distances,
            self._place,
            self._heap,
            seeds,
            targets,
            self._graph.lightest == 0,
            np.uint64(self.limit),
            settled,
            most,
            pauses,
            self._order,
            self._rows,
            self._reached,
            self._num_reached,
        )


def settle_order(graph: Graph, source: int) -> Uint32s:
    """Return the nodes that can be reached from a node, in the order in which Dijkstra's algorithm settles them.

    The index of a node in the result is its Dijkstra rank. Distances never decrease along the result; the heap
    determines the order of nodes at the same distance.

    Parameters
    ----------
    graph : Graph
        The graph.
    source : int
        Node id.

    Returns
    -------
    numpy.ndarray
        Node ids, the source first, shape (k,), uint32.

    Raises
    ------
    QueryError
        If the node does not exist, or numba is not installed.
    """
    nodes = f"give a node id, an integer; this graph has {graph.num_nodes} nodes, numbered from 0"
    node = whole_number(source, "source", 0, graph.num_nodes - 1, nodes)
    order: Uint32s = np.empty(graph.num_nodes, np.uint32)
    settled = kernels("vkssp.cpu.kernels.dijkstra").search(
        read_only(graph.first_out),
        read_only(np.stack([graph.head, graph.weight], axis=1)),
        np.empty_like(order),
        np.empty_like(order),
        empty_heap(graph.num_nodes),
        np.array([[node, 0]], np.uint32),
        np.empty((0, 2), np.uint32),
        False,
        np.uint64(UNREACHABLE),
        0,
        ALL_NODES,
        False,
        order,
        np.empty(0, ROW),
        np.empty_like(order),
        np.array([2**32 - 1, 0, 0], np.uint32),
    )[0]
    return order[:settled].copy()


def empty_heap(num_nodes: int, distance_type: DistanceType = BITS_32) -> npt.NDArray[np.uint64]:
    """Return an empty heap with space for all nodes, and for the empty entries that stand for missing children.

    Its shape is (num_nodes + 4,), or (num_nodes + 4, 2) with distances of 64 bits, whose entries have two words.
    """
    words = () if distance_type is BITS_32 else (2,)
    return np.full((num_nodes + 4, *words), _EMPTY_ENTRY, np.uint64)
