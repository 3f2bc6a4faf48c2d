"""Room for batches: the memory of their downloads, and buffers that small devices do not bind."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.graphs import grid
from vkssp import Graph, Solver, prepare
from vkssp.batch.needs import MOST_BYTES, rows_in
from vkssp.batch.sweep_batch import SweepBatch
from vkssp.gpu.device import Device
from vkssp.gpu.download import PIECE_BYTES, Download, staging_bytes
from vkssp.gpu.mask import MASK_VARIABLE

# A strip, whose nodes have few ancestors, so that arrays of nodes are larger than upward labels.
WIDTH, LENGTH = 5, 800


@pytest.mark.parametrize("cores", [1, 8, 64])
def test_downloads_count_where_their_memory_is_the_devices_own(
    device: Device, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(Device, "maps_own_memory", True)
    for most in (1, 1000, PIECE_BYTES + 4, 3 * PIECE_BYTES, MOST_BYTES):
        with Download(device, most, device) as download:
            assert download.memory_bytes == staging_bytes(device, most)
    each, row_bytes = 1_000_000, 300_000
    for free in (0, 900_000, 2_000_000, 40_000_000, 400_000_000, 4_000_000_000):
        rows = rows_in(device, free, each, row_bytes)
        taken = rows * each + staging_bytes(device, min(MOST_BYTES, rows * row_bytes)) if rows else 0
        assert taken <= free < taken + 2 * each + MOST_BYTES
    with monkeypatch.context() as patch:
        patch.setattr(Device, "maps_own_memory", False)
        assert staging_bytes(device, MOST_BYTES) == 0 and rows_in(device, 41_500_000, each, row_bytes) == 41


def test_sums_of_chunks_leave_room_for_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    values, limits = np.ones((900, 3), np.int64), np.arange(1, 41) * 25
    made, make = list[tuple[bool, int]](), SweepBatch.__init__

    def noted(self: SweepBatch, *given: Any) -> None:
        make(self, *given)
        made.append((self.aggregates is not None, self.memory_bytes))

    monkeypatch.setattr(SweepBatch, "__init__", noted)
    graph = prepare(grid(30, seed=1))
    with Solver(graph, "dijkstra") as reference:
        expected = reference.accessibility(values, limits, sources=range(99))
    for free in (4 << 20, 16 << 20, 100 << 20):
        with open_device() as device, Solver(graph, "phast", device) as solver:
            solver.distance(0, 1)
            made.clear()
            with monkeypatch.context() as patch:
                patch.setattr(Device, "free_bytes", lambda _, free=free: free)
                assert np.array_equal(solver.accessibility(values, limits, sources=range(99)), expected)
            assert made and all(of_sums and nbytes <= free / 2 for of_sums, nbytes in made), free


def test_aggregates_where_a_device_binds_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is made on the device as long as its buffers fit, or else of rows."""
    rng, strip = np.random.default_rng(2), np.arange(LENGTH * WIDTH).reshape(LENGTH, WIDTH)
    tails, heads = (
        np.concatenate([rows.ravel(), columns.ravel()])
        for rows, columns in ((strip[:-1], strip[:, :-1]), (strip[1:], strip[:, 1:]))
    )
    edges = Graph.from_edges(tails, heads, rng.integers(1, 99, len(tails)), undirected=True)
    graph, node = prepare(edges), strip.ravel()
    nodes, values, limits = node[::500], rng.integers(0, 9, (len(node), 3)), np.arange(1, 1600) * 3
    sources, targets = np.repeat(nodes[:4], len(node)), np.tile(node, 4)
    demand = rng.integers(1, 9, len(targets))
    questions: dict[str, Callable[[Solver], Any]] = {
        "few": lambda solver: solver.accessibility(values[:, 0], limits[:2], sources=nodes),
        "values": lambda solver: solver.accessibility(values, limits[:2], sources=nodes),
        "limits": lambda solver: solver.accessibility(values[:, :2], limits, sources=nodes),
        "sums": lambda solver: solver.centrality(sample=40).total,
        "loads": lambda solver: solver.flows(sources, targets, demand).arcs,
    }
    made, make = list[object](), SweepBatch.__init__

    def noted(self: SweepBatch, *given: Any) -> None:
        made.append(given[4])
        make(self, *given)

    monkeypatch.setattr(SweepBatch, "__init__", noted)
    with Solver(graph, "dijkstra") as reference:
        expected = {name: ask(reference) for name, ask in questions.items()}
    on_device = set()
    for limit in (1 << 20, 120_000, 92_000):
        monkeypatch.setenv(MASK_VARIABLE, f"storage_range={limit}")
        with open_device() as small:
            for name, ask in questions.items():
                with Solver(graph, "phast", small) as solver:
                    made.clear()
                    assert np.array_equal(ask(solver), expected[name]), (limit, name)
                    if any(made):
                        on_device.add((limit, name))
    without_loads = questions.keys() - {"loads"}
    assert on_device == {*product([1 << 20], questions), *product([120_000], without_loads), (92_000, "few")}
