"""Subcommand ``vkssp prepare``."""

from __future__ import annotations

import argparse
import time

from vkssp.commands.common import (
    Result,
    add_graph,
    add_saved,
    check_outputs,
    hierarchy_line,
    hierarchy_numbers,
    is_watched,
    load,
    saved_name,
)
from vkssp.commands.parser import CommandParser

SUMMARY = "add a hierarchy to a graph, for faster searches; weights may still change"
EXAMPLE = "vkssp prepare andorra.graph fast.graph"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)
    add_saved(parser)


def run(args: argparse.Namespace) -> Result:
    """Prepare a graph, and save it."""
    from vkssp.hierarchy.metis import require_metis
    from vkssp.hierarchy.prepare import prepare

    saved_name(args)
    check_outputs(args, output="a saved graph")
    require_metis()  # before a graph is read, which may take long
    graph = load(args, basemap=True)
    began = time.perf_counter()
    prepared = prepare(graph, progress=is_watched(args))
    seconds = time.perf_counter() - began
    hierarchy = prepared.hierarchy
    assert hierarchy is not None
    prepared.save(args.output)
    size = {"nodes": graph.num_nodes, "arcs": graph.num_arcs, "hierarchy": hierarchy_numbers(hierarchy)}
    return {**size, "seconds": seconds, "output": args.output}, [
        f"{graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs",
        f"{hierarchy_line(hierarchy)}, in {seconds:.1f} s",
        f"wrote {args.output}",
    ]
