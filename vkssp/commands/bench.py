"""Subcommand ``vkssp bench``."""

from __future__ import annotations

import argparse

from vkssp.commands.common import Result
from vkssp.options import add_reading, file_name

SUMMARY = "time algorithms on graphs, and verify every distance"
EXAMPLE = "vkssp bench road:1024 rmat:20 --algorithms auto,near_far --json times.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(json=False)
    parser.add_argument(
        "graphs",
        nargs="*",
        type=file_name,
        metavar="GRAPH",
        help="graph: a file, or one to generate: road:SIDE, rmat:SCALE, random:NODES,DEGREE, ba:NODES,ARCS, "
        "gnm:NODES,ARCS, martin:NODES or kronecker:SCALE",
    )
    parser.add_argument(
        "--algorithms",
        default="",
        metavar="A,B",
        help="algorithms to time; NAME@cpu runs one on the CPU (default: auto, and the algorithms that are fast on "
        "any graph)",
    )
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="NAME[,PARAMETER=N...]",
        help="algorithm with parameters; may be repeated",
    )
    parser.add_argument(
        "--peers",
        default="",
        metavar="A,B",
        help="other libraries to measure: scipy, networkit, rustworkx, igraph, routingkit-cch, or all "
        "(pip install 'vkssp[bench]')",
    )
    add_reading(parser)
    parser.add_argument(
        "--suite",
        action="store_true",
        help="measure a fixed set of graphs and algorithms: some minutes on a modern GPU",
    )
    parser.add_argument("--sources", type=int, metavar="N", help="number of random sources (default: 8)")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the sources (default: 1)")
    parser.add_argument("--repetitions", type=int, metavar="N", help="number of searches from each source (default: 3)")
    parser.add_argument(
        "--limit", type=float, metavar="S", help="seconds of running time for one algorithm on one graph (default: 60)"
    )
    parser.add_argument(
        "--device",
        help="index or part of the name, or cpu (default: $VKSSP_DEVICE, or the fastest Vulkan device, else cpu)",
    )
    parser.add_argument(
        "--json",
        dest="json_file",
        type=file_name,
        metavar="FILE",
        help="file to write: all times, with device, driver and commit",
    )
    parser.add_argument("--csv", dest="csv_file", type=file_name, metavar="FILE", help="write a row for each search")
    parser.add_argument(
        "--compare",
        nargs="+",
        type=file_name,
        default=[],
        metavar="FILE",
        help="compare results that --json wrote, instead of measuring",
    )


def run(args: argparse.Namespace) -> Result:
    """Measure algorithms on graphs, or compare the results of earlier measurements."""
    from vkssp.bench.command import bench

    return bench(args)
