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
    parser.add_argument(
        "--profile",
        type=file_name,
        help="who travels, in an extract: car, bike, foot, or a .toml file of your own (default: car)",
    )
    parser.add_argument(
        "--turns",
        choices=("none", "restrictions", "costs"),
        help="what the graph of an extract knows of turns: none, restrictions, or costs, which are restrictions and "
        "the time that turns, signals and signs take (default: the profile's; costs for car, none for bike and foot)",
    )
    others = parser.add_argument_group("for graphs in other formats")
    others.add_argument("--format", metavar="NAME", help="dimacs, pace, matrixmarket, metis or edge_list")
    others.add_argument(
        "--weights",
        metavar="RULE",
        help="the weights of a file without any: unit, or random:LOW-HIGH,seed=S (default: unit)",
    )
    others.add_argument("--scale", type=float, metavar="X", help="multiply weights by X, then round them")
    way = others.add_mutually_exclusive_group()
    way.add_argument("--directed", action="store_true", default=None, help="each line is an arc, one way")
    way.add_argument("--undirected", dest="directed", action="store_false", help="each line is an edge, both ways")
    others.add_argument(
        "--coordinates",
        type=file_name,
        default=True,
        metavar="FILE",
        help="where the nodes are (default: FILE beside the graph)",
    )


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `read_graph` from the options of `add_reading`."""
    return {name: getattr(args, name) for name in _NAMES}
