#!/usr/bin/env python3
"""Most figures of docs/where_time_goes.md in one run, on one machine and one commit, as rows of Markdown and as JSON.

  scripts/where_time_goes.py USA-road-t.NY.gr.gz --routes porto.graph --device 0 --output rows.md --json rows.json
  scripts/where_time_goes.py road:24 --device 0 --small --scales 8              # a trial, on any device

Each step is a script of this folder in a process of its own, and can be run by itself: its command stands above its
rows. What a step prints is shown at once, and when it has ended its rows are added to the file of --output, and what
its script has written as JSON to that of --json, by the name of the step: all times with their spread, device, driver
and commit. A step that fails or takes too long does not end the others; steps that have not begun when --minutes are
over are left out and named. The scripts compare their answers with independent ones. The first steps are the first
calls of a process on a device at rest, so nothing else should run.

--routes is a prepared graph with streets, --large a prepared graph of many nodes for new weights; without them these
rows are left out. All steps run on the same device, also where none is named.

steps:
  first-calls     the first searches of a process, without a hierarchy; first-calls-0: without an elimination
  calls           single calls, trees and tables at once, and the limits of the machine
  pairs           pairs by labels
  weights         new weights; large: those of the graph that --large names
  results         results left on the device and in memory of the host
  routes          routes at once, and their parts
  rmat:20         an RMAT graph of 2^20 nodes, and so on for each of --scales
"""

from __future__ import annotations

import argparse
import io
import json
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vkssp import Device, QueryError
from vkssp.bench.evaluation import exit_code
from vkssp.bench.result import number, save_result
from vkssp.errors import VksspError
from vkssp.files import atomic_write, check_writable
from vkssp.gpu.instance import list_devices
from vkssp.options import file_name
from vkssp.terminal import print_lines

FOLDER = Path(__file__).parent
#: Seconds that a step may take to end once its time is over, and without which none is begun.
GRACE_S, LEAST_S = 5.0, 5.0

Row = Sequence[str]
Result = dict[str, Any]
#: Tables of a result: the header, then the rows.
Tables = list[list[Row]]


@dataclass(frozen=True)
class Step:
    """One run of a script.

    Attributes
    ----------
    name : str
        Name for --only.
    command : list of str
        Name of the script and its arguments.
    limit_s : float
        Seconds after which it is ended.
    tables : callable, optional
        Makes tables of the result that the script writes; without it what the script prints is kept.
    option : str
        Option of the script for the file of its result.
    """

    name: str
    command: list[str]
    limit_s: float
    tables: Callable[[Result], Tables] | None = None
    option: str = "--json"


@dataclass
class Done:
    """What has become of a step: its tables or what it printed, and why it failed, if it did."""

    step: Step
    seconds: float
    error: str = ""
    result: Result = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)


def spread(values: Sequence[float] | None) -> str:
    """Return a median with its quartiles, or nothing."""
    return "" if values is None else "{} ({}..{})".format(*map(number, values))


def calls_tables(result: Result) -> Tables:
    """Return the tables of `time_calls.py`."""
    parts = ("before", "driver and device", "between", "after")
    calls: list[Row] = [("call", "by the call", "on the device", *parts, "submissions", "GB/s")]
    kernels: list[Row] = [("call", "kernel", "on the device")]
    for row in result["rows"]:
        for kernel, milliseconds in row.get("stages_ms", {}).items():
            kernels.append((row["name"], kernel, number(milliseconds)))
        if "call_ms" in row:
            of_parts = [number(row["parts_ms"][part][0]) if "parts_ms" in row else "" for part in parts]
            rate = number(1e-6 * row["bytes"] / row["call_ms"][0]) if row["bytes"] else ""
            times = spread(row["call_ms"]), spread(row["device_ms"])
            calls.append((row["name"], *times, *of_parts, str(row.get("submissions", "")), rate))
    return [calls, kernels]


def first_calls_tables(result: Result) -> Tables:
    """Return the table of `time_first_calls.py`."""
    made = ("submissions", "recorded", "compiled", "buffers")
    clocks_of = ("processors, MHz", "memory, MHz")
    rows: list[Row] = [("series", "calls", "by the call", "on the device", "iterations", *made, *clocks_of)]
    for row in result["rows"]:
        clocks = (f"{min(of):.0f}..{max(of):.0f}" if of else "" for of in row["clocks"])
        calls = f"{row['first'] + 1}..{row['first'] + row['calls']}"
        submissions, *others = (row["made"].get(of, 0) for of in made)
        counts = number(submissions / row["calls"]), *map(str, others)
        times = spread(row["call_ms"]), spread(row["device_ms"])
        rows.append((row["series"], calls, *times, f"{row['iterations']:g}", *counts, *clocks))
    return [rows]


def pairs_tables(result: Result) -> Tables:
    """Return the table of `time_pairs.py`, in milliseconds of a call."""
    rows: list[Row] = [("pairs", "by the call", "on the device", "million pairs a second there")]
    for of_graph in result["graphs"]:
        for row in of_graph["rows"]:
            found = row["labels"]
            times = (
                "" if rate is None else spread([row["pairs"] / 1e3 / rate[part] for part in ("median", "high", "low")])
                for rate in (found["call"], found["device"])
            )
            on_device = "" if found["device"] is None else number(found["device"]["median"])
            rows.append((f"{row['pairs']:,}", *times, on_device))
    return [rows]


def weights_tables(result: Result) -> Tables:
    """Return the tables of `time_weights.py`."""
    names = ("ms", "pair_ms", "device_ms")
    rows: list[Row] = [("change", "call", "next pair", "on the device")]
    rows += [(name, *(number(row[of]) if of in row else "" for of in names)) for name, row in result["rows"].items()]
    return [rows, [("stage of all arcs", "on the device"), *((of, number(ms)) for of, ms in result["stages"].items())]]


def routes_tables(result: Result) -> Tables:
    """Return the table of `time_routes.py`."""
    title = f"{result['pairs']} routes"
    return [[(title, "by the call"), *((row["name"].strip(), spread(row["call_ms"])) for row in result["rows"])]]


def hubs_tables(result: Result) -> Tables:
    """Return the table of `measure_large_graphs.py`; its spread is that of sources, least to greatest."""
    rows: list[Row] = [("graph", "algorithm", "on the device", "making the solver, s")]
    for of_graph in result["graphs"]:
        for run in of_graph["runs"]:
            times = run["device_ms"]
            name = f"RMAT of 2^{of_graph['scale']} nodes, {of_graph['arcs'] / 1e6:,.0f} million arcs"
            found = spread([float(np.median(times)), min(times), max(times)])
            rows.append((name, run["algorithm"], found, number(run["solver_s"])))
    return [rows]


