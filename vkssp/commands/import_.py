"""Subcommand ``vkssp import``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from vkssp.commands.common import Result, add_saved, check_outputs, is_watched, load, saved_name
from vkssp.commands.parser import CommandParser
from vkssp.errors import QueryError
from vkssp.options import Help, add_reading, file_name, reading

if TYPE_CHECKING:
    from vkssp.graph import Graph

SUMMARY = "import an OpenStreetMap extract or another graph, and save it"
EXAMPLE = "vkssp import andorra.osm.pbf andorra.graph"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "extract",
        type=file_name,
        metavar="EXTRACT",
        help="an OpenStreetMap extract (.osm.pbf, .osm, .osm.gz, .osm.bz2) or any other graph; - for standard input",
    )
    add_saved(parser)
    parser.add_argument(
        "--all-nodes",
        action="store_true",
        help=Help(
            "make nodes also of points that only give a street its shape",
            "; weights are then milliseconds instead of tenths of a second",
        ),
    )
    parser.add_argument(
        "--basemap",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=Help(
            "keep coast, water and names of places for maps", "; --no-basemap makes a smaller file (default: on)"
        ),
    )
    for name, form in (("segment-speeds", "from,to,km/h[,rate]"), ("turn-penalties", "from,via,to,seconds[,weight]")):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            type=file_name,
            metavar="CSV",
            help=Help(f"a file of OSM nodes: {form}", "; several files count in their order"),
        )
    add_reading(parser)


def run(args: argparse.Namespace) -> Result:
    """Import an extract, or read or generate another graph, and save it."""
    from vkssp.osm import import_extract, is_extract
    from vkssp.reading import refuse

    saved_name(args)
    check_outputs(args, output="a saved graph")
    if args.format is not None or not is_extract(args.extract):
        if args.segment_speeds or args.turn_penalties:
            raise QueryError(
                f"--segment-speeds and --turn-penalties are for extracts, and {args.extract} is read as another graph; "
                "leave them out"
            )
        if args.all_nodes:
            raise QueryError(f"--all-nodes is for extracts, and {args.extract} is read as another graph; leave it out")
        if not args.basemap:
            raise QueryError(f"--no-basemap is for extracts, and {args.extract} is read as another graph; leave it out")
        graph = load(args, args.extract)
        graph.save(args.output)
        size = {"nodes": graph.num_nodes, "arcs": graph.num_arcs}
        return {**size, "output": args.output}, [
            f"{graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs",
            f"wrote {args.output}",
        ]
    others = {
        name: value
        for name, value in reading(args, is_extract=True).items()
        if name not in ("profile", "turns", "at", "time_zone")
    }
    refuse(others, args.extract, "an OpenStreetMap extract")
    graph, report = import_extract(
        args.extract,
        profile=args.profile or "car",
        progress=is_watched(args),
        simplify=not args.all_nodes,
        turns=args.turns,
        at=args.at,
        time_zone=args.time_zone,
        basemap=args.basemap,
    )
    graph = _with_traffic(args, graph)
    graph.save(args.output)
    report.end_stage("saving")
    return {**report.as_dict(), "output": args.output}, [*report.lines(), f"wrote {args.output}"]


def _with_traffic(args: argparse.Namespace, graph: Graph) -> Graph:
    """Return the graph with the speeds and times of turns in the files that the options name."""
    from vkssp.formats.traffic_csv import read_segment_speeds, read_turn_penalties
    from vkssp.graph.node_traffic import with_segment_speeds, with_turn_penalties

    for path in args.segment_speeds:
        graph = with_segment_speeds(graph, *read_segment_speeds(path))
    for path in args.turn_penalties:
        graph = with_turn_penalties(graph, *read_turn_penalties(path))
    return graph
