"""Tables by labels of their nodes alone, on a device, beside searches from each source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import DATA, EXAMPLES
from tests.support.failures import fail_each_call
from tests.support.graphs import grid, random_graphs, scipy_dijkstra
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, Solver, SolverPool, prepare, read_graph
from vkssp.batch import label_table
from vkssp.batch.label_table import LabelTable, label_rows_at_once
from vkssp.batch.sweep_batch import SweepBatch
from vkssp.gpu.device import Device
from vkssp.solver.session import Session


@pytest.fixture(scope="module", autouse=True)
def always() -> Iterator[None]:
    """Let tables of any number of columns be made so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_table, "MOST_PART", 1000.0)
        patch.setattr(Session, "makes_pairs", lambda *_: False)
        yield


def check_rows(
    solver: Solver, reference: Solver, groups: list[list[tuple[int, int]]], nodes: np.ndarray, limit: int
) -> None:
    """Compare rows with those of Dijkstra's algorithm."""
    blocks = list(solver.row_blocks(solver.graph, groups, nodes.astype(np.uint32), limit=limit))
    within = None if limit == UNREACHABLE else limit
    for group, row in zip(groups, np.concatenate([block.distances for block in blocks]), strict=True):
        exact = reference.distances(group, limit=within) if group else np.full(solver.graph.num_nodes, UNREACHABLE)
        assert np.array_equal(row, exact[nodes])


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    graph=random_graphs(),
    seed=st.integers(0, 2**32 - 1),
    searches=st.sampled_from([2, 7, 4096]),
    quads=st.sampled_from([1, 2, 8]),
)
def test_random_graphs(device: Device, graph: Graph, seed: int, searches: int, quads: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random() < 0.3, 1, rng.integers(0, 5, 20))  # or one seed in each group
    groups = [
        [(int(node), int(offset)) for node, offset in rng.integers(0, graph.num_nodes, (int(count), 2))]
        for count in counts
    ]
    nodes = rng.integers(0, graph.num_nodes, rng.integers(1, 80))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_table, "MOST_SEARCHES", searches)
        patch.setitem(device.tuned, "label_table.quads", quads)
        with Solver(prepare(graph), "phast", device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
            check_rows(solver, reference, groups, nodes, UNREACHABLE if seed % 2 else int(rng.integers(0, 300)))
            assert isinstance(solver.session.take_kept(), LabelTable)


def test_seeds_on_many_branches_and_whole_tables(device: Device) -> None:
    graph, rng = grid(20), np.random.default_rng(3)
    groups = [[(int(n), int(o)) for n, o in rng.integers(0, 400, (k, 2))] for k in (64, 1, 0, 2, 30, *[5] * 60)]
    with Solver(prepare(graph), "phast", device) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        check_rows(solver, reference, groups, np.arange(400), UNREACHABLE)
        assert np.array_equal(solver.table(range(400)), reference.table(range(400)))


def test_weights_and_nodes_that_change_share_buffers(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[LabelTable] = []
    make = LabelTable.__init__
    monkeypatch.setattr(LabelTable, "__init__", lambda self, *given: made.append(self) or make(self, *given))
    graph = grid(12)
    with Solver(prepare(graph), "phast", device) as solver:
        for factor, columns in ((1, range(20)), (1, range(20)), (3, range(20)), (2, range(5, 25)), (2, range(15))):
            now = graph.with_weights(graph.weight * np.uint32(factor))
            if factor != solver.graph.weight[0] // graph.weight[0]:
                solver.set_weights(now.weight)
            exact = np.stack([scipy_dijkstra(now, source) for source in range(50)])
            assert np.array_equal(solver.table(range(50), columns), exact[:, columns])
        assert len(made) == 1
        assert np.array_equal(solver.table(range(50), range(90)), exact[:, :90])
        both = [solver.table(range(24), [2, 9], chunked=True) for _ in range(2)]
        for first, second in zip(*both, strict=True):
            assert np.array_equal(first, second)
    assert len(made) > 1 and all(one.closed for one in made)


def test_only_sums_that_matter_may_overflow(device: Device) -> None:
    graph = Graph.from_edges([0, 1, 2, 3, 0, 5], [1, 2, 3, 4, 5, 1], [2**31, 2**31 - 2, 1, 1, 7, 2**31 - 7])
    with Solver(prepare(graph), "phast", device) as solver:
        assert solver.table([0, 1, 5], [1, 2]).tolist() == [[2**31, 2**32 - 2], [0, 2**31 - 2], [2**31 - 7, 2**32 - 9]]
        assert solver.table([1, 4], [3, 0]).tolist() == [[2**31 - 1, UNREACHABLE], [UNREACHABLE, UNREACHABLE]]
        with pytest.raises(DistanceOverflowError):
            solver.table([0, 1], [3])
        assert solver.table([0, 1], [3], limit=2**31).tolist() == [[UNREACHABLE], [2**31 - 1]]


def test_streets_with_turn_costs_in_several_blocks(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, rng = prepare(read_graph(DATA / "andorra.osm.pbf")), np.random.default_rng(8)
    sources, targets = rng.integers(0, graph.num_nodes, 150), rng.integers(0, graph.num_nodes, 70)
    exact = np.stack([scipy_dijkstra(graph, int(source))[targets] for source in sources])
    for most in (label_table.MOST_BYTES, 4 * 70 * 33):
        monkeypatch.setattr(label_table, "MOST_BYTES", most)
        with Solver(graph, "phast", device) as solver:
            assert np.array_equal(solver.table(sources, targets), exact)
    with SolverPool(graph, "phast", [device, second]) as pool:
        assert np.array_equal(pool.table(sources, targets), exact)


def test_which_tables_are_made_so(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_table, "MOST_PART", 0.25)
    graph, limits = prepare(grid(20)), device.limits
    with Solver(graph, "phast", device) as solver:
        exact = solver.table(range(9), range(400))
        assert isinstance(solver.session.take_kept(), SweepBatch)
        copy = solver.session.shared.graph
        row_bytes = 4 * 8 * -(-graph.hierarchy.tree_height // 8)  # type: ignore[union-attr]
        for few, is_made in (
            ({}, True),
            ({"storage_buffers": 7}, False),
            ({"shared_memory": 700}, False),
            ({"shared_memory": 4096}, True),
            ({"workgroup_size": 32}, True),
            ({"storage_range": 90 * row_bytes}, False),
            ({"storage_range": 100 * row_bytes}, True),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(device, "limits", replace(limits, **few))  # type: ignore[arg-type]
                searches = label_rows_at_once(copy, 9, 100)  # type: ignore[arg-type]
                assert (searches > 1) == is_made, few
                if is_made:
                    assert np.array_equal(solver.table(range(9), range(100)), exact[:, :100])
                    kept = solver.session.take_kept()
                    assert isinstance(kept, LabelTable)
                    kept.close()


def test_a_driver_that_fails_leaves_nothing(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(4))
    exact = np.stack([scipy_dijkstra(graph, source) for source in range(16)])

    def run() -> None:
        with Solver(graph, "phast", device) as solver:
            for columns in (range(5), range(3, 16)):
                assert np.array_equal(solver.table(range(16), columns), exact[:, columns])

    run()  # makes what all solvers on the device share
    assert fail_each_call(device, monkeypatch, run, compiles=False) > 100
