"""Devices with lower limits and fewer features, which a mask of what the driver reports stands for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.graphs import ON_DEVICE, class_of, grid, heap_dijkstra, make_solver
from vkssp import DeviceError, Graph, Solver, prepare
from vkssp.batch.sweep_batch import LARGE_TILE
from vkssp.engine.device_algorithm import DeviceAlgorithm
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.mask import MASK_VARIABLE

GRAPH = prepare(grid(9, seed=2))
EXPECTED = heap_dijkstra(GRAPH, 3)
#: Many arcs at each node, which near_far searches without rounds.
DENSE = Graph.from_edges(*np.random.default_rng(1).integers(0, (60, 60, 90), (900, 3)).T, num_nodes=60)


def test_subgroups_that_can_do_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MASK_VARIABLE, "-subgroup_arithmetic")
    with open_device() as device:
        for graph in (GRAPH, DENSE):
            with Solver(graph, "near_far", device, order="natural", workgroup_size=48, workgroups=2) as solver:
                assert np.array_equal(solver.distances(3), heap_dijkstra(graph, 3))
                kernels = {made.program.name for made in device.pipelines.all}
        assert "near_far_no_subgroups" in kernels and "near_far" not in kernels


@pytest.mark.parametrize(
    ("algorithm", "bits", "shared"), [("near_far", 32, 2408), ("near_far", 64, 4220), ("delta_step", 32, 1172)]
)
def test_workgroups_are_no_larger_than_shared_memory_allows(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, bits: int, shared: int
) -> None:
    """Sizes are such that 32 invocations fit and 33 do not, so that most kernels have been compiled before."""
    monkeypatch.setenv(MASK_VARIABLE, f"shared_memory={shared}")
    with open_device() as device:
        device.tuned[f"{algorithm}.workgroup_size"] = 1024  # as on a GPU, which has more room for more
        with make_solver(GRAPH, algorithm, device, distance_bits=bits) as solver:
            assert np.array_equal(solver.distances(3), EXPECTED)


@pytest.mark.parametrize("size", [4, 16])
def test_batches_in_workgroups_smaller_than_a_row_of_a_tile(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Large tiles have 32 invocations for a node, and small ones 8."""
    monkeypatch.setenv(MASK_VARIABLE, f"workgroup_size={size}")
    sources = np.arange(81).repeat(2)[: LARGE_TILE + 5]
    exact = np.array([heap_dijkstra(GRAPH, source) for source in range(81)])[sources]
    with open_device() as device, Solver(GRAPH, "phast", device) as solver:
        device.tuned["sweeps.searches"] = 1024
        assert np.array_equal(solver.distances(sources), exact)
        within = solver.accessibility(np.ones(81), 200, sources=sources)
        assert np.array_equal(within, np.count_nonzero(exact <= 200, axis=1))


@pytest.mark.parametrize(
    ("most", "without", "prepared"),
    [
        (12, "block_resident", "phast"),
        (9, "near_far", "near_far"),
        (8, "delta_step", "delta_step"),
        (6, *["bellman_ford"] * 2),
    ],
)
def test_kernels_with_few_storage_buffers(
    monkeypatch: pytest.MonkeyPatch, most: int, without: str, prepared: str
) -> None:
    monkeypatch.setenv(MASK_VARIABLE, f"storage_buffers={most}")
    plain = Graph(GRAPH.first_out, GRAPH.head, GRAPH.weight)
    with open_device() as device:
        for graph, algorithm in ((plain, without), (GRAPH, prepared)):
            with Solver(graph, device=device, reduction="none") as solver:
                assert solver.algorithm == algorithm and np.array_equal(solver.distances(3), EXPECTED)
        if most < 12:
            for algorithm in ("phast", "block_resident"):
                with pytest.raises(DeviceError, match=f"needs 10 storage buffers.* has {most}; "):
                    Solver(GRAPH, algorithm, device).distances(3)
        if most < 9:
            with pytest.raises(DeviceError, match="distances of 64 bits need 9 storage buffers"):
                Solver(plain, device=device, distance_bits=64)


def test_algorithms_tell_how_many_storage_buffers_they_need(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    needed: list[int] = []
    make = Kernel.__init__

    def init(self: Kernel, *args: object, bindings: int, **settings: object) -> None:
        needed.append(bindings)
        make(self, *args, bindings=bindings, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(Kernel, "__init__", init)
    for algorithm in set(ON_DEVICE) - {"phast"}:
        needed.clear()
        with make_solver(GRAPH, algorithm, device) as solver:
            solver.distances(3)
        kind = class_of(algorithm)
        assert issubclass(kind, DeviceAlgorithm) and kind.BINDINGS == max(needed), algorithm
