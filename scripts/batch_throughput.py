#!/usr/bin/env python3
"""Throughput of shortest-path trees over the number of trees at once, beside all cores of the CPU.

  scripts/batch_throughput.py USA-road-t.NY.gr.gz --reduction full --json ny.json --figure ny.png
  scripts/batch_throughput.py iceland.graph --table 1000
  scripts/batch_throughput.py iceland.graph --algorithm phast --table 1000 10000 --write table.npy

--algorithm phast prepares the graph, unless it is prepared. The script then also times preparation, customization,
changes of weights and pairs, and RoutingKit's customization of a hierarchy of the same order. --write PATH, a name
that ends in .npy, writes the largest table there, and as many plain bytes, both until the disk has them.

The script times one-to-all until the distances of all nodes are finished on the device, and until they are in the
memory of the host; tables always until they are in the host's memory. It compares distances of some sources with the
compiled Dijkstra, which it times on one core and on all. It also times RoutingKit's customizable contraction
hierarchy, one-to-many, if RoutingKit is installed and the graph suits it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from vkssp import Graph, QueryError, Solver, VksspError, prepare
from vkssp.algorithms.phast import Phast, hierarchy_of
from vkssp.batch.block_resident_rows import BlockResidentRows
from vkssp.batch.sweep_batch import SweepBatch
from vkssp.bench.cores import cores, dijkstra, one_to_many
from vkssp.bench.customizing import customization
from vkssp.bench.evaluation import Line, check_figure, draw_lines, exit_code, import_pyplot, save_figure
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.peers import RoutingkitCch
from vkssp.bench.result import number, table, tuned_values
from vkssp.bench.timing import median_ms
from vkssp.bench.writing import write
from vkssp.files import atomic_write, check_writable
from vkssp.gpu.device import Device
from vkssp.graph import UNREACHABLE
from vkssp.options import file_name
from vkssp.prepared.renumbered import RenumberedGraph
from vkssp.prepared.seed_groups import Groups
from vkssp.reading import read_graph
from vkssp.terminal import print_lines

#: Sources at once in each row of the table, and repetitions of each.
SIZES, REPETITIONS = (1, 4, 16, 64, 256, 1024, 4096), 3
#: Number of sources with a comparison of distances.
CHECKED = 8


def batch_of(solver: Solver, nodes: np.ndarray, searches: int) -> BlockResidentRows | SweepBatch:
    """Return the row maker for the distances of some nodes of a graph."""
    graph: Any = solver.session.shared.graph
    if solver.algorithm == Phast.NAME:
        return SweepBatch(graph, nodes, searches, UNREACHABLE)
    return BlockResidentRows(graph, nodes, searches, UNREACHABLE, solver.session.parameters)


class Measured:
    """A graph on a device, and the batches of searches that are timed."""

    def __init__(self, solver: Solver, expected: dict[int, np.ndarray], warm_up_s: float) -> None:
        self.solver, self.expected, self.warm_up_s = solver, expected, warm_up_s

    def run(self, sources: np.ndarray, targets: np.ndarray | None, at_once: int, download: bool) -> dict[str, Any]:
        """Time rows from some sources; medians of the repetitions, as the caller and the device see it."""
        solver, node = self.solver, self.solver.session.renumbered.node
        columns = np.arange(solver.graph.num_nodes) if targets is None else targets
        with batch_of(solver, node[columns], min(at_once, len(sources))) as batch:
            groups = Groups.of_nodes(node[sources])
            self._run(
                batch, groups, True, lambda rows, first: self.check(sources[first : first + len(rows)], rows, columns)
            )
            began = time.perf_counter()
            while time.perf_counter() - began < self.warm_up_s:
                self._run(batch, groups, download)
            found = [self._run(batch, groups, download) for _ in range(REPETITIONS)]
        call, device = (float(np.median(values)) for values in list(zip(*found, strict=True))[:2])
        return {
            "call_ms": call,
            "device_ms": device,
            "all_device_ms": [one[1] for one in found],
            "counters": found[0][2],
        }

    @staticmethod
    def _run(
        batch: BlockResidentRows | SweepBatch,
        groups: Groups,
        download: bool,
        check: Callable[[np.ndarray, int], None] | None = None,
    ) -> tuple[float, float, dict[str, int]]:
        """Return milliseconds of the call and on the device, and the counters."""
        began, first = time.perf_counter(), 0
        for finished in batch.rows(groups):
            if download:
                rows = finished.read()
                if check is not None:
                    check(rows, first)
            first += len(finished.overflow)
        made = batch if isinstance(batch, SweepBatch) else batch.batch
        assert made is not None
        return 1e3 * (time.perf_counter() - began), made.device_ms, dict(made.counters)

    def check(self, sources: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        """Raise an error if a row with a known answer is wrong."""
        for source, row in zip(sources.tolist(), rows, strict=True):
            if source in self.expected and not np.array_equal(row, self.expected[source][columns]):
                raise SystemExit(f"wrong distances from {source}")


def measure_hierarchy(solver: Solver, prepare_s: float | None, seed: int) -> dict[str, Any]:
    """Return the results of prepared graphs only: sizes, and the times of new weights and of pairs."""
    graph, rng = solver.graph, np.random.default_rng(seed)
    customized = hierarchy_of(solver.session.shared.graph)  # type: ignore[arg-type]
    hierarchy, rows = customized.hierarchy, customized.downward_arcs()[0]
    some = np.sort(rng.choice(graph.num_arcs, min(graph.num_arcs, 10_000), replace=False))
    pairs = rng.integers(0, graph.num_nodes, (2, 10_000))
    found = solver.pairs(*pairs)
    with Solver(RenumberedGraph(graph), "dijkstra") as reference:
        for source, target, distance in list(zip(*pairs.tolist(), found.tolist(), strict=True))[:CHECKED]:
            if reference.distance(source, target) != distance:
                raise SystemExit(f"wrong distance from {source} to {target}")
    one = iter(np.tile(pairs, 2).T.tolist())
    reached = [pair for pair, distance in zip(pairs.T.tolist(), found.tolist(), strict=True) if distance != UNREACHABLE]
    routes = iter(reached)
    return {
        "prepare_s": prepare_s,
        "levels": hierarchy.num_levels,
        "height": hierarchy.tree_height,
        "hierarchy_arcs": hierarchy.num_arcs,
        "arcs_down": int(rows[:, 1].sum()),
        "customize_call_ms": median_ms(lambda: customized.customize(graph)),
        "customize_device_ms": customized.customize_ms,
        "all_weights_ms": median_ms(lambda: solver.set_weights(graph.weight)),
        "some_weights_ms": median_ms(lambda: solver.set_weights(graph.weight[some], some)),
        "pairs_ms": median_ms(lambda: solver.pairs(*pairs)),
        "pair_ms": median_ms(lambda: solver.distance(*next(one)), 200),
        "route_ms": median_ms(lambda: solver.path(*next(routes)), min(200, len(reached) - 1)),
        **customization(graph, rng.permutation(some)),
    }


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Run everything and return the result."""
    prepare_s = None
    if args.algorithm == Phast.NAME and graph.hierarchy is None:
        prepare(Graph.from_edges([0], [1], [1]))  # loads compiled code
        began = time.perf_counter()
        graph = prepare(graph, progress=True)
        prepare_s = time.perf_counter() - began
    rng = np.random.default_rng(args.seed)
    sizes = [size for size in SIZES if size <= args.most]
    sources = rng.integers(0, graph.num_nodes, max([*sizes, *args.table, CHECKED]))
    checked = sources[:CHECKED].tolist()
    renumbered = RenumberedGraph(graph, keep=True)
    with Solver(renumbered, "dijkstra") as reference:
        expected = {source: reference.distances(source) for source in checked}
        began = time.perf_counter()
        for source in checked:
            reference.search([(source, 0)])
        one_core = 1e3 * (time.perf_counter() - began) / len(checked)
    rows: list[dict[str, Any]] = []
    with Device(args.device) as device, Solver(renumbered, args.algorithm, device, reduction=args.reduction) as solver:
        fits = solver.session.rows_at_once(2**31, graph.num_nodes)
        measured = Measured(solver, expected, args.warm_up)
        began = time.perf_counter()
        while time.perf_counter() - began < args.warm_up:
            solver.search([(checked[0], 0)])
        single = []
        for source in sources[: min(64, len(sources))].tolist():
            began = time.perf_counter()
            device_ms = solver.search([(source, 0)]).device_ms
            single.append((1e3 * (time.perf_counter() - began), device_ms))
        for size in tqdm(sizes, "one-to-all", disable=None):
            for download in (False, True):
                run = measured.run(sources[:size], None, min(size, fits), download)
                rows.append({"sources": size, "targets": graph.num_nodes, "download": download, **run})
        for size in sorted(args.table):
            targets = rng.integers(0, graph.num_nodes, size)
            run = measured.run(sources[:size], targets, min(size, 1024, fits), True)
            rows.append({"sources": size, "targets": size, "download": True, **run})
        written = write(solver, args.write, sources[: max(args.table)], targets, expected) if args.write else None
        hierarchy = measure_hierarchy(solver, prepare_s, args.seed) if args.algorithm == Phast.NAME else None
        head = where_and_when(solver.device)  # type: ignore[arg-type]
        core_nodes = solver.core_nodes
    return {
        **head,
        "graph": args.graph,
        "weights": args.weights,
        "digest": digest(graph),
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "algorithm": args.algorithm,
        "reduction": args.reduction,
        "hierarchy": hierarchy,
        "core_nodes": core_nodes,
        "searches_at_most": fits,
        "seed": args.seed,
        "single_call_ms": float(np.median([one[0] for one in single])),
        "single_device_ms": float(np.median([one[1] for one in single])),
        "rows": rows,
        "written": written,
        "dijkstra_one_core_ms": one_core,
        "dijkstra_all_cores_ms": None,
        "cch_one_to_many": [],
    }


