"""Maps of values of nodes, points, lines or areas: single HTML pages that open without an internet connection.

The page gets the values of each column as floats and the class of each value. Streets are coloured by the values at
the places of their nodes, points are dots, lines are wide or narrow, and areas are filled polygons.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.checks import array_of, ids_among, real_numbers, shown
from vkssp.errors import QueryError
from vkssp.features.classes import Classes, classes_of
from vkssp.files import check_ending
from vkssp.graph.geo import METRES_PER_DEGREE, unwrapped, wrapped
from vkssp.routing.network import (
    COARSER,
    MAX_POINTS,
    PAGE_SCALE,
    SIMPLIFY_ABOVE,
    TOLERANCE_M,
    Network,
    encode,
    encode_points,
    network_of,
    network_payload,
    node_points,
)
from vkssp.routing.page import (
    VALUE_SCRIPTS,
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

    from vkssp.graph import Floats, Graph, Uint32s
    from vkssp.routing.tiles import Tiles

Ints = npt.NDArray[np.int64]

#: Share of the places on each side that the first view may leave out, and how many times smaller it must be then.
_TAIL, _SMALLER = 0.025, 1.5
#: Units of the page in a full turn, and from the equator to a pole.
_TURN, _QUARTER = 360 * PAGE_SCALE, 90 * PAGE_SCALE
#: Most and least magnitudes of single precision.
_LARGEST, _SMALLEST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)
_POINT, _LINE, _POLYGON, _MULTILINE, _MULTIPOLYGON = 0, 1, 3, 5, 6
_KINDS = ((_POINT,), (_LINE, _MULTILINE), (_POLYGON, _MULTIPOLYGON))


@dataclass(frozen=True)
class _Drawn:
    """What a page draws: the data of its items, the item of each row, the rectangle of its first view, and names."""

    payload: dict[str, Any]
    item: Ints
    num_items: int
    roads: Network
    view: npt.NDArray[np.float64]
    rows: str


def value_page(
    graph: Graph,
    columns: Mapping[str, npt.ArrayLike],
    *,
    nodes: Uint32s | None = None,
    shapes: Sequence[Any] | npt.NDArray[Any] | None = None,
    facts: Mapping[str, str] | None = None,
    title: str | None = None,
    tiles: Tiles | str | None = None,
) -> str:
    """Return the page of values as HTML; see `write_value_map`."""
    check_drawable(graph, title)
    facts = checked_facts(facts)
    if nodes is not None and shapes is not None:
        raise QueryError("nodes and shapes are both given; give the one that the rows of the columns belong to")
    if shapes is not None:
        geometry = _checked_shapes(shapes)
        values = _checked_columns(columns, len(geometry), "shapes")
        drawn = _shapes_drawn(graph, geometry)
    else:
        ids = np.arange(graph.num_nodes) if nodes is None else _checked_nodes(graph, nodes)
        values = _checked_columns(columns, len(ids), "nodes")
        drawn = _nodes_drawn(graph, ids)
    described, legends = [], []
    for number, (name, column) in enumerate(values.items()):
        of_items = _means(drawn.item, column, drawn.num_items)
        of_rows = np.where(np.isfinite(column), of_items[drawn.item], np.nan)
        classes = classes_of(of_rows)
        described.append(_column_payload(name, of_items, classes))
        rows = np.bincount(classes.numbers(of_rows) + 1, minlength=len(classes.low) + 1)
        legends.append(_legend_html(number, classes, rows, drawn.rows))
    payload = {
        **network_payload(drawn.roads),
        "ends": [],
        "extent": drawn.view.tolist(),
        "values": {**drawn.payload, "columns": described},
    }
    texts = {
        "title": html.escape(title if title is not None else ", ".join(values)),
        "what": "Map of values",
        "figures": "",
        "places": "",
        "details": "\n".join([_choice_html(list(values), title), *legends]),
        "facts": facts_html(facts),
    }
    return fill(graph, payload, texts, VALUE_SCRIPTS, tiles=tiles)


def write_value_map(
    path: str | Path,
    graph: Graph,
    columns: Mapping[str, npt.ArrayLike],
    *,
    nodes: Uint32s | None = None,
    shapes: Sequence[Any] | npt.NDArray[Any] | None = None,
    facts: Mapping[str, str] | None = None,
    title: str | None = None,
    tiles: Tiles | str | None = None,
) -> None:
    """Write an HTML page that shows values on the road network and opens without an internet connection.

    The rows of the columns belong to all nodes of the graph, to `nodes`, or to `shapes`. Values of nodes colour the
    streets: each half of a street has the colour of its end. Of several nodes at one place, as in graphs with turn
    costs, the mean of those that have a value is shown. Nodes that few of their neighbours are among, such as stops or
    schools, are drawn as dots: if less than half of the streets at `nodes` have both ends among them. Points are dots,
    too, lines are the wider the higher their class, and polygons are half-transparent areas over the roads.

    Each column has at most seven classes of about equally many rows; equal values are in one class, and a frequent
    value, such as zero, has a class of its own. If there are several columns, the panel of the page lets the reader
    choose one. The page shows the values of the street, dot or area under the pointer, to six digits. NaN and infinity
    stand for no value, and are grey. If a few places lie far away from the others, the page begins without them. Large
    networks are simplified and reduced as `vkssp.routing.map.write_map` does, but the places of nodes stay; a graph
    without streets is drawn as straight lines. The map is continuous across the 180th meridian.

    Parameters
    ----------
    path : str or Path
        The file to write, a name that ends in .html or .htm; it appears only when it is complete.
    graph : Graph
        The graph; it needs coordinates.
    columns : mapping of str to array_like
        Values by name, shape (k,) each; real numbers.
    nodes : array_like, optional
        Nodes that the rows belong to, shape (k,); by default all nodes of the graph.
    shapes : array_like, optional
        Shapely points, or lines and multilines, or polygons and multipolygons, that the rows belong to, shape (k,).
        Their x is the longitude and their y the latitude, in degrees.
    facts : mapping of str to str, optional
        Further entries of the page's panel, such as the device.
    title : str, optional
        Heading of the page; by default the names of the columns.
    tiles : Tiles or str, optional
        As for `vkssp.routing.map.write_map`.

    Raises
    ------
    QueryError
        If the graph has no coordinates, if there is no column or no row, if a column has no numbers or another length,
        if a node does not exist, if shapes are of different kinds, or if both `nodes` and `shapes` are given.
    FormatError
        If the file cannot be written, or its name has another ending.
    """
    check_ending(path, "HTML")
    write_page(path, value_page(graph, columns, nodes=nodes, shapes=shapes, facts=facts, title=title, tiles=tiles))


def _checked_columns(columns: Any, count: int, owner: str) -> dict[str, Floats]:
    if not isinstance(columns, Mapping):
        raise QueryError(f"columns is {shown(columns)}; give a mapping of names to arrays of numbers")
    if not columns:
        raise QueryError("columns is empty; give at least one name with its values")
    found = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise QueryError(f"columns has the name {shown(name)}; give texts as names")
        column = f"columns[{shown(name)}]"
        found[name] = real_numbers(values, column, error=QueryError)
        if len(found[name]) != count:
            raise QueryError(f"{column} has {len(found[name])} values for {count} {owner}; give one for each")
    if count == 0:
        raise QueryError(f"there are no {owner} to draw; give at least one")
    return found


def _checked_nodes(graph: Graph, nodes: Any) -> Ints:
    return ids_among(nodes, "nodes", "node", graph.num_nodes, QueryError).astype(np.int64)


def _checked_shapes(shapes: Any) -> npt.NDArray[np.object_]:
    """Return shapes as an array of points, of lines and multilines, or of polygons and multipolygons."""
    import shapely

    cure = "give shapely points only, lines only, or polygons only"
    found = array_of(shapes, "shapes", "shapely points, lines or polygons", QueryError)
    if found.ndim != 1:
        raise QueryError(f"shapes is {shown(found)}; {cure}, in one dimension")
    if len(found) == 0:
        return np.zeros(0, np.object_)
    if found.dtype != np.object_:
        raise QueryError(f"shapes has dtype {found.dtype}; {cure}")
    is_shape = shapely.is_geometry(found)
    kind = np.full(len(found), -1)
    kind[is_shape] = shapely.get_type_id(found[is_shape])
    is_other = ~np.isin(kind, next((kinds for kinds in _KINDS if kind[0] in kinds), ()))
    if is_other.any():
        at = int(np.argmax(is_other))
        raise QueryError(f"shapes[{at}] is {shown(found[at])}; {cure}")
    is_empty = shapely.is_empty(found)
    if is_empty.any():
        raise QueryError(f"shapes[{int(np.argmax(is_empty))}] is empty; leave it out, or give a shape with points")
    points, which = shapely.get_coordinates(found, return_index=True)
    is_wrong = ~((np.abs(points[:, 0]) <= 360) & (np.abs(points[:, 1]) <= 90))  # also NaN
    if is_wrong.any():
        at = int(np.argmax(is_wrong))
        lon, lat = points[at].tolist()
        raise QueryError(f"shapes[{which[at]}] has x {lon} and y {lat}; give longitude and latitude in degrees")
    return found


def _means(item: Ints, values: Floats, num_items: int) -> Floats:
    """Return the mean of each item's values, NaN if it has none; NaN and infinity do not count."""
    known = np.isfinite(values)
    at, value = item[known], values[known] + 0.0
    low, high = np.full(num_items, np.inf), np.full(num_items, -np.inf)
    np.minimum.at(low, at, value)
    np.maximum.at(high, at, value)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.bincount(at, value, num_items) / np.bincount(at, minlength=num_items)
        # Rounding makes no difference between equal values, and sums that are too large none between others.
        return np.where(low <= high, np.clip(mean, low, high), np.nan)


