"""Closing at bad moments: while memory is collected out of calls to the driver, and when Ctrl-C comes in between."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.failures import check_pipelines, check_topologies
from tests.support.graphs import grid, heap_dijkstra
from tests.support.resources import own_recordings, watch_closing
from tests.support.streetmaps import street_map
from vkssp import DeviceError, QueryError, Router, Solver, SolverPool, prepare
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu import recording as recording_module
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.kernel import Bindings, Kernel
from vkssp.gpu.recording import Recording
from vkssp.resource import Resource


@pytest.fixture
def own() -> Iterator[Device]:
    """Open a device that a test may leave behind."""
    with open_device() as opened:
        yield opened


def test_what_is_forgotten_at_work_is_collected_while_something_is_submitted(
    own: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has to be waited for, by the thread that is about to submit."""
    graph = prepare(grid(20))
    submit, armed, waited = recording_module.call, [False], []

    def collecting(function: str, *arguments: Any, **options: Any) -> int:
        if function == "vkQueueSubmit" and armed[0]:
            armed[0] = False
            gc.collect()
        return submit(function, *arguments, **options)

    def search() -> None:
        found.append(solver.distances(2))

    watch_closing(monkeypatch, Recording, before=lambda recording: waited.append(recording.pending))
    monkeypatch.setattr(recording_module, "call", collecting)
    solver, found = Solver(graph, "phast", own), []
    solver.distances(0)
    forgotten = Solver(graph, "phast", own)
    forgotten.distances(1)
    own_recordings(forgotten.session.algorithm())[-1].submit()
    gc.disable()
    try:
        cycle: list[Any] = [forgotten]
        cycle.append(cycle)
        del forgotten, cycle
        armed[0] = True
        thread = threading.Thread(target=search, daemon=True)
        thread.start()
        thread.join(60)
        if thread.is_alive():
            own.abandon("hangs")  # nothing of it could be closed
            pytest.fail("waits for itself")
    finally:
        gc.enable()
    assert any(waited) and np.array_equal(found[0], heap_dijkstra(graph, 2))
    solver.close()


@pytest.mark.parametrize("kind", [Buffer, Kernel, Bindings, Recording])
def test_an_interrupt_while_a_solver_is_closed_leaves_the_rest_to_be_closed(
    own: Device, monkeypatch: pytest.MonkeyPatch, kind: type[Resource]
) -> None:
    """What metrics share, and pipelines, are let go, whatever Ctrl-C came upon."""
    first = prepare(grid(6))
    second = first.with_weights(first.weight + np.uint32(1))
    with Solver(first, device=own) as there:
        there.path(0, 35)
        before, parts = own.memory_bytes, set(own.owned)
        for moment in range(1, 100):
            closed: list[Resource] = []

            def interrupt(resource: Resource, closed: list[Resource] = closed, moment: int = moment) -> None:
                closed.append(resource)
                if len(closed) == moment:
                    raise KeyboardInterrupt

            solver = Solver(second, device=own)
            solver.path(0, 35)
            solver.table([0, 1], [2, 3])
            with monkeypatch.context() as patch:
                watch_closing(patch, kind, after=interrupt)
                if _ends_well(solver):
                    break
            assert own.memory_bytes == before and set(own.owned) == parts
            check_pipelines(own)
            check_topologies(own)
        assert len(closed) > 3
        assert np.array_equal(there.distances(3), heap_dijkstra(first, 3))


