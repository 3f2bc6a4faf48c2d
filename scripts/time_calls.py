#!/usr/bin/env python3
"""What single calls cost, and large results: by the call, on the device, and beside what the machine can do at best.

  scripts/time_calls.py USA-road-t.NY.gr.gz --device 0 --json calls.json
  scripts/time_calls.py road:64 --device 0 --trees 64 --pairs 100 --square 50 --table 400 300 --calls 20

The graph is searched without a hierarchy by what `auto` chooses, and prepared by `phast`. Below the calls stand the
limits: an empty submission, with a thread that sleeps until it has ended and with one that polls, and copies of bytes
from the device to new memory of the host and to memory that is used again. Answers are compared with the compiled
Dijkstra's.

A second table says where the time of a call goes: to the host before the first submission, to the driver and the device
(from the beginning of each submission to the end of the wait for it), to the host between submissions, and to the host
after the last one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from vkssp import UNREACHABLE, Graph, QueryError, Solver, SolverPool, prepare
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table, tuned_values
from vkssp.files import check_writable
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.gpu.host_memory import host_blocks
from vkssp.gpu.recording import Recording
from vkssp.graph.distance_type import Distances
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines

#: Nodes whose distances are compared with Dijkstra's, calls before those that count, and bytes of a copy.
CHECKED, WARM_UP, COPIED = 3, 10, 256 << 20
#: Calls whose parts are told apart, at most.
MOST_PARTS = 100


def check(is_right: bool, what: str) -> None:
    """End the script if a condition is false."""
    if not is_right:
        raise SystemExit(f"wrong {what}")


class Parts:
    """Clock of a call: what passes before the first submission, in submissions and waits, between, and after them.

    Attributes
    ----------
    submissions : int
        Number of submissions since `begin`.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin with a call."""
        self.submissions, self._began, self._first, self._last, self._busy = 0, time.perf_counter(), 0.0, 0.0, 0.0

    def end(self) -> tuple[float, float, float, float]:
        """Return the milliseconds of the parts of the call; without a submission all of it is before the first one."""
        now = time.perf_counter()
        if not self.submissions:
            return 1e3 * (now - self._began), 0.0, 0.0, 0.0
        between = self._last - self._first - self._busy
        return 1e3 * (self._first - self._began), 1e3 * self._busy, 1e3 * between, 1e3 * (now - self._last)

    def watch(self) -> ExitStack:
        """Return a block in which submissions and waits are noted."""
        submit, wait, depth = Recording.submit, Recording.wait, 0

        def timed(act: Callable[..., None], is_submission: bool) -> Callable[..., None]:
            def noted(recording: Recording, *given: Any) -> None:
                nonlocal depth
                if depth or not (is_submission or recording.pending):
                    act(recording, *given)
                    return
                began, depth = time.perf_counter(), 1
                try:
                    act(recording, *given)
                finally:
                    self._last, depth = time.perf_counter(), 0
                self._first = self._first if self.submissions else began
                self._busy += self._last - began
                self.submissions += is_submission

            return noted

        stack = ExitStack()
        stack.enter_context(patch.object(Recording, "submit", timed(submit, True)))
        stack.enter_context(patch.object(Recording, "wait", timed(wait, False)))
        return stack


class Record:
    """Record of the times of calls.

    Attributes
    ----------
    rows : list of dict
        For each kind of call its name, milliseconds of the first call and of the others (quartiles), on the device if
        known, and bytes that the host gets; of some also the parts of calls, medians of milliseconds, as `Parts` tells
        them, and the number of submissions.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def time(
        self,
        name: str,
        calls: int,
        call: Callable[[int], object],
        *,
        warm_up: int = 1,
        nbytes: int = 0,
        device_ms: Callable[[], float] | None = None,
        parts: bool = False,
    ) -> None:
        """Time calls by their numbers, without what releasing their results takes; and perhaps the parts of calls."""
        call_ms, on_device = [], []
        for turn in range(warm_up + calls):
            began = time.perf_counter()
            result = call(turn)
            call_ms.append(1e3 * (time.perf_counter() - began))
            if device_ms is not None:
                on_device.append(device_ms())
            del result
        row = {"name": name, "first_ms": call_ms[0], "call_ms": quartiles(call_ms[warm_up:]), "bytes": nbytes}
        row["device_ms"] = quartiles(on_device[warm_up:]) if any(on_device) else None
        if parts:
            row["parts_ms"], row["submissions"] = self._parts_of(call, warm_up, min(calls, MOST_PARTS))
        self.rows.append(row)

    def _parts_of(self, call: Callable[[int], object], first: int, calls: int) -> tuple[list[float], int]:
        """Return medians of the parts of further calls, and the number of submissions of the last one."""
        clock, found = Parts(), []
        with clock.watch():
            for turn in range(first, first + calls):
                clock.begin()
                result = call(turn)
                found.append(clock.end())
                del result
        return np.median(found, axis=0).tolist(), clock.submissions


