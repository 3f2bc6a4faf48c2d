"""Hierarchies whose arrays do not fit into one buffer each, on a device whose limits are masked, beside Dijkstra."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.algorithms.test_phast import searched_together_from
from tests.cch.test_customization import dense
from tests.cch.test_recustomized import on_device, state
from tests.cch.test_unpack import same_paths
from tests.conftest import open_device
from tests.solver import test_micro_batches
from tests.support.graphs import check_path, grid, heap_dijkstra
from vkssp import UNREACHABLE, DeviceError, Solver, prepare
from vkssp.cch import label_pairs, labels, pairs, recustomized, top, topology, unpack
from vkssp.cch.topology import SUPERNODE
from vkssp.cch.unpack import can_unpack
from vkssp.engine import arrays
from vkssp.engine.arrays import can_split
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu.device import Device
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.gpu.split_buffer import NEEDS, SplitBuffer

#: Bytes that the masked device binds, too few for the arcs of the graph's hierarchy, its supernodes and what is below.
LIMIT = 1 << 17
GRAPH = prepare(grid(60))


def require_addresses(device: Device) -> None:
    """Skip the test on a device whose kernels cannot reach buffers by addresses."""
    if not can_split(device):
        pytest.skip("the device has no buffer addresses")


@pytest.fixture(scope="module")
def small() -> Iterator[Device]:
    """Open a device that binds little at once."""
    with pytest.MonkeyPatch.context() as patch:  # only while it is opened, as other fixtures open devices, too
        patch.setenv(MASK_VARIABLE, f"storage_range={LIMIT}")
        opened = open_device()
    with opened:
        require_addresses(opened)
        yield opened


@pytest.fixture
def in_parts(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Split the arrays of all hierarchies into parts of 64 pairs, of 8 supernodes."""
    require_addresses(device)
    monkeypatch.setattr(topology, "is_split", lambda device, hierarchy: True)
    monkeypatch.setattr(arrays, "part_bits", lambda device: 6)


def check_questions(solver: Solver) -> None:
    """Compare answers to all questions with the distances of Dijkstra's algorithm."""
    graph = solver.graph
    nodes = [node % graph.num_nodes for node in (3, 1234, 77, 3599, 3)]
    exact = np.array([heap_dijkstra(graph, source) for source in nodes])
    assert np.array_equal(solver.distances(nodes[0]), exact[0])
    assert np.array_equal(solver.distances(nodes), exact)
    assert np.array_equal(solver.table(nodes, nodes[::-1]), exact[:, nodes[::-1]])
    sources, targets = np.repeat(nodes, len(nodes)), np.tile(nodes, len(nodes))
    assert np.array_equal(solver.pairs(sources, targets), exact[:, nodes].reshape(-1))
    nearest = solver.nearest(nodes[:3])
    assert np.array_equal(nearest.distance, exact[:3].min(axis=0))
    for target in nodes:
        if exact[0, target] == UNREACHABLE:
            continue
        assert solver.distance(nodes[0], target) == exact[0, target]
        check_path(graph, solver.path(nodes[0], target), nodes[0], target, int(exact[0, target]))
    trees = solver.trees(nodes[:2])
    assert np.array_equal(trees.distance, exact[:2])
    reached = solver.accessibility(np.ones(graph.num_nodes), [150, 900], sources=nodes)
    assert np.array_equal(reached, np.stack([np.count_nonzero(exact <= limit, axis=1) for limit in (150, 900)], axis=1))
    with Solver(graph, "dijkstra") as reference:
        loads, expected = (each.betweenness(nodes[:4]) for each in (solver, reference))
        assert np.array_equal(loads.arcs, expected.arcs) and np.array_equal(loads.nodes, expected.nodes)


