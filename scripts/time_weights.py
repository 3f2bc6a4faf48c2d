#!/usr/bin/env python3
"""Times of changes of weights on a prepared graph: of all arcs and of few, on a device and on the CPU.

  scripts/time_weights.py ny.graph --device cpu
  scripts/time_weights.py ny40.graph --few 100 10000 --json ny40.json      # the default device

Changes are calls of `Solver.set_weights`, timed by the clock and in seconds of the processor; after the ones on a
device, the time there is that of customization. "and a pair" is the next query, which needs the new weights. After each
kind of change, all distances from a node are compared with Dijkstra's, and all arcs of the hierarchy with those of a
customization of all arcs. On devices small hierarchies are always customized as a whole, unless --partial-arcs is less.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from vkssp import Graph, QueryError, Solver, prepare
from vkssp.algorithms.phast import hierarchy_of
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import save_result, table, tuned_values
from vkssp.cch import recustomized
from vkssp.cch.customized import CustomizedHierarchy as CustomizedHierarchyOnDevice
from vkssp.cpu.customized import CustomizedHierarchy, customized_of
from vkssp.cpu.device import CpuGraph
from vkssp.engine.device_graph import DeviceGraph
from vkssp.files import check_writable
from vkssp.graph.csr import ranges
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines

#: New weights of the changed arcs, from those before, by the name of the kind of change.
KINDS = ("heavier", "lighter", "random", "closed")


def changes(graph: Graph, kind: str, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return some arcs, and weights for them."""
    arcs = rng.choice(graph.num_arcs, min(count, graph.num_arcs), replace=False)
    weight = graph.weight[arcs]
    if kind == "heavier":
        return arcs, weight + weight // 8 + 1
    if kind == "closed":
        return arcs, np.full(len(arcs), 2**30, np.uint32)
    if kind == "lighter":
        found = weight - weight // 8
    else:
        found = rng.integers(0, int(graph.weight.max()) + 1, len(arcs), dtype=np.uint32)
    turn = None if graph.streets is None else graph.streets.turn
    return arcs, found if turn is None else np.maximum(found, turn[arcs])  # an arc takes what its turn does


class Stopwatch:
    """Milliseconds of repeated steps, by the clock and by the processor."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.then: list[float] = []
        self.device: list[float] = []

    def row(self) -> dict[str, float]:
        """Return medians, and the number of steps."""
        found = {"ms": self.wall, "cpu_ms": self.cpu, "pair_ms": self.then, "device_ms": self.device}
        return {name: float(np.median(values)) for name, values in found.items() if values} | {"calls": len(self.wall)}


def check(solver: Solver, reference: Solver, source: int) -> None:
    """End the script unless distances, and the arcs of a hierarchy on the CPU, are right."""
    reference.set_weights(solver.graph.weight)
    if not np.array_equal(solver.distances(source), reference.distances(source)):
        raise SystemExit(f"wrong distances from {source}")
    graph = solver.session.shared.graph
    if isinstance(graph, CpuGraph):
        made = customized_of(graph)
        whole = CustomizedHierarchy(made.layout, graph.renumbered.graph)
        count = made.layout.num_arcs
        if not all(np.array_equal(*(side[:count] for side in sides)) for sides in zip(*arcs(made, whole), strict=True)):
            raise SystemExit("the hierarchy's arcs differ from those of a whole customization")
    if isinstance(graph, DeviceGraph):
        on_device = hierarchy_of(graph)
        before = state(on_device)
        on_device.customize(graph.renumbered.graph)
        if not all(np.array_equal(*sides) for sides in zip(before, state(on_device), strict=True)):
            raise SystemExit("the hierarchy's arcs on the device differ from those of a whole customization")


def state(made: CustomizedHierarchyOnDevice) -> list[np.ndarray]:
    """Return what a device has of a hierarchy: weights of arcs, ranges of downward arcs, and these arcs."""
    _ = made.saturated  # wait
    arc_ranges, downward = made.downward_arcs()
    used = downward[ranges(arc_ranges[:, 0], arc_ranges[:, 1])]
    return [made.weights.read(np.uint32, 2 * made.hierarchy.num_arcs), arc_ranges, used]


def arcs(*made: CustomizedHierarchy) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the weights of the arcs of hierarchies."""
    return ((one.up, one.down) for one in made)


