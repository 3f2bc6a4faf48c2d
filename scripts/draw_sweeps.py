#!/usr/bin/env python3
"""Pictures of delta_step on a road network: the ids that its sweeps cover, their reads, and a film of a search.

Reproduces the figures of P. Niklaus, "Optimizing Delta-Step on the GPU", 2026, except that of query times, which
scripts/dijkstra_rank.py draws:

  sweeps.png  width of the range of ids that each sweep covers, in the graph's own numbering (for an extract that of
              OpenStreetMap) and along the Z-order curve; from the device's trace
  ids.png     streets coloured by the id of their nodes, in both numberings
  reads.png   heat maps of the sweeps that cover a node, in both numberings, from the trace: the document's kernel reads
              the distance (dist) of every node in the range, ours that or its bit; and of the sweeps in which a node
              relaxes its arcs and reads first_out. No trace has the latter, so numpy repeats the sweeps, with all nodes
              of a sweep at once (see vkssp.bench.replay)
  film.webp   a search on the map (with --film). The thresholds low and high of each bucket are those of the device's
              trace; numpy repeats the steps within a bucket. A node is settled if its distance lies below low,
              near if it lies below high, far if the search has reached it but it lies beyond. Half a street has the
              colour of the node at its end. The film ends with the route to the farthest place on the map.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from vkssp import UNREACHABLE, Graph, Solver, read_graph
from vkssp.bench.evaluation import exit_code, import_pyplot
from vkssp.bench.film import Film, check_film, write_film
from vkssp.bench.replay import range_widths, replay, times_covered
from vkssp.bench.streetmap import BACKGROUND, StreetMap, window_of
from vkssp.commands.common import latlon
from vkssp.errors import QueryError
from vkssp.files import atomic_write, check_writable
from vkssp.gpu.device import Device
from vkssp.graph.geo import haversine
from vkssp.options import file_name
from vkssp.osm import import_extract, is_extract
from vkssp.prepared.renumbered import RenumberedGraph

PICTURES = ("sweeps.png", "ids.png", "reads.png")
COLOURS = {"natural": "#e08a4f", "z": "#3f8fe0"}
#: Pixels of a figure from left to right, of its margin, and of the film; and how much wider than high the film may be.
WIDTH, MARGIN, FILM_WIDTH, FILM_SHAPES = 900, 10, 800, (1.4, 2.0)
FRAMES = 96
#: Default number of buckets in the film that settle 99 of 100 nodes; a few nodes may lie far away.
BUCKETS = 20
STYLE = {
    "figure.facecolor": BACKGROUND,
    "axes.facecolor": BACKGROUND,
    "axes.edgecolor": "#484f58",
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), "#e6edf3"),
    **dict.fromkeys(("xtick.color", "ytick.color"), "#9ea7b3"),
    "grid.color": "#30363d",
    "font.size": 10.5,
    "axes.titlesize": 12,
    "figure.dpi": 100,
}


Values = npt.NDArray[Any]


class Panel(NamedTuple):
    """A map in a figure: a value of each node."""

    title: str
    values: Values
    legend: str
    most: float
    colours: str = "inferno"
    part: tuple[float, float] = (0.2, 1.0)  # of the colour scale, without colours as dark as the background


def source_of(graph: Graph, place: tuple[float, float] | None) -> int:
    """Return the nearest node of the network's core to a place, by default to the middle of all nodes."""
    from scipy.sparse import csgraph

    _, part = csgraph.connected_components(graph.to_scipy().astype(np.bool_), directed=True, connection="strong")
    core = np.flatnonzero(part == np.argmax(np.bincount(part)))
    lat, lon = graph.lat[core], graph.lon[core]
    middle = (np.median(lat), np.median(lon)) if place is None else place
    return int(core[np.argmin(haversine(*middle, lat, lon))])


def save(figure: Any, path: Path) -> None:
    """Write a figure with a palette, so that a map takes a third of the room."""
    from PIL import Image

    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[:, :, :3])
    with atomic_write(path) as stream:
        picture.quantize(128, kmeans=1, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)


