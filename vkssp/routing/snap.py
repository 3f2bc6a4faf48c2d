"""Snapping of places to the street network: to the nearest point on an arc, not only to a node."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.arrays import own
from vkssp.checks import array_of, flag, number_of, shown, whole_number
from vkssp.cores import run_parts
from vkssp.errors import QueryError
from vkssp.graph import Graph
from vkssp.graph.csr import within
from vkssp.graph.geo import POLAR_LATITUDE, between, metres_between
from vkssp.graph.mercator import latitude_of, northing_of
from vkssp.graph.scaling import in_units
from vkssp.graph.streets import COORDINATE_SCALE
from vkssp.jit import kernels
from vkssp.memory import require
from vkssp.routing.arc_points import ArcPoints
from vkssp.routing.avoid import Avoided
from vkssp.routing.hints import Hints
from vkssp.routing.joints import before_signals
from vkssp.routing.lines import Bools, Snap, StreetLines
from vkssp.routing.open_areas import OpenAreas
from vkssp.routing.small_components import SmallComponents
from vkssp.routing.snaps import Snaps
from vkssp.routing.step_tables import StepTables
from vkssp.routing.stops import APPROACHES, CheckedStop

#: A place farther than this from every road, in metres, is not on the map, unless a router is told otherwise.
MAX_SNAP_M = 20_000.0
_FIRST_RADIUS_M = 50.0
# No place is farther from any street, in metres.
_FARTHEST_M = 1e8
# Fewest places that are worth another thread: 0.2 ms.
_PLACES_EACH = 100
# Rows of the first buffer for the pieces of streets near a place; if there are more, they are looked up again.
_ROOM = 1024
#: Parts of the network with fewer nodes than this, and less than a twentieth of the largest part, are islands: gravel
#: pits, clipped ends, car parks cut off by bad data. Real islands have more.
ISLAND_NODES = 1000
# Maximum number of candidates for the core: strongly connected pieces with at least a twentieth of the nodes of the
# largest one.
_CORES = 8
#: If a street can only be left, or only be reached, one within this many metres of the place that can be both replaces
#: it.
_BOTH_WAYS_M = 200.0
# Points on pieces of streets are the same if their distances from a place differ by no more than this, in metres.
_SAME_M = 1e-3
# Decimals of metres in which distances are compared, since more of them depend on rounding.
_DECIMALS = 6


def _pairs(places: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return latitudes and longitudes as float64s, shape (k, 2)."""
    array = array_of(places, "places", "pairs of latitude and longitude", QueryError)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise QueryError(f"places is {shown(places)}; give finite pairs of latitude and longitude in degrees")
    return np.array(array, np.float64, order="C")


