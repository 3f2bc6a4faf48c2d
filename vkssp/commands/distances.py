"""Subcommand ``vkssp distances``."""

from __future__ import annotations

import argparse
import dataclasses
import time
from typing import TYPE_CHECKING, Any

from vkssp.choices import COUNTING
from vkssp.commands.common import (
    Result,
    add_distance_bits,
    add_graph,
    add_output,
    add_solver,
    check_outputs,
    load,
    node_named,
    number_text,
    scale_text,
    solver_parameters,
    unit_text,
)
from vkssp.commands.parser import CommandParser
from vkssp.options import output_name

if TYPE_CHECKING:
    import numpy.typing as npt

SUMMARY = "compute the distances from one node to all nodes"
EXAMPLE = "vkssp distances road:256 --source 0 --output distances.npy"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--source", required=True, metavar="N", help="id or name of the node from which distances are computed"
    )
    details = (
        "; uint32, 4294967295 for nodes that no path reaches; uint64, 18446744073709551615, with 64 bits; or, if the "
        "weights of the graph are real numbers, float64, inf"
    )
    add_output(parser, "D.npy", "write the distances as a NumPy array", ".npy", details=details)
    add_distance_bits(parser)
    parser.add_argument(
        "--counters", choices=COUNTING[:2], default=COUNTING[0], help="count only iterations, or also the total work"
    )
    parser.add_argument(
        "--trace", type=output_name(".csv"), metavar="T.csv", help="write a table with the work of each iteration"
    )
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Find the distances from one node."""
    import numpy as np

    from vkssp.algorithm import ROW
    from vkssp.files import atomic_write
    from vkssp.solver.solver import Solver

    check_outputs(args, output="a NumPy array", trace="CSV")
    parameters = solver_parameters(args)
    counters = "trace" if args.trace else args.counters
    graph = load(args)
    source = node_named(graph, args.source, "--source")
    with Solver(graph, args.algorithm, args.device, counters=counters, **parameters) as solver:
        began = time.perf_counter()
        found = solver.distances(source)
        milliseconds = 1e3 * (time.perf_counter() - began)
        (answering, algorithm), outcome, timings = solver.answered_by, solver.last, solver.timings
        device, core_nodes = answering.info, solver.core_nodes if answering is solver.device else None
        trace, unreachable = solver.trace() if args.trace else None, solver.unreachable
        graph = solver.graph  # perhaps in larger units
    assert outcome is not None and timings.download_ms is not None
    reached = found[np.isfinite(found) if found.dtype.kind == "f" else found != unreachable]
    result: dict[str, Any] = {
        "source": source,
        "reached": len(reached),
        "nodes": graph.num_nodes,
        "largest": reached.max().item(),
        "scale": graph.scale,
        "weight_error": graph.weight_error,
        "device": device.name,
        "driver": device.driver,
        "algorithm": algorithm,
        "core_nodes": core_nodes,
        "query_ms": milliseconds,
        "device_ms": outcome.device_ms,
        "timings": dataclasses.asdict(timings),
        "counters": outcome.counters,
    }
    lines = [
        f"{len(reached):,} of {graph.num_nodes:,} nodes reached from {source}, the farthest at "
        f"{number_text(reached.max().item())}{unit_text(graph)}",
        f"device    {device.name}",
        f"query     {milliseconds:.1f} ms with {algorithm}: {outcome.device_ms:.1f} on the device, "
        f"{timings.download_ms:.1f} to download",
        f"before    {timings.setup_ms:.0f} ms to set up, {timings.upload_ms:.1f} to upload",
        "counted   " + ", ".join(f"{count:,} {name}" for name, count in outcome.counters.items()),
    ]
    if graph.scale is not None:
        lines.insert(1, f"unit      {scale_text(graph)}")
    if core_nodes is not None:
        lines.insert(-1, f"searched  {core_nodes:,} nodes after the reduction; counters and traces are theirs")
    if trace is not None:
        with atomic_write(args.trace) as stream:
            stream.write((",".join(trace.dtype.names or ()) + "\n").encode())
            formats = ["%d"] * len(ROW.names or ()) + ["%.3f"]
            np.savetxt(stream, trace, fmt=formats, delimiter=",")
        result["trace"] = args.trace
        result["phases"] = _phases(trace)
        for phase in result["phases"]:
            took = "" if phase["ms"] is None else f", {phase['ms']:.2f} ms"
            lines.append(f"phase {phase['phase']}   {phase['iterations']:,} iterations{took}")
        lines.append(f"wrote     {args.trace}")
    if args.output:
        with atomic_write(args.output) as stream:
            np.save(stream, found, allow_pickle=False)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    return result, lines


def _phases(trace: npt.NDArray[Any]) -> list[dict[str, Any]]:
    """Return the number of iterations of each phase of a trace, and their total time; None without a clock."""
    import numpy as np

    result = []
    for phase in np.unique(trace["phase"]).tolist():
        took = trace["microseconds"][trace["phase"] == phase]
        milliseconds = None if np.isnan(took).any() else float(took.sum()) / 1e3
        result.append({"phase": phase, "iterations": len(took), "ms": milliseconds})
    return result