@pytest.mark.parametrize("interrupts", [1, 3])
def test_what_an_interrupt_kept_from_being_waited_for_ends_before_the_rest_goes(
    own: Device, monkeypatch: pytest.MonkeyPatch, interrupts: int
) -> None:
    solver = Solver(prepare(grid(12)), device=own)
    solver.distances(3)
    recording = own_recordings(solver.session.algorithm())[-1]
    recording.submit()
    events: list[str] = []
    wait_idle = Device.wait_idle

    def interrupted(self: Device, queue: Any) -> None:
        if len(events) < interrupts:
            events.append("interrupt")
            raise KeyboardInterrupt
        wait_idle(self, queue)
        events.append("idle")

    monkeypatch.setattr(Device, "wait_idle", interrupted)
    watch_closing(monkeypatch, Buffer, before=lambda buffer: events.append("gone"))
    with pytest.raises(KeyboardInterrupt):
        solver.close()
    assert recording.closed and "gone" in events
    assert events.index("idle") < events.index("gone", events.index("interrupt"))


def _ends_well(solver: Solver) -> bool:
    try:
        solver.close()
    except KeyboardInterrupt:
        return False
    return True


def test_an_interrupt_while_closing_closes_the_device_that_was_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Solver(prepare(grid(4)), device=0)
    solver.distances(0)
    opened = solver.device

    def interrupt(buffer: Buffer) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    watch_closing(monkeypatch, Buffer, after=interrupt)
    with pytest.raises(KeyboardInterrupt):
        solver.close()
    with pytest.raises(DeviceError, match="has been closed"):
        _ = opened.handle


def test_an_interrupt_counts_for_more_than_an_error() -> None:
    closed: list[str] = []

    class Failing(Resource):
        def __init__(self, owner: Resource, error: BaseException) -> None:
            self.error = error
            super().__init__(owner)

        def _release(self) -> None:
            closed.append(type(self.error).__name__)
            raise self.error

    owner = Resource()
    for error in (DeviceError("first"), KeyboardInterrupt(), DeviceError("last")):
        Failing(owner, error)
    with pytest.raises(KeyboardInterrupt):
        owner.close()
    assert closed == ["DeviceError", "KeyboardInterrupt", "DeviceError"] and not owner.owned


def test_a_clone_that_was_forgotten_is_collected_while_weights_are_put_back(
    own: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ask for the graph that they share."""
    graph = grid(5)
    solver = Solver(graph, "near_far", own)
    shared, found = solver.session.shared, []
    make, is_gone = DeviceGraph.__init__, []

    def collecting(self: DeviceGraph, *arguments: Any) -> None:
        gc.collect()
        is_gone.append(clone() is None)
        make(self, *arguments)

    gc.disable()
    try:
        cycle: list[Any] = [solver.clone()]
        cycle.append(cycle)
        clone = weakref.ref(cycle[0])
        del cycle
        monkeypatch.setattr(DeviceGraph, "__init__", collecting)
        shared.graph.has_weights_of = None
        thread = threading.Thread(target=lambda: found.append(solver.distances(2)), daemon=True)
        thread.start()
        thread.join(30)
        if thread.is_alive():
            own.abandon("hangs")
            pytest.fail("waits for itself")
    finally:
        gc.enable()
    assert np.array_equal(found[0], heap_dijkstra(graph, 2)) and not shared.graph.closed and is_gone == [True]
    solver.close()
    assert shared.graph.closed, "the clone holds it no more"


def test_what_is_closed_in_the_end_is_neither_copied_nor_pickled(own: Device) -> None:
    """The copy would close what the original still uses."""
    graph = street_map([(0, 0), (0, 1)], [(0, 1, 10)])
    with (
        Solver(graph, device=own) as solver,
        Solver(graph, "dijkstra") as cpu,
        SolverPool(graph, devices=[own]) as pool,
        Router(graph, device=own) as router,
    ):
        table = router.table([(0.0, 0.0001)])
        for thing, cure in (
            *((one, "clone() makes another") for one in (solver, cpu)),
            *((one, "make another") for one in (pool, router, own)),
            (table, "take the arrays that its read returns"),
        ):
            for ask in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(QueryError, match=rf"^a {type(thing).__name__} .*{re.escape(cure)}"):
                    ask(thing)
        gc.collect()
        for one in (solver, cpu, pool):
            assert one.distances(0).tolist() == [0, 10]
        assert len(table.read()["duration"]) == 1
