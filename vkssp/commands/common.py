"""Options of subcommands, and the reading of their graphs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import shown
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.hierarchy import Hierarchy
from vkssp.graph.metric import duration
from vkssp.graph.traffic import with_traffic
from vkssp.options import add_reading, file_name, reading
from vkssp.prepared.reduction import REDUCTIONS
from vkssp.prepared.renumbered import ORDERS
from vkssp.reading import read_graph
from vkssp.terminal import print_error

#: Result of a command: an object for JSON, and lines for a terminal.
Result = tuple[dict[str, Any], list[str]]

# Arguments that name input files, and arguments that name output files.
_READ = (
    "graph",
    "extract",
    "coordinates",
    "sources",
    "targets",
    "places",
    "opportunities",
    "origins",
    "traffic",
    "avoid",
)
_WRITTEN = ("output", "map", "trace")


def latlon(text: str) -> tuple[float, float]:
    """Return the latitude and longitude in ``LAT,LON``."""
    try:
        lat, lon = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not LAT,LON in degrees, such as 42.5075,1.5218") from None
    return lat, lon


def numbers(text: str) -> list[float]:
    """Return the numbers in ``N,N,...``."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, such as 5,10,15") from None


def setting(text: str) -> tuple[str, int]:
    """Return the name and the value in ``NAME=INTEGER``."""
    name, _, value = text.partition("=")
    try:
        return name.replace("-", "_"), int(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=INTEGER, such as delta=1000") from None


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option for JSON output."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")


def add_graph(parser: argparse.ArgumentParser) -> None:
    """Add the graph, and the options for reading it."""
    parser.add_argument(
        "graph",
        metavar="GRAPH",
        type=file_name,
        help="a saved graph; an OpenStreetMap extract; a DIMACS, PACE, Matrix Market or METIS graph or an edge list, "
        "also compressed; or a graph to generate: road:SIDE, rmat:SCALE, random:NODES,DEGREE, ba:NODES,ARCS, "
        "gnm:NODES,ARCS, martin:NODES or kronecker:SCALE",
    )
    add_reading(parser)


def add_solver(parser: argparse.ArgumentParser, device: str = "index or part of the name") -> None:
    """Add the options for the device, the algorithm and the weights; `device` is the help text for the device."""
    search = parser.add_argument_group("search")
    search.add_argument(
        "--device",
        help=f"{device}, or cpu; see 'vkssp devices' (default: $VKSSP_DEVICE, or the first discrete, integrated or "
        "virtual GPU, with the CPU for what that answers sooner, or the CPU)",
    )
    search.add_argument(
        "--algorithm",
        default=DEFAULT_ALGORITHM,
        metavar="NAME",
        help=f"algorithm, see 'vkssp algorithms', or auto: the fastest for the graph (default: {DEFAULT_ALGORITHM})",
    )
    search.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=N",
        help="parameter of the algorithm, such as delta=1000; may be repeated",
    )
    search.add_argument(
        "--order",
        choices=ORDERS,
        default="auto",
        help="numbering of nodes on the device: z: along a curve over the coordinates; landmarks: by hops from "
        "distant nodes; natural: as in the graph; hierarchy: by the hierarchy of a prepared graph; auto: "
        "chosen for the graph (default)",
    )
    search.add_argument(
        "--reduction",
        choices=REDUCTIONS,
        help="full: remove dead ends and chains before searches; auto: only if this saves time; none: keep the "
        "whole graph (default: auto with --algorithm auto, else none)",
    )
    search.add_argument(
        "--traffic",
        metavar="T.csv",
        type=file_name,
        help="CSV file with new speeds (columns way,speed_kmh; way is an OpenStreetMap id) or new weights (columns "
        "arc,weight)",
    )


