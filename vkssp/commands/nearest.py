"""The subcommand ``vkssp nearest``."""

from __future__ import annotations

import argparse
import dataclasses

from vkssp.commands.common import (
    Result,
    add_graph,
    add_json,
    latlon,
    load,
)

SUMMARY = "find the streets near a place"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)
    add_graph(parser)
    parser.add_argument("--at", dest="place", type=latlon, required=True, metavar="LAT,LON", help="the place")
    parser.add_argument("--number", type=int, default=1, metavar="N", help="how many streets at most (default: 1)")


def run(args: argparse.Namespace) -> Result:
    """Find the streets near a place."""
    from vkssp.routing.places import nearest_places
    from vkssp.routing.snap import StreetIndex

    found = nearest_places(StreetIndex(load(args)), args.place, args.number)
    lines = [
        f"{place.snapped_lat:.6f},{place.snapped_lon:.6f}  {place.snapped_m:8.1f} m  {place.name}".rstrip()
        for place in found
    ]
    return {"places": [dataclasses.asdict(place) for place in found]}, lines