class Figures:
    """The pictures of delta_step on a graph; each method returns a figure.

    Parameters
    ----------
    pyplot : module
        Of matplotlib.
    graph : Graph
        The graph.
    distances : numpy.ndarray
        The distances of the search.
    numberings : dict of str to str
        The title of each numbering, by its name in `Solver`.
    name, credit : str
        Name of the graph, and source of its data.
    """

    def __init__(
        self, pyplot: Any, graph: Graph, distances: Values, numberings: dict[str, str], name: str, credit: str
    ) -> None:
        self.pyplot, self.graph, self.distances, self.name, self.credit = pyplot, graph, distances, name, credit
        self.numberings, self.window = numberings, window_of(graph)

    def sweeps(self, traces: dict[str, Any]) -> Any:
        """Draw the share of the ids that each sweep covers in both numberings."""
        figure, axes = self.pyplot.subplots(figsize=(WIDTH / 100, 4.2), layout="constrained")
        for order, label in self.numberings.items():
            share = 100 * range_widths(traces[order]) / self.graph.num_nodes
            edges = np.arange(len(share) + 1) - 0.5
            axes.stairs(share, edges, fill=True, color=COLOURS[order], alpha=0.5 if order == "natural" else 0.75)
            label += f": mean {share.mean():.0f} %, median {np.median(share):.0f} %"
            axes.stairs(share, edges, color=COLOURS[order], linewidth=1, label=label)
        low, high = (int(traces["z"][end][0]) for end in ("low", "high"))
        unit = self.graph.streets.seconds_per_weight if self.graph.streets is not None else 0
        delta = f"{(high - low) * unit:,.0f} s" if unit else f"{high - low:,}"
        most = max(map(len, traces.values()))
        axes.set(title=f"delta_step on {self.name}, buckets of {delta}", xlim=(-0.5, most - 0.5), ylim=(0, 104))
        axes.set(xlabel="sweep", ylabel="ids in its range, % of all nodes")
        axes.grid(alpha=0.5)
        axes.set_axisbelow(True)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        return figure

    def ids(self, ids: dict[str, Values]) -> Any:
        """Draw the id of each node in both numberings."""
        most, part = float(self.graph.num_nodes), (0.08, 0.95)
        panels = [
            Panel(label, ids[order], "id of the node", most, "turbo", part) for order, label in self.numberings.items()
        ]
        return self._maps(panels, f"Nodes of {self.name}")

    def reads(self, covered: dict[str, Values], relaxing: Values) -> Any:
        """Draw the number of reads of dist and of first_out for each node in both numberings."""
        most = float(max(of_order.max() for of_order in covered.values()))
        legend = "sweeps that cover the node"
        panels = [Panel(f"dist, {label}", covered[order], legend, most) for order, label in self.numberings.items()]
        # Otherwise a few nodes would make all others dark.
        often, legend = max(float(np.percentile(relaxing, 99.5)), 2.0), "sweeps in which it relaxes its arcs"
        panels.append(Panel("first_out, either order", relaxing, legend, often, part=(0.12, 1.0)))
        return self._maps(panels, f"What delta_step reads on {self.name}")

    def _maps(self, panels: Sequence[Panel], title: str) -> Any:
        """Draw maps side by side, pixel for pixel, each with its scale below."""
        from matplotlib.colors import ListedColormap
        from matplotlib.ticker import MaxNLocator

        width = (WIDTH - MARGIN) // len(panels) - MARGIN
        streets = StreetMap(self.graph, self.window, width, self.distances)
        above, below = 58, 62
        height = above + streets.height + below
        figure = self.pyplot.figure(figsize=(WIDTH / 100, height / 100))

        def place(left: float, low: float, wide: float, high: float) -> Any:
            return figure.add_axes((left / WIDTH, low / height, wide / WIDTH, high / height))

        figure.suptitle(title, x=0.5, y=1 - 8 / height, va="top", fontsize=13)
        figure.text(1 - MARGIN / WIDTH, 1 - 8 / height, self.credit, fontsize=7, alpha=0.6, ha="right", va="top")
        for number, panel in enumerate(panels):
            left = MARGIN + number * (width + MARGIN)
            colours = ListedColormap(self.pyplot.get_cmap(panel.colours)(np.linspace(*panel.part, 256)))
            axes = place(left, below, width, streets.height)
            pixels = streets.paint(colours(np.minimum(panel.values / panel.most, 1.0))[:, :3])
            axes.imshow(pixels, interpolation="none", aspect="auto")
            axes.set(title=panel.title, xticks=[], yticks=[])
            scale = self.pyplot.cm.ScalarMappable(self.pyplot.Normalize(0, panel.most), colours)
            figure.colorbar(
                scale,
                cax=place(left + 20, below - 18, width - 40, 8),
                orientation="horizontal",
                label=panel.legend,
                ticks=MaxNLocator(5, integer=True),
                format="{x:,.0f}",
            )
        return figure


