"""Sphinx directive ``commands``: a reference of the command line, made from its parsers while the site is built."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import vkssp
from vkssp.cli import make_parser


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the subcommands by name."""
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: sub for action in actions for name, sub in action.choices.items()}


def spelling(action: argparse.Action) -> str:
    """Return how an argument is written: its option strings, or its name, and its value."""
    metavar = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    value = metavar if isinstance(metavar, str) else " ".join(metavar)
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {value}")


def explanation(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the help of an argument with its placeholders filled."""
    values = {name: value for name, value in vars(action).items() if value is not argparse.SUPPRESS}
    if action.choices is not None:
        values["choices"] = ", ".join(map(str, action.choices))
    return (action.help or "") % {**values, "prog": parser.prog}


def arguments(parser: argparse.ArgumentParser) -> Iterator[nodes.Node]:
    """Yield a rubric and a definition list for each group of arguments."""
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        shown = [
            action for action in shown if not isinstance(action, (argparse._SubParsersAction, argparse._HelpAction))
        ]
        if not shown:
            continue
        yield nodes.rubric("", (group.title or "").capitalize())
        if group.description:
            yield nodes.paragraph("", group.description)
        rows = nodes.definition_list(classes=["arguments"])
        for action in shown:
            term = nodes.term("", "", nodes.literal("", spelling(action)))
            rows += nodes.definition_list_item(
                "", term, nodes.definition("", nodes.paragraph("", explanation(parser, action)))
            )
        yield rows


def section(parser: argparse.ArgumentParser, name: str) -> nodes.section:
    """Return the section of one parser."""
    made = nodes.section("", nodes.title("", name), ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
    if parser.description:
        made += nodes.paragraph("", parser.description)
    usage = textwrap.dedent(" " * len("usage: ") + parser.format_usage().removeprefix("usage: ")).rstrip()
    made += nodes.literal_block("", usage, language="text")
    made.extend(arguments(parser))
    if parser.epilog:
        made += nodes.paragraph("", parser.epilog)
    return made


class Commands(SphinxDirective):
    """Sections for the program and for each of its subcommands."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        for path in (Path(vkssp.__file__).parent / "commands").glob("*.py"):
            self.env.note_dependency(str(path))  # so that a build beside an older one makes the page again
        parser = make_parser()
        made = [section(parser, parser.prog)]
        made += [section(sub, f"{parser.prog} {name}") for name, sub in subparsers(parser).items()]
        return list(made)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
