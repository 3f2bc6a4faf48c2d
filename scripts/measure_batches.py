"""Requests a second of `vkssp serve` on a device, with and without batches of searches that wait together.

Usage: measure_batches.py GRAPH --device DEVICE [--connections 1 32 128] [--threads 8 32] [--seconds 4] [--cpu]

The first table has the time of 100 paths by one call of the device, and one after the other. Then each row has the
requests a second of a server with the given numbers of threads and connections, without batches and with them, and the
mean number of searches of a batch. The servers take turns. wrk makes the requests, if it is installed.
"""

from __future__ import annotations

import argparse
import http.client
import os
import platform
import subprocess
import sys
import time
from contextlib import ExitStack
from statistics import median

import numpy as np
from compare_osrm_server import ask, free_port, rate, requests_of, running

from vkssp import Graph, Solver, read_graph
from vkssp.algorithms.phast import Phast
from vkssp.prepared.seed_groups import Groups

#: Kinds of requests: service, parameters, places, and number of different requests.
KINDS = {
    "route": ("route", "?overview=false", 2, 1000),
    "route and geometry": ("route", "?overview=full", 2, 1000),
    "table, 10 places": ("table", "", 10, 200),
    "table, 100 places": ("table", "", 100, 50),
    "isochrone, 10 minutes": ("isochrone", "?contours_minutes=10", 1, 200),
}
#: Paths that are found at once, and how often.
PATHS, TIMES = 100, 20


def paths_at_once(graph: Graph, device: str) -> str:
    """Return lines with the milliseconds of paths by one call of the device, and one after the other."""
    rng = np.random.default_rng(5)
    number = int(device) if device.isdigit() else device
    with Solver(graph, "phast", number) as solver, solver.session.holding():
        algorithm, node = solver.session.algorithm(), solver.session.renumbered.node
        finder = algorithm.path_batch() if isinstance(algorithm, Phast) else None
        if finder is None:
            return "paths cannot be unpacked on this device"
        together, apart = [], []
        for _ in range(TIMES):
            ends = rng.integers(graph.num_nodes, size=(PATHS, 2))
            tails, heads = (Groups.of_nodes(node[column]) for column in ends.T)
            began = time.perf_counter()
            finder.find(tails, heads, np.zeros((0, 4), np.uint32))
            together.append(1e3 * (time.perf_counter() - began))
            began = time.perf_counter()
            for a, b in ends.tolist():
                solver.search_path([(a, 0)], [(b, 0)])
            apart.append(1e3 * (time.perf_counter() - began))
        name = solver.device.info.name
    both = f"{median(together[2:]):.2f} by one call, {median(apart[2:]):.2f} one after the other"
    return f"{name}: milliseconds of {PATHS} paths: {both}"


def batches(port: int) -> tuple[float, float]:
    """Return the number of batches of a server, and of the searches in them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    found = dict(line.rsplit(" ", 1) for line in lines if line[:1] != "#")
    return float(found.get("vkssp_batch_searches_count", 0)), float(found.get("vkssp_batch_searches_sum", 0))


def main() -> None:
    """Measure, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="prepared graph")
    parser.add_argument("--device", default="0", help="index or part of the name of the device")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 32, 128], help="connections at a time")
    parser.add_argument("--threads", type=int, nargs="+", default=[32], help="threads of the server")
    parser.add_argument("--processes", type=int, nargs="+", default=[1], help="processes of the server")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds of a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each kind")
    parser.add_argument("--kinds", nargs="*", choices=tuple(KINDS), default=tuple(KINDS), help="requests")
    parser.add_argument("--cpu", action="store_true", help="also a server on the CPU, with as many processes as cores")
    args = parser.parse_args()
    graph = read_graph(args.graph)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, commit {commit.strip()}, {graph}")
    print(f"\n{paths_at_once(graph, args.device)}", flush=True)
    base = [sys.executable, "-m", "vkssp", "serve", args.graph]
    on_device = [*base, "--device", args.device]
    servers: dict[str, list[str]] = {}
    for threads in args.threads:
        for processes in args.processes:
            many = [*on_device, "--threads", str(threads), "--processes", str(processes)]
            servers[f"{processes} x {threads} threads, alone"] = [*many, "--max-batch", "1"]
            servers[f"{processes} x {threads} threads, batches"] = many
    if args.cpu:
        servers["CPU"] = [*base, "--device", "cpu"]
    print("\n| requests a second | connections | " + " | ".join(servers) + " |")
    print("|---" * (len(servers) + 2) + "|", flush=True)
    with ExitStack() as stack:
        ports = []
        for command in servers.values():
            ports.append(free_port())
            stack.enter_context(running([*command, "--port", str(ports[-1])], ports[-1]))
        for name in args.kinds:
            service, parameters, places, number = KINDS[name]
            paths = requests_of(graph, service, parameters, places, number, 1)
            asked = paths[:100] if number > 100 else paths
            paths = [path for path in asked if all(ask(port, path)[0] == 200 for port in ports)]
            for connections in args.connections:
                cells = []
                before = [batches(port) for port in ports]
                rounds = [[rate(port, paths, connections, args.seconds) for port in ports] for _ in range(args.rounds)]
                for port, begun, rates in zip(ports, before, zip(*rounds, strict=True), strict=True):
                    count, searches = (now - then for now, then in zip(batches(port), begun, strict=True))
                    size = f", {searches / count:.1f} a batch" if count else ""
                    cells.append(f"{median(rates):,.0f}{size}")
                print(f"| {name} | {connections} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
