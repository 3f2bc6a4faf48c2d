"""Ctrl-C at every line of what guards the weights of solvers, and what the solvers answer after it."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import vkssp
from tests.support.graphs import grid
from vkssp import Router, Solver, SolverPool
from vkssp.gpu.device import Device
from vkssp.locks import ReadersWriterLock

# An interrupt while other threads are woken is lost, and told as one that cannot be raised.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PACKAGE = Path(vkssp.__file__).parent
GUARDS = {
    str(PACKAGE / f"{name}.py")
    for name in (
        *("locks", "routing/router", "engine/device_graph"),
        *(f"solver/{name}" for name in ("pool", "row_maker", "session", "shared_graph", "solver", "tables")),
        "solver/work_sharing",
    )
}
GRAPH = grid(4, seed=5)
HEAVY = GRAPH.weight * np.uint32(3)


class Interrupt:
    """Raises KeyboardInterrupt at the next line of the guards that has not been interrupted in each of its visits.

    Of the visits that one action pays to a line, as in a loop, the later ones begin where the second did.
    """

    MOST_VISITS = 2

    def __init__(self, tried: set[tuple[str, int, int]]) -> None:
        self._tried = tried
        self._visits: Counter[tuple[str, int]] = Counter()
        self.place: tuple[str, int] | None = None

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in GUARDS:
            return None
        if event == "line" and self.place is None:
            place = frame.f_code.co_filename, frame.f_lineno
            self._visits[place] += 1
            visit = *place, self._visits[place]
            if visit[2] <= self.MOST_VISITS and visit not in self._tried:
                self._tried.add(visit)
                self.place = place
                raise KeyboardInterrupt
        return self._trace

    def during(self, action: Callable[[], object]) -> bool:
        """Carry out an action, and return whether it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            action()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        return self.place is not None


def in_time(action: Callable[[], Any], where: object) -> Any:
    """Return what an action returns in another thread, which a lock that is left behind would stop for ever."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(action()), daemon=True)
    thread.start()
    thread.join(60)
    if thread.is_alive():  # and so would everything that closes a solver now
        faulthandler.dump_traceback()
        print(f"hangs after an interrupt at {where}", file=sys.__stderr__, flush=True)
        os._exit(70)
    assert results, f"fails after an interrupt at {where}"
    return results[0]


def check_interrupts(
    asked: Any, others: list[Any], actions: list[Callable[[], object]], weights: list[np.ndarray]
) -> None:
    """Interrupt actions everywhere; all have the same weights after it, answer by them, and take others."""
    expected = []
    for weight in weights:
        with Solver(GRAPH.with_weights(weight), "dijkstra") as solver:
            expected.append(solver.distances(0))

    def answers() -> list[tuple[int, np.ndarray]]:
        found = []
        for each in (asked, *others):
            with each.holding():
                held = [np.array_equal(each.graph.weight, weight) for weight in weights].index(True)
                found.append((held, each.distances(0)))
        return found

    for action in actions:
        tried: set[tuple[str, int, int]] = set()
        while (interrupt := Interrupt(tried)).during(action):
            found = in_time(answers, interrupt.place)
            assert len({held for held, _ in found}) == 1, interrupt.place
            for held, distances in found:
                assert np.array_equal(distances, expected[held]), interrupt.place
            # The next change neither waits for ever nor changes a part.
            now = 1 - found[0][0]
            in_time(lambda now=now: asked.set_weights(weights[now]) or True, interrupt.place)  # type: ignore[misc]
            for held, distances in in_time(answers, interrupt.place):
                assert held == now and np.array_equal(distances, expected[now]), interrupt.place
        assert len(tried) > 20


def memory_between_solvers(device: Device) -> int:
    """Return how many bytes a device has taken for itself, by what the first search leaves there."""
    with Solver(GRAPH, "near_far", device) as solver:
        solver.distances(0)
    return device.memory_bytes


@pytest.mark.parametrize(
    ("algorithm", "reduction"), [("dijkstra", "none"), ("near_far", "full"), ("near_far", "none"), ("phast", "none")]
)
def test_an_interrupt_changes_all_weights_or_none(device: Device, algorithm: str, reduction: str) -> None:
    where = None if algorithm == "dijkstra" else device
    memory = memory_between_solvers(device)
    with Solver(GRAPH, algorithm, where, reduction=reduction) as solver, solver.clone() as clone:

        def change() -> None:
            solver.set_weights(HEAVY if np.array_equal(solver.graph.weight, GRAPH.weight) else GRAPH.weight)

        asks: list[Callable[[], object]] = [
            lambda: solver.distance(0, 9),
            lambda: list(solver.table([0, 1], [3, 4], chunked=True)),
        ]
        check_interrupts(solver, [clone], [change, *asks[: 2 if algorithm == "dijkstra" else 1]], [GRAPH.weight, HEAVY])
    assert device.memory_bytes == memory


def test_an_interrupt_changes_all_weights_of_a_pool_or_none(device: Device) -> None:
    memory = memory_between_solvers(device)
    with Device(device.info.index) as second, SolverPool(GRAPH, "near_far", [device, second]) as pool:

        def change() -> None:
            pool.set_weights(HEAVY if np.array_equal(pool.graph.weight, GRAPH.weight) else GRAPH.weight)

        check_interrupts(
            pool, pool.solvers, [change, lambda: list(pool.table([0, 1], [3, 4], chunked=True))], [GRAPH.weight, HEAVY]
        )
    assert device.memory_bytes == memory


def test_an_interrupt_changes_all_weights_of_a_router_or_none() -> None:
    with Router(GRAPH, "dijkstra") as router:
        weights = [GRAPH.weight, HEAVY]

        def change() -> None:
            router.set_weights(weights[int(np.array_equal(router.graph.weight, GRAPH.weight))])

        check_interrupts(router.solver, [], [change], weights)
        assert router.graph is router.solver.graph


@pytest.mark.parametrize(("holds", "waits"), [("reading", "writing"), ("writing", "reading"), ("writing", "writing")])
def test_an_interrupted_wait_leaves_nothing_behind(holds: str, waits: str) -> None:
    tried: set[tuple[str, int, int]] = set()
    is_over = False
    while not is_over:
        lock, ready, done = ReadersWriterLock(), threading.Event(), threading.Event()

        def hold(lock: Any = lock, ready: threading.Event = ready, done: threading.Event = done) -> None:
            with getattr(lock, holds)():
                ready.set()
                done.wait(60)

        def wait(lock: Any = lock) -> None:
            with getattr(lock, waits)():
                pass

        def enter(lock: Any = lock) -> bool:
            with lock.writing(), lock.helped():
                pass
            with lock.reading():
                return True

        holding = threading.Thread(target=hold, daemon=True)
        holding.start()
        ready.wait(60)
        # It ends by itself, for those lines that come only after the wait.
        threading.Timer(0.05, done.set).start()
        interrupt = Interrupt(tried)
        is_over = not interrupt.during(wait)
        done.set()
        holding.join(60)
        assert in_time(enter, interrupt.place), interrupt.place
        assert not lock.has_writers
    assert len(tried) > 15
