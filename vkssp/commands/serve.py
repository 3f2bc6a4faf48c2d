"""Subcommand ``vkssp serve``."""

from __future__ import annotations

import argparse
import gc
import logging
import math
import os
from pathlib import Path
from typing import Any

from vkssp.commands.common import Result, add_solver, add_tiles, in_traffic, solver_parameters, tiles_of
from vkssp.commands.parser import CommandParser
from vkssp.cores import limit_cores, num_cores
from vkssp.errors import QueryError
from vkssp.extras import optional
from vkssp.options import Help

SUMMARY = "answer requests of OSRM's HTTP API"
EXAMPLE = "vkssp serve car=andorra.graph bike=andorra-bike.graph --port 5000"
#: Environment variable with the token of those who may change speeds.
_TOKEN = "VKSSP_SERVER_TOKEN"
_MOST_PROCESSES, _MOST_THREADS, _MOST_BATCH = 1024, 1024, 256
# Threads of a process whose searches run on a GPU: the requests that wait for it together, for its next batch.
_THREADS_ON_DEVICE = 32
#: Options of limits: the attribute of `vkssp.server.limits.Limits`, its default, and what it limits.
_LIMITS = (
    ("coordinates", 500, "coordinates of a route"),
    ("trip", 100, "coordinates of a trip"),
    ("table", 100, "sources or destinations of a table, whose cells are at most the square of N"),
    ("matching", 100, "coordinates of a trace"),
    ("nearest", 100, "streets that a request for the nearest gets"),
    ("alternatives", 3, "alternatives of a route"),
    ("contours", 10, "contours of a request for isochrones"),
    ("avoid_areas", 50, "areas that a request avoids"),
    ("avoid_points", 2000, "corners of these areas"),
    ("origins", 1000, "origins of a request for accessibility or opportunities"),
    ("opportunities", 10_000, "opportunities of such a request"),
    ("opportunity_weights", 10, "weights of each of them"),
    ("waiting", 1024, "requests that wait in each process"),
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
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help=Help(
            "processes that answer, which share the memory of the graphs",
            " (default: on the CPU as many as there are cores; on a GPU 1, and each further one takes the GPU's memory "
            "once more and needs --device)",
        ),
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help=Help(
            "threads of each process",
            f" (default: its share of the cores; on a GPU, which searches for several at once, {_THREADS_ON_DEVICE})",
        ),
    )
    parser.add_argument(
        "--data-version", default="", metavar="TEXT", help="version of the data, the member data_version of answers"
    )
    parser.add_argument(
        "--live-map",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=Help(
            "a map for browsers at / (default: yes)",
            f"; speeds change there, and by POST /speeds, with the token in the environment variable {_TOKEN}",
        ),
    )
    parser.add_argument("--access-log", action="store_true", help="log every request")
    add_tiles(parser)
    add_solver(parser)
    group = parser.rare_group("limits of requests (-1: no limit, except of --max-waiting, --max-batch and --seconds)")
    for name, default, what in _LIMITS:
        told = f"most {what} (default: {default})"
        group.add_argument(f"--max-{name.replace('_', '-')}", type=int, default=default, metavar="N", help=told)
    group.add_argument(
        "--default-radius",
        type=float,
        default=-1.0,
        metavar="METRES",
        help="largest distance of a place from its street, if a request has no radiuses (default: -1, any)",
    )
    group.add_argument(
        "--small-component-size",
        type=int,
        default=1000,
        metavar="N",
        help="components of the network with fewer streets are small: places are snapped past them if the places of a "
        "request are in several components (default: 1000; 0: none is small)",
    )
    group.add_argument(
        "--max-batch",
        type=int,
        default=_MOST_BATCH,
        metavar="N",
        help=f"most searches that a GPU makes together; 1: each search alone (default: {_MOST_BATCH})",
    )
    group.add_argument("--seconds", type=float, default=60.0, help="most seconds that an answer may take (default: 60)")
    group.add_argument(
        "--origin", default="*", help="origin of web pages that may send requests (CORS); '': none (default: *, all)"
    )


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
    from vkssp.log import logger

    port = whole_number(args.port, "port", 0, 65535)
    most = whole_number(args.max_batch, "max_batch", 1, _MOST_BATCH)
    whole_number(args.max_waiting, "max_waiting", 1, 10**9)
    if not args.seconds > 0:
        raise QueryError(f"seconds is {args.seconds:g}; give a number of more than 0")
    wanted = None if args.threads is None else whole_number(args.threads, "threads", 1, _MOST_THREADS)
    files, tiles = _named(args.graphs), tiles_of(args)
    if tiles is not None and not args.live_map:
        raise QueryError("--tiles is for the live map, and there is none; leave it or --no-live-map out")
    uvicorn = optional("uvicorn", "'vkssp serve' needs", "server")
    for module in ("orjson", "starlette"):
        optional(module, "'vkssp serve' needs", "server")
    from vkssp.algorithm import AUTO, CPU
    from vkssp.algorithms.choice import is_cpu
    from vkssp.reading import read_graph
    from vkssp.routing.router import Router
    from vkssp.server.app import ACCESS, application
    from vkssp.server.dataset import SNAPPING, Dataset
    from vkssp.server.limits import Limits
    from vkssp.server.metrics import Metrics, shared_figures
    from vkssp.server.processes import Change, Serving, in_child, listen, serve
    from vkssp.server.protocol import at_once
    from vkssp.server.speed_changes import joined_changes
    from vkssp.server.warming import warm_up

    logging.getLogger(ACCESS).setLevel(logging.INFO if args.access_log else logging.WARNING)
    parameters, radius = solver_parameters(args), math.inf if args.default_radius < 0 else args.default_radius
    # Several processes on a GPU: the first one opens no device, since a driver does not survive a fork.
    is_apart = args.device is not None and not is_cpu(args.device) and (args.processes or 1) > 1
    on = (AUTO, CPU, {}) if is_apart else (args.algorithm, args.device, parameters)
    snapping = {**SNAPPING, "small_component_size": args.small_component_size, "radius_m": radius}
    graphs = {name: in_traffic(args, read_graph(file)) for name, file in files.items()}
    routers = {name: Router(graph, on[0], on[1], **snapping, **on[2]) for name, graph in graphs.items()}
    datasets = {name: Dataset(router, data_version=args.data_version) for name, router in routers.items()}
    on_cpu = not is_apart and all(dataset.is_on_cpu for dataset in datasets.values())
    processes = _processes(args.processes, on_cpu or is_apart)
    limits = Limits(**{name: getattr(args, f"max_{name}") for name, _, _ in _LIMITS}, seconds=args.seconds)
    logger(__name__).info("loading compiled code, which the first start on a machine makes in a minute or two")
    for dataset in datasets.values():
        warm_up(dataset)
    gc.collect()
    gc.freeze()  # what is there now stays, so that no collection looks at it or, in a fork, writes to its memory
    figures = shared_figures(processes)
    cores = max(1, num_cores() // processes)
    threads = wanted or (cores if on_cpu else max(cores, _THREADS_ON_DEVICE))
    origin, token = args.origin, os.environ.get(_TOKEN, "")

    def on_device() -> dict[str, Dataset]:
        found = {name: router.on_device(args.device, args.algorithm, **parameters) for name, router in routers.items()}
        return {name: Dataset(router, data_version=args.data_version) for name, router in found.items()}

    if is_apart:
        in_child(on_device)  # so that an error is told once, before processes try it again and again

    def make(ask_all: Change | None, number: int) -> tuple[Any, Change]:
        limit_cores(cores)
        served = on_device() if is_apart else datasets
        batchings = [batching for dataset in served.values() for batching in dataset.batchings]
        for batching in batchings:
            batching.most = most
        if is_apart:
            for dataset in served.values():
                warm_up(dataset)
        app = application(
            served,
            limits,
            threads=threads,
            in_loop=True,
            origin=origin,
            token=token,
            live_map=args.live_map,
            tiles=tiles,
            metrics=Metrics(figures, number, () if on_cpu else batchings),
            ask_all=ask_all,
        )
        return app, app.change

    def tell() -> None:
        logger(__name__).info("ready: %s at http://%s:%d", ", ".join(files), args.host, port)

    if processes == 1:
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        app, _ = make(None, 0)
        protocol = at_once(AutoHTTPProtocol, app)
        tell()
        uvicorn.run(app, host=args.host, port=port, log_level="warning", access_log=False, http=protocol)
        return {"graphs": files}, []
    try:
        listening = listen(args.host, port)
    except OSError as error:
        raise QueryError(f"cannot listen at {args.host}:{port}: {error}; give another --host or --port") from error
    serve(listening, make, Serving(processes), tell, joined_changes)
    return {"graphs": files}, []


def _processes(given: int | None, may_fork: bool) -> int:
    """Return the number of processes, given that which was asked for, and whether no device is open."""
    from vkssp.checks import whole_number

    several = may_fork and hasattr(os, "fork")
    if given is None:
        return num_cores() if several else 1
    count = whole_number(given, "processes", 1, _MOST_PROCESSES)
    if count > 1 and not several:
        raise QueryError(
            f"there cannot be {count} processes, since these need a system that forks, and a device that is named; "
            "give --processes 1, or --device cpu, or --device with the name or number of a GPU"
        )
    return count
