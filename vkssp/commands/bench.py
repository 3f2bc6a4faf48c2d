"""Subcommand ``vkssp bench``."""

from __future__ import annotations

import argparse

from vkssp.commands.common import GENERATORS, Result
from vkssp.commands.parser import CommandParser, Repeated
from vkssp.options import Help, add_reading, file_name, output_name

SUMMARY = "time algorithms on graphs, and verify every distance"
EXAMPLE = "vkssp bench road:1024 rmat:20 --algorithms auto,near_far --json times.json"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(json=False)
    parser.add_argument(
        "graphs",
        nargs="*",
        type=file_name,
        metavar="GRAPH",
        help=Help("file, or a graph to generate, such as road:1024 or rmat:20", f"; generators: {GENERATORS}"),
    )
    parser.add_argument(
        "--algorithms",
        default="",
        metavar="A,B",
        help=Help(
            "algorithms to time; NAME@cpu runs one on the CPU",
            " (default: auto, and the algorithms that are fast on any graph)",
        ),
    )
    parser.add_argument(
        "--run",
        action=Repeated,
        default=[],
        metavar="NAME[,PARAMETER=N...]",
        help="algorithm with parameters; may be repeated",
    )
    parser.add_argument(
        "--peers",
        default="",
        metavar="A,B",
        help=Help(
            "other libraries to measure, such as scipy, or all",
            ": scipy, networkit, rustworkx, igraph, routingkit-cch (pip install 'vkssp[bench]')",
        ),
    )
    add_reading(parser)
    parser.add_argument("--suite", action="store_true", help="measure a fixed set of graphs and algorithms: minutes")
    parser.add_argument("--sources", type=int, metavar="N", help="number of random sources (default: 8)")
    parser.add_argument("--repetitions", type=int, metavar="N", help="searches from each source (default: 3)")
    parser.add_argument("--limit", type=float, metavar="S", help="seconds of one algorithm on one graph (default: 60)")
    parser.add_argument(
        "--device",
        help=Help(
            "a GPU by index or name, or cpu; see 'vkssp devices'",
            " (default: $VKSSP_DEVICE, or the fastest Vulkan device, else cpu)",
        ),
    )
    parser.add_argument(
        "-o",
        "--output",
        "--json",
        dest="json_file",
        type=output_name(".json"),
        metavar="T.json",
        help=Help("write all times", ", with device, driver and commit; - writes to standard output"),
    )
    parser.add_argument(
        "--csv", dest="csv_file", type=output_name(".csv"), metavar="T.csv", help="write a row for each search"
    )
    parser.add_argument(
        "--compare",
        nargs="+",
        type=file_name,
        default=[],
        metavar="T.json",
        help="compare results that --json wrote, instead of measuring",
    )
    parser.rare_group("sources").add_argument("--seed", type=int, metavar="S", help="seed of the sources (default: 1)")


def run(args: argparse.Namespace) -> Result:
    """Measure algorithms on graphs, or compare the results of earlier measurements."""
    from vkssp.bench.command import bench

    return bench(args)
