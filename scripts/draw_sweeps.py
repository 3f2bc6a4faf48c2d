#!/usr/bin/env python3
"""Draw how delta_step goes over a road network: the ids that its sweeps cover, the ids on the map, and a film.

Reproduces the figures of P. Niklaus, "Optimizing Delta-Step on the GPU", 2026, other than that of query times, which
scripts/dijkstra_rank.py draws:

  sweeps.png  width of the range of ids that each sweep covers, in the graph's own numbering (for an extract that of
              OpenStreetMap) and along the Z-order curve
  ids.png     nodes coloured by their id, in both numberings
  reads.png   how often sweeps read the distance of each node, in both numberings
  film.webp   the search on the map: settled, near and far nodes (with --film)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vkssp import UNREACHABLE, Graph, Solver, VksspError, read_graph, z_order
from vkssp.bench.evaluation import import_pyplot, save_figure
from vkssp.errors import QueryError
from vkssp.gpu.device import Device
from vkssp.osm import import_extract, is_extract
from vkssp.storage import check_writable

ORDERS = {"natural": "own numbering", "z": "Z-order"}
FRAMES = 120


def ids(graph: Graph, order: str) -> np.ndarray:
    """Return the id of each node in a numbering."""
    if order == "natural":
        return np.arange(graph.num_nodes)
    return z_order(graph.lat, graph.lon).rank.astype(np.int64)


def read_counts(trace: np.ndarray, num_nodes: int) -> np.ndarray:
    """Return how many sweeps covered each id."""
    change = np.zeros(num_nodes + 1, np.int64)
    np.add.at(change, trace["first_node"], 1)
    np.add.at(change, np.minimum(trace["last_node"].astype(np.int64) + 1, num_nodes), -1)
    return np.cumsum(change)[:-1]


def scatter(axes: Any, graph: Graph, values: np.ndarray, title: str, **settings: Any) -> Any:
    """Draw a value of each node on the map."""
    size = float(np.clip(2e4 / graph.num_nodes, 0.2, 6.0))
    drawn = axes.scatter(graph.lon, graph.lat, c=values, s=size, linewidths=0, rasterized=True, **settings)
    # Extracts have a few streets that lead far out of what they are of.
    (west, east), (south, north) = (np.percentile(of, [1, 99]) for of in (graph.lon, graph.lat))
    margin = 0.1 * max(east - west, north - south)
    axes.set(xlim=(west - margin, east + margin), ylim=(south - margin, north + margin))
    axes.set(title=title, xticks=[], yticks=[], aspect=1 / np.cos(np.radians(np.mean(graph.lat))))
    return drawn


def draw_maps(pyplot: Any, path: Path, graph: Graph, values: dict[str, np.ndarray], legend: str) -> None:
    """Draw a value of each node in both numberings side by side."""
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    most = max(int(of_order.max()) for of_order in values.values())
    for (order, of_order), place in zip(values.items(), axes, strict=True):
        drawn = scatter(place, graph, of_order, ORDERS[order], cmap="viridis", vmin=0, vmax=most)
    figure.colorbar(drawn, ax=axes, label=legend)
    save_figure(figure, path)
    pyplot.close(figure)


def film(pyplot: Any, path: Path, graph: Graph, distances: np.ndarray, trace: np.ndarray) -> None:
    """Write a film of the search: what is settled, what lies in the present bucket, what waits."""
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.colors import ListedColormap

    largest = int(distances[distances != UNREACHABLE].max())
    # As many moments as there are frames; a sweep of a wide bucket has worked its way to where its trace says.
    moments = np.linspace(0, largest, FRAMES)
    width = max(largest // 25, 1)
    figure, axes = pyplot.subplots(figsize=(6, 6), layout="constrained")
    colours = ListedColormap(["#cccccc", "#f4a261", "#2a6f97"])  # far, near, settled
    drawn = scatter(axes, graph, np.zeros(graph.num_nodes), "", cmap=colours, vmin=0, vmax=2)

    def frame(number: int) -> Any:
        state = np.zeros(graph.num_nodes)
        state[distances < moments[number] + width] = 1
        state[distances < moments[number]] = 2
        drawn.set_array(state)
        sweep = int(len(trace) * number / FRAMES)
        axes.set_title(f"settled {np.count_nonzero(state == 2):,} of {graph.num_nodes:,}, about sweep {sweep:,}")
        return (drawn,)

    # Pillow chooses the format by the ending, so the temporary file has that of the target.
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        FuncAnimation(figure, frame, frames=FRAMES).save(temporary, writer=PillowWriter(fps=20), dpi=80)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        pyplot.close(figure)


def run(args: argparse.Namespace) -> None:
    """Search in both numberings and draw."""
    folder = Path(args.output)
    paths = {name: folder / name for name in ("sweeps.png", "ids.png", "reads.png")}
    for path in (*paths.values(), *([args.film] if args.film else [])):
        check_writable(path, args.graph)
    pyplot = import_pyplot()
    # Saved graphs are in Z-order already; an extract still has the numbering of OpenStreetMap.
    graph = import_extract(args.graph, order="natural")[0] if is_extract(args.graph) else read_graph(args.graph)
    if graph.lat is None:
        raise QueryError("graph has no coordinates, so there is no map of it; import one from OpenStreetMap")
    traces, reads, distances = {}, {}, None
    with Device(args.device) as device:
        for order in ORDERS:
            with Solver(graph, "delta_step", device, order=order, counters="trace") as solver:
                distances = solver.distances(args.source)
                traces[order] = solver.trace()
                reads[order] = read_counts(traces[order], graph.num_nodes)[ids(graph, order)]
    figure, axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")
    for order, trace in traces.items():
        width = trace["last_node"].astype(np.int64) - trace["first_node"] + 1
        axes.plot(trace["iteration"], width, linewidth=0.8, label=f"{ORDERS[order]}, {width.mean():,.0f} on average")
        print(f"{ORDERS[order]}: {len(trace):,} sweeps of {width.mean():,.0f} ids on average")
    axes.axhline(graph.num_nodes / 3, color="grey", linestyle=":", label="a third of the nodes, as for random ids")
    axes.set(xlabel="sweep", ylabel="ids that it covers", title=f"delta_step on {Path(args.graph).name}")
    axes.legend()
    save_figure(figure, paths["sweeps.png"])
    pyplot.close(figure)
    draw_maps(pyplot, paths["ids.png"], graph, {order: ids(graph, order) for order in ORDERS}, "id of the node")
    draw_maps(pyplot, paths["reads.png"], graph, reads, "sweeps that read the node's distance")
    if args.film:
        assert distances is not None
        film(pyplot, Path(args.film), graph, distances, traces["z"])


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", metavar="GRAPH", help="a graph with coordinates, or an OpenStreetMap extract")
    parser.add_argument("--source", type=int, default=0, metavar="N", help="node id (default: 0)")
    parser.add_argument("--output", default=".", metavar="FOLDER", help="where the pictures are written")
    parser.add_argument("--film", metavar="FILE.webp", help="write a film, too (.webp or .gif)")
    parser.add_argument("--device", help="index or part of the name")
    try:
        run(parser.parse_args())
    except VksspError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
