"""Graphs from layers of lines: the GeoDataFrames of geopandas, whose lines meet at their end points."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from vkssp.checks import is_missing, number_of, shown
from vkssp.errors import GraphError
from vkssp.features.shapes import in_degrees
from vkssp.graph import Graph
from vkssp.graph.geo import EARTH_RADIUS
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.interop.edge_tables import column_names, given_column
from vkssp.interop.street_lines import Floats, Int64s, StreetLines, checked_seconds, metres_along, points_of
from vkssp.log import logger

_log = logger(__name__)
#: Values of a column of one-way streets, in lower case: along the line, against it, and both.
_ALONG = frozenset(("1", "1.0", "yes", "true", "y", "f", "ft", "forward", "along"))
_AGAINST = frozenset(("-1", "-1.0", "t", "tf", "reverse", "backward", "against"))
_BOTH = frozenset(("0", "0.0", "no", "false", "n", "b", "both", "", "none", "nan", "<na>"))


def from_geodataframe(
    lines: Any,
    weight: str | None = None,
    *,
    reverse_weight: str | None = None,
    speed: str | None = None,
    oneway: str | None = None,
    name: str | None = None,
    seconds: float = 0.0,
    tolerance: float = 0.0,
    scale: float | Literal["auto"] | None = "auto",
) -> Graph:
    """Make a graph of a layer of lines. Lines are joined where their end points are the same.

    Parameters
    ----------
    lines : geopandas.GeoDataFrame
        The lines, LineStrings or MultiLineStrings, in any coordinate system; without one in degrees. Lines that only
        cross each other are not joined.
    weight : str, optional
        Column of the weight along each line, and against it unless `reverse_weight` is given; by default the length in
        metres. A weight that is negative or missing closes this direction.
    reverse_weight : str, optional
        Column of the weight against each line.
    speed : str, optional
        Column of speeds in km/h, instead of `weight`; weights are seconds then.
    oneway : str, optional
        Column that closes directions: ``yes``, ``true``, ``1``, ``F`` or ``FT`` leave that along the line, ``-1``,
        ``T``, ``TF`` or ``reverse`` that against it, ``no``, ``false``, ``0``, ``B`` or nothing both. By default lines
        lead in both directions, and the log warns if the layer has a column ``oneway``.
    name : str, optional
        Column of the names of streets.
    seconds : float
        Seconds for one unit of `weight`, 0 if weights are not durations.
    tolerance : float
        Metres between end points that count as the same.
    scale : float, "auto" or None
        Unit for real weights; see `Graph.from_csr`.

    Returns
    -------
    Graph
        With `Streets`; `Streets.way` is the label of each arc's line in the index of `lines`, or its position if
        labels are not integers. Nodes are numbered in the order in which the lines first meet them.

    Raises
    ------
    GraphError
        If there are no such lines or columns; the message names the row.
    QueryError
        If the coordinates are not in degrees, and pyproj is not installed.
    """
    shapes, labels = _shapes(lines)
    first, points, row = _pieces(shapes)
    metres = metres_along(first, points)
    weights, per_unit = _weights(lines, len(shapes), row, metres, weight, reverse_weight, speed, seconds)
    if oneway is None and reverse_weight is None and "oneway" in column_names(lines, "lines"):
        _log.warning("lines has a column 'oneway' that is not used; give oneway='oneway' to close directions by it")
    open_ = np.ones((len(shapes), 2), np.bool_) if oneway is None else _directions(lines, oneway, labels)
    weights = np.where(open_[row], weights, np.inf)
    tail, head, lat, lon = _nodes(first, points, tolerance)
    are_numbers = all(type(label) is int and -(2**63) <= label < 2**63 for label in labels)
    ways = labels if are_numbers else list(range(len(labels)))
    names = [""] * len(labels) if name is None else [_text(value) for value in _column(lines, name).tolist()]
    found = StreetLines(
        tail,
        head,
        lat,
        lon,
        first,
        points,
        metres,
        weights,
        ways=[(ways[at],) for at in row.tolist()],
        name=[names[at] for at in row.tolist()],
    )
    return found.graph(per_unit, scale)


def _shapes(lines: Any) -> tuple[npt.NDArray[Any], list[Any]]:
    """Return the lines in degrees, and their labels."""
    import shapely

    column_names(lines, "lines")
    geometry = getattr(lines, "geometry", None)
    if geometry is None or not hasattr(geometry, "crs"):
        raise GraphError(f"lines is {shown(lines)}; give a GeoDataFrame of geopandas")
    labels = list(lines.index.tolist())
    shapes = np.asarray(geometry.values, object)
    wrong = ~np.isin(shapely.get_type_id(shapes), (1, 5)) | shapely.is_empty(shapes)
    if wrong.any():
        at = int(np.argmax(wrong))
        kind = "no shape" if shapes[at] is None else "an empty line" if shapes[at].is_empty else shapes[at].geom_type
        raise GraphError(f"lines has {kind} in row {shown(labels[at])}; give each row a line, or leave it out")
    shapes = in_degrees(shapes, geometry.crs, "lines")
    coordinates, row = shapely.get_coordinates(shapes, return_index=True)
    far = ~(np.abs(coordinates) <= (180.0, 90.0)).all(axis=1)  # also catches NaN
    if far.any():
        raise GraphError(f"lines has no degrees in row {shown(labels[row[int(np.argmax(far))]])}; set its crs")
    return shapes, labels


def _pieces(shapes: npt.NDArray[Any]) -> tuple[Int64s, npt.NDArray[np.int32], Int64s]:
    """Return the points of single lines in 1e-7 degrees, and the row of each line."""
    import shapely

    parts, row = shapely.get_parts(shapes, return_index=True)
    return *points_of(parts), row.astype(np.int64)


def _column(lines: Any, name: str) -> npt.NDArray[Any]:
    return np.asarray(given_column(lines, name, "lines"), object)


def _numbers(lines: Any, name: str) -> Floats:
    """Return a column of numbers, NaN where one is missing."""
    values = _column(lines, name)
    found = np.empty(len(values))
    for at, value in enumerate(values.tolist()):
        number = np.nan if _text(value).lower() in _BOTH - {"0", "0.0"} else number_of(value)
        if number is None:
            raise GraphError(f"lines[{name!r}] is {shown(value)} in row {at}; give numbers, or nothing")
        found[at] = number
    return found


def _weights(
    lines: Any,
    num_rows: int,
    row: Int64s,
    metres: Floats,
    weight: str | None,
    reverse_weight: str | None,
    speed: str | None,
    seconds: float,
) -> tuple[Floats, float]:
    """Return the weights along and against each line, and the seconds of their unit."""
    per_unit = checked_seconds(seconds)
    if speed is not None:
        if weight is not None or reverse_weight is not None:
            raise GraphError("speed and weight are both given; give one of them")
        kmh = _numbers(lines, speed)
        is_speed = kmh > 1e-300  # by which a duration is finite
        if not is_speed.all():
            at = int(np.argmin(is_speed))
            raise GraphError(f"lines[{speed!r}] is {kmh[at]:g} in row {at}; give speeds above 0, in km/h")
        return np.repeat((metres * 3.6 / kmh[row])[:, None], 2, axis=1), 1.0
    if weight is None:
        if reverse_weight is not None:
            raise GraphError("reverse_weight is given without weight; give both")
        return np.repeat(metres[:, None], 2, axis=1), per_unit
    columns = [_numbers(lines, weight), _numbers(lines, weight if reverse_weight is None else reverse_weight)]
    # A line in several parts shares its weight among them by their lengths.
    whole = np.bincount(row, metres, num_rows)[row]
    parts = np.bincount(row, minlength=num_rows)[row]
    share = np.divide(metres, whole, out=1.0 / parts, where=whole > 0)
    found = np.stack(columns, axis=1)[row] * share[:, None]
    return np.where(found >= 0, found, np.inf), per_unit


def _directions(lines: Any, name: str, labels: list[Any]) -> npt.NDArray[np.bool_]:
    """Return whether each row is open along its line and against it, shape (num_rows, 2)."""
    found = np.ones((len(labels), 2), np.bool_)
    for at, value in enumerate(_column(lines, name).tolist()):
        text = _text(value).strip().lower()
        if text in _ALONG:
            found[at, 1] = False
        elif text in _AGAINST:
            found[at, 0] = False
        elif text not in _BOTH:
            raise GraphError(f"lines[{name!r}] is {shown(value)} in row {shown(labels[at])}; give yes, -1 or no")
    return found


def _text(value: Any) -> str:
    return "" if is_missing(value) else str(value).replace("\0", "")


def _nodes(
    first: Int64s, points: npt.NDArray[np.int32], tolerance: float
) -> tuple[Int64s, Int64s, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the nodes at the ends of lines, and coordinates of all nodes in 1e-7 degrees."""
    most = number_of(tolerance)
    if most is None or not 0 <= most <= 1e5:
        raise GraphError(f"tolerance is {shown(tolerance)}; give metres from 0 to 100000")
    ends = np.stack([points[first[:-1]], points[first[1:] - 1]], axis=1).reshape(-1, 2)
    places, number = np.unique(ends, axis=0, return_inverse=True)
    number = number.reshape(-1)
    if most > 0 and len(places):
        number = _clusters(places, most)[number]
    _, seen, number = np.unique(number, return_index=True, return_inverse=True)
    rank = np.empty(len(seen), np.int64)
    rank[np.argsort(seen)] = np.arange(len(seen))
    node, at = rank[number].reshape(-1, 2), ends[np.sort(seen)]
    return node[:, 0], node[:, 1], at[:, 0].copy(), at[:, 1].copy()


def _clusters(places: npt.NDArray[np.int32], metres: float) -> Int64s:
    """Return the number of the cluster of each place: places are joined if they are near enough, directly or not."""
    from scipy import sparse, spatial

    lat, lon = np.radians(places * COORDINATE_SCALE).T
    globe = EARTH_RADIUS * np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    pairs = spatial.cKDTree(globe).query_pairs(metres, output_type="ndarray")
    links = sparse.coo_array((np.ones(len(pairs), np.bool_), pairs.T), shape=(len(places),) * 2)
    labels: Int64s = sparse.csgraph.connected_components(links, directed=False)[1].astype(np.int64)
    return labels
