"""Locks that an exception between any two instructions, such as that of Ctrl-C, leaves as they should be.

Python raises KeyboardInterrupt in the main thread after almost any instruction: between the taking of a lock and the
``try`` that gives it back, at the first instruction of an ``__exit__``, or inside of `threading.Condition`, which then
releases what it does not hold; and the exception may keep alive whatever its frames refer to.

These locks are lists of claims, in the order in which the claims were made; a claim has its turn when no claim that
stands in its way is before it. A claim holds as long as a lock of the interpreter's, made for it alone, is locked and
there: the ``with`` statement unlocks and forgets it in C, which no interrupt divides. Wake-ups, sent when the lock is
forgotten, are hints: a thread that waits looks up twice a second by itself.

The order of the claims keeps a thread that asks again and again, without a pause, from shutting out the others.

A process that is forked has none of the threads that made the claims, except for the one that forked it; the claims of
the others count as ended there.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from vkssp.errors import QueryError

_LOOK_UP_S = 0.5
_Result = TypeVar("_Result")


class _Thread:
    """Identity of a thread: unlike its number, no later thread has it."""

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
    """Block in which a thread has a lock; it has the lock already, and the ``with`` statement gives the lock back.

    Parameters
    ----------
    held : threading.Lock
        Locked as long as the claim holds.
    is_given : bool
        Whether the thread has the lock, which the ``with`` statement hands over.
    """

    if TYPE_CHECKING:

        def __enter__(self) -> bool:
            """Return whether the thread has the lock."""

        def __exit__(self, *_: object) -> None:
            """Give the lock back."""

    else:
        # Members in place of methods: the interpreter calls what they hold, functions in C.
        __slots__ = ("__enter__", "__exit__")

    def __init__(self, held: threading.Lock, is_given: bool = True) -> None:
        if is_given:
            self.__enter__, self.__exit__ = held.locked, held.__exit__  # type: ignore[method-assign, assignment]
        else:
            nothing = threading.Lock()
            self.__enter__ = nothing.locked  # type: ignore[method-assign]
            held = threading.Lock()
            held.acquire()
            self.__exit__ = held.__exit__  # type: ignore[method-assign, assignment]


def claim(begin: Callable[[threading.Lock], bool]) -> Claim:
    """Return a claim, once its turn has come.

    Parameters
    ----------
    begin : callable
        Enters the lock of the claim into one or more lists, waits, and returns whether the thread has what it wants.
    """
    held = threading.Lock()
    try:
        held.acquire()
        return Claim(held, begin(held))
    except BaseException:
        if held.locked():
            held.release()
        raise


class _Entry:
    """A claim in a list."""

    __slots__ = ("has_turn", "held", "is_writer", "thread")

    def __init__(self, held: weakref.ref[threading.Lock], is_writer: bool) -> None:
        self.held, self.is_writer = held, is_writer
        self.thread, self.has_turn = _own.thread, False

    @property
    def is_valid(self) -> bool:
        held = self.held()
        return held is not None and held.locked() and self.thread.process == _process


class _Claims:
    """Claims that hold or wait, in the order in which they are served."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._sleepers = Sleepers()

    def __iter__(self) -> Iterator[_Entry]:
        for entry in tuple(self._entries):
            if entry.is_valid:
                yield entry
            else:
                self._remove(entry)

    def add(self, held: threading.Lock, *, is_writer: bool = False, is_first: bool = False) -> _Entry:
        """Add a claim behind all others, or before them."""
        entry = _Entry(weakref.ref(held, self._forget), is_writer)
        self._entries.insert(0 if is_first else len(self._entries), entry)
        return entry

    def mine(self) -> bool | None:
        """Return whether this thread is in the block of a writer's claim, None if it is in no claim's block."""
        own = _own.thread
        for entry in tuple(self._entries):
            if entry.thread is own and entry.has_turn and entry.is_valid:
                return entry.is_writer
        return None

    def is_clear(self, entry: _Entry, *, of_writers: bool = False) -> bool | None:
        """Return True if no claim of another thread, or of a writer there, is before a claim; else None."""
        if self._entries[0] is entry:
            entry.has_turn = True
            return True
        for other in self:
            if other is entry:
                entry.has_turn = True
                return True
            if other.thread is not entry.thread and (other.is_writer or not of_writers):
                return None
        return None

    def wait_for(self, attempt: Callable[[], bool | None]) -> bool:
        """Wait until an attempt succeeds, which is made again when claims end."""
        return self._sleepers.wait_for(attempt)

    def wake(self) -> None:
        """Let all that wait try again."""
        self._sleepers.wake()

    def remove(self, entry: _Entry) -> None:
        """Remove a claim, and let others try again."""
        self._remove(entry)
        self.wake()

    def _forget(self, held: weakref.ref[threading.Lock]) -> None:
        for entry in tuple(self._entries):
            if entry.held is held:
                self._remove(entry)
        self._sleepers.wake()

    def _remove(self, entry: _Entry) -> None:
        try:
            self._entries.remove(entry)
        except ValueError:  # another thread was faster
            pass


