#!/usr/bin/env python3
"""What single calls cost, and large results: by the call, on the device, and beside what the machine can do at best.

  scripts/time_calls.py USA-road-t.NY.gr.gz --device 0 --json calls.json
  scripts/time_calls.py road:64 --device 0 --trees 64 --pairs 100 --square 50 --table 400 300 --calls 20

The graph is searched without a hierarchy by what `auto` chooses, and prepared by `phast`. Trees from one source are
timed twice: swept by levels, as the first 1,000 of a solver are, and by bundles, as those after them are; not by
bundles on software devices and of graphs of more than 2^20 nodes, whose trees are always swept by levels. "Searched" is
a call of `search`, whose distances stay with the solver, "left on the device" one of `distances_on_device`. Paths that
are the only shortest ones are timed apart from those with ties, by Dijkstra's distances. Below the calls stand the
limits: an empty submission, with a thread that sleeps until it has ended and with one that polls, dispatches that wait
for each other, and copies of bytes from the device to new memory of the host and to memory that is used again. Answers
are compared with the compiled Dijkstra's.

Each kind of call goes on for --warm-up seconds before the calls that count, since a device that rests lowers its clock.

A second table says where the time of a call goes: to the host before the first submission, to the driver and the device
(from the beginning of each submission to the end of the wait for it), to the host between submissions, and to the host
after the last one. A third one has the time on the device by kernel, of further calls with timestamps between
kernels.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from vkssp import UNREACHABLE, Graph, QueryError, Solver, SolverPool, prepare
from vkssp.bench.evaluation import exit_code
from vkssp.bench.filled_graph import read_filled_graph
from vkssp.bench.kernel_times import KernelTimes
from vkssp.bench.measuring import digest, where_and_when
from vkssp.bench.result import number, save_result, table, tuned_values
from vkssp.cch.bundled import may_bundle
from vkssp.files import check_writable
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.download import Download
from vkssp.gpu.host_memory import host_blocks
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.recording import Recording, Timestamps
from vkssp.graph.distance_type import Distances
from vkssp.options import file_name
from vkssp.terminal import print_lines

#: Nodes whose distances are compared with Dijkstra's, calls before those that count, and bytes of a copy.
CHECKED, WARM_UP, COPIED = 3, 10, 256 << 20
#: Calls whose parts are timed apart, and those of many trees or whose kernels are, at most.
MOST_PARTS, MOST_STAGES = 100, 30
#: Parts of a call, in the order of time.
PARTS = ("before", "driver and device", "between", "after")
#: Dispatches in a submission, each of which waits for the one before.
DISPATCHES = 1000
#: Trees before a solver sweeps by bundles, see `vkssp.tunables`: never, or at once.
SWEPT = {"by levels": -1, "by bundles": 0}
#: Paths of each kind that are compared.
MOST_CHECKED_PATHS = 20
#: Sources of the paths that are parted by ties, and targets of each.
PATH_SOURCES, PATH_TARGETS = 64, 16

Ends = tuple[int, int, int]


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
        known, and bytes that the host gets; of some also the parts of calls by their names, quartiles of milliseconds,
        and the number of submissions, or medians of the milliseconds of kernels by their names. Quartiles are the
        median, the lower and the upper one.

    Parameters
    ----------
    warm_up_s : float
        Seconds of calls of each kind before those that count.
    """

    def __init__(self, warm_up_s: float = 0.0) -> None:
        self.rows: list[dict[str, Any]] = []
        self._warm_up_s = warm_up_s

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
        before: Callable[[int], object] | None = None,
        **more: Any,
    ) -> None:
        """Time calls by their numbers, without what releasing their results takes; and perhaps the parts of calls.

        Without calls that warm up, none are repeated until the device is awake. A call before each, which may be given,
        is not timed. What else is given goes into the row.
        """
        call_ms, on_device = [], []
        awake = time.perf_counter() + self._warm_up_s
        for turn in range(warm_up + calls):
            if turn == warm_up > 0:
                for again in itertools.count():
                    if time.perf_counter() >= awake:
                        break
                    if before is not None:
                        before(again % warm_up)
                    call(again % warm_up)
            if before is not None:
                before(turn)
            began = time.perf_counter()
            result = call(turn)
            call_ms.append(1e3 * (time.perf_counter() - began))
            if device_ms is not None:
                on_device.append(device_ms())
            del result
        row = {"name": name, "first_ms": call_ms[0], "call_ms": quartiles(call_ms[warm_up:]), "bytes": nbytes, **more}
        row["device_ms"] = quartiles(on_device[warm_up:]) if any(on_device) else None
        if parts:
            row["parts_ms"], row["submissions"] = self._parts_of(call, before, warm_up, min(calls, MOST_PARTS))
        self.rows.append(row)

    def stages(self, name: str, kernels: KernelTimes, calls: int, call: Callable[[int], object]) -> None:
        """Add a row with the times of the kernels of calls, whose recordings were made while kernels are watched."""
        found: list[dict[str, float]] = []
        call(0)
        awake = time.perf_counter() + self._warm_up_s
        while time.perf_counter() < awake:
            call(0)
        for turn in range(calls):
            kernels.begin()
            result = call(turn)
            found.append(dict(kernels.milliseconds))
            del result
        stages = {kernel: float(np.median([of.get(kernel, 0.0) for of in found])) for kernel in found[-1]}
        self.rows.append({"name": name, "stages_ms": stages})

    def _parts_of(
        self, call: Callable[[int], object], before: Callable[[int], object] | None, first: int, calls: int
    ) -> tuple[dict[str, list[float]], int]:
        """Return quartiles of the parts of further calls, and the number of submissions of the last one."""
        clock, found = Parts(), []
        with clock.watch():
            for turn in range(first, first + calls):
                if before is not None:
                    before(turn)
                clock.begin()
                result = call(turn)
                found.append(clock.end())
                del result
        return dict(zip(PARTS, map(quartiles, zip(*found, strict=True)), strict=True)), clock.submissions


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
    dispatches(device, record, min(calls, MOST_STAGES))
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


