"""Distribution of rows over several hands, each a worker with its own thread; rows are handed over in order.

A hand takes a share of all rows that are not made yet, in proportion to its measured speed. It takes half of its share
while the share is more than a full batch, so that a wrong estimate does little harm, and all of it at the end, so that
all hands finish at about the same time (weighted factoring: S. F. Hummel, J. Schmidt, R. N. Uma, J. Wein,
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
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from vkssp.errors import DeviceError, QueryError
from vkssp.locks import ReentrantLock, Sleepers
from vkssp.solver.row_maker import RowBlock

#: Most full batches that a hand takes at a time; the device runs empty once each time.
MOST_BATCHES = 8
#: Size of the window, in the most rows that each hand takes at a time: one part being made, and one waiting.
_IN_WINDOW = 2
# Seconds that the end of the interpreter waits for hands.
_AT_EXIT_S = 10.0
_running: weakref.WeakSet[Dealing] = weakref.WeakSet()


@dataclass(frozen=True, eq=False)
class Hand:
    """Worker that makes rows.

    Attributes
    ----------
    batch : int
        Number of rows that the hand makes at once.
    make : callable
        Makes the rows from a first number up to an end, in blocks.
    is_lost : callable
        Tells whether an error means that the hand can make no more rows.
    end : callable
        Called after the last row, in the thread that made the rows.
    """

    batch: int
    make: Callable[[int, int], Generator[RowBlock, None, None]]
    is_lost: Callable[[DeviceError], bool]
    end: Callable[[], None] = lambda: None


class Dealing:
    """Scheduler of rows that several hands make.

    Parameters
    ----------
    hands : list of Hand
        The workers.
    total : int
        Number of rows.
    most_waiting : int
        Most rows that may be finished or under way ahead of the next row to hand over; at least one for each hand.
    """

    def __init__(self, hands: list[Hand], total: int, most_waiting: int) -> None:
        self._total = self._end = total  # the end falls if a row fails: rows beyond it are not wanted
        most = {hand: MOST_BATCHES * hand.batch for hand in hands}
        self._window = max(len(hands), min(_IN_WINDOW * sum(most.values()), most_waiting))
        share = max(1, self._window // (_IN_WINDOW * len(hands)))
        self._most = {hand: min(rows, share) for hand, rows in most.items()}
        self._lock, self._sleepers = ReentrantLock(), Sleepers()
        self._todo = [(0, total)]
        self._handed = 0
        self._ready: dict[int, RowBlock] = {}  # blocks, by their first rows
        self._under_way = dict.fromkeys(hands, 0)
        self._made = {hand: (0, 0.0) for hand in hands}  # rows, and the seconds that they took
        self._error: BaseException | None = None
        self._lost: DeviceError | None = None
        self._is_stopped = False
        self._process = os.getpid()
        names = (f"vkssp-hand-{number}" for number in range(len(hands)))
        self._threads = [
            threading.Thread(target=self._work, args=(hand,), name=name, daemon=True)
            for hand, name in zip(hands, names, strict=True)
        ]

    def blocks(self, waiting: Callable[[], AbstractContextManager[None]]) -> Generator[RowBlock, None, None]:
        """Yield the rows in order; the first call starts the threads.

        Parameters
        ----------
        waiting : callable
            Returns a context that is held while the caller waits for hands.

        Raises
        ------
        DeviceError
            If all hands are lost.
        """
        _running.add(self)
        try:
            for thread in self._threads:
                thread.start()
            while self._handed < self._total:
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
            block = self._ready.pop(self._handed, None)
            if block is None:
                if self._is_stopped:
                    raise QueryError("this pool was closed while rows were made; make another")
                if self._error is not None and self._handed == self._end:
                    raise self._error
                if not self._under_way:
                    assert self._lost is not None
                    raise self._lost_all(self._lost)
                return None
            self._handed += len(block)
        self._sleepers.wake()
        return block

    def _lost_all(self, last: DeviceError) -> DeviceError:
        error = DeviceError(
            f"no device is left, the last one was lost: {last}; {self._handed:,} of {self._total:,} rows were finished "
            "and handed over, ask for the rest with another pool"
        )
        error.is_lost, error.__cause__ = True, last
        return error

    def stop(self) -> None:
        """Stop once the hands have finished their current blocks; drop the blocks that wait."""
        if not self._threads or os.getpid() != self._process:
            return  # the program has ended, or this process is a fork, which has none of the threads
        self._tell_to_stop()
        for thread in self._threads:
            # `join` fails for this thread itself, which may collect a forgotten iterator, and for unstarted threads.
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
        deadline = time.monotonic() + _AT_EXIT_S
        for thread in self._threads:
            with suppress(RuntimeError):
                thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = []

    def _work(self, hand: Hand) -> None:
        try:
            self._make(hand)
        finally:
            with suppress(DeviceError):  # the device may be lost
                hand.end()

    def _make(self, hand: Hand) -> None:
        while (rows := self._take(hand)) is not None:
            first, end = rows
            began = time.perf_counter()
            made = hand.make(first, end)
            try:
                for block in made:
                    if not self._put(hand, first, block):
                        break
                    first += len(block)
                with self._lock.held():
                    count, seconds = self._made[hand]
                    self._made[hand] = count + first - rows[0], seconds + time.perf_counter() - began
            except DeviceError as error:
                if hand.is_lost(error):
                    self._lose(hand, first, end, error)
                    return
                self._fail(first, end, error)
            except BaseException as error:
                self._fail(first, end, error)
            finally:
                with suppress(DeviceError):  # the device may be lost
                    made.close()
                with self._lock.held():
                    if hand in self._under_way:
                        self._under_way[hand] = 0
                self._sleepers.wake()

    def _take(self, hand: Hand) -> tuple[int, int] | None:
        """Wait for room, and return the rows that a hand makes next; None if no rows are left."""
        first, end = self._sleepers.wait_for(lambda: self._room_or_not(hand))
        return (first, end) if first < end else None

    def _room_or_not(self, hand: Hand) -> tuple[int, int] | None:
        """Return the rows that a hand makes next, an empty range if none are left; None while there is no room."""
        none_left = self._total, self._total
        with self._lock.held():
            if self._is_stopped:
                return none_left
            while self._todo and self._todo[0][0] >= self._end:
                self._todo.pop(0)
            if not self._todo:
                # A hand ends only after all others are done: a lost device leaves its rows to the rest.
                return None if any(self._under_way.values()) else none_left
            first, end = self._todo[0]
            end = min(end, self._end, first + self._size(hand))
            if end > self._handed + self._window:
                return None
            self._todo[0] = (end, self._todo[0][1])
            if end == self._todo[0][1]:
                self._todo.pop(0)
            self._under_way[hand] = end - first
            return first, end

    def _size(self, hand: Hand) -> int:
        """Return the number of rows that a hand takes next; see the top of this file."""
        left = sum(min(end, self._end) - first for first, end in self._todo if first < self._end)
        rows = (left + sum(self._under_way.values())) * self._speed(hand)
        rows /= sum(map(self._speed, self._under_way))
        if rows > hand.batch:
            rows = max(float(hand.batch), rows / 2)
        return max(1, min(round(rows), self._most[hand]))

    def _speed(self, hand: Hand) -> float:
        """Return the rows per second of a hand; the average of the others if it has not been measured yet."""
        speeds = {one: rows / seconds for one, (rows, seconds) in self._made.items() if rows and seconds}
        if hand in speeds:
            return speeds[hand]
        return sum(speeds.values()) / len(speeds) if speeds else 1.0

    def _put(self, hand: Hand, first: int, block: RowBlock) -> bool:
        """Take a block, and return whether more are wanted of these rows."""
        with self._lock.held():
            if self._is_stopped or first >= self._end:
                return False
            self._ready[first] = block
            self._under_way[hand] -= len(block)
        self._sleepers.wake()
        return True

    def _lose(self, hand: Hand, first: int, end: int, error: DeviceError) -> None:
        """Give a hand's rows to the others."""
        with self._lock.held():
            del self._under_way[hand]
            self._lost = error
            if first < end:
                self._todo = sorted([*self._todo, (first, end)])

    def _fail(self, row: int, end: int, error: BaseException) -> None:
        """Keep the error of a row until all rows before it have been handed over."""
        with self._lock.held():
            if row == end:
                return  # all rows were made; the next row is another hand's, and may be ready
            if row < self._end or self._error is None:
                self._end, self._error = row, error


@atexit.register
def _stop_all() -> None:
    # Threads alive while the interpreter ends could be inside the driver, or wait for it for ever.
    for dealing in list(_running):
        dealing.stop_at_exit()
