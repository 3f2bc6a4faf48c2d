#!/usr/bin/env python3
"""Times of conversions of other libraries' graphs, and whether these hold the same edges.

  scripts/measure_conversions.py                      a million edges; a tenth of it for networks of osmnx and lines
  scripts/measure_conversions.py --edges 100000 --only networkx osmnx

The graph is a grid with random weights, whole or real. Each time is a median with its quartiles; the first conversion,
which loads compiled code, is left out. Afterwards the weights of the result are compared with those of the source.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

import vkssp
from vkssp import CpuDevice, Graph, VksspError
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.terminal import print_lines


class Grid:
    """Directed grid with random weights, as arrays.

    Parameters
    ----------
    num_arcs : int
        Least number of arcs.
    """

    def __init__(self, num_arcs: int) -> None:
        side = int(np.ceil(np.sqrt(num_arcs / 4))) + 1
        at = np.arange(side * side).reshape(side, side)
        pairs = [(at[:, :-1], at[:, 1:]), (at[:-1], at[1:])]
        self.tail = np.concatenate([end.ravel() for a, b in pairs for end in (a, b)])
        self.head = np.concatenate([end.ravel() for a, b in pairs for end in (b, a)])
        rng = np.random.default_rng(1)
        self.whole = rng.integers(1, 1000, len(self.tail))
        self.real = self.whole * rng.uniform(0.5, 1.5, len(self.tail))
        self.num_nodes = side * side
        self.lon, self.lat = 1.5 + at.ravel() % side / 1e4, 42.0 + at.ravel() // side / 1e4

    def matrix(self, weight: npt.NDArray[Any]) -> Any:
        """Return weights by tail and head, as a scipy CSR matrix."""
        return sparse.csr_array((weight, (self.tail, self.head)), shape=(self.num_nodes,) * 2)


def of_scipy(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a CSR matrix of int32, of which nothing is copied."""
    matrix = grid.matrix(grid.whole)
    parts = [part.astype(np.int32) for part in (matrix.data, matrix.indices, matrix.indptr)]
    for array in parts:
        array.setflags(write=False)
    return sparse.csr_array(tuple(parts), shape=matrix.shape), Graph.from_scipy


