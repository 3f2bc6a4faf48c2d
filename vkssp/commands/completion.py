"""Subcommand ``vkssp completion``."""

from __future__ import annotations

import argparse
from typing import Any

from vkssp.choices import ALGORITHMS, AUTO, FORMATS, PROFILES
from vkssp.commands import make_parser
from vkssp.commands.common import READ, WRITTEN, Result
from vkssp.commands.parser import CommandParser
from vkssp.extras import optional

SUMMARY = "print a script for completion by bash, zsh or fish"
EXAMPLE = 'eval "$(vkssp completion bash)"'
SHELLS = ("bash", "zsh", "fish")
# Words that a shell offers for options whose values are not listed by their parsers.
_WORDS = {"algorithm": (AUTO, *ALGORITHMS), "format": FORMATS, "device": ("cpu", "all", "0", "1"), "profile": PROFILES}


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> Result:
    """Make the script."""
    shtab = optional("shtab", "completion scripts need", "completion")
    parser = make_parser()
    for one in parser.commands.values():
        for _, _, actions in one.arguments():
            for action in actions:
                named: Any = action
                if action.dest in _WORDS and action.option_strings:
                    named.choices = _WORDS[action.dest]
                elif action.dest in (*READ, *WRITTEN, "compare"):
                    named.complete = shtab.FILE
    script: str = shtab.complete(parser, args.shell)
    return {"shell": args.shell, "script": script}, script.splitlines()
