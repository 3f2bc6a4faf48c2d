#!/usr/bin/env python3
"""Time algorithms on graphs, one to all, every distance checked against the compiled Dijkstra in the same run.

A graph is an expression such as road:1024, rmat:20 or random:98304,200 (see vkssp/generate), or a file. A run is an
algorithm, with parameters after it where others than the defaults are meant:

    scripts/measure_algorithms.py rmat:20 --run bellman_ford_edge --run bellman_ford_edge,segment=0,read_only=0

Without --run all algorithms on the device are timed. Times are milliseconds by the device's clock, from the reset of
the distances to the last one written, of a device that was kept busy before; counters are taken from a search of their
own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from vkssp import ALGORITHMS, Graph, Solver, VksspError, read_graph
from vkssp.generate import from_expression, is_expression
from vkssp.gpu.device import Device

#: Seconds of searches before some are timed, and how many of each source are.
WARM_UP_S, REPETITIONS = 0.7, 3
HEADER = ("median", "q1", "q3", "iterations", "us/iteration", "worked/visited", "relaxed/arcs", "upload", "download")


def commit() -> str:
    """Return the commit that is measured, marked where files differ from it."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def parse_run(text: str) -> tuple[str, dict[str, int]]:
    """Return algorithm and parameters of a run."""
    name, *pairs = text.split(",")
    return name, {key: int(value) for key, _, value in (pair.partition("=") for pair in pairs)}


def references(graph: Graph, count: int, seed: int) -> tuple[dict[int, np.ndarray], float]:
    """Return distances from random sources that reach more than a tenth of the nodes, and Dijkstra's median time."""
    rng, result, times = np.random.default_rng(seed), {}, []
    with Solver(graph, "dijkstra") as solver:
        for _ in range(100 * count):
            source = int(rng.integers(graph.num_nodes))
            found = solver.distances(source)
            if np.count_nonzero(found != 2**32 - 1) > graph.num_nodes / 10:
                result[source] = found
                times.append(solver.last.device_ms)
                if len(result) == count:
                    return result, float(np.median(times))
    raise SystemExit("few sources reach a tenth of the nodes; take another graph")


def measure(
    graph: Graph, run: tuple[str, dict[str, int]], expected: dict[int, np.ndarray], device: Device, limit: float
) -> dict[str, Any]:
    """Return the figures of one run on one graph; `limit` seconds, though one source at the least."""
    name, parameters = run
    where = device if ALGORITHMS[name].RUNS_ON == "device" else None
    began, milliseconds, downloads = time.perf_counter(), [], []
    with Solver(graph, name, where, **parameters) as solver:
        for source, distances in expected.items():
            if not np.array_equal(solver.distances(source), distances):
                raise SystemExit(f"{name} finds wrong distances from {source}")
            downloads.append(solver.timings.download_ms)
            # What was just checked found the device asleep, and it takes a while to come up to its full clock.
            outcome, started = solver.last, time.perf_counter()
            is_slow = outcome.device_ms > 1e3 * limit / 4
            while not is_slow and time.perf_counter() - started < WARM_UP_S:
                solver.search([(source, 0)])
            outcomes = [outcome] if is_slow else [solver.search([(source, 0)]) for _ in range(REPETITIONS)]
            milliseconds.append(float(np.median([outcome.device_ms for outcome in outcomes])))
            if time.perf_counter() - began > limit:
                break
        timings, counters = solver.timings, solver.last.counters
    if max(float(np.median(milliseconds)), timings.setup_ms) < 1e3 * limit / 4:
        with Solver(graph, name, where, counters="totals", **parameters) as solver:
            counters = solver.search([(next(iter(expected)), 0)]).counters
    low, median, high = np.percentile(milliseconds, [25, 50, 75]).tolist()
    return {
        "algorithm": name,
        "parameters": parameters,
        "sources": len(milliseconds),
        "median": median,
        "q1": low,
        "q3": high,
        "iterations": counters["iterations"],
        "us/iteration": 1e3 * median / max(1, counters["iterations"]),
        "worked/visited": counters.get("worked", np.nan) / max(1, counters.get("visited", 1)),
        "relaxed/arcs": counters.get("relaxed", np.nan) / max(1, graph.num_arcs),
        "setup": timings.setup_ms,
        "upload": timings.upload_ms,
        "download": float(np.median(downloads)),
    }


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", metavar="GRAPH", help="an expression or a file")
    parser.add_argument("--run", action="append", metavar="NAME[,PARAMETER=N...]", help="may be given several times")
    parser.add_argument("--sources", type=int, default=5, help="random sources (default: 5)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the sources (default: 7)")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each run (default: 20)")
    parser.add_argument("--device", help="index or part of the name")
    parser.add_argument("--json", metavar="FILE", help="write the result to a file, too")
    args = parser.parse_args()
    runs = [parse_run(text) for text in args.run or [n for n, a in ALGORITHMS.items() if a.RUNS_ON == "device"]]
    result: dict[str, Any] = {"commit": commit(), "verified": True, "seed": args.seed, "graphs": []}
    try:
        with Device(args.device) as device:
            result |= {"device": device.info.name, "driver": device.info.driver, "api_version": device.info.api_version}
            print(f"{device.info.name} ({device.info.driver}), commit {result['commit']}", flush=True)
            for text in args.graphs:
                graph = from_expression(text) if is_expression(text) else read_graph(text)
                expected, reference = references(graph, args.sources, args.seed)
                print(f"\n{text}: {graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs, Dijkstra {reference:.1f} ms")
                print(f"{'':48}" + "".join(f"{name:>15}" for name in HEADER), flush=True)
                rows = []
                for run in runs:
                    row = measure(graph, run, expected, device, args.limit)
                    rows.append(row)
                    label = ",".join([run[0], *(f"{key}={value}" for key, value in run[1].items())])
                    print(f"{label:48}" + "".join(f"{row[name]:15,.3f}" for name in HEADER), flush=True)
                size = {"nodes": graph.num_nodes, "arcs": graph.num_arcs, "dijkstra_ms": reference}
                result["graphs"].append({"graph": text, **size, "rows": rows})
    except VksspError as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
