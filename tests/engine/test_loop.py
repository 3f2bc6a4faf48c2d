"""The loop on the device: batches of many sizes, and one that is still waiting when the next search begins."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.graphs import make_solver
from tests.support.resources import watch_closing
from vkssp import Graph
from vkssp.engine import loop
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.recording import Recording

NODES = 1500
#: A path, which takes an iteration for each of its nodes.
PATH = Graph.from_edges(np.arange(NODES - 1), np.arange(1, NODES), np.full(NODES - 1, 3))


@pytest.mark.parametrize(("batch_us", "sizes"), [(0, {8, 16}), (10**12, {8, 16, 32, 64, 128, 256})])
def test_batches_are_as_long_as_their_time_allows(
    device: Device, monkeypatch: pytest.MonkeyPatch, batch_us: int, sizes: set[int]
) -> None:
    monkeypatch.setitem(device.tuned, "loop.batch_us", batch_us)
    recorded: list[int] = []
    original = Recording.dispatch

    def dispatch(self: Recording, workgroups: int) -> None:
        recorded.append(workgroups)
        original(self, workgroups)

    monkeypatch.setattr(Recording, "dispatch", dispatch)
    with make_solver(PATH, "delta_step_array", device, delta=1, counters="trace") as solver:
        search = solver.session.algorithm()
        for source in (0, 700, 0):
            found = solver.distances(source)
            expected = 3 * np.arange(NODES - source)
            assert np.array_equal(found[source:], expected) and (found[:source] == 2**32 - 1).all()
            assert (
                solver.last is not None and len(solver.trace()) == solver.last.counters["iterations"] >= NODES - source
            )
            assert np.array_equal(solver.trace()["iteration"], np.arange(len(solver.trace())))
        used = {search.loop.sizes[slot // 2] for slot in search.loop.recorded}  # type: ignore[attr-defined]
        assert used == sizes
        most = len(recorded)
        solver.distances(0)
        assert len(recorded) == most, "nothing is recorded anew"


@pytest.mark.parametrize("algorithm", ["delta_step", "near_far", "crauser"])
def test_nobody_waits_for_what_is_submitted_in_vain(device: Device, algorithm: str) -> None:
    for _ in range(3):
        with make_solver(PATH, algorithm, device) as solver:
            for source in (NODES - 2, 5, NODES - 1):
                assert solver.distance(source, NODES - 1) == 3 * (NODES - 1 - source)
            batches = solver.session.algorithm().loop.batches  # type: ignore[attr-defined]
            assert any(batch.pending for batch in batches)
        assert all(batch.closed for batch in batches)


@pytest.mark.parametrize("algorithm", ["delta_step", "near_far", "block_resident", "bellman_ford_edge", "crauser"])
def test_a_device_that_is_closed_first_waits_before_it_frees(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_device() as device:
        solver = make_solver(PATH, algorithm, device)
        solver.distance(NODES - 3, NODES - 1)
        batches = solver.session.algorithm().loop.batches  # type: ignore[attr-defined]
        freed = []

        def check(buffer: Buffer) -> None:
            freed.append(buffer.name)
            if buffer.name != "the staging buffer":  # which no batch uses
                assert not any(batch.pending and not batch.closed for batch in batches), buffer.name

        watch_closing(monkeypatch, Buffer, before=check)
    assert "the distances" in freed and len(freed) > 4


def test_searches_of_like_length_take_one_submission(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer search than those before it takes more, and so do searches that differ much."""
    monkeypatch.setattr(loop, "MOST_PREDICTED_MS", 1e9)
    submitted: list[Recording] = []
    original = Recording.submit

    def submit(self: Recording, first: Recording | None = None) -> None:
        submitted.append(self)
        original(self, first)

    monkeypatch.setattr(Recording, "submit", submit)
    with make_solver(PATH, "delta_step_array", device, delta=1) as solver:

        def submissions(source: int) -> int:
            submitted.clear()
            solver.search([(source, 0)])
            count = len(submitted)
            found = solver.distances(source)
            assert np.array_equal(found[source:], 3 * np.arange(NODES - source))
            return count

        short = [submissions(NODES - 60 - number % 3) for number in range(8)]
        assert min(short[:2]) > 1 and short[4:] == [1] * 4
        assert submissions(NODES - 100) > 1  # its end was not predicted, that of the next one is
        assert submissions(NODES - 100) == 1
        assert submissions(NODES - 250) > 1
        assert submissions(NODES - 60) > 1  # many iterations would be in vain
