"""The subcommand ``vkssp isochrone``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from vkssp.commands.common import (
    Result,
    add_graph,
    add_json,
    add_solver,
    latlon,
    load,
    numbers,
    solver_parameters,
)
from vkssp.errors import QueryError

SUMMARY = "find what can be reached from a place within some times"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)
    add_graph(parser)
    parser.add_argument("--from", dest="origin", type=latlon, required=True, metavar="LAT,LON", help="where it begins")
    limits = parser.add_mutually_exclusive_group(required=True)
    limits.add_argument("--minutes", type=numbers, metavar="M,M", help="minutes, such as 5,10,15")
    limits.add_argument(
        "--limits", type=numbers, metavar="W,W", help="the same in weights, where those are no durations"
    )
    parser.add_argument(
        "--width",
        type=float,
        default=50.0,
        metavar="METRES",
        help="metres to either side of a road that count as reached (default: 50)",
    )
    parser.add_argument("--output", metavar="I.geojson", help="write them as polygons along the roads, GeoJSON")
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Find what can be reached within some times, and write it where asked."""
    from vkssp.routing.isochrone import write_isochrones
    from vkssp.routing.map import format_distance, format_duration
    from vkssp.routing.route import duration
    from vkssp.routing.router import Router
    from vkssp.storage import check_writable

    if args.output:
        check_writable(args.output, args.graph, args.traffic)
    parameters = solver_parameters(args)
    graph = load(args)
    timed = duration(graph, 1) is not None
    if (args.minutes is None) == timed:
        have, use = ("durations", "--minutes") if timed else ("no durations", "--limits")
        raise QueryError(f"the weights of this graph are {have}; use {use}")
    limits = [60.0 * limit for limit in args.minutes] if timed else args.limits
    began = time.perf_counter()
    with Router(graph, args.algorithm, args.device, **parameters) as router:
        ready = time.perf_counter()
        found = router.isochrones(args.origin, limits, args.width)
        device, algorithm = router.solver.device.info.name, router.solver.algorithm
    milliseconds = 1e3 * (time.perf_counter() - ready)
    result: dict[str, Any] = {
        "isochrones": [{"limit": one.limit, "seconds": one.seconds, "road_m": one.road_m} for one in found],
        "device": device,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "query_ms": milliseconds,
    }
    lines = []
    for one in found:
        limit = f"{one.limit:,}" if one.seconds is None else format_duration(one.seconds)
        lines.append(f"{limit:>12}  {format_distance(one.road_m)} of road")
    lines += [f"device    {device}", f"query     {milliseconds:.1f} ms with {algorithm}"]
    if args.output:
        write_isochrones(args.output, found)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    return result, lines