def _column_payload(name: str, values: Floats, classes: Classes) -> dict[str, Any]:
    magnitude = np.abs(values[np.isfinite(values) & (values != 0)])
    is_wide = bool(((magnitude > _LARGEST) | (magnitude < _SMALLEST)).any())
    return {
        "name": name,
        "colours": classes.colours,
        "classes": encode(classes.numbers(values) + 1),
        "values": base64.b64encode(values.astype("<f8" if is_wide else "<f4").tobytes()).decode("ascii"),
        "wide": is_wide,
    }


def _nodes_drawn(graph: Graph, nodes: Ints) -> _Drawn:
    """Return the streets of the places of nodes, or the places as dots if few of them are neighbours."""
    points = node_points(graph)
    keys, place = np.unique(_place_keys(points), return_inverse=True)
    has = np.zeros(len(keys), np.bool_)
    has[place[nodes]] = True
    used, item = np.unique(place[nodes], return_inverse=True)
    dots = np.zeros((len(keys), 2), np.int64)
    dots[place] = points
    dots = dots[used]
    lon = _beside(dots[:, 1] / PAGE_SCALE)
    extent = _rectangle(dots[:, 0] / PAGE_SCALE, lon)
    view = _view(np.stack([dots[:, 0] / PAGE_SCALE, lon], axis=1), extent)
    tail, head = place[graph.tail], place[graph.head]
    touching = ((has[tail] | has[head]) & (tail != head)).sum()
    if 2 * (has[tail] & has[head] & (tail != head)).sum() < max(1, touching):
        shifted = np.stack([dots[:, 0], np.rint(lon * PAGE_SCALE).astype(np.int64)], axis=1)
        payload = {"kind": "dots", "points": encode_points(shifted)}
        return _Drawn(payload, item, len(used), network_of(graph, extent), view, "nodes")
    roads = network_of(graph, extent, keep_nodes=True)
    # The points of roads that are places, and which places they are.
    at = np.searchsorted(keys, found := _place_keys(roads.points)).clip(max=len(keys) - 1)
    mark = np.flatnonzero(keys[at] == found)
    drawn, number = _by_first(at[mark])
    # Places that are not on a road that is drawn come last, so that each row has a place.
    rest = np.setdiff1d(used, drawn)
    item_of = np.zeros(len(keys), np.int64)
    item_of[np.concatenate([drawn, rest])] = np.arange(len(drawn) + len(rest))
    payload = {"kind": "streets", "marks": encode(np.diff(mark, prepend=0)), "places": encode(number)}
    return _Drawn(payload, item_of[place[nodes]], len(drawn) + len(rest), roads, view, "nodes")


