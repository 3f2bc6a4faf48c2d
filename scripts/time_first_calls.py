#!/usr/bin/env python3
"""The first searches of a process without a hierarchy, some calls at a time: times, what is made for them, and clocks.

  scripts/time_first_calls.py USA-road-t.NY.gr.gz --device 0                 # nodes are eliminated before the search
  scripts/time_first_calls.py USA-road-t.NY.gr.gz --device 0 --rounds 0      # none is; in a process of its own

Each line is of --each calls of `search`, which leaves the distances on the device: medians of milliseconds by the call
and on the device, iterations, submissions of a call, and how many command buffers were recorded, pipelines compiled and
buffers made for all of them; the last columns are the clocks in MHz, least to greatest, which `nvidia-smi` prints where
it exists (it runs all the while; --clocks-ms 0 does without).

The series tell causes apart. The first calls of the process come first: nothing is compared before. The same solver
then goes on after a pause: if its calls are slow again, then the device was, which lowers its clocks when it is idle. A
new solver begins while the device is awake: if its first calls are slow, something about a solver is. At last come
calls that each follow a copy of the distances to the host. In the end distances are compared with the compiled
Dijkstra's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from vkssp import Graph, QueryError, Solver
from vkssp.bench.evaluation import exit_code
from vkssp.bench.filled_graph import read_filled_graph
from vkssp.bench.gpu_clocks import EVERY_MS, ClockReader
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table, tuned_values
from vkssp.engine import loop, reduced
from vkssp.files import check_writable
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.pipeline import Pipeline
from vkssp.gpu.recording import Recording
from vkssp.options import file_name
from vkssp.prepared.elimination import MOST_ROUNDS, eliminate
from vkssp.terminal import print_lines

#: Sources whose distances are compared with Dijkstra's.
CHECKED = 3
#: The columns of the clocks.
CLOCKS = ("processors, MHz", "memory, MHz")
#: What is counted, and the method that makes one of it.
MADE: dict[str, tuple[type, str]] = {
    "submissions": (Recording, "submit"),
    "recorded": (Recording, "record"),
    "compiled": (Pipeline, "compile"),
    "buffers": (Buffer, "__init__"),
}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count in a block what is submitted and made."""
    made: Counter[str] = Counter()

    def counting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(of: Any, *given: Any, **named: Any) -> Any:
            made[name] += not (name == "compiled" and of.is_made)
            return method(of, *given, **named)

        return noted

    with ExitStack() as stack:
        for name, (kind, method) in MADE.items():
            stack.enter_context(patch.object(kind, method, counting(name, getattr(kind, method))))
        yield made


class Series:
    """Calls of one solver after each other, some of which make a row.

    Parameters
    ----------
    clocks : ClockReader
        Reader of clocks.
    made : Counter
        What has been made so far.
    each : int
        Calls of a row.
    """

    def __init__(self, clocks: ClockReader, made: Counter[str], each: int) -> None:
        self._clocks, self._made, self._each = clocks, made, each
        self.rows: list[dict[str, Any]] = []

    def run(self, name: str, solver: Solver, nodes: list[int], between: Callable[[], object] | None = None) -> None:
        """Search from some nodes, and do something before each search that is not timed."""
        for first in range(0, len(nodes), self._each):
            some = nodes[first : first + self._each]
            self._made.clear()
            calls, on_device, iterations, began = [], [], [], time.time()
            made: Counter[str] = Counter()
            for node in some:
                if between is not None:
                    between()
                    self._made.clear()
                start = time.perf_counter()
                solver.search([(node, 0)])
                calls.append(1e3 * (time.perf_counter() - start))
                made.update(self._made)
                self._made.clear()
                assert solver.last is not None
                on_device.append(solver.last.device_ms)
                iterations.append(solver.last.counters["iterations"])
            row = {"series": name, "first": first, "calls": len(some), "span": (began, time.time())}
            row |= {"call_ms": quartiles(calls), "device_ms": quartiles(on_device)}
            row |= {"iterations": float(np.median(iterations)), "made": dict(made), "each_ms": [calls, on_device]}
            self.rows.append(row)

    def add_clocks(self) -> None:
        """Add the clocks to the rows, once all have been read."""
        for row in self.rows:
            found = self._clocks.between(*row.pop("span"))
            row["clocks"] = [[of.processors for of in found], [of.memory for of in found]]


def quartiles(values: list[float]) -> list[float]:
    """Return the median and the quartiles."""
    return [float(np.quantile(values, part)) for part in (0.5, 0.25, 0.75)]