def measure_cores(graph: Graph, args: argparse.Namespace, result: dict[str, Any]) -> None:
    """Add the figures of all cores of the CPU to a result."""
    rng = np.random.default_rng(args.seed)
    sources = rng.integers(0, graph.num_nodes, args.cpu_sources).tolist()
    result["dijkstra_all_cores_ms"] = cores(dijkstra, (graph,), [sources])[0]
    sizes = [min(size, graph.num_nodes) for size in (*args.table, graph.num_nodes)]
    targets = [np.sort(rng.choice(graph.num_nodes, size, replace=False)) for size in sizes]
    queries = [[(number, source) for source in sources] for number in range(len(sizes))]
    try:
        RoutingkitCch.load()
        times = cores(one_to_many, (graph, targets), queries)
        result["cch_one_to_many"] = [{"targets": size, "ms": ms} for size, ms in zip(sizes, times, strict=True)]
    except (VksspError, BrokenProcessPool) as error:
        result["cch_error"] = str(error)


def moved(result: dict[str, Any], row: dict[str, Any]) -> str:
    """Return the least terabytes a second of a sweep over all nodes: distances read, written, and transposed."""
    if result["hierarchy"] is None or row["targets"] != result["nodes"]:
        return ""
    nbytes = 4 * (result["hierarchy"]["arcs_down"] + 3 * result["nodes"])
    return f"{nbytes * row['sources'] / row['device_ms'] / 1e9:.2f}"


