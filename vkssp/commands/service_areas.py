"""Subcommand ``vkssp service-areas``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from vkssp.commands.common import Result, add_graph, add_solver, check_outputs, load, solver_parameters
from vkssp.commands.parser import CommandParser
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid, add_metric
from vkssp.errors import QueryError
from vkssp.options import Help, file_name, output_name

SUMMARY = "find the nearest of many places to each node and street"
EXAMPLE = "vkssp service-areas andorra.graph --sources places.csv --output areas.geojson"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--sources",
        required=True,
        type=file_name,
        metavar="S.csv",
        help="places or nodes, in a file as for 'vkssp table'",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="N",
        help=Help(
            "leave out what is over N seconds from all sources",
            "; metres with --metric distance, or weights if the graph has no durations",
        ),
    )
    parser.add_argument("--reverse", action="store_true", help="trips to the sources count, not from them")
    add_metric(parser)
    add_avoid(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=output_name(".csv"),
        metavar="OUT",
        help=Help(
            "the nearest of nodes (.csv, .npy), streets (.geojson)",
            " and its distance; streets are for places, also .kml, .gpkg, .fgb, .parquet, .shp or .shp.zip; - writes "
            "to standard output as CSV, and -.npy, -.geojson, -.kml, -.fgb or -.parquet in these formats",
        ),
    )
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Find the nearest source of each node, and write the result to a file."""
    import numpy as np

    from vkssp.graph import UNREACHABLE
    from vkssp.graph.metric import unit_of
    from vkssp.routing.places_file import read_ends
    from vkssp.routing.router import Router
    from vkssp.routing.service_areas_file import check_areas_ending, write_nodes
    from vkssp.solver.solver import Solver
    from vkssp.solver.table_file import COLUMNS

    check_areas_ending(args.output)
    check_outputs(args, output=None)
    parameters = solver_parameters(args)
    ends = read_ends(args.sources)
    if ends.places is None:
        check_areas_ending(args.output, streets=False)
        if args.avoid is not None or args.metric != "duration":
            raise QueryError("--avoid and --metric are for places, and these sources are nodes; leave them out")
    graph = load(args)
    choices = {} if ends.places is None else {"metric": args.metric, "avoid": args.avoid}
    kind = Solver if ends.places is None else Router
    began = time.perf_counter()
    with kind(graph, args.algorithm, args.device, **choices, **parameters) as opened:
        ready = time.perf_counter()
        if isinstance(opened, Router):
            assert ends.places is not None
            with naming_lines({"source": ends.lines}):
                areas = opened.service_areas(ends.places, args.limit, reverse=args.reverse)
            solver, nodes = opened.solver, areas.nodes
        else:
            solver, unit = opened, unit_of(graph, args.metric)
            nodes = opened.nearest(ends.nodes_of(graph), limit=unit.limit_of_solver(args.limit), reverse=args.reverse)
        milliseconds = 1e3 * (time.perf_counter() - ready)
        answering, algorithm = solver.answered_by
        device = answering.info.name
    if isinstance(opened, Router):
        areas.write(args.output, ends.ids)
    else:
        write_nodes(args.output, graph, nodes.source, {COLUMNS[unit.name]: unit.of_solver(nodes.distance)}, ends.ids)
    count = len(ends.ids)
    per_source = np.bincount(nodes.source[nodes.source != UNREACHABLE], minlength=count)
    result: dict[str, Any] = {
        "sources": count,
        "nodes": graph.num_nodes,
        "reached": int(per_source.sum()),
        "nodes_of_sources": per_source.tolist(),
        "device": device,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "query_ms": milliseconds,
        "output": args.output,
    }
    lines = [
        f"{per_source.sum():,} of {graph.num_nodes:,} nodes reached from {count:,} sources, of which "
        f"{np.count_nonzero(per_source):,} are the nearest to some",
        f"most      {per_source.max():,} nodes are nearest to {ends.ids[int(per_source.argmax())]}",
        f"device    {device}",
        f"query     {milliseconds:.1f} ms with {algorithm}",
        f"wrote     {args.output}",
    ]
    return result, lines