def solver_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of a solver; check those of its algorithm, so that errors come before a graph is read."""
    from vkssp.algorithms.choice import checked, current, place_of

    given = dict(args.set)
    args.algorithm, args.device = current(args.algorithm, args.device)
    checked(args.algorithm, given, place_of(args.algorithm, args.device))
    return {**given, "order": args.order, "reduction": args.reduction}


def check_outputs(args: argparse.Namespace, **contents: str | None) -> None:
    """Check that the output files can be written, and are different from each other and from the input files.

    Parameters
    ----------
    args : argparse.Namespace
        Arguments of the command.
    **contents : str or None
        Content of the file of each option, a key of `vkssp.files.ENDINGS`; None if the suffix of the file has been
        checked.

    Raises
    ------
    FormatError
        If a file cannot be written.
    """
    from vkssp.files import check_writable
    from vkssp.osm.profile import PROFILES

    written = {name: path for name in _WRITTEN if (path := getattr(args, name, None)) is not None}
    read = [path for name in _READ if isinstance(path := getattr(args, name, None), str)]
    if args.profile is not None and args.profile not in PROFILES:
        read.append(args.profile)
    for name, path in written.items():
        others = [other for option, other in written.items() if option != name]
        check_writable(path, *read, *others, content=contents[name])


def is_watched(args: argparse.Namespace) -> bool:
    """Return whether to show progress bars: on a terminal, without JSON output."""
    # In a log file a progress bar takes a thousand lines.
    return not args.json and sys.stderr is not None and sys.stderr.isatty()


def hierarchy_numbers(hierarchy: Hierarchy) -> dict[str, int]:
    """Return the sizes of a hierarchy."""
    return {
        "arcs": hierarchy.num_arcs,
        "supernodes": hierarchy.num_supernodes,
        "levels": hierarchy.num_levels,
        "tree_height": hierarchy.tree_height,
    }


def hierarchy_line(hierarchy: Hierarchy) -> str:
    """Return the sizes of a hierarchy as a line of text."""
    size = hierarchy_numbers(hierarchy)
    return (
        f"a hierarchy of {size['arcs']:,} arcs both ways, {size['supernodes']:,} supernodes in {size['levels']:,} "
        f"levels, {size['tree_height']:,} nodes high"
    )


def node_named(graph: Graph, text: str, option: str) -> Any:
    """Return the node that a text names: by its position, or by its name if nodes of the graph have names.

    Raises
    ------
    QueryError
        If there is no such node; the message names the option.
    """
    number = int(text) if text.lstrip("+-").isdecimal() else None
    index = graph.name_index
    if index is None:
        if number is None:
            raise QueryError(f"{option} is {shown(text)}; give the id of a node, an integer")
        return number
    for name in (number, text):
        if name is not None and index.find(name) is not None:
            return name
    raise index.unknown(option, text)


def distance_limit(limit: float | None) -> float | None:
    """Return a limit of distances, an integer if it is whole."""
    return int(limit) if limit is not None and limit.is_integer() else limit


def number_text(number: float) -> str:
    """Return a weight or a distance as a text: a whole number, or a real one with nine digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.9g}"


def unit_text(graph: Graph) -> str:
    """Return the unit of the distances that solvers return, as the end of a line, if they are durations."""
    seconds = duration(graph, 1)
    return "" if seconds is None else f", in units of {seconds / (graph.scale or 1.0):g} s"


def scale_text(graph: Graph) -> str:
    """Return the scale of real weights, and how they are rounded."""
    exact = "exact" if not graph.weight_error else f"wrong by at most {graph.weight_error:.3g} for each arc"
    return f"{graph.scale:.6g}, {exact}"


def load(args: argparse.Namespace, path: str | None = None) -> Graph:
    """Return the graph that the arguments name, or the graph at another path, with traffic if the arguments have it."""
    graph = read_graph(args.graph if path is None else path, progress=is_watched(args), **reading(args))
    traffic = getattr(args, "traffic", None)
    if traffic is None:
        return graph
    graph, change = with_traffic(graph, traffic)
    if change.unknown:
        unknown = f"{change.unknown:,} of the {change.ways:,} ways in {traffic}"
        print_error(f"vkssp: {unknown} are not in the graph and are ignored")
    return graph
