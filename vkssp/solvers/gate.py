"""The gate between searches and changes of weights: any number of threads search, or one changes what they search."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from vkssp.errors import QueryError


class Gate:
    """Keeps searches and changes of weights apart; changes that wait go before searches that have not begun."""

    def __init__(self) -> None:
        self._idle = threading.Condition()
        self._searches = self._waiting = self._helped = 0
        self._of_thread = threading.local()

    @property
    def is_searching(self) -> bool:
        """Whether this thread keeps the weights as they are."""
        return getattr(self._of_thread, "searches", False)

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Keep the weights as they are; may be nested."""
        if self.is_searching:
            yield  # and not wait for those who wait for this thread
            return
        with self._idle:
            while self._waiting and not self._helped:
                self._idle.wait()
            self._searches += 1
        self._of_thread.searches = True
        try:
            yield
        finally:
            self._of_thread.searches = False
            with self._idle:
                self._searches -= 1
                self._idle.notify_all()

    @contextmanager
    def helped(self) -> Iterator[None]:
        """Let other threads search for this one: what waits until it is done does not hold them up, either."""
        if not self.is_searching:
            yield
            return
        with self._idle:
            self._helped += 1
            self._idle.notify_all()
        try:
            yield
        finally:
            with self._idle:
                self._helped -= 1

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change weights as soon as nobody searches.

        Raises
        ------
        QueryError
            If this thread keeps the weights as they are.
        """
        if self.is_searching:
            raise QueryError("weights cannot change inside of solver.holding(), which keeps them; change them after it")
        with self._idle:
            self._waiting += 1
            try:
                while self._searches:
                    self._idle.wait()
                yield
            finally:
                self._waiting -= 1
                self._idle.notify_all()
