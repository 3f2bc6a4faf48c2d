"""Subcommands of the command line, one module each, with a summary, arguments, and a function that runs the command."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any, Protocol

from vkssp.commands.common import Result
from vkssp.commands.parser import CommandParser
from vkssp.terminal import columns


class Command(Protocol):
    """Subcommand: a module of this package."""

    SUMMARY: str
    EXAMPLE: str

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments of this command."""

    def run(self, args: argparse.Namespace) -> Result:
        """Run the command; return a result for programs and lines for a terminal."""


#: Names of the subcommands by what they are for; the modules have the same names, with an underscore for a hyphen.
GROUPS: dict[str, tuple[str, ...]] = {
    "graphs": ("import", "info", "prepare"),
    "places on a map": ("route", "routes", "trip", "match", "nearest", "isochrone", "table", "service-areas", "serve"),
    "whole networks": ("distances", "accessibility", "centrality", "equilibrium"),
    "this machine": ("devices", "tune", "algorithms", "bench", "doctor", "dask-worker", "config", "completion"),
}
#: Former names of subcommands.
FORMER = {"assign": "service-areas"}
_EXAMPLE = "vkssp import andorra.osm.pbf andorra.graph"


def names() -> list[str]:
    """Return the names of all subcommands."""
    return [name for group in GROUPS.values() for name in group]


def command(name: str) -> Command:
    """Return a subcommand by its name."""
    module = {"import": "import_"}.get(name, name.replace("-", "_"))
    found: Any = import_module(f"vkssp.commands.{module}")
    made: Command = found
    return made


def command_parser(name: str) -> CommandParser:
    """Return the parser of a subcommand."""
    return _described(name, CommandParser(**_description(name)))


def _description(name: str) -> dict[str, Any]:
    one = command(name)
    text = f"{one.SUMMARY[0].upper()}{one.SUMMARY[1:]}."
    return {"prog": f"vkssp {name}", "description": text, "examples": (one.EXAMPLE,)}


def _described(name: str, parser: CommandParser) -> CommandParser:
    command(name).add_arguments(parser)
    parser.add_common()
    return parser


class _Program(CommandParser):
    """Parser of the program, whose help lists the subcommands by what they are for."""

    def format_usage(self) -> str:
        """Return the usage."""
        return f"usage: {self.prog} COMMAND [OPTION ...]"

    def format_help(self) -> str:
        """Return the help, which fits on a screen."""
        lines = [self.format_usage(), "", self.description or ""]
        width, indent = columns() - 1, 15
        for title, group in GROUPS.items():
            lines += ["", f"{title}:"]
            for name in group:
                summary = command(name).SUMMARY
                # The rest of a summary, after a colon or a semicolon, stands in the help of the command.
                short = summary if len(summary) <= width - indent - 2 else summary.partition(":")[0].partition(";")[0]
                lines.append(f"  {name:{indent}}{short}")
        lines += [
            "",
            "'vkssp COMMAND --help' explains a command; 'vkssp --version' tells the version.",
            "",
            "example:",
            f"  {_EXAMPLE}",
        ]
        return "\n".join(lines)


def make_parser(*, whole: bool = True) -> CommandParser:
    """Return the parser of the whole command line, or one that knows only the names of the subcommands."""
    from vkssp import __version__

    parser = _Program("vkssp", "Shortest paths on any GPU that speaks Vulkan.", (_EXAMPLE,))
    parser.add_argument("--version", action="version", version=f"vkssp {__version__}", help="show the version")
    parser.add_help_option()
    if not whole:
        parser.add_argument("command", metavar="COMMAND", choices=names())
        return parser
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=CommandParser)
    for name in names():
        sub = commands.add_parser(name, help=command(name).SUMMARY, **_description(name))
        parser.commands[name] = _described(name, sub)
    return parser
