"""Shared options of the subcommands for routes, tables and isochrones."""

from __future__ import annotations

import argparse

from vkssp.choices import METRICS
from vkssp.commands.parser import CommandParser
from vkssp.options import Help, file_name


def add_metric(parser: CommandParser) -> None:
    """Add the metric that routes minimize."""
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="duration",
        metavar="NAME",
        help=Help(
            "minimize duration or distance (default: duration)",
            "; durations are the weights themselves if the graph has no durations",
        ),
    )


def add_continue_straight(parser: CommandParser) -> None:
    """Add whether routes turn round at via points."""
    parser.rare_group("via points").add_argument(
        "--continue-straight",
        action=argparse.BooleanOptionalAction,
        help="do not turn round at via points, unless there is no other route (default: on if the graph has turns)",
    )


def add_avoid(parser: CommandParser) -> None:
    """Add the areas to avoid."""
    parser.add_argument(
        "--avoid",
        type=file_name,
        metavar="AREAS",
        help=Help(
            "close the streets that these polygons touch",
            "; a file of them (.geojson, .parquet, .gpkg, .fgb, .shp, .shp.zip or .kml)",
        ),
    )
