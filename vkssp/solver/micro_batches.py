"""Micro-batches: questions of several threads that a device answers together.

A question that comes while nothing is under way goes to the device at once. Those that come meanwhile wait, and all of
them go as the next batch when the device is done. So nothing waits when the device is idle, and no question waits for
longer than the batch that is under way, unless more wait than a batch takes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

#: Most questions of a batch.
MOST_QUESTIONS = 256
#: Bounds of the classes of `Batching.counts`.
SIZES = tuple(1 << power for power in range(MOST_QUESTIONS.bit_length()))
# Seconds after which a thread that waits looks up by itself; a thread that has done a batch wakes those that wait.
_LOOK_UP_S = 0.5


class Batching:
    """How large batches may be, and how large they were, of all solvers that share this object.

    Attributes
    ----------
    most : int
        Most questions of a batch, 1 to `MOST_QUESTIONS`; with 1 each question is answered alone.
    counts : numpy.ndarray
        Number of batches of at most so many questions as `SIZES` says, but more than the one before, int64.
    questions : int
        Number of questions in all batches.
    """

    def __init__(self) -> None:
        self.most = MOST_QUESTIONS
        self.counts: npt.NDArray[np.int64] = np.zeros(len(SIZES), np.int64)
        self.questions = 0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """Count a batch."""
        with self._lock:
            self.counts[(size - 1).bit_length()] += 1
            self.questions += size


class Waiting:
    """Question of a thread, with its answer or the error that is raised instead."""

    __slots__ = ("_answer", "_error", "_settled", "_woken", "question")

    def __init__(self, question: Any) -> None:
        self.question = question
        self._answer: Any = None
        self._error: BaseException | None = None
        self._settled = False
        self._woken = threading.Lock()
        self._woken.acquire()

    @property
    def is_settled(self) -> bool:
        """Whether there is an answer or an error."""
        return self._settled

    def settle(self, answer: Any = None, error: BaseException | None = None) -> None:
        """Give the answer, or the error, to the thread that waits; only the first call has an effect."""
        if not self._settled:
            self._answer, self._error, self._settled = answer, error, True
            self.wake()

    def wake(self) -> None:
        """Let the thread that waits look whether it has an answer, or should make a batch."""
        with suppress(RuntimeError):  # it is awake
            self._woken.release()

    def sleep(self) -> None:
        """Wait until another thread calls `wake`."""
        self._woken.acquire(timeout=_LOOK_UP_S)

    def result(self) -> Any:
        """Return the answer, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._answer


class MicroBatches:
    """Queue of questions before a device.

    Threads that may be interrupted must not ask: Python raises KeyboardInterrupt in the main thread only.

    Attributes
    ----------
    batching : Batching
        Limits and counts the batches.
    """

    def __init__(self) -> None:
        self.batching = Batching()
        self._waiting: deque[Waiting] = deque()
        self._working = threading.Lock()

    @property
    def num_waiting(self) -> int:
        """Number of questions that wait for the next batch."""
        return len(self._waiting)

    def ask(self, question: Any, answer_all: Callable[[Sequence[Waiting]], None]) -> Any:
        """Return the answer to a question, or raise the error that it gets.

        Parameters
        ----------
        question : object
            The question.
        answer_all : callable
            Settles all questions of a batch, if this thread is to answer the next one; a question that it does not
            settle, since it raises an error, gets this error.
        """
        own = Waiting(question)
        self._waiting.append(own)
        while not own.is_settled:
            if self._working.acquire(blocking=False):
                try:
                    self._answer_next(answer_all)
                finally:
                    self._working.release()
                # After the release: one that came before it has found the lock taken, and sleeps.
                with suppress(IndexError):
                    self._waiting[0].wake()
            else:
                own.sleep()
        return own.result()

    def _answer_next(self, answer_all: Callable[[Sequence[Waiting]], None]) -> None:
        """Answer all questions that wait, or as many as a batch takes."""
        batch: list[Waiting] = []
        with suppress(IndexError):
            while len(batch) < self.batching.most:
                batch.append(self._waiting.popleft())
        if not batch:  # another thread has answered the question meanwhile
            return
        self.batching.add(len(batch))
        try:
            answer_all(batch)
        except BaseException as error:
            for one in batch:
                one.settle(error=error)
        for one in batch:
            one.settle(error=RuntimeError("a question of a batch has no answer"))
