#!/usr/bin/env python3
"""Preparation of a large road network: copies of one network, side by side, joined along their borders.

  scripts/prepare_copies.py USA-road-d.NY.gr.gz --copies 8 5 --output ny40.graph --json ny40.json

Copies lie on a lattice, 1.01 extents of their coordinates apart. Along each border of two copies there are --join
two-way roads, evenly spaced: each joins the nodes of both copies nearest to its place on the border. A road weighs its
length times the mean weight per metre of the graph. For each stage of preparing, the script records the time by the
clock, the processor time (other programs may use the processor, too), and the largest memory of the process so far.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vkssp import Graph, GraphError, QueryError, prepare
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import commit
from vkssp.bench.result import save_result, table
from vkssp.files import check_writable
from vkssp.graph import UNREACHABLE
from vkssp.graph.geo import haversine
from vkssp.hierarchy.prepare import stages
from vkssp.options import file_name
from vkssp.reading import read_graph
from vkssp.terminal import print_lines

#: Distance from a copy to the next, in extents of their coordinates.
PITCH = 1.01


def weight_per_metre(graph: Graph) -> float:
    """Return the weight of all arcs over their length in a straight line."""
    assert graph.lat is not None and graph.lon is not None
    ends = (graph.tail, graph.head)
    metres = haversine(*(values[nodes] for nodes in ends for values in (graph.lat, graph.lon))).sum()
    return float(graph.weight.sum(dtype=np.float64) / metres) if metres > 0 else 0.0


def nearest(graph: Graph, lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
    """Return the nodes nearest to some places, in a plane with the scale of the middle of the graph."""
    from scipy.spatial import cKDTree

    assert graph.lat is not None and graph.lon is not None
    width = np.cos(np.radians((graph.lat.min() + graph.lat.max()) / 2))
    tree = cKDTree(np.stack([graph.lat, width * graph.lon], axis=1))
    return np.asarray(tree.query(np.stack([lat, width * lon], axis=1))[1])


def laid_out(graph: Graph, columns: int, rows: int, join: int) -> Graph:
    """Return copies of a graph on a lattice, joined along their borders.

    Raises
    ------
    GraphError
        If the graph has no coordinates, or the lattice does not fit on the globe.
    """
    if graph.lat is None or graph.lon is None or graph.num_nodes == 0:
        raise GraphError("copies are laid side by side by their coordinates; give a graph that has some")
    low, high = (np.array([values.min(), values.max()]) for values in (graph.lat, graph.lon))
    step_lat, step_lon = (PITCH * max(float(np.ptp(bounds)), 1e-4) for bounds in (low, high))
    for name, bounds, beyond, bound in (
        ("north", low, (rows - 1) * step_lat, 90.0),
        ("east", high, (columns - 1) * step_lon, 180.0),
    ):
        if bounds[1] + beyond > bound:
            raise GraphError(f"the lattice reaches {bounds[1] + beyond:.1f} degrees {name}; lay fewer copies there")
    count, n = columns * rows, graph.num_nodes
    if max(count * n, count * (graph.num_arcs + 4 * join)) >= UNREACHABLE:
        raise GraphError(f"{count:,} copies have too many nodes or arcs for 32 bits; lay fewer")
    copy = np.arange(count)
    lat = (graph.lat + step_lat * (copy // columns)[:, None]).reshape(-1)
    lon = (graph.lon + step_lon * (copy % columns)[:, None]).reshape(-1)
    tails, heads = [], []
    part = (np.arange(join) + 0.5) / join
    for is_east, reaches in ((True, copy % columns < columns - 1), (False, copy // columns < rows - 1)):
        along = (low if is_east else high)[0] + part * np.ptp(low if is_east else high)
        # Nodes of a copy and the next one; all pairs are alike, so one search is enough.
        ends = []
        for bound in (1, 0):
            across = np.full(join, (high if is_east else low)[bound])
            ends.append(nearest(graph, *((along, across) if is_east else (across, along))))
        first = n * copy[reaches]
        tails.append((first[:, None] + ends[0]).reshape(-1))
        heads.append((first[:, None] + n * (1 if is_east else columns) + ends[1]).reshape(-1))
    tail, head = np.concatenate(tails), np.concatenate(heads)
    metres = haversine(lat[tail], lon[tail], lat[head], lon[head])
    weight = np.clip(np.rint(weight_per_metre(graph) * metres), 1, UNREACHABLE - 1).astype(np.uint32)
    offset = np.repeat((n * copy).astype(np.uint32), graph.num_arcs)
    return Graph.from_edges(
        np.concatenate([np.tile(graph.tail, count) + offset, tail.astype(np.uint32), head.astype(np.uint32)]),
        np.concatenate([np.tile(graph.head, count) + offset, head.astype(np.uint32), tail.astype(np.uint32)]),
        np.concatenate([np.tile(graph.weight, count), weight, weight]),
        num_nodes=count * n,
        lat=lat,
        lon=lon,
    )


def peak_bytes() -> int:
    """Return the largest memory of this process so far, without the process that orders the core."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def cpu_s() -> float:
    """Return the processor seconds of this process and of finished child processes."""
    return sum(os.times()[:4])


