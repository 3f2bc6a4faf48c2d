"""Snapping of places to the street network: to the nearest point on an arc, not only to a node."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import array_of, flag, number_of, shown, whole_number
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.csr import within
from vkssp.graph.geo import METRES_PER_DEGREE, POLAR_LATITUDE, between, haversine, part_before_nearest, plane_at
from vkssp.routing.avoid import Avoided
from vkssp.routing.lines import Bools, Snap, StreetLines

#: A place farther than this from every road, in metres, is not on the map.
MAX_SNAP_M = 20_000.0
_FIRST_RADIUS_M = 200.0
# Number of places that are looked up together: large enough to make the overhead of Python small, small enough for the
# memory of a phone.
_AT_ONCE = 256
# Maximum number of pieces of streets that are compared at once, about 50 MiB. A single place may have more.
_MOST_PIECES = 1 << 18
#: A point on a street within this many metres of the street's end is taken to be at the end: on the junction, free to
#: take any of its streets. OpenStreetMap's coordinates are a centimetre apart.
_END_M = 0.1
#: Parts of the network with fewer nodes than this, and less than a twentieth of the largest part, are islands: gravel
#: pits, clipped ends, car parks cut off by bad data. Real islands have more.
ISLAND_NODES = 1000
# Maximum number of candidates for the core: strongly connected pieces with at least a twentieth of the nodes of the
# largest one.
_CORES = 8
#: If a street can only be left, or only be reached, one within this many metres of the place that can be both replaces
#: it.
_BOTH_WAYS_M = _FIRST_RADIUS_M


class _Pieces(NamedTuple):
    """Pieces of streets near places.

    `place` is the index of the place, `piece` the index of the piece in `polyline`, `along` the part of the piece
    before its nearest point, and `metres` the distance from the place to that point.
    """

    place: npt.NDArray[np.int64]
    polyline: npt.NDArray[np.int64]
    piece: npt.NDArray[np.int64]
    along: npt.NDArray[np.float64]
    metres: npt.NDArray[np.float64]


def _pairs(places: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return latitudes and longitudes as float64s, shape (k, 2)."""
    array = array_of(places, "places", "pairs of latitude and longitude", QueryError)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise QueryError(f"places is {shown(places)}; give finite pairs of latitude and longitude in degrees")
    return array.astype(np.float64, copy=False)


def _metres(limit: float) -> float:
    metres = number_of(limit)
    if metres is None or not 0 <= metres < math.inf:
        raise QueryError(f"limit is {shown(limit)}; give metres, 0 or more")
    return metres


