"""Router between places on a map: snaps the places, searches the street network, assembles the routes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkssp.algorithms.choice import DEFAULT_ALGORITHM, checked_type
from vkssp.checks import choice, flag, number_of, shown, whole_number, whole_numbers
from vkssp.choices import DESTINATIONS, GAPS, MAX_SPEED_KMH, SOURCES, TABLE_METRICS
from vkssp.errors import NoRouteError, QueryError
from vkssp.features.places import PlaceLike, PlacesLike, pairs_of
from vkssp.former import FormerName
from vkssp.graph import UNREACHABLE, Graph, checked_graph
from vkssp.graph.distance_type import BITS_32
from vkssp.graph.metric import duration, in_seconds, measured_by, unit_of
from vkssp.graph.traffic import Change, changed_weights, speed_weights
from vkssp.resource import Resource
from vkssp.route import Place, Route
from vkssp.routing.alternatives import MAX_SHARING, MAX_STRETCH, MIN_OPTIMAL, checked_bounds, find_alternatives
from vkssp.routing.areas import Areas, read_areas, read_lines
from vkssp.routing.cells import Cells, grid, hexagons
from vkssp.routing.derived import Derived, Key
from vkssp.routing.isochrone import DEFAULT_WIDTH_M, Isochrone, isochrones_around
from vkssp.routing.legs import find_leg_paths
from vkssp.routing.matching import Matching, checked_trace, match_trace
from vkssp.routing.nearest_nodes import nearest_nodes
from vkssp.routing.opportunities import NearestOpportunities, NearestSearch, OpportunitySums
from vkssp.routing.places import (
    PAIR_NAMES,
    LatLon,
    about,
    candidates,
    checked_place,
    first_places,
    first_points_of_pairs,
    leg_apart,
    listed_places,
    listed_vias,
    nearest_place_of_each,
    nearest_places,
    places_of_pairs,
    text,
)
from vkssp.routing.route_assembly import joined, leg_of, legs_of
from vkssp.routing.routes import Routes, find_pairs
from vkssp.routing.service_areas import ServiceAreas, find_service_areas
from vkssp.routing.snap import MAX_SNAP_M, StreetIndex
from vkssp.routing.stops import all_with_snapping, with_snapping
from vkssp.routing.table_places import PlaceTable, table_of_places
from vkssp.routing.trip import Trip, order_of_trip, require_room
from vkssp.solver.decay import Decay
from vkssp.solver.pool import SolverPool, solver_on
from vkssp.solver.rescaling import rescaled, restarting
from vkssp.solver.several import Devices
from vkssp.solver.shared_graph import WeightsChange
from vkssp.solver.solver import Solver
from vkssp.solver.table import checked_metrics

# Names of places in errors, and the largest number of alternatives that a caller may ask for.
_ENDS, _MOST_ALTERNATIVES = ["from", "to"], 100
# Number of routers without some streets, or for other metrics, that a router keeps. Each has a graph of its own.
_MOST_DERIVED = 8
# Largest number of streets of a small component.
_MOST_SMALL = 2**31 - 1


class _Backward(NamedTuple):
    """Solver that searches backward, the graph that it has the weights of, and the arc there of each of its arcs."""

    solver: Solver | SolverPool
    graph: Graph
    arcs: npt.NDArray[np.int64]


class Router(Resource):
    """Router between coordinates on one graph, on one device or several.

    Parameters
    ----------
    graph : Graph
        A graph with coordinates, such as `read_graph` builds from an OpenStreetMap extract.
    algorithm : str
        Name of an algorithm, or ``"auto"``; see `Solver`.
    device : Device, CpuDevice, int, str, or sequence of them, optional
        See `Solver`. Several devices, or ``"all"``, share the work of tables and of isochrones of many places; see
        `SolverPool`.
    metric : str
        The metric that routes minimize: ``"duration"``, the graph's weights, or ``"distance"``, metres.
    avoid : str, Path, mapping or geometry, optional
        Areas that no route, table or isochrone enters: polygons in a file (.geojson, .parquet, .gpkg, .fgb, .shp,
        .shp.zip or .kml), a GeoJSON object, a shapely geometry or a GeoDataFrame; longitude and latitude in degrees. A
        street that an area touches is used only by trips that begin or end on it, outside the areas. No place is
        snapped into an area.
    small_component_size : int, optional
        If given, places are snapped as OSRM does it: to the nearest streets if these are in one component of the
        network, and otherwise past components of fewer streets than this, each direction counted. A place at signals in
        the middle of a street is on the part before them.
    farther_streets : bool, optional
        Whether farther streets are tried if no route leads between those that places are snapped to at first: streets
        that lead somewhere, and are on no small island, as `route` describes. By default only if no
        ``small_component_size`` is given.
    radius_m : float
        Largest distance in metres of a street that a place is snapped to, unless a `Stop` names another one. Infinite
        for the nearest street at any distance: then places outside of the map are snapped, too.
    **parameters : int or str
        Parameters of the algorithm and other arguments of `Solver`, such as ``reduction="auto"``.

    Attributes
    ----------
    solver : Solver or SolverPool
        Solver on the streets outside the areas, with the weights of the metric. Its nodes are the nodes of the graph;
        its arcs and weights may differ.
    metric : str
        The metric that routes minimize.

    Raises
    ------
    QueryError
        If `graph` is no graph, or has no coordinates, no arcs, or no arc where a trip may begin; if a parameter or an
        area is not valid; or if the areas leave no street.
    FormatError
        If a file with areas cannot be read.
    DeviceError
        If there is no such device.

    Notes
    -----
    A place is a pair of latitude and longitude in degrees, a shapely Point (longitude first) or a `Place`. Many places
    are a list of these; an array with two columns; a DataFrame of pandas or polars with columns ``lat`` and ``lon``; a
    GeoDataFrame or GeoSeries of points, in any coordinate system; or `Cells`. A `Stop` is a place with conditions on
    the street that it is snapped to.

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
        small_component_size: int | None = None,
        farther_streets: bool | None = None,
        radius_m: float = MAX_SNAP_M,
        **parameters: Any,
    ) -> None:
        super().__init__()
        checked_graph(graph, QueryError)
        parameters.setdefault("distance_bits", BITS_32.bits)
        if checked_type(parameters["distance_bits"]) is not BITS_32:
            raise QueryError("a Router works with distances of 32 bits only; leave distance_bits out, or use a Solver")
        areas = None if avoid is None else read_areas(avoid)
        small = small_component_size
        if small is not None:
            small = whole_number(small, "small_component_size", 0, _MOST_SMALL, "give a number of streets")
        farther = small is None if farther_streets is None else flag(farther_streets, "farther_streets")
        index = StreetIndex(measured_by(graph, metric), areas, small, farther_streets=farther, radius_m=radius_m)
        self.solver, self.metric = solver_on(index.searched, algorithm, device, **parameters), metric
        # The last two indices. One of them has the weights that the solver searches.
        self._indices: tuple[StreetIndex, ...] = (index,)
        # The given graph with its current durations, for the metric "distance".
        self._timed = graph
        # The graph whose streets gave the last durations, and the same graph weighted by them.
        self._clock: tuple[Graph, Graph] | None = None
        # For a router that was made from another one: the graph of that router whose weights it has.
        self._whole: Graph | None = None
        self._backward: _Backward | None = None
        self._making_backward = threading.Lock()
        # Routers made from this one, and those made from them, which share the cache; none has steps to itself.
        self._derived: Derived[Router] = Derived(_MOST_DERIVED)
        self._steps: Key = ()
        self._deriving = threading.Lock()
        # Done here, not in the first query. Some drivers compile a kernel when it first runs, so each runs once.
        index.prepare()
        self.solver.warm_up()

    def __repr__(self) -> str:
        """Return graph, metric, algorithm and devices in one line."""
        devices = self.solver.devices if isinstance(self.solver, SolverPool) else self.solver.device
        told = (self.graph, self.metric, self.solver.algorithm, devices)
        return f"Router({', '.join(map(repr, told))}{', closed' * self.closed})"

    @property
    def graph(self) -> Graph:
        """The given graph with its current weights; arc ids of routes refer to it."""
        return self._given(self.index)

    def _given(self, index: StreetIndex) -> Graph:
        return self._timed if self.metric == "distance" else index.graph

    def _clocked(self, given: Graph) -> Graph:
        """Return the given graph with durations for weights, if it knows any."""
        if given.streets is None or given.streets.seconds is None:
            return given
        if self._clock is None or self._clock[0].streets is not given.streets:
            self._clock = given, in_seconds(given)
        return self._clock[1]

    @property
    def index(self) -> StreetIndex:
        """The streets of the graph, with the weights of the metric."""
        searched = self.solver.graph
        for index in self._indices:
            if index.searched is searched:
                return index
        # The weights of the solver were changed directly, not through the router.
        index = self._indices[-1].with_searched(searched)
        self._indices = (self._indices[-1], index)
        return index

    def _release(self) -> None:
        if not getattr(self, "_steps", ((),)):
            self._derived.close()
        backward = getattr(self, "_backward", None)
        for solver in (None if backward is None else backward.solver, getattr(self, "solver", None)):
            if solver is not None:
                solver.close()

    def excluding(self, classes: str | Sequence[str]) -> Router:
        """Return a router on the same streets without those of some classes, such as motorways or toll roads.

        No route enters them, and no place is snapped to them. The router shares the streets, the preparation and the
        devices with this one, follows changes of its weights when it is asked for again, and is closed with it. This
        router keeps it for the next call with the same classes, and a few with other classes.

        Parameters
        ----------
        classes : str or sequence of str
            Names of classes, which the profile of the import gives to streets: `Streets.class_names`.

        Raises
        ------
        QueryError
            If the graph has no such class, or if no street would be left.
        """
        wanted = frozenset([classes] if isinstance(classes, str) else classes)
        return self._derive(("excluding", wanted), lambda index: index.excluding(_of_classes(index, wanted)))

    def avoiding(self, areas: Areas | None = None, *, lines: Areas | None = None) -> Router:
        """Return a router on the same streets that enters no area of some, as if they had been given as ``avoid``.

        The router shares the streets, the preparation and the devices with this one, follows changes of its weights
        when it is asked for again, and is closed with it. This router keeps it for the next call with the same areas,
        and a few others.

        Parameters
        ----------
        areas : str, Path, mapping or geometry, optional
            Areas, beside those that this router avoids; see the argument ``avoid`` of `Router`.
        lines : mapping or geometry, optional
            Lines that no route crosses, such as a closed border: a GeoJSON object, a shapely geometry or a
            GeoDataFrame, in degrees. They are strips of a metre.

        Raises
        ------
        QueryError
            If an area or a line is not valid, if there are neither, or if no street would be left.
        FormatError
            If a file with areas cannot be read.
        """
        parts = [read(given) for read, given in ((read_areas, areas), (read_lines, lines)) if given is not None]
        if not parts:
            raise QueryError("there is nothing to avoid; give areas or lines")
        area = parts[0] if len(parts) == 1 else parts[0].union(parts[1])
        return self._derive(("avoiding", area.normalize().wkb), lambda index: index.avoiding(area))

    def minimizing(self, metric: str) -> Router:
        """Return a router on the same streets whose routes minimize another metric.

        It shares the streets, the preparation and the devices with this router, follows changes of weights when it is
        asked for again, and is closed with this router, which keeps it for the next call with the same metric. Of a
        graph whose weights are durations, ``"duration"`` and ``"weight"`` are the same.

        Parameters
        ----------
        metric : str
            ``"duration"``, ``"distance"``, or ``"weight"`` for the weights of the graph.

        Returns
        -------
        Router
            This router, if it minimizes this metric.

        Raises
        ------
        QueryError
            If the metric is not known, or the graph has no durations, or no coordinates for distances.
        """
        choice(metric, "metric", TABLE_METRICS)
        given = self.graph
        has_seconds = given.streets is not None and given.streets.seconds is not None
        if metric == "duration" and not has_seconds and duration(given, 1) is None:
            raise QueryError("the graph knows no durations; give the metric 'weight' or 'distance'")
        own_metric = "distance" if self.metric == "distance" else "weight" if has_seconds else "duration"
        if metric == own_metric or (metric == "weight" and own_metric == "duration"):
            return self

        def measured(given: Graph) -> Graph:
            if metric == "distance":
                return measured_by(given, metric)
            return self._clocked(given) if metric == "duration" else given

        return self._derive(("minimizing", metric), measured=measured, metric=metric)

    def on_device(self, device: Devices, algorithm: str = DEFAULT_ALGORITHM, **parameters: Any) -> Router:
        """Return a router on the same streets whose searches run on another device, with the weights of this moment.

        It shares what was made of the streets with this router, but has weights of its own, and is closed by itself.
        In this way processes that are forked from one that has opened no device share the memory of the streets, and
        each opens the device.

        Parameters
        ----------
        device, algorithm, **parameters
            See `Router`.

        Raises
        ------
        QueryError, DeviceError
            As for `Router`.
        """
        with self.solver.holding():
            index = self.index
            timed = self._timed
        parameters.setdefault("distance_bits", BITS_32.bits)
        router = Router._over(index, solver_on(index.searched, algorithm, device, **parameters), self.metric, timed)
        router.solver.warm_up()
        return router

    @staticmethod
    def _over(index: StreetIndex, solver: Solver | SolverPool, metric: str, timed: Graph) -> Router:
        """Return a router over an index and a solver that searches its graph."""
        router = object.__new__(Router)
        Resource.__init__(router)
        router.solver, router.metric = solver, metric
        router._indices, router._timed, router._backward, router._clock = (index,), timed, None, None
        router._whole, router._derived, router._steps = None, Derived(_MOST_DERIVED), ()
        router._making_backward, router._deriving = threading.Lock(), threading.Lock()
        return router

    def _derive(
        self,
        step: Hashable,
        without: Callable[[StreetIndex], StreetIndex] | None = None,
        measured: Callable[[Graph], Graph] | None = None,
        metric: str | None = None,
    ) -> Router:
        """Return a router whose index is made of this one's, or whose graph is made of the given one.

        `step` is a name of what is done, for the next call.
        """
        key = (*self._steps, step)
        with self.solver.holding(), self._deriving:
            index = self.index
            # The metric of the given graph does not matter to what is measured.
            whole = index.graph if measured is None else self._given(index)
            router = self._derived.get(key)
            if router is None:
                found = index.measured_by(measured(whole)) if measured is not None else index
                found = found if without is None else without(found)
                # The metric of routes of a graph with other durations is "duration", too; see `Router.metric`.
                of_routes = self.metric if metric is None else "distance" if metric == "distance" else "duration"
                router = Router._over(found, self.solver.for_graph(found.searched), of_routes, self._timed)
                router._derived, router._steps = self._derived, key
            elif router._whole is not whole and metric != "distance":  # its weights have changed
                graph = whole if measured is None else measured(whole)
                router.change_weights(lambda _: (graph, None))
            router._whole = whole
            router._timed = self._timed if measured is None else whole
            self._derived.put(key, router)
        return router

    @contextmanager
    def _facing(self, reverse: bool) -> Iterator[Solver | SolverPool]:
        """Keep the weights as they are, and hand over the solver or, if `reverse`, one that searches backward."""
        with self.solver.holding():
            if not flag(reverse, "reverse"):
                yield self.solver
                return
            with self._making_backward:
                searched = self.solver.graph
                if self._backward is None:
                    graph, arcs = searched.reversed()
                    turned = replace(graph, hierarchy=searched.hierarchy)
                    self._backward = _Backward(self.solver.for_graph(turned), searched, arcs)
                elif self._backward.graph is not searched:  # its weights have changed
                    backward = self._backward
                    weights = searched.scaled.take(backward.arcs)
                    backward.solver.change_weights(lambda graph: (graph.reweighted(weights), None))
                    self._backward = backward._replace(graph=searched)
                found = self._backward.solver
            yield found

    @rescaled
    def route(
        self,
        origin: PlaceLike,
        destination: PlaceLike,
        *,
        via: PlacesLike = (),
        steps: bool = False,
        continue_straight: bool | None = None,
        waypoints: Sequence[int] | None = None,
        snapping: str = "default",
    ) -> Route:
        """Return the best route from one place to another.

        Each place is snapped to the nearest point on a street where the profile lets trips begin. If the street can
        only be reached, or only be left, a street within 200 m of the place that can be both is taken instead, unless
        the router has a ``small_component_size``. If the street lies on an island of the network, or leads nowhere, the
        nearest street that does not is taken instead; for a via point, the nearest street that can be both reached and
        left.

        Parameters
        ----------
        origin, destination : tuple of (float, float)
            Latitude and longitude in degrees.
        via : sequence of tuple of (float, float)
            Places to pass between origin and destination, in this order.
        steps : bool
            Whether to put instructions into `Route.steps`.
        continue_straight : bool, optional
            If true, the route passes a via point without turning round and obeys turn restrictions at it, unless no
            route goes on from there. If false, the route may turn round at it. The default is true if the graph knows
            of turns. In both cases the route is the best one through all via points together.
        waypoints : sequence of int, optional
            Numbers of the places at which legs begin and end, ascending: 0 is the origin, 1 the first via point, the
            last one the destination. The route passes the other via points within a leg. By default all places.
        snapping : str
            ``"any"``: also streets on which the profile lets no trip begin, such as ferries, may be snapped to.

        Raises
        ------
        QueryError
            If a place is not on the map, or in an area to avoid, or if the waypoints lack the first or the last place.
        NoStreetError
            If no street meets the conditions of a `Stop`.
        NoRouteError
            If no route leads there.
        """
        began, index = time.perf_counter(), self.index
        given = [origin, *pairs_of(via, "via"), destination]
        names = ["from", *[f"via point {number}" for number in range(1, len(given) - 1)], "to"]
        places = [checked_place(index, place, name) for place, name in zip(given, names, strict=True)]
        if snapping != "default":
            places = [with_snapping(place, snapping) for place in places]
        steps, ends_of_legs = flag(steps, "steps"), _waypoints(waypoints, len(places))
        straight = index.knows_turns if continue_straight is None else flag(continue_straight, "continue_straight")
        failed: int | None = None
        for snaps in candidates(index, places, names):
            with self.solver.holding():  # so that all legs and their phantom nodes have the weights of the searches
                index = self.index
                graph = self._clocked(self._given(index))
                leg_paths = find_leg_paths(self.solver, index, snaps, straight)
            if not isinstance(leg_paths, int):
                ends = list(zip(places, snaps, strict=True))
                return joined(legs_of(index, graph, ends, leg_paths, ends_of_legs, steps), self.solver, began)
            failed = leg_paths
        raise self._no_route(places, failed)

    @rescaled
    def routes(
        self,
        origins: PlacesLike,
        destinations: PlacesLike,
        *,
        via: Sequence[PlacesLike] | None = None,
        steps: bool = False,
        continue_straight: bool | None = None,
        snapping: str = "default",
        strict: bool = False,
        first_number: int = 0,
    ) -> Routes:
        """Return the best routes of many pairs of places, each as `route` finds it, in far less time.

        All pairs are snapped at once, and searched together: over a hierarchy by few submissions to a device, or by all
        cores.

        Parameters
        ----------
        origins, destinations : sequence of (float, float)
            Latitude and longitude in degrees, a destination for each origin.
        via : sequence of sequences of (float, float), optional
            For each pair the places to pass, perhaps none.
        steps : bool
            Whether to put instructions into `Route.steps`.
        continue_straight : bool, optional
            See `route`.
        snapping : str
            See `route`.
        strict : bool
            Whether a pair that no route joins is an error; otherwise it has no route.
        first_number : int
            Number of the first pair in errors, for some of more pairs.

        Returns
        -------
        Routes
            The routes, as a sequence and in arrays.

        Raises
        ------
        QueryError
            If a place is not on the map, or in an area to avoid; if there are no places, or not as many destinations as
            origins.
        NoStreetError
            If no street is near a place, or none meets the conditions of a `Stop`.
        NoRouteError
            If `strict`, and no route joins a pair.
        """
        began, index = time.perf_counter(), self.index
        steps, strict = flag(steps, "steps"), flag(strict, "strict")
        number = whole_number(first_number, "first_number", 0, 2**63 - 1)
        begin, end = (
            all_with_snapping(places_of_pairs(index, places, name, number), snapping)
            for places, name in zip((origins, destinations), PAIR_NAMES, strict=True)
        )
        if len(begin) != len(end):
            raise QueryError(f"there are {len(begin)} origins and {len(end)} destinations; give as many of both")
        vias = {} if via is None else listed_vias(index, via, len(begin), snapping, number)
        straight = index.knows_turns if continue_straight is None else flag(continue_straight, "continue_straight")
        nearest = first_points_of_pairs(index, begin, end, number)
        with self.solver.holding():
            index = self.index
            graph = self._clocked(self._given(index))
            paths, snaps, ends, failed = find_pairs(self.solver, index, (begin, end), nearest, vias, straight, number)
        found = Routes(self.solver, index, graph, (begin, end), snaps, paths, ends, steps, began)
        if strict and not found.has_route.all():
            row = int(np.argmin(found.has_route))
            passed = [begin[row], *vias.get(row, ()), end[row]]
            name = f"pair {number + row}"
            raise about(name, NoRouteError(f"{name}: {self._no_route(passed, failed.get(row))}"))
        return found

    @rescaled
    def alternatives(
        self,
        origin: PlaceLike,
        destination: PlaceLike,
        number: int = 2,
        *,
        max_stretch: float = MAX_STRETCH,
        max_sharing: float = MAX_SHARING,
        min_optimal: float = MIN_OPTIMAL,
        steps: bool = False,
        snapping: str = "default",
    ) -> list[Route]:
        """Return the best route from one place to another, and good routes that differ from it.

        The alternatives are paths over plateaus of two shortest-path trees, one from each place. They are admissible in
        the sense of Abraham, Delling, Goldberg and Werneck (2013). The first such call makes a second solver, which
        searches backward.

        Parameters
        ----------
        origin, destination : tuple of (float, float)
            Latitude and longitude in degrees.
        number : int
            Maximum number of alternatives beside the best route.
        max_stretch : float
            By which share an alternative may weigh more than the best route; so, too, the part of it that the best
            route does not share.
        max_sharing : float
            What the arcs that an alternative shares with the routes before it may weigh, as a share of the best route.
        min_optimal : float
            Parts of an alternative that weigh at most this share of the best route are shortest paths.
        steps : bool
            Whether to put instructions into `Route.steps`.
        snapping : str
            See `route`.

        Returns
        -------
        list of Route
            The best route, as `route` finds it, then the alternatives, the best ones first; there may be none.

        Raises
        ------
        QueryError
            If a place is not on the map, or in an area to avoid, or another argument is out of range.
        NoRouteError
            If no route leads there.
        """
        began, count = time.perf_counter(), whole_number(number, "number", 0, _MOST_ALTERNATIVES)
        bounds, steps = checked_bounds(max_stretch, max_sharing, min_optimal), flag(steps, "steps")
        index = self.index
        given = zip(pairs_of([origin, destination]), _ENDS, strict=True)
        places = [with_snapping(checked_place(index, place, name), snapping) for place, name in given]
        for snaps in candidates(index, places, _ENDS):
            with self._facing(True) as behind:
                index = self.index
                graph, backward = self._clocked(self._given(index)), self._backward
                assert backward is not None
                best = find_leg_paths(self.solver, index, snaps, False)
                if isinstance(best, int):
                    continue
                others = find_alternatives(self.solver, (behind, backward.arcs), index, snaps, best[0], count, bounds)
            ends = list(zip(places, snaps, strict=True))
            legs = [
                leg_of(index, graph, ends[0], ends[1], path, (1, True) if steps else None) for path in [*best, *others]
            ]
            return [joined([leg], self.solver, began) for leg in legs]
        raise self._no_route(places)

    def _no_route(self, places: Sequence[LatLon], failed: int | None = None) -> NoRouteError:
        """Return the error for places that no route joins; the leg without a path may be known, the first one is 0."""
        if failed is None:
            failed = leg_apart(self.index, places) if len(places) > 2 else 0
        avoided = self.index.avoided
        between = "" if avoided is None or not avoided.has_areas else ", or an area to avoid lies between them"
        between += "" if avoided is None or avoided.excluded is None else ", or excluded streets lie between them"
        return NoRouteError(
            f"no route leads from {text(places[failed])} to {text(places[failed + 1])}; the two may lie on separate "
            f"islands, or a one-way street leads out of the map{between}"
        )

    def trip(
        self,
        places: PlacesLike,
        *,
        source: str = "any",
        destination: str = "any",
        roundtrip: bool = True,
        steps: bool = False,
        snapping: str = "default",
    ) -> Trip:
        """Return a short trip through places, in an order that is chosen for it.

        The order of up to 12 places (11 without the way back) is the best one; that of more places is a good one, made
        by farthest insertion and improved by moving parts of the trip.

        Parameters
        ----------
        places : sequence of (float, float)
            Latitude and longitude in degrees, two or more.
        source : str
            ``"first"`` if the trip begins at the first place, ``"any"`` if at any.
        destination : str
            ``"last"`` if the last place is the last one visited, ``"any"`` if any may be.
        roundtrip : bool
            Whether the trip returns to where it began.
        steps : bool
            Whether to put instructions into `Route.steps`.
        snapping : str
            See `route`.

        Returns
        -------
        Trip
            The route, and the order of the places.

        Raises
        ------
        QueryError
            If a place is not on the map, or in an area to avoid; if there are fewer than two places; or if `source` or
            `destination` is not known.
        NoRouteError
            If no trip visits all places.
        MemoryShortageError
            If the table between all places does not fit into memory.
        """
        choice(source, "source", SOURCES)
        choice(destination, "destination", DESTINATIONS)
        roundtrip, steps, given = flag(roundtrip, "roundtrip"), flag(steps, "steps"), pairs_of(places, "places")
        if len(given) < 2:
            raise QueryError(f"places has {len(given)} of them; give two or more")
        require_room(len(given))
        weight = self.table(given, metrics="weight", snapping=snapping).read()["weight"]
        cost = weight.astype(np.float64)
        if weight.dtype.kind == "u":
            cost[weight == UNREACHABLE] = np.inf
        order, is_best = order_of_trip(cost, source, destination, roundtrip)
        stops = [given[number] for number in order.tolist()]
        if roundtrip:
            stops.append(stops[0])
        route = self.route(
            stops[0], stops[-1], via=stops[1:-1], steps=steps, continue_straight=False, snapping=snapping
        )
        return Trip(route, order, is_best)

    def match(
        self,
        trace: PlacesLike,
        timestamps: npt.ArrayLike | None = None,
        radiuses: float | Sequence[float | None] | None = None,
        *,
        gaps: str = "split",
        tidy: bool = False,
        bearings: Sequence[tuple[float, float] | None] | None = None,
        waypoints: Sequence[int] | None = None,
        max_speed_kmh: float = MAX_SPEED_KMH,
        steps: bool = False,
        snapping: str = "any",
    ) -> Matching:
        """Return the routes that a vehicle most probably took, given inaccurate positions along its way.

        A position is matched to a street within three times its radius, by a hidden Markov model (Newson and Krumm
        2009). Where no plausible route leads from a position to the next one, both are left out, or the trace is split.
        One call of compiled code on the CPU makes all searches.

        Parameters
        ----------
        trace : sequence of (float, float)
            Latitude and longitude of the positions in degrees, two or more, in the order of travel. Of a `Stop`, the
            conditions hold for all streets on which the vehicle may have been; that of a hint is then the only one.
        timestamps : array_like, optional
            Time of each position in seconds, such as Unix time, shape (k,). With times, a route whose detour takes more
            than `max_speed_kmh` is not plausible; without them, one whose detour is 2 km or longer.
        radiuses : float or sequence of float, optional
            Standard deviation of the positions in metres, one for all or one for each; 5 by default, and for None.
        gaps : str
            ``"split"`` to split the trace where the time to the next position is more than ten times the median, or
            more than ten positions were left out; ``"ignore"`` not to do so.
        tidy : bool
            Whether to leave out positions less than 15 m or 5 s after the one before.
        bearings : sequence of (float, float), optional
            For each position the direction of travel, clockwise from north, and by how much a street may differ from
            it, in degrees; None for any direction.
        waypoints : sequence of int, optional
            Numbers of the positions that legs join, from 0, in ascending order, the first and the last among them; by
            default all positions. The trace is then matched as a whole.
        max_speed_kmh : float
            Greatest plausible speed in km/h.
        steps : bool
            Whether to put instructions into `Route.steps`.
        snapping : str
            ``"any"``: the vehicle may have been on all streets, also on those on which the profile lets no trip begin,
            such as ferries and private drives; ``"default"``: not on these.

        Returns
        -------
        Matching
            A route for each part of the trace, how certain it is, and where the vehicle was at each position.

        Raises
        ------
        QueryError
            If a position is not on the map, or in an area to avoid; if there are fewer than two of them; or if another
            argument is not valid.
        NoRouteError
            If no part of the trace could be matched, or not all waypoints in one part.
        """
        began, index = time.perf_counter(), self.index
        choice(gaps, "gaps", GAPS)
        tidy, steps, speed = flag(tidy, "tidy"), flag(steps, "steps"), number_of(max_speed_kmh)
        if speed is None or not 0 < speed <= 1000:
            raise QueryError(f"max_speed_kmh is {shown(max_speed_kmh)}; give km/h, above 0 and up to 1000")
        checked = checked_trace(index, trace, timestamps, radiuses, bearings, waypoints, tidy, snapping)
        with self.solver.holding():
            index = self.index
            return match_trace(
                self.solver, index, self._clocked(self._given(index)), checked, gaps, speed, steps, began
            )

    def nearest(self, place: PlaceLike, number: int = 1, *, snapping: str = "default") -> list[Place]:
        """Return the points on streets that are nearest to a place, one for each street.

        Parameters
        ----------
        place : tuple of (float, float)
            Latitude and longitude in degrees.
        number : int
            Maximum number of points.
        snapping : str
            See `route`.

        Returns
        -------
        list of Place
            The nearest first; fewer than `number` if there are no more within 20 km. Streets on which the profile lets
            no trip begin are left out.

        Raises
        ------
        QueryError
            If the place is not on the map, or the number is less than 1.
        NoStreetError
            If no street is near, or none meets the conditions of a `Stop`.
        """
        return nearest_places(self.index, place, number, snapping)

    def nearest_of_each(self, places: PlacesLike, *, snapping: str = "default", together: bool = False) -> list[Place]:
        """Return the point on a street that is nearest to each of some places, as `nearest` does, in less time.

        Parameters
        ----------
        places : sequence of (float, float)
            Latitude and longitude in degrees.
        snapping : str
            See `route`.
        together : bool
            Whether the places are those of one route or table: the result is then the points that it tries first. They
            are not the nearest ones where `route` or a ``small_component_size`` says so.

        Raises
        ------
        QueryError
            If a place is not on the map, or there are no places.
        NoStreetError
            If no street is near a place, or none meets the conditions of a `Stop`.
        """
        index = self.index
        checked = [with_snapping(place, snapping) for place in listed_places(index, places, "place")]
        if flag(together, "together"):
            return first_places(index, checked)
        return nearest_place_of_each(index, checked)

    def nearest_nodes(self, places: PlacesLike, *, arriving: bool = False) -> npt.NDArray[Any]:
        """Return a node for each place, such as the centre of a zone, as a source or target of `Solver.flows`.

        Each place is snapped as for `accessibility`. Its node is the end of the street there that a trip reaches first.
        In a graph with turns several nodes are at one junction, and a trip may not begin at all of them: so sources and
        targets at one place may be different nodes.

        Parameters
        ----------
        places : sequence of (float, float)
            Latitude and longitude in degrees.
        arriving : bool
            Whether trips end at the places: nodes for targets, not for sources.

        Returns
        -------
        numpy.ndarray
            Node ids, shape (k,), uint32, or names.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road.
        """
        with self.solver.holding():
            index = self.index
        return nearest_nodes(index, places, arriving)

    @rescaled
    def isochrones(
        self,
        origin: PlaceLike,
        limits: float | Sequence[float],
        width_m: float = DEFAULT_WIDTH_M,
        *,
        reverse: bool = False,
    ) -> list[Isochrone]:
        """Return the isochrones of a place for some limits, all from one search.

        The place is snapped as for a route, to a street from which the network can be reached or, if `reverse`, which
        can be reached from the network.

        Parameters
        ----------
        origin : tuple of (float, float)
            Latitude and longitude in degrees.
        limits : float or sequence of float
            Limits in seconds, in metres if the metric is ``"distance"``, or in weights if the graph's weights are no
            durations. Each is more than 0; any order.
        width_m : float
            Metres to either side of a road that an isochrone covers, from 1 to 10,000.
        reverse : bool
            Whether trips to the place count, not those from it: who can reach it. One-way streets and turn
            restrictions hold for these trips. The first such call makes a second solver, which searches backward.

        Returns
        -------
        list of Isochrone
            One for each limit, in ascending order.

        Raises
        ------
        QueryError
            If the place is not on the map or in an area to avoid; if there is no limit, or a limit is not more than 0
            or exceeds 32 bits; if the width is out of bounds; or if streets cross each other too often for an area.
        """
        names = ["to" if reverse else "from"]
        with self._facing(reverse) as solver:
            args = (solver, self.index, self.metric, [origin], names, limits, width_m, reverse)
            (found,) = isochrones_around(*args)
        return found

    def isochrones_of_each(
        self,
        origins: PlacesLike,
        limits: float | Sequence[float],
        width_m: float = DEFAULT_WIDTH_M,
        *,
        reverse: bool = False,
        first_number: int = 0,
    ) -> Iterator[list[Isochrone]]:
        """Return the isochrones of each of many places; with ``block_resident`` many searches run at once.

        Parameters
        ----------
        origins : sequence of (float, float)
            Latitude and longitude in degrees.
        limits, width_m, reverse
            As for `isochrones`.
        first_number : int
            Number of the first place in errors, for some of more places.

        Returns
        -------
        iterator of list of Isochrone
            For each place one isochrone for each limit, in ascending order. They are made during iteration; weights
            must not change meanwhile.

        Raises
        ------
        QueryError
            As for `isochrones`; messages call the place ``places[i]``. During iteration, if weights have changed.
        """
        places = pairs_of(origins, "origins")
        first_place = whole_number(first_number, "first_number", 0, 2**63 - 1)
        names = [f"places[{first_place + row}]" for row in range(len(places))]
        if not names:
            raise QueryError("there are no places; give at least one")

        def made() -> Iterator[list[Isochrone]]:
            with self._facing(reverse) as solver:
                return isochrones_around(solver, self.index, self.metric, places, names, limits, width_m, reverse)

        graph, first = self.graph, made()
        return first if graph.scale is None else restarting(self, graph, lambda now: first if now is graph else made())

    @rescaled
    def service_areas(self, sources: PlacesLike, limit: float | None = None, *, reverse: bool = False) -> ServiceAreas:
        """Return the service areas of some places: the nodes and the parts of streets to which each is the nearest.

        One search finds all of them.

        Places are snapped as for isochrones. Paths lead from the places or, if `reverse`, to them. Of several equally
        near places the first is taken.

        Parameters
        ----------
        sources : sequence of (float, float)
            Latitude and longitude in degrees, any number of them.
        limit : float, optional
            Limit in seconds, in metres if the metric is ``"distance"``, or in weights if the graph's weights are no
            durations. Nodes and parts of streets that are farther from all places belong to none.
        reverse : bool
            Whether paths to the places count, not those from them, such as to the nearest hospital.

        Returns
        -------
        ServiceAreas
            The result by node in `ServiceAreas.source` and `ServiceAreas.values`; the streets as GeoJSON by
            `ServiceAreas.geojson`; files by `ServiceAreas.write`.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road; if there are no places; or if the
            limit is not more than 0 or exceeds 32 bits.
        DistanceOverflowError
            If a distance does not fit into 32 bits, and there is no limit.
        """
        with self._facing(reverse) as solver:
            index = self.index
            unit = unit_of(index.graph, self.metric)
            most = UNREACHABLE if limit is None else unit.search_limit(unit.limits([limit], "limit")[0])
            return find_service_areas(solver, index, unit, sources, most, reverse)

    assign = FormerName("service_areas")

    def table(
        self,
        sources: PlacesLike,
        targets: PlacesLike | None = None,
        metrics: str | Sequence[str] | None = None,
        *,
        reverse: bool = False,
        snapping: str = "default",
    ) -> PlaceTable:
        """Return a table from each source to each target, with the values of the routes between them.

        Parameters
        ----------
        sources, targets : sequence of (float, float)
            Latitude and longitude in degrees; by default the targets are the sources.
        metrics : str or sequence of str, optional
            ``"duration"`` in seconds and ``"distance"`` in metres, both along the path that `route` returns;
            ``"weight"``, in the weights of the router's metric. By default the router's metric: durations, or weights
            if the graph's weights are no durations; or distances.
        reverse : bool
            Whether the values are of routes from each target to each source, such as from thousands of homes to a few
            hospitals. A row is still of a source, and takes one search. If several routes are the best of a pair, a
            metric that is not minimized may be that of another one than `route` returns.
        snapping : str
            See `route`.

        Returns
        -------
        PlaceTable
            Its rows are made during iteration, or all at once by its `read`. Each row takes one search.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road; if there are no places; or if a
            metric is not known. While rows are made, if the weights of the router's metric have changed.
        """
        with self._facing(reverse) as solver:
            graph = self.graph
            timed = self._clocked(graph)
            default = None if timed is graph else "weight"  # what searches minimize
            wanted = checked_metrics(timed, default if metrics is None else metrics, self.metric)
            arcs = self._backward.arcs if reverse and self._backward is not None else None
            found = table_of_places(solver, self.index, timed, wanted, sources, targets, arcs, snapping)

        def again() -> PlaceTable:
            return self.table(sources, targets, wanted, reverse=reverse, snapping=snapping)

        return found.rescaled(self, graph, again)

    @rescaled
    def accessibility(
        self,
        origins: PlacesLike | None,
        opportunities: PlacesLike,
        weights: npt.ArrayLike | None = None,
        *,
        limits: float | Sequence[float] | None = None,
        decays: Decay | Sequence[Decay] | None = None,
        reverse: bool = False,
    ) -> npt.NDArray[Any]:
        """Return how much can be reached from places, such as the jobs within half an hour.

        Places are snapped as for isochrones: origins to streets from which the network can be reached, opportunities to
        streets that can be reached from it. The sums are exact; see `Solver.accessibility`.

        Parameters
        ----------
        origins : sequence of (float, float), optional
            Latitude and longitude in degrees; None for all nodes of the graph. Those of a grid or of
            hexagons are `Cells.places`; see `grid` and `hexagons`.
        opportunities : sequence of (float, float)
            Latitude and longitude in degrees of what is to be reached.
        weights : array_like, optional
            Finite numbers, one for each opportunity, shape (k,), or several, shape (k, c), such as the jobs of each
            kind; by default 1, so that opportunities are counted.
        limits : float or sequence of float, optional
            Limits in seconds, in metres if the metric is ``"distance"``, or in weights if the graph's weights are no
            durations; each sum is of the opportunities at most as far as that.
        decays : Decay or sequence of Decay, optional
            Decays with distance, in the unit of limits; each sum is of the weights of all opportunities, times the
            decay for their distances.
        reverse : bool
            Whether trips from the opportunities count, not those to them: who can reach an origin.

        Returns
        -------
        numpy.ndarray
            Shape (origins, l, c): a sum for each origin, each limit and then each decay, and each column of weights.
            Without the last axis if `weights` has no columns, and without the one before it if `limits` is a single
            number and there are no decays. int64 if weights are integers and there are no decays, or else float64.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road, or if another argument is invalid.
        DistanceOverflowError
            If a shortest distance that counts does not fit into 32 bits.
        MemoryShortageError
            If the sums do not fit into memory.
        """
        with self.solver.holding():
            index = self.index
        unit = unit_of(index.graph, self.metric)
        with OpportunitySums(self.solver, index, unit, opportunities, weights, limits, decays, reverse) as sums:
            return sums.of_nodes() if origins is None else sums.of(origins)

    @rescaled
    def nearest_opportunities(
        self,
        origins: PlacesLike | None,
        opportunities: PlacesLike,
        count: int = 1,
        *,
        limit: float | None = None,
        reverse: bool = False,
    ) -> NearestOpportunities:
        """Return the opportunities that are nearest to each of some places, such as the three nearest hospitals.

        One search on the CPU finds all of them. Places are snapped as for `accessibility`.

        Parameters
        ----------
        origins : sequence of (float, float), optional
            Latitude and longitude in degrees; None for all nodes of the graph.
        opportunities : sequence of (float, float)
            Latitude and longitude in degrees.
        count : int
            Number of opportunities for each origin.
        limit : float, optional
            Limit in seconds, in metres if the metric is ``"distance"``, or in weights if the graph's weights are no
            durations.
        reverse : bool
            Whether trips from the opportunities count, not those to them: which fire station is here first.

        Returns
        -------
        NearestOpportunities
            Their numbers, and the values of the paths.

        Raises
        ------
        QueryError
            If a place is not on the map, in an area to avoid or far from any road, or if the count or the limit is out
            of range.
        DistanceOverflowError
            If the distance of one of them does not fit into 32 bits, and there is no limit.
        MemoryShortageError
            If the result does not fit into memory.
        """
        with self.solver.holding():
            index = self.index
        unit = unit_of(index.graph, self.metric)
        search = NearestSearch(index, unit, opportunities, count, limit, reverse)
        return search.of_nodes() if origins is None else search.of(origins)

    def grid(self, metres: float) -> Cells:
        """Return the squares of a grid over the map that have streets in them, as origins of `accessibility`.

        The grid is the same for all maps: rows of squares from the South Pole on, each beginning at the 180th meridian.

        Parameters
        ----------
        metres : float
            Width of the squares, 10 to 500,000; it is changed by less than a part so that they go round the Earth.

        Returns
        -------
        Cells
            For each square a place on a street, in `Cells.places`.

        Raises
        ------
        QueryError
            If the width is out of range.
        MemoryShortageError
            If there would be too many squares for the memory.
        """
        return grid(self.index, metres)

    def hexagons(self, resolution: int) -> Cells:
        """Return the hexagons of H3 that have streets in them, as origins of `accessibility`.

        H3 (https://h3geo.org) is a grid of hexagons over the Earth whose names other data have, too.

        Parameters
        ----------
        resolution : int
            Resolution of H3, 0 to 15: at 7 hexagons have sides of 1.4 km, at 8 of 530 m, at 9 of 200 m.

        Returns
        -------
        Cells
            For each hexagon a place on a street, in `Cells.places`.

        Raises
        ------
        QueryError
            If the resolution is out of range, or h3 is not installed.
        MemoryShortageError
            If there would be too many hexagons for the memory.
        """
        return hexagons(self.index, resolution)

    def set_weights(self, weights: npt.ArrayLike, arcs: npt.ArrayLike | None = None) -> None:
        """Change the weights of all arcs, or of some, from the next query on; see `Solver.set_weights`.

        Arcs are those of `graph`. Streets that areas close stay closed. If the metric is ``"distance"``, the routes
        stay the same and only their durations change.
        """
        if self.metric == "distance":
            with self.solver.holding():
                self._timed, _ = changed_weights(self._timed, weights, arcs)
            return

        self.change_weights(lambda graph: changed_weights(graph, weights, arcs))

    def change_weights(self, change: WeightsChange) -> None:
        """Change the weights of the metric by a function of the whole graph, as soon as no search runs."""

        def searched(_: Graph) -> tuple[Graph, npt.NDArray[np.int64] | None]:
            old = self.index
            graph, changed = change(old.graph)
            new = old.with_graph(graph)
            self._indices = (old, new)
            if changed is not None and new.avoided is not None:
                changed = new.avoided.searched_ids(changed)
            return new.searched, changed

        self.solver.change_weights(searched)

    def set_speeds(self, speeds: Mapping[int, float]) -> Change:
        """Change the speeds of OSM ways, in both directions, from the next query on.

        Turns and gates take as long as before. Speeds hold until other speeds are set for the same ways, or weights
        are set: `set_weights` with the weights of the graph that the router was made of restores the first speeds.

        Parameters
        ----------
        speeds : mapping of int to float
            Speed in km/h for each OSM way id, from 0.01 to 1000. Ways that the graph does not have are counted and
            skipped.

        Returns
        -------
        Change
            The number of changed arcs, including arcs in areas to avoid, and the number of unknown ways.

        Raises
        ------
        QueryError
            If a speed is out of range, if the graph has none of the ways, or if its weights are no durations.
        """
        arcs, weights, change = speed_weights(self.graph, speeds)
        self.set_weights(weights, arcs)
        return change


