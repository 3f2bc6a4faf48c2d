"""Tasks of a cluster, a bounded number at a time, some of which may have to be repeated."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any

from vkssp.checks import shown
from vkssp.dask.cluster import WAIT_S, distributed, is_connected, resources_of, spread, threads_of
from vkssp.dask.question import Facts, Question
from vkssp.dask.worker_solvers import SOLVERS
from vkssp.errors import ClusterError, DeviceError, VksspError
from vkssp.log import logger
from vkssp.terminal import progress_bar

_log: logging.Logger = logger(__name__)
# Tasks under way for each that runs, so that workers need not wait for the next one, and attempts of a task: each of
# these ends a worker several times, or loses a device twice.
_AHEAD, _ATTEMPTS = 16, 4
#: Tasks under way for each that runs if their results are large.
FEW_AHEAD = 2
# Seconds in which tasks end that are asked for in one message, while others are under way.
_COLLECT_S = 0.02
# Seconds that the result of a task, a few numbers, may take to arrive.
_RESULT_S = 60
# Seconds after which workers are counted again, and after which a lost connection is looked at again.
_COUNT_S, _LOOK_UP_S = 5.0, 0.1
_serial = itertools.count()
_NO_SCHEDULER = "the scheduler has ended, or was started anew; start a cluster, and ask again"


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
    with closing(results(client, question, find_facts, [()], resources)) as made:
        ((_, found),) = made
    facts: Facts = found
    return facts


def results(
    client: Any,
    question: Any,
    task: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    resources: dict[str, int] | None,
    name: str = "facts",
    *,
    ordered: bool = False,
    ahead: int = _AHEAD,
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
    ordered : bool
        Whether results come in the order of the tasks. Those that wait for an earlier one count among the tasks under
        way, so that their number is bounded.
    ahead : int
        Tasks under way for each that runs: few if results are large.

    Raises
    ------
    ClusterError
        If the scheduler is lost, or tasks end the processes of their workers again and again.
    VksspError
        As a task does; tasks that have not begun are cancelled.
    """
    library, serial = distributed(), f"{next(_serial)}-{id(client):x}"
    waiting, attempts = list(range(len(arguments)))[::-1], [0] * len(arguments)
    threads, counted = threads_of(client), time.monotonic()
    ended, under_way, shared = library.as_completed(loop=client.loop), dict[Any, int](), None
    kept, due = dict[int, Any](), 0

    def begin(count: int) -> None:
        """Submit some tasks in one message."""
        nonlocal shared
        if shared is None or shared.status in ("cancelled", "lost", "error"):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # a graph in memory, which is sent once
                key = f"vkssp-question-{serial}-{next(_serial)}"
                shared = client.submit(same, question, key=key, pure=False)
            if len(arguments) > 1:
                with suppress(OSError, KeyError, CancelledError):  # a worker has just ended; others take its tasks
                    spread(client, shared, resources, len(arguments))
        numbers = [waiting.pop() for _ in range(min(count, len(waiting)))]
        for number in numbers:
            attempts[number] += 1
        keys = [(f"vkssp-{name}-{serial}", *arguments[number], attempts[number]) for number in numbers]
        columns = zip(*(arguments[number] for number in numbers), strict=True)
        futures = client.map(task, [shared] * len(numbers), *columns, key=keys, resources=resources, pure=False)
        under_way.update(zip(futures, numbers, strict=True))
        ended.update(futures)

    try:
        while waiting or under_way:
            if time.monotonic() - counted > _COUNT_S:  # workers come and go
                threads, counted = threads_of(client), time.monotonic()
            busy = len(under_way) + len(kept)
            if waiting and (busy <= ahead * threads // 2 or not under_way):
                begin(max(1, ahead * threads - busy))
            if len(under_way) > threads:  # a message costs more than a short task
                time.sleep(_COLLECT_S)
            for future, found in _results_of(client, ended.next_batch()):
                number = under_way.pop(future)
                if not isinstance(found, _RepeatError):
                    kept[number] = found
                elif attempts[number] < _ATTEMPTS:
                    _log.warning("a task is done again: %s", found)
                    waiting.append(number)
                else:
                    raise ClusterError(f"{found}; {attempts[number]} attempts of a task have failed") from found
                while kept and (not ordered or due in kept):
                    number = due if ordered else next(iter(kept))
                    yield number, kept.pop(number)
                    due += 1
    except (OSError, CancelledError) as error:  # of connections; those of tasks are of this package
        raise ClusterError(f"{_NO_SCHEDULER} ({error})") from error
    finally:
        if under_way and client.status == "running":
            with suppress(OSError, CancelledError):
                client.cancel(list(under_way))


def computed(client: Any, lazy: Sequence[Any], *, progress: bool = False) -> list[Any]:
    """Return the values of lazy collections, computed by a cluster.

    Parameters
    ----------
    client : distributed.Client
        The client.
    lazy : sequence
        The collections.
    progress : bool
        Whether to show a progress bar of their tasks on stderr once it takes over a second.

    Raises
    ------
    ClusterError
        If the scheduler is lost, or the workers end again and again.
    VksspError
        As a task does.
    """
    futures = client.compute(list(lazy), resources=resources_of(client))
    try:
        with _shown(client, futures) if progress else nullcontext():
            for future in futures:
                with suppress(CancelledError):
                    future.exception()  # waits for it
                if future.status != "finished":
                    _result(future)
        found: list[Any] = client.gather(futures)
    except _RepeatError as error:
        raise ClusterError(f"{error}; ask again") from error
    except (OSError, CancelledError) as error:
        raise ClusterError(f"{_NO_SCHEDULER} ({error})") from error
    return found


@contextmanager
def _shown(client: Any, futures: list[Any]) -> Iterator[None]:
    """Show how many of the tasks that futures need have ended."""
    from distributed.diagnostics.progressbar import ProgressBar

    class Watch(ProgressBar):
        """Progress of the tasks that futures need, which the scheduler tells several times a second."""

        def _draw_bar(self, *, all: int, remaining: int, **others: Any) -> None:
            bar.total = all
            bar.update(all - remaining - bar.n)

    with progress_bar(shown=True, unit=" tasks") as bar:
        kind: Any = Watch
        watch = kind(futures, client.scheduler.address)
        listening = asyncio.run_coroutine_threadsafe(watch.listen(), client.loop.asyncio_loop)
        try:
            yield
        finally:
            listening.cancel()


def _results_of(client: Any, futures: list[Any]) -> Generator[tuple[Any, Any], None, None]:
    """Yield futures that have ended, each with its result, or with a `_RepeatError`."""
    finished, known = [future for future in futures if future.status == "finished"], dict[Any, Any]()
    if len(finished) > 1:
        try:
            known = dict(zip(finished, client.gather(finished), strict=True))  # in one message
        except Exception as error:  # a worker may have ended with any of them; each is asked for alone
            _log.debug("results are asked for one by one: %s", error)
    for future in futures:
        if future in known:
            yield future, known[future]
            continue
        try:
            found = _result(future)
        except _RepeatError as error:
            found = error
        yield future, found


class _RepeatError(Exception):
    """A task failed because of its worker, and may succeed on another one."""


def _await_scheduler(client: Any) -> None:
    """Wait until a client that has lost its scheduler is connected again.

    Raises
    ------
    ClusterError
        If it has given up.
    """
    until = time.monotonic() + WAIT_S
    while True:
        if client.status in ("closing", "closed") or time.monotonic() > until:
            raise ClusterError(_NO_SCHEDULER)
        if is_connected(client):  # the client may not have noticed yet
            return
        time.sleep(_LOOK_UP_S)


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
        except (OSError, CancelledError) as error:  # a connection is lost, or nothing comes in time
            _await_scheduler(future.client)
            raise _RepeatError("a worker, or the scheduler, has ended with the result of a task") from error
    if future.status in ("cancelled", "lost"):
        _await_scheduler(future.client)
        raise _RepeatError("a cluster has forgotten a task")
    trouble = future.exception()
    if isinstance(trouble, KilledWorker):
        raise _RepeatError(f"workers ended while they worked on a task ({shown(str(trouble))})") from trouble
    if isinstance(trouble, DeviceError) and trouble.is_lost:
        raise _RepeatError(str(trouble)) from trouble
    if isinstance(trouble, VksspError):
        raise trouble
    raise ClusterError(f"a task failed on its worker: {type(trouble).__name__}: {str(trouble)[:500]}") from trouble
