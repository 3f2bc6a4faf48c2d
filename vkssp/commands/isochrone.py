"""Subcommand ``vkssp isochrone``."""

from __future__ import annotations

import argparse
import math
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from vkssp.choices import DEFAULT_WIDTH_M
from vkssp.commands.common import (
    AREA_OUTPUT,
    PLACE_FILES,
    Result,
    add_graph,
    add_map,
    add_output,
    add_solver,
    check_outputs,
    is_watched,
    latlon,
    load,
    map_tiles,
    numbers,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid
from vkssp.commands.workers import add_scheduler, check_scheduler, graph_for_workers, workers
from vkssp.errors import QueryError
from vkssp.options import Help, file_name
from vkssp.terminal import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from vkssp.graph import Graph
    from vkssp.routing.isochrone import Isochrone
    from vkssp.routing.places_file import Ends

SUMMARY = "compute the areas within given times from a place, or to it"
EXAMPLE = "vkssp isochrone andorra.graph --from 42.5075,1.5218 --minutes 5,10,15 --map isochrones.html"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    origins = parser.one_of(required=True)
    origins.add_argument("--from", dest="origin", type=latlon, metavar="LAT,LON", help="place where trips begin")
    origins.add_argument(
        "--to",
        dest="destination",
        type=latlon,
        metavar="LAT,LON",
        help="place where trips end: from where it is reached",
    )
    origins.add_argument(
        "--places",
        metavar="P.csv",
        type=file_name,
        help=Help("many places (columns lat,lon, perhaps id)", f": {PLACE_FILES}; needs --output"),
    )
    limits = parser.one_of(required=True)
    limits.add_argument("--minutes", type=numbers, metavar="M,M", help="minutes, such as 5,10,15")
    limits.add_argument("--limits", type=numbers, metavar="W,W", help="weights, for graphs without durations")
    limits.add_argument("--metres", type=numbers, metavar="M,M", help="metres of road, such as 500,1000")
    parser.add_argument("--reverse", action="store_true", help="trips to each of the places count; for --places")
    parser.add_argument(
        "--width",
        type=float,
        default=DEFAULT_WIDTH_M,
        metavar="METRES",
        help=Help(f"land beside a road that counts (default: {DEFAULT_WIDTH_M:.0f})", ", from 1 to 10000"),
    )
    add_avoid(parser)
    add_output(parser, "OUT", "write the areas (such as .geojson, .kml, .gpkg)", ".geojson", details=AREA_OUTPUT)
    add_map(parser)
    add_solver(parser)
    add_scheduler(parser, "compute the areas of --places, some places each")


def run(args: argparse.Namespace) -> Result:
    """Find the isochrones of one or many places, and write the requested files."""
    from vkssp.features.quantities import format_distance
    from vkssp.graph.metric import duration
    from vkssp.routing.formatting import format_query
    from vkssp.routing.isochrone import check_isochrones_ending, write_isochrones
    from vkssp.routing.map import write_isochrone_map
    from vkssp.routing.router import Router

    check_outputs(args, output=None, map="HTML")
    tiles = map_tiles(args)
    check_scheduler(args)
    if args.scheduler is not None and args.places is None:
        raise QueryError("--scheduler is for many places; give --places, or leave it out")
    if args.output is not None:
        check_isochrones_ending(args.output)
    if args.reverse and args.places is None:
        raise QueryError("--reverse is for --places; give --to in place of --from")
    reverse = args.reverse or args.destination is not None
    parameters = solver_parameters(args)
    places = None if args.places is None else _places(args)
    graph = load(args)
    timed = duration(graph, 1) is not None
    if args.metres is None and (args.minutes is None) == timed:
        have, use = ("durations", "--minutes") if timed else ("no durations", "--limits")
        raise QueryError(f"the weights of this graph are {have}; use {use}")
    for option, values in (("--minutes", args.minutes), ("--metres", args.metres)):
        if not all(0 < value < math.inf for value in values or ()):
            raise QueryError(f"{option} is {','.join(f'{value:g}' for value in values)}; give numbers above 0")
    metric = "duration" if args.metres is None else "distance"
    limits = args.metres or args.limits or [60.0 * limit for limit in args.minutes]
    if args.scheduler is not None:
        assert places is not None
        return _by_workers(args, graph, places, limits, {**parameters, "metric": metric, "avoid": args.avoid})
    began = time.perf_counter()
    with Router(graph, args.algorithm, args.device, metric=metric, avoid=args.avoid, **parameters) as router:
        ready = time.perf_counter()
        if places is None:
            found = router.isochrones(args.destination or args.origin, limits, args.width, reverse=reverse)
        else:
            with naming_lines({"places": places.lines}):
                made = router.isochrones_of_each(places.places or [], limits, args.width, reverse=args.reverse)
                each = _write_each(args, made, places)
        answering, algorithm = router.solver.answered_by
        device = answering.info.name
    milliseconds = 1e3 * (time.perf_counter() - ready)
    result: dict[str, Any] = {
        "reverse": reverse,
        "device": device,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "query_ms": milliseconds,
    }
    if places is not None:
        rate = f"{1e3 * len(each) / milliseconds:,.1f} places per second"
        lines = [f"places    {len(each):,}, {rate} with {algorithm}", f"device    {device}", f"wrote     {args.output}"]
        return {"places": each, **result, "output": args.output}, lines
    result["isochrones"] = [one.figures for one in found]
    lines = []
    for one in found:
        lines.append(f"{one.label:>12}  {format_distance(one.road_m)} of road")
    lines += [f"device    {device}", f"query     {milliseconds:.1f} ms with {algorithm}"]
    if args.output:
        write_isochrones(args.output, found)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map:
        facts = {"Device": device, "Algorithm": algorithm, "Query time": format_query(milliseconds)}
        write_isochrone_map(args.map, graph, found, facts=facts, tiles=tiles)
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines


def _write_each(args: argparse.Namespace, made: Iterable[Sequence[Isochrone]], places: Ends) -> list[dict[str, Any]]:
    """Write the isochrones of each place, and return their figures."""
    from vkssp.routing.isochrone import write_isochrones_of_each

    figures: list[dict[str, Any]] = []

    def told() -> Iterator[Sequence[Isochrone]]:
        bar = progress_bar(made, shown=is_watched(args), total=len(places.ids), unit=" places")
        for name, found in zip(places.ids, bar, strict=True):
            figures.append({"place": name, "isochrones": [one.figures for one in found]})
            yield found

    write_isochrones_of_each(args.output, told(), places.ids)
    return figures


def _by_workers(
    args: argparse.Namespace, graph: Graph, places: Ends, limits: Sequence[float], parameters: dict[str, Any]
) -> Result:
    """Let the workers of a cluster find the isochrones of many places, and write them."""
    from vkssp.dask.isochrones import isochrones_in_order, isochrones_question

    with workers(args) as client:
        asked = places.places, limits, args.width, args.reverse, args.algorithm, parameters
        began, question = time.perf_counter(), isochrones_question(graph_for_workers(args, graph), *asked)
        with closing(isochrones_in_order(question, client)) as made, naming_lines({"places": places.lines}):
            each = _write_each(args, made, places)
    seconds = time.perf_counter() - began
    result = {"places": each, "reverse": args.reverse, "scheduler": args.scheduler, "query_ms": 1e3 * seconds}
    rate = f"{len(each) / seconds:,.1f} places per second by workers of {args.scheduler}"
    return {**result, "output": args.output}, [f"places    {len(each):,}, {rate}", f"wrote     {args.output}"]


def _places(args: argparse.Namespace) -> Ends:
    from vkssp.routing.places_file import read_ends

    if args.map is not None or args.output is None:
        raise QueryError("--places needs --output and has no --map; give --output FILE.geojson, or one place by --from")
    places = read_ends(args.places)
    if places.places is None:
        raise QueryError(f"{args.places} has nodes; give places, with columns lat and lon")
    return places
