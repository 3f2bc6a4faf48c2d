#!/usr/bin/env python3
"""Times of the parts of a route apart from the search: places, path of the legs, points, steps, and the text of it.

The places are random nodes, moved by some 50 m. docs/performance-log.md has figures for Iceland.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vkssp import NoRouteError, Router, read_graph
from vkssp.routing.geojson import route_json
from vkssp.terminal import print_lines

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
        began = time.perf_counter()
        try:
            return self._solver.search_path(*ends)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="a graph with streets, or an extract")
    parser.add_argument("--bounds", metavar="S,W,N,E", help="take places within these degrees only")
    parser.add_argument("--routes", type=int, default=200, metavar="N", help="number of routes (default: 200)")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="runs of each, the best counts")
    parser.add_argument("--algorithm", default="dijkstra", help="algorithm of the searches (default: dijkstra)")
    parser.add_argument("--device", default="cpu", help="device of the searches (default: cpu)")
    args = parser.parse_args()
    graph = read_graph(args.graph)
    nodes = np.stack([graph.lat, graph.lon], axis=1)
    if args.bounds:
        south, west, north, east = map(float, args.bounds.split(","))
        nodes = nodes[((nodes >= (south, west)) & (nodes <= (north, east))).all(axis=1)]
    rng = np.random.default_rng(1)
    places = rng.choice(nodes, (args.routes, 2)) + rng.normal(0, 5e-4, (args.routes, 2, 2))
    milliseconds = []
    with Router(graph, args.algorithm, args.device) as router:
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
