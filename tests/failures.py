"""A driver that fails, one call after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vkssp.gpu import buffer, kernel, recording
from vkssp.gpu.device import Device
from vkssp.gpu.ffi import VulkanError


def fail_each_call(device: Device, monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> int:
    """Let each call to the driver that a run makes fail once; return how many there are.

    The error must be the driver's own, and all that was made by then must be given back.
    """
    countdown = [0]

    def failing(original: Callable[..., object]) -> Callable[..., object]:
        def call(function: str, *arguments: object, **options: object) -> object:
            countdown[0] -= 1
            if countdown[0] == 0:
                raise VulkanError(function, -2)
            return original(function, *arguments, **options)

        return call

    owned = set(device._owned)
    for module in (kernel, recording, buffer):
        for name in ("create", "call"):
            monkeypatch.setattr(module, name, failing(getattr(module, name)))
    failures = 0
    for moment in range(1, 1000):
        countdown[0] = moment
        try:
            run()
        except VulkanError as error:
            assert error.code == -2
            failures += 1
        else:
            if countdown[0] > 0:
                break
        countdown[0] = 0
        assert set(device._owned) == owned
    return failures
