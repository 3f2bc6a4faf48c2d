from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import open_device
from tests.support.failures import fail_each_call
from tests.support.graphs import ON_DEVICE, grid, heap_dijkstra
from tests.support.paths import ROOT
from tests.support.resources import watch_closing
from vkssp import DeviceError, Graph, Solver, prepare
from vkssp.gpu import device as device_module
from vkssp.gpu import ffi as vkffi
from vkssp.gpu import recording as recording_module
from vkssp.gpu.buffer import STAGING_BYTES, Buffer
from vkssp.gpu.device import Device
from vkssp.gpu.ffi import VulkanError, array, ffi, struct
from vkssp.gpu.instance import DeviceInfo, choose, list_devices
from vkssp.gpu.kernel import Kernel
from vkssp.gpu.mask import MASK_VARIABLE
from vkssp.gpu.pipeline import pipeline_cache
from vkssp.gpu.recording import Recording, Timestamps


def some_devices(device: Device) -> list[DeviceInfo]:
    kinds = ("cpu", "integrated", "discrete", "discrete", "virtual", "discrete")
    names = ("llvmpipe", "Intel Iris", "NVIDIA A", "NVIDIA B 4090", "Venus", "Old Card")
    return [
        replace(device.info, index=i, kind=kind, name=name, unusable="" if name != "Old Card" else "is too old")
        for i, (kind, name) in enumerate(zip(kinds, names, strict=True))
    ]


@pytest.mark.parametrize(
    ("selector", "index"),
    [
        *[(None, 2), ("", 2), (0, 0), (np.int64(3), 3), ("3", 3), ("nvidia", 2), ("nvidia b", 3), ("INTEL", 1)],
        ("venus", 4),
        ("4090", 3),
    ],
)
def test_devices_are_chosen_by_kind_index_and_name(device: Device, selector: int | str | None, index: int) -> None:
    assert choose(some_devices(device), selector).index == index


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (9, "there is no device 9; choose one of 0: llvmpipe"),
        ("amd", "no device's name contains 'amd'"),
        (1.5, "device is 1.5; give an index"),
        (5, "is too old"),
    ],
)
def test_devices_that_cannot_be_had(device: Device, selector: int | str, words: str) -> None:
    with pytest.raises(DeviceError, match=words):
        choose(some_devices(device), selector)
    with pytest.raises(DeviceError, match="no Vulkan driver found"):
        choose([], None)


def test_the_environment_selects_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKSSP_DEVICE", "no such thing")
    with pytest.raises(DeviceError, match="VKSSP_DEVICE is 'no such thing': no device's name contains"):
        Device()
    monkeypatch.setenv("VKSSP_DEVICE", "cpu")
    with pytest.raises(DeviceError, match=r"VKSSP_DEVICE is 'cpu': the CPU is no Vulkan device.* choose one of 0: "):
        Device()
    monkeypatch.setenv("VKSSP_DEVICE", "0")
    with Device() as opened:
        assert opened.info.index == 0


def test_listed_devices_say_what_they_can_do() -> None:
    for info in list_devices():
        assert info.name and info.driver and info.api_version
        if not info.unusable:
            assert info.limits.workgroup_size >= 128 and info.limits.shared_memory >= 16384
            assert info.limits.storage_range >= 2**27 and info.limits.push_constants >= 128
            assert info.limits.subgroup_size >= 1 and len(info.uuid) == 32
            assert "subgroup_basic" in info.features, "Vulkan 1.1 asks for it"


@pytest.mark.parametrize("nbytes", [4, 1000, STAGING_BYTES - 4, STAGING_BYTES, 2 * STAGING_BYTES + 12])
def test_what_is_written_is_read(device: Device, nbytes: int) -> None:
    values = np.random.default_rng(nbytes).integers(0, 2**32, nbytes // 4, dtype=np.uint32)
    with Buffer(device, nbytes) as buffer:
        buffer.write(values)
        assert np.array_equal(buffer.read(), values)
        middle = nbytes // 8
        assert np.array_equal(buffer.read(np.uint32, 1, 4 * middle), values[middle : middle + 1])


def test_a_buffer_larger_than_the_device_binds_is_refused_before_it_is_made(device: Device) -> None:
    limit = min(device.limits.storage_range, device.limits.allocation)
    owned = len(device.owned)
    with pytest.raises(DeviceError, match=rf"{limit + 4 + -limit % 4} bytes are needed for the table"):
        Buffer(device, limit + 1, name="the table")
    assert len(device.owned) == owned


def test_a_buffer_larger_than_the_memory_left_is_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "available", lambda self, kind: 1000)
    owned = len(device.owned)
    with pytest.raises(DeviceError, match=r"bytes are needed for the table, and .* has 1000 available"):
        Buffer(device, 4000, name="the table")
    assert len(device.owned) == owned


