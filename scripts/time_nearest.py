#!/usr/bin/env python3
"""The nearest of some sources to every node: times of calls by an algorithm, by Dijkstra on one core, and by scipy.

  scripts/time_nearest.py USA-road-t.NY.gr.gz --device 0
  scripts/time_nearest.py iceland.graph --algorithm block_resident --sources 1 100 --device 0 --json nearest.json

Each line has the milliseconds of `Solver.distances` of all sources together, and of `Solver.nearest`, which also tells
the source of each node: medians and quartiles. scipy's is `csgraph.dijkstra(min_only=True, return_predecessors=True)`.
Distances are compared with the compiled Dijkstra's, and so are sources.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from vkssp import UNREACHABLE, Graph, QueryError, Solver
from vkssp.bench.evaluation import exit_code
from vkssp.bench.filled_graph import read_filled_graph
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table, tuned_values
from vkssp.files import check_writable
from vkssp.options import file_name
from vkssp.terminal import print_lines

#: Calls of scipy that count.
OF_SCIPY = 3


def timed(call: Callable[[], Any], calls: int, warm_up_s: float = 0.0) -> tuple[list[float], Any]:
    """Return the median and the quartiles of the milliseconds of calls after others, and the last result."""
    found, awake = call(), time.perf_counter() + warm_up_s
    while time.perf_counter() < awake:
        call()
    milliseconds = []
    for _ in range(calls):
        began = time.perf_counter()
        found = call()
        milliseconds.append(1e3 * (time.perf_counter() - began))
    return [float(np.quantile(milliseconds, part)) for part in (0.5, 0.25, 0.75)], found


def check(is_right: bool, what: str) -> None:
    """End the script if a condition is false."""
    if not is_right:
        raise SystemExit(f"wrong {what}")


def of_scipy(graph: Graph, sources: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Return the times of scipy, and its distances."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    size = graph.num_nodes, graph.num_nodes
    matrix = csr_matrix((graph.weight.astype(np.float64), graph.head, graph.first_out), size)
    times, (distances, _, _) = timed(
        lambda: dijkstra(matrix, indices=sources, min_only=True, return_predecessors=True), OF_SCIPY
    )
    return times, distances


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Time all calls, compare, and return the result."""
    rng, rows = np.random.default_rng(args.seed), list[dict[str, Any]]()
    # scipy takes arcs of weight zero for none.
    has_scipy = find_spec("scipy") is not None and bool(graph.num_arcs and graph.weight.min() > 0)
    with Solver(graph, args.algorithm, args.device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        for count in args.sources:
            sources = rng.integers(0, graph.num_nodes, count)
            seeds, row = [(node, 0) for node in sources.tolist()], {"sources": count}
            for name, of in (("", solver), ("dijkstra_", reference)):
                calls, warm_up_s = (args.calls, args.warm_up) if of is solver else (OF_SCIPY, 0.0)
                row[f"{name}distances_ms"], distances = timed(partial(of.distances, seeds), calls, warm_up_s)
                row[f"{name}nearest_ms"], nearest = timed(partial(of.nearest, sources), calls, warm_up_s)
                if of is solver:
                    found = distances, nearest
            check(np.array_equal(found[0], distances), f"distances from {count} sources")
            check(np.array_equal(found[1].distance, distances), f"distances to the nearest of {count} sources")
            check(np.array_equal(found[1].source, nearest.source), f"nearest of {count} sources")
            if has_scipy:
                row["scipy_ms"], others = of_scipy(graph, sources)
                others = np.where(np.isinf(others), UNREACHABLE, others)
                check(np.array_equal(others, distances), f"distances from {count} sources by scipy")
            rows.append(row)
        result = where_and_when(solver.session.shared.device)
        result |= {"algorithm": solver.algorithm, "nodes": graph.num_nodes, "arcs": graph.num_arcs}
    return result | {"digest": digest(graph), "graph": args.graph, "seed": args.seed, "rows": rows}


def report(result: dict[str, Any]) -> list[str]:
    """Return the table."""
    columns = {
        "distances_ms": f"{result['algorithm']}, distances",
        "nearest_ms": "with sources",
        "dijkstra_distances_ms": "one core, distances",
        "dijkstra_nearest_ms": "with sources",
        "scipy_ms": "scipy",
    }
    rows = []
    for row in result["rows"]:
        cells = ("{} ({}..{})".format(*map(number, row[name])) if name in row else "" for name in columns)
        rows.append((f"{row['sources']:,}", *cells))
    return [
        f"{result['device']['name']} ({result['device']['driver']}), {result['commit']}; {result['graph']}, "
        f"{result['nodes']:,} nodes; milliseconds of a call, medians and quartiles",
        *tuned_values(result),
        "",
        *table(("sources", *columns.values()), rows),
    ]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    counts = [1, 10, 100, 1000, 10_000]
    parser.add_argument("--sources", type=int, nargs="+", default=counts, metavar="N", help="numbers of sources")
    parser.add_argument("--algorithm", default="auto", help="algorithm of the device (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=15, metavar="N", help="calls of each (default: %(default)s)")
    awake = "seconds of calls of each kind before those that count (default: %(default)s)"
    parser.add_argument("--warm-up", type=float, default=0.5, metavar="S", help=awake)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="'cpu', or index or part of the name of a device (default: the fastest kind)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(*args.sources, args.calls) < 1 or min(args.seed, args.warm_up) < 0:
            raise QueryError("--sources and --calls take 1 or more, --warm-up and --seed 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        result = measure(read_filled_graph(args.graph), args)
        if args.json_file:
            save_result(args.json_file, result)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
