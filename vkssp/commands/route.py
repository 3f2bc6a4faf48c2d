"""The subcommand ``vkssp route``."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    Result,
    add_graph,
    add_json,
    add_solver,
    latlon,
    load,
    solver_parameters,
)
from vkssp.commands.routing import add_avoid, check_outputs
from vkssp.routing.metric import METRICS

if TYPE_CHECKING:
    from vkssp.routing.route import Step

SUMMARY = "find the best route between two places"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)
    add_graph(parser)
    parser.add_argument("--from", dest="origin", type=latlon, required=True, metavar="LAT,LON", help="where it begins")
    parser.add_argument("--to", dest="destination", type=latlon, required=True, metavar="LAT,LON", help="where it ends")
    parser.add_argument(
        "--via",
        type=latlon,
        action="append",
        default=[],
        metavar="LAT,LON",
        help="a place to pass on the way; may be repeated, in the order of travel",
    )
    parser.add_argument(
        "--continue-straight",
        action=argparse.BooleanOptionalAction,
        help="pass via points without turning round there, where the way can go on (default: where the graph knows of "
        "turns)",
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="duration",
        help="what to make least: durations, or whatever the graph's weights are, or distances (default: duration)",
    )
    add_avoid(parser)
    parser.add_argument("--steps", action="store_true", help="say what to do along the way")
    parser.add_argument("--output", metavar="R.geojson", help="write the route as GeoJSON")
    parser.add_argument("--map", metavar="R.html", help="write a map that opens without a network")
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Find a route and write it where asked."""
    from vkssp.routing.geojson import places_of, write_geojson
    from vkssp.routing.map import write_map
    from vkssp.routing.router import Router
    from vkssp.routing.words import format_distance, format_duration

    check_outputs(args)
    parameters = solver_parameters(args)
    graph = load(args)
    with Router(graph, args.algorithm, args.device, metric=args.metric, avoid=args.avoid, **parameters) as router:
        found = router.route(
            args.origin,
            args.destination,
            via=args.via,
            steps=args.steps,
            continue_straight=args.continue_straight,
        )
        driver = router.solver.device.info.driver
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
    places = places_of(found)
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
    assert found.distance_m is not None
    lines.append(
        "distance  "
        + _with_legs(format_distance(found.distance_m), [format_distance(leg.distance_m) for leg in found.legs])
    )
    if found.duration_s is None:
        lines.append("weight    " + _with_legs(f"{found.weight:,}", [f"{leg.weight:,}" for leg in found.legs]))
    else:
        legs = [format_duration(leg.duration_s or 0.0) for leg in found.legs]
        lines.append("duration  " + _with_legs(format_duration(found.duration_s), legs))
    if args.steps:
        result["steps"] = [
            {"leg": number, **dataclasses.asdict(step)}
            for number, leg in enumerate(found.legs, 1)
            for step in leg.steps
        ]
        lines += ["", *map(_step_line, found.steps), ""]
    lines.append(f"device    {found.device}")
    lines.append(f"query     {found.query_ms:.1f} ms with {found.algorithm}")
    if args.output:
        write_geojson(args.output, found)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map:
        write_map(args.map, graph, found)
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines


def _with_legs(whole: str, legs: list[str]) -> str:
    """Return a figure of a route with those of its legs, where there are several."""
    return f"{whole} ({' + '.join(legs)})" if len(legs) > 1 else whole


def _step_line(step: Step) -> str:
    """Return a step as a line for a terminal, with how far it is to the next one."""
    from vkssp.routing.words import format_distance

    far = "" if step.type == "arrive" else format_distance(step.distance_m)
    return f"{far:>8}  {step.instruction}"