def steps_of(args: argparse.Namespace) -> list[Step]:
    """Return the steps, in order."""
    graph, device = args.graph, [] if args.device is None else ["--device", args.device]
    few: dict[str, list[str]] = {
        "first": ["--calls", "40", "--each", "20", "--pause", "0.1", "--warm-up", "0"],
        "calls": "--calls 9 --trees 32 --pairs 99 --square 50 --table 400 300 --warm-up 0".split(),
        "pairs": ["--pairs", "4096", "--rounds", "2"],
        "weights": ["--repetitions", "2"],
        "routes": ["--repetitions", "2", "--warm-up", "0"],
        "results": "--trees 1 32 --table 100 --calls 3".split(),
        "hubs": ["--warm-up", "0"],
    }
    many = {"pairs": ["--pairs", "10000", "10000000"]}

    def step(name: str, kind: str, script: str, limit_s: float, *given: Any, **about: Any) -> Step:
        more = few[kind] if args.small else many.get(kind, [])
        return Step(name, [f"{script}.py", *map(str, given), *device, *more], limit_s, **about)

    found = [
        step("first-calls", "first", "time_first_calls", 60, graph, tables=first_calls_tables),
        step("first-calls-0", "first", "time_first_calls", 60, graph, "--rounds", 0, tables=first_calls_tables),
        step(
            *("calls", "calls", "time_calls", 150, graph),
            *(["--pool", args.pool] if args.pool else []),
            tables=calls_tables,
        ),
        step("pairs", "pairs", "time_pairs", 60, graph, "--lanes", tables=pairs_tables),
        step("weights", "weights", "time_weights", 60, graph, "--few", 100, tables=weights_tables),
        step("results", "results", "measure_device_results", 60, graph),
    ]
    if args.routes:
        together = "--algorithm", "phast", "--together", 20 if args.small else 100
        found.append(step("routes", "routes", "time_routes", 60, args.routes, *together, tables=routes_tables))
    if args.large:
        found.append(step("large", "weights", "time_weights", 120, args.large, "--few", 100, tables=weights_tables))
    for scale in args.scales:
        often = "--scales", scale, "--algorithms", "push_pull", "--sources", 5, "--repetitions", 6
        found.append(
            step(f"rmat:{scale}", "hubs", "measure_large_graphs", 150, *often, tables=hubs_tables, option="--output")
        )
    return found


def device_of(chosen: str | None) -> str:
    """Return the device that all steps run on: scripts differ in what they take where none is named."""
    selected = chosen or Device.selected()
    return selected or str(Device.default(list_devices()).index)


def run_step(step: Step, limit_s: float, folder: Path) -> Done:
    """Run a step, show what it prints, and end it when its time is over."""
    file = folder / f"{step.name.replace(':', '-')}.json"
    script, *arguments = step.command
    command = [sys.executable, "-u", str(FOLDER / script), *arguments]
    if step.tables is not None:
        command += [step.option, str(file)]
    began, printed = time.perf_counter(), list[str]()
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes)
    assert process.stdout is not None and process.stderr is not None
    output = io.TextIOWrapper(process.stdout, errors="replace")
    errors = io.TextIOWrapper(process.stderr, errors="replace", newline="")  # progress bars go back on their line
    is_over, complaints = threading.Event(), list[str]()

    def hear() -> None:
        with errors as lines:
            for line in lines:
                complaints.extend([line.strip()] if line.strip() else [])
                with suppress(OSError):
                    sys.stderr.write(line)
                    sys.stderr.flush()

    listener = threading.Thread(target=hear, daemon=True)

    def end() -> None:
        is_over.set()
        process.terminate()

    timers = [threading.Timer(limit_s, end), threading.Timer(limit_s + GRACE_S, process.kill)]
    try:
        listener.start()
        for timer in timers:
            timer.start()
        with output as lines:
            for line in lines:
                printed.append(line.rstrip("\n"))
                print_lines(printed[-1:])
        code = process.wait()
        listener.join(GRACE_S)  # what the script has started may hold the pipe
    finally:
        for timer in timers:
            timer.cancel()
        if process.poll() is None:  # an interrupt
            process.kill()
            process.wait()
    done = Done(step, time.perf_counter() - began, printed=printed)
    if is_over.is_set():
        done.error = f"was ended after {limit_s:.0f} s"
    elif code:
        reason = complaints[-1].rstrip(".") if complaints else "it named no reason"
        done.error = f"ended with exit code {code}: {reason}"
    elif step.tables is not None:
        done.result = json.loads(file.read_text())
    return done


