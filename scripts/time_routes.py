#!/usr/bin/env python3
"""Times of routes: of the parts of one, and of many at once beside the same ones after the other.

  scripts/time_routes.py iceland.graph                                  the parts of a route
  scripts/time_routes.py iceland.graph --device 0 --algorithm phast --together 100

The parts are those apart from the search: places, path of the legs, points, steps, and the text of it. Of the
--repetitions of each part the fastest counts; the table has the medians and the 90th percentiles of all routes.

Routes at once are compared with those that are found one after the other: their arcs, figures and points. Then they are
timed alone, with nothing but other calls of their kind between, after --warm-up seconds of them; their parts are the
checks of places with snapping, phantom nodes and what else comes before and after the search, the search with
unpacking, lengths with durations, and points. At last they take turns with routes one by one, which leave other data in
the caches. Medians and quartiles of the repetitions count. The places are random nodes, moved by some 50 m.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from vkssp import Graph, NoRouteError, QueryError, Route, Router, read_graph
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import save_result
from vkssp.files import check_writable
from vkssp.options import file_name
from vkssp.routing.geojson import route_json
from vkssp.routing.routes import find_pairs
from vkssp.terminal import print_lines

#: Parts of routes at once.
PARTS_AT_ONCE = ("places, and snapping", "phantom nodes, and paths", "search, and unpacking", "lengths", "points")
#: Routes at once with nothing between: their name in tables, and how many runs of them count at least.
ALONE, FEWEST_ALONE = "at once, nothing between", 30
PARTS = ("search", "route, without the search", "points", "steps", "text, without steps", "text, with steps")

Row = dict[str, Any]


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


def parts_at_once(router: Router, pairs: Any, repetitions: int, warm_up_s: float) -> list[Row]:
    """Return the milliseconds of routes at once and of their parts, with nothing else between."""
    solver, seconds, find = TimedSolver(router.solver), 0.0, find_pairs

    def timed_find(*given: Any) -> Any:
        nonlocal seconds
        began = time.perf_counter()
        found = find(*given)
        seconds += time.perf_counter() - began
        return found

    found, processor, awake = list[tuple[float, ...]](), list[float](), time.perf_counter() + warm_up_s
    timing = patch("vkssp.routing.router.find_pairs", timed_find)
    with timing, patch.object(router, "solver", solver):
        while time.perf_counter() < awake:
            at_once(router, pairs)
        for _ in range(repetitions):
            solver.seconds, seconds, of_process = 0.0, 0.0, time.process_time()
            whole, routes = timed(lambda: router.routes(pairs[:, 0], pairs[:, 1]))
            lengths, _ = timed(lambda routes=routes: (routes.distance_m, routes.duration_s))  # type: ignore[misc]
            points, _ = timed(lambda routes=routes: routes.points)  # type: ignore[misc]
            search, paths = 1e3 * solver.seconds, 1e3 * seconds
            parts = whole - paths, paths - search, search, lengths, points
            processor.append(1e3 * (time.process_time() - of_process))
            found.append((sum(parts), *parts))
    whole_ms, *of_parts = zip(*found, strict=True)
    parts_ms = zip(PARTS_AT_ONCE, of_parts, strict=True)
    return [row(ALONE, whole_ms, processor), *(row(f"  {name}", times) for name, times in parts_ms)]


def row(name: str, times: Sequence[float], processor: Sequence[float] = ()) -> Row:
    """Return the median of some milliseconds and their quartiles, and the median of the processor's milliseconds."""
    found = {"name": name, "call_ms": [float(np.quantile(times, part)) for part in (0.5, 0.25, 0.75)]}
    return found | ({"processor_ms": float(np.median(processor))} if processor else {})


def compare(router: Router, pairs: Any, args: argparse.Namespace) -> dict[str, Any]:
    """Return the times of routes at once, alone and in turn with single ones, once all are known to be equal."""
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
    rows = parts_at_once(router, pairs, max(args.repetitions, FEWEST_ALONE), args.warm_up)
    in_turn = {"one by one, in turn": one_by_one, "at once, in turn": at_once}
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in in_turn}
    for _ in range(args.repetitions):
        for name, find in in_turn.items():
            of_process, (by_clock, processor) = time.process_time(), times[name]
            by_clock.append(timed(lambda find=find: find(router, pairs))[0])  # type: ignore[misc]
            processor.append(1e3 * (time.process_time() - of_process))
    rows += [row(name, *of) for name, of in times.items()]
    return {"pairs": len(alone), "routed": int(together.has_route.sum()), "rows": rows}


