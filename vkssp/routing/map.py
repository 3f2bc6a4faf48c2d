"""Maps of routes and isochrones on the road network: single HTML pages that open without an internet connection.

A page holds Leaflet, and as numbers for its script the roads (see `vkssp.routing.network`) and the route or isochrones.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vkssp.errors import QueryError
from vkssp.features.quantities import format_distance, format_duration
from vkssp.files import check_ending
from vkssp.graph.geo import unwrapped, wrapped
from vkssp.route_file import points_of
from vkssp.routing.formatting import format_query
from vkssp.routing.isochrone import checked_isochrones
from vkssp.routing.network import roads_payload
from vkssp.routing.page import (
    check_drawable,
    checked_facts,
    encode_degrees,
    facts_html,
    fill,
    polygons_payload,
    write_page,
)

if TYPE_CHECKING:
    from pathlib import Path

    from vkssp.graph import Graph
    from vkssp.route import Place, Route, Step
    from vkssp.routing.isochrone import Isochrone
    from vkssp.routing.tiles import Tiles

#: Hues of the nearest and the farthest isochrone.
_NEAR_HUE, _FAR_HUE = 150.0, 10.0


def _pins(places: Sequence[Place], centre: float) -> list[dict[str, Any]]:
    """Return the data of places for the page's script: the first is A, the last B, via points have numbers.

    Longitudes are within half a turn of the longitude `centre`, as the roads and the route are around it.
    """
    return [
        {
            "role": role,
            "letter": letter,
            "at": [place.lat, float(wrapped(place.lon, centre))],
            "snapped": [place.snapped_lat, float(wrapped(place.snapped_lon, centre))],
            "snapped_m": round(float(place.snapped_m), 1),
            "name": place.name,
        }
        for place, (role, letter) in zip(places, _badges(len(places)), strict=True)
    ]


def _badges(count: int) -> list[tuple[str, str]]:
    vias = [("via", str(number)) for number in range(1, count - 1)]
    return [("from", "A"), *vias, ("to", "B")][:count]


def _places_html(places: Sequence[Place]) -> str:
    return "\n".join(
        f'<li><b class="badge {role}">{letter}</b><div>{_place_html(place)}</div></li>'
        for place, (role, letter) in zip(places, _badges(len(places)), strict=True)
    )


def _place_html(place: Place) -> str:
    coordinates = f"{place.lat:.5f}, {place.lon:.5f}"
    if not place.name:
        return f"<b>{coordinates}</b>"
    return f"<b>{html.escape(place.name)}</b><span>{coordinates}</span>"


def _label(place: Place) -> str:
    return place.name or f"{place.lat:.4f}, {place.lon:.4f}"


def _steps_html(steps: Sequence[Step]) -> str:
    """Return the list of steps as HTML, each a button that shows its place."""
    if not steps:
        return ""
    items = []
    for step in steps:
        far = "" if step.type == "arrive" else f"<span>{format_distance(step.distance_m)}</span>"
        items.append(f'<li><button type="button">{html.escape(step.instruction)}{far}</button></li>')
    return "\n".join(['<ul class="steps">', *items, "</ul>"])


def page(graph: Graph, route: Route, *, title: str | None = None, tiles: Tiles | str | None = None) -> str:
    """Return the page of a route as HTML; see `write_map`."""
    check_drawable(graph, title)
    points, places = points_of(route), route.places
    lon = unwrapped(np.array([0, len(points)]), points[:, 1])
    points, centre = np.stack([points[:, 0], lon], axis=1), float(lon.min() + lon.max()) / 2
    payload = {
        **roads_payload(graph, points),
        "route": encode_degrees(points),
        "ends": _pins(places, centre),
        "steps": [[round(step.lat, 6), round(float(wrapped(step.lon, centre)), 6)] for step in route.steps],
    }
    # If weights are no durations, the page shows the weight, which the route minimizes.
    known = route.duration_s is not None and math.isfinite(route.duration_s)
    duration = format_duration(route.duration_s or 0.0) if known else f"weight {route.weight:,}"
    distance = "" if route.distance_m is None else format_distance(route.distance_m)
    facts = {"Device": route.device, "Algorithm": route.algorithm, "Query time": format_query(route.query_ms)}
    texts = {
        "title": html.escape(title if title is not None else " → ".join(map(_label, places))),
        "what": "Map of the route",
        "figures": f'<p class="figures"><b>{duration}</b> <span>{distance}</span></p>',
        "places": _places_html(places),
        "details": _steps_html(route.steps),
        "facts": facts_html(facts),
    }
    return fill(graph, payload, texts, tiles=tiles)


def write_map(
    path: str | Path, graph: Graph, route: Route, *, title: str | None = None, tiles: Tiles | str | None = None
) -> None:
    """Write an HTML page that shows a route on the road network of its graph and opens without an internet connection.

    Roads are drawn by the mean speed on their OSM way, in classes bounded by ``vkssp.routing.network.CLASS_KMH``. A
    graph without streets is drawn as straight lines between its nodes. A network of streets with more than
    ``SIMPLIFY_ABOVE`` points is simplified by at most ``TOLERANCE_M``. A network that still has more than
    ``MAX_POINTS`` is reduced to them: the roads around the route are kept first, then the faster ones. If the route has
    steps, the page lists them and shows the place of a step that is clicked. The map is continuous across the 180th
    meridian. Its projection, Web Mercator, ends at latitudes of 85 degrees. Coast, water and names of places are drawn
    if the graph has them (`Streets.basemap`).

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .html or .htm; it appears only when it is complete.
    graph : Graph
        The graph that the route was found in; it needs coordinates.
    route : Route
        The route.
    title : str, optional
        Heading of the page; by default the names, or coordinates, of the places.
    tiles : Tiles or str, optional
        Raster tiles below the map, or their address with ``{z}``, ``{x}`` and ``{y}``; see
        ``vkssp.routing.tiles.Tiles``.
        With them the page needs a network.

    Raises
    ------
    QueryError
        If the graph has no coordinates, or the route no points.
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "HTML")
    write_page(path, page(graph, route, title=title, tiles=tiles))


