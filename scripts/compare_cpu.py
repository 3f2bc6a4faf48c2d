#!/usr/bin/env python3
"""Times of vkssp on the CPU beside those of other libraries, in one run, with the goals that they are held to.

  scripts/compare_cpu.py USA-road-t.NY.gr.gz iceland-latest.osm.pbf --cache .cache/cpu --osrm-python /usr/bin/python3.12
  scripts/compare_cpu.py iceland-latest.osm.pbf --only routes,tables --json iceland.json

A graph is a file or an expression such as road:100; an extract is imported with turn costs and also has routes and
tables between places. What is imported and prepared is kept in the folder --cache for the next run; remove the folder
after a change of import or preparation. The contestants take turns, and every answer that is timed is checked. "At
best" is the median over the questions of the least time of each: other work on the machine only adds time. Goals in
milliseconds hold for a graph as large as NY (trees) or Iceland (routes).

one-to-all       all distances in the graph as it is, beside scipy on one core
trees            all distances by the hierarchy, one tree and 16
pairs            distances of pairs by the hierarchy, beside RoutingKit's CCH
customization    new weights for the hierarchy, beside RoutingKit's CCH
routes           routes between places, with the hierarchy and without
tables           durations between places by the hierarchy, beside OSRM's CH (--osrm-python)
ranks            distances by Dijkstra rank in the graph as it is, on the CPU beside a GPU; left out without a GPU

RoutingKit's CCH (routingkit-cch) runs in its own order and in the order of our hierarchy. OSRM (osrm-bindings) runs in
a process of its own, with a profile and weights of its own, so its table is only the answer to the same question.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numba
import numpy as np

from vkssp import UNREACHABLE, Graph, NoRouteError, QueryError, Route, Router, Solver, VksspError
from vkssp.algorithm import AUTO, VULKAN
from vkssp.algorithms.choice import place_of
from vkssp.bench.cached_graph import make_cache, prepared_graph
from vkssp.bench.customizing import postorder
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import far_sources, where_and_when
from vkssp.bench.osrm import Osrm, OsrmTables
from vkssp.bench.peers import PEERS, Peer, RoutingkitCch
from vkssp.bench.places import densest_place, places_near, sample, town_sample
from vkssp.bench.rank import draw_queries
from vkssp.bench.result import save_result
from vkssp.bench.side_by_side import OURS, Clocked, Row, alternate, one_core, report
from vkssp.cores import num_cores
from vkssp.cpu.customized import CustomizedHierarchy, customized_of, layout_of
from vkssp.cpu.device import CpuDevice
from vkssp.files import check_writable
from vkssp.graph.geo import haversine
from vkssp.options import add_reading, file_name, reading
from vkssp.osm import is_extract
from vkssp.terminal import print_error, print_lines

#: Sources of trees; trees of a batch; pairs of a call; pairs, and routes, that are asked one by one in a question: the
#: check of an answer empties the caches of the processor.
SOURCES, BATCH, MANY, BLOCK, IN_A_ROW = 20, 16, 10_000, 100, 100
#: Bytes about as many as prepared routes and tables of Iceland read at random.
CACHED = 8 << 20
#: Changes of all weights, and pairs that are compared after each.
CHANGES, CHECKED = 3, 20
#: Largest share of the length of a route by which the sum of its points or steps may differ from it.
ROUNDING = 0.01
#: Share by which a duration may differ from OSRM's to count as near.
NEAR = 0.1
#: Seconds that RoutingKit's setup may take.
LIMIT_S = 600.0
GROUPS = ("one-to-all", "trees", "pairs", "customization", "routes", "tables", "ranks")
#: Rank up to which a GPU is of no use: the logarithm.
NEAR_RANK = 13


def check(is_right: bool, what: str) -> None:
    """Raise an error if a condition is false."""
    if not is_right:
        raise VksspError(f"wrong {what}")


def agrees(found: int | None, true: int) -> bool:
    """Return whether RoutingKit's distance is right; it finds no path of more than 31 bits."""
    return found == true if true <= RoutingkitCch.LARGEST else found is None


