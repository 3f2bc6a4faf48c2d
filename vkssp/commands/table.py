"""Subcommand ``vkssp table``."""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vkssp.choices import TABLE_METRICS
from vkssp.commands.common import (
    PLACE_FILES,
    Result,
    add_distance_bits,
    add_graph,
    add_solver,
    check_outputs,
    distance_limit,
    is_watched,
    load,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid, add_metric
from vkssp.commands.workers import add_scheduler, check_scheduler, graph_for_workers, workers
from vkssp.errors import QueryError
from vkssp.options import Help, file_name, output_name
from vkssp.terminal import print_error

if TYPE_CHECKING:
    from vkssp.dask.tables import DaskTable
    from vkssp.graph import Graph
    from vkssp.routing.places_file import Ends
    from vkssp.routing.router import Router
    from vkssp.solver.pool import SolverPool
    from vkssp.solver.solver import Solver
    from vkssp.solver.table import Table

SUMMARY = "compute a table of the routes between many places or nodes"
EXAMPLE = "vkssp table andorra.graph --sources places.csv --output table.csv"


def names(text: str) -> list[str]:
    """Return the metrics in ``NAME,NAME,...``."""
    found = [name.strip() for name in text.split(",")]
    if not set(found) <= set(TABLE_METRICS):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of metrics; choose some of {', '.join(TABLE_METRICS)}")
    return found


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--sources",
        required=True,
        type=file_name,
        metavar="S.csv",
        help=Help(
            "places (lat,lon, perhaps id) or nodes (column node)",
            f": {PLACE_FILES} for places; for nodes also an integer in each line, or a .npy array",
        ),
    )
    parser.add_argument(
        "--targets",
        type=file_name,
        metavar="T.csv",
        help=Help("a file of the same kind (default: the sources)", "; for nodes also the word all"),
    )
    parser.add_argument(
        "--limit", type=float, metavar="W", help=Help("leave out targets farther than this weight", "; for nodes")
    )
    parser.add_argument("--reverse", action="store_true", help="trips from targets to sources count")
    parser.add_argument(
        "--metrics",
        type=names,
        metavar="M,M",
        help=Help(
            "some of duration,distance,weight to write",
            ", seconds and metres of the best route (default: the metric that routes minimize)",
        ),
    )
    add_distance_bits(parser)
    add_metric(parser)
    add_avoid(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=output_name(".csv"),
        metavar="OUT",
        help=Help(
            "a line for each pair (.csv, .parquet), or .npy, .zarr",
            "; Parquet and Zarr need vkssp[table]; - writes to standard output as CSV, and -.npy or -.parquet in these "
            "formats",
        ),
    )
    add_solver(parser, several=True)
    add_scheduler(
        parser,
        "compute the rows, and write .zarr, or .parquet as a folder, on storage that all of them share (a command that "
        "was stopped goes on where it was)",
    )


def run(args: argparse.Namespace) -> Result:
    """Compute a table, and write it to a file."""
    import numpy as np

    from vkssp.graph.names import names_in_file
    from vkssp.routing.places_file import read_ends
    from vkssp.routing.router import Router
    from vkssp.solver.pool import SolverPool, solver_on
    from vkssp.solver.table_file import check_ending
    from vkssp.solver.table_maker import table_of_nodes

    if args.scheduler is None:
        check_ending(args.output)
        check_outputs(args, output=None)
    else:
        _check_cluster(args)
    parameters = solver_parameters(args)
    sources = read_ends(args.sources)
    is_whole = args.targets == "all"
    targets = sources if args.targets is None or is_whole else read_ends(args.targets)
    lines_of = {"source": sources.lines, "target": targets.lines}
    if sources.places is not None and (is_whole or args.limit is not None):
        raise QueryError(f"--targets all and --limit are for nodes, and {args.sources} has places; leave them out")
    if (sources.places is None) != (targets.places is None):
        raise QueryError(f"{args.sources} and {args.targets} are places and nodes; give two of one kind")
    if sources.places is None and (args.avoid is not None or args.metric != "duration"):
        raise QueryError("--avoid and --metric are for tables between places, and these are nodes; leave them out")
    if sources.places is not None and parameters.get("distance_bits") == 64:
        raise QueryError("--distance-bits 64 is for tables between nodes, and these are places; leave it out")
    graph = load(args)
    if args.scheduler is not None:
        with naming_lines(lines_of):
            return _by_workers(args, graph, sources, targets, parameters, is_whole=is_whole)
    make: Callable[..., Router | Solver | SolverPool] = solver_on
    if sources.places is not None:
        make, parameters = Router, {**parameters, "metric": args.metric, "avoid": args.avoid}
    forward, searched = None, graph
    if args.reverse and sources.places is None:
        turned, arcs = graph.reversed()
        forward, searched = (graph, arcs), dataclasses.replace(turned, hierarchy=graph.hierarchy)
    began = time.perf_counter()
    with make(searched, args.algorithm, args.device, **parameters) as opened:
        ready = time.perf_counter()
        table: Table  # or one of places
        if isinstance(opened, Router):
            assert sources.places is not None and targets.places is not None
            solver = opened.solver
            with naming_lines(lines_of):
                table = opened.table(sources.places, targets.places, args.metrics, reverse=args.reverse)
        else:
            if is_whole:
                columns = np.arange(graph.num_nodes) if graph.names is None else graph.names
            else:
                columns = targets.nodes_of(graph)
            rows, limit = sources.nodes_of(graph), distance_limit(args.limit)
            table = table_of_nodes(opened, rows, columns, args.metrics, limit=limit, forward=forward)
            solver = opened
        snapped = time.perf_counter()
        ids = targets.ids if not is_whole else None if graph.names is None else names_in_file(graph.names)
        reached = table.write(args.output, sources.ids, ids, progress=is_watched(args))
        answering, algorithm = solver.answered_by
        devices = solver.devices if isinstance(solver, SolverPool) else [answering]
        device = ", ".join(one.info.name for one in devices)
    seconds, pairs = time.perf_counter() - snapped, table.shape[0] * table.shape[1]
    result: dict[str, Any] = {
        "sources": table.shape[0],
        "targets": table.shape[1],
        "reached": reached,
        "metrics": list(table.metrics),
        "device": device,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "snap_ms": 1e3 * (snapped - ready),
        "table_ms": 1e3 * seconds,
        "output": args.output,
    }
    lines = [
        f"table     {table.shape[0]:,} sources, {table.shape[1]:,} targets; {reached:,} of {pairs:,} pairs have a path",
        f"device    {device}",
        f"rows      {seconds:.1f} s with {algorithm}, {table.shape[0] / seconds:,.1f} rows per second",
        f"wrote     {args.output}",
    ]
    return result, lines


