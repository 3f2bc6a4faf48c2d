#!/usr/bin/env python3
"""Times of vkssp.csgraph beside scipy.sparse.csgraph, in one run, with every answer compared.

  scripts/compare_scipy.py USA-road-d.NY.gr.gz road:512
  VKSSP_DEVICE=cpu scripts/compare_scipy.py rmat:16 --json rmat.json

A graph is a file or an expression such as road:512; both get it as the same scipy matrix of float64. The contestants
take turns. Distances must be equal bit for bit. Tasks on real weights have those of the graph times random numbers.

first call    a source, with a matrix that is not known: the time has all that is kept for later calls
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy
from scipy import sparse
from scipy.sparse import csgraph as of_scipy

from vkssp import Graph, VksspError, csgraph
from vkssp.bench.evaluation import exit_code
from vkssp.bench.measuring import where_and_when
from vkssp.bench.result import save_result, tuned_values
from vkssp.bench.side_by_side import OURS, Row, alternate, report
from vkssp.cores import num_cores
from vkssp.files import check_writable
from vkssp.options import add_reading, file_name, reading
from vkssp.reading import read_graph
from vkssp.solver.solver import Solver
from vkssp.terminal import print_lines

SCIPY = "scipy"
#: Sources of the task with several, and of the one with the nearest.
SOURCES, NEAREST = 16, 100


def check(task: str, question: Any, name: str, answer: Any, expected: dict[bytes, Any]) -> None:
    """Raise an error if an answer has other distances than the first one to the same question."""
    found = answer[0] if isinstance(answer, tuple) else answer
    first = expected.setdefault(np.asarray(question).tobytes(), found)
    if not np.array_equal(found, first):
        raise VksspError(f"{task}: {name} has found other distances than the contestant before it")


def matrix_of(graph: Graph, factor: np.ndarray | float) -> Any:
    """Return a graph as a matrix, of parallel arcs the lightest, with weights times a factor."""
    weight = graph.weight * factor
    order = np.lexsort((weight, graph.head, graph.tail))
    ends = graph.tail[order].astype(np.int64) * graph.num_nodes + graph.head[order]
    kept = order[np.concatenate([np.ones(1, bool), np.diff(ends) > 0])]
    entries = weight[kept].astype(np.float64), (graph.tail[kept].astype(np.int32), graph.head[kept].astype(np.int32))
    return sparse.coo_array(entries, shape=(graph.num_nodes,) * 2).tocsr()


def measure(name: str, graph: Graph, repetitions: int) -> list[Row]:
    """Return the times of all tasks on a graph."""
    rng = np.random.default_rng(7)
    whole, real = matrix_of(graph, 1.0), matrix_of(graph, rng.uniform(0.5, 1.5, graph.num_arcs))
    sources = rng.integers(0, graph.num_nodes, (repetitions, SOURCES))
    many = rng.integers(0, graph.num_nodes, (1, NEAREST))

    def first(matrix: Any, indices: Any) -> Any:
        csgraph.clear_cache()
        return csgraph.dijkstra(matrix, indices=indices)

    tasks: list[tuple[str, Any, Any, dict[str, Any], Callable[..., Any]]] = [
        ("first call", whole, sources[:1, 0], {}, first),
        ("one source", whole, sources[:4, 0], {}, csgraph.dijkstra),
        ("one source, predecessors", whole, sources[:4, 0], {"return_predecessors": True}, csgraph.dijkstra),
        ("one source, real weights", real, sources[:4, 0], {}, csgraph.dijkstra),
        (f"{SOURCES} sources, real weights", real, sources[:1], {}, csgraph.dijkstra),
        (f"{SOURCES} sources", whole, sources[:1], {}, csgraph.dijkstra),
        (f"nearest of {NEAREST}", whole, many, {"min_only": True, "return_predecessors": True}, csgraph.dijkstra),
    ]
    rows = []
    for task, matrix, questions, options, ours in tasks:
        contestants = {
            who: lambda indices, of=of, matrix=matrix, options=options: of(matrix, indices=indices, **options)
            for who, of in ((OURS, ours), (SCIPY, of_scipy.dijkstra))
        }
        checked = partial(check, task)
        expected: dict[bytes, Any] = {}
        times = alternate(
            contestants,
            list(questions),
            lambda question, who, answer, checked=checked, expected=expected: checked(question, who, answer, expected),
            repetitions=repetitions,
            warm_up_s=0.2,
        )
        rows.append(Row(name, f"{name}, {task}", len(questions), times, cores=str(num_cores())))
    rows[-1].verified = "distances of all answers are equal bit for bit"
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", metavar="GRAPH", help="a file, or an expression such as road:512")
    parser.add_argument("--repetitions", type=int, default=5, help="times that each question is asked (default 5)")
    parser.add_argument("--json", type=file_name, metavar="FILE", help="write the times to a file")
    add_reading(parser)
    given = parser.parse_args(arguments)

    def work() -> int:
        if given.json is not None:
            check_writable(given.json)
        rows = []
        for name in given.graphs:
            rows += measure(name, read_graph(name, **reading(given)), given.repetitions)
        csgraph.clear_cache()
        with Solver(Graph.from_edges([0], [1], [1])) as solver:  # on the device that answers
            place = where_and_when(solver.device)
        title = f"{place['device']['name']}, commit {place['commit']}, scipy {scipy.__version__}"
        print_lines([title, *tuned_values(place), *report(rows)])
        if given.json is not None:
            save_result(given.json, {**place, "scipy": scipy.__version__, "rows": list(map(dataclasses.asdict, rows))})
        return 0

    return exit_code(work)


if __name__ == "__main__":
    sys.exit(main())
