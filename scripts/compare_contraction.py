#!/usr/bin/env python3
"""Sweeps over a contraction hierarchy for one metric beside sweeps over the hierarchy that serves all metrics.

  scripts/compare_contraction.py USA-road-t.NY.gr.gz --json ny.json
  scripts/compare_contraction.py iceland.graph --at-once 256 1024

The kernels of phast sweep over both. The script times only the dispatches of the sweep; the host does the upward
searches. For many trees at once their upward labels are stored where the sweep reads them: in one place for each level
of supernodes, or, in a hierarchy of single nodes, in as many places as the largest upward search needs. Both
hierarchies are also timed without upward labels, which moves the same distances and arcs. Distances from some sources
are compared with the compiled Dijkstra's, distances from all others between the two hierarchies.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from vkssp import Graph, QueryError, Solver, prepare
from vkssp.bench.contraction import MOST_SETTLED, MOST_TRIED, contraction
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table
from vkssp.bench.sweeping import SweepHierarchy, SweepTimer, TimedBatch
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.files import check_writable
from vkssp.gpu.device import Device
from vkssp.options import file_name
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.reading import read_graph
from vkssp.terminal import print_lines

#: The two hierarchies.
CONTRACTED, CUSTOMIZED = "contraction hierarchy", "vkssp's hierarchy"
#: Number of trees that are timed one by one.
SINGLE = 16


def timed(act: Any) -> tuple[Any, float]:
    """Call a function and return its result and the seconds that it took."""
    began = time.perf_counter()
    found = act()
    return found, time.perf_counter() - began


def check(name: str, source: int, found: np.ndarray, expected: np.ndarray) -> None:
    """End the script if distances are not as expected."""
    if not np.array_equal(found, expected):
        raise SystemExit(f"wrong distances from {source}, by the {name}")


def sizes(swept: SweepHierarchy, labels: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the size of a hierarchy and the number of nodes with upward labels."""
    nodes = [sum(len(distances) for _, distances in spans) for spans in labels]
    return {
        "arcs_down": swept.num_arcs,
        "levels": swept.num_levels,
        "nodes_up_mean": float(np.mean(nodes)),
        "nodes_up_most": max(nodes),
    }