def test_all_questions_and_weights_that_change(small: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    hierarchy, rng = GRAPH.hierarchy, np.random.default_rng(5)
    assert hierarchy is not None and 8 * hierarchy.num_arcs > 3 * LIMIT
    monkeypatch.setattr(recustomized, "FEWEST_ARCS", 0)
    monkeypatch.setattr(recustomized, "MOST_WORK", 1)
    monkeypatch.setattr(recustomized, "SHARE", 1)
    with Solver(GRAPH, device=small) as solver:
        assert solver.algorithm == "phast"
        made = on_device(solver)
        of_arcs = [made.weights, made.arcs, made.supernodes]
        assert all(isinstance(array, SplitBuffer) and len(array.parts) > 1 for array in of_arcs)
        check_questions(solver)
        for count in (GRAPH.num_arcs, 1, 5, 3):
            changed = rng.choice(GRAPH.num_arcs, count, replace=False)
            solver.set_weights(rng.integers(0, 200, count), changed)
            check_questions(solver)


def test_weights_and_downward_arcs_are_those_of_single_buffers(
    device: Device, in_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Supernodes of many nodes, and of few; the same after changes of few weights."""
    monkeypatch.setattr(recustomized, "FEWEST_ARCS", 0)
    monkeypatch.setattr(recustomized, "MOST_WORK", 1)
    monkeypatch.setattr(recustomized, "SHARE", 1)
    rng = np.random.default_rng(3)
    for graph in (prepare(grid(11, seed=4)), prepare(dense(rng))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(topology, "is_split", lambda device, hierarchy: False)
            whole = Solver(graph, "phast", device)
        with whole, Solver(prepare(graph), "phast", device) as solver:
            assert isinstance(on_device(solver).weights, SplitBuffer)
            for count in (0, 1, 4, 2):
                changed = rng.choice(graph.num_arcs, count, replace=False)
                weights = rng.integers(0, 99, count)
                for each in (whole, solver):
                    each.set_weights(weights, changed)
                for one, other in zip(state(solver), state(whole), strict=True):
                    assert np.array_equal(one, other)


def test_paths_are_unpacked_and_labels_made(device: Device, in_parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(14, low=0, high=4))
    monkeypatch.setattr(labels, "PAIRS_A_NODE", (0.0, 0.0))
    found: list[bool] = []
    path, find = unpack.Unpacker.path, label_pairs.LabelPairs.find
    monkeypatch.setattr(unpack.Unpacker, "path", lambda *given: (found.append(True), path(*given))[1])
    monkeypatch.setattr(label_pairs.LabelPairs, "find", lambda *given: (found.append(False), find(*given))[1])
    with Solver(graph.with_weights(graph.weight + 1), "phast", device) as solver:
        exact = heap_dijkstra(solver.graph, 3)
        for target in (0, 100, 195):
            check_path(solver.graph, solver.path(3, target), 3, target, int(exact[target]))
        targets = np.tile(np.arange(graph.num_nodes), 30)
        assert np.array_equal(solver.pairs(np.full(len(targets), 3), targets), exact[targets])
    assert set(found) == {True, False}


def test_questions_of_threads(device: Device, in_parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkssp.solver.session.NODES_OF_TREES", 0)
    with Solver(test_micro_batches.GRAPH, "dijkstra") as reference:
        expected = [ask() for ask in test_micro_batches.questions_of(reference, np.random.default_rng(3))]
    with Solver(test_micro_batches.GRAPH, "phast", device) as solver:
        assert isinstance(on_device(solver).weights, SplitBuffer)
        questions = test_micro_batches.questions_of(solver, np.random.default_rng(3))
        together = test_micro_batches.asked_together(solver, questions)
    for one, other in zip(expected, together, strict=True):
        # The first blocks of rows are of different sizes.
        assert test_micro_batches.same(one, other[: len(one)] if isinstance(one, np.ndarray) else other)


def test_devices_that_cannot_split_refuse_in_one_line(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    require_addresses(device)
    hierarchy = GRAPH.hierarchy
    assert hierarchy is not None
    needed, whole = 8 * hierarchy.num_arcs, 4 * GRAPH.num_arcs
    for mask, message in (
        (f"storage_range={LIMIT} -{NEEDS}", f"needs {needed} bytes .* binds {LIMIT} at most and lacks buffer.*; use"),
        (f"storage_range={whole - 1}", f"weights of the graph, or distances, need {whole} bytes, .*; use another"),
    ):
        monkeypatch.setenv(MASK_VARIABLE, mask)
        with open_device() as opened:
            owned = len(opened.owned)
            with pytest.raises(DeviceError, match=message):
                Solver(GRAPH, "phast", opened)
            assert len(opened.owned) == owned
    with open_device() as opened:
        with Solver(GRAPH, device=opened) as solver:
            assert solver.algorithm != "phast"
            assert np.array_equal(solver.distances(5), heap_dijkstra(GRAPH, 5))


def test_paths_where_the_arcs_of_the_graph_are_split_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in ("_MOST", "_SOFTWARE_MOST"):  # so that the arcs of a path fit into one buffer
        monkeypatch.setattr(unpack, most, 1000)
    exact = heap_dijkstra(GRAPH, 3)
    monkeypatch.setenv(MASK_VARIABLE, f"storage_range={8 * GRAPH.num_arcs - 4}")
    with open_device() as opened:
        require_addresses(opened)
        with Solver(GRAPH, "phast", opened) as solver:
            for target in (0, 100, 3000):
                check_path(GRAPH, solver.path(3, target), 3, target, int(exact[target]))
            shared = solver.session.shared.graph
            assert isinstance(shared, DeviceGraph) and isinstance(shared.incoming()[1], SplitBuffer)
            assert can_unpack(shared, on_device(solver))


@pytest.mark.parametrize("at_top", [False, True])
def test_pairs_where_few_labels_fit(monkeypatch: pytest.MonkeyPatch, at_top: bool) -> None:
    """Neither do all nodes at the top, or the distances there of many pairs."""
    graph, limit = prepare(grid(30)), 14_000
    assert graph.hierarchy is not None and 4 * graph.num_arcs <= limit
    assert 4 * pairs.label_bytes(graph.hierarchy, 1) < limit < pairs.label_bytes(graph.hierarchy, pairs.KEPT)
    assert top.top_of(graph.hierarchy, 1).nodes.nbytes > limit
    # So little shared memory that the lowest nodes of long paths are kept beyond it.
    monkeypatch.setenv(MASK_VARIABLE, f"storage_range={limit} shared_memory={20 * graph.hierarchy.tree_height}")
    with searched_together_from(1 if at_top else None), open_device() as small:
        require_addresses(small)
        with Solver(graph, "phast", small) as solver:
            assert bool(on_device(solver).top.levels) == at_top
            check_questions(solver)


def test_paths_of_more_pairs_than_labels_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in ("_MOST", "_SOFTWARE_MOST"):
        monkeypatch.setattr(unpack, most, 600)
    limit = 4 * GRAPH.num_arcs
    assert GRAPH.hierarchy is not None and limit < pairs.label_bytes(GRAPH.hierarchy, 12)
    monkeypatch.setenv(MASK_VARIABLE, f"storage_range={limit}")
    counts = []
    follow = unpack.Unpacker.follow_single_search
    monkeypatch.setattr(
        unpack.Unpacker,
        "follow_single_search",
        lambda self, *given: counts.append(given[0] * given[1]) or follow(self, *given),
    )
    with open_device() as opened:
        require_addresses(opened)
        same_paths(GRAPH, opened, np.random.default_rng(3))
    assert counts and max(counts) < 12, "of up to 16 pairs"


def test_paths_where_no_label_fits(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "label_bytes", lambda hierarchy, kept, tracks=0: kept << 40)
    with Solver(GRAPH, "phast", device) as solver:
        check_questions(solver)


def test_a_supernode_takes_no_more_of_a_part_than_pairs_do() -> None:
    assert 2**2 * 8 < SUPERNODE.itemsize <= 2**3 * 8, "the parts of shaders/include/hierarchy.glsl"