def isochrone_page(
    graph: Graph,
    found: Sequence[Isochrone],
    *,
    facts: Mapping[str, str] | None = None,
    title: str | None = None,
    tiles: Tiles | str | None = None,
) -> str:
    """Return the page of isochrones as HTML; see `write_isochrone_map`."""
    import shapely

    check_drawable(graph, title)
    facts = checked_facts(facts)
    found = checked_isochrones(found)
    origin = found[0].origin if found else None
    if origin is None:
        raise QueryError("the isochrones have no origin; give isochrones that a Router returned")
    rising = sorted(found, key=lambda one: one.limit)
    colours = [f"hsl({hue:.0f} 75% 42%)" for hue in np.linspace(_NEAR_HUE, _FAR_HUE, max(2, len(rising)))]
    areas, inside = [], shapely.MultiPolygon()
    for one, colour in zip(rising, colours, strict=False):
        # The area of a smaller isochrone keeps that isochrone's colour.
        area = _joined(one.area, origin.snapped_lon)
        areas.append({"colour": colour, **polygons_payload(_polygons(shapely.difference(area, inside)))})
        inside = area
    points = shapely.get_coordinates(inside)[:, ::-1]
    around = np.concatenate([points, [[origin.snapped_lat, origin.snapped_lon]]])
    centre = float(around[:, 1].min() + around[:, 1].max()) / 2
    payload = {**roads_payload(graph, around), "areas": areas, "ends": _pins([origin], centre)}
    legend = [
        f'<li><b class="swatch" style="background: {colour}"></b><div><b>{one.label}</b>'
        f"<span>{format_distance(one.road_m)} of road</span></div></li>"
        for one, colour in zip(rising, colours, strict=False)
    ]
    is_reverse = found[0].reverse
    begin = "From where one reaches" if is_reverse else "Reached from"
    texts = {
        "title": html.escape(title if title is not None else f"{begin} {_label(origin)}"),
        "what": "Map of from where it is reached" if is_reverse else "Map of what is reached",
        "figures": "",
        "places": _places_html([origin]),
        "details": "\n".join(["<ol>", *legend, "</ol>"]),
        "facts": facts_html(facts),
    }
    return fill(graph, payload, texts, tiles=tiles)


def _joined(area: Any, centre: float) -> Any:
    """Return an area around a longitude, with the parts that were cut at the 180th meridian joined again."""
    import shapely

    parts = shapely.get_parts(area)
    west, _, east, _ = shapely.bounds(parts).reshape(-1, 4).T
    middle = (west + east) / 2
    shift = wrapped(middle, centre) - middle
    if not shift.any():
        return area
    points, which = shapely.get_coordinates(parts, return_index=True)
    points[:, 0] += shift[which]
    return shapely.union_all(shapely.set_coordinates(parts, points))


def _polygons(area: Any) -> list[Any]:
    """Return the polygons that an area consists of."""
    import shapely

    return [part for part in shapely.get_parts(area) if part.geom_type == "Polygon" and not part.is_empty]


def write_isochrone_map(
    path: str | Path,
    graph: Graph,
    found: Sequence[Isochrone],
    *,
    facts: Mapping[str, str] | None = None,
    title: str | None = None,
    tiles: Tiles | str | None = None,
) -> None:
    """Write an HTML page that shows isochrones on the road network and opens without an internet connection.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .html or .htm; it appears only when it is complete.
    graph : Graph
        The graph in which the isochrones were found; see `write_map` for how it is drawn.
    found : sequence of Isochrone
        The isochrones, as `Router.isochrones` returns them.
    facts : mapping of str to str, optional
        Further entries of the page's panel, such as the device.
    title : str, optional
        Heading of the page; by default the name, or coordinates, of the place.
    tiles : Tiles or str, optional
        As for `write_map`.

    Raises
    ------
    QueryError
        If there is no isochrone, if the first one has no origin, or if the graph has no coordinates.
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "HTML")
    write_page(path, isochrone_page(graph, found, facts=facts, title=title, tiles=tiles))
