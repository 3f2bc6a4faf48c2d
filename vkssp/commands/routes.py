"""Subcommand ``vkssp routes``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    ROUTE_OUTPUT,
    Result,
    add_graph,
    add_solver,
    check_outputs,
    is_watched,
    load,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid, add_continue_straight, add_metric
from vkssp.options import Help, file_name, output_name
from vkssp.terminal import progress_bar

if TYPE_CHECKING:
    from vkssp.features.features import Features

SUMMARY = "find the routes of many pairs of places"
EXAMPLE = "vkssp routes andorra.graph --pairs trips.csv --output routes.geojson"

#: Pairs of a block, which are in memory with their routes.
AT_ONCE = 1024


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--pairs",
        required=True,
        type=file_name,
        metavar="P.csv",
        help=Help(
            "the pairs (columns from_lat,from_lon,to_lat,to_lon, perhaps id and via points)",
            ": .csv or .parquet, via points in columns via1_lat,via1_lon,via2_lat and so on, empty where a pair has "
            "fewer; or .geojson of lines, which lead from their first position to the last one",
        ),
    )
    add_metric(parser)
    add_avoid(parser)
    parser.add_argument("--strict", action="store_true", help="stop at a pair that no route joins")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=output_name(".geojson"),
        metavar="OUT",
        help=Help(
            "write a line for each pair (such as .geojson, .parquet), or .csv without lines",
            f"; - writes to standard output{ROUTE_OUTPUT}; .geojson, .parquet and .csv are written while routes are "
            "found, and may have any number of pairs",
        ),
    )
    add_solver(parser)
    add_continue_straight(parser)


def run(args: argparse.Namespace) -> Result:
    """Find the routes, and write them to a file."""
    from vkssp.routing.pairs_file import read_pairs
    from vkssp.routing.places import PAIR_NAMES
    from vkssp.routing.router import Router
    from vkssp.routing.routes_file import check_routes_ending, write_routes

    check_outputs(args, output=None)
    check_routes_ending(args.output)
    parameters = solver_parameters(args)
    blocks = read_pairs(args.pairs, AT_ONCE)
    first = next(blocks)  # errors of the file come before the graph is read
    graph, pairs, joined = load(args), 0, 0
    began = time.perf_counter()
    with Router(graph, args.algorithm, args.device, metric=args.metric, avoid=args.avoid, **parameters) as router:
        ready = time.perf_counter()

        def found() -> Iterator[Features]:
            nonlocal pairs, joined
            with progress_bar(shown=is_watched(args), unit=" pairs") as bar:
                for given in chain([first], blocks):
                    with naming_lines(dict.fromkeys((*PAIR_NAMES, "pair"), given.lines), pairs):
                        routes = router.routes(
                            given.origins,
                            given.destinations,
                            via=given.vias,
                            continue_straight=args.continue_straight,
                            strict=args.strict,
                            first_number=pairs,
                        )
                    pairs, joined = pairs + len(routes), joined + int(routes.has_route.sum())
                    yield routes.features(given.ids)
                    bar.update(len(routes))

        write_routes(args.output, found())
        seconds = time.perf_counter() - ready
        device, algorithm = router.solver.answered_by
    result: dict[str, Any] = {
        "pairs": pairs,
        "routes": joined,
        "device": device.info.name,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "routes_ms": 1e3 * seconds,
        "output": args.output,
    }
    lines = [
        f"routes    {joined:,} of {pairs:,} pairs have a route",
        f"device    {device.info.name}",
        f"took      {seconds:.1f} s with {algorithm}, {pairs / seconds:,.0f} pairs per second",
        f"wrote     {args.output}",
    ]
    return result, lines
