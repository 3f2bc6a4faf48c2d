#!/usr/bin/env python3
"""Searches in RMAT graphs whose arcs a device may not be able to bind at once, all distances proved to be shortest.

    scripts/measure_large_graphs.py --scales 24 25 26 27                  # on a GPU; 2^27 nodes take 54 GB on the host
    VKSSP_MASK=storage_range=1048576 scripts/measure_large_graphs.py --scales 16        # in parts, on any device

Each line has the times of the host (making the graph, then the solver, of which the upload is a part), the bytes that
the graph and the search take on the device, and for each source the median time of the device and the arcs of the
graph over it. The proof is by the conditions of optimality, see vkssp/bench/optimality.py. With --routes it is followed
by a route to a farthest node, for which the arcs by head are uploaded, too.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import numpy as np

from vkssp import UNREACHABLE, Device, RenumberedGraph, Solver
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import commit, where_and_when
from vkssp.bench.optimality import why_not_shortest
from vkssp.bench.result import save_result
from vkssp.errors import VksspError
from vkssp.files import check_writable
from vkssp.generate import rmat
from vkssp.options import file_name
from vkssp.terminal import print_lines

_GB = 1e9


def peak_gb() -> float:
    """Return the largest number of gigabytes of memory that the process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _GB


def device_time(solver: Solver, source: int) -> float:
    """Return the milliseconds that a search for all nodes takes on the device."""
    solver.search([(source, 0)])
    assert solver.last is not None
    return solver.last.device_ms


def measure_graph(
    renumbered: RenumberedGraph, algorithm: str, device: Device, args: argparse.Namespace
) -> dict[str, Any]:
    """Return the times of searches by one algorithm, each proved."""
    graph, began = renumbered.graph, time.perf_counter()
    with Solver(renumbered, algorithm, device, reduction="none") as solver:
        made_s = time.perf_counter() - began
        of_graph: dict[str, Any] = {
            "algorithm": solver.algorithm,
            "solver_s": made_s,
            "upload_s": solver.timings.upload_ms / 1e3,
            "device_gb": solver.memory_bytes / _GB,
            "device_ms": [],
            "call_ms": [],
            "proof_s": [],
        }
        say(
            f"  {solver.algorithm}: solver {made_s:.1f} s, upload {of_graph['upload_s']:.1f} s, host {peak_gb():.1f} GB"
        )
        has_arcs = np.flatnonzero(graph.first_out[1:] > graph.first_out[:-1])
        for source in np.random.default_rng(args.seed).choice(has_arcs, args.sources).tolist():
            began = time.perf_counter()
            solver.search([(source, 0)])  # queues grow
            while time.perf_counter() - began < args.warm_up:  # the clock rises, to threefold after a pause
                solver.search([(source, 0)])
            device_ms = float(np.median([device_time(solver, source) for _ in range(args.repetitions)]))
            began = time.perf_counter()
            distance = solver.distances(source)
            call_ms = 1e3 * (time.perf_counter() - began)
            began = time.perf_counter()
            if why := why_not_shortest(graph, source, distance):
                raise VksspError(f"wrong distances from {source} by {solver.algorithm}: {why}")
            proof_s = time.perf_counter() - began
            for name, value in (("device_ms", device_ms), ("call_ms", call_ms), ("proof_s", proof_s)):
                of_graph[name].append(value)
            reached = np.flatnonzero(distance != UNREACHABLE)
            say(
                f"    from {source}: {device_ms:.2f} ms on the device, {graph.num_arcs / device_ms / 1e6:.2f} G "
                f"arcs/s, {call_ms:.0f} ms with the download; {len(reached):,} nodes reached, proved in {proof_s:.1f} s"
            )
            if args.routes:
                target = int(reached[np.argmax(distance[reached])])
                began = time.perf_counter()
                route = solver.path(source, target)
                say(f"    route of {len(route.arcs)} arcs in {time.perf_counter() - began:.2f} s with the upload")
                if int(graph.weight[route.arcs].sum()) != int(distance[target]):
                    raise VksspError(f"the route from {source} to {target} has another weight than the distance")
        of_graph["device_gb"] = solver.memory_bytes / _GB
        say(f"    {of_graph['device_gb']:.2f} GB on the device")
    return of_graph


def say(line: str) -> None:
    """Print a line at once."""
    print_lines([line])


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Run everything, and return the result."""
    results = []
    with Device(args.device or "") as device:
        limits = device.limits
        say(f"{device.info.name}, {device.info.driver}, commit {commit()}")
        say(f"a binding spans {limits.storage_range} bytes, an allocation {limits.allocation}")
        for scale in args.scales:
            began = time.perf_counter()
            graph = rmat(scale, args.degree, args.seed)
            made_s, began = time.perf_counter() - began, time.perf_counter()
            renumbered = RenumberedGraph(graph)
            prepared_s = time.perf_counter() - began
            say(
                f"2^{scale} nodes, {graph.num_arcs:,} arcs, {8 * graph.num_arcs / _GB:.2f} GB of arcs: made in "
                f"{made_s:.1f} s, prepared in {prepared_s:.1f} s, host {peak_gb():.1f} GB"
            )
            times = {"made_s": made_s, "prepared_s": prepared_s}
            runs = [measure_graph(renumbered, algorithm, device, args) for algorithm in args.algorithms]
            results.append({"scale": scale, "nodes": graph.num_nodes, "arcs": graph.num_arcs, **times, "runs": runs})
            del graph, renumbered
        head = where_and_when(device)
    say("all distances are proved")
    return {**head, "graphs": results}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=int, nargs="+", default=[24, 25], help="binary logarithms of numbers of nodes")
    parser.add_argument("--degree", type=int, default=16, help="arcs of a node on average (default: %(default)s)")
    parser.add_argument("--algorithms", nargs="+", default=["auto"], help="algorithms (default: auto)")
    parser.add_argument("--sources", type=int, default=3, help="searches by each algorithm (default: %(default)s)")
    parser.add_argument(
        "--repetitions", type=int, default=5, help="searches whose median counts (default: %(default)s)"
    )
    parser.add_argument(
        "--warm-up", type=float, default=0.7, metavar="S", help="seconds of searches before (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the graph and the sources (default: %(default)s)")
    parser.add_argument("--routes", action="store_true", help="also find a route from each source")
    parser.add_argument("--device", help="index or name of a device; by default a GPU")
    parser.add_argument("--output", type=file_name, metavar="FILE", help="write the results as JSON")
    args = parser.parse_args()

    def run() -> None:
        if args.output:
            check_writable(args.output)
        result = measure(args)
        if args.output:
            save_result(args.output, result)

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
