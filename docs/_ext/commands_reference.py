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
from vkssp.commands import command_parser, make_parser, names
from vkssp.commands.parser import CommandParser, filled, spelling


def arguments(parser: CommandParser) -> Iterator[nodes.Node]:
    """Yield a rubric and a definition list for each group of arguments."""
    for title, _, actions in parser.arguments():
        shown = [action for action in actions if not isinstance(action, argparse._SubParsersAction)]
        if not shown:
            continue
        yield nodes.rubric("", title.capitalize())
        rows = nodes.definition_list(classes=["arguments"])
        for action in shown:
            term = nodes.term("", "", nodes.literal("", spelling(action)))
            rows += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", filled(action))))
        yield rows


def section(parser: CommandParser, name: str) -> nodes.section:
    """Return the section of one parser."""
    made = nodes.section("", nodes.title("", name), ids=[nodes.make_id(name)], names=[nodes.fully_normalize_name(name)])
    if parser.description:
        made += nodes.paragraph("", parser.description)
    usage = textwrap.dedent(" " * len("usage: ") + parser.format_usage().removeprefix("usage: ")).rstrip()
    made += nodes.literal_block("", usage, language="text")
    made.extend(arguments(parser))
    if parser.examples:
        made += nodes.literal_block("", "\n".join(parser.examples), language="text")
    return made


class Commands(SphinxDirective):
    """Sections for the program and for each of its subcommands."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        for path in (Path(vkssp.__file__).parent / "commands").glob("*.py"):
            self.env.note_dependency(str(path))  # so that a build beside an older one makes the page again
        parser = make_parser()
        made = [section(parser, parser.prog)]
        made += [section(command_parser(name), f"{parser.prog} {name}") for name in names()]
        return list(made)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