class Stages:
    """Times of consecutive stages, with the largest memory at the end of each."""

    def __init__(self, each: Callable[[], None]) -> None:
        self.rows: list[dict[str, Any]] = []
        self._each = each

    def run(self, name: str, act: Callable[[], Any]) -> Any:
        """Run a stage, record its time, and report it."""
        began, began_cpu = time.perf_counter(), cpu_s()
        found = act()
        seconds, taken = time.perf_counter() - began, cpu_s() - began_cpu
        self.rows.append({"stage": name, "seconds": seconds, "cpu_s": taken, "peak_bytes": peak_bytes()})
        print(f"{name}: {seconds:.1f} s, {self.rows[-1]['peak_bytes'] / 1e9:.2f} GB", file=sys.stderr, flush=True)
        self._each()
        return found

    def prepare(self, graph: Graph) -> Graph:
        """Prepare a graph, and record its stages."""
        run = stages(graph)
        (name, _), found = next(run), []

        def go_on() -> str:
            following = name
            while following == name:
                try:
                    following, _ = next(run)
                except StopIteration as done:
                    found.append(done.value)
                    return ""
            return following

        while not found:
            name = self.run(name, go_on)
        prepared: Graph = found[0]
        return prepared


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Prepare the copies, and return times and memory."""
    columns, rows = args.copies
    result: dict[str, Any] = {
        "commit": commit() or "unknown",
        "cores": os.cpu_count(),
        "graph": args.graph,
        "copies": [columns, rows],
        "join": args.join,
    }

    def keep() -> None:
        if args.json_file:
            save_result(args.json_file, result)

    steps = Stages(keep)
    result["stages"] = steps.rows
    prepare(Graph.from_edges([0], [1], [1]))  # loads compiled code
    graph = steps.run("reading", lambda: read_graph(args.graph))
    graph = steps.run("laying copies", lambda: laid_out(graph, columns, rows, args.join))
    result |= {"nodes": graph.num_nodes, "arcs": graph.num_arcs}
    before = len(steps.rows)
    prepared = steps.prepare(graph)
    for name in ("seconds", "cpu_s"):
        result[f"prepare_{name}"] = sum(row[name] for row in steps.rows[before:])
    hierarchy = prepared.hierarchy
    assert hierarchy is not None
    result["hierarchy"] = {
        "arcs": hierarchy.num_arcs,
        "supernodes": hierarchy.num_supernodes,
        "ancestors": len(hierarchy.ancestor),
        "levels": hierarchy.num_levels,
        "height": hierarchy.tree_height,
    }
    steps.run("checks", lambda: hierarchy.check(prepared))
    if args.output:
        steps.run("saving", lambda: prepared.save(args.output))
        result["file_bytes"] = os.path.getsize(args.output)
        del graph, prepared, hierarchy
        steps.run("loading, with checks", lambda: Graph.load(args.output))
    result["peak_bytes"] = peak_bytes()
    keep()
    return result


def report(result: dict[str, Any]) -> list[str]:
    """Return the result as lines."""
    hierarchy, nodes = result["hierarchy"], result["nodes"]
    columns, rows = result["copies"]
    cells = [
        (row["stage"], *(f"{row[name]:.1f}" for name in ("seconds", "cpu_s")), f"{row['peak_bytes'] / 1e9:.2f}")
        for row in result["stages"]
    ]
    return [
        f"{result['graph']}, {columns} by {rows} copies: {nodes:,} nodes, {result['arcs']:,} arcs; {result['commit']}",
        f"a hierarchy of {hierarchy['arcs']:,} arcs both ways, {hierarchy['supernodes']:,} supernodes in "
        f"{hierarchy['levels']} levels, {hierarchy['height']:,} nodes high; {result['prepare_seconds']:.1f} s, "
        f"{1e6 * result['prepare_seconds'] / nodes:.1f} microseconds a node",
        "",
        *table(("stage", "s", "s of the processor", "GB by then"), cells),
    ]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a file, with coordinates of its nodes")
    parser.add_argument("--copies", type=int, nargs=2, required=True, metavar=("COLUMNS", "ROWS"))
    parser.add_argument(
        "--join", type=int, default=32, metavar="N", help="roads between two neighbours (default: %(default)s)"
    )
    parser.add_argument("--output", type=file_name, metavar="OUT", help="the graph file to write, and to load again")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    args = parser.parse_args()

    def run() -> None:
        if min(args.copies) < 1 or args.join < 0:
            raise QueryError("--copies takes 1 or more, --join 0 or more")
        if args.output:
            check_writable(args.output, args.graph, args.json_file, content="a saved graph")
        if args.json_file:
            check_writable(args.json_file, args.graph, content="JSON")
        result = measure(args)
        print_lines(report(result))

    return exit_code(run)


if __name__ == "__main__":
    sys.exit(main())