def draw_film(args: argparse.Namespace, graph: Graph, source: int, delta: int, device: Device, credit: str) -> None:
    """Search once more, in buckets wide enough to see, and write a film of the search."""
    here = graph.lat[source], graph.lon[source]
    with Solver(graph, args.film_algorithm, device, counters="trace", delta=delta) as solver:
        distances, trace = solver.distances(source), solver.trace()
        streets = StreetMap(graph, window_of(graph, FILM_SHAPES, here), FILM_WIDTH, distances)
        ends = streets.inside(np.flatnonzero(distances != UNREACHABLE), margin=20)
        far = haversine(*here, graph.lat[ends], graph.lon[ends])
        route = solver.path(source, int(ends[np.argmax(far)])) if len(ends) else None
    film = Film(streets, replay(graph, source, trace), args.film_algorithm, route, credit)
    write_film(args.film, tqdm(film.frames(FRAMES), "frames", FRAMES, delay=1.0, disable=None, leave=False))


def run(args: argparse.Namespace) -> None:
    """Search in both numberings and draw."""
    paths = {picture: Path(args.output) / picture for picture in PICTURES}
    for path in paths.values():
        check_writable(path, args.graph)
    pyplot = import_pyplot()
    if args.film:
        check_film(args.film)
        check_writable(args.film, args.graph, *paths.values())
    # Saved graphs are in Z-order already; an extract still has the numbering of OpenStreetMap.
    if is_extract(args.graph):
        graph, _ = import_extract(args.graph, order="natural", progress=sys.stderr.isatty())
        numberings, credit = {"natural": "OpenStreetMap order"}, "© OpenStreetMap contributors"
    else:
        graph, numberings, credit = read_graph(args.graph), {"natural": "own order"}, ""
    numberings["z"] = "Z-order"
    if graph.lat is None:
        raise QueryError("graph has no coordinates, so there is no map of it; import one from OpenStreetMap")
    if graph.num_arcs == 0:
        raise QueryError("graph has no arcs, so there is nothing to draw")
    source = source_of(graph, args.origin) if args.source is None else args.source
    traces, ids, covered, distances = {}, {}, {}, np.zeros(0, np.uint32)
    with Device(args.device) as device:
        for order, label in numberings.items():
            with Solver(graph, "delta_step", device, order=order, counters="trace", delta=args.delta) as solver:
                distances, trace = solver.distances(source), solver.trace()
            traces[order] = trace
            ids[order] = RenumberedGraph(graph, order).node
            covered[order] = times_covered(trace, graph.num_nodes)[ids[order]]
            widths = range_widths(trace)
            print(
                f"{label}: {len(trace):,} sweeps of {widths.mean():,.0f} ids on average, {np.median(widths):,.0f} in "
                f"the median, of {graph.num_nodes:,}; {trace['worked'].sum():,} times a node relaxed its arcs"
            )
        with pyplot.style.context(STYLE):
            figures = Figures(pyplot, graph, distances, numberings, Path(args.graph).name, credit)
            save(figures.sweeps(traces), paths["sweeps.png"])
            save(figures.ids(ids), paths["ids.png"])
            save(figures.reads(covered, replay(graph, source, traces["z"]).worked), paths["reads.png"])
        pyplot.close("all")
        if args.film:
            delta = args.film_delta or max(int(np.percentile(distances[distances != UNREACHABLE], 99)) // BUCKETS, 1)
            draw_film(args, graph, source, delta, device, credit)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "graph", type=file_name, metavar="GRAPH", help="a graph with coordinates, or an OpenStreetMap extract"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--source", type=int, metavar="N", help="id of the source node")
    where.add_argument(
        "--from", dest="origin", type=latlon, metavar="LAT,LON", help="place of the source (default: middle of the map)"
    )
    parser.add_argument("--delta", type=int, metavar="N", help="width of a bucket, for the pictures")
    parser.add_argument("--output", type=file_name, default=".", metavar="FOLDER", help="folder for the pictures")
    parser.add_argument("--film", type=file_name, metavar="FILE.webp", help="also write a film (.webp or .gif)")
    parser.add_argument(
        "--film-algorithm", choices=("near_far", "delta_step"), default="near_far", help="(default: near_far)"
    )
    parser.add_argument(
        "--film-delta", type=int, metavar="N", help=f"width of a bucket, for the film (default: some {BUCKETS} buckets)"
    )
    parser.add_argument("--device", help="index or part of the name")
    args = parser.parse_args()
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
