#!/usr/bin/env python3
"""Times of routes: of the parts of one, and of many at once beside the same ones after the other.

  scripts/time_routes.py iceland.graph                                  the parts of a route
  scripts/time_routes.py iceland.graph --device 0 --algorithm phast --together 100

The parts are those apart from the search: places, path of the legs, points, steps, and the text of it. Routes at once
are compared with those that are found one after the other: their arcs, figures and points. Their parts are the checks
of places with snapping, phantom nodes and what else comes before and after the search, the search with unpacking,
lengths with durations, and points. The places are random nodes, moved by some 50 m.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from vkssp import NoRouteError, Route, Router, read_graph
from vkssp.routing.geojson import route_json
from vkssp.routing.routes import find_pairs
from vkssp.terminal import print_lines

#: Parts of routes at once.
PARTS_AT_ONCE = ("places, and snapping", "phantom nodes, and paths", "search, and unpacking", "lengths", "points")
PARTS = ("search", "route, without the search", "points", "steps", "text, without steps", "text, with steps")


class TimedSolver:
    """A solver that adds up the seconds of its searches for paths."""

    def __init__(self, solver: Any) -> None:
        self._solver, self.seconds = solver, 0.0

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the solver."""
        return getattr(self._solver, name)

    def search_path(self, *ends: Any) -> Any:
        """Search, and count the time."""
        return self._timed(self._solver.search_path, *ends)

    def search_paths(self, *ends: Any) -> Any:
        """Search for many paths, and count the time."""
        return self._timed(self._solver.search_paths, *ends)

    def _timed(self, search: Callable[..., Any], *ends: Any) -> Any:
        began = time.perf_counter()
        try:
            return search(*ends)
        finally:
            self.seconds += time.perf_counter() - began


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds that a call takes, and its result."""
    began = time.perf_counter()
    found = function()
    return 1e3 * (time.perf_counter() - began), found


def measure(router: Router, solver: TimedSolver, origin: Any, destination: Any) -> list[float]:
    """Return the milliseconds of each part of one route."""
    solver.seconds = 0.0
    whole, route = timed(lambda: router.route(origin, destination))
    search = 1e3 * solver.seconds
    points, _ = timed(lambda: route.points)
    with_steps = router.route(origin, destination, steps=True)
    _ = with_steps.points
    steps, _ = timed(lambda: with_steps.steps)
    texts = [timed(lambda kind=kind: route_json(kind))[0] for kind in (route, with_steps)]  # type: ignore[misc]
    return [search, whole - search, points, steps, *texts]


def one_by_one(router: Router, pairs: Any) -> list[Route | None]:
    """Return the routes of pairs, found one after the other, with their points."""
    found: list[Route | None] = []
    for pair in pairs:
        try:
            found.append(router.route(*pair))
            _ = found[-1].points  # type: ignore[union-attr]
        except NoRouteError:
            found.append(None)
    return found


def at_once(router: Router, pairs: Any) -> Any:
    """Return the routes of pairs, found together, with their lengths, durations and points."""
    routes = router.routes(pairs[:, 0], pairs[:, 1])
    _ = routes.distance_m, routes.duration_s, routes.points
    return routes


def parts_at_once(router: Router, pairs: Any, repetitions: int) -> list[str]:
    """Return the milliseconds of the parts of routes at once, medians."""
    router.solver = solver = TimedSolver(router.solver)  # type: ignore[assignment]
    seconds, find = 0.0, find_pairs

    def timed_find(*given: Any) -> Any:
        nonlocal seconds
        began = time.perf_counter()
        found = find(*given)
        seconds += time.perf_counter() - began
        return found

    rows = []
    with patch("vkssp.routing.router.find_pairs", timed_find):
        for _ in range(repetitions):
            solver.seconds = seconds = 0.0
            whole, routes = timed(lambda: router.routes(pairs[:, 0], pairs[:, 1]))
            lengths, _ = timed(lambda routes=routes: (routes.distance_m, routes.duration_s))  # type: ignore[misc]
            points, _ = timed(lambda routes=routes: routes.points)  # type: ignore[misc]
            search, paths = 1e3 * solver.seconds, 1e3 * seconds
            rows.append((whole - paths, paths - search, search, lengths, points))
    return [f"{part:28} {half:8.3f}" for part, half in zip(PARTS_AT_ONCE, np.median(rows, axis=0), strict=True)]


def compare(router: Router, pairs: Any, repetitions: int) -> list[str]:
    """Return the times of routes at once and one after the other, in turn, once the answers are known to be equal."""
    alone, together = one_by_one(router, pairs), at_once(router, pairs)
    points, first = together.points
    for number, (one, route) in enumerate(zip(alone, together, strict=True)):
        along = points[first[number] : first[number + 1]]
        is_same = (one is None) == (route is None)
        if one is not None and route is not None:
            figures = ((of.weight, of.distance_m, of.duration_s) for of in (one, route))
            is_same = len(set(figures)) == 1 and np.array_equal(one.arcs, route.arcs)
            is_same &= np.array_equal(one.points, along) and one.distance_m == together.distance_m[number]
        if not is_same:
            raise SystemExit(f"wrong route of pair {number}")
    rows = []
    for name, find in (("one by one", one_by_one), ("at once", at_once)):
        rows.append((name, find, list[tuple[float, float]]()))
    for _ in range(repetitions):
        for _, find, times in rows:
            began, of_process = time.perf_counter(), time.process_time()
            find(router, pairs)
            times.append((1e3 * (time.perf_counter() - began), 1e3 * (time.process_time() - of_process)))
    routed = int(together.has_route.sum())
    lines = [
        f"{len(alone)} pairs, {routed} with a route, all of them equal; milliseconds in all: median, processor time"
    ]
    lines += ["{:28} {:8.3f} {:8.3f}".format(name, *np.median(times, axis=0)) for name, _, times in rows]
    return [*lines, "of those at once:", *parts_at_once(router, pairs, repetitions)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="a graph with streets, or an extract")
    parser.add_argument("--bounds", metavar="S,W,N,E", help="take places within these degrees only")
    parser.add_argument("--routes", type=int, default=200, metavar="N", help="number of routes (default: 200)")
    parser.add_argument("--together", type=int, default=0, metavar="N", help="find N routes at once, and one by one")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="runs of each, the best counts")
    parser.add_argument("--algorithm", default="dijkstra", help="algorithm of the searches (default: dijkstra)")
    parser.add_argument("--device", default="cpu", help="device of the searches (default: cpu)")
    args = parser.parse_args()
    graph = read_graph(args.graph)
    nodes = np.stack([graph.lat, graph.lon], axis=1)
    if args.bounds:
        south, west, north, east = map(float, args.bounds.split(","))
        nodes = nodes[((nodes >= (south, west)) & (nodes <= (north, east))).all(axis=1)]
    rng, count = np.random.default_rng(1), args.together or args.routes
    places = rng.choice(nodes, (count, 2)) + rng.normal(0, 5e-4, (count, 2, 2))
    milliseconds = []
    with Router(graph, args.algorithm, args.device) as router:
        if args.together:
            print_lines(compare(router, places, args.repetitions))
            return 0
        router.solver = solver = TimedSolver(router.solver)  # type: ignore[assignment]
        for ends in places.tolist():
            try:
                runs = [measure(router, solver, *ends) for _ in range(args.repetitions)]
            except NoRouteError:
                continue
            milliseconds.append(np.min(runs, axis=0))
    figures = np.percentile(milliseconds, [50, 90], axis=0).T
    print_lines([f"{len(milliseconds)} routes, milliseconds: median, 90th percentile"])
    print_lines([f"{part:28} {half:8.3f} {most:8.3f}" for part, (half, most) in zip(PARTS, figures, strict=True)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
