"""Subcommand ``vkssp nearest``."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from vkssp.commands.common import POINT_OUTPUT, Result, add_graph, add_output, check_outputs, latlon, load
from vkssp.commands.parser import CommandParser

SUMMARY = "find the streets near a place"
EXAMPLE = "vkssp nearest andorra.graph --at 42.5075,1.5218 --number 3"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument("--at", dest="place", type=latlon, required=True, metavar="LAT,LON", help="the place")
    parser.add_argument("--number", type=int, default=1, metavar="N", help="maximum number of streets (default: 1)")
    add_output(parser, "OUT", "write the points (such as .geojson, .gpx, .csv)", ".geojson", details=POINT_OUTPUT)


def run(args: argparse.Namespace) -> Result:
    """Find the streets near a place."""
    from vkssp.routing.nearest_file import check_nearest_ending, write_nearest
    from vkssp.routing.places import nearest_places
    from vkssp.routing.snap import StreetIndex

    check_outputs(args, output=None)
    if args.output is not None:
        check_nearest_ending(args.output)
    found = nearest_places(StreetIndex(load(args)), args.place, args.number)
    lines = [
        f"{place.snapped_lat:.6f},{place.snapped_lon:.6f}  {place.snapped_m:8.1f} m  {place.name}".rstrip()
        for place in found
    ]
    result: dict[str, Any] = {"places": [dataclasses.asdict(place) for place in found]}
    if args.output:
        write_nearest(args.output, found)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    return result, lines