def of_real_scipy(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a CSR matrix of float64."""
    return grid.matrix(grid.real), Graph.from_scipy


def of_arrays(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return arrays of edges with real weights."""
    return (grid.tail, grid.head, grid.real), lambda arrays: Graph.from_edges(*arrays)


def of_frame(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a DataFrame of pandas with real weights."""
    import pandas

    frame = pandas.DataFrame({"tail": grid.tail, "head": grid.head, "weight": grid.real})
    return frame, vkssp.from_dataframe


def of_networkx(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a DiGraph of NetworkX with whole weights."""
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(range(grid.num_nodes))
    edges = zip(grid.tail.tolist(), grid.head.tolist(), grid.whole.tolist(), strict=True)
    graph.add_weighted_edges_from(edges)
    return graph, vkssp.from_networkx


def of_igraph(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a graph of igraph with real weights."""
    import igraph

    graph = igraph.Graph(grid.num_nodes, np.stack([grid.tail, grid.head], axis=1), directed=True)
    graph.es["weight"] = grid.real
    return graph, vkssp.from_igraph


def of_networkit(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a graph of networkit with real weights."""
    import networkit

    entries = (grid.real, (grid.tail.astype(np.uint64), grid.head.astype(np.uint64)))
    return networkit.GraphFromCoo(entries, n=grid.num_nodes, weighted=True, directed=True), vkssp.from_networkit


def of_osmnx(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a street network as osmnx has it: a MultiDiGraph with shapes of every other street."""
    import networkx
    from shapely import LineString

    network = networkx.MultiDiGraph(crs="EPSG:4326")
    for node, (lat, lon) in enumerate(zip(grid.lat.tolist(), grid.lon.tolist(), strict=True)):
        network.add_node(node, x=lon, y=lat, street_count=4)
    rows = zip(grid.tail.tolist(), grid.head.tolist(), grid.whole.tolist(), grid.real.tolist(), strict=True)
    for tail, head, length, seconds in rows:
        told = {"osmid": min(tail, head), "highway": "residential", "name": f"Street {min(tail, head) // 50}"}
        told |= {"oneway": False, "reversed": tail > head, "length": float(length), "travel_time": seconds}
        low, high = sorted((tail, head))
        if low % 2:
            ends = [(grid.lon[low], grid.lat[low]), (grid.lon[high], grid.lat[high])]
            line = [ends[0], *((ends[0][0] + at * 1e-5, ends[0][1] + at * 1e-6) for at in range(1, 5)), ends[1]]
            told["geometry"] = LineString(line if tail < head else line[::-1])
        network.add_edge(tail, head, **told)
    return network, vkssp.from_osmnx


def of_lines(grid: Grid) -> tuple[Any, Callable[[Any], Graph]]:
    """Return a layer of lines, one for each direction."""
    import geopandas
    import shapely

    ends = np.stack([np.stack([grid.lon[at], grid.lat[at]], axis=1) for at in (grid.tail, grid.head)], axis=1)
    frame = geopandas.GeoDataFrame({"cost": grid.real, "oneway": "yes"}, geometry=shapely.linestrings(ends), crs=4326)
    return frame, lambda layer: vkssp.from_geodataframe(layer, "cost", oneway="oneway")


#: What each source is, by name, and the part of the edges that it has.
SOURCES: dict[str, tuple[Callable[[Grid], tuple[Any, Callable[[Any], Graph]]], str, float]] = {
    "scipy": (of_scipy, "scipy CSR, int32, read-only", 1.0),
    "scipy_real": (of_real_scipy, "scipy CSR, float64", 1.0),
    "arrays": (of_arrays, "arrays of edges, float64", 1.0),
    "pandas": (of_frame, "pandas DataFrame, float64", 1.0),
    "networkx": (of_networkx, "networkx DiGraph, integers", 1.0),
    "igraph": (of_igraph, "igraph Graph, floats", 1.0),
    "networkit": (of_networkit, "networkit Graph, floats", 1.0),
    "osmnx": (of_osmnx, "osmnx MultiDiGraph, seconds", 0.1),
    "lines": (of_lines, "geopandas lines, float64", 0.1),
}


def check(name: str, grid: Grid, source: Any, graph: Graph) -> None:
    """Raise an error unless a graph has the weights of the grid, and shares arrays that need no copy."""
    true = np.sort(grid.whole if name in ("scipy", "networkx") else grid.real)
    is_right = np.allclose(np.sort(graph.to_scipy().data), true, rtol=0, atol=graph.weight_error * 1.01)
    if name == "scipy":
        shared = ((graph.weight, source.data), (graph.head, source.indices), (graph.first_out, source.indptr))
        is_right = is_right and all(np.shares_memory(*pair) for pair in shared)
    if not is_right:
        raise VksspError(f"wrong graph of {name}")


def run(args: argparse.Namespace) -> None:
    """Measure all conversions, and print a table."""
    with CpuDevice() as device:
        host = where_and_when(device)
    packages = [name for name in ("networkx", "pandas", "scipy", "igraph", "networkit", "geopandas") if _version(name)]
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    print_lines(
        [
            f"{host['host']['cpu']}, {host['host']['cores']} cores; vkssp {host['commit'] or host['vkssp']}, "
            f"{versions}, Python {host['host']['python']}",
            f"medians and quartiles of {args.repetitions} conversions, in seconds",
            "",
            "| from | edges | s |",
            "|---|--:|--:|",
        ]
    )
    for name in args.only:
        make, title, part = SOURCES[name]
        grid = Grid(round(args.edges * part))
        source, convert = make(grid)
        graph, seconds = convert(source), []
        for _ in range(args.repetitions):
            began = time.perf_counter()
            graph = convert(source)
            seconds.append(time.perf_counter() - began)
        check(name, grid, source, graph)
        low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75])
        print_lines([f"| {title} | {graph.num_arcs:,} | {median:.4f} ({low:.4f} to {high:.4f}) |"])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=1_000_000, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--only", nargs="+", choices=SOURCES, default=list(SOURCES), metavar="NAME", help=", ".join(SOURCES)
    )
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="default: %(default)s")
    return exit_code(lambda: run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