def quartiles(values: Sequence[float]) -> list[float]:
    """Return the median and the quartiles."""
    return [float(np.quantile(values, part)) for part in (0.5, 0.25, 0.75)]


def limits(device: Device, record: Record, calls: int) -> None:
    """Time empty submissions and plain copies."""
    with Recording(device) as empty:
        with empty.record():
            empty.barrier("all", "all")

        def submit(_: int) -> None:
            empty.submit()
            empty.wait()

        with patch.dict(device.tuned, {"wait.polling_us": 0}):
            record.time("an empty submission, sleeping", calls, submit, warm_up=WARM_UP)
        record.time("an empty submission", calls, submit, warm_up=WARM_UP, parts=True)
    nbytes = min(COPIED, device.limits.allocation)
    host_blocks.forget()
    with Buffer(device, nbytes, name="the copied bytes", bound=False, shared=True) as source:
        with Download(device, nbytes, device) as download:
            kept: list[Any] = []
            record.time(
                "a copy to new memory",
                5,
                lambda _: kept.append(download.read(source, [(0, nbytes)])),
                warm_up=0,
                nbytes=nbytes,
            )
            kept.clear()
            again = "a copy to memory used before"
            record.time(again, 9, lambda _: download.read(source, [(0, nbytes)]), warm_up=3, nbytes=nbytes)


def unprepared(graph: Graph, device: Device, record: Record, args: argparse.Namespace) -> str:
    """Time searches without a hierarchy; return the algorithm."""
    nodes = np.random.default_rng(args.seed).integers(0, graph.num_nodes, args.calls + WARM_UP).tolist()
    with Solver(graph, device=device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        for node in nodes[:CHECKED]:
            check(np.array_equal(solver.distances(node), reference.distances(node)), f"distances from {node}")

        def on_device() -> float:
            return solver.last.device_ms if solver.last is not None else 0.0

        def search(turn: int) -> None:
            solver.search([(nodes[turn], 0)])

        def read(turn: int) -> Distances:
            return solver.distances(nodes[turn])

        record.time("a tree, not prepared", args.calls, search, warm_up=WARM_UP, device_ms=on_device, parts=True)
        nbytes = 4 * graph.num_nodes
        record.time("the same, read", args.calls, read, nbytes=nbytes, warm_up=WARM_UP, device_ms=on_device, parts=True)
        return solver.algorithm


def prepared(graph: Graph, device: Device, record: Record, args: argparse.Namespace) -> None:
    """Time queries over a hierarchy."""
    rng = np.random.default_rng(args.seed)
    nodes = rng.choice(joined(graph), args.calls + WARM_UP + 1).tolist()
    some = rng.integers(0, graph.num_nodes, (2, args.pairs))
    rows, columns = (rng.integers(0, graph.num_nodes, count) for count in args.table)
    trees = rng.integers(0, graph.num_nodes, args.trees)
    with Solver(graph, "phast", device, label_mib=0) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        solver.distance(0, 0)

        def on_device() -> float:
            return solver.last.device_ms if solver.last is not None else 0.0

        def search(turn: int) -> None:
            solver.search([(nodes[turn], 0)])

        def read(turn: int) -> Distances:
            return solver.distances(nodes[turn])

        def pair(turn: int) -> int:
            return solver.distance(nodes[turn], nodes[turn + 1])

        def path(turn: int) -> object:
            return solver.path(nodes[turn], nodes[turn + 1])

        record.time("a tree", args.calls, search, warm_up=WARM_UP, device_ms=on_device, parts=True)
        nbytes = 4 * graph.num_nodes
        record.time("a tree, read", args.calls, read, nbytes=nbytes, warm_up=WARM_UP, device_ms=on_device, parts=True)
        record.time("a pair", args.calls, pair, warm_up=WARM_UP, device_ms=on_device, parts=True)
        record.time("a path", args.calls, path, warm_up=WARM_UP, parts=True)
        record.time(f"{args.pairs:,} pairs", 9, lambda _: solver.pairs(*some))
        for count in args.square:
            sets, name = rng.integers(0, graph.num_nodes, (12, 2, count)), f"a table of {count:,} by {count:,}"
            record.time(f"{name}, new targets", 9, partial(table_of, solver, sets))
            record.time(f"{name}, the same", 9, partial(table_of, solver, sets[:1]))
        nbytes *= args.trees
        record.time(f"{args.trees:,} trees", 7, lambda _: solver.distances(trees), nbytes=nbytes, warm_up=3)

        def in_chunks(_: int) -> None:
            for _ in solver.distances(trees, chunked=True):
                pass

        record.time(f"{args.trees:,} trees by blocks", 7, in_chunks, nbytes=nbytes, warm_up=3)
        name = f"a table of {len(rows):,} by {len(columns):,}"
        nbytes = 4 * len(rows) * len(columns)
        record.time(name, 7, lambda _: solver.table(rows, columns), nbytes=nbytes, warm_up=3)
        found, paired = solver.table(rows, columns), solver.pairs(*some)
        all_trees = solver.distances(trees)
        for turn in range(CHECKED):
            row, tree = turn % len(rows), turn % len(trees)
            check(np.array_equal(found[row], reference.distances(int(rows[row]))[columns]), "row of a table")
            check(paired[turn % args.pairs] == reference.distance(*some[:, turn % args.pairs].tolist()), "pair")
            check(np.array_equal(all_trees[tree], reference.distances(int(trees[tree]))), "tree")
            one, two = nodes[turn : turn + 2]
            check(solver.distance(one, two) == reference.distance(one, two) == solver.path(one, two).weight, "path")
            check(np.array_equal(solver.distances(one), reference.distances(one)), f"distances from {one}")


def pooled(graph: Graph, devices: str, record: Record, args: argparse.Namespace) -> None:
    """Time the large table by several devices of the machine together."""
    rng = np.random.default_rng(args.seed)
    rows, columns = (rng.integers(0, graph.num_nodes, count) for count in args.table)
    name = f"a table of {len(rows):,} by {len(columns):,}"
    with SolverPool(graph, "phast", devices) as pool, Solver(graph, "dijkstra", "cpu") as reference:
        record.time(
            f"{name}, {len(pool.devices)} devices",
            7,
            lambda _: pool.table(rows, columns),
            nbytes=4 * len(rows) * len(columns),
            warm_up=3,
        )
        found = pool.table(rows, columns)
        for row in np.linspace(0, len(rows) - 1, CHECKED).astype(int):
            check(np.array_equal(found[row], reference.distances(int(rows[row]))[columns]), "row of a pool's table")


def joined(graph: Graph) -> npt.NDArray[np.int64]:
    """Return nodes with paths from each to all others: those that a node reaches, and that reach it."""
    backward = Graph.from_edges(graph.head, graph.tail, np.ones(graph.num_arcs, np.uint32), num_nodes=graph.num_nodes)
    with Solver(graph, "dijkstra", "cpu") as there, Solver(backward, "dijkstra", "cpu") as back:
        hub = int(np.bincount(graph.tail, minlength=graph.num_nodes).argmax())
        found = np.maximum(there.distances(hub), back.distances(hub))
    return np.flatnonzero(found != UNREACHABLE)


def table_of(solver: Solver, sets: npt.NDArray[np.int64], turn: int) -> Distances:
    """Return a table between the sources and targets of one set."""
    return solver.table(*sets[turn % len(sets)])


def spread(values: Sequence[float] | None) -> str:
    """Return a median with its quartiles."""
    return "" if values is None else f"{number(values[0])} ({number(values[1])} to {number(values[2])})"


def rate(row: dict[str, Any]) -> str:
    """Return the bytes that a call brings to the host in a second."""
    return f"{1e-6 * row['bytes'] / row['call_ms'][0]:.1f}" if row["bytes"] else ""


def report(result: dict[str, Any]) -> list[str]:
    """Return the table."""
    lines = [
        f"{result['device']['name']}, {result['commit']}; {result['graph']}, {result['nodes']:,} nodes; not prepared: "
        f"{result['algorithm']}; milliseconds, medians and quartiles",
        *tuned_values(result),
        "",
    ]
    header = ("", "by the call", "on the device", "the first call", "GB/s")
    of = [
        (row["name"], spread(row["call_ms"]), spread(row["device_ms"]), number(row["first_ms"]), rate(row))
        for row in result["rows"]
    ]
    parts = ("", "before", "driver and device", "between", "after", "submissions")
    told = [
        (row["name"], *map(number, row["parts_ms"]), str(row["submissions"]))
        for row in result["rows"]
        if "parts_ms" in row
    ]
    return [*lines, *table(header, of), "", "where the time goes, milliseconds, medians", "", *table(parts, told)]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    parser.add_argument("--calls", type=int, default=300, metavar="N", help="single calls (default: %(default)s)")
    parser.add_argument("--trees", type=int, default=1024, metavar="N", help="trees at once (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=10_000, metavar="N", help="pairs at once (default: %(default)s)")
    tables = "rows and columns of small tables (default: 100 1000)"
    parser.add_argument("--square", type=int, nargs="+", default=[100, 1000], metavar="N", help=tables)
    what, sizes = "rows and columns of a large table (default: 40000 10000)", [40_000, 10_000]
    parser.add_argument("--table", type=int, nargs=2, default=sizes, metavar=("S", "T"), help=what)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest)")
    parser.add_argument("--pool", metavar="DEVICES", help="also the large table by several devices, as 'all' or '0,1'")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(args.calls, args.trees, args.pairs, *args.square, *args.table) < 1 or args.seed < 0:
            raise QueryError("--calls, --trees, --pairs, --square and --table take 1 or more, --seed 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        graph, record = read_graph(args.graph), Record()
        if not graph.num_nodes:
            raise QueryError(f"{args.graph} has no nodes; give another graph")
        if graph.hierarchy is not None:
            raise QueryError(f"{args.graph} is prepared; give the graph that it was made of")
        ready = prepare(graph, progress=True)
        with Device(args.device) as device:
            algorithm = unprepared(graph, device, record, args)
            prepared(ready, device, record, args)
            if args.pool:
                pooled(ready, args.pool, record, args)
            limits(device, record, args.calls)
            result = where_and_when(device)
        result |= {"graph": args.graph, "digest": digest(graph), "nodes": graph.num_nodes, "arcs": graph.num_arcs}
        result |= {"algorithm": algorithm, "rows": record.rows}
        if args.json_file:
            save_result(args.json_file, result)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
