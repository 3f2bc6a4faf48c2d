"""Results of tasks in their order, of which few wait for an earlier one, and those of lazy collections."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import Any

import pytest

from tests.support.clusters import cluster_here
from vkssp import QueryError

pytest.importorskip("distributed")
config, driver = pytest.importorskip("dask.config"), pytest.importorskip("vkssp.dask.driver")

#: Lets the first task end, and the numbers of the tasks that have begun.
gate, begun = threading.Event(), list[int]()
#: Lets three tasks end when all of them have begun.
meeting = threading.Barrier(3)


def task(question: Any, number: int) -> int:
    begun.append(number)
    if number == 0:
        gate.wait(60)
    return number


def address(question: Any, number: int) -> str:
    meeting.wait(60)  # no worker is free for another one before all have begun
    return str(pytest.importorskip("distributed").get_worker().address)


def refuse(question: Any, number: int) -> int:
    raise QueryError("there is no such node")


def test_results_come_in_order_and_few_wait_for_an_earlier_one(client: Any) -> None:
    gate.clear()
    begun.clear()
    found = list[int]()

    def ask() -> None:
        with closing(
            driver.results(client, "question", task, [(at,) for at in range(150)], None, ordered=True)
        ) as made:
            found.extend(number for number, result in made if number == result)

    asking = threading.Thread(target=ask)
    asking.start()
    until = time.monotonic() + 60
    last = -1
    while time.monotonic() < until and (len(begun) < 10 or len(begun) != last):
        last = len(begun)
        time.sleep(0.2)
    waiting = len(begun)
    gate.set()
    asking.join(60)
    assert found == list(range(150)) and sorted(begun) == found
    assert 10 <= waiting < 100, "the others wait"


def test_few_tasks_are_spread_over_the_workers() -> None:
    with (
        # It takes copies away again, if they are there for a moment before the tasks that need them.
        config.set({"distributed.scheduler.active-memory-manager.start": False}),
        cluster_here(workers=3) as client,
        closing(driver.results(client, "question", address, [(at,) for at in range(3)], None)) as made,
    ):
        assert len({where for _, where in made}) == 3


def test_progress_of_lazy_collections(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts the tasks below the collections while they are under way."""
    shown, delayed = list[tuple[int, int]](), pytest.importorskip("dask").delayed
    gate.clear()

    class Bar:
        n, total = 0, 0

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def update(self, count: int) -> None:
            self.n += count
            shown.append((self.n, self.total))
            gate.set()

    monkeypatch.setattr(driver, "progress_bar", lambda **settings: Bar())
    parts = [delayed(task)("question", number) for number in range(8)]
    assert driver.computed(client, [delayed(sum)(parts), delayed(max)(parts)], progress=True) == [28, 7]
    assert shown[0][0] < 10 <= shown[0][1] and sorted(shown) == shown


def test_errors_of_lazy_collections(client: Any) -> None:
    delayed = pytest.importorskip("dask").delayed
    assert driver.computed(client, [delayed(task)("question", 3)]) == [3]
    with pytest.raises(QueryError, match="there is no such node"):
        driver.computed(client, [delayed(task)("question", 3), delayed(refuse)("question", 1)])
    with pytest.raises(driver.ClusterError, match=r"ZeroDivisionError"):
        driver.computed(client, [delayed(divmod)(1, 0)])
