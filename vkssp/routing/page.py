"""Map pages: the template with its scripts and data, and what the pages of routes, isochrones and values share.

A page is one HTML file. It holds Leaflet, the scripts of this folder, and their data as JSON; so it needs no network,
but for raster tiles that the caller asks for.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import instance, shown
from vkssp.errors import QueryError
from vkssp.files import atomic_write
from vkssp.graph import checked_graph
from vkssp.routing.basemap import basemap_payload
from vkssp.routing.network import PAGE_SCALE, encode, encode_points
from vkssp.routing.tiles import Tiles, checked_tiles

if TYPE_CHECKING:
    from pathlib import Path

    from vkssp.graph import Graph

#: Scripts of pages of routes and isochrones, and of values, in the order in which the page runs them.
_SHARED_SCRIPTS = ("canvas.js", "roads.js", "basemap.js")
ROUTE_SCRIPTS, VALUE_SCRIPTS = (*_SHARED_SCRIPTS, "map.js"), (*_SHARED_SCRIPTS, "values.js", "map.js")
_ATTRIBUTION = '© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap contributors</a>'
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def check_drawable(graph: Graph, title: str | None) -> None:
    """Raise `QueryError` if a graph has no coordinates, or if the title of its page is no text."""
    if checked_graph(graph, QueryError).lat is None:
        raise QueryError("graph has no coordinates and cannot be drawn; give lat and lon when it is made")
    if title is not None:
        instance(title, str, "title", "give a text, or leave it out")


def checked_facts(facts: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return further entries of a page's panel; raise `QueryError` if they are not a mapping."""
    if not isinstance(facts, Mapping | None):
        raise QueryError(f"facts is {shown(facts)}; give a mapping of texts to texts, or leave it out")
    return facts or {}


def facts_html(facts: Mapping[str, str]) -> str:
    """Return names and facts as HTML, the entries of a description list."""
    return "\n".join(
        f"<dt>{html.escape(str(name))}</dt><dd>{html.escape(str(fact))}</dd>" for name, fact in facts.items()
    )


def encode_degrees(points: npt.NDArray[np.float64]) -> str:
    """Encode latitudes and longitudes in degrees, shape (k, 2); see `encode_points`."""
    return encode_points(np.rint(points * PAGE_SCALE).astype(np.int64))


def polygons_payload(polygons: Sequence[Any] | npt.NDArray[np.object_]) -> dict[str, str]:
    """Return shapely polygons as encoded numbers: the rings of each polygon, the points of each ring, and the points.

    Exteriors run counter-clockwise on a map and holes clockwise, so that polygons may overlap in one filled path.
    """
    import shapely

    rings, which = shapely.get_rings(polygons, return_index=True)
    is_exterior = np.diff(which, prepend=-1) > 0
    rings = np.where(shapely.is_ccw(rings) == is_exterior, rings, shapely.reverse(rings))
    return {
        "polygons": encode(np.bincount(which, minlength=len(polygons))),
        "rings": encode(shapely.get_num_coordinates(rings)),
        "points": encode_degrees(shapely.get_coordinates(rings)[:, ::-1]),
    }


def fill(
    graph: Graph,
    payload: dict[str, Any],
    texts: Mapping[str, str],
    scripts: Sequence[str] = ROUTE_SCRIPTS,
    *,
    tiles: Tiles | str | None = None,
) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    graph : Graph
        The graph that is drawn; its source is credited.
    payload : dict
        Data of the page's scripts, all of JSON's types.
    texts : mapping of str to str
        HTML of the panel's parts, by the names of their placeholders in ``map.html``.
    scripts : sequence of str
        Scripts of this folder.
    tiles : Tiles or str, optional
        Raster tiles below the map, or their address; they need a network.
    """
    tiles = checked_tiles(tiles)
    folder = files("vkssp.routing")
    # The few pictures of the style belong to controls that the page does not have. Without them it loads no file.
    style = re.sub(r"url\([^)]*\)", "none", (folder / "vendor/leaflet.css").read_text("utf-8"))
    leaflet = re.sub(r"(?m)^//# sourceMappingURL.*$", "", (folder / "vendor/leaflet.js").read_text("utf-8"))
    streets = graph.streets
    payload = {**payload, "attribution": _ATTRIBUTION if streets is not None else ""}
    if streets is not None and streets.basemap is not None:
        payload["basemap"] = basemap_payload(streets.basemap)
    if tiles is not None:
        payload["tiles"] = {"url": tiles.url, "attribution": html.escape(tiles.attribution)}
    values = {
        **texts,
        "leaflet_css": style,
        "leaflet_js": leaflet,
        "decode_js": (folder / "decode.js").read_text("utf-8"),
        "tiles_origin": "" if tiles is None else f" {tiles.origin}",
        "map_js": "\n".join((folder / script).read_text("utf-8") for script in scripts),
        # In a script element "<" could begin "</script>"; its escape means the same to JSON.
        "payload": json.dumps(payload, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    template = (folder / "map.html").read_text("utf-8")
    # One pass, so that a name that looks like a placeholder stays unchanged.
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def write_page(path: str | Path, text: str) -> None:
    """Write a page to a file, which appears only when it is complete."""
    with atomic_write(path) as stream:
        # Names may hold bytes that were not valid UTF-8 in their source; the page shows question marks for them.
        stream.write(text.encode("utf-8", "replace"))