class StreetIndex(StreetLines):
    """Spatial index of the streets of a graph, which also knows which streets can be left or reached.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates. If it has no streets, its arcs are taken as straight lines.
    areas : shapely.Polygon or shapely.MultiPolygon, optional
        Areas to avoid: no place is snapped into them, and searches leave out the streets that they touch.

    Attributes
    ----------
    graph : Graph
        The graph.
    avoided : Avoided or None
        The streets without the areas; None if there are no areas.

    Raises
    ------
    QueryError
        If the graph has no coordinates, no arcs, or no arc that places may be snapped to, or if the areas touch every
        street.
    """

    def __init__(self, graph: Graph, areas: Any = None) -> None:
        super().__init__(graph)
        if not self._usable.any():
            raise QueryError(
                "no trip can begin on any street of this map: they are ferries, or access.snap_prevention of the "
                "profile forbids it; import the extract with a profile that leaves that out"
            )
        self.avoided = None if areas is None else Avoided(self, areas)

    @property
    def searched(self) -> Graph:
        """The graph that searches run on: the same nodes, without the arcs that areas touch."""
        return self.graph if self.avoided is None else self.avoided.graph

    def with_graph(self, graph: Graph) -> StreetIndex:
        """Return an index of the same streets with the weights of another graph, which has the same nodes and arcs."""
        index = copy.copy(self)
        index.graph = graph
        if self.avoided is not None:
            index.avoided = self.avoided.with_weights(graph.weight)
        return index

    def with_searched(self, searched: Graph) -> StreetIndex:
        """Return an index of the same streets with the weights of a graph that is searched; see `searched`."""
        if self.avoided is None:
            return self.with_graph(searched)
        weight = self.graph.weight.copy()
        weight[self.avoided.arc_ids] = searched.weight
        index = self.with_graph(self.graph.with_weights(own(weight)))
        assert index.avoided is not None
        index.avoided.graph = searched
        return index

    def is_open(self, arc: int, start: Snap | None = None, end: Snap | None = None) -> bool:
        """Return whether no area touches an arc, or the part of it that `piece` returns."""
        avoided = self.avoided
        return avoided is None or not (
            avoided.touched[self.polyline_of[arc]] and avoided.touches(self.piece(arc, start, end))
        )

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """The weakly connected part of each polyline, and each part's number of nodes; a place counts once."""
        from scipy import sparse
        from scipy.sparse import csgraph

        links = self.graph.to_scipy().astype(np.bool_)
        junctions = self.junctions
        if junctions is None:
            _, part = csgraph.connected_components(links, directed=False)
            sizes = np.bincount(part)
        else:
            # If turning round is forbidden, the two directions round a block never meet; but they are on one island.
            place, count = junctions.place, len(junctions.first) - 1
            ends = (place[self.graph.tail], place[self.graph.head])
            links = sparse.coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=(count, count))
            _, of_place = csgraph.connected_components(links, directed=False)
            part, sizes = of_place[place], np.bincount(of_place)
        of_polyline = np.zeros(self.num_polylines, np.int64)
        of_polyline[self.polyline_of] = part[self.graph.tail]
        return of_polyline, sizes

    @cached_property
    def _useful(self) -> tuple[Bools, Bools]:
        """Masks of the polylines from which the core can be reached, and of those that the core reaches."""
        return self._tied_to_core(self.searched)

    @cached_property
    def _one_sided(self) -> Bools:
        """Mask of the polylines in the core's connected part that cannot be both left and reached.

        Areas to avoid do not count: a place that they shut in stays where it is. If the core is no larger than an
        island may be, no polyline is marked.
        """
        leaves, reached = self._useful if self.avoided is None else self._tied_to_core(self.graph)
        part, _ = self.parts
        both = leaves & reached
        large = np.count_nonzero(both) >= ISLAND_NODES
        lone: Bools = (part == part[np.argmax(both)]) & ~both & large
        return lone

    def _tied_to_core(self, graph: Graph) -> tuple[Bools, Bools]:
        """Return for each polyline whether it reaches the core, and whether the core reaches it.

        `graph` has the same nodes. The core is the strongly connected piece for which both hold for the most polylines.
        That is the largest piece, unless more streets serve the ends of trips than the middle: such streets form
        separate pieces for the beginning and for the end of a trip.
        """
        from scipy.sparse import csgraph

        links = graph.to_scipy().astype(np.bool_)
        backward = links.T.tocsr()
        _, strong = csgraph.connected_components(links, directed=True, connection="strong")
        _, first, size = np.unique(strong, return_index=True, return_counts=True)
        best: tuple[int, Bools, Bools] | None = None
        large = np.flatnonzero(20 * size >= size.max())
        for core in first[large[np.argsort(-size[large], kind="stable")[:_CORES]]].tolist():
            leaves, reached = self._beside(backward, core, self.graph.head), self._beside(links, core, self.graph.tail)
            count = int(np.count_nonzero(leaves & reached))
            if best is None or count > best[0]:
                best = count, leaves, reached
        assert best is not None
        return best[1:]

    def _beside(self, links: Any, core: int, ends: npt.NDArray[np.uint32]) -> Bools:
        """Return for each polyline whether a search from the core reaches the node in `ends` of one of its arcs."""
        from scipy.sparse import csgraph

        found = np.zeros(self.graph.num_nodes, np.bool_)
        found[csgraph.breadth_first_order(links, core, return_predecessors=False)] = True
        result = np.zeros(self.num_polylines, np.bool_)
        result[self.polyline_of[found[ends]]] = True
        return result

    def prepare(self) -> None:
        """Build the cached properties before the first query, so that indices with other weights share them."""
        _ = self.tree, self.parts, self._useful, self._one_sided, self.junctions

    def part(self, snap: Snap) -> int:
        """Return the connected part of the network that a point lies in."""
        return int(self.parts[0][snap.polyline])

    def on_island(self, snap: Snap) -> bool:
        """Return whether a point lies on an island; see `ISLAND_NODES`."""
        sizes = self.parts[1]
        size = sizes[self.part(snap)]
        return bool(size < ISLAND_NODES and 20 * size < sizes.max())

    def leaves(self, snap: Snap) -> bool:
        """Return whether the network's core can be reached from a point."""
        return bool(self._useful[0][snap.polyline])

    def is_reached(self, snap: Snap) -> bool:
        """Return whether a point can be reached from the network's core."""
        return bool(self._useful[1][snap.polyline])

    def trip_ends(self, places: npt.ArrayLike) -> list[Snap | None]:
        """Return the points at which trips from or to places begin or end, each chosen without regard to other places.

        These are the nearest points. But if a street can only be left, or only be reached, such as a slip road at the
        edge of an extract, a street within 200 m of the place that can be both is taken instead.

        Parameters
        ----------
        places : array_like
            Latitude and longitude in degrees, shape (k, 2).

        Raises
        ------
        QueryError
            If `places` are no pairs of numbers.
        """
        places = _pairs(places)
        snaps = self.nearest_of_each(places)
        lone = [i for i, snap in enumerate(snaps) if snap is not None and self._one_sided[snap.polyline]]
        others = self.nearest_of_each(places[lone], leaving=True, reached=True, limit=_BOTH_WAYS_M)
        for i, other in zip(lone, others, strict=True):
            snap = snaps[i]
            assert snap is not None
            # If both points are the same junction, the first snap lies on both streets and is kept.
            if other is not None and (other.lat, other.lon) != (snap.lat, snap.lon):
                snaps[i] = other
        return snaps

    def nearest(
        self, lat: float, lon: float, *, leaving: bool = False, reached: bool = False, limit: float = MAX_SNAP_M
    ) -> Snap | None:
        """Return the nearest point on a street to a place.

        Parameters
        ----------
        lat, lon : float
            The place, in degrees.
        leaving : bool
            Take only streets from which the network's core can be reached.
        reached : bool
            Take only streets that can be reached from the core.
        limit : float
            Maximum distance between the place and the street, in metres.

        Returns
        -------
        Snap or None
            None if there is no such street.

        Raises
        ------
        QueryError
            If a coordinate or the limit is no number.
        """
        found = self.nearest_streets(lat, lon, 1, leaving=leaving, reached=reached, limit=limit)
        return found[0] if found else None

    def nearest_streets(
        self,
        lat: float,
        lon: float,
        number: int,
        *,
        leaving: bool = False,
        reached: bool = False,
        limit: float = MAX_SNAP_M,
    ) -> list[Snap]:
        """Return the points nearest to a place on the nearest streets, one for each street, the nearest first.

        Parameters
        ----------
        lat, lon : float
            The place, in degrees.
        number : int
            Maximum number of streets; the result has fewer if no more are within the limit.
        leaving, reached, limit
            As for `nearest`.

        Raises
        ------
        QueryError
            If a coordinate or the limit is no number, or `number` is less than 1.
        """
        ((lat, lon),) = _pairs([(lat, lon)]).tolist()
        number, limit = whole_number(number, "number", 1, 2**31 - 1), _metres(limit)
        leaving, reached = flag(leaving, "leaving"), flag(reached, "reached")
        radius = min(_FIRST_RADIUS_M, limit)
        while True:
            turns = self.near(lat, lon, radius)
            found = [snap for x in turns for snap in self._within(lat, x, radius, leaving, reached, number)]
            if len(found) >= number or radius >= limit:
                return sorted(found, key=lambda snap: snap.metres)[:number]
            radius = min(4 * radius, limit)

    def nearest_of_each(
        self, places: npt.ArrayLike, *, leaving: bool = False, reached: bool = False, limit: float = MAX_SNAP_M
    ) -> list[Snap | None]:
        """Return the result of `nearest` for each of many places, in much less time than separate calls.

        Parameters
        ----------
        places : array_like
            Latitude and longitude in degrees, shape (k, 2).
        leaving, reached, limit
            As for `nearest`.

        Raises
        ------
        QueryError
            If `places` are no pairs of numbers, or the limit is no number.
        """
        places, limit = _pairs(places), _metres(limit)
        leaving, reached = flag(leaving, "leaving"), flag(reached, "reached")
        radius = min(_FIRST_RADIUS_M, limit)
        result: list[Snap | None] = [None] * len(places)
        # Near the meridian at which the map's longitudes wrap, a street may lie on either side; `nearest` tries both.
        plain = np.array([self.near(lat, lon, radius) in ([], [lon]) for lat, lon in places.tolist()], np.bool_)
        found = np.zeros(len(places), np.bool_)
        groups = [first + np.flatnonzero(plain[first : first + _AT_ONCE]) for first in range(0, len(places), _AT_ONCE)]
        while groups:
            which = groups.pop()
            place, streets = self._streets_near(places[which], radius, leaving, reached)
            if len(which) > 1 and int((self.first[streets + 1] - self.first[streets]).sum()) > _MOST_PIECES:
                groups += np.array_split(which, 2)
                continue
            near = self._pieces_near(places[which], place, streets)
            best = np.unique(near.place, return_index=True)[1]
            for i in best[near.metres[best] <= radius].tolist():
                at = int(which[near.place[i]])
                lat, lon = places[at].tolist()
                result[at] = self._snap(lat, lon, int(near.polyline[i]), int(near.piece[i]), float(near.along[i]))
                found[at] = True
        # Places with no street within the first radius are looked up one by one.
        for at in np.flatnonzero(~found & (~plain | (limit > radius))).tolist():
            lat, lon = places[at].tolist()
            result[at] = self.nearest(lat, lon, leaving=leaving, reached=reached, limit=limit)
        return result

    def _within(self, lat: float, lon: float, radius: float, leaving: bool, reached: bool, number: int) -> list[Snap]:
        place = np.array([[lat, lon]])
        near = self._pieces_near(place, *self._streets_near(place, radius, leaving, reached))
        return [
            self._snap(lat, lon, int(near.polyline[i]), int(near.piece[i]), float(near.along[i]))
            for i in range(min(number, len(near.metres)))
            if near.metres[i] <= radius
        ]

    def _streets_near(
        self, places: npt.NDArray[np.float64], radius: float, leaving: bool, reached: bool
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the usable streets that may come near some places, as pairs: indices of places, and polylines."""
        import shapely

        lat, lon = places.T
        high = radius / METRES_PER_DEGREE
        reach = high / np.maximum(np.cos(np.radians(lat)), 1e-3)
        box = np.stack([lon - reach, lat - high, lon + reach, lat + high])
        # Near a pole, streets of all longitudes may be near, and of all latitudes, since they may lead over the pole.
        polar = np.abs(lat) > POLAR_LATITUDE
        box[0, polar], box[2, polar] = self.west, self.east
        box[1, polar & (lat > 0)], box[3, polar & (lat < 0)] = POLAR_LATITUDE - 1.0, 1.0 - POLAR_LATITUDE
        place, found = self.tree.query(shapely.box(*box))
        usable = self._usable[found]
        if leaving:
            usable &= self._useful[0][found]
        if reached:
            usable &= self._useful[1][found]
        place, found = place[usable], found[usable]
        order = np.lexsort((found, place))  # so that all callers break ties alike
        return place[order], found[order]

    def _pieces_near(
        self, places: npt.NDArray[np.float64], place: npt.NDArray[np.int64], found: npt.NDArray[np.int64]
    ) -> _Pieces:
        """Return the nearest piece of each pair of place and street, by place, the nearest first; see `_streets_near`.

        A street is left out if its nearest point lies in an area to avoid.
        """
        # The pieces of all candidates, each from point `at` to the next one.
        pieces = self.first[found + 1] - self.first[found] - 1
        piece = within(pieces)
        at = np.repeat(self.first[found], pieces) + piece
        street = np.repeat(np.arange(len(found)), pieces)
        place, found = place[street], found[street]
        start = plane_at(self.points[at], places[place])
        step = plane_at(self.points[at + 1], places[place]) - start
        along = part_before_nearest(start, step)
        metres = np.hypot(*(start + along[:, None] * step).T)
        # The nearest piece of each street.
        by_metres = np.lexsort((metres, street))
        nearest = by_metres[np.unique(street[by_metres], return_index=True)[1]]
        if self.avoided is not None:
            points = between(self.points[at[nearest]], self.points[at[nearest] + 1], along[nearest])
            nearest = nearest[~self.avoided.covers(*points.T)]
        nearest = nearest[np.lexsort((metres[nearest], place[nearest]))]
        return _Pieces(place[nearest], found[nearest], piece[nearest], along[nearest], metres[nearest])

    def _snap(self, lat: float, lon: float, polyline: int, at_piece: int, along: float) -> Snap:
        """Return the snap of a place to the point at fraction `along` of a piece of a polyline."""
        points = self.polyline_points(polyline)
        passed = np.concatenate([[0.0], np.cumsum(haversine(*points[:-1].T, *points[1:].T))])
        metres_along = passed[at_piece] + along * (passed[at_piece + 1] - passed[at_piece])
        (point,) = between(points[at_piece, None], points[at_piece + 1, None], np.array([along]))
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
