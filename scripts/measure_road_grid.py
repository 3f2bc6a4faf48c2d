#!/usr/bin/env python3
"""Times of one-to-all and far point-to-point searches on a synthetic road grid, every distance checked against scipy.

docs/performance-log.md has figures for the default grid of 4096 x 4096. scipy takes some 20 s and 2 GiB for each of its
sources. On a software device use --side 512.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from scipy.sparse import csgraph
from tqdm import tqdm

from vkssp import UNREACHABLE, Graph, Solver
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import commit
from vkssp.bench.result import save_result
from vkssp.choices import REDUCTIONS
from vkssp.files import check_writable
from vkssp.generate import road_grid
from vkssp.options import file_name
from vkssp.terminal import print_lines

#: Seconds of searches before the timed ones.
WARM_UP_S = 0.7


def largest_component(graph: Graph) -> np.ndarray:
    """Return the nodes of the largest component."""
    _, label = csgraph.connected_components(graph.to_scipy().astype(np.bool_), directed=False)
    return np.flatnonzero(label == np.argmax(np.bincount(label)))


def reference(matrix: Any, source: int) -> np.ndarray:
    """Return all distances from a source by scipy's Dijkstra."""
    distance = csgraph.dijkstra(matrix, indices=source)
    return np.where(np.isinf(distance), UNREACHABLE, distance).astype(np.uint32)


def figures(values: list[float]) -> dict[str, float]:
    """Return median, quartiles and extremes."""
    low, quarter, median, three_quarters, high = np.percentile(values, [0, 25, 50, 75, 100]).tolist()
    return {"median": median, "q1": quarter, "q3": three_quarters, "min": low, "max": high}


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Run everything and return the result."""
    graph = road_grid(args.side)
    rng = np.random.default_rng(args.seed)
    sources = [int(s) for s in rng.choice(largest_component(graph), args.sources)]
    matrix = graph.to_scipy().astype(np.float64)
    rows = ("one-to-all, device", "one-to-all, call", "with download, call")
    times: dict[str, list[float]] = {
        row: [] for row in (*rows, "far target, device", "far target, call", "far route, call")
    }
    settings = dict(pair.split("=") for pair in args.set)
    values = {name: int(value) for name, value in settings.items()}
    began = time.perf_counter()
    with Solver(graph, args.algorithm, args.device, reduction=args.reduction, **values) as solver:
        made_s = time.perf_counter() - began
        info = solver.device.info
        solver.distances(sources[0])
        solver.distance(sources[0], sources[0])
        solver.path(sources[0], sources[0])
        for source in tqdm(sources, "sources", disable=None):
            expected = reference(matrix, source)
            # Not timed: during the reference the device fell asleep, and memory had other uses.
            found = solver.distances(source)
            if not np.array_equal(found, expected):
                raise SystemExit(f"wrong distances from {source}")
            # The clock needs a while to rise.
            began = time.perf_counter()
            while time.perf_counter() - began < WARM_UP_S:
                solver.search([(source, 0)])
            began = time.perf_counter()
            solver.distances(source)
            times["with download, call"].append(1e3 * (time.perf_counter() - began))
            # The search alone: the distances stay on the device.
            began = time.perf_counter()
            outcome = solver.search([(source, 0)])
            times["one-to-all, call"].append(1e3 * (time.perf_counter() - began))
            times["one-to-all, device"].append(outcome.device_ms)
            reached = np.flatnonzero(expected != UNREACHABLE)
            by_distance = reached[np.argsort(expected[reached])]
            target = int(by_distance[int(0.99 * len(by_distance))])
            began = time.perf_counter()
            distance = solver.distance(source, target)
            times["far target, call"].append(1e3 * (time.perf_counter() - began))
            assert solver.last is not None
            times["far target, device"].append(solver.last.device_ms)
            began = time.perf_counter()
            route = solver.path(source, target)
            times["far route, call"].append(1e3 * (time.perf_counter() - began))
            path_weight = int(graph.weight[route.arcs].sum(dtype=np.uint64))
            if not distance == route.weight == path_weight == expected[target]:
                raise SystemExit(f"wrong distance from {source} to {target}")
    return {
        "graph": f"road_grid({args.side})",
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "sources": sources,
        "algorithm": args.algorithm,
        "parameters": settings,
        "reduction": args.reduction,
        "making_the_solver_s": made_s,
        "device": info.name,
        "driver": info.driver,
        "api_version": info.api_version,
        "commit": commit() or "unknown",
        "verified": True,
        "counters": solver.last.counters,
        "milliseconds": {name: figures(values) for name, values in times.items()},
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=4096, help="nodes along a side (default: 4096)")
    parser.add_argument("--sources", type=int, default=8, help="random sources in the largest component (default: 8)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the sources (default: 7)")
    parser.add_argument("--algorithm", default="near_far", help="default: near_far")
    parser.add_argument("--reduction", choices=REDUCTIONS, help="default: none, or auto if the algorithm is auto")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=N", help="a parameter of the algorithm")
    parser.add_argument("--device", help="index or part of the name")
    parser.add_argument("--json", type=file_name, metavar="FILE", help="also write the result to a file")
    args = parser.parse_args()
    return exit_code(lambda: report(args))


def report(args: argparse.Namespace) -> None:
    """Measure, print the result, and write it to a file if requested."""
    if args.json:
        check_writable(args.json, content="JSON")
    result = measure(args)
    lines = [
        f"{result['graph']}: {result['nodes']:,} nodes, {result['arcs']:,} arcs; {len(result['sources'])} sources",
        f"{result['algorithm']} on {result['device']} ({result['driver']}), commit {result['commit']}",
        f"{'milliseconds':22}{'median':>10}{'quartiles':>20}{'range':>20}",
    ]
    for name, row in result["milliseconds"].items():
        quartiles, extremes = f"{row['q1']:.1f}..{row['q3']:.1f}", f"{row['min']:.1f}..{row['max']:.1f}"
        lines.append(f"{name:22}{row['median']:10.1f}{quartiles:>20}{extremes:>20}")
    print_lines([*lines, "all distances checked against scipy"])
    if args.json:
        save_result(args.json, result)


if __name__ == "__main__":
    sys.exit(main())
