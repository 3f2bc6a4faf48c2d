"""Locks that an exception between any two instructions, such as that of Ctrl-C, leaves as they should be.

Python raises KeyboardInterrupt in the main thread after almost any instruction: between the taking of a lock and the
``try`` that gives it back, or inside of `threading.Condition`, which then releases what it does not hold. These locks
consist of sets and dicts of claims instead. A claim is made and withdrawn by one call of a built-in method, which no
interrupt divides; withdrawing it again does nothing, so that it is done twice, in two ``finally`` clauses of which an
interrupt skips one at most. Wake-ups are hints: a thread that waits looks up twice a second by itself, and so a lost
one never makes it wait for ever.

Threads have their turn in the order in which they came: otherwise one that asks again and again, without a pause,
takes the lock back before any thread that it has woken can run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import NamedTuple, TypeVar

from vkssp.errors import QueryError

_LOOK_UP_S = 0.5
_Result = TypeVar("_Result")


class _Claim(NamedTuple):
    """A wish of a thread to have a lock, and its place in the order of all wishes."""

    turn: int
    thread: int

    def is_after_one_of(self, turns: set[int]) -> bool:
        return min(tuple(turns), default=self.turn) < self.turn  # of a copy, as other threads change the set


class Sleepers:
    """Threads that wait until an attempt of theirs succeeds."""

    def __init__(self) -> None:
        self._asleep: deque[threading.Lock] = deque()

    def wait_for(self, attempt: Callable[[], _Result | None]) -> _Result:
        """Repeat an attempt, after each wake-up, until it returns something other than None; return that."""
        if (result := attempt()) is not None:
            return result
        while True:
            bed = threading.Lock()
            bed.acquire()
            try:
                self._asleep.append(bed)  # before the next attempt, so that no wake-up after it is missed
                while True:
                    if (result := attempt()) is not None:
                        return result
                    if bed.acquire(timeout=_LOOK_UP_S):
                        break
            finally:
                with suppress(ValueError, IndexError):  # it is not there any more
                    self._asleep.remove(bed)

    def wake(self) -> None:
        """Let all that wait try again."""
        while self._asleep:
            with suppress(IndexError):  # another thread was faster
                self._asleep.popleft().release()


class ReentrantLock:
    """A lock that one thread at a time holds, any number of times."""

    def __init__(self) -> None:
        self._turns = count()
        self._waiting: set[int] = set()  # turns of those that wait
        self._holder: dict[None, _Claim] = {}
        self._sleepers = Sleepers()

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        holder = self._holder.get(None)
        return holder is not None and holder.thread == threading.get_ident()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock, once no other thread does."""
        if self.is_mine:
            yield
            return
        claim = _Claim(next(self._turns), threading.get_ident())
        try:
            try:
                if not self._take_in_turn(claim):
                    self._waiting.add(claim.turn)
                    self._sleepers.wait_for(lambda: self._take_in_turn(claim))
                    self._waiting.discard(claim.turn)
                yield
            finally:
                self._give_back(claim)
        finally:
            self._give_back(claim)

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock if no other thread does, and tell whether that is so."""
        if self.is_mine:
            yield True
            return
        claim = _Claim(next(self._turns), threading.get_ident())
        try:
            try:
                yield self._take(claim) is not None
            finally:
                self._give_back(claim)
        finally:
            self._give_back(claim)

    def _take(self, claim: _Claim) -> bool | None:
        return True if self._holder.setdefault(None, claim) is claim else None

    def _take_in_turn(self, claim: _Claim) -> bool | None:
        return None if claim.is_after_one_of(self._waiting) else self._take(claim)

    def _give_back(self, claim: _Claim) -> None:
        self._waiting.discard(claim.turn)
        if self._holder.get(None) is claim:  # and so no other thread changes it meanwhile
            self._holder.pop(None, None)
        self._sleepers.wake()


class ReadersWriterLock:
    """Keeps searches and changes of weights apart: many threads read, or one writes, in the order of their coming."""

    def __init__(self) -> None:
        self._turns = count()
        self._readers: set[int] = set()  # threads
        self._helped: set[object] = set()
        self._waiting_readers: set[int] = set()  # turns
        self._writers: set[int] = set()  # turns of those that wait, and of the one at work
        self._writer: dict[None, _Claim] = {}
        self._sleepers = Sleepers()

    @property
    def is_reading(self) -> bool:
        """Whether this thread reads."""
        return threading.get_ident() in self._readers

    @property
    def has_writers(self) -> bool:
        """Whether a thread writes or waits until it may."""
        return bool(self._writers)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep writers out; may be nested.

        Raises
        ------
        QueryError
            If this thread writes.
        """
        if self.is_reading:
            yield  # waiting for a writer would be waiting for this thread itself
            return
        self._check_not_writing()
        claim = _Claim(next(self._turns), threading.get_ident())
        try:
            try:
                if not self._begin_reading(claim):
                    self._waiting_readers.add(claim.turn)
                    self._sleepers.wait_for(lambda: self._begin_reading(claim))
                    self._waiting_readers.discard(claim.turn)
                yield
            finally:
                self._end_reading(claim)
        finally:
            self._end_reading(claim)

    def _begin_reading(self, claim: _Claim) -> bool | None:
        if self._is_shut(claim):
            return None
        self._readers.add(claim.thread)
        if not self._is_shut(claim):
            return True
        # A writer came in between. Each of the two sees the other, and gives way.
        self._readers.discard(claim.thread)
        self._sleepers.wake()
        return None

    def _is_shut(self, claim: _Claim) -> bool:
        # As long as a thread that is helped reads, no writer is at work.
        return not self._helped and (bool(self._writer) or claim.is_after_one_of(self._writers))

    def _end_reading(self, claim: _Claim) -> None:
        self._waiting_readers.discard(claim.turn)
        self._readers.discard(claim.thread)
        self._sleepers.wake()

    @contextmanager
    def helped(self) -> Iterator[None]:
        """Let other threads read for this one, before writers that wait until it is done."""
        if not self.is_reading:
            yield
            return
        claim = object()
        try:
            try:
                self._helped.add(claim)
                self._sleepers.wake()
                yield
            finally:
                self._helped.discard(claim)
        finally:
            self._helped.discard(claim)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep readers and other writers out, once those that are at work are done.

        Raises
        ------
        QueryError
            If this thread reads or writes.
        """
        if self.is_reading:
            raise QueryError("weights cannot change inside of solver.holding(), which keeps them; change them after it")
        self._check_not_writing()
        claim = _Claim(next(self._turns), threading.get_ident())
        try:
            try:
                self._writers.add(claim.turn)
                self._sleepers.wait_for(lambda: self._begin_writing(claim))
                yield
            finally:
                self._end_writing(claim)
        finally:
            self._end_writing(claim)

    def _begin_writing(self, claim: _Claim) -> bool | None:
        if self._readers or claim.is_after_one_of(self._waiting_readers) or claim.is_after_one_of(self._writers):
            return None
        if self._writer.setdefault(None, claim) is not claim:
            return None
        if not self._readers:
            return True
        self._writer.pop(None, None)
        self._sleepers.wake()
        return None

    def _end_writing(self, claim: _Claim) -> None:
        if self._writer.get(None) is claim:
            self._writer.pop(None, None)
        self._writers.discard(claim.turn)
        self._sleepers.wake()

    def _check_not_writing(self) -> None:
        writer = self._writer.get(None)
        if writer is not None and writer.thread == threading.get_ident():
            raise QueryError("a function that changes weights may not search, nor change them by another call")
