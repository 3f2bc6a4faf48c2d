"""Query times by Dijkstra rank: from a source, the target of rank 2**k is the 2**k-th node that Dijkstra settles.

The times show how an algorithm performs on near and on far targets, whatever the size and the metric of the network.
The plot is from P. Sanders, D. Schultes, "Highway hierarchies hasten exact shortest path queries", ESA 2005.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import vkssp
from vkssp.algorithm import AUTO
from vkssp.algorithms.registry import ALGORITHMS
from vkssp.bench.experiment import Run
from vkssp.bench.measuring import digest, far_sources, where_and_when
from vkssp.bench.peers import RoutingkitCch, RoutingkitCchPairs
from vkssp.errors import FormatError, QueryError, VksspError
from vkssp.files import atomic_write, check_ending
from vkssp.gpu.device import Device
from vkssp.graph import Graph
from vkssp.solver.solver import Solver

#: Name and version of the format of result files; a change that affects readers increments the version.
FORMAT = "vkssp dijkstra rank 1"
#: Columns of a file of queries.
COLUMNS = ("rank", "source", "target", "distance")
#: Methods that are not algorithms of a solver.
BIDIRECTIONAL = "bidirectional"
#: Method that names neither an algorithm nor a device: the CPU beside a device, if there is one.
DEFAULT = "default"
CCH = RoutingkitCch.NAME
_OTHERS = (DEFAULT, BIDIRECTIONAL, CCH)
_PLACES = {DEFAULT: DEFAULT, BIDIRECTIONAL: "cpu", CCH: "peer"}
#: References for comparisons: methods for a single target.
REFERENCES = ("dijkstra", BIDIRECTIONAL, CCH)


@dataclass(frozen=True)
class Queries:
    """Queries for one graph: sources, targets and their ranks.

    Attributes
    ----------
    sha256 : str
        Digest of the graph, see `vkssp.bench.measuring.digest`.
    rank, source, target, distance : numpy.ndarray
        For each query the base-2 logarithm of the rank, two node ids, and the distance, shape (k,), int64.
    """

    sha256: str
    rank: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    distance: npt.NDArray[np.int64]

    def save(self, path: str | Path) -> None:
        """Write the queries as CSV, with the columns `COLUMNS` after a line that names the graph by its digest."""
        check_ending(path, "CSV")
        table = np.stack([self.rank, self.source, self.target, self.distance], axis=1)
        with atomic_write(path) as stream:
            stream.write(f"# graph sha256 {self.sha256}\n{','.join(COLUMNS)}\n".encode())
            np.savetxt(stream, table, fmt="%d", delimiter=",")

    @classmethod
    def load(cls, path: str | Path, graph: Graph) -> Queries:
        """Read the queries of a file, which must be for this graph.

        Raises
        ------
        FormatError
            If the file holds no queries, or queries for another graph.
        """
        try:
            with Path(path).open(encoding="utf-8", errors="replace", newline="") as stream:
                lines: list[list[str]] = [*csv.reader(stream), [], []]
        except FileNotFoundError:
            raise FormatError(f"{path} does not exist; check the path") from None
        except (OSError, csv.Error) as error:
            raise FormatError(f"cannot read queries from {path}: {error}; draw new ones") from None
        first, header, rows = lines[0], lines[1], lines[2:]
        sha256 = digest(graph)
        if first[:1] != [f"# graph sha256 {sha256}"]:
            raise FormatError(f"{path} has no queries for this graph; draw new ones, or give the graph that it names")
        try:
            table = np.array([list(map(int, row)) for row in rows if row], np.int64).reshape(-1, len(COLUMNS))
        except (ValueError, OverflowError):
            table = np.empty((0, len(COLUMNS)), np.int64)
        outside = (table < 0).any() or (table[:, 1:3] >= graph.num_nodes).any()
        if tuple(header) != COLUMNS or not len(table) or outside:
            raise FormatError(f"{path} does not hold {', '.join(COLUMNS)} of nodes of this graph; draw new queries")
        return cls(sha256, *table.T)

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Queries:
        """Return the queries of a result."""
        columns = (np.array(result["queries"][name], np.int64) for name in COLUMNS)
        return cls(result["graph"]["sha256"], *columns)


def draw_queries(graph: Graph, sources: int, seed: int = 1) -> Queries:
    """Draw queries of all ranks from random sources that reach more than a tenth of the nodes.

    Raises
    ------
    QueryError
        If there are too few such sources, a number is out of range, or numba is not installed.
    """
    from vkssp.cpu.dijkstra import settle_order

    for name, value, low in (("sources", sources, 1), ("seed", seed, 0)):
        if value < low:
            raise QueryError(f"{name} is {value}; give {low} or more")
    rows: list[npt.NDArray[np.int64]] = []
    for source, distances, _ in far_sources(graph, sources, seed):
        order = settle_order(graph, source)
        rank = np.arange(1, int(np.log2(len(order))) + 1)
        target = order[(1 << rank) - 1].astype(np.int64)
        rows.append(np.stack([rank, np.full_like(rank, source), target, distances[target].astype(np.int64)]))
    columns = np.concatenate(rows, axis=1)
    if not columns.size:
        raise QueryError("the graph has no node that reaches another; choose a graph with arcs")
    return Queries(digest(graph), *columns)


def check_methods(methods: Sequence[str]) -> None:
    """Raise `QueryError` if there is no method, a method is unknown, or the only method is not installed."""
    if not methods:
        raise QueryError("there is nothing to measure; give a method at least, such as near_far")
    for method in methods:
        name = method.partition(",")[0]
        if name.partition("@")[0] not in (AUTO, *ALGORITHMS, *_OTHERS):
            known = ", ".join((AUTO, *ALGORITHMS, *_OTHERS))
            raise QueryError(f"method is {method!r}; choose some of {known}")
        if name not in _OTHERS:
            Run.parse(method)
        elif name != method:
            raise QueryError(f"method is {method!r}; {name} has no parameters, leave them out")
    if set(methods) == {CCH}:
        try:
            RoutingkitCch.load()
        except QueryError as error:
            raise QueryError(f"{CCH}: {error}") from None


def measure_ranks(
    graph: Graph,
    queries: Queries,
    methods: Sequence[str],
    device: Device,
    *,
    warm_up_s: float = 0.7,
    limit_s: float = 600.0,
) -> Iterator[dict[str, Any]]:
    """Time every query by each method, from the call to the distance.

    The queries run rank by rank: a search also clears the state that the previous search left, and should not pay for a
    previous search that went farther.

    Parameters
    ----------
    graph : Graph
        The graph of the queries.
    queries : Queries
        The queries.
    methods : sequence of str
        Algorithms with parameters, in the form of `Run.parse`, ``"bidirectional"`` or ``"routingkit-cch"``.
    device : Device
        The device for the methods that need one.
    warm_up_s : float
        Seconds of queries before the timed ones.
    limit_s : float
        Seconds that the hierarchy of routingkit-cch may take.

    Yields
    ------
    dict
        A row for each method: the place where it runs, the milliseconds of the setup, and those of every query; or an
        error if the method is not available for this graph or at all.

    Raises
    ------
    QueryError
        If a method is unknown.
    VksspError
        If a distance is wrong, or no method could be run.
    """
    check_methods(methods)
    errors: list[str] = []
    for method in methods:
        row: dict[str, Any] = {
            "method": method,
            "runs_on": _PLACES[method] if method in _PLACES else Run.parse(method).runs_on,
            "version": None if method == CCH else vkssp.__version__,
            "setup_ms": None,
            "query_ms": [],
            "verified": False,
            "error": None,
        }
        with ExitStack() as stack:
            try:
                began = time.perf_counter()
                ask, checked_s = _method(graph, method, device, stack, int(queries.distance.max()), limit_s)
                row["setup_ms"] = 1e3 * (time.perf_counter() - began - checked_s)
                if method == CCH:
                    row["version"] = RoutingkitCch.version()
            except VksspError as error:  # not installed, or unfit for the graph; the other methods go on
                row["error"] = str(error)
                errors.append(f"{method}: {error}")
            else:
                row["query_ms"] = _time_queries(method, ask, queries, warm_up_s)
                row["verified"] = True
        yield row
    if len(errors) == len(methods):
        raise VksspError(f"no method could be run; {'; '.join(errors)}")


def _time_queries(method: str, ask: Callable[[int, int], int], queries: Queries, warm_up_s: float) -> list[float]:
    asked = list(zip(queries.source.tolist(), queries.target.tolist(), queries.distance.tolist(), strict=True))
    by_rank = np.argsort(queries.rank, kind="stable").tolist()
    began = time.perf_counter()
    while time.perf_counter() - began < warm_up_s:
        ask(*asked[by_rank[-1]][:2])
    ask(*asked[by_rank[0]][:2])
    times = [0.0] * len(asked)
    for place in by_rank:
        source, target, expected = asked[place]
        started = time.perf_counter()
        found = ask(source, target)
        times[place] = 1e3 * (time.perf_counter() - started)
        if found != expected:
            raise VksspError(f"{method} finds {found} from node {source} to node {target}, not {expected}")
    return times


def _method(
    graph: Graph, method: str, device: Device, stack: ExitStack, farthest: int, limit_s: float
) -> tuple[Callable[[int, int], int], float]:
    """Return the function that answers a query, and the seconds of the checks whether the method can be used."""
    if method == BIDIRECTIONAL:
        from vkssp.cpu.bidirectional import BidirectionalDijkstra
        from vkssp.cpu.device import CpuGraph
        from vkssp.prepared.renumbered import RenumberedGraph

        renumbered = RenumberedGraph(graph)
        search = stack.enter_context(BidirectionalDijkstra(stack.enter_context(CpuGraph(renumbered))))
        node = renumbered.node.tolist()
        return lambda source, target: search.distance(node[source], node[target]), 0.0
    if method == CCH:
        module = RoutingkitCch.load()
        if farthest > RoutingkitCch.LARGEST:
            raise QueryError(f"the largest distance is {farthest}, and it holds {RoutingkitCch.LARGEST} at most")
        pairs = RoutingkitCchPairs(module, graph, limit_s)
        return pairs.distance, pairs.checked_s
    if method == DEFAULT:
        return stack.enter_context(Solver(graph)).distance, 0.0
    return stack.enter_context(Run.parse(method).solver(graph, device)).distance, 0.0


def start_result(
    name: str, graph: Graph, queries: Queries, device: Device, *, seed: int | None, **settings: object
) -> dict[str, Any]:
    """Return a result without rows: device, host, version, commit, graph, settings and queries.

    Parameters
    ----------
    name : str
        Name of the graph.
    graph : Graph
        The graph.
    queries : Queries
        The queries.
    device : Device
        The device for the methods that need one.
    seed : int or None
        Seed of the sources; None if the queries were drawn before.
    **settings : object
        Further settings to keep, such as the options for reading the file and the arguments of `measure_ranks`.

    Returns
    -------
    dict
        The result for `save_result` of `vkssp.bench.result`; the rows go to ``"methods"``.
    """
    return {
        "format": FORMAT,
        **where_and_when(device),
        "graph": {"graph": name, "nodes": graph.num_nodes, "arcs": graph.num_arcs, "sha256": queries.sha256},
        "seed": seed,
        **settings,
        "queries": {column: getattr(queries, column).tolist() for column in COLUMNS},
        "methods": [],
    }


def load_ranks(path: str | Path) -> dict[str, Any]:
    """Read a result that was saved as JSON.

    Raises
    ------
    FormatError
        If the file is not such a result.
    """
    again = "give a file that scripts/dijkstra_rank.py --json wrote"
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}; {again}") from None
    except ValueError as error:
        raise FormatError(f"{path} is no result by Dijkstra rank ({error}); {again}") from None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise FormatError(f"{path} is no result by Dijkstra rank of this version; {again}")
    try:
        measured, asked = {len(times) for times in times_of(result).values()}, len(Queries.of(result).rank)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is damaged ({error!r}); {again}") from None
    if measured != {asked}:
        raise FormatError(f"{path} does not have the time of each query by a method at least; {again}")
    return result


def save_rank_csv(path: str | Path, result: Mapping[str, Any]) -> None:
    """Write rank, source, target and milliseconds of each query as CSV, with a column for each method that was run."""
    check_ending(path, "CSV")
    queries, times = Queries.of(result), times_of(result)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS[:3], *times))
    for ends, milliseconds in zip(
        zip(queries.rank, queries.source, queries.target, strict=True), zip(*times.values(), strict=True), strict=True
    ):
        writer.writerow((*ends, *(f"{value:.6g}" for value in milliseconds)))
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def times_of(result: Mapping[str, Any]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the milliseconds of every query, for each method that was run."""
    return {row["method"]: np.array(row["query_ms"]) for row in result["methods"] if row["error"] is None}


def medians(queries: Queries, times: npt.NDArray[np.float64]) -> dict[int, float]:
    """Return the median time of each rank."""
    return {rank: float(np.median(times[queries.rank == rank])) for rank in np.unique(queries.rank).tolist()}


def crossover(queries: Queries, times: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]) -> int | None:
    """Return the rank from which on a method's medians are below a reference's; None if the last median is not."""
    mine, other = medians(queries, times), medians(queries, reference)
    found = None
    for rank in sorted(mine, reverse=True):
        if mine[rank] >= other[rank]:
            break
        found = rank
    return found
