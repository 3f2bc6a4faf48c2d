"""Locks that stay consistent if an exception, such as KeyboardInterrupt, is raised between any two instructions.

Python raises KeyboardInterrupt in the main thread after almost any instruction: between the acquisition of a lock and
the ``try`` that releases it, or inside of `threading.Condition`, which then releases a lock that it does not hold.
These locks are lists of claims instead, in the order in which the claims were made. A claim has its turn when no
conflicting claim is before it. One assignment ends a claim. A claim without references counts as ended; an interrupt
has kept its block from beginning. Wake-ups are hints: a waiting thread also checks twice a second by itself.

The order of the claims keeps a thread that asks again and again, without a pause, from shutting out other threads.

A forked process has only the thread that forked it; the claims of all other threads count as ended there.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from vkssp.errors import QueryError

_LOOK_UP_S = 0.5
_Result = TypeVar("_Result")


class _Thread:
    """Identity of a thread; unlike a thread's number, it is never reused."""

    def __init__(self) -> None:
        self.process = os.getpid()


class _Own(threading.local):
    def __init__(self) -> None:
        self.thread = _Thread()


_own, _process = _Own(), os.getpid()


def _after_fork() -> None:
    global _process
    _process = _own.thread.process = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Claim:
    """Context manager for a block in which a thread holds a lock or waits for it.

    Parameters
    ----------
    begin : callable
        Makes the claim, waits for its turn, and returns the value of the ``with`` statement.
    end : callable
        Removes a claim that has ended.
    is_writer : bool
        Whether the claim keeps readers out.
    """

    def __init__(self, begin: Callable[[Claim], bool], end: Callable[[Claim], None], is_writer: bool = False) -> None:
        self._begin, self._end, self.is_writer = begin, end, is_writer
        self.thread, self.has_turn, self.is_over = _own.thread, False, False

    def __enter__(self) -> bool:
        """Wait for the turn of this claim."""
        try:
            self.has_turn = self._begin(self)
            return self.has_turn
        except BaseException:
            self.end()
            raise

    def __exit__(self, *_: object) -> None:
        """End the claim."""
        self.end()

    def end(self) -> None:
        """End the claim; later calls do nothing."""
        self.is_over = True  # this ends the claim; the rest only saves work for other threads
        self._end(self)


class _Claims:
    """Claims that have not ended, in the order in which they are served."""

    def __init__(self) -> None:
        self._claims: list[weakref.ref[Claim]] = []
        self._sleepers = Sleepers()

    def __iter__(self) -> Iterator[Claim]:
        for reference in tuple(self._claims):
            claim = reference()
            if claim is not None and not claim.is_over and claim.thread.process == _process:
                yield claim
            else:
                self._remove(reference)

    def append(self, claim: Claim) -> None:
        """Add a claim behind all others."""
        self._claims.append(weakref.ref(claim))

    def put_first(self, claim: Claim) -> None:
        """Add a claim before all others."""
        self._claims.insert(0, weakref.ref(claim))

    def has_mine(self, *, is_writer: bool) -> bool:
        """Return whether this thread is in the block of a claim of the given kind."""
        if not self._claims:
            return False
        own = _own.thread
        return any(claim.thread is own and claim.has_turn and claim.is_writer == is_writer for claim in self)

    def is_clear(self, claim: Claim, *, of_writers: bool = False) -> bool | None:
        """Return True if no claim (`of_writers`: no writer's claim) of another thread is before a claim; else None."""
        for other in self:
            if other is claim:
                return True
            if other.thread is not claim.thread and (other.is_writer or not of_writers):
                return None
        return True

    def wait_for(self, attempt: Callable[[], bool | None]) -> bool:
        """Wait until an attempt succeeds; it is repeated when claims end."""
        return self._sleepers.wait_for(attempt)

    def wake(self) -> None:
        """Let all waiting threads try again."""
        self._sleepers.wake()

    def forget(self, claim: Claim) -> None:
        """Remove a claim that has ended, and let other threads try again."""
        for reference in tuple(self._claims):
            if reference() is claim:
                self._remove(reference)
        self.wake()

    def _remove(self, reference: weakref.ref[Claim]) -> None:
        with suppress(ValueError):  # another thread was faster
            self._claims.remove(reference)


