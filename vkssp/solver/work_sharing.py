"""Distribution of rows over several workers with a thread each; rows are handed over in order.

A worker takes a share of all rows that are not made yet, in proportion to its measured speed. It takes half of its
share while the share is more than a full batch, so that a wrong estimate does little harm, and all of it at the end,
so that all workers finish at about the same time (weighted factoring: S. F. Hummel, J. Schmidt, R. N. Uma, J. Wein,
Load-sharing in heterogeneous systems via weighted factoring, SPAA 1996). Rows are taken in order. A window limits how
far a row may be ahead of the next row to hand over; finished rows that wait fit into the window.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

from vkssp.errors import DeviceError, QueryError
from vkssp.locks import ReentrantLock, Sleepers
from vkssp.solver.row_maker import RowBlock

#: Most full batches that a worker takes at a time; the device runs empty once each time.
MOST_BATCHES = 8
#: Size of the window, in the most rows that each worker takes at a time: one part being made, and one waiting.
_IN_WINDOW = 2
#: Seconds that the end of the interpreter waits for workers.
AT_EXIT_S = 10.0
_running: weakref.WeakSet[RowScheduler] = weakref.WeakSet()


@dataclass(frozen=True, eq=False)
class Worker:
    """Worker that makes rows.

    Attributes
    ----------
    batch : int
        Number of rows that the worker makes at once.
    make : callable
        Makes the rows from a first number up to an end, in blocks.
    is_lost : callable
        Tells whether an error means that the worker can make no more rows.
    end : callable
        Called after the last row, in the thread that made the rows.
    """

    batch: int
    make: Callable[[int, int], Generator[RowBlock, None, None]]
    is_lost: Callable[[DeviceError], bool]
    end: Callable[[], None] = lambda: None


class RowScheduler:
    """Scheduler of rows that several workers make.

    Parameters
    ----------
    workers : list of Worker
        The workers.
    total : int
        Number of rows.
    most_waiting : int
        Most rows that may be finished or under way ahead of the next row to hand over; at least one for each worker.
    helped : callable
        Returns a context that is held while a thread waits for the workers to end.

    Attributes
    ----------
    todo : list of tuple of (int, int)
        Ranges of rows that no worker has taken yet, in order.
    handed : int
        Number of rows that were handed over.
    under_way : dict of Worker to int
        Number of rows that each worker is making; a lost worker is not there.
    made : dict of Worker to tuple of (int, float)
        Number of rows that each worker has made, and the seconds that they took.
    """

    def __init__(
        self,
        workers: list[Worker],
        total: int,
        most_waiting: int,
        helped: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._helped = helped
        self._total = self._end = total  # the end falls if a row fails: rows beyond it are not wanted
        most = {worker: MOST_BATCHES * worker.batch for worker in workers}
        self._window = max(len(workers), min(_IN_WINDOW * sum(most.values()), most_waiting))
        share = max(1, self._window // (_IN_WINDOW * len(workers)))
        self._most = {worker: min(rows, share) for worker, rows in most.items()}
        self._lock, self._sleepers = ReentrantLock(), Sleepers()
        self.todo = [(0, total)]
        self.handed = 0
        self._ready: dict[int, RowBlock] = {}  # blocks, by their first rows
        self.under_way = dict.fromkeys(workers, 0)
        self.made = {worker: (0, 0.0) for worker in workers}
        self._error: BaseException | None = None
        self._lost: DeviceError | None = None
        self._is_stopped = False
        self._process = os.getpid()
        names = (f"vkssp-worker-{number}" for number in range(len(workers)))
        self._threads = [
            threading.Thread(target=self._work, args=(worker,), name=name, daemon=True)
            for worker, name in zip(workers, names, strict=True)
        ]

    def blocks(self, waiting: Callable[[], AbstractContextManager[None]]) -> Generator[RowBlock, None, None]:
        """Yield the rows in order; the first call starts the threads.

        Parameters
        ----------
        waiting : callable
            Returns a context that is held while the caller waits for workers.

        Raises
        ------
        DeviceError
            If all workers are lost.
        """
        _running.add(self)
        try:
            for thread in self._threads:
                thread.start()
            while self.handed < self._total:
                with waiting():
                    block = self._next()
                yield block
        finally:
            self.stop()

    def _next(self) -> RowBlock:
        return self._sleepers.wait_for(self._ready_or_not)

    def _ready_or_not(self) -> RowBlock | None:
        """Return the next rows to hand over, or None if they are not made yet."""
        with self._lock.held():
            block = self._ready.pop(self.handed, None)
            if block is None:
                if self._is_stopped:
                    raise QueryError("this pool was closed while rows were made; make another")
                if self._error is not None and self.handed == self._end:
                    raise self._error
                if not self.under_way:
                    assert self._lost is not None
                    raise self._lost_all(self._lost)
                return None
            self.handed += len(block)
        self._sleepers.wake()
        return block

    def _lost_all(self, last: DeviceError) -> DeviceError:
        error = DeviceError(
            f"no device is left, the last one was lost: {last}; {self.handed:,} of {self._total:,} rows were finished "
            "and handed over, ask for the rest with another pool"
        )
        error.is_lost, error.__cause__ = True, last
        return error

    def stop(self) -> None:
        """Stop once the workers have finished their current blocks; drop the blocks that wait."""
        if not self._threads or os.getpid() != self._process:
            return  # the program has ended, or this process is a fork, which has none of the threads
        self._tell_to_stop()
        with self._helped():
            for thread in self._threads:
                # `join` fails for this thread itself, which may collect a forgotten iterator, and for threads that
                # have not begun.
                with suppress(RuntimeError):
                    thread.join()

    def _tell_to_stop(self) -> None:
        with self._lock.held():
            self._is_stopped = True
            self._ready.clear()
        self._sleepers.wake()

    def stop_at_exit(self) -> None:
        """Stop, but do not wait long for a device that may hang."""
        self._tell_to_stop()
        deadline = time.monotonic() + AT_EXIT_S
        for thread in self._threads:
            with suppress(RuntimeError):
                thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = []

    def _work(self, worker: Worker) -> None:
        try:
            self._make(worker)
        finally:
            with suppress(DeviceError):  # the device may be lost
                worker.end()

    def _make(self, worker: Worker) -> None:
        while (rows := self._take(worker)) is not None:
            first, end = rows
            began = time.perf_counter()
            made = worker.make(first, end)
            try:
                for block in made:
                    if not self._put(worker, first, block):
                        break
                    first += len(block)
                with self._lock.held():
                    count, seconds = self.made[worker]
                    self.made[worker] = count + first - rows[0], seconds + time.perf_counter() - began
            except DeviceError as error:
                if worker.is_lost(error):
                    self._lose(worker, first, end, error)
                    return
                self._fail(first, end, error)
            except BaseException as error:
                self._fail(first, end, error)
            finally:
                with suppress(DeviceError):  # the device may be lost
                    made.close()
                with self._lock.held():
                    if worker in self.under_way:
                        self.under_way[worker] = 0
                self._sleepers.wake()

    def _take(self, worker: Worker) -> tuple[int, int] | None:
        """Wait for room, and return the rows that a worker makes next; None if no rows are left."""
        first, end = self._sleepers.wait_for(lambda: self._room_or_not(worker))
        return (first, end) if first < end else None

    def _room_or_not(self, worker: Worker) -> tuple[int, int] | None:
        """Return the rows that a worker makes next, an empty range if none are left; None while there is no room."""
        none_left = self._total, self._total
        with self._lock.held():
            if self._is_stopped:
                return none_left
            while self.todo and self.todo[0][0] >= self._end:
                self.todo.pop(0)
            if not self.todo:
                # A worker ends only after all others are done: a lost device leaves its rows to the rest.
                return None if any(self.under_way.values()) else none_left
            first, end = self.todo[0]
            end = min(end, self._end, first + self.size(worker))
            if end > self.handed + self._window:
                return None
            self.todo[0] = (end, self.todo[0][1])
            if end == self.todo[0][1]:
                self.todo.pop(0)
            self.under_way[worker] = end - first
            return first, end

    def size(self, worker: Worker) -> int:
        """Return the number of rows that a worker takes next; see the top of this file."""
        left = sum(min(end, self._end) - first for first, end in self.todo if first < self._end)
        rows = (left + sum(self.under_way.values())) * self._speed(worker)
        rows /= sum(map(self._speed, self.under_way))
        if rows > worker.batch:
            rows = max(float(worker.batch), rows / 2)
        return max(1, min(round(rows), self._most[worker]))

    def _speed(self, worker: Worker) -> float:
        """Return the rows per second of a worker; the average of the others if it has not been measured yet."""
        speeds = {one: rows / seconds for one, (rows, seconds) in self.made.items() if rows and seconds}
        if worker in speeds:
            return speeds[worker]
        return sum(speeds.values()) / len(speeds) if speeds else 1.0

    def _put(self, worker: Worker, first: int, block: RowBlock) -> bool:
        """Take a block, and return whether more are wanted of these rows."""
        with self._lock.held():
            if self._is_stopped or first >= self._end:
                return False
            self._ready[first] = block
            self.under_way[worker] -= len(block)
        self._sleepers.wake()
        return True

    def _lose(self, worker: Worker, first: int, end: int, error: DeviceError) -> None:
        """Give a worker's rows to the others."""
        with self._lock.held():
            del self.under_way[worker]
            self._lost = error
            if first < end:
                self.todo = sorted([*self.todo, (first, end)])

    def _fail(self, row: int, end: int, error: BaseException) -> None:
        """Keep the error of a row until all rows before it have been handed over."""
        with self._lock.held():
            if row == end:
                return  # all rows were made; the next row is another worker's, and may be ready
            if row < self._end or self._error is None:
                self._end, self._error = row, error


@atexit.register
def _stop_all() -> None:
    # Threads alive while the interpreter ends could be inside the driver, or wait for it for ever.
    for scheduler in list(_running):
        scheduler.stop_at_exit()
