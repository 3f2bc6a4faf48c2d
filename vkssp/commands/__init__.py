"""The subcommands, a module each: a summary, arguments, and what it does: a result for programs, lines for people."""

from __future__ import annotations

import argparse
from typing import Protocol

from vkssp.commands import (
    algorithms,
    bench,
    devices,
    distances,
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
    """A subcommand."""

    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""

    def run(self, args: argparse.Namespace) -> Result:
        """Do what the arguments ask for."""


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
    "bench": bench,
}
#: Former names of subcommands.
FORMER = {"assign": "service-areas"}