def _waypoints(waypoints: Sequence[int] | None, count: int) -> list[int]:
    """Return the numbers of the places, of which there are `count`, at which legs begin and end."""
    if waypoints is None:
        return list(range(count))
    numbers: list[int] = whole_numbers(waypoints, "waypoints", "numbers of places", count, error=QueryError).tolist()
    if numbers != sorted(set(numbers)) or numbers[:1] != [0] or numbers[-1] != count - 1:
        raise QueryError(f"waypoints are {numbers}; give ascending numbers from 0 to {count - 1}, both included")
    return numbers


def _of_classes(index: StreetIndex, classes: frozenset[str]) -> npt.NDArray[np.bool_]:
    """Return the mask of the polylines with an arc of one of some classes."""
    streets = index.graph.streets
    names, of_arc = ((), None) if streets is None else (streets.class_names, streets.classes)
    unknown = sorted(name for name in classes if of_arc is None or name not in names)
    if unknown or not classes:
        told = f"it has {', '.join(names)}" if names and of_arc is not None else "it has none"
        raise QueryError(f"the graph has no class {shown(unknown[0]) if unknown else 'to exclude'}; {told}")
    found = np.zeros(index.num_polylines, np.bool_)
    if of_arc is not None:
        mask = sum(1 << names.index(name) for name in classes)
        found[index.polyline_of[(of_arc & np.uint32(mask)) != 0]] = True
    return found
