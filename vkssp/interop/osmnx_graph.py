"""Graphs of osmnx: street networks as NetworkX multigraphs with geometry, speeds and OSM ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import objects
from vkssp.checks import choice, index_of, number_of, shown
from vkssp.errors import GraphError
from vkssp.features.shapes import in_degrees
from vkssp.graph import Graph
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.interop.street_lines import Floats, Int64s, StreetLines, checked_seconds, joined_points, paired, points_of
from vkssp.osm.profile import TURNS

#: Attributes of edges that osmnx gives durations in seconds, speeds in km/h and lengths in metres.
_TIME, _SPEED, _LENGTH = "travel_time", "speed_kph", "length"
_ROUNDABOUTS = ("roundabout", "circular")


def from_osmnx(
    network: Any,
    weight: str | None = None,
    *,
    seconds: float | None = None,
    turns: str = "none",
    profile: str | Path = "car",
    restrictions: Iterable[Any] = (),
) -> Graph:
    """Make a graph of a street network of osmnx, with its geometry, names and OSM ids.

    A router on it takes places on the map, and `vkssp.Route.osm_nodes` are nodes of the network. Both directions of a
    street become arcs along one polyline.

    Parameters
    ----------
    network : networkx.MultiDiGraph
        The network, projected or not; a MultiGraph has both directions of each edge. osmnx is in the extra ``osmnx``.
    weight : str, optional
        Attribute of the edges to minimize. By default ``"travel_time"`` if all edges have it, or else length by
        ``"speed_kph"``, in seconds, if all edges have that, or else ``"length"`` in metres.
    seconds : float, optional
        Seconds for one unit of `weight`; by default 1 if it is the default duration or called ``"travel_time"``, and
        otherwise 0, which stands for no duration.
    turns : str
        ``"none"``; ``"restrictions"``: the graph obeys `restrictions`; ``"costs"``: turns, and signals and signs at
        nodes with the attribute ``highway``, take time, too, as in an imported extract. Weights must be durations.
    profile : str or Path
        The vehicle, whose rules hold for turns; see `vkssp.read_graph`.
    restrictions : iterable of dict
        Turn restrictions, which osmnx does not load: relations as the Overpass API writes them in JSON, with ``tags``
        and ``members``. Relations of other kinds are left out, and so are restrictions that do not hold for the
        vehicle, or whose ways are not in the network or not told apart in it.

    Returns
    -------
    Graph
        Without turns its nodes are those of the network, in their order and by their names, and weights are real
        numbers in the caller's units. With turns a junction has several nodes, `Streets.node` has their ids, and
        weights are milliseconds.

    Raises
    ------
    GraphError
        If it is no such network, or an edge has no weight; the message names the edge.
    QueryError
        If another argument is invalid, or the network is projected and pyproj is not installed.

    Examples
    --------
    >>> import networkx, vkssp
    >>> network = networkx.MultiDiGraph(crs="EPSG:4326")
    >>> network.add_node(7, x=1.52, y=42.5)
    >>> network.add_node(9, x=1.53, y=42.5)
    >>> _ = network.add_edge(7, 9, length=820.2, name="Avinguda Meritxell")
    >>> graph = vkssp.from_osmnx(network)
    >>> with vkssp.Solver(graph, "dijkstra") as solver:
    ...     print(solver.distances(7))
    [  0.  820.2]
    """
    choice(turns, "turns", TURNS)
    if not callable(getattr(network, "is_multigraph", None)) or not isinstance(getattr(network, "graph", None), dict):
        raise GraphError(f"network is {shown(network)}; give a MultiDiGraph of osmnx")
    names, node, lat, lon = _nodes(network)
    tails, heads, edges = _edges(network, names)
    length = _numbers(edges, _LENGTH, tails, heads, names)
    weights, per_unit = _weights(edges, weight, tails, heads, names, length)
    if seconds is not None:
        per_unit = checked_seconds(seconds)
    lines = _lines(network, edges, (lat, lon), tails, heads, length, weights, node)
    if turns == "none":
        return lines.graph(per_unit, "auto", objects(names) if node is None else node)
    if not per_unit:
        raise GraphError(
            f"turns is {turns!r}, but weights are no durations; add travel times by osmnx.add_edge_travel_times, "
            "or give the seconds for one unit of weight"
        )
    tags = {at: {"highway": kind} for at, kind in enumerate(network.nodes[name].get("highway") for name in names)}
    kept = {at: of_node for at, of_node in tags.items() if isinstance(of_node["highway"], str)}
    return lines.graph_with_turns(per_unit, turns, profile, kept, restrictions)


def _nodes(network: Any) -> tuple[list[Any], Int64s | None, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the nodes, their ids if these are integers of 64 bits, and their places in 1e-7 degrees."""
    import shapely

    names = list(network.nodes)
    columns = []
    for key in ("x", "y"):
        values = [number_of(data.get(key)) for _, data in network.nodes(data=True)]
        if None in values:
            at = values.index(None)
            raise GraphError(f"node {shown(names[at])} has no number {key!r}; give a network of osmnx, with x and y")
        columns.append(np.array(values, np.float64))
    places = shapely.get_coordinates(in_degrees(shapely.points(*columns), network.graph.get("crs"), "network")).reshape(
        -1, 2
    )
    far = ~((np.abs(places[:, 0]) <= 180.0) & (np.abs(places[:, 1]) <= 90.0))
    if far.any():
        at = int(np.argmax(far))
        raise GraphError(
            f"node {shown(names[at])} is at x={columns[0][at]:g}, y={columns[1][at]:g}, which are no degrees; "
            "set network.graph['crs']"
        )
    ids = list(map(index_of, names))
    are_ids = all(one is not None and -(2**63) <= one < 2**63 for one in ids)
    node = np.array(ids, np.int64).reshape(-1) if are_ids else None
    lon, lat = np.rint(places / COORDINATE_SCALE).astype(np.int32).T
    return names, node, lat.copy(), lon.copy()


def _edges(network: Any, names: list[Any]) -> tuple[Int64s, Int64s, list[Mapping[str, Any]]]:
    """Return positions of tails and heads, and the attributes of all edges, in both directions if undirected."""
    position = {name: at for at, name in enumerate(names)}
    edges: list[Mapping[str, Any]] = []
    counts, heads, is_multigraph = [], [], network.is_multigraph()
    for _, successors in network.adjacency():
        before = len(edges)
        for head, parallel in successors.items():
            found = parallel.values() if is_multigraph else (parallel,)
            edges.extend(found)
            heads.extend([position[head]] * len(found))
        counts.append(len(edges) - before)
    return np.repeat(np.arange(len(counts)), counts), np.array(heads, np.int64), edges


def _numbers(edges: list[Mapping[str, Any]], key: str, tails: Int64s, heads: Int64s, names: list[Any]) -> Floats:
    """Return an attribute of all edges as numbers from 0 on, or raise `GraphError`."""
    found = list(map(methodcaller("get", key), edges))
    # NumPy would make numbers of texts, and several of a list.
    values = np.array([np.nan if (one := number_of(value)) is None else one for value in found], np.float64)
    wrong = ~(values >= 0) | (values == np.inf)
    if wrong.any():
        at = int(np.argmax(wrong))
        ends = f"from {shown(names[tails[at]])} to {shown(names[heads[at]])}"
        what = "no" if found[at] is None else f"{shown(found[at])} as"
        raise GraphError(f"the edge {ends} has {what} {key!r}; give each edge a finite number from 0 on")
    return values


def _weights(
    edges: list[Mapping[str, Any]], weight: str | None, tails: Int64s, heads: Int64s, names: list[Any], length: Floats
) -> tuple[Floats, float]:
    """Return the weight of each edge, and the seconds of its unit."""
    if weight is None:
        have_time, have_speed = (None not in map(methodcaller("get", key), edges) for key in (_TIME, _SPEED))
        if not have_time and have_speed and edges:
            speed = _numbers(edges, _SPEED, tails, heads, names)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                duration = length * 3.6 / speed
            if not (duration < np.inf).all():
                at = int(np.argmin(duration < np.inf))
                ends = f"from {shown(names[tails[at]])} to {shown(names[heads[at]])}"
                raise GraphError(f"the edge {ends} has speed {speed[at]:g}; give each a speed in km/h, or leave it out")
            return duration, 1.0
        weight = _TIME if have_time and edges else _LENGTH
    if not isinstance(weight, str):
        raise GraphError(f"weight is {shown(weight)}; give the name of an attribute of edges")
    if weight == _LENGTH:
        return length, 0.0
    return _numbers(edges, weight, tails, heads, names), float(weight == _TIME)


def _lines(
    network: Any,
    edges: list[Mapping[str, Any]],
    places: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    tails: Int64s,
    heads: Int64s,
    length: Floats,
    weights: Floats,
    node: Int64s | None,
) -> StreetLines:
    """Return the streets of edges: two edges with the same points in opposite order are one."""
    lat, lon = places
    first, points = _points(network, edges, lat, lon, tails, heads)
    flipped, other = paired(tails, heads, first, points)
    kept = np.flatnonzero(~flipped)
    back = other[kept]
    count = np.diff(first)
    at = np.repeat(first[:-1][kept], count[kept])
    line_first = np.concatenate([[0], np.cumsum(count[kept])])
    inside = np.arange(len(at)) - np.repeat(line_first[:-1], count[kept])
    of_line = [edges[one] for one in kept.tolist()]
    kinds, junctions, routes = (
        [value if type(value) is str else _first(value) for value in map(methodcaller("get", key), of_line)]
        for key in ("highway", "junction", "route")
    )
    return StreetLines(
        tail=tails[kept],
        head=heads[kept],
        lat=lat,
        lon=lon,
        first=line_first,
        points=points[at + inside],
        metres=length[kept],
        weights=np.stack([weights[kept], np.where(back >= 0, weights[back], np.inf)], axis=1),
        ways=[_ways(edge.get("osmid")) for edge in of_line],
        name=list(map(_text, map(methodcaller("get", "name"), of_line))),
        ref=list(map(_text, map(methodcaller("get", "ref"), of_line))),
        roundabout=np.array([kind in _ROUNDABOUTS for kind in junctions], np.bool_),
        link=np.array([kind.endswith("_link") for kind in kinds], np.bool_),
        carried=np.array([kind == "ferry" for kind in routes], np.bool_),
        node=node,
    )


def _points(
    network: Any,
    edges: list[Mapping[str, Any]],
    lat: npt.NDArray[np.int32],
    lon: npt.NDArray[np.int32],
    tails: Int64s,
    heads: Int64s,
) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """Return the points of each edge from its tail to its head, in 1e-7 degrees."""
    import shapely

    shapes = objects([edge.get("geometry") for edge in edges])
    if not shapely.is_valid_input(shapes).all():
        at = int(np.argmin(shapely.is_valid_input(shapes)))
        raise GraphError(f"an edge has the geometry {shown(shapes[at])}; give lines of shapely, or none")
    wrong = np.flatnonzero(~np.isin(shapely.get_type_id(shapes), (-1, 1)))
    if len(wrong):
        raise GraphError(f"an edge has the geometry {shown(shapes[wrong[0]])}; give each a LineString, or none")
    shapes = in_degrees(shapes, network.graph.get("crs"), "network")
    if not (np.abs(shapely.get_coordinates(shapes)) <= (180.0, 90.0)).all():
        raise GraphError("an edge has a geometry that is not in degrees; set network.graph['crs']")
    begin, end = (np.stack([lat[ends], lon[ends]], axis=1) for ends in (tails, heads))
    return joined_points(*points_of(shapes), begin, end)


def _first(value: Any) -> str:
    """Return an attribute, or the first of several in a simplified edge, as a text."""
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    return value if isinstance(value, str) else ""


def _text(value: Any) -> str:
    """Return a name, or several of a simplified edge, as one text."""
    if value is None:
        return ""
    if isinstance(value, list | tuple | set):
        return "; ".join(dict.fromkeys(filter(None, map(_text, value))))
    return value.replace("\0", "") if isinstance(value, str) else ""


def _ways(value: Any) -> tuple[int, ...]:
    """Return the OSM ways of an edge, of which a simplified one has several."""
    items = value if isinstance(value, list | tuple | set) else (value,)
    return tuple(item for item in items if type(item) is int and -(2**63) < item < 2**63)
