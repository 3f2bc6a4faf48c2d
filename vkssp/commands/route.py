"""Subcommand ``vkssp route``."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    ROUTE_OUTPUT,
    Result,
    add_graph,
    add_map,
    add_output,
    add_solver,
    check_outputs,
    latlon,
    load,
    map_tiles,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser, Repeated
from vkssp.commands.routing import add_avoid, add_continue_straight, add_metric
from vkssp.errors import QueryError
from vkssp.options import Help

if TYPE_CHECKING:
    from vkssp.route import Route, Step

SUMMARY = "find the best route between two places"
EXAMPLE = "vkssp route andorra.graph --from 42.5075,1.5218 --to 42.5430,1.7340 --map route.html"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--from", dest="origin", type=latlon, required=True, metavar="LAT,LON", help="place where the route begins"
    )
    parser.add_argument(
        "--to", dest="destination", type=latlon, required=True, metavar="LAT,LON", help="place where the route ends"
    )
    parser.add_argument(
        "--via",
        type=latlon,
        action=Repeated,
        default=[],
        metavar="LAT,LON",
        help=Help("place to pass; may be repeated", ", in the order of travel"),
    )
    parser.add_argument(
        "--alternatives", type=int, metavar="N", help=Help("find up to N other good routes, too", "; not with --via")
    )
    add_metric(parser)
    add_avoid(parser)
    parser.add_argument("--steps", action="store_true", help="print the instructions along the route")
    add_output(parser, "OUT", "write the route (such as .geojson, .gpx, .gpkg)", ".geojson", details=ROUTE_OUTPUT)
    add_map(parser)
    add_solver(parser)
    add_continue_straight(parser)


def run(args: argparse.Namespace) -> Result:
    """Find a route, and write the requested files."""
    from vkssp.features.features import Features
    from vkssp.features.files import write_layers
    from vkssp.features.quantities import format_distance, format_duration
    from vkssp.route_file import check_route_ending
    from vkssp.routing.map import write_map
    from vkssp.routing.router import Router

    check_outputs(args, output=None, map="HTML")
    tiles = map_tiles(args)
    if args.output is not None:
        check_route_ending(args.output)
    if args.alternatives is not None and (args.via or args.continue_straight is not None):
        raise QueryError("--alternatives is for a route without via points; leave --via and --continue-straight out")
    parameters = solver_parameters(args)
    graph = load(args)
    with Router(graph, args.algorithm, args.device, metric=args.metric, avoid=args.avoid, **parameters) as router:
        others: list[Route] = []
        if args.alternatives is None:
            found = router.route(
                args.origin, args.destination, via=args.via, steps=args.steps, continue_straight=args.continue_straight
            )
        else:
            found, *others = router.alternatives(args.origin, args.destination, args.alternatives, steps=args.steps)
        driver = router.solver.answered_by[0].info.driver
    result: dict[str, Any] = {
        "distance_m": found.distance_m,
        "duration_s": found.duration_s,
        "weight": found.weight,
        "arcs": len(found.arcs),
        "device": found.device,
        "driver": driver,
        "algorithm": found.algorithm,
        "query_ms": found.query_ms,
    }
    places = found.places
    result["from"], *vias, result["to"] = map(dataclasses.asdict, places)
    if vias:
        result["via"] = vias
        result["legs"] = [
            {"distance_m": leg.distance_m, "duration_s": leg.duration_s, "weight": leg.weight} for leg in found.legs
        ]
    lines = []
    for name, place in zip(("from", *("via" for _ in vias), "to"), places, strict=True):
        street = f" on {place.name}" if place.name else ""
        lines.append(f"{name:9} {place.lat:.5f},{place.lon:.5f}{street}, {place.snapped_m:.0f} m from the road")
    figures = {"distance": [format_distance(metres or 0.0) for metres in _figure(found, "distance_m")]}
    if found.duration_s is None:
        figures["weight"] = [f"{weight:,.0f}" for weight in _figure(found, "weight")]
    else:
        figures["duration"] = [format_duration(seconds or 0.0) for seconds in _figure(found, "duration_s")]
    for name, (whole, *of_legs) in figures.items():
        lines.append(f"{name:9} {whole}" + (f" ({' + '.join(of_legs)})" if vias else ""))
    if args.alternatives is not None:
        keys = ("distance_m", "duration_s", "weight")
        result["alternatives"] = [{key: getattr(other, key) for key in keys} for other in others]
        for other in others:
            far = f"{other.weight:,.0f}" if other.duration_s is None else format_duration(other.duration_s)
            lines.append(f"or        {format_distance(other.distance_m or 0.0)}, {far}")
    if args.steps:
        result["steps"] = [
            {"leg": number, **step.properties, **{key: getattr(step, key) for key in ("lat", "lon", "first", "last")}}
            for number, leg in enumerate(found.legs, 1)
            for step in leg.steps
        ]
        lines += ["", *map(_step_line, found.steps), ""]
    lines.append(f"device    {found.device}")
    lines.append(f"query     {found.query_ms:.1f} ms with {found.algorithm}")
    if args.output:
        if others:
            write_layers(args.output, [Features.of([found, *others], "routes")])
        else:
            found.write(args.output)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map:
        write_map(args.map, graph, found, tiles=tiles)
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines


def _figure(route: Route, name: str) -> list[float | None]:
    """Return an attribute of a route, then of its legs."""
    return [getattr(part, name) for part in (route, *route.legs)]


def _step_line(step: Step) -> str:
    """Return a step as a line for a terminal, with the distance to the next step."""
    from vkssp.features.quantities import format_distance

    far = "" if step.type == "arrive" else format_distance(step.distance_m)
    return f"{far:>8}  {step.instruction}"
