"""Streets of a graph as lines: their geometry, and the arcs and nodes on them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import in_huge_pages, own
from vkssp.errors import QueryError
from vkssp.graph import Graph, checked_graph
from vkssp.graph.geo import (
    METRES_PER_DEGREE,
    POLAR_LATITUDE,
    haversine,
    longitude_reach,
    part_before_nearest,
    polar_plane,
    unwrapped,
)
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.routing.begins import begin_nodes
from vkssp.routing.plane import StreetPlane
from vkssp.routing.street_tree import StreetTree, street_tree

Bools = npt.NDArray[np.bool_]
# Coordinates closer to zero than a micrometre are set to zero: as divisors, differences of subnormal numbers overflow.
_LEAST_DEGREES = 1e-11
# Number of points whose distances are computed at once, to save memory.
_AT_ONCE = 1 << 18


class Door(NamedTuple):
    """Corner of an open area that a place inside sees.

    `snap` is the corner as a point on a street, `metres` the distance to it, and `seconds` the time that it takes.
    """

    snap: Snap
    metres: float
    seconds: float


class Inside(NamedTuple):
    """Number of the open area that a place is in, and the corners that it sees, the nearest first."""

    area: int
    doors: tuple[Door, ...]


class Snap(NamedTuple):
    """Point on the street network to which a place was snapped.

    Attributes
    ----------
    polyline : int
        The polyline of the point.
    fraction : float
        Position on the polyline by length: 0 at its start, 1 at its end.
    segment : int
        The piece of the polyline that the point lies on, counted from the polyline's start.
    lat, lon : float
        The point, in degrees.
    metres : float
        Distance from the place that was snapped.
    arcs : tuple of int or None
        The arcs along which a trip may begin, end or pass there, if conditions of the place rule out others; at a
        junction they may belong to several polylines. None if there are no such conditions.
    share : float
        The part of the piece before the point, from 0 to 1.
    inside : Inside or None
        Where the place is if it is inside an open area; then `lat` and `lon` are the place, and the polyline is one at
        the nearest corner.
    """

    polyline: int
    fraction: float
    segment: int
    lat: float
    lon: float
    metres: float
    arcs: tuple[int, ...] | None = None
    share: float = 0.0
    inside: Inside | None = None

    @property
    def is_end(self) -> bool:
        """Whether the point is at an end of its polyline, and so at a junction."""
        return self.fraction in (0.0, 1.0)


class Junctions(NamedTuple):
    """Places, counted from 0 in the order of their numbers in `Streets.junction`, and the nodes of each place.

    `place` is the place of each node, and `order` the nodes sorted by place, shape (num_nodes,) each; `first` is the
    offset in `order` at which each place begins, shape (num_places + 1,).
    """

    place: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]


class Polylines(NamedTuple):
    """Geometry of streets, as kernels take it; no part of it depends on weights.

    `first` is the offset of each polyline's first point in `points`, which has latitude and longitude in degrees.
    `polyline_of` is the polyline that each arc runs along, and `backward` whether it does so from the polyline's end.
    """

    first: npt.NDArray[np.int64]
    points: npt.NDArray[np.float64]
    polyline_of: npt.NDArray[np.uint32]
    backward: Bools


class StreetLines:
    """Streets of a graph as lines, one for both arcs of a two-way street.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates. If it has no streets, its arcs are taken as straight lines.

    Attributes
    ----------
    knows_turns : bool
        Whether several nodes of the graph may be one place; see `Streets.junction`.
    measure : callable
        Function that returns the metres between points, as the lengths of the streets are measured.
    usable : numpy.ndarray
        Whether places may be snapped to each polyline, shape (num_polylines,), bool.
    along : numpy.ndarray
        What legs need of each arc, so that it lies in one line of the processor's cache: its first and its last point,
        its head, and its length in metres, the bits of a float32, or 0 if the graph has no streets; shape (num_arcs,
        4), uint32.

    Raises
    ------
    QueryError
        If the graph has no coordinates, or no arcs.
    """

    def __init__(self, graph: Graph) -> None:
        checked_graph(graph, QueryError)
        if graph.lat is None or graph.lon is None:
            raise QueryError(
                "the graph has no coordinates, so places on a map mean nothing in it; "
                "ask by node ids, with 'vkssp distances', 'vkssp table' or vkssp.Solver"
            )
        if graph.num_arcs == 0:
            raise QueryError("the graph has no arcs, so there is nowhere to go")
        self.graph = graph
        streets = graph.streets
        self.measure = haversine if streets is None else streets.measure
        if streets is not None:
            self.first = streets.polyline_first.astype(np.int64)
            self.points = np.asarray(streets.points * COORDINATE_SCALE, np.float64)
            self.polyline_of: npt.NDArray[np.uint32] = streets.polyline
            # A trip cannot begin on a ferry in the middle of the sea, nor on the link of a gate, which has no length.
            self.usable = np.zeros(self.num_polylines, np.bool_)
            open_arcs = ~streets.carried & (streets.length > 0)
            if streets.snappable is not None:
                open_arcs &= streets.snappable
            self.usable[streets.polyline[open_arcs]] = True
            self.backward: Bools = streets.backward
        else:
            ends = np.stack([graph.tail, graph.head], axis=1).reshape(-1)
            self.first = np.arange(0, len(ends) + 1, 2)
            self.points = np.stack([graph.lat[ends], graph.lon[ends]], axis=1)
            self.points[np.abs(self.points) < _LEAST_DEGREES] = 0.0
            self.polyline_of = own(np.arange(graph.num_arcs, dtype=np.uint32))
            self.backward = own(np.zeros(graph.num_arcs, np.bool_))
            self.usable = np.ones(graph.num_arcs, np.bool_)
        self._by_polyline = np.argsort(self.polyline_of, kind="stable")
        self._row = np.searchsorted(self.polyline_of[self._by_polyline], np.arange(len(self.first)))
        self.points[:, 1] = unwrapped(self.first, self.points[:, 1])
        # As kernels expect them.
        self.first, self.points = own(in_huge_pages(self.first)), own(in_huge_pages(self.points))
        self.knows_turns = streets is not None and streets.junction is not None
        along = np.zeros((graph.num_arcs, 4), np.uint32)
        along[:, 0], along[:, 1] = self.first[:-1][self.polyline_of], self.first[1:][self.polyline_of] - 1
        along[self.backward, :2] = along[self.backward, 1::-1]
        along[:, 2] = graph.head
        if streets is not None:
            along[:, 3] = streets.length.view(np.uint32)
        self.along = own(in_huge_pages(along))
        self.polylines = Polylines(self.first, self.points, self.polyline_of, self.backward)
        self.south, self.west = self.points.min(axis=0).tolist()
        self.north, self.east = self.points.max(axis=0).tolist()
        self._reach_poles()

    def _reach_poles(self) -> None:
        """Extend the bounds by the lines that come nearer to a pole than their ends."""
        begin = np.delete(np.arange(len(self.points) - 1), self.first[1:-1] - 1)
        lat = self.points[:, 0]
        for pole in (1, -1):
            here = begin[np.maximum(pole * lat[begin], pole * lat[begin + 1]) > POLAR_LATITUDE]
            if len(here):
                start = polar_plane(self.points[here], pole)
                step = polar_plane(self.points[here + 1], pole) - start
                nearest = np.hypot(*(start + part_before_nearest(start, step)[:, None] * step).T).min()
                bound = pole * (90.0 - nearest / METRES_PER_DEGREE)
                self.north, self.south = max(self.north, float(bound)), min(self.south, float(bound))

    def near(self, lat: float, lon: float, metres: float) -> list[float]:
        """Return the longitudes of a place, full turns apart, at which lines may be within some metres of the place.

        Near a pole this is the given longitude alone, since `plane_at` does not distinguish turns there.
        """
        if abs(lat) > POLAR_LATITUDE:
            return [lon]
        reach = longitude_reach(lat, metres)
        turns = (0.0, 360.0, -360.0)
        return [lon + turn for turn in turns if self.west - reach <= lon + turn <= self.east + reach]

    @property
    def num_polylines(self) -> int:
        """Number of polylines."""
        return len(self.first) - 1

    def arcs(self, polyline: int) -> npt.NDArray[np.int64]:
        """Return the ids of the arcs that run along a polyline in either direction."""
        return self._by_polyline[self._row[polyline] : self._row[polyline + 1]]

    @property
    def arcs_by_polyline(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Offset of each polyline's first arc, and the ids of the arcs, polyline by polyline; see `arcs`."""
        return self._row, self._by_polyline

    @cached_property
    def bounds(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """South-western and north-eastern corner of the map, latitude and longitude within 180 degrees."""
        low, high = (self.south, max(self.west, -180.0)), (self.north, min(self.east, 180.0))
        return own(np.array(low)), own(np.array(high))

    @cached_property
    def junctions(self) -> Junctions | None:
        """The places that nodes of the graph stand for; None if each node is a place."""
        streets = self.graph.streets
        if streets is None or streets.junction is None:
            return None
        order = np.argsort(streets.junction, kind="stable")
        number = streets.junction[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = number[1:] != number[:-1]
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(is_first) - 1
        return Junctions(place, order, np.append(np.flatnonzero(is_first), len(order)))

    @cached_property
    def begin_nodes(self) -> Bools:
        """Whether trips that begin on a street may reach each node first; see `vkssp.routing.begins`."""
        return begin_nodes(self.graph)

    @cached_property
    def later_arcs(self) -> frozenset[int]:
        """The few arcs on which no trip begins, since they do not lead to nodes that trips may reach first."""
        return frozenset(np.flatnonzero(~self.begin_nodes[self.graph.head]).tolist())

    def nodes_at(self, node: int) -> list[int]:
        """Return the nodes that are the same place as a given node, including that node."""
        junctions = self.junctions
        if junctions is None:
            return [node]
        place = int(junctions.place[node])
        found: list[int] = junctions.order[junctions.first[place] : junctions.first[place + 1]].tolist()
        return found

    @cached_property
    def nodes_at_ends(self) -> npt.NDArray[np.uint32]:
        """A node at the beginning and one at the end of each polyline, shape (num_polylines, 2)."""
        ends = np.zeros((self.num_polylines, 2), np.uint32)
        ends[self.polyline_of] = np.stack([self.graph.tail, self.graph.head], axis=1)
        backward = self.backward
        ends[self.polyline_of[backward]] = np.stack([self.graph.head[backward], self.graph.tail[backward]], axis=1)
        return ends

    def nodes_of(self, snap: Snap) -> list[int]:
        """Return the nodes at the end of a polyline that a point lies on."""
        if self.knows_turns:  # all of them are one place
            return self.nodes_at(int(self.nodes_at_ends[snap.polyline, int(snap.fraction == 1.0)]))
        # The two directions of a street may have nodes of their own, as on either side of a gate that takes time.
        arcs = self.arcs(snap.polyline).tolist()
        tail, head, end = self.graph.tail, self.graph.head, snap.fraction
        ends = {int((tail if end == (1.0 if self.backward[arc] else 0.0) else head)[arc]) for arc in arcs}
        return [node for node_of_end in sorted(ends) for node in self.nodes_at(node_of_end)]

    def arcs_out(self, node: int) -> range:
        """Return the arcs that leave a node."""
        return range(int(self.graph.first_out[node]), int(self.graph.first_out[node + 1]))

    def polyline_points(self, polyline: int) -> npt.NDArray[np.float64]:
        """Return a polyline's points, latitude and longitude in degrees, shape (k, 2)."""
        return self.points[self.first[polyline] : self.first[polyline + 1]]

    @cached_property
    def corners(self) -> npt.NDArray[np.float64]:
        """The south-western and the north-eastern corner of the box around each polyline, (2, num_polylines, 2)."""
        begin = self.first[:-1]
        return np.stack([extreme.reduceat(self.points, begin) for extreme in (np.minimum, np.maximum)])

    @cached_property
    def passed_metres(self) -> npt.NDArray[np.float64]:
        """Metres from the beginning of each polyline to each of its points, shape (num_points,)."""
        passed = np.zeros(len(self.points))
        for first in range(0, len(passed) - 1, _AT_ONCE):
            some = self.points[first : first + _AT_ONCE + 1]
            passed[first + 1 : first + len(some)] = self.measure(*some[:-1].T, *some[1:].T)
        passed[self.first[:-1]] = 0.0  # no piece ends at the first point
        np.cumsum(passed, out=passed)
        passed -= np.repeat(passed[self.first[:-1]], np.diff(self.first))
        return own(passed)

    @cached_property
    def plane(self) -> StreetPlane:
        """The streets on a plane."""
        return StreetPlane(self)

    @cached_property
    def lengths(self) -> npt.NDArray[Any]:
        """Length of each arc in metres; the length of the straight line if the graph has no streets."""
        if self.graph.streets is not None:
            return self.graph.streets.length
        return own(haversine(*self.points[::2].T, *self.points[1::2].T))

    def length(self, arc: int) -> float:
        """Return an arc's length in metres."""
        return float(self.lengths[arc])

    def piece(self, arc: int, start: Snap | None = None, end: Snap | None = None) -> npt.NDArray[np.float64]:
        """Return the points of an arc from a snapped point (by default its tail) to another (by default its head).

        Snapped points that lie on another polyline are ignored.
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

    def metres_along(self, arc: int, start: Snap | None = None, end: Snap | None = None) -> float:
        """Return the metres of the points that `piece` returns."""
        points = self.piece(arc, start, end)
        return float(self.measure(*points[:-1].T, *points[1:].T).sum())

    @cached_property
    def tree(self) -> StreetTree:
        """Boxes around the polylines, to find those near a place."""
        return street_tree(self.first, self.points)
