"""Subcommand ``vkssp tune``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from vkssp.commands.common import GENERATORS, Result, is_watched
from vkssp.commands.parser import CommandParser
from vkssp.options import Help, file_name

SUMMARY = "measure what is fastest on a Vulkan device, and keep it"
EXAMPLE = "vkssp tune --minutes 5"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "--device",
        help=Help(
            "a Vulkan device by index or name; see 'vkssp devices'",
            " (default: $VKSSP_DEVICE, or the fastest Vulkan device)",
        ),
    )
    parser.add_argument(
        "--graph",
        type=file_name,
        metavar="GRAPH",
        help=Help(
            "road network to measure on: a file, or a generator such as road:512",
            f"; generators: {GENERATORS} (default: road:512)",
        ),
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=5.0,
        metavar="M",
        help="try nothing more after so many minutes, without the preparation of graphs (default: 5)",
    )
    parser.add_argument("--forget", action="store_true", help="remove what is kept for the device instead")


def run(args: argparse.Namespace) -> Result:
    """Tune a device, or forget what was tuned."""
    from vkssp.bench.tuning import tune
    from vkssp.reading import read_graph

    graph = None if args.graph is None or args.forget else read_graph(args.graph)
    found = tune(args.device, graph, minutes=args.minutes, forget=args.forget, progress=is_watched(args))
    result = {**asdict(found), "file": None if found.file is None else str(found.file)}
    if args.forget:
        return result, [f"{found.device} has its default values"]
    lines = [f"{found.device}  ({found.driver})", f"{found.tried} candidates were timed, and their answers verified"]
    for name, value in found.values.items():
        times = found.measured[name]
        lines.append(f"{name} = {value}: {times['ms']:.3f} ms, {times['default_ms']:.3f} by default")
    if not found.values:
        lines.append("No value was kept: none is faster than its default for sure.")
    lines += [f"not kept: {one}" for one in found.unconfirmed]
    lines += [f"not kept, since answers were wrong: {one}" for one in found.wrong]
    lines += [f"not measured: {one}" for one in found.left_out]
    if found.file is not None:
        lines.append(f"wrote {found.file}")
    return result, lines
