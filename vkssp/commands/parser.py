"""Parser of the command line: short help with an example, help with all options, and errors in one line."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from vkssp.options import Help
from vkssp.terminal import columns, print_error, print_text

# Columns before the explanation of an option; a narrow terminal has less.
_INDENT = 24


class Exclusive:
    """Options of which the user gives at most one, or exactly one."""

    def __init__(self, group: Any, required: bool) -> None:
        self.required, self.actions = required, list[argparse.Action]()
        self._group = group.add_mutually_exclusive_group(required=required)

    def add_argument(self, *flags: str, **settings: Any) -> argparse.Action:
        """Add an option, as `argparse.ArgumentParser.add_argument` does."""
        action: argparse.Action = self._group.add_argument(*flags, **settings)
        self.actions.append(action)
        return action


class Repeated(argparse.Action):
    """Option that may be given several times; its value is the list of all."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        """Add a value to the list."""
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), values])


class _HelpAction(argparse.Action):
    """Option that prints the short help, or all of it, and ends the program."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, full: bool = False, **settings: Any) -> None:
        self.full = full
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, **settings)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print the help of a parser."""
        assert isinstance(parser, CommandParser)
        print_text(parser.all_help() if self.full else parser.format_help())
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    """Formatter of help for the width of the terminal."""

    def __init__(self, prog: str, *, full: bool = False) -> None:
        super().__init__(prog, max_help_position=_INDENT, width=columns() - 1)
        self.full = full

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return spelling(action)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return explanation(action) if self.full else action.help


def explanation(action: argparse.Action) -> str | None:
    """Return the explanation of an argument with its details, with placeholders."""
    text = action.help
    return f"{text}{text.details}" if isinstance(text, Help) else text


class CommandParser(argparse.ArgumentParser):
    """Parser of the program or of a command.

    Parameters
    ----------
    prog : str
        Name of the program or of the command.
    description : str
        What it does.
    examples : sequence of str
        Commands that show its use.

    Attributes
    ----------
    examples : sequence of str
        The commands.
    exclusive : list of Exclusive
        Groups of options that exclude each other.
    commands : dict of str to CommandParser
        Parsers of subcommands by their names.
    """

    def __init__(self, prog: str, description: str, examples: Sequence[str] = (), **_: Any) -> None:
        super().__init__(prog=prog, description=description, add_help=False, allow_abbrev=False)
        self.color = False  # from Python 3.14 on argparse has colours of its own
        self._positionals.title = "arguments"
        self.examples, self._rare = examples, list[Any]()
        self.exclusive: list[Exclusive] = []
        self.commands: dict[str, CommandParser] = {}

    def rare_group(self, title: str) -> Any:
        """Add a group of arguments that only the help with all options lists."""
        group = self.add_argument_group(title)
        self._rare.append(group)
        return group

    def one_of(self, group: Any = None, *, required: bool = False) -> Exclusive:
        """Add options to this parser, or to a group, of which the user gives at most one, or exactly one."""
        made = Exclusive(self if group is None else group, required)
        self.exclusive.append(made)
        return made

    def add_common(self) -> None:
        """Add the options that every command has, after all others."""
        group = self.add_argument_group("options of every command")
        if "--json" not in self._option_string_actions:
            group.add_argument("--json", action="store_true", help="print one JSON object, for programs")
        self.set_defaults(verbosity=0)
        level = self.one_of(group)
        level.add_argument(
            "-q",
            "--quiet",
            dest="verbosity",
            action="store_const",
            const=-1,
            help=Help("print only errors", ", and results that go to no file"),
        )
        level.add_argument(
            "-v",
            "--verbose",
            dest="verbosity",
            action="store_const",
            const=1,
            help="also print what is done, and how long it takes",
        )
        self.add_help_option(group)
        group.add_argument("--help-all", action=_HelpAction, full=True, help="show all options, and all details")

    def add_help_option(self, group: Any = None) -> None:
        """Add the option for help to this parser, or to a group of it."""
        (group or self).add_argument("-h", "--help", action=_HelpAction, help="show this help")

    def arguments(self) -> Iterator[tuple[str, bool, list[argparse.Action]]]:
        """Yield the groups of arguments: title, whether only the help with all options lists it, and arguments."""
        for group in self._action_groups:
            actions = [one for one in self._actions if one.container is group]  # type: ignore[attr-defined]
            actions = [one for one in actions if one.help is not argparse.SUPPRESS]
            if actions:
                yield group.title or "", any(group is one for one in self._rare), actions

    def format_usage(self) -> str:
        """Return the usage: what must be given."""
        exclusive = {id(action): one for one in self.exclusive if one.required for action in one.actions}
        parts: list[str] = []
        for action in sorted(self._actions, key=lambda one: bool(one.option_strings)):
            one = exclusive.get(id(action))
            if one is not None:
                if action is one.actions[0]:
                    parts.append(f"({' | '.join(spelling(each, longest=True) for each in one.actions)})")
            elif action.required or not action.option_strings:
                parts.append(spelling(action, longest=True))
        parts.append("[OPTION ...]")
        start = f"usage: {self.prog} "
        indent = " " * min(len(start), 20)
        joined = "\0".join(parts).replace(" ", "\1").replace("\0", " ")  # lines end between arguments
        return textwrap.fill(joined, columns() - 1, initial_indent=start, subsequent_indent=indent).replace("\1", " ")

    def format_help(self) -> str:
        """Return the help that fits on a screen: the options that most people need."""
        rest = [action for _, is_rare, actions in self.arguments() if is_rare for action in actions]
        names = ", ".join(action.option_strings[-1] for action in rest)
        more = f"more options, which --help-all explains: {names}"
        return self._help(
            False, textwrap.fill(more, columns() - 1, subsequent_indent="  ", break_on_hyphens=False) if rest else ""
        )

    def all_help(self) -> str:
        """Return the help with all options and all details."""
        return self._help(True, "")

    def _help(self, full: bool, rest: str) -> str:
        formatter = _Formatter(self.prog, full=full)
        formatter.add_text(self.description)
        for title, is_rare, actions in self.arguments():
            if full or not is_rare:
                formatter.start_section(title)
                formatter.add_arguments(actions)
                formatter.end_section()
        blocks = [self.format_usage(), "", formatter.format_help().rstrip("\n")]
        blocks += ["", rest] * bool(rest)
        if self.examples:
            blocks += ["", "example:" if len(self.examples) == 1 else "examples:", *map(_example, self.examples)]
        return "\n".join(blocks)

    def error(self, message: str) -> NoReturn:
        """Print an error in one line, and end the program."""
        print_error(f"{self.prog}: {message}; see '{self.prog} --help'")
        sys.exit(2)


def spelling(action: argparse.Action, *, longest: bool = False) -> str:
    """Return how an argument is written: its option strings, or only the longest one, and its value."""
    metavar = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    value = metavar if isinstance(metavar, str) else " ".join(metavar)
    if not action.option_strings:
        return {"?": f"[{value}]", "*": f"[{value} ...]", "+": f"{value} [{value} ...]"}.get(str(action.nargs), value)
    names = action.option_strings[-1] if longest else ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def filled(action: argparse.Action) -> str:
    """Return the explanation of an argument with its details and its placeholders filled."""
    return (explanation(action) or "") % vars(action)


def _example(command: str) -> str:
    """Return an example, on several lines if one is too short; a shell takes both."""
    width = columns() - 1
    if len(command) + 2 <= width:
        return f"  {command}"
    lines = textwrap.wrap(command, width - 6, break_long_words=False, break_on_hyphens=False)
    return "  " + " \\\n      ".join(lines)
