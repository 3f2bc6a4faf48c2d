"""Paths that are unpacked from a hierarchy on the CPU, beside those that are read off Dijkstra's distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.graphs import grid, random_graphs
from vkssp import Graph, Solver, prepare
from vkssp.cpu import phast

ENDS = list[tuple[int, int]]


def shortest(solver: Solver, seeds: ENDS, targets: ENDS) -> Any:
    found = solver.search_path(seeds, targets)
    return None if found is None else (*found[:3], found[3].tolist())


def check(monkeypatch: pytest.MonkeyPatch, graph: Graph, questions: list[tuple[ENDS, ENDS]]) -> tuple[int, int]:
    """Compare answers, each asked for twice; return how many paths were asked for, and how many were unpacked."""
    counts = [0, 0]
    unpack = phast.Unpacker.unpack

    def counting(*arguments: Any) -> tuple[int, int]:
        found = unpack(*arguments)
        counts[0] += 1
        counts[1] += found[0] >= 0
        return found

    with monkeypatch.context() as patched:
        patched.setattr(phast, "FEW_PATHS", 0)
        patched.setattr(phast.Unpacker, "unpack", counting)
        with Solver(prepare(graph), "phast", "cpu") as solver, Solver(graph, "dijkstra", "cpu") as reference:
            for _ in range(2):  # first with arcs whose halves are not known
                for question in questions:
                    assert shortest(solver, *question) == shortest(reference, *question)
    return counts[0], counts[1]


def test_unique_paths_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    plain = grid(24)
    graph = Graph.from_edges(plain.tail, plain.head, rng.integers(1, 1 << 20, plain.num_arcs))
    nodes = rng.integers(0, graph.num_nodes, (60, 2)).tolist()
    questions: list[tuple[ENDS, ENDS]] = [([(a, 0)], [(b, 0)]) for a, b in nodes]
    questions += [
        ([(a, 5), (b, 900_000)], [(c, 7), (d, 0), (a, 1 << 22)])
        for (a, b), (c, d) in zip(nodes, nodes[::-1], strict=True)
    ]
    asked, unpacked = check(monkeypatch, graph, questions)
    assert asked == unpacked == 2 * len(questions)


def test_where_paths_are_equally_short(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    plain = grid(16)
    # Zero weights, parallel arcs, loops, and seeds on the paths of other seeds.
    tail, head = (np.concatenate([ends, ends[:50], np.arange(9)]) for ends in (plain.tail, plain.head))
    graph = Graph.from_edges(
        tail, head, np.where(tail < head, rng.integers(0, 5, len(tail)), rng.integers(1, 5, len(tail)))
    )
    nodes = rng.integers(0, graph.num_nodes, (80, 3)).tolist()
    questions: list[tuple[ENDS, ENDS]] = [([(a, 0)], [(b, 0)]) for a, b, _ in nodes]
    with Solver(graph, "dijkstra", "cpu") as solver:
        for a, b, c in nodes:
            questions.append(([(a, 0), (c, min(solver.distance(a, c), 1 << 20))], [(b, 0), (c, 3)]))
    asked, unpacked = check(monkeypatch, graph, questions)
    assert 0 < unpacked < asked


@given(graph=random_graphs(), data=st.data())
@settings(max_examples=2 * EXAMPLES)
def test_random_graphs(graph: Graph, data: st.DataObject) -> None:
    if not graph.num_nodes:
        return
    ends = st.lists(st.tuples(st.integers(0, graph.num_nodes - 1), st.integers(0, 9)), min_size=1, max_size=3)
    questions = [(data.draw(ends), data.draw(ends)) for _ in range(4)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        check(monkeypatch, graph, questions)
