"""Snapping: the nearest point of the road network to a place, on an arc and not only at a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import QueryError
from vkssp.geo import METRES_PER_DEGREE, haversine
from vkssp.graph import Graph
from vkssp.routing.avoid import Avoided
from vkssp.streets import COORDINATE_SCALE

#: A place farther than this from every road, in metres, is not on the map.
MAX_SNAP_M = 20_000.0
_FIRST_RADIUS_M = 200.0
#: Within so many metres of its end a point on a street is taken to be at the end: on the junction, free to take any of
#: its streets. OpenStreetMap's coordinates are a centimetre apart.
_END_M = 0.1
#: Parts of the network with fewer nodes than this, and less than a twentieth of the largest part, are islands: gravel
#: pits, clipped ends, car parks cut off by bad data. Real islands have more.
ISLAND_NODES = 1000

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Snap:
    """A point on the road network.

    Attributes
    ----------
    polyline : int
        The polyline that it lies on.
    fraction : float
        Where: 0 at the polyline's start, 1 at its end, by length.
    segment : int
        The piece of the polyline that it lies on, counted from its start.
    lat, lon : float
        The point, in degrees.
    metres : float
        Distance from the place that was snapped.
    """

    polyline: int
    fraction: float
    segment: int
    lat: float
    lon: float
    metres: float


class StreetIndex:
    """The streets of a graph in a spatial index, and which of them can be left or reached.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates. Where it has no streets its arcs are taken as straight lines.
    areas : shapely.Polygon or shapely.MultiPolygon, optional
        What to avoid: nothing is snapped into it, and searches leave out the streets that it touches.

    Attributes
    ----------
    graph : Graph
        The graph.
    avoided : Avoided or None
        What is left of the streets without the areas.

    Raises
    ------
    QueryError
        If the graph has no coordinates, or no arcs, or the areas leave none.
    """

    def __init__(self, graph: Graph, areas: Any = None) -> None:
        if graph.lat is None or graph.lon is None:
            raise QueryError("the graph has no coordinates, so places on a map mean nothing in it; ask by node ids")
        if graph.num_arcs == 0:
            raise QueryError("the graph has no arcs, so there is nowhere to go")
        self.graph = graph
        streets = graph.streets
        if streets is not None:
            self.first = streets.polyline_first.astype(np.int64)
            self.points = np.asarray(streets.points * COORDINATE_SCALE, np.float64)
            self.polyline_of: npt.NDArray[Any] = streets.polyline
            # Nobody steps aboard a ferry in the middle of the sea, and the link that makes a gate take its time has no
            # length to stand on.
            self._usable = np.zeros(self.num_polylines, np.bool_)
            self._usable[streets.polyline[~streets.carried & (streets.length > 0)]] = True
            self.backward: Bools = streets.backward
        else:
            ends = np.stack([graph.tail, graph.head], axis=1).reshape(-1)
            self.first = np.arange(0, len(ends) + 1, 2)
            self.points = np.stack([graph.lat[ends], graph.lon[ends]], axis=1)
            self.polyline_of = np.arange(graph.num_arcs)
            self.backward = np.zeros(graph.num_arcs, np.bool_)
            self._usable = np.ones(graph.num_arcs, np.bool_)
        self._by_polyline = np.argsort(self.polyline_of, kind="stable")
        self._row = np.searchsorted(self.polyline_of[self._by_polyline], np.arange(len(self.first)))
        self._unwrap()
        self.south, self.west = self.points.min(axis=0)
        self.north, self.east = self.points.max(axis=0)
        self.avoided = None if areas is None else Avoided(self, areas)

    def _unwrap(self) -> None:
        """Let lines that cross the 180th meridian go on beyond it, instead of round the Earth."""
        leap = np.diff(self.points[:, 1], prepend=self.points[0, 1])
        leap[self.first[:-1]] = 0.0
        turns = -np.rint(leap / 360.0)
        if turns.any():
            total = np.cumsum(turns)
            line = np.repeat(np.arange(self.num_polylines), np.diff(self.first))
            self.points[:, 1] += 360.0 * (total - total[self.first[:-1]][line])

    def near(self, lon: float) -> list[float]:
        """Return the longitudes, of those that mean the same meridian, that lines of this map may have."""
        return [lon + turn for turn in (0.0, 360.0, -360.0) if self.west - 1 <= lon + turn <= self.east + 1]

    @property
    def num_polylines(self) -> int:
        """Number of polylines."""
        return len(self.first) - 1

    def arcs(self, polyline: int) -> npt.NDArray[np.int64]:
        """Return the ids of the arcs that run along a polyline, either way."""
        return self._by_polyline[self._row[polyline] : self._row[polyline + 1]]

    @property
    def knows_turns(self) -> bool:
        """Whether several nodes of the graph may be one place; see `Streets.junction`."""
        return self.graph.streets is not None and self.graph.streets.junction is not None

    @cached_property
    def _by_junction(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The nodes in the order of their places, and where in it each place begins."""
        streets = self.graph.streets
        assert streets is not None and streets.junction is not None
        order = np.argsort(streets.junction, kind="stable")
        return order, np.searchsorted(streets.junction[order], np.arange(int(streets.junction.max()) + 2))

    def nodes_at(self, node: int) -> list[int]:
        """Return the nodes that are the same place as a given one, that one among them."""
        streets = self.graph.streets
        if streets is None or streets.junction is None:
            return [node]
        order, first = self._by_junction
        place = int(streets.junction[node])
        found: list[int] = order[first[place] : first[place + 1]].tolist()
        return found

    def arcs_out(self, node: int) -> range:
        """Return the arcs that leave a node."""
        return range(int(self.graph.first_out[node]), int(self.graph.first_out[node + 1]))

    def polyline_points(self, polyline: int) -> npt.NDArray[np.float64]:
        """Return a polyline's points, latitude and longitude in degrees, shape (k, 2)."""
        return self.points[self.first[polyline] : self.first[polyline + 1]]

    def length(self, arc: int) -> float:
        """Return an arc's length in metres; along the straight line where the graph has no streets."""
        if self.graph.streets is not None:
            return float(self.graph.streets.length[arc])
        (lat0, lon0), (lat1, lon1) = self.polyline_points(int(self.polyline_of[arc]))
        return float(haversine(lat0, lon0, lat1, lon1))

    @property
    def searched(self) -> Graph:
        """The graph that searches run on: without the arcs that areas touch, the nodes being the same."""
        return self.graph if self.avoided is None else self.avoided.graph

    def piece(self, arc: int, start: Snap | None = None, end: Snap | None = None) -> npt.NDArray[np.float64]:
        """Return the points of an arc from a snapped point, or its tail, to another, or its head.

        Points on other streets than the arc's count for none.
        """
        polyline, backward = int(self.polyline_of[arc]), self.backward[arc]
        points = self.polyline_points(polyline)
        if backward:
            points = points[::-1]
        low, high = 0, len(points)
        before, after = np.zeros((0, 2)), np.zeros((0, 2))
        last = len(points) - 2
        if start is not None and start.polyline == polyline:
            low = (last - start.segment if backward else start.segment) + 1
            before = np.array([[start.lat, start.lon]])
        if end is not None and end.polyline == polyline:
            high = (last - end.segment if backward else end.segment) + 1
            after = np.array([[end.lat, end.lon]])
        return np.concatenate([before, points[low:high], after])

    def is_open(self, arc: int, start: Snap | None = None, end: Snap | None = None) -> bool:
        """Return whether no area touches an arc, or what `piece` returns of it."""
        avoided = self.avoided
        return avoided is None or not (
            avoided.touched[self.polyline_of[arc]] and avoided.touches(self.piece(arc, start, end))
        )

    @cached_property
    def tree(self) -> Any:
        """The polylines in a `shapely.STRtree`, longitude first."""
        import shapely

        index = np.repeat(np.arange(self.num_polylines), np.diff(self.first))
        return shapely.STRtree(shapely.linestrings(self.points[:, ::-1], indices=index))

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """The weakly connected part of each polyline, and each part's number of nodes, a place counted once."""
        from scipy import sparse
        from scipy.sparse import csgraph

        links = self.graph.to_scipy().astype(np.bool_)
        streets = self.graph.streets
        if streets is None or streets.junction is None:
            _, part = csgraph.connected_components(links, directed=False)
            sizes = np.bincount(part)
        else:
            # Who may not turn round never meets who goes the other way round a block; but they are on one island.
            place = streets.junction.astype(np.int64)
            count = int(place.max()) + 1
            ends = (place[self.graph.tail], place[self.graph.head])
            links = sparse.coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=(count, count))
            _, of_place = csgraph.connected_components(links, directed=False)
            part, sizes = of_place[place], np.bincount(of_place[np.unique(place)])
        of_polyline = np.zeros(self.num_polylines, np.int64)
        of_polyline[self.polyline_of] = part[self.graph.tail]
        return of_polyline, sizes

    @cached_property
    def _useful(self) -> tuple[Bools, Bools]:
        """For each polyline, whether the network's core can be reached from it, and whether it can be from the core."""
        from scipy.sparse import csgraph

        links = self.searched.to_scipy().astype(np.bool_)
        _, strong = csgraph.connected_components(links, directed=True, connection="strong")
        core = int(np.argmax(strong == np.argmax(np.bincount(strong))))
        result = []
        for matrix, end in ((links.T.tocsr(), self.graph.head), (links, self.graph.tail)):
            reached = np.zeros(self.graph.num_nodes, np.bool_)
            reached[csgraph.breadth_first_order(matrix, core, return_predecessors=False)] = True
            useful = np.zeros(self.num_polylines, np.bool_)
            np.logical_or.at(useful, self.polyline_of, reached[end])
            result.append(useful)
        return result[0], result[1]

    def prepare(self) -> None:
        """Build what queries need; otherwise the first ones do."""
        _ = self.tree, self._parts, self._useful

    def part(self, snap: Snap) -> int:
        """Return the connected part of the network that a point lies in."""
        return int(self._parts[0][snap.polyline])

    def on_island(self, snap: Snap) -> bool:
        """Return whether a point lies in a part of the network that is too small to be meant."""
        sizes = self._parts[1]
        size = sizes[self.part(snap)]
        return bool(size < ISLAND_NODES and 20 * size < sizes.max())

    def leaves(self, snap: Snap) -> bool:
        """Return whether the network's core can be reached from a point."""
        return bool(self._useful[0][snap.polyline])

    def is_reached(self, snap: Snap) -> bool:
        """Return whether a point can be reached from the network's core."""
        return bool(self._useful[1][snap.polyline])

    def nearest(self, lat: float, lon: float, *, leaving: bool = False, reached: bool = False) -> Snap | None:
        """Return the nearest point on a street to a place.

        Parameters
        ----------
        lat, lon : float
            The place, in degrees.
        leaving : bool
            Take only streets from which the network's core can be reached.
        reached : bool
            Take only streets that can be reached from the core.

        Returns
        -------
        Snap or None
            None if there is no such street within `MAX_SNAP_M`.
        """
        found = self.nearest_streets(lat, lon, 1, leaving=leaving, reached=reached)
        return found[0] if found else None

    def nearest_streets(
        self, lat: float, lon: float, number: int, *, leaving: bool = False, reached: bool = False
    ) -> list[Snap]:
        """Return the nearest points to a place on as many streets, the nearest first.

        Parameters
        ----------
        lat, lon : float
            The place, in degrees.
        number : int
            How many at most; there are fewer where no more are within `MAX_SNAP_M`.
        leaving, reached : bool
            As for `nearest`.
        """
        radius = _FIRST_RADIUS_M
        while True:
            found = [snap for x in self.near(lon) for snap in self._within(lat, x, radius, leaving, reached, number)]
            if len(found) >= number or radius >= MAX_SNAP_M:
                return sorted(found, key=lambda snap: snap.metres)[:number]
            radius = min(4 * radius, MAX_SNAP_M)

    def _within(self, lat: float, lon: float, radius: float, leaving: bool, reached: bool, number: int) -> list[Snap]:
        import shapely

        width = max(np.cos(np.radians(lat)), 1e-3)
        high = radius / METRES_PER_DEGREE
        found = self.tree.query(shapely.box(lon - high / width, lat - high, lon + high / width, lat + high))
        found = found[self._usable[found]]
        if leaving:
            found = found[self._useful[0][found]]
        if reached:
            found = found[self._useful[1][found]]
        if len(found) == 0:
            return []
        found = np.sort(found)  # so that ties fall the same way everywhere
        # The pieces of all candidates, each from point `at` to the next one.
        pieces = self.first[found + 1] - self.first[found] - 1
        piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        at = np.repeat(self.first[found], pieces) + piece
        # Metres on a plane that touches the Earth at the place: exact enough at the distances that matter.
        scale = METRES_PER_DEGREE * np.array([1.0, width])
        start = (self.points[at] - (lat, lon)) * scale
        step = (self.points[at + 1] - self.points[at]) * scale
        squared = (step**2).sum(axis=1)
        along = np.clip(-(start * step).sum(axis=1) / np.where(squared > 0, squared, 1.0), 0.0, 1.0)
        metres = np.hypot(*(start + along[:, None] * step).T)
        # The nearest piece of each street, and of these the nearest ones.
        of_street = np.repeat(np.arange(len(found)), pieces)
        by_metres = np.argsort(metres, kind="stable")
        _, first = np.unique(of_street[by_metres], return_index=True)
        nearest = by_metres[np.sort(first)]
        if self.avoided is not None:
            points = self.points[at] + along[:, None] * (self.points[at + 1] - self.points[at])
            nearest = nearest[~self.avoided.covers(*points[nearest].T)]
        chosen = nearest[:number]
        return [
            self._snap(lat, lon, int(found[of_street[i]]), int(piece[i]), float(along[i]))
            for i in chosen.tolist()
            if metres[i] <= radius
        ]

    def _snap(self, lat: float, lon: float, polyline: int, at_piece: int, along: float) -> Snap:
        """Return the point at a part of a piece of a polyline, for a place."""
        points = self.polyline_points(polyline)
        passed = np.concatenate([[0.0], np.cumsum(haversine(*points[:-1].T, *points[1:].T))])
        metres_along = passed[at_piece] + along * (passed[at_piece + 1] - passed[at_piece])
        point = points[at_piece] + along * (points[at_piece + 1] - points[at_piece])
        fraction = min(float(metres_along / passed[-1]), 1.0) if passed[-1] > 0 else 0.0
        if metres_along < _END_M:
            fraction, at_piece, point = 0.0, 0, points[0]
        elif passed[-1] - metres_along < _END_M:
            fraction, at_piece, point = 1.0, len(points) - 2, points[-1]
        return Snap(
            polyline=polyline,
            fraction=fraction,
            segment=at_piece,
            lat=float(point[0]),
            lon=float((point[1] + 180.0) % 360.0 - 180.0) if abs(point[1]) > 180.0 else float(point[1]),
            metres=float(haversine(lat, lon, point[0], point[1])),
        )
