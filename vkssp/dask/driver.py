"""Tasks of a cluster, a bounded number at a time, some of which may have to be repeated."""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any

from vkssp.checks import shown
from vkssp.dask.cluster import distributed, threads_of
from vkssp.dask.question import Facts, Question
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import ClusterError, DeviceError, VksspError
from vkssp.log import logger

_log: logging.Logger = logger(__name__)
# Tasks under way for each that runs, so that workers need not wait for the next one, and attempts of a task: each of
# these ends a worker several times, or loses a device twice.
_AHEAD, _ATTEMPTS = 3, 4
# Seconds that the result of a task, a few numbers, may take to arrive.
_RESULT_S = 60
_serial = itertools.count()


def find_facts(question: Question) -> Facts:
    """Check a question, and measure the time of a row; a task of a worker."""
    return SOLVERS.facts(question)


def same(question: Question) -> Question:
    """Return the question; a task, whose result reaches each worker once, and is made anew where it is lost."""
    return question


def facts_of(client: Any, question: Question, resources: dict[str, int] | None) -> Facts:
    """Return the facts of a question, found by a worker.

    Raises
    ------
    ClusterError
        If the cluster has no worker, or fails.
    VksspError
        As the question does.
    """
    found: list[Facts] = []
    for _, result in results(client, question, find_facts, [()], resources):
        found.append(result)
    return found[0]


def results(
    client: Any,
    question: Any,
    task: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    resources: dict[str, int] | None,
    name: str = "facts",
) -> Generator[tuple[int, Any], None, None]:
    """Yield the number and the result of each task, in the order in which they end.

    Parameters
    ----------
    client : distributed.Client
        The client.
    question : object
        First argument of all tasks, which reaches each worker once.
    task : callable
        Function of a module.
    arguments : sequence of tuple
        Other arguments of each task.
    resources : dict, optional
        Resources that each task needs.
    name : str
        What the dashboard calls the tasks.

    Raises
    ------
    ClusterError
        If the scheduler is lost, or tasks end the processes of their workers again and again.
    VksspError
        As a task does; tasks that have not begun are cancelled.
    """
    library, serial = distributed(), f"{next(_serial)}-{id(client):x}"
    waiting, attempts = list(range(len(arguments)))[::-1], [0] * len(arguments)
    ahead = _AHEAD * threads_of(client)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # a graph in memory, which is sent once
        shared = client.submit(same, question, key=f"vkssp-question-{serial}", pure=False)
    ended, under_way = library.as_completed(loop=client.loop), dict[Any, int]()

    def begin() -> None:
        number = waiting.pop()
        attempts[number] += 1
        key = (f"vkssp-{name}-{serial}", *arguments[number], attempts[number])
        future = client.submit(task, shared, *arguments[number], key=key, resources=resources, pure=False)
        under_way[future] = number
        ended.add(future)

    try:
        while waiting or under_way:
            while waiting and len(under_way) < ahead:
                begin()
            future = next(ended)
            number = under_way.pop(future)
            try:
                result = _result(future)
            except _RepeatError as error:
                if attempts[number] >= _ATTEMPTS:
                    raise ClusterError(f"{error}; {attempts[number]} attempts of a task have failed") from error
                _log.warning("a task is done again: %s", error)
                waiting.append(number)
                continue
            yield number, result
    finally:
        if under_way and client.status == "running":
            client.cancel(list(under_way))


class _RepeatError(Exception):
    """A task failed because of its worker, and may succeed on another one."""


def _result(future: Any) -> Any:
    """Return the result of a task that has ended.

    Raises
    ------
    _RepeatError
        If its worker has ended, or lost its device.
    ClusterError
        If the scheduler is lost.
    VksspError
        As the task does.
    """
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        try:
            return future.result(timeout=_RESULT_S)
        except TimeoutError as error:
            raise _RepeatError("a worker has ended with the result of a task") from error
    if future.status in ("cancelled", "lost"):
        raise ClusterError("the scheduler has ended, or was started anew; start a cluster, and ask again")
    trouble = future.exception()
    if isinstance(trouble, KilledWorker):
        raise _RepeatError(f"workers ended while they worked on a task ({shown(str(trouble))})") from trouble
    if isinstance(trouble, DeviceError) and trouble.is_lost:
        raise _RepeatError(str(trouble)) from trouble
    if isinstance(trouble, VksspError):
        raise trouble
    raise ClusterError(f"a task failed on its worker: {type(trouble).__name__}: {str(trouble)[:500]}") from trouble
