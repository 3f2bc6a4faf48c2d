"""Subcommand ``vkssp algorithms``."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap

from vkssp.commands.common import Result
from vkssp.commands.parser import CommandParser
from vkssp.errors import QueryError
from vkssp.terminal import columns

SUMMARY = "list the algorithms, their parameters and their uses"
EXAMPLE = "vkssp algorithms near_far"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="list only this algorithm")


def run(args: argparse.Namespace) -> Result:
    """List the algorithms."""
    from vkssp.algorithm import AUTO, VULKAN
    from vkssp.algorithms.choice import DEFAULT_ALGORITHM, current
    from vkssp.algorithms.registry import ALGORITHMS

    if args.name == AUTO:
        raise QueryError("auto is the algorithm of this list that fits the graph best; leave NAME out to see the list")
    names = [current(args.name, None)[0]] if args.name else list(ALGORITHMS)
    chosen = [algorithm for name in names for algorithm in ALGORITHMS[name].values()]
    described, lines, width = [], [], columns() - 1
    for algorithm in chosen:
        description = algorithm.DESCRIPTION
        where = "Vulkan device" if algorithm.RUNS_ON == VULKAN else "CPU"
        bits = " or ".join(map(str, description.distance_bits))
        early = "ends early at a target" if description.ends_early else "goes to the end for a target, too"
        lines += [f"{algorithm.NAME}  ({where}; {bits} bits; {early})"]
        lines += textwrap.wrap(description.idea, width, initial_indent="    ", subsequent_indent="    ")
        for name, text in (("use", description.use), ("work", description.complexity), ("paper", description.source)):
            lines += textwrap.wrap(f"{name:8}{text}", width, initial_indent="    ", subsequent_indent=" " * 12)
        for parameter in algorithm.PARAMETERS:
            value = "chosen" if parameter.default is None else f"{parameter.default}"
            span = f"{parameter.low} to {parameter.high}" + (", powers of two" if parameter.power_of_two else "")
            text = f"--set {parameter.name}={value}  {parameter.meaning}; {span}"
            lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent=" " * 12)
        lines.append("")
        described.append(
            {
                "name": algorithm.NAME,
                "runs_on": algorithm.RUNS_ON,
                **dataclasses.asdict(description),
                "parameters": [dataclasses.asdict(parameter) for parameter in algorithm.PARAMETERS],
            }
        )
    if not args.name:
        lines += [f"The default is {DEFAULT_ALGORITHM}: the fastest of these for the graph.", ""]
    return {"algorithms": described, "default": DEFAULT_ALGORITHM}, lines[:-1]
