"""Command line ``vkssp`` with the subcommands in `COMMANDS`."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from vkssp import __version__
from vkssp.commands import COMMANDS, FORMER
from vkssp.errors import VksspError
from vkssp.former import FormerNameWarning
from vkssp.memory import shortage_named
from vkssp.signals import CLOSED_PIPE, run
from vkssp.terminal import print_error, print_json, print_lines, printable

_NUMBER = re.compile(r"-\d|-\.\d")


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports an error in one line, like all other errors."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, printable(f"{self.prog}: {message}; see '{self.prog} --help'") + "\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Parser(prog="vkssp", description="Shortest paths on any GPU that speaks Vulkan.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"vkssp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, command in COMMANDS.items():
        summary = command.SUMMARY
        sub = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example: {command.EXAMPLE}",
            allow_abbrev=False,
        )
        command.add_arguments(sub)
    return parser


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join options to values that begin with a minus, such as southern latitudes: argparse takes these for options."""
    result: list[str] = []
    for argument in arguments:
        if result and re.fullmatch("--[a-z-]+", result[-1]) and _NUMBER.match(argument):
            result[-1] += f"={argument}"
        else:
            result.append(argument)
    return result


@contextmanager
def _former_names_shown() -> Iterator[None]:
    """Print a line for each former name in the arguments; Python hides such warnings from the users of programs."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("default", FormerNameWarning)

        def shown(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
            if issubclass(category, FormerNameWarning):
                print_error(f"vkssp: {message}")
            else:
                show(message, category, *details, **more)

        warnings.showwarning = shown
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or 2 after an error message of one line, or 128 plus the number of a signal."""
    if sys.stdout is None:
        print_error("vkssp: standard output is closed; open it, or send it to /dev/null")
        return 2
    given = _joined(sys.argv[1:] if arguments is None else arguments)
    if given and (name := FORMER.get(given[0])):
        print_error(f"vkssp: '{given[0]}' is called '{name}' now; use this name")
        given[0] = name
    args, unknown = make_parser().parse_known_args(given)
    if unknown:
        hint = "" if unknown[0].startswith("-") else " (the values of a list are joined by commas, such as 5,10,15)"
        _Parser(prog=f"vkssp {args.command}").error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    try:
        with shortage_named(), _former_names_shown():
            result, lines = COMMANDS[args.command].run(args)
            if args.json:
                print_json(result)
            else:
                print_lines(lines)
        return 0
    except OSError as error:  # such as a name that is too long, a forbidden folder, or a full disk
        message = f"{error.filename or 'standard output'}: {error.strerror or error}; check the path and the room left"
    except VksspError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # the output file is a pipe, and its reader has closed it
            return CLOSED_PIPE
        message = " ".join(str(error).split())
    except KeyboardInterrupt:
        return 130
    print_error(f"vkssp: {message}")
    return 2


if __name__ == "__main__":
    sys.exit(run(main))
