"""Pipelines that kernels share: one for each program, for as long as somebody holds it, and a while longer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.failures import check_pipelines
from tests.support.graphs import grid, heap_dijkstra
from tests.support.resources import watch_closing
from tests.support.threads import at_once
from vkssp import DeviceError, Solver, prepare
from vkssp.gpu import pipeline as pipeline_module
from vkssp.gpu import spirv
from vkssp.gpu.buffer import Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.ffi import VulkanError, lib
from vkssp.gpu.kernel import Kernel

HEIGHT, COUNTING = 1, 4
#: What is made for a pipeline, and given back with it.
PARTS = ("DescriptorSetLayout", "PipelineLayout", "Pipeline")


@pytest.fixture
def own() -> Iterator[Device]:
    """Open a device on which nothing has been compiled."""
    with open_device() as opened:
        yield opened


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is made and destroyed for pipelines."""
    counted: Counter[str] = Counter()
    original = pipeline_module.call

    def call(function: str, *arguments: Any, allow: tuple[int, ...] = ()) -> int:
        code = original(function, *arguments, allow=allow)
        counted[function.replace("ComputePipelines", "Pipeline")] += 1
        return code

    class Counted:
        def __getattr__(self, name: str) -> Any:
            counted[name] += 1
            return getattr(lib, name)

    monkeypatch.setattr(pipeline_module, "call", call)
    monkeypatch.setattr(pipeline_module, "lib", Counted())
    return counted


def upward(device: Device, height: int, **others: Any) -> Kernel:
    options: dict[str, Any] = {"workgroup_size": 4, "constants": {HEIGHT: height, COUNTING: 0}, **others}
    return Kernel(device, "phast_upward", bindings=8, **options)


def start(device: Device) -> Kernel:
    return Kernel(device, "start", bindings=2, push_constants=1, workgroup_size=4)


def left(calls: Counter[str]) -> dict[str, int]:
    """Return how many of each part there are."""
    assert calls["vkCreateShaderModule"] == calls["vkDestroyShaderModule"], "needed only to compile"
    return {part: calls[f"vkCreate{part}"] - calls[f"vkDestroy{part}"] for part in PARTS}


def test_kernels_made_alike_have_the_same_pipeline(own: Device, calls: Counter[str]) -> None:
    first, second, third = upward(own, 5), upward(own, 5), upward(own, 5, constants={COUNTING: 0, HEIGHT: np.int64(5)})
    for kernel in (second, third):
        assert (kernel.pipeline, kernel.layout, kernel.set_layout) == (first.pipeline, first.layout, first.set_layout)
    assert left(calls) == dict.fromkeys(PARTS, 1)
    others = [
        upward(own, 6),
        upward(own, 5, constants={HEIGHT: 5, COUNTING: 1}),
        upward(own, 5, workgroup_size=2),
        upward(own, 5, push_constants=1),
        Kernel(own, "phast_upward", bindings=9, workgroup_size=4, constants={HEIGHT: 5, COUNTING: 0}),
        start(own),
    ]
    assert len({kernel.pipeline for kernel in (first, *others)}) == len(others) + 1
    first.close()
    assert second.pipeline == upward(own, 5).pipeline, "others hold it"
    assert left(calls) == dict.fromkeys(PARTS, len(others) + 1)
    own.close()
    assert left(calls) == dict.fromkeys(PARTS, 0)


