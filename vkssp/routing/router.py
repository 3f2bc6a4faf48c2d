"""Routes between places on a map: snap them, search with all arcs that they lie on, put the pieces together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from vkssp.errors import NoRouteError, QueryError
from vkssp.gpu.device import Device
from vkssp.gpu.resource import Resource
from vkssp.graph import UNREACHABLE, Graph
from vkssp.routing.areas import Areas, read_areas
from vkssp.routing.course import course_of
from vkssp.routing.ends import find_starts
from vkssp.routing.isochrone import DEFAULT_WIDTH_M, Isochrone, begun_streets, isochrones
from vkssp.routing.legs import Way, find_ways
from vkssp.routing.metric import METRES_PER_WEIGHT, measured_by
from vkssp.routing.places import LatLon, check_place, nearest_places, no_road, place_of, text
from vkssp.routing.route import Leg, Place, Route, duration
from vkssp.routing.snap import Snap, StreetIndex
from vkssp.routing.steps import steps_of
from vkssp.solver import Solver
from vkssp.solvers.choice import DEFAULT_ALGORITHM


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
    metric : str
        What routes make least: ``"duration"``, the graph's weights, or ``"distance"``, metres.
    avoid : str, Path, mapping or geometry, optional
        Areas that no route and no isochrone enters: a GeoJSON file or object, or a geometry of shapely's; polygons,
        longitude and latitude in degrees. Streets that they touch are used only by who begins or ends a trip on them,
        outside the areas; and no place is snapped into an area.
    **parameters : int or str
        Parameters of the algorithm, and what else `Solver` takes, such as ``reduction="auto"``.

    Attributes
    ----------
    graph : Graph
        The graph as it was given; arcs of routes are its.
    index : StreetIndex
        Its streets, with the weights of the metric.
    solver : Solver
        Searches the streets that are left without the areas; its nodes are those of the graph, its arcs are not.

    Raises
    ------
    QueryError
        If the graph has no coordinates or no arcs, a parameter or an area is not valid, or the areas leave no street.
    FormatError
        If a file with areas cannot be read.
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
        *,
        metric: str = "duration",
        avoid: Areas | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__()
        self.graph, self.metric = graph, metric
        areas = None if avoid is None else read_areas(avoid)
        self.index = StreetIndex(measured_by(graph, metric), areas)
        self.solver = Solver(self.index.searched, algorithm, device, **parameters)
        # Now rather than in the first query. Some drivers compile a kernel when it first runs, so each runs once.
        self.index.prepare()
        self.solver.prepare_routes()
        self.solver.search_path([(0, 0)], [(0, 0)])

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

        All places are snapped to the nearest point on a street. Where that street lies on an island of the network, or
        leads nowhere, the nearest street that does is taken instead; a via point is snapped to one that can be both
        reached and left.

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
        began = time.perf_counter()
        try:
            places = [origin, *via, destination]
        except TypeError:
            raise QueryError(f"via is {via!r}; give a list of pairs of latitude and longitude") from None
        names = ["from", *(f"via point {number}" for number in range(1, len(places) - 1)), "to"]
        for place, name in zip(places, names, strict=True):
            check_place(self.index, place, name)
        straight = self.index.knows_turns if continue_straight is None else continue_straight
        failed = 0
        for snaps in self._candidates(places, names):
            ways = find_ways(self.solver, self.index, snaps, straight)
            if not isinstance(ways, int):
                ends = pairwise(zip(places, snaps, strict=True))
                legs = [
                    self._leg(*pair, way, (number, number == len(ways)) if steps else None)
                    for number, (pair, way) in enumerate(zip(ends, ways, strict=True), 1)
                ]
                return self._joined(legs, began)
            failed = ways
        between = ", or an area to avoid lies between them" if self.index.avoided is not None else ""
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
            Seconds; metres where the metric is distance; or weights where the graph's weights are no durations. More
            than 0, in any order.
        width_m : float
            Metres to either side of a road that an isochrone covers.

        Returns
        -------
        list of Isochrone
            One for each limit, rising.

        Raises
        ------
        QueryError
            If the place is not on the map, or in an area to avoid, a limit is not more than 0 or passes 32 bits, or
            there is none.
        """
        check_place(self.index, origin, "from")
        metres = METRES_PER_WEIGHT if self.metric == "distance" else None
        unit = metres or duration(self.graph, 1) or 1.0
        try:
            weights = sorted({math.ceil(float(limit) / unit) for limit in limits})
        except (TypeError, ValueError, OverflowError):
            weights = []
        if not weights or weights[0] < 1 or weights[-1] >= UNREACHABLE:
            what = "metres" if metres else "seconds or weights"
            raise QueryError(f"limits is {limits!r}; give {what}, more than 0, that fit into 32 bits")
        if not (math.isfinite(width_m) and width_m > 0):
            raise QueryError(f"width is {width_m}; give metres, more than 0")
        start = self.index.nearest(*origin)
        if start is None or self.index.on_island(start) or not self.index.leaves(start):
            start = self.index.nearest(*origin, leaving=True) or start
        if start is None:
            raise no_road(origin, "from")
        starts = [(end.node, end.weight) for end in find_starts(self.index, start)]
        if starts:
            distances = self.solver.distances_from(starts)
        else:  # shut in by areas to avoid
            distances = np.full(self.graph.num_nodes, UNREACHABLE, np.uint32)
        found = isochrones(self.index, distances, begun_streets(self.index, start), weights, width_m)
        place = place_of(self.index, origin, start)
        return [replace(one, origin=place, metres=one.limit * metres if metres else None) for one in found]

    def _candidates(self, places: Sequence[LatLon], names: Sequence[str]) -> Iterator[list[Snap]]:
        """Yield the points that places may be snapped to, those that are tried first."""
        index = self.index
        nearest = []
        for place, name in zip(places, names, strict=True):
            snap = index.nearest(*place)
            if snap is None:
                raise no_road(place, name)
            nearest.append(snap)
        useful = [index.nearest(*place, leaving=True, reached=True) for place in places[1:-1]]
        for start, end in self._ends(places[0], places[-1], nearest[0], nearest[-1]):
            tried: list[list[Snap]] = []
            for vias in (nearest[1:-1], useful):
                between = [snap for snap in vias if snap is not None and index.part(snap) == index.part(start)]
                # No way leads from one part of the network to another.
                if len(between) == len(vias) and between not in tried:
                    tried.append(between)
                    yield [start, *between, end]

    def _ends(self, origin: LatLon, destination: LatLon, start: Snap, end: Snap) -> Iterator[tuple[Snap, Snap]]:
        """Yield the points that origin and destination may be snapped to, first of all the nearest if that may do."""
        index = self.index
        same_part = index.part(start) == index.part(end)
        if same_part:
            yield start, end
        # A real island with no way off it is an answer; a few stray nodes are not.
        other_start = index.nearest(*origin, leaving=True) if same_part or index.on_island(start) else start
        other_end = index.nearest(*destination, reached=True) if same_part or index.on_island(end) else end
        if other_start is not None and other_end is not None and (other_start, other_end) != (start, end):
            yield other_start, other_end
            # With an island passed over, the other end may be where one cannot leave the network, or get to.
            if not same_part and index.part(other_start) == index.part(other_end):
                useful = index.nearest(*origin, leaving=True), index.nearest(*destination, reached=True)
                if useful[0] is not None and useful[1] is not None and useful != (other_start, other_end):
                    yield useful[0], useful[1]

    def _leg(
        self, begin: tuple[LatLon, Snap], end: tuple[LatLon, Snap], way: Way, told: tuple[int, bool] | None
    ) -> Leg:
        """Return the leg along a way between two places, each with the point that it was snapped to.

        `told` is its number and whether it is the last one, where its steps are to be told.
        """
        course = course_of(self.index, self.graph, way, begin[1], end[1])
        destination = place_of(self.index, *end)
        return Leg(
            nodes=course.nodes,
            arcs=course.arcs,
            parts=course.parts,
            weight=way.weight,
            points=course.points,
            distance_m=float(course.metres.sum()),
            duration_s=duration(self.graph, int(course.weights.sum())),
            origin=place_of(self.index, *begin),
            destination=destination,
            steps=() if told is None else steps_of(self.index, self.graph, course, destination, *told),
        )

    def _joined(self, legs: Sequence[Leg], began: float) -> Route:
        """Return the route of some legs, each of which begins where the one before ends."""
        durations = [leg.duration_s for leg in legs if leg.duration_s is not None]
        points = [legs[0].points, *(leg.points[1:] for leg in legs[1:])]
        return Route(
            nodes=np.concatenate([leg.nodes for leg in legs]),
            arcs=np.concatenate([leg.arcs for leg in legs]),
            weight=sum(leg.weight for leg in legs),
            points=np.concatenate(points),
            distance_m=sum(leg.distance_m for leg in legs),
            duration_s=sum(durations) if len(durations) == len(legs) else None,
            origin=legs[0].origin,
            destination=legs[-1].destination,
            device=self.solver.device.info.name,
            algorithm=self.solver.algorithm,
            query_ms=1e3 * (time.perf_counter() - began),
            parts=np.concatenate([leg.parts for leg in legs]),
            legs=tuple(legs),
        )
