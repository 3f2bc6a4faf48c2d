"""Thread that works on questions for other threads, which need not wait for the answers."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np

from vkssp.resource import Resource

_Answer = TypeVar("_Answer")


class Attempt(Generic[_Answer]):
    """Question to a helper, and its answer.

    Parameters
    ----------
    question : callable
        Returns the answer.
    unanswered : tuple of exception types
        Errors after which the question counts as not answered; other errors are the answer.

    Attributes
    ----------
    is_answered : numpy.ndarray
        Flag that is set when there is an answer, shape (1,), uint8; compiled code may look at it.
    is_dropped : bool
        Whether nobody needs the answer any more; then the helper does not begin.
    error : BaseException or None
        The error that the question raised.
    """

    def __init__(self, question: Callable[[], _Answer], unanswered: tuple[type[BaseException], ...] = ()) -> None:
        self._question, self._unanswered = question, unanswered
        self.is_answered = np.zeros(1, np.uint8)
        self.is_dropped = False
        self.error: BaseException | None = None
        self._answer: _Answer | None = None
        self._ended = threading.Event()

    def run(self) -> None:
        """Find the answer, unless nobody needs it."""
        try:
            if not self.is_dropped:
                self._answer = self._question()
                self.is_answered[0] = 1
        except BaseException as error:
            self.error = error
            self.is_answered[0] = not isinstance(error, self._unanswered)
        finally:
            self._ended.set()

    def answer(self) -> Any:
        """Return the answer that there is, or raise the error that the question raised."""
        if self.error is not None:
            raise self.error
        return self._answer

    def wait(self) -> None:
        """Wait until the helper has done with the question."""
        self._ended.wait()


class Helper(Resource):
    """Thread that answers one question after another; closing it lets it end after the present one.

    Parameters
    ----------
    owner : Resource, optional
        Resource that closes this object.
    """

    def __init__(self, owner: Resource | None = None) -> None:
        super().__init__(owner)
        self._questions: SimpleQueue[Attempt[Any] | None] = SimpleQueue()
        # The thread does not know this object, so that a forgotten one ends it.
        weakref.finalize(self, self._questions.put, None)
        self._thread = threading.Thread(target=_work, args=(self._questions,), name="vkssp-helper", daemon=True)
        self._thread.start()

    def put(self, attempt: Attempt[Any]) -> None:
        """Give the thread a question; this returns at once."""
        self._questions.put(attempt)

    def _release(self) -> None:
        self._questions.put(None)
        if threading.current_thread() is not self._thread:  # where the collector may find a forgotten solver
            self._thread.join()


def _work(questions: SimpleQueue[Attempt[Any] | None]) -> None:
    while (attempt := questions.get()) is not None:
        attempt.run()
        attempt = None  # which would keep alive what the question refers to
