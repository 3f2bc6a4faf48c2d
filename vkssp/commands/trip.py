"""Subcommand ``vkssp trip``."""

from __future__ import annotations

import argparse
from typing import Any

from vkssp.choices import DESTINATIONS, SOURCES
from vkssp.commands.common import (
    PLACE_FILES,
    ROUTE_OUTPUT,
    Result,
    add_graph,
    add_map,
    add_output,
    add_solver,
    check_outputs,
    load,
    map_tiles,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid, add_metric
from vkssp.errors import QueryError
from vkssp.options import Help, file_name

SUMMARY = "find a short trip through many places, in any order"
EXAMPLE = "vkssp trip andorra.graph --places stops.csv --source first --map trip.html"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--places",
        required=True,
        type=file_name,
        metavar="P.csv",
        help=Help("the places (columns lat,lon, perhaps id)", f": {PLACE_FILES}"),
    )
    parser.add_argument(
        "--source", choices=SOURCES, default=SOURCES[0], help="where the trip begins (default: at any place)"
    )
    parser.add_argument(
        "--destination", choices=DESTINATIONS, default=DESTINATIONS[0], help="where it ends (default: at any place)"
    )
    parser.add_argument("--one-way", action="store_true", help="do not return to the beginning")
    add_metric(parser)
    add_avoid(parser)
    add_output(parser, "OUT", "write the trip (such as .geojson, .gpx, .gpkg)", ".geojson", details=ROUTE_OUTPUT)
    add_map(parser)
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Find a trip, and write the requested files."""
    from vkssp.features.quantities import format_distance, format_duration
    from vkssp.route_file import check_route_ending
    from vkssp.routing.map import write_map
    from vkssp.routing.places_file import read_ends
    from vkssp.routing.router import Router

    check_outputs(args, output=None, map="HTML")
    tiles = map_tiles(args)
    if args.output is not None:
        check_route_ending(args.output)
    parameters = solver_parameters(args)
    ends = read_ends(args.places)
    if ends.places is None:
        raise QueryError(f"{args.places} has nodes; give places, with columns lat and lon")
    graph = load(args)
    parameters |= {"metric": args.metric, "avoid": args.avoid}
    with Router(graph, args.algorithm, args.device, **parameters) as router, naming_lines({"source": ends.lines}):
        found = router.trip(ends.places, source=args.source, destination=args.destination, roundtrip=not args.one_way)
    route, ids = found.route, [ends.ids[number] for number in found.order.tolist()]
    result: dict[str, Any] = {
        "places": ids,
        "is_best": found.is_best,
        "distance_m": route.distance_m,
        "duration_s": route.duration_s,
        "weight": route.weight,
        "device": route.device,
        "algorithm": route.algorithm,
        "legs": [
            {"distance_m": leg.distance_m, "duration_s": leg.duration_s, "weight": leg.weight} for leg in route.legs
        ],
    }
    lines = []
    for number, (name, leg) in enumerate(zip([*ids, *ids[:1]], [*route.legs, None], strict=False), 1):
        far = "" if leg is None else f", {format_distance(leg.distance_m)} to the next"
        lines.append(f"{number:<9} {name}{far}")
    lines.append(f"distance  {format_distance(route.distance_m or 0.0)}")
    if route.duration_s is None:
        lines.append(f"weight    {route.weight:,.0f}")
    else:
        lines.append(f"duration  {format_duration(route.duration_s)}")
    lines.append("order     " + ("the best one" if found.is_best else "a good one; there may be a better one"))
    lines.append(f"device    {route.device}")
    if args.output:
        found.write(args.output)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map:
        write_map(args.map, graph, route, tiles=tiles)
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines
