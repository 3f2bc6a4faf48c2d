"""Shared options of the subcommands for routes, tables and isochrones."""

from __future__ import annotations

import argparse

from vkssp.graph.metric import METRICS
from vkssp.options import file_name


def add_metric(parser: argparse.ArgumentParser) -> None:
    """Add the metric that routes minimize."""
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="duration",
        help="what to minimize: duration (the weights themselves, if the graph has no durations) or distance "
        "(default: duration)",
    )


def add_avoid(parser: argparse.ArgumentParser) -> None:
    """Add the areas to avoid."""
    parser.add_argument(
        "--avoid",
        type=file_name,
        metavar="AREAS",
        help="avoid the polygons in a file (.geojson, .parquet, .gpkg, .fgb, .shp, .shp.zip or .kml); streets that "
        "they touch are closed",
    )
