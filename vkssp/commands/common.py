"""Options of subcommands, and the reading of their graphs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from vkssp.choices import AUTO, DISTANCE_BITS, ORDERS, REDUCTIONS
from vkssp.commands.parser import CommandParser, Repeated
from vkssp.errors import QueryError
from vkssp.options import Help, add_reading, file_name, output_name, reading
from vkssp.terminal import is_terminal

if TYPE_CHECKING:
    from vkssp.graph import Graph
    from vkssp.graph.hierarchy import Hierarchy
    from vkssp.routing.tiles import Tiles

#: Result of a command: an object for JSON, and lines for a terminal.
Result = tuple[dict[str, Any], list[str]]

#: Arguments that name input files, some of them lists.
READ = (
    "graph",
    "graphs",
    "extract",
    "network",
    "trips",
    "coordinates",
    "sources",
    "targets",
    "places",
    "pairs",
    "positions",
    "opportunities",
    "origins",
    "traffic",
    "avoid",
    "start",
)
#: Arguments that name output files.
WRITTEN = ("output", "saved", "map", "trace", "json_file", "csv_file")
#: Files that places are read from.
PLACE_FILES = "a table (.csv, .parquet) or points (.geojson, .parquet, .gpkg, .fgb, .shp, .shp.zip, .gpx or .kml)"
_SHAPES = "-.kml, -.fgb or -.parquet in these formats; files may also be .gpkg, .shp or .shp.zip"
#: Formats of areas, routes, points and values on standard output and in files.
AREA_OUTPUT = f" as GeoJSON, and {_SHAPES}"
ROUTE_OUTPUT = f" as GeoJSON, and -.gpx, {_SHAPES}"
POINT_OUTPUT = f" as GeoJSON, and -.csv, -.gpx, {_SHAPES}"
VALUE_OUTPUT = f" as CSV, and -.npy, -.geojson, -.gpx, {_SHAPES}"
#: What generates a graph.
GENERATORS = (
    "road:SIDE, rmat:SCALE, random:NODES,DEGREE, ba:NODES,ARCS, gnm:NODES,ARCS, martin:NODES or kronecker:SCALE"
)


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


def add_graph(parser: CommandParser) -> None:
    """Add the graph, and the options for reading it."""
    parser.add_argument(
        "graph",
        metavar="GRAPH",
        type=file_name,
        help=Help(
            "graph file (- for standard input), or such as road:256",
            "; files: a saved graph, an OpenStreetMap extract (.osm.pbf, .osm, .osm.gz, .osm.bz2), or a DIMACS, PACE, "
            f"Matrix Market or METIS graph, an edge list or a CSV file, also compressed; generators: {GENERATORS}",
        ),
    )
    add_reading(parser)


def add_output(parser: CommandParser, metavar: str, text: str, ending: str, *, details: str = "") -> None:
    """Add the output file; on standard output the content is that of files with an ending."""
    details = f"; - writes to standard output{details}"
    parser.add_argument("-o", "--output", type=output_name(ending), metavar=metavar, help=Help(text, details))


def add_map(parser: CommandParser) -> None:
    """Add the file of a map."""
    parser.add_argument(
        "--map", type=output_name(".html"), metavar="M.html", help="write a map that opens without the internet"
    )
    add_tiles(parser)


def add_tiles(parser: CommandParser) -> None:
    """Add the raster tiles below a map."""
    group = parser.rare_group("raster tiles below the map")
    group.add_argument(
        "--tiles",
        metavar="URL",
        help="address of tiles with {z}, {x} and {y}, such as https://tiles.example.org/{z}/{x}/{y}.png; the map then "
        "needs a network",
    )
    group.add_argument("--attribution", metavar="TEXT", help="credit for the makers of the tiles")


def map_tiles(args: argparse.Namespace) -> Tiles | None:
    """Return the tiles that the options of `add_map` name; raise `QueryError` if there is no map that shows them."""
    if args.tiles is not None and args.map is None:
        raise QueryError("--tiles is for maps, and no map is written; give --map, or leave --tiles out")
    return tiles_of(args)


def tiles_of(args: argparse.Namespace) -> Tiles | None:
    """Return the tiles that the options of `add_tiles` name."""
    from vkssp.routing.tiles import Tiles

    if args.tiles is None:
        if args.attribution is not None:
            raise QueryError("--attribution credits tiles, and there are none; give --tiles, or leave it out")
        return None
    try:
        return Tiles(args.tiles, args.attribution or "")
    except QueryError as error:
        raise QueryError(f"--{error}") from None


def add_device(group: Any, *, several: bool = False) -> None:
    """Add the device to a parser or a group; `several` says whether there may be several."""
    devices = "; several that share the work: their indices, such as 0,1, or all" if several else ""
    default = (
        "$VKSSP_DEVICE, or the first discrete, integrated or virtual GPU, with the CPU for what that answers sooner, "
        "or the CPU"
    )
    text = "a GPU by index or name, or cpu; see 'vkssp devices'"
    group.add_argument("--device", help=Help(text, f"{devices}; a part of the name will do (default: {default})"))


def add_algorithm(group: Any) -> None:
    """Add the algorithm to a group."""
    group.add_argument(
        "--algorithm",
        default=AUTO,
        metavar="NAME",
        help=f"algorithm, see 'vkssp algorithms', or auto: the fastest for the graph (default: {AUTO})",
    )


def add_solver(parser: CommandParser, *, several: bool = False) -> None:
    """Add the options for the device, the algorithm and the weights; `several` says whether devices may share work."""
    parser.add_argument(
        "--traffic",
        metavar="T.csv",
        type=file_name,
        help=Help(
            "new speeds or weights (way,speed_kmh or arc,weight)", ": columns of a CSV file; way is an OpenStreetMap id"
        ),
    )
    add_device(parser, several=several)
    search = parser.rare_group("search")
    add_algorithm(search)
    search.add_argument(
        "--set",
        type=setting,
        action=Repeated,
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
        help="full: remove nodes with few neighbours before searches; auto: only if this saves time; none: keep the "
        "whole graph (default: auto with --algorithm auto, else none)",
    )


def add_distance_bits(parser: CommandParser) -> None:
    """Add the option for the bits of distances."""
    parser.rare_group("long paths").add_argument(
        "--distance-bits",
        type=int,
        choices=DISTANCE_BITS,
        help="64: distances beyond 4294967294, as uint64 (default: 32, or what real weights of the graph need)",
    )


def solver_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of a solver; check those of its algorithm, so that errors come before a graph is read."""
    from vkssp.algorithms.choice import checked, checked_type, current, place_of

    bits = getattr(args, "distance_bits", DISTANCE_BITS[0])  # None is what the graph needs
    given, kind = dict(args.set), checked_type(DISTANCE_BITS[0] if bits is None else bits)
    args.algorithm, args.device = current(args.algorithm, args.device)
    checked(args.algorithm, given, place_of(args.algorithm, args.device, distance_type=kind), kind)
    of_type = {} if bits is None else {"distance_bits": bits}
    return {**given, **of_type, "order": args.order, "reduction": args.reduction}


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

    written = {name: path for name in WRITTEN if (path := getattr(args, name, None)) is not None}
    read = [path for name in READ if isinstance(path := getattr(args, name, None), str)]
    if args.profile is not None and args.profile not in PROFILES:
        read.append(args.profile)
    for name, path in written.items():
        others = [other for option, other in written.items() if option != name]
        check_writable(path, *read, *others, content=contents[name])


