"""Work on all cores, by threads whose compiled code holds no lock of the interpreter.

The threads, and what waits for them, share queues of the interpreter, which no interrupt leaves locked; see
`vkssp.locks`. `concurrent.futures` has locks that one does.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

_Result = TypeVar("_Result")
# Number of cores that this process may use at most.
_most = sys.maxsize
# An interrupt may lose the message that a job has ended, so that a thread looks up by itself after so many seconds.
_LOOK_UP_S = 0.5


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    with suppress(AttributeError, OSError):  # not Linux
        return min(_most, max(1, len(os.sched_getaffinity(0))))
    return min(_most, os.cpu_count() or 1)


def limit_cores(count: int) -> None:
    """Let this process use no more than some cores from now on, because other processes use the others."""
    global _most
    _most = count


class _Job(Generic[_Result]):
    """Task of a thread of the crew, and its outcome: the result, or an error."""

    def __init__(self, task: Callable[[], _Result]) -> None:
        self._task, self._ended = task, SimpleQueue[None]()
        self._outcome: tuple[_Result | None, BaseException | None] | None = None
        # Whoever takes the token decides whether the task is done.
        self._token, self._is_cancelled = [None], False

    def _take(self) -> bool:
        with suppress(IndexError):
            self._token.pop()
            return True
        return False

    def cancel(self) -> bool:
        """Leave the task undone; return False if it has been begun."""
        self._is_cancelled = self._is_cancelled or self._take()
        return self._is_cancelled

    def run(self) -> None:
        """Do the task, unless it was cancelled."""
        outcome: tuple[_Result | None, BaseException | None] = None, None
        try:
            if self._take():
                outcome = self._task(), None
        except BaseException as error:
            outcome = None, error
        del self._task  # and what it holds
        self._outcome = outcome
        self._ended.put(None)

    def wait(self) -> BaseException | None:
        """Wait until the task has ended, unless it was cancelled, and return its error."""
        while self._outcome is None:
            if self._is_cancelled:
                return None
            with suppress(Empty):
                self._ended.get(timeout=_LOOK_UP_S)
        return self._outcome[1]

    def result(self) -> _Result:
        """Wait until the task has ended; return its result or raise its error."""
        error = self.wait()
        if error is not None:
            raise error
        assert self._outcome is not None
        return self._outcome[0]  # type: ignore[return-value]


class _Crew:
    """Threads that do jobs, as many as there were cores when they were first needed."""

    def __init__(self) -> None:
        self.process, self._size, self._begun = os.getpid(), num_cores(), 0
        self._jobs = SimpleQueue[_Job[object]]()

    def begin(self, task: Callable[[], _Result]) -> _Job[_Result]:
        """Hand over a task."""
        while self._begun < self._size:
            # A thread of `threading` would be waited for, by a lock that an interrupt leaves locked.
            _thread.start_new_thread(self._work, ())
            self._begun += 1
        job = _Job(task)
        self._jobs.put(job)  # type: ignore[arg-type]
        return job

    def _work(self) -> None:
        while True:
            self._jobs.get().run()


_crew: _Crew | None = None


def _begin(task: Callable[[], _Result]) -> _Job[_Result]:
    global _crew
    if _crew is None or _crew.process != os.getpid():  # a fork has none of the threads
        _crew = _Crew()
    return _crew.begin(task)


def run_all(tasks: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """Run tasks on all cores, this thread's included, and return their results in order.

    After an error or an interrupt no other task is begun, and those under way end before it is raised.
    """
    results: list[_Result | None] = [None] * len(tasks)
    todo = list(enumerate(tasks))[::-1]

    def work() -> None:
        with suppress(IndexError):  # no task is left
            while True:
                number, task = todo.pop()
                results[number] = task()

    others: list[_Job[None]] = []
    try:
        for _ in range(min(num_cores(), len(tasks)) - 1):
            others.append(_begin(work))
        work()
        for other in others:
            # If all threads are at work for others, none may have begun it, and nothing is left to be done.
            if not other.cancel():
                other.result()
    finally:
        todo.clear()
        for other in others:
            other.wait()
    return results  # type: ignore[return-value]


def run_parts(task: Callable[[int, int], _Result], count: int, least: int) -> list[_Result]:
    """Run a task on parts of `count` items, each given by its first item and its end, and return the results in order.

    A part has `least` items or more; with fewer than two parts of so many, there is one.
    """
    parts = max(1, min(num_cores(), count // least))
    if parts == 1:
        return [task(0, count)]
    bounds = [count * part // parts for part in range(parts + 1)]
    return run_all([partial(task, *bounds_of_part) for bounds_of_part in pairwise(bounds)])


def run_ahead(tasks: Iterable[Callable[[], _Result]], ahead: int) -> Generator[_Result, None, None]:
    """Yield the results of tasks in order, while other threads work on the next ones, `ahead` of them at most.

    With one core this thread does them, when their results are asked for: to hand over a short task takes longer.
    """
    if num_cores() == 1:
        for task in tasks:
            yield task()
        return
    under_way: list[_Job[_Result]] = []

    def next_result() -> _Result:
        result = under_way[0].result()
        del under_way[0]  # only now, so that an interrupt of the wait leaves it to be waited for
        return result

    try:
        for task in tasks:
            under_way.append(_begin(task))
            if len(under_way) >= ahead:
                yield next_result()
        while under_way:
            yield next_result()
    finally:
        for job in under_way:
            job.cancel()
        for job in under_way:
            job.wait()


@contextmanager
def beside(task: Callable[[], _Result]) -> Generator[Callable[[], _Result], None, None]:
    """Do a task, which may use `run_all`, on a thread of its own, and yield a function that waits for its result.

    At the end of the block, or after an error in it, the task is waited for.
    """
    job = _Job(task)
    del task  # and what it holds, as soon as it has ended
    _thread.start_new_thread(job.run, ())
    try:
        yield job.result
    finally:
        job.wait()
