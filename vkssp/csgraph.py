"""Shortest paths with the functions of scipy.sparse.csgraph, computed on a GPU or on all cores.

`dijkstra`, `shortest_path`, `johnson` and `bellman_ford` take the arguments of scipy's functions and return the same
distances, bit for bit. Predecessors may differ where several nodes before a node are equally near. Whatever needs no
search, or a search that this package does not have, is scipy's: matrices with negative, infinite or missing weights,
invalid arguments, and their errors.

Searches add up whole numbers. If the weights are no whole multiples of a power of two, a search finds the shortest-path
tree of rounded weights; then its paths are added up in float64, and improved until no arc makes one shorter
(`vkssp.cpu.kernels.float_trees`). So the result does not depend on the rounding.

The graph and its solver are kept for further calls with the same matrix; `clear_cache` frees them.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph as of_scipy
from scipy.sparse.csgraph import NegativeCycleError

from vkssp.checks import number_of
from vkssp.cores import num_cores, run_all
from vkssp.cpu.device import all_read_only, read_only
from vkssp.errors import DistanceOverflowError, GraphError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.graph.csr import rows_of
from vkssp.jit import kernels
from vkssp.solver.rescaling import PartGivenError
from vkssp.solver.solver import Solver
from vkssp.solver.trees import Trees

__all__ = ["NegativeCycleError", "bellman_ford", "clear_cache", "dijkstra", "johnson", "shortest_path"]

_MOST_NODES = 2**31 - 1
_EPS = float(np.finfo(np.float64).eps)
#: What predecessors and sources are where there are none.
NO_NODE = -9999

Floats = npt.NDArray[np.float64]
Int32s = npt.NDArray[np.int32]
_Answer = TypeVar("_Answer")


class _Rows(NamedTuple):
    """Compressed sparse rows of a matrix, as arcs."""

    first: npt.NDArray[Any]
    head: npt.NDArray[Any]
    weight: npt.NDArray[Any]

    def equals(self, other: _Rows) -> bool:
        """Return whether other rows are the same, of the same types."""
        return all(one.dtype == two.dtype and np.array_equal(one, two) for one, two in zip(self, other, strict=True))


class _Query(NamedTuple):
    """Question that a solver can answer: the matrix, its sources, and the largest distance that counts."""

    rows: _Rows
    directed: bool
    sources: npt.NDArray[np.int64]
    shape: tuple[int, ...]
    limit: float


class _Prepared(NamedTuple):
    """Solver for a matrix, kept for the next call, with a copy of the matrix and the process that has made it."""

    rows: _Rows
    directed: bool
    process: int
    solver: Solver
    weight: Floats
    exact_scale: float | None

    @property
    def is_exact(self) -> bool:
        """Whether distances are exact in float64, since all weights are multiples of a power of two."""
        return self.solver.graph.scale in (None, self.exact_scale)

    def suits(self, query: _Query) -> bool:
        """Return whether the solver is for the matrix of a question."""
        is_open = self.process == os.getpid() and not self.solver.session.closed
        return is_open and self.directed == query.directed and self.rows.equals(query.rows)


_kept: _Prepared | None = None
_lock = threading.Lock()


def clear_cache() -> None:
    """Close the solver of the last matrix, which is kept for the next call, and free its memory."""
    global _kept
    with _lock:
        kept, _kept = _kept, None
    if kept is not None and kept.process == os.getpid():
        kept.solver.close()


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
) -> Any:
    """Return shortest distances, and perhaps predecessors; see scipy.sparse.csgraph.dijkstra.

    Parameters
    ----------
    csgraph : array_like, masked array, or sparse array or matrix
        Weights, shape (N, N). Zeros of dense arrays, infinite and NaN entries are no arcs; stored zeros of sparse ones
        are arcs of weight zero.
    directed : bool
        Whether arcs lead in one direction only; if not, the lesser weight of both directions counts.
    indices : array_like of int, or int, optional
        Sources; by default all nodes.
    return_predecessors : bool
        Whether to return predecessors.
    unweighted : bool
        Whether each arc weighs 1.
    limit : float
        Distance beyond which nodes count as unreachable.
    min_only : bool
        Whether only the nearest of the sources counts for each node.

    Returns
    -------
    dist_matrix : numpy.ndarray
        Distances, shape ``(*indices.shape, N)``, or (N,) if `min_only`; float64, infinite where no path leads.
    predecessors : numpy.ndarray
        Node before each node, int32, of the same shape, -9999 where there is none; if `return_predecessors`.
    sources : numpy.ndarray
        Nearest source of each node, int32, shape (N,), -9999 where there is none; if `return_predecessors` and
        `min_only`.

    Raises
    ------
    ValueError
        As scipy does.

    Examples
    --------
    >>> from vkssp.csgraph import dijkstra
    >>> dijkstra([[0, 1, 2], [0, 0, 0.5], [0, 0, 0]], indices=0, return_predecessors=True)
    (array([0. , 1. , 1.5]), array([-9999,     0,     1], dtype=int32))
    """
    query = _query(csgraph, directed, indices, unweighted, limit)
    if query is None or (min_only and indices is None):
        return of_scipy.dijkstra(csgraph, directed, indices, return_predecessors, unweighted, limit, min_only)
    if min_only:
        return _nearest(query, return_predecessors)
    return _all(query, return_predecessors)


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
) -> Any:
    """Return shortest distances, and perhaps predecessors; see scipy.sparse.csgraph.shortest_path.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices
        See `dijkstra`; weights may be negative.
    method : str
        ``"auto"``, ``"FW"``, ``"D"``, ``"BF"`` or ``"J"``: how scipy searches where weights are negative. It makes no
        difference otherwise, but that ``"FW"`` takes no `indices`.
    overwrite : bool
        Whether ``"FW"`` may write the result into a dense matrix; it is scipy's then.

    Returns
    -------
    numpy.ndarray or tuple of numpy.ndarray
        See `dijkstra`.

    Raises
    ------
    NegativeCycleError, ValueError
        As scipy does.
    """
    is_known = isinstance(method, str) and method in ("auto", "FW", "D", "BF", "J")
    is_ours = is_known and not (method == "FW" and (overwrite or indices is not None))
    query = _query(csgraph, directed, indices, unweighted) if is_ours else None
    if query is None:
        options = method, directed, return_predecessors, unweighted, overwrite, indices
        return of_scipy.shortest_path(csgraph, *options)
    return _all(query, return_predecessors)


def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Return shortest distances, and perhaps predecessors; see scipy.sparse.csgraph.johnson.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        See `dijkstra`; weights may be negative.

    Returns
    -------
    numpy.ndarray or tuple of numpy.ndarray
        See `dijkstra`.

    Raises
    ------
    NegativeCycleError, ValueError
        As scipy does.
    """
    query = _query(csgraph, directed, indices, unweighted)
    if query is None:
        return of_scipy.johnson(csgraph, directed, indices, return_predecessors, unweighted)
    return _all(query, return_predecessors)


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Return shortest distances, and perhaps predecessors; see scipy.sparse.csgraph.bellman_ford.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        See `dijkstra`; weights may be negative.

    Returns
    -------
    numpy.ndarray or tuple of numpy.ndarray
        See `dijkstra`.

    Raises
    ------
    NegativeCycleError, ValueError
        As scipy does.
    """
    query = _query(csgraph, directed, indices, unweighted)
    if query is None:
        return of_scipy.bellman_ford(csgraph, directed, indices, return_predecessors, unweighted)
    return _all(query, return_predecessors)


def _query(csgraph: Any, directed: Any, indices: Any, unweighted: Any, limit: Any = np.inf) -> _Query | None:
    """Return what is asked, or None if scipy is to answer."""
    rows, most = _rows(csgraph), number_of(limit)
    if rows is None or most is None or not most >= 0:
        return None
    num_nodes = len(rows.first) - 1
    nodes = np.arange(num_nodes) if indices is None else np.asarray(indices)
    if nodes.dtype.kind not in "iu" or not nodes.size or not 0 < num_nodes <= _MOST_NODES:
        return None
    if int(nodes.min()) < -num_nodes or int(nodes.max()) >= num_nodes:
        return None
    if unweighted:
        rows = rows._replace(weight=np.ones(len(rows.head), np.uint32))
    sources = nodes.reshape(-1).astype(np.int64)
    return _Query(rows, bool(directed), sources % num_nodes, (*nodes.shape, num_nodes), float(most))


def _rows(csgraph: Any) -> _Rows | None:
    """Return the rows of a matrix that is given in any way scipy takes; None if it is none that can be searched."""
    if sparse.issparse(csgraph):
        matrix = csgraph.tocsr()
    else:
        try:
            if np.ma.isMaskedArray(csgraph):
                matrix = of_scipy.csgraph_from_masked(csgraph)
            else:
                array = np.asarray(csgraph)
                if array.dtype.kind not in "biuf":
                    return None
                matrix = of_scipy.csgraph_from_dense(array, nan_null=True, infinity_null=True)
        except (TypeError, ValueError):
            return None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        return None
    if matrix.dtype not in (np.int32, np.uint32) or not matrix.has_canonical_format:
        matrix = matrix.astype(np.float64, copy=False)  # which adds up parallel arcs of other types, as scipy does
    used = int(matrix.indptr[-1])  # the arrays may be longer
    weight = matrix.data[:used]
    # False for NaN, too.
    if used and not (weight.min() >= 0 and weight.max() < np.inf):
        return None
    return _Rows(matrix.indptr, matrix.indices[:used], weight)


def _both_ways(rows: _Rows) -> _Rows:
    """Return rows with each arc in both directions."""
    num_nodes = len(rows.first) - 1
    tail = np.repeat(np.arange(num_nodes, dtype=np.uint32), np.diff(rows.first))
    head = rows.head.astype(np.uint32)
    first, order = rows_of(np.concatenate([tail, head]), num_nodes)
    return _Rows(first, np.concatenate([head, tail])[order], np.concatenate([rows.weight, rows.weight])[order])


def _prepared(query: _Query) -> _Prepared:
    """Return a solver for the matrix of a question: that of the last call, if it is the same, or a new one."""
    global _kept
    with _lock:
        kept = _kept
    if kept is not None and kept.suits(query):
        return kept
    rows = query.rows if query.directed else _both_ways(query.rows)
    weight = rows.weight.astype(np.float64)
    try:
        graph = Graph.from_csr(*rows)
    except GraphError:  # integers beyond the largest weight
        graph = Graph.from_csr(rows.first, rows.head, weight)
    scale, exact_scale = graph.scale, None
    if scale is not None and math.frexp(scale)[0] == 0.5 and np.array_equal(graph.weight * scale, weight):
        exact_scale = scale
    copy = _Rows(*(array.copy() for array in query.rows))
    return _keep(_Prepared(copy, query.directed, os.getpid(), Solver(graph), weight, exact_scale))


def _keep(prepared: _Prepared) -> _Prepared:
    """Keep a solver; another thread may use the one before, which is closed once nothing refers to it."""
    global _kept
    with _lock:
        _kept = prepared
    return prepared


def _widened(prepared: _Prepared, error: DistanceOverflowError) -> _Prepared:
    """Keep and return a solver with distances of 64 bits in place of one whose distances do not fit."""
    if prepared.solver.graph.scale is not None:
        raise error
    return _keep(prepared._replace(solver=Solver(prepared.solver.graph, distance_bits=64)))


def _answered(prepared: _Prepared, ask: Callable[[_Prepared], _Answer]) -> _Answer:
    """Return what a function makes of a solver, made again where its distances do not fit or its unit has changed."""
    while True:
        graph = prepared.solver.graph
        try:
            answer = ask(prepared)
            if prepared.solver.graph is graph:
                return answer
        except PartGivenError:
            pass  # the unit is larger now
        except DistanceOverflowError as error:
            prepared = _widened(prepared, error)


def _all(query: _Query, with_predecessors: bool) -> Any:
    """Return distances from each source, and perhaps predecessors."""
    count, sources = len(query.sources), query.sources
    distance = np.empty((count, query.shape[-1]))
    before = np.empty((count if with_predecessors else 0, query.shape[-1]), np.int32)

    def write(prepared: _Prepared) -> None:
        at, solver, limit = 0, prepared.solver, _limit(query, prepared)
        if prepared.is_exact and not with_predecessors:
            for found in solver.distances(sources, limit=limit, chunked=True):
                _write_distances(found, distance[at : at + len(found)], query.limit)
                at += len(found)
            return
        finisher = _Finisher(prepared, query.limit)
        for trees in solver.trees(sources, limit=limit, chunked=True):
            here = slice(at, at + len(trees.arc))
            roots = [sources[row : row + 1] for row in range(here.start, here.stop)]
            finisher.finish(trees, roots, distance[here], before[here] if with_predecessors else None)
            at = here.stop

    _answered(_prepared(query), write)
    found = distance.reshape(query.shape)
    return (found, before.reshape(query.shape)) if with_predecessors else found


def _nearest(query: _Query, with_predecessors: bool) -> Any:
    """Return the distance from the nearest source, and perhaps predecessors and these sources."""
    seeds, num_nodes = np.unique(query.sources), query.shape[-1]
    distance, before = np.empty((1, num_nodes)), np.empty((1, num_nodes), np.int32)

    def write(prepared: _Prepared) -> None:
        solver = prepared.solver
        tree = solver.trees([(int(node), 0) for node in seeds], limit=_limit(query, prepared))
        row = Trees(tree.distance[None], tree.arc[None], solver.graph)
        _Finisher(prepared, query.limit).finish(row, [seeds], distance, before)

    _answered(_prepared(query), write)
    if not with_predecessors:
        return distance[0]
    sources = np.empty(num_nodes, np.int32)
    kernel = kernels("vkssp.cpu.kernels.float_trees").find_roots
    kernel(distance[0], before[0], np.empty(num_nodes, np.int32), sources)
    return distance[0], before[0], sources


def _limit(query: _Query, prepared: _Prepared) -> Any:
    """Return the limit of a search that finds all nodes within the limit, perhaps others."""
    graph = prepared.solver.graph
    if query.limit == np.inf:
        return None
    if graph.scale is None:
        return None if query.limit >= UNREACHABLE - 1 else int(query.limit)
    if prepared.is_exact:
        return query.limit
    slack = 2 * graph.weight_error * graph.num_nodes + graph.scale
    return query.limit * (1 + 4 * _EPS * graph.num_nodes) + slack


def _write_distances(found: npt.NDArray[Any], distance: Floats, limit: float) -> None:
    """Write distances that a solver has found as float64, infinite beyond a limit and where no path leads."""
    distance[:] = found
    if found.dtype.kind == "u":
        distance[found == np.iinfo(found.dtype).max] = np.inf
    if limit < np.inf:
        distance[distance > limit] = np.inf  # a search takes a limit for a multiple of the unit that is close to it


class _Finisher:
    """Maker of exact distances, and of scipy's predecessors, from trees."""

    def __init__(self, prepared: _Prepared, limit: float) -> None:
        graph = prepared.solver.graph
        self._arcs = all_read_only(graph.first_out, graph.head, graph.tail, prepared.weight)
        self._is_exact, self._limit = prepared.is_exact, limit
        self._kernels = kernels("vkssp.cpu.kernels.float_trees")

    def finish(self, trees: Trees, roots: list[npt.NDArray[np.int64]], distance: Floats, before: Int32s | None) -> None:
        """Write the distances and predecessors of some trees, given their sources, on all cores."""
        first_out, head, _, weight = self._arcs
        step = -(-len(distance) // num_cores())

        def some(first: int) -> None:
            num_nodes = distance.shape[1]
            room = np.empty(num_nodes, np.int32), np.empty(num_nodes, np.uint8)
            spare = np.empty(num_nodes, np.int32)
            for row in range(first, min(first + step, len(distance))):
                found = distance[row], spare if before is None else before[row]
                if self._is_exact:
                    _write_distances(trees.distance[row], found[0], self._limit)
                    found[1][:] = trees.predecessor[row].view(np.int32)
                    found[1][found[0] == np.inf] = NO_NODE
                    # Also a source that another one reaches by arcs of weight zero.
                    found[1][roots[row]] = NO_NODE
                else:
                    given = *self._arcs, read_only(trees.arc[row]), read_only(roots[row]), self._limit
                    self._kernels.refine(*given, *room, *found)
                if before is not None:
                    self._kernels.prefer_near(first_out, head, weight, *found)

        if self._is_exact:
            _ = trees.predecessor  # computed once, not by each thread
        run_all([partial(some, first) for first in range(0, len(distance), step)])
