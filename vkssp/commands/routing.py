"""What the subcommands for routes and isochrones share."""

from __future__ import annotations

import argparse


def add_avoid(parser: argparse.ArgumentParser) -> None:
    """Add the areas to avoid."""
    parser.add_argument(
        "--avoid", metavar="A.geojson", help="keep out of the polygons in a GeoJSON file; streets they touch are closed"
    )


def check_outputs(args: argparse.Namespace) -> None:
    """Raise `FormatError` unless the files that are wanted can be written, and are none of those that are read."""
    from vkssp.storage import check_writable

    if args.output:
        check_writable(args.output, args.graph, args.avoid, args.map)
    if args.map:
        check_writable(args.map, args.graph, args.avoid)