def is_watched(args: argparse.Namespace) -> bool:
    """Return whether to show progress bars: on a terminal, without JSON output, unless messages are not wanted."""
    # In a log file a progress bar takes a thousand lines.
    return not args.json and args.verbosity >= 0 and is_terminal(sys.stderr)


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
    from vkssp.checks import shown

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
    from vkssp.graph.metric import duration

    seconds = duration(graph, 1)
    return "" if seconds is None else f", in units of {seconds / (graph.scale or 1.0):g} s"


def scale_text(graph: Graph) -> str:
    """Return the scale of real weights, and how they are rounded."""
    exact = "exact" if not graph.weight_error else f"wrong by at most {graph.weight_error:.3g} for each arc"
    return f"{graph.scale:.6g}, {exact}"


def load(args: argparse.Namespace, path: str | None = None, *, basemap: bool | None = None) -> Graph:
    """Return the graph that the arguments name, or the graph at another path, with traffic if the arguments have it.

    Parameters
    ----------
    args : argparse.Namespace
        The arguments of a command that reads a graph.
    path : str, optional
        The other path.
    basemap : bool, optional
        Whether an extract's graph gets what maps show beside the streets; by default only if a map is wanted.
    """
    from vkssp.osm import is_extract
    from vkssp.reading import read_graph

    path = args.graph if path is None else path
    of_extract = args.format is None and is_extract(path)
    options = reading(args, is_extract=of_extract)
    if of_extract:
        options["basemap"] = getattr(args, "map", None) is not None if basemap is None else basemap
    return in_traffic(args, read_graph(path, progress=is_watched(args), **options))


def in_traffic(args: argparse.Namespace, graph: Graph) -> Graph:
    """Return a graph with the traffic of the arguments, if they have it."""
    from vkssp.graph.traffic import with_traffic
    from vkssp.log import logger

    traffic = getattr(args, "traffic", None)
    if traffic is None:
        return graph
    graph, change = with_traffic(graph, traffic)
    if change.unknown:
        unknown = f"{change.unknown:,} of the {change.ways:,} ways in {traffic}"
        logger(__name__).warning("%s are not in the graph and are ignored", unknown)
    return graph


def add_saved(parser: CommandParser) -> None:
    """Add the file of a saved graph: an argument, or an option."""
    made = output_name(".graph")
    parser.add_argument(
        "saved", nargs="?", type=made, metavar="OUT", help="saved graph, such as city.graph; - for standard output"
    )
    parser.add_argument("-o", "--output", type=made, metavar="OUT", help="the same as an option")


def saved_name(args: argparse.Namespace) -> None:
    """Let the file of a saved graph be `args.output`, whether it was an argument or an option.

    Raises
    ------
    QueryError
        If both are given, or none.
    """
    from vkssp.errors import QueryError

    if (args.output is None) == (args.saved is None):
        raise QueryError("give the file of the saved graph once: OUT, or --output OUT")
    args.output, args.saved = args.output or args.saved, None