def report(result: dict[str, Any]) -> list[str]:
    """Return the tables."""
    lines = [
        f"{result['graph']}: {result['nodes']:,} nodes, {result['arcs']:,} arcs, {result['algorithm']}, reduction "
        f"{result['reduction']}",
        f"{result['device']['name']}, {result['commit']}; milliseconds for a source, medians of {REPETITIONS}",
        *tuned_values(result),
        f"one after the other: {number(result['single_device_ms'])}, by the call {number(result['single_call_ms'])}",
        f"compiled Dijkstra: {number(result['dijkstra_one_core_ms'])} on one core",
    ]
    if result["dijkstra_all_cores_ms"] is not None:
        lines.append(f"  {number(result['dijkstra_all_cores_ms'])} on {result['host']['cores']} cores at once")
    for row in result["cch_one_to_many"]:
        lines.append(f"RoutingKit's CCH to {row['targets']:,} targets, the same cores: {number(row['ms'])}")
    if "cch_error" in result:
        lines.append(f"RoutingKit's CCH: {result['cch_error']}")
    if result["hierarchy"] is not None:
        found = result["hierarchy"].items()
        shown = [(name, value) for name, value in found if value is not None]
        lines += [f"{name}: {value if isinstance(value, str) else number(value)}" for name, value in shown]
    if result["written"] is not None:
        written = result["written"]
        for what, name in (("as a table", "table"), ("plainly", "plain")):
            seconds = written[f"{name}_s"]
            lines.append(
                f"{written['bytes']:,} bytes written {what}: {number(seconds)} s, "
                f"{number(written['bytes'] / seconds / 1e9)} GB/s"
            )
    cells = [
        [
            *(f"{row['sources']:,}", f"{row['targets']:,}", "yes" if row["download"] else "no"),
            *(f"{row[name] / row['sources']:.5f}" for name in ("device_ms", "call_ms")),
            f"{row['call_ms']:.1f}",
            *(f"{row['counters'].get(name, 0):,}" for name in ("iterations", "blocks")),
            moved(result, row),
        ]
        for row in result["rows"]
    ]
    header = ("sources", "targets", "download", "device", "call", "call, all", "iterations", "visits", "TB/s")
    return [*lines, "", *table(header, cells)]


def draw(result: dict[str, Any], figure: Any) -> None:
    """Draw milliseconds for a tree over how many are made at once."""
    names = {False: "on the device", True: "and downloaded"}
    whole = [row for row in result["rows"] if row["targets"] == result["nodes"]]
    lines: dict[str, Line] = {}
    for download, name in names.items():
        some = [row for row in whole if row["download"] is download]
        sources = [row["sources"] for row in some]
        key = "call_ms" if download else "device_ms"
        lines[name] = (sources, [row[key] / row["sources"] for row in some], None, None)
    for name, key in (("Dijkstra, one core", "dijkstra_one_core_ms"), ("Dijkstra, all cores", "dijkstra_all_cores_ms")):
        if result[key] is not None:
            lines[name] = (sources, [result[key]] * len(sources), None, None)
    scales = {"xscale": "log", "yscale": "log"}
    draw_lines(
        figure.subplots(), lines, xlabel="sources at once", ylabel="ms for a tree", title=result["graph"], **scales
    )


def save(path: str | None, result: dict[str, Any]) -> None:
    """Write a result to a file, if the user named one."""
    if path:
        with atomic_write(path) as stream:
            stream.write(json.dumps(result, indent=1).encode())


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:1024")
    parser.add_argument("--weights", help="weights for a file without any, such as random:1-1000,seed=1")
    parser.add_argument("--algorithm", default="block_resident", choices=("block_resident", "phast"))
    parser.add_argument("--reduction", default="auto", choices=("auto", "full", "none"))
    parser.add_argument(
        "--most", type=int, default=SIZES[-1], metavar="N", help="most sources at once (default: %(default)s)"
    )
    parser.add_argument("--table", type=int, nargs="*", default=[], metavar="N", help="also time tables of N by N")
    parser.add_argument(
        "--write", type=file_name, metavar="PATH.npy", help="write the largest table to this file, and time it"
    )
    parser.add_argument("--cpu-sources", type=int, default=512, metavar="N", help="sources for all cores; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--warm-up", type=float, default=0.7, metavar="S", help="seconds of searches before the timed ones"
    )
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    parser.add_argument("--figure", type=file_name, metavar="FILE.png")
    args = parser.parse_args()

    def run() -> None:
        if args.most < 1 or min(args.cpu_sources, args.seed) < 0 or any(size < 1 for size in args.table):
            raise QueryError("--most and --table take 1 or more, --cpu-sources and --seed 0 or more")
        if args.write and (not args.table or Path(args.write).suffix.lower() != ".npy"):
            raise QueryError("--write takes a name that ends in .npy, and needs --table")
        outputs = (args.json_file, args.figure, args.write)
        contents = ("JSON", None, "a NumPy array")
        for place, (path, content) in enumerate(zip(outputs, contents, strict=True)):
            if path:
                check_writable(path, args.graph, *outputs[:place], content=content)
        if args.figure:
            check_figure(args.figure)
        pyplot = import_pyplot() if args.figure else None
        graph = read_graph(args.graph, weights=args.weights)
        result = measure(graph, args)
        if args.cpu_sources:
            save(args.json_file, result)  # before the hierarchies for all cores, which take long
            measure_cores(graph, args, result)
        save(args.json_file, result)
        print_lines(report(result))
        if args.figure and pyplot is not None:
            figure = pyplot.figure(figsize=(6, 4))
            draw(result, figure)
            save_figure(figure, args.figure)

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
