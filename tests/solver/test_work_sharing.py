"""Rows dealt out to several workers: order, shares, how far ahead they are, errors and workers that are lost."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import EXAMPLES
from tests.support.paths import ROOT
from vkssp import DeviceError, QueryError
from vkssp.solver import work_sharing as dealing_module
from vkssp.solver.work_sharing import MOST_BATCHES, RowScheduler, Worker

Made = Generator[np.ndarray, None, None]
Step = Callable[[int], None]


def lost(text: str = "gone") -> DeviceError:
    error = DeviceError(text)
    error.is_lost = True
    return error


def worker(batch: int = 4, block: int = 3, before: Step = lambda row: None, taken: list[range] | None = None) -> Worker:
    """Return a worker whose rows hold their numbers; `before` each block something may happen."""

    def make(first: int, end: int) -> Made:
        if taken is not None:
            taken.append(range(first, end))
        for row in range(first, end, block):
            before(row)
            yield np.arange(row, min(row + block, end), dtype=np.uint32)[:, None]

    return Worker(batch, make, lambda error: error.is_lost)


def rows(scheduler: RowScheduler) -> Iterator[int]:
    for block in scheduler.blocks(nullcontext):
        yield from block[:, 0].tolist()


def worker_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("vkssp-worker")]


@settings(max_examples=EXAMPLES)
@given(
    batches=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    total=st.integers(1, 300),
    window=st.integers(0, 60),
    block=st.integers(1, 20),
)
def test_all_rows_come_in_order_and_none_too_early(batches: list[int], total: int, window: int, block: int) -> None:
    ahead: list[int] = []
    taken: list[range] = []

    def before(row: int) -> None:
        ahead.append(min(row + block, total) - scheduler.handed)

    workers = [worker(batch, block, before, taken) for batch in batches]
    scheduler = RowScheduler(workers, total, window)
    assert list(rows(scheduler)) == list(range(total))
    assert sorted(row for part in taken for row in part) == list(range(total))
    most = max(window, len(workers))
    assert max(len(part) for part in taken) <= max(1, min(most, MOST_BATCHES * max(batches)))
    # A block may reach beyond the rows that were taken.
    assert max(ahead) < most + block


def test_nothing_is_made_before_it_is_asked_for_nor_far_ahead() -> None:
    made: list[int] = []
    settled = threading.Event()
    scheduler = RowScheduler([worker(2, 1, made.append) for _ in range(2)], 10_000, 20)
    numbers = rows(scheduler)
    assert not made and not worker_threads()
    assert next(numbers) == 0
    while len(made) < 15:
        settled.wait(0.01)  # they do go on by themselves
    settled.wait(0.05)
    assert max(made) <= 20
    numbers.close()
    assert not worker_threads()


def test_who_is_slow_gets_less() -> None:
    """One worker comes to its end only after the other has made all the rest."""
    total, others = 120, threading.Event()
    fast: list[range] = []
    slow: list[range] = []

    def wait(row: int) -> None:
        assert others.wait(60)

    def count(row: int) -> None:
        while not slow:  # which has taken something first
            others.wait(0.001)
        if sum(map(len, fast)) + sum(map(len, slow)) == total:
            others.set()

    scheduler = RowScheduler([worker(4, 4, wait, slow), worker(4, 4, count, fast)], total, 10 * total)
    assert list(rows(scheduler)) == list(range(total))
    assert len(slow) == 1 and len(slow[0]) <= MOST_BATCHES * 4


def test_shares_follow_speeds() -> None:
    workers = [worker(10), worker(10), worker(10)]
    scheduler = RowScheduler(workers, 100_000, 10**9)
    assert [scheduler.size(each) for each in workers] == [80, 80, 80]
    scheduler.todo = [(0, 120)]
    scheduler.made = {workers[0]: (30, 1.0), workers[1]: (10, 1.0), workers[2]: (0, 0.0)}
    assert [scheduler.size(each) for each in workers] == [30, 10, 20]
    scheduler.under_way[workers[1]] = 60  # which it will be at for six seconds
    scheduler.todo = [(100, 160)]
    assert scheduler.size(workers[0]) == 30
    scheduler.todo = [(100, 112)]
    scheduler.under_way[workers[1]] = 0
    assert [scheduler.size(each) for each in workers] == [6, 2, 4]


@pytest.mark.parametrize("error", [QueryError, DeviceError, KeyboardInterrupt, ZeroDivisionError])
def test_errors_come_after_the_rows_before_them(error: type[BaseException]) -> None:
    def fail(row: int) -> None:
        if row in (37, 61):
            raise error(f"row {row}")

    scheduler = RowScheduler([worker(4, 1, fail) for _ in range(3)], 90, 90)
    numbers = rows(scheduler)
    found = [next(numbers) for _ in range(37)]
    assert found == list(range(37))
    with pytest.raises(error, match="row 37"):
        next(numbers)
    assert not worker_threads()


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_what_lost_hands_leave_is_made_by_the_others(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 120))
    deaths = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 40)), min_size=1, max_size=4))

    def mortal(death: int | None) -> Worker:
        blocks = [0]

        def before(row: int) -> None:
            blocks[0] += 1
            if death is not None and blocks[0] > death:
                raise lost()

        return worker(data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5)), before)

    scheduler = RowScheduler([mortal(death) for death in deaths], total, data.draw(st.integers(0, 60)))
    found: list[int] = []
    try:
        for row in rows(scheduler):
            found.append(row)
    except DeviceError as error:
        assert None not in deaths and error.is_lost
        assert f"{len(found)} of {total} rows were finished" in str(error) and str(error.__cause__) == "gone"
    else:
        assert len(found) == total
    assert found == list(range(len(found)))
    assert not worker_threads()


def test_finished_rows_come_before_the_error_that_nobody_is_left() -> None:
    stopped = threading.Event()

    def before(row: int) -> None:
        if row == 12:
            stopped.set()
            raise lost()

    scheduler = RowScheduler([worker(16, 4, before)], 40, 40)
    numbers = rows(scheduler)
    assert next(numbers) == 0
    assert stopped.wait(60)
    assert [next(numbers) for _ in range(11)] == list(range(1, 12))
    with pytest.raises(DeviceError, match="12 of 40 rows"):
        next(numbers)


def test_whoever_waits_takes_what_a_lost_hand_leaves() -> None:
    """Also when there was nothing left to take before."""
    idle = threading.Event()

    def die_late(row: int) -> None:
        assert idle.wait(60)
        raise lost()

    def tell(row: int) -> None:
        if scheduler.todo == []:
            idle.set()

    scheduler = RowScheduler([worker(4, 4, die_late), worker(4, 1, tell)], 8, 8)
    assert list(rows(scheduler)) == list(range(8))


@pytest.mark.parametrize("how", ["closed", "forgotten", "in a cycle", "failed"])
def test_threads_end_with_the_iterator(how: str) -> None:
    numbers = rows(RowScheduler([worker(2, 1) for _ in range(3)], 10_000, 100))
    assert next(numbers) == 0 and worker_threads()
    if how == "closed":
        numbers.close()
    elif how == "in a cycle":
        cycle: list[object] = [numbers]
        cycle.append(cycle)
        del numbers, cycle
        gc.collect()
    elif how == "failed":
        with pytest.raises(ZeroDivisionError):
            for _ in numbers:
                raise ZeroDivisionError
        del numbers
    else:
        del numbers
    assert not worker_threads()


def test_an_open_iterator_does_not_hold_up_the_end_of_the_program() -> None:
    script = (
        "from tests.solver.test_work_sharing import *\n"
        "numbers = rows(RowScheduler([worker(2, 1) for _ in range(3)], 10_000, 100))\n"
        "print(next(numbers), len(worker_threads()))\n"
        "threading.main_thread().numbers = numbers\n"
    )
    root = ROOT
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 3\n", "")


def test_the_end_does_not_wait_for_a_hand_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing_module, "AT_EXIT_S", 0.01)
    going, go = threading.Event(), threading.Event()

    def hang(row: int) -> None:
        if row > 0:
            going.set()
            assert go.wait(60)

    scheduler = RowScheduler([worker(4, 1, hang)], 9, 9)
    numbers = rows(scheduler)
    assert next(numbers) == 0 and going.wait(60)
    scheduler.stop_at_exit()
    assert worker_threads()
    go.set()
    for thread in worker_threads():
        thread.join(60)
    assert not worker_threads()
