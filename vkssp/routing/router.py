"""Routes between places on a map: snap them, search with all arcs that they lie on, put the pieces together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.choice import DEFAULT_ALGORITHM
from vkssp.checks import flag, listed
from vkssp.errors import NoRouteError, QueryError
from vkssp.gpu.several import Devices
from vkssp.graph import UNREACHABLE, Graph, checked_graph
from vkssp.graph.metric import measured_by, unit_of
from vkssp.graph.traffic import Change, changed_weights, speed_weights
from vkssp.resource import Resource
from vkssp.route import Place, Route
from vkssp.routing.areas import Areas, read_areas
from vkssp.routing.assignment import Assignment, assign
from vkssp.routing.isochrone import DEFAULT_WIDTH_M, Isochrone
from vkssp.routing.legs import find_ways
from vkssp.routing.places import LatLon, candidates, checked_place, nearest_places, text
from vkssp.routing.reach import isochrones_around
from vkssp.routing.route_assembly import joined, leg_of
from vkssp.routing.snap import StreetIndex
from vkssp.routing.table_places import table_of_places
from vkssp.solver.pool import solver_on
from vkssp.solver.table import Table, checked_metrics


class Router(Resource):
    """Routes between coordinates on one graph and one device.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates, such as `read_graph` makes of an OpenStreetMap extract.
    algorithm : str
        Name of an algorithm, or ``"auto"``; see `Solver`.
    device : Device, int, str, or sequence of them, optional
        See `Solver`; several devices, or ``"all"``, share tables, see `SolverPool`.
    metric : str
        What routes make least: ``"duration"``, the graph's weights, or ``"distance"``, metres.
    avoid : str, Path, mapping or geometry, optional
        Areas that no route, table or isochrone enters: a GeoJSON file or object, or a geometry of shapely's; polygons,
        longitude and latitude in degrees. Streets that they touch are used only by who begins or ends a trip on them,
        outside the areas; and no place is snapped into an area.
    **parameters : int or str
        Parameters of the algorithm, and what else `Solver` takes, such as ``reduction="auto"``.

    Attributes
    ----------
    solver : Solver or SolverPool
        Searches the streets that are left without the areas, by what is made least; its nodes are those of the graph,
        its arcs and weights may be others.
    metric : str
        What routes make least.

    Raises
    ------
    QueryError
        If it is no graph, or has no coordinates, no arcs, or none where a trip may begin; if a parameter or an area is
        not valid, or the areas leave no street.
    FormatError
        If a file with areas cannot be read.
    DeviceError
        If there is no such device.

    Examples
    --------
    >>> from vkssp import Router, read_graph
    >>> with Router(read_graph("andorra.osm.pbf")) as router:
    ...     route = router.route((42.5075, 1.5218), (42.5430, 1.7340))
    >>> print(f"{route.distance_m / 1000:.0f} km in {route.duration_s / 60:.0f} min")
    33 km in 36 min
    """

    def __init__(
        self,
        graph: Graph,
        algorithm: str = DEFAULT_ALGORITHM,
        device: Devices | None = None,
        *,
        metric: str = "duration",
        avoid: Areas | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        checked_graph(graph, QueryError)
        areas = None if avoid is None else read_areas(avoid)
        index = StreetIndex(measured_by(graph, metric), areas)
        self.solver, self.metric = solver_on(index.searched, algorithm, device, **parameters), metric
        # The last two, of which one has the weights that are searched.
        self._indices: tuple[StreetIndex, ...] = (index,)
        # Where distances are made least, the graph as it was given with the weights that it has now.
        self._timed = graph
        # Now rather than in the first query. Some drivers compile a kernel when it first runs, so each runs once.
        index.prepare()
        self.solver.prepare_routes()
        self.solver.search_path([(0, 0)], [(0, 0)])

    @property
    def graph(self) -> Graph:
        """The graph as it was given, with the weights that it has now; arcs of routes are its."""
        return self._timed if self.metric == "distance" else self.index.graph

    @property
    def index(self) -> StreetIndex:
        """The streets of the graph, with the weights that are made least."""
        searched = self.solver.graph
        for index in self._indices:
            if index.searched is searched:
                return index
        # Somebody has changed those of the solver itself.
        index = self._indices[-1].with_searched(searched)
        self._indices = (self._indices[-1], index)
        return index

    def _release(self) -> None:
        solver = getattr(self, "solver", None)
        if solver is not None:
            solver.close()

    def route(
        self,
        origin: LatLon,
        destination: LatLon,
        *,
        via: Sequence[LatLon] = (),
        steps: bool = False,
        continue_straight: bool | None = None,
    ) -> Route:
        """Return the best route from one place to another.

        All places are snapped to the nearest point on a street where trips may begin, as the profile has it. A street
        that can only be reached, or only be left, is passed over for one within 200 m of the place that can be both.
        Where the street lies on an island of the network, or leads nowhere, the nearest street that does is taken
        instead; for a via point one that can be both reached and left.

        Parameters
        ----------
        origin, destination : tuple of (float, float)
            Latitude and longitude in degrees.
        via : sequence of tuple of (float, float)
            Places to pass on the way, in this order.
        steps : bool
            Whether to say what to do along the route, in `Route.steps`.
        continue_straight : bool, optional
            Whether one passes a via point in the direction that one came in, and obeys turn restrictions at it, unless
            no route goes on from there; otherwise one may turn round at it. By default so where the graph knows of
            turns. The way past all via points together is the best one either way.

        Raises
        ------
        QueryError
            If a place is not on the map, or in an area to avoid.
        NoRouteError
            If no route leads there.
        """
        began, index = time.perf_counter(), self.index
        given = [origin, *listed(via, "via", "pairs of latitude and longitude"), destination]
        names = ["from", *(f"via point {number}" for number in range(1, len(given) - 1)), "to"]
        places = [checked_place(index, place, name) for place, name in zip(given, names, strict=True)]
        steps = flag(steps, "steps")
        straight = index.knows_turns if continue_straight is None else flag(continue_straight, "continue_straight")
        failed = 0
        for snaps in candidates(index, places, names):
            with self.solver.holding():  # so that all legs, and their ends, have the weights of the searches
                index, graph = self.index, self.graph
                ways = find_ways(self.solver, index, snaps, straight)
            if not isinstance(ways, int):
                ends = pairwise(zip(places, snaps, strict=True))
                legs = [
                    leg_of(index, graph, *pair, way, (number, number == len(ways)) if steps else None)
                    for number, (pair, way) in enumerate(zip(ends, ways, strict=True), 1)
                ]
                return joined(legs, self.solver, began)
            failed = ways
        between = ", or an area to avoid lies between them" if index.avoided is not None else ""
        raise NoRouteError(
            f"no route leads from {text(places[failed])} to {text(places[failed + 1])}; the two may lie on separate "
            f"islands, or a one-way street leads out of the map{between}"
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
            The nearest first; fewer where there are no more within 20 km. Streets on which the profile lets no trip
            begin are left out.

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
            Seconds; metres where the metric is distance; or weights where the graph's weights are no durations. More
            than 0, in any order.
        width_m : float
            Metres to either side of a road that an isochrone covers, from 1 to 10,000.

        Returns
        -------
        list of Isochrone
            One for each limit, rising.

        Raises
        ------
        QueryError
            If the place is not on the map, or in an area to avoid, a limit is not more than 0 or passes 32 bits, or
            there is none, or the width is not within its bounds; or streets cross each other too often for an area.
        """
        with self.solver.holding():
            (found,) = isochrones_around(self.solver, self.index, self.metric, [origin], ["from"], limits, width_m)
        return found

    def isochrones_of_each(
        self, origins: Sequence[LatLon], limits: Sequence[float], width_m: float = DEFAULT_WIDTH_M
    ) -> Iterator[list[Isochrone]]:
        """Return the same of each of many places, which with ``block_resident`` are searched from at once.

        Parameters
        ----------
        origins : sequence of (float, float)
            Latitude and longitude in degrees.
        limits, width_m
            As for `isochrones`.

        Returns
        -------
        iterator of list of Isochrone
            For each place one for each limit, rising; made when they are asked for. Weights may not change meanwhile.

        Raises
        ------
        QueryError
            As `isochrones` does, of the place ``places[i]``; and while they are made, if weights have changed.
        """
        places = listed(origins, "origins", "pairs of latitude and longitude")
        names = [f"places[{number}]" for number in range(len(places))]
        if not names:
            raise QueryError("there are no places; give at least one")
        with self.solver.holding():
            return isochrones_around(self.solver, self.index, self.metric, places, names, limits, width_m)

    def assign(self, sources: Sequence[LatLon], limit: float | None = None) -> Assignment:
        """Return which of some places is the nearest to each node and each part of a street, all from one search.

        Places are snapped as for isochrones; ways lead from them. Where several are equally near, it is the first.

        Parameters
        ----------
        sources : sequence of (float, float)
            Latitude and longitude in degrees, any number of them.
        limit : float, optional
            Seconds; metres where the metric is distance; or weights where the graph's weights are no durations. What is
            farther from all places belongs to none.

        Returns
        -------
        Assignment
            By node in `Assignment.source` and `Assignment.values`; streets by its `geojson`, or all by its `write`.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road, there are no places, or the limit is
            not more than 0 or passes 32 bits.
        DistanceOverflowError
            If a shortest way does not fit into 32 bits, and there is no limit.
        """
        with self.solver.holding():
            index = self.index
            unit = unit_of(index.graph, self.metric)
            most = UNREACHABLE if limit is None else unit.limits([limit], "limit")[0]
            return assign(self.solver, index, unit, sources, most)

    def table(
        self, sources: Sequence[LatLon], targets: Sequence[LatLon] | None = None, metrics: Sequence[str] | None = None
    ) -> Table:
        """Return what it takes from each of some places to each of others, as routes between them would.

        Parameters
        ----------
        sources, targets : sequence of (float, float)
            Latitude and longitude in degrees; by default targets are the sources.
        metrics : sequence of str, optional
            ``"duration"`` in seconds, ``"distance"`` in metres, both along the path that `route` returns,
            ``"weight"``, of what is made least. By default that itself: durations, or weights where those are none, or
            distances.

        Returns
        -------
        Table
            Its rows are made as one iterates over it, or all by its `read`; a search for each.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road, there are no places, or a metric is
            not known; while rows are made, if weights that are made least have changed.
        """
        with self.solver.holding():
            wanted = checked_metrics(self.graph, metrics, self.metric)
            return table_of_places(self.solver, self.index, self.graph, wanted, sources, targets)

    def set_weights(self, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None) -> None:
        """Change the weights of all arcs, or of some, from the next query on; see `Solver.set_weights`.

        Arcs are those of `graph`. Where areas are avoided, what they close stays closed. Where distances are made
        least, routes stay as they are, and take other times.
        """
        if self.metric == "distance":
            with self.solver.holding():
                self._timed, _ = changed_weights(self._timed, weights, arcs)
            return

        def change(_: Graph) -> tuple[Graph, npt.NDArray[np.int64] | None]:
            old = self.index
            graph, changed = changed_weights(old.graph, weights, arcs)
            new = old.with_graph(graph)
            self._indices = (old, new)
            if changed is not None and new.avoided is not None:
                changed = new.avoided.searched_ids(changed)
            return new.searched, changed

        self.solver.change_weights(change)

    def set_speeds(self, speeds: Mapping[int, float]) -> Change:
        """Change how fast OSM ways are travelled, both ways, from the next query on.

        Turns take as long as before, and so do gates. Speeds hold until others are set for the same ways, or weights:
        `set_weights` with those of the graph that the router was made of brings back the first ones.

        Parameters
        ----------
        speeds : mapping of int to float
            Speed in km/h for OSM way ids, from 0.01 to 1000. Ways that the graph does not have are counted and passed
            over.

        Returns
        -------
        Change
            How many arcs changed, those in areas to avoid among them, and how many ways are not known.

        Raises
        ------
        QueryError
            If a speed is out of range, or the graph has none of the ways, or no durations.
        """
        arcs, weights, change = speed_weights(self.graph, speeds)
        self.set_weights(weights, arcs)
        return change