class Comparison:
    """A prepared graph, and the rows that are measured on it.

    Parameters
    ----------
    name : str
        Name of the graph.
    graph : Graph
        The graph, with its hierarchy.
    args : argparse.Namespace
        Options of the script.
    """

    def __init__(self, name: str, graph: Graph, args: argparse.Namespace) -> None:
        self.name, self.graph, self.args = name, graph, args
        self.plain = dataclasses.replace(graph, hierarchy=None)
        self.rows: list[Row] = []
        self.all_cores = str(num_cores())
        self.random = np.random.default_rng(args.seed)
        self._scipy: Peer | None = None
        self.layout = layout_of(graph.hierarchy) if graph.hierarchy is not None else None

    @property
    def scipy(self) -> Peer:
        """The graph in scipy, the reference for distances."""
        if self._scipy is None:
            kind = PEERS["scipy"]
            self._scipy = kind(kind.load(), self.plain, LIMIT_S)
        return self._scipy

    def numbers_of_cores(self) -> list[tuple[str, AbstractContextManager[None]]]:
        """Return numbers of cores, and contexts in which work is done by as many: first by all, then by one."""
        # In this order: threads that begin on one core stay there, and a hierarchy that is new there is not cut.
        every = [] if num_cores() == 1 else [(self.all_cores, nullcontext())]
        return [*every, ("1", one_core())]

    def measure(self, task: str, contestants: dict[str, Any], questions: Sequence[Any], right: Any, **row: Any) -> Row:
        """Time contestants by turns, check their answers, and add a row; see `alternate`."""
        times = alternate(
            contestants,
            questions,
            right,
            repetitions=row.pop("repetitions", self.args.repetitions),
            warm_up_s=self.args.warm_up,
            calls=row.pop("calls", 1),
        )
        self.rows.append(Row(self.name, task, len(questions), times, **row))
        return self.rows[-1]

    def one_to_all(self) -> None:
        """Time all distances in the graph without its hierarchy beside scipy."""
        scipy = self.scipy
        sources = [source for source, _, _ in far_sources(self.plain, SOURCES, self.args.seed)]
        expected = {source: scipy.distances(source) for source in sources}

        def right(source: int, name: str, found: Any) -> None:
            found = scipy.array(found) if name == "scipy" else found
            check(np.array_equal(found, expected[source]), f"distances from {source} by {name}")

        with Solver(self.plain, device="cpu") as solver:
            self.measure(
                f"one to all, unprepared ({solver.algorithm})",
                {OURS: solver.distances, "scipy": scipy.search},
                sources,
                right,
                most_ratio=0.6,
                repetitions=max(1, self.args.repetitions // 3),
                verified=f"all distances from {len(sources)} nodes are scipy's",
            )

    def trees(self) -> None:
        """Time trees by the hierarchy, one at a time and a batch."""
        sources = self.random.integers(0, self.graph.num_nodes, BATCH).tolist()
        expected = np.stack([self.scipy.distances(source) for source in sources])

        def right(question: Any, _: str, found: Any) -> None:
            check(np.array_equal(found, expected[question]), f"trees from {np.array(sources)[question]}")

        verified = f"all distances from {BATCH} nodes are scipy's"
        with Solver(self.graph, device="cpu") as solver:
            made = f"prepared ({solver.algorithm})"
            for task, questions, calls, most_ms in (
                (f"a tree, {made}", list(range(BATCH)), 1, 4.0),
                (f"a tree of {BATCH} in a call, {made}", [slice(0, BATCH)], BATCH, 1.0),
            ):
                self.measure(
                    task,
                    {OURS: lambda question: solver.distances(np.array(sources)[question])},
                    questions,
                    right,
                    calls=calls,
                    most_ms=None if self.graph.streets is not None else most_ms,
                    cores=self.all_cores,
                    verified=verified,
                )

    def routingkit(self) -> tuple[Any, dict[str, Any]]:
        """Return the module of RoutingKit's CCH, and its hierarchies: in its own order, and in ours."""
        module, graph = RoutingkitCch.load(), self.plain
        assert self.graph.hierarchy is not None
        own, _ = RoutingkitCch.order(module, graph, LIMIT_S)
        ends = graph.tail.tolist(), graph.head.tolist()
        orders = {"its order": own, "our order": postorder(self.graph.hierarchy).tolist()}
        return module, {f"RoutingKit, {name}": module.CCH(order, *ends, False) for name, order in orders.items()}

    def pairs(self, module: Any, hierarchies: dict[str, Any]) -> None:
        """Time distances of pairs beside RoutingKit's, by the call and many at a time."""
        sources = self.random.integers(0, self.graph.num_nodes, SOURCES)
        expected = {source: self.scipy.distances(source) for source in sources.tolist()}
        asked = np.stack([self.random.permutation(np.repeat(sources, BLOCK)), self._nodes(SOURCES * BLOCK)])
        many = np.stack([self._nodes(MANY), self._nodes(MANY)])
        weights = RoutingkitCch.weights(self.plain)
        queries = {name: module.CCHQuery(module.CCHMetric(cch, weights)) for name, cch in hierarchies.items()}

        def by_routingkit(query: Any) -> Callable[[Any], Any]:
            def answer(pairs: Any) -> list[int | None]:
                return [query.run(source, target).distance for source, target in pairs]

            return answer

        def right(pairs: Any, name: str, found: Any) -> None:
            true = [int(expected[source][target]) for source, target in pairs]
            check(found == true if name == OURS else all(map(agrees, found, true)), f"distances of pairs by {name}")

        with Solver(self.graph, device="cpu") as solver:
            distance = solver.distance
            contestants: dict[str, Callable[[Any], Any]] = {
                OURS: lambda pairs: [distance(source, target) for source, target in pairs],
                **{name: by_routingkit(query) for name, query in queries.items()},
            }
            blocks = [asked[:, first : first + BLOCK].T.tolist() for first in range(0, asked.shape[1], BLOCK)]
            self.measure(
                f"a pair by the call, prepared ({solver.algorithm})",
                contestants,
                blocks,
                right,
                calls=BLOCK,
                most_ratio=1.5,
                verified=f"{asked.shape[1]:,} distances are scipy's",
                notes=[f"of RoutingKit's, {1e3 * self._call_ms(module):.2f} us are the call, in a graph of two nodes"],
            )
            listed = many.T.tolist()
            theirs = by_routingkit(next(iter(queries.values())))(listed)

            def same(_: Any, name: str, found: Any) -> None:
                is_same = all(map(agrees, theirs, found.tolist())) if name == OURS else found == theirs
                check(is_same, f"distances of many pairs by {name}")

            contestants[OURS] = lambda _: solver.pairs(*many)
            for cores, here in self.numbers_of_cores():
                with here:
                    self.measure(
                        f"a pair of {MANY:,} in a call, cores: {cores}",
                        contestants,
                        [listed],
                        same,
                        calls=MANY,
                        most_ratio=1.5,
                        cores=cores,
                        verified="all distances are RoutingKit's",
                        notes=["RoutingKit has no call for many pairs, and runs on one core"],
                    )

    @staticmethod
    def _call_ms(module: Any) -> float:
        """Return the milliseconds of a query of RoutingKit that has nothing to search."""
        query = module.CCHQuery(module.CCHMetric(module.CCH([0, 1], [0, 1], [1, 0], False), [1, 1]))
        times = alternate(
            {"": lambda _: [query.run(0, 1).distance for _ in range(BLOCK)]},
            range(BLOCK),
            lambda *_: None,
            repetitions=1,
            warm_up_s=0.0,
            calls=BLOCK,
        )
        return float(np.median(times[""]))

    def _nodes(self, count: int) -> np.ndarray:
        return self.random.integers(0, self.graph.num_nodes, count)

    def customization(self, module: Any, hierarchies: dict[str, Any]) -> None:
        """Time new weights for all arcs beside RoutingKit's, with and without all that a solver does for them."""
        graph, layout = self.plain, self.layout
        assert layout is not None
        factors = self.random.uniform(1, 2, (CHANGES, graph.num_arcs))
        changed = [
            dataclasses.replace(graph, weight=np.minimum(graph.weight * factor, UNREACHABLE - 1).astype(np.uint32))
            for factor in factors
        ]
        lists = [RoutingkitCch.weights(one) for one in changed]
        refused = [[*weights[:-1], -1] for weights in lists]
        ends = np.stack([np.full(CHECKED, self._nodes(1)[0]), self._nodes(CHECKED)])
        source, pairs = int(ends[0, 0]), ends.T.tolist()
        expected, arrays = [], []
        scipy = PEERS["scipy"]
        for one in changed:
            distances = scipy(scipy.load(), one, LIMIT_S).distances(source)
            expected.append([int(distances[target]) for _, target in pairs])
        # No query may be alive while RoutingKit customizes, so this has metrics of its own.
        metrics = {name: module.CCHMetric(cch, lists[0]) for name, cch in hierarchies.items()}

        def others(act: Callable[[Any, int], Any]) -> dict[str, Callable[[int], Any]]:
            return {name: lambda change, metric=metric: act(metric, change) for name, metric in metrics.items()}

        def queried(metric: Any, change: int) -> int | None:
            metric.reset(lists[change])
            distance: int | None = module.CCHQuery(metric).run(*pairs[0]).distance
            return distance

        def right_of_routingkit(change: int, name: str) -> None:
            query = module.CCHQuery(metrics[name])
            found = [query.run(*pair).distance for pair in pairs]
            check(all(map(agrees, found, expected[change])), f"distance after new weights by {name}")

        def unconverted(change: int) -> None:
            try:  # fails at the end of the conversion, before the customization
                metrics[next(iter(metrics))].reset(refused[change])
            except OverflowError:
                return
            raise VksspError("RoutingKit took a negative weight")

        verified = f"{CHECKED} distances after each change are scipy's"
        with Solver(self.graph, device="cpu") as solver:
            for change, one in enumerate(changed):
                solver.set_weights(one.weight)
                check([solver.distance(*pair) for pair in pairs] == expected[change], "distance after new weights")
                made = customized_of(solver.session.shared.graph)  # type: ignore[arg-type]
                arrays.append((made.up, made.down))

            def ours(change: int) -> int:
                solver.set_weights(changed[change].weight)
                return solver.distance(*pairs[0])

            def right_of_call(change: int, name: str, found: Any) -> None:
                first = expected[change][0]
                is_right = found == first if name == OURS else agrees(found, first)
                check(is_right, f"first distance after new weights by {name}")
                if name == OURS:
                    check([solver.distance(*pair) for pair in pairs] == expected[change], "distance after new weights")
                else:
                    right_of_routingkit(change, name)

            self.measure(
                "all weights anew to the first distance (set_weights)",
                {OURS: ours, **others(queried)},
                range(CHANGES),
                right_of_call,
                most_ratio=0.8,
                cores=self.all_cores,
                verified=verified,
                notes=[
                    "RoutingKit's package customizes on one core only",
                    "its time includes converting a list of weights",
                ],
            )

        def right(change: int, name: str, found: Any) -> None:
            if name == OURS:
                same = zip((found.up, found.down), arrays[change], strict=True)
                check(all(np.array_equal(a[: layout.num_arcs], b[: layout.num_arcs]) for a, b in same), "customization")
            elif name in metrics:
                right_of_routingkit(change, name)

        for cores, here in self.numbers_of_cores():
            with here:
                row = self.measure(
                    f"customization alone, cores: {cores}",
                    {
                        OURS: lambda change: CustomizedHierarchy(layout, changed[change]),
                        **others(lambda metric, change: metric.reset(lists[change])),
                        "conversion": unconverted,
                    },
                    range(CHANGES),
                    right,
                    most_ratio=0.8,
                    cores=cores,
                    verified="arcs of the hierarchy are those of the solver above, RoutingKit's distances scipy's",
                )
            converted = float(np.median(row.times.pop("conversion")))
            row.notes.append(f"{converted:.1f} ms of RoutingKit's for converting a list of weights are left out")
            for name in metrics:
                row.times[name] = [ms - converted for ms in row.times[name]]

    def routes(self) -> None:
        """Time routes between places, with the hierarchy and without."""
        graph, args = self.plain, self.args
        town = densest_place(graph)
        trips = {
            "random places": sample(graph, args.routes, args.seed),
            "within a town": town_sample(graph, args.routes, args.seed),
        }
        where = f"the town is around {town[0]:.3f},{town[1]:.3f}, and places are 1 to 2 km apart"
        with ExitStack() as stack:
            reference = stack.enter_context(Router(graph, "dijkstra", "cpu"))
            plain = stack.enter_context(Router(graph, device="cpu"))
            prepared = stack.enter_context(Router(self.graph, device="cpu"))
            for place, pairs in trips.items():
                found = dict(self._found(reference, pairs))
                if not found:
                    self.tell_missing(f"routes {place}: there are none")
                    continue
                for router, made, goals in (
                    (plain, "unprepared", {True: {"random places": 8.0, "within a town": 1.0}[place]}),
                    (prepared, "prepared", {False: 0.4, True: 0.6}),
                ):
                    for steps, most_ms in goals.items():
                        self._time_routes(router, made, place, found, steps, most_ms, where)

    def _time_routes(
        self, router: Router, made: str, place: str, found: dict[Any, Route], steps: bool, most_ms: float, where: str
    ) -> None:
        def answer(pairs: Any) -> Any:
            routes = (router.route(*pair, steps=steps) for pair in pairs)
            return [(route, route.points, route.steps) for route in routes]  # the caller wants them, whenever made

        def right(pairs: Any, _: str, answered: Any) -> None:
            for pair, one in zip(pairs, answered, strict=True):
                right_one(pair, *one)

        def right_one(pair: Any, route: Route, points: Any, given: Any) -> None:
            true, what = found[pair], f"route from {pair[0]} to {pair[1]}"
            check(route.weight == true.weight and np.array_equal(route.arcs, true.arcs), what)
            check(np.isclose(route.distance_m, true.distance_m) and np.isclose(route.duration_s, true.duration_s), what)
            length = float(haversine(*points[:-1].T, *points[1:].T).sum())
            check(abs(length - route.distance_m) <= 5 + ROUNDING * route.distance_m, f"points of the {what}")
            if steps:
                length = sum(step.distance_m for step in given)
                check(abs(length - route.distance_m) <= 5 + ROUNDING * route.distance_m, f"steps of the {what}")
                check(given[0].type == "depart" and given[-1].type == "arrive", f"steps of the {what}")

        pairs, in_a_row = list(found), min(IN_A_ROW, len(found))
        rows = [pairs[first : first + in_a_row] for first in range(0, len(pairs) - in_a_row + 1, in_a_row)]
        arcs = np.median([len(route.arcs) for route in found.values()])
        with_steps = "geometry and steps" if steps else "geometry"
        self.measure(
            f"route {place}, {made} ({router.solver.algorithm}), {with_steps}",
            {OURS: answer},
            rows,
            right,
            calls=in_a_row,
            most_ms=most_ms,
            verified=f"{in_a_row * len(rows)} routes are those of Dijkstra's algorithm, shortest paths by scipy",
            notes=[f"{arcs:,.0f} arcs; {in_a_row} routes one after the other"] + [where] * (place == "within a town"),
        )

    def _found(self, reference: Router, pairs: Sequence[Any]) -> Iterator[tuple[Any, Route]]:
        """Yield the pairs with a route, and the route; between its ends, scipy finds no shorter path."""
        graph = self.plain
        for pair in pairs:
            try:
                route = reference.route(*pair, steps=True)
            except (NoRouteError, QueryError):
                continue
            arcs = route.arcs
            check(np.array_equal(graph.head[arcs[:-1]], graph.tail[arcs[1:]]), f"route from {pair[0]} to {pair[1]}")
            if len(arcs) > 1:
                distance = self.scipy.distances(int(graph.head[arcs[0]]))[graph.tail[arcs[-1]]]
                inner = int(graph.weight[arcs[1:-1]].sum(dtype=np.int64))
                check(inner == int(distance), f"route from {pair[0]} to {pair[1]}")
            yield pair, route

    def tables(self, osrm: OsrmTables | None) -> None:
        """Time tables of durations between places, beside OSRM's."""
        graph = self.plain
        with Router(self.graph, device="cpu") as router, Router(graph, "dijkstra", "cpu") as reference:
            for size in self.args.table:
                nodes = self.random.integers(0, graph.num_nodes, size)
                places = [(lat, lon) for lat, lon in places_near(graph, nodes, self.random).tolist()]
                true = reference.table(places, metrics=["duration"]).read()["duration"]
                contestants: dict[str, Callable[[Any], Any]] = {
                    OURS: lambda where: router.table(where, metrics=["duration"]).read()["duration"]
                }
                notes = ["OSRM is not given"]
                if osrm is not None:
                    _, theirs = osrm.table(places)
                    both = ~np.isnan(true) & ~np.isnan(theirs) & (theirs > 0)
                    ratio = true[both] / theirs[both]
                    near = float(np.mean(np.abs(ratio - 1) <= NEAR))
                    notes = [
                        f"OSRM has a map and weights of its own: {near:.1%} of {ratio.size:,} durations are within "
                        f"{NEAR:.0%} of each other, and ours are {np.median(ratio):.3f} of its in the median",
                        "OSRM runs on one core",
                    ]
                    contestants["OSRM, CH"] = lambda where: Clocked(*reversed(osrm.table(where, answer=False)))

                def right(_: Any, name: str, found: Any, true: Any = true) -> None:
                    check(name != OURS or np.array_equal(found, true, equal_nan=True), "table of durations")

                self.measure(
                    f"table of {size:,} x {size:,} places, prepared ({router.solver.algorithm})",
                    contestants,
                    [places],
                    right,
                    most_ratio=1.0,
                    cores=self.all_cores,
                    verified="all our durations are those of Dijkstra's algorithm",
                    notes=notes,
                )

    def ranks(self) -> None:
        """Time distances by Dijkstra rank, of the default beside a GPU and of Dijkstra's algorithm on one core."""
        if place_of(AUTO, None) != VULKAN:
            self.tell_missing("ranks: there is no GPU")
            return
        queries = draw_queries(self.plain, SOURCES, self.args.seed)

        def right(query: Any, name: str, found: Any) -> None:
            check(found == query[-1], f"distance by {name}")

        with Solver(self.plain) as solver, Solver(self.plain, "dijkstra", device="cpu") as dijkstra:
            for rank in np.unique(queries.rank).tolist():
                here = queries.rank == rank
                columns = queries.source[here], queries.target[here], queries.distance[here]
                row = self.measure(
                    f"a distance at rank 2^{rank}, unprepared",
                    {
                        OURS: lambda query: solver.distance(query[0], query[1]),
                        "Dijkstra, one core": lambda query: dijkstra.distance(query[0], query[1]),
                    },
                    np.stack(columns, axis=1).tolist(),
                    right,
                    most_ratio=1.1 if rank <= NEAR_RANK else 1.0,
                    verified=f"{here.sum()} distances are those of a search for all nodes",
                )
                row.cores = solver.answered_by[0].info.name  # of the last one

    def tell_missing(self, why: str) -> None:
        """Tell which rows are missing."""
        print_error(f"{self.name}: left out: {why}")


def osrm_of(text: str, key: str, args: argparse.Namespace) -> OsrmTables | None:
    """Return OSRM's tables of an extract, prepared unless the cache has it; None if they are not wanted."""
    if not args.osrm_python:
        return None
    folder = Path(args.cache) / f"{key}-osrm"  # OSRM cuts its paths at ".osrm"
    if not folder.exists():
        osrm = Osrm.of_python(args.osrm_python)
        with tempfile.TemporaryDirectory(dir=args.cache) as made:
            inside = Path(made) / "osrm"
            inside.mkdir()
            osrm.extract(Path(text), args.profile or "car", inside, "osrm-contract")
            inside.rename(folder)
    return OsrmTables(args.osrm_python, folder / "map.osrm")


def measure(text: str, args: argparse.Namespace, versions: dict[str, str]) -> dict[str, Any]:
    """Measure one graph and return its result."""
    graph, key = prepared_graph(text, args.cache, reading(args))
    comparison = Comparison(Path(text).name, graph, args)
    if "one-to-all" in args.only:
        comparison.one_to_all()
    if "trees" in args.only:
        comparison.trees()
    if {"pairs", "customization"} & set(args.only):
        try:
            module, hierarchies = comparison.routingkit()
        except QueryError as error:
            comparison.tell_missing(f"pairs and customization: routingkit-cch: {error}")
        else:
            versions["routingkit-cch"] = RoutingkitCch.version()
            if "pairs" in args.only:
                comparison.pairs(module, hierarchies)
            if "customization" in args.only:
                comparison.customization(module, hierarchies)
    if graph.streets is not None and "routes" in args.only:
        comparison.routes()
    if graph.streets is not None and "tables" in args.only:
        with ExitStack() as stack:
            osrm = osrm_of(text, key, args) if is_extract(text) else None
            if osrm is not None:
                versions["osrm-bindings"] = stack.enter_context(osrm).version
            comparison.tables(osrm)
    if "ranks" in args.only:
        comparison.ranks()
    rows = [
        {**dataclasses.asdict(row), "ratio": row.ratio(), "ratio_at_best": row.ratio(Row.best), "verdict": row.verdict}
        for row in comparison.rows
    ]
    title = f"{comparison.name}: {graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs"
    print_lines([title, "", *report(comparison.rows, markdown=args.markdown), ""])
    return {"graph": text, "nodes": graph.num_nodes, "arcs": graph.num_arcs, "rows": rows}


def load() -> float:
    """Return the mean number of busy processes in the last minute, which other work adds to; NaN if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def read_ns() -> float:
    """Return the nanoseconds of a read at a random place in `CACHED` bytes, whose place the read before gives.

    They stay in a cache that all cores of a processor share, unless work on other cores pushes them out.
    """

    @numba.njit
    def follow(after: Any, steps: int) -> int:
        at = 0
        for _ in range(steps):
            at = after[at]
        return at

    order = np.random.default_rng(0).permutation(CACHED // 8)
    after = np.empty_like(order)
    after[order] = np.roll(order, 1)
    follow(after, len(after))
    times = []
    for _ in range(9):
        began = time.perf_counter()
        follow(after, len(after) // 8)
        times.append(1e9 * (time.perf_counter() - began) / (len(after) // 8))
    return float(np.median(times))


def run(args: argparse.Namespace) -> None:
    """Measure all graphs; print and write the result."""
    if min(args.repetitions, args.routes, *args.table) < 1 or args.seed < 0 or args.warm_up < 0:
        raise QueryError("--repetitions, --routes and --table take 1 or more, --warm-up and --seed 0 or more")
    args.only = GROUPS if args.only is None else tuple(filter(None, args.only.split(",")))
    for name in args.only:
        if name not in GROUPS:
            raise QueryError(f"--only has {name!r}; choose some of {', '.join(GROUPS)}")
    if args.json_file:
        check_writable(args.json_file, *args.graphs, content="JSON")
    make_cache(args.cache)
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "numba", "scipy")}
    with CpuDevice() as device:
        result: dict[str, Any] = {**where_and_when(device), "cores": num_cores(), "versions": versions, "graphs": []}
    began, result["load"], result["read_ns"] = time.time(), [load()], [read_ns()]
    for text in args.graphs:
        result["graphs"].append(measure(text, args, versions))
        result["load"].append(load())
        result["read_ns"].append(read_ns())
        if args.json_file:
            save_result(args.json_file, result)  # after each graph, so that an interrupt loses little
    host = result["host"]
    print_lines(
        [
            f"{host['cpu']}, {result['cores']} of {host['cores']} cores, "
            f"load {' '.join(f'{one:.1f}' for one in result['load'])}; vkssp "
            f"{result['commit'] or result['vkssp']}, {', '.join(' '.join(one) for one in versions.items())}, "
            f"Python {host['python']}",
            f"a read at a random place in {CACHED >> 20} MiB takes "
            f"{' '.join(f'{one:.0f}' for one in result['read_ns'])} ns, less if the processor's other cores are idle",
            f"medians and quartiles of at least {args.repetitions} times, {time.time() - began:.0f} s in all",
        ]
    )


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=file_name, metavar="GRAPH", help="files, or expressions")
    parser.add_argument("--cache", type=file_name, default=".cache/cpu", metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--only", metavar="A,B,...", help=f"some of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--osrm-python", metavar="PYTHON", help="a Python that has osrm-bindings")
    parser.add_argument("--repetitions", type=int, default=15, metavar="N", help="default: %(default)s")
    parser.add_argument("--warm-up", type=float, default=1.0, metavar="S", help="seconds before each row (default: 1)")
    parser.add_argument("--routes", type=int, default=200, metavar="N", help="pairs of places (default: %(default)s)")
    parser.add_argument("--table", type=int, nargs="+", default=[100, 1000], metavar="N", help="default: 100 1000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/performance.md")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    add_reading(parser)
    args = parser.parse_args()
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