def markdown(done: Done) -> list[str]:
    """Return the rows of a step below its command."""
    about, lines = [f"{done.seconds:.0f} s"], [f"### {done.step.name}", ""]
    if "device" in done.result:
        device, host = done.result["device"], done.result["host"]
        about = [f"{device['name']} ({device['driver']})", f"{host['cores']} cores, {host['cpu']}", *about]
        about.append(done.result["created"][:10])
    if "commit" in done.result:
        about.append(f"commit {done.result['commit']}")
    lines += ["```sh", f"scripts/{shlex.join(done.step.command)}", "```", "", f"{', '.join(about)}; milliseconds", ""]
    if done.error or done.step.tables is None:
        lines += [f"**The script {done.error}.**", ""] if done.error else []
        return lines + (["```", *done.printed, "```", ""] if done.printed else [])
    for header, *rows in done.step.tables(done.result):
        if rows:
            lines += [line_of(header), "|" + "---|" * len(header), *map(line_of, rows), ""]
    return lines


def line_of(cells: Row) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, or an expression such as road:100; not prepared")
    parser.add_argument("--routes", type=file_name, metavar="FILE", help="a prepared graph with streets")
    parser.add_argument("--large", type=file_name, metavar="FILE", help="a prepared graph of many nodes")
    scales = "binary logarithms of the nodes of RMAT graphs (default: 20 24 26)"
    parser.add_argument("--scales", type=int, nargs="*", default=[20, 24, 26], metavar="N", help=scales)
    parser.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest)")
    parser.add_argument("--pool", metavar="DEVICES", help="also a table by several devices, as 'all' or '0,1'")
    parser.add_argument("--small", action="store_true", help="few calls, for a trial")
    parser.add_argument("--only", nargs="+", metavar="STEP", help="some steps only, by the names that --list prints")
    parser.add_argument("--list", action="store_true", help="print the names and commands of the steps")
    minutes = "minutes after which no step begins or goes on (default: %(default)s)"
    parser.add_argument("--minutes", type=float, default=8.0, metavar="N", help=minutes)
    parser.add_argument("--output", type=file_name, metavar="FILE.md", help="write the rows there, too")
    results = "write what the scripts have measured there, by step"
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE.json", help=results)
    args = parser.parse_args()

    def run() -> None:
        if not args.minutes > 0 or any(scale < 0 for scale in args.scales):
            raise QueryError("--minutes takes more than 0, --scales takes 0 or more")
        names = [step.name for step in steps_of(args)]
        if unknown := set(args.only or names) - set(names):
            raise QueryError(f"--only names {', '.join(sorted(unknown))}; the steps are {', '.join(names)}")
        args.device = device_of(args.device)
        steps = [step for step in steps_of(args) if step.name in (args.only or names)]
        if args.list:
            print_lines([f"{step.name}: scripts/{shlex.join(step.command)}" for step in steps])
            return
        if args.output:
            check_writable(args.output, args.graph)
        if args.json_file:
            check_writable(args.json_file, args.graph, args.output, content="JSON")
        run_all(steps, 60 * args.minutes, args.output, args.json_file)

    return exit_code(run)


def run_all(steps: Sequence[Step], seconds: float, output: str | None, json_file: str | None = None) -> None:
    """Run steps, print the rows of each, and write those of all so far, and their results as JSON.

    Raises
    ------
    VksspError
        If a step has failed, once all have run.
    """
    end, lines, failed = time.perf_counter() + seconds, list[str](), list[str]()
    results = dict[str, Result]()
    with tempfile.TemporaryDirectory() as folder:
        for step in steps:
            print_lines(["", f"== {step.name}: scripts/{shlex.join(step.command)}"])
            limit_s = min(step.limit_s, end - time.perf_counter() - GRACE_S)
            if limit_s < LEAST_S:
                done = Done(step, 0.0, "was not begun, as the time is over")
            else:
                done = run_step(step, limit_s, Path(folder))
            failed += [f"{step.name} {done.error}"] if done.error else []
            rows = markdown(done)
            print_lines(["", *rows])
            lines += rows
            if output:
                with atomic_write(output) as stream:
                    stream.write("\n".join(lines).encode())
            if done.result:
                results[step.name] = done.result
            if json_file:
                save_result(json_file, results)
    if failed:
        raise VksspError("; ".join(failed))


if __name__ == "__main__":
    sys.exit(main())
