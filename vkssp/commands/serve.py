"""Subcommand ``vkssp serve``."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path

from vkssp.commands.common import Result, add_solver, solver_parameters
from vkssp.commands.parser import CommandParser
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.options import Help

SUMMARY = "answer requests of OSRM's HTTP API"
EXAMPLE = "vkssp serve car=andorra.graph bike=andorra-bike.graph --port 5000"
#: Environment variable with the token of those who may change speeds.
_TOKEN = "VKSSP_SERVER_TOKEN"
#: Options of limits: the attribute of `vkssp.server.limits.Limits`, its default, and what it limits.
_LIMITS = (
    ("coordinates", 500, "coordinates of a route"),
    ("trip", 100, "coordinates of a trip"),
    ("table", 100, "rows and columns of a table, which has at most the square of cells"),
    ("matching", 100, "coordinates of a trace"),
    ("nearest", 100, "streets near a place"),
    ("alternatives", 3, "alternatives to a route"),
    ("contours", 10, "isochrones of a request"),
    ("waiting", 1024, "requests that wait"),
)


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
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1, this machine)")
    parser.add_argument("--port", type=int, default=5000, metavar="N", help="port to listen at (default: 5000)")
    parser.add_argument("--data-version", default="", metavar="TEXT", help="version of the data, which answers name")
    parser.add_argument(
        "--raster",
        default="",
        metavar="URL",
        help="raster tiles behind the streets of the map at /, with {z}, {x}, {y}",
    )
    parser.add_argument("--access-log", action="store_true", help="log every request")
    add_solver(parser)
    group = parser.rare_group("limits of requests (-1: none)")
    for name, default, what in _LIMITS:
        told = f"most {what} (default: {default})"
        group.add_argument(f"--max-{name}", type=int, default=default, metavar="N", help=told)
    group.add_argument("--seconds", type=float, default=60.0, help="seconds of an answer (default: 60)")
    group.add_argument("--origin", default="*", help="origin of web pages that may ask, '' for none (default: *, all)")


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
    files = _named(args.graphs)
    uvicorn = optional("uvicorn", "'vkssp serve' needs", "server")
    for module in ("orjson", "starlette"):
        optional(module, "'vkssp serve' needs", "server")
    from vkssp.reading import read_graph
    from vkssp.routing.router import Router
    from vkssp.server.app import ACCESS, application
    from vkssp.server.dataset import Dataset
    from vkssp.server.limits import Limits

    logging.getLogger(ACCESS).setLevel(logging.INFO if args.access_log else logging.WARNING)
    parameters = solver_parameters(args)
    routers = {
        name: Router(read_graph(file), args.algorithm, args.device, **parameters) for name, file in files.items()
    }
    datasets = {name: Dataset(router, data_version=args.data_version) for name, router in routers.items()}
    limits = Limits(**{name: getattr(args, f"max_{name}") for name, _, _ in _LIMITS}, seconds=args.seconds)
    app = application(datasets, limits, origin=args.origin, token=os.environ.get(_TOKEN, ""), raster=args.raster)
    uvicorn.run(app, host=args.host, port=port, log_level="warning", access_log=False)
    return {"graphs": files}, []
