#!/usr/bin/env python3
"""Arcs per second of bellman_ford_edge on RMAT graphs, with and without its two optimisations.

Reproduces "GPU SSSP Implementation" (GTX Titan, undirected RMAT graphs of mean degree 32, 2^14 to 2^24 nodes, 32
sources): segment-sorted edges and the read-only view of the distances, on and off, and Dijkstra on one core. Arcs per
second are the arcs of the graph over the time of a search, as there. The last line is vkssp's default algorithm.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from vkssp.bench.evaluation import Line, draw_lines, evaluate, of_source
from vkssp.bench.experiment import Experiment, Run
from vkssp.bench.result import label, number, table

NAMES = {
    "bellman_ford_edge": "both",
    "bellman_ford_edge,segment=0": "read-only view",
    "bellman_ford_edge,read_only=0": "segments",
    "bellman_ford_edge,segment=0,read_only=0": "neither",
    "near_far": "near_far",
}
#: Best figures of the article: arcs per second and the speed-up over its CPU.
ARTICLE_ARCS_PER_S, ARTICLE_SPEEDUP = 1100e6, 40


def experiment(small: bool) -> Experiment:
    """Return the experiment."""
    scales = range(8, 12) if small else range(14, 25)
    return Experiment(
        graphs=[f"rmat:{scale}" for scale in scales],
        runs=[Run.parse(text) for text in NAMES],
        sources=4 if small else 32,
        repetitions=1,
        warm_up_s=0.0 if small else 0.7,
        limit_s=5.0 if small else 20.0,
    )


def speeds(result: dict[str, Any]) -> dict[str, dict[int, np.ndarray]]:
    """Return arcs per second of each source, by line and scale, of the RMAT graphs."""
    found: dict[str, dict[int, np.ndarray]] = {name: {} for name in (*NAMES.values(), "Dijkstra, one core")}
    for graph in result["graphs"]:
        if not graph["graph"].startswith("rmat:"):
            continue
        scale, arcs = graph["nodes"].bit_length() - 1, graph["arcs"]
        found["Dijkstra, one core"][scale] = arcs / np.array(graph["dijkstra_ms"]) * 1e3
        for run in graph["runs"]:
            if run["device_ms"] and label(run) in NAMES:
                found[NAMES[label(run)]][scale] = arcs / np.array(of_source(run)) * 1e3
    return found


def report(result: dict[str, Any]) -> list[str]:
    """Return the table: millions of arcs a second, mean with least and most."""
    found = speeds(result)
    scales = sorted({scale for line in found.values() for scale in line})
    rows = []
    for name, line in found.items():
        cells = []
        for scale in scales:
            values = line.get(scale)
            cells.append(
                "-"
                if values is None
                else f"{values.mean() / 1e6:,.0f} ({values.min() / 1e6:,.0f}..{values.max() / 1e6:,.0f})"
            )
        rows.append((name, *cells))
    both, cpu = found["both"], found["Dijkstra, one core"]
    shared = [scale for scale in scales if scale in both]
    speedup = max((both[scale].mean() / cpu[scale].mean() for scale in shared), default=np.nan)
    most = max((both[scale].mean() for scale in shared), default=np.nan)
    return [
        "millions of arcs a second, mean (least..most) of the sources",
        *table(("", *(f"2^{scale}" for scale in scales)), rows),
        f"at the most {number(most / 1e6)} million arcs a second, {number(speedup)} times Dijkstra on one core;",
        f"the article: {ARTICLE_ARCS_PER_S / 1e6:,.0f} million and {ARTICLE_SPEEDUP} times",
    ]


def draw(result: dict[str, Any], figure: Any) -> None:
    """Draw arcs per second over the size."""
    lines: dict[str, Line] = {}
    for name, line in speeds(result).items():
        x = sorted(line)
        lines[name] = (
            [2.0**scale for scale in x],
            [line[scale].mean() for scale in x],
            [line[scale].min() for scale in x],
            [line[scale].max() for scale in x],
        )
    axes = figure.subplots()
    axes.axhline(ARTICLE_ARCS_PER_S, color="grey", linestyle=":", label="the article's best, GTX Titan")
    draw_lines(
        axes,
        lines,
        xscale="log",
        yscale="log",
        xlabel="nodes",
        ylabel="arcs per second",
        title=f"bellman_ford_edge on RMAT graphs, {result['device']['name']}",
    )
    axes.set_xscale("log", base=2)


if __name__ == "__main__":
    sys.exit(evaluate("rmat", __doc__ or "", experiment, report, draw, takes_graphs=False))