def dispatches(device: Device, record: Record, calls: int) -> None:
    """Time dispatches of a kernel without work, each of which waits for the one before."""
    size = min(64, device.limits.workgroup_size)
    with (
        Buffer(device, 256, name="no distances") as nothing,
        Timestamps(device, 2) as times,
        Kernel(device, "gather", bindings=3, push_constants=3, workgroup_size=size) as gather,
        gather.on(nothing, nothing, nothing) as bound,
        Recording(device) as recording,
    ):
        with recording.record():
            recording.barrier("all", "all")
            recording.timestamp(times, 0)
            recording.bind(bound)
            recording.push(bound, 0, 0, 0)
            for _ in range(DISPATCHES):
                recording.dispatch(1)
                recording.barrier()
            recording.timestamp(times, 1)

        def submit(_: int) -> None:
            recording.submit()
            recording.wait()

        name = f"{DISPATCHES:,} dispatches, each with a barrier"
        record.time(name, calls, submit, warm_up=3, device_ms=times.between)


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
    some = rng.integers(0, graph.num_nodes, (2, max(args.pairs)))
    rows, columns = (rng.integers(0, graph.num_nodes, count) for count in args.table)
    trees = rng.integers(0, graph.num_nodes, args.trees)
    with Solver(graph, "dijkstra", "cpu") as reference:
        kinds = swept_kinds(graph, device)
        for kind in kinds:
            with swept(graph, device, kind) as solver:
                single_trees(solver, kind, nodes, record, reference)
                if kind != kinds[-1]:  # what follows is timed once
                    continue
                record.time("a pair", args.calls, partial(pair, solver, nodes), **timed_parts(solver), warm_up=WARM_UP)
                paths(solver, record, args, reference)
                for count in args.pairs:
                    record.time(f"{count:,} pairs", 9, same(partial(solver.pairs, *some[:, :count])))
                for count in args.square:
                    sets = rng.integers(0, graph.num_nodes, (12, 2, count))
                    name = f"a table of {count:,} by {count:,}"
                    record.time(f"{name}, new targets", 9, partial(table_of, solver, sets))
                    record.time(f"{name}, the same", 9, partial(table_of, solver, sets[:1]))
                many_trees(solver, trees, record, reference, min(args.calls, MOST_STAGES))
                name, nbytes = f"a table of {len(rows):,} by {len(columns):,}", 4 * len(rows) * len(columns)
                make = partial(solver.table, rows, columns)
                record.time(name, 7, same(make), nbytes=nbytes, warm_up=3)
                found, paired = make(), solver.pairs(*some)
                for turn in range(CHECKED):
                    row = turn % len(rows)
                    check(np.array_equal(found[row], reference.distances(int(rows[row]))[columns]), "row of a table")
                    place = turn % len(paired)
                    check(paired[place] == reference.distance(*some[:, place].tolist()), "pair")
                    one, two = nodes[turn : turn + 2]
                    check(solver.distance(one, two) == reference.distance(one, two), "distance of a pair")
    stages(graph, device, record, nodes, trees, min(args.calls, MOST_STAGES))


