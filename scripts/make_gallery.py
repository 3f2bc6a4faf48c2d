#!/usr/bin/env python3
"""Draw the pictures of docs/gallery.md from the extract of Andorra in tests/data (extra `plot`).

python scripts/make_gallery.py     # answers, and so pictures, are the same on any device
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as MapPath
from PIL import Image
from shapely import get_parts

from vkssp import UNREACHABLE, Graph, Router, Solver, read_graph
from vkssp.files import atomic_write

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "gallery"
#: Latitude and longitude of places in degrees.
CAPITAL, PASS = (42.5078, 1.5211), (42.5425, 1.7337)
DEPOTS = {
    "Andorra la Vella": CAPITAL,
    "Encamp": (42.5361, 1.5828),
    "Canillo": (42.5676, 1.5976),
    "La Massana": (42.5449, 1.5148),
    "Sant Julià de Lòria": (42.4640, 1.4890),
    "Pas de la Casa": PASS,
}
#: Colours that can also be told apart with the common kinds of colour blindness.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
STREET, INK, CREDIT = "#c3c9d0", "#1f2933", "© OpenStreetMap contributors, ODbL 1.0"
ASPECT = 1 / np.cos(np.radians(42.53))
WIDTH_PX, COLOURS_PER_PICTURE = 900, 128


def lines_of(graph: Graph) -> list[np.ndarray]:
    """Return the polylines of the streets, longitude and latitude in degrees."""
    assert graph.streets is not None
    points = graph.streets.points[:, ::-1] * 1e-7
    return np.split(points, graph.streets.polyline_first[1:-1])


def canvas(graph: Graph, panels: int = 1, high: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Return a figure with the streets of a graph in each panel."""
    figure = Figure(figsize=(9, high), layout="constrained", facecolor="white")
    axes = np.atleast_1d(figure.subplots(1, panels)).tolist()
    for panel in axes:
        panel.add_collection(LineCollection(lines_of(graph), colors=STREET, linewidths=0.7))
        panel.set_aspect(ASPECT)
        panel.axis("off")
        panel.autoscale()
    axes[-1].text(1, 0, CREDIT, transform=axes[-1].transAxes, ha="right", va="bottom", fontsize=8, color="#66707a")
    return figure, axes


def pin(panel: Axes, place: tuple[float, float], colour: str = INK, name: str = "") -> None:
    """Mark a place."""
    panel.plot(place[1], place[0], "o", color=colour, markeredgecolor="white", markersize=9, zorder=9)
    if name:
        outline = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        offset = {"textcoords": "offset points", "xytext": (0, 9), "ha": "center", "va": "bottom"}
        panel.annotate(name, place[::-1], fontsize=9, color=INK, bbox=outline, zorder=8, **offset)


def save(figure: Figure, name: str) -> None:
    """Write a picture with few colours, which is small."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=WIDTH_PX / figure.get_figwidth())
    picture = Image.open(stream).convert("RGB").quantize(COLOURS_PER_PICTURE, dither=Image.Dither.NONE)
    with atomic_write(FOLDER / f"{name}.png") as file:
        picture.save(file, format="PNG", optimize=True)


def draw_route(graph: Graph, router: Router) -> None:
    """Draw the fastest route over a via point."""
    route = router.route(CAPITAL, PASS, via=[DEPOTS["La Massana"]])
    figure, (panel,) = canvas(graph)
    assert route.points is not None and route.distance_m is not None and route.duration_s is not None
    panel.plot(route.points[:, 1], route.points[:, 0], color=COLOURS[0], linewidth=3, solid_capstyle="round")
    for name in ("Andorra la Vella", "La Massana", "Pas de la Casa"):
        pin(panel, DEPOTS[name], name=name)
    panel.set_title(f"{route.distance_m / 1000:.1f} km, {route.duration_s / 60:.0f} min", color=INK)
    save(figure, "route")


def draw_isochrones(graph: Graph, router: Router) -> None:
    """Draw what is reached within 10, 20 and 30 minutes."""
    figure, (panel,) = canvas(graph)
    found = router.isochrones(CAPITAL, [600, 1200, 1800], width_m=250)
    for isochrone, colour in reversed(list(zip(found, ("#1b4f8a", "#4f93c9", "#a9d0ea"), strict=True))):
        for number, part in enumerate(get_parts(isochrone.area)):
            label = None if number else f"{isochrone.label}, {isochrone.road_m / 1000:.0f} km of roads"
            rings = [MapPath(np.array(ring.coords), closed=True) for ring in (part.exterior, *part.interiors)]
            panel.add_patch(PathPatch(MapPath.make_compound_path(*rings), color=colour, label=label, linewidth=0))
    panel.add_collection(LineCollection(lines_of(graph), colors="white", linewidths=0.4, alpha=0.7))
    pin(panel, CAPITAL)
    panel.legend(loc="lower right", bbox_to_anchor=(1, 0.15), frameon=False, labelcolor=INK)
    save(figure, "isochrones")


def draw_areas(graph: Graph, router: Router) -> None:
    """Draw the streets in the colour of the nearest of some places."""
    figure, (panel,) = canvas(graph)
    found = router.assign(list(DEPOTS.values()))
    for line in found.geojson(list(DEPOTS))["features"]:
        geometry = line["geometry"]
        if geometry["type"] == "LineString":
            colour = COLOURS[list(DEPOTS).index(line["properties"]["source"])]
            panel.plot(*np.array(geometry["coordinates"]).T, color=colour, linewidth=1.2)
    for (name, place), colour in zip(DEPOTS.items(), COLOURS, strict=True):
        pin(panel, place, colour, name)
    save(figure, "areas")


def draw_front(graph: Graph, shares: Sequence[float] = (0.25, 0.5, 0.75)) -> None:
    """Draw three moments of a search: the streets that are settled, and the bucket that is being settled."""
    assert graph.streets is not None and graph.lat is not None and graph.lon is not None
    with Solver(graph) as solver:
        source = int(np.argmin(np.hypot(graph.lat - CAPITAL[0], (graph.lon - CAPITAL[1]) / ASPECT)))
        distance = solver.distances(source)
    first = np.full(len(graph.streets.polyline_first) - 1, UNREACHABLE, np.uint32)
    np.minimum.at(first, graph.streets.polyline, distance[graph.tail])
    last = np.percentile(first[first != UNREACHABLE], 99)
    lines = lines_of(graph)
    figure, panels = canvas(graph, len(shares), 3.2)
    for panel, share in zip(panels, shares, strict=True):
        threshold, bucket = share * last, last / 12
        for low, high, colour, width in (
            (0, threshold, COLOURS[0], 0.9),
            (threshold, threshold + bucket, COLOURS[4], 1.8),
        ):
            chosen = np.flatnonzero((first >= low) & (first < high))
            panel.add_collection(LineCollection([lines[at] for at in chosen], colors=colour, linewidths=width))
        panel.set_title(f"{threshold * graph.streets.seconds_per_weight / 60:.0f} min", color=INK, fontsize=10)
    save(figure, "front")


def main() -> None:
    """Draw all pictures."""
    matplotlib.use("agg")
    FOLDER.mkdir(exist_ok=True)
    graph = read_graph(ROOT / "tests" / "data" / "andorra.osm.pbf")
    with Router(graph) as router:
        draw_route(graph, router)
        draw_isochrones(graph, router)
        draw_areas(graph, router)
    draw_front(graph)


if __name__ == "__main__":
    main()
