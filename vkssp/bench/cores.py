"""Timing of searches on all cores of the CPU at once, with one process per core."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.bench.peers import RoutingkitCch
from vkssp.errors import QueryError, VksspError
from vkssp.graph import Graph
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.signals import undoing
from vkssp.solver.solver import Solver

#: Number of queries that a process takes at a time.
AT_A_TIME = 4
# Largest time in seconds until the processes of all cores are ready.
_READY_S = 300

_of_process: Callable[[Any], Any] | None = None


def _begin(
    make: Callable[..., Callable[[Any], Any]], first_queries: Sequence[Any], all_ready: Any, *arguments: Any
) -> None:
    global _of_process
    try:
        _of_process = make(*arguments)
        _search(first_queries)  # loads compiled code and allocates memory
    except VksspError as error:
        _of_process = partial(_fail, str(error))
    all_ready.wait(_READY_S)


def _fail(why: str, _: Any) -> None:
    raise QueryError(why)


def _search(queries: Sequence[Any]) -> None:
    for query in queries:
        _of_process(query)  # type: ignore[misc]


def dijkstra(graph: Graph) -> Callable[[int], Any]:
    """Return the search of a process: the compiled Dijkstra's algorithm."""
    return Solver(RenumberedGraph(graph), "dijkstra").distances


def one_to_many(graph: Graph, target_sets: Sequence[npt.NDArray[np.integer[Any]]]) -> Callable[[tuple[int, int]], Any]:
    """Return the search of a process: RoutingKit's query from a source to one of the sets of targets."""
    module = RoutingkitCch.load()
    metric, _ = RoutingkitCch.metric(module, graph, 120.0)
    pinned = [module.CCHOneToMany(metric, targets.tolist()) for targets in target_sets]
    return lambda query: pinned[query[0]].distances(query[1])


def _terminate() -> None:
    for process in active_children():
        process.terminate()


def cores(make: Callable[..., Any], arguments: Sequence[Any], query_sets: Sequence[Sequence[Any]]) -> list[float]:
    """Return the mean milliseconds per query of each set, with all cores busy; starting the processes is not counted.

    Parameters
    ----------
    make : callable
        Returns the function that answers the queries of a process. It must be defined at the top level of a module, so
        that processes can import it.
    arguments : sequence
        Arguments of `make`.
    query_sets : sequence of sequence
        Sets of queries.
    """
    workers = os.cpu_count() or 1
    found = []
    # Processes are spawned, not forked: an open device does not survive a fork.
    first = [queries[0] for queries in query_sets]
    context = get_context("spawn")
    given = (make, first, context.Barrier(workers), *arguments)
    with undoing(_terminate), ProcessPoolExecutor(workers, context, _begin, given) as pool:
        list(pool.map(_search, [[]] * workers))
        for queries in query_sets:
            parts = [queries[i : i + AT_A_TIME] for i in range(0, len(queries), AT_A_TIME)]
            began = time.perf_counter()
            list(pool.map(_search, parts))
            found.append(1e3 * (time.perf_counter() - began) / len(queries))
    return found
