#!/usr/bin/env python3
"""Times of sums over all shortest paths beside those of other libraries, in one run: accessibility, centrality, flows.

  scripts/compare_sums.py iceland-latest.osm.pbf --cache .cache/sums
  scripts/compare_sums.py USA-road-t.NY.gr.gz --device 0 --all --json ny.json

A graph is a file or an expression such as road:100; it is prepared once and kept in the folder --cache. The contestants
take turns, and every answer that is timed is checked.

accessibility    sums of values within a radius of every node, beside pandana, whose setup is not timed
closeness        closeness of some nodes, beside igraph, and networkit's searches
betweenness      betweenness of all nodes by the paths from some, beside igraph and networkit (EstimateBetweenness)
all sources      with --all: what all nodes as sources take, and ten million pairs; without others, which take hours;
                 on a street map also between places: from the squares of a grid to thousands of places

igraph divides a pair among all its shortest paths, so that betweenness is compared on weights that few paths share.
networkit's estimate has weights of its own and is not compared. Libraries that are not installed are left out (pip
install igraph networkit pandana).
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.metadata
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vkssp import Decay, Graph, QueryError, Router, Solver, VksspError
from vkssp.bench.cached_graph import make_cache, prepared_graph
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.peers import PEERS
from vkssp.bench.result import save_result, tuned_values
from vkssp.bench.side_by_side import OURS, Clocked, Row, alternate, report
from vkssp.cores import num_cores
from vkssp.files import check_writable
from vkssp.options import add_reading, file_name, reading
from vkssp.terminal import print_error, print_lines

#: Share of the time of others that is the goal.
GOAL = 0.5
#: Nodes that a radius is to reach, and factor for weights that few paths share.
NEAR, SPREAD = (30, 1000), 256
#: Largest share of all pairs by which betweenness may differ from igraph's, since some paths remain that are as short.
TIES = 1e-3
#: Sums that are compared with those of Dijkstra's algorithm, and largest share of nodes with other sums by pandana,
#: which are wrong at some nodes of extracts.
CHECKED, DIFFERENT = 16, 0.01
#: Zones, and with them pairs, of flows.
ZONES = 3162
#: Places to be reached, and width of the squares from which they are.
PLACES, SQUARE_M = 5000, 250
LIMIT_S = 600.0


def check(is_right: bool, what: str) -> None:
    """Raise an error if a condition is false."""
    if not is_right:
        raise VksspError(f"wrong {what}")


def module_of(name: str, versions: dict[str, str]) -> Any:
    """Return a library, or None if it is not installed."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        return None
    versions[name] = importlib.metadata.version(name)
    return found


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
    versions : dict of str to str
        Versions of libraries, which are added.
    """

    def __init__(self, name: str, graph: Graph, args: argparse.Namespace, versions: dict[str, str]) -> None:
        self.name, self.graph, self.args, self.versions = name, graph, args, versions
        self.random = np.random.default_rng(args.seed)
        self.rows: list[Row] = []
        self.plain = Solver(dataclasses.replace(graph, hierarchy=None), "dijkstra", "cpu")
        self.values = self.random.integers(0, 100, graph.num_nodes)
        self.sources = np.sort(self.random.choice(graph.num_nodes, min(args.sources, graph.num_nodes), replace=False))

    def measure(self, task: str, contestants: dict[str, Any], right: Any, **row: Any) -> Row:
        """Time contestants by turns, check their answers, and add a row; see `alternate`."""
        goal = GOAL if len(contestants) > 1 else None
        asked = {"repetitions": self.args.repetitions, "warm_up_s": 0.0}
        times = alternate(contestants, [None], right, **asked)
        self.rows.append(Row(self.name, task, 1, times, most_ratio=goal, cores=str(num_cores()), **row))
        return self.rows[-1]

    def radius(self, solver: Solver, wanted: int) -> int:
        """Return a limit within which a node reaches about so many nodes."""
        some, low, high = self.sources[:32], 1, 2**31
        while low < high:
            middle = (low + high) // 2
            if solver.centrality(some, limit=middle).reached.mean() < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def accessibility(self, solver: Solver) -> None:
        """Time sums within a radius of all nodes."""
        pandana = module_of("pandana", self.versions)
        network, setup_s = None, 0.0
        if pandana is not None:
            network, setup_s = self.pandana_network(pandana)
        for wanted in NEAR:
            limit = self.radius(solver, wanted)
            few = self.sources[:CHECKED]
            distances = self.plain.table(few, np.arange(self.graph.num_nodes), limit=limit)
            expected = np.array([self.values[row <= limit].sum() for row in distances])
            ours, different = solver.accessibility(self.values, limit), [0.0]
            contestants: dict[str, Any] = {OURS: lambda _, limit=limit: solver.accessibility(self.values, limit)}
            if network is not None:
                contestants["pandana"] = lambda _, limit=limit: self.aggregated(network, limit)

            def right(_: Any, name: str, found: Any, true: Any = (few, expected, ours, different)) -> None:
                few, expected, ours, different = true
                if name == OURS:
                    check(np.array_equal(found[few], expected), "accessibility by vkssp")
                else:
                    different[0] = max(different[0], float((found != ours).mean()))
                    check(different[0] <= DIFFERENT, f"accessibility by {name}")

            row = self.measure(
                f"accessibility of all nodes, about {wanted:,} nodes within the radius",
                contestants,
                right,
                verified=f"{len(few)} of our sums are those of Dijkstra's algorithm",
            )
            if network is not None:
                row.notes += [f"{different[0]:.2%} of pandana's sums differ", f"its setup takes {setup_s:.0f} s"]

    def pandana_network(self, pandana: Any) -> tuple[Any, float]:
        """Return the graph in pandana, and the seconds that it took."""
        import pandas

        graph, began = self.graph, time.perf_counter()
        x, y = (graph.lon, graph.lat) if graph.lat is not None else (np.arange(graph.num_nodes),) * 2
        weight = pandas.DataFrame({"weight": graph.weight.astype(np.float64)})
        ends = (pandas.Series(nodes.astype(np.int64)) for nodes in (graph.tail, graph.head))
        network = pandana.Network(pandas.Series(x), pandas.Series(y), *ends, weight, twoway=False)
        at = pandas.Series(np.arange(graph.num_nodes))
        network.set(at, variable=pandas.Series(self.values.astype(np.float64)), name="value")
        return network, time.perf_counter() - began

    @staticmethod
    def aggregated(network: Any, limit: int) -> Any:
        """Return pandana's sums within a limit."""
        return network.aggregate(limit, type="sum", decay="flat", name="value").to_numpy()

    def closeness(self, solver: Solver) -> None:
        """Time the closeness of some nodes."""
        found = solver.centrality(self.sources)
        expected = np.divide(found.reached - 1, found.total, out=np.zeros(len(found.total)), where=found.total > 0)
        contestants: dict[str, Any] = {OURS: lambda _: solver.centrality(self.sources)}
        if module_of("igraph", self.versions) is not None:
            other = self.igraph(self.graph)
            contestants["igraph"] = lambda _: other.closeness(
                self.sources.tolist(), mode="out", weights="weight", normalized=True
            )
        if module_of("networkit", self.versions) is not None:
            kind = PEERS["networkit"]
            peer = kind(kind.load(), self.graph, LIMIT_S)

            def searched(_: Any) -> Clocked:
                began, totals = time.perf_counter(), []
                searches = [peer.search(int(source)) for source in self.sources]
                ms = 1e3 * (time.perf_counter() - began)
                for search in searches:
                    distances = peer.array(search).astype(np.float64)
                    totals.append(distances[distances < 2**32 - 1].sum())
                return Clocked(np.array(totals), ms)

            contestants["networkit, searches alone"] = searched

        def right(_: Any, name: str, answer: Any) -> None:
            if name == OURS:
                check(np.array_equal(answer.total, found.total), "centrality by vkssp")
            elif name == "igraph":
                check(np.allclose(np.nan_to_num(answer), expected, rtol=1e-9), "closeness by igraph")
            else:
                check(np.array_equal(answer, found.total), "sums of distances by networkit")

        self.measure(
            f"closeness of {len(self.sources)} nodes",
            contestants,
            right,
            verified=f"the same by {', '.join(contestants)}" if len(contestants) > 1 else "",
        )

    def igraph(self, graph: Graph) -> Any:
        """Return a graph in igraph."""
        module = importlib.import_module("igraph")
        made = module.Graph(
            n=graph.num_nodes, edges=list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)), directed=True
        )
        made.es["weight"] = graph.weight.astype(np.float64).tolist()
        return made

    def betweenness(self) -> None:
        """Time the betweenness of all nodes by the paths from some."""
        weight = self.graph.weight.astype(np.int64) * SPREAD + self.random.integers(0, SPREAD, self.graph.num_arcs)
        if weight.max(initial=0) >= 2**32 - 1:
            print_error(f"{self.name}: left out: betweenness: the weights are too large to be spread")
            return
        graph = self.graph.with_weights(weight)
        with Solver(graph, device=self.args.device) as solver:
            expected = solver.betweenness(self.sources)
            contestants: dict[str, Any] = {OURS: lambda _: solver.betweenness(self.sources)}
            if module_of("igraph", self.versions) is not None:
                other = self.igraph(graph)
                contestants["igraph"] = lambda _: other.betweenness(
                    directed=True, weights="weight", sources=self.sources.tolist()
                )
            networkit = module_of("networkit", self.versions)
            if networkit is not None:
                arcs = graph.weight.astype(np.float64), (graph.tail.astype(np.uint64), graph.head.astype(np.uint64))
                another = networkit.GraphFromCoo(arcs, n=graph.num_nodes, weighted=True, directed=True)
                count = len(self.sources)
                contestants["networkit"] = lambda _: networkit.centrality.EstimateBetweenness(
                    another, count, parallel=True
                ).run()
            wrong = [0.0]

            def right(_: Any, name: str, found: Any) -> None:
                if name == "networkit":
                    return
                nodes = found.nodes if name == OURS else np.array(found)
                wrong[0] = max(wrong[0], np.abs(nodes - expected.nodes).sum() / max(1, expected.nodes.sum()))
                check(wrong[0] <= TIES, f"betweenness by {name}")

            row = self.measure(f"betweenness by the paths from {len(self.sources)} nodes", contestants, right)
            if "igraph" in contestants:
                row.verified = f"igraph's numbers differ by {wrong[0]:.1g} of their sum"

    def all_sources(self, solver: Solver) -> None:
        """Time what all nodes as sources take."""
        graph, random = self.graph, self.random
        columns = random.integers(0, 100, (graph.num_nodes, 4))
        limits = [self.radius(solver, wanted) for wanted in (1000, 10_000, 100_000)]
        zones = random.choice(graph.num_nodes, min(ZONES, graph.num_nodes), replace=False)
        trips = random.integers(1, 5, (len(zones), len(zones)))
        decay = Decay.exponential(limits[1] / 3)
        few = self.sources[:16]
        with Solver(graph, "phast", "cpu") as other:
            sums, weighed = (
                other.accessibility(columns, limits, sources=few),
                other.accessibility(columns, decays=decay, sources=few),
            )
            central = other.centrality(few)
        tasks: list[tuple[str, Any, Any]] = [
            (
                "accessibility, 3 limits, 4 columns",
                lambda: solver.accessibility(columns, limits),
                lambda found: np.array_equal(found[few], sums),
            ),
            (
                "accessibility, a decay, 4 columns",
                lambda: solver.accessibility(columns, decays=decay),
                lambda found: np.array_equal(found[few], weighed),
            ),
            (
                "closeness, eccentricity, diameter",
                solver.centrality,
                lambda found: np.array_equal(found.closeness[few], central.closeness),
            ),
            (
                "betweenness of arcs and nodes",
                solver.betweenness,
                lambda found: found.arcs.sum() >= found.num_pairs and found.nodes.min() >= 0,
            ),
            (
                f"flows of {len(zones):,} x {len(zones):,} pairs",
                lambda: solver.flows(zones, zones, trips),
                lambda found: found.arcs.sum() > 0,
            ),
        ]
        for task, ask, is_right in tasks:

            def right(_: Any, name: str, found: Any, task: str = task, is_right: Any = is_right) -> None:
                check(bool(is_right(found)), f"{task} by {name}")

            self.measure(f"all sources: {task}", {OURS: lambda _, ask=ask: ask()}, right)

    def places(self) -> None:
        """Time accessibility between places."""
        graph, random = self.graph, self.random
        assert graph.lat is not None and graph.lon is not None
        chosen = random.choice(graph.num_nodes, min(PLACES, graph.num_nodes), replace=False)
        places = list(zip(graph.lat[chosen].tolist(), graph.lon[chosen].tolist(), strict=True))
        weights = random.integers(0, 100, (len(places), 2))
        limits, few = [600, 1800, 3600], 8
        with Router(graph, device=self.args.device) as router:
            squares = router.grid(SQUARE_M)
            row_of = random.choice(len(squares), min(few, len(squares)), replace=False)
            some = [squares.places[row] for row in row_of]
            seconds = router.table(some, places, ["duration"]).read()["duration"]
            near = np.sort(np.where(np.isnan(seconds), np.inf, seconds), axis=1)[:, :3]
            expected = np.stack([(seconds <= limit) @ weights for limit in limits], axis=1)

            def right(_: Any, name: str, found: Any) -> None:
                sums = found.values[row_of] if hasattr(found, "values") else found[row_of]
                if hasattr(found, "values"):
                    check(np.allclose(np.where(np.isnan(sums), np.inf, sums), near, atol=0.1), f"nearest by {name}")
                else:
                    # A place that is snapped elsewhere, as one on an island, may be missed.
                    check(np.abs(sums - expected).max() <= 0.01 * weights.sum(), f"accessibility by {name}")

            what = f"{len(squares):,} squares of {SQUARE_M} m, {len(places):,} places"
            verified = f"by a table of {len(row_of)} squares"
            tasks = {
                f"places: accessibility, 3 limits, 2 columns, {what}": lambda _: router.accessibility(
                    squares.places, places, weights, limits=limits
                ),
                f"places: accessibility of all nodes, 3 limits, 2 columns, {len(places):,} places": lambda _: (
                    router.accessibility(None, places, weights, limits=limits)
                ),
                f"places: 3 nearest, {what}": lambda _: router.nearest_opportunities(squares.places, places, 3),
            }
            for task, ask in tasks.items():
                checked = right if "squares" in task else lambda *_: None
                self.measure(task, {OURS: ask}, checked, verified=verified if "squares" in task else "")


