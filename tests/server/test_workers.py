"""Threads of the server: their queue has a bound, and so has the time of an answer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from vkssp.server.errors import RequestError
from vkssp.server.workers import Workers


def test_more_requests_than_may_wait_are_refused() -> None:
    released = threading.Event()

    async def ask() -> None:
        workers = Workers(threads=1, waiting=1, seconds=60.0)
        begun = [asyncio.ensure_future(workers.run(lambda: released.wait(30))) for _ in range(2)]
        await asyncio.sleep(0)
        assert workers.busy == 2
        with pytest.raises(RequestError) as error:
            await workers.run(lambda: True)
        assert error.value.status == 503
        released.set()
        assert await asyncio.gather(*begun) == [True, True]
        assert await workers.run(lambda: "next") == "next"
        workers.close()

    asyncio.run(ask())


def test_an_answer_that_takes_too_long_is_given_up_but_keeps_its_thread() -> None:
    released = threading.Event()

    async def ask() -> None:
        workers = Workers(threads=1, waiting=0, seconds=0.01)
        with pytest.raises(RequestError) as error:
            await workers.run(lambda: released.wait(30))
        assert (error.value.code, error.value.status) == ("Timeout", 503)
        assert workers.busy == 1
        released.set()
        while workers.busy:
            await asyncio.sleep(0.001)
        workers.close()

    asyncio.run(ask())
