"""Subcommand ``vkssp dask-worker``."""

from __future__ import annotations

import argparse

from vkssp.commands.common import Result, add_device
from vkssp.commands.parser import CommandParser
from vkssp.options import Help

SUMMARY = "start workers of dask on this machine, one for each GPU"
EXAMPLE = "vkssp dask-worker tcp://10.0.0.1:8786"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "scheduler", metavar="ADDRESS", help=Help("address of a scheduler of dask", ", as dask scheduler tells it")
    )
    add_device(parser, several=True)
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help=Help(
            "address to listen at (default: that of the way to the scheduler)",
            "; whoever reaches it can run code on this machine",
        ),
    )


def run(args: argparse.Namespace) -> Result:
    """Work until the scheduler ends, or a signal ends the program."""
    from vkssp.dask.cluster import run_workers

    devices = run_workers(args.scheduler, args.device, args.host)
    return {"devices": devices}, [f"ended     workers on {', '.join(devices)}"]
