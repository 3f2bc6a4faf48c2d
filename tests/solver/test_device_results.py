"""Results that stay on the device: the host's results, whatever finds them, and what remains of the memory."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.algorithms.test_phast import exact_rows
from tests.conftest import open_device
from tests.solver.test_overflow import heavy_graph
from tests.support.graphs import make_solver
from tests.support.mapped_memory import Mapping
from vkssp import UNREACHABLE, DeviceError, DistanceOverflowError, Graph, QueryError, Solver, prepare
from vkssp.batch.device_rows import DeviceRows
from vkssp.batch.sweep_batch import SweepBatch
from vkssp.engine.shaders import lacks_of
from vkssp.generate import road_grid
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.exporting import share_memory
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.gpu.recording import Recording
from vkssp.graph.distance_type import DISTANCE_TYPES
from vkssp.prepared.seed_groups import Groups
from vkssp.solver import session

GRAPH = prepare(road_grid(20, seed=3))
SOURCES = np.arange(0, 400, 20)


@pytest.fixture
def mapping(monkeypatch: pytest.MonkeyPatch) -> Mapping:
    """Return what stands for CUDA on the device of the test."""
    return Mapping()


@pytest.fixture
def exporting(mapping: Mapping) -> Iterator[Device]:
    """Open a device of its own whose memory other libraries read."""
    with open_device() as device:
        if "memory_export" not in device.info.features or device.info.kind != "cpu":
            pytest.skip("only memory of a software device can be mapped")
        share_memory(device, mapping)
        yield device


def check_all(solver: Solver) -> None:
    """Compare all kinds of results with the host's, by NumPy's view of the memory."""
    asked = [
        (solver.distances_on_device(SOURCES), solver.distances(SOURCES)),
        (solver.distances_on_device(SOURCES[:9], limit=3000), solver.distances(SOURCES[:9], limit=3000)),
        (solver.distances_on_device(7), solver.distances(7)),
        (solver.distances_on_device([(7, 3), (30, 1)], limit=2000), solver.distances([(7, 3), (30, 1)], limit=2000)),
        (solver.table_on_device(SOURCES[3:], SOURCES[:13]), solver.table(SOURCES[3:], SOURCES[:13])),
        (solver.table_on_device([1, 2], limit=100), solver.table([1, 2], limit=100)),
        (solver.pairs_on_device(SOURCES[1:], SOURCES[:-1]), solver.pairs(SOURCES[1:], SOURCES[:-1])),
    ]
    for array, expected in asked:
        found = np.from_dlpack(array)
        assert found.dtype == array.dtype == expected.dtype and found.shape == array.shape == expected.shape
        assert np.array_equal(found, expected)


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize("algorithm", ["phast", "block_resident", "bellman_ford"])
def test_results_are_those_of_the_host(exporting: Device, mapping: Mapping, algorithm: str) -> None:
    with make_solver(GRAPH, algorithm, exporting) as solver:
        check_all(solver)
        kept = mapping.in_use
        assert kept > 0 == mapping.waits
        check_all(solver)
        # The memory of results that have ended serves the next ones, after what may still read it.
        assert mapping.in_use == kept == mapping.waits
        array = solver.distances_on_device(iter([7]))
        assert np.array_equal(np.from_dlpack(array), solver.distances([7]))
        del array
        solver.distances_on_device(7)
        reader: Any = solver.session.work().reader
        assert not reader.recorded().pending, "it would wait for a recording that another thread may have by then"
        if algorithm == "phast":
            array, expected = solver.distances_on_device(SOURCES), solver.distances(SOURCES)
            exporting.close()
            assert np.array_equal(np.from_dlpack(array), expected)
            with pytest.raises(DeviceError, match="closed"):
                solver.distances_on_device(SOURCES)
            del array
    gc.collect()
    assert mapping.in_use == 0
    if algorithm == "block_resident":
        with Solver(road_grid(10, seed=3, shape_nodes=3), algorithm, exporting, reduction="full") as solver:
            check_all(solver)


@pytest.mark.parametrize(("algorithm", "place"), [("phast", "cpu"), ("dijkstra", "cpu"), ("phast", "")])
@pytest.mark.usefixtures("may_use_vulkan")
def test_results_in_memory_of_the_host(algorithm: str, place: str) -> None:
    """Of software devices and of the CPU, without a copy; they remain when the solver is closed."""
    with Solver(GRAPH, algorithm, place) as solver:
        if solver.device.info.kind not in ("cpu", "integrated"):
            pytest.skip("the device has memory of its own")
        check_all(solver)
        array, expected = solver.table_on_device(SOURCES), solver.table(SOURCES)
        assert array.device == "cpu" and np.may_share_memory(np.from_dlpack(array), array.numpy())
    assert np.array_equal(np.from_dlpack(array), expected)
    with pytest.raises(QueryError, match="closed"):
        solver.table_on_device(SOURCES)


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize("algorithm", ["phast", "near_far", "block_resident"])
def test_distances_that_do_not_fit(
    exporting: Device, mapping: Mapping, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    """Rows are made again where a sum overflows, after the rows have been given away; errors are those of the host."""
    outcomes = set()
    give_away = Recording.give_away

    def noted(self: Recording, buffer: Buffer, *, takes_back: bool = False) -> None:
        outcomes.add("taken back" if takes_back else "given")
        give_away(self, buffer, takes_back=takes_back)

    monkeypatch.setattr(Recording, "give_away", noted)
    for seed in (0, 5):
        graph = heavy_graph(seed)
        with make_solver(prepare(graph), algorithm, exporting) as solver:
            for nodes in ([3], [5, 7], list(range(12))):
                try:
                    expected = solver.distances(nodes)
                except DistanceOverflowError:
                    with pytest.raises(DistanceOverflowError, match="divide the weights"):
                        solver.distances_on_device(nodes)
                    outcomes.add("error")
                else:
                    assert np.array_equal(np.from_dlpack(solver.distances_on_device(nodes)), expected)
                    outcomes.add("fits")
    assert outcomes == {"error", "fits", "given", *(["taken back"] if algorithm != "near_far" else [])}
    gc.collect()
    assert mapping.in_use == 0


def test_sums_of_leaves_that_do_not_fit_are_noticed(exporting: Device) -> None:
    exporting.tuned = {**exporting.tuned, "sweeps.leaves": 1}
    star = prepare(Graph.from_edges([0] * 5, range(1, 6), [3 * 2**30] * 5, undirected=True))
    with Solver(star, "phast", exporting) as solver:
        for sources in ([1] * 40, [0, 0]):
            for ask in (solver.distances, solver.distances_on_device):
                if sources[0]:
                    with pytest.raises(DistanceOverflowError):
                        ask(sources)
                else:
                    assert (np.asarray(ask(sources))[:, 1:] == 3 * 2**30).all()


@pytest.mark.usefixtures("may_use_vulkan")
@pytest.mark.parametrize("mask", ["", "storage_range=1048576"])
def test_many_batches(mapping: Mapping, monkeypatch: pytest.MonkeyPatch, mask: str) -> None:
    """Kernels write the rows of each batch to their place; what they cannot bind is copied there."""
    monkeypatch.setenv(MASK_VARIABLE, mask)
    with open_device() as device:
        if "memory_export" not in device.info.features or device.info.kind != "cpu":
            pytest.skip("only memory of a software device can be mapped")
        share_memory(device, mapping)
        device.tuned["sweeps.searches"] = 8
        with Solver(GRAPH, "phast", device) as solver:
            sources, bound = np.arange(399, 300, -1), []
            monkeypatch.setattr(SweepBatch, "rows", noting(SweepBatch.rows, bound))
            for _ in range(2):
                found = np.from_dlpack(solver.distances_on_device(sources))
                assert np.array_equal(found, solver.distances(sources))
            assert bound == [not mask, False] * 2


@pytest.mark.usefixtures("may_use_vulkan")
def test_buffers_for_the_host_are_made_when_rows_go_there(exporting: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with Solver(GRAPH, "phast", exporting) as solver:

        def kept() -> tuple[Any, int]:
            made: Any = solver.session.kept
            names = [one.name for one in made.owned if isinstance(one, Buffer)]
            return made, names.count("the finished rows")

        expected = exact_rows(GRAPH, SOURCES)
        assert np.array_equal(np.from_dlpack(solver.distances_on_device(SOURCES)), expected)
        first, count = kept()
        assert count == 0
        assert np.array_equal(solver.distances(SOURCES), expected)
        assert kept() == (first, 2)
        # Seeds that need larger buffers of labels, and the device again.
        places = [[(7, 3), (30, 1)]] * 2
        blocks = solver.session.row_blocks(GRAPH, places, GRAPH.positions, whole=True)
        assert np.array_equal(np.concatenate([one.distances for one in blocks]), [solver.distances(places[0])] * 2)
        assert np.array_equal(np.from_dlpack(solver.distances_on_device(SOURCES)), expected)
        assert kept() == (first, 2)
    with Solver(GRAPH, "phast", exporting) as solver:
        solver.distances_on_device(SOURCES)
        first, _ = kept()
        # Where memory is short by now, searches that need less of it take the place of the kept batch.
        monkeypatch.setattr(Device, "free_bytes", lambda _: 2 * 2 * first.searches * 4 * GRAPH.num_nodes - 1)
        assert np.array_equal(solver.distances(SOURCES), expected)
        assert first.closed
        monkeypatch.undo()
        solver.distances_on_device(SOURCES)
        first, _ = kept()
        # A batch that was small enough to be kept, and is not any more.
        monkeypatch.setattr(session, "SMALL", 0)
        free_bytes = int((first.memory_bytes + 10_000) / session.MOST_KEPT)
        monkeypatch.setattr(Device, "free_bytes", lambda _: free_bytes)
        for _ in range(2):
            solver.distances_on_device(SOURCES)
            assert kept() == (first, 0)
        assert np.array_equal(solver.distances(SOURCES), expected)
        assert first.closed and solver.session.kept is None


@pytest.mark.parametrize(("nodes", "seeds_each"), [(GRAPH.positions, 16), (GRAPH.positions[:80], 30)])
def test_kept_makers_are_weighed_anew_only_once_they_have_grown(
    device: Device, monkeypatch: pytest.MonkeyPatch, nodes: npt.NDArray[np.uint32], seeds_each: int
) -> None:
    """Buffers for more seeds take the place of smaller ones, and other recordings take no memory."""
    monkeypatch.setattr(session, "SMALL", 0)
    monkeypatch.setitem(device.tuned, "sweeps.searches", 64)
    one = [[(source, 0)] for source in range(64)]
    many = [[((source + seed) % 400, seed) for seed in range(seeds_each)] for source in range(64)]
    with Solver(GRAPH, "phast", device) as solver:

        def ask(groups: list[list[tuple[int, int]]]) -> None:
            for _ in solver.session.row_blocks(GRAPH, groups, nodes, whole=len(nodes) == GRAPH.num_nodes):
                pass

        ask(one)
        kept: Any = solver.session.kept
        questions, free_bytes = [], int((kept.memory_bytes + 1000) / session.MOST_KEPT)

        def asked(device: Device) -> int:
            questions.append(device)
            return free_bytes

        monkeypatch.setattr(Device, "free_bytes", asked)
        ask(one[:5])
        ask(one)
        assert solver.session.kept is kept and not questions
        ask(many)
        assert len(questions) == 1 and kept.closed and solver.session.kept is None


def noting(rows: Any, bound: list[bool]) -> Any:
    """Return a method in place of `SweepBatch.rows` that notes whether kernels write to an array."""

    def noted(self: SweepBatch, groups: Groups, into: DeviceRows | None = None) -> Any:
        bound.append(into is not None)
        return rows(self, groups, into)

    return noted


@pytest.mark.usefixtures("may_use_vulkan")
def test_real_weights_are_counted_in_units(exporting: Device) -> None:
    """Units grow where a distance does not fit, as on the host."""
    graph = prepare(Graph.from_edges([0, 1, 2], [1, 2, 3], [0.125, 2.5, 1e9 + 0.5], num_nodes=5))
    with Solver(graph, "phast", exporting) as solver:
        for sources in ([0, 1, 2], 1):
            array = solver.distances_on_device(sources)
            units, scale = np.from_dlpack(array).astype(np.float64), array.scale
            assert scale == solver.graph.scale
            found = np.where(units == array.unreachable, np.inf, units * scale)
            assert np.allclose(found, solver.distances(sources), rtol=1e-6)
        assert array.unreachable == UNREACHABLE


@pytest.mark.usefixtures("may_use_vulkan")
def test_distances_of_64_bits(exporting: Device) -> None:
    if lacks_of(exporting.info, DISTANCE_TYPES[64]):
        pytest.skip("the device has no atomic operations of 64 bits")
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [2**32 - 2] * 3, num_nodes=5)
    with Solver(graph, "near_far", exporting, distance_bits=64) as solver:
        for sources, limit in (([0, 1], None), (0, 2**33), ([3, 0], 2**33)):
            array = solver.distances_on_device(sources, limit=limit)
            assert np.array_equal(np.from_dlpack(array), solver.distances(sources, limit=limit))
        assert array.dtype == np.uint64 and array.unreachable == 2**64 - 1


@pytest.mark.usefixtures("may_use_vulkan")
def test_results_that_are_too_large(exporting: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with Solver(GRAPH, "phast", exporting) as solver:
        before = exporting.memory_bytes
        monkeypatch.setattr(Device, "free_bytes", lambda _: 10_000)
        with pytest.raises(DeviceError, match=r"has 0\.00 available; ask for fewer rows"):
            solver.distances_on_device(SOURCES)
        assert exporting.memory_bytes == before
        monkeypatch.undo()
        most = exporting.limits.allocation // (4 * GRAPH.num_nodes) + 1
        with pytest.raises(DeviceError, match=r"allocates .* at once; ask for fewer rows"):
            solver.distances_on_device(np.zeros(most, np.uint32))
        with pytest.raises(QueryError, match="source"):
            solver.table_on_device([])
        with pytest.raises(QueryError):
            solver.distances_on_device([0, GRAPH.num_nodes])