def report(result: dict[str, Any]) -> list[str]:
    """Return the table."""
    return [
        f"{result['device']['name']} ({result['device']['driver']}), {result['commit']}; {result['graph']}, "
        f"{result['algorithm']}: {result['pairs']} pairs, {result['routed']} with a route, all equal; milliseconds in "
        "all: median, quartiles, the processor's",
        *(
            "{:28} {:8.3f} ({:.3f}..{:.3f})".format(of["name"], *of["call_ms"])
            + (f" {of['processor_ms']:8.3f}" if "processor_ms" in of else "")
            for of in result["rows"]
        ),
    ]


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=file_name, help="a graph with streets, or an extract")
    parser.add_argument("--bounds", metavar="S,W,N,E", help="take places within these degrees only")
    parser.add_argument("--routes", type=int, default=200, metavar="N", help="number of routes (default: 200)")
    parser.add_argument("--together", type=int, default=0, metavar="N", help="find N routes at once, and one by one")
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="runs of each (default: %(default)s)")
    parser.add_argument("--algorithm", default="dijkstra", help="algorithm of the searches (default: dijkstra)")
    parser.add_argument("--device", default="cpu", help="device of the searches (default: cpu)")
    awake = "seconds of routes at once before those that count (default: %(default)s)"
    parser.add_argument("--warm-up", type=float, default=0.5, metavar="S", help=awake)
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE", help="only with --together")
    args = parser.parse_args()
    return exit_code(lambda: run(args))


def run(args: argparse.Namespace) -> None:
    """Time what the arguments of the script ask for, and print it."""
    if min(args.repetitions, args.routes) < 1 or min(args.together, args.warm_up) < 0:
        raise QueryError("--routes and --repetitions take 1 or more, --together and --warm-up 0 or more")
    if args.json_file and not args.together:
        raise QueryError("--json is for routes at once; give --together, too, or leave it out")
    if args.json_file:
        check_writable(args.json_file, args.graph, content="JSON")
    graph = read_graph(args.graph)
    if graph.lat is None or not graph.num_nodes:
        raise QueryError(f"{args.graph} has no places; give a graph that was imported from an extract")
    nodes = nodes_within(graph, args.bounds)
    rng, count = np.random.default_rng(1), args.together or args.routes
    places = rng.choice(nodes, (count, 2)) + rng.normal(0, 5e-4, (count, 2, 2))
    with Router(graph, args.algorithm, args.device) as router:
        if args.together:
            device = router.solver.session.shared.device  # type: ignore[union-attr]
            result = compare(router, places, args) | where_and_when(device)
            result |= {"graph": args.graph, "algorithm": args.algorithm}
            if args.json_file:
                save_result(args.json_file, result)
            print_lines(report(result))
            return
        router.solver = solver = TimedSolver(router.solver)  # type: ignore[assignment]
        milliseconds = []
        for ends in places.tolist():
            try:
                runs = [measure(router, solver, *ends) for _ in range(args.repetitions)]
            except NoRouteError:
                continue
            milliseconds.append(np.min(runs, axis=0))
    if not milliseconds:
        raise QueryError("none of the places are connected by a route; give more --routes, or other --bounds")
    figures = np.percentile(milliseconds, [50, 90], axis=0).T
    print_lines([f"{len(milliseconds)} routes, milliseconds: median, 90th percentile"])
    print_lines([f"{part:28} {half:8.3f} {most:8.3f}" for part, (half, most) in zip(PARTS, figures, strict=True)])


def nodes_within(graph: Graph, bounds: str | None) -> npt.NDArray[np.float64]:
    """Return the latitudes and longitudes of the nodes within bounds, shape (n, 2)."""
    nodes = np.stack([graph.lat, graph.lon], axis=1)
    if bounds is None:
        return nodes
    try:
        south, west, north, east = map(float, bounds.split(","))
    except ValueError:
        raise QueryError(f"--bounds is {bounds}; give four numbers, as in 41,-8.7,41.2,-8.5") from None
    nodes = nodes[((nodes >= (south, west)) & (nodes <= (north, east))).all(axis=1)]
    if not len(nodes):
        raise QueryError(f"no node is within --bounds {bounds}; give south, west, north and east in degrees")
    return nodes


if __name__ == "__main__":
    sys.exit(main())
