"""Nobody who waits for a lock is left out by others that take it again and again, without a pause."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from vkssp.locks import ReadersWriterLock, ReentrantLock

Door = Callable[[], AbstractContextManager[object]]


def doors(lock: str, busy: str, asking: str) -> tuple[Door, Door]:
    made = ReentrantLock() if lock == "reentrant" else ReadersWriterLock()
    return getattr(made, busy), getattr(made, asking)


@pytest.mark.parametrize(
    ("lock", "busy", "threads", "asking"),
    [
        ("reentrant", "held", 1, "held"),
        ("reentrant", "held", 3, "held"),
        ("readers and writer", "writing", 1, "reading"),
        ("readers and writer", "writing", 2, "reading"),
        ("readers and writer", "reading", 3, "writing"),
        ("readers and writer", "writing", 1, "writing"),
    ],
)
def test_everybody_has_a_turn(lock: str, busy: str, threads: int, asking: str) -> None:
    enter_busy, enter_asking = doors(lock, busy, asking)
    stop, times = threading.Event(), 0

    def occupy() -> None:
        while not stop.is_set():
            with enter_busy():
                time.sleep(0.001)  # as a search does, which lets other threads run

    def ask() -> None:
        nonlocal times
        for _ in range(20):
            with enter_asking():
                times += 1

    others = [threading.Thread(target=occupy, daemon=True) for _ in range(threads)]
    asker = threading.Thread(target=ask, daemon=True)
    for thread in (*others, asker):
        thread.start()
    asker.join(60)
    stop.set()
    for thread in others:
        thread.join(60)
    assert times == 20 and not any(thread.is_alive() for thread in (*others, asker))


def test_readers_and_writers_never_meet() -> None:
    """Many threads, with no pause between what they do."""
    lock, held, trouble = ReadersWriterLock(), [0, 0], []
    guard = threading.Lock()

    def work(number: int) -> None:
        for turn in range(200):
            is_writing = (number + turn) % 3 == 0
            with lock.writing() if is_writing else lock.reading():
                with guard:
                    held[is_writing] += 1
                    readers, writers = held
                if writers > 1 or (writers and readers):
                    trouble.append((readers, writers))
                if turn % 10 == 0:
                    time.sleep(0)
                with guard:
                    held[is_writing] -= 1

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not trouble and not lock.has_writers and not any(thread.is_alive() for thread in threads)
