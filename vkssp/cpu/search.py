"""Base of all searches on the CPU: buffers, time, counters, and the best target."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithm import COUNTING, CPU, TOTALS, Outcome, Terminal, row_of, timed
from vkssp.cpu.device import CpuGraph, array_bytes
from vkssp.cpu.path import CpuWalker
from vkssp.cpu.voronoi import CpuVoronoi
from vkssp.graph import Graph, Uint32s
from vkssp.graph.distance_type import BITS_32, DistanceType
from vkssp.locks import ReentrantLock
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.resource import Resource


class Work(NamedTuple):
    """Result of a kernel: number of iterations, `TOTALS`, and whether some sum did not fit."""

    iterations: int
    visited: int
    worked: int
    relaxed: int
    improved: int
    overflow: bool
    buckets: int | None = None


class CpuReader(Resource):
    """Reader of the distances of some nodes after a search."""

    def __init__(self, search: Any, nodes: Uint32s) -> None:
        super().__init__(search)
        self._search, self._nodes = search, nodes

    def read(self) -> npt.NDArray[Any]:
        """Return the distances, in the order of the nodes."""
        found: npt.NDArray[Any] = self._search.distances[self._nodes]
        return found


class CpuSearch(Resource):
    """Base class of searches on the CPU; a subclass defines the search in `_run`.

    The cost of counting is too small to be measured, so kernels always count, and a search reports the requested
    counters.

    Parameters
    ----------
    graph : CpuGraph
        The graph.
    counting : int
        Index into `COUNTING`.
    distance_type : DistanceType
        Type of the distances.

    Attributes
    ----------
    distances : numpy.ndarray
        Distances of the last search, by the ids of the renumbered graph, shape (num_nodes,), of the type's dtype.
    terminals : numpy.ndarray
        Seeds and then targets of the last search, shape (k, 2), of the type's dtype.
    limit : int
        Distance beyond which the last search might end.
    """

    RUNS_ON: ClassVar[str] = CPU
    #: Maximum number of iterations of a search for each node of the graph.
    _ITERATIONS_PER_NODE: ClassVar[int] = 1

    def __init__(self, graph: CpuGraph, counting: int, distance_type: DistanceType = BITS_32) -> None:
        compile_for(type(self), distance_type)
        super().__init__(graph)
        self._graph, self._counting, self.distance_type = graph, counting, distance_type
        dtype, self._unreachable = distance_type.dtype, distance_type.unreachable
        self.distances: npt.NDArray[Any] = np.full(graph.num_nodes, self._unreachable, dtype)
        self.terminals: npt.NDArray[Any] = np.empty((0, 2), dtype)
        tracing = COUNTING[counting] == "trace"
        # A search never fills this array, but pages that are never written take no memory.
        self._rows = np.empty(self._ITERATIONS_PER_NODE * graph.num_nodes if tracing else 0, row_of(distance_type))
        self._num_rows = 0
        self.limit = self._unreachable

    def _run(self, seeds: npt.NDArray[Any], targets: npt.NDArray[Any]) -> Work:
        """Run a search, which begins with the reset of the distances; seeds and targets have shape (k, 2)."""
        raise NotImplementedError

    def search(self, seeds: Sequence[Terminal], targets: Sequence[Terminal] = (), limit: int | None = None) -> Outcome:
        """Find distances; see `Algorithm`."""
        places = [*seeds, *targets]
        self.terminals = np.array(places, self.terminals.dtype).reshape(len(places), 2)
        here, there = self.terminals[: len(seeds)], self.terminals[len(seeds) :]
        began, self.limit = time.perf_counter(), self._unreachable if limit is None else limit
        work = self._run(here, there)
        milliseconds = 1e3 * (time.perf_counter() - began)
        self._num_rows = min(work.iterations, len(self._rows))
        counters = {"iterations": work.iterations}
        if self._counting:
            counters |= {name: getattr(work, name) for name in TOTALS}
            if work.buckets is not None:
                counters["buckets"] = work.buckets
        best, beyond = self._best(targets)
        return Outcome(best, work.overflow or beyond, milliseconds, counters)

    def _best(self, targets: Sequence[Terminal]) -> tuple[int, bool]:
        """Return the length of the path to the best target, and whether a length to a reached target overflows."""
        best, beyond, unreachable = self._unreachable, False, self._unreachable
        # Not by operations on arrays, each of which takes as long as several targets.
        for node, offset in targets:
            distance = self.distances.item(node)
            if distance != unreachable:
                best, beyond = min(best, distance + offset), beyond or distance + offset >= unreachable
        return best, beyond

    def read(self) -> npt.NDArray[Any]:
        """Return a copy of the distances of the last search; see `Algorithm`."""
        return self.distances.copy()

    @property
    def is_current(self) -> bool:
        """Whether the search is still usable: new weights need a new graph, which closes this one. See `Algorithm`."""
        return not self.closed

    def trace(self) -> npt.NDArray[Any]:
        """Return a copy of the iterations of the last search; see `Algorithm`."""
        return timed(self._rows[: self._num_rows], np.nan)

    def _own_bytes(self) -> int:
        return array_bytes(self)

    def walker(self) -> CpuWalker:
        """Return a walker along the distances of this algorithm's searches."""
        return CpuWalker(self._graph, self)

    def voronoi(self, most_seeds: int) -> CpuVoronoi:
        """Return a finder of nearest seeds; see `Algorithm`."""
        return CpuVoronoi(self._graph, self, most_seeds, self)

    def reader(self, nodes: Uint32s) -> CpuReader:
        """Return a reader of the distances of some nodes; see `Algorithm`."""
        return CpuReader(self, nodes)


_compiled: set[tuple[Any, DistanceType]] = set()
_compiling = ReentrantLock()


def compile_for(algorithm: Any, distance_type: DistanceType = BITS_32) -> None:
    """Compile an algorithm's kernels, or load them from the cache, by a search in a tiny graph."""
    key, of_type = (algorithm, distance_type), {} if distance_type is BITS_32 else {"distance_type": distance_type}
    with _compiling.held():
        if key in _compiled:
            return
        _compiled.add(key)
        try:
            renumbered = RenumberedGraph(Graph.from_edges([0, 1], [1, 0], [1, 2]))
            with CpuGraph(renumbered) as graph, algorithm(graph, counting=2, **of_type) as search:
                search.search([(0, 0)], [(1, 0)])
                search.walker().walk(1, 1)
        except BaseException:
            _compiled.discard(key)
            raise