def timed(solver: Solver, watch: Stopwatch, weights: np.ndarray, changed: np.ndarray | None, pair: list[int]) -> None:
    """Change weights, ask for a pair, and note the times."""
    began, began_cpu = time.perf_counter(), time.process_time()
    solver.set_weights(weights, changed)
    done, done_cpu = time.perf_counter(), time.process_time()
    solver.distance(*pair)
    watch.then.append(1e3 * (time.perf_counter() - done))
    watch.wall.append(1e3 * (done - began))
    watch.cpu.append(1e3 * (done_cpu - began_cpu))
    graph = solver.session.shared.graph
    if isinstance(graph, DeviceGraph):
        watch.device.append(hierarchy_of(graph).customize_ms)


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Change weights, compare, and return the result."""
    graph = graph if graph.hierarchy is not None else prepare(graph, progress=True)
    rng = np.random.default_rng(args.seed)
    rows: dict[str, dict[str, float]] = {}
    stages: dict[str, float] = {}
    with Solver(graph, "phast", args.device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        pair = rng.integers(0, graph.num_nodes, 2).tolist()
        solver.distance(*pair)
        other = (graph.weight + 1).astype(np.uint32)
        for changed in (other, graph.weight):  # the first changes compile kernels
            solver.set_weights(changed)
            solver.distance(*pair)
        few_arcs = np.arange(min(3, graph.num_arcs))
        for _ in range(2):  # partial customization is prepared, and then runs for the first time
            solver.set_weights(graph.weight[few_arcs], few_arcs)
            solver.distance(*pair)
        watch = Stopwatch()
        for number in range(args.repetitions):
            timed(solver, watch, graph.weight if number % 2 else other, None, pair)
        rows["all arcs"] = watch.row()
        check(solver, reference, pair[0])
        at = solver.session.shared.graph
        if isinstance(at, DeviceGraph):
            stages = dict(hierarchy_of(at).stages_ms)
        solver.set_weights(graph.weight)
        solver.distance(*pair)
        for count in args.few:
            for kind in KINDS:
                there, back = Stopwatch(), Stopwatch()
                for _ in range(args.repetitions):
                    chosen, weights = changes(graph, kind, count, rng)
                    timed(solver, there, weights, chosen, pair)
                    if not back.wall:
                        check(solver, reference, pair[0])
                    timed(solver, back, graph.weight[chosen], chosen, pair)
                rows[f"{count:,} arcs {kind}"], rows[f"{count:,} arcs {kind}, and back"] = there.row(), back.row()
        check(solver, reference, pair[0])
        head = where_and_when(solver.session.shared.device)
    assert graph.hierarchy is not None
    return {
        **head,
        "graph": args.graph,
        "digest": digest(graph),
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "hierarchy_arcs": graph.hierarchy.num_arcs,
        "seed": args.seed,
        "rows": rows,
        "stages": stages,
    }


def report(result: dict[str, Any]) -> list[str]:
    """Return the result as lines."""
    names = ("ms", "cpu_ms", "device_ms", "pair_ms")
    rows = [(name, *(f"{row[key]:.2f}" if key in row else "" for key in names)) for name, row in result["rows"].items()]
    lines = [
        f"{result['graph']}: {result['nodes']:,} nodes, {result['arcs']:,} arcs, {result['hierarchy_arcs']:,} arcs of "
        f"the hierarchy; {result['device']['name']} ({result['device']['driver']}), {result['host']['cores']} cores, "
        f"{result['commit']}",
        *tuned_values(result),
        "",
        *table(("milliseconds, medians", "call", "processor", "on the device", "and a pair"), rows),
    ]
    if result["stages"]:
        lines += ["", *table(("stage on the device", "ms"), [(k, f"{v:.2f}") for k, v in result["stages"].items()])]
    return lines


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    parser.add_argument("--few", type=int, nargs="+", default=[100], metavar="N", help="arcs (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="of each change (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="'cpu', or index or part of the name of a device (default: the fastest kind)")
    parser.add_argument(
        "--partial-arcs",
        type=int,
        metavar="N",
        help=f"fewest arcs of a hierarchy that a device customizes partly, also where that saves little (default: "
        f"{recustomized.FEWEST_ARCS}, where it saves much)",
    )
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(*args.few, args.repetitions) < 1 or min(args.seed, args.partial_arcs or 0) < 0:
            raise QueryError("--few and --repetitions take 1 or more, --seed and --partial-arcs 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        graph = read_graph(args.graph)
        if graph.num_arcs == 0:
            raise QueryError(f"{args.graph} has no arcs; give another graph")
        if args.partial_arcs is not None:
            recustomized.FEWEST_ARCS, recustomized.MOST_WORK = args.partial_arcs, 1
        result = measure(graph, args)
        if args.json_file:
            save_result(args.json_file, result)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
