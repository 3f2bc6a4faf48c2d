"""Command-line options for reading a graph."""

from __future__ import annotations

import argparse
from typing import Any

_NAMES = ("profile", "turns", "format", "weights", "directed", "scale", "coordinates")


def file_name(text: str) -> str:
    """Return the name of a file; refuse an empty name, which comes from an unset shell variable."""
    if not text:
        raise argparse.ArgumentTypeError("the file name is empty; give one")
    return text


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that `read_graph` takes as arguments."""
    extract = parser.add_argument_group("graph from an OpenStreetMap extract")
    extract.add_argument(
        "--profile",
        type=file_name,
        help="profile of the traveller, for extracts: car, bike, foot, or your own .toml file (default: car)",
    )
    extract.add_argument(
        "--turns",
        choices=("none", "restrictions", "costs"),
        help="none: ignore turns; restrictions: obey turn restrictions; costs: also count the time of turns, "
        "traffic signals and signs (default: as in the profile; costs for car, none for bike and foot)",
    )
    others = parser.add_argument_group("graph in another format")
    others.add_argument(
        "--format",
        metavar="NAME",
        help="format of the file: dimacs, pace, matrixmarket, metis or edge_list (default: detected)",
    )
    others.add_argument(
        "--weights",
        metavar="RULE",
        help="weights for a file that has none: unit, or random:LOW-HIGH,seed=S (default: unit)",
    )
    others.add_argument("--scale", type=float, metavar="X", help="factor for all weights, which are then rounded")
    way = others.add_mutually_exclusive_group()
    way.add_argument("--directed", action="store_true", default=None, help="read each line as an arc in one direction")
    way.add_argument(
        "--undirected", dest="directed", action="store_false", help="read each line as an edge in both directions"
    )
    others.add_argument(
        "--coordinates",
        type=file_name,
        default=True,
        metavar="FILE",
        help="file of coordinates (default: the file in the same folder whose name fits, such as .co for .gr)",
    )


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `read_graph` from the options of `add_reading`."""
    return {name: getattr(args, name) for name in _NAMES}