def _place_keys(points: Ints) -> Ints:
    """Return a number for each point in the units of the page, the same for all full turns of its longitude."""
    keys: Ints = (points[:, 0] + _QUARTER) * _TURN + points[:, 1] % _TURN
    return keys


def _by_first(place: Ints) -> tuple[Ints, Ints]:
    """Return places in the order in which they first occur, and numbers that tell the place at each position.

    A number is 0 for the next place that did not occur before, and else how many places have begun since its place did.
    """
    seen, first, which = np.unique(place, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(seen), np.int64)
    rank[order] = np.arange(len(seen))
    is_new = np.zeros(len(place), np.bool_)
    is_new[first] = True
    return seen[order], np.where(is_new, 0, np.cumsum(is_new) - rank[which])


def _shapes_drawn(graph: Graph, shapes: npt.NDArray[np.object_]) -> _Drawn:
    """Return points as dots, lines or polygons, over all roads of the graph."""
    import shapely

    kind = shapely.get_type_id(shapes[0])
    if kind == _POINT:
        lon, lat = shapely.get_coordinates(shapes).T
        lon = _beside(lon)
        payload: dict[str, Any] = {"kind": "dots", "points": encode_degrees(np.stack([lat, lon], axis=1))}
        rows = "points"
    elif kind in (_LINE, _MULTILINE):
        lines, row = shapely.get_parts(shapes, return_index=True)
        lines = _continuous_lines(lines)
        lon, lat = shapely.get_coordinates(lines).T
        parts = np.bincount(row, minlength=len(shapes))
        payload = {"kind": "lines", "parts": encode(parts), **_lines_payload(lines)}
        rows = "lines"
    else:
        polygons, row = shapely.get_parts(shapes, return_index=True)
        kept = ~shapely.is_empty(polygons)
        polygons = _continuous(polygons[kept])
        lon, lat = shapely.get_coordinates(polygons).T
        parts = np.bincount(row[kept], minlength=len(shapes))
        payload = {"kind": "polygons", "parts": encode(parts), **polygons_payload(polygons)}
        rows = "areas"
    extent = _rectangle(lat, lon)
    view = _view(np.stack([lat, lon], axis=1), extent)
    return _Drawn(payload, np.arange(len(shapes)), len(shapes), network_of(graph, extent), view, rows)