def test_a_shader_that_was_compiled_anew_has_another_pipeline(own: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    before = start(own)
    code = spirv.load("start")
    monkeypatch.setattr(spirv, "load", lambda name: code[:8] + b"\1" + code[9:])  # made by another compiler
    after = start(own)
    assert before.pipeline != after.pipeline
    monkeypatch.undo()
    assert start(own).pipeline == before.pipeline


def test_two_devices_have_their_own(own: Device, calls: Counter[str]) -> None:
    with open_device() as other:
        kernel = start(other)
        assert left(calls) == dict.fromkeys(PARTS, 1)
        here = start(own)
        assert left(calls) == dict.fromkeys(PARTS, 2)
        assert kernel.device is other and here.device is own
    assert left(calls) == dict.fromkeys(PARTS, 1)


def test_the_last_ones_are_kept_when_nobody_holds_them(
    own: Device, calls: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_module, "MOST_UNUSED", 3)
    always = upward(own, 1)
    for height in range(2, 9):
        upward(own, height).close()
    upward(own, 4).close()  # has been given back, and is made again, in the place of 5
    assert calls["vkCreatePipeline"] == 9
    calls.clear()
    for height in (8, 7, 4):
        upward(own, height).close()
    assert calls["vkCreatePipeline"] == calls["vkDestroyPipeline"] == 0
    upward(own, 2).close()  # in the place of 6, which has been unused the longest
    for height in (7, 8, 2):
        upward(own, height).close()
    assert calls["vkCreatePipeline"] == calls["vkDestroyPipeline"] == 1
    upward(own, 6).close()
    assert calls["vkCreatePipeline"] == 2
    assert upward(own, 1).pipeline == always.pipeline
    many = [upward(own, height) for height in range(10, 30)]
    assert len({kernel.pipeline for kernel in many}) == 20, "as many as are held"
    for kernel in many:
        kernel.close()
    upward(own, 1)
    assert len(own.pipelines.all) == 1 + 3


def test_graphs_of_many_heights_on_one_device(own: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_module, "MOST_UNUSED", 2)
    counts = []
    for side in (2, 3, 4, 6, 9, 3):
        graph = prepare(grid(side))
        with Solver(graph, device=own) as solver, Solver(graph, device=own) as other:
            expected = heap_dijkstra(graph, 1)
            for one in (solver, other):
                assert np.array_equal(one.distances(1), expected)
                assert np.array_equal(one.distances([1, 1])[1], expected)
                assert one.distance(1, 2) == expected[2]
            counts.append(len(own.pipelines.all))
    assert max(counts[1:]) <= counts[0] + 2 and counts[0] > 5


def test_threads_that_want_the_same_one_wait_for_it(own: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """One compiles; nobody has a half-made one, and who wants another one is not kept waiting."""
    original, began, go_on = pipeline_module.call, threading.Event(), threading.Event()
    compiled: list[str] = []

    def slow(function: str, *arguments: Any, **options: Any) -> int:
        if function == "vkCreateDescriptorSetLayout" and threading.current_thread().name == "first":
            began.set()
            assert go_on.wait(60)
        code = original(function, *arguments, **options)
        compiled.append(function)
        return code

    there = upward(own, 5)
    monkeypatch.setattr(pipeline_module, "call", slow)
    made: list[Kernel] = []
    threads = [threading.Thread(target=lambda: made.append(start(own)), name="first", daemon=True)]
    threads[0].start()
    assert began.wait(60)
    threads += [threading.Thread(target=lambda: made.append(start(own)), daemon=True) for _ in range(3)]
    for thread in threads[1:]:
        thread.start()
    assert upward(own, 5).pipeline == there.pipeline
    assert upward(own, 6).pipeline != there.pipeline
    assert not made
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert len({kernel.pipeline for kernel in made}) == 1 and len(made) == 4
    assert compiled.count("vkCreateComputePipelines") == 2


def test_solvers_made_at_once_on_a_new_device(own: Device, calls: Counter[str]) -> None:
    graph = prepare(grid(7))
    expected = heap_dijkstra(graph, 3)

    def ask(algorithm: str) -> None:
        for _ in range(3):
            with Solver(graph, algorithm, own) as solver:
                assert np.array_equal(solver.distances(3), expected)

    at_once([lambda name=name: ask(name) for name in ("phast", "near_far", "phast", "near_far")])  # type: ignore[misc]
    assert calls["vkCreatePipeline"] == len(own.pipelines.all), "each was compiled once"
    check_pipelines(own)
    own.close()
    assert left(calls) == dict.fromkeys(PARTS, 0)


@pytest.mark.parametrize("when", ["vkCreateDescriptorSetLayout", "vkCreatePipelineLayout", "vkCreateComputePipelines"])
def test_one_that_fails_is_made_by_the_next_who_asks(
    own: Device, calls: Counter[str], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    original, failing = pipeline_module.call, [True]

    def call(function: str, *arguments: Any, **options: Any) -> int:
        if function == when and failing:
            failing.pop()
            raise VulkanError(function, -2)
        return original(function, *arguments, **options)

    monkeypatch.setattr(pipeline_module, "call", call)
    with pytest.raises(VulkanError, match=f"{when} failed"):
        start(own)
    assert not failing and left(calls) == dict.fromkeys(PARTS, 0)
    check_pipelines(own)
    assert start(own).pipeline and left(calls) == dict.fromkeys(PARTS, 1)


@pytest.mark.parametrize("function", ["vkCreateShaderModule", "vkCreatePipelineLayout", "vkCreateComputePipelines"])
def test_an_interrupt_while_one_is_compiled_leaks_nothing(
    own: Device, calls: Counter[str], monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    original = pipeline_module.call

    def interrupted(name: str, *arguments: Any, **options: Any) -> int:
        code = original(name, *arguments, **options)
        if name == function:
            raise KeyboardInterrupt
        return code

    with monkeypatch.context() as patch:
        patch.setattr(pipeline_module, "call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Solver(grid(5), "near_far", own)
    assert calls["vkDestroyShaderModule"] == 1 and left(calls) == dict.fromkeys(PARTS, 0)
    assert calls["vkDestroyPipeline"] == (function == "vkCreateComputePipelines")
    with Solver(grid(5), "near_far", own) as solver:
        assert np.array_equal(solver.distances(3), heap_dijkstra(grid(5), 3))


def test_pipelines_go_after_all_that_may_use_them(own: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they were made long after it: the device may be at work until recordings have been waited for."""
    solver = Solver(grid(5), "near_far", own)
    solver.distances(0)
    released: list[str] = []
    for kind in (Buffer, Kernel, pipeline_module.Pipeline):
        watch_closing(monkeypatch, kind, before=lambda resource: released.append(type(resource).__name__))
    own.close()
    assert {"Buffer", "Kernel", "Pipeline"} == {*released}
    assert {*released[released.index("Pipeline") :]} == {"Pipeline"}
    solver.close()


def test_a_closed_device_and_one_that_does_not_answer(calls: Counter[str]) -> None:
    with open_device() as opened:
        start(opened)
    with pytest.raises(DeviceError, match="has been closed; open another"):
        start(opened)
    assert left(calls) == dict.fromkeys(PARTS, 0)
    hanging = open_device()
    kernel = start(hanging)
    hanging.abandon("hangs")
    kernel.close()
    hanging.close()
    assert left(calls) == dict.fromkeys(PARTS, 1), "it may be at work with it for ever"


def test_a_holder_lets_go_once(own: Device) -> None:
    kernels = [start(own), start(own)]
    (made,) = own.pipelines.all
    assert len(made.holders) == 2
    for _ in range(2):
        kernels[0].close()
        own.pipelines.let_go(made.program, -1)
    assert len(made.holders) == 1
    kernels[1].close()
    assert not made.holders and not made.closed