def swept_kinds(graph: Graph, device: Device) -> list[str]:
    """Return the ways to sweep single trees that a device has for a prepared graph."""
    assert graph.hierarchy is not None
    return [kind for kind in SWEPT if kind != "by bundles" or may_bundle(device, graph.hierarchy)]


@contextmanager
def swept(graph: Graph, device: Device, kind: str) -> Iterator[Solver]:
    """Make a solver that sweeps single trees by levels or by bundles."""
    with (
        patch.dict(device.tuned, {"bundles.trees": SWEPT[kind]}),
        Solver(graph, "phast", device, label_mib=0) as solver,
    ):
        solver.distances(0)
        yield solver


def timed_parts(solver: Solver) -> dict[str, Any]:
    """Return what is timed besides the calls of a solver, as arguments of `Record.time`."""
    return {"device_ms": lambda: solver.last.device_ms if solver.last is not None else 0.0, "parts": True}


def same(call: Callable[[], object]) -> Callable[[int], object]:
    """Return a function of the number of a call that makes the same call each time."""
    return lambda _: call()


def search(solver: Solver, nodes: list[int], turn: int) -> None:
    """Find the distances from a node, and leave them with the solver."""
    solver.search([(nodes[turn], 0)])


def path(solver: Solver, pairs: list[Ends], turn: int) -> object:
    """Find a shortest path."""
    return solver.path(*pairs[turn % len(pairs)][:2])


def pair(solver: Solver, nodes: list[int], turn: int) -> int:
    """Find the distance between two nodes."""
    return int(solver.distance(nodes[turn], nodes[turn + 1]))


def single_trees(solver: Solver, kind: str, nodes: list[int], record: Record, reference: Solver) -> None:
    """Time trees from one source each."""
    calls, timed = len(nodes) - WARM_UP - 1, {"warm_up": WARM_UP, **timed_parts(solver)}
    record.time(f"a tree {kind}, searched", calls, partial(search, solver, nodes), **timed)

    def left(turn: int) -> object:
        return solver.distances_on_device(nodes[turn])

    def read(turn: int) -> Distances:
        return solver.distances(nodes[turn])

    record.time(f"a tree {kind}, left on the device", calls, left, **timed)
    record.time(f"a tree {kind}, to the host", calls, read, nbytes=4 * solver.graph.num_nodes, **timed)
    for node in nodes[:CHECKED]:
        expected, on_device = reference.distances(node), solver.distances_on_device(node).numpy()
        check(np.array_equal(solver.distances(node), expected), f"distances from {node}")
        check(np.array_equal(on_device, expected), f"distances from {node} on the device")


def many_trees(solver: Solver, sources: npt.NDArray[np.int64], record: Record, reference: Solver, calls: int) -> None:
    """Time trees from many sources at once."""
    name, nbytes = f"{len(sources):,} trees", 4 * len(sources) * solver.graph.num_nodes
    left, read = same(partial(solver.distances_on_device, sources)), same(partial(solver.distances, sources))
    record.time(f"{name}, left on the device", calls, left, warm_up=3, parts=True)
    record.time(f"{name} to the host", 7, read, nbytes=nbytes, warm_up=3)

    def in_chunks(_: int) -> None:
        for rows in solver.distances(sources, chunked=True):
            del rows

    record.time(f"{name} to the host by blocks", 7, in_chunks, nbytes=nbytes, warm_up=3)
    on_host, on_device = solver.distances(sources), solver.distances_on_device(sources).numpy()
    check(np.array_equal(on_host, on_device), "trees on the device")
    for place, source in enumerate(sources[:CHECKED].tolist()):
        check(np.array_equal(on_host[place], reference.distances(source)), "tree")


def stages(
    graph: Graph, device: Device, record: Record, nodes: list[int], sources: npt.NDArray[np.int64], calls: int
) -> None:
    """Time the kernels of a tree and of many trees that stay on the device."""
    with KernelTimes(device) as kernels, kernels.watch():
        for kind in swept_kinds(graph, device):
            with swept(graph, device, kind) as solver:
                record.stages(f"a tree {kind}, searched", kernels, calls, partial(search, solver, nodes))
                if kind == "by levels":  # for many trees at once it does not matter
                    name = f"{len(sources):,} trees, left on the device"
                    record.stages(name, kernels, calls, same(partial(solver.distances_on_device, sources)))


def paths(solver: Solver, record: Record, args: argparse.Namespace, reference: Solver) -> None:
    """Time paths that are the only shortest ones, and those with ties, after one of the others and after each other.

    After some paths with ties a device does not look for a single shortest path any more.
    """
    unique, tied = pairs_by_ties(solver.graph, reference, args.seed)
    kinds = (
        ("a path, the only shortest one", unique, None),
        ("a path with ties, after one without", tied, unique),
        ("a path with ties, after others", tied, None),
    )
    for name, pairs, others in kinds:
        if not pairs or (others is not None and not others):
            continue
        before = None if others is None else partial(path, solver, others)
        timed: dict[str, Any] = {"warm_up": WARM_UP, "parts": True, "before": before, "pairs": len(pairs)}
        record.time(name, args.calls, partial(path, solver, pairs), **timed)
        for source, target, weight in pairs[:MOST_CHECKED_PATHS]:
            found = solver.path(source, target)
            whole = int(solver.graph.weight[found.arcs].sum(dtype=np.int64))
            check(found.weight == whole == weight, f"path from {source} to {target}")


def pairs_by_ties(graph: Graph, reference: Solver, seed: int) -> tuple[list[Ends], list[Ends]]:
    """Return random pairs with a single shortest path, and those with several; with the weight of the path.

    Arcs between the same nodes count as one, the lightest.
    """
    rng, found = np.random.default_rng(seed), (list[Ends](), list[Ends]())
    several = np.lexsort((graph.weight, graph.head, graph.tail))  # of arcs between the same nodes the lightest first
    tail, head, weight = (of[several].astype(np.int64) for of in (graph.tail, graph.head, graph.weight))
    is_first = np.ones(len(tail), np.bool_)
    is_first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    tail, head, weight = tail[is_first], head[is_first], weight[is_first]
    for source in rng.choice(joined(graph), PATH_SOURCES).tolist():
        distance = reference.distances(source)
        through = distance[tail].astype(np.int64) + weight
        arcs = np.flatnonzero((distance[tail] != UNREACHABLE) & (through == distance[head]) & (tail != head))
        count, parent = np.bincount(head[arcs], minlength=graph.num_nodes), np.zeros(graph.num_nodes, np.int64)
        parent[head[arcs]] = tail[arcs]
        targets = rng.choice(np.flatnonzero(distance != UNREACHABLE), PATH_TARGETS)
        for target in targets.tolist():
            node = int(target)
            while node != source and int(count[node]) == 1:
                node = int(parent[node])
            found[int(node != source)].append((source, target, int(distance[target])))
    for of_kind in found:
        rng.shuffle(of_kind)
    return found


