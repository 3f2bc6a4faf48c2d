"""Subcommand ``vkssp serve``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vkssp.commands.common import Result, add_solver, solver_parameters
from vkssp.commands.parser import CommandParser
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.options import Help

SUMMARY = "answer requests of OSRM's HTTP API"
EXAMPLE = "vkssp serve andorra.graph"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument(
        "graphs",
        nargs="+",
        metavar="GRAPH",
        help=Help(
            "a graph file, or NAME=FILE for the profile NAME in URLs",
            "; one graph answers requests of any profile, several have the names of their files by default",
        ),
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=5000, help="port to listen at (default: 5000)")
    add_solver(parser)


def _named(graphs: list[str]) -> dict[str, str]:
    """Return the files of graphs by their names."""
    found: dict[str, str] = {}
    for text in graphs:
        name, equals, file = text.partition("=")
        name, file = (name, file) if equals and "/" not in name else (Path(text).name.partition(".")[0], text)
        if name in found:
            raise QueryError(f"there are two graphs with the name {name}; give NAME=FILE")
        found[name] = file
    return found


def run(args: argparse.Namespace) -> Result:
    """Answer requests until a signal ends the program."""
    from vkssp.checks import whole_number

    port = whole_number(args.port, "port", 0, 65535)
    uvicorn = optional("uvicorn", "'vkssp serve' needs", "server")
    optional("orjson", "'vkssp serve' needs", "server")
    optional("starlette", "'vkssp serve' needs", "server")
    from vkssp.reading import read_graph
    from vkssp.routing.router import Router
    from vkssp.server.app import application
    from vkssp.server.dataset import Dataset

    parameters = solver_parameters(args)
    datasets = {
        name: Dataset(Router(read_graph(file), args.algorithm, args.device, **parameters))
        for name, file in _named(args.graphs).items()
    }
    uvicorn.run(application(datasets), host=args.host, port=port, log_level="info")
    return {"graphs": list(datasets)}, []
