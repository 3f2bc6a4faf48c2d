"""What each subcommand does: from parsed arguments to a result for programs and lines for people."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import DeviceError, FormatError, QueryError
from vkssp.graph import UNREACHABLE, Graph
from vkssp.options import reading
from vkssp.reading import read_graph
from vkssp.streets import Streets

#: What a command returns: an object for JSON, and lines for a terminal.
Result = tuple[dict[str, Any], list[str]]


def devices(args: argparse.Namespace) -> Result:
    """List the Vulkan devices."""
    from vkssp.gpu.device import Device
    from vkssp.gpu.instance import choose, list_devices

    found, default, trouble = list_devices(), -1, ""
    try:
        default = choose(found, Device.selected()).index
    except DeviceError as error:  # a wrong VKSSP_DEVICE, say, which this list is there to mend
        trouble = str(error)
    lines = []
    for device in found:
        mark = "*" if device.index == default else " "
        lines.append(f"{mark} {device.index}  {device.name}  ({device.kind}, {device.memory / 2**30:.1f} GiB)")
        lines.append(f"     {device.driver}, Vulkan {device.api_version}, subgroups of {device.limits.subgroup_size}")
        if device.unusable:
            lines.append(f"     cannot be used: {device.unusable}")
    if default >= 0:
        lines.append("The one with the star is used unless --device or VKSSP_DEVICE says otherwise.")
    if trouble:
        lines.append(f"None is used by default: {trouble}")
    described = [{**dataclasses.asdict(d), "features": sorted(d.features)} for d in found]
    return {"devices": described, "default": default}, lines


def algorithms(args: argparse.Namespace) -> Result:
    """List the algorithms."""
    from vkssp.solvers import ALGORITHMS
    from vkssp.solvers.choice import AUTO, DEFAULT_ALGORITHM, algorithm_named

    if args.name == AUTO:
        raise QueryError("auto is the algorithm of this list that fits the graph best; leave NAME out to see the list")
    chosen = [algorithm_named(args.name)] if args.name else list(ALGORITHMS.values())
    described, lines = [], []
    for algorithm in chosen:
        description = algorithm.DESCRIPTION
        where = "device" if algorithm.RUNS_ON == "device" else "CPU"
        early = "ends early at a target" if description.ends_early else "goes to the end for a target, too"
        lines += [f"{algorithm.NAME}  ({where}; {early})"]
        lines += textwrap.wrap(description.idea, 112, initial_indent="    ", subsequent_indent="    ")
        for name, text in (("use", description.use), ("work", description.complexity), ("source", description.source)):
            lines += textwrap.wrap(f"{name:8}{text}", 112, initial_indent="    ", subsequent_indent=" " * 12)
        for parameter in algorithm.PARAMETERS:
            value = "chosen" if parameter.default is None else f"{parameter.default}"
            span = f"{parameter.low} to {parameter.high}" + (", powers of two" if parameter.power_of_two else "")
            text = f"--set {parameter.name}={value}  {parameter.meaning}; {span}"
            lines += textwrap.wrap(text, 112, initial_indent="    ", subsequent_indent=" " * 12)
        lines.append("")
        described.append(
            {
                "name": algorithm.NAME,
                "runs_on": algorithm.RUNS_ON,
                **dataclasses.asdict(description),
                "parameters": [dataclasses.asdict(parameter) for parameter in algorithm.PARAMETERS],
            }
        )
    if not args.name:
        lines += [f"The default is {DEFAULT_ALGORITHM}, which chooses the fastest of them for a graph.", ""]
    return {"algorithms": described, "default": DEFAULT_ALGORITHM}, lines[:-1]


def import_graph(args: argparse.Namespace) -> Result:
    """Import an extract, or read or generate another graph, and save it."""
    from vkssp.generate import is_expression
    from vkssp.osm import import_extract, is_extract
    from vkssp.reading import is_saved
    from vkssp.storage import check_writable

    check_writable(args.output, args.extract)
    if is_extract(args.output):
        raise FormatError(f"{args.output} is named like an extract, so nobody could read it as a graph; name it .graph")
    if not is_extract(args.extract) and (is_expression(args.extract) or not is_saved(args.extract)):
        graph = _graph(args, args.extract)
        graph.save(args.output)
        size = {"nodes": graph.num_nodes, "arcs": graph.num_arcs}
        return {**size, "output": args.output}, [
            f"{graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs",
            f"wrote {args.output}",
        ]
    graph, report = import_extract(
        args.extract,
        profile=args.profile,
        progress=_watched(args),
        simplify=not args.all_nodes,
        turns=args.turns,
    )
    graph.save(args.output)
    return {**report.as_dict(), "output": args.output}, [*report.lines(), f"wrote {args.output}"]


def info(args: argparse.Namespace) -> Result:
    """Say what a graph holds."""
    graph = _graph(args)
    degree = graph.first_out[1:] - graph.first_out[:-1]
    result: dict[str, Any] = {
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "largest_degree": int(degree.max(initial=0)),
        "weight": None,
        "bounds": None,
        "streets": None,
    }
    lines = [f"{graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs, at most {result['largest_degree']:,} from one node"]
    if graph.num_arcs:
        weight = graph.weight
        stats = {"least": int(weight.min()), "mean": float(weight.mean()), "largest": int(weight.max())}
        result["weight"] = stats
        lines.append(f"weights {stats['least']:,} to {stats['largest']:,}, {stats['mean']:,.1f} on average")
    if graph.lat is not None and graph.lon is not None and graph.num_nodes:
        south, north = float(graph.lat.min()), float(graph.lat.max())
        west, east = float(graph.lon.min()), float(graph.lon.max())
        result["bounds"] = {"south": south, "west": west, "north": north, "east": east}
        lines.append(f"from LAT,LON {south:.5f},{west:.5f} to {north:.5f},{east:.5f}")
    streets = graph.streets
    if streets is not None:
        # With costs of turns an arc is there once for each turn into it.
        once = _each_street_once(streets) if streets.turns == "costs" else slice(None)
        named = int(np.count_nonzero(streets.name[once]))
        kilometres = float(streets.length[once].sum(dtype=np.float64)) / 1000
        result["streets"] = {
            "arc_kilometres": kilometres,
            "polylines": len(streets.polyline_first) - 1,
            "points": len(streets.points),
            "names": len(streets.names) - 1,
            "named_arcs": named,
            "seconds_per_weight": streets.seconds_per_weight,
            "turns": streets.turns,
        }
        lines.append(
            f"{kilometres:,.0f} km of arcs along {len(streets.polyline_first) - 1:,} streets with "
            f"{len(streets.points):,} points; {len(streets.names) - 1:,} names"
        )
        if streets.junction is not None:
            places = len(np.unique(streets.junction))
            what = "obeys turn restrictions" if streets.turn is None else "obeys turn restrictions, and turns take time"
            lines.append(f"{what}: the nodes stand for {places:,} places")
    return result, lines


def _each_street_once(streets: Streets) -> npt.NDArray[np.int64]:
    """Return one arc for each polyline and direction."""
    _, arcs = np.unique(streets.polyline.astype(np.int64) * 2 + streets.backward, return_index=True)
    return arcs


def route(args: argparse.Namespace) -> Result:
    """Find a route and write it where asked."""
    from vkssp.routing.geojson import write_geojson
    from vkssp.routing.map import format_distance, format_duration, write_map
    from vkssp.routing.router import Router
    from vkssp.storage import check_writable

    if args.output:
        check_writable(args.output, args.graph, args.map)
    if args.map:
        check_writable(args.map, args.graph)
    parameters = _parameters(args)
    graph = _graph(args)
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


def distances(args: argparse.Namespace) -> Result:
    """Find the distances from one node."""
    from vkssp.solver import Solver
    from vkssp.storage import atomic_write, check_writable

    if args.output:
        check_writable(args.output, args.graph, args.trace)
    if args.trace:
        check_writable(args.trace, args.graph)
    parameters = _parameters(args)
    counters = "trace" if args.trace else args.counters
    graph = _graph(args)
    with Solver(graph, args.algorithm, args.device, counters=counters, **parameters) as solver:
        began = time.perf_counter()
        found = solver.distances(args.source)
        milliseconds = 1e3 * (time.perf_counter() - began)
        device, outcome, timings = solver.device.info, solver.last, solver.timings
        algorithm, core_nodes = solver.algorithm, solver.core_nodes
        trace = solver.trace() if args.trace else None
    assert outcome is not None and timings.download_ms is not None
    reached = found[found != UNREACHABLE]
    result: dict[str, Any] = {
        "source": args.source,
        "reached": len(reached),
        "nodes": graph.num_nodes,
        "largest": int(reached.max()),
        "device": device.name,
        "driver": device.driver,
        "algorithm": algorithm,
        "core_nodes": core_nodes,
        "query_ms": milliseconds,
        "device_ms": outcome.device_ms,
        "timings": dataclasses.asdict(timings),
        "counters": outcome.counters,
    }
    lines = [
        f"{len(reached):,} of {graph.num_nodes:,} nodes reached from {args.source}, the farthest at {reached.max():,}",
        f"device    {device.name}",
        f"query     {milliseconds:.1f} ms with {algorithm}: {outcome.device_ms:.1f} on the device, "
        f"{timings.download_ms:.1f} to download",
        f"before    {timings.setup_ms:.0f} ms to set up, {timings.upload_ms:.1f} to upload",
        "counted   " + ", ".join(f"{count:,} {name}" for name, count in outcome.counters.items()),
    ]
    if core_nodes is not None:
        lines.insert(-1, f"searched  {core_nodes:,} nodes that a reduction left; what is counted, or traced, is theirs")
    if trace is not None:
        with atomic_write(args.trace) as stream:
            stream.write((",".join(trace.dtype.names or ()) + "\n").encode())
            np.savetxt(stream, trace.view(np.uint32).reshape(len(trace), -1), fmt="%d", delimiter=",")
        result["trace"] = args.trace
        lines.append(f"wrote     {args.trace}")
    if args.output:
        with atomic_write(args.output) as stream:
            np.save(stream, found, allow_pickle=False)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    return result, lines


def nearest(args: argparse.Namespace) -> Result:
    """Find the streets near a place."""
    from vkssp.routing.places import nearest_places
    from vkssp.routing.snap import StreetIndex

    found = nearest_places(StreetIndex(_graph(args)), args.place, args.number)
    lines = [
        f"{place.snapped_lat:.6f},{place.snapped_lon:.6f}  {place.snapped_m:8.1f} m  {place.name}".rstrip()
        for place in found
    ]
    return {"places": [dataclasses.asdict(place) for place in found]}, lines


def isochrone(args: argparse.Namespace) -> Result:
    """Find what can be reached within some times, and write it where asked."""
    from vkssp.routing.isochrone import write_isochrones
    from vkssp.routing.map import format_distance, format_duration
    from vkssp.routing.route import duration
    from vkssp.routing.router import Router
    from vkssp.storage import check_writable

    if args.output:
        check_writable(args.output, args.graph)
    parameters = _parameters(args)
    graph = _graph(args)
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


def bench(args: argparse.Namespace) -> Result:
    """Time algorithms on graphs, or compare times."""
    from vkssp.bench.command import bench

    return bench(args)


def _parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of a solver, those of its algorithm checked before anything is read."""
    from vkssp.solvers.choice import checked

    given = dict(args.set)
    checked(args.algorithm, given)
    return {**given, "order": args.order, "reduction": args.reduction}


def _watched(args: argparse.Namespace) -> bool:
    # A bar in a log file is a thousand lines.
    return not args.json and sys.stderr.isatty()


def _graph(args: argparse.Namespace, path: str | None = None) -> Graph:
    return read_graph(args.graph if path is None else path, progress=_watched(args), **reading(args))


COMMANDS: dict[str, Callable[[argparse.Namespace], Result]] = {
    "devices": devices,
    "algorithms": algorithms,
    "import": import_graph,
    "info": info,
    "route": route,
    "distances": distances,
    "isochrone": isochrone,
    "nearest": nearest,
    "bench": bench,
}
