#!/usr/bin/env python3
"""Times of queries by Dijkstra rank: from random sources to the 2nd, 4th, 8th, ... node that Dijkstra settles.

    scripts/dijkstra_rank.py iceland.graph --sources 100 --json ranks.json --csv ranks.csv
    scripts/dijkstra_rank.py --result ranks.json --figure ranks.png

A method is 'auto', or an algorithm of 'vkssp algorithms'; 'default', a solver for which neither an algorithm nor a
device is chosen; 'bidirectional', Dijkstra's algorithm from both ends on the CPU; or 'routingkit-cch', RoutingKit's
customizable contraction hierarchies (needs pip install 'vkssp[bench]'). --run takes a method with parameters. The time
of a query is that of the call, from two node ids to the distance; every distance is checked. The script prints medians;
--csv and --json have all times, --json also device, driver, commit and graph.

Other programs can answer the same queries: --save-queries writes them as CSV, and --queries reads them again:

    # graph sha256 6fd1...        of first_out, head and weight, each as 32-bit integers, little-endian
    rank,source,target,distance   rank is 10 if the target is the 2^10th settled node
    1,52731,52730,84              nodes are numbered from 0, as vkssp reads the graph; distances add up its weights
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from vkssp import read_graph
from vkssp.bench.evaluation import check_figure, exit_code, import_pyplot, save_figure
from vkssp.bench.rank import (
    REFERENCES,
    Queries,
    check_methods,
    crossover,
    draw_queries,
    load_ranks,
    measure_ranks,
    medians,
    save_rank_csv,
    start_result,
    times_of,
)
from vkssp.bench.result import about, number, save_result, table
from vkssp.errors import QueryError
from vkssp.files import check_writable
from vkssp.gpu.device import Device
from vkssp.options import add_reading, file_name, reading
from vkssp.terminal import print_lines

METHODS = "near_far,delta_step,dijkstra,bidirectional,routingkit-cch"
SOURCES, SEED, LIMIT_S, WARM_UP_S = 100, 1, 600.0, 0.7
#: Options that select the measurements.
MEASURING = ("methods", "run", "sources", "seed", "queries", "limit", "device", "json")


def measure(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the result after each method."""
    names = METHODS if args.methods is None else args.methods
    methods = list(dict.fromkeys([*filter(None, names.split(",")), *args.run]))
    check_methods(methods)
    limit_s = LIMIT_S if args.limit is None else args.limit
    if not limit_s > 0:
        raise QueryError(f"--limit is {limit_s:g}; give seconds, more than 0")
    if args.queries and (args.sources is not None or args.seed is not None):
        raise QueryError("--queries has sources of its own; leave --sources and --seed out")
    graph, seed = read_graph(args.graph, **reading(args)), None
    if args.queries:
        queries = Queries.load(args.queries, graph)
    else:
        seed = SEED if args.seed is None else args.seed
        queries = draw_queries(graph, SOURCES if args.sources is None else args.sources, seed)
    if args.save_queries:
        queries.save(args.save_queries)
    settings = {"warm_up_s": WARM_UP_S, "limit_s": limit_s}
    with Device(args.device) as device:
        how = {name: str(value) for name, value in reading(args).items()}
        result = start_result(args.graph, graph, queries, device, seed=seed, reading=how, **settings)
        rows = measure_ranks(graph, queries, methods, device, **settings)
        for row in tqdm(rows, "methods", total=len(methods), disable=None):
            result["methods"].append(row)
            yield result