class StreetIndex(StreetLines):
    """Spatial index of the streets of a graph, which also knows which streets can be left or reached.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates. If it has no streets, its arcs are taken as straight lines.
    areas : shapely.Polygon or shapely.MultiPolygon, optional
        Areas to avoid: no place is snapped into them, and searches leave out the streets that they touch.
    small_component_size : int, optional
        See `vkssp.Router`.
    farther_streets : bool
        See `vkssp.Router`.
    radius_m : float
        Largest distance in metres of a street that a place is snapped to; infinite for any.

    Attributes
    ----------
    graph : Graph
        The graph.
    farther_streets, radius_m
        As given.
    avoided : Avoided or None
        The streets without the areas; None if there are no areas.
    step_tables : StepTables
        The tables that steps are made from, shared by indices with other weights.
    arc_points : ArcPoints
        The points along arcs, shared by indices with other weights.
    open_areas : OpenAreas
        The areas that are crossed in straight lines.
    hints : Hints
        The hints of streets, shared by indices with other weights.

    Raises
    ------
    QueryError
        If the graph has no coordinates, no arcs, or no arc that places may be snapped to, or if the areas touch every
        street.
    """

    def __init__(
        self,
        graph: Graph,
        areas: Any = None,
        small_component_size: int | None = None,
        *,
        farther_streets: bool = True,
        radius_m: float = MAX_SNAP_M,
    ) -> None:
        super().__init__(graph)
        self.small_component_size, self.farther_streets = small_component_size, farther_streets
        metres = number_of(radius_m)
        if metres is None or not metres >= 0:
            raise QueryError(f"radius is {shown(radius_m)}; give metres, 0 or more, or infinity for any distance")
        self.radius_m = metres
        self._radius = min(metres, _FARTHEST_M)
        if not self.usable.any():
            raise QueryError(
                "no trip can begin on any street of this map: they are ferries, or access.snap_prevention of the "
                "profile forbids it; import the extract with a profile that leaves that out"
            )
        self.avoided = None if areas is None else Avoided(self, areas)
        self._masks: dict[tuple[bool, bool], Bools] = {}
        self._is_polar = max(self.north, -self.south) > POLAR_LATITUDE
        self.step_tables = StepTables(self)
        self.arc_points = ArcPoints(self)
        self.open_areas = OpenAreas(self)
        self.hints = Hints(self.polylines, None if graph.streets is None else graph.streets.point_node)

    @cached_property
    def beside_unusable(self) -> Bools:
        """Mask of the nodes that share a place with one from which a street leads on which no trip may begin."""
        found = np.zeros(self.graph.num_nodes, np.bool_)
        found[self.graph.tail[~self.usable[self.polyline_of]]] = True
        if self.junctions is None:
            return own(found)
        places = np.zeros(len(self.junctions.first) - 1, np.bool_)
        places[self.junctions.place[found]] = True
        return own(places[self.junctions.place])

    @property
    def searched(self) -> Graph:
        """The graph that searches run on: the same nodes, without the arcs that areas touch."""
        return self.graph if self.avoided is None else self.avoided.graph

    def with_graph(self, graph: Graph) -> StreetIndex:
        """Return an index of the same streets with the weights of another graph, which has the same nodes and arcs."""
        index = copy.copy(self)
        index.graph = graph
        if self.avoided is not None:
            index.avoided = self.avoided.with_weights(graph)
        return index

    def excluding(self, excluded: Bools) -> StreetIndex:
        """Return an index of the streets but for the excluded polylines, which shares all that does not change."""
        index = copy.copy(self)
        index.avoided = Avoided.excluding(self, excluded, self.avoided)
        index.usable = own(self.usable & ~excluded)
        index._any_street = own(self._any_street & ~excluded)
        if not index.usable.any():
            raise QueryError("no trip can begin on any street without these classes; exclude fewer")
        index._masks = {}
        for name in ("useful", "parts", "islands", "_one_sided", "small_components", "beside_unusable"):
            index.__dict__.pop(name, None)
        return index

    def avoiding(self, areas: Any) -> StreetIndex:
        """Return an index of the streets that avoids areas, which shares all that does not change.

        `areas` is a shapely.Polygon or shapely.MultiPolygon; see `vkssp.routing.areas.read_areas`.
        """
        index = copy.copy(self)
        index.avoided = Avoided(self, areas, self.avoided)
        index._masks = {}
        index.__dict__.pop("useful", None)  # areas make neither islands nor parts
        return index

    def measured_by(self, graph: Graph) -> StreetIndex:
        """Return an index of the same streets with a graph of the same arcs whose weights have another meaning."""
        index = copy.copy(self)
        index.graph = replace(graph, hierarchy=self.graph.hierarchy)
        if self.avoided is not None:
            index.avoided = self.avoided.on(index)
        return index

    def with_searched(self, searched: Graph) -> StreetIndex:
        """Return an index of the same streets with the weights of a graph that is searched; see `searched`."""
        if self.avoided is None:
            return self.with_graph(searched)
        graph, weight = self.graph, self.graph.weight.copy()
        if searched.scale is not None and searched.scale != graph.scale:
            weight = in_units(graph.units.sums(weight), searched.scale).weight.copy()
        weight[self.avoided.arc_ids] = searched.weight
        index = self.with_graph(graph.reweighted(searched.scaled._replace(weight=own(weight))))
        assert index.avoided is not None
        index.avoided.graph = searched
        return index

    def is_open(self, arc: int, start: Snap | None = None, end: Snap | None = None) -> bool:
        """Return whether no area touches an arc, or the part of it that `piece` returns."""
        avoided = self.avoided
        if avoided is None or not avoided.touched[self.polyline_of[arc]]:
            return True
        excluded = avoided.is_excluded(int(self.polyline_of[arc]))
        return not (excluded or avoided.touches(self.piece(arc, start, end)))

    @property
    def _beyond_areas(self) -> Graph:
        """The graph of which islands are parts: areas do not make islands, but excluded streets do."""
        avoided = self.avoided
        return self.graph if avoided is None or avoided.excluded is None else avoided.graph

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """The weakly connected part of each polyline, and each part's number of nodes; a place counts once."""
        from scipy import sparse
        from scipy.sparse import csgraph

        graph = self._beyond_areas
        links = graph.to_scipy().astype(np.bool_)
        junctions = self.junctions
        if junctions is None:
            _, part = csgraph.connected_components(links, directed=False)
            sizes = np.bincount(part)
        else:
            # If turning round is forbidden, the two directions round a block never meet; but they are on one island.
            place, count = junctions.place, len(junctions.first) - 1
            ends = (place[graph.tail], place[graph.head])
            links = sparse.coo_array((np.ones(len(ends[0]), np.bool_), ends), shape=(count, count))
            _, of_place = csgraph.connected_components(links, directed=False)
            part, sizes = of_place[place], np.bincount(of_place)
        of_polyline = np.zeros(self.num_polylines, np.int64)
        of_polyline[self.polyline_of] = part[self.graph.tail]
        return of_polyline, sizes

    @cached_property
    def islands(self) -> Bools:
        """Mask of the polylines on islands; see `ISLAND_NODES`."""
        part, sizes = self.parts
        is_island: Bools = ((sizes < ISLAND_NODES) & (20 * sizes < sizes.max()))[part]
        return is_island

    @cached_property
    def small_components(self) -> SmallComponents | None:
        """The small components that places are snapped past; None if the router does not distinguish them."""
        size, ids = self.small_component_size, None if self.avoided is None else self.avoided.arc_ids
        return None if size is None else SmallComponents(self, self.searched, ids, size)

    @cached_property
    def before_signals(self) -> npt.NDArray[np.int64]:
        """For each end of a polyline at signals the end before them; see `vkssp.routing.joints.before_signals`."""
        return own(before_signals(self))

    @cached_property
    def useful(self) -> tuple[Bools, Bools]:
        """Masks of the polylines from which the core can be reached, and of those that the core reaches."""
        return self._tied_to_core(self.searched)

    @cached_property
    def _one_sided(self) -> Bools:
        """Mask of the polylines in the core's connected part that cannot be both left and reached.

        Areas to avoid do not count: a place that they shut in stays where it is. If the core is no larger than an
        island may be, no polyline is marked.
        """
        leaves, reached = self.useful if self.avoided is None else self._tied_to_core(self._beyond_areas)
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
            leaves = self._beside(backward, core, self.graph.head, self.begin_nodes)
            reached = self._beside(links, core, self.graph.tail, None)
            count = int(np.count_nonzero(leaves & reached))
            if best is None or count > best[0]:
                best = count, leaves, reached
        assert best is not None
        return best[1:]

    def _beside(self, links: Any, core: int, ends: npt.NDArray[np.uint32], among: Bools | None) -> Bools:
        """Return for each polyline whether a search from the core reaches the node in `ends` of one of its arcs.

        If a mask of nodes is given, it has to be one of them.
        """
        from scipy.sparse import csgraph

        found = np.zeros(self.graph.num_nodes, np.bool_)
        found[csgraph.breadth_first_order(links, core, return_predecessors=False)] = True
        if among is not None:
            found &= among
        result = np.zeros(self.num_polylines, np.bool_)
        result[self.polyline_of[found[ends]]] = True
        return result

    def prepare(self) -> None:
        """Make what the first query needs, the compiled code too, so that indices with other weights share it."""
        _ = self.tree, self.passed_metres, self.lengths, self.islands, self.useful, self._one_sided, self.junctions
        if self.knows_turns:
            _ = self.nodes_at_ends, self.later_arcs
        if self.small_component_size is not None:
            _ = self.small_components, self.before_signals
        self.nearest(self.south, self.west)
        self.snaps_of_trips(np.array([[self.south, self.west]]))

    def part(self, snap: Snap) -> int:
        """Return the connected part of the network that a point lies in."""
        return int(self.parts[0][snap.polyline])

    def on_island(self, snap: Snap) -> bool:
        """Return whether a point lies on an island; see `ISLAND_NODES`."""
        return bool(self.islands[snap.polyline])

    def leaves(self, snap: Snap) -> bool:
        """Return whether the network's core can be reached from a point."""
        return bool(self.useful[0][snap.polyline])

    def is_reached(self, snap: Snap) -> bool:
        """Return whether a point can be reached from the network's core."""
        return bool(self.useful[1][snap.polyline])

    def inside(self, lat: float, lon: float) -> Snap | None:
        """Return a place that is inside an open area as a point to route from; None if it is not, or if areas close."""
        if len(self.open_areas) == 0 or (self.avoided is not None and self.avoided.has_areas):
            return None
        return self.open_areas.snap(lat, lon)

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
        return self.ends_of_trips(_pairs(places))

    def ends_of_trips(self, places: npt.NDArray[np.float64]) -> list[Snap | None]:
        """Return what `trip_ends` returns, for pairs of finite numbers."""
        snaps = self._nearest_of_each(places, self._allowed(False, False), self._radius)
        one_sided = self._one_sided
        rows = [row for row, snap in enumerate(snaps) if snap is not None and one_sided[snap.polyline]]
        for row, other in self._in_both_directions(places, rows):
            snap = snaps[row]
            if snap is not None and (other.lat, other.lon) != (snap.lat, snap.lon):
                snaps[row] = other
        return snaps

    def snaps_of_trips(self, places: npt.NDArray[np.float64]) -> Snaps:
        """Return what `ends_of_trips` returns, as arrays."""
        streets = self.graph.streets
        has_whole_pieces = streets is not None and streets.piece_weight is not None
        if self._is_polar or has_whole_pieces or (self.avoided is not None and self.avoided.has_areas):
            return Snaps.of(self.ends_of_trips(places))
        count, tree, one_sided = len(places), self.tree, self._one_sided
        allowed, limit = self._allowed(False, False), -1.0
        both_ways = allowed  # of the same type, so that kernels are compiled once
        if self.small_component_size is None:  # as `_in_both_directions` does it
            both_ways, limit = self._allowed(True, True), _BOTH_WAYS_M
        (found, rows), lines, columns = np.empty((2, count, 4)), np.empty((2, count), np.int64), np.empty((4, count))

        def find(begin: int, end: int) -> None:
            _kernels().find_trip_ends(
                *(places[begin:end], self._radius, _FIRST_RADIUS_M, *tree, self.points, allowed),
                *(self.first, self.passed_metres, one_sided, both_ways, limit),
                *(np.empty(len(tree.first), np.int64), np.empty((3, 4)), found[begin:end], rows[begin:end]),
                *(begin, lines, columns),
            )

        run_parts(find, count, _PLACES_EACH)
        fraction, lat, lon, share = columns

        def make(row: int) -> Snap:
            lat, lon = places[row].tolist()
            return self._snap(lat, lon, found[row].tolist(), rows[row].tolist())

        return Snaps((lines[0], fraction, lines[1], lat, lon, share), make)

    def _in_both_directions(self, places: npt.NDArray[np.float64], rows: list[int]) -> list[tuple[int, Snap]]:
        """Return points of some places on streets that can be both left and reached, with the numbers of the places.

        If this point and the one that a place was snapped to are the same junction, the latter lies on both streets and
        should be kept.
        """
        if not rows or self.small_component_size is not None:
            return []
        others = self._nearest_of_each(places[rows], self._allowed(True, True), _BOTH_WAYS_M)
        return [(row, other) for row, other in zip(rows, others, strict=True) if other is not None]

    def nearest(
        self, lat: float, lon: float, *, leaving: bool = False, reached: bool = False, limit: float | None = None
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
        limit : float, optional
            Maximum distance between the place and the street, in metres; by default that of the index.

        Returns
        -------
        Snap or None
            None if there is no such street.

        Raises
        ------
        QueryError
            If a coordinate or the limit is no number.
        """
        (found,) = self.nearest_of_each([(lat, lon)], leaving=leaving, reached=reached, limit=limit)
        return found

    def nearest_of_each(
        self, places: npt.ArrayLike, *, leaving: bool = False, reached: bool = False, limit: float | None = None
    ) -> list[Snap | None]:
        """Return the result of `nearest` for each of many places.

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
        places, metres = _pairs(places), self._metres(limit)
        allowed = self._allowed(flag(leaving, "leaving"), flag(reached, "reached"))
        return self._nearest_of_each(places, allowed, metres)

    def points_near(self, places: npt.NDArray[np.float64], *, leaving: bool, reached: bool) -> list[Snap | None]:
        """Return what `nearest_of_each` returns, for pairs of finite numbers and the limit of the index."""
        return self._nearest_of_each(places, self._allowed(leaving, reached), self._radius)

    def nearest_streets(
        self,
        lat: float,
        lon: float,
        number: int,
        *,
        leaving: bool = False,
        reached: bool = False,
        limit: float | None = None,
        any_street: bool = False,
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
        any_street : bool
            Take all streets, also those on which no trip begins.

        Raises
        ------
        QueryError
            If a coordinate or the limit is no number, or `number` is less than 1.
        """
        ((lat, lon),) = _pairs([(lat, lon)]).tolist()
        number, metres = whole_number(number, "number", 1, 2**31 - 1), self._metres(limit)
        allowed = self._allowed(flag(leaving, "leaving"), flag(reached, "reached"))
        return self._nearest_streets(lat, lon, number, self._any_street if any_street else allowed, metres)

    def nearest_among(self, places: npt.ArrayLike, among: Bools) -> list[Snap | None]:
        """Return the nearest point to each of some places on streets of a mask on which trips may begin."""
        return self._nearest_of_each(_pairs(places), self.usable & among, self._radius)

    def nearest_for(
        self,
        place: CheckedStop,
        number: int = 1,
        *,
        leaving: bool = False,
        reached: bool = False,
        among: Bools | None = None,
    ) -> list[Snap]:
        """Return the points nearest to a place with conditions, on the nearest streets that meet them.

        Pieces of streets that meet at the nearest point all count, if there are conditions on directions.

        Parameters
        ----------
        place : CheckedStop
            The place.
        number : int
            Maximum number of streets; of more than one, each has only its own arcs in `Snap.arcs`.
        leaving, reached
            As for `nearest`.
        among : numpy.ndarray, optional
            Mask of the polylines that may be found.
        """
        (lat, lon), stop = place, place.stop
        limit = self._radius if stop.radius_m is None else min(float(stop.radius_m), _FARTHEST_M)
        allowed = self._any_street if place.any_street else self._allowed(leaving, reached)
        if among is not None:
            allowed = allowed & among
        hinted = None if stop.hint is None else self.hints.decode(stop.hint, lat, lon)
        if hinted is not None and number == 1 and allowed[hinted[0]]:
            rows = np.empty((1, 4))
            _kernels().put_piece(lat, lon, *hinted, self.first, self.points, rows[0])
            found = self._meeting(place, rows[rows[:, 0] <= limit], 1)
            if found:
                return found
        if not stop.is_directed:
            return self._nearest_streets(lat, lon, number, allowed, limit)
        found, nearest = list[Snap](), self._nearest_metres(lat, lon, allowed, limit)
        # Where no street meets the conditions, not all of the map is looked at.
        limit = min(limit, nearest + MAX_SNAP_M)
        for radius in _radii(nearest, limit):
            turns = self.near(lat, lon, radius)
            rows = np.concatenate([np.empty((0, 4)), *(self._pieces(lat, x, radius, allowed) for x in turns)])
            found = self._meeting(place, rows, number)
            if len(found) >= number:
                break
        return found

    def _meeting(self, place: CheckedStop, rows: npt.NDArray[np.float64], number: int) -> list[Snap]:
        """Return the nearest points on pieces of streets, as kernels find them, that meet a place's conditions."""
        (lat, lon), stop = place, place.stop
        directions = np.empty(len(rows), np.int64)
        bearing, around = stop.bearing or (-1.0, 0.0)
        _kernels().find_directions(
            *(rows, self.points, self.first, self.hints.ways, self._left_hand, lat, lon),
            *(float(bearing), float(around), APPROACHES.index(stop.approach), directions),
        )
        rows, directions = self._outside(rows[directions > 0], directions[directions > 0])
        order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))
        rows, directions = rows[order], directions[order]
        _, nearest = np.unique(rows[:, 1], return_index=True)
        nearest = np.sort(nearest)[:number]
        snaps = np.empty((len(nearest), 4))
        _kernels().put_snaps(rows[nearest], self.points, self.first, self.passed_metres, snaps)
        found = []
        for at, snap in zip(nearest.tolist(), snaps.tolist(), strict=True):
            point = self._snap(lat, lon, rows[at].tolist(), snap)
            if stop.is_directed:
                near = rows[:, 0] <= rows[at, 0] + _SAME_M
                near &= rows[:, 1] == rows[at, 1] if number > 1 or not point.is_end else True
                arcs = [
                    arc
                    for line, allowed in zip(
                        rows[near, 1].astype(np.int64).tolist(), directions[near].tolist(), strict=True
                    )
                    for arc in self.arcs(line).tolist()
                    if allowed & (2 if self.backward[arc] else 1)
                ]
                point = point._replace(arcs=tuple(sorted(set(arcs))))
            found.append(point)
        return found

    def _outside(
        self, rows: npt.NDArray[np.float64], directions: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the pieces whose nearest points are not in areas to avoid, with their directions."""
        if self.avoided is None or not self.avoided.has_areas or not len(rows):
            return rows, directions
        at = self.first[rows[:, 1].astype(np.int64)] + rows[:, 2].astype(np.int64)
        outside = ~self.avoided.covers(*between(self.points[at], self.points[at + 1], rows[:, 3]).T)
        return rows[outside], directions[outside]

    @cached_property
    def _any_street(self) -> Bools:
        """Mask of the polylines that have a length."""
        found = np.zeros(self.num_polylines, np.bool_)
        found[self.polyline_of[self.lengths > 0]] = True
        return own(found)

    @cached_property
    def _left_hand(self) -> Bools:
        """Mask of the polylines on which traffic keeps left."""
        found = np.zeros(self.num_polylines, np.bool_)
        left = getattr(self.graph.streets, "left_hand", None)
        if left is not None:
            found[self.polyline_of[left]] = True
        return own(found)

    def points_along(self, spacing: float) -> npt.NDArray[np.float64]:
        """Return points on streets on which trips may begin and end, outside of areas to avoid.

        These are the ends of each street that can be reached from the network's core and left for it, and points
        between them so that no two neighbours are farther apart than `spacing` metres.

        Returns
        -------
        numpy.ndarray
            Latitude and longitude in degrees, shape (k, 2); longitudes may exceed 180 degrees.

        Raises
        ------
        MemoryShortageError
            If there are too many points for the memory.
        """
        lines = np.flatnonzero(self._allowed(True, True))
        length = self.passed_metres[self.first[lines + 1] - 1]
        pieces = np.ceil(length / spacing)
        require(64 * float(pieces.sum()), f"points along streets every {spacing:g} m", "give larger cells")
        count = pieces.astype(np.int64) + 1
        part = within(count) / np.maximum(1, np.repeat(count - 1, count))
        # All streets one after the other, a metre apart.
        begin = np.concatenate([np.zeros(1), np.cumsum(self.passed_metres[self.first[1:] - 1] + 1.0)])[:-1]
        at = np.repeat(begin[lines], count) + part * np.repeat(length, count)
        passed = self.passed_metres + np.repeat(begin, np.diff(self.first))
        found = np.stack([np.interp(at, passed, degrees) for degrees in self.points.T], axis=1)
        return found if self.avoided is None else found[~self.avoided.covers(*found.T)]

    def _metres(self, limit: float | None) -> float:
        if limit is None:
            return self._radius
        metres = number_of(limit)
        if metres is None or not 0 <= metres < math.inf:
            raise QueryError(f"limit is {shown(limit)}; give metres, 0 or more")
        return min(metres, _FARTHEST_M)

    def _allowed(self, leaving: bool, reached: bool) -> Bools:
        """Return the mask of the polylines that may be found."""
        key = leaving, reached
        if key not in self._masks:
            mask = self.usable.copy()
            if leaving:
                mask &= self.useful[0]
            if reached:
                mask &= self.useful[1]
            self._masks[key] = own(mask)
        return self._masks[key]

    def _nearest_of_each(self, places: npt.NDArray[np.float64], allowed: Bools, limit: float) -> list[Snap | None]:
        """Return what `nearest_of_each` returns, given the mask of the polylines that may be found."""
        if self.avoided is not None and self.avoided.has_areas:
            each = (self._nearest_streets(lat, lon, 1, allowed, limit) for lat, lon in places.tolist())
            return [found[0] if found else None for found in each]
        found, snaps = self._found(places, allowed, limit)
        rows = zip(places.tolist(), found.tolist(), snaps.tolist(), strict=True)
        return [None if row[0] == math.inf else self._snap(lat, lon, row, snap) for (lat, lon), row, snap in rows]

    def _found(
        self, places: npt.NDArray[np.float64], allowed: Bools, limit: float
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the rows that `find_nearest` writes."""
        found, snaps, tree = np.empty((len(places), 4)), np.empty((len(places), 4)), self.tree

        def find(begin: int, end: int) -> None:
            _kernels().find_nearest(
                *(places[begin:end], limit, _FIRST_RADIUS_M, *tree, self.points, allowed),
                *(self.first, self.passed_metres, np.empty(len(tree.first), np.int64), np.empty((1, 4))),
                *(found[begin:end], snaps[begin:end]),
            )

        run_parts(find, len(places), _PLACES_EACH)
        return found, snaps

    def _nearest_streets(self, lat: float, lon: float, number: int, allowed: Bools, limit: float) -> list[Snap]:
        """Return what `nearest_streets` returns, given the mask of the polylines that may be found."""
        found: list[Snap] = []
        for radius in _radii(self._nearest_metres(lat, lon, allowed, limit), limit):
            turns = self.near(lat, lon, radius)
            found = [snap for x in turns for snap in self._within(lat, x, radius, allowed, number)]
            if len(found) >= number:
                break
        return sorted(found, key=lambda snap: round(snap.metres, _DECIMALS))[:number]

    def _nearest_metres(self, lat: float, lon: float, allowed: Bools, limit: float) -> float:
        """Return the distance of the nearest street, in an area to avoid or not; infinite if none is near enough."""
        found, _ = self._found(np.array([[lat, lon]]), allowed, limit)
        return float(found[0, 0])

    def _within(self, lat: float, lon: float, radius: float, allowed: Bools, number: int) -> list[Snap]:
        """Return the nearest points on the nearest streets within a radius, at most `number`, the nearest first."""
        found = self._pieces(lat, lon, radius, allowed)
        metres, street, piece, along = found.T
        # The nearest piece of each street, then the nearest street; of several the first one.
        order = np.lexsort((piece, metres, street))
        order = order[np.unique(street[order], return_index=True)[1]]
        if self.avoided is not None and self.avoided.has_areas and len(order):
            at = self.first[street[order].astype(np.int64)] + piece[order].astype(np.int64)
            points = between(self.points[at], self.points[at + 1], along[order])
            order = order[~self.avoided.covers(*points.T)]
        order = order[np.argsort(metres[order], kind="stable")][:number]
        found = found[order]
        snaps = np.empty_like(found)
        _kernels().put_snaps(found, self.points, self.first, self.passed_metres, snaps)
        return [self._snap(lat, lon, row, snap) for row, snap in zip(found.tolist(), snaps.tolist(), strict=True)]

    def _pieces(self, lat: float, lon: float, radius: float, allowed: Bools) -> npt.NDArray[np.float64]:
        """Return the pieces of streets within a radius as `find_pieces` finds them, in any order, shape (k, 4)."""
        find_pieces, tree = _kernels().find_pieces, self.tree
        count, found, waiting = _ROOM, np.empty((0, 4)), np.empty(len(tree.first), np.int64)
        while count > len(found):
            found = np.empty((count, 4))
            count = find_pieces(lat, lon, radius, *tree, self.points, allowed, waiting, found)
        return found[:count]

    def _snap(self, lat: float, lon: float, row: list[float], snap: list[float]) -> Snap:
        """Return the snap of a place, given what kernels have found; see `vkssp.routing.kernels.snap`."""
        fraction, piece, at_lat, at_lon = snap
        line = int(row[1])
        if self._is_polar and 0.0 < fraction < 1.0:
            at = int(self.first[line] + row[2])
            ends = self.points[at : at + 1], self.points[at + 1 : at + 2]
            ((at_lat, at_lon),) = between(*ends, np.array(row[3:])).tolist()
            at_lon = (at_lon + 180.0) % 360.0 - 180.0 if abs(at_lon) > 180.0 else at_lon
        share = row[3] if 0.0 < fraction < 1.0 else fraction
        streets = self.graph.streets
        if streets is not None and streets.piece_weight is not None and 0.0 < fraction < 1.0:
            at = int(self.first[line] + row[2])
            ends = self.points[at : at + 2].tolist()
            from_end = bool(streets.counted_from_end[line])
            share, at_lat, at_lon = _on_whole_piece((lat, lon), *(ends[::-1] if from_end else ends))
            share = 1.0 - share if from_end else share
        metres = metres_between(lat, lon, at_lat, at_lon)
        return Snap(line, fraction, int(piece), at_lat, at_lon, metres, share=share)


def _on_whole_piece(
    place: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the part of a piece before a place's nearest point, and the point, where pieces weigh whole units.

    What part weighs a whole unit more depends on the last bits, so that all is rounded as OSRM does: coordinates to
    millionths of a degree, and the piece is straight in the projection of Mercator.
    """
    (y, x), (y0, x0), (y1, x1) = (_on_mercator(*each) for each in (place, start, end))
    x += 360.0 * round((x0 - x) / 360.0)
    up, aside = y1 - y0, x1 - x0
    squared = aside * aside + up * up
    share = 0.0 if squared == 0.0 else (aside * (x - x0) + up * (y - y0)) / squared
    share = min(1.0, max(0.0, share))
    lat = latitude_of(math.radians(y0 + share * up))
    lon = x0 + share * aside
    lon = (lon + 180.0) % 360.0 - 180.0 if abs(lon) > 180.0 else lon
    # The same numbers as those of a point of a street with these coordinates.
    lat, lon = (10 * round(1e6 * degrees) * COORDINATE_SCALE for degrees in (lat, lon))
    return share, lat, lon


def _on_mercator(lat: float, lon: float) -> tuple[float, float]:
    """Return a point, rounded to millionths of a degree, in the projection of Mercator, in degrees, northing first."""
    return math.degrees(northing_of(min(89.9, max(-89.9, round(lat, 6))))), round(lon, 6)


def _radii(nearest: float, limit: float) -> Iterator[float]:
    """Yield radii of a search that ends when there is enough within one, given the distance of the nearest street."""
    more = _FIRST_RADIUS_M
    while nearest + more < limit:
        yield nearest + more
        more *= 4.0
    if nearest <= limit:
        yield limit


@cache
def _kernels() -> Any:
    return kernels("vkssp.routing.kernels.snap")
