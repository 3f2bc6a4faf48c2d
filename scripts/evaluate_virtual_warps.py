#!/usr/bin/env python3
"""A thread per node against virtual warps, for Bellman-Ford and delta-stepping, and the effect of lanes and chunks.

Reproduces Y. Song, X. Du, "Warp-Centric CUDA Programming for SSSP Algorithms", 2021 (RTX 2080): their generated graphs,
delta 5, chunks of 8 and 32 lanes. Graphs of the families and sizes of ego-Facebook, ego-Twitter and cit-HepPh replace
these files; --graph adds the files themselves, and --weights the weights of their edges.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from vkssp.bench.evaluation import Line, draw_lines, evaluate, times
from vkssp.bench.experiment import Experiment, Run
from vkssp.bench.result import label, name_of, number, table

#: Graphs, and their names in the document.
GRAPHS = {
    "ba:4039,22": "ego-Facebook (stand-in)",
    "ba:81306,22": "ego-Twitter (stand-in)",
    "gnm:34546,421578": "cit-HepPh (stand-in)",
    "ba:100000,12": "scale-free, n = 1e5, m = 12n",
    "gnm:100000,1200000": "random, n = 1e5, m = 12n",
    "ba:1000000,12": "scale-free, n = 1e6",
    "gnm:1000000,12000000": "random, n = 1e6",
    "ba:100000,50": "scale-free, n = 1e5, m = 50n",
    "ba:10000,1000": "scale-free, n = 1e4, m = 1000n",
    "ba:10000,12": "for the sensitivities, n = 1e4",
}
#: Graphs with varied lanes and chunks: that of the document, and two that keep a large device busy.
SENSITIVITIES = ("ba:10000,12", "ba:1000000,12", "gnm:1000000,12000000")
SMALL = {"ba:400,6": "scale-free", "gnm:400,2400": "random"}
PAIRS = {
    "Bellman-Ford": ("bellman_ford", "bellman_ford_subgroup,lanes=32,chunk=8"),
    "delta-stepping": ("delta_step_array,delta=5", "delta_step_subgroup,delta=5,lanes=32,chunk=8"),
}
OTHERS = ("dijkstra_scan", "delta_step_buckets,delta=5", "bellman_ford@cpu")
LANES, CHUNKS = (2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32, 64)
#: The document's geometric means of the speed-up, and its milliseconds with a thread per node and with virtual warps,
#: those of the kernels alone if it has them.
DOCUMENT = {"Bellman-Ford": 6.3, "delta-stepping": 1.15}
DOCUMENT_TIMES = {
    "Bellman-Ford": {
        "ba:4039,22": (484.827, 77.17),
        "ba:81306,22": (72932.377, 10318.645),
        "gnm:34546,421578": (7458.839, 1566.129),
        "ba:100000,12": (119339.643, 16982.434),
        "gnm:100000,1200000": (60928.657, 8888.568),
    },
    "delta-stepping": {
        "ba:4039,22": (1.139, 1.421),
        "ba:81306,22": (7.99, 6.369),
        "gnm:34546,421578": (2.466, 2.047),
        "ba:100000,12": (8.827, 5.873),
        "gnm:100000,1200000": (6.45, 5.403),
        "ba:1000000,12": (52.111, 33.924),
        "gnm:1000000,12000000": (45.123, 42.223),
        "ba:100000,50": (14.601, 2.137),
        "ba:10000,1000": (13.066, 2.599),
    },
}


def experiment(small: bool) -> Experiment:
    """Return the experiment."""
    texts = [*(text for pair in PAIRS.values() for text in pair), *OTHERS]
    sensitivities = [
        *(f"bellman_ford_subgroup,lanes={lanes},chunk=8" for lanes in LANES if lanes != 32),
        *(f"bellman_ford_subgroup,lanes=32,chunk={chunk}" for chunk in CHUNKS if chunk != 8),
    ]
    return Experiment(
        graphs=list(SMALL if small else GRAPHS),
        runs=[Run.parse(text) for text in texts],
        more={graph: [Run.parse(text) for text in sensitivities] for graph in (SMALL if small else SENSITIVITIES)},
        sources=2 if small else 5,
        repetitions=1 if small else 3,
        warm_up_s=0.0 if small else 0.7,
        limit_s=5.0,
    )


def varied(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the graphs on which lanes and chunks were varied."""
    return [graph for graph in result["graphs"] if len(graph["runs"]) > len(OTHERS) + 2 * len(PAIRS)]


def report(result: dict[str, Any]) -> list[str]:
    """Return the tables."""
    lines = []
    for name, (plain, warps) in PAIRS.items():
        rows, ratios = [], []
        for graph in result["graphs"]:
            found = times(graph)
            if plain in found and warps in found:
                ratios.append(found[plain] / found[warps])
                what = {**GRAPHS, **SMALL}.get(graph["graph"], name_of(graph))
                theirs = DOCUMENT_TIMES[name].get(graph["graph"])
                paper = ("-",) * 3 if theirs is None else map(number, (*theirs, theirs[0] / theirs[1]))
                rows.append((what, number(found[plain]), number(found[warps]), number(ratios[-1]), *paper))
        header = ("thread per node", "virtual warps", "ratio", "the document", "", "ratio")
        lines += ["", *table((name, *header), rows)]
        mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else np.nan
        lines.append(f"geometric mean {number(mean)}; the document {DOCUMENT[name]}")
    rows = []
    for graph in result["graphs"]:
        found = times(graph)
        upload = {label(run): run.get("upload_ms", 0.0) for run in graph["runs"]}
        warps = PAIRS["delta-stepping"][1]
        rows.append(
            (
                name_of(graph),
                number(float(np.median(graph["dijkstra_ms"]))),
                *("-" if other not in found else number(found[other]) for other in OTHERS),
                number(upload.get(warps, np.nan)),
            )
        )
    lines += ["", *table(("milliseconds", "dijkstra", *OTHERS, "upload"), rows)]
    for title, values, form in (
        ("lanes, chunk 8", LANES, "bellman_ford_subgroup,lanes={},chunk=8"),
        ("chunk, 32 lanes", CHUNKS, "bellman_ford_subgroup,lanes=32,chunk={}"),
    ):
        rows = []
        for graph in varied(result):
            found = times(graph)
            rows.append((name_of(graph), *(number(found.get(form.format(value), np.nan)) for value in values)))
        lines += ["", *table((f"bellman_ford_subgroup, {title}", *map(str, values)), rows)]
    lines.append("the document: fewer lanes are slower, and so are larger chunks")
    return lines


def draw(result: dict[str, Any], figure: Any) -> None:
    """Draw the two sensitivities."""
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, values, form, name in (
        (left, LANES, "bellman_ford_subgroup,lanes={},chunk=8", "lanes"),
        (right, CHUNKS, "bellman_ford_subgroup,lanes=32,chunk={}", "nodes of a chunk"),
    ):
        lines: dict[str, Line] = {}
        for graph in varied(result):
            found = times(graph)
            there = [value for value in values if form.format(value) in found and "bellman_ford" in found]
            lines[graph["graph"]] = (
                there,
                [found["bellman_ford"] / found[form.format(value)] for value in there],
                None,
                None,
            )
        draw_lines(axes, lines, yscale="log", xlabel=name, xscale="log")
        axes.set_xscale("log", base=2)
        axes.axhline(1, color="black", linewidth=0.8)
    left.set_ylabel("times as fast as a thread per node")
    figure.suptitle(f"Bellman-Ford with virtual warps, {result['device']['name']}")


if __name__ == "__main__":
    sys.exit(evaluate("virtual_warps", __doc__ or "", experiment, report, draw))
