"""Sweeps over hierarchies where devices have little, and where something comes between."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.graphs import grid, heap_dijkstra
from vkssp import DeviceError, Graph, QueryError, Solver, prepare
from vkssp.algorithm import MAX_TERMINALS
from vkssp.batch import sweeps
from vkssp.batch.sweeps import LARGE_TILE, Sweeps, sweeps_at_once, tile_of
from vkssp.cch.customized import height_of
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource
from vkssp.solver.work_sharing import Dealing, Hand


def test_tiles_are_no_larger_than_what_there_is_room_for(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = prepare(grid(12))
    monkeypatch.setattr(sweeps, "MOST_ON_CPU", 1024)
    nodes = np.arange(graph.num_nodes, dtype=np.uint32)
    exact = np.stack([heap_dijkstra(graph, source) for source in range(7)])
    with Solver(graph, device=device) as solver:
        shared: Any = solver.session.shared.graph
        before = device.limits
        seen = set()
        for room in (1, 2, 3, 4, 7, 31, 33, 100, 127, 128, 160, 255, 300):
            # Of memory, and of a buffer.
            with monkeypatch.context() as patch:
                each = 4 * MAX_TERMINALS * sweeps.nodes_each(graph.hierarchy)  # type: ignore[arg-type]
                largest = max(each, 12 * MAX_TERMINALS * graph.hierarchy.num_levels)  # type: ignore[union-attr]
                patch.setattr(device, "limits", replace(before, storage_range=room * largest))
                searches = sweeps_at_once(shared, 10_000, len(nodes))
                seen.add(searches)
                assert 0 <= searches <= room
                if searches > 1:
                    taken = -(-searches // tile_of(searches)) * tile_of(searches)
                    assert taken <= room
                if searches in (4, 16, LARGE_TILE):
                    made = Sweeps(shared, nodes, searches, 2**32 - 1)
                    made._make_ways(MAX_TERMINALS)  # the most that is ever wanted has room
                    made.close()
            with monkeypatch.context() as patch:
                patch.setattr(Device, "free_bytes", lambda self, room=room: room * 100_000)
                searches = sweeps_at_once(shared, 10_000, len(nodes))
                if searches > 1:
                    made = Sweeps(shared, nodes, searches, 2**32 - 1)
                    made._make_ways(MAX_TERMINALS)
                    small = 64 << 10  # the sizes of which do not depend on how many searches there are
                    download = made._download.memory_bytes
                    assert made.memory_bytes - download <= sweeps.MOST_MEMORY * room * 100_000 + small
                    made.close()
        assert {0, 4, 16, LARGE_TILE} <= seen
        with monkeypatch.context() as patch:
            patch.setattr(device, "limits", replace(before, storage_buffers=8))
            assert sweeps_at_once(shared, 100, len(nodes)) == 0, "the searches up need nine"
            assert np.array_equal(np.concatenate(list(solver.distances(range(7)))), exact)


def test_tiles_of_few_searches(device: Device) -> None:
    graph = prepare(grid(9))
    exact = np.stack([heap_dijkstra(graph, source) for source in range(33)])
    for searches in (2, 3, 4, 5, 8, 9, 16, 17, 33):
        with Solver(graph, device=device) as solver:
            assert np.array_equal(np.concatenate(list(solver.distances(range(searches)))), exact[:searches])
            assert np.array_equal(np.concatenate(list(solver.table(range(searches), [3]))), exact[:searches, [3]])


def test_ways_too_long_for_shared_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Auto searches as if nobody had prepared the graph, and phast says so before anything is asked."""
    low, high = np.triu_indices(40, 1)
    graph = prepare(Graph.from_edges(low, high, low + high, undirected=True))
    assert graph.hierarchy is not None
    needed = 16 * height_of(graph.hierarchy) + 64
    monkeypatch.setattr(device, "limits", replace(device.limits, shared_memory=needed))
    with Solver(graph, device=device) as solver:
        assert solver.algorithm == "phast"
        assert solver.distance(3, 30) == heap_dijkstra(graph, 3)[30]
    monkeypatch.setattr(device, "limits", replace(device.limits, shared_memory=needed - 1))
    with pytest.raises(DeviceError, match=f"have {height_of(graph.hierarchy)} nodes, for which .* bytes of shared"):
        Solver(graph, "phast", device)


@pytest.mark.parametrize("order", ["auto", "hierarchy"])
def test_auto_where_the_device_cannot_sweep(device: Device, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    graph = prepare(Graph.from_edges(*np.triu_indices(60, 1), np.arange(60 * 59 // 2) % 7, undirected=True))
    assert graph.hierarchy is not None
    light = prepare(grid(30))
    assert light.hierarchy is not None
    monkeypatch.setattr("vkssp.solver.shared_graph.unfit", lambda device, hierarchy: "too large")
    for given in (graph, light):
        with Solver(given, device=device, order=order) as solver:
            assert solver.algorithm != "phast"
            assert np.array_equal(solver.distances(5), heap_dijkstra(given, 5))


@pytest.mark.parametrize(
    ("question", "works_on"),
    [("distances_between", "the pairs"), ("route", "the marks of unpacking"), ("set_weights", "reweigh")],
)
def test_interrupted_while_the_device_is_at_work(
    device: Device, monkeypatch: pytest.MonkeyPatch, question: str, works_on: str
) -> None:
    """What it works on is given back when it is through, and not before."""
    graph = prepare(grid(30))
    exact = heap_dijkstra(graph, 3)
    with Solver(graph, device=device) as solver:
        solver.route(3, 50)  # puts the incoming arcs there, which have weights, too
        closed: list[Resource] = []
        wait, releases = Recording.wait, {kind: kind._release for kind in (Buffer, Bindings)}

        def interrupted(self: Recording) -> None:
            if self.pending and self is running[0]:
                monkeypatch.setattr(Recording, "wait", wait)
                raise KeyboardInterrupt
            wait(self)

        def checked_release(self: Any) -> None:
            if (self.name if isinstance(self, Buffer) else self.kernel.name) == works_on:
                assert not running[0].pending, "the device is still at work with these"
                closed.append(self)
            releases[type(self)](self)

        shared: Any = solver.session.shared.graph
        if question == "distances_between":
            running = [solver.session.algorithm()._pairs._ready_for(2)[1]]  # type: ignore[attr-defined]
        elif question == "route":
            running = [solver.session.work().walker._unpacker._recording]  # type: ignore[union-attr]
        else:
            solver.set_weights(graph.weight)
            running = [shared._reweigher._recording]
        monkeypatch.setattr(Recording, "wait", interrupted)
        for kind in releases:
            monkeypatch.setattr(kind, "_release", checked_release)
        with pytest.raises(KeyboardInterrupt):
            if question == "distances_between":
                solver.distances_between([1, 2], [3, 4])
            elif question == "route":
                solver.route(1, 40)
            else:
                solver.set_weights(2 * graph.weight)
        assert closed
        monkeypatch.undo()
        assert solver.distances_between([3], [50]).tolist() == [exact[50]]
        assert np.array_equal(solver.distances(3), exact) and solver.route(3, 50).weight == exact[50]


def test_a_hand_that_fails_once_its_rows_are_made() -> None:
    """Such as when weights change right then; whoever has the rows after these may have handed them over already."""

    def make(first: int, end: int) -> Generator[Any, None, None]:
        for row in range(first, end):
            yield np.array([[row]], np.uint32)
        raise QueryError("too late to matter")

    dealing = Dealing([Hand(4, make, lambda error: False)], 100, 50)
    assert [int(block[0, 0]) for block in dealing.blocks(nullcontext)] == list(range(100))
