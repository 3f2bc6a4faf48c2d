#!/usr/bin/env python3
"""Crauser against Martin, push against pull, GPU against CPU, the size of workgroups, idle threads, and memory.

Reproduces H. Ortega-Arranz et al., "Comprehensive evaluation of a new GPU-based approach to the shortest path problem",
2015 (GeForce GTX 480, GTX 680 and GTX Titan Black): Martin's graphs (7 predecessors, weights 1 to 10), uniform random
graphs and Kronecker graphs (weights 1 to 100); 100 random sources there, fewer here. --graph FILE --weights
random:1-100,seed=1 adds its other graphs, of the DIMACS-10 collection. The rows with weights up to a million show the
effect of the number of different distances on Martin's algorithm.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from vkssp.bench.evaluation import Line, draw_lines, evaluate, times
from vkssp.bench.experiment import Experiment, Run
from vkssp.bench.result import label, name_of, number, table

SIZES, DEGREES, MORE_DEGREES = (24576, 49152, 98304), (2, 20, 200, 1000, 2000), (5, 10, 50, 100, 500)
MARTIN_GRAPHS = tuple(f"martin:{millions << 20}" for millions in (1, 3, 5, 7, 9, 11))
KRONECKER_GRAPHS = ("kronecker:16,48,weights=1-100", "kronecker:18,48,weights=1-100")
WIDE = tuple(f"random:98304,{degree},weights=1-1000000" for degree in (2, 20, 200))
TUNED = tuple(
    f"crauser,{kernel}_workgroup_size={size}"
    for kernel in ("minimum", "update", "relax")
    for size in (64, 96, 128, 192, 256, 384, 512, 1024)
)
TUNED_GRAPHS = (*(f"random:98304,{degree}" for degree in DEGREES), "martin:1048576", KRONECKER_GRAPHS[-1])
PLAIN = ("crauser", "martin", "crauser_predecessors", "martin_predecessors", "crauser@cpu")
TWINS = ("martin@cpu", "crauser_predecessors@cpu", "martin_predecessors@cpu")
#: The paper's ratios of GPU Martin and CPU Crauser over GPU Crauser, in time on its Titan, by size and degree.
PAPER = {
    (24576, 2): (21.62, 3.56),
    (24576, 20): (12.11, 4.33),
    (24576, 200): (2.40, 3.49),
    (24576, 1000): (1.48, 3.76),
    (24576, 2000): (1.25, 4.66),
    (49152, 2): (29.62, 7.39),
    (49152, 20): (9.40, 7.76),
    (49152, 200): (2.30, 6.26),
    (49152, 1000): (1.40, 4.55),
    (49152, 2000): (1.19, 6.39),
    (98304, 2): (32.20, 14.22),
    (98304, 20): (8.55, 14.97),
    (98304, 200): (2.07, 10.18),
    (98304, 1000): (1.31, 8.16),
    (98304, 2000): (1.16, 9.09),
}


def experiment(small: bool) -> Experiment:
    """Return the experiment."""
    sizes = [(size, degree) for size in SIZES for degree in DEGREES] + [(SIZES[-1], degree) for degree in MORE_DEGREES]
    graphs = [*(f"random:{size},{degree}" for size, degree in sizes), *WIDE, *MARTIN_GRAPHS, *KRONECKER_GRAPHS]
    more = {graph: [Run.parse(text) for text in TUNED] for graph in TUNED_GRAPHS}
    for graph in MARTIN_GRAPHS:
        more[graph] = [*map(Run, TWINS), *more.get(graph, ())]
    if small:
        graphs = ["random:500,2", "random:500,20", "random:500,20,weights=1-1000000", "martin:1024", "kronecker:8"]
        more = {graphs[0]: [Run.parse(text) for text in TUNED[:2]], graphs[3]: [*map(Run, TWINS)]}
    return Experiment(
        graphs=graphs,
        runs=[Run(name) for name in PLAIN],
        more=more,
        sources=2 if small else 5,
        repetitions=1 if small else 3,
        warm_up_s=0.0 if small else 0.7,
        limit_s=5.0,
    )


def degree_of(graph: dict[str, Any]) -> float:
    """Return arcs per node."""
    return float(graph["arcs"] / graph["nodes"])


def counted(graph: dict[str, Any], name: str) -> dict[str, int]:
    """Return the counters of a run on a graph, empty without a run."""
    return next((run["counters"] for run in graph["runs"] if label(run) == name), {})


def ratio(found: dict[str, float], slow: str, fast: str) -> float:
    """Return the ratio of the speeds of two runs; NaN if one is missing."""
    return found.get(slow, np.nan) / found.get(fast, np.nan)


def idle(graph: dict[str, Any], name: str) -> float:
    """Return the share of idle threads of the relax kernel."""
    counters = counted(graph, name)
    return 1 - counters["worked"] / counters["visited"] if counters.get("visited") else np.nan


def report(result: dict[str, Any]) -> list[str]:
    """Return the tables."""
    compared, rounds, twins, memory, tuned = [], [], [], [], []
    for graph in result["graphs"]:
        found, text = times(graph), name_of(graph)
        paper = PAPER.get((graph["nodes"], round(degree_of(graph)))) if "weights" not in text else None
        over_martin, over_cpu = ("-", "-") if paper is None else map(number, paper)
        compared.append(
            (
                text,
                *(number(found.get(name, np.nan)) for name in PLAIN),
                number(ratio(found, "martin", "crauser")),
                over_martin,
                number(ratio(found, "crauser@cpu", "crauser")),
                over_cpu,
                number(float(np.median(graph["dijkstra_ms"])) / found.get("crauser", np.nan)),
            )
        )
        crauser, martin = (counted(graph, name).get("iterations", 0) for name in ("crauser", "martin"))
        pushed, pulled = idle(graph, "crauser"), idle(graph, "crauser_predecessors")
        ratio_of_rounds = martin / crauser if crauser else np.nan
        rounds.append((text, f"{crauser:,}", f"{martin:,}", number(ratio_of_rounds), f"{pushed:.1%}", f"{pulled:.1%}"))
        if any(name in found for name in TWINS):
            twins.append((text, *(number(found.get(name, np.nan)) for name in ("crauser@cpu", *TWINS))))
        # Results of earlier versions do not have the memory.
        held = [run.get("memory_bytes") for run in graph["runs"] if label(run) == "crauser" and run["device_ms"]]
        if held and held[0]:
            used = (held[0], graph["dijkstra_bytes"])
            memory.append((text, *(number(value / 2**20) for value in used), number(used[1] / used[0])))
        best = min((name for name in found if name.startswith("crauser,")), key=found.__getitem__, default=None)
        if best is not None:
            gain = 1 - found[best] / found.get("crauser", np.nan)
            tuned.append((text, number(found.get("crauser", np.nan)), number(found[best]), f"{gain:.1%}", best[8:]))
    header = ("milliseconds", *PLAIN, "over martin", "paper", "over its CPU twin", "paper", "over Dijkstra")
    return [
        "",
        *table(header, compared),
        "",
        *table(("", "rounds, crauser", "martin", "ratio", "idle, push", "idle, pull"), rounds),
        "the paper: 96% of the relax kernel's threads are idle in the push variant, 90% in the pull variant",
        "",
        *table(("CPU, milliseconds", "crauser@cpu", *TWINS), twins),
        "the paper: Crauser takes 4% less time than Martin's algorithm on the CPU when it pushes, 18% when it pulls",
        "",
        *table(("MiB", "crauser", "dijkstra, CPU", "ratio"), memory),
        "the paper: Boost's relaxed heap holds up to 11 times as much as Crauser on the GPU",
        "",
        *table(("workgroups", "crauser, 256", "best", "gain", "by"), tuned),
        "the paper: up to 23% by tuning the size of workgroups and the cache",
    ]


def draw(result: dict[str, Any], figure: Any) -> None:
    """Draw times over the degree, and the ratio of Martin to Crauser."""
    left, right = figure.subplots(1, 2)
    random = [graph for graph in result["graphs"] if graph["graph"].startswith("random:")]
    if not random:
        left.text(0.5, 0.5, "none of the random graphs was measured", ha="center")
        return
    largest = max(graph["nodes"] for graph in random)
    lines: dict[str, Line] = {}
    ours: dict[str, Line] = {}
    for weights in (False, True):
        chosen = [graph for graph in random if graph["nodes"] == largest and ("weights" in graph["graph"]) == weights]
        chosen.sort(key=degree_of)
        degrees = [degree_of(graph) for graph in chosen]
        for name in PLAIN if not weights else ():
            lines[name] = (degrees, [times(graph).get(name, np.nan) for graph in chosen], None, None)
        what = "weights 1 to 1,000,000" if weights else "weights 1 to 100"
        ours[f"time, {what}"] = (degrees, [ratio(times(graph), "martin", "crauser") for graph in chosen], None, None)
        if not weights:
            lines["dijkstra"] = (degrees, [float(np.median(graph["dijkstra_ms"])) for graph in chosen], None, None)
            by_rounds = [
                counted(graph, "martin").get("iterations", np.nan) / counted(graph, "crauser").get("iterations", np.nan)
                for graph in chosen
            ]
            ours[f"rounds, {what}"] = (degrees, by_rounds, None, None)
    paper = {degree: values[0] for (size, degree), values in PAPER.items() if size == SIZES[-1]}
    ours["the paper, Titan"] = (list(paper), list(paper.values()), None, None)
    draw_lines(left, lines, xscale="log", yscale="log", xlabel="degree", ylabel="ms", title=f"{largest:,} nodes")
    draw_lines(right, ours, xscale="log", yscale="log", xlabel="degree", title="Martin over Crauser")
    figure.suptitle(result["device"]["name"])


if __name__ == "__main__":
    sys.exit(evaluate("crauser", __doc__ or "", experiment, report, draw))
