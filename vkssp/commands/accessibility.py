"""Subcommand ``vkssp accessibility``."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    OTHERS,
    Result,
    add_graph,
    add_map,
    add_output,
    add_solver,
    check_outputs,
    load,
    numbers,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser, Repeated
from vkssp.commands.routing import add_avoid, add_metric
from vkssp.errors import QueryError
from vkssp.options import Help, file_name

if TYPE_CHECKING:
    import numpy.typing as npt

    from vkssp.graph import Graph
    from vkssp.graph.metric import Unit
    from vkssp.routing.places_file import Ends
    from vkssp.routing.router import Router
    from vkssp.routing.values_file import Rows
    from vkssp.solver.decay import Decay

SUMMARY = "compute what can be reached from everywhere: opportunities within limits, and the nearest of them"
EXAMPLE = "vkssp accessibility andorra.graph shops.csv --grid 500 --limits 300,900 --output reach.geojson"

# Kinds of decay, and the numbers that each takes.
_DECAYS = {
    "exponential": ("SCALE",),
    "gaussian": ("SCALE",),
    "linear": ("LIMIT",),
    "power": ("EXPONENT", "LEAST", "LIMIT"),
}


def _decay(text: str) -> tuple[str, Decay]:
    """Return the name and the decay in ``KIND:NUMBER:...``."""
    from vkssp.solver.decay import Decay

    kind, *given = text.split(":")
    takes = _DECAYS.get(kind, ())
    try:
        if not takes or len(given) != len(takes):
            raise ValueError
        values = [float(number) for number in given]
    except ValueError:
        known = ", ".join(":".join([name, *parts]) for name, parts in _DECAYS.items())
        raise argparse.ArgumentTypeError(f"{text!r} is none of {known}, such as exponential:600") from None
    try:
        return "_".join([kind, *(f"{value:g}" for value in values)]), getattr(Decay, kind)(*values)
    except QueryError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "opportunities",
        metavar="OPPORTUNITIES",
        type=file_name,
        help=Help(
            "what is to be reached (columns lat,lon, perhaps id)",
            ": a table (.csv, .parquet), or points or polygons as GeoParquet or GeoJSON (.geojson)",
        ),
    )
    parser.add_argument(
        "--columns",
        type=lambda text: [name.strip() for name in text.split(",")],
        default=[],
        metavar="NAME,...",
        help="what to sum up, such as jobs,beds (default: counts)",
    )
    origins = parser.one_of()
    origins.add_argument(
        "--origins", type=file_name, metavar="FILE", help="where trips begin: such a file (default: all nodes)"
    )
    origins.add_argument(
        "--grid", type=float, metavar="METRES", help="origins in the squares of a grid with streets in them"
    )
    origins.add_argument(
        "--hexagons",
        type=int,
        metavar="R",
        help=Help("origins in the hexagons of H3, such as 9", ", which has sides of 200 m; 7 has sides of 1.4 km"),
    )
    parser.add_argument(
        "--limits",
        type=numbers,
        metavar="N,N",
        help=Help(
            "sum up what is within N seconds", "; metres with --metric distance, weights if the graph has no durations"
        ),
    )
    parser.add_argument(
        "--decay",
        type=_decay,
        action=Repeated,
        default=[],
        metavar="KIND:N",
        help=Help(
            "sum up by distance, such as exponential:600",
            ": exponential:SCALE, gaussian:SCALE, linear:LIMIT or power:EXPONENT:LEAST:LIMIT, in the unit of limits; "
            "may be repeated",
        ),
    )
    parser.add_argument("--nearest", type=int, metavar="K", help="the K nearest, and how far they are")
    add_metric(parser)
    parser.add_argument("--reverse", action="store_true", help="trips from opportunities to origins count")
    add_avoid(parser)
    add_output(parser, "OUT", "write a line for each origin (.csv, .npy, .geojson)", ".csv", details=OTHERS)
    add_map(parser)
    add_solver(parser)


def run(args: argparse.Namespace) -> Result:
    """Compute accessibility, and write it to files."""
    from vkssp.graph.metric import unit_of
    from vkssp.routing.formatting import format_query
    from vkssp.routing.places_file import read_ends
    from vkssp.routing.router import Router
    from vkssp.routing.value_map import write_value_map
    from vkssp.routing.values_file import check_values_ending, write_values

    _check(args)
    parameters = solver_parameters(args)
    opportunities = _places(args.opportunities, read_ends(args.opportunities, args.columns, areas=True))
    given = None if args.origins is None else _places(args.origins, read_ends(args.origins, areas=True))
    graph = load(args)
    if args.output is not None:
        check_values_ending(args.output, graph)
    began = time.perf_counter()
    with Router(graph, args.algorithm, args.device, metric=args.metric, avoid=args.avoid, **parameters) as router:
        origins, what, rows, shapes = _origins(args, router, given)
        ready = time.perf_counter()
        unit = unit_of(router.index.graph, args.metric)
        columns = _sums(args, router, origins, opportunities)
        columns |= _nearest(args, router, origins, opportunities, unit)
        answering, algorithm = router.solver.answered_by
        device = answering.info.name
    milliseconds = 1e3 * (time.perf_counter() - ready)
    result: dict[str, Any] = {
        "origins": len(rows.ids),
        "opportunities": len(opportunities.ids),
        "columns": list(columns),
        "device": device,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "query_ms": milliseconds,
    }
    lines = [
        f"accessibility of {len(rows.ids):,} {what}, {len(opportunities.ids):,} opportunities",
        f"device    {device}",
        f"query     {milliseconds:.1f} ms with {algorithm}",
    ]
    if args.output is not None:
        write_values(args.output, rows, columns)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map is not None:
        facts = {"Device": device, "Algorithm": algorithm, "Query time": format_query(milliseconds)}
        drawn = {name: values for name, values in columns.items() if values.dtype.kind != "O"}
        write_value_map(args.map, graph, drawn, shapes=shapes, facts=facts, title=_title(args))
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines


def _check(args: argparse.Namespace) -> None:
    """Check the arguments that need no graph."""
    from vkssp.routing.values_file import check_values_ending

    if args.limits is None and not args.decay and args.nearest is None:
        raise QueryError("nothing is asked for; give --limits, --decay or --nearest")
    if args.output is None and args.map is None:
        raise QueryError("there is nothing to write; give --output or --map")
    if args.columns and args.limits is None and not args.decay:
        raise QueryError("--columns are for sums; give --limits or --decay")
    if args.output is not None:
        check_values_ending(args.output)
    check_outputs(args, output=None, map="HTML")


def _places(path: str, ends: Ends) -> Ends:
    if ends.places is None:
        raise QueryError(f"{path} has nodes; give places, with columns lat and lon")
    return ends


def _title(args: argparse.Namespace) -> str:
    what = ", ".join(args.columns) or "opportunities"
    return f"From where {what} are reached" if not args.reverse else f"Where {what} reach"


def _origins(
    args: argparse.Namespace, router: Router, given: Ends | None
) -> tuple[list[tuple[float, float]] | None, str, Rows, npt.NDArray[Any] | None]:
    """Return the origins, None for all nodes; what they are called, rows for a file, and shapes for a map."""
    import numpy as np

    from vkssp.routing.values_file import Rows

    graph: Graph = router.graph
    if given is not None:
        rows = Rows.of_places(given.ids, given.places or [], given.shapes)
        return given.places, "places", rows, rows.geometry()
    if args.grid is None and args.hexagons is None:
        nodes = np.arange(graph.num_nodes, dtype=np.uint32)
        return None, "nodes", Rows.of_nodes(graph, nodes), None
    cells = router.grid(args.grid) if args.grid is not None else router.hexagons(args.hexagons)
    what = "squares" if args.grid is not None else "hexagons"
    return cells.places, what, Rows.of_places(cells.ids, cells.places, cells.shapes), cells.shapes


def _sums(
    args: argparse.Namespace, router: Router, origins: list[tuple[float, float]] | None, opportunities: Ends
) -> dict[str, npt.NDArray[Any]]:
    """Return the sums by names, such as jobs_600."""
    import numpy as np

    if args.limits is None and not args.decay:
        return {}
    weights = np.stack([opportunities.columns[name] for name in args.columns], axis=1) if args.columns else None
    given = {"limits": args.limits, "decays": [decay for _, decay in args.decay] or None, "reverse": args.reverse}
    sums = router.accessibility(origins, opportunities.places or [], weights, **given)
    if weights is None:
        sums = sums[..., None]
    names = [*(f"{limit:g}" for limit in args.limits or ()), *(name for name, _ in args.decay)]
    return {
        f"{weight}_{name}": np.ascontiguousarray(sums[:, at, column])
        for column, weight in enumerate(args.columns or ["count"])
        for at, name in enumerate(names)
    }


def _nearest(
    args: argparse.Namespace, router: Router, origins: list[tuple[float, float]] | None, opportunities: Ends, unit: Unit
) -> dict[str, npt.NDArray[Any]]:
    """Return the ids of the nearest opportunities by names, such as nearest_1, and how far they are."""
    import numpy as np

    from vkssp.graph import UNREACHABLE

    if args.nearest is None:
        return {}
    found = router.nearest_opportunities(origins, opportunities.places or [], args.nearest, reverse=args.reverse)
    ids = np.empty(len(opportunities.ids) + 1, object)
    ids[:] = [*opportunities.ids, None]
    columns: dict[str, npt.NDArray[Any]] = {}
    sign = {"duration": "s", "distance": "m"}.get(unit.name, "weight")
    for at in range(found.opportunity.shape[1]):
        which = found.opportunity[:, at]
        is_none = which == UNREACHABLE
        columns[f"nearest_{at + 1}"] = ids[np.where(is_none, len(ids) - 1, which)]
        far = found.values[:, at]
        columns[f"nearest_{at + 1}_{sign}"] = np.where(is_none, np.nan, far) if unit.name == "weight" else far
    return columns
