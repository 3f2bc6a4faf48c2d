"""Rows of all nodes by batches of sweeps, which leave leaves to the kernel that writes rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.graphs import grid, heap_dijkstra
from vkssp import UNREACHABLE, DistanceOverflowError, Graph, Solver, prepare
from vkssp.algorithms.phast import hierarchy_of
from vkssp.batch.row_writer import are_all, leaves_of
from vkssp.gpu.device import Device
from vkssp.solver.tables import rows


@pytest.fixture(params=[0, 4, 32], ids="subtrees of {}".format)
def sweeping(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Open a device that computes leaves where it writes rows, and sweeps by levels or also by subtrees."""
    with open_device() as device:
        subtrees = {"sweeps.subtree_nodes": request.param, "sweeps.subtree_invocations": 1}
        device.tuned = {**device.tuned, "sweeps.leaves": 1, **subtrees}
        yield device


def answer(solver: Solver, source: np.ndarray) -> np.ndarray | None:
    try:
        return np.asarray(solver.distances(source))
    except DistanceOverflowError:
        return None


def groups_of(graph: Graph, high: int) -> list[list[tuple[int, int]]]:
    """Return groups of seeds, one of which has the neighbours of a node and the node itself."""
    rng = np.random.default_rng(high)
    some = [[(int(node), int(rng.integers(high))) for node in rng.integers(0, graph.num_nodes, 3)] for _ in range(7)]
    node = graph.num_nodes // 2
    return [*some, [(node, 3), *((int(head), 0) for head in graph.head[graph.first_out[node] :][:2])]]


def check_rows(graph: Graph, solver: Solver) -> None:
    """Compare rows of many searches with Dijkstra's."""
    sources = np.arange(0, graph.num_nodes, max(1, graph.num_nodes // 33))
    columns = np.arange(graph.num_nodes, dtype=np.uint32)
    with Solver(graph, "dijkstra") as reference:
        for some in (sources, sources[:3]):
            found, expected = answer(solver, some), answer(reference, some)
            assert (found is None) == (expected is None)
            assert found is None or expected is None or np.array_equal(found, expected)
        for high, limit in product((9, 2**31), (2**20, 2**31)):
            groups = groups_of(graph, high)
            found, expected = (
                np.concatenate(list(rows(one, one.graph, groups, columns, limit=limit))) for one in (solver, reference)
            )
            assert np.array_equal(found, expected)


def test_rows_with_leaves(sweeping: Device) -> None:
    rng = np.random.default_rng(3)
    tails, heads = rng.integers(0, 90, (2, 120))
    star = Graph.from_edges([0] * 40, range(1, 41), range(40))
    for graph in (grid(9), Graph.from_edges(tails, heads, heads, num_nodes=90), star, Graph.from_edges([0], [1], [7])):
        with Solver(prepare(graph), "phast", sweeping) as solver:
            check_rows(graph, solver)
            for low, high in ((0, 3), (2**29, 2**32 - 2)):
                weight = rng.integers(low, high, graph.num_arcs).astype(np.uint32)
                solver.set_weights(weight)
                check_rows(Graph(graph.first_out, graph.head, weight), solver)
            solver.set_weights(weight[:1] // 2, [0])
            weight[:1] //= 2
            check_rows(Graph(graph.first_out, graph.head, weight), solver)


@pytest.mark.parametrize("size", [64, 512])
def test_tiles_of_many_searches(sweeping: Device, size: int) -> None:
    sweeping.tuned = {**sweeping.tuned, "sweeps.searches": 256, "rows.workgroup_size": size}
    rng = np.random.default_rng(size)
    tails, heads = rng.integers(0, 100, (2, 600))  # leaves with more arcs than a record holds
    graph = Graph.from_edges(tails, heads, rng.integers(2**30, 2**30 + 2**27, 600), num_nodes=103)
    sources = rng.integers(0, 103, 200)
    with Solver(prepare(graph), "phast", sweeping) as solver, Solver(graph, "dijkstra", "cpu") as reference:
        leaves = leaves_of(solver.graph.hierarchy)  # type: ignore[arg-type]
        customized = hierarchy_of(solver.session.shared.graph)  # type: ignore[arg-type]
        assert customized.downward_arcs()[0][leaves, 1].max() > 4
        for limit in (2**30 + 2**26, 2**32 - 2):
            found, expected = (one.distances(sources, limit=limit) for one in (solver, reference))
            assert np.array_equal(found, expected)
        expected_rows, found_rows = answer(reference, sources), answer(solver, sources)
        assert (found_rows is None) == (expected_rows is None)
        assert found_rows is None or expected_rows is None or np.array_equal(found_rows, expected_rows)


def test_wanted_nodes_other_than_all(sweeping: Device) -> None:
    graph = grid(13)
    with Solver(prepare(graph), "phast", sweeping) as solver:
        expected = np.stack([heap_dijkstra(graph, node) for node in range(40)])
        expected[expected > 300] = UNREACHABLE
        for wanted in (np.arange(169)[::-1], np.append(np.arange(169), [5, 5, 3]), np.arange(150), np.arange(8)):
            assert np.array_equal(solver.table(range(40), wanted, limit=300), expected[:, wanted])


def test_a_leaf_is_an_ancestor_of_no_other_supernode(sweeping: Device) -> None:
    with Solver(prepare(grid(9)), "phast", sweeping) as solver:
        shared = solver.session.shared.graph
        customized = hierarchy_of(shared)  # type: ignore[arg-type]
        leaves = leaves_of(customized.hierarchy)
        assert 0 < leaves.sum() < 81
        assert not np.isin(np.flatnonzero(leaves), customized.hierarchy.ancestor).any()
    assert are_all(np.array([2, 0, 1], np.uint32), 3) and not are_all(np.array([2, 0, 0], np.uint32), 3)
