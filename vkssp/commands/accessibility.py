"""Subcommand ``vkssp accessibility``."""

from __future__ import annotations

import argparse
import re
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    PLACE_FILES,
    VALUE_OUTPUT,
    Result,
    add_graph,
    add_map,
    add_output,
    add_solver,
    check_outputs,
    load,
    map_tiles,
    numbers,
    solver_parameters,
)
from vkssp.commands.parser import CommandParser, Repeated
from vkssp.commands.place_lines import naming_lines
from vkssp.commands.routing import add_avoid, add_metric
from vkssp.commands.workers import Asker, add_scheduler, asking, check_scheduler, graph_for_workers
from vkssp.errors import QueryError
from vkssp.options import Help, file_name

if TYPE_CHECKING:
    import numpy.typing as npt

    from vkssp.features.features import Features
    from vkssp.graph import Graph
    from vkssp.graph.metric import Unit
    from vkssp.routing.places_file import Ends
    from vkssp.routing.router import Router
    from vkssp.solver.decay import Decay

SUMMARY = "compute what can be reached from everywhere: opportunities, also nearest"
EXAMPLE = "vkssp accessibility andorra.graph shops.csv --grid 500 --minutes 5 -o a.csv"

# Signs and names of units of limits.
_SIGNS = {"duration": "s", "distance": "m"}
_UNITS = {"duration": "seconds", "distance": "metres", "weight": "weight"}
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
        return "_".join([kind, *map(_digits, values)]), getattr(Decay, kind)(*values)
    except QueryError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _digits(number: float) -> str:
    """Return a number as part of a name, with all digits that tell it from others."""
    import numpy as np

    return np.format_float_positional(number, trim="-")


def _names(text: str) -> list[str]:
    """Return the names in ``NAME,...``."""
    from vkssp.checks import is_storable

    names = [name.strip() for name in text.split(",")]
    if not all(names) or not is_storable(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names of columns, such as jobs,beds")
    return names


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    parser.add_argument(
        "opportunities",
        metavar="OPPORTUNITIES",
        type=file_name,
        help=Help(
            "what is to be reached (columns lat,lon, perhaps id)",
            f": {PLACE_FILES}, or polygons, which count at a point in them",
        ),
    )
    parser.add_argument(
        "--columns",
        type=_names,
        default=[],
        metavar="NAME,...",
        help="what to sum up, such as jobs,beds (default: counts)",
    )
    origins = parser.one_of()
    origins.add_argument(
        "--origins",
        type=file_name,
        metavar="FILE",
        help=Help(
            "where trips begin: such a file (default: all nodes)",
            "; results have its ids, or the numbers of its rows from 0 on if it has no id",
        ),
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
    limits = parser.one_of()
    limits.add_argument(
        "--minutes",
        type=numbers,
        metavar="M,M",
        help=Help("sum up what is within M minutes, such as 15,30", "; columns such as jobs_15min"),
    )
    limits.add_argument(
        "--limits",
        type=numbers,
        metavar="N,N",
        help=Help(
            "the same in seconds",
            ", in metres with --metric distance, or in weights if the graph has no durations; columns such as "
            "jobs_900s, jobs_800m or jobs_9000",
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
    parser.add_argument(
        "--nearest",
        type=int,
        metavar="K",
        help=Help(
            "the K nearest, and how far they are",
            ": columns nearest_1, nearest_2, ... with their ids, or the numbers of their rows from 0 on, and "
            "nearest_1_s, ... with the seconds (nearest_1_m: metres) to them",
        ),
    )
    add_metric(parser)
    parser.add_argument("--reverse", action="store_true", help="trips from opportunities to origins count")
    add_avoid(parser)
    add_output(parser, "OUT", "write a line for each origin (.csv, .geojson, ...)", ".csv", details=VALUE_OUTPUT)
    add_map(parser)
    add_solver(parser)
    add_scheduler(parser, "compute the sums, and find the nearest, of some origins each")


def run(args: argparse.Namespace) -> Result:
    """Compute accessibility, and write it to files."""
    from vkssp.algorithm import AUTO, CPU
    from vkssp.features.features import Features
    from vkssp.features.files import check_features_ending
    from vkssp.graph.metric import unit_of
    from vkssp.routing.formatting import format_query
    from vkssp.routing.places_file import read_ends
    from vkssp.routing.router import Router
    from vkssp.routing.value_map import write_value_map

    _check(args)
    tiles = map_tiles(args)
    parameters = solver_parameters(args)
    opportunities = _places(args.opportunities, read_ends(args.opportunities, args.columns, areas=True))
    given = None if args.origins is None else _places(args.origins, read_ends(args.origins, areas=True))
    graph = load(args)
    if args.output is not None:
        kinds = {"Polygon"} if given is not None and given.shapes is not None else ()
        check_features_ending(args.output, kinds, graph.lat is not None)
    began = time.perf_counter()
    # What workers do not do is little, and no work for a device.
    means: tuple[Any, ...] = (args.algorithm, args.device) if args.scheduler is None else (AUTO, CPU)
    own = parameters if args.scheduler is None else {}
    with Router(graph, *means, metric=args.metric, avoid=args.avoid, **own) as router:
        origins, what, rows, shapes = _origins(args, router, given)
        ready = time.perf_counter()
        unit = unit_of(router.index.graph, args.metric)
        if args.minutes is not None and unit.name != "duration":
            raise QueryError(f"--minutes is for durations, and paths are measured in {_UNITS[unit.name]}; use --limits")
        known = {"opportunity": opportunities.lines}
        if given is not None:
            known["origin"] = given.lines
        with _asker(args, router, parameters) as asker, naming_lines(known):
            columns = _sums(args, asker, origins, opportunities, unit)
            columns |= _nearest(args, asker, origins, opportunities, unit)
        answering, algorithm = router.solver.answered_by
        device = answering.info.name if args.scheduler is None else f"workers of {args.scheduler}"
        algorithm = algorithm if args.scheduler is None else args.algorithm
    milliseconds = 1e3 * (time.perf_counter() - ready)
    result: dict[str, Any] = {
        "origins": len(rows),
        "opportunities": len(opportunities.ids),
        "columns": list(columns),
        "device": device,
        "algorithm": algorithm,
        "setup_ms": 1e3 * (ready - began),
        "query_ms": milliseconds,
    }
    lines = [
        f"accessibility of {len(rows):,} {what}, {len(opportunities.ids):,} opportunities",
        f"device    {device}",
        f"query     {milliseconds:.1f} ms with {algorithm}",
    ]
    if args.output is not None:
        told = {name: values for name, (_, values) in columns.items()}
        Features({**rows.columns, **told}, rows.shapes, rows.name, rows.places).write(args.output)
        result["output"] = args.output
        lines.append(f"wrote     {args.output}")
    if args.map is not None:
        facts = {"Device": device, "Algorithm": algorithm, "Query time": format_query(milliseconds)}
        drawn = {title: values for title, values in columns.values() if values.dtype.kind != "O"}
        write_value_map(args.map, graph, drawn, shapes=shapes, facts=facts, title=_title(args), tiles=tiles)
        result["map"] = args.map
        lines.append(f"wrote     {args.map}")
    return result, lines


def _check(args: argparse.Namespace) -> None:
    """Check the arguments that need no graph."""
    from vkssp.features.files import check_features_ending

    has_sums = args.minutes is not None or args.limits is not None or args.decay
    if not has_sums and args.nearest is None:
        raise QueryError("nothing is asked for; give --minutes, --limits, --decay or --nearest")
    if args.output is None and args.map is None:
        raise QueryError("there is nothing to write; give --output or --map")
    if args.columns and not has_sums:
        raise QueryError("--columns are for sums; give --minutes, --limits or --decay")
    check_scheduler(args)
    # What is asked for twice is one column.
    args.columns, args.decay = list(dict.fromkeys(args.columns)), list(dict(args.decay).items())
    for option in ("minutes", "limits"):
        if getattr(args, option) is not None:
            setattr(args, option, list(dict.fromkeys(getattr(args, option))))
    names = [name for _, name, _ in _sums_asked(args, "")]
    for name in names:
        if names.count(name) > 1 or (args.nearest is not None and re.fullmatch(r"nearest_[0-9]+", name)):
            raise QueryError(f"several columns would have the name {name!r}; rename a column of {args.opportunities}")
    if args.output is not None:
        check_features_ending(args.output, {"Polygon"} if args.grid is not None or args.hexagons is not None else ())
    check_outputs(args, output=None, map="HTML")


def _sums_asked(args: argparse.Namespace, sign: str) -> list[tuple[str, str, str]]:
    """Return the column of weights, the name, such as jobs_600s, and the title of each sum; `sign` is its unit's."""
    limits = [(_digits(limit), sign) for limit in args.limits or ()]
    limits += [(_digits(limit), "min") for limit in args.minutes or ()]
    kinds = [(f"{digits}{of}", f" within {digits} {of}".rstrip()) for digits, of in limits]
    kinds += [(f"{name}{sign}", f", {name} {sign}".rstrip()) for name, _ in args.decay]
    return [
        (weight, f"{weight or 'count'}_{name}", f"{weight or 'opportunities'}{title}")
        for weight in args.columns or [""]
        for name, title in kinds
    ]


def _places(path: str, ends: Ends) -> Ends:
    if ends.places is None:
        raise QueryError(f"{path} has nodes; give places, with columns lat and lon")
    return ends


def _title(args: argparse.Namespace) -> str:
    what = ", ".join(args.columns) or "opportunities"
    return f"Access from {what}" if args.reverse else f"Access to {what}"


def _origins(
    args: argparse.Namespace, router: Router, given: Ends | None
) -> tuple[list[tuple[float, float]] | None, str, Features, npt.NDArray[Any] | None]:
    """Return the origins, None for all nodes; what they are called, rows for a file, and shapes for a map."""
    from vkssp.features.features import Features

    graph: Graph = router.graph
    if given is not None:
        rows = Features.of_places(given.places or [], ids=given.ids, shapes=given.shapes)
        return given.places, "places", rows, rows.shapes
    if args.grid is None and args.hexagons is None:
        return None, "nodes", Features.of_nodes(graph), None
    cells = router.grid(args.grid) if args.grid is not None else router.hexagons(args.hexagons)
    what = "squares" if args.grid is not None else "hexagons"
    return cells.places, what, cells.features(), cells.shapes


def _asker(
    args: argparse.Namespace, router: Router, parameters: dict[str, Any]
) -> AbstractContextManager[Router | Asker]:
    """Connect to workers that answer, if the arguments name some; otherwise the router answers."""
    if args.scheduler is None:
        return nullcontext(router)
    means = {"metric": args.metric, "avoid": args.avoid, "reverse": args.reverse, **parameters}
    return asking(args, graph_for_workers(args, router.graph), means)


def _sums(
    args: argparse.Namespace,
    asker: Router | Asker,
    origins: list[tuple[float, float]] | None,
    opportunities: Ends,
    unit: Unit,
) -> dict[str, tuple[str, npt.NDArray[Any]]]:
    """Return titles for a map and the sums, by names for a file, such as jobs_600s."""
    import numpy as np

    asked = _sums_asked(args, _SIGNS.get(unit.name, ""))
    if not asked:
        return {}
    weights = np.stack([opportunities.columns[name] for name in args.columns], axis=1) if args.columns else None
    within = args.limits if args.minutes is None else [60.0 * minutes for minutes in args.minutes]
    given: dict[str, Any] = {"limits": within, "decays": [decay for _, decay in args.decay] or None}
    asked_for = origins, opportunities.places or [], weights
    if isinstance(asker, Asker):
        from vkssp.dask.accessibility import accessibility

        sums = asker.ask(accessibility, *asked_for, **given)
    else:
        sums = asker.accessibility(*asked_for, **given, reverse=args.reverse)
    if weights is None:
        sums = sums[..., None]
    columns = sums.transpose(2, 1, 0).reshape(-1, len(sums))
    found = {}
    for (weight, name, title), column in zip(asked, columns, strict=True):
        # Sums of whole numbers that came beside others are whole.
        if weight and " within " in title:
            values = opportunities.columns[weight]
            if values.dtype.kind == "i" and np.abs(values.astype(np.float64)).sum() < 2**53:
                column = column.astype(np.int64)
        found[name] = title, np.ascontiguousarray(column)
    return found


def _nearest(
    args: argparse.Namespace,
    asker: Router | Asker,
    origins: list[tuple[float, float]] | None,
    opportunities: Ends,
    unit: Unit,
) -> dict[str, tuple[str, npt.NDArray[Any]]]:
    """Return titles for a map and the ids of the nearest opportunities and how far they are, by names for a file."""
    import numpy as np

    from vkssp.arrays import objects
    from vkssp.graph import UNREACHABLE

    if args.nearest is None:
        return {}
    asked = origins, opportunities.places or [], args.nearest
    if isinstance(asker, Asker):
        from vkssp.dask.nearest import nearest_opportunities

        numbers, distances = asker.ask(nearest_opportunities, *asked).values()
    else:
        near = asker.nearest_opportunities(*asked, reverse=args.reverse)
        numbers, distances = near.opportunity, near.values
    ids = objects([*opportunities.ids, None])
    columns: dict[str, tuple[str, npt.NDArray[Any]]] = {}
    for at in range(numbers.shape[1]):
        which, name = numbers[:, at], f"nearest_{at + 1}"
        is_none = which == UNREACHABLE
        columns[name] = name, ids[np.where(is_none, len(ids) - 1, which)]
        far = distances[:, at]
        title = f"{_UNITS[unit.name]} {'from' if args.reverse else 'to'} the nearest" + (
            f", number {at + 1}" if at else ""
        )
        far = np.where(is_none, np.nan, far) if unit.name == "weight" else far
        columns[f"{name}_{_SIGNS.get(unit.name, 'weight')}"] = title, far
    return columns