def pooled(graph: Graph, devices: str, record: Record, args: argparse.Namespace) -> None:
    """Time the large table by several devices of the machine together: by a pool, and by a solver and a thread each."""
    rng = np.random.default_rng(args.seed)
    rows, columns = (rng.integers(0, graph.num_nodes, count) for count in args.table)
    name, nbytes = f"a table of {len(rows):,} by {len(columns):,}", 4 * len(rows) * len(columns)
    with ExitStack() as stack:
        pool = stack.enter_context(SolverPool(graph, "phast", devices))
        reference = stack.enter_context(Solver(graph, "dijkstra", "cpu"))
        whole = partial(pool.table, rows, columns)
        record.time(f"{name}, {len(pool.devices)} devices", 7, same(whole), nbytes=nbytes, warm_up=3)
        solvers = [stack.enter_context(Solver(graph, "phast", device)) for device in pool.devices]
        threads = stack.enter_context(ThreadPoolExecutor(len(solvers)))
        shares = np.array_split(rows, len(solvers))

        def apart() -> list[Distances]:
            return list(threads.map(lambda solver, share: solver.table(share, columns), solvers, shares))

        record.time(f"{name}, {len(solvers)} solvers in threads", 7, same(apart), nbytes=nbytes, warm_up=3)
        for found, of in (([whole()], [rows]), (apart(), shares)):
            for part, share in zip(found, of, strict=True):
                for row in np.linspace(0, len(share) - 1, min(CHECKED, len(share))).astype(int):
                    expected = reference.distances(int(share[row]))[columns]
                    check(np.array_equal(part[row], expected), "row of a table by several devices")


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
    return "" if values is None else "{} ({}..{})".format(*map(number, values))


def rate(row: dict[str, Any]) -> str:
    """Return the bytes that a call brings to the host in a second."""
    return f"{1e-6 * row['bytes'] / row['call_ms'][0]:.1f}" if row["bytes"] else ""


def report(result: dict[str, Any]) -> list[str]:
    """Return the table."""
    lines = [
        f"{result['device']['name']} ({result['device']['driver']}), {result['commit']}; {result['graph']}, "
        f"{result['nodes']:,} nodes; not prepared: {result['algorithm']}; milliseconds, medians and quartiles",
        *tuned_values(result),
        "",
    ]
    header = ("", "by the call", "on the device", "the first call", "GB/s")
    of = [
        (row["name"], spread(row["call_ms"]), spread(row["device_ms"]), number(row["first_ms"]), rate(row))
        for row in result["rows"]
        if "call_ms" in row
    ]
    parts = ("", *PARTS, "submissions")
    of_parts = [
        (row["name"], *(number(row["parts_ms"][part][0]) for part in PARTS), str(row["submissions"]))
        for row in result["rows"]
        if "parts_ms" in row
    ]
    some = [f"{row['name']}: {row['pairs']:,} pairs in turn" for row in result["rows"] if "pairs" in row]
    lines += [
        *table(header, of),
        "",
        *some,
        "",
        "where the time goes, milliseconds, medians",
        "",
        *table(parts, of_parts),
        "",
    ]
    kernels = [
        (row["name"], *of_kernel)
        for row in result["rows"]
        if "stages_ms" in row
        for of_kernel in [("all", number(sum(row["stages_ms"].values()))), *map(kernel_cells, row["stages_ms"].items())]
    ]
    return [*lines, "on the device, milliseconds, medians", "", *table(("", "kernel", "ms"), kernels)]


def kernel_cells(of: tuple[str, float]) -> tuple[str, str]:
    """Return the cells of a kernel and its time."""
    return of[0], number(of[1])


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100")
    parser.add_argument("--calls", type=int, default=300, metavar="N", help="single calls (default: %(default)s)")
    parser.add_argument("--trees", type=int, default=1024, metavar="N", help="trees at once (default: %(default)s)")
    pairs = "pairs at once (default: 10000)"
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000], metavar="N", help=pairs)
    tables = "rows and columns of small tables (default: 100 1000)"
    parser.add_argument("--square", type=int, nargs="+", default=[100, 1000], metavar="N", help=tables)
    what, sizes = "rows and columns of a large table (default: 40000 10000)", [40_000, 10_000]
    parser.add_argument("--table", type=int, nargs=2, default=sizes, metavar=("S", "T"), help=what)
    awake = "seconds of calls of each kind before those that count (default: %(default)s)"
    parser.add_argument("--warm-up", type=float, default=0.5, metavar="S", help=awake)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest)")
    parser.add_argument("--pool", metavar="DEVICES", help="also the large table by several devices, as 'all' or '0,1'")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(args.calls, args.trees, *args.pairs, *args.square, *args.table) < 1 or min(args.seed, args.warm_up) < 0:
            raise QueryError("--calls, --trees, --pairs, --square and --table take 1 or more, all others 0 or more")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        graph, record = read_filled_graph(args.graph, takes_prepared=False), Record(args.warm_up)
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
