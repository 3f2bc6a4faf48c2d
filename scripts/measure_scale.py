#!/usr/bin/env python3
"""Cost over size: a road network of a wanted number of nodes is made, prepared, saved, loaded, and asked.

  scripts/measure_scale.py iceland.graph porto.graph columbus.graph --nodes 50e6 --folder /tmp/scale --json scale.jsonl
  scripts/draw_scale.py scale.jsonl --page docs/scale.md --figure docs/scale.png

The network consists of copies of the given ones, joined by roads, see vkssp/bench/patchwork.py; graphs with turn costs
make one with turn costs (vkssp import --turns costs EXTRACT). Every stage is recorded with seconds by the clock, those
of the processor, and the largest memory of this process and its children, as soon as it is done. Run again with the
same arguments and folder, the script goes on after the last stage that was done; --until ends it after one. When all
is done, one line with the whole record is appended to the file of --json.

Distances of trees are compared with the compiled Dijkstra's, before and after a change of weights; those of pairs and
tables with trees, and those of the CPU with the device's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp import UNREACHABLE, CpuDevice, DeviceError, Graph, QueryError, Solver, prepare
from vkssp.algorithms.phast import hierarchy_of
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.memory_peak import memory_peak
from vkssp.bench.patchwork import EXPONENT, ROADS, Layout, Tile
from vkssp.bench.result import table, tuned_values
from vkssp.engine.device_graph import DeviceGraph
from vkssp.files import check_writable
from vkssp.gpu.device import Device
from vkssp.hierarchy.prepare import stages
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines

#: Sources whose distances Dijkstra's algorithm checks, pairs, sources and targets of a table, changed arcs.
CHECKED, PAIRS, TABLE, FEW = 2, 10_000, 1_000, 100
#: Repetitions of trees and pairs, and of what takes longer; seconds after which calls are not repeated any more.
OFTEN, SELDOM, LIMIT_S = 11, 5, 20.0
#: Nodes that are tried as sources at the most.
PATIENCE = 50
#: Groups of stages, in order, each of which can be run by itself.
GROUPS = ("build", "prepare", "load", "device", "cpu")

Values = npt.NDArray[Any]


def times(act: Callable[[Any], Any], arguments: Iterable[Any]) -> dict[str, float]:
    """Return the median, the least and the largest of the milliseconds that calls take."""
    found: list[float] = []
    for argument in arguments:
        began = time.perf_counter()
        act(argument)
        found.append(1e3 * (time.perf_counter() - began))
        if sum(found) > 1e3 * LIMIT_S:
            break
    return {"ms": float(np.median(found)), "low_ms": min(found), "high_ms": max(found), "calls": len(found)}


def check(is_right: bool, what: str) -> None:
    """End the script if a condition is false."""
    if not is_right:
        raise SystemExit(f"wrong {what}")


class Record:
    """Results by stage, in a file from which a later run goes on.

    Parameters
    ----------
    path : Path or None
        The file; without one, nothing is kept or reported.
    head : dict
        Settings; a file with others is an error.
    """

    def __init__(self, path: Path | None, head: dict[str, Any]) -> None:
        self._path = path
        self.data: dict[str, Any] = {"settings": head, "stages": {}}
        if path is not None and path.exists():
            self.data = json.loads(path.read_text())
            if self.data["settings"] != head:
                raise QueryError(f"{path} is of other settings, {self.data['settings']}; give another --folder")

    def save(self) -> None:
        """Write the file."""
        if self._path is None:
            return
        aside = self._path.with_suffix(".part")
        aside.write_text(json.dumps(self.data, indent=1))
        os.replace(aside, self._path)

    def has(self, name: str) -> bool:
        """Return whether a stage is done."""
        return name in self.data["stages"]

    def run(self, name: str, act: Callable[[], Any], times_of: dict[str, Any] | None = None) -> Any:
        """Run a stage, record its time and its memory, and report them; return what it returns.

        What the stage adds to `times_of` is recorded, too.
        """
        began, began_cpu = time.perf_counter(), sum(os.times()[:4])
        with memory_peak() as peak:
            found = act()
        row = {
            "seconds": time.perf_counter() - began,
            "cpu_s": sum(os.times()[:4]) - began_cpu,
            "peak_bytes": peak.nbytes,
            **(times_of or {}),
        }
        self.data["stages"][name] = row
        if self._path is None:
            return found
        self.save()
        each = f", {row['ms']:.2f} ms ({row['low_ms']:.2f} to {row['high_ms']:.2f})" if "ms" in row else ""
        memory = "" if peak.nbytes is None else f", {peak.nbytes / 1e9:.2f} GB"
        print(f"{name}: {row['seconds']:.1f} s{memory}{each}", file=sys.stderr, flush=True)
        return found

    def time(self, name: str, act: Callable[[Any], Any], arguments: Iterable[Any]) -> None:
        """Run a stage of repeated calls, and record their times."""
        row: dict[str, Any] = {}
        self.run(name, lambda: row.update(times(act, arguments)), row)


def build(record: Record, args: argparse.Namespace, path: Path) -> Graph:
    """Make the network."""
    tiles = record.run("reading tiles", lambda: [Tile.of(read_graph(name)) for name in args.tiles])
    layout = Layout.for_nodes(tiles, args.nodes, args.roads, args.exponent)
    graph: Graph = record.run("laying out copies", layout.graph)
    record.data |= {
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "cells": [layout.columns, layout.rows],
        "joints": sum(1 for _ in layout.joints()),
        "turns": tiles[0].has_turns,
    }
    record.run("saving, not prepared", lambda: graph.save(path))
    return graph


def prepared(record: Record, graph: Graph, path: Path) -> None:
    """Prepare the network, stage by stage, and save it."""
    prepare(Graph.from_edges([0], [1], [1]))  # loads compiled code
    began = time.perf_counter()
    run: Generator[tuple[str, float], None, Graph] = stages(graph)
    name, found = next(run)[0], []

    def go_on() -> str:
        following = name
        while following == name:
            try:
                following = next(run)[0]
            except StopIteration as done:
                found.append(done.value)
                return ""
        return following

    while not found:
        name = record.run(f"preparing: {name}", go_on)
    ready: Graph = found[0]
    hierarchy = ready.hierarchy
    assert hierarchy is not None
    record.data["prepare_s"] = time.perf_counter() - began
    record.data["hierarchy"] = {
        "arcs": hierarchy.num_arcs,
        "supernodes": hierarchy.num_supernodes,
        "ancestors": len(hierarchy.ancestor),
        "levels": hierarchy.num_levels,
        "height": hierarchy.tree_height,
    }
    record.run("saving", lambda: ready.save(path))
    record.data["file_bytes"] = path.stat().st_size


def forget(path: Path) -> None:
    """Let the system drop a file from its cache, if it can."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def load(record: Record, path: Path) -> Graph:
    """Load the network from the disk, and from the system's cache of files."""
    forget(path)
    graph: Graph = record.run("loading", lambda: Graph.load(path))
    del graph
    graph = record.run("loading again", lambda: Graph.load(path))
    return graph


class Questions:
    """What is asked, and distances by Dijkstra's algorithm with the weights of the graph and with others.

    Parameters
    ----------
    record : Record
        Gets the time of Dijkstra's algorithm.
    graph : Graph
        The graph.
    stem : str
        Path of files that keep the distances, without their endings; none if empty.
    seed : int
        Seed of the random choice.
    """

    def __init__(self, record: Record, graph: Graph, stem: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = graph.num_nodes
        self.other = graph.weight + graph.weight // 8 + np.uint32(1)
        self.few = rng.choice(graph.num_arcs, min(FEW, graph.num_arcs), replace=False)
        self.nodes = rng.integers(0, n, min(TABLE, n))
        self.expected: dict[str, Values] = {}
        if record.has("reference"):
            for name in ("sources", "before", "after"):
                self.expected[name] = np.load(f"{stem}-{name}.npy")
        else:
            self._refer(record, graph, stem, rng)
        # Nodes that can be reached, so that searches from most of them reach as many.
        reached = np.flatnonzero(self.expected["before"][0] != UNREACHABLE)
        rng = np.random.default_rng(seed + 1)
        self.sources = np.concatenate([self.expected["sources"], rng.choice(reached, OFTEN)])[:OFTEN]
        self.ends = rng.choice(reached, (2, PAIRS))
        self.ends[0, :CHECKED] = self.sources[:CHECKED]

    def _refer(self, record: Record, graph: Graph, stem: str, rng: np.random.Generator) -> None:
        """Search from nodes that reach half of the others."""
        with Solver(read_graph("road:10"), "dijkstra", "cpu", order="natural") as small:
            small.distances(0)  # compiles
        sources: list[int] = []
        rows: list[Values] = []
        took: list[float] = []

        def search() -> None:
            with Solver(graph, "dijkstra", "cpu", order="natural") as solver:
                for source in rng.integers(0, graph.num_nodes, PATIENCE).tolist():
                    began = time.perf_counter()
                    found = solver.distances(source)
                    if np.count_nonzero(found != UNREACHABLE) > graph.num_nodes / 2:
                        took.append(1e3 * (time.perf_counter() - began))
                        sources.append(source)
                        rows.append(found)
                    if len(rows) == CHECKED:
                        break
                check(len(rows) == CHECKED, "network: few nodes reach half of the others")
                solver.set_weights(self.other)
                self.expected["after"] = solver.distances(sources[0])

        record.run("reference", search)
        self.expected |= {"sources": np.array(sources), "before": np.stack(rows)}
        row = {"ms": float(np.median(took)), "low_ms": min(took), "high_ms": max(took), "calls": len(took)}
        record.data["stages"]["reference"] |= row
        record.data["reached"] = np.count_nonzero(rows[0] != UNREACHABLE) / graph.num_nodes
        for name, values in self.expected.items() if stem else ():
            np.save(f"{stem}-{name}.npy", values)
        record.save()


def ask(record: Record, graph: Graph, device: Device | CpuDevice, questions: Questions, where: str) -> None:
    """Ask a device all questions, and compare the answers."""
    graph_weights, expected = graph.weight, questions.expected
    with record.run(f"{where}: solver", lambda: Solver(graph, "phast", device)) as solver:
        at = solver.session.shared.graph
        row = record.data["stages"][f"{where}: solver"]

        def tree(source: Any) -> None:
            solver.search([(int(source), 0)])
            assert solver.last is not None
            there.append(solver.last.device_ms)

        there: list[float] = []
        tree(questions.sources[0])
        if isinstance(at, DeviceGraph):
            row |= {"customize_ms": hierarchy_of(at).customize_ms, "upload_ms": solver.timings.upload_ms}
        for source, distances in zip(questions.sources, expected["before"], strict=False):
            check(np.array_equal(solver.distances(int(source)), distances), f"distances from {source}")
        there.clear()
        record.time(f"{where}: a tree", tree, np.tile(questions.sources, 3))
        record.data["stages"][f"{where}: a tree"]["device_ms"] = float(np.median(there))
        record.time(f"{where}: a tree, read", lambda source: solver.distances(int(source)), questions.sources)
        one = questions.ends[:, :70].T.tolist()
        solver.distance(*one[0])
        record.time(f"{where}: a pair", lambda pair: solver.distance(*pair), one)
        found = solver.pairs(*questions.ends)
        record.time(f"{where}: {PAIRS:,} pairs", lambda _: solver.pairs(*questions.ends), range(OFTEN))
        check(np.array_equal(solver.pairs(*questions.ends), found), "pairs asked again")
        for number, distances in enumerate(expected["before"]):
            check(found[number] == distances[questions.ends[1, number]], f"pair {number}")
            many = solver.pairs(np.full(PAIRS, questions.sources[number]), questions.ends[1])
            check(np.array_equal(many, distances[questions.ends[1]]), f"pairs from {questions.sources[number]}")
        nodes, title = questions.nodes, f"{where}: table of {len(questions.nodes):,} by {len(questions.nodes):,}"
        blocks: list[Values] = []
        record.time(f"{title}, the first", lambda _: blocks.extend(solver.table(nodes, nodes, chunked=True)), range(1))
        cells = np.concatenate(blocks)
        for number in range(0, len(nodes), max(1, len(nodes) // 8)):
            check(np.array_equal(cells[number], solver.distances(int(nodes[number]))[nodes]), f"row {number}")
        record.time(title, lambda _: list(solver.table(nodes, nodes, chunked=True)), range(SELDOM))
        row["device_bytes"] = solver.memory_bytes
        change_weights(record, solver, graph_weights, questions, where)
        record.save()


def warm_up(device: Device | CpuDevice) -> None:
    """Ask a device all questions about a small graph, which compiles and loads code."""
    small, nowhere = prepare(read_graph("road:100")), Record(None, {})
    ask(nowhere, small, device, Questions(nowhere, small, "", 1), "warm-up")


def change_weights(record: Record, solver: Solver, weights: Values, questions: Questions, where: str) -> None:
    """Change all weights and few of them, and compare distances."""
    pair = questions.ends[:, 0].tolist()

    def change(new: Values) -> None:
        solver.set_weights(new)

    def change_and_ask(new: Values) -> None:
        solver.set_weights(new)
        solver.distance(*pair)

    for new in (questions.other, weights):  # the first changes make arrays and compile
        change_and_ask(new)
    both = [questions.other, weights] * SELDOM
    record.time(f"{where}: new weights, and a pair", change_and_ask, both)
    at = solver.session.shared.graph
    if isinstance(at, DeviceGraph):
        record.data["stages"][f"{where}: new weights, and a pair"]["device_ms"] = hierarchy_of(at).customize_ms
    record.time(f"{where}: new weights", change, both)
    few = questions.few
    for _ in range(2):  # both make arrays that later changes write to
        solver.set_weights(weights[few], few)

    def change_few(new: Values) -> None:
        solver.set_weights(new[few], few)
        solver.distance(*pair)

    record.time(f"{where}: {len(few)} new weights, and a pair", change_few, both)
    solver.set_weights(questions.other)
    check(
        np.array_equal(solver.distances(int(questions.sources[0])), questions.expected["after"]),
        "distances after a change of weights",
    )


def measure(args: argparse.Namespace) -> dict[str, Any] | None:
    """Run the stages that are left up to the last wanted one; return the whole record if all are done."""
    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    plain, ready = (folder / f"{name}-{args.nodes}.graph" for name in ("plain", "prepared"))
    settings = {
        "tiles": [Path(name).stem for name in args.tiles],
        "wanted": args.nodes,
        "roads": args.roads,
        "exponent": args.exponent,
        "seed": args.seed,
    }
    record = Record(folder / f"record-{args.nodes}.json", settings)
    wanted = GROUPS[: GROUPS.index(args.until) + 1]
    if not record.has("saving"):
        graph = Graph.load(plain) if record.has("saving, not prepared") else build(record, args, plain)
        if "prepare" not in wanted:
            return None
        prepared(record, graph, ready)
        del graph
        plain.unlink(missing_ok=True)
        record.save()
    if "load" not in wanted:
        return None
    graph = Graph.load(ready) if record.has("loading again") else load(record, ready)
    if "device" not in wanted:
        return None
    questions = Questions(record, graph, str(folder / f"distances-{args.nodes}"), args.seed)
    with CpuDevice() if args.device == "cpu" else Device(args.device) as device:
        record.data |= where_and_when(device)
        if args.device != "cpu" and not record.has(f"device: {len(questions.few)} new weights, and a pair"):
            try:
                warm_up(device)
                ask(record, graph, device, questions, "device")
            except DeviceError as error:  # as if the network is too large for it; the CPU goes on
                record.data["device_error"] = str(error)
                print(f"the device does not answer: {error}", file=sys.stderr, flush=True)
    if "cpu" not in wanted:
        return None
    with CpuDevice() as cpu:
        if not record.has(f"cpu: {len(questions.few)} new weights, and a pair"):
            warm_up(cpu)
            ask(record, graph, cpu, questions, "cpu")
    for path in folder.glob(f"*-{args.nodes}*.npy"):
        path.unlink()
    if not args.keep:
        ready.unlink()
    return record.data


def report(record: dict[str, Any]) -> list[str]:
    """Return the record as lines."""
    rows = [
        (
            name,
            f"{row['seconds']:.2f}",
            f"{row['cpu_s']:.1f}",
            "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e9:.2f}",
            f"{row['ms']:.3f} ({row['low_ms']:.3f} to {row['high_ms']:.3f})" if "ms" in row else "",
            f"{row['device_ms']:.3f}" if "device_ms" in row else "",
        )
        for name, row in record["stages"].items()
    ]
    hierarchy = record["hierarchy"]
    return [
        f"{record['nodes']:,} nodes, {record['arcs']:,} arcs, {hierarchy['arcs']:,} arcs of the hierarchy in "
        f"{hierarchy['levels']} levels, {hierarchy['height']:,} nodes high; prepared in {record['prepare_s']:.1f} s; "
        f"{record['device']['name']}, {record['host']['cores']} cores, {record['commit']}",
        *tuned_values(record),
        "",
        *table(("stage", "s", "s of the processor", "GB", "ms of a call", "on the device"), rows),
    ]


def number_of_nodes(text: str) -> int:
    """Return a number of nodes, which may be written as 5e7."""
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no number; give one such as 5e7") from None


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiles", nargs="+", type=file_name, metavar="GRAPH", help="graphs or extracts to copy")
    parser.add_argument("--nodes", type=number_of_nodes, required=True, metavar="N", help="about so many nodes")
    parser.add_argument("--folder", required=True, metavar="FOLDER", help="for graphs, and the record of what is done")
    parser.add_argument("--until", choices=GROUPS, default=GROUPS[-1], help="the last stages to run (default: all)")
    parser.add_argument("--keep", action="store_true", help="keep the prepared graph in the folder")
    parser.add_argument(
        "--roads",
        type=float,
        default=ROADS,
        metavar="A",
        help="roads across the border of two halves: A times their places to the power of --exponent "
        "(default: %(default)g)",
    )
    parser.add_argument("--exponent", type=float, default=EXPONENT, metavar="B", help="(default: %(default).3g)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="'cpu' alone, or index or part of the name (default: the fastest kind)")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE", help="gets one more line")
    args = parser.parse_args()

    def run() -> None:
        if args.nodes < 1 or args.seed < 0 or args.roads <= 0 or not 0 <= args.exponent <= 1:
            raise QueryError("--nodes takes 1 or more, --seed 0 or more, --roads more than 0, --exponent 0 to 1")
        if args.json_file:
            check_writable(args.json_file, *args.tiles)
        record = measure(args)
        if record is None:
            return
        if args.json_file:
            with open(args.json_file, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
        print_lines(report(record))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