class Sleepers:
    """Waiting threads, each of which repeats an attempt until it succeeds."""

    def __init__(self) -> None:
        self._asleep: deque[threading.Lock] = deque()

    def wait_for(self, attempt: Callable[[], _Result | None]) -> _Result:
        """Repeat an attempt after each wake-up until its result is not None; return the result."""
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
                with suppress(ValueError, IndexError):  # it has been removed already
                    self._asleep.remove(bed)

    def wake(self) -> None:
        """Let all waiting threads try again."""
        while self._asleep:
            with suppress(IndexError):  # another thread was faster
                self._asleep.popleft().release()


class ReentrantLock:
    """Lock that one thread at a time holds, in any number of blocks, which may end in any order."""

    def __init__(self) -> None:
        self._claims = _Claims()

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._claims.has_mine(is_writer=False)

    def held(self) -> Claim:
        """Hold the lock, once no other thread holds it."""
        return Claim(self._hold, self._claims.forget)

    def held_if_free(self) -> Claim:
        """Hold the lock if no other thread holds it or waits for it; the ``with`` statement yields whether it does."""
        return Claim(self._try, self._claims.forget)

    def _hold(self, claim: Claim) -> bool:
        self._add(claim)
        return self._claims.wait_for(lambda: self._claims.is_clear(claim))

    def _try(self, claim: Claim) -> bool:
        self._add(claim)
        if self._claims.is_clear(claim):
            return True
        claim.end()
        return False

    def _add(self, claim: Claim) -> None:
        if self.is_mine:
            self._claims.put_first(claim)
        else:
            self._claims.append(claim)


class ReadersWriterLock:
    """Lock between searches and changes of weights: many threads read, or one writes, in order of arrival."""

    def __init__(self) -> None:
        self._claims, self._helped = _Claims(), _Claims()

    @property
    def is_reading(self) -> bool:
        """Whether this thread reads."""
        return self._claims.has_mine(is_writer=False)

    @property
    def has_writers(self) -> bool:
        """Whether a thread writes or waits to write."""
        return any(claim.is_writer for claim in self._claims)

    def reading(self) -> Claim:
        """Keep writers out; may be nested.

        Raises
        ------
        QueryError
            If this thread writes.
        """
        return Claim(self._read, self._claims.forget)

    def _read(self, claim: Claim) -> bool:
        if self.is_reading:
            self._claims.put_first(claim)  # waiting for a writer would be waiting for this thread itself
            return True
        self._check_not_writing()
        self._claims.append(claim)
        return self._claims.wait_for(lambda: self._claims.is_clear(claim, of_writers=True) or self._pass(claim))

    def _pass(self, claim: Claim) -> bool | None:
        """Put a reader before the writers if a reading thread is helped, because no writer is active then."""
        if not any(self._helped):
            return None
        self._claims.put_first(claim)
        if any(self._helped):  # checked again, so that every writer has seen the claim before its turn
            return True
        self._claims.forget(claim)
        self._claims.append(claim)
        return None

    def helped(self) -> Claim:
        """Let other threads read on behalf of this thread, before waiting writers."""
        return Claim(self._help, self._helped.forget)

    def _help(self, claim: Claim) -> bool:
        if self.is_reading:
            self._helped.append(claim)
            self._claims.wake()
        return True

    def writing(self) -> Claim:
        """Keep readers and other writers out, once the active ones are done.

        Raises
        ------
        QueryError
            If this thread reads or writes.
        """
        return Claim(self._write, self._claims.forget, is_writer=True)

    def _write(self, claim: Claim) -> bool:
        if self.is_reading:
            raise QueryError("weights cannot change inside of solver.holding(), which keeps them; change them after it")
        self._check_not_writing()
        self._claims.append(claim)
        return self._claims.wait_for(lambda: self._claims.is_clear(claim))

    def _check_not_writing(self) -> None:
        if self._claims.has_mine(is_writer=True):
            raise QueryError("a function that changes weights may not search, nor change them by another call")
