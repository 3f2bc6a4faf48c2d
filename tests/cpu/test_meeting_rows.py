"""Rows to few nodes of a hierarchy, made where upward searches meet, beside searches from each source."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import grid, random_graphs
from vkssp import UNREACHABLE, CpuDevice, DistanceOverflowError, Graph, Solver, prepare
from vkssp.cores import num_cores
from vkssp.cpu.meeting_rows import MeetingRows
from vkssp.solver import session


@pytest.fixture(scope="module", autouse=True)
def always() -> Iterator[None]:
    """Let rows to any number of nodes be made so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "meetings_suit", lambda *_: True)
        patch.setattr(session.Session, "makes_pairs", lambda *_: False)
        yield


def check_rows(graph: Graph, groups: list[list[tuple[int, int]]], nodes: np.ndarray, limit: int) -> None:
    """Compare rows with those of Dijkstra's algorithm."""
    with Solver(prepare(graph), "phast", "cpu") as solver, Solver(graph, "dijkstra", "cpu") as reference:
        blocks = list(solver.row_blocks(solver.graph, groups, nodes.astype(np.uint32), limit=limit))
        assert isinstance(solver.session.take_kept(), MeetingRows)
        for group, row in zip(groups, np.concatenate([block.distances for block in blocks]), strict=True):
            within = None if limit == UNREACHABLE else limit
            exact = reference.distances(group, limit=within) if group else np.full(graph.num_nodes, UNREACHABLE)
            assert np.array_equal(row, exact[nodes])


@settings(deadline=None)
@given(random_graphs(), st.integers(0, 2**32 - 1))
def test_random_graphs(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = [
        [(int(node), int(offset)) for node, offset in rng.integers(0, graph.num_nodes, (int(count), 2))]
        for count in rng.integers(0, 5, 20)
    ]
    nodes = rng.integers(0, graph.num_nodes, rng.integers(1, 80))
    check_rows(graph, groups, nodes, UNREACHABLE if seed % 2 else int(rng.integers(0, 300)))


def test_seeds_on_many_branches() -> None:
    graph, rng = grid(30), np.random.default_rng(3)
    groups = [[(int(n), int(o)) for n, o in rng.integers(0, 900, (k, 2))] for k in (64, 1, 0, 2, 30, *[5] * 200)]
    check_rows(graph, groups, np.arange(900), UNREACHABLE)


def test_only_sums_that_matter_may_overflow() -> None:
    graph = Graph.from_edges([0, 1, 2, 3, 0, 5], [1, 2, 3, 4, 5, 1], [2**31, 2**31 - 2, 1, 1, 7, 2**31 - 7])
    with Solver(prepare(graph), "phast", "cpu") as solver:
        assert solver.table([0, 1, 5], [1, 2]).tolist() == [[2**31, 2**32 - 2], [0, 2**31 - 2], [2**31 - 7, 2**32 - 9]]
        assert solver.table([1, 4], [3, 0]).tolist() == [[2**31 - 1, UNREACHABLE], [UNREACHABLE, UNREACHABLE]]
        with pytest.raises(DistanceOverflowError):
            solver.table([0, 1], [3])
        assert solver.table([0, 1], [3], limit=2**31).tolist() == [[UNREACHABLE], [2**31 - 1]]


def test_weights_that_change_and_other_nodes() -> None:
    graph = grid(12)
    with Solver(prepare(graph), "phast", "cpu") as solver:
        for factor, columns in ((1, range(20)), (1, range(20)), (3, range(20)), (2, range(5, 144))):
            now = graph.with_weights(graph.weight * np.uint32(factor))
            solver.set_weights(now.weight)
            with Solver(now, "dijkstra", "cpu") as reference:
                assert np.array_equal(solver.table(range(50), columns), reference.table(range(50), columns))


def test_rows_that_meet_need_less_memory_than_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of few columns must not fall back to one sweep a row where many sweeps do not fit into memory."""
    graph = prepare(grid(30))
    monkeypatch.setattr("vkssp.cpu.rows.SMALL", 0)
    monkeypatch.setattr(session, "meetings_suit", lambda _, wanted, rows: wanted < 100 and rows > 1)
    with Solver(graph, "phast", "cpu") as solver:
        monkeypatch.setattr(CpuDevice, "free_bytes", lambda _: 2 * num_cores() * 20 * 900)
        assert solver.session.rows_at_once(50, 10) > 1 == solver.session.rows_at_once(50, 500)
        table = solver.table(range(50), range(10))
    with Solver(graph, "dijkstra", "cpu") as reference:
        assert np.array_equal(table, reference.table(range(50), range(10)))
