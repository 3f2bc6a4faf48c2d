"""Nobody who waits for a lock is left out by others that take it again and again, without a pause."""

from __future__ import annotations

import contextlib
import dis
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from types import FrameType

import pytest

from vkssp import Graph, QueryError, Solver, locks
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


def test_blocks_of_a_thread_may_end_in_any_order() -> None:
    """As those of generators and of tasks do."""
    lock, taken = ReentrantLock(), []

    def block() -> Iterator[None]:
        with lock.held():
            yield

    outer, inner = block(), block()
    for each in (outer, inner, outer):
        next(each, None)
    assert lock.is_mine

    def take() -> None:
        with lock.held():
            taken.append(True)

    other = threading.Thread(target=take, daemon=True)
    other.start()
    other.join(0.2)
    assert not taken
    next(inner, None)
    other.join(60)
    assert taken and not lock.is_mine


#: Instructions at which the interpreter looks for signals.
LOOKS = {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}


class Interrupt:
    """Raises KeyboardInterrupt at the nth instruction of some files at which the interpreter looks for signals."""

    def __init__(self, instruction: int, files: set[str]) -> None:
        self._left, self._files, self.has_come = instruction, files, False
        self.place: object = None

    def trace(self, frame: FrameType, event: str, _: object) -> object:
        if frame.f_code.co_filename not in self._files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and dis.opname[frame.f_code.co_code[frame.f_lasti]] in LOOKS:
            self._left -= 1
            if self._left == 0:
                self.has_come, self.place = True, (frame.f_code.co_name, frame.f_lineno, frame.f_lasti)
                raise KeyboardInterrupt
        return self.trace


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that comes while others are woken
@pytest.mark.parametrize("door", ["held", "held_if_free", "reading", "writing", "helped"])
def test_an_interrupt_whose_exception_is_kept_leaves_no_lock_held(door: str) -> None:
    """As a prompt keeps it for its user, with all frames and what they refer to."""
    kept = []
    for instruction in count(1):
        lock = ReentrantLock() if door.startswith("held") else ReadersWriterLock()
        interrupt = Interrupt(instruction, {locks.__file__, contextlib.__file__})
        sys.settrace(interrupt.trace)
        try:
            with getattr(lock, door)():
                pass
        except KeyboardInterrupt as error:
            kept.append(error)
        finally:
            sys.settrace(None)
        if not interrupt.has_come:
            break
        enter = lock.held if isinstance(lock, ReentrantLock) else lock.writing
        entered = threading.Event()

        def ask(enter: Door = enter, entered: threading.Event = entered) -> None:
            with enter():
                entered.set()

        threading.Thread(target=ask, daemon=True).start()
        assert entered.wait(20), (instruction, interrupt.place)
        with enter():
            pass
    assert kept


def test_weights_are_kept_until_the_last_block_ends() -> None:
    with Solver(Graph.from_edges([0, 1], [1, 2], [4, 3]), "dijkstra") as solver:

        def distances(number: int) -> Iterator[int]:
            with solver.holding():
                for _ in range(number):
                    yield int(solver.distances(0)[1])

        first, second = distances(1), distances(2)
        assert (next(first), next(second)) == (4, 4) and not list(first)
        with pytest.raises(QueryError, match=r"inside of solver\.holding"):
            solver.set_weights([9, 9])
        assert list(second) == [4]
        solver.set_weights([9, 9])
        assert solver.distance(0, 1) == 9


def test_the_block_of_a_thread_that_has_ended_is_not_that_of_a_later_one() -> None:
    lock, blocks, found = ReadersWriterLock(), [], []

    def block() -> Iterator[None]:
        with lock.reading():
            yield

    def begin() -> None:
        blocks.append(block())
        next(blocks[0])

    for action in (begin, lambda: found.append(lock.is_reading)):
        thread = threading.Thread(target=action)
        thread.start()
        thread.join()
    assert found == [False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[0, 4, 7]\n[0, 9, 18]\n[0, 9, 18]\n0\n", "")


#: Forks while another thread keeps a solver, and while this thread does.
_FORK = """
import os, signal, threading
from vkssp import Graph, Solver

solver = Solver(Graph.from_edges([0, 1], [1, 2], [4, 3]), "dijkstra")
solver.distances(0)
has_begun, goes_on = threading.Event(), threading.Event()

def keep():
    with solver.holding():
        has_begun.set()
        goes_on.wait(60)

thread = threading.Thread(target=keep)
thread.start()
has_begun.wait(60)
process = os.fork()
if process == 0:
    signal.alarm(60)
    print(solver.distances(0).tolist())
    solver.set_weights([9, 9])
    print(solver.distances(0).tolist())
    with solver.holding():
        print(solver.clone().distances(0).tolist(), flush=True)
    os._exit(0)
status = os.waitpid(process, 0)[1]
goes_on.set()
thread.join()
print(status)
"""
