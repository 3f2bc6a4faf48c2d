#!/usr/bin/env python3
"""Times of functions of NetworkX beside those of the backend, in one run.

  scripts/compare_networkx.py road:1000                        a million nodes, for functions of one search
  scripts/compare_networkx.py road:60 --only all --floats      functions of searches from all nodes
  scripts/compare_networkx.py road:10 road:20 road:50          for the least sizes at which the backend is faster

A graph is a file or an expression. The largest connected part of it is made a NetworkX graph, undirected, with the
weights of the file, or with random floats. "First" includes the conversion and the solver, on a graph that was not
converted before; "then" is the same call again. Both answers of every function that is timed are compared: distances
and predecessors must be equal, sums of floats to 1e-12. Each time is a median with its quartiles.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from vkssp import CpuDevice, Device, VksspError, from_networkx, read_graph
from vkssp.algorithm import AUTO, CPU
from vkssp.algorithms.choice import place_of
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import tuned_values
from vkssp.interop.networkx_backend.functions import convert_from_nx
from vkssp.options import file_name
from vkssp.terminal import print_lines

#: Functions by what they search, each with its further arguments; "W" stands for the attribute of the weight.
GROUPS: dict[str, dict[str, dict[str, Any]]] = {
    "pair": {
        "bidirectional_dijkstra": {"source": 0, "target": -1, "weight": "W"},
        "has_path": {"source": 0, "target": -1},
    },
    "one": {
        "single_source_dijkstra_path_length": {"source": 0, "weight": "W"},
        "single_source_shortest_path_length": {"source": 0},
        "dijkstra_predecessor_and_distance": {"source": 0, "weight": "W"},
        "single_source_bellman_ford_path_length": {"source": 0, "weight": "W"},
        "voronoi_cells": {"center_nodes": [0, 1, 2], "weight": "W"},
    },
    "all": {
        "closeness_centrality": {"distance": "W"},
        "diameter": {"weight": "W"},
        "average_shortest_path_length": {"weight": "W"},
        "harmonic_centrality": {"distance": "W"},
        "betweenness_centrality": {"weight": "W"},
        "edge_betweenness_centrality": {"weight": None},
        "all_pairs_dijkstra_path_length": {"weight": "W"},
    },
}


def networkx_graph(text: str, seed: int, *, has_floats: bool) -> nx.Graph:
    """Return a graph as an undirected NetworkX graph, whose largest connected part it is."""
    graph, draw = read_graph(text), random.Random(seed)
    found = nx.Graph()
    found.add_nodes_from(range(graph.num_nodes))
    arcs = zip(graph.tail.tolist(), graph.head.tolist(), graph.weight.tolist(), strict=True)
    found.add_weighted_edges_from((tail, head, weight + 1) for tail, head, weight in arcs)
    if has_floats:
        for _, _, data in found.edges(data=True):
            data["weight"] = draw.random()
    part = max(nx.connected_components(found), key=len)
    return nx.convert_node_labels_to_integers(found.subgraph(part))


def clocked(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, with all items of an iterator, and the result."""
    began = time.perf_counter()
    found = work()
    if isinstance(found, Iterator):
        found = dict(found)
    return time.perf_counter() - began, found


def check(name: str, found: Any, true: Any) -> None:
    """Raise an error if both answers are not the same."""
    if name == "bidirectional_dijkstra":  # of several shortest paths it may be another
        found, true = found[0], true[0]
    if isinstance(found, dict) and all(isinstance(value, float) for value in found.values()):
        is_right = list(found) == list(true) and np.allclose(list(found.values()), list(true.values()), 1e-12, 0)
    else:
        is_right = abs(found - true) <= 1e-12 * true if isinstance(found, float) else found == true
    if not is_right:
        raise VksspError(f"wrong {name}")


def quartiles(seconds: list[float]) -> str:
    """Return a median and quartiles in milliseconds."""
    low, median, high = 1e3 * np.quantile(seconds, [0.25, 0.5, 0.75])
    return f"{median:,.1f} ({low:,.1f} to {high:,.1f})"


def measure(text: str, args: argparse.Namespace) -> None:
    """Measure all functions on one graph, and print a table."""
    graph = networkx_graph(text, args.seed, has_floats=args.floats)
    weights = "random floats" if args.floats else "integers"
    print_lines([f"{text}: {len(graph):,} nodes, {graph.number_of_edges():,} edges, weights are {weights}", ""])
    for what, work in (
        ("conversion by the backend", lambda: convert_from_nx(graph, edge_attrs={"weight": 1})),
        ("vkssp.from_networkx", lambda: from_networkx(graph)),
    ):
        print_lines([f"{what}: {quartiles([clocked(work)[0] for _ in range(args.repetitions)])} ms"])
    print_lines(
        ["", "| function | NetworkX, ms | vkssp, first, ms | then, ms | first | then |", "|---|--:|--:|--:|--:|--:|"]
    )
    for group in args.only:
        for name, given in GROUPS[group].items():
            named = {key: "weight" if value == "W" else value for key, value in given.items()}
            if named.get("target") == -1:
                named["target"] = len(graph) - 1

            def call(backend: str, name: str = name, named: dict[str, Any] = named) -> tuple[float, Any]:
                return clocked(lambda: getattr(nx, name)(graph, backend=backend, **named))

            times: dict[str, list[float]] = {"networkx": [], "first": [], "then": []}
            _, true = call("vkssp")  # loads kernels, which is done once in a process
            for _ in range(args.repetitions):
                seconds, true = call("networkx")
                times["networkx"].append(seconds)
                graph.__networkx_cache__.clear()
                for label in ("first", "then"):
                    seconds, found = call("vkssp")
                    times[label].append(seconds)
                    check(name, found, true)
            ours = [np.median(times["networkx"]) / np.median(times[label]) for label in ("first", "then")]
            cells = [quartiles(some) for some in times.values()] + [f"{ratio:.1f} x" for ratio in ours]
            print_lines([f"| {name} | {' | '.join(cells)} |"])
    print_lines([""])


def run(args: argparse.Namespace) -> None:
    """Measure all graphs."""
    nx.config.warnings_to_ignore.add("cache")
    nx.config.backends.vkssp.device = args.device
    with CpuDevice() if place_of(AUTO, args.device) == CPU else Device(args.device) as device:
        result = where_and_when(device)
    host, used = result["host"], result["device"]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("networkx", "numpy", "numba"))
    print_lines(
        [
            f"{used['name']} ({used['driver']}); {host['cpu']}, {host['cores']} cores; vkssp "
            f"{result['commit'] or result['vkssp']}, {versions}, Python {host['python']}",
            f"medians and quartiles of {args.repetitions} times",
            *tuned_values(result),
            "",
        ]
    )
    for text in args.graphs:
        measure(text, args)


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=file_name, metavar="GRAPH", help="files, or expressions")
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="KIND", help="pair, one, all"
    )
    parser.add_argument("--floats", action="store_true", help="random floats as weights")
    parser.add_argument("--device", help="as for vkssp.Solver")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    return exit_code(lambda: run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
