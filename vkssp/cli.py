"""Command line ``vkssp`` with the subcommands of `vkssp.commands`."""

from __future__ import annotations

import argparse
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from vkssp.commands import FORMER, command, command_parser, make_parser, names
from vkssp.commands.common import Result
from vkssp.commands.messages import messages_shown
from vkssp.commands.settings import alike, apply, read_settings, settings_of
from vkssp.commands.streams import standard_streams
from vkssp.errors import VksspError
from vkssp.former import FormerNameWarning
from vkssp.memory import shortage_named
from vkssp.signals import CLOSED_PIPE, run
from vkssp.terminal import as_json, print_error, print_json, print_lines

_NUMBER = re.compile(r"-\d|-\.\d")
_ENDING = re.compile(r"-\.[a-z]")
_PREFIX = "vkssp: "
# Commands that show what is wrong with the configuration file, or do not depend on it.
_WITHOUT_SETTINGS = ("config", "doctor", "completion")


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join options to values that begin with a minus: argparse takes these for options.

    Such values are southern latitudes, and formats of standard output.
    """
    result: list[str] = []
    for argument in arguments:
        is_long = result and re.fullmatch("--[a-z-]+", result[-1])
        if is_long and (_NUMBER.match(argument) or _ENDING.match(argument)):
            result[-1] += f"={argument}"
        elif result and result[-1] == "-o" and _ENDING.match(argument):
            result[-1] += argument
        else:
            result.append(argument)
    return result


@contextmanager
def _former_names_shown() -> Iterator[None]:
    """Tell each former name in the arguments; Python hides such warnings from the users of programs."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("default", FormerNameWarning)

        def shown(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
            if issubclass(category, FormerNameWarning):
                logging.getLogger("vkssp").warning("%s", message)
            else:
                show(message, category, *details, **more)

        warnings.showwarning = shown
        yield


def _parsed(given: list[str]) -> argparse.Namespace:
    """Return the parsed arguments; end the program after help or an error."""
    if not given or given[0] not in names():
        parser = make_parser(whole=False)
        if given and not given[0].startswith("-"):
            parser.error(f"there is no command {given[0]!r}{alike(given[0], names())}")
        parser.parse_known_args(given)
        parser.error("the command comes before everything else")
    name, *rest = given
    parser = command_parser(name)
    if name not in _WITHOUT_SETTINGS and not {"-h", "--help", "--help-all"} & set(rest):
        settings = read_settings()
        if settings.exists:
            parsers = {other: partial(command_parser, other) for other in names()}
            apply(settings_of(name, parser, settings, parsers), parser)
    args, unknown = parser.parse_known_args(rest)
    if unknown:
        hint = "" if unknown[0].startswith("-") else " (the values of a list are joined by commas, such as 5,10,15)"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    args.command = name
    return args


def _print(result: Result, args: argparse.Namespace, *, is_data: bool, is_written: bool) -> None:
    """Print the result of a command; on standard error if standard output has data."""
    values, lines = result
    if args.verbosity < 0 and is_written and not args.json:
        return
    if not is_data:
        print_json(values) if args.json else print_lines(lines)
    else:
        for line in [as_json(values)] if args.json else lines:
            print_error(line)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or 2 after an error message of one line, or 128 plus the number of a signal."""
    if sys.stdout is None:
        print_error("standard output is closed; open it, or send it to /dev/null", prefix=_PREFIX, colour="red")
        return 2
    given = _joined(sys.argv[1:] if arguments is None else arguments)
    former = given[0] if given else ""
    if former in FORMER:
        given[0] = FORMER[former]
    try:
        args = _parsed(given)
        with messages_shown(args.verbosity), shortage_named(), _former_names_shown():
            if former in FORMER:
                logging.getLogger("vkssp").warning("'%s' is called '%s' now; use this name", former, given[0])
            with standard_streams(args) as (is_data, is_written):
                result = command(args.command).run(args)
            _print(result, args, is_data=is_data, is_written=is_written)
        return getattr(args, "exit_code", 0)
    except OSError as error:  # such as a name that is too long, a forbidden folder, or a full disk
        message = f"{error.filename or 'standard output'}: {error.strerror or error}; check the path and the room left"
    except VksspError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # the output file is a pipe, and its reader has closed it
            return CLOSED_PIPE
        message = " ".join(str(error).split())
    except KeyboardInterrupt:
        return 130
    print_error(message, prefix=_PREFIX, colour="red")
    return 2


if __name__ == "__main__":
    sys.exit(run(main))
