"""Threads that answer requests, and the bounded queue before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from vkssp.server.errors import RequestError

_Result = TypeVar("_Result")


class Workers:
    """Threads that answer requests.

    Parameters
    ----------
    threads : int
        Number of threads.
    waiting : int
        Most requests that wait for a thread.
    seconds : float
        Seconds after which a request is given up.
    in_loop : bool
        Whether requests that are sure to be short are answered by the event loop instead.

    Attributes
    ----------
    in_loop
        As given.
    busy : int
        Number of requests in threads, or waiting for one.
    """

    def __init__(self, threads: int, waiting: int, seconds: float, *, in_loop: bool = False) -> None:
        self.in_loop = in_loop
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="vkssp-server")
        self._most, self._seconds, self.busy = threads + waiting, seconds, 0

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Return what a function returns, which runs in a thread.

        Raises
        ------
        RequestError
            If too many others wait, or the function takes too long.
        """
        if self.busy >= self._most:
            raise RequestError("TooBusy", "Too many requests are waiting; come back later.", 503)
        self.busy += 1
        loop, running = asyncio.get_running_loop(), self._pool.submit(work)
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(running), self._seconds)
        except TimeoutError:
            raise RequestError("Timeout", f"The answer took more than {self._seconds:g} s.", 503) from None

    def _ended(self) -> None:
        self.busy -= 1

    def close(self) -> None:
        """End the threads, after what they have begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
