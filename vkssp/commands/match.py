"""Subcommand ``vkssp match``."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from vkssp.choices import GAPS, MAX_SPEED_KMH
from vkssp.commands.common import (
    ROUTE_OUTPUT,
    Result,
    add_graph,
    add_output,
    add_solver,
    check_outputs,
    load,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid, add_metric
from vkssp.options import Help, file_name

SUMMARY = "find the route of a trace of inaccurate positions"
EXAMPLE = "vkssp match andorra.graph --trace drive.gpx --output matched.geojson"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--trace",
        dest="positions",
        required=True,
        type=file_name,
        metavar="T.gpx",
        help=Help(
            "the track of a .gpx file, or a .csv (lat,lon, perhaps time,radius)",
            "; time is in seconds or ISO 8601, radius in metres; or another file of points",
        ),
    )
    parser.add_argument(
        "--radius", type=float, metavar="METRES", help="standard deviation of positions (default: 5, or as in the file)"
    )
    parser.add_argument(
        "--gaps", choices=GAPS, default=GAPS[0], help="whether long gaps in time split the trace (default: split)"
    )
    parser.add_argument("--tidy", action="store_true", help="leave out positions that are close together")
    parser.add_argument(
        "--max-speed",
        type=float,
        default=MAX_SPEED_KMH,
        metavar="KMH",
        help=f"greatest plausible speed in km/h (default: {MAX_SPEED_KMH:.0f})",
    )
    add_metric(parser)
    add_avoid(parser)
    add_output(parser, "OUT", "write the routes (such as .geojson, .gpx, .gpkg)", ".geojson", details=ROUTE_OUTPUT)
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Match a trace, and write the routes."""
    from vkssp.features.quantities import format_distance, format_duration
    from vkssp.routing.matching import check_matching_ending
    from vkssp.routing.router import Router
    from vkssp.routing.trace_file import read_trace

    check_outputs(args, output=None)
    if args.output is not None:
        check_matching_ending(args.output)
    parameters = solver_parameters(args)
    trace = read_trace(args.positions)
    radiuses = trace.radiuses if args.radius is None else args.radius
    with Router(load(args), args.algorithm, args.device, metric=args.metric, avoid=args.avoid, **parameters) as router:
        with naming_lines({"trace": trace.lines}):
            found = router.match(
                *(trace.places, trace.seconds, radiuses), gaps=args.gaps, tidy=args.tidy, max_speed_kmh=args.max_speed
            )
    matched = found.properties["matched"]
    lines = [f"positions {matched:,} of {len(found.tracepoints):,} matched"]
    routes = []
    for route, sure in zip(found.routes, found.confidence, strict=True):
        routes.append(
            {
                "distance_m": route.distance_m,
                "duration_s": route.duration_s,
                "weight": route.weight,
                "confidence": sure,
                "legs": len(route.legs),
            }
        )
        far = f"{route.weight:,.0f}" if route.duration_s is None else format_duration(route.duration_s)
        lines.append(f"route     {format_distance(route.distance_m or 0.0)}, {far}, confidence {sure:.2f}")
    lines.append(f"query     {found.routes[-1].query_ms:.1f} ms")
    points = [None if point is None else dataclasses.asdict(point) for point in found.tracepoints]
    result: dict[str, Any] = {"routes": routes, "tracepoints": points}
    if args.output:
        found.write(args.output)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    return result, lines
