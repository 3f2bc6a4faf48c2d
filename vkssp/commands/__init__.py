"""Subcommands of the command line, one module each, with a summary, arguments, and a function that runs the command."""

from __future__ import annotations

import argparse
from typing import Protocol

from vkssp.commands import (
    accessibility,
    algorithms,
    bench,
    centrality,
    devices,
    distances,
    equilibrium,
    import_,
    info,
    isochrone,
    nearest,
    prepare,
    route,
    service_areas,
    table,
)
from vkssp.commands.common import Result


class Command(Protocol):
    """Subcommand: a module of this package."""

    SUMMARY: str
    EXAMPLE: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""

    def run(self, args: argparse.Namespace) -> Result:
        """Run the command; return a result for programs and lines for a terminal."""


COMMANDS: dict[str, Command] = {
    "devices": devices,
    "algorithms": algorithms,
    "import": import_,
    "info": info,
    "prepare": prepare,
    "route": route,
    "table": table,
    "service-areas": service_areas,
    "isochrone": isochrone,
    "nearest": nearest,
    "distances": distances,
    "accessibility": accessibility,
    "centrality": centrality,
    "equilibrium": equilibrium,
    "bench": bench,
}
#: Former names of subcommands.
FORMER = {"assign": "service-areas"}
