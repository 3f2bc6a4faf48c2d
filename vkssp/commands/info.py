"""Subcommand ``vkssp info``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from vkssp.commands.common import (
    Result,
    add_graph,
    hierarchy_line,
    hierarchy_numbers,
    load,
    number_text,
    scale_text,
    unit_text,
)
from vkssp.commands.parser import CommandParser

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from vkssp.graph.streets import Streets

SUMMARY = "show the contents of a graph"
EXAMPLE = "vkssp info andorra.graph"


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of this command."""
    add_graph(parser)


def run(args: argparse.Namespace) -> Result:
    """Describe the contents of a graph."""
    import numpy as np

    from vkssp.checks import shown

    graph = load(args)
    degree = graph.first_out[1:] - graph.first_out[:-1]
    result: dict[str, Any] = {
        "nodes": graph.num_nodes,
        "arcs": graph.num_arcs,
        "largest_degree": int(degree.max(initial=0)),
        "weight": None,
        "scale": graph.scale,
        "weight_error": graph.weight_error,
        "names": graph.names is not None,
        "bounds": None,
        "streets": None,
        "hierarchy": None,
    }
    lines = [f"{graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs, at most {result['largest_degree']:,} from one node"]
    if graph.num_arcs:
        weight = graph.weight
        least, largest = (graph.units.value(int(bound)) for bound in (weight.min(), weight.max()))
        mean = float(weight.mean()) * (graph.scale or 1.0)
        result["weight"] = {"least": least, "mean": mean, "largest": largest}
        average = f"{mean:,.1f}" if graph.scale is None else f"{mean:,.6g}"
        bounds = f"{number_text(least)} to {number_text(largest)}"
        lines.append(f"weights {bounds}, {average} on average{unit_text(graph)}")
        if graph.scale is not None:
            lines.append(f"weights are multiples of {scale_text(graph)}")
    if graph.names is not None and graph.num_nodes:
        lines.append(f"nodes have names, such as {shown(graph.names[0])}")
    if graph.lat is not None and graph.lon is not None and graph.num_nodes:
        south, north = float(graph.lat.min()), float(graph.lat.max())
        west, east = float(graph.lon.min()), float(graph.lon.max())
        result["bounds"] = {"south": south, "west": west, "north": north, "east": east}
        lines.append(f"from LAT,LON {south:.5f},{west:.5f} to {north:.5f},{east:.5f}")
    streets = graph.streets
    if streets is not None:
        # With turn costs, a street has one arc for each turn into it.
        once = _each_street_once(streets) if streets.turns == "costs" else slice(None)
        named = int(np.count_nonzero(streets.name[once]))
        kilometres = float(streets.length[once].sum(dtype=np.float64)) / 1000
        result["streets"] = {
            "arc_kilometres": kilometres,
            "polylines": len(streets.polyline_first) - 1,
            "points": len(streets.points),
            "names": len(streets.names) - 1,
            "named_arcs": named,
            "seconds_per_weight": streets.seconds_per_weight,
            "turns": streets.turns,
        }
        lines.append(
            f"{kilometres:,.0f} km of arcs along {len(streets.polyline_first) - 1:,} streets with "
            f"{len(streets.points):,} points; {len(streets.names) - 1:,} names"
        )
        if streets.junction is not None:
            places = len(np.unique(streets.junction))
            what = "obeys turn restrictions" if streets.turn is None else "obeys turn restrictions, and turns take time"
            lines.append(f"{what}: the nodes stand for {places:,} places")
    if graph.hierarchy is not None:
        result["hierarchy"] = hierarchy_numbers(graph.hierarchy)
        lines.append(f"prepared: {hierarchy_line(graph.hierarchy)}")
    return result, lines


def _each_street_once(streets: Streets) -> npt.NDArray[np.int64]:
    """Return one arc for each polyline and direction."""
    import numpy as np

    _, arcs = np.unique(streets.polyline.astype(np.int64) * 2 + streets.backward, return_index=True)
    return arcs
