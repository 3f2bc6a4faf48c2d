"""Subcommand ``vkssp centrality``."""

from __future__ import annotations

import argparse
import math
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    VALUE_OUTPUT,
    Result,
    add_graph,
    add_map,
    add_output,
    add_solver,
    check_outputs,
    load,
    map_tiles,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser
from vkssp.commands.routing import add_metric
from vkssp.commands.workers import Asker, add_scheduler, asking, check_scheduler, graph_for_workers
from vkssp.errors import QueryError
from vkssp.options import Help

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from vkssp.graph import Graph
    from vkssp.graph.metric import Unit
    from vkssp.solver.centrality import Centrality, SampledCentrality
    from vkssp.solver.loads import Betweenness
    from vkssp.solver.solver import Solver

SUMMARY = "compute how central the nodes of a graph are"
EXAMPLE = "vkssp centrality andorra.graph --measures closeness,betweenness --limit 300 --output centrality.csv"

#: Measures by the solver's `centrality`, and others.
_BY_DISTANCE = ("closeness", "harmonic", "eccentricity", "reached", "farness")
_OTHERS = ("straightness", "betweenness")
_MEASURES = (*_BY_DISTANCE, *_OTHERS)
# What the errors of a sample are of.
_ERRORS = {
    "error": "error     of mean distances, over the largest distance:",
    "betweenness_error": "error     of betweenness:",
}


def _measures(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in _MEASURES:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(_MEASURES)}")
    return list(dict.fromkeys(names))


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "--measures",
        type=_measures,
        default=["closeness"],
        metavar="NAME,...",
        help=Help(
            "such as harmonic,betweenness (default: closeness)",
            f"; of {', '.join(_MEASURES)}. reached: number of nodes; farness: sum of their distances. Eccentricity and "
            "farness are in seconds, metres or weights, closeness and harmonic in their reciprocals",
        ),
    )
    radius = parser.one_of()
    radius.add_argument("--minutes", type=float, metavar="M", help="radius: only nodes within M minutes count")
    radius.add_argument(
        "--limit",
        type=float,
        metavar="N",
        help=Help("the same in seconds", "; metres with --metric distance, weights if the graph has no durations"),
    )
    add_metric(parser)
    parser.add_argument("--reverse", action="store_true", help="paths to the nodes count, not from them")
    parser.add_argument(
        "--sample",
        type=int,
        metavar="K",
        help=Help("estimate by K random nodes", "; closeness, harmonic centrality and betweenness"),
    )
    parser.add_argument(
        "--streets",
        action="store_true",
        help=Help("betweenness of streets, not nodes", ", both directions together; files of shapes have their lines"),
    )
    add_output(parser, "OUT", "write a line for each of these (.csv, .geojson, ...)", ".csv", details=VALUE_OUTPUT)
    add_map(parser)
    add_solver(parser)
    add_scheduler(parser, "search from some nodes each")
    sample = parser.rare_group("sample")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default: 0)")


def _extents(central: Centrality, unit: Unit, reverse: bool) -> dict[str, dict[str, Any]]:
    """Return diameter and radius, and the ends of paths that show them."""
    found = {}
    for name, one in (("diameter", central.diameter), ("radius", central.radius)):
        begin, end = (one.target, one.source) if reverse else (one.source, one.target)
        found[name] = {"value": one.distance * unit.per_distance, "from": begin, "to": end}
    return found


class _Workers:
    """Workers of a cluster that answer in place of a solver."""

    def __init__(self, asker: Asker, graph: Graph) -> None:
        self._asker, self._graph = asker, graph

    def centrality(self, *, sample: int | None, seed: int, **asked: Any) -> Centrality | SampledCentrality:
        """Return the centrality of all nodes, or estimates of it; see `vkssp.Solver.centrality`."""
        from vkssp.dask.centrality import centrality, centrality_of, sampled_centrality

        if sample is None:
            return centrality_of(self._graph, self._asker.ask(centrality, **asked))
        estimates: SampledCentrality = self._asker.ask(sampled_centrality, sample, seed=seed, **asked)
        return estimates

    def straightness(self, **asked: Any) -> npt.NDArray[Any]:
        """Return the straightness of all nodes; see `vkssp.Solver.straightness`."""
        from vkssp.dask.centrality import straightness

        found: npt.NDArray[Any] = self._asker.ask(straightness, **asked)
        return found

    def betweenness(self, **asked: Any) -> Betweenness:
        """Return the betweenness of nodes and arcs; see `vkssp.Solver.betweenness`."""
        from vkssp.dask.loads import betweenness

        found: Betweenness = self._asker.ask(betweenness, **asked)
        return found


@contextmanager
def _solver(
    args: argparse.Namespace, graph: Graph, searched: Graph, parameters: dict[str, Any]
) -> Iterator[Solver | _Workers]:
    """Open a solver of the graph that is searched, or connect to workers that have theirs."""
    from vkssp.solver.solver import Solver

    if args.scheduler is None:
        with Solver(searched, args.algorithm, args.device, **parameters) as solver:
            yield solver
        return
    source = graph_for_workers(args, graph) if searched is graph else searched
    with asking(args, source, parameters) as asker:
        yield _Workers(asker, searched)


