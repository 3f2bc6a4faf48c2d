"""The subcommand ``vkssp route``."""

from __future__ import annotations

import argparse
from typing import Any

from vkssp.commands.common import (
    Result,
    add_graph,
    add_json,
    add_solver,
    latlon,
    load,
    solver_parameters,
)

SUMMARY = "find the best route between two places"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)
    add_graph(parser)
    parser.add_argument("--from", dest="origin", type=latlon, required=True, metavar="LAT,LON", help="where it begins")
    parser.add_argument("--to", dest="destination", type=latlon, required=True, metavar="LAT,LON", help="where it ends")
    parser.add_argument("--output", metavar="R.geojson", help="write the route as GeoJSON")
    parser.add_argument("--map", metavar="R.html", help="write a map that opens without a network")
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Find a route and write it where asked."""
    from vkssp.routing.geojson import write_geojson
    from vkssp.routing.map import format_distance, format_duration, write_map
    from vkssp.routing.router import Router
    from vkssp.storage import check_writable

    if args.output:
        check_writable(args.output, args.graph, args.map)
    if args.map:
        check_writable(args.map, args.graph)
    parameters = solver_parameters(args)
    graph = load(args)
    with Router(graph, args.algorithm, args.device, **parameters) as router:
        found = router.route(args.origin, args.destination)
        driver = router.solver.device.info.driver
    places = {"from": found.origin, "to": found.destination}
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
    lines = []
    for name, place in places.items():
        assert place is not None
        result[name] = {
            "lat": place.lat,
            "lon": place.lon,
            "snapped_lat": place.snapped_lat,
            "snapped_lon": place.snapped_lon,
            "snapped_m": place.snapped_m,
            "name": place.name,
        }
        street = f" on {place.name}" if place.name else ""
        lines.append(f"{name:9} {place.lat:.5f},{place.lon:.5f}{street}, {place.snapped_m:.0f} m from the road")
    assert found.distance_m is not None
    lines.append(f"distance  {format_distance(found.distance_m)}")
    if found.duration_s is None:
        lines.append(f"weight    {found.weight:,}")
    else:
        lines.append(f"duration  {format_duration(found.duration_s)}")
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