def report(result: dict[str, Any]) -> list[str]:
    """Return the tables."""
    queries, times, graph = Queries.of(result), times_of(result), result["graph"]
    by_method = {method: medians(queries, milliseconds) for method, milliseconds in times.items()}
    asked = f"{len(queries.rank):,} queries from {len(np.unique(queries.source)):,} sources"
    ranks = [
        (f"2^{rank}", f"{np.count_nonzero(queries.rank == rank):,}", *(short(of[rank]) for of in by_method.values()))
        for rank in np.unique(queries.rank).tolist()
    ]
    references = [name for name in REFERENCES if name in times]
    rows = []
    for row in result["methods"]:
        method = row["method"]
        if method in times:
            found = [crossover(queries, times[method], times[other]) for other in references]
            beats = ["-" if rank is None else f"2^{rank}" for rank in found]
            rows.append((method, row["version"], number(row["setup_ms"]), *beats))
    return [
        f"{graph['graph']}: {graph['nodes']:,} nodes, {graph['arcs']:,} arcs; {asked}, all verified",
        f"{about(result)}, Vulkan {result['device']['api_version']}, beside {result['host']['cpu']}",
        "",
        "median milliseconds of a query",
        *table(("rank", "queries", *times), ranks),
        "",
        "milliseconds of setup, and the rank from which on a method has the lower median; -: not at the largest",
        *table(("method", "version", "setup", *(f"below {name}" for name in references)), rows),
        *(f"{row['method']}: {row['error']}" for row in result["methods"] if row["error"]),
    ]


def short(milliseconds: float) -> str:
    """Return a readable time; a hierarchy answers within microseconds."""
    return number(milliseconds) if milliseconds >= 0.1 else f"{milliseconds:.4f}"


def draw_figure(path: str, result: dict[str, Any]) -> None:
    """Draw a box for each rank and method."""
    plt = import_pyplot()
    queries, times = Queries.of(result), times_of(result)
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
    title = f"{Path(result['graph']['graph']).name}, {result['device']['name']}, {result['host']['cpu']}"
    axes.set(yscale="log", xlabel="Dijkstra rank", ylabel="query time in ms", title=title, xticks=ranks)
    axes.set_xticklabels([f"$2^{{{rank}}}$" for rank in ranks])
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    save_figure(figure, path)
    plt.close(figure)


def run(args: argparse.Namespace) -> None:
    """Measure, or read a result; print and write it."""
    outputs = (args.save_queries, args.json, args.csv, args.figure)
    for place, (path, content) in enumerate(zip(outputs, ("CSV", "JSON", "CSV", None), strict=True)):
        if path:
            check_writable(path, args.graph, args.queries, args.result, *outputs[:place], content=content)
    if args.figure:
        check_figure(args.figure)
    if args.result:
        given = ["GRAPH"] if args.graph else []
        given += [f"--{name}" for name in MEASURING if getattr(args, name) not in (None, [])]
        if given:
            raise QueryError(f"--result only reads what was measured; leave {', '.join(given)} out")
        result = load_ranks(args.result)
        if args.save_queries:
            Queries.of(result).save(args.save_queries)
    else:
        if not args.graph:
            raise QueryError("there is no graph; give a file, or an expression such as road:512, or --result")
        for result in measure(args):
            if args.json:  # after each method, so that hours of work are not lost
                save_result(args.json, result)
    print_lines(report(result))
    if args.csv:
        save_rank_csv(args.csv, result)
    if args.figure:
        draw_figure(args.figure, result)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "graph", nargs="?", type=file_name, metavar="GRAPH", help="a file, or an expression such as road:512"
    )
    parser.add_argument("--methods", metavar="A,B,...", help=f"default: {METHODS}")
    parser.add_argument("--run", action="append", default=[], metavar="NAME,PARAMETER=N", help="may be repeated")
    parser.add_argument("--sources", type=int, metavar="N", help=f"random sources (default: {SOURCES})")
    parser.add_argument("--seed", type=int, metavar="N", help=f"seed of the sources (default: {SEED})")
    parser.add_argument(
        "--queries", type=file_name, metavar="FILE.csv", help="read the queries instead of drawing them"
    )
    parser.add_argument("--save-queries", type=file_name, metavar="FILE.csv", help="write the queries")
    limit = f"seconds that routingkit-cch may take for its setup, or it is left out (default: {LIMIT_S:g})"
    parser.add_argument("--limit", type=float, metavar="S", help=limit)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    parser.add_argument(
        "--result", type=file_name, metavar="FILE.json", help="read a result of --json instead of measuring"
    )
    parser.add_argument(
        "--json", type=file_name, metavar="FILE.json", help="write the time of each query, graph, device and commit"
    )
    parser.add_argument("--csv", type=file_name, metavar="FILE.csv", help="write the time of each query")
    parser.add_argument("--figure", type=file_name, metavar="FILE.png", help="draw a box for each rank and method")
    add_reading(parser)
    args = parser.parse_args()
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
