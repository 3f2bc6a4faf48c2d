"""Graphs whose arcs do not fit into one buffer, on a device whose limits are masked, beside independent references."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.graphs import ON_DEVICE, check_path, heap_dijkstra, make_solver
from vkssp import UNREACHABLE, DeviceError, Graph, Solver
from vkssp.bench.optimality import why_not_shortest
from vkssp.engine import arrays
from vkssp.engine.arrays import make_array, part_bits
from vkssp.engine.device_graph import DeviceGraph
from vkssp.generate import rmat, uniform_random
from vkssp.gpu.device import Device
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.gpu.split_buffer import SplitBuffer
from vkssp.prepared.renumbered import RenumberedGraph

#: Bytes that the masked device binds: 8192 arcs, so that the arcs of the graphs are in several buffers.
LIMIT = 65536
# Skewed degrees; many arcs at each node, so that near_far sorts them by weight; and few.
GRAPHS = {"rmat": rmat(10, 36), "random": uniform_random(1500, 17, seed=3), "sparse": uniform_random(3600, 5, seed=4)}
# Those that have no arrays of arcs that can be split.
WHOLE = ("block_resident", "phast")


@pytest.fixture(scope="module")
def small() -> Iterator[Device]:
    """Open a device that binds little at once."""
    with pytest.MonkeyPatch.context() as patch:  # only while it is opened, as other fixtures open devices, too
        patch.setenv(MASK_VARIABLE, f"storage_range={LIMIT}")
        opened = open_device()
    with opened:
        yield opened


def test_boundaries_of_buffers_lie_within_the_arcs_of_a_node() -> None:
    for graph in GRAPHS.values():
        for boundary in range(LIMIT // 8, graph.num_arcs, LIMIT // 8):
            assert boundary not in graph.first_out
        assert 8 * graph.num_arcs > 2 * LIMIT


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        *(("near_far", name) for name in GRAPHS),
        *((name, "rmat") for name in ON_DEVICE if name not in ("near_far", *WHOLE)),
    ],
)
def test_distances_and_paths(small: Device, algorithm: str, name: str) -> None:
    graph = GRAPHS[name]
    source = int(np.argmax(np.diff(graph.first_out)))
    expected = heap_dijkstra(graph, source)
    reached = np.flatnonzero(expected != UNREACHABLE)
    target = int(reached[np.argmax(expected[reached])])
    with make_solver(graph, algorithm, small) as solver:
        assert np.array_equal(solver.distances(source), expected)
        check_path(graph, solver.path(source, target), source, target, int(expected[target]))


@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_found_beside_distances(small: Device, name: str) -> None:
    """Trees, nearest sources, and the same after a change of some weights and of all."""
    graph = GRAPHS[name]
    sources = [int(np.argmax(np.diff(graph.first_out))), 7]
    rng = np.random.default_rng(5)
    changed = rng.choice(graph.num_arcs, 3000, replace=False)
    weights = graph.weight.copy()
    weights[changed] = rng.integers(1, 99, len(changed))
    with Solver(graph, "near_far", small) as solver, Solver(graph, "delta_step", small) as other:
        for weight in (graph.weight, weights, weights[::-1].copy()):
            given = graph.with_weights(weight)
            solver.set_weights(weight)
            other.set_weights(weight)
            expected = np.array([heap_dijkstra(given, source) for source in sources])
            trees = solver.trees(sources)
            assert np.array_equal(trees.distance, expected)
            for row, distance in enumerate(expected):
                arc = trees.arc[row]
                entered = np.flatnonzero(arc != UNREACHABLE)
                assert len(entered) == np.count_nonzero(distance != UNREACHABLE) - 1
                ends = distance[given.tail[arc[entered]]] + given.weight[arc[entered]]
                assert np.array_equal(given.head[arc[entered]], entered) and np.array_equal(ends, distance[entered])
            assert np.array_equal(other.distances(sources[0]), expected[0])
            nearest = other.nearest(sources)
            assert np.array_equal(nearest.distance, expected.min(axis=0))
            least = np.where(expected.min(axis=0) == UNREACHABLE, UNREACHABLE, expected.argmin(axis=0))
            assert np.array_equal(nearest.source, least)


def test_distances_of_64_bits(small: Device) -> None:
    if not {"int64", "int64_atomics"} <= small.info.features:
        pytest.skip("the device has no integers of 64 bits")
    graph = GRAPHS["rmat"].with_weights(GRAPHS["rmat"].weight + 2**31)
    source = int(np.argmax(np.diff(graph.first_out)))
    expected = heap_dijkstra(graph, source)
    unreached = expected == UNREACHABLE
    target = int(np.argmax(np.where(unreached, 0, expected)))
    with Solver(graph, "near_far", small, distance_bits=64) as solver:
        found = solver.distances(source)
        assert np.array_equal(found[~unreached], expected[~unreached]) and (found[unreached] == 2**64 - 1).all()
        check_path(graph, solver.path(source, target), source, target, int(expected[target]))
        assert np.array_equal(solver.nearest([source]).distance[~unreached], expected[~unreached])
        assert np.array_equal(solver.trees(source).distance, found)


def test_the_choice_takes_an_algorithm_that_can(small: Device) -> None:
    graph = GRAPHS["rmat"]
    expected = heap_dijkstra(graph, 0)
    with Solver(graph, device=small) as solver:
        assert solver.algorithm == "push_pull" and np.array_equal(solver.distances(0), expected)
    with Solver(GRAPHS["random"], device=small) as solver:
        assert solver.algorithm == "near_far"
        assert np.array_equal(solver.distances(0), heap_dijkstra(GRAPHS["random"], 0))
    with pytest.raises(DeviceError, match=rf"\d+ bytes are needed for the other arcs, .* binds {LIMIT} at most"):
        Solver(graph, "block_resident", small)


def test_queues_beyond_one_buffer(small: Device) -> None:
    graph = uniform_random(8000, 10, seed=2)
    expected = heap_dijkstra(graph, 3)
    for delta in (1, 50, 2**31):  # most entries wait in the far pile, or all are near
        with Solver(graph, "near_far", small, delta=delta) as solver:
            assert 16 * graph.num_nodes > LIMIT and np.array_equal(solver.distances(3), expected)


def test_rows_of_nodes_that_are_more_than_arcs(small: Device) -> None:
    """Nodes without arcs have rows, too, of 8 bytes; distances have 4."""
    count = 12_000
    nodes = np.arange(0, count, 3)
    graph = Graph.from_edges(nodes[:-1], nodes[1:], 1 + nodes[1:] % 7, num_nodes=count)
    assert 8 * graph.num_arcs <= LIMIT < 8 * count
    expected = heap_dijkstra(graph, 9)
    for algorithm in ("near_far", "delta_step"):
        with Solver(graph, algorithm, small) as solver:
            assert np.array_equal(solver.distances(9), expected)
            check_path(graph, solver.path(9, 9000), 9, 9000, int(expected[9000]))
    with Solver(graph, device=small, reduction="none") as solver:
        assert np.array_equal(solver.distances(9), expected)


def test_an_array_is_read_as_it_was_written(small: Device) -> None:
    values = np.random.default_rng(1).integers(0, 2**32, 3 * LIMIT // 4 + 5, dtype=np.uint32)
    array = make_array(small, values.nbytes, "the table", small, split=True)
    try:
        assert isinstance(array, SplitBuffer) and len(array.parts) == 4
        assert array.memory_bytes - values.nbytes <= 64
        array.write(values)
        assert np.array_equal(array.read(), values)
        array.write(values[:20000], 4 * 15000)
        assert np.array_equal(array.read(np.uint32, 20000, 4 * 15000), values[:20000])
    finally:
        array.close()
    assert 2 ** (part_bits(small) + 3) == LIMIT


def test_more_arcs_than_kernels_can_number_are_refused_first(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS["sparse"]
    monkeypatch.setattr(arrays, "MOST_ARCS", graph.num_arcs - 1)
    owned = len(device.owned)
    with pytest.raises(
        DeviceError, match=rf"{graph.num_arcs} arcs, and searches on .* number {graph.num_arcs - 1}; us"
    ):
        DeviceGraph(device, RenumberedGraph(graph, "natural"))
    assert len(device.owned) == owned


def test_an_error_while_an_array_is_made_leaves_nothing(small: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    owned, before = len(small.owned), small.memory_bytes
    monkeypatch.setattr(SplitBuffer, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Solver(GRAPHS["sparse"], "delta_step", small)
    assert len(small.owned) == owned and small.memory_bytes == before


def test_a_mask_names_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("storage=1", "storage_range=0", "storage_range", "timestamp_period=1", "-int46"):
        monkeypatch.setenv(MASK_VARIABLE, wrong)
        with pytest.raises(DeviceError, match=f"{MASK_VARIABLE} has '{wrong}'; give limits like storage_range="):
            open_device()
    monkeypatch.setenv(MASK_VARIABLE, "workgroup_size=64,storage_range=99999999999 -subgroup_vote")
    with open_device() as opened:
        assert opened.limits.workgroup_size == 64 and opened.limits.storage_range <= 2**32
        assert "subgroup_vote" not in opened.info.features and "subgroup_basic" in opened.info.features


def test_blocks_of_one_node_and_no_arcs(small: Device) -> None:
    with Solver(Graph.from_edges([], [], [], num_nodes=2), "near_far", small) as solver:
        assert solver.distances(0).tolist() == [0, UNREACHABLE]


@pytest.mark.slow
def test_arcs_beyond_what_the_device_really_binds(device: Device) -> None:
    if device.limits.buffer > 2**27:
        pytest.skip("the device binds more than arcs of a test should take")
    graph = rmat(20, 17)
    assert 8 * graph.num_arcs > device.limits.buffer
    for algorithm in ("auto", "delta_step", "near_far"):
        with Solver(graph, algorithm, device, reduction="none") as solver:
            assert solver.algorithm == ("push_pull" if algorithm == "auto" else algorithm)
            assert why_not_shortest(graph, 1, solver.distances(1)) == ""
