#!/usr/bin/env python3
"""Distances of many pairs of nodes a second, by labels and by searches from both ends, and the time to make labels.

  scripts/time_pairs.py USA-road-t.NY.gr.gz road:1225 --device 0 --json pairs.json
  scripts/time_pairs.py USA-road-t.NY.gr.gz --device cpu --lanes --pairs 10000 1000000 10000000

Pairs are drawn evenly from all nodes, as int64s. Each number of pairs is asked for several times by one call of
`Solver.pairs`, which checks the nodes, moves them to the device and the distances back; the time of the kernel stands
beside it. Some pairs are compared with the compiled Dijkstra's distances, all others of up to a million by labels with
those by searches.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from vkssp import Graph, QueryError, Solver, prepare
from vkssp.algorithms import phast
from vkssp.bench.evaluation import exit_code
from vkssp.bench.filled_graph import read_filled_graph
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table, tuned_values
from vkssp.cch import label_pairs
from vkssp.cpu import labels as cpu_labels
from vkssp.cpu.device import CpuDevice
from vkssp.files import check_writable
from vkssp.gpu.device import Device
from vkssp.hierarchy.labels import MANY_PAIRS
from vkssp.options import file_name
from vkssp.terminal import print_lines

#: Sources whose distances are compared with Dijkstra's, and largest number of pairs compared with searches.
CHECKED, COMPARED = 4, 10**6


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the least and the greatest of some numbers."""
    return {"median": float(np.median(values)), "low": min(values), "high": max(values)}


def check(is_right: bool, what: str) -> None:
    """End the script if a condition is false."""
    if not is_right:
        raise SystemExit(f"wrong {what}")


def rates(solver: Solver, sources: np.ndarray, targets: np.ndarray, rounds: int) -> tuple[dict[str, Any], np.ndarray]:
    """Return million pairs a second, by the call and on the device, and the distances."""
    calls, on_device, found = [], [], np.zeros(0)
    for _ in range(rounds):
        began = time.perf_counter()
        found = solver.pairs(sources, targets)
        calls.append(1e-6 * len(sources) / (time.perf_counter() - began))
        finder = getattr(solver.session.algorithm(), "label_pairs", None)
        if finder is not None and finder.device_ms > 0:
            on_device.append(1e-3 * len(sources) / finder.device_ms)
    return {"call": spread(calls), "device": spread(on_device) if on_device else None}, found


def make_labels(solver: Solver) -> float:
    """Make labels for the present weights, and return the seconds that took."""
    with solver.session.holding():
        graph: Any = solver.session.copy
        of = cpu_labels.labels_of if isinstance(graph.device, CpuDevice) else phast.labels_of
        solver.distance(0, 0)  # customization is over
        labels, began = of(graph), time.perf_counter()
        if not labels.ready(None):
            raise QueryError("labels take more memory than they may, or distances are too large; give a smaller graph")
        return time.perf_counter() - began


def measure(name: str, graph: Graph, args: argparse.Namespace, device: Device | CpuDevice) -> dict[str, Any]:
    """Time pairs on a graph."""
    graph = graph if graph.hierarchy is not None else prepare(graph, progress=True)
    rng = np.random.default_rng(args.seed)
    drawn = rng.integers(0, graph.num_nodes, (2, max(args.pairs)))
    rows: list[dict[str, Any]] = []
    with (
        Solver(graph, "phast", device) as solver,
        Solver(graph, "phast", device, label_mib=0) as searches,
        Solver(graph, "dijkstra", "cpu") as reference,
    ):
        before = solver.memory_bytes
        first_s = make_labels(solver)
        made: dict[str, Any] = {"first_s": first_s, "bytes": solver.memory_bytes - before}
        again, on_device = [], []
        for turn in range(args.rounds):
            solver.set_weights(graph.weight + np.uint32(turn % 2))
            again.append(make_labels(solver))
            if isinstance(device, Device):
                labels = phast.labels_of(solver.session.copy)  # type: ignore[arg-type]
                assert labels.rows is not None
                on_device.append(labels.rows.make_ms)
        solver.set_weights(graph.weight)
        make_labels(solver)
        made |= {"again_s": spread(again), "device_ms": spread(on_device) if on_device else None}
        sources, targets = drawn
        for source in sources[:CHECKED].tolist():
            some = np.full(min(10**5, drawn.shape[1]), source)
            found, exact = solver.pairs(some, targets[: len(some)]), reference.distances(source)
            check(np.array_equal(found, exact[targets[: len(some)]]), f"pairs from {source} on {name}")
        few = min(COMPARED, args.most_searched, drawn.shape[1])
        expected = searches.pairs(*drawn[:, :few])
        for count in sorted(args.pairs):
            of = drawn[:, :count]
            found_by_labels, found = rates(solver, *of, args.rounds)
            check(np.array_equal(found[:few], expected[:count]), f"pairs on {name}")
            row: dict[str, Any] = {"pairs": count, "labels": found_by_labels}
            if count <= args.most_searched:
                row["searches"], found = rates(searches, *of, min(3, args.rounds))
                check(np.array_equal(found[:few], expected[:count]), f"searched pairs on {name}")
            rows.append(row)
        lanes = {}
        of = drawn[:, : min(max(args.pairs), 10**7)]
        for count in args.lanes:
            with patch.dict(solver.device.tuned, {"label_pairs.lanes": count}), solver.clone() as clone:
                clone.pairs(*of)
                lanes[count], found = rates(clone, *of, args.rounds)
                check(np.array_equal(found[:few], expected), f"pairs with {count} lanes on {name}")
    return {
        "graph": name,
        "digest": digest(graph),
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "made": made,
        "rows": rows,
        "lanes": lanes,
    }


