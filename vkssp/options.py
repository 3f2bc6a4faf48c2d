"""Command-line options for reading a graph, the explanations of options, and the names of files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from vkssp.choices import FORMATS, TURNS

_NAMES = (
    "profile",
    "turns",
    "at",
    "time_zone",
    "format",
    "weights",
    "directed",
    "scale",
    "coordinates",
    "edge_columns",
)
#: Name that stands for standard input or standard output.
STANDARD = "-"


class Help(str):
    """Explanation of an argument in the short help; `details` follow it in the help with all options.

    Attributes
    ----------
    details : str
        The rest of the explanation.
    """

    details: str

    def __new__(cls, text: str, details: str) -> Help:
        """Make an explanation."""
        made = super().__new__(cls, text)
        made.details = details
        return made


class Preferred(str):
    """Text that the user has as a default, which is left out where it has no effect."""


def file_name(text: str) -> str:
    """Return the name of a file; refuse an empty name, which comes from an unset shell variable."""
    if not text:
        raise argparse.ArgumentTypeError("the file name is empty; give one")
    return text


def output_name(ending: str) -> Callable[[str], str]:
    """Return a type of options that returns the name of a file to write; ``-`` gets an ending, as of a format."""

    def typed(text: str) -> str:
        return STANDARD + ending if text == STANDARD else file_name(text)

    return typed


def is_standard_output(name: str) -> bool:
    """Return whether the name of a file to write, from `output_name`, means standard output in a format."""
    return re.fullmatch(r"-(\.\w+)+", name) is not None


def moment(text: str) -> datetime | float:
    """Return a time given in the form of ISO 8601 or in seconds since 1970."""
    try:
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-05-04T08:30 or 1777883400") from None


def columns_of(text: str) -> list[str | int]:
    """Return columns given as ``NAME,NAME,...``; numbers count from 1, and the result from 0."""
    names = [name.strip() for name in text.split(",")]
    if not 2 <= len(names) <= 3 or not all(names) or "0" in names:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not TAIL,HEAD or TAIL,HEAD,WEIGHT, each the name of a column or its number from 1"
        )
    return [int(name) - 1 if name.isdecimal() else name for name in names]


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that `read_graph` takes as arguments."""
    parser.add_argument(
        "--profile",
        type=file_name,
        metavar="NAME",
        help=Help("of extracts: car, bike, foot or a .toml file", " (default: car)"),
    )
    rare = getattr(parser, "rare_group", parser.add_argument_group)  # other programs have no such groups
    extract = rare("graph from an OpenStreetMap extract")
    extract.add_argument(
        "--turns",
        choices=TURNS,
        help="none: ignore turns; restrictions: obey turn restrictions; costs: also count the time of turns, "
        "traffic signals and signs (default: as in the profile; costs for car, none for bike and foot)",
    )
    extract.add_argument(
        "--at-time",
        dest="at",
        type=moment,
        metavar="TIME",
        help="obey restrictions that hold at this time, such as 2026-05-04T08:30, local everywhere or with an offset, "
        "or seconds since 1970 (default: leave out all that hold at certain times)",
    )
    extract.add_argument(
        "--time-zone",
        metavar="NAME|FILE",
        help="time zone, such as Europe/Berlin, or .geojson file of time zones, for an --at-time that is no local time",
    )
    others = rare("graph in another format")
    others.add_argument(
        "--format", metavar="NAME", help=f"format of the file: {', '.join(FORMATS)} (default: detected)"
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
        "--edge-columns",
        type=columns_of,
        metavar="TAIL,HEAD,WEIGHT",
        help="columns of a CSV file, by their names in the first line or numbers from 1; without WEIGHT, weights are "
        "as --weights says (default: by usual names, such as tail,head,weight or from,to,length; else the first three)",
    )
    others.add_argument(
        "--coordinates",
        type=file_name,
        default=True,
        metavar="FILE",
        help="file of coordinates (default: the file in the same folder whose name fits, such as .co for .gr)",
    )


def reading(args: argparse.Namespace, *, is_extract: bool = False) -> dict[str, Any]:
    """Return the arguments of `read_graph` from the options of `add_reading`; defaults of the user are for extracts."""
    given = {name: getattr(args, name) for name in _NAMES}
    return {name: None if isinstance(value, Preferred) and not is_extract else value for name, value in given.items()}
