"""Work on all cores, by threads whose compiled code holds no lock of the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

_Result = TypeVar("_Result")

# The threads, and the process that they belong to: a fork has none of them.
_threads: tuple[int, ThreadPoolExecutor] | None = None


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    with suppress(AttributeError, OSError):  # not Linux
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    global _threads
    if _threads is None or _threads[0] != os.getpid():
        _threads = os.getpid(), ThreadPoolExecutor(num_cores(), "vkssp-core")
    return _threads[1]


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

    others: list[Future[None]] = []
    try:
        others = [_pool().submit(work) for _ in range(min(num_cores(), len(tasks)) - 1)]
        work()
        for other in others:
            other.result()
    finally:
        todo.clear()
        for other in others:
            other.exception()
    return results  # type: ignore[return-value]


def run_ahead(tasks: Iterable[Callable[[], _Result]], ahead: int) -> Generator[_Result, None, None]:
    """Yield the results of tasks in order, while other threads work on the next ones, `ahead` of them at most."""
    under_way: list[Future[_Result]] = []
    try:
        for task in tasks:
            under_way.append(_pool().submit(task))
            if len(under_way) >= ahead:
                yield under_way.pop(0).result()
        while under_way:
            yield under_way.pop(0).result()
    finally:
        for other in under_way:
            other.cancel()
        for other in under_way:
            with suppress(BaseException):
                other.result()
