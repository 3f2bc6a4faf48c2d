#!/usr/bin/env python3
"""Times of queries on a prepared graph: trees, pairs, routes by each method to find them, a table, new weights.

  scripts/time_queries.py USA-road-t.NY.gr.gz --json ny.json
  scripts/time_queries.py ny40.graph            # such as scripts/prepare_copies.py writes

Three methods find routes: a sweep and a walk back, unpacking from the hierarchy, and the presumably faster of the two.
Their arcs are compared with each other; lengths of some routes, trees and pairs with the compiled Dijkstra's distances.
Calls are timed one by one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from vkssp import UNREACHABLE, Graph, QueryError, Solver, prepare
from vkssp.algorithms import phast
from vkssp.bench.evaluation import exit_code
from vkssp.bench.filled_graph import read_filled_graph
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table, tuned_values
from vkssp.files import check_writable
from vkssp.gpu.device import Device
from vkssp.options import file_name
from vkssp.terminal import print_lines

#: Methods to find routes, by the attributes of `phast` that they replace.
WAYS: dict[str, dict[str, Callable[..., int]]] = {
    "sweep and walk": {"can_unpack": lambda *_: False},
    "unpacked": {"longest_path": lambda *_: UNREACHABLE - 1},
    "the faster one": {},
}
#: Trees and routes compared with Dijkstra's, and pairs in one call.
CHECKED, MANY = 4, 10_000


def times(act: Callable[[Any], Any], arguments: Iterable[Any]) -> dict[str, float]:
    """Return the median and the quartiles of the milliseconds that calls take."""
    found = []
    for argument in arguments:
        began = time.perf_counter()
        act(argument)
        found.append(1e3 * (time.perf_counter() - began))
    low, middle, high = np.percentile(found, (25, 50, 75))
    return {"ms": float(middle), "low_ms": float(low), "high_ms": float(high), "calls": len(found)}


def check(is_right: bool, what: str) -> None:
    """End the script if a condition is false."""
    if not is_right:
        raise SystemExit(f"wrong {what}")


def paths(graph: Graph, device: Device, ends: list[list[int]], way: str) -> tuple[dict[str, float], list[Any]]:
    """Time routes by one method to find them, and return times and routes."""
    with ExitStack() as stack:
        for name, answer in WAYS[way].items():
            stack.enter_context(patch.object(phast, name, answer))
        solver = stack.enter_context(Solver(graph, "phast", device))
        found: list[Any] = []
        for source, target in ends[:10]:
            solver.search_path([(source, 0)], [(target, 0)])
        row = times(lambda pair: found.append(solver.search_path([(pair[0], 0)], [(pair[1], 0)])), ends)
    return row, found


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Run the queries, compare, and return the result."""
    graph = graph if graph.hierarchy is not None else prepare(graph, progress=True)
    rng = np.random.default_rng(args.seed)
    ends = rng.integers(0, graph.num_nodes, (args.queries, 2)).tolist()
    many = rng.integers(0, graph.num_nodes, (2, MANY))
    nodes = rng.integers(0, graph.num_nodes, args.table)
    rows: dict[str, dict[str, float]] = {}
    with Device(args.device) as device, Solver(graph, "dijkstra") as reference:
        reference.distances(0)  # loads compiled code
        expected: dict[int, np.ndarray] = {}
        rows["Dijkstra, all distances, one core"] = times(
            lambda source: expected.update({source: reference.distances(source)}),
            [source for source, _ in ends[:CHECKED]],
        )
        with Solver(graph, "phast", device) as solver:
            for source, distances in expected.items():
                check(np.array_equal(solver.distances(source), distances), f"distances from {source}")
            on_device: list[float] = []

            def tree(source: int) -> None:
                solver.distances(source)
                assert solver.last is not None
                on_device.append(solver.last.device_ms)

            rows["a tree, in the host's memory"] = times(tree, [source for source, _ in ends[:11]])
            rows["a tree, on the device"] = {"ms": float(np.median(on_device)), "calls": len(on_device)}
            solver.distance(*ends[0])
            rows["a pair"] = times(lambda pair: solver.distance(*pair), ends)
            for source, distances in expected.items():
                found = solver.pairs(np.full(MANY, source), many[1])
                check(np.array_equal(found, distances[many[1]]), f"pairs from {source}")
            rows[f"{MANY:,} pairs"] = times(lambda _: solver.pairs(*many), range(9))
            title = f"table of {args.table:,} by {args.table:,}"
            rows[f"{title}, the first"] = times(lambda _: list(solver.table(nodes, nodes, chunked=True)), range(1))
            rows[title] = times(lambda _: list(solver.table(nodes, nodes, chunked=True)), range(9))
            rows["new weights"] = times(lambda _: solver.set_weights(graph.weight), range(5))
        found_by = {}
        for way in WAYS:
            rows[f"a path, {way}"], found_by[way] = paths(graph, device, ends, way)
        first, *others = found_by.values()
        for place, (source, target) in enumerate(ends):
            one = first[place]
            for other in (found[place] for found in others):
                same = one is None or (one[:3] == other[:3] and np.array_equal(one[3], other[3]))
                check((one is None) == (other is None) and same, f"route from {source} to {target}")
            if source in expected:
                length = UNREACHABLE if one is None else one[0]
                check(length == int(expected[source][target]), f"length from {source} to {target}")
        head = where_and_when(device)
    return {
        **head,
        "graph": args.graph,
        "digest": digest(graph),
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "seed": args.seed,
        "median_route_arcs": float(np.median([len(one[3]) for one in first if one is not None] or [0])),
        "rows": rows,
    }


def report(result: dict[str, Any]) -> list[str]:
    """Return the table."""
    rows = [
        (name, number(row["ms"]), *(number(row[key]) if key in row else "" for key in ("low_ms", "high_ms")))
        for name, row in result["rows"].items()
    ]
    return [
        f"{result['graph']}: {result['nodes']:,} nodes, {result['arcs']:,} arcs, routes of "
        f"{result['median_route_arcs']:,.0f} arcs; {result['device']['name']}, {result['commit']}",
        *tuned_values(result),
        "",
        *table(("milliseconds", "median", "from", "to"), rows),
    ]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    parser.add_argument("--queries", type=int, default=70, metavar="N", help="pairs and routes (default: %(default)s)")
    parser.add_argument("--table", type=int, default=1000, metavar="N", help="sources, targets (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(args.queries, args.table) < 1 or args.seed < 0:
            raise QueryError("--queries and --table take 1 or more, --seed 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        result = measure(read_filled_graph(args.graph), args)
        if args.json_file:
            save_result(args.json_file, result)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
