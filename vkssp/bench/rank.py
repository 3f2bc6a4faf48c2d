"""Query times by Dijkstra rank: from a source, the target of rank 2**k is the 2**k-th node that Dijkstra settles.

It tells how an algorithm does on near and on far targets, whatever the size and the metric of the network (P. Sanders,
D. Schultes, "Highway hierarchies hasten exact shortest path queries", ESA 2005, who introduced the plot).
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vkssp.bench.experiment import Run
from vkssp.bench.measuring import digest, far_sources
from vkssp.errors import FormatError, VksspError
from vkssp.gpu.device import Device
from vkssp.graph import Graph
from vkssp.storage import atomic_write

#: Columns of a file of queries.
COLUMNS = ("rank", "source", "target", "distance")
#: The method that is no algorithm of a solver.
BIDIRECTIONAL = "bidirectional"


@dataclass(frozen=True)
class Queries:
    """Sources and targets with their ranks, for one graph.

    Attributes
    ----------
    sha256 : str
        Digest of the graph, see `vkssp.bench.measuring.digest`.
    rank, source, target, distance : numpy.ndarray
        Of each query: the logarithm of the rank to base 2, two node ids, and the distance, shape (k,), int64.
    """

    sha256: str
    rank: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    distance: npt.NDArray[np.int64]

    def save(self, path: str | Path) -> None:
        """Write the queries as CSV, with the columns `COLUMNS` after a line that names the graph by its digest."""
        table = np.stack([self.rank, self.source, self.target, self.distance], axis=1)
        with atomic_write(path) as stream:
            stream.write(f"# graph sha256 {self.sha256}\n{','.join(COLUMNS)}\n".encode())
            np.savetxt(stream, table, fmt="%d", delimiter=",")

    @classmethod
    def load(cls, path: str | Path, graph: Graph) -> Queries:
        """Return the queries of a file, which must be for this graph.

        Raises
        ------
        FormatError
            If it is no such file, or for another graph.
        """
        with Path(path).open(encoding="utf-8", errors="replace", newline="") as stream:
            lines: list[list[str]] = [*csv.reader(stream), [], []]
        first, header, rows = lines[0], lines[1], lines[2:]
        sha256 = digest(graph)
        if first[:1] != [f"# graph sha256 {sha256}"]:
            raise FormatError(f"{path} has no queries for this graph; draw new ones, or give the graph that it names")
        try:
            table = np.array([list(map(int, row)) for row in rows if row], np.int64).reshape(-1, len(COLUMNS))
        except ValueError:
            table = None
        nodes = graph.num_nodes
        if tuple(header) != COLUMNS or table is None or (table < 0).any() or (table[:, 1:3] >= nodes).any():
            raise FormatError(f"{path} does not hold {', '.join(COLUMNS)} of nodes of this graph; draw new queries")
        return cls(sha256, *table.T)


def draw_queries(graph: Graph, sources: int, seed: int = 1) -> Queries:
    """Return queries of all ranks from random sources that reach more than a tenth of the nodes.

    Raises
    ------
    QueryError
        If there are no such sources, or numba is not installed.
    """
    from vkssp.cpu import settle_order

    rows: list[npt.NDArray[np.int64]] = []
    for source, distances, _ in far_sources(graph, sources, seed):
        order = settle_order(graph, source)
        rank = np.arange(1, int(np.log2(len(order))) + 1)
        target = order[(1 << rank) - 1].astype(np.int64)
        rows.append(np.stack([rank, np.full_like(rank, source), target, distances[target].astype(np.int64)]))
    return Queries(digest(graph), *np.concatenate(rows, axis=1))


def measure_ranks(
    graph: Graph, queries: Queries, methods: Sequence[str], device: Device, *, warm_up_s: float = 0.7
) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Yield each method and its milliseconds for every query, from the call to the distance.

    Parameters
    ----------
    graph : Graph
        The graph of the queries.
    queries : Queries
        What is asked.
    methods : sequence of str
        Algorithms with parameters, as `Run.parse` takes them, or ``"bidirectional"``.
    device : Device
        Where those run that need one.
    warm_up_s : float
        Seconds of queries before the timed ones.

    Raises
    ------
    QueryError
        If a method is not known.
    VksspError
        If a distance is wrong.
    """
    for method in methods:
        if method != BIDIRECTIONAL:
            Run.parse(method)
    for method in methods:
        with ExitStack() as stack:
            ask = _method(graph, method, device, stack)
            asked = list(zip(queries.source.tolist(), queries.target.tolist(), queries.distance.tolist(), strict=True))
            began = time.perf_counter()
            while time.perf_counter() - began < warm_up_s:
                ask(*asked[-1][:2])
            times = np.empty(len(asked))
            for place, (source, target, expected) in enumerate(asked):
                started = time.perf_counter()
                found = ask(source, target)
                times[place] = 1e3 * (time.perf_counter() - started)
                if found != expected:
                    raise VksspError(f"{method} finds {found} from node {source} to node {target}, not {expected}")
        yield method, times


def _method(graph: Graph, method: str, device: Device, stack: ExitStack) -> Callable[[int, int], int]:
    if method == BIDIRECTIONAL:
        from vkssp.cpu import BidirectionalDijkstra, HostGraph
        from vkssp.solvers.prepare import PreparedGraph

        prepared = PreparedGraph(graph)
        search = stack.enter_context(BidirectionalDijkstra(stack.enter_context(HostGraph(prepared))))
        node = prepared.node.tolist()
        return lambda source, target: search.distance(node[source], node[target])
    return stack.enter_context(Run.parse(method).solver(graph, device)).distance


def medians(queries: Queries, times: npt.NDArray[np.float64]) -> dict[int, float]:
    """Return the median time of each rank."""
    return {rank: float(np.median(times[queries.rank == rank])) for rank in np.unique(queries.rank).tolist()}


def crossover(queries: Queries, times: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]) -> int | None:
    """Return the rank from which on a method's median is below that of a reference; None if it is not at the last."""
    mine, other = medians(queries, times), medians(queries, reference)
    found = None
    for rank in sorted(mine, reverse=True):
        if mine[rank] >= other[rank]:
            break
        found = rank
    return found