def run(args: argparse.Namespace) -> Result:
    """Compute centrality, and write it to a file."""
    import numpy as np

    from vkssp.features.features import Features
    from vkssp.features.files import check_features_ending
    from vkssp.graph.metric import measured_by, unit_of
    from vkssp.routing.formatting import format_query
    from vkssp.routing.street_values import write_street_map, write_street_values
    from vkssp.routing.value_map import write_value_map
    from vkssp.solver.centrality import Centrality

    if args.output is None and args.map is None:
        raise QueryError("there is nothing to write; give --output or --map")
    if args.output is not None:
        check_features_ending(args.output, ())
    check_outputs(args, output=None, map="HTML")
    tiles = map_tiles(args)
    parameters = solver_parameters(args)
    if args.sample is not None and (wrong := {"eccentricity", "straightness"} & set(args.measures)):
        raise QueryError(f"--sample does not estimate {' and '.join(sorted(wrong))}; leave the measure or --sample out")
    if args.reverse and "betweenness" in args.measures:
        raise QueryError("--reverse makes no difference to betweenness; leave one of them out")
    check_scheduler(args)
    if args.streets and args.measures != ["betweenness"]:
        raise QueryError("--streets is for betweenness; give --measures betweenness alone")
    graph = load(args)
    if args.output is not None:
        check_features_ending(args.output, (), graph.lat is not None)
    if args.map is not None and graph.lat is None:
        raise QueryError("the graph has no coordinates and cannot be drawn; leave --map out")
    unit = unit_of(graph, args.metric)
    if args.minutes is not None and unit.name != "duration":
        raise QueryError("--minutes is for durations; use --limit")
    limit = unit.limit_of_solver(args.limit if args.minutes is None else 60.0 * args.minutes)
    per_distance = unit.per_distance
    searched = (
        graph if args.metric == "duration" else replace(measured_by(graph, args.metric), hierarchy=graph.hierarchy)
    )
    found: dict[str, npt.NDArray[Any]] = {}
    extents: dict[str, dict[str, Any]] = {}
    errors: dict[str, float] = {}
    with _solver(args, graph, searched, parameters) as solver:
        began = time.perf_counter()
        if set(_BY_DISTANCE) & set(args.measures):
            asked: dict[str, Any] = {"limit": limit, "reverse": args.reverse}
            central = solver.centrality(sample=args.sample, seed=args.seed, **asked)
            found["closeness"] = central.closeness / per_distance
            found["harmonic"] = central.harmonic / per_distance
            found["reached"] = central.reached
            found["farness"] = central.total * per_distance
            if isinstance(central, Centrality):
                found["eccentricity"] = central.eccentricity * per_distance
                if len(central.sources) and limit is None:
                    extents = _extents(central, unit, args.reverse)
            else:
                errors["error"] = central.error()
        if "straightness" in args.measures:
            found["straightness"] = solver.straightness(limit=limit, reverse=args.reverse) / per_distance
        if "betweenness" in args.measures:
            between = solver.betweenness(limit=limit, sample=args.sample, seed=args.seed)
            counted = between.arcs if args.streets else between.nodes
            found["betweenness"] = counted
            if args.sample is not None:
                found["betweenness"], errors["betweenness_error"] = counted * between.scale, between.error()
        milliseconds = 1e3 * (time.perf_counter() - began)
        if isinstance(solver, _Workers):
            device, algorithm = f"workers of {args.scheduler}", args.algorithm
        else:
            (answering, algorithm) = solver.answered_by
            device = answering.info.name
    columns = {name: found[name] for name in args.measures}
    result: dict[str, Any] = {
        "nodes": graph.num_nodes,
        "measures": args.measures,
        **extents,
        # A single node tells nothing, and JSON has no infinity.
        **{name: error if math.isfinite(error) else None for name, error in errors.items()},
        "device": device,
        "algorithm": algorithm,
        "query_ms": milliseconds,
    }
    sign = {"duration": " s", "distance": " m"}.get(unit.name, "")
    lines = [f"{', '.join(args.measures)} of {graph.num_nodes:,} nodes"]
    if graph.streets is not None and graph.streets.junction is not None:
        places = len(np.unique(graph.streets.junction))
        lines.append(f"places    {places:,}: where turns count, a junction is several nodes, see import --turns")
    lines += [
        *(
            f"{name:9s} {one['value']:,.1f}{sign} from node {one['from']} to {one['to']}"
            for name, one in extents.items()
        ),
        *(f"{_ERRORS[name]} {error:.3g} at most, with a probability of 95%" for name, error in errors.items()),
        f"device    {device}",
        f"query     {milliseconds:.1f} ms with {algorithm}",
    ]
    if args.output is not None:
        if args.streets:
            write_street_values(args.output, graph, columns)
        else:
            Features.of_nodes(graph, columns).write(args.output)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map is not None:
        facts = {"Device": device, "Algorithm": algorithm, "Query time": format_query(milliseconds)}
        write = write_street_map if args.streets else write_value_map
        write(args.map, graph, columns, facts=facts, title=", ".join(args.measures).capitalize(), tiles=tiles)
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines
