"""Roads of a graph as lines that a map page holds and draws.

The page gets three streams of variable-length integers in base64: the number of points of each line, the index of each
line's name, and the differences between successive points. It decodes them into typed arrays and draws them on one
canvas.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vkssp.graph.geo import METRES_PER_DEGREE, unwrapped, wrapped

if TYPE_CHECKING:
    from vkssp.graph import Graph
    from vkssp.graph.streets import Streets

Ints = npt.NDArray[np.int64]

#: Units of one degree in the page: 1e-6 degrees is 11 cm, less than a pixel at the nearest zoom.
PAGE_SCALE = 10**6
#: Streets units (1e-7 degrees) in one unit of the page.
_STREETS_PER_PAGE = 10
#: Lowest speed in km/h of each class above the first: residential streets, main roads in cities, country roads,
#: motorways. Higher classes are drawn wider. The speeds fit profiles that expect four fifths of the posted limit.
CLASS_KMH = (18.0, 36.0, 56.0, 80.0)
#: Class of roads whose speed is not known.
_PLAIN_CLASS = 1
#: Networks with more points than this are simplified.
SIMPLIFY_ABOVE = 50_000
#: Metres by which simplification may move a road.
TOLERANCE_M = 2.0
#: Number of points that a browser on a phone can handle; of larger networks the page holds only a part.
MAX_POINTS = 1_500_000
#: Multiples of this number, less their whole parts, are spread evenly over the interval from 0 to 1.
_GOLDEN = 0.6180339887498949
#: Multiples of `TOLERANCE_M` for lines whose ends stay points, until they have at most `MAX_POINTS`.
COARSER = (1, 4, 16)


@dataclass(frozen=True)
class Network:
    """Lines of roads, ready to be drawn.

    Attributes
    ----------
    first : numpy.ndarray
        Offset of each line's first point in `points`, shape (num_lines + 1,), int64.
    points : numpy.ndarray
        Latitude and longitude in degrees times `PAGE_SCALE`, shape (num_points, 2), int64.
    speed_class : numpy.ndarray
        Number of entries of `CLASS_KMH` that each line's speed reaches, shape (num_lines,), int64.
    name : numpy.ndarray
        Index into `names` for each line, shape (num_lines,), int64.
    names : tuple of str
        Street names; entry 0 is the empty string.
    """

    first: Ints
    points: Ints
    speed_class: Ints
    name: Ints
    names: tuple[str, ...]

    def take(self, lines: Ints) -> Network:
        """Return the given lines in the given order."""
        count = np.diff(self.first)[lines]
        first = np.concatenate([[0], np.cumsum(count)])
        index = np.repeat(self.first[:-1][lines] - first[:-1], count) + np.arange(first[-1])
        return Network(first, self.points[index], self.speed_class[lines], self.name[lines], self.names)


def _way_kmh(graph: Graph, streets: Streets) -> npt.NDArray[np.float64]:
    """Return the mean speed in km/h on each arc's OSM way, without turns, shape (num_arcs,).

    The speed of a single arc would be unreliable: rounding and waiting at traffic lights distort it on short arcs.
    """
    _, way = np.unique(streets.way, return_inverse=True)
    metres = np.bincount(way, streets.length)
    seconds = np.bincount(way, streets.without_turns(graph.weight)) * streets.seconds_per_weight
    kmh: npt.NDArray[np.float64] = (3.6 * metres / np.maximum(seconds, 1e-9))[way]
    return kmh


def _roads(graph: Graph, streets: Streets) -> Network:
    """Return the polylines of all arcs as lines, each once."""
    used, arc = np.unique(streets.polyline.astype(np.int64), return_index=True)
    if streets.seconds_per_weight > 0:
        speed_class = np.searchsorted(CLASS_KMH, _way_kmh(graph, streets)[arc], side="right")
        # On a map for walkers all roads are slow. They are still not drawn in the class of tracks.
        speed_class += max(0, _PLAIN_CLASS - int(speed_class.max(initial=0)))
    else:
        speed_class = np.full(len(used), _PLAIN_CLASS)
    first = streets.polyline_first.astype(np.int64)
    points = np.rint(streets.points / _STREETS_PER_PAGE).astype(np.int64)
    unset = np.zeros(len(first) - 1, np.int64)
    lines = Network(first, points, unset, unset, streets.names).take(used)
    return replace(lines, speed_class=speed_class.astype(np.int64), name=streets.name[arc].astype(np.int64))


def _straight(graph: Graph) -> Network:
    """Return one straight line per pair of adjacent nodes."""
    low, high = np.minimum(graph.tail, graph.head), np.maximum(graph.tail, graph.head)
    apart = low != high
    ends = np.unique(np.stack([low[apart], high[apart]], axis=1), axis=0).astype(np.int64)
    assert graph.lat is not None and graph.lon is not None
    count = len(ends)
    plain = np.full(count, _PLAIN_CLASS, np.int64)
    return Network(2 * np.arange(count + 1), node_points(graph)[ends.ravel()], plain, np.zeros(count, np.int64), ("",))


def node_points(graph: Graph) -> Ints:
    """Return the place of each node as the ends of lines have it: see `Network.points`, shape (num_nodes, 2), int64.

    Longitudes are not continued beyond the 180th meridian, and are perhaps -180 where the line's is 180.
    """
    assert graph.lat is not None and graph.lon is not None
    places = np.rint(np.stack([graph.lat, graph.lon], axis=1) * PAGE_SCALE).astype(np.int64)
    if graph.streets is not None:
        # Degrees and the integers of polylines may be rounded to different neighbours.
        streets = graph.streets
        first, line = streets.polyline_first.astype(np.int64), streets.polyline.astype(np.int64)
        for node, is_end in ((graph.tail, streets.backward), (graph.head, ~streets.backward)):
            at = np.where(is_end, first[line + 1] - 1, first[line])
            places[node] = np.rint(streets.points[at] / _STREETS_PER_PAGE).astype(np.int64)
    return places


def _merged(network: Network) -> Network:
    """Return the network with the pieces between junctions joined to streets of the same name and class.

    Whole streets are fewer lines to draw, and have room for their names.
    """
    import shapely

    lines = len(network.first) - 1
    if lines == 0:
        return network
    which = np.repeat(np.arange(lines), np.diff(network.first))
    pieces = shapely.linestrings(network.points.astype(np.float64), indices=which)
    labels, group = np.unique(np.stack([network.speed_class, network.name]), axis=1, return_inverse=True)
    by_group = np.argsort(group, kind="stable")
    streets = shapely.line_merge(shapely.multilinestrings(pieces[by_group], indices=group[by_group]))
    streets, group = shapely.get_parts(streets, return_index=True)
    points = np.rint(shapely.get_coordinates(streets)).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(shapely.get_num_coordinates(streets))])
    return Network(first, points, labels[0, group], labels[1, group], network.names)


def _simplified(network: Network, tolerance: float) -> Network:
    """Return the network without points that lie within `tolerance` metres of the line without them."""
    import shapely

    lines = len(network.first) - 1
    which = np.repeat(np.arange(lines), np.diff(network.first))
    # A degree of longitude shrinks towards the poles; the scale of each line is that of the latitude where it starts.
    width = np.cos(np.radians(network.points[network.first[:-1], 0] / PAGE_SCALE))
    scale = np.stack([np.ones(lines), np.maximum(width, 0.01)], axis=1) * (METRES_PER_DEGREE / PAGE_SCALE)
    metres = shapely.linestrings(network.points * scale[which], indices=which)
    metres = shapely.simplify(metres, tolerance, preserve_topology=False)
    kept, which = shapely.get_coordinates(metres, return_index=True)
    first = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=lines))])
    return replace(network, first=first, points=np.rint(kept / scale[which]).astype(np.int64))


def _merged_at_nodes(network: Network) -> Network:
    """Return the network with its pieces simplified if it is large, and then joined, so that their ends are kept."""
    pieces = network
    for factor in COARSER if len(network.points) > SIMPLIFY_ABOVE else ():
        pieces = _simplified(network, factor * TOLERANCE_M)
        # Each piece that is joined to another one saves a point.
        if len(pieces.points) - len(pieces.first) <= MAX_POINTS:
            break
    return _merged(pieces)


def _within_budget(network: Network, route_points: npt.NDArray[np.float64]) -> Network:
    """Return the part of a network that a page can hold: first the roads around the route, then the faster ones."""
    if len(network.points) <= MAX_POINTS:
        return network
    low, high = route_points.min(axis=0) * PAGE_SCALE, route_points.max(axis=0) * PAGE_SCALE
    margin = 0.25 * np.max(high - low) + 0.02 * PAGE_SCALE
    least = np.minimum.reduceat(network.points, network.first[:-1])
    most = np.maximum.reduceat(network.points, network.first[:-1])
    near = ((most >= low - margin) & (least <= high + margin)).all(axis=1)
    # Of equal lines some are left out everywhere, instead of all in a part of the map.
    spread = np.arange(len(near)) * _GOLDEN % 1.0
    best = np.lexsort((spread, -network.speed_class, ~near))
    fits = np.cumsum(np.diff(network.first)[best]) <= MAX_POINTS
    return network.take(np.sort(best[fits]))


def _around(network: Network, centre: float) -> Network:
    """Return the network with lines that are continuous across the 180th meridian, each near a longitude."""
    lon = network.points[:, 1] / PAGE_SCALE
    found, begin = unwrapped(network.first, lon), lon[network.first[:-1]]
    found = found + np.repeat(wrapped(begin, centre) - begin, np.diff(network.first))
    turns = np.rint((found - lon) / 360.0).astype(np.int64)
    points = np.stack([network.points[:, 0], network.points[:, 1] + 360 * PAGE_SCALE * turns], axis=1)
    return replace(network, points=points)


def network_of(graph: Graph, route_points: npt.NDArray[np.float64], *, keep_nodes: bool = False) -> Network:
    """Return the roads to draw under a route, sorted by class; see `vkssp.routing.map.write_map`.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates.
    route_points : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2). If their longitudes continue beyond the 180th meridian, those
        of the roads do, too.
    keep_nodes : bool
        Whether the places of nodes stay points of the lines, however much these are simplified; see `node_points`.
    """
    centre = float(route_points[:, 1].min() + route_points[:, 1].max()) / 2
    if graph.streets is None:
        network = _around(_straight(graph), centre)
    elif keep_nodes:
        network = _merged_at_nodes(_around(_roads(graph, graph.streets), centre))
    else:
        network = _merged(_around(_roads(graph, graph.streets), centre))
        if len(network.points) > SIMPLIFY_ABOVE:
            network = _simplified(network, TOLERANCE_M)
    network = _within_budget(network, route_points)
    return network.take(np.argsort(network.speed_class, kind="stable"))


def encode(values: npt.ArrayLike) -> str:
    """Encode integers as base64 of little-endian groups of seven bits, whose high bit says that more groups follow.

    Parameters
    ----------
    values : array_like
        Integers from 0 to 2**35 - 1, shape (k,).
    """
    numbers = np.asarray(values, np.int64)
    size = np.ones(len(numbers), np.int64)
    for group in range(1, 5):
        size += numbers >= 1 << (7 * group)
    start = np.cumsum(size) - size
    data = np.zeros(int(size.sum()), np.uint8)
    for group in range(5):
        has = size > group
        more = (size[has] > group + 1).astype(np.int64) << 7
        data[start[has] + group] = ((numbers[has] >> (7 * group)) & 127) | more
    return base64.b64encode(data.tobytes()).decode("ascii")


def encode_points(points: Ints) -> str:
    """Encode points, shape (k, 2), as differences between successive points, the first one from (0, 0).

    The sign is in the lowest bit, so that small differences of either sign are small numbers.
    """
    steps = np.diff(points, axis=0, prepend=np.zeros((1, 2), np.int64)).ravel()
    return encode((steps << 1) ^ (steps >> 63))


def roads_payload(graph: Graph, around: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return the roads of a graph as data of the page's script; of a large network, first those around some points.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates.
    around : numpy.ndarray
        Latitude and longitude in degrees, shape (k, 2); see `network_of`.
    """
    return network_payload(network_of(graph, around))


def network_payload(network: Network) -> dict[str, Any]:
    """Return a network, sorted by class, as data of the page's script."""
    # Only names in use go into the page; 0 stays the empty name.
    seen, label = np.unique(np.concatenate([[0], network.name]), return_inverse=True)
    return {
        "scale": PAGE_SCALE,
        "classes": np.bincount(network.speed_class, minlength=len(CLASS_KMH) + 1).tolist(),
        "counts": encode(np.diff(network.first)),
        "labels": encode(label[1:]),
        "names": [network.names[index] for index in seen],
        "points": encode_points(network.points),
    }
