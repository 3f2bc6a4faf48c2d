"""Routes between places on a map: snap both, search once with all arcs that they lie on, put the pieces together."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.errors import NoRouteError, QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Graph
from vkssp.routing.ends import End, find_direct, find_goals, find_starts
from vkssp.routing.isochrone import DEFAULT_WIDTH_M, Isochrone, begun_streets, isochrones
from vkssp.routing.places import LatLon, check_place, nearest_places, no_road, place_of, text
from vkssp.routing.route import Place, Route, along, duration
from vkssp.routing.snap import Snap, StreetIndex
from vkssp.routing.table import Table
from vkssp.routing.table_places import table_of_places
from vkssp.solver import Solver
from vkssp.solvers.choice import DEFAULT_ALGORITHM
from vkssp.traffic import Change, speed_weights


@dataclass(frozen=True, eq=False)
class _Way:
    """The way between two snapped points: the arcs that they lie on, unless at a junction, and those in between.

    A direct way stays on one arc, or at one junction; any other reaches the node of `first` first.
    """

    weight: int
    first: End
    inner: npt.NDArray[np.int64]
    last: End
    direct: bool = False


class Router(Resource):
    """Routes between coordinates on one graph and one device.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates, such as `read_graph` makes of an OpenStreetMap extract.
    algorithm : str
        Name of an algorithm, or ``"auto"``; see `Solver`.
    device : Device, int or str, optional
        See `Solver`.
    **parameters : int or str
        Parameters of the algorithm, and what else `Solver` takes, such as ``reduction="auto"``.

    Raises
    ------
    QueryError
        If the graph has no coordinates or no arcs, or a parameter is not valid.
    DeviceError
        If there is no such device.

    Examples
    --------
    >>> with Router(read_graph("andorra.osm.pbf")) as router:  # doctest: +SKIP
    ...     route = router.route((42.5075, 1.5218), (42.5430, 1.7340))
    """

    def __init__(
        self,
        graph: Graph,
        algorithm: str = DEFAULT_ALGORITHM,
        device: Device | int | str | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        self._index = StreetIndex(graph)
        self.solver = Solver(graph, algorithm, device, **parameters)
        # Now rather than in the first query. Some drivers compile a kernel when it first runs, so each runs once.
        self._index.prepare()
        self.solver.prepare_routes()
        self.solver.search_path([(0, 0)], [(0, 0)])

    @property
    def graph(self) -> Graph:
        """The graph, with the weights that it has now."""
        return self.solver.graph

    @property
    def index(self) -> StreetIndex:
        """The streets, where places are snapped to."""
        self._index.graph = self.graph  # of which nothing but the weights may be others
        return self._index

    def _release(self) -> None:
        solver = getattr(self, "solver", None)
        if solver is not None:
            solver.close()

    def route(self, origin: LatLon, destination: LatLon) -> Route:
        """Return the best route from one place to another.

        Both are snapped to the nearest point on a street. Where that street lies on an island of the network, or leads
        nowhere, the nearest street that does is taken instead.

        Parameters
        ----------
        origin, destination : tuple of (float, float)
            Latitude and longitude in degrees.

        Raises
        ------
        QueryError
            If a place is not on the map.
        NoRouteError
            If no route leads there.
        """
        began = time.perf_counter()
        for place, name in ((origin, "from"), (destination, "to")):
            check_place(self.index, place, name)
        for start, end in self._candidates(origin, destination):
            way = self._between(start, end)
            if way is not None:
                return self._route(origin, destination, start, end, way, began)
        raise NoRouteError(
            f"no route leads from {text(origin)} to {text(destination)}; the two may lie on separate islands, "
            "or a one-way street leads out of the map"
        )

    def nearest(self, place: LatLon, number: int = 1) -> list[Place]:
        """Return the nearest points on streets to a place, one of each street.

        Parameters
        ----------
        place : tuple of (float, float)
            Latitude and longitude in degrees.
        number : int
            How many at most.

        Returns
        -------
        list of Place
            The nearest first; fewer where there are no more within 20 km.

        Raises
        ------
        QueryError
            If the place is not on the map or far from any road, or the number is less than 1.
        """
        return nearest_places(self.index, place, number)

    def isochrones(self, origin: LatLon, limits: Sequence[float], width_m: float = DEFAULT_WIDTH_M) -> list[Isochrone]:
        """Return what can be reached from a place within some times, all from one search.

        The place is snapped as for a route, to a street from which the network can be reached.

        Parameters
        ----------
        origin : tuple of (float, float)
            Latitude and longitude in degrees.
        limits : sequence of float
            Seconds, or weights where the graph's weights are no durations; more than 0, in any order.
        width_m : float
            Metres to either side of a road that an isochrone covers.

        Returns
        -------
        list of Isochrone
            One for each limit, rising.

        Raises
        ------
        QueryError
            If the place is not on the map, a limit is not more than 0 or passes 32 bits, or there is none.
        """
        check_place(self.index, origin, "from")
        unit = duration(self.graph, 1) or 1.0
        try:
            weights = sorted({math.ceil(float(limit) / unit) for limit in limits})
        except (TypeError, ValueError, OverflowError):
            weights = []
        if not weights or weights[0] < 1 or weights[-1] >= UNREACHABLE:
            raise QueryError(f"limits is {limits!r}; give seconds or weights, more than 0, that fit into 32 bits")
        if not (math.isfinite(width_m) and width_m > 0):
            raise QueryError(f"width is {width_m}; give metres, more than 0")
        start = self.index.nearest(*origin)
        if start is None or self.index.on_island(start) or not self.index.leaves(start):
            start = self.index.nearest(*origin, leaving=True) or start
        if start is None:
            raise no_road(origin, "from")
        with self.solver.holding():
            starts = find_starts(self.index, start)
            distances = self.solver.distances_from([(end.node, end.weight) for end in starts])
            return isochrones(self.index, distances, begun_streets(self.index, starts), weights, width_m)

    def table(
        self, sources: Sequence[LatLon], targets: Sequence[LatLon] | None = None, metrics: Sequence[str] | None = None
    ) -> Table:
        """Return what it takes from each of some places to each of others, as routes between them would.

        Parameters
        ----------
        sources, targets : sequence of (float, float)
            Latitude and longitude in degrees; by default targets are the sources.
        metrics : sequence of str, optional
            ``"duration"`` in seconds, ``"distance"`` in metres along the quickest route (where several are quickest,
            along one of them), ``"weight"``; by default durations, or weights where those are none.

        Returns
        -------
        Table
            Its rows are made as one iterates over it, or all by its `read`; a search for each.

        Raises
        ------
        QueryError
            If a place is not on the map or far from any road, there are no places, or a metric is not known; while
            rows are made, if weights have changed.
        """
        return table_of_places(self.solver, self.index, sources, targets, metrics)

    def set_weights(self, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None) -> None:
        """Change the weights of all arcs, or of some, from the next query on; see `Solver.set_weights`."""
        self.solver.set_weights(weights, arcs)

    def set_speeds(self, speeds: Mapping[int, float]) -> Change:
        """Change how fast OSM ways are travelled, both ways, from the next query on.

        Turns take as long as before, and so do gates. Speeds hold until others are set for the same ways, or weights:
        `set_weights` with those of the graph that the router was made of brings back the first ones.

        Parameters
        ----------
        speeds : mapping of int to float
            Speed in km/h for OSM way ids. Ways that the graph does not have are counted and passed over.

        Returns
        -------
        Change
            How many arcs changed, and how many ways are not known.

        Raises
        ------
        QueryError
            If a speed is not more than 0, or the graph has none of the ways, or no durations.
        """
        arcs, weights, change = speed_weights(self.graph, speeds)
        self.solver.set_weights(weights, arcs)
        return change

    def _candidates(self, origin: LatLon, destination: LatLon) -> list[tuple[Snap, Snap]]:
        index = self.index
        start, end = index.nearest(*origin), index.nearest(*destination)
        for snap, place, name in ((start, origin, "from"), (end, destination, "to")):
            if snap is None:
                raise no_road(place, name)
        assert start is not None and end is not None
        pairs = []
        same_part = index.part(start) == index.part(end)
        if same_part:
            pairs.append((start, end))
        # A real island with no way off it is an answer; a few stray nodes are not.
        other_start = index.nearest(*origin, leaving=True) if same_part or index.on_island(start) else start
        other_end = index.nearest(*destination, reached=True) if same_part or index.on_island(end) else end
        if other_start is not None and other_end is not None and (other_start, other_end) != (start, end):
            pairs.append((other_start, other_end))
            # With an island passed over, the other end may be where one cannot leave the network, or get to.
            if not same_part and index.part(other_start) == index.part(other_end):
                useful = index.nearest(*origin, leaving=True), index.nearest(*destination, reached=True)
                if useful[0] is not None and useful[1] is not None and useful != pairs[-1]:
                    pairs.append((useful[0], useful[1]))
        return pairs

    def _between(self, start: Snap, end: Snap) -> _Way | None:
        """Return the best way between two snapped points, None where there is none."""
        with self.solver.holding():  # so that the ends' weights are those of the search
            index = self.index
            starts, goals = find_starts(index, start), find_goals(index, end)
            direct = find_direct(index, start, end)
            found = None
            if starts and goals:
                found = self.solver.search_path(*([(e.node, e.weight) for e in ends] for ends in (starts, goals)))
        if found is not None and (direct is None or found[0] < direct[0]):
            weight, seed, target, arcs = found
            return _Way(weight, starts[seed], arcs, goals[target])
        if direct is None:
            return None
        weight, first, last = direct
        return _Way(weight, first, np.zeros(0, np.int64), last, direct=True)

    def _route(self, origin: LatLon, destination: LatLon, start: Snap, end: Snap, way: _Way, began: float) -> Route:
        graph, index = self.graph, self.index
        first, last = way.first, way.last
        # The first arc out of a junction may be another than the one that was snapped to.
        on_first = start if first.arc >= 0 and index.polyline_of[first.arc] == start.polyline else None
        ends = [np.array([[snap.lat, snap.lon]]) for snap in (start, end)]
        if way.direct and first.arc < 0:
            arcs, nodes, metres = np.zeros(0, np.int64), np.array([first.node], np.uint32), 0.0
            points = np.concatenate(ends)
        elif way.direct:
            arcs, nodes = np.array([first.arc], np.int64), np.zeros(0, np.uint32)
            points = self._piece(first.arc, on_first, end)
            metres = (last.at - first.at) * index.length(first.arc)
        else:
            nodes = np.concatenate([np.array([first.node], np.uint32), graph.head[way.inner]])
            middle = along(graph, nodes, way.inner)
            assert middle is not None
            metres = sum(index.length(arc) for arc in way.inner.tolist())
            if first.arc >= 0:
                ends[0] = self._piece(first.arc, on_first, None)
                metres += (1.0 - first.at) * index.length(first.arc)
            if last.arc >= 0:
                ends[1] = self._piece(last.arc, None, end)
                metres += last.at * index.length(last.arc)
            points = np.concatenate([ends[0], middle, ends[1]])
            arcs = np.array([a for a in (first.arc, *way.inner.tolist(), last.arc) if a >= 0], np.int64)
        # Pieces meet in points that both have.
        keep = np.ones(len(points), np.bool_)
        keep[1:] = (points[1:] != points[:-1]).any(axis=1)
        return Route(
            nodes=nodes,
            arcs=arcs,
            weight=way.weight,
            points=points[keep],
            distance_m=metres,
            duration_s=duration(graph, way.weight),
            origin=place_of(self.index, origin, start),
            destination=place_of(self.index, destination, end),
            device=self.solver.device.info.name,
            algorithm=self.solver.algorithm,
            query_ms=1e3 * (time.perf_counter() - began),
        )

    def _piece(self, arc: int, start: Snap | None, end: Snap | None) -> npt.NDArray[np.float64]:
        """Return the points of an arc from a snapped point, or its tail, to another, or its head."""
        points = self.index.polyline_points(int(self.index.polyline_of[arc]))
        if self.index.backward[arc]:
            points = points[::-1]
        low, high = 0, len(points)
        before, after = np.zeros((0, 2)), np.zeros((0, 2))
        pieces = len(points) - 1
        if start is not None:
            segment = pieces - 1 - start.segment if self.index.backward[arc] else start.segment
            low, before = segment + 1, np.array([[start.lat, start.lon]])
        if end is not None:
            segment = pieces - 1 - end.segment if self.index.backward[arc] else end.segment
            high, after = segment + 1, np.array([[end.lat, end.lon]])
        return np.concatenate([before, points[low:high], after])