class Sleepers:
    """Threads that wait until an attempt of theirs succeeds."""

    def __init__(self) -> None:
        self._asleep: dict[threading.Lock, None] = {}

    def wait_for(self, attempt: Callable[[], _Result | None]) -> _Result:
        """Repeat an attempt, after each wake-up, until it returns something other than None; return that."""
        if (result := attempt()) is not None:
            return result
        while True:
            bed = threading.Lock()
            bed.acquire()
            try:
                self._asleep[bed] = None  # before the next attempt, so that no wake-up after it is missed
                while True:
                    if (result := attempt()) is not None:
                        return result
                    if bed.acquire(timeout=_LOOK_UP_S):
                        break
            finally:
                self._asleep.pop(bed, None)

    def wake(self) -> None:
        """Let all that wait try again."""
        while self._asleep:
            with suppress(KeyError):  # another thread was faster
                self._asleep.popitem()[0].release()


class ReentrantLock:
    """A lock that one thread at a time holds, in any number of blocks, which may end in any order."""

    def __init__(self) -> None:
        self._claims = _Claims()

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._claims.mine() is not None

    def held(self) -> Claim:
        """Return a block that holds the lock, once no other thread does."""
        return claim(self.hold)

    def held_if_free(self) -> Claim:
        """Return a block that holds the lock if no other thread holds it or waits for it, and hands over whether so."""
        return claim(lambda held: bool(self._claims.is_clear(self._add(held))))

    def hold(self, held: threading.Lock) -> bool:
        """Wait for the turn of a claim; see `claim`."""
        entry = self._add(held)
        return self._claims.is_clear(entry) or self._claims.wait_for(lambda: self._claims.is_clear(entry))

    def _add(self, held: threading.Lock) -> _Entry:
        return self._claims.add(held, is_first=self.is_mine)


class ReadersWriterLock:
    """Keeps searches and changes of weights apart: many threads read, or one writes, in the order of their coming."""

    def __init__(self) -> None:
        self._claims, self._helped = _Claims(), _Claims()

    @property
    def is_reading(self) -> bool:
        """Whether this thread reads."""
        return self._claims.mine() is False

    @property
    def has_writers(self) -> bool:
        """Whether a thread writes or waits until it may."""
        return any(entry.is_writer for entry in self._claims)

    def reading(self) -> Claim:
        """Return a block that keeps writers out; blocks may be nested.

        Raises
        ------
        QueryError
            If this thread writes.
        """
        return claim(self.read)

    def read(self, held: threading.Lock) -> bool:
        """Wait for the turn of a reader; see `claim`."""
        mine = self._claims.mine()
        if mine is False:  # waiting for a writer would be waiting for this thread itself
            self._claims.add(held, is_first=True).has_turn = True
            return True
        self._check_not_writing(mine)
        entry = self._claims.add(held)
        if self._claims.is_clear(entry, of_writers=True):
            return True
        return self._claims.wait_for(lambda: self._claims.is_clear(entry, of_writers=True) or self._pass(held))

    def _pass(self, held: threading.Lock) -> bool | None:
        """Put a reader before the writers if a thread that reads is helped, as no writer is at work then."""
        if not any(self._helped):
            return None
        entry = self._claims.add(held, is_first=True)
        if any(self._helped):  # still, so that every writer has seen the claim before its turn
            entry.has_turn = True
            return True
        self._claims.remove(entry)
        return None

    def helped(self) -> Claim:
        """Return a block in which other threads read for this one, before writers that wait until it is done."""
        return claim(self._help)

    def _help(self, held: threading.Lock) -> bool:
        if self.is_reading:
            self._helped.add(held)
            self._claims.wake()
        return True

    def writing(self) -> Claim:
        """Return a block that keeps readers and other writers out, once those that are at work are done.

        Raises
        ------
        QueryError
            If this thread reads or writes.
        """
        return claim(self._write)

    def _write(self, held: threading.Lock) -> bool:
        mine = self._claims.mine()
        if mine is False:
            raise QueryError("weights cannot change inside of solver.holding(), which keeps them; change them after it")
        self._check_not_writing(mine)
        entry = self._claims.add(held, is_writer=True)
        return self._claims.wait_for(lambda: self._claims.is_clear(entry))

    @staticmethod
    def _check_not_writing(mine: bool | None) -> None:
        if mine:
            raise QueryError("a function that changes weights may not search, nor change them by another call")
