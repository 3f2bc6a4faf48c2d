"""Devices that are lost: what they leave is made by the others, and nothing hangs."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.pools import GRAPH, KINDS, SOURCES, TARGETS, WHOLE
from vkssp import CpuDevice, DeviceError, SolverPool
from vkssp.engine.device_graph import DeviceGraph
from vkssp.gpu import recording
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.ffi import VulkanError
from vkssp.gpu.recording import Recording
from vkssp.solver import row_maker


def lose(
    device: Device, monkeypatch: pytest.MonkeyPatch, stage: str, after: int, at: threading.Event | None = None
) -> list[int]:
    """Have a device lost at a stage, when it came there so many times before; from then on nothing comes from it.

    Returns
    -------
    list of int
        How many times are left; to be set.
    """
    left = [after]

    def failing(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def either(self: Any, *arguments: Any, **named: Any) -> Any:
            if self.device is device:
                left[0] -= name == stage
                if left[0] < 0:
                    if at is not None:
                        at.set()
                    raise VulkanError(name, -4)
            return do(self, *arguments, **named)

        return either

    for name in ("record", "submit", "wait"):
        monkeypatch.setattr(Recording, name, failing(name, getattr(Recording, name)))
    monkeypatch.setattr(Buffer, "allocate", failing("allocate", Buffer.allocate))
    wait_idle = Device.wait_idle

    def waiting(self: Device, queue: object) -> None:
        wait_idle(self, queue)  # what is freed must not be at work here, though it would not be on a lost device
        if self is device and left[0] < 0:
            raise VulkanError("vkQueueWaitIdle", -4)

    monkeypatch.setattr(Device, "wait_idle", waiting)
    return left


@pytest.mark.parametrize(
    ("algorithm", "stage", "after"),
    [
        *(
            ("block_resident", stage, after)
            for stage, after in (("submit", 7), ("wait", 0), ("wait", 9), ("record", 5))
        ),
        *(("near_far", stage, after) for stage, after in (("submit", 2), ("wait", 4), ("record", 0), ("allocate", 1))),
    ],
)
def test_what_a_lost_device_leaves_the_other_makes(
    device: Device,
    second: Device,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    algorithm: str,
    stage: str,
    after: int,
) -> None:
    happened = threading.Event()
    rows = row_maker.RowMaker.rows

    def waiting(self: Any, *args: Any) -> Iterator[np.ndarray]:
        for block in rows(self, *args):
            # The other device, without which nothing would ever be lost.
            assert self.session.device is not device or happened.wait(60)
            yield block

    with SolverPool(GRAPH, algorithm, [device, second], reduction="full") as pool, monkeypatch.context() as patch:
        with caplog.at_level(logging.WARNING):
            patch.setattr(row_maker.RowMaker, "rows", waiting)
            lose(second, patch, stage, after, happened)
            assert np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS])
            assert pool.devices == [device]
            assert [int(pool.distance(int(source), 0)) for source in SOURCES[:3]] == WHOLE[:3, 0].tolist()
        (message,) = caplog.messages
        assert re.search(r"\(device \d\) is lost.*VK_ERROR_DEVICE_LOST; devices left: 1", message)
        pool.set_weights(GRAPH.weight * np.uint32(2))
        assert np.array_equal(pool.distances(int(SOURCES[0])), WHOLE[0] * 2)
        pool.close()
    assert not any(isinstance(part, DeviceGraph) for copies in second.owned for part in copies.owned)


def test_the_cpu_goes_on_alone(
    device: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    happened, rows = threading.Event(), row_maker.RowMaker.rows

    def waiting(self: Any, *args: Any) -> Iterator[np.ndarray]:
        for block in rows(self, *args):
            assert self.session.device is device or happened.wait(60)
            yield block

    with SolverPool(GRAPH, "auto", ["cpu", device]) as pool, monkeypatch.context() as patch:
        patch.setattr(row_maker.RowMaker, "rows", waiting)
        lose(device, patch, "wait", 1, happened)
        many = np.tile(SOURCES, 20)  # more than the CPU takes at a time
        assert np.array_equal(pool.table(many, TARGETS), np.tile(WHOLE, (20, 1))[:, TARGETS])
        assert [isinstance(left, CpuDevice) for left in pool.devices] == [True]
        assert int(pool.distance(int(SOURCES[0]), 5)) == WHOLE[0, 5] and "is lost" in caplog.text
        pool.set_weights(GRAPH.weight * np.uint32(2))
        assert np.array_equal(pool.distances(int(SOURCES[0])), WHOLE[0] * 2)
        pool.close()


@KINDS
def test_rows_that_were_handed_over_are_good_when_all_are_lost(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, algorithm: str
) -> None:
    monkeypatch.setattr(row_maker, "MOST_ROWS", 2)
    found: list[np.ndarray] = []
    few = 12 * len(SOURCES) * 4  # bytes of rows that are made ahead, so that most come after the loss
    with SolverPool(GRAPH, algorithm, [device, second], waiting_bytes=few) as pool, monkeypatch.context() as patch:
        left = [lose(each, patch, "wait", 10**9) for each in (device, second)]
        with pytest.raises(DeviceError, match=r"no device is left.* rows were finished and handed over") as caught:
            for block in pool.table(np.tile(SOURCES, 9), TARGETS, chunked=True):
                found.extend(block)
                for each in left:
                    each[0] = 5
        assert caught.value.is_lost and found
        assert f"; {len(found)} of {9 * len(SOURCES)} rows" in str(caught.value)
        assert np.array_equal(found, np.tile(WHOLE, (9, 1))[: len(found), TARGETS])
        assert sum("is lost" in message for message in caplog.messages) == 2
        for ask in (lambda: pool.distance(0, 1), lambda: pool.table([0], chunked=True), lambda: pool.devices):
            with pytest.raises(DeviceError, match="all devices of this pool are lost"):
                ask()


def test_a_lost_device_has_no_say_in_single_questions(
    device: Device, second: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SolverPool(GRAPH, "near_far", [device, second]) as pool:
        lose(device, monkeypatch, "submit", 0)
        pool.warm_up()
        assert np.array_equal(pool.distances(int(SOURCES[0])), WHOLE[0]) and pool.devices == [second]
        assert pool.path(int(SOURCES[0]), 9).weight == WHOLE[0, 9]
        assert np.array_equal(pool.nearest(SOURCES).distance, WHOLE.min(axis=0))


def test_a_device_that_does_not_answer_is_left_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it, and nothing of it is freed, which it may be using still."""
    hanging = Device(device.info.index)
    with SolverPool(GRAPH, "block_resident", [device, hanging]) as pool:
        call = recording.call
        handle, waits = hanging.handle, []

        def silent(function: str, *arguments: Any, **options: Any) -> int:
            if function == "vkWaitForFences" and arguments[0] == handle:
                call(function, *arguments, **options)
                waits.append(function)
                return recording.TIMEOUT
            return call(function, *arguments, **options)

        monkeypatch.setattr(recording, "call", silent)
        monkeypatch.setattr(recording, "PATIENCE", 0.0)
        wait_idle = Device.wait_idle

        def refuse(self: Device, queue: object) -> None:
            assert self is not hanging
            wait_idle(self, queue)

        monkeypatch.setattr(Device, "wait_idle", refuse)
        with pytest.raises(DeviceError, match="has not answered for 0 s") as caught:
            pool.solvers[1].distance(0, 1)
        assert caught.value.is_lost
        assert np.array_equal(pool.table(SOURCES, TARGETS), WHOLE[:, TARGETS])
    for _ in range(2):
        hanging.close()
    assert hanging.closed and hanging.handle == handle, "it is not destroyed"
    monkeypatch.setattr(Device, "is_abandoned", False)
    hanging.closed = False
    hanging.close()  # so that this test gives it back
    with pytest.raises(DeviceError, match="has been closed"):
        _ = hanging.handle