def figures(swept: SweepHierarchy, milliseconds: Sequence[float], searches: int, tile: int) -> dict[str, Any]:
    """Return times of a tree, and the bytes that a tree moves in memory."""
    moved = swept.bytes_moved(tile) * -(-searches // tile)
    median = float(np.median(milliseconds))
    return {
        "ms": median / searches,
        "all_ms": list(milliseconds),
        "bytes": moved / searches,
        "gb_per_s": moved / median / 1e6 if median else None,
    }


def measure_one(
    timers: dict[str, SweepTimer], labels: dict[str, list[Any]], expected: dict[int, np.ndarray], repetitions: int
) -> dict[str, dict[str, Any]]:
    """Time single trees and compare all distances."""
    found = {}
    for name, timer in timers.items():
        milliseconds = []
        for place, (source, distances) in enumerate(list(expected.items())[:SINGLE]):
            times, made = timer.time_sweep(labels[name][place], repetitions + 1)
            check(name, source, made, distances)
            milliseconds.append(float(np.median(times[1:])))
        found[name] = figures(timer.hierarchy, milliseconds, 1, 1)
    return found


def measure_many(
    timers: dict[str, SweepTimer],
    labels: dict[str, list[Any]],
    sources: Sequence[int],
    expected: dict[int, np.ndarray],
    repetitions: int,
) -> dict[str, dict[str, Any]]:
    """Time trees at once, with and without upward labels, and compare all distances."""
    count, found = len(sources), {}
    made: dict[str, TimedBatch] = {}
    try:
        for name, timer in timers.items():
            made[name] = timer.time_batch(labels[name][:count], repetitions + 1)
            found[name] = figures(timer.hierarchy, made[name].milliseconds[1:], count, made[name].tile)
            found[name]["places_up"] = made[name].places
        for tile in range(made[CONTRACTED].num_tiles):
            first = tile * made[CONTRACTED].tile
            rows = {name: one.distances(tile) for name, one in made.items()}
            for k, source in enumerate(sources[first : first + made[CONTRACTED].tile]):
                check(CUSTOMIZED, source, rows[CUSTOMIZED][k], expected.get(source, rows[CUSTOMIZED][k]))
                check(CONTRACTED, source, rows[CONTRACTED][k], rows[CUSTOMIZED][k])
    finally:
        for one in made.values():
            one.close()
    for name, timer in timers.items():
        with timer.time_batch(labels[name][:count], repetitions + 1, seeded=False) as bare:
            found[name]["without_ways_ms"] = float(np.median(bare.milliseconds[1:])) / count
    return found


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Build both hierarchies, sweep over them, and return the result."""
    contraction(Graph.from_edges([0, 1], [1, 0], [1, 1]))  # loads compiled code
    contracted, build_s = timed(lambda: contraction(graph, settled=args.settled, tried=args.tried))
    prepare_s = None
    if graph.hierarchy is None:
        prepare(Graph.from_edges([0], [1], [1]))
        graph, prepare_s = timed(lambda: prepare(graph, progress=True))
    assert graph.hierarchy is not None
    rng = np.random.default_rng(args.seed)
    sources = rng.choice(graph.num_nodes, max(args.at_once), replace=graph.num_nodes < max(args.at_once)).tolist()
    with Solver(RenumberedGraph(graph), "dijkstra") as reference:
        expected = {source: reference.distances(source) for source in sources[: args.checked]}
    with Device(args.device) as device:
        customized = CustomizedHierarchy(device, graph.hierarchy, graph, device)
        hierarchies = {
            CONTRACTED: SweepHierarchy.of_contraction(contracted),
            CUSTOMIZED: SweepHierarchy.of_customized(customized),
        }
        labels = {name: swept.upward_labels(sources) for name, swept in hierarchies.items()}
        result: dict[str, Any] = {
            **where_and_when(device),
            "graph": args.graph,
            "digest": digest(graph),
            "nodes": graph.num_nodes,
            "arcs": graph.num_arcs,
            "seed": args.seed,
            "checked": len(expected),
            "settled": [args.settled, args.tried],
            "hierarchies": {name: sizes(swept, labels[name]) for name, swept in hierarchies.items()},
        }
        result["hierarchies"][CONTRACTED] |= {"build_s": build_s, "arcs_up": len(contracted.head_up)}
        result["hierarchies"][CUSTOMIZED] |= {
            "build_s": prepare_s,
            "customize_ms": customized.customize_ms,
            "hierarchy_arcs": graph.hierarchy.num_arcs,
        }
        timers = {name: SweepTimer(device, swept, args.warm_up) for name, swept in hierarchies.items()}
        runs = {1: measure_one(timers, labels, expected, args.repetitions)}
        for count in args.at_once:
            if count > 1:
                runs[count] = measure_many(timers, labels, sources[:count], expected, args.repetitions)
        result["rows"] = [
            {"at_once": count, "hierarchy": name, **row} for count, run in runs.items() for name, row in run.items()
        ]
    return result


def report(result: dict[str, Any]) -> list[str]:
    """Return the tables."""
    built = [
        (
            name,
            *("-" if size["build_s"] is None else f"{size['build_s']:.1f}", f"{size['arcs_down']:,}"),
            *(f"{size['levels']}", f"{size['nodes_up_mean']:.0f}", f"{size['nodes_up_most']:,}"),
        )
        for name, size in result["hierarchies"].items()
    ]
    swept = [
        (
            f"{row['hierarchy']}, {row['at_once']:,} at once",
            f"{row['ms']:.5f}",
            *(f"{row['without_ways_ms']:.5f}" if "without_ways_ms" in row else "", f"{row['bytes'] / 1e6:.2f}"),
            *("-" if row["gb_per_s"] is None else number(row["gb_per_s"]), str(row.get("places_up", ""))),
        )
        for row in result["rows"]
    ]
    ours = {row["at_once"]: row["ms"] for row in result["rows"] if row["hierarchy"] == CUSTOMIZED}
    ratios = [
        f"{row['at_once']:,} at once, the contraction hierarchy takes {number(row['ms'] / ours[row['at_once']])} times "
        "the time"
        for row in result["rows"]
        if row["hierarchy"] == CONTRACTED and ours[row["at_once"]]
    ]
    return [
        f"{result['graph']}: {result['nodes']:,} nodes, {result['arcs']:,} arcs; {result['device']['name']}, "
        f"{result['commit']}; distances from {result['checked']} sources compared with Dijkstra's",
        "",
        *table(("", "s to build", "arcs down", "levels", "nodes up", "most"), built),
        "",
        *table(("sweeps alone", "ms a tree", "without labels", "MB a tree", "GB/s", "places up"), swept),
        "",
        *ratios,
    ]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    parser.add_argument(
        "--at-once", type=int, nargs="+", default=[256, 1024], metavar="N", help="trees at once (default: 256 1024)"
    )
    parser.add_argument("--repetitions", type=int, default=9, metavar="N", help="of each (default: %(default)s)")
    parser.add_argument(
        "--checked", type=int, default=32, metavar="N", help="sources compared with Dijkstra's (default: %(default)s)"
    )
    for name, default in (("settled", MOST_SETTLED), ("tried", MOST_TRIED)):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=default,
            metavar="N",
            help="nodes that searches for other paths settle at most, where a node is "
            f"{'contracted' if name == 'settled' else 'tried'} (default: %(default)s)",
        )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm-up", type=float, default=0.3, metavar="S", help="seconds of sweeps before each timed")
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(*args.at_once, args.repetitions, args.checked, args.settled, args.tried) < 1:
            raise QueryError("--at-once, --repetitions, --checked, --settled and --tried take 1 or more")
        if args.seed < 0:
            raise QueryError("--seed takes 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        graph = read_graph(args.graph)
        if graph.num_nodes == 0:
            raise QueryError(f"{args.graph} has no nodes; give another graph")
        result = measure(graph, args)
        if args.json_file:
            save_result(args.json_file, result)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
