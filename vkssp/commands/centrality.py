"""Subcommand ``vkssp centrality``."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.commands.common import Result, add_graph, add_json, add_solver, check_outputs, load, solver_parameters
from vkssp.commands.routing import add_metric
from vkssp.errors import QueryError
from vkssp.options import file_name

SUMMARY = "compute how central the nodes of a graph are"
EXAMPLE = "vkssp centrality andorra.graph --measures closeness,betweenness --limit 300 --output centrality.csv"

#: Measures by the solver's `centrality`, and others.
_BY_DISTANCE, _OTHERS = ("closeness", "harmonic", "eccentricity"), ("straightness", "betweenness")
_MEASURES = (*_BY_DISTANCE, *_OTHERS)


def _measures(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in _MEASURES:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(_MEASURES)}")
    return list(dict.fromkeys(names))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_json(parser)
    add_graph(parser)
    parser.add_argument(
        "--measures",
        type=_measures,
        default=["closeness"],
        metavar="NAME,...",
        help=f"{', '.join(_MEASURES)} (default: closeness)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="N",
        help="radius: only nodes up to N count; in seconds, in metres with --metric distance, or in weights if the "
        "graph has no durations",
    )
    add_metric(parser)
    parser.add_argument("--reverse", action="store_true", help="paths to the nodes count, not those from them")
    parser.add_argument(
        "--sample",
        type=int,
        metavar="K",
        help="estimate closeness, harmonic centrality and betweenness by K nodes drawn at random",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default: 0)")
    parser.add_argument(
        "--output",
        type=file_name,
        metavar="OUT",
        help="file to write, with a line for each node (.csv, .npy, .parquet, .geojson)",
    )
    parser.add_argument(
        "--map", type=file_name, metavar="C.html", help="write a map that opens without an internet connection"
    )
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Compute centrality, and write it to a file."""
    from vkssp.graph.metric import measured_by, unit_of
    from vkssp.routing.formatting import format_query
    from vkssp.routing.value_map import write_value_map
    from vkssp.routing.values_file import Rows, check_values_ending, write_values
    from vkssp.solver.centrality import Centrality
    from vkssp.solver.solver import Solver

    if args.output is None and args.map is None:
        raise QueryError("there is nothing to write; give --output or --map")
    if args.output is not None:
        check_values_ending(args.output)
    check_outputs(args, output=None, map="HTML")
    parameters = solver_parameters(args)
    if args.sample is not None and (wrong := {"eccentricity", "straightness"} & set(args.measures)):
        raise QueryError(f"--sample does not estimate {' and '.join(sorted(wrong))}; leave the measure or --sample out")
    if args.reverse and "betweenness" in args.measures:
        raise QueryError("--reverse makes no difference to betweenness; leave one of them out")
    graph = load(args)
    if args.output is not None:
        check_values_ending(args.output, graph)
    if args.map is not None and graph.lat is None:
        raise QueryError("the graph has no coordinates and cannot be drawn; leave --map out")
    unit = unit_of(graph, args.metric)
    limit, per_distance = unit.limit_of_solver(args.limit), unit.per_distance
    searched = (
        graph if args.metric == "duration" else replace(measured_by(graph, args.metric), hierarchy=graph.hierarchy)
    )
    found: dict[str, npt.NDArray[Any]] = {}
    lines = []
    with Solver(searched, args.algorithm, args.device, **parameters) as solver:
        began = time.perf_counter()
        if set(_BY_DISTANCE) & set(args.measures):
            asked: dict[str, Any] = {"limit": limit, "reverse": args.reverse}
            central = solver.centrality(sample=args.sample, seed=args.seed, **asked)
            found["closeness"] = central.closeness / per_distance
            found["harmonic"] = central.harmonic / per_distance
            if isinstance(central, Centrality):
                found["eccentricity"] = central.eccentricity * per_distance
                if len(central.sources):
                    most = central.diameter
                    told = f"{most.distance * per_distance:,.1f} from node {most.source} to {most.target}"
                    lines.append(f"farthest  {told}")
        if "straightness" in args.measures:
            found["straightness"] = solver.straightness(limit=limit, reverse=args.reverse) / per_distance
        if "betweenness" in args.measures:
            between = solver.betweenness(limit=limit, sample=args.sample, seed=args.seed)
            found["betweenness"] = between.nodes * between.scale if args.sample is not None else between.nodes
        milliseconds = 1e3 * (time.perf_counter() - began)
        (answering, algorithm) = solver.answered_by
        device = answering.info.name
    nodes = np.arange(graph.num_nodes, dtype=np.uint32)
    columns = {name: found[name] for name in args.measures}
    result: dict[str, Any] = {
        "nodes": graph.num_nodes,
        "measures": args.measures,
        "device": device,
        "algorithm": algorithm,
        "query_ms": milliseconds,
    }
    lines = [
        f"{', '.join(args.measures)} of {graph.num_nodes:,} nodes",
        *lines,
        f"device    {device}",
        f"query     {milliseconds:.1f} ms with {algorithm}",
    ]
    if args.output is not None:
        write_values(args.output, Rows.of_nodes(graph, nodes), columns)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map is not None:
        facts = {"Device": device, "Algorithm": algorithm, "Query time": format_query(milliseconds)}
        write_value_map(args.map, graph, columns, facts=facts, title=", ".join(args.measures).capitalize())
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines
