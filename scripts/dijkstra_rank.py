#!/usr/bin/env python3
"""Time queries by Dijkstra rank: from random sources to the 2nd, 4th, 8th, ... node that Dijkstra settles.

    scripts/dijkstra_rank.py iceland.graph --methods near_far,delta_step,dijkstra,bidirectional --figure ranks.png

A method is an algorithm of 'vkssp algorithms', or 'bidirectional'; one with parameters is given by --run. Every
distance is checked. Queries can be saved, so that other programs answer the same ones, and read again.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from tqdm import tqdm

from vkssp import VksspError, read_graph
from vkssp.bench.evaluation import import_pyplot, save_figure
from vkssp.bench.measuring import commit
from vkssp.bench.rank import Queries, crossover, draw_queries, measure_ranks, medians
from vkssp.bench.result import number, table
from vkssp.gpu.device import Device
from vkssp.storage import atomic_write, check_writable


def draw_figure(path: str, queries: Queries, times: dict[str, np.ndarray], title: str) -> None:
    """Draw a box for each rank and method."""
    plt = import_pyplot()
    ranks = np.unique(queries.rank)
    figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
    width = 0.8 / len(times)
    for place, (method, milliseconds) in enumerate(times.items()):
        colour = f"C{place}"
        boxes = axes.boxplot(
            [milliseconds[queries.rank == rank] for rank in ranks],
            positions=ranks + (place - (len(times) - 1) / 2) * width,
            widths=0.85 * width,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": colour},
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set_facecolor(colour)
        axes.plot([], [], color=colour, linewidth=6, label=method)
    axes.set(yscale="log", xlabel="Dijkstra rank", ylabel="query time in ms", title=title, xticks=ranks)
    axes.set_xticklabels([f"$2^{{{rank}}}$" for rank in ranks])
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    save_figure(figure, path)
    plt.close(figure)


def run(args: argparse.Namespace) -> None:
    """Measure, print, write."""
    for path in (args.save_queries, args.csv, args.figure):
        if path:
            check_writable(path, args.graph, args.queries)
    methods = [*(name for name in args.methods.split(",") if name), *args.run]
    graph = read_graph(args.graph)
    queries = Queries.load(args.queries, graph) if args.queries else draw_queries(graph, args.sources, args.seed)
    if args.save_queries:
        queries.save(args.save_queries)
    times: dict[str, Any] = {}
    with Device(args.device) as device:
        for method, milliseconds in tqdm(
            measure_ranks(graph, queries, methods, device), "methods", total=len(methods), disable=None
        ):
            times[method] = milliseconds
        info = device.info
    by_method = {method: medians(queries, milliseconds) for method, milliseconds in times.items()}
    ranks = sorted(set(queries.rank.tolist()))
    print(
        f"{args.graph}: {graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs, {len(queries.rank):,} queries, all verified"
    )
    print(f"{info.name} ({info.driver}), commit {commit() or 'unknown'}; median milliseconds of a query")
    rows = [(f"2^{rank}", *(number(by_method[method][rank]) for method in times)) for rank in ranks]
    print("\n".join(table(("rank", *times), rows)))
    for reference in ("dijkstra", "bidirectional"):
        for method in times:
            if reference in times and method not in ("dijkstra", "bidirectional"):
                rank = crossover(queries, times[method], times[reference])
                what = "is not faster at the largest rank" if rank is None else f"is faster from rank 2^{rank} on"
                print(f"{method} {what} than {reference}")
    if args.csv:
        columns = np.stack([queries.rank, queries.source, queries.target, *times.values()], axis=1)
        with atomic_write(args.csv) as stream:
            # A method with parameters has commas in it.
            names = [f'"{method}"' if "," in method else method for method in times]
            stream.write((",".join(["rank", "source", "target", *names]) + "\n").encode())
            np.savetxt(stream, columns, fmt=["%d"] * 3 + ["%.6g"] * len(times), delimiter=",")
    if args.figure:
        draw_figure(args.figure, queries, times, f"{args.graph}, {info.name}")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", metavar="GRAPH", help="a file, or an expression such as road:512")
    parser.add_argument("--methods", default="near_far,delta_step,dijkstra,bidirectional", metavar="A,B,...")
    parser.add_argument("--run", action="append", default=[], metavar="NAME,PARAMETER=N", help="may be repeated")
    parser.add_argument("--sources", type=int, default=100, help="random sources (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sources (default: 1)")
    parser.add_argument("--queries", metavar="FILE", help="read the queries from a file instead of drawing them")
    parser.add_argument("--save-queries", metavar="FILE", help="write the queries")
    parser.add_argument("--csv", metavar="FILE", help="write the time of each query")
    parser.add_argument("--figure", metavar="FILE.png", help="draw a box for each rank and method")
    parser.add_argument("--device", help="index or part of the name")
    args = parser.parse_args()
    try:
        run(args)
    except VksspError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