def _is_folder(output: str) -> bool:
    """Return whether workers can write an output, a folder, without this process."""
    from vkssp.dask.table_store import ENDINGS
    from vkssp.files import is_standard

    return not is_standard(output) and output.lower().endswith(ENDINGS)


def _check_cluster(args: argparse.Namespace) -> None:
    """Raise an error unless workers of a cluster, or this process, can write the output."""
    from vkssp.dask.table_writing import check_name
    from vkssp.solver.table_file import check_ending

    check_scheduler(args)
    if _is_folder(args.output):
        check_name(args.output)
        check_outputs(argparse.Namespace(**{**vars(args), "output": None}))
    else:
        check_ending(args.output)
        check_outputs(args, output=None)


def _by_workers(
    args: argparse.Namespace, graph: Graph, sources: Ends, targets: Ends, parameters: dict[str, Any], *, is_whole: bool
) -> Result:
    """Let the workers of a cluster compute a table and write it."""
    from vkssp.dask.cluster import threads_of
    from vkssp.dask.table_writing import PARTIAL
    from vkssp.dask.tables import table
    from vkssp.graph.names import names_in_file

    begin: Any = sources.places
    if begin is None:
        begin, limit = sources.nodes_of(graph), distance_limit(args.limit)
        end: Any = "all" if is_whole else targets.nodes_of(graph)
    else:
        parameters, limit = {**parameters, "metric": args.metric, "avoid": args.avoid}, None
        end = targets.places
    ids = targets.ids if not is_whole else None if graph.names is None else names_in_file(graph.names)
    began = time.perf_counter()
    with workers(args) as client:
        given = {"limit": limit, "reverse": args.reverse, "cluster": client, "algorithm": args.algorithm, **parameters}
        made = table(graph_for_workers(args, graph), begin, end, args.metrics, **given)
        ready = time.perf_counter()
        try:
            writer: DaskTable | Table = made if _is_folder(args.output) else made.gathered()
            reached = writer.write(args.output, sources.ids, ids, progress=is_watched(args))
        except KeyboardInterrupt:
            if _is_folder(args.output):
                print_error(f"stopped; the same command goes on from {args.output}{PARTIAL}")
            raise
        threads = threads_of(client)
    seconds, pairs = time.perf_counter() - ready, made.shape[0] * made.shape[1]
    result: dict[str, Any] = {
        "sources": made.shape[0],
        "targets": made.shape[1],
        "reached": reached,
        "metrics": list(made.metrics),
        "scheduler": args.scheduler,
        "threads": threads,
        "block_rows": made.block_rows,
        "setup_ms": 1e3 * (ready - began),
        "table_ms": 1e3 * seconds,
        "output": args.output,
    }
    lines = [
        f"table     {made.shape[0]:,} sources, {made.shape[1]:,} targets; {reached:,} of {pairs:,} pairs have a path",
        f"workers   {threads} threads of {args.scheduler}, blocks of {made.block_rows:,} rows",
        f"rows      {seconds:.1f} s, {made.shape[0] / seconds:,.1f} rows per second",
        f"wrote     {args.output}",
    ]
    return result, lines