def test_kernels_that_pass_the_limits_are_refused(device: Device) -> None:
    limits = device.limits
    for arguments, words in (
        ({"workgroup_size": limits.workgroup_size + 1}, "invocations in a workgroup"),
        ({"workgroup_size": 1, "shared_bytes": limits.shared_memory + 1}, "bytes of shared memory"),
        ({"workgroup_size": 1, "push_constants": limits.push_constants}, "bytes of push constants"),
    ):
        with pytest.raises(DeviceError, match=words):
            Kernel(device, "path", bindings=5, **arguments)  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match=r"storage buffers, .*; choose another algorithm"):
        Kernel(device, "path", bindings=limits.storage_buffers + 1, workgroup_size=1)
    with pytest.raises(DeviceError, match=r"path needs telepathy, which .* lacks; use another device"):
        Kernel(device, "path", bindings=5, workgroup_size=1, needs=["subgroup_basic", "telepathy"])


def test_a_recording_is_submitted_many_times_and_in_order(device: Device) -> None:
    with (
        Buffer(device, 4000) as one,
        Buffer(device, 4000) as other,
        Recording(device) as fill,
        Recording(device) as copy,
    ):
        with copy.record():
            copy.barrier("all", "transfer")
            copy.copy(one, other, 4000)
        for value in (7, 8, 9):
            with fill.record():
                fill.barrier("all", "transfer")
                fill.fill(one, value)
            fill.submit()
            copy.submit()
            copy.wait()
            assert (other.read() == value).all()