def cell(rate: dict[str, float] | None) -> str:
    """Return a rate with its spread."""
    return "" if rate is None else f"{number(rate['median'])} ({number(rate['low'])}..{number(rate['high'])})"


def report(head: dict[str, Any], results: Sequence[dict[str, Any]]) -> list[str]:
    """Return the tables."""
    lines = [
        f"{head['device']['name']} ({head['device']['driver']}), {head['commit']}; million pairs a second: median "
        "(least..greatest)",
        *tuned_values(head),
    ]
    for result in results:
        made = result["made"]
        device = "" if made["device_ms"] is None else f", {cell(made['device_ms'])} ms of it on the device"
        lines += [
            "",
            f"{result['graph']}: {result['nodes']:,} nodes, {result['arcs']:,} arcs; labels take "
            f"{made['bytes'] / 2**20:,.0f} MiB, made first in {number(made['first_s'])} s, again in "
            f"{cell(made['again_s'])} s{device}",
            "",
            *table(
                ("pairs", "by labels", "on the device", "by searches"),
                [
                    (
                        f"{row['pairs']:,}",
                        cell(row["labels"]["call"]),
                        cell(row["labels"]["device"]),
                        cell(row["searches"]["call"]) if "searches" in row else "",
                    )
                    for row in result["rows"]
                ],
            ),
        ]
        if result["lanes"]:
            rows = [(str(lanes), cell(row["call"]), cell(row["device"])) for lanes, row in result["lanes"].items()]
            lines += ["", *table(("lanes", "by labels", "on the device"), rows)]
    return lines


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=file_name, help="files, or expressions such as road:100")
    counts = [10**4, 10**5, 10**6, 10**7, 10**8]
    parser.add_argument("--pairs", type=int, nargs="+", default=counts, metavar="N", help="pairs of a call")
    parser.add_argument("--most-searched", type=int, default=10**6, metavar="N", help="most pairs that are searched")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="calls (default: %(default)s)")
    parser.add_argument("--lanes", type=int, nargs="*", default=[2, 4, 8, 16, 32], metavar="N", help="on a device")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="index or part of the name, or cpu (default: $VKSSP_DEVICE, or the fastest)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(args.pairs) < MANY_PAIRS:
            raise QueryError(f"--pairs takes {MANY_PAIRS} or more, since fewer are searched")
        if min(args.most_searched, args.rounds, *args.lanes, 1) < 1 or args.seed < 0:
            raise QueryError("--most-searched, --rounds and --lanes take 1 or more, --seed 0 or more")
        if any(lanes & (lanes - 1) or lanes > label_pairs.MOST_LANES for lanes in args.lanes):
            raise QueryError(f"--lanes takes powers of two up to {label_pairs.MOST_LANES}")
        if args.json_file:
            check_writable(args.json_file, *args.graphs, content="JSON")
        device = CpuDevice() if args.device == "cpu" else Device(args.device)
        args.lanes = args.lanes if isinstance(device, Device) else []
        results = []
        with device:
            for name in args.graphs:
                results.append(measure(name, read_filled_graph(name), args, device))
                head = where_and_when(device)
                if args.json_file:
                    save_result(args.json_file, {**head, "seed": args.seed, "graphs": results})
        print_lines(report(head, results))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
