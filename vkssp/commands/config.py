"""Subcommand ``vkssp config``."""

from __future__ import annotations

import argparse
import json
import os
from functools import partial
from typing import Any

from vkssp.commands import command_parser, names
from vkssp.commands.common import Result
from vkssp.commands.parser import CommandParser
from vkssp.commands.settings import ENVIRONMENT, VARIABLE, Setting, in_force, read_settings, settings_of

SUMMARY = "show the configuration file and the defaults in force"
EXAMPLE = "vkssp config route"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="COMMAND",
        choices=names(),
        help="show all options of this command that the file may set",
    )


def run(args: argparse.Namespace) -> Result:
    """Check the configuration file, and show what is in force."""
    settings = read_settings()
    parsers = {name: partial(command_parser, name) for name in names()}
    made = {name: make() for name, make in parsers.items()}
    found = {name: settings_of(name, parser, settings, parsers) for name, parser in made.items()}
    state = "" if settings.exists else " (does not exist)"
    by = f", by {VARIABLE}" if os.environ.get(VARIABLE) else ""
    lines = [f"file      {settings.path or 'none, as there is no home folder'}{state if settings.path else ''}{by}"]
    chosen = [args.name] if args.name else list(made)
    listed: list[dict[str, Any]] = []
    shown = dict[tuple[str, str, str], list[str]]()
    for name in chosen:
        for one in in_force(made[name], found[name]):
            if args.name or one.origin != "default":
                listed.append({"command": name, "option": one.option, "value": one.value, "from": one.origin})
                shown.setdefault((one.option, _text(one), one.origin), []).append(name)
    width = max((len(option) for option, _, _ in shown), default=0)
    for (option, value, origin), commands in shown.items():
        of = "" if args.name else f" ({', '.join(commands)})"
        place = "" if origin == "default" else f"  from {origin}{of}"
        lines.append(f"{option:{width}}  {value}{place}")
    if not listed:
        lines.append("nothing is set; all options have their built-in defaults")
    known = (VARIABLE, *ENVIRONMENT.values())
    variables = {variable: os.environ[variable] for variable in known if os.environ.get(variable)}
    result = {
        "file": None if settings.path is None else str(settings.path),
        "exists": settings.exists,
        "variables": variables,
        "settings": listed,
    }
    return result, lines


def _text(one: Setting) -> str:
    """Return the value of a setting as a text like one in TOML."""
    value = one.value
    return "not set" if value is None else json.dumps(value) if isinstance(value, str | bool | list) else f"{value}"