def test_workgroups_follow_the_number_of_items(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setattr(Recording, "dispatch", lambda recording, workgroups: counts.append(workgroups))
    with (
        Kernel(device, "gather", bindings=3, push_constants=3, workgroup_size=32) as kernel,
        Buffer(device, 16) as buffer,
        Recording(device) as recording,
    ):
        bound = kernel.on(buffer, buffer, buffer)
        for items, each in ((0, 1), (32, 1), (33, 1), (128, 4), (129, 4), (2**40, 1)):
            recording.dispatch_for(bound, items, each)
    assert counts == [1, 1, 2, 1, 2, device.limits.workgroups]


def test_kernels_loop_where_workgroups_are_fewer_than_items_need(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, counts, dispatch = prepare(grid(30)), list[int](), Recording.dispatch

    def counted(recording: Recording, workgroups: int, rows: int = 1) -> None:
        counts.append(workgroups)
        dispatch(recording, workgroups, rows)

    monkeypatch.setattr(Recording, "dispatch", counted)
    monkeypatch.setenv(MASK_VARIABLE, "workgroups=2")
    with open_device() as few, Solver(graph, device=few) as solver:
        sources = [0, 450, 899]
        exact = [heap_dijkstra(graph, source) for source in sources]
        assert np.array_equal(solver.distances(0), exact[0]) and np.array_equal(solver.distances(sources), exact)
        assert set(counts) == {1, 2}


def test_equal_copies_are_recorded_once_and_others_anew(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, record = list[object](), Recording.record

    def noted(self: Recording, key: object = None) -> Any:
        begun.append(key)
        return record(self, key)

    with Buffer(device, 40) as one, Buffer(device, 40) as other:
        monkeypatch.setattr(Recording, "record", noted)
        for turn in range(3):
            one.write(np.arange(turn, turn + 10, dtype=np.uint32))
            assert one.read().tolist() == one.read().tolist() == list(range(turn, turn + 10))
        assert len(begun) == 6
        other.write(np.full(10, 7, np.uint32))
        assert one.read(count=3, offset=4).tolist() == [3, 4, 5] and other.read().tolist() == [7] * 10
    with Recording(device) as recording:
        with pytest.raises(ZeroDivisionError), recording.record("all"):
            recording.barrier()
            _ = 1 // 0
        assert recording.key is None


@pytest.mark.parametrize("polling_us", [0, 10**8])
def test_a_fence_that_polling_has_seen_is_not_waited_for(
    device: Device, monkeypatch: pytest.MonkeyPatch, polling_us: int
) -> None:
    calls, call = list[str](), vkffi.call

    def noted(function: str, *given: Any, **named: Any) -> int:
        calls.append(function)
        return call(function, *given, **named)

    monkeypatch.setitem(device.tuned, "wait.polling_us", polling_us)
    with Buffer(device, 40) as buffer:
        buffer.write(np.arange(10, dtype=np.uint32))
        monkeypatch.setattr(recording_module, "call", noted)
        for _ in range(3):
            assert buffer.read().tolist() == list(range(10))
    assert calls.count("vkResetFences") == 3
    assert calls.count("vkWaitForFences") == (0 if polling_us else 3)


def test_timestamps_go_forward(device: Device) -> None:
    if not device.limits.timestamp_period:
        pytest.skip("this device has no timestamps")
    with Buffer(device, 1 << 20) as buffer, Timestamps(device, 2) as times, Recording(device) as recording:
        with recording.record():
            recording.timestamp(times, 0)
            for value in range(100):
                recording.fill(buffer, value)
                recording.barrier("transfer", "transfer")
            recording.timestamp(times, 1)
        recording.submit()
        recording.wait()
        assert times.read(1) > times.read(0) > 0


def test_structs_keep_what_they_point_to() -> None:
    kept = [
        struct("VkDeviceQueueCreateInfo", queueCount=1, pQueuePriorities=array("float", [0.25 + 0.5 * (number % 2)]))
        for number in range(200)
    ]
    gc.collect()
    _ = [ffi.new("float[]", [9.0]) for _ in range(2000)]  # takes the memory of whatever was freed
    assert [info.pQueuePriorities[0] for info in kept] == [0.25 + 0.5 * (number % 2) for number in range(200)]
    inner = struct("VkPipelineShaderStageCreateInfo", pName=b"a rather long entry point name")
    outer = struct("VkComputePipelineCreateInfo", stage=inner)
    del inner
    gc.collect()
    _ = [ffi.new("char[]", b"x" * 30) for _ in range(2000)]
    assert ffi.string(outer.stage.pName) == b"a rather long entry point name"


def test_a_failing_call_says_which_and_how(device: Device) -> None:
    info = struct("VkMemoryAllocateInfo", allocationSize=2**62, memoryTypeIndex=0)
    with pytest.raises(VulkanError, match=r"vkAllocateMemory failed with VK_ERROR_OUT_OF_(DEVICE|HOST)_MEMORY"):
        vkffi.create("vkAllocateMemory", "VkDeviceMemory", device.handle, info, ffi.NULL)


def test_a_missing_shader_is_an_error(device: Device) -> None:
    with pytest.raises(DeviceError, match=r"the compiled shader .*no_such_shader.spv is missing"):
        Kernel(device, "no_such_shader", bindings=1, workgroup_size=1)


def test_the_pipeline_cache_is_kept_and_a_damaged_one_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    graph = grid(4)
    with Solver(graph, device=0) as solver:
        path = pipeline_cache(solver.device).path
        expected = solver.distances(0)
    stored = path.read_bytes()
    assert len(stored) > 32
    for content in (stored[:-1], stored[:40], b"", bytes(len(stored))):
        path.write_bytes(content)
        with Solver(graph, device=0) as solver:
            assert pipeline_cache(solver.device).stored == b""
            assert np.array_equal(solver.distances(0), expected)
    with Solver(graph, device=0) as solver:
        assert pipeline_cache(solver.device).stored
        assert np.array_equal(solver.distances(0), expected)


def test_closing_twice_and_after_the_device_is_harmless() -> None:
    opened = open_device()
    buffer, solver = Buffer(opened, 100), Solver(grid(4), device=opened)
    opened.close()
    for resource in (buffer, solver, opened, solver, buffer):
        resource.close()
    assert buffer.closed and solver.closed


def test_what_is_forgotten_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Device] = []
    watch_closing(monkeypatch, Device, after=closed.append)
    for _ in range(3):
        Solver(grid(4), device=0).distances(0)
    gc.collect()
    assert len(closed) == 3


@pytest.mark.parametrize("call", ["distances", "distance", "route", "clone", "new"])
def test_whatever_follows_the_close_of_the_device_is_an_error(call: str) -> None:
    opened = open_device()
    solver = Solver(grid(4), device=opened)
    solver.path(0, 15)
    opened.close()
    calls = {
        "distances": lambda: solver.distances(0),
        "distance": lambda: solver.distance(0, 15),
        "route": lambda: solver.path(0, 15),
        "clone": solver.clone,
        "new": lambda: Solver(grid(4), device=opened),
    }
    with pytest.raises(DeviceError, match="this device has been closed; open another"):
        calls[call]()
    solver.close()


@pytest.mark.usefixtures("may_use_vulkan")
def test_a_solver_closes_when_the_other_thread_is_done() -> None:
    solver = Solver(grid(60), "near_far", delta=1)
    expected = solver.distances(0)
    results: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: results.append(solver.distances(0)))
    thread.start()
    while thread.is_alive():
        with solver.session.lock.held_if_free() as is_free:
            if not is_free:
                break  # the search has begun
    solver.close()
    thread.join()
    assert np.array_equal(results[0], expected)


@pytest.mark.parametrize("algorithm", ["delta_step", "near_far", "crauser_predecessors"])
@pytest.mark.parametrize("stage", ["submit", "wait", "record"])
def test_an_interrupted_search_leaves_a_solver_that_works(
    device: Device, monkeypatch: pytest.MonkeyPatch, stage: str, algorithm: str
) -> None:
    """Ctrl-C at the worst moments: right after a call to the driver, before anything could be noted about it."""
    graph = grid(40)
    function = {"submit": "vkQueueSubmit", "wait": "vkResetFences", "record": "vkBeginCommandBuffer"}[stage]
    original = recording_module.call
    countdown = [0]

    def interrupted(name: str, *arguments: object, allow: tuple[int, ...] = ()) -> int:
        code = original(name, *arguments, allow=allow)
        if name == function:
            countdown[0] -= 1
            if countdown[0] == 0:
                raise KeyboardInterrupt
        return code

    with Solver(graph, algorithm, device) as solver:
        expected = solver.distances(0)
        monkeypatch.setattr(recording_module, "call", interrupted)
        for moment in range(1, 6):
            countdown[0] = moment
            with contextlib.suppress(KeyboardInterrupt):
                solver.path(0, 1599)
                solver.distances(5)
            countdown[0] = 0
            assert np.array_equal(solver.distances(0), expected)
            assert solver.path(0, 1599).weight == expected[1599]


@pytest.mark.parametrize("algorithm", ON_DEVICE)
def test_whatever_fails_on_the_way_nothing_is_left_behind(
    device: Device, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    """Each call that makes something fails once; the error is the driver's own, and all that was made is given back."""
    with Solver(grid(4), algorithm, device) as solver:  # what the device keeps for all, staging and caches
        solver.distances(0)

    def run() -> None:
        with Solver(grid(4), algorithm, device) as solver:
            solver.path(0, 15)

    # How pipelines are made does not depend on the algorithm.
    assert fail_each_call(device, monkeypatch, run, compiles=algorithm in ("near_far", "phast")) > 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_opens_no_device_where_its_parent_has_one() -> None:
    """Drivers do not survive it: SwiftShader's threads are not there, and the process ends by a signal."""
    program = """
import os, signal, threading
os.environ["VKSSP_DEVICE"] = "0"
from tests.support.streetmaps import street_map
from vkssp import DeviceError, Router, Solver, SolverPool
from vkssp.gpu.device import Device
from vkssp.gpu.instance import list_devices
graph = street_map([(0, 0), (0, 1)], [(0, 1, 10)])
place = (0.0, 0.0001)

def child(number):
    signal.alarm(60)  # what waits for a lock that nobody gives back
    for make in (Device, list_devices, lambda: Solver(graph), lambda: SolverPool(graph), lambda: Router(graph)):
        try:
            make()
        except DeviceError as error:
            print(number, "new:", error, flush=True)
    for ask in (
        lambda: solver.distances(0),
        lambda: solver.set_weights(graph.weight),
        lambda: Solver(graph, device=solver.device),
        lambda: next(rows),
        lambda: pool.distance(0, 1),
        lambda: next(pool_rows),
        lambda: router.route(place, place),
    ):
        try:
            ask()
        except DeviceError as error:
            print(number, "old:", error, flush=True)
    with Solver(graph, "dijkstra") as cpu, Router(graph, "dijkstra") as walker:
        print(number, "cpu:", cpu.distances(0).tolist(), walker.route(place, place).weight, flush=True)
    for each in (solver, pool, router):
        each.close()

def forked(number):
    process = os.fork()
    if process == 0:
        try:
            child(number)
        finally:
            os._exit(0)
    assert os.waitpid(process, 0)[1] == 0

with Solver(graph) as solver:
    solver.distances(0)
process = os.fork()
if process == 0:  # nothing is open any more
    with Solver(graph) as solver:
        print(solver.distances(0).tolist(), flush=True)
    os._exit(0)
assert os.waitpid(process, 0)[1] == 0
with Solver(graph) as solver, SolverPool(graph, devices=[0]) as pool, Router(graph) as router:
    rows, pool_rows = (one.table([0, 1], chunked=True) for one in (solver, pool))
    forked(1)
    lock = pool.solvers[0].session.weights.lock
    # Held by a thread that the child has not.
    with solver.session.lock.held(), solver.session.weights.lock.writing(), lock.writing():
        thread = threading.Thread(target=forked, args=(2,))
        thread.start()
        thread.join()
    print(solver.distances(0).tolist(), pool.distances(0).tolist(), router.route(place, place).weight)
"""
    root = ROOT
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    cure = (
        "start processes by multiprocessing's 'spawn' or 'forkserver', or open devices and solvers only after the fork"
    )
    new = f"new: this process was forked while a Vulkan device was open, which drivers do not survive; {cure}"
    old = f"old: this device was opened by the process that this one was forked from; {cure}"
    lines = [
        line
        for number in (1, 2)
        for line in (*[f"{number} {new}"] * 5, *[f"{number} {old}"] * 7, f"{number} cpu: [0, 10] 0")
    ]
    assert done.stdout.splitlines() == ["[0, 10]", *lines, "[0, 10] [0, 10] 0"], done.stderr


def _resident() -> int:
    """Bytes of memory in use, after what is free has been given back."""
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory in use from /proc")
@pytest.mark.parametrize(("is_shared", "count"), [(False, 16), (True, 150)])
def test_nothing_leaks_over_hundreds_of_rounds(device: Device, is_shared: bool, count: int) -> None:
    """With a device for each round, and on one that keeps what all of them need."""
    graph = Graph.from_edges([0, 1], [1, 2], [3, 4])

    def rounds(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            with Solver(graph, device=device if is_shared else device.info.index) as solver:
                assert solver.distances(0).tolist() == [0, 3, 7]
        return _resident(), len(os.listdir("/proc/self/fd")), threading.active_count()

    before = rounds(count)
    structs = len(vkffi.children)
    after = rounds(3 * count)
    # What other tests of this process have begun may open a file meanwhile; one left over each round would be dozens.
    assert after[1] < before[1] + 10 and after[2] < before[2] + 10, "open files and threads"
    assert len(vkffi.children) <= structs, "structs kept alive"
    # The driver's own caches breathe; a buffer or a pipeline left over each round would be tens of megabytes.
    assert after[0] - before[0] < 8 << 20


def test_an_interrupt_while_a_device_is_destroyed(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes after the device is gone, whose queues may not be waited for any more."""
    library, called = device_module.lib, list[str]()

    class Library:
        def __getattr__(self, name: str) -> Any:
            called.append(name)
            return getattr(library, name)

        def vkDestroyDevice(self, *arguments: Any) -> None:  # noqa: N802
            library.vkDestroyDevice(*arguments)
            called.clear()
            raise KeyboardInterrupt

    opened = Device(device.info.index)
    monkeypatch.setattr(device_module, "lib", Library())
    with pytest.raises(KeyboardInterrupt):
        opened.close()
    assert opened.closed and not called