def _continuous(polygons: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Return polygons that are continuous across the 180th meridian, beside each other."""
    import shapely

    rings, polygon = shapely.get_rings(polygons, return_index=True)
    first = np.concatenate([[0], np.cumsum(shapely.get_num_coordinates(rings))])
    points = shapely.get_coordinates(polygons)
    lon = unwrapped(first, points[:, 0])
    # A hole is in its polygon, whose first ring is the exterior.
    exterior = np.flatnonzero(np.diff(polygon, prepend=-1))
    begin, start = lon[first[:-1]], first[exterior]
    lon = lon + np.repeat(wrapped(begin, begin[exterior[polygon]]) - begin, np.diff(first))
    middle = (np.minimum.reduceat(lon, start) + np.maximum.reduceat(lon, start)) / 2
    shift = _beside(middle) - middle
    owner = np.repeat(polygon, np.diff(first))
    moved = np.stack([lon + shift[owner], points[:, 1]], axis=1)
    return np.asarray(shapely.set_coordinates(polygons.copy(), moved))


def _continuous_lines(lines: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Return lines that are continuous across the 180th meridian, beside each other."""
    import shapely

    first = np.concatenate([[0], np.cumsum(shapely.get_num_coordinates(lines))])
    points = shapely.get_coordinates(lines)
    lon, start = unwrapped(first, points[:, 0]), first[:-1]
    middle = (np.minimum.reduceat(lon, start) + np.maximum.reduceat(lon, start)) / 2
    lon = lon + np.repeat(_beside(middle) - middle, np.diff(first))
    return np.asarray(shapely.set_coordinates(lines.copy(), np.stack([lon, points[:, 1]], axis=1)))


def _lines_payload(lines: npt.NDArray[np.object_]) -> dict[str, str]:
    """Return shapely lines as encoded numbers: the points of each line, and the points; simplified if they are many."""
    import shapely

    for factor in COARSER if shapely.get_num_coordinates(lines).sum() > SIMPLIFY_ABOVE else ():
        lines = shapely.simplify(lines, factor * TOLERANCE_M / METRES_PER_DEGREE, preserve_topology=False)
        if shapely.get_num_coordinates(lines).sum() <= MAX_POINTS:
            break
    points = shapely.get_coordinates(lines)[:, ::-1]
    return {"lines": encode(shapely.get_num_coordinates(lines)), "points": encode_degrees(points)}


def _beside(lon: Floats) -> Floats:
    """Return longitudes shifted by full turns, so that the widest gap between them is outside."""
    around = np.unique(lon % 360.0)
    gap = np.diff(around, append=around[0] + 360.0)
    at = int(np.argmax(gap))
    return np.asarray(wrapped(lon, wrapped(around[at] + gap[at] / 2 + 180.0, 0.0)))


def _rectangle(lat: Floats, lon: Floats) -> npt.NDArray[np.float64]:
    """Return the south-western and the north-eastern corner around points, as latitude and longitude in degrees."""
    return np.array([[lat.min(), lon.min()], [lat.max(), lon.max()]])


def _view(points: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the rectangle that a page shows at first: the whole one, or that of most points if a few lie far away.

    Parameters
    ----------
    points : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2).
    whole : numpy.ndarray
        The rectangle around all of them, see `_rectangle`.
    """
    low, high = np.quantile(points, [_TAIL, 1 - _TAIL], axis=0)
    margin = 0.1 * (high - low)
    most = np.stack([np.maximum(low - margin, whole[0]), np.minimum(high + margin, whole[1])])
    is_smaller = (_SMALLER * (most[1] - most[0]) < whole[1] - whole[0]).any()
    return most if is_smaller else whole


def _choice_html(names: Sequence[str], title: str | None) -> str:
    """Return the name of the only column unless it is the heading, or the control that chooses one of several."""
    if len(names) == 1:
        is_heading = title is None or title.casefold() == names[0].casefold()
        return "" if is_heading else f'<p class="column">{html.escape(names[0])}</p>'
    options = [f"<option>{html.escape(name)}</option>" for name in names]
    return "\n".join(['<p class="column"><select id="column" aria-label="Column">', *options, "</select></p>"])


def _legend_html(number: int, classes: Classes, rows: Ints, what: str) -> str:
    """Return the legend of a column: its classes, and the rows in each, those without a value first in `rows`."""
    swatches = [f"--value{colour}" for colour in classes.colours]
    head = f'<li class="head">number of {what}</li>'
    items = list(zip(swatches, classes.labels(), rows[1:].tolist(), strict=True))
    if rows[0]:
        items.append(("--value-none", "no value", int(rows[0])))
    lines = [
        f'<li><span class="swatch" style="background: var({swatch})"></span><b>{label}</b>'
        f'<span title="{what}">{count:,}</span></li>'
        for swatch, label, count in items
    ]
    hidden = " hidden" if number else ""
    return "\n".join(
        [f'<ol class="legend"{hidden} aria-label="Classes, and the number of {what}">', head, *lines, "</ol>"]
    )