def measure(text: str, args: argparse.Namespace, result: dict[str, Any]) -> dict[str, Any]:
    """Measure one graph and return its result."""
    graph, _ = prepared_graph(text, args.cache, reading(args))
    comparison = Comparison(Path(text).name, graph, args, result["versions"])
    with Solver(graph, device=args.device) as solver:
        result.update(where_and_when(solver.device))
        comparison.accessibility(solver)
        comparison.closeness(solver)
        comparison.betweenness()
        if args.all:
            comparison.all_sources(solver)
            if graph.streets is not None:
                comparison.places()
    rows = [{**dataclasses.asdict(row), "ratio": row.ratio(), "verdict": row.verdict} for row in comparison.rows]
    title = f"{comparison.name}: {graph.num_nodes:,} nodes, {graph.num_arcs:,} arcs"
    print_lines([title, "", *report(comparison.rows, markdown=args.markdown), ""])
    return {"graph": text, "nodes": graph.num_nodes, "arcs": graph.num_arcs, "rows": rows}


def run(args: argparse.Namespace) -> None:
    """Measure all graphs; print and write the result."""
    if min(args.repetitions, args.sources) < 1 or args.seed < 0:
        raise QueryError("--repetitions and --sources take 1 or more, --seed 0 or more")
    if args.json_file:
        check_writable(args.json_file, *args.graphs, content="JSON")
    make_cache(args.cache)
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "numba")}
    result: dict[str, Any] = {"cores": num_cores(), "versions": versions, "graphs": []}
    for text in args.graphs:
        result["graphs"].append(measure(text, args, result))
        if args.json_file:
            save_result(args.json_file, result)  # after each graph, so that an interrupt loses little
    host = result["host"]
    print_lines(
        [
            f"{result['device']['name']}; {host['cpu']}, {result['cores']} of {host['cores']} cores; vkssp "
            f"{result['commit'] or result['vkssp']}, {', '.join(' '.join(one) for one in versions.items())}, "
            f"Python {host['python']}; medians and quartiles of {args.repetitions} times",
            *tuned_values(result),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=file_name, metavar="GRAPH", help="files, or expressions")
    parser.add_argument("--cache", type=file_name, default=".cache/sums", metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="index, kind or part of the name (default: %(default)s)")
    parser.add_argument("--sources", type=int, default=32, metavar="N", help="nodes (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="also time all nodes as sources")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/performance.md")
    parser.add_argument("--json", dest="json_file", type=file_name, metavar="FILE")
    add_reading(parser)
    args = parser.parse_args(arguments)
    return exit_code(lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