def measure(graph: Graph, args: argparse.Namespace) -> dict[str, Any]:
    """Run all series, compare, and return the result."""
    nodes = np.random.default_rng(args.seed).integers(0, graph.num_nodes, args.calls).tolist()
    some = nodes[: max(1, args.calls // 2)]
    clocks = ClockReader(args.clocks_ms)
    eliminating = patch.object(reduced, "eliminate", partial(eliminate, rounds=args.rounds))
    predicting = patch.object(loop, "MOST_PREDICTED_MS", np.inf if args.predict_all else loop.MOST_PREDICTED_MS)
    with (
        clocks,
        eliminating,
        predicting,
        counted() as made,
        Device(args.device) as device,
        Solver(graph, device=device) as solver,
    ):
        series = Series(clocks, made, args.each)
        made_s = time.perf_counter()
        series.run("the first of the process", solver, nodes)
        time.sleep(args.pause)
        series.run(f"after {args.pause:g} s of rest", solver, some)
        with Solver(graph, device=device) as another:
            end = time.perf_counter() + args.warm_up
            while time.perf_counter() < end:
                solver.search([(nodes[0], 0)])
            series.run("the first of a new solver, device awake", another, some)
            series.run("the first solver again", solver, some)
            series.run("after a copy to the host each", solver, some, lambda: solver.distances(nodes[0]))
        algorithm, took_s = solver.algorithm, time.perf_counter() - made_s
        check(solver, graph, nodes[:CHECKED])
        result = where_and_when(device)
    series.add_clocks()
    result |= {"nodes": graph.num_nodes, "arcs": graph.num_arcs, "digest": digest(graph), "algorithm": algorithm}
    return result | {"rounds": args.rounds, "seconds": took_s, "rows": series.rows}


def check(solver: Solver, graph: Graph, nodes: list[int]) -> None:
    """End the script if distances are wrong."""
    with Solver(graph, "dijkstra", "cpu") as reference:
        for node in nodes:
            if not np.array_equal(solver.distances(node), reference.distances(node)):
                raise SystemExit(f"wrong distances from {node}")


def ends(values: list[float]) -> str:
    """Return the least and the greatest of some numbers."""
    numbers = sorted({f"{value:.0f}" for value in (min(values), max(values))}, key=float) if values else []
    return "..".join(numbers)


def report(result: dict[str, Any]) -> list[str]:
    """Return the table."""
    header = ("", "calls", "by the call", "on the device", "iterations", *MADE, *CLOCKS)
    lines = []
    for row in result["rows"]:
        low, high = row["first"] + 1, row["first"] + row["calls"]
        made = [row["made"].get(name, 0) for name in MADE]
        lines.append(
            (
                row["series"] if row["first"] == 0 else "",
                f"{low}..{high}",
                *("{} ({}..{})".format(*map(number, row[key])) for key in ("call_ms", "device_ms")),
                f"{row['iterations']:g}",
                number(made[0] / row["calls"]),
                *(str(count) for count in made[1:]),
                *(ends(clocks) for clocks in row["clocks"]),
            )
        )
    return [
        f"{result['device']['name']} ({result['device']['driver']}), {result['commit']}; {result['graph']}, "
        f"{result['nodes']:,} nodes; {result['algorithm']}, {result['rounds']} rounds of elimination; milliseconds, "
        "medians and quartiles",
        *tuned_values(result),
        "",
        *table(header, lines),
    ]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100; not prepared")
    parser.add_argument("--calls", type=int, default=400, metavar="N", help="first calls (default: %(default)s)")
    parser.add_argument("--each", type=int, default=50, metavar="N", help="calls of a line (default: %(default)s)")
    rounds = "rounds of the elimination at most, 0 for none (default: %(default)s)"
    parser.add_argument("--rounds", type=int, default=MOST_ROUNDS, metavar="N", help=rounds)
    parser.add_argument("--pause", type=float, default=3.0, metavar="S", help="seconds of rest (default: %(default)s)")
    awake = "seconds of searches until the device is awake (default: %(default)s)"
    parser.add_argument("--warm-up", type=float, default=0.7, metavar="S", help=awake)
    often = "milliseconds between readings of the clocks, 0 for none (default: %(default)s)"
    parser.add_argument("--clocks-ms", type=int, default=EVERY_MS, metavar="N", help=often)
    all_of_them = "predict the length of slow searches, too, so that software devices do what GPUs do"
    parser.add_argument("--predict-all", action="store_true", help=all_of_them)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(args.calls, args.each) < 1 or min(args.rounds, args.pause, args.warm_up, args.clocks_ms, args.seed) < 0:
            raise QueryError("--calls and --each take 1 or more, all other numbers 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        graph = read_filled_graph(args.graph, takes_prepared=False)
        result = {"graph": args.graph} | measure(graph, args)
        if args.json_file:
            save_result(args.json_file, result)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
