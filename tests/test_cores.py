"""Work on all cores: order, errors, and what is left of it after them."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.support.paths import ROOT
from vkssp import cores
from vkssp.cores import beside, run_ahead, run_all


@pytest.fixture(autouse=True)
def _three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "num_cores", lambda: 3)


def test_results_come_in_order_from_several_threads() -> None:
    seen = set()
    barrier = threading.Barrier(2, timeout=30)

    def work(number: int) -> int:
        if number < 2:
            barrier.wait()  # passes only if two threads work at the same time
        seen.add(threading.current_thread().name)
        return number * number

    assert run_all([partial(work, number) for number in range(20)]) == [number**2 for number in range(20)]
    assert len(seen) >= 2
    assert run_all([]) == []


def test_a_task_beside_others_uses_all_cores_and_delays_nobody() -> None:
    is_free = threading.Event()

    def hold(_: int) -> bool:
        return is_free.wait(30)

    with beside(lambda: run_all([partial(hold, number) for number in range(9)])) as result:
        time.sleep(0.05)
        # All other threads wait for this one, which does its tasks alone.
        assert run_all([partial(abs, -number) for number in range(5)]) == list(range(5))
        is_free.set()
        assert result() == [True] * 9
    done: list[int] = []
    with pytest.raises(KeyError), beside(lambda: time.sleep(0.05) or done.append(1)):
        raise KeyError
    assert done == [1], "an error waits for the task"
    with pytest.raises(ZeroDivisionError), beside(lambda: 1 // 0) as result_of_error:
        result_of_error()


@pytest.mark.parametrize("failing", [0, 7])
def test_no_task_is_under_way_after_an_error(failing: int) -> None:
    under_way: set[int] = set()
    done: list[int] = []

    def work(number: int) -> None:
        under_way.add(number)
        time.sleep(0.01)
        under_way.discard(number)
        if number == failing:
            raise KeyError(number)
        done.append(number)

    with pytest.raises(KeyError):
        run_all([partial(work, number) for number in range(100)])
    assert not under_way and len(done) < 100
    count = len(done)
    time.sleep(0.05)
    assert len(done) == count


def test_a_bounded_number_of_tasks_runs_ahead() -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        return number

    def tasks() -> object:
        for number in range(50):
            yield partial(work, number)

    results = run_ahead(tasks(), 4)  # type: ignore[arg-type]
    assert next(results) == 0 and next(results) == 1
    time.sleep(0.05)
    assert len(begun) <= 5
    results.close()
    assert list(run_ahead(iter([partial(work, 1)]), 4)) == [1]


def test_an_error_comes_at_its_place() -> None:
    def fail() -> int:
        raise ValueError("third")

    tasks: list[Callable[[], int]] = [lambda: 1, lambda: 2, fail, lambda: 4]
    results = run_ahead(tasks, 4)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(results)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_interrupts_at_any_moment_lock_nothing() -> None:
    """In a process of its own, since a lock that is left behind would stop it for ever, also at its end."""
    program = textwrap.dedent("""
        import random, signal, time
        from vkssp import cores
        cores.num_cores = lambda: 3
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        tasks = [lambda: time.sleep(2e-5)] * 12
        interrupts = 0
        while interrupts < 500:
            for run in (lambda: cores.run_all(tasks), lambda: list(cores.run_ahead(tasks, 4))):
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 1.5e-3))
                    run()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    interrupts += 1
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert run() == [None] * 12
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_one_core_needs_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "num_cores", lambda: 1)
    done: list[int] = []

    def work(number: int) -> str:
        done.append(number)
        return threading.current_thread().name

    results = run_ahead((partial(work, number) for number in range(3)), 2)
    assert next(results) == threading.current_thread().name and done == [0]
    assert list(results) == [threading.current_thread().name] * 2 and done == [0, 1, 2]
