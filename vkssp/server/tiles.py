"""Tiles of the service ``tile``: speeds of streets and costs of turns, with OSRM's layers and attributes."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from vkssp.graph import Graph
from vkssp.graph.csr import ranges
from vkssp.graph.geo import haversine
from vkssp.graph.manoeuvres import MODIFIERS
from vkssp.graph.mercator import in_tile
from vkssp.graph.metric import duration
from vkssp.graph.streets import Streets
from vkssp.routing.router import Router
from vkssp.routing.snap import StreetIndex
from vkssp.server.errors import RequestError
from vkssp.server.requests import TileRequest
from vkssp.server.vector_tile import EXTENT, layer

#: Units beyond the sides of a tile to which its streets are drawn.
_BUFFER = 128
#: Bytes of the tiles that are kept.
_MOST_BYTES = 32 << 20
#: Degrees between the directions of two streets, to either side of straight on, where `MODIFIERS` change.
_BOUNDS = np.array([-120.0, -40.0, -20.0, 20.0, 40.0, 120.0])
_WORDS = np.array([MODIFIERS[at] for at in (7, 6, 5, 4, 3, 2, 1)])

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


class Tiles:
    """Tiles of a router, the latest of which are kept while its weights are the same.

    Parameters
    ----------
    router : Router
        The router.
    """

    def __init__(self, router: Router) -> None:
        self._router, self._lock = router, threading.Lock()
        self._graph: Graph | None = None
        self._kept: OrderedDict[TileRequest, bytes] = OrderedDict()
        self._bytes = 0
        self._boxes: tuple[_Floats, ...] = ()

    def tile(self, request: TileRequest) -> bytes:
        """Return a tile in the format of `vkssp.server.vector_tile`.

        Raises
        ------
        RequestError
            If the graph has no streets.
        """
        graph, index = self._router.graph, self._router.index
        with self._lock:
            if graph is not self._graph:
                self._kept.clear()
                self._graph, self._bytes = graph, 0
            if request in self._kept:
                self._kept.move_to_end(request)
                return self._kept[request]
        if graph.streets is None:
            raise RequestError("NotImplemented", "The graph has no streets, so there are no tiles.")
        made = self._made(graph, graph.streets, index, request)
        with self._lock:
            if graph is self._graph and request not in self._kept:
                self._kept[request] = made
                self._bytes += len(made)
                while self._bytes > _MOST_BYTES:
                    self._bytes -= len(self._kept.popitem(last=False)[1])
        return made

    def _made(self, graph: Graph, streets: Streets, index: StreetIndex, request: TileRequest) -> bytes:
        if not self._boxes:
            self._boxes = tuple(
                edge.reduceat(along, index.first[:-1]) for along in index.points.T for edge in (np.minimum, np.maximum)
            )
        view = _View(request)
        lines = np.flatnonzero(view.meets(*self._boxes))
        return b"".join(
            (
                layer("speeds", *_speeds(graph, streets, index, view, lines)),
                layer("turns", *_turns(graph, streets, index, view, lines)),
                layer("osmnodes", *_nodes(streets, index, view, lines)),
            )
        )


class _View:
    """Projection of a tile: web Mercator."""

    def __init__(self, request: TileRequest) -> None:
        self._tile = request.zoom, request.x, request.y

    def units(self, points: _Floats) -> _Floats:
        """Return units to the east and to the south of places in degrees, shape (..., 2)."""
        return np.stack(in_tile(points[..., 0], points[..., 1], *self._tile), axis=-1) * EXTENT

    def meets(self, south: _Floats, north: _Floats, west: _Floats, east: _Floats) -> npt.NDArray[np.bool_]:
        """Return which boxes meet the tile."""
        low, high = self.units(np.stack([north, west], axis=-1)), self.units(np.stack([south, east], axis=-1))
        return np.asarray(((low <= EXTENT + _BUFFER) & (high >= -_BUFFER)).all(axis=-1))

    @staticmethod
    def has(units: _Floats) -> npt.NDArray[np.bool_]:
        """Return which points are in the tile."""
        return np.asarray(((units >= -_BUFFER) & (units <= EXTENT + _BUFFER)).all(axis=-1))

    @staticmethod
    def clipped(begin: _Floats, end: _Floats) -> tuple[npt.NDArray[np.bool_], _Ints]:
        """Return which pieces are in the tile, and those cut off at its sides, shape (k, 2, 2): Liang and Barsky."""
        step = end - begin
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.stack([(-_BUFFER - begin) / step, (EXTENT + _BUFFER - begin) / step])
        flat, inside = step == 0.0, (begin >= -_BUFFER) & (begin <= EXTENT + _BUFFER)
        enters = np.where(flat, np.where(inside, 0.0, 2.0), bounds.min(axis=0)).max(axis=-1, initial=0.0)
        leaves = np.where(flat, 1.0, bounds.max(axis=0)).min(axis=-1, initial=1.0)
        cut = np.stack([begin + enters[:, None] * step, begin + leaves[:, None] * step], axis=1)
        found = np.rint(np.nan_to_num(cut)).astype(np.int64)
        return np.asarray((enters < leaves) & (found[:, 0] != found[:, 1]).any(axis=-1)), found


_Features = tuple[_Ints, _Ints, dict[str, npt.NDArray[np.generic]]]


def _costs(graph: Graph, streets: Streets, arcs: _Ints) -> tuple[_Floats, _Floats, _Floats, _Floats]:
    """Return weights and seconds of arcs without the turns into them, and of these turns."""
    unit = duration(graph, 1) or graph.scale or 1.0
    none = np.zeros(len(arcs), np.float64)
    of_turns = np.asarray(none if streets.turn_weight is None else streets.turn_weight[arcs] * unit, np.float64)
    weights = np.asarray(graph.weight[arcs] * unit - of_turns, np.float64)
    if streets.seconds is None:
        return weights, weights, of_turns, of_turns
    turning = np.asarray(none if streets.turn_seconds is None else streets.turn_seconds[arcs], np.float64)
    return weights, np.asarray(streets.seconds[arcs] - turning, np.float64), of_turns, turning


def _tenths(values: _Floats) -> npt.NDArray[np.float32]:
    return (np.floor(10.0 * values + 0.5) / 10.0).astype(np.float32)


def _speeds(graph: Graph, streets: Streets, index: StreetIndex, view: _View, lines: _Ints) -> _Features:
    """Return the pieces of streets, each in the directions in which it may be travelled."""
    first, by_line = index.arcs_by_polyline
    arcs = by_line[ranges(first[lines], first[lines + 1] - first[lines])]
    # Where a graph has several arcs for one direction of a street, they differ in turns only.
    side = 2 * streets.polyline[arcs].astype(np.int64) + streets.backward[arcs]
    arcs = arcs[np.unique(side, return_index=True)[1]]
    arcs = arcs[streets.length[arcs] > 0]
    line = streets.polyline[arcs].astype(np.int64)
    counts = index.first[line + 1] - index.first[line] - 1
    at, of = ranges(index.first[line], counts), np.repeat(np.arange(len(arcs)), counts)
    back = streets.backward[arcs][of]
    places = index.points[at + back], index.points[at + ~back]
    kept, points = view.clipped(*(view.units(ends) for ends in places))
    metres = haversine(*places[0].T, *places[1].T)
    whole = np.bincount(of, metres, len(arcs))
    share = np.divide(metres, whole[of], out=np.zeros_like(metres), where=whole[of] > 0)
    weights, seconds, _, _ = _costs(graph, streets, arcs)
    lengths = streets.length[arcs].astype(np.float64)
    kmh = np.divide(3.6 * lengths, seconds, out=np.zeros_like(seconds), where=seconds > 0)
    rate = np.divide(lengths, 10.0 * weights, out=np.zeros_like(weights), where=weights > 0)
    of, share = of[kept], share[kept]
    names = np.array(streets.names, object)[streets.name[arcs]].astype(np.str_)
    properties: dict[str, npt.NDArray[np.generic]] = {
        "speed": np.floor(kmh + 0.5).astype(np.int64)[of],
        "is_small": index.islands[line][of],
        "datasource": np.full(len(of), "lua profile"),
        "weight": _tenths(share * weights[of]),
        "duration": _tenths(share * seconds[of]),
        "name": names[of],
        "rate": _tenths(rate)[of],
        "is_startpoint": index.usable[line][of],
    }
    return points[kept], np.arange(1, len(of) + 1), properties


def _turns(graph: Graph, streets: Streets, index: StreetIndex, view: _View, lines: _Ints) -> _Features:
    """Return the turns at the nodes of a tile, but for U-turns where another street goes on."""
    first, by_line = index.arcs_by_polyline
    into = by_line[ranges(first[lines], first[lines + 1] - first[lines])]
    into = into[streets.length[into] > 0]
    assert graph.lat is not None and graph.lon is not None
    nodes = graph.head[into].astype(np.int64)
    into = into[view.has(view.units(np.stack([graph.lat[nodes], graph.lon[nodes]], axis=-1)))]
    nodes = graph.head[into].astype(np.int64)
    begin = graph.first_out[nodes].astype(np.int64)
    counts = graph.first_out[nodes + 1] - begin
    out, into = ranges(begin, counts), np.repeat(into, counts)
    side = 2 * streets.polyline.astype(np.int64)
    arrives, leaves = side[into] + streets.backward[into], side[out] + streets.backward[out]
    is_back = arrives ^ 1 == leaves
    goes_on = np.bincount(into, ~is_back, graph.num_arcs)[into] > 0
    kept = (streets.length[out] > 0) & ~(is_back & goes_on)
    into, out, arrives, leaves = into[kept], out[kept], arrives[kept], leaves[kept]
    _, _, turn_weight, turn_seconds = _costs(graph, streets, out)
    # The cheapest first, of those that lead from one side of a street to another.
    order = np.lexsort((turn_weight, leaves, arrives))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(arrives[order]) != 0) | (np.diff(leaves[order]) != 0)
    order = order[new]
    into, out, turn_weight, turn_seconds = into[order], out[order], turn_weight[order], turn_seconds[order]
    bearing_in, bearing_out = _bearings(index, into, is_end=True), _bearings(index, out, is_end=False)
    angle = (bearing_out - bearing_in + 180.0) % 360.0 - 180.0
    words = _WORDS[np.searchsorted(_BOUNDS, angle)]
    words[arrives[order] ^ 1 == leaves[order]] = MODIFIERS[0]
    nodes = graph.head[into]
    units = view.units(np.stack([graph.lat[nodes], graph.lon[nodes]], axis=-1))
    properties: dict[str, npt.NDArray[np.generic]] = {
        "bearing_in": np.rint(bearing_in).astype(np.int64) % 360,
        "turn_angle": np.rint(angle).astype(np.int64),
        "cost": _tenths(turn_seconds),
        "weight": _tenths(turn_weight),
        "modifier": words,
    }
    return np.rint(units).astype(np.int64), np.arange(1, len(out) + 1), properties


def _bearings(index: StreetIndex, arcs: _Ints, *, is_end: bool) -> _Floats:
    """Return the directions in which arcs end, or begin, in degrees clockwise from north."""
    line, back = index.polyline_of[arcs].astype(np.int64), index.backward[arcs]
    at_last = back != is_end
    begin = np.where(at_last, index.first[line + 1] - 2, index.first[line])
    lat, lon = index.points[begin + back].T
    to_lat, to_lon = index.points[begin + ~back].T
    east = np.radians(to_lon - lon) * np.cos(np.radians((lat + to_lat) / 2.0))
    return np.asarray(np.degrees(np.arctan2(east, np.radians(to_lat - lat))) % 360.0)


def _nodes(streets: Streets, index: StreetIndex, view: _View, lines: _Ints) -> _Features:
    """Return the nodes of OpenStreetMap, if the graph knows their ids."""
    if streets.point_node is None:
        return np.zeros((0, 2), np.int64), np.zeros(0, np.int64), {}
    at = ranges(index.first[lines], index.first[lines + 1] - index.first[lines])
    ids, chosen = np.unique(streets.point_node[at], return_index=True)
    units = view.units(index.points[at[chosen]])
    kept = view.has(units) & (ids >= 0)
    return np.rint(units[kept]).astype(np.int64), ids[kept], {}
