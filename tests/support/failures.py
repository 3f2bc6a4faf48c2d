"""A driver that fails, one call after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import pytest

from tests.support.resources import all_owned
from vkssp.cch.customized import CustomizedHierarchy
from vkssp.cch.topology import topologies
from vkssp.gpu import buffer, kernel, pipeline, recording
from vkssp.gpu.device import Device
from vkssp.gpu.ffi import VulkanError, ffi
from vkssp.gpu.kernel import Kernel


def check_pipelines(device: Device) -> None:
    """Check that open kernels hold pipelines, nobody else does, and nothing is left of those that were not made."""
    kernels = {(part.program, part.serial) for part in all_owned(device) if isinstance(part, Kernel)}
    assert {(made.program, holder) for made in device.pipelines.all for holder in made.holders} == kernels
    for made in device.pipelines.all:
        assert made.is_made or all(handle[0] == ffi.NULL for handle in made.handles.values())


def check_topologies(device: Device) -> None:
    """Check that the hierarchies on a device are those that somebody holds, and each is there once."""
    hierarchies = {part.serial: part for part in all_owned(device) if isinstance(part, CustomizedHierarchy)}
    there = topologies(device).all
    assert sorted(holder for topology in there for holder in topology.holders) == sorted(hierarchies)
    for topology in there:
        assert topology.holders and {hierarchies[holder].supernodes for holder in topology.holders} == {
            topology.supernodes
        }


def fail_each_call(
    device: Device, monkeypatch: pytest.MonkeyPatch, run: Callable[[], object], *, compiles: bool = True
) -> int:
    """Let each call to the driver that a run makes fail once; return how many there are.

    The error must be the driver's own, and all that was made by then must be given back. Pipelines are there already
    while the other calls fail, and then made anew in each run, unless it compiles nothing.
    """
    failures = _fail_each(device, monkeypatch, run, (kernel, recording, buffer))
    if not compiles:
        return failures
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "MOST_UNUSED", 0)
        compiling = _fail_each(device, patch, run, (pipeline,))
    assert compiling > 0, "all pipelines were there"
    return failures + compiling


def _fail_each(
    device: Device, monkeypatch: pytest.MonkeyPatch, run: Callable[[], object], modules: Sequence[ModuleType]
) -> int:
    countdown = [0]

    def failing(original: Callable[..., object]) -> Callable[..., object]:
        def call(function: str, *arguments: object, **options: object) -> object:
            countdown[0] -= 1
            if countdown[0] == 0:
                raise VulkanError(function, -2)
            return original(function, *arguments, **options)

        return call

    owned, failures = set(device.owned), 0
    with monkeypatch.context() as patch:
        for module in modules:
            for name in ("create", "call"):
                patch.setattr(module, name, failing(getattr(module, name)))
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
            assert set(device.owned) == owned
            check_pipelines(device)
            check_topologies(device)
    return failures
