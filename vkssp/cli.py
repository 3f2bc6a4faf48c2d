"""The command line: ``vkssp devices``, ``import``, ``route`` and so on; see `COMMANDS`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from vkssp import __version__
from vkssp.commands import COMMANDS
from vkssp.errors import VksspError
from vkssp.options import add_reading
from vkssp.reduction import REDUCTIONS
from vkssp.solvers.base import COUNTING
from vkssp.solvers.choice import DEFAULT_ALGORITHM
from vkssp.solvers.prepare import ORDERS

_NUMBER = re.compile(r"-\d|-\.\d")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see '{self.prog} --help'\n")


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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="vkssp", description="Shortest paths on any GPU that speaks Vulkan.")
    parser.add_argument("--version", action="version", version=f"vkssp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)

    def command(name: str, summary: str, *, is_for_programs: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if is_for_programs:
            sub.add_argument("--json", action="store_true", help="print one JSON object, for programs")
        return sub

    def with_graph(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "graph",
            metavar="GRAPH",
            help="a saved graph; an OpenStreetMap extract; a DIMACS, PACE, Matrix Market or METIS graph or an edge "
            "list, perhaps compressed; or a graph to generate, such as rmat:20",
        )
        add_reading(sub)

    def with_solver(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
        sub.add_argument(
            "--algorithm",
            default=DEFAULT_ALGORITHM,
            metavar="NAME",
            help=f"one of those that 'vkssp algorithms' lists, or auto, the fastest for the graph "
            f"(default: {DEFAULT_ALGORITHM})",
        )
        sub.add_argument(
            "--set",
            type=setting,
            action="append",
            default=[],
            metavar="NAME=N",
            help="a parameter of the algorithm, such as delta=1000; may be repeated",
        )
        sub.add_argument(
            "--order",
            choices=ORDERS,
            default="auto",
            help="number nodes by their coordinates (z), by hops from landmarks, not at all (natural), or by what "
            "suits the graph (auto, the default)",
        )
        sub.add_argument(
            "--reduction",
            choices=REDUCTIONS,
            help="take dead ends and chains out of the graph before: full, auto (where it pays; the default where the "
            "algorithm is auto), none (else)",
        )

    command("devices", "list the Vulkan devices of this machine")

    sub = command("algorithms", "list the algorithms, their parameters, and when to use which")
    sub.add_argument("name", nargs="?", metavar="NAME", help="only this one")

    sub = command("import", "make a graph from an OpenStreetMap extract or another file, and save it")
    sub.add_argument(
        "extract", metavar="EXTRACT", help=".osm.pbf, .osm, .osm.gz or .osm.bz2, or what else the other commands read"
    )
    sub.add_argument("output", metavar="OUT", help="the graph file to write")
    sub.add_argument(
        "--all-nodes",
        action="store_true",
        help="of an extract: make nodes of what only gives streets their shape, too; weights are milliseconds then",
    )
    add_reading(sub)

    sub = command("info", "say what a graph holds")
    with_graph(sub)

    sub = command("route", "find the best route between two places")
    with_graph(sub)
    sub.add_argument("--from", dest="origin", type=latlon, required=True, metavar="LAT,LON", help="where it begins")
    sub.add_argument("--to", dest="destination", type=latlon, required=True, metavar="LAT,LON", help="where it ends")
    sub.add_argument("--output", metavar="R.geojson", help="write the route as GeoJSON")
    sub.add_argument("--map", metavar="R.html", help="write a map that opens without a network")
    with_solver(sub)

    sub = command("isochrone", "find what can be reached from a place within some times")
    with_graph(sub)
    sub.add_argument("--from", dest="origin", type=latlon, required=True, metavar="LAT,LON", help="where it begins")
    limits = sub.add_mutually_exclusive_group(required=True)
    limits.add_argument("--minutes", type=numbers, metavar="M,M", help="minutes, such as 5,10,15")
    limits.add_argument(
        "--limits", type=numbers, metavar="W,W", help="the same in weights, where those are no durations"
    )
    sub.add_argument(
        "--width",
        type=float,
        default=50.0,
        metavar="METRES",
        help="metres to either side of a road that count as reached (default: 50)",
    )
    sub.add_argument("--output", metavar="I.geojson", help="write them as polygons along the roads, GeoJSON")
    with_solver(sub)

    sub = command("nearest", "find the streets near a place")
    with_graph(sub)
    sub.add_argument("--at", dest="place", type=latlon, required=True, metavar="LAT,LON", help="the place")
    sub.add_argument("--number", type=int, default=1, metavar="N", help="how many streets at most (default: 1)")

    sub = command("distances", "find the distances from one node to all")
    with_graph(sub)
    sub.add_argument("--source", type=int, required=True, metavar="N", help="node id")
    sub.add_argument(
        "--output", metavar="D.npy", help="write them as a NumPy array of uint32; 4294967295 where no path leads"
    )
    sub.add_argument(
        "--counters", choices=COUNTING[:2], default=COUNTING[0], help="what to count: only iterations, or all work too"
    )
    sub.add_argument("--trace", metavar="T.csv", help="write what each iteration did as a table")
    with_solver(sub)

    sub = command("bench", "time algorithms on graphs, every distance verified", is_for_programs=False)
    sub.set_defaults(json=False)
    sub.add_argument("graphs", nargs="*", metavar="GRAPH", help="a file, or an expression such as rmat:20 or road:1024")
    sub.add_argument(
        "--algorithms", default="", metavar="A,B", help="names (default: those that are quick on any graph)"
    )
    sub.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="NAME[,PARAMETER=N...]",
        help="an algorithm with parameters; may be repeated",
    )
    sub.add_argument(
        "--peers",
        default="",
        metavar="A,B",
        help="other libraries to measure beside: scipy, networkit, rustworkx, igraph, routingkit-cch, or all "
        "(pip install 'vkssp[bench]')",
    )
    add_reading(sub)
    sub.add_argument("--suite", action="store_true", help="measure a fixed set, about ten minutes on a modern GPU")
    sub.add_argument("--sources", type=int, metavar="N", help="random sources (default: 8)")
    sub.add_argument("--seed", type=int, metavar="S", help="seed of the sources (default: 1)")
    sub.add_argument("--repetitions", type=int, metavar="N", help="searches from each source (default: 3)")
    sub.add_argument("--limit", type=float, metavar="S", help="seconds for one algorithm on one graph (default: 60)")
    sub.add_argument("--device", help="index or part of the name (default: $VKSSP_DEVICE, or the fastest kind)")
    sub.add_argument("--json", dest="json_file", metavar="FILE", help="write all times and what they depend on")
    sub.add_argument("--csv", dest="csv_file", metavar="FILE", help="write a row for each search")
    sub.add_argument(
        "--compare", nargs="+", default=[], metavar="FILE", help="put results that --json wrote side by side"
    )
    return parser


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join options to values that begin with a minus, which argparse would take for options: places in the south."""
    result: list[str] = []
    for argument in arguments:
        if result and result[-1] in ("--from", "--to", "--source") and _NUMBER.match(argument):
            result[-1] += f"={argument}"
        else:
            result.append(argument)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, or 2 after a line that says what to do about an error."""
    args = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        result, lines = COMMANDS[args.command](args)
        _print(json.dumps(result, allow_nan=False) if args.json else "\n".join(lines))
        return 0
    except OSError as error:  # a name too long, a folder that may not be entered, a full disk under the output
        message = f"{error.filename or 'standard output'}: {error.strerror or error}; check the path and the room left"
    except VksspError as error:
        message = " ".join(str(error).split())
    except MemoryError:
        message = "there is not enough memory for this graph; use a smaller one, or a machine with more"
    except KeyboardInterrupt:
        return 130
    print(f"vkssp: {message}", file=sys.stderr)
    return 2


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stdout = None
    except UnicodeEncodeError:  # a terminal that does not know the letters of a street name
        encoding: Any = sys.stdout.encoding
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


if __name__ == "__main__":
    sys.exit(main())
